/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory_scenario.c - see memory_scenario.h
 *
 * It makes no claims and no allocations of its own, so that whatever fails and whatever is left
 * behind is the library's.
 */
#include "torture/memory_scenario.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "array/dlpack_abi.h"
#include "support/check.h"
#include "support/kernels.h"
#include "support/subject.h"

#define SPAN_BYTES 4096

bool scenario_uses_peer;
struct allocation scenario_allocations[SCENARIO_ALLOCATIONS];

void scenario_allocate(void)
{
	static const enum allocation_kind kinds[SCENARIO_ALLOCATIONS] = {ALLOCATION_LEGACY,
		ALLOCATION_POOL, ALLOCATION_VMM};

	allocation_enter_apart();
	for (size_t i = 0; i < SCENARIO_ALLOCATIONS; i++)
		MUST(allocation_make(&scenario_allocations[i], kinds[i], MIB));
	allocation_step_out();
}

struct scenario {
	const char *step;
	struct ww_device_info info;
	ww_device *device;
	ww_device *other;
	ww_stream *stream;
	ww_stream *wrapped;
	ww_timeline *timeline;
	ww_event *event;
	ww_module *module;
	ww_kernel *kernel;
	ww_memory *memories[10]; /* in the order in which they were taken */
	size_t memory_count;
	int sockets[2];
	int fd;
	uint8_t buffer[SPAN_BYTES];
};

/* The step is the innermost one that failed. */
#define TRY(call)                                       \
	do {                                            \
		ww_status status_ = (call);             \
                                                        \
		if (status_ != WW_OK) {                 \
			if (!scenario->step)            \
				scenario->step = #call; \
			return status_;                 \
		}                                       \
	} while (0)

static ww_memory **next(struct scenario *scenario)
{
	return &scenario->memories[scenario->memory_count];
}

static void nothing(void *context)
{
	(void)context;
}

static ww_status use_device(struct scenario *scenario)
{
	uint32_t count;
	ww_status status;

	TRY(ww_device_count(subject_is_cuda() ? WW_BACKEND_CUDA : WW_BACKEND_HOST, &count));
	TRY(ww_device_open(subject_name(), &scenario->device));
	scenario->info.struct_size = sizeof(scenario->info);
	TRY(ww_device_info_get(scenario->device, &scenario->info));
	if (scenario_uses_peer)
		TRY(ww_device_open(scenario->info.index ? "cuda:0" : "cuda:1", &scenario->other));
	TRY(ww_stream_create(scenario->device, &scenario->stream));
	if (scenario->info.capabilities & WW_CAP_STREAM_WRAP)
		TRY(ww_stream_wrap(scenario->device, ww_stream_native(scenario->stream),
			&scenario->wrapped));
	status = ww_stream_query(scenario->stream);
	if (status != WW_NOT_READY)
		TRY(status);
	return WW_OK;
}

/* Without a stream, of the last memory, which its address leads to. */
static ww_status read_and_write(struct scenario *scenario, const uint8_t *span)
{
	ww_memory *memory = scenario->memories[scenario->memory_count - 1];
	uint64_t offset;

	TRY(ww_memory_write(memory, 1, scenario->buffer, 2, WW_FOREVER, NULL));
	memset(scenario->buffer, 0, SPAN_BYTES);
	TRY(ww_memory_read(memory, 1, scenario->buffer, SPAN_BYTES, WW_FOREVER, NULL));
	MUST_EQUAL(0x5a, scenario->buffer[0]);
	TRY(ww_memory_find(span + 3, next(scenario), &offset));
	scenario->memory_count++;
	MUST_EQUAL(3, offset);
	MUST(scenario->memories[scenario->memory_count - 1] == memory);
	ww_memory_unref(scenario->memories[--scenario->memory_count]);
	return WW_OK;
}

/* Makes memory, fills it, copies to it, within it and from it. */
static ww_status use_memory(struct scenario *scenario, uint32_t kind)
{
	struct ww_memory_info info = WW_INIT(struct ww_memory_info);
	ww_stream *stream = scenario->wrapped ? scenario->wrapped : scenario->stream;
	uint8_t *span;

	TRY(ww_memory_create(scenario->device,
		WW_PARAMS(struct ww_memory_params, .kind = kind, .bytes = 3 * MIB),
		next(scenario)));
	scenario->memory_count++;
	TRY(ww_memory_info_get(scenario->memories[scenario->memory_count - 1], &info));
	span = info.pointer;
	memset(scenario->buffer, 0x5a, SPAN_BYTES);
	TRY(ww_stream_fill(stream, span, 0x11, 1, SPAN_BYTES));
	TRY(ww_stream_fill(stream, span, 0x1111, 2, SPAN_BYTES / 2));
	TRY(ww_stream_fill(stream, span, 0x11111111, 4, SPAN_BYTES / 4));
	TRY(ww_stream_copy(stream, span, scenario->buffer, SPAN_BYTES / 2));
	TRY(ww_stream_copy(stream, span + MIB, span, SPAN_BYTES));
	TRY(ww_stream_copy(stream, scenario->buffer, span + MIB, SPAN_BYTES));
	TRY(ww_stream_call(stream, nothing, NULL));
	TRY(ww_stream_synchronize(stream, WW_FOREVER, NULL));
	MUST_EQUAL(0x5a, scenario->buffer[0]);
	MUST_EQUAL(0x11, scenario->buffer[SPAN_BYTES - 1]);
	return read_and_write(scenario, span);
}

