/* SPDX-License-Identifier: Apache-2.0 */
/*
 * object.c - objects: how they come, change and go, see registry.h
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/random.h"
#include "broker/expiry.h"
#include "broker/mourning.h"
#include "broker/registry_items.h"
#include "wire/name.h"

/* How long the owner of an object has to come to know a member that has ended. */
#define REMAINS_NS UINT64_C(60000000000)

struct object *object_find(const struct registry *registry, const char *name)
{
	for (struct ww_map_node *node = ww_map_first(&registry->by_name, registry_hash_name(name));
		node; node = ww_map_next(node)) {
		struct object *object = ww_container(node, struct object, by_name);

		if (!strcmp((const char *)object_record(registry, object)->name, name))
			return object;
	}
	return NULL;
}

struct object *object_find_id(const struct registry *registry, const uint8_t id[16])
{
	for (struct ww_map_node *node = ww_map_first(&registry->by_id, registry_hash_id(id)); node;
		node = ww_map_next(node)) {
		struct object *object = ww_container(node, struct object, by_id);

		if (!memcmp(object_record(registry, object)->id, id, WW_WIRE_ID_BYTES) &&
			object_record(registry, object)->state != WW_WIRE_STATE_REMOVED)
			return object;
	}
	return NULL;
}

/* A testament needs its maker's pidfd for as long as itself. */
static uint64_t count_fds(const uint8_t fd_access[WW_WIRE_FDS], size_t fd_count)
{
	return testament_find(fd_access, fd_count) < 0 ? fd_count : fd_count + 1;
}

struct charge object_charge(const struct ww_layout_object_record *record)
{
	if (record->state == WW_WIRE_STATE_REMOVED && record->fd_count == 0)
		return (struct charge){0};
	return (struct charge){
		.bytes = record->bytes,
		.host_bytes = record->host_bytes,
		.objects = 1,
		.fds = count_fds(record->fd_access, record->fd_count),
	};
}

/* Enters an object that its record describes in the maps. */
static ww_status enter(struct registry *registry, struct object *object)
{
	const struct ww_layout_object_record *record = object_record(registry, object);
	const char *name = (const char *)record->name;

	ww_try(ww_map_insert(&registry->by_id, &object->by_id, registry_hash_id(record->id)));
	if (name[0] && record->state != WW_WIRE_STATE_REMOVED &&
		ww_map_insert(&registry->by_name, &object->by_name, registry_hash_name(name)) !=
			WW_OK) {
		ww_map_remove(&registry->by_id, &object->by_id);
		return WW_ERR_NO_MEMORY;
	}
	return WW_OK;
}

/* A removed one is in no map by its name; by its id it stays until it is forgotten. */
static void leave_name(struct registry *registry, struct object *object)
{
	if (object_record(registry, object)->name[0])
		ww_map_remove(&registry->by_name, &object->by_name);
}

ww_status object_item(struct registry *registry, uint32_t index, struct object **out_object)
{
	const struct ww_layout_object_record *record = table_record(&registry->object_table, index);
	struct object *object;

	ww_try(slab_reserve(&registry->objects, index));
	object = slab_item(&registry->objects, index);
	memset(object, 0, sizeof(*object));
	object->index = index;
	ww_list_init(&object->holds);
	ww_list_init(&object->of_maker);
	object->account = account_get(&registry->accounts, record->uid);
	if (!object->account)
		return WW_ERR_NO_MEMORY;
	*out_object = object;
	return WW_OK;
}

void object_belongs(struct registry *registry, struct object *object, struct holder *maker)
{
	object->maker = maker;
	ww_list_append(object->testament ? &maker->pages : &maker->put, &object->of_maker);
	maker->put_count++;
	maker->put_bytes += object_record(registry, object)->bytes;
}

void object_disown(struct registry *registry, struct object *object)
{
	struct ww_layout_object_record *record = object_record(registry, object);
	struct holder *maker = ww_steal(object->maker);

	if (!maker)
		return;
	maker->put_count--;
	maker->put_bytes -= record->bytes;
	ww_list_remove(&object->of_maker);
	record->maker = 0;
}

