/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_ipc.c - legacy handles of memory
 *
 * 64 bytes name a process, when it was started, and one of its allocations. The importer takes the
 * descriptor out of /proc/<pid>/fd and checks the note at the end of the memory against the handle.
 * No permission is asked for beyond what /proc asks, and nothing keeps the memory alive until it is
 * opened.
 *
 * Of memory that was freed: with nothing in its place, the handle is INVALID_VALUE; with memory as
 * large in its place, NOT_PERMITTED; and once that has a handle too, the old one opens. So driver
 * 580 does; what is opened then, here it is what is there now.
 *
 * A handle names the whole allocation even if it was made from an address inside of it. Opening it
 * again in the same process gives the same address and counts. The maker cannot open its own.
 * Closing waits for all that was enqueued, as freeing does.
 */
#include "fake.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define UNMAP_NS 50000 /* to unmap what was opened, in which other threads call */

static const char memory_magic[8] = "fakeipcm";

struct memory_handle {
	char magic[8];
	int32_t pid;
	int32_t fd;
	uint64_t start;
	uint64_t serial;
	uint64_t bytes;
	ww_CUuuid uuid;
	uint64_t zero;
};
static_assert(sizeof(struct memory_handle) == sizeof(ww_CUipcMemHandle), "64 bytes");

/* When a process was started, in clock ticks since boot; 0: there is no such process. */
static uint64_t process_start(int pid)
{
	char path[64];
	char text[1024];

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	FILE *file = fopen(path, "re");
	if (!file)
		return 0;
	size_t bytes = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	text[bytes] = '\0';

	/* The name is in brackets and may hold anything; the start is the 20th field after it. */
	const char *at = strrchr(text, ')');
	for (int field = 0; at && field < 20; field++)
		at = strchr(at + 1, ' ');
	return at ? strtoull(at, NULL, 10) : 0;
}

static ww_CUresult open_descriptor(int pid, uint64_t start, int fd, int *out_fd)
{
	char path[64];

	if (!start || process_start(pid) != start)
		return WW_CUDA_ERROR_INVALID_HANDLE;
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", pid, fd);
	*out_fd = open(path, O_RDWR | O_CLOEXEC);
	if (*out_fd >= 0)
		return WW_CUDA_SUCCESS;
	return errno == ENOENT ? WW_CUDA_ERROR_INVALID_VALUE : WW_CUDA_ERROR_INVALID_HANDLE;
}

FAKE_API cuIpcGetMemHandle(ww_CUipcMemHandle *out_handle, ww_CUdeviceptr address)
{
	FAKE_ENTER(cuIpcGetMemHandle);
	const struct fake_range *range = fake_range_find(address);
	if (!out_handle || !range || range->kind != FAKE_RANGE_ALLOC)
		return WW_CUDA_ERROR_INVALID_VALUE;
	const struct fake_physical *physical = range->physical;
	struct memory_handle handle = {
		.pid = (int32_t)getpid(),
		.fd = physical->fd,
		.start = process_start((int)getpid()),
		.serial = physical->serial,
		.bytes = range->span.bytes,
		.uuid = physical->uuid,
	};
	memcpy(handle.magic, memory_magic, sizeof(handle.magic));
	ww_CUresult error = fake_physical_name(physical);
	if (!error)
		memcpy(out_handle, &handle, sizeof(handle));
	return error;
}

static bool is_named_by(const struct fake_physical *physical, const struct memory_handle *handle)
{
	return physical->serial == handle->serial && physical->maker_pid == handle->pid &&
		!memcmp(&physical->uuid, &handle->uuid, sizeof(handle->uuid)) && handle->bytes &&
		handle->bytes <= physical->bytes;
}

/* The mapping that this process already has of the memory, in that context. */
static struct fake_range *find_open(const struct fake_context *context,
	const struct memory_handle *handle)
{
	for (size_t i = 0; i < fake_ranges.count; i++) {
		struct fake_range *range = (struct fake_range *)fake_ranges.spans[i];
		if (range->kind == FAKE_RANGE_IPC && range->context == context && !range->freeing &&
			is_named_by(range->physical, handle))
			return range;
	}
	return NULL;
}

/* Return: whether it is open here, with the call's result. */
static bool open_again(const struct fake_context *context, const struct memory_handle *handle,
	ww_CUdeviceptr *out_address, ww_CUresult *out_result)
{
	struct fake_range *range = find_open(context, handle);
	if (!range)
		return false;
	*out_result = range->is_closing ? WW_CUDA_ERROR_ALREADY_MAPPED : WW_CUDA_SUCCESS;
	if (range->is_closing)
		return true;
	range->opens++;
	*out_address = range->span.address;
	return true;
}

