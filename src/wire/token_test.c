/* SPDX-License-Identifier: Apache-2.0 */
/*
 * token_test.c - the bytes of a token and its text: golden, damaged, cut off, newer, impossible
 */
#include "base/unit_test.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <warpway/device.h>

#include "base/checksum.h"
#include "wire/array_record.h"
#include "wire/token.h"

/* Where fields are, from the protocol. */
enum {
	AT_VERSION = 8,
	AT_LENGTH = 10,
	AT_CHECKSUM = 12,
	AT_KIND = 64,
	AT_ACCESS = 66,
	AT_FLAGS = 67,
	AT_OFFSET = 72,
	AT_BYTES = 80,
	AT_TOTAL_BYTES = 88,
	AT_SLICE = 120,
	AT_ADDRESS = 128,
	AT_ARRAY = 240,
	AT_NDIM = AT_ARRAY + 4,
	AT_ARRAY_OFFSET = AT_ARRAY + 8,
	AT_SHAPE = AT_ARRAY + 16,
	AT_STRIDE = AT_ARRAY + 24
};

static const uint8_t secret[WW_SECRET_BYTES] = {0xa0, 0xa1, 0xa2, 0xa3, 0xa4, 0xa5, 0xa6, 0xa7,
	0xa8, 0xa9, 0xaa, 0xab, 0xac, 0xad, 0xae, 0xaf};

#define ROW_BYTES UINT64_C(128)

/* 16 rows of 32 floats in a span of 2 MiB, the last row first. */
static struct ww_token_info sample(void)
{
	struct ww_token_info info = {.struct_size = sizeof(info),
		.kind = WW_OBJECT_MEMORY,
		.access = WW_ACCESS_READ,
		.broker_uid = 1000,
		.offset = 0x1000,
		.bytes = 0x200000,
		.total_bytes = 0x400000,
		.generation = 0x0102030405060708,
		.has_array = 1,
		.object_id = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16},
		.home_uuid = {0xf0, 0xe0, 0xd0, 0xc0, 0xb0, 0xa0, 0x90, 0x80, 0x70, 0x60, 0x50,
			0x40, 0x30, 0x20, 0x10, 0x00},
		.broker_id = {0xb0, 0xb1, 0xb2, 0xb3, 0xb4, 0xb5, 0xb6, 0xb7, 0xb8, 0xb9, 0xba,
			0xbb, 0xbc, 0xbd, 0xbe, 0xbf},
		.address = "/run/warpway/broker.sock"};

	info.array.struct_size = sizeof(info.array);
	assert_ok(ww_array_set(&info.array, WW_DTYPE(WW_DTYPE_FLOAT, 32), 2,
		(const int64_t[]){16, 32}, NULL, 0));
	info.array.strides[0] = -128;
	info.array.offset = 15 * ROW_BYTES;
	return info;
}

static struct ww_token made(const struct ww_token_info *info)
{
	struct ww_token token;

	assert_ok(ww_token_make(info, secret, &token));
	return token;
}

static struct ww_token sample_token(void)
{
	const struct ww_token_info info = sample();

	return made(&info);
}

/*
 * Committed: another version of this library wrote them and must always be read. All further bytes
 * are zero.
 */
