/* SPDX-License-Identifier: Apache-2.0 */
/*
 * imported_slice.c - slices of another process's pool, see imported_slice.h
 *
 * A slice that this process uses has one mark, however often it was imported here; how many uses of
 * it there are, is counted beside it. Taking is in this order: the mark; the look whether the slice
 * is still there; what the table says of it, which then cannot change; its chunk, which may have to
 * be got from the broker.
 *
 * A holding is what imports of the same bytes for the same device with the same access have in
 * common: a memory with a reference for each. It is one use of the slice. Those of a slot stand in
 * a list, where imports find them; a slice whose last reference was released cannot be found any
 * more.
 */
#include "pool/member/imported_slice.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/process.h"
#include "memory/view.h"
#include "pool/member/member.h"

struct holding {
	struct ww_memory view;
	struct holding *next;     /* of its slot; under member->lock */
	struct ww_list link;      /* in member->lagging */
	struct ww_member *member; /* counted in its users */
	struct ww_member_chunk *chunk;
	uint64_t number;
	/* Of a lagging one. */
	/* the slice is used until the cell is passed; else the stream clears the mark */
	bool is_counted;
	struct ww_marks_cell cell; /* of member->own */
};

static const struct ww_view_class holding_class;
static _Atomic uint32_t lagging_count WW_PER_PROCESS; /* of all members */

/* --- taking and dropping --- */

static struct ww_member_slot *slot_of(const struct ww_member *member, uint64_t number)
{
	return &member->slots[ww_slice_slot(number)];
}

/*
 * Whether the owner has let go of the slice so that its tokens are over; others' are as long as the
 * slice is there.
 */
static bool is_over(const struct ww_member *member, const struct ww_token_info *info)
{
	uint32_t slot = ww_slice_slot(info->slice);
	uint64_t escrow = __atomic_load_n(&member->table.slots[slot].escrow, __ATOMIC_ACQUIRE);

	if (escrow == WW_ESCROW_OWNER_HAS || info->flags & WW_TOKEN_PASSED)
		return false;
	return !ww_escrow_is_open(escrow, ww_marks_taken(member->marks, info->slice),
		member->has_owners_clock ? ww_clock_now_ns() : 0);
}

/* Under member->lock. */
static ww_status take(struct ww_member *member, const struct ww_token_info *info)
{
	uint64_t number = info->slice;
	uint32_t slot = ww_slice_slot(number);

	if (slot >= member->table.slot_count ||
		(member->slots[slot].kept == 0 && is_over(member, info)))
		return ww_fail_slice_gone();
	if (member->slots[slot].count > 0) {
		if (!ww_marks_has(member->marks, number))
			return ww_fail_slice_gone();
		member->slots[slot].count++;
		return WW_OK;
	}
	if (__atomic_load_n(&member->marks->at[slot].slice, __ATOMIC_ACQUIRE) != 0)
		return ww_fail(WW_ERR_STATE,
			"cannot import this slice now: a stream of this process has yet to release it; "
			"synchronize that one, or hold a further reference meanwhile");
	ww_marks_set(member->marks, number);
	if (__atomic_load_n(&member->table.slots[slot].slice, __ATOMIC_SEQ_CST) != number) {
		ww_marks_clear(member->marks, slot);
		return ww_fail_slice_gone();
	}
	member->slots[slot].count = 1;
	return WW_OK;
}

/* Under member->lock. The slice is used once less. */
static void drop(struct ww_member *member, uint64_t number)
{
	if (--slot_of(member, number)->count == 0)
		ww_marks_clear(member->marks, ww_slice_slot(number));
}

/*
 * Under member->lock. The same, when the stream has come so far. If it is the last use the stream
 * clears the mark itself, so that the owner sees it whatever this process does meanwhile; else the
 * use counts until a call checks it.
 */
static ww_status drop_by_stream(struct holding *holding, struct ww_stream *stream)
{
	struct ww_member *member = holding->member;
	struct ww_member_slot *slot = slot_of(member, holding->number);

	holding->is_counted = slot->count > 1;
	if (!holding->is_counted) {
		ww_try(ww_marks_stream_clear(member->marks, stream,
			ww_slice_slot(holding->number)));
		slot->count = 0;
		return WW_OK;
	}
	if (!member->own)
		ww_try(ww_marks_create(member->pool_id, member->marks->slot_count, &member->own));
	return ww_marks_fence(member->own, stream, &holding->cell);
}

