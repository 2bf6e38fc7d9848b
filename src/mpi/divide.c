/* SPDX-License-Identifier: Apache-2.0 */
/*
 * divide.c - see divide.h
 */
#include "mpi/divide.h"

#include <stdlib.h>

#include "mpi/next.h"
#include "mpi/settings.h"

#define DIVIDED_BYTES (1 << 20) /* an MPI_Allreduce() of so many is divided */
#define UNIT          512       /* where a part of an MPI_Bcast() begins */

/* --- MPI_Allreduce() --- */

bool ww_mpi_is_divided(const struct ww_mpi_task *task)
{
	MPI_Count bytes = ww_mpi_task_given(task, 0)->bytes;

	for (int i = 1; i < task->round.members; i++) {
		if (ww_mpi_task_given(task, i)->bytes != bytes)
			return false;
	}
	return task->round.members > 2 && bytes >= DIVIDED_BYTES;
}

/* What a member gave, mapped here. */
struct mapped {
	ww_memory *slice;
};

/* An MPI_Allreduce() whose parts are combined each by one member. */
struct division {
	const struct ww_mpi_blocks *blocks; /* the buffer that gets the result */
	int ordinal;                        /* the device that it is on */
	MPI_Count size;                     /* of an element */
	struct mapped *given;               /* what each member gave */
};

/* The part of a member: elements of the result. */
static MPI_Count part_start(const struct ww_mpi_task *task, const struct division *division,
	int member)
{
	return division->blocks->count / task->round.members * member;
}

static MPI_Count part_count(const struct ww_mpi_task *task, const struct division *division,
	int member)
{
	return member < task->round.members - 1
		? division->blocks->count / task->round.members
		: division->blocks->count - part_start(task, division, member);
}

static char *part_at(const struct ww_mpi_task *task, const struct division *division,
	const void *start, int member)
{
	return (char *)start + part_start(task, division, member) * division->size;
}

/*
 * Combines this rank's part of what all gave, from its own on, so that no two members read of the
 * same one at a time. The result replaces the part in its own slice, which other ranks read
 * only after all have met.
 */
static void combine_part(struct ww_mpi_task *task, const struct division *division)
{
	int self = task->round.self, members = task->round.members;
	char *own;

	if (task->code != MPI_SUCCESS)
		return;
	own = part_at(task, division, ww_memory_pointer(division->given[self].slice), self);
	for (int i = 1; i < members && task->code == MPI_SUCCESS; i++) {
		int member = (self + i) % members;
		char text[200];
		int error = ww_mpi_reduce_run(task->reduction, division->ordinal, own, own,
			part_at(task, division, ww_memory_pointer(division->given[member].slice),
				self),
			(size_t)part_count(task, division, self));

		if (error)
			ww_mpi_cuda_describe(error, text, sizeof(text));
		ww_mpi_task_fail(task, member, error ? text : NULL);
	}
}

/* Copies the part that a member has combined to the result. */
static void take_combined(struct ww_mpi_task *task, const struct division *division, int member)
{
	const void *from = ww_memory_pointer(division->given[member].slice);
	MPI_Count count = part_count(task, division, member);
	struct ww_mpi_buffer buffer;
	struct ww_mpi_memory memory;
	char text[200];
	int error;

	ww_mpi_buffer_init(&buffer, part_at(task, division, division->blocks->at, member),
		WW_MPI_OUT);
	ww_mpi_shape_plain(&buffer, count, division->blocks->type);
	ww_mpi_buffer_find(&buffer);
	ww_mpi_cuda_of(division->ordinal, &memory);
	error = ww_mpi_buffer_put(&buffer, part_at(task, division, from, member),
		count * division->size, &memory);
	if (error)
		ww_mpi_cuda_describe(error, text, sizeof(text));
	ww_mpi_task_fail(task, member, error ? text : NULL);
	ww_mpi_buffer_fini(&buffer);
}

/* Each begins with itself, so that all links work. */
void ww_mpi_combine_divided(struct ww_mpi_task *task, const struct ww_mpi_blocks *blocks)
{
	int members = task->round.members, self = task->round.self;
	struct division division = {
		.blocks = blocks,
		.ordinal = task->take_ordinal,
		.size = task->given.bytes / blocks->count,
		.given = calloc((size_t)members, sizeof(*division.given)),
	};
	int failed;

	if (!division.given) {
		ww_mpi_task_fail(task, self, "out of memory");
		ww_mpi_round_meet(&task->round, false);
		return;
	}
	for (int i = 0; i < members && task->code == MPI_SUCCESS; i++)
		division.given[i].slice = ww_mpi_task_map(task, i, division.ordinal,
			task->given.bytes);
	combine_part(task, &division);
	failed = ww_mpi_round_meet(&task->round, task->code == MPI_SUCCESS);
	if (failed >= 0 && task->code == MPI_SUCCESS)
		ww_mpi_task_fail(task, failed, "it has failed to combine its part, or has ended");
	for (int i = 0; i < members && task->code == MPI_SUCCESS; i++)
		take_combined(task, &division, (self + i) % members);
	for (int i = 0; i < members; i++)
		ww_memory_unref(division.given[i].slice);
	free(division.given);
}

/* --- MPI_Bcast() --- */

