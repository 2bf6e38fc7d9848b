/* SPDX-License-Identifier: Apache-2.0 */
/*
 * name.c - whether a text can be the name of an object, see name.h
 *
 * Characters first, then components. A message says after how many bytes the fault is and quotes
 * nothing: what is refused may not be fit for a terminal.
 */
#include "wire/name.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/utf8.h"

#define ID_DIGITS (2 * (size_t)WW_WIRE_ID_BYTES)

/* The last component of a prefix may go on in a name, so it is not looked at. */
static ww_status check_components(const char *text, const char *word, bool is_prefix)
{
	const char *component = text;

	for (;;) {
		const char *end = strchrnul(component, '/');
		size_t bytes;

		if (!*end && is_prefix)
			return WW_OK;
		bytes = (size_t)(end - component);
		if (bytes == 0)
			return ww_fail(WW_ERR_INVALID,
				"a %s has an empty component after %zu bytes; put no '/' first or last, nor two "
				"together",
				word, (size_t)(component - text));
		if (bytes <= 2 && strspn(component, ".") >= bytes)
			return ww_fail(WW_ERR_INVALID,
				"a %s has the component \"%.*s\" after %zu bytes; it is no path, leave it out",
				word, (int)bytes, component, (size_t)(component - text));
		if (!*end)
			return WW_OK;
		component = end + 1;
	}
}

static ww_status check(const char *text, bool is_prefix)
{
	const char *word = is_prefix ? "prefix" : "name";
	size_t at = 0;

	if (strnlen(text, WW_WIRE_NAME_BYTES) == WW_WIRE_NAME_BYTES)
		return ww_fail(WW_ERR_INVALID, "a %s is longer than %d bytes; choose a shorter one",
			word, WW_WIRE_NAME_BYTES - 1);
	while (text[at]) {
		uint32_t point;
		size_t bytes = ww_utf8_read(text + at, &point);

		if (bytes == 0)
			return ww_fail(WW_ERR_INVALID, "a %s is not UTF-8 after %zu bytes", word,
				at);
		if (ww_utf8_is_control(point))
			return ww_fail(WW_ERR_INVALID,
				"a %s has the control character U+%04" PRIX32
				" after %zu bytes; leave it out",
				word, point, at);
		at += bytes;
	}
	if (text[0] == '@') {
		size_t digits = strspn(text + 1, "0123456789abcdef");
		char after = text[1 + digits];

		/* A prefix may end before all of "@ID/" is there. */
		if ((!is_prefix || after || digits > ID_DIGITS) &&
			(digits != ID_DIGITS || after != '/'))
			return ww_fail(WW_ERR_INVALID,
				"a %s begins with '@' and not with \"@ID/\", an object's id in %zu digits of "
				"0-9 and a-f; choose another first character",
				word, ID_DIGITS);
	}
	return check_components(text, word, is_prefix);
}

ww_status ww_name_check(const char *name)
{
	if (!name[0])
		return ww_fail(WW_ERR_INVALID, "a name is empty; it needs a character at least");
	return check(name, false);
}

ww_status ww_name_check_prefix(const char *prefix)
{
	return check(prefix, true);
}

bool ww_name_is_inside(const char *name)
{
	return name[0] == '@';
}

static uint8_t digit(char character)
{
	return (uint8_t)(character <= '9' ? character - '0' : character - 'a' + 10);
}

void ww_name_outer(const char *name, uint8_t out_id[WW_WIRE_ID_BYTES])
{
	for (size_t i = 0; i < WW_WIRE_ID_BYTES; i++)
		out_id[i] = (uint8_t)(digit(name[1 + 2 * i]) << 4 | digit(name[2 + 2 * i]));
}

void ww_name_begin_inside(const uint8_t id[WW_WIRE_ID_BYTES], char *out)
{
	static const char digits[] = "0123456789abcdef";

	*out++ = '@';
	for (size_t i = 0; i < WW_WIRE_ID_BYTES; i++) {
		*out++ = digits[id[i] >> 4];
		*out++ = digits[id[i] & 15];
	}
	*out = '/';
}
