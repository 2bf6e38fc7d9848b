/* SPDX-License-Identifier: Apache-2.0 */
/*
 * in_flight.c - deliveries that this process has sent and no process has received yet: in brokers,
 * which know the deliveries of their objects, and in the pools of this process, which count imports
 * themselves
 */
#include <warpway/in_flight.h>

#include <stdlib.h>
#include <string.h>

#include "base/cancel.h"
#include "base/error.h"
#include "base/condition.h"
#include "base/params.h"
#include "base/process.h"
#include "pool/owner/deliveries.h"
#include "pool/owner/importers.h"
#include "share/token_export.h"

#define INFO_V1_BYTES  sizeof(struct ww_in_flight_info)
#define WHICH_V1_BYTES sizeof(struct ww_in_flight_which)
#define RECALLS        6 /* version of the protocol from which on a broker does */

struct ww_in_flight {
	struct ww_in_flight_info *items; /* owned */
	size_t count;
	size_t capacity;
};

WW_DEFINE_CLEANUP(ww_in_flight, ww_in_flight_free)
WW_DEFINE_CLEANUP(ww_snapshot, ww_snapshot_free)

/* What is asked of all brokers and pools in turn. */
struct visit {
	struct ww_in_flight *list; /* to fill; NULL: revoke */
	const struct ww_in_flight_which *which;
	const struct ww_in_flight_info *one; /* of these: a delivery by its numbers; NULL: by age */
	uint8_t secret[WW_SECRET_BYTES];     /* of a delivery by its token; else zeros */
	uint64_t count;
	uint64_t bytes;
};

/* --- listing --- */

static ww_status add(struct ww_in_flight *list, const struct ww_in_flight_info *info)
{
	size_t capacity = list->capacity ? list->capacity * 2 : 64;
	struct ww_in_flight_info *larger;

	if (list->count == list->capacity) {
		larger = realloc(list->items, capacity * sizeof(*larger));
		if (!larger)
			return ww_fail(WW_ERR_NO_MEMORY,
				"cannot list what is in flight: out of memory");
		list->items = larger;
		list->capacity = capacity;
	}
	list->items[list->count++] = *info;
	return WW_OK;
}

static ww_status list_own(struct ww_broker *broker, ww_snapshot *snapshot,
	struct ww_in_flight *list)
{
	struct ww_hold_info hold = WW_INIT(struct ww_hold_info);

	for (size_t i = 0; ww_snapshot_hold(snapshot, i, &hold) == WW_OK; i++) {
		struct ww_in_flight_info info = {
			.access = hold.access,
			.number = hold.delivery,
			.uses = hold.uses,
			.bytes = hold.bytes,
			.age_ns = hold.age_ns,
		};

		if (!hold.is_own)
			continue;
		memcpy(info.object_id, hold.object_id, sizeof(info.object_id));
		ww_broker_client_peer(broker, info.broker_id, NULL);
		ww_try(add(list, &info));
	}
	return WW_OK;
}

static ww_status list_broker(struct ww_broker *broker, struct visit *visit)
{
	WW_CLEANUP(ww_snapshot_free_p) ww_snapshot *snapshot = NULL;
	uint64_t seen = ww_broker_client_deliveries(broker);
	size_t before = visit->list->count;

	ww_try(ww_snapshot_create(broker, NULL, WW_SNAPSHOT_HOLDS, &snapshot));
	ww_try(list_own(broker, snapshot, visit->list));
	if (visit->list->count == before)
		ww_broker_client_no_deliveries(broker, seen);
	return WW_OK;
}

/* --- revoking in a broker --- */

static ww_status ask_recall(struct ww_broker *broker, const struct visit *visit,
	struct ww_wire_recalled *out_recalled)
{
	struct ww_wire_recall message = {
		.number = visit->one ? visit->one->number : 0,
		.older_ns = visit->which->older_ns,
	};
	WW_AUTO_REQUEST struct ww_request request;

	ww_request_init(&request, WW_WIRE_RECALL, WW_WIRE_RECALLED, &message);
	memcpy(message.secret, visit->secret, sizeof(message.secret));
	ww_try(ww_broker_client_ask(broker, &request));
	if (ww_wire_decode_recalled(request.answer, request.answer_bytes, request.version,
		    out_recalled) < 0)
		return ww_request_fail_answer(&request);
	return WW_OK;
}

