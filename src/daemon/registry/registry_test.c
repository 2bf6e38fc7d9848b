/* SPDX-License-Identifier: Apache-2.0 */
/*
 * registry_test.c - objects, holders and holds: each case checks one rule
 */
#include "daemon/registry/registry_fixture.h"

#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"

REGISTRY_TEST(an_object_comes_and_goes)
{
	struct holder *creator = add_holder(fixture, 1, 7);
	struct object *object = put(fixture, creator, 5, "a/name", WW_WIRE_LIFE_HELD, 2);

	must_have(fixture, 1, 1, 1, 2);
	assert_ptr_equal(find_name(registry, "a/name"), object);
	assert_ptr_equal(find(fixture, 5), object);
	assert_null(find_name(registry, "a/nam"));
	assert_null(find(fixture, 6));
	assert_int_equal(creator->account->used.bytes, 1005);
	assert_int_equal(creator->account->used.holds, 1);
	assert_int_equal(creator->held_bytes, 1005);
	hold_drop(registry, hold_find(registry, creator, object));
	must_have(fixture, 0, 1, 0, 0);
	assert_int_equal(creator->account->used.bytes, 0);
	assert_int_equal(creator->put_count, 0);
	assert_int_equal(fixture->told[WW_WIRE_WHAT_PUT], 1);
	assert_int_equal(fixture->told[WW_WIRE_WHAT_READY], 1);
	assert_int_equal(fixture->told[WW_WIRE_WHAT_GONE], 1);
	holder_end(registry, creator);
}

REGISTRY_TEST(a_holder_takes_with_it_what_lives_by_it)
{
	struct holder *creator = add_holder(fixture, 1, 7);
	struct holder *other = add_holder(fixture, 2, 8);
	struct ww_wire_put writing = describe(4, "writing", WW_WIRE_LIFE_KEPT);
	struct object *object;

	put(fixture, creator, 1, "held", WW_WIRE_LIFE_HELD, 1);
	put(fixture, creator, 2, "owner", WW_WIRE_LIFE_OWNER, 1);
	put(fixture, creator, 3, "kept", WW_WIRE_LIFE_KEPT, 1);
	writing.state = WW_WIRE_STATE_WRITING;
	assert_ok(try_put(fixture, creator, &writing, 1, &object));
	for (uint32_t number = 1; number <= 4; number++)
		assert_ok(hold_take(registry, other, find(fixture, number), 1));
	/* A former broker was killed while this one got or lost its name. */
	put(fixture, creator, 5, "", WW_WIRE_LIFE_KEPT, 0);
	restart(fixture);
	creator = find_holder(fixture, 1);
	other = find_holder(fixture, 2);
	holder_end(registry, creator);
	must_have(fixture, 4, 1, 4, 2);
	assert_non_null(find_name(registry, "held"));
	assert_null(find_name(registry, "owner"));
	assert_non_null(find_name(registry, "kept"));
	assert_null(find_name(registry, "writing"));
	assert_int_equal(fixture->told[WW_WIRE_WHAT_LOST], 1);
	assert_int_equal(fixture->told[WW_WIRE_WHAT_GONE], 2);
	holder_end(registry, other);
	must_have(fixture, 1, 0, 0, 1);
	object_end(registry, find(fixture, 3), WW_WIRE_WHAT_REMOVED);
}

/*
 * Of what has no descriptors the broker keeps nothing but what its creator says; so that may take
 * it back.
 */
