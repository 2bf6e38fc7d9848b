/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_sync.c - the group `sync`: how long processes wait for each other
 *
 * Rounds are measured in batches, since a stream does its own as fast as it can only when it has many: one by the library,
 * one without it, in turns. A sample is a batch's mean. Between two GPUs each process has one of them.
 */
#include "bench_sync.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "device.h"

#define WITH_EVENTS "events"
#define NAME_BYTES  48 /* without the group's */
#define QUICK_PART  10 /* of a batch's rounds, with --quick */

/* A broker that was left behind by a kill goes soon. */
static const char settings[] = "[broker]\n"
			       "idle_s = 10\n";

/* The floor is the same work without the library. */
static double round_trip_goal(double floor_p50)
{
	return floor_p50 * 1.1;
}

int sync_add(struct bench *bench, const char *name, const char *unit, struct samples *ours,
	struct samples *floor, bench_goal *goal)
{
	char full[BENCH_NAME_BYTES];

	snprintf(full, sizeof(full), "sync.%s", name);
	return bench_add_in(bench, full, unit, ours, floor, goal);
}

/* --- rounds --- */

struct rounds {
	struct sync_pair *pair;
	const struct sync_kind *kind;
	uint64_t count; /* of a batch */
};

/*
 * The raw calls wait for ever for a partner that died: so its end is this process's. The broker leaves by itself.
 */
static void give_up(int number)
{
	static const char text[] =
		"warpway bench: the partner died, and the raw calls would wait for "
		"it for ever\n";

	(void)number;
	_exit(write(STDERR_FILENO, text, sizeof(text) - 1) < 0 ? EXIT_CANNOT : EXIT_FAILED);
}

/* A batch by both sides. */
static int run_batch(void *context, enum bench_way way, uint64_t *out_ns)
{
	const struct rounds *rounds = context;
	struct sync_pair *pair = rounds->pair;
	struct link_message message = {
		.kind = LINK_GO,
		.numbers = {(uint64_t)(rounds->kind - sync_kinds), way, pair->value, rounds->count},
	};
	uint64_t start;
	uint64_t ns;
	int result;

	if (child_send(&pair->child, &message, -1) ||
		child_receive(&pair->child, LINK_READY, &message, NULL))
		return -1;
	if (way == BENCH_RAW)
		signal(SIGCHLD, give_up);
	start = link_now_ns();
	result = sync_batch_run(&pair->side, rounds->kind, way, true, pair->value, rounds->count);
	ns = link_now_ns() - start;
	signal(SIGCHLD, SIG_DFL);
	pair->value += rounds->count;
	if (result || child_receive(&pair->child, LINK_DONE, &message, NULL))
		return -1;
	ns -= pair->side.idle_ns + message.numbers[0];
	*out_ns = ns / rounds->count;
	return 0;
}

static int measure_rounds(struct sync_pair *pair, const struct sync_kind *kind, bool is_between)
{
	struct bench *bench = pair->bench;
	struct samples samples[BENCH_WAYS] = {{0}, {0}};
	bool has_goal = kind->crosses_gpus && bench->info.backend == WW_BACKEND_CUDA;
	struct rounds rounds = {
		.pair = pair,
		.kind = kind,
		.count = bench->quick ? kind->rounds / QUICK_PART : kind->rounds,
	};
	char name[NAME_BYTES];
	int result = bench_measure(bench, run_batch, &rounds, samples);

	snprintf(name, sizeof(name), "%s%s", kind->name, is_between ? ".two_gpus" : "");
	if (!result)
		result = sync_add(bench, name, "us", &samples[BENCH_OURS], &samples[BENCH_RAW],
			has_goal ? round_trip_goal : NULL);
	samples_fini(&samples[BENCH_OURS]);
	samples_fini(&samples[BENCH_RAW]);
	return result;
}

/* --- the two sides --- */

static int spawn_partner(struct sync_pair *pair, const char *selector, const char *address)
{
	const struct child_plan plan = {
		.name = "the partner",
		.arguments = {"bench-child", "sync", "partner", selector, address,
			pair->side.has_events ? WITH_EVENTS : NULL},
		.timeout_ns = 2 * SYNC_ANSWER_NS,
	};

	return child_spawn(&pair->child, &plan);
}

/* Hands the descriptor of the own page over and takes the other one's. */
static int meet(struct sync_pair *pair)
{
	struct link_message message = {.kind = LINK_MEMORY};
	OWN(fd) int fd = -1;

	if (child_send(&pair->child, &message, pair->side.own_page.fd) ||
		child_receive(&pair->child, LINK_MEMORY, &message, &fd) ||
		sync_side_meet(&pair->side, fd))
		return -1;
	return child_receive(&pair->child, LINK_READY, &message, NULL);
}

static int end_partner(struct sync_pair *pair)
{
	const struct link_message message = {.kind = LINK_GO};

	return child_send(&pair->child, &message, -1) ? -1 : child_finish(&pair->child, 0);
}

