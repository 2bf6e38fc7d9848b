/* SPDX-License-Identifier: Apache-2.0 */
/*
 * group.h - groups of ranks whose collectives are counted, and what this rank answers for each
 *
 * A group is the ranks of one or more communicators with the same members. agree.h says what the
 * numbers and answers mean.
 */
#ifndef WW_MPI_GROUP_H
#define WW_MPI_GROUP_H

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

/* The ranks of communicators with the same members. */
struct ww_mpi_group {
	struct ww_mpi_group *next;
	uint64_t hash;
	int members;
	int *ranks;      /* in MPI_COMM_WORLD, sorted */
	uint64_t count;  /* of blocking collectives */
	uint64_t direct; /* the number of the last one that went directly */
	bool is_broken;  /* a member has ended */
	bool has_failed; /* a call has: the others may count otherwise; says no for good */
	struct ww_mpi_answers *own;
};

/* A communicator's place in its group, which is its attribute. */
struct ww_mpi_place {
	int refs;                   /* communicators */
	struct ww_mpi_group *group; /* NULL: no collective of it goes directly */
	int self;
	int members;
	int *ranks; /* in MPI_COMM_WORLD, by rank in the communicator */
};

#define WW_MPI_LATER_THAN_ALL (UINT64_MAX - 1) /* an answer: no */

/* Whether collectives are counted: the setting says so, and MPI calls here have one order. */
bool ww_mpi_groups_are_counted(void);

/* The place of a communicator, made at the first call. Return: NULL: there is no memory for it. */
const struct ww_mpi_place *ww_mpi_place_find(MPI_Comm comm);

/* Gives the group one of this rank's words, if this rank has announced itself and one is free. */
void ww_mpi_group_give_answers(struct ww_mpi_group *group);

/*
 * This rank is about to announce itself with these words: what it has counted until now it has
 * answered by no. NULL: it has not announced itself, or does so no longer.
 */
void ww_mpi_groups_announce(struct ww_mpi_words *words);

#endif
