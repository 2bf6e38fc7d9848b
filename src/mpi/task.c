/* SPDX-License-Identifier: Apache-2.0 */
/*
 * task.c - see task.h
 */
#include "mpi/task.h"

const struct ww_mpi_given *ww_mpi_task_given(const struct ww_mpi_task *task, int member)
{
	return member == task->round.self ? &task->given : ww_mpi_round_given(&task->round, member);
}

ww_memory *ww_mpi_task_map(struct ww_mpi_task *task, int member, int ordinal, MPI_Count bytes)
{
	const struct ww_mpi_given *given;
	const char *why = NULL;
	ww_memory *slice;

	if (member == task->round.self)
		return ww_memory_ref(task->slice);
	given = ww_mpi_task_given(task, member);
	slice = given->bytes >= bytes ? ww_mpi_direct_map(ordinal, &given->token, bytes, &why)
				      : NULL;
	ww_mpi_task_fail(task, member,
		slice         ? NULL
			: why ? why
			      : "it gave fewer bytes than are to be received");
	return slice;
}

void ww_mpi_task_fail(struct ww_mpi_task *task, int member, const char *why)
{
	if (why)
		task->code = ww_mpi_error(WW_MPI_REASON_PULL,
			"warpway: %s: cannot read the data of rank %d in its device memory: %s",
			task->name, member, why);
}
