/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream.c - CUDA streams: ours, and those the caller made
 *
 * A stream belongs to a context, which is current during every call on it. CUDA's default streams
 * belong to whichever context is current, so for them that is decided at each call (context.c).
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/await.h"
#include "base/cancel.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "device/cuda/cuda.h"
#include "device/native_stream.h"

struct cuda_stream {
	struct ww_stream base;
	ww_CUstream native;
	ww_CUcontext context; /* NULL for a default stream */
	bool is_ours;
};

static struct cuda_stream *from_base(struct ww_stream *stream)
{
	return ww_container(stream, struct cuda_stream, base);
}

static struct cuda_device *device_of(const struct cuda_stream *stream)
{
	return ww_cuda_device(stream->base.device);
}

static ww_status enter(struct cuda_stream *stream, struct ww_cuda_scope *out_scope)
{
	bool is_legacy = !stream->native || stream->native == WW_CU_STREAM_LEGACY;
	ww_status status = WW_OK;

	if (stream->context)
		return ww_cuda_enter_context(device_of(stream), stream->context, out_scope);
	ww_try(ww_cuda_enter(device_of(stream), out_scope));
	if (is_legacy)
		status = ww_cuda_check_capture(device_of(stream)->driver, stream->native);
	if (status < 0)
		ww_cuda_leave(out_scope);
	return status;
}

ww_status ww_cuda_stream_enter(struct ww_stream *stream, struct ww_cuda_scope *out_scope)
{
	return enter(from_base(stream), out_scope);
}

static ww_status fail(struct cuda_stream *stream, ww_CUresult result, const char *action)
{
	return ww_cuda_fail(device_of(stream)->driver, result, NULL, "cannot %s a stream of %s",
		action, stream->base.device->selector);
}

static struct cuda_stream *stream_new(struct ww_device *device)
{
	struct cuda_stream *stream = calloc(1, sizeof(*stream));

	if (!stream) {
		ww_fail(WW_ERR_NO_MEMORY, "cannot make a stream: out of memory");
		return NULL;
	}
	ww_stream_init(&stream->base, device);
	return stream;
}

static struct cuda_stream *stream_free(struct cuda_stream *stream)
{
	ww_stream_fini(&stream->base);
	free(stream);
	return NULL;
}

WW_DEFINE_CLEANUP(struct cuda_stream, stream_free)
#define AUTO_STREAM WW_CLEANUP(stream_free_p)

static bool is_default(ww_CUstream native)
{
	return !native || native == WW_CU_STREAM_LEGACY || native == WW_CU_STREAM_PER_THREAD;
}

/* Finds what it shares with other ww_streams of the same native stream. */
static ww_status identify(struct cuda_stream *stream)
{
	struct ww_device *device = stream->base.device;
	struct ww_native_stream_key key = {.handle = stream->native};
	unsigned long long id = 0;

	memcpy(key.uuid, device->uuid, sizeof(key.uuid));
	if (is_default(stream->native)) {
		key.handle = stream->native ? stream->native : WW_CU_STREAM_LEGACY;
	} else {
		ww_CUresult result = device_of(stream)->driver->cuStreamGetId(stream->native, &id);

		if (result != WW_CUDA_SUCCESS)
			return fail(stream, result, "find the number of");
	}
	key.id = id;
	return ww_native_stream_open(&key, &stream->base.native);
}

/* The stream is released even if this fails: with its context, or with what its work did. */
static void destroy_native(struct cuda_stream *stream)
{
	const struct ww_cuda_driver *driver = device_of(stream)->driver;
	WW_AUTO_CUDA_SCOPE struct ww_cuda_scope scope = {NULL};
	struct ww_error record;

	ww_error_save(&record);
	if (enter(stream, &scope) == WW_OK) {
		driver->cuStreamSynchronize(stream->native);
		driver->cuStreamDestroy(stream->native);
	}
	ww_error_restore(&record);
}

