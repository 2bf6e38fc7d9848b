/* SPDX-License-Identifier: Apache-2.0 */
/*
 * importers.c - the processes that have imported slices, see importers.h
 *
 * Each of these processes has put an object inside the pool's, and the names of all these objects
 * begin with the same prefix. The broker counts them in a field of the owner's page (`members`).
 * The owner reads the field before it hands a slot out anew: if the count has grown, a process has
 * come, and the owner looks for it. What that process marked before is then seen; if it marks a
 * slot later, it finds the slot closed.
 *
 * The broker shows a process that has ended for some time. So a process that came and went between
 * two looks is seen too: what it imported ends escrows. Its marks are void.
 *
 * A holder's pages are believed only in what they say of that holder: a wrong mark keeps a slice
 * from being handed out, a wrong count ends an escrow early. A process that holds the pool can read
 * the marks of another process, and can show them with a page of its own. So if two users have the
 * same marks, these count until both users have ended. Of one user the newer page counts, because a
 * process that lost its connection comes again; processes of one user are not protected from each
 * other.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "share/get_reply.h"
#include "share/inside.h"
#include "client/request.h"
#include "device/memfd.h"
#include "pool/broker_object.h"
#include "pool/owner/importers.h"
#include "pool/owner/slice.h"
#include "sync/timeline.h"
#include "sync/wait_result.h"
#include "wire/sync_description.h"

#define PAUSE_NS   UINT64_C(1000000000) /* before a broker that did not answer is asked again */
#define HOLDER_FDS 2                    /* that come: the signal page, the marks */

bool ww_pool_knows_all(const struct ww_pool *pool)
{
	return !pool->life || ww_inside_count(pool->life->page) == pool->members_seen;
}

/* Whether nothing that the process marks counts any more. */
static bool is_over(const struct ww_pool_holder *holder)
{
	return __atomic_load_n(&holder->page->header->ended, __ATOMIC_ACQUIRE) ||
		__atomic_load_n(&holder->cell->state, __ATOMIC_ACQUIRE) ==
		WW_WIRE_CELL_STATE_CLOSED;
}

static void holder_free(struct ww_pool_holder *holder)
{
	ww_attachments_fini(&holder->attachments);
	ww_marks_free(holder->marks);
	ww_signal_map_unref(holder->page);
	free(holder);
}

WW_DEFINE_CLEANUP(struct ww_pool_holder, holder_free)
WW_DEFINE_CLEANUP(ww_snapshot, ww_snapshot_free)

/* --- coming --- */

static bool is_known(const struct ww_pool *pool, const uint8_t id[WW_WIRE_ID_BYTES])
{
	ww_list_for_each (link, &pool->holders) {
		if (!memcmp(ww_container(link, struct ww_pool_holder, link)->object_id, id,
			    WW_WIRE_ID_BYTES))
			return true;
	}
	return false;
}

static ww_status open_page(struct ww_pool_holder *holder, const struct ww_get_reply *grant,
	const struct ww_wire_pool_holder_ref *ref)
{
	ww_try(ww_signal_map_import(grant->request.fds_come[0], ref->page_bytes, ref->page_id,
		&holder->page));
	holder->cell = ww_signal_map_cell(holder->page, sizeof(struct ww_layout_signal_page));
	if (!holder->cell)
		return ww_fail(WW_ERR_PROTOCOL, "a process that uses a pool shows an empty page");
	return WW_OK;
}

/* Return: a holder, of the same user, that has shown these very marks before. */
static struct ww_pool_holder *find_by_marks(const struct ww_pool *pool, int fd, uint32_t uid)
{
	ww_list_for_each (link, &pool->holders) {
		struct ww_pool_holder *holder = ww_container(link, struct ww_pool_holder, link);

		if (holder->marks && holder->owner_uid == uid &&
			ww_mapping_is_named_by(holder->marks->cpu, fd))
			return holder;
	}
	return NULL;
}

static bool is_lost(const struct ww_pool_holder *holder)
{
	return __atomic_load_n(&holder->page->header->lost, __ATOMIC_ACQUIRE);
}

/*
 * The holder lost its connection, and came again: its new page, which is not lost, says what
 * becomes of it. The old object stays known, as that of a holder that has ended. Takes over @fresh.
 */
