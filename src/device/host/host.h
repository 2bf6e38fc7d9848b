/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host.h - what the files of the host backend share
 */
#ifndef WW_DEVICE_HOST_HOST_H
#define WW_DEVICE_HOST_HOST_H

#include "device/backend.h"

ww_status ww_host_stream_create(struct ww_device *device, struct ww_stream **out_stream);
void ww_host_stream_close(struct ww_stream *stream);
ww_status ww_host_stream_synchronize(struct ww_stream *stream, uint64_t deadline_ns);
ww_status ww_host_stream_query(struct ww_stream *stream);
ww_status ww_host_stream_call(struct ww_stream *stream, ww_stream_fn fn, void *context);
ww_status ww_host_stream_copy(struct ww_stream *stream, void *destination, const void *source,
	uint64_t bytes, struct ww_mapping *const pinned[2]);
ww_status ww_host_stream_fill(struct ww_stream *stream, void *destination, uint32_t value,
	uint32_t value_bytes, uint64_t count, struct ww_mapping *pinned);
ww_status ww_host_stream_wait_values(struct ww_stream *stream, const struct ww_stream_value *values,
	uint32_t count);
ww_status ww_host_stream_write_value(struct ww_stream *stream, const struct ww_stream_value *value);

/* module.c */
ww_status ww_host_module_load(struct ww_device *device, const struct ww_module_image *image,
	struct ww_module **out_module);
void ww_host_module_unload(struct ww_module *module);
ww_status ww_host_kernel_open(struct ww_module *module, const char *name,
	struct ww_kernel **out_kernel);
void ww_host_kernel_close(struct ww_kernel *kernel);
ww_status ww_host_kernel_launch(struct ww_kernel *kernel, struct ww_stream *stream,
	const struct ww_launch *launch);

#endif
