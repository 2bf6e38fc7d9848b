/* SPDX-License-Identifier: Apache-2.0 */
/*
 * active.h - the clients that the server looks at in each round: those that have called recently
 *
 * A client without calls is taken out of the list after a while. It is told so (is_idle in its
 * replies), and then sets its bit in the bell with its next call, which brings it back:
 *
 *   server:  store is_idle; look at published, and keep the client if there is more
 *   client:  store published; look at is_idle; set the bit; then look whether the server sleeps
 *
 * Both sides' stores and loads are in one order (seq_cst), so one of them sees the other. Another
 * client can clear the bit, since all that may call write the bell. So the server looks at all
 * clients when it looks which have ended (WW_PEER_LOOK_NS).
 *
 * By the leader, or by the thread of eventfd.h when no thread serves.
 */
#ifndef WW_SERVICE_ACTIVE_H
#define WW_SERVICE_ACTIVE_H

#include "service/client_view.h"

static inline struct ww_client_view *ww_service_active_of(struct ww_list *link)
{
	return ww_container(link, struct ww_client_view, active);
}

/* Of one that was not refused. For one that is in the list already nothing happens. */
void ww_service_active_add(struct ww_service *service, struct ww_client_view *view);
void ww_service_active_remove(struct ww_service *service, struct ww_client_view *view);

/* Whether a client that is idle has called. */
bool ww_service_active_is_due(const struct ww_service *service);

/* Adds those that have called. */
void ww_service_active_take(struct ww_service *service);

/* Removes those that have been without calls for a while, if it is time to look. Not locked. */
void ww_service_active_retire(struct ww_service *service, uint64_t now_ns);

#endif
