/* SPDX-License-Identifier: Apache-2.0 */
/*
 * object_ref.c - descriptions of objects that are not memory, see object_ref.h
 *
 * All begin alike: magic, version, length, checksum. There is one way only to write one, so reading
 * compares with what writing the same fields would give: reserved fields cannot carry anything.
 */
#include "wire/object_ref.h"

#include <inttypes.h>
#include <string.h>

#include <warpway/memory.h>

#include "base/checksum.h"
#include "base/error.h"
#include "wire/signal_page.h"

#define VERSION         1
#define CHECKSUM_AT     12
#define PAGE_UNIT       4096
#define BARRIER_MEMBERS 1024
#define SLOTS_MOST      (UINT32_C(1) << 20)
#define SHARED_MOST     (UINT64_C(64) << 20) /* a table of that many, and more */

/* Of bytes whose checksum field is zero; puts it there. */
static void seal(uint8_t *bytes, size_t count)
{
	uint32_t sum;

	memset(bytes + CHECKSUM_AT, 0, sizeof(sum));
	sum = ww_checksum(0, bytes, count);
	for (size_t i = 0; i < sizeof(sum); i++)
		bytes[CHECKSUM_AT + i] = (uint8_t)(sum >> (8 * i));
}

static ww_status check_envelope(const char *what, const uint8_t *bytes, size_t count,
	size_t expected, const char *magic)
{
	uint8_t copy[WW_EVENT_REF_BYTES];
	unsigned int version;

	if (count != expected || memcmp(bytes, magic, 8) != 0)
		return ww_fail(WW_ERR_PROTOCOL, "the object's description is that of no %s", what);
	version = bytes[8] | (unsigned int)bytes[9] << 8;
	if (version != VERSION)
		return ww_fail(WW_ERR_VERSION,
			"the %s's description has version %u, this library (%s) reads version %d; use one "
			"version of Warpway in both processes",
			what, version, WW_VERSION, VERSION);
	memcpy(copy, bytes, count);
	seal(copy, count);
	if (memcmp(copy, bytes, count) != 0)
		return ww_fail(WW_ERR_PROTOCOL,
			"the %s's description is damaged: its checksum is wrong", what);
	return WW_OK;
}

static ww_status check_form(const char *what, const uint8_t *bytes, const uint8_t *again,
	size_t count)
{
	if (memcmp(bytes, again, count) != 0)
		return ww_fail(WW_ERR_PROTOCOL,
			"the %s's description has a field that version %d does not know", what,
			VERSION);
	return WW_OK;
}

static ww_status check_page(const char *what, uint64_t page_bytes)
{
	if (page_bytes < PAGE_UNIT || page_bytes > WW_SIGNAL_PAGE_MOST ||
		page_bytes % PAGE_UNIT != 0)
		return ww_fail(WW_ERR_PROTOCOL,
			"the %s's page is said to have %" PRIu64 " bytes, which none has", what,
			page_bytes);
	return WW_OK;
}

void ww_timeline_ref_write(const struct ww_wire_timeline_ref *ref,
	uint8_t out[WW_TIMELINE_REF_BYTES])
{
	struct ww_wire_timeline_ref full = {
		.version = VERSION,
		.length = WW_TIMELINE_REF_BYTES,
		.page_bytes = ref->page_bytes,
		.cell_offset = ref->cell_offset,
	};

	memcpy(full.magic, WW_WIRE_TIMELINE_REF_MAGIC, sizeof(full.magic));
	memcpy(full.page_id, ref->page_id, sizeof(full.page_id));
	ww_wire_encode_timeline_ref(&full, out);
	seal(out, WW_TIMELINE_REF_BYTES);
}

ww_status ww_timeline_ref_read(const uint8_t *bytes, size_t count,
	struct ww_wire_timeline_ref *out_ref)
{
	uint8_t again[WW_TIMELINE_REF_BYTES];

	ww_try(check_envelope("timeline", bytes, count, WW_TIMELINE_REF_BYTES,
		WW_WIRE_TIMELINE_REF_MAGIC));
	ww_wire_decode_timeline_ref(bytes, out_ref);
	ww_timeline_ref_write(out_ref, again);
	ww_try(check_form("timeline", bytes, again, sizeof(again)));
	return check_page("timeline", out_ref->page_bytes);
}

void ww_barrier_ref_write(const struct ww_wire_barrier_ref *ref, uint8_t out[WW_BARRIER_REF_BYTES])
{
	struct ww_wire_barrier_ref full = {
		.version = VERSION,
		.length = WW_BARRIER_REF_BYTES,
		.count = ref->count,
	};

	memcpy(full.magic, WW_WIRE_BARRIER_REF_MAGIC, sizeof(full.magic));
	memcpy(full.barrier_id, ref->barrier_id, sizeof(full.barrier_id));
	ww_wire_encode_barrier_ref(&full, out);
	seal(out, WW_BARRIER_REF_BYTES);
}

ww_status ww_barrier_ref_read(const uint8_t *bytes, size_t count,
	struct ww_wire_barrier_ref *out_ref)
{
	uint8_t again[WW_BARRIER_REF_BYTES];

	ww_try(check_envelope("barrier", bytes, count, WW_BARRIER_REF_BYTES,
		WW_WIRE_BARRIER_REF_MAGIC));
	ww_wire_decode_barrier_ref(bytes, out_ref);
	ww_barrier_ref_write(out_ref, again);
	ww_try(check_form("barrier", bytes, again, sizeof(again)));
	if (out_ref->count == 0 || out_ref->count > BARRIER_MEMBERS)
		return ww_fail(WW_ERR_PROTOCOL,
			"the barrier is said to have %" PRIu32 " members; it has 1 to %d",
			out_ref->count, BARRIER_MEMBERS);
	return WW_OK;
}

