/* SPDX-License-Identifier: Apache-2.0 */
/*
 * divide.h - collectives that are divided among three and more ranks, so that all links work
 *
 *   MPI_Allreduce()  Each member combines its part of what all gave, in its own slice.
 *   MPI_Bcast()      Each member but the root copies its part of what the root gave, to its slice.
 *
 * Then all members meet, and each copies the parts of the other members to its buffer. That of the
 * root of an MPI_Bcast() is copied from the root. What all gave decides whether it is divided: all
 * members see the same numbers, so all say the same.
 */
#ifndef WW_MPI_DIVIDE_H
#define WW_MPI_DIVIDE_H

#include "mpi/task.h"

/* --- MPI_Allreduce() --- */

bool ww_mpi_is_divided(const struct ww_mpi_task *task);

/* The buffer becomes what all members gave, combined. */
void ww_mpi_combine_divided(struct ww_mpi_task *task, const struct ww_mpi_blocks *blocks);

/* --- MPI_Bcast() --- */

/*
 * What a member but the root gives before it has the data: its part of the buffer, as that is.
 * Return: whether it gives something. If another member does not, nothing is divided: so members on
 * one GPU do not divide, which has no link to save there.
 */
bool ww_mpi_give_part(const struct ww_mpi_task *task, const struct ww_mpi_blocks *blocks,
	struct ww_mpi_blocks *out_give);

bool ww_mpi_is_spread(const struct ww_mpi_task *task, int root);

/* All members call it, the root too. @blocks: the buffer */
void ww_mpi_spread(struct ww_mpi_task *task, int root, const struct ww_mpi_blocks *blocks);

#endif