/* clang-format off */
static const uint8_t golden[] = {
	0x57, 0x57, 0x54, 0x4f, 0x4b, 0x45, 0x4e, 0x31, 0x01, 0x00, 0x00, 0x02, 0x35, 0xd1, 0xb9, 0x2f,
	0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x0e, 0x0f, 0x10,
	0xa0, 0xa1, 0xa2, 0xa3, 0xa4, 0xa5, 0xa6, 0xa7, 0xa8, 0xa9, 0xaa, 0xab, 0xac, 0xad, 0xae, 0xaf,
	0xf0, 0xe0, 0xd0, 0xc0, 0xb0, 0xa0, 0x90, 0x80, 0x70, 0x60, 0x50, 0x40, 0x30, 0x20, 0x10, 0x00,
	0x01, 0x00, 0x01, 0x00, 0xe8, 0x03, 0x00, 0x00, 0x00, 0x10, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x20, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x40, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x08, 0x07, 0x06, 0x05, 0x04, 0x03, 0x02, 0x01, 0xb0, 0xb1, 0xb2, 0xb3, 0xb4, 0xb5, 0xb6, 0xb7,
	0xb8, 0xb9, 0xba, 0xbb, 0xbc, 0xbd, 0xbe, 0xbf, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x2f, 0x72, 0x75, 0x6e, 0x2f, 0x77, 0x61, 0x72, 0x70, 0x77, 0x61, 0x79, 0x2f, 0x62, 0x72, 0x6f,
	0x6b, 0x65, 0x72, 0x2e, 0x73, 0x6f, 0x63, 0x6b, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x02, 0x20, 0x01, 0x00, 0x02, 0x00, 0x00, 0x00, 0x80, 0x07, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x10, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x80, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
	0x20, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x04,
};
/* clang-format on */

static const char golden_text
	[] = "ww1_V1dUT0tFTjEBAAACNdG5LwECAwQFBgcICQoLDA0ODxCgoaKjpKWmp6ipqqusra6v8ODQwLCg"
	     "kIBwYFBAMCAQAAEAAQDoAwAAABAAAAAAAAAAACAAAAAAAAAAQAAAAAAACAcGBQQDAgGwsbKztLW2"
	     "t7i5uru8vb6_AAAAAAAAAAAvcnVuL3dhcnB3YXkvYnJva2VyLnNvY2sAAAAAAAAAAAAAAAAAAAAA"
	     "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
	     "AAAAAAAAAAAAAAAAAAAAAiABAAIAAACABwAAAAAAABAAAAAAAAAAgP________8gAAAAAAAAAAQ";

static struct ww_token golden_token(void)
{
	struct ww_token token = {{0}};

	memcpy(token.bytes, golden, sizeof(golden));
	return token;
}

UNIT_TEST(golden_bytes)
{
	const struct ww_token token = golden_token();
	const struct ww_token_info want = sample();
	struct ww_token again = sample_token();
	struct ww_token_info info = WW_INIT(struct ww_token_info);
	struct ww_token_content found;
	char text[WW_TOKEN_TEXT_BYTES];

	assert_memory_equal(again.bytes, token.bytes, sizeof(token.bytes));
	assert_ok(ww_token_info_get(&token, &info));
	assert_memory_equal(&info, &want, sizeof(want));
	assert_ok(ww_token_read(&token, &found));
	assert_memory_equal(found.secret, secret, sizeof(secret));
	assert_ok(ww_token_to_text(&token, text));
	assert_string_equal(text, golden_text);
	assert_ok(ww_token_from_text(golden_text, &again));
	assert_memory_equal(again.bytes, token.bytes, sizeof(token.bytes));
}

/* The first token that the thread reads. */
UNIT_TEST(zeros_are_no_token)
{
	const struct ww_token token = {{0}};
	struct ww_token_info info = WW_INIT(struct ww_token_info);

	assert_fails(ww_token_info_get(&token, &info), WW_ERR_PROTOCOL);
}

UNIT_TEST(tokens_are_read_in_turn)
{
	struct ww_token_info infos[] = {sample(), sample()};
	struct ww_token tokens[2];

	infos[1].generation++;
	for (size_t i = 0; i < 2; i++)
		tokens[i] = made(&infos[i]);
	for (size_t i = 0; i < 8; i++) { /* each twice, then the other */
		struct ww_token_info found = WW_INIT(struct ww_token_info);

		assert_ok(ww_token_info_get(&tokens[i / 2 % 2], &found));
		assert_memory_equal(&found, &infos[i / 2 % 2], sizeof(found));
	}
}

