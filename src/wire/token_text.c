/* SPDX-License-Identifier: Apache-2.0 */
/*
 * token_text.c - the text form of a token, see warpway/token.h
 *
 * base64url: each letter is six bits, three bytes are four letters. The last group may be of two or
 * three letters, whose spare bits are zero. Zero bytes at the end are left out, and only they, so a
 * token has one text. What is read is compared with that: a text that says the same in another way
 * is refused.
 */
#include "wire/token.h"

#include <stdbool.h>
#include <string.h>

#include "base/error.h"

#define PREFIX       "ww1_"
#define PREFIX_BYTES 4
#define LETTERS_MOST 683 /* of WW_TOKEN_BYTES */
#define SPACE        " \t\n\v\f\r"

_Static_assert(LETTERS_MOST == (WW_TOKEN_BYTES * 8 + 5) / 6, "six bits a letter");
_Static_assert(PREFIX_BYTES + LETTERS_MOST < WW_TOKEN_TEXT_BYTES, "room for the longest text");

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

static size_t used_bytes(const struct ww_token *token)
{
	size_t bytes = sizeof(token->bytes);

	while (bytes > 0 && token->bytes[bytes - 1] == 0)
		bytes--;
	return bytes;
}

static char *write_letters(char *out, const uint8_t *bytes, size_t count)
{
	uint32_t bits = 0;
	unsigned int bit_count = 0;

	for (size_t i = 0; i < count; i++) {
		bits = bits << 8 | bytes[i];
		bit_count += 8;
		for (; bit_count >= 6; bit_count -= 6)
			*out++ = alphabet[bits >> (bit_count - 6) & 63];
	}
	if (bit_count > 0)
		*out++ = alphabet[bits << (6 - bit_count) & 63];
	return out;
}

static void write_text(const struct ww_token *token, char *out_text)
{
	memcpy(out_text, PREFIX, PREFIX_BYTES);
	*write_letters(out_text + PREFIX_BYTES, token->bytes, used_bytes(token)) = '\0';
}

ww_status ww_token_to_text(const struct ww_token *token, char *out_text)
{
	struct ww_token_content unused;
	struct ww_token copy;

	ww_clear(out_text, '\0');
	ww_require(token && out_text, "ww_token_to_text: token or out_text is NULL");
	copy = *token;
	ww_try(ww_token_read(&copy, &unused)); /* only a whole token has a text */
	write_text(&copy, out_text);
	return WW_OK;
}

/* What stands between the spaces around it. */
static const char *trim(const char *text, size_t *out_length)
{
	size_t length;

	text += strspn(text, SPACE);
	length = strlen(text);
	while (length > 0 && strchr(SPACE, text[length - 1]))
		length--;
	*out_length = length;
	return text;
}

ww_status ww_token_from_text(const char *text, struct ww_token *out_token)
{
	struct ww_token_content unused;
	struct ww_token token;
	size_t length;
	uint8_t *out;
	uint32_t bits = 0;
	unsigned int bit_count = 0;
	char right[WW_TOKEN_TEXT_BYTES];

	ww_require(text && out_token, "ww_token_from_text: text or out_token is NULL");
	text = trim(text, &length);
	if (length < PREFIX_BYTES || memcmp(text, PREFIX, PREFIX_BYTES) != 0)
		return ww_fail(WW_ERR_PROTOCOL,
			"this text is no token: it does not begin with " PREFIX);
	if (length > PREFIX_BYTES + LETTERS_MOST)
		return ww_fail(WW_ERR_PROTOCOL,
			"the text of a token has %zu characters; %d are the most", length,
			PREFIX_BYTES + LETTERS_MOST);
	out = token.bytes;
	memset(&token, 0, sizeof(token));
	for (size_t i = 0; i < length - PREFIX_BYTES; i++) {
		const char *letter = memchr(alphabet, (text + PREFIX_BYTES)[i],
			sizeof(alphabet) - 1);

		if (!letter)
			return ww_fail(WW_ERR_PROTOCOL,
				"the text of a token has a character that cannot be in it, after %zu others; "
				"copy it again",
				PREFIX_BYTES + i);
		bits = bits << 6 | (uint32_t)(letter - alphabet);
		bit_count += 6;
		if (bit_count >= 8) {
			bit_count -= 8;
			*out++ = (uint8_t)(bits >> bit_count);
		}
	}
	ww_try(ww_token_read(&token, &unused));
	write_text(&token, right); /* the spare bits of the last letter are looked at by that */
	if (strlen(right) != length || memcmp(right, text, length) != 0)
		return ww_fail(WW_ERR_PROTOCOL,
			"the text of a token ends with letters that say nothing; copy it again");
	*out_token = token;
	return WW_OK;
}
