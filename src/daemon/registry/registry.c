/* SPDX-License-Identifier: Apache-2.0 */
/*
 * registry.c - the registry as a whole: made empty, or taken over from a former broker, see
 * registry.h
 *
 * To take over, a broker reads every record: holders first, then objects, then holds. It trusts
 * none of them, and drops an impossible record alone. Then it does what would have happened in the
 * meantime: objects that no process holds any more end.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/random.h"
#include "daemon/registry/delivery.h"
#include "daemon/registry/delivery_counts.h"
#include "daemon/registry/expiry.h"
#include "daemon/registry/exit_wait.h"
#include "daemon/registry/hold.h"
#include "daemon/registry/holder.h"
#include "daemon/registry/key_hash.h"
#include "daemon/registry/last_will.h"
#include "daemon/registry/name_loss.h"
#include "daemon/registry/object.h"
#include "wire/name.h"

static const struct table_layout object_layout = {"warpway-objects", WW_LAYOUT_OBJECT_RECORD_BYTES,
	WW_LAYOUT_OBJECT_RECORD_VERSION, 1u << 20, sizeof(struct object)};
static const struct table_layout holder_layout = {"warpway-holders", WW_LAYOUT_HOLDER_RECORD_BYTES,
	WW_LAYOUT_HOLDER_RECORD_VERSION, 1u << 16, sizeof(struct holder)};
static const struct table_layout hold_layout = {"warpway-holds", WW_LAYOUT_HOLD_RECORD_BYTES,
	WW_LAYOUT_HOLD_RECORD_VERSION, 1u << 22, sizeof(struct hold)};

static const struct table_layout name_layout = {"warpway-names", WW_LAYOUT_NAME_RECORD_BYTES,
	WW_LAYOUT_NAME_RECORD_VERSION, 1u << 20, sizeof(struct further_name)};

/* The tables whose descriptors have the first numbers. That of names came later. */
#define FIRST_TABLES (REGISTRY_TABLES - 1)

/* --- an empty registry --- */

static ww_status registry_create_tables(struct registry *registry, uint32_t numbers[FIRST_TABLES])
{
	WW_AUTO_FD int objects = -1;
	WW_AUTO_FD int holders = -1;
	WW_AUTO_FD int holds = -1;

	ww_try(table_create(&object_layout, &objects));
	ww_try(table_create(&holder_layout, &holders));
	ww_try(table_create(&hold_layout, &holds));
	return fdstore_keep(registry->fdstore, (int[]){objects, holders, holds}, FIRST_TABLES,
		numbers);
}

static ww_status registry_open_each_table(struct registry *registry,
	const uint32_t numbers[FIRST_TABLES])
{
	ww_try(table_open(&registry->object_table, (int)numbers[0], &object_layout));
	ww_try(table_open(&registry->holder_table, (int)numbers[1], &holder_layout));
	return table_open(&registry->hold_table, (int)numbers[2], &hold_layout);
}

static void registry_close_tables(struct registry *registry)
{
	table_close(&registry->object_table);
	table_close(&registry->name_table);
	table_close(&registry->holder_table);
	table_close(&registry->hold_table);
}

static ww_status registry_open_tables(struct registry *registry,
	const uint32_t numbers[FIRST_TABLES])
{
	ww_status status = registry_open_each_table(registry, numbers);

	if (status < 0)
		registry_close_tables(registry);
	return status;
}

/*
 * Value 3 of the objects' table is the number of the names' table; 0: it was not made yet. An older
 * broker, which ran in between, has closed it, and may have used the number again.
 */
static ww_status registry_adopt_names(struct registry *registry)
{
	uint32_t number = (uint32_t)*table_value(&registry->object_table, 3);
	ww_status status;

	if (number == 0 || fdstore_adopt(registry->fdstore, number) != WW_OK)
		return WW_OK;
	status = fcntl((int)number, F_GET_SEALS) & F_SEAL_GROW
		? WW_ERR_PROTOCOL /* memory of an object */
		: table_open(&registry->name_table, (int)number, &name_layout);
	if (status == WW_OK || status == WW_ERR_NO_MEMORY)
		return status;
	ww_log_debug("registry: dropped the table of names");
	fdstore_forget(registry->fdstore, number);
	return WW_OK;
}

