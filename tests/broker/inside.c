/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inside.c - names inside an object: for those who hold it, and no longer than it is there
 */
#include "broker/suite.h"

#include <stdio.h>

#include "support/page.h"

/* "@ID/rest" */
static const char *inside(const uint8_t id[16], const char *rest)
{
	static char name[WW_WIRE_NAME_BYTES];
	size_t at = 1;

	name[0] = '@';
	for (size_t i = 0; i < WW_WIRE_ID_BYTES; i++)
		at += (size_t)snprintf(name + at, sizeof(name) - at, "%02x", id[i]);
	snprintf(name + at, sizeof(name) - at, "/%s", rest);
	return name;
}

static ww_status put_as(struct raw *raw, const char *name)
{
	struct ww_wire_put put = raw_object(name);

	put.mode = 0644;
	return raw_put(raw, &put, NULL, 0);
}

static ww_status get_as(struct raw *raw, const char *name)
{
	struct ww_wire_granted granted;

	return raw_get(raw, name, WW_WIRE_ACCESS_READ, &granted);
}

/* An object that everybody may read. */
static struct ww_wire_put put_outer(struct raw *raw)
{
	struct ww_wire_put put = raw_object("outer");

	put.kind = WW_WIRE_KIND_BARRIER; /* its escrow keeps its name until a member has come */
	put.mode = 0644;
	MUST_OK(raw_put(raw, &put, NULL, 0));
	return put;
}

CASE(inside_needs_a_hold, 0)
{
	struct raw *raw = peer();
	struct raw *other = peer();
	struct ww_wire_put outer = put_outer(raw);
	const char *name = inside(outer.id, "rank/0");
	struct ww_wire_entry entry;
	uint32_t serial;

	MUST_REFUSE(WW_ERR_NOT_FOUND, "does not hold", put_as(other, name));
	MUST_OK(put_as(raw, name));
	MUST_OK(raw_stat(other, name, &entry));
	MUST_REFUSE(WW_ERR_NOT_FOUND, "does not hold", get_as(other, name));
	serial = raw_ask_get(other, name, WW_WIRE_ACCESS_READ);
	must_be_refused(other, serial, WW_ERR_NOT_FOUND, "does not hold");
	MUST_OK(get_as(other, "outer"));
	MUST_OK(get_as(other, name));
	MUST_REFUSE(WW_ERR_EXISTS, "taken", put_as(other, name));
	MUST_OK(raw_release(other, outer.id));
	MUST_REFUSE(WW_ERR_NOT_FOUND, "does not hold", get_as(other, name));
	/* To take it out needs none. */
	MUST_OK(raw_end(other, name));
}

CASE(inside_mode_decides, AS_ROOT)
{
	struct raw *alice = peer_of(ALICE, ALICE);
	struct raw *bob = peer_of(BOB, BOB);
	struct ww_wire_put outer = put_outer(alice);
	struct ww_wire_put put = raw_object(inside(outer.id, "x"));

	MUST_OK(get_as(bob, "outer"));
	MUST_OK(raw_put(alice, &put, NULL, 0));
	MUST_REFUSE(WW_ERR_ACCESS, "may not read", get_as(bob, put.name));
	MUST_REFUSE(WW_ERR_ACCESS, "belongs to", raw_end(bob, put.name));
	/* What is reserved by its first component is not meant by that. */
	MUST_OK(put_as(bob, inside(outer.id, "model")));
	MUST_OK(put_as(bob, inside(outer.id, "~0")));
	/* Whose the outer one is, his are the names inside: others cannot keep them from him. */
	put = raw_object(inside(outer.id, "model"));
	MUST_REFUSE(WW_ERR_EXISTS, "taken", raw_put(alice, &put, NULL, 0));
	put.flags = WW_WIRE_PUT_FLAG_REPLACE;
	MUST_OK(raw_put(alice, &put, NULL, 0));
	MUST_REFUSE(WW_ERR_ACCESS, "belongs to", raw_end(bob, put.name));
	MUST_OK(raw_end(alice, inside(outer.id, "~0")));
}

