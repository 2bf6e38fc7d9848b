/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slice.c - slices in their owner's process: from one state to the next, see slice.h
 *
 * Every function is called under pool->lock, except the operations of the view's class and
 * ww_slice_map(), which take it.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/await.h"
#include "base/clock.h"
#include "base/condition.h"
#include "base/error.h"
#include "memory/view.h"
#include "pool/owner/deliveries.h"
#include "pool/owner/importers.h"
#include "pool/owner/put_pool.h"
#include "pool/owner/slice.h"
#include "share/choose_broker.h"
#include "share/token_export.h"

#define NS_PER_MS UINT64_C(1000000)

/*
 * A part of a slice, or the slice for reading: this process imported it by a token of its own pool.
 * There is one for each span and access.
 */
struct part {
	struct ww_memory view;
	struct ww_slice *slice; /* a reference to its view */
	struct ww_list link;    /* in its parts */
};

static const struct ww_view_class slice_class;
static const struct ww_view_class part_class;

/* --- slots --- */

static uint64_t take_slot(struct ww_pool *pool)
{
	uint32_t slot = pool->free_slot_count > 0 ? pool->free_slots[--pool->free_slot_count]
						  : pool->slots_touched++;

	return ++pool->generations[slot] << WW_SLOT_BITS | slot;
}

static struct ww_slice *take_spare(struct ww_pool *pool)
{
	struct ww_list *link = ww_list_take_first(&pool->spare);
	struct ww_slice *slice;

	if (link)
		return ww_container(link, struct ww_slice, link);
	slice = calloc(1, sizeof(*slice));
	if (!slice) {
		ww_fail(WW_ERR_NO_MEMORY, "cannot keep a slice of a pool: out of memory");
		return NULL;
	}
	ww_list_init(&slice->link);
	slice->pool = pool; /* for ever: release_slice() reads it before it has the lock */
	return slice;
}

/*
 * Used from now on: one reference of the view, which holds one of the pool and one of the chunk's
 * memory.
 */
static void use(struct ww_slice *slice)
{
	struct ww_pool *pool = slice->pool;

	ww_memory_view_init(&slice->view, ww_memory_ref(slice->chunk->memory), slice->block->offset,
		slice->block->bytes, WW_ACCESS_WRITE, &slice_class);
	ww_memory_view_enter(&slice->view);
	ww_ref_get(&pool->ref);
	slice->is_used = true;
	pool->used_count++;
	pool->used_bytes += slice->block->bytes;
	if (pool->used_bytes + pool->waiting_bytes > pool->peak_bytes)
		pool->peak_bytes = pool->used_bytes + pool->waiting_bytes;
}

/* A number more by which the slice is found. */
static uint64_t open_slot(struct ww_slice *slice)
{
	struct ww_pool *pool = slice->pool;
	uint64_t number = take_slot(pool);

	pool->slices[ww_slice_slot(number)] = slice;
	ww_slice_table_open_slot(&pool->table, number, slice->chunk->index, slice->block->offset,
		slice->block->bytes);
	return number;
}

/* There is no token of that number yet. */
static struct ww_slice_tokens *add_tokens(struct ww_slice *slice, uint64_t number)
{
	struct ww_slice_tokens *tokens = &slice->tokens[slice->kind_count++];

	*tokens = (struct ww_slice_tokens){.number = number};
	return tokens;
}

struct ww_slice *ww_slice_open(struct ww_pool *pool, struct ww_arena_block *block)
{
	struct ww_slice *slice = take_spare(pool);

	if (!slice)
		return NULL;
	slice->chunk = block->chunk;
	slice->block = block;
	ww_list_init(&slice->parts);
	slice->chunk->slice_count++;
	pool->allocations++;
	use(slice);
	slice->kind_count = 0;
	slice->name_number = 0;
	(void)add_tokens(slice, open_slot(slice));
	return slice;
}

/* --- letting go --- */

