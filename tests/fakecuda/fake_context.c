/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_context.c - contexts, and which one is current in a thread
 *
 * A device has one primary context, counted by retains; others are created and destroyed. Each
 * thread has a stack of them and the top is current. Destroying a context closes its streams (what
 * was still queued is dropped), frees its allocations and kills its events; VMM memory belongs to
 * no context and stays. A dead context may still lie on a stack: calls that need it say
 * CONTEXT_IS_DESTROYED. A context that failed (an asynchronous fault) says so in every later call
 * that needs it, and a primary one cannot be had again. A GPU in prohibited mode takes no contexts.
 */
#include "fake.h"

#include <stdlib.h>

#define STACK_DEPTH 64

struct fake_context *fake_contexts;

static _Thread_local struct fake_context *stack[STACK_DEPTH];
static _Thread_local unsigned int depth;
static _Thread_local uint64_t token;

/* Names the calling thread, for its per-thread default streams. */
uint64_t fake_thread_token(void)
{
	static uint64_t last;
	if (!token)
		token = ++last;
	return token;
}

ww_CUresult fake_context_current(struct fake_context **out_context)
{
	*out_context = NULL;
	if (!depth)
		return WW_CUDA_ERROR_INVALID_CONTEXT;
	struct fake_context *context = stack[depth - 1];
	if (context->destroyed)
		return WW_CUDA_ERROR_CONTEXT_IS_DESTROYED;
	if (context->fault)
		return context->fault;
	*out_context = context;
	return WW_CUDA_SUCCESS;
}

int fake_context_current_device(void)
{
	return depth ? stack[depth - 1]->device : -1;
}

static struct fake_context *context_find(ww_CUcontext handle)
{
	for (struct fake_context *context = fake_contexts; context; context = context->next)
		if ((ww_CUcontext)context == handle)
			return context;
	return NULL;
}

static struct fake_context *context_new(int device)
{
	struct fake_context *context = calloc(1, sizeof(*context));
	if (!context)
		return NULL;
	context->device = device;
	context->next = fake_contexts;
	fake_contexts = context;
	return context;
}

static bool is_prohibited(void)
{
	return fake_config()->compute_mode == WW_CU_COMPUTEMODE_PROHIBITED;
}

static void context_end(struct fake_context *context)
{
	context->destroyed = true;
	context->ending = true;
	fake_stream_abandon_all(context);
	fake_memory_free_of(context);
	fake_event_destroy_of(context);
	fake_module_unload_of(context);
	context->peers = 0;
	context->ending = false;
	fake_wake();
}

FAKE_API cuDevicePrimaryCtxRetain(ww_CUcontext *out_context, ww_CUdevice device)
{
	FAKE_ENTER(cuDevicePrimaryCtxRetain);
	if (!out_context)
		return WW_CUDA_ERROR_INVALID_VALUE;
	struct fake_device *owner = fake_device_get(device);
	if (!owner)
		return WW_CUDA_ERROR_INVALID_DEVICE;
	if (is_prohibited())
		return WW_CUDA_ERROR_DEVICE_UNAVAILABLE;
	if (!owner->primary) {
		owner->primary = context_new(device);
		if (!owner->primary)
			return WW_CUDA_ERROR_OUT_OF_MEMORY;
		owner->primary->primary = true;
	}
	while (owner->primary->ending)
		fake_wait();
	if (owner->primary->fault)
		return owner->primary->fault;
	owner->primary->destroyed = false;
	owner->primary->retains++;
	*out_context = (ww_CUcontext)owner->primary;
	return WW_CUDA_SUCCESS;
}

FAKE_API cuDevicePrimaryCtxRelease_v2(ww_CUdevice device)
{
	FAKE_ENTER(cuDevicePrimaryCtxRelease);
	struct fake_device *owner = fake_device_get(device);
	if (!owner)
		return WW_CUDA_ERROR_INVALID_DEVICE;
	if (!owner->primary || !owner->primary->retains)
		return WW_CUDA_ERROR_INVALID_CONTEXT;
	if (--owner->primary->retains == 0)
		context_end(owner->primary);
	return WW_CUDA_SUCCESS;
}

FAKE_API cuDevicePrimaryCtxGetState(ww_CUdevice device, unsigned int *out_flags, int *out_active)
{
	FAKE_ENTER(cuDevicePrimaryCtxGetState);
	if (!out_flags || !out_active)
		return WW_CUDA_ERROR_INVALID_VALUE;
	struct fake_device *owner = fake_device_get(device);
	if (!owner)
		return WW_CUDA_ERROR_INVALID_DEVICE;
	*out_flags = 0;
	*out_active = owner->primary && owner->primary->retains > 0;
	return WW_CUDA_SUCCESS;
}

