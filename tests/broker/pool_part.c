/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool_part.c - parts of a pool under names: who may give them, what they grant, what their owner
 * learns
 */
#include "broker/suite.h"

#include <stdio.h>

#include "support/page.h"
#include "wire/name.h"

static const uint8_t any_id[16];

/* A pool with this page. */
static struct ww_wire_put put_pool(struct raw *raw, const struct page *page, const char *name)
{
	struct ww_wire_put pool = page_object(name);

	pool.kind = WW_WIRE_KIND_POOL;
	pool.state = WW_WIRE_STATE_SHARED;
	pool.fd_access[0] = 3;
	MUST_OK(page_put(raw, &pool, page));
	return pool;
}

static struct ww_wire_put part_of(const struct ww_wire_put *pool, uint64_t part, const char *name)
{
	struct ww_wire_put put = *pool;

	put.part = part;
	put.life = WW_WIRE_LIFE_OWNER;
	memset(put.fd_access, 0, sizeof(put.fd_access));
	memset(put.name, 0, sizeof(put.name));
	strcpy(put.name, name);
	return put;
}

static ww_status name_part(struct raw *raw, const struct ww_wire_put *pool, uint64_t part,
	const char *name)
{
	const struct ww_wire_put put = part_of(pool, part, name);

	return raw_put(raw, &put, NULL, 0);
}

static ww_status rename_part(struct raw *raw, const struct ww_wire_put *pool, uint64_t part,
	const char *name)
{
	struct ww_wire_put put = part_of(pool, part, name);

	put.flags = WW_WIRE_PUT_FLAG_REPLACE;
	return raw_put(raw, &put, NULL, 0);
}

static ww_status get_as(struct raw *raw, const char *name, uint8_t access)
{
	struct ww_wire_granted granted;

	return raw_get(raw, name, access, &granted);
}

static ww_status renumber(struct raw *raw, const uint8_t id[16], uint64_t from, uint64_t to)
{
	struct ww_wire_renumber message = {.from = from, .to = to};
	struct ww_wire_done done;

	memcpy(message.id, id, sizeof(message.id));
	return raw_call(raw, renumber, &message, done, &done);
}

static ww_status ask_parts(struct raw *raw, const uint8_t id[16],
	struct ww_wire_part_listing *out_listing)
{
	struct ww_wire_parts message;

	memcpy(message.id, id, sizeof(message.id));
	return raw_call(raw, parts, &message, part_listing, out_listing);
}

/* @numbers: of the parts that have names, the last name first, as in "7 9 7 " */
static void must_have_parts(struct raw *raw, const struct ww_wire_put *pool, const char *numbers)
{
	struct ww_wire_part_listing listing;
	struct ww_wire_named_part part;
	char text[64] = "";
	size_t at = 0;

	MUST_OK(ask_parts(raw, pool->id, &listing));
	while (ww_wire_named_part_next(&listing.parts, &part))
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%llu ",
			(unsigned long long)part.number);
	if (strcmp(text, numbers))
		FAIL("parts %sof the pool have names, not %s", text, numbers);
}

