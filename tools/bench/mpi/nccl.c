/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nccl.c - NCCL, where it is installed; its header is not needed
 *
 * NVLink multicast is off: some machines have it and do not let it be used.
 */
#include "bench/mpi/job.h"

#include <dlfcn.h>
#include <string.h>

#define LIBRARY "libnccl.so.2"

/* The values of its header. */
#define NCCL_SUM   0
#define NCCL_FLOAT 7

struct nccl_id {
	char bytes[128];
};

struct nccl {
	int (*ncclGetUniqueId)(struct nccl_id *out_id);
	int (*ncclCommInitRank)(void **out_comm, int ranks, struct nccl_id id, int rank);
	int (*ncclCommDestroy)(void *comm);
	int (*ncclAllReduce)(const void *send, void *receive, size_t count, int type, int operation,
		void *comm, ww_CUstream stream);
	int (*ncclBroadcast)(const void *send, void *receive, size_t count, int type, int root,
		void *comm, ww_CUstream stream);
	const char *(*ncclGetErrorString)(int result);
	void *comm;
};

static struct nccl nccl;

static int expect(const char *call, int result)
{
	return result ? complain("%s: %s", call, nccl.ncclGetErrorString(result)) : 0;
}

static bool find(void)
{
	static const struct {
		const char *name;
		void **place;
	} functions[] = {
		{"ncclGetUniqueId", (void **)&nccl.ncclGetUniqueId},
		{"ncclCommInitRank", (void **)&nccl.ncclCommInitRank},
		{"ncclCommDestroy", (void **)&nccl.ncclCommDestroy},
		{"ncclAllReduce", (void **)&nccl.ncclAllReduce},
		{"ncclBroadcast", (void **)&nccl.ncclBroadcast},
		{"ncclGetErrorString", (void **)&nccl.ncclGetErrorString},
	};
	void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);

	for (size_t i = 0; library && i < sizeof(functions) / sizeof(functions[0]); i++) {
		*functions[i].place = dlsym(library, functions[i].name);
		if (!*functions[i].place)
			return false;
	}
	return library != NULL;
}

/* Return: whether all ranks have it. */
static bool connect_ranks(const struct job *job)
{
	struct nccl_id id;
	int result = 0;

	memset(&id, 0, sizeof(id));
	if (job->rank == 0)
		result = nccl.ncclGetUniqueId(&id);
	job->bare.Bcast(&id, sizeof(id), MPI_BYTE, 0, MPI_COMM_WORLD);
	if (!all_agree(job, !result))
		return false;
	result = nccl.ncclCommInitRank(&nccl.comm, job->ranks, id, job->rank);
	return all_agree(job, !result);
}

void nccl_open(struct job *job)
{
	const char *lack = NULL;

	setenv("NCCL_NVLS_ENABLE", "0", 1);
	if (!job->is_gpu_each)
		lack = "it needs a GPU for each rank";
	else if (!all_agree(job, find()))
		lack = "no " LIBRARY " is found";
	else if (!connect_ranks(job))
		lack = "it does not start here (NCCL_DEBUG=WARN says why)";
	if (!lack)
		job->nccl = &nccl;
	else if (job->rank == 0)
		printf("NCCL is not measured: %s\n", lack);
}

void nccl_close(struct job *job)
{
	if (job->nccl)
		nccl.ncclCommDestroy(nccl.comm);
	job->nccl = NULL;
}

static void finish(const struct job *job)
{
	must(CUDA_CALL(&job->cuda, cuStreamSynchronize, job->cuda.stream));
}

void nccl_broadcast(const struct job *job)
{
	char *at = job->send.user ? job->send.user : job->receive.user;

	must(expect("ncclBroadcast",
		nccl.ncclBroadcast(at, at, job->bytes / sizeof(float), NCCL_FLOAT, 0, nccl.comm,
			job->cuda.stream)));
	finish(job);
}

void nccl_all_reduce(const struct job *job)
{
	must(expect("ncclAllReduce",
		nccl.ncclAllReduce(job->send.user, job->receive.user, job->bytes / sizeof(float),
			NCCL_FLOAT, NCCL_SUM, nccl.comm, job->cuda.stream)));
	finish(job);
}
