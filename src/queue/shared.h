/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shared.h - what the processes of a work queue share: the roster, the bell, and the claims of each
 * producer
 *
 * The frames of a producer are in a ring as a channel has it (channel/ring.h), which it alone
 * writes. What becomes of the frame of a slot is in the slot's claim, one word, which the producer
 * and all consumers change by compare and swap. These are the steps (protocol/work_queue.pml models
 * them):
 *
 *                publish              claim                acknowledge
 *      done ──────────────> available ──────> claimed ─────────────────> done
 *       ^ ^                     ^                │  └──> finishing ──────> done
 *       │ └─ lost: never        │ give back      │          │ (its work is complete)
 *       │    complete           └────────────────┴──────────┘
 *       │                                │ it was the last attempt
 *       └──── drop ──── failed <─────────┘
 *
 *   producer, publishes:   store the claim (available, 0 attempts); store published; look whether
 *                          consumers sleep, and wake them
 *   consumer, claims:      load published; of the claims that are available, of frames up to that,
 *                          take the oldest: available -> claimed, attempts + 1
 *   acknowledge:           claimed -> done; or store the value, then claimed -> finishing. Look
 *                          whether the producer sleeps, and wake it
 *   producer, holds:       says that it holds a slot; look whether the queue is closed; if so, says
 *                          that it holds none
 *   producer, releases:    (after it has published the frame, or discards it) says that it holds no
 *                          slot; look whether the queue is closed; if so, wakes consumers
 *   consumer, sees an end: look whether the queue is closed; then whether no producer holds a slot;
 *                          then at all claims: nothing is available or claimed. One that
 *                          acknowledges looks whether the queue is closed, and wakes the others
 *   give back:             claimed -> available, or failed. By the consumer itself; by any member
 *                          when the kernel has reported the consumer's end
 *   producer, acquires:    takes a slot whose claim is done, or is not of the frame that it
 *                          published there
 *
 * Attempts only grow, so no word comes twice while a frame is in a slot: a side that has looked at
 * a word, and then changes it, changes that very claim. Since published is loaded first, no newer
 * frame is taken before an older one that was never given out.
 *
 * A consumer's number is the place of its entry in the bell. The one that takes over the entry of
 * one that has ended first gives back its claims in all rings.
 *
 * The roster and the bell also have totals of what members have done. They stay when a member
 * ends. What each frame changes is counted for each entry, so that a member that counts needs no
 * atomic addition and shares no counter. A member that is killed in the middle of a call may have
 * counted a frame too much or too little.
 *
 * All of this is written by untrusted processes: each word is loaded once, and checked before it is
 * used. A wrong word can lose, repeat or delay frames, and no more.
 */
#ifndef WW_QUEUE_SHARED_H
#define WW_QUEUE_SHARED_H

#include <stdbool.h>

#include "base/await.h"
#include "device/mapping.h"
#include "wire/protocol.h"

#define WW_QUEUE_ATTEMPTS_END 127 /* what a claim can count to: then its frame is dropped */
#define WW_QUEUE_NOBODY       UINT32_MAX

/* --- claims --- */

struct ww_queue_claims {
	struct ww_mapping *mapping; /* a reference */
	struct ww_layout_work_queue_claims *header;
	struct ww_layout_work_queue_claim *at;
	uint32_t slot_count;
};

/* What a claim says. */
struct ww_queue_claim {
	uint64_t word; /* as it was loaded */
	uint64_t frame;
	uint32_t state; /* WW_WIRE_WORK_STATE_..., or more: a hostile one's */
	uint32_t consumer;
	uint32_t attempts;
};

/* Return: WW_OK; WW_ERR_NO_MEMORY; WW_ERR_LIMIT; WW_ERR_SYSTEM. */
ww_status ww_queue_claims_create(struct ww_queue_claims *claims,
	const uint8_t producer_id[WW_WIRE_ID_BYTES], uint32_t slot_count);

/*
 * @fd:  borrowed; from an untrusted process; mapped for writing
 * Return: as ww_shared_file_import().
 */
ww_status ww_queue_claims_import(struct ww_queue_claims *claims, int fd,
	const uint8_t producer_id[WW_WIRE_ID_BYTES], uint32_t slot_count);
void ww_queue_claims_fini(struct ww_queue_claims *claims); /* of a zeroed one too */

struct ww_queue_claim ww_queue_claim_look(const struct ww_queue_claims *claims, uint32_t slot);

/* The producer's: before it publishes the frame. */
void ww_queue_claim_offer(struct ww_queue_claims *claims, uint32_t slot, uint64_t frame);

/*
 * The steps. Return: false: the claim is not as it was seen any more, and nothing was changed.
 * claim: @seen is then as it has become.
 */
bool ww_queue_claim_take(struct ww_queue_claims *claims, uint32_t slot, struct ww_queue_claim *seen,
	uint32_t consumer);
bool ww_queue_claim_finish(struct ww_queue_claims *claims, uint32_t slot,
	const struct ww_queue_claim *seen, uint64_t value);
