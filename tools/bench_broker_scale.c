/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_broker_scale.c - the crowd: many objects, many clients, and what a look-up costs among them
 *
 * The same questions are asked twice, of the broker while it is empty and when it is full: by one client, one question
 * after the other, while the others are only connected; and by all at once, each with one question under way. The
 * clients are connections of this process, each a holder of its own to the broker, and the objects are dealt out to
 * them. On the way to full, the time of a listing and the broker's memory are taken.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "bench_broker.h"

#define PREFIX       "bench/crowd/"
#define LISTINGS     5
#define STEPS        3
#define EVENTS_MOST  256
#define LOADED_KILLS 5

#define WARM_UP_LOOKUPS 200

/* Look-ups are short: so many times the iterations of longer measurements. */
#define TURNS_FACTOR 50

struct crowd {
	struct arena *arena;
	struct client *clients;
	uint64_t client_count;
	uint64_t objects;
	uint64_t putter; /* of the next one */
	uint64_t asked;  /* chooses the next name */
};

static void own_crowd(struct crowd *crowd)
{
	for (uint64_t i = 0; i < crowd->client_count; i++)
		client_close(&crowd->clients[i]);
	free(crowd->clients);
}

static void name_object(uint64_t index, char out_name[ARENA_NAME_BYTES])
{
	snprintf(out_name, ARENA_NAME_BYTES, PREFIX "%07llu", (unsigned long long)index);
}

/* The name of some object, another one each time. */
static void choose_name(struct crowd *crowd, char out_name[ARENA_NAME_BYTES])
{
	uint64_t number = ++crowd->asked * UINT64_C(0x9e3779b97f4a7c15);

	name_object((number >> 20) % crowd->objects, out_name);
}

static int join(struct crowd *crowd, uint64_t count)
{
	crowd->clients = calloc(count, sizeof(*crowd->clients));
	if (!crowd->clients)
		return complain("out of memory");
	for (uint64_t i = 0; i < count; i++) {
		if (client_open(&crowd->clients[i], crowd->arena->nest.address, false))
			return -1;
		crowd->client_count++;
	}
	return 0;
}

static int fill(struct crowd *crowd, uint64_t count)
{
	const struct arena *arena = crowd->arena;

	while (crowd->objects < count) {
		struct client *client = &crowd->clients[crowd->putter];
		char name[ARENA_NAME_BYTES];
		uint8_t id[RAW_ID_BYTES];

		name_object(crowd->objects, name);
		if (client_put(client, name, ARENA_OBJECT_BYTES, arena->many_fds ? arena->fd : -1,
			    id))
			return -1;
		crowd->objects++;
		if (++crowd->putter == crowd->client_count)
			crowd->putter = 0;
	}
	return 0;
}

/* --- one asks --- */

static int look_up(struct crowd *crowd, uint64_t *out_ns)
{
	char name[ARENA_NAME_BYTES];
	uint64_t start;

	choose_name(crowd, name);
	start = link_now_ns();
	if (client_stat(&crowd->clients[0], name))
		return -1;
	*out_ns = link_now_ns() - start;
	return 0;
}

static int time_lookups(struct crowd *crowd, struct samples *samples)
{
	const struct bench *bench = crowd->arena->bench;
	struct pace pace;
	uint64_t ns = 0;

	for (uint64_t done = 0; done < WARM_UP_LOOKUPS; done++) {
		if (look_up(crowd, &ns))
			return -1;
	}
	pace_start(&pace, TURNS_FACTOR * bench->iterations, bench->budget_ns);
	for (uint64_t done = 0; pace_goes_on(&pace, done); done++) {
		if (look_up(crowd, &ns) || samples_add(samples, ns))
			return -1;
	}
	return 0;
}

/* --- all ask --- */

static int ask(struct crowd *crowd, struct client *client)
{
	char name[ARENA_NAME_BYTES];

	choose_name(crowd, name);
	return client_ask(client, name);
}

static int wait_for_all(struct crowd *crowd, int epoll)
{
	for (uint64_t i = 0; i < crowd->client_count; i++) {
		struct epoll_event event = {.events = EPOLLIN, .data.ptr = &crowd->clients[i]};

		if (epoll_ctl(epoll, EPOLL_CTL_ADD, crowd->clients[i].socket, &event))
			return complain("cannot wait for a client: %s", strerror(errno));
	}
	return 0;
}

/* Hears what was answered; asks again until @pace ends. */
static int pump(struct crowd *crowd, int epoll, const struct pace *pace, uint64_t *answered)
{
	uint64_t under_way = crowd->client_count;

	while (under_way > 0) {
		struct epoll_event events[EVENTS_MOST];
		int count = epoll_wait(epoll, events, EVENTS_MOST, -1);

		if (count < 0 && errno != EINTR)
			return complain("cannot wait for clients: %s", strerror(errno));
		for (int i = 0; i < count; i++) {
			struct client *client = events[i].data.ptr;

			if (client_hear(client))
				return -1;
			++*answered;
			if (!pace_goes_on(pace, *answered))
				under_way--;
			else if (ask(crowd, client))
				return -1;
		}
	}
	return 0;
}

