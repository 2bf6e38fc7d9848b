/* SPDX-License-Identifier: Apache-2.0 */
/*
 * broker_scale.c - the crowd: many objects, many clients, and what a look-up costs among them
 *
 * The same questions are asked twice, of the broker while it is empty and when it is full: by one
 * client, one question after the other, while the others are only connected; and by all at once,
 * each with one question under way. The clients are connections of this process, each a holder of
 * its own to the broker, and the objects are dealt out to them. On the way to full, the time of a
 * listing and the broker's memory are taken, and at last the time that the broker works when it is
 * watched.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <time.h>

#include <warpway/monitor.h>

#include "bench/broker.h"

/* Of this process, beside its clients. */
#define FILES_TO_SPARE 64

/* Descriptors of objects that are not put here. */
#define FDS_OF_OTHERS 1000

#define PREFIX       "bench/crowd/"
#define LISTINGS     5
#define STEPS        3
#define EVENTS_MOST  256
#define LOADED_KILLS 5

/* A second for each refresh of `warpway top`; Prometheus asks every 15 s. */
#define WATCH_SECONDS  300
#define WATCH_SCRAPE_S 15
#define WATCH_ROWS     40

/* Look-ups are short: so many times the iterations of longer measurements. */
#define TURNS_FACTOR 50

struct crowd {
	struct bench *bench;
	bool many_fds; /* objects have descriptors */
	struct client *clients;
	uint64_t client_count;
	uint64_t objects;
	uint64_t putter; /* of the next one */
	uint64_t asked;  /* chooses the next name */
};

static void own_crowd(struct crowd *crowd)
{
	crowd->bench->state = NULL;
	for (uint64_t i = 0; i < crowd->client_count; i++)
		client_close(&crowd->clients[i]);
	free(crowd->clients);
}

static void name_object(uint64_t index, char out_name[OBJECT_NAME_BYTES])
{
	snprintf(out_name, OBJECT_NAME_BYTES, PREFIX "%07llu", (unsigned long long)index);
}

/* The name of some object, another one each time. */
static void choose_name(struct crowd *crowd, char out_name[OBJECT_NAME_BYTES])
{
	uint64_t number = ++crowd->asked * UINT64_C(0x9e3779b97f4a7c15);

	name_object((number >> 20) % crowd->objects, out_name);
}

/* Of a running process, or of this one (0): as many as it may have in the end. */
static uint64_t files_allowed(uint32_t pid)
{
	struct rlimit limit;

	return prlimit((pid_t)pid, RLIMIT_NOFILE, NULL, &limit) ? 0 : limit.rlim_max;
}

