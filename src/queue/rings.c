/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rings.c - the rings of producers, as others see them, see rings.h
 *
 * A producer enters the roster after it has put its object. So a consumer learns of newcomers by
 * one load of the roster's count, and asks the broker only then. If a producer has no valid ring,
 * it is skipped: that harms the producer only.
 */
#include "queue/rings.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "memory/description.h"
#include "sync/wait_result.h"

struct ww_ring_size ww_queue_ring_size(const struct ww_work_queue *queue)
{
	return (struct ww_ring_size){queue->form.slot_count, queue->form.metadata_bytes};
}

void ww_queue_ring_free(struct ww_queue_ring *ring)
{
	if (!ring)
		return;
	ww_memory_drop(ring->memory);
	ww_queue_claims_fini(&ring->claims);
	ww_ring_fini(&ring->ring);
	ww_group_member_fini(&ring->member);
	free(ring);
}

/* --- what a producer shows --- */

static ww_status open_memory(struct ww_work_queue *queue, struct ww_queue_ring *ring,
	const struct ww_get_reply *grant)
{
	const struct ww_import_options options = {.access = WW_ACCESS_READ};
	struct ww_memory_description bytes;
	struct ww_description description;

	memcpy(&bytes, grant->granted.description + WW_TIMELINE_REF_BYTES, sizeof(bytes));
	ww_try(ww_description_decode(&bytes, &description));
	if (ww_backing_is_foreign(description.backing))
		return ww_fail(WW_ERR_PROTOCOL,
			"the slots of a work queue's producer are memory of another library");
	if (description.bytes < queue->form.slot_bytes * queue->form.slot_count)
		return ww_fail(WW_ERR_PROTOCOL,
			"the slots of a work queue's producer are too small");
	return ww_memory_import_whole(queue->device, &grant->request.fds_come[3], 1, &description,
		&options, &ring->memory);
}

struct opening {
	struct ww_work_queue *queue;
	uint64_t entry;
};

static ww_status ring_open(void *context, struct ww_group_member *member,
	const struct ww_get_reply *grant)
{
	struct ww_queue_ring *ring = ww_queue_ring_of(&member->link);
	const struct opening *opening = context;
	struct ww_work_queue *queue = opening->queue;
	const struct ww_ring_size size = ww_queue_ring_size(queue);
	const struct ww_wire_granted *granted = &grant->granted;
	const int *fds = grant->request.fds_come;
	struct ww_wire_timeline_ref ref;

	if (granted->description_bytes != WW_QUEUE_PRODUCER_BYTES ||
		ww_queue_entry_of(member->id) != opening->entry)
		return ww_fail(WW_ERR_PROTOCOL,
			"a producer's description has another size, or the entry is not its own");
	ww_try(ww_timeline_ref_read(granted->description, WW_TIMELINE_REF_BYTES, &ref));
	ww_try(ww_group_member_map(member, grant, ref.page_bytes, ref.page_id));
	ww_try(ww_ring_import(&ring->ring, fds[1], ww_ring_bytes(&size), member->id, &size));
	ww_try(ww_queue_claims_import(&ring->claims, fds[2], member->id, queue->form.slot_count));
	return queue->role == WW_WORK_QUEUE_KEEPER ? WW_OK : open_memory(queue, ring, grant);
}

static const struct ww_group_kind producer_kind = {
	.kind = WW_OBJECT_WORK_QUEUE,
	.access = WW_WIRE_ACCESS_READ,
	.fd_count = WW_QUEUE_PRODUCER_FDS,
	.open = ring_open,
};

ww_status ww_queue_ring_get(struct ww_work_queue *queue, uint64_t entry,
	struct ww_queue_ring **out_ring)
{
	WW_CLEANUP(ww_queue_ring_free_p) struct ww_queue_ring *ring = calloc(1, sizeof(*ring));
	struct opening opening = {.queue = queue, .entry = entry};
	char name[WW_QUEUE_NAME_BYTES];

	*out_ring = NULL;
	if (!ring)
		return ww_fail(WW_ERR_NO_MEMORY, "cannot note a producer: out of memory");
	ww_queue_member_name(queue, "producer", entry, name);
	ww_try(ww_group_get(&producer_kind, queue->broker, name, &opening, &ring->member));
	ring->is_trusted = ring->member.uid == geteuid();
	*out_ring = ww_steal(ring);
	return WW_OK;
}

/* --- newcomers --- */

static struct ww_queue_ring *find(const struct ww_work_queue *queue, uint64_t member)
{
	ww_list_for_each (link, &queue->rings) {
		if (ww_queue_entry_of(ww_queue_ring_of(link)->member.id) == member)
			return ww_queue_ring_of(link);
	}
	return NULL;
}

static ww_status meet_one(struct ww_work_queue *queue, uint64_t member)
{
	struct ww_queue_ring *ring;
	ww_status status;

	if (member == 0 || find(queue, member))
		return WW_OK;
	status = ww_queue_ring_get(queue, member, &ring);
	if (status != WW_OK)
		return ww_group_is_no_member(status) ? WW_OK : status;
	ring->number = ++queue->rings_met;
	ww_list_append(&queue->rings, &ring->member.link);
	return WW_OK;
}

