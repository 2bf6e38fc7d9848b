/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peer_process.c - whether the process of the other side lives, see peer_process.h
 */
#include "group/peer_process.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"

#define KEEPS_PIDFDS 6 /* version of the protocol from which on a broker does */

ww_status ww_peer_process_get(const struct ww_get_reply *grant, size_t at,
	struct ww_peer_process **out_process)
{
	struct ww_peer_process *process;
	ww_status status;

	*out_process = NULL;
	if (grant->request.fds_come_count <= at)
		return WW_OK;
	process = calloc(1, sizeof(*process));
	if (!process)
		return ww_fail(WW_ERR_NO_MEMORY, "cannot note a process: out of memory");
	status = ww_fd_duplicate(grant->request.fds_come[at], &process->fd);
	if (status < 0) {
		free(process);
		return status;
	}
	ww_ref_init(&process->ref);
	*out_process = process;
	return WW_OK;
}

struct ww_peer_process *ww_peer_process_ref(struct ww_peer_process *process)
{
	if (process)
		ww_ref_get(&process->ref);
	return process;
}

struct ww_peer_process *ww_peer_process_unref(struct ww_peer_process *process)
{
	if (process && ww_ref_put(&process->ref)) {
		ww_fd_close(process->fd);
		free(process);
	}
	return NULL;
}

bool ww_peer_process_ask(struct ww_peer_process *process)
{
	struct pollfd look;

	if (!process || ww_peer_process_has_ended(process))
		return process != NULL;
	look = (struct pollfd){.fd = process->fd, .events = POLLIN};
	if (poll(&look, 1, 0) <= 0)
		return false;
	atomic_store_explicit(&process->has_ended, true, memory_order_release);
	return true;
}

bool ww_peer_process_look(struct ww_peer_process *process)
{
	uint64_t now_ns;

	if (!process || ww_peer_process_has_ended(process))
		return process != NULL;
	now_ns = ww_clock_now_ns();
	if (now_ns < atomic_load_explicit(&process->look_ns, memory_order_relaxed))
		return false;
	atomic_store_explicit(&process->look_ns, now_ns + WW_PEER_LOOK_NS, memory_order_relaxed);
	return ww_peer_process_ask(process);
}

/* -1: the kernel has none, or none is to be had; the broker's word is enough then. */
static int open_own(void)
{
	int fd = (int)syscall(SYS_pidfd_open, getpid(), 0);
	struct ww_error record;

	ww_error_save(&record);
	if (fd >= 0 && ww_fd_adopt(&fd) < 0)
		ww_error_restore(&record);
	return fd;
}

static void take_out(struct ww_put_request *request)
{
	request->fd_count--;
	request->put.fd_access[request->fd_count] = 0;
	request->fds[request->fd_count] = ww_fd_close(request->fds[request->fd_count]);
}

ww_status ww_peer_process_put(struct ww_put_request *request, struct ww_attachments *thing,
	struct ww_broker *broker, uint8_t whom)
{
	int fd = ww_broker_client_version(broker) >= KEEPS_PIDFDS ? open_own() : -1;
	struct ww_error record;
	ww_status status;

	if (fd < 0)
		return ww_put_request_put(request, thing, broker, 0);
	request->fds[request->fd_count] = fd;
	request->put.fd_access[request->fd_count++] = whom;
	ww_error_save(&record);
	status = ww_put_request_put(request, thing, broker, 0);
	if (status != WW_ERR_DESCRIPTOR) {
		take_out(request);
		return status;
	}
	/* A broker that cannot tell what a pidfd is, for lack of /proc. */
	ww_error_restore(&record);
	take_out(request);
	return ww_put_request_put(request, thing, broker, 0);
}