void ww_event_ref_write(const struct ww_wire_event_ref *ref, uint8_t out[WW_EVENT_REF_BYTES])
{
	struct ww_wire_event_ref full = *ref;

	memcpy(full.magic, WW_WIRE_EVENT_REF_MAGIC, sizeof(full.magic));
	full.version = VERSION;
	full.length = WW_EVENT_REF_BYTES;
	full.reserved = 0;
	full.reserved_1 = 0;
	ww_wire_encode_event_ref(&full, out);
	seal(out, WW_EVENT_REF_BYTES);
}

ww_status ww_event_ref_read(const uint8_t *bytes, size_t count, struct ww_wire_event_ref *out_ref)
{
	uint8_t again[WW_EVENT_REF_BYTES];

	ww_try(check_envelope("event", bytes, count, WW_EVENT_REF_BYTES, WW_WIRE_EVENT_REF_MAGIC));
	ww_wire_decode_event_ref(bytes, out_ref);
	ww_event_ref_write(out_ref, again);
	return check_form("event", bytes, again, sizeof(again));
}

/* --- pools --- */

/* @bytes: of what has @slot_bytes for each slot, behind a header. */
static ww_status check_slots(const char *what, uint32_t slot_count, uint64_t bytes,
	uint64_t header_bytes, uint64_t slot_bytes)
{
	if (slot_count == 0 || slot_count > SLOTS_MOST || (slot_count & (slot_count - 1)) != 0)
		return ww_fail(WW_ERR_PROTOCOL,
			"the %s is said to have %" PRIu32 " slots; a power of two up to %" PRIu32
			" can be",
			what, slot_count, SLOTS_MOST);
	if (bytes < header_bytes + slot_bytes * slot_count || bytes > SHARED_MOST ||
		bytes % PAGE_UNIT != 0)
		return ww_fail(WW_ERR_PROTOCOL,
			"the %s is said to have %" PRIu32 " slots in %" PRIu64
			" bytes, which cannot be",
			what, slot_count, bytes);
	return WW_OK;
}

void ww_pool_ref_write(const struct ww_wire_pool_ref *ref, uint8_t out[WW_POOL_REF_BYTES])
{
	struct ww_wire_pool_ref full = {
		.version = VERSION,
		.length = WW_POOL_REF_BYTES,
		.page_bytes = ref->page_bytes,
		.table_bytes = ref->table_bytes,
		.slot_count = ref->slot_count,
		.kind = ref->kind,
	};

	memcpy(full.magic, WW_WIRE_POOL_REF_MAGIC, sizeof(full.magic));
	memcpy(full.pool_id, ref->pool_id, sizeof(full.pool_id));
	memcpy(full.page_id, ref->page_id, sizeof(full.page_id));
	memcpy(full.home_uuid, ref->home_uuid, sizeof(full.home_uuid));
	ww_wire_encode_pool_ref(&full, out);
	seal(out, WW_POOL_REF_BYTES);
}

ww_status ww_pool_ref_read(const uint8_t *bytes, size_t count, struct ww_wire_pool_ref *out_ref)
{
	uint8_t again[WW_POOL_REF_BYTES];

	ww_try(check_envelope("pool", bytes, count, WW_POOL_REF_BYTES, WW_WIRE_POOL_REF_MAGIC));
	ww_wire_decode_pool_ref(bytes, out_ref);
	ww_pool_ref_write(out_ref, again);
	ww_try(check_form("pool", bytes, again, sizeof(again)));
	ww_try(check_page("pool", out_ref->page_bytes));
	ww_try(check_slots("pool", out_ref->slot_count, out_ref->table_bytes,
		sizeof(struct ww_layout_pool_table), sizeof(struct ww_layout_pool_slot)));
	if (out_ref->kind != WW_MEMORY_VMM && out_ref->kind != WW_MEMORY_HOST)
		return ww_fail(WW_ERR_PROTOCOL,
			"the pool is said to be of memory of kind %" PRIu32 ", which none is",
			out_ref->kind);
	return WW_OK;
}

void ww_pool_holder_ref_write(const struct ww_wire_pool_holder_ref *ref,
	uint8_t out[WW_POOL_HOLDER_REF_BYTES])
{
	struct ww_wire_pool_holder_ref full = {
		.version = VERSION,
		.length = WW_POOL_HOLDER_REF_BYTES,
		.page_bytes = ref->page_bytes,
		.marks_bytes = ref->marks_bytes,
		.slot_count = ref->slot_count,
	};

	memcpy(full.magic, WW_WIRE_POOL_HOLDER_REF_MAGIC, sizeof(full.magic));
	memcpy(full.page_id, ref->page_id, sizeof(full.page_id));
	ww_wire_encode_pool_holder_ref(&full, out);
	seal(out, WW_POOL_HOLDER_REF_BYTES);
}

ww_status ww_pool_holder_ref_read(const uint8_t *bytes, size_t count,
	struct ww_wire_pool_holder_ref *out_ref)
{
	uint8_t again[WW_POOL_HOLDER_REF_BYTES];

	ww_try(check_envelope("pool's user", bytes, count, WW_POOL_HOLDER_REF_BYTES,
		WW_WIRE_POOL_HOLDER_REF_MAGIC));
	ww_wire_decode_pool_holder_ref(bytes, out_ref);
	ww_pool_holder_ref_write(out_ref, again);
	ww_try(check_form("pool's user", bytes, again, sizeof(again)));
	ww_try(check_page("pool's user", out_ref->page_bytes));
	return check_slots("pool's user", out_ref->slot_count, out_ref->marks_bytes,
		sizeof(struct ww_layout_pool_marks), sizeof(struct ww_layout_pool_mark));
}
