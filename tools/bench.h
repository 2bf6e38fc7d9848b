/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench.h - what the groups of `warpway bench` share
 *
 * A group measures our calls and the raw ones that do the same work in turns, in one run, and adds one
 * result for each. A result's name is stable: programs compare runs by it.
 */
#ifndef TOOLS_BENCH_H
#define TOOLS_BENCH_H

#include <math.h>
#include <stdbool.h>

#include <warpway/warpway.h>

#include "child.h"
#include "number.h"
#include "own.h"
#include "samples.h"
#include "voice.h"

#define BENCH_NAME_BYTES 64
#define BENCH_SIZES_MAX  32

/* A number that is not there: no floor, no goal. */
#define BENCH_NONE NAN

struct bench_result {
	char name[BENCH_NAME_BYTES];
	const char *unit;
	double p50;
	double p99;
	double floor_p50;
	double goal; /* the largest p50 allowed; BENCH_NONE */
};

struct bench {
	const char *device_name; /* as asked for; NULL: the best */
	uint64_t sizes[BENCH_SIZES_MAX];
	size_t size_count;
	uint64_t iterations; /* at most, of each measurement */
	uint64_t budget_ns;  /* for each measurement, once the fewest iterations are done */
	uint64_t objects;    /* of the group broker */
	uint64_t clients;    /* likewise */
	uint64_t kills;      /* likewise */
	uint64_t slices;     /* that the group pool passes on */
	bool json;
	bool check;
	bool quick;

	ww_device *device;
	struct ww_device_info info;
	struct bench_result *results;
	size_t count;
	size_t capacity;
	size_t goals_skipped;  /* sizes that have a goal and no room */
	size_t groups_skipped; /* that have nothing to measure on this device */
};

/* Who does the work of a turn. */
enum bench_way {
	BENCH_OURS,
	BENCH_RAW,
	BENCH_WAYS
};

/* The largest p50 allowed, given that of the floor. */
typedef double bench_goal(double floor_p50);

/* How long a measurement goes on. */
struct pace {
	uint64_t iterations;
	uint64_t deadline_ns;
};

void pace_start(struct pace *pace, uint64_t iterations, uint64_t budget_ns);

/* Is there a turn @done, counted from 0? */
bool pace_goes_on(const struct pace *pace, uint64_t done);

/**
 * bench_add() - add a result in microseconds
 * @ours, @floor:  sorted by this
 * @goal:          NULL: none
 *
 * Return: 0, or -1 after saying what went wrong.
 */
int bench_add(struct bench *bench, const char *name, struct samples *ours, struct samples *floor,
	bench_goal *goal);

/* The same in @unit, "us" or "ns". @floor: NULL: there is none */
int bench_add_in(struct bench *bench, const char *name, const char *unit, struct samples *ours,
	struct samples *floor, bench_goal *goal);

/* Does something once, one way or the other. Return: 0, or -1 after saying what went wrong. */
typedef int (*bench_turn)(void *context, enum bench_way way, uint64_t *out_ns);

/* Turns of both ways, in an order that follows no short period, the first few not counted. Return: likewise. */
int bench_measure(const struct bench *bench, bench_turn turn, void *context,
	struct samples out_samples[BENCH_WAYS]);

/* Adds a copy of a result. Return: likewise. */
int bench_add_result(struct bench *bench, const struct bench_result *result);

/* The goal of the first import of so many bytes; NULL: none. */
bench_goal *bench_import_goal(uint32_t backend, uint64_t bytes);

/* A request to a broker, given the bare round trip. */
double bench_exchange_goal(double floor_p50);

/* A look-up in a full broker, given that in an empty one. */
double bench_lookup_goal(double empty);

/* A listing, given that of half as many objects: twice the time, and half of that again for chance. */
double bench_listing_goal(double half);

#define BENCH_RELEASE_US   5000.0 /* of a killed holder's objects, once its socket has ended */
#define BENCH_RESTART_MS   50.0   /* from a broker's end to its next answer */
#define BENCH_OBJECT_BYTES 1024.0 /* of a broker's memory */

/* Of the floor's median these take no account: what is promised whatever the machine. */
double bench_slice_goal(double floor_p50);     /* ns; a slice is cut and let go of */
double bench_hand_over_goal(double floor_p50); /* us; a slice crosses, and an answer comes back */
double bench_mapped_goal(double floor_p50);    /* us; an import of what is mapped already */

/* Memory of others is imported, given what the driver takes to open it. */
double bench_foreign_goal(double floor_p50);

/* 1: the goal is met, 0: it is not, -1: there is none. */
int bench_met(const struct bench_result *result);

/* The exit code of a run that came to its end, after saying what speaks against success. */
int bench_verdict(const struct bench *bench);

/* The groups: 0, or -1 after saying what went wrong. */
int bench_memory(struct bench *bench);
int bench_broker(struct bench *bench);
int bench_sync(struct bench *bench);
int bench_pool(struct bench *bench);
int bench_foreign(struct bench *bench);

/* What the second process of a group does. */
int bench_memory_importer(int argc, char *argv[]);
int bench_broker_child(int argc, char *argv[]);
int bench_sync_child(int argc, char *argv[]);
int bench_pool_child(int argc, char *argv[]);
int bench_foreign_child(int argc, char *argv[]);

/* Prints all results, as a table or as JSON. */
int bench_report(const struct bench *bench);

#endif
