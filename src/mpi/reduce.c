/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reduce.c - see reduce.h
 *
 * A thread combines one element after another, and the threads of a warp those side by side.
 */
#include "mpi/reduce.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Which operations a type may have: MPI-3.1, 5.9.2. */
#define ARITHMETIC 0x0f
#define BITS       0x70
#define LOGICAL    0x380

/* Elements of a type are loaded into a register of 32 or 64 bits. */
static const struct {
	const char *name;    /* as it is loaded; of a kernel's name, too */
	const char *stored;  /* as it is stored */
	const char *reg;     /* the register, and the type of its arithmetic */
	const char *untyped; /* the same as bits */
	size_t bytes;
	bool is_real;
} kinds[] = {
	{"s8", "u8", "s32", "b32", 1, false},
	{"u8", "u8", "u32", "b32", 1, false},
	{"s16", "u16", "s32", "b32", 2, false},
	{"u16", "u16", "u32", "b32", 2, false},
	{"s32", "u32", "s32", "b32", 4, false},
	{"u32", "u32", "u32", "b32", 4, false},
	{"s64", "u64", "s64", "b64", 8, false},
	{"u64", "u64", "u64", "b64", 8, false},
	{"f32", "f32", "f32", "b32", 4, true},
	{"f64", "f64", "f64", "b64", 8, true},
};

#define KINDS ((int)(sizeof(kinds) / sizeof(kinds[0])))

/* Instructions, without their type. */
static const struct {
	const char *name;
	const char *integer, *real;
	bool is_of_bits;
	bool is_logical; /* of predicates that say whether elements are not 0 */
} ops[] = {
	{"sum", "add", "add.rn", false, false},
	{"prod", "mul.lo", "mul.rn", false, false},
	{"max", "max", "max", false, false},
	{"min", "min", "min", false, false},
	{"band", "and", NULL, true, false},
	{"bor", "or", NULL, true, false},
	{"bxor", "xor", NULL, true, false},
	{"land", "and", NULL, false, true},
	{"lor", "or", NULL, false, true},
	{"lxor", "xor", NULL, false, true},
};

#define OPS ((int)(sizeof(ops) / sizeof(ops[0])))

#define DEVICES_MOST 64

#define THREADS 256
#define BLOCKS  1024 /* at most: enough for any GPU, and each thread goes on until the end */

static struct loaded {
	void *context; /* NULL: no module is loaded; else of this context */
	void *kernel;
} loaded[DEVICES_MOST][KINDS][OPS];

/* --- which kernel --- */

static int find_kind(MPI_Datatype type, int *out_ops)
{
	enum {
		INTEGER = ARITHMETIC | BITS | LOGICAL,
		OF_LANGUAGES = ARITHMETIC | BITS, /* of several languages, or of Fortran */
	};
	const struct {
		MPI_Datatype type;
		size_t bytes;
		char kind; /* s, u, f */
		int ops;
	} types[] = {
		{MPI_SIGNED_CHAR, 1, 's', INTEGER},
		{MPI_UNSIGNED_CHAR, 1, 'u', INTEGER},
		{MPI_SHORT, sizeof(short), 's', INTEGER},
		{MPI_UNSIGNED_SHORT, sizeof(short), 'u', INTEGER},
		{MPI_INT, sizeof(int), 's', INTEGER},
		{MPI_UNSIGNED, sizeof(int), 'u', INTEGER},
		{MPI_LONG, sizeof(long), 's', INTEGER},
		{MPI_UNSIGNED_LONG, sizeof(long), 'u', INTEGER},
		{MPI_LONG_LONG, sizeof(long long), 's', INTEGER},
		{MPI_UNSIGNED_LONG_LONG, sizeof(long long), 'u', INTEGER},
		{MPI_INT8_T, 1, 's', INTEGER},
		{MPI_INT16_T, 2, 's', INTEGER},
		{MPI_INT32_T, 4, 's', INTEGER},
		{MPI_INT64_T, 8, 's', INTEGER},
		{MPI_UINT8_T, 1, 'u', INTEGER},
		{MPI_UINT16_T, 2, 'u', INTEGER},
		{MPI_UINT32_T, 4, 'u', INTEGER},
		{MPI_UINT64_T, 8, 'u', INTEGER},
		{MPI_FLOAT, 4, 'f', ARITHMETIC},
		{MPI_DOUBLE, 8, 'f', ARITHMETIC},
		{MPI_BYTE, 1, 'u', BITS},
		{MPI_C_BOOL, 1, 'u', LOGICAL},
		{MPI_AINT, sizeof(MPI_Aint), 's', OF_LANGUAGES},
		{MPI_OFFSET, sizeof(MPI_Offset), 's', OF_LANGUAGES},
		{MPI_COUNT, sizeof(MPI_Count), 's', OF_LANGUAGES},
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		char name[8];

		if (types[i].type != type)
			continue;
		snprintf(name, sizeof(name), "%c%zu", types[i].kind, 8 * types[i].bytes);
		*out_ops = types[i].ops;
		for (int kind = 0; kind < KINDS; kind++) {
			if (!strcmp(kinds[kind].name, name))
				return kind;
		}
	}
	return -1;
}

bool ww_mpi_reduce_find(MPI_Datatype type, MPI_Op op, struct ww_mpi_reduction *out_reduction)
{
	const MPI_Op known[] = {MPI_SUM, MPI_PROD, MPI_MAX, MPI_MIN, MPI_BAND, MPI_BOR, MPI_BXOR,
		MPI_LAND, MPI_LOR, MPI_LXOR};
	int allowed = 0;

	_Static_assert(sizeof(known) / sizeof(known[0]) == OPS, "in the order of ops");
	out_reduction->type = find_kind(type, &allowed);
	for (out_reduction->op = 0; out_reduction->op < OPS && known[out_reduction->op] != op;
		out_reduction->op++)
		;
	return out_reduction->type >= 0 && out_reduction->op < OPS &&
		(allowed >> out_reduction->op & 1);
}

