/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sync_main.c - the suite's tables, and what its processes share
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "crash/sync.h"
#include "support/needs.h"

const char *const way_names[WAYS] = {
	[WAY_SLEEP] = "a CPU, asleep",
	[WAY_FOLLOW] = "a CPU, value by value of a CPU",
	[WAY_FOLLOW_STREAM] = "a CPU, value by value of a stream",
	[WAY_POLL] = "a CPU, while streams may signal",
	[WAY_SUBMISSION] = "a CPU, for a submission",
	[WAY_QUERY] = "a CPU that asks",
	[WAY_BARRIER] = "a barrier",
	[WAY_EVENTFD] = "an eventfd",
	[WAY_STREAM_FOLLOW] = "a stream, value by value",
	[WAY_STREAM] = "a stream, submitted value",
	[WAY_UNSUBMITTED] = "a stream, value not submitted",
};

struct board *board_map(bool create)
{
	return scene_share(create, sizeof(struct board));
}

void board_unmap(struct board *board)
{
	munmap(board, sizeof(*board));
}

uint64_t board_said(const struct board *board, enum style style)
{
	uint64_t by_cpu = atomic_load(&board->said_by_cpu[style]);
	uint64_t by_streams = atomic_load(&board->said_by_streams[style]);

	return by_cpu > by_streams ? by_cpu : by_streams;
}

void name_timeline(char out[32], uint64_t round, enum style style)
{
	snprintf(out, 32, "s/%" PRIu64 "/%d", round, (int)style);
}

void name_gate(char out[32], uint64_t round)
{
	snprintf(out, 32, "gate/%" PRIu64, round);
}

void name_barrier(char out[32], uint64_t round)
{
	snprintf(out, 32, "barrier/%" PRIu64, round);
}

void pause_up_to(uint64_t *random, uint64_t most_ns)
{
	uint64_t pause_ns = draw_from(random, most_ns + 1);
	const struct timespec pause = {
		.tv_sec = (time_t)(pause_ns / 1000000000),
		.tv_nsec = (long)(pause_ns % 1000000000),
	};

	clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
}

CHECK_MAIN(needs_main, .name = "crash-sync", .leaks = true, .needs = NEEDS_VALUES)
