/* SPDX-License-Identifier: Apache-2.0 */
/*
 * name.c - finds objects by their names, see name.h
 */
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "daemon/registry/expiry.h"
#include "daemon/registry/key_hash.h"
#include "daemon/registry/name.h"
#include "daemon/registry/object.h"
#include "wire/name.h"

static const struct charge one_name = {.objects = 1};

struct name_fields name_read(const struct registry *registry, struct name name)
{
	const struct ww_layout_object_record *record = object_record(registry, name.object);
	const struct ww_layout_name_record *further;

	if (!name.further)
		return (struct name_fields){(const char *)record->name, record->description,
			record->created_ns, record->generation, record->expires_ns, 0, record->uid,
			record->description_bytes, record->life};
	further = further_record(registry, name.further);
	return (struct name_fields){(const char *)further->name, further->description,
		further->created_ns, further->sequence, further->expires_ns, further->part,
		further->uid, further->description_bytes, further->life};
}

const char *name_text(const struct registry *registry, struct name name)
{
	return name_read(registry, name).text;
}

/* NULL: none. */
static struct further_name *further_at(const struct registry *registry, uint32_t place)
{
	return place ? table_item(&registry->name_table, place - 1) : NULL;
}

struct further_name *further_next(const struct registry *registry, const struct object *object,
	const struct further_name *further)
{
	return further_at(registry, further ? further->older : object->extra->further);
}

uint32_t object_count_further(const struct registry *registry, const struct object *object)
{
	uint32_t count = 0;

	for (struct further_name *at = NULL; (at = further_next(registry, object, at));)
		count++;
	return count;
}

struct name name_any(const struct registry *registry, struct object *object)
{
	const struct ww_layout_object_record *record = object_record(registry, object);
	struct name name = name_first(object);

	if (!record->name[0] && object_may_have_names(record))
		name.further = further_next(registry, object, NULL);
	return name;
}

/* --- by place --- */

uint64_t name_place(struct name name)
{
	return name.further ? PLACE_FURTHER + name.further->index : name.object->index;
}

struct name name_walk(const struct registry *registry, uint64_t *place, uint32_t *records)
{
	while (*records > 0 && *place < PLACE_END) {
		bool is_further = *place >= PLACE_FURTHER;
		const struct table *table = is_further ? &registry->name_table
						       : &registry->object_table;
		uint32_t from = (uint32_t)*place;
		uint32_t at = from;
		void *item = table_next_before(table, &at,
			from < UINT32_MAX - *records ? from + *records : UINT32_MAX);

		*place += at - from;
		*records -= at - from;
		if (item && is_further)
			return (struct name){((struct further_name *)item)->object, item};
		if (item)
			return name_first(item);
		if (at >= table->capacity)
			*place = is_further ? PLACE_END : PLACE_FURTHER;
	}
	return (struct name){NULL, NULL};
}

/* --- by text --- */

/* @object: NULL: the first */
static struct object *next_of_first_names(const struct registry *registry, struct object *object,
	const char *text)
{
	const struct item_map *map = &registry->by_name;

	do {
		object = object ? item_map_next(map, object)
				: item_map_first(map, key_hash_name(text));
	} while (object && strcmp((const char *)object_record(registry, object)->name, text) != 0);
	return object;
}

static struct further_name *next_of_further_names(const struct registry *registry,
	struct further_name *further, const char *text)
{
	const struct item_map *map = &registry->by_further_name;

	do {
		further = further ? item_map_next(map, further)
				  : item_map_first(map, key_hash_name(text));
	} while (further &&
		strcmp((const char *)further_record(registry, further)->name, text) != 0);
	return further;
}

/* The next name of this text; behind no object: the first. */
static struct name name_next(const struct registry *registry, struct name name, const char *text)
{
	struct object *object = name.further ? NULL
					     : next_of_first_names(registry, name.object, text);
	struct further_name *further;

	if (object)
		return name_first(object);
	further = next_of_further_names(registry, name.further, text);
	return (struct name){further ? further->object : NULL, further};
}

static struct name name_first_of(const struct registry *registry, const char *text)
{
	return name_next(registry, (struct name){NULL, NULL}, text);
}