CASE(part_is_refused, 0)
{
	struct raw *maker = peer();
	struct ww_wire_put sealed = page_object("");
	struct ww_wire_put bare = raw_object("");
	struct ww_wire_put missing = raw_object("");
	struct ww_wire_put timeline = page_object("");
	struct ww_wire_put changed[6];
	struct ww_wire_put named;
	struct ww_wire_put pool;
	struct page page;

	page_make(&page);
	pool = put_pool(maker, &page, "");
	for (size_t i = 0; i < CHECK_COUNT(changed); i++)
		changed[i] = part_of(&pool, 7, "n");
	changed[0].life = WW_WIRE_LIFE_HELD;
	changed[1].life = WW_WIRE_LIFE_KEPT;
	changed[2].state = WW_WIRE_STATE_SEALED;
	changed[3].kind = WW_WIRE_KIND_MEMORY;
	changed[4].name[0] = '\0';
	ww_name_begin_inside(pool.id, changed[5].name);
	strcat(changed[5].name, "n");
	for (size_t i = 0; i < CHECK_COUNT(changed); i++)
		MUST_REFUSE(WW_ERR_INVALID, "a part of a pool is put",
			raw_put(maker, &changed[i], NULL, 0));
	MUST_REFUSE(WW_ERR_ACCESS, "alone may name parts", name_part(peer(), &pool, 7, "n"));
	/*
	 * What is no shared pool with a page: that might live without its creator, and names of its
	 * parts would be nobody's.
	 */
	timeline.state = WW_WIRE_STATE_SHARED;
	timeline.fd_access[0] = 3;
	MUST_OK(page_put(maker, &timeline, &page));
	sealed.kind = WW_WIRE_KIND_POOL;
	MUST_OK(page_put(maker, &sealed, &page));
	bare.kind = WW_WIRE_KIND_POOL;
	bare.state = WW_WIRE_STATE_SHARED;
	MUST_OK(raw_put(maker, &bare, NULL, 0));
	MUST_REFUSE(WW_ERR_STATE, "cannot have names", name_part(maker, &timeline, 7, "n"));
	MUST_REFUSE(WW_ERR_STATE, "cannot have names", name_part(maker, &sealed, 7, "n"));
	MUST_REFUSE(WW_ERR_STATE, "cannot have names", name_part(maker, &bare, 7, "n"));
	/* A pool with a name has a mode by that. */
	named = put_pool(maker, &page, "pool");
	MUST_REFUSE(WW_ERR_STATE, "cannot have names", name_part(maker, &named, 7, "n"));
	MUST_REFUSE(WW_ERR_NOT_FOUND, "not in this broker", name_part(maker, &missing, 7, "n"));
	must_have_parts(maker, &pool, "");
	MUST_OK(raw_release(maker, named.id));
	MUST_OK(raw_release(maker, sealed.id));
	MUST_OK(raw_release(maker, timeline.id));
	MUST_OK(raw_release(maker, pool.id));
	page_close(&page);
}

/* The part and its description; and the secret of the access that was granted, not of another. */
CASE(part_is_granted, 0)
{
	struct raw *maker = peer();
	struct raw *reader = peer();
	struct ww_wire_granted granted;
	struct ww_wire_put pool;
	struct ww_wire_put put;
	struct page page;
	uint32_t serial;

	page_make(&page);
	pool = put_pool(maker, &page, "");
	put = part_of(&pool, 7, "n");
	memcpy(put.description, "seven", 5);
	put.description_bytes = 5;
	serial = raw_ask_get(reader, "n", WW_WIRE_ACCESS_READ);
	MUST_OK(raw_put(maker, &put, NULL, 0));
	MUST_OK(raw_answered(reader, serial));
	MUST_OK(raw_take(reader, granted, &granted));
	MUST_EQUAL(7, granted.part);
	MUST_EQUAL(WW_WIRE_KIND_POOL, granted.kind);
	MUST_MATCH(pool.id, granted.id, sizeof(pool.id));
	MUST_EQUAL(5, granted.description_bytes);
	MUST_MATCH("seven", granted.description, 5);
	MUST_REFUSE(WW_ERR_ACCESS, "for reading only",
		raw_import(reader, pool.id, granted.secret, WW_WIRE_ACCESS_WRITE, &granted));
	MUST_OK(raw_get(reader, "n", WW_WIRE_ACCESS_READ, &granted));
	MUST_OK(raw_import(reader, pool.id, granted.secret, WW_WIRE_ACCESS_READ, &granted));
	MUST_EQUAL(0, granted.part);
	MUST_OK(raw_get(reader, "n", WW_WIRE_ACCESS_WRITE, &granted));
	MUST_OK(raw_import(reader, pool.id, granted.secret, WW_WIRE_ACCESS_WRITE, &granted));
	put_named(maker, "memory");
	MUST_OK(raw_get(reader, "memory", WW_WIRE_ACCESS_READ, &granted));
	MUST_EQUAL(0, granted.part);
	MUST_MATCH(any_id, granted.secret, sizeof(any_id));
	/* In the version before it is a pool, which no program of that version expects. */
	reader = old_peer(7);
	MUST_OK(raw_get(reader, "n", WW_WIRE_ACCESS_READ, &granted));
	MUST_EQUAL(WW_WIRE_KIND_POOL, granted.kind);
	MUST_OK(raw_release(maker, pool.id));
	page_close(&page);
}

