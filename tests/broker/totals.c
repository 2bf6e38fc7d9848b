/* SPDX-License-Identifier: Apache-2.0 */
/*
 * totals.c - the sums that the broker keeps are those of a walk over everything; the largest
 * objects and holders; who holds one object; refusals are counted
 */
#include "broker/suite.h"

#include <stdio.h>
#include <stdlib.h>

#define PEERS   5
#define OBJECTS 40
#define ROUNDS  600
#define DEVICES 20 /* more than a user has totals of its own for */

/* What is on one device and of one kind; or of all. */
struct sum {
	uint64_t objects;
	uint64_t bytes;
	uint64_t removed;
	uint64_t removed_bytes;
};

static uint64_t random_state;

static uint32_t below(uint32_t limit)
{
	random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(random_state >> 33) % limit;
}

/* --- sums --- */

static void sum_device(struct sum *sum, const struct ww_wire_device_total *row)
{
	sum->objects += row->objects;
	sum->bytes += row->bytes;
	sum->removed += row->removed;
	sum->removed_bytes += row->removed_bytes;
}

static void sum_entry(struct sum *sum, const struct ww_wire_entry *entry)
{
	if (entry->state == WW_WIRE_STATE_REMOVED) {
		sum->removed++;
		sum->removed_bytes += entry->bytes;
	} else {
		sum->objects++;
		sum->bytes += entry->bytes;
	}
}

/* By the pages of the lists. */
struct walk {
	struct sum all;
	struct sum kinds[WW_WIRE_KIND_WORK_QUEUE + 2];
	uint64_t holders, held, tokens, deliveries, delivery_bytes;
};

static void walk_objects(struct raw *raw, struct walk *walk)
{
	struct ww_wire_list list = {.unnamed = 1};
	struct ww_wire_listing listing;
	struct ww_wire_entry entry;

	do {
		MUST_OK(raw_call(raw, list, &list, listing, &listing));
		while (ww_wire_entry_next(&listing.entries, &entry)) {
			sum_entry(&walk->all, &entry);
			sum_entry(&walk->kinds[entry.kind], &entry);
		}
		list.cursor = listing.next;
	} while (list.cursor);
}

static void walk_holds(struct raw *raw, struct walk *walk)
{
	struct ww_wire_holds holds = {0};
	struct ww_wire_hold_listing listing;
	struct ww_wire_hold hold;

	do {
		MUST_OK(raw_call(raw, holds, &holds, hold_listing, &listing));
		while (ww_wire_hold_next(&listing.holds, &hold)) {
			walk->held += hold.holder != 0;
			walk->tokens += hold.holder == 0 && hold.delivery == 0;
			walk->deliveries += hold.delivery != 0;
			walk->delivery_bytes += hold.delivery ? hold.bytes : 0;
		}
		holds.cursor = listing.next;
	} while (holds.cursor);
}

static void walk_holders(struct raw *raw, struct walk *walk)
{
	const struct ww_wire_holders holders = {0};
	struct ww_wire_holder_listing listing;

	MUST_OK(raw_call(raw, holders, &holders, holder_listing, &listing));
	MUST_EQUAL(0, listing.next);
	walk->holders = listing.holders.count;
}

/* The one user of a test that has one user. */
static void ask_totals(struct raw *raw, struct ww_wire_total_listing *out,
	struct ww_wire_user_total *out_user)
{
	const struct ww_wire_totals totals = {0};

	MUST_OK(raw_call(raw, totals, &totals, total_listing, out));
	MUST_EQUAL(0, out->next);
	MUST(ww_wire_user_total_next(&out->users, out_user));
}

static void must_be_sum(const struct sum *wanted, const struct sum *got)
{
	MUST_EQUAL(wanted->objects, got->objects);
	MUST_EQUAL(wanted->bytes, got->bytes);
	MUST_EQUAL(wanted->removed, got->removed);
	MUST_EQUAL(wanted->removed_bytes, got->removed_bytes);
}

