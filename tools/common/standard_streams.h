/* SPDX-License-Identifier: Apache-2.0 */
/*
 * standard_streams.h - descriptors 0 to 2 at the begin and the end of each program
 */
#ifndef TOOLS_COMMON_STANDARD_STREAMS_H
#define TOOLS_COMMON_STANDARD_STREAMS_H

/*
 * Those that are closed become /dev/null: else a socket would get the number, and this program's
 * lines.
 */
void standard_streams_open(void);

/* Writes what is buffered. Return: @code; EXIT_FAILED where standard output cannot be written. */
int standard_streams_flush(int code);

/*
 * Keeps standard output for results: while a verb prints JSON, everything else that it and its
 * children say goes to standard error.
 */
struct reserved_stdout {
	int saved; /* standard output as it was; -1: nothing is diverted */
};

#define REDIRECT_NONE       \
	{                   \
		.saved = -1 \
	}

/* Returns 0, or -1 after saying what went wrong. */
int reserved_stdout_start(struct reserved_stdout *reserved);

/* Puts standard output back. Does nothing where nothing is diverted. */
void reserved_stdout_end(struct reserved_stdout *reserved);

static inline void own_redirect(struct reserved_stdout *reserved)
{
	reserved_stdout_end(reserved);
}

#endif
