/* SPDX-License-Identifier: Apache-2.0 */
/*
 * barrier.c - barriers whose members are threads of one process
 *
 * A member is a ww_barrier, whatever process it is in; that processes do the same is seen in
 * tests/integration.
 */
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "conformance/conformance.h"
#include "support/broker_case.h"
#include "support/readable.h"
#include "support/timeline.h"

#define FOREVER WW_FOREVER

#define BARRIER(...) WW_PARAMS(struct ww_barrier_params, __VA_ARGS__)

#define MEMBERS 5
#define ROUNDS  1000

/* "x", which nobody has joined, so it would stay for those who come late. */
static void remove_it(void)
{
	MUST_OK(ww_broker_remove(scene.broker, "x"));
}

/* "x", which all have left in order. */
static void must_be_gone(void)
{
	scene_has_objects(0);
	MUST_STATUS(WW_ERR_NOT_FOUND, ww_broker_remove(scene.broker, "x"));
}

static struct ww_barrier_info barrier_info(ww_barrier *barrier)
{
	struct ww_barrier_info info = WW_INIT(struct ww_barrier_info);

	MUST_OK(ww_barrier_info_get(barrier, &info));
	return info;
}

/* --- making and joining --- */

SCENE_CASE(barrier_create_refuses, NO_DEVICE)
{
	static const struct ww_barrier_params wrong[] = {{sizeof(*wrong), .count = 0},
		{sizeof(*wrong), .count = WW_BARRIER_MEMBERS_MAX + 1}, {0, .count = 2},
		{sizeof(*wrong), .count = 2, .mode = 010000},
		{sizeof(*wrong), .count = 2, .flags = 64},
		{sizeof(*wrong), .count = 2, .escrow_ns = WW_ESCROW_NONE}};
	static const char *const words[] = {"members", "1024", "size", "mode", "flags", "escrow"};
	const struct ww_barrier_params *right = BARRIER(.count = 2);
	OWN(timeline) ww_timeline *timeline = timeline_make(0, 0);
	struct ww_token token;

	for (size_t i = 0; i < CHECK_COUNT(wrong); i++)
		MUST_REFUSE(WW_ERR_INVALID, words[i],
			ww_barrier_create(scene.broker, "x", &wrong[i], NULL, &token));
	MUST_REFUSE(WW_ERR_INVALID, "token",
		ww_barrier_create(scene.broker, NULL, right, NULL, NULL));
	MUST_REFUSE(WW_ERR_INVALID, "",
		ww_barrier_create(scene.broker, "a/../b", right, NULL, &token));
	MUST_OK(ww_timeline_put(timeline, scene.broker, "x", NULL, NULL));
	MUST_REFUSE(WW_ERR_EXISTS, "'x'",
		ww_barrier_create(scene.broker, "x", right, NULL, &token));
}

static void refuse_join(ww_status status, const char *word, const char *name, uint32_t rank,
	uint64_t timeout_ns)
{
	ww_barrier *barrier = (ww_barrier *)&status;

	MUST_REFUSE(status, word,
		ww_barrier_get(scene.broker, name, rank, timeout_ns, NULL, &barrier));
	MUST(!barrier);
}

SCENE_CASE(barrier_join_refuses, WW_CAP_EXPORT)
{
	ww_timeline *timeline = timeline_make(0, 0);
	ww_memory *memory;

	refuse_join(WW_ERR_NOT_FOUND, "'x'", "x", 0, 0);
	refuse_join(WW_TIMED_OUT, "'x' was not there", "x", 0, 2 * MS);
	refuse_join(WW_ERR_INVALID, "", "a//b", 0, FOREVER);
	MUST_OK(ww_barrier_create(scene.broker, "x", BARRIER(.count = 3), NULL, NULL));
	refuse_join(WW_ERR_INVALID, "rank 3", "x", 3, FOREVER);
	refuse_join(WW_ERR_INVALID, "rank", "x", UINT32_MAX - 1, FOREVER);
	MUST_OK(ww_timeline_put(timeline, scene.broker, "timeline", NULL, NULL));
	refuse_join(WW_ERR_UNSUPPORTED, "barrier", "timeline", 0, FOREVER);
	memory = scene_make(MIB, 1);
	scene_put(memory, "memory", 0, WW_LIFE_HELD, WW_STATE_SEALED);
	refuse_join(WW_ERR_UNSUPPORTED, "memory", "memory", 0, FOREVER);
	ww_memory_unref(memory);
	ww_timeline_unref(timeline);
	remove_it();
}

