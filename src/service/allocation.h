/* SPDX-License-Identifier: Apache-2.0 */
/*
 * allocation.h - memories that clients had the server make: the built-in functions alloc and free
 *
 *   counted ──> made ──> ended: by free, or with the client
 *                  └──> kept: by the broker, under a name, until free or its removal
 *
 * The server's hold is what keeps a memory in the broker, unless it is kept. Bytes count for the
 * client's user from before the memory is made, so that several threads cannot exceed the limit
 * together. Of a kept memory the server has no hold: whether it is still there is asked when its
 * user has no room left.
 */
#ifndef WW_SERVICE_ALLOCATION_H
#define WW_SERVICE_ALLOCATION_H

#include "service/call.h"

struct ww_allocation {
	struct ww_list link; /* in the service's allocations; under its lock, as what follows */
	uint64_t number;     /* later ones have higher ones */
	struct ww_client_view *view; /* with which it ends; NULL: it is kept */
	uint32_t uid;
	bool is_made;
	uint64_t bytes;
	uint8_t object_id[WW_OBJECT_ID_BYTES];
	ww_memory *memory;        /* a reference; NULL: it is kept, or not made yet */
	char name[WW_NAME_BYTES]; /* in the broker; empty: none */
};

/* Functions of a service; @context is that. */
ww_status ww_allocation_run_alloc(void *context, ww_call *call);
ww_status ww_allocation_run_free(void *context, ww_call *call);

/* Ends those of a client whose calls have all ended. Not locked. */
void ww_allocations_end_of(struct ww_service *service, const struct ww_client_view *view);

/* Whether a memory is one of them. Locked. */
bool ww_allocations_have(const struct ww_service *service, const struct ww_memory *whole);

/* All clients are forgotten. Kept memories stay. */
void ww_allocations_fini(struct ww_service *service);

#endif
