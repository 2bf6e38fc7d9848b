/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call.h - processes that make and run calls are killed
 *
 * The cast of the random part: a SERVER, whose functions two threads run, and CLIENTS, which have
 * many calls in flight in several lanes, cancel some, let some be late, let some depend on others,
 * let some start after a value of a timeline, have some repeated, and wait for no reply of some.
 * They also have the server make memories, and work on these (call_memory.c). The director, which
 * runs the cases, kills one of them at random moments and starts it anew.
 *
 * The director has an array, which no process of the cast can end. Each call takes a number that no
 * other call has, and adds 1 to the byte at this place: by the CPU, or by the stream of its
 * function. The client notes on the board what it knows of the call's end. So at the end the array
 * shows whether a call was run that was not to be, was run too often, or has ended and was not run.
 * Whether a call starts before the value that it waits for, its function sees by its gate.
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

/* What a call does at its place. */
enum call_kind {
	CALL_ADDS,       /* adds 1 */
	CALL_MAY_REPEAT, /* the same, and was asked to be repeated: once for each server, at most */
	CALL_WRITES      /* stores CALL_WRITTEN, however often */
};

#define CALL_WRITTEN 200

/* Whether a call may start already. */
enum call_gate {
	CALL_OPEN,
	CALL_SHUT /* the value that it starts after was not signalled */
};

struct call_place {
	_Atomic(uint8_t) end;  /* enum call_end */
	_Atomic(uint8_t) kind; /* enum call_kind */
	_Atomic(uint8_t) gate; /* enum call_gate */
	_Atomic(uint8_t) most; /* runs of CALL_MAY_REPEAT; 0: its client does not know */
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
	atomic_ulong servers_started; /* that can be called */
	atomic_ulong gated;           /* calls that waited for a value */
	atomic_ulong asked_to_repeat;
	atomic_ulong memories; /* that servers have made */
	atomic_ulong memory_calls;
	atomic_ulong steps[1 + CALL_CLIENTS]; /* of each that is at work, since it began */
	struct call_place places[CALL_MOST];
};

struct call_board *call_board_map(bool create);
void call_board_unmap(struct call_board *board);

/* The result of the call at a place. */
uint64_t call_answer(uint64_t at);

/*
 * A service with the functions "mark" and "mark_later", which add 1 by the CPU and by a stream, and
 * "mark_again", which is mark as an idempotent function: u8[n] array write, u64 at -> u64 answer;
 * with "mark_together", which is mark_later for several calls at once; and with all built-in
 * functions. It is not started. @name: NULL: none
 */
ww_service *call_service_make(ww_device *device, ww_broker *broker, const char *name);

/* An array of so many zeros, and a token by which it can be written. */
ww_memory *call_array_make(uint64_t bytes, struct ww_token *out_token);

/* --- of a client --- */

/* Work on memories that the server makes for a client: a lane of its own. */
#define CALL_MEMORY_LANE 4

/*
 * begin: of a client that has found the service. Return: whether it has the functions.
 * turn:  one call, for one of the memories. Return: whether the server is there.
 * end:   waits for all calls. Return: as turn.
 * drop:  waits for nothing.
 */
bool call_memories_begin(struct call_board *board, ww_client *client, uint64_t *random);
bool call_memories_turn(void);
bool call_memories_end(void);
void call_memories_drop(void);

/* Looks a function up while the server may end. Return: whether it is there. */
bool call_find(ww_client *client, const char *name, uint32_t *out_function);

#endif
