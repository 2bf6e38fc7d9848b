/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arguments.c - the arguments of a call as they are sent, see arguments.h
 */
#include "call/arguments.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "call/scalar.h"
#include "wire/array_record.h"
#include "wire/reader.h"
#include "wire/writer.h"

#define HEAD_BYTES   8
#define SCALAR_BYTES 8
#define ALIGNMENT    8

#define HAS_ARRAY 0x1 /* in an item's flags */

/* The first bytes of an item. */
struct head {
	uint8_t kind;
	uint8_t flags;
	uint8_t dtype_code;
	uint8_t dtype_bits;
	uint32_t bytes;
};

static size_t padding(size_t bytes)
{
	return (ALIGNMENT - bytes % ALIGNMENT) % ALIGNMENT;
}

size_t ww_call_arg_bytes_max(uint32_t kind, uint32_t bytes_max)
{
	switch (kind) {
	case WW_ARGUMENT_SCALAR:
		return HEAD_BYTES + SCALAR_BYTES;
	case WW_ARGUMENT_BYTES:
		return HEAD_BYTES + bytes_max + padding(bytes_max);
	case WW_ARGUMENT_ARRAY:
		return HEAD_BYTES + WW_TOKEN_BYTES + WW_ARRAY_RECORD_BYTES;
	case WW_ARGUMENT_TIMELINE:
		return HEAD_BYTES + WW_TOKEN_BYTES;
	default:
		return HEAD_BYTES;
	}
}

/* --- making them --- */

void ww_call_arg_none(struct ww_call_arg *out_arg)
{
	out_arg->kind = WW_ARGUMENT_NONE;
}

void ww_call_arg_scalar(struct ww_dtype dtype, uint64_t scalar, struct ww_call_arg *out_arg)
{
	out_arg->kind = WW_ARGUMENT_SCALAR;
	out_arg->dtype = dtype;
	out_arg->scalar = scalar;
}

void ww_call_arg_bytes(const void *data, uint32_t bytes, struct ww_call_arg *out_arg)
{
	out_arg->kind = WW_ARGUMENT_BYTES;
	out_arg->data = data;
	out_arg->bytes = bytes;
}

/* Where the array lies: as it is said, else as the token says, else all of the span. */
static ww_status set_array(const struct ww_array *array, const struct ww_token_info *info,
	struct ww_call_arg *arg)
{
	int64_t bytes = (int64_t)info->bytes; /* which a token limits */

	arg->has_array = array != NULL;
	if (array) {
		ww_try(ww_array_check(array, info->bytes));
		arg->array = *array;
		return WW_OK;
	}
	if (info->has_array) {
		arg->array = info->array;
		return WW_OK;
	}
	return ww_array_set(&arg->array, WW_DTYPE(WW_DTYPE_UINT, 8), 1, &bytes, NULL, 0);
}

/* @info: what @token says */
static ww_status set_array_of(const struct ww_token *token, const struct ww_token_info *info,
	const struct ww_array *array, struct ww_call_arg *out_arg)
{
	if (info->kind != WW_OBJECT_MEMORY)
		return ww_fail(WW_ERR_INVALID,
			"an argument that is an array has the token of an object that is not memory");
	ww_try(set_array(array, info, out_arg));
	out_arg->kind = WW_ARGUMENT_ARRAY;
	out_arg->token = token;
	out_arg->access = info->access;
	out_arg->span_bytes = info->bytes;
	return WW_OK;
}

ww_status ww_call_arg_array(const struct ww_token *token, const struct ww_array *array,
	struct ww_call_arg *out_arg)
{
	struct ww_token_info info = WW_INIT(struct ww_token_info);

	ww_try(ww_token_info_get(token, &info));
	return set_array_of(token, &info, array, out_arg);
}

ww_status ww_call_arg_timeline(const struct ww_token *token, struct ww_call_arg *out_arg)
{
	struct ww_token_info info = WW_INIT(struct ww_token_info);

	ww_try(ww_token_info_get(token, &info));
	if (info.kind != WW_OBJECT_TIMELINE)
		return ww_fail(WW_ERR_INVALID,
			"an argument that is a timeline has the token of an object that is not one");
	out_arg->kind = WW_ARGUMENT_TIMELINE;
	out_arg->token = token;
	return WW_OK;
}

/* --- writing --- */

