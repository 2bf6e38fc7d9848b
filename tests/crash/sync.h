/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sync.h - processes that signal are killed while others wait for them in every way there is
 *
 * The cast: this process, a SIGNALLER for each round, and WAITERS that stay for all rounds. In a
 * round the signaller has a timeline of each style, signals by its CPU and by its streams, and is
 * killed; every wait of every waiter must then end, either because the value was reached or with
 * WW_ERR_PEER_LOST and the signaller's pid and name.
 *
 *   round_begin ──> the signaller signals, all wait ──> harm ──> round_kill ──> round_end: checks
 *
 * What could have been reached stands in a board that all share: before a CPU signals a value it
 * says so there, and before a stream does, work of that same stream says so. A success beyond that
 * is a failure, whenever it comes.
 *
 * The time until a waiter goes on is counted from the kernel's report of the death: the end of a
 * socket of the signaller's, or its pidfd, whichever this process sees first. Figures are notes;
 * with WW_TEST_STRICT=1, on a machine that is idle otherwise, all must be within 5 ms.
 */
#ifndef WW_TESTS_CRASH_SYNC_H
#define WW_TESTS_CRASH_SYNC_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <warpway/warpway.h>

#include "crash/figures.h"
#include "support/check.h"
#include "support/child.h"
#include "support/broker_case.h"
#include "support/subject.h"

#define SYNC_WAITERS 3
#define SYNC_NEVER   (UINT64_C(1) << 40) /* a value that nobody signals */
#define SYNC_GATED   9           /* what the gated timeline's streams would signal in the end */
#define SYNC_PROGRAM "signaller" /* what it calls itself */

/* Of the signaller's timelines. */
enum style {
	STYLE_CPU,    /* signalled by the CPU */
	STYLE_ALONE,  /* the same, and has a page of its own; comes by token */
	STYLE_STREAM, /* signalled by two streams, in turn, after fills */
	STYLE_GATED,  /* signalled by three, which wait for the gate, a timeline of this process */
	STYLE_QUIET,  /* not signalled */
	STYLES
};

enum way {
	WAY_SLEEP,         /* the CPU, for a value that never comes */
	WAY_FOLLOW,        /* the CPU, for one value of a CPU after the other: mostly spins */
	WAY_FOLLOW_STREAM, /* the CPU, for one value of a stream after the other */
	WAY_POLL,          /* the CPU, where a GPU may store: looks from time to time */
	WAY_SUBMISSION,    /* a stream, of which the CPU waits for the signal's submission */
	WAY_QUERY,         /* the CPU asks again and again */
	WAY_BARRIER,
	WAY_EVENTFD,
	WAY_STREAM_FOLLOW, /* a stream, for one value of a stream after the other */
	WAY_STREAM,        /* a stream, for a value that is submitted */
	WAY_UNSUBMITTED,   /* a stream, for one that is not */
	WAYS
};

extern const char *const way_names[WAYS];

#define SYNC_RESULTS 64

struct board {
	atomic_uint_fast64_t
		said_by_cpu[STYLES]; /* no higher value was given to ww_timeline_signal() */
	atomic_uint_fast64_t said_by_streams[STYLES]; /* nor was one that a stream's work came to */
	atomic_uint_fast64_t rounds; /* of the barrier, that the signaller arrived in */
	atomic_uint_fast64_t
		lost_ns; /* CLOCK_REALTIME: when the broker knew that the signaller had ended */
	struct ww_token alone;
	struct {
		uint32_t count;
		struct {
			uint32_t way;
			uint64_t released_ns;
		} items[SYNC_RESULTS];
	} results[SYNC_WAITERS + 1]; /* one may be beside them */
};

/* The board of this scene; @create: by this process, which makes it. */
struct board *board_map(bool create);
void board_unmap(struct board *board);

/* The highest value of a timeline that can have been reached. */
uint64_t board_said(const struct board *board, enum style style);

/* "s/ROUND/STYLE", the gate's and the barrier's. */
void name_timeline(char out[32], uint64_t round, enum style style);
void name_gate(char out[32], uint64_t round);
void name_barrier(char out[32], uint64_t round);

/* Does nothing for a while: 0 to @most_ns. */
void pause_up_to(uint64_t *random, uint64_t most_ns);

/* --- rounds, of the process that runs the cases; sync_round.c --- */

/*
 * struct cast - who plays
 * @random:     state of the random numbers
 * @round:      which one is on, from 1
 * @works:      in this one the signaller's streams do
 * @is_timed:   it is ended by a kill alone: times count, and nothing is stored after the kernel's
 *              report
 * @is_counted: the broker is left alone, so that waiters can compare what they hold with what they
 *              held
 */
struct cast {
	uint64_t random;
	uint64_t round;
	bool works;
	bool is_timed;
	bool is_counted;
	struct board *board;
	struct child signaller;
	struct child waiters[SYNC_WAITERS];
	ww_timeline *gate;
};

extern struct cast cast;

void cast_begin(void);
void cast_end(const char *what);

/* A new signaller, whose streams work or not; when this returns all are waiting. */
void round_begin(bool works);

/* Kills the signaller, and waits until the kernel has said so. */
void round_kill(void);

/*
 * Waits until all waiters are released, and have checked all that can be; round_end() does so if
 * nobody has.
 */
void round_released(void);

/* The signaller is gone; nothing of the round is left. */
void round_end(void);

/* In between: lets the gated streams go on. */
void round_open_gate(void);

/* Random, mostly short, at most 20 ms. */
void pause_at_random(void);

/* A waiter beside the others, which may be killed; and when it is not, what the others do. */
void waiter_start(struct child *waiter, uint32_t index);
void waiter_wait(struct child *waiter, bool is_member);

#endif
