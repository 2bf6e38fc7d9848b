/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream.c - streams, whatever their device: arguments and access are checked here
 *
 * A copy or a fill looks up its spans among the mappings of this process before anything is
 * enqueued. So a write where only reading is allowed is refused here, with a status, on every
 * device; the hardware's own answer would be a fault that ends the process or its GPU context.
 *
 * Every call first asks whether the stream is lost (ww_stream_check(), native_stream.c).
 */
#include "device/stream.h"

#include <inttypes.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/process.h"
#include "device/mapping.h"
#include "device/native_stream.h"

void ww_stream_init(struct ww_stream *stream, struct ww_device *device)
{
	static _Atomic uint64_t last_serial;

	ww_ref_init(&stream->ref);
	stream->device = ww_device_ref(device);
	stream->serial = atomic_fetch_add_explicit(&last_serial, 1, memory_order_relaxed) + 1;
	stream->native = NULL;
}

void ww_stream_fini(struct ww_stream *stream)
{
	ww_native_stream_close(stream->native);
	stream->device = ww_device_unref(stream->device);
}

ww_status ww_stream_create(ww_device *device, ww_stream **out_stream)
{
	ww_clear(out_stream, NULL);
	ww_try(ww_process_enter());
	ww_require(device && out_stream, "ww_stream_create: device or out_stream is NULL");
	return device->backend->stream_create(device, out_stream);
}

ww_status ww_stream_wrap(ww_device *device, void *native, ww_stream **out_stream)
{
	ww_clear(out_stream, NULL);
	ww_try(ww_process_enter());
	ww_require(device && out_stream, "ww_stream_wrap: device or out_stream is NULL");
	if (!(device->capabilities & WW_CAP_STREAM_WRAP))
		return ww_fail(WW_ERR_UNSUPPORTED,
			"%s has no streams but the library's own; use ww_stream_create()",
			device->selector);
	return device->backend->stream_wrap(device, native, out_stream);
}

ww_stream *ww_stream_ref(ww_stream *stream)
{
	if (stream)
		ww_ref_get(&stream->ref);
	return stream;
}

ww_stream *ww_stream_unref(ww_stream *stream)
{
	if (stream && ww_ref_put(&stream->ref))
		stream->device->backend->stream_close(stream);
	return NULL;
}

void *ww_stream_native(ww_stream *stream)
{
	if (!stream || ww_ref_is_inherited(&stream->ref) || !stream->device->backend->stream_native)
		return NULL;
	return stream->device->backend->stream_native(stream);
}

ww_status ww_stream_synchronize(ww_stream *stream, uint64_t timeout_ns, ww_cancel *cancel)
{
	WW_AUTO_CANCEL struct ww_cancel_scope scope = ww_cancel_enter(cancel);
	ww_status status;

	ww_try(ww_process_enter());
	ww_require(stream, "ww_stream_synchronize: stream is NULL");
	ww_try(ww_ref_check(&stream->ref, "a stream"));
	status = stream->device->backend->stream_synchronize(stream,
		ww_clock_deadline_ns(timeout_ns));
	return status == WW_OK ? ww_stream_check(stream) : status;
}

ww_status ww_stream_query(ww_stream *stream)
{
	ww_status status;

	ww_try(ww_process_enter());
	ww_require(stream, "ww_stream_query: stream is NULL");
	ww_try(ww_ref_check(&stream->ref, "a stream"));
	status = stream->device->backend->stream_query(stream);
	ww_try(status);
	ww_try(ww_stream_check(stream));
	return status;
}

ww_status ww_stream_recover(ww_stream *stream)
{
	ww_try(ww_process_enter());
	ww_require(stream, "ww_stream_recover: stream is NULL");
	ww_try(ww_ref_check(&stream->ref, "a stream"));
	ww_native_stream_recover(stream->native);
	return WW_OK;
}