static ww_status registry_create_names(struct registry *registry)
{
	WW_AUTO_FD int names = -1;
	uint32_t number;

	ww_try(table_create(&name_layout, &names));
	ww_try(fdstore_keep(registry->fdstore, &names, 1, &number));
	ww_try(table_open(&registry->name_table, (int)number, &name_layout));
	*table_value(&registry->object_table, 3) = number;
	return WW_OK;
}

/* Values 1 and 2 of the objects' table are the id of this broker and its successors. */
static ww_status registry_make_id(struct registry *registry)
{
	uint64_t id[2];

	ww_try(ww_random_bytes(id, sizeof(id)));
	*table_value(&registry->object_table, 1) = id[0];
	*table_value(&registry->object_table, 2) = id[1];
	return WW_OK;
}

static bool registry_is_named(const struct registry *registry)
{
	return *table_value(&registry->object_table, 1) || *table_value(&registry->object_table, 2);
}

void registry_id(const struct registry *registry, uint8_t out_id[16])
{
	memcpy(out_id, table_value(&registry->object_table, 1), 8);
	memcpy(out_id + 8, table_value(&registry->object_table, 2), 8);
}

/* --- taking over --- */

static bool text_is_ended(const uint8_t *text, size_t room)
{
	return memchr(text, 0, room) != NULL;
}

/* Makes the item of a record. Return: WW_OK; WW_ERR_PROTOCOL (it is impossible); an error. */
typedef ww_status (*record_adopt)(struct registry *registry, uint32_t index);

/*
 * Adopts the records of a table, and drops those that cannot be adopted. But a record for which
 * there was no memory must not be lost: then the start fails.
 */
static ww_status records_adopt(struct registry *registry, struct table *table, record_adopt adopt)
{
	for (uint32_t index = 0; index < table->capacity; index++) {
		const uint32_t *state = table_record(table, index);
		ww_status status = *state ? adopt(registry, index) : WW_OK;

		if (status == WW_ERR_NO_MEMORY)
			return status;
		if (status == WW_OK)
			continue;
		ww_log_debug("registry: dropped record %" PRIu32 " of %" PRIu32 " bytes", index,
			table->record_bytes);
		table_give(table, index);
	}
	return WW_OK;
}

static bool holder_makes_sense(const struct registry *registry,
	const struct ww_layout_holder_record *record)
{
	return record->state <= HOLDER_AWAITS_EXIT && record->number != 0 &&
		record->number <= *table_value(&registry->holder_table, 0) &&
		text_is_ended(record->program, sizeof(record->program)) &&
		!holder_find_number(registry, record->number) &&
		(record->state == HOLDER_AWAITS_EXIT || !holder_find(registry, record->process_id));
}

static ww_status holder_adopt(struct registry *registry, uint32_t index)
{
	struct ww_layout_holder_record *record = table_record(&registry->holder_table, index);
	struct holder *holder;

	if (!holder_makes_sense(registry, record))
		return WW_ERR_PROTOCOL;
	ww_try(holder_item(registry, index, &holder));
	if (record->pidfd != HOLDER_NO_PIDFD &&
		fdstore_adopt(registry->fdstore, record->pidfd) != WW_OK)
		record->pidfd = HOLDER_NO_PIDFD;
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
		text_is_ended(record->name, sizeof(record->name)) &&
		(!record->name[0] || ww_name_check((const char *)record->name) == WW_OK) &&
		(record->state == WW_WIRE_STATE_REMOVED || !object_find_id(registry, record->id));
}

