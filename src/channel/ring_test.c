/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring_test.c - the steps of a ring and of a consumer's marks, one after the other
 *
 * That they hold in any order is what the model and the tests with processes show. Only the order
 * of a frame's bytes is tested with two threads here.
 */
#include "channel/ring.h"

#include "base/unit_test.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

#define SLOTS 4
#define HELD  2

static const struct ww_ring_size size = {SLOTS, 8, HELD};
static const uint8_t id[WW_WIRE_ID_BYTES] = {1, 2, 3};

struct sides {
	struct ww_ring ring;
	struct ww_channel_marks marks;
};

static struct sides open_sides(bool runs_ahead)
{
	struct sides sides;

	memset(&sides, 0, sizeof(sides));
	assert_ok(ww_ring_create(&sides.ring, id, &size));
	assert_ok(ww_channel_marks_create(&sides.marks, id, &size, runs_ahead));
	return sides;
}

static void close_sides(struct sides *sides)
{
	ww_channel_marks_fini(&sides->marks);
	ww_ring_fini(&sides->ring);
}

static void publish(struct sides *sides, uint64_t first, uint64_t last)
{
	for (uint64_t frame = first; frame <= last; frame++)
		ww_ring_publish(&sides->ring, (uint32_t)(frame % SLOTS), frame, 1000 + frame);
}

static enum ww_slot_use use_of(const struct sides *sides, uint64_t frame, bool is_owed,
	uint64_t *out_value)
{
	return ww_channel_marks_use(&sides->marks, (uint32_t)(frame % SLOTS), frame, is_owed,
		out_value);
}

static void must_be_used(const struct sides *sides, uint64_t frame, bool is_owed,
	enum ww_slot_use use, uint64_t value)
{
	uint64_t found;

	assert_int_equal(use_of(sides, frame, is_owed, &found), use);
	assert_int_equal(found, value);
}

/* --- the ring --- */

UNIT_TEST(frames_are_found)
{
	struct sides sides = open_sides(false);
	uint32_t slot;

	assert_int_equal(ww_ring_published(&sides.ring), 0);
	assert_false(ww_ring_find(&sides.ring, 1, &slot));
	publish(&sides, 1, 3);
	assert_int_equal(ww_ring_published(&sides.ring), 3);
	assert_int_equal(ww_ring_published_ns(&sides.ring), 1003);
	for (uint64_t frame = 1; frame <= 3; frame++) {
		assert_true(ww_ring_find(&sides.ring, frame, &slot));
		assert_int_equal(slot, frame % SLOTS);
		assert_true(ww_ring_has(&sides.ring, slot, frame));
	}
	assert_false(ww_ring_find(&sides.ring, 4, &slot));
	assert_false(ww_ring_is_closed(&sides.ring));
	ww_ring_close(&sides.ring);
	assert_true(ww_ring_is_closed(&sides.ring));
	close_sides(&sides);
}

/* A slot that is taken back has no frame, until it is reopened or gets another one. */
UNIT_TEST(slots_are_taken_back)
{
	struct sides sides = open_sides(false);

	publish(&sides, 1, 1);
	ww_ring_close_slot(&sides.ring, 1);
	assert_false(ww_ring_has(&sides.ring, 1, 1));
	assert_false(ww_channel_marks_take(&sides.marks, &sides.ring, 0, 1, 1));
	must_be_used(&sides, 1, false, WW_SLOT_UNUSED, 0); /* the mark is free again */
	ww_ring_reopen_slot(&sides.ring, 1, 1);
	assert_true(ww_channel_marks_take(&sides.marks, &sides.ring, 0, 1, 1));
	must_be_used(&sides, 1, false, WW_SLOT_NEEDED, 0);
	close_sides(&sides);
}

/* What a hostile producer stores is never more than what can be. */
UNIT_TEST(numbers_are_cut)
{
	struct sides sides = open_sides(false);
	uint32_t slot;

	sides.ring.header->published = UINT64_MAX;
	assert_int_equal(ww_ring_published(&sides.ring), WW_RING_FRAMES_MAX);
	memset(sides.ring.places, 0xff, sides.ring.place_count * sizeof(*sides.ring.places));
	for (uint64_t frame = 1; frame <= sides.ring.place_count; frame++)
		assert_false(ww_ring_find(&sides.ring, frame, &slot));
	close_sides(&sides);
}

