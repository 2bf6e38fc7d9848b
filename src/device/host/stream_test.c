/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream_test.c - host streams: values in shared memory, and the memory that waits and copies keep
 *
 * Their order and their lifetime are tested in tests/conformance/stream.c.
 */
#include "base/unit_test.h"

#include <semaphore.h>
#include <string.h>

#include "base/await.h"
#include "device/mapping.h"

static ww_device *device;

static int open_host(void **state)
{
	(void)state;
	return ww_device_open("host", &device);
}

static int close_host(void **state)
{
	(void)state;
	device = ww_device_unref(device);
	return 0;
}

static void wait_for(void *semaphore)
{
	while (sem_wait(semaphore) < 0)
		;
}

UNIT_TEST(pending_work_keeps_its_memory)
{
	char to[] = "old";
	struct ww_mapping *memory;
	ww_stream *stream;
	sem_t gate;

	sem_init(&gate, 0, 0);
	assert_ok(ww_mapping_create(device, WW_MEMORY_VMM, 2 << 20, &memory));
	memcpy(memory->host_pointer, "new", 4);
	assert_ok(ww_stream_create(device, &stream));
	assert_ok(ww_stream_call(stream, wait_for, &gate));
	assert_ok(ww_stream_copy(stream, to, memory->pointer, sizeof(to)));
	ww_mapping_unref(memory);
	assert_int_equal(ww_mapping_count(), 1);
	sem_post(&gate);
	assert_ok(ww_stream_synchronize(stream, WW_FOREVER, NULL));
	assert_string_equal(to, "new");
	assert_int_equal(ww_mapping_count(), 0);
	ww_stream_unref(stream);
	sem_destroy(&gate);
}

/* As a cell of a signal page has them. */
struct words {
	uint64_t value;
	uint32_t wakes;
	uint32_t by_gpu;
};

static struct ww_mapping *map_words(struct words **out_words)
{
	struct ww_mapping *mapping;

	assert_ok(ww_mapping_create(device, WW_MEMORY_HOST, 4096, &mapping));
	*out_words = mapping->host_pointer;
	return mapping;
}

static ww_status wait_for_value(ww_stream *stream, struct ww_mapping *mapping, uint64_t value)
{
	return device->backend->stream_wait_values(stream,
		&(struct ww_stream_value){
			.mapping = mapping,
			.offset = offsetof(struct words, value),
			.wakes_offset = offsetof(struct words, wakes),
			.by_gpu_offset = offsetof(struct words, by_gpu),
			.value = value,
		},
		1);
}

static ww_status write_value(ww_stream *stream, struct ww_mapping *mapping, uint64_t value)
{
	return device->backend->stream_write_value(stream,
		&(struct ww_stream_value){
			.mapping = mapping,
			.offset = offsetof(struct words, value),
			.wakes_offset = offsetof(struct words, wakes),
			.by_gpu_offset = offsetof(struct words, by_gpu),
			.value = value,
		});
}

static void store(uint64_t *word, uint64_t value)
{
	__atomic_store_n(word, value, __ATOMIC_RELEASE);
}

UNIT_TEST(streams_wait_for_values)
{
	struct words *words;
	struct ww_mapping *mapping = map_words(&words);
	ww_stream *stream;

	assert_ok(ww_stream_create(device, &stream));
	store(&words->value, UINT64_MAX); /* one behind 0 */
	assert_ok(wait_for_value(stream, mapping, 3));
	assert_int_equal(ww_stream_query(stream), WW_NOT_READY);
	store(&words->value, 2);
	ww_await_wake(&words->wakes);
	assert_int_equal(ww_stream_query(stream), WW_NOT_READY);
	store(&words->value, INT64_MAX);
	ww_await_wake(&words->wakes);
	assert_ok(ww_stream_synchronize(stream, WW_FOREVER, NULL));
	assert_int_equal(words->wakes, 2);
	ww_stream_unref(stream);
	ww_mapping_unref(mapping);
}

UNIT_TEST(streams_answer_each_other)
{
	struct words *words;
	struct ww_mapping *mapping = map_words(&words);
	ww_stream *streams[2];

	for (int i = 0; i < 2; i++)
		assert_ok(ww_stream_create(device, &streams[i]));
	for (uint64_t i = 0; i < 1000; i++) {
		assert_ok(wait_for_value(streams[i % 2], mapping, i));
		assert_ok(write_value(streams[i % 2], mapping, i + 1));
	}
	for (int i = 0; i < 2; i++)
		assert_ok(ww_stream_synchronize(streams[i], WW_FOREVER, NULL));
	assert_int_equal(words->value, 1000);
	assert_int_equal(words->wakes, 1000);
	for (int i = 0; i < 2; i++)
		ww_stream_unref(streams[i]);
	ww_mapping_unref(mapping);
}

/* The word says so while the stream is asleep already; a GPU then stores without a wake. */
UNIT_TEST(streams_look_where_a_gpu_stores)
{
	struct words *words;
	struct ww_mapping *mapping = map_words(&words);
	ww_stream *stream;

	assert_ok(ww_stream_create(device, &stream));
	assert_ok(wait_for_value(stream, mapping, 1));
	__atomic_store_n(&words->by_gpu, 1, __ATOMIC_RELEASE);
	ww_await_wake(&words->wakes);
	store(&words->value, 1);
	assert_ok(ww_stream_synchronize(stream, WW_FOREVER, NULL));
	ww_stream_unref(stream);
	ww_mapping_unref(mapping);
}

UNIT_TEST(a_wait_keeps_its_memory)
{
	struct words *words;
	struct ww_mapping *mapping = map_words(&words);
	ww_stream *stream;

	assert_ok(ww_stream_create(device, &stream));
	assert_ok(wait_for_value(stream, mapping, 1));
	ww_mapping_unref(mapping);
	assert_int_equal(ww_mapping_count(), 1);
	store(&words->value, 1);
	ww_await_wake(&words->wakes);
	assert_ok(ww_stream_synchronize(stream, WW_FOREVER, NULL));
	assert_int_equal(ww_mapping_count(), 0);
	ww_stream_unref(stream);
}

UNIT_MAIN_WITH("host_stream", open_host, close_host)