UNIT_TEST(every_changed_byte_is_seen)
{
	struct ww_token_info info = {.struct_size = sizeof(info), .kind = 99};
	char text[WW_TOKEN_TEXT_BYTES];

	for (size_t at = 0; at < WW_TOKEN_BYTES; at++) {
		for (unsigned int change = 1; change < 256; change <<= 1) {
			struct ww_token token = sample_token();

			token.bytes[at] ^= (uint8_t)change;
			assert_fails(ww_token_info_get(&token, &info), WW_ERR_PROTOCOL);
			assert_fails(ww_token_to_text(&token, text), WW_ERR_PROTOCOL);
			assert_int_equal(text[0], '\0');
		}
	}
	assert_int_equal(info.kind, 99);
}

static void put(struct ww_token *token, size_t at, uint64_t value, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		token->bytes[at + i] = (uint8_t)(value >> (8 * i));
}

static void seal(struct ww_token *token)
{
	put(token, AT_CHECKSUM, 0, 4);
	put(token, AT_CHECKSUM, ww_checksum(0, token->bytes, sizeof(token->bytes)), 4);
}

static ww_status read_sealed(struct ww_token *token)
{
	struct ww_token_info info = WW_INIT(struct ww_token_info);

	seal(token);
	return ww_token_info_get(token, &info);
}

/* Changes a field and makes the checksum right again, as a liar would. */
static ww_status read_with(size_t at, uint64_t value, size_t bytes)
{
	struct ww_token token = sample_token();

	put(&token, at, value, bytes);
	return read_sealed(&token);
}

static bool said(const char *part)
{
	return strstr(ww_error_last()->message, part) != NULL;
}

UNIT_TEST(lies_about_the_envelope)
{
	assert_fails(read_with(0, 'w', 1), WW_ERR_PROTOCOL);
	assert_true(said("do not begin with WWTOKEN1"));
	assert_fails(read_with(AT_VERSION, 2, 2), WW_ERR_VERSION);
	assert_true(said("version 2") && said("version 1"));
	assert_fails(read_with(AT_VERSION, 0, 2), WW_ERR_VERSION);
	assert_fails(read_with(AT_VERSION, 0x101, 2), WW_ERR_VERSION);
	assert_fails(read_with(AT_LENGTH, 511, 2), WW_ERR_PROTOCOL);
	assert_true(said("511 bytes"));
	assert_fails(read_with(AT_FLAGS, 16, 1), WW_ERR_PROTOCOL);
	assert_true(said("flags 0x10") && said("does not know"));
	assert_fails(read_with(AT_FLAGS, 0x80, 1), WW_ERR_PROTOCOL);
	assert_fails(read_with(AT_FLAGS, WW_TOKEN_SLICE, 1), WW_ERR_PROTOCOL);
	assert_true(said("by half"));
	assert_fails(read_with(AT_FLAGS, WW_TOKEN_PASSED, 1), WW_ERR_PROTOCOL);
	assert_true(said("by half"));
	assert_fails(read_with(AT_SLICE, 1, 1), WW_ERR_PROTOCOL);
	assert_fails(read_with(AT_SLICE + 7, 1, 1), WW_ERR_PROTOCOL);
	assert_true(said("by half"));
}