CASE(inside_names, 0)
{
	static const char *const wrong[] = {"@", "@x", "@/x", "@0123456789abcdef0123456789abcdef",
		"@0123456789abcdef0123456789abcde/x", "@0123456789abcdef0123456789abcdef0/x",
		"@0123456789ABCDEF0123456789ABCDEF/x", "@0123456789abcdef0123456789abcdeg/x",
		"@@123456789abcdef0123456789abcdef/x"};
	struct raw *raw = peer();
	struct raw *eye = watcher();
	struct ww_wire_put outer = put_outer(raw);
	const char *name;

	for (size_t i = 0; i < CHECK_COUNT(wrong); i++) {
		MUST_REFUSE(WW_ERR_INVALID, "begins with '@'", put_as(raw, wrong[i]));
		MUST_REFUSE(WW_ERR_INVALID, "begins with '@'", get_as(raw, wrong[i]));
		MUST_REFUSE(WW_ERR_INVALID, "begins with '@'", raw_end(raw, wrong[i]));
	}
	MUST_REFUSE(WW_ERR_INVALID, "prefix", raw_watch(eye, "@x", 0));
	MUST_REFUSE(WW_ERR_INVALID, "empty component", put_as(raw, inside(outer.id, "")));
	MUST_REFUSE(WW_ERR_INVALID, "no path", put_as(raw, inside(outer.id, "..")));
	MUST_REFUSE(WW_ERR_INVALID, "no path", put_as(raw, inside(outer.id, "x/.")));
	MUST_OK(put_as(raw, "x@y"));
	MUST_OK(put_as(raw, "x/@y"));
	MUST_OK(raw_watch(eye, inside(outer.id, "a"), WW_WIRE_WATCH_FLAG_EXISTING));
	MUST_OK(put_as(raw, inside(outer.id, "b")));
	name = inside(outer.id, "a/@b");
	MUST_OK(put_as(raw, name));
	raw_hear_event(eye, WW_WIRE_WHAT_PUT, name);
	/* Also by the way round: without a name first, and by replacing. */
	outer = raw_object("");
	MUST_OK(raw_put(raw, &outer, NULL, 0));
	strcpy(outer.name, inside(outer.id, "itself"));
	MUST_OK(raw_put(raw, &outer, NULL, 0));
	memset(outer.id, 1, sizeof(outer.id));
	outer.flags = WW_WIRE_PUT_FLAG_REPLACE;
	MUST_OK(raw_put(raw, &outer, NULL, 0));
}

/* It has its own end, but is found only by the process that made what it was inside of. */
CASE(inside_of_what_is_gone, 0)
{
	struct raw *raw = peer();
	struct raw *other = peer();
	struct ww_wire_put outer = put_outer(raw);
	const char *name = inside(outer.id, "x");
	struct ww_wire_entry entry;
	uint32_t serial;

	MUST_REFUSE(WW_ERR_NOT_FOUND, "does not have",
		put_as(raw, "@0123456789abcdef0123456789abcdef/x"));
	MUST_OK(get_as(other, "outer"));
	MUST_OK(put_as(raw, name));
	MUST_OK(raw_end(raw, "outer"));
	MUST_OK(raw_stat(other, name, &entry));
	MUST_REFUSE(WW_ERR_NOT_FOUND, "does not have", get_as(other, name));
	MUST_OK(get_as(raw, name));
	MUST_REFUSE(WW_ERR_NOT_FOUND, "does not have", put_as(raw, inside(outer.id, "y")));
	serial = raw_ask_get(raw, inside(outer.id, "y"), WW_WIRE_ACCESS_READ);
	must_be_refused(raw, serial, WW_ERR_NOT_FOUND, "there is no object");
	name = inside(outer.id, "x");
	MUST_OK(raw_release(raw, outer.id));
	MUST_OK(raw_release(other, outer.id));
	MUST_REFUSE(WW_ERR_NOT_FOUND, "does not have", get_as(raw, name));
	MUST_OK(raw_end(raw, name));
}