ww_status object_arm(struct registry *registry, struct object *object)
{
	uint64_t expires_ns = object_record(registry, object)->expires_ns;

	if (expires_ns == REGISTRY_NEVER)
		return WW_OK;
	return expiry_start(registry, object, NULL, expires_ns, &object->expiry);
}

ww_status object_adopt(struct registry *registry, struct object *object)
{
	const struct ww_layout_object_record *record = object_record(registry, object);
	struct charge charge = object_charge(record);
	ww_status status;

	if (record->state != WW_WIRE_STATE_REMOVED)
		ww_try(object_arm(registry, object));
	status = account_charge_anyway(&registry->accounts, object->account, &charge);
	if (status == WW_OK) {
		status = enter(registry, object);
		if (status < 0)
			account_return(&registry->accounts, object->account, &charge);
	}
	if (status < 0) {
		expiry_stop(&object->expiry);
		return status;
	}
	if (record->state != WW_WIRE_STATE_REMOVED)
		registry->bytes += record->bytes;
	return WW_OK;
}

static void fill_names(struct ww_layout_object_record *record, const struct ww_wire_put *put)
{
	memcpy(record->id, put->id, sizeof(record->id));
	memcpy(record->home_uuid, put->home_uuid, sizeof(record->home_uuid));
	memcpy(record->fd_access, put->fd_access, sizeof(record->fd_access));
	memcpy(record->name, put->name, strlen(put->name));
	memcpy(record->description, put->description, put->description_bytes);
	record->description_bytes = put->description_bytes;
}

static uint64_t end_of(uint64_t now_ns, uint64_t left_ns)
{
	uint64_t end_ns;

	if (left_ns == 0 || __builtin_add_overflow(now_ns, left_ns, &end_ns))
		return REGISTRY_NEVER;
	return end_ns;
}

static ww_status fill(struct registry *registry, struct ww_layout_object_record *record,
	const struct holder *maker, const struct ww_wire_put *put)
{
	const struct ww_layout_holder_record *process = holder_record(registry, maker);

	record->kind = put->kind;
	record->life = put->life;
	record->mode = (uint16_t)put->mode;
	record->uid = process->uid;
	record->maker_pid = process->pid;
	record->bytes = put->bytes;
	record->created_ns = ww_clock_now_ns();
	record->expires_ns = end_of(record->created_ns, put->ttl_ns);
	record->maker = process->number;
	record->generation = ++*table_value(&registry->object_table, 0);
	fill_names(record, put);
	ww_try(ww_random_bytes(record->read_secret, sizeof(record->read_secret)));
	return ww_random_bytes(record->write_secret, sizeof(record->write_secret));
}

/* Everything of an object but its place in the maps: a record that is taken, and filled in part. */
static void undo(struct registry *registry, struct object *object, uint32_t index)
{
	const struct ww_layout_object_record *record = table_record(&registry->object_table, index);

	if (record->fd_count > 0)
		vault_drop(registry->vault, record->fds, record->fd_count);
	if (object) {
		object_disown(registry, object);
		testament_close(registry, object);
		account_put(&registry->accounts, object->account);
	}
	table_give(&registry->object_table, index);
}

static ww_status keep_fds(struct registry *registry, struct ww_layout_object_record *record,
	const int *fds, size_t fd_count)
{
	if (fd_count == 0)
		return WW_OK;
	ww_try(vault_keep(registry->vault, fds, fd_count, record->fds));
	record->fd_count = (uint8_t)fd_count;
	return WW_OK;
}

