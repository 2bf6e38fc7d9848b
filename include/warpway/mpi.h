/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warpway/mpi.h - memories and timelines that all ranks of a node share; what MPI calls cost
 *
 * This header is for MPI programs that are linked with libwarpway and with the library for their
 * MPI, libwarpway_mpi_openmpi or libwarpway_mpi_mpich (docs/tutorial/mpi.md). <mpi.h> must be that
 * of the same MPI.
 *
 *   ww_memory *buffers[RANKS];                                        one for each rank of the job
 *   ww_mpi_share(MPI_COMM_WORLD, device, memory, NULL, buffers, NULL);
 *   ... buffers[peer] is the memory of rank peer, mapped here; NULL if peer is on another node
 *
 * These calls return MPI codes, and call the communicator's error handler when they fail, as MPI
 * calls do. The code's class is that of libwarpway_mpi, and its text (MPI_Error_string()) says
 * which rank failed, and why. A collective call fails in all ranks of the communicator or in none.
 * The MPI waits for other ranks, so this wait has no time limit.
 *
 * Threads: every function may be called from any thread that may call the MPI; as for every
 *          collective, one call at a time on one communicator.
 */
#ifndef WARPWAY_MPI_H
#define WARPWAY_MPI_H

#include <mpi.h>

#include <warpway/broker.h>
#include <warpway/memory.h>
#include <warpway/timeline.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct ww_mpi_share_params - how a memory is shared
 * @struct_size:  sizeof(struct ww_mpi_share_params)
 * @access:       WW_ACCESS_READ or WW_ACCESS_WRITE: how each rank maps the memories of the others;
 *                the same in all ranks; 0: read
 * @broker:       borrowed; NULL: the default one
 * @array:        borrowed; how an array lies in the memory; NULL: just bytes
 */
struct ww_mpi_share_params {
	uint32_t struct_size;
	uint32_t access;
	ww_broker *broker;
	const struct ww_array *array;
};

/**
 * ww_mpi_share() - every rank of a node maps the memory of every other rank; collective
 * @comm:          an intracommunicator
 * @device:        borrowed; the device that shall reach the memories
 * @memory:        borrowed; this rank's memory: created, wrapped, or a slice of a pool; NULL: this
 *                 rank has none, and only gets the memories of the other ranks
 * @params:        borrowed; NULL: for reading, just bytes
 * @out_memories:  the caller's, one for each rank of @comm; a memory to be released with
 *                 ww_memory_unref(). The entry of this rank is @memory with one more reference.
 *                 NULL for a rank on another node, or without a memory. All NULL on failure
 * @out_arrays:    the caller's, one for each rank of @comm; how the array of a rank lies in
 *                 out_memories; all bytes zero if the rank gave no array, or has no memory here.
 *                 May be NULL
 *
 * Wrapped memory ends with the process that wrapped it. Other memory ends with its last reference
 * in any rank. May block: until all ranks of @comm have called it, and for some round trips to the
 * broker for each rank of the node.
 *
 * Return: MPI_SUCCESS; the code of an MPI call that failed; a code of libwarpway_mpi's class: a
 *         rank could not export its memory (ww_memory_export()), or could not import the memory of
 *         another rank (ww_memory_import()), or its params are invalid.
 */
WW_API int ww_mpi_share(MPI_Comm comm, ww_device *device, ww_memory *memory,
	const struct ww_mpi_share_params *params, ww_memory **out_memories,
	struct ww_array *out_arrays);

/**
 * ww_mpi_timelines() - every rank of a node gets a timeline of each of these ranks; collective
 * @comm:           an intracommunicator
 * @broker:         borrowed; NULL: the default one
 * @out_timelines:  the caller's, one for each rank of @comm, to be released with
 *                  ww_timeline_unref(). The timeline of this rank is new, and this process signals
 *                  it; the others are for waiting. NULL for a rank on another node. All NULL on
 *                  failure
 *
 * If a rank ends, all waits for its timeline end, also those of streams. A wait on the CPU returns
 * WW_ERR_PEER_LOST. After a wait of a stream, the next call with this stream returns it
 * (timeline.h). May block: as ww_mpi_share().
 *
 * Return: as ww_mpi_share(), with ww_timeline_export() and ww_timeline_import().
 */
WW_API int ww_mpi_timelines(MPI_Comm comm, ww_broker *broker, ww_timeline **out_timelines);

/**
 * struct ww_mpi_info - what MPI calls with device memory did in this process since it began
 * @struct_size:       set by the caller to sizeof(struct ww_mpi_info)
 * @passes_through:    1: the MPI supports device memory itself, and gets the device pointers
 * @staged_buffers:    number of buffers that were replaced by host memory
 * @bytes_from_device: bytes copied from devices to that host memory
 * @bytes_to_device:   bytes copied from that host memory to devices
 * @staging_bytes:     bytes of that host memory that are in use now
 * @staging_bytes_most:  the most bytes that were in use at once
 * @staging_bytes_limit: the most bytes of it that are pinned (WARPWAY_MPI_STAGING); what is in use
 *                     beyond that is ordinary memory
 * @direct_sent:       messages whose data went from device memory to device memory, or to a host
 *                     buffer of another rank, without staging
 * @direct_sent_bytes: bytes of data in these messages
 * @direct_received:   messages that came by that route
 * @direct_received_bytes: bytes of data in these messages
 * @direct_collectives: collectives in which no data was staged; a hierarchical collective counts
 *                     with its steps inside the node
 * @takes_direct:      1: this rank takes messages by that route; it may begin to take them at any
 *                     call
 * @reserved:          0
 */
struct ww_mpi_info {
	uint32_t struct_size;
	uint32_t passes_through;
	uint64_t staged_buffers;
	uint64_t bytes_from_device;
	uint64_t bytes_to_device;
	uint64_t staging_bytes;
	uint64_t staging_bytes_most;
	uint64_t staging_bytes_limit;
	uint64_t direct_sent;
	uint64_t direct_sent_bytes;
	uint64_t direct_received;
	uint64_t direct_received_bytes;
	uint64_t direct_collectives;
	uint32_t takes_direct;
	uint32_t reserved;
};

/**
 * ww_mpi_info_get() - what MPI calls with device memory did in this process
 * @info:  the caller's, with struct_size set; filled on success
 *
 * The MPI must be initialized. The call does not block, and does not communicate with other ranks.
 *
 * Return: MPI_SUCCESS; MPI_ERR_ARG (struct_size is not set), without a call of an error handler.
 */
WW_API int ww_mpi_info_get(struct ww_mpi_info *info);

#ifdef __cplusplus
}
#endif

#endif
