/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sync_description.c - fuzzes the readers of descriptions of timelines, barriers, events and pools
 *
 * Input: one byte of flags (below), then the description, in a block of exactly its size. There is
 * one way only to write one: what is accepted must be what the writer makes of what was read.
 */
#include <stdbool.h>
#include <string.h>

#include "base/error.h"
#include "fuzz/fuzz.h"
#include "support/forge.h"
#include "wire/sync_description.h"

#define CHECKSUM_END 16

/* The bits of the first byte. */
enum {
	IS_SEALED = 1,      /* with a right checksum */
	HAS_ITS_LENGTH = 2, /* cut, or filled up with zeros */
	READER = 0x1c,      /* which one */
	READER_SHIFT = 2,
};

typedef ww_status (*read_again_fn)(const uint8_t *bytes, size_t count, uint8_t *again);

/* Reads one of a kind as `ref`, of which this must be true, and writes it again. */
#define READ(name, type, claim)                                                          \
	static ww_status read_##name(const uint8_t *bytes, size_t count, uint8_t *again) \
	{                                                                                \
		struct ww_wire_##type ref;                                               \
                                                                                         \
		ww_try(ww_##name##_ref_read(bytes, count, &ref));                        \
		FUZZ_MUST(claim);                                                        \
		ww_##name##_ref_write(&ref, again);                                      \
		return WW_OK;                                                            \
	}

READ(timeline, timeline_ref, ref.page_bytes >= 4096 && ref.page_bytes % 4096 == 0)
READ(barrier, barrier_ref, ref.count > 0)
READ(event, event_ref, true)
READ(pool, pool_ref, ref.slot_count > 0 && ref.table_bytes / 32 >= ref.slot_count)
READ(pool_holder, pool_holder_ref, ref.slot_count > 0 && ref.marks_bytes / 16 >= ref.slot_count)
READ(channel, channel_ref,
	ref.slot_count > 0 && ref.held_max > 0 && ref.held_max <= ref.slot_count &&
		ref.slot_bytes <= UINT64_MAX / ref.slot_count)
READ(consumer, channel_consumer_ref, ref.slot_count > 0)
READ(work_queue, work_queue_ref,
	ref.slot_count > 0 && ref.failed_max < ref.slot_count &&
		ref.slot_bytes <= UINT64_MAX / ref.slot_count && ref.producers_max <= 64 &&
		ref.consumers_max <= 64)

static const struct reader {
	read_again_fn read;
	size_t bytes;
} readers[] = {
	{read_timeline, WW_TIMELINE_REF_BYTES},
	{read_barrier, WW_BARRIER_REF_BYTES},
	{read_event, WW_EVENT_REF_BYTES},
	{read_pool, WW_POOL_REF_BYTES},
	{read_pool_holder, WW_POOL_HOLDER_REF_BYTES},
	{read_channel, WW_CHANNEL_REF_BYTES},
	{read_consumer, WW_CONSUMER_REF_BYTES},
	{read_work_queue, WW_WORK_QUEUE_REF_BYTES},
};

#define READERS (sizeof(readers) / sizeof(readers[0]))

static void write_channel_seed(unsigned int number, bool is_channel, uint8_t *out)
{
	const struct ww_wire_channel_ref channel = {
		.channel_id = {11},
		.page_bytes = 16384,
		.ring_bytes = 8192,
		.slot_bytes = 512,
		.slot_count = 1 + number,
		.policy = 1 + number % 3,
		.consumers_max = 4,
		.held_max = 1,
		.kind = 1 + number % 2,
	};
	const struct ww_wire_channel_consumer_ref consumer = {
		.page_id = {12},
		.page_bytes = 16384,
		.marks_bytes = 4096,
		.slot_count = 1 + number,
	};

	if (is_channel)
		ww_channel_ref_write(&channel, out);
	else
		ww_consumer_ref_write(&consumer, out);
}

static void write_queue_seed(unsigned int number, uint8_t *out)
{
	const struct ww_wire_work_queue_ref queue = {
		.queue_id = {13},
		.slot_bytes = 512,
		.slot_count = 1 + number,
		.producers_max = 1 + number,
		.consumers_max = 64,
		.attempts_max = 3,
		.failed_max = number / 2,
		.held_max = 1,
		.kind = 1 + number % 2,
	};

	ww_work_queue_ref_write(&queue, out);
}

size_t fuzz_seed(unsigned int number, uint8_t out[FUZZ_INPUT_BYTES])
{
	const struct ww_wire_timeline_ref timeline = {
		.page_id = {1, 2, 3},
		.page_bytes = UINT64_C(4096) << number / 8,
		.cell_offset = number & 4 ? 256 : 0,
	};
	const struct ww_wire_barrier_ref barrier = {.barrier_id = {4, 5, 6}, .count = 1 + number};
	struct ww_wire_event_ref event = {.device_uuid = {7}, .process_id = {8}, .pid = number};
	const struct ww_wire_pool_ref pool = {
		.pool_id = {9},
		.page_bytes = 4096,
		.table_bytes = UINT64_C(1) << 20,
		.slot_count = UINT32_C(1) << number % 8,
		.kind = 1 + number % 2,
	};
	const struct ww_wire_pool_holder_ref holder = {
		.page_id = {10},
		.page_bytes = 16384,
		.marks_bytes = UINT64_C(1) << 20,
		.slot_count = UINT32_C(1) << number % 8,
	};
	uint8_t which = (uint8_t)(number % 8 % READERS);

	if (number >= 32)
		return 0;
	out[0] = (uint8_t)(which << READER_SHIFT | (number & 4 ? IS_SEALED | HAS_ITS_LENGTH : 0));
	if (which == 0) {
		ww_timeline_ref_write(&timeline, out + 1);
	} else if (which == 1) {
		ww_barrier_ref_write(&barrier, out + 1);
	} else if (which == 2) {
		ww_timeline_ref_write(&timeline, event.timeline);
		memset(event.handle, 0x5a, number & 8 ? sizeof(event.handle) : 0);
		ww_event_ref_write(&event, out + 1);
	} else if (which == 3) {
		ww_pool_ref_write(&pool, out + 1);
	} else if (which == 4) {
		ww_pool_holder_ref_write(&holder, out + 1);
	} else if (which == 7) {
		write_queue_seed(number, out + 1);
	} else {
		write_channel_seed(number, which == 5, out + 1);
	}
	return 1 + readers[which].bytes;
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t bytes)
{
	const struct reader *reader;
	uint8_t again[WW_EVENT_REF_BYTES];
	uint8_t *copy;
	size_t count;
	ww_status status;

	if (bytes == 0 || bytes > FUZZ_INPUT_BYTES)
		return 0;
	reader = &readers[((input[0] & READER) >> READER_SHIFT) % READERS];
	bytes--;
	count = input[0] & HAS_ITS_LENGTH ? reader->bytes : bytes;
	copy = calloc(1, count + (count == 0));
	FUZZ_MUST(copy);
	memcpy(copy, input + 1, bytes < count ? bytes : count);
	if (input[0] & IS_SEALED && count >= CHECKSUM_END)
		bytes_seal(copy, count);
	status = reader->read(copy, count, again);
	if (status == WW_OK) {
		FUZZ_MUST(count == reader->bytes && !memcmp(copy, again, count));
	} else {
		FUZZ_MUST(status == WW_ERR_PROTOCOL || status == WW_ERR_VERSION);
		FUZZ_MUST(ww_error_last()->status == status && ww_error_last()->message[0]);
	}
	free(copy);
	return 0;
}
