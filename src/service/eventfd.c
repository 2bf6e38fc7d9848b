/* SPDX-License-Identifier: Apache-2.0 */
/*
 * eventfd.c - the descriptor of a service for event loops, see eventfd.h
 *
 * The thread calls nothing that waits for another process: it looks at
 * shared memory, sleeps on the bell, unmaps what clients had that have ended, and writes an
 * eventfd, which holds at most 1.
 */
#include "service/eventfd.h"

#include <stdlib.h>
#include <sys/eventfd.h>

#include "base/clock.h"
#include "base/condition.h"
#include "base/error.h"
#include "base/eventfd.h"
#include "base/fd.h"
#include "base/process.h"
#include "base/thread.h"
#include "service/after.h"
#include "service/depends.h"
#include "service/device_fault.h"
#include "service/late.h"
#include "service/client_view.h"

struct ww_service_eventfd {
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

static void *eventfd_run(void *context)
{
	struct ww_service *service = context;
	struct ww_service_eventfd *eventfd = service->eventfd;

	pthread_mutex_lock(&service->lock);
	while (!eventfd->is_ending) {
		bool is_ready;
		uint64_t now_ns;

		if (service->serving > 0 || eventfd->is_readable) {
			ww_condition_wait(&eventfd->changed, &service->lock, WW_NEVER);
			continue;
		}
		eventfd->is_looking = true;
		pthread_mutex_unlock(&service->lock);
		now_ns = ww_clock_now_ns();
		ww_client_views_forget_now_and_then(service, now_ns);
		ww_service_after_look_at_all(service, now_ns);
		ww_depends_look_at_all(service, now_ns);
		ww_late_look_at_all(service, now_ns);
		ww_service_device_look(service, now_ns);
		if (ww_service_await_call(&service->bell, &service->page, look_for_reason, service,
			    ww_service_sleep_until_ns(service, now_ns)) == WW_OK) {
			is_ready = true;
		} else {
			ww_service_sleep_longer(service);
			is_ready = false;
		}
		pthread_mutex_lock(&service->lock);
		eventfd->is_looking = false;
		pthread_cond_broadcast(&eventfd->changed);
		if (is_ready && service->serving == 0 && !eventfd->is_ending) {
			eventfd->is_readable = true;
			(void)eventfd_write(eventfd->fd, 1);
		}
	}
	pthread_mutex_unlock(&service->lock);
	return NULL;
}

/* --- life --- */

static struct ww_service_eventfd *eventfd_free(struct ww_service_eventfd *eventfd)
{
	ww_fd_close(eventfd->fd);
	pthread_cond_destroy(&eventfd->changed);
	free(eventfd);
	return NULL;
}

/* Locked. */
static ww_status eventfd_start(struct ww_service *service)
{
	struct ww_service_eventfd *made = calloc(1, sizeof(*made));
	ww_status status;
	int error;

	if (!made)
		return ww_fail(WW_ERR_NO_MEMORY,
			"cannot make a descriptor of a service: out of memory");
	ww_condition_init(&made->changed);
	status = ww_eventfd_open(&made->fd);
	if (status < 0) {
		eventfd_free(made);
		return status;
	}
	service->eventfd = made;
	error = ww_thread_start(&made->thread, "ww-service", eventfd_run, service);
	if (error == 0)
		return WW_OK;
	service->eventfd = eventfd_free(made);
	return ww_fail_errno(error, "raise the limit of processes (ulimit -u)",
		"cannot start the thread that makes the descriptor of a service readable");
}

void ww_service_eventfd_fini(struct ww_service *service)
{
	struct ww_service_eventfd *eventfd = service->eventfd;

	if (!eventfd)
		return;
	pthread_mutex_lock(&service->lock);
	eventfd->is_ending = true;
	service->serving++; /* the look ends */
	pthread_cond_broadcast(&eventfd->changed);
	pthread_mutex_unlock(&service->lock);
	ww_await_wake(&service->bell.header->wakes);
	pthread_join(eventfd->thread, NULL);
	(void)eventfd_write(eventfd->fd, 1);
	service->eventfd = eventfd_free(eventfd);
}

/* --- around serving --- */

void ww_service_eventfd_pause(struct ww_service *service)
{
	struct ww_service_eventfd *eventfd;

	pthread_mutex_lock(&service->lock);
	service->serving++;
	eventfd = service->eventfd;
	if (eventfd && eventfd->is_looking)
		ww_await_wake(&service->bell.header->wakes);
	while (eventfd && eventfd->is_looking)
		pthread_cond_wait(&eventfd->changed, &service->lock);
	pthread_mutex_unlock(&service->lock);
}

void ww_service_eventfd_resume(struct ww_service *service)
{
	struct ww_service_eventfd *eventfd;
	eventfd_t count;

	pthread_mutex_lock(&service->lock);
	eventfd = service->eventfd;
	if (--service->serving == 0 && eventfd) {
		if (eventfd->is_readable)
			(void)eventfd_read(eventfd->fd, &count);
		eventfd->is_readable = false;
		pthread_cond_broadcast(&eventfd->changed);
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
	if (!service->eventfd)
		status = eventfd_start(service);
	pthread_mutex_unlock(&service->lock);
	return status == WW_OK ? ww_fd_duplicate(service->eventfd->fd, out_fd) : status;
}