REGISTRY_TEST(a_creator_releases_what_it_put)
{
	struct holder *creator = add_holder(fixture, 1, 7);
	struct holder *other = add_holder(fixture, 2, 8);
	struct object *said = put(fixture, creator, 1, "said", WW_WIRE_LIFE_OWNER, 0);
	struct object *given = put(fixture, creator, 2, "given", WW_WIRE_LIFE_OWNER, 1);

	assert_ok(hold_escrow(registry, creator->account, said, 1, 0, FAR));
	assert_ok(hold_take(registry, other, said, 1));
	hold_drop(registry, hold_find(registry, other, said));
	assert_ptr_equal(find_name(registry, "said"), said);
	assert_ok(hold_take(registry, other, said, 1));
	hold_drop(registry, hold_find(registry, creator, said));
	assert_null(find_name(registry, "said"));
	assert_int_equal(fixture->told[WW_WIRE_WHAT_GONE], 1);
	hold_drop(registry, hold_find(registry, creator, given));
	assert_ptr_equal(find_name(registry, "given"), given);
	object_end(registry, given, WW_WIRE_WHAT_REMOVED);
	/* One that was removed before ends once. */
	said = put(fixture, creator, 3, "said", WW_WIRE_LIFE_OWNER, 0);
	object_end(registry, said, WW_WIRE_WHAT_REMOVED);
	hold_drop(registry, hold_find(registry, creator, said));
	assert_int_equal(fixture->told[WW_WIRE_WHAT_GONE], 1);
	holder_end(registry, creator);
	holder_end(registry, other);
}

REGISTRY_TEST(escrows_end_by_time_and_by_use)
{
	struct holder *creator = add_holder(fixture, 1, 7);
	struct object *object = put(fixture, creator, 1, "", WW_WIRE_LIFE_HELD, 1);
	struct account *account = creator->account;

	assert_ok(hold_escrow(registry, account, object, 1, 2, FAR));
	assert_ok(hold_escrow(registry, account, object, 2, 0, FAR));
	assert_ok(hold_escrow(registry, account, object, 1, 0, ww_clock_now_ns()));
	assert_int_equal(object_escrows(object), 3);
	while (object_escrows(object) == 3)
		uv_run(&fixture->loop, UV_RUN_ONCE);
	hold_use_escrow(registry, object, 2);
	hold_use_escrow(registry, object, 1);
	assert_int_equal(object_escrows(object), 2);
	hold_use_escrow(registry, object, 1);
	hold_use_escrow(registry, object, 1);
	assert_int_equal(object_escrows(object), 1);
	holder_end(registry, creator);
	must_have(fixture, 1, 0, 1, 1);
	restart(fixture);
	must_have(fixture, 1, 0, 1, 1);
	object_end(registry, find(fixture, 1), WW_WIRE_WHAT_REMOVED);
}

/* The secrets are others, also after a restart; what nobody but escrows held is gone. */
REGISTRY_TEST(revoked)
{
	struct holder *maker = add_holder(fixture, 1, 7);
	struct object *object = put(fixture, maker, 1, "", WW_WIRE_LIFE_HELD, 1);
	struct ww_layout_object_record before = *object_record(registry, object);
	struct ww_layout_object_record after;

	assert_ok(hold_escrow(registry, maker->account, object, 1, 2, FAR));
	assert_ok(hold_escrow(registry, maker->account, object, 2, 0, FAR));
	assert_ok(object_revoke(registry, object));
	assert_int_equal(object_escrows(object), 0);
	must_have(fixture, 1, 1, 1, 1);
	after = *object_record(registry, object);
	assert_memory_not_equal(before.read_secret, after.read_secret, 16);
	assert_memory_not_equal(before.write_secret, after.write_secret, 16);
	assert_memory_not_equal(after.read_secret, after.write_secret, 16);
	restart(fixture);
	object = find(fixture, 1);
	assert_memory_equal(object_record(registry, object), &after, sizeof(after));
	assert_ok(hold_escrow(registry, object_account(object), object, 1, 0, FAR));
	holder_end(registry, object->creator);
	must_have(fixture, 1, 0, 1, 1);
	assert_ok(object_revoke(registry, find(fixture, 1)));
}

