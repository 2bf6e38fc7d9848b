/* SPDX-License-Identifier: Apache-2.0 */
/*
 * await_test.c - waits that are woken, that look by themselves, and that end in time
 */
#include "base/unit_test.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/await.h"
#include "base/clock.h"

#define PAGE_BYTES 4096
#define MS         UINT64_C(1000000)

/* A page as two processes have it: one writes, the other may only read. */
struct shared {
	uint32_t wakes;
	uint32_t reserved;
	uint64_t value;
};

static struct shared *written;
static const struct shared *readable;

static int map_twice(void **state)
{
	int fd = memfd_create("await_test", MFD_CLOEXEC);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, PAGE_BYTES), 0);
	written = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	readable = mmap(NULL, PAGE_BYTES, PROT_READ, MAP_SHARED, fd, 0);
	assert_true(written != MAP_FAILED && readable != MAP_FAILED);
	return close(fd);
}

static int unmap_both(void **state)
{
	(void)state;
	munmap((void *)(uintptr_t)readable, PAGE_BYTES);
	return munmap(written, PAGE_BYTES);
}

/* Waits for the value to be @goal. */
struct waiter {
	uint64_t goal;
	enum ww_await_look otherwise;
	_Atomic uint64_t looks;
	ww_status status;
	pthread_t thread;
};

static enum ww_await_look look(void *context)
{
	struct waiter *waiter = context;

	atomic_fetch_add(&waiter->looks, 1);
	if (__atomic_load_n(&readable->value, __ATOMIC_ACQUIRE) >= waiter->goal)
		return WW_AWAIT_DONE;
	return waiter->otherwise;
}

static ww_status wait_until(struct waiter *waiter, uint64_t deadline_ns)
{
	return ww_await(&readable->wakes, look, waiter, deadline_ns);
}

static void *wait_for_ever(void *context)
{
	struct waiter *waiter = context;

	waiter->status = wait_until(waiter, WW_NEVER);
	return NULL;
}

static void start(struct waiter *waiter)
{
	assert_int_equal(pthread_create(&waiter->thread, NULL, wait_for_ever, waiter), 0);
}

static void finish(struct waiter *waiter)
{
	pthread_join(waiter->thread, NULL);
	assert_ok(waiter->status);
}

static void set(uint64_t value)
{
	__atomic_store_n(&written->value, value, __ATOMIC_RELEASE);
}

/* Sleeps themselves cannot be seen, but a wait that sleeps does not look any more. */
static void wait_until_asleep(struct waiter *waiter)
{
	uint64_t before;
	uint64_t now = atomic_load(&waiter->looks);

	do {
		uint64_t until = ww_clock_now_ns() + 2 * MS;

		before = now;
		while (ww_clock_now_ns() < until)
			now = atomic_load(&waiter->looks);
	} while (now == 0 || now != before);
}

UNIT_TEST(what_is_there_is_not_awaited)
{
	struct waiter waiter = {.goal = 1, .otherwise = WW_AWAIT_SLEEP};

	set(1);
	assert_ok(wait_until(&waiter, WW_NEVER));
	assert_ok(wait_until(&waiter, 0));
	assert_int_equal(waiter.looks, 2);
	assert_int_equal(written->wakes, 0);
}

UNIT_TEST(a_deadline_that_has_passed_is_one_look)
{
	struct waiter waiter = {.goal = 2, .otherwise = WW_AWAIT_POLL};

	assert_int_equal(wait_until(&waiter, 0), WW_TIMED_OUT);
	assert_int_equal(waiter.looks, 1);
	assert_int_equal(wait_until(&waiter, ww_clock_deadline_ns(0)), WW_TIMED_OUT);
	assert_int_equal(waiter.looks, 2);
}

UNIT_TEST(waits_end_at_their_deadline)
{
	static const enum ww_await_look kinds[] = {WW_AWAIT_SLEEP, WW_AWAIT_POLL};

	for (int i = 0; i < 2; i++) {
		struct waiter waiter = {.goal = 2, .otherwise = kinds[i]};
		uint64_t deadline = ww_clock_deadline_ns(20 * MS);

		assert_int_equal(wait_until(&waiter, deadline), WW_TIMED_OUT);
		assert_true(ww_clock_now_ns() >= deadline);
	}
}

