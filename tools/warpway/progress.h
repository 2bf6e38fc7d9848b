/* SPDX-License-Identifier: Apache-2.0 */
/*
 * progress.h - a bar on the terminal while many bytes are copied
 *
 * Shown on standard error, if that is a terminal, for what is large; else every call does nothing.
 */
#ifndef TOOLS_WARPWAY_PROGRESS_H
#define TOOLS_WARPWAY_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

/* Less than this is copied before anybody could look. */
#define PROGRESS_LARGE_BYTES (UINT64_C(16) << 20)

struct progress {
	const char *what; /* borrowed */
	uint64_t total;   /* 0: unknown */
	uint64_t done;
	uint64_t started_ns;
	uint64_t shown_ns; /* 0: nothing has been shown */
	bool is_terminal;
};

void progress_start(struct progress *progress, const char *what, uint64_t total);

/* So many bytes more are done. */
void progress_advance(struct progress *progress, uint64_t bytes);

/* Shows how it stands and ends the line, if there is one; may be called again. */
void progress_end(struct progress *progress);

#endif
