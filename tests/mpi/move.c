/* SPDX-License-Identifier: Apache-2.0 */
/*
 * move.c - collectives that move data, in every form, in place and not, with gaps and without
 */
#include "cases.h"

#include <stdio.h>
#include <stdlib.h>

#define COUNT 5 /* elements for each rank */
#define MOST  8 /* ranks */

/* The counts and displacements of a call, as int and as MPI_Count. */
struct parts {
	int counts[MOST];
	int displs[MOST];
	MPI_Count large_counts[MOST];
	MPI_Aint large_displs[MOST];
	MPI_Datatype types[MOST];
	int total;
};

/* What a pair of ranks exchanges: as much as either of them says. */
static int pair_count(int a, int b)
{
	return (a + b) % 4;
}

/* @unit: what displacements are in. From each rank its count, with holes between. */
static struct parts make_parts(int n, int unit, MPI_Datatype type, int all)
{
	struct parts parts = {.total = 0};

	for (int i = 0; i < n; i++) {
		parts.counts[i] = all < 0 ? pair_count(rank, i) : (all + i) % 4;
		parts.displs[i] = parts.total * unit;
		parts.large_counts[i] = parts.counts[i];
		parts.large_displs[i] = parts.displs[i];
		parts.types[i] = type;
		parts.total += parts.counts[i] + 1;
	}
	return parts;
}

struct setting {
	enum form form;
	MPI_Datatype type;
	size_t extent; /* bytes */
	int root;
	bool in_place;
	char name[80];
};

typedef void setting_fn(const struct setting *setting);

/* With both types, every form, in place and not. */
static void for_all(const char *name, bool may_be_in_place, setting_fn *run)
{
	for (int i = 0; i < FORMS * 4; i++) {
		struct setting setting = {
			.form = (enum form)(i / 4),
			.type = i % 2 ? gaps_type() : MPI_INT,
			.extent = i % 2 ? 3 * sizeof(int) : sizeof(int),
			.root = i % ranks,
			.in_place = i % 4 / 2,
		};

		if (setting.in_place && !may_be_in_place)
			continue;
#ifdef MPICH
		/* MPICH 4.0 releases the type too often, with host memory, too. */
		if (i % 2 && i / 4 % 3 == PERSISTENT)
			continue;
#endif
		snprintf(setting.name, sizeof(setting.name), "%s form %d %s%s root %d", name,
			(int)setting.form, i % 2 ? "gaps" : "ints",
			setting.in_place ? " in place" : "", setting.root);
		run(&setting);
	}
}

