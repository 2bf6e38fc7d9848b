/* SPDX-License-Identifier: Apache-2.0 */
/*
 * share.c - warpway/mpi.h: memories and timelines that all ranks of a node have
 *
 * The ranks of a node send each other tokens by the MPI. After each step all ranks of the
 * communicator tell each other whether they could do it, so that a call fails in all or in none.
 * All get the text of the first rank that failed.
 */
#include <warpway/mpi.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/call.h"
#include "mpi/collective.h"
#include "mpi/direct.h"
#include "mpi/error.h"
#include "mpi/next.h"
#include "mpi/node.h"
#include "mpi/staging.h"
#include "mpi/support.h"

/* What a rank tells the others of its node. */
struct offer {
	size_t bytes; /* of this */
	int rank;     /* in the communicator */
	int has_token;
	struct ww_token token;
};

/* One collective call in this process. */
struct shared {
	const char *call;
	MPI_Comm comm;
	int rank;
	int ranks;
	int offer_count; /* ranks of this node */
	struct offer *offers;
	char problem[MPI_MAX_ERROR_STRING]; /* of this rank; empty: none */
	bool is_raised_later;               /* the code is ours: no error handler has got it */
};

__attribute__((format(printf, 2, 3))) static void set_problem(struct shared *shared,
	const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(shared->problem, sizeof(shared->problem), format, arguments);
	va_end(arguments);
}

/* A call of libwarpway failed. */
static void set_problem_of_last_call(struct shared *shared)
{
	set_problem(shared, "warpway: %s: rank %d: %s", shared->call, shared->rank,
		ww_error_last()->message);
}

/*
 * Return: MPI_SUCCESS if no rank has a problem; else a code. Of the MPI's codes the MPI has called
 * the error handler.
 */
static int agree(struct shared *shared)
{
	struct {
		int is_good;
		int rank;
	} mine = {!shared->problem[0], shared->rank}, first;
	int code;

	code = WW_MPI_REAL(Allreduce)(&mine, &first, 1, MPI_2INT, MPI_MINLOC, shared->comm);
	if (code != MPI_SUCCESS || first.is_good)
		return code;
	code = WW_MPI_REAL(
		Bcast)(shared->problem, MPI_MAX_ERROR_STRING, MPI_CHAR, first.rank, shared->comm);
	if (code != MPI_SUCCESS)
		return code;
	shared->is_raised_later = true;
	return ww_mpi_error(WW_MPI_REASON_SHARE, "%s", shared->problem);
}

static int open_shared(struct shared *shared, const char *call, MPI_Comm comm)
{
	int code;

	memset(shared, 0, sizeof(*shared));
	shared->call = call;
	shared->comm = comm;
	code = PMPI_Comm_rank(comm, &shared->rank);
	return code == MPI_SUCCESS ? PMPI_Comm_size(comm, &shared->ranks) : code;
}

/*
 * Every rank gets the offers of its node. A rank without memory for them still takes part in all
 * calls, as the others wait for it.
 */
static int gather_offers(struct shared *shared, const struct offer *mine)
{
	MPI_Comm node;
	int code;

	code = ww_mpi_node_split(shared->comm, &node);
	if (code != MPI_SUCCESS)
		return code;
	PMPI_Comm_size(node, &shared->offer_count);
	shared->offers = calloc((size_t)shared->offer_count, sizeof(*shared->offers));
	if (!shared->offers)
		set_problem(shared, "warpway: %s: rank %d: no memory for %d tokens", shared->call,
			shared->rank, shared->offer_count);
	code = agree(shared);
	if (code == MPI_SUCCESS)
		code = WW_MPI_REAL(Allgather)(mine, sizeof(*mine), MPI_BYTE, shared->offers,
			sizeof(*mine), MPI_BYTE, node);
	PMPI_Comm_free(&node);
	for (int i = 0; i < shared->offer_count && code == MPI_SUCCESS; i++) {
		const struct offer *offer = &shared->offers[i];

		if (offer->rank < 0 || offer->rank >= shared->ranks ||
			offer->bytes != sizeof(*offer))
			set_problem(shared,
				"warpway: %s: rank %d: another rank of the node has another version of "
				"the library",
				shared->call, shared->rank);
	}
	return code == MPI_SUCCESS ? agree(shared) : code;
}

static void close_shared(struct shared *shared)
{
	free(shared->offers);
}

/* --- memories --- */

static void import_memories(struct shared *shared, ww_device *device, ww_memory *memory,
	const struct ww_mpi_share_params *params, ww_memory **out_memories,
	struct ww_array *out_arrays)
{
	const struct ww_import_params how = {.struct_size = sizeof(how), .access = params->access};

	for (int i = 0; i < shared->offer_count && !shared->problem[0]; i++) {
		const struct offer *offer = &shared->offers[i];
		struct ww_token_info info = WW_INIT(struct ww_token_info);

		if (!offer->has_token)
			continue;
		if (offer->rank == shared->rank)
			out_memories[offer->rank] = ww_memory_ref(memory);
		else if (ww_memory_import(device, params->broker, &offer->token, &how, NULL,
				 &out_memories[offer->rank], NULL) < 0)
			set_problem_of_last_call(shared);
		if (out_arrays && ww_token_info_get(&offer->token, &info) == WW_OK &&
			info.has_array)
			out_arrays[offer->rank] = info.array;
	}
}

static int share_memories(struct shared *shared, ww_device *device, ww_memory *memory,
	const struct ww_mpi_share_params *params, ww_memory **out_memories,
	struct ww_array *out_arrays)
{
	struct offer mine = {.bytes = sizeof(mine), .rank = shared->rank};
	int code;

