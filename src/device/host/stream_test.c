/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream_test.c - host streams: order, asynchrony, lifetime
 */
#include "base/unit.h"

#include <semaphore.h>
#include <stdatomic.h>
#include <string.h>

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

static void copies_wait_for_what_came_before(void **state)
{
	char from[] = "new";
	char to[] = "old";
	ww_stream *stream;
	sem_t gate;

	(void)state;
	sem_init(&gate, 0, 0);
	assert_int_equal(ww_stream_create(device, &stream), WW_OK);
	assert_int_equal(ww_stream_call(stream, wait_for, &gate), WW_OK);
	assert_int_equal(ww_stream_copy(stream, to, from, sizeof(to)), WW_OK);
	assert_int_equal(ww_stream_query(stream), WW_NOT_READY);
	assert_string_equal(to, "old");
	sem_post(&gate);
	assert_int_equal(ww_stream_synchronize(stream), WW_OK);
	assert_string_equal(to, "new");
	assert_int_equal(ww_stream_query(stream), WW_OK);
	ww_stream_unref(stream);
	sem_destroy(&gate);
}

static void fills(void **state)
{
	uint32_t words[4] = {1, 1, 1, 1};
	ww_stream *stream;

	(void)state;
	assert_int_equal(ww_stream_create(device, &stream), WW_OK);
	assert_int_equal(ww_stream_fill(stream, &words[1], 0xaabbccdd, 4, 2), WW_OK);
	assert_int_equal(ww_stream_synchronize(stream), WW_OK);
	assert_int_equal(words[0], 1);
	assert_int_equal(words[1], 0xaabbccdd);
	assert_int_equal(words[2], 0xaabbccdd);
	assert_int_equal(words[3], 1);
	assert_int_equal(ww_stream_fill(stream, words, 0xaabbccdd, 2, 3), WW_OK);
	assert_int_equal(ww_stream_fill(stream, &words[3], 0x11ff, 1, 3), WW_OK);
	assert_int_equal(ww_stream_synchronize(stream), WW_OK);
	assert_int_equal(words[0], 0xccddccdd);
	assert_int_equal(words[1], 0xaabbccdd);
	assert_int_equal(words[3], 0x00ffffff);
	assert_fails(ww_stream_fill(stream, words, 0, 3, 1), WW_ERR_INVALID);
	assert_fails(ww_stream_fill(stream, (char *)words + 1, 0, 2, 1), WW_ERR_INVALID);
	assert_fails(ww_stream_fill(stream, words, 0, 4, UINT64_MAX / 2), WW_ERR_OVERFLOW);
	ww_stream_unref(stream);
}

static void pending_work_keeps_its_memory(void **state)
{
	char to[] = "old";
	struct ww_mapping *memory;
	ww_stream *stream;
	sem_t gate;

	(void)state;
	sem_init(&gate, 0, 0);
	assert_int_equal(ww_mapping_create(device, WW_MEMORY_VMM, 2 << 20, &memory), WW_OK);
	memcpy(memory->host_pointer, "new", 4);
	assert_int_equal(ww_stream_create(device, &stream), WW_OK);
	assert_int_equal(ww_stream_call(stream, wait_for, &gate), WW_OK);
	assert_int_equal(ww_stream_copy(stream, to, memory->pointer, sizeof(to)), WW_OK);
	ww_mapping_unref(memory);
	assert_int_equal(ww_mapping_count(), 1);
	sem_post(&gate);
	assert_int_equal(ww_stream_synchronize(stream), WW_OK);
	assert_string_equal(to, "new");
	assert_int_equal(ww_mapping_count(), 0);
	ww_stream_unref(stream);
	sem_destroy(&gate);
}

static void the_last_unref_runs_what_is_left(void **state)
{
	char from[] = "new";
	char to[] = "old";
	ww_stream *stream;

	(void)state;
	assert_int_equal(ww_stream_create(device, &stream), WW_OK);
	assert_int_equal(ww_stream_copy(stream, to, from, sizeof(to)), WW_OK);
	ww_stream_unref(stream);
	assert_string_equal(to, "new");
}

struct inside {
	ww_stream *stream;
	_Atomic ww_status status;
	sem_t done;
};

static void synchronize_inside(void *context)
{
	struct inside *inside = context;

	atomic_store(&inside->status, ww_stream_synchronize(inside->stream));
}

static void post(void *semaphore)
{
	sem_post(semaphore);
}

static void unref_inside(void *context)
{
	struct inside *inside = context;

	ww_stream_unref(inside->stream);
}

static void a_stream_cannot_wait_for_itself(void **state)
{
	struct inside inside;

	(void)state;
	assert_int_equal(ww_stream_create(device, &inside.stream), WW_OK);
	assert_int_equal(ww_stream_call(inside.stream, synchronize_inside, &inside), WW_OK);
	assert_int_equal(ww_stream_synchronize(inside.stream), WW_OK);
	assert_int_equal(atomic_load(&inside.status), WW_ERR_INVALID);
	ww_stream_unref(inside.stream);
}

/* Its own function lets go of it last; what came after still runs. */
static void a_stream_may_end_by_its_own_hand(void **state)
{
	struct inside inside;
	sem_t gate;

	(void)state;
	sem_init(&inside.done, 0, 0);
	sem_init(&gate, 0, 0);
	assert_int_equal(ww_stream_create(device, &inside.stream), WW_OK);
	assert_int_equal(ww_stream_call(inside.stream, wait_for, &gate), WW_OK);
	assert_int_equal(ww_stream_call(inside.stream, unref_inside, &inside), WW_OK);
	assert_int_equal(ww_stream_call(inside.stream, post, &inside.done), WW_OK);
	sem_post(&gate);
	wait_for(&inside.done);
	sem_destroy(&gate);
	sem_destroy(&inside.done);
}

static void no_foreign_streams(void **state)
{
	ww_stream *stream;

	(void)state;
	assert_fails(ww_stream_wrap(device, NULL, &stream), WW_ERR_UNSUPPORTED);
	assert_null(stream);
	assert_null(ww_stream_native(NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(copies_wait_for_what_came_before),
		cmocka_unit_test(fills),
		cmocka_unit_test(pending_work_keeps_its_memory),
		cmocka_unit_test(the_last_unref_runs_what_is_left),
		cmocka_unit_test(a_stream_cannot_wait_for_itself),
		cmocka_unit_test(a_stream_may_end_by_its_own_hand),
		cmocka_unit_test(no_foreign_streams),
	};

	return cmocka_run_group_tests_name("host_stream", tests, open_host, close_host);
}
