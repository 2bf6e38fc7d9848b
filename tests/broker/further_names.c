/* SPDX-License-Identifier: Apache-2.0 */
/*
 * further_names.c - a memory with several names: each is found, lives and is replaced by itself
 */
#include "broker/suite.h"

#include <stdio.h>

#define MINUTE_NS UINT64_C(60000000000)

static const uint8_t any_id[16];

static ww_status get_as(struct raw *raw, const char *name)
{
	struct ww_wire_granted granted;

	return raw_get(raw, name, WW_WIRE_ACCESS_READ, &granted);
}

/* Puts the memory under one more name. */
static ww_status put_also(struct raw *raw, const struct ww_wire_put *put, const char *name)
{
	struct ww_wire_put further = *put;

	memset(further.name, 0, sizeof(further.name));
	strcpy(further.name, name);
	return raw_put(raw, &further, NULL, 0);
}

static struct ww_wire_put put_public(struct raw *raw, const char *name, uint8_t life)
{
	struct ww_wire_put put = raw_object(name);

	put.mode = 0644;
	put.life = life;
	MUST_OK(raw_put(raw, &put, NULL, 0));
	return put;
}

CASE(further_names_are_found, 0)
{
	struct raw *maker = peer();
	struct raw *reader = peer();
	struct raw *eyes = watcher();
	struct ww_wire_put put = put_public(maker, "a/first", WW_WIRE_LIFE_HELD);
	struct ww_wire_put part = put;
	struct ww_wire_granted granted;
	struct ww_wire_entry entry;

	strcpy(part.name, "b/part");
	strcpy((char *)part.description, "the part");
	part.description_bytes = 8;
	part.life = WW_WIRE_LIFE_KEPT;
	MUST_OK(raw_put(maker, &part, NULL, 0));
	MUST_OK(raw_get(reader, "b/part", WW_WIRE_ACCESS_READ, &granted));
	MUST(!memcmp(granted.id, put.id, sizeof(put.id)));
	MUST(!strcmp(granted.name, "b/part"));
	MUST_EQUAL(8, granted.description_bytes);
	MUST(!memcmp(granted.description, "the part", 8));
	MUST_OK(raw_stat(reader, "b/part", &entry));
	MUST_EQUAL(WW_WIRE_LIFE_KEPT, entry.life);
	MUST_OK(raw_stat(reader, "a/first", &entry));
	MUST_EQUAL(WW_WIRE_LIFE_HELD, entry.life);
	MUST_EQUAL(put.description_bytes, entry.description_bytes);
	wait_for(reader, &(struct want){1, UINT64_MAX, 2, 0, 0});
	/* Each once, also in lists with what has no name, and by those that begin to watch. */
	MUST_EQUAL(2, count_listed(reader, "", false));
	MUST_EQUAL(2, count_listed(reader, "", true));
	MUST_EQUAL(1, count_listed(reader, "b/", false));
	MUST_OK(raw_watch(eyes, "", WW_WIRE_WATCH_FLAG_EXISTING));
	raw_hear_event(eyes, WW_WIRE_WHAT_PUT, "a/first");
	raw_hear_event(eyes, WW_WIRE_WHAT_PUT, "b/part");
	MUST_OK(raw_remove(maker, "a/first", any_id));
	raw_hear_event(eyes, WW_WIRE_WHAT_REMOVED, "a/first");
	MUST_EQUAL(1, count_listed(reader, "", true));
	MUST_OK(get_as(reader, "b/part"));
	MUST_OK(raw_remove(maker, "b/part", put.id));
	raw_hear_event(eyes, WW_WIRE_WHAT_REMOVED, "b/part");
	MUST_REFUSE(WW_ERR_NOT_FOUND, "no object", get_as(reader, "b/part"));
	MUST_EQUAL(1, count_listed(reader, "", true));
	MUST_EQUAL(0, count_listed(reader, "", false));
}