/* --- the kernel --- */

static void name_kernel(const struct ww_mpi_reduction *reduction, char *out_name, size_t bytes)
{
	snprintf(out_name, bytes, "ww_reduce_%s_%s", kinds[reduction->type].name,
		ops[reduction->op].name);
}

static void write_module(const struct ww_mpi_reduction *reduction, char *out_text, size_t bytes)
{
	const char *name = kinds[reduction->type].name;
	const char *reg = kinds[reduction->type].reg;
	char kernel[32], operation[200];
	const char *untyped;
	const char *instruction;

	name_kernel(reduction, kernel, sizeof(kernel));
	/* The lines that combine %u and %v to %w. */
	untyped = kinds[reduction->type].untyped;
	instruction = kinds[reduction->type].is_real ? ops[reduction->op].real
						     : ops[reduction->op].integer;
	if (ops[reduction->op].is_logical)
		snprintf(operation, sizeof(operation),
			"	setp.ne.%s %%p, %%u, 0;\n	setp.ne.%s %%q, %%v, 0;\n	%s.pred %%p, %%p, %%q;\n"
			"	selp.%s %%w, 1, 0, %%p;\n",
			reg, reg, instruction, untyped);
	else
		snprintf(operation, sizeof(operation), "	%s.%s %%w, %%u, %%v;\n",
			instruction, ops[reduction->op].is_of_bits ? untyped : reg);
	snprintf(out_text, bytes,
		".version 6.0\n.target sm_50\n.address_size 64\n"
		".visible .entry %s(.param .u64 out, .param .u64 one, .param .u64 other, .param .u64 count)\n{\n"
		"	.reg .pred %%p, %%q;\n	.reg .u32 %%block, %%threads, %%thread, %%blocks;\n"
		"	.reg .u64 %%i, %%count, %%step, %%out, %%one, %%other, %%at, %%offset;\n	.reg .%s %%u, %%v, %%w;\n"
		"	ld.param.u64 %%out, [out];\n	ld.param.u64 %%one, [one];\n"
		"	ld.param.u64 %%other, [other];\n	ld.param.u64 %%count, [count];\n"
		"	mov.u32 %%block, %%ctaid.x;\n	mov.u32 %%blocks, %%nctaid.x;\n"
		"	mov.u32 %%threads, %%ntid.x;\n	mov.u32 %%thread, %%tid.x;\n"
		"	cvt.u64.u32 %%i, %%thread;\n	mul.wide.u32 %%step, %%block, %%threads;\n"
		"	add.u64 %%i, %%i, %%step;\n	mul.wide.u32 %%step, %%blocks, %%threads;\n"
		"loop:\n	setp.ge.u64 %%p, %%i, %%count;\n	@%%p bra done;\n"
		"	mul.lo.u64 %%offset, %%i, %zu;\n"
		"	add.u64 %%at, %%one, %%offset;\n	ld.global.%s %%u, [%%at];\n"
		"	add.u64 %%at, %%other, %%offset;\n	ld.global.%s %%v, [%%at];\n%s"
		"	add.u64 %%at, %%out, %%offset;\n	st.global.%s [%%at], %%w;\n"
		"	add.u64 %%i, %%i, %%step;\n	bra loop;\ndone:\n	ret;\n}\n",
		kernel, reg, kinds[reduction->type].bytes, name, name, operation,
		kinds[reduction->type].stored);
}

/* --- on a device --- */

int ww_mpi_reduce_load(const struct ww_mpi_reduction *reduction, int ordinal)
{
	struct ww_mpi_memory memory;
	struct loaded *place;
	char kernel[32], text[2500];
	int error;

	if (ordinal < 0 || ordinal >= DEVICES_MOST)
		return WW_MPI_CUDA_INVALID;
	place = &loaded[ordinal][reduction->type][reduction->op];
	ww_mpi_cuda_of(ordinal, &memory);
	if (place->context && place->context == memory.context)
		return 0;
	write_module(reduction, text, sizeof(text));
	name_kernel(reduction, kernel, sizeof(kernel));
	error = ww_mpi_cuda_load(memory.context, text, kernel, &place->kernel);
	place->context = error ? NULL : memory.context;
	return error;
}

int ww_mpi_reduce_run(const struct ww_mpi_reduction *reduction, int ordinal, void *out,
	const void *one, const void *other, size_t count)
{
	uint64_t values[4] = {(uintptr_t)out, (uintptr_t)one, (uintptr_t)other, count};
	void *arguments[4] = {&values[0], &values[1], &values[2], &values[3]};
	size_t blocks = (count + THREADS - 1) / THREADS;
	int error = ww_mpi_reduce_load(reduction, ordinal);

	for (int tries = 0; tries < 2 && !error && count; tries++) {
		struct loaded *place = &loaded[ordinal][reduction->type][reduction->op];

		error = ww_mpi_cuda_launch(place->context, place->kernel,
			blocks < BLOCKS ? (unsigned int)blocks : BLOCKS, THREADS, arguments);
		if (!ww_mpi_cuda_is_stale(error))
			break;
		/* The program has reset the context, and the module has gone with it. */
		place->context = NULL;
		error = ww_mpi_reduce_load(reduction, ordinal);
	}
	return error;
}