static void drop_now(struct ww_member *member, uint64_t number)
{
	pthread_mutex_lock(&member->lock);
	drop(member, number);
	pthread_mutex_unlock(&member->lock);
}

/* --- holdings of a slot: under member->lock --- */

static void show(struct holding *holding)
{
	struct ww_member_slot *slot = slot_of(holding->member, holding->number);

	holding->next = slot->holdings;
	slot->holdings = holding;
	ww_memory_view_enter(&holding->view);
}

/* It is not listed any more. */
static void hide(struct holding *holding)
{
	struct holding **at = &slot_of(holding->member, holding->number)->holdings;

	while (*at != holding)
		at = &(*at)->next;
	*at = holding->next;
}

static bool serves(const struct holding *holding, const struct ww_device *device,
	const struct ww_token_info *info, uint32_t access)
{
	const struct ww_memory *view = &holding->view;

	return holding->number == info->slice && view->offset == info->offset &&
		view->bytes == info->bytes && view->access == access &&
		view->mapping->device == device && view->mapping->bytes == info->total_bytes;
}

/*
 * @out_memory:  with a reference; NULL: the slice was not imported so yet
 * Return: WW_OK; as ww_memory_check_route().
 */
static ww_status find(const struct ww_member *member, const struct ww_device *device,
	const struct ww_token_info *info, const struct ww_import_options *options,
	struct ww_memory **out_memory)
{
	struct holding *holding = slot_of(member, info->slice)->holdings;

	*out_memory = NULL;
	for (; holding; holding = holding->next) {
		if (!serves(holding, device, info, options->access))
			continue;
		ww_try(ww_memory_check_route(holding->view.mapping, options));
		if (ww_ref_try_get(&holding->view.ref)) {
			*out_memory = &holding->view;
			return WW_OK;
		}
	}
	return WW_OK;
}

/* --- the end of a holding --- */

/* What is left of a holding after its mark was cleared. */
static void holding_free(struct holding *holding)
{
	ww_memory_unref(holding->view.whole);
	ww_member_stop_using(holding->member, holding->chunk);
	ww_member_leave(holding->member);
	free(holding);
}

/* Whether its stream has yet to come so far. */
static bool is_lagging(const struct holding *holding)
{
	const struct ww_member *member = holding->member;

	if (holding->is_counted)
		return !ww_marks_is_passed(member->own, &holding->cell);
	return ww_marks_has(member->marks, holding->number);
}

/* Under member->lock. Holdings whose streams have come so far. */
static void take_settled(struct ww_member *member, struct ww_list *out_settled)
{
	struct ww_list *next;

	for (struct ww_list *link = member->lagging.next; link != &member->lagging; link = next) {
		struct holding *holding = ww_container(link, struct holding, link);

		next = link->next;
		if (is_lagging(holding))
			continue;
		if (holding->is_counted)
			drop(member, holding->number);
		ww_list_remove(link);
		ww_list_append(out_settled, link);
		lagging_count--;
	}
}

static void take_settled_of(struct ww_member *member, void *settled)
{
	pthread_mutex_lock(&member->lock);
	take_settled(member, settled);
	pthread_mutex_unlock(&member->lock);
}

void ww_members_reclaim(void)
{
	struct ww_list settled = WW_LIST_INIT(settled);
	struct ww_list *link;

	if (lagging_count > 0)
		ww_members_each(take_settled_of, &settled);
	while ((link = ww_list_take_first(&settled)))
		holding_free(ww_container(link, struct holding, link));
	ww_members_drop_unused();
}

/* The slice is marked. Whether the token names bytes of it, and of a chunk that is what it says. */
static ww_status check_span(const struct ww_token_info *info, uint64_t offset, uint64_t bytes)
{
	if (info->offset < offset || info->bytes > bytes ||
		info->offset - offset > bytes - info->bytes)
		return ww_fail(WW_ERR_MISMATCH, "the token names bytes that are not the slice's");
	return WW_OK;
}

