/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unnamed.c - memory that has lost its name: who still gets it, when it ends, and who pays for it
 */
#include "broker/suite.h"

#include <sys/random.h>

#define MINUTE_NS UINT64_C(60000000000)

static const uint8_t any_id[16];

static ww_status get_as(struct raw *raw, const char *name)
{
	struct ww_wire_granted granted;

	return raw_get(raw, name, WW_WIRE_ACCESS_READ, &granted);
}

static ww_status import_as(struct raw *raw, const uint8_t id[16], const uint8_t secret[16])
{
	struct ww_wire_granted granted;

	return raw_import(raw, id, secret, WW_WIRE_ACCESS_READ, &granted);
}

/* Puts a memory that all users may read. */
static struct ww_wire_put put_public(struct raw *raw, const char *name, uint32_t flags)
{
	struct ww_wire_put put = raw_object(name);

	put.mode = 0644;
	put.flags = flags;
	MUST_OK(raw_put(raw, &put, NULL, 0));
	return put;
}

/* Puts a memory that a reader gets, and of which a token is in flight. */
static struct ww_wire_put hand_out(struct raw *maker, struct raw *reader, const char *name,
	uint8_t out_secret[16])
{
	struct ww_wire_put put = put_named(maker, name);

	MUST_OK(get_as(reader, name));
	MUST_OK(raw_export(maker, put.id, WW_WIRE_ACCESS_READ, 1, MINUTE_NS, out_secret));
	return put;
}

/* All that had the memory, or a token of it, still have it. */
static void must_go_on(struct raw *maker, struct raw *reader, const struct ww_wire_put *put,
	const uint8_t secret[16])
{
	uint8_t own[16];
	uint8_t passed[16];

	MUST_OK(raw_export(maker, put->id, WW_WIRE_ACCESS_READ, 0, 0, own));
	MUST_OK(raw_export(reader, put->id, WW_WIRE_ACCESS_READ, 1, MINUTE_NS, passed));
	MUST_OK(import_as(peer(), put->id, secret));
	MUST_OK(import_as(peer(), put->id, passed));
}

CASE(unnamed_goes_on, 0)
{
	struct raw *maker = peer();
	struct raw *reader = peer();
	uint8_t secret[16];
	struct ww_wire_put put = hand_out(maker, reader, "gone", secret);

	MUST_OK(raw_remove(peer(), "gone", any_id));
	MUST_REFUSE(WW_ERR_NOT_FOUND, "no object 'gone'", get_as(reader, "gone"));
	must_go_on(maker, reader, &put, secret);
	/* Its maker may name it again, which the former name does not hinder. */
	put_named(maker, "gone");
	strcpy(put.name, "again");
	put.mode = 0640;
	MUST_OK(raw_put(maker, &put, NULL, 0));
	MUST_OK(get_as(reader, "again"));
	MUST_OK(raw_remove(maker, "again", put.id));
}

/* With its last holder; kept memory, too. */
CASE(unnamed_ends_with_its_holders, 0)
{
	struct raw *maker = peer();
	struct raw *reader = peer();
	struct ww_wire_put put = raw_object("kept");

	put.life = WW_WIRE_LIFE_KEPT;
	MUST_OK(raw_put(maker, &put, NULL, 0));
	MUST_OK(get_as(reader, "kept"));
	MUST_OK(raw_remove(maker, "kept", any_id));
	MUST_OK(raw_release(maker, put.id));
	wait_for(reader, &(struct want){1, 2, 1, 0, 0});
	MUST_OK(raw_release(reader, put.id));
	wait_for(reader, &(struct want){0, 2, 0, 0, 0});
}

CASE(unnamed_by_replacement, 0)
{
	struct raw *maker = peer();
	struct raw *reader = peer();
	uint8_t secret[16];
	struct ww_wire_put put = hand_out(maker, reader, "current", secret);

	put_public(maker, "current", WW_WIRE_PUT_FLAG_REPLACE);
	must_go_on(maker, reader, &put, secret);
}

