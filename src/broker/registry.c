/* SPDX-License-Identifier: Apache-2.0 */
/*
 * registry.c - the registry as a whole: made empty, or taken over from a former broker, see registry.h
 *
 * Taking over reads every record, holders first, then objects, then holds, and believes none of them: what cannot be
 * is dropped alone. Then comes what would have happened in the meantime: objects nobody holds any more go.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/random.h"
#include "broker/expiry.h"
#include "broker/mourning.h"
#include "broker/registry_items.h"
#include "wire/name.h"

/* The most records of each kind: what the address space is set aside for. */
#define OBJECTS_MAX (1u << 20)
#define HOLDERS_MAX (1u << 16)
#define HOLDS_MAX   (1u << 22)

/* Ids are random, chosen by clients: mixed, so that nobody can choose where they fall. */
static uint64_t hash_seed;

static uint64_t mix(uint64_t value)
{
	value ^= value >> 32;
	value *= UINT64_C(0xd6e8feb86659fd93);
	value ^= value >> 32;
	value *= UINT64_C(0xd6e8feb86659fd93);
	return value ^ value >> 32;
}

uint64_t registry_hash_id(const uint8_t id[16])
{
	uint64_t halves[2];

	memcpy(halves, id, sizeof(halves));
	return mix(mix(halves[0] ^ hash_seed) + halves[1]);
}

uint64_t registry_hash_name(const char *name)
{
	uint64_t hash = hash_seed;

	for (size_t left = strlen(name); left > 0;) {
		uint64_t word = 0;
		size_t bytes = left < sizeof(word) ? left : sizeof(word);

		memcpy(&word, name, bytes);
		hash = mix(hash + word) + bytes;
		name += bytes;
		left -= bytes;
	}
	return mix(hash);
}

uint64_t registry_hash_number(uint64_t number)
{
	return mix(number);
}

/* --- a new one --- */

static ww_status create_tables(struct registry *registry, uint32_t numbers[REGISTRY_TABLES])
{
	WW_AUTO_FD int objects = -1;
	WW_AUTO_FD int holders = -1;
	WW_AUTO_FD int holds = -1;

	ww_try(table_create(WW_LAYOUT_OBJECT_RECORD_BYTES, WW_LAYOUT_OBJECT_RECORD_VERSION,
		"warpway-objects", &objects));
	ww_try(table_create(WW_LAYOUT_HOLDER_RECORD_BYTES, WW_LAYOUT_HOLDER_RECORD_VERSION,
		"warpway-holders", &holders));
	ww_try(table_create(WW_LAYOUT_HOLD_RECORD_BYTES, WW_LAYOUT_HOLD_RECORD_VERSION,
		"warpway-holds", &holds));
	return vault_keep(registry->vault, (int[]){objects, holders, holds}, REGISTRY_TABLES,
		numbers);
}

static ww_status open_each(struct registry *registry, const uint32_t numbers[REGISTRY_TABLES])
{
	ww_try(table_open(&registry->object_table, (int)numbers[0], WW_LAYOUT_OBJECT_RECORD_BYTES,
		WW_LAYOUT_OBJECT_RECORD_VERSION, OBJECTS_MAX));
	ww_try(table_open(&registry->holder_table, (int)numbers[1], WW_LAYOUT_HOLDER_RECORD_BYTES,
		WW_LAYOUT_HOLDER_RECORD_VERSION, HOLDERS_MAX));
	return table_open(&registry->hold_table, (int)numbers[2], WW_LAYOUT_HOLD_RECORD_BYTES,
		WW_LAYOUT_HOLD_RECORD_VERSION, HOLDS_MAX);
}

static void close_tables(struct registry *registry)
{
	table_close(&registry->object_table);
	table_close(&registry->holder_table);
	table_close(&registry->hold_table);
}

static ww_status open_tables(struct registry *registry, const uint32_t numbers[REGISTRY_TABLES])
{
	ww_status status = open_each(registry, numbers);

	if (status < 0)
		close_tables(registry);
	return status;
}

/* Values 1 and 2 of the objects' table are the id of this broker and its successors. */
static ww_status name_registry(struct registry *registry)
{
	uint64_t id[2];

	ww_try(ww_random_bytes(id, sizeof(id)));
	*table_value(&registry->object_table, 1) = id[0];
	*table_value(&registry->object_table, 2) = id[1];
	return WW_OK;
}

