/* SPDX-License-Identifier: Apache-2.0 */
/*
 * after.h - calls that start after a value of a timeline, as the server sees them
 *
 * The server's streams never wait for a client's timeline, since waits that never end would stop
 * them all. The first call of a lane that starts after a timeline waits in its lane until the
 * leader, which looks at the timelines' cells from time to time, finds that the value is completed.
 *
 *   the token is known ──────────────┐
 *   another one: a thread asks the   ├──> the lane waits ──> the call is judged again
 *   broker for it, as it runs a call ┘
 *
 * A client has as many timelines imported as it has lanes, at most: a lane that waits keeps its
 * timeline; of the others, the least recently used one is released.
 */
#ifndef WW_SERVICE_AFTER_H
#define WW_SERVICE_AFTER_H

#include "service/client_view.h"

/* A timeline that was imported for a client. */
struct ww_service_after {
	ww_timeline *timeline; /* a reference */
	uint64_t used;         /* higher than of those that were used before */
	uint32_t lanes;        /* that wait for it */
	bool is_mapped;        /* a stream of the service may wait for it, and can */
	/* It is lost: until then its client may have ended; 0: no. */
	uint64_t lost_until_ns;
	struct ww_token token;
};

void ww_service_after_free(struct ww_service_after *after); /* takes NULL. Not locked */

/*
 * The timeline of the call's token, if it was imported before: the lane has it from then on.
 * Locked. Return: whether the lane has it.
 */
bool ww_service_after_recall(struct ww_client_view *view, struct ww_service_lane *lane,
	const struct ww_layout_service_request *request);

/*
 * Imports it by the rights of the token: the lane has it from then on. Not locked; blocks for a
 * round trip to the broker.
 * Return: WW_OK; WW_CANCELLED; WW_ERR_PROTOCOL (there is no token); as ww_timeline_import().
 */
ww_status ww_service_after_import(struct ww_service *service, struct ww_client_view *view,
	struct ww_service_lane *lane, const struct ww_layout_service_request *request);

/* The lane's call waits no longer. Locked; takes a lane without a timeline, too. */
void ww_service_after_leave(struct ww_service_lane *lane);

/*
 * Of the lane's timeline. @out_message: of WW_ERROR_MESSAGE_BYTES; why, if the value never comes
 * Return: WW_OK (the value is completed); WW_NOT_READY (also for a moment after the timeline was
 *         lost, if the client may have ended); WW_ERR_DEPENDENCY_FAILED.
 */
ww_status ww_service_after_look(struct ww_client_view *view, const struct ww_service_lane *lane,
	uint64_t value, char *out_message);

/* A lane of the client begins to wait. By the leader, locked. */
void ww_service_after_wait(struct ww_service *service, struct ww_client_view *view, uint32_t lane);

/*
 * Has those lanes judged again that wait no longer, if it is time to look (service->after_look_ns).
 * By the leader, not locked.
 */
void ww_service_after_look_at_all(struct ww_service *service, uint64_t now_ns);

#endif
