/* SPDX-License-Identifier: Apache-2.0 */
/*
 * timeline_stream.c - timelines of one process on streams: what is ordered, what is refused, event
 * loops, the end
 */
#include <pthread.h>
#include <unistd.h>

#include "conformance/conformance.h"
#include "device/cuda/cuda_abi.h"
#include "support/driver.h"
#include "support/timeline.h"

#define FOREVER WW_FOREVER
#define COUNT   256

static sem_t ran;

struct pair {
	ww_device *device;
	ww_stream *a;
	ww_stream *b;
	ww_memory *memory;
	uint32_t *words; /* its address for the device, COUNT of them, 0 at first */
	ww_memory *
		copy; /* of the same size: a copy to the CPU's own memory may wait for the stream */
};

static struct pair pair_open(void)
{
	struct pair pair = {.device = subject_open()};

	pair.memory = memory_make(pair.device, WW_MEMORY_VMM, COUNT * 4);
	memory_must_be(pair.memory, 0);
	pair.words = ww_memory_pointer(pair.memory);
	pair.copy = memory_make(pair.device, WW_MEMORY_VMM, COUNT * 4);
	pair.a = stream_make(pair.device);
	pair.b = stream_make(pair.device);
	return pair;
}

static void pair_close(struct pair *pair)
{
	ww_stream_unref(pair->a);
	ww_stream_unref(pair->b);
	ww_memory_unref(pair->memory);
	ww_memory_unref(pair->copy);
	ww_device_unref(pair->device);
}

static void fill(ww_stream *stream, uint32_t *words, uint32_t value)
{
	MUST_OK(ww_stream_fill(stream, words, value, 4, COUNT));
}

/* B copies what the words are by then. */
static void copy(struct pair *pair)
{
	MUST_OK(ww_stream_copy(pair->b, ww_memory_pointer(pair->copy), pair->words, COUNT * 4));
}

static void copy_must_be(struct pair *pair, uint32_t value)
{
	uint32_t got[COUNT];

	memory_get(pair->copy, 0, got, sizeof(got));
	for (size_t i = 0; i < COUNT; i++)
		MUST_EQUAL(value, got[i]);
}

/* --- order --- */

/* A's fill, then B's copy of it; and without the wait B copies what was there before. */
static void copy_after_fill(bool waits, uint32_t expected)
{
	ENDED_BY(pair_close) struct pair pair = pair_open();
	OWN(timeline) ww_timeline *hold = timeline_make(0, 0);
	OWN(timeline) ww_timeline *timeline = timeline_make(0, 0);

	stream_hold(pair.a, hold, 1);
	fill(pair.a, pair.words, 7);
	MUST_OK(ww_timeline_stream_signal(timeline, pair.a, 1));
	timeline_must_be(timeline, WW_TIMELINE_LIVE, 1, 0);
	if (waits)
		MUST_OK(ww_timeline_stream_wait(timeline, pair.b, 1, 0, 0, NULL));
	copy(&pair);
	if (waits)
		MUST_STATUS(WW_NOT_READY, ww_stream_query(pair.b));
	else
		MUST_OK(ww_stream_synchronize(pair.b, WW_FOREVER, NULL));
	MUST_STATUS(WW_NOT_READY, ww_timeline_query(timeline, 1));
	MUST_OK(ww_timeline_signal(hold, 1));
	MUST_OK(ww_timeline_wait(timeline, 1, FOREVER, NULL));
	MUST_OK(ww_stream_synchronize(pair.b, WW_FOREVER, NULL));
	copy_must_be(&pair, expected);
	MUST_OK(ww_stream_synchronize(pair.a, WW_FOREVER, NULL));
}

CASE_CALL(timeline_orders_two_streams, WW_CAP_STREAM_VALUE, copy_after_fill(true, 7))
CASE_CALL(timeline_missing_wait_is_visible, WW_CAP_STREAM_VALUE, copy_after_fill(false, 0))

