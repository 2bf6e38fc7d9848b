/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire.c - fuzzes the generated codec: header, dispatch, the decoders of all messages, the records
 *
 * Input: one byte that says how to use the rest (below), then a packet or the bytes of a record,
 * filled up with zeros. What a decoder takes must encode to the same bytes again: there is one way
 * only to write a message. Packet and record lie in blocks of exactly their size, so that a
 * sanitizer sees one byte read too far.
 */
#include <stdbool.h>
#include <string.h>

#include "base/error.h"
#include "fuzz/fuzz.h"
#include "wire/samples.h"

/* The bits of the first byte. */
enum {
	SAYS_ITS_LENGTH = 0x01, /* the header's length is put right */
	HAS_ITS_FDS = 0x02,     /* there are as many descriptors as the header says */
	IS_RECORD = 0x04,
	IS_OLDEST = 0x08, /* of the versions spoken */
	FDS = 0xf0,       /* how many descriptors, where they are not as the header says */
};

#define AT_FD_COUNT  2
#define AT_BYTES     8
#define RECORD_BYTES 512
#define RECORD_SEEDS 4

#define REQUESTS(DO)                         \
	DO(hello, HELLO)                     \
	DO(confirm, CONFIRM)                 \
	DO(put, PUT)                         \
	DO(seal, SEAL)                       \
	DO(get, GET)                         \
	DO(import, IMPORT)                   \
	DO(export, EXPORT)                   \
	DO(release, RELEASE)                 \
	DO(remove, REMOVE)                   \
	DO(stat, STAT)                       \
	DO(list, LIST)                       \
	DO(holders, HOLDERS)                 \
	DO(holds, HOLDS)                     \
	DO(watch, WATCH)                     \
	DO(reserve, RESERVE)                 \
	DO(cancel, CANCEL)                   \
	DO(status, STATUS)                   \
	DO(revoke, REVOKE)                   \
	DO(recall, RECALL)                   \
	DO(totals, TOTALS)                   \
	DO(largest, LARGEST)                 \
	DO(largest_holders, LARGEST_HOLDERS) \
	DO(object_holds, OBJECT_HOLDS)       \
	DO(loss, LOSS)                       \
	DO(parts, PARTS)                     \
	DO(renumber, RENUMBER)