static bool is_for(const struct ww_in_flight_info *one, struct ww_broker *broker)
{
	uint8_t id[WW_WIRE_ID_BYTES];

	ww_broker_client_peer(broker, id, NULL);
	return !one->is_slice && !memcmp(one->broker_id, id, sizeof(id));
}

static ww_status recall_broker(struct ww_broker *broker, struct visit *visit)
{
	uint64_t seen = ww_broker_client_deliveries(broker);
	struct ww_wire_recalled recalled = {.more = 1};
	const struct ww_in_flight_info *one = visit->one;

	ww_try(ww_broker_client_ensure(broker, false));
	if (ww_broker_client_version(broker) < RECALLS || (one && !is_for(one, broker)))
		return WW_OK;
	/* That would mean all of them to the broker: a forged token may say so. */
	if (one && one->number == 0 && ww_is_zero(visit->secret, sizeof(visit->secret)))
		return WW_OK;
	while (recalled.more) {
		ww_try(ask_recall(broker, visit, &recalled));
		visit->count += recalled.count;
		visit->bytes += recalled.bytes;
	}
	if (!visit->which->token && !one && visit->which->older_ns == 0)
		ww_broker_client_no_deliveries(broker, seen);
	return WW_OK;
}

static ww_status visit_broker(struct ww_broker *broker, struct visit *visit)
{
	return visit->list ? list_broker(broker, visit) : recall_broker(broker, visit);
}

static ww_status visit_brokers(struct ww_broker *given, struct visit *visit)
{
	WW_AUTO_BROKER struct ww_broker *broker = NULL;

	if (given) {
		ww_try(ww_ref_check(&given->ref, "a connection to a broker"));
		return visit_broker(given, visit);
	}
	while ((broker = ww_broker_client_next_exporter(broker)))
		ww_try(visit_broker(broker, visit));
	return WW_OK;
}

/* --- pools --- */

static ww_status take_slice(struct ww_pool *pool, const struct ww_slice_delivery *delivery,
	struct visit *visit)
{
	struct ww_in_flight_info info = {
		.is_slice = 1,
		.number = delivery->number,
		.uses = delivery->uses,
		.bytes = delivery->bytes,
		.age_ns = delivery->age_ns,
	};
	const struct ww_in_flight_info *one = visit->one;

	memcpy(info.object_id, pool->id, sizeof(info.object_id));
	memcpy(info.broker_id, pool->keys.broker_id, sizeof(info.broker_id));
	if (visit->list)
		return add(visit->list, &info);
	if (one ? !one->is_slice || one->number != info.number ||
				memcmp(one->object_id, info.object_id, sizeof(info.object_id)) != 0
		: info.age_ns < visit->which->older_ns)
		return WW_OK;
	ww_try(ww_slice_recall(pool->slices[ww_slice_slot(info.number)]));
	visit->count += delivery->uses;
	visit->bytes += delivery->bytes * delivery->uses;
	return WW_OK;
}

/* Under pool->lock. */
static ww_status visit_slices(struct ww_pool *pool, struct visit *visit)
{
	struct ww_slice_delivery delivery;
	uint32_t at = 0;

	struct ww_error record;

	/* If not every process is known, less may have been received than it seems. */
	ww_error_save(&record);
	if (ww_pool_remove_gone(pool) == WW_CANCELLED)
		return WW_CANCELLED;
	ww_error_restore(&record);
	while (ww_pool_next_delivery(pool, &at, &delivery))
		ww_try(take_slice(pool, &delivery, visit));
	return WW_OK;
}

static ww_status visit_pools(const struct ww_broker *broker, struct visit *visit)
{
	WW_AUTO_POOL struct ww_pool *pool = NULL;

	while ((pool = ww_pool_next(pool))) {
		ww_status status = WW_OK;

		ww_try(ww_lock_unless_cancelled(&pool->lock));
		if (!broker || pool->keys.broker == broker)
			status = visit_slices(pool, visit);
		pthread_mutex_unlock(&pool->lock);
		ww_try(status);
	}
	return WW_OK;
}

