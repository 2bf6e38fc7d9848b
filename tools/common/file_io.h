/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_io.h - reading and writing files to the last byte
 */
#ifndef TOOLS_COMMON_FILE_IO_H
#define TOOLS_COMMON_FILE_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Reads until @count bytes are there or the file ends. Return: how many; -1 with errno. */
ssize_t flow_read(int fd, void *bytes, size_t count);

/* Writes all. Return: 0; -1 with errno. */
int flow_write(int fd, const void *bytes, size_t count);

/*
 * Copies from one file to another until the first ends.
 * Return: 0; -1 with errno, and whether it was the reading that failed.
 */
int flow_copy(int from, int to, bool *out_reading, void (*advance)(void *context, size_t bytes),
	void *context);

/* Whether SIGINT, SIGTERM or SIGHUP is blocked and has come: a copy had better end then. */
bool flow_interrupted(void);

#endif
