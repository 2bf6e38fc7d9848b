/* SPDX-License-Identifier: Apache-2.0 */
/*
 * backend.h - what a kind of device must be able to do
 *
 * One table of typed operations for each kind of device. device.c, stream.c and mapping.c are the only
 * callers: they have checked the arguments, and know nothing of the kind.
 *
 * What holds for every operation, unless its own comment says otherwise:
 *   - it is called with no lock of the library held, from any thread, and may block;
 *   - it never calls back into the layers above;
 *   - on failure it has taken nothing, left nothing behind, filled the error record, and its
 *     out_ parameters are NULL or untouched;
 *   - the caller's current CUDA context is the same afterwards.
 */
#ifndef WW_DEVICE_BACKEND_H
#define WW_DEVICE_BACKEND_H

#include <stdbool.h>
#include <stdint.h>

#include <warpway/device.h>

#include "base/list.h"
#include "base/ref.h"

struct ww_mapping;

/*
 * A device. Each backend has a struct of its own that begins with this one. Everything but the count and
 * the link is constant from open to close, so it is read without a lock.
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

/* A stream; each backend's own struct begins with this one. */
struct ww_stream {
	struct ww_ref ref;
	struct ww_device *device; /* a reference */
};

/* What keeps the bytes of a memory. */
enum ww_backing {
	WW_BACKING_MEMFD = 1,   /* a sealed memfd */
	WW_BACKING_CUDA_VMM = 2 /* an allocation of cuMemCreate() */
};

/* A descriptor from outside, with what its description claims. Nothing of it is true until tried. */
struct ww_memory_source {
	int fd; /* borrowed */
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

	/* Fills bytes_free, bytes_total, name, driver. */
	ww_status (*info)(struct ww_device *device, struct ww_device_info *info);

	/*
	 * Makes, or takes in, bytes and maps them: fills the fields of @mapping that say so (mapping.h).
	 * create: @bytes is a multiple of what the kind is rounded up to; access is write.
	 */
	ww_status (*memory_create)(struct ww_mapping *mapping, uint32_t kind, uint64_t bytes);
	ww_status (*memory_import)(struct ww_mapping *mapping,
		const struct ww_memory_source *source, uint32_t access);
	void (*memory_release)(struct ww_mapping *mapping);

	/*
	 * Gives the descriptor that names the bytes, to be kept in mapping->fd; called under mapping->lock,
	 * once, when there is none. Needs WW_CAP_EXPORT. NULL where memory has one from the start.
	 */
	ww_status (*memory_export)(struct ww_mapping *mapping, int *out_fd);

	ww_status (*stream_create)(struct ww_device *device, struct ww_stream **out_stream);
	void (*stream_close)(struct ww_stream *stream);
	ww_status (*stream_synchronize)(struct ww_stream *stream);
	ww_status (*stream_query)(struct ww_stream *stream);
	ww_status (*stream_call)(struct ww_stream *stream, ww_stream_fn fn, void *context);

	/* @pinned: the mappings the spans lie in, or NULL; borrowed, so keep what must stay longer. */
	ww_status (*stream_copy)(struct ww_stream *stream, void *destination, const void *source,
		uint64_t bytes, struct ww_mapping *const pinned[2]);
	ww_status (*stream_fill)(struct ww_stream *stream, void *destination, uint32_t value,
		uint32_t value_bytes, uint64_t count, struct ww_mapping *pinned);

	/* Optional, WW_CAP_STREAM_WRAP: NULL without it. */
	ww_status (*stream_wrap)(struct ww_device *device, void *native,
		struct ww_stream **out_stream);
	void *(*stream_native)(struct ww_stream *stream);
};

extern const struct ww_backend ww_host_backend;
extern const struct ww_backend ww_cuda_backend;

/* Sets up what all streams have; takes a reference of the device. fini gives it back. */
void ww_stream_init(struct ww_stream *stream, struct ww_device *device);
void ww_stream_fini(struct ww_stream *stream);

#endif