static void renew(struct ww_pool *pool, struct ww_pool_holder *holder, struct ww_pool_holder *fresh)
{
	struct ww_pool_holder former = *holder;

	if (!is_lost(fresh) || is_lost(holder)) {
		holder->page = fresh->page;
		holder->cell = fresh->cell;
		memcpy(holder->object_id, fresh->object_id, sizeof(holder->object_id));
		fresh->page = former.page;
		fresh->cell = former.cell;
		memcpy(fresh->object_id, former.object_id, sizeof(fresh->object_id));
	}
	ww_list_append(&pool->holders, &fresh->link);
}

static ww_status take_in(struct ww_pool *pool, struct ww_get_reply *grant,
	struct ww_pool_holder **fresh)
{
	const struct ww_wire_granted *granted = &grant->granted;
	const int *fds = grant->request.fds_come;
	struct ww_wire_pool_holder_ref ref;
	struct ww_pool_holder *known;

	ww_try(ww_pool_holder_ref_read(granted->description, granted->description_bytes, &ref));
	if (grant->request.fds_come_count < HOLDER_FDS || ref.slot_count != pool->slot_count)
		return ww_fail(WW_ERR_PROTOCOL,
			"a process that uses a pool shows no page, or no marks, for it");
	ww_try(open_page(*fresh, grant, &ref));
	ww_try(ww_memfd_check(fds[1], ref.marks_bytes));
	memcpy((*fresh)->object_id, granted->id, sizeof((*fresh)->object_id));
	(*fresh)->owner_uid = granted->uid;
	known = find_by_marks(pool, fds[1], granted->uid);
	if (known) {
		renew(pool, known, ww_steal(*fresh));
		ww_get_reply_keep(grant, &known->attachments);
		return WW_OK;
	}
	ww_try(ww_marks_import(fds[1], ref.marks_bytes, pool->id, pool->slot_count,
		&(*fresh)->marks));
	ww_get_reply_keep(grant, &(*fresh)->attachments);
	ww_list_append(&pool->holders, &(*fresh)->link);
	pool->holder_count++;
	(void)ww_steal(*fresh);
	return WW_OK;
}

/*
 * A process whose marks are not valid harms only itself: its slices are not protected.
 * Return: WW_OK (known now, whether new or not); WW_ERR_UNSUPPORTED (it has no valid marks);
 * WW_ERR_NO_MEMORY, WW_ERR_LIMIT...: not seen.
 */
static ww_status add_holder(struct ww_pool *pool, struct ww_get_reply *grant)
{
	WW_CLEANUP(holder_free_p) struct ww_pool_holder *fresh = NULL;
	ww_status status;

	if (is_known(pool, grant->granted.id))
		return WW_OK;
	fresh = calloc(1, sizeof(*fresh));
	if (!fresh)
		return ww_fail(WW_ERR_NO_MEMORY,
			"cannot note a process that uses a pool: out of memory");
	status = take_in(pool, grant, &fresh);
	if (status == WW_ERR_PROTOCOL || status == WW_ERR_VERSION || status == WW_ERR_MISMATCH ||
		status == WW_ERR_DESCRIPTOR)
		return WW_ERR_UNSUPPORTED;
	return status;
}

static ww_status get_holder(struct ww_pool *pool, const char *name)
{
	struct ww_wire_get message = {.access = WW_WIRE_ACCESS_READ};
	WW_AUTO_GET_REPLY struct ww_get_reply grant;

	ww_get_reply_init(&grant, pool->keys.broker, WW_WIRE_GET, &message, WW_OBJECT_POOL);
	ww_get_reply_set_name(&grant, &message, name, 0);
	ww_try(ww_get_reply_ask(&grant));
	return add_holder(pool, &grant);
}

/* --- going --- */

/* Its imports end escrows also when it has ended. */
static void remember_taken(struct ww_pool *pool, const struct ww_pool_holder *holder)
{
	for (uint32_t slot = 0; slot < pool->slots_touched; slot++) {
		struct ww_slice *slice = pool->slices[slot];
		struct ww_slice_tokens *tokens = slice ? ww_slice_tokens_in(slice, slot) : NULL;

		if (tokens && tokens->expected > 0)
			tokens->taken += ww_marks_taken(holder->marks, tokens->number);
	}
}

/*
 * The broker may show such a holder for some time yet, so the holder stays listed, without marks.
 */
