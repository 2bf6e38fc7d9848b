/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_raw_cuda.c - the floor on a GPU: the driver's calls for memory and signals that cross processes
 *
 * The primary context is current from open to close, as it would be in a program of CUDA.
 */
#include <stdlib.h>
#include <string.h>

#include "bench_raw.h"
#include "device/cuda/driver.h"
#include "own.h"
#include "voice.h"

#define FD_HANDLE WW_CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR

struct raw_cuda {
	struct raw base;
	const struct ww_cuda_driver *driver;
	ww_CUdevice ordinal;
};

static struct raw_cuda *raw_cuda(struct raw *raw)
{
	return (struct raw_cuda *)raw;
}

static int failed(const struct raw_cuda *cuda, const char *call, ww_CUresult result)
{
	const char *name = NULL;

	cuda->driver->cuGetErrorName(result, &name);
	return complain("%s: %s (%d)", call, name ? name : "unknown error", result);
}

/* Maps a handle for reading and writing. What was done stays done on failure: the run ends. */
static int map(const struct raw_cuda *cuda, uint64_t bytes, struct raw_memory *memory)
{
	const struct ww_cuda_driver *driver = cuda->driver;
	const ww_CUmemAccessDesc access = {
		.location = {WW_CU_MEM_LOCATION_TYPE_DEVICE, cuda->ordinal},
		.flags = WW_CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
	};
	ww_CUdeviceptr address;
	ww_CUresult result = driver->cuMemAddressReserve(&address, bytes, 0, 0, 0);

	if (result)
		return failed(cuda, "cuMemAddressReserve", result);
	result = driver->cuMemMap(address, bytes, 0, memory->handle, 0);
	if (result)
		return failed(cuda, "cuMemMap", result);
	result = driver->cuMemSetAccess(address, bytes, &access, 1);
	if (result)
		return failed(cuda, "cuMemSetAccess", result);
	memory->address = address;
	memory->bytes = bytes;
	memory->fd = -1;
	return 0;
}

static int create(struct raw *raw, uint64_t bytes, struct raw_memory *out_memory)
{
	const struct raw_cuda *cuda = raw_cuda(raw);
	const ww_CUmemAllocationProp prop = {
		.type = WW_CU_MEM_ALLOCATION_TYPE_PINNED,
		.requestedHandleTypes = FD_HANDLE,
		.location = {WW_CU_MEM_LOCATION_TYPE_DEVICE, cuda->ordinal},
	};
	ww_CUmemGenericAllocationHandle handle;
	ww_CUresult result = cuda->driver->cuMemCreate(&handle, bytes, &prop, 0);

	if (result)
		return failed(cuda, "cuMemCreate", result);
	out_memory->handle = handle;
	return map(cuda, bytes, out_memory);
}

static int unmap(struct raw *raw, struct raw_memory *memory)
{
	const struct raw_cuda *cuda = raw_cuda(raw);
	ww_CUresult result = cuda->driver->cuMemUnmap(memory->address, memory->bytes);

	if (result)
		return failed(cuda, "cuMemUnmap", result);
	result = cuda->driver->cuMemAddressFree(memory->address, memory->bytes);
	if (result)
		return failed(cuda, "cuMemAddressFree", result);
	result = cuda->driver->cuMemRelease(memory->handle);
	return result ? failed(cuda, "cuMemRelease", result) : 0;
}

static int export_fd(struct raw *raw, const struct raw_memory *memory, int *out_fd)
{
	const struct raw_cuda *cuda = raw_cuda(raw);
	ww_CUresult result = cuda->driver->cuMemExportToShareableHandle(out_fd, memory->handle,
		FD_HANDLE, 0);

	return result ? failed(cuda, "cuMemExportToShareableHandle", result) : 0;
}

static int import_map(struct raw *raw, int fd, uint64_t bytes, struct raw_memory *out_memory)
{
	const struct raw_cuda *cuda = raw_cuda(raw);
	ww_CUmemGenericAllocationHandle handle;
	ww_CUresult result = cuda->driver->cuMemImportFromShareableHandle(&handle,
		(void *)(intptr_t)fd, FD_HANDLE);

	if (result)
		return failed(cuda, "cuMemImportFromShareableHandle", result);
	out_memory->handle = handle;
	return map(cuda, bytes, out_memory);
}

