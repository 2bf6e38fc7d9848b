/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arguments.h - the arguments of a call, or its results, as they are sent
 *
 * A record is one item for each argument, and nothing for no arguments. An item begins with 8 bytes
 * and has a multiple of 8:
 *
 *   byte 0      kind, WW_ARGUMENT_...
 *   byte 1      flags: 1: an array's description follows its token
 *   bytes 2, 3  code and bits of a scalar's dtype
 *   bytes 4..7  how many bytes there are, of an argument of bytes
 *   then        scalar: 8 bytes; bytes: those, zeros up to a multiple of 8; array: a token, 512
 *               bytes, and with the flag 1 an array's record, 272 bytes; timeline: a token
 *
 * What is not used is zero, so there is one way only to write an argument. Numbers are
 * little-endian. The caller has copied the record from shared memory before, so that it cannot
 * change meanwhile.
 */
#ifndef WW_CALL_ARGUMENTS_H
#define WW_CALL_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>

#include <warpway/signature.h>
#include <warpway/token.h>

/* An argument or a result. Which members are set depends on @kind; the others are undefined. */
struct ww_call_arg {
	uint32_t kind;
	struct ww_dtype dtype;        /* scalar: its type */
	uint64_t scalar;              /* scalar: its bits, zeros above */
	uint32_t bytes;               /* bytes: how many */
	uint32_t access;              /* array: what the token grants, WW_ACCESS_... */
	const uint8_t *data;          /* bytes: borrowed; decoded, in the record */
	const struct ww_token *token; /* array, timeline: borrowed; decoded, in the record */
	uint64_t span_bytes;          /* array: of the token's span */
	bool has_array;               /* array: @array was given, and goes into the record */
	struct ww_array array;        /* array: how it lies in the token's span */
};

struct ww_call_args {
	uint32_t count;
	struct ww_call_arg items[WW_CALL_ARGS_MAX];
};

/* The most bytes that an item has. @bytes_max: of WW_ARGUMENT_BYTES */
size_t ww_call_arg_bytes_max(uint32_t kind, uint32_t bytes_max);

/* Each fills @out_arg on success. @data, @token, @array: borrowed, they must outlive @out_arg. */
void ww_call_arg_none(struct ww_call_arg *out_arg);
void ww_call_arg_scalar(struct ww_dtype dtype, uint64_t scalar, struct ww_call_arg *out_arg);
void ww_call_arg_bytes(const void *data, uint32_t bytes, struct ww_call_arg *out_arg);

/*
 * @token:  of a memory, of any origin
 * @array:  where the array lies in the token's span; NULL: as the token says, and if it says
 *          nothing, u8[bytes of the span]
 * Return: WW_OK; WW_ERR_INVALID (a token of another kind); WW_ERR_MISMATCH (@array is not inside
 *         the span); as ww_token_info_get() and ww_array_check().
 */
ww_status ww_call_arg_array(const struct ww_token *token, const struct ww_array *array,
	struct ww_call_arg *out_arg);

/* Return: WW_OK; WW_ERR_INVALID (no token of a timeline); as ww_token_info_get(). */
ww_status ww_call_arg_timeline(const struct ww_token *token, struct ww_call_arg *out_arg);

/*
 * @out_record:  of @room bytes; a multiple of 8 is used
 * Return: WW_OK; WW_ERR_LIMIT (more than WW_CALL_BYTES_MAX in one argument, or the record does not
 *         fit: the record of the error says how many bytes it has).
 */
ww_status ww_call_args_encode(const struct ww_call_args *args, uint8_t *out_record, size_t room,
	size_t *out_bytes);

/*
 * @record:    of an untrusted process, but no longer in shared memory; borrowed by @out_args
 * @out_args:  filled on success, else undefined
 * Return: WW_OK; WW_ERR_PROTOCOL, WW_ERR_TRUNCATED, WW_ERR_VERSION (of a token).
 */
ww_status ww_call_args_decode(const uint8_t *record, size_t bytes, struct ww_call_args *out_args);

#endif
