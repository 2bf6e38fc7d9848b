/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main.c - the programs `warpway-bench-mpi-openmpi` and `warpway-bench-mpi-mpich`, see job.h
 */
#include "bench/mpi/job.h"

#include <string.h>

#define ARGUMENTS 6 /* with the program, before the sizes */

/* Ranks: at most as many as have elements of their own, see buffer.c. */
#define RANKS_MAX 32

struct plan {
	uint64_t ranks;
	uint64_t first_gpu;
	uint64_t gpus;
};

static int parse(int argc, char *argv[], struct job *job, struct plan *out_plan)
{
	uint64_t bytes;
	bool is_so = argc > ARGUMENTS && number_parse(argv[1], 2, RANKS_MAX, &out_plan->ranks) &&
		number_parse(argv[2], 1, UINT64_MAX, &job->iterations) &&
		number_parse(argv[3], 0, UINT64_MAX, &job->budget_ns) &&
		number_parse(argv[4], 0, UINT32_MAX, &out_plan->first_gpu) &&
		number_parse(argv[5], 1, UINT32_MAX, &out_plan->gpus);

	for (int i = ARGUMENTS; is_so && i < argc; i++)
		is_so = number_parse(argv[i], MPI_BYTES_UNIT, MPI_BYTES_LARGE, &bytes) &&
			bytes % MPI_BYTES_UNIT == 0;
	return is_so ? 0
		     : refuse("this program is for `warpway bench mpi`, which starts it itself");
}

void must(int result)
{
	if (result)
		MPI_Abort(MPI_COMM_WORLD, EXIT_FAILED);
}

bool all_agree(const struct job *job, bool is_so)
{
	int own = is_so;
	int all = 0;

	job->bare.Allreduce(&own, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
	return all;
}

static void measure_all(struct job *job, const struct job_case *cases, char *sizes[])
{
	for (; cases->name; cases++) {
		for (const char *const *kind = cases->kinds; kind < cases->kinds + 4 && *kind;
			kind++) {
			for (char **size = sizes; *size; size++)
				measure(job, cases, *kind, strtoull(*size, NULL, 10));
		}
	}
}

static int run(struct job *job, const struct plan *plan, char *sizes[])
{
	uint64_t gpu = (plan->first_gpu + (uint64_t)job->rank) % plan->gpus;

	if ((uint64_t)job->ranks != plan->ranks)
		return complain("%d rank(s) in place of %llu: the launcher is that of another MPI",
			job->ranks, (unsigned long long)plan->ranks);
	if (calls_open(job))
		return -1;
	host_call_measure(job, "no_context");
	if (cuda_open(&job->cuda, (uint32_t)gpu))
		return -1;
	job->is_gpu_each = plan->gpus >= plan->ranks;
	host_call_measure(job, "context");
	nccl_open(job);
	measure_all(job, point_cases, sizes);
	measure_all(job, collective_cases, sizes);
	nccl_close(job);
	cuda_close(&job->cuda);
	return 0;
}

int main(int argc, char *argv[])
{
	struct job job = {0};
	struct plan plan = {.gpus = 1};
	int code;

	report_set("bench", NULL);
	code = parse(argc, argv, &job, &plan);
	if (code)
		return code;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &job.rank);
	MPI_Comm_size(MPI_COMM_WORLD, &job.ranks);
	must(run(&job, &plan, argv + ARGUMENTS));
	MPI_Finalize();
	return EXIT_DONE;
}