/* Two streams add to a word in turns; all is submitted before anything may begin. */
static void take_turns(ww_stream *const streams[2], uint32_t *words, uint32_t count)
{
	OWN(timeline) ww_timeline *hold = timeline_make(0, 0);
	ww_timeline *turns[2] = {timeline_make(0, 0), timeline_make(WW_TIMELINE_ALONE, 0)};

	stream_hold(streams[0], hold, 1);
	for (uint32_t i = 0; i < count; i++) {
		ww_stream *stream = streams[i % 2];

		if (i > 0)
			MUST_OK(ww_timeline_stream_wait(turns[(i - 1) % 2], stream, i, 0, 0, NULL));
		MUST_OK(ww_stream_fill(stream, words + i, i + 1, 4, COUNT - i));
		MUST_OK(ww_timeline_stream_signal(turns[i % 2], stream, i + 1));
	}
	MUST_STATUS(WW_NOT_READY, ww_timeline_query(turns[(count - 1) % 2], count));
	MUST_OK(ww_timeline_signal(hold, 1));
	MUST_OK(ww_timeline_wait(turns[(count - 1) % 2], count, FOREVER, NULL));
	MUST_OK(ww_stream_synchronize(streams[0], WW_FOREVER, NULL));
	MUST_OK(ww_stream_synchronize(streams[1], WW_FOREVER, NULL));
	for (size_t i = 0; i < 2; i++)
		ww_timeline_unref(turns[i]);
}

static void must_be_stairs(const uint32_t *words, uint32_t count)
{
	for (uint32_t i = 0; i < COUNT; i++)
		MUST_EQUAL(i < count ? i + 1 : count, words[i]);
}

CASE(timeline_streams_take_turns, WW_CAP_STREAM_VALUE)
{
	ENDED_BY(pair_close) struct pair pair = pair_open();
	ww_stream *const streams[] = {pair.a, pair.b};
	uint32_t got[COUNT];

	take_turns(streams, pair.words, 200);
	memory_get(pair.memory, 0, got, sizeof(got));
	must_be_stairs(got, 200);
}

/*
 * A GPU's streams know the page by another address than the CPU, so the thread sanitizer sees no
 * order between what the fake driver's threads and those of the host do.
 */
static void require_order_to_be_seen(void)
{
#ifdef __SANITIZE_THREAD__
	if (subject_is_cuda())
		check_skip("the thread sanitizer takes two mappings of one page for two pages");
#endif
}

/* The CPU's device and the subject's, on memory that both reach. */
static void orders_host_and_device(ww_device *device)
{
	OWN(device) ww_device *host;
	OWN(memory) ww_memory *memory = memory_make(device, WW_MEMORY_HOST, COUNT * 4);
	uint32_t *ours = ww_memory_host_pointer(memory);
	OWN(stream) ww_stream *stream = stream_make(device);
	OWN(stream) ww_stream *host_stream;
	OWN(timeline) ww_timeline *there = timeline_make(0, 0);
	OWN(timeline) ww_timeline *back = timeline_make(0, 0);

	MUST_OK(ww_device_open("host", &host));
	host_stream = stream_make(host);
	for (uint32_t i = 1; i <= 50; i++) {
		fill(stream, ww_memory_pointer(memory), i);
		MUST_OK(ww_timeline_stream_signal(there, stream, i));
		MUST_OK(ww_timeline_stream_wait(there, host_stream, i, 0, 0, NULL));
		MUST_OK(ww_stream_fill(host_stream, ours, 1000 + i, 4, COUNT / 2));
		MUST_OK(ww_timeline_stream_signal(back, host_stream, i));
		if (i % 2) {
			MUST_OK(ww_timeline_stream_wait(back, stream, i, 0, 0, NULL));
			continue;
		}
		/* What streams wrote before a value is there for the CPU that waited for it. */
		MUST_OK(ww_timeline_wait(back, i, FOREVER, NULL));
		MUST_EQUAL(1000 + i, ours[0]);
		MUST_EQUAL(1000 + i, ours[COUNT / 2 - 1]);
		MUST_EQUAL(i, ours[COUNT / 2]);
		MUST_EQUAL(i, ours[COUNT - 1]);
	}
	MUST_OK(ww_stream_synchronize(stream, WW_FOREVER, NULL));
}

CASE(timeline_orders_host_and_device, WW_CAP_STREAM_VALUE | WW_CAP_HOST_MEMORY)
{
	OWN(device) ww_device *device;

	require_order_to_be_seen();
	device = subject_open();
	orders_host_and_device(device);
}

static void orders_two_gpus(ww_device *device)
{
	OWN(device) ww_device *other = subject_open_other();
	OWN(memory) ww_memory *memory = memory_make(device, WW_MEMORY_HOST, COUNT * 4);
	OWN(memory) ww_memory *seen = memory_reimport(memory, other, WW_ACCESS_WRITE);
	ww_stream *streams[] = {stream_make(device), stream_make(other)};
	ww_timeline *turns[] = {timeline_make(0, 0), timeline_make(0, 0)};
	uint32_t *words[] = {ww_memory_pointer(memory), ww_memory_pointer(seen)};

	for (uint32_t i = 0; i < 100; i++) {
		if (i > 0)
			MUST_OK(ww_timeline_stream_wait(turns[(i - 1) % 2], streams[i % 2], i, 0, 0,
				NULL));
		MUST_OK(ww_stream_fill(streams[i % 2], words[i % 2] + i, i + 1, 4, COUNT - i));
		MUST_OK(ww_timeline_stream_signal(turns[i % 2], streams[i % 2], i + 1));
	}
	MUST_OK(ww_timeline_wait(turns[1], 100, FOREVER, NULL));
	must_be_stairs(ww_memory_host_pointer(memory), 100);
	for (size_t i = 0; i < 2; i++) {
		MUST_OK(ww_stream_synchronize(streams[i], WW_FOREVER, NULL));
		ww_timeline_unref(turns[i]);
		ww_stream_unref(streams[i]);
	}
}

