/* SPDX-License-Identifier: Apache-2.0 */
/*
 * measure.c - measures a case with one size: every way once, to see that the right bytes arrive,
 * then all ways by turns; the rows
 *
 * As in the loops of the OSU benchmarks, what is measured follows the same by the same way: before
 * it each way goes once unmeasured. After another way, which may have copied as much through host
 * memory, nothing that a way needs is in the CPU's caches.
 *
 * Rank 0 decides how long it goes on. All ranks have a series for each way, which are added up at
 * the end.
 */
#include "bench/mpi/job.h"

#include <string.h>

#define TURNS_AT_LEAST 5
#define SMALL_BYTES    8192 /* up to here there is time for more turns */
#define SMALL_FACTOR   10
#define MEMORY_SHARE   8 /* of the free host memory, for one copy of all buffers of all ranks */

/* The goals of sizes; only where each rank has a GPU. */
static const struct {
	const char *name;
	enum way beside;
	uint64_t least;
	uint64_t most;
	enum bench_goal goal;
} goals[] = {
	{"latency", WAY_HAND, 0, SMALL_BYTES, BENCH_GOAL_MPI_SMALL},
	{"latency", WAY_HAND, 64 << 10, 64 << 10, BENCH_GOAL_MPI_64K},
	{"latency", WAY_HAND, 1 << 20, 1 << 20, BENCH_GOAL_MPI_1M},
	{"latency", WAY_HAND, 16 << 20, 16 << 20, BENCH_GOAL_MPI_16M},
	{"latency", WAY_PULL, 64 << 10, UINT64_MAX, BENCH_GOAL_MPI_PULL},
	{"allreduce", WAY_HAND, 256 << 20, 256 << 20, BENCH_GOAL_MPI_ALLREDUCE},
	{"allreduce", WAY_NCCL, 256 << 20, 256 << 20, BENCH_GOAL_MPI_NCCL},
};

struct series {
	struct samples of[WAYS];
	unsigned int ways; /* 1 << way */
	int measured;      /* ranks that have samples */
};

static enum bench_goal goal_of(const struct job *job, enum way beside)
{
	if (!job->is_gpu_each || strcmp(job->kind, "dd") != 0)
		return BENCH_GOAL_NONE;
	for (size_t i = 0; i < sizeof(goals) / sizeof(goals[0]); i++) {
		if (!strcmp(goals[i].name, job->job_case->name) && goals[i].beside == beside &&
			job->bytes >= goals[i].least && job->bytes <= goals[i].most)
			return goals[i].goal;
	}
	return BENCH_GOAL_NONE;
}

void row_say(const char *name, const char *unit, const double numbers[3], enum bench_goal goal)
{
	printf(MPI_LINE "%s\t%s\t%.17g\t%.17g\t%.17g\t%d\n", name, unit, numbers[0], numbers[1],
		numbers[2], goal);
	fflush(stdout);
}

/* What a time is in the row's unit. */
static double number_of(const struct job *job, struct series *series, enum way way,
	unsigned int percent)
{
	double us = samples_percentile_us(&series->of[way], percent) / series->measured;

	return job->moved ? (double)job->moved / us : us;
}

static void name_of(const struct job *job, char out_name[BENCH_NAME_BYTES])
{
	char size[NUMBER_BYTES];

	number_size_name(job->bytes, size);
	snprintf(out_name, BENCH_NAME_BYTES, "%s.%s.%s", job->job_case->name, job->kind, size);
}

static void say_rows(const struct job *job, struct series *series)
{
	static const char *const ends[WAYS] = {
		[WAY_HAND] = "",
		[WAY_PULL] = ".beside_pull",
		[WAY_NCCL] = ".beside_nccl",
	};
	char name[BENCH_NAME_BYTES];
	char row[BENCH_NAME_BYTES + 16];

	name_of(job, name);
	for (enum way way = WAY_HAND; way < WAYS; way++) {
		double numbers[3];

		if (!(series->ways >> way & 1))
			continue;
		numbers[0] = number_of(job, series, WAY_OURS, 50);
		numbers[1] = number_of(job, series, WAY_OURS, 99);
		numbers[2] = number_of(job, series, way, 50);
		snprintf(row, sizeof(row), "%s%s", name, ends[way]);
		row_say(row, job->moved ? "MB/s" : "us", numbers, goal_of(job, way));
	}
}

/* --- turns --- */