/* How long one look-up takes of the broker's time: the whole time by the number of answers. */
static int time_all(struct crowd *crowd, double *out_us)
{
	const struct bench *bench = crowd->arena->bench;
	OWN(fd) int epoll = epoll_create1(EPOLL_CLOEXEC);
	uint64_t answered = 0;
	struct pace pace;
	uint64_t start;

	if (epoll < 0)
		return complain("cannot wait for clients: %s", strerror(errno));
	if (wait_for_all(crowd, epoll))
		return -1;
	pace_start(&pace, UINT64_C(10) * TURNS_FACTOR * bench->iterations, bench->budget_ns);
	start = link_now_ns();
	for (uint64_t i = 0; i < crowd->client_count; i++) {
		if (ask(crowd, &crowd->clients[i]))
			return -1;
	}
	if (pump(crowd, epoll, &pace, &answered))
		return -1;
	*out_us = (double)(link_now_ns() - start) / 1e3 / (double)answered;
	return 0;
}

/* --- the broker meanwhile --- */

static int ask_memory(struct arena *arena, uint64_t *out_bytes)
{
	struct ww_broker_info info = {.size = sizeof(info)};

	if (ww_broker_info_get(arena->broker, &info) != WW_OK)
		return complain_record("cannot ask the broker how it is");
	*out_bytes = info.memory_bytes;
	return 0;
}

static int time_listing(struct crowd *crowd, double *out_ms)
{
	OWN(samples) struct samples samples = {0};

	for (int i = 0; i < LISTINGS; i++) {
		uint64_t start = link_now_ns();
		uint64_t count;

		if (client_list(&crowd->clients[0], PREFIX, &count) ||
			samples_add(&samples, link_now_ns() - start))
			return -1;
		if (count != crowd->objects)
			return complain("a list has %llu of %llu objects",
				(unsigned long long)count, (unsigned long long)crowd->objects);
	}
	*out_ms = samples_percentile_us(&samples, 50) / 1e3;
	return 0;
}

/* Fills the broker in steps, each twice the one before; a listing may take twice as long, and some. */
static int fill_and_list(struct crowd *crowd)
{
	struct arena *arena = crowd->arena;
	double before_ms = BENCH_NONE;

	for (int step = STEPS - 1; step >= 0; step--) {
		char name[BENCH_NAME_BYTES];
		double ms = 0;

		if (fill(crowd, arena->objects >> step) || broker_gather(arena) ||
			time_listing(crowd, &ms) || broker_scatter(arena))
			return -1;
		snprintf(name, sizeof(name), "list.%llu", (unsigned long long)crowd->objects);
		if (broker_add_number(arena, name, "ms", ms, BENCH_NONE,
			    bench_listing_goal(before_ms)))
			return -1;
		before_ms = ms;
	}
	return 0;
}

/* --- all of it --- */

struct answers {
	struct samples samples;
	double p50;
	double p99;
	double each;
};

static void own_answers(struct answers *answers)
{
	samples_fini(&answers->samples);
}

static int ask_all(struct crowd *crowd, struct answers *answers)
{
	struct arena *arena = crowd->arena;

	if (broker_gather(arena) || time_lookups(crowd, &answers->samples) || broker_part(arena) ||
		time_all(crowd, &answers->each) || broker_scatter(arena))
		return -1;
	answers->p50 = samples_percentile_us(&answers->samples, 50);
	answers->p99 = samples_percentile_us(&answers->samples, 99);
	return 0;
}

static int compare(struct crowd *crowd, struct answers *empty, struct answers *full)
{
	struct arena *arena = crowd->arena;

	if (broker_add(arena, "lookup.empty", "us", &empty->samples, BENCH_NONE, BENCH_NONE) ||
		broker_add(arena, "lookup.full", "us", &full->samples, empty->p50,
			bench_lookup_goal(empty->p50)) ||
		broker_add_number(arena, "lookup.full.p99", "us", full->p99, empty->p99,
			bench_lookup_goal(empty->p99)) ||
		broker_add_number(arena, "lookup.all", "us", full->each, empty->each,
			bench_lookup_goal(empty->each)))
		return -1;
	say("%llu clients at once: %.0f look-ups per second among %llu objects, %.0f with one",
		(unsigned long long)crowd->client_count, 1e6 / full->each,
		(unsigned long long)crowd->objects, 1e6 / empty->each);
	return 0;
}

static int kill_loaded(struct crowd *crowd)
{
	OWN(samples) struct samples samples = {0};
	struct arena *arena = crowd->arena;
	char name[ARENA_NAME_BYTES];

	name_object(0, name);
	if (broker_kill(arena, name, LOADED_KILLS, &samples))
		return -1;
	return broker_add(arena, "restart.full", "ms", &samples, BENCH_NONE, BENCH_NONE);
}

int broker_scale(struct arena *arena)
{
	OWN(crowd) struct crowd crowd = {.arena = arena};
	OWN(answers) struct answers empty = {0};
	OWN(answers) struct answers full = {0};
	uint64_t before = 0;
	uint64_t after = 0;

	/* One object is there already, so that there is something to look up. */
	if (join(&crowd, arena->clients) || fill(&crowd, 1) || ask_all(&crowd, &empty) ||
		ask_memory(arena, &before) || fill_and_list(&crowd) || ask_memory(arena, &after) ||
		ask_all(&crowd, &full) || compare(&crowd, &empty, &full))
		return -1;
	if (broker_add_number(arena, "memory_per_object", "bytes",
		    (double)(after - before) / (double)(crowd.objects - 1), BENCH_NONE,
		    BENCH_OBJECT_BYTES))
		return -1;
	return kill_loaded(&crowd);
}
