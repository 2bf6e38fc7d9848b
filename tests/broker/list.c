/* SPDX-License-Identifier: Apache-2.0 */
/*
 * list.c - looking: pages of objects, of processes, of who holds what
 */
#include "broker/suite.h"

#include <stdio.h>
#include <stdlib.h>

#define MANY 5000

static uint64_t page(struct raw *raw, const char *prefix, uint64_t cursor, bool unnamed,
	struct ww_wire_listing *out)
{
	struct ww_wire_list list = {.cursor = cursor, .unnamed = unnamed};

	strcpy(list.prefix, prefix);
	MUST_OK(raw_call(raw, list, &list, listing, out));
	return out->next;
}

/* How many there are whose names begin so. */
static uint32_t count(struct raw *raw, const char *prefix, bool unnamed)
{
	struct ww_wire_listing listing;
	uint64_t cursor = 0;
	uint32_t total = 0;

	do {
		cursor = page(raw, prefix, cursor, unnamed, &listing);
		total += listing.entries.count;
	} while (cursor);
	return total;
}

CASE(list_pages, ONCE)
{
	struct raw *raw = peer();
	struct raw *other = peer();
	struct ww_wire_listing listing;
	char name[32];

	MUST_EQUAL(0, count(raw, "", true));
	for (int i = 0; i < 300; i++) {
		snprintf(name, sizeof(name), i % 3 ? "one/%03d" : "two/%03d", i);
		put_named(i % 2 ? raw : other, name);
	}
	put_named(raw, "");
	put_named(raw, "");
	MUST_EQUAL(300, count(other, "", false));
	MUST_EQUAL(302, count(other, "", true));
	MUST_EQUAL(200, count(other, "one/", false));
	MUST_EQUAL(200, count(other, "one/", true)); /* without a name there is no prefix */
	MUST_EQUAL(100, count(other, "two", false));
	MUST_EQUAL(67, count(other, "one/1", false));
	MUST_EQUAL(1, count(other, "one/100", false));
	MUST_EQUAL(0, count(other, "one/100/", false));
	MUST_EQUAL(0, count(other, "three", false));
	/* Cursors that nobody gave out. */
	MUST_EQUAL(0, page(raw, "", UINT64_MAX, true, &listing));
	MUST_EQUAL(0, listing.entries.count);
	MUST_EQUAL(0, page(raw, "", UINT64_C(1) << 32, true, &listing));
	MUST_EQUAL(0, listing.entries.count);
}

/* Notes each object of a page by its number; one that is seen twice fails. */
static void note(struct ww_wire_listing *listing, uint8_t seen[MANY])
{
	struct ww_wire_entry entry;

	while (ww_wire_entry_next(&listing->entries, &entry)) {
		int number = atoi(entry.name + 1);

		if (entry.name[0] != 's')
			continue; /* one that comes and goes */
		MUST(number >= 0 && number < MANY);
		seen[number]++;
	}
}

/* Half of the objects go while pages are read, others come: who stays is seen exactly once. */
CASE(list_while_changing, ONCE)
{
	static uint8_t seen[MANY];
	struct raw *maker = peer();
	struct raw *reader = peer();
	struct ww_wire_listing listing;
	uint64_t cursor = 0;
	int changed = 0;
	char name[32];

	memset(seen, 0, sizeof(seen));
	for (int i = 0; i < MANY; i++) {
		snprintf(name, sizeof(name), "%c%d", i % 2 ? 's' : 'g', i);
		put_named(maker, name);
	}
	do {
		cursor = page(reader, "", cursor, false, &listing);
		note(&listing, seen);
		for (int i = 0; i < 60 && changed < MANY; i++, changed += 2) {
			snprintf(name, sizeof(name), "g%d", MANY - 2 - changed);
			MUST_OK(raw_end(maker, name));
			snprintf(name, sizeof(name), "n%d", changed);
			put_named(maker, name);
		}
	} while (cursor);
	MUST(changed > MANY / 2);
	for (int i = 0; i < MANY; i++)
		MUST_EQUAL(i % 2, seen[i]);
}

/* The holder with this pid, program and number of held objects. */
static bool find_holder(struct raw *raw, uint32_t held, uint32_t put, struct ww_wire_holder *out)
{
	const struct ww_wire_holders holders = {0};
	struct ww_wire_holder_listing listing;

	MUST_OK(raw_call(raw, holders, &holders, holder_listing, &listing));
	MUST_EQUAL(0, listing.next);
	while (ww_wire_holder_next(&listing.holders, out)) {
		if (out->held == held && out->put == put)
			return true;
	}
	return false;
}

CASE(list_who_holds_what, 0)
{
	struct raw *maker = peer();
	struct raw *taker = peer();
	struct ww_wire_put put = put_named(maker, "looked-at");
	const struct ww_wire_holds holds = {0};
	const struct ww_wire_holds beyond = {.cursor = UINT64_MAX};
	struct ww_wire_hold_listing listing;
	struct ww_wire_holder holder;
	struct ww_wire_hold hold;
	struct ww_wire_granted granted;
	uint32_t makers = 0;
	uint32_t escrows = 0;
	uint8_t secret[16];

	MUST_OK(raw_get(taker, "looked-at", WW_WIRE_ACCESS_READ, &granted));
	MUST_OK(raw_export(taker, put.id, WW_WIRE_ACCESS_READ, 1, 60000 * MS, secret));
	MUST(find_holder(taker, 1, 1, &holder));
	MUST_EQUAL(4096, holder.put_bytes);
	MUST_EQUAL(4096, holder.held_bytes);
	MUST_EQUAL(1, holder.attached);
	MUST(!strcmp("raw", holder.program));
	MUST(find_holder(taker, 1, 0, &holder));
	MUST_OK(raw_call(taker, holds, &holds, hold_listing, &listing));
	MUST_EQUAL(3, listing.holds.count);
	while (ww_wire_hold_next(&listing.holds, &hold)) {
		MUST_MATCH(put.id, hold.id, sizeof(put.id));
		makers += hold.flags == WW_WIRE_HOLD_FLAG_MAKER;
		escrows += hold.flags == WW_WIRE_HOLD_FLAG_ESCROW;
		MUST((hold.holder == 0) == (hold.flags == WW_WIRE_HOLD_FLAG_ESCROW));
	}
	MUST_EQUAL(1, makers);
	MUST_EQUAL(1, escrows);
	MUST_OK(raw_call(taker, holds, &beyond, hold_listing, &listing));
	MUST_EQUAL(0, listing.holds.count);
	MUST_OK(raw_end(maker, "looked-at"));
	/* Who keeps a removed one is still to be seen. */
	MUST_OK(raw_call(taker, holds, &holds, hold_listing, &listing));
	MUST_EQUAL(2, listing.holds.count);
}
