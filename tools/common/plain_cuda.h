/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plain_cuda.h - the CUDA driver as any program calls it, without the library
 *
 * What is shown and measured beside the library: memory of cuMemAlloc() and its 64-byte handle, and
 * memory of a stream-ordered pool and its descriptor. The functions are looked up here once more,
 * so nothing of ours is under them; the primary context is current from open to close.
 */
#ifndef TOOLS_COMMON_PLAIN_CUDA_H
#define TOOLS_COMMON_PLAIN_CUDA_H

#include <stdbool.h>
#include <stdint.h>

#include "common/float_pattern.h"
#include "device/cuda/cuda_abi.h"

#define CUDA_FUNCTIONS(X)                     \
	X(cuInit)                             \
	X(cuDriverGetVersion)                 \
	X(cuDeviceGetCount)                   \
	X(cuDeviceGetName)                    \
	X(cuDeviceGetUuid)                    \
	X(cuDeviceTotalMem)                   \
	X(cuMemGetInfo)                       \
	X(cuMemcpy)                           \
	X(cuMemGetAllocationGranularity)      \
	X(cuGetErrorName)                     \
	X(cuDeviceGet)                        \
	X(cuDeviceGetAttribute)               \
	X(cuDevicePrimaryCtxRetain)           \
	X(cuDevicePrimaryCtxRelease)          \
	X(cuCtxPushCurrent)                   \
	X(cuCtxPopCurrent)                    \
	X(cuMemAlloc)                         \
	X(cuMemFree)                          \
	X(cuMemcpyHtoD)                       \
	X(cuMemcpyDtoH)                       \
	X(cuMemcpyAsync)                      \
	X(cuIpcGetMemHandle)                  \
	X(cuIpcOpenMemHandle)                 \
	X(cuIpcCloseMemHandle)                \
	X(cuStreamCreate)                     \
	X(cuStreamDestroy)                    \
	X(cuStreamSynchronize)                \
	X(cuMemPoolCreate)                    \
	X(cuMemPoolDestroy)                   \
	X(cuMemPoolSetAttribute)              \
	X(cuMemPoolExportToShareableHandle)   \
	X(cuMemPoolImportFromShareableHandle) \
	X(cuMemPoolExportPointer)             \
	X(cuMemPoolImportPointer)             \
	X(cuMemAllocFromPoolAsync)            \
	X(cuMemFreeAsync)                     \
	X(cuMemCreate)                        \
	X(cuMemRelease)                       \
	X(cuMemAddressReserve)                \
	X(cuMemAddressFree)                   \
	X(cuMemMap)                           \
	X(cuMemUnmap)                         \
	X(cuMemSetAccess)                     \
	X(cuMemExportToShareableHandle)       \
	X(cuMemImportFromShareableHandle)     \
	X(cuMemHostRegister)                  \
	X(cuMemHostUnregister)                \
	X(cuMemHostGetDevicePointer)          \
	X(cuStreamWriteValue64)               \
	X(cuStreamWaitValue64)                \
	X(cuStreamWaitEvent)                  \
	X(cuEventCreate)                      \
	X(cuEventDestroy)                     \
	X(cuEventRecord)                      \
	X(cuIpcGetEventHandle)                \
	X(cuIpcOpenEventHandle)               \
	X(cuModuleLoadData)                   \
	X(cuModuleUnload)                     \
	X(cuModuleGetFunction)                \
	X(cuLaunchKernel)

struct cuda {
#define CUDA_FIELD(name) ww_PFN_##name name;
	CUDA_FUNCTIONS(CUDA_FIELD)
#undef CUDA_FIELD
	ww_CUdevice ordinal;
	ww_CUcontext context; /* NULL: not open */
	ww_CUstream stream;
	bool may_lack; /* set before: functions that the driver lacks are NULL, and no failure */
};

/* All of these return 0, or -1 after saying what went wrong. */

/* Finds the functions. cuda_start: and starts the driver; makes no context. */
int cuda_find(struct cuda *cuda);
int cuda_start(struct cuda *cuda);

/* @index: the N of "cuda:N" */
int cuda_open(struct cuda *cuda, uint32_t index);
void cuda_close(struct cuda *cuda);

static inline void own_cuda(struct cuda *cuda)
{
	cuda_close(cuda);
}

/* Says what a call answered, unless that was success. */
int cuda_expect(const struct cuda *cuda, const char *call, ww_CUresult result);

/* Says that the driver has no such function. */
void cuda_lacks(const char *call);

/* What the last call of this process answered that failed; NOT_FOUND: there is no such call. */
ww_CUresult cuda_last_failure(void);

#define CUDA_CALL(cuda, name, ...)                                          \
	((cuda)->name ? cuda_expect(cuda, #name, (cuda)->name(__VA_ARGS__)) \
		      : (cuda_lacks(#name), -1))

/*
 * Copies to the device, and waits until the bytes are there: up to 64 KiB of pageable memory are
 * still under way when cuMemcpyHtoD() returns. Return: likewise.
 */
int cuda_upload(const struct cuda *cuda, ww_CUdeviceptr to, const void *from, uint64_t bytes);

/* Elements at an address of the device, see float_pattern.h. Return: likewise. */
int cuda_write(struct cuda *cuda, ww_CUdeviceptr address, uint64_t elements,
	struct pattern pattern);
int cuda_verify(struct cuda *cuda, ww_CUdeviceptr address, uint64_t elements,
	struct pattern pattern);

/* Whether pools of this device can be shared by descriptor. */
bool cuda_has_pools(const struct cuda *cuda);

/* A pool that keeps what is freed, with a descriptor for other processes. */
int cuda_pool_create(const struct cuda *cuda, ww_CUmemoryPool *out_pool, int *out_fd);
int cuda_pool_import(const struct cuda *cuda, int fd, ww_CUmemoryPool *out_pool);

/* Memory of a pool that is really there; and given back for good. */
int cuda_pool_alloc(const struct cuda *cuda, ww_CUmemoryPool pool, uint64_t bytes,
	ww_CUdeviceptr *out_address);
int cuda_pool_free(const struct cuda *cuda, ww_CUdeviceptr address);

#endif
