/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_broker_exchange.c - single requests to an empty broker, beside the bare round trip
 *
 * In turns: a request, and a packet of like size to a process that does nothing but answer it. Both cross with one
 * descriptor, in one direction; all on one CPU. What a request leaves behind is taken away between the turns, outside the measured time.
 */
#include "bench_broker.h"
#include "bench_packet.h"

#define WARM_UP_TURNS 20

/* These are short: so many times the iterations of longer ones. */
#define TURNS_FACTOR 10

#define NAME "bench/exchange"

struct field {
	struct client maker;
	struct client getter;
	int echo;
	int fd;
};

#define FIELD_NONE                                                                \
	{                                                                         \
		.maker = CLIENT_NONE, .getter = CLIENT_NONE, .echo = -1, .fd = -1 \
	}

static void own_field(struct field *field)
{
	client_close(&field->maker);
	client_close(&field->getter);
}

typedef int (*turn_fn)(struct field *field, uint64_t *out_ns);

static int bare_with_fd(struct field *field, uint64_t *out_ns)
{
	return packet_round_trip(field->echo, field->fd, out_ns);
}

static int bare(struct field *field, uint64_t *out_ns)
{
	return packet_round_trip(field->echo, -1, out_ns);
}

static int put(struct field *field, uint64_t *out_ns)
{
	uint8_t id[RAW_ID_BYTES];
	uint64_t start = link_now_ns();

	if (client_put(&field->maker, NAME "/put", ARENA_OBJECT_BYTES, field->fd, id))
		return -1;
	*out_ns = link_now_ns() - start;
	return client_release(&field->maker, id);
}

static int get(struct field *field, uint64_t *out_ns)
{
	uint8_t id[RAW_ID_BYTES];
	OWN(fd) int fd = -1;
	uint64_t start = link_now_ns();

	if (client_get(&field->getter, NAME, id, &fd))
		return -1;
	*out_ns = link_now_ns() - start;
	return client_release(&field->getter, id);
}

static int stat(struct field *field, uint64_t *out_ns)
{
	uint64_t start = link_now_ns();

	if (client_stat(&field->getter, NAME))
		return -1;
	*out_ns = link_now_ns() - start;
	return 0;
}

/* Who goes first follows no short period. */
static int take_turns(struct field *field, turn_fn ours, turn_fn floor, uint64_t turn,
	uint64_t *out_ours, uint64_t *out_floor)
{
	if (turn * UINT64_C(0x9e3779b97f4a7c15) >> 63)
		return ours(field, out_ours) || floor(field, out_floor) ? -1 : 0;
	return floor(field, out_floor) || ours(field, out_ours) ? -1 : 0;
}

static int measure(struct arena *arena, struct field *field, const char *name, turn_fn ours,
	turn_fn floor, bench_goal *goal)
{
	OWN(samples) struct samples our_samples = {0};
	OWN(samples) struct samples floor_samples = {0};
	struct pace pace;
	uint64_t our_ns = 0;
	uint64_t floor_ns = 0;
	double floor_p50;

	for (uint64_t turn = 0; turn < WARM_UP_TURNS; turn++) {
		if (take_turns(field, ours, floor, turn, &our_ns, &floor_ns))
			return -1;
	}
	pace_start(&pace, TURNS_FACTOR * arena->bench->iterations, arena->bench->budget_ns);
	for (uint64_t turn = 0; pace_goes_on(&pace, turn); turn++) {
		if (take_turns(field, ours, floor, turn, &our_ns, &floor_ns) ||
			samples_add(&our_samples, our_ns) || samples_add(&floor_samples, floor_ns))
			return -1;
	}
	floor_p50 = samples_percentile_us(&floor_samples, 50);
	return broker_add(arena, name, "us", &our_samples, floor_p50,
		goal ? goal(floor_p50) : BENCH_NONE);
}

int broker_exchange(struct arena *arena)
{
	OWN(child) struct child echo = CHILD_NONE;
	OWN(field) struct field field = FIELD_NONE;
	uint8_t id[RAW_ID_BYTES];

	if (broker_gather(arena) || broker_spawn(arena, "echo", NULL, &echo) ||
		client_open(&field.maker, arena->nest.address, false) ||
		client_open(&field.getter, arena->nest.address, false))
		return -1;
	field.echo = echo.socket;
	field.fd = arena->fd;
	if (client_put(&field.maker, NAME, ARENA_OBJECT_BYTES, field.fd, id))
		return -1;
	if (measure(arena, &field, "put", put, bare_with_fd, bench_exchange_goal) ||
		measure(arena, &field, "get", get, bare_with_fd, bench_exchange_goal))
		return -1;
	return measure(arena, &field, "stat", stat, bare, NULL) || broker_scatter(arena) ? -1 : 0;
}
