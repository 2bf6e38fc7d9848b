/* SPDX-License-Identifier: Apache-2.0 */
/*
 * name_test.c - names that are fine, and every trick that is none
 */
#include "base/unit_test.h"

#include <stdio.h>
#include <string.h>

#include "wire/name.h"

#define LONGEST 191
#define ID      "0123456789abcdef0123456789abcdef"

/* What is wrong, as a part of the message; for a prefix NULL: nothing. */
struct trick {
	const char *name;
	const char *fault;
	const char *prefix_fault;
};

static const struct trick tricks[] = {
	{"", "empty", NULL},
	{"/", "empty component after 0 bytes", "empty component after 0 bytes"},
	{"/a", "empty component after 0 bytes", "empty component after 0 bytes"},
	{"/etc/passwd", "empty component after 0 bytes", "empty component after 0 bytes"},
	{"a/", "empty component after 2 bytes", NULL},
	{"a//", "empty component after 2 bytes", "empty component after 2 bytes"},
	{"a//b", "empty component after 2 bytes", "empty component after 2 bytes"},
	{".", "component \".\" after 0 bytes", NULL},
	{"..", "component \"..\" after 0 bytes", NULL},
	{"./a", "component \".\" after 0 bytes", "component \".\" after 0 bytes"},
	{"../a", "component \"..\" after 0 bytes", "component \"..\" after 0 bytes"},
	{"a/.", "component \".\" after 2 bytes", NULL},
	{"a/..", "component \"..\" after 2 bytes", NULL},
	{"a/./b", "component \".\" after 2 bytes", "component \".\" after 2 bytes"},
	{"a/../../b", "component \"..\" after 2 bytes", "component \"..\" after 2 bytes"},
	{"a\nb", "U+000A after 1 bytes", "U+000A after 1 bytes"},
	{"\x01", "U+0001 after 0 bytes", "U+0001 after 0 bytes"},
	{"ab\x1b[2J", "U+001B after 2 bytes", "U+001B after 2 bytes"},
	{"a\x7f", "U+007F after 1 bytes", "U+007F after 1 bytes"},
	{"a\xc2\x80", "U+0080 after 1 bytes", "U+0080 after 1 bytes"},
	{"a\xc2\x9b", "U+009B after 1 bytes", "U+009B after 1 bytes"},
	{"a\xc2\x9f", "U+009F after 1 bytes", "U+009F after 1 bytes"},
	/* what begins with '@' is inside an object, or none */
	{"@", "begins with '@'", NULL},
	{"@/a", "begins with '@'", "begins with '@'"},
	{"@a", "begins with '@'", NULL},
	{"@x", "begins with '@'", "begins with '@'"},
	{"@a/b", "begins with '@'", "begins with '@'"},
	{"@" ID, "begins with '@'", NULL},
	{"@" ID "/", "empty component after 34 bytes", NULL},
	{"@" ID "0/a", "begins with '@'", "begins with '@'"},
	{"@" ID "0", "begins with '@'", "begins with '@'"},
	{"@0123456789ABCDEF0123456789ABCDEF/a", "begins with '@'", "begins with '@'"},
	{"@" ID "//a", "empty component after 34 bytes", "empty component after 34 bytes"},
	{"@" ID "/..", "component \"..\" after 34 bytes", NULL},
	{"@" ID "/a/./b", "component \".\" after 36 bytes", "component \".\" after 36 bytes"},
	/*
	 * bytes that are no UTF-8: alone, cut off, too many, too long, half of a pair, beyond the
	 * end
	 */
	{"a\x80", "not UTF-8 after 1 bytes", "not UTF-8 after 1 bytes"},
	{"a\xff", "not UTF-8 after 1 bytes", "not UTF-8 after 1 bytes"},
	{"a\xc3", "not UTF-8 after 1 bytes", "not UTF-8 after 1 bytes"},
	{"a\xc3/b", "not UTF-8 after 1 bytes", "not UTF-8 after 1 bytes"},
	{"a\xe2\x82", "not UTF-8 after 1 bytes", "not UTF-8 after 1 bytes"},
	{"a\xf0\x9f\x98", "not UTF-8 after 1 bytes", "not UTF-8 after 1 bytes"},
	{"\xc3\xa9\xa9", "not UTF-8 after 2 bytes", "not UTF-8 after 2 bytes"},
	{"a\xc0\xaf"
	 "b",
		"not UTF-8 after 1 bytes", "not UTF-8 after 1 bytes"},
	{"a\xc1\xbf", "not UTF-8 after 1 bytes", "not UTF-8 after 1 bytes"},
	{"a\xe0\x80\xaf", "not UTF-8 after 1 bytes", "not UTF-8 after 1 bytes"},
	{"a\xe0\x9f\xbf", "not UTF-8 after 1 bytes", "not UTF-8 after 1 bytes"},
	{"a\xf0\x8f\xbf\xbf", "not UTF-8 after 1 bytes", "not UTF-8 after 1 bytes"},
	{"a\xed\xa0\x80", "not UTF-8 after 1 bytes", "not UTF-8 after 1 bytes"},
	{"a\xed\xbf\xbf", "not UTF-8 after 1 bytes", "not UTF-8 after 1 bytes"},
	{"a\xf4\x90\x80\x80", "not UTF-8 after 1 bytes", "not UTF-8 after 1 bytes"},
	{"a\xf5\x80\x80\x80", "not UTF-8 after 1 bytes", "not UTF-8 after 1 bytes"},
	{"a\xf8\x88\x80\x80\x80", "not UTF-8 after 1 bytes", "not UTF-8 after 1 bytes"},
};