static void must_be_as_walked(struct raw *raw)
{
	struct walk walk = {.holders = 0};
	struct sum all = {0};
	struct sum kinds[WW_WIRE_KIND_WORK_QUEUE + 2] = {{0}};
	struct ww_wire_total_listing totals;
	struct ww_wire_user_total user;
	struct ww_wire_device_total device;
	int devices = 0;

	walk_objects(raw, &walk);
	walk_holds(raw, &walk);
	walk_holders(raw, &walk);
	ask_totals(raw, &totals, &user);
	while (ww_wire_device_total_next(&totals.devices, &device)) {
		MUST_EQUAL(user.uid, device.uid);
		sum_device(&all, &device);
		sum_device(&kinds[device.kind ? device.kind : WW_WIRE_KIND_WORK_QUEUE + 1],
			&device);
		devices++;
	}
	must_be_sum(&walk.all, &all);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		must_be_sum(&walk.kinds[i], &kinds[i]);
	MUST(devices <= (16 + 1) * (WW_WIRE_KIND_WORK_QUEUE + 1));
	MUST_EQUAL(walk.all.objects + walk.all.removed, totals.objects);
	MUST_EQUAL(walk.all.objects, user.objects);
	MUST_EQUAL(walk.all.bytes, user.bytes);
	MUST_EQUAL(walk.all.bytes, totals.bytes);
	MUST_EQUAL(walk.holders, user.holders);
	MUST_EQUAL(walk.tokens, user.tokens);
	MUST_EQUAL(walk.deliveries, user.deliveries);
	MUST_EQUAL(walk.delivery_bytes, user.delivery_bytes);
	MUST_EQUAL(walk.held + walk.tokens + walk.deliveries, user.holds);
	MUST_EQUAL(user.holds, totals.holds);
}

/* --- random operations --- */

struct scene {
	struct raw raws[PEERS];
	uint8_t ids[OBJECTS][WW_WIRE_ID_BYTES];
};

static struct scene scene;

static void name_of(uint32_t number, char name[32])
{
	snprintf(name, 32, "%c%u", 'a' + (char)(number % 3), number);
}

static void scene_put(struct raw *raw, uint32_t number)
{
	struct ww_wire_put put;
	char name[32];

	name_of(number, name);
	put = raw_object(below(4) ? name : "");
	put.kind = (uint16_t)(1 + below(WW_WIRE_KIND_WORK_QUEUE + 1));
	put.home_uuid[15] = (uint8_t)below(DEVICES);
	put.life = (uint8_t)(1 + below(3));
	put.bytes = below(1000000);
	if (raw_put(raw, &put, NULL, 0) == WW_OK)
		memcpy(scene.ids[number], put.id, sizeof(put.id));
}

/* One request, which may be refused. */
static void scene_step(struct raw *raw, uint32_t number)
{
	struct raw_delivery delivery = {.uses = 1, .after_ns = UINT64_C(60000000000)};
	struct ww_wire_granted granted;
	uint8_t secret[16];
	char name[32];

	name_of(number, name);
	switch (below(8)) {
	case 0:
	case 1:
		scene_put(raw, number);
		break;
	case 2:
		(void)raw_get(raw, name, WW_WIRE_ACCESS_READ, &granted);
		break;
	case 3:
		(void)raw_release(raw, scene.ids[number]);
		break;
	case 4:
		(void)raw_end(raw, name);
		break;
	case 5:
		(void)raw_export(raw, scene.ids[number], WW_WIRE_ACCESS_READ, below(3),
			UINT64_C(60000000000), secret);
		break;
	case 6:
		if (raw_deliver(raw, scene.ids[number], WW_WIRE_ACCESS_READ, &delivery) == WW_OK)
			(void)raw_import(&scene.raws[below(PEERS)], scene.ids[number],
				delivery.secret, WW_WIRE_ACCESS_READ, &granted);
		break;
	default:
		(void)raw_revoke(raw, scene.ids[number]);
		break;
	}
}

/* Releases what it says that it holds to be what it holds: nothing. */
static void forget(struct raw *raw)
{
	const struct ww_wire_confirm message = {.last = 1};
	struct ww_wire_confirmed confirmed;

	(void)raw_call(raw, confirm, &message, confirmed, &confirmed);
}

