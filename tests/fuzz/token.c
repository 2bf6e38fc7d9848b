/* SPDX-License-Identifier: Apache-2.0 */
/*
 * token.c - fuzzes the reader of tokens, bytes and text
 *
 * Input: one byte of flags (below), then a token, filled up with zeros, or the text of one. There
 * is one way only to write a token: what is accepted must come out the same when the library makes
 * it from what it read, as bytes and as text.
 */
#include <stdbool.h>
#include <string.h>

#include <warpway/device.h>

#include "fuzz/fuzz.h"
#include "support/forge.h"
#include "wire/token.h"

/* The bits of the first byte. */
enum {
	SEALED = 1,  /* with a right checksum */
	AS_TEXT = 2, /* else bytes */
};

static const char space[] = " \t\n\v\f\r";

static struct ww_token seed_token(unsigned int number)
{
	static const int64_t shape[] = {4, 0, 3, 5};
	struct ww_token_info info = {.struct_size = sizeof(info),
		.kind = number & 1 ? WW_OBJECT_MEMORY : WW_OBJECT_EVENT,
		.access = number & 2 ? WW_ACCESS_READ : WW_ACCESS_WRITE,
		.offset = number & 4 ? 4096 : 0,
		.bytes = UINT64_C(4096) << number,
		.total_bytes = UINT64_C(4096) << (number + 1),
		.has_array = number & 8 ? 1 : 0,
		.array = {.struct_size = sizeof(info.array)}};
	uint8_t secret[WW_SECRET_BYTES];
	struct ww_token token;

	memset(secret, 0x5a, sizeof(secret));
	memset(info.object_id, 0xa5, sizeof(info.object_id));
	if (number & 2)
		strcpy(info.address, "/run/warpway/broker.sock");
	FUZZ_MUST(ww_array_set(&info.array, WW_DTYPE(WW_DTYPE_FLOAT, 32), number & 3, shape, NULL,
			  0) == WW_OK);
	if (info.array.shape[0] == 4) {
		info.array.offset = (uint64_t)info.array.strides[0] * 3;
		info.array.strides[0] = -info.array.strides[0];
	}
	FUZZ_MUST(ww_token_make(&info, secret, &token) == WW_OK);
	return token;
}

size_t fuzz_seed(unsigned int number, uint8_t out[FUZZ_INPUT_BYTES])
{
	struct ww_token token;
	char text[WW_TOKEN_TEXT_BYTES];

	if (number >= 32)
		return 0;
	token = seed_token(number % 16);
	if (number < 16) {
		out[0] = SEALED;
		memcpy(out + 1, &token, sizeof(token));
		return 1 + sizeof(token);
	}
	FUZZ_MUST(ww_token_to_text(&token, text) == WW_OK);
	out[0] = AS_TEXT;
	memcpy(out + 1, text, strlen(text));
	return 1 + strlen(text);
}

/* A token that was read: its fields and its secret say all there is in it. */
static void check_whole(const struct ww_token *token, const struct ww_token_content *content)
{
	const struct ww_token_info *info = &content->info;
	struct ww_token again;

	FUZZ_MUST(info->kind > 0 && info->total_bytes <= INT64_MAX);
	FUZZ_MUST(info->bytes <= info->total_bytes &&
		info->offset <= info->total_bytes - info->bytes);
	FUZZ_MUST(memchr(info->address, '\0', sizeof(info->address)));
	FUZZ_MUST(!info->has_array || ww_array_check(&info->array, info->bytes) == WW_OK);
	FUZZ_MUST(ww_token_make(info, content->secret, &again) == WW_OK);
	FUZZ_MUST(!memcmp(token, &again, sizeof(again)));
}

static void check_text(const struct ww_token *token)
{
	char text[WW_TOKEN_TEXT_BYTES];
	struct ww_token again;

	FUZZ_MUST(ww_token_to_text(token, text) == WW_OK);
	FUZZ_MUST(strlen(text) < sizeof(text));
	FUZZ_MUST(ww_token_from_text(text, &again) == WW_OK);
	FUZZ_MUST(!memcmp(token, &again, sizeof(again)));
}

static void check_refused(ww_status status)
{
	FUZZ_MUST(status == WW_ERR_PROTOCOL || status == WW_ERR_VERSION);
	FUZZ_MUST(ww_error_last()->status == status && ww_error_last()->message[0]);
}

static void read_bytes(const uint8_t *bytes, size_t count, bool is_sealed)
{
	struct ww_token_content content;
	struct ww_token token = {{0}};
	ww_status status;

	memcpy(&token, bytes, count < sizeof(token) ? count : sizeof(token));
	if (is_sealed)
		token_seal(&token);
	status = ww_token_read(&token, &content);
	if (status != WW_OK) {
		check_refused(status);
		return;
	}
	check_whole(&token, &content);
	check_text(&token);
}

static void read_text(const uint8_t *bytes, size_t count)
{
	struct ww_token_content content;
	char right[WW_TOKEN_TEXT_BYTES];
	char text[FUZZ_INPUT_BYTES];
	struct ww_token token;
	ww_status status;

	memcpy(text, bytes, count);
	text[count] = '\0';
	status = ww_token_from_text(text, &token);
	if (status != WW_OK) {
		check_refused(status);
		return;
	}
	FUZZ_MUST(ww_token_read(&token, &content) == WW_OK);
	check_whole(&token, &content);
	FUZZ_MUST(ww_token_to_text(&token, right) == WW_OK);
	FUZZ_MUST(!strncmp(text + strspn(text, space), right, strlen(right)));
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t bytes)
{
	if (bytes == 0 || bytes > FUZZ_INPUT_BYTES)
		return 0;
	if (input[0] & AS_TEXT)
		read_text(input + 1, bytes - 1);
	else
		read_bytes(input + 1, bytes - 1, input[0] & SEALED);
	return 0;
}
