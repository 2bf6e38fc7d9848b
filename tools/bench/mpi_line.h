/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mpi_line.h - what `warpway bench mpi` and the ranks that it starts say to each other
 *
 * The program of the ranks is started as
 *
 *   warpway-bench-mpi-NAME RANKS ITERATIONS BUDGET_NS FIRST_GPU GPUS SIZE...
 *
 * Rank 0 writes a line for each row to standard output: MPI_LINE and, with tabs between, name,
 * unit, p50, p99, floor and the number of the goal (enum bench_goal). Any other line is for people.
 */
#ifndef TOOLS_BENCH_MPI_LINE_H
#define TOOLS_BENCH_MPI_LINE_H

#define MPI_LINE        "row\t"
#define MPI_BYTES_LARGE (UINT64_C(1) << 30) /* of a message, at most: counts are int */

/* What the bytes of a size are a multiple of: reductions are of floats. */
#define MPI_BYTES_UNIT 4

#endif
