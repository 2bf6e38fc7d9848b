/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mapping.h - bytes, and where this process sees them
 *
 * A mapping is a span of memory together with its place in this process's address space: on one device,
 * with one access. It is counted: the memory layer holds one reference, and work on a host stream
 * holds one for as long as it needs the bytes.
 *
 * All mappings stand in one table ordered by address, so that a copy or a fill that is given bare
 * pointers can be refused when it would leave its memory or write where it may only read. The table
 * holds no references.
 */
#ifndef WW_DEVICE_MAPPING_H
#define WW_DEVICE_MAPPING_H

#include <pthread.h>

#include <warpway/device.h>

#include "base/cleanup.h"
#include "device/backend.h"

struct ww_mapping {
	struct ww_ref ref;
	struct ww_device *device; /* a reference */

	/* Set by the backend, constant from then on. */
	enum ww_backing backing;
	uint32_t kind;   /* WW_MEMORY_... */
	uint32_t access; /* WW_ACCESS_... */
	uint32_t route;  /* WW_ROUTE_... */
	uint64_t bytes;
	void *pointer;      /* for the device */
	void *host_pointer; /* for the CPU; NULL when it cannot reach the bytes */
	uint64_t native; /* cuda: CUmemGenericAllocationHandle of vmm, CUcontext of host memory */

	pthread_mutex_t lock; /* held while fd is made, across a call of the driver */
	_Atomic int
		fd; /* names the bytes; memfd: from the start; vmm: once exported or imported, else
			   -1. Set once; whoever reads it may use it as long as the mapping lives */
};

/*
 * Make a mapping, with one reference and an entry in the table.
 * Return: WW_OK; as ww_memory_create() and ww_memory_import_fd().
 */
ww_status ww_mapping_create(struct ww_device *device, uint32_t kind, uint64_t bytes,
	struct ww_mapping **out_mapping);
ww_status ww_mapping_import(struct ww_device *device, const struct ww_memory_source *source,
	uint32_t access, struct ww_mapping **out_mapping);

struct ww_mapping *ww_mapping_ref(struct ww_mapping *mapping);
struct ww_mapping *ww_mapping_unref(struct ww_mapping *mapping); /* takes NULL, returns NULL */

WW_DEFINE_CLEANUP(struct ww_mapping, ww_mapping_unref)
#define WW_AUTO_MAPPING WW_CLEANUP(ww_mapping_unref_p)

/*
 * A new descriptor for the bytes, the caller's. With @access read, of a memfd, it is one that the kernel
 * refuses to map for writing.
 */
ww_status ww_mapping_export(struct ww_mapping *mapping, uint32_t access, int *out_fd);

/* Whether @fd certainly names the bytes of @mapping, by the kernel's word. */
bool ww_mapping_is_named_by(struct ww_mapping *mapping, int fd);

/*
 * Looks up a span that is about to be read or written.
 * @access:       what is about to be done
 * @out_mapping:  a reference to the mapping it lies in; NULL when it touches none of ours
 *
 * Return: WW_OK; WW_ERR_INVALID (it lies partly in a mapping); WW_ERR_ACCESS; WW_ERR_OVERFLOW.
 */
ww_status ww_mapping_find(const void *address, uint64_t bytes, uint32_t access,
	struct ww_mapping **out_mapping);

/* How many spans the table has; for tests that look for leaks. */
size_t ww_mapping_count(void);

#endif