static ww_status meet_all(void *context)
{
	struct ww_work_queue *queue = context;

	for (uint32_t i = 0; i < queue->roster.count; i++)
		ww_try(meet_one(queue, ww_queue_entry_look(&queue->roster.producers[i])));
	return WW_OK;
}

bool ww_queue_rings_are_new(const struct ww_work_queue *queue)
{
	return ww_group_may_meet(&queue->newcomers, ww_queue_roster_joined(&queue->roster));
}

ww_status ww_queue_rings_meet(struct ww_work_queue *queue)
{
	return ww_group_meet(&queue->newcomers, ww_queue_roster_joined(&queue->roster), meet_all,
		queue);
}

/* --- those that are left --- */

bool ww_queue_ring_is_left(const struct ww_queue_ring *ring)
{
	return ww_ring_is_closed(&ring->ring) ||
		(ring->member.page && ww_group_member_is_lost(&ring->member));
}

void ww_queue_ring_say_slots(struct ww_queue_ring *ring, uint32_t slots)
{
	__atomic_store_n(&ring->ring.header->work_slots, slots, __ATOMIC_SEQ_CST);
}

bool ww_queue_ring_is_through(const struct ww_queue_ring *ring, bool is_closed)
{
	if (is_closed &&
		__atomic_load_n(&ring->ring.header->work_slots, __ATOMIC_SEQ_CST) ==
			WW_WIRE_WORK_SLOTS_NONE)
		return true;
	return ww_queue_ring_is_left(ring);
}

void ww_queue_ring_count(const struct ww_queue_ring *ring, struct ww_queue_counts *counts)
{
	uint64_t published = ww_ring_published(&ring->ring);

	for (uint32_t slot = 0; slot < ring->claims.slot_count; slot++) {
		struct ww_queue_claim claim = ww_queue_claim_look(&ring->claims, slot);

		if (claim.frame == 0 || claim.frame > published)
			continue;
		counts->available += claim.state == WW_WIRE_WORK_STATE_AVAILABLE;
		counts->failed += claim.state == WW_WIRE_WORK_STATE_FAILED;
		counts->claimed += claim.state == WW_WIRE_WORK_STATE_CLAIMED ||
			claim.state == WW_WIRE_WORK_STATE_FINISHING;
	}
}

static bool is_over(const struct ww_queue_ring *ring)
{
	struct ww_queue_counts counts = {0};

	if (ring->held > 0 || ring->unsure_frame || !ww_queue_ring_is_left(ring))
		return false;
	ww_queue_ring_count(ring, &counts);
	return counts.available + counts.claimed + counts.failed == 0;
}

/* Whether the producer has not given its entry back, and so not removed its object either. */
static bool is_entered(const struct ww_work_queue *queue, uint64_t member)
{
	for (uint32_t i = 0; i < queue->roster.count; i++) {
		if (ww_queue_entry_look(&queue->roster.producers[i]) == member)
			return true;
	}
	return false;
}

void ww_queue_rings_forget(struct ww_work_queue *queue)
{
	struct ww_list *next;

	for (struct ww_list *link = queue->rings.next; link != &queue->rings; link = next) {
		struct ww_queue_ring *ring = ww_queue_ring_of(link);
		uint64_t member = ww_queue_entry_of(ring->member.id);

		next = link->next;
		if (!is_over(ring))
			continue;
		if (is_entered(queue, member))
			ww_queue_remove_member(queue, "producer", member);
		ww_list_remove(link);
		ww_queue_ring_free(ring);
	}
}

/* --- entries --- */

/* Whether the producer of an entry is over: its pages are not needed any more. */
static bool is_free(struct ww_work_queue *queue, uint64_t member)
{
	WW_CLEANUP(ww_queue_ring_free_p) struct ww_queue_ring *ring = NULL;
	ww_status status = ww_queue_ring_get(queue, member, &ring);

	return status == WW_OK ? is_over(ring) : status == WW_ERR_NOT_FOUND;
}

static bool take_over(struct ww_work_queue *queue, struct ww_layout_work_queue_entry *entry)
{
	uint64_t member = ww_queue_entry_look(entry);

	if (member == 0 || !is_free(queue, member))
		return false;
	ww_queue_remove_member(queue, "producer", member);
	return ww_queue_entry_replace(entry, member, queue->member);
}

static bool take_entry(struct ww_work_queue *queue)
{
	struct ww_queue_roster *roster = &queue->roster;

	queue->number = ww_queue_entries_take(roster->producers, roster->count, queue->member);
	for (uint32_t i = 0; i < roster->count && queue->number == WW_QUEUE_NOBODY; i++) {
		if (take_over(queue, &roster->producers[i]))
			queue->number = i;
	}
	return queue->number != WW_QUEUE_NOBODY;
}

ww_status ww_queue_enter_roster(struct ww_work_queue *queue)
{
	struct ww_error record;

	ww_error_save(&record);
	if (!take_entry(queue))
		return ww_fail(WW_ERR_LIMIT,
			"the work queue has %" PRIu32
			" producers already, as many as it may have (producers_max); one that has ended "
			"counts until its frames are done",
			queue->roster.count);
	ww_error_restore(&record);
	return WW_OK;
}