/* One member is a barrier too. */
SCENE_CASE(barrier_of_one, NO_DEVICE)
{
	struct ww_barrier_info info;
	struct ww_token token;
	ww_barrier *barrier;

	for (int by_token = 0; by_token < 2; by_token++) {
		MUST_OK(ww_barrier_create(scene.broker, by_token ? NULL : "x",
			BARRIER(.count = 1, .uses = 1), NULL, &token));
		if (by_token)
			MUST_OK(ww_barrier_import(scene.broker, &token, WW_BARRIER_ANY_RANK, 0,
				NULL, &barrier));
		else
			MUST_OK(ww_barrier_get(scene.broker, "x", 0, 0, NULL, &barrier));
		for (int i = 0; i < 10; i++)
			MUST_OK(ww_barrier_wait(barrier, 0, NULL));
		info = barrier_info(barrier);
		MUST_EQUAL(sizeof(info), info.struct_size);
		MUST_EQUAL(1, info.count);
		MUST_EQUAL(0, info.rank);
		MUST_EQUAL(0, info.arrived);
		MUST_EQUAL(10, info.round);
		MUST_EQUAL(0, info.is_broken);
		MUST_EQUAL(UINT32_MAX, info.broken_rank);
		MUST(ww_barrier_ref(barrier) == barrier);
		MUST(!ww_barrier_unref(barrier));
		MUST_OK(ww_barrier_wait(barrier, 0, NULL));
		MUST(!ww_barrier_unref(barrier));
		must_be_gone();
	}
	MUST(!ww_barrier_unref(NULL));
	MUST(!ww_barrier_ref(NULL));
}

SCENE_CASE(barrier_info_is_versioned, NO_DEVICE)
{
	struct ww_barrier_info info = {0};
	ww_barrier *barrier;

	MUST_OK(ww_barrier_create(scene.broker, "x", BARRIER(.count = 1), NULL, NULL));
	MUST_OK(ww_barrier_get(scene.broker, "x", 0, 0, NULL, &barrier));
	MUST_REFUSE(WW_ERR_INVALID, "size", ww_barrier_info_get(barrier, &info));
	info.struct_size = 8;
	MUST_REFUSE(WW_ERR_INVALID, "size", ww_barrier_info_get(barrier, &info));
	ww_barrier_unref(barrier);
	must_be_gone();
}

SCENE_CASE(barrier_nobody_joins, NO_DEVICE)
{
	struct ww_token token;
	ww_barrier *barrier;

	MUST_OK(ww_barrier_create(scene.broker, "x", BARRIER(.count = 2, .escrow_ns = 100 * MS),
		NULL, &token));
	scene_has_objects(0);
	refuse_join(WW_ERR_NOT_FOUND, "'x'", "x", 0, 0);
	MUST_REFUSE(WW_ERR_NOT_FOUND, "",
		ww_barrier_import(scene.broker, &token, 0, FOREVER, NULL, &barrier));
}

/* The creator's connection ends before any member joins: the escrow keeps the barrier. */
SCENE_CASE(barrier_creator_ends_before_members_join, NO_DEVICE)
{
	ww_barrier *barrier;
	struct ww_token token;

	for (int by_token = 0; by_token < 2; by_token++) {
		MUST_OK(ww_barrier_create(scene.broker, by_token ? NULL : "x", BARRIER(.count = 1),
			NULL, &token));
		ww_broker_unref(scene.broker);
		MUST_OK(ww_broker_open(NULL, &scene.broker));
		scene_has_objects(1);
		if (by_token)
			MUST_OK(ww_barrier_import(scene.broker, &token, 0, 0, NULL, &barrier));
		else
			MUST_OK(ww_barrier_get(scene.broker, "x", 0, 0, NULL, &barrier));
		MUST_OK(ww_barrier_wait(barrier, 0, NULL));
		ww_barrier_unref(barrier);
		must_be_gone();
	}
}

/* A process that stops waiting is no member, and its rank is free for the next one. */
SCENE_CASE(barrier_join_times_out, NO_DEVICE)
{
	struct ww_token token;
	ww_barrier *barrier;

	MUST_OK(ww_barrier_create(scene.broker, "x", BARRIER(.count = 2), NULL, &token));
	MUST_REFUSE(WW_TIMED_OUT, "rank 0 did not join barrier @",
		ww_barrier_import(scene.broker, &token, 1, 0, NULL, &barrier));
	for (int i = 0; i < 5; i++) {
		refuse_join(WW_TIMED_OUT, "did not join barrier 'x' in time", "x", 1, 0);
		refuse_join(WW_TIMED_OUT, "did not join barrier 'x' in time", "x", 1, 2 * MS);
		refuse_join(WW_TIMED_OUT, "did not join barrier 'x' in time", "x",
			WW_BARRIER_ANY_RANK, 2 * MS);
	}
	remove_it();
}

