/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_broker.h - what the parts of the group `broker` share
 *
 * A broker of our own, in which nobody else has anything. Objects that are put by the bare protocol stand for memory:
 * they share one descriptor, so that a hundred thousand cost no more than their places in the broker.
 */
#ifndef TOOLS_BENCH_BROKER_H
#define TOOLS_BENCH_BROKER_H

#include <sched.h>

#include "bench.h"
#include "bench_broker_raw.h"
#include "broker.h"
#include "nest.h"

#define ARENA_NAME_BYTES   64
#define ARENA_OBJECT_BYTES 4096

struct arena {
	struct bench *bench;
	struct nest nest;
	ww_broker *broker; /* the same one through the library */
	uint64_t objects;
	uint64_t clients;
	int fd;         /* of the objects put by the bare protocol */
	bool many_fds;  /* of those of the crowd too */
	cpu_set_t cpus; /* that this process began with */
};

/* All of these return 0, or -1 after saying what went wrong. */

/* One request after the other, beside the bare round trip. */
int broker_exchange(struct arena *arena);

/* The same through the library, with a mapping. */
int broker_library(struct arena *arena);

/* Somebody is killed: a holder, the broker. */
int broker_release(struct arena *arena);
int broker_restart(struct arena *arena);

/* Many objects, many clients. It ends with kills of the loaded broker. */
int broker_scale(struct arena *arena);

/*
 * Where this process, what it starts from now on, and the broker may run. How long it takes to wake a process on another
 * CPU depends on how deep that one slept, and who shares one with whom is chance; either would hide what is
 * measured. Together: on one CPU. Apart: the broker has one for itself, where there are two.
 */
int broker_gather(struct arena *arena);
int broker_part(struct arena *arena);
int broker_scatter(struct arena *arena);

/* Kills the broker @kills times. After each, the time until it has described an object is added. */
int broker_kill(struct arena *arena, const char *name, uint64_t kills, struct samples *samples);

/* Starts this tool again as a process of the group: `bench-child broker ROLE ADDRESS [WORD]`. */
int broker_spawn(struct arena *arena, const char *role, const char *word, struct child *out_child);

/* What these processes do: likewise. */
int broker_role_holder(const char *address, const char *word);
int broker_role_maker(const char *address, const char *word);
int broker_role_load(const char *address, const char *word);

/* A result made of one series; @unit: "us" or "ms". @floor, @goal: BENCH_NONE if there is none. */
int broker_add(struct arena *arena, const char *name, const char *unit, struct samples *samples,
	double floor, double goal);

/* A result that is one number. */
int broker_add_number(struct arena *arena, const char *name, const char *unit, double number,
	double floor, double goal);

#endif