static int measure_pair(struct sync_pair *pair)
{
	bool is_between = !pair->side.has_events;

	for (size_t i = 0; i < sync_kind_count; i++) {
		if (is_between && !sync_kinds[i].crosses_gpus)
			continue;
		if (measure_rounds(pair, &sync_kinds[i], is_between))
			return complain("measuring %s failed", sync_kinds[i].name);
	}
	if (!is_between && (sync_enqueue(pair) || sync_register(pair)))
		return -1;
	return end_partner(pair);
}

/* @partner: selector of the device of the other process */
static int run_pair(struct bench *bench, const char *partner, const char *address)
{
	struct sync_pair pair = {.bench = bench, .side = SYNC_SIDE_NONE, .child = CHILD_NONE};
	int result = -1;

	pair.side.has_events = !strcmp(partner, bench->info.selector);
	if (spawn_partner(&pair, partner, address) == 0 &&
		sync_side_open(&pair.side, bench->info.selector, address) == 0 && meet(&pair) == 0)
		result = measure_pair(&pair);
	child_fini(&pair.child);
	sync_side_close(&pair.side);
	return result;
}

/* Another GPU that can be used. */
static bool find_second(const struct bench *bench, struct ww_device_info *out_info)
{
	uint32_t count = 0;

	if (bench->info.backend != WW_BACKEND_CUDA ||
		ww_device_count(WW_BACKEND_CUDA, &count) != WW_OK)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		OWN(device) ww_device *device = NULL;
		char name[32];

		snprintf(name, sizeof(name), "cuda:%u", i);
		*out_info = (struct ww_device_info){.size = sizeof(*out_info)};
		if (i != bench->info.index && ww_device_open(name, &device) == WW_OK &&
			ww_device_info_get(device, out_info) == WW_OK && !device_unfit(out_info))
			return true;
	}
	return false;
}

int bench_sync(struct bench *bench)
{
	OWN(nest) struct nest nest = NEST_NONE;
	struct ww_device_info second;

	if (!(bench->info.capabilities & WW_CAP_STREAM_VALUE)) {
		say("sync.* is skipped: streams of %s cannot wait for values in memory",
			bench->info.selector);
		bench->groups_skipped++;
		return 0;
	}
	if (nest_open(&nest, settings) || run_pair(bench, bench->info.selector, nest.address) ||
		sync_release(bench, nest.address))
		return -1;
	return find_second(bench, &second) ? run_pair(bench, second.selector, nest.address) : 0;
}

/* --- the child --- */

/* Return: 1: there is no more to do. */
static int answer_batch(struct sync_side *side)
{
	struct link_message message;
	enum link_result result = link_receive(LINK_FD, LINK_GO, &message, NULL, WW_FOREVER);
	uint64_t kind = message.numbers[0];
	uint64_t way = message.numbers[1];
	uint64_t value = message.numbers[2];
	uint64_t rounds = message.numbers[3];

	if (result != LINK_OK)
		return complain("cannot receive what to do: %s", link_result_text(result));
	if (rounds == 0)
		return 1;
	if (kind >= sync_kind_count || way >= BENCH_WAYS)
		return complain("there is no kind %llu", (unsigned long long)kind);
	message.kind = LINK_READY;
	link_send(LINK_FD, &message, -1, WW_FOREVER);
	if (sync_batch_run(side, &sync_kinds[kind], (enum bench_way)way, false, value, rounds))
		return -1;
	message.kind = LINK_DONE;
	message.numbers[0] = side->idle_ns;
	link_send(LINK_FD, &message, -1, WW_FOREVER);
	return 0;
}

static int role_partner(const char *selector, const char *address, const char *word)
{
	OWN(side) struct sync_side side = SYNC_SIDE_NONE;
	struct link_message message;
	OWN(fd) int fd = -1;
	enum link_result result = link_receive(LINK_FD, LINK_MEMORY, &message, &fd, WW_FOREVER);
	int done;

	side.has_events = !strcmp(word, WITH_EVENTS);
	if (result != LINK_OK)
		return complain("cannot receive a page: %s", link_result_text(result));
	if (sync_side_open(&side, selector, address))
		return -1;
	message.kind = LINK_MEMORY;
	link_send(LINK_FD, &message, side.own_page.fd, WW_FOREVER);
	if (sync_side_meet(&side, fd))
		return -1;
	message.kind = LINK_READY;
	link_send(LINK_FD, &message, -1, WW_FOREVER);
	do {
		done = answer_batch(&side);
	} while (done == 0);
	return done < 0 ? -1 : 0;
}

int bench_sync_child(int argc, char *argv[])
{
	static const struct {
		const char *name;
		int (*run)(const char *selector, const char *address, const char *word);
	} roles[] = {
		{"partner", role_partner},
		{"signaller", sync_role_signaller},
	};

	for (size_t i = 0; argc >= 4 && i < sizeof(roles) / sizeof(roles[0]); i++) {
		if (!strcmp(argv[1], roles[i].name))
			return roles[i].run(argv[2], argv[3], argc > 4 ? argv[4] : "") ? EXIT_FAILED
										       : EXIT_DONE;
	}
	return refuse("this verb is for processes that `warpway bench` starts itself");
}
