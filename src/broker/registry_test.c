/* SPDX-License-Identifier: Apache-2.0 */
/*
 * registry_test.c - objects, holders and holds: one rule at a time, then at random beside a model
 */
#include "broker/registry_fixture.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"

#define FAR (ww_clock_now_ns() + UINT64_C(3600000000000))

/* --- one rule at a time --- */

static void an_object_comes_and_goes(void **state)
{
	struct fixture *fixture = *state;
	struct holder *maker = add_holder(fixture, 1, 7);
	struct object *object = put(fixture, maker, 5, "a/name", WW_WIRE_LIFE_HELD, 2);

	must_have(fixture, 1, 1, 1, 2);
	assert_ptr_equal(object_find(&fixture->registry, "a/name"), object);
	assert_ptr_equal(find(fixture, 5), object);
	assert_null(object_find(&fixture->registry, "a/nam"));
	assert_null(find(fixture, 6));
	assert_int_equal(maker->account->used.bytes, 1005);
	assert_int_equal(maker->account->used.holds, 1);
	assert_int_equal(maker->held_bytes, 1005);
	hold_drop(&fixture->registry, hold_find(&fixture->registry, maker, object));
	must_have(fixture, 0, 1, 0, 0);
	assert_int_equal(maker->account->used.bytes, 0);
	assert_int_equal(maker->put_count, 0);
	assert_int_equal(fixture->told[WW_WIRE_WHAT_PUT], 1);
	assert_int_equal(fixture->told[WW_WIRE_WHAT_READY], 1);
	assert_int_equal(fixture->told[WW_WIRE_WHAT_GONE], 1);
	holder_end(&fixture->registry, maker);
	must_be_empty(fixture);
}

static void a_holder_takes_with_it_what_lives_by_it(void **state)
{
	struct fixture *fixture = *state;
	struct registry *registry = &fixture->registry;
	struct holder *maker = add_holder(fixture, 1, 7);
	struct holder *other = add_holder(fixture, 2, 8);
	struct ww_wire_put writing = describe(4, "writing", WW_WIRE_LIFE_KEPT);
	struct object *object;

	put(fixture, maker, 1, "held", WW_WIRE_LIFE_HELD, 1);
	put(fixture, maker, 2, "owner", WW_WIRE_LIFE_OWNER, 1);
	put(fixture, maker, 3, "kept", WW_WIRE_LIFE_KEPT, 1);
	writing.state = WW_WIRE_STATE_WRITING;
	assert_int_equal(try_put(fixture, maker, &writing, 1, &object), WW_OK);
	for (uint32_t number = 1; number <= 4; number++)
		assert_int_equal(hold_take(registry, other, find(fixture, number), 1), WW_OK);
	/* One that waits for its name is kept for its maker only. */
	put(fixture, maker, 5, "", WW_WIRE_LIFE_KEPT, 0);
	holder_end(registry, maker);
	must_have(fixture, 4, 1, 4, 2);
	assert_non_null(object_find(registry, "held"));
	assert_null(object_find(registry, "owner"));
	assert_non_null(object_find(registry, "kept"));
	assert_null(object_find(registry, "writing"));
	assert_int_equal(fixture->told[WW_WIRE_WHAT_LOST], 1);
	assert_int_equal(fixture->told[WW_WIRE_WHAT_GONE], 2);
	holder_end(registry, other);
	must_have(fixture, 1, 0, 0, 1);
	object_end(registry, find(fixture, 3), WW_WIRE_WHAT_REMOVED);
	must_be_empty(fixture);
}