bool ww_queue_claim_end(struct ww_queue_claims *claims, uint32_t slot,
	const struct ww_queue_claim *seen);
bool ww_queue_claim_give_back(struct ww_queue_claims *claims, uint32_t slot,
	const struct ww_queue_claim *seen, uint32_t attempts_max);

/* Of a claim in state finishing. Return: 0: one that no timeline reaches, or none */
uint64_t ww_queue_claim_value(const struct ww_queue_claims *claims, uint32_t slot);

/*
 * The oldest frame in a state.
 * @last:  no newer one; see above
 * Return: false: there is none.
 */
bool ww_queue_claims_find(const struct ww_queue_claims *claims, uint32_t state, uint64_t last,
	uint32_t *out_slot, struct ww_queue_claim *out_claim);

/* Wakes the producer; it sleeps as is_asleep of its ring says. */
void ww_queue_claims_wake(struct ww_queue_claims *claims);

/* --- roster --- */

struct ww_queue_roster {
	struct ww_mapping *mapping; /* a reference */
	struct ww_layout_work_queue_roster *header;
	struct ww_layout_work_queue_entry *producers;
	struct ww_layout_work_queue_totals *totals; /* of each entry */
	uint32_t count;
};

ww_status ww_queue_roster_create(struct ww_queue_roster *roster,
	const uint8_t queue_id[WW_WIRE_ID_BYTES], uint32_t count);

/* @access: WW_ACCESS_... */
ww_status ww_queue_roster_import(struct ww_queue_roster *roster, int fd, uint32_t access,
	const uint8_t queue_id[WW_WIRE_ID_BYTES], uint32_t count);
void ww_queue_roster_fini(struct ww_queue_roster *roster);

static inline uint32_t ww_queue_roster_joined(const struct ww_queue_roster *roster)
{
	return __atomic_load_n(&roster->header->count, __ATOMIC_SEQ_CST);
}

static inline bool ww_queue_roster_is_closed(const struct ww_queue_roster *roster)
{
	return __atomic_load_n(&roster->header->is_closed, __ATOMIC_SEQ_CST) != 0;
}

/* An entry was taken. */
void ww_queue_roster_count(struct ww_queue_roster *roster);
void ww_queue_roster_close(struct ww_queue_roster *roster);

/* --- bell --- */

struct ww_queue_bell {
	struct ww_mapping *mapping; /* a reference */
	struct ww_layout_work_queue_bell *header;
	struct ww_layout_work_queue_entry *consumers;
	struct ww_layout_work_queue_totals *totals; /* of each entry */
	uint32_t count;
};

ww_status ww_queue_bell_create(struct ww_queue_bell *bell, const uint8_t queue_id[WW_WIRE_ID_BYTES],
	uint32_t count);
ww_status ww_queue_bell_import(struct ww_queue_bell *bell, int fd,
	const uint8_t queue_id[WW_WIRE_ID_BYTES], uint32_t count);
void ww_queue_bell_fini(struct ww_queue_bell *bell);

/* Wakes consumers, if some sleep. */
void ww_queue_bell_ring(struct ww_queue_bell *bell);

/* That this consumer sleeps: in one order with its looks before and after (seq_cst). */
void ww_queue_bell_announce(struct ww_queue_bell *bell, uint32_t consumer);
void ww_queue_bell_withdraw(struct ww_queue_bell *bell, uint32_t consumer);

/* Waits as ww_await(), saying that this consumer sleeps. */
ww_status ww_queue_bell_await(struct ww_queue_bell *bell, uint32_t consumer, ww_await_fn look,
	void *context, uint64_t deadline_ns);

/* --- entries of both --- */

static inline uint64_t ww_queue_entry_look(const struct ww_layout_work_queue_entry *entry)
{
	return __atomic_load_n(&entry->member, __ATOMIC_SEQ_CST);
}

/* Return: false: the entry is not @from's any more. */
bool ww_queue_entry_replace(struct ww_layout_work_queue_entry *entry, uint64_t from, uint64_t to);

/* Return: WW_QUEUE_NOBODY: all are taken. */
uint32_t ww_queue_entries_take(struct ww_layout_work_queue_entry *entries, uint32_t count,
	uint64_t member);

/* What an entry says of the member of this object. */
uint64_t ww_queue_entry_of(const uint8_t object_id[WW_WIRE_ID_BYTES]);

/* --- totals --- */

/* Of the own entry, or of any. */
static inline uint64_t ww_queue_total(const uint64_t *total)
{
	return __atomic_load_n(total, __ATOMIC_RELAXED);
}

/* Of the own entry, which no other process writes. */
static inline void ww_queue_total_set(uint64_t *total, uint64_t value)
{
	__atomic_store_n(total, value, __ATOMIC_RELAXED);
}

/* Of the bell itself: any member counts there, but few frames need it. */
static inline void ww_queue_bell_count(uint64_t *total)
{
	__atomic_fetch_add(total, 1, __ATOMIC_RELAXED);
}

#endif
