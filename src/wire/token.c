/* SPDX-License-Identifier: Apache-2.0 */
/*
 * token.c - the bytes of a token, see warpway/token.h and token.h
 *
 * A token comes from anywhere: it is copied, and the copy is checked, field by field, before
 * anything is told. There is one way only to write a token, so that two tokens that say the same
 * are the same bytes. The messages quote nothing of one: its secret is a key.
 *
 * A kind that this library does not know is no error here; an import checks that.
 */
#include "wire/token.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include <warpway/device.h>

#include "base/checksum.h"
#include "base/error.h"
#include "base/params.h"
#include "base/utf8.h"
#include "wire/array_record.h"
#include "wire/protocol.h"
#include "wire/writer.h"

#define MAGIC          WW_WIRE_TOKEN_MAGIC
#define MAGIC_BYTES    8
#define VERSION        1
#define CHECKSUM_AT    12
#define CHECKSUM_BYTES 4
#define INFO_V1_BYTES  offsetof(struct ww_token_info, slice)
#define FLAGS          (WW_TOKEN_SLICE | WW_TOKEN_FOREIGN | WW_TOKEN_COUNTED | WW_TOKEN_PASSED)

_Static_assert(WW_ADDRESS_BYTES == WW_WIRE_ADDRESS_BYTES, "an address fits into a token");
_Static_assert((int)WW_OBJECT_MEMORY == (int)WW_WIRE_KIND_MEMORY &&
		(int)WW_OBJECT_POOL == (int)WW_WIRE_KIND_POOL,
	"kinds are numbered as on the wire");
_Static_assert((int)WW_TOKEN_SLICE == (int)WW_WIRE_TOKEN_FLAG_SLICE &&
		(int)WW_TOKEN_COUNTED == (int)WW_WIRE_TOKEN_FLAG_COUNTED &&
		(int)WW_TOKEN_PASSED == (int)WW_WIRE_TOKEN_FLAG_PASSED,
	"and flags");
_Static_assert((int)WW_ACCESS_READ == (int)WW_WIRE_ACCESS_READ &&
		(int)WW_ACCESS_WRITE == (int)WW_WIRE_ACCESS_WRITE,
	"and so is access");

/* The sum of the whole with its own bytes as zeros. */
static uint32_t checksum(const struct ww_token *token)
{
	static const uint8_t zeros[CHECKSUM_BYTES];
	const size_t behind = CHECKSUM_AT + CHECKSUM_BYTES;
	uint32_t crc = ww_checksum(0, token->bytes, CHECKSUM_AT);

	crc = ww_checksum(crc, zeros, sizeof(zeros));
	return ww_checksum(crc, token->bytes + behind, sizeof(token->bytes) - behind);
}

/* Whether these are the bytes that the same fields are written as. */
static ww_status check_form(const struct ww_token *token, const struct ww_wire_token *record)
{
	struct ww_token again;

	ww_wire_encode_token(record, again.bytes);
	if (memcmp(again.bytes, token->bytes, sizeof(again.bytes)) != 0)
		return ww_fail(WW_ERR_PROTOCOL, "a token's address is not filled up with zeros");
	return WW_OK;
}

/* What the fields must be, one by one and together. */
static ww_status check_fields(const struct ww_wire_token *record, struct ww_array *out_array,
	bool *out_has_array)
{
	bool is_slice;
	const char *address;

	if (record->kind == 0)
		return ww_fail(WW_ERR_PROTOCOL,
			"a token does not say what kind of object it names");
	if (record->access != WW_ACCESS_READ && record->access != WW_ACCESS_WRITE)
		return ww_fail(WW_ERR_PROTOCOL, "a token grants no known access: %d",
			record->access);
	if (record->total_bytes > INT64_MAX)
		return ww_fail(WW_ERR_PROTOCOL,
			"a token names an impossible size: %" PRIu64 " bytes", record->total_bytes);
	if (record->offset > record->total_bytes ||
		record->bytes > record->total_bytes - record->offset)
		return ww_fail(WW_ERR_PROTOCOL,
			"a token names %" PRIu64 " bytes at offset %" PRIu64 " of only %" PRIu64,
			record->bytes, record->offset, record->total_bytes);
	if (record->kind == WW_OBJECT_MEMORY && record->bytes == 0)
		return ww_fail(WW_ERR_PROTOCOL, "a token names a span of no bytes");
	is_slice = record->flags & WW_TOKEN_SLICE;
	if (is_slice != (record->slice != 0) || (record->flags & WW_TOKEN_PASSED && !is_slice))
		return ww_fail(WW_ERR_PROTOCOL, "a token names a slice of a pool by half");
	if (is_slice && record->kind != WW_OBJECT_MEMORY)
		return ww_fail(WW_ERR_PROTOCOL,
			"a token names a slice of a pool, but says that it is no memory");
	/*
	 * The record's address ends with a zero whatever the token says; see check_form() for what
	 * is behind.
	 */
	address = record->address;
	if (address[0] && address[0] != '/')
		return ww_fail(WW_ERR_PROTOCOL,
			"a token's broker has an address that is not an absolute path");
	if (!ww_utf8_is_plain(address))
		return ww_fail(WW_ERR_PROTOCOL,
			"a token's broker has an address that is not text, or has control characters");
	return ww_array_record_read(&record->array, record->bytes, out_array, out_has_array);
}

