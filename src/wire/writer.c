/* SPDX-License-Identifier: Apache-2.0 */
/*
 * writer.c - puts numbers and bytes into a packet, see writer.h
 */
#include "wire/writer.h"

#include <string.h>

void ww_bytes_put_text(uint8_t *at, const char *text, size_t bytes)
{
	size_t used = strnlen(text, bytes - 1);

	memcpy(at, text, used);
	memset(at + used, 0, bytes - used);
}

uint8_t *ww_writer_take(struct ww_writer *writer, size_t bytes)
{
	uint8_t *at = writer->at;

	if (writer->has_failed || (size_t)(writer->end - at) < bytes) {
		writer->has_failed = true;
		return NULL;
	}
	writer->at += bytes;
	return at;
}

void ww_write_number(struct ww_writer *writer, uint64_t number, size_t bytes)
{
	uint8_t *at = ww_writer_take(writer, bytes);

	if (at)
		ww_bytes_put_number(at, number, bytes);
}

void ww_write_bytes(struct ww_writer *writer, const void *from, size_t bytes)
{
	uint8_t *at = ww_writer_take(writer, bytes);

	if (at && bytes > 0)
		memcpy(at, from, bytes);
}

void ww_write_blob(struct ww_writer *writer, const void *from, uint16_t bytes, uint16_t max)
{
	if (bytes > max)
		writer->has_failed = true;
	ww_write_number(writer, bytes, sizeof(bytes));
	ww_write_bytes(writer, from, bytes);
}

void ww_write_string(struct ww_writer *writer, const char *from, uint16_t max)
{
	ww_write_blob(writer, from, (uint16_t)strnlen(from, max), max);
}

uint32_t ww_write_count(struct ww_writer *writer, uint32_t count, uint32_t max, const void *items)
{
	if (count > max || (count > 0 && !items))
		writer->has_failed = true;
	ww_write_number(writer, count, sizeof(count));
	return writer->has_failed ? 0 : count;
}

void ww_writer_since(struct ww_writer *writer, uint16_t version)
{
	if (writer->version < version)
		writer->has_failed = true;
}
