/* SPDX-License-Identifier: Apache-2.0 */
/*
 * native_stream_test.c - one record for all streams of one key: when it is shared, kept, and
 * forgotten
 */
#include "device/native_stream.h"

#include "base/unit_test.h"

#include <stdlib.h>

#include "device/stream.h"

struct watch {
	struct ww_stream_watch base;
	ww_status answer;
	bool is_freed;
};

static char handles[WW_NATIVE_STREAMS_KEPT + 2];

static struct ww_native_stream_key key_of(const void *handle, uint64_t id)
{
	return (struct ww_native_stream_key){.uuid = {1}, .handle = handle, .id = id};
}

static struct ww_stream open_key(struct ww_native_stream_key key)
{
	struct ww_stream stream = {.serial = 0};

	assert_ok(ww_native_stream_open(&key, &stream.native));
	return stream;
}

static struct ww_stream open_one(const void *handle, uint64_t id)
{
	return open_key(key_of(handle, id));
}

static ww_status check(struct ww_stream_watch *base)
{
	const struct watch *watch = ww_container(base, struct watch, base);

	return watch->answer < 0 ? ww_fail(watch->answer, "lost") : watch->answer;
}

static void set_free(struct ww_stream_watch *base)
{
	ww_container(base, struct watch, base)->is_freed = true;
}

static void put(struct ww_stream *stream, struct watch *watch)
{
	watch->base.owner = watch;
	watch->base.check = check;
	watch->base.free = set_free;
	ww_stream_watch_lock(stream);
	ww_stream_watch_add(stream, &watch->base);
	ww_stream_watch_unlock(stream);
}

static void lose(struct ww_stream *stream)
{
	struct watch watch = {.answer = WW_ERR_PEER_LOST};

	put(stream, &watch);
	assert_fails(ww_stream_check(stream), WW_ERR_PEER_LOST);
	assert_true(watch.is_freed);
}

static void forget(const void *handle, uint64_t id)
{
	struct ww_stream stream = open_one(handle, id);

	ww_native_stream_recover(stream.native);
	ww_native_stream_close(stream.native);
}

UNIT_TEST(loss_is_shared_and_remembered)
{
	struct ww_stream one = open_one(handles, 7);
	struct ww_stream two = open_one(handles, 7);
	struct ww_stream other = open_one(handles + 1, 8);

	lose(&one);
	assert_fails(ww_stream_check(&two), WW_ERR_PEER_LOST);
	assert_ok(ww_stream_check(&other));
	ww_native_stream_close(one.native);
	ww_native_stream_close(two.native);
	one = open_one(handles, 7);
	assert_fails(ww_stream_check(&one), WW_ERR_PEER_LOST);
	assert_string_equal(ww_error_last()->message, "lost");
	ww_native_stream_recover(one.native);
	ww_native_stream_close(one.native);
	one = open_one(handles, 7);
	assert_ok(ww_stream_check(&one));
	ww_native_stream_close(one.native);
	ww_native_stream_close(other.native);
}

UNIT_TEST(keys_tell_streams_apart)
{
	struct ww_native_stream_key key = key_of(handles, 0);
	struct ww_stream here;
	struct ww_stream there = open_key(key);

	key.uuid[3] = 9;
	here = open_key(key);
	lose(&here);
	assert_ok(ww_stream_check(&there));
	ww_native_stream_recover(here.native);
	ww_native_stream_close(here.native);
	ww_native_stream_close(there.native);
	assert_ok(ww_native_stream_open(NULL, &here.native));
	assert_ok(ww_native_stream_open(NULL, &there.native));
	lose(&here);
	assert_ok(ww_stream_check(&there));
	ww_native_stream_close(here.native);
	ww_native_stream_close(there.native);
}

/* Another stream at the same address: the first one was destroyed, and its loss went with it. */
UNIT_TEST(address_is_used_again)
{
	struct ww_stream first = open_one(handles, 20);
	struct ww_stream second;

	lose(&first);
	ww_native_stream_close(first.native);
	second = open_one(handles, 21);
	assert_ok(ww_stream_check(&second));
	lose(&second);
	first = open_one(handles, 22);
	assert_ok(ww_stream_check(&first));
	assert_fails(ww_stream_check(&second), WW_ERR_PEER_LOST); /* still its user's */
	ww_native_stream_close(second.native);
	ww_native_stream_close(first.native);
	/* One that the library destroys is not found from then on. */
	first = open_one(handles, 23);
	lose(&first);
	ww_native_stream_retire(first.native);
	second = open_one(handles, 23);
	assert_ok(ww_stream_check(&second));
	ww_native_stream_close(first.native);
	ww_native_stream_close(second.native);
}

/* A wait outlives the ww_stream that enqueued it, and its loss is told to the next one. */
UNIT_TEST(what_is_awaited_is_kept)
{
	struct watch watch = {.answer = WW_NOT_READY};
	struct ww_stream stream = open_one(handles, 30);

	put(&stream, &watch);
	ww_native_stream_close(stream.native);
	ww_native_streams_settle();
	assert_false(watch.is_freed);
	watch.answer = WW_ERR_PEER_LOST;
	stream = open_one(handles, 30);
	assert_fails(ww_stream_check(&stream), WW_ERR_PEER_LOST);
	assert_true(watch.is_freed);
	ww_native_stream_recover(stream.native);
	/* Heard while nobody has the stream. */
	watch = (struct watch){.answer = WW_NOT_READY};
	put(&stream, &watch);
	ww_native_stream_close(stream.native);
	watch.answer = WW_ERR_PEER_LOST;
	assert_fails(ww_fail(WW_ERR_INVALID, "before"), WW_ERR_INVALID);
	ww_native_streams_settle();
	assert_string_equal(ww_error_last()->message, "before");
	assert_true(watch.is_freed);
	stream = open_one(handles, 30);
	assert_fails(ww_stream_check(&stream), WW_ERR_PEER_LOST);
	ww_native_stream_recover(stream.native);
	/* Reached while nobody has it: nothing is left. */
	watch = (struct watch){.answer = WW_NOT_READY};
	put(&stream, &watch);
	ww_native_stream_close(stream.native);
	watch.answer = WW_OK;
	ww_native_streams_settle();
	assert_true(watch.is_freed);
}

static ww_status status_of(const void *handle, uint64_t id)
{
	struct ww_stream stream = open_one(handle, id);
	ww_status status = ww_stream_check(&stream);

	ww_native_stream_close(stream.native);
	return status;
}

/* Each look at one that is kept makes it the last to be forgotten. */
UNIT_TEST(oldest_losses_are_forgotten)
{
	for (uint64_t i = 0; i <= WW_NATIVE_STREAMS_KEPT; i++) {
		struct ww_stream stream = open_one(handles + i, 100 + i);

		lose(&stream);
		ww_native_stream_close(stream.native);
	}
	assert_ok(status_of(handles, 100));
	for (uint64_t i = 1; i <= WW_NATIVE_STREAMS_KEPT; i++)
		assert_int_equal(status_of(handles + i, 100 + i), WW_ERR_PEER_LOST);
	/* What is forgiven makes room. */
	forget(handles + 5, 105);
	{
		struct ww_stream stream = open_one(handles, 100);

		lose(&stream);
		ww_native_stream_close(stream.native);
	}
	assert_int_equal(status_of(handles, 100), WW_ERR_PEER_LOST);
	assert_int_equal(status_of(handles + 1, 101), WW_ERR_PEER_LOST);
	for (uint64_t i = 0; i <= WW_NATIVE_STREAMS_KEPT; i++)
		forget(handles + i, 100 + i);
}

UNIT_MAIN("native_stream")
