/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exit_wait_test.c - last wills between a connection's end and its process's end, and after that
 */
#include "daemon/registry/last_will_fixture.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "daemon/registry/expiry.h"

PAGE_TEST(alive_then_over)
{
	struct holder *waiter = add_holder(fixture, 2, 8);
	struct process process;
	struct object *object;
	struct holder *creator = start_holder(fixture, 1, &process);

	object = put_page(fixture, creator, WW_WIRE_LIFE_HELD);
	assert_int_equal(registry->accounts.fds, 3);
	assert_ok(hold_take(registry, waiter, object, 1));
	must_live();
	holder_end(registry, creator);
	must_be_lost();
	assert_int_equal(fixture->told[WW_WIRE_WHAT_GONE], 1);
	assert_string_equal(ours.page->lost_program, "creator");
	assert_int_equal(ours.page->lost_pid, 1001);
	assert_null(find(fixture, PAGE_NUMBER));
	assert_null(find_holder(fixture, 1));
	/* The page and the pidfd are left: in the fdstore, and on the bill. */
	must_have(fixture, 1, 2, 1, 2);
	for (int round = 0; round < 3; round++) {
		ours.cell->completed = 6;
		while (ours.cell->completed != WW_SIGNAL_POISON)
			uv_run(&fixture->loop, UV_RUN_ONCE);
	}
	assert_int_equal(ours.cell->reached, 5);
	ours.cell->completed = 7;
	assert_int_equal(ours.page->ended, 0);
	kill_process(&process);
	while (registry->exit_wait_count > 0)
		uv_run(&fixture->loop, UV_RUN_ONCE);
	must_be_lost();
	assert_int_equal(ours.page->ended, 1);
	must_have(fixture, 1, 1, 1, 0);
	holder_end(registry, waiter);
	must_be_empty(fixture);
}

/* No last will is left in the exit wait. */
PAGE_TEST(over_at_once)
{
	struct process process;
	struct holder *creator = start_holder(fixture, 1, &process);

	put_page(fixture, creator, WW_WIRE_LIFE_KEPT);
	kill_process(&process);
	must_live();
	holder_end(registry, creator);
	must_be_lost();
	assert_int_equal(ours.page->ended, 1);
	must_be_empty(fixture);
}

PAGE_TEST(without_pidfd)
{
	struct holder *waiter = add_holder(fixture, 2, 8);
	struct holder *creator = add_process(fixture, 1, -1);
	struct object *object = put_page(fixture, creator, WW_WIRE_LIFE_OWNER);

	assert_ok(hold_take(registry, waiter, object, 1));
	holder_end(registry, creator);
	must_be_lost();
	uv_run(&fixture->loop, UV_RUN_ONCE);
	assert_int_equal(registry->exit_wait_count, 1);
	pass_time(fixture);
	assert_int_equal(ours.page->ended, 0); /* the kernel has not said so */
	must_have(fixture, 1, 1, 1, 0);
	holder_end(registry, waiter);
	must_be_empty(fixture);
}

/* What others had of a process that lives: until that ends, whether anybody holds it or not. */
PAGE_TEST(given_up_but_alive)
{
	struct holder *waiter = add_holder(fixture, 2, 8);
	struct process process;
	struct object *object;
	struct holder *creator = start_holder(fixture, 1, &process);

	object = put_page(fixture, creator, WW_WIRE_LIFE_HELD);
	assert_ok(hold_take(registry, waiter, object, 1));
	holder_end(registry, creator);
	grow_old(fixture);
	uv_run(&fixture->loop, UV_RUN_ONCE);
	assert_int_equal(registry->exit_wait_count, 1);
	/* It is looked at less often from now on, but still. */
	assert_in_range(uv_timer_get_due_in(&registry->exit_wait_timer), 500, 1000);
	ours.cell->completed = 6;
	while (ours.cell->completed != WW_SIGNAL_POISON)
		uv_run(&fixture->loop, UV_RUN_ONCE);
	/* The same process comes again: it is another holder. */
	creator = add_process(fixture, 1, process.pidfd);
	assert_ptr_equal(find_holder(fixture, 1), creator);
	put(fixture, creator, 50, "", WW_WIRE_LIFE_HELD, 0);
	restart(fixture);
	creator = find_holder(fixture, 1);
	assert_false(holder_awaits_exit(registry, creator));
	assert_int_equal(registry->holder_table.used, 3);
	holder_end(registry, creator);
	holder_end(registry, find_holder(fixture, 2));
	grow_old(fixture);
	restart(fixture);
	grow_old(fixture);
	uv_run(&fixture->loop, UV_RUN_ONCE);
	must_count(fixture, 1, 1, 0, 2);
	assert_int_equal(ours.page->ended, 0);
	kill_process(&process);
	pass_time(fixture);
	assert_int_equal(ours.page->ended, 1);
	must_be_empty(fixture);
}

