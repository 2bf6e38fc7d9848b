/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_sync.c - what streams wait for, and host memory that a GPU uses in place
 */
#include "doctor/event_files.h"
#include "doctor/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE_BYTES    (UINT64_C(64) << 10)
#define PAGE_ELEMENTS (PAGE_BYTES / sizeof(float))
#define EVENT_FLAGS   (WW_CU_EVENT_DISABLE_TIMING | WW_CU_EVENT_INTERPROCESS)

/* --- events --- */

static int try_events(struct probe *probe, ww_CUevent event)
{
	ww_CUipcEventHandle handle = {{0}};

	if (CUDA_CALL(&probe->cuda, cuIpcGetEventHandle, &handle, event) ||
		CUDA_CALL(&probe->cuda, cuEventRecord, event, probe->cuda.stream))
		return -1;
	return peer_do(probe, PEER_EVENT, &handle, sizeof(handle), -1);
}

int probe_events(struct probe *probe)
{
	struct event_files before;
	ww_CUevent event = NULL;
	int result;

	event_files_note(&before);
	result = CUDA_CALL(&probe->cuda, cuEventCreate, &event, EVENT_FLAGS);
	if (result == 0) {
		result = try_events(probe, event);
		probe->cuda.cuEventDestroy(event);
	}
	event_files_remove(&before);
	if (result && strstr(probe->said, "MAP_FAILED"))
		probe->cause = "shm";
	snprintf(probe->found, sizeof(probe->found), "another process waited for a recording");
	return result;
}

int peer_event(struct probe *probe, const struct peer_message *message, int fd)
{
	struct event_files before;
	ww_CUipcEventHandle handle = {{0}};
	ww_CUevent event = NULL;
	int result;

	(void)fd;
	memcpy(&handle, message->bytes, sizeof(handle));
	event_files_note(&before);
	result = CUDA_CALL(&probe->cuda, cuIpcOpenEventHandle, &event, handle);
	if (result == 0) {
		result = CUDA_CALL(&probe->cuda, cuStreamWaitEvent, probe->cuda.stream, event, 0) ||
				CUDA_CALL(&probe->cuda, cuStreamSynchronize, probe->cuda.stream)
			? -1
			: 0;
		probe->cuda.cuEventDestroy(event);
	}
	event_files_remove(&before);
	return result;
}

/* --- values --- */

/*
 * The value is written first, so the wait is over even where both streams share a queue of the
 * hardware.
 */
static int try_values(struct probe *probe, ww_CUdeviceptr address, ww_CUstream second)
{
	uint64_t value = 0;

	if (CUDA_CALL(&probe->cuda, cuStreamWriteValue64, probe->cuda.stream, address, 4711,
		    WW_CU_STREAM_WRITE_VALUE_DEFAULT) ||
		CUDA_CALL(&probe->cuda, cuStreamWaitValue64, second, address, 4711,
			WW_CU_STREAM_WAIT_VALUE_GEQ) ||
		CUDA_CALL(&probe->cuda, cuStreamSynchronize, second) ||
		CUDA_CALL(&probe->cuda, cuMemcpyDtoH, &value, address, sizeof(value)))
		return -1;
	return value == 4711 ? 0 : complain("the value is %llu", (unsigned long long)value);
}

int probe_stream_values(struct probe *probe)
{
	const uint64_t zero = 0;
	ww_CUdeviceptr address = 0;
	ww_CUstream second = NULL;
	int result = -1;

	if (CUDA_CALL(&probe->cuda, cuMemAlloc, &address, PAGE_BYTES))
		return -1;
	if (!cuda_upload(&probe->cuda, address, &zero, sizeof(zero)) &&
		!CUDA_CALL(&probe->cuda, cuStreamCreate, &second, WW_CU_STREAM_NON_BLOCKING))
		result = try_values(probe, address, second);
	if (second)
		probe->cuda.cuStreamDestroy(second);
	probe->cuda.cuMemFree(address);
	snprintf(probe->found, sizeof(probe->found), "one stream waited for another one's value");
	return result;
}

/* --- host memory --- */

struct page {
	int fd;
	float *at; /* NULL: not mapped */
	bool is_registered;
	ww_CUdeviceptr device_address; /* of the page, for the GPU */
	ww_CUdeviceptr copy;           /* memory of the GPU */
};