static void write_head(struct ww_writer *writer, const struct head *head)
{
	ww_write_number(writer, head->kind, sizeof(head->kind));
	ww_write_number(writer, head->flags, sizeof(head->flags));
	ww_write_number(writer, head->dtype_code, sizeof(head->dtype_code));
	ww_write_number(writer, head->dtype_bits, sizeof(head->dtype_bits));
	ww_write_number(writer, head->bytes, sizeof(head->bytes));
}

static void write_item(struct ww_writer *writer, const struct ww_call_arg *arg)
{
	struct head head = {.kind = (uint8_t)arg->kind};
	uint8_t *at;

	switch (arg->kind) {
	case WW_ARGUMENT_SCALAR:
		head.dtype_code = arg->dtype.code;
		head.dtype_bits = arg->dtype.bits;
		write_head(writer, &head);
		ww_write_number(writer, arg->scalar, SCALAR_BYTES);
		break;
	case WW_ARGUMENT_BYTES:
		head.bytes = arg->bytes;
		write_head(writer, &head);
		ww_write_bytes(writer, arg->data, arg->bytes);
		ww_write_number(writer, 0, padding(arg->bytes));
		break;
	case WW_ARGUMENT_ARRAY:
		head.flags = arg->has_array ? HAS_ARRAY : 0;
		write_head(writer, &head);
		ww_write_bytes(writer, arg->token->bytes, WW_TOKEN_BYTES);
		if (arg->has_array) {
			at = ww_writer_take(writer, WW_ARRAY_RECORD_BYTES);
			if (at)
				ww_array_record_encode(&arg->array, at);
		}
		break;
	case WW_ARGUMENT_TIMELINE:
		write_head(writer, &head);
		ww_write_bytes(writer, arg->token->bytes, WW_TOKEN_BYTES);
		break;
	default:
		write_head(writer, &head);
	}
}

static size_t item_bytes(const struct ww_call_arg *arg)
{
	size_t most = ww_call_arg_bytes_max(arg->kind, arg->bytes);
	bool is_short = arg->kind == WW_ARGUMENT_ARRAY && !arg->has_array;

	return is_short ? most - WW_ARRAY_RECORD_BYTES : most;
}

ww_status ww_call_args_encode(const struct ww_call_args *args, uint8_t *out_record, size_t room,
	size_t *out_bytes)
{
	struct ww_writer writer = {.at = out_record, .end = out_record + room};
	size_t bytes = 0;

	ww_assert(args->count <= WW_CALL_ARGS_MAX);
	for (uint32_t i = 0; i < args->count; i++) {
		const struct ww_call_arg *arg = &args->items[i];

		if (arg->kind == WW_ARGUMENT_BYTES && arg->bytes > WW_CALL_BYTES_MAX)
			return ww_fail(WW_ERR_LIMIT,
				"argument %" PRIu32 " has %" PRIu32
				" bytes, and %d can be sent inside a call; put them into a memory",
				i + 1, arg->bytes, WW_CALL_BYTES_MAX);
		bytes += item_bytes(arg);
	}
	if (bytes > room)
		return ww_fail(WW_ERR_LIMIT,
			"the arguments of a call have %zu bytes as they are sent, and there is room for "
			"%zu",
			bytes, room);
	for (uint32_t i = 0; i < args->count; i++)
		write_item(&writer, &args->items[i]);
	ww_assert(!writer.has_failed);
	*out_bytes = (size_t)(writer.at - out_record);
	return WW_OK;
}

/* --- reading --- */

/* What is wrong with an argument is here wrong with what an untrusted process wrote. */
static ww_status refuse_record(const char *field)
{
	return ww_fail(WW_ERR_PROTOCOL, "refused arguments of a call: %s is wrong", field);
}

static bool is_head_of(const struct head *head, uint8_t flags)
{
	bool is_scalar = head->kind == WW_ARGUMENT_SCALAR;
	bool has_type = head->dtype_code || head->dtype_bits;

	return !(head->flags & ~flags) && (is_scalar || !has_type) &&
		(head->kind == WW_ARGUMENT_BYTES || head->bytes == 0);
}

static ww_status read_scalar(struct ww_reader *reader, const struct head *head,
	struct ww_call_arg *arg)
{
	struct ww_dtype dtype = {head->dtype_code, head->dtype_bits, 1};
	uint64_t scalar = ww_read_u64(reader, "scalar");

