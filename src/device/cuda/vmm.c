/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vmm.c - memory of cuMemCreate(): an allocation, an address range, and access to it
 *
 * Made and imported memory differ only in where the handle comes from. A mapping is always the
 * whole allocation: the driver maps no parts of one (CUDA_ERROR_NOT_SUPPORTED), which is also how a
 * description that lies about the size is found out, since no call tells the size of an import.
 *
 * The allocation is asked for its descriptor once and that is kept: asking costs 50 to 600 us on
 * an H200, duplicating under one.
 */
#include <inttypes.h>
#include <stdint.h>
#include <string.h>

#include "base/fd.h"
#include "device/cuda/cuda.h"

static bool can_export(const struct cuda_device *device)
{
	return device->base.capabilities & WW_CAP_EXPORT;
}

static ww_CUmemAllocationProp properties(const struct cuda_device *device)
{
	return (ww_CUmemAllocationProp){
		.type = WW_CU_MEM_ALLOCATION_TYPE_PINNED,
		.requestedHandleTypes = can_export(device)
			? WW_CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
			: WW_CU_MEM_HANDLE_TYPE_NONE,
		.location = {WW_CU_MEM_LOCATION_TYPE_DEVICE, device->ordinal},
	};
}

ww_status ww_cuda_vmm_granularity(struct cuda_device *device, uint64_t *out_bytes)
{
	ww_CUmemAllocationProp prop = properties(device);
	size_t bytes = 0;
	ww_CUresult result = device->driver->cuMemGetAllocationGranularity(&bytes, &prop,
		WW_CU_MEM_ALLOC_GRANULARITY_MINIMUM);

	if (result != WW_CUDA_SUCCESS)
		return ww_cuda_fail(device->driver, result, NULL,
			"cannot find out the granularity of memory on %s", device->base.selector);
	*out_bytes = bytes;
	return WW_OK;
}

static ww_status give_access(struct cuda_device *device, ww_CUdeviceptr address, uint64_t bytes,
	uint32_t access)
{
	ww_CUmemAccessDesc description = {
		.location = {WW_CU_MEM_LOCATION_TYPE_DEVICE, device->ordinal},
		.flags = access == WW_ACCESS_WRITE ? WW_CU_MEM_ACCESS_FLAGS_PROT_READWRITE
						   : WW_CU_MEM_ACCESS_FLAGS_PROT_READ,
	};
	ww_CUresult result = device->driver->cuMemSetAccess(address, bytes, &description, 1);

	if (result == WW_CUDA_ERROR_INVALID_DEVICE)
		return ww_cuda_fail_as(WW_ERR_UNSUPPORTED, device->driver, result,
			"nvidia-smi topo -p2p r shows which GPUs reach each other; copy through host memory",
			"%s cannot reach the GPU that holds this memory", device->base.selector);
	if (result != WW_CUDA_SUCCESS)
		return ww_cuda_fail(device->driver, result, NULL,
			"cannot give %s access to %" PRIu64 " bytes", device->base.selector, bytes);
	return WW_OK;
}

/* Maps the whole of mapping->native at an address of its own. */
static ww_status map(struct cuda_device *device, struct ww_mapping *mapping, uint64_t bytes,
	uint32_t access, bool is_import)
{
	const struct ww_cuda_driver *driver = device->driver;
	ww_CUdeviceptr address = 0;
	ww_CUresult result = driver->cuMemAddressReserve(&address, bytes, 0, 0, 0);
	ww_status status;

	if (result != WW_CUDA_SUCCESS)
		return ww_cuda_fail(driver, result, NULL,
			"cannot reserve addresses for %" PRIu64 " bytes on %s", bytes,
			device->base.selector);
	result = driver->cuMemMap(address, bytes, 0, mapping->native, 0);
	if (is_import &&
		(result == WW_CUDA_ERROR_INVALID_VALUE || result == WW_CUDA_ERROR_NOT_SUPPORTED)) {
		status = ww_cuda_fail_as(WW_ERR_MISMATCH, driver, result, NULL,
			"cannot map memory on %s: it has not the %" PRIu64
			" bytes of its description",
			device->base.selector, bytes);
	} else if (result != WW_CUDA_SUCCESS) {
		status = ww_cuda_fail(driver, result, NULL, "cannot map %" PRIu64 " bytes on %s",
			bytes, device->base.selector);
	} else {
		status = give_access(device, address, bytes, access);
		if (status < 0)
			driver->cuMemUnmap(address, bytes);
	}
	if (status < 0) {
		driver->cuMemAddressFree(address, bytes);
		return status;
	}
	mapping->backing = WW_BACKING_CUDA_VMM;
	mapping->kind = WW_MEMORY_VMM;
	mapping->access = access;
	mapping->bytes = bytes;
	mapping->pointer = (void *)(uintptr_t)address;
	return WW_OK;
}