CASE(timeline_orders_two_gpus, WW_CAP_STREAM_VALUE | WW_CAP_HOST_MEMORY | NEEDS_OTHER_GPU)
{
	OWN(device) ww_device *device;

	require_order_to_be_seen();
	device = subject_open();
	orders_two_gpus(device);
}

/* --- signals --- */

CASE(timeline_cpu_must_not_overtake_stream, WW_CAP_STREAM_VALUE)
{
	ENDED_BY(pair_close) struct pair pair = pair_open();
	OWN(timeline) ww_timeline *hold = timeline_make(0, 0);
	OWN(timeline) ww_timeline *timeline = timeline_make(0, 0);

	MUST_OK(ww_timeline_signal(timeline, 1));
	stream_hold(pair.a, hold, 1);
	MUST_OK(ww_timeline_stream_signal(timeline, pair.a, 5));
	timeline_must_be(timeline, WW_TIMELINE_LIVE, 5, 1);
	MUST_REFUSE(WW_ERR_STATE, "5", ww_timeline_signal(timeline, 6));
	MUST_REFUSE(WW_ERR_INVALID, "grow", ww_timeline_signal(timeline, 5));
	MUST_REFUSE(WW_ERR_INVALID, "grow", ww_timeline_signal(timeline, 3));
	MUST_REFUSE(WW_ERR_INVALID, "grow", ww_timeline_stream_signal(timeline, pair.a, 5));
	MUST_REFUSE(WW_ERR_INVALID, "grow", ww_timeline_stream_signal(timeline, pair.b, 2));
	MUST_REFUSE(WW_ERR_INVALID, "2^62",
		ww_timeline_stream_signal(timeline, pair.b, WW_TIMELINE_MAX + 1));
	MUST_STATUS(WW_TIMED_OUT, ww_timeline_wait(timeline, 5, MS, NULL));
	MUST_OK(ww_timeline_signal(hold, 1));
	MUST_OK(ww_timeline_wait(timeline, 5, FOREVER, NULL));
	MUST_OK(ww_timeline_signal(timeline, 6));
	timeline_must_be(timeline, WW_TIMELINE_LIVE, 6, 6);
	MUST_OK(ww_timeline_stream_signal(timeline, pair.b, 7));
	MUST_OK(ww_stream_synchronize(pair.b, WW_FOREVER, NULL));
	timeline_must_be(timeline, WW_TIMELINE_LIVE, 7, 7);
}

static void fail(void *timeline)
{
	MUST_OK(ww_timeline_fail(timeline, "disk full"));
}

/* The stream stores the value after the function all the same. */
CASE(timeline_failed_values_do_not_count, WW_CAP_STREAM_VALUE)
{
	ENDED_BY(pair_close) struct pair pair = pair_open();
	OWN(timeline) ww_timeline *hold = timeline_make(0, 0);
	OWN(timeline) ww_timeline *timeline = timeline_make(0, 0);

	MUST_REFUSE(WW_ERR_INVALID, "why", ww_timeline_fail(timeline, ""));
	stream_hold(pair.a, hold, 1);
	MUST_OK(ww_timeline_stream_signal(timeline, pair.a, 4));
	MUST_OK(ww_stream_call(pair.a, fail, timeline));
	MUST_OK(ww_timeline_stream_signal(timeline, pair.a, 5));
	MUST_OK(ww_timeline_stream_wait(timeline, pair.b, 5, 0, FOREVER, NULL));
	MUST_OK(ww_timeline_signal(hold, 1));
	MUST_REFUSE(WW_ERR_PEER_LOST, "failed its timeline at value 4: disk full",
		ww_timeline_wait(timeline, 5, FOREVER, NULL));
	MUST_REFUSE(WW_ERR_PEER_LOST, "disk full", ww_stream_synchronize(pair.b, WW_FOREVER, NULL));
	MUST_OK(ww_stream_synchronize(pair.a, WW_FOREVER, NULL));
	MUST_OK(ww_timeline_query(timeline, 4));
	MUST_STATUS(WW_ERR_PEER_LOST, ww_timeline_query(timeline, 5));
	MUST_REFUSE(WW_ERR_PEER_LOST, "new timeline", ww_timeline_signal(timeline, 6));
	timeline_must_be(timeline, WW_TIMELINE_LOST, 5, 4);
}

