/* SPDX-License-Identifier: Apache-2.0 */
/*
 * golden.c - every message and record is on the wire what protocol/golden.txt says, and nothing
 * less is taken
 *
 * The bytes in the file were made by the generator's own encoder; the codec in C has to agree with
 * it in both directions. Then every packet is cut at each length, lengthened and spoilt, and has to
 * be refused.
 *
 *   golden GOLDEN.TXT
 */
#include "base/unit_test.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wire/samples.h"

#define BYTES 1024
#define LINES 256

/* A line of the file. */
struct golden {
	char sort[16];
	char name[32];
	unsigned int version;
	uint8_t packet[BYTES];
	size_t bytes;
};

static struct golden lines[LINES];
static size_t line_count;

static void read_bytes(const char *text, struct golden *line)
{
	unsigned int value;

	for (; sscanf(text, "%2x", &value) == 1; text += 2) {
		assert_true(line->bytes < BYTES);
		line->packet[line->bytes++] = (uint8_t)value;
	}
}

static void read_file(const char *path)
{
	static char text[64 + 2 * BYTES];
	FILE *file = fopen(path, "re");

	if (!file) {
		fprintf(stderr, "golden: cannot open %s\n", path);
		exit(2);
	}
	while (fgets(text, sizeof(text), file)) {
		struct golden *line = &lines[line_count];
		int at = 0;

		if (text[0] == '#')
			continue;
		if (line_count == LINES ||
			sscanf(text, "%15s %31s %u %n", line->sort, line->name, &line->version,
				&at) != 3) {
			fprintf(stderr, "golden: cannot read %s: %s", path, text);
			exit(2);
		}
		line_count++;
		read_bytes(text + at, line);
	}
	fclose(file);
}

static const struct golden *find(const char *sort, const char *name, unsigned int version)
{
	for (size_t i = 0; i < line_count; i++) {
		if (!strcmp(lines[i].sort, sort) && !strcmp(lines[i].name, name) &&
			lines[i].version == version)
			return &lines[i];
	}
	fail_msg("golden.txt has no line '%s %s %u': make it anew", sort, name, version);
	return NULL;
}

static const struct golden *golden_of(const struct wire_sample *sample)
{
	return find(sample->sort, sample->name, sample->version);
}

static void set_number(uint8_t *at, uint64_t number, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		at[i] = (uint8_t)(number >> (8 * i));
}

/* A packet of this length that says it has this length. */
static void say_bytes(uint8_t *packet, size_t bytes)
{
	set_number(packet + 8, bytes, 4);
}

static ww_status decode(const struct wire_sample *sample, const uint8_t *packet, size_t bytes)
{
	ww_status status;

	sample->differs(sample->message, packet, bytes, sample->version, &status);
	if (status != WW_OK) {
		assert_int_equal(ww_error_last()->status, status);
		assert_non_null(strstr(ww_error_last()->message, sample->name));
	}
	return status;
}

UNIT_TEST(every_line_has_its_sample)
{
	assert_true(wire_sample_count > 0);
	assert_int_equal(line_count, wire_sample_count + wire_record_sample_count);
}

UNIT_TEST(encodes_to_the_golden_bytes)
{
	uint8_t packet[BYTES];

	for (size_t i = 0; i < wire_sample_count; i++) {
		const struct wire_sample *sample = &wire_samples[i];
		const struct golden *golden = golden_of(sample);
		size_t bytes = sample->encode(sample->message, sample->version, &sample->header,
			packet, sizeof(packet));

		assert_int_equal(bytes, golden->bytes);
		assert_memory_equal(packet, golden->packet, bytes);
	}
}

UNIT_TEST(decodes_from_the_golden_bytes)
{
	struct ww_wire_header header;

	for (size_t i = 0; i < wire_sample_count; i++) {
		const struct wire_sample *sample = &wire_samples[i];
		const struct golden *golden = golden_of(sample);
		ww_status status;
		const char *field = sample->differs(sample->message, golden->packet, golden->bytes,
			sample->version, &status);

		if (field)
			fail_msg("%s: %s differs (%s)", sample->name, field,
				ww_status_name(status));
		assert_int_equal(status, WW_OK);
		assert_int_equal(ww_wire_read_header(golden->packet, golden->bytes,
					 sample->header.fd_count, &header),
			WW_OK);
		assert_memory_equal(&header, &sample->header, sizeof(header));
		assert_string_equal(ww_wire_name(header.code), sample->name);
	}
}

UNIT_TEST(decodes_and_encodes_to_the_same)
{
	uint8_t packet[BYTES];

	for (size_t i = 0; i < wire_sample_count; i++) {
		const struct wire_sample *sample = &wire_samples[i];
		const struct golden *golden = golden_of(sample);
		ww_status status;

		assert_int_equal(sample->again(golden->packet, golden->bytes, sample->version,
					 packet, sizeof(packet), &status),
			golden->bytes);
		assert_memory_equal(packet, golden->packet, golden->bytes);
	}
}