CASE(unnamed_by_time, 0)
{
	struct raw *maker = peer();
	struct raw *eyes = watcher();
	struct ww_wire_put put = raw_object("brief");
	uint8_t secret[16];

	MUST_OK(raw_watch(eyes, "", 0));
	put.life = WW_WIRE_LIFE_KEPT;
	put.ttl_ns = MS;
	MUST_OK(raw_put(maker, &put, NULL, 0));
	raw_hear_event(eyes, WW_WIRE_WHAT_PUT, "brief");
	raw_hear_event(eyes, WW_WIRE_WHAT_READY, "brief");
	raw_hear_event(eyes, WW_WIRE_WHAT_EXPIRED, "brief");
	MUST_OK(raw_export(maker, put.id, WW_WIRE_ACCESS_READ, 0, 0, secret));
	MUST_OK(import_as(peer(), put.id, secret));
}

/* A token keeps the memory, but not the name: a process that is started again can take it. */
CASE(unnamed_when_only_tokens_hold_it, 0)
{
	struct raw *maker = peer();
	struct raw *next = peer();
	struct ww_wire_put put = put_named(maker, "taken");
	uint8_t secret[16];

	MUST_OK(raw_export(maker, put.id, WW_WIRE_ACCESS_READ, 1, MINUTE_NS, secret));
	MUST_OK(raw_release(maker, put.id));
	put_named(next, "taken");
	MUST_OK(import_as(next, put.id, secret));
	MUST_OK(raw_release(next, put.id));
	/* So do other kinds. */
	put = raw_object("other");
	put.kind = WW_WIRE_KIND_EVENT;
	MUST_OK(raw_put(maker, &put, NULL, 0));
	MUST_OK(raw_export(maker, put.id, WW_WIRE_ACCESS_READ, 1, MINUTE_NS, secret));
	MUST_OK(raw_release(maker, put.id));
	MUST_REFUSE(WW_ERR_NOT_FOUND, "no object", get_as(next, "other"));
	MUST_OK(import_as(next, put.id, secret));
}

/* Any other object ends with its name, as memory does with flag end. */
CASE(unnamed_or_ended, AS_ROOT)
{
	struct raw *maker = peer_of(ALICE, GROUP);
	struct raw *other = peer_of(BOB, GROUP);
	struct ww_wire_put put = put_public(maker, "memory", 0);
	struct ww_wire_put timeline = raw_object("timeline");
	uint8_t secret[16];

	MUST_OK(raw_export(maker, put.id, WW_WIRE_ACCESS_READ, 1, MINUTE_NS, secret));
	MUST_OK(raw_remove(maker, "memory", any_id));
	MUST_REFUSE(WW_ERR_ACCESS, "belongs to user", raw_end_id(other, put.id));
	MUST_OK(raw_end_id(maker, put.id));
	MUST_REFUSE(WW_ERR_NOT_FOUND, "no object with this id", raw_end_id(maker, put.id));
	MUST_REFUSE(WW_ERR_NOT_FOUND, "has ended", import_as(other, put.id, secret));
	timeline.kind = WW_WIRE_KIND_TIMELINE;
	MUST_OK(raw_put(maker, &timeline, NULL, 0));
	MUST_OK(raw_export(maker, timeline.id, WW_WIRE_ACCESS_READ, 1, MINUTE_NS, secret));
	MUST_OK(raw_remove(maker, "timeline", any_id));
	MUST_REFUSE(WW_ERR_NOT_FOUND, "has ended", import_as(other, timeline.id, secret));
}