/* The object itself may be older than its name. */
static bool name_is_later(const struct registry *registry, struct name name, struct name other)
{
	struct name_fields a = name_read(registry, name);
	struct name_fields b = name_read(registry, other);

	return a.since_ns != b.since_ns ? a.since_ns > b.since_ns : a.sequence > b.sequence;
}

struct name name_find(const struct registry *registry, const char *text)
{
	struct name found = {NULL, NULL};

	for (struct name name = name_first_of(registry, text); name.object;
		name = name_next(registry, name, text)) {
		if (!object_is_writing(registry, name.object))
			return name;
		if (!found.object || name_is_later(registry, found, name))
			found = name;
	}
	return found;
}

struct name name_find_of(const struct registry *registry, const struct object *object,
	const char *text)
{
	for (struct name name = name_first_of(registry, text); name.object;
		name = name_next(registry, name, text)) {
		if (name.object == object)
			return name;
	}
	return (struct name){NULL, NULL};
}

bool name_is_replacement(const struct registry *registry, struct name name)
{
	const char *text = name_text(registry, name);

	if (!object_is_writing(registry, name.object))
		return false;
	for (struct name other = name_first_of(registry, text); other.object;
		other = name_next(registry, other, text)) {
		if (!object_is_writing(registry, other.object) &&
			name_is_later(registry, name, other))
			return true;
	}
	return false;
}

struct name name_find_replacement(const struct registry *registry, const char *text)
{
	for (struct name name = name_first_of(registry, text); name.object;
		name = name_next(registry, name, text)) {
		if (name_is_replacement(registry, name))
			return name;
	}
	return (struct name){NULL, NULL};
}

struct name name_find_former(const struct registry *registry, struct name name)
{
	const char *text = name_text(registry, name);
	bool is_writing = object_is_writing(registry, name.object);
	struct name former = {NULL, NULL};

	for (struct name other = name_first_of(registry, text); other.object;
		other = name_next(registry, other, text)) {
		if (!name_is_later(registry, name, other))
			continue;
		if (object_is_writing(registry, other.object) || (!is_writing && !former.object))
			former = other;
	}
	return former;
}

void name_pass(struct registry *registry, const char *text)
{
	struct name next = name_find(registry, text);

	if (next.object)
		registry->changed(registry->context, next, WW_WIRE_WHAT_PUT);
}

/* --- further names --- */

/* Makes the item of a filled record, starts its timer, and links and maps it. */
static ww_status further_item(struct registry *registry, uint32_t index, struct object *object,
	struct account *account, expiry_end end)
{
	const struct ww_layout_name_record *record = table_record(&registry->name_table, index);
	struct further_name *further = table_item(&registry->name_table, index);

	ww_try(object_need_extra(object));
	ww_try(item_map_insert(&registry->by_further_name, index,
		key_hash_name((const char *)record->name)));
	if (record->expires_ns != REGISTRY_NEVER &&
		expiry_start(registry->loop, &record->expires_ns, end, registry, further,
			&further->expiry) != WW_OK) {
		item_map_remove(&registry->by_further_name, index);
		return WW_ERR_NO_MEMORY;
	}
	further->index = index;
	further->object = object;
	further->account = account;
	further->older = object->extra->further;
	if (further->older)
		further_at(registry, further->older)->newer = index + 1;
	object->extra->further = index + 1;
	object->extra->held_further += record->life == WW_WIRE_LIFE_HELD;
	return WW_OK;
}

static ww_status further_charge(struct registry *registry, uint32_t index, struct object *object,
	struct account *account, expiry_end end)
{
	ww_status status;

	ww_try(account_charge(&registry->accounts, account, &one_name));
	status = further_item(registry, index, object, account, end);
	if (status < 0)
		account_return(&registry->accounts, account, &one_name);
	return status;
}

