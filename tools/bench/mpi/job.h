/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job.h - what the parts of `warpway-bench-mpi-openmpi` and `-mpich` share: the ranks of a job,
 * which `warpway bench mpi` starts, measure MPI calls with device memory
 *
 * libwarpway_mpi is loaded in front of the MPI. The MPI's own functions are looked up in the MPI's
 * file, so each rank can call both, and what is measured beside each other takes turns in one job:
 *
 *   WAY_OURS   the library's calls, with the buffers as they are
 *   WAY_HAND   the MPI's own calls; what is device memory is copied to pinned memory before, and
 *              back after; buffers in host memory are given to the MPI as they are
 *   WAY_PULL   copied into memory that the other rank has opened by its CUDA handle, a message
 *              of the MPI, and copied from there
 *   WAY_NCCL   NCCL's call
 *
 * A turn is a function that all ranks call at once. It returns the nanoseconds of this rank, or 0
 * in a rank that is not measured. The sample is the mean of the ranks, as that of the OSU
 * benchmarks. What goes wrong in a rank ends the job.
 */
#ifndef TOOLS_BENCH_MPI_JOB_H
#define TOOLS_BENCH_MPI_JOB_H

#include <mpi.h>

#include "bench/bench.h"
#include "bench/mpi_line.h"

#define WINDOW 64

enum way {
	WAY_OURS,
	WAY_HAND,
	WAY_PULL,
	WAY_NCCL,
	WAYS
};

#define CALLS(X)     \
	X(Send)      \
	X(Recv)      \
	X(Isend)     \
	X(Irecv)     \
	X(Wait)      \
	X(Waitall)   \
	X(Sendrecv)  \
	X(Barrier)   \
	X(Bcast)     \
	X(Gather)    \
	X(Scatter)   \
	X(Allgather) \
	X(Alltoall)  \
	X(Reduce)    \
	X(Allreduce)

struct calls {
#define CALLS_FIELD(name) __typeof__(MPI_##name) *name;
	CALLS(CALLS_FIELD)
#undef CALLS_FIELD
};

/* What each block of a receive buffer is to hold. */
enum expect {
	EXPECT_PEER,     /* the same block of the peer */
	EXPECT_ROOT,     /* the first block of rank 0 */
	EXPECT_ROOT_OWN, /* of rank 0, the block with this rank's number */
	EXPECT_EACH,     /* the first block of the rank with the block's number */
	EXPECT_EACH_OWN, /* of that rank, the block with this rank's number */
	EXPECT_SUM       /* of the first blocks of all ranks */
};

/* Memory of this rank, of blocks of the size that is measured. */
struct buffer {
	int blocks;
	bool is_device;
	char *user; /* what the library's calls get */
	char *host; /* the same if it is host memory; else pinned memory for the copies by hand */
};

struct job;

struct job_case {
	const char *name;
	/* Memory of rank 0, and of the others: d: device, h: host */
	const char *kinds[4];
	/* 1 << way, beside the first two, where all memory is the device's. */
	unsigned int more_ways;
	enum expect expect;
	/* Says which blocks this rank has, and the rest of the members below. */
	void (*shape)(struct job *job);
	uint64_t (*turn)(struct job *job, enum way way);
	const void *context;
};

struct nccl;

struct job {
	int rank;
	int ranks;
	uint64_t iterations;
	uint64_t budget_ns;
	bool is_gpu_each; /* no two ranks have the same GPU */
	struct calls ours;
	struct calls bare;
	struct cuda cuda;
	struct nccl *nccl; /* NULL: not there */

	/* Of what is measured. */
	const struct job_case *job_case;
	const char *kind;
	uint64_t bytes;
	int peer;       /* -1: none */
	int window;     /* messages in flight */
	uint64_t moved; /* bytes in a turn, for a row in MB/s; 0: a row in us */
	struct buffer send;
	struct buffer receive;
	ww_CUdeviceptr lent; /* of WAY_PULL */
	ww_CUdeviceptr borrowed;
};

extern const struct job_case point_cases[], collective_cases[]; /* ended by one without a name */

/* Ends the job, unless a call has returned 0; it has said why. */
void must(int result);

/* Whether it is so in all ranks. */
bool all_agree(const struct job *job, bool is_so);

/* The two tables (calls.c). Return: 0, or -1 after saying what went wrong. */
int calls_open(struct job *job);

/* Calls on host buffers (host_call.c). @context: the end of the names */
void host_call_measure(struct job *job, const char *context);

/* A case with one size (measure.c). */
void measure(struct job *job, const struct job_case *job_case, const char *kind, uint64_t bytes);

/* Writes a row (mpi_line.h). @numbers: p50, p99, floor */
void row_say(const char *name, const char *unit, const double numbers[3], enum bench_goal goal);

/* --- buffers (buffer.c) --- */

/* Return: 0, or -1 if there is no room. To be closed in either case. */
int buffer_open(struct job *job, struct buffer *buffer, bool is_device);
void buffer_close(struct job *job, struct buffer *buffer);

/* What a buffer that is sent holds; other bytes; whether those that were expected came. */
void buffer_fill(struct job *job, const struct buffer *buffer);
void buffer_spoil(struct job *job, const struct buffer *buffer);
bool buffer_verify(struct job *job, const struct buffer *buffer);

/* Copies, and waits for it. */
void copy(const struct job *job, void *to, const void *from, uint64_t bytes);

/* The copies by hand of some blocks; nothing where the way, or the memory, needs none. */
void stage_out(const struct job *job, const struct buffer *buffer, enum way way, int first,
	int count);
void stage_back(const struct job *job, const struct buffer *buffer, enum way way, int first,
	int count);

/* What the way's call gets. */
char *buffer_at(const struct job *job, const struct buffer *buffer, enum way way, int block);

static inline const struct calls *calls_of(const struct job *job, enum way way)
{
	return way == WAY_OURS ? &job->ours : &job->bare;
}

/* --- WAY_PULL (point.c) --- */

/* Return: whether both ranks have each other's memory. To be closed in either case. */
bool pull_open(struct job *job);
void pull_close(struct job *job);

/* --- NCCL (nccl.c) --- */

/* Says why not, if it is not there. */
void nccl_open(struct job *job);
void nccl_close(struct job *job);
void nccl_broadcast(const struct job *job);
void nccl_all_reduce(const struct job *job);

#endif