UNIT_TEST(good_names)
{
	static const char *const names[] = {"a", "model/layer0/w", "~1000/x", "~", " ", "a b",
		"...", ".a", "..a", "a..", ".../...", "a/.b/..c", "-rf", "a\\b", "\"'$`",
		"\xc3\xa9t\xc3\xa9", "\xc2\xa0", "\xed\x9f\xbf", "\xee\x80\x80", "\xf0\x90\x80\x80",
		"a@b", "a/@b", "@" ID "/a", "@" ID "/@a", "@" ID "/a/b", "\xf4\x8f\xbf\xbf",
		"\xe2\x82\xac/\xf0\x9f\x98\x80"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		assert_ok(ww_name_check(names[i]));
		assert_ok(ww_name_check_prefix(names[i]));
	}
}

/* Every start of a good name that does not cut a character is a good prefix. */
UNIT_TEST(starts_of_names)
{
	static const char name[] = "a/..b/.c/...";
	char prefix[sizeof(name)];

	for (size_t bytes = 0; bytes < sizeof(name); bytes++) {
		snprintf(prefix, sizeof(prefix), "%.*s", (int)bytes, name);
		assert_ok(ww_name_check_prefix(prefix));
	}
}

UNIT_TEST(every_trick)
{
	for (size_t i = 0; i < sizeof(tricks) / sizeof(tricks[0]); i++) {
		const struct trick *trick = &tricks[i];

		assert_fails(ww_name_check(trick->name), WW_ERR_INVALID);
		assert_non_null(strstr(ww_error_last()->message, trick->fault));
		if (!trick->prefix_fault) {
			assert_ok(ww_name_check_prefix(trick->name));
			continue;
		}
		assert_fails(ww_name_check_prefix(trick->name), WW_ERR_INVALID);
		assert_non_null(strstr(ww_error_last()->message, trick->prefix_fault));
		assert_non_null(strstr(ww_error_last()->message, "prefix"));
	}
}

UNIT_TEST(every_control_character)
{
	for (unsigned int point = 1; point < 0xa0; point++) {
		char name[3] = {(char)point};

		if (point >= 0x20 && point < 0x7f)
			continue;
		if (point >= 0x80)
			snprintf(name, sizeof(name), "\xc2%c", (int)point);
		assert_fails(ww_name_check(name), WW_ERR_INVALID);
		assert_fails(ww_name_check_prefix(name), WW_ERR_INVALID);
	}
}

UNIT_TEST(lengths)
{
	char name[LONGEST + 2];

	memset(name, 'a', sizeof(name));
	name[LONGEST] = '\0';
	assert_ok(ww_name_check(name));
	assert_ok(ww_name_check_prefix(name));
	name[LONGEST] = 'a';
	name[LONGEST + 1] = '\0';
	assert_fails(ww_name_check(name), WW_ERR_INVALID);
	assert_fails(ww_name_check_prefix(name), WW_ERR_INVALID);
	assert_non_null(strstr(ww_error_last()->message, "longer than 191 bytes"));
}

UNIT_TEST(inside)
{
	static const uint8_t expected[16] = {0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 0x01,
		0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef};
	uint8_t id[16];

	assert_true(ww_name_is_inside("@" ID "/a"));
	assert_false(ww_name_is_inside("a/@" ID "/a"));
	assert_false(ww_name_is_inside(""));
	ww_name_outer("@" ID "/a", id);
	assert_memory_equal(id, expected, sizeof(id));
}

UNIT_MAIN("name")
