/* SPDX-License-Identifier: Apache-2.0 */
/*
 * backend.h - what a kind of device must be able to do
 *
 * One table of typed operations for each kind of device. device.c, stream.c, mapping.c and module.c
 * are the only callers: they have checked the arguments, and know nothing of the kind.
 *
 * What holds for every operation, unless its own comment says otherwise:
 *   - it is called from any thread and may block; no lock of the library is held but those of the
 *     very things it works on (a page, a timeline, a mapping), which nothing needs that would let a
 *     GPU go on;
 *   - it never calls back into the layers above;
 *   - on failure it has taken nothing, left nothing behind, filled the error record, and its out_
 *     parameters are NULL or untouched; but what memory_import and foreign_open have opened when
 *     they fail, in mapping->foreign, is left to memory_release;
 *   - the caller's current CUDA context is the same afterwards.
 */
#ifndef WW_DEVICE_BACKEND_H
#define WW_DEVICE_BACKEND_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <warpway/device.h>

#include "base/list.h"
#include "base/ref.h"

struct ww_kernel;
struct ww_launch;
struct ww_mapping;
struct ww_module;
struct ww_module_image;
struct ww_native_stream;

/*
 * A device. Each backend has a struct of its own that begins with this one. Everything but the
 * count and the link is constant from open to close, so it is read without a lock.
 */
struct ww_device {
	struct ww_ref ref;
	struct ww_list link; /* in the list of open devices, under its lock */
	const struct ww_backend *backend;
	uint32_t index;
	uint64_t capabilities; /* WW_CAP_... */
	uint64_t granularity;  /* of vmm memory, bytes */
	uint8_t uuid[WW_DEVICE_UUID_BYTES];
	char selector[16]; /* "cuda:0" */
};

/*
 * A check whether the work that a stream has done so far is valid. Its owner embeds it in a struct
 * of its own; a stream has at most one of each owner. How to put one on a stream: stream.h.
 */
struct ww_stream_watch {
	struct ww_list link;
	const void *owner;
	_Atomic uint32_t
		/* threads that are changing it, under the watch lock: it is not freed meanwhile */
		users;
	/*
	 * Return: WW_OK (all is well, and nothing is awaited any more); WW_NOT_READY (all is well
	 * so far); an error, recorded: every call on the stream returns it until
	 * ww_stream_recover(). It is freed unless WW_NOT_READY. Called under the watch lock: takes
	 * no lock, never blocks.
	 */
	ww_status (*check)(struct ww_stream_watch *watch);
	/* Not under the lock. Leaves the error record alone, and may not block. */
	void (*free)(struct ww_stream_watch *watch);
};

/* A stream; each backend's own struct begins with this one. */
struct ww_stream {
	struct ww_ref ref;
	struct ww_device *device; /* a reference */
	uint64_t serial;          /* no other one has it; 0: several in one, by thread or context */
	struct ww_native_stream
		*native; /* native_stream.h: what it shares with others of the same stream */
};

/*
 * What a stream waits for, or stores: a 64-bit word, and beside it a futex word, which a CPU that
 * stores adds 1 to and wakes, and a 32-bit word that is not 0 when a GPU may store, so that no wake
 * may come; the thread that sets it also wakes. The GPU looks at the first word only. Offsets are
 * in bytes from the start of the mapping.
 */
struct ww_stream_value {
	struct ww_mapping *mapping;
	uint64_t offset;
	uint64_t wakes_offset;
	uint64_t by_gpu_offset;
	uint64_t value;
};

#define WW_STREAM_VALUES_MAX 16

/* A node of a graph of the driver, which waits for a word as streams do, or stores one. */
struct ww_device_node {
	void *native;
	void *context;
	bool is_signal;
	/* what it does in a launch that gives it no word: nothing */
	struct ww_stream_value idle;
};

/* Of event_create. The number is that of WW_EVENT_BLOCKING_SYNC. */
#define WW_DEVICE_EVENT_BLOCKING_SYNC UINT64_C(0x2)

/* An event of the driver; each backend's own struct begins with this one. */
struct ww_device_event {
	struct ww_device *device; /* a reference */
};