UNIT_TEST(lies_about_the_object)
{
	assert_fails(read_with(AT_KIND, 0, 2), WW_ERR_PROTOCOL);
	assert_ok(read_with(AT_KIND, 7, 2)); /* of a later library */
	assert_ok(read_with(AT_KIND, 0xffff, 2));
	assert_fails(read_with(AT_ACCESS, 0, 1), WW_ERR_PROTOCOL);
	assert_ok(read_with(AT_ACCESS, 2, 1));
	assert_fails(read_with(AT_ACCESS, 3, 1), WW_ERR_PROTOCOL);
	assert_ok(read_with(AT_OFFSET, 0x200000, 8));
	assert_fails(read_with(AT_OFFSET, 0x200001, 8), WW_ERR_PROTOCOL);
	assert_fails(read_with(AT_OFFSET, 0x400001, 8), WW_ERR_PROTOCOL);
	assert_fails(read_with(AT_OFFSET, UINT64_MAX - 0x1fffff, 8),
		WW_ERR_PROTOCOL); /* their sum is 0 */
	assert_fails(read_with(AT_BYTES, UINT64_MAX, 8), WW_ERR_PROTOCOL);
	assert_fails(read_with(AT_BYTES, UINT64_MAX - 0xfff, 8), WW_ERR_PROTOCOL);
	assert_true(said("of only 4194304"));
	assert_fails(read_with(AT_BYTES, 0, 8), WW_ERR_PROTOCOL);
	assert_true(said("no bytes"));
	assert_fails(read_with(AT_TOTAL_BYTES, 0, 8), WW_ERR_PROTOCOL);
	assert_ok(read_with(AT_TOTAL_BYTES, INT64_MAX, 8));
	assert_fails(read_with(AT_TOTAL_BYTES, UINT64_C(1) << 63, 8), WW_ERR_PROTOCOL);
}

UNIT_TEST(lies_about_the_address)
{
	struct ww_token token = sample_token();

	assert_fails(read_with(AT_ADDRESS, 'r', 1), WW_ERR_PROTOCOL);
	assert_true(said("absolute"));
	assert_fails(read_with(AT_ADDRESS + 4, '\n', 1), WW_ERR_PROTOCOL);
	assert_fails(read_with(AT_ADDRESS + 4, 0x7f, 1), WW_ERR_PROTOCOL);
	assert_fails(read_with(AT_ADDRESS + 4, 0xe9, 1), WW_ERR_PROTOCOL);
	assert_true(said("not text"));
	assert_fails(read_with(AT_ADDRESS, 0, 1), WW_ERR_PROTOCOL); /* empty, and then not */
	assert_fails(read_with(AT_ADDRESS + 30, 'x', 1), WW_ERR_PROTOCOL);
	assert_fails(read_with(AT_ADDRESS + 111, 'x', 1), WW_ERR_PROTOCOL);
	assert_true(said("filled up with zeros"));
	assert_ok(read_with(AT_ADDRESS + 5, 0xa9c3, 2)); /* another character, of two bytes */
	memset(token.bytes + AT_ADDRESS, '/', WW_ADDRESS_BYTES - 1);
	assert_ok(read_sealed(&token));
	memset(token.bytes + AT_ADDRESS, '/', WW_ADDRESS_BYTES); /* without an end */
	assert_fails(read_sealed(&token), WW_ERR_PROTOCOL);
	memset(token.bytes + AT_ADDRESS, 0, WW_ADDRESS_BYTES);
	assert_ok(read_sealed(&token));
}

