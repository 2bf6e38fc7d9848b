/* SPDX-License-Identifier: Apache-2.0 */
/*
 * member.c - slices of another process's pool, see member.h
 *
 * A slice that this process uses has one mark, however often it was imported here; how often, is counted beside it. Taking
 * is in this order: the mark; the look whether the slice is still there; what the table says of it, which then
 * cannot change; its chunk, which may have to be got from the broker.
 */
#include "pool/member.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "pool/membership.h"

struct holding {
	struct ww_memory view;
	struct ww_list link;      /* in member->lagging */
	struct ww_member *member; /* counted in its users */
	struct ww_member_chunk *chunk;
	uint64_t number;
	/* Of a lagging one. */
	bool is_counted; /* the slice is used until the cell is passed; else the stream clears the mark */
	struct ww_marks_cell cell; /* of member->own */
};

/* --- taking and dropping --- */

/* Under member->lock. */
static ww_status take(struct ww_member *member, uint64_t number)
{
	uint32_t slot = ww_slice_slot(number);

	if (slot >= member->table.slot_count)
		return ww_fail_slice_gone();
	if (member->counts[slot] > 0) {
		if (!ww_marks_has(member->marks, number))
			return ww_fail_slice_gone();
		member->counts[slot]++;
		return WW_OK;
	}
	if (__atomic_load_n(&member->marks->at[slot].slice, __ATOMIC_ACQUIRE) != 0)
		return ww_fail(WW_ERR_STATE,
			"cannot import this slice now: a stream of this process has yet to let go of it; "
			"synchronize that one, or hold a further reference meanwhile");
	ww_marks_set(member->marks, number);
	if (__atomic_load_n(&member->table.slots[slot].slice, __ATOMIC_SEQ_CST) != number) {
		ww_marks_clear(member->marks, slot);
		return ww_fail_slice_gone();
	}
	member->counts[slot] = 1;
	return WW_OK;
}

/* Under member->lock. The slice is used once less. */
static void drop(struct ww_member *member, uint64_t number)
{
	uint32_t slot = ww_slice_slot(number);

	if (--member->counts[slot] == 0)
		ww_marks_clear(member->marks, slot);
}

/*
 * Under member->lock. The same, when the stream has come so far. If it is the last use the stream clears the mark itself, so
 * that the owner sees it whatever this process does meanwhile; else the use counts until somebody looks.
 */
static ww_status drop_by_stream(struct holding *holding, struct ww_stream *stream)
{
	struct ww_member *member = holding->member;
	uint32_t slot = ww_slice_slot(holding->number);

	holding->is_counted = member->counts[slot] > 1;
	if (!holding->is_counted) {
		ww_try(ww_marks_stream_clear(member->marks, stream, slot));
		member->counts[slot] = 0;
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

/* What is left of a holding when its mark is gone. */
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
	}
}

static void take_settled_of(struct ww_member *member, void *settled)
{
	pthread_mutex_lock(&member->lock);
	take_settled(member, settled);
	pthread_mutex_unlock(&member->lock);
}

void ww_members_tidy(void)
{
	struct ww_list settled = WW_LIST_INIT(settled);
	struct ww_list *link;

	ww_members_each(take_settled_of, &settled);
	while ((link = ww_list_take_first(&settled)))
		holding_free(ww_container(link, struct holding, link));
	ww_members_drop_gone();
}

static void release_holding(struct ww_memory *view)
{
	struct holding *holding = ww_container(view, struct holding, view);

	drop_now(holding->member, holding->number);
	holding_free(holding);
	ww_members_tidy();
}

static const struct ww_view_class holding_class = {
	.flags = WW_MEMORY_IS_SLICE,
	.release = release_holding,
};

bool ww_member_has(const struct ww_memory *memory)
{
	return memory->class == &holding_class;
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
	const struct ww_token_info *info, uint32_t access, struct ww_memory **out_memory)
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
	*out_memory = &holding->view;
	return WW_OK;
}

