/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shared.c - what the processes of a work queue share, see shared.h
 */
#include "queue/shared.h"

#include <string.h>

#include "base/error.h"
#include "share/shared_file.h"
#include "wire/reader.h"
#include "wire/signal_page.h"

/* Of a claim's word. */
#define FRAME_SHIFT    16
#define STATE_SHIFT    13
#define STATE_MASK     UINT64_C(7)
#define CONSUMER_SHIFT 7
#define CONSUMER_MASK  UINT64_C(63)
#define ATTEMPTS_MASK  UINT64_C(127)

#define DONE      0
#define AVAILABLE WW_WIRE_WORK_STATE_AVAILABLE
#define CLAIMED   WW_WIRE_WORK_STATE_CLAIMED
#define FINISHING WW_WIRE_WORK_STATE_FINISHING
#define FAILED    WW_WIRE_WORK_STATE_FAILED

_Static_assert(sizeof(struct ww_layout_work_queue_roster) == WW_LAYOUT_WORK_QUEUE_ROSTER_BYTES,
	"no padding");
_Static_assert(sizeof(struct ww_layout_work_queue_bell) == WW_LAYOUT_WORK_QUEUE_BELL_BYTES,
	"no padding");
_Static_assert(sizeof(struct ww_layout_work_queue_claims) == WW_LAYOUT_WORK_QUEUE_CLAIMS_BYTES,
	"no padding");

/* Where the totals of the roster and of the bell begin, and for how many entries there are some. */
#define TOTALS_AT      2048
#define TOTALS_ENTRIES 64

_Static_assert(sizeof(struct ww_layout_work_queue_bell) +
				TOTALS_ENTRIES * sizeof(struct ww_layout_work_queue_entry) <=
			TOTALS_AT &&
		TOTALS_AT + TOTALS_ENTRIES * sizeof(struct ww_layout_work_queue_totals) ==
			WW_SHARED_FILE_UNIT,
	"the entries and totals of all members fit into the smallest file");

/* --- files --- */

/*
 * @count items of @item_bytes behind a header. No process reads the header, so a new version of a
 * layout needs a new version of the queue's description.
 */
static struct ww_shared_file queue_file(const char *what, uint32_t header_bytes,
	uint32_t item_bytes, uint32_t count, const uint8_t *id)
{
	return (struct ww_shared_file){
		.owner = "work queue",
		.what = what,
		.header_bytes = header_bytes,
		.item_bytes = item_bytes,
		.item_count = count,
		.bytes = ww_shared_file_round_up(header_bytes + (uint64_t)item_bytes * count),
		.id = id,
		.access = WW_ACCESS_WRITE,
		.is_open = true, /* a member may have overwritten it; others join all the same */
	};
}

static struct ww_shared_file claims_file(const uint8_t *producer_id, uint32_t slot_count)
{
	struct ww_shared_file file = queue_file("claims",
		sizeof(struct ww_layout_work_queue_claims),
		sizeof(struct ww_layout_work_queue_claim), slot_count, producer_id);

	file.magic = "WWQUEUCL";
	file.version = WW_LAYOUT_WORK_QUEUE_CLAIMS_VERSION;
	return file;
}

static struct ww_shared_file roster_file(const uint8_t *queue_id, uint32_t count)
{
	struct ww_shared_file file = queue_file("roster",
		sizeof(struct ww_layout_work_queue_roster),
		sizeof(struct ww_layout_work_queue_entry), count, queue_id);

	file.magic = "WWQUEURO";
	file.version = WW_LAYOUT_WORK_QUEUE_ROSTER_VERSION;
	return file;
}

static struct ww_shared_file bell_file(const uint8_t *queue_id, uint32_t count)
{
	struct ww_shared_file file = queue_file("bell", sizeof(struct ww_layout_work_queue_bell),
		sizeof(struct ww_layout_work_queue_entry), count, queue_id);

	file.magic = "WWQUEUBE";
	file.version = WW_LAYOUT_WORK_QUEUE_BELL_VERSION;
	return file;
}

static void claims_set(struct ww_queue_claims *claims, struct ww_mapping *mapping,
	uint32_t slot_count)
{
	claims->mapping = mapping;
	claims->header = mapping->host_pointer;
	claims->at = (void *)(claims->header + 1);
	claims->slot_count = slot_count;
}

ww_status ww_queue_claims_create(struct ww_queue_claims *claims,
	const uint8_t producer_id[WW_WIRE_ID_BYTES], uint32_t slot_count)
{
	const struct ww_shared_file file = claims_file(producer_id, slot_count);
	struct ww_mapping *mapping = NULL;

	ww_try(ww_shared_file_create(&file, &mapping));
	claims_set(claims, mapping, slot_count);
	return WW_OK;
}

