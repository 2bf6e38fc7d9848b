/* SPDX-License-Identifier: Apache-2.0 */
/*
 * object.c - finds objects by id, links and maps them; see object.h
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "daemon/registry/object.h"
#include "daemon/registry/holder.h"
#include "daemon/registry/key_hash.h"
#include "daemon/registry/last_will.h"
#include "wire/name.h"

struct object_extra object_no_extra;

bool object_is_writing(const struct registry *registry, const struct object *object)
{
	return object_record(registry, object)->state == WW_WIRE_STATE_WRITING;
}

struct object *object_find_id(const struct registry *registry, const uint8_t id[16])
{
	item_map_for_each (item, &registry->by_id, key_hash_id(id)) {
		struct object *object = item;

		if (!memcmp(object_record(registry, object)->id, id, WW_WIRE_ID_BYTES) &&
			object_record(registry, object)->state != WW_WIRE_STATE_REMOVED)
			return object;
	}
	return NULL;
}

uint32_t object_count_id(const struct registry *registry, const uint8_t id[16])
{
	uint32_t count = 0;

	item_map_for_each (item, &registry->by_id, key_hash_id(id)) {
		struct object *object = item;

		count += !memcmp(object_record(registry, object)->id, id, WW_WIRE_ID_BYTES);
	}
	return count;
}

uint64_t object_count_fds(const uint8_t fd_access[WW_WIRE_FDS], size_t fd_count)
{
	return last_will_find(fd_access, fd_count) < 0 ? fd_count : fd_count + 1;
}

struct charge object_charge(const struct ww_layout_object_record *record)
{
	if (record->state == WW_WIRE_STATE_REMOVED && record->fd_count == 0)
		return (struct charge){0};
	return (struct charge){
		.bytes = record->bytes,
		.host_bytes = record->host_bytes,
		.objects = 1,
		.fds = object_count_fds(record->fd_access, record->fd_count),
	};
}

void object_charge_again(struct registry *registry, const struct object *object,
	const struct charge *before)
{
	struct charge now = object_charge(object_record(registry, object));

	account_return(&registry->accounts, object_account(object), before);
	account_charge_anyway(&registry->accounts, object_account(object), &now);
}

struct size_key object_size_key(const struct table *table, uint32_t index)
{
	const struct ww_layout_object_record *record = table_record(table, index);

	return (struct size_key){record->bytes, record->generation};
}

ww_status object_map(struct registry *registry, struct object *object)
{
	const struct ww_layout_object_record *record = object_record(registry, object);
	const char *name = (const char *)record->name;

	ww_try(item_map_insert(&registry->by_id, object->index, key_hash_id(record->id)));
	if (name[0] && record->state != WW_WIRE_STATE_REMOVED &&
		item_map_insert(&registry->by_name, object->index, key_hash_name(name)) != WW_OK) {
		item_map_remove(&registry->by_id, object->index);
		return WW_ERR_NO_MEMORY;
	}
	size_order_add(&registry->objects_by_size, object->index);
	return WW_OK;
}

void object_unmap_id(struct registry *registry, struct object *object)
{
	item_map_remove(&registry->by_id, object->index);
	size_order_remove(&registry->objects_by_size, object->index);
}

void object_unmap_name(struct registry *registry, struct object *object)
{
	if (object_record(registry, object)->name[0])
		item_map_remove(&registry->by_name, object->index);
}

ww_status object_item(struct registry *registry, uint32_t index, struct object **out_object)
{
	const struct ww_layout_object_record *record = table_record(&registry->object_table, index);
	struct object *object = table_item(&registry->object_table, index);
	struct account *account;

	object->index = index;
	object->extra = &object_no_extra;
	ww_list_init(&object->of_creator);
	account = account_get(&registry->accounts, record->uid);
	if (!account)
		return WW_ERR_NO_MEMORY;
	object->total = device_total_get(account, record->home_uuid);
	if (!object->total) {
		account_put(&registry->accounts, account);
		return WW_ERR_NO_MEMORY;
	}
	*out_object = object;
	return WW_OK;
}

void object_forget_account(struct registry *registry, struct object *object)
{
	struct account *account = object_account(object);

	device_total_put(object->total);
	account_put(&registry->accounts, account);
}

ww_status object_need_extra(struct object *object)
{
	struct object_extra *extra;

	if (object->extra != &object_no_extra)
		return WW_OK;
	extra = calloc(1, sizeof(*extra));
	if (!extra)
		return ww_fail(WW_ERR_NO_MEMORY, "the broker is out of memory");
	object->extra = extra;
	return WW_OK;
}

void object_free_extra(struct object *object)
{
	struct object_extra *extra = object->extra;

	if (extra == &object_no_extra)
		return;
	object->extra = &object_no_extra;
	if (extra->nesting)
		free(extra->nesting->kept_for);
	free(extra->nesting);
	free(extra->escrow_lists);
	free(extra);
}

struct nesting *object_nesting(struct object *object)
{
	struct nesting *nesting = object->extra->nesting;

	if (nesting)
		return nesting;
	if (object_need_extra(object) < 0)
		return NULL;
	nesting = calloc(1, sizeof(*nesting));
	if (!nesting)
		return NULL;
	ww_list_init(&nesting->lingering);
	ww_list_init(&nesting->counting);
	ww_list_init(&nesting->of_counting);
	nesting->object = object;
	object->extra->nesting = nesting;
	return nesting;
}

void object_belongs(struct registry *registry, struct object *object, struct holder *creator)
{
	object->creator = creator;
	ww_list_append(object->extra->last_will ? &creator->signal_pages : &creator->put,
		&object->of_creator);
	creator->put_count++;
	creator->put_bytes += object_record(registry, object)->bytes;
}

void object_disown(struct registry *registry, struct object *object)
{
	struct ww_layout_object_record *record = object_record(registry, object);
	struct holder *creator = ww_steal(object->creator);

	if (!creator)
		return;
	creator->put_count--;
	creator->put_bytes -= record->bytes;
	ww_list_remove(&object->of_creator);
	record->maker = 0;
	holder_check_done(registry, creator);
}

uint8_t object_without_creator(const struct registry *registry, const struct object *object)
{
	const struct ww_layout_object_record *record = object_record(registry, object);

	if (record->state == WW_WIRE_STATE_WRITING)
		return WW_WIRE_WHAT_LOST;
	if (record->state != WW_WIRE_STATE_REMOVED && record->life == WW_WIRE_LIFE_OWNER &&
		(record->fd_count == 0 || !object_is_named(registry, object)))
		return WW_WIRE_WHAT_GONE;
	return 0;
}

struct object *object_find_outer(const struct registry *registry, const struct object *object)
{
	const struct ww_layout_object_record *record = object_record(registry, object);
	const char *name = (const char *)record->name;
	uint8_t id[WW_WIRE_ID_BYTES];

	if (record->state == WW_WIRE_STATE_REMOVED || !ww_name_is_inside(name))
		return NULL;
	ww_name_outer(name, id);
	return object_find_id(registry, id);
}

struct object *object_find_counting(const struct registry *registry, const struct object *object)
{
	struct object *outer = object_find_outer(registry, object);

	return outer && outer->extra->last_will ? outer : NULL;
}

bool object_is_member(const struct registry *registry, const struct object *object)
{
	return object->extra->last_will && object->creator &&
		object_find_counting(registry, object);
}
