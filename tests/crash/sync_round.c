/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sync_round.c - a round: who plays in it, when it is over, and how long the waiters had to wait
 */
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "crash/sync.h"

#define GOAL_NS UINT64_C(5000000)

struct cast cast;

/* Looks on until the kernel says that the signaller has ended. */
static struct {
	pthread_t thread;
	struct pollfd waiting[2];
	uint64_t ended_ns;
	uint64_t ended_real_ns; /* the same moment, CLOCK_REALTIME */
} watch;

static struct figures {
	uint64_t *times_ns;
	size_t count;
	size_t room;
} figures[WAYS];

static struct figures notices; /* of the broker */

static bool is_released; /* this round's waiters are */

/* --- figures --- */

static void keep_time(struct figures *of, uint64_t time_ns)
{
	if (of->count == of->room) {
		of->room = of->room * 2 + 64;
		of->times_ns = realloc(of->times_ns, of->room * sizeof(uint64_t));
		MUST(of->times_ns);
	}
	of->times_ns[of->count++] = time_ns;
}

static uint64_t time_from(uint64_t start_ns, uint64_t end_ns)
{
	return end_ns > start_ns ? end_ns - start_ns : 0;
}

static void keep_times(void)
{
	keep_time(&notices, time_from(watch.ended_real_ns, atomic_load(&cast.board->lost_ns)));
	for (uint32_t i = 0; i < SYNC_WAITERS; i++) {
		for (uint32_t j = 0; j < cast.board->results[i].count; j++) {
			enum way way = (enum way)cast.board->results[i].items[j].way;
			uint64_t time_ns = time_from(watch.ended_ns,
				cast.board->results[i].items[j].released_ns);

			keep_time(&figures[way], time_ns);
		}
	}
}

static void forget(struct figures *of)
{
	free(of->times_ns);
	memset(of, 0, sizeof(*of));
}

static void forget_figures(void)
{
	forget(&notices);
	for (int i = 0; i < WAYS; i++)
		forget(&figures[i]);
}

/* Return: how many were later than the goal. */
static size_t note_way(const char *name, struct figures *of)
{
	size_t count = of->count;
	size_t in_time = 0;

	if (count == 0)
		return 0;
	note_times(name, of->times_ns, count);
	while (in_time < count && of->times_ns[in_time] <= GOAL_NS)
		in_time++;
	if (in_time < count)
		check_note("%s: %zu of %zu within 5 ms", name, in_time, count);
	return count - in_time;
}

static void note_figures(const char *what)
{
	const char *strict = getenv("WW_TEST_STRICT");
	size_t total = 0;
	size_t late = 0;

	for (int i = 0; i < WAYS; i++)
		total += figures[i].count;
	if (total == 0)
		return;
	check_note("%s: from the kernel's report of the end to", what);
	note_way("the broker's notice of it", &notices);
	for (int i = 0; i < WAYS; i++)
		late += note_way(way_names[i], &figures[i]);
	check_note("%s: %zu of %zu waits released within 5 ms", what, total - late, total);
	forget_figures();
	if (cast.is_timed && strict && !strcmp(strict, "1") && late > 0)
		FAIL("%zu of %zu waits were released after more than 5 ms", late, total);
}

/* --- who plays --- */

void waiter_start(struct child *waiter, uint32_t index)
{
	char number[16];
	char seed[32];
	const char *const arguments[] = {number, seed, NULL};

	snprintf(number, sizeof(number), "%" PRIu32, index);
	snprintf(seed, sizeof(seed), "%" PRIu64, draw_from(&cast.random, UINT32_MAX));
	child_start(waiter, "role_waiter", &(struct child_options){.arguments = arguments});
}

void waiter_wait(struct child *waiter, bool is_member)
{
	child_tell(waiter, "round %" PRIu64 " %d %d %d %d %d", cast.round, (int)cast.signaller.pid,
		cast.works, is_member, cast.is_timed, cast.is_counted);
}