/* The last steps: the maker's hold, the maps, and then it counts. */
static ww_status publish(struct registry *registry, struct object *object, uint32_t state)
{
	ww_status status;

	ww_try(enter(registry, object));
	status = hold_take(registry, object->maker, object, WW_WIRE_ACCESS_WRITE);
	if (status == WW_OK) {
		status = object_arm(registry, object);
		if (status < 0) /* not by hold_drop(): the object is none yet */
			hold_unlink(registry,
				ww_container(object->holds.next, struct hold, of_object));
	}
	if (status < 0) {
		leave_name(registry, object);
		ww_map_remove(&registry->by_id, &object->by_id);
		return status;
	}
	table_commit(&registry->object_table, object->index, state);
	return WW_OK;
}

static ww_status build(struct registry *registry, uint32_t index, struct holder *maker,
	const struct ww_wire_put *put, const int *fds, size_t fd_count, struct object **out_object)
{
	struct ww_layout_object_record *record = table_record(&registry->object_table, index);

	ww_try(fill(registry, record, maker, put));
	ww_try(object_item(registry, index, out_object));
	ww_try(keep_fds(registry, record, fds, fd_count));
	ww_try(testament_open(registry, *out_object));
	object_belongs(registry, *out_object, maker);
	return publish(registry, *out_object, put->state);
}

ww_status object_put(struct registry *registry, struct holder *maker, const struct ww_wire_put *put,
	const int *fds, size_t fd_count, uint64_t host_bytes, gid_t gid, struct object **out_object)
{
	struct ww_layout_object_record *record;
	struct object *object = NULL;
	struct charge charge;
	ww_status status;
	uint32_t index;

	*out_object = NULL;
	ww_try(table_take(&registry->object_table, &index));
	record = table_record(&registry->object_table, index);
	record->gid = gid;
	record->host_bytes = host_bytes;
	charge = (struct charge){.bytes = put->bytes,
		.host_bytes = host_bytes,
		.objects = 1,
		.fds = count_fds(put->fd_access, fd_count)};
	status = account_charge(&registry->accounts, maker->account, &charge);
	if (status == WW_OK) {
		status = build(registry, index, maker, put, fds, fd_count, &object);
		if (status < 0)
			account_return(&registry->accounts, maker->account, &charge);
	}
	if (status < 0) {
		undo(registry, object, index);
		return status;
	}
	registry->bytes += put->bytes;
	*out_object = object;
	registry->changed(registry->context, object, WW_WIRE_WHAT_PUT);
	if (put->state != WW_WIRE_STATE_WRITING)
		registry->changed(registry->context, object, WW_WIRE_WHAT_READY);
	return WW_OK;
}

ww_status object_set_end(struct registry *registry, struct object *object, uint64_t ttl_ns)
{
	struct ww_layout_object_record *record = object_record(registry, object);
	ww_status status;

	expiry_stop(&object->expiry);
	record->expires_ns = end_of(ww_clock_now_ns(), ttl_ns);
	status = object_arm(registry, object);
	if (status < 0)
		record->expires_ns = REGISTRY_NEVER;
	return status;
}

ww_status object_name(struct registry *registry, struct object *object,
	const struct ww_wire_put *put, gid_t gid)
{
	struct ww_layout_object_record *record = object_record(registry, object);
	const char *name = put->name;

	ww_try(ww_map_insert(&registry->by_name, &object->by_name, registry_hash_name(name)));
	record->life = put->life;
	record->mode = (uint16_t)put->mode;
	record->gid = gid;
	record->description_bytes = put->description_bytes;
	memcpy(record->description, put->description, put->description_bytes);
	table_commit(&registry->object_table, object->index, put->state);
	/* The first byte last: until then there is no name. */
	memcpy(record->name + 1, name + 1, strlen(name));
	__atomic_store_n(&record->name[0], (uint8_t)name[0], __ATOMIC_RELEASE);
	registry->changed(registry->context, object, WW_WIRE_WHAT_PUT);
	if (put->state != WW_WIRE_STATE_WRITING)
		registry->changed(registry->context, object, WW_WIRE_WHAT_READY);
	return WW_OK;
}

void object_seal(struct registry *registry, struct object *object, uint32_t state)
{
	table_commit(&registry->object_table, object->index, state);
	registry->changed(registry->context, object, WW_WIRE_WHAT_READY);
}

