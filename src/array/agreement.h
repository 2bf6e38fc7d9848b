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

#endif