/* --- streams, pages and events --- */

struct raw_stream {
	ww_CUstream native;
};

static int page_register(struct raw *raw, struct raw_page *page)
{
	const struct raw_cuda *cuda = raw_cuda(raw);
	unsigned int flags = WW_CU_MEMHOSTREGISTER_PORTABLE | WW_CU_MEMHOSTREGISTER_DEVICEMAP;
	ww_CUdeviceptr address;
	ww_CUresult result;

	if (!page->is_own)
		flags |= WW_CU_MEMHOSTREGISTER_READ_ONLY;
	result = cuda->driver->cuMemHostRegister(page->start, RAW_PAGE_BYTES, flags);
	if (result)
		return failed(cuda, "cuMemHostRegister", result);
	result = cuda->driver->cuMemHostGetDevicePointer(&address, page->start, 0);
	if (result) {
		cuda->driver->cuMemHostUnregister(page->start);
		return failed(cuda, "cuMemHostGetDevicePointer", result);
	}
	page->address = address;
	return 0;
}

static void page_unregister(struct raw *raw, struct raw_page *page)
{
	raw_cuda(raw)->driver->cuMemHostUnregister(page->start);
}

static int stream_create(struct raw *raw, struct raw_stream **out_stream)
{
	const struct raw_cuda *cuda = raw_cuda(raw);
	OWN(heap) struct raw_stream *stream = calloc(1, sizeof(*stream));
	ww_CUresult result;

	if (!stream)
		return complain("out of memory");
	result = cuda->driver->cuStreamCreate(&stream->native, WW_CU_STREAM_NON_BLOCKING);
	if (result)
		return failed(cuda, "cuStreamCreate", result);
	*out_stream = stream;
	stream = NULL;
	return 0;
}

static void stream_free(struct raw *raw, struct raw_stream *stream)
{
	raw_cuda(raw)->driver->cuStreamDestroy(stream->native);
	free(stream);
}

static int stream_synchronize(struct raw *raw, struct raw_stream *stream)
{
	const struct raw_cuda *cuda = raw_cuda(raw);
	ww_CUresult result = cuda->driver->cuStreamSynchronize(stream->native);

	return result ? failed(cuda, "cuStreamSynchronize", result) : 0;
}

static int stream_write(struct raw *raw, struct raw_stream *stream, const struct raw_page *page,
	enum raw_word word, uint64_t value)
{
	const struct raw_cuda *cuda = raw_cuda(raw);
	ww_CUresult result = cuda->driver->cuStreamWriteValue64(stream->native,
		page->address + word * RAW_WORD_BYTES, value, WW_CU_STREAM_WRITE_VALUE_DEFAULT);

	return result ? failed(cuda, "cuStreamWriteValue64", result) : 0;
}

static int stream_wait(struct raw *raw, struct raw_stream *stream, const struct raw_page *page,
	enum raw_word word, uint64_t value)
{
	const struct raw_cuda *cuda = raw_cuda(raw);
	ww_CUresult result = cuda->driver->cuStreamWaitValue64(stream->native,
		page->address + word * RAW_WORD_BYTES, value, WW_CU_STREAM_WAIT_VALUE_GEQ);

	return result ? failed(cuda, "cuStreamWaitValue64", result) : 0;
}

static int event_create(struct raw *raw, struct raw_page *own, struct raw_event *out_event)
{
	const struct raw_cuda *cuda = raw_cuda(raw);
	ww_CUipcEventHandle handle;
	ww_CUevent event;
	ww_CUresult result = cuda->driver->cuEventCreate(&event,
		WW_CU_EVENT_INTERPROCESS | WW_CU_EVENT_DISABLE_TIMING);

	if (result)
		return failed(cuda, "cuEventCreate", result);
	out_event->native = event;
	result = cuda->driver->cuIpcGetEventHandle(&handle, event);
	if (result)
		return failed(cuda, "cuIpcGetEventHandle", result);
	memcpy(own->start + RAW_HANDLE_OFFSET, &handle, RAW_HANDLE_BYTES);
	return 0;
}

