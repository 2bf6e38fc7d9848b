/* SPDX-License-Identifier: Apache-2.0 */
/*
 * turn.h - threads that use one object of the library in turns
 *
 * The library lets one thread at a time use a channel or a work queue. The thread that uses it does
 * not have the lock. There are two kinds of calls:
 *
 *   - Calls that do not wait: turns_enter(). They come before the others.
 *   - Calls that may wait: turns_enter_to_wait(). They stand in a queue. The thread at its front
 *     uses the object for a slice of time; then it leaves the queue, and may join it again at the
 *     end.
 *
 * In a child made by fork() the lock may be held for ever, so it is not taken: the library refuses
 * every call there before it looks at anything.
 */
#ifndef CORE_TURN_H
#define CORE_TURN_H

#include "core.h"

/* One thread's place in the queue; of the caller, with all zero at the beginning. */
struct turn {
	struct turn *next;
	pthread_cond_t wake; /* while the thread sleeps */
	bool is_queued;
	bool sleeps;
	bool is_awaited; /* when the thread began to use the object, others stood behind it */
};

struct turns {
	int is_closed; /* atomic: no call is to wait any more */
	int pid;       /* of the process that made it */

	pthread_mutex_t lock; /* of all that follows, and of what the object's owner adds */
	pthread_cond_t is_free;
	bool is_used;       /* a thread uses the object: it need not have the lock */
	uint32_t wanted;    /* threads in turns_enter() */
	struct turn *first; /* of the queue */
};

void turns_init(struct turns *turns);
void turns_fini(struct turns *turns);
/* Calls that wait end, within a slice of the one that uses the object. */
void turns_close(struct turns *turns);

static inline bool turns_are_closed(const struct turns *turns)
{
	return __atomic_load_n(&turns->is_closed, __ATOMIC_ACQUIRE);
}

/* This is a child of the process that made it. */
bool turns_are_inherited(const struct turns *turns);

/* For a call that does not wait. */
void turns_enter(struct turns *turns);
/* Under the lock. Return: whether this thread uses the object now; it does not wait for that. */
bool turns_try_enter(struct turns *turns);
/* Under the lock. The thread uses the object no more. */
void turns_leave(struct turns *turns);

/*
 * For a call that may wait, of objects that it uses together.
 * @all:     in the order of their addresses, so that several threads can wait
 * @mine:    as many; filled
 * @end_ns:  CLOCK_MONOTONIC; 0: the call does not wait
 *
 * Return: WW_OK: this thread uses them all; WW_TIMED_OUT: it does, too, but end_ns has passed, so
 *         it only looks; WW_CANCELLED, STATUS_CLOSED, WAIT_LEFT: it uses none. After turns_leave()
 *         of each, turns_end() follows.
 */
ww_status turns_enter_to_wait(struct turns *const *all, uint32_t count, struct turn *mine,
	uint64_t end_ns, ww_cancel *cancel);
void turns_end(struct turns *const *all, uint32_t count, struct turn *mine);

#endif
