/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collective.c - collectives of all ranks, of which rank 0 is the root, measured as the OSU
 * benchmarks do
 *
 * The size is that of a block, which is what one rank has for another one.
 */
#include "bench/mpi/job.h"

#define ROOT 0

enum blocks {
	NONE,
	ONE,
	ALL /* one for each rank */
};

/* What the root and the other ranks have. */
struct shape {
	enum blocks send[2];
	enum blocks receive[2];
	void (*call)(const struct calls *calls, char *send, char *receive, int bytes);
	void (*nccl)(const struct job *job);
};

static void shape_collective(struct job *job)
{
	const struct shape *shape = job->job_case->context;
	const int counts[] = {[NONE] = 0, [ONE] = 1, [ALL] = job->ranks};

	job->send.blocks = counts[shape->send[job->rank != ROOT]];
	job->receive.blocks = counts[shape->receive[job->rank != ROOT]];
}

static uint64_t collective(struct job *job, enum way way)
{
	const struct shape *shape = job->job_case->context;
	uint64_t at = link_now_ns();

	if (way == WAY_NCCL) {
		shape->nccl(job);
		return bench_lap(&at);
	}
	stage_out(job, &job->send, way, 0, job->send.blocks);
	shape->call(calls_of(job, way), buffer_at(job, &job->send, way, 0),
		buffer_at(job, &job->receive, way, 0), (int)job->bytes);
	stage_back(job, &job->receive, way, 0, job->receive.blocks);
	return bench_lap(&at);
}

/* The root has its bytes where it sends, the others where they receive. */
static void bcast(const struct calls *calls, char *send, char *receive, int bytes)
{
	calls->Bcast(send ? send : receive, bytes, MPI_BYTE, ROOT, MPI_COMM_WORLD);
}

static void gather(const struct calls *calls, char *send, char *receive, int bytes)
{
	calls->Gather(send, bytes, MPI_BYTE, receive, bytes, MPI_BYTE, ROOT, MPI_COMM_WORLD);
}

static void scatter(const struct calls *calls, char *send, char *receive, int bytes)
{
	calls->Scatter(send, bytes, MPI_BYTE, receive, bytes, MPI_BYTE, ROOT, MPI_COMM_WORLD);
}

static void allgather(const struct calls *calls, char *send, char *receive, int bytes)
{
	calls->Allgather(send, bytes, MPI_BYTE, receive, bytes, MPI_BYTE, MPI_COMM_WORLD);
}

static void alltoall(const struct calls *calls, char *send, char *receive, int bytes)
{
	calls->Alltoall(send, bytes, MPI_BYTE, receive, bytes, MPI_BYTE, MPI_COMM_WORLD);
}

static void reduce(const struct calls *calls, char *send, char *receive, int bytes)
{
	calls->Reduce(send, receive, bytes / (int)sizeof(float), MPI_FLOAT, MPI_SUM, ROOT,
		MPI_COMM_WORLD);
}

static void allreduce(const struct calls *calls, char *send, char *receive, int bytes)
{
	calls->Allreduce(send, receive, bytes / (int)sizeof(float), MPI_FLOAT, MPI_SUM,
		MPI_COMM_WORLD);
}

#define CASE(name, more_ways, expect, ...)                                              \
	{                                                                               \
#name,                                                                  \
			{"dd", "hh" }, more_ways, expect, shape_collective, collective, \
				&(const struct shape)                                   \
		{                                                                       \
			__VA_ARGS__                                                     \
		}                                                                       \
	}
#define NCCL (1 << WAY_NCCL)

const struct job_case collective_cases[] = {
	CASE(bcast, NCCL, EXPECT_ROOT, {ONE, NONE}, {NONE, ONE}, bcast, nccl_broadcast),
	CASE(gather, 0, EXPECT_EACH, {ONE, ONE}, {ALL, NONE}, gather),
	CASE(scatter, 0, EXPECT_ROOT_OWN, {ALL, NONE}, {ONE, ONE}, scatter),
	CASE(allgather, 0, EXPECT_EACH, {ONE, ONE}, {ALL, ALL}, allgather),
	CASE(alltoall, 0, EXPECT_EACH_OWN, {ALL, ALL}, {ALL, ALL}, alltoall),
	CASE(reduce, 0, EXPECT_SUM, {ONE, ONE}, {ONE, NONE}, reduce),
	CASE(allreduce, NCCL, EXPECT_SUM, {ONE, ONE}, {ONE, ONE}, allreduce, nccl_all_reduce),
	{0},
};