/* The case @name, which is run_@name() for all of them. */
#define FOR_ALL(name, may_be_in_place)                       \
	static void name(void)                               \
	{                                                    \
		for_all(#name, may_be_in_place, run_##name); \
	}

static void end(const struct setting *setting, void *send, size_t send_bytes, void *receive,
	size_t receive_bytes)
{
	char what[128];

	snprintf(what, sizeof(what), "%s sent", setting->name);
	say_memory(what, send, send_bytes);
	snprintf(what, sizeof(what), "%s received", setting->name);
	say_memory(what, receive, receive_bytes);
	memory_free(send);
	memory_free(receive);
}

static void run_bcast(const struct setting *s)
{
	OWN_MEMORY void *buffer = memory_new(COUNT * s->extent, 1);

	CALL(s->form, Bcast, Ibcast, (buffer, COUNT, s->type, s->root, MPI_COMM_WORLD),
		(buffer, COUNT, s->type, s->root, MPI_COMM_WORLD));
	say_memory(s->name, buffer, COUNT * s->extent);
}

FOR_ALL(bcast, false)

static void run_gather(const struct setting *s)
{
	size_t bytes = (size_t)ranks * COUNT * s->extent;
	void *send = memory_new(COUNT * s->extent, 2);
	void *receive = memory_new(bytes, 3);
	bool in_place = s->in_place && rank == s->root;
	const void *from = in_place ? MPI_IN_PLACE : send;

	/* What is not significant is nonsense. */
	CALL(s->form, Gather, Igather,
		(from, COUNT, s->type, rank == s->root ? receive : (void *)8, COUNT, s->type,
			s->root, MPI_COMM_WORLD),
		(from, COUNT, s->type, rank == s->root ? receive : (void *)8, COUNT, s->type,
			s->root, MPI_COMM_WORLD));
	end(s, send, COUNT * s->extent, receive, bytes);
}

FOR_ALL(gather, true)

static void run_gatherv(const struct setting *s)
{
	struct parts parts = make_parts(ranks, 1, s->type, s->root);
	size_t bytes = (size_t)parts.total * s->extent;
	void *send = memory_new(COUNT * s->extent, 2);
	void *receive = memory_new(bytes, 3);
	const void *from = s->in_place && rank == s->root ? MPI_IN_PLACE : send;

	CALL(s->form, Gatherv, Igatherv,
		(from, parts.counts[rank], s->type, receive, parts.counts, parts.displs, s->type,
			s->root, MPI_COMM_WORLD),
		(from, parts.counts[rank], s->type, receive, parts.large_counts, parts.large_displs,
			s->type, s->root, MPI_COMM_WORLD));
	end(s, send, COUNT * s->extent, receive, bytes);
}

FOR_ALL(gatherv, true)

static void run_scatter(const struct setting *s)
{
	size_t bytes = (size_t)ranks * COUNT * s->extent;
	void *send = memory_new(bytes, 4);
	void *receive = memory_new(COUNT * s->extent, 5);
	void *to = s->in_place && rank == s->root ? MPI_IN_PLACE : receive;

	CALL(s->form, Scatter, Iscatter,
		(send, COUNT, s->type, to, COUNT, s->type, s->root, MPI_COMM_WORLD),
		(send, COUNT, s->type, to, COUNT, s->type, s->root, MPI_COMM_WORLD));
	end(s, send, bytes, receive, COUNT * s->extent);
}

FOR_ALL(scatter, true)

static void run_scatterv(const struct setting *s)
{
	struct parts parts = make_parts(ranks, 1, s->type, s->root);
	size_t bytes = (size_t)parts.total * s->extent;
	void *send = memory_new(bytes, 4);
	void *receive = memory_new(COUNT * s->extent, 5);
	void *to = s->in_place && rank == s->root ? MPI_IN_PLACE : receive;

	CALL(s->form, Scatterv, Iscatterv,
		(send, parts.counts, parts.displs, s->type, to, parts.counts[rank], s->type,
			s->root, MPI_COMM_WORLD),
		(send, parts.large_counts, parts.large_displs, s->type, to, parts.counts[rank],
			s->type, s->root, MPI_COMM_WORLD));
	end(s, send, bytes, receive, COUNT * s->extent);
}

FOR_ALL(scatterv, true)

static void run_allgather(const struct setting *s)
{
	size_t bytes = (size_t)ranks * COUNT * s->extent;
	void *send = memory_new(COUNT * s->extent, 6);
	void *receive = memory_new(bytes, 7);
	const void *from = s->in_place ? MPI_IN_PLACE : send;

	CALL(s->form, Allgather, Iallgather,
		(from, COUNT, s->type, receive, COUNT, s->type, MPI_COMM_WORLD),
		(from, COUNT, s->type, receive, COUNT, s->type, MPI_COMM_WORLD));
	end(s, send, COUNT * s->extent, receive, bytes);
}

FOR_ALL(allgather, true)

static void run_allgatherv(const struct setting *s)
{
	struct parts parts = make_parts(ranks, 1, s->type, s->root);
	size_t bytes = (size_t)parts.total * s->extent;
	void *send = memory_new(COUNT * s->extent, 6);
	void *receive = memory_new(bytes, 7);
	const void *from = s->in_place ? MPI_IN_PLACE : send;

	CALL(s->form, Allgatherv, Iallgatherv,
		(from, parts.counts[rank], s->type, receive, parts.counts, parts.displs, s->type,
			MPI_COMM_WORLD),
		(from, parts.counts[rank], s->type, receive, parts.large_counts, parts.large_displs,
			s->type, MPI_COMM_WORLD));
	end(s, send, COUNT * s->extent, receive, bytes);
}

FOR_ALL(allgatherv, true)

static void run_alltoall(const struct setting *s)
{
	size_t bytes = (size_t)ranks * COUNT * s->extent;
	void *send = memory_new(bytes, 8);
	void *receive = memory_new(bytes, 9);
	const void *from = s->in_place ? MPI_IN_PLACE : send;

	CALL(s->form, Alltoall, Ialltoall,
		(from, COUNT, s->type, receive, COUNT, s->type, MPI_COMM_WORLD),
		(from, COUNT, s->type, receive, COUNT, s->type, MPI_COMM_WORLD));
	end(s, send, bytes, receive, bytes);
}

FOR_ALL(alltoall, true)

static void run_alltoallv(const struct setting *s)
{
	struct parts parts = make_parts(ranks, 1, s->type, -1);
	size_t bytes = (size_t)parts.total * s->extent;
	void *send = memory_new(bytes, 8);
	void *receive = memory_new(bytes, 9);
	const void *from = s->in_place ? MPI_IN_PLACE : send;

	CALL(s->form, Alltoallv, Ialltoallv,
		(from, parts.counts, parts.displs, s->type, receive, parts.counts, parts.displs,
			s->type, MPI_COMM_WORLD),
		(from, parts.large_counts, parts.large_displs, s->type, receive, parts.large_counts,
			parts.large_displs, s->type, MPI_COMM_WORLD));
	end(s, send, bytes, receive, bytes);
}

FOR_ALL(alltoallv, true)

static void run_alltoallw(const struct setting *s)
{
	struct parts parts = make_parts(ranks, (int)s->extent, s->type, -1);
	size_t bytes = (size_t)parts.total * s->extent;
	void *send = memory_new(bytes, 8);
	void *receive = memory_new(bytes, 9);
	const void *from = s->in_place ? MPI_IN_PLACE : send;

	CALL(s->form, Alltoallw, Ialltoallw,
		(from, parts.counts, parts.displs, parts.types, receive, parts.counts, parts.displs,
			parts.types, MPI_COMM_WORLD),
		(from, parts.large_counts, parts.large_displs, parts.types, receive,
			parts.large_counts, parts.large_displs, parts.types, MPI_COMM_WORLD));
	end(s, send, bytes, receive, bytes);
}

FOR_ALL(alltoallw, true)

/* --- neighbours: a line of ranks, so that the ends have neighbours that do not exist --- */

static MPI_Comm line;

static void run_neighbour(const struct setting *s)
{
	struct parts parts = make_parts(2, 1, s->type, 1);
	struct parts in_bytes = make_parts(2, (int)s->extent, s->type, 1);
	MPI_Aint displs[2] = {in_bytes.displs[0], in_bytes.displs[1]};
	size_t bytes = (size_t)(2 * COUNT + parts.total) * s->extent;
	void *send = memory_new(bytes, 10);
	void *receive = memory_new(bytes, 11);

	parts.counts[0] = parts.counts[1] = 2;
	parts.large_counts[0] = parts.large_counts[1] = 2;
	CALL(s->form, Neighbor_allgather, Ineighbor_allgather,
		(send, COUNT, s->type, receive, COUNT, s->type, line),
		(send, COUNT, s->type, receive, COUNT, s->type, line));
	say_memory("neighbours: allgather", receive, bytes);
	CALL(s->form, Neighbor_allgatherv, Ineighbor_allgatherv,
		(send, 2, s->type, receive, parts.counts, parts.displs, s->type, line),
		(send, 2, s->type, receive, parts.large_counts, parts.large_displs, s->type, line));
	say_memory("neighbours: allgatherv", receive, bytes);
	CALL(s->form, Neighbor_alltoall, Ineighbor_alltoall,
		(send, COUNT, s->type, receive, COUNT, s->type, line),
		(send, COUNT, s->type, receive, COUNT, s->type, line));
	say_memory("neighbours: alltoall", receive, bytes);
	CALL(s->form, Neighbor_alltoallv, Ineighbor_alltoallv,
		(send, parts.counts, parts.displs, s->type, receive, parts.counts, parts.displs,
			s->type, line),
		(send, parts.large_counts, parts.large_displs, s->type, receive, parts.large_counts,
			parts.large_displs, s->type, line));
	say_memory("neighbours: alltoallv", receive, bytes);
	CALL(s->form, Neighbor_alltoallw, Ineighbor_alltoallw,
		(send, parts.counts, displs, parts.types, receive, parts.counts, displs,
			parts.types, line),
		(send, parts.large_counts, displs, parts.types, receive, parts.large_counts, displs,
			parts.types, line));
	end(s, send, bytes, receive, bytes);
}

static void neighbours(void)
{
	int periods = 0;

	OK(MPI_Cart_create(MPI_COMM_WORLD, 1, &ranks, &periods, 0, &line));
	for_all("neighbours", false, run_neighbour);
	OK(MPI_Comm_free(&line));
}

/* --- between two groups --- */

static void between_groups(void)
{
	MPI_Comm half, both;
	int size;
	int root = rank == 0 ? MPI_ROOT : rank % 2 == 0 ? MPI_PROC_NULL : 0;
	OWN_MEMORY void *send = memory_new(64 * sizeof(int), 12);
	OWN_MEMORY void *receive = memory_new(64 * sizeof(int), 13);

	OK(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half));
	OK(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 5, &both));
	OK(MPI_Comm_remote_size(both, &size));
	OK(MPI_Bcast(rank == 0 ? send : receive, 7, MPI_INT, root, both));
	say_memory("groups: bcast", receive, 64 * sizeof(int));
	OK(MPI_Allgather(send, 3, MPI_INT, receive, 3, MPI_INT, both));
	say_memory("groups: allgather", receive, 64 * sizeof(int));
	OK(MPI_Gather(send, 2, MPI_INT, receive, 2, MPI_INT, root, both));
	say_memory("groups: gather", receive, 64 * sizeof(int));
	OK(MPI_Scatter(send, 2, MPI_INT, receive, 2, MPI_INT, root, both));
	say_memory("groups: scatter", receive, 64 * sizeof(int));
	memory_fill_ints(send, 64, 3);
	OK(MPI_Reduce(send, receive, 9, MPI_INT, MPI_SUM, root, both));
	say_memory("groups: reduce", receive, 64 * sizeof(int));
	OK(MPI_Alltoall(send, 4, MPI_INT, receive, 4, MPI_INT, both));
	say_memory("groups: alltoall", receive, 64 * sizeof(int));
	OK(MPI_Comm_free(&both));
	OK(MPI_Comm_free(&half));
}

const struct test_case move_cases[] = {{"bcast", bcast}, {"gather", gather}, {"gatherv", gatherv},
	{"scatter", scatter}, {"scatterv", scatterv}, {"allgather", allgather},
	{"allgatherv", allgatherv}, {"alltoall", alltoall}, {"alltoallv", alltoallv},
	{"alltoallw", alltoallw}, {"neighbours", neighbours}, {"between-groups", between_groups},
	{NULL, NULL}};