CASE(inside_wait_met, 0)
{
	struct raw *raw = peer();
	struct raw *other = peer();
	struct ww_wire_put outer = put_outer(raw);
	const char *name = inside(outer.id, "x");
	struct ww_wire_granted granted;
	uint32_t serial;

	MUST_OK(get_as(other, "outer"));
	serial = raw_ask_get(other, name, WW_WIRE_ACCESS_READ);
	wait_for(raw, &(struct want){1, 2, 2, 0, 1});
	MUST_OK(put_as(raw, name));
	MUST_OK(raw_answered(other, serial));
	MUST_OK(raw_take(other, granted, &granted));
	MUST(!strcmp(name, granted.name));
	wait_for(raw, &(struct want){2, 2, 4, 0, 0});
}

/* @end: ends "outer", of which each of the waiters is told so. */
static void wait_until(struct raw *maker, const struct ww_wire_put *outer,
	void (*end)(struct raw *maker, const struct ww_wire_put *outer), ww_status status,
	const char *word)
{
	struct raw *waiters[3];
	uint32_t serials[3];

	for (size_t i = 0; i < 3; i++) {
		waiters[i] = peer();
		MUST_OK(get_as(waiters[i], "outer"));
		serials[i] = raw_ask_get(waiters[i], inside(outer->id, i == 0 ? "x" : "y"),
			WW_WIRE_ACCESS_READ);
	}
	wait_for(peer(), &(struct want){UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, 3});
	end(maker, outer);
	for (size_t i = 0; i < 3; i++) {
		must_be_refused(waiters[i], serials[i], status, word);
		raw_close(waiters[i]);
	}
}

static void remove_it(struct raw *maker, const struct ww_wire_put *outer)
{
	MUST_OK(raw_end(maker, outer->name));
}

static void leave(struct raw *maker, const struct ww_wire_put *outer)
{
	(void)outer;
	raw_close(maker);
}

static void do_nothing(struct raw *maker, const struct ww_wire_put *outer)
{
	(void)maker;
	(void)outer;
}

CASE(inside_wait_ends_with_object, 0)
{
	struct raw *raw = peer();
	struct ww_wire_put outer = put_outer(raw);

	wait_until(raw, &outer, remove_it, WW_ERR_NOT_FOUND, "was removed");
	outer = raw_object("outer");
	outer.life = WW_WIRE_LIFE_OWNER;
	MUST_OK(raw_put(raw, &outer, NULL, 0));
	wait_until(raw, &outer, leave, WW_ERR_PEER_LOST, "ended or released");
}

/* The waiters have to be there before its time is up. */
CASE(inside_wait_ends_with_time, ONCE)
{
	struct raw *raw = peer();
	struct ww_wire_put outer = raw_object("outer");

	outer.kind = WW_WIRE_KIND_BARRIER; /* a memory would go on */
	outer.mode = 0644;
	outer.life = WW_WIRE_LIFE_KEPT;
	outer.ttl_ns = 5000 * MS * check_slowness();
	MUST_OK(raw_put(raw, &outer, NULL, 0));
	wait_until(raw, &outer, do_nothing, WW_ERR_NOT_FOUND, "has expired");
}

CASE(inside_wait_ends_with_hold, 0)
{
	struct raw *raw = peer();
	struct raw *other = peer();
	struct ww_wire_put outer = put_outer(raw);
	const char *name = inside(outer.id, "x");
	struct ww_wire_put put = raw_object(name);
	struct ww_wire_release release;
	struct ww_wire_granted granted;
	uint32_t mine = raw_ask_get(raw, name, WW_WIRE_ACCESS_READ);
	uint32_t serial;

	MUST_OK(get_as(other, "outer"));
	serial = raw_ask_get(other, name, WW_WIRE_ACCESS_READ);
	memcpy(release.id, outer.id, sizeof(release.id));
	raw_ask(other, release, &release);
	must_be_refused(other, serial, WW_ERR_NOT_FOUND, "released");
	MUST_OK(raw_receive(other)); /* the release is done */
	/* Who still holds it still waits. */
	wait_for(other, &(struct want){1, 2, 1, 0, 1});
	MUST(raw_is_silent(raw));
	raw_ask_put(raw, &put, NULL, 0);
	MUST_OK(raw_answered(raw, mine));
	MUST_OK(raw_take(raw, granted, &granted));
}

