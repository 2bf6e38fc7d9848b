/* SPDX-License-Identifier: Apache-2.0 */
/*
 * await.h - waiting on the CPU for a word in shared memory
 *
 * First a short spin, since what is awaited often comes within microseconds; then sleep on a futex,
 * which the process that changes the word wakes. A GPU does not wake: while one may be the next to
 * change the word, each sleep ends after an eighth of the time waited so far, at most 2 ms.
 *
 * The memory may be mapped read-only, and what is in it is an untrusted process's: a wait can be
 * woken without a reason, and a hostile process may not wake it at all. So a limit on time always
 * ends a wait.
 */
#ifndef WW_BASE_AWAIT_H
#define WW_BASE_AWAIT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <warpway/base.h>

enum ww_await_look {
	WW_AWAIT_DONE,  /* what was awaited is there */
	WW_AWAIT_SLEEP, /* the process that changes the value will add to the futex word and wake */
	WW_AWAIT_POLL   /* it may change without a wake */
};

/* Looks; called often, must not block. */
typedef enum ww_await_look (*ww_await_fn)(void *context);

/*
 * @wakes:        of the shared memory; 4-byte aligned
 * @deadline_ns:  CLOCK_MONOTONIC, as ww_clock_deadline_ns(); WW_NEVER; one that has passed: look
 *                once
 * Return: WW_OK (look said done); WW_TIMED_OUT; WW_CANCELLED.
 */
ww_status ww_await(const uint32_t *wakes, ww_await_fn look, void *context, uint64_t deadline_ns);

/*
 * The two parts of it, for a caller that announces its sleep to others: the spin alone, after which
 * nothing need be announced if it returns true, what is awaited is there; and the rest, which looks
 * and sleeps.
 */
bool ww_await_spin(ww_await_fn look, void *context, uint64_t deadline_ns);
ww_status ww_await_asleep(const uint32_t *wakes, ww_await_fn look, void *context,
	uint64_t deadline_ns);

/*
 * Before all that: looks at one word for some 200 ns, and does nothing else. No clock is read, and
 * the value is noticed as soon as it is there. On one CPU it does not look.
 * @line:  a cache line that comes with the value, and is read next
 * Return: whether the word has the value, or more.
 */
bool ww_await_briefly(const uint64_t *word, uint64_t value, const void *line);

/*
 * For a thread that sleeps for several things, and looks itself: a futex word, and what it was
 * before the look.
 */
struct ww_await_word {
	const uint32_t *wakes;
	uint32_t seen;
};

/*
 * Sleeps until one of the words has changed, or is woken, or the time is over; may end for nothing.
 * Before Linux 5.16 (futex_waitv), and with more than WW_AWAIT_WORDS, it ends after 1 ms at the
 * latest, since only the first word can wake it then. A word that is not mapped ends it at once, or
 * after 1 ms.
 */
#define WW_AWAIT_WORDS 128
void ww_await_any(const struct ww_await_word *words, size_t count, uint64_t until_ns);

/* Such a sleep, as those add to it that the thread looks for. */
struct ww_await_sleep {
	struct ww_await_word words[WW_AWAIT_WORDS];
	size_t count; /* more than WW_AWAIT_WORDS: some are left out */
	uint64_t until_ns;
};

/*
 * A word of a look before is not added again.
 * @seen: as it was loaded before the look
 */
static inline void ww_await_sleep_for(struct ww_await_sleep *sleep, const uint32_t *wakes,
	uint32_t seen)
{
	for (size_t i = 0; i < sleep->count && i < WW_AWAIT_WORDS; i++) {
		if (sleep->words[i].wakes == wakes)
			return;
	}
	if (sleep->count < WW_AWAIT_WORDS)
		sleep->words[sleep->count] = (struct ww_await_word){wakes, seen};
	sleep->count++;
}

/* No longer than that. */
static inline void ww_await_sleep_until(struct ww_await_sleep *sleep, uint64_t until_ns)
{
	if (until_ns < sleep->until_ns)
		sleep->until_ns = until_ns;
}

/* When to poll again for a value that a GPU changes, because a GPU does not wake processes.
 * @start_ns: of the wait */
uint64_t ww_await_poll_ns(uint64_t start_ns, uint64_t now_ns);

/*
 * How long a thread spins before it announces that it sleeps. Two sides that answer each other at
 * once would go on sleeping once both have: each waits for as long as the other one takes to wake
 * up, which is longer than the usual spin of 5 us. So after a wait of at most 50 us the next spin
 * is long: twice that wait, at most 50 us. If it finds nothing, what is awaited perhaps needs this
 * CPU: then the next two waits spin for 5 us only, after the next long spin that finds nothing
 * four, and so on up to 1024.
 */
struct ww_await_pace {
	uint64_t long_ns;  /* of the next spin; 0: it is not long */
	uint32_t failures; /* long spins that found nothing, since one that found something */
	uint32_t pause;    /* waits that are still to sleep before the next long spin */
};

uint64_t ww_await_pace_spin_ns(const struct ww_await_pace *pace);
void ww_await_pace_found(struct ww_await_pace *pace);
void ww_await_pace_slept(struct ww_await_pace *pace, uint64_t waited_ns);

/*
 * Both, with the announcement between them. The spin goes by the thread's pace: it takes up to
 * 50 us of CPU time where the other side answers within that time, and 5 us otherwise.
 * @is_asleep:  set to 1 while this thread sleeps, in one order with the looks before and after it
 *              (seq_cst); of a file that this process writes
 */
ww_status ww_await_announced(uint32_t *is_asleep, const uint32_t *wakes, ww_await_fn look,
	void *context, uint64_t deadline_ns);

/* Adds 1 to a futex word and wakes all threads that sleep on it, in any process. */
void ww_await_wake(uint32_t *wakes);

/* The same, where the word itself is looked at, in one order with other stores (seq_cst). */
void ww_await_wake_in_order(uint32_t *wakes);

#endif