void cast_begin(void)
{
	scene_begin();
	cast = (struct cast){
		.random = seed_choose(),
		.board = board_map(true),
		.is_timed = true,
		.is_counted = true,
	};
	forget_figures(); /* of a case that failed */
	for (uint32_t i = 0; i < SYNC_WAITERS; i++)
		waiter_start(&cast.waiters[i], i);
	for (uint32_t i = 0; i < SYNC_WAITERS; i++)
		child_hear(&cast.waiters[i], "here");
}

void cast_end(const char *what)
{
	for (uint32_t i = 0; i < SYNC_WAITERS; i++)
		child_tell(&cast.waiters[i], "over");
	for (uint32_t i = 0; i < SYNC_WAITERS; i++)
		child_finish(&cast.waiters[i]);
	board_unmap(cast.board);
	scene_end();
	note_figures(what);
}

/* --- a round --- */

static void *watch_signaller(void *unused)
{
	int ready = poll(watch.waiting, 2, child_limit_ms());
	struct timespec now;

	(void)unused;
	watch.ended_ns = now_ns();
	clock_gettime(CLOCK_REALTIME, &now);
	watch.ended_real_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	if (ready <= 0)
		FAIL("the kernel does not report the signaller's end");
	return NULL;
}

static void start_watch(void)
{
	watch.waiting[0] = (struct pollfd){.fd = cast.signaller.socket, .events = POLLRDHUP};
	watch.waiting[1] = (struct pollfd){.fd = cast.signaller.pidfd, .events = POLLIN};
	MUST(!pthread_create(&watch.thread, NULL, watch_signaller, NULL));
}

static void make_props(void)
{
	struct ww_token token;
	char name[32];

	MUST_OK(ww_timeline_create(NULL, &cast.gate));
	name_gate(name, cast.round);
	MUST_OK(ww_timeline_put(cast.gate, scene.broker, name, NULL, NULL));
	name_barrier(name, cast.round);
	MUST_OK(ww_barrier_create(scene.broker, name,
		WW_PARAMS(struct ww_barrier_params, .count = SYNC_WAITERS + 1), NULL, &token));
	for (int i = 0; i < STYLES; i++) {
		atomic_store(&cast.board->said_by_cpu[i], 0);
		atomic_store(&cast.board->said_by_streams[i], 0);
	}
	atomic_store(&cast.board->rounds, 0);
}

void round_begin(bool works)
{
	char round[32];
	char seed[32];
	const char *const arguments[] = {round, seed, works ? "works" : "idles", "member", NULL};

	cast.round++;
	cast.works = works;
	is_released = false;
	make_props();
	snprintf(round, sizeof(round), "%" PRIu64, cast.round);
	snprintf(seed, sizeof(seed), "%" PRIu64, draw_from(&cast.random, UINT32_MAX));
	child_start(&cast.signaller, "role_signaller",
		&(struct child_options){.arguments = arguments});
	child_hear(&cast.signaller, "made");
	for (uint32_t i = 0; i < SYNC_WAITERS; i++)
		waiter_wait(&cast.waiters[i], true);
	child_hear(&cast.signaller, "signalling");
	for (uint32_t i = 0; i < SYNC_WAITERS; i++)
		child_hear(&cast.waiters[i], "waiting");
	/* It would stay for those who may still come; its members keep it. */
	name_barrier(round, cast.round);
	MUST_OK(ww_broker_remove(scene.broker, round));
	start_watch();
}

void round_kill(void)
{
	MUST_CALL(kill(cast.signaller.pid, SIGKILL));
	pthread_join(watch.thread, NULL);
}

void round_released(void)
{
	for (uint32_t i = 0; i < SYNC_WAITERS; i++)
		child_hear(&cast.waiters[i], "released");
	is_released = true;
}

void round_end(void)
{
	if (!is_released)
		round_released();
	child_kill(&cast.signaller);
	if (cast.is_timed)
		keep_times();
	cast.gate = ww_timeline_unref(cast.gate);
}

void round_open_gate(void)
{
	MUST_OK(ww_timeline_signal(cast.gate, 1));
}

void pause_at_random(void)
{
	static const uint64_t most_ns[] = {200000, 2000000, 20000000};

	pause_up_to(&cast.random, most_ns[draw_from(&cast.random, CHECK_COUNT(most_ns))]);
}