/* "@ID/rest" of the object of put_page(). */
static void name_inside(char *out_name, const char *rest)
{
	struct ww_wire_put put = describe(PAGE_NUMBER, "", WW_WIRE_LIFE_HELD);
	size_t at = (size_t)sprintf(out_name, "@");

	for (size_t i = 0; i < WW_WIRE_ID_BYTES; i++)
		at += (size_t)sprintf(out_name + at, "%02x", put.id[i]);
	sprintf(out_name + at, "/%s", rest);
}

static struct object *put_member(struct fixture *fixture, struct holder *creator)
{
	struct ww_wire_put put = describe(9, "", WW_WIRE_LIFE_HELD);
	struct object *object;

	name_inside(put.name, "member");
	put.state = WW_WIRE_STATE_SEALED;
	memcpy(put.fd_access, (uint8_t[8]){1, LAST_WILL_ACCESS}, 8);
	assert_ok(object_put(&fixture->registry, creator, &put, (int[]){ours.reader, ours.writer},
		2, 0, 0, &object));
	return object;
}

/*
 * A member of another page's object: processes that look for it late find it, until its process has
 * ended.
 */
PAGE_TEST(member_given_up)
{
	struct holder *owner = add_holder(fixture, 2, 8);
	struct process process;
	struct holder *creator;

	put_page(fixture, owner, WW_WIRE_LIFE_HELD);
	creator = start_holder(fixture, 1, &process);
	put_member(fixture, creator);
	holder_end(registry, creator);
	must_be_lost();
	for (int round = 0; round < 2; round++) {
		grow_old(fixture);
		uv_run(&fixture->loop, UV_RUN_ONCE);
		assert_non_null(find(fixture, 9));
		assert_int_equal(registry->exit_wait_count, 1);
		must_count(fixture, 2, 2, 1, 6);
		restart(fixture);
	}
	assert_int_equal(ours.page->ended, 0);
	owner = find_holder(fixture, 2);
	assert_ok(hold_take(registry, owner, find(fixture, 9), 1));
	kill_process(&process);
	pass_time(fixture);
	assert_int_equal(ours.page->ended, 1);
	assert_null(find(fixture, 9));
	must_count(fixture, 2, 1, 2, 3);
	holder_end(registry, owner);
}

/* It expires a minute after @began_ns, or a little later. */
static void must_last_a_minute(const struct object *object, uint64_t began_ns)
{
	uint64_t left_ms = uv_timer_get_due_in(&object->extra->expiry->timer);

	assert_true(left_ms <= 60000);
	assert_true(left_ms + (ww_clock_now_ns() - began_ns) / 1000000 >= 59998);
}

/*
 * A member that has ended before the owner of the outer object had it: it remains for a time, or
 * until the outer one ends, or until the owner has had it.
 */
PAGE_TEST(ended_member_remains)
{
	for (int how = 0; how < 4; how++) {
		struct holder *owner = add_holder(fixture, 2, 8);
		struct process process;
		struct holder *creator;
		struct object *object;

		uint64_t began_ns;

		put_page(fixture, owner, WW_WIRE_LIFE_HELD);
		creator = start_holder(fixture, 1, &process);
		put_member(fixture, creator);
		kill_process(&process);
		began_ns = ww_clock_now_ns();
		holder_end(registry, creator);
		assert_int_equal(ours.page->ended, 1);
		for (int round = 0; round < 2; round++) {
			must_count(fixture, 2, 1, 1, 5);
			object = find(fixture, 9);
			assert_non_null(object->extra->expiry);
			assert_null(object->extra->last_will);
			must_last_a_minute(object, began_ns);
			restart(fixture);
		}
		object = find(fixture, 9);
		owner = find_holder(fixture, 2);
		if (how == 0) {
			hold_drop(registry, hold_find(registry, owner, find(fixture, PAGE_NUMBER)));
		} else if (how == 1) {
			assert_ok(hold_take(registry, owner, object, 1));
			object_end(registry, find(fixture, PAGE_NUMBER), WW_WIRE_WHAT_REMOVED);
			must_count(fixture, 2, 1, 2, 2);
		} else if (how == 2) {
			assert_ok(hold_take(registry, owner, object, 1));
			object_end_known(registry, object, NULL); /* somebody else */
			must_count(fixture, 2, 1, 2, 5);
			object_end_known(registry, object, owner);
			must_count(fixture, 2, 1, 2, 3);
			hold_drop(registry, hold_find(registry, owner, object));
		} else {
			assert_ok(object_set_end(registry, object, ww_clock_now_ns(), 1));
			while (find(fixture, 9))
				uv_run(&fixture->loop, UV_RUN_ONCE);
		}
		assert_null(find(fixture, 9));
		holder_end(registry, owner);
		must_become_empty(fixture);
		renew_page();
	}
}