static ww_status make_holding(struct ww_member *member, struct ww_member_chunk *chunk,
	const struct ww_token_info *info, uint32_t access, struct holding **out_holding)
{
	struct holding *holding;

	if (info->total_bytes != chunk->memory->bytes)
		return ww_fail(WW_ERR_MISMATCH,
			"the token is for a chunk of %" PRIu64 " bytes, this one has %" PRIu64,
			info->total_bytes, chunk->memory->bytes);
	holding = malloc(sizeof(*holding));
	if (!holding)
		return ww_fail(WW_ERR_NO_MEMORY, "cannot keep a slice of a pool: out of memory");
	ww_list_init(&holding->link);
	holding->member = member;
	holding->chunk = chunk;
	holding->number = info->slice;
	ww_memory_view_init(&holding->view, ww_memory_ref(chunk->memory), info->offset, info->bytes,
		access, &holding_class);
	*out_holding = holding;
	return WW_OK;
}

/* The slice is marked, so what the table says of it stays. @out_chunk: the index of its chunk */
static ww_status check_slot(const struct ww_member *member, const struct ww_token_info *info,
	uint32_t *out_chunk)
{
	const struct ww_layout_pool_slot *slot = &member->table.slots[ww_slice_slot(info->slice)];

	*out_chunk = __atomic_load_n(&slot->chunk, __ATOMIC_RELAXED);
	return check_span(info, __atomic_load_n(&slot->offset, __ATOMIC_RELAXED),
		__atomic_load_n(&slot->bytes, __ATOMIC_RELAXED));
}

/* @held: as for open_slice() */
static ww_status map(struct ww_member *member, struct ww_device *device,
	const struct ww_token_info *info, const struct ww_import_options *options,
	struct ww_attachments *held, struct holding **out_holding)
{
	struct ww_chunk_request wanted = {
		.access = options->access,
		.device = device,
		.held = held,
		.bytes = info->total_bytes,
	};
	struct ww_member_chunk *chunk = NULL;
	ww_status status;

	ww_try(check_slot(member, info, &wanted.index));
	ww_try(ww_member_use_chunk(member, &wanted, &chunk));
	status = ww_memory_check_route(chunk->memory->mapping, options);
	if (status == WW_OK)
		status = make_holding(member, chunk, info, options->access, out_holding);
	if (status != WW_OK)
		ww_member_stop_using(member, chunk);
	return status;
}

/*
 * The slice is used once more, by what was imported before or by a new holding.
 * @is_import:   whether that counts as an import of the slice
 * @out_memory:  NULL: there is to be a new one
 */
static ww_status take_found(struct ww_member *member, const struct ww_device *device,
	const struct ww_token_info *info, const struct ww_import_options *options, bool is_import,
	struct ww_memory **out_memory)
{
	ww_status status;

	*out_memory = NULL;
	pthread_mutex_lock(&member->lock);
	status = take(member, info);
	if (status == WW_OK) {
		status = find(member, device, info, options, out_memory);
		if (status < 0 || *out_memory)
			drop(member, info->slice);
		if (*out_memory && is_import)
			ww_marks_count(member->marks, info->slice);
	}
	pthread_mutex_unlock(&member->lock);
	return status;
}

/*
 * Takes over the use of the slice, and one of the member. Another thread may have imported the same
 * meanwhile.
 */
static struct ww_memory *enter(struct holding *holding, const struct ww_device *device,
	const struct ww_token_info *info, const struct ww_import_options *options, bool is_import)
{
	struct ww_member *member = holding->member;
	struct ww_memory *memory = NULL;

	pthread_mutex_lock(&member->lock);
	(void)find(member, device, info, options, &memory);
	if (memory)
		drop(member, info->slice);
	else
		show(holding);
	if (is_import)
		ww_marks_count(member->marks, info->slice);
	pthread_mutex_unlock(&member->lock);
	if (!memory)
		return &holding->view;
	holding_free(holding);
	return memory;
}

/*
 * The slice as a memory: one that is here already, or a new one.
 * @member:  counted in its users; NULL afterwards: the new one has taken that over
 * @held:    NULL, or what ww_member_hold() filled for this slice
 */
static ww_status open_slice(struct ww_member **member, struct ww_device *device,
	const struct ww_token_info *info, const struct ww_import_options *options, bool is_import,
	struct ww_attachments *held, struct ww_memory **out_memory)
{
	struct holding *holding = NULL;
	ww_status status;

	ww_try(take_found(*member, device, info, options, is_import, out_memory));
	if (*out_memory)
		return WW_OK;
	status = map(*member, device, info, options, held, &holding);
	if (status != WW_OK) {
		drop_now(*member, info->slice);
		return status;
	}
	*member = NULL;
	*out_memory = enter(holding, device, info, options, is_import);
	return WW_OK;
}