#define TAKE(name, NAME)                                                                 \
	static ww_status take_##name(void *context, const struct ww_wire_header *header, \
		const struct ww_wire_##name *message)                                    \
	{                                                                                \
		FUZZ_MUST(header->code == WW_WIRE_##NAME && message);                    \
		*(uint16_t *)context = header->code;                                     \
		return WW_OK;                                                            \
	}
REQUESTS(TAKE)

#define HANDLER(name, NAME) .name = take_##name,
static const struct ww_wire_handlers handlers = {REQUESTS(HANDLER)};

/* More bytes than a record has. */
static size_t seed_record(unsigned int number, uint8_t out[FUZZ_INPUT_BYTES])
{
	out[0] = IS_RECORD;
	for (size_t i = 1; i < FUZZ_INPUT_BYTES; i++)
		out[i] = (uint8_t)(i * (number + 1));
	return FUZZ_INPUT_BYTES;
}

size_t fuzz_seed(unsigned int number, uint8_t out[FUZZ_INPUT_BYTES])
{
	const struct wire_sample *sample;
	size_t bytes;

	if (number < RECORD_SEEDS)
		return seed_record(number, out);
	number -= RECORD_SEEDS;
	if (number >= 2 * wire_sample_count)
		return 0;
	sample = &wire_samples[number / 2];
	out[0] = number % 2 ? HAS_ITS_FDS | SAYS_ITS_LENGTH : HAS_ITS_FDS;
	bytes = sample->encode(sample->message, sample->version, &sample->header, out + 1,
		FUZZ_INPUT_BYTES - 1);
	FUZZ_MUST(bytes > 0);
	return 1 + bytes;
}

static bool is_refusal(ww_status status)
{
	if (status == WW_OK)
		return false;
	FUZZ_MUST(status == WW_ERR_PROTOCOL || status == WW_ERR_TRUNCATED);
	FUZZ_MUST(ww_error_last()->status == status && ww_error_last()->message[0]);
	return true;
}

/* Return: whether the decoder of this message takes the packet. */
static bool is_taken(const struct wire_sample *sample, const uint8_t *packet, size_t bytes,
	uint16_t version)
{
	uint8_t again[FUZZ_INPUT_BYTES];
	ww_status status;
	size_t count = sample->again(packet, bytes, version, again, sizeof(again), &status);

	if (is_refusal(status))
		return false;
	FUZZ_MUST(count == bytes && !memcmp(again, packet, bytes));
	return true;
}

static void try_packet(const uint8_t *packet, size_t bytes, size_t fd_count, uint16_t version)
{
	struct ww_wire_header header;
	bool has_header = !is_refusal(ww_wire_read_header(packet, bytes, fd_count, &header));
	uint16_t code = 0;
	bool is_dispatched = !is_refusal(
		ww_wire_dispatch(&handlers, &code, version, packet, bytes, fd_count));

	FUZZ_MUST(!is_dispatched || (has_header && code == header.code));
	for (size_t i = 0; i < wire_sample_count; i++) {
		const struct wire_sample *sample = &wire_samples[i];
		bool is_its = bytes >= WW_WIRE_HEADER_BYTES && header.code == sample->header.code;
		bool taken = is_taken(sample, packet, bytes, version);

		FUZZ_MUST(is_its || !taken);
		FUZZ_MUST(!is_its || !is_dispatched || taken);
		if (is_its && taken && has_header && header.serial != 0)
			FUZZ_MUST(is_dispatched == !strcmp(sample->sort, "request"));
	}
}

/* What a record's decoder makes of any bytes encodes to bytes that decode to the same. */
static void try_record(const struct wire_record_sample *sample, const uint8_t *bytes, size_t count)
{
	uint8_t *record = calloc(1, sample->bytes);
	uint8_t once[RECORD_BYTES];
	uint8_t twice[RECORD_BYTES];

	FUZZ_MUST(record && sample->bytes <= RECORD_BYTES);
	memcpy(record, bytes, count < sample->bytes ? count : sample->bytes);
	sample->again(record, once);
	sample->again(once, twice);
	FUZZ_MUST(!memcmp(once, twice, sample->bytes));
	free(record);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t bytes)
{
	uint8_t *packet;
	size_t fd_count;

	if (bytes == 0 || bytes > FUZZ_INPUT_BYTES)
		return 0;
	if (input[0] & IS_RECORD) {
		for (size_t i = 0; i < wire_record_sample_count; i++)
			try_record(&wire_record_samples[i], input + 1, bytes - 1);
		return 0;
	}
	packet = malloc(bytes - 1 + (bytes == 1));
	FUZZ_MUST(packet);
	memcpy(packet, input + 1, bytes - 1);
	fd_count = (input[0] & FDS) >> 4;
	if (bytes > WW_WIRE_HEADER_BYTES && input[0] & SAYS_ITS_LENGTH) {
		memset(packet + AT_BYTES, 0, sizeof(uint32_t));
		packet[AT_BYTES] = (uint8_t)(bytes - 1);
		packet[AT_BYTES + 1] = (uint8_t)((bytes - 1) >> 8);
	}
	if (bytes > WW_WIRE_HEADER_BYTES && input[0] & HAS_ITS_FDS)
		fd_count = packet[AT_FD_COUNT] + 256U * packet[AT_FD_COUNT + 1];
	try_packet(packet, bytes - 1, fd_count,
		input[0] & IS_OLDEST ? WW_WIRE_LEAST : WW_WIRE_VERSION);
	free(packet);
	return 0;
}
