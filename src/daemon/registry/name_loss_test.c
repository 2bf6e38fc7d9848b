/* SPDX-License-Identifier: Apache-2.0 */
/*
 * name_loss_test.c - what is told of objects that lost their names: in pages, in records, and by a
 * broker that takes over
 */
#include "daemon/registry/last_will_fixture.h"

#include <string.h>

#include "daemon/registry/hold.h"
#include "daemon/registry/holder.h"
#include "daemon/registry/name_loss.h"
#include "daemon/registry/object.h"

#define OUTER_NUMBER 9

static const uint8_t page_id[WW_WIRE_ID_BYTES] = {PAGE_NUMBER};

/* The page as a channel, which another process holds. */
static struct object *put_channel(struct fixture *fixture, struct holder *creator,
	struct holder *waiter)
{
	struct object *object = put_page(fixture, creator, WW_WIRE_LIFE_HELD);

	assert_ok(hold_take(&fixture->registry, waiter, object, WW_WIRE_ACCESS_READ));
	return object;
}

static void must_be_replaced_by(struct fixture *fixture, uint32_t pid, const char *program)
{
	const struct ww_layout_name_loss *loss = name_loss_find(&fixture->registry, page_id);

	must_live();
	assert_int_equal(ours.page->name_lost, WW_WIRE_WHAT_REPLACED);
	assert_non_null(loss);
	assert_int_equal(loss->what, WW_WIRE_WHAT_REPLACED);
	assert_int_equal(loss->pid, pid);
	assert_int_equal(loss->uid, 8);
	assert_string_equal((const char *)loss->program, program);
}

static void end_all(struct fixture *fixture)
{
	for (uint8_t number = 1; number <= 2; number++)
		holder_end(&fixture->registry, find_holder(fixture, number));
	must_become_empty(fixture);
	ours.page->name_lost = 0;
	renew_page();
}

PAGE_TEST(replaced_page_says_so)
{
	struct holder *creator = add_process(fixture, 1, -1);
	struct holder *next = add_holder(fixture, 2, 8);
	uint32_t wakes = ours.cell->wakes;

	put_channel(fixture, creator, next);
	put(fixture, next, 2, "page", WW_WIRE_LIFE_HELD, 1);
	assert_int_equal(fixture->told[WW_WIRE_WHAT_REPLACED], 1);
	assert_true(ours.cell->wakes != wakes);
	must_be_replaced_by(fixture, 1002, "test");
	restart(fixture);
	must_be_replaced_by(fixture, 1002, "test");
	end_all(fixture);
}

/* A former broker was killed when the new object had the name, before or after the page said so. */
PAGE_TEST(replaced_by_two_brokers)
{
	for (int step = 0; step < 2; step++) {
		struct holder *creator = add_process(fixture, 1, -1);
		struct holder *next = add_holder(fixture, 2, 8);
		struct object *object;

		put_channel(fixture, creator, next);
		object = put(fixture, next, 2, "xage", WW_WIRE_LIFE_HELD, 1);
		object_record(registry, object)->name[0] = 'p';
		ours.page->name_lost = step > 0 ? WW_WIRE_WHAT_REPLACED : 0;
		restart(fixture);
		must_be_replaced_by(fixture, 1002, "test");
		end_all(fixture);
	}
}

/* It was killed just before it kept which process did it: nobody knows. */
PAGE_TEST(replaced_by_whom_is_not_known)
{
	struct holder *creator = add_process(fixture, 1, -1);
	struct object *object = put_channel(fixture, creator, add_holder(fixture, 2, 8));

	assert_null(name_loss_find(registry, page_id));
	object_lose_name(registry, name_first(object), WW_WIRE_WHAT_REPLACED);
	assert_int_equal(ours.page->name_lost, WW_WIRE_WHAT_REPLACED);
	restart(fixture);
	assert_null(name_loss_find(registry, page_id));
	end_all(fixture);
}