static void give_back(struct ww_slice *slice)
{
	struct ww_pool *pool = slice->pool;

	ww_slice_end_deliveries(slice);
	slice->chunk->slice_count--;
	ww_pool_give_block(pool, slice->block);
	for (uint32_t i = 0; i < slice->kind_count; i++) {
		pool->slices[ww_slice_slot(slice->tokens[i].number)] = NULL;
		ww_pool_give_slot(pool, slice->tokens[i].number);
	}
	ww_list_append(&pool->spare, &slice->link);
}

static void set_escrow(struct ww_slice *slice, const struct ww_slice_tokens *tokens,
	uint64_t escrow)
{
	ww_slice_table_set_escrow(&slice->pool->table, ww_slice_slot(tokens->number), escrow);
}

/*
 * Tokens of the slice, which this process does not use, open it while they are in flight.
 * @is_new:  this process has just used it, so the table says nothing of the end of an escrow
 * Return:   whether any is.
 */
static bool set_escrows(struct ww_slice *slice, bool is_new)
{
	bool is_any = false;

	for (uint32_t i = 0; i < slice->kind_count; i++) {
		const struct ww_slice_tokens *tokens = &slice->tokens[i];

		if (!ww_tokens_are_in_flight(slice->pool, tokens)) {
			set_escrow(slice, tokens, WW_ESCROW_OVER);
			continue;
		}
		if (is_new)
			set_escrow(slice, tokens, ww_escrow(tokens->expected, tokens->until_ns));
		is_any = true;
	}
	return is_any;
}

/* The slice has no reference left in this process: its bytes are given back, or it waits. */
static void retire(struct ww_slice *slice)
{
	struct ww_pool *pool = slice->pool;
	uint64_t bytes = slice->block->bytes;

	ww_memory_view_leave(&slice->view);
	ww_memory_unref(slice->view.whole);
	slice->is_used = false;
	pool->used_count--;
	pool->used_bytes -= bytes;
	if (!set_escrows(slice, true) && ww_slice_is_free(slice)) {
		give_back(slice);
		return;
	}
	pool->waiting_count++;
	pool->waiting_bytes += bytes;
	ww_list_append(&pool->waiting, &slice->link);
}

/* One that waits does so no longer. */
static void stop_waiting(struct ww_slice *slice)
{
	slice->pool->waiting_count--;
	slice->pool->waiting_bytes -= slice->block->bytes;
	ww_list_remove(&slice->link);
}

/* Return: whether one that waits was free, and is given back. */
static bool sweep(struct ww_slice *slice)
{
	if (set_escrows(slice, false) || !ww_slice_is_free(slice))
		return false;
	stop_waiting(slice);
	give_back(slice);
	return true;
}

bool ww_slices_sweep(struct ww_pool *pool, uint32_t count)
{
	bool is_any_free = false;
	struct ww_list *link;

	if (count > pool->waiting_count)
		count = pool->waiting_count;
	if (count > 0 && !ww_pool_knows_all(pool))
		(void)ww_pool_meet_holders(pool); /* else those that were shared stay as they are */
	if (count > 0 || pool->must_ask_names)
		ww_pool_meet_names(pool);
	while (count-- > 0 && (link = ww_list_take_first(&pool->waiting))) {
		ww_list_append(&pool->waiting, link); /* the next one begins with another */
		is_any_free |= sweep(ww_container(link, struct ww_slice, link));
	}
	return is_any_free;
}

/* --- revoking --- */

/* The slice has the number of @former no longer; takes it over. */
static void close_number(struct ww_slice *slice, struct ww_former_number *former)
{
	struct ww_pool *pool = slice->pool;

	ww_slice_table_close_slot(&pool->table, ww_slice_slot(former->number));
	pool->slices[ww_slice_slot(former->number)] = NULL;
	former->next = slice->formers;
	slice->formers = former;
	pool->former_count++;
}

/* The numbers of the slice, to be closed. Return: NULL: out of memory. */
static struct ww_former_number *list_numbers(const struct ww_slice *slice)
{
	struct ww_former_number *list = NULL;