static ww_status read_token(const struct ww_token *token, struct ww_token_content *content)
{
	struct ww_token_info *info = &content->info;
	struct ww_wire_token record;
	bool has_array = false;

	ww_wire_decode_token(token->bytes, &record);
	/* Check that every valid token passes, whichever process wrote it. */
	if (memcmp(record.magic, MAGIC, MAGIC_BYTES) != 0)
		return ww_fail(WW_ERR_PROTOCOL,
			"these bytes are no token: they do not begin with " MAGIC);
	if (checksum(token) != record.checksum)
		return ww_fail(WW_ERR_PROTOCOL,
			"a token is damaged: its checksum is wrong; copy it again");
	if (record.version != VERSION)
		return ww_fail(WW_ERR_VERSION,
			"a token has version %d, this library (%s) reads version %d; use one version of "
			"Warpway in both processes",
			record.version, WW_VERSION, VERSION);
	if (record.length != WW_TOKEN_BYTES)
		return ww_fail(WW_ERR_PROTOCOL, "a token says that it has %d bytes, not %d",
			record.length, WW_TOKEN_BYTES);
	if (record.flags & ~FLAGS)
		return ww_fail(WW_ERR_PROTOCOL,
			"a token has flags 0x%x, which this library (%s) does not know",
			record.flags, WW_VERSION);
	ww_try(check_fields(&record, &info->array, &has_array));
	ww_try(check_form(token, &record));
	info->struct_size = sizeof(*info);
	info->has_array = has_array;
	info->kind = record.kind;
	info->access = record.access;
	info->broker_uid = record.broker_uid;
	info->offset = record.offset;
	info->bytes = record.bytes;
	info->total_bytes = record.total_bytes;
	info->generation = record.generation;
	info->flags = record.flags;
	info->slice = record.slice;
	memcpy(info->object_id, record.object_id, sizeof(info->object_id));
	memcpy(info->home_uuid, record.home_uuid, sizeof(info->home_uuid));
	memcpy(info->broker_id, record.broker_id, sizeof(info->broker_id));
	memcpy(info->address, record.address, sizeof(info->address));
	memcpy(content->secret, record.secret, sizeof(content->secret));
	return WW_OK;
}

ww_status ww_token_read(const struct ww_token *token, struct ww_token_content *out_content)
{
	/* Most programs read a token to decide how to import it, and the import reads it again. */
	static _Thread_local struct reading {
		struct ww_token token;
		struct ww_token_content content; /* struct_size 0: no token was read yet */
	} last;
	struct reading now;

	now.token = *token;
	if (last.content.info.struct_size == 0 ||
		memcmp(&now.token, &last.token, sizeof(now.token)) != 0) {
		ww_try(read_token(&now.token, &now.content));
		last = now;
	}
	*out_content = last.content;
	return WW_OK;
}

ww_status ww_token_info_get(const struct ww_token *token, struct ww_token_info *info)
{
	struct ww_token_content content;

	ww_require(token && info, "ww_token_info_get: token or info is NULL");
	ww_try(ww_params_check(info, INFO_V1_BYTES, "ww_token_info"));
	ww_try(ww_token_read(token, &content));
	return ww_params_write(info, &content.info, sizeof(content.info), INFO_V1_BYTES,
		"ww_token_info");
}

ww_status ww_token_make(const struct ww_token_info *info, const uint8_t secret[WW_SECRET_BYTES],
	struct ww_token *out_token)
{
	struct ww_wire_token record = {.kind = 0};
	struct ww_array array;
	struct ww_error reason;
	bool has_array;

	/* What has no place in a token cannot be seen in one any more. */
	if (info->kind > UINT16_MAX || info->access > UINT8_MAX || info->flags & ~(uint32_t)FLAGS)
		return ww_fail(WW_ERR_INVALID,
			"cannot make a token for an object of kind %" PRIu32 ", access %" PRIu32
			" and flags 0x%" PRIx32,
			info->kind, info->access, info->flags);
	if (strnlen(info->address, sizeof(info->address)) == sizeof(info->address))
		return ww_fail(WW_ERR_INVALID,
			"cannot make a token: the broker's address has more than %d bytes",
			WW_ADDRESS_BYTES - 1);
	memcpy(record.magic, MAGIC, MAGIC_BYTES);
	record.version = VERSION;
	record.length = WW_TOKEN_BYTES;
	record.kind = (uint16_t)info->kind;
	record.access = (uint8_t)info->access;
	record.broker_uid = info->broker_uid;
	record.offset = info->offset;
	record.bytes = info->bytes;
	record.total_bytes = info->total_bytes;
	record.generation = info->generation;
	record.flags = (uint8_t)info->flags;
	record.slice = info->slice;
	memcpy(record.object_id, info->object_id, sizeof(record.object_id));
	memcpy(record.home_uuid, info->home_uuid, sizeof(record.home_uuid));
	memcpy(record.broker_id, info->broker_id, sizeof(record.broker_id));
	memcpy(record.address, info->address, strlen(info->address));
	ww_array_record_fill(info->has_array ? &info->array : NULL, &record.array);
	if (check_fields(&record, &array, &has_array) != WW_OK) {
		ww_error_save(&reason);
		return ww_fail(WW_ERR_INVALID, "cannot make a token: %s", reason.message);
	}
	memcpy(record.secret, secret, WW_SECRET_BYTES);
	ww_wire_encode_token(&record, out_token->bytes);
	record.checksum = checksum(out_token);
	ww_bytes_put_number(out_token->bytes + CHECKSUM_AT, record.checksum, CHECKSUM_BYTES);
	return WW_OK;
}
