/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warpway/device.h - devices, their streams, and copies ordered by a stream
 *
 * A device has memory and runs streams. It is an NVIDIA GPU ("cuda") or the machine's CPU ("host").
 * The host device behaves like a GPU: memory has the same granularity, and each stream is a thread.
 * So a program that forgets to wait also fails there.
 *
 * Devices and streams have reference counts: an out_ parameter returns a reference that the caller
 * owns, and releases with unref. A stream keeps its device open, so the order of the unrefs does
 * not matter.
 *
 * A stream that waits for another process (timeline.h) is LOST if that process ends before it has
 * signalled. The stream continues its work, but every call on it (except ref, unref and native)
 * returns WW_ERR_PEER_LOST, and the record says which process was lost and when. This ends when the
 * program clears the loss with ww_stream_recover(). The loss belongs to the native stream:
 *   - Every ww_stream of the same CUstream returns it, also a ww_stream that is wrapped later. If a
 *     CUstream was destroyed and another one got the same pointer, these are two streams.
 *   - CUDA's default streams count as two streams for each device, in whatever context: the legacy
 *     stream, and one stream for the per-thread streams of all threads. If one of the two is lost,
 *     calls on all streams that count as this stream return it.
 *   - The loss stays when the last ww_stream of a CUstream ends. The library stores up to 1,024
 *     such losses. If there are more, it drops the loss whose last ww_stream ended first. A
 *     ww_stream that is wrapped later for that CUstream is then not lost.
 *   - On the host device a stream has no native stream: each ww_stream has its own loss.
 *
 * Captures: a program may capture streams into CUDA graphs. No call ends a capture, in whichever
 * thread it is made, with the exception of releases below.
 *   - Copies, fills, kernels and functions on a captured stream become a part of the graph.
 *   - All other calls on it, which wait for its work or order it with other processes, and
 *     ww_stream_wrap(), return WW_ERR_STATE. Make them before or after the launch of the graph.
 *   - A graph signals timelines and waits for them by nodes that are made for it: graph.h.
 *   - While a blocking stream is captured, CUDA's default streams cannot be used: calls on them
 *     return WW_ERR_STATE, too.
 *   - Memory that is given to ww_memory_retire() is released after the capture, since CUDA would
 *     end the capture. The library sees captures of blocking streams, and of streams that have a
 *     ww_stream. CUDA does not tell of others, nor in time of one that begins in this moment. A
 *     program that cannot exclude both calls ww_capture_begin() before its captures, and
 *     ww_capture_end() after them.
 *
 * Threads: every function may be called from any thread; calls that enqueue on one stream take
 *          effect in the order in which they were made.
 * CUDA:    a call uses the caller's current context if it belongs to the device, else the device's
 *          primary context. The library makes this context only when a call needs one, because it
 *          costs about 525 MiB of GPU memory in each process. So any call on a GPU may fail with
 *          WW_ERR_DEVICE_MEMORY (no room for a context) or WW_ERR_NO_DEVICE (the compute mode
 *          closes the GPU to this process). The current context is the same after every call. A
 *          stream, and memory of kind host, lives in the context that was used. The primary context
 *          is kept as long as the device is open. A context that the caller created must outlive
 *          them.
 * Fork:    a child made by fork() uses the library as a separate process: it opens its own
 *          connections to brokers, and its streams have their own threads. The library closes the
 *          child's copies of the parent's connections, and registers handlers with pthread_atfork()
 *          when it is loaded. In such a child, the parent's objects behave as follows:
 *            - the host device, ww_cancel, ww_snapshot and plain bytes (tokens, arrays) are usable;
 *            - memory of the host device is usable: the child reads and writes the same bytes, and
 *              can export, wrap or send them. If the parent has put the memory into a broker, the
 *              child cannot put or export it, but can import a token of the parent;
 *            - slices of pools, streams, pools, timelines, events, barriers, channels, work queues,
 *              services, clients, brokers, watches and ww_object are refused with WW_ERR_FORKED,
 *              because other processes take them for the parent's. The child can import a token of
 *              such an object. Modules and their kernels are refused, too, and can be loaded again;
 *            - no object of the parent is ever destroyed: ref and unref do nothing, so the parent
 *              loses nothing. Mappings of the parent stay as long as the child lives.
 *          If the parent has used a GPU, or searched for one and found it, every call in its child
 *          returns WW_ERR_FORKED, because CUDA's contexts do not survive fork(). Start such
 *          children with posix_spawn() or fork() + exec().
 */
