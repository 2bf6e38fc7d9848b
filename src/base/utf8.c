/* SPDX-License-Identifier: Apache-2.0 */
/*
 * utf8.c - whether a text from an untrusted process can be displayed, see utf8.h
 */
#include "base/utf8.h"

/* How many bytes a character has that begins with this one; 0: none does. */
static size_t character_bytes(uint8_t first)
{
	if (first < 0x80)
		return 1;
	if (first < 0xc2) /* goes on a character, or begins one that is longer than need be */
		return 0;
	if (first < 0xe0)
		return 2;
	if (first < 0xf0)
		return 3;
	return first < 0xf5 ? 4 : 0;
}

/* The zero that ends the text goes on no character, so nothing behind it is looked at. */
size_t ww_utf8_read(const char *text, uint32_t *out_point)
{
	static const uint8_t first_bits[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t bytes = character_bytes((uint8_t)text[0]);
	uint32_t point = (uint8_t)text[0] & first_bits[bytes];

	*out_point = 0;
	for (size_t i = 1; i < bytes; i++) {
		uint8_t next = (uint8_t)text[i];

		if ((next & 0xc0) != 0x80)
			return 0;
		point = point << 6 | (next & 0x3f);
	}
	if (point < least[bytes] || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff))
		return 0;
	*out_point = point;
	return bytes;
}

bool ww_utf8_is_control(uint32_t point)
{
	return point < 0x20 || (point >= 0x7f && point < 0xa0);
}

bool ww_utf8_is_plain(const char *text)
{
	for (; *text >= 0x20 && *text < 0x7f; text++)
		; /* ASCII, as nearly every text is */
	while (*text) {
		uint32_t point;
		size_t bytes = ww_utf8_read(text, &point);

		if (bytes == 0 || ww_utf8_is_control(point))
			return false;
		text += bytes;
	}
	return true;
}
