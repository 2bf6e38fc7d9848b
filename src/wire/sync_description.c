/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sync_description.c - descriptions of objects that are not memory, see sync_description.h
 *
 * All begin alike: magic, version, length, checksum. There is one way only to write one, so reading
 * compares with what writing it again would give: reserved fields cannot carry anything.
 */
#include "wire/sync_description.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include <warpway/memory.h>

#include "base/checksum.h"
#include "base/error.h"
#include "wire/reader.h"
#include "wire/signal_page.h"
#include "wire/writer.h"

#define VERSION         1
#define VERSION_AT      8
#define LENGTH_AT       10
#define CHECKSUM_AT     12
#define PAGE_UNIT       4096
#define BARRIER_MEMBERS 1024
#define SLOTS_MOST      (UINT32_C(1) << 20)
#define SHARED_MOST     (UINT64_C(64) << 20) /* a table of that many, and more */
#define CHANNEL_SLOTS   4096
#define CHANNEL_READERS 32
#define METADATA_MOST   4096
#define SLOT_UNIT       512
#define SERVICE_CALLS   1024
#define SERVICE_CLIENTS 4096
#define SERVICE_OFFERS  1024
#define SERVICE_AREA    (UINT32_C(1) << 20)
#define SERVICE_UNIT    256
#define QUEUE_SLOTS     1024
#define QUEUE_MEMBERS   64
#define QUEUE_ATTEMPTS  64

/* How the description of one kind of object looks. */
struct form {
	const char *what;
	const char *magic;
	size_t bytes;
	size_t reserved_at; /* from there on all is reserved */
};

static const struct form timeline_form = {"timeline", WW_WIRE_TIMELINE_REF_MAGIC,
	WW_TIMELINE_REF_BYTES, offsetof(struct ww_wire_timeline_ref, reserved)};
static const struct form barrier_form = {"barrier", WW_WIRE_BARRIER_REF_MAGIC, WW_BARRIER_REF_BYTES,
	offsetof(struct ww_wire_barrier_ref, reserved)};
static const struct form event_form = {"event", WW_WIRE_EVENT_REF_MAGIC, WW_EVENT_REF_BYTES,
	WW_EVENT_REF_BYTES};
static const struct form pool_form = {"pool", WW_WIRE_POOL_REF_MAGIC, WW_POOL_REF_BYTES,
	offsetof(struct ww_wire_pool_ref, reserved)};
static const struct form pool_holder_form = {"pool's user", WW_WIRE_POOL_HOLDER_REF_MAGIC,
	WW_POOL_HOLDER_REF_BYTES, offsetof(struct ww_wire_pool_holder_ref, reserved)};

static const struct form channel_form = {"channel", WW_WIRE_CHANNEL_REF_MAGIC, WW_CHANNEL_REF_BYTES,
	WW_CHANNEL_REF_BYTES};
static const struct form consumer_form = {"consumer", WW_WIRE_CHANNEL_CONSUMER_REF_MAGIC,
	WW_CONSUMER_REF_BYTES, offsetof(struct ww_wire_channel_consumer_ref, reserved)};
static const struct form service_form = {"service", WW_WIRE_SERVICE_REF_MAGIC, WW_SERVICE_REF_BYTES,
	offsetof(struct ww_wire_service_ref, reserved_1)};
static const struct form client_form = {"client", WW_WIRE_SERVICE_CLIENT_REF_MAGIC,
	WW_SERVICE_CLIENT_REF_BYTES, offsetof(struct ww_wire_service_client_ref, reserved)};
static const struct form work_queue_form = {"work queue", WW_WIRE_WORK_QUEUE_REF_MAGIC,
	WW_WORK_QUEUE_REF_BYTES, offsetof(struct ww_wire_work_queue_ref, reserved)};