/* Of different parts, too; and all of them are free again when none is left. */
CASE(part_names_agree, 0)
{
	struct raw *maker = peer();
	struct ww_wire_put pool;
	struct ww_wire_put put;
	struct page page;

	page_make(&page);
	pool = put_pool(maker, &page, "");
	MUST_OK(name_part(maker, &pool, 7, "n"));
	MUST_OK(name_part(maker, &pool, 7, "n"));
	MUST_REFUSE(WW_ERR_EXISTS, "'n' is taken", name_part(maker, &pool, 9, "n"));
	put = part_of(&pool, 9, "m");
	put.mode = 0644;
	MUST_REFUSE(WW_ERR_EXISTS, "mode 0600", raw_put(maker, &put, NULL, 0));
	strcpy(put.name, "n");
	MUST_REFUSE(WW_ERR_EXISTS, "mode 0600", raw_put(maker, &put, NULL, 0));
	MUST_OK(name_part(maker, &pool, 9, "m"));
	MUST_OK(rename_part(maker, &pool, 9, "n"));
	must_have_parts(maker, &pool, "9 9 ");
	MUST_OK(raw_remove(maker, "n", any_id));
	MUST_OK(raw_remove(maker, "m", any_id));
	MUST_OK(raw_put(maker, &put, NULL, 0));
	must_have_parts(maker, &pool, "9 ");
	MUST_OK(raw_release(maker, pool.id));
	page_close(&page);
}

CASE(parts_are_told, 0)
{
	struct raw *maker = peer();
	struct raw *other = peer();
	struct ww_wire_part_listing listing;
	struct ww_wire_granted granted;
	struct ww_wire_put memory;
	struct ww_wire_put pool;
	struct page page;

	page_make(&page);
	pool = put_pool(maker, &page, "");
	MUST_OK(name_part(maker, &pool, 7, "a"));
	MUST_OK(name_part(maker, &pool, 9, "b"));
	MUST_OK(name_part(maker, &pool, 7, "c"));
	must_have_parts(maker, &pool, "7 9 7 ");
	/* Each name is listed, and the pool itself as what has none. */
	MUST_EQUAL(4, count_listed(other, "", true));
	MUST_EQUAL(3, count_listed(other, "", false));
	for (int i = 0; i < 2; i++)
		MUST_OK(renumber(maker, pool.id, 7, 8));
	must_have_parts(maker, &pool, "8 9 8 ");
	MUST_OK(raw_get(other, "c", WW_WIRE_ACCESS_READ, &granted));
	MUST_EQUAL(8, granted.part);
	MUST_REFUSE(WW_ERR_INVALID, "number 0", renumber(maker, pool.id, 0, 7));
	MUST_REFUSE(WW_ERR_INVALID, "number 0", renumber(maker, pool.id, 8, 0));
	/* Also who holds it may not ask. */
	MUST_REFUSE(WW_ERR_ACCESS, "only that one", renumber(other, pool.id, 8, 7));
	MUST_REFUSE(WW_ERR_ACCESS, "only that one", ask_parts(other, pool.id, &listing));
	memory = put_named(maker, "memory");
	MUST_REFUSE(WW_ERR_NOT_FOUND, "no pool", renumber(maker, any_id, 8, 7));
	MUST_REFUSE(WW_ERR_NOT_FOUND, "no pool", ask_parts(maker, any_id, &listing));
	MUST_REFUSE(WW_ERR_NOT_FOUND, "no pool", ask_parts(maker, memory.id, &listing));
	must_have_parts(maker, &pool, "8 9 8 ");
	/* With the pool its names go, although another process holds it. */
	MUST_OK(raw_release(maker, pool.id));
	MUST_REFUSE(WW_ERR_NOT_FOUND, "no object", get_as(other, "c", WW_WIRE_ACCESS_READ));
	page_close(&page);
}

static void must_have_grown(const struct page *page, uint32_t *count)
{
	uint32_t now = __atomic_load_n(&page->page->parts_lost, __ATOMIC_ACQUIRE);

	MUST(now - *count > 0 && now - *count < 10);
	*count = now;
}