	ww_try(reader->status);
	if (!ww_scalar_is_type(dtype) || !ww_scalar_is_valid(dtype, scalar))
		return refuse_record("the type or the value of a scalar");
	ww_call_arg_scalar(dtype, scalar, arg);
	return WW_OK;
}

static ww_status read_bytes(struct ww_reader *reader, const struct head *head,
	struct ww_call_arg *arg)
{
	static const uint8_t zeros[ALIGNMENT] = {0};
	const uint8_t *data;
	const uint8_t *behind;

	if (head->bytes > WW_CALL_BYTES_MAX)
		return refuse_record("the number of bytes");
	data = ww_reader_take(reader, "bytes", head->bytes);
	behind = ww_reader_take(reader, "padding", padding(head->bytes));
	ww_try(reader->status);
	if (memcmp(behind, zeros, padding(head->bytes)) != 0)
		return refuse_record("the padding after bytes");
	ww_call_arg_bytes(data, head->bytes, arg);
	return WW_OK;
}

/* A struct ww_token is bytes only, so one can be anywhere in a record. */
_Static_assert(_Alignof(struct ww_token) == 1, "a token of any alignment");

static const struct ww_token *take_token(struct ww_reader *reader)
{
	return (const struct ww_token *)ww_reader_take(reader, "token", WW_TOKEN_BYTES);
}

/* A token of another kind is an argument that cannot be; for a peer that is a wrong record. */
static ww_status settle_token(ww_status status)
{
	return status == WW_ERR_INVALID ? refuse_record("the kind of object that a token names")
					: status;
}

static ww_status read_array(struct ww_reader *reader, const struct head *head,
	struct ww_call_arg *arg)
{
	const struct ww_token *token = take_token(reader);
	const uint8_t *bytes = head->flags & HAS_ARRAY
		? ww_reader_take(reader, "array", WW_ARRAY_RECORD_BYTES)
		: NULL;
	struct ww_token_info info = WW_INIT(struct ww_token_info);
	struct ww_array array;
	bool has_array;

	ww_try(reader->status);
	ww_try(ww_token_info_get(token, &info));
	if (bytes) {
		ww_try(ww_array_record_decode(bytes, info.bytes, &array, &has_array));
		if (!has_array)
			return refuse_record("the record of an array");
	}
	return settle_token(set_array_of(token, &info, bytes ? &array : NULL, arg));
}

static ww_status read_item(struct ww_reader *reader, struct ww_call_arg *arg)
{
	struct head head;
	const struct ww_token *token;

	head.kind = ww_read_u8(reader, "kind");
	head.flags = ww_read_u8(reader, "flags");
	head.dtype_code = ww_read_u8(reader, "dtype_code");
	head.dtype_bits = ww_read_u8(reader, "dtype_bits");
	head.bytes = ww_read_u32(reader, "bytes");
	ww_try(reader->status);
	if (!is_head_of(&head, head.kind == WW_ARGUMENT_ARRAY ? HAS_ARRAY : 0))
		return refuse_record("a field that the kind of argument does not have");
	switch (head.kind) {
	case WW_ARGUMENT_NONE:
		ww_call_arg_none(arg);
		return WW_OK;
	case WW_ARGUMENT_SCALAR:
		return read_scalar(reader, &head, arg);
	case WW_ARGUMENT_BYTES:
		return read_bytes(reader, &head, arg);
	case WW_ARGUMENT_ARRAY:
		return read_array(reader, &head, arg);
	case WW_ARGUMENT_TIMELINE:
		token = take_token(reader);
		ww_try(reader->status);
		return settle_token(ww_call_arg_timeline(token, arg));
	default:
		return refuse_record("the kind of an argument");
	}
}

ww_status ww_call_args_decode(const uint8_t *record, size_t bytes, struct ww_call_args *out_args)
{
	struct ww_reader reader = {.at = record, .end = record + bytes, .message = "arguments"};

	out_args->count = 0;
	while (reader.at < reader.end) {
		if (out_args->count == WW_CALL_ARGS_MAX)
			return refuse_record("the number of arguments");
		ww_try(read_item(&reader, &out_args->items[out_args->count]));
		out_args->count++;
	}
	return WW_OK;
}