ww_status ww_member_import(struct ww_device *device, struct ww_broker *broker,
	const struct ww_token_content *token, const struct ww_import_options *options,
	bool is_import, struct ww_memory **out_memory)
{
	WW_AUTO_REQUEST_LIMIT uint64_t former_ns = ww_request_limit();
	WW_AUTO_MEMBER struct ww_member *member = NULL;

	ww_try(ww_member_join(broker, token, &member));
	return open_slice(&member, device, &token->info, options, is_import, NULL, out_memory);
}

ww_status ww_member_token(struct ww_member *member, struct ww_broker *broker,
	struct ww_token_info *info, struct ww_token *out_token)
{
	/* Other threads need not wait while the broker is asked. */
	struct ww_pool_keys keys = ww_member_keys(member);

	if (broker && broker != keys.broker)
		return ww_fail(WW_ERR_STATE,
			"the slice came by the broker at %s; it can be exported there only",
			keys.broker->address.path);
	info->flags |= WW_TOKEN_PASSED;
	ww_try(ww_pool_keys_token(&keys, info, out_token));
	ww_member_learn(member, &keys);
	return WW_OK;
}

/* --- use without a mapping --- */

/* Counts a use of the slice as one without a mapping. */
static void keep(struct ww_member *member, uint64_t number, bool is_import)
{
	pthread_mutex_lock(&member->lock);
	slot_of(member, number)->kept++;
	if (is_import)
		ww_marks_count(member->marks, number);
	pthread_mutex_unlock(&member->lock);
}

ww_status ww_member_hold(struct ww_broker *broker, const struct ww_token_content *token,
	bool is_import, struct ww_attachments *holds, struct ww_member **out_member,
	uint32_t *out_memory_kind)
{
	const struct ww_token_info *info = &token->info;
	WW_AUTO_REQUEST_LIMIT uint64_t former_ns = ww_request_limit();
	WW_AUTO_MEMBER struct ww_member *member = NULL;
	ww_status status;
	uint32_t chunk;

	ww_try(ww_member_join(broker, token, &member));
	pthread_mutex_lock(&member->lock);
	status = take(member, info);
	pthread_mutex_unlock(&member->lock);
	ww_try(status);
	status = check_slot(member, info, &chunk);
	if (status == WW_OK)
		status = ww_member_hold_chunk(member, chunk, info->access, info, holds);
	if (status != WW_OK) {
		drop_now(member, info->slice);
		return status;
	}
	keep(member, info->slice, is_import);
	*out_memory_kind = member->kind;
	*out_member = ww_steal(member);
	return WW_OK;
}

void ww_member_let_go(struct ww_member *member, uint64_t number)
{
	pthread_mutex_lock(&member->lock);
	slot_of(member, number)->kept--;
	drop(member, number);
	pthread_mutex_unlock(&member->lock);
	ww_member_leave(member);
	ww_members_reclaim();
}

ww_status ww_member_map(struct ww_member *member, struct ww_attachments *holds,
	struct ww_device *device, const struct ww_token_info *info,
	const struct ww_import_options *options, struct ww_memory **out_memory)
{
	WW_AUTO_REQUEST_LIMIT uint64_t former_ns = ww_request_limit();
	WW_AUTO_MEMBER struct ww_member *user = member;
	struct ww_pool_keys keys = ww_member_keys(member);

	/* All requests together, since other threads may wait for the chunk. */
	ww_request_limit_all(ww_clock_deadline_ns(ww_broker_client_timeout_ns(keys.broker)));
	ww_member_ref(member);
	return open_slice(&user, device, info, options, false, holds, out_memory);
}

/* One use more of the slice that @holding stands for, without a memory: no import finds it. */
static struct holding *holding_copy(const struct holding *holding)
{
	struct holding *copy = calloc(1, sizeof(*copy));
	struct ww_member *member = holding->member;

	if (!copy) {
		ww_fail(WW_ERR_NO_MEMORY, "cannot note the release of a slice: out of memory");
		return NULL;
	}
	ww_list_init(&copy->link);
	copy->member = member;
	copy->chunk = holding->chunk;
	copy->number = holding->number;
	copy->view.whole = ww_memory_ref(holding->view.whole);
	ww_member_ref(member);
	pthread_mutex_lock(&member->lock);
	copy->chunk->users++;
	slot_of(member, copy->number)->count++;
	pthread_mutex_unlock(&member->lock);
	return copy;
}

