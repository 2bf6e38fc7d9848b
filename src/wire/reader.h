/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reader.h - takes numbers and bytes off a packet, for the generated decoders
 *
 * A reader stops at the first thing that is wrong: it records it, with the names of the message and
 * the field, and from then on gives zeros. So a decoder reads all its fields one after another and
 * looks at the status once. Numbers are little-endian and anywhere; nothing beyond `end` is ever
 * looked at.
 */
#ifndef WW_WIRE_READER_H
#define WW_WIRE_READER_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <warpway/base.h>

struct ww_reader {
	const uint8_t *at;
	const uint8_t *end;
	const char *message; /* its name */
	ww_status status;
	uint16_t version; /* that the connection speaks */
};

/* The next @bytes of the packet; NULL when they are not there. */
const uint8_t *ww_reader_take(struct ww_reader *reader, const char *field, size_t bytes);

uint8_t ww_read_u8(struct ww_reader *reader, const char *field);
uint16_t ww_read_u16(struct ww_reader *reader, const char *field);
uint32_t ww_read_u32(struct ww_reader *reader, const char *field);
uint64_t ww_read_u64(struct ww_reader *reader, const char *field);
int32_t ww_read_i32(struct ww_reader *reader, const char *field);
int64_t ww_read_i64(struct ww_reader *reader, const char *field);

/* The number of a list's items, at most @max. */
uint32_t ww_read_count(struct ww_reader *reader, const char *field, uint32_t max);

void ww_read_bytes(struct ww_reader *reader, const char *field, uint8_t *out, size_t bytes);

/* @out: zeros, of @max bytes. Return: how many are used. */
uint16_t ww_read_blob(struct ww_reader *reader, const char *field, uint8_t *out, uint16_t max);

/* @out: zeros, of @max + 1 bytes. */
void ww_read_string(struct ww_reader *reader, const char *field, char *out, uint16_t max);

/* Refuses the value of an enum that was just read, unless it is one. */
void ww_reader_check(struct ww_reader *reader, const char *field, uint32_t value, bool is_known);

/* Refuses a message that begins with this version where an older one is spoken. */
void ww_reader_since(struct ww_reader *reader, uint16_t version);

/* A number of @bytes bytes, 8 at most, at a fixed place. */
static inline uint64_t ww_bytes_number(const uint8_t *at, size_t bytes)
{
	uint64_t little = 0;

	memcpy(&little, at, bytes);
	return le64toh(little);
}

/* A text with zeros behind it, at a fixed place; of @out at least the last byte is zero. */
void ww_bytes_text(const uint8_t *at, char *out, size_t bytes);

#endif
