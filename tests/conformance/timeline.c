/* SPDX-License-Identifier: Apache-2.0 */
/*
 * timeline.c - timelines of one process: values, waits of the CPU and of streams, event loops, the
 * end
 *
 * That something has not happened yet is claimed of streams that are held by a timeline which the
 * case itself signals later. Streams that are held at the same time are made one after the other,
 * so that no two share a hardware queue.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "conformance/conformance.h"
#include "support/timeline.h"

#define FOREVER WW_FOREVER

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* --- coming and going --- */

CASE(timeline_begins_at_its_value, NO_DEVICE)
{
	static const uint64_t values[] = {0, 1, 7, UINT64_C(1) << 40, WW_TIMELINE_MAX};
	ww_timeline *timeline;

	MUST_OK(ww_timeline_create(NULL, &timeline));
	timeline_must_be(timeline, WW_TIMELINE_LIVE, 0, 0);
	MUST_STATUS(WW_OK, ww_timeline_query(timeline, 0));
	MUST_STATUS(WW_NOT_READY, ww_timeline_query(timeline, 1));
	ww_timeline_unref(timeline);
	for (size_t i = 0; i < CHECK_COUNT(values); i++) {
		timeline = timeline_make(i % 2 ? WW_TIMELINE_ALONE : 0, values[i]);
		timeline_must_be(timeline, WW_TIMELINE_LIVE, values[i], values[i]);
		MUST_STATUS(WW_OK, ww_timeline_query(timeline, values[i]));
		if (values[i] < WW_TIMELINE_MAX)
			MUST_STATUS(WW_NOT_READY, ww_timeline_query(timeline, values[i] + 1));
		ww_timeline_unref(timeline);
	}
}

static void refuse_create(const char *word, const struct ww_timeline_params *params)
{
	ww_timeline *timeline = (ww_timeline *)&word;

	MUST_REFUSE(WW_ERR_INVALID, word, ww_timeline_create(params, &timeline));
	MUST(!timeline);
}

#define PARAMS(...) WW_PARAMS(struct ww_timeline_params, __VA_ARGS__)

CASE(timeline_create_refuses, NO_DEVICE)
{
	refuse_create("size", &(struct ww_timeline_params){.value = 1});
	refuse_create("size", &(struct ww_timeline_params){.struct_size = 8});
	refuse_create("flags", PARAMS(.flags = 2));
	refuse_create("flags", PARAMS(.flags = UINT64_C(1) << 63));
	refuse_create("flags", PARAMS(.reserved = 1));
	refuse_create("2^62", PARAMS(.value = WW_TIMELINE_MAX + 1));
	refuse_create("2^62", PARAMS(.value = UINT64_MAX));
}

CASE(timeline_params_are_versioned, NO_DEVICE)
{
	struct {
		struct ww_timeline_params params;
		uint64_t later;
	} longer = {.params = {.struct_size = sizeof(longer), .value = 3}};
	ww_timeline *timeline;

	MUST_OK(ww_timeline_create(&longer.params, &timeline));
	timeline_must_be(timeline, WW_TIMELINE_LIVE, 3, 3);
	ww_timeline_unref(timeline);
	longer.later = 1;
	refuse_create("", &longer.params);
}

CASE(timeline_info_says_who, NO_DEVICE)
{
	OWN(timeline) ww_timeline *timeline = timeline_make(0, 5);
	struct ww_timeline_info info = timeline_info(timeline);

	MUST_EQUAL(sizeof(info), info.struct_size);
	MUST_EQUAL(1, info.is_own);
	MUST_EQUAL(getpid(), info.pid);
	MUST_EQUAL(getuid(), info.uid);
	MUST_EQUAL(0, info.reserved);
	MUST_EQUAL(0, info.lost_ns);
	MUST(!strncmp(info.program, program_invocation_short_name, sizeof(info.program) - 1));
}

CASE(timeline_info_is_versioned, NO_DEVICE)
{
	ww_timeline *timeline = timeline_make(0, 5);
	struct {
		struct ww_timeline_info info;
		uint64_t later;
	} longer = {.later = 77};
	struct ww_timeline_info *info = &longer.info;

	MUST_REFUSE(WW_ERR_INVALID, "size", ww_timeline_info_get(timeline, info));
	info->struct_size = 16;
	MUST_REFUSE(WW_ERR_INVALID, "size", ww_timeline_info_get(timeline, info));
	info->struct_size = sizeof(longer);
	MUST_OK(ww_timeline_info_get(timeline, info));
	MUST_EQUAL(sizeof(longer), info->struct_size);
	MUST_EQUAL(5, info->completed);
	ww_timeline_unref(timeline);
}