static void record_forget_fds(struct registry *registry,
	const struct ww_layout_object_record *record, uint8_t count)
{
	for (uint8_t i = 0; i < count; i++)
		fdstore_forget(registry->fdstore, record->fds[i]);
}

/* Adopts all descriptors of an object, or none; of a removed one that of its last will. */
static bool object_adopt_fds(struct registry *registry, struct ww_layout_object_record *record)
{
	if (record->state == WW_WIRE_STATE_REMOVED) {
		last_will_keep_only(record);
		if (record->fd_count > 0 &&
			fdstore_adopt(registry->fdstore, record->fds[0]) != WW_OK)
			record->fd_count = 0;
		return true;
	}
	for (uint8_t i = 0; i < record->fd_count; i++) {
		if (fdstore_adopt(registry->fdstore, record->fds[i]) != WW_OK) {
			record_forget_fds(registry, record, i);
			return false;
		}
	}
	return true;
}

/* Makes the item of an object, charges and links it. */
static ww_status object_adopt_item(struct registry *registry,
	struct ww_layout_object_record *record, uint32_t index)
{
	struct object *object = NULL;
	struct holder *creator;
	ww_status status;

	ww_try(object_item(registry, index, &object));
	status = object_adopt(registry, object);
	if (status < 0) {
		object_forget_account(registry, object);
		object_free_extra(object);
		return status;
	}
	creator = holder_find_number(registry, record->maker);
	if (creator)
		object_belongs(registry, object, creator);
	else
		record->maker = 0;
	return WW_OK;
}

static ww_status object_adopt_record(struct registry *registry, uint32_t index)
{
	struct ww_layout_object_record *record = table_record(&registry->object_table, index);
	ww_status status;

	if (record->created_ns > ww_clock_now_ns()) /* objects that are put from now on are later */
		record->created_ns = ww_clock_now_ns();
	if (record->maker == OBJECT_ENDS)
		record->state = WW_WIRE_STATE_REMOVED;
	if (!object_makes_sense(registry, record) || !object_adopt_fds(registry, record))
		return WW_ERR_PROTOCOL;
	/* The former broker was killed while the object got or lost its name. */
	if (!record->name[0] && !object_is_kept(record)) {
		if (record->life == WW_WIRE_LIFE_KEPT)
			record->life = WW_WIRE_LIFE_HELD;
		record->expires_ns = REGISTRY_NEVER;
	}
	status = object_adopt_item(registry, record, index);
	if (status != WW_OK)
		record_forget_fds(registry, record, record->fd_count);
	return status;
}

/* The object that a hold's record names, if the record is still of that object. */
static struct object *hold_find_object(struct registry *registry,
	const struct ww_layout_hold_record *record)
{
	const struct ww_layout_object_record *object;

	if (record->object >= registry->object_table.capacity)
		return NULL;
	object = table_record(&registry->object_table, record->object);
	if (object->state == 0 || (uint32_t)object->generation != record->generation)
		return NULL;
	return table_item(&registry->object_table, record->object);
}

static ww_status hold_adopt_of(struct registry *registry, uint32_t index, struct object *object)
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
	account_charge_anyway(&registry->accounts, account, &charge);
	object_adopt_payer(registry, object, hold);
	object->writers += hold_is_writer(registry, hold);
	if (!is_escrow)
		return WW_OK;
	account->escrows++;
	if (record->delivery)
		ww_try(delivery_adopt(registry, hold));
	return hold_arm(registry, hold);
}

/*
 * An escrow ends at a point in time, but a delivery does not while its exporter lives; nor does the
 * hold of a process.
 */
static bool hold_makes_sense(const struct registry *registry,
	const struct ww_layout_hold_record *record)
{
	bool is_escrow = record->holder == 0;
	bool is_delivery = record->delivery != 0;

	if (is_delivery &&
		(!is_escrow || record->uses == 0 ||
			record->delivery > *table_value(&registry->hold_table, 0)))
		return false;
	return record->state == 1 && record->access >= WW_WIRE_ACCESS_READ &&
		record->access <= WW_WIRE_ACCESS_WRITE &&
		(is_delivery || is_escrow == (record->expires_ns != REGISTRY_NEVER));
}

