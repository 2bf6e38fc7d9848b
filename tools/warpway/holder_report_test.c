/* SPDX-License-Identifier: Apache-2.0 */
/*
 * holder_report_test.c - who holds what, and the reasons why objects are still there
 */
#include "base/unit_test.h"

#include <stdlib.h>
#include <string.h>

#include "warpway/holder_report.h"

#define NS_PER_S UINT64_C(1000000000)

enum {
	KEPT,
	TIMED,
	OWNED,
	HELD,
	REMOVED,
	WRITTEN,
	ORPHAN,
	INSIDE,
	ADRIFT,
	FURTHER, /* another name of the first one */
	SLICE,
	POOL,
	OTHER_SLICE, /* of the same pool */
	OBJECTS
};

static struct ww_object_info object_of(uint8_t id, const char *name, uint32_t state, uint32_t life)
{
	struct ww_object_info object = {.struct_size = sizeof(object),
		.state = state,
		.life = life,
		.left_ns = WW_FOREVER,
		.object_id = {id}};

	strcpy(object.name, name);
	return object;
}

static struct ww_holder_info holder_of(uint64_t number, uint32_t pid, const char *program)
{
	struct ww_holder_info holder = {.struct_size = sizeof(holder),
		.number = number,
		.pid = pid};

	strcpy(holder.program, program);
	return holder;
}

static struct holder_report_hold hold_of(uint64_t holder, uint8_t id, uint32_t maker,
	uint64_t age_ns)
{
	struct holder_report_hold hold = {.info = {.struct_size = sizeof(hold.info),
						  .holder = holder,
						  .is_creator = maker,
						  .age_ns = age_ns,
						  .left_ns = WW_FOREVER,
						  .object_id = {id}}};

	return hold;
}

static struct holder_report_hold escrow_of(uint8_t id, uint64_t left_ns)
{
	struct holder_report_hold hold = {.info = {.struct_size = sizeof(hold.info),
						  .is_escrow = 1,
						  .left_ns = left_ns,
						  .object_id = {id}}};

	return hold;
}

/* Ids are in another order than names, and lists come in no order. */
static int make(void **state)
{
	const struct ww_object_info objects[OBJECTS] = {
		[KEPT] = object_of(90, "a", WW_STATE_SEALED, WW_LIFE_KEPT),
		[TIMED] = object_of(80, "b", WW_STATE_SHARED, WW_LIFE_KEPT),
		[OWNED] = object_of(70, "c", WW_STATE_SHARED, WW_LIFE_OWNER),
		[HELD] = object_of(60, "d", WW_STATE_SEALED, WW_LIFE_HELD),
		[REMOVED] = object_of(50, "", WW_STATE_REMOVED, WW_LIFE_KEPT),
		[WRITTEN] = object_of(40, "e", WW_STATE_WRITING, WW_LIFE_KEPT),
		[ORPHAN] = object_of(30, "f", WW_STATE_SHARED, WW_LIFE_OWNER),
		[INSIDE] = object_of(20, "@5a000000000000000000000000000000/3", WW_STATE_SEALED,
			WW_LIFE_KEPT),
		[ADRIFT] = object_of(10, "@5b000000000000000000000000000000/3", WW_STATE_SEALED,
			WW_LIFE_KEPT),
		[FURTHER] = object_of(90, "g", WW_STATE_SEALED, WW_LIFE_HELD),
		[SLICE] = object_of(65, "h", WW_STATE_SHARED, WW_LIFE_OWNER),
		[POOL] = object_of(65, "", WW_STATE_SHARED, WW_LIFE_HELD),
		[OTHER_SLICE] = object_of(65, "i", WW_STATE_SHARED, WW_LIFE_OWNER),
	};
	const struct ww_holder_info holders[] = {
		holder_of(7, 70, "python"),
		holder_of(1, 10, "c"),
		holder_of(5, 0, "e\nvil"),
		holder_of(6, 60, "late"),
	};
	const struct holder_report_hold holds[] = {
		hold_of(7, 60, 0, 1),
		escrow_of(60, 41 * NS_PER_S),
		hold_of(1, 60, 1, 0),
		escrow_of(60, 5 * NS_PER_S),
		hold_of(5, 80, 0, 0),
		hold_of(1, 70, 1, 0),
		hold_of(7, 50, 0, 0),
		hold_of(7, 40, 1, 0),
		escrow_of(40, WW_FOREVER),
		hold_of(6, 60, 0, 2),
		hold_of(5, 60, 0, 3),
		hold_of(7, 99, 0, 0), /* of an object that is in no list */
		hold_of(99, 80, 0, 0),
		hold_of(5, 65, 0, 0),
		hold_of(1, 65, 1, 0),
	};
	struct holder_report *holder_report = test_calloc(1, sizeof(*holder_report));

	holder_report->objects = memcpy(malloc(sizeof(objects)), objects, sizeof(objects));
	holder_report->object_count = OBJECTS;
	holder_report->objects[POOL].kind = WW_OBJECT_POOL;
	holder_report->objects[SLICE].is_slice = 1;
	holder_report->objects[OTHER_SLICE].is_slice = 1;
	holder_report->objects[TIMED].left_ns = 90 * NS_PER_S;
	holder_report->objects[ORPHAN].pid = 4;
	holder_report->holders = memcpy(malloc(sizeof(holders)), holders, sizeof(holders));
	holder_report->holder_count = sizeof(holders) / sizeof(holders[0]);
	holder_report->holds = memcpy(malloc(sizeof(holds)), holds, sizeof(holds));
	holder_report->hold_count = sizeof(holds) / sizeof(holds[0]);
	*state = holder_report;
	return holder_report_link(holder_report);
}

