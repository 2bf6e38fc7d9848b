/* SPDX-License-Identifier: Apache-2.0 */
/*
 * point.c - messages from rank to rank, measured as the OSU benchmarks do: osu_latency, osu_bw,
 * osu_bibw, osu_mbw_mr
 */
#include "bench/mpi/job.h"

#include <string.h>

#define TAG            1
#define WINDOW_BYTES   (UINT64_C(256) << 20)
#define CONTROL_BYTES  512
#define LENT_BYTES_MIN (UINT64_C(2) << 20) /* smaller ones may lie in one allocation */

/* --- latency --- */

static void shape_latency(struct job *job)
{
	if (job->rank > 1)
		return;
	job->peer = 1 - job->rank;
	job->send.blocks = 1;
	job->receive.blocks = 1;
}

/* What a message by WAY_PULL says is of the length of a token in a message of ours. */
static char control[CONTROL_BYTES];

static void send_one(struct job *job, enum way way)
{
	if (way == WAY_PULL) {
		copy(job, (void *)(uintptr_t)job->lent, job->send.user, job->bytes);
		job->bare.Send(control, CONTROL_BYTES, MPI_BYTE, job->peer, TAG, MPI_COMM_WORLD);
		return;
	}
	stage_out(job, &job->send, way, 0, 1);
	calls_of(job, way)->Send(buffer_at(job, &job->send, way, 0), (int)job->bytes, MPI_BYTE,
		job->peer, TAG, MPI_COMM_WORLD);
}

static void receive_one(struct job *job, enum way way)
{
	if (way == WAY_PULL) {
		job->bare.Recv(control, CONTROL_BYTES, MPI_BYTE, job->peer, TAG, MPI_COMM_WORLD,
			MPI_STATUS_IGNORE);
		copy(job, job->receive.user, (void *)(uintptr_t)job->borrowed, job->bytes);
		return;
	}
	calls_of(job, way)->Recv(buffer_at(job, &job->receive, way, 0), (int)job->bytes, MPI_BYTE,
		job->peer, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	stage_back(job, &job->receive, way, 0, 1);
}

/* Both ranks are here. */
static void meet(const struct job *job)
{
	char sent = 0;
	char received;

	job->bare.Sendrecv(&sent, 1, MPI_CHAR, job->peer, TAG, &received, 1, MPI_CHAR, job->peer,
		TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Half of a round trip. */
static uint64_t latency(struct job *job, enum way way)
{
	uint64_t at;

	if (job->peer < 0)
		return 0;
	meet(job);
	at = link_now_ns();
	if (job->rank == 0) {
		send_one(job, way);
		receive_one(job, way);
		return bench_lap(&at) / 2;
	}
	receive_one(job, way);
	send_one(job, way);
	return 0;
}

/* --- bandwidth --- */

/* The first @pairs ranks send to as many others. */
static void shape_pairs(struct job *job, int pairs)
{
	uint64_t fitting = WINDOW_BYTES / job->bytes;

	job->window = fitting < 1 ? 1 : fitting > WINDOW ? WINDOW : (int)fitting;
	job->moved = (uint64_t)job->window * job->bytes * (uint64_t)pairs;
	if (job->rank < pairs) {
		job->peer = job->rank + pairs;
		job->send.blocks = job->window;
	} else if (job->rank < 2 * pairs) {
		job->peer = job->rank - pairs;
		job->receive.blocks = job->window;
	}
}

static void shape_one_pair(struct job *job)
{
	shape_pairs(job, 1);
}

static void shape_all_pairs(struct job *job)
{
	shape_pairs(job, job->ranks / 2);
}

static void shape_both_ways(struct job *job)
{
	shape_pairs(job, 1);
	job->moved *= 2;
	if (job->peer < 0)
		return;
	job->send.blocks = job->window;
	job->receive.blocks = job->window;
}

/* By hand each message is copied back as soon as it is there, while others arrive. */
static void finish(struct job *job, enum way way, MPI_Request sends[], MPI_Request receives[])
{
	const struct calls *calls = calls_of(job, way);

	for (int i = 0; i < job->receive.blocks && way == WAY_HAND; i++) {
		calls->Wait(&receives[i], MPI_STATUS_IGNORE);
		stage_back(job, &job->receive, way, i, 1);
	}
	if (way != WAY_HAND)
		calls->Waitall(job->receive.blocks, receives, MPI_STATUSES_IGNORE);
	calls->Waitall(job->send.blocks, sends, MPI_STATUSES_IGNORE);
}

/* A window of messages, and the word of the other rank that it has them. */
static uint64_t bandwidth(struct job *job, enum way way)
{
	const struct calls *calls = calls_of(job, way);
	MPI_Request sends[WINDOW];
	MPI_Request receives[WINDOW];
	uint64_t at = link_now_ns();

	if (job->peer < 0)
		return 0;
	for (int i = 0; i < job->receive.blocks; i++)
		calls->Irecv(buffer_at(job, &job->receive, way, i), (int)job->bytes, MPI_BYTE,
			job->peer, TAG, MPI_COMM_WORLD, &receives[i]);
	for (int i = 0; i < job->send.blocks; i++) {
		stage_out(job, &job->send, way, i, 1);
		calls->Isend(buffer_at(job, &job->send, way, i), (int)job->bytes, MPI_BYTE,
			job->peer, TAG, MPI_COMM_WORLD, &sends[i]);
	}
	finish(job, way, sends, receives);
	meet(job);
	return bench_lap(&at);
}

/* --- WAY_PULL --- */

bool pull_open(struct job *job)
{
	const struct cuda *cuda = &job->cuda;
	uint64_t bytes = job->bytes < LENT_BYTES_MIN ? LENT_BYTES_MIN : job->bytes;
	ww_CUipcMemHandle own;
	ww_CUipcMemHandle peers;
	bool is_there = true;

	memset(&own, 0, sizeof(own));
	if (job->peer >= 0) {
		is_there = cuda->cuMemAlloc(&job->lent, bytes) == WW_CUDA_SUCCESS &&
			cuda->cuIpcGetMemHandle(&own, job->lent) == WW_CUDA_SUCCESS;
		job->bare.Sendrecv(&own, sizeof(own), MPI_BYTE, job->peer, TAG, &peers,
			sizeof(peers), MPI_BYTE, job->peer, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		is_there = is_there &&
			cuda->cuIpcOpenMemHandle(&job->borrowed, peers,
				WW_CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) == WW_CUDA_SUCCESS;
	}
	return all_agree(job, is_there);
}

void pull_close(struct job *job)
{
	if (job->borrowed)
		job->cuda.cuIpcCloseMemHandle(job->borrowed);
	job->borrowed = 0;
	job->bare.Barrier(MPI_COMM_WORLD);
	if (job->lent)
		job->cuda.cuMemFree(job->lent);
	job->lent = 0;
}

const struct job_case point_cases[] = {
	{"latency", {"dd", "dh", "hd", "hh"}, 1 << WAY_PULL, EXPECT_PEER, shape_latency, latency},
	{"bandwidth", {"dd", "hh"}, 0, EXPECT_PEER, shape_one_pair, bandwidth},
	{"bidirectional", {"dd", "hh"}, 0, EXPECT_PEER, shape_both_ways, bandwidth},
	{"multi_pair", {"dd", "hh"}, 0, EXPECT_PEER, shape_all_pairs, bandwidth},
	{0},
};
