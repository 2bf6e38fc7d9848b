/* SPDX-License-Identifier: Apache-2.0 */
/*
 * request.c - one request of one thread, see request.h
 */
#include "client/request.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/condition.h"
#include "base/error.h"
#include "base/fd.h"

static _Thread_local uint64_t thread_limit_ns = WW_NEVER;

void ww_request_limit_all(uint64_t deadline_ns)
{
	if (deadline_ns < thread_limit_ns)
		thread_limit_ns = deadline_ns;
}

uint64_t ww_request_limit(void)
{
	return thread_limit_ns;
}

void ww_request_restore_limit(const uint64_t *former_ns)
{
	thread_limit_ns = *former_ns;
}

/* own_answer need not be cleared: it is read only as far as it was written. */
void ww_request_init(struct ww_request *request, uint16_t code, uint16_t reply, const void *message)
{
	memset(request, 0, offsetof(struct ww_request, own_answer));
	request->code = code;
	request->reply = reply;
	request->message = message;
	request->answer = request->own_answer;
	request->room = sizeof(request->own_answer);
	request->limit_ns = WW_NEVER;
	ww_list_init(&request->link);
	ww_condition_init(&request->changed);
}

void ww_request_fini(struct ww_request *request)
{
	while (request->fds_come_count > 0)
		ww_fd_close(request->fds_come[--request->fds_come_count]);
	pthread_cond_destroy(&request->changed);
	free(request->spare);
}

ww_status ww_request_expect_hold(struct ww_request *request)
{
	request->spare = ww_hold_new();
	return request->spare ? WW_OK : WW_ERR_NO_MEMORY;
}

ww_status ww_request_fail_answer(const struct ww_request *request)
{
	return ww_fail(WW_ERR_PROTOCOL, "the broker's answer to %s cannot be read",
		ww_wire_name(request->code));
}
