/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch.c - the descriptor of a service for event loops, see watch.h
 *
 * The thread blocks all signals. It calls nothing that waits for another process: it looks at
 * shared memory, sleeps on the bell, unmaps what clients had that have ended, and writes an
 * eventfd, which holds at most 1.
 */
#include "service/watch.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>

#include "base/clock.h"
#include "base/condition.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/process.h"
#include "service/after.h"
#include "service/depends.h"
#include "service/device_fault.h"
#include "service/late.h"
#include "service/peers.h"

struct ww_service_watch {
	pthread_t thread;
	int fd;                 /* an eventfd, owned */
	pthread_cond_t changed; /* what follows, or service->serving; under the service's lock */
	bool is_ending;
	bool is_looking;
	bool is_readable;
};

/* --- the thread --- */

static enum ww_await_look look_for_reason(void *context)
{
	struct ww_service *service = context;

	return service->serving > 0 ? WW_AWAIT_DONE : ww_service_look(service);
}

/* Return: whether there is something to serve, or a thread serves. Not locked. */
static bool watch_look(struct ww_service *service)
{
	uint64_t now_ns = ww_clock_now_ns();

	ww_service_peers_forget_now_and_then(service, now_ns);
	ww_service_after_look_at_all(service, now_ns);
	ww_depends_look_at_all(service, now_ns);
	ww_late_look_at_all(service, now_ns);
	ww_service_device_look(service, now_ns);
	if (ww_service_await_call(&service->bell, &service->page, look_for_reason, service,
		    ww_service_sleep_until_ns(service, now_ns)) == WW_OK)
		return true;
	ww_service_sleep_longer(service);
	return false;
}

static void *watch_run(void *context)
{
	struct ww_service *service = context;
	struct ww_service_watch *watch = service->watch;

	pthread_mutex_lock(&service->lock);
	while (!watch->is_ending) {
		bool is_ready;

		if (service->serving > 0 || watch->is_readable) {
			ww_condition_wait(&watch->changed, &service->lock, WW_NEVER);
			continue;
		}
		watch->is_looking = true;
		pthread_mutex_unlock(&service->lock);
		is_ready = watch_look(service);
		pthread_mutex_lock(&service->lock);
		watch->is_looking = false;
		pthread_cond_broadcast(&watch->changed);
		if (is_ready && service->serving == 0 && !watch->is_ending) {
			watch->is_readable = true;
			(void)eventfd_write(watch->fd, 1);
		}
	}
	pthread_mutex_unlock(&service->lock);
	return NULL;
}

/* Signals are the program's business: its own threads get them. */
static int thread_start(struct ww_service *service)
{
	sigset_t all;
	sigset_t before;
	int error;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&service->watch->thread, NULL, watch_run, service);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (error == 0)
		(void)pthread_setname_np(service->watch->thread, "ww-service");
	return error;
}

/* --- life --- */

static struct ww_service_watch *watch_free(struct ww_service_watch *watch)
{
	ww_fd_close(watch->fd);
	pthread_cond_destroy(&watch->changed);
	free(watch);
	return NULL;
}

/* Locked. */
static ww_status watch_start(struct ww_service *service)
{
	struct ww_service_watch *watch = calloc(1, sizeof(*watch));
	ww_status status;
	int error;

	if (!watch)
		return ww_fail(WW_ERR_NO_MEMORY,
			"cannot make a descriptor of a service: out of memory");
	ww_condition_init(&watch->changed);
	watch->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	status = watch->fd < 0 ? ww_fail_errno(errno, NULL, "cannot make an eventfd")
			       : ww_fd_adopt(&watch->fd);
	if (status < 0) {
		watch_free(watch);
		return status;
	}
	service->watch = watch;
	error = thread_start(service);
	if (error == 0)
		return WW_OK;
	service->watch = watch_free(watch);
	return ww_fail_errno(error, "raise the limit of processes (ulimit -u)",
		"cannot start the thread that makes the descriptor of a service readable");
}

void ww_service_watch_fini(struct ww_service *service)
{
	struct ww_service_watch *watch = service->watch;

	if (!watch)
		return;
	pthread_mutex_lock(&service->lock);
	watch->is_ending = true;
	service->serving++; /* the look ends */
	pthread_cond_broadcast(&watch->changed);
	pthread_mutex_unlock(&service->lock);
	ww_await_wake(&service->bell.header->wakes);
	pthread_join(watch->thread, NULL);
	(void)eventfd_write(watch->fd, 1);
	service->watch = watch_free(watch);
}

/* --- around serving --- */

void ww_service_watch_pause(struct ww_service *service)
{
	struct ww_service_watch *watch;

	pthread_mutex_lock(&service->lock);
	service->serving++;
	watch = service->watch;
	if (watch && watch->is_looking)
		ww_await_wake(&service->bell.header->wakes);
	while (watch && watch->is_looking)
		pthread_cond_wait(&watch->changed, &service->lock);
	pthread_mutex_unlock(&service->lock);
}

void ww_service_watch_resume(struct ww_service *service)
{
	struct ww_service_watch *watch;
	eventfd_t count;

	pthread_mutex_lock(&service->lock);
	watch = service->watch;
	if (--service->serving == 0 && watch) {
		if (watch->is_readable)
			(void)eventfd_read(watch->fd, &count);
		watch->is_readable = false;
		pthread_cond_broadcast(&watch->changed);
	}
	pthread_mutex_unlock(&service->lock);
}

ww_status ww_service_eventfd(ww_service *service, int *out_fd)
{
	ww_status status = WW_OK;

	ww_clear(out_fd, -1);
	ww_try(ww_process_enter());
	ww_require(service && out_fd, "ww_service_eventfd: service or out_fd is NULL");
	ww_try(ww_ref_check(&service->ref, "a service"));
	pthread_mutex_lock(&service->lock);
	if (!service->watch)
		status = watch_start(service);
	pthread_mutex_unlock(&service->lock);
	return status == WW_OK ? ww_fd_duplicate(service->watch->fd, out_fd) : status;
}
