/* SPDX-License-Identifier: Apache-2.0 */
/*
 * node.c - see node.h
 *
 * A communicator gets its levels at the first call that needs them, which is the same one in all
 * its ranks. What the levels call are the MPI's functions as a program calls them: inside a node
 * collective.h sees them, and between nodes they are staged.
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
	if (code != MPI_SUCCESS)
		return code;
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

static int fill_levels(MPI_Comm comm, struct levels *levels)
{
	struct position own = {levels->self, 0};
	int code = ww_mpi_node_split(comm, &levels->node);

	if (code == MPI_SUCCESS) {
		PMPI_Comm_rank(levels->node, &own.rank_in_node);
		code = WW_MPI_REAL(Bcast)(&own.leader, 1, MPI_INT, 0, levels->node);
	}
	if (code == MPI_SUCCESS)
		code = WW_MPI_REAL(
			Allgather)(&own, 2, MPI_INT, levels->positions, 2, MPI_INT, comm);
	if (code == MPI_SUCCESS && !has_two_levels(levels))
		return PMPI_Comm_free(&levels->node);
	if (code == MPI_SUCCESS)
		code = PMPI_Comm_split(comm, own.rank_in_node ? MPI_UNDEFINED : 0, 0,
			&levels->leaders);
	if (code == MPI_SUCCESS) {
		PMPI_Comm_set_errhandler(levels->node, MPI_ERRORS_RETURN);
		add_levels(levels->node, 1); /* it has none */
	}
	if (code == MPI_SUCCESS && levels->leaders != MPI_COMM_NULL) {
		PMPI_Comm_set_errhandler(levels->leaders, MPI_ERRORS_RETURN);
		add_levels(levels->leaders, 1);
	}
	return code;
}

/* Whether all ranks say yes; collective. */
static bool is_yes_of_all(MPI_Comm comm, bool is_yes)
{
	int mine = is_yes;
	int all = 0;

	return WW_MPI_REAL(Allreduce)(&mine, &all, 1, MPI_INT, MPI_MIN, comm) == MPI_SUCCESS && all;
}

/* Return: NULL: the communicator has no levels, or they cannot be made in some rank. */
static struct levels *find_levels(MPI_Comm comm)
{
	struct levels *levels = NULL;
	int is_there = 0;

	pthread_once(&once, create_keyval);
	if (PMPI_Comm_get_attr(comm, keyval, &levels, &is_there) != MPI_SUCCESS)
		return NULL;
	if (!is_there) {
		levels = add_levels(comm, (int)ww_mpi_members(comm));
		if (!is_yes_of_all(comm, levels != NULL) ||
			fill_levels(comm, levels) != MPI_SUCCESS)
			return NULL;
	}
	return levels->node == MPI_COMM_NULL ? NULL : levels;
}

/* --- collectives --- */

/*
 * Return: the levels of a communicator, if data of this many bytes go by them; NULL: this is no
 * hierarchical collective in any rank
 */
static struct levels *begin(MPI_Comm comm, MPI_Count count, MPI_Datatype type)
{
	MPI_Count bytes = 0;
	struct levels *levels;
	int is_inter = 0;

	if (!ww_mpi_settings()->hierarchical_collectives || ww_mpi_depth > 0 ||
		comm == MPI_COMM_NULL || type == MPI_DATATYPE_NULL || count < 0)
		return NULL;
	PMPI_Comm_test_inter(comm, &is_inter);
	PMPI_Type_size_x(type, &bytes);
	if (is_inter || count * bytes < (MPI_Count)ww_mpi_direct_least())
		return NULL;
	ww_mpi_depth++;
	levels = find_levels(comm);
	ww_mpi_depth--;
	return levels;
}

static bool is_device(const void *buffer, MPI_Count count, MPI_Datatype type)
{
	return count <= INT_MAX && ww_mpi_type_is_named(type) && ww_mpi_look(buffer, type);
}

/* The first code that is an error; the other ranks wait for the later steps all the same. */
static void add_code(int *code, int of_step)
{
	if (*code == MPI_SUCCESS)
		*code = of_step;
}

static bool end(MPI_Comm comm, int *code)
{
	atomic_fetch_add(&hierarchical_count, 1);
	if (*code != MPI_SUCCESS)
		ww_mpi_raise(comm, *code);
	return true;
}

bool ww_mpi_node_Bcast(void *buffer, MPI_Count count, MPI_Datatype type, int root, MPI_Comm comm,
	int *code)
{
	struct levels *levels;
	int root_leader;
	bool is_near;

	if (root < 0 || root >= ww_mpi_members(comm))
		return false;
	levels = begin(comm, count, type);
	if (!levels || !is_yes_of_all(comm, is_device(buffer, count, type)))
		return false;
	*code = MPI_SUCCESS;
	root_leader = levels->positions[root].leader;
	is_near = levels->positions[levels->self].leader == root_leader;
	if (is_near)
		add_code(code,
			PMPI_Bcast(buffer, (int)count, type, levels->positions[root].rank_in_node,
				levels->node));
	if (levels->leaders != MPI_COMM_NULL) {
		int root_node = 0;

		for (int i = 0; i < root_leader; i++)
			root_node += levels->positions[i].rank_in_node == 0;
		add_code(code, PMPI_Bcast(buffer, (int)count, type, root_node, levels->leaders));
	}
	if (!is_near)
		add_code(code, PMPI_Bcast(buffer, (int)count, type, 0, levels->node));
	return end(comm, code);
}

bool ww_mpi_node_Allreduce(const void *send, void *receive, MPI_Count count, MPI_Datatype type,
	MPI_Op op, MPI_Comm comm, int *code)
{
	struct levels *levels = begin(comm, count, type);
	bool is_in_place = send == MPI_IN_PLACE;
	struct ww_mpi_reduction reduction;
	bool is_leader;

	if (!levels ||
		!is_yes_of_all(comm,
			send != receive && is_device(receive, count, type) &&
				(is_in_place || is_device(send, count, type)) &&
				ww_mpi_reduce_find(type, op, &reduction)))
		return false;
	is_leader = levels->leaders != MPI_COMM_NULL;
	*code = PMPI_Reduce(is_in_place && !is_leader ? receive : send, is_leader ? receive : NULL,
		(int)count, type, op, 0, levels->node);
	if (is_leader)
		add_code(code,
			PMPI_Allreduce(MPI_IN_PLACE, receive, (int)count, type, op,
				levels->leaders));
	add_code(code, PMPI_Bcast(receive, (int)count, type, 0, levels->node));
	return end(comm, code);
}

unsigned long long ww_mpi_node_count(void)
{
	return atomic_load(&hierarchical_count);
}