CASE(inside_not_in_version_1, 0)
{
	struct raw *raw = old_peer(1);
	struct ww_wire_put outer = put_outer(raw);
	const char *name = inside(outer.id, "x");
	struct ww_wire_entry entry;

	MUST_REFUSE(WW_ERR_INVALID, "needs version 2", put_as(raw, name));
	MUST_REFUSE(WW_ERR_INVALID, "needs version 2", get_as(raw, name));
	MUST_REFUSE(WW_ERR_INVALID, "needs version 2", raw_stat(raw, name, &entry));
	MUST_REFUSE(WW_ERR_INVALID, "needs version 2", raw_end(raw, name));
	MUST_OK(put_as(raw, "x@y"));
}

static ww_status write_as(struct raw *raw, const char *name)
{
	struct ww_wire_granted granted;

	return raw_get(raw, name, WW_WIRE_ACCESS_WRITE, &granted);
}

static struct ww_wire_put put_shared(struct raw *raw, const char *name)
{
	struct ww_wire_put put = raw_object(name);

	put.state = WW_WIRE_STATE_SHARED;
	put.mode = 0666;
	MUST_OK(raw_put(raw, &put, NULL, 0));
	return put;
}

/* Whatever the mode says of the inner one. */
CASE(inside_access_is_the_outers, 0)
{
	struct raw *raw = peer();
	struct raw *other = peer();
	struct ww_wire_put outer = put_shared(raw, "outer");
	const char *name = inside(outer.id, "x");
	struct ww_wire_granted granted;
	struct ww_wire_put inner;
	uint8_t secret[16];
	uint32_t serial;

	inner = put_shared(raw, name);
	MUST_OK(get_as(other, "outer"));
	MUST_OK(get_as(other, name));
	MUST_REFUSE(WW_ERR_ACCESS, "for reading only; get that object for writing first",
		write_as(other, name));
	serial = raw_ask_get(other, inside(outer.id, "y"), WW_WIRE_ACCESS_WRITE);
	must_be_refused(other, serial, WW_ERR_ACCESS, "for reading only");
	/* Who may read it may put things inside, and a token is another way in. */
	put_shared(other, inside(outer.id, "z"));
	MUST_OK(raw_export(raw, inner.id, WW_WIRE_ACCESS_WRITE, 0, 0, secret));
	MUST_OK(raw_import(other, inner.id, secret, WW_WIRE_ACCESS_WRITE, &granted));
	MUST_OK(write_as(other, "outer"));
	MUST_OK(write_as(other, inside(outer.id, "x")));
	MUST_OK(write_as(other, inside(outer.id, "z")));
}

/* The owner of a page learns from the page that something came inside its object. */
CASE(inside_of_a_page_is_counted, 0)
{
	struct raw *raw = peer();
	struct raw *other = peer();
	struct ww_wire_put outer = page_object("outer");
	struct ww_wire_put unnamed = raw_object("");
	struct ww_wire_put put;
	struct page page;

	page_make(&page);
	MUST_OK(page_put(raw, &outer, &page));
	MUST_OK(get_as(other, "outer"));
	MUST_EQUAL(0, page.page->members);
	put = raw_object(inside(outer.id, "x"));
	MUST_OK(raw_put(other, &put, NULL, 0));
	MUST_EQUAL(1, page.page->members);
	MUST_REFUSE(WW_ERR_EXISTS, "taken", put_as(raw, put.name));
	MUST_EQUAL(1, page.page->members);
	/* Repeated, as after a restart of the broker: it may not have been counted before. */
	MUST_OK(raw_put(other, &put, NULL, 0));
	MUST_EQUAL(2, page.page->members);
	/* What gets its name later, and what takes another's place. */
	MUST_OK(raw_put(other, &unnamed, NULL, 0));
	MUST_EQUAL(2, page.page->members);
	strcpy(unnamed.name, inside(outer.id, "y"));
	MUST_OK(raw_put(other, &unnamed, NULL, 0));
	MUST_EQUAL(3, page.page->members);
	memset(put.id, 1, sizeof(put.id));
	put.flags = WW_WIRE_PUT_FLAG_REPLACE;
	MUST_OK(raw_put(other, &put, NULL, 0));
	MUST_EQUAL(4, page.page->members);
	MUST_EQUAL(0, page.page->lost);
	MUST_OK(raw_release(raw, outer.id));
	page_close(&page);
}

