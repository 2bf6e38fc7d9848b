/* SPDX-License-Identifier: Apache-2.0 */
/*
 * context.c - which CUDA context a call runs in
 *
 * A context costs about 525 MiB of GPU memory in each process, so the device's primary one is
 * retained only when a call needs a context and the caller has none of this device current. What
 * was current before a call is current after it: a foreign context is pushed and popped, never set.
 *
 * Streams and registered memory live in a context. If that is the primary one, the device keeps it,
 * so that it does not end when the caller lets go of it; a context that the caller created is the
 * caller's to keep.
 */
#include "device/cuda/cuda.h"

ww_status ww_cuda_primary(struct cuda_device *device, ww_CUcontext *out_context)
{
	ww_CUresult result = WW_CUDA_SUCCESS;

	pthread_mutex_lock(&device->lock);
	if (!device->primary)
		result = device->driver->cuDevicePrimaryCtxRetain(&device->primary,
			device->ordinal);
	if (result != WW_CUDA_SUCCESS)
		device->primary = NULL;
	*out_context = device->primary;
	pthread_mutex_unlock(&device->lock);
	if (result != WW_CUDA_SUCCESS)
		return ww_cuda_fail(device->driver, result,
			result == WW_CUDA_ERROR_OUT_OF_MEMORY ? "a context needs about 525 MiB"
							      : NULL,
			"cannot make a CUDA context on %s", device->base.selector);
	return WW_OK;
}

/*
 * Retains the primary context if it is @current: what is made in it must not end with its other
 * users.
 */
static ww_status keep_if_primary(struct cuda_device *device, ww_CUcontext current)
{
	ww_CUcontext primary = NULL;
	unsigned int flags;
	int is_active = 0;
	ww_CUresult result = WW_CUDA_SUCCESS;

	pthread_mutex_lock(&device->lock);
	if (!device->primary)
		result = device->driver->cuDevicePrimaryCtxGetState(device->ordinal, &flags,
			&is_active);
	if (result == WW_CUDA_SUCCESS && is_active)
		result = device->driver->cuDevicePrimaryCtxRetain(&primary, device->ordinal);
	if (result == WW_CUDA_SUCCESS && primary == current)
		device->primary = primary;
	else if (result == WW_CUDA_SUCCESS && primary)
		device->driver->cuDevicePrimaryCtxRelease(device->ordinal);
	pthread_mutex_unlock(&device->lock);
	if (result != WW_CUDA_SUCCESS)
		return ww_cuda_fail(device->driver, result, NULL,
			"cannot keep the CUDA context of %s", device->base.selector);
	return WW_OK;
}

bool ww_cuda_is_primary(struct cuda_device *device, ww_CUcontext context)
{
	bool is_primary;

	pthread_mutex_lock(&device->lock);
	is_primary = context == device->primary;
	pthread_mutex_unlock(&device->lock);
	return is_primary;
}

void ww_cuda_context_fini(struct cuda_device *device)
{
	if (device->primary)
		device->driver->cuDevicePrimaryCtxRelease(device->ordinal);
	device->primary = NULL;
}

/* In a scope, which has the context from now on, and is left on failure. */
static ww_status enter_too(struct cuda_device *device, ww_CUcontext context,
	struct ww_cuda_scope *scope)
{
	ww_CUcontext current = NULL;
	ww_CUresult result = device->driver->cuCtxGetCurrent(&current);

	if (result == WW_CUDA_SUCCESS && current == context)
		return WW_OK;
	if (result == WW_CUDA_SUCCESS)
		result = device->driver->cuCtxPushCurrent(context);
	scope->is_pushed = result == WW_CUDA_SUCCESS;
	if (scope->is_pushed)
		return WW_OK;
	ww_cuda_leave(scope);
	return ww_cuda_fail(device->driver, result, NULL, "cannot use a context of %s",
		device->base.selector);
}

ww_status ww_cuda_enter_context(struct cuda_device *device, ww_CUcontext context,
	struct ww_cuda_scope *out_scope)
{
	*out_scope = ww_cuda_relax(device->driver);
	return enter_too(device, context, out_scope);
}

ww_status ww_cuda_enter(struct cuda_device *device, struct ww_cuda_scope *out_scope)
{
	ww_CUcontext context = NULL;
	ww_status status;
	ww_CUdevice ordinal;
	ww_CUresult result;

	*out_scope = ww_cuda_relax(device->driver);
	result = device->driver->cuCtxGetCurrent(&context);
	if (result == WW_CUDA_SUCCESS && context)
		result = device->driver->cuCtxGetDevice(&ordinal);
	if (result != WW_CUDA_SUCCESS)
		status = ww_cuda_fail(device->driver, result, NULL,
			"cannot find out the current CUDA context");
	else if (context && ordinal == device->ordinal)
		status = WW_OK;
	else
		status = ww_cuda_primary(device, &context);
	if (status == WW_OK)
		return enter_too(device, context, out_scope);
	ww_cuda_leave(out_scope);
	return status;
}

void ww_cuda_leave(struct ww_cuda_scope *scope)
{
	ww_CUcontext popped;

	if (scope->is_pushed)
		scope->driver->cuCtxPopCurrent(&popped);
	ww_cuda_relaxed_leave(&scope->relaxed);
	*scope = (struct ww_cuda_scope){NULL};
}

ww_status ww_cuda_enter_to_stay(struct cuda_device *device, struct ww_cuda_scope *out_scope,
	ww_CUcontext *out_context)
{
	ww_CUresult result;
	ww_status status;

	ww_try(ww_cuda_enter(device, out_scope));
	result = device->driver->cuCtxGetCurrent(out_context);
	if (result != WW_CUDA_SUCCESS)
		status = ww_cuda_fail(device->driver, result, NULL,
			"cannot find out the current CUDA context");
	else
		status = keep_if_primary(device, *out_context);
	if (status < 0)
		ww_cuda_leave(out_scope);
	return status;
}