/*
 * An object without a page, which only @owner holds; and one with a page that stays inside of it.
 */
static struct object *put_staying(struct fixture *fixture, struct holder *owner,
	struct holder *creator)
{
	struct ww_wire_put outer = describe(PAGE_NUMBER, "outer", WW_WIRE_LIFE_HELD);
	struct ww_wire_put put = describe(9, "", WW_WIRE_LIFE_HELD);
	struct object *object;

	outer.state = WW_WIRE_STATE_SEALED;
	memset(outer.fd_access, 0, sizeof(outer.fd_access));
	assert_ok(object_put(&fixture->registry, owner, &outer, NULL, 0, 0, 0, &object));
	name_inside(put.name, "seat");
	put.state = WW_WIRE_STATE_SEALED;
	put.flags = WW_WIRE_PUT_FLAG_STAYS;
	memcpy(put.fd_access, (uint8_t[8]){1, LAST_WILL_ACCESS}, 8);
	assert_ok(object_put(&fixture->registry, creator, &put, (int[]){ours.reader, ours.writer},
		2, 0, 0, &object));
	return object;
}

enum {
	SEAT_KILLED,
	SEAT_GIVEN_UP,
	SEAT_LEFT,
	SEAT_HALF_LEFT,
	SEAT_HALF_KEPT,
	SEAT_HALF_CLOSED,
	SEAT_ENDS
};

/*
 * Ends what a creator has of a seat. The last ways: the broker is killed after the first, second,
 * third step of that.
 */
static void end_seat(struct fixture *fixture, struct holder *creator, struct process *process,
	int how)
{
	struct registry *registry = &fixture->registry;
	struct hold *hold = hold_find(registry, creator, find(fixture, 9));
	struct ww_layout_object_record *record = object_record(registry, find(fixture, 9));

	if (how == SEAT_KILLED)
		kill_process(process);
	if (how == SEAT_KILLED || how == SEAT_GIVEN_UP)
		holder_end(registry, creator);
	else if (how == SEAT_LEFT)
		hold_drop(registry, hold);
	else
		hold_unlink(registry, hold);
	if (how >= SEAT_HALF_KEPT)
		record->life = WW_WIRE_LIFE_KEPT;
	if (how >= SEAT_HALF_CLOSED)
		last_will_close_record(record);
	if (how >= SEAT_HALF_LEFT)
		restart(fixture);
}

/*
 * However long a process takes to end, its page says so then: those that come later to the outer
 * object look at it.
 */
static void must_say_ended(struct fixture *fixture, struct process *process)
{
	assert_non_null(find(fixture, 9)->extra->last_will);
	assert_int_equal(ours.page->ended, 0);
	kill_process(process);
	pass_time(fixture);
	assert_int_equal(ours.page->ended, 1);
}

/*
 * Inside of an object that has no page, and is there for its holders: it stays however its creator
 * goes, but no longer.
 */