UNIT_TEST(lies_about_the_array)
{
	assert_fails(read_with(AT_ARRAY, 7, 1), WW_ERR_PROTOCOL);
	assert_fails(read_with(AT_ARRAY, 0xff, 1), WW_ERR_PROTOCOL);
	assert_true(said("no array, and then"));
	assert_fails(read_with(AT_ARRAY + 1, 33, 1), WW_ERR_PROTOCOL);
	assert_fails(read_with(AT_ARRAY + 2, 0, 2), WW_ERR_PROTOCOL);
	assert_fails(read_with(AT_NDIM, 1, 4), WW_ERR_PROTOCOL);
	assert_fails(read_with(AT_NDIM, 17, 4), WW_ERR_PROTOCOL);
	assert_fails(read_with(AT_NDIM, UINT32_MAX, 4), WW_ERR_PROTOCOL);
	assert_fails(read_with(AT_ARRAY_OFFSET, 15 * ROW_BYTES - 1, 8), WW_ERR_PROTOCOL);
	assert_true(said("1 bytes before its start"));
	assert_ok(read_with(AT_ARRAY_OFFSET, 0x200000 - 128, 8));
	assert_fails(read_with(AT_ARRAY_OFFSET, 0x200000 - 127, 8), WW_ERR_PROTOCOL);
	assert_true(said("1 bytes behind its end"));
	assert_fails(read_with(AT_SHAPE, (uint64_t)-1, 8), WW_ERR_PROTOCOL);
	assert_fails(read_with(AT_SHAPE, INT64_MAX, 8), WW_ERR_PROTOCOL);
	assert_fails(read_with(AT_STRIDE, UINT64_C(1) << 63, 8), WW_ERR_PROTOCOL);
	assert_fails(read_with(WW_TOKEN_BYTES - 8, 1, 8),
		WW_ERR_PROTOCOL); /* the last dimension's stride */
	assert_ok(read_with(AT_BYTES, 16 * ROW_BYTES, 8));
	assert_fails(read_with(AT_BYTES, 16 * ROW_BYTES - 1, 8),
		WW_ERR_PROTOCOL); /* it leaves the span, not the memory */
}

UNIT_TEST(other_kinds_have_no_bytes)
{
	struct ww_token_info info = {.struct_size = sizeof(info),
		.kind = WW_OBJECT_TIMELINE,
		.access = 2};
	const struct ww_token token = made(&info);
	struct ww_token_info found = WW_INIT(struct ww_token_info);

	assert_ok(ww_token_info_get(&token, &found));
	assert_memory_equal(&found, &info, sizeof(info));
}

UNIT_TEST(info_needs_a_size)
{
	const struct ww_token token = sample_token();
	struct ww_token_info info = {.struct_size = 0};

	assert_fails(ww_token_info_get(&token, &info), WW_ERR_INVALID);
	info.struct_size = offsetof(struct ww_token_info, slice) - 1;
	assert_fails(ww_token_info_get(&token, &info), WW_ERR_INVALID);
	info.struct_size++; /* of a program from before there were slices */
	assert_ok(ww_token_info_get(&token, &info));
}

#define NOT_MADE(change)                                                            \
	do {                                                                        \
		struct ww_token_info info = sample();                               \
		struct ww_token token = {{77}};                                     \
		change;                                                             \
		assert_fails(ww_token_make(&info, secret, &token), WW_ERR_INVALID); \
		assert_true(said("cannot make a token"));                           \
		assert_int_equal(token.bytes[0], 77);                               \
	} while (0)

UNIT_TEST(token_that_no_process_accepts_is_not_made)
{
	NOT_MADE(info.kind = 0);
	NOT_MADE(info.kind = 0x10001);
	NOT_MADE(info.access = 0);
	NOT_MADE(info.access = 0x101);
	NOT_MADE(info.bytes = 0);
	NOT_MADE(info.offset = 0x200001);
	NOT_MADE(info.array.offset = 0x200000);
	NOT_MADE(info.array.shape[0] = -1);
	NOT_MADE(info.address[0] = 'x');
	NOT_MADE(info.address[3] = '\t');
	NOT_MADE(memset(info.address, '/', sizeof(info.address)));
}

UNIT_TEST(spaces_around_a_text)
{
	const struct ww_token want = golden_token();
	struct ww_token token;
	char text[WW_TOKEN_TEXT_BYTES + 16];

	snprintf(text, sizeof(text), " \t\r\n%s\v\f \r\n", golden_text);
	assert_ok(ww_token_from_text(text, &token));
	assert_memory_equal(token.bytes, want.bytes, sizeof(want.bytes));
	snprintf(text, sizeof(text), "ww1_ %s", golden_text + 4);
	assert_fails(ww_token_from_text(text, &token), WW_ERR_PROTOCOL);
	assert_true(said("after 4 others"));
	snprintf(text, sizeof(text), "%.20s\n%s", golden_text, golden_text + 20);
	assert_fails(ww_token_from_text(text, &token), WW_ERR_PROTOCOL);
	assert_true(said("after 20 others"));
}