static int end(void **state)
{
	holder_report_fini(*state);
	test_free(*state);
	return 0;
}

static void check_why(const struct holder_report *holder_report, int object, const char *wanted)
{
	char why[HOLDER_REPORT_REASON_BYTES];

	holder_report_reason(holder_report, &holder_report->objects[object], why);
	assert_string_equal(why, wanted);
}

UNIT_TEST_WITH(every_object_has_a_reason, make, end)
{
	check_why(*state, KEPT, "kept, no time to live; also named 'g'");
	check_why(*state, FURTHER, "held by nobody; also named 'a', kept");
	check_why(*state, TIMED, "kept, 90 s left; held by a process (e?vil), a process");
	check_why(*state, OWNED, "until pid 10 (c) ends; held by pid 10 (c)");
	check_why(*state, HELD,
		"held by pid 10 (c), a process (e?vil), pid 60 (late) and 1 more and 2 tokens in "
		"escrow, 41 s left");
	check_why(*state, REMOVED, "ended, but held by pid 70 (python)");
	check_why(*state, WRITTEN,
		"being written; kept, no time to live; held by pid 70 (python) and 1 token in flight, "
		"while the exporter lives");
	check_why(*state, ORPHAN, "until pid 4 ends");
	check_why(*state, INSIDE, "kept until a ends");
	check_why(*state, ADRIFT, "kept until (id 5b000000) ends");
	check_why(*state, SLICE, "until pid 10 (c) ends; a slice of the pool (id 41000000)");
	check_why(*state, POOL, "held by pid 10 (c), a process (e?vil)");
}

UNIT_TEST_WITH(holders_have_what_they_hold, make, end)
{
	static const char *const wanted[] = {"c", "d", ""}; /* the last one: the pool, no slice */
	const struct holder_report *holder_report = *state;
	const struct holder_report_hold *const *held;
	size_t count;

	for (size_t i = 1; i < holder_report->holder_count; i++)
		assert_true(
			holder_report->holders[i - 1].number < holder_report->holders[i].number);
	held = holder_report_held(holder_report, &holder_report->holders[0], &count);
	assert_int_equal(count, 3);
	for (size_t i = 0; i < count; i++)
		assert_string_equal(held[i]->object->name, wanted[i]);
	held = holder_report_held(holder_report, &holder_report->holders[3], &count);
	assert_int_equal(count, 3);
	assert_string_equal(held[0]->object->name, "d");
	held = holder_report_held(holder_report, &holder_report->holders[2], &count);
	assert_int_equal(count, 1);
}

UNIT_TEST(an_empty_holder_report_is_one)
{
	struct holder_report holder_report = {0};
	struct ww_object_info object = object_of(1, "x", WW_STATE_SEALED, WW_LIFE_HELD);
	struct ww_holder_info holder = holder_of(1, 1, "x");
	char why[HOLDER_REPORT_REASON_BYTES];
	size_t count;

	assert_ok(holder_report_link(&holder_report));
	assert_null(holder_report_holds(&holder_report, &object, &count));
	assert_int_equal(count, 0);
	assert_null(holder_report_held(&holder_report, &holder, &count));
	assert_int_equal(count, 0);
	holder_report_reason(&holder_report, &object, why);
	assert_string_equal(why, "held by nobody");
	holder_report_fini(&holder_report);
}

UNIT_MAIN("holder_report")