/* Of what has no descriptors the broker keeps nothing but what its maker says; so that may take it back. */
static void a_maker_takes_back_what_it_says(void **state)
{
	struct fixture *fixture = *state;
	struct registry *registry = &fixture->registry;
	struct holder *maker = add_holder(fixture, 1, 7);
	struct holder *other = add_holder(fixture, 2, 8);
	struct object *said = put(fixture, maker, 1, "said", WW_WIRE_LIFE_OWNER, 0);
	struct object *given = put(fixture, maker, 2, "given", WW_WIRE_LIFE_OWNER, 1);

	assert_int_equal(hold_escrow(registry, maker->account, said, 1, 0, FAR), WW_OK);
	assert_int_equal(hold_take(registry, other, said, 1), WW_OK);
	hold_drop(registry, hold_find(registry, other, said));
	assert_ptr_equal(object_find(registry, "said"), said);
	assert_int_equal(hold_take(registry, other, said, 1), WW_OK);
	hold_drop(registry, hold_find(registry, maker, said));
	assert_null(object_find(registry, "said"));
	assert_int_equal(fixture->told[WW_WIRE_WHAT_GONE], 1);
	hold_drop(registry, hold_find(registry, maker, given));
	assert_ptr_equal(object_find(registry, "given"), given);
	object_end(registry, given, WW_WIRE_WHAT_REMOVED);
	/* One that was removed before ends once. */
	said = put(fixture, maker, 3, "said", WW_WIRE_LIFE_OWNER, 0);
	object_end(registry, said, WW_WIRE_WHAT_REMOVED);
	hold_drop(registry, hold_find(registry, maker, said));
	assert_int_equal(fixture->told[WW_WIRE_WHAT_GONE], 1);
	holder_end(registry, maker);
	holder_end(registry, other);
	must_be_empty(fixture);
}

static void escrows_end_by_time_and_by_use(void **state)
{
	struct fixture *fixture = *state;
	struct registry *registry = &fixture->registry;
	struct holder *maker = add_holder(fixture, 1, 7);
	struct object *object = put(fixture, maker, 1, "", WW_WIRE_LIFE_HELD, 1);
	struct account *account = maker->account;

	assert_int_equal(hold_escrow(registry, account, object, 1, 2, FAR), WW_OK);
	assert_int_equal(hold_escrow(registry, account, object, 2, 0, FAR), WW_OK);
	assert_int_equal(hold_escrow(registry, account, object, 1, 0, ww_clock_now_ns()), WW_OK);
	assert_int_equal(object->escrows, 3);
	while (object->escrows == 3)
		uv_run(&fixture->loop, UV_RUN_ONCE);
	hold_use_escrow(registry, object, 2);
	hold_use_escrow(registry, object, 1);
	assert_int_equal(object->escrows, 2);
	hold_use_escrow(registry, object, 1);
	hold_use_escrow(registry, object, 1);
	assert_int_equal(object->escrows, 1);
	holder_end(registry, maker);
	must_have(fixture, 1, 0, 1, 1);
	restart(fixture);
	must_have(fixture, 1, 0, 1, 1);
	object_end(registry, find(fixture, 1), WW_WIRE_WHAT_REMOVED);
	must_be_empty(fixture);
}

/* In its own time, and the time it has left is the same after a restart. */
static void time_to_live(void **state)
{
	struct fixture *fixture = *state;
	struct registry *registry = &fixture->registry;
	struct holder *maker = add_holder(fixture, 1, 7);
	struct ww_wire_put message = describe(1, "brief", WW_WIRE_LIFE_KEPT);
	struct object *object;
	uint64_t expires_ns;

	message.ttl_ns = 1;
	assert_int_equal(try_put(fixture, maker, &message, 1, &object), WW_OK);
	while (object_find(registry, "brief"))
		uv_run(&fixture->loop, UV_RUN_ONCE);
	assert_int_equal(fixture->told[WW_WIRE_WHAT_EXPIRED], 1);
	must_have(fixture, 1, 1, 1, 0);
	message = describe(2, "long", WW_WIRE_LIFE_KEPT);
	message.ttl_ns = UINT64_C(3600000000000);
	assert_int_equal(try_put(fixture, maker, &message, 1, &object), WW_OK);
	expires_ns = object_record(registry, object)->expires_ns;
	restart(fixture);
	object = object_find(registry, "long");
	assert_non_null(object);
	assert_true(object_record(registry, object)->expires_ns == expires_ns);
	assert_non_null(object->expiry);
	/* What ended while nobody looked ends at once. */
	object_record(registry, object)->expires_ns = 1;
	restart(fixture);
	while (object_find(registry, "long"))
		uv_run(&fixture->loop, UV_RUN_ONCE);
	assert_int_equal(fixture->told[WW_WIRE_WHAT_EXPIRED], 2);
	holder_end(registry, find_holder(fixture, 1));
	must_be_empty(fixture);
}

