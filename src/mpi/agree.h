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
 *   - A rank says yes only if it has mapped the pages of all members; so all who say yes can read
 *     all answers.
 *   - Who says no goes on at once, and may have answered later collectives when the others look: a
 *     later number counts as no.
 *   - Who says yes waits for the answers of all, or for one no, and lets the MPI go on meanwhile.
 *   - If all said yes, nobody answers the next one of the group before all have told that they have
 *     read these answers and what was given (.read). So a yes that all said is not overwritten too
 *     early.
 *   - Members of one that goes directly can meet once in between (.met): each tells that it has
 *     done the first half, and whether that went well, and waits for the others.
 *
 * Only with WARPWAY_MPI_COLLECTIVES=direct is anything counted. protocol/agreement.pml is the model
 * of it. Ranks that may call the MPI in several threads (MPI_THREAD_MULTIPLE) always say no: their
 * collectives have no order. A member that has ended counts as no.
 */
#ifndef WW_MPI_AGREE_H
#define WW_MPI_AGREE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <warpway/token.h>

#include "mpi/abi.h"

/* What a member gives to the others. */
struct ww_mpi_given {
	int64_t bytes; /* of packed data */
	struct ww_token token;
};

#define WW_MPI_GROUPS 64

/* The part of a rank's page that changes; the rank writes it, and others read it. */
struct ww_mpi_words {
	_Atomic uint32_t is_full; /* collectives of groups that are not there are answered by no */
	uint32_t unused;
	struct ww_mpi_answers {
		_Atomic uint64_t group;  /* its hash; 0: free */
		_Atomic uint64_t answer; /* number * 2, + 1: yes */
		_Atomic uint64_t
			read; /* the number of the last direct one that this rank is through with */
		_Atomic uint64_t
			met; /* number * 2 of the last one in which they met, + 1: it went well */
		struct ww_mpi_given given; /* of a rank that said yes, until all have read it */
	} groups[WW_MPI_GROUPS];
};

struct ww_mpi_group;

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

/*
 * This rank is about to announce itself with these words: what it has counted until now it has
 * answered by no. NULL: it has not announced itself, or does so no longer.
 */
void ww_mpi_agree_with(struct ww_mpi_words *words);

/* Before MPI_Finalize(). */
void ww_mpi_agree_finish(void);

#endif