static ww_status hold_adopt(struct registry *registry, uint32_t index)
{
	struct ww_layout_hold_record *record = table_record(&registry->hold_table, index);
	struct object *object = hold_makes_sense(registry, record)
		? hold_find_object(registry, record)
		: NULL;

	return object ? hold_adopt_of(registry, index, object) : WW_ERR_PROTOCOL;
}

/* Ends what ended, or was about to end, when the former broker was killed. */
static void registry_settle_objects(struct registry *registry)
{
	struct object *object;

	for (uint32_t at = 0; (object = table_next(&registry->object_table, &at));) {
		const struct ww_layout_object_record *record = object_record(registry, object);
		bool is_held = hold_find_of_creator(registry, object) != NULL;
		uint8_t what = is_held ? 0 : object_without_creator(registry, object);

		if (object->extra->last_will && !object->creator)
			(void)object_retire(registry, object);
		else if (object->extra->last_will &&
			!holder_awaits_exit(registry, object->creator) && !is_held)
			object_unpublish(registry, object); /* its creator was releasing it */
		else if (what)
			object_end(registry, object, what);
		else if (!object->creator && object_ends_with_creator(record))
			object_end(registry, object, WW_WIRE_WHAT_GONE);
		else
			object_settle(registry, object);
	}
}

/* Called when all objects exist that others may be inside of. */
static void registry_place_inside(struct registry *registry)
{
	struct object *object;

	for (uint32_t at = 0; (object = table_next(&registry->object_table, &at));) {
		delivery_counts_enter(registry, object);
		object_linger(registry, object);
	}
}

static ww_status registry_take_over(struct registry *registry)
{
	struct further_name *further;
	struct object *object;
	struct holder *holder;

	ww_try(records_adopt(registry, &registry->holder_table, holder_adopt));
	ww_try(records_adopt(registry, &registry->object_table, object_adopt_record));
	/* Before holds: who pays depends on names. */
	ww_try(records_adopt(registry, &registry->name_table, name_adopt));
	ww_try(records_adopt(registry, &registry->hold_table, hold_adopt));
	ww_try(fdstore_adopted(registry->fdstore));
	if (!registry->name_table.base)
		ww_try(registry_create_names(registry));
	registry_place_inside(registry);
	/* The former broker may have been killed while an object replaced another one. */
	for (uint32_t at = 0; (object = table_next(&registry->object_table, &at));) {
		if (object_record(registry, object)->state != WW_WIRE_STATE_REMOVED)
			object_take_name(registry, name_first(object));
	}
	for (uint32_t at = 0; (further = table_next(&registry->name_table, &at));)
		object_take_name(registry, (struct name){further->object, further});
	/* Continue the ends of processes that the former broker had begun: last wills first. */
	for (uint32_t at = 0; (holder = table_next(&registry->holder_table, &at));) {
		if (!holder_awaits_exit(registry, holder))
			continue;
		holder_await_exit(registry, holder);
		holder_end(registry, holder);
	}
	registry_settle_objects(registry);
	/* The former broker may have been killed before it counted a name that it had taken. */
	for (uint32_t at = 0; (object = table_next(&registry->object_table, &at));)
		name_loss_count_part(registry, object);
	/* All remaining processes may connect again. */
	for (uint32_t at = 0; (holder = table_next(&registry->holder_table, &at));) {
		if (!holder_awaits_exit(registry, holder))
			holder_await(registry, holder);
	}
	holder_end_done(registry);
	return WW_OK;
}

