/* SPDX-License-Identifier: Apache-2.0 */
/*
 * description_test.c - the 128 bytes beside a descriptor: golden, damaged, newer, impossible
 */
#include "base/unit_test.h"

#include <string.h>

#include "base/checksum.h"
#include "memory/description.h"

static const struct ww_description sample = {
	.backing = WW_BACKING_CUDA_VMM,
	.kind = WW_MEMORY_VMM,
	.access = WW_ACCESS_READ,
	.bytes = UINT64_C(0x0000000123400000),
	.generation = 1,
	.object_id = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16},
	.home_uuid = {0xf0, 0xe0, 0xd0, 0xc0, 0xb0, 0xa0, 0x90, 0x80, 0x70, 0x60, 0x50, 0x40, 0x30,
		0x20, 0x10, 0x00},
};

/* Committed bytes: another version of this library wrote them and must always be read. */
static const uint8_t golden[WW_MEMORY_DESCRIPTION_BYTES] = {
	'W',
	'W',
	'M',
	'E',
	'M',
	'O',
	'R',
	'Y',
	1,
	0,
	128,
	0,
	0xbd,
	0x3a,
	0xd7,
	0x32,
	2,
	1,
	1,
	0,
	0,
	0,
	0,
	0,
	0x00,
	0x00,
	0x40,
	0x23,
	0x01,
	0,
	0,
	0,
	1,
	2,
	3,
	4,
	5,
	6,
	7,
	8,
	9,
	10,
	11,
	12,
	13,
	14,
	15,
	16,
	1,
	0,
	0,
	0,
	0,
	0,
	0,
	0,
	0xf0,
	0xe0,
	0xd0,
	0xc0,
	0xb0,
	0xa0,
	0x90,
	0x80,
	0x70,
	0x60,
	0x50,
	0x40,
	0x30,
	0x20,
	0x10,
	0x00,
};

UNIT_TEST(golden_bytes)
{
	struct ww_memory_description bytes;
	struct ww_description fields;

	ww_description_encode(&sample, &bytes);
	assert_memory_equal(bytes.bytes, golden, sizeof(golden));
	assert_ok(ww_description_decode(&bytes, &fields));
	assert_int_equal(fields.backing, sample.backing);
	assert_int_equal(fields.kind, sample.kind);
	assert_int_equal(fields.access, sample.access);
	assert_true(fields.bytes == sample.bytes && fields.generation == sample.generation);
	assert_memory_equal(fields.object_id, sample.object_id, sizeof(fields.object_id));
	assert_memory_equal(fields.home_uuid, sample.home_uuid, sizeof(fields.home_uuid));
}

UNIT_TEST(every_flipped_bit_is_seen)
{
	for (int bit = 0; bit < WW_MEMORY_DESCRIPTION_BYTES * 8; bit++) {
		struct ww_memory_description bytes;
		struct ww_description fields;

		ww_description_encode(&sample, &bytes);
		bytes.bytes[bit / 8] ^= (uint8_t)(1 << (bit % 8));
		assert_fails(ww_description_decode(&bytes, &fields), WW_ERR_PROTOCOL);
	}
}

/* Changes one byte and makes the checksum right again, as a liar would. */
static ww_status decode_with(size_t at, uint8_t value)
{
	struct ww_memory_description bytes;
	struct ww_description fields;
	uint32_t sum;

	ww_description_encode(&sample, &bytes);
	bytes.bytes[at] = value;
	memset(bytes.bytes + 12, 0, 4);
	sum = ww_checksum(0, bytes.bytes, sizeof(bytes.bytes));
	for (int i = 0; i < 4; i++)
		bytes.bytes[12 + i] = (uint8_t)(sum >> (8 * i));
	return ww_description_decode(&bytes, &fields);
}

UNIT_TEST(lies)
{
	assert_ok(decode_with(16, 1));
	assert_fails(decode_with(8, 2), WW_ERR_PROTOCOL); /* which has a span */
	assert_fails(decode_with(8, 3), WW_ERR_VERSION);
	assert_fails(decode_with(8, 0), WW_ERR_VERSION);
	assert_fails(decode_with(9, 1), WW_ERR_VERSION);
	assert_fails(decode_with(10, 127), WW_ERR_PROTOCOL);
	assert_fails(decode_with(16, 0), WW_ERR_PROTOCOL);
	assert_fails(decode_with(16, 3), WW_ERR_PROTOCOL);
	assert_fails(decode_with(17, 0), WW_ERR_PROTOCOL);
	assert_fails(decode_with(17, 2), WW_ERR_PROTOCOL); /* host memory on a GPU */
	assert_fails(decode_with(17, 3), WW_ERR_PROTOCOL);
	assert_fails(decode_with(18, 0), WW_ERR_PROTOCOL);
	assert_fails(decode_with(18, 3), WW_ERR_PROTOCOL);
	assert_fails(decode_with(19, 1), WW_ERR_PROTOCOL);
	assert_fails(decode_with(31, 0x80), WW_ERR_PROTOCOL);
	assert_fails(decode_with(72, 1), WW_ERR_PROTOCOL);
	assert_fails(decode_with(127, 1), WW_ERR_PROTOCOL);
}

UNIT_TEST(no_bytes_at_all)
{
	struct ww_description empty = sample;
	struct ww_memory_description bytes;
	struct ww_description fields;

	empty.bytes = 0;
	ww_description_encode(&empty, &bytes);
	assert_fails(ww_description_decode(&bytes, &fields), WW_ERR_PROTOCOL);
}

static ww_status code(const struct ww_description *description, struct ww_description *out)
{
	struct ww_memory_description bytes;

	ww_description_encode(description, &bytes);
	assert_int_equal(bytes.bytes[8], 2);
	return ww_description_decode(&bytes, out);
}

UNIT_TEST(parts_and_memory_of_others)
{
	static const struct {
		uint64_t offset;
		uint64_t bytes;
	} outside[] = {{0, 1}, {1, 0}, {UINT64_MAX, 1}, {1, UINT64_MAX}};
	struct ww_description description = sample;
	struct ww_description fields;

	description.span_offset = 100;
	description.span_bytes = description.bytes - 100;
	assert_ok(code(&description, &fields));
	assert_true(fields.span_offset == 100 && fields.span_bytes == description.span_bytes);
	assert_true(fields.bytes == description.bytes);
	for (size_t i = 0; i < sizeof(outside) / sizeof(outside[0]); i++) {
		struct ww_description lie = description;

		lie.span_offset += outside[i].offset;
		lie.span_bytes += outside[i].bytes;
		if (lie.span_offset + lie.span_bytes != description.bytes)
			assert_fails(code(&lie, &fields), WW_ERR_PROTOCOL);
	}
	description.span_offset = 0;
	description.span_bytes = 0;
	description.backing = WW_BACKING_CUDA_LEGACY;
	assert_fails(code(&description, &fields), WW_ERR_PROTOCOL); /* of kind vmm */
	description.kind = WW_MEMORY_LEGACY;
	assert_ok(code(&description, &fields));
	assert_true(fields.span_bytes == 0); /* all of it */
	description.backing = WW_BACKING_CUDA_POOL;
	assert_fails(code(&description, &fields), WW_ERR_PROTOCOL);
	description.kind = WW_MEMORY_CUDA_POOL;
	assert_ok(code(&description, &fields));
}

UNIT_MAIN("description")