/* One look before the sleep and one after it; a wait that spins has made hundreds by then. */
UNIT_TEST(the_part_that_sleeps_does_not_spin)
{
	struct waiter waiter = {.goal = 1, .otherwise = WW_AWAIT_SLEEP};

	set(0);
	assert_int_equal(ww_await_asleep(&readable->wakes, look, &waiter,
				 ww_clock_deadline_ns(20 * MS)),
		WW_TIMED_OUT);
	assert_true(waiter.looks >= 2 && waiter.looks < 10);
	set(1);
	assert_ok(ww_await_asleep(&readable->wakes, look, &waiter, WW_NEVER));
}

UNIT_TEST(sleepers_are_woken)
{
	struct waiter waiters[3] = {
		{.goal = 2, .otherwise = WW_AWAIT_SLEEP},
		{.goal = 2, .otherwise = WW_AWAIT_SLEEP},
		{.goal = 3, .otherwise = WW_AWAIT_SLEEP},
	};

	for (int i = 0; i < 3; i++)
		start(&waiters[i]);
	for (int i = 0; i < 3; i++)
		wait_until_asleep(&waiters[i]);
	set(2);
	ww_await_wake(&written->wakes);
	finish(&waiters[0]);
	finish(&waiters[1]);
	/* Woken for nothing, the third went to sleep again. */
	wait_until_asleep(&waiters[2]);
	set(3);
	ww_await_wake(&written->wakes);
	finish(&waiters[2]);
	assert_int_equal(written->wakes, 2);
}

/* As if a GPU had stored it. */
UNIT_TEST(polling_needs_no_wake)
{
	struct waiter waiter = {.goal = 4, .otherwise = WW_AWAIT_POLL};
	uint64_t looks;

	start(&waiter);
	while (atomic_load(&waiter.looks) < 100)
		sched_yield();
	looks = atomic_load(&waiter.looks);
	while (atomic_load(&waiter.looks) < looks + 3)
		sched_yield();
	set(4);
	finish(&waiter);
}

UNIT_TEST(polling_slows_down)
{
	struct waiter waiter = {.goal = 5, .otherwise = WW_AWAIT_POLL};

	assert_int_equal(wait_until(&waiter, ww_clock_deadline_ns(50 * MS)), WW_TIMED_OUT);
	/* It spins for 60 us, some thousand looks; spinning all the time would be a million. */
	assert_true(waiter.looks < 50000);
}

static void on_signal(int number)
{
	(void)number;
}

UNIT_TEST(a_signal_ends_no_wait)
{
	const struct sigaction action = {.sa_handler = on_signal};
	struct waiter waiter = {.goal = 6, .otherwise = WW_AWAIT_SLEEP};
	struct sigaction before;
	uint64_t looks;

	sigaction(SIGUSR1, &action, &before);
	start(&waiter);
	wait_until_asleep(&waiter);
	looks = atomic_load(&waiter.looks);
	/* The first one may come just before the sleep begins. */
	while (atomic_load(&waiter.looks) == looks) {
		pthread_kill(waiter.thread, SIGUSR1);
		sched_yield();
	}
	set(6);
	ww_await_wake(&written->wakes);
	finish(&waiter);
	sigaction(SIGUSR1, &before, NULL);
}

/* Two threads that answer each other, asleep or not: no wake is lost. */
#define ROUNDS 20000

static void *answer(void *context)
{
	struct waiter waiter = {.otherwise = WW_AWAIT_SLEEP};

	(void)context;
	for (uint64_t i = 0; i < ROUNDS; i++) {
		waiter.goal = 100 + 2 * i + 1;
		wait_until(&waiter, WW_NEVER);
		set(waiter.goal + 1);
		ww_await_wake(&written->wakes);
	}
	return NULL;
}

UNIT_TEST(no_wake_is_lost)
{
	struct waiter waiter = {.otherwise = WW_AWAIT_SLEEP};
	pthread_t thread;

	set(100);
	assert_int_equal(pthread_create(&thread, NULL, answer, NULL), 0);
	for (uint64_t i = 0; i < ROUNDS; i++) {
		set(100 + 2 * i + 1);
		ww_await_wake(&written->wakes);
		waiter.goal = 100 + 2 * i + 2;
		assert_ok(wait_until(&waiter, WW_NEVER));
	}
	pthread_join(thread, NULL);
}