static void close_ended(struct ww_pool *pool)
{
	ww_list_for_each (link, &pool->holders) {
		struct ww_pool_holder *holder = ww_container(link, struct ww_pool_holder, link);

		if (!holder->marks || !is_over(holder))
			continue;
		remember_taken(pool, holder);
		ww_marks_free(ww_steal(holder->marks));
		ww_attachments_fini(&holder->attachments);
		pool->holder_count--;
	}
}

static void forget(struct ww_pool *pool, struct ww_pool_holder *holder)
{
	ww_list_remove(&holder->link);
	if (holder->marks)
		pool->holder_count--;
	holder_free(holder);
}

void ww_pool_forget_holders(struct ww_pool *pool)
{
	while (!ww_list_is_empty(&pool->holders))
		forget(pool, ww_container(pool->holders.next, struct ww_pool_holder, link));
}

static bool is_listed(ww_snapshot *snapshot, const uint8_t id[WW_WIRE_ID_BYTES])
{
	struct ww_object_info info = WW_INIT(struct ww_object_info);

	for (size_t i = 0; ww_snapshot_object(snapshot, i, &info) == WW_OK; i++) {
		if (!memcmp(info.object_id, id, sizeof(info.object_id)))
			return true;
	}
	return false;
}

/* Those that were closed, and that the broker does not show any more. */
static void forget_closed(struct ww_pool *pool, ww_snapshot *snapshot)
{
	struct ww_list *next;

	for (struct ww_list *link = pool->holders.next; link != &pool->holders; link = next) {
		struct ww_pool_holder *holder = ww_container(link, struct ww_pool_holder, link);

		next = link->next;
		if (!holder->marks && !is_listed(snapshot, holder->object_id))
			forget(pool, holder);
	}
}

/* --- looking --- */

/* If no process uses the pool (inside.h), no slice is used: a process that shows no marks has none.
 */
static ww_status look_at(void *context, const struct ww_object_info *info)
{
	struct ww_pool *pool = context;

	if (is_known(pool, info->object_id))
		return WW_OK;
	/* What cannot be one is not asked for. */
	return info->kind == WW_OBJECT_POOL && info->fd_count > HOLDER_FDS
		? get_holder(pool, info->name)
		: WW_ERR_UNSUPPORTED;
}

/*
 * Whether the broker shows all processes that use slices. A broker that lost the pool, or gave its
 * owner up, shows none, though processes that were never seen may use slices.
 */
static ww_status check_share(struct ww_pool *pool)
{
	if (!pool->is_cut_off)
		ww_try(ww_broker_client_ensure(pool->keys.broker, false));
	if (!ww_hold_ref_is_held(&pool->attachments, pool->keys.broker) ||
		__atomic_load_n(&pool->life->page->header->lost, __ATOMIC_ACQUIRE))
		pool->is_cut_off = true;
	if (pool->is_cut_off)
		return ww_fail(WW_ERR_PEER_LOST,
			"the broker at %s has lost the pool and the list of its users, so slices that were "
			"exported are not handed out again; make a new pool",
			pool->keys.broker->address.path);
	return WW_OK;
}

static ww_status ask(struct ww_pool *pool)
{
	WW_CLEANUP(ww_snapshot_free_p) ww_snapshot *snapshot = NULL;
	uint32_t members = ww_inside_count(pool->life->page);
	char prefix[WW_POOL_NAME_BYTES];
	struct ww_error record;

	ww_error_save(&record);
	ww_pool_name(prefix, pool->id, "holder", "");
	ww_try(ww_snapshot_create(pool->keys.broker, prefix, WW_SNAPSHOT_OBJECTS, &snapshot));
	ww_try(ww_inside_look(snapshot, pool->keys.broker, look_at, pool));
	ww_try(check_share(pool));
	forget_closed(pool, snapshot);
	close_ended(pool);
	ww_error_restore(&record);
	pool->members_seen = members;
	return WW_OK;
}

ww_status ww_pool_meet_holders(struct ww_pool *pool)
{
	WW_AUTO_REQUEST_LIMIT uint64_t former_ns = ww_request_limit();
	ww_status status;

	close_ended(pool);
	if (ww_pool_knows_all(pool))
		return WW_OK;
	if (pool->is_cut_off)
		return check_share(pool);
	if (ww_clock_now_ns() < pool->ask_again_ns)
		return WW_NOT_READY;
	if (pool->ask_again_ns > 0)
		ww_request_limit_all(WW_POOL_BRIEFLY);
	status = ask(pool);
	pool->ask_again_ns = status == WW_ERR_NO_BROKER ? ww_clock_deadline_ns(PAUSE_NS) : 0;
	return status;
}

