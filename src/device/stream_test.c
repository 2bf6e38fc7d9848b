/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream_test.c - watches: asked by every call, freed when they await nothing, obeyed when they
 * object
 */
#include "device/native_stream.h"
#include "device/stream.h"

#include "base/unit_test.h"

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

	assert_int_not_equal(pthread_mutex_trylock(&stream->native->lock), 0);
	watch->checks++;
	return watch->answer < 0 ? ww_fail(watch->answer, "%s", watch->words) : watch->answer;
}

static void set_free(struct ww_stream_watch *base)
{
	assert_int_equal(pthread_mutex_trylock(&stream->native->lock), 0);
	pthread_mutex_unlock(&stream->native->lock);
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

UNIT_TEST_WITH(serials_differ, begin, end)
{
	ww_stream *other;

	assert_ok(ww_stream_create(device, &other));
	assert_true(stream->serial > 0 && other->serial > stream->serial);
	ww_stream_unref(other);
}

UNIT_TEST_WITH(what_is_awaited_stays, begin, end)
{
	struct watch watch = {.answer = WW_NOT_READY};

	put(&watch);
	assert_ok(ww_stream_call(stream, nothing, NULL));
	assert_ok(ww_stream_synchronize(stream, WW_FOREVER, NULL));
	assert_ok(ww_stream_query(stream));
	assert_int_equal(watch.checks, 3);
	assert_false(watch.is_freed);
	watch.answer = WW_OK;
	assert_ok(ww_stream_query(stream));
	assert_true(watch.is_freed);
	assert_int_equal(stream->native->watch_count, 0);
	assert_ok(ww_stream_query(stream));
	assert_int_equal(watch.checks, 4);
}

UNIT_TEST_WITH(loss_stays_until_recovery, begin, end)
{
	struct watch first = {.answer = WW_NOT_READY, .words = "the first is lost"};
	struct watch second = {.answer = WW_ERR_PEER_LOST, .words = "the second is lost"};
	struct watch third = {.answer = WW_OK};
	char to = 0;

	put(&third);
	put(&first);
	put(&second);
	assert_fails(ww_stream_copy(stream, &to, "x", 1), WW_ERR_PEER_LOST);
	assert_true(third.is_freed && second.is_freed);
	/* Another objection does not take the place of the one that was heard. */
	first.answer = WW_ERR_INVALID;
	assert_fails(ww_stream_fill(stream, &to, 1, 1, 1), WW_ERR_PEER_LOST);
	assert_fails(ww_stream_copy(stream, &to, &to, 0), WW_ERR_PEER_LOST);
	assert_fails(ww_stream_call(stream, nothing, NULL), WW_ERR_PEER_LOST);
	assert_fails(ww_stream_query(stream), WW_ERR_PEER_LOST);
	assert_fails(ww_stream_synchronize(stream, WW_FOREVER, NULL), WW_ERR_PEER_LOST);
	assert_string_equal(ww_error_last()->message, "the second is lost");
	assert_int_equal(to, 0);
	assert_int_equal(first.checks, 1);
	assert_false(first.is_freed);
	/* What has objected by now is cleared with the rest, and leaves no record. */
	assert_fails(ww_stream_copy(NULL, &to, "x", 1), WW_ERR_INVALID);
	assert_ok(ww_stream_recover(stream));
	assert_non_null(strstr(ww_error_last()->message, "ww_stream_copy"));
	assert_true(first.is_freed);
	assert_ok(ww_stream_query(stream));
	assert_ok(ww_stream_copy(stream, &to, "x", 1));
	assert_ok(ww_stream_synchronize(stream, WW_FOREVER, NULL));
	assert_int_equal(to, 'x');
	assert_fails(ww_stream_recover(NULL), WW_ERR_INVALID);
}

/* What is still awaited stays on watch, and is freed with the stream. */
UNIT_TEST_WITH(recovery_forgives_only_the_past, begin, end)
{
	struct watch later = {.answer = WW_NOT_READY, .words = "lost later"};
	struct watch never = {.answer = WW_NOT_READY};
	ww_stream *ended = stream;

	put(&later);
	put(&never);
	assert_ok(ww_stream_recover(stream));
	assert_ok(ww_stream_query(stream));
	later.answer = WW_ERR_PEER_LOST;
	assert_fails(ww_stream_query(stream), WW_ERR_PEER_LOST);
	assert_ok(ww_stream_recover(stream));
	assert_ok(ww_stream_query(stream));
	assert_true(later.is_freed);
	assert_false(never.is_freed);
	assert_ok(ww_stream_create(device, &stream));
	ww_stream_unref(ended);
	assert_true(never.is_freed);
}

/* A thread is about to have the stream wait for what is lost: that is no matter of the past. */
UNIT_TEST_WITH(watch_in_use_outlives_recovery, begin, end)
{
	struct watch watch = {.answer = WW_ERR_PEER_LOST, .words = "lost"};

	put(&watch);
	watch.base.users = 1;
	assert_fails(ww_stream_query(stream), WW_ERR_PEER_LOST);
	assert_ok(ww_stream_recover(stream));
	assert_false(watch.is_freed);
	assert_fails(ww_stream_query(stream), WW_ERR_PEER_LOST);
	watch.base.users = 0;
	assert_ok(ww_stream_recover(stream));
	assert_true(watch.is_freed);
	assert_ok(ww_stream_query(stream));
	/* One that awaits nothing stays as well while it is in use. */
	watch = (struct watch){.answer = WW_OK, .base.users = 1};
	put(&watch);
	assert_ok(ww_stream_query(stream));
	assert_false(watch.is_freed);
	watch.base.users = 0;
	assert_ok(ww_stream_query(stream));
	assert_true(watch.is_freed);
}

UNIT_MAIN("stream")
