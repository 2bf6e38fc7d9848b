/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reduce.c - reductions in every form: predefined and user-defined operations, in place and not
 */
#include "cases.h"

#include <stdio.h>
#include <stdlib.h>

#define COUNT 12
#define MOST  8

/* How a reduction is called. */
struct setting {
	enum form form;
	MPI_Op op;
	MPI_Datatype type; /* of ints: MPI_INT, MPI_2INT, or two ints that belong together */
	int ints;          /* of an element */
	bool in_place;
	char name[64];
};

typedef void setting_fn(const struct setting *setting);

static MPI_Op user_op;
static MPI_Datatype pair;

/* Does not commute. It is called with host memory, wherever the buffers are. */
static void take_pairs(void *in, void *inout, int *count, MPI_Datatype *type)
{
	int *left = in;
	int *right = inout;

	(void)type;
	for (int i = 0; i < 2 * *count; i += 2) {
		right[i] = (left[i] * 3 + right[i]) % 1009;
		right[i + 1] = left[i + 1] + right[i + 1];
	}
}

static void for_all(const char *name, setting_fn *run)
{
	OK(MPI_Op_create(take_pairs, 0, &user_op));
	OK(MPI_Type_contiguous(2, MPI_INT, &pair));
	OK(MPI_Type_commit(&pair));
	for (int i = 0; i < FORMS * 6; i++) {
		struct setting setting = {
			.form = (enum form)(i / 6),
			.op = i % 3 == 0     ? MPI_SUM
				: i % 3 == 1 ? MPI_MAXLOC
					     : user_op,
			.type = i % 3 == 0   ? MPI_INT
				: i % 3 == 1 ? MPI_2INT
					     : pair,
			.ints = i % 3 == 0 ? 1 : 2,
			.in_place = i % 6 / 3,
		};

		snprintf(setting.name, sizeof(setting.name), "%s form %d op %d%s", name,
			(int)setting.form, i % 3, setting.in_place ? " in place" : "");
		run(&setting);
	}
	OK(MPI_Op_free(&user_op));
	OK(MPI_Type_free(&pair));
}

static void *new_ints(int ints, unsigned int seed)
{
	void *memory = memory_new((size_t)ints * sizeof(int), seed);

	memory_fill_ints(memory, (size_t)ints, seed);
	return memory;
}

static void run_simple(const struct setting *s, int which)
{
	size_t bytes = (size_t)(COUNT * s->ints) * sizeof(int);
	void *send = new_ints(COUNT * s->ints, 1);
	void *receive = new_ints(COUNT * s->ints, 2);
	const void *from = s->in_place ? MPI_IN_PLACE : send;
	bool is_defined = true;

	if (which == 0) {
		from = s->in_place && rank == 1 % ranks ? MPI_IN_PLACE : send;
		CALL(s->form, Reduce, Ireduce,
			(from, receive, COUNT, s->type, s->op, 1 % ranks, MPI_COMM_WORLD),
			(from, receive, COUNT, s->type, s->op, 1 % ranks, MPI_COMM_WORLD));
		is_defined = rank == 1 % ranks;
	} else if (which == 1) {
		CALL(s->form, Allreduce, Iallreduce,
			(from, receive, COUNT, s->type, s->op, MPI_COMM_WORLD),
			(from, receive, COUNT, s->type, s->op, MPI_COMM_WORLD));
	} else if (which == 2) {
		CALL(s->form, Scan, Iscan, (from, receive, COUNT, s->type, s->op, MPI_COMM_WORLD),
			(from, receive, COUNT, s->type, s->op, MPI_COMM_WORLD));
	} else {
		CALL(s->form, Exscan, Iexscan,
			(from, receive, COUNT, s->type, s->op, MPI_COMM_WORLD),
			(from, receive, COUNT, s->type, s->op, MPI_COMM_WORLD));
		is_defined = rank > 0;
	}
	if (is_defined)
		say_memory(s->name, receive, bytes);
	say_memory("sent", send, bytes);
	memory_free(send);
	memory_free(receive);
}

static void run_reduce(const struct setting *s)
{
	run_simple(s, 0);
}