/* What is written without a name is ready then, but not by a name. Waits for the name go on. */
CASE(unnamed_while_written, 0)
{
	struct raw *maker = peer();
	struct raw *waiter = peer();
	struct ww_wire_put put = raw_object("written");
	struct ww_wire_granted granted;
	uint8_t secret[16];
	uint32_t serial;

	put.state = WW_WIRE_STATE_WRITING;
	MUST_OK(raw_put(maker, &put, NULL, 0));
	serial = raw_ask_get(waiter, "written", WW_WIRE_ACCESS_READ);
	MUST_OK(raw_remove(maker, "written", any_id));
	MUST_REFUSE(WW_ERR_NOT_FOUND, "its name was removed",
		raw_seal(maker, put.id, WW_WIRE_STATE_SEALED));
	MUST(raw_is_silent(waiter));
	MUST_OK(raw_export(maker, put.id, WW_WIRE_ACCESS_READ, 0, 0, secret));
	MUST_OK(import_as(peer(), put.id, secret));
	put.state = WW_WIRE_STATE_SEALED;
	MUST_OK(raw_put(maker, &put, NULL, 0));
	MUST_OK(raw_answered(waiter, serial));
	MUST_OK(raw_take(waiter, granted, &granted));
}

/* Not only who put it, and not who does not hold it. */
CASE(unnamed_tokens_are_revoked, AS_ROOT)
{
	struct raw *maker = peer_of(ALICE, GROUP);
	struct raw *reader = peer_of(ALICE, GROUP);
	struct raw *other = peer_of(BOB, GROUP);
	struct ww_wire_put put = put_public(maker, "memory", 0);
	uint8_t secret[16];

	MUST_REFUSE(WW_ERR_ACCESS, "only processes of user", raw_revoke(reader, put.id));
	MUST_OK(get_as(reader, "memory"));
	MUST_OK(get_as(other, "memory"));
	MUST_OK(raw_remove(maker, "memory", any_id));
	MUST_OK(raw_release(maker, put.id));
	raw_close(maker);
	MUST_OK(raw_export(other, put.id, WW_WIRE_ACCESS_READ, 1, MINUTE_NS, secret));
	MUST_REFUSE(WW_ERR_ACCESS, "only processes of user", raw_revoke(other, put.id));
	MUST_OK(raw_revoke(reader, put.id));
	MUST_REFUSE(WW_ERR_ACCESS, "revoked", import_as(peer(), put.id, secret));
}

/* --- who pays --- */

/* A reader that holds all versions pays for those that nobody else holds. */
CASE(unnamed_is_paid_by_its_holder, ROOT_ONCE)
{
	struct ww_wire_put own = raw_object("own");
	struct raw *publisher;
	struct raw *reader;

	suite_start("[limits]\nobjects = 6\n", 0);
	publisher = peer_of(ALICE, GROUP);
	reader = peer_of(BOB, GROUP);
	for (int version = 0; version < 20; version++) {
		struct ww_wire_put put = put_public(publisher, "w", WW_WIRE_PUT_FLAG_REPLACE);

		MUST_OK(get_as(reader, "w"));
		MUST_OK(raw_release(publisher, put.id));
	}
	/* Six of the reader and the current one; for the others the reader had no room. */
	wait_for(reader, &(struct want){20, 2, 20, 0, 0});
	MUST_REFUSE(WW_ERR_QUOTA, "6 objects", raw_put(reader, &own, NULL, 0));
}

/* The user that put it pays again when it has it again. */
CASE(unnamed_is_paid_by_its_user_again, ROOT_ONCE)
{
	struct raw *maker;
	struct raw *reader;
	struct ww_wire_put put;
	uint8_t secret[16];

	suite_start("[limits]\nobjects = 1\n", 0);
	maker = peer_of(ALICE, GROUP);
	reader = peer_of(BOB, GROUP);
	put = put_public(maker, "w", 0);
	MUST_OK(get_as(reader, "w"));
	MUST_OK(raw_remove(maker, "w", any_id));
	MUST_OK(raw_release(maker, put.id));
	MUST_OK(raw_export(reader, put.id, WW_WIRE_ACCESS_READ, 0, 0, secret));
	put_public(maker, "next", 0);              /* so the reader pays */
	MUST_OK(import_as(maker, put.id, secret)); /* and goes on, since there is no room */
	strcpy(put.name, "w");
	MUST_REFUSE(WW_ERR_QUOTA, "1 objects", raw_put(maker, &put, NULL, 0));
	MUST_OK(raw_end(maker, "next"));
	suite_kill_broker(maker);
	suite_come_back_as(maker, ALICE, GROUP, true);
	suite_come_back_as(reader, BOB, GROUP, true);
	MUST_OK(raw_put(maker, &put, NULL, 0));
	put_public(reader, "other", 0); /* the reader pays no longer */
	MUST_OK(get_as(reader, "w"));
}

