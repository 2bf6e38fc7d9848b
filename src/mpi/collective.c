/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collective.c - see collective.h
 */
#include "mpi/collective.h"

#include <stdatomic.h>
#include <string.h>

#include "mpi/agree.h"
#include "mpi/call.h"
#include "mpi/direct.h"
#include "mpi/host.h"
#include "mpi/reduce.h"
#include "mpi/request.h"

/* A buffer of a call: blocks of one size, side by side. */
struct blocks {
	const void *at;
	MPI_Count count; /* elements of a block */
	MPI_Datatype type;
	int blocks;
};

struct task {
	const char *name;
	MPI_Comm comm;
	struct ww_mpi_round round;
	struct ww_mpi_buffer give;
	ww_memory *slice; /* with what this rank gives; NULL: nothing */
	struct ww_mpi_given given;
	bool is_possible; /* what this rank knows before it looks at the buffers */
	bool is_in_place;
	const struct ww_mpi_reduction *reduction; /* NULL: none is needed */
	int code;
};

static _Atomic unsigned long long direct_count;

/* --- whether to say yes --- */

static bool begin_task(struct task *task, const char *name, MPI_Comm comm)
{
	task->name = name;
	task->comm = comm;
	task->is_possible = true;
	task->is_in_place = false;
	task->reduction = NULL;
	return ww_mpi_round_begin(&task->round, comm);
}

/* What the MPI refuses is not counted, as far as it can be told. */
static bool is_valid(const struct blocks *blocks)
{
	return blocks->count >= 0 && blocks->type != MPI_DATATYPE_NULL;
}

static bool is_member(const struct task *task, int root)
{
	return root >= 0 && root < task->round.members;
}

/* Return: whether it is device memory, in one allocation. ww_mpi_buffer_fini() ends it anyway. */
static bool open_buffer(struct ww_mpi_buffer *buffer, const struct blocks *blocks, int flags)
{
	ww_mpi_buffer_init(buffer, blocks->at, flags);
	ww_mpi_shape_plain(buffer, blocks->blocks * blocks->count, blocks->type);
	return ww_mpi_buffer_find(buffer) && buffer->is_one;
}

/* Whether this rank can say yes; packs what it gives. @takers: how many members import it */
static bool prepare_task(struct task *task, const struct blocks *give, int takers,
	const struct blocks *take)
{
	struct ww_mpi_buffer buffer;
	int ordinal = -1;
	MPI_Count bytes = 0;
	bool is_good = true;

	if (take) {
		is_good = open_buffer(&buffer, take, WW_MPI_OUT);
		ordinal = buffer.memory.ordinal;
		bytes = buffer.bytes / take->blocks;
		ww_mpi_buffer_fini(&buffer);
	}
	if (is_good && give) {
		is_good = open_buffer(&task->give, give, WW_MPI_IN);
		ordinal = task->give.memory.ordinal;
		bytes = task->give.bytes / give->blocks;
	}
	if (!is_good || ordinal < 0)
		return false;
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
static bool may_be_device(const struct blocks *blocks)
{
	return !blocks ||
		(ww_mpi_type_is_named(blocks->type) && !ww_mpi_host_owns(blocks->at) &&
			ww_mpi_may_stage());
}

static void close_task(struct task *task)
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
static bool agree(struct task *task, const struct blocks *give, int takers,
	const struct blocks *take)
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
	ww_mpi_buffer_init(&task->give, NULL, 0);
	is_yes = prepare_task(task, give, takers, take);
	if (ww_mpi_round_agree(&task->round, is_yes, task->slice ? &task->given : NULL))
		return true;
	if (task->slice)
		ww_mpi_direct_take_back(&task->given.token);
	close_task(task);
	return false;
}

/* --- what the others gave --- */

/* @why: NULL: nothing failed */
static void fail(struct task *task, int member, const char *why)
{
	if (why)
		task->code = ww_mpi_error(WW_MPI_REASON_PULL,
			"warpway: %s: cannot read the data of rank %d in its device memory: %s",
			task->name, member, why);
}

