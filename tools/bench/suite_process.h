/* SPDX-License-Identifier: Apache-2.0 */
/*
 * suite_process.h - a suite of `warpway bench` in a process of its own
 *
 * A suite that crashes or hangs takes nothing else with it. Its process has a process group of its
 * own, with all that it starts, so that Ctrl-C reaches only the process that keeps the results,
 * which then ends the group. The process of the suite ends when that one is killed.
 */
#ifndef TOOLS_BENCH_SUITE_PROCESS_H
#define TOOLS_BENCH_SUITE_PROCESS_H

#include "bench/bench.h"

#include <sys/types.h>

/* Long enough for a row with all its samples. */
#define SUITE_LINE_BYTES (64 << 10)

/* What happens next. */
enum suite_event {
	SUITE_ROW,         /* a line of JSON */
	SUITE_SAID,        /* a line for people, of standard output */
	SUITE_COMPLAINED,  /* likewise, of standard error */
	SUITE_TIME,        /* nothing until then */
	SUITE_INTERRUPTED, /* see interrupt.h */
	SUITE_ENDED
};

#define SUITE_STREAMS 3 /* in the order of the events that their lines are */

struct suite_stream {
	int fd;      /* -1: it has ended */
	size_t used; /* of the buffer */
	size_t line; /* bytes of the line that was handed out last, which are to go */
	char *buffer;
};

struct suite_process {
	pid_t pid; /* 0: none */
	struct suite_stream streams[SUITE_STREAMS];
};

#define SUITE_PROCESS_NONE                                        \
	{                                                         \
		.streams = { {.fd = -1}, {.fd = -1}, {.fd = -1} } \
	}

/* Return: 0, or -1 after saying what went wrong. @device: NULL: the best */
int suite_process_start(struct suite_process *process, struct bench *bench,
	const struct bench_suite *suite, const char *device);

/* @until_ns: of link_now_ns(). @out_line: of a line, without its end, until the next call */
enum suite_event suite_process_next(struct suite_process *process, uint64_t until_ns,
	const char **out_line);

/*
 * Ends what still runs, and reaps it. Return: the exit code, or -1: it was killed.
 * @out_signal: by that signal; 0: it was not
 */
int suite_process_end(struct suite_process *process, bool is_to_stop, int *out_signal);

static inline void own_suite_process(struct suite_process *process)
{
	int signal;

	suite_process_end(process, true, &signal);
}

#endif