/* Put anew under its id, and replaced again: what happened last is told. */
PAGE_TEST(replaced_twice)
{
	struct holder *creator = add_process(fixture, 1, -1);
	struct holder *next = add_holder(fixture, 2, 8);

	put_channel(fixture, creator, next);
	put(fixture, creator, 2, "page", WW_WIRE_LIFE_HELD, 1);
	object_end(registry, find(fixture, 2), WW_WIRE_WHAT_REMOVED);
	put_channel(fixture, creator, next);
	put(fixture, next, 3, "page", WW_WIRE_LIFE_HELD, 1);
	must_be_replaced_by(fixture, 1002, "test");
	end_all(fixture);
}

PAGE_TEST(removed_page_says_so)
{
	struct holder *creator = add_process(fixture, 1, -1);
	struct holder *remover = add_holder(fixture, 2, 8);
	const struct ww_layout_name_loss loss = name_loss_by(registry, remover);

	object_lose_name(registry, name_first(put_channel(fixture, creator, remover)),
		WW_WIRE_WHAT_REMOVED);
	name_loss_keep(registry, page_id, &loss);
	assert_int_equal(ours.page->name_lost, WW_WIRE_WHAT_REMOVED);
	assert_int_equal(name_loss_find(registry, page_id)->pid, 1002);
	end_all(fixture);
}

/* An object that ends by itself lost its name to nobody. */
PAGE_TEST(ended_page_says_nothing)
{
	struct holder *creator = add_process(fixture, 1, -1);

	object_end(registry, put_channel(fixture, creator, add_holder(fixture, 2, 8)),
		WW_WIRE_WHAT_GONE);
	assert_int_equal(ours.page->name_lost, 0);
	assert_null(name_loss_find(registry, page_id));
	end_all(fixture);
}

/* --- an object without a page, and what is inside of it --- */

static void put_bare(struct fixture *fixture, struct holder *owner, uint32_t number,
	const char *name)
{
	struct ww_wire_put put = describe(number, name, WW_WIRE_LIFE_HELD);
	struct object *object;

	memset(put.fd_access, 0, sizeof(put.fd_access));
	put.kind = WW_WIRE_KIND_BARRIER;
	assert_ok(object_put(&fixture->registry, owner, &put, NULL, 0, 0, 0, &object));
}

/* A barrier, and the page as its member. */
static void put_barrier(struct fixture *fixture, struct holder *owner, struct holder *member)
{
	struct ww_wire_put put = describe(PAGE_NUMBER, "@09000000000000000000000000000000/0",
		WW_WIRE_LIFE_HELD);
	const int fds[2] = {ours.reader, ours.writer};
	struct object *object;

	put_bare(fixture, owner, OUTER_NUMBER, "outer");
	put.state = WW_WIRE_STATE_SEALED;
	put.flags = WW_WIRE_PUT_FLAG_STAYS;
	memcpy(put.fd_access, (uint8_t[8]){1, LAST_WILL_ACCESS}, 8);
	assert_ok(object_put(&fixture->registry, member, &put, fds, 2, 0, 0, &object));
	object = find(fixture, OUTER_NUMBER);
	assert_ok(hold_take(&fixture->registry, member, object, WW_WIRE_ACCESS_READ));
	drain(fixture);
}

PAGE_TEST(members_of_a_replaced_barrier_learn_it)
{
	struct holder *member = add_process(fixture, 1, -1);
	struct holder *owner = add_holder(fixture, 2, 8);

	put_barrier(fixture, owner, member);
	put_bare(fixture, owner, 3, "other");
	object_end(registry, find(fixture, 3), WW_WIRE_WHAT_REMOVED);
	assert_int_equal(ours.page->name_lost, 0);
	put_bare(fixture, owner, 4, "outer");
	assert_int_equal(ours.page->name_lost, WW_WIRE_WHAT_REPLACED);
	must_live();
	end_all(fixture);
}

/* The member has ended, and its last will is closed. */
PAGE_TEST(member_that_has_ended_is_left_alone)
{
	struct process process;
	struct holder *member = start_holder(fixture, 1, &process);
	struct holder *owner = add_holder(fixture, 2, 8);

	put_barrier(fixture, owner, member);
	kill_process(&process);
	holder_end(registry, member);
	pass_time(fixture);
	must_be_lost();
	put_bare(fixture, owner, 4, "outer");
	assert_int_equal(ours.page->name_lost, 0);
	holder_end(registry, owner);
}

UNIT_MAIN("name_loss")
