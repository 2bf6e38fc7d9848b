/* SPDX-License-Identifier: Apache-2.0 */
/*
 * raw_cuda.c - the floor on a GPU: the driver's calls for memory and signals that cross processes
 *
 * The primary context is current from open to close, as it would be in a program of CUDA. When a
 * call fails, what was done before stays done: the run ends.
 */
#include <stdlib.h>
#include <string.h>

#include "bench/raw.h"
#include "common/cleanup.h"
#include "common/plain_cuda.h"
#include "common/say.h"

#define FD_HANDLE WW_CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR

struct raw_cuda {
	struct raw base;
	struct cuda cuda;
	ww_CUmodule module; /* of the kernel; NULL: it is not loaded */
	ww_CUfunction kernel;
};

static struct raw_cuda *from_base(struct raw *raw)
{
	return (struct raw_cuda *)raw;
}

static struct cuda *cuda_of(struct raw *raw)
{
	return &from_base(raw)->cuda;
}

/* Maps a handle for reading and writing. */
static int map(const struct cuda *cuda, uint64_t bytes, struct raw_memory *memory)
{
	const ww_CUmemAccessDesc access = {
		.location = {WW_CU_MEM_LOCATION_TYPE_DEVICE, cuda->ordinal},
		.flags = WW_CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
	};
	ww_CUdeviceptr address;

	if (CUDA_CALL(cuda, cuMemAddressReserve, &address, bytes, 0, 0, 0) ||
		CUDA_CALL(cuda, cuMemMap, address, bytes, 0, memory->handle, 0) ||
		CUDA_CALL(cuda, cuMemSetAccess, address, bytes, &access, 1))
		return -1;
	memory->address = address;
	memory->bytes = bytes;
	memory->fd = -1;
	return 0;
}

static int create(struct raw *raw, uint64_t bytes, struct raw_memory *out_memory)
{
	const struct cuda *cuda = cuda_of(raw);
	const ww_CUmemAllocationProp prop = {
		.type = WW_CU_MEM_ALLOCATION_TYPE_PINNED,
		.requestedHandleTypes = FD_HANDLE,
		.location = {WW_CU_MEM_LOCATION_TYPE_DEVICE, cuda->ordinal},
	};
	ww_CUmemGenericAllocationHandle handle;

	if (CUDA_CALL(cuda, cuMemCreate, &handle, bytes, &prop, 0))
		return -1;
	out_memory->handle = handle;
	return map(cuda, bytes, out_memory);
}

static int unmap(struct raw *raw, struct raw_memory *memory)
{
	const struct cuda *cuda = cuda_of(raw);

	if (CUDA_CALL(cuda, cuMemUnmap, memory->address, memory->bytes) ||
		CUDA_CALL(cuda, cuMemAddressFree, memory->address, memory->bytes))
		return -1;
	return CUDA_CALL(cuda, cuMemRelease, memory->handle);
}

static int export_fd(struct raw *raw, const struct raw_memory *memory, int *out_fd)
{
	return CUDA_CALL(cuda_of(raw), cuMemExportToShareableHandle, out_fd, memory->handle,
		FD_HANDLE, 0);
}

static int import_map(struct raw *raw, int fd, uint64_t bytes, struct raw_memory *out_memory)
{
	const struct cuda *cuda = cuda_of(raw);
	ww_CUmemGenericAllocationHandle handle;

	if (CUDA_CALL(cuda, cuMemImportFromShareableHandle, &handle, (void *)(intptr_t)fd,
		    FD_HANDLE))
		return -1;
	out_memory->handle = handle;
	return map(cuda, bytes, out_memory);
}

/* --- streams, pages and events --- */

struct raw_stream {
	ww_CUstream native;
};

static int page_register(struct raw *raw, struct raw_page *page)
{
	const struct cuda *cuda = cuda_of(raw);
	unsigned int flags = WW_CU_MEMHOSTREGISTER_PORTABLE | WW_CU_MEMHOSTREGISTER_DEVICEMAP;
	ww_CUdeviceptr address;

	if (!page->is_own)
		flags |= WW_CU_MEMHOSTREGISTER_READ_ONLY;
	if (CUDA_CALL(cuda, cuMemHostRegister, page->start, RAW_PAGE_BYTES, flags))
		return -1;
	if (CUDA_CALL(cuda, cuMemHostGetDevicePointer, &address, page->start, 0)) {
		cuda->cuMemHostUnregister(page->start);
		return -1;
	}
	page->address = address;
	return 0;
}

static void page_unregister(struct raw *raw, struct raw_page *page)
{
	cuda_of(raw)->cuMemHostUnregister(page->start);
}

static int stream_create(struct raw *raw, struct raw_stream **out_stream)
{
	OWN(heap) struct raw_stream *stream = calloc(1, sizeof(*stream));

	if (!stream)
		return complain("out of memory");
	if (CUDA_CALL(cuda_of(raw), cuStreamCreate, &stream->native, WW_CU_STREAM_NON_BLOCKING))
		return -1;
	*out_stream = stream;
	stream = NULL;
	return 0;
}

static void stream_free(struct raw *raw, struct raw_stream *stream)
{
	cuda_of(raw)->cuStreamDestroy(stream->native);
	free(stream);
}