struct turn {
	ww_stream *stream;
	ww_timeline *hold;
	ww_timeline *timeline;
};

static void *signal_held(void *context)
{
	const struct turn *turn = context;

	stream_hold(turn->stream, turn->hold, 1);
	MUST_OK(ww_timeline_stream_signal(turn->timeline, turn->stream, 1));
	return NULL;
}

/* One ww_stream, and behind it another stream in each thread. */
DEVICE_CASE(timeline_signals_of_threads_keep_order, WW_CAP_STREAM_VALUE | WW_CAP_STREAM_WRAP)
{
	struct turn turn = {
		.hold = timeline_make(0, 0),
		.timeline = timeline_make(0, 0),
	};
	pthread_t thread;

	MUST_OK(ww_stream_wrap(device, WW_CU_STREAM_PER_THREAD, &turn.stream));
	MUST_EQUAL(0, pthread_create(&thread, NULL, signal_held, &turn));
	MUST_EQUAL(0, pthread_join(thread, NULL));
	MUST_OK(ww_timeline_stream_signal(turn.timeline, turn.stream, 2));
	MUST_STATUS(WW_TIMED_OUT, ww_timeline_wait(turn.timeline, 1, 20 * MS, NULL));
	MUST_OK(ww_timeline_signal(turn.hold, 1));
	MUST_OK(ww_timeline_wait(turn.timeline, 2, FOREVER, NULL));
	MUST_OK(ww_stream_synchronize(turn.stream, WW_FOREVER, NULL));
	timeline_must_be(turn.timeline, WW_TIMELINE_LIVE, 2, 2);
	ww_stream_unref(turn.stream);
	ww_timeline_unref(turn.timeline);
	ww_timeline_unref(turn.hold);
}

/* The first stream is held; those that signal higher values, of other devices too, wait for it. */
CASE(timeline_signals_of_streams_keep_order, WW_CAP_STREAM_VALUE)
{
	ENDED_BY(pair_close) struct pair pair = pair_open();
	OWN(timeline) ww_timeline *hold = timeline_make(0, 0);
	OWN(timeline) ww_timeline *timeline = timeline_make(0, 0);
	OWN(device) ww_device *host;
	OWN(stream) ww_stream *host_stream;

	MUST_OK(ww_device_open("host", &host));
	host_stream = stream_make(host);
	stream_hold(pair.a, hold, 1);
	MUST_OK(ww_timeline_stream_signal(timeline, pair.a, 1));
	MUST_OK(ww_timeline_stream_signal(timeline, pair.b, 2));
	MUST_OK(ww_timeline_stream_signal(timeline, pair.b, 3));
	MUST_OK(ww_timeline_stream_signal(timeline, host_stream, 4));
	MUST_OK(ww_timeline_stream_signal(timeline, pair.a, 5));
	MUST_STATUS(WW_NOT_READY, ww_stream_query(pair.b));
	MUST_STATUS(WW_NOT_READY, ww_stream_query(host_stream));
	timeline_must_be(timeline, WW_TIMELINE_LIVE, 5, 0);
	MUST_STATUS(WW_TIMED_OUT, ww_timeline_wait(timeline, 1, MS, NULL));
	MUST_OK(ww_timeline_signal(hold, 1));
	for (uint64_t value = 1; value <= 5; value++) {
		MUST_OK(ww_timeline_wait(timeline, value, FOREVER, NULL));
		MUST(timeline_info(timeline).completed >= value);
	}
	MUST_OK(ww_stream_synchronize(pair.a, WW_FOREVER, NULL));
	MUST_OK(ww_stream_synchronize(pair.b, WW_FOREVER, NULL));
	MUST_OK(ww_stream_synchronize(host_stream, WW_FOREVER, NULL));
	timeline_must_be(timeline, WW_TIMELINE_LIVE, 5, 5);
}

#define SIGNALLERS 4
#define SIGNALS    50

static struct {
	ww_timeline *timeline;
	ww_device *device;
} shared;