/* Maps mapping->native, which is released on failure. */
static ww_status map_in_context(struct cuda_device *device, struct ww_mapping *mapping,
	uint64_t bytes, uint32_t access, bool is_import)
{
	WW_AUTO_CUDA_SCOPE struct ww_cuda_scope scope = {NULL};
	ww_status status = ww_cuda_enter(device, &scope);

	if (status == WW_OK)
		status = map(device, mapping, bytes, access, is_import);
	if (status < 0) {
		device->driver->cuMemRelease(mapping->native);
		mapping->native = 0;
	}
	return status;
}

ww_status ww_cuda_vmm_create(struct ww_mapping *mapping, uint64_t bytes)
{
	struct cuda_device *device = ww_cuda_device(mapping->device);
	ww_CUmemAllocationProp prop = properties(device);
	ww_CUmemGenericAllocationHandle handle;
	ww_CUresult result = device->driver->cuMemCreate(&handle, bytes, &prop, 0);

	if (result != WW_CUDA_SUCCESS)
		return ww_cuda_fail(device->driver, result, NULL,
			"cannot make memory of %" PRIu64 " bytes on %s", bytes,
			device->base.selector);
	mapping->native = handle;
	mapping->route = WW_ROUTE_LOCAL;
	return map_in_context(device, mapping, bytes, WW_ACCESS_WRITE, false);
}

static ww_status import_handle(struct cuda_device *device, int fd,
	ww_CUmemGenericAllocationHandle *out_handle)
{
	ww_CUresult result = device->driver->cuMemImportFromShareableHandle(out_handle,
		(void *)(intptr_t)fd, WW_CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);

	switch (result) {
	case WW_CUDA_SUCCESS:
		return WW_OK;
	case WW_CUDA_ERROR_INVALID_VALUE:
	case WW_CUDA_ERROR_INVALID_HANDLE:
	case WW_CUDA_ERROR_INVALID_DEVICE:
	/* what driver 580 says of a descriptor that is something else */
	case WW_CUDA_ERROR_UNKNOWN:
		return ww_cuda_fail_as(WW_ERR_DESCRIPTOR, device->driver, result, NULL,
			"descriptor %d is no GPU memory that %s can import", fd,
			device->base.selector);
	default:
		return ww_cuda_fail(device->driver, result, NULL, "cannot import memory into %s",
			device->base.selector);
	}
}

/* Asks the driver, not the description, where imported memory lies. */
static ww_status find_route(struct cuda_device *device, ww_CUmemGenericAllocationHandle handle,
	const struct ww_memory_source *source, uint32_t *out_route)
{
	ww_CUmemAllocationProp prop = {0};
	ww_CUresult result = device->driver->cuMemGetAllocationPropertiesFromHandle(&prop, handle);
	const struct ww_cuda_driver *driver;
	ww_CUdevice home;
	size_t total = 0;
	ww_CUuuid uuid;

	if (result != WW_CUDA_SUCCESS)
		return ww_cuda_fail(device->driver, result, NULL,
			"cannot find out on which GPU imported memory lies");
	if (prop.location.type != WW_CU_MEM_LOCATION_TYPE_DEVICE)
		return ww_fail(WW_ERR_MISMATCH,
			"refused memory that lies on no GPU (location type %d), as its description says",
			prop.location.type);
	*out_route = WW_ROUTE_PEER_HIDDEN;
	if (prop.location.id < 0)
		return WW_OK;
	*out_route = prop.location.id == device->ordinal ? WW_ROUTE_LOCAL : WW_ROUTE_PEER;
	/* What the description says of a GPU that this process sees can be checked. */
	driver = device->driver;
	home = prop.location.id;
	result = driver->cuDeviceGetUuid(&uuid, home);
	if (result == WW_CUDA_SUCCESS)
		result = driver->cuDeviceTotalMem(&total, home);
	if (result != WW_CUDA_SUCCESS)
		return ww_cuda_fail(driver, result, NULL, "cannot find out about cuda:%d", home);
	if (memcmp(uuid.bytes, source->home_uuid, sizeof(uuid.bytes)) != 0)
		return ww_fail(WW_ERR_MISMATCH,
			"refused memory of cuda:%d: its description names another GPU", home);
	if (source->bytes > total)
		return ww_fail(WW_ERR_MISMATCH,
			"refused memory of cuda:%d: its description says %" PRIu64
			" bytes, more than that GPU has",
			home, source->bytes);
	return WW_OK;
}

