/* SPDX-License-Identifier: Apache-2.0 */
/*
 * foreign.c - memory that others allocated in this process, as it can be shared
 *
 * The driver is asked what it knows of an address, and the answers tell which way there is: a
 * legacy handle for cuMemAlloc(), the pool's descriptor for a stream-ordered pool that has one, a
 * descriptor for cuMemCreate(). What has no way is refused with the reason and what to do.
 *
 * Nothing of it is ours. The caller keeps the allocation; its buffer id, which the driver gives to
 * no other one, tells whether it is still the same when it is exported. Of cuMemCreate() a handle
 * is retained, since only that can be exported. The page that legacy and pool memory travels in
 * (foreign_page.h) is made at the first export.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "device/cuda/cuda.h"

#define COPY "or copy it: ww_memory_copy_in()"

/* What the driver says of an address. */
struct knowledge {
	unsigned int type; /* ww_CUmemorytype; 0: it knows nothing of it */
	int is_managed;
	int ordinal;
	int is_legacy_capable;
	ww_CUmemoryPool pool;
	uint64_t handle_types;
	uint64_t buffer_id;
	ww_CUdeviceptr mapping_base;
	size_t mapping_bytes;
};

static ww_CUdeviceptr address_of(const void *pointer)
{
	return (ww_CUdeviceptr)(uintptr_t)pointer;
}

static ww_CUresult ask(const struct ww_cuda_driver *driver, ww_CUdeviceptr address,
	struct knowledge *out)
{
	ww_CUpointer_attribute attributes[] = {
		WW_CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
		WW_CU_POINTER_ATTRIBUTE_IS_MANAGED,
		WW_CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
		WW_CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE,
		WW_CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE,
		WW_CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES,
		WW_CU_POINTER_ATTRIBUTE_BUFFER_ID,
		WW_CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR,
		WW_CU_POINTER_ATTRIBUTE_MAPPING_SIZE,
	};
	void *values[] = {&out->type, &out->is_managed, &out->ordinal, &out->is_legacy_capable,
		&out->pool, &out->handle_types, &out->buffer_id, &out->mapping_base,
		&out->mapping_bytes};

	memset(out, 0, sizeof(*out));
	return driver->cuPointerGetAttributes(sizeof(attributes) / sizeof(attributes[0]),
		attributes, values, address);
}

ww_CUresult ww_cuda_buffer_id(const struct ww_cuda_driver *driver, const void *pointer,
	uint64_t *out_id)
{
	ww_CUpointer_attribute attribute = WW_CU_POINTER_ATTRIBUTE_BUFFER_ID;
	void *value = out_id;

	*out_id = 0;
	return driver->cuPointerGetAttributes(1, &attribute, &value, address_of(pointer));
}

/* --- what can be shared, and how --- */

/* Whether the CPU can read there: the kernel tells, without a signal, when it is to copy a byte. */
static bool is_readable(const void *pointer)
{
	int ends[2];
	bool is_copied;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return true;
	is_copied = write(ends[1], pointer, 1) == 1;
	close(ends[0]);
	close(ends[1]);
	return is_copied;
}

static ww_status check_device(const struct cuda_device *device, const void *pointer,
	const struct knowledge *known)
{
	if (known->type == 0) {
		if (is_readable(pointer))
			return ww_fail(WW_ERR_UNSUPPORTED,
				"cannot share %p: it is the CPU's own memory, such as malloc() gives, which no other "
				"process can map; use memory of kind WW_MEMORY_HOST, " COPY,
				pointer);
		return ww_fail(WW_ERR_INVALID,
			"cannot wrap %p: there is no memory; was it freed, or is it of another process?",
			pointer);
	}
	if (known->is_managed)
		return ww_fail(WW_ERR_UNSUPPORTED,
			"cannot share %p: managed memory has no handle for other processes; allocate it with "
			"cudaMalloc(), " COPY,
			pointer);
	if (known->type != WW_CU_MEMORYTYPE_DEVICE)
		return ww_fail(WW_ERR_UNSUPPORTED,
			"cannot share %p: it is pinned memory of the CPU, which has no handle for other "
			"processes; use memory of kind WW_MEMORY_HOST, " COPY,
			pointer);
	if (known->ordinal != device->ordinal)
		return ww_fail(WW_ERR_INVALID,
			"cannot wrap %p for %s: it lies on cuda:%d; open that device for it",
			pointer, device->base.selector, known->ordinal);
	return WW_OK;
}

