/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event.c - CUDA's events between processes
 *
 * An event belongs to the context that was current when it was made or opened, and ends with it; so
 * that is kept if it is the device's primary one, and entered for every call that takes the event
 * alone. A stream that records it or waits for it must be of the same context: to record it
 * elsewhere CUDA refuses, and to wait for it elsewhere crashes inside the driver (measured with
 * 580.159; only events between processes do that), so that is never tried.
 *
 * CUDA keeps these events in a file in /dev/shm that its maker's user alone may open, with room for
 * 4096 of each process. The file stays when the process ends: a process that opens an event then
 * gets an event that no process will record. CUDA's answers name none of this; those that a user
 * can do something about are put into words here.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "device/cuda/cuda.h"

#define EVENTS_MOST 4096 /* of one process; measured */

#define SHARED_MEMORY_REMEDY                                                                  \
	"the processes need one user, one user namespace and one /dev/shm (docker run --ipc=" \
	"...); or use a timeline"

struct cuda_event {
	struct ww_device_event base;
	ww_CUevent native;
	ww_CUcontext context;
	bool is_ours; /* made here, so that it counts */
};

static _Atomic uint32_t live_count; /* events that this process made by this file */

static struct cuda_event *from_base(struct ww_device_event *event)
{
	return ww_container(event, struct cuda_event, base);
}

static struct cuda_device *device_of(const struct cuda_event *event)
{
	return ww_cuda_device(event->base.device);
}

static ww_status enter(struct cuda_event *event, struct ww_cuda_scope *out_scope)
{
	return ww_cuda_enter_context(device_of(event), event->context, out_scope);
}

static ww_status fail(struct cuda_event *event, ww_CUresult result, const char *action)
{
	const struct ww_cuda_driver *driver = device_of(event)->driver;

	if (result == WW_CUDA_ERROR_MAP_FAILED)
		return ww_cuda_fail_as(WW_ERR_SYSTEM, driver, result, SHARED_MEMORY_REMEDY,
			"CUDA cannot map the event's shared memory");
	return ww_cuda_fail(driver, result, NULL, "cannot %s an event of %s", action,
		event->base.device->selector);
}

static struct cuda_event *event_new(struct ww_device *device)
{
	struct cuda_event *event = calloc(1, sizeof(*event));

	if (!event) {
		ww_fail(WW_ERR_NO_MEMORY, "cannot make an event: out of memory");
		return NULL;
	}
	event->base.device = ww_device_ref(device);
	return event;
}

static struct cuda_event *event_free(struct cuda_event *event)
{
	if (event->is_ours)
		atomic_fetch_sub(&live_count, 1);
	event->base.device = ww_device_unref(event->base.device);
	free(event);
	return NULL;
}

WW_DEFINE_CLEANUP(struct cuda_event, event_free)
#define AUTO_EVENT WW_CLEANUP(event_free_p)

ww_status ww_cuda_event_create(struct ww_device *device, uint64_t flags,
	struct ww_device_event **out_event)
{
	unsigned int native_flags = WW_CU_EVENT_INTERPROCESS | WW_CU_EVENT_DISABLE_TIMING;
	WW_AUTO_CUDA_SCOPE struct ww_cuda_scope scope = {NULL};
	AUTO_EVENT struct cuda_event *event = event_new(device);
	ww_CUresult result;

	if (!event)
		return WW_ERR_NO_MEMORY;
	if (flags & WW_DEVICE_EVENT_BLOCKING_SYNC)
		native_flags |= WW_CU_EVENT_BLOCKING_SYNC;
	ww_try(ww_cuda_enter_to_stay(device_of(event), &scope, &event->context));
	result = device_of(event)->driver->cuEventCreate(&event->native, native_flags);
	if (result != WW_CUDA_SUCCESS) {
		uint32_t count = atomic_load(&live_count);

		if (result == WW_CUDA_ERROR_OUT_OF_MEMORY && count >= EVENTS_MOST)
			return ww_cuda_fail_as(WW_ERR_LIMIT, device_of(event)->driver, result,
				"let some go, or use a timeline",
				"this process has %u live events, more CUDA does not give", count);
		if (result == WW_CUDA_ERROR_OUT_OF_MEMORY)
			return ww_cuda_fail(device_of(event)->driver, result,
				"CUDA gives 4096 to a process, those of other libraries included",
				"cannot make an event of %s beside %u others",
				event->base.device->selector, count);
		return fail(event, result, "make");
	}
	event->is_ours = true;
	atomic_fetch_add(&live_count, 1);
	*out_event = &ww_steal(event)->base;
	return WW_OK;
}

ww_status ww_cuda_event_open(struct ww_device *device, const uint8_t handle[64],
	struct ww_device_event **out_event)
{
	WW_AUTO_CUDA_SCOPE struct ww_cuda_scope scope = {NULL};
	AUTO_EVENT struct cuda_event *event = event_new(device);
	ww_CUipcEventHandle native;
	ww_CUresult result;