ww_status ww_cuda_vmm_import(struct ww_mapping *mapping, const struct ww_memory_source *source,
	uint32_t access)
{
	struct cuda_device *device = ww_cuda_device(mapping->device);
	ww_CUmemGenericAllocationHandle handle;
	WW_AUTO_FD int fd = -1;
	ww_status status;

	if (source->kind != WW_MEMORY_VMM || source->bytes % device->base.granularity != 0)
		return ww_fail(WW_ERR_MISMATCH,
			"refused memory of %" PRIu64
			" bytes: memory of a GPU is a multiple of %" PRIu64,
			source->bytes, device->base.granularity);
	if (!can_export(device))
		return ww_fail(WW_ERR_UNSUPPORTED,
			"%s cannot share memory by file descriptor (CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_"
			"FILE_DESCRIPTOR_SUPPORTED is 0)",
			device->base.selector);
	ww_try(ww_fd_duplicate(source->fd, &fd));
	ww_try(import_handle(device, fd, &handle));
	status = find_route(device, handle, source, &mapping->route);
	if (status < 0) {
		device->driver->cuMemRelease(handle);
		return status;
	}
	mapping->native = handle;
	ww_try(map_in_context(device, mapping, source->bytes, access, true));
	mapping->fd = ww_fd_steal(&fd);
	return WW_OK;
}

ww_status ww_cuda_vmm_protect(struct ww_mapping *mapping, uint32_t access)
{
	struct cuda_device *device = ww_cuda_device(mapping->device);
	WW_AUTO_CUDA_SCOPE struct ww_cuda_scope scope = {NULL};

	ww_try(ww_cuda_enter(device, &scope));
	return give_access(device, (ww_CUdeviceptr)(uintptr_t)mapping->pointer, mapping->bytes,
		access);
}

ww_status ww_cuda_vmm_export(struct ww_mapping *mapping, int *out_fd)
{
	struct cuda_device *device = ww_cuda_device(mapping->device);
	ww_CUresult result;
	int fd = -1;

	if (!can_export(device))
		return ww_fail(WW_ERR_UNSUPPORTED,
			"%s cannot share memory by file descriptor (CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_"
			"FILE_DESCRIPTOR_SUPPORTED is 0); share host memory instead",
			device->base.selector);
	result = device->driver->cuMemExportToShareableHandle(&fd, mapping->native,
		WW_CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
	if (result != WW_CUDA_SUCCESS)
		return ww_cuda_fail(device->driver, result, NULL,
			"cannot export %" PRIu64 " bytes of %s", mapping->bytes,
			device->base.selector);
	*out_fd = fd;
	return ww_fd_adopt(out_fd);
}

void ww_cuda_vmm_disown(struct ww_mapping *mapping)
{
	ww_cuda_device(mapping->device)->driver->cuMemRelease(mapping->native);
	mapping->fd = ww_fd_close(mapping->fd);
}

void ww_cuda_vmm_release(struct ww_mapping *mapping)
{
	const struct ww_cuda_driver *driver = ww_cuda_device(mapping->device)->driver;
	ww_CUdeviceptr address = (ww_CUdeviceptr)(uintptr_t)mapping->pointer;

	/* Each fails only if we called it wrongly, or once the context is lost and all with it. */
	driver->cuMemUnmap(address, mapping->bytes);
	driver->cuMemAddressFree(address, mapping->bytes);
	driver->cuMemRelease(mapping->native);
	mapping->fd = ww_fd_close(mapping->fd);
}
