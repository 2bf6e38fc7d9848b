/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collective.c - see collective.h
 */
#include "mpi/collective.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/agree.h"
#include "mpi/direct.h"
#include "mpi/divide.h"
#include "mpi/host.h"
#include "mpi/next.h"
#include "mpi/node.h"
#include "mpi/reduce.h"
#include "mpi/request.h"
#include "mpi/task.h"

static _Atomic unsigned long long direct_count;

/* --- whether to say yes --- */

static bool begin_task(struct ww_mpi_task *task, const char *name, MPI_Comm comm)
{
	task->name = name;
	task->comm = comm;
	task->is_possible = true;
	task->is_in_place = false;
	task->reduction = NULL;
	return ww_mpi_round_begin(&task->round, comm);
}

static MPI_Count count_of(const struct ww_mpi_blocks *blocks, int block)
{
	return blocks->counts.at ? ww_mpi_number(blocks->counts, block) : blocks->count;
}

/* Where a block begins, in extents of the type. */
static MPI_Count start_of(const struct ww_mpi_blocks *blocks, int block)
{
	return blocks->counts.at ? ww_mpi_number(blocks->displs, block) : block * blocks->count;
}

/* What the MPI refuses is not counted, as far as it can be told. */
static bool is_valid(const struct ww_mpi_blocks *blocks)
{
	for (int i = 0; blocks->counts.at && i < blocks->blocks; i++) {
		if (count_of(blocks, i) < 0)
			return false;
	}
	return blocks->count >= 0 && blocks->type != MPI_DATATYPE_NULL;
}

static bool is_member(const struct ww_mpi_task *task, int root)
{
	return root >= 0 && root < task->round.members;
}

/* Return: whether it is device memory, in one allocation. ww_mpi_buffer_fini() ends it anyway. */
static bool open_buffer(struct ww_mpi_buffer *buffer, const struct ww_mpi_blocks *blocks, int flags)
{
	ww_mpi_buffer_init(buffer, blocks->at, flags);
	if (blocks->counts.at)
		ww_mpi_shape_v(buffer, blocks->blocks, blocks->counts, blocks->displs,
			blocks->type);
	else
		ww_mpi_shape_plain(buffer, blocks->blocks * blocks->count, blocks->type);
	return ww_mpi_buffer_find(buffer) && buffer->is_one;
}

/* How many bytes a buffer has for one member; blocks of any sizes count together. */
static MPI_Count bytes_of(const struct ww_mpi_buffer *buffer, const struct ww_mpi_blocks *blocks)
{
	return blocks->counts.at ? buffer->bytes : buffer->bytes / blocks->blocks;
}

/*
 * Whether this rank can say yes; packs what it gives. The device that reads what the others gave
 * reads what this rank gave, too: so the buffers must be on one device.
 * @takers: how many members import it
 */
static bool prepare_task(struct ww_mpi_task *task, const struct ww_mpi_blocks *give, int takers,
	const struct ww_mpi_blocks *take)
{
	struct ww_mpi_buffer buffer;
	int ordinal = -1;
	MPI_Count bytes = 0;
	bool is_good = true;

	if (take) {
		is_good = open_buffer(&buffer, take, WW_MPI_OUT);
		ordinal = buffer.memory.ordinal;
		bytes = bytes_of(&buffer, take);
		ww_mpi_buffer_fini(&buffer);
	}
	if (is_good && give) {
		is_good = open_buffer(&task->give, give, WW_MPI_IN) &&
			(!take || task->give.memory.ordinal == ordinal);
		ordinal = task->give.memory.ordinal;
		if (!take || bytes < bytes_of(&task->give, give))
			bytes = bytes_of(&task->give, give);
	}
	if (!is_good || ordinal < 0)
		return false;
	task->take_ordinal = ordinal;
	if (bytes >= (MPI_Count)ww_mpi_direct_least())
		ww_mpi_peer_prepare(ordinal);
	if (!ww_mpi_round_can(&task->round, ordinal, bytes))
		return false;
	if (take && task->reduction && ww_mpi_reduce_load(task->reduction, ordinal) != 0)
		return false;
	if (give) {
		task->slice = ww_mpi_direct_give(&task->give, (uint32_t)takers, &task->given.token);
		task->given.bytes = task->give.bytes;
	}
	return !give || task->slice;
}