/* Values are given out by the timeline itself: who is too late takes a higher one. */
static void *signal_by_stream(void *unused)
{
	OWN(stream) ww_stream *stream = stream_make(shared.device);

	(void)unused;
	for (int i = 0; i < SIGNALS; i++) {
		ww_status status;
		uint64_t value;

		do {
			value = timeline_info(shared.timeline).submitted + 1;
			status = ww_timeline_stream_signal(shared.timeline, stream, value);
		} while (status == WW_ERR_INVALID);
		MUST_OK(status);
		MUST_OK(ww_timeline_wait(shared.timeline, value, FOREVER, NULL));
		MUST(timeline_info(shared.timeline).completed >= value);
	}
	MUST_OK(ww_stream_synchronize(stream, WW_FOREVER, NULL));
	return NULL;
}

CASE(timeline_threads_signal_by_streams, WW_CAP_STREAM_VALUE)
{
	pthread_t threads[SIGNALLERS];

	shared.device = subject_open();
	shared.timeline = timeline_make(0, 0);
	for (size_t i = 0; i < SIGNALLERS; i++)
		MUST(!pthread_create(&threads[i], NULL, signal_by_stream, NULL));
	for (size_t i = 0; i < SIGNALLERS; i++)
		pthread_join(threads[i], NULL);
	timeline_must_be(shared.timeline, WW_TIMELINE_LIVE, SIGNALLERS * SIGNALS,
		SIGNALLERS * SIGNALS);
	ww_timeline_unref(shared.timeline);
	ww_device_unref(shared.device);
}

/* --- waits --- */

static void *signal_soon(void *timeline)
{
	MUST_OK(ww_timeline_signal(timeline, 5));
	return NULL;
}

CASE(timeline_stream_waits_for_submission, WW_CAP_STREAM_VALUE)
{
	ENDED_BY(pair_close) struct pair pair = pair_open();
	OWN(timeline) ww_timeline *hold = timeline_make(0, 0);
	OWN(timeline) ww_timeline *timeline = timeline_make(0, 0);
	pthread_t thread;

	MUST_STATUS(WW_TIMED_OUT, ww_timeline_stream_wait(timeline, pair.b, 5, 0, 0, NULL));
	MUST_STATUS(WW_TIMED_OUT, ww_timeline_stream_wait(timeline, pair.b, 5, 0, 1, NULL));
	MUST_STATUS(WW_TIMED_OUT, ww_timeline_stream_wait(timeline, pair.b, 5, 0, 2 * MS, NULL));
	MUST_OK(ww_stream_synchronize(pair.b, WW_FOREVER, NULL)); /* nothing was enqueued */
	MUST(!pthread_create(&thread, NULL, signal_soon, timeline));
	MUST_OK(ww_timeline_stream_wait(timeline, pair.b, 5, 0, FOREVER, NULL));
	pthread_join(thread, NULL);
	MUST_OK(ww_stream_synchronize(pair.b, WW_FOREVER, NULL));
	/* Submitted is enough, also for a value between. */
	stream_hold(pair.a, hold, 1);
	MUST_OK(ww_timeline_stream_signal(timeline, pair.a, 10));
	MUST_OK(ww_timeline_stream_wait(timeline, pair.b, 9, 0, FOREVER, NULL));
	MUST_STATUS(WW_TIMED_OUT, ww_timeline_stream_wait(timeline, pair.b, 11, 0, MS, NULL));
	MUST_STATUS(WW_NOT_READY, ww_stream_query(pair.b));
	MUST_OK(ww_timeline_signal(hold, 1));
	MUST_OK(ww_stream_synchronize(pair.b, WW_FOREVER, NULL));
	MUST_OK(ww_timeline_wait(timeline, 10, FOREVER, NULL));
}

CASE(timeline_stream_waits_unsubmitted, WW_CAP_STREAM_VALUE)
{
	ENDED_BY(pair_close) struct pair pair = pair_open();
	OWN(timeline) ww_timeline *timeline = timeline_make(0, 0);

	MUST_OK(ww_timeline_stream_wait(timeline, pair.b, 3, WW_WAIT_UNSUBMITTED, FOREVER, NULL));
	copy(&pair);
	MUST_STATUS(WW_NOT_READY, ww_stream_query(pair.b));
	MUST_OK(ww_timeline_signal(timeline, 2));
	MUST_STATUS(WW_NOT_READY, ww_stream_query(pair.b));
	fill(pair.a, pair.words, 9);
	MUST_OK(ww_timeline_stream_signal(timeline, pair.a, 4));
	MUST_OK(ww_stream_synchronize(pair.b, WW_FOREVER, NULL));
	copy_must_be(&pair, 9);
	MUST_OK(ww_timeline_stream_wait(timeline, pair.b, 4, WW_WAIT_UNSUBMITTED, 0, NULL));
	MUST_OK(ww_stream_synchronize(pair.b, WW_FOREVER, NULL));
}

