/* SPDX-License-Identifier: Apache-2.0 */
/*
 * goal.c - what may cost how much, and what a run's exit code is
 *
 * A goal is the largest median allowed, computed from the floor of the same run. Nothing here
 * touches a device.
 */
#include "bench/bench.h"

#define SMALL_BYTES (UINT64_C(2) << 20)
#define LARGE_BYTES (UINT64_C(16) << 30)

/* The largest p50 allowed is factor * floor + plus. */
static const struct {
	double factor;
	double plus;
	bool is_for_gpus; /* there is none on the CPU */
} goal_table[] = {
	[BENCH_GOAL_IMPORT_SMALL] = {1, 10, true}, /* us */
	[BENCH_GOAL_IMPORT_LARGE] = {1.05, 0, true},
	[BENCH_GOAL_ROUND_TRIP] = {1.1, 0, true},
	[BENCH_GOAL_ENQUEUE] = {1.5, 0, true},
	[BENCH_GOAL_EXCHANGE] = {3, 0, false},  /* a request, given the bare round trip */
	[BENCH_GOAL_PUT] = {1, 60, true},       /* us; given the export and the request by hand */
	[BENCH_GOAL_FURTHER] = {1.2, 0, false}, /* a further name, given a first one */
	[BENCH_GOAL_LOOKUP] = {2, 0, false},    /* in a full broker, given that in an empty one */
	[BENCH_GOAL_LISTING] = {3, 0, false},   /* given that of half as many objects */
	[BENCH_GOAL_FOREIGN] = {1, 10, false},  /* us; what the driver takes to open it, and some */
	[BENCH_GOAL_SLICE] = {0, 200, false},   /* ns; a slice is allocated and freed */
	[BENCH_GOAL_HAND_OVER] = {0, 5, false}, /* us; a slice crosses, and an answer comes back */
	[BENCH_GOAL_MAPPED] = {0, 2, false},    /* us; an import of what is mapped already */
	[BENCH_GOAL_RELEASE] = {0, 5000, false},  /* us; of what a killed process held */
	[BENCH_GOAL_RESTART] = {0, 50, false},    /* ms; from a broker's end to its next answer */
	[BENCH_GOAL_OBJECT] = {0, 1024, false},   /* bytes of a broker's memory */
	[BENCH_GOAL_WATCHED] = {0, 10000, false}, /* us of a second: 1 % of a core */
	[BENCH_GOAL_RATE] = {0, 1000, false},     /* ns; a small frame to one consumer */
	[BENCH_GOAL_ONE_WAY] = {2, 0, false},     /* a frame, given the same by hand */
	[BENCH_GOAL_ONE_WAY_STREAM] = {1.2, 0, true},
	[BENCH_GOAL_SIZE] = {1.2, 0, false}, /* large frames, given small ones */
	[BENCH_GOAL_SLOW] = {1.2, 0, false}, /* beside a consumer that holds a frame */
	/* ns; both calls of a side, and for each further consumer whose release is not complete. */
	[BENCH_GOAL_PUBLISH] = {0, 3000, true},
	[BENCH_GOAL_PUBLISH_2] = {0, 4000, true},
	[BENCH_GOAL_PUBLISH_4] = {0, 6000, true},
	[BENCH_GOAL_PUBLISH_8] = {0, 10000, true},
	[BENCH_GOAL_COPY] = {1 / 0.95, 0, true}, /* between two GPUs, given the driver's copy */
	[BENCH_GOAL_FRAMES] = {1.2, 0, true},    /* a frame to several GPUs, given copies at once */
	[BENCH_GOAL_CALL] = {0, 3, false},       /* us; a call while both sides are awake */
	[BENCH_GOAL_CALL_ASLEEP] = {0, 25, false},      /* us; a call of a server that sleeps */
	[BENCH_GOAL_CALL_RATE] = {0, 1e6 / 300, false}, /* ns; 300,000 calls in a second */
	[BENCH_GOAL_CALL_STREAM] = {1, 15, false},      /* us; given its work by a stream at hand */
	[BENCH_GOAL_CALL_WAIT] = {0, 4, false},         /* us; a stream waits for a call */
	[BENCH_GOAL_IDLE] = {2, 0, false},     /* beside idle clients, given none of them */
	[BENCH_GOAL_TURN] = {0, 25, true},     /* us; a tiny kernel after another client's */
	[BENCH_GOAL_NO_MEMORY] = {0, 0, true}, /* MiB of a GPU */
	[BENCH_GOAL_PEER] = {0.2, 0, false},   /* a call, given the same by gRPC */
	/* ns; calls on host buffers, given the MPI's own; the last two with a CUDA context */
	[BENCH_GOAL_MPI_NO_CONTEXT] = {1, 30, true},
	[BENCH_GOAL_MPI_BUFFER] = {1, 100, true},
	[BENCH_GOAL_MPI_REQUEST] = {1, 20, true},
	/* Messages between two GPUs, given copies by hand to host memory and back. */
	[BENCH_GOAL_MPI_SMALL] = {1.1, 0, true},
	[BENCH_GOAL_MPI_64K] = {1 / 1.8, 0, true},
	[BENCH_GOAL_MPI_1M] = {1.0 / 8, 0, true},
	[BENCH_GOAL_MPI_16M] = {1.0 / 30, 0, true},
	[BENCH_GOAL_MPI_PULL] = {1.25, 0, true}, /* given the fastest way, by hand */
	[BENCH_GOAL_MPI_ALLREDUCE] = {1.0 / 20, 0, true},
	[BENCH_GOAL_MPI_NCCL] = {3, 0, true},
};

enum bench_goal bench_import_goal(uint64_t bytes)
{
	if (bytes == SMALL_BYTES)
		return BENCH_GOAL_IMPORT_SMALL;
	return bytes == LARGE_BYTES ? BENCH_GOAL_IMPORT_LARGE : BENCH_GOAL_NONE;
}

double bench_goal_value(enum bench_goal goal, uint32_t backend, double floor_p50)
{
	if (goal == BENCH_GOAL_NONE || (goal_table[goal].is_for_gpus && backend != WW_BACKEND_CUDA))
		return BENCH_NONE;
	return goal_table[goal].factor == 0
		? goal_table[goal].plus
		: goal_table[goal].factor * floor_p50 + goal_table[goal].plus;
}

int bench_met(const struct bench_result *result)
{
	return isnan(result->goal) ? -1 : result->p50 <= result->goal;
}

int bench_verdict(const struct bench *bench)
{
	size_t goals = 0;
	size_t missed = 0;

	if (bench->count == 0 && bench->suites_skipped)
		return refuse("nothing was measured: what was asked for cannot be measured here");
	if (bench->count == 0)
		return refuse("nothing was measured: no size that was asked for has room");
	for (size_t i = 0; bench->check && i < bench->count; i++) {
		const struct bench_result *result = &bench->results[i];
		int met = bench_met(result);

		goals += met >= 0;
		missed += met == 0;
		if (met == 0)
			complain("%s takes %.1f %s, more than the %.1f allowed", result->name,
				result->p50, result->unit, result->goal);
	}
	if (missed)
		return EXIT_FAILED;
	if (bench->check && bench->goals_skipped)
		return refuse("--check: %zu of the sizes that have a goal had no room",
			bench->goals_skipped);
	if (bench->check && goals == 0)
		return refuse(
			"--check: nothing that was measured has a goal; on a GPU the sizes 2MiB "
			"and 16GiB have one, and the suites broker, sync, pool, foreign, "
			"channel, calls and mpi have some");
	return EXIT_DONE;
}
