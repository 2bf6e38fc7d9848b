/* SPDX-License-Identifier: Apache-2.0 */
/*
 * node.c - see node.h
 *
 * A communicator gets its levels at the first call for which all ranks say yes, or is marked as
 * one without levels. All decide alike: what one rank cannot do, none does.
 *
 * What the levels call are the MPI's functions as a program calls them: inside a node collective.h
 * sees them, and between nodes they are staged. If a step fails, the error handler is called at
 * once: a rank that fails before it takes part leaves the others waiting, as in any MPI. If the
 * step between nodes fails, the leader tells the ranks of its node, which then have no data.
 */
#include "mpi/node.h"

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

#include "mpi/call.h"
#include "mpi/direct.h"
#include "mpi/error.h"
#include "mpi/next.h"
#include "mpi/reduce.h"
#include "mpi/settings.h"

/* Where a rank is. */
struct position {
	int leader;       /* the first rank of its node, in the communicator */
	int rank_in_node; /* 0: it is that */
};

/* The levels of a communicator, which are its attribute. */
struct levels {
	MPI_Comm node;    /* MPI_COMM_NULL: it has one node, or nodes of one rank */
	MPI_Comm leaders; /* MPI_COMM_NULL in other ranks */
	int self;         /* this rank */
	int ranks;
	struct position *positions; /* by rank */
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int keyval = MPI_KEYVAL_INVALID;
static _Atomic unsigned long long hierarchical_count;

/* --- nodes --- */

int ww_mpi_node_split(MPI_Comm comm, MPI_Comm *out_node)
{
	const char *name = ww_mpi_settings()->node;
	unsigned int hash = 2166136261u;
	MPI_Comm machine;
	int code;

	code = PMPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine);
	if (code != MPI_SUCCESS || !*name) {
		*out_node = machine;
		return code;
	}
	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * 16777619u;
	code = PMPI_Comm_split(machine, (int)(hash & INT_MAX), 0, out_node);
	PMPI_Comm_free(&machine);
	return code;
}

static int drop_levels(MPI_Comm comm, int key, void *of_comm, void *unused)
{
	struct levels *levels = of_comm;

	(void)comm;
	(void)key;
	(void)unused;
	if (levels->node != MPI_COMM_NULL)
		PMPI_Comm_free(&levels->node);
	if (levels->leaders != MPI_COMM_NULL)
		PMPI_Comm_free(&levels->leaders);
	free(levels->positions);
	free(levels);
	return MPI_SUCCESS;
}

static void create_keyval(void)
{
	PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, drop_levels, &keyval, NULL);
}

/* Return: the new attribute of a communicator, without levels yet; NULL: there is no memory. */
static struct levels *add_levels(MPI_Comm comm, int ranks)
{
	struct levels *levels = calloc(1, sizeof(*levels));

	if (!levels)
		return NULL;
	levels->node = MPI_COMM_NULL;
	levels->leaders = MPI_COMM_NULL;
	levels->self = (int)ww_mpi_self(comm);
	levels->ranks = ranks;
	levels->positions = calloc((size_t)ranks, sizeof(*levels->positions));
	if (levels->positions && PMPI_Comm_set_attr(comm, keyval, levels) == MPI_SUCCESS)
		return levels;
	free(levels->positions);
	free(levels);
	return NULL;
}

/* Return: whether there are several nodes, one of which has several ranks. */
static bool has_two_levels(const struct levels *levels)
{
	bool has_nodes = false;
	bool has_others = false;

	for (int i = 0; i < levels->ranks; i++) {
		has_nodes = has_nodes || levels->positions[i].leader != levels->positions[0].leader;
		has_others = has_others || levels->positions[i].rank_in_node > 0;
	}
	return has_nodes && has_others;
}

/* Whether all ranks say yes; collective. */
static bool is_yes_of_all(MPI_Comm comm, bool is_yes)
{
	int mine = is_yes;
	int all = 0;

	return WW_MPI_REAL(Allreduce)(&mine, &all, 1, MPI_INT, MPI_MIN, comm) == MPI_SUCCESS && all;
}