/* A name of life held goes with the last process, and a kept one keeps the memory. */
CASE(further_names_live_for_themselves, 0)
{
	struct raw *maker = peer();
	struct raw *reader = peer();
	struct raw *eyes = watcher();
	struct ww_wire_put put = put_public(maker, "held", WW_WIRE_LIFE_HELD);
	struct ww_wire_put other = put;
	uint8_t secret[16];

	MUST_OK(raw_watch(eyes, "", 0));
	other.life = WW_WIRE_LIFE_KEPT;
	MUST_OK(put_also(maker, &other, "kept"));
	other.ttl_ns = MS;
	MUST_OK(put_also(maker, &other, "brief"));
	raw_hear_event(eyes, WW_WIRE_WHAT_PUT, "kept");
	raw_hear_event(eyes, WW_WIRE_WHAT_READY, "kept");
	raw_hear_event(eyes, WW_WIRE_WHAT_PUT, "brief");
	raw_hear_event(eyes, WW_WIRE_WHAT_READY, "brief");
	raw_hear_event(eyes, WW_WIRE_WHAT_EXPIRED, "brief");
	MUST_OK(raw_export(maker, put.id, WW_WIRE_ACCESS_READ, 1, MINUTE_NS, secret));
	MUST_OK(raw_release(maker, put.id));
	raw_hear_event(eyes, WW_WIRE_WHAT_GONE, "held");
	MUST_OK(get_as(reader, "kept"));
	MUST_OK(raw_release(reader, put.id));
	/* Flag end takes all names, and tokens. */
	put.life = WW_WIRE_LIFE_KEPT;
	MUST_OK(get_as(maker, "kept"));
	MUST_OK(put_also(maker, &put, "more"));
	raw_hear_event(eyes, WW_WIRE_WHAT_PUT, "more");
	raw_hear_event(eyes, WW_WIRE_WHAT_READY, "more");
	MUST_OK(raw_end(reader, "kept"));
	raw_hear_event(eyes, WW_WIRE_WHAT_REMOVED, "kept");
	raw_hear_event(eyes, WW_WIRE_WHAT_REMOVED, "more");
	MUST_REFUSE(WW_ERR_NOT_FOUND, "no object", get_as(reader, "more"));
}

CASE(further_names_agree, 0)
{
	struct raw *maker = peer();
	struct ww_wire_put put = put_public(maker, "first", WW_WIRE_LIFE_HELD);
	struct ww_wire_put changed[4];
	struct ww_wire_put timeline = raw_object("timeline");

	for (size_t i = 0; i < CHECK_COUNT(changed); i++)
		changed[i] = put;
	changed[0].mode = 0600;
	changed[1].state = WW_WIRE_STATE_SHARED;
	changed[2].life = WW_WIRE_LIFE_OWNER;
	changed[3].kind = WW_WIRE_KIND_EVENT;
	for (size_t i = 0; i < CHECK_COUNT(changed); i++)
		MUST_REFUSE(WW_ERR_EXISTS, "'first' (mode 0644",
			put_also(maker, &changed[i], "second"));
	MUST_OK(put_also(maker, &put, "second"));
	MUST_OK(put_also(maker, &put, "second"));
	MUST_REFUSE(WW_ERR_EXISTS, "'first'", put_also(maker, &put, ""));
	put.life = WW_WIRE_LIFE_KEPT;
	MUST_REFUSE(WW_ERR_EXISTS, "a second put changes nothing", put_also(maker, &put, "second"));
	/* All other kinds have one name. */
	timeline.kind = WW_WIRE_KIND_TIMELINE;
	MUST_OK(raw_put(maker, &timeline, NULL, 0));
	MUST_REFUSE(WW_ERR_EXISTS, "as 'timeline'", put_also(maker, &timeline, "second timeline"));
}

/* Another process of the user, too, also if the maker has ended and no name is left. */
CASE(further_names_by_the_user, AS_ROOT)
{
	struct raw *maker = peer_of(ALICE, GROUP);
	struct raw *holder = peer_of(ALICE, GROUP);
	struct raw *other = peer_of(BOB, GROUP);
	struct ww_wire_put put = put_public(maker, "first", WW_WIRE_LIFE_HELD);

	MUST_REFUSE(WW_ERR_EXISTS, "get it from there first", put_also(holder, &put, "second"));
	MUST_OK(get_as(holder, "first"));
	MUST_OK(get_as(other, "first"));
	MUST_REFUSE(WW_ERR_ACCESS, "only that user and root may name it",
		put_also(other, &put, "second"));
	MUST_OK(put_also(holder, &put, "second"));
	MUST_OK(put_also(holder, &put, "second"));
	MUST_REFUSE(WW_ERR_ACCESS, "belongs to user", raw_remove(other, "second", any_id));
	MUST_OK(raw_remove(maker, "first", any_id));
	MUST_OK(raw_remove(maker, "second", any_id));
	raw_close(maker);
	put.mode = 0600;
	MUST_REFUSE(WW_ERR_EXISTS, "without a name", put_also(holder, &put, "third"));
	put.mode = 0644;
	MUST_OK(put_also(holder, &put, "third"));
	MUST_OK(get_as(other, "third"));
	MUST_OK(raw_remove(holder, "third", put.id));
}

