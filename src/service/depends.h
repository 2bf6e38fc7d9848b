/* SPDX-License-Identifier: Apache-2.0 */
/*
 * depends.h - calls that depend on earlier calls of the same client, as the server sees them
 *
 * A call waits in its lane until all calls that it depends on have ended. If one of them has
 * failed, the call ends without being run.
 *
 *   the other call ends, before ──> its outcome is in the table, or in its lane ──> found when the
 *                                                                                   call is taken
 *   the other call ends, later ───> the calls that were taken are told; all lanes that wait are
 *                                   judged again
 *
 * A call that waits for another one can be cancelled, and has its own deadline. The leader looks at
 * both from time to time.
 */
#ifndef WW_SERVICE_DEPENDS_H
#define WW_SERVICE_DEPENDS_H

#include "service/client_view.h"

/* Whether a client may make a call depend on @on, as the call was taken. Locked. */
bool ww_depends_is_possible(const struct ww_taken_call *taken, uint64_t on);

/* Whether a call on which this one depends has not ended. Locked. */
bool ww_depends_is_pending(const struct ww_client_view *view, const struct ww_taken_call *taken);

/*
 * A call is taken: notes which call is before it in its lane, and the first one that has failed of
 * the calls that it depends on. Locked.
 */
void ww_depends_take(struct ww_client_view *view, struct ww_taken_call *taken);

/* A call has ended. @failed: the first call that failed, itself or one before it; 0: none. Locked.
 */
void ww_depends_end(struct ww_client_view *view, const struct ww_taken_call *taken,
	uint64_t failed);

/* What a call's client is told. Return: WW_ERR_DEPENDENCY_FAILED. */
ww_status ww_depends_describe(uint64_t failed_call, char out_message[WW_ERROR_MESSAGE_BYTES]);

/* The first call of a lane waits for another call. By the leader, locked. */
void ww_depends_wait(struct ww_service *service, struct ww_client_view *view, uint32_t lane);

/*
 * Has those lanes judged again whose calls were cancelled, or are too late, while they waited for
 * another call, if it is time to look (service->depends_look_ns). By the leader, not locked.
 */
void ww_depends_look_at_all(struct ww_service *service, uint64_t now_ns);

#endif