/* What a handle is worth when other memory is found where it points. */
static ww_CUresult judge_other(const struct fake_physical *physical,
	const struct memory_handle *handle)
{
	if (physical->maker_pid != handle->pid || physical->bytes < handle->bytes ||
		physical->bytes - handle->bytes >= FAKE_PAGE)
		return WW_CUDA_ERROR_INVALID_VALUE;
	return physical->is_named ? WW_CUDA_SUCCESS : WW_CUDA_ERROR_NOT_PERMITTED;
}

/* Finds out what the handle names now, and takes a reference to it. */
static ww_CUresult handle_follow(struct memory_handle *handle, struct fake_physical **out_physical)
{
	int fd;
	ww_CUresult error = open_descriptor(handle->pid, handle->start, handle->fd, &fd);
	if (error)
		return error;
	error = fake_physical_import(FAKE_KIND_LEGACY, fd, out_physical);
	close(fd);
	if (error == WW_CUDA_ERROR_UNKNOWN || error == WW_CUDA_ERROR_NOT_SUPPORTED)
		return WW_CUDA_ERROR_INVALID_VALUE;
	if (!error && !is_named_by(*out_physical, handle)) {
		error = judge_other(*out_physical, handle);
		handle->serial = (*out_physical)->serial;
	}
	if (error)
		fake_physical_unref(*out_physical);
	return error;
}

/* Consumes the reference to @physical, also on failure. */
static ww_CUresult map(struct fake_context *context, struct fake_physical *physical, uint64_t bytes,
	ww_CUdeviceptr *out_address)
{
	struct fake_range *range;
	struct fake_place *place = fake_arena_take(bytes, FAKE_GRANULARITY, 0);
	range = place ? fake_range_create(FAKE_RANGE_IPC, place->span.address, bytes) : NULL;
	if (!range) {
		fake_arena_give(place);
		fake_physical_unref(physical);
		return WW_CUDA_ERROR_OUT_OF_MEMORY;
	}
	range->physical = physical;
	range->place = place;
	range->context = context;
	range->device = physical->device;
	range->opens = 1;
	*out_address = range->span.address;
	return WW_CUDA_SUCCESS;
}

FAKE_API cuIpcOpenMemHandle_v2(ww_CUdeviceptr *out_address, ww_CUipcMemHandle bytes,
	unsigned int flags)
{
	FAKE_ENTER(cuIpcOpenMemHandle);
	struct fake_context *context;
	struct memory_handle handle;
	ww_CUresult error = fake_context_current(&context);
	if (error)
		return error;
	memcpy(&handle, &bytes, sizeof(handle));
	if (!out_address || flags != WW_CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS ||
		memcmp(handle.magic, memory_magic, sizeof(handle.magic)) != 0)
		return WW_CUDA_ERROR_INVALID_VALUE;
	if (handle.pid == (int32_t)getpid())
		return WW_CUDA_ERROR_INVALID_CONTEXT;
	/* What is open already is so whatever has become of its owner. */
	if (open_again(context, &handle, out_address, &error))
		return error;
	struct fake_physical *physical;
	error = handle_follow(&handle, &physical);
	if (error)
		return error;
	if (open_again(context, &handle, out_address, &error)) {
		fake_physical_unref(physical);
		return error;
	}
	if (physical->device != context->device &&
		!fake_device_reaches(context->device, &physical->uuid)) {
		fake_physical_unref(physical);
		return WW_CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
	}
	return map(context, physical, handle.bytes, out_address);
}

FAKE_API cuIpcCloseMemHandle(ww_CUdeviceptr address)
{
	FAKE_ENTER(cuIpcCloseMemHandle);
	struct fake_range *range = fake_range_find_base(address);
	if (!range || range->kind != FAKE_RANGE_IPC)
		return WW_CUDA_ERROR_INVALID_VALUE;
	if (range->context->fault)
		return range->context->fault;
	fake_stream_finish_all();
	range = fake_range_find_base(address);
	if (!range || range->kind != FAKE_RANGE_IPC || --range->opens > 0)
		return WW_CUDA_SUCCESS;
	/* Others get the driver's lock before it is unmapped. */
	range->is_closing = true;
	fake_wait_ns(UNMAP_NS);
	fake_range_destroy(range);
	return WW_CUDA_SUCCESS;
}