/*
 * The stream never waits for what a failed step would not do: the next one does it, and cannot
 * fail.
 */
static ww_status use_timeline(struct scenario *scenario)
{
	ww_timeline **timeline = &scenario->timeline;

	TRY(ww_timeline_create(NULL, timeline));
	TRY(ww_timeline_prepare(*timeline, scenario->device));
	TRY(ww_timeline_stream_wait(*timeline, scenario->stream, 1, WW_WAIT_UNSUBMITTED, 0, NULL));
	TRY(ww_timeline_signal(*timeline, 1));
	TRY(ww_timeline_stream_signal(*timeline, scenario->stream, 2));
	TRY(ww_timeline_wait(*timeline, 2, WW_FOREVER, NULL));
	TRY(ww_timeline_eventfd(*timeline, scenario->stream, 2, &scenario->fd));
	TRY(ww_stream_synchronize(scenario->stream, WW_FOREVER, NULL));
	close(scenario->fd);
	scenario->fd = -1;
	return WW_OK;
}

static ww_status use_event(struct scenario *scenario)
{
	struct ww_event_handle handle;
	ww_event **event = &scenario->event;

	TRY(ww_event_create(scenario->device, NULL, event));
	if (subject_is_cuda())
		TRY(ww_event_handle_get(*event, &handle));
	TRY(ww_event_record(*event, scenario->stream));
	TRY(ww_event_stream_wait(*event, scenario->stream));
	TRY(ww_event_synchronize(*event, UINT64_C(60000000000), NULL));
	TRY(ww_event_synchronize(*event, WW_FOREVER, NULL));
	TRY(ww_event_query(*event));
	return WW_OK;
}

/* The last memory gets the numbers. */
static ww_status use_module(struct scenario *scenario)
{
	const uint32_t first = 30;
	const uint32_t count = 8;
	uint32_t numbers[8] = {0};
	void *pointer;

	TRY(ww_memory_create(scenario->device,
		WW_PARAMS(struct ww_memory_params, .bytes = SPAN_BYTES), next(scenario)));
	pointer = ww_memory_pointer(scenario->memories[scenario->memory_count++]);
	TRY(kernels_try_load(scenario->device, &scenario->module));
	TRY(ww_module_kernel(scenario->module, "fill_numbers", &scenario->kernel));
	TRY(launch(scenario->kernel, scenario->stream, 1, 32,
		(struct ww_kernel_argument[]){ARGUMENT(pointer), ARGUMENT(first), ARGUMENT(count)},
		3));
	TRY(ww_stream_synchronize(scenario->stream, WW_FOREVER, NULL));
	TRY(ww_memory_read(scenario->memories[scenario->memory_count - 1], 0, numbers,
		sizeof(numbers), WW_FOREVER, NULL));
	MUST_EQUAL(first + count - 1, numbers[count - 1]);
	return WW_OK;
}

static void release_module(struct scenario *scenario)
{
	scenario->kernel = ww_kernel_unref(scenario->kernel);
	scenario->module = ww_module_unref(scenario->module);
}

/*
 * A page that streams may have looked at is given back by the next such call, not by their end; so
 * after them.
 */
static void release_sync(struct scenario *scenario)
{
	scenario->timeline = ww_timeline_unref(scenario->timeline);
	scenario->event = ww_event_unref(scenario->event);
}

