/* SPDX-License-Identifier: Apache-2.0 */
/*
 * registry_random_test.c - random changes to a registry, compared with a simple model of it
 *
 * The model says of each object which processes hold it, and what its record must say. After each
 * change, the registry and the accounts must be as the model is. Now and then the registry is
 * closed and taken over, as by a new broker.
 */
#include "daemon/registry/delivery.h"
#include "daemon/registry/registry_fixture.h"

#include <stdio.h>
#include <string.h>

#define OBJECTS 24
#define HOLDERS 6
#define FURTHER 3
#define ROOT    3 /* behind the users of holders */

struct model_object {
	uint32_t number; /* 0: none */
	uint8_t state;
	uint8_t life;
	uint8_t fds;
	uint16_t kind;
	bool is_named;
	uint8_t further[FURTHER]; /* lives of further names; 0: none */
	int further_owner[FURTHER];
	int creator;      /* -1: has ended */
	int owner;        /* whose account */
	uint32_t holders; /* bits */
	uint32_t escrows;
	uint32_t deliveries;        /* not counted in escrows */
	uint32_t exported[HOLDERS]; /* of these, by whom; not by processes that have ended */
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

/* Whether the object is a memory, which its name may leave. */
static bool model_is_memory(const struct model_object *item)
{
	return item->kind == WW_WIRE_KIND_MEMORY;
}

static bool model_is_barrier(const struct model_object *item)
{
	return item->kind == WW_WIRE_KIND_BARRIER;
}

static uint32_t model_count_further(const struct model_object *item)
{
	uint32_t count = 0;

	for (size_t i = 0; i < FURTHER; i++)
		count += item->further[i] != 0;
	return count;
}

static bool model_has_name(const struct model_object *item)
{
	return item->is_named || model_count_further(item) > 0;
}

static void model_settle(struct model_object *item)
{
	if (item->holders == 0 && item->life == WW_WIRE_LIFE_HELD && !model_is_barrier(item))
		item->is_named = false;
	for (size_t i = 0; i < FURTHER; i++) {
		if (item->holders == 0 && item->further[i] == WW_WIRE_LIFE_HELD)
			item->further[i] = 0;
	}
	if (item->holders || item->escrows || item->deliveries)
		return;
	if (item->state == WW_WIRE_STATE_REMOVED ||
		(item->life == WW_WIRE_LIFE_HELD && model_count_further(item) == 0))
		item->number = 0;
}

static void model_end(struct model_object *item)
{
	memset(item->further, 0, sizeof(item->further));
	item->state = WW_WIRE_STATE_REMOVED;
	item->escrows = 0;
	item->deliveries = 0;
	memset(item->exported, 0, sizeof(item->exported));
	model_settle(item);
}

static void model_drop(struct model_object *item, int holder)
{
	item->holders &= ~(1U << holder);
	if (item->creator == holder &&
		(item->state == WW_WIRE_STATE_WRITING ||
			(item->state != WW_WIRE_STATE_REMOVED && item->life == WW_WIRE_LIFE_OWNER &&
				(item->fds == 0 || !model_has_name(item)))))
		model_end(item);
	else
		model_settle(item);
}

static void model_holder_end(struct model *model, int holder)
{
	model->holders[holder] = false;
	for (size_t i = 0; i < OBJECTS; i++) {
		struct model_object *item = &model->objects[i];

		item->exported[holder] = 0;
		if (item->number && item->creator == holder) {
			item->creator = -1;
			if (item->state == WW_WIRE_STATE_WRITING ||
				(item->state != WW_WIRE_STATE_REMOVED &&
					item->life == WW_WIRE_LIFE_OWNER))
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
			return table_item(&fixture->registry.object_table, i);
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
		.kind = (uint16_t)(1 + random_below(DEVICE_TOTAL_KINDS + 2)),
		.fds = (uint8_t)random_below(4),
		.is_named = random_below(3) > 0,
		.creator = holder,
		.owner = holder,
		.holders = 1U << holder,
	};
	if (random_below(2))
		item->kind = WW_WIRE_KIND_MEMORY;
	if (item->life == WW_WIRE_LIFE_KEPT)
		item->is_named = true;
	name_of(item, name);
	message = describe(item->number, item->is_named ? name : "", item->life);
	message.state = item->state;
	message.kind = item->kind;
	message.home_uuid[3] = (uint8_t)random_below(DEVICE_TOTALS_MOST + 8);
	assert_ok(try_put(fixture, find_holder(fixture, (uint8_t)holder + 1), &message, item->fds,
		&object));
}

static void random_name(struct fixture *fixture, struct model_object *item)
{
	struct ww_wire_put message;
	char name[32];

	if (item->is_named || item->state == WW_WIRE_STATE_REMOVED)
		return;
	name_of(item, name);
	if (!model_has_name(item))
		item->state = WW_WIRE_STATE_SEALED;
	if (!model_has_name(item) || item->life != WW_WIRE_LIFE_OWNER)
		item->life = WW_WIRE_LIFE_KEPT;
	item->is_named = true;
	message = describe(item->number, name, item->life);
	message.state = item->state;
	assert_ok(object_add_name(&fixture->registry, item_object(fixture, item),
		uid_of(item->owner), &message, 5));
}

static void further_name_of(const struct model_object *item, size_t i, char name[32])
{
	snprintf(name, 32, "f/%u/%zu", item->number, i);
}

/* The first name stays free for the object's user. */
static void random_further_name(struct fixture *fixture, struct model_object *item)
{
	size_t i = random_below(FURTHER);
	struct ww_wire_put message;
	uid_t uid;
	char name[32];

	if (!model_is_memory(item) || item->state == WW_WIRE_STATE_REMOVED || item->further[i])
		return;
	if (!item->is_named && !model_has_name(item))
		return;
	item->further_owner[i] = item->is_named && random_below(2) ? item->owner % 3 : ROOT;
	uid = item->further_owner[i] == ROOT ? 0 : uid_of(item->owner);
	item->further[i] = item->life == WW_WIRE_LIFE_OWNER ? WW_WIRE_LIFE_OWNER
		: random_below(2)                           ? WW_WIRE_LIFE_KEPT
							    : WW_WIRE_LIFE_HELD;
	further_name_of(item, i, name);
	message = describe(item->number, name, item->further[i]);
	message.state = item->state;
	assert_ok(
		object_add_name(&fixture->registry, item_object(fixture, item), uid, &message, 5));
	if (item->holders == 0)
		object_settle(&fixture->registry, item_object(fixture, item));
	model_settle(item);
}

/* What becomes of a memory that has lost a name. */
static void model_without_name(struct model_object *item)
{
	if (item->life == WW_WIRE_LIFE_OWNER && (item->fds == 0 || !model_has_name(item)) &&
		(item->creator < 0 || !(item->holders >> item->creator & 1)))
		model_end(item);
	else
		model_settle(item);
}

static void random_lose_name(struct fixture *fixture, struct model_object *item)
{
	struct object *object = item_object(fixture, item);

	if (!item->is_named || item->state == WW_WIRE_STATE_REMOVED)
		return;
	if (!model_is_memory(item)) {
		model_end(item);
	} else {
		item->is_named = false;
		if (item->life == WW_WIRE_LIFE_KEPT)
			item->life = WW_WIRE_LIFE_HELD;
		model_without_name(item);
	}
	object_lose_name(&fixture->registry, name_first(object), WW_WIRE_WHAT_REMOVED);
}

static void random_lose_further_name(struct fixture *fixture, struct model_object *item)
{
	size_t i = random_below(FURTHER);
	struct name name;
	char text[32];

	if (!item->further[i])
		return;
	further_name_of(item, i, text);
	name = name_find(&fixture->registry, text);
	assert_non_null(name.further);
	item->further[i] = 0;
	model_without_name(item);
	object_lose_name(&fixture->registry, name, WW_WIRE_WHAT_REMOVED);
}

static void random_deliver(struct fixture *fixture, struct model_object *item, int holder)
{
	struct ww_wire_export message = {.access = 1, .uses = 1, .escrow_ns = FAR};
	struct holder *who = find_holder(fixture, (uint8_t)holder + 1);
	struct hold *hold;

	for (size_t i = 0; i < sizeof(message.secret); i++)
		message.secret[i] = (uint8_t)(1 + random_below(255));
	item->deliveries++;
	item->exported[holder]++;
	assert_ok(delivery_make(&fixture->registry, who, item_object(fixture, item), &message,
		&hold));
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
	switch (random_below(10)) {
	case 0:
		if (hold) {
			model_drop(item, holder);
			hold_drop(registry, hold);
		}
		break;
	case 1:
		if (!is_removed) {
			item->holders |= 1U << holder;
			assert_ok(hold_take(registry, who, object, (uint8_t)(1 + random_below(2))));
		}
		break;
	case 2:
		if (!is_removed) {
			item->escrows++;
			assert_ok(hold_escrow(registry, who->account, object, 1, 1, FAR));
		}
		break;
	case 3:
		if (item->escrows && item->holders) {
			item->escrows--;
			hold_use_escrow(registry, object, 1);
		}
		break;
	case 4:
		if (!is_removed)
			random_deliver(fixture, item, holder);
		break;
	case 5:
		if (item->state == WW_WIRE_STATE_WRITING) {
			item->state = WW_WIRE_STATE_SHARED;
			object_seal(registry, object, item->state);
		}
		break;
	case 6:
		random_lose_name(fixture, item);
		break;
	case 7:
		random_further_name(fixture, item);
		break;
	case 8:
		random_lose_further_name(fixture, item);
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
	assert_int_equal(object_escrows(object), item->escrows + item->deliveries);
	assert_int_equal(object->creator != NULL, item->creator >= 0);
	assert_ptr_equal(find_name(&fixture->registry, name),
		item->is_named && item->state != WW_WIRE_STATE_REMOVED ? object : NULL);
	for (size_t i = 0; i < FURTHER; i++) {
		further_name_of(item, i, name);
		assert_ptr_equal(find_name(&fixture->registry, name),
			item->further[i] ? object : NULL);
	}
	assert_int_equal(object_count_further(&fixture->registry, object),
		model_count_further(item));
}

/*
 * The user whose hold says that it pays, or that of the object: which pays as long as the object
 * has a name, or is held by that user.
 */
static uid_t payer_of(struct fixture *fixture, const struct object *object)
{
	struct registry *registry = &fixture->registry;
	const struct ww_layout_object_record *record = object_record(registry, object);
	uid_t payer = record->uid;
	uint32_t count = 0;
	uint32_t writers = 0;
	uint32_t own = 0;
	uint32_t all = 0;
	const struct hold *hold;

	for (uint32_t at = 0; (hold = table_next(&registry->hold_table, &at));) {
		const struct ww_layout_hold_record *its = hold_record(registry, hold);

		if (hold_object(registry, hold) != object)
			continue;
		all++;
		own += its->uid == record->uid;
		writers += its->holder != 0 && its->access == WW_WIRE_ACCESS_WRITE;
		if (its->flags & WW_WIRE_HOLD_FLAG_PAYS) {
			payer = its->uid;
			count++;
		}
	}
	assert_in_range(count, 0, 1);
	assert_int_equal(object->own_holds, own);
	assert_int_equal(object->writers, writers);
	assert_int_equal(object_account(object)->uid, payer);
	if (record->state != WW_WIRE_STATE_REMOVED && object_is_named(registry, object))
		assert_int_equal(count, 0);
	if (record->state != WW_WIRE_STATE_REMOVED && !object_is_named(registry, object) &&
		own == 0 && all > 0)
		assert_int_equal(count, 1);
	return payer;
}

static void check_accounts(struct fixture *fixture, const struct model *model)
{
	struct charge sums[ROOT + 1] = {{.bytes = 0}};
	uint32_t users[ROOT + 1] = {0};
	struct accounts *accounts = &fixture->registry.accounts;

	for (int i = 0; i < HOLDERS; i++)
		users[i % 3] += model->holders[i];
	for (size_t i = 0; i < OBJECTS; i++) {
		const struct model_object *item = &model->objects[i];
		struct charge *sum;

		if (!item->number)
			continue;
		sum = &sums[payer_of(fixture, item_object(fixture, item)) - 100];
		users[item->owner % 3]++;
		for (size_t k = 0; k < FURTHER; k++) {
			sums[item->further_owner[k]].objects += item->further[k] != 0;
			users[item->further_owner[k]] += item->further[k] != 0;
		}
		if (item->state != WW_WIRE_STATE_REMOVED) {
			sum->bytes += 1000 + item->number;
			sum->objects++;
			sum->fds += item->fds;
		}
	}
	for (uid_t i = 0; i <= ROOT; i++) {
		struct account *account;

		if (users[i] == 0)
			continue;
		account = account_get(accounts, i == ROOT ? 0 : 100 + i);
		assert_int_equal(account->used.bytes, sums[i].bytes);
		assert_int_equal(account->used.objects, sums[i].objects);
		assert_int_equal(account->used.fds, sums[i].fds);
		account_put(accounts, account);
	}
}

/* What a walk over everything gives, to be compared with the running totals. */
struct walk {
	uint64_t objects, bytes, removed, removed_bytes;
	uint64_t holders, escrows, deliveries, delivery_bytes;
};

static void walk_holds(struct fixture *fixture, uid_t uid, struct walk *walk)
{
	struct registry *registry = &fixture->registry;
	const struct hold *hold;

	for (uint32_t at = 0; (hold = table_next(&registry->hold_table, &at));) {
		const struct ww_layout_hold_record *record = hold_record(registry, hold);

		if (record->uid != uid || !hold->is_escrow)
			continue;
		walk->escrows++;
		if (!record->delivery)
			continue;
		walk->deliveries++;
		walk->delivery_bytes += object_record(registry, hold_object(registry, hold))->bytes;
	}
}

/* The objects of one kind that count in a total. */
static void walk_objects(struct fixture *fixture, const struct device_total *total, uint16_t kind,
	uid_t uid, struct walk *walk)
{
	struct registry *registry = &fixture->registry;
	const struct object *object;

	for (uint32_t at = 0; (object = table_next(&registry->object_table, &at));) {
		const struct ww_layout_object_record *record = object_record(registry, object);

		if (object_total(object) != total ||
			(record->kind >= DEVICE_TOTAL_KINDS ? 0 : record->kind) != kind)
			continue;
		assert_int_equal(payer_of(fixture, object), uid);
		if (!total->is_of_others)
			assert_memory_equal(record->home_uuid, total->home_uuid, WW_WIRE_ID_BYTES);
		if (record->state == WW_WIRE_STATE_REMOVED) {
			walk->removed++;
			walk->removed_bytes += record->bytes;
		} else {
			walk->objects++;
			walk->bytes += record->bytes;
		}
	}
}

static void check_devices(struct fixture *fixture, const struct account *account)
{
	uint32_t count = 0;

	ww_list_for_each (link, &account->devices) {
		const struct device_total *total = ww_container(link, struct device_total,
			of_account);

		count += !total->is_of_others;
		for (uint16_t kind = 0; kind < DEVICE_TOTAL_KINDS; kind++) {
			const struct kind_total *of_kind = &total->kinds[kind];
			struct walk walk = {0};

			walk_objects(fixture, total, kind, account->uid, &walk);
			assert_int_equal(of_kind->objects, walk.objects);
			assert_int_equal(of_kind->bytes, walk.bytes);
			assert_int_equal(of_kind->removed, walk.removed);
			assert_int_equal(of_kind->removed_bytes, walk.removed_bytes);
		}
	}
	assert_int_equal(count, account->device_count);
	assert_in_range(count, 0, DEVICE_TOTALS_MOST);
}

/* Both orders have each item once, and the largest first. */
static void check_orders(struct fixture *fixture)
{
	struct registry *registry = &fixture->registry;
	const struct object *object = size_order_after(&registry->objects_by_size, UINT64_MAX, 0);
	const struct holder *holder = size_order_after(&registry->holders_by_size, UINT64_MAX, 0);
	uint64_t before = UINT64_MAX;
	uint32_t count = 0;

	for (; object; count++) {
		assert_true(object_record(registry, object)->bytes <= before);
		before = object_record(registry, object)->bytes;
		object = size_order_next(&registry->objects_by_size, object->index);
	}
	assert_int_equal(count, registry->object_table.used);
	before = UINT64_MAX;
	for (count = 0; holder; count++) {
		assert_true(byte_sum_told(holder->held_bytes) <= before);
		before = byte_sum_told(holder->held_bytes);
		holder = size_order_next(&registry->holders_by_size, holder->index);
	}
	assert_int_equal(count, registry->holder_table.used);
}

static void check_totals(struct fixture *fixture)
{
	struct registry *registry = &fixture->registry;
	const struct holder *holder;
	uint32_t accounts = 0;

	for (uint32_t slot = 0; slot < registry->accounts.slot_count; slot++) {
		const struct account *account = account_at(&registry->accounts, slot);
		struct walk walk = {0};

		if (!account)
			continue;
		accounts++;
		assert_int_equal(account->slot, slot);
		walk_holds(fixture, account->uid, &walk);
		for (uint32_t at = 0; (holder = table_next(&registry->holder_table, &at));)
			walk.holders += holder_record(registry, holder)->uid == account->uid;
		assert_int_equal(account->holders, walk.holders);
		assert_int_equal(account->escrows, walk.escrows);
		assert_int_equal(account->deliveries, walk.deliveries);
		assert_int_equal(account->delivery_bytes, walk.delivery_bytes);
		check_devices(fixture, account);
	}
	assert_int_equal(accounts, registry->accounts.by_uid.count);
	check_orders(fixture);
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
		holds += (uint32_t)__builtin_popcount(item->holders) + item->escrows +
			item->deliveries;
		fds += item->state == WW_WIRE_STATE_REMOVED ? 0 : item->fds;
	}
	for (size_t i = 0; i < HOLDERS; i++)
		holders += model->holders[i];
	must_have(fixture, objects, holders, holds, fds);
	check_accounts(fixture, model);
	check_totals(fixture);
}

/* A process that has nothing is not awaited. */
static void model_restart(struct model *model)
{
	for (int i = 0; i < HOLDERS; i++) {
		bool has_something = false;

		for (size_t k = 0; k < OBJECTS; k++) {
			const struct model_object *item = &model->objects[k];

			has_something |= item->number &&
				((item->holders >> i & 1) || item->creator == i ||
					item->exported[i] > 0);
		}
		model->holders[i] &= has_something;
	}
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
		model_restart(model);
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

REGISTRY_TEST(at_random)
{
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
				holder_end(registry, find_holder(fixture, (uint8_t)i + 1));
		}
		for (size_t i = 0; i < OBJECTS; i++) {
			struct object *object = item_object(fixture, &model.objects[i]);

			if (model.objects[i].number && object)
				object_end(registry, object, WW_WIRE_WHAT_REMOVED);
		}
		must_be_empty(fixture);
		registry_reclaim(registry);
	}
}

UNIT_MAIN("registry_random")