/* Neither an allocation of cuMemAlloc() nor of a pool: of cuMemCreate(), or opened by a handle. */
static ww_status check_vmm(struct cuda_device *device, void *pointer, const struct knowledge *known)
{
	const struct ww_cuda_driver *driver = device->driver;
	ww_CUmemGenericAllocationHandle handle;
	ww_CUresult result = driver->cuMemRetainAllocationHandle(&handle, pointer);

	if (result == WW_CUDA_ERROR_INVALID_VALUE)
		return ww_fail(WW_ERR_UNSUPPORTED,
			"cannot share %p: it was opened by the handle of another process, and only its owner "
			"can hand it on; let that one wrap it, " COPY,
			pointer);
	if (result != WW_CUDA_SUCCESS)
		return ww_cuda_fail(driver, result, NULL, "cannot find the allocation at %p",
			pointer);
	driver->cuMemRelease(handle);
	if (!(known->handle_types & WW_CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR))
		return ww_fail(WW_ERR_UNSUPPORTED,
			"cannot share %p: cuMemCreate() made it without a descriptor; set requestedHandleTypes "
			"to CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, " COPY,
			pointer);
	return WW_OK;
}

/* Which way there is. */
static ww_status find_backing(struct cuda_device *device, void *pointer,
	const struct knowledge *known, enum ww_backing *out_backing)
{
	ww_try(check_device(device, pointer, known));
	if (known->pool) {
		ww_CUmemoryPool usual = NULL;
		ww_CUresult result;

		*out_backing = WW_BACKING_CUDA_POOL;
		if (known->handle_types & WW_CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
			return WW_OK;
		result = device->driver->cuDeviceGetDefaultMemPool(&usual, device->ordinal);
		if (result == WW_CUDA_SUCCESS && usual == known->pool)
			return ww_fail(WW_ERR_UNSUPPORTED,
				"cannot share %p: it is of the device's default pool, which has no descriptor; "
				"allocate from a cudaMemPool_t with cudaMemHandleTypePosixFileDescriptor, " COPY,
				pointer);
		return ww_fail(WW_ERR_UNSUPPORTED,
			"cannot share %p: its pool was made without, or came by, a descriptor; make the pool with "
			"handleTypes cudaMemHandleTypePosixFileDescriptor, " COPY,
			pointer);
	}
	if (known->is_legacy_capable) {
		*out_backing = WW_BACKING_CUDA_LEGACY;
		return WW_OK;
	}
	*out_backing = WW_BACKING_CUDA_VMM;
	return check_vmm(device, pointer, known);
}

/* From where to where the allocation is. */
static ww_status find_range(struct cuda_device *device, void *pointer,
	const struct knowledge *known, struct ww_foreign *found)
{
	ww_CUdeviceptr base = known->mapping_base;
	size_t bytes = known->mapping_bytes;
	ww_CUresult result = WW_CUDA_SUCCESS;

	if (found->backing != WW_BACKING_CUDA_VMM)
		result = device->driver->cuMemGetAddressRange(&base, &bytes, address_of(pointer));
	if (result != WW_CUDA_SUCCESS)
		return ww_cuda_fail(device->driver, result, NULL,
			"cannot find the allocation at %p", pointer);
	found->base = (void *)(uintptr_t)base;
	found->bytes = bytes;
	found->buffer_id = known->buffer_id;
	return WW_OK;
}

ww_status ww_cuda_foreign_find(struct ww_device *base, void *pointer, uint64_t bytes,
	struct ww_foreign *out_found)
{
	struct cuda_device *device = ww_cuda_device(base);
	WW_AUTO_CUDA_SCOPE struct ww_cuda_scope scope = {NULL};
	struct knowledge known;
	ww_CUresult result;
	uint64_t offset;
	ww_CUdeviceptr end;
	struct knowledge next;

	ww_try(ww_cuda_enter(device, &scope));
	result = ask(device->driver, address_of(pointer), &known);
	if (result != WW_CUDA_SUCCESS)
		return ww_cuda_fail(device->driver, result, NULL,
			"cannot find out what memory is at %p", pointer);
	ww_try(find_backing(device, pointer, &known, &out_found->backing));
	ww_try(find_range(device, pointer, &known, out_found));
	offset = (uintptr_t)pointer - (uintptr_t)out_found->base;
	end = address_of(out_found->base) + out_found->bytes;
	if (offset < out_found->bytes && bytes <= out_found->bytes - offset)
		return WW_OK;
	if (out_found->backing == WW_BACKING_CUDA_VMM &&
		ask(device->driver, end, &next) == WW_CUDA_SUCCESS &&
		next.type == WW_CU_MEMORYTYPE_DEVICE)
		return ww_fail(WW_ERR_UNSUPPORTED,
			"cannot share %" PRIu64
			" bytes at %p: they lie in several allocations side by side, and each has a "
			"handle of its own; set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:False, " COPY,
			bytes, pointer);
	return ww_fail(WW_ERR_INVALID,
		"cannot wrap %" PRIu64 " bytes at %p: they leave their allocation of %" PRIu64
		" bytes at %p",
		bytes, pointer, out_found->bytes, out_found->base);
}

/* --- wrapped memory --- */

static ww_status retain(struct cuda_device *device, const struct ww_foreign *found,
	uint64_t *out_handle)
{
	ww_CUmemGenericAllocationHandle handle;
	ww_CUmemAllocationProp prop = {0};
	ww_CUresult result = device->driver->cuMemRetainAllocationHandle(&handle, found->base);

	if (result == WW_CUDA_SUCCESS) {
		*out_handle = handle;
		result = device->driver->cuMemGetAllocationPropertiesFromHandle(&prop, handle);
		if (result == WW_CUDA_SUCCESS &&
			prop.location.type == WW_CU_MEM_LOCATION_TYPE_DEVICE)
			return WW_OK;
		device->driver->cuMemRelease(handle);
	}
	if (result != WW_CUDA_SUCCESS)
		return ww_cuda_fail(device->driver, result, NULL,
			"cannot retain the allocation at %p", found->base);
	return ww_fail(WW_ERR_UNSUPPORTED,
		"cannot share %p: cuMemCreate() made it in memory of the CPU; use memory of kind "
		"WW_MEMORY_HOST, " COPY,
		found->base);
}

ww_status ww_cuda_foreign_wrap(struct ww_mapping *mapping, const struct ww_foreign *found)
{
	WW_AUTO_CUDA_SCOPE struct ww_cuda_scope scope = ww_cuda_relax(
		ww_cuda_device(mapping->device)->driver);
	struct cuda_foreign *foreign = calloc(1, sizeof(*foreign));
	ww_status status = WW_OK;

	if (!foreign)
		return ww_fail(WW_ERR_NO_MEMORY, "cannot wrap memory: out of memory");
	if (found->backing == WW_BACKING_CUDA_VMM)
		status = retain(ww_cuda_device(mapping->device), found, &mapping->native);
	if (status < 0) {
		free(foreign);
		return status;
	}
	foreign->buffer_id = found->buffer_id;
	mapping->foreign = foreign;
	mapping->backing = found->backing;
	mapping->kind = found->backing == WW_BACKING_CUDA_LEGACY ? WW_MEMORY_LEGACY
		: found->backing == WW_BACKING_CUDA_POOL         ? WW_MEMORY_CUDA_POOL
								 : WW_MEMORY_VMM;
	mapping->access = WW_ACCESS_WRITE;
	mapping->route = WW_ROUTE_LOCAL;
	mapping->bytes = found->bytes;
	mapping->pointer = found->base;
	return WW_OK;
}

static ww_status fail_freed(const struct ww_mapping *mapping)
{
	return ww_fail(WW_ERR_STATE,
		"the memory at %p was freed while it was wrapped; keep it until the last unref, and wrap it "
		"again",
		mapping->pointer);
}

/* In a context. */
static ww_status check_wrapped(const struct ww_mapping *mapping)
{
	const struct cuda_foreign *foreign = mapping->foreign;
	const struct ww_cuda_driver *driver = ww_cuda_device(mapping->device)->driver;
	uint64_t id;
	ww_CUresult result = ww_cuda_buffer_id(driver, mapping->pointer, &id);

	if (result != WW_CUDA_SUCCESS)
		return ww_cuda_fail(driver, result, NULL,
			"cannot find out whether the memory at %p is still there",
			mapping->pointer);
	return id == foreign->buffer_id ? WW_OK : fail_freed(mapping);
}

ww_status ww_cuda_foreign_check(struct ww_mapping *mapping)
{
	const struct cuda_foreign *foreign = mapping->foreign;
	WW_AUTO_CUDA_SCOPE struct ww_cuda_scope scope = {NULL};

	if (!mapping->is_wrapped)
		return foreign->page.record ? ww_handle_page_check(&foreign->page) : WW_OK;
	ww_try(ww_cuda_enter(ww_cuda_device(mapping->device), &scope));
	return check_wrapped(mapping);
}

void ww_cuda_foreign_withdraw(struct ww_mapping *mapping)
{
	struct cuda_foreign *foreign = mapping->foreign;

	foreign->is_withdrawn = true;
	ww_handle_page_withdraw(&foreign->page);
}

/* --- export --- */

static ww_status get_handle(struct cuda_device *device, const struct ww_mapping *mapping,
	uint8_t out_handle[WW_FOREIGN_HANDLE_BYTES])
{
	ww_CUipcMemHandle handle = {{0}};
	ww_CUresult result = device->driver->cuIpcGetMemHandle(&handle,
		address_of(mapping->pointer));

	_Static_assert(sizeof(handle) == WW_FOREIGN_HANDLE_BYTES, "64 bytes");
	if (result != WW_CUDA_SUCCESS)
		return ww_cuda_fail(device->driver, result, NULL, "cannot get the handle of %p",
			mapping->pointer);
	memcpy(out_handle, &handle, sizeof(handle));
	return WW_OK;
}

/*
 * The driver makes the handle of an allocation only once the pool itself has been exported. It
 * fills in a part of the 64 bytes (580.159.04); the others are compared, and seen by others, too.
 */
static ww_status get_pool_handle(struct cuda_device *device, struct ww_mapping *mapping,
	struct ww_foreign_fields *fields)
{
	struct cuda_foreign *foreign = mapping->foreign;
	ww_CUmemPoolPtrExportData data = {{0}};
	struct knowledge known;
	ww_CUresult result = ask(device->driver, address_of(mapping->pointer), &known);

	_Static_assert(sizeof(data) == WW_FOREIGN_HANDLE_BYTES, "64 bytes");
	if (result == WW_CUDA_SUCCESS && !foreign->pool)
		ww_try(ww_cuda_pool_export(device, known.pool, mapping->pointer, foreign->buffer_id,
			&foreign->pool));
	if (result == WW_CUDA_SUCCESS)
		result = device->driver->cuMemPoolExportPointer(&data,
			address_of(mapping->pointer));
	if (result != WW_CUDA_SUCCESS)
		return ww_cuda_fail(device->driver, result, NULL, "cannot export %p of a pool",
			mapping->pointer);
	memcpy(fields->handle, &data, sizeof(data));
	memcpy(fields->pool_id, ww_cuda_pool_id(foreign->pool), sizeof(fields->pool_id));
	return WW_OK;
}

ww_status ww_cuda_foreign_export(struct ww_mapping *mapping, int *out_fd)
{
	struct cuda_device *device = ww_cuda_device(mapping->device);
	struct cuda_foreign *foreign = mapping->foreign;
	WW_AUTO_CUDA_SCOPE struct ww_cuda_scope scope = {NULL};
	struct ww_foreign_fields fields = {
		.backing = mapping->backing,
		.bytes = mapping->bytes,
		.base = (uintptr_t)mapping->pointer,
		.buffer_id = foreign->buffer_id,
	};

	if (!mapping->is_wrapped)
		return ww_fail(WW_ERR_UNSUPPORTED,
			"cannot share %p: it was opened by the handle of another process, and only its owner "
			"can hand it on; let that one wrap it, " COPY,
			mapping->pointer);
	if (foreign->is_withdrawn)
		return fail_freed(mapping);
	ww_try(ww_cuda_enter(device, &scope));
	if (mapping->backing == WW_BACKING_CUDA_POOL)
		ww_try(get_pool_handle(device, mapping, &fields));
	else
		ww_try(get_handle(device, mapping, fields.handle));
	ww_try(ww_handle_page_create(&foreign->page, &fields));
	*out_fd = foreign->page.fd;
	return WW_OK;
}

ww_status ww_cuda_foreign_handle(struct ww_mapping *mapping,
	uint8_t out_handle[WW_FOREIGN_HANDLE_BYTES])
{
	struct cuda_device *device = ww_cuda_device(mapping->device);
	WW_AUTO_CUDA_SCOPE struct ww_cuda_scope scope = {NULL};

	if (!mapping->is_wrapped || mapping->backing != WW_BACKING_CUDA_LEGACY)
		return ww_fail(WW_ERR_UNSUPPORTED,
			"%p has no legacy handle: only memory of cuMemAlloc() has, and only where it was "
			"allocated and wrapped",
			mapping->pointer);
	ww_try(ww_cuda_enter(device, &scope));
	ww_try(check_wrapped(mapping));
	return get_handle(device, mapping, out_handle);
}

ww_status ww_cuda_foreign_pool(struct ww_mapping *mapping, int *out_fd)
{
	const struct cuda_foreign *foreign = mapping->foreign;

	return ww_cuda_pool_duplicate(foreign->pool, out_fd);
}

void ww_cuda_foreign_release(struct ww_mapping *mapping)
{
	struct cuda_foreign *foreign = mapping->foreign;

	if (mapping->backing == WW_BACKING_CUDA_VMM)
		ww_cuda_vmm_disown(mapping);
	ww_handle_page_close(&foreign->page);
	if (foreign->pool)
		ww_cuda_pool_forget(ww_cuda_device(mapping->device), foreign->pool,
			foreign->buffer_id);
	free(foreign);
}