static ww_status visit_all(struct ww_broker *broker, struct visit *visit)
{
	ww_try(visit_pools(broker, visit));
	return visit_brokers(broker, visit);
}

/* --- the calls --- */

ww_status ww_in_flight_create(ww_broker *broker, ww_cancel *cancel, ww_in_flight **out_list)
{
	WW_AUTO_CANCEL struct ww_cancel_scope scope = ww_cancel_enter(cancel);
	WW_CLEANUP(ww_in_flight_free_p) ww_in_flight *list = NULL;
	struct visit visit = {.count = 0};

	ww_clear(out_list, NULL);
	ww_try(ww_process_enter());
	ww_require(out_list, "ww_in_flight_create: out_list is NULL");
	list = calloc(1, sizeof(*list));
	if (!list)
		return ww_fail(WW_ERR_NO_MEMORY, "cannot list what is in flight: out of memory");
	visit.list = list;
	ww_try(visit_all(broker, &visit));
	*out_list = ww_steal(list);
	return WW_OK;
}

ww_in_flight *ww_in_flight_free(ww_in_flight *list)
{
	if (!list)
		return NULL;
	free(list->items);
	free(list);
	return NULL;
}

ww_status ww_in_flight_get(ww_in_flight *list, size_t index, struct ww_in_flight_info *info)
{
	ww_try(ww_process_enter());
	ww_require(list && info, "ww_in_flight_get: list or info is NULL");
	ww_try(ww_params_check(info, INFO_V1_BYTES, "ww_in_flight_info"));
	if (index >= list->count)
		return WW_END;
	return ww_params_write(info, &list->items[index], sizeof(*info), INFO_V1_BYTES,
		"ww_in_flight_info");
}

/* A slice is named by its number; another object by the secret of its delivery. */
static ww_status read_token(const struct ww_token *token, struct visit *visit,
	struct ww_in_flight_info *out_slice)
{
	struct ww_token_content content;
	const struct ww_token_info *info = &content.info;

	ww_try(ww_token_read(token, &content));
	out_slice->is_slice = (info->flags & WW_TOKEN_SLICE) != 0;
	out_slice->number = info->slice;
	memcpy(out_slice->object_id, info->object_id, sizeof(info->object_id));
	memcpy(out_slice->broker_id, info->broker_id, sizeof(info->broker_id));
	visit->one = out_slice;
	memcpy(visit->secret, content.secret, sizeof(visit->secret));
	return WW_OK;
}

static ww_status read_which(const struct ww_in_flight_which *which, struct visit *visit,
	struct ww_in_flight_which *ours, struct ww_in_flight_info *slice)
{
	if (which)
		ww_try(ww_params_read(ours, sizeof(*ours), which, WHICH_V1_BYTES,
			"ww_in_flight_which"));
	if (ours->reserved || (ours->token && ours->info))
		return ww_fail(WW_ERR_INVALID,
			"ww_in_flight_which.reserved is not 0, or both a token and an info are set");
	if (ours->token)
		ww_try(read_token(ours->token, visit, slice));
	if (!ours->info)
		return WW_OK;
	ww_try(ww_params_read(slice, sizeof(*slice), ours->info, INFO_V1_BYTES,
		"ww_in_flight_info"));
	visit->one = slice;
	return WW_OK;
}

ww_status ww_in_flight_revoke(ww_broker *broker, const struct ww_in_flight_which *which,
	ww_cancel *cancel, uint64_t *out_count, uint64_t *out_bytes)
{
	WW_AUTO_CANCEL struct ww_cancel_scope scope = ww_cancel_enter(cancel);
	struct ww_in_flight_which ours = {.reserved = 0};
	struct ww_in_flight_info slice = {.number = 0};
	struct visit visit = {.which = &ours};

	ww_try(ww_process_enter());
	ww_try(read_which(which, &visit, &ours, &slice));
	ww_try(visit_all(broker, &visit));
	if (out_count)
		*out_count = visit.count;
	if (out_bytes)
		*out_bytes = visit.bytes;
	return WW_OK;
}

ww_status ww_in_flight_limit(uint32_t count, uint64_t bytes)
{
	ww_try(ww_process_enter());
	ww_in_flight_set_most((struct ww_in_flight_most){.count = count, .bytes = bytes});
	return WW_OK;
}