static void a_put_that_fails_leaves_nothing(void **state)
{
	struct fixture *fixture = *state;
	struct holder *maker = add_holder(fixture, 1, 7);
	struct ww_wire_put message = describe(1, "huge", WW_WIRE_LIFE_HELD);
	struct object *object;

	message.bytes = INT64_MAX;
	assert_int_equal(try_put(fixture, maker, &message, 3, &object), WW_OK);
	message = describe(2, "more", WW_WIRE_LIFE_HELD);
	message.bytes = UINT64_MAX - INT64_MAX + 1;
	assert_fails(try_put(fixture, maker, &message, 3, &object), WW_ERR_QUOTA);
	assert_null(object);
	must_have(fixture, 1, 1, 1, 3);
	/* Of the descriptors of all users together. */
	hold_drop(&fixture->registry,
		hold_find(&fixture->registry, maker, object_find(&fixture->registry, "huge")));
	for (uint32_t number = 0; number < 140; number++)
		put(fixture, maker, 100 + number, "", WW_WIRE_LIFE_HELD, 3);
	fixture->registry.accounts.fd_limit = fixture->registry.accounts.fds + 2;
	assert_fails(try_put(fixture, maker, &message, 3, &object), WW_ERR_QUOTA);
	holder_end(&fixture->registry, maker);
	must_be_empty(fixture);
}

static void a_lost_keeper_is_noticed(void **state)
{
	struct fixture *fixture = *state;
	struct holder *maker = add_holder(fixture, 1, 7);
	struct ww_wire_put message = describe(1, "x", WW_WIRE_LIFE_HELD);
	struct object *object;

	fixture->keeper = ww_fd_close(fixture->keeper);
	assert_fails(try_put(fixture, maker, &message, 1, &object), WW_ERR_PEER_LOST);
	must_have(fixture, 0, 1, 0, 0);
	assert_null(object_find(&fixture->registry, "x"));
	holder_end(&fixture->registry, maker);
	must_be_empty(fixture);
}

static void a_name_comes_later(void **state)
{
	struct fixture *fixture = *state;
	struct registry *registry = &fixture->registry;
	struct holder *maker = add_holder(fixture, 1, 7);
	struct object *object = put(fixture, maker, 1, "", WW_WIRE_LIFE_HELD, 1);
	struct ww_wire_put message = describe(1, "x", WW_WIRE_LIFE_KEPT);

	/* A former broker was killed when all but the first byte was written. */
	memcpy(object_record(registry, object)->name + 1, "unfinished", 11);
	restart(fixture);
	object = find(fixture, 1);
	assert_int_equal(object_name(registry, object, &message, 3), WW_OK);
	assert_ptr_equal(object_find(registry, "x"), object);
	assert_int_equal(object_record(registry, object)->gid, 3);
	holder_end(registry, find_holder(fixture, 1));
	must_have(fixture, 1, 0, 0, 1);
	object_end(registry, object, WW_WIRE_WHAT_REMOVED);
	must_be_empty(fixture);
}

/* Writers whose hold is gone already, makers that are gone: what a kill leaves between two steps. */
static void unfinished_ends_are_finished(void **state)
{
	struct fixture *fixture = *state;
	struct registry *registry = &fixture->registry;
	struct holder *maker = add_holder(fixture, 1, 7);
	struct ww_wire_put message = describe(1, "writing", WW_WIRE_LIFE_KEPT);
	struct object *object;

	message.state = WW_WIRE_STATE_WRITING;
	assert_int_equal(try_put(fixture, maker, &message, 1, &object), WW_OK);
	put(fixture, maker, 2, "owned", WW_WIRE_LIFE_OWNER, 1);
	put(fixture, maker, 3, "held", WW_WIRE_LIFE_HELD, 1);
	put(fixture, maker, 4, "kept", WW_WIRE_LIFE_KEPT, 1);
	put(fixture, maker, 5, "said", WW_WIRE_LIFE_OWNER, 0);
	for (uint32_t number = 1; number <= 5; number++) {
		struct object *each = find(fixture, number);

		hold_record(registry, hold_find(registry, maker, each))->state = 0;
	}
	restart(fixture);
	must_have(fixture, 2, 1, 0, 2);
	assert_non_null(object_find(registry, "owned"));
	assert_non_null(object_find(registry, "kept"));
	holder_record(registry, find_holder(fixture, 1))->state = 0;
	restart(fixture);
	must_have(fixture, 1, 0, 0, 1);
	object_end(registry, object_find(registry, "kept"), WW_WIRE_WHAT_REMOVED);
	must_be_empty(fixture);
}