/* --- the pace of a thread --- */

#define US UINT64_C(1000)

UNIT_TEST(a_short_wait_makes_the_next_spin_longer)
{
	struct ww_await_pace pace = {.long_ns = 0};

	assert_int_equal(ww_await_pace_spin_ns(&pace), 5 * US);
	ww_await_pace_slept(&pace, 14 * US);
	assert_int_equal(ww_await_pace_spin_ns(&pace), 28 * US);
	ww_await_pace_found(&pace);
	assert_int_equal(ww_await_pace_spin_ns(&pace), 28 * US);

	pace = (struct ww_await_pace){.long_ns = 0};
	ww_await_pace_slept(&pace, 40 * US);
	assert_int_equal(ww_await_pace_spin_ns(&pace), 50 * US);

	pace = (struct ww_await_pace){.long_ns = 0};
	ww_await_pace_slept(&pace, 51 * US);
	assert_int_equal(ww_await_pace_spin_ns(&pace), 5 * US);
}

/* Short waits that sleep. Return: how many there are until the next spin is long. */
static uint32_t sleeps_until_long(struct ww_await_pace *pace)
{
	uint32_t count = 0;

	while (ww_await_pace_spin_ns(pace) == 5 * US) {
		ww_await_pace_slept(pace, 14 * US);
		assert_true(++count <= 2000);
	}
	return count;
}

UNIT_TEST(long_spins_that_find_nothing_become_rare)
{
	static const uint32_t pauses[] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 1024};
	struct ww_await_pace pace = {.long_ns = 0};

	assert_int_equal(sleeps_until_long(&pace), pauses[0]);
	for (size_t i = 1; i < sizeof(pauses) / sizeof(pauses[0]); i++) {
		ww_await_pace_slept(&pace, 14 * US);
		assert_int_equal(sleeps_until_long(&pace), pauses[i]);
	}
	/* One that finds something makes them frequent again, an ordinary one does not. */
	ww_await_pace_found(&pace);
	ww_await_pace_slept(&pace, 14 * US);
	assert_int_equal(sleeps_until_long(&pace), 2);
	ww_await_pace_slept(&pace, 14 * US);
	ww_await_pace_found(&pace);
	assert_int_equal(sleeps_until_long(&pace), 4);
}

/* What is awaited is there as soon as the sleep is announced, so it ends at once. */
static enum ww_await_look look_for_announcement(void *context)
{
	return __atomic_load_n((uint32_t *)context, __ATOMIC_SEQ_CST) ? WW_AWAIT_DONE
								      : WW_AWAIT_SLEEP;
}

static uint64_t announced_wait_ns(void)
{
	uint64_t start_ns = ww_clock_now_ns();
	uint32_t is_asleep = 0;

	assert_ok(ww_await_announced(&is_asleep, &readable->wakes, look_for_announcement,
		&is_asleep, WW_NEVER));
	assert_int_equal(is_asleep, 0);
	return ww_clock_now_ns() - start_ns;
}

/* Has a pace of its own. */
static void *wait_twice(void *context)
{
	uint64_t *took_ns = context;

	took_ns[0] = announced_wait_ns();
	took_ns[1] = announced_wait_ns();
	return NULL;
}

UNIT_TEST(waits_with_an_announcement_go_by_the_pace)
{
	uint64_t took_ns[2];
	int rounds = 0;
	cpu_set_t cpus;

	if (sched_getaffinity(0, sizeof(cpus), &cpus) == 0 && CPU_COUNT(&cpus) == 1)
		UNIT_SKIP("on one CPU no wait spins");
	/* A first wait in which other processes ran says nothing. */
	for (int tries = 0; rounds < 10 && tries < 10000; tries++) {
		pthread_t thread;

		assert_int_equal(pthread_create(&thread, NULL, wait_twice, took_ns), 0);
		pthread_join(thread, NULL);
		if (took_ns[0] <= 50 * US) {
			assert_true(took_ns[1] >= 10 * US);
			rounds++;
		}
	}
	if (rounds == 0)
		UNIT_SKIP("every wait of this machine takes more than 50 us");
}

UNIT_MAIN_WITH("await", map_twice, unmap_both)
