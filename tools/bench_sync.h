/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_sync.h - what the parts of the group `sync` share
 *
 * Two processes, each with a device of its own, wait for each other: the verb's own asks, its child answers. Each has the
 * library's timelines and events, and a bare page, stream and event beside them that do the same work.
 */
#ifndef TOOLS_BENCH_SYNC_H
#define TOOLS_BENCH_SYNC_H

#include "bench.h"
#include "bench_raw.h"
#include "nest.h"

#define SYNC_ANSWER_NS (UINT64_C(60) * 1000000000)

/* A GPU's timeline is never waited for in the way of a CPU's, so each side has one of each. */
enum sync_line {
	SYNC_STREAM, /* signalled by a stream */
	SYNC_CPU,
	SYNC_LINES
};

/* What one of the two processes has. */
struct sync_side {
	ww_device *device;
	ww_broker *broker;
	ww_stream *stream;
	ww_timeline *own[SYNC_LINES];
	ww_timeline *peers[SYNC_LINES];
	bool has_events; /* set before opening; CUDA's are for one device */
	ww_event *own_event;
	ww_event *peers_event;

	struct raw *raw;
	struct raw_stream *raw_stream;
	struct raw_page own_page;
	struct raw_page peers_page;
	struct raw_event own_raw_event;
	struct raw_event peers_raw_event;

	uint64_t idle_ns; /* that this side did nothing on purpose, in this batch */
};

#define SYNC_SIDE_NONE                                                              \
	{                                                                           \
		.own_page = RAW_PAGE_NONE, .peers_page = RAW_PAGE_NONE, .raw = NULL \
	}

/* All of these return 0, or -1 after saying what went wrong. */

/* Opens all that is this side's own. Tokens of it are left in the own page. */
int sync_side_open(struct sync_side *side, const char *selector, const char *address);

/* Opens all that is the other side's. @fd: of its page, borrowed */
int sync_side_meet(struct sync_side *side, int fd);

void sync_side_close(struct sync_side *side);

static inline void own_side(struct sync_side *side)
{
	sync_side_close(side);
}

/* A way to wait for each other. */
struct sync_kind {
	const char *name;
	uint64_t rounds; /* of a batch, which is timed as a whole */
	bool has_streams;
	bool crosses_gpus;
	int (*ask[BENCH_WAYS])(struct sync_side *side, uint64_t value);
	int (*answer[BENCH_WAYS])(struct sync_side *side, uint64_t value);
};

extern const struct sync_kind sync_kinds[];
extern const size_t sync_kind_count;

/* One side's part of a batch. @value: that of the round before the first. */
int sync_batch_run(struct sync_side *side, const struct sync_kind *kind, enum bench_way way,
	bool asks, uint64_t value, uint64_t rounds);

/* The verb's own process, and its child. */
struct sync_pair {
	struct bench *bench;
	struct sync_side side;
	struct child child;
	uint64_t value; /* of the last round; grows for ever */
};

/* What a call costs, without the other side. */
int sync_enqueue(struct sync_pair *pair);
int sync_register(struct sync_pair *pair);

/* A signaller is killed. */
int sync_release(struct bench *bench, const char *address);

/* What is killed: a process that has put a timeline under @name, and waits. */
int sync_role_signaller(const char *selector, const char *address, const char *name);

/* Takes the answer of a call of the library. @what: that was tried */
int sync_expect(ww_status status, const char *what);

/* Adds a result in @unit, "us" or "ns". @floor: NULL: none; @goal: NULL: none */
int sync_add(struct bench *bench, const char *name, const char *unit, struct samples *ours,
	struct samples *floor, bench_goal *goal);

#endif