/* Who cannot pay does not get what was not received yet; what is mapped stays mapped. */
CASE(unnamed_ends_if_nobody_can_pay, ROOT_ONCE)
{
	struct raw *maker;
	struct raw *reader;
	struct ww_wire_put put;
	uint8_t secret[16];

	suite_start("[limits]\nobjects = 1\n", 0);
	maker = peer_of(ALICE, GROUP);
	reader = peer_of(BOB, GROUP);
	put_public(reader, "own", 0);
	put = put_public(maker, "w", 0);
	MUST_OK(get_as(reader, "w"));
	MUST_OK(raw_export(reader, put.id, WW_WIRE_ACCESS_READ, 1, MINUTE_NS, secret));
	MUST_OK(raw_remove(maker, "w", any_id));
	MUST_OK(import_as(peer_of(BOB, GROUP), put.id, secret));
	MUST_OK(raw_release(maker, put.id));
	MUST_REFUSE(WW_ERR_NOT_FOUND, "has ended", import_as(reader, put.id, secret));
	put_public(maker, "next", 0);
}

/* A put that is refused leaves no hold, and the reader still pays. */
CASE(unnamed_put_is_refused, ROOT_ONCE)
{
	struct raw *maker;
	struct raw *reader;
	struct ww_wire_put put;

	suite_start("[limits]\nobjects = 1\n", 0);
	maker = peer_of(ALICE, GROUP);
	reader = peer_of(BOB, GROUP);
	put = put_public(maker, "w", 0);
	MUST_OK(get_as(reader, "w"));
	MUST_OK(raw_remove(maker, "w", any_id));
	MUST_OK(raw_release(maker, put.id));
	put_public(maker, "next", 0);
	strcpy(put.name, "w");
	MUST_REFUSE(WW_ERR_QUOTA, "1 objects", raw_put(maker, &put, NULL, 0));
	wait_for(maker, &(struct want){2, 2, 2, 0, 0});
	MUST_OK(raw_release(reader, put.id));
	wait_for(maker, &(struct want){1, 2, 1, 0, 0});
}

/* What users say of sizes adds up to more than 64 bits, and is returned exactly. */
CASE(unnamed_sizes_add_up, ROOT_ONCE)
{
	struct raw *maker = peer_of(ALICE, GROUP);
	struct raw *reader = peer_of(BOB, GROUP);
	struct ww_wire_put put = raw_object("0");

	put.mode = 0644;
	put.bytes = INT64_MAX;
	for (int i = 0; i < 4; i++) {
		MUST_EQUAL(sizeof(put.id), getrandom(put.id, sizeof(put.id), 0));
		put.name[0] = (char)('0' + i);
		MUST_OK(raw_put(maker, &put, NULL, 0));
		MUST_OK(get_as(reader, put.name));
		MUST_OK(raw_remove(maker, put.name, any_id));
		if (i < 3)
			MUST_OK(raw_release(maker, put.id));
	}
	put_public(reader, "own", 0); /* what the reader was given does not hinder it */
	MUST_OK(raw_end(reader, "own"));
	raw_close(reader);
	wait_for(maker, &(struct want){1, 1, 1, 0, 0});
	MUST_OK(raw_end_id(maker, put.id));
}