/* In its own time, and the time it has left is the same after a restart. */
REGISTRY_TEST(time_to_live)
{
	struct holder *creator = add_holder(fixture, 1, 7);
	struct ww_wire_put message = describe(1, "brief", WW_WIRE_LIFE_KEPT);
	struct object *object;
	uint64_t expires_ns;

	message.ttl_ns = 1;
	assert_ok(try_put(fixture, creator, &message, 1, &object));
	while (find_name(registry, "brief"))
		uv_run(&fixture->loop, UV_RUN_ONCE);
	assert_int_equal(fixture->told[WW_WIRE_WHAT_EXPIRED], 1);
	assert_int_equal(fixture->told_unnamed, 1);
	must_have(fixture, 1, 1, 1, 1);
	assert_null(object->extra->expiry);
	message = describe(2, "long", WW_WIRE_LIFE_KEPT);
	message.ttl_ns = UINT64_C(3600000000000);
	assert_ok(try_put(fixture, creator, &message, 1, &object));
	expires_ns = object_record(registry, object)->expires_ns;
	restart(fixture);
	object = find_name(registry, "long");
	assert_non_null(object);
	assert_true(object_record(registry, object)->expires_ns == expires_ns);
	assert_non_null(object->extra->expiry);
	/* What expired while no broker ran ends at once. */
	object_record(registry, object)->expires_ns = 1;
	restart(fixture);
	while (find_name(registry, "long"))
		uv_run(&fixture->loop, UV_RUN_ONCE);
	assert_int_equal(fixture->told[WW_WIRE_WHAT_EXPIRED], 2);
	holder_end(registry, find_holder(fixture, 1));
}

/* The former broker was killed after the first store of object_go_on_unnamed(). */
REGISTRY_TEST(killed_while_it_lost_its_name)
{
	struct holder *creator = add_holder(fixture, 1, 7);
	struct ww_wire_put message = describe(1, "brief", WW_WIRE_LIFE_KEPT);
	struct object *object;

	message.ttl_ns = 200000000;
	assert_ok(try_put(fixture, creator, &message, 1, &object));
	object_record(registry, object)->name[0] = 0;
	restart(fixture);
	object = find(fixture, 1);
	assert_int_equal(object_record(registry, object)->life, WW_WIRE_LIFE_HELD);
	assert_null(object->extra->expiry);
	holder_end(registry, find_holder(fixture, 1));
}

/* A restart must not lose what another user pays for. */
REGISTRY_TEST(restarted_with_much_that_another_user_pays)
{
	struct holder *maker = add_holder(fixture, 1, 7);
	struct holder *reader = add_holder(fixture, 2, 8);
	struct ww_wire_put message = describe(1, "w", WW_WIRE_LIFE_HELD);
	struct object *object;

	message.bytes = INT64_MAX;
	assert_ok(try_put(fixture, maker, &message, 1, &object));
	assert_ok(hold_take(registry, reader, object, 1));
	object_lose_name(registry, name_first(object), WW_WIRE_WHAT_REMOVED);
	hold_drop(registry, hold_find(registry, maker, object));
	message = describe(2, "a", WW_WIRE_LIFE_HELD);
	message.bytes = INT64_MAX;
	assert_ok(try_put(fixture, maker, &message, 1, &object));
	message = describe(3, "b", WW_WIRE_LIFE_HELD);
	message.bytes = INT64_MAX;
	assert_ok(try_put(fixture, maker, &message, 1, &object));
	must_have(fixture, 3, 2, 3, 3);
	restart(fixture);
	must_have(fixture, 3, 2, 3, 3);
	hold_drop(registry, hold_find(registry, find_holder(fixture, 2), find(fixture, 1)));
	must_have(fixture, 2, 2, 2, 2);
	holder_end(registry, find_holder(fixture, 1));
	holder_end(registry, find_holder(fixture, 2));
}

REGISTRY_TEST(a_put_that_fails_leaves_nothing)
{
	struct holder *creator = add_holder(fixture, 1, 7);
	struct ww_wire_put message = describe(1, "huge", WW_WIRE_LIFE_HELD);
	struct object *object;

	message.bytes = INT64_MAX;
	assert_ok(try_put(fixture, creator, &message, 3, &object));
	message = describe(2, "more", WW_WIRE_LIFE_HELD);
	creator->account->limits.bytes = INT64_MAX;
	assert_fails(try_put(fixture, creator, &message, 3, &object), WW_ERR_QUOTA);
	assert_null(object);
	must_have(fixture, 1, 1, 1, 3);
	/* Of the descriptors of all users together. */
	hold_drop(registry, hold_find(registry, creator, find_name(registry, "huge")));
	for (uint32_t number = 0; number < 140; number++)
		put(fixture, creator, 100 + number, "", WW_WIRE_LIFE_HELD, 3);
	registry->accounts.fd_limit = registry->accounts.fds + 2;
	assert_fails(try_put(fixture, creator, &message, 3, &object), WW_ERR_QUOTA);
	holder_end(registry, creator);
}

