/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warpway/pool.h - many small memories, handed to other processes at the cost of a token
 *
 * A pool is device memory in large chunks. One process, the pool's owner, allocates slices from it.
 * A slice is a memory (ww_memory) like any other: it has a pointer, ww_memory_export() makes tokens
 * of it, ww_memory_import() imports it, ww_memory_unref() releases it. The difference is the cost.
 * When a process imports the first slice of a chunk, it asks the broker and maps the chunk. After
 * that, allocating, exporting, importing or releasing a slice takes a few stores into shared
 * memory, and no system call or message.
 *
 *   owner:   alloc ──> use ──export──> token - - - - - -> import ──> use ──> unref   :importer
 *              ^         │                                                     │
 *              │     release(stream), unref                          its mark is cleared
 *              └───── the bytes are allocated again when no process uses them ─┘
 *
 * Each process that imports a slice marks it as used, in a page that only this process writes and
 * that the owner reads. The owner allocates the bytes of a slice again when all these conditions
 * are true:
 *
 *   - The owner has released the slice. If it released the slice on a stream, the work of that
 *     stream has run.
 *   - No token of the slice is in flight: the escrow of each has ended.
 *   - The slice has no name in the broker.
 *   - No process marks it.
 *
 * What happens when something goes wrong:
 *
 *   - An importer dies. Its marks count until the kernel reports that the process has ended,
 *     because its GPU work may write until then. After that they do not count. If the kernel cannot
 *     report it (before Linux 6.5, for a process in another container than the broker's), the marks
 *     count as long as the pool lives.
 *   - The owner dies. Every process keeps the slices that it has imported, with their bytes. No
 *     more slices are allocated. Deliveries (WW_EXPORT_DELIVERY) that were not imported yet can be
 *     imported for ww_export_params.escrow_ns more, by any process. Meanwhile the broker keeps the
 *     pool and the chunks of these slices, and charges them to the owner's user. If no delivery is
 *     in flight, or the processes that imported the deliveries have ended or have released the
 *     pool, the broker keeps nothing. By other tokens, a process that has imported nothing of the
 *     pool cannot import a slice any more. A chunk is freed when its last slice is released. A
 *     process that uses no slice of it unmaps it as ww_pool_unref() says.
 *   - No process imports a token. Its escrow ends after ww_export_params.escrow_ns, and then the
 *     slice is free. Each export expects one import, or as many as ww_export_params.uses says. When
 *     these imports have been made, the escrow ends early. The time of a delivery
 *     (WW_EXPORT_DELIVERY) begins only when the pool ends, which is when the owner dies or releases
 *     the pool. Before that, the delivery lasts until it is imported or revoked (in_flight.h). The
 *     imports of deliveries and of other tokens are counted separately, so imports by one kind of
 *     token do not end the escrow of the other kind.
 *   - A process never releases its slices. When the pool is full, ww_pool_alloc() fails and the
 *     error record names the process that holds most; ww_pool_holder_get() lists all. Caches that
 *     keep imported memory mapped for later use, such as the registration caches of MPI and UCX,
 *     can exhaust a pool. Give them memory that is not a slice, or limit the cache.
 *   - The broker and its supervisor are killed. The pool cannot be shared any more, and slices that
 *     other processes use, or may use, are not allocated again.
 *
 * Tokens of slices:
 *
 *   - When the owner has released a slice and none of its tokens is in flight, an import by any
 *     token that the owner made fails with WW_ERR_NOT_FOUND, also while other processes still use
 *     the slice. Deliveries of the slice that are in flight do not count for its other tokens, and
 *     these do not count for deliveries.
 *   - There is one exception: if a process has imported the slice less often than the exports
 *     expected, such a token still works in this process until the owner's next call about the
 *     pool, or until the escrow's time is over.
 *   - A process that imported a slice can export it again, also after the owner has released it.
 *     That token (WW_TOKEN_PASSED) has no escrow: the exporting process keeps the slice until the
 *     other process has imported it. The token works while the owner has the pool and any process
 *     uses the slice, and after that use until the owner's next call about the pool.
 *   - A slice that was exported for reading only is mapped read-only, together with its whole
 *     chunk. A process that may read one slice can therefore read the slices beside it. If users
 *     must not read each other's data, use a pool for each of them.
 *   - If the owner makes both deliveries and other tokens of a slice, the slice takes two of the
 *     pool's slots (slices_max). A process that imports it by both kinds of token has a separate
 *     memory for each kind, with the same bytes at the same address.
 *
 * Names of slices (ww_memory_put(), ww_memory_get()):
 *
 *   - The owner gives them. A name keeps the slice as a process does that imported it, and the
 *     owner may release the slice. When the name has been removed, has been given to another memory
 *     (WW_PUT_REPLACE) or has ended with the pool, processes that got the slice keep it. Names end
 *     when the owner ends, or has released the pool and the slices that it uses.
 *   - A get by a name counts as no import by a token.
 *   - ww_memory_revoke() ends the tokens of a slice and leaves its names. If the broker does not
 *     answer it, the names open nothing until it answers a later call of the owner about the pool.
 *   - A process that may read one named slice can read the slices beside it, see above; mode and
 *     group are the same for all named slices of a pool.
 *
 * If a process imported a slice several times, and released one of these references on a stream,
 * the reference ends at the process's next import or call about pools.
 *
 * Threads: every function may be called from any thread.
 * Fork:    a child cannot use its parent's pools or their slices, because the parent may free them
 *          at any time. It can import a token of a slice: see device.h.
 */
#ifndef WARPWAY_POOL_H
#define WARPWAY_POOL_H

#include <warpway/base.h>
#include <warpway/broker.h>
#include <warpway/device.h>
#include <warpway/memory.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ww_pool ww_pool;

#define WW_POOL_SLICES_MAX (UINT32_C(1) << 20) /* at one time, in one pool */
#define WW_POOL_ALIGNMENT \
	256 /* bytes: what cuMemAlloc() promises, and the least a slice occupies */

/**
 * struct ww_pool_params - what pool to make
 * @struct_size:  sizeof(struct ww_pool_params)
 * @kind:         WW_MEMORY_VMM or WW_MEMORY_HOST; 0: vmm
 * @bytes_max:    limit for all chunks together, rounded up to the device's granularity; 0: no limit
 *                but the device's
 * @chunk_bytes:  size of a chunk, rounded up to the device's granularity; 0: 64 MiB, or @bytes_max
 *                if that is less. A larger slice gets a separate chunk. If @bytes_max or the device
 *                has no room for a chunk of this size, a smaller chunk for the slice is made
 * @slices_max:   most slices at one time, rounded up to a power of two, at most WW_POOL_SLICES_MAX;
 *                0: 65536. Each costs 40 bytes of host memory, and 32 in every process that imports
 * @reserved:     0
 * @flags:        0: there are none
 */
struct ww_pool_params {
	uint32_t struct_size;
	uint32_t kind;
	uint64_t bytes_max;
	uint64_t chunk_bytes;
	uint32_t slices_max;
	uint32_t reserved;
	uint64_t flags;
};

/**
 * ww_pool_create() - make a pool; this process is its owner
 * @device:    borrowed; the device of its memory. The pool keeps it open
 * @params:    borrowed; NULL: all zero
 * @out_pool:  the caller's; NULL on failure
 *
 * The call takes no device memory yet. The pool needs no broker until a slice is exported.
 *
 * Return: WW_OK; WW_ERR_INVALID (kind, flags, slices_max, chunk_bytes above bytes_max);
 *         WW_ERR_OVERFLOW; WW_ERR_UNSUPPORTED (the device has no memory of that kind, or cannot
 *         export it); WW_ERR_NO_MEMORY; WW_ERR_LIMIT; WW_ERR_SYSTEM; WW_ERR_FORKED.
 */
WW_API ww_status ww_pool_create(ww_device *device, const struct ww_pool_params *params,
	ww_pool **out_pool);

/**
 * ww_pool_ref() - take one more reference of a pool
 * Return: @pool.
 */
WW_API ww_pool *ww_pool_ref(ww_pool *pool);

/**
 * ww_pool_unref() - release a reference of a pool
 * @pool:  may be NULL
 *
 * Each slice keeps the pool, so the pool ends with its last slice. Then this process frees its
 * chunks. Processes that imported slices keep them. Tokens that were not imported stop working.
 *
 * From the last unref on, also if slices keep the pool, another process unmaps a chunk when it
 * releases its last slice of the chunk. If it released this slice before, its next call that
 * imports by a token or is about pools unmaps the chunk. So does its next call that creates or
 * releases a memory, a timeline or an event, unless the chunk is host memory that a GPU reaches.
 *
 * Return: NULL.
 */
WW_API ww_pool *ww_pool_unref(ww_pool *pool);

/**
 * ww_pool_alloc() - allocate a slice
 * @pool:        borrowed; of this process
 * @bytes:       > 0; rounded up to WW_POOL_ALIGNMENT
 * @alignment:   bytes, of the slice's place in its chunk; a power of two, at most the chunk's size;
 *               0: WW_POOL_ALIGNMENT
 * @timeout_ns:  how long to wait until slices are free; 0: do not wait; WW_FOREVER
 * @cancel:      borrowed; may be NULL: cancel.h
 * @out_memory:  the caller's; NULL on failure. Its bytes are not cleared
 *
 * Waiting:
 *   - Calls are served in the order in which they were made. If no free piece is large enough for a
 *     call, it does not delay later calls.
 *   - When another thread of this process releases a slice, the waiting call notices it at once.
 *     When another process or a stream releases a slice, or a holder ends, the call notices it
 *     after at most an eighth of the time that it has waited, and at most 2 ms. For each 256 slices
 *     that wait to be freed, this takes as long again.
 *   - If nothing can be freed, because this process has no slice and none waits, the call fails at
 *     once, as with 0.
 *   - Some slices are not freed during the wait: slices that only the caller could release; slices
 *     of a process that ended after the broker and its supervisor were killed; and, while no broker
 *     serves at the pool's address, slices that may be used by a process which the owner does not
 *     know yet.
 *
 * May block: for @timeout_ns, and while a new chunk is made. If processes have joined the pool and
 * the broker does not answer, the call also waits for the broker: once for the broker's time limit
 * if @timeout_ns is 0, else for 100 ms. Meanwhile other calls for the same pool wait, also
 * ww_memory_unref() of its slices. After that, a call about the pool asks the broker at most once a
 * second, for 100 ms. Only an export asks each time, for the broker's time limit. So a call with a
 * limit returns at most a few times 100 ms after its limit.
 *
 * Return: WW_OK; WW_TIMED_OUT (no room in time; a call with 0 says why); WW_CANCELLED;
 *         WW_ERR_INVALID (no bytes, no such alignment); WW_ERR_OVERFLOW; WW_ERR_LIMIT (the pool has
 *         bytes_max or slices_max in use. The record says how much is used here, waits for a stream
 *         or is in flight, and which process holds most; or that there is room, but no free piece
 *         is large enough; or that the pool can never have so much); WW_ERR_DEVICE_MEMORY,
 *         WW_ERR_NO_MEMORY (no memory for a new chunk); WW_ERR_DEVICE; WW_ERR_SYSTEM; WW_ERR_ACCESS
 *         (the pool is another process's); WW_ERR_FORKED.
 */
WW_API ww_status ww_pool_alloc(ww_pool *pool, uint64_t bytes, uint64_t alignment,
	uint64_t timeout_ns, ww_cancel *cancel, ww_memory **out_memory);

/**
 * ww_pool_release() - release a slice when the work enqueued on a stream has run
 * @slice:   one reference is consumed, on success; allocated from a pool here, or imported
 * @stream:  borrowed; of a device with WW_CAP_STREAM_VALUE
 *
 * ww_memory_unref() takes effect at once. This call takes effect when the work that was enqueued on
 * @stream so far has run, so that work may still use the slice. If a stream fails or is lost, its
 * slices stay as long as this process lives.
 *
 * Return: WW_OK; WW_ERR_INVALID (not a slice of a pool); WW_ERR_UNSUPPORTED (the stream's device
 *         lacks the capability); WW_ERR_LIMIT (as many slices as the pool can have wait for
 *         streams); WW_ERR_NO_MEMORY; WW_ERR_DEVICE; WW_ERR_SYSTEM; WW_ERR_PEER_LOST (the
 *         stream is lost); WW_ERR_FORKED. After a failure the caller still has its reference.
 */
WW_API ww_status ww_pool_release(ww_memory *slice, ww_stream *stream);

/**
 * ww_pool_export() - a token by which other processes can join a pool before its first slice
 * @pool:       borrowed; of this process, or imported
 * @broker:     borrowed; NULL: the pool's own, or the default broker
 * @params:     borrowed; NULL: all zero. offset, bytes and array are 0. access is the most access
 *              that slices can then be imported with
 * @cancel:     borrowed; may be NULL: cancel.h
 * @out_token:  filled on success
 *
 * No process needs this token, because each token of a slice also names the pool. If a process
 * imports it, the first slice costs the process no more than later ones. The token opens the pool
 * only while the pool's owner has the pool.
 *
 * May block: for round trips to the broker; there are more of them for chunks that no process has
 * mapped yet.
 *
 * Return: WW_OK; WW_ERR_INVALID; WW_ERR_STATE (the pool is in another broker); as
 *         ww_memory_export().
 */
WW_API ww_status ww_pool_export(ww_pool *pool, ww_broker *broker,
	const struct ww_export_params *params, ww_cancel *cancel, struct ww_token *out_token);

/**
 * ww_pool_import() - join a pool of another process
 * @device:    borrowed; the chunks of the pool's present slices are mapped for it, as far as the
 *             broker grants them and there is room; NULL: each chunk is mapped with its first slice
 * @broker:    borrowed; NULL: the broker of WARPWAY_BROKER, else the broker that the token names
 * @token:     borrowed; made by ww_pool_export()
 * @cancel:    borrowed; may be NULL: cancel.h
 * @out_pool:  the caller's; NULL on failure
 *
 * This process can send the pool to other processes by ww_pool_export(), and release it. Calls that
 * only the owner can make return WW_ERR_ACCESS. Slices have separate tokens. If the chunk of a
 * slice is mapped, its import needs no broker. This process keeps its mappings of the pool as long
 * as it has a reference of the pool or of a slice, or the owner has the pool. In the owner's
 * process, the call returns the pool that was exported.
 *
 * May block: for round trips to the broker, and while memory is mapped.
 *
 * Return: WW_OK; WW_ERR_UNSUPPORTED (the token names something else); WW_ERR_NOT_FOUND (the pool
 *         has ended); as ww_memory_import().
 */
WW_API ww_status ww_pool_import(ww_device *device, ww_broker *broker, const struct ww_token *token,
	ww_cancel *cancel, ww_pool **out_pool);

/**
 * ww_pool_trim() - free chunks that contain no slice
 * @pool:        borrowed
 * @keep_bytes:  this many bytes of the pool are kept, if it has them
 * @out_bytes:   how many bytes were freed; may be NULL
 *
 * Other processes unmap such a chunk as they do when the pool is released (ww_pool_unref()).
 *
 * Return: WW_OK; WW_ERR_ACCESS (imported); WW_ERR_FORKED.
 */
WW_API ww_status ww_pool_trim(ww_pool *pool, uint64_t keep_bytes, uint64_t *out_bytes);

/**
 * struct ww_pool_info - the state of a pool
 * @struct_size:       set by the caller to sizeof(struct ww_pool_info)
 * @kind:              WW_MEMORY_... of its chunks
 * @bytes_max:         the limit; UINT64_MAX: none
 * @chunk_bytes:       of a usual chunk
 * @bytes_reserved:    of all chunks
 * @bytes_used:        of slices that this process has, alignment included
 * @bytes_waiting:     of slices that this process has released, and that a stream, a token, a
 *                     name or another process still uses
 * @bytes_free:        reserved and free
 * @bytes_largest:     of the largest slice that fits without a new chunk
 * @bytes_peak:        the largest sum of used and waiting bytes so far
 * @allocations:       number of successful allocations so far
 * @chunk_count:       chunks
 * @slice_count:       slices that this process has
 * @waiting_count:     slices that wait
 * @slices_max:        the limit
 * @holder_count:      other processes that have imported slices and have not ended
 * @is_imported:       1: a pool of another process; all fields but kind and slices_max are 0
 */
struct ww_pool_info {
	uint32_t struct_size;
	uint32_t kind;
	uint64_t bytes_max;
	uint64_t chunk_bytes;
	uint64_t bytes_reserved;
	uint64_t bytes_used;
	uint64_t bytes_waiting;
	uint64_t bytes_free;
	uint64_t bytes_largest;
	uint64_t bytes_peak;
	uint64_t allocations;
	uint32_t chunk_count;
	uint32_t slice_count;
	uint32_t waiting_count;
	uint32_t slices_max;
	uint32_t holder_count;
	uint32_t is_imported;
};

/**
 * ww_pool_info_get() - describe a pool
 * @pool:  borrowed
 * @info:  the caller's, with struct_size set; filled on success
 *
 * The call first frees the slices that no process uses any more. May block: for round trips to the
 * broker, if processes have joined the pool.
 *
 * Return: WW_OK; WW_ERR_INVALID (struct_size is not set); WW_ERR_FORKED.
 */
WW_API ww_status ww_pool_info_get(ww_pool *pool, struct ww_pool_info *info);

/**
 * struct ww_pool_holder_info - a process that has imported slices of a pool
 * @struct_size:  set by the caller to sizeof(struct ww_pool_holder_info)
 * @pid:          as the broker says: see struct ww_timeline_info; use it only to display it
 * @uid:          its user, as the broker says
 * @slice_count:  number of slices that it marks
 * @slice_bytes:  bytes of these slices
 * @is_lost:      1: it has ended, or lost its broker; its marks count until the kernel reports its
 *                end
 * @reserved:     0
 * @program:      its name: see struct ww_timeline_info
 */
struct ww_pool_holder_info {
	uint32_t struct_size;
	uint32_t pid;
	uint32_t uid;
	uint32_t slice_count;
	uint64_t slice_bytes;
	uint32_t is_lost;
	uint32_t reserved;
	char program[WW_PROGRAM_BYTES];
};

/**
 * ww_pool_holder_get() - describe one of the processes that have imported slices
 * @pool:   borrowed
 * @index:  0, 1, ... until WW_END
 * @info:   the caller's, with struct_size set; filled on success
 *
 * Processes may join and leave between two calls.
 *
 * Return: WW_OK; WW_END (there is none of that index); WW_ERR_ACCESS (imported); WW_ERR_INVALID
 * (struct_size is not set); WW_ERR_FORKED.
 */
WW_API ww_status ww_pool_holder_get(ww_pool *pool, uint32_t index,
	struct ww_pool_holder_info *info);

#ifdef __cplusplus
}
#endif

#endif