#ifndef WARPWAY_DEVICE_H
#define WARPWAY_DEVICE_H

#include <warpway/base.h>
#include <warpway/cancel.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ww_device ww_device;
typedef struct ww_stream ww_stream;

/* ww_device_info.backend */
enum {
	WW_BACKEND_HOST = 1,
	WW_BACKEND_CUDA = 2
};

/* ww_device_info.capabilities */
#define WW_CAP_EXPORT         UINT64_C(0x1)  /* vmm memory can be exported as a file descriptor */
#define WW_CAP_HOST_MEMORY    UINT64_C(0x2)  /* memory of kind host can be made and imported here */
#define WW_CAP_HOST_READ_ONLY UINT64_C(0x4)  /* ... and imported read-only */
#define WW_CAP_CPU_ACCESS     UINT64_C(0x8)  /* the CPU can read and write vmm memory directly */
#define WW_CAP_STREAM_WRAP    UINT64_C(0x10) /* streams made by the caller can be used */
#define WW_CAP_MANY_PROCESSES UINT64_C(0x20) /* several processes may use it (compute mode) */
#define WW_CAP_STREAM_VALUE   UINT64_C(0x40) /* its streams signal and wait for timelines */
#define WW_CAP_EVENT          UINT64_C(0x80) /* events between processes (event.h) */
#define WW_CAP_EVENT_IMPORTED UINT64_C(0x100) /* ... a process that imported one can record it */
/* memory that another library allocated can be wrapped, and opened by its handle */
#define WW_CAP_FOREIGN UINT64_C(0x200)
#define WW_CAP_MODULE  UINT64_C(0x400) /* kernels can be loaded and launched (module.h) */
#define WW_CAP_GRAPH   UINT64_C(0x800) /* nodes of graphs signal and wait (graph.h) */

/* ww_device_info.mps: whether processes share the GPU by CUDA's multi-process service (MPS) */
enum {
	WW_MPS_UNKNOWN = 0, /* the driver cannot tell */
	WW_MPS_OFF = 1,     /* processes use the GPU in turn, by time slices */
	WW_MPS_ON = 2       /* processes use the GPU at the same time, as clients of MPS */
};

/* What holds the bytes of a memory, see memory.h. */
enum {
	WW_MEMORY_VMM = 1,  /* the device's own memory; on the host device a memfd */
	WW_MEMORY_HOST = 2, /* a memfd: mapped by the CPU, and registered with the GPU on cuda */
	/* of cuMemAlloc() or cudaMalloc(), wrapped or opened */
	WW_MEMORY_LEGACY = 3,
	/* of cuMemAllocAsync(), from a pool that can be exported; wrapped */
	WW_MEMORY_CUDA_POOL = 4
};

/* What may be done with a memory; each includes the one before. */
enum {
	WW_ACCESS_READ = 1,
	WW_ACCESS_WRITE = 2 /* read and write */
};

/* How this process reaches the bytes of a memory. */
enum {
	WW_ROUTE_LOCAL = 1,          /* device memory, mapped on the GPU that holds it */
	WW_ROUTE_PEER = 2,           /* mapped on one GPU, held by another visible GPU */
	WW_ROUTE_PEER_HIDDEN = 3,    /* ... held by a GPU that CUDA_VISIBLE_DEVICES hides */
	WW_ROUTE_HOST = 4,           /* host memory, mapped by the CPU */
	WW_ROUTE_HOST_REGISTERED = 5 /* host memory that a GPU reads and writes in place */
};