/* Writes block @to of a buffer, with block @from of the @blocks_given that a member gave. */
static void take_block(struct task *task, int member, int from, int blocks_given,
	const struct blocks *blocks, int to)
{
	bool is_own = member == task->round.self;
	const struct ww_mpi_given *given = is_own ? &task->given
						  : ww_mpi_round_given(&task->round, member);
	MPI_Count block = given->bytes / blocks_given;
	struct ww_mpi_buffer buffer;
	struct ww_mpi_memory memory;
	MPI_Aint lb, extent;
	MPI_Count bytes;
	char text[200] = "";

	if (task->code != MPI_SUCCESS)
		return;
	PMPI_Type_get_extent(blocks->type, &lb, &extent);
	ww_mpi_buffer_init(&buffer, (const char *)blocks->at + to * blocks->count * extent,
		WW_MPI_OUT);
	ww_mpi_shape_plain(&buffer, blocks->count, blocks->type);
	ww_mpi_buffer_find(&buffer);
	bytes = block < buffer.bytes ? block : buffer.bytes;
	if (is_own) {
		int error;

		ww_mpi_cuda_of(task->give.memory.ordinal, &memory);
		error = ww_mpi_buffer_put(&buffer,
			(char *)ww_memory_pointer(task->slice) + from * block, bytes, &memory);
		if (error)
			ww_mpi_cuda_describe(error, text, sizeof(text));
		fail(task, member, error ? text : NULL);
	} else {
		fail(task, member,
			ww_mpi_direct_take(&buffer, buffer.memory.ordinal, &given->token,
				from * block, bytes, text, sizeof(text)));
	}
	if (block > buffer.bytes && task->code == MPI_SUCCESS)
		task->code = MPI_ERR_TRUNCATE;
	ww_mpi_buffer_fini(&buffer);
}

/*
 * Return: what a member gave, to be read by a device of this rank, with a reference; NULL: the task
 * has failed
 */
static ww_memory *map_given(struct task *task, int member, int ordinal, MPI_Count bytes)
{
	const struct ww_mpi_given *given;
	const char *why = NULL;
	ww_memory *slice;

	if (member == task->round.self)
		return ww_memory_ref(task->slice);
	given = ww_mpi_round_given(&task->round, member);
	slice = given->bytes >= bytes ? ww_mpi_direct_map(ordinal, &given->token, bytes, &why)
				      : NULL;
	fail(task, member,
		slice         ? NULL
			: why ? why
			      : "it gave fewer bytes than are to be received");
	return slice;
}

/*
 * The buffer becomes what all members gave, combined in the order of their ranks: the same bits in
 * all that do so.
 */
static void combine(struct task *task, const struct blocks *blocks)
{
	struct ww_mpi_buffer buffer;
	void *out = (void *)blocks->at;
	ww_memory *first, *other;
	int ordinal;

	open_buffer(&buffer, blocks, WW_MPI_OUT);
	ordinal = buffer.memory.ordinal;
	first = map_given(task, 0, ordinal, buffer.bytes);
	for (int i = 1; i < task->round.members && task->code == MPI_SUCCESS; i++) {
		char text[200];
		int error;

		other = map_given(task, i, ordinal, buffer.bytes);
		if (!other)
			break;
		error = ww_mpi_reduce_run(task->reduction, ordinal, out,
			i == 1 ? ww_memory_pointer(first) : out, ww_memory_pointer(other),
			(size_t)blocks->count);
		ww_memory_unref(other);
		if (error)
			ww_mpi_cuda_describe(error, text, sizeof(text));
		fail(task, i, error ? text : NULL);
	}
	ww_memory_unref(first);
	ww_mpi_buffer_fini(&buffer);
}

static bool finish_task(struct task *task, int *code)
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
	const struct blocks blocks = {at, count, type, 1};
	struct task task;
	bool is_root;

	if (!begin_task(&task, "MPI_Bcast", comm) || !is_member(&task, root) || !is_valid(&blocks))
		return false;
	is_root = task.round.self == root;
	if (!agree(&task, is_root ? &blocks : NULL, task.round.members - 1,
		    is_root ? NULL : &blocks))
		return false;
	if (!is_root)
		take_block(&task, root, 0, 1, &blocks, 0);
	return finish_task(&task, code);
}