/*
 * What a living process shows there nobody else takes away: the page's owner would take it for
 * gone.
 */
CASE(inside_member_is_its_own, ONCE)
{
	struct raw *raw = peer();
	struct raw *other = peer();
	struct ww_wire_put outer = page_object("outer");
	struct ww_wire_put member = page_object(inside(outer.id, "member"));
	struct ww_wire_put thief;
	struct page pages[2];

	page_make(&pages[0]);
	page_make(&pages[1]);
	MUST_OK(page_put(raw, &outer, &pages[0]));
	MUST_OK(get_as(other, "outer"));
	MUST_OK(page_put(other, &member, &pages[1]));
	MUST_REFUSE(WW_ERR_STATE, "shows there what it uses", raw_end(raw, member.name));
	thief = raw_object(member.name);
	thief.flags = WW_WIRE_PUT_FLAG_REPLACE;
	MUST_REFUSE(WW_ERR_STATE, "shows there what it uses", raw_put(raw, &thief, NULL, 0));
	MUST_OK(raw_end(other, member.name));
	MUST_OK(raw_put(raw, &thief, NULL, 0));
	MUST_OK(raw_end(raw, thief.name));
	MUST_OK(raw_release(raw, outer.id));
	page_close(&pages[0]);
	page_close(&pages[1]);
}

/* But who made the object with the page takes out what other users have put there, as it likes. */
CASE(inside_member_of_another_user, ROOT_ONCE)
{
	struct raw *alice = peer_of(ALICE, ALICE);
	struct raw *second = peer_of(ALICE, ALICE);
	struct raw *bob = peer_of(BOB, BOB);
	struct ww_wire_put outer = page_object("outer");
	struct ww_wire_put member = page_object(inside(outer.id, "member"));
	struct page pages[2];

	page_make(&pages[0]);
	page_make(&pages[1]);
	outer.mode = 0644;
	MUST_OK(page_put(alice, &outer, &pages[0]));
	MUST_OK(get_as(second, "outer"));
	MUST_OK(get_as(bob, "outer"));
	MUST_OK(page_put(bob, &member, &pages[1]));
	MUST_REFUSE(WW_ERR_ACCESS, "belongs to", raw_end(second, member.name));
	MUST_OK(raw_end(alice, member.name));
	MUST_EQUAL(0, pages[1].page->lost);
	raw_close(bob);
	page_wait_lost(&pages[1], 0);
	MUST_OK(raw_release(alice, outer.id));
	page_close(&pages[0]);
	page_close(&pages[1]);
}

/* --- what stays without its maker --- */

/* A page that stays, inside "outer". */
static struct ww_wire_put staying(const uint8_t outer[16], const char *rest)
{
	struct ww_wire_put put = page_object(inside(outer, rest));

	put.flags = WW_WIRE_PUT_FLAG_STAYS;
	put.mode = 0444;
	return put;
}