#define WW_DEVICE_UUID_BYTES   16
#define WW_DEVICE_NAME_BYTES   96
#define WW_DEVICE_DRIVER_BYTES 64

/**
 * struct ww_device_info - what a device is and what it can do
 * @struct_size:   set by the caller to sizeof(struct ww_device_info)
 * @backend:       WW_BACKEND_...
 * @index:         the N of "cuda:N" in this process; 0 on host
 * @mps:           WW_MPS_...; WW_MPS_OFF on host
 * @capabilities:  WW_CAP_... bits
 * @granularity:   bytes; sizes of vmm memory are rounded up to a multiple of it
 * @bytes_total:   all bytes of device memory (MemTotal on host)
 * @uuid:          the same in every process: of the GPU; on host of this boot of the machine
 * @selector:      the name that opens this device in this process, such as "cuda:0"
 * @name:          the product's name, such as "NVIDIA H200"
 * @driver:        version of the driver, such as "CUDA 13.0, driver 580.159.04"; the kernel's on
 *                 host
 */
struct ww_device_info {
	uint32_t struct_size;
	uint32_t backend;
	uint32_t index;
	uint32_t mps;
	uint64_t capabilities;
	uint64_t granularity;
	uint64_t bytes_total;
	uint8_t uuid[WW_DEVICE_UUID_BYTES];
	char selector[16];
	char name[WW_DEVICE_NAME_BYTES];
	char driver[WW_DEVICE_DRIVER_BYTES];
};

/**
 * ww_device_count() - how many devices of a backend this process can see
 * @backend:    WW_BACKEND_HOST (always one) or WW_BACKEND_CUDA
 * @out_count:  set on success; "cuda:0" .. "cuda:<count - 1>" can then be tried
 *
 * Return: WW_OK; WW_ERR_NO_DEVICE (no driver, or it does not start; the record says why);
 *         WW_ERR_INVALID; WW_ERR_DEVICE; WW_ERR_FORKED.
 */
WW_API ww_status ww_device_count(uint32_t backend, uint32_t *out_count);

/**
 * ww_device_open() - open a device by name
 * @name:        "host"; "cuda:N", the Nth GPU that this process can see; "cuda:UUID" with the UUID
 *               as nvidia-smi -L prints it, with or without "GPU-"; NULL: the first GPU with
 *               WW_CAP_EXPORT and WW_CAP_MANY_PROCESSES, else host
 * @out_device:  the caller's; NULL on failure. If a device is opened twice, both calls return the
 *               same object with one more reference
 *
 * The call loads libcuda.so.1 if @name is NULL or names a GPU. It makes no context.
 *
 * Return: WW_OK; WW_ERR_INVALID (not a device name); WW_ERR_NO_DEVICE (no such device here, or no
 *         working driver); WW_ERR_NO_MEMORY; WW_ERR_DEVICE; WW_ERR_DEVICE_MEMORY; WW_ERR_FORKED.
 */
WW_API ww_status ww_device_open(const char *name, ww_device **out_device);

/**
 * ww_device_ref() - take one more reference of a device
 * Return: @device.
 */
WW_API ww_device *ww_device_ref(ww_device *device);

/**
 * ww_device_unref() - release a reference of a device
 * @device:  may be NULL
 *
 * Each memory and each stream of the device keeps it open.
 *
 * Return: NULL.
 */
WW_API ww_device *ww_device_unref(ww_device *device);

/**
 * ww_device_info_get() - describe a device
 * @device:  borrowed
 * @info:    the caller's, with struct_size set; filled on success
 *
 * The call makes no context. All fields but @mps are the same at each call.
 *
 * Return: WW_OK; WW_ERR_INVALID (struct_size is not set); WW_ERR_DEVICE; WW_ERR_FORKED.
 */
WW_API ww_status ww_device_info_get(ww_device *device, struct ww_device_info *info);