/* The slice is marked, so what the table says of it stays. */
static ww_status map(struct ww_member *member, struct ww_device *device,
	const struct ww_token_info *info, uint32_t access, struct ww_memory **out_memory)
{
	const struct ww_layout_pool_slot *slot = &member->table.slots[ww_slice_slot(info->slice)];
	struct ww_member_chunk *chunk = NULL;
	ww_status status;

	ww_try(check_span(info, __atomic_load_n(&slot->offset, __ATOMIC_RELAXED),
		__atomic_load_n(&slot->bytes, __ATOMIC_RELAXED)));
	ww_try(ww_member_use_chunk(member, __atomic_load_n(&slot->chunk, __ATOMIC_RELAXED), device,
		access & ~WW_STRICT, &chunk));
	status = ww_memory_check_route(chunk->memory->mapping, access);
	if (status == WW_OK)
		status = make_holding(member, chunk, info, access & ~WW_STRICT, out_memory);
	if (status < 0)
		ww_member_stop_using(member, chunk);
	return status;
}

static ww_status take_and_map(struct ww_member *member, struct ww_device *device,
	const struct ww_token_info *info, uint32_t access, struct ww_memory **out_memory)
{
	ww_status status;

	pthread_mutex_lock(&member->lock);
	status = take(member, info->slice);
	pthread_mutex_unlock(&member->lock);
	ww_try(status);
	status = map(member, device, info, access, out_memory);
	if (status < 0) {
		drop_now(member, info->slice);
		return status;
	}
	pthread_mutex_lock(&member->lock);
	ww_marks_count(member->marks, info->slice);
	pthread_mutex_unlock(&member->lock);
	return WW_OK;
}

ww_status ww_member_import(struct ww_device *device, struct ww_broker *broker,
	const struct ww_token_info *info, const struct ww_token *token, uint32_t access,
	struct ww_memory **out_memory)
{
	WW_AUTO_MEMBER struct ww_member *member = NULL;

	ww_try(ww_member_join(broker, info, token, &member));
	ww_try(take_and_map(member, device, info, access, out_memory));
	(void)ww_steal(member);
	return WW_OK;
}

ww_status ww_member_export(struct ww_memory *memory, struct ww_broker *broker,
	const struct ww_export_params *ours, struct ww_token *out_token)
{
	struct holding *holding = ww_container(memory, struct holding, view);
	struct ww_member *member = holding->member;
	struct ww_token_info info;
	ww_status status;

	ww_pool_token_info(&info, memory, holding->number, ours);
	pthread_mutex_lock(&member->lock);
	if (broker && broker != member->keys.broker)
		status = ww_fail(WW_ERR_STATE,
			"the slice came by the broker at %s; it can be exported there only",
			member->keys.broker->address.path);
	else
		status = ww_pool_keys_token(&member->keys, &info, out_token);
	pthread_mutex_unlock(&member->lock);
	return status;
}

/* One use more of the slice that @holding stands for, without a memory. */
static struct holding *holding_copy(const struct holding *holding)
{
	struct holding *copy = malloc(sizeof(*copy));
	struct ww_member *member = holding->member;

	if (!copy) {
		ww_fail(WW_ERR_NO_MEMORY, "cannot note the release of a slice: out of memory");
		return NULL;
	}
	*copy = *holding;
	ww_list_init(&copy->link);
	ww_memory_ref(copy->view.whole);
	ww_member_ref(member);
	pthread_mutex_lock(&member->lock);
	copy->chunk->users++;
	member->counts[ww_slice_slot(copy->number)]++;
	pthread_mutex_unlock(&member->lock);
	return copy;
}

/* Takes over the holding, and its use of the slice, on success. */
static ww_status release_by_stream(struct holding *holding, struct ww_stream *stream)
{
	struct ww_member *member = holding->member;
	ww_status status;

	pthread_mutex_lock(&member->lock);
	status = drop_by_stream(holding, stream);
	if (status == WW_OK)
		ww_list_append(&member->lagging, &holding->link);
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
	status = release_by_stream(copy, stream);
	if (status < 0) {
		drop_now(copy->member, copy->number);
		holding_free(copy);
		return status;
	}
	ww_memory_unref(memory);
	return WW_OK;
}

ww_status ww_member_stream_release(struct ww_memory *memory, struct ww_stream *stream)
{
	/* One is the caller's own, so that nobody else can take another meanwhile. */
	if (atomic_load_explicit(&memory->ref.count, memory_order_acquire) > 1)
		ww_try(release_one_of_many(memory, stream));
	else
		ww_try(release_by_stream(ww_container(memory, struct holding, view), stream));
	ww_members_tidy();
	return WW_OK;
}