static bool has_gone(const struct ww_pool *pool)
{
	ww_list_for_each (link, &pool->holders) {
		if (!ww_container(link, struct ww_pool_holder, link)->marks)
			return true;
	}
	return false;
}

static struct ww_pool_holder *find_gone(const struct ww_pool *pool,
	const uint8_t id[WW_WIRE_ID_BYTES])
{
	ww_list_for_each (link, &pool->holders) {
		struct ww_pool_holder *holder = ww_container(link, struct ww_pool_holder, link);

		if (!holder->marks && !memcmp(holder->object_id, id, WW_WIRE_ID_BYTES))
			return holder;
	}
	return NULL;
}

ww_status ww_pool_remove_gone(struct ww_pool *pool)
{
	WW_CLEANUP(ww_snapshot_free_p) ww_snapshot *snapshot = NULL;
	struct ww_object_info info = WW_INIT(struct ww_object_info);
	char prefix[WW_POOL_NAME_BYTES];

	ww_try(ww_pool_meet_holders(pool));
	close_ended(pool);
	if (!has_gone(pool))
		return WW_OK;
	ww_pool_name(prefix, pool->id, "holder", "");
	ww_try(ww_snapshot_create(pool->keys.broker, prefix, WW_SNAPSHOT_OBJECTS, &snapshot));
	for (size_t i = 0; ww_snapshot_object(snapshot, i, &info) == WW_OK; i++) {
		if (find_gone(pool, info.object_id))
			(void)ww_broker_remove(pool->keys.broker, info.name);
	}
	forget_closed(pool, snapshot);
	return WW_OK;
}

/* --- what they use --- */

bool ww_pool_is_marked(const struct ww_pool *pool, uint64_t number)
{
	ww_list_for_each (link, &pool->holders) {
		const struct ww_pool_holder *holder = ww_container(link, struct ww_pool_holder,
			link);

		if (holder->marks && ww_marks_has(holder->marks, number) && !is_over(holder))
			return true;
	}
	return false;
}

uint64_t ww_pool_taken(const struct ww_pool *pool, uint64_t number)
{
	uint64_t taken = 0;

	ww_list_for_each (link, &pool->holders) {
		const struct ww_pool_holder *holder = ww_container(link, struct ww_pool_holder,
			link);

		if (holder->marks)
			taken += ww_marks_taken(holder->marks, number);
	}
	return taken;
}

static bool has_slice(const struct ww_pool_holder *holder, const struct ww_slice *slice)
{
	const struct ww_former_number *former = slice->formers;

	for (uint32_t i = 0; i < slice->kind_count; i++) {
		if (ww_marks_has(holder->marks, slice->tokens[i].number))
			return true;
	}
	while (former && !ww_marks_has(holder->marks, former->number))
		former = former->next;
	return former != NULL;
}

void ww_pool_describe_holder(const struct ww_pool *pool, const struct ww_pool_holder *holder,
	struct ww_pool_holder_info *info)
{
	const struct ww_layout_signal_page *page = holder->page->header;

	*info = (struct ww_pool_holder_info){
		.pid = page->pid,
		.uid = page->uid,
		.is_lost = __atomic_load_n(&page->lost, __ATOMIC_ACQUIRE) != 0,
	};
	ww_wait_result_program(page->program, info->program);
	for (uint32_t slot = 0; slot < pool->slots_touched; slot++) {
		const struct ww_slice *slice = pool->slices[slot];

		/* Once, if it has two slots. */
		if (slice && ww_slice_slot(slice->tokens[0].number) == slot &&
			has_slice(holder, slice)) {
			info->slice_count++;
			info->slice_bytes += slice->block->bytes;
		}
	}
}

bool ww_pool_find_largest_holder(const struct ww_pool *pool, struct ww_pool_holder_info *out_info)
{
	out_info->slice_bytes = 0;
	ww_list_for_each (link, &pool->holders) {
		const struct ww_pool_holder *holder = ww_container(link, struct ww_pool_holder,
			link);
		struct ww_pool_holder_info info;

		if (!holder->marks)
			continue;
		ww_pool_describe_holder(pool, holder, &info);
		if (info.slice_bytes > out_info->slice_bytes && !is_over(holder))
			*out_info = info;
	}
	return out_info->slice_bytes > 0;
}