/**
 * ww_device_free_bytes() - how much memory of a device is free now
 * @device:     borrowed
 * @out_bytes:  bytes of device memory; on host MemAvailable of the machine; 0 on failure
 *
 * On a GPU this needs a context (see CUDA at the top of device.h). If this call makes the context,
 * the result does not include its memory.
 *
 * Return: WW_OK; WW_ERR_INVALID; WW_ERR_DEVICE; WW_ERR_DEVICE_MEMORY, WW_ERR_NO_DEVICE (no context
 *         can be made); WW_ERR_FORKED.
 */
WW_API ww_status ww_device_free_bytes(ww_device *device, uint64_t *out_bytes);

/**
 * ww_stream_create() - make a queue of work on a device
 * @device:      borrowed; the stream keeps it open
 * @out_stream:  the caller's; NULL on failure
 *
 * Work of one stream runs in order. Work of two streams runs in any order. On the host device this
 * call starts a thread, which blocks all signals and ends with the stream.
 *
 * Return: WW_OK; WW_ERR_LIMIT (no more threads); WW_ERR_NO_MEMORY; WW_ERR_DEVICE...; WW_ERR_FORKED.
 */
WW_API ww_status ww_stream_create(ww_device *device, ww_stream **out_stream);

/**
 * ww_stream_wrap() - use a stream that the caller made with CUDA
 * @device:      borrowed; the device the stream belongs to
 * @native:      a CUstream (a cudaStream_t is the same); NULL, CU_STREAM_LEGACY and
 *               CU_STREAM_PER_THREAD mean CUDA's default streams. The caller owns it, and it must
 *               outlive the ww_stream
 * @out_stream:  the caller's; NULL on failure. Its last unref does not destroy @native
 *
 * Return: WW_OK; WW_ERR_UNSUPPORTED (device without WW_CAP_STREAM_WRAP); WW_ERR_INVALID (a stream
 *         of another device); WW_ERR_STATE (it is captured into a graph); WW_ERR_NO_MEMORY;
 *         WW_ERR_DEVICE; WW_ERR_FORKED.
 */
WW_API ww_status ww_stream_wrap(ww_device *device, void *native, ww_stream **out_stream);

/**
 * ww_stream_ref() - take one more reference of a stream
 * Return: @stream.
 */
WW_API ww_stream *ww_stream_ref(ww_stream *stream);

/**
 * ww_stream_unref() - release a reference of a stream
 * @stream:  may be NULL
 *
 * Work that was enqueued still runs. May block: the last unref of a stream that the library made
 * waits for that work. On the host device, an unref in a function that this stream calls does not
 * wait.
 *
 * Return: NULL.
 */
WW_API ww_stream *ww_stream_unref(ww_stream *stream);

/**
 * ww_stream_native() - the driver's own handle of a stream
 *
 * Return: the CUstream on cuda, borrowed; NULL on host.
 */
WW_API void *ww_stream_native(ww_stream *stream);

/**
 * ww_stream_synchronize() - wait until all work enqueued so far has run
 * @stream:      borrowed
 * @timeout_ns:  0: do not wait; WW_FOREVER
 * @cancel:      borrowed; may be NULL: cancel.h
 *
 * With WW_FOREVER and without @cancel, the driver waits for a GPU's stream. Otherwise the call asks
 * the driver again and again, at most every 2 ms.
 *
 * Return: WW_OK; WW_TIMED_OUT; WW_CANCELLED; WW_ERR_INVALID (called by a function that runs on this
 *         stream); WW_ERR_STATE (it is captured into a graph); WW_ERR_DEVICE (work of the stream
 *         failed); WW_ERR_PEER_LOST; WW_ERR_FORKED.
 */
WW_API ww_status ww_stream_synchronize(ww_stream *stream, uint64_t timeout_ns, ww_cancel *cancel);

