/* SPDX-License-Identifier: Apache-2.0 */
/*
 * object_ref_test.c - descriptions of timelines, barriers and events: written, read, and what a stranger may write
 */
#include "base/unit.h"

#include <string.h>

#include "base/error.h"
#include "wire/object_ref.h"

#define MOST_BYTES WW_EVENT_REF_BYTES

static struct ww_wire_event_ref an_event(void)
{
	struct ww_wire_event_ref ref = {.pid = 4711, .process_id = "maker", .device_uuid = "gpu"};

	memset(ref.handle, 0x5a, sizeof(ref.handle));
	return ref;
}

/* A good one of each kind: timeline, barrier, event. */
static void write_kind(size_t kind, uint8_t *out)
{
	const struct ww_wire_timeline_ref timeline = {
		.page_bytes = 16384,
		.cell_offset = 256,
		.page_id = "page",
	};
	const struct ww_wire_barrier_ref barrier = {.count = 3, .barrier_id = "barrier"};
	const struct ww_wire_event_ref event = an_event();

	if (kind == 0)
		ww_timeline_ref_write(&timeline, out);
	else if (kind == 1)
		ww_barrier_ref_write(&barrier, out);
	else
		ww_event_ref_write(&event, out);
}

static ww_status read_kind(size_t kind, const uint8_t *bytes, size_t count)
{
	struct ww_wire_timeline_ref timeline;
	struct ww_wire_barrier_ref barrier;
	struct ww_wire_event_ref event;

	if (kind == 0)
		return ww_timeline_ref_read(bytes, count, &timeline);
	if (kind == 1)
		return ww_barrier_ref_read(bytes, count, &barrier);
	return ww_event_ref_read(bytes, count, &event);
}

static const size_t sizes[] = {WW_TIMELINE_REF_BYTES, WW_BARRIER_REF_BYTES, WW_EVENT_REF_BYTES};

static void what_is_written_is_read(void **state)
{
	const struct ww_wire_event_ref event = an_event();
	struct ww_wire_timeline_ref timeline;
	struct ww_wire_barrier_ref barrier;
	struct ww_wire_event_ref again;
	uint8_t bytes[MOST_BYTES];

	(void)state;
	write_kind(0, bytes);
	assert_int_equal(ww_timeline_ref_read(bytes, sizes[0], &timeline), WW_OK);
	assert_int_equal(timeline.page_bytes, 16384);
	assert_int_equal(timeline.cell_offset, 256);
	assert_memory_equal(timeline.page_id, "page", 5);
	write_kind(1, bytes);
	assert_int_equal(ww_barrier_ref_read(bytes, sizes[1], &barrier), WW_OK);
	assert_int_equal(barrier.count, 3);
	assert_memory_equal(barrier.barrier_id, "barrier", 8);
	write_kind(2, bytes);
	assert_int_equal(ww_event_ref_read(bytes, sizes[2], &again), WW_OK);
	assert_int_equal(again.pid, 4711);
	assert_memory_equal(again.process_id, event.process_id, sizeof(event.process_id));
	assert_memory_equal(again.device_uuid, event.device_uuid, sizeof(event.device_uuid));
	assert_memory_equal(again.handle, event.handle, sizeof(event.handle));
	assert_memory_equal(again.timeline, event.timeline, sizeof(event.timeline));
}

static void every_flipped_bit_is_noticed(void **state)
{
	uint8_t bytes[MOST_BYTES];

	(void)state;
	for (size_t kind = 0; kind < 3; kind++) {
		write_kind(kind, bytes);
		for (size_t bit = 0; bit < sizes[kind] * 8; bit++) {
			bytes[bit / 8] ^= (uint8_t)(1U << bit % 8);
			assert_true(read_kind(kind, bytes, sizes[kind]) < 0);
			bytes[bit / 8] ^= (uint8_t)(1U << bit % 8);
		}
		assert_int_equal(read_kind(kind, bytes, sizes[kind]), WW_OK);
	}
}

static void another_kind_or_size_is_refused(void **state)
{
	uint8_t bytes[MOST_BYTES] = {0};

	(void)state;
	for (size_t kind = 0; kind < 3; kind++) {
		for (size_t other = 0; other < 3; other++) {
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
static void what_cannot_be_is_refused(void **state)
{
	struct ww_wire_timeline_ref timeline = {.page_bytes = 4096};
	struct ww_wire_barrier_ref barrier = {.count = 1024};
	uint8_t bytes[MOST_BYTES];

	(void)state;
	ww_timeline_ref_write(&timeline, bytes);
	assert_int_equal(read_kind(0, bytes, sizes[0]), WW_OK);
	for (uint64_t page_bytes = 0; page_bytes <= 4097; page_bytes += 4097) {
		timeline.page_bytes = page_bytes;
		ww_timeline_ref_write(&timeline, bytes);
		assert_int_equal(read_kind(0, bytes, sizes[0]), WW_ERR_PROTOCOL);
	}
	timeline.page_bytes = UINT64_C(1) << 40;
	ww_timeline_ref_write(&timeline, bytes);
	assert_int_equal(read_kind(0, bytes, sizes[0]), WW_ERR_PROTOCOL);
	ww_barrier_ref_write(&barrier, bytes);
	assert_int_equal(read_kind(1, bytes, sizes[1]), WW_OK);
	for (uint32_t count = 0; count <= 1025; count += 1025) {
		barrier.count = count;
		ww_barrier_ref_write(&barrier, bytes);
		assert_int_equal(read_kind(1, bytes, sizes[1]), WW_ERR_PROTOCOL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_is_read),
		cmocka_unit_test(every_flipped_bit_is_noticed),
		cmocka_unit_test(another_kind_or_size_is_refused),
		cmocka_unit_test(what_cannot_be_is_refused),
	};

	return cmocka_run_group_tests_name("object_ref", tests, NULL, NULL);
}
