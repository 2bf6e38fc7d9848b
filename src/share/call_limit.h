/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call_limit.h - the limit on time of a call that makes several requests
 */
#ifndef WW_SHARE_CALL_LIMIT_H
#define WW_SHARE_CALL_LIMIT_H

#include "base/error.h"

/*
 * A call of several requests that has a limit on time of its own: every one of them, connecting
 * too, is within it.
 */
struct ww_call_limit {
	uint64_t former_ns;
	uint64_t deadline_ns;
	struct ww_error record;
};

/* @timeout_ns: 0: only the broker's own limit counts, for each answer */
void ww_call_limit_begin(struct ww_call_limit *limit, uint64_t timeout_ns);

/*
 * Of the same thread. Return: @status; WW_TIMED_OUT where that is WW_ERR_NO_BROKER for lack of
 * time.
 */
ww_status ww_call_limit_end(const struct ww_call_limit *limit, ww_status status);

#endif
