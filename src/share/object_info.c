/* SPDX-License-Identifier: Apache-2.0 */
/*
 * object_info.c - objects as the library's user sees them, see object_info.h
 */
#include "share/object_info.h"

#include <string.h>

#include "base/error.h"
#include "base/params.h"
#include "wire/array_record.h"
#include "wire/name.h"

#define INFO_V1_BYTES sizeof(struct ww_object_info)
#define WITH_ARRAY    (WW_MEMORY_DESCRIPTION_BYTES + WW_ARRAY_RECORD_BYTES)

_Static_assert(WITH_ARRAY <= WW_WIRE_DESCRIPTION_BYTES, "a description has room for an array");

const char *ww_object_kind_name(uint16_t kind)
{
	static const char *const names[] = {
		[WW_OBJECT_MEMORY] = "memory",
		[WW_OBJECT_TIMELINE] = "timeline",
		[WW_OBJECT_EVENT] = "event",
		[WW_OBJECT_BARRIER] = "barrier",
		[WW_OBJECT_CHANNEL] = "channel",
		[WW_OBJECT_SERVICE] = "service",
		[WW_OBJECT_POOL] = "pool",
		[WW_OBJECT_WORK_QUEUE] = "work-queue",
	};

	if (kind >= sizeof(names) / sizeof(names[0]) || !names[kind])
		return "unknown";
	return names[kind];
}

static uint64_t span_bytes(const struct ww_description *memory)
{
	return memory->span_bytes ? memory->span_bytes : memory->bytes;
}

uint16_t ww_object_description_encode(const struct ww_description *memory,
	const struct ww_array *array, uint8_t *out)
{
	struct ww_memory_description description;

	ww_description_encode(memory, &description);
	memcpy(out, description.bytes, sizeof(description.bytes));
	if (!array)
		return WW_MEMORY_DESCRIPTION_BYTES;
	ww_array_record_encode(array, out + WW_MEMORY_DESCRIPTION_BYTES);
	return WITH_ARRAY;
}

ww_status ww_object_description_decode(const uint8_t *bytes, size_t count,
	struct ww_object_description *out_description)
{
	struct ww_memory_description memory;

	memset(out_description, 0, sizeof(*out_description));
	if (count != WW_MEMORY_DESCRIPTION_BYTES && count != WITH_ARRAY)
		return ww_fail(WW_ERR_PROTOCOL,
			"an object's description has %zu bytes, which no memory's has", count);
	memcpy(memory.bytes, bytes, sizeof(memory.bytes));
	ww_try(ww_description_decode(&memory, &out_description->memory));
	if (count == WW_MEMORY_DESCRIPTION_BYTES)
		return WW_OK;
	return ww_array_record_decode(bytes + WW_MEMORY_DESCRIPTION_BYTES,
		span_bytes(&out_description->memory), &out_description->array,
		&out_description->has_array);
}

/*
 * How large the memory is its description says, which was checked; what an object occupies is its
 * maker's word.
 */
static void fill_description(const struct ww_object_description *description,
	struct ww_object_info *info)
{
	info->offset = description->memory.span_offset;
	info->span_bytes = span_bytes(&description->memory);
	info->memory_kind = description->memory.kind;
	info->has_array = description->has_array;
	if (description->has_array)
		info->array = description->array;
}

/* A slice is a memory of its own, though the object is its pool. */
static void describe_slice(struct ww_object_info *info)
{
	info->kind = WW_OBJECT_MEMORY;
	info->is_slice = 1;
	info->bytes = info->span_bytes;
	info->offset = 0;
}

static uint32_t access_of(uint32_t flags)
{
	if (flags & WW_WIRE_ENTRY_FLAG_MAY_WRITE)
		return WW_ACCESS_WRITE;
	return flags & WW_WIRE_ENTRY_FLAG_MAY_READ ? WW_ACCESS_READ : 0;
}

void ww_object_info_of_entry(const struct ww_wire_entry *entry, struct ww_object_info *out_info)
{
	/* A pool has no name of its own; what is inside of one has another. */
	bool is_slice = entry->kind == WW_OBJECT_POOL && entry->name[0] &&
		!ww_name_is_inside(entry->name);
	struct ww_object_description description;
	struct ww_error record;

	memset(out_info, 0, sizeof(*out_info));
	out_info->kind = entry->kind;
	out_info->state = entry->state;
	out_info->life = entry->life;
	out_info->mode = entry->mode;
	out_info->uid = entry->uid;
	out_info->gid = entry->gid;
	out_info->access = access_of(entry->flags);
	out_info->pid = entry->pid;
	out_info->holders = entry->holders;
	out_info->escrows = entry->escrows;
	out_info->fd_count = entry->fd_count;
	out_info->is_own = (entry->flags & WW_WIRE_ENTRY_FLAG_OWN) != 0;
	out_info->bytes = entry->bytes;
	out_info->span_bytes = entry->bytes;
	out_info->age_ns = entry->age_ns;
	out_info->left_ns = entry->left_ns;
	out_info->generation = entry->generation;
	memcpy(out_info->object_id, entry->id, sizeof(out_info->object_id));
	memcpy(out_info->home_uuid, entry->home_uuid, sizeof(out_info->home_uuid));
	memcpy(out_info->name, entry->name, sizeof(out_info->name));
	if (entry->kind != WW_OBJECT_MEMORY && !is_slice)
		return;
	if (is_slice)
		out_info->span_bytes = 0;
	ww_error_save(&record);
	if (entry->description_bytes > 0 &&
		ww_object_description_decode(entry->description, entry->description_bytes,
			&description) == WW_OK)
		fill_description(&description, out_info);
	ww_error_restore(&record);
	if (is_slice)
		describe_slice(out_info);
}

void ww_object_info_of_grant(const struct ww_wire_granted *granted,
	const struct ww_object_description *description, bool is_own,
	struct ww_object_info *out_info)
{
	memset(out_info, 0, sizeof(*out_info));
	out_info->kind = granted->kind;
	out_info->state = granted->state;
	out_info->uid = granted->uid;
	out_info->access = granted->access;
	out_info->is_own = is_own;
	out_info->bytes = description->memory.bytes;
	out_info->generation = granted->generation;
	memcpy(out_info->object_id, granted->id, sizeof(out_info->object_id));
	memcpy(out_info->home_uuid, description->memory.home_uuid, sizeof(out_info->home_uuid));
	memcpy(out_info->name, granted->name, sizeof(out_info->name));
	fill_description(description, out_info);
	if (granted->part)
		describe_slice(out_info);
}

ww_status ww_object_info_check(const struct ww_object_info *info)
{
	return ww_params_check(info, INFO_V1_BYTES, "ww_object_info");
}

ww_status ww_object_info_write(struct ww_object_info *info, const struct ww_object_info *ours)
{
	return ww_params_write(info, ours, sizeof(*ours), INFO_V1_BYTES, "ww_object_info");
}