/* Gives back what a removed object has kept. */
static void drop_testament(struct registry *registry, struct object *object)
{
	struct ww_layout_object_record *record = object_record(registry, object);
	struct charge charge = object_charge(record);

	testament_close(registry, object);
	record->fd_count = 0;
	vault_drop(registry->vault, record->fds, 1);
	account_return(&registry->accounts, object->account, &charge);
}

/* Forgets an object that is removed and held by nobody. */
static void forget(struct registry *registry, struct object *object)
{
	if (object->testament)
		drop_testament(registry, object);
	object_disown(registry, object);
	ww_map_remove(&registry->by_id, &object->by_id);
	account_put(&registry->accounts, object->account);
	table_give(&registry->object_table, object->index);
}

bool object_ends_with_maker(const struct ww_layout_object_record *record)
{
	if (record->state == WW_WIRE_STATE_REMOVED)
		return false;
	return record->life == WW_WIRE_LIFE_OWNER ||
		(record->life == WW_WIRE_LIFE_KEPT && !record->name[0]);
}

uint8_t object_without_maker(const struct ww_layout_object_record *record)
{
	if (record->state == WW_WIRE_STATE_WRITING)
		return WW_WIRE_WHAT_LOST;
	if (record->state != WW_WIRE_STATE_REMOVED && record->life == WW_WIRE_LIFE_OWNER &&
		(record->fd_count == 0 || !record->name[0]))
		return WW_WIRE_WHAT_GONE;
	return 0;
}

void object_settle(struct registry *registry, struct object *object)
{
	const struct ww_layout_object_record *record = object_record(registry, object);

	if (object->holders > 0 || object->escrows > 0)
		return;
	if (object->testament && (!object->maker || holder_is_mourned(registry, object->maker)))
		return;
	if (record->state == WW_WIRE_STATE_REMOVED)
		forget(registry, object);
	else if (record->life == WW_WIRE_LIFE_HELD)
		object_end(registry, object, WW_WIRE_WHAT_GONE);
}

static void drop_escrows(struct registry *registry, struct object *object)
{
	struct ww_list *link = object->holds.next;

	while (link != &object->holds) {
		struct hold *hold = ww_container(link, struct hold, of_object);

		link = link->next;
		if (!hold->holder)
			hold_unlink(registry, hold);
	}
}

/* Closes its descriptors; if it has a testament, the others. */
static void drop_fds(struct registry *registry, const struct object *object)
{
	struct ww_layout_object_record *record = object_record(registry, object);
	int kept = object->testament ? testament_find(record->fd_access, record->fd_count) : -1;
	uint32_t numbers[WW_WIRE_FDS];
	size_t count = 0;

	for (int i = 0; i < record->fd_count; i++) {
		if (i != kept)
			numbers[count++] = record->fds[i];
	}
	if (count > 0)
		vault_drop(registry->vault, numbers, count);
	if (object->testament)
		testament_keep_only(record);
	else
		record->fd_count = 0;
}

void object_end_lost_remains(struct registry *registry)
{
	struct ww_list *link = registry->remains.next;

	while (link != &registry->remains) {
		struct object *object = ww_container(link, struct object, of_maker);
		uint8_t outer[WW_WIRE_ID_BYTES];

		link = link->next;
		ww_name_outer((const char *)object_record(registry, object)->name, outer);
		if (!object_find_id(registry, outer))
			object_end(registry, object, WW_WIRE_WHAT_GONE);
	}
}