static int stream_synchronize(struct raw *raw, struct raw_stream *stream)
{
	return CUDA_CALL(cuda_of(raw), cuStreamSynchronize, stream->native);
}

static int stream_write(struct raw *raw, struct raw_stream *stream, const struct raw_page *page,
	enum raw_word word, uint64_t value)
{
	return CUDA_CALL(cuda_of(raw), cuStreamWriteValue64, stream->native,
		page->address + word * RAW_WORD_BYTES, value, WW_CU_STREAM_WRITE_VALUE_DEFAULT);
}

static int stream_wait(struct raw *raw, struct raw_stream *stream, const struct raw_page *page,
	enum raw_word word, uint64_t value)
{
	return CUDA_CALL(cuda_of(raw), cuStreamWaitValue64, stream->native,
		page->address + word * RAW_WORD_BYTES, value, WW_CU_STREAM_WAIT_VALUE_GEQ);
}

static int event_create(struct raw *raw, struct raw_page *own, struct raw_event *out_event)
{
	const struct cuda *cuda = cuda_of(raw);
	ww_CUipcEventHandle handle;
	ww_CUevent event;

	if (CUDA_CALL(cuda, cuEventCreate, &event,
		    WW_CU_EVENT_INTERPROCESS | WW_CU_EVENT_DISABLE_TIMING))
		return -1;
	out_event->native = event;
	if (CUDA_CALL(cuda, cuIpcGetEventHandle, &handle, event))
		return -1;
	memcpy(own->start + RAW_HANDLE_OFFSET, &handle, RAW_HANDLE_BYTES);
	return 0;
}

static int event_open(struct raw *raw, struct raw_page *peers, struct raw_event *out_event)
{
	ww_CUipcEventHandle handle;
	ww_CUevent event;

	memcpy(&handle, peers->start + RAW_HANDLE_OFFSET, RAW_HANDLE_BYTES);
	if (CUDA_CALL(cuda_of(raw), cuIpcOpenEventHandle, &event, handle))
		return -1;
	out_event->native = event;
	return 0;
}

static void event_free(struct raw *raw, struct raw_event *event)
{
	if (event->native)
		cuda_of(raw)->cuEventDestroy(event->native);
}

static int event_record(struct raw *raw, struct raw_event *event, struct raw_stream *stream,
	uint64_t value)
{
	(void)value;
	return CUDA_CALL(cuda_of(raw), cuEventRecord, event->native, stream->native);
}

static int event_wait(struct raw *raw, struct raw_event *event, struct raw_stream *stream,
	uint64_t value)
{
	(void)value;
	return CUDA_CALL(cuda_of(raw), cuStreamWaitEvent, stream->native, event->native,
		WW_CU_EVENT_WAIT_DEFAULT);
}

/* --- a kernel --- */

/* PTX that the driver compiles for whichever GPU there is. */
static const char kernel_text[] = ".version 6.0\n"
				  ".target sm_50\n"
				  ".address_size 64\n"
				  ".visible .entry nothing()\n{\n\tret;\n}\n";

static void *stream_native(struct raw_stream *stream)
{
	return stream->native;
}

static int kernel_launch(struct raw *raw, void *native)
{
	return CUDA_CALL(cuda_of(raw), cuLaunchKernel, from_base(raw)->kernel, 1, 1, 1, 1, 1, 1, 0,
		native, NULL, NULL);
}

/*
 * The driver may load the code only at the first launch, and waits for other streams then: so the
 * kernel is launched once before any stream waits for another process.
 */
static void kernel_load(struct raw *raw)
{
	struct raw_cuda *own = from_base(raw);
	const struct cuda *cuda = &own->cuda;
	const char *name = NULL;
	ww_CUresult result;

	if (raw->has_kernel)
		return;
	result = cuda->cuModuleLoadData(&own->module, kernel_text);
	if (!result)
		result = cuda->cuModuleGetFunction(&own->kernel, own->module, "nothing");
	if (!result)
		result = cuda->cuLaunchKernel(own->kernel, 1, 1, 1, 1, 1, 1, 0, cuda->stream, NULL,
			NULL);
	if (!result)
		result = cuda->cuStreamSynchronize(cuda->stream);
	raw->has_kernel = result == WW_CUDA_SUCCESS;
	if (!raw->has_kernel) {
		cuda->cuGetErrorName(result, &name);
		say("no kernel can be launched: the driver answers %s (%d)",
			name ? name : "an unknown error", result);
	}
}

static void close_cuda(struct raw *raw)
{
	if (from_base(raw)->module)
		cuda_of(raw)->cuModuleUnload(from_base(raw)->module);
	cuda_close(cuda_of(raw));
	free(raw);
}

static const struct raw_ops cuda_ops = {
	.create = create,
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
	.kernel_load = kernel_load,
	.kernel_launch = kernel_launch,
	.stream_native = stream_native,
	.close = close_cuda,
};

int raw_open_cuda(const struct ww_device_info *info, struct raw **out_raw)
{
	OWN(heap) struct raw_cuda *cuda = calloc(1, sizeof(*cuda));

	if (!cuda)
		return complain("out of memory");
	cuda->base.ops = &cuda_ops;
	if (cuda_open(&cuda->cuda, info->index))
		return -1;
	*out_raw = &cuda->base;
	cuda = NULL;
	return 0;
}
