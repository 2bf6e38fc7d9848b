/* SPDX-License-Identifier: Apache-2.0 */
/*
 * object_view.c - objects of a broker as tables and JSON show them
 */
#include "warpway/object_view.h"

#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/say.h"

/* Where this cannot be told, memory of the CPU is still known by its kind. */
static void find_host(uint8_t out_uuid[WW_DEVICE_UUID_BYTES])
{
	OWN(device) ww_device *host = NULL;
	struct ww_device_info info = WW_INIT(struct ww_device_info);

	if (ww_device_open("host", &host) == WW_OK && ww_device_info_get(host, &info) == WW_OK)
		memcpy(out_uuid, info.uuid, sizeof(info.uuid));
}

void view_init(struct view *view)
{
	find_host(view->host_uuid);
}

static void look_up(uint32_t id, bool is_group, char out_text[VIEW_NAME_BYTES])
{
	const struct passwd *user = is_group ? NULL : getpwuid(id);
	const struct group *group = is_group ? getgrgid(id) : NULL;

	if (user || group)
		format_safe(user ? user->pw_name : group->gr_name, out_text, VIEW_NAME_BYTES);
	else
		snprintf(out_text, VIEW_NAME_BYTES, "%u", id);
}

/* A full table begins anew: more users than it has room for are rare. */
static const char *name_of(struct view *view, uint32_t id, bool is_group)
{
	struct view_name *name;

	for (size_t i = 0; i < view->name_count; i++) {
		if (view->names[i].id == id && view->names[i].is_group == is_group)
			return view->names[i].text;
	}
	if (view->name_count == VIEW_NAMES)
		view->name_count = 0;
	name = &view->names[view->name_count++];
	name->id = id;
	name->is_group = is_group;
	if (view->numeric)
		snprintf(name->text, sizeof(name->text), "%u", id);
	else
		look_up(id, is_group, name->text);
	return name->text;
}

const char *view_user(struct view *view, uint32_t uid)
{
	return name_of(view, uid, false);
}

const char *view_group(struct view *view, uint32_t gid)
{
	return name_of(view, gid, true);
}

void view_bytes(const struct view *view, uint64_t bytes, char out_text[NUMBER_BYTES])
{
	if (view->human)
		number_size_text(bytes, out_text);
	else
		snprintf(out_text, NUMBER_BYTES, "%llu", (unsigned long long)bytes);
}

void view_device(const struct view *view, const uint8_t uuid[WW_DEVICE_UUID_BYTES],
	uint32_t memory_kind, char out_text[FORMAT_UUID_BYTES])
{
	static const uint8_t none[WW_DEVICE_UUID_BYTES];

	if (memory_kind == WW_MEMORY_HOST ||
		(memcmp(uuid, none, sizeof(none)) &&
			!memcmp(uuid, view->host_uuid, sizeof(view->host_uuid))))
		snprintf(out_text, FORMAT_UUID_BYTES, "host");
	else if (!memcmp(uuid, none, sizeof(none)))
		snprintf(out_text, FORMAT_UUID_BYTES, "-");
	else
		format_uuid(uuid, out_text);
}

void view_text(const struct view *view, const struct ww_object_info *object,
	struct view_text *out_text)
{
	*out_text = (struct view_text){.array = "  "};
	format_id(object->object_id, out_text->id);
	if (object->name[0])
		format_safe(object->name, out_text->name, sizeof(out_text->name));
	else
		snprintf(out_text->name, sizeof(out_text->name), "(id %.8s)", out_text->id);
	view_bytes(view, object->bytes, out_text->bytes);
	number_size_text(object->bytes, out_text->size);
	view_device(view, object->home_uuid, object->memory_kind, out_text->device);
	format_mode(object->state, object->mode, out_text->mode);
	format_duration(object->age_ns, out_text->age);
	if (object->has_array)
		format_array(&object->array, out_text->array + 2);
	else
		out_text->array[0] = 0;
}

json_t *view_json_ns(uint64_t ns)
{
	return ns > INT64_MAX ? json_null() : json_integer((json_int_t)ns);
}

static json_t *json_of_numbers(const int64_t numbers[], uint32_t count)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < count && i < WW_ARRAY_DIMS; i++)
		json_array_append_new(list, json_integer(numbers[i]));
	return list;
}

static json_t *json_of_array(const struct ww_array *array)
{
	char dtype[FORMAT_DTYPE_BYTES];

	format_dtype(array, dtype);
	return json_pack("{s:s, s:o, s:o, s:I}", "dtype", dtype, "shape",
		json_of_numbers(array->shape, array->ndim), "strides",
		json_of_numbers(array->strides, array->ndim), "offset", (json_int_t)array->offset);
}

/* What is no memory has none. */
static json_t *json_of_memory_kind(const struct ww_object_info *object)
{
	if (object->kind != WW_OBJECT_MEMORY)
		return json_null();
	return json_string(format_memory_kind(object->memory_kind));
}

json_t *view_json_object(struct view *view, const struct ww_object_info *object)
{
	char name[WW_NAME_BYTES];
	char id[FORMAT_ID_BYTES];
	char device[FORMAT_UUID_BYTES];
	char mode[8];
	char user[VIEW_NAME_BYTES];

	format_safe(object->name, name, sizeof(name));
	format_id(object->object_id, id);
	view_device(view, object->home_uuid, object->memory_kind, device);
	snprintf(mode, sizeof(mode), "%04o", object->mode & 07777);
	snprintf(user, sizeof(user), "%s", view_user(view, object->uid));
	return json_pack("{s:s, s:s, s:s, s:o, s:s, s:s, s:s, s:s, s:I, s:I, s:s, s:s, s:s, s:I,"
			 " s:I, s:I, s:I, s:I, s:o, s:o, s:I, s:o, s:b}",
		"name", name, "id", id, "kind", format_kind(object->kind), "memory",
		json_of_memory_kind(object), "device", device, "state", format_state(object->state),
		"life", format_life(object->life), "mode", mode, "uid", (json_int_t)object->uid,
		"gid", (json_int_t)object->gid, "user", user, "group",
		view_group(view, object->gid), "access", format_access(object->access), "pid",
		(json_int_t)object->pid, "holders", (json_int_t)object->holders, "escrows",
		(json_int_t)object->escrows, "bytes", (json_int_t)object->bytes, "fds",
		(json_int_t)object->fd_count, "age_ns", view_json_ns(object->age_ns), "left_ns",
		view_json_ns(object->left_ns), "generation", (json_int_t)object->generation,
		"array", object->has_array ? json_of_array(&object->array) : json_null(), "slice",
		(int)object->is_slice);
}