bool ww_mpi_collective_Gather(const void *send, MPI_Count send_count, MPI_Datatype send_type,
	void *receive, MPI_Count receive_count, MPI_Datatype receive_type, int root, MPI_Comm comm,
	int *code)
{
	const struct blocks give = {send, send_count, send_type, 1};
	struct blocks take = {receive, receive_count, receive_type, 1};
	struct task task;
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
			take_block(&task, i, 0, 1, &take, i);
	}
	/* Nobody imports the root's own block. */
	if (is_root && task.slice)
		ww_mpi_direct_take_back(&task.given.token);
	return finish_task(&task, code);
}

bool ww_mpi_collective_Scatter(const void *send, MPI_Count send_count, MPI_Datatype send_type,
	void *receive, MPI_Count receive_count, MPI_Datatype receive_type, int root, MPI_Comm comm,
	int *code)
{
	struct blocks give = {send, send_count, send_type, 1};
	const struct blocks take = {receive, receive_count, receive_type, 1};
	struct task task;
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
		take_block(&task, root, task.round.self, task.round.members, &take, 0);
	return finish_task(&task, code);
}

/* Each member gives to all. @one: one block, which all get; else each gets one of its own */
static bool exchange(const char *name, MPI_Comm comm, struct blocks give, struct blocks take,
	bool one, int *code)
{
	struct task task;
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
			take_block(&task, i, one ? 0 : round->self, give.blocks, &take, i);
	}
	return finish_task(&task, code);
}

bool ww_mpi_collective_Allgather(const void *send, MPI_Count send_count, MPI_Datatype send_type,
	void *receive, MPI_Count receive_count, MPI_Datatype receive_type, MPI_Comm comm, int *code)
{
	return exchange("MPI_Allgather", comm, (struct blocks){send, send_count, send_type, 0},
		(struct blocks){receive, receive_count, receive_type, 0}, true, code);
}

bool ww_mpi_collective_Alltoall(const void *send, MPI_Count send_count, MPI_Datatype send_type,
	void *receive, MPI_Count receive_count, MPI_Datatype receive_type, MPI_Comm comm, int *code)
{
	return exchange("MPI_Alltoall", comm, (struct blocks){send, send_count, send_type, 0},
		(struct blocks){receive, receive_count, receive_type, 0}, false, code);
}

/* @takes: whether this rank gets the result; @is_rooted: no other one does */
static bool reduce(struct task *task, const void *send, void *receive, MPI_Count count,
	MPI_Datatype type, MPI_Op op, bool takes, bool is_rooted, int *code)
{
	const struct blocks give = {send == MPI_IN_PLACE ? receive : send, count, type, 1};
	const struct blocks take = {receive, count, type, 1};
	struct ww_mpi_reduction reduction;

	if (!is_valid(&give) || op == MPI_OP_NULL)
		return false;
	task->is_possible = ww_mpi_reduce_find(type, op, &reduction);
	task->reduction = &reduction;
	task->is_in_place = send == MPI_IN_PLACE;
	if (!agree(task, &give, is_rooted ? 1 : task->round.members - 1, takes ? &take : NULL))
		return false;
	if (takes)
		combine(task, &take);
	if (takes && is_rooted)
		ww_mpi_direct_take_back(&task->given.token); /* nobody imports it */
	return finish_task(task, code);
}

bool ww_mpi_collective_Allreduce(const void *send, void *receive, MPI_Count count,
	MPI_Datatype type, MPI_Op op, MPI_Comm comm, int *code)
{
	struct task task;

	return begin_task(&task, "MPI_Allreduce", comm) &&
		reduce(&task, send, receive, count, type, op, true, false, code);
}

bool ww_mpi_collective_Reduce(const void *send, void *receive, MPI_Count count, MPI_Datatype type,
	MPI_Op op, int root, MPI_Comm comm, int *code)
{
	struct task task;

	return begin_task(&task, "MPI_Reduce", comm) && is_member(&task, root) &&
		reduce(&task, send, receive, count, type, op, task.round.self == root, true, code);
}
