/* SPDX-License-Identifier: Apache-2.0 */
/*
 * input_file.h - what `put` reads: a file or standard input, raw or .npy
 *
 * After opening it is known how many bytes there are and how they lie, and the descriptor stands at
 * the first element. Standard input of which nobody knows the length is first read to its end, into
 * memory of the machine.
 */
#ifndef TOOLS_WARPWAY_INPUT_FILE_H
#define TOOLS_WARPWAY_INPUT_FILE_H

#include <warpway/array.h>

#include <stdbool.h>
#include <stdint.h>

struct source {
	int fd;                /* -1: none */
	const char *name;      /* of the file; borrowed */
	uint64_t bytes;        /* to be read from fd */
	struct ww_array array; /* of these bytes */
};

#define SOURCE_NONE      \
	{                \
		.fd = -1 \
	}

enum source_form {
	SOURCE_BY_NAME, /* .npy if the file's name ends so */
	SOURCE_RAW,     /* bytes: an array of uint8 */
	SOURCE_NPY
};

/**
 * source_open() - open what is to be put
 * @path:  borrowed; NULL or "-": standard input
 * Return: 0; -1 after saying what went wrong. End it with source_close() in either case.
 */
int source_open(struct source *source, const char *path, enum source_form form);

/* Whether the file ended where it should. Return: 0; -1 after saying that there is more. */
int source_finish(const struct source *source);
void source_close(struct source *source);

static inline void own_source(struct source *source)
{
	source_close(source);
}

/* Whether a file of that name is taken for .npy, by put and by get. */
bool source_is_npy_name(const char *path);

#endif
