/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slice_name.c - names of slices in a broker, see slice.h
 *
 * A name is inside the pool's object, and says a number of the slice. It is one more use of the
 * slice, which ends when the broker says that no name has the number: the broker counts names that
 * were lost on the owner's page, and then the owner asks for those that are left. A put without an
 * answer may have given the name.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/condition.h"
#include "base/error.h"
#include "pool/owner/importers.h"
#include "pool/owner/put_pool.h"
#include "pool/owner/slice.h"
#include "share/put_request.h"
#include "share/sync_object.h"

#define NAMES_PARTS 8 /* version of the protocol from which on a broker does */
#define PAUSE_NS    UINT64_C(1000000000)

/* A broker that did not answer is not asked again at once, and then for a moment only. */
static void note_silence(struct ww_pool *pool, ww_status status)
{
	if (status == WW_ERR_NO_BROKER)
		pool->holders.newcomers.ask_again_ns = ww_clock_deadline_ns(PAUSE_NS);
}

/* --- another number --- */

static bool has_number(const struct ww_slice *slice, uint64_t number)
{
	for (uint32_t i = 0; i < slice->kind_count; i++) {
		if (slice->tokens[i].number == number)
			return true;
	}
	return false;
}

/* Whether the broker has not answered yet that the slice's names say its present number. */
static bool is_renaming(const struct ww_slice *slice)
{
	return slice->name_number && !has_number(slice, slice->name_number);
}

/* A request that was not answered is repeated when the names are asked for, which does no harm. */
static ww_status rename_to(struct ww_slice *slice, uint64_t number)
{
	struct ww_pool *pool = slice->pool;
	struct ww_wire_renumber message = {.from = slice->name_number, .to = number};
	WW_AUTO_REQUEST struct ww_request request;
	ww_status status;

	ww_request_init(&request, WW_WIRE_RENUMBER, WW_WIRE_DONE, &message);
	memcpy(message.id, pool->id, sizeof(message.id));
	status = ww_broker_client_ask(pool->keys.broker, &request);
	if (status == WW_OK)
		slice->name_number = number;
	else
		pool->must_ask_names = true;
	note_silence(pool, status);
	return status;
}

ww_status ww_slice_rename(struct ww_slice *slice, uint64_t number)
{
	if (is_renaming(slice)) /* the names may say either number */
		ww_try(rename_to(slice, slice->tokens[0].number));
	return slice->name_number == number ? WW_OK : rename_to(slice, number);
}

static ww_status finish_renaming(struct ww_pool *pool)
{
	for (uint32_t slot = 0; slot < pool->slots_touched; slot++) {
		struct ww_slice *slice = pool->slices[slot];

		if (slice && is_renaming(slice))
			ww_try(rename_to(slice, slice->tokens[0].number));
	}
	return WW_OK;
}

/* --- giving a name --- */

static ww_status init_request(struct ww_put_request *request, const struct ww_slice *slice,
	const struct ww_memory *view, const struct ww_put_params *params)
{
	const uint8_t *pool_id = slice->pool->id;
	struct ww_description description;
	struct ww_wire_put *put = &request->put;

	ww_try(ww_memory_describe(slice->chunk->memory, &description));
	memcpy(description.object_id, pool_id, sizeof(description.object_id));
	if (view->bytes < description.bytes) {
		description.span_offset = view->offset;
		description.span_bytes = view->bytes;
	}
	description.access = WW_ACCESS_WRITE;
	put->kind = WW_WIRE_KIND_POOL;
	put->state = (uint8_t)params->state;
	put->life = (uint8_t)params->life;
	put->mode = params->mode;
	put->gid = params->gid;
	put->flags = params->flags & WW_PUT_REPLACE ? WW_WIRE_PUT_FLAG_REPLACE : 0;
	memcpy(put->id, pool_id, sizeof(put->id));
	memcpy(put->home_uuid, description.home_uuid, sizeof(put->home_uuid));
	put->description_bytes = ww_object_description_encode(&description, params->array,
		put->description);
	return WW_OK;
}

/* Puts the pool and the chunk into the broker. @out_number: that other processes may know */
static ww_status share(struct ww_slice *slice, struct ww_broker *broker, uint64_t *out_number)
{
	struct ww_slice_tokens *tokens;

	ww_try(ww_sync_object_require_version(broker, NAMES_PARTS, "give a slice a name"));
	ww_try(ww_slice_choose_tokens(slice, false, &tokens));
	ww_try(ww_pool_share(slice->pool, slice->chunk, broker));
	tokens->is_shared = true;
	tokens->are_deliveries = false;
	*out_number = tokens->number;
	return WW_OK;
}

/*
 * The slice has a name of this number, or unless that is sure, it may have one. The caller has
 * the slice, so it was not given back meanwhile; but it may have another number since.
 */
static ww_status note_name(struct ww_slice *slice, uint64_t number, bool is_sure)
{
	struct ww_pool *pool = slice->pool;
	struct ww_slice_tokens *tokens;

	pool->has_names = true;
	pool->must_ask_names |= !is_sure;
	if (has_number(slice, number)) {
		if (!is_renaming(slice))
			slice->name_number = number;
		return WW_OK;
	}
	slice->name_number = number;
	ww_try(ww_slice_choose_tokens(slice, false, &tokens));
	tokens->is_shared = true;
	tokens->are_deliveries = false;
	return ww_slice_rename(slice, tokens->number);
}

