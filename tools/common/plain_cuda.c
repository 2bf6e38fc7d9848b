/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plain_cuda.c - the CUDA driver as any program calls it, see plain_cuda.h
 */
#include "common/plain_cuda.h"

#include <dlfcn.h>
#include <string.h>

#include "common/say.h"

#define LIBRARY   "libcuda.so.1"
#define FD_HANDLE WW_CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR

static ww_CUresult last_failure = WW_CUDA_SUCCESS;

int cuda_expect(const struct cuda *cuda, const char *call, ww_CUresult result)
{
	const char *name = NULL;

	if (result == WW_CUDA_SUCCESS)
		return 0;
	last_failure = result;
	cuda->cuGetErrorName(result, &name);
	return complain("%s: %s (%d)", call, name ? name : "unknown error", result);
}

void cuda_lacks(const char *call)
{
	last_failure = WW_CUDA_ERROR_NOT_FOUND;
	complain("the driver has no %s", call);
}

ww_CUresult cuda_last_failure(void)
{
	return last_failure;
}

int cuda_find(struct cuda *cuda)
{
	static const char *const names[] = {
#define CUDA_NAME(name) #name,
		CUDA_FUNCTIONS(CUDA_NAME)
#undef CUDA_NAME
	};
	void **const functions[] = {
#define CUDA_PLACE(name) (void **)&cuda->name,
		CUDA_FUNCTIONS(CUDA_PLACE)
#undef CUDA_PLACE
	};
	void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	ww_PFN_cuGetProcAddress get = NULL;

	if (!library)
		return complain("%s", dlerror());
	*(void **)&get = dlsym(library, "cuGetProcAddress_v2");
	if (!get)
		return complain(LIBRARY " is older than CUDA 12.0");
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		ww_CUdriverProcAddressQueryResult found;

		if (get(names[i], functions[i], WW_CUDA_ABI_VERSION, 0, &found))
			*functions[i] = NULL;
		if (!*functions[i] && !cuda->may_lack)
			return complain(LIBRARY " has no %s", names[i]);
	}
	return 0;
}

int cuda_start(struct cuda *cuda)
{
	return cuda_find(cuda) || CUDA_CALL(cuda, cuInit, 0) ? -1 : 0;
}

int cuda_open(struct cuda *cuda, uint32_t index)
{
	if (cuda_start(cuda) || CUDA_CALL(cuda, cuDeviceGet, &cuda->ordinal, (int)index) ||
		CUDA_CALL(cuda, cuDevicePrimaryCtxRetain, &cuda->context, cuda->ordinal))
		return -1;
	if (CUDA_CALL(cuda, cuCtxPushCurrent, cuda->context)) {
		cuda->cuDevicePrimaryCtxRelease(cuda->ordinal);
		cuda->context = NULL;
		return -1;
	}
	return CUDA_CALL(cuda, cuStreamCreate, &cuda->stream, WW_CU_STREAM_NON_BLOCKING);
}

void cuda_close(struct cuda *cuda)
{
	ww_CUcontext popped;

	if (!cuda->context)
		return;
	if (cuda->stream)
		cuda->cuStreamDestroy(cuda->stream);
	cuda->cuCtxPopCurrent(&popped);
	cuda->cuDevicePrimaryCtxRelease(cuda->ordinal);
	cuda->context = NULL;
}

int cuda_upload(const struct cuda *cuda, ww_CUdeviceptr to, const void *from, uint64_t bytes)
{
	return CUDA_CALL(cuda, cuMemcpyHtoD, to, from, bytes) ||
			CUDA_CALL(cuda, cuStreamSynchronize, NULL)
		? -1
		: 0;
}

static int copy_to_device(void *context, void *to, const void *from, uint64_t bytes)
{
	return cuda_upload(context, (uintptr_t)to, from, bytes);
}

static int copy_from_device(void *context, void *to, const void *from, uint64_t bytes)
{
	const struct cuda *cuda = context;

	return CUDA_CALL(cuda, cuMemcpyDtoH, to, (uintptr_t)from, bytes);
}

int cuda_write(struct cuda *cuda, ww_CUdeviceptr address, uint64_t elements, struct pattern pattern)
{
	const struct span span = {
		.copy = copy_to_device,
		.context = cuda,
		.address = (char *)(uintptr_t)address,
		.elements = elements,
	};

	return span_write(&span, pattern);
}

int cuda_verify(struct cuda *cuda, ww_CUdeviceptr address, uint64_t elements,
	struct pattern pattern)
{
	struct span span = {
		.copy = copy_from_device,
		.context = cuda,
		.address = (char *)(uintptr_t)address,
		.elements = elements,
	};

	return span_verify(&span, pattern);
}

bool cuda_has_pools(const struct cuda *cuda)
{
	int types = 0;

	return cuda->cuDeviceGetAttribute(&types,
		       WW_CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES,
		       cuda->ordinal) == WW_CUDA_SUCCESS &&
		(types & FD_HANDLE);
}

int cuda_pool_create(const struct cuda *cuda, ww_CUmemoryPool *out_pool, int *out_fd)
{
	const ww_CUmemPoolProps props = {
		.allocType = WW_CU_MEM_ALLOCATION_TYPE_PINNED,
		.handleTypes = FD_HANDLE,
		.location = {WW_CU_MEM_LOCATION_TYPE_DEVICE, cuda->ordinal},
	};
	uint64_t keep = UINT64_MAX;

	if (CUDA_CALL(cuda, cuMemPoolCreate, out_pool, &props))
		return -1;
	if (CUDA_CALL(cuda, cuMemPoolSetAttribute, *out_pool, WW_CU_MEMPOOL_ATTR_RELEASE_THRESHOLD,
		    &keep))
		return -1;
	return CUDA_CALL(cuda, cuMemPoolExportToShareableHandle, out_fd, *out_pool, FD_HANDLE, 0);
}

int cuda_pool_import(const struct cuda *cuda, int fd, ww_CUmemoryPool *out_pool)
{
	return CUDA_CALL(cuda, cuMemPoolImportFromShareableHandle, out_pool, (void *)(intptr_t)fd,
		FD_HANDLE, 0);
}

int cuda_pool_alloc(const struct cuda *cuda, ww_CUmemoryPool pool, uint64_t bytes,
	ww_CUdeviceptr *out_address)
{
	if (CUDA_CALL(cuda, cuMemAllocFromPoolAsync, out_address, bytes, pool, cuda->stream))
		return -1;
	return CUDA_CALL(cuda, cuStreamSynchronize, cuda->stream);
}

int cuda_pool_free(const struct cuda *cuda, ww_CUdeviceptr address)
{
	if (CUDA_CALL(cuda, cuMemFreeAsync, address, cuda->stream))
		return -1;
	return CUDA_CALL(cuda, cuStreamSynchronize, cuda->stream);
}
