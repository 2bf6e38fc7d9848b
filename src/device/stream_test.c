/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream_test.c - watches: asked by every call, freed when they await nothing, obeyed when they object
 */
#include "device/stream.h"

#include "base/unit.h"

#include <stdlib.h>
#include <string.h>

struct watch {
	struct ww_stream_watch base;
	ww_status answer;
	const char *words;
	int checks;
	bool is_freed;
};

static ww_device *device;
static ww_stream *stream;

static struct watch *from_base(struct ww_stream_watch *watch)
{
	return ww_container(watch, struct watch, base);
}

static ww_status check(struct ww_stream_watch *base)
{
	struct watch *watch = from_base(base);

	assert_int_not_equal(pthread_mutex_trylock(&stream->watch_lock), 0);
	watch->checks++;
	return watch->answer < 0 ? ww_fail(watch->answer, "%s", watch->words) : watch->answer;
}

static void set_free(struct ww_stream_watch *base, bool may_block)
{
	(void)may_block;
	assert_int_equal(pthread_mutex_trylock(&stream->watch_lock), 0);
	pthread_mutex_unlock(&stream->watch_lock);
	from_base(base)->is_freed = true;
}

static void put(struct watch *watch)
{
	watch->base.owner = watch;
	watch->base.check = check;
	watch->base.free = set_free;
	ww_stream_watch_lock(stream);
	assert_null(ww_stream_watch_find(stream, watch));
	ww_stream_watch_add(stream, &watch->base);
	assert_ptr_equal(ww_stream_watch_find(stream, watch), &watch->base);
	ww_stream_watch_unlock(stream);
}

static int begin(void **state)
{
	(void)state;
	return ww_device_open("host", &device) || ww_stream_create(device, &stream);
}

static int end(void **state)
{
	(void)state;
	stream = ww_stream_unref(stream);
	device = ww_device_unref(device);
	return 0;
}

static void nothing(void *context)
{
	(void)context;
}

static void serials_differ(void **state)
{
	ww_stream *other;

	(void)state;
	assert_int_equal(ww_stream_create(device, &other), WW_OK);
	assert_true(stream->serial > 0 && other->serial > stream->serial);
	ww_stream_unref(other);
}

static void what_is_awaited_stays(void **state)
{
	struct watch watch = {.answer = WW_NOT_READY};

	(void)state;
	put(&watch);
	assert_int_equal(ww_stream_call(stream, nothing, NULL), WW_OK);
	assert_int_equal(ww_stream_synchronize(stream), WW_OK);
	assert_int_equal(ww_stream_query(stream), WW_OK);
	assert_int_equal(watch.checks, 3);
	assert_false(watch.is_freed);
	watch.answer = WW_OK;
	assert_int_equal(ww_stream_query(stream), WW_OK);
	assert_true(watch.is_freed);
	assert_int_equal(stream->watch_count, 0);
	assert_int_equal(ww_stream_query(stream), WW_OK);
	assert_int_equal(watch.checks, 4);
}

static void one_error_is_for_ever(void **state)
{
	struct watch first = {.answer = WW_NOT_READY, .words = "the first is lost"};
	struct watch second = {.answer = WW_ERR_PEER_LOST, .words = "the second is lost"};
	struct watch third = {.answer = WW_OK};
	ww_stream *ended = stream;
	char to = 0;

	(void)state;
	put(&third);
	put(&first);
	put(&second);
	assert_fails(ww_stream_copy(stream, &to, "x", 1), WW_ERR_PEER_LOST);
	assert_true(third.is_freed);
	/* Another objection does not take the place of the one that was heard. */
	first.answer = WW_ERR_INVALID;
	assert_fails(ww_stream_fill(stream, &to, 1, 1, 1), WW_ERR_PEER_LOST);
	assert_fails(ww_stream_copy(stream, &to, &to, 0), WW_ERR_PEER_LOST);
	assert_fails(ww_stream_call(stream, nothing, NULL), WW_ERR_PEER_LOST);
	assert_fails(ww_stream_query(stream), WW_ERR_PEER_LOST);
	assert_fails(ww_stream_synchronize(stream), WW_ERR_PEER_LOST);
	assert_string_equal(ww_error_last()->message, "the second is lost");
	assert_int_equal(to, 0);
	assert_int_equal(first.checks, 1);
	assert_false(first.is_freed || second.is_freed);
	/* With the stream they go. */
	assert_int_equal(ww_stream_create(device, &stream), WW_OK);
	ww_stream_unref(ended);
	assert_true(first.is_freed && second.is_freed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(serials_differ, begin, end),
		cmocka_unit_test_setup_teardown(what_is_awaited_stays, begin, end),
		cmocka_unit_test_setup_teardown(one_error_is_for_ever, begin, end),
	};

	return cmocka_run_group_tests_name("stream", tests, NULL, NULL);
}
