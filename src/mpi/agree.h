/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agree.h - whether all members of a communicator take part directly in a collective
 *
 * A collective goes directly only if all members say so for this one: device memory in one rank and
 * host memory in another is allowed, and a rank may lack the library. Each rank counts the blocking
 * collectives of each group of ranks from the start. Members of a group call these in one order,
 * whichever communicator of the group they use: a program in which they do not could deadlock in
 * any MPI. So the group and the number name the collective.
 *
 * Each announced rank has a word for each group in its page (peer.h): the number of the last
 * collective that it has answered, and whether it said yes.
 *
 *   - A rank says yes only if it has mapped the pages of all members; so all ranks that say yes can
 *     read all answers.
 *   - A rank that says no goes on at once, and may have answered later collectives when the other
 *     ranks read: a later number counts as no.
 *   - A rank that says yes waits for the answers of all ranks, or for one no, and lets the MPI go
 *     on meanwhile.
 *   - If all said yes, no rank answers the next one of the group before all have told that
 *     they have read these answers and what was given (.read). So a yes that all said is not
 *     overwritten too early.
 *   - Members of one that goes directly can meet once in between (.met): each tells that it has
 *     done the first half, and whether that went well, and waits for the others.
 *
 * Only with WARPWAY_MPI_COLLECTIVES=direct is anything counted. protocol/agreement.pml is the model
 * of it. Ranks that may call the MPI in several threads (MPI_THREAD_MULTIPLE) always say no: their
 * collectives have no order. A member that has ended counts as no.
 */
#ifndef WW_MPI_AGREE_H
#define WW_MPI_AGREE_H

#include "mpi/group.h"

/* One collective. */
struct ww_mpi_round {
	struct ww_mpi_group *group;
	uint64_t number;
	int self;         /* this rank in the communicator */
	int members;      /* of the communicator */
	const int *ranks; /* in MPI_COMM_WORLD, by rank in the communicator */
	bool is_answered; /* by no: this rank had no word for the group at the start */
};

/* Return: false: no collective of this communicator goes directly, and none is counted. */
bool ww_mpi_round_begin(struct ww_mpi_round *round, MPI_Comm comm);

/* Counts a blocking collective. */
void ww_mpi_round_count(struct ww_mpi_round *round);

/*
 * Whether this rank can say yes: it knows the pages of all members, and so many bytes of a device
 * are worth it.
 */
bool ww_mpi_round_can(const struct ww_mpi_round *round, int ordinal, MPI_Count bytes);

/* Whether all members but this one are known, and each is on another GPU than this device. */
bool ww_mpi_round_is_apart(const struct ww_mpi_round *round, int ordinal);

/* Answers. @given: what this rank gives; NULL: nothing. Return: whether all said yes. */
bool ww_mpi_round_agree(const struct ww_mpi_round *round, bool is_yes,
	const struct ww_mpi_given *given);

/* What a member gave. All said yes, and this rank has not called ww_mpi_round_end(). */
const struct ww_mpi_given *ww_mpi_round_given(const struct ww_mpi_round *round, int member);

/*
 * All said yes: this rank has done the first half. Waits until all have done so, once in a
 * collective, in all members or in none.
 * Return: a member that has failed in the first half, or has ended; -1: none
 */
int ww_mpi_round_meet(const struct ww_mpi_round *round, bool is_good);

/* This rank is through with what the others gave. */
void ww_mpi_round_end(const struct ww_mpi_round *round);

/*
 * The MPI has refused the last collective, or failed in it, perhaps in this rank alone: if the
 * program repeats it, its number is another one than in the other ranks. So, if it was counted, no
 * collective of the group goes directly any more.
 */
void ww_mpi_round_failed(void);

/* Before MPI_Finalize(). */
void ww_mpi_agree_finish(void);

#endif
