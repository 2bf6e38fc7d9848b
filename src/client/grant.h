/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grant.h - what a broker grants, and the memory it becomes
 */
#ifndef WW_CLIENT_GRANT_H
#define WW_CLIENT_GRANT_H

#include "client/info.h"
#include "client/keeping.h"

/* A get or an import, answered. */
struct ww_grant {
	struct ww_request request;
	struct ww_broker *broker;   /* borrowed */
	struct ww_keeping *keeping; /* owned, until the memory has it */
	struct ww_wire_granted granted;
	struct ww_object_description description;
};

/*
 * @code:     WW_WIRE_GET or WW_WIRE_IMPORT
 * @message:  borrowed until fini
 */
void ww_grant_init(struct ww_grant *grant, struct ww_broker *broker, uint16_t code,
	const void *message);
void ww_grant_fini(struct ww_grant *grant); /* lets go of what was not mapped */

/* Return: WW_OK; WW_TIMED_OUT; as ww_memory_get(); WW_ERR_UNSUPPORTED (it is no memory); WW_ERR_PROTOCOL. */
ww_status ww_grant_ask(struct ww_grant *grant);
#define WW_AUTO_GRANT WW_CLEANUP(ww_grant_fini)

/*
 * Maps what was granted; the memory keeps the hold.
 * @access:  that was asked for
 * Return: WW_OK; WW_ERR_ACCESS; as ww_memory_import_fd().
 */
ww_status ww_grant_map(struct ww_grant *grant, struct ww_device *device, uint32_t access,
	struct ww_memory **out_memory);

#endif