static void raise_files(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

/*
 * Fewer clients where this process may not open so many, no descriptors where the broker may not.
 */
static int fit(struct crowd *crowd, uint64_t *out_clients)
{
	const struct bench *bench = crowd->bench;
	struct ww_broker_info info;
	uint64_t ours;
	uint64_t theirs;

	raise_files();
	ours = files_allowed(0);
	*out_clients = bench->clients;
	if (broker_info(crowd->bench, &info))
		return -1;
	theirs = files_allowed(info.pid);
	if (ours < bench->clients + FILES_TO_SPARE) {
		*out_clients = ours > UINT64_C(2) * FILES_TO_SPARE ? ours - FILES_TO_SPARE : 1;
		say("%llu clients instead of %llu: this process may open %llu files (ulimit -n)",
			(unsigned long long)*out_clients, (unsigned long long)bench->clients,
			(unsigned long long)ours);
	}
	/* Half is the broker's own reserve, and other parts put objects too. */
	crowd->many_fds = bench->objects + FDS_OF_OTHERS <= theirs / 2;
	if (!crowd->many_fds)
		say("%llu objects have no descriptor here: the broker may open %llu files only (ulimit "
		    "-Hn)",
			(unsigned long long)bench->objects, (unsigned long long)theirs);
	return 0;
}

static int join(struct crowd *crowd, uint64_t count)
{
	crowd->clients = calloc(count, sizeof(*crowd->clients));
	if (!crowd->clients)
		return complain("out of memory");
	for (uint64_t i = 0; i < count; i++) {
		if (client_open(&crowd->clients[i], crowd->bench->address, false))
			return -1;
		crowd->client_count++;
	}
	return 0;
}

static int fill(struct crowd *crowd, uint64_t count)
{
	int fd = crowd->many_fds ? broker_object_fd() : -1;

	while (crowd->objects < count) {
		struct client *client = &crowd->clients[crowd->putter];
		char name[OBJECT_NAME_BYTES];
		uint8_t id[RAW_ID_BYTES];

		name_object(crowd->objects, name);
		if (client_put(client, name, OBJECT_BYTES, fd, id))
			return -1;
		crowd->objects++;
		if (++crowd->putter == crowd->client_count)
			crowd->putter = 0;
	}
	return 0;
}

/* --- one asks --- */

static int look_up(struct bench *bench, uint64_t out_ns[])
{
	struct crowd *crowd = bench->state;
	char name[OBJECT_NAME_BYTES];
	uint64_t at;

	choose_name(crowd, name);
	at = link_now_ns();
	if (client_stat(&crowd->clients[0], name))
		return -1;
	out_ns[0] = bench_lap(&at);
	return 0;
}

static const struct bench_case lookups = {
	.turns = {look_up},
	.warm_up = 200,
	.factor = TURNS_FACTOR,
};

/* --- all ask --- */

static int ask(struct crowd *crowd, struct client *client)
{
	char name[OBJECT_NAME_BYTES];

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
	const struct bench *bench = crowd->bench;
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

/*
 * Fills the broker in steps, each twice the one before; a listing may take twice as long, and some.
 */
static int fill_and_list(struct crowd *crowd)
{
	struct bench *bench = crowd->bench;
	double allowed_ms = BENCH_NONE;

	for (int step = STEPS - 1; step >= 0; step--) {
		char name[BENCH_NAME_BYTES];
		double ms = 0;

		if (fill(crowd, bench->objects >> step) || broker_cpus_together(bench) ||
			time_listing(crowd, &ms) || broker_cpus_free(bench))
			return -1;
		snprintf(name, sizeof(name), "list.%llu", (unsigned long long)crowd->objects);
		if (bench_add_number(bench, name, "ms", ms, BENCH_NONE, allowed_ms))
			return -1;
		allowed_ms = bench_goal_value(BENCH_GOAL_LISTING, bench->info.backend, ms);
	}
	return 0;
}

/* --- look-ups in an empty broker and in a full one --- */

struct answers {
	struct samples samples;
	double each;
};

static void own_answers(struct answers *answers)
{
	samples_fini(&answers->samples);
}

static int ask_all(struct crowd *crowd, struct answers *answers)
{
	struct bench *bench = crowd->bench;

	if (broker_cpus_together(bench) || bench_measure(bench, &lookups, &answers->samples) ||
		broker_cpus_apart(bench) || time_all(crowd, &answers->each))
		return -1;
	return broker_cpus_free(bench);
}

static int compare(struct crowd *crowd, struct answers *empty, struct answers *full)
{
	static const struct bench_row rows[] = {
		{"lookup.empty", "us"},
		{"lookup.full", "us", BENCH_GOAL_LOOKUP},
	};
	struct bench *bench = crowd->bench;
	double empty_p99 = samples_percentile_us(&empty->samples, 99);

	if (bench_add_series(bench, &rows[0], &empty->samples, NULL) ||
		bench_add_series(bench, &rows[1], &full->samples, &empty->samples) ||
		bench_add_number(bench, "lookup.full.p99", "us",
			samples_percentile_us(&full->samples, 99), empty_p99,
			bench_goal_value(BENCH_GOAL_LOOKUP, bench->info.backend, empty_p99)) ||
		bench_add_number(bench, "lookup.all", "us", full->each, empty->each,
			bench_goal_value(BENCH_GOAL_LOOKUP, bench->info.backend, empty->each)))
		return -1;
	say("%llu clients at once: %.0f look-ups per second among %llu objects, %.0f with one",
		(unsigned long long)crowd->client_count, 1e6 / full->each,
		(unsigned long long)crowd->objects, 1e6 / empty->each);
	return 0;
}

/* --- a broker that is watched --- */

static int read_cpu_ns(clockid_t clock, uint64_t *out_ns)
{
	struct timespec used;

	if (clock_gettime(clock, &used))
		return complain("cannot ask for the broker's time: %s", strerror(errno));
	*out_ns = (uint64_t)used.tv_sec * UINT64_C(1000000000) + (uint64_t)used.tv_nsec;
	return 0;
}

/* What `warpway top` asks for a refresh (tools/top/sample.c), and `warpway metrics` for a page. */
static int ask_as_monitor(struct bench *bench, uint32_t rows)
{
	const struct ww_largest_params params = {
		.struct_size = sizeof(params),
		.count = rows,
		.contents = WW_SNAPSHOT_OBJECTS,
	};
	struct ww_broker_info info;
	ww_totals *totals = NULL;
	ww_snapshot *largest = NULL;
	ww_status status = ww_totals_create(bench->broker, &totals);

	ww_totals_free(totals);
	if (status == WW_OK && rows > 0)
		status = ww_snapshot_largest(bench->broker, &params, &largest);
	ww_snapshot_free(largest);
	return bench_expect(status, "cannot ask for the broker's sums") || broker_info(bench, &info)
		? -1
		: 0;
}

/* How long the broker works in a second: top asks in each of them, metrics in each fifteenth. */
static int watch_broker(struct crowd *crowd)
{
	struct bench *bench = crowd->bench;
	struct ww_broker_info info;
	uint64_t before_ns = 0;
	uint64_t after_ns = 0;
	clockid_t clock;

	if (broker_info(bench, &info))
		return -1;
	errno = clock_getcpuclockid((pid_t)info.pid, &clock);
	if (errno)
		return complain("the broker's time cannot be asked for: %s", strerror(errno));
	if (read_cpu_ns(clock, &before_ns))
		return -1;
	for (int i = 0; i < WATCH_SECONDS; i++) {
		if (ask_as_monitor(bench, WATCH_ROWS) ||
			(i % WATCH_SCRAPE_S == 0 && ask_as_monitor(bench, 0)))
			return -1;
	}
	if (read_cpu_ns(clock, &after_ns))
		return -1;
	return bench_add_number(bench, "watched", "us",
		(double)(after_ns - before_ns) / 1e3 / WATCH_SECONDS, BENCH_NONE,
		bench_goal_value(BENCH_GOAL_WATCHED, bench->info.backend, BENCH_NONE));
}

/* --- all of it --- */

static int kill_loaded(struct crowd *crowd)
{
	static const struct bench_row row = {"restart.full", "ms"};
	OWN(samples) struct samples samples = {0};
	char name[OBJECT_NAME_BYTES];

	name_object(0, name);
	for (int i = 0; i < LOADED_KILLS; i++) {
		uint64_t ns = 0;

		if (broker_kill(crowd->bench, name, &ns) || samples_add(&samples, ns))
			return -1;
	}
	return bench_add_series(crowd->bench, &row, &samples, NULL);
}

int broker_scale(struct bench *bench)
{
	OWN(crowd) struct crowd crowd = {.bench = bench};
	OWN(answers) struct answers empty = {0};
	OWN(answers) struct answers full = {0};
	struct ww_broker_info before;
	struct ww_broker_info after;
	uint64_t clients;

	bench->state = &crowd;
	/* One object is there already, so that there is something to look up. */
	if (fit(&crowd, &clients) || join(&crowd, clients) || fill(&crowd, 1) ||
		ask_all(&crowd, &empty) || broker_info(bench, &before) || fill_and_list(&crowd) ||
		broker_info(bench, &after) || ask_all(&crowd, &full) ||
		compare(&crowd, &empty, &full))
		return -1;
	if (bench_add_number(bench, "memory_per_object", "bytes",
		    (double)(after.memory_bytes - before.memory_bytes) /
			    (double)(crowd.objects - 1),
		    BENCH_NONE,
		    bench_goal_value(BENCH_GOAL_OBJECT, bench->info.backend, BENCH_NONE)))
		return -1;
	return watch_broker(&crowd) || kill_loaded(&crowd) ? -1 : 0;
}
