/* SPDX-License-Identifier: Apache-2.0 */
/*
 * writer.h - puts numbers and bytes into a packet, for the generated encoders
 *
 * A writer stops when its room is used up, or when it is given more than a field may have, and says
 * so at the end: an encoder writes all its fields and looks once. Nothing beyond `end` is ever
 * written.
 */
#ifndef WW_WIRE_WRITER_H
#define WW_WIRE_WRITER_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct ww_writer {
	uint8_t *at;
	uint8_t *end;
	uint16_t version; /* that the connection speaks */
	bool has_failed;
};

/* Room for @bytes more; NULL when there is none. */
uint8_t *ww_writer_take(struct ww_writer *writer, size_t bytes);

void ww_write_number(struct ww_writer *writer, uint64_t number, size_t bytes);
void ww_write_bytes(struct ww_writer *writer, const void *from, size_t bytes);
void ww_write_blob(struct ww_writer *writer, const void *from, uint16_t bytes, uint16_t max);

/* @from: of @max + 1 bytes, ended by a zero. */
void ww_write_string(struct ww_writer *writer, const char *from, uint16_t max);

/*
 * The number of a list's items, at most @max; it fails too if there are to be some and @items is
 * NULL.
 * Return: how many to write.
 */
uint32_t ww_write_count(struct ww_writer *writer, uint32_t count, uint32_t max, const void *items);

/* A message that begins with this version is not written where an older one is spoken. */
void ww_writer_since(struct ww_writer *writer, uint16_t version);

/* A number of @bytes bytes, 8 at most, at a fixed place; what does not fit is cut off. */
static inline void ww_bytes_put_number(uint8_t *at, uint64_t number, size_t bytes)
{
	uint64_t little = htole64(number);

	memcpy(at, &little, bytes);
}

/* A text with zeros behind it, at a fixed place; its last byte is zero. */
void ww_bytes_put_text(uint8_t *at, const char *text, size_t bytes);

#endif