/*
 * The driver would let go of these only when the stream has done what this thread has yet to allow.
 */
CASE(timeline_memory_goes_while_stream_waits, WW_CAP_STREAM_VALUE | WW_CAP_HOST_MEMORY)
{
	ENDED_BY(pair_close) struct pair pair = pair_open();
	OWN(timeline) ww_timeline *timeline = timeline_make(0, 0);
	ww_memory *memory = memory_make(pair.device, WW_MEMORY_HOST, COUNT * 4);

	stream_hold(pair.b, timeline, 1);
	for (int i = 0; i < 63; i++) {
		ww_memory_unref(memory);
		memory = memory_make(pair.device, WW_MEMORY_HOST, COUNT * 4);
	}
	ww_memory_unref(memory);
	MUST_STATUS(WW_NOT_READY, ww_stream_query(pair.b));
	MUST_OK(ww_timeline_signal(timeline, 1));
	MUST_OK(ww_stream_synchronize(pair.b, WW_FOREVER, NULL));
}

CASE(timeline_stream_wait_refuses, WW_CAP_STREAM_VALUE)
{
	ENDED_BY(pair_close) struct pair pair = pair_open();
	OWN(timeline) ww_timeline *timeline = timeline_make(0, 0);

	MUST_REFUSE(WW_ERR_INVALID, "flags",
		ww_timeline_stream_wait(timeline, pair.a, 0, 4, 0, NULL));
	MUST_REFUSE(WW_ERR_INVALID, "flags",
		ww_timeline_stream_wait(timeline, pair.a, 0, UINT64_C(1) << 40, 0, NULL));
	MUST_REFUSE(WW_ERR_INVALID, "2^62",
		ww_timeline_stream_wait(timeline, pair.a, WW_TIMELINE_MAX + 1, 0, FOREVER, NULL));
	MUST_REFUSE(WW_ERR_INVALID, "2^62",
		ww_timeline_stream_wait(timeline, pair.a, UINT64_MAX, WW_WAIT_UNSUBMITTED, 0,
			NULL));
	MUST_OK(ww_stream_synchronize(pair.a, WW_FOREVER, NULL));
}

DEVICE_CASE(timeline_without_stream_values, NEEDS_NO_STREAM_VALUE)
{
	OWN(stream) ww_stream *stream = stream_make(device);
	OWN(timeline) ww_timeline *timeline = timeline_make(0, 0);
	int fd = 0;

	MUST_REFUSE(WW_ERR_UNSUPPORTED, "stream", ww_timeline_prepare(timeline, device));
	MUST_REFUSE(WW_ERR_UNSUPPORTED, "CPU", ww_timeline_stream_signal(timeline, stream, 1));
	MUST_REFUSE(WW_ERR_UNSUPPORTED, "CPU",
		ww_timeline_stream_wait(timeline, stream, 1, WW_WAIT_UNSUBMITTED, 0, NULL));
	MUST_REFUSE(WW_ERR_UNSUPPORTED, "CPU", ww_timeline_eventfd(timeline, stream, 1, &fd));
	MUST_EQUAL(-1, fd);
	timeline_must_be(timeline, WW_TIMELINE_LIVE, 0, 0);
	MUST_OK(ww_timeline_signal(timeline, 1));
	MUST_OK(ww_timeline_wait(timeline, 1, FOREVER, NULL));
}

DEVICE_CASE(timeline_prepare_is_once, WW_CAP_STREAM_VALUE)
{
	OWN(device) ww_device *host;
	OWN(timeline) ww_timeline *timeline = timeline_make(0, 0);
	OWN(timeline) ww_timeline *neighbour = timeline_make(0, 0);
	struct census before;
	struct census after;

	MUST_OK(ww_device_open("host", &host));
	MUST_OK(ww_timeline_prepare(timeline, device));
	census_take(&before);
	MUST_OK(ww_timeline_prepare(timeline, device));
	MUST_OK(ww_timeline_prepare(neighbour, device));
	MUST_OK(ww_timeline_prepare(timeline, host));
	census_take(&after);
	MUST_EQUAL(before.mappings, after.mappings);
}

/* --- the end --- */

/*
 * A has yet to signal 2 when the last reference goes: 2 is still reached, by B that waits for it.
 * C, which waits for more, is let go, and lost.
 */