CASE(inside_stays, 0)
{
	struct raw *raw = peer();
	struct raw *maker = peer();
	struct raw *other = peer();
	struct ww_wire_put outer = put_outer(raw);
	struct ww_wire_put put = staying(outer.id, "seat");
	struct page page;
	uint32_t serial;

	page_make(&page);
	MUST_OK(get_as(maker, "outer"));
	MUST_OK(get_as(other, "outer"));
	MUST_OK(page_put(maker, &put, &page));
	MUST_OK(page_put(maker, &put, &page)); /* repeated */
	serial = raw_ask_get(other, inside(outer.id, "missing"), WW_WIRE_ACCESS_READ);
	wait_for(raw, &(struct want){2, 3, 4, UINT64_MAX, 1});
	MUST_OK(raw_release(maker, put.id));
	must_be_refused(other, serial, WW_ERR_PEER_LOST, "will not come");
	must_be_refused(other, raw_ask_get(other, inside(outer.id, "missing"), WW_WIRE_ACCESS_READ),
		WW_ERR_PEER_LOST, "will not come");
	MUST_REFUSE(WW_ERR_PEER_LOST, "will not come", get_as(other, inside(outer.id, "missing")));
	/* It can be had as it was left, and its name is taken. What comes all the same is there. */
	MUST_OK(get_as(other, put.name));
	MUST_REFUSE(WW_ERR_EXISTS, "taken", put_as(raw, put.name));
	MUST_OK(put_as(raw, inside(outer.id, "plain")));
	MUST_OK(get_as(other, inside(outer.id, "plain")));
	MUST_OK(raw_end(raw, inside(outer.id, "plain")));
	MUST_OK(raw_release(other, put.id));
	wait_for(raw, &(struct want){3, 3, UINT64_MAX, UINT64_MAX, 0});
	/* It goes with the outer one. */
	MUST_OK(raw_end(raw, "outer"));
	MUST_REFUSE(WW_ERR_NOT_FOUND, "there is no object", raw_end(raw, put.name));
	page_close(&page);
}

/* What ends before its creator says so leaves nothing. */
CASE(inside_stays_from_then_on, 0)
{
	struct raw *raw = peer();
	struct raw *maker = peer();
	struct ww_wire_put outer = put_outer(raw);
	struct ww_wire_put put = page_object(inside(outer.id, "seat"));
	struct ww_wire_put elsewhere = page_object("paged");
	struct page page;

	page_make(&page);
	MUST_OK(get_as(maker, "outer"));
	MUST_OK(page_put(maker, &put, &page));
	MUST_OK(raw_release(maker, put.id));
	MUST_REFUSE(WW_ERR_NOT_FOUND, "", get_as(raw, put.name));
	MUST_OK(page_put(maker, &put, &page));
	MUST_REFUSE(WW_ERR_INVALID, "flags",
		raw_seal_to_stay(maker, &put, 2 | WW_WIRE_SEAL_FLAG_STAYS));
	MUST_REFUSE(WW_ERR_ACCESS, "put it", raw_seal_to_stay(raw, &put, WW_WIRE_SEAL_FLAG_STAYS));
	for (int i = 0; i < 2; i++) /* repeated */
		MUST_OK(raw_seal_to_stay(maker, &put, WW_WIRE_SEAL_FLAG_STAYS));
	MUST_OK(raw_release(maker, put.id));
	MUST_OK(get_as(raw, put.name));
	MUST_OK(raw_release(raw, put.id));
	MUST_OK(page_put(maker, &elsewhere, &page));
	MUST_REFUSE(WW_ERR_INVALID, "an outer object",
		raw_seal_to_stay(maker, &elsewhere, WW_WIRE_SEAL_FLAG_STAYS));
	MUST_OK(raw_release(maker, elsewhere.id));
	MUST_OK(raw_end(raw, "outer"));
	page_close(&page);
}

