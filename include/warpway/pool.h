/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warpway/pool.h - many small memories, handed to other processes at the cost of a token
 *
 * A pool is a stock of device memory in large chunks, from which one process, its OWNER, cuts SLICES. A slice is a memory
 * (ww_memory) like any other: it has a pointer, it is exported by ww_memory_export(), imported by ww_memory_import()
 * and let go by ww_memory_unref(). But only the first slice of a chunk that a process imports has to be asked of the
 * broker and mapped. From then on allocating, exporting, importing and letting go are a few stores into shared memory: no
 * system call, no message.
 *
 *   owner:   alloc ──> use ──export──> token ─ ─ ─ ─ ─ ─ ─> import ──> use ──> unref      :other process
 *              ^         │                                                       │
 *              │     release(stream), unref                                its mark goes
 *              └───── the bytes are handed out again when nobody uses them ──────┘
 *
 * Who uses a slice says so itself, by a mark in a page that it alone writes and that the owner reads. A slice is handed out
 * again when its owner has let go of it, the work of the stream it was released on has run, no token of it
 * is in flight, and no process marks it.
 *
 *   - A process that dies: its marks count until the kernel reports that it has ended, since its GPU may write until then;
 *     then they are void, without anybody doing anything. Where the kernel cannot report it (before Linux 6.5, of a process
 *     in another container than the broker's) they count as long as the pool.
 *   - The owner dies: what was imported stays, in every process that has it, with its bytes; nothing is handed out any more,
 *     and processes that had imported nothing of the pool before cannot begin to. The chunks go when the last slice of
 *     them is let go; those that a process has mapped without using one, with its next import or call about pools.
 *   - A token that nobody imports: its escrow ends after a time (ww_export_params.escrow_ns; 60 s if 0), and the slice is
 *     free. Each export expects one import, or as many as `uses` says; they end the escrow early.
 *   - A process that never lets go: allocation fails when the pool has reached its size, and the record names who
 *     holds most; ww_pool_holder_get() lists them all.
 *
 * A slice that is exported for reading only is mapped read-only in who imports it, with the whole chunk around it: who may
 * read one slice can read its neighbours. Do not mix in one pool what different users must not see.
 *
 * All this rests on the broker, who says who came and who has ended. When the broker and its keeper are killed nobody
 * does: slices that other processes use then, or may use, are not handed out again, and the pool cannot be shared
 * any more. A process that imported a slice several times and released one of these on a stream lets go of it with its
 * next import or call about pools.
 *
 * Who imported a slice can export it on, and holds it until the other has imported it: an escrow is the owner's alone.
 *
 * Threads: every function may be called from any thread.
 * Fork:    nothing survives fork(), as everywhere here.
 */
#ifndef WARPWAY_POOL_H
#define WARPWAY_POOL_H

#include <warpway/base.h>
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
 * struct ww_pool_params - how a pool is to be
 * @size:         sizeof(struct ww_pool_params)
 * @kind:         WW_MEMORY_VMM or WW_MEMORY_HOST; 0: vmm
 * @bytes_max:    all chunks together; 0: no limit but the device's
 * @chunk_bytes:  of a chunk, rounded up to the device's granularity; 0: 64 MiB, or @bytes_max if that is less. A slice
 *                larger than that gets a chunk of its own
 * @slices_max:   most slices at one time, rounded up to a power of two, at most WW_POOL_SLICES_MAX; 0: 65536. Costs
 *                32 bytes of host memory each, and 16 in every process that imports
 * @reserved:     0
 * @flags:        none yet
 */
struct ww_pool_params {
	uint32_t size;
	uint32_t kind;
	uint64_t bytes_max;
	uint64_t chunk_bytes;
	uint32_t slices_max;
	uint32_t reserved;
	uint64_t flags;
};

/**
 * ww_pool_create() - make a pool; this process is its owner
 * @device:    borrowed; where its memory is to be. The pool keeps it open
 * @params:    borrowed; NULL: all zero
 * @out_pool:  the caller's; NULL on failure
 *
 * Takes no device memory yet, and needs no broker until a slice is exported.
 *
 * Return: WW_OK; WW_ERR_INVALID (kind, flags, slices_max, chunk_bytes above bytes_max); WW_ERR_OVERFLOW; WW_ERR_UNSUPPORTED
 *         (the device has no memory of that kind, or cannot export it); WW_ERR_NO_MEMORY; WW_ERR_LIMIT;
 *         WW_ERR_SYSTEM; WW_ERR_FORKED.
 */
WW_API ww_status ww_pool_create(ww_device *device, const struct ww_pool_params *params,
	ww_pool **out_pool);

/**
 * ww_pool_ref() - hold a pool once more
 * Return: @pool.
 */
WW_API ww_pool *ww_pool_ref(ww_pool *pool);

/**
 * ww_pool_unref() - let go of a pool
 * @pool:  may be NULL
 *
 * Slices keep their pool: it ends with the last of them. Then this process gives its chunks back; who imported slices
 * keeps what it has, and tokens that nobody has imported yet are worth nothing any more.
 *
 * Return: NULL.
 */
WW_API ww_pool *ww_pool_unref(ww_pool *pool);

/**
 * ww_pool_alloc() - cut a slice
 * @pool:        borrowed; of this process
 * @bytes:       > 0; rounded up to WW_POOL_ALIGNMENT
 * @alignment:   bytes, of the slice's place in its chunk; a power of two, at most the chunk's size; 0: WW_POOL_ALIGNMENT
 * @out_memory:  the caller's; NULL on failure. Its bytes are what their last user left in them
 *
 * Takes what is free by now; never waits for anybody to let go. May block: while a new chunk is made.
 *
 * Return: WW_OK; WW_ERR_INVALID (no bytes, no such alignment); WW_ERR_OVERFLOW; WW_ERR_LIMIT (the pool has bytes_max or
 *         slices_max in use. The record says how much is used here, waits for a stream, is in flight, and which process
 *         holds most; or that there is room, but in no piece as large as that); WW_ERR_DEVICE_MEMORY,
 *         WW_ERR_NO_MEMORY (there is no more for a new chunk); WW_ERR_DEVICE; WW_ERR_SYSTEM; WW_ERR_FORKED.
 */
WW_API ww_status ww_pool_alloc(ww_pool *pool, uint64_t bytes, uint64_t alignment,
	ww_memory **out_memory);

/**
 * ww_pool_release() - let go of a slice as soon as a stream has come so far
 * @slice:   one reference is consumed, on success; allocated from a pool here, or imported
 * @stream:  borrowed; of a device with WW_CAP_STREAM_VALUE. The slice is used until the work enqueued before has run
 *
 * As ww_memory_unref(), which takes effect at once; but work that still uses the slice may be under way. The slice is used
 * until the stream has come so far, and all other references are given up. A stream that fails, or is lost, keeps its
 * slices as long as this process lives.
 *
 * Return: WW_OK; WW_ERR_INVALID (not a slice of a pool); WW_ERR_UNSUPPORTED (the stream's device lacks the capability);
 *         WW_ERR_LIMIT (streams have yet to let go of as many slices as the pool can have); WW_ERR_NO_MEMORY;
 *         WW_ERR_DEVICE; WW_ERR_SYSTEM; WW_ERR_PEER_LOST (the stream is lost); WW_ERR_FORKED. After a failure the
 *         caller still has its reference.
 */
WW_API ww_status ww_pool_release(ww_memory *slice, ww_stream *stream);

/**
 * ww_pool_trim() - give chunks back that no slice is in
 * @pool:        borrowed
 * @keep_bytes:  so much of the pool's memory stays, if it is there
 * @out_bytes:   given back; may be NULL
 *
 * Other processes unmap such a chunk at their next import of a slice, or when they let go of the last one.
 *
 * Return: WW_OK; WW_ERR_FORKED.
 */
WW_API ww_status ww_pool_trim(ww_pool *pool, uint64_t keep_bytes, uint64_t *out_bytes);

/**
 * struct ww_pool_info - how a pool is
 * @size:              set by the caller to sizeof(struct ww_pool_info)
 * @kind:              WW_MEMORY_... of its chunks
 * @bytes_max:         the limit; UINT64_MAX: none
 * @chunk_bytes:       of a usual chunk
 * @bytes_reserved:    of all chunks
 * @bytes_used:        of slices that this process has, with what alignment costs
 * @bytes_waiting:     of slices that this process has let go of, and that a stream, a token or another process still needs
 * @bytes_free:        reserved, and to be had
 * @bytes_largest:     of the largest slice that fits without a new chunk
 * @bytes_peak:        most that was ever used and waiting together
 * @allocations:       that ever succeeded
 * @chunk_count:       chunks
 * @slice_count:       slices that this process has
 * @waiting_count:     slices that wait
 * @slices_max:        the limit
 * @holder_count:      other processes that have imported slices and have not ended
 * @reserved:          0
 */
struct ww_pool_info {
	uint32_t size;
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
	uint32_t reserved;
};

/**
 * ww_pool_info_get() - describe a pool
 * @pool:  borrowed
 * @info:  the caller's, with size set; filled on success
 *
 * First takes back what is free by now. May block: for round trips to the broker when processes have come.
 *
 * Return: WW_OK; WW_ERR_INVALID (size is not set); WW_ERR_FORKED.
 */
WW_API ww_status ww_pool_info_get(ww_pool *pool, struct ww_pool_info *info);

/**
 * struct ww_pool_holder_info - a process that has imported slices of a pool
 * @size:         set by the caller to sizeof(struct ww_pool_holder_info)
 * @pid:          as it sees itself; for people
 * @uid:          its user, as it says
 * @slice_count:  slices it marks
 * @slice_bytes:  of these
 * @is_lost:      1: it has ended, or lost its broker; its marks count until the kernel reports its end
 * @reserved:     0
 * @program:      as it calls itself
 */
struct ww_pool_holder_info {
	uint32_t size;
	uint32_t pid;
	uint32_t uid;
	uint32_t slice_count;
	uint64_t slice_bytes;
	uint32_t is_lost;
	uint32_t reserved;
	char program[32];
};

/**
 * ww_pool_holder_get() - describe one of the processes that have imported slices
 * @pool:   borrowed
 * @index:  0, 1, ... until WW_END
 * @info:   the caller's, with size set; filled on success
 *
 * Processes come and go between two calls.
 *
 * Return: WW_OK; WW_END (there is none of that index); WW_ERR_INVALID (size is not set); WW_ERR_FORKED.
 */
WW_API ww_status ww_pool_holder_get(ww_pool *pool, uint32_t index,
	struct ww_pool_holder_info *info);

#ifdef __cplusplus
}
#endif

#endif
