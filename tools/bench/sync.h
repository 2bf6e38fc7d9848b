/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sync.h - what the parts of the suite `sync` share
 *
 * Two processes, each with a device of its own, wait for each other: the bench's own asks, its
 * child answers. Each has the library's timelines and events, and a bare page, stream and event
 * beside them that do the same work.
 */
#ifndef TOOLS_BENCH_SYNC_H
#define TOOLS_BENCH_SYNC_H

#include "bench/bench.h"

#define SYNC_ANSWER_NS (UINT64_C(60) * 1000000000)

/* A GPU's timeline is never waited for in the way of a CPU's, so each side has one of each. */
enum sync_line {
	SYNC_STREAM, /* signalled by a stream */
	SYNC_CPU,
	SYNC_LINES
};

/* What one of the two processes has. */
struct sync_side {
	ww_timeline *own[SYNC_LINES];
	ww_timeline *peers[SYNC_LINES];
	bool has_events; /* the library's: both processes have one device */
	ww_event *own_event;
	ww_event *peers_event;

	struct raw_stream *raw_stream;
	struct raw_page own_page;
	struct raw_page peers_page;
	struct raw_event own_raw_event;
	struct raw_event peers_raw_event;

	uint64_t idle_ns; /* that this side did nothing on purpose, in this batch */
	uint64_t value;   /* of the last round; grows for ever */
};

#define SYNC_SIDE_NONE                                                 \
	{                                                              \
		.own_page = RAW_PAGE_NONE, .peers_page = RAW_PAGE_NONE \
	}

/* All of these return 0, or -1 after saying what went wrong. */

/* Opens all that is this side's own. Tokens of it are left in the own page. */
int sync_side_open(struct bench *bench, struct sync_side *side);

/* Opens all that is the other side's. @fd: of its page, borrowed */
int sync_side_meet(struct bench *bench, struct sync_side *side, int fd);

void sync_side_close(struct bench *bench, struct sync_side *side);

/*
 * The raw calls wait for ever for a partner that died: between these two its end is this process's.
 * The broker leaves by itself.
 */
void sync_guard_begin(void);
void sync_guard_end(void);

/*
 * Rounds of a stream of bench->device and one of bench->second, in a child that has the role
 * "partner": the turn of a case, and what opens and closes the case.
 */
int sync_stream_rounds(struct bench *bench, uint64_t out_ns[]);
int sync_open_second(struct bench *bench);
int sync_close_second(struct bench *bench);
int sync_role_partner(struct bench *bench, const char *word);

#endif