static ww_status create_native(struct cuda_stream *stream)
{
	struct cuda_device *device = device_of(stream);
	WW_AUTO_CUDA_SCOPE struct ww_cuda_scope scope = {NULL};
	ww_CUresult result;

	ww_try(ww_cuda_enter_to_stay(device, &scope, &stream->context));
	/* Non-blocking: it does not wait for the default stream of other code. */
	result = device->driver->cuStreamCreate(&stream->native, WW_CU_STREAM_NON_BLOCKING);
	return result == WW_CUDA_SUCCESS ? WW_OK : fail(stream, result, "make");
}

ww_status ww_cuda_stream_create(struct ww_device *device, struct ww_stream **out_stream)
{
	AUTO_STREAM struct cuda_stream *stream = stream_new(device);
	ww_status status;

	if (!stream)
		return WW_ERR_NO_MEMORY;
	ww_try(create_native(stream));
	stream->is_ours = true;
	status = identify(stream);
	if (status < 0) {
		destroy_native(stream);
		return status;
	}
	*out_stream = &ww_steal(stream)->base;
	return WW_OK;
}

/* Finds the context of the caller's stream and makes sure that it is one of this device. */
static ww_status find_context(struct cuda_stream *stream)
{
	struct cuda_device *device = device_of(stream);
	WW_AUTO_CUDA_SCOPE struct ww_cuda_scope scope = {NULL};
	ww_CUdevice ordinal;
	ww_CUresult result = device->driver->cuStreamGetCtx(stream->native, &stream->context);

	if (result == WW_CUDA_ERROR_INVALID_HANDLE || result == WW_CUDA_ERROR_INVALID_CONTEXT)
		return ww_cuda_fail_as(WW_ERR_INVALID, device->driver, result, NULL,
			"%p is no CUDA stream", (void *)stream->native);
	if (result != WW_CUDA_SUCCESS)
		return fail(stream, result, "find the context of");
	ww_try(ww_cuda_enter_context(device, stream->context, &scope));
	result = device->driver->cuCtxGetDevice(&ordinal);
	if (result != WW_CUDA_SUCCESS)
		return fail(stream, result, "find the device of");
	if (ordinal != device->ordinal)
		return ww_fail(WW_ERR_INVALID,
			"stream %p belongs to cuda:%d, not to %s; open that device for it",
			(void *)stream->native, ordinal, device->base.selector);
	return WW_OK;
}

ww_status ww_cuda_stream_wrap(struct ww_device *device, void *native, struct ww_stream **out_stream)
{
	const struct ww_cuda_driver *driver = ww_cuda_device(device)->driver;
	WW_AUTO_CUDA_SCOPE struct ww_cuda_scope scope = ww_cuda_relax(driver);
	AUTO_STREAM struct cuda_stream *stream = stream_new(device);

	if (!stream)
		return WW_ERR_NO_MEMORY;
	stream->native = native;
	if (is_default(stream->native)) {
		stream->base.serial =
			0; /* work of one thread is not ordered after that of another one */
	} else {
		ww_try(ww_cuda_check_capture(driver, stream->native));
		ww_try(find_context(stream));
	}
	ww_try(identify(stream));
	*out_stream = &ww_steal(stream)->base;
	return WW_OK;
}

void ww_cuda_stream_close(struct ww_stream *base)
{
	struct cuda_stream *stream = from_base(base);

	if (stream->is_ours) {
		ww_native_stream_retire(base->native);
		destroy_native(stream);
	}
	stream_free(stream);
}

void *ww_cuda_stream_native(struct ww_stream *stream)
{
	return from_base(stream)->native;
}

struct awaited_stream {
	struct ww_stream *stream;
	ww_status status;
};

static enum ww_await_look look(void *context)
{
	struct awaited_stream *awaited = context;

	awaited->status = ww_cuda_stream_query(awaited->stream);
	return awaited->status == WW_NOT_READY ? WW_AWAIT_POLL : WW_AWAIT_DONE;
}

