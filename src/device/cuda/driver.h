/* SPDX-License-Identifier: Apache-2.0 */
/*
 * driver.h - the functions of libcuda.so.1 that we call
 *
 * The driver is opened when a GPU is first asked for, and stays open. Its functions come from
 * cuGetProcAddress() in the version of CUDA 12.0; a driver without one of those that are required
 * cannot be used.
 */
#ifndef WW_DEVICE_CUDA_DRIVER_H
#define WW_DEVICE_CUDA_DRIVER_H

#include <stdbool.h>

#include "base/error.h"
#include "device/cuda/cuda_abi.h"

#define WW_CUDA_REQUIRED(X)                  \
	X(cuInit)                            \
	X(cuDriverGetVersion)                \
	X(cuGetErrorName)                    \
	X(cuGetErrorString)                  \
	X(cuDeviceGet)                       \
	X(cuDeviceGetCount)                  \
	X(cuDeviceGetName)                   \
	X(cuDeviceGetUuid)                   \
	X(cuDeviceGetAttribute)              \
	X(cuDeviceTotalMem)                  \
	X(cuDevicePrimaryCtxGetState)        \
	X(cuDevicePrimaryCtxRetain)          \
	X(cuDevicePrimaryCtxRelease)         \
	X(cuCtxPushCurrent)                  \
	X(cuCtxPopCurrent)                   \
	X(cuCtxGetCurrent)                   \
	X(cuCtxGetDevice)                    \
	X(cuCtxSynchronize)                  \
	X(cuMemGetInfo)                      \
	X(cuMemAlloc)                        \
	X(cuMemFree)                         \
	X(cuMemcpyAsync)                     \
	X(cuMemsetD8Async)                   \
	X(cuMemsetD16Async)                  \
	X(cuMemsetD32Async)                  \
	X(cuMemHostRegister)                 \
	X(cuMemHostUnregister)               \
	X(cuMemHostGetDevicePointer)         \
	X(cuStreamCreate)                    \
	X(cuStreamDestroy)                   \
	X(cuStreamSynchronize)               \
	X(cuStreamQuery)                     \
	X(cuStreamGetCtx)                    \
	X(cuStreamGetId)                     \
	X(cuStreamIsCapturing)               \
	X(cuThreadExchangeStreamCaptureMode) \
	X(cuLaunchHostFunc)                  \
	X(cuStreamWaitValue64)               \
	X(cuStreamBatchMemOp)                \
	X(cuStreamWriteValue64)              \
	X(cuStreamWaitEvent)                 \
	X(cuEventCreate)                     \
	X(cuEventDestroy)                    \
	X(cuEventRecord)                     \
	X(cuEventQuery)                      \
	X(cuEventSynchronize)                \
	X(cuIpcGetEventHandle)               \
	X(cuIpcOpenEventHandle)              \
	X(cuModuleLoadDataEx)                \
	X(cuModuleUnload)                    \
	X(cuModuleGetFunction)               \
	X(cuFuncGetAttribute)                \
	X(cuFuncSetAttribute)                \
	X(cuLaunchKernel)                    \
	X(cuMemGetAllocationGranularity)     \
	X(cuMemCreate)                       \
	X(cuMemRelease)                      \
	X(cuMemAddressReserve)               \
	X(cuMemAddressFree)                  \
	X(cuMemMap)                          \
	X(cuMemUnmap)                        \
	X(cuMemSetAccess)                    \
	X(cuMemExportToShareableHandle)      \
	X(cuMemImportFromShareableHandle)    \
	X(cuMemGetAllocationPropertiesFromHandle)

/*
 * What memory of others needs: without one of them the library does without, and a device has no
 * WW_CAP_FOREIGN.
 */
#define WW_CUDA_FOREIGN(X)                    \
	X(cuPointerGetAttributes)             \
	X(cuMemGetAddressRange)               \
	X(cuMemRetainAllocationHandle)        \
	X(cuIpcGetMemHandle)                  \
	X(cuIpcOpenMemHandle)                 \
	X(cuIpcCloseMemHandle)                \
	X(cuDeviceGetDefaultMemPool)          \
	X(cuMemPoolSetAccess)                 \
	X(cuMemPoolDestroy)                   \
	X(cuMemPoolExportToShareableHandle)   \
	X(cuMemPoolImportFromShareableHandle) \
	X(cuMemPoolExportPointer)             \
	X(cuMemPoolImportPointer)             \
	X(cuMemFreeAsync)

/* What nodes of graphs need: without one of them a device has no WW_CAP_GRAPH. */
#define WW_CUDA_GRAPH(X)                      \
	X(cuStreamGetCaptureInfo)             \
	X(cuStreamUpdateCaptureDependencies)  \
	X(cuGraphAddBatchMemOpNode)           \
	X(cuGraphExecBatchMemOpNodeSetParams) \
	X(cuGraphLaunch)

/*
 * Newer than CUDA 12.0: without one of them, which is NULL then, something else is done.
 * cuCtxRecordEvent: CUDA 12.5; the others: 12.4.
 */
#define WW_CUDA_LATER(X)    \
	X(cuCtxRecordEvent) \
	X(cuFuncLoad)       \
	X(cuFuncGetParamInfo)

struct ww_cuda_driver {
#define FIELD(name) ww_PFN_##name name;
	WW_CUDA_REQUIRED(FIELD)
	WW_CUDA_FOREIGN(FIELD)
	WW_CUDA_GRAPH(FIELD)
	WW_CUDA_LATER(FIELD)
#undef FIELD
	bool has_foreign; /* all of WW_CUDA_FOREIGN */
	bool has_graph;   /* all of WW_CUDA_GRAPH */
};

/*
 * Opens the driver and initialises it, once; a failure is tried again at the next call.
 * Return: WW_OK; WW_ERR_NO_DEVICE (no driver, too old a one, or no GPU); WW_ERR_FORKED (CUDA was in
 *         use before fork()); as ww_cuda_fail().
 */
ww_status ww_cuda_driver_get(const struct ww_cuda_driver **out_driver);

/*
 * The one table from CUresult to our statuses. CUDA_ERROR_INVALID_VALUE is WW_ERR_DEVICE there:
 * most arguments are the library's own. Where they are the caller's, the call says so with
 * ww_cuda_fail_as().
 */
ww_status ww_cuda_status(ww_CUresult result);

/*
 * Records what the driver answered: "<message>: <its text> (CUDA_ERROR_NAME)", then "; <remedy>"
 * unless it is NULL. fail_as: the same, where the caller knows better than the table what the
 * answer means.
 */
ww_status ww_cuda_fail(const struct ww_cuda_driver *driver, ww_CUresult result, const char *remedy,
	const char *format, ...) WW_PRINTF(4, 5);
ww_status ww_cuda_fail_as(ww_status status, const struct ww_cuda_driver *driver, ww_CUresult result,
	const char *remedy, const char *format, ...) WW_PRINTF(5, 6);

#endif
