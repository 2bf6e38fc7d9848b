/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agreement.h - whether the frames of an object are the arrays that a process wants
 */
#ifndef WW_ARRAY_AGREEMENT_H
#define WW_ARRAY_AGREEMENT_H

#include <warpway/array.h>

/*
 * @owner:   what has the frames, such as "channel": for the message
 * @found:   what they are; NULL: bytes
 * @wanted:  the dtype and shape that they must have; NULL: any
 *
 * Return: WW_OK; WW_ERR_MISMATCH (the message names both).
 */
ww_status ww_array_agree(const char *owner, const struct ww_array *found,
	const struct ww_array *wanted);

/*
 * Whether an array can describe frames: it begins with the slot, is in C order without gaps, and
 * fits into the slot.
 * @array:  NULL: bytes
 *
 * Return: WW_OK; WW_ERR_INVALID; WW_ERR_OVERFLOW.
 */
ww_status ww_array_check_frames(const struct ww_array *array, uint64_t slot_bytes);

#endif
