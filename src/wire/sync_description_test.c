/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sync_description_test.c - descriptions of timelines, barriers, events, pools and channels:
 * written, read, and what an untrusted process may write
 */
#include "base/unit_test.h"

#include <inttypes.h>
#include <string.h>

#include <warpway/device.h>

#include "base/error.h"
#include "wire/sync_description.h"

#define MOST_BYTES WW_EVENT_REF_BYTES
#define ENVELOPE   16 /* bytes of magic, version, length and checksum */

/* --- a good one of each kind --- */

static const struct ww_wire_timeline_ref timeline = {
	.page_bytes = 16384,
	.cell_offset = 256,
	.page_id = "page",
};

static const struct ww_wire_barrier_ref barrier = {.count = 3, .barrier_id = "barrier"};

static const struct ww_wire_event_ref event = {
	.pid = 4711,
	.process_id = "maker",
	.device_uuid = "gpu",
	.handle = {[0 ... 63] = 0x5a},
};

/* Its table is as small as it can be. */
static const struct ww_wire_pool_ref pool = {
	.pool_id = "pool",
	.page_id = "page",
	.page_bytes = 16384,
	.table_bytes = 45056,
	.slot_count = 1024,
	.kind = WW_MEMORY_VMM,
	.home_uuid = "gpu",
};

static const struct ww_wire_pool_holder_ref holder = {
	.page_id = "page",
	.page_bytes = 4096,
	.marks_bytes = 20480,
	.slot_count = 1024,
};

static const struct ww_wire_channel_ref channel = {
	.channel_id = "channel",
	.page_id = "page",
	.page_bytes = 16384,
	.ring_bytes = 8192,
	.slot_bytes = 4096,
	.slot_count = 4,
	.metadata_bytes = 64,
	.policy = WW_WIRE_CHANNEL_POLICY_BLOCK,
	.consumers_max = 32,
	.held_max = 4,
	.kind = WW_MEMORY_HOST,
	.home_uuid = "gpu",
	.metadata_type = "pose/1",
};

static const struct ww_wire_channel_consumer_ref consumer = {
	.page_id = "page",
	.page_bytes = 4096,
	.marks_bytes = 4096,
	.slot_count = 4,
};

static const struct ww_wire_work_queue_ref work_queue = {
	.queue_id = "queue",
	.slot_bytes = 4096,
	.slot_count = 16,
	.metadata_bytes = 64,
	.producers_max = 8,
	.consumers_max = 64,
	.attempts_max = 3,
	.failed_max = 15,
	.held_max = 2,
	.kind = WW_MEMORY_VMM,
	.metadata_type = "job/1",
};

static const struct ww_wire_service_ref service = {
	.service_id = "service",
	.page_id = "page",
	.page_bytes = 4096,
	.functions_max = 64,
	.clients_max = 1024,
	.calls_max = 64,
	.arguments_bytes = 65536,
	.results_bytes = 256,
	.text = "2.1",
};

static const struct ww_wire_service_client_ref client = {.page_id = "page", .page_bytes = 4096};

#define KIND_CALLS(name)                                                                \
	static void name##_write(const void *ref, uint8_t *out)                         \
	{                                                                               \
		ww_##name##_write(ref, out);                                            \
	}                                                                               \
	static ww_status name##_read(const uint8_t *bytes, size_t count, void *out_ref) \
	{                                                                               \
		return ww_##name##_read(bytes, count, out_ref);                         \
	}

KIND_CALLS(timeline_ref)
KIND_CALLS(barrier_ref)
KIND_CALLS(event_ref)
KIND_CALLS(pool_ref)
KIND_CALLS(pool_holder_ref)
KIND_CALLS(channel_ref)
KIND_CALLS(consumer_ref)
KIND_CALLS(work_queue_ref)
KIND_CALLS(service_ref)
KIND_CALLS(service_client_ref)

enum {
	TIMELINE,
	BARRIER,
	EVENT,
	POOL,
	HOLDER,
	CHANNEL,
	CONSUMER,
	WORK_QUEUE,
	SERVICE,
	CLIENT,
	KINDS
};