REGISTRY_TEST(a_lost_supervisor_is_noticed)
{
	struct holder *creator = add_holder(fixture, 1, 7);
	struct ww_wire_put message = describe(1, "x", WW_WIRE_LIFE_HELD);
	struct object *object;

	fixture->supervisor = ww_fd_close(fixture->supervisor);
	assert_fails(try_put(fixture, creator, &message, 1, &object), WW_ERR_PEER_LOST);
	must_have(fixture, 0, 1, 0, 0);
	assert_null(find_name(registry, "x"));
	holder_end(registry, creator);
}

REGISTRY_TEST(a_name_comes_later)
{
	struct holder *creator = add_holder(fixture, 1, 7);
	struct object *object = put(fixture, creator, 1, "", WW_WIRE_LIFE_HELD, 1);
	struct ww_wire_put message = describe(1, "x", WW_WIRE_LIFE_KEPT);

	/* A former broker was killed when all but the first byte was written. */
	memcpy(object_record(registry, object)->name + 1, "unfinished", 11);
	restart(fixture);
	object = find(fixture, 1);
	assert_ok(object_add_name(registry, object, 7, &message, 3));
	assert_ptr_equal(find_name(registry, "x"), object);
	assert_int_equal(object_record(registry, object)->gid, 3);
	holder_end(registry, find_holder(fixture, 1));
	must_have(fixture, 1, 0, 0, 1);
	object_end(registry, object, WW_WIRE_WHAT_REMOVED);
}

/*
 * Writers whose hold is gone already, creators that are gone: what a kill leaves between two steps.
 */
REGISTRY_TEST(unfinished_ends_are_finished)
{
	struct holder *creator = add_holder(fixture, 1, 7);
	struct ww_wire_put message = describe(1, "writing", WW_WIRE_LIFE_KEPT);
	struct object *object;

	message.state = WW_WIRE_STATE_WRITING;
	assert_ok(try_put(fixture, creator, &message, 1, &object));
	put(fixture, creator, 2, "owned", WW_WIRE_LIFE_OWNER, 1);
	put(fixture, creator, 3, "held", WW_WIRE_LIFE_HELD, 1);
	put(fixture, creator, 4, "kept", WW_WIRE_LIFE_KEPT, 1);
	put(fixture, creator, 5, "said", WW_WIRE_LIFE_OWNER, 0);
	for (uint32_t number = 1; number <= 5; number++) {
		struct object *each = find(fixture, number);

		hold_record(registry, hold_find(registry, creator, each))->state = 0;
	}
	restart(fixture);
	must_have(fixture, 2, 1, 0, 2);
	assert_non_null(find_name(registry, "owned"));
	assert_non_null(find_name(registry, "kept"));
	holder_record(registry, find_holder(fixture, 1))->state = 0;
	restart(fixture);
	must_have(fixture, 1, 0, 0, 1);
	object_end(registry, find_name(registry, "kept"), WW_WIRE_WHAT_REMOVED);
}

/* A removed object that is held keeps its id; another one may come with the same. */
REGISTRY_TEST(one_id_twice)
{
	struct holder *creator = add_holder(fixture, 1, 7);
	struct holder *other = add_holder(fixture, 2, 7);
	struct object *former = put(fixture, creator, 1, "x", WW_WIRE_LIFE_HELD, 1);
	struct object *object;
	uint8_t id[16] = {1};

	assert_ok(hold_take(registry, other, former, 1));
	object_end(registry, former, WW_WIRE_WHAT_REMOVED);
	assert_null(find(fixture, 1));
	assert_ptr_equal(hold_object(registry, hold_find_id(registry, other, id)), former);
	object = put(fixture, creator, 1, "x", WW_WIRE_LIFE_HELD, 1);
	assert_ptr_equal(find(fixture, 1), object);
	assert_ptr_equal(hold_object(registry, hold_find_id(registry, other, id)), former);
	assert_ok(hold_take(registry, other, object, 1));
	assert_ptr_equal(hold_object(registry, hold_find_id(registry, other, id)), object);
	restart(fixture);
	must_have(fixture, 2, 2, 4, 1);
	object = find(fixture, 1);
	other = find_holder(fixture, 2);
	assert_ptr_equal(hold_object(registry, hold_find_id(registry, other, id)), object);
	holder_end(registry, find_holder(fixture, 1));
	holder_end(registry, other);
}