/* A removed object that is held keeps its id; another one may come with the same. */
static void one_id_twice(void **state)
{
	struct fixture *fixture = *state;
	struct registry *registry = &fixture->registry;
	struct holder *maker = add_holder(fixture, 1, 7);
	struct holder *other = add_holder(fixture, 2, 7);
	struct object *former = put(fixture, maker, 1, "x", WW_WIRE_LIFE_HELD, 1);
	struct object *object;
	uint8_t id[16] = {1};

	assert_int_equal(hold_take(registry, other, former, 1), WW_OK);
	object_end(registry, former, WW_WIRE_WHAT_REMOVED);
	assert_null(find(fixture, 1));
	assert_ptr_equal(hold_object(registry, hold_find_id(registry, other, id)), former);
	object = put(fixture, maker, 1, "x", WW_WIRE_LIFE_HELD, 1);
	assert_ptr_equal(find(fixture, 1), object);
	assert_ptr_equal(hold_object(registry, hold_find_id(registry, other, id)), former);
	assert_int_equal(hold_take(registry, other, object, 1), WW_OK);
	assert_ptr_equal(hold_object(registry, hold_find_id(registry, other, id)), object);
	restart(fixture);
	must_have(fixture, 2, 2, 4, 1);
	object = find(fixture, 1);
	other = find_holder(fixture, 2);
	assert_ptr_equal(hold_object(registry, hold_find_id(registry, other, id)), object);
	holder_end(registry, find_holder(fixture, 1));
	holder_end(registry, other);
	must_be_empty(fixture);
}

/* --- at random, beside a model --- */

#define OBJECTS 24
#define HOLDERS 6

struct model_object {
	uint32_t number; /* 0: none */
	uint8_t state;
	uint8_t life;
	uint8_t fds;
	bool is_named;
	int maker;        /* -1: has ended */
	int owner;        /* whose account */
	uint32_t holders; /* bits */
	uint32_t escrows;
};

struct model {
	struct model_object objects[OBJECTS];
	bool holders[HOLDERS];
	uint32_t last_number;
};

static uint64_t random_state;

static uint32_t random_below(uint32_t limit)
{
	uint64_t z = random_state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return (uint32_t)((z ^ (z >> 31)) % limit);
}

static uid_t uid_of(int holder)
{
	return 100 + (uid_t)(holder % 3);
}

static void name_of(const struct model_object *item, char name[32])
{
	snprintf(name, 32, "n/%u", item->number);
}

static void model_settle(struct model_object *item)
{
	if (item->holders || item->escrows)
		return;
	if (item->state == WW_WIRE_STATE_REMOVED || item->life == WW_WIRE_LIFE_HELD)
		item->number = 0;
}

static void model_end(struct model_object *item)
{
	item->state = WW_WIRE_STATE_REMOVED;
	item->escrows = 0;
	model_settle(item);
}

static void model_drop(struct model_object *item, int holder)
{
	item->holders &= ~(1U << holder);
	if (item->maker == holder &&
		(item->state == WW_WIRE_STATE_WRITING ||
			(item->state != WW_WIRE_STATE_REMOVED && item->life == WW_WIRE_LIFE_OWNER &&
				(item->fds == 0 || !item->is_named))))
		model_end(item);
	else
		model_settle(item);
}

static void model_holder_end(struct model *model, int holder)
{
	model->holders[holder] = false;
	for (size_t i = 0; i < OBJECTS; i++) {
		struct model_object *item = &model->objects[i];

		if (item->number && item->maker == holder) {
			item->maker = -1;
			if (item->state == WW_WIRE_STATE_WRITING ||
				(item->state != WW_WIRE_STATE_REMOVED &&
					(item->life == WW_WIRE_LIFE_OWNER ||
						(item->life == WW_WIRE_LIFE_KEPT &&
							!item->is_named))))
				model_end(item);
		}
		if (item->number && (item->holders >> holder & 1))
			model_drop(item, holder);
	}
}

