/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_ipc_event.c - events that other processes can use
 *
 * A process keeps the counters of all its shared events in one memfd of 4096 slots; that is also
 * the limit, as on a GPU. The table exists while there is at least one such event. A handle names
 * the process, the slot and the slot's serial number; the importer maps the whole table out of
 * /proc/<pid>/fd. When the owner dies, nobody completes its events any more, and who waits for one
 * waits for ever: that is the driver's way, too.
 */
#include "fake.h"

#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define SLOT_COUNT  4096
#define TABLE_BYTES (sizeof(struct slot) * SLOT_COUNT)

static const char event_magic[8] = "fakeipce";

struct slot {
	_Atomic uint64_t serial; /* 0: free */
	struct fake_event_state state;
	uint64_t zero[5];
};
static_assert(sizeof(struct slot) == 64, "one cache line");

struct event_handle {
	char magic[8];
	int32_t pid;
	int32_t fd;
	uint64_t start;
	uint64_t serial;
	uint32_t slot;
	uint32_t flags;
	uint64_t zero[3];
};
static_assert(sizeof(struct event_handle) == sizeof(ww_CUipcEventHandle), "64 bytes");

static int table_fd = -1;
static struct slot *table;
static unsigned int used_count;
static uint64_t last_serial;

static ww_CUresult table_open(void)
{
	if (table)
		return WW_CUDA_SUCCESS;
	table_fd = memfd_create("fakecuda-events", MFD_CLOEXEC);
	if (table_fd < 0)
		return fake_error_from_errno(errno);
	void *address = MAP_FAILED;
	if (ftruncate(table_fd, (off_t)TABLE_BYTES) == 0)
		address = mmap(NULL, TABLE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, table_fd, 0);
	if (address == MAP_FAILED) {
		ww_CUresult error = fake_error_from_errno(errno);
		close(table_fd);
		table_fd = -1;
		return error;
	}
	table = address;
	return WW_CUDA_SUCCESS;
}

static void table_close_if_unused(void)
{
	if (!table || used_count)
		return;
	munmap(table, TABLE_BYTES);
	close(table_fd);
	table = NULL;
	table_fd = -1;
}

ww_CUresult fake_ipc_event_share(struct fake_event *event)
{
	ww_CUresult error = table_open();
	if (error)
		return error;
	if (used_count == SLOT_COUNT)
		return WW_CUDA_ERROR_OUT_OF_MEMORY;
	int slot = 0;
	while (atomic_load(&table[slot].serial))
		slot++;
	atomic_store(&table[slot].state.recorded, 0);
	atomic_store(&table[slot].state.completed, 0);
	atomic_store(&table[slot].serial, ++last_serial);
	used_count++;
	event->slot = slot;
	event->state = &table[slot].state;
	return WW_CUDA_SUCCESS;
}

void fake_ipc_event_unshare(struct fake_event *event)
{
	if (event->foreign_table)
		munmap(event->foreign_table, TABLE_BYTES);
	if (event->slot < 0)
		return;
	atomic_store(&table[event->slot].serial, 0);
	used_count--;
	table_close_if_unused();
}

FAKE_API cuIpcGetEventHandle(ww_CUipcEventHandle *out_handle, ww_CUevent event_handle)
{
	FAKE_ENTER(cuIpcGetEventHandle);
	const struct fake_event *event = fake_event_find(event_handle);
	if (!out_handle)
		return WW_CUDA_ERROR_INVALID_VALUE;
	if (!event || event->slot < 0)
		return WW_CUDA_ERROR_INVALID_HANDLE;
	struct event_handle handle = {
		.pid = (int32_t)getpid(),
		.fd = table_fd,
		.start = fake_ipc_process_start((int)getpid()),
		.serial = atomic_load(&table[event->slot].serial),
		.slot = (uint32_t)event->slot,
		.flags = event->flags,
	};
	memcpy(handle.magic, event_magic, sizeof(handle.magic));
	memcpy(out_handle, &handle, sizeof(handle));
	return WW_CUDA_SUCCESS;
}

/* The other process's table, or NULL if it is gone or the event in it is another one by now. */
static struct slot *table_map(const struct event_handle *handle)
{
	int fd;
	struct stat status;
	void *address = MAP_FAILED;

	if (handle->slot >= SLOT_COUNT || !handle->serial ||
		fake_ipc_open_descriptor(handle->pid, handle->start, handle->fd, &fd))
		return NULL;
	if (fstat(fd, &status) == 0 && status.st_size == (off_t)TABLE_BYTES)
		address = mmap(NULL, TABLE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (address == MAP_FAILED)
		return NULL;
	struct slot *slots = address;
	if (atomic_load(&slots[handle->slot].serial) != handle->serial) {
		munmap(address, TABLE_BYTES);
		return NULL;
	}
	return slots;
}

FAKE_API cuIpcOpenEventHandle(ww_CUevent *out_event, ww_CUipcEventHandle bytes)
{
	FAKE_ENTER(cuIpcOpenEventHandle);
	struct fake_context *context;
	struct event_handle handle;
	struct fake_event *event;

	ww_CUresult error = fake_context_current(&context);
	if (error)
		return error;
	if (!out_event)
		return WW_CUDA_ERROR_INVALID_VALUE;
	memcpy(&handle, &bytes, sizeof(handle));
	if (memcmp(handle.magic, event_magic, sizeof(handle.magic)) != 0)
		return WW_CUDA_ERROR_MAP_FAILED;
	if (handle.pid == (int32_t)getpid())
		return WW_CUDA_ERROR_INVALID_CONTEXT;
	struct slot *slots = table_map(&handle);
	if (!slots)
		return WW_CUDA_ERROR_MAP_FAILED;
	error = fake_event_new(context, handle.flags, &event);
	if (error) {
		munmap(slots, TABLE_BYTES);
		return error;
	}
	event->foreign_table = slots;
	event->state = &slots[handle.slot].state;
	*out_event = (ww_CUevent)event;
	return WW_CUDA_SUCCESS;
}
