/* SPDX-License-Identifier: Apache-2.0 */
/*
 * claimants.c - consumers as other members see them, see claimants.h
 *
 * Claims say numbers of consumers; the bell's entry of a number says which object shows that
 * consumer's page. It is got when a claim is looked at first. The object stays when the consumer
 * ends, so a member that comes later finds it, too, and its page says whether the kernel has
 * reported the end. If the object has ended, the consumer left after it had given back its frames.
 *
 * Order: the claim is loaded before the entry. The next consumer of the same number changes the
 * entry before its first claim, so what an entry says is never about an older claim's successor;
 * and a claim that was changed meanwhile has another word.
 */
#include "queue/claimants.h"

#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "queue/rings.h"
#include "sync/wait_result.h"

static void claimant_fini(struct ww_queue_claimant *claimant)
{
	ww_group_member_fini(&claimant->member);
	memset(claimant, 0, sizeof(*claimant));
}

void ww_queue_claimants_fini(struct ww_work_queue *queue)
{
	for (uint32_t i = 0; i < WW_WORK_QUEUE_MEMBERS_MAX; i++)
		claimant_fini(&queue->claimants[i]);
}

/* --- getting to know one --- */

static ww_status claimant_open(void *context, struct ww_group_member *member,
	const struct ww_get_reply *grant)
{
	const struct ww_wire_granted *granted = &grant->granted;
	struct ww_wire_timeline_ref ref;

	(void)context;
	ww_try(ww_timeline_ref_read(granted->description, granted->description_bytes, &ref));
	return ww_group_member_map(member, grant, ref.page_bytes, ref.page_id);
}

static const struct ww_group_kind consumer_kind = {
	.kind = WW_OBJECT_WORK_QUEUE,
	.access = WW_WIRE_ACCESS_READ,
	.fd_count = 1,
	.open = claimant_open,
};

/* Return: false: it cannot be known now. */
static bool claimant_meet(struct ww_work_queue *queue, uint64_t entry,
	struct ww_queue_claimant *claimant, bool may_ask)
{
	char name[WW_QUEUE_NAME_BYTES];
	struct ww_error record;
	ww_status status;

	if (claimant->entry == entry)
		return true;
	if (!may_ask || ww_clock_now_ns() < queue->newcomers.ask_again_ns)
		return false;
	claimant_fini(claimant);
	ww_queue_member_name(queue, "consumer", entry, name);
	ww_error_save(&record);
	status = ww_group_get(&consumer_kind, queue->broker, name, NULL, &claimant->member);
	ww_error_restore(&record);
	if (status == WW_OK || ww_group_is_no_member(status))
		claimant->entry = entry;
	else
		queue->newcomers.ask_again_ns = ww_clock_deadline_ns(WW_GROUP_PAUSE_NS);
	if (status != WW_OK)
		ww_group_member_fini(&claimant->member);
	return claimant->entry == entry;
}

/* --- what it does --- */

/* Nothing of its streams can come any more. */
static bool page_is_over(const struct ww_layout_signal_page *page,
	const struct ww_signal_look *look)
{
	return __atomic_load_n(&page->ended, __ATOMIC_ACQUIRE) ||
		(look->state == WW_WIRE_CELL_STATE_CLOSED && look->reached >= look->submitted);
}

/* @value: 0: the claim is not finishing */
static enum ww_queue_claimant_state look_at_page(const struct ww_layout_signal_page *page,
	const struct ww_layout_signal_cell *cell, uint64_t value)
{
	struct ww_signal_look look;
	bool is_over;

	ww_signal_cell_look(cell, &look);
	is_over = page_is_over(page, &look);
	if (is_over)
		ww_signal_cell_look(cell, &look); /* what it reached before */
	if (value && look.reached >= value)
		return WW_CLAIMANT_HAS_DONE;
	return is_over ? WW_CLAIMANT_IS_OVER : WW_CLAIMANT_WORKS;
}

