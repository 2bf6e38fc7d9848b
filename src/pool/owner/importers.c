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

#include "base/error.h"
#include "client/request.h"
#include "device/memfd.h"
#include "pool/broker_object.h"
#include "pool/owner/importers.h"
#include "pool/owner/slice.h"
#include "sync/timeline.h"
#include "wire/sync_description.h"

bool ww_pool_knows_all(const struct ww_pool *pool)
{
	return !pool->life || ww_group_count(pool->life->page) == pool->holders.newcomers.seen;
}

/* Whether nothing that the process marks counts any more. */
static bool is_over(const struct ww_pool_holder *holder)
{
	return ww_group_member_has_ended(&holder->member) ||
		__atomic_load_n(&holder->member.cell->state, __ATOMIC_ACQUIRE) ==
		WW_WIRE_CELL_STATE_CLOSED;
}

static void holder_free(struct ww_pool_holder *holder)
{
	ww_group_member_fini(&holder->member);
	ww_marks_free(holder->marks);
	free(holder);
}

WW_DEFINE_CLEANUP(struct ww_pool_holder, holder_free)
WW_DEFINE_CLEANUP(ww_snapshot, ww_snapshot_free)

/* --- coming --- */

struct meeting {
	struct ww_pool *pool;
	struct ww_pool_holder *former; /* that has shown the marks before; NULL */
};

/* Return: a holder, of the same user, that has shown these very marks before. */
static struct ww_pool_holder *find_by_marks(const struct ww_pool *pool, int fd, uint32_t uid)
{
	ww_list_for_each (link, &pool->holders.members) {
		struct ww_pool_holder *holder = ww_pool_holder_of(link);

		if (holder->marks && holder->member.uid == uid &&
			ww_mapping_is_named_by(holder->marks->cpu, fd))
			return holder;
	}
	return NULL;
}

/* The marks are imported when it is clear that no holder has them. */
static ww_status holder_open(void *context, struct ww_group_member *member,
	const struct ww_get_reply *grant)
{
	struct ww_pool_holder *holder = ww_container(member, struct ww_pool_holder, member);
	const struct ww_wire_granted *granted = &grant->granted;
	struct meeting *meeting = context;
	int fd = grant->request.fds_come[1];
	struct ww_wire_pool_holder_ref ref;

	ww_try(ww_pool_holder_ref_read(granted->description, granted->description_bytes, &ref));
	if (ref.slot_count != meeting->pool->slot_count)
		return ww_fail(WW_ERR_PROTOCOL, "it has marks for %" PRIu32 " slots, not %" PRIu32,
			ref.slot_count, meeting->pool->slot_count);
	ww_try(ww_group_member_map(member, grant, ref.page_bytes, ref.page_id));
	ww_try(ww_memfd_check(fd, ref.marks_bytes));
	meeting->former = find_by_marks(meeting->pool, fd, member->uid);
	if (meeting->former)
		return WW_OK;
	return ww_marks_import(fd, ref.marks_bytes, meeting->pool->id, meeting->pool->slot_count,
		&holder->marks);
}

static const struct ww_group_kind holder_kind = {
	.kind = WW_OBJECT_POOL,
	.access = WW_WIRE_ACCESS_READ,
	.fd_count = 2, /* the signal page, the marks */
	.open = holder_open,
};

/* If a process has no valid marks, that harms only itself: its slices are not protected. */
static ww_status meet_one(void *context, const struct ww_object_info *info)
{
	WW_CLEANUP(holder_free_p) struct ww_pool_holder *holder = calloc(1, sizeof(*holder));
	struct meeting meeting = {.pool = context};
	struct ww_pool_holder *former;

	if (!holder)
		return ww_fail(WW_ERR_NO_MEMORY,
			"cannot note a process that uses a pool: out of memory");
	ww_try(ww_group_get_listed(&holder_kind, meeting.pool->keys.broker, info, &meeting,
		&holder->member));
	ww_try(ww_group_add(&meeting.pool->holders, &holder->member));
	former = meeting.former;
	if (!former) {
		meeting.pool->holder_count++;
	} else if (!ww_group_member_is_lost(&holder->member) ||
		ww_group_member_is_lost(&former->member)) {
		/*
		 * It lost its connection, and came again: its new page, which is not lost, says
		 * what becomes of it. The old object stays known, as that of a holder that ended.
		 */
		holder->marks = ww_steal(former->marks);
	}
	(void)ww_steal(holder);
	return WW_OK;
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
	ww_list_for_each (link, &pool->holders.members) {
		struct ww_pool_holder *holder = ww_pool_holder_of(link);

		if (!is_over(holder))
			continue;
		ww_attachments_fini(&holder->member.attachments);
		if (!holder->marks)
			continue;
		remember_taken(pool, holder);
		ww_marks_free(ww_steal(holder->marks));
		pool->holder_count--;
	}
}

static void forget(struct ww_pool *pool, struct ww_pool_holder *holder)
{
	ww_group_remove(&pool->holders, &holder->member);
	if (holder->marks)
		pool->holder_count--;
	holder_free(holder);
}