/* --- one object replaces another --- */

static struct object *put_writing(struct fixture *fixture, struct holder *creator, uint32_t number,
	const char *name)
{
	struct ww_wire_put message = describe(number, name, WW_WIRE_LIFE_KEPT);
	struct object *object;

	message.state = WW_WIRE_STATE_WRITING;
	assert_ok(try_put(fixture, creator, &message, 1, &object));
	return object;
}

/* After a restart the name is this object's, and another one has none. */
static void must_have_replaced(struct fixture *fixture, const char *name, uint32_t number,
	uint32_t former)
{
	const struct ww_layout_object_record *record;
	struct object *object;

	restart(fixture);
	assert_non_null(find(fixture, number));
	assert_ptr_equal(find_name(&fixture->registry, name), find(fixture, number));
	assert_null(name_find_replacement(&fixture->registry, name).object);
	object = find(fixture, former);
	record = object_record(&fixture->registry, object);
	assert_string_equal((const char *)record->name, "");
	assert_true(object_has_lost_name(&fixture->registry, object));
	assert_int_equal(record->life, WW_WIRE_LIFE_HELD);
}

/* A former broker was killed when the new object had its name, and the old one had it yet. */
REGISTRY_TEST(a_replacement_is_one_step)
{
	struct holder *creator = add_holder(fixture, 1, 7);
	struct object *object;

	put(fixture, creator, 1, "x", WW_WIRE_LIFE_KEPT, 1);
	put(fixture, creator, 2, "x", WW_WIRE_LIFE_KEPT, 1);
	assert_int_equal(fixture->told[WW_WIRE_WHAT_REPLACED], 1);
	assert_int_equal(fixture->told[WW_WIRE_WHAT_PUT], 2);
	must_have_replaced(fixture, "x", 2, 1);
	object = put(fixture, find_holder(fixture, 1), 3, "y", WW_WIRE_LIFE_KEPT, 1);
	object_record(registry, object)->name[0] = 'x';
	must_have_replaced(fixture, "x", 3, 2);
	/* The older object, which gets its name later. */
	object = put(fixture, find_holder(fixture, 1), 4, "", WW_WIRE_LIFE_KEPT, 1);
	put(fixture, find_holder(fixture, 1), 5, "x", WW_WIRE_LIFE_KEPT, 1);
	object_record(registry, object)->created_ns = ww_clock_now_ns();
	object_record(registry, object)->name[0] = 'x';
	must_have_replaced(fixture, "x", 4, 5);
	holder_end(registry, find_holder(fixture, 1));
	must_have(fixture, 1, 0, 0, 1);
	object_end(registry, find_name(registry, "x"), WW_WIRE_WHAT_REMOVED);
}

