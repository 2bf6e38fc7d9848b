/* SPDX-License-Identifier: Apache-2.0 */
/*
 * notifier.c - the thread that makes descriptors for event loops readable, see notifier.h
 *
 * The thread lives as long as there are notices, and blocks all signals. It calls nothing that
 * waits for another process: it looks at shared memory, sleeps on futexes, and writes eventfds,
 * which hold at most 1. So the last notice can wait for its end.
 *
 * A child made by fork() has neither the thread nor a notice of its own.
 */
#include "base/notifier.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/process.h"

#define LOOK_NS UINT64_C(50000000) /* at what ends without a wake */

struct notifier {
	pthread_t thread;
	uint32_t changes; /* a futex: counts what the thread is to see */
	bool is_ending;   /* under the lock, as is the next */
	uint32_t users;
};

static pthread_mutex_t notices_lock WW_PER_PROCESS = PTHREAD_MUTEX_INITIALIZER;
static struct ww_list armed WW_PER_PROCESS = WW_LIST_INIT(armed);
static struct notifier *current WW_PER_PROCESS; /* NULL: no thread */

/* --- states; under the lock --- */

/* It may be readable already. */
static void notice_set_readable(struct ww_notice *notice)
{
	if (notice->state != WW_NOTICE_READABLE)
		(void)eventfd_write(notice->fd, 1);
	notice->state = WW_NOTICE_READABLE;
}

static void notice_set_unreadable(struct ww_notice *notice, enum ww_notice_state state)
{
	eventfd_t count;

	if (notice->state == WW_NOTICE_READABLE)
		(void)eventfd_read(notice->fd, &count);
	notice->state = state;
}

static void notice_disarm(struct ww_notice *notice)
{
	if (notice->state != WW_NOTICE_ARMED)
		return;
	ww_list_remove(&notice->link);
	notice->class->withdraw(notice);
	notice->state = WW_NOTICE_PARKED;
}

/* --- the thread --- */

/* Return: false: it is to end. */
static bool notifier_look(struct notifier *notifier, struct ww_await_sleep *sleep)
{
	uint64_t now_ns = ww_clock_now_ns();
	struct ww_list *next;
	bool goes_on;

	sleep->words[0] = (struct ww_await_word){&notifier->changes,
		__atomic_load_n(&notifier->changes, __ATOMIC_ACQUIRE)};
	sleep->count = 1;
	sleep->until_ns = WW_NEVER;
	pthread_mutex_lock(&notices_lock);
	goes_on = !notifier->is_ending;
	for (struct ww_list *link = armed.next; goes_on && link != &armed; link = next) {
		struct ww_notice *notice = ww_container(link, struct ww_notice, link);

		next = link->next;
		if (notice->class->look(notice, now_ns, sleep)) {
			notice_disarm(notice);
			notice_set_readable(notice);
		}
	}
	pthread_mutex_unlock(&notices_lock);
	return goes_on;
}

static void *notifier_run(void *context)
{
	struct notifier *notifier = context;
	struct ww_await_sleep sleep;

	while (notifier_look(notifier, &sleep)) {
		if (sleep.count > 1)
			ww_await_sleep_until(&sleep, ww_clock_deadline_ns(LOOK_NS));
		ww_await_any(sleep.words, sleep.count, sleep.until_ns);
	}
	return NULL;
}

/* Signals are the program's business: its own threads get them. */
static int thread_start(struct notifier *notifier)
{
	sigset_t all;
	sigset_t before;
	int error;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&notifier->thread, NULL, notifier_run, notifier);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (error == 0)
		(void)pthread_setname_np(notifier->thread, "ww-channels");
	return error;
}

/* Under the lock. */
static ww_status notifier_start(void)
{
	struct notifier *notifier = calloc(1, sizeof(*notifier));
	int error;

	if (!notifier)
		return ww_fail(WW_ERR_NO_MEMORY,
			"cannot make a descriptor for event loops: out of memory");
	error = thread_start(notifier);
	if (error) {
		free(notifier);
		return ww_fail_errno(error, "raise the limit of processes (ulimit -u)",
			"cannot start the thread that makes descriptors for event loops readable");
	}
	current = notifier;
	return WW_OK;
}

static ww_status notifier_join(void)
{
	ww_status status = WW_OK;

	pthread_mutex_lock(&notices_lock);
	if (!current)
		status = notifier_start();
	if (status == WW_OK)
		current->users++;
	pthread_mutex_unlock(&notices_lock);
	return status;
}

static void notifier_leave(void)
{
	struct notifier *ending = NULL;

	pthread_mutex_lock(&notices_lock);
	if (--current->users == 0) {
		ending = ww_steal(current);
		ending->is_ending = true;
	}
	pthread_mutex_unlock(&notices_lock);
	if (!ending)
		return;
	ww_await_wake(&ending->changes);
	pthread_join(ending->thread, NULL);
	free(ending);
}

/* --- notices --- */

ww_status ww_notice_init(struct ww_notice *notice, const struct ww_notice_class *class)
{
	ww_status status;

	*notice = (struct ww_notice){.class = class};
	notice->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (notice->fd < 0)
		return ww_fail_errno(errno, NULL, "cannot make an eventfd");
	status = ww_fd_adopt(&notice->fd);
	if (status == WW_OK)
		status = notifier_join();
	if (status < 0)
		ww_fd_close(notice->fd);
	return status;
}

void ww_notice_fini(struct ww_notice *notice)
{
	pthread_mutex_lock(&notices_lock);
	notice_disarm(notice);
	notice_set_readable(notice);
	pthread_mutex_unlock(&notices_lock);
	notifier_leave();
	ww_fd_close(notice->fd);
}

void ww_notice_pause(struct ww_notice *notice)
{
	pthread_mutex_lock(&notices_lock);
	notice_disarm(notice);
	pthread_mutex_unlock(&notices_lock);
}

void ww_notice_say(struct ww_notice *notice, bool is_ready)
{
	pthread_mutex_lock(&notices_lock);
	if (is_ready)
		notice_set_readable(notice);
	else
		notice_set_unreadable(notice, WW_NOTICE_PARKED);
	pthread_mutex_unlock(&notices_lock);
}

/* Return: false: it is ready, and not armed. */
static bool notice_arm(struct ww_notice *notice)
{
	struct ww_await_sleep unused = {.count = 0};
	bool is_now;

	pthread_mutex_lock(&notices_lock);
	notice_set_unreadable(notice, WW_NOTICE_PARKED);
	notice->class->announce(notice);
	is_now = notice->class->look(notice, ww_clock_now_ns(), &unused);
	if (is_now) {
		notice->class->withdraw(notice);
		notice_set_readable(notice);
	} else {
		notice->state = WW_NOTICE_ARMED;
		ww_list_append(&armed, &notice->link);
	}
	pthread_mutex_unlock(&notices_lock);
	return !is_now;
}

void ww_notice_arm(struct ww_notice *notice)
{
	if (notice_arm(notice))
		ww_await_wake(&current->changes);
}