static bool is_named(const struct registry *registry)
{
	return *table_value(&registry->object_table, 1) || *table_value(&registry->object_table, 2);
}

void registry_id(const struct registry *registry, uint8_t out_id[16])
{
	memcpy(out_id, table_value(&registry->object_table, 1), 8);
	memcpy(out_id + 8, table_value(&registry->object_table, 2), 8);
}

/* --- taken over --- */

static bool is_ended(const uint8_t *text, size_t room)
{
	return memchr(text, 0, room) != NULL;
}

/* Drops a record that cannot be; but one for which there was no memory must not be lost: that ends the start. */
static ww_status drop(struct table *table, uint32_t index, ww_status why)
{
	if (why == WW_ERR_NO_MEMORY)
		return why;
	ww_log_debug("registry: dropped record %" PRIu32 " of %" PRIu32 " bytes", index,
		table->record_bytes);
	table_give(table, index);
	return WW_OK;
}

static bool holder_makes_sense(const struct registry *registry,
	const struct ww_layout_holder_record *record)
{
	return record->state <= HOLDER_MOURNED && record->number != 0 &&
		record->number <= *table_value(&registry->holder_table, 0) &&
		is_ended(record->program, sizeof(record->program)) &&
		!holder_find_number(registry, record->number) &&
		(record->state == HOLDER_MOURNED || !holder_find(registry, record->process_id));
}

static ww_status adopt_holder(struct registry *registry, uint32_t index)
{
	struct ww_layout_holder_record *record = table_record(&registry->holder_table, index);
	ww_status status = WW_ERR_PROTOCOL;
	struct holder *holder;

	if (record->state == 0)
		return WW_OK;
	if (holder_makes_sense(registry, record))
		status = holder_item(registry, index, &holder);
	if (status != WW_OK)
		return drop(&registry->holder_table, index, status);
	if (record->pidfd != NO_PIDFD && vault_adopt(registry->vault, record->pidfd) != WW_OK)
		record->pidfd = NO_PIDFD;
	return WW_OK;
}

static bool object_makes_sense(const struct registry *registry,
	const struct ww_layout_object_record *record)
{
	return record->state <= WW_WIRE_STATE_REMOVED && record->kind != 0 &&
		record->life >= WW_WIRE_LIFE_HELD && record->life <= WW_WIRE_LIFE_KEPT &&
		record->mode <= 0777 && record->fd_count <= WW_WIRE_FDS &&
		record->description_bytes <= sizeof(record->description) &&
		record->bytes <= INT64_MAX && record->host_bytes <= record->bytes &&
		record->generation <= *table_value(&registry->object_table, 0) &&
		is_ended(record->name, sizeof(record->name)) &&
		(!record->name[0] || ww_name_check((const char *)record->name) == WW_OK) &&
		(record->state == WW_WIRE_STATE_REMOVED ||
			(!object_find_id(registry, record->id) &&
				(!record->name[0] ||
					!object_find(registry, (const char *)record->name))));
}

static void forget_fds(struct registry *registry, const struct ww_layout_object_record *record,
	uint8_t count)
{
	for (uint8_t i = 0; i < count; i++)
		vault_forget(registry->vault, record->fds[i]);
}

/* All of its descriptors, or none; of a removed one its testament. */
static bool adopt_fds(struct registry *registry, struct ww_layout_object_record *record)
{
	if (record->state == WW_WIRE_STATE_REMOVED) {
		testament_keep_only(record);
		if (record->fd_count > 0 && vault_adopt(registry->vault, record->fds[0]) != WW_OK)
			record->fd_count = 0;
		return true;
	}
	for (uint8_t i = 0; i < record->fd_count; i++) {
		if (vault_adopt(registry->vault, record->fds[i]) != WW_OK) {
			forget_fds(registry, record, i);
			return false;
		}
	}
	return true;
}

/* Its item, with everything that goes with it. */
static ww_status adopt_item(struct registry *registry, struct ww_layout_object_record *record,
	uint32_t index)
{
	struct object *object = NULL;
	struct holder *maker;
	ww_status status;

	ww_try(object_item(registry, index, &object));
	status = testament_open(registry, object);
	if (status == WW_OK)
		status = object_adopt(registry, object);
	if (status < 0) {
		testament_close(registry, object);
		account_put(&registry->accounts, object->account);
		return status;
	}
	maker = holder_find_number(registry, record->maker);
	if (maker)
		object_belongs(registry, object, maker);
	else
		record->maker = 0;
	object_remains(registry, object);
	return WW_OK;
}