/* The object itself, also a removed one: numbers are never used twice. */
static struct object *item_object(struct fixture *fixture, const struct model_object *item)
{
	const struct table *table = &fixture->registry.object_table;

	for (uint32_t i = 0; i < table->capacity; i++) {
		const struct ww_layout_object_record *record = table_record(table, i);

		if (record->state && !memcmp(record->id, &item->number, sizeof(item->number)))
			return slab_item(&fixture->registry.objects, i);
	}
	return NULL;
}

static void random_put(struct fixture *fixture, struct model *model, int holder,
	struct model_object *item)
{
	struct ww_wire_put message;
	struct object *object;
	char name[32];

	*item = (struct model_object){
		.number = ++model->last_number,
		.state = (uint8_t)(1 + random_below(3)),
		.life = (uint8_t)(1 + random_below(3)),
		.fds = (uint8_t)random_below(4),
		.is_named = random_below(3) > 0,
		.maker = holder,
		.owner = holder,
		.holders = 1U << holder,
	};
	name_of(item, name);
	message = describe(item->number, item->is_named ? name : "", item->life);
	message.state = item->state;
	assert_int_equal(try_put(fixture, find_holder(fixture, (uint8_t)holder + 1), &message,
				 item->fds, &object),
		WW_OK);
}

static void random_name(struct fixture *fixture, struct model_object *item)
{
	struct ww_wire_put message;
	char name[32];

	if (item->is_named || item->state == WW_WIRE_STATE_REMOVED)
		return;
	name_of(item, name);
	item->is_named = true;
	item->life = WW_WIRE_LIFE_KEPT;
	item->state = WW_WIRE_STATE_SEALED;
	message = describe(item->number, name, item->life);
	message.state = item->state;
	assert_int_equal(object_name(&fixture->registry, item_object(fixture, item), &message, 5),
		WW_OK);
}

/* One step with a holder that is there and an object that is there. */
static void random_step(struct fixture *fixture, struct model_object *item, int holder)
{
	struct registry *registry = &fixture->registry;
	struct object *object = item_object(fixture, item);
	struct holder *who = find_holder(fixture, (uint8_t)holder + 1);
	struct hold *hold = hold_find(registry, who, object);
	bool is_removed = item->state == WW_WIRE_STATE_REMOVED;

	assert_int_equal(hold != NULL, item->holders >> holder & 1);
	switch (random_below(6)) {
	case 0:
		if (hold) {
			model_drop(item, holder);
			hold_drop(registry, hold);
		}
		break;
	case 1:
		if (!is_removed) {
			item->holders |= 1U << holder;
			assert_int_equal(hold_take(registry, who, object, 1), WW_OK);
		}
		break;
	case 2:
		if (!is_removed) {
			item->escrows++;
			assert_int_equal(hold_escrow(registry, who->account, object, 1, 1, FAR),
				WW_OK);
		}
		break;
	case 3:
		if (item->escrows && item->holders) {
			item->escrows--;
			hold_use_escrow(registry, object, 1);
		}
		break;
	case 4:
		if (item->state == WW_WIRE_STATE_WRITING) {
			item->state = WW_WIRE_STATE_SHARED;
			object_seal(registry, object, item->state);
		}
		break;
	default:
		random_name(fixture, item);
		break;
	}
}

static void check_item(struct fixture *fixture, const struct model_object *item)
{
	const struct object *object = item_object(fixture, item);
	const struct ww_layout_object_record *record;
	char name[32];

	assert_non_null(object);
	record = object_record(&fixture->registry, object);
	name_of(item, name);
	assert_int_equal(record->state, item->state);
	assert_int_equal(record->life, item->life);
	assert_int_equal(record->fd_count, item->state == WW_WIRE_STATE_REMOVED ? 0 : item->fds);
	assert_int_equal(object->holders, __builtin_popcount(item->holders));
	assert_int_equal(object->escrows, item->escrows);
	assert_int_equal(object->maker != NULL, item->maker >= 0);
	assert_ptr_equal(object_find(&fixture->registry, name),
		item->is_named && item->state != WW_WIRE_STATE_REMOVED ? object : NULL);
}

