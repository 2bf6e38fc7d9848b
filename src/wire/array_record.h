/* SPDX-License-Identifier: Apache-2.0 */
/*
 * array_record.h - an array as stored bytes, in tokens and in descriptions of memory
 *
 * The record `array` of the protocol. There is one way only to write an array, and one to write
 * that there is none.
 */
#ifndef WW_WIRE_ARRAY_RECORD_H
#define WW_WIRE_ARRAY_RECORD_H

#include <stdbool.h>

#include <warpway/array.h>

#include "wire/protocol.h"

#define WW_ARRAY_RECORD_BYTES WW_WIRE_ARRAY_BYTES

/* @array: must have been checked; NULL: there is none. */
void ww_array_record_encode(const struct ww_array *array, uint8_t out[WW_ARRAY_RECORD_BYTES]);
void ww_array_record_fill(const struct ww_array *array, struct ww_wire_array *out_record);

/*
 * Both take what an untrusted process wrote.
 * @bytes_of_span:  where the array must fit
 * @out_array:      all zero if there is none
 * Return: WW_OK; WW_ERR_PROTOCOL (no array that can be, or it does not fit).
 */
ww_status ww_array_record_decode(const uint8_t bytes[WW_ARRAY_RECORD_BYTES], uint64_t bytes_of_span,
	struct ww_array *out_array, bool *out_has);
ww_status ww_array_record_read(const struct ww_wire_array *record, uint64_t bytes_of_span,
	struct ww_array *out_array, bool *out_has);

#endif