/* Fields are encoded one behind the other, so they are where the structs have them. */
_Static_assert(sizeof(struct ww_wire_timeline_ref) == WW_TIMELINE_REF_BYTES, "no padding");
_Static_assert(sizeof(struct ww_wire_barrier_ref) == WW_BARRIER_REF_BYTES, "no padding");
_Static_assert(sizeof(struct ww_wire_pool_ref) == WW_POOL_REF_BYTES, "no padding");
_Static_assert(sizeof(struct ww_wire_pool_holder_ref) == WW_POOL_HOLDER_REF_BYTES, "no padding");
_Static_assert(sizeof(struct ww_wire_channel_ref) == WW_CHANNEL_REF_BYTES, "no padding");
_Static_assert(sizeof(struct ww_wire_channel_consumer_ref) == WW_CONSUMER_REF_BYTES, "no padding");
_Static_assert(sizeof(struct ww_wire_service_ref) == WW_SERVICE_REF_BYTES, "no padding");
_Static_assert(sizeof(struct ww_wire_service_client_ref) == WW_SERVICE_CLIENT_REF_BYTES,
	"no padding");
_Static_assert(sizeof(struct ww_wire_work_queue_ref) == WW_WORK_QUEUE_REF_BYTES, "no padding");

static void put_checksum(uint8_t *bytes, size_t count)
{
	ww_bytes_put_number(bytes + CHECKSUM_AT, 0, sizeof(uint32_t));
	ww_bytes_put_number(bytes + CHECKSUM_AT, ww_checksum(0, bytes, count), sizeof(uint32_t));
}

/* Puts the envelope around the encoded fields. */
static void seal(const struct form *form, uint8_t *bytes)
{
	memcpy(bytes, form->magic, 8);
	ww_bytes_put_number(bytes + VERSION_AT, VERSION, sizeof(uint16_t));
	ww_bytes_put_number(bytes + LENGTH_AT, form->bytes, sizeof(uint16_t));
	memset(bytes + form->reserved_at, 0, form->bytes - form->reserved_at);
	put_checksum(bytes, form->bytes);
}

static ww_status fail_unknown(const struct form *form)
{
	return ww_fail(WW_ERR_PROTOCOL,
		"the %s's description has a field that version %d does not know", form->what,
		VERSION);
}

static ww_status check_form(const struct form *form, const uint8_t *bytes, size_t count)
{
	uint8_t copy[WW_EVENT_REF_BYTES];
	unsigned int version;

	if (count != form->bytes || memcmp(bytes, form->magic, 8) != 0)
		return ww_fail(WW_ERR_PROTOCOL, "the object's description is that of no %s",
			form->what);
	version = (unsigned int)ww_bytes_number(bytes + VERSION_AT, sizeof(uint16_t));
	if (version != VERSION)
		return ww_fail(WW_ERR_VERSION,
			"the %s's description has version %u, this library (%s) reads version %d; use one "
			"version of Warpway in both processes",
			form->what, version, WW_VERSION, VERSION);
	memcpy(copy, bytes, count);
	put_checksum(copy, count);
	if (memcmp(copy, bytes, count) != 0)
		return ww_fail(WW_ERR_PROTOCOL,
			"the %s's description is damaged: its checksum is wrong", form->what);
	seal(form, copy);
	return memcmp(copy, bytes, count) == 0 ? WW_OK : fail_unknown(form);
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
	ww_wire_encode_timeline_ref(ref, out);
	seal(&timeline_form, out);
}

ww_status ww_timeline_ref_read(const uint8_t *bytes, size_t count,
	struct ww_wire_timeline_ref *out_ref)
{
	ww_try(check_form(&timeline_form, bytes, count));
	ww_wire_decode_timeline_ref(bytes, out_ref);
	return check_page("timeline", out_ref->page_bytes);
}

void ww_barrier_ref_write(const struct ww_wire_barrier_ref *ref, uint8_t out[WW_BARRIER_REF_BYTES])
{
	ww_wire_encode_barrier_ref(ref, out);
	seal(&barrier_form, out);
}

ww_status ww_barrier_ref_read(const uint8_t *bytes, size_t count,
	struct ww_wire_barrier_ref *out_ref)
{
	ww_try(check_form(&barrier_form, bytes, count));
	ww_wire_decode_barrier_ref(bytes, out_ref);
	if (out_ref->count == 0 || out_ref->count > BARRIER_MEMBERS)
		return ww_fail(WW_ERR_PROTOCOL,
			"the barrier is said to have %" PRIu32 " members; it has 1 to %d",
			out_ref->count, BARRIER_MEMBERS);
	return WW_OK;
}

