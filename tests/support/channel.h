/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel.h - frames whose content tells which frame it is
 *
 * The bytes are copied in and out, so that this works where the CPU does not reach the slots.
 */
#ifndef WW_TESTS_SUPPORT_CHANNEL_H
#define WW_TESTS_SUPPORT_CHANNEL_H

#include <stdbool.h>

#include <warpway/channel.h>

#define FRAME_WORDS 64 /* of 8 bytes: a slot has at least so many */

/* Writes the words @value + 0, 1, 2, ...; sets bytes, and metadata_bytes to 0. */
void frame_write(struct ww_frame *frame, uint64_t value);

/* The value that all words agree in; false: they do not, so the frame is torn. */
bool frame_read(const struct ww_frame *frame, uint64_t *out_value);

/* Acquires, writes and publishes one. */
void frame_send(ww_channel *channel, uint64_t value);

#endif
