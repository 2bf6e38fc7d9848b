/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kept_results.h - memories that the server keeps as results until their client has taken them
 *
 * They are in the client's list (struct ww_kept_result of client_view.h). The client says in its
 * requests which ones it needs no more.
 */
#ifndef WW_SERVICE_KEPT_RESULTS_H
#define WW_SERVICE_KEPT_RESULTS_H

#include "service/client_view.h"

/* Releases what the client has taken, or all of it. Locked; gives the lock back meanwhile. */
void ww_client_view_release(struct ww_service *service, struct ww_client_view *view, bool all);

/* The same, of what the client has taken and of the results that are this memory. */
void ww_client_view_release_memory(struct ww_service *service, struct ww_client_view *view,
	const ww_memory *memory);

#endif
