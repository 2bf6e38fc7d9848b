/* SPDX-License-Identifier: Apache-2.0 */
/*
 * backend.c - what a backend promises to the layer of synchronisation: values on streams, and
 * events of the driver
 *
 * These calls are not public; timelines and events are made of them.
 */
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "base/await.h"
#include "conformance/conformance.h"
#include "device/mapping.h"
#include "support/driver.h"

/* A word, and beside it what tells sleepers of it. */
struct words {
	uint64_t value;
	uint64_t unused[7];
	uint32_t wakes;
	uint32_t by_gpu;
};

static struct ww_mapping *map_words(ww_device *device, struct words **out_words)
{
	struct ww_mapping *mapping;

	MUST_OK(ww_mapping_create(device, WW_MEMORY_HOST, 4096, &mapping));
	*out_words = mapping->host_pointer;
	(*out_words)->by_gpu = subject_is_cuda();
	return mapping;
}

static struct ww_stream_value value_of(struct ww_mapping *mapping, uint64_t value)
{
	return (struct ww_stream_value){
		.mapping = mapping,
		.offset = offsetof(struct words, value),
		.wakes_offset = offsetof(struct words, wakes),
		.by_gpu_offset = offsetof(struct words, by_gpu),
		.value = value,
	};
}

static ww_status wait_for(ww_stream *stream, struct ww_mapping *mapping, uint64_t value)
{
	struct ww_stream_value at = value_of(mapping, value);

	return stream->device->backend->stream_wait_values(stream, &at, 1);
}

static ww_status signal_value(ww_stream *stream, struct ww_mapping *mapping, uint64_t value)
{
	struct ww_stream_value at = value_of(mapping, value);

	return stream->device->backend->stream_write_value(stream, &at);
}

static void store(struct words *words, uint64_t value)
{
	__atomic_store_n(&words->value, value, __ATOMIC_RELEASE);
	ww_await_wake(&words->wakes);
}

/* The CPU lets a stream go, when the value is there and not before; values go round. */
DEVICE_CASE(backend_stream_waits_for_value, WW_CAP_STREAM_VALUE | WW_CAP_HOST_MEMORY)
{
	OWN(stream) ww_stream *stream = stream_make(device);
	struct words *words;
	struct ww_mapping *mapping = map_words(device, &words);
	static sem_t ran;

	MUST_CALL(sem_init(&ran, 0, 0));
	store(words, UINT64_MAX - 1);
	MUST_OK(wait_for(stream, mapping, 5));
	MUST_OK(ww_stream_call(stream, gate_post, &ran));
	MUST_STATUS(WW_NOT_READY, ww_stream_query(stream));
	store(words, 4);
	MUST_STATUS(WW_NOT_READY, ww_stream_query(stream));
	MUST(sem_trywait(&ran) == -1);
	store(words, 5);
	MUST_OK(ww_stream_synchronize(stream, WW_FOREVER, NULL));
	MUST_CALL(sem_trywait(&ran));
	MUST_OK(wait_for(stream, mapping, 1));
	MUST_OK(wait_for(stream, mapping, 5));
	MUST_OK(ww_stream_synchronize(stream, WW_FOREVER, NULL));
	ww_mapping_unref(mapping);
}

/* One call waits for several words: for the last one as for the first. */
DEVICE_CASE(backend_stream_waits_for_values, WW_CAP_STREAM_VALUE | WW_CAP_HOST_MEMORY)
{
	OWN(stream) ww_stream *stream = stream_make(device);
	struct words *words[WW_STREAM_VALUES_MAX];
	struct ww_mapping *mappings[WW_STREAM_VALUES_MAX];
	struct ww_stream_value values[WW_STREAM_VALUES_MAX];

	for (uint32_t i = 0; i < WW_STREAM_VALUES_MAX; i++) {
		mappings[i] = map_words(device, &words[i]);
		values[i] = value_of(mappings[i], 3 + i);
	}
	MUST_OK(stream->device->backend->stream_wait_values(stream, values, WW_STREAM_VALUES_MAX));
	for (uint32_t i = 0; i < WW_STREAM_VALUES_MAX; i++) {
		MUST_STATUS(WW_NOT_READY, ww_stream_query(stream));
		store(words[WW_STREAM_VALUES_MAX - 1 - i],
			values[WW_STREAM_VALUES_MAX - 1 - i].value);
	}
	MUST_OK(ww_stream_synchronize(stream, WW_FOREVER, NULL));
	for (uint32_t i = 0; i < WW_STREAM_VALUES_MAX; i++)
		ww_mapping_unref(mappings[i]);
}

