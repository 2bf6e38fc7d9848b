/* SPDX-License-Identifier: Apache-2.0 */
/*
 * offer.h - an object as it is handed to a broker: what describes it, and the descriptors for whom
 *
 * A broker gives each holder the descriptors that its access allows, and looks into none of them. So there is one
 * that cannot be mapped for writing, for readers, and where there may be writers another one for them. A
 * GPU's descriptor has no such mark and goes to both.
 */
#ifndef WW_CLIENT_OFFER_H
#define WW_CLIENT_OFFER_H

/* Who is given a descriptor: bits of fd_access. */
#define WW_OFFER_READERS 1
#define WW_OFFER_WRITERS 2
#define WW_OFFER_BROKER  4 /* nobody: of a signal page */

#include "client/connection.h"
#include "memory/object.h"

struct ww_offer {
	struct ww_wire_put put;
	int fds[4]; /* owned */
	size_t fd_count;
	uint64_t host_bytes; /* of the object, in memfds */
};

/*
 * @offer:  filled; its put has kind, home, id, bytes, state, description and who gets which descriptor; the rest
 *          is zero and the caller's
 * @state:  WW_STATE_...
 * @array:  checked, or NULL
 * Return: WW_OK; WW_ERR_ACCESS (the memory is mapped read-only here); as ww_memory_export_fd().
 */
ww_status ww_offer_init(struct ww_offer *offer, struct ww_memory *memory, uint32_t state,
	const struct ww_array *array);
void ww_offer_fini(struct ww_offer *offer);
#define WW_AUTO_OFFER WW_CLEANUP(ww_offer_fini)

/*
 * Puts it. What this process then holds is kept by @thing.
 * @timeout_ns:  how long to wait for room in the quota
 * Return: WW_OK; WW_TIMED_OUT; as ww_memory_put().
 */
ww_status ww_offer_put(struct ww_offer *offer, struct ww_attachments *thing,
	struct ww_broker *broker, uint64_t timeout_ns);

#endif