static ww_status get_from(struct raw *raw, const char *name, uid_t owner)
{
	struct ww_wire_get get = {.access = WW_WIRE_ACCESS_READ,
		.flags = WW_WIRE_GET_FLAG_FROM_OWNER,
		.owner = owner};
	struct ww_wire_granted granted;

	strcpy(get.name, name);
	return raw_call(raw, get, &get, granted, &granted);
}

/* A name of root at a memory of a user belongs to neither of them alone. */
CASE(further_names_have_an_owner, ROOT_ONCE)
{
	struct ww_wire_put put;
	struct raw *maker;
	struct raw *root;

	suite_start(NULL, 0);
	maker = peer_of(ALICE, GROUP);
	root = peer_of(0, GROUP);
	put = put_public(maker, "first", WW_WIRE_LIFE_HELD);
	MUST_OK(get_as(root, "first"));
	put.gid = GROUP;
	put.life = WW_WIRE_LIFE_KEPT;
	MUST_OK(put_also(root, &put, "roots"));
	MUST_OK(get_from(root, "first", ALICE));
	MUST_REFUSE(WW_ERR_ACCESS, "belongs to user 0", get_from(root, "roots", ALICE));
	MUST_REFUSE(WW_ERR_ACCESS, "belongs to user", get_from(root, "roots", 0));
	suite_kill_broker(maker);
	suite_come_back_as(maker, ALICE, GROUP, true);
	suite_come_back_as(root, 0, GROUP, true);
	MUST_REFUSE(WW_ERR_ACCESS, "belongs to user 0", get_from(root, "roots", ALICE));
	/* While there is no first name either, it is one of the user's. */
	MUST_OK(raw_remove(maker, "first", any_id));
	put.life = WW_WIRE_LIFE_HELD;
	MUST_OK(put_also(maker, &put, "again"));
	MUST_OK(get_from(root, "again", ALICE));
	MUST_OK(raw_remove(maker, "roots", any_id));
	MUST_OK(get_as(maker, "again"));
}

/* One name of a memory is given to another one; the others stay. */
CASE(further_names_are_replaced, 0)
{
	struct raw *maker = peer();
	struct raw *waiter = peer();
	struct raw *eyes = watcher();
	struct ww_wire_put old = put_public(maker, "v1", WW_WIRE_LIFE_KEPT);
	struct ww_wire_put new = raw_object("v2");
	struct ww_wire_granted granted;
	uint32_t serial;

	MUST_OK(put_also(maker, &old, "latest"));
	MUST_OK(raw_watch(eyes, "latest", 0));
	new.state = WW_WIRE_STATE_WRITING;
	new.life = WW_WIRE_LIFE_KEPT;
	MUST_OK(raw_put(maker, &new, NULL, 0));
	MUST_REFUSE(WW_ERR_EXISTS, "'latest' is taken", put_also(maker, &new, "latest"));
	new.flags = WW_WIRE_PUT_FLAG_REPLACE;
	MUST_OK(put_also(maker, &new, "latest"));
	MUST(raw_is_silent(eyes));
	MUST_OK(raw_get(maker, "latest", WW_WIRE_ACCESS_READ, &granted));
	MUST(!memcmp(granted.id, old.id, sizeof(old.id)));
	serial = raw_ask_get(waiter, "v2", WW_WIRE_ACCESS_READ);
	MUST_OK(raw_seal(maker, new.id, WW_WIRE_STATE_SEALED));
	raw_hear_event(eyes, WW_WIRE_WHAT_REPLACED, "latest");
	raw_hear_event(eyes, WW_WIRE_WHAT_READY, "latest");
	MUST_OK(raw_answered(waiter, serial));
	MUST_OK(raw_get(maker, "latest", WW_WIRE_ACCESS_READ, &granted));
	MUST(!memcmp(granted.id, new.id, sizeof(new.id)));
	MUST_OK(get_as(waiter, "v1"));
	MUST_OK(raw_end(maker, "v1"));
	MUST_OK(raw_end(maker, "latest"));
}