/* Which has the name when it is ready, and not before. */
REGISTRY_TEST(a_replacement_is_written)
{
	struct holder *creator = add_holder(fixture, 1, 7);
	struct holder *writer = add_holder(fixture, 2, 7);
	struct object *old = put(fixture, creator, 1, "x", WW_WIRE_LIFE_KEPT, 1);
	struct object *object = put_writing(fixture, writer, 2, "x");

	assert_ptr_equal(find_name(registry, "x"), old);
	assert_ptr_equal(name_find_replacement(registry, "x").object, object);
	restart(fixture);
	assert_ptr_equal(find_name(registry, "x"), find(fixture, 1));
	assert_ptr_equal(name_find_replacement(registry, "x").object, find(fixture, 2));
	/* The next one takes its place; its own end changes nothing. */
	put_writing(fixture, find_holder(fixture, 2), 3, "x");
	assert_true(object_has_lost_name(registry, find(fixture, 2)));
	holder_end(registry, find_holder(fixture, 2));
	assert_null(find(fixture, 2));
	assert_int_equal(fixture->told[WW_WIRE_WHAT_LOST], 2);
	assert_ptr_equal(find_name(registry, "x"), find(fixture, 1));
	/* Sealed, by a broker that went no further. */
	object = put_writing(fixture, find_holder(fixture, 1), 4, "x");
	object_record(registry, object)->state = WW_WIRE_STATE_SEALED;
	must_have_replaced(fixture, "x", 4, 1);
	object = put_writing(fixture, find_holder(fixture, 1), 5, "x");
	object_seal(registry, object, WW_WIRE_STATE_SEALED);
	must_have_replaced(fixture, "x", 5, 4);
	/*
	 * What is put at once is later than what is being written; and that has the name when
	 * nothing else has.
	 */
	put_writing(fixture, find_holder(fixture, 1), 6, "x");
	put(fixture, find_holder(fixture, 1), 7, "x", WW_WIRE_LIFE_KEPT, 1);
	must_have_replaced(fixture, "x", 7, 6);
	put_writing(fixture, find_holder(fixture, 1), 8, "x");
	object_end(registry, find(fixture, 7), WW_WIRE_WHAT_EXPIRED);
	assert_ptr_equal(find_name(registry, "x"), find(fixture, 8));
	assert_false(name_is_replacement(registry, name_first(find(fixture, 8))));
	holder_end(registry, find_holder(fixture, 1));
}

static struct object *add_name(struct fixture *fixture, uint32_t number, const char *name,
	uint8_t life, uint64_t ttl_ns)
{
	struct object *object = find(fixture, number);
	struct ww_wire_put message = describe(number, name, life);

	message.ttl_ns = ttl_ns;
	assert_ok(object_add_name(&fixture->registry, object, 7, &message, 7));
	return object;
}

/* Each name lives for itself; the object as long as one that is kept, or a hold. */
REGISTRY_TEST(further_names)
{
	struct holder *creator = add_holder(fixture, 1, 7);
	struct object *object = put(fixture, creator, 1, "first", WW_WIRE_LIFE_KEPT, 1);
	const char *const names[] = {"first", "held", "kept", "brief"};

	add_name(fixture, 1, "held", WW_WIRE_LIFE_HELD, 0);
	add_name(fixture, 1, "kept", WW_WIRE_LIFE_KEPT, 0);
	add_name(fixture, 1, "brief", WW_WIRE_LIFE_KEPT, 1);
	restart(fixture);
	object = find(fixture, 1);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_ptr_equal(find_name(registry, names[i]), object);
	while (find_name(registry, "brief"))
		uv_run(&fixture->loop, UV_RUN_ONCE);
	object_lose_name(registry, name_find(registry, "first"), WW_WIRE_WHAT_REMOVED);
	assert_false(object_has_lost_name(registry, object));
	/* It is the first one again, and killed when all but its first byte was written. */
	add_name(fixture, 1, "again", WW_WIRE_LIFE_KEPT, 0);
	assert_string_equal((const char *)object_record(registry, object)->name, "again");
	object_record(registry, object)->name[0] = 0;
	restart(fixture);
	assert_null(find_name(registry, "again"));
	holder_end(registry, find_holder(fixture, 1));
	assert_null(find_name(registry, "held"));
	assert_ptr_equal(find_name(registry, "kept"), find(fixture, 1));
	must_have(fixture, 1, 0, 0, 1);
	object_lose_name(registry, name_find(registry, "kept"), WW_WIRE_WHAT_REMOVED);
}

