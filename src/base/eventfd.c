/* SPDX-License-Identifier: Apache-2.0 */
/*
 * eventfd.c - the thread that makes descriptors for event loops readable, see eventfd.h
 *
 * The thread lives as long as there are eventfds. It calls nothing that waits for another process:
 * it looks at shared memory, sleeps on futexes, and writes eventfds, which hold at most 1. So the
 * last eventfd can wait for its end.
 *
 * A child made by fork() has neither the thread nor an eventfd of its own.
 */
#include "base/eventfd.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/list.h"
#include "base/process.h"
#include "base/thread.h"

#define LOOK_NS UINT64_C(50000000) /* at what ends without a wake */

enum state {
	PARKED, /* not readable, and no thread waits */
	ARMED,  /* not readable; the thread waits */
	READABLE
};

struct ww_eventfd {
	const struct ww_eventfd_class *class;
	void *context;
	struct ww_list link; /* while armed; under the lock, as is state */
	enum state state;
	int fd; /* owned */
};

struct eventfds {
	pthread_t thread;
	uint32_t changes; /* a futex: counts what the thread is to see */
	bool is_ending;   /* under the lock, as is the next */
	uint32_t users;
};

static pthread_mutex_t eventfds_lock WW_PER_PROCESS = PTHREAD_MUTEX_INITIALIZER;
static struct ww_list armed WW_PER_PROCESS = WW_LIST_INIT(armed);
static struct eventfds *current WW_PER_PROCESS; /* NULL: no thread */

/* --- states; under the lock --- */

/* It may be readable already. */
static void set_readable(struct ww_eventfd *eventfd)
{
	if (eventfd->state != READABLE)
		(void)eventfd_write(eventfd->fd, 1);
	eventfd->state = READABLE;
}

static void park(struct ww_eventfd *eventfd)
{
	eventfd_t count;

	if (eventfd->state == READABLE)
		(void)eventfd_read(eventfd->fd, &count);
	eventfd->state = PARKED;
}

static void withdraw(struct ww_eventfd *eventfd)
{
	if (eventfd->class->withdraw)
		eventfd->class->withdraw(eventfd->context);
}

static void disarm(struct ww_eventfd *eventfd)
{
	if (eventfd->state != ARMED)
		return;
	ww_list_remove(&eventfd->link);
	withdraw(eventfd);
	eventfd->state = PARKED;
}

/* --- the thread --- */

/* Return: false: it is to end. */
static bool eventfds_look(struct eventfds *eventfds, struct ww_await_sleep *sleep)
{
	uint64_t now_ns = ww_clock_now_ns();
	struct ww_list *next;
	bool goes_on;

	sleep->words[0] = (struct ww_await_word){&eventfds->changes,
		__atomic_load_n(&eventfds->changes, __ATOMIC_ACQUIRE)};
	sleep->count = 1;
	sleep->until_ns = WW_NEVER;
	pthread_mutex_lock(&eventfds_lock);
	goes_on = !eventfds->is_ending;
	for (struct ww_list *link = armed.next; goes_on && link != &armed; link = next) {
		struct ww_eventfd *eventfd = ww_container(link, struct ww_eventfd, link);

		next = link->next;
		if (eventfd->class->look(eventfd->context, now_ns, sleep)) {
			disarm(eventfd);
			set_readable(eventfd);
		}
	}
	pthread_mutex_unlock(&eventfds_lock);
	return goes_on;
}

static void *eventfds_run(void *context)
{
	struct eventfds *eventfds = context;
	struct ww_await_sleep sleep;

	while (eventfds_look(eventfds, &sleep)) {
		if (sleep.count > 1)
			ww_await_sleep_until(&sleep, ww_clock_deadline_ns(LOOK_NS));
		ww_await_any(sleep.words, sleep.count, sleep.until_ns);
	}
	return NULL;
}

