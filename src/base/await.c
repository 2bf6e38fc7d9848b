/* SPDX-License-Identifier: Apache-2.0 */
/*
 * await.c - waiting on the CPU for a word in shared memory, see await.h
 *
 * The futex word is read before each look. A process that changes an awaited value stores the value
 * first and then adds to the word; so either the look sees the change, or the kernel sees another
 * word than was read and does not sleep. The futex is one between processes, found by the page and
 * not by the address: for reading, a read-only mapping is enough.
 *
 * No lock, no state but the number of CPUs, and the pace of each thread.
 */
#include "base/await.h"

#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "base/prefetch.h"

#define SPIN_NS       UINT64_C(5000) /* about what falling asleep and waking up cost */
#define SPIN_MOST_NS  UINT64_C(50000)
#define FAILURES_MOST 10 /* of long spins that are counted: 1024 sleeps lie between two of them */
/* ... of the shortest sleep without a wake: the kernel adds 50 us to it */
#define SPIN_POLL_NS       UINT64_C(60000)
#define FUTEX_WAITV_NUMBER 449 /* the same on all machines */
#define FUTEX_WORD_32      2   /* 32 bits, of any process */
#define LOOKS_PER_TIME     8   /* while spinning */
#define BRIEF_LOOKS        8   /* some 200 ns */
/* While only one of several words can wake. */
#define ALONE_MOST_NS UINT64_C(1000000)
#define POLL_LEAST_NS UINT64_C(20000)
#define POLL_MOST_NS  UINT64_C(2000000)

static void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("isb" ::: "memory");
#else
	__asm__ volatile("" ::: "memory");
#endif
}

/*
 * On one CPU the other side cannot run meanwhile. Found out once; every thread finds the same.
 */
static bool may_spin(void)
{
	static _Atomic int count;
	int known = atomic_load_explicit(&count, memory_order_relaxed);

	if (known == 0) {
		cpu_set_t cpus;

		known = sched_getaffinity(0, sizeof(cpus), &cpus) == 0 ? CPU_COUNT(&cpus) : 2;
		atomic_store_explicit(&count, known, memory_order_relaxed);
	}
	return known > 1;
}

static uint64_t sooner(uint64_t first, uint64_t second)
{
	return first < second ? first : second;
}

/* Looks again and again for some time. Return: whether it is done. */
static bool spin(ww_await_fn look, void *context, uint64_t start_ns, uint64_t deadline_ns,
	uint64_t spin_ns)
{
	enum ww_await_look state = WW_AWAIT_SLEEP;
	uint64_t now_ns;

	do {
		for (int i = 0; i < LOOKS_PER_TIME; i++) {
			relax();
			state = look(context);
			if (state == WW_AWAIT_DONE)
				return true;
		}
		now_ns = ww_clock_now_ns();
	} while (now_ns < deadline_ns &&
		now_ns - start_ns < (state == WW_AWAIT_POLL ? SPIN_POLL_NS : spin_ns));
	return false;
}

bool ww_await_briefly(const uint64_t *word, uint64_t value, const void *line)
{
	if (!may_spin())
		return false;
	for (int i = 0; i < BRIEF_LOOKS; i++) {
		if (__atomic_load_n(word, __ATOMIC_ACQUIRE) >= value)
			return true;
		ww_prefetch_to_read(line);
		relax();
	}
	return false;
}

uint64_t ww_await_poll_ns(uint64_t start_ns, uint64_t now_ns)
{
	uint64_t pause_ns = (now_ns - start_ns) / 8;

	if (pause_ns < POLL_LEAST_NS)
		pause_ns = POLL_LEAST_NS;
	return now_ns + sooner(pause_ns, POLL_MOST_NS);
}

/* When to poll again even if no process wakes this one. */
static uint64_t wake_up_ns(enum ww_await_look look, uint64_t start_ns, uint64_t now_ns,
	uint64_t deadline_ns)
{
	if (look != WW_AWAIT_POLL)
		return deadline_ns;
	return sooner(ww_await_poll_ns(start_ns, now_ns), deadline_ns);
}

static struct timespec to_timespec(uint64_t time_ns)
{
	return (struct timespec){
		.tv_sec = (time_t)(time_ns / 1000000000),
		.tv_nsec = (long)(time_ns % 1000000000),
	};
}

/* However it ends, and a signal may end it, the caller looks again. */
static void sleep_on(const uint32_t *wakes, uint32_t seen, uint64_t until_ns)
{
	const struct timespec until = to_timespec(until_ns);

	/* The one futex wait whose limit is a point in time, not a duration. */
	syscall(SYS_futex, wakes, FUTEX_WAIT_BITSET, seen, until_ns == WW_NEVER ? NULL : &until,
		NULL, FUTEX_BITSET_MATCH_ANY);
}

/* struct futex_waitv of linux/futex.h, which headers before Linux 5.16 lack */
struct futex_word {
	uint64_t seen;
	uint64_t address;
	uint32_t flags;
	uint32_t reserved;
};