CASE(timeline_closed_while_streams_signal, WW_CAP_STREAM_VALUE)
{
	ENDED_BY(pair_close) struct pair pair = pair_open();
	ww_timeline *hold;
	ww_timeline *timeline;
	struct census before;
	int fds[2];
	ww_device *host;
	ww_stream *host_stream;
	ww_stream *c;

	census_take(&before);
	c = stream_make(pair.device);
	hold = timeline_make(0, 0);
	timeline = timeline_make(0, 0);
	MUST_OK(ww_device_open("host", &host));
	host_stream = stream_make(host);
	fds[0] = timeline_eventfd_make(timeline, 2, host_stream);
	fds[1] = timeline_eventfd_make(timeline, 9, host_stream);
	stream_hold(pair.a, hold, 1);
	fill(pair.a, pair.words, 5);
	MUST_OK(ww_timeline_stream_signal(timeline, pair.a, 2));
	MUST_OK(ww_timeline_stream_wait(timeline, pair.b, 2, 0, 0, NULL));
	copy(&pair);
	MUST_OK(ww_timeline_stream_wait(timeline, c, 3, WW_WAIT_UNSUBMITTED, 0, NULL));
	MUST(!ww_timeline_unref(timeline)); /* does not wait for A */
	MUST_STATUS(WW_NOT_READY, ww_stream_query(pair.b));
	MUST(!fd_is_readable(fds[0], 0));
	MUST(!fd_is_readable(fds[1], 0));
	MUST_OK(ww_timeline_signal(hold, 1));
	MUST_OK(ww_stream_synchronize(pair.b, WW_FOREVER, NULL));
	copy_must_be(&pair, 5);
	MUST_OK(ww_stream_call(pair.b, gate_post, &ran));
	MUST_OK(ww_stream_synchronize(pair.b, WW_FOREVER, NULL));
	MUST_REFUSE(WW_ERR_PEER_LOST, "3", ww_stream_synchronize(c, WW_FOREVER, NULL));
	stream_must_be_lost(c, "closed");
	MUST(fd_is_readable(fds[0], child_limit_ms()));
	MUST(fd_is_readable(fds[1], child_limit_ms()));
	close(fds[0]);
	close(fds[1]);
	MUST_OK(ww_stream_synchronize(host_stream, WW_FOREVER, NULL));
	ww_stream_unref(host_stream);
	ww_device_unref(host);
	ww_timeline_unref(hold);
	ww_stream_unref(c); /* which was let go by poison, and keeps the page to say so */
	MUST_OK(ww_stream_synchronize(pair.a, WW_FOREVER, NULL));
	timeline_settle(&before);
}

/* With nothing pending waits for more are let go at once, by the CPU. */
CASE(timeline_closed_releases_streams, WW_CAP_STREAM_VALUE)
{
	ENDED_BY(pair_close) struct pair pair = pair_open();
	ww_timeline *timeline = timeline_make(0, 4);

	MUST_OK(ww_timeline_stream_wait(timeline, pair.a, 4, 0, 0, NULL));
	MUST_OK(ww_timeline_stream_wait(timeline, pair.b, 6, WW_WAIT_UNSUBMITTED, 0, NULL));
	MUST_STATUS(WW_NOT_READY, ww_stream_query(pair.b));
	MUST_OK(ww_timeline_signal(timeline, 5));
	ww_timeline_unref(timeline);
	MUST_REFUSE(WW_ERR_PEER_LOST, "closed", ww_stream_synchronize(pair.b, WW_FOREVER, NULL));
	stream_must_be_lost(pair.b, "6");
	fill(pair.a, pair.words, 1);
	MUST_OK(ww_stream_synchronize(pair.a, WW_FOREVER, NULL));
}

/* A stream of the signaller may be gone before its signal; its work is done all the same. */
DEVICE_CASE(timeline_stream_ends_first, WW_CAP_STREAM_VALUE)
{
	struct census before;
	ww_timeline *timeline;
	OWN(stream) ww_stream *stream = stream_make(device);

	census_take(&before);
	timeline = timeline_make(0, 0);
	MUST_OK(ww_timeline_stream_signal(timeline, stream, 3));
	ww_stream_unref(stream);
	MUST_OK(ww_timeline_wait(timeline, 3, FOREVER, NULL));
	stream = stream_make(device);
	MUST_OK(ww_timeline_stream_wait(timeline, stream, 3, 0, 0, NULL));
	MUST_OK(ww_timeline_stream_signal(timeline, stream, 4));
	MUST_OK(ww_timeline_stream_wait(timeline, stream, 4, 0, 0, NULL)); /* for itself */
	ww_timeline_unref(timeline);
	MUST_OK(ww_stream_synchronize(stream, WW_FOREVER, NULL));
	timeline_settle(&before);
}