/* Two streams hand each other a word to add to. */
DEVICE_CASE(backend_streams_signal_each_other, WW_CAP_STREAM_VALUE | WW_CAP_HOST_MEMORY)
{
	ww_stream *streams[2] = {stream_make(device), stream_make(device)};
	struct words *words;
	struct ww_mapping *mapping = map_words(device, &words);
	ww_memory *memory = memory_make(device, WW_MEMORY_VMM, 1);
	struct ww_memory_info info = memory_info(memory);
	uint32_t seen[100];

	for (uint32_t i = 0; i < CHECK_COUNT(seen); i++) {
		ww_stream *stream = streams[i % 2];

		MUST_OK(wait_for(stream, mapping, i));
		MUST_OK(ww_stream_fill(stream, (uint32_t *)info.pointer + i, i + 1, 4, 1));
		MUST_OK(signal_value(stream, mapping, i + 1));
	}
	MUST_OK(ww_stream_synchronize(streams[0], WW_FOREVER, NULL));
	MUST_OK(ww_stream_synchronize(streams[1], WW_FOREVER, NULL));
	MUST_EQUAL(CHECK_COUNT(seen), words->value);
	memory_get(memory, 0, seen, sizeof(seen));
	for (uint32_t i = 0; i < CHECK_COUNT(seen); i++)
		MUST_EQUAL(i + 1, seen[i]);
	ww_memory_unref(memory);
	ww_mapping_unref(mapping);
	ww_stream_unref(streams[0]);
	ww_stream_unref(streams[1]);
}

/* Who waits needs no more than to read; poison lets every wait go. */
DEVICE_CASE(backend_stream_waits_on_read_only_page, WW_CAP_STREAM_VALUE | WW_CAP_HOST_READ_ONLY)
{
	OWN(stream) ww_stream *stream = stream_make(device);
	struct words *words;
	struct ww_mapping *mapping = map_words(device, &words);
	struct ww_mapping *readable;
	int fd;

	MUST_OK(ww_mapping_export(mapping, WW_ACCESS_READ, &fd));
	MUST_OK(ww_mapping_import(device,
		&(struct ww_memory_source){
			.fd = fd,
			.backing = WW_BACKING_MEMFD,
			.kind = WW_MEMORY_HOST,
			.bytes = mapping->bytes,
		},
		WW_ACCESS_READ, &readable));
	MUST(readable->host_pointer != mapping->host_pointer);
	MUST_OK(wait_for(stream, readable, 7));
	MUST_STATUS(WW_NOT_READY, ww_stream_query(stream));
	store(words, INT64_MAX);
	MUST_OK(ww_stream_synchronize(stream, WW_FOREVER, NULL));
	close(fd);
	ww_mapping_unref(readable);
	ww_mapping_unref(mapping);
}

static struct ww_device_event *event_make(ww_device *device)
{
	struct ww_device_event *event;

	MUST_OK(device->backend->event_create(device, 0, &event));
	return event;
}

/* An event stands for what came before it was recorded last. */
DEVICE_CASE(backend_event_records, WW_CAP_EVENT | WW_CAP_STREAM_VALUE | NEEDS_CUDA)
{
	const struct ww_backend *backend = device->backend;
	ww_stream *streams[2] = {stream_make(device), stream_make(device)};
	struct ww_device_event *event;
	struct words *words;
	struct ww_mapping *mapping = map_words(device, &words);

	MUST_OK(backend->event_create(device, WW_DEVICE_EVENT_BLOCKING_SYNC, &event));
	MUST_STATUS(WW_OK, backend->event_query(event));
	MUST_OK(backend->event_synchronize(event));
	MUST_OK(wait_for(streams[0], mapping, 1));
	MUST_OK(backend->event_record(event, streams[0]));
	MUST_OK(backend->event_stream_wait(event, streams[1]));
	MUST_STATUS(WW_NOT_READY, backend->event_query(event));
	MUST_STATUS(WW_NOT_READY, ww_stream_query(streams[1]));
	store(words, 1);
	MUST_OK(backend->event_synchronize(event));
	MUST_STATUS(WW_OK, backend->event_query(event));
	MUST_OK(ww_stream_synchronize(streams[1], WW_FOREVER, NULL));
	backend->event_close(event);
	ww_mapping_unref(mapping);
	ww_stream_unref(streams[0]);
	ww_stream_unref(streams[1]);
}

DEVICE_CASE(backend_event_refuses_handles, WW_CAP_EVENT | NEEDS_CUDA)
{
	const struct ww_backend *backend = device->backend;
	struct ww_device_event *event = event_make(device);
	struct ww_device_event *opened = NULL;
	uint8_t handle[64];

	MUST_OK(backend->event_handle(event, handle));
	MUST_REFUSE(WW_ERR_UNSUPPORTED, "pid", backend->event_open(device, handle, &opened));
	memset(handle, 5, sizeof(handle));
	MUST_REFUSE(WW_ERR_SYSTEM, "/dev/shm", backend->event_open(device, handle, &opened));
	MUST(!opened);
	backend->event_close(event);
}