CASE(timeline_ref_counts, NO_DEVICE)
{
	ww_timeline *timeline = timeline_make(0, 0);

	MUST(ww_timeline_ref(timeline) == timeline);
	MUST(!ww_timeline_unref(timeline));
	MUST_OK(ww_timeline_signal(timeline, 1));
	timeline_must_be(timeline, WW_TIMELINE_LIVE, 1, 1);
	MUST(!ww_timeline_unref(timeline));
	MUST(!ww_timeline_unref(NULL));
	MUST(!ww_timeline_ref(NULL));
}

/* How many pages of timelines are mapped more than before. */
static int new_mappings(const struct census *before)
{
	struct census now;

	census_take(&now);
	return now.mappings - before->mappings;
}

CASE(timeline_alone_shares_no_page, NO_DEVICE)
{
	OWN(timeline) ww_timeline *first = timeline_make(0, 0);
	ww_timeline *others[4];
	struct census before;

	census_take(&before);
	others[0] = timeline_make(0, 0);
	MUST_EQUAL(0, new_mappings(&before));
	others[1] = timeline_make(WW_TIMELINE_ALONE, 0);
	MUST_EQUAL(1, new_mappings(&before));
	others[2] = timeline_make(WW_TIMELINE_ALONE, 0);
	MUST_EQUAL(2, new_mappings(&before));
	others[3] = timeline_make(0, 0);
	MUST_EQUAL(2, new_mappings(&before));
	for (size_t i = 0; i < CHECK_COUNT(others); i++)
		ww_timeline_unref(others[i]);
	MUST_EQUAL(0, new_mappings(&before));
}

/* More than fit on two pages; each has a value of its own. */
CASE(timeline_many, NO_DEVICE)
{
	enum {
		COUNT = 300
	};
	ww_timeline *timelines[COUNT];
	struct census before;

	census_take(&before);
	for (uint64_t i = 0; i < COUNT; i++)
		timelines[i] = timeline_make(0, i);
	MUST_EQUAL(3, new_mappings(&before));
	for (uint64_t i = 0; i < COUNT; i += 3)
		MUST_OK(ww_timeline_signal(timelines[i], 1000 + i));
	for (uint64_t i = 0; i < COUNT; i++) {
		uint64_t value = i % 3 ? i : 1000 + i;

		timeline_must_be(timelines[i], WW_TIMELINE_LIVE, value, value);
	}
	for (uint64_t i = 0; i < COUNT; i++)
		ww_timeline_unref(timelines[i]);
	MUST_EQUAL(0, new_mappings(&before));
}

/* One after the other, in tens, and some of them known to the device. */
DEVICE_CASE(timeline_ten_thousand, 0)
{
	bool has_values = device_info(device).capabilities & WW_CAP_STREAM_VALUE;
	ww_timeline *timelines[10];
	struct census before;

	census_take(&before);
	for (int i = 0; i < 1000; i++) {
		for (uint64_t at = 0; at < CHECK_COUNT(timelines); at++)
			timelines[at] = timeline_make(at == 5 ? WW_TIMELINE_ALONE : 0, at);
		if (has_values && i % 10 == 0)
			MUST_OK(ww_timeline_prepare(timelines[i % 9], device));
		for (uint64_t at = 0; at < CHECK_COUNT(timelines); at++) {
			MUST_OK(ww_timeline_signal(timelines[at], at + 1));
			ww_timeline_unref(timelines[at]);
		}
	}
	MUST_EQUAL(0, new_mappings(&before));
}

/* --- the CPU --- */

