/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host_memory.c - memory of kind host on a GPU: a memfd that the CPU maps and the GPU is told of
 *
 * The CPU's mapping comes first and the driver registers it, portably, so that every context of the
 * process can use it. A read-only mapping is registered as one: a GPU that stores into it faults,
 * and the bytes stay.
 */
#include <inttypes.h>

#include "base/fd.h"
#include "device/cuda/cuda.h"
#include "device/memfd.h"

static ww_status register_pages(struct cuda_device *device, void *pointer, uint64_t bytes,
	uint32_t access, void **out_pointer, ww_CUcontext *out_context)
{
	unsigned int flags = WW_CU_MEMHOSTREGISTER_PORTABLE | WW_CU_MEMHOSTREGISTER_DEVICEMAP;
	WW_AUTO_CUDA_SCOPE struct ww_cuda_scope scope = {NULL};
	ww_CUdeviceptr address = 0;
	ww_CUresult result;

	if (access == WW_ACCESS_READ)
		flags |= WW_CU_MEMHOSTREGISTER_READ_ONLY;
	ww_try(ww_cuda_enter_to_stay(device, &scope, out_context));
	result = device->driver->cuMemHostRegister(pointer, bytes, flags);
	if (result != WW_CUDA_SUCCESS)
		return ww_cuda_fail(device->driver, result, NULL,
			"cannot register %" PRIu64 " bytes of host memory with %s", bytes,
			device->base.selector);
	result = device->driver->cuMemHostGetDevicePointer(&address, pointer, 0);
	if (result != WW_CUDA_SUCCESS) {
		device->driver->cuMemHostUnregister(pointer);
		return ww_cuda_fail(device->driver, result, NULL,
			"cannot find out where %s sees host memory", device->base.selector);
	}
	*out_pointer = (void *)(uintptr_t)address;
	return WW_OK;
}

/* Takes over @fd on success. */
static ww_status map_file(struct ww_mapping *mapping, int fd, uint64_t bytes, uint32_t access)
{
	struct cuda_device *device = ww_cuda_device(mapping->device);
	ww_CUcontext context;
	ww_status status;
	void *pointer;

	ww_try(ww_memfd_map(fd, bytes, access, &pointer));
	status = register_pages(device, pointer, bytes, access, &mapping->pointer, &context);
	if (status < 0) {
		ww_memfd_unmap(pointer, bytes);
		return status;
	}
	mapping->native = (uintptr_t)context;
	mapping->host_pointer = pointer;
	mapping->fd = fd;
	mapping->backing = WW_BACKING_MEMFD;
	mapping->kind = WW_MEMORY_HOST;
	mapping->end_waits = true;
	mapping->bytes = bytes;
	mapping->access = access;
	mapping->route = WW_ROUTE_HOST_REGISTERED;
	return WW_OK;
}

static ww_status check_capability(const struct ww_device *device, uint32_t access)
{
	if (!(device->capabilities & WW_CAP_HOST_MEMORY))
		return ww_fail(WW_ERR_UNSUPPORTED, "%s cannot use host memory in place; copy it",
			device->selector);
	if (access == WW_ACCESS_READ && !(device->capabilities & WW_CAP_HOST_READ_ONLY))
		return ww_fail(WW_ERR_UNSUPPORTED,
			"%s cannot use host memory in place for reading only; import it for writing, or "
			"into host and copy",
			device->selector);
	return WW_OK;
}

ww_status ww_cuda_host_create(struct ww_mapping *mapping, uint64_t bytes)
{
	WW_AUTO_FD int fd = -1;

	ww_try(check_capability(mapping->device, WW_ACCESS_WRITE));
	ww_try(ww_memfd_create(bytes, &fd));
	ww_try(map_file(mapping, fd, bytes, WW_ACCESS_WRITE));
	ww_fd_steal(&fd);
	return WW_OK;
}

ww_status ww_cuda_host_import(struct ww_mapping *mapping, const struct ww_memory_source *source,
	uint32_t access)
{
	WW_AUTO_FD int fd = -1;

	ww_try(check_capability(mapping->device, access));
	ww_try(ww_fd_duplicate(source->fd, &fd));
	ww_try(ww_memfd_check(fd, source->bytes));
	ww_try(map_file(mapping, fd, source->bytes, access));
	ww_fd_steal(&fd);
	return WW_OK;
}

/*
 * In the context that knows them, and if that cannot be entered, in whichever is current: pages
 * that are unmapped while registered would stand in the way of the next ones at their address.
 */
static void unregister_pages(struct cuda_device *device, const struct ww_mapping *mapping)
{
	ww_CUcontext context = (ww_CUcontext)(uintptr_t)mapping->native;
	WW_AUTO_CUDA_SCOPE struct ww_cuda_scope scope = {NULL};
	struct ww_error record;

	ww_error_save(&record);
	(void)ww_cuda_enter_context(device, context, &scope);
	ww_error_restore(&record);
	device->driver->cuMemHostUnregister(mapping->host_pointer);
}

void ww_cuda_host_release(struct ww_mapping *mapping)
{
	unregister_pages(ww_cuda_device(mapping->device), mapping);
	ww_memfd_unmap(mapping->host_pointer, mapping->bytes);
	mapping->fd = ww_fd_close(mapping->fd);
}
