/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fence.c - a point behind all work of a device's primary context
 *
 * Libraries of arrays work in the primary context. The streams that they use are theirs: they may
 * be destroyed while their work runs, and the driver does not survive a call with such a handle. So
 * the driver is asked to record an event behind the work of the whole context.
 *
 * That would end the captures of the context's streams, so no fence is made while one is known
 * (capture.c).
 *
 * Drivers older than CUDA 12.5 cannot do that. There a fence has no event: it counts as passed when
 * no stream is known to wait for a timeline, and its end waits for the context. That wait is no
 * longer than the work that was enqueued then.
 */
#include <stdlib.h>

#include "base/error.h"
#include "device/cuda/cuda.h"
#include "device/deferred_release.h"

struct cuda_fence {
	struct ww_device_fence base;
	ww_CUevent event; /* NULL: the driver records none */
};

static struct cuda_fence *from_base(struct ww_device_fence *fence)
{
	return ww_container(fence, struct cuda_fence, base);
}

static struct cuda_device *device_of(const struct cuda_fence *fence)
{
	return ww_cuda_device(fence->base.device);
}

/* In the context. */
static ww_status record(struct cuda_fence *fence, ww_CUcontext context)
{
	const struct ww_cuda_driver *driver = device_of(fence)->driver;
	ww_CUresult result = driver->cuEventCreate(&fence->event, WW_CU_EVENT_DISABLE_TIMING);

	/* As late as can be. */
	if (result == WW_CUDA_SUCCESS && ww_cuda_any_captured(device_of(fence)))
		return WW_NOT_READY;
	if (result == WW_CUDA_SUCCESS)
		result = driver->cuCtxRecordEvent(context, fence->event);
	if (result == WW_CUDA_SUCCESS)
		return WW_OK;
	return ww_cuda_fail(driver, result, NULL, "cannot record an event behind the work of %s",
		fence->base.device->selector);
}

static void fence_delete(struct cuda_fence *fence)
{
	const struct ww_cuda_driver *driver = device_of(fence)->driver;
	WW_AUTO_CUDA_SCOPE struct ww_cuda_scope scope = ww_cuda_relax(driver);

	if (fence->event)
		driver->cuEventDestroy(fence->event);
	fence->base.device = ww_device_unref(fence->base.device);
	free(fence);
}

static ww_status fence_new(struct cuda_device *device, ww_CUcontext context,
	struct ww_device_fence **out_fence)
{
	WW_AUTO_CUDA_SCOPE struct ww_cuda_scope scope = {NULL};
	struct cuda_fence *fence;
	ww_status status = WW_OK;

	ww_try(ww_cuda_enter_context(device, context, &scope));
	fence = calloc(1, sizeof(*fence));
	if (!fence)
		return ww_fail(WW_ERR_NO_MEMORY, "cannot make a fence: out of memory");
	fence->base.device = ww_device_ref(&device->base);
	if (device->driver->cuCtxRecordEvent)
		status = record(fence, context);
	if (status == WW_OK)
		*out_fence = &fence->base;
	else
		fence_delete(fence);
	return status;
}

ww_status ww_cuda_fence_create(struct ww_device *base, struct ww_device_fence **out_fence)
{
	struct cuda_device *device = ww_cuda_device(base);
	WW_AUTO_CUDA_SCOPE struct ww_cuda_scope scope = ww_cuda_relax(device->driver);
	ww_CUcontext context = NULL;
	unsigned int flags;
	int is_active = 0;
	ww_CUresult result;

	*out_fence = NULL;
	/* If no library has made the context, it stays NULL, and no work is in it. */
	result = device->driver->cuDevicePrimaryCtxGetState(device->ordinal, &flags, &is_active);
	if (result != WW_CUDA_SUCCESS)
		return ww_cuda_fail(device->driver, result, NULL,
			"cannot ask for the CUDA context of %s", device->base.selector);
	ww_try(is_active ? ww_cuda_primary(device, &context) : WW_OK);
	return context ? fence_new(device, context, out_fence) : WW_OK;
}

/* A context that failed runs nothing any more, so every other answer means that it is passed. */
bool ww_cuda_fence_is_passed(struct ww_device_fence *base)
{
	struct cuda_fence *fence = from_base(base);

	const struct ww_cuda_driver *driver = device_of(fence)->driver;
	WW_AUTO_CUDA_SCOPE struct ww_cuda_scope scope = ww_cuda_relax(driver);

	if (!fence->event)
		return !ww_deferred_streams_busy();
	return driver->cuEventQuery(fence->event) != WW_CUDA_ERROR_NOT_READY;
}

void ww_cuda_fence_free(struct ww_device_fence *base)
{
	struct cuda_fence *fence = from_base(base);
	struct cuda_device *device = device_of(fence);
	struct ww_cuda_scope scope = {NULL};
	struct ww_error error;
	ww_CUcontext context;

	ww_error_save(&error);
	if (!fence->event && ww_cuda_primary(device, &context) == WW_OK &&
		ww_cuda_enter_context(device, context, &scope) == WW_OK) {
		ww_cuda_await_context(device->driver);
		ww_cuda_leave(&scope);
	}
	ww_error_restore(&error);
	fence_delete(fence);
}