/* All go on with the next broker: they keep their process ids, and every second what it holds. */
static void scene_restart(struct raw *looker)
{
	suite_kill_broker(looker);
	for (int i = 0; i < PEERS; i++) {
		struct raw *raw = &scene.raws[i];
		uint8_t process_id[WW_WIRE_ID_BYTES];
		struct ww_wire_welcome welcome;
		struct ww_wire_hello hello;

		memcpy(process_id, raw->process_id, sizeof(process_id));
		raw_close(raw);
		raw_connect(raw, daemon_now->address);
		memcpy(raw->process_id, process_id, sizeof(process_id));
		hello = raw_greeting(raw);
		MUST_OK(raw_call(raw, hello, &hello, welcome, &welcome));
		if (welcome.known && i % 2)
			forget(raw);
	}
}

static struct raw *look_again(struct raw *looker)
{
	raw_close(looker);
	raw_open(looker, daemon_now->address);
	return looker;
}

CASE(totals_are_as_walked, ONCE)
{
	static struct raw looker;

	suite_start(NULL, 0);
	for (random_state = 1; random_state <= 3; random_state++) {
		uint64_t seed = random_state;

		raw_open(&looker, daemon_now->address);
		for (int i = 0; i < PEERS; i++)
			raw_open(&scene.raws[i], daemon_now->address);
		for (int round = 0; round < ROUNDS; round++) {
			uint32_t who = below(PEERS);

			scene_step(&scene.raws[who], below(OBJECTS));
			if (below(50) == 0) {
				raw_close(&scene.raws[who]);
				raw_open(&scene.raws[who], daemon_now->address);
			} else if (below(150) == 0) {
				scene_restart(&looker);
				look_again(&looker);
			}
			if (round % 4 == 0)
				must_be_as_walked(&looker);
		}
		for (int i = 0; i < PEERS; i++)
			raw_close(&scene.raws[i]);
		must_be_as_walked(&looker);
		raw_close(&looker);
		random_state = seed;
	}
}

/* --- users --- */

static void count_rows(struct raw *raw, uint8_t wants_all, uint32_t *out_users,
	uint32_t *out_devices, bool *out_has_alice)
{
	struct ww_wire_totals totals = {0};
	struct ww_wire_total_listing listing;
	struct ww_wire_user_total user;

	*out_users = *out_devices = 0;
	*out_has_alice = false;
	do {
		MUST_OK(raw_call(raw, totals, &totals, total_listing, &listing));
		MUST_EQUAL(wants_all, listing.all);
		*out_users += listing.users.count;
		*out_devices += listing.devices.count;
		while (ww_wire_user_total_next(&listing.users, &user)) {
			*out_has_alice |= user.uid == ALICE;
			if (user.uid == ALICE)
				MUST_EQUAL(40, user.objects);
		}
		totals.cursor = listing.next;
	} while (totals.cursor);
}

/* Another user is told of itself; a user cannot make the list long, nor ask for another's page. */
CASE(totals_of_users, ROOT_ONCE)
{
	struct raw *root = peer();
	struct raw *alice = peer_of(ALICE, GROUP);
	struct raw *bob = peer_of(BOB, GROUP);
	struct ww_wire_total_listing listing;
	uint32_t users, devices;
	bool has_alice;

	for (uint8_t i = 0; i < 40; i++) {
		struct ww_wire_put put = raw_object("");

		put.home_uuid[0] = i;
		MUST_OK(raw_put(alice, &put, NULL, 0));
	}
	count_rows(alice, 0, &users, &devices, &has_alice);
	MUST(users == 1 && devices == 17 && has_alice);
	count_rows(bob, 0, &users, &devices, &has_alice);
	MUST(users == 1 && devices == 0 && !has_alice);
	count_rows(root, 1, &users, &devices, &has_alice);
	MUST(users == 3 && devices == 17 && has_alice);
	for (uint64_t cursor = 1; cursor; cursor <<= 1) {
		const struct ww_wire_totals totals = {.cursor = cursor};

		MUST_OK(raw_call(bob, totals, &totals, total_listing, &listing));
		MUST_EQUAL(0, listing.users.count + listing.devices.count + listing.requests.count);
		MUST_OK(raw_call(root, totals, &totals, total_listing, &listing));
		MUST(listing.users.count < 3);
	}
}