/* Return: whether the kernel can do that, and did not refuse a word. */
static bool sleep_on_any(const struct ww_await_word *words, size_t count, uint64_t until_ns)
{
	const struct timespec until = to_timespec(until_ns);
	struct futex_word all[WW_AWAIT_WORDS];

	for (size_t i = 0; i < count; i++)
		all[i] = (struct futex_word){.seen = words[i].seen,
			.address = (uintptr_t)words[i].wakes,
			.flags = FUTEX_WORD_32};
	return syscall(FUTEX_WAITV_NUMBER, all, count, 0, until_ns == WW_NEVER ? NULL : &until,
		       CLOCK_MONOTONIC) >= 0 ||
		errno == EAGAIN || errno == ETIMEDOUT || errno == EINTR;
}

void ww_await_any(const struct ww_await_word *words, size_t count, uint64_t until_ns)
{
	if (count <= WW_AWAIT_WORDS && sleep_on_any(words, count, until_ns))
		return;
	sleep_on(words[0].wakes, words[0].seen,
		sooner(ww_clock_deadline_ns(ALONE_MOST_NS), until_ns));
}

bool ww_await_spin(ww_await_fn look, void *context, uint64_t deadline_ns)
{
	if (look(context) == WW_AWAIT_DONE)
		return true;
	return may_spin() && spin(look, context, ww_clock_now_ns(), deadline_ns, SPIN_NS);
}

ww_status ww_await(const uint32_t *wakes, ww_await_fn look, void *context, uint64_t deadline_ns)
{
	uint64_t start_ns;

	if (look(context) == WW_AWAIT_DONE)
		return WW_OK;
	start_ns = ww_clock_now_ns();
	if (start_ns >= deadline_ns)
		return WW_TIMED_OUT;
	if (may_spin() && spin(look, context, start_ns, deadline_ns, SPIN_NS))
		return WW_OK;
	return ww_await_asleep(wakes, look, context, deadline_ns);
}

ww_status ww_await_asleep(const uint32_t *wakes, ww_await_fn look, void *context,
	uint64_t deadline_ns)
{
	uint64_t start_ns = ww_clock_now_ns();

	for (;;) {
		uint32_t seen = __atomic_load_n(wakes, __ATOMIC_ACQUIRE);
		uint64_t now_ns = ww_clock_now_ns();
		enum ww_await_look state = look(context);

		if (state == WW_AWAIT_DONE)
			return WW_OK;
		if (now_ns >= deadline_ns)
			return WW_TIMED_OUT;
		if (ww_cancel_is_pending())
			return WW_CANCELLED;
		sleep_on(wakes, seen,
			ww_cancel_sleep_end_ns(wake_up_ns(state, start_ns, now_ns, deadline_ns)));
	}
}

static void wake_all(uint32_t *wakes)
{
	syscall(SYS_futex, wakes, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

/* --- with an announcement --- */

uint64_t ww_await_pace_spin_ns(const struct ww_await_pace *pace)
{
	return pace->long_ns ? pace->long_ns : SPIN_NS;
}

void ww_await_pace_found(struct ww_await_pace *pace)
{
	if (pace->long_ns)
		pace->failures = 0;
}

void ww_await_pace_slept(struct ww_await_pace *pace, uint64_t waited_ns)
{
	if (pace->long_ns) {
		if (pace->failures < FAILURES_MOST)
			pace->failures++;
		pace->pause = UINT32_C(1) << pace->failures;
		pace->long_ns = 0;
	} else if (pace->pause > 0) {
		pace->pause--;
	}
	if (pace->pause == 0 && waited_ns <= SPIN_MOST_NS)
		pace->long_ns = sooner(2 * waited_ns, SPIN_MOST_NS);
}

ww_status ww_await_announced(uint32_t *is_asleep, const uint32_t *wakes, ww_await_fn look,
	void *context, uint64_t deadline_ns)
{
	/* Of the thread, so that no lock is needed. It changes no result. */
	static _Thread_local struct ww_await_pace pace;
	uint64_t start_ns;
	ww_status status;

	if (look(context) == WW_AWAIT_DONE)
		return WW_OK;
	start_ns = ww_clock_now_ns();
	if (may_spin() &&
		spin(look, context, start_ns, deadline_ns, ww_await_pace_spin_ns(&pace))) {
		ww_await_pace_found(&pace);
		return WW_OK;
	}
	__atomic_store_n(is_asleep, 1, __ATOMIC_SEQ_CST);
	status = ww_await_asleep(wakes, look, context, deadline_ns);
	__atomic_store_n(is_asleep, 0, __ATOMIC_RELAXED);
	ww_await_pace_slept(&pace, ww_clock_now_ns() - start_ns);
	return status;
}

void ww_await_wake(uint32_t *wakes)
{
	__atomic_fetch_add(wakes, 1, __ATOMIC_RELEASE);
	wake_all(wakes);
}

void ww_await_wake_in_order(uint32_t *wakes)
{
	__atomic_fetch_add(wakes, 1, __ATOMIC_SEQ_CST);
	wake_all(wakes);
}