	for (uint32_t i = 0; i < slice->kind_count; i++) {
		struct ww_former_number *former = malloc(sizeof(*former));

		if (!former) {
			ww_formers_free(list);
			return NULL;
		}
		*former = (struct ww_former_number){list, slice->tokens[i].number};
		list = former;
	}
	return list;
}

static ww_status renumber(struct ww_slice *slice)
{
	bool has_name = slice->name_number != 0;
	struct ww_former_number *former;
	struct ww_former_number *list;
	ww_status status = WW_OK;
	uint64_t number;

	if (!ww_slices_have_slot(slice->pool))
		return ww_fail(WW_ERR_LIMIT,
			"cannot revoke tokens: all %" PRIu32
			" slots of the pool are taken, and one more is needed (slices_max)",
			slice->pool->slot_count);
	list = list_numbers(slice);
	if (!list)
		return ww_fail(WW_ERR_NO_MEMORY, "cannot revoke tokens: out of memory");
	ww_slice_end_deliveries(slice);
	number = open_slot(slice);
	if (has_name) /* before the old number opens nothing any more */
		status = ww_slice_rename(slice, number);
	while ((former = list)) {
		list = former->next;
		close_number(slice, former);
	}
	slice->kind_count = 0;
	add_tokens(slice, number)->is_shared = has_name;
	(void)ww_slice_has_formers(slice);
	return status;
}

ww_status ww_slice_recall(struct ww_slice *slice)
{
	if (slice->is_used)
		return renumber(slice);
	for (uint32_t i = 0; i < slice->kind_count; i++) {
		if (slice->tokens[i].are_deliveries)
			slice->tokens[i].expected = 0;
		slice->tokens[i].sent_ns = 0;
	}
	ww_slice_end_deliveries(slice);
	(void)sweep(slice);
	return WW_OK;
}

/* --- import into the owner's process --- */

/* Return: the part that such a token named before, with a reference; NULL: there is none. */
static struct ww_memory *find_part(const struct ww_slice *slice, const struct ww_token_info *info,
	uint32_t access)
{
	ww_list_for_each (link, &slice->parts) {
		struct ww_memory *view = &ww_container(link, struct part, link)->view;

		if (view->offset == info->offset && view->bytes == info->bytes &&
			view->access == access && ww_ref_try_get(&view->ref))
			return view;
	}
	return NULL;
}

/* One that waited is used again. */
static void hold(struct ww_slice *slice)
{
	if (!slice->is_used) {
		stop_waiting(slice);
		for (uint32_t i = 0; i < slice->kind_count; i++)
			set_escrow(slice, &slice->tokens[i], WW_ESCROW_OWNER_HAS);
		use(slice);
	} else if (!ww_ref_try_get(&slice->view.ref)) {
		ww_memory_view_leave(&slice->view); /* a search by address must not see this */
		ww_ref_init(&slice->view.ref);
		ww_memory_view_enter(&slice->view);
		ww_ref_get(&slice->pool->ref);
	}
}

/* A new part of a slice; its reference of the slice is the part's. */
static ww_status take_part(struct ww_slice *slice, const struct ww_token_info *info,
	uint32_t access, struct ww_memory **out_memory)
{
	struct part *part = calloc(1, sizeof(*part));

	if (!part)
		return ww_fail(WW_ERR_NO_MEMORY, "cannot keep a part of a slice: out of memory");
	hold(slice); /* first, so that the slice is listed before its parts */
	part->slice = slice;
	ww_memory_view_init(&part->view, ww_memory_ref(slice->chunk->memory), info->offset,
		info->bytes, access, &part_class);
	ww_memory_view_enter(&part->view);
	ww_list_append(&slice->parts, &part->link);
	*out_memory = &part->view;
	return WW_OK;
}

/* Whether it can be had: it is used here, a process uses it, or such a token is in flight. */
static bool is_there(struct ww_slice *slice, const struct ww_token_info *info)
{
	if (slice->is_used)
		return true;
	if (sweep(slice))
		return false;
	return info->flags & WW_TOKEN_PASSED ||
		ww_tokens_are_in_flight(slice->pool,
			ww_slice_tokens_in(slice, ww_slice_slot(info->slice)));
}