ww_status further_make(struct registry *registry, struct object *object, uid_t uid,
	const struct ww_wire_put *put, expiry_end end, struct further_name **out_further)
{
	struct account *account = account_get(&registry->accounts, uid);
	ww_status status;
	uint32_t index;

	if (!account)
		return WW_ERR_NO_MEMORY;
	status = table_take(&registry->name_table, &index);
	if (status == WW_OK) {
		struct ww_layout_name_record *record = table_record(&registry->name_table, index);

		record->object = object->index;
		record->generation = object_record(registry, object)->generation;
		record->sequence = ++*table_value(&registry->object_table, 0);
		record->created_ns = ww_clock_now_ns();
		record->expires_ns = expiry_point(record->created_ns, put->ttl_ns);
		record->uid = uid;
		record->life = put->life;
		record->part = put->part;
		record->description_bytes = put->description_bytes;
		memcpy(record->name, put->name, strlen(put->name));
		memcpy(record->description, put->description, put->description_bytes);
		status = further_charge(registry, index, object, account, end);
		if (status != WW_OK)
			table_give(&registry->name_table, index);
	}
	if (status != WW_OK) {
		account_put(&registry->accounts, account);
		return status;
	}
	table_commit(&registry->name_table, index, 1);
	*out_further = table_item(&registry->name_table, index);
	return WW_OK;
}

/* Of a record that a former broker left. NULL: none that may have this name. */
static struct object *further_find_object(const struct registry *registry,
	const struct ww_layout_name_record *record)
{
	const struct ww_layout_object_record *object;

	if (record->state != 1 || record->object >= registry->object_table.capacity ||
		!memchr(record->name, 0, sizeof(record->name)) ||
		ww_name_check((const char *)record->name) != WW_OK ||
		record->life < WW_WIRE_LIFE_HELD || record->life > WW_WIRE_LIFE_KEPT ||
		record->description_bytes > sizeof(record->description) ||
		record->sequence > *table_value(&registry->object_table, 0))
		return NULL;
	object = table_record(&registry->object_table, record->object);
	if (object->state == 0 || object->generation != record->generation)
		return NULL;
	if (record->part ? !object_may_have_parts(object) || record->life != WW_WIRE_LIFE_OWNER
			 : !object_may_have_names(object) ||
				(object->life == WW_WIRE_LIFE_OWNER) !=
					(record->life == WW_WIRE_LIFE_OWNER))
		return NULL;
	return table_item(&registry->object_table, record->object);
}

ww_status further_adopt(struct registry *registry, uint32_t index, expiry_end end)
{
	struct ww_layout_name_record *record = table_record(&registry->name_table, index);
	struct object *object = further_find_object(registry, record);
	struct account *account;
	ww_status status;

	if (!object)
		return WW_ERR_PROTOCOL;
	account = account_get(&registry->accounts, record->uid);
	if (!account)
		return WW_ERR_NO_MEMORY;
	if (record->created_ns > ww_clock_now_ns()) /* names that are put from now on are later */
		record->created_ns = ww_clock_now_ns();
	status = further_item(registry, index, object, account, end);
	if (status == WW_OK)
		account_charge_anyway(&registry->accounts, account, &one_name);
	else
		account_put(&registry->accounts, account);
	return status;
}

void further_drop(struct registry *registry, struct further_name *further, uint8_t what)
{
	struct name name = {further->object, further};
	bool is_replacement = name_is_replacement(registry, name);
	char text[WW_WIRE_NAME_BYTES];
	struct further_name *newer;
	struct further_name *older;

	registry->changed(registry->context, name, what | REGISTRY_NAME_ONLY);
	memcpy(text, further_record(registry, further)->name, sizeof(text));
	item_map_remove(&registry->by_further_name, further->index);
	newer = further_at(registry, further->newer);
	older = further_at(registry, further->older);
	if (newer)
		newer->older = further->older;
	else
		further->object->extra->further = further->older;
	if (older)
		older->newer = further->newer;
	further->object->extra->held_further -= further_record(registry, further)->life ==
		WW_WIRE_LIFE_HELD;
	expiry_stop(&further->expiry);
	account_return(&registry->accounts, further->account, &one_name);
	account_put(&registry->accounts, further->account);
	table_give(&registry->name_table, further->index);
	if (!is_replacement)
		name_pass(registry, text);
}