ww_status registry_open(struct registry *registry)
{
	uint32_t numbers[FIRST_TABLES];
	bool is_first = fcntl((int)registry->fdstore->first, F_GETFD) < 0;
	const struct table *objects;
	const struct table *holders;

	ww_list_init(&registry->doomed);
	ww_list_init(&registry->done);
	objects = &registry->object_table;
	holders = &registry->holder_table;
	item_map_init(&registry->by_id, objects, offsetof(struct object, by_id));
	item_map_init(&registry->by_name, objects, offsetof(struct object, by_name));
	item_map_init(&registry->by_further_name, &registry->name_table,
		offsetof(struct further_name, by_name));
	item_map_init(&registry->by_number, holders, offsetof(struct holder, by_number));
	item_map_init(&registry->by_process, holders, offsetof(struct holder, by_process));
	item_map_init(&registry->by_pair, &registry->hold_table, offsetof(struct hold, by_pair));
	size_order_init(&registry->objects_by_size, objects, offsetof(struct object, by_size),
		object_size_key);
	size_order_init(&registry->holders_by_size, holders, offsetof(struct holder, by_size),
		holder_size_key);
	ww_try(key_hash_open());
	if (is_first) {
		ww_try(fdstore_adopted(registry->fdstore)); /* there are no records */
		ww_try(registry_create_tables(registry, numbers));
		ww_try(registry_open_tables(registry, numbers));
		exit_wait_open(registry, holder_look_after);
		ww_try(registry_create_names(registry));
		return registry_make_id(registry);
	}
	for (uint32_t i = 0; i < FIRST_TABLES; i++) {
		numbers[i] = registry->fdstore->first + i;
		ww_try(fdstore_adopt(registry->fdstore, numbers[i]));
	}
	ww_try(registry_open_tables(registry, numbers));
	ww_try(registry_adopt_names(registry));
	exit_wait_open(registry, holder_look_after);
	if (!registry_is_named(registry)) /* the first broker was killed before this step */
		ww_try(registry_make_id(registry));
	return registry_take_over(registry);
}

void registry_reclaim(struct registry *registry)
{
	bool is_freed = false;

	registry->executed_bytes = 0;
	registry->counted_bytes = 0;
	holder_end_done(registry);
	if (registry->object_table.used == 0 && table_free_items(&registry->object_table)) {
		item_map_fini(&registry->by_id);
		item_map_fini(&registry->by_name);
		is_freed = true;
	}
	if (registry->name_table.used == 0 && table_free_items(&registry->name_table)) {
		item_map_fini(&registry->by_further_name);
		is_freed = true;
	}
	if (registry->hold_table.used == 0 && table_free_items(&registry->hold_table)) {
		item_map_fini(&registry->by_pair);
		ww_map_fini(&registry->by_secret);
		ww_map_fini(&registry->by_delivery);
		is_freed = true;
	}
	if (registry->holder_table.used == 0 && table_free_items(&registry->holder_table)) {
		item_map_fini(&registry->by_number);
		item_map_fini(&registry->by_process);
		is_freed = true;
	}
	if (is_freed)
		malloc_trim(0);
}

void registry_close(struct registry *registry)
{
	struct further_name *further;
	struct object *object;
	struct hold *hold;

	for (uint32_t at = 0; (object = table_next(&registry->object_table, &at));) {
		expiry_stop(&object->extra->expiry);
		last_will_close(registry, object);
		object_free_extra(object);
	}
	for (uint32_t at = 0; (further = table_next(&registry->name_table, &at));)
		expiry_stop(&further->expiry);
	for (uint32_t at = 0; (hold = table_next(&registry->hold_table, &at));) {
		if (!hold->is_escrow)
			continue;
		expiry_stop(&hold->expiry);
		free(hold->delivery);
	}
	exit_wait_close(registry);
	accounts_free(&registry->accounts);
	registry_close_tables(registry);
	item_map_fini(&registry->by_id);
	item_map_fini(&registry->by_name);
	item_map_fini(&registry->by_further_name);
	item_map_fini(&registry->by_number);
	item_map_fini(&registry->by_process);
	item_map_fini(&registry->by_pair);
	free(registry->by_secret.buckets);
	free(registry->by_delivery.buckets);
}