ww_status ww_queue_claims_import(struct ww_queue_claims *claims, int fd,
	const uint8_t producer_id[WW_WIRE_ID_BYTES], uint32_t slot_count)
{
	const struct ww_shared_file file = claims_file(producer_id, slot_count);
	struct ww_mapping *mapping = NULL;

	ww_try(ww_shared_file_import(&file, fd, file.bytes, &mapping));
	claims_set(claims, mapping, slot_count);
	return WW_OK;
}

void ww_queue_claims_fini(struct ww_queue_claims *claims)
{
	claims->mapping = ww_mapping_unref(claims->mapping);
}

static struct ww_layout_work_queue_totals *totals_of(const struct ww_mapping *mapping)
{
	return (void *)((char *)mapping->host_pointer + TOTALS_AT);
}

static void roster_set(struct ww_queue_roster *roster, struct ww_mapping *mapping, uint32_t count)
{
	roster->mapping = mapping;
	roster->header = mapping->host_pointer;
	roster->producers = (void *)(roster->header + 1);
	roster->totals = totals_of(mapping);
	roster->count = count;
}

ww_status ww_queue_roster_create(struct ww_queue_roster *roster,
	const uint8_t queue_id[WW_WIRE_ID_BYTES], uint32_t count)
{
	const struct ww_shared_file file = roster_file(queue_id, count);
	struct ww_mapping *mapping = NULL;

	ww_try(ww_shared_file_create(&file, &mapping));
	roster_set(roster, mapping, count);
	return WW_OK;
}

ww_status ww_queue_roster_import(struct ww_queue_roster *roster, int fd, uint32_t access,
	const uint8_t queue_id[WW_WIRE_ID_BYTES], uint32_t count)
{
	struct ww_shared_file file = roster_file(queue_id, count);
	struct ww_mapping *mapping = NULL;

	file.access = access;
	ww_try(ww_shared_file_import(&file, fd, file.bytes, &mapping));
	roster_set(roster, mapping, count);
	return WW_OK;
}

void ww_queue_roster_fini(struct ww_queue_roster *roster)
{
	roster->mapping = ww_mapping_unref(roster->mapping);
}

static void bell_set(struct ww_queue_bell *bell, struct ww_mapping *mapping, uint32_t count)
{
	bell->mapping = mapping;
	bell->header = mapping->host_pointer;
	bell->consumers = (void *)(bell->header + 1);
	bell->totals = totals_of(mapping);
	bell->count = count;
}

ww_status ww_queue_bell_create(struct ww_queue_bell *bell, const uint8_t queue_id[WW_WIRE_ID_BYTES],
	uint32_t count)
{
	const struct ww_shared_file file = bell_file(queue_id, count);
	struct ww_mapping *mapping = NULL;

	ww_try(ww_shared_file_create(&file, &mapping));
	bell_set(bell, mapping, count);
	return WW_OK;
}

ww_status ww_queue_bell_import(struct ww_queue_bell *bell, int fd,
	const uint8_t queue_id[WW_WIRE_ID_BYTES], uint32_t count)
{
	const struct ww_shared_file file = bell_file(queue_id, count);
	struct ww_mapping *mapping = NULL;

	ww_try(ww_shared_file_import(&file, fd, file.bytes, &mapping));
	bell_set(bell, mapping, count);
	return WW_OK;
}

void ww_queue_bell_fini(struct ww_queue_bell *bell)
{
	bell->mapping = ww_mapping_unref(bell->mapping);
}

/* --- claims --- */

static uint64_t word_of(uint64_t frame, uint64_t state, uint64_t consumer, uint64_t attempts)
{
	return frame << FRAME_SHIFT | state << STATE_SHIFT | consumer << CONSUMER_SHIFT | attempts;
}

struct ww_queue_claim ww_queue_claim_look(const struct ww_queue_claims *claims, uint32_t slot)
{
	uint64_t word = __atomic_load_n(&claims->at[slot].claim, __ATOMIC_SEQ_CST);

	return (struct ww_queue_claim){
		.word = word,
		.frame = word >> FRAME_SHIFT,
		.state = (uint32_t)(word >> STATE_SHIFT & STATE_MASK),
		.consumer = (uint32_t)(word >> CONSUMER_SHIFT & CONSUMER_MASK),
		.attempts = (uint32_t)(word & ATTEMPTS_MASK),
	};
}

void ww_queue_claim_offer(struct ww_queue_claims *claims, uint32_t slot, uint64_t frame)
{
	__atomic_store_n(&claims->at[slot].claim, word_of(frame, AVAILABLE, 0, 0),
		__ATOMIC_SEQ_CST);
}