static void check_accounts(struct fixture *fixture, const struct model *model)
{
	struct charge sums[3] = {{0}};
	uint32_t users[3] = {0};
	struct accounts *accounts = &fixture->registry.accounts;

	for (int i = 0; i < HOLDERS; i++)
		users[i % 3] += model->holders[i];
	for (size_t i = 0; i < OBJECTS; i++) {
		const struct model_object *item = &model->objects[i];
		struct charge *sum = &sums[item->owner % 3];

		if (!item->number)
			continue;
		users[item->owner % 3]++;
		if (item->state != WW_WIRE_STATE_REMOVED) {
			sum->bytes += 1000 + item->number;
			sum->objects++;
			sum->fds += item->fds;
		}
	}
	for (uid_t i = 0; i < 3; i++) {
		struct account *account;

		if (users[i] == 0)
			continue;
		account = account_get(accounts, 100 + i);
		assert_int_equal(account->used.bytes, sums[i].bytes);
		assert_int_equal(account->used.objects, sums[i].objects);
		assert_int_equal(account->used.fds, sums[i].fds);
		account_put(accounts, account);
	}
}

static void check_model(struct fixture *fixture, const struct model *model)
{
	uint32_t objects = 0;
	uint32_t holders = 0;
	uint32_t holds = 0;
	uint64_t fds = 0;

	for (size_t i = 0; i < OBJECTS; i++) {
		const struct model_object *item = &model->objects[i];

		if (!item->number)
			continue;
		check_item(fixture, item);
		objects++;
		holds += (uint32_t)__builtin_popcount(item->holders) + item->escrows;
		fds += item->state == WW_WIRE_STATE_REMOVED ? 0 : item->fds;
	}
	for (size_t i = 0; i < HOLDERS; i++)
		holders += model->holders[i];
	must_have(fixture, objects, holders, holds, fds);
	check_accounts(fixture, model);
}

static void random_round(struct fixture *fixture, struct model *model)
{
	struct model_object *item = &model->objects[random_below(OBJECTS)];
	int holder = (int)random_below(HOLDERS);
	uint32_t choice = random_below(100);

	if (!model->holders[holder]) {
		add_holder(fixture, (uint8_t)holder + 1, uid_of(holder));
		model->holders[holder] = true;
	} else if (choice < 3) {
		model_holder_end(model, holder);
		holder_end(&fixture->registry, find_holder(fixture, (uint8_t)holder + 1));
	} else if (choice < 6) {
		restart(fixture);
	} else if (!item->number) {
		random_put(fixture, model, holder, item);
	} else if (choice < 10 && item->state != WW_WIRE_STATE_REMOVED) {
		struct object *object = item_object(fixture, item);

		model_end(item);
		object_end(&fixture->registry, object, WW_WIRE_WHAT_REMOVED);
	} else {
		random_step(fixture, item, holder);
	}
	drain(fixture);
	uv_run(&fixture->loop, UV_RUN_NOWAIT);
}

static void at_random(void **state)
{
	struct fixture *fixture = *state;
	static struct model model;

	for (uint64_t seed = 1; seed <= 8; seed++) {
		memset(&model, 0, sizeof(model));
		random_state = seed;
		for (int round = 0; round < 1500; round++) {
			random_round(fixture, &model);
			check_model(fixture, &model);
		}
		for (int i = 0; i < HOLDERS; i++) {
			if (model.holders[i])
				holder_end(&fixture->registry,
					find_holder(fixture, (uint8_t)i + 1));
		}
		for (size_t i = 0; i < OBJECTS; i++) {
			struct object *object = item_object(fixture, &model.objects[i]);

			if (model.objects[i].number && object)
				object_end(&fixture->registry, object, WW_WIRE_WHAT_REMOVED);
		}
		must_be_empty(fixture);
		registry_tidy(&fixture->registry);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(an_object_comes_and_goes),
		CASE(a_holder_takes_with_it_what_lives_by_it),
		CASE(a_maker_takes_back_what_it_says),
		CASE(escrows_end_by_time_and_by_use),
		CASE(time_to_live),
		CASE(a_put_that_fails_leaves_nothing),
		CASE(a_lost_keeper_is_noticed),
		CASE(a_name_comes_later),
		CASE(unfinished_ends_are_finished),
		CASE(one_id_twice),
		CASE(at_random),
	};

	return cmocka_run_group_tests_name("registry", tests, NULL, NULL);
}
