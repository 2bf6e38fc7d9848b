/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call.h - processes that make and run calls are killed
 *
 * The cast of the random part: a SERVER, whose functions two threads run, and CLIENTS, which have
 * many calls in flight in several lanes, cancel some, let some be late, let some depend on others
 * and wait for no reply of some. The director, which runs the cases, kills one of them at random
 * moments and starts it anew.
 *
 * The director has an array, which no process of the cast can end. Each call takes a number that no
 * other call has, and adds 1 to the byte at this place: by the CPU, or by the stream of its
 * function. The client notes on the board what it knows of the call's end. So at the end the array
 * shows whether a call was run that was not to be, was run twice, or has ended and was not run.
 */
#ifndef WW_TESTS_CRASH_CALL_H
#define WW_TESTS_CRASH_CALL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <warpway/warpway.h>

#include "crash/figures.h"
#include "support/broker_case.h"
#include "support/check.h"
#include "support/child.h"
#include "support/service.h"
#include "support/subject.h"

#define CALL_CLIENTS 3
#define CALL_MOST    (UINT64_C(1) << 23) /* calls of all processes, and the bytes of the array */

/* A process looks at least so often whether all is over. */
#define CALL_TURN_NS UINT64_C(50000000)

/* What its client knows of a call. */
enum call_end {
	CALL_UNUSED,
	CALL_MADE,   /* nothing: it may have been run, and once at most */
	CALL_RUN,    /* it was run, once */
	CALL_NOT_RUN /* it was not, and will not be */
};

enum call_stops {
	CALL_GOES_ON,
	CALL_CLIENTS_STOP,
	CALL_SERVER_STOPS
};

/* What happened, counted by all. */
struct call_board {
	struct ww_token array;
	atomic_uint stops;  /* enum call_stops */
	atomic_ulong next;  /* place of the next call */
	atomic_ulong ended; /* calls whose ends their clients have seen */
	atomic_ulong run;
	atomic_ulong not_run;
	atomic_ulong lost; /* started, and the server has ended */
	atomic_ulong left; /* that nobody waited for */
	atomic_ulong joins;
	atomic_ulong servers;
	atomic_ulong steps[1 + CALL_CLIENTS]; /* of each that is at work, since it began */
	_Atomic(uint8_t) ends[CALL_MOST];     /* enum call_end */
};

struct call_board *call_board_map(bool create);
void call_board_unmap(struct call_board *board);

/* The result of the call at a place. */
uint64_t call_answer(uint64_t at);

/*
 * A service with the functions "mark" and "mark_later", which add 1 by the CPU and by a stream:
 * u8[n] array write, u64 at -> u64 answer. It is not started. @name: NULL: none
 */
ww_service *call_service_make(ww_device *device, ww_broker *broker, const char *name);

/* An array of so many zeros, and a token by which it can be written. */
ww_memory *call_array_make(uint64_t bytes, struct ww_token *out_token);

#endif