void object_end(struct registry *registry, struct object *object, uint8_t what)
{
	struct ww_layout_object_record *record = object_record(registry, object);
	struct charge charge = object_charge(record);
	bool has_page = testament_find(record->fd_access, record->fd_count) >= 0;
	struct charge left;

	registry->changed(registry->context, object, what);
	leave_name(registry, object);
	table_commit(&registry->object_table, object->index, WW_WIRE_STATE_REMOVED);
	drop_fds(registry, object);
	expiry_stop(&object->expiry);
	if (!object->maker)
		ww_list_remove(&object->of_maker);
	left = object_charge(record);
	account_return(&registry->accounts, object->account, &charge);
	(void)account_charge_anyway(&registry->accounts, object->account, &left); /* it was more */
	registry->bytes -= record->bytes;
	if (has_page)
		object_end_lost_remains(registry);
	drop_escrows(registry, object);
	object_settle(registry, object);
}

/* The object that this one is inside of, if that has a page on which this one was counted as a member; or NULL. */
static struct object *find_outer(const struct registry *registry, const struct object *object)
{
	const struct ww_layout_object_record *record = object_record(registry, object);
	const char *name = (const char *)record->name;
	struct object *outer;
	uint8_t id[WW_WIRE_ID_BYTES];

	if (record->state == WW_WIRE_STATE_REMOVED || !ww_name_is_inside(name))
		return NULL;
	ww_name_outer(name, id);
	outer = object_find_id(registry, id);
	return outer && outer->testament ? outer : NULL;
}

/* Whether the owner of the outer object has still to learn what a member did. */
static bool is_unknown(const struct registry *registry, const struct object *object)
{
	const struct object *outer = find_outer(registry, object);

	return outer && outer->maker && !hold_find(registry, outer->maker, object);
}

bool object_is_member(const struct registry *registry, const struct object *object)
{
	return object->testament && object->maker && find_outer(registry, object);
}

void object_mourn(struct registry *registry, struct object *object)
{
	mourning_join(registry, object->testament);
	if (object_record(registry, object)->state == WW_WIRE_STATE_REMOVED)
		return;
	if (object->maker && find_outer(registry, object))
		testament_share(registry, object); /* whoever looks for members still finds it */
	else
		object_end(registry, object, WW_WIRE_WHAT_GONE);
}

void object_resign(struct registry *registry, struct object *object)
{
	object_disown(registry, object);
	if (object_record(registry, object)->state == WW_WIRE_STATE_REMOVED) {
		drop_testament(registry, object);
		object_settle(registry, object);
	} else {
		testament_close(registry, object);
		object_end(registry, object, WW_WIRE_WHAT_GONE);
	}
}

void object_remains(struct registry *registry, struct object *object)
{
	const struct ww_layout_object_record *record = object_record(registry, object);

	if (!object->maker && record->state != WW_WIRE_STATE_REMOVED &&
		ww_name_is_inside((const char *)record->name) && testament_is_closed(record))
		ww_list_append(&registry->remains, &object->of_maker);
}

/*
 * Its testament is executed and closed, all else of it stays for a time. The steps are in an order in which the next
 * broker can bury it once more, until it is through.
 * @has_ended:  false: it may still use what it marks, so it stays as long as the outer object
 * Return: false: there is no memory to have an end in time.
 */
static bool remain(struct registry *registry, struct object *object, bool has_ended)
{
	struct ww_layout_object_record *record = object_record(registry, object);
	struct charge charge = object_charge(record);
	struct charge left;

	if (object_set_end(registry, object, has_ended ? REMAINS_NS : 0) != WW_OK)
		return false;
	record->life = WW_WIRE_LIFE_KEPT;
	testament_close(registry, object);
	testament_close_record(record);
	object_disown(registry, object);
	object_remains(registry, object);
	left = object_charge(record);
	account_return(&registry->accounts, object->account, &charge);
	(void)account_charge_anyway(&registry->accounts, object->account, &left); /* it was more */
	return true;
}

bool object_bury(struct registry *registry, struct object *object)
{
	bool has_ended = object->maker && holder_is_over(registry, object->maker);

	if (!testament_execute_last(registry, object, has_ended)) {
		object_mourn(registry, object);
		return false;
	}
	if (!object->maker || !is_unknown(registry, object) || !remain(registry, object, has_ended))
		object_resign(registry, object);
	return true;
}