/* Return: borrowed; NULL: the record says why. */
static struct ww_slice *find_slice(const struct ww_pool *pool, const struct ww_token_info *info)
{
	uint32_t slot = ww_slice_slot(info->slice);
	struct ww_slice *slice = slot < pool->slot_count ? pool->slices[slot] : NULL;

	if (!slice || ww_slice_tokens_in(slice, slot)->number != info->slice ||
		!is_there(slice, info)) {
		ww_fail_slice_gone();
		return NULL;
	}
	if (info->total_bytes != slice->chunk->memory->bytes ||
		info->offset < slice->block->offset ||
		info->offset + info->bytes > slice->block->offset + slice->block->bytes) {
		ww_fail(WW_ERR_MISMATCH, "the token names bytes that are not the slice's");
		return NULL;
	}
	return slice;
}

/* The memory that a token of the slice names. */
static ww_status take_span(struct ww_slice *slice, const struct ww_token_info *info,
	const struct ww_import_options *options, struct ww_memory **out_memory)
{
	uint32_t access = options->access;

	ww_try(ww_memory_check_route(slice->chunk->memory->mapping, options));
	*out_memory = find_part(slice, info, access);
	if (!*out_memory && (access < WW_ACCESS_WRITE || info->bytes < slice->block->bytes)) {
		ww_try(take_part(slice, info, access, out_memory));
	} else if (!*out_memory) {
		hold(slice);
		*out_memory = &slice->view;
	}
	return WW_OK;
}

ww_status ww_slice_take(struct ww_pool *pool, const struct ww_token_info *info,
	const struct ww_import_options *options, bool is_import, struct ww_memory **out_memory)
{
	struct ww_slice *slice = find_slice(pool, info);
	struct ww_slice_tokens *tokens;

	if (!slice)
		return ww_error_last()->status;
	ww_try(take_span(slice, info, options, out_memory));
	if (!is_import)
		return WW_OK;
	tokens = ww_slice_tokens_in(slice, ww_slice_slot(info->slice));
	tokens->taken++;
	tokens->taken_here++;
	ww_slice_write_deliveries(slice, tokens);
	return WW_OK;
}

/* --- by streams --- */

/* The slice is used until the stream has come so far. */
static ww_status fence(struct ww_slice *slice, struct ww_stream *stream)
{
	struct ww_pool *pool = slice->pool;
	struct ww_release *release;
	ww_status status;

	(void)ww_slice_is_streaming(slice);
	if (!pool->own)
		ww_try(ww_marks_create(pool->id, pool->slot_count, &pool->own));
	release = malloc(sizeof(*release));
	if (!release)
		return ww_fail(WW_ERR_NO_MEMORY,
			"cannot note the release of a slice: out of memory");
	status = ww_marks_fence(pool->own, stream, &release->cell);
	if (status < 0) {
		free(release);
		return status;
	}
	release->next = slice->releases;
	slice->releases = release;
	return WW_OK;
}

/* --- the operations of a slice, and of a part of one --- */

/*
 * Between the last unref and the lock another thread may have found the slice by a token, used it
 * anew and released it too. So the thread that gets the lock first retires the slice, and each
 * thread gives back the reference of the pool that came with one use.
 */
static bool has_ended(struct ww_slice *slice)
{
	return slice->is_used &&
		atomic_load_explicit(&slice->view.ref.count, memory_order_acquire) == 0;
}

static void release_slice(struct ww_memory *view)
{
	struct ww_slice *slice = ww_container(view, struct ww_slice, view);
	struct ww_pool *pool = slice->pool;
	bool is_awaited;

	pthread_mutex_lock(&pool->lock);
	if (has_ended(slice))
		retire(slice);
	is_awaited = !ww_list_is_empty(&pool->queue);
	pthread_mutex_unlock(&pool->lock);
	if (is_awaited) /* after the unlock: a thread that waits only tries the lock */
		ww_await_wake(&pool->wakes);
	ww_pool_drop(pool);
}

