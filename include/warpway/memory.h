/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warpway/memory.h - a span of device memory that processes share
 *
 * A memory is a span of device or host memory that is mapped in this process and can be handed to
 * other processes: by a name or a token (broker.h), or as a file descriptor and a description over
 * a Unix socket. The bytes live as long as some process maps them or holds their descriptor. If the
 * process that created them dies, nothing changes for other processes.
 *
 *   create, wrap ───────┐
 *                       ├─> live ──export, send──> descriptor + description ──┐
 *   import, receive ────┘                                                     │
 *          ^                                                                  │
 *          └───────────────── this process or another one ────────────────────┘
 *
 * Each mapping has one object. An import gives exactly the span that its token, name or description
 *   names:
 *   - If a span is imported twice into one process, for the same device and with the same access,
 *     both imports give the same object with one more reference. If the span equals a memory that
 *     this process created or wrapped for that device, the import gives that memory with one more
 *     reference. For a slice of another process's pool there are exceptions: pool.h.
 *   - An import of another span of the same memory gives another object of the same mapping, which
 *     keeps the mapping.
 *   - An import for another device or with other access makes another mapping of the same bytes.
 *     With WW_IMPORT_OWN_MAPPING each import makes another mapping.
 *   - For memory of a GPU the kernel must confirm that two descriptors are the same file. Linux
 *     6.10 does. Earlier versions do if kcmp(2) is allowed. Otherwise each import by a descriptor
 *     makes another mapping.
 *
 * Access:
 *   - Memory that is imported for reading is mapped read-only. Calls of this library refuse to
 *     enqueue work that writes to it, with WW_ERR_ACCESS. If a kernel or a CPU store writes to it,
 *     only that process faults.
 *   - The descriptor of a read-only export of host memory cannot be mapped for writing.
 *   - A process that does not keep the rules can always map the descriptor of a GPU's memory for
 *     writing. So give it only to processes that may write.
 *
 * Wrapped memory: ww_memory_wrap() shares memory that exists already, from cudaMalloc(), a CUDA
 * pool or another library, without a copy. These rules differ:
 *   - The owner is the process that wrapped it. When the owner releases the memory, or ends, the
 *     bytes cannot be imported any more.
 *   - This rule applies to the whole allocation. As long as the owner has any part of it wrapped, a
 *     token of a part that was released still opens the allocation, and the importer reads what the
 *     owner has written there since. So a program with a caching allocator must keep a part wrapped
 *     until the processes that get its token have imported it. A name of a part ends with the part
 *     (ww_memory_put()).
 *   - Memory that was imported before stays mapped. After the owner's death it can still be read
 *     (measured; CUDA's manual promises nothing). After cuMemFree() in a living owner its contents
 *     are undefined.
 *   - Wrapped memory cannot be mapped read-only. If it is imported for reading, only calls of this
 *     library refuse to write to it.
 *
 * Threads: every function may be called from any thread.
 * CUDA:    the caller's current context is the same after every call.
 * Fork:    a child reads and writes its parent's memory of the host device, except slices of pools:
 *          see device.h.
 */
#ifndef WARPWAY_MEMORY_H
#define WARPWAY_MEMORY_H

#include <warpway/base.h>
#include <warpway/device.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ww_memory ww_memory;

/**
 * struct ww_memory_params - what memory to make
 * @struct_size:  sizeof(struct ww_memory_params)
 * @kind:         WW_MEMORY_... of device.h; 0: WW_MEMORY_VMM
 * @bytes:        > 0; rounded up to the granularity: for vmm that of the device (2 MiB on present
 *                GPUs and on host), for host the page size (4 KiB). All sizes that are read later
 *                are rounded: put an array with the memory if other processes must know the exact
 *                size
 * @flags:        0: there are none; unknown bits give WW_ERR_INVALID
 */
struct ww_memory_params {
	uint32_t struct_size;
	uint32_t kind;
	uint64_t bytes;
	uint64_t flags;
};

#define WW_OBJECT_ID_BYTES 16

/**
 * struct ww_memory_info - what a memory is and how this process reaches it
 * @struct_size: set by the caller to sizeof(struct ww_memory_info)
 * @kind:        WW_MEMORY_...
 * @access:      WW_ACCESS_... of this mapping
 * @route:       WW_ROUTE_... of device.h
 * @bytes:       usable bytes: the requested bytes, rounded up
 * @pointer:     as ww_memory_pointer()
 * @host_pointer: as ww_memory_host_pointer()
 * @device:      the device this mapping serves; borrowed, valid as long as the memory
 * @home_uuid:   UUID of the device that holds the bytes. It is only as the description says if this
 *               process cannot see that device (WW_ROUTE_PEER_HIDDEN), for host memory, and for
 *               memory of kind WW_MEMORY_LEGACY
 * @object_id:   128 random bits, the same in every process that maps this memory; of a slice of a
 *               pool: its chunk's
 * @offset:      if this memory is a span of a memory, an allocation or a chunk: bytes from the
 *               start of that; else 0
 * @total_bytes: bytes of that memory, allocation or chunk; else as @bytes
 * @flags:       WW_MEMORY_IS_... bits
 */
struct ww_memory_info {
	uint32_t struct_size;
	uint32_t kind;
	uint32_t access;
	uint32_t route;
	uint64_t bytes;
	void *pointer;
	void *host_pointer;
	ww_device *device;
	uint8_t home_uuid[WW_DEVICE_UUID_BYTES];
	uint8_t object_id[WW_OBJECT_ID_BYTES];
	uint64_t offset;
	uint64_t total_bytes;
	uint64_t flags;
};

/* ww_memory_info.flags */
#define WW_MEMORY_IS_SLICE   UINT64_C(0x1) /* of a pool (pool.h), allocated here or imported */
#define WW_MEMORY_IS_WRAPPED UINT64_C(0x2) /* the caller's own, wrapped in this process */

#define WW_MEMORY_DESCRIPTION_BYTES 128

/**
 * struct ww_memory_description - the bytes that are sent together with a memory's descriptor
 *
 * It is plain bytes with a version and a checksum, the same on every machine. It may be kept in a
 * file or sent by any means. Only ww_memory_import_fd() reads it, and trusts none of its bytes.
 */
struct ww_memory_description {
	uint8_t bytes[WW_MEMORY_DESCRIPTION_BYTES];
};

/**
 * ww_memory_create() - make memory on a device and map it for reading and writing
 * @device:      borrowed; the memory keeps it open
 * @params:      borrowed
 * @out_memory:  the caller's; NULL on failure
 *
 * All bytes are zero. The call reserves them: if the machine has too little memory, this call
 * fails, and no later access fails.
 *
 * May block: while the device or the kernel clears the memory.
 *
 * Return: WW_OK; WW_ERR_INVALID (bytes 0, unknown kind or flag); WW_ERR_OVERFLOW (bytes cannot be
 *         rounded up); WW_ERR_DEVICE_MEMORY (the GPU has too little memory); WW_ERR_NO_MEMORY (the
 *         machine has too little); WW_ERR_LIMIT (descriptors or mappings); WW_ERR_UNSUPPORTED (the
 *         device cannot make this kind); WW_ERR_DEVICE; WW_ERR_SYSTEM; WW_ERR_FORKED.
 */
WW_API ww_status ww_memory_create(ww_device *device, const struct ww_memory_params *params,
	ww_memory **out_memory);

/*
 * ww_wrap_params.flags
 *
 * WW_WRAP_READ: the memory is for reading only, even if the bytes around it are not.
 * WW_WRAP_PRIVATE: the memory cannot be exported by a token, and no import gives it. So the last
 * unref of the returned memory calls @release.
 */
#define WW_WRAP_READ    UINT64_C(0x1)
#define WW_WRAP_PRIVATE UINT64_C(0x2)

/**
 * struct ww_wrap_params - how memory is wrapped
 * @struct_size:  sizeof(struct ww_wrap_params)
 * @reserved:  0
 * @flags:     WW_WRAP_... bits, or 0
 * @release:   NULL, or a function that is called once when the wrapped memory is no longer used, so
 *             that the program may free it. The last unref calls it, on its thread. It is not
 *             called if wrapping fails. An import of exactly this span counts as a reference. If
 *             this process still holds another span of the allocation by an import at the last
 *             unref, a later unref of one of these spans calls it, on any thread, at the latest the
 *             last such unref. If a broker has not said that the names of this memory are gone, the
 *             last unref of a part of the allocation calls it. The function may call this library
 *             and CUDA
 * @context:   the argument of @release
 */
struct ww_wrap_params {
	uint32_t struct_size;
	uint32_t reserved;
	uint64_t flags;
	void (*release)(void *context);
	void *context;
};

/**
 * ww_memory_wrap() - make a memory from bytes that another library allocated
 * @device:      borrowed; the device that holds the bytes
 * @pointer:     anywhere inside an allocation of cuMemAlloc() (cudaMalloc()), of a stream-ordered
 *               pool whose creator asked for descriptors, or of cuMemCreate() with such a handle
 *               type; or inside memory of this library. The caller owns it, and must not free it
 *               before the last unref, or before @release is called
 * @bytes:       of the span, which is inside one allocation; 0: to the end of the allocation
 * @params:      borrowed; NULL: all zero
 * @out_memory:  the caller's; NULL on failure. Exactly the span: its pointer is @pointer
 *
 * The call copies and maps nothing. It finds out whether and how the memory can be shared;
 * ww_memory_info.kind says how. A process that imports the memory, or gets it by a name, can reach
 * the whole allocation, because CUDA can share only whole allocations. Another wrap of the same
 * allocation, at any place in it, needs no further handle.
 *
 * Return: WW_OK; WW_ERR_UNSUPPORTED (this memory cannot be shared: managed memory, the default
 *         pool, a pool or an allocation of cuMemCreate() without descriptors, memory of malloc(),
 *         memory that was itself opened by a handle. The record says which, and what to do:
 *         ww_memory_copy_in() is always possible. Or @pointer lies in a slice of a pool: export the
 *         slice itself, see pool.h); WW_ERR_INVALID (no device memory at @pointer, the span leaves
 *         its allocation, or it lies on another device); WW_ERR_OVERFLOW; WW_ERR_NO_MEMORY;
 *         WW_ERR_LIMIT; WW_ERR_DEVICE; WW_ERR_SYSTEM; WW_ERR_FORKED.
 */
WW_API ww_status ww_memory_wrap(ww_device *device, void *pointer, uint64_t bytes,
	const struct ww_wrap_params *params, ww_memory **out_memory);

/**
 * ww_memory_copy_in() - make a memory and enqueue a copy of other bytes into it
 * @stream:      borrowed; of the device of the new memory; the copy runs in its order
 * @source:      memory that ww_stream_copy() can read, also managed memory and the CPU's; valid
 *               until the copy has run
 * @params:      borrowed; as for ww_memory_create(): bytes says how much is copied
 * @out_memory:  the caller's; NULL on failure. It has the bytes when the stream has run the copy
 *
 * Return: WW_OK; as ww_memory_create() and ww_stream_copy().
 */
WW_API ww_status ww_memory_copy_in(ww_stream *stream, const void *source,
	const struct ww_memory_params *params, ww_memory **out_memory);

/* ww_import_params.flags, ww_get_params.flags */

/*
 * Refuse, with WW_ERR_UNSUPPORTED, memory that the device reaches only by a slow route: a GPU by
 * WW_ROUTE_HOST_REGISTERED or WW_ROUTE_PEER_HIDDEN.
 */
#define WW_IMPORT_NO_SLOW_ROUTE UINT64_C(0x1)

/*
 * Map the memory at a separate address, even if this process has it already. No other import gives
 * the same object. WW_ERR_UNSUPPORTED for memory that can be mapped only once for each process and
 * device: slices of pools, and memory of kind WW_MEMORY_LEGACY or WW_MEMORY_CUDA_POOL.
 */
#define WW_IMPORT_OWN_MAPPING UINT64_C(0x2)

/*
 * Keep what this import maps for a moment after the last unref, with the hold in the broker: if the
 * process imports the memory again soon, nothing is mapped and unmapped. Meanwhile the process is
 * a holder (`warpway who`), with the access of the import: the bytes are not freed, and a memory
 * that was imported for writing cannot be sealed.
 *   - At most 16 memories are kept, of at most 64 MiB together. If there is no room, the last unref
 *     unmaps the memory.
 *   - After a quarter to half a second a thread of the library unmaps the memory. The thread exists
 *     while a memory is kept, and blocks all signals.
 *   - If ww_memory_create() finds no memory, it unmaps what is kept, and tries again.
 *   - The process is a holder already when it imports what is kept. So such an import ends the
 *     escrow of a delivery (WW_EXPORT_DELIVERY), and other escrows do not count it.
 * The flag has no effect on slices of pools, on memory of kind WW_MEMORY_LEGACY or
 * WW_MEMORY_CUDA_POOL, on host memory that a GPU reaches, or with WW_IMPORT_OWN_MAPPING.
 */
#define WW_IMPORT_KEEP UINT64_C(0x4)

/**
 * struct ww_import_params - how memory of another process is mapped
 * @struct_size:  sizeof(struct ww_import_params)
 * @access:       WW_ACCESS_READ or WW_ACCESS_WRITE; 0: read
 * @flags:        WW_IMPORT_... bits
 */
struct ww_import_params {
	uint32_t struct_size;
	uint32_t access;
	uint64_t flags;
};

#define WW_MEMORY_HANDLE_BYTES 64

/**
 * struct ww_memory_handle - a CUipcMemHandle, which is a cudaIpcMemHandle_t
 */
struct ww_memory_handle {
	uint8_t bytes[WW_MEMORY_HANDLE_BYTES];
};

/**
 * ww_memory_handle_get() - the legacy handle of a memory, for programs that do not use this library
 * @memory:      borrowed; wrapped here, of kind WW_MEMORY_LEGACY
 * @out_handle:  filled on success with a CUipcMemHandle, which the other program opens with
 *               cuIpcOpenMemHandle() or cudaIpcOpenMemHandle()
 * @out_offset:  bytes from the address that the other program gets to this memory, because a handle
 *               names a whole allocation
 *
 * A handle has no access rights and no lifetime. Any process that has the 64 bytes, or guesses
 * them, can read and write, and is not told when the owner frees the memory. Between programs that
 * use this library, use tokens.
 *
 * Return: WW_OK; WW_ERR_UNSUPPORTED (not of that kind, or not wrapped here); WW_ERR_STATE (it was
 *         freed meanwhile); WW_ERR_DEVICE; WW_ERR_FORKED.
 */
WW_API ww_status ww_memory_handle_get(ww_memory *memory, struct ww_memory_handle *out_handle,
	uint64_t *out_offset);

/**
 * ww_memory_handle_open() - map the memory that a legacy handle of another program names
 * @device:      borrowed; the device that shall reach it
 * @handle:      borrowed; a CUipcMemHandle, as from cudaIpcGetMemHandle()
 * @params:      borrowed; NULL: for reading. Only the work that this library enqueues respects the
 *               access
 * @out_memory:  the caller's; NULL on failure: the whole allocation, of kind WW_MEMORY_LEGACY
 *
 * Opening one handle twice costs little, because the driver maps it once. The driver does not allow
 * to export the memory again. Neither a bare handle nor the driver tells which GPU holds the bytes,
 * so the route is local, and the home is @device.
 *
 * Return: WW_OK; WW_ERR_PEER_LOST (the driver knows no such allocation: its owner has ended);
 *         WW_ERR_INVALID (not a handle, or a handle of memory that its owner has freed: the driver
 *         does not tell which); WW_ERR_STATE (the handle is of this process, or of a process with
 *         the same pid in another container, which the driver takes for this one);
 *         WW_ERR_UNSUPPORTED (@device lacks WW_CAP_FOREIGN, or cannot reach the GPU of the memory;
 *         WW_IMPORT_OWN_MAPPING); WW_ERR_NO_MEMORY; WW_ERR_DEVICE; WW_ERR_FORKED.
 */
WW_API ww_status ww_memory_handle_open(ww_device *device, const struct ww_memory_handle *handle,
	const struct ww_import_params *params, ww_memory **out_memory);

/**
 * ww_memory_ref() - take one more reference of a memory
 * Return: @memory.
 */
WW_API ww_memory *ww_memory_ref(ww_memory *memory);

/**
 * ww_memory_unref() - release a reference of a memory
 * @memory:  may be NULL
 *
 * The last unref unmaps the memory; WW_IMPORT_KEEP keeps it for a moment. The bytes are freed when
 * no process maps them or holds a descriptor of them. Work on a GPU that uses the mapping must have
 * run before, as for cuMemUnmap(). This includes a cudaMemcpy() of up to 64 KiB from memory of
 * malloc(): it may return before its bytes are there. cudaFree() waits for them, but an unmapping
 * does not, so synchronise the stream before the last unref, or copy by ww_memory_write(). Streams
 * of the host device keep what they still use.
 *
 * For host memory, and for memory opened by a legacy handle, the driver waits for every stream of
 * the process. So the last unref waits, too, as cudaIpcCloseMemHandle() does. There is one
 * exception: while a stream waits for a timeline, or has yet to signal one, the unref does not
 * wait. Up to 64 such memories then stay mapped, with their bytes. A later call unmaps them when no
 * stream waits or has yet to signal. Such a call is an unref of such a memory, of a timeline, an
 * event, a barrier, a pool or a stream that waited, or an import by a legacy handle. If the
 * memories were made in a context of the caller, this context must last until then.
 *
 * If wrapped memory has names in a broker, the last unref removes them: one round trip for each,
 * and at most the broker's time limit for each (ww_broker_params.timeout_ns).
 *
 * Return: NULL.
 */
WW_API ww_memory *ww_memory_unref(ww_memory *memory);

/**
 * ww_memory_retire() - release a reference when the device has done its work
 * @memory:  one reference is consumed; NULL: the call only ends references of earlier calls
 *
 * Use this call for memory whose address other libraries have passed to their own streams. On a GPU
 * the reference is released when all work has run that this process has given to the device's
 * primary context until now. The call does not wait for contexts that the program created. On the
 * host device it is the same as ww_memory_unref(), because streams there keep the memory that they
 * use. The reference ends in a later call of this function, ww_memory_create(), ww_pool_alloc(),
 * ww_pool_trim() or ww_pool_info_get(). If a stream waits for ever, the reference stays.
 *
 * May block: with a driver older than CUDA 12.5, until that work has run. With such a driver the
 * reference stays while a stream is known to wait for a timeline. While a stream of the context is
 * known to be captured into a graph, the reference stays (Captures at the top of device.h).
 *
 * Return: NULL.
 */
WW_API ww_memory *ww_memory_retire(ww_memory *memory);

/**
 * ww_memory_retired() - how many references of ww_memory_retire() this process has not released yet
 *
 * The call does not look whether they can be released: ww_memory_retire() does.
 *
 * Return: their number.
 */
WW_API uint32_t ww_memory_retired(void);

/**
 * ww_capture_begin() - keep the references of ww_memory_retire() until the captures have ended
 *
 * For captures of non-blocking streams that have no ww_stream, and for the moment at which a
 * capture begins: see Captures at the top of device.h. From the return of this call on, no call
 * ends a capture. Calls of several threads count: each needs its ww_capture_end().
 *
 * Return: WW_OK; WW_ERR_FORKED.
 */
WW_API ww_status ww_capture_begin(void);

/**
 * ww_capture_end() - release these references again, in later calls
 *
 * Return: WW_OK; WW_ERR_STATE (no ww_capture_begin() is left to be ended); WW_ERR_FORKED.
 */
WW_API ww_status ww_capture_end(void);

/**
 * ww_memory_pointer() - the address of the memory on its device
 *
 * Return: an address for kernels, copies and fills on the memory's device, valid as long as the
 *         memory; on the host device an ordinary pointer. NULL if a child made by fork()
 *         cannot use it (device.h).
 */
WW_API void *ww_memory_pointer(ww_memory *memory);

/**
 * ww_memory_host_pointer() - the address of the memory for the CPU
 *
 * Return: an ordinary pointer, valid as long as the memory; NULL when the CPU cannot reach it (vmm
 *         memory of a GPU), or a child made by fork() cannot use it.
 */
WW_API void *ww_memory_host_pointer(ww_memory *memory);

/**
 * ww_memory_write() - copy bytes into a memory, and wait until they are there
 * @memory:      borrowed; mapped for writing
 * @offset:      bytes from the start of @memory
 * @source:      borrowed; memory of the CPU, at least @bytes bytes. NULL is allowed if @bytes is 0
 * @bytes:       of the copy; 0: the call does nothing
 * @timeout_ns:  how long to wait until the copy can begin; 0: not at all; WW_FOREVER
 * @cancel:      borrowed; may be NULL: cancel.h
 *
 * When the call returns, every process and every device that maps the memory can read the bytes.
 * The call does not wait for earlier work of any stream, not even of the default stream. So the
 * caller must make sure that no such work still uses these bytes.
 *
 * Memory that the CPU reaches (ww_memory_host_pointer()) is written by the calling thread at once.
 * For other memory the GPU copies, in the current context if it belongs to the memory's device,
 * else in the device's primary context. The GPU does one such copy at a time, and further calls
 * wait until the calls before them have ended. @timeout_ns and @cancel limit this wait. When a copy
 * has begun, the call waits for its end, because it uses @source.
 *
 * Streams of a process share the hardware queues of a GPU, by default 8
 * (CUDA_DEVICE_MAX_CONNECTIONS), and 2 under MPS. While as many streams as queues wait for signals
 * that no process has submitted (WW_WAIT_UNSUBMITTED), a write of less than 32 KiB into a GPU's
 * memory waits until one of them continues, under MPS a longer one, too (measured with driver 580).
 * Reads do not.
 *
 * Return: WW_OK; WW_TIMED_OUT or WW_CANCELLED (nothing was copied); WW_ERR_ACCESS (mapped for
 *         reading only); WW_ERR_INVALID (the span leaves the memory); WW_ERR_OVERFLOW;
 *         WW_ERR_DEVICE_MEMORY (no room for a context); WW_ERR_DEVICE; WW_ERR_FORKED.
 */
WW_API ww_status ww_memory_write(ww_memory *memory, uint64_t offset, const void *source,
	uint64_t bytes, uint64_t timeout_ns, ww_cancel *cancel);

/**
 * ww_memory_read() - copy bytes out of a memory, and wait until they are there
 * @memory:       borrowed
 * @offset:       bytes from the start of @memory
 * @destination:  the caller's; memory of the CPU, at least @bytes bytes. NULL is allowed if @bytes
 *                is 0
 * @bytes:        of the copy; 0: the call does nothing
 * @timeout_ns:   as for ww_memory_write()
 * @cancel:       borrowed; may be NULL: cancel.h
 *
 * When the call returns, @destination has the bytes. The call does not wait for work of streams:
 * the caller must have waited for the work that writes the bytes, for example with
 * ww_timeline_wait(). If another process writes the bytes meanwhile, old and new bytes may be
 * mixed. Everything else is as for ww_memory_write().
 *
 * Return: WW_OK; WW_TIMED_OUT or WW_CANCELLED (nothing was copied); WW_ERR_INVALID (the span leaves
 *         the memory); WW_ERR_OVERFLOW; WW_ERR_DEVICE_MEMORY; WW_ERR_DEVICE; WW_ERR_FORKED.
 */
WW_API ww_status ww_memory_read(ww_memory *memory, uint64_t offset, void *destination,
	uint64_t bytes, uint64_t timeout_ns, ww_cancel *cancel);

/**
 * ww_memory_find() - the memory that contains an address
 * @pointer:     an address of a device or of the CPU; the call reads nothing there
 * @out_memory:  the caller's, a reference; NULL on failure
 * @out_offset:  bytes from the start of that memory to @pointer; may be NULL
 *
 * Finds memories that this process has created, imported, wrapped or allocated from a pool
 * (pool.h). It does not find a wrapped memory whose allocation was freed. If several memories
 * contain the address, it finds the smallest: a part that was wrapped or imported, not the whole
 * memory. In a pool it finds only slices.
 *
 * Cost: a search in the table of all mappings; for a slice, also a walk over the slices of the
 * pools; for wrapped memory, a walk over the wrapped allocations, and one call of the driver.
 *
 * May block: while another thread's allocation in a pool makes room.
 *
 * Return: WW_OK; WW_ERR_NOT_FOUND (no memory of this process contains the address);
 *         WW_ERR_INVALID; WW_ERR_DEVICE, WW_ERR_DEVICE_MEMORY (the driver failed to answer);
 *         WW_ERR_FORKED.
 */
WW_API ww_status ww_memory_find(const void *pointer, ww_memory **out_memory, uint64_t *out_offset);

/**
 * ww_memory_info_get() - describe a memory
 * @memory:  borrowed
 * @info:    the caller's, with struct_size set; filled on success
 *
 * Return: WW_OK; WW_ERR_INVALID (struct_size is not set); WW_ERR_FORKED.
 */
WW_API ww_status ww_memory_info_get(ww_memory *memory, struct ww_memory_info *info);

/**
 * ww_memory_export_fd() - a descriptor and a description with which a process can import a memory
 * @memory:           borrowed
 * @access:           the most access that an importer gets; not more than this mapping has
 * @out_fd:           the caller's, close-on-exec, keeps the memory alive; -1 on failure
 * @out_description:  filled on success; must be sent together with the descriptor
 *
 * The first export of a GPU's memory asks the driver (50 to 600 us); later exports duplicate the
 * descriptor.
 *
 * Return: WW_OK; WW_ERR_ACCESS (write, of a read-only mapping); WW_ERR_INVALID; WW_ERR_UNSUPPORTED
 *         (device without WW_CAP_EXPORT; a read-only export of host memory without /proc, or of
 *         host memory that another user made and exported for writing); WW_ERR_LIMIT;
 *         WW_ERR_DEVICE; WW_ERR_SYSTEM; WW_ERR_FORKED.
 */
WW_API ww_status ww_memory_export_fd(ww_memory *memory, uint32_t access, int *out_fd,
	struct ww_memory_description *out_description);

/**
 * ww_memory_import_fd() - map memory that another process, or this one, exported
 * @device:       borrowed; the device that shall reach the memory; another device may hold the
 *                bytes
 * @fd:           borrowed; it stays open
 * @description:  borrowed; as ww_memory_export_fd() filled it. An attacker may have changed it
 * @params:       borrowed; NULL: for reading
 * @out_memory:   the caller's; NULL on failure. Exactly the span that was exported
 *
 * Return: WW_OK; WW_ERR_PROTOCOL (not a description, or damaged); WW_ERR_VERSION; WW_ERR_ACCESS
 *         (write, but exported for reading); WW_ERR_DESCRIPTOR (@fd is not open, or is not memory);
 *         WW_ERR_MISMATCH (the memory does not have the size in the description);
 *         WW_ERR_UNSUPPORTED (this device cannot reach it, or cannot map it as the flags ask; the
 *         record says why); WW_ERR_INVALID; WW_ERR_NO_MEMORY; WW_ERR_LIMIT; WW_ERR_DEVICE_MEMORY;
 *         WW_ERR_DEVICE; WW_ERR_SYSTEM; WW_ERR_FORKED.
 */
WW_API ww_status ww_memory_import_fd(ww_device *device, int fd,
	const struct ww_memory_description *description, const struct ww_import_params *params,
	ww_memory **out_memory);

/**
 * ww_memory_send() - send a memory to the process at the other end of a Unix socket
 * @memory:      borrowed; may be released as soon as this returns
 * @access:      the most access that the receiver gets
 * @socket:      borrowed; a connected AF_UNIX socket of type SOCK_SEQPACKET or SOCK_STREAM (a
 *               datagram socket does not tell when the other process has ended)
 * @timeout_ns:  how long to wait for room in the socket; 0: not at all; WW_FOREVER
 * @cancel:      borrowed; may be NULL: cancel.h
 *
 * The call sends one message of 128 bytes with one descriptor. On a stream socket, a timeout or a
 * failure after the first byte leaves an incomplete message, and the status is WW_ERR_TRUNCATED:
 * close the socket.
 *
 * Return: WW_OK; WW_TIMED_OUT or WW_CANCELLED (nothing was sent); WW_ERR_DESCRIPTOR (not a
 *         connected Unix socket of these types); WW_ERR_PEER_LOST (the other end is closed);
 *         WW_ERR_TRUNCATED; as ww_memory_export_fd().
 */
WW_API ww_status ww_memory_send(ww_memory *memory, uint32_t access, int socket, uint64_t timeout_ns,
	ww_cancel *cancel);

/**
 * ww_memory_receive() - receive a memory that the other end sent, and map it
 * @device:      borrowed; the device that shall reach the memory
 * @socket:      borrowed; as for ww_memory_send()
 * @params:      borrowed; NULL: for reading
 * @timeout_ns:  how long to wait for the message; 0: not at all; WW_FOREVER
 * @cancel:      borrowed; may be NULL: cancel.h
 * @out_memory:  the caller's; NULL on failure. Exactly the span that was sent
 *
 * If a message is refused, it has been read, and every descriptor that came with it is closed. On a
 * stream socket the position of the next message is then unknown: close the socket. Closing a file
 * of some kinds may hang (FUSE, NFS). A separate thread closes such a file, and then ends. While 64
 * such threads hang, the process accepts no more of these files: WW_ERR_LIMIT. If the process ends
 * while a thread hangs, the kernel keeps the process until the file's server answers.
 *
 * Return: WW_OK; WW_TIMED_OUT or WW_CANCELLED (nothing was read); WW_ERR_PEER_LOST (the other end
 *         closed the socket without a message); WW_ERR_TRUNCATED (it closed the socket inside a
 *         message); WW_ERR_PROTOCOL (not a message of ww_memory_send(), or not exactly one
 *         descriptor with it); WW_ERR_DESCRIPTOR (@socket is not a connected Unix socket of these
 *         types, or the descriptor is not memory); as ww_memory_import_fd().
 */
WW_API ww_status ww_memory_receive(ww_device *device, int socket,
	const struct ww_import_params *params, uint64_t timeout_ns, ww_cancel *cancel,
	ww_memory **out_memory);

#ifdef __cplusplus
}
#endif

#endif
