/* SPDX-License-Identifier: Apache-2.0 */
/*
 * redirect.h - keeps standard output for results
 *
 * While a verb prints JSON, everything else that it and its children say goes to standard error.
 */
#ifndef TOOLS_COMMON_REDIRECT_H
#define TOOLS_COMMON_REDIRECT_H

struct redirect {
	int saved; /* standard output as it was; -1: nothing is diverted */
};

#define REDIRECT_NONE       \
	{                   \
		.saved = -1 \
	}

/* Returns 0, or -1 after saying what went wrong. */
int redirect_start(struct redirect *redirect);

/* Puts standard output back. Does nothing where nothing is diverted. */
void redirect_end(struct redirect *redirect);

static inline void own_redirect(struct redirect *redirect)
{
	redirect_end(redirect);
}

#endif