static void release_part(struct ww_memory *view)
{
	struct part *part = ww_container(view, struct part, view);
	struct ww_pool *pool = part->slice->pool;

	pthread_mutex_lock(&pool->lock);
	ww_list_remove(&part->link);
	pthread_mutex_unlock(&pool->lock);
	ww_memory_view_leave(view);
	ww_memory_unref(&part->slice->view);
	ww_memory_unref(view->whole);
	free(part);
}

static struct ww_slice *slice_of(struct ww_memory *view)
{
	if (view->class == &slice_class)
		return ww_container(view, struct ww_slice, view);
	return ww_container(view, struct part, view)->slice;
}

ww_status ww_slice_map(struct ww_memory *held, const struct ww_device *device,
	const struct ww_token_info *info, const struct ww_import_options *options,
	struct ww_memory **out_memory)
{
	struct ww_slice *slice = slice_of(held);
	ww_status status;

	ww_try(ww_pool_check_device(slice->pool, device));
	ww_try(ww_lock_unless_cancelled(&slice->pool->lock));
	status = take_span(slice, info, options, out_memory);
	pthread_mutex_unlock(&slice->pool->lock);
	return status;
}

static struct ww_broker *slice_broker(struct ww_memory *view)
{
	struct ww_pool *pool = slice_of(view)->pool;
	struct ww_broker *broker;

	pthread_mutex_lock(&pool->lock);
	broker = pool->keys.broker;
	pthread_mutex_unlock(&pool->lock);
	return broker;
}

static ww_status slice_put(struct ww_memory *view, struct ww_broker *broker, const char *name,
	const struct ww_put_params *params, uint64_t timeout_ns)
{
	return ww_slice_put(slice_of(view), view, broker, name, params, timeout_ns);
}

static void note_delivery(struct ww_slice_tokens *tokens, uint64_t escrow_ns)
{
	uint64_t keep_ms = escrow_ns / NS_PER_MS + (escrow_ns % NS_PER_MS != 0);

	if (keep_ms > UINT32_MAX)
		keep_ms = UINT32_MAX;
	if (keep_ms > tokens->keep_ms)
		tokens->keep_ms = (uint32_t)keep_ms;
	tokens->sent_ns = ww_clock_now_ns();
}

/* Under pool->lock. */
/* Return: WW_OK; WW_CANCELLED (who uses the slice was not seen, so nothing is expected). */
static ww_status expect_imports(struct ww_slice *slice, struct ww_slice_tokens *tokens,
	const struct ww_export_params *ours)
{
	uint64_t escrow_ns = ours->escrow_ns ? ours->escrow_ns : WW_ESCROW_NS;
	struct ww_pool *pool = slice->pool;
	uint64_t until_ns;

	if (escrow_ns == WW_ESCROW_NONE)
		return WW_OK;
	/* Imports that no token announced, and tokens that were never imported, do not count. */
	if (!ww_pool_knows_all(pool)) {
		/* In any case: what is not seen now would end the escrow early. */
		pool->holders.newcomers.ask_again_ns = 0;
		if (ww_pool_meet_holders(pool) == WW_CANCELLED)
			return WW_CANCELLED;
	}
	if (!ww_tokens_are_in_flight(pool, tokens)) {
		tokens->expected = tokens->taken + ww_pool_taken(pool, tokens->number);
		tokens->until_ns = 0;
		tokens->sent_ns = 0;
		tokens->keep_ms = 0;
	}
	if (tokens->are_deliveries)
		note_delivery(tokens, escrow_ns);
	until_ns = tokens->are_deliveries ? WW_NEVER : ww_clock_deadline_ns(escrow_ns);
	if (until_ns > tokens->until_ns)
		tokens->until_ns = until_ns;
	tokens->expected += ours->uses ? ours->uses : 1;
	ww_slice_write_deliveries(slice, tokens);
	return WW_OK;
}

ww_status ww_slice_choose_tokens(struct ww_slice *slice, bool is_delivery,
	struct ww_slice_tokens **out_tokens)
{
	struct ww_pool *pool = slice->pool;

