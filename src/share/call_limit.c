/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call_limit.c - the limit on time of a call that makes several requests, see call_limit.h
 */
#include "share/call_limit.h"

#include "base/clock.h"
#include "client/request.h"

void ww_call_limit_begin(struct ww_call_limit *limit, uint64_t timeout_ns)
{
	limit->former_ns = ww_request_limit();
	limit->deadline_ns = timeout_ns ? ww_clock_deadline_ns(timeout_ns) : WW_NEVER;
	ww_error_save(&limit->record);
	ww_request_limit_all(limit->deadline_ns);
}

ww_status ww_call_limit_end(const struct ww_call_limit *limit, ww_status status)
{
	ww_request_restore_limit(&limit->former_ns);
	if (status != WW_ERR_NO_BROKER || limit->deadline_ns == WW_NEVER ||
		ww_clock_now_ns() < limit->deadline_ns)
		return status;
	ww_error_restore(&limit->record);
	return WW_TIMED_OUT;
}