/* Exports the last memory, lets it go, and maps it again in every way there is. */
static ww_status share_memory(struct scenario *scenario, uint32_t kind)
{
	struct ww_memory_description description;
	ww_memory **memory = &scenario->memories[scenario->memory_count - 1];
	bool read_only = kind == WW_MEMORY_VMM ||
		scenario->info.capabilities & WW_CAP_HOST_READ_ONLY;

	TRY(ww_memory_export_fd(*memory, WW_ACCESS_WRITE, &scenario->fd, &description));
	*memory = ww_memory_unref(*memory);
	scenario->memory_count--;
	TRY(ww_memory_import_fd(scenario->device, scenario->fd, &description,
		WW_PARAMS(struct ww_import_params, .access = WW_ACCESS_WRITE), next(scenario)));
	scenario->memory_count++;
	TRY(ww_memory_import_fd(scenario->device, scenario->fd, &description,
		WW_PARAMS(struct ww_import_params, .access = WW_ACCESS_WRITE), next(scenario)));
	scenario->memory_count++;
	TRY(ww_memory_import_fd(scenario->device, scenario->fd, &description,
		WW_PARAMS(struct ww_import_params, .access = WW_ACCESS_WRITE,
			.flags = WW_IMPORT_OWN_MAPPING),
		next(scenario)));
	scenario->memory_count++;
	if (read_only)
		TRY(ww_memory_import_fd(scenario->device, scenario->fd, &description, NULL,
			next(scenario)));
	scenario->memory_count += read_only;
	if (scenario->other && kind == WW_MEMORY_VMM)
		TRY(ww_memory_import_fd(scenario->other, scenario->fd, &description,
			WW_PARAMS(struct ww_import_params, .access = WW_ACCESS_WRITE),
			next(scenario)));
	scenario->memory_count += scenario->other && kind == WW_MEMORY_VMM;
	close(scenario->fd);
	scenario->fd = -1;
	return WW_OK;
}

/* Over a socket; the first memory is the one that was made, mapped for writing. */
static ww_status pass_memory(struct scenario *scenario)
{
	bool read_only = scenario->info.capabilities & WW_CAP_HOST_READ_ONLY;

	TRY(ww_memory_send(scenario->memories[0], WW_ACCESS_WRITE, scenario->sockets[0], WW_FOREVER,
		NULL));
	TRY(ww_memory_receive(scenario->device, scenario->sockets[1],
		WW_PARAMS(struct ww_import_params, .access = WW_ACCESS_WRITE), WW_FOREVER, NULL,
		next(scenario)));
	scenario->memory_count++;
	if (!read_only)
		return WW_OK;
	TRY(ww_memory_send(scenario->memories[0], WW_ACCESS_READ, scenario->sockets[0], WW_FOREVER,
		NULL));
	TRY(ww_memory_receive(scenario->device, scenario->sockets[1], NULL, WW_FOREVER, NULL,
		next(scenario)));
	scenario->memory_count++;
	return WW_OK;
}

/* Tensors stay the caller's when they cannot be taken in. */
static ww_status take_back(struct scenario *scenario, struct DLManagedTensorVersioned *tensor)
{
	struct ww_array array;
	ww_status status = ww_dlpack_import(scenario->device, tensor, next(scenario), &array);

	if (status != WW_OK)
		tensor->deleter(tensor);
	return status;
}

static ww_status take_back_plain(struct scenario *scenario, struct DLManagedTensor *tensor)
{
	struct ww_array array;
	ww_status status = ww_dlpack_import_unversioned(scenario->device, tensor, next(scenario),
		&array);

	if (status != WW_OK)
		tensor->deleter(tensor);
	return status;
}

/* To another library of this process, and back from it. */
static ww_status use_array(struct scenario *scenario)
{
	const int64_t shape[] = {16, 16};
	struct DLManagedTensorVersioned *tensor;
	struct DLManagedTensor *plain;
	struct ww_array array = WW_INIT(struct ww_array);

	TRY(ww_array_set(&array, WW_DTYPE(WW_DTYPE_FLOAT, 32), 2, shape, NULL, 0));
	TRY(ww_dlpack_export(scenario->memories[0], &array, &tensor));
	TRY(take_back(scenario, tensor));
	scenario->memory_count++;
	TRY(ww_dlpack_export_unversioned(scenario->memories[0], &array, &plain));
	TRY(take_back_plain(scenario, plain));
	scenario->memory_count++;
	return WW_OK;
}

/* Waits for a message that does not come. */
static ww_status wait_in_vain(struct scenario *scenario)
{
	ww_status status = ww_memory_receive(scenario->device, scenario->sockets[1],
		WW_PARAMS(struct ww_import_params, .access = WW_ACCESS_WRITE), 1, NULL,
		next(scenario));

	return status == WW_TIMED_OUT ? WW_OK : status;
}

/* Finds out that the other end will send no more. */
static ww_status lose_peer(struct scenario *scenario)
{
	ww_status status;

	shutdown(scenario->sockets[0], SHUT_WR);
	status = ww_memory_receive(scenario->device, scenario->sockets[1],
		WW_PARAMS(struct ww_import_params, .access = WW_ACCESS_WRITE), WW_FOREVER, NULL,
		next(scenario));
	return status == WW_ERR_PEER_LOST ? WW_OK : status;
}