static bool replace(struct ww_queue_claims *claims, uint32_t slot, uint64_t seen, uint64_t word)
{
	return __atomic_compare_exchange_n(&claims->at[slot].claim, &seen, word, false,
		__ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

bool ww_queue_claim_take(struct ww_queue_claims *claims, uint32_t slot, struct ww_queue_claim *seen,
	uint32_t consumer)
{
	struct ww_queue_claim taken = *seen;

	if (seen->attempts == WW_QUEUE_ATTEMPTS_END)
		return false;
	taken.state = CLAIMED;
	taken.consumer = consumer;
	taken.attempts++;
	taken.word = word_of(taken.frame, CLAIMED, consumer, taken.attempts);
	if (!replace(claims, slot, seen->word, taken.word))
		return false;
	*seen = taken;
	return true;
}

bool ww_queue_claim_finish(struct ww_queue_claims *claims, uint32_t slot,
	const struct ww_queue_claim *seen, uint64_t value)
{
	__atomic_store_n(&claims->at[slot].value, value, __ATOMIC_RELAXED);
	return replace(claims, slot, seen->word,
		word_of(seen->frame, FINISHING, seen->consumer, seen->attempts));
}

bool ww_queue_claim_end(struct ww_queue_claims *claims, uint32_t slot,
	const struct ww_queue_claim *seen)
{
	return replace(claims, slot, seen->word, word_of(seen->frame, DONE, 0, seen->attempts));
}

bool ww_queue_claim_give_back(struct ww_queue_claims *claims, uint32_t slot,
	const struct ww_queue_claim *seen, uint32_t attempts_max)
{
	uint64_t state = seen->attempts < attempts_max ? AVAILABLE : FAILED;

	if (seen->attempts == WW_QUEUE_ATTEMPTS_END)
		return ww_queue_claim_end(claims, slot, seen);
	return replace(claims, slot, seen->word,
		word_of(seen->frame, state, seen->consumer, seen->attempts));
}

uint64_t ww_queue_claim_value(const struct ww_queue_claims *claims, uint32_t slot)
{
	uint64_t value = __atomic_load_n(&claims->at[slot].value, __ATOMIC_RELAXED);

	return value <= WW_SIGNAL_VALUE_MAX ? value : 0;
}

bool ww_queue_claims_find(const struct ww_queue_claims *claims, uint32_t state, uint64_t last,
	uint32_t *out_slot, struct ww_queue_claim *out_claim)
{
	bool is_found = false;

	for (uint32_t slot = 0; slot < claims->slot_count; slot++) {
		struct ww_queue_claim claim = ww_queue_claim_look(claims, slot);

		if (claim.state != state || claim.frame == 0 || claim.frame > last)
			continue;
		if (is_found && claim.frame > out_claim->frame)
			continue;
		is_found = true;
		*out_slot = slot;
		*out_claim = claim;
	}
	return is_found;
}

void ww_queue_claims_wake(struct ww_queue_claims *claims)
{
	ww_await_wake(&claims->header->wakes);
}

/* --- entries --- */

uint64_t ww_queue_entry_of(const uint8_t object_id[WW_WIRE_ID_BYTES])
{
	uint64_t member = ww_bytes_number(object_id, sizeof(uint64_t));

	return member ? member : 1;
}

bool ww_queue_entry_replace(struct ww_layout_work_queue_entry *entry, uint64_t from, uint64_t to)
{
	return __atomic_compare_exchange_n(&entry->member, &from, to, false, __ATOMIC_SEQ_CST,
		__ATOMIC_SEQ_CST);
}

uint32_t ww_queue_entries_take(struct ww_layout_work_queue_entry *entries, uint32_t count,
	uint64_t member)
{
	for (uint32_t i = 0; i < count; i++) {
		if (ww_queue_entry_replace(&entries[i], 0, member))
			return i;
	}
	return WW_QUEUE_NOBODY;
}

void ww_queue_roster_count(struct ww_queue_roster *roster)
{
	__atomic_fetch_add(&roster->header->count, 1, __ATOMIC_SEQ_CST);
}

void ww_queue_roster_close(struct ww_queue_roster *roster)
{
	__atomic_store_n(&roster->header->is_closed, 1, __ATOMIC_SEQ_CST);
}

/* --- bell --- */

void ww_queue_bell_ring(struct ww_queue_bell *bell)
{
	if (__atomic_load_n(&bell->header->asleep, __ATOMIC_SEQ_CST))
		ww_await_wake(&bell->header->wakes);
}

void ww_queue_bell_announce(struct ww_queue_bell *bell, uint32_t consumer)
{
	__atomic_fetch_or(&bell->header->asleep, UINT64_C(1) << consumer, __ATOMIC_SEQ_CST);
}

void ww_queue_bell_withdraw(struct ww_queue_bell *bell, uint32_t consumer)
{
	__atomic_fetch_and(&bell->header->asleep, ~(UINT64_C(1) << consumer), __ATOMIC_RELAXED);
}

ww_status ww_queue_bell_await(struct ww_queue_bell *bell, uint32_t consumer, ww_await_fn look,
	void *context, uint64_t deadline_ns)
{
	ww_status status;

	if (ww_await_spin(look, context, deadline_ns))
		return WW_OK;
	ww_queue_bell_announce(bell, consumer);
	status = ww_await(&bell->header->wakes, look, context, deadline_ns);
	ww_queue_bell_withdraw(bell, consumer);
	return status;
}