static ww_status adopt_object(struct registry *registry, uint32_t index)
{
	struct ww_layout_object_record *record = table_record(&registry->object_table, index);

	ww_status status = WW_ERR_PROTOCOL;

	if (record->state == 0)
		return WW_OK;
	if (object_makes_sense(registry, record) && adopt_fds(registry, record)) {
		status = adopt_item(registry, record, index);
		if (status != WW_OK)
			forget_fds(registry, record, record->fd_count);
	}
	return status == WW_OK ? WW_OK : drop(&registry->object_table, index, status);
}

/* The object a hold's record names, if it is still that one. */
static struct object *object_of(struct registry *registry,
	const struct ww_layout_hold_record *record)
{
	const struct ww_layout_object_record *object;

	if (record->object >= registry->object_table.capacity)
		return NULL;
	object = table_record(&registry->object_table, record->object);
	if (object->state == 0 || (uint32_t)object->generation != record->generation)
		return NULL;
	return slab_item(&registry->objects, record->object);
}

static ww_status adopt_hold_of(struct registry *registry, uint32_t index, struct object *object)
{
	const struct ww_layout_hold_record *record = table_record(&registry->hold_table, index);
	const struct charge charge = {.holds = 1};
	bool is_escrow = record->holder == 0;
	struct account *account;
	struct holder *holder;
	struct hold *hold;
	ww_status status;

	holder = is_escrow ? NULL : holder_find_number(registry, record->holder);
	if ((!holder && !is_escrow) || (holder && hold_find(registry, holder, object)))
		return WW_ERR_PROTOCOL;
	if (is_escrow && object_record(registry, object)->state == WW_WIRE_STATE_REMOVED)
		return WW_ERR_PROTOCOL;
	account = account_get(&registry->accounts, record->uid);
	if (!account)
		return WW_ERR_NO_MEMORY;
	status = hold_item(registry, index, object, holder, &hold);
	if (status < 0) {
		account_put(&registry->accounts, account);
		return status;
	}
	/* One each, so that this cannot overflow. */
	(void)account_charge_anyway(&registry->accounts, account, &charge);
	return is_escrow ? hold_arm(registry, hold) : WW_OK;
}

/* An escrow has an end, what a process holds has none. */
static bool hold_makes_sense(const struct ww_layout_hold_record *record)
{
	bool is_escrow = record->holder == 0;

	return record->state == 1 && record->access >= WW_WIRE_ACCESS_READ &&
		record->access <= WW_WIRE_ACCESS_WRITE &&
		is_escrow == (record->expires_ns != REGISTRY_NEVER);
}

static ww_status adopt_hold(struct registry *registry, uint32_t index)
{
	struct ww_layout_hold_record *record = table_record(&registry->hold_table, index);
	ww_status status = WW_ERR_PROTOCOL;
	struct object *object;

	if (record->state == 0)
		return WW_OK;
	object = hold_makes_sense(record) ? object_of(registry, record) : NULL;
	if (object)
		status = adopt_hold_of(registry, index, object);
	return status == WW_OK ? WW_OK : drop(&registry->hold_table, index, status);
}

static bool is_held_by_maker(const struct registry *registry, const struct object *object)
{
	return object->maker && hold_find(registry, object->maker, object);
}

/* What ended, or was about to, when the former broker did. */
static void settle_all(struct registry *registry)
{
	for (uint32_t i = 0; i < registry->object_table.capacity; i++) {
		const struct ww_layout_object_record *record = table_record(&registry->object_table,
			i);
		struct object *object;
		uint8_t what;

		if (record->state == 0)
			continue;
		object = slab_item(&registry->objects, i);
		what = is_held_by_maker(registry, object) ? 0 : object_without_maker(record);
		if (object->testament && !object->maker)
			(void)object_bury(registry, object);
		else if (what)
			object_end(registry, object, what);
		else if (!object->maker && object_ends_with_maker(record))
			object_end(registry, object, WW_WIRE_WHAT_GONE);
		else
			object_settle(registry, object);
	}
}