void ww_event_ref_write(const struct ww_wire_event_ref *ref, uint8_t out[WW_EVENT_REF_BYTES])
{
	struct ww_wire_event_ref full = *ref;

	full.reserved = 0;
	full.reserved_1 = 0;
	ww_wire_encode_event_ref(&full, out);
	seal(&event_form, out);
}

ww_status ww_event_ref_read(const uint8_t *bytes, size_t count, struct ww_wire_event_ref *out_ref)
{
	ww_try(check_form(&event_form, bytes, count));
	ww_wire_decode_event_ref(bytes, out_ref);
	return out_ref->reserved || out_ref->reserved_1 ? fail_unknown(&event_form) : WW_OK;
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
	ww_wire_encode_pool_ref(ref, out);
	seal(&pool_form, out);
}

ww_status ww_pool_ref_read(const uint8_t *bytes, size_t count, struct ww_wire_pool_ref *out_ref)
{
	ww_try(check_form(&pool_form, bytes, count));
	ww_wire_decode_pool_ref(bytes, out_ref);
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
	ww_wire_encode_pool_holder_ref(ref, out);
	seal(&pool_holder_form, out);
}

ww_status ww_pool_holder_ref_read(const uint8_t *bytes, size_t count,
	struct ww_wire_pool_holder_ref *out_ref)
{
	ww_try(check_form(&pool_holder_form, bytes, count));
	ww_wire_decode_pool_holder_ref(bytes, out_ref);
	ww_try(check_page("pool's user", out_ref->page_bytes));
	return check_slots("pool's user", out_ref->slot_count, out_ref->marks_bytes,
		sizeof(struct ww_layout_pool_marks), sizeof(struct ww_layout_pool_mark));
}

/* --- channels --- */

void ww_channel_ref_write(const struct ww_wire_channel_ref *ref, uint8_t out[WW_CHANNEL_REF_BYTES])
{
	ww_wire_encode_channel_ref(ref, out);
	seal(&channel_form, out);
}

static ww_status check_channel_slots(const char *what, uint32_t slot_count, uint64_t file_bytes)
{
	if (slot_count == 0 || slot_count > CHANNEL_SLOTS || file_bytes < PAGE_UNIT ||
		file_bytes > WW_CHANNEL_PAGE_MOST)
		return ww_fail(WW_ERR_PROTOCOL,
			"the %s is said to have %" PRIu32 " slots in a file of %" PRIu64
			" bytes, which cannot be",
			what, slot_count, file_bytes);
	return WW_OK;
}

static bool has_known_limits(const struct ww_wire_channel_ref *ref)
{
	return ref->policy >= WW_WIRE_CHANNEL_POLICY_BLOCK &&
		ref->policy <= WW_WIRE_CHANNEL_POLICY_LATEST && ref->consumers_max > 0 &&
		ref->consumers_max <= CHANNEL_READERS && ref->held_max > 0 &&
		ref->held_max <= ref->slot_count && ref->metadata_bytes <= METADATA_MOST &&
		ref->slot_bytes > 0 && ref->slot_bytes % SLOT_UNIT == 0 &&
		ref->slot_bytes <= UINT64_MAX / CHANNEL_SLOTS &&
		(ref->kind == WW_MEMORY_VMM || ref->kind == WW_MEMORY_HOST) &&
		ref->metadata_type[sizeof(ref->metadata_type) - 1] == 0;
}

ww_status ww_channel_ref_read(const uint8_t *bytes, size_t count,
	struct ww_wire_channel_ref *out_ref)
{
	ww_try(check_form(&channel_form, bytes, count));
	ww_wire_decode_channel_ref(bytes, out_ref);
	ww_try(check_page("channel", out_ref->page_bytes));
	ww_try(check_channel_slots("channel", out_ref->slot_count, out_ref->ring_bytes));
	if (!has_known_limits(out_ref))
		return ww_fail(WW_ERR_PROTOCOL,
			"the channel's description says what cannot be, of its slots or limits");
	return WW_OK;
}

void ww_consumer_ref_write(const struct ww_wire_channel_consumer_ref *ref,
	uint8_t out[WW_CONSUMER_REF_BYTES])
{
	ww_wire_encode_channel_consumer_ref(ref, out);
	seal(&consumer_form, out);
}