static void page_fini(struct probe *probe, struct page *page)
{
	if (page->is_registered)
		probe->cuda.cuMemHostUnregister(page->at);
	if (page->copy)
		probe->cuda.cuMemFree(page->copy);
	if (page->at)
		munmap(page->at, PAGE_BYTES);
	own_fd(&page->fd);
}

static int page_map(struct page *page, int protection)
{
	void *at = mmap(NULL, PAGE_BYTES, protection, MAP_SHARED, page->fd, 0);

	if (at == MAP_FAILED)
		return complain("cannot map a memory file: %s", strerror(errno));
	page->at = at;
	return 0;
}

static int page_open(struct page *page)
{
	page->fd = memfd_create("warpway-doctor", MFD_CLOEXEC);
	if (page->fd < 0 || ftruncate(page->fd, (off_t)PAGE_BYTES))
		return complain("cannot make a memory file: %s", strerror(errno));
	return 0;
}

static int page_register(struct probe *probe, struct page *page, unsigned int flags)
{
	if (CUDA_CALL(&probe->cuda, cuMemHostRegister, page->at, PAGE_BYTES,
		    WW_CU_MEMHOSTREGISTER_DEVICEMAP | flags))
		return -1;
	page->is_registered = true;
	if (CUDA_CALL(&probe->cuda, cuMemHostGetDevicePointer, &page->device_address, page->at, 0))
		return -1;
	return CUDA_CALL(&probe->cuda, cuMemAlloc, &page->copy, PAGE_BYTES);
}

static int page_verify(const struct page *page)
{
	for (uint64_t i = 0; page->at && i < PAGE_ELEMENTS; i++) {
		if (page->at[i] != pattern_at(probe_question, i))
			return complain("element %llu is %g", (unsigned long long)i,
				(double)page->at[i]);
	}
	return 0;
}

static int try_host_memory(struct probe *probe, struct page *page)
{
	if (page_open(page) || page_map(page, PROT_READ | PROT_WRITE) ||
		page_register(probe, page, 0) ||
		cuda_write(&probe->cuda, page->copy, PAGE_ELEMENTS, probe_question) ||
		CUDA_CALL(&probe->cuda, cuMemcpy, page->device_address, page->copy, PAGE_BYTES))
		return -1;
	return page_verify(page);
}

int probe_host_memory(struct probe *probe)
{
	struct page page = {.fd = -1};
	int result = try_host_memory(probe, &page);

	page_fini(probe, &page);
	snprintf(probe->found, sizeof(probe->found), "the GPU wrote a memory file in place");
	return result;
}

/* As one gets it that was given the file for reading: through a descriptor that cannot write. */
static int reopen(struct page *page)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", page->fd);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return complain("cannot open %s: %s", path, strerror(errno));
	close(page->fd);
	page->fd = fd;
	return 0;
}

static int fill(const struct page *page)
{
	for (uint64_t i = 0; i < PAGE_ELEMENTS; i++) {
		float element = pattern_at(probe_question, i);

		if (pwrite(page->fd, &element, sizeof(element), (off_t)(i * sizeof(element))) !=
			(ssize_t)sizeof(element))
			return complain("cannot write a memory file: %s", strerror(errno));
	}
	return 0;
}

/* Nothing is written there: that would be a fault of the GPU. */
static int try_host_read_only(struct probe *probe, struct page *page)
{
	if (page_open(page) || fill(page) || reopen(page) || page_map(page, PROT_READ) ||
		page_register(probe, page, WW_CU_MEMHOSTREGISTER_READ_ONLY) ||
		CUDA_CALL(&probe->cuda, cuMemcpy, page->copy, page->device_address, PAGE_BYTES))
		return -1;
	return cuda_verify(&probe->cuda, page->copy, PAGE_ELEMENTS, probe_question);
}

int probe_host_read_only(struct probe *probe)
{
	struct page page = {.fd = -1};
	int result = try_host_read_only(probe, &page);

	page_fini(probe, &page);
	snprintf(probe->found, sizeof(probe->found),
		"the GPU read a memory file that may not be written");
	return result;
}