/*
 * The driver need not be asked about memory of the heap; and nothing is asked if there is no
 * driver. A type of the program may not be committed, which the MPI refuses.
 */
static bool may_be_device(const struct ww_mpi_blocks *blocks)
{
	return !blocks ||
		(ww_mpi_type_is_named(blocks->type) && !ww_mpi_host_owns(blocks->at) &&
			ww_mpi_may_stage());
}

static void close_task(struct ww_mpi_task *task)
{
	ww_memory_unref(task->slice);
	ww_mpi_buffer_fini(&task->give);
	ww_mpi_request_progress();
	ww_mpi_depth--;
}

/*
 * Counts the collective. Return: whether all said yes; then finish_task() ends it.
 * @give, @take: NULL: this rank has no such buffer; @takers: how many members import what it gives
 */
static bool agree(struct ww_mpi_task *task, const struct ww_mpi_blocks *give, int takers,
	const struct ww_mpi_blocks *take)
{
	/* The MPI refuses one buffer for both; in place a block of the other one is given. */
	bool is_alias = give && take && give->at == take->at && !task->is_in_place;
	bool is_yes = task->is_possible && !is_alias && ww_mpi_depth == 0 && may_be_device(give) &&
		may_be_device(take);

	ww_mpi_round_count(&task->round);
	ww_mpi_depth++;
	if (!is_yes) {
		ww_mpi_round_agree(&task->round, false, NULL);
		ww_mpi_depth--;
		return false;
	}
	task->code = MPI_SUCCESS;
	task->slice = NULL;
	memset(&task->given, 0, sizeof(task->given));
	ww_mpi_buffer_init(&task->give, NULL, 0);
	is_yes = prepare_task(task, give, takers, take);
	/* Without a slice it says that there are no bytes. */
	if (ww_mpi_round_agree(&task->round, is_yes, &task->given))
		return true;
	if (task->slice)
		ww_mpi_direct_take_back(&task->given.token);
	close_task(task);
	return false;
}

/* --- what the others gave --- */

/* The n-th of @parts of one size that a member gave. */
static struct ww_mpi_part part_of(const struct ww_mpi_task *task, int member, int n, int parts)
{
	MPI_Count bytes = ww_mpi_task_given(task, member)->bytes / parts;

	return (struct ww_mpi_part){n * bytes, bytes};
}

/* Writes a block of a buffer, with a part of what a member gave. */
static void take_part(struct ww_mpi_task *task, int member, struct ww_mpi_part part,
	const struct ww_mpi_blocks *blocks, int block)
{
	struct ww_mpi_buffer buffer;
	struct ww_mpi_memory memory;
	MPI_Aint lb, extent;
	MPI_Count bytes;
	char text[200] = "";

	if (task->code != MPI_SUCCESS)
		return;
	PMPI_Type_get_extent(blocks->type, &lb, &extent);
	ww_mpi_buffer_init(&buffer, (const char *)blocks->at + start_of(blocks, block) * extent,
		WW_MPI_OUT);
	ww_mpi_shape_plain(&buffer, count_of(blocks, block), blocks->type);
	ww_mpi_buffer_find(&buffer);
	bytes = part.bytes < buffer.bytes ? part.bytes : buffer.bytes;
	if (member == task->round.self) {
		int error;

		ww_mpi_cuda_of(task->give.memory.ordinal, &memory);
		error = ww_mpi_buffer_put(&buffer,
			(char *)ww_memory_pointer(task->slice) + part.from, bytes, &memory);
		if (error)
			ww_mpi_cuda_describe(error, text, sizeof(text));
		ww_mpi_task_fail(task, member, error ? text : NULL);
	} else {
		ww_mpi_task_fail(task, member,
			ww_mpi_direct_take(&buffer, task->take_ordinal,
				&ww_mpi_task_given(task, member)->token, part.from, bytes, text,
				sizeof(text)));
	}
	if (part.bytes > buffer.bytes && task->code == MPI_SUCCESS)
		task->code = MPI_ERR_TRUNCATE;
	ww_mpi_buffer_fini(&buffer);
}

/*
 * The buffer becomes what all members gave, combined in the order of their ranks: the same bits in
 * all that do so.
 */