/* A point in the work of a device; each backend's own struct begins with this one. */
struct ww_device_fence {
	struct ww_device *device; /* a reference */
};

/* What keeps the bytes of a memory. */
enum ww_backing {
	WW_BACKING_MEMFD = 1,       /* a sealed memfd */
	WW_BACKING_CUDA_VMM = 2,    /* an allocation of cuMemCreate() */
	WW_BACKING_CUDA_LEGACY = 3, /* one of cuMemAlloc(), which a legacy handle names */
	WW_BACKING_CUDA_POOL = 4    /* one of a stream-ordered pool that has a descriptor */
};

/*
 * Memory without a descriptor of its own: a page stands for it (handle_page.h), and nothing but its
 * owner keeps it.
 */
static inline bool ww_backing_is_foreign(enum ww_backing backing)
{
	return backing == WW_BACKING_CUDA_LEGACY || backing == WW_BACKING_CUDA_POOL;
}

#define WW_FOREIGN_HANDLE_BYTES 64

/* An allocation that was made by other means, as it is found around an address. */
struct ww_foreign {
	enum ww_backing backing; /* by which way it can be shared */
	void *base;
	uint64_t bytes;
	uint64_t buffer_id; /* no other allocation of this process has, or had, the same */
};

/*
 * A descriptor from outside, with what its description claims. Nothing of it is true until tried.
 */
struct ww_memory_source {
	int fd;      /* borrowed */
	int pool_fd; /* borrowed; of backing WW_BACKING_CUDA_POOL the pool's, else -1 */
	enum ww_backing backing;
	uint32_t kind; /* WW_MEMORY_... */
	uint64_t bytes;
	const uint8_t *home_uuid; /* WW_DEVICE_UUID_BYTES */
};

struct ww_backend {
	const char *name; /* "cuda"; what stands before the colon in a device's name */
	uint32_t id;      /* WW_BACKEND_... */

	ww_status (*count)(uint32_t *out_count);

	/*
	 * Describes one device; the caller drops what it gets if the device is open already.
	 * @selector: what stands behind the colon; NULL: the first that can export memory
	 * Called under the lock of the list of devices.
	 */
	ww_status (*open)(const char *selector, struct ww_device **out_device);
	void (*close)(struct ww_device *device);

	/* Fills mps, bytes_total, name, driver. Makes no context. */
	ww_status (*info)(struct ww_device *device, struct ww_device_info *info);
	ww_status (*free_bytes)(struct ww_device *device, uint64_t *out_bytes);

	/*
	 * Whether a kernel has faulted, so that nothing more runs in this process; NULL: none can.
	 * It does not disturb the capture of a stream. Return: WW_OK, also where it cannot be
	 * known; WW_ERR_DEVICE.
	 */
	ww_status (*check_fault)(struct ww_device *device);

	/*
	 * Makes, or takes in, bytes and maps them: fills the fields of @mapping that say so
	 * (mapping.h). create: @bytes is a multiple of what the kind is rounded up to; access is
	 * write.
	 */
	ww_status (*memory_create)(struct ww_mapping *mapping, uint32_t kind, uint64_t bytes);
	ww_status (*memory_import)(struct ww_mapping *mapping,
		const struct ww_memory_source *source, uint32_t access);
	void (*memory_release)(struct ww_mapping *mapping);

	/*
	 * No object has it any more, but it will be released later, see mapping.h. Optional; takes
	 * no lock of others, never blocks.
	 */
	void (*memory_retire)(struct ww_mapping *mapping);

	/*
	 * Changes what a mapping allows, and nothing else of it. Nothing writes it meanwhile. Not
	 * of wrapped memory; under mapping->lock. Return: WW_ERR_UNSUPPORTED (that cannot be done
	 * where it is mapped); others as memory_import.
	 */
	ww_status (*memory_protect)(struct ww_mapping *mapping, uint32_t access);

	/*
	 * Gives the descriptor that names the bytes, to be kept in mapping->fd; called under
	 * mapping->lock, once, when there is none. Needs WW_CAP_EXPORT. NULL where memory has one
	 * from the start.
	 */
	ww_status (*memory_export)(struct ww_mapping *mapping, int *out_fd);