/* --- members --- */

struct member {
	pthread_t thread;
	uint32_t rank; /* to ask for */
	const struct ww_token *token;
	ww_barrier *barrier;
	void (*play)(struct member *member);
};

static void *join(void *argument)
{
	struct member *member = argument;

	if (member->token)
		MUST_OK(ww_barrier_import(scene.broker, member->token, member->rank, FOREVER, NULL,
			&member->barrier));
	else
		MUST_OK(ww_barrier_get(scene.broker, "x", member->rank, FOREVER, NULL,
			&member->barrier));
	if (member->play)
		member->play(member);
	return NULL;
}

/* Has them join, each in a thread of its own, and play. */
static void run_members(struct member *members, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		MUST(!pthread_create(&members[i].thread, NULL, join, &members[i]));
	for (uint32_t i = 0; i < count; i++)
		pthread_join(members[i].thread, NULL);
}

static void all_leave(struct member *members, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		members[i].barrier = ww_barrier_unref(members[i].barrier);
}

/* Two barriers' worth of members that have joined, at rank 0 and 1. */
static void two_join(struct member members[2])
{
	memset(members, 0, 2 * sizeof(*members));
	members[1].rank = 1;
	MUST_OK(ww_barrier_create(scene.broker, "x", BARRIER(.count = 2), NULL, NULL));
	run_members(members, 2);
}

static uint64_t boards[MEMBERS];

/* What everybody wrote before it arrived, everybody reads afterwards. */
static void play_rounds(struct member *member)
{
	uint32_t rank = barrier_info(member->barrier).rank;

	for (uint64_t round = 1; round <= ROUNDS; round++) {
		boards[rank] = round;
		MUST_OK(ww_barrier_wait(member->barrier, FOREVER, NULL));
		for (uint32_t i = 0; i < MEMBERS; i++)
			MUST_EQUAL(round, boards[i]);
		MUST_OK(ww_barrier_wait(member->barrier, FOREVER, NULL));
		MUST_EQUAL(2 * round, barrier_info(member->barrier).round);
	}
}

/* A use of a token is that of a process, however many of its threads join. */
static void play_all(bool by_token, bool any_rank)
{
	struct member members[MEMBERS];
	struct ww_token token;
	uint32_t ranks = 0;

	MUST_OK(ww_barrier_create(scene.broker, by_token ? NULL : "x",
		BARRIER(.count = MEMBERS, .uses = 1), NULL, &token));
	for (uint32_t i = 0; i < MEMBERS; i++)
		members[i] = (struct member){
			.rank = any_rank ? WW_BARRIER_ANY_RANK : (i * 2 + 1) % MEMBERS,
			.token = by_token ? &token : NULL,
			.play = play_rounds,
		};
	run_members(members, MEMBERS);
	for (uint32_t i = 0; i < MEMBERS; i++) {
		struct ww_barrier_info info = barrier_info(members[i].barrier);

		MUST_EQUAL(MEMBERS, info.count);
		MUST_EQUAL(2 * ROUNDS, info.round);
		MUST(info.rank < MEMBERS && (any_rank || info.rank == members[i].rank));
		ranks |= 1U << info.rank;
	}
	MUST_EQUAL((1U << MEMBERS) - 1, ranks);
	all_leave(members, MEMBERS);
	must_be_gone();
}

SCENE_CASE(barrier_passes_rounds, NO_DEVICE)
{
	play_all(false, false);
	play_all(true, true);
}

