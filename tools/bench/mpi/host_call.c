/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host_call.c - what the library adds to calls on buffers in host memory
 *
 * The calls are to MPI_PROC_NULL, so the MPI does as little as it can. A sample is the mean of a
 * batch; the library's calls and the MPI's own take turns. Rank 0 measures alone.
 */
#include "bench/mpi/job.h"

#define BATCH   100
#define BATCHES 1000

enum part {
	PART_ISEND,
	PART_IRECV,
	PART_WAIT,
	PARTS
};

static const struct {
	const char *name;
	enum bench_goal goal; /* with a context */
} parts[] = {
	[PART_ISEND] = {"isend", BENCH_GOAL_MPI_BUFFER},
	[PART_IRECV] = {"irecv", BENCH_GOAL_MPI_BUFFER},
	[PART_WAIT] = {"wait", BENCH_GOAL_MPI_REQUEST},
};

static uint64_t wait_all(const struct calls *calls, MPI_Request requests[])
{
	uint64_t at = link_now_ns();

	for (int i = 0; i < BATCH; i++)
		calls->Wait(&requests[i], MPI_STATUS_IGNORE);
	return bench_lap(&at);
}

static void take_turn(const struct calls *calls, uint64_t out_ns[PARTS])
{
	static char bytes[8];
	MPI_Request requests[BATCH];
	uint64_t at = link_now_ns();

	for (int i = 0; i < BATCH; i++)
		calls->Isend(bytes, sizeof(bytes), MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_WORLD,
			&requests[i]);
	out_ns[PART_ISEND] = bench_lap(&at);
	out_ns[PART_WAIT] = wait_all(calls, requests);
	at = link_now_ns();
	for (int i = 0; i < BATCH; i++)
		calls->Irecv(bytes, sizeof(bytes), MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_WORLD,
			&requests[i]);
	out_ns[PART_IRECV] = bench_lap(&at);
	wait_all(calls, requests);
}

static void say_rows(struct samples samples[2][PARTS], const char *context, bool has_context)
{
	for (int part = 0; part < PARTS; part++) {
		const double scale = 1e3 / BATCH;
		double numbers[] = {
			scale * samples_percentile_us(&samples[WAY_OURS][part], 50),
			scale * samples_percentile_us(&samples[WAY_OURS][part], 99),
			scale * samples_percentile_us(&samples[WAY_HAND][part], 50),
		};
		char name[BENCH_NAME_BYTES];

		snprintf(name, sizeof(name), "host_call.%s.%s", parts[part].name, context);
		row_say(name, "ns", numbers,
			has_context ? parts[part].goal : BENCH_GOAL_MPI_NO_CONTEXT);
	}
}

void host_call_measure(struct job *job, const char *context)
{
	struct samples samples[2][PARTS] = {0};

	if (job->rank > 0)
		return;
	for (unsigned int turn = 0; turn < 2 * BATCHES; turn++) {
		enum way way = (turn + bench_first(turn / 2, 2)) % 2;
		uint64_t ns[PARTS];

		take_turn(calls_of(job, way), ns);
		for (int part = 0; part < PARTS; part++)
			must(samples_add(&samples[way][part], ns[part]));
	}
	say_rows(samples, context, job->cuda.context != NULL);
	for (int part = 0; part < PARTS; part++) {
		samples_fini(&samples[WAY_OURS][part]);
		samples_fini(&samples[WAY_HAND][part]);
	}
}