static enum ww_queue_claimant_state look_at_number(struct ww_work_queue *queue, uint32_t number,
	uint64_t value, bool may_ask)
{
	struct ww_queue_claimant *claimant;
	uint64_t member;

	if (number >= queue->bell.count)
		return WW_CLAIMANT_IS_OVER; /* none can have that number */
	member = ww_queue_entry_look(&queue->bell.consumers[number]);
	if (member == 0)
		return WW_CLAIMANT_IS_OVER;
	if (member == queue->member && ww_queue_is_consumer(queue))
		return look_at_page(queue->timeline->page->header, queue->timeline->cell, value);
	claimant = &queue->claimants[number];
	if (!claimant_meet(queue, member, claimant, may_ask))
		return WW_CLAIMANT_WORKS;
	return claimant->member.page
		? look_at_page(claimant->member.page->header, claimant->member.cell, value)
		: WW_CLAIMANT_IS_OVER;
}

enum ww_queue_claimant_state ww_queue_claimant_look(struct ww_work_queue *queue,
	const struct ww_queue_ring *ring, uint32_t slot, const struct ww_queue_claim *claim,
	bool may_ask)
{
	uint64_t value = 0;

	if (claim->state == WW_WIRE_WORK_STATE_FINISHING) {
		value = ww_queue_claim_value(&ring->claims, slot);
		if (value == 0)
			return WW_CLAIMANT_HAS_DONE;
	}
	return look_at_number(queue, claim->consumer, value, may_ask);
}

/* --- claims of those that have done, or ended --- */

static bool recover_slot(struct ww_work_queue *queue, struct ww_queue_ring *ring, uint32_t slot)
{
	struct ww_queue_claim claim = ww_queue_claim_look(&ring->claims, slot);

	if (claim.state != WW_WIRE_WORK_STATE_CLAIMED &&
		claim.state != WW_WIRE_WORK_STATE_FINISHING)
		return false;
	switch (ww_queue_claimant_look(queue, ring, slot, &claim, true)) {
	case WW_CLAIMANT_HAS_DONE:
		return ww_queue_claim_end(&ring->claims, slot, &claim);
	case WW_CLAIMANT_IS_OVER:
		return ww_queue_give_back(queue, ring, slot, &claim);
	case WW_CLAIMANT_WORKS:
		break;
	}
	return false;
}

void ww_queue_recover(struct ww_work_queue *queue, struct ww_queue_ring *ring)
{
	bool has_changed = false;

	for (uint32_t slot = 0; slot < ring->claims.slot_count; slot++)
		has_changed |= recover_slot(queue, ring, slot);
	if (!has_changed)
		return;
	ww_queue_bell_ring(&queue->bell);
	if (__atomic_load_n(&ring->ring.header->is_asleep, __ATOMIC_SEQ_CST))
		ww_queue_claims_wake(&ring->claims);
}

/* Whether the broker can be asked about a consumer. */
static bool is_unknown(const struct ww_work_queue *queue, uint32_t number)
{
	uint64_t member = number < queue->bell.count
		? ww_queue_entry_look(&queue->bell.consumers[number])
		: 0;

	return member && queue->claimants[number].entry != member &&
		!(member == queue->member && ww_queue_is_consumer(queue)) &&
		ww_clock_now_ns() >= queue->newcomers.ask_again_ns;
}

bool ww_queue_may_recover(struct ww_work_queue *queue, const struct ww_queue_ring *ring)
{
	bool is_through = ww_queue_ring_is_through(ring, ww_queue_roster_is_closed(&queue->roster));

	for (uint32_t slot = 0; slot < ring->claims.slot_count; slot++) {
		struct ww_queue_claim claim = ww_queue_claim_look(&ring->claims, slot);
		enum ww_queue_claimant_state state;

		if (claim.state != WW_WIRE_WORK_STATE_CLAIMED &&
			claim.state != WW_WIRE_WORK_STATE_FINISHING)
			continue;
		state = ww_queue_claimant_look(queue, ring, slot, &claim, false);
		if (state == WW_CLAIMANT_IS_OVER || (state == WW_CLAIMANT_HAS_DONE && is_through) ||
			(state == WW_CLAIMANT_WORKS && is_unknown(queue, claim.consumer)))
			return true;
	}
	return false;
}