/* What the levels call themselves has no levels, and its errors come back. */
static bool prepare(MPI_Comm comm)
{
	return PMPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN) == MPI_SUCCESS &&
		add_levels(comm, 1);
}

static bool find_positions(MPI_Comm comm, const struct levels *levels)
{
	struct position own = {levels->self, 0};
	int code = PMPI_Comm_rank(levels->node, &own.rank_in_node);
	int of_node = WW_MPI_REAL(Bcast)(&own.leader, 1, MPI_INT, 0, levels->node);
	int of_all = WW_MPI_REAL(Allgather)(&own, 2, MPI_INT, levels->positions, 2, MPI_INT, comm);

	return code == MPI_SUCCESS && of_node == MPI_SUCCESS && of_all == MPI_SUCCESS;
}

static bool add_leaders(MPI_Comm comm, struct levels *levels)
{
	bool is_leader = levels->positions[levels->self].rank_in_node == 0;

	return PMPI_Comm_split(comm, is_leader ? 0 : MPI_UNDEFINED, 0, &levels->leaders) ==
		MPI_SUCCESS &&
		prepare(levels->node) && (!is_leader || prepare(levels->leaders));
}

/* Return: whether all ranks have levels. Else communicators that some have stay unused. */
static bool fill_levels(MPI_Comm comm, struct levels *levels)
{
	if (!is_yes_of_all(comm, ww_mpi_node_split(comm, &levels->node) == MPI_SUCCESS) ||
		!is_yes_of_all(comm, find_positions(comm, levels)))
		return false;
	if (has_two_levels(levels))
		return is_yes_of_all(comm, add_leaders(comm, levels));
	PMPI_Comm_free(&levels->node);
	return false;
}

/* All ranks take part. Errors are no errors of the program's: it can do without levels. */
static void make_levels(MPI_Comm comm)
{
	struct levels *levels = add_levels(comm, (int)ww_mpi_members(comm));
	MPI_Errhandler handler;

	if (!is_yes_of_all(comm, levels != NULL)) {
		if (levels)
			PMPI_Comm_delete_attr(comm, keyval);
		return;
	}
	PMPI_Comm_get_errhandler(comm, &handler);
	PMPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
	if (!fill_levels(comm, levels)) {
		levels->node = MPI_COMM_NULL;
		levels->leaders = MPI_COMM_NULL;
	}
	PMPI_Comm_set_errhandler(comm, handler);
	PMPI_Errhandler_free(&handler);
}

/* Return: NULL: none were made yet. */
static struct levels *find_levels(MPI_Comm comm)
{
	struct levels *levels = NULL;
	int is_there = 0;

	pthread_once(&once, create_keyval);
	if (PMPI_Comm_get_attr(comm, keyval, &levels, &is_there) != MPI_SUCCESS)
		return NULL;
	return is_there ? levels : NULL;
}

/* --- collectives --- */

/* Whether all ranks ask whether a call is a hierarchical one: they do or do not alike. */
static bool is_asked(MPI_Comm comm, MPI_Count count, MPI_Datatype type)
{
	const struct levels *levels;
	MPI_Count bytes = 0;
	int is_inter = 0;

	if (!ww_mpi_settings()->hierarchical_collectives || ww_mpi_depth > 0 ||
		comm == MPI_COMM_NULL || type == MPI_DATATYPE_NULL || count < 0)
		return false;
	PMPI_Comm_test_inter(comm, &is_inter);
	PMPI_Type_size_x(type, &bytes);
	if (is_inter || count * bytes < (MPI_Count)ww_mpi_direct_least())
		return false;
	levels = find_levels(comm);
	return !levels || levels->node != MPI_COMM_NULL;
}

/* Return: NULL: a rank said no, or there are no levels. */
static const struct levels *agree(MPI_Comm comm, bool is_yes)
{
	const struct levels *levels = NULL;

	ww_mpi_depth++;
	if (is_yes_of_all(comm, is_yes)) {
		if (!find_levels(comm))
			make_levels(comm);
		levels = find_levels(comm);
	}
	ww_mpi_depth--;
	return levels && levels->node != MPI_COMM_NULL ? levels : NULL;
}

