/* SPDX-License-Identifier: Apache-2.0 */
/*
 * capture.c - beside streams that the program captures into CUDA graphs
 *
 * During a capture CUDA forbids calls: in the thread that captures, and if the mode of the capture
 * is global, in all threads. A forbidden call fails, and ends the capture. They are calls that
 * might wait for the captured stream, or change what it uses. None of ours does, so each of our
 * calls is made in the relaxed mode, where CUDA forbids only what concerns the capture itself:
 *   - calls on the captured stream that are no work for its graph: our calls ask first;
 *   - work for the legacy default stream while a blocking stream is captured: the same;
 *   - cuCtxSynchronize(): ww_cuda_await_context() is in its place;
 *   - cuCtxRecordEvent(): nothing else does what it does, so fences ask first (fence.c).
 *
 * No call of CUDA lists the streams of a context. The legacy stream tells whether a blocking stream
 * is captured. A non-blocking stream can be asked only if it is known to exist: if it is wrapped. A
 * capture may also begin between the question and the record of a fence. So a program that must
 * exclude both tells of its captures, and no fence is made meanwhile (memory/retire.c).
 */
#include "device/cuda/cuda.h"
#include "device/native_stream.h"

struct ww_cuda_scope ww_cuda_relax(const struct ww_cuda_driver *driver)
{
	return (struct ww_cuda_scope){driver,
		ww_cuda_relaxed_enter(driver->cuThreadExchangeStreamCaptureMode), false};
}

/* The driver frees memory when all work is done. Without memory there is no other way. */
void ww_cuda_await_context(const struct ww_cuda_driver *driver)
{
	ww_CUdeviceptr address;

	if (driver->cuMemAlloc(&address, 1) == WW_CUDA_SUCCESS)
		driver->cuMemFree(address);
	else
		driver->cuCtxSynchronize();
}

/* Return: UNSUPPORTED: it is captured; IMPLICIT: it is the legacy stream, beside a capture. */
static ww_CUresult ask(const struct ww_cuda_driver *driver, ww_CUstream stream)
{
	ww_CUstreamCaptureStatus status = WW_CU_STREAM_CAPTURE_STATUS_NONE;
	ww_CUresult result = driver->cuStreamIsCapturing(stream, &status);

	if (result == WW_CUDA_SUCCESS && status != WW_CU_STREAM_CAPTURE_STATUS_NONE)
		return WW_CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	return result;
}

ww_status ww_cuda_check_capture(const struct ww_cuda_driver *driver, ww_CUstream stream)
{
	ww_CUresult result = ask(driver, stream);

	if (result == WW_CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)
		return ww_fail(WW_ERR_STATE,
			"stream %p is captured into a CUDA graph, and this call cannot be: make it before or "
			"after the launch of the graph",
			(void *)stream);
	if (result == WW_CUDA_ERROR_STREAM_CAPTURE_IMPLICIT)
		return ww_fail(WW_ERR_STATE,
			"the default stream cannot be used while a blocking stream is captured into a CUDA "
			"graph: make the call before or after the launch of the graph");
	return WW_OK; /* if it is not known, the call itself says why */
}

static bool is_captured(const void *stream, void *driver)
{
	ww_CUresult result = ask(driver, (ww_CUstream)(uintptr_t)stream);

	return result == WW_CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED ||
		result == WW_CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
}

bool ww_cuda_any_captured(const struct cuda_device *device)
{
	void *driver = (void *)(uintptr_t)device->driver;

	return is_captured(WW_CU_STREAM_LEGACY, driver) ||
		ww_native_streams_any(device->base.uuid, is_captured, driver);
}