	/*
	 * Memory that others allocated: optional, WW_CAP_FOREIGN, NULL without it. find: what the
	 * allocation around a span is, and whether it can be shared; takes nothing. wrap: makes a
	 * mapping of it; its memory_release leaves the allocation alone. check: whether the
	 * allocation of a mapping is still there: one that was wrapped (WW_ERR_STATE), or that its
	 * owner has not withdrawn (WW_ERR_NOT_FOUND, WW_ERR_PEER_LOST). Of any mapping; may not
	 * block. withdraw: one that was wrapped is known to be freed: a process that has been given
	 * its handle cannot open that any more, for it might open other memory in its place. Called
	 * under mapping->lock. open, handle: by the 64 bytes of a legacy handle; see
	 * ww_memory_handle_open(), ww_memory_handle_get(). pool: a descriptor of the pool that the
	 * mapping is from, the caller's.
	 */
	ww_status (*foreign_find)(struct ww_device *device, void *pointer, uint64_t bytes,
		struct ww_foreign *out_found);
	ww_status (*foreign_wrap)(struct ww_mapping *mapping, const struct ww_foreign *found);
	ww_status (*foreign_check)(struct ww_mapping *mapping);
	void (*foreign_withdraw)(struct ww_mapping *mapping);
	ww_status (*foreign_open)(struct ww_mapping *mapping,
		const uint8_t handle[WW_FOREIGN_HANDLE_BYTES], uint32_t access);
	ww_status (*foreign_handle)(struct ww_mapping *mapping,
		uint8_t out_handle[WW_FOREIGN_HANDLE_BYTES]);
	ww_status (*foreign_pool)(struct ww_mapping *mapping, int *out_fd);

	ww_status (*stream_create)(struct ww_device *device, struct ww_stream **out_stream);
	void (*stream_close)(struct ww_stream *stream);
	ww_status (*stream_synchronize)(struct ww_stream *stream, uint64_t deadline_ns);
	ww_status (*stream_query)(struct ww_stream *stream);
	ww_status (*stream_call)(struct ww_stream *stream, ww_stream_fn fn, void *context);

	/*
	 * Optional: NULL where no stream is captured. Return: WW_OK; WW_ERR_STATE: the stream is
	 * captured into a graph.
	 */
	ww_status (*stream_check_capture)(struct ww_stream *stream);

	/*
	 * @pinned: the mappings the spans lie in, or NULL; borrowed, so keep what must stay longer.
	 */
	ww_status (*stream_copy)(struct ww_stream *stream, void *destination, const void *source,
		uint64_t bytes, struct ww_mapping *const pinned[2]);
	ww_status (*stream_fill)(struct ww_stream *stream, void *destination, uint32_t value,
		uint32_t value_bytes, uint64_t count, struct ww_mapping *pinned);

	/*
	 * Optional, WW_CAP_STREAM_VALUE: NULL without it. Work that touches a word of a mapping of
	 * kind host. wait: later work waits until the word is at least value->value, as a signed
	 * difference; of several words (at most WW_STREAM_VALUES_MAX) until each is. write: after
	 * the work before it, and after all its stores can be seen by the whole system, stores it.
	 * The mapping is borrowed: a host stream keeps it until the work is done, for a GPU the
	 * caller does.
	 */
	ww_status (*stream_wait_values)(struct ww_stream *stream, const struct ww_stream_value *at,
		uint32_t count);
	ww_status (*stream_write_value)(struct ww_stream *stream, const struct ww_stream_value *at);

	/*
	 * Optional, WW_CAP_GRAPH: NULL without it. graph_add: adds a node, which is idle; is_signal
	 * and idle are set, the rest is filled. @graph: NULL: the one that @stream is captured
	 * into, where the node comes behind the work of the stream so far. graph_launch: launches
	 * an executable graph. In this launch the nodes wait for these words, or store them, and in
	 * no other one. On failure nothing was launched.
	 */
	ww_status (*graph_add)(struct ww_stream *stream, void *graph, void *const *dependencies,
		uint64_t count, struct ww_device_node *node);
	ww_status (*graph_launch)(struct ww_stream *stream, void *executable,
		const struct ww_device_node *const *nodes, const struct ww_stream_value *words,
		uint32_t count);