static bool is_device(const void *buffer, MPI_Count count, MPI_Datatype type)
{
	return count <= INT_MAX && ww_mpi_type_is_named(type) && ww_mpi_look(buffer, type);
}

/*
 * The leader of a node tells its ranks whether the step between nodes was good. Return: the
 * leader's code, or one of this rank
 */
static int tell(const struct levels *levels, const char *call, int code)
{
	int is_good = code == MPI_SUCCESS;
	int of_node;

	ww_mpi_depth++;
	of_node = WW_MPI_REAL(Bcast)(&is_good, 1, MPI_INT, 0, levels->node);
	ww_mpi_depth--;
	if (code != MPI_SUCCESS || of_node != MPI_SUCCESS)
		return code != MPI_SUCCESS ? code : of_node;
	return is_good ? MPI_SUCCESS
		       : ww_mpi_error(WW_MPI_REASON_PULL,
				 "warpway: %s: there are no data: rank %d, the first one of this "
				 "node, failed in the step between nodes",
				 call, levels->positions[levels->self].leader);
}

static int end(MPI_Comm comm, int code)
{
	atomic_fetch_add(&hierarchical_count, 1);
	return code == MPI_SUCCESS ? code : ww_mpi_raise(comm, code);
}

static int broadcast(const struct levels *levels, void *buffer, int count, MPI_Datatype type,
	int root)
{
	int root_leader = levels->positions[root].leader;
	bool is_near = levels->positions[levels->self].leader == root_leader;
	int root_node = 0;
	int code = MPI_SUCCESS;

	if (is_near)
		code = PMPI_Bcast(buffer, count, type, levels->positions[root].rank_in_node,
			levels->node);
	for (int i = 0; i < root_leader; i++)
		root_node += levels->positions[i].rank_in_node == 0;
	if (code == MPI_SUCCESS && levels->leaders != MPI_COMM_NULL)
		code = PMPI_Bcast(buffer, count, type, root_node, levels->leaders);
	if (is_near)
		return code;
	code = tell(levels, "MPI_Bcast", code);
	return code == MPI_SUCCESS ? PMPI_Bcast(buffer, count, type, 0, levels->node) : code;
}

bool ww_mpi_node_Bcast(void *buffer, MPI_Count count, MPI_Datatype type, int root, MPI_Comm comm,
	int *code)
{
	const struct levels *levels;

	if (!is_asked(comm, count, type) || root < 0 || root >= ww_mpi_members(comm))
		return false;
	levels = agree(comm, is_device(buffer, count, type));
	if (levels)
		*code = end(comm, broadcast(levels, buffer, (int)count, type, root));
	return levels != NULL;
}

static int reduce(const struct levels *levels, const void *send, void *receive, int count,
	MPI_Datatype type, MPI_Op op)
{
	bool is_leader = levels->leaders != MPI_COMM_NULL;
	int code = PMPI_Reduce(send == MPI_IN_PLACE && !is_leader ? receive : send,
		is_leader ? receive : NULL, count, type, op, 0, levels->node);

	if (code != MPI_SUCCESS)
		return code;
	if (is_leader)
		code = PMPI_Allreduce(MPI_IN_PLACE, receive, count, type, op, levels->leaders);
	code = tell(levels, "MPI_Allreduce", code);
	return code == MPI_SUCCESS ? PMPI_Bcast(receive, count, type, 0, levels->node) : code;
}

bool ww_mpi_node_Allreduce(const void *send, void *receive, MPI_Count count, MPI_Datatype type,
	MPI_Op op, MPI_Comm comm, int *code)
{
	struct ww_mpi_reduction reduction;
	const struct levels *levels;

	if (!is_asked(comm, count, type) || op == MPI_OP_NULL)
		return false;
	levels = agree(comm,
		send != receive && is_device(receive, count, type) &&
			(send == MPI_IN_PLACE || is_device(send, count, type)) &&
			ww_mpi_reduce_find(type, op, &reduction));
	if (levels)
		*code = end(comm, reduce(levels, send, receive, (int)count, type, op));
	return levels != NULL;
}

unsigned long long ww_mpi_node_count(void)
{
	return atomic_load(&hierarchical_count);
}