ww_status ww_slice_put(struct ww_slice *slice, struct ww_memory *view, struct ww_broker *broker,
	const char *name, const struct ww_put_params *params, uint64_t timeout_ns)
{
	WW_AUTO_PUT_REQUEST struct ww_put_request request = {.fd_count = 0};
	struct ww_pool *pool = slice->pool;
	uint32_t names_lost;
	ww_status renamed;
	ww_status status;

	ww_try(init_request(&request, slice, view, params));
	ww_try(ww_lock_unless_cancelled(&pool->lock));
	status = share(slice, broker, &request.put.part);
	names_lost = pool->names_lost;
	pthread_mutex_unlock(&pool->lock);
	if (status != WW_OK || !name)
		return status;
	memcpy(request.put.name, name, strlen(name));
	/* Without the lock: it may wait for room. */
	status = ww_put_request_put(&request, &pool->attachments, broker, timeout_ns);
	pthread_mutex_lock(&pool->lock);
	/* A look meanwhile may have seen that this name was lost already. */
	renamed = note_name(slice, request.put.part,
		status == WW_OK && pool->names_lost == names_lost);
	note_silence(pool, status);
	pthread_mutex_unlock(&pool->lock);
	return status == WW_OK ? renamed : status;
}

/* --- names that were lost --- */

uint32_t ww_slices_count_named(const struct ww_pool *pool)
{
	uint32_t count = 0;

	ww_list_for_each (link, &pool->waiting)
		count += ww_container(link, const struct ww_slice, link)->name_number != 0;
	return count;
}

static void list_slice(const struct ww_pool *pool, uint64_t number)
{
	uint32_t slot = ww_slice_slot(number);
	struct ww_slice *slice = slot < pool->slot_count ? pool->slices[slot] : NULL;

	if (slice && ww_slice_tokens_in(slice, slot)->number == number)
		slice->is_listed = true;
}

/* @listing: of all that have names */
static void take_names(struct ww_pool *pool, struct ww_wire_part_listing *listing)
{
	struct ww_wire_named_part part;

	pool->has_names = false;
	while (ww_wire_named_part_next(&listing->parts, &part))
		list_slice(pool, part.number);
	for (uint32_t slot = 0; slot < pool->slots_touched; slot++) {
		struct ww_slice *slice = pool->slices[slot];

		/* Once, if it has two slots. */
		if (!slice || ww_slice_slot(slice->tokens[0].number) != slot)
			continue;
		if (!slice->is_listed)
			slice->name_number = 0;
		slice->is_listed = false;
		pool->has_names |= slice->name_number != 0;
	}
}

/* A broker that does not have the pool has no names in it. */
static ww_status ask_names(struct ww_pool *pool, void *room)
{
	struct ww_wire_part_listing listing = {.parts.count = 0};
	struct ww_wire_parts message;
	WW_AUTO_REQUEST struct ww_request request;
	ww_status status;

	ww_request_init(&request, WW_WIRE_PARTS, WW_WIRE_PART_LISTING, &message);
	request.answer = room;
	request.room = WW_WIRE_PACKET_BYTES;
	memcpy(message.id, pool->id, sizeof(message.id));
	status = ww_broker_client_ask(pool->keys.broker, &request);
	if (status != WW_OK && status != WW_ERR_NOT_FOUND)
		return status;
	if (status == WW_OK &&
		ww_wire_decode_part_listing(request.answer, request.answer_bytes, request.version,
			&listing) < 0)
		return ww_request_fail_answer(&request);
	take_names(pool, &listing);
	return WW_OK;
}

void ww_pool_meet_names(struct ww_pool *pool)
{
	WW_AUTO_REQUEST_LIMIT uint64_t former_ns = ww_request_limit();
	struct ww_error record;
	ww_status status;
	uint32_t lost;
	void *room;

	if (!pool->has_names || ww_clock_now_ns() < pool->holders.newcomers.ask_again_ns)
		return;
	lost = __atomic_load_n(&pool->life->page->header->parts_lost, __ATOMIC_ACQUIRE);
	if (lost == pool->names_lost && !pool->must_ask_names)
		return;
	room = malloc(WW_WIRE_PACKET_BYTES);
	if (!room)
		return;
	if (pool->holders.newcomers.ask_again_ns > 0)
		ww_request_limit_all(WW_POOL_BRIEFLY);
	ww_error_save(&record);
	status = pool->must_ask_names ? finish_renaming(pool) : WW_OK;
	if (status == WW_OK || status == WW_ERR_NOT_FOUND)
		status = ask_names(pool, room);
	ww_error_restore(&record);
	free(room);
	pool->holders.newcomers.ask_again_ns = 0;
	note_silence(pool, status);
	if (status != WW_OK)
		return;
	pool->names_lost = lost;
	pool->must_ask_names = false;
}
