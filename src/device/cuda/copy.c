/* SPDX-License-Identifier: Apache-2.0 */
/*
 * copy.c - copies that wait for no stream's work, for ww_memory_write() and ww_memory_read()
 *
 * A device keeps one stream for them, in its primary context, and the first copy makes it. It is
 * non-blocking, so it does not wait for the default stream either. A context that the caller
 * created may end at any time, and a stream that was kept in it would dangle: there each copy makes
 * a stream and destroys it.
 *
 * Of a device one such copy runs at a time. A thread that waits for another thread's copy has
 * enqueued nothing yet, so that a time limit can end the wait. A copy that was enqueued is always
 * waited for: it uses the caller's memory.
 */
#include "base/cancel.h"
#include "base/clock.h"
#include "base/condition.h"
#include "device/cuda/cuda.h"

/* Return: WW_OK (this thread may copy); WW_TIMED_OUT; WW_CANCELLED. */
static ww_status copy_begin(struct cuda_device *device, uint64_t deadline_ns)
{
	ww_status status = WW_OK;

	pthread_mutex_lock(&device->lock);
	while (device->is_copying && status == WW_OK) {
		status = ww_cancel_check(deadline_ns);
		if (status == WW_OK)
			ww_condition_wait(&device->has_copied, &device->lock, deadline_ns);
	}
	if (status == WW_OK)
		device->is_copying = true;
	pthread_mutex_unlock(&device->lock);
	return status;
}

static void copy_end(struct cuda_device *device)
{
	pthread_mutex_lock(&device->lock);
	device->is_copying = false;
	pthread_cond_signal(&device->has_copied);
	pthread_mutex_unlock(&device->lock);
}

/* Between copy_begin() and copy_end(). */
static ww_status copy_run(struct cuda_device *device, void *destination, const void *source,
	uint64_t bytes)
{
	WW_AUTO_CUDA_SCOPE struct ww_cuda_scope scope = {NULL};
	ww_CUstream unkept = NULL;
	ww_CUcontext context;
	ww_CUstream *stream;
	ww_status status;

	ww_try(ww_cuda_enter_to_stay(device, &scope, &context));
	stream = ww_cuda_is_primary(device, context) ? &device->copy_stream : &unkept;
	if (!*stream) {
		ww_CUresult result = device->driver->cuStreamCreate(stream,
			WW_CU_STREAM_NON_BLOCKING);

		if (result != WW_CUDA_SUCCESS) {
			*stream = NULL;
			return ww_cuda_fail(device->driver, result, NULL,
				"cannot make a stream for copies of %s", device->base.selector);
		}
	}
	status = ww_cuda_enqueue_copy(device, *stream, destination, source, bytes);
	if (status == WW_OK) {
		ww_CUresult result = device->driver->cuStreamSynchronize(*stream);

		if (result != WW_CUDA_SUCCESS) {
			/*
			 * The copy may be under way still, and it uses the caller's memory: one
			 * more attempt.
			 */
			(void)device->driver->cuStreamSynchronize(*stream);
			status = ww_cuda_fail(device->driver, result, NULL,
				"cannot wait for a copy of %s", device->base.selector);
		}
	}
	if (unkept)
		device->driver->cuStreamDestroy(unkept);
	return status;
}

ww_status ww_cuda_copy(struct ww_device *base, void *destination, const void *source,
	uint64_t bytes, uint64_t deadline_ns)
{
	struct cuda_device *device = ww_cuda_device(base);
	ww_status status = copy_begin(device, deadline_ns);

	if (status != WW_OK)
		return status;
	status = copy_run(device, destination, source, bytes);
	copy_end(device);
	return status;
}

void ww_cuda_copy_fini(struct cuda_device *device)
{
	WW_AUTO_CUDA_SCOPE struct ww_cuda_scope scope = {NULL};
	struct ww_error record;

	if (!device->copy_stream)
		return;
	ww_error_save(&record);
	if (ww_cuda_enter_context(device, device->primary, &scope) == WW_OK)
		device->driver->cuStreamDestroy(device->copy_stream);
	ww_error_restore(&record);
}
