/* SPDX-License-Identifier: Apache-2.0 */
/*
 * request_part.c - what a pool's creator asks about the parts of it that have names; request_put.c
 * gives them names
 *
 * A part keeps its bytes while it has a name. So its creator asks which parts still have one before
 * it uses their bytes again.
 */
#include <inttypes.h>

#include "base/error.h"
#include "daemon/broker/request.h"
#include "daemon/broker/server_state.h"
#include "daemon/registry/object.h"

static ww_status part_find_pool(const struct peer *peer, const uint8_t id[WW_WIRE_ID_BYTES],
	struct object **out_object)
{
	const struct registry *registry = &peer->server->registry;
	struct object *object = object_find_id(registry, id);

	if (!object || !object_may_have_parts(object_record(registry, object)))
		return ww_fail(WW_ERR_NOT_FOUND, "there is no pool with this id in this broker");
	if (object->creator != peer->holder)
		return ww_fail(WW_ERR_ACCESS,
			"process %" PRIu32 " put this pool; only that one may ask about its parts",
			object_record(registry, object)->maker_pid);
	*out_object = object;
	return WW_OK;
}

ww_status request_parts(void *context, const struct ww_wire_header *header,
	const struct ww_wire_parts *parts)
{
	static struct ww_wire_named_part items[FURTHER_NAMES_MOST];
	struct peer *peer = context;
	const struct registry *registry = &peer->server->registry;
	struct ww_wire_part_listing listing = {.parts.items = items};
	struct object *object;

	ww_try(part_find_pool(peer, parts->id, &object));
	for (struct further_name *at = NULL; listing.parts.count < FURTHER_NAMES_MOST &&
		(at = further_next(registry, object, at));)
		items[listing.parts.count++].number = further_record(registry, at)->part;
	return peer_answer(peer, header->serial, part_listing, &listing);
}

ww_status request_renumber(void *context, const struct ww_wire_header *header,
	const struct ww_wire_renumber *renumber)
{
	struct peer *peer = context;
	const struct registry *registry = &peer->server->registry;
	struct object *object;

	if (renumber->from == 0 || renumber->to == 0)
		return ww_fail(WW_ERR_INVALID, "no part has number 0");
	ww_try(part_find_pool(peer, renumber->id, &object));
	for (struct further_name *at = NULL; (at = further_next(registry, object, at));) {
		struct ww_layout_name_record *record = further_record(registry, at);

		if (record->part == renumber->from)
			__atomic_store_n(&record->part, renumber->to, __ATOMIC_RELEASE);
	}
	peer_send_done(peer, header->serial);
	return WW_OK;
}