UNIT_TEST(every_cut_text_is_refused)
{
	struct ww_token token = {{77}};
	char text[WW_TOKEN_TEXT_BYTES];

	for (size_t length = 0; length < strlen(golden_text); length++) {
		snprintf(text, sizeof(text), "%.*s", (int)length, golden_text);
		assert_fails(ww_token_from_text(text, &token), WW_ERR_PROTOCOL);
		assert_fails(ww_token_from_text(golden_text + length + 1, &token), WW_ERR_PROTOCOL);
	}
	assert_int_equal(token.bytes[0], 77);
}

/* Every character in place of every one: none but the right one is taken. */
UNIT_TEST(every_changed_character_is_refused)
{
	struct ww_token token;
	char text[WW_TOKEN_TEXT_BYTES];

	for (size_t at = 0; golden_text[at]; at++) {
		static const char tries[] = "A_-z9+/=. \n\x01\x7f\x80\xff";

		for (size_t i = 0; i < sizeof(tries); i++) {
			bool is_same = tries[i] == golden_text[at];

			snprintf(text, sizeof(text), "%s", golden_text);
			text[at] = tries[i];
			if (is_same)
				assert_ok(ww_token_from_text(text, &token));
			else
				assert_fails(ww_token_from_text(text, &token), WW_ERR_PROTOCOL);
		}
	}
}

UNIT_TEST(another_spelling_is_refused)
{
	static const char *const behind[] = {"A", "AA", "AAA", "AAAA", "=", "==", "AAAAAAAAAAAA",
		"ww1_"};
	static const char *const prefixes[] = {"", "ww1", "WW1_", "Ww1_", "ww2_", "ww1-", "ww01_",
		"w1_"};
	struct ww_token token;
	char text[2 * WW_TOKEN_TEXT_BYTES];

	for (size_t i = 0; i < sizeof(behind) / sizeof(behind[0]); i++) {
		snprintf(text, sizeof(text), "%s%s", golden_text, behind[i]);
		assert_fails(ww_token_from_text(text, &token), WW_ERR_PROTOCOL);
	}
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		snprintf(text, sizeof(text), "%s%s", prefixes[i], golden_text + 4);
		assert_fails(ww_token_from_text(text, &token), WW_ERR_PROTOCOL);
		assert_true(said("does not begin with ww1_"));
	}
	snprintf(text, sizeof(text), "%s", golden_text);
	memset(text + strlen(text), 'A', 4 + 683 - strlen(golden_text));
	text[4 + 683] = '\0'; /* all zeros written out */
	assert_fails(ww_token_from_text(text, &token), WW_ERR_PROTOCOL);
	assert_true(said("letters that say nothing"));
	memset(text + 4 + 683, 'A', 1);
	text[4 + 684] = '\0';
	assert_fails(ww_token_from_text(text, &token), WW_ERR_PROTOCOL);
	assert_true(said("688 characters; 687 are the most"));
}

/* The longest text there is: the last byte is not zero. */
UNIT_TEST(the_longest_text)
{
	struct ww_token_info info = sample();
	struct ww_token token;
	char text[WW_TOKEN_TEXT_BYTES];

	assert_ok(ww_array_set(&info.array, WW_DTYPE(WW_DTYPE_INT, 8), WW_ARRAY_DIMS,
		(const int64_t[]){1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, NULL, 0));
	info.array.strides[WW_ARRAY_DIMS - 1] = -1;
	token = made(&info);
	assert_ok(ww_token_to_text(&token, text));
	assert_int_equal(strlen(text), 4 + 683);
	assert_ok(ww_token_from_text(text, &token));
	text[686] ^= 1; /* letters of the same six bits but for the spare ones */
	assert_int_not_equal(ww_token_from_text(text, &token), WW_OK);
}

UNIT_MAIN("token")
