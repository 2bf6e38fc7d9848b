/* SPDX-License-Identifier: Apache-2.0 */
/*
 * demo.h - the twelve things `warpway demo` shows, and what they share
 *
 * Each step is one file that holds both sides: what the parent does and what its children do. The
 * parent keeps the time: a child waits without a limit, for the parent ends it when it is late, and
 * the end of the parent ends it too.
 */
#ifndef TOOLS_DEMO_DEMO_H
#define TOOLS_DEMO_DEMO_H

#include <stdbool.h>

#include <warpway/warpway.h>

#include "common/child.h"
#include "common/number.h"
#include "common/cleanup.h"
#include "common/float_pattern.h"
#include "common/say.h"

#define DEMO_ROUNDS      3
#define DEMO_DEVICES_MAX 64
#define DEMO_TEXT_BYTES  200

/* What a step has to say for itself in the end. */
struct demo_step {
	const char *name;
	char shown[DEMO_TEXT_BYTES];
	char devices[DEMO_TEXT_BYTES];
	uint32_t routes; /* bit N: route N was taken */
	double ms;
	bool passed;
};

struct demo {
	const char *device_name; /* as asked for; NULL: the best */
	uint64_t elements;
	uint64_t processes;
	uint64_t timeout_s; /* as asked for; 0: not at all */
	uint64_t timeout_ns;
	bool json;

	ww_device *device;
	ww_stream *stream;
	struct ww_device_info info;
	char size_text[NUMBER_BYTES]; /* of the elements */

	/* For the ring: devices of one backend that all reach each other; the first is @device. */
	struct ww_device_info devices[DEMO_DEVICES_MAX];
	size_t device_count;
};

/* What a child knows. */
struct demo_child {
	const char *selector;
	ww_device *device;
	ww_stream *stream;
	uint64_t elements;
	uint64_t index;     /* in the ring */
	uint64_t processes; /* likewise */
	char size_text[NUMBER_BYTES];
};

/* The parent's side of the steps: 0, or -1 after saying what went wrong. */
int demo_roundtrip(const struct demo *demo, struct demo_step *step);
int demo_ring(const struct demo *demo, struct demo_step *step);
int demo_survival(const struct demo *demo, struct demo_step *step);
int demo_protection(const struct demo *demo, struct demo_step *step);
int demo_broker(const struct demo *demo, struct demo_step *step);
int demo_slice(const struct demo *demo, struct demo_step *step);
int demo_view(const struct demo *demo, struct demo_step *step);
int demo_foreign(const struct demo *demo, struct demo_step *step);
int demo_plain(const struct demo *demo, struct demo_step *step);
int demo_pingpong(const struct demo *demo, struct demo_step *step);
int demo_channel(const struct demo *demo, struct demo_step *step);
int demo_poison(const struct demo *demo, struct demo_step *step);

/* The children's side; likewise. */
int demo_receiver(const struct demo_child *child);
int demo_ring_process(const struct demo_child *child);
int demo_maker(const struct demo_child *child);
int demo_heir(const struct demo_child *child);
int demo_guest(const struct demo_child *child);
int demo_intruder(const struct demo_child *child);
int demo_putter(const struct demo_child *child);
int demo_getter(const struct demo_child *child);
int demo_taker(const struct demo_child *child);
int demo_viewer(const struct demo_child *child);
int demo_attacker(const struct demo_child *child); /* opens no device of the library */
int demo_player(const struct demo_child *child);
int demo_fast_consumer(const struct demo_child *child);
int demo_slow_consumer(const struct demo_child *child);
int demo_lost_consumer(const struct demo_child *child);
int demo_signaller(const struct demo_child *child);

/* Finds the devices of the ring; says which ones are left out, and why. */
void demo_devices_find(struct demo *demo);

/* Makes sure that what was asked for fits. Return: 0; EXIT_CANNOT after saying what is short. */
int demo_room_check(const struct demo *demo);

/* Makes memory of kind vmm for the elements of the span. demo_memory_make: with a pattern in it. */
int demo_memory_create(ww_device *device, struct span *span);
int demo_memory_make(ww_device *device, struct pattern pattern, struct span *span);

/* Verifies what a child has written, and says so. */
int demo_see_answer(struct span *span, struct pattern pattern);

/* Starts a child in one of the roles above, on the demo's device. */
int demo_spawn(const struct demo *demo, const char *role, struct child *out_child);

/* The same; the child gets the memory, says LINK_DONE and ends. */
int demo_lend(const struct demo *demo, const char *role, ww_memory *memory, uint32_t access,
	struct demo_step *step);

/*
 * The same; the child says one thing and is killed. @out_fd: as child_receive(). Return: its pid,
 * or -1 after saying what went wrong.
 */
int demo_spawn_and_kill(const struct demo *demo, const char *role, enum link_kind kind,
	struct link_message *out_message, int *out_fd);

/* The same, and the child finds a token of @memory, which the default broker gives. */
int demo_spawn_with_memory(const struct demo *demo, const char *role, ww_memory *memory,
	uint32_t access, const struct ww_array *array, struct child *out_child);

/* Child: reads the token it was given. Return: 0, or -1 after saying what went wrong. */
int demo_token(struct ww_token *out_token);

/* Ends a child that has said LINK_DONE, and notes the route it named first. */
int demo_end(struct child *child, const struct link_message *done, struct demo_step *step);

/*
 * A taker gets a token of the memory, verifies i + 100 and writes -i. @pool: NULL, or the memory is
 * a slice of it, which must know that the taker holds it
 */
int demo_give(const struct demo *demo, ww_memory *memory, ww_pool *pool, struct demo_step *step);

/* Child: says LINK_DONE, naming the route by which it reached @memory. */
int demo_child_done(ww_memory *memory);

/*
 * Child: sends a message, with a descriptor or -1, and waits to be killed. Return: -1, after saying
 * that it was not.
 */
int demo_child_await_kill(const struct link_message *message, int fd);

/* WW_ROUTE_... of a memory; 0 for none. */
uint32_t demo_route(ww_memory *memory);
const char *demo_route_name(uint32_t route);

/* Prints the table, or the JSON. */
int demo_report(const struct demo *demo, const struct demo_step steps[], size_t count);

#endif
