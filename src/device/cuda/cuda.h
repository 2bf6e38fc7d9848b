/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda.h - what the files of the cuda backend share
 */
#ifndef WW_DEVICE_CUDA_CUDA_H
#define WW_DEVICE_CUDA_CUDA_H

#include <pthread.h>

#include "device/backend.h"
#include "device/cuda/driver.h"
#include "device/cuda/relaxed_mode.h"
#include "device/handle_page.h"
#include "device/mapping.h"

struct cuda_device {
	struct ww_device base;
	const struct ww_cuda_driver *driver;
	ww_CUdevice ordinal;
	pthread_mutex_t lock;
	ww_CUcontext primary; /* under lock; NULL until something needed a context */

	/* copy.c */
	bool is_copying;           /* under lock */
	pthread_cond_t has_copied; /* is_copying has changed */
	ww_CUstream copy_stream;   /* in the primary context, of one copy; NULL: none yet */
};

static inline struct cuda_device *ww_cuda_device(struct ww_device *device)
{
	return ww_container(device, struct cuda_device, base);
}

/*
 * A stretch of calls of the driver. The thread is in the relaxed mode of captures, so that no call
 * ends a capture of the program, and has a context current: the caller's if it belongs to the
 * device, else the device's primary one. Leaving puts back what was before.
 */
struct ww_cuda_scope {
	const struct ww_cuda_driver *driver; /* NULL: nothing to put back */
	struct ww_cuda_relaxed relaxed;
	bool is_pushed; /* a context */
};

ww_status ww_cuda_enter(struct cuda_device *device, struct ww_cuda_scope *out_scope);
ww_status ww_cuda_enter_context(struct cuda_device *device, ww_CUcontext context,
	struct ww_cuda_scope *out_scope);

/*
 * For making what lives on in the context: that is handed out too, and kept if it is the primary
 * one.
 */
ww_status ww_cuda_enter_to_stay(struct cuda_device *device, struct ww_cuda_scope *out_scope,
	ww_CUcontext *out_context);
void ww_cuda_leave(struct ww_cuda_scope *scope);

#define WW_AUTO_CUDA_SCOPE WW_CLEANUP(ww_cuda_leave) __attribute__((unused))

/* The device's primary context, which is made if it does not exist, and kept while the device is
 * open. */
ww_status ww_cuda_primary(struct cuda_device *device, ww_CUcontext *out_context);

/* Whether a context is the device's primary one, and kept. */
bool ww_cuda_is_primary(struct cuda_device *device, ww_CUcontext context);

/* Lets the primary context go, if it was made. */
void ww_cuda_context_fini(struct cuda_device *device);

/* capture.c */

/* Enters the relaxed mode alone, for calls that need no context. */
struct ww_cuda_scope ww_cuda_relax(const struct ww_cuda_driver *driver);

/* Waits for all work of the current context. */
void ww_cuda_await_context(const struct ww_cuda_driver *driver);

/* For a call that a graph cannot contain. Return: WW_OK; WW_ERR_STATE: the stream is captured. */
ww_status ww_cuda_check_capture(const struct ww_cuda_driver *driver, ww_CUstream stream);

/* Whether a stream is known to be captured. In the primary context. */
bool ww_cuda_any_captured(const struct cuda_device *device);

/* backend.c. Return: the index of a GPU, and its ordinal; -1: this process does not see it. */
int ww_cuda_find_uuid(const struct ww_cuda_driver *driver, const uint8_t uuid[WW_DEVICE_UUID_BYTES],
	ww_CUdevice *out_ordinal);

/* vmm.c: memory of cuMemCreate() */
ww_status ww_cuda_vmm_create(struct ww_mapping *mapping, uint64_t bytes);
ww_status ww_cuda_vmm_import(struct ww_mapping *mapping, const struct ww_memory_source *source,
	uint32_t access);
ww_status ww_cuda_vmm_protect(struct ww_mapping *mapping, uint32_t access);
ww_status ww_cuda_vmm_export(struct ww_mapping *mapping, int *out_fd);
void ww_cuda_vmm_release(struct ww_mapping *mapping);

/* Gives back what a mapping has of an allocation that others made and map. */
void ww_cuda_vmm_disown(struct ww_mapping *mapping);

