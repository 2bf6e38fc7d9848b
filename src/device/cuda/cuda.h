/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda.h - what the files of the cuda backend share
 */
#ifndef WW_DEVICE_CUDA_CUDA_H
#define WW_DEVICE_CUDA_CUDA_H

#include <pthread.h>

#include "device/backend.h"
#include "device/cuda/driver.h"
#include "device/mapping.h"

struct cuda_device {
	struct ww_device base;
	const struct ww_cuda_driver *driver;
	ww_CUdevice ordinal;
	pthread_mutex_t lock;
	ww_CUcontext primary; /* under lock; NULL until something needed a context */
};

static inline struct cuda_device *ww_cuda_device(struct ww_device *device)
{
	return ww_container(device, struct cuda_device, base);
}

/*
 * A stretch of calls with a context current: the caller's if it belongs to the device, else the
 * device's primary one. Leaving puts back what was current.
 */
struct ww_cuda_scope {
	const struct ww_cuda_driver *driver; /* NULL: nothing to put back */
};

ww_status ww_cuda_enter(struct cuda_device *device, struct ww_cuda_scope *out_scope);
ww_status ww_cuda_enter_context(struct cuda_device *device, ww_CUcontext context,
	struct ww_cuda_scope *out_scope);

/* For making what lives on in the context: that is handed out too, and kept if it is the primary one. */
ww_status ww_cuda_enter_to_stay(struct cuda_device *device, struct ww_cuda_scope *out_scope,
	ww_CUcontext *out_context);
void ww_cuda_leave(struct ww_cuda_scope *scope);

#define WW_AUTO_CUDA_SCOPE WW_CLEANUP(ww_cuda_leave)

/* Lets the primary context go, if it was made. */
void ww_cuda_context_fini(struct cuda_device *device);

/* vmm.c: memory of cuMemCreate() */
ww_status ww_cuda_vmm_create(struct ww_mapping *mapping, uint64_t bytes);
ww_status ww_cuda_vmm_import(struct ww_mapping *mapping, const struct ww_memory_source *source,
	uint32_t access);
ww_status ww_cuda_vmm_export(struct ww_mapping *mapping, int *out_fd);
void ww_cuda_vmm_release(struct ww_mapping *mapping);

/* The granularity of vmm memory in bytes. */
ww_status ww_cuda_vmm_granularity(struct cuda_device *device, uint64_t *out_bytes);

/* host_memory.c: memfds that the GPU reads and writes in place */
ww_status ww_cuda_host_create(struct ww_mapping *mapping, uint64_t bytes);
ww_status ww_cuda_host_import(struct ww_mapping *mapping, const struct ww_memory_source *source,
	uint32_t access);
void ww_cuda_host_release(struct ww_mapping *mapping);

/* stream.c */
ww_status ww_cuda_stream_create(struct ww_device *device, struct ww_stream **out_stream);
ww_status ww_cuda_stream_wrap(struct ww_device *device, void *native,
	struct ww_stream **out_stream);
void ww_cuda_stream_close(struct ww_stream *stream);
void *ww_cuda_stream_native(struct ww_stream *stream);
ww_status ww_cuda_stream_synchronize(struct ww_stream *stream);
ww_status ww_cuda_stream_query(struct ww_stream *stream);
ww_status ww_cuda_stream_call(struct ww_stream *stream, ww_stream_fn fn, void *context);
ww_status ww_cuda_stream_copy(struct ww_stream *stream, void *destination, const void *source,
	uint64_t bytes, struct ww_mapping *const pinned[2]);
ww_status ww_cuda_stream_fill(struct ww_stream *stream, void *destination, uint32_t value,
	uint32_t value_bytes, uint64_t count, struct ww_mapping *pinned);
ww_status ww_cuda_stream_wait_value(struct ww_stream *stream, const struct ww_stream_value *at);
ww_status ww_cuda_stream_write_value(struct ww_stream *stream, const struct ww_stream_value *at);

/* Makes the context current that calls on the stream need. */
ww_status ww_cuda_stream_enter(struct ww_stream *stream, struct ww_cuda_scope *out_scope);

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

#endif
