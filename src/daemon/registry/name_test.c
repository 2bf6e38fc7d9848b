/* SPDX-License-Identifier: Apache-2.0 */
/*
 * name_test.c - names of parts of a pool, as a former broker left their records
 */
#include "daemon/registry/last_will_fixture.h"

#include <string.h>

static struct ww_layout_name_record *name_at(struct registry *registry, const char *text)
{
	return further_record(registry, name_find(registry, text).further);
}

static void add_name(struct fixture *fixture, uint32_t number, const char *name, uint8_t life,
	uint64_t part)
{
	struct ww_wire_put put = describe(number, name, life);

	put.part = part;
	assert_ok(object_add_name(&fixture->registry, find(fixture, number), 7, &put, 7));
}

/* A pool with two parts that have names, and a memory with two names. */
static void populate(struct fixture *fixture)
{
	struct holder *creator = add_process(fixture, 1, -1);
	struct ww_wire_put pool = describe(PAGE_NUMBER, "", WW_WIRE_LIFE_HELD);
	const int fds[2] = {ours.reader, ours.writer};
	struct object *object;

	pool.kind = WW_WIRE_KIND_POOL;
	memcpy(pool.fd_access, (uint8_t[8]){3, LAST_WILL_ACCESS}, 8);
	assert_ok(object_put(&fixture->registry, creator, &pool, fds, 2, 0, 0, &object));
	put(fixture, creator, 2, "memory", WW_WIRE_LIFE_OWNER, 1);
	add_name(fixture, PAGE_NUMBER, "part", WW_WIRE_LIFE_OWNER, 3);
	add_name(fixture, PAGE_NUMBER, "other part", WW_WIRE_LIFE_OWNER, 4);
	add_name(fixture, 2, "further", WW_WIRE_LIFE_OWNER, 0);
}

/* After a restart these names are lost, and all others are there. */
static void must_lose(struct fixture *fixture, const char *const *lost)
{
	static const char *const names[] = {"memory", "part", "other part", "further"};

	restart(fixture);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		bool is_lost = *lost && !strcmp(names[i], *lost);

		assert_int_equal(find_name(&fixture->registry, names[i]) == NULL, is_lost);
		lost += is_lost;
	}
	assert_non_null(find(fixture, PAGE_NUMBER));
	holder_end(&fixture->registry, find_holder(fixture, 1));
	must_become_empty(fixture);
	renew_page();
}

#define MUST_LOSE(...) must_lose(fixture, (const char *const[]){__VA_ARGS__, NULL})

PAGE_TEST(names_of_parts_are_adopted)
{
	populate(fixture);
	restart(fixture);
	assert_int_equal(name_at(registry, "part")->part, 3);
	MUST_LOSE(NULL);
}

/* What is said of them is not possible: each is dropped alone. */
PAGE_TEST(impossible_names_of_parts)
{
	for (uint8_t life = WW_WIRE_LIFE_HELD; life <= WW_WIRE_LIFE_KEPT; life++) {
		if (life == WW_WIRE_LIFE_OWNER)
			continue;
		populate(fixture);
		name_at(registry, "part")->life = life;
		MUST_LOSE("part");
	}
	populate(fixture);
	name_at(registry, "part")->part = 0;
	MUST_LOSE("part");
	populate(fixture);
	name_at(registry, "further")->part = 5;
	MUST_LOSE("further");
}

/* What they are said of has no parts. */
PAGE_TEST(names_of_parts_of_what_has_none)
{
	populate(fixture);
	object_record(registry, find(fixture, PAGE_NUMBER))->kind = WW_WIRE_KIND_CHANNEL;
	MUST_LOSE("part", "other part");
	populate(fixture);
	object_record(registry, find(fixture, PAGE_NUMBER))->state = WW_WIRE_STATE_SEALED;
	MUST_LOSE("part", "other part");
}

/* Each name that is lost is counted on the page, and a broker that takes over counts once. */
PAGE_TEST(lost_names_of_parts_are_counted)
{
	populate(fixture);
	object_lose_name(registry, name_find(registry, "part"), WW_WIRE_WHAT_REMOVED);
	assert_int_equal(ours.page->parts_lost, 1);
	restart(fixture);
	assert_int_equal(ours.page->parts_lost, 2);
	MUST_LOSE("part");
}

UNIT_MAIN("name")
