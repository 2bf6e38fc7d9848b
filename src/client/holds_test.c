/* SPDX-License-Identifier: Apache-2.0 */
/*
 * holds_test.c - holds counted, due, lost; releases remembered
 */
#include "base/unit_test.h"

#include <string.h>

#include "client/holds.h"

static const uint8_t first[WW_WIRE_ID_BYTES] = {1};
static const uint8_t second[WW_WIRE_ID_BYTES] = {2};

static struct ww_hold *take(struct ww_holds *holds, const uint8_t *id)
{
	struct ww_hold *spare = ww_hold_new();
	struct ww_hold *hold;

	assert_non_null(spare);
	hold = ww_holds_take(holds, id, false, &spare);
	free(spare);
	return hold;
}

UNIT_TEST(counted)
{
	struct ww_holds holds;
	struct ww_hold *hold;

	assert_ok(ww_holds_init(&holds));
	assert_null(ww_holds_find(&holds, first));
	hold = take(&holds, first);
	assert_ptr_equal(take(&holds, first), hold);
	assert_int_equal(hold->count, 2);
	assert_true(ww_hold_is_live(hold));
	ww_holds_drop(&holds, hold);
	assert_null(ww_holds_first_due(&holds));
	ww_holds_drop(&holds, hold);
	assert_false(ww_hold_is_live(hold));
	assert_ptr_equal(ww_holds_first_due(&holds), hold);
	ww_holds_forget(&holds, hold);
	assert_null(ww_holds_find(&holds, first));
	ww_holds_fini(&holds);
}

/* The broker must not take it for released before it is removed. */
UNIT_TEST(undone_put_is_held_until_it_was_sent)
{
	struct ww_wire_held listed;
	struct ww_holds holds;
	struct ww_hold *hold;

	assert_ok(ww_holds_init(&holds));
	ww_holds_drop(&holds, take(&holds, first));
	hold = take(&holds, second);
	hold->removed_name = strdup("a");
	ww_holds_drop(&holds, hold);
	ww_holds_forget_due(&holds);
	assert_null(ww_holds_find(&holds, first));
	assert_ptr_equal(ww_holds_first_due(&holds), hold);
	assert_int_equal(ww_holds_live_count(&holds), 0);
	assert_int_equal(ww_holds_list(&holds, &listed), 1);
	assert_memory_equal(listed.id, second, sizeof(second));
	ww_holds_lose_all(&holds);
	assert_null(ww_holds_find(&holds, second));
	ww_holds_fini(&holds);
}

/* If a hold is taken again before its release was sent, the release is not sent. */
UNIT_TEST(due_and_taken_again)
{
	struct ww_holds holds;
	struct ww_hold *hold;

	assert_ok(ww_holds_init(&holds));
	hold = take(&holds, first);
	ww_holds_drop(&holds, hold);
	assert_ptr_equal(take(&holds, first), hold);
	assert_null(ww_holds_first_due(&holds));
	assert_true(ww_hold_is_live(hold));
	ww_holds_fini(&holds);
}

UNIT_TEST(lost)
{
	struct ww_wire_held ids[2];
	struct ww_holds holds;
	struct ww_hold *hold;

	assert_ok(ww_holds_init(&holds));
	hold = take(&holds, first);
	take(&holds, second);
	assert_int_equal(ww_holds_list(&holds, ids), 2);
	ww_holds_drop(&holds, ww_holds_find(&holds, second));
	ww_holds_lose_all(&holds);
	assert_null(ww_holds_find(&holds, second)); /* it was due */
	assert_false(ww_hold_is_live(hold));
	assert_int_equal(ww_holds_list(&holds, ids), 0);
	assert_ptr_equal(take(&holds, first), hold);
	assert_true(ww_hold_is_live(hold));
	ww_holds_lose_all(&holds);
	ww_holds_drop(&holds, hold);
	ww_holds_drop(&holds, hold);
	assert_null(ww_holds_find(&holds, first));
	assert_null(ww_holds_first_due(&holds));
	ww_holds_fini(&holds);
}

UNIT_TEST(releases)
{
	struct ww_holds holds;

	assert_ok(ww_holds_init(&holds));
	assert_false(ww_holds_may_be_released(&holds, first, 0));
	ww_holds_note_release(&holds, first, 10);
	assert_true(ww_holds_may_be_released(&holds, first, 9));
	assert_false(ww_holds_may_be_released(&holds, first, 10));
	assert_false(ww_holds_may_be_released(&holds, second, 9));
	for (uint64_t i = 0; i < WW_HOLDS_RELEASES; i++)
		ww_holds_note_release(&holds, second, 20 + i);
	assert_false(ww_holds_may_be_released(&holds, first, 30)); /* all since are known */
	assert_true(ww_holds_may_be_released(&holds, first, 15));  /* too long ago to tell */
	ww_holds_fini(&holds);
}

UNIT_MAIN("holds")
