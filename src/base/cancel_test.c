/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cancel_test.c - which flag a call has, what it does to sleeps, and that what was noticed stays so
 */
#include "base/unit_test.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "base/await.h"
#include "base/cancel.h"
#include "base/clock.h"
#include "base/condition.h"
#include "base/error.h"
#include "base/fd.h"

static ww_cancel *make(void)
{
	ww_cancel *cancel;

	assert_ok(ww_cancel_create(&cancel));
	return cancel;
}

UNIT_TEST(flag_is_set_and_cleared)
{
	ww_cancel *cancel = make();

	assert_int_equal(ww_cancel_is_set(cancel), 0);
	ww_cancel_set(cancel);
	ww_cancel_set(cancel);
	assert_int_equal(ww_cancel_is_set(cancel), 1);
	ww_cancel_clear(cancel);
	assert_int_equal(ww_cancel_is_set(cancel), 0);
	assert_ptr_equal(ww_cancel_ref(cancel), cancel);
	assert_null(ww_cancel_unref(cancel));
	assert_int_equal(ww_cancel_is_set(cancel), 0);
	assert_null(ww_cancel_unref(cancel));
}

UNIT_TEST(null_is_no_flag)
{
	ww_cancel_set(NULL);
	ww_cancel_clear(NULL);
	assert_int_equal(ww_cancel_is_set(NULL), 0);
	assert_null(ww_cancel_ref(NULL));
	assert_null(ww_cancel_unref(NULL));
	assert_false(ww_cancel_is_given());
	assert_false(ww_cancel_is_pending());
	assert_ok(ww_cancel_check(WW_NEVER));
	assert_int_equal(ww_cancel_check(0), WW_TIMED_OUT);
	assert_true(ww_cancel_sleep_end_ns(WW_NEVER) == WW_NEVER);
	assert_true(ww_cancel_sleep_end_ns(5) == 5);
}

UNIT_TEST(sleeps_are_short_with_a_flag)
{
	ww_cancel *cancel = make();
	uint64_t before_ns = ww_clock_now_ns();

	{
		WW_AUTO_CANCEL struct ww_cancel_scope scope = ww_cancel_enter(cancel);

		assert_true(ww_cancel_is_given());
		assert_ok(ww_cancel_check(WW_NEVER));
		assert_true(ww_cancel_sleep_end_ns(WW_NEVER) >= before_ns + WW_CANCEL_LOOK_NS);
		assert_true(
			ww_cancel_sleep_end_ns(WW_NEVER) <= ww_clock_now_ns() + WW_CANCEL_LOOK_NS);
		assert_true(ww_cancel_sleep_end_ns(before_ns) == before_ns);
		ww_cancel_set(cancel);
		assert_true(ww_cancel_sleep_end_ns(WW_NEVER) == 0);
		assert_int_equal(ww_cancel_check(WW_NEVER), WW_CANCELLED);
		assert_int_equal(ww_cancel_check(before_ns), WW_TIMED_OUT);
	}
	assert_false(ww_cancel_is_given());
	assert_ok(ww_cancel_check(WW_NEVER));
	ww_cancel_unref(cancel);
}

/* Else one part of a call could end as cancelled, and the next one wait. */
UNIT_TEST(what_was_noticed_stays)
{
	ww_cancel *cancel = make();

	for (int i = 0; i < 2; i++) {
		WW_AUTO_CANCEL struct ww_cancel_scope scope = ww_cancel_enter(cancel);

		assert_false(ww_cancel_is_pending()); /* of this call */
		ww_cancel_set(cancel);
		assert_true(ww_cancel_is_pending());
		ww_cancel_clear(cancel);
		assert_true(ww_cancel_is_pending());
		assert_true(ww_cancel_grace_end_ns() <= ww_clock_now_ns() + WW_CANCEL_GRACE_NS);
	}
	ww_cancel_unref(cancel);
}

UNIT_TEST(calls_inside_calls)
{
	ww_cancel *outer = make();
	ww_cancel *inner = make();

	{
		WW_AUTO_CANCEL struct ww_cancel_scope first = ww_cancel_enter(outer);

		{
			WW_AUTO_CANCEL struct ww_cancel_scope second = ww_cancel_enter(inner);

			ww_cancel_set(inner);
			assert_true(ww_cancel_is_pending());
		}
		assert_false(ww_cancel_is_pending());
		{
			WW_AUTO_CANCEL struct ww_cancel_scope second = ww_cancel_enter(NULL);

			ww_cancel_set(outer);
			assert_true(ww_cancel_is_pending());
			ww_cancel_clear(outer);
		}
		assert_true(ww_cancel_is_pending()); /* it was noticed inside */
		{
			WW_AUTO_CANCEL struct ww_cancel_scope masked = ww_cancel_mask();

			assert_false(ww_cancel_is_pending());
			assert_true(ww_cancel_sleep_end_ns(WW_NEVER) == WW_NEVER);
		}
		assert_true(ww_cancel_is_pending());
	}
	ww_cancel_unref(outer);
	ww_cancel_unref(inner);
}

static ww_status forward(ww_status status, int *out_went_on)
{
	*out_went_on = 0;
	ww_try(status);
	*out_went_on = 1;
	return WW_OK;
}

UNIT_TEST(ww_try_forwards_it)
{
	int went_on;

	assert_int_equal(forward(WW_CANCELLED, &went_on), WW_CANCELLED);
	assert_int_equal(went_on, 0);
	assert_ok(forward(WW_TIMED_OUT, &went_on));
	assert_int_equal(went_on, 1);
}

/* --- what waits --- */

static ww_cancel *to_set;

static void *set_it(void *unused)
{
	ww_cancel_set(to_set);
	return unused;
}