/* --- the largest --- */

static uint32_t largest(struct raw *raw, struct ww_wire_largest *wanted,
	struct ww_wire_largest_listing *out)
{
	MUST_OK(raw_call(raw, largest, wanted, largest_listing, out));
	wanted->after_bytes = out->next_bytes;
	wanted->after_generation = out->next_generation;
	return out->entries.count;
}

CASE(largest_objects, ONCE)
{
	struct raw *raw = peer();
	struct raw *other = peer();
	struct ww_wire_largest wanted = {.after_bytes = UINT64_MAX, .most = 7, .uid = UINT32_MAX};
	struct ww_wire_largest_listing listing;
	struct ww_wire_entry entry;
	uint64_t before = UINT64_MAX;
	uint64_t generation = 0;
	uint32_t count = 0;
	char name[32];

	for (int i = 0; i < 100; i++) {
		struct ww_wire_put put;

		snprintf(name, sizeof(name), i % 4 ? "big/%d" : "small/%d", i);
		put = raw_object(i % 10 == 9 ? "" : name);
		put.bytes = (uint64_t)(i * 37 % 50) * 1000;
		MUST_OK(raw_put(i % 2 ? raw : other, &put, NULL, 0));
		if (i == 49) /* held, so it stays as removed; it has no name any more to be found */
			MUST_OK(raw_release(raw, put.id));
	}
	do {
		count += largest(raw, &wanted, &listing);
		while (ww_wire_entry_next(&listing.entries, &entry)) {
			MUST(entry.bytes < before ||
				(entry.bytes == before && entry.generation > generation));
			before = entry.bytes;
			generation = entry.generation;
		}
	} while (listing.more);
	MUST_EQUAL(99, count);

	/* With a condition, and behind the last place. */
	wanted = (struct ww_wire_largest){.after_bytes = UINT64_MAX,
		.most = 64,
		.uid = UINT32_MAX,
		.prefix = "small/"};
	MUST_EQUAL(25, largest(raw, &wanted, &listing));
	MUST_EQUAL(0, listing.more);
	wanted = (struct ww_wire_largest){.most = 64,
		.uid = UINT32_MAX,
		.after_generation = UINT64_MAX};
	MUST_EQUAL(0, largest(raw, &wanted, &listing));
	wanted = (struct ww_wire_largest){.after_bytes = UINT64_MAX, .most = 64, .uid = 4242};
	MUST_EQUAL(0, largest(raw, &wanted, &listing));
	wanted.uid = UINT32_MAX;
	wanted.kind = WW_WIRE_KIND_EVENT;
	MUST_EQUAL(0, largest(raw, &wanted, &listing));
	wanted.most = 0;
	MUST_REFUSE(WW_ERR_INVALID, "1 to 64",
		raw_call(raw, largest, &wanted, largest_listing, &listing));
	wanted.most = 65;
	MUST_REFUSE(WW_ERR_INVALID, "1 to 64",
		raw_call(raw, largest, &wanted, largest_listing, &listing));
}

/* A page that finds nothing ends all the same, and the next one goes on behind it. */
CASE(largest_of_few, ONCE)
{
	struct raw *raw = peer();
	struct ww_wire_largest wanted = {.after_bytes = UINT64_MAX,
		.most = 64,
		.uid = UINT32_MAX,
		.prefix = "few/"};
	struct ww_wire_largest_listing listing;
	uint32_t pages = 0;
	uint32_t count = 0;
	char name[32];

	for (int i = 0; i < 400; i++) {
		struct ww_wire_put put;

		snprintf(name, sizeof(name), i < 3 ? "few/%d" : "many/%d", i);
		put = raw_object(name);
		put.bytes = (uint64_t)i;
		MUST_OK(raw_put(raw, &put, NULL, 0));
	}
	MUST_EQUAL(0, largest(raw, &wanted, &listing));
	MUST_EQUAL(1, listing.more);
	for (; listing.more && pages < 400; pages++)
		count += largest(raw, &wanted, &listing);
	MUST_EQUAL(3, count);
	MUST(pages < 400);
}

