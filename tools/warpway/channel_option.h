/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel_option.h - what options of `warpway channel` take
 *
 * Each is .take of an option: it fills the place, whose type stands beside it. They return 0, or
 * EXIT_CANNOT after saying why not.
 */
#ifndef TOOLS_WARPWAY_CHANNEL_OPTION_H
#define TOOLS_WARPWAY_CHANNEL_OPTION_H

#include <warpway/warpway.h>

/* --shape */
struct channel_shape {
	uint32_t ndim; /* 0: none was given */
	int64_t sizes[WW_FRAME_DIMS];
};

int channel_take_policy(void *place, const char *text); /* uint32_t */
int channel_take_rate(void *place,
	const char *text); /* uint64_t: nanoseconds from one to the next */
int channel_take_bytes(void *place, const char *text);   /* uint64_t */
int channel_take_shape(void *place, const char *text);   /* struct channel_shape */
int channel_take_dtype(void *place, const char *text);   /* struct ww_dtype */
int channel_take_history(void *place, const char *text); /* uint64_t */
int channel_take_speed(void *place, const char *text);   /* double */

#endif
