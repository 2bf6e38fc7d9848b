/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel_text.h - a channel, and how fast its frames go, in words for people and as JSON
 */
#ifndef TOOLS_WARPWAY_CHANNEL_TEXT_H
#define TOOLS_WARPWAY_CHANNEL_TEXT_H

#include <warpway/warpway.h>

#include <jansson.h>

#define CHANNEL_TEXT_BYTES 640

struct channel_rate {
	uint64_t frames;
	uint64_t bytes;
	uint64_t ns; /* that they took */
};

/* "policy block, 4 slots of 1.0 MiB, uint8[480,640], up to 4 consumers". */
void channel_text(const struct ww_channel_info *info, char out_text[CHANNEL_TEXT_BYTES]);

/* "1000 frames in 2.0 s: 500.0/s, 500.0 MiB/s". */
void channel_rate_text(const struct channel_rate *rate, char out_text[CHANNEL_TEXT_BYTES]);

double channel_rate_frames_per_s(const struct channel_rate *rate);

/* Keys name, frames, bytes, seconds, frames_per_s, bytes_per_s. NULL without memory. */
json_t *channel_rate_json(const char *name, const struct channel_rate *rate);

#endif
