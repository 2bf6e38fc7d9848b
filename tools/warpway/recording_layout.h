/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording_layout.h - what the writer and the reader of a recording agree on
 */
#ifndef TOOLS_WARPWAY_RECORDING_LAYOUT_H
#define TOOLS_WARPWAY_RECORDING_LAYOUT_H

#include "warpway/recording.h"

#define RECORDING_VERSION    1
#define RECORDING_CHANNEL    "channel.json"
#define RECORDING_FRAMES     "frames.jsonl"
#define RECORDING_PATH_BYTES 4096

void recording_path(const struct recording *recording, const char *file,
	char out_path[RECORDING_PATH_BYTES]);

/* The array that a frame is. Return: whether it is one; then its file is .npy, else .raw. */
bool recording_array(const struct ww_channel_info *info, const struct ww_frame *frame,
	struct ww_array *out_array);

#endif