static void combine(struct ww_mpi_task *task, const struct ww_mpi_blocks *blocks)
{
	struct ww_mpi_buffer buffer;
	void *out = (void *)blocks->at;
	ww_memory *first, *other;
	int ordinal;

	open_buffer(&buffer, blocks, WW_MPI_OUT);
	ordinal = buffer.memory.ordinal;
	first = ww_mpi_task_map(task, 0, ordinal, buffer.bytes);
	for (int i = 1; i < task->round.members && task->code == MPI_SUCCESS; i++) {
		char text[200];
		int error;

		other = ww_mpi_task_map(task, i, ordinal, buffer.bytes);
		if (!other)
			break;
		error = ww_mpi_reduce_run(task->reduction, ordinal, out,
			i == 1 ? ww_memory_pointer(first) : out, ww_memory_pointer(other),
			(size_t)blocks->count);
		ww_memory_unref(other);
		if (error)
			ww_mpi_cuda_describe(error, text, sizeof(text));
		ww_mpi_task_fail(task, i, error ? text : NULL);
	}
	ww_memory_unref(first);
	ww_mpi_buffer_fini(&buffer);
}

static bool finish_task(struct ww_mpi_task *task, int *code)
{
	ww_mpi_round_end(&task->round);
	atomic_fetch_add(&direct_count, 1);
	close_task(task);
	*code = task->code == MPI_SUCCESS ? MPI_SUCCESS : ww_mpi_raise(task->comm, task->code);
	return true;
}

int ww_mpi_collective_done(int code)
{
	if (code != MPI_SUCCESS)
		ww_mpi_round_failed();
	return code;
}

unsigned long long ww_mpi_collective_count(void)
{
	return atomic_load(&direct_count);
}

/* --- the collectives --- */

bool ww_mpi_collective_Bcast(void *at, MPI_Count count, MPI_Datatype type, int root, MPI_Comm comm,
	int *code)
{
	const struct ww_mpi_blocks blocks = {.at = at, .count = count, .type = type, .blocks = 1};
	struct ww_mpi_blocks part;
	struct ww_mpi_task task;
	bool is_root, has_part;

	if (ww_mpi_node_Bcast(at, count, type, root, comm, code))
		return true;
	if (!begin_task(&task, "MPI_Bcast", comm) || !is_member(&task, root) || !is_valid(&blocks))
		return false;
	is_root = task.round.self == root;
	has_part = !is_root && ww_mpi_give_part(&task, &blocks, &part);
	task.is_in_place = has_part;
	if (!agree(&task,
		    is_root            ? &blocks
			    : has_part ? &part
				       : NULL,
		    task.round.members - (is_root ? 1 : 2), is_root ? NULL : &blocks))
		return false;
	if (ww_mpi_is_spread(&task, root)) {
		ww_mpi_spread(&task, root, &blocks);
		return finish_task(&task, code);
	}
	if (!is_root)
		take_part(&task, root, part_of(&task, root, 0, 1), &blocks, 0);
	if (has_part)
		ww_mpi_direct_take_back(&task.given.token); /* no rank imports it */
	return finish_task(&task, code);
}

bool ww_mpi_collective_Gather(const void *send, MPI_Count send_count, MPI_Datatype send_type,
	void *receive, MPI_Count receive_count, MPI_Datatype receive_type, int root, MPI_Comm comm,
	int *code)
{
	const struct ww_mpi_blocks give = {.at = send,
		.count = send_count,
		.type = send_type,
		.blocks = 1};
	struct ww_mpi_blocks take = {.at = receive,
		.count = receive_count,
		.type = receive_type,
		.blocks = 1};
	struct ww_mpi_task task;
	bool is_root, is_in_place;

	if (!begin_task(&task, "MPI_Gather", comm) || !is_member(&task, root))
		return false;
	take.blocks = task.round.members;
	is_root = task.round.self == root;
	is_in_place = is_root && send == MPI_IN_PLACE;
	if ((!is_in_place && !is_valid(&give)) || (is_root && !is_valid(&take)) ||
		!agree(&task, is_in_place ? NULL : &give, 1, is_root ? &take : NULL))
		return false;
	for (int i = 0; is_root && i < task.round.members; i++) {
		if (i != root || !is_in_place)
			take_part(&task, i, part_of(&task, i, 0, 1), &take, i);
	}
	/* No rank imports the root's own block. */
	if (is_root && task.slice)
		ww_mpi_direct_take_back(&task.given.token);
	return finish_task(&task, code);
}