CASE(part_names_are_lost, ONCE)
{
	struct raw *maker;
	struct ww_wire_put pool;
	struct ww_wire_put put = raw_object("n");
	struct page page;
	uint32_t count = 0;

	suite_start(NULL, 0);
	maker = peer();
	page_make(&page);
	pool = put_pool(maker, &page, "");
	MUST_OK(name_part(maker, &pool, 7, "n"));
	MUST_OK(name_part(maker, &pool, 7, "m"));
	MUST_EQUAL(0, page.page->parts_lost);
	MUST_OK(rename_part(maker, &pool, 9, "n"));
	must_have_grown(&page, &count);
	put.flags = WW_WIRE_PUT_FLAG_REPLACE;
	MUST_OK(raw_put(maker, &put, NULL, 0));
	must_have_grown(&page, &count);
	must_have_parts(maker, &pool, "7 ");
	MUST_REFUSE(WW_ERR_INVALID, "without --end", raw_end(maker, "m"));
	must_have_parts(maker, &pool, "7 ");
	MUST_OK(raw_remove(peer(), "m", pool.id));
	must_have_grown(&page, &count);
	must_have_parts(maker, &pool, "");
	/* The broker that was killed may have forgotten to count one. */
	MUST_OK(name_part(maker, &pool, 7, "m"));
	suite_kill_broker(maker);
	suite_come_back(maker, true);
	must_have_grown(&page, &count);
	must_have_parts(maker, &pool, "7 ");
	page_close(&page);
}

/* Each is charged as an object, and there are not too many. */
CASE(part_names_are_limited, ONCE)
{
	struct ww_wire_part_listing listing;
	struct ww_wire_put pool;
	struct raw *maker;
	struct page page;
	char name[16];

	suite_start("[limits]\nobjects = 4098\n", 0);
	maker = peer();
	page_make(&page);
	pool = put_pool(maker, &page, "");
	for (uint64_t i = 1; i <= 4096; i++) {
		snprintf(name, sizeof(name), "n%llu", (unsigned long long)i);
		MUST_OK(name_part(maker, &pool, i, name));
	}
	MUST_REFUSE(WW_ERR_QUOTA, "4096 names", name_part(maker, &pool, 7, "more"));
	MUST_OK(ask_parts(maker, pool.id, &listing));
	MUST_EQUAL(4096, listing.parts.count);
	put_named(maker, "memory");
	pool = raw_object("too many");
	MUST_REFUSE(WW_ERR_QUOTA, "4098 objects", raw_put(maker, &pool, NULL, 0));
	MUST_OK(raw_remove(maker, "n7", any_id));
	MUST_OK(raw_put(maker, &pool, NULL, 0));
	page_close(&page);
}

/* --- other users --- */

CASE(part_names_of_another_user, AS_ROOT)
{
	struct raw *maker = peer_of(ALICE, GROUP);
	struct raw *member = peer_of(BOB, GROUP);
	struct raw *other = peer_of(BOB, BOB);
	struct ww_wire_part_listing listing;
	struct ww_wire_granted granted;
	struct ww_wire_put pool;
	struct page page;

	page_make(&page);
	pool = put_pool(maker, &page, "");
	pool.mode = 0640;
	pool.gid = GROUP;
	MUST_OK(name_part(maker, &pool, 7, "n"));
	MUST_REFUSE(WW_ERR_ACCESS, "", get_as(other, "n", WW_WIRE_ACCESS_READ));
	MUST_REFUSE(WW_ERR_ACCESS, "", get_as(member, "n", WW_WIRE_ACCESS_WRITE));
	MUST_OK(raw_get(member, "n", WW_WIRE_ACCESS_READ, &granted));
	MUST_REFUSE(WW_ERR_ACCESS, "for reading only",
		raw_import(member, pool.id, granted.secret, WW_WIRE_ACCESS_WRITE, &granted));
	MUST_REFUSE(WW_ERR_ACCESS, "alone may name parts", name_part(member, &pool, 7, "mine"));
	MUST_REFUSE(WW_ERR_ACCESS, "belongs to user", raw_remove(member, "n", any_id));
	MUST_REFUSE(WW_ERR_ACCESS, "only that one", renumber(member, pool.id, 7, 8));
	MUST_REFUSE(WW_ERR_ACCESS, "only that one", ask_parts(member, pool.id, &listing));
	/* It may take no name that belongs to another user. */
	put_named(member, "bobs");
	MUST_REFUSE(WW_ERR_ACCESS, "belongs to user", rename_part(maker, &pool, 7, "bobs"));
	MUST_OK(raw_end(member, "bobs"));
	MUST_OK(raw_release(maker, pool.id));
	page_close(&page);
}
