/* SPDX-License-Identifier: Apache-2.0 */
/*
 * eventfd.h - descriptors for event loops
 *
 * No eventfd crosses a process: its other holder could fill it, which would block the process that
 * signals, or read it empty. Each process makes its own descriptors readable, by one thread for all
 * of them.
 *
 *   pause ──> the call does its work ──> arm ──> armed ──thread: the look says done──> readable
 *                                         └────> readable
 *                                    ──> say: readable, or parked (nothing can come)
 *
 * While an eventfd is armed, this process is asleep to the others (announced), and the thread
 * sleeps in its place, on the futex words of all that are armed. The thread looks under the lock of
 * all eventfds, which pause takes: after that, no thread reads what the look reads.
 */
#ifndef WW_BASE_EVENTFD_H
#define WW_BASE_EVENTFD_H

#include "base/await.h"

/* Each is called under the lock, by the thread or by the user's, and must not block. */
struct ww_eventfd_class {
	/* Adds what is to be slept for. Return: whether the user is to make a call. */
	bool (*look)(void *context, uint64_t now_ns, struct ww_await_sleep *sleep);
	/*
	 * Says to other processes that this one sleeps, in one order with looks (seq_cst). NULL, as
	 * the next: they wake it anyway.
	 */
	void (*announce)(void *context);
	void (*withdraw)(void *context);
};

struct ww_eventfd;

/*
 * Starts the thread, if this is the first one. Parked.
 * @context:  of the calls of @class
 * Return: WW_OK; WW_ERR_LIMIT; WW_ERR_SYSTEM; WW_ERR_NO_MEMORY.
 */
ww_status ww_eventfd_create(const struct ww_eventfd_class *class, void *context,
	struct ww_eventfd **out_eventfd);

/* Takes NULL. Ends the thread, if this was the last one. Leaves duplicates readable. */
struct ww_eventfd *ww_eventfd_free(struct ww_eventfd *eventfd);

/* A duplicate for the user. Return: as ww_fd_duplicate(). */
ww_status ww_eventfd_duplicate(const struct ww_eventfd *eventfd, int *out_fd);

/*
 * Before a call that sleeps itself, or changes what the look reads: no thread looks afterwards.
 * NULL: there is none, and this is one load.
 */
void ww_eventfd_disarm(struct ww_eventfd *eventfd);

static inline void ww_eventfd_pause(struct ww_eventfd *eventfd)
{
	if (eventfd)
		ww_eventfd_disarm(eventfd);
}

/* After a call: readable, or parked. */
void ww_eventfd_say(struct ww_eventfd *eventfd, bool is_ready);

/* After a call: says whether it is ready, and from now on shows when it is. */
void ww_eventfd_arm(struct ww_eventfd *eventfd);

/*
 * Keeps the thread for an object whose eventfds come and go, so that not each of them starts and
 * ends it. Return: as ww_eventfd_create().
 */
ww_status ww_eventfd_thread_keep(void);
void ww_eventfd_thread_leave(void);

/* A descriptor that holds at most 1, and that other code makes readable. */
ww_status ww_eventfd_open(int *out_fd);

#endif
