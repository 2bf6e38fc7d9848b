/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reader.c - takes numbers and bytes off a packet, see reader.h
 */
#include "wire/reader.h"

#include <string.h>

#include "base/error.h"

void ww_bytes_text(const uint8_t *at, char *out, size_t bytes)
{
	size_t used = strnlen((const char *)at, bytes - 1);

	memcpy(out, at, used);
	memset(out + used, 0, bytes - used);
}

static void refuse(struct ww_reader *reader, const char *field, const char *why)
{
	if (reader->status == WW_OK)
		reader->status = ww_fail(WW_ERR_PROTOCOL, "refused a message %s: its field %s %s",
			reader->message, field, why);
}

void ww_reader_check(struct ww_reader *reader, const char *field, uint32_t value, bool is_known)
{
	if (!is_known && reader->status == WW_OK)
		reader->status = ww_fail(WW_ERR_PROTOCOL,
			"refused a message %s: its field %s is %u, which means nothing",
			reader->message, field, value);
}

void ww_reader_since(struct ww_reader *reader, uint16_t version)
{
	if (reader->version < version && reader->status == WW_OK)
		reader->status = ww_fail(WW_ERR_PROTOCOL,
			"refused a message %s: version %u, spoken here, does not have it",
			reader->message, reader->version);
}

const uint8_t *ww_reader_take(struct ww_reader *reader, const char *field, size_t bytes)
{
	const uint8_t *at = reader->at;

	if (reader->status != WW_OK)
		return NULL;
	if ((size_t)(reader->end - at) < bytes) {
		reader->status = ww_fail(WW_ERR_TRUNCATED,
			"refused a message %s that ends inside its field %s", reader->message,
			field);
		return NULL;
	}
	reader->at += bytes;
	return at;
}

static uint64_t read_number(struct ww_reader *reader, const char *field, size_t bytes)
{
	const uint8_t *at = ww_reader_take(reader, field, bytes);

	return at ? ww_bytes_number(at, bytes) : 0;
}

uint8_t ww_read_u8(struct ww_reader *reader, const char *field)
{
	return (uint8_t)read_number(reader, field, 1);
}

uint16_t ww_read_u16(struct ww_reader *reader, const char *field)
{
	return (uint16_t)read_number(reader, field, 2);
}

uint32_t ww_read_u32(struct ww_reader *reader, const char *field)
{
	return (uint32_t)read_number(reader, field, 4);
}

uint64_t ww_read_u64(struct ww_reader *reader, const char *field)
{
	return read_number(reader, field, 8);
}

int32_t ww_read_i32(struct ww_reader *reader, const char *field)
{
	return (int32_t)ww_read_u32(reader, field);
}

int64_t ww_read_i64(struct ww_reader *reader, const char *field)
{
	return (int64_t)ww_read_u64(reader, field);
}

/* A length or a count; 0 when it is refused. */
static uint32_t read_bounded(struct ww_reader *reader, const char *field, size_t bytes,
	uint32_t max)
{
	uint32_t count = (uint32_t)read_number(reader, field, bytes);

	if (count <= max)
		return count;
	refuse(reader, field, "has more than it may");
	return 0;
}

uint32_t ww_read_count(struct ww_reader *reader, const char *field, uint32_t max)
{
	return read_bounded(reader, field, sizeof(uint32_t), max);
}

void ww_read_bytes(struct ww_reader *reader, const char *field, uint8_t *out, size_t bytes)
{
	const uint8_t *at = ww_reader_take(reader, field, bytes);

	if (at)
		memcpy(out, at, bytes);
}

uint16_t ww_read_blob(struct ww_reader *reader, const char *field, uint8_t *out, uint16_t max)
{
	uint16_t bytes = (uint16_t)read_bounded(reader, field, sizeof(uint16_t), max);

	ww_read_bytes(reader, field, out, bytes);
	return reader->status == WW_OK ? bytes : 0;
}

void ww_read_string(struct ww_reader *reader, const char *field, char *out, uint16_t max)
{
	uint16_t bytes = ww_read_blob(reader, field, (uint8_t *)out, max);

	if (memchr(out, 0, bytes))
		refuse(reader, field, "has a zero byte inside");
}