	if (!event)
		return WW_ERR_NO_MEMORY;
	memcpy(&native, handle, sizeof(native));
	ww_try(ww_cuda_enter_to_stay(device_of(event), &scope, &event->context));
	result = device_of(event)->driver->cuIpcOpenEventHandle(&event->native, native);
	if (result != WW_CUDA_SUCCESS) {
		const struct ww_cuda_driver *driver = device_of(event)->driver;

		if (result == WW_CUDA_ERROR_INVALID_HANDLE)
			return ww_cuda_fail_as(WW_ERR_NOT_FOUND, driver, result, NULL,
				"there is no such event any more: its maker ended or destroyed it");
		if (result == WW_CUDA_ERROR_INVALID_CONTEXT)
			return ww_cuda_fail_as(WW_ERR_UNSUPPORTED, driver, result,
				"run them with different pids, or use a timeline",
				"CUDA opens no event of this very process, nor of one with the same pid value "
				"(two containers, both process 1)");
		return fail(event, result, "open");
	}
	*out_event = &ww_steal(event)->base;
	return WW_OK;
}

/* The event is released even if this fails: with its context, or with what was done in it. */
void ww_cuda_event_close(struct ww_device_event *base)
{
	struct cuda_event *event = from_base(base);
	WW_AUTO_CUDA_SCOPE struct ww_cuda_scope scope = {NULL};
	struct ww_error record;

	ww_error_save(&record);
	if (enter(event, &scope) == WW_OK)
		device_of(event)->driver->cuEventDestroy(event->native);
	ww_cuda_leave(&scope);
	ww_error_restore(&record);
	event_free(event);
}

ww_status ww_cuda_event_handle(struct ww_device_event *base, uint8_t out_handle[64])
{
	struct cuda_event *event = from_base(base);
	WW_AUTO_CUDA_SCOPE struct ww_cuda_scope scope = {NULL};
	ww_CUipcEventHandle native = {{0}};
	ww_CUresult result;

	ww_try(enter(event, &scope));
	result = device_of(event)->driver->cuIpcGetEventHandle(&native, event->native);
	if (result != WW_CUDA_SUCCESS)
		return fail(event, result, "get the handle of");
	memcpy(out_handle, &native, sizeof(native));
	return WW_OK;
}

/* Enters the stream's context, and makes sure that it is the event's too. */
static ww_status enter_both(struct cuda_event *event, struct ww_stream *stream, const char *action,
	struct ww_cuda_scope *out_scope)
{
	ww_CUcontext current = NULL;
	ww_CUresult result;

	ww_try(ww_cuda_stream_enter(stream, out_scope));
	result = device_of(event)->driver->cuCtxGetCurrent(&current);
	if (result != WW_CUDA_SUCCESS)
		return fail(event, result, action);
	if (current != event->context)
		return ww_fail(WW_ERR_INVALID,
			"cannot %s an event of %s: the stream is of another GPU or CUDA context; make or "
			"open the event while the stream's context is current, or use a timeline",
			action, event->base.device->selector);
	return WW_OK;
}

ww_status ww_cuda_event_record(struct ww_device_event *base, struct ww_stream *stream)
{
	struct cuda_event *event = from_base(base);
	WW_AUTO_CUDA_SCOPE struct ww_cuda_scope scope = {NULL};
	ww_CUresult result;

	ww_try(enter_both(event, stream, "record", &scope));
	result = device_of(event)->driver->cuEventRecord(event->native,
		ww_cuda_stream_native(stream));
	return result == WW_CUDA_SUCCESS ? WW_OK : fail(event, result, "record");
}

ww_status ww_cuda_event_stream_wait(struct ww_device_event *base, struct ww_stream *stream)
{
	struct cuda_event *event = from_base(base);
	WW_AUTO_CUDA_SCOPE struct ww_cuda_scope scope = {NULL};
	ww_CUresult result;

	ww_try(enter_both(event, stream, "have a stream wait for", &scope));
	result = device_of(event)->driver->cuStreamWaitEvent(ww_cuda_stream_native(stream),
		event->native, WW_CU_EVENT_WAIT_DEFAULT);
	return result == WW_CUDA_SUCCESS ? WW_OK : fail(event, result, "have a stream wait for");
}

ww_status ww_cuda_event_query(struct ww_device_event *base)
{
	struct cuda_event *event = from_base(base);
	WW_AUTO_CUDA_SCOPE struct ww_cuda_scope scope = {NULL};
	ww_CUresult result;

	ww_try(enter(event, &scope));
	result = device_of(event)->driver->cuEventQuery(event->native);
	if (result == WW_CUDA_ERROR_NOT_READY)
		return WW_NOT_READY;
	return result == WW_CUDA_SUCCESS ? WW_OK : fail(event, result, "query");
}

ww_status ww_cuda_event_synchronize(struct ww_device_event *base)
{
	struct cuda_event *event = from_base(base);
	WW_AUTO_CUDA_SCOPE struct ww_cuda_scope scope = {NULL};
	ww_CUresult result;

	ww_try(enter(event, &scope));
	result = device_of(event)->driver->cuEventSynchronize(event->native);
	return result == WW_CUDA_SUCCESS ? WW_OK : fail(event, result, "synchronize");
}