static int event_open(struct raw *raw, struct raw_page *peers, struct raw_event *out_event)
{
	const struct raw_cuda *cuda = raw_cuda(raw);
	ww_CUipcEventHandle handle;
	ww_CUevent event;
	ww_CUresult result;

	memcpy(&handle, peers->start + RAW_HANDLE_OFFSET, RAW_HANDLE_BYTES);
	result = cuda->driver->cuIpcOpenEventHandle(&event, handle);
	if (result)
		return failed(cuda, "cuIpcOpenEventHandle", result);
	out_event->native = event;
	return 0;
}

static void event_free(struct raw *raw, struct raw_event *event)
{
	if (event->native)
		raw_cuda(raw)->driver->cuEventDestroy(event->native);
}

static int event_record(struct raw *raw, struct raw_event *event, struct raw_stream *stream,
	uint64_t value)
{
	const struct raw_cuda *cuda = raw_cuda(raw);
	ww_CUresult result = cuda->driver->cuEventRecord(event->native, stream->native);

	(void)value;
	return result ? failed(cuda, "cuEventRecord", result) : 0;
}

static int event_wait(struct raw *raw, struct raw_event *event, struct raw_stream *stream,
	uint64_t value)
{
	const struct raw_cuda *cuda = raw_cuda(raw);
	ww_CUresult result = cuda->driver->cuStreamWaitEvent(stream->native, event->native,
		WW_CU_EVENT_WAIT_DEFAULT);

	(void)value;
	return result ? failed(cuda, "cuStreamWaitEvent", result) : 0;
}

static void close_cuda(struct raw *raw)
{
	struct raw_cuda *cuda = raw_cuda(raw);
	ww_CUcontext popped;

	cuda->driver->cuCtxPopCurrent(&popped);
	cuda->driver->cuDevicePrimaryCtxRelease(cuda->ordinal);
	free(cuda);
}

static const struct raw_ops cuda_ops = {
	.create = create,
	.release = unmap,
	.export_fd = export_fd,
	.import_map = import_map,
	.unmap = unmap,
	.page_register = page_register,
	.page_unregister = page_unregister,
	.stream_create = stream_create,
	.stream_free = stream_free,
	.stream_synchronize = stream_synchronize,
	.stream_write = stream_write,
	.stream_wait = stream_wait,
	.event_create = event_create,
	.event_open = event_open,
	.event_free = event_free,
	.event_record = event_record,
	.event_wait = event_wait,
	.close = close_cuda,
};

static int make_current(struct raw_cuda *cuda, int index)
{
	ww_CUcontext context;
	ww_CUresult result = cuda->driver->cuDeviceGet(&cuda->ordinal, index);

	if (result)
		return failed(cuda, "cuDeviceGet", result);
	result = cuda->driver->cuDevicePrimaryCtxRetain(&context, cuda->ordinal);
	if (result)
		return failed(cuda, "cuDevicePrimaryCtxRetain", result);
	result = cuda->driver->cuCtxPushCurrent(context);
	if (!result)
		return 0;
	cuda->driver->cuDevicePrimaryCtxRelease(cuda->ordinal);
	return failed(cuda, "cuCtxPushCurrent", result);
}

int raw_open_cuda(const struct ww_device_info *info, struct raw **out_raw)
{
	OWN(heap) struct raw_cuda *cuda = calloc(1, sizeof(*cuda));

	if (!cuda)
		return complain("out of memory");
	cuda->base.ops = &cuda_ops;
	if (ww_cuda_driver_get(&cuda->driver) != WW_OK)
		return complain_record("cannot open the driver");
	if (make_current(cuda, (int)info->index))
		return -1;
	*out_raw = &cuda->base;
	cuda = NULL;
	return 0;
}