void ww_queue_recover_in_time(struct ww_work_queue *queue)
{
	uint64_t now_ns = ww_clock_now_ns();

	if (now_ns < queue->look_ns)
		return;
	queue->look_ns = now_ns + WW_QUEUE_LOOK_NS;
	ww_list_for_each (link, &queue->rings)
		ww_queue_recover(queue, ww_queue_ring_of(link));
}

/* --- entries --- */

/* Whether the consumer of an entry is over; if so, what it finished is done. */
static bool is_free(struct ww_work_queue *queue, uint32_t number)
{
	if (look_at_number(queue, number, 0, true) != WW_CLAIMANT_IS_OVER)
		return false;
	ww_list_for_each (link, &queue->rings)
		ww_queue_recover(queue, ww_queue_ring_of(link));
	return true;
}

static bool take_over(struct ww_work_queue *queue, uint32_t number)
{
	struct ww_layout_work_queue_entry *entry = &queue->bell.consumers[number];
	uint64_t member = ww_queue_entry_look(entry);

	/* The entry may have become another one's since; what is removed is what was looked at. */
	if (member == 0 || !is_free(queue, number) || queue->claimants[number].entry != member)
		return false;
	ww_queue_remove_member(queue, "consumer", member);
	claimant_fini(&queue->claimants[number]);
	return ww_queue_entry_replace(entry, member, queue->member);
}

/*
 * This consumer has claimed nothing yet: claims of its number are those of one that had the number
 * before, in rings that were not known when its entry was taken over.
 */
static void give_back_number(struct ww_work_queue *queue, struct ww_queue_ring *ring)
{
	for (uint32_t slot = 0; slot < ring->claims.slot_count; slot++) {
		struct ww_queue_claim claim = ww_queue_claim_look(&ring->claims, slot);

		if (claim.consumer == queue->number &&
			(claim.state == WW_WIRE_WORK_STATE_CLAIMED ||
				claim.state == WW_WIRE_WORK_STATE_FINISHING))
			(void)ww_queue_give_back(queue, ring, slot, &claim);
	}
}

static ww_status take_entry(struct ww_work_queue *queue)
{
	queue->number = ww_queue_entries_take(queue->bell.consumers, queue->bell.count,
		queue->member);
	for (uint32_t i = 0; i < queue->bell.count && queue->number == WW_QUEUE_NOBODY; i++) {
		if (take_over(queue, i))
			queue->number = i;
	}
	if (queue->number == WW_QUEUE_NOBODY)
		return ww_fail(WW_ERR_LIMIT,
			"the work queue has %" PRIu32 " consumers already, as many as it may have; "
			"make it with a larger consumers_max",
			queue->bell.count);
	__atomic_fetch_and(&queue->bell.header->asleep, ~(UINT64_C(1) << queue->number),
		__ATOMIC_RELAXED);
	return WW_OK;
}

/* Return: WW_OK; WW_ERR_NO_BROKER; as ww_queue_rings_meet(). */
static ww_status meet_now(struct ww_work_queue *queue)
{
	ww_status status;

	queue->newcomers.ask_again_ns = 0;
	status = ww_queue_rings_meet(queue);
	if (status == WW_NOT_READY)
		return ww_fail(WW_ERR_NO_BROKER,
			"cannot join the work queue: the broker at %s does not list its producers",
			queue->broker->address.path);
	return status;
}

ww_status ww_queue_enter_bell(struct ww_work_queue *queue)
{
	ww_try(meet_now(queue));
	ww_try(take_entry(queue));
	ww_try(meet_now(queue));
	ww_list_for_each (link, &queue->rings)
		give_back_number(queue, ww_queue_ring_of(link));
	return WW_OK;
}