/* Each copy has exactly its bytes, so that a sanitizer sees one read too far. */
UNIT_TEST(refuses_what_is_cut)
{
	struct ww_wire_header header;

	for (size_t i = 0; i < wire_sample_count; i++) {
		const struct wire_sample *sample = &wire_samples[i];
		const struct golden *golden = golden_of(sample);

		for (size_t bytes = 0; bytes < golden->bytes; bytes++) {
			uint8_t *packet = malloc(bytes + !bytes);

			assert_non_null(packet);
			memcpy(packet, golden->packet, bytes);
			assert_fails(ww_wire_read_header(packet, bytes, sample->header.fd_count,
					     &header),
				WW_ERR_TRUNCATED);
			assert_int_equal(decode(sample, packet, bytes), WW_ERR_TRUNCATED);
			if (bytes >= WW_WIRE_HEADER_BYTES) {
				say_bytes(packet, bytes);
				assert_int_equal(decode(sample, packet, bytes), WW_ERR_TRUNCATED);
			}
			free(packet);
		}
	}
}

UNIT_TEST(refuses_what_is_longer)
{
	struct ww_wire_header header;
	uint8_t packet[BYTES];

	for (size_t i = 0; i < wire_sample_count; i++) {
		const struct wire_sample *sample = &wire_samples[i];
		const struct golden *golden = golden_of(sample);

		memset(packet, 0, sizeof(packet));
		memcpy(packet, golden->packet, golden->bytes);
		for (size_t bytes = golden->bytes + 1; bytes < golden->bytes + 20; bytes++) {
			say_bytes(packet, golden->bytes);
			assert_fails(ww_wire_read_header(packet, bytes, sample->header.fd_count,
					     &header),
				WW_ERR_PROTOCOL);
			assert_int_equal(decode(sample, packet, bytes), WW_ERR_PROTOCOL);
			say_bytes(packet, bytes);
			assert_int_equal(decode(sample, packet, bytes), WW_ERR_PROTOCOL);
		}
	}
}

UNIT_TEST(refuses_what_is_spoilt)
{
	uint8_t packet[BYTES];
	size_t spoilt = 0;

	for (size_t i = 0; i < wire_sample_count; i++) {
		const struct wire_sample *sample = &wire_samples[i];
		const struct golden *golden = golden_of(sample);

		for (size_t j = 0; j < sample->spoil_count; j++, spoilt++) {
			const struct wire_spoil *spoil = &sample->spoils[j];

			memcpy(packet, golden->packet, golden->bytes);
			set_number(packet + spoil->at, spoil->value, spoil->bytes);
			if (decode(sample, packet, golden->bytes) != WW_ERR_PROTOCOL)
				fail_msg("%s: taken although %s", sample->name, spoil->why);
		}
	}
	assert_true(spoilt > wire_sample_count);
}

/* The first value beyond an enum's last is refused as the farthest is. */
UNIT_TEST(refuses_values_of_no_enum)
{
	uint8_t packet[BYTES];

	for (size_t i = 0; i < wire_sample_count; i++) {
		const struct wire_sample *sample = &wire_samples[i];
		const struct golden *golden = golden_of(sample);

		for (size_t j = 0; j < sample->spoil_count; j++) {
			const struct wire_spoil *spoil = &sample->spoils[j];
			unsigned int taken = 0;

			if (!strstr(spoil->why, " is no "))
				continue;
			memcpy(packet, golden->packet, golden->bytes);
			for (unsigned int value = 0; value < 256; value++) {
				set_number(packet + spoil->at, value, spoil->bytes);
				taken += decode(sample, packet, golden->bytes) == WW_OK;
			}
			assert_in_range(taken, 1, 16);
		}
	}
}

UNIT_TEST(refuses_another_message)
{
	for (size_t i = 0; i < wire_sample_count; i++) {
		const struct wire_sample *sample = &wire_samples[i];
		const struct wire_sample *other = &wire_samples[(i + 1) % wire_sample_count];
		const struct golden *golden = golden_of(other);

		if (sample->header.code != other->header.code)
			assert_int_equal(decode(sample, golden->packet, golden->bytes),
				WW_ERR_PROTOCOL);
	}
}

UNIT_TEST(encodes_into_exactly_the_room_it_needs)
{
	for (size_t i = 0; i < wire_sample_count; i++) {
		const struct wire_sample *sample = &wire_samples[i];
		size_t bytes = golden_of(sample)->bytes;

		for (size_t room = 0; room <= bytes; room++) {
			uint8_t *packet = malloc(room + !room);

			assert_non_null(packet);
			assert_int_equal(sample->encode(sample->message, sample->version,
						 &sample->header, packet, room),
				room == bytes ? bytes : 0);
			free(packet);
		}
	}
}

UNIT_TEST(records_are_their_golden_bytes)
{
	for (size_t i = 0; i < wire_record_sample_count; i++) {
		const struct wire_record_sample *sample = &wire_record_samples[i];
		const struct golden *golden = find("record", sample->name, 1);
		uint8_t bytes[BYTES];
		const char *field;

		assert_int_equal(sample->bytes, golden->bytes);
		memset(bytes, 0xee, sizeof(bytes));
		sample->encode(sample->record, bytes);
		assert_memory_equal(bytes, golden->packet, golden->bytes);
		field = sample->differs(sample->record, golden->packet);
		if (field)
			fail_msg("record %s: %s differs", sample->name, field);
		memset(bytes, 0xee, sizeof(bytes));
		sample->again(golden->packet, bytes);
		assert_memory_equal(bytes, golden->packet, golden->bytes);
	}
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: golden GOLDEN.TXT\n");
		return 2;
	}
	read_file(argv[1]);
	return _cmocka_run_group_tests("golden", unit_tests, unit_test_count, NULL, NULL);
}
