/* SPDX-License-Identifier: Apache-2.0 */
/*
 * relaxed_mode.h - the mode in which a thread's calls of the driver end no capture (capture.c)
 */
#ifndef WW_DEVICE_CUDA_RELAXED_MODE_H
#define WW_DEVICE_CUDA_RELAXED_MODE_H

#include "base/cleanup.h"
#include "device/cuda/cuda_abi.h"

struct ww_cuda_relaxed {
	ww_PFN_cuThreadExchangeStreamCaptureMode exchange; /* NULL: nothing to put back */
	ww_CUstreamCaptureMode mode;                       /* that the thread had */
};

static inline struct ww_cuda_relaxed ww_cuda_relaxed_enter(
	ww_PFN_cuThreadExchangeStreamCaptureMode exchange)
{
	struct ww_cuda_relaxed relaxed = {exchange, WW_CU_STREAM_CAPTURE_MODE_RELAXED};

	if (exchange(&relaxed.mode) != WW_CUDA_SUCCESS)
		relaxed.exchange = NULL;
	return relaxed;
}

static inline void ww_cuda_relaxed_leave(struct ww_cuda_relaxed *relaxed)
{
	if (relaxed->exchange)
		relaxed->exchange(&relaxed->mode);
	relaxed->exchange = NULL;
}

#define WW_AUTO_CUDA_RELAXED WW_CLEANUP(ww_cuda_relaxed_leave) __attribute__((unused))

#endif