/**
 * ww_stream_query() - ask whether all work enqueued so far has run, and whether the stream is lost
 *
 * Return: WW_OK (all has run); WW_NOT_READY; WW_ERR_STATE (it is captured into a graph);
 *         WW_ERR_DEVICE (work of the stream failed); WW_ERR_PEER_LOST; WW_ERR_FORKED.
 */
WW_API ww_status ww_stream_query(ww_stream *stream);

/**
 * ww_stream_recover() - clear the loss of a stream, so that it can be used again
 * @stream:  borrowed; every other ww_stream of the same native stream is cleared too
 *
 * Call it after you have discarded the results of the stream after the wait that failed. Every loss
 * up to now is cleared, also one that no call has returned yet. If the stream still waits for other
 * processes, and one of them ends later, the stream is lost again. The call does not wait: earlier
 * work may still run.
 *
 * Return: WW_OK (also if the stream was not lost); WW_ERR_INVALID; WW_ERR_FORKED.
 */
WW_API ww_status ww_stream_recover(ww_stream *stream);

/**
 * ww_stream_fn - a function that a stream calls between two pieces of its work
 *
 * The function runs on a thread of the library or of the driver. On cuda it must call neither CUDA
 * nor this library (CUDA's rule). On host it may, but a program for all devices should not.
 */
typedef void (*ww_stream_fn)(void *context);

/**
 * ww_stream_call() - enqueue a call of a function of the host
 * @stream:   borrowed
 * @fn:       called once, after the work before it and before the work after it
 * @context:  the argument of @fn; must stay valid until @fn has returned
 *
 * Return: WW_OK; WW_ERR_STATE (the stream is captured into a CUDA graph); WW_ERR_NO_MEMORY;
 *         WW_ERR_DEVICE; WW_ERR_PEER_LOST; WW_ERR_FORKED.
 */
WW_API ww_status ww_stream_call(ww_stream *stream, ww_stream_fn fn, void *context);

/**
 * ww_stream_copy() - enqueue a copy of bytes
 * @stream:       borrowed
 * @destination:  device memory, or memory of the CPU
 * @source:       device memory of any device that this one reaches, or memory of the CPU
 * @bytes:        0 is allowed and does nothing
 *
 * All four directions are possible. Both spans must stay valid until the copy has run. (The library
 * keeps only its own memory of the host device until then.) If the spans overlap, the contents are
 * undefined on cuda. With pageable CPU memory, CUDA may finish the copy, or its use of the source,
 * before this returns.
 *
 * If a span touches memory that this library has mapped, it is checked before anything is enqueued:
 * it must be inside one mapping, the destination must not be mapped read-only, and a host stream
 * must be able to reach it (it cannot reach the memory of a GPU).
 *
 * Return: WW_OK (enqueued); WW_ERR_ACCESS (the destination is mapped read-only); WW_ERR_INVALID (a
 *         span leaves its memory, or the driver knows no such memory); WW_ERR_OVERFLOW;
 *         WW_ERR_NO_MEMORY; WW_ERR_DEVICE; WW_ERR_PEER_LOST; WW_ERR_FORKED.
 */
WW_API ww_status ww_stream_copy(ww_stream *stream, void *destination, const void *source,
	uint64_t bytes);

/**
 * ww_stream_fill() - enqueue filling a span with one value
 * @stream:        borrowed
 * @destination:   device memory, or memory of kind host; aligned to @value_bytes
 * @value:         its low @value_bytes bytes are repeated, in the machine's byte order
 * @value_bytes:   1, 2 or 4
 * @count:         how many values, not bytes; 0 is allowed and does nothing
 *
 * The span is checked and kept as by ww_stream_copy().
 *
 * Return: as ww_stream_copy(); WW_ERR_INVALID also if @value_bytes or the alignment is wrong.
 */
WW_API ww_status ww_stream_fill(ww_stream *stream, void *destination, uint32_t value,
	uint32_t value_bytes, uint64_t count);

#ifdef __cplusplus
}
#endif

#endif
