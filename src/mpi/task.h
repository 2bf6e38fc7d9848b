/* SPDX-License-Identifier: Apache-2.0 */
/*
 * task.h - one collective that goes directly, and what its members gave
 */
#ifndef WW_MPI_TASK_H
#define WW_MPI_TASK_H

#include "mpi/agree.h"
#include "mpi/call.h"
#include "mpi/direct.h"
#include "mpi/reduce.h"

/* A buffer of a call: blocks of one size, side by side; or of any sizes, anywhere. */
struct ww_mpi_blocks {
	const void *at;
	MPI_Count count; /* elements of a block, if counts.at is NULL */
	MPI_Datatype type;
	int blocks;
	struct ww_mpi_numbers counts; /* of each block; .at NULL: see .count */
	struct ww_mpi_numbers displs; /* in extents of the type */
};

/* Bytes of what a member gives. */
struct ww_mpi_part {
	MPI_Count from;
	MPI_Count bytes;
};

struct ww_mpi_task {
	const char *name;
	MPI_Comm comm;
	struct ww_mpi_round round;
	struct ww_mpi_buffer give;
	ww_memory *slice; /* with what this rank gives; NULL: nothing */
	struct ww_mpi_given given;
	bool is_possible; /* what this rank knows before it looks at the buffers */
	bool is_in_place;
	const struct ww_mpi_reduction *reduction; /* NULL: none is needed */
	int take_ordinal;                         /* the device that reads what the others gave */
	int code;
};

/* What a member gave: all said yes. */
const struct ww_mpi_given *ww_mpi_task_given(const struct ww_mpi_task *task, int member);

/*
 * What a member gave, to be read by a device of this rank, with a reference.
 * Return: NULL: the task has failed
 */
ww_memory *ww_mpi_task_map(struct ww_mpi_task *task, int member, int ordinal, MPI_Count bytes);

/* The data of a member cannot be had. @why: NULL: nothing failed */
void ww_mpi_task_fail(struct ww_mpi_task *task, int member, const char *why);

#endif