ww_status ww_consumer_ref_read(const uint8_t *bytes, size_t count,
	struct ww_wire_channel_consumer_ref *out_ref)
{
	ww_try(check_form(&consumer_form, bytes, count));
	ww_wire_decode_channel_consumer_ref(bytes, out_ref);
	ww_try(check_page("consumer", out_ref->page_bytes));
	return check_channel_slots("consumer", out_ref->slot_count, out_ref->marks_bytes);
}

/* --- work queues --- */

void ww_work_queue_ref_write(const struct ww_wire_work_queue_ref *ref,
	uint8_t out[WW_WORK_QUEUE_REF_BYTES])
{
	ww_wire_encode_work_queue_ref(ref, out);
	seal(&work_queue_form, out);
}

static bool is_within(uint32_t count, uint32_t most)
{
	return count > 0 && count <= most;
}

static bool is_possible_queue(const struct ww_wire_work_queue_ref *ref)
{
	return is_within(ref->slot_count, QUEUE_SLOTS) &&
		is_within(ref->producers_max, QUEUE_MEMBERS) &&
		is_within(ref->consumers_max, QUEUE_MEMBERS) &&
		is_within(ref->attempts_max, QUEUE_ATTEMPTS) &&
		is_within(ref->held_max, QUEUE_SLOTS) && ref->failed_max < ref->slot_count &&
		ref->metadata_bytes <= METADATA_MOST && ref->slot_bytes > 0 &&
		ref->slot_bytes % SLOT_UNIT == 0 && ref->slot_bytes <= UINT64_MAX / QUEUE_SLOTS &&
		(ref->kind == WW_MEMORY_VMM || ref->kind == WW_MEMORY_HOST) &&
		ref->metadata_type[sizeof(ref->metadata_type) - 1] == 0;
}

ww_status ww_work_queue_ref_read(const uint8_t *bytes, size_t count,
	struct ww_wire_work_queue_ref *out_ref)
{
	ww_try(check_form(&work_queue_form, bytes, count));
	ww_wire_decode_work_queue_ref(bytes, out_ref);
	if (!is_possible_queue(out_ref))
		return ww_fail(WW_ERR_PROTOCOL,
			"the work queue's description says what cannot be, of its slots or limits");
	return WW_OK;
}

/* --- services --- */

void ww_service_ref_write(const struct ww_wire_service_ref *ref, uint8_t out[WW_SERVICE_REF_BYTES])
{
	ww_wire_encode_service_ref(ref, out);
	seal(&service_form, out);
}

static bool is_area(uint32_t bytes)
{
	return bytes > 0 && bytes <= SERVICE_AREA && bytes % SERVICE_UNIT == 0;
}

static bool is_possible_service(const struct ww_wire_service_ref *ref)
{
	return is_within(ref->functions_max, SERVICE_OFFERS) &&
		is_within(ref->clients_max, SERVICE_CLIENTS) &&
		is_within(ref->calls_max, SERVICE_CALLS) &&
		(ref->calls_max & (ref->calls_max - 1)) == 0 && is_area(ref->arguments_bytes) &&
		is_area(ref->results_bytes) && ref->reserved == 0 &&
		ref->text[sizeof(ref->text) - 1] == 0;
}

ww_status ww_service_ref_read(const uint8_t *bytes, size_t count,
	struct ww_wire_service_ref *out_ref)
{
	ww_try(check_form(&service_form, bytes, count));
	ww_wire_decode_service_ref(bytes, out_ref);
	ww_try(check_page("service", out_ref->page_bytes));
	if (!is_possible_service(out_ref))
		return ww_fail(WW_ERR_PROTOCOL,
			"the service's description says what cannot be, of its limits");
	return WW_OK;
}

void ww_service_client_ref_write(const struct ww_wire_service_client_ref *ref,
	uint8_t out[WW_SERVICE_CLIENT_REF_BYTES])
{
	ww_wire_encode_service_client_ref(ref, out);
	seal(&client_form, out);
}

ww_status ww_service_client_ref_read(const uint8_t *bytes, size_t count,
	struct ww_wire_service_client_ref *out_ref)
{
	ww_try(check_form(&client_form, bytes, count));
	ww_wire_decode_service_client_ref(bytes, out_ref);
	return check_page("client", out_ref->page_bytes);
}