bool ww_mpi_collective_Scatter(const void *send, MPI_Count send_count, MPI_Datatype send_type,
	void *receive, MPI_Count receive_count, MPI_Datatype receive_type, int root, MPI_Comm comm,
	int *code)
{
	struct ww_mpi_blocks give = {.at = send,
		.count = send_count,
		.type = send_type,
		.blocks = 1};
	const struct ww_mpi_blocks take = {.at = receive,
		.count = receive_count,
		.type = receive_type,
		.blocks = 1};
	struct ww_mpi_task task;
	bool is_root, is_in_place;

	if (!begin_task(&task, "MPI_Scatter", comm) || !is_member(&task, root))
		return false;
	give.blocks = task.round.members;
	is_root = task.round.self == root;
	is_in_place = is_root && receive == MPI_IN_PLACE;
	if ((is_root && !is_valid(&give)) || (!is_in_place && !is_valid(&take)) ||
		!agree(&task, is_root ? &give : NULL, task.round.members - 1,
			is_in_place ? NULL : &take))
		return false;
	if (!is_in_place)
		take_part(&task, root, part_of(&task, root, task.round.self, task.round.members),
			&take, 0);
	return finish_task(&task, code);
}

/* Each member gives to all. @one: one block, which all get; else each gets one of its own */
static bool exchange(const char *name, MPI_Comm comm, struct ww_mpi_blocks give,
	struct ww_mpi_blocks take, bool one, int *code)
{
	struct ww_mpi_task task;
	const struct ww_mpi_round *round = &task.round;
	bool is_in_place = give.at == MPI_IN_PLACE;
	MPI_Aint lb, extent;

	if (!begin_task(&task, name, comm) || !is_valid(&take) ||
		(!is_in_place && !is_valid(&give)))
		return false;
	task.is_in_place = is_in_place;
	if (is_in_place) {
		give = take;
		PMPI_Type_get_extent(take.type, &lb, &extent);
		if (one)
			give.at = (const char *)take.at + round->self * take.count * extent;
	}
	give.blocks = one ? 1 : round->members;
	take.blocks = round->members;
	if (!agree(&task, &give, round->members - 1, &take))
		return false;
	for (int i = 0; i < round->members; i++) {
		if (i != round->self || !is_in_place)
			take_part(&task, i, part_of(&task, i, one ? 0 : round->self, give.blocks),
				&take, i);
	}
	return finish_task(&task, code);
}

bool ww_mpi_collective_Allgather(const void *send, MPI_Count send_count, MPI_Datatype send_type,
	void *receive, MPI_Count receive_count, MPI_Datatype receive_type, MPI_Comm comm, int *code)
{
	return exchange("MPI_Allgather", comm,
		(struct ww_mpi_blocks){.at = send, .count = send_count, .type = send_type},
		(struct ww_mpi_blocks){.at = receive, .count = receive_count, .type = receive_type},
		true, code);
}

bool ww_mpi_collective_Alltoall(const void *send, MPI_Count send_count, MPI_Datatype send_type,
	void *receive, MPI_Count receive_count, MPI_Datatype receive_type, MPI_Comm comm, int *code)
{
	return exchange("MPI_Alltoall", comm,
		(struct ww_mpi_blocks){.at = send, .count = send_count, .type = send_type},
		(struct ww_mpi_blocks){.at = receive, .count = receive_count, .type = receive_type},
		false, code);
}

static bool is_empty(const struct ww_mpi_blocks *blocks)
{
	for (int i = 0; i < blocks->blocks; i++) {
		if (count_of(blocks, i) > 0)
			return false;
	}
	return true;
}

/* All said yes. Members tell each other where the blocks are that they have for each other. */
static void take_parts(struct ww_mpi_task *task, const struct ww_mpi_part *own,
	struct ww_mpi_part *theirs, const struct ww_mpi_blocks *take)
{
	task->code = WW_MPI_REAL(Alltoall)(own, sizeof(*own), MPI_BYTE, theirs, sizeof(*theirs),
		MPI_BYTE, task->comm);
	for (int i = 0; i < task->round.members && task->code == MPI_SUCCESS; i++) {
		if (theirs[i].bytes > 0)
			take_part(task, i, theirs[i], take, i);
	}
}