	for (uint32_t i = 0; i < slice->kind_count; i++) {
		*out_tokens = &slice->tokens[i];
		if (!(*out_tokens)->is_shared || (*out_tokens)->are_deliveries == is_delivery)
			return WW_OK;
	}
	if (!ww_slices_have_slot(pool))
		(void)ww_slices_sweep(pool, pool->waiting_count);
	if (!ww_slices_have_slot(pool))
		return ww_fail(WW_ERR_LIMIT,
			"cannot make both deliveries and other tokens of a slice: all %" PRIu32
			" slots of the pool are taken, and one more is needed (slices_max)",
			pool->slot_count);
	*out_tokens = add_tokens(slice, open_slot(slice));
	return WW_OK;
}

/* Under pool->lock, under which the slice's number may change. */
static ww_status make_token(struct ww_memory *view, struct ww_broker *broker,
	const struct ww_export_params *ours, struct ww_token *out_token)
{
	bool is_delivery = ours->flags & WW_EXPORT_DELIVERY;
	struct ww_slice *slice = slice_of(view);
	struct ww_slice_tokens *tokens;
	struct ww_token_info info;

	if (is_delivery)
		ww_try(ww_pool_check_deliveries(slice->pool, slice, ours->uses));
	ww_try(ww_slice_choose_tokens(slice, is_delivery, &tokens));
	ww_slice_token_info(&info, view, tokens->number, ours);
	ww_try(ww_pool_share(slice->pool, slice->chunk, broker));
	ww_try(ww_pool_keys_token(&slice->pool->keys, &info, out_token));
	tokens->is_shared = true;
	tokens->are_deliveries = is_delivery;
	return expect_imports(slice, tokens, ours);
}

static ww_status slice_export(struct ww_memory *view, struct ww_broker *broker,
	const struct ww_export_params *ours, struct ww_token *out_token)
{
	WW_AUTO_BROKER struct ww_broker *opened = NULL;
	struct ww_slice *slice = slice_of(view);
	ww_status status;

	ww_try(ww_choose_broker_of(view, &broker, &opened, 0));
	ww_try(ww_lock_unless_cancelled(&slice->pool->lock));
	status = make_token(view, broker, ours, out_token);
	pthread_mutex_unlock(&slice->pool->lock);
	return status;
}

/* The slice gets another number, so that no token made so far opens it. */
static ww_status slice_revoke(struct ww_memory *view, const struct ww_broker *broker)
{
	struct ww_slice *slice = slice_of(view);
	struct ww_pool *pool = slice->pool;
	ww_status status = WW_OK;

	pthread_mutex_lock(&pool->lock);
	if (!pool->keys.broker || (broker && broker != pool->keys.broker))
		status = ww_fail(WW_ERR_NOT_FOUND,
			"cannot revoke tokens: the slice's pool is not in %s broker",
			broker ? "this" : "any");
	else if (slice->tokens[0].is_shared)
		status = renumber(slice);
	pthread_mutex_unlock(&pool->lock);
	return status;
}

static ww_status slice_stream_release(struct ww_memory *view, struct ww_stream *stream)
{
	struct ww_slice *slice = slice_of(view);
	ww_status status;

	pthread_mutex_lock(&slice->pool->lock);
	status = fence(slice, stream);
	pthread_mutex_unlock(&slice->pool->lock);
	ww_try(status);
	ww_memory_unref(view);
	return WW_OK;
}

static const struct ww_view_class slice_class = {
	.flags = WW_MEMORY_IS_SLICE,
	.release = release_slice,
	.broker = slice_broker,
	.put = slice_put,
	.export = slice_export,
	.revoke = slice_revoke,
	.stream_release = slice_stream_release,
};

static const struct ww_view_class part_class = {
	.flags = WW_MEMORY_IS_SLICE,
	.release = release_part,
	.broker = slice_broker,
	.put = slice_put,
	.export = slice_export,
	.revoke = slice_revoke,
	.stream_release = slice_stream_release,
};
