/* SPDX-License-Identifier: Apache-2.0 */
/*
 * late.h - queued calls whose deadline passes while a call before them in their lane goes on
 *
 * The first call of a lane is judged when the lane is free (serve.c), or while it waits (after.h,
 * depends.h). The calls behind it are not: their deadlines are looked at here. One that is late
 * ends at once, and is taken out of its lane.
 *
 *   lane:   1 runs ──> 2 waits ──> 3 is late ──> 4         the reply of 3 is sent now
 *   values: 1          2                         4         3 is reached together with 2
 *
 * So the values of the lane's timeline are reached in their order: the call that is before the late
 * one in the lane raises the timeline to the late one's value. If it cannot, because a stream
 * has been told already to raise the timeline for it, the late call ends after it, as usual.
 */
#ifndef WW_SERVICE_LATE_H
#define WW_SERVICE_LATE_H

#include "service/client_view.h"

#define WW_LATE_WHY_BYTES 160

/* A call is taken. By the leader. */
static inline void ww_late_note(struct ww_service *service, struct ww_client_view *view,
	uint64_t deadline_ns)
{
	if (deadline_ns < view->late_look_ns)
		view->late_look_ns = deadline_ns;
	if (deadline_ns < service->late_look_ns)
		service->late_look_ns = deadline_ns;
}

/* When to look again; WW_NEVER: no call has a deadline. */
static inline uint64_t ww_late_look_ns(const struct ww_service *service)
{
	return service->late_look_ns > service->late_pause_ns ? service->late_look_ns
							      : service->late_pause_ns;
}

/*
 * How a queued call ends that is not started any more, whatever it waits for. If several reasons
 * are there, the first one of this list counts. Locked, or the call was begun (batch.h).
 * Return: WW_OK (it may be started); WW_ERR_UNAVAILABLE (it came after drain); WW_CANCELLED; if its
 *         deadline has passed: WW_ERR_DEPENDENCY_FAILED; WW_TIMED_OUT (without a message).
 */
ww_status ww_late_judge(const struct ww_client_view *view, uint32_t slot,
	char out_message[WW_ERROR_MESSAGE_BYTES], uint64_t *out_failed_call);

/*
 * Why a late call was not started, as its client is told. @why: borrowed; what it waited for, and
 * what to do; NULL: for a thread of the server
 */
void ww_late_describe(const struct ww_service *service, const struct ww_taken_call *taken,
	const char *why, char out_message[WW_ERROR_MESSAGE_BYTES]);

/* Ends those that are late, if it is time to look. By the leader, not locked. */
void ww_late_look_at_all(struct ww_service *service, uint64_t now_ns);

#endif