	/*
	 * Events of the driver between processes: optional, NULL where it has none. WW_CAP_EVENT is
	 * set all the same where the layer above makes its events of timelines, as on host. open:
	 * of another process, by 64 bytes. query: WW_OK, WW_NOT_READY. record, stream_wait: a
	 * stream of the event's device, and on cuda of its context; else WW_ERR_INVALID. Other
	 * errors: see event.h.
	 */
	ww_status (*event_create)(struct ww_device *device, uint64_t flags,
		struct ww_device_event **out_event);
	ww_status (*event_open)(struct ww_device *device, const uint8_t handle[64],
		struct ww_device_event **out_event);
	void (*event_close)(struct ww_device_event *event);
	ww_status (*event_handle)(struct ww_device_event *event, uint8_t out_handle[64]);
	ww_status (*event_record)(struct ww_device_event *event, struct ww_stream *stream);
	ww_status (*event_stream_wait)(struct ww_device_event *event, struct ww_stream *stream);
	ww_status (*event_query)(struct ww_device_event *event);
	ww_status (*event_synchronize)(struct ww_device_event *event);

	/*
	 * Optional: NULL where only the library's own streams use memory. A point behind all work
	 * that this process's streams of the device have been given so far, by any code; on
	 * cuda those of the primary context. create: NULL with WW_OK: there is no such work; NULL
	 * with WW_NOT_READY: not before a capture has ended. On failure it is not known what runs,
	 * and the call may be tried again. is_passed: never blocks. free: of one that is passed;
	 * may wait a short time for what is_passed could not see.
	 */
	ww_status (*fence_create)(struct ww_device *device, struct ww_device_fence **out_fence);
	bool (*fence_is_passed)(struct ww_device_fence *fence);
	void (*fence_free)(struct ww_device_fence *fence);

	/*
	 * Optional: NULL where the CPU reaches all memory. Copies at once, between memory that the
	 * device reaches and the CPU does not and memory of the CPU. It waits for no work that any
	 * stream was given, and returns when the bytes are there.
	 * @deadline_ns:  until when it may wait for copies of other threads; one that has begun is
	 *                waited for
	 * Return: WW_OK; WW_TIMED_OUT, WW_CANCELLED (nothing was copied); an error.
	 */
	ww_status (*copy)(struct ww_device *device, void *destination, const void *source,
		uint64_t bytes, uint64_t deadline_ns);

	/*
	 * Kernels (module.h): optional, WW_CAP_MODULE, NULL without it. load: of any kind of image,
	 * which the backend may refuse; the image is borrowed. It may wait for all work of the
	 * process, and so may kernel_open and module_unload. kernel_open: fills the info of the
	 * kernel. kernel_launch: copies the arguments before it returns.
	 */
	ww_status (*module_load)(struct ww_device *device, const struct ww_module_image *image,
		struct ww_module **out_module);
	void (*module_unload)(struct ww_module *module);
	ww_status (*kernel_open)(struct ww_module *module, const char *name,
		struct ww_kernel **out_kernel);
	void (*kernel_close)(struct ww_kernel *kernel);
	ww_status (*kernel_launch)(struct ww_kernel *kernel, struct ww_stream *stream,
		const struct ww_launch *launch);

	/* Optional, WW_CAP_STREAM_WRAP: NULL without it. */
	ww_status (*stream_wrap)(struct ww_device *device, void *native,
		struct ww_stream **out_stream);
	void *(*stream_native)(struct ww_stream *stream);
};

extern const struct ww_backend ww_host_backend;
extern const struct ww_backend ww_cuda_backend;

/*
 * For a backend that cannot map memory of GPUs. It says why the process sees no GPU, if that is so.
 * Return: WW_ERR_UNSUPPORTED.
 */
ww_status ww_device_fail_gpu_memory(void);

/*
 * Sets up what all streams have; takes a reference of the device. The backend sets stream->native
 * before any other code sees the stream. fini gives both back.
 */
void ww_stream_init(struct ww_stream *stream, struct ww_device *device);
void ww_stream_fini(struct ww_stream *stream);

#endif