FAKE_API cuCtxCreate_v2(ww_CUcontext *out_context, unsigned int flags, ww_CUdevice device)
{
	FAKE_ENTER(cuCtxCreate);
	if (!out_context || flags & ~(unsigned int)WW_CU_CTX_FLAGS_MASK)
		return WW_CUDA_ERROR_INVALID_VALUE;
	if (!fake_device_get(device))
		return WW_CUDA_ERROR_INVALID_DEVICE;
	if (is_prohibited())
		return WW_CUDA_ERROR_DEVICE_UNAVAILABLE;
	if (depth == STACK_DEPTH)
		return WW_CUDA_ERROR_OUT_OF_MEMORY;
	struct fake_context *context = context_new(device);
	if (!context)
		return WW_CUDA_ERROR_OUT_OF_MEMORY;
	context->flags = flags;
	stack[depth++] = context;
	*out_context = (ww_CUcontext)context;
	return WW_CUDA_SUCCESS;
}

FAKE_API cuCtxDestroy_v2(ww_CUcontext handle)
{
	FAKE_ENTER(cuCtxDestroy);
	struct fake_context *context = context_find(handle);
	if (!context || context->primary || context->destroyed)
		return WW_CUDA_ERROR_INVALID_CONTEXT;
	context_end(context);
	if (depth && stack[depth - 1] == context)
		depth--;
	return WW_CUDA_SUCCESS;
}

FAKE_API cuCtxPushCurrent_v2(ww_CUcontext handle)
{
	FAKE_ENTER(cuCtxPushCurrent);
	if (!handle)
		return WW_CUDA_ERROR_INVALID_VALUE;
	struct fake_context *context = context_find(handle);
	if (!context)
		return WW_CUDA_ERROR_INVALID_CONTEXT;
	if (depth == STACK_DEPTH)
		return WW_CUDA_ERROR_OUT_OF_MEMORY;
	stack[depth++] = context;
	return WW_CUDA_SUCCESS;
}

FAKE_API cuCtxPopCurrent_v2(ww_CUcontext *out_context)
{
	FAKE_ENTER(cuCtxPopCurrent);
	if (!depth)
		return WW_CUDA_ERROR_INVALID_CONTEXT;
	depth--;
	if (out_context)
		*out_context = (ww_CUcontext)stack[depth];
	return WW_CUDA_SUCCESS;
}

FAKE_API cuCtxSetCurrent(ww_CUcontext handle)
{
	FAKE_ENTER(cuCtxSetCurrent);
	if (!handle) {
		if (depth)
			depth--;
		return WW_CUDA_SUCCESS;
	}
	struct fake_context *context = context_find(handle);
	if (!context)
		return WW_CUDA_ERROR_INVALID_CONTEXT;
	if (!depth)
		depth = 1;
	stack[depth - 1] = context;
	return WW_CUDA_SUCCESS;
}

FAKE_API cuCtxGetCurrent(ww_CUcontext *out_context)
{
	FAKE_ENTER(cuCtxGetCurrent);
	if (!out_context)
		return WW_CUDA_ERROR_INVALID_VALUE;
	*out_context = depth ? (ww_CUcontext)stack[depth - 1] : NULL;
	return WW_CUDA_SUCCESS;
}

FAKE_API cuCtxGetDevice(ww_CUdevice *out_device)
{
	FAKE_ENTER(cuCtxGetDevice);
	if (!out_device)
		return WW_CUDA_ERROR_INVALID_VALUE;
	if (!depth)
		return WW_CUDA_ERROR_INVALID_CONTEXT;
	*out_device = stack[depth - 1]->device;
	return WW_CUDA_SUCCESS;
}

FAKE_API cuCtxSynchronize(void)
{
	FAKE_ENTER_CONTEXT(cuCtxSynchronize);
	error = fake_capture_refuse_context(context);
	if (error)
		return error;
	fake_stream_finish_context(context);
	return context->fault;
}

FAKE_API cuCtxEnablePeerAccess(ww_CUcontext peer, unsigned int flags)
{
	FAKE_ENTER_CONTEXT(cuCtxEnablePeerAccess);
	struct fake_context *other = context_find(peer);
	if (!other || other->destroyed)
		return WW_CUDA_ERROR_INVALID_CONTEXT;
	if (flags)
		return WW_CUDA_ERROR_INVALID_VALUE;
	if (other->device == context->device ||
		!fake_device_reaches(context->device, &fake_device_get(other->device)->uuid))
		return WW_CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
	uint32_t bit = (uint32_t)1 << other->device;
	if (context->peers & bit)
		return WW_CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
	context->peers |= bit;
	return WW_CUDA_SUCCESS;
}