/* The same memory takes a name from itself: for another part of it, or with another life. */
CASE(further_names_replace_their_own, 0)
{
	struct raw *maker = peer();
	struct raw *eyes = watcher();
	struct ww_wire_put put = put_public(maker, "w", WW_WIRE_LIFE_HELD);
	struct ww_wire_put part = put;
	struct ww_wire_granted granted;
	struct ww_wire_entry entry;

	MUST_OK(raw_watch(eyes, "", 0));
	for (int i = 0; i < 3; i++) {
		part.description[0] = (uint8_t)i;
		part.description_bytes = 1;
		part.life = i < 2 ? WW_WIRE_LIFE_HELD : WW_WIRE_LIFE_KEPT;
		part.flags = 0;
		MUST_REFUSE(WW_ERR_EXISTS, "a second put changes nothing",
			raw_put(maker, &part, NULL, 0));
		part.flags = WW_WIRE_PUT_FLAG_REPLACE;
		MUST_OK(raw_put(maker, &part, NULL, 0));
		raw_hear_event(eyes, WW_WIRE_WHAT_REPLACED, "w");
		raw_hear_event(eyes, WW_WIRE_WHAT_READY, "w");
		MUST_OK(raw_put(maker, &part, NULL, 0));
		MUST(raw_is_silent(eyes));
		MUST_OK(raw_get(maker, "w", WW_WIRE_ACCESS_READ, &granted));
		MUST_EQUAL(1, granted.description_bytes);
		MUST_EQUAL(i, granted.description[0]);
		MUST_EQUAL(1, count_listed(maker, "", true));
	}
	MUST_OK(raw_stat(maker, "w", &entry));
	MUST_EQUAL(WW_WIRE_LIFE_KEPT, entry.life);
	part.mode = 0600;
	MUST_REFUSE(WW_ERR_EXISTS, "mode 0644", raw_put(maker, &part, NULL, 0));
	MUST_OK(raw_remove(maker, "w", any_id));
}

/* Each is charged as an object, and there are not too many. */
CASE(further_names_are_limited, ONCE)
{
	struct raw *maker;
	struct ww_wire_put put;
	char name[16];

	suite_start("[limits]\nobjects = 4100\n", 0);
	maker = peer();
	put = put_public(maker, "first", WW_WIRE_LIFE_HELD);
	for (int i = 0; i < 4096; i++) {
		snprintf(name, sizeof(name), "n%d", i);
		MUST_OK(put_also(maker, &put, name));
	}
	MUST_REFUSE(WW_ERR_QUOTA, "has 4097 names", put_also(maker, &put, "more"));
	for (int i = 0; i < 3; i++) {
		snprintf(name, sizeof(name), "o%d", i);
		put_public(maker, name, WW_WIRE_LIFE_HELD);
	}
	MUST_OK(raw_remove(maker, "n7", any_id));
	MUST_OK(put_also(maker, &put, "n7"));
	put = raw_object("too many");
	MUST_REFUSE(WW_ERR_QUOTA, "4100 objects", raw_put(maker, &put, NULL, 0));
	suite_kill_broker(maker);
	suite_come_back(maker, true);
	MUST_REFUSE(WW_ERR_QUOTA, "4100 objects", raw_put(maker, &put, NULL, 0));
	MUST_EQUAL(4100, count_listed(maker, "", true));
	MUST_OK(raw_end(maker, "n5"));
	MUST_EQUAL(3, count_listed(maker, "", false));
}

/* Also one that the object does not have yet. */
CASE(further_names_that_wait_are_removed, 0)
{
	struct raw *maker = peer();
	struct ww_wire_put old = put_public(maker, "taken", WW_WIRE_LIFE_KEPT);
	struct ww_wire_put new = raw_object("own");
	struct ww_wire_granted granted;

	new.state = WW_WIRE_STATE_WRITING;
	MUST_OK(raw_put(maker, &new, NULL, 0));
	new.flags = WW_WIRE_PUT_FLAG_REPLACE;
	MUST_OK(put_also(maker, &new, "taken"));
	MUST_OK(raw_remove(maker, "taken", new.id));
	MUST_REFUSE(WW_ERR_NOT_FOUND, "id and name", raw_remove(maker, "taken", new.id));
	MUST_OK(raw_seal(maker, new.id, WW_WIRE_STATE_SEALED));
	MUST_OK(raw_get(maker, "taken", WW_WIRE_ACCESS_READ, &granted));
	MUST(!memcmp(granted.id, old.id, sizeof(old.id)));
	MUST_OK(raw_end(maker, "taken"));
	MUST_OK(raw_end(maker, "own"));
}
