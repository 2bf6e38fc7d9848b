/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frame_input.h - where `channel pub` gets its frames from
 *
 * From nowhere: each frame is made, with a pattern that `channel sub --check` knows. From standard
 * input: so many bytes are a frame, to its end. From files: each is a frame, raw or .npy; more
 * frames than files begin with the first one again.
 */
#ifndef TOOLS_WARPWAY_FRAME_INPUT_H
#define TOOLS_WARPWAY_FRAME_INPUT_H

#include <warpway/warpway.h>

#include <stdbool.h>
#include <stddef.h>

#include "warpway/channel_option.h"
#include "warpway/publisher.h"

/* What was asked for on the command line; 0: not said. */
struct frame_form {
	uint64_t bytes;
	struct channel_shape shape;
	struct ww_dtype dtype;
};

struct frame_input {
	char **paths; /* borrowed */
	size_t path_count;
	bool is_stream;        /* standard input */
	uint64_t bytes;        /* of a frame; of files: of the largest */
	bool has_array;        /* each frame is one */
	struct ww_array array; /* in C order */
};

/**
 * frame_input_open() - find out what a frame is
 * @paths:  borrowed; @count files, or "-" alone, or none
 * Return: 0; the exit code after saying what is wrong.
 */
int frame_input_open(struct frame_input *input, const struct frame_form *form, char **paths,
	size_t count);

/* How many frames there are if no number was asked for; 0: without end. */
uint64_t frame_input_count(const struct frame_input *input);

/**
 * frame_input_read() - the bytes of the next frame
 * @number:     of the frame, from 1 on
 * @out_bytes:  how many there are
 * Return: PUBLISHER_END where standard input ended.
 */
enum publisher_next frame_input_read(const struct frame_input *input, uint64_t number, void *bytes,
	uint64_t *out_bytes);

#endif
