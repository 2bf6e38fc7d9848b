/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arguments.c - fuzzes the reader of a call's arguments, and their comparison with a signature
 *
 * Input: one byte of flags (below), then the record. There is one way only to write arguments: what
 * is accepted is written as the same bytes again. What binds to a signature has the kinds, and
 * lengths of dimensions, that the signature says.
 */
#include <string.h>

#include "base/error.h"
#include "call/signature.h"
#include "fuzz/fuzz.h"
#include "support/forge.h"
#include "wire/array_record.h"
#include "wire/token.h"

#define SEALED \
	1 /* bit of the first byte: tokens get right checksums; the others: which signature */

#define HEAD_BYTES 8

static const char *const texts[] = {
	"f32 a, f32[n] x read, f32[n] y readwrite",
	"i32 n, u8[n] x read strided, bytes[5] b = none, bool c = true, timeline t = none",
	"any[...] x read, any[n, *] y readwrite = none, i8 n",
	"bytes a, bytes b = none, f16 c = 1.0, u64 d = 7",
};

static struct ww_signature signature;
static struct ww_call_args args;

/* How long an item is that begins here, as far as that can be told. */
static size_t item_bytes(const uint8_t *head)
{
	switch (head[0]) {
	case WW_ARGUMENT_SCALAR:
		return HEAD_BYTES + sizeof(uint64_t);
	case WW_ARGUMENT_BYTES:
		return HEAD_BYTES + (head[4] + (size_t)7) / 8 * 8;
	case WW_ARGUMENT_ARRAY:
	case WW_ARGUMENT_TIMELINE:
		return HEAD_BYTES + WW_TOKEN_BYTES + (head[1] & 1 ? WW_ARRAY_RECORD_BYTES : 0);
	default:
		return HEAD_BYTES;
	}
}

static void seal_tokens(uint8_t *record, size_t bytes)
{
	size_t at = 0;

	while (at + HEAD_BYTES <= bytes) {
		size_t item = item_bytes(record + at);
		struct ww_token token;

		if (item > bytes - at)
			return;
		if (item >= HEAD_BYTES + WW_TOKEN_BYTES && record[at] >= WW_ARGUMENT_ARRAY) {
			memcpy(&token, record + at + HEAD_BYTES, sizeof(token));
			token_seal(&token);
			memcpy(record + at + HEAD_BYTES, &token, sizeof(token));
		}
		at += item;
	}
}

static void write_again(const uint8_t *record, size_t bytes)
{
	static uint8_t back[WW_CALL_RECORD_MAX];
	size_t used;

	FUZZ_MUST(ww_call_args_encode(&args, back, sizeof(back), &used) == WW_OK);
	FUZZ_MUST(used == bytes && !memcmp(back, record, bytes));
}

static void check_argument(const struct ww_parameter *parameter, const struct ww_call_arg *arg,
	const struct ww_signature_binding *binding)
{
	if (arg->kind == WW_ARGUMENT_NONE) {
		FUZZ_MUST(parameter->flags & WW_PARAMETER_OPTIONAL);
		FUZZ_MUST(parameter->kind != WW_ARGUMENT_SCALAR);
		return;
	}
	FUZZ_MUST(arg->kind == parameter->kind);
	if (arg->kind == WW_ARGUMENT_SCALAR && parameter->flags & WW_PARAMETER_DIMENSION)
		FUZZ_MUST((int64_t)arg->scalar == binding->dims[parameter->dim_name]);
	if (arg->kind != WW_ARGUMENT_ARRAY)
		return;
	FUZZ_MUST(arg->access >= parameter->access);
	FUZZ_MUST(ww_array_check(&arg->array, arg->span_bytes) == WW_OK);
	for (uint32_t i = 0; i < parameter->ndim; i++) {
		if (parameter->dims[i].kind == WW_DIM_NAME)
			FUZZ_MUST(arg->array.shape[i] == binding->dims[parameter->dims[i].name]);
	}
}

