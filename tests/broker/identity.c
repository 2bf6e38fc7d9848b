/* SPDX-License-Identifier: Apache-2.0 */
/*
 * identity.c - who one is, and what that lets one do: users, modes, groups, process ids, secrets
 */
#include "broker/suite.h"

#include <stdio.h>
#include <stdlib.h>

/* What a get of this user is answered with: WW_OK, or the refusal. */
static ww_status get_as(uid_t uid, gid_t gid, const char *name, uint8_t access)
{
	struct raw *raw = peer_of(uid, gid);
	struct ww_wire_granted granted;
	ww_status status = raw_get(raw, name, access, &granted);

	raw_close(raw);
	return status;
}

static void put_shared(struct raw *owner, const char *name, uint32_t mode)
{
	struct ww_wire_put put = raw_object(name);

	put.state = WW_WIRE_STATE_SHARED;
	put.mode = mode;
	MUST_OK(raw_put(owner, &put, NULL, 0));
}

CASE(user_mode_decides, AS_ROOT)
{
	struct raw *alice = peer_of(ALICE, ALICE);
	struct ww_wire_granted granted;

	put_shared(alice, "own", 0600);
	put_shared(alice, "write-only", 0222);
	put_shared(alice, "for-others", 0066);
	put_shared(alice, "for-reading", 0444);
	MUST_OK(raw_get(alice, "own", WW_WIRE_ACCESS_WRITE, &granted));
	MUST_REFUSE(WW_ERR_ACCESS, "may not read", get_as(BOB, ALICE, "own", WW_WIRE_ACCESS_READ));
	MUST_REFUSE(WW_ERR_ACCESS, "mode 0600", get_as(BOB, BOB, "own", WW_WIRE_ACCESS_READ));
	MUST_REFUSE(WW_ERR_ACCESS, "may not write",
		get_as(BOB, BOB, "for-reading", WW_WIRE_ACCESS_WRITE));
	MUST_OK(get_as(BOB, BOB, "for-reading", WW_WIRE_ACCESS_READ));
	/* To write is to read too. */
	MUST_REFUSE(WW_ERR_ACCESS, "may not write",
		raw_get(alice, "write-only", WW_WIRE_ACCESS_WRITE, &granted));
	/* The owner's bits are the owner's, also where others have more. */
	MUST_REFUSE(WW_ERR_ACCESS, "may not read",
		raw_get(alice, "for-others", WW_WIRE_ACCESS_READ, &granted));
	MUST_OK(get_as(BOB, ALICE, "for-others", WW_WIRE_ACCESS_WRITE));
	MUST_OK(get_as(BOB, BOB, "for-others", WW_WIRE_ACCESS_WRITE));
	/* Root may read and write whatever the mode says. */
	MUST_OK(raw_get(peer(), "write-only", WW_WIRE_ACCESS_WRITE, &granted));
}

CASE(user_group_is_own, AS_ROOT)
{
	struct raw *alice = peer_of(ALICE, GROUP);
	struct ww_wire_put put = raw_object("of-group");
	struct ww_wire_entry entry;

	put.mode = 0640;
	put.gid = BOB;
	MUST_REFUSE(WW_ERR_ACCESS, "not in group", raw_put(alice, &put, NULL, 0));
	put.gid = 0;
	MUST_REFUSE(WW_ERR_ACCESS, "not in group", raw_put(alice, &put, NULL, 0));
	put.gid = GROUP;
	put.state = WW_WIRE_STATE_SHARED;
	MUST_OK(raw_put(alice, &put, NULL, 0));
	MUST_OK(raw_stat(alice, "of-group", &entry));
	MUST_EQUAL(ALICE, entry.uid);
	MUST_EQUAL(GROUP, entry.gid);
	MUST_EQUAL(0640, entry.mode);
	MUST_OK(get_as(BOB, GROUP, "of-group", WW_WIRE_ACCESS_READ));
	MUST_REFUSE(WW_ERR_ACCESS, "may not write",
		get_as(BOB, GROUP, "of-group", WW_WIRE_ACCESS_WRITE));
	MUST_REFUSE(WW_ERR_ACCESS, "may not read",
		get_as(BOB, BOB, "of-group", WW_WIRE_ACCESS_READ));
	/* Sealed is sealed, to root too. */
	put = raw_object("sealed");
	MUST_OK(raw_put(alice, &put, NULL, 0));
	MUST_REFUSE(WW_ERR_ACCESS, "is sealed", get_as(0, 0, "sealed", WW_WIRE_ACCESS_WRITE));
}