PAGE_TEST(seat_stays)
{
	for (int way = 0; way < 2 * SEAT_ENDS; way++) {
		int how = way / 2;
		bool is_held = way % 2 && how >= SEAT_LEFT;
		struct holder *owner = add_holder(fixture, 2, 8);
		struct process process;
		struct holder *creator = start_holder(fixture, 1, &process);

		put_staying(fixture, owner, creator);
		if (is_held) /* by another one as well */
			assert_ok(hold_take(registry, owner, find(fixture, 9), 1));
		assert_null(find(fixture, PAGE_NUMBER)->extra->nesting);
		end_seat(fixture, creator, &process, how);
		for (int round = 0; round < 3; round++) {
			assert_non_null(find(fixture, 9));
			assert_true(find(fixture, PAGE_NUMBER)->extra->nesting->is_left);
			assert_int_equal(find(fixture, PAGE_NUMBER)->extra->nesting->left_pid,
				1001);
			assert_int_equal(ours.cell->state,
				how < SEAT_LEFT ? WW_WIRE_CELL_STATE_LOST
						: WW_WIRE_CELL_STATE_LIVE);
			grow_old(fixture);
			uv_run(&fixture->loop, UV_RUN_NOWAIT);
			if (round < 2)
				restart(fixture);
		}
		if (how == SEAT_GIVEN_UP)
			must_say_ended(fixture, &process);
		assert_null(find(fixture, 9)->extra->last_will);
		assert_null(find(fixture, 9)->extra->expiry);
		hold_drop(registry,
			hold_find(registry, find_holder(fixture, 2), find(fixture, PAGE_NUMBER)));
		assert_null(find(fixture, 9));
		if (find_holder(fixture, 1)) /* else it had nothing left, and was forgotten */
			holder_end(registry, find_holder(fixture, 1));
		holder_end(registry, find_holder(fixture, 2));
		if (how > SEAT_GIVEN_UP)
			kill_process(&process);
		must_become_empty(fixture);
		renew_page();
	}
}

/*
 * Whether it has ended is not known: the owner of the outer object must see it, and does not hear
 * that it has.
 */
static struct object *leave_without_pidfd(struct fixture *fixture, struct holder *owner)
{
	struct registry *registry = &fixture->registry;
	struct holder *creator = add_process(fixture, 1, -1);
	struct object *object;

	put_page(fixture, owner, WW_WIRE_LIFE_HELD);
	put_member(fixture, creator);
	holder_end(registry, creator);
	must_be_lost();
	grow_old(fixture);
	while (registry->exit_wait_count > 0)
		uv_run(&fixture->loop, UV_RUN_NOWAIT);
	object = find(fixture, 9);
	assert_non_null(object);
	assert_null(object->extra->expiry); /* for it may go on as long as it likes */
	assert_int_equal(ours.page->ended, 0);
	return object;
}

PAGE_TEST(member_without_pidfd)
{
	leave_without_pidfd(fixture, add_holder(fixture, 2, 8));
	restart(fixture);
	assert_non_null(find(fixture, 9));
	assert_null(find(fixture, 9)->extra->expiry);
	assert_int_equal(ours.page->ended, 0);
	holder_end(registry, find_holder(fixture, 2));
}

/* The broker was killed while it ended the outer object: what is inside does not outlive that. */
PAGE_TEST(member_of_what_was_ending)
{
	struct object *member = leave_without_pidfd(fixture, add_holder(fixture, 2, 8));

	assert_non_null(member);
	table_commit(&registry->object_table, find(fixture, PAGE_NUMBER)->index,
		WW_WIRE_STATE_REMOVED);
	restart(fixture);
	assert_null(find(fixture, 9));
	holder_end(registry, find_holder(fixture, 2));
}

/* The broker was killed between the steps by which it came to remain; the item knows of nothing. */
PAGE_TEST(killed_while_remaining)
{
	for (int step = 0; step < 3; step++) {
		struct holder *owner = add_holder(fixture, 2, 8);
		struct ww_layout_object_record *record;
		struct process process;
		struct holder *creator;
		struct object *object;

		put_page(fixture, owner, WW_WIRE_LIFE_HELD);
		creator = start_holder(fixture, 1, &process);
		object = put_member(fixture, creator);
		record = object_record(registry, object);
		kill_process(&process);
		table_commit(&registry->holder_table, creator->index, HOLDER_AWAITS_EXIT);
		record->expires_ns = ww_clock_now_ns() + UINT64_C(60000000000);
		if (step > 0)
			record->life = WW_WIRE_LIFE_KEPT;
		if (step > 1)
			last_will_close_record(record);
		restart(fixture);
		must_count(fixture, 2, 1, 1, 5);
		assert_non_null(find(fixture, 9));
		assert_int_equal(ours.page->ended, step < 2);
		holder_end(registry, find_holder(fixture, 2));
		must_become_empty(fixture);
		renew_page();
	}
}

/*
 * A page that only its creator had is freed after a time; and it does not say `ended`, which is not
 * known.
 */
PAGE_TEST(given_up_and_never_shared)
{
	struct process process;
	struct holder *creator = start_holder(fixture, 1, &process);

	put_page(fixture, creator, WW_WIRE_LIFE_HELD);
	holder_end(registry, creator);
	assert_int_equal(registry->exit_wait_count, 1);
	pass_time(fixture);
	must_be_lost();
	assert_int_equal(ours.page->ended, 0);
	must_be_empty(fixture);
	kill_process(&process);
}