ww_status ww_stream_check_order(struct ww_stream *stream)
{
	ww_try(ww_stream_check(stream));
	if (!stream->device->backend->stream_check_capture)
		return WW_OK;
	return stream->device->backend->stream_check_capture(stream);
}

ww_status ww_stream_call(ww_stream *stream, ww_stream_fn fn, void *context)
{
	ww_try(ww_process_enter());
	ww_require(stream && fn, "ww_stream_call: stream or fn is NULL");
	ww_try(ww_stream_check_order(stream)); /* a graph would call it again with each launch */
	return stream->device->backend->stream_call(stream, fn, context);
}

/*
 * Finds the memory a span lies in and makes sure that the stream may do with it what it is about
 * to. What a GPU cannot reach its driver refuses; the thread of a host stream would end the
 * process.
 */
static ww_status find_span(const struct ww_stream *stream, const void *address, uint64_t bytes,
	uint32_t access, struct ww_mapping **out_mapping)
{
	WW_AUTO_MAPPING struct ww_mapping *mapping = NULL;
	uintptr_t host;

	*out_mapping = NULL;
	ww_try(ww_mapping_find(address, bytes, access, &mapping));
	host = mapping ? (uintptr_t)mapping->host_pointer : 0;
	if (mapping && stream->device->backend->id == WW_BACKEND_HOST &&
		(!host || (uintptr_t)address - host >= mapping->bytes))
		return ww_fail(WW_ERR_INVALID,
			"the CPU cannot reach %p, an address of %s; use a stream of that device",
			address, mapping->device->selector);
	*out_mapping = ww_steal(mapping);
	return WW_OK;
}

ww_status ww_stream_copy(ww_stream *stream, void *destination, const void *source, uint64_t bytes)
{
	WW_AUTO_MAPPING struct ww_mapping *written = NULL;
	WW_AUTO_MAPPING struct ww_mapping *read = NULL;

	ww_try(ww_process_enter());
	ww_require(stream, "ww_stream_copy: stream is NULL");
	ww_try(ww_stream_check(stream));
	if (bytes == 0)
		return WW_OK;
	ww_require(destination && source, "ww_stream_copy: destination or source is NULL");
	ww_try(find_span(stream, destination, bytes, WW_ACCESS_WRITE, &written));
	ww_try(find_span(stream, source, bytes, WW_ACCESS_READ, &read));
	return stream->device->backend->stream_copy(stream, destination, source, bytes,
		(struct ww_mapping *const[]){written, read});
}

ww_status ww_stream_fill(ww_stream *stream, void *destination, uint32_t value, uint32_t value_bytes,
	uint64_t count)
{
	WW_AUTO_MAPPING struct ww_mapping *written = NULL;
	uint64_t bytes;

	ww_try(ww_process_enter());
	ww_require(stream, "ww_stream_fill: stream is NULL");
	ww_try(ww_stream_check(stream));
	if (value_bytes != 1 && value_bytes != 2 && value_bytes != 4)
		return ww_fail(WW_ERR_INVALID,
			"cannot fill with values of %" PRIu32 " bytes; they have 1, 2 or 4",
			value_bytes);
	if (__builtin_mul_overflow(count, value_bytes, &bytes))
		return ww_fail(WW_ERR_OVERFLOW,
			"cannot fill %" PRIu64 " values of %" PRIu32
			" bytes: more than an address space holds",
			count, value_bytes);
	if (bytes == 0)
		return WW_OK;
	ww_require(destination, "ww_stream_fill: destination is NULL");
	if ((uintptr_t)destination % value_bytes != 0)
		return ww_fail(WW_ERR_INVALID,
			"cannot fill at %p: it is not aligned to %" PRIu32 " bytes", destination,
			value_bytes);
	ww_try(find_span(stream, destination, bytes, WW_ACCESS_WRITE, &written));
	return stream->device->backend->stream_fill(stream, destination, value, value_bytes, count,
		written);
}