CASE(user_removes_own_only, AS_ROOT)
{
	struct raw *alice = peer_of(ALICE, GROUP);
	struct raw *bob = peer_of(BOB, GROUP);
	struct ww_wire_put put = raw_object("contested");
	struct ww_wire_put other = raw_object("contested");
	struct ww_wire_entry entry;

	put.mode = 0666;
	MUST_OK(raw_put(alice, &put, NULL, 0));
	MUST_REFUSE(WW_ERR_ACCESS, "belongs to user 54321", raw_end(bob, "contested"));
	MUST_REFUSE(WW_ERR_EXISTS, "taken", raw_put(bob, &other, NULL, 0));
	other.flags = WW_WIRE_PUT_FLAG_REPLACE;
	MUST_REFUSE(WW_ERR_ACCESS, "may replace it", raw_put(bob, &other, NULL, 0));
	MUST_OK(raw_stat(bob, "contested", &entry));
	MUST_MATCH(put.id, entry.id, sizeof(put.id));
	/* Another process of the same user may, and root may. */
	MUST_OK(raw_end(peer_of(ALICE, ALICE), "contested"));
	MUST_OK(raw_put(bob, &other, NULL, 0));
	MUST_OK(raw_end(peer(), "contested"));
}

CASE(user_sees_no_foreign_description, AS_ROOT)
{
	struct raw *alice = peer_of(ALICE, ALICE);
	struct ww_wire_put put = raw_object("described");
	struct ww_wire_entry entry;

	put.description_bytes = 3;
	memcpy(put.description, "abc", 3);
	MUST_OK(raw_put(alice, &put, NULL, 0));
	MUST_OK(raw_stat(alice, "described", &entry));
	MUST_EQUAL(3, entry.description_bytes);
	MUST_EQUAL(WW_WIRE_ENTRY_FLAG_MAY_READ | WW_WIRE_ENTRY_FLAG_OWN, entry.flags);
	MUST_OK(raw_stat(peer_of(ALICE, ALICE), "described", &entry));
	MUST_EQUAL(WW_WIRE_ENTRY_FLAG_MAY_READ, entry.flags);
	MUST_OK(raw_stat(peer_of(BOB, BOB), "described", &entry));
	MUST_EQUAL(0, entry.description_bytes);
	MUST_EQUAL(0, entry.description[0]);
	MUST_EQUAL(0, entry.flags);
}

ROLE(role_steal_process_id)
{
	static struct raw thief;

	MUST_EQUAL(2, count);
	raw_connect(&thief, arguments[0]);
	for (size_t i = 0; i < sizeof(thief.process_id); i++) {
		char digits[3] = {arguments[1][2 * i], arguments[1][2 * i + 1], '\0'};

		thief.process_id[i] = (uint8_t)strtoul(digits, NULL, 16);
	}
	MUST_REFUSE(WW_ERR_ACCESS, "process id", raw_hello(&thief));
	raw_must_be_closed(&thief);
}

/* The id is known, as from a memory dump; the process is another. */
CASE(user_process_id_is_own, 0)
{
	const struct want one_more = {1, 2, 1, 0, 0};
	char digits[2 * WW_WIRE_ID_BYTES + 1];
	const char *const arguments[] = {daemon_now->address, digits, NULL};
	struct raw *raw = peer();
	struct raw *second = attacker();
	struct child thief;

	put_named(raw, "mine");
	for (size_t i = 0; i < WW_WIRE_ID_BYTES; i++)
		sprintf(digits + 2 * i, "%02x", raw->process_id[i]);
	child_start(&thief, "role_steal_process_id",
		&(struct child_options){.arguments = arguments});
	child_finish(&thief);
	/* The same process may connect again, and is one holder. */
	memcpy(second->process_id, raw->process_id, sizeof(raw->process_id));
	MUST_OK(raw_hello(second));
	MUST_OK(raw_end(second, "mine"));
	wait_for(peer(), &one_more); /* removed, and held still */
	raw_close(raw);
	wait_for(peer(), &(struct want){1, 3, 1, 0, 0});
	raw_close(second);
	wait_for(peer(), &(struct want){0, 3, 0, 0, 0});
}

