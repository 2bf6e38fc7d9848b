/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sync_description_test.c - descriptions of timelines, barriers, events, pools and channels:
 * written, read, and what an untrusted process may write
 */
#include "base/unit_test.h"

#include <string.h>

#include <warpway/device.h>

#include "base/error.h"
#include "wire/sync_description.h"

#define MOST_BYTES WW_EVENT_REF_BYTES
#define KINDS      10

static struct ww_wire_event_ref an_event(void)
{
	struct ww_wire_event_ref ref = {.pid = 4711, .process_id = "maker", .device_uuid = "gpu"};

	memset(ref.handle, 0x5a, sizeof(ref.handle));
	return ref;
}

/* Its table is as small as it can be. */
static struct ww_wire_pool_ref a_pool(void)
{
	return (struct ww_wire_pool_ref){
		.pool_id = "pool",
		.page_id = "page",
		.page_bytes = 16384,
		.table_bytes = 45056,
		.slot_count = 1024,
		.kind = WW_MEMORY_VMM,
		.home_uuid = "gpu",
	};
}

static struct ww_wire_pool_holder_ref a_holder(void)
{
	return (struct ww_wire_pool_holder_ref){
		.page_id = "page",
		.page_bytes = 4096,
		.marks_bytes = 20480,
		.slot_count = 1024,
	};
}