ww_status ww_cuda_stream_synchronize(struct ww_stream *base, uint64_t deadline_ns)
{
	struct cuda_stream *stream = from_base(base);
	WW_AUTO_CUDA_SCOPE struct ww_cuda_scope scope = {NULL};
	struct awaited_stream awaited = {.stream = base};
	const uint32_t
		nobodys = 0; /* the driver's own call, which sleeps, knows no limit on time */
	ww_CUresult result;
	ww_status status;

	if (deadline_ns != WW_NEVER || ww_cancel_is_given()) {
		status = ww_await(&nobodys, look, &awaited, deadline_ns);
		return status == WW_OK ? awaited.status : status;
	}
	ww_try(enter(stream, &scope));
	ww_try(ww_cuda_check_capture(device_of(stream)->driver, stream->native));
	result = device_of(stream)->driver->cuStreamSynchronize(stream->native);
	return result == WW_CUDA_SUCCESS ? WW_OK : fail(stream, result, "synchronize");
}

ww_status ww_cuda_stream_query(struct ww_stream *base)
{
	struct cuda_stream *stream = from_base(base);
	WW_AUTO_CUDA_SCOPE struct ww_cuda_scope scope = {NULL};
	ww_CUresult result;

	ww_try(enter(stream, &scope));
	ww_try(ww_cuda_check_capture(device_of(stream)->driver, stream->native));
	result = device_of(stream)->driver->cuStreamQuery(stream->native);
	if (result == WW_CUDA_ERROR_NOT_READY)
		return WW_NOT_READY;
	return result == WW_CUDA_SUCCESS ? WW_OK : fail(stream, result, "query");
}

ww_status ww_cuda_stream_check_capture(struct ww_stream *base)
{
	struct cuda_stream *stream = from_base(base);
	WW_AUTO_CUDA_SCOPE struct ww_cuda_scope scope = {NULL};

	ww_try(enter(stream, &scope));
	return ww_cuda_check_capture(device_of(stream)->driver, stream->native);
}

ww_status ww_cuda_stream_call(struct ww_stream *base, ww_stream_fn fn, void *context)
{
	struct cuda_stream *stream = from_base(base);
	WW_AUTO_CUDA_SCOPE struct ww_cuda_scope scope = {NULL};
	ww_CUresult result;

	ww_try(enter(stream, &scope));
	result = device_of(stream)->driver->cuLaunchHostFunc(stream->native, fn, context);
	return result == WW_CUDA_SUCCESS ? WW_OK : fail(stream, result, "enqueue a call on");
}

/* What a copy or a fill may be refused for: addresses that are the caller's. */
static ww_status status_of_span(ww_CUresult result)
{
	return result == WW_CUDA_ERROR_INVALID_VALUE ? WW_ERR_INVALID : ww_cuda_status(result);
}

ww_status ww_cuda_enqueue_copy(struct cuda_device *device, ww_CUstream stream, void *destination,
	const void *source, uint64_t bytes)
{
	/* One address space: the driver sees from the addresses which direction this is. */
	ww_CUresult result = device->driver->cuMemcpyAsync((ww_CUdeviceptr)(uintptr_t)destination,
		(ww_CUdeviceptr)(uintptr_t)source, bytes, stream);

	if (result == WW_CUDA_SUCCESS)
		return WW_OK;
	return ww_cuda_fail_as(status_of_span(result), device->driver, result, NULL,
		"cannot copy %" PRIu64 " bytes from %p to %p on %s", bytes, source, destination,
		device->base.selector);
}

ww_status ww_cuda_stream_copy(struct ww_stream *base, void *destination, const void *source,
	uint64_t bytes, struct ww_mapping *const pinned[2])
{
	struct cuda_stream *stream = from_base(base);
	WW_AUTO_CUDA_SCOPE struct ww_cuda_scope scope = {NULL};

	(void)pinned;
	ww_try(enter(stream, &scope));
	return ww_cuda_enqueue_copy(device_of(stream), stream->native, destination, source, bytes);
}