CASE(largest_holders, ONCE)
{
	struct ww_wire_largest_holders wanted = {.after_bytes = UINT64_MAX,
		.most = 2,
		.uid = UINT32_MAX};
	struct ww_wire_largest_holder_listing listing;
	struct ww_wire_holder holder;
	uint64_t wanted_bytes[] = {5000, 3000, 3000, 1000, 0};
	const uint64_t put_bytes[] = {3000, 0, 5000, 1000, 3000};
	struct raw *raw = NULL;
	size_t seen = 0;

	for (size_t i = 0; i < 5; i++) {
		struct ww_wire_put put = raw_object("");

		raw = peer();
		put.bytes = put_bytes[i];
		MUST_OK(raw_put(raw, &put, NULL, 0));
	}
	do {
		MUST_OK(raw_call(raw, largest_holders, &wanted, largest_holder_listing, &listing));
		while (ww_wire_holder_next(&listing.holders, &holder)) {
			MUST(seen < 5);
			MUST_EQUAL(wanted_bytes[seen++], holder.held_bytes);
		}
		wanted.after_bytes = listing.next_bytes;
		wanted.after_number = listing.next_number;
	} while (listing.more);
	MUST_EQUAL(5, seen);
}

static struct ww_wire_holder first_holder(struct raw *raw)
{
	const struct ww_wire_largest_holders wanted = {.after_bytes = UINT64_MAX,
		.most = 1,
		.uid = UINT32_MAX};
	struct ww_wire_largest_holder_listing listing;
	struct ww_wire_holder holder;

	MUST_OK(raw_call(raw, largest_holders, &wanted, largest_holder_listing, &listing));
	MUST(ww_wire_holder_next(&listing.holders, &holder));
	return holder;
}

/* What is removed is not charged, so the sum of it may be more than 64 bits can count. */
CASE(largest_holder_cannot_hide, ONCE)
{
	const uint64_t fakes[] = {INT64_MAX, INT64_MAX, 2};
	struct raw *raw = peer();
	struct raw *other = peer();
	struct ww_wire_put put = raw_object("large");
	struct ww_wire_put puts[3];

	put.bytes = 1000;
	MUST_OK(raw_put(raw, &put, NULL, 0));
	put = raw_object("small");
	put.bytes = 10;
	MUST_OK(raw_put(other, &put, NULL, 0));
	for (size_t i = 0; i < 3; i++) {
		puts[i] = raw_object("fake");
		puts[i].bytes = fakes[i];
		MUST_OK(raw_put(raw, &puts[i], NULL, 0));
		MUST_OK(raw_end(raw, "fake"));
	}
	MUST_EQUAL(4, first_holder(other).held);
	MUST_EQUAL(UINT64_MAX, first_holder(other).held_bytes);
	MUST_EQUAL(UINT64_MAX, first_holder(other).put_bytes);
	for (size_t i = 0; i < 3; i++)
		MUST_OK(raw_release(raw, puts[i].id));
	(void)first_holder(raw); /* after this answer the releases have been served */
	MUST_EQUAL(1000, first_holder(other).held_bytes);
}

/* --- one object --- */

