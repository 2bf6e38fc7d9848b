/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring.c - N processes in a ring, over all devices
 *
 * Each makes memory on its own device and hands it, for reading, to the process before it; so each
 * maps the memory of the next one, across devices where those differ. Then, in rounds:
 *
 *   write own memory | barrier | verify the neighbour's | barrier
 *
 * The pattern depends on round and process, so what an earlier round left, or another process
 * wrote, is never taken for right. The parent is the barrier: it waits for READY from all, then
 * sends GO to all.
 */
#include "demo/demo.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

/* Where a process finds the sockets to its neighbours. */
#define NEXT_FD     (LINK_FD + 1)
#define PREVIOUS_FD (LINK_FD + 2)

#define BARRIERS (UINT64_C(2) * DEMO_ROUNDS)

struct ring {
	struct child children[CHILD_GROUP_MAX];
	size_t count;
	/* Pair N joins process N (end 0) and the one after it (end 1); -1: none. */
	int pairs[CHILD_GROUP_MAX][2];
};

static void ring_init(struct ring *ring, size_t count)
{
	ring->count = count;
	for (size_t i = 0; i < count; i++) {
		ring->children[i] = (struct child)CHILD_NONE;
		ring->pairs[i][0] = -1;
		ring->pairs[i][1] = -1;
	}
}

static void ring_close_pairs(struct ring *ring)
{
	for (size_t i = 0; i < ring->count; i++) {
		for (int end = 0; end < 2; end++) {
			own_fd(&ring->pairs[i][end]);
			ring->pairs[i][end] = -1;
		}
	}
}

static void own_ring(struct ring *ring)
{
	ring_close_pairs(ring);
	for (size_t i = 0; i < ring->count; i++)
		child_fini(&ring->children[i]);
}

static const struct ww_device_info *device_of(const struct demo *demo, size_t index)
{
	return &demo->devices[index % demo->device_count];
}

static int ring_spawn_one(const struct demo *demo, struct ring *ring, size_t index)
{
	size_t previous = (index + ring->count - 1) % ring->count;
	char elements[NUMBER_BYTES];
	char place[NUMBER_BYTES];
	char processes[NUMBER_BYTES];
	char name[CHILD_NAME_BYTES];
	const struct child_plan plan = {
		.name = name,
		.arguments = {"demo-child", "ring", device_of(demo, index)->selector, elements,
			place, processes},
		.fds = {ring->pairs[index][0], ring->pairs[previous][1]},
		.fd_count = 2,
		.timeout_ns = demo->timeout_ns,
	};

	snprintf(elements, sizeof(elements), "%llu", (unsigned long long)demo->elements);
	snprintf(place, sizeof(place), "%zu", index);
	snprintf(processes, sizeof(processes), "%zu", ring->count);
	snprintf(name, sizeof(name), "process %zu of the ring", index);
	return child_spawn(&ring->children[index], &plan);
}

static int ring_spawn(const struct demo *demo, struct ring *ring)
{
	for (size_t i = 0; i < ring->count; i++) {
		if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ring->pairs[i]))
			return complain("cannot make the sockets of the ring: %m");
	}
	for (size_t i = 0; i < ring->count; i++) {
		if (ring_spawn_one(demo, ring, i))
			return -1;
	}
	/* From here on a neighbour's end closes when the neighbour dies. */
	ring_close_pairs(ring);
	return 0;
}

/* Lets nobody past before all have come. */
static int ring_barrier(struct ring *ring, uint64_t number)
{
	struct link_message ready[CHILD_GROUP_MAX];
	const struct link_message go = {.kind = LINK_GO, .numbers = {number}};

	if (child_group_receive(ring->children, ring->count, LINK_READY, ready))
		return -1;
	for (size_t i = 0; i < ring->count; i++) {
		if (ready[i].numbers[0] != number)
			return complain("%s is at barrier %llu, the others at %llu",
				ring->children[i].name, (unsigned long long)ready[i].numbers[0],
				(unsigned long long)number);
	}
	return child_group_send(ring->children, ring->count, &go);
}

static int ring_end(struct ring *ring, struct demo_step *step)
{
	struct link_message done[CHILD_GROUP_MAX];

	if (child_group_receive(ring->children, ring->count, LINK_DONE, done))
		return -1;
	for (size_t i = 0; i < ring->count; i++) {
		if (demo_end(&ring->children[i], &done[i], step))
			return -1;
	}
	return 0;
}

static void describe(const struct demo *demo, size_t count, struct demo_step *step)
{
	size_t devices = count < demo->device_count ? count : demo->device_count;
	size_t used = 0;

	for (size_t i = 0; i < devices && used < sizeof(step->devices); i++)
		used += (size_t)snprintf(step->devices + used, sizeof(step->devices) - used, "%s%s",
			i ? ", " : "", demo->devices[i].selector);
	snprintf(step->shown, sizeof(step->shown),
		"%zu process%s, %d rounds, each verified the next one's %s", count,
		count == 1 ? "" : "es", DEMO_ROUNDS, demo->size_text);
}

int demo_ring(const struct demo *demo, struct demo_step *step)
{
	OWN(ring) struct ring ring = {.count = 0};

	ring_init(&ring, demo->processes);
	describe(demo, ring.count, step);
	if (ring_spawn(demo, &ring))
		return -1;
	for (uint64_t number = 0; number < BARRIERS; number++) {
		if (ring_barrier(&ring, number))
			return -1;
	}
	return ring_end(&ring, step);
}

static struct pattern pattern_of(const struct demo_child *child, uint64_t round, uint64_t index)
{
	return (struct pattern){PATTERN_KEYED, (uint32_t)(1 + round * child->processes + index)};
}

static int wait_at(uint64_t barrier)
{
	const struct link_message ready = {.kind = LINK_READY, .numbers = {barrier}};
	struct link_message go;

	return parent_send(&ready, -1) ? -1 : parent_receive(LINK_GO, &go, NULL);
}

static int run_rounds(const struct demo_child *child, const struct span *mine,
	struct span *neighbour)
{
	uint64_t next = (child->index + 1) % child->processes;

	for (uint64_t round = 0; round < DEMO_ROUNDS; round++) {
		if (span_write(mine, pattern_of(child, round, child->index)))
			return -1;
		if (wait_at(2 * round))
			return -1;
		if (span_verify(neighbour, pattern_of(child, round, next)))
			return complain("that was in round %llu, in the memory of process %llu",
				(unsigned long long)round, (unsigned long long)next);
		if (wait_at(2 * round + 1))
			return -1;
	}
	return 0;
}

int demo_ring_process(const struct demo_child *child)
{
	OWN(span) struct span mine = {.elements = child->elements};
	OWN(span) struct span neighbour = mine;

	if (demo_memory_create(child->device, &mine))
		return -1;
	if (ww_memory_send(mine.memory, WW_ACCESS_READ, PREVIOUS_FD, WW_FOREVER, NULL) != WW_OK)
		return complain_record("cannot hand memory to the previous process");
	if (ww_memory_receive(child->device, NEXT_FD, NULL, WW_FOREVER, NULL, &neighbour.memory) !=
		WW_OK)
		return complain_record("cannot map the memory of the next process");
	if (run_rounds(child, &mine, &neighbour))
		return -1;
	say("process %llu of the ring: %d rounds of %s in process %llu's memory as expected, "
	    "route %s",
		(unsigned long long)child->index, DEMO_ROUNDS, child->size_text,
		(unsigned long long)((child->index + 1) % child->processes),
		demo_route_name(demo_route(neighbour.memory)));
	return demo_child_done(neighbour.memory);
}