/* The granularity of vmm memory in bytes. */
ww_status ww_cuda_vmm_granularity(struct cuda_device *device, uint64_t *out_bytes);

/* host_memory.c: memfds that the GPU reads and writes in place */
ww_status ww_cuda_host_create(struct ww_mapping *mapping, uint64_t bytes);
ww_status ww_cuda_host_import(struct ww_mapping *mapping, const struct ww_memory_source *source,
	uint32_t access);
void ww_cuda_host_release(struct ww_mapping *mapping);

/* foreign.c: memory that others allocated, wrapped here; as the ops of the backend */
struct cuda_foreign {
	struct ww_handle_page page; /* that it travels in; none as long as it was not exported */
	uint64_t buffer_id;         /* wrapped: of the allocation */
	bool is_withdrawn;          /* wrapped: under the mapping's lock */
	struct cuda_pool *pool;     /* that it is from: a reference; wrapped: once exported */
	struct cuda_legacy *legacy; /* opened by a handle */
};

ww_status ww_cuda_foreign_find(struct ww_device *device, void *pointer, uint64_t bytes,
	struct ww_foreign *out_found);
ww_status ww_cuda_foreign_wrap(struct ww_mapping *mapping, const struct ww_foreign *found);
ww_status ww_cuda_foreign_check(struct ww_mapping *mapping);
void ww_cuda_foreign_withdraw(struct ww_mapping *mapping);
ww_status ww_cuda_foreign_export(struct ww_mapping *mapping, int *out_fd);
ww_status ww_cuda_foreign_handle(struct ww_mapping *mapping,
	uint8_t out_handle[WW_FOREIGN_HANDLE_BYTES]);
ww_status ww_cuda_foreign_pool(struct ww_mapping *mapping, int *out_fd);
void ww_cuda_foreign_release(struct ww_mapping *mapping);

/* The allocation's number; 0: there is none at this address. In a context. */
ww_CUresult ww_cuda_buffer_id(const struct ww_cuda_driver *driver, const void *pointer,
	uint64_t *out_id);

/* foreign_import.c: memory that another process wrapped, or whose handle it gave away */
ww_status ww_cuda_foreign_import(struct ww_mapping *mapping, const struct ww_memory_source *source,
	uint32_t access);
ww_status ww_cuda_foreign_open(struct ww_mapping *mapping,
	const uint8_t handle[WW_FOREIGN_HANDLE_BYTES], uint32_t access);
void ww_cuda_foreign_close(struct ww_mapping *mapping);
void ww_cuda_foreign_retire(struct ww_mapping *mapping); /* of any kind */

/* pool.c: stream-ordered pools, between processes */

/*
 * The pool of an allocation here, with a descriptor for others.
 * @witness:  the allocation, of this buffer id: as long as it is there, a pool of the same handle
 *            is the same
 * Return: WW_OK; as ww_cuda_fail(); WW_ERR_LIMIT; WW_ERR_NO_MEMORY.
 */
ww_status ww_cuda_pool_export(struct cuda_device *device, ww_CUmemoryPool handle,
	const void *witness, uint64_t buffer_id, struct cuda_pool **out_pool);
void ww_cuda_pool_forget(struct cuda_device *device, struct cuda_pool *pool, uint64_t buffer_id);
const uint8_t *ww_cuda_pool_id(const struct cuda_pool *pool);
ww_status ww_cuda_pool_duplicate(const struct cuda_pool *pool, int *out_fd);

/*
 * One allocation of another process's pool.
 * @device:     that is to reach it
 * @fields:     of the allocation's page
 * @fd:         of the pool, as the other process says; borrowed
 * @page_fd:    of the page; borrowed
 * @out_pool:   keeps the allocation; to be given to ww_cuda_pool_close_pointer()
 */
ww_status ww_cuda_pool_open_pointer(struct cuda_device *device,
	const struct ww_foreign_fields *fields, int fd, int page_fd, struct cuda_pool **out_pool,
	ww_CUdeviceptr *out_address);
void ww_cuda_pool_close_pointer(struct cuda_device *device, struct cuda_pool *pool,
	ww_CUdeviceptr address);