	if (memory && !shared->problem[0]) {
		/* This process holds the memory until all ranks have it. */
		const struct ww_export_params how = {
			.struct_size = sizeof(how),
			.access = params->access,
			.escrow_ns = WW_ESCROW_NONE,
			.array = params->array,
		};

		if (ww_memory_export(memory, params->broker, &how, NULL, &mine.token) < 0)
			set_problem_of_last_call(shared);
		else
			mine.has_token = 1;
	}
	code = agree(shared);
	if (code == MPI_SUCCESS)
		code = gather_offers(shared, &mine);
	if (code != MPI_SUCCESS)
		return code;
	import_memories(shared, device, memory, params, out_memories, out_arrays);
	return agree(shared);
}

int ww_mpi_share(MPI_Comm comm, ww_device *device, ww_memory *memory,
	const struct ww_mpi_share_params *params, ww_memory **out_memories,
	struct ww_array *out_arrays)
{
	struct ww_mpi_share_params own = WW_INIT(struct ww_mpi_share_params);
	struct shared shared;
	int code;

	ww_mpi_depth++;
	code = open_shared(&shared, "ww_mpi_share", comm);
	if (code == MPI_SUCCESS) {
		const char *bytes;
		size_t end;

		memset(out_memories, 0, (size_t)shared.ranks * sizeof(ww_memory *));
		if (out_arrays)
			memset(out_arrays, 0, (size_t)shared.ranks * sizeof(*out_arrays));
		/*
		 * A program that was made with a later version may have more fields; they must be
		 * zero.
		 */
		bytes = (const char *)params;
		end = sizeof(*params);
		while (params && end < params->struct_size && !bytes[end])
			end++;
		if (params && params->struct_size != end)
			set_problem(&shared,
				"warpway: %s: rank %d: struct_size of the params is not set, or a field is "
				"unknown to this version: use WW_PARAMS()",
				shared.call, shared.rank);
		else if (params)
			own = *params;
		if (!own.access)
			own.access = WW_ACCESS_READ;
		code = share_memories(&shared, device, memory, &own, out_memories, out_arrays);
		for (int i = 0; code != MPI_SUCCESS && i < shared.ranks; i++)
			out_memories[i] = ww_memory_unref(out_memories[i]);
	}
	close_shared(&shared);
	ww_mpi_depth--;
	return shared.is_raised_later ? ww_mpi_raise(comm, code) : code;
}

/* --- timelines --- */

static int share_timelines(struct shared *shared, ww_broker *broker, ww_timeline **out_timelines)
{
	struct offer mine = {.bytes = sizeof(mine), .rank = shared->rank};
	int code;
	const struct ww_token_params how = {.struct_size = sizeof(how),
		.escrow_ns = WW_ESCROW_NONE};

	if (ww_timeline_create(NULL, &out_timelines[shared->rank]) < 0 ||
		ww_timeline_export(out_timelines[shared->rank], broker, &how, NULL, &mine.token) <
			0)
		set_problem_of_last_call(shared);
	else
		mine.has_token = 1;
	code = agree(shared);
	if (code == MPI_SUCCESS)
		code = gather_offers(shared, &mine);
	if (code != MPI_SUCCESS)
		return code;
	for (int i = 0; i < shared->offer_count && !shared->problem[0]; i++) {
		const struct offer *offer = &shared->offers[i];

		if (offer->rank != shared->rank &&
			ww_timeline_import(broker, &offer->token, NULL,
				&out_timelines[offer->rank]) < 0)
			set_problem_of_last_call(shared);
	}
	return agree(shared);
}

int ww_mpi_timelines(MPI_Comm comm, ww_broker *broker, ww_timeline **out_timelines)
{
	struct shared shared;
	int code;

	ww_mpi_depth++;
	code = open_shared(&shared, "ww_mpi_timelines", comm);
	if (code == MPI_SUCCESS) {
		memset(out_timelines, 0, (size_t)shared.ranks * sizeof(ww_timeline *));
		code = share_timelines(&shared, broker, out_timelines);
		for (int i = 0; code != MPI_SUCCESS && i < shared.ranks; i++)
			out_timelines[i] = ww_timeline_unref(out_timelines[i]);
	}
	close_shared(&shared);
	ww_mpi_depth--;
	return shared.is_raised_later ? ww_mpi_raise(comm, code) : code;
}

/* --- what was done --- */

int ww_mpi_info_get(struct ww_mpi_info *info)
{
	struct ww_mpi_info own = {.passes_through = ww_mpi_passes_through()};
	uint32_t bytes = info->struct_size;
	struct ww_mpi_direct_volume direct;
	struct ww_mpi_volume volume;
	size_t used, most, bound;

	if (bytes < sizeof(own))
		return MPI_ERR_ARG;
	ww_mpi_volume_get(&volume);
	ww_mpi_staging_state(&used, &most, &bound);
	own.staged_buffers = volume.buffers;
	own.bytes_from_device = volume.bytes_in;
	own.bytes_to_device = volume.bytes_out;
	own.staging_bytes = used;
	own.staging_bytes_most = most;
	own.staging_bytes_limit = bound;
	ww_mpi_direct_volume_get(&direct);
	own.direct_sent = direct.sent;
	own.direct_sent_bytes = direct.sent_bytes;
	own.direct_received = direct.received;
	own.direct_received_bytes = direct.received_bytes;
	own.direct_collectives = ww_mpi_collective_count();
	own.takes_direct = ww_mpi_is_announced();
	memset(info, 0, bytes);
	memcpy(info, &own, sizeof(own));
	info->struct_size = bytes;
	return MPI_SUCCESS;
}
