/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calls_gpu_memory.c - how much of a GPU's memory client processes take
 *
 * Clients of a server need no CUDA context. Beside them stand processes that do nothing but have
 * one. What the GPU has free is asked before and after, so nothing else may run on it.
 */
#include "bench/calls.h"

#include <stdio.h>

#define PROCESSES_MAX 16
#define MIB_BYTES     (1024.0 * 1024.0)

static const size_t counts[] = {1, 4, PROCESSES_MAX};

int calls_role_caller(struct bench *bench, const char *word)
{
	struct calls_client client = {.client = NULL};

	return calls_client_open(bench, word, &client) ? -1 : bench_child_wait();
}

int calls_role_context(struct bench *bench, const char *word)
{
	(void)bench;
	(void)word;
	return bench_child_wait();
}

/* What @count processes of a role take together. */
static int measure(struct bench *bench, const char *role, size_t count, double *out_mib)
{
	struct child children[PROCESSES_MAX];
	uint64_t before;
	uint64_t after;
	size_t started = 0;
	int result = bench_expect(ww_device_free_bytes(bench->device, &before),
		"cannot ask the GPU");

	while (result == 0 && started < count) {
		children[started] = (struct child)CHILD_NONE;
		result = calls_start(bench, role, CALLS_SERVICE, &children[started++]);
	}
	if (result == 0)
		result = bench_expect(ww_device_free_bytes(bench->device, &after),
			"cannot ask the GPU");
	if (result == 0)
		*out_mib = ((double)before - (double)after) / MIB_BYTES;
	while (started > 0)
		child_fini(&children[--started]);
	return result;
}

static int measure_count(struct bench *bench, size_t count)
{
	char name[BENCH_NAME_BYTES];
	double floor = 0;
	double ours = 0;

	if (measure(bench, "context", count, &floor) || measure(bench, "caller", count, &ours))
		return -1;
	snprintf(name, sizeof(name), "gpu_memory.x%zu", count);
	return bench_add_number(bench, name, "MiB", ours, floor,
		bench_goal_value(BENCH_GOAL_NO_MEMORY, bench->info.backend, BENCH_NONE));
}

int calls_gpu_memory(struct bench *bench)
{
	struct child server = CHILD_NONE;
	int result;

	if (bench->info.backend != WW_BACKEND_CUDA)
		return 0;
	result = calls_start(bench, "server", CALLS_SERVICE, &server);
	for (size_t i = 0; result == 0 && i < sizeof(counts) / sizeof(counts[0]); i++)
		result = measure_count(bench, counts[i]);
	child_fini(&server);
	return result;
}