/* Also by one that is written, and if a former broker was killed half way. */
REGISTRY_TEST(further_names_are_replaced)
{
	struct holder *creator = add_holder(fixture, 1, 7);
	struct object *object;

	put(fixture, creator, 1, "a", WW_WIRE_LIFE_KEPT, 1);
	put(fixture, creator, 2, "b", WW_WIRE_LIFE_KEPT, 1);
	add_name(fixture, 1, "x", WW_WIRE_LIFE_KEPT, 0);
	object = add_name(fixture, 2, "x", WW_WIRE_LIFE_KEPT, 0);
	assert_ptr_equal(find_name(registry, "x"), object);
	assert_int_equal(object_count_further(registry, find(fixture, 1)), 0);
	put(fixture, creator, 3, "y", WW_WIRE_LIFE_KEPT, 1);
	object_record(registry, find(fixture, 3))->name[0] = 'x';
	restart(fixture);
	assert_ptr_equal(find_name(registry, "x"), find(fixture, 3));
	assert_int_equal(object_count_further(registry, find(fixture, 2)), 0);
	creator = find_holder(fixture, 1);
	object = put_writing(fixture, creator, 4, "c");
	add_name(fixture, 4, "x", WW_WIRE_LIFE_KEPT, 0);
	assert_ptr_equal(find_name(registry, "x"), find(fixture, 3));
	assert_ptr_equal(name_find_replacement(registry, "x").object, object);
	object_seal(registry, object, WW_WIRE_STATE_SEALED);
	assert_ptr_equal(find_name(registry, "x"), object);
	assert_ptr_equal(find_name(registry, "c"), object);
	/* The end of the object is the end of all its names. */
	object_end(registry, object, WW_WIRE_WHAT_REMOVED);
	assert_null(find_name(registry, "x"));
	for (uint32_t number = 1; number <= 3; number++)
		object_end(registry, find(fixture, number), WW_WIRE_WHAT_REMOVED);
	holder_end(registry, creator);
}

static jmp_buf killed;

static void kill_at_second(void *context, struct name name, uint8_t what)
{
	struct fixture *fixture = context;

	(void)name;
	(void)what;
	if (fixture->told[0]++ == 1)
		longjmp(killed, 1);
}

/* A broker that is killed between two names of an object that it ends: the next one goes on. */
REGISTRY_TEST(an_end_is_continued)
{
	struct holder *creator = add_holder(fixture, 1, 7);
	struct object *object = put(fixture, creator, 1, "a", WW_WIRE_LIFE_KEPT, 1);

	add_name(fixture, 1, "b", WW_WIRE_LIFE_KEPT, 0);
	add_name(fixture, 1, "c", WW_WIRE_LIFE_HELD, 0);
	assert_ok(hold_escrow(registry, creator->account, object, 1, 0, FAR));
	registry->changed = kill_at_second;
	if (setjmp(killed) == 0)
		object_end(registry, object, WW_WIRE_WHAT_REMOVED);
	restart(fixture);
	assert_null(find(fixture, 1));
	assert_null(find_name(registry, "a"));
	assert_null(find_name(registry, "b"));
	must_have(fixture, 1, 1, 1, 0); /* the creator holds it still */
	holder_end(registry, find_holder(fixture, 1));
}

/* How long it takes at best, so that nothing that happens beside it counts. */
static uint64_t find_ns(const struct registry *registry, const struct holder *holder,
	const struct object *object)
{
	uint64_t best_ns = UINT64_MAX;

	for (int i = 0; i < 200; i++) {
		uint64_t began_ns = ww_clock_now_ns();
		uint64_t ns;

		assert_non_null(hold_find(registry, holder, object));
		ns = ww_clock_now_ns() - began_ns;
		best_ns = ns < best_ns ? ns : best_ns;
	}
	return best_ns;
}

#define CROWD 10000

/*
 * A process that holds much, and an object that is held often: what was first, and last, is found
 * as fast.
 */