static const struct kind {
	const char *name;
	const void *good;
	size_t bytes; /* of the description, and of the struct */
	void (*write)(const void *ref, uint8_t *out);
	ww_status (*read)(const uint8_t *bytes, size_t count, void *out_ref);
} kinds[KINDS] = {
	{"timeline", &timeline, WW_TIMELINE_REF_BYTES, timeline_ref_write, timeline_ref_read},
	{"barrier", &barrier, WW_BARRIER_REF_BYTES, barrier_ref_write, barrier_ref_read},
	{"event", &event, WW_EVENT_REF_BYTES, event_ref_write, event_ref_read},
	{"pool", &pool, WW_POOL_REF_BYTES, pool_ref_write, pool_ref_read},
	{"pool's user", &holder, WW_POOL_HOLDER_REF_BYTES, pool_holder_ref_write,
		pool_holder_ref_read},
	{"channel", &channel, WW_CHANNEL_REF_BYTES, channel_ref_write, channel_ref_read},
	{"consumer", &consumer, WW_CONSUMER_REF_BYTES, consumer_ref_write, consumer_ref_read},
	{"work queue", &work_queue, WW_WORK_QUEUE_REF_BYTES, work_queue_ref_write,
		work_queue_ref_read},
	{"service", &service, WW_SERVICE_REF_BYTES, service_ref_write, service_ref_read},
	{"client", &client, WW_SERVICE_CLIENT_REF_BYTES, service_client_ref_write,
		service_client_ref_read},
};

/* Room for each of the structs. */
union any_ref {
	uint64_t words[MOST_BYTES / 8];
	uint8_t bytes[MOST_BYTES];
};

static ww_status read_kind(int kind, const uint8_t *bytes, size_t count)
{
	union any_ref ref;

	return kinds[kind].read(bytes, count, &ref);
}

UNIT_TEST(what_is_written_is_read)
{
	for (const struct kind *kind = kinds; kind < kinds + KINDS; kind++) {
		union any_ref ref = {.words = {0}};
		uint8_t bytes[MOST_BYTES];

		kind->write(kind->good, bytes);
		if (kind->read(bytes, kind->bytes, &ref) != WW_OK)
			fail_msg("%s: %s", kind->name, ww_error_last()->message);
		if (memcmp(ref.bytes + ENVELOPE, (const uint8_t *)kind->good + ENVELOPE,
			    kind->bytes - ENVELOPE) != 0)
			fail_msg("%s: a field is another one", kind->name);
	}
}

UNIT_TEST(every_flipped_bit_is_noticed)
{
	uint8_t bytes[MOST_BYTES];

	for (int kind = 0; kind < KINDS; kind++) {
		kinds[kind].write(kinds[kind].good, bytes);
		for (size_t bit = 0; bit < kinds[kind].bytes * 8; bit++) {
			bytes[bit / 8] ^= (uint8_t)(1U << bit % 8);
			assert_true(read_kind(kind, bytes, kinds[kind].bytes) < 0);
			bytes[bit / 8] ^= (uint8_t)(1U << bit % 8);
		}
		assert_ok(read_kind(kind, bytes, kinds[kind].bytes));
	}
}

UNIT_TEST(another_kind_or_size_is_refused)
{
	uint8_t bytes[MOST_BYTES] = {0};

	for (int kind = 0; kind < KINDS; kind++) {
		for (int other = 0; other < KINDS; other++) {
			memset(bytes, 0, sizeof(bytes));
			kinds[other].write(kinds[other].good, bytes);
			assert_int_equal(read_kind(kind, bytes, kinds[kind].bytes),
				kind == other ? WW_OK : WW_ERR_PROTOCOL);
		}
		kinds[kind].write(kinds[kind].good, bytes);
		assert_int_equal(read_kind(kind, bytes, kinds[kind].bytes - 1), WW_ERR_PROTOCOL);
		assert_int_equal(read_kind(kind, bytes, 0), WW_ERR_PROTOCOL);
		bytes[8]++;
		assert_int_equal(read_kind(kind, bytes, kinds[kind].bytes), WW_ERR_VERSION);
		assert_non_null(strstr(ww_error_last()->message, "version 2"));
	}
}

/* --- sealed rightly, and yet impossible --- */

struct field {
	int kind;
	const char *name;
	size_t at;
	size_t bytes;
};