/* Who arrived and gave up waiting counts as arrived, once. */
SCENE_CASE(barrier_wait_times_out, NO_DEVICE)
{
	struct member members[2];

	two_join(members);
	for (uint64_t round = 0; round < 6; round += 2) {
		MUST_EQUAL(0, barrier_info(members[1].barrier).arrived);
		MUST_STATUS(WW_TIMED_OUT, ww_barrier_wait(members[0].barrier, 0, NULL));
		MUST_STATUS(WW_TIMED_OUT, ww_barrier_wait(members[0].barrier, 3 * MS, NULL));
		MUST_EQUAL(1, barrier_info(members[0].barrier).arrived);
		MUST_EQUAL(1, barrier_info(members[1].barrier).arrived);
		MUST_EQUAL(round, barrier_info(members[0].barrier).round);
		MUST_OK(ww_barrier_wait(members[1].barrier, 0, NULL));
		/*
		 * The next round of the one has begun before the other has seen the end of this
		 * one.
		 */
		MUST_STATUS(WW_TIMED_OUT, ww_barrier_wait(members[1].barrier, 0, NULL));
		MUST_OK(ww_barrier_wait(members[0].barrier, FOREVER, NULL));
		MUST_OK(ww_barrier_wait(members[0].barrier, 0, NULL));
		MUST_OK(ww_barrier_wait(members[1].barrier, 0, NULL));
		MUST_EQUAL(0, barrier_info(members[0].barrier).is_broken);
	}
	all_leave(members, 2);
	must_be_gone();
}

SCENE_CASE(barrier_is_broken_by_who_leaves, NO_DEVICE)
{
	struct member members[3];
	struct ww_barrier_info info;

	MUST_OK(ww_barrier_create(scene.broker, "x", BARRIER(.count = 3), NULL, NULL));
	for (uint32_t i = 0; i < 3; i++)
		members[i] = (struct member){.rank = i};
	run_members(members, 3);
	MUST_STATUS(WW_TIMED_OUT, ww_barrier_wait(members[1].barrier, 0, NULL));
	MUST_STATUS(WW_TIMED_OUT, ww_barrier_wait(members[0].barrier, 0, NULL));
	members[1].barrier = ww_barrier_unref(members[1].barrier);
	/* It had arrived in the first round, which ends well. */
	MUST_OK(ww_barrier_wait(members[2].barrier, FOREVER, NULL));
	MUST_OK(ww_barrier_wait(members[0].barrier, FOREVER, NULL));
	for (int i = 0; i < 3; i++) {
		MUST_REFUSE(WW_ERR_PEER_LOST, "member 1",
			ww_barrier_wait(members[0].barrier, FOREVER, NULL));
		MUST_REFUSE(WW_ERR_PEER_LOST, "left", ww_barrier_wait(members[2].barrier, 0, NULL));
	}
	info = barrier_info(members[0].barrier);
	MUST_EQUAL(1, info.is_broken);
	MUST_EQUAL(1, info.broken_rank);
	MUST_EQUAL(1, info.round);
	info = barrier_info(members[2].barrier);
	MUST_EQUAL(1, info.broken_rank);
	all_leave(members, 3);
	must_be_gone();
}

static void wait_in_vain(struct member *member)
{
	MUST_OK(ww_barrier_wait(member->barrier, FOREVER, NULL));
	if (member->rank == 0)
		member->barrier = ww_barrier_unref(member->barrier);
	else
		MUST_REFUSE(WW_ERR_PEER_LOST, "member 0",
			ww_barrier_wait(member->barrier, FOREVER, NULL));
}

/* Those who sleep are woken, too. */
SCENE_CASE(barrier_wakes_who_waits_for_who_leaves, NO_DEVICE)
{
	struct member members[4];

	for (int i = 0; i < 10; i++) {
		MUST_OK(ww_barrier_create(scene.broker, "x", BARRIER(.count = 4), NULL, NULL));
		for (uint32_t rank = 0; rank < 4; rank++)
			members[rank] = (struct member){.rank = rank, .play = wait_in_vain};
		run_members(members, 4);
		all_leave(members, 4);
		must_be_gone();
	}
}

static int barrier_fd(ww_barrier *barrier)
{
	int fd;

	MUST_OK(ww_barrier_eventfd(barrier, &fd));
	return fd;
}

/* Also when the library has looked just now. */
static bool shows(ww_barrier *barrier)
{
	OWN(fd) int fd = barrier_fd(barrier);

	return is_readable(fd);
}

