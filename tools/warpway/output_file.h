/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output_file.h - what `get` writes: a file that appears whole, or standard output
 *
 * A file is written under a name of its own beside its place and renamed when it is whole; so
 * whoever reads it finds the old one or the new one. What is no regular file, such as /dev/null or
 * a named pipe, is written directly. Signals that would end the process are put off until the
 * unfinished file is gone: see flow_interrupted().
 */
#ifndef TOOLS_WARPWAY_OUTPUT_FILE_H
#define TOOLS_WARPWAY_OUTPUT_FILE_H

#include <signal.h>
#include <stdbool.h>

#define SINK_PATH_BYTES 4096

struct sink {
	int fd; /* -1: none */
	const char *name;
	char path[SINK_PATH_BYTES];           /* where it is to be; empty: written directly */
	char unfinished[SINK_PATH_BYTES + 8]; /* where it is */
	sigset_t before;                      /* signals that were blocked */
};

#define SINK_NONE        \
	{                \
		.fd = -1 \
	}

/**
 * sink_open() - open what is to be written
 * @path:  borrowed; NULL or "-": standard output
 * Return: 0; -1, or EXIT_CANNOT for a terminal, after saying what went wrong. End it with
 *         sink_close() in either case.
 */
int sink_open(struct sink *sink, const char *path);

/* All is written: puts the file in its place. Return: 0; -1 after saying what went wrong. */
int sink_finish(struct sink *sink);

/* Removes what is not finished. A signal that was put off comes now. */
void sink_close(struct sink *sink);

static inline void own_sink(struct sink *sink)
{
	sink_close(sink);
}

#endif