static void run_allreduce(const struct setting *s)
{
	run_simple(s, 1);
}

static void run_scan(const struct setting *s)
{
	run_simple(s, 2);
}

static void run_exscan(const struct setting *s)
{
	run_simple(s, 3);
}

static void reduce(void)
{
	for_all("reduce", run_reduce);
}

static void allreduce(void)
{
	for_all("allreduce", run_allreduce);
}

static void scan(void)
{
	for_all("scan", run_scan);
}

static void exscan(void)
{
	for_all("exscan", run_exscan);
}

static void run_scatter(const struct setting *s)
{
	int counts[MOST];
	MPI_Count large[MOST];
	int total = 0;
	void *send, *receive;
	const void *from;

	for (int i = 0; i < ranks; i++) {
		counts[i] = i + 1;
		large[i] = counts[i];
		total += counts[i];
	}
	(void)large;
	send = new_ints(total * s->ints, 3);
	receive = new_ints(total * s->ints, 4);
	from = s->in_place ? MPI_IN_PLACE : send;
	CALL(s->form, Reduce_scatter, Ireduce_scatter,
		(from, receive, counts, s->type, s->op, MPI_COMM_WORLD),
		(from, receive, large, s->type, s->op, MPI_COMM_WORLD));
	say_memory(s->name, receive, (size_t)(counts[rank] * s->ints) * sizeof(int));
	memory_fill_ints(receive, (size_t)(total * s->ints), 4);
	CALL(s->form, Reduce_scatter_block, Ireduce_scatter_block,
		(from, receive, 1, s->type, s->op, MPI_COMM_WORLD),
		(from, receive, 1, s->type, s->op, MPI_COMM_WORLD));
	say_memory(s->name, receive, (size_t)s->ints * sizeof(int));
	memory_free(send);
	memory_free(receive);
}

static void reduce_scatter(void)
{
	for_all("reduce-scatter", run_scatter);
}

static void local(void)
{
	void *in = new_ints(COUNT, 5);
	void *inout = new_ints(COUNT, 6);
	struct {
		double value;
		int index;
	} pairs[4] = {{1.5, 1}, {2.5, 2}, {3.5, 3}, {4.5, 4}};
	OWN_MEMORY void *left = memory_new(sizeof(pairs), 1);
	OWN_MEMORY void *right = memory_new(sizeof(pairs), 1);
	size_t bytes = sizeof(pairs);

	OK(MPI_Reduce_local(in, inout, COUNT, MPI_INT, MPI_PROD));
	say_memory("local", inout, COUNT * sizeof(int));
#if MPI_VERSION >= 4
	OK(MPI_Reduce_local_c(in, inout, COUNT, MPI_INT, MPI_SUM));
	say_memory("local", inout, COUNT * sizeof(int));
#endif
	memory_put(left, pairs, bytes);
	pairs[1].value = 9.25;
	pairs[2].value = 0.25;
	memory_put(right, pairs, bytes);
	OK(MPI_Reduce_local(left, right, 4, MPI_DOUBLE_INT, MPI_MINLOC));
	memory_get(pairs, right, bytes);
	for (int i = 0; i < 4; i++)
		say("pair %g %d", pairs[i].value, pairs[i].index);
	memory_free(in);
	memory_free(inout);
}

/* What the host can reduce can be reduced of devices: it is done there. */
static void long_double(void)
{
	long double values[3] = {1.25L, 2.5L, (long double)rank};
	long double sums[3];
	OWN_MEMORY void *send = memory_new(sizeof(values), 1);
	OWN_MEMORY void *receive = memory_new(sizeof(values), 1);

	memory_put(send, values, sizeof(values));
	OK(MPI_Allreduce(send, receive, 3, MPI_LONG_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
	memory_get(sums, receive, sizeof(sums));
	say("long double %Lg %Lg %Lg", sums[0], sums[1], sums[2]);
}

const struct test_case reduce_cases[] = {{"reduce", reduce}, {"allreduce", allreduce},
	{"scan", scan}, {"exscan", exscan}, {"reduce-scatter", reduce_scatter},
	{"reduce-local", local}, {"long-double", long_double}, {NULL, NULL}};