CASE(holds_of_an_object, ONCE)
{
	struct raw *maker = peer();
	struct raw *users[3];
	struct ww_wire_put put = put_named(maker, "object");
	struct ww_wire_object_holds message = {.cursor = 0};
	struct ww_wire_object_hold_listing listing;
	struct ww_wire_granted granted;
	struct ww_wire_entry entry;
	uint8_t secret[16];

	for (int i = 0; i < 3; i++) {
		users[i] = peer();
		MUST_OK(raw_get(users[i], "object", WW_WIRE_ACCESS_READ, &granted));
	}
	put_named(users[0], "another");
	for (int i = 0; i < 70; i++)
		MUST_OK(raw_export(maker, put.id, WW_WIRE_ACCESS_READ, 0, UINT64_C(60000000000),
			secret));
	MUST_OK(raw_stat(maker, "object", &entry));
	message.generation = entry.generation;
	memcpy(message.id, entry.id, sizeof(message.id));
	MUST_OK(raw_call(maker, object_holds, &message, object_hold_listing, &listing));
	MUST_EQUAL(0, listing.next);
	MUST_EQUAL(4, listing.holders.count);
	MUST_EQUAL(4 + 64, listing.holds.count);
	MUST_EQUAL(70, listing.entry.escrows);

	/* Removed, it is still there for those who look; its tokens have ended. */
	MUST_OK(raw_end(maker, "object"));
	MUST_OK(raw_call(maker, object_holds, &message, object_hold_listing, &listing));
	MUST_EQUAL(WW_WIRE_STATE_REMOVED, listing.entry.state);
	MUST_EQUAL(4, listing.holds.count);
	message.cursor = UINT64_MAX;
	MUST_OK(raw_call(maker, object_holds, &message, object_hold_listing, &listing));
	MUST_EQUAL(0, listing.holds.count + listing.next);
	message.generation++;
	MUST_REFUSE(WW_ERR_NOT_FOUND, "no object",
		raw_call(maker, object_holds, &message, object_hold_listing, &listing));
}

/* --- refusals --- */

static uint64_t count_of(struct raw *raw, uint16_t request, ww_status status)
{
	struct ww_wire_total_listing listing;
	struct ww_wire_user_total user;
	struct ww_wire_request_total row;
	uint64_t count = 0;

	ask_totals(raw, &listing, &user);
	while (ww_wire_request_total_next(&listing.requests, &row)) {
		if (row.request == request && row.status == status)
			count += row.count;
	}
	return count;
}

CASE(refusals_are_counted, ONCE)
{
	struct raw *raw;
	struct raw *bad;
	struct ww_wire_granted granted;
	struct ww_wire_put put;
	uint8_t noise[40] = {1};
	uint32_t serial;

	suite_start("[limits]\nobjects = 3\n", 0);
	raw = peer();
	for (int i = 0; i < 5; i++) {
		put = raw_object("");
		MUST_STATUS(i < 3 ? WW_OK : WW_ERR_QUOTA, raw_put(raw, &put, NULL, 0));
	}
	MUST_EQUAL(5, count_of(raw, WW_WIRE_PUT, 0));
	MUST_EQUAL(2, count_of(raw, WW_WIRE_PUT, WW_ERR_QUOTA));
	MUST_STATUS(WW_ERR_NOT_FOUND, raw_get(raw, "none", WW_WIRE_ACCESS_READ, &granted));
	MUST_EQUAL(1, count_of(raw, WW_WIRE_GET, WW_ERR_NOT_FOUND));

	/* A request that waits counts when it comes, and as refused when that is the answer. */
	serial = raw_ask_get(raw, "later", WW_WIRE_ACCESS_READ);
	MUST_EQUAL(2, count_of(raw, WW_WIRE_GET, 0));
	MUST_EQUAL(0, count_of(raw, WW_WIRE_GET, WW_ERR_GIVEN_UP));
	{
		const struct ww_wire_cancel cancel = {.waiting = serial};

		(void)raw_ask(raw, cancel, &cancel);
		MUST_OK(raw_receive(raw));
		MUST_OK(raw_receive(raw));
	}
	MUST_EQUAL(1, count_of(raw, WW_WIRE_GET, WW_ERR_GIVEN_UP));

	/* What is no request. */
	bad = peer();
	MUST_OK(raw_send(bad, noise, sizeof(noise), NULL, 0));
	MUST_OK(raw_receive(bad));
	raw_must_be_closed(bad);
	MUST_EQUAL(1, count_of(raw, 0, WW_ERR_PROTOCOL) + count_of(raw, 0, WW_ERR_TRUNCATED));
}
