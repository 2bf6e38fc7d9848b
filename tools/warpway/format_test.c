/* SPDX-License-Identifier: Apache-2.0 */
/*
 * format_test.c - words for what is in a broker
 */
#include "base/unit_test.h"

#include <string.h>

#include "warpway/format.h"

#define NS_PER_S UINT64_C(1000000000)

UNIT_TEST(modes_are_as_ls_shows_them)
{
	static const struct {
		uint32_t state;
		uint32_t mode;
		const char *text;
	} cases[] = {
		{WW_STATE_SEALED, 0640, "srw-r-----"},
		{WW_STATE_SHARED, 0600, "-rw-------"},
		{WW_STATE_WRITING, 0666, "wrw-rw-rw-"},
		{WW_STATE_REMOVED, 0421, "xr---w---x"},
		{0, 0, "?---------"},
		{5, 0777, "?rwxrwxrwx"},
		{UINT32_MAX, 0, "?---------"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char text[FORMAT_MODE_BYTES];

		format_mode(cases[i].state, cases[i].mode, text);
		assert_string_equal(text, cases[i].text);
	}
}

UNIT_TEST(durations_have_one_unit)
{
	static const struct {
		uint64_t ns;
		const char *text;
	} cases[] = {
		{0, "0 ms"},
		{NS_PER_S - 1, "999 ms"},
		{NS_PER_S, "1 s"},
		{100 * NS_PER_S - 1, "99 s"},
		{100 * NS_PER_S, "1 min"},
		{3600 * NS_PER_S, "60 min"},
		{6000 * NS_PER_S, "1 h"},
		{48 * 3600 * NS_PER_S - 1, "47 h"},
		{48 * 3600 * NS_PER_S, "2 d"},
		{UINT64_MAX, "213503 d"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char text[FORMAT_DURATION_BYTES];

		format_duration(cases[i].ns, text);
		assert_string_equal(text, cases[i].text);
	}
}

UNIT_TEST(identities_are_in_hexadecimal)
{
	static const uint8_t bytes[16] = {0xee, 0x2f, 0x2e, 0x36, 0x01, 0x02, 0x03, 0x04, 0x05,
		0x06, 0x07, 0x08, 0x09, 0x0a, 0x0b, 0xff};
	char uuid[FORMAT_UUID_BYTES];
	char id[FORMAT_ID_BYTES];
	uint8_t found[sizeof(bytes)];

	format_uuid(bytes, uuid);
	assert_string_equal(uuid, "GPU-ee2f2e36-0102-0304-0506-0708090a0bff");
	format_id(bytes, id);
	assert_string_equal(id, "ee2f2e360102030405060708090a0bff");
	assert_true(format_find_id(id, found));
	assert_memory_equal(found, bytes, sizeof(bytes));
	id[31] = 'g';
	assert_false(format_find_id(id, found));
}

UNIT_TEST(numbers_have_words)
{
	assert_string_equal(format_kind(WW_OBJECT_MEMORY), "memory");
	assert_string_equal(format_kind(WW_OBJECT_SERVICE), "service");
	assert_string_equal(format_kind(WW_OBJECT_POOL), "pool");
	assert_string_equal(format_kind(0), "unknown");
	assert_string_equal(format_kind(UINT32_MAX), "unknown");
	assert_string_equal(format_state(WW_STATE_REMOVED), "removed");
	assert_string_equal(format_life(WW_LIFE_KEPT), "kept");
	assert_string_equal(format_access(0), "none");
	assert_string_equal(format_access(WW_ACCESS_WRITE), "write");
	assert_string_equal(format_memory_kind(WW_MEMORY_HOST), "host");
	assert_string_equal(format_what(WW_WATCH_OVERFLOW), "overflow");
	assert_string_equal(format_what(WW_WATCH_REPLACED + 1), "unknown");
}

static void check_array(uint8_t code, uint8_t bits, uint16_t lanes, uint32_t ndim,
	const char *wanted)
{
	struct ww_array array = {.struct_size = sizeof(array),
		.dtype.code = code,
		.dtype.bits = bits,
		.dtype.lanes = lanes,
		.ndim = ndim,
		.shape = {1024, 768}};
	char text[FORMAT_ARRAY_BYTES];

	format_array(&array, text);
	assert_string_equal(text, wanted);
}

UNIT_TEST(arrays_show_type_and_shape)
{
	struct ww_array array = {.struct_size = sizeof(array),
		.dtype.lanes = UINT16_MAX,
		.ndim = UINT32_MAX};
	char text[FORMAT_ARRAY_BYTES];

	check_array(WW_DTYPE_FLOAT, 32, 1, 2, "float32[1024,768]");
	check_array(WW_DTYPE_BOOL, 8, 1, 1, "bool[1024]");
	check_array(WW_DTYPE_BFLOAT, 16, 1, 0, "bfloat16[]");
	check_array(WW_DTYPE_COMPLEX, 128, 1, 1, "complex128[1024]");
	check_array(WW_DTYPE_UINT, 8, 4, 1, "uint8x4[1024]");
	check_array(WW_DTYPE_FLOAT8_E4M3FN, 8, 1, 1, "float8_e4m3fn[1024]");
	check_array(WW_DTYPE_FLOAT4_E2M1FN, 4, 2, 1, "float4_e2m1fnx2[1024]");
	check_array(200, 8, 1, 1, "unknown8[1024]");
	for (int i = 0; i < WW_ARRAY_DIMS; i++)
		array.shape[i] = INT64_MIN;
	format_array(&array, text);
	assert_int_equal(text[strlen(text) - 1], ']');
}

UNIT_TEST(attackers_cannot_write_on_the_terminal)
{
	static const struct {
		const char *text;
		const char *shown;
	} cases[] = {
		{"model/w", "model/w"},
		{"\x1b[31mred\n", "?[31mred?"},
		{"h\xc3\xa4 \xe2\x82\xac \xf0\x9f\x90\x8d",
			"h\xc3\xa4 \xe2\x82\xac \xf0\x9f\x90\x8d"},
		{"\x7f\xc2\x9b", "??"},
		{"\xc3", "?"},
		{"\xe2\x82", "??"},
		{"\xc0\xaf\xed\xa0\x80", "?????"},
		{"\xf8\x88\x80\x80\x80", "?????"},
		{"\xf4\x90\x80\x80", "????"},
		{"\x80\xff", "??"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char text[64];

		format_safe(cases[i].text, text, sizeof(text));
		assert_string_equal(text, cases[i].shown);
	}
}

UNIT_TEST(characters_are_not_cut)
{
	char text[6];

	format_safe("abc\xe2\x82\xac", text, sizeof(text));
	assert_string_equal(text, "abc");
	format_safe("ab\xe2\x82\xacz", text, sizeof(text));
	assert_string_equal(text, "ab\xe2\x82\xac");
	format_safe("x\n", text, 1);
	assert_string_equal(text, "");
}

UNIT_MAIN("format")
