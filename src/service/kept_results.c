/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kept_results.c - memories that the server keeps as results until their client has taken them, see
 * kept_results.h
 */
#include "service/kept_results.h"

#include <stdlib.h>

/*
 * Those that @all, or @memory, names, and what the client has taken. Of one that was refused, all:
 * its requests may not be there any more.
 */
static void view_release(struct ww_service *service, struct ww_client_view *view, bool all,
	const ww_memory *memory)
{
	struct ww_list taken = WW_LIST_INIT(taken);
	struct ww_list *next;
	struct ww_list *link;

	for (link = view->kept.next; link != &view->kept; link = next) {
		struct ww_kept_result *kept = ww_container(link, struct ww_kept_result, link);

		next = link->next;
		if (!all && kept->memory != memory && view->requests.mapping &&
			!ww_service_requests_is_released(&view->requests, kept->slot, kept->call))
			continue;
		view->kept_bytes -= kept->bytes;
		ww_list_remove(link);
		ww_list_append(&taken, link);
	}
	if (ww_list_is_empty(&taken))
		return;
	pthread_mutex_unlock(&service->lock);
	while ((link = ww_list_take_first(&taken))) {
		struct ww_kept_result *kept = ww_container(link, struct ww_kept_result, link);

		ww_memory_unref(kept->memory);
		free(kept);
	}
	pthread_mutex_lock(&service->lock);
}

void ww_client_view_release(struct ww_service *service, struct ww_client_view *view, bool all)
{
	view_release(service, view, all, NULL);
}

void ww_client_view_release_memory(struct ww_service *service, struct ww_client_view *view,
	const ww_memory *memory)
{
	view_release(service, view, false, memory);
}