/* Until it is removed, too; and without the flag, or in an older version, all is as it was. */
CASE(inside_stays_not, 0)
{
	struct raw *raw = peer();
	struct raw *waiter = peer();
	struct raw *old = old_peer(3);
	struct ww_wire_put outer = put_outer(raw);
	struct ww_wire_put put = staying(outer.id, "seat");
	struct ww_wire_put other = page_object(inside(outer.id, "other"));
	struct page page;
	uint32_t serial;

	page_make(&page);
	MUST_OK(page_put(raw, &other, &page));
	MUST_OK(raw_release(raw, other.id));
	MUST_OK(page_put(raw, &put, &page));
	MUST_OK(get_as(waiter, "outer"));
	serial = raw_ask_get(waiter, inside(outer.id, "missing"), WW_WIRE_ACCESS_READ);
	MUST_OK(raw_end(raw, put.name));
	MUST_OK(raw_release(raw, put.id));
	MUST(raw_is_silent(waiter));
	put.flags = 0;
	MUST_OK(page_put(raw, &put, &page));
	MUST_OK(raw_release(raw, put.id));
	MUST(raw_is_silent(waiter));
	MUST_OK(get_as(old, "outer"));
	put.flags = WW_WIRE_PUT_FLAG_STAYS;
	MUST_REFUSE(WW_ERR_INVALID, "flags", page_put(old, &put, &page));
	strcpy(put.name, "elsewhere");
	MUST_REFUSE(WW_ERR_INVALID, "an outer object", page_put(raw, &put, &page));
	other = page_object("paged");
	MUST_OK(page_put(raw, &other, &page));
	strcpy(put.name, inside(other.id, "seat"));
	MUST_REFUSE(WW_ERR_INVALID, "without descriptors", page_put(raw, &put, &page));
	MUST_OK(raw_release(raw, other.id));
	MUST_OK(raw_end(raw, "outer"));
	must_be_refused(waiter, serial, WW_ERR_NOT_FOUND, "was removed");
	page_close(&page);
}

/* When all are there no token keeps the outer one. */
CASE(inside_is_complete, 0)
{
	struct raw *raw = peer();
	struct raw *maker = peer();
	struct ww_wire_put outer = put_outer(raw);
	struct ww_wire_put put = staying(outer.id, "seat");
	struct ww_wire_put plain = raw_object(inside(outer.id, "plain"));
	struct page page;
	uint8_t secret[16];

	page_make(&page);
	MUST_OK(raw_export(raw, outer.id, WW_WIRE_ACCESS_READ, 0, UINT64_C(60000000000), secret));
	MUST_OK(get_as(maker, "outer"));
	MUST_OK(raw_release(raw, outer.id));
	MUST_OK(page_put(maker, &put, &page));
	MUST_OK(raw_put(maker, &plain, NULL, 0));
	MUST_OK(raw_seal(maker, plain.id, WW_WIRE_STATE_SEALED)); /* that one says nothing */
	MUST_OK(raw_release(maker, outer.id));
	MUST_OK(raw_seal(maker, put.id,
		WW_WIRE_STATE_SEALED)); /* nor one who does not hold the outer object */
	MUST_OK(get_as(maker, "outer"));
	wait_for(raw, &(struct want){3, 2, 4, UINT64_MAX, 0});
	MUST_REFUSE(WW_ERR_ACCESS, "put it", raw_seal(raw, put.id, WW_WIRE_STATE_SEALED));
	MUST_OK(raw_seal(maker, put.id, WW_WIRE_STATE_SEALED));
	wait_for(raw, &(struct want){3, 2, 3, UINT64_MAX, 0});
	MUST_OK(raw_end(maker, plain.name));
	MUST_OK(raw_release(maker, plain.id));
	MUST_OK(raw_release(maker, put.id));
	wait_for(raw, &(struct want){2, 2, 1, 2, 0});
	MUST_OK(raw_release(maker, outer.id));
	wait_for(raw, &(struct want){0, 2, 0, 0, 0});
	page_close(&page);
}

/* Where a name is inside of what is to replace it, both end by one removal. */
CASE(inside_of_its_replacement, 0)
{
	struct raw *raw = peer();
	struct ww_wire_put outer = raw_object("");
	struct ww_wire_put put = staying(outer.id, "seat");
	struct page page;

	page_make(&page);
	outer.state = WW_WIRE_STATE_WRITING;
	MUST_OK(raw_put(raw, &outer, NULL, 0));
	MUST_OK(page_put(raw, &put, &page));
	MUST_OK(raw_release(raw, put.id));
	strcpy(outer.name, put.name);
	outer.flags = WW_WIRE_PUT_FLAG_REPLACE;
	MUST_OK(raw_put(raw, &outer, NULL, 0));
	MUST_OK(raw_end(raw, put.name));
	wait_for(raw, &(struct want){1, 1, 1, 0, 0});
	MUST_OK(raw_release(raw, outer.id));
	page_close(&page);
}
