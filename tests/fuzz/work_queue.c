/* SPDX-License-Identifier: Apache-2.0 */
/*
 * work_queue.c - fuzzes what reads the files that the members of a work queue share: claims, the
 * roster, the bell
 *
 * Input: one byte of flags (below), then the file, as an untrusted process would show it. Whatever
 * it has, looking at it and each step on it says and does what can be.
 */
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "fuzz/fuzz.h"
#include "queue/shared.h"
#include "support/raw_client.h"
#include "wire/signal_page.h"

#define COUNT 64 /* slots, or entries */
#define BYTES 4096

static const uint8_t id[WW_WIRE_ID_BYTES] = "0123456789abcde";

/* The bits of the first byte. */
enum {
	IS_ROSTER = 1,
	IS_BELL = 2,  /* with neither of the two: claims */
	IS_SHORT = 8, /* the file is half as long */
	IS_LONG = 16,
};

size_t fuzz_seed(unsigned int number, uint8_t out[FUZZ_INPUT_BYTES])
{
	if (number >= 32)
		return 0;
	out[0] = (uint8_t)number;
	for (size_t at = 1; at < FUZZ_INPUT_BYTES; at++)
		out[at] = (uint8_t)(at * number);
	return FUZZ_INPUT_BYTES;
}

/* Nothing but another size is refused: members of different users write all of it. */
static void must_be_refused(ww_status status, uint8_t flags)
{
	const struct ww_error *record = ww_error_last();

	FUZZ_MUST(flags & (IS_SHORT | IS_LONG));
	FUZZ_MUST(status == WW_ERR_MISMATCH);
	FUZZ_MUST(record->status == status && record->message[0]);
}

/* Each step changes the claim that was looked at, into one that can be, and none else. */
static void try_steps(struct ww_queue_claims *claims, uint32_t slot)
{
	struct ww_queue_claim claim = ww_queue_claim_look(claims, slot);
	struct ww_queue_claim taken = claim;

	FUZZ_MUST(claim.consumer < 64 && claim.attempts <= WW_QUEUE_ATTEMPTS_END);
	FUZZ_MUST(claim.state < 8 && claim.frame < UINT64_C(1) << 48);
	FUZZ_MUST(ww_queue_claim_value(claims, slot) <= WW_SIGNAL_VALUE_MAX);
	if (claim.attempts == WW_QUEUE_ATTEMPTS_END) {
		FUZZ_MUST(!ww_queue_claim_take(claims, slot, &taken, 3));
		FUZZ_MUST(ww_queue_claim_give_back(claims, slot, &claim, 2));
		FUZZ_MUST(ww_queue_claim_look(claims, slot).state == 0);
		return;
	}
	FUZZ_MUST(ww_queue_claim_take(claims, slot, &taken, 3));
	FUZZ_MUST(taken.consumer == 3 && taken.attempts == claim.attempts + 1);
	FUZZ_MUST(taken.word == ww_queue_claim_look(claims, slot).word);
	FUZZ_MUST(taken.frame == claim.frame && taken.word != claim.word);
	FUZZ_MUST(!ww_queue_claim_end(claims, slot, &claim));
	FUZZ_MUST(ww_queue_claim_finish(claims, slot, &taken, 7));
	FUZZ_MUST(ww_queue_claim_value(claims, slot) == 7);
	taken = ww_queue_claim_look(claims, slot);
	FUZZ_MUST(taken.state == WW_WIRE_WORK_STATE_FINISHING);
	FUZZ_MUST(ww_queue_claim_give_back(claims, slot, &taken, 2));
	FUZZ_MUST(ww_queue_claim_look(claims, slot).state != WW_WIRE_WORK_STATE_FINISHING);
}

static void look_at_claims(struct ww_queue_claims *claims)
{
	struct ww_queue_claim claim = {.frame = 0};
	uint32_t slot = COUNT;

	if (ww_queue_claims_find(claims, WW_WIRE_WORK_STATE_AVAILABLE, 1000, &slot, &claim)) {
		FUZZ_MUST(slot < COUNT && claim.frame > 0 && claim.frame <= 1000);
		FUZZ_MUST(claim.state == WW_WIRE_WORK_STATE_AVAILABLE);
	}
	for (slot = 0; slot < COUNT; slot++)
		try_steps(claims, slot);
}

static void try_claims(int fd, uint8_t flags)
{
	struct ww_queue_claims claims = {.mapping = NULL};
	ww_status status = ww_queue_claims_import(&claims, fd, id, COUNT);

	if (status != WW_OK) {
		FUZZ_MUST(!claims.mapping);
		must_be_refused(status, flags);
		return;
	}
	look_at_claims(&claims);
	ww_queue_claims_fini(&claims);
}

static void look_at_entries(struct ww_layout_work_queue_entry *entries)
{
	uint32_t at = ww_queue_entries_take(entries, COUNT, 5);

	FUZZ_MUST(at == WW_QUEUE_NOBODY || (at < COUNT && ww_queue_entry_look(&entries[at]) == 5));
	if (at != WW_QUEUE_NOBODY)
		FUZZ_MUST(ww_queue_entry_replace(&entries[at], 5, 0));
}

static void try_roster(int fd, uint8_t flags)
{
	struct ww_queue_roster roster = {.mapping = NULL};
	ww_status status = ww_queue_roster_import(&roster, fd, WW_ACCESS_WRITE, id, COUNT);

	if (status != WW_OK) {
		must_be_refused(status, flags);
		return;
	}
	look_at_entries(roster.producers);
	ww_queue_roster_fini(&roster);
}

static void try_bell(int fd, uint8_t flags)
{
	struct ww_queue_bell bell = {.mapping = NULL};
	ww_status status = ww_queue_bell_import(&bell, fd, id, COUNT);

	if (status != WW_OK) {
		must_be_refused(status, flags);
		return;
	}
	look_at_entries(bell.consumers);
	ww_queue_bell_ring(&bell);
	ww_queue_bell_fini(&bell);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t bytes)
{
	uint8_t file[BYTES] = {0};
	uint64_t file_bytes = BYTES;
	int fd;

	if (bytes < 1 || bytes > FUZZ_INPUT_BYTES)
		return 0;
	memcpy(file, input + 1, bytes - 1);
	if (input[0] & IS_SHORT)
		file_bytes /= 2;
	if (input[0] & IS_LONG)
		file_bytes *= 4;
	fd = raw_memory_writable(file_bytes);
	FUZZ_MUST(pwrite(fd, file, file_bytes < BYTES ? file_bytes : BYTES, 0) > 0);
	if (input[0] & IS_ROSTER)
		try_roster(fd, input[0]);
	else if (input[0] & IS_BELL)
		try_bell(fd, input[0]);
	else
		try_claims(fd, input[0]);
	close(fd);
	return 0;
}