CASE(timeline_values_only_grow, NO_DEVICE)
{
	OWN(timeline) ww_timeline *timeline = timeline_make(0, 5);

	MUST_REFUSE(WW_ERR_INVALID, "grow", ww_timeline_signal(timeline, 0));
	MUST_REFUSE(WW_ERR_INVALID, "5", ww_timeline_signal(timeline, 4));
	MUST_REFUSE(WW_ERR_INVALID, "grow", ww_timeline_signal(timeline, 5));
	MUST_OK(ww_timeline_signal(timeline, 6));
	MUST_REFUSE(WW_ERR_INVALID, "grow", ww_timeline_signal(timeline, 6));
	MUST_REFUSE(WW_ERR_INVALID, "2^62", ww_timeline_signal(timeline, WW_TIMELINE_MAX + 1));
	MUST_REFUSE(WW_ERR_INVALID, "2^62", ww_timeline_signal(timeline, INT64_MAX));
	MUST_REFUSE(WW_ERR_INVALID, "2^62", ww_timeline_signal(timeline, UINT64_MAX));
	timeline_must_be(timeline, WW_TIMELINE_LIVE, 6, 6);
	MUST_OK(ww_timeline_signal(timeline, 1000000)); /* not one by one */
	for (uint64_t value = 7; value <= 1000000; value += 99999)
		MUST_OK(ww_timeline_wait(timeline, value, 0, NULL));
	MUST_OK(ww_timeline_signal(timeline, WW_TIMELINE_MAX));
	MUST_OK(ww_timeline_wait(timeline, WW_TIMELINE_MAX, FOREVER, NULL));
	MUST_REFUSE(WW_ERR_INVALID, "grow", ww_timeline_signal(timeline, WW_TIMELINE_MAX));
}

CASE(timeline_wait_times_out, NO_DEVICE)
{
	OWN(timeline) ww_timeline *timeline = timeline_make(0, 0);
	uint64_t start;

	MUST_STATUS(WW_TIMED_OUT, ww_timeline_wait(timeline, 1, 0, NULL));
	MUST_STATUS(WW_TIMED_OUT, ww_timeline_wait(timeline, 1, 1, NULL));
	for (uint64_t timeout_ns = 1000; timeout_ns <= 20 * MS; timeout_ns *= 20) {
		start = now_ns();
		MUST_STATUS(WW_TIMED_OUT, ww_timeline_wait(timeline, 1, timeout_ns, NULL));
		MUST(now_ns() - start >= timeout_ns);
	}
	MUST_OK(ww_timeline_signal(timeline, 1));
	MUST_OK(ww_timeline_wait(timeline, 1, 0, NULL));
	MUST_OK(ww_timeline_wait(timeline, 0, FOREVER, NULL));
}

CASE(timeline_wait_refuses, NO_DEVICE)
{
	OWN(timeline) ww_timeline *timeline = timeline_make(0, 0);

	MUST_REFUSE(WW_ERR_INVALID, "2^62",
		ww_timeline_wait(timeline, WW_TIMELINE_MAX + 1, FOREVER, NULL));
	MUST_STATUS(WW_TIMED_OUT, ww_timeline_wait(timeline, WW_TIMELINE_MAX, 1, NULL));
	MUST_REFUSE(WW_ERR_INVALID, "2^62", ww_timeline_query(timeline, UINT64_MAX));
	MUST_STATUS(WW_NOT_READY, ww_timeline_query(timeline, WW_TIMELINE_MAX));
}

/* --- threads --- */

#define PLAYERS 8
#define ROUNDS  500

static ww_timeline *players[PLAYERS];
static uint64_t boards[PLAYERS];

/*
 * Each writes its board, says so, and reads everybody's: what was written before a signal is there.
 */
static void *play(void *argument)
{
	uint64_t own = *(uint64_t *)argument;

	for (uint64_t round = 1; round <= ROUNDS; round++) {
		boards[own] = round;
		MUST_OK(ww_timeline_signal(players[own], 2 * round - 1));
		for (uint64_t i = 0; i < PLAYERS; i++) {
			MUST_OK(ww_timeline_wait(players[i], 2 * round - 1, FOREVER, NULL));
			MUST_EQUAL(round, boards[i]);
		}
		MUST_OK(ww_timeline_signal(players[own], 2 * round));
		for (uint64_t i = 0; i < PLAYERS; i++)
			MUST_OK(ww_timeline_wait(players[i], 2 * round, FOREVER, NULL));
	}
	return NULL;
}

CASE(timeline_threads_wait_for_each_other, NO_DEVICE)
{
	uint64_t numbers[PLAYERS];
	pthread_t threads[PLAYERS];

	for (uint64_t i = 0; i < PLAYERS; i++) {
		players[i] = timeline_make(i % 2 ? WW_TIMELINE_ALONE : 0, 0);
		numbers[i] = i;
	}
	for (uint64_t i = 0; i < PLAYERS; i++)
		MUST(!pthread_create(&threads[i], NULL, play, &numbers[i]));
	for (uint64_t i = 0; i < PLAYERS; i++)
		pthread_join(threads[i], NULL);
	for (uint64_t i = 0; i < PLAYERS; i++) {
		timeline_must_be(players[i], WW_TIMELINE_LIVE, 2 * ROUNDS, 2 * ROUNDS);
		ww_timeline_unref(players[i]);
	}
}