static uint64_t take_turn(struct job *job, enum way way)
{
	job->bare.Barrier(MPI_COMM_WORLD);
	return job->job_case->turn(job, way);
}

static void verify(struct job *job, struct series *series)
{
	static const char *const names[WAYS] = {"the library", "hand", "pull", "NCCL"};

	for (enum way way = 0; way < WAYS; way++) {
		int measured;

		if (!(series->ways >> way & 1))
			continue;
		buffer_spoil(job, &job->receive);
		measured = take_turn(job, way) > 0;
		job->bare.Allreduce(&measured, &series->measured, 1, MPI_INT, MPI_SUM,
			MPI_COMM_WORLD);
		if (!buffer_verify(job, &job->receive))
			must(complain("%s.%s: rank %d has not received what was sent, by %s",
				job->job_case->name, job->kind, job->rank, names[way]));
	}
}

static bool goes_on(const struct job *job, uint64_t turn, uint64_t deadline_ns)
{
	uint64_t most = job->iterations * (job->bytes <= SMALL_BYTES ? SMALL_FACTOR : 1);
	int answer = turn < TURNS_AT_LEAST || link_now_ns() < deadline_ns;

	if (turn >= most)
		return false;
	job->bare.Bcast(&answer, 1, MPI_INT, 0, MPI_COMM_WORLD);
	return answer;
}

static void add_up(const struct job *job, struct samples *samples)
{
	job->bare.Reduce(job->rank == 0 ? MPI_IN_PLACE : samples->ns, samples->ns,
		(int)samples->count, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
}

static void take_turns(struct job *job, struct series *series)
{
	uint64_t deadline_ns = link_now_ns() + job->budget_ns;

	for (uint64_t turn = 0; goes_on(job, turn, deadline_ns); turn++) {
		unsigned int first = bench_first(turn, WAYS);

		for (unsigned int i = 0; i < WAYS; i++) {
			enum way way = (first + i) % WAYS;

			if (!(series->ways >> way & 1))
				continue;
			take_turn(job, way);
			must(samples_add(&series->of[way], take_turn(job, way)));
		}
	}
	for (enum way way = 0; way < WAYS; way++) {
		if (series->ways >> way & 1)
			add_up(job, &series->of[way]);
	}
}

/* --- a case --- */

/* For the copies by hand; the library takes as much again. */
static bool has_host_memory(const struct job *job)
{
	uint64_t bytes = (uint64_t)(job->send.blocks + job->receive.blocks) * job->bytes *
		(uint64_t)job->ranks;
	uint64_t free_bytes = (uint64_t)sysconf(_SC_AVPHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);

	return bytes <= free_bytes / MEMORY_SHARE;
}

static bool open_buffers(struct job *job)
{
	bool is_device = job->kind[job->rank != 0] == 'd';

	if (!all_agree(job, has_host_memory(job)))
		return false;
	return all_agree(job,
		!buffer_open(job, &job->send, is_device) &&
			!buffer_open(job, &job->receive, is_device));
}

static unsigned int find_ways(struct job *job)
{
	unsigned int more = strcmp(job->kind, "dd") ? 0 : job->job_case->more_ways;

	if (!job->nccl)
		more &= ~(1U << WAY_NCCL);
	if ((more >> WAY_PULL & 1) && !pull_open(job)) {
		more &= ~(1U << WAY_PULL);
		if (job->rank == 0)
			printf("%s is not measured beside a pull: the ranks cannot open each "
			       "other's memory\n",
				job->job_case->name);
	}
	return more | 1U << WAY_OURS | 1U << WAY_HAND;
}

static void run(struct job *job)
{
	struct series series = {.ways = find_ways(job)};

	buffer_fill(job, &job->send);
	verify(job, &series);
	take_turns(job, &series);
	if (job->rank == 0)
		say_rows(job, &series);
	pull_close(job);
	for (enum way way = 0; way < WAYS; way++)
		samples_fini(&series.of[way]);
}

void measure(struct job *job, const struct job_case *job_case, const char *kind, uint64_t bytes)
{
	char name[BENCH_NAME_BYTES];

	job->job_case = job_case;
	job->kind = kind;
	job->bytes = bytes;
	job->peer = -1;
	job->moved = 0;
	job_case->shape(job);
	if (open_buffers(job)) {
		run(job);
	} else if (job->rank == 0) {
		name_of(job, name);
		printf("%s is left out: there is no room\n", name);
	}
	buffer_close(job, &job->send);
	buffer_close(job, &job->receive);
}
