/* SPDX-License-Identifier: Apache-2.0 */
/*
 * name.c - names that are somebody's, and texts that are no names
 */
#include "broker/suite.h"

static ww_status put_as(struct raw *raw, const char *name)
{
	const struct ww_wire_put put = raw_object(name);

	return raw_put(raw, &put, NULL, 0);
}

CASE(name_home_is_reserved, AS_ROOT)
{
	static const char *const refused[] = {"~54321", "~54321/x", "~0/x", "~/x", "~", "~x/y",
		"~054322/x", "~54322x", "~54322x/y", "~+54322/x", "~ 54322/x", "~4295021618/x"};
	struct raw *bob = peer_of(BOB, BOB);

	for (size_t i = 0; i < CHECK_COUNT(refused); i++)
		MUST_REFUSE(WW_ERR_ACCESS, "reserved", put_as(bob, refused[i]));
	MUST_OK(put_as(bob, "~54322"));
	MUST_OK(put_as(bob, "~54322/x"));
	MUST_OK(put_as(bob, "x/~54321"));
	MUST_OK(put_as(peer(), "~54321/x"));
}

CASE(name_prefix_is_reserved, AS_ROOT)
{
	struct raw *alice = peer_of(ALICE, ALICE);
	struct raw *bob = peer_of(BOB, BOB);
	struct raw *member = peer_of(BOB, GROUP);
	struct ww_wire_put put = raw_object("");

	MUST_REFUSE(WW_ERR_ACCESS, "reserved", put_as(bob, "model"));
	MUST_REFUSE(WW_ERR_ACCESS, "reserved", put_as(bob, "model/x"));
	MUST_REFUSE(WW_ERR_ACCESS, "reserved", put_as(bob, "model/open"));
	MUST_REFUSE(WW_ERR_ACCESS, "reserved", put_as(bob, "model/open/x"));
	MUST_REFUSE(WW_ERR_ACCESS, "reserved", put_as(member, "model/opened"));
	MUST_REFUSE(WW_ERR_ACCESS, "reserved", put_as(alice, "model/open/x"));
	MUST_OK(put_as(bob, "models"));
	MUST_OK(put_as(bob, "x/model"));
	MUST_OK(put_as(member, "model/open"));
	MUST_OK(put_as(member, "model/open/x"));
	MUST_OK(put_as(alice, "model"));
	MUST_OK(put_as(alice, "model/x"));
	/* Not by the way round either: without a name first, then with one. */
	MUST_OK(raw_put(bob, &put, NULL, 0));
	strcpy(put.name, "model/y");
	MUST_REFUSE(WW_ERR_ACCESS, "reserved", raw_put(bob, &put, NULL, 0));
}

/* A get can say whose object it wants, so that whoever was first with the name gains nothing. */
CASE(name_squatted, AS_ROOT)
{
	struct raw *alice = peer_of(ALICE, ALICE);
	struct raw *bob = peer_of(BOB, BOB);
	struct ww_wire_put put = raw_object("squatted");
	struct ww_wire_get get = {.access = WW_WIRE_ACCESS_READ,
		.flags = WW_WIRE_GET_FLAG_FROM_OWNER,
		.owner = ALICE,
		.name = "squatted"};
	struct ww_wire_granted granted;
	uint32_t serial;

	get.flags |= WW_WIRE_GET_FLAG_WAIT;
	serial = raw_ask(alice, get, &get);
	put.mode = 0644;
	MUST_OK(raw_put(bob, &put, NULL, 0));
	MUST_OK(raw_answered(alice, serial));
	MUST_REFUSE(WW_ERR_ACCESS, "belongs to user 54322", raw_take(alice, granted, &granted));
	get.flags = WW_WIRE_GET_FLAG_FROM_OWNER;
	MUST_REFUSE(WW_ERR_ACCESS, "as demanded", raw_call(alice, get, &get, granted, &granted));
	get.owner = BOB;
	MUST_OK(raw_call(alice, get, &get, granted, &granted));
	MUST_EQUAL(BOB, granted.uid);
}

static const char *const no_names[] = {"/", "/x", "x/", "x//y", "..", ".", "../x", "x/..", "x/../y",
	"./x", "x/.", "x/./y", "a\nb", "a\tb", "\x1b[31mred", "\x7f", "\xc2\x85", "\xc0\xaf",
	"x\xc0\xae\xc0\xae/y", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xff", "caf\xe9", "\xe2\x82"};

static void refuse_everywhere(struct raw *raw, const char *name)
{
	struct ww_wire_granted granted;
	struct ww_wire_entry entry;
	uint32_t serial;

	MUST_REFUSE(WW_ERR_INVALID, "name", put_as(raw, name));
	MUST_REFUSE(WW_ERR_INVALID, "name", raw_get(raw, name, WW_WIRE_ACCESS_READ, &granted));
	serial = raw_ask_get(raw, name, WW_WIRE_ACCESS_READ);
	must_be_refused(raw, serial, WW_ERR_INVALID, "name");
	MUST_REFUSE(WW_ERR_INVALID, "name", raw_stat(raw, name, &entry));
	MUST_REFUSE(WW_ERR_INVALID, "name", raw_end(raw, name));
}

CASE(name_tricks, 0)
{
	static const char *const no_prefixes[] = {"/", "//", "x//", "../", "x/../", "\n", "\xff"};
	struct raw *raw = peer();
	struct raw *other = watcher();
	struct ww_wire_granted granted;
	struct ww_wire_entry entry;
	struct ww_wire_listing listing;
	char longest[WW_WIRE_NAME_BYTES];

	for (size_t i = 0; i < CHECK_COUNT(no_names); i++)
		refuse_everywhere(raw, no_names[i]);
	MUST_REFUSE(WW_ERR_INVALID, "empty", raw_get(raw, "", WW_WIRE_ACCESS_READ, &granted));
	MUST_REFUSE(WW_ERR_INVALID, "empty", raw_stat(raw, "", &entry));
	MUST_REFUSE(WW_ERR_INVALID, "empty", raw_end(raw, ""));
	for (size_t i = 0; i < CHECK_COUNT(no_prefixes); i++) {
		struct ww_wire_list list = {0};

		strcpy(list.prefix, no_prefixes[i]);
		MUST_REFUSE(WW_ERR_INVALID, "prefix",
			raw_call(raw, list, &list, listing, &listing));
		MUST_REFUSE(WW_ERR_INVALID, "prefix", raw_watch(other, no_prefixes[i], 0));
	}
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	MUST_OK(put_as(raw, longest));
	MUST_OK(raw_get(raw, longest, WW_WIRE_ACCESS_READ, &granted));
	MUST(!strcmp(longest, granted.name));
	MUST_OK(put_as(raw, "..."));
	MUST_OK(put_as(raw, "~x~/.. /caf\xc3\xa9"));
}