/*
 * Giving pages back waits in the driver for all that streams have to do. Here that in turn waits
 * for this thread, so letting go of other timelines must not wait.
 * @waits:  a stream waits by its caller's word; else it waits by the library's, for another
 *          stream's signal
 */
static void let_go_while_held(bool waits)
{
	static struct gate gate;
	ENDED_BY(pair_close) struct pair pair = pair_open();
	OWN(timeline) ww_timeline *hold = timeline_make(0, 0);
	ww_timeline *others[3];

	for (size_t i = 0; i < CHECK_COUNT(others); i++) {
		others[i] = timeline_make(WW_TIMELINE_ALONE, 0);
		MUST_OK(ww_timeline_prepare(others[i], pair.device));
	}
	if (waits) {
		stream_hold(pair.a, hold, 1);
	} else {
		gate_close(&gate, pair.a);
		gate_reached(&gate);
		MUST_OK(ww_timeline_stream_signal(hold, pair.a, 1));
		MUST_OK(ww_timeline_stream_signal(hold, pair.b, 2));
	}
	for (size_t i = 0; i < CHECK_COUNT(others); i++)
		ww_timeline_unref(others[i]);
	MUST_STATUS(WW_NOT_READY, ww_stream_query(waits ? pair.a : pair.b));
	if (waits)
		MUST_OK(ww_timeline_signal(hold, 1));
	else
		gate_open(&gate);
	MUST_OK(ww_stream_synchronize(pair.a, WW_FOREVER, NULL));
	MUST_OK(ww_stream_synchronize(pair.b, WW_FOREVER, NULL));
}

CASE_CALL(timeline_unref_does_not_wait, WW_CAP_STREAM_VALUE, let_go_while_held(true))
CASE_CALL(timeline_unref_does_not_wait_for_signals, WW_CAP_STREAM_VALUE, let_go_while_held(false))

/* The same when a timeline is closing: its last signal is yet to come. */
CASE(timeline_unref_does_not_wait_for_closing, WW_CAP_STREAM_VALUE)
{
	static struct gate gate;
	ENDED_BY(pair_close) struct pair pair = pair_open();
	ww_timeline *timelines[3];
	struct census before;

	census_take(&before);
	for (size_t i = 0; i < CHECK_COUNT(timelines); i++) {
		timelines[i] = timeline_make(WW_TIMELINE_ALONE, 0);
		MUST_OK(ww_timeline_prepare(timelines[i], pair.device));
	}
	gate_close(&gate, pair.a);
	gate_reached(&gate);
	MUST_OK(ww_timeline_stream_signal(timelines[0], pair.a, 1));
	for (size_t i = 0; i < CHECK_COUNT(timelines); i++)
		ww_timeline_unref(timelines[i]);
	MUST_STATUS(WW_NOT_READY, ww_stream_query(pair.a));
	gate_open(&gate);
	MUST_OK(ww_stream_synchronize(pair.a, WW_FOREVER, NULL));
	timeline_settle(&before);
}

#define QUEUES 8 /* of the hardware, that streams share in turn */

/*
 * The stream that closes a timeline shares a queue with one that waits for what this very thread
 * signals next. On the fake only: which streams share a queue is known there.
 */
DEVICE_CASE(timeline_create_does_not_wait_for_closing, WW_CAP_STREAM_VALUE)
{
	ww_stream *streams[QUEUES + 1]; /* the last one shares the queue of the first */
	ww_timeline *closed;
	ww_timeline *hold;
	struct census before;

	census_take(&before);
	hold = timeline_make(0, 0);
	closed = timeline_make(0, 0);
	for (size_t i = 0; i < CHECK_COUNT(streams); i++)
		streams[i] = stream_make(device);
	stream_hold(streams[0], hold, 1);
	MUST_OK(ww_timeline_stream_signal(closed, streams[0], 1));
	for (size_t i = 1; fake_get() && i < QUEUES; i++)
		stream_hold(streams[i], hold, 2);
	ww_timeline_unref(closed);
	MUST_OK(ww_timeline_signal(hold, 1));
	MUST_OK(ww_stream_synchronize(streams[0], WW_FOREVER, NULL));
	ww_timeline_unref(timeline_make(0, 0));
	MUST_OK(ww_timeline_signal(hold, 2));
	for (size_t i = 0; i < CHECK_COUNT(streams); i++)
		MUST_OK(ww_stream_synchronize(streams[i], WW_FOREVER, NULL));
	for (size_t i = 0; i < CHECK_COUNT(streams); i++)
		ww_stream_unref(streams[i]);
	ww_timeline_unref(hold);
	timeline_settle(&before);
}