/* Under the lock. */
static ww_status eventfds_start(void)
{
	struct eventfds *eventfds = calloc(1, sizeof(*eventfds));
	int error;

	if (!eventfds)
		return ww_fail(WW_ERR_NO_MEMORY,
			"cannot make a descriptor for event loops: out of memory");
	error = ww_thread_start(&eventfds->thread, "ww-channels", eventfds_run, eventfds);
	if (error) {
		free(eventfds);
		return ww_fail_errno(error, "raise the limit of processes (ulimit -u)",
			"cannot start the thread that makes descriptors for event loops readable");
	}
	current = eventfds;
	return WW_OK;
}

ww_status ww_eventfd_thread_keep(void)
{
	ww_status status = WW_OK;

	pthread_mutex_lock(&eventfds_lock);
	if (!current)
		status = eventfds_start();
	if (status == WW_OK)
		current->users++;
	pthread_mutex_unlock(&eventfds_lock);
	return status;
}

void ww_eventfd_thread_leave(void)
{
	struct eventfds *ending = NULL;

	pthread_mutex_lock(&eventfds_lock);
	if (--current->users == 0) {
		ending = ww_steal(current);
		ending->is_ending = true;
	}
	pthread_mutex_unlock(&eventfds_lock);
	if (!ending)
		return;
	ww_await_wake(&ending->changes);
	pthread_join(ending->thread, NULL);
	free(ending);
}

/* --- eventfds --- */

ww_status ww_eventfd_open(int *out_fd)
{
	*out_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (*out_fd < 0)
		return ww_fail_errno(errno, NULL, "cannot make an eventfd");
	return ww_fd_adopt(out_fd);
}

ww_status ww_eventfd_create(const struct ww_eventfd_class *class, void *context,
	struct ww_eventfd **out_eventfd)
{
	struct ww_eventfd *made = calloc(1, sizeof(*made));
	ww_status status;

	if (!made)
		return ww_fail(WW_ERR_NO_MEMORY,
			"cannot make a descriptor for event loops: out of memory");
	made->class = class;
	made->context = context;
	status = ww_eventfd_open(&made->fd);
	if (status == WW_OK)
		status = ww_eventfd_thread_keep();
	if (status == WW_OK) {
		*out_eventfd = made;
		return WW_OK;
	}
	ww_fd_close(made->fd);
	free(made);
	return status;
}

struct ww_eventfd *ww_eventfd_free(struct ww_eventfd *eventfd)
{
	if (!eventfd)
		return NULL;
	pthread_mutex_lock(&eventfds_lock);
	disarm(eventfd);
	set_readable(eventfd);
	pthread_mutex_unlock(&eventfds_lock);
	ww_eventfd_thread_leave();
	ww_fd_close(eventfd->fd);
	free(eventfd);
	return NULL;
}

ww_status ww_eventfd_duplicate(const struct ww_eventfd *eventfd, int *out_fd)
{
	return ww_fd_duplicate(eventfd->fd, out_fd);
}

void ww_eventfd_disarm(struct ww_eventfd *eventfd)
{
	pthread_mutex_lock(&eventfds_lock);
	disarm(eventfd);
	pthread_mutex_unlock(&eventfds_lock);
}

void ww_eventfd_say(struct ww_eventfd *eventfd, bool is_ready)
{
	pthread_mutex_lock(&eventfds_lock);
	if (is_ready)
		set_readable(eventfd);
	else
		park(eventfd);
	pthread_mutex_unlock(&eventfds_lock);
}

/* Return: false: it is ready, and not armed. */
static bool arm(struct ww_eventfd *eventfd)
{
	struct ww_await_sleep unused = {.count = 0};
	bool is_now;

	pthread_mutex_lock(&eventfds_lock);
	park(eventfd);
	if (eventfd->class->announce)
		eventfd->class->announce(eventfd->context);
	is_now = eventfd->class->look(eventfd->context, ww_clock_now_ns(), &unused);
	if (is_now) {
		withdraw(eventfd);
		set_readable(eventfd);
	} else {
		eventfd->state = ARMED;
		ww_list_append(&armed, &eventfd->link);
	}
	pthread_mutex_unlock(&eventfds_lock);
	return !is_now;
}

void ww_eventfd_arm(struct ww_eventfd *eventfd)
{
	if (arm(eventfd))
		ww_await_wake(&current->changes);
}