static enum ww_await_look not_yet(void *unused)
{
	(void)unused;
	return WW_AWAIT_SLEEP;
}

static ww_status wait_on_word(int fd, pthread_mutex_t *lock)
{
	static const uint32_t word = 0;

	(void)fd;
	(void)lock;
	return ww_await(&word, not_yet, NULL, WW_NEVER);
}

static ww_status wait_on_descriptor(int fd, pthread_mutex_t *lock)
{
	(void)lock;
	return ww_fd_wait(fd, POLLIN, WW_NEVER, "a pipe");
}

static ww_status wait_on_lock(int fd, pthread_mutex_t *lock)
{
	(void)fd;
	return ww_lock_unless_cancelled(lock);
}

struct sleeper {
	ww_status (*wait)(int fd, pthread_mutex_t *lock);
	int fd;
	pthread_mutex_t *lock;
	ww_status status;
};

static void *sleep_until_set(void *context)
{
	WW_AUTO_CANCEL struct ww_cancel_scope scope = ww_cancel_enter(to_set);
	struct sleeper *sleeper = context;

	sleeper->status = sleeper->wait(sleeper->fd, sleeper->lock);
	return NULL;
}

/* Whenever the flag is set: before, in between, or while it sleeps. */
static void must_end(struct sleeper sleeper)
{
	pthread_t threads[2];

	for (int i = 0; i < 20; i++) {
		to_set = make();
		sleeper.status = WW_OK;
		assert_int_equal(pthread_create(&threads[0], NULL, sleep_until_set, &sleeper), 0);
		assert_int_equal(pthread_create(&threads[1], NULL, set_it, NULL), 0);
		pthread_join(threads[0], NULL);
		pthread_join(threads[1], NULL);
		assert_int_equal(sleeper.status, WW_CANCELLED);
		ww_cancel_unref(to_set);
	}
}

UNIT_TEST(every_wait_ends)
{
	pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	pthread_mutex_lock(&lock);
	must_end((struct sleeper){.wait = wait_on_word});
	must_end((struct sleeper){.wait = wait_on_descriptor, .fd = ends[0]});
	must_end((struct sleeper){.wait = wait_on_lock, .lock = &lock});
	pthread_mutex_unlock(&lock);
	close(ends[0]);
	close(ends[1]);
}

UNIT_TEST(what_is_ready_needs_no_wait)
{
	pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	ww_cancel *cancel = make();
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], "x", 1), 1);
	ww_cancel_set(cancel);
	{
		WW_AUTO_CANCEL struct ww_cancel_scope scope = ww_cancel_enter(cancel);

		assert_ok(wait_on_descriptor(ends[0], NULL));
		assert_ok(ww_lock_unless_cancelled(&lock));
		pthread_mutex_unlock(&lock);
		assert_int_equal(ww_fd_wait(ends[0], POLLPRI, 0, "a pipe"), WW_TIMED_OUT);
	}
	close(ends[0]);
	close(ends[1]);
	ww_cancel_unref(cancel);
}

UNIT_TEST(nowait_stays_set)
{
	ww_cancel *nowait = ww_cancel_nowait();

	assert_ptr_equal(ww_cancel_nowait(), nowait);
	assert_int_equal(ww_cancel_is_set(nowait), 1);
	ww_cancel_clear(nowait);
	assert_int_equal(ww_cancel_is_set(nowait), 1);
	assert_ptr_equal(ww_cancel_ref(nowait), nowait);
	assert_null(ww_cancel_unref(nowait));
	assert_null(ww_cancel_unref(nowait));
	assert_int_equal(ww_cancel_is_set(nowait), 1);
}

UNIT_TEST(nowait_is_of_the_calls_inside_too)
{
	ww_cancel *other = make();

	assert_false(ww_cancel_is_nowait());
	{
		WW_AUTO_CANCEL struct ww_cancel_scope outer = ww_cancel_enter(ww_cancel_nowait());

		{
			WW_AUTO_CANCEL struct ww_cancel_scope inner = ww_cancel_enter(NULL);

			assert_true(ww_cancel_is_nowait());
		}
		{
			WW_AUTO_CANCEL struct ww_cancel_scope inner = ww_cancel_enter(other);

			assert_false(ww_cancel_is_nowait());
		}
		assert_true(ww_cancel_is_nowait());
	}
	assert_false(ww_cancel_is_nowait());
	ww_cancel_unref(other);
}

UNIT_TEST(nowait_never_sleeps)
{
	WW_AUTO_CANCEL struct ww_cancel_scope scope = ww_cancel_enter(ww_cancel_nowait());
	pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	assert_int_equal(wait_on_word(0, NULL), WW_CANCELLED);
	assert_int_equal(wait_on_descriptor(ends[0], NULL), WW_CANCELLED);
	assert_ok(wait_on_lock(0, &lock));
	assert_int_equal(wait_on_lock(0, &lock), WW_CANCELLED);
	pthread_mutex_unlock(&lock);
	assert_true(ww_cancel_sleep_end_ns(WW_NEVER) == 0);
	close(ends[0]);
	close(ends[1]);
}

static void on_signal(int number)
{
	(void)number;
	ww_cancel_set(to_set);
}

UNIT_TEST(signal_handler_may_set_it)
{
	const struct sigaction action = {.sa_handler = on_signal};
	struct sleeper sleeper = {.wait = wait_on_word};

	to_set = make();
	assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
	assert_int_equal(raise(SIGUSR1), 0);
	sleep_until_set(&sleeper);
	assert_int_equal(sleeper.status, WW_CANCELLED);
	ww_cancel_unref(to_set);
}

UNIT_MAIN("cancel")
