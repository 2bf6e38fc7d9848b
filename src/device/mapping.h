/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mapping.h - bytes, and where this process sees them
 *
 * A mapping is a span of memory together with its place in this process's address space: on one
 * device, with one access. It is counted: the memory layer holds one reference, and work on a host
 * stream holds one for as long as it needs the bytes.
 *
 * All mappings stand in one table ordered by address, so that a copy or a fill that is given bare
 * pointers can be refused when it would leave its memory or write where it may only read. The table
 * holds no references. Memory that was wrapped is not in it: its addresses are the caller's, who
 * may have freed them and been given them anew.
 */
#ifndef WW_DEVICE_MAPPING_H
#define WW_DEVICE_MAPPING_H

#include <pthread.h>

#include <warpway/device.h>

#include "base/cleanup.h"
#include "device/backend.h"
#include "device/deferred_release.h"

struct ww_mapping {
	struct ww_ref ref;
	struct ww_deferred deferred; /* of a retired one */
	struct ww_device *device;    /* a reference */

	/* Set by the backend, constant from then on. */
	enum ww_backing backing;
	uint32_t kind;            /* WW_MEMORY_... */
	_Atomic(uint32_t) access; /* WW_ACCESS_...; ww_mapping_protect() changes it */
	uint32_t route;           /* WW_ROUTE_... */
	uint64_t bytes;
	void *pointer;      /* for the device */
	void *host_pointer; /* for the CPU; NULL when it cannot reach the bytes */
	uint8_t home_uuid
		[WW_DEVICE_UUID_BYTES]; /* of the device that holds the bytes, where it is known */
	uint64_t native; /* cuda: CUmemGenericAllocationHandle of vmm, CUcontext of host memory */
	void *foreign;   /* the backend's own, of memory that others allocated; else NULL */
	bool is_wrapped; /* the caller's own memory */
	/* The driver ends it when all streams of the process are done, and waits for that. */
	bool end_waits;
	bool is_page; /* the library's own: a signal page, marks */

	/* Held while fd is made and while the access changes, across a call of the driver. */
	pthread_mutex_t lock;
	void *owner; /* the layer's above, under its lock */
	_Atomic int
		fd; /* names the bytes; memfd: from the start; vmm: once exported or imported, else
			   -1. Set once; its readers may use it as long as the mapping lives */
};

/*
 * Make a mapping, with one reference and an entry in the table.
 * Return: WW_OK; as ww_memory_create() and ww_memory_import_fd().
 */
ww_status ww_mapping_create(struct ww_device *device, uint32_t kind, uint64_t bytes,
	struct ww_mapping **out_mapping);
ww_status ww_mapping_import(struct ww_device *device, const struct ww_memory_source *source,
	uint32_t access, struct ww_mapping **out_mapping);
/* The same for a page of the library's own. It is not logged: the caller may hold a lock. */
ww_status ww_mapping_import_page(struct ww_device *device, const struct ww_memory_source *source,
	uint32_t access, struct ww_mapping **out_mapping);

/*
 * For memory that others allocated, see backend.h; the device has WW_CAP_FOREIGN. Return: as the
 * backend says.
 */
ww_status ww_mapping_wrap(struct ww_device *device, const struct ww_foreign *found,
	struct ww_mapping **out_mapping);
ww_status ww_mapping_open(struct ww_device *device, const uint8_t handle[WW_FOREIGN_HANDLE_BYTES],
	uint32_t access, struct ww_mapping **out_mapping);

/*
 * Whether its bytes are still its own; always, unless others allocated them. Return: WW_OK; as
 * foreign_check.
 */
ww_status ww_mapping_check(struct ww_mapping *mapping);

/*
 * Of memory that was wrapped, and that others allocated: it was freed, so no process may import it
 * any more.
 */
void ww_mapping_withdraw(struct ww_mapping *mapping);

/*
 * The last unref takes it out of the table and ends it. If the driver would block the end
 * (end_waits) and a stream is known to be busy, the mapping is retired instead, for that stream may
 * wait for this very thread: it ends with a later ww_deferred_reclaim() (deferred_release.h). At
 * most 64 mappings are retired, pages not counted; the driver blocks the end of further ones.
 */
struct ww_mapping *ww_mapping_ref(struct ww_mapping *mapping);
struct ww_mapping *ww_mapping_unref(struct ww_mapping *mapping); /* takes NULL, returns NULL */

WW_DEFINE_CLEANUP(struct ww_mapping, ww_mapping_unref)
#define WW_AUTO_MAPPING WW_CLEANUP(ww_mapping_unref_p)

/*
 * The same of a page, for calls that enqueue and calls under locks: the last unref retires it
 * whether a stream is known to be busy or not.
 */
void ww_mapping_unref_page(struct ww_mapping *mapping); /* takes NULL */

/*
 * Changes the access of a mapping, for everything of this process that uses it, at the same place.
 * Nothing writes the bytes meanwhile.
 * @out_changed:  whether it had another access
 * Return: WW_OK; WW_ERR_UNSUPPORTED (this mapping cannot be changed); WW_ERR_DEVICE; WW_ERR_SYSTEM.
 */
ww_status ww_mapping_protect(struct ww_mapping *mapping, uint32_t access, bool *out_changed);

/*
 * A new descriptor for the bytes, the caller's. With @access read, of a memfd, it is one that the
 * kernel refuses to map for writing; so is the page of memory that others allocated, always.
 */
ww_status ww_mapping_export(struct ww_mapping *mapping, uint32_t access, int *out_fd);

/* Closes the descriptor of a page that no other object has: it is exported no more, nor compared.
 */
void ww_mapping_close_fd(struct ww_mapping *mapping);

/* Of backing WW_BACKING_CUDA_POOL: the second descriptor, of the pool; the caller's. */
ww_status ww_mapping_export_pool(struct ww_mapping *mapping, int *out_fd);

/* Whether @fd certainly names the bytes of @mapping, by the kernel's word. */
bool ww_mapping_is_named_by(struct ww_mapping *mapping, int fd);

/*
 * The same, but of what can be mapped once only it must be known.
 * Return: WW_OK; WW_ERR_DESCRIPTOR (@fd is not open); WW_ERR_SYSTEM.
 */
ww_status ww_mapping_compare(struct ww_mapping *mapping, int fd, bool *out_is_same);

/*
 * Looks up a span that is about to be read or written.
 * @access:       what is about to be done
 * @out_mapping:  a reference to the mapping it lies in; NULL when it touches none of ours. Of
 *                several at one place (one allocation, opened twice) one that allows it
 *
 * Return: WW_OK; WW_ERR_INVALID (it lies partly in a mapping); WW_ERR_ACCESS; WW_ERR_OVERFLOW.
 */
ww_status ww_mapping_find(const void *address, uint64_t bytes, uint32_t access,
	struct ww_mapping **out_mapping);

/* Bytes from the start of a mapping to an address inside it: its device's, or the CPU's. */
uint64_t ww_mapping_offset(const struct ww_mapping *mapping, const void *address);

/* How many spans the table has; for tests that look for leaks. */
size_t ww_mapping_count(void);

#endif