#define FIELD(kind, type, field)                                      \
	{                                                             \
		kind, #field, offsetof(struct ww_wire_##type, field), \
			sizeof(((struct ww_wire_##type *)0)->field)   \
	}

/* Reads a good one with another value of this field. */
static ww_status read_with(struct field field, uint64_t value)
{
	const struct kind *kind = &kinds[field.kind];
	uint8_t bytes[MOST_BYTES];
	union any_ref ref;

	memcpy(ref.bytes, kind->good, kind->bytes);
	memcpy(ref.bytes + field.at, &value, field.bytes);
	kind->write(&ref, bytes);
	return read_kind(field.kind, bytes, kind->bytes);
}

static void must_refuse(struct field field, uint64_t value)
{
	ww_status status = read_with(field, value);

	if (status != WW_ERR_PROTOCOL)
		fail_msg("%s, %s of %" PRIu64 ": %d", kinds[field.kind].name, field.name, value,
			status);
}

static const struct {
	struct field field;
	uint64_t value;
} impossible[] = {
	{FIELD(TIMELINE, timeline_ref, page_bytes), 0},
	{FIELD(TIMELINE, timeline_ref, page_bytes), 4097},
	{FIELD(TIMELINE, timeline_ref, page_bytes), UINT64_C(1) << 40},
	{FIELD(BARRIER, barrier_ref, count), 0},
	{FIELD(BARRIER, barrier_ref, count), 1025},
	{FIELD(POOL, pool_ref, kind), 0},
	{FIELD(POOL, pool_ref, kind), WW_MEMORY_LEGACY},
	{FIELD(CHANNEL, channel_ref, slot_count), 0},
	{FIELD(CHANNEL, channel_ref, slot_count), 4097},
	{FIELD(CHANNEL, channel_ref, ring_bytes), 0},
	{FIELD(CHANNEL, channel_ref, ring_bytes), WW_CHANNEL_PAGE_MOST + 1},
	{FIELD(CHANNEL, channel_ref, slot_bytes), 0},
	{FIELD(CHANNEL, channel_ref, slot_bytes), 100},
	{FIELD(CHANNEL, channel_ref, slot_bytes), UINT64_MAX - 511},
	{FIELD(CHANNEL, channel_ref, metadata_bytes), 4097},
	{FIELD(CHANNEL, channel_ref, policy), 0},
	{FIELD(CHANNEL, channel_ref, policy), 4},
	{FIELD(CHANNEL, channel_ref, consumers_max), 0},
	{FIELD(CHANNEL, channel_ref, consumers_max), 33},
	{FIELD(CHANNEL, channel_ref, held_max), 0},
	{FIELD(CHANNEL, channel_ref, held_max), 5},
	{FIELD(CHANNEL, channel_ref, kind), 3},
	{FIELD(CHANNEL, channel_ref, page_bytes), 100},
	{FIELD(CHANNEL, channel_ref, metadata_type[15]), 'x'},
	{FIELD(WORK_QUEUE, work_queue_ref, slot_count), 0},
	{FIELD(WORK_QUEUE, work_queue_ref, slot_count), 1025},
	{FIELD(WORK_QUEUE, work_queue_ref, slot_bytes), 0},
	{FIELD(WORK_QUEUE, work_queue_ref, slot_bytes), 100},
	{FIELD(WORK_QUEUE, work_queue_ref, slot_bytes), UINT64_MAX - 511},
	{FIELD(WORK_QUEUE, work_queue_ref, metadata_bytes), 4097},
	{FIELD(WORK_QUEUE, work_queue_ref, producers_max), 0},
	{FIELD(WORK_QUEUE, work_queue_ref, producers_max), 65},
	{FIELD(WORK_QUEUE, work_queue_ref, consumers_max), 0},
	{FIELD(WORK_QUEUE, work_queue_ref, consumers_max), 65},
	{FIELD(WORK_QUEUE, work_queue_ref, attempts_max), 0},
	{FIELD(WORK_QUEUE, work_queue_ref, attempts_max), 65},
	{FIELD(WORK_QUEUE, work_queue_ref, failed_max), 16},
	{FIELD(WORK_QUEUE, work_queue_ref, held_max), 0},
	{FIELD(WORK_QUEUE, work_queue_ref, held_max), 1025},
	{FIELD(WORK_QUEUE, work_queue_ref, kind), 3},
	{FIELD(WORK_QUEUE, work_queue_ref, metadata_type[15]), 'x'},
	{FIELD(SERVICE, service_ref, page_bytes), 100},
	{FIELD(SERVICE, service_ref, functions_max), 0},
	{FIELD(SERVICE, service_ref, functions_max), 1025},
	{FIELD(SERVICE, service_ref, clients_max), 0},
	{FIELD(SERVICE, service_ref, clients_max), 4097},
	{FIELD(SERVICE, service_ref, calls_max), 0},
	{FIELD(SERVICE, service_ref, calls_max), 3},
	{FIELD(SERVICE, service_ref, calls_max), 2048},
	{FIELD(SERVICE, service_ref, arguments_bytes), 0},
	{FIELD(SERVICE, service_ref, arguments_bytes), 100},
	{FIELD(SERVICE, service_ref, results_bytes), 1 << 21},
	{FIELD(SERVICE, service_ref, reserved), 1},
	{FIELD(SERVICE, service_ref, text[31]), 'x'},
};

UNIT_TEST(what_cannot_be_is_refused)
{
	for (size_t i = 0; i < sizeof(impossible) / sizeof(impossible[0]); i++)
		must_refuse(impossible[i].field, impossible[i].value);
	assert_ok(read_with((struct field)FIELD(TIMELINE, timeline_ref, page_bytes), 4096));
	assert_ok(read_with((struct field)FIELD(BARRIER, barrier_ref, count), 1024));
	assert_ok(read_with((struct field)FIELD(POOL, pool_ref, kind), WW_MEMORY_HOST));
}

UNIT_TEST(pages_of_a_pool_that_cannot_be_are_refused)
{
	static const struct field fields[] = {
		FIELD(POOL, pool_ref, page_bytes),
		FIELD(POOL, pool_ref, table_bytes),
		FIELD(HOLDER, pool_holder_ref, page_bytes),
		FIELD(HOLDER, pool_holder_ref, marks_bytes),
	};
	static const uint64_t wrong[] = {0, 1, 4095, 4097, UINT64_C(1) << 40, UINT64_MAX,
		UINT64_MAX - 4095};

	for (size_t i = 0; i < 4; i++)
		for (size_t j = 0; j < sizeof(wrong) / sizeof(wrong[0]); j++)
			must_refuse(fields[i], wrong[j]);
	/* One page too few for its slots. */
	must_refuse(fields[1], pool.table_bytes - 4096);
	must_refuse(fields[3], holder.marks_bytes - 4096);
}

static ww_status read_pool(const struct ww_wire_pool_ref *ref)
{
	uint8_t bytes[WW_POOL_REF_BYTES];

	ww_pool_ref_write(ref, bytes);
	return read_kind(POOL, bytes, sizeof(bytes));
}

static ww_status read_holder(const struct ww_wire_pool_holder_ref *ref)
{
	uint8_t bytes[WW_POOL_HOLDER_REF_BYTES];

	ww_pool_holder_ref_write(ref, bytes);
	return read_kind(HOLDER, bytes, sizeof(bytes));
}

UNIT_TEST(slots_are_a_power_of_two)
{
	static const uint32_t wrong[] = {0, 3, 1023, UINT32_C(1) << 21, UINT32_C(1) << 31,
		UINT32_MAX};
	struct ww_wire_pool_ref large_pool = pool;
	struct ww_wire_pool_holder_ref large_holder = holder;

	large_pool.table_bytes = UINT64_C(64) << 20;
	large_holder.marks_bytes = UINT64_C(64) << 20;
	for (uint32_t count = 1; count <= UINT32_C(1) << 20; count <<= 1) {
		large_pool.slot_count = count;
		large_holder.slot_count = count;
		assert_ok(read_pool(&large_pool));
		assert_ok(read_holder(&large_holder));
	}
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		large_pool.slot_count = wrong[i];
		large_holder.slot_count = wrong[i];
		assert_int_equal(read_pool(&large_pool), WW_ERR_PROTOCOL);
		assert_int_equal(read_holder(&large_holder), WW_ERR_PROTOCOL);
	}
}

UNIT_MAIN("object_ref")