bool ww_mpi_collective_alltoallv(const void *send, struct ww_mpi_numbers send_counts,
	struct ww_mpi_numbers send_displs, MPI_Datatype send_type, void *receive,
	struct ww_mpi_numbers receive_counts, struct ww_mpi_numbers receive_displs,
	MPI_Datatype receive_type, MPI_Comm comm, int *code)
{
	struct ww_mpi_blocks give = {send, 0, send_type, 0, send_counts, send_displs};
	struct ww_mpi_blocks take = {receive, 0, receive_type, 0, receive_counts, receive_displs};
	struct ww_mpi_part *parts = NULL;
	struct ww_mpi_task task;
	int takers = 0;
	bool is_direct = false;

	if (!begin_task(&task, "MPI_Alltoallv", comm))
		return false;
	give.blocks = task.round.members;
	take.blocks = task.round.members;
	if (!is_valid(&take) || (send != MPI_IN_PLACE && !is_valid(&give)))
		return false;
	if (send != MPI_IN_PLACE)
		parts = calloc((size_t)give.blocks * 2, sizeof(*parts));
	task.is_possible = parts != NULL;
	if (parts) {
		MPI_Count from = 0;
		MPI_Count size = 0;

		/* The blocks of a member lie in what it gives one after the other. */
		PMPI_Type_size_x(give.type, &size);
		for (int i = 0; i < give.blocks; i++) {
			parts[i] = (struct ww_mpi_part){from, count_of(&give, i) * size};
			from += parts[i].bytes;
			takers += i != task.round.self && parts[i].bytes > 0;
		}
	}
	is_direct = agree(&task, parts && !is_empty(&give) ? &give : NULL, takers ? takers : 1,
		is_empty(&take) ? NULL : &take);
	/* Without parts this rank has said no. */
	if (is_direct && parts) {
		take_parts(&task, parts, parts + give.blocks, &take);
		if (task.slice && !takers)
			ww_mpi_direct_take_back(&task.given.token);
	}
	free(parts);
	return is_direct && finish_task(&task, code);
}

/* @takes: whether this rank gets the result; @is_rooted: no other one does */
static bool reduce(struct ww_mpi_task *task, const void *send, void *receive, MPI_Count count,
	MPI_Datatype type, MPI_Op op, bool takes, bool is_rooted, int *code)
{
	const struct ww_mpi_blocks give = {.at = send == MPI_IN_PLACE ? receive : send,
		.count = count,
		.type = type,
		.blocks = 1};
	const struct ww_mpi_blocks take = {.at = receive,
		.count = count,
		.type = type,
		.blocks = 1};
	struct ww_mpi_reduction reduction;

	if (!is_valid(&give) || op == MPI_OP_NULL)
		return false;
	task->is_possible = ww_mpi_reduce_find(type, op, &reduction);
	task->reduction = &reduction;
	task->is_in_place = send == MPI_IN_PLACE;
	if (!agree(task, &give, is_rooted ? 1 : task->round.members - 1, takes ? &take : NULL))
		return false;
	if (takes && !is_rooted && ww_mpi_is_divided(task))
		ww_mpi_combine_divided(task, &take);
	else if (takes)
		combine(task, &take);
	if (takes && is_rooted)
		ww_mpi_direct_take_back(&task->given.token); /* no rank imports it */
	return finish_task(task, code);
}

bool ww_mpi_collective_Allreduce(const void *send, void *receive, MPI_Count count,
	MPI_Datatype type, MPI_Op op, MPI_Comm comm, int *code)
{
	struct ww_mpi_task task;

	return ww_mpi_node_Allreduce(send, receive, count, type, op, comm, code) ||
		(begin_task(&task, "MPI_Allreduce", comm) &&
			reduce(&task, send, receive, count, type, op, true, false, code));
}

bool ww_mpi_collective_Reduce(const void *send, void *receive, MPI_Count count, MPI_Datatype type,
	MPI_Op op, int root, MPI_Comm comm, int *code)
{
	struct ww_mpi_task task;

	return begin_task(&task, "MPI_Reduce", comm) && is_member(&task, root) &&
		reduce(&task, send, receive, count, type, op, task.round.self == root, true, code);
}