CASE(user_id_alone_is_nothing, 0)
{
	struct raw *owner = peer();
	struct raw *other = peer();
	const struct ww_wire_put put = put_named(owner, "visible");
	struct ww_wire_put copy = raw_object("other-name");
	struct ww_wire_granted granted;
	struct ww_wire_entry entry;
	uint8_t secret[16] = {0};

	MUST_OK(raw_stat(other, "visible", &entry));
	MUST_MATCH(put.id, entry.id, sizeof(put.id));
	MUST_REFUSE(WW_ERR_ACCESS, "secret",
		raw_import(other, entry.id, secret, WW_WIRE_ACCESS_READ, &granted));
	MUST_REFUSE(WW_ERR_NOT_FOUND, "does not hold",
		raw_export(other, entry.id, WW_WIRE_ACCESS_READ, 0, 0, secret));
	MUST_REFUSE(WW_ERR_NOT_FOUND, "does not hold", raw_release(other, entry.id));
	MUST_REFUSE(WW_ERR_ACCESS, "put it", raw_seal(other, entry.id, WW_WIRE_STATE_SEALED));
	memcpy(copy.id, entry.id, sizeof(copy.id));
	MUST_REFUSE(WW_ERR_EXISTS, "already", raw_put(other, &copy, NULL, 0));
	/* One that was guessed is not there at all. */
	entry.id[7] ^= 1;
	MUST_REFUSE(WW_ERR_NOT_FOUND, "not in this broker",
		raw_import(other, entry.id, secret, WW_WIRE_ACCESS_READ, &granted));
	MUST_REFUSE(WW_ERR_NOT_FOUND, "not in this broker",
		raw_seal(other, entry.id, WW_WIRE_STATE_SEALED));
	MUST_REFUSE(WW_ERR_NOT_FOUND, "does not hold", raw_release(other, entry.id));
}

CASE(user_secret_is_guarded, 0)
{
	struct raw *owner = peer();
	struct raw *other = peer();
	struct ww_wire_put put = raw_object("");
	struct ww_wire_granted granted;
	uint8_t reading[16];
	uint8_t writing[16];
	uint8_t guess[16];

	put.state = WW_WIRE_STATE_SHARED;
	MUST_OK(raw_put(owner, &put, NULL, 0));
	MUST_OK(raw_export(owner, put.id, WW_WIRE_ACCESS_READ, 0, 0, reading));
	MUST_OK(raw_export(owner, put.id, WW_WIRE_ACCESS_WRITE, 0, 0, writing));
	MUST(memcmp(reading, writing, sizeof(reading)));
	for (unsigned int bit = 0; bit < 128; bit++) {
		memcpy(guess, bit & 1 ? reading : writing, sizeof(guess));
		guess[bit / 8] ^= (uint8_t)(1U << bit % 8);
		MUST_REFUSE(WW_ERR_ACCESS, "secret",
			raw_import(other, put.id, guess, WW_WIRE_ACCESS_READ, &granted));
	}
	MUST_REFUSE(WW_ERR_ACCESS, "reading only",
		raw_import(other, put.id, reading, WW_WIRE_ACCESS_WRITE, &granted));
	MUST_OK(raw_import(other, put.id, reading, WW_WIRE_ACCESS_READ, &granted));
	/* What was granted for reading is exported for reading. */
	MUST_REFUSE(WW_ERR_ACCESS, "reading only",
		raw_export(other, put.id, WW_WIRE_ACCESS_WRITE, 0, 0, guess));
	MUST_OK(raw_export(other, put.id, WW_WIRE_ACCESS_READ, 0, 0, guess));
	MUST_MATCH(reading, guess, sizeof(guess));
	MUST_OK(raw_import(other, put.id, writing, WW_WIRE_ACCESS_WRITE, &granted));
	MUST_EQUAL(WW_WIRE_ACCESS_WRITE, granted.access);
	MUST_OK(raw_export(other, put.id, WW_WIRE_ACCESS_WRITE, 0, 0, guess));
}
