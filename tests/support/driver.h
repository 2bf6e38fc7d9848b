/* SPDX-License-Identifier: Apache-2.0 */
/*
 * driver.h - the CUDA driver itself, real or fake, beside the library
 *
 * Tests look behind the library's back: which context is current, a stream made by hand. And they
 * steer the fake driver, where that is the one in use.
 */
#ifndef WW_TESTS_SUPPORT_DRIVER_H
#define WW_TESTS_SUPPORT_DRIVER_H

#include <stdbool.h>
#include <stdint.h>

#include "device/cuda/cuda_abi.h"
#include "fakecuda/fakecuda.h"

#define DRIVER_FUNCTIONS(X)                                                     \
	X(cuMemGetAccess, cuMemGetAccess)                                       \
	X(cuInit, cuInit)                                                       \
	X(cuDeviceGet, cuDeviceGet)                                             \
	X(cuDeviceCanAccessPeer, cuDeviceCanAccessPeer)                         \
	X(cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain)                   \
	X(cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2)              \
	X(cuCtxCreate, cuCtxCreate_v2)                                          \
	X(cuCtxDestroy, cuCtxDestroy_v2)                                        \
	X(cuCtxGetCurrent, cuCtxGetCurrent)                                     \
	X(cuCtxSetCurrent, cuCtxSetCurrent)                                     \
	X(cuStreamCreate, cuStreamCreate)                                       \
	X(cuStreamDestroy, cuStreamDestroy_v2)                                  \
	X(cuStreamQuery, cuStreamQuery)                                         \
	X(cuStreamSynchronize, cuStreamSynchronize)                             \
	X(cuStreamBeginCapture, cuStreamBeginCapture_v2)                        \
	X(cuStreamEndCapture, cuStreamEndCapture)                               \
	X(cuThreadExchangeStreamCaptureMode, cuThreadExchangeStreamCaptureMode) \
	X(cuGraphCreate, cuGraphCreate)                                         \
	X(cuGraphInstantiateWithFlags, cuGraphInstantiateWithFlags)             \
	X(cuGraphLaunch, cuGraphLaunch)                                         \
	X(cuGraphExecDestroy, cuGraphExecDestroy)                               \
	X(cuGraphDestroy, cuGraphDestroy)                                       \
	X(cuMemsetD32Async, cuMemsetD32Async)                                   \
	X(cuMemAlloc, cuMemAlloc_v2)                                            \
	X(cuMemFree, cuMemFree_v2)                                              \
	X(cuMemAllocManaged, cuMemAllocManaged)                                 \
	X(cuMemHostAlloc, cuMemHostAlloc)                                       \
	X(cuMemFreeHost, cuMemFreeHost)                                         \
	X(cuMemcpyHtoD, cuMemcpyHtoD_v2)                                        \
	X(cuMemcpyDtoH, cuMemcpyDtoH_v2)                                        \
	X(cuMemGetAddressRange, cuMemGetAddressRange_v2)                        \
	X(cuMemGetAllocationGranularity, cuMemGetAllocationGranularity)         \
	X(cuMemCreate, cuMemCreate)                                             \
	X(cuMemRelease, cuMemRelease)                                           \
	X(cuMemAddressReserve, cuMemAddressReserve)                             \
	X(cuMemAddressFree, cuMemAddressFree)                                   \
	X(cuMemMap, cuMemMap)                                                   \
	X(cuMemUnmap, cuMemUnmap)                                               \
	X(cuMemSetAccess, cuMemSetAccess)                                       \
	X(cuDeviceGetDefaultMemPool, cuDeviceGetDefaultMemPool)                 \
	X(cuMemPoolCreate, cuMemPoolCreate)                                     \
	X(cuMemPoolDestroy, cuMemPoolDestroy)                                   \
	X(cuMemAllocAsync, cuMemAllocAsync)                                     \
	X(cuMemAllocFromPoolAsync, cuMemAllocFromPoolAsync)                     \
	X(cuMemFreeAsync, cuMemFreeAsync)                                       \
	X(cuIpcGetMemHandle, cuIpcGetMemHandle)                                 \
	X(cuIpcOpenMemHandle, cuIpcOpenMemHandle_v2)                            \
	X(cuIpcCloseMemHandle, cuIpcCloseMemHandle)

struct driver {
#define DRIVER_FIELD(name, symbol) ww_PFN_##name name;
	DRIVER_FUNCTIONS(DRIVER_FIELD)
#undef DRIVER_FIELD
};

/* The driver, started; NULL where there is none. */
const struct driver *driver_get(void);

struct fake {
	fakecuda_fail_fn *fail;
	fakecuda_fail_off_fn *fail_off;
	fakecuda_call_count_fn *call_count;
	fakecuda_live_fn *live;
};

/* What steers the fake driver; NULL where there is none or it is a real one. */
const struct fake *fake_get(void);

#endif