UNIT_TEST(evictions_name_one)
{
	const struct ww_layout_channel_eviction eviction = {.consumer = 77};
	struct sides sides = open_sides(false);

	assert_false(ww_ring_has_evicted(&sides.ring, 3, 77));
	ww_ring_evict(&sides.ring, 3, &eviction);
	assert_true(ww_ring_has_evicted(&sides.ring, 3, 77));
	assert_false(ww_ring_has_evicted(&sides.ring, 3, 78)); /* the next one of that number */
	assert_false(ww_ring_has_evicted(&sides.ring, 2, 77));
	assert_int_not_equal(ww_ring_consumer_id((const uint8_t[WW_WIRE_ID_BYTES]){0}), 0);
	close_sides(&sides);
}

/* --- marks --- */

UNIT_TEST(begins_where_frames_are)
{
	struct sides sides = open_sides(false);

	assert_int_equal(ww_channel_marks_begin(&sides.marks, &sides.ring, 1), 1);
	publish(&sides, 1, 6); /* frames 1 and 2 have been written over */
	assert_int_equal(ww_channel_marks_begin(&sides.marks, &sides.ring, 1), 3);
	assert_int_equal(sides.marks.header->next, 3);
	assert_int_equal(ww_channel_marks_begin(&sides.marks, &sides.ring, 7), 7);
	publish(&sides, 7, 1000);
	assert_int_equal(ww_channel_marks_begin(&sides.marks, &sides.ring, 7), 997);
	assert_int_equal(sides.marks.header->next, 997);
	close_sides(&sides);
}

/* A frame from `next` on is owed; before it only one that has a mark is needed. */
UNIT_TEST(frames_are_owed)
{
	struct sides sides = open_sides(false);

	publish(&sides, 1, 3);
	ww_channel_marks_set_next(&sides.marks, 2);
	must_be_used(&sides, 1, true, WW_SLOT_UNUSED, 0);
	must_be_used(&sides, 2, true, WW_SLOT_NEEDED, 0);
	must_be_used(&sides, 3, true, WW_SLOT_NEEDED, 0);
	must_be_used(&sides, 3, false, WW_SLOT_UNUSED, 0);
	ww_channel_marks_end(&sides.marks);
	must_be_used(&sides, 3, true, WW_SLOT_UNUSED, 0);
	close_sides(&sides);
}

UNIT_TEST(marks_are_released)
{
	struct sides sides = open_sides(false);

	publish(&sides, 1, 2);
	assert_true(ww_channel_marks_take(&sides.marks, &sides.ring, 0, 1, 1));
	assert_true(ww_channel_marks_take(&sides.marks, &sides.ring, 1, 2, 2));
	ww_channel_marks_release(&sides.marks, 0, 1, 0);
	must_be_used(&sides, 1, false, WW_SLOT_UNUSED, 0);
	must_be_used(&sides, 2, false, WW_SLOT_NEEDED, 0);
	ww_channel_marks_release(&sides.marks, 1, 2, 9); /* when a stream is there */
	must_be_used(&sides, 2, false, WW_SLOT_RELEASING, 9);
	close_sides(&sides);
}

/* With runs_ahead the mark is free at once, and the slot says when the work is complete. */
UNIT_TEST(marks_run_ahead)
{
	struct sides sides = open_sides(true);

	publish(&sides, 1, 1);
	assert_true(ww_channel_marks_take(&sides.marks, &sides.ring, 0, 1, 1));
	ww_channel_marks_release(&sides.marks, 0, 1, 5);
	assert_int_equal(sides.marks.at[0].frame, 0);
	must_be_used(&sides, 1, false, WW_SLOT_RELEASING, 5);
	assert_int_equal(ww_channel_marks_released(&sides.marks, 1), 5);
	assert_int_equal(ww_channel_marks_released(&sides.marks, 2), 0);
	close_sides(&sides);
}