void ww_pool_forget_holders(struct ww_pool *pool)
{
	while (!ww_list_is_empty(&pool->holders.members))
		forget(pool, ww_pool_holder_of(pool->holders.members.next));
}

/* Those that were closed, and that the broker does not show any more. */
static void forget_closed(struct ww_pool *pool)
{
	struct ww_list *next;

	for (struct ww_list *link = pool->holders.members.next; link != &pool->holders.members;
		link = next) {
		struct ww_pool_holder *holder = ww_pool_holder_of(link);

		next = link->next;
		if (!holder->marks && holder->member.listing != pool->holders.listings)
			forget(pool, holder);
	}
}

/* --- looking --- */

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

/* All holders that the broker lists, and which of those that are known it lists still. */
static ww_status list_holders(struct ww_pool *pool, ww_snapshot **out_snapshot)
{
	char prefix[WW_POOL_NAME_BYTES];

	ww_pool_name(prefix, pool->id, "holder", "");
	ww_try(ww_snapshot_create(pool->keys.broker, prefix, WW_SNAPSHOT_OBJECTS, out_snapshot));
	ww_group_note_listed(&pool->holders, *out_snapshot);
	return WW_OK;
}

static ww_status look_at_all(void *context)
{
	WW_CLEANUP(ww_snapshot_free_p) ww_snapshot *snapshot = NULL;
	struct ww_pool *pool = context;

	ww_try(list_holders(pool, &snapshot));
	ww_try(ww_group_look(&pool->holders, snapshot, pool->keys.broker, meet_one, pool));
	ww_try(check_share(pool));
	forget_closed(pool);
	close_ended(pool);
	return WW_OK;
}

ww_status ww_pool_meet_holders(struct ww_pool *pool)
{
	WW_AUTO_REQUEST_LIMIT uint64_t former_ns = ww_request_limit();

	close_ended(pool);
	if (ww_pool_knows_all(pool))
		return WW_OK;
	if (pool->is_cut_off)
		return check_share(pool);
	if (pool->holders.newcomers.ask_again_ns > 0)
		ww_request_limit_all(WW_POOL_BRIEFLY);
	return ww_group_meet(&pool->holders.newcomers, ww_group_count(pool->life->page),
		look_at_all, pool);
}

static bool has_gone(const struct ww_pool *pool)
{
	ww_list_for_each (link, &pool->holders.members) {
		if (!ww_pool_holder_of(link)->marks)
			return true;
	}
	return false;
}

ww_status ww_pool_remove_gone(struct ww_pool *pool)
{
	WW_CLEANUP(ww_snapshot_free_p) ww_snapshot *snapshot = NULL;
	struct ww_object_info info = WW_INIT(struct ww_object_info);
	ww_status status = ww_pool_meet_holders(pool);

	if (status != WW_OK)
		return status;
	close_ended(pool);
	if (!has_gone(pool))
		return WW_OK;
	ww_try(list_holders(pool, &snapshot));
	for (size_t i = 0; ww_snapshot_object(snapshot, i, &info) == WW_OK; i++) {
		struct ww_group_member *member = ww_group_find(&pool->holders, info.object_id);

		if (member && !ww_pool_holder_of(&member->link)->marks)
			(void)ww_broker_remove(pool->keys.broker, info.name);
	}
	forget_closed(pool);
	return WW_OK;
}

/* --- what they use --- */

bool ww_pool_is_marked(const struct ww_pool *pool, uint64_t number)
{
	ww_list_for_each (link, &pool->holders.members) {
		const struct ww_pool_holder *holder = ww_pool_holder_of(link);

		if (holder->marks && ww_marks_has(holder->marks, number) && !is_over(holder))
			return true;
	}
	return false;
}

uint64_t ww_pool_taken(const struct ww_pool *pool, uint64_t number)
{
	uint64_t taken = 0;

	ww_list_for_each (link, &pool->holders.members) {
		const struct ww_pool_holder *holder = ww_pool_holder_of(link);

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
	const struct ww_page_creator *creator = &holder->member.page->creator;

	*info = (struct ww_pool_holder_info){
		.pid = creator->pid,
		.uid = creator->uid,
		.is_lost = ww_group_member_is_lost(&holder->member),
	};
	memcpy(info->program, creator->program, sizeof(info->program));
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

const struct ww_pool_holder *ww_pool_find_largest_holder(const struct ww_pool *pool,
	uint64_t *out_bytes)
{
	const struct ww_pool_holder *largest = NULL;

	*out_bytes = 0;
	ww_list_for_each (link, &pool->holders.members) {
		const struct ww_pool_holder *holder = ww_pool_holder_of(link);
		struct ww_pool_holder_info info;

		if (!holder->marks)
			continue;
		ww_pool_describe_holder(pool, holder, &info);
		if (info.slice_bytes > *out_bytes && !is_over(holder)) {
			*out_bytes = info.slice_bytes;
			largest = holder;
		}
	}
	return largest;
}
