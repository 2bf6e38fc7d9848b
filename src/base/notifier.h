/* SPDX-License-Identifier: Apache-2.0 */
/*
 * notifier.h - descriptors for event loops
 *
 * No eventfd crosses a process: its other holder could fill it, which would block the process that
 * signals, or read it empty. Each process makes its own descriptors readable, by one thread for all
 * of them.
 *
 *   pause ──> the call does its work ──> arm ──> armed ──thread: the look says done──> readable
 *                                         └────> readable
 *                                    ──> say: readable, or parked (nothing can come)
 *
 * While a notice is armed, this process is asleep to the others (announced), and the thread sleeps
 * in its place, on the futex words of all that are armed. The thread looks under the notifier's
 * lock, which pause takes: after that, no thread reads what belongs to the notice.
 */
#ifndef WW_BASE_NOTIFIER_H
#define WW_BASE_NOTIFIER_H

#include "base/await.h"
#include "base/list.h"

struct ww_notice;

/* Each is called under the notifier's lock, by the thread or by the user's, and must not block. */
struct ww_notice_class {
	/* Adds what is to be slept for. Return: whether the user is to make a call. */
	bool (*look)(struct ww_notice *notice, uint64_t now_ns, struct ww_await_sleep *sleep);
	/* Says to other processes that this one sleeps, in one order with looks (seq_cst). */
	void (*announce)(struct ww_notice *notice);
	void (*withdraw)(struct ww_notice *notice);
};

enum ww_notice_state {
	WW_NOTICE_PARKED, /* not readable, and no thread waits */
	WW_NOTICE_ARMED,  /* not readable; the thread waits */
	WW_NOTICE_READABLE
};

struct ww_notice {
	const struct ww_notice_class *class;
	struct ww_list link; /* while armed; under the lock, as is state */
	enum ww_notice_state state;
	int fd; /* an eventfd, owned */
};

/*
 * Starts the thread, if this is the first one. Parked.
 * Return: WW_OK; WW_ERR_LIMIT; WW_ERR_SYSTEM; WW_ERR_NO_MEMORY.
 */
ww_status ww_notice_init(struct ww_notice *notice, const struct ww_notice_class *class);

/* Ends the thread, if this was the last one. Leaves duplicates readable. */
void ww_notice_fini(struct ww_notice *notice);

/* Before a call that sleeps itself, or changes what the look reads: no thread looks afterwards. */
void ww_notice_pause(struct ww_notice *notice);

/* After a call: readable, or parked. */
void ww_notice_say(struct ww_notice *notice, bool is_ready);

/* After a call: says whether it is ready, and from now on shows when it is. */
void ww_notice_arm(struct ww_notice *notice);

#endif