SCENE_CASE(barrier_eventfd_shows_rounds, NO_DEVICE)
{
	struct member members[2];
	OWN(fd) int first;
	OWN(fd) int second;

	two_join(members);
	first = barrier_fd(members[0].barrier);
	second = barrier_fd(members[1].barrier);
	for (int i = 0; i < 3; i++) {
		MUST(!is_readable(first));
		MUST_STATUS(WW_TIMED_OUT, ww_barrier_wait(members[0].barrier, 0, NULL));
		MUST(!is_readable(first));
		MUST_OK(ww_barrier_wait(members[1].barrier, 0, NULL));
		MUST(becomes_readable(first));
		/* The other one is ahead by a round. */
		MUST_STATUS(WW_TIMED_OUT, ww_barrier_wait(members[1].barrier, 0, NULL));
		MUST(shows(members[0].barrier));
		MUST_OK(ww_barrier_wait(members[0].barrier, 0, NULL));
		MUST(!shows(members[0].barrier));
		MUST(!is_readable(second));
		MUST_OK(ww_barrier_wait(members[0].barrier, 0, NULL));
		MUST(becomes_readable(second));
		MUST_OK(ww_barrier_wait(members[1].barrier, 0, NULL));
	}
	MUST(!is_readable(second));
	members[1].barrier = ww_barrier_unref(members[1].barrier);
	MUST(is_readable(second)); /* for ever */
	MUST(becomes_readable(first));
	MUST_STATUS(WW_ERR_PEER_LOST, ww_barrier_wait(members[0].barrier, 0, NULL));
	MUST(is_readable(first));
	all_leave(members, 2);
	MUST(is_readable(first));
	must_be_gone();
}

static void play_alone(struct member *member)
{
	for (int i = 0; i < ROUNDS; i++)
		MUST_OK(ww_barrier_wait(member->barrier, FOREVER, NULL));
}

static void play_by_eventfd(struct member *member)
{
	OWN(fd) int fd = barrier_fd(member->barrier);

	for (int i = 0; i < ROUNDS; i++) {
		ww_status status;

		while ((status = ww_barrier_wait(member->barrier, 0, NULL)) == WW_TIMED_OUT)
			MUST(becomes_readable(fd));
		MUST_OK(status);
	}
}

/* Members that only poll, beside one that waits. */
SCENE_CASE(barrier_eventfd_misses_nothing, NO_DEVICE)
{
	struct member members[MEMBERS];

	MUST_OK(ww_barrier_create(scene.broker, "x", BARRIER(.count = MEMBERS), NULL, NULL));
	for (uint32_t i = 0; i < MEMBERS; i++)
		members[i] = (struct member){.rank = i, .play = play_by_eventfd};
	members[1].play = play_alone;
	run_members(members, MEMBERS);
	all_leave(members, MEMBERS);
	must_be_gone();
}

SCENE_CASE(barrier_is_full, NO_DEVICE)
{
	struct member members[2];

	two_join(members);
	refuse_join(WW_ERR_EXISTS, "taken", "x", 0, FOREVER);
	refuse_join(WW_ERR_EXISTS, "taken", "x", 1, FOREVER);
	refuse_join(WW_ERR_EXISTS, "all ranks", "x", WW_BARRIER_ANY_RANK, FOREVER);
	MUST_STATUS(WW_TIMED_OUT, ww_barrier_wait(members[0].barrier, 0, NULL));
	MUST_OK(ww_barrier_wait(members[1].barrier, 0, NULL));
	MUST_OK(ww_barrier_wait(members[0].barrier, 0, NULL));
	all_leave(members, 2);
	must_be_gone();
}

#define MISUSED(call) MUST_REFUSE(WW_ERR_INVALID, "NULL", call)

SCENE_CASE(barrier_misuse, NEEDS_MISUSE_STATUS | NO_DEVICE)
{
	struct ww_barrier_info info = WW_INIT(struct ww_barrier_info);
	struct ww_token token = {{0}};
	ww_barrier *barrier;
	int fd;

	MUST_OK(ww_barrier_create(scene.broker, "x", BARRIER(.count = 1), NULL, NULL));
	MISUSED(ww_barrier_get(scene.broker, NULL, 0, 0, NULL, &barrier));
	MISUSED(ww_barrier_get(scene.broker, "x", 0, 0, NULL, NULL));
	MISUSED(ww_barrier_import(scene.broker, NULL, 0, 0, NULL, &barrier));
	MISUSED(ww_barrier_import(scene.broker, &token, 0, 0, NULL, NULL));
	MISUSED(ww_barrier_wait(NULL, 0, NULL));
	MUST_OK(ww_barrier_get(scene.broker, "x", 0, 0, NULL, &barrier));
	MISUSED(ww_barrier_info_get(NULL, &info));
	MISUSED(ww_barrier_info_get(barrier, NULL));
	MISUSED(ww_barrier_eventfd(NULL, &fd));
	MUST_EQUAL(-1, fd);
	MISUSED(ww_barrier_eventfd(barrier, NULL));
	ww_barrier_unref(barrier);
	must_be_gone();
}