/* What comes while the old are looked at seldom has not to wait for them. */
PAGE_TEST(young_beside_old)
{
	struct ww_wire_put put = describe(8, "", WW_WIRE_LIFE_HELD);
	struct holder *waiter = add_holder(fixture, 3, 8);
	struct process process;
	struct object *object;
	struct holder *creators[2];

	start_process(&process);
	creators[0] = add_process(fixture, 1, process.pidfd);
	creators[1] = add_process(fixture, 2, process.pidfd);
	object = put_page(fixture, creators[0], WW_WIRE_LIFE_HELD);
	assert_ok(hold_take(registry, waiter, object, 1));
	put.state = WW_WIRE_STATE_SEALED;
	memcpy(put.fd_access, (uint8_t[8]){LAST_WILL_ACCESS}, 8);
	assert_ok(object_put(registry, creators[1], &put, &ours.writer, 1, 0, 0, &object));
	holder_end(registry, creators[0]);
	grow_old(fixture);
	uv_run(&fixture->loop, UV_RUN_ONCE);
	assert_true(uv_timer_get_due_in(&registry->exit_wait_timer) > 100);
	holder_end(registry, creators[1]);
	assert_true(uv_timer_get_due_in(&registry->exit_wait_timer) < 100);
	uv_run(&fixture->loop, UV_RUN_ONCE);
	assert_true(uv_timer_get_due_in(&registry->exit_wait_timer) < 100);
	holder_end(registry, waiter);
	kill_process(&process);
}

/* Its last word is said as soon as that can be. */
PAGE_TEST(retired_at_last)
{
	struct holder *waiter = add_holder(fixture, 2, 8);
	struct process process;
	struct object *object;
	struct holder *creator = start_holder(fixture, 1, &process);

	object = put_page(fixture, creator, WW_WIRE_LIFE_KEPT);
	assert_ok(hold_take(registry, waiter, object, 1));
	unmap_page(fixture, object);
	take_page_away(fixture, object);
	kill_process(&process);
	holder_end(registry, creator);
	assert_null(find(fixture, PAGE_NUMBER));
	assert_int_equal(fixture->told[WW_WIRE_WHAT_GONE], 1);
	for (int round = 0; round < 3; round++) {
		uv_run(&fixture->loop, UV_RUN_ONCE);
		must_live();
		must_count(fixture, 1, 2, 1, 2);
	}
	holder_end(registry, creator); /* as the pidfd may, again and again */
	grow_old(fixture);
	uv_run(&fixture->loop, UV_RUN_ONCE);
	assert_in_range(uv_timer_get_due_in(&registry->exit_wait_timer), 500, 1000);
	bring_page_back(fixture, object);
	pass_time(fixture);
	must_be_lost();
	assert_int_equal(ours.page->ended, 1);
	must_have(fixture, 1, 1, 1, 0);
	holder_end(registry, waiter);
	must_be_empty(fixture);
}

/* Whoever puts something inside is told when that could not be said. */
PAGE_TEST(borrowed_pages)
{
	struct holder *creator = add_process(fixture, 1, -1);
	struct object *object = put_page(fixture, creator, WW_WIRE_LIFE_HELD);
	struct object *other = put(fixture, creator, 9, "other", WW_WIRE_LIFE_HELD, 1);
	struct ww_layout_signal_page *page;

	assert_ok(last_will_borrow(registry, other, &page));
	assert_null(page);
	last_will_give_back(other, page);
	assert_ok(last_will_borrow(registry, object, &page));
	assert_ptr_equal(page, object->extra->last_will->page);
	ww_signal_page_count_member(page);
	last_will_give_back(object, page);
	assert_int_equal(ours.page->members, 1);
	unmap_page(fixture, object);
	assert_ok(last_will_borrow(registry, object, &page));
	ww_signal_page_count_member(page);
	last_will_give_back(object, page);
	assert_int_equal(ours.page->members, 2);
	take_page_away(fixture, object);
	assert_int_equal(last_will_borrow(registry, object, &page), WW_ERR_NO_MEMORY);
	assert_null(page);
	bring_page_back(fixture, object);
	hold_drop(registry, hold_find(registry, creator, object));
	hold_drop(registry, hold_find(registry, creator, other));
	holder_end(registry, creator);
	must_live();
	must_be_empty(fixture);
}

UNIT_MAIN("exit_wait")
