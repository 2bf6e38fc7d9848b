/* SPDX-License-Identifier: Apache-2.0 */
/*
 * form.h - what all frames of a channel, or of a work queue, have in common
 */
#ifndef WW_FRAME_FORM_H
#define WW_FRAME_FORM_H

#include <stdbool.h>

#include <warpway/frame.h>

#include "wire/array_record.h"

/* Constant. */
struct ww_frame_form {
	const char *owner; /* "channel", "work queue": for messages */
	uint64_t slot_bytes;
	uint64_t frame_bytes; /* of a frame of which nothing else is said */
	uint32_t metadata_bytes;
	bool has_array;
	struct ww_array array; /* of every frame */
};

/*
 * Checks what both kinds of params have.
 * @params:  their name
 * @array:   NULL: frames are bytes
 * Return: WW_OK; WW_ERR_INVALID; WW_ERR_MISMATCH; WW_ERR_OVERFLOW.
 */
ww_status ww_frame_form_check(const char *params, uint64_t slot_bytes,
	const char metadata_type[WW_FRAME_METADATA_TYPE_BYTES], const struct ww_array *array);

/*
 * Rounds the bytes of a slot up, to WW_FRAME_ALIGNMENT.
 * @slots_max:  so many slots must be less than 2^64 bytes, too
 * Return: WW_OK; WW_ERR_OVERFLOW.
 */
ww_status ww_frame_form_round(uint64_t slot_bytes, uint32_t slots_max, uint64_t *out_bytes);

/* @array: has been checked; NULL: frames are bytes */
void ww_frame_form_init(struct ww_frame_form *form, const char *owner, uint64_t slot_bytes,
	uint32_t metadata_bytes, const struct ww_array *array);

/* The array, in the description of the object. decode: as ww_array_record_decode() */
void ww_frame_form_encode(const struct ww_frame_form *form, uint8_t out[WW_ARRAY_RECORD_BYTES]);
ww_status ww_frame_form_decode(struct ww_frame_form *form, const char *owner, uint64_t slot_bytes,
	uint32_t metadata_bytes, const uint8_t array[WW_ARRAY_RECORD_BYTES]);

/*
 * Whether the frames are what a process wants.
 * @type:         of the metadata
 * @wanted_type:  NULL: any
 * @wanted:       the dtype and shape that they must have; NULL: any
 * Return: WW_OK; WW_ERR_MISMATCH (the message names both).
 */
ww_status ww_frame_form_agree(const struct ww_frame_form *form, const char *type,
	const char *wanted_type, const struct ww_array *wanted);

#endif