static void bind(const char *text)
{
	struct ww_signature_binding binding;
	ww_status status;

	FUZZ_MUST(ww_signature_parse(text, &signature) == WW_OK);
	status = ww_signature_bind(&signature, &args, &binding);
	if (status != WW_OK) {
		FUZZ_MUST(status == WW_ERR_MISMATCH);
		FUZZ_MUST(ww_error_last()->status == status && ww_error_last()->message[0]);
		return;
	}
	FUZZ_MUST(args.count == signature.parameter_count);
	for (uint32_t i = 0; i < args.count; i++)
		check_argument(&signature.parameters[i], &args.items[i], &binding);
}

/* --- seeds --- */

static struct ww_token seed_token(uint32_t kind, uint64_t bytes)
{
	static const uint8_t secret[WW_SECRET_BYTES] = {7};
	struct ww_token_info info = WW_INIT(struct ww_token_info);
	struct ww_token token;

	info.kind = kind;
	info.access = WW_ACCESS_WRITE;
	info.bytes = bytes;
	info.total_bytes = bytes;
	FUZZ_MUST(ww_token_make(&info, secret, &token) == WW_OK);
	return token;
}

static void seed_arguments(unsigned int number, const struct ww_token *memory,
	const struct ww_token *timeline)
{
	const int64_t shape[] = {4};
	struct ww_call_arg *items = args.items;
	struct ww_array array;

	FUZZ_MUST(ww_array_set(&array, WW_DTYPE(WW_DTYPE_FLOAT, 32), 1, shape, NULL, 0) == WW_OK);
	args.count = 2;
	switch (number) {
	case 0:
		ww_call_arg_scalar(*WW_DTYPE(WW_DTYPE_FLOAT, 32), 0x40000000, &items[0]);
		FUZZ_MUST(ww_call_arg_array(memory, &array, &items[1]) == WW_OK);
		break;
	case 1:
		args.count = 5;
		ww_call_arg_none(&items[0]);
		ww_call_arg_bytes("abcde", 5, &items[2]);
		ww_call_arg_scalar(*WW_DTYPE(WW_DTYPE_BOOL, 8), 1, &items[3]);
		ww_call_arg_none(&items[4]);
		FUZZ_MUST(ww_call_arg_array(memory, NULL, &items[1]) == WW_OK);
		break;
	case 2:
		args.count = 1;
		FUZZ_MUST(ww_call_arg_timeline(timeline, &items[0]) == WW_OK);
		break;
	default:
		ww_call_arg_bytes("", 0, &items[0]);
		ww_call_arg_none(&items[1]);
	}
}

size_t fuzz_seed(unsigned int number, uint8_t out[FUZZ_INPUT_BYTES])
{
	struct ww_token memory = seed_token(WW_OBJECT_MEMORY, 16);
	struct ww_token timeline = seed_token(WW_OBJECT_TIMELINE, 0);
	size_t used;

	if (number >= 8)
		return 0;
	seed_arguments(number % 4, &memory, &timeline);
	out[0] = (uint8_t)(number % 4 << 1 | number / 4);
	FUZZ_MUST(ww_call_args_encode(&args, out + 1, FUZZ_INPUT_BYTES - 1, &used) == WW_OK);
	return 1 + used;
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t bytes)
{
	const char *text;
	ww_status status;
	uint8_t *record;

	if (bytes == 0 || bytes > FUZZ_INPUT_BYTES)
		return 0;
	text = texts[(input[0] >> 1) % (sizeof(texts) / sizeof(texts[0]))];
	record = malloc(bytes); /* of its size, and a byte for an empty one */
	FUZZ_MUST(record);
	memcpy(record, input + 1, bytes - 1);
	if (input[0] & SEALED)
		seal_tokens(record, bytes - 1);
	status = ww_call_args_decode(record, bytes - 1, &args);
	if (status == WW_OK) {
		write_again(record, bytes - 1);
		bind(text);
	} else {
		FUZZ_MUST(status == WW_ERR_PROTOCOL || status == WW_ERR_TRUNCATED ||
			status == WW_ERR_VERSION);
		FUZZ_MUST(ww_error_last()->status == status && ww_error_last()->message[0]);
	}
	free(record);
	return 0;
}