ww_status ww_cuda_stream_fill(struct ww_stream *base, void *destination, uint32_t value,
	uint32_t value_bytes, uint64_t count, struct ww_mapping *pinned)
{
	struct cuda_stream *stream = from_base(base);
	const struct ww_cuda_driver *driver = device_of(stream)->driver;
	ww_CUdeviceptr address = (ww_CUdeviceptr)(uintptr_t)destination;
	WW_AUTO_CUDA_SCOPE struct ww_cuda_scope scope = {NULL};
	ww_CUresult result;

	(void)pinned;
	ww_try(enter(stream, &scope));
	if (value_bytes == 1)
		result = driver->cuMemsetD8Async(address, (unsigned char)value, count,
			stream->native);
	else if (value_bytes == 2)
		result = driver->cuMemsetD16Async(address, (unsigned short)value, count,
			stream->native);
	else
		result = driver->cuMemsetD32Async(address, value, count, stream->native);
	if (result != WW_CUDA_SUCCESS)
		return ww_cuda_fail_as(status_of_span(result), driver, result,
			"is it memory of a device?", "cannot fill %" PRIu64 " values at %p on %s",
			count, destination, stream->base.device->selector);
	return WW_OK;
}

ww_CUdeviceptr ww_cuda_word_address(const struct ww_stream_value *at)
{
	return (ww_CUdeviceptr)(uintptr_t)at->mapping->pointer + at->offset;
}

ww_CUstreamBatchMemOpParams ww_cuda_wait_operation(const struct ww_stream_value *at)
{
	ww_CUstreamBatchMemOpParams wait;

	memset(&wait, 0, sizeof(wait));
	wait.waitValue.operation = WW_CU_STREAM_MEM_OP_WAIT_VALUE_64;
	wait.waitValue.address = ww_cuda_word_address(at);
	wait.waitValue.value64 = at->value;
	wait.waitValue.flags = WW_CU_STREAM_WAIT_VALUE_GEQ;
	return wait;
}

/* For several words one call, which costs less than a call for each. */
static ww_CUresult wait_values(const struct cuda_stream *stream, const struct ww_stream_value *at,
	uint32_t count)
{
	const struct ww_cuda_driver *driver = device_of(stream)->driver;
	ww_CUstreamBatchMemOpParams waits[WW_STREAM_VALUES_MAX];

	if (count == 1)
		return driver->cuStreamWaitValue64(stream->native, ww_cuda_word_address(at),
			at->value, WW_CU_STREAM_WAIT_VALUE_GEQ);
	for (uint32_t i = 0; i < count; i++)
		waits[i] = ww_cuda_wait_operation(&at[i]);
	return driver->cuStreamBatchMemOp(stream->native, count, waits, 0);
}

ww_status ww_cuda_stream_wait_values(struct ww_stream *base, const struct ww_stream_value *at,
	uint32_t count)
{
	struct cuda_stream *stream = from_base(base);
	WW_AUTO_CUDA_SCOPE struct ww_cuda_scope scope = {NULL};
	ww_CUresult result;

	ww_try(enter(stream, &scope));
	result = wait_values(stream, at, count);
	return result == WW_CUDA_SUCCESS ? WW_OK : fail(stream, result, "enqueue a wait on");
}

/* The default flags: the GPU's stores before it are seen by all who see the value. */
ww_status ww_cuda_stream_write_value(struct ww_stream *base, const struct ww_stream_value *at)
{
	struct cuda_stream *stream = from_base(base);
	WW_AUTO_CUDA_SCOPE struct ww_cuda_scope scope = {NULL};
	ww_CUresult result;

	ww_try(enter(stream, &scope));
	result = device_of(stream)->driver->cuStreamWriteValue64(stream->native,
		ww_cuda_word_address(at), at->value, WW_CU_STREAM_WRITE_VALUE_DEFAULT);
	return result == WW_CUDA_SUCCESS ? WW_OK : fail(stream, result, "enqueue a signal on");
}
