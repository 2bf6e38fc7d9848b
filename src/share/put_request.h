/* SPDX-License-Identifier: Apache-2.0 */
/*
 * put_request.h - an object as it is sent to a broker: its description, and its descriptors with
 * their receivers
 *
 * A broker gives each holder the descriptors that its access allows, and looks into none of them.
 * So there is one that cannot be mapped for writing, for readers, and where there may be writers
 * another one for them. A GPU's descriptor has no such mark and goes to both.
 */
#ifndef WW_SHARE_PUT_REQUEST_H
#define WW_SHARE_PUT_REQUEST_H

/* Which processes are given a descriptor: bits of fd_access. */
#define WW_PUT_TO_READERS 1
#define WW_PUT_TO_WRITERS 2
#define WW_PUT_TO_BROKER  4 /* no holder: of a signal page */
/* in addition, or alone for no holder: the broker counts deliveries by it (version 6) */
#define WW_PUT_COUNTS 32

#include "client/broker_client.h"
#include "memory/memory.h"

struct ww_put_request {
	struct ww_wire_put put;
	int fds[WW_WIRE_FDS]; /* owned */
	size_t fd_count;
	uint64_t host_bytes; /* of the object, in memfds */
};

/*
 * @request:  filled; its put has kind, home, id, bytes, state, description and who gets which
 *          descriptor; the rest is zero and the caller's
 * @state:  WW_STATE_...
 * @array:  checked, or NULL
 * Return: WW_OK; WW_ERR_ACCESS (the memory is mapped read-only here); as ww_memory_export_fd().
 */
ww_status ww_put_request_init(struct ww_put_request *request, struct ww_memory *memory,
	uint32_t state, const struct ww_array *array);

/*
 * The same for a memory that another process put and this one holds, which only gets a further
 * name: without descriptors.
 */
ww_status ww_put_request_init_further(struct ww_put_request *request,
	const struct ww_memory *memory, uint32_t state, const struct ww_array *array);

/* Adds a descriptor of a mapping. @whom: which processes get it: WW_PUT_TO_... bits */
ww_status ww_put_request_add(struct ww_put_request *request, struct ww_mapping *mapping,
	uint32_t access, uint8_t whom);

/* The same for a mapping of host memory, which counts in host_bytes. */
ww_status ww_put_request_add_file(struct ww_put_request *request, struct ww_mapping *mapping,
	uint32_t access, uint8_t whom);

void ww_put_request_fini(struct ww_put_request *request);
#define WW_AUTO_PUT_REQUEST WW_CLEANUP(ww_put_request_fini)

/*
 * Puts it. What this process then holds is kept by @thing.
 * @timeout_ns:  how long to wait for room in the quota
 * Return: WW_OK; WW_TIMED_OUT; WW_CANCELLED; as ww_memory_put().
 */
ww_status ww_put_request_put(struct ww_put_request *request, struct ww_attachments *thing,
	struct ww_broker *broker, uint64_t timeout_ns);

/*
 * Puts an object without a name, of an id that only this process uses: if another thread has put it
 * meanwhile it is held all the same.
 * Return: WW_OK; as ww_timeline_export().
 */
ww_status ww_put_request_put_unnamed(struct ww_put_request *request, struct ww_attachments *thing,
	struct ww_broker *broker);

#endif