/* Under member->lock. Takes over the holding, and its use of the slice, on success. */
static ww_status release_by_stream(struct holding *holding, struct ww_stream *stream)
{
	ww_try(drop_by_stream(holding, stream));
	ww_list_append(&holding->member->lagging, &holding->link);
	lagging_count++;
	return WW_OK;
}

/*
 * If there is one reference, the caller's: the view is taken out of its whole, so that no address
 * leads to it, and under the lock no import can add a reference.
 * @out_is_last:  whether that is so; else nothing was done
 */
static ww_status release_last(struct holding *holding, struct ww_stream *stream, bool *out_is_last)
{
	struct ww_member *member = holding->member;
	ww_status status = WW_OK;

	pthread_mutex_lock(&member->lock);
	*out_is_last = ww_memory_view_leave_last(&holding->view);
	if (*out_is_last)
		status = release_by_stream(holding, stream);
	if (*out_is_last && status == WW_OK)
		hide(holding);
	else if (*out_is_last)
		ww_memory_view_enter(&holding->view);
	pthread_mutex_unlock(&member->lock);
	return status;
}

/* Of several references: the stream's use of the slice is one of its own, and ends with it. */
static ww_status release_one_of_many(struct ww_memory *memory, struct ww_stream *stream)
{
	struct holding *copy = holding_copy(ww_container(memory, struct holding, view));
	ww_status status;

	if (!copy)
		return WW_ERR_NO_MEMORY;
	pthread_mutex_lock(&copy->member->lock);
	status = release_by_stream(copy, stream);
	pthread_mutex_unlock(&copy->member->lock);
	if (status < 0) {
		drop_now(copy->member, copy->number);
		holding_free(copy);
		return status;
	}
	ww_memory_unref(memory);
	return WW_OK;
}

/* --- the operations of a holding --- */

static void release_holding(struct ww_memory *view)
{
	struct holding *holding = ww_container(view, struct holding, view);
	struct ww_member *member = holding->member;

	pthread_mutex_lock(&member->lock);
	ww_memory_view_leave(view);
	hide(holding);
	drop(member, holding->number);
	pthread_mutex_unlock(&member->lock);
	holding_free(holding);
	ww_members_reclaim();
}

static struct ww_broker *holding_broker(struct ww_memory *view)
{
	return ww_container(view, struct holding, view)->member->keys.broker;
}

static ww_status holding_export(struct ww_memory *view, struct ww_broker *broker,
	const struct ww_export_params *ours, struct ww_token *out_token)
{
	struct holding *holding = ww_container(view, struct holding, view);
	struct ww_member *member = holding->member;
	struct ww_token_info info;

	ww_slice_token_info(&info, view, holding->number, ours);
	return ww_member_token(member, broker, &info, out_token);
}

static ww_status holding_revoke(struct ww_memory *view, const struct ww_broker *broker)
{
	(void)view;
	(void)broker;
	return ww_fail(WW_ERR_ACCESS,
		"cannot revoke tokens of a slice of another process's pool; its owner can");
}

static ww_status holding_stream_release(struct ww_memory *view, struct ww_stream *stream)
{
	bool is_last;

	ww_try(release_last(ww_container(view, struct holding, view), stream, &is_last));
	if (!is_last)
		ww_try(release_one_of_many(view, stream));
	ww_members_reclaim();
	return WW_OK;
}

static ww_status holding_put(struct ww_memory *view, struct ww_broker *broker, const char *name,
	const struct ww_put_params *params, uint64_t timeout_ns)
{
	(void)view;
	(void)broker;
	(void)params;
	(void)timeout_ns;
	return ww_fail(WW_ERR_ACCESS,
		"cannot put %s%.100s%s: this is a slice of another process's pool, which that process "
		"alone may put; hand it on by a token (ww_memory_export()), or copy it",
		name ? "'" : "it", name ? name : "", name ? "'" : "");
}

static const struct ww_view_class holding_class = {
	.flags = WW_MEMORY_IS_SLICE,
	.release = release_holding,
	.broker = holding_broker,
	.put = holding_put,
	.export = holding_export,
	.revoke = holding_revoke,
	.stream_release = holding_stream_release,
};