/* stream.c */
ww_status ww_cuda_stream_create(struct ww_device *device, struct ww_stream **out_stream);
ww_status ww_cuda_stream_wrap(struct ww_device *device, void *native,
	struct ww_stream **out_stream);
void ww_cuda_stream_close(struct ww_stream *stream);
void *ww_cuda_stream_native(struct ww_stream *stream);
ww_status ww_cuda_stream_synchronize(struct ww_stream *stream, uint64_t deadline_ns);
ww_status ww_cuda_stream_query(struct ww_stream *stream);
ww_status ww_cuda_stream_call(struct ww_stream *stream, ww_stream_fn fn, void *context);
ww_status ww_cuda_stream_check_capture(struct ww_stream *stream);
ww_status ww_cuda_stream_copy(struct ww_stream *stream, void *destination, const void *source,
	uint64_t bytes, struct ww_mapping *const pinned[2]);
ww_status ww_cuda_stream_fill(struct ww_stream *stream, void *destination, uint32_t value,
	uint32_t value_bytes, uint64_t count, struct ww_mapping *pinned);
ww_status ww_cuda_stream_wait_values(struct ww_stream *stream, const struct ww_stream_value *at,
	uint32_t count);
ww_status ww_cuda_stream_write_value(struct ww_stream *stream, const struct ww_stream_value *at);

/* What the GPU is told of a word, and of a wait for it. */
ww_CUdeviceptr ww_cuda_word_address(const struct ww_stream_value *at);
ww_CUstreamBatchMemOpParams ww_cuda_wait_operation(const struct ww_stream_value *at);

/* In the stream's context. Return: as ww_stream_copy(). */
ww_status ww_cuda_enqueue_copy(struct cuda_device *device, ww_CUstream stream, void *destination,
	const void *source, uint64_t bytes);

/*
 * Makes the context current that calls on the stream need. Return: WW_OK; WW_ERR_STATE (a default
 * stream, beside the capture of a blocking one); as ww_cuda_fail().
 */
ww_status ww_cuda_stream_enter(struct ww_stream *stream, struct ww_cuda_scope *out_scope);

/* graph.c */
ww_status ww_cuda_graph_add(struct ww_stream *stream, void *graph, void *const *dependencies,
	uint64_t count, struct ww_device_node *node);
ww_status ww_cuda_graph_launch(struct ww_stream *stream, void *executable,
	const struct ww_device_node *const *nodes, const struct ww_stream_value *words,
	uint32_t count);

/* copy.c */
ww_status ww_cuda_copy(struct ww_device *base, void *destination, const void *source,
	uint64_t bytes, uint64_t deadline_ns);
void ww_cuda_copy_fini(struct cuda_device *device);

/* event.c */
ww_status ww_cuda_event_create(struct ww_device *device, uint64_t flags,
	struct ww_device_event **out_event);
ww_status ww_cuda_event_open(struct ww_device *device, const uint8_t handle[64],
	struct ww_device_event **out_event);
void ww_cuda_event_close(struct ww_device_event *event);
ww_status ww_cuda_event_handle(struct ww_device_event *event, uint8_t out_handle[64]);
ww_status ww_cuda_event_record(struct ww_device_event *event, struct ww_stream *stream);
ww_status ww_cuda_event_stream_wait(struct ww_device_event *event, struct ww_stream *stream);
ww_status ww_cuda_event_query(struct ww_device_event *event);
ww_status ww_cuda_event_synchronize(struct ww_device_event *event);

/* module.c */
ww_status ww_cuda_module_load(struct ww_device *device, const struct ww_module_image *image,
	struct ww_module **out_module);
void ww_cuda_module_unload(struct ww_module *module);
ww_status ww_cuda_kernel_open(struct ww_module *module, const char *name,
	struct ww_kernel **out_kernel);
void ww_cuda_kernel_close(struct ww_kernel *kernel);
ww_status ww_cuda_kernel_launch(struct ww_kernel *kernel, struct ww_stream *stream,
	const struct ww_launch *launch);

/* fence.c */
ww_status ww_cuda_fence_create(struct ww_device *device, struct ww_device_fence **out_fence);
bool ww_cuda_fence_is_passed(struct ww_device_fence *fence);
void ww_cuda_fence_free(struct ww_device_fence *fence);

#endif