/* A value that no timeline reaches would keep a slot for ever: it counts as none. */
UNIT_TEST(forged_values_are_none)
{
	struct sides sides = open_sides(true);
	uint64_t value;

	sides.marks.releases[1] = UINT64_MAX;
	assert_int_equal(ww_channel_marks_released(&sides.marks, 1), 0);
	sides.marks.at[0].frame = 1;
	sides.marks.at[0].release = UINT64_MAX;
	assert_int_equal(ww_channel_marks_frame(&sides.marks, 0, &value), 1);
	assert_int_equal(value, 0);
	close_sides(&sides);
}

/* --- files of others --- */

/* A file of this size with what `from` begins with. */
static int copy_file(const void *from, uint64_t bytes, uint64_t length)
{
	int fd = memfd_create("copy", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)length), 0);
	assert_int_equal(pwrite(fd, from, bytes < length ? bytes : length, 0),
		bytes < length ? bytes : length);
	return fd;
}

static ww_status import(const struct ww_channel_marks *marks, uint64_t length,
	const struct ww_ring_size *expected)
{
	struct ww_channel_marks imported;
	int fd = copy_file(marks->mapping->host_pointer, marks->mapping->bytes, length);
	ww_status status;

	memset(&imported, 0, sizeof(imported));
	status = ww_channel_marks_import(&imported, fd, ww_channel_marks_bytes(expected), id,
		expected);
	ww_channel_marks_fini(&imported);
	close(fd);
	return status;
}

UNIT_TEST(files_that_are_none)
{
	static const struct ww_ring_size larger = {4096, 8, 4096};
	struct sides sides = open_sides(false);

	assert_true(import(&sides.marks, 100, &size) < 0);                        /* too short */
	assert_true(import(&sides.marks, sides.marks.mapping->bytes, &size) < 0); /* not sealed */
	assert_true(import(&sides.marks, sides.marks.mapping->bytes, &larger) < 0);
	close_sides(&sides);
}

/* --- bytes that are stored past the caches --- */

#define STREAMED_FRAMES 50000
#define WORDS           64 /* of a slot; eight are in a cache line */

static struct {
	struct ww_ring *ring;
	_Alignas(64) long long words[SLOTS][WORDS];
	uint64_t seen; /* frames that the reader has seen */
	uint64_t torn;
} streamed;

static void store_past_caches(long long *at, uint64_t value)
{
#if defined(__x86_64__)
	_mm_stream_si64(at, (long long)value);
#else
	__atomic_store_n(at, (long long)value, __ATOMIC_RELAXED);
#endif
}

static void *read_streamed(void *context)
{
	(void)context;
	for (uint64_t frame = 1; frame <= STREAMED_FRAMES; frame++) {
		const long long *words = streamed.words[frame % SLOTS];
		bool is_torn = false;

		while (!ww_ring_has(streamed.ring, frame % SLOTS, frame))
			sched_yield();
		for (int i = WORDS - 8; i >= 0; i -= 8)
			is_torn |= __atomic_load_n(&words[i], __ATOMIC_RELAXED) != (long long)frame;
		streamed.torn += is_torn;
		__atomic_store_n(&streamed.seen, frame, __ATOMIC_RELEASE);
	}
	return NULL;
}

/* If a frame is seen, all its bytes are, however they were stored. */
UNIT_TEST(streamed_bytes_come_first)
{
	struct sides sides = open_sides(false);
	pthread_t reader;

	streamed.ring = &sides.ring;
	assert_int_equal(pthread_create(&reader, NULL, read_streamed, NULL), 0);
	for (uint64_t frame = 1; frame <= STREAMED_FRAMES; frame++) {
		for (int i = 0; i < WORDS; i += 8)
			store_past_caches(&streamed.words[frame % SLOTS][i], frame);
		publish(&sides, frame, frame);
		while (__atomic_load_n(&streamed.seen, __ATOMIC_ACQUIRE) < frame)
			sched_yield();
	}
	assert_int_equal(pthread_join(reader, NULL), 0);
	assert_int_equal(streamed.torn, 0);
	close_sides(&sides);
}

UNIT_MAIN("ring")