/*
 * What can be wrapped goes out as a descriptor, and comes home: as what was wrapped, and as a span
 * for reading.
 */
static ww_status wrap_memory(struct scenario *scenario, void *pointer)
{
	struct ww_memory_description description;
	struct ww_memory_info info = WW_INIT(struct ww_memory_info);
	struct ww_memory_handle handle;
	ww_memory **memory = next(scenario);
	uint64_t offset;

	TRY(ww_memory_wrap(scenario->device, pointer, SPAN_BYTES, NULL, memory));
	scenario->memory_count++;
	TRY(ww_memory_info_get(*memory, &info));
	TRY(ww_memory_find(pointer, next(scenario), &offset));
	ww_memory_unref(*next(scenario));
	if (info.kind == WW_MEMORY_LEGACY)
		TRY(ww_memory_handle_get(*memory, &handle, &offset));
	if (info.kind == WW_MEMORY_CUDA_POOL || !(scenario->info.capabilities & WW_CAP_EXPORT))
		return WW_OK;
	TRY(ww_memory_export_fd(*memory, WW_ACCESS_WRITE, &scenario->fd, &description));
	for (uint32_t access = WW_ACCESS_READ; access <= WW_ACCESS_WRITE; access++) {
		TRY(ww_memory_import_fd(scenario->device, scenario->fd, &description,
			WW_PARAMS(struct ww_import_params, .access = access), next(scenario)));
		scenario->memory_count++;
	}
	close(scenario->fd);
	scenario->fd = -1;
	return WW_OK;
}

static ww_status copy_in(struct scenario *scenario)
{
	TRY(ww_memory_copy_in(scenario->stream, scenario->buffer,
		WW_PARAMS(struct ww_memory_params, .bytes = SPAN_BYTES), next(scenario)));
	scenario->memory_count++;
	TRY(ww_stream_synchronize(scenario->stream, WW_FOREVER, NULL));
	return WW_OK;
}

static void release_memories(struct scenario *scenario)
{
	while (scenario->memory_count)
		ww_memory_unref(scenario->memories[--scenario->memory_count]);
}

static ww_status use_foreign(struct scenario *scenario)
{
	TRY(copy_in(scenario));
	TRY(wrap_memory(scenario, ww_memory_pointer(scenario->memories[0])));
	release_memories(scenario);
	for (size_t i = 0; i < SCENARIO_ALLOCATIONS; i++) {
		if (scenario_allocations[i].address)
			TRY(wrap_memory(scenario, allocation_at(&scenario_allocations[i], i)));
		release_memories(scenario);
	}
	return WW_OK;
}

static ww_status run_kind(struct scenario *scenario, uint32_t kind)
{
	TRY(use_memory(scenario, kind));
	if (scenario->info.capabilities & WW_CAP_EXPORT) {
		TRY(share_memory(scenario, kind));
		TRY(pass_memory(scenario));
	}
	if (kind == WW_MEMORY_VMM)
		TRY(use_array(scenario));
	release_memories(scenario);
	return WW_OK;
}

static ww_status run(struct scenario *scenario)
{
	TRY(use_device(scenario));
	TRY(run_kind(scenario, WW_MEMORY_VMM));
	if (scenario->info.capabilities & WW_CAP_HOST_MEMORY)
		TRY(run_kind(scenario, WW_MEMORY_HOST));
	TRY(use_foreign(scenario));
	if (scenario->info.capabilities & WW_CAP_STREAM_VALUE)
		TRY(use_timeline(scenario));
	if (scenario->info.capabilities & WW_CAP_EVENT)
		TRY(use_event(scenario));
	release_sync(scenario);
	TRY(use_module(scenario));
	release_module(scenario);
	release_memories(scenario);
	if (scenario->info.capabilities & WW_CAP_EXPORT) {
		TRY(wait_in_vain(scenario));
		TRY(lose_peer(scenario));
	}
	return WW_OK;
}

ww_status scenario_run(const char **out_step)
{
	struct scenario scenario = {.fd = -1};
	ww_status status;

	MUST_CALL(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, scenario.sockets));
	status = run(&scenario);
	if (status < 0 && scenario.stream)
		ww_stream_synchronize(scenario.stream, WW_FOREVER, NULL);
	release_module(&scenario);
	release_memories(&scenario);
	ww_stream_unref(scenario.wrapped);
	ww_stream_unref(scenario.stream);
	release_sync(&scenario);
	ww_device_unref(scenario.other);
	ww_device_unref(scenario.device);
	if (scenario.fd >= 0)
		close(scenario.fd);
	close(scenario.sockets[0]);
	close(scenario.sockets[1]);
	*out_step = scenario.step;
	return status;
}
