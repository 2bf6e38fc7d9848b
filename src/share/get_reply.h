/* SPDX-License-Identifier: Apache-2.0 */
/*
 * get_reply.h - what a broker grants, and the memory it becomes; or the timeline, event or barrier,
 * in files of their own
 */
#ifndef WW_SHARE_GET_REPLY_H
#define WW_SHARE_GET_REPLY_H

#include "share/object_info.h"
#include "share/hold_ref.h"
#include "sync/signal_page_map.h"

/* A get or an import, answered. */
struct ww_get_reply {
	struct ww_request request;
	struct ww_broker *broker;     /* borrowed */
	struct ww_hold_ref *hold_ref; /* owned, until the thing has it */
	uint16_t kind;                /* WW_OBJECT_..., that is asked for */
	const char *name;             /* in the message; NULL: it is not asked for by a name */
	uint64_t timeout_ns;          /* how long the name is waited for */
	bool takes_slices;            /* the name may be a slice's: then granted.part is not 0 */
	struct ww_wire_granted granted;
	struct ww_object_description description; /* of a memory */
};

/*
 * @code:     WW_WIRE_GET or WW_WIRE_IMPORT
 * @message:  borrowed until fini
 */
void ww_get_reply_init(struct ww_get_reply *grant, struct ww_broker *broker, uint16_t code,
	const void *message, uint16_t kind);
void ww_get_reply_fini(struct ww_get_reply *grant); /* lets go of what was not mapped */

/*
 * Return: WW_OK; WW_TIMED_OUT (with a record, if it was asked for by a name); as ww_memory_get();
 * WW_ERR_UNSUPPORTED (it is of another kind); WW_ERR_PROTOCOL.
 */
ww_status ww_get_reply_ask(struct ww_get_reply *grant);
#define WW_AUTO_GET_REPLY WW_CLEANUP(ww_get_reply_fini)

/*
 * What to ask for: a name.
 * @message:      the one that @grant was made with
 * @name:         copied into the message
 * @timeout_ns:   how long to wait for the name, from now on; 0: not at all
 */
void ww_get_reply_set_name(struct ww_get_reply *grant, struct ww_wire_get *message,
	const char *name, uint64_t timeout_ns);

/* What was granted is held by @thing from now on. */
void ww_get_reply_keep(struct ww_get_reply *grant, struct ww_attachments *thing);

/*
 * Maps the page of timelines that was granted, which is the first descriptor.
 * Return: as ww_signal_map_import(); WW_ERR_PROTOCOL (no descriptor came).
 */
ww_status ww_get_reply_map_page(const struct ww_get_reply *grant, uint64_t page_bytes,
	const uint8_t page_id[WW_WIRE_ID_BYTES], struct ww_signal_map **out_page);

/*
 * Maps what was granted; the memory keeps the hold.
 * @out_memory:  a whole, as of ww_memory_import_whole()
 * Return: WW_OK; WW_ERR_ACCESS; as ww_memory_import_fd().
 */
ww_status ww_get_reply_map(struct ww_get_reply *grant, struct ww_device *device,
	const struct ww_import_options *options, struct ww_memory **out_memory);

#endif
