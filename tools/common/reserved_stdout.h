/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reserved_stdout.h - keeps standard output for results
 *
 * While a verb prints JSON, everything else that it and its children say goes to standard error.
 */
#ifndef TOOLS_COMMON_RESERVED_STDOUT_H
#define TOOLS_COMMON_RESERVED_STDOUT_H

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