static struct ww_wire_channel_ref a_channel(void)
{
	return (struct ww_wire_channel_ref){
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
}

static struct ww_wire_channel_consumer_ref a_consumer(void)
{
	return (struct ww_wire_channel_consumer_ref){
		.page_id = "page",
		.page_bytes = 4096,
		.marks_bytes = 4096,
		.slot_count = 4,
	};
}

static struct ww_wire_work_queue_ref a_work_queue(void)
{
	return (struct ww_wire_work_queue_ref){
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
}

static struct ww_wire_service_ref a_service(void)
{
	return (struct ww_wire_service_ref){
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
}

static struct ww_wire_service_client_ref a_client(void)
{
	return (struct ww_wire_service_client_ref){.page_id = "page", .page_bytes = 4096};
}

/*
 * A good one of each kind: timeline, barrier, event, pool, who uses a pool, channel, consumer, work
 * queue, service, client.
 */
static void write_kind(size_t kind, uint8_t *out)
{
	const struct ww_wire_timeline_ref timeline = {
		.page_bytes = 16384,
		.cell_offset = 256,
		.page_id = "page",
	};
	const struct ww_wire_barrier_ref barrier = {.count = 3, .barrier_id = "barrier"};
	const struct ww_wire_event_ref event = an_event();
	const struct ww_wire_pool_ref pool = a_pool();
	const struct ww_wire_pool_holder_ref holder = a_holder();
	const struct ww_wire_channel_ref channel = a_channel();
	const struct ww_wire_channel_consumer_ref consumer = a_consumer();
	const struct ww_wire_work_queue_ref queue = a_work_queue();
	const struct ww_wire_service_ref service = a_service();
	const struct ww_wire_service_client_ref client = a_client();

	if (kind == 0)
		ww_timeline_ref_write(&timeline, out);
	else if (kind == 1)
		ww_barrier_ref_write(&barrier, out);
	else if (kind == 2)
		ww_event_ref_write(&event, out);
	else if (kind == 3)
		ww_pool_ref_write(&pool, out);
	else if (kind == 4)
		ww_pool_holder_ref_write(&holder, out);
	else if (kind == 5)
		ww_channel_ref_write(&channel, out);
	else if (kind == 6)
		ww_consumer_ref_write(&consumer, out);
	else if (kind == 7)
		ww_work_queue_ref_write(&queue, out);
	else if (kind == 8)
		ww_service_ref_write(&service, out);
	else
		ww_service_client_ref_write(&client, out);
}

static ww_status read_kind(size_t kind, const uint8_t *bytes, size_t count)
{
	struct ww_wire_timeline_ref timeline;
	struct ww_wire_barrier_ref barrier;
	struct ww_wire_event_ref event;
	struct ww_wire_pool_ref pool;
	struct ww_wire_pool_holder_ref holder;
	struct ww_wire_channel_consumer_ref consumer;
	struct ww_wire_work_queue_ref queue;
	struct ww_wire_service_client_ref client;
	struct ww_wire_service_ref service;
	struct ww_wire_channel_ref channel;

	if (kind == 0)
		return ww_timeline_ref_read(bytes, count, &timeline);
	if (kind == 1)
		return ww_barrier_ref_read(bytes, count, &barrier);
	if (kind == 2)
		return ww_event_ref_read(bytes, count, &event);
	if (kind == 3)
		return ww_pool_ref_read(bytes, count, &pool);
	if (kind == 4)
		return ww_pool_holder_ref_read(bytes, count, &holder);
	if (kind == 5)
		return ww_channel_ref_read(bytes, count, &channel);
	if (kind == 6)
		return ww_consumer_ref_read(bytes, count, &consumer);
	if (kind == 7)
		return ww_work_queue_ref_read(bytes, count, &queue);
	if (kind == 8)
		return ww_service_ref_read(bytes, count, &service);
	return ww_service_client_ref_read(bytes, count, &client);
}

static const size_t sizes[KINDS] = {WW_TIMELINE_REF_BYTES, WW_BARRIER_REF_BYTES, WW_EVENT_REF_BYTES,
	WW_POOL_REF_BYTES, WW_POOL_HOLDER_REF_BYTES, WW_CHANNEL_REF_BYTES, WW_CONSUMER_REF_BYTES,
	WW_WORK_QUEUE_REF_BYTES, WW_SERVICE_REF_BYTES, WW_SERVICE_CLIENT_REF_BYTES};

UNIT_TEST(what_is_written_is_read)
{
	const struct ww_wire_event_ref event = an_event();
	struct ww_wire_timeline_ref timeline;
	struct ww_wire_barrier_ref barrier;
	struct ww_wire_event_ref again;
	uint8_t bytes[MOST_BYTES];

	write_kind(0, bytes);
	assert_ok(ww_timeline_ref_read(bytes, sizes[0], &timeline));
	assert_int_equal(timeline.page_bytes, 16384);
	assert_int_equal(timeline.cell_offset, 256);
	assert_memory_equal(timeline.page_id, "page", 5);
	write_kind(1, bytes);
	assert_ok(ww_barrier_ref_read(bytes, sizes[1], &barrier));
	assert_int_equal(barrier.count, 3);
	assert_memory_equal(barrier.barrier_id, "barrier", 8);
	write_kind(2, bytes);
	assert_ok(ww_event_ref_read(bytes, sizes[2], &again));
	assert_int_equal(again.pid, 4711);
	assert_memory_equal(again.process_id, event.process_id, sizeof(event.process_id));
	assert_memory_equal(again.device_uuid, event.device_uuid, sizeof(event.device_uuid));
	assert_memory_equal(again.handle, event.handle, sizeof(event.handle));
	assert_memory_equal(again.timeline, event.timeline, sizeof(event.timeline));
}

UNIT_TEST(what_is_written_of_a_pool_is_read)
{
	const struct ww_wire_pool_ref pool = a_pool();
	const struct ww_wire_pool_holder_ref holder = a_holder();
	struct ww_wire_pool_ref pool_again;
	struct ww_wire_pool_holder_ref holder_again;
	uint8_t bytes[MOST_BYTES];

	write_kind(3, bytes);
	assert_ok(ww_pool_ref_read(bytes, sizes[3], &pool_again));
	assert_memory_equal(pool_again.pool_id, pool.pool_id, sizeof(pool.pool_id));
	assert_memory_equal(pool_again.page_id, pool.page_id, sizeof(pool.page_id));
	assert_memory_equal(pool_again.home_uuid, pool.home_uuid, sizeof(pool.home_uuid));
	assert_int_equal(pool_again.page_bytes, pool.page_bytes);
	assert_int_equal(pool_again.table_bytes, pool.table_bytes);
	assert_int_equal(pool_again.slot_count, pool.slot_count);
	assert_int_equal(pool_again.kind, pool.kind);
	write_kind(4, bytes);
	assert_ok(ww_pool_holder_ref_read(bytes, sizes[4], &holder_again));
	assert_memory_equal(holder_again.page_id, holder.page_id, sizeof(holder.page_id));
	assert_int_equal(holder_again.page_bytes, holder.page_bytes);
	assert_int_equal(holder_again.marks_bytes, holder.marks_bytes);
	assert_int_equal(holder_again.slot_count, holder.slot_count);
}

UNIT_TEST(what_is_written_of_a_channel_is_read)
{
	const struct ww_wire_channel_ref channel = a_channel();
	struct ww_wire_channel_consumer_ref consumer;
	struct ww_wire_channel_ref again;
	uint8_t bytes[MOST_BYTES];

	write_kind(5, bytes);
	assert_ok(ww_channel_ref_read(bytes, sizes[5], &again));
	assert_memory_equal(again.channel_id, channel.channel_id, sizeof(channel.channel_id));
	assert_int_equal(again.ring_bytes, channel.ring_bytes);
	assert_int_equal(again.slot_bytes, channel.slot_bytes);
	assert_int_equal(again.slot_count, channel.slot_count);
	assert_int_equal(again.held_max, channel.held_max);
	assert_string_equal((const char *)again.metadata_type, "pose/1");
	write_kind(6, bytes);
	assert_ok(ww_consumer_ref_read(bytes, sizes[6], &consumer));
	assert_int_equal(consumer.marks_bytes, 4096);
	assert_int_equal(consumer.slot_count, 4);
}

static void refuse_channel(const struct ww_wire_channel_ref *ref)
{
	struct ww_wire_channel_ref again;
	uint8_t bytes[WW_CHANNEL_REF_BYTES];

	ww_channel_ref_write(ref, bytes);
	assert_int_equal(ww_channel_ref_read(bytes, sizeof(bytes), &again), WW_ERR_PROTOCOL);
}

UNIT_TEST(channel_that_cannot_be_is_refused)
{
	struct ww_wire_channel_ref ref;

#define REFUSE(field, value)          \
	do {                          \
		ref = a_channel();    \
		ref.field = value;    \
		refuse_channel(&ref); \
	} while (0)
	REFUSE(slot_count, 0);
	REFUSE(slot_count, 4097);
	REFUSE(ring_bytes, 0);
	REFUSE(ring_bytes, WW_CHANNEL_PAGE_MOST + 1);
	REFUSE(slot_bytes, 0);
	REFUSE(slot_bytes, 100);
	REFUSE(slot_bytes, UINT64_MAX - 511);
	REFUSE(metadata_bytes, 4097);
	REFUSE(policy, 0);
	REFUSE(policy, 4);
	REFUSE(consumers_max, 0);
	REFUSE(consumers_max, 33);
	REFUSE(held_max, 0);
	REFUSE(held_max, 5);
	REFUSE(kind, 3);
	REFUSE(page_bytes, 100);
	REFUSE(metadata_type[15], 'x');
}

static void refuse_work_queue(const struct ww_wire_work_queue_ref *ref)
{
	struct ww_wire_work_queue_ref again;
	uint8_t bytes[WW_WORK_QUEUE_REF_BYTES];

	ww_work_queue_ref_write(ref, bytes);
	assert_int_equal(ww_work_queue_ref_read(bytes, sizeof(bytes), &again), WW_ERR_PROTOCOL);
}

UNIT_TEST(work_queue_that_cannot_be_is_refused)
{
	struct ww_wire_work_queue_ref ref;

#undef REFUSE
#define REFUSE(field, value)             \
	do {                             \
		ref = a_work_queue();    \
		ref.field = value;       \
		refuse_work_queue(&ref); \
	} while (0)
	REFUSE(slot_count, 0);
	REFUSE(slot_count, 1025);
	REFUSE(slot_bytes, 0);
	REFUSE(slot_bytes, 100);
	REFUSE(slot_bytes, UINT64_MAX - 511);
	REFUSE(metadata_bytes, 4097);
	REFUSE(producers_max, 0);
	REFUSE(producers_max, 65);
	REFUSE(consumers_max, 0);
	REFUSE(consumers_max, 65);
	REFUSE(attempts_max, 0);
	REFUSE(attempts_max, 65);
	REFUSE(failed_max, 16);
	REFUSE(held_max, 0);
	REFUSE(held_max, 1025);
	REFUSE(kind, 3);
	REFUSE(metadata_type[15], 'x');
}

static void refuse_service(const struct ww_wire_service_ref *ref)
{
	struct ww_wire_service_ref again;
	uint8_t bytes[WW_SERVICE_REF_BYTES];

	ww_service_ref_write(ref, bytes);
	assert_int_equal(ww_service_ref_read(bytes, sizeof(bytes), &again), WW_ERR_PROTOCOL);
}

UNIT_TEST(service_that_cannot_be_is_refused)
{
	struct ww_wire_service_ref ref;

#undef REFUSE
#define REFUSE(field, value)          \
	do {                          \
		ref = a_service();    \
		ref.field = value;    \
		refuse_service(&ref); \
	} while (0)
	REFUSE(page_bytes, 100);
	REFUSE(functions_max, 0);
	REFUSE(functions_max, 1025);
	REFUSE(clients_max, 0);
	REFUSE(clients_max, 4097);
	REFUSE(calls_max, 0);
	REFUSE(calls_max, 3);
	REFUSE(calls_max, 2048);
	REFUSE(arguments_bytes, 0);
	REFUSE(arguments_bytes, 100);
	REFUSE(results_bytes, 1 << 21);
	REFUSE(reserved, 1);
	REFUSE(text[31], 'x');
}

UNIT_TEST(every_flipped_bit_is_noticed)
{
	uint8_t bytes[MOST_BYTES];

	for (size_t kind = 0; kind < KINDS; kind++) {
		write_kind(kind, bytes);
		for (size_t bit = 0; bit < sizes[kind] * 8; bit++) {
			bytes[bit / 8] ^= (uint8_t)(1U << bit % 8);
			assert_true(read_kind(kind, bytes, sizes[kind]) < 0);
			bytes[bit / 8] ^= (uint8_t)(1U << bit % 8);
		}
		assert_ok(read_kind(kind, bytes, sizes[kind]));
	}
}

UNIT_TEST(another_kind_or_size_is_refused)
{
	uint8_t bytes[MOST_BYTES] = {0};

	for (size_t kind = 0; kind < KINDS; kind++) {
		for (size_t other = 0; other < KINDS; other++) {
			memset(bytes, 0, sizeof(bytes));
			write_kind(other, bytes);
			assert_int_equal(read_kind(kind, bytes, sizes[kind]),
				kind == other ? WW_OK : WW_ERR_PROTOCOL);
		}
		write_kind(kind, bytes);
		assert_int_equal(read_kind(kind, bytes, sizes[kind] - 1), WW_ERR_PROTOCOL);
		assert_int_equal(read_kind(kind, bytes, 0), WW_ERR_PROTOCOL);
		bytes[8]++;
		assert_int_equal(read_kind(kind, bytes, sizes[kind]), WW_ERR_VERSION);
		assert_non_null(strstr(ww_error_last()->message, "version 2"));
	}
}

/* Sealed rightly, and yet impossible. */
UNIT_TEST(what_cannot_be_is_refused)
{
	struct ww_wire_timeline_ref timeline = {.page_bytes = 4096};
	struct ww_wire_barrier_ref barrier = {.count = 1024};
	uint8_t bytes[MOST_BYTES];

	ww_timeline_ref_write(&timeline, bytes);
	assert_ok(read_kind(0, bytes, sizes[0]));
	for (uint64_t page_bytes = 0; page_bytes <= 4097; page_bytes += 4097) {
		timeline.page_bytes = page_bytes;
		ww_timeline_ref_write(&timeline, bytes);
		assert_int_equal(read_kind(0, bytes, sizes[0]), WW_ERR_PROTOCOL);
	}
	timeline.page_bytes = UINT64_C(1) << 40;
	ww_timeline_ref_write(&timeline, bytes);
	assert_int_equal(read_kind(0, bytes, sizes[0]), WW_ERR_PROTOCOL);
	ww_barrier_ref_write(&barrier, bytes);
	assert_ok(read_kind(1, bytes, sizes[1]));
	for (uint32_t count = 0; count <= 1025; count += 1025) {
		barrier.count = count;
		ww_barrier_ref_write(&barrier, bytes);
		assert_int_equal(read_kind(1, bytes, sizes[1]), WW_ERR_PROTOCOL);
	}
}

static ww_status read_pool(const struct ww_wire_pool_ref *ref)
{
	uint8_t bytes[WW_POOL_REF_BYTES];

	ww_pool_ref_write(ref, bytes);
	return read_kind(3, bytes, sizeof(bytes));
}

static ww_status read_holder(const struct ww_wire_pool_holder_ref *ref)
{
	uint8_t bytes[WW_POOL_HOLDER_REF_BYTES];

	ww_pool_holder_ref_write(ref, bytes);
	return read_kind(4, bytes, sizeof(bytes));
}

static const uint64_t impossible_bytes[] = {0, 1, 4095, 4097, UINT64_C(1) << 40, UINT64_MAX,
	UINT64_MAX - 4095};

#define IMPOSSIBLE (sizeof(impossible_bytes) / sizeof(impossible_bytes[0]))

UNIT_TEST(what_cannot_be_of_a_pool_is_refused)
{
	struct ww_wire_pool_ref ref = a_pool();

	assert_ok(read_pool(&ref));
	ref.kind = WW_MEMORY_HOST;
	assert_ok(read_pool(&ref));
	ref.kind = 0;
	assert_int_equal(read_pool(&ref), WW_ERR_PROTOCOL);
	ref.kind = WW_MEMORY_LEGACY;
	assert_int_equal(read_pool(&ref), WW_ERR_PROTOCOL);
	for (size_t i = 0; i < IMPOSSIBLE; i++) {
		ref = a_pool();
		ref.page_bytes = impossible_bytes[i];
		assert_int_equal(read_pool(&ref), WW_ERR_PROTOCOL);
		ref = a_pool();
		ref.table_bytes = impossible_bytes[i];
		assert_int_equal(read_pool(&ref), WW_ERR_PROTOCOL);
	}
	ref = a_pool();
	ref.table_bytes -= 4096; /* one page too few for its slots */
	assert_int_equal(read_pool(&ref), WW_ERR_PROTOCOL);
}

UNIT_TEST(what_cannot_be_of_a_pools_user_is_refused)
{
	struct ww_wire_pool_holder_ref ref = a_holder();

	assert_ok(read_holder(&ref));
	for (size_t i = 0; i < IMPOSSIBLE; i++) {
		ref = a_holder();
		ref.page_bytes = impossible_bytes[i];
		assert_int_equal(read_holder(&ref), WW_ERR_PROTOCOL);
		ref = a_holder();
		ref.marks_bytes = impossible_bytes[i];
		assert_int_equal(read_holder(&ref), WW_ERR_PROTOCOL);
	}
	ref = a_holder();
	ref.marks_bytes -= 4096;
	assert_int_equal(read_holder(&ref), WW_ERR_PROTOCOL);
}

UNIT_TEST(slots_are_a_power_of_two)
{
	static const uint32_t wrong[] = {0, 3, 1023, UINT32_C(1) << 21, UINT32_C(1) << 31,
		UINT32_MAX};
	struct ww_wire_pool_ref pool = a_pool();
	struct ww_wire_pool_holder_ref holder = a_holder();

	pool.table_bytes = UINT64_C(64) << 20;
	holder.marks_bytes = UINT64_C(64) << 20;
	for (uint32_t count = 1; count <= UINT32_C(1) << 20; count <<= 1) {
		pool.slot_count = count;
		holder.slot_count = count;
		assert_ok(read_pool(&pool));
		assert_ok(read_holder(&holder));
	}
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		pool.slot_count = wrong[i];
		holder.slot_count = wrong[i];
		assert_int_equal(read_pool(&pool), WW_ERR_PROTOCOL);
		assert_int_equal(read_holder(&holder), WW_ERR_PROTOCOL);
	}
}

UNIT_MAIN("object_ref")