/* Whoever is too late with a value is told so; none is lost. */
static void *race(void *context)
{
	ww_timeline *timeline = context;
	uint64_t wins = 0;

	for (uint64_t value = 1; value <= ROUNDS; value++) {
		ww_status status = ww_timeline_signal(timeline, value);

		MUST(status == WW_OK || status == WW_ERR_INVALID);
		wins += status == WW_OK;
		MUST_OK(ww_timeline_wait(timeline, value, 0, NULL));
	}
	return (void *)(uintptr_t)wins;
}

CASE(timeline_threads_signal_one, NO_DEVICE)
{
	OWN(timeline) ww_timeline *timeline = timeline_make(0, 0);
	pthread_t threads[4];
	uint64_t wins = 0;

	for (size_t i = 0; i < CHECK_COUNT(threads); i++)
		MUST(!pthread_create(&threads[i], NULL, race, timeline));
	for (size_t i = 0; i < CHECK_COUNT(threads); i++) {
		void *won;

		pthread_join(threads[i], &won);
		wins += (uint64_t)(uintptr_t)won;
	}
	MUST(wins >= 1 && wins <= ROUNDS);
	timeline_must_be(timeline, WW_TIMELINE_LIVE, ROUNDS, ROUNDS);
}

static void *come_and_go(void *unused)
{
	ww_timeline *timelines[20];

	(void)unused;
	for (int round = 0; round < 50; round++) {
		for (size_t i = 0; i < CHECK_COUNT(timelines); i++)
			timelines[i] = timeline_make(i % 4 ? 0 : WW_TIMELINE_ALONE, i);
		for (size_t i = 0; i < CHECK_COUNT(timelines); i++) {
			timeline_must_be(timelines[i], WW_TIMELINE_LIVE, i, i);
			MUST_OK(ww_timeline_signal(timelines[i], i + 1));
			ww_timeline_unref(timelines[i]);
		}
	}
	return NULL;
}

CASE(timeline_threads_come_and_go, NO_DEVICE)
{
	pthread_t threads[PLAYERS];

	for (size_t i = 0; i < CHECK_COUNT(threads); i++)
		MUST(!pthread_create(&threads[i], NULL, come_and_go, NULL));
	for (size_t i = 0; i < CHECK_COUNT(threads); i++)
		pthread_join(threads[i], NULL);
}

/* --- misuse --- */

#define MISUSED(call) MUST_REFUSE(WW_ERR_INVALID, "NULL", call)

DEVICE_CASE(timeline_misuse, NEEDS_MISUSE_STATUS)
{
	OWN(stream) ww_stream *stream = stream_make(device);
	OWN(timeline) ww_timeline *timeline = timeline_make(0, 0);
	struct ww_timeline_info info = WW_INIT(struct ww_timeline_info);
	int fd = 0;

	MISUSED(ww_timeline_create(NULL, NULL));
	MISUSED(ww_timeline_prepare(NULL, device));
	MISUSED(ww_timeline_prepare(timeline, NULL));
	MISUSED(ww_timeline_signal(NULL, 1));
	MISUSED(ww_timeline_stream_signal(NULL, stream, 1));
	MISUSED(ww_timeline_stream_signal(timeline, NULL, 1));
	MISUSED(ww_timeline_wait(NULL, 1, 0, NULL));
	MISUSED(ww_timeline_stream_wait(NULL, stream, 1, 0, 0, NULL));
	MISUSED(ww_timeline_stream_wait(timeline, NULL, 1, 0, 0, NULL));
	MISUSED(ww_timeline_query(NULL, 1));
	MISUSED(ww_timeline_eventfd(NULL, stream, 1, &fd));
	MUST_EQUAL(-1, fd);
	MISUSED(ww_timeline_eventfd(timeline, NULL, 1, &fd));
	MISUSED(ww_timeline_eventfd(timeline, stream, 1, NULL));
	MISUSED(ww_timeline_info_get(NULL, &info));
	MISUSED(ww_timeline_info_get(timeline, NULL));
	timeline_must_be(timeline, WW_TIMELINE_LIVE, 0, 0);
}