REGISTRY_TEST(a_hold_is_found_among_many)
{
	struct holder *creator = add_holder(fixture, 1, 7);
	struct object *object = put(fixture, creator, 1, "", WW_WIRE_LIFE_HELD, 0);
	struct object *last = object;
	uint64_t alone_ns = find_ns(registry, creator, object);

	for (uint32_t i = 2; i < CROWD; i++)
		last = put(fixture, creator, i, "", WW_WIRE_LIFE_HELD, 0);
	for (uint32_t i = 0; i < CROWD; i++) {
		assert_ok(hold_escrow(registry, creator->account, object, 1, 0,
			ww_clock_now_ns() + 3600000000000));
		assert_ok(hold_escrow(registry, creator->account, last, 1, 0,
			ww_clock_now_ns() + 3600000000000));
	}
	assert_true(find_ns(registry, creator, object) < 100 * (alone_ns + 100));
	assert_true(find_ns(registry, creator, last) < 100 * (alone_ns + 100));
	/* Of all these none is for a certain number of uses. */
	hold_use_escrow(registry, object, 1);
	assert_int_equal(object_escrows(object), CROWD);
	holder_end(registry, creator);
	object_end(registry, object, WW_WIRE_WHAT_REMOVED);
	object_end(registry, last, WW_WIRE_WHAT_REMOVED);
}

/* As find_ns(), for an object that no process holds and that loses an escrow. */
static uint64_t settle_ns(struct registry *registry, struct object *object)
{
	uint64_t best_ns = UINT64_MAX;

	for (int i = 0; i < 200; i++) {
		uint64_t began_ns = ww_clock_now_ns();
		uint64_t ns;

		object_settle(registry, object);
		ns = ww_clock_now_ns() - began_ns;
		best_ns = ns < best_ns ? ns : best_ns;
	}
	return best_ns;
}

/* All escrows of an object may end at once, so what each costs does not depend on its names. */
REGISTRY_TEST(kept_names_cost_no_time)
{
	struct holder *creator = add_holder(fixture, 1, 7);
	struct object *object = put(fixture, creator, 1, "first", WW_WIRE_LIFE_KEPT, 1);
	uint64_t alone_ns;
	char name[16];

	add_name(fixture, 1, "held", WW_WIRE_LIFE_HELD, 0);
	add_name(fixture, 1, "kept", WW_WIRE_LIFE_KEPT, 0);
	holder_end(registry, creator);
	assert_null(find_name(registry, "held"));
	alone_ns = settle_ns(registry, object);
	for (int i = 1; i < FURTHER_NAMES_MOST; i++) {
		snprintf(name, sizeof(name), "%d", i);
		add_name(fixture, 1, name, WW_WIRE_LIFE_KEPT, 0);
	}
	assert_true(settle_ns(registry, object) < 20 * (alone_ns + 100));
	object_end(registry, object, WW_WIRE_WHAT_REMOVED);
}

/*
 * A process from before a restart costs a connection until it comes back, and is forgotten when it
 * has nothing left.
 */
REGISTRY_TEST(who_does_not_come_back_is_counted)
{
	struct object *object;
	struct account *account;

	add_holder(fixture, 1, 7); /* it has nothing */
	for (uint8_t number = 2; number <= 4; number++)
		put(fixture, add_holder(fixture, number, 7), number, "", WW_WIRE_LIFE_HELD, 1);
	restart(fixture);
	must_have(fixture, 3, 3, 3, 3);
	account = account_get(&registry->accounts, 7);
	assert_int_equal(account->awaited, 3);
	assert_int_equal(registry->accounts.awaited, 3);
	registry->accounts.place_limit = 5;
	assert_fails(account_check_process(&registry->accounts, account), WW_ERR_QUOTA);
	registry->accounts.place_limit = 6;
	assert_ok(account_check_process(&registry->accounts, account));
	/* One connects again, one ends, one releases the last object that it had. */
	holder_attach(registry, find_holder(fixture, 2));
	holder_end(registry, find_holder(fixture, 3));
	assert_int_equal(account->awaited, 1);
	object = find(fixture, 4);
	hold_drop(registry, hold_find(registry, find_holder(fixture, 4), object));
	registry_reclaim(registry);
	assert_int_equal(account->awaited, 0);
	assert_int_equal(registry->accounts.awaited, 0);
	account_put(&registry->accounts, account);
	must_have(fixture, 1, 1, 1, 1);
	holder_end(registry, find_holder(fixture, 2));
}

UNIT_MAIN("registry")