DEVICE_CASE(backend_events_are_limited, WW_CAP_EVENT | NEEDS_CUDA)
{
	static struct ww_device_event *events[4096];
	struct ww_device_event *another = NULL;

	for (size_t i = 0; i < CHECK_COUNT(events); i++)
		events[i] = event_make(device);
	MUST_REFUSE(WW_ERR_LIMIT, "4096", device->backend->event_create(device, 0, &another));
	MUST(!another);
	device->backend->event_close(events[0]);
	events[0] = event_make(device);
	for (size_t i = 0; i < CHECK_COUNT(events); i++)
		device->backend->event_close(events[i]);
}

/* The driver would refuse the one and crash on the other. */
static void refuse_with(ww_device *device, struct ww_device_event *event, ww_stream *stream)
{
	MUST_REFUSE(WW_ERR_INVALID, "context", device->backend->event_record(event, stream));
	MUST_REFUSE(WW_ERR_INVALID, "context", device->backend->event_stream_wait(event, stream));
}

DEVICE_CASE(backend_event_belongs_to_its_context, WW_CAP_EVENT | NEEDS_CUDA)
{
	struct ww_device_event *event = event_make(device);
	ww_CUdevice ordinal = (ww_CUdevice)device->index;
	ww_CUcontext context;
	ww_stream *stream;

	MUST_EQUAL(0, driver_get()->cuCtxCreate(&context, 0, ordinal));
	MUST_OK(ww_stream_create(device, &stream));
	refuse_with(device, event, stream);
	ww_stream_unref(stream);
	MUST_OK(ww_stream_wrap(device, NULL, &stream));
	refuse_with(device, event, stream);
	MUST_EQUAL(0, driver_get()->cuCtxSetCurrent(NULL));
	MUST_OK(device->backend->event_record(event, stream));
	MUST_OK(device->backend->event_stream_wait(event, stream));
	MUST_OK(device->backend->event_synchronize(event));
	ww_stream_unref(stream);
	device->backend->event_close(event);
	MUST_EQUAL(0, driver_get()->cuCtxDestroy(context));
}

DEVICE_CASE(backend_event_belongs_to_its_device, WW_CAP_EVENT | NEEDS_OTHER_GPU)
{
	OWN(device) ww_device *other = subject_open_other();
	struct ww_device_event *event = event_make(device);
	OWN(stream) ww_stream *stream = stream_make(other);

	refuse_with(device, event, stream);
	device->backend->event_close(event);
}

static ww_status after(ww_status status, ww_status next)
{
	return status < 0 ? status : next;
}

/* All that can be done with an event; what failed first. */
static ww_status use_event(ww_device *device, ww_stream *stream)
{
	const struct ww_backend *backend = device->backend;
	struct ww_device_event *event = NULL;
	uint8_t handle[64];
	ww_status status = backend->event_create(device, 0, &event);

	if (status < 0) {
		MUST(!event);
		return status;
	}
	status = backend->event_handle(event, handle);
	status = after(status, backend->event_record(event, stream));
	status = after(status, backend->event_stream_wait(event, stream));
	status = after(status, backend->event_synchronize(event));
	status = after(status, backend->event_query(event));
	backend->event_close(event);
	return status;
}

/* The @nth call of @name returns @code. */
static ww_status use_event_failing(const char *name, uint64_t nth, int code)
{
	OWN(device) ww_device *device = subject_open();
	OWN(stream) ww_stream *stream = stream_make(device);
	ww_status status;

	fake_get()->fail(name, nth, code);
	status = use_event(device, stream);
	fake_get()->fail_off();
	return status;
}

/* Each call of the driver fails once; nothing outlives the device. */
CASE(backend_event_survives_failures, WW_CAP_EVENT | NEEDS_CUDA)
{
	struct fakecuda_live before;
	struct fakecuda_live now;
	ww_status status = WW_ERR_DEVICE;
	uint64_t nth = 0;

	if (!fake_get())
		check_skip("only the fake driver fails when it is told to");
	fake_get()->live(&before);
	while (status == WW_ERR_DEVICE) {
		status = use_event_failing("*", ++nth, WW_CUDA_ERROR_UNKNOWN);
		fake_get()->live(&now);
		MUST_MATCH(&before, &now, sizeof(now));
	}
	MUST_EQUAL(WW_OK, status);
	MUST(nth > 10);
	MUST_REFUSE(WW_ERR_SYSTEM, "/dev/shm",
		use_event_failing("cuEventCreate", 1, WW_CUDA_ERROR_MAP_FAILED));
	MUST_REFUSE(WW_ERR_SYSTEM, "/dev/shm",
		use_event_failing("cuIpcGetEventHandle", 1, WW_CUDA_ERROR_MAP_FAILED));
	MUST_REFUSE(WW_ERR_DEVICE_MEMORY, "4096",
		use_event_failing("cuEventCreate", 1, WW_CUDA_ERROR_OUT_OF_MEMORY));
}
