/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diversion.h - keeps standard output for results
 *
 * While a verb prints JSON, everything else that it and its children say goes to standard error.
 */
#ifndef TOOLS_DIVERSION_H
#define TOOLS_DIVERSION_H

struct diversion {
	int saved; /* standard output as it was; -1: nothing is diverted */
};

#define DIVERSION_NONE      \
	{                   \
		.saved = -1 \
	}

/* Returns 0, or -1 after saying what went wrong. */
int diversion_start(struct diversion *diversion);

/* Puts standard output back. Does nothing where nothing is diverted. */
void diversion_end(struct diversion *diversion);

static inline void own_diversion(struct diversion *diversion)
{
	diversion_end(diversion);
}

#endif