/* Whether there is a part for each member: who gives no bytes has no part. */
static bool has_parts(const struct ww_mpi_task *task, MPI_Count bytes)
{
	return task->round.members > 2 && bytes / task->round.members >= UNIT;
}

/* The part of a member. */
static struct ww_mpi_part spread_part(const struct ww_mpi_task *task, MPI_Count bytes, int member)
{
	MPI_Count unit = bytes / task->round.members / UNIT * UNIT;
	bool is_last = member == task->round.members - 1;

	return (struct ww_mpi_part){member * unit, is_last ? bytes - member * unit : unit};
}

bool ww_mpi_give_part(const struct ww_mpi_task *task, const struct ww_mpi_blocks *blocks,
	struct ww_mpi_blocks *out_give)
{
	MPI_Count size = 0;
	MPI_Aint lb = 0, extent = 0;
	struct ww_mpi_memory memory;
	struct ww_mpi_part part;

	if (task->round.members <= 2 || !ww_mpi_may_stage() || !ww_mpi_type_is_named(blocks->type))
		return false;
	PMPI_Type_size_x(blocks->type, &size);
	PMPI_Type_get_extent(blocks->type, &lb, &extent);
	if (lb != 0 || extent != size || size == 0 || UNIT % size ||
		!has_parts(task, blocks->count * size) ||
		blocks->count * size < (MPI_Count)ww_mpi_settings()->divided_bcast_bytes)
		return false;
	ww_mpi_cuda_find(blocks->at, &memory);
	if (!memory.is_device || !ww_mpi_round_is_apart(&task->round, memory.ordinal))
		return false;
	part = spread_part(task, blocks->count * size, task->round.self);
	*out_give = (struct ww_mpi_blocks){.at = (const char *)blocks->at + part.from,
		.count = part.bytes / size,
		.type = blocks->type,
		.blocks = 1};
	return true;
}

bool ww_mpi_is_spread(const struct ww_mpi_task *task, int root)
{
	MPI_Count bytes = ww_mpi_task_given(task, root)->bytes;

	for (int i = 0; i < task->round.members; i++) {
		if (i != root &&
			ww_mpi_task_given(task, i)->bytes != spread_part(task, bytes, i).bytes)
			return false;
	}
	return has_parts(task, bytes);
}

/* @from: the part, on this rank's device. @member: whose slice it is in */
static void copy_part(struct ww_mpi_task *task, int member, char *to, const char *from,
	MPI_Count bytes)
{
	struct ww_mpi_copies copies = {0};
	struct ww_mpi_memory memory;
	char text[200];
	int error;

	ww_mpi_cuda_of(task->take_ordinal, &memory);
	ww_mpi_copies_add(&copies, to, from, (size_t)bytes, &memory);
	error = ww_mpi_copies_end(&copies);
	if (error)
		ww_mpi_cuda_describe(error, text, sizeof(text));
	ww_mpi_task_fail(task, member, error ? text : NULL);
}

/* Copies the part of a member to the buffer, from the member's slice or the root's. */
static void take_spread(struct ww_mpi_task *task, int member, char *to, ww_memory *from_root,
	const struct ww_mpi_part *part)
{
	ww_memory *slice = NULL;
	const char *from = from_root ? (char *)ww_memory_pointer(from_root) + part->from : NULL;

	if (!from) {
		slice = ww_mpi_task_map(task, member, task->take_ordinal, part->bytes);
		from = slice ? ww_memory_pointer(slice) : NULL;
	}
	if (from)
		copy_part(task, member, to + part->from, from, part->bytes);
	ww_memory_unref(slice);
}

void ww_mpi_spread(struct ww_mpi_task *task, int root, const struct ww_mpi_blocks *blocks)
{
	char *at = (char *)blocks->at;
	MPI_Count bytes = ww_mpi_task_given(task, root)->bytes;
	int self = task->round.self, members = task->round.members, failed;
	struct ww_mpi_part part = spread_part(task, bytes, self);
	ww_memory *whole = ww_mpi_task_map(task, root, task->take_ordinal, bytes);
	MPI_Count size = 0, room;

	PMPI_Type_size_x(blocks->type, &size);
	room = blocks->count * size;
	if (whole && self != root)
		copy_part(task, root, ww_memory_pointer(task->slice),
			(char *)ww_memory_pointer(whole) + part.from, part.bytes);
	failed = ww_mpi_round_meet(&task->round, task->code == MPI_SUCCESS);
	if (failed >= 0 && task->code == MPI_SUCCESS)
		ww_mpi_task_fail(task, failed, "it has failed to copy its part, or has ended");
	/* The task fails in all members. None imports this slice, but perhaps the root's. */
	if (task->code != MPI_SUCCESS && self != root)
		ww_mpi_direct_take_back(&task->given.token);
	for (int i = 0; i < members && self != root && task->code == MPI_SUCCESS; i++) {
		int member = (self + i) % members;

		part = spread_part(task, bytes, member);
		/* Only the last part tells how long the buffer is, and it may be another rank's. */
		if (part.bytes > room - part.from)
			part.bytes = room > part.from ? room - part.from : 0;
		take_spread(task, member, at, member == root ? whole : NULL, &part);
	}
	if (self != root && bytes > room && task->code == MPI_SUCCESS)
		task->code = MPI_ERR_TRUNCATE;
	ww_memory_unref(whole);
}