/* Goes on where the former broker was: testaments first. */
static void mourn_all(struct registry *registry)
{
	for (uint32_t i = 0; i < registry->holder_table.capacity; i++) {
		const struct ww_layout_holder_record *record = table_record(&registry->holder_table,
			i);
		struct holder *holder;

		if (record->state != HOLDER_MOURNED)
			continue;
		holder = slab_item(&registry->holders, i);
		holder_mourn(registry, holder);
		holder_end(registry, holder);
	}
}

static ww_status take_over(struct registry *registry)
{
	for (uint32_t i = 0; i < registry->holder_table.capacity; i++)
		ww_try(adopt_holder(registry, i));
	for (uint32_t i = 0; i < registry->object_table.capacity; i++)
		ww_try(adopt_object(registry, i));
	for (uint32_t i = 0; i < registry->hold_table.capacity; i++)
		ww_try(adopt_hold(registry, i));
	ww_try(vault_adopted(registry->vault));
	mourn_all(registry);
	settle_all(registry);
	object_end_lost_remains(registry);
	return WW_OK;
}

ww_status registry_open(struct registry *registry)
{
	uint32_t numbers[REGISTRY_TABLES];
	bool is_first = fcntl((int)registry->vault->first, F_GETFD) < 0;

	registry->objects.item_bytes = sizeof(struct object);
	registry->holders.item_bytes = sizeof(struct holder);
	registry->holds.item_bytes = sizeof(struct hold);
	ww_list_init(&registry->remains);
	if (hash_seed == 0)
		ww_try(ww_random_bytes(&hash_seed, sizeof(hash_seed)));
	if (is_first) {
		ww_try(vault_adopted(registry->vault)); /* nothing is there */
		ww_try(create_tables(registry, numbers));
		ww_try(open_tables(registry, numbers));
		mourning_open(registry);
		return name_registry(registry);
	}
	for (uint32_t i = 0; i < REGISTRY_TABLES; i++) {
		numbers[i] = registry->vault->first + i;
		ww_try(vault_adopt(registry->vault, numbers[i]));
	}
	ww_try(open_tables(registry, numbers));
	mourning_open(registry);
	if (!is_named(registry)) /* the first broker was killed before it came to that */
		ww_try(name_registry(registry));
	return take_over(registry);
}

void registry_tidy(struct registry *registry)
{
	bool is_freed = false;

	registry->executed_bytes = 0;
	if (registry->object_table.used == 0 && registry->objects.chunk_count > 0) {
		slab_clear(&registry->objects);
		ww_map_fini(&registry->by_id);
		ww_map_fini(&registry->by_name);
		is_freed = true;
	}
	if (registry->hold_table.used == 0 && registry->holds.chunk_count > 0) {
		slab_clear(&registry->holds);
		is_freed = true;
	}
	if (registry->holder_table.used == 0 && registry->holders.chunk_count > 0) {
		slab_clear(&registry->holders);
		ww_map_fini(&registry->by_number);
		ww_map_fini(&registry->by_process);
		is_freed = true;
	}
	if (is_freed)
		malloc_trim(0);
}

static void close_items(struct registry *registry)
{
	for (uint32_t i = 0; i < registry->object_table.capacity; i++) {
		const uint32_t *state = table_record(&registry->object_table, i);
		struct object *object;

		if (*state == 0)
			continue;
		object = slab_item(&registry->objects, i);
		expiry_stop(&object->expiry);
		testament_close(registry, object);
	}
	for (uint32_t i = 0; i < registry->hold_table.capacity; i++) {
		const struct ww_layout_hold_record *record = table_record(&registry->hold_table, i);

		if (record->state && record->holder == 0)
			expiry_stop(&((struct hold *)slab_item(&registry->holds, i))->expiry);
	}
}

static void free_account(struct ww_map *map, struct ww_map_node *node)
{
	ww_map_remove(map, node);
	free(ww_container(node, struct account, node));
}

static void free_accounts(struct ww_map *map)
{
	for (size_t i = 0; map->count > 0 && i < map->bucket_count; i++) {
		while (map->buckets[i])
			free_account(map, map->buckets[i]);
	}
	ww_map_fini(map);
}

void registry_close(struct registry *registry)
{
	close_items(registry);
	mourning_close(registry);
	free_accounts(&registry->accounts.by_uid);
	close_tables(registry);
	slab_clear(&registry->objects);
	slab_clear(&registry->holders);
	slab_clear(&registry->holds);
	free(registry->by_id.buckets);
	free(registry->by_name.buckets);
	free(registry->by_number.buckets);
	free(registry->by_process.buckets);
}
