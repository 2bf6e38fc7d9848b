/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_ipc_event.c - events that other processes can use
 *
 * A process keeps the counters of all its shared events in one file in /dev/shm, as the driver
 * does: 4096 slots, and that is also the limit for the events that it makes; those it opens do not
 * count. The file is there while there is at least one such event. A handle names the file and the
 * slot; the importer maps the whole table. Where processes have different folders /dev/shm, or
 * users, it finds no file.
 *
 * When the owner dies, nobody completes its events any more, and a process that waits for one waits
 * for ever. Its file stays; an event can still be opened, as it can once it was destroyed: there is
 * only a slot. All that is the driver's way, too. But the driver never takes a file away; here the
 * process does when it ends in order, and others do for one that was killed a minute ago. A file's
 * owner lives while somebody has it locked.
 */
#include "fake.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOLDER      "/dev/shm"
#define PREFIX      "fakecuda.shm."
#define PATH_BYTES  80
#define STALE_S     60
#define SLOT_COUNT  4096
#define TABLE_BYTES (sizeof(struct slot) * SLOT_COUNT)

static const char event_magic[8] = "fakeipce";

struct slot {
	_Atomic uint32_t used;
	uint32_t zero;
	struct fake_event_state state;
	uint64_t zeros[5];
};
static_assert(sizeof(struct slot) == 64, "one cache line");

struct event_handle {
	char magic[8];
	int32_t pid;
	uint32_t uid;
	uint32_t number; /* of the file, among those of this pid and user */
	uint32_t slot;
	uint32_t flags;
	uint32_t zero;
	uint64_t zeros[4];
};
static_assert(sizeof(struct event_handle) == sizeof(ww_CUipcEventHandle), "64 bytes");

static int table_fd = -1;
static struct slot *table;
static struct event_handle table_name; /* but for slot and flags */
static unsigned int used_count;

static void path_of(const struct event_handle *name, char path[PATH_BYTES])
{
	snprintf(path, PATH_BYTES, FOLDER "/" PREFIX "%u.%x.%u", name->uid, (unsigned int)name->pid,
		name->number);
}

/* Takes away files of processes that were killed. */
static void sweep(void)
{
	DIR *folder = opendir(FOLDER);
	const struct dirent *entry;

	while (folder && (entry = readdir(folder))) {
		struct stat status;
		if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)) != 0)
			continue;
		int fd = openat(dirfd(folder), entry->d_name, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
		if (fd < 0)
			continue;
		if (fstat(fd, &status) == 0 && status.st_mtime < time(NULL) - STALE_S &&
			flock(fd, LOCK_EX | LOCK_NB) == 0)
			unlinkat(dirfd(folder), entry->d_name, 0);
		close(fd);
	}
	if (folder)
		closedir(folder);
}

/* Makes a file that is locked and empty, under a name that nobody has. */
static int file_create(void)
{
	char path[PATH_BYTES];
	int fd;

	memcpy(table_name.magic, event_magic, sizeof(event_magic));
	table_name.pid = (int32_t)getpid();
	table_name.uid = geteuid();
	table_name.number = 0;
	do {
		table_name.number++;
		path_of(&table_name, path);
		fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	} while (fd < 0 && errno == EEXIST);
	if (fd >= 0)
		flock(fd, LOCK_EX | LOCK_NB);
	return fd;
}

static void file_delete(void)
{
	char path[PATH_BYTES];

	path_of(&table_name, path);
	unlink(path);
	close(table_fd);
	table_fd = -1;
}

static ww_CUresult table_open(void)
{
	if (table)
		return WW_CUDA_SUCCESS;
	sweep();
	table_fd = file_create();
	if (table_fd < 0)
		return WW_CUDA_ERROR_MAP_FAILED;
	void *address = MAP_FAILED;
	if (ftruncate(table_fd, (off_t)TABLE_BYTES) == 0)
		address = mmap(NULL, TABLE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, table_fd, 0);
	if (address == MAP_FAILED) {
		file_delete();
		return WW_CUDA_ERROR_MAP_FAILED;
	}
	table = address;
	return WW_CUDA_SUCCESS;
}

static void table_close_if_unused(void)
{
	if (!table || used_count)
		return;
	munmap(table, TABLE_BYTES);
	table = NULL;
	file_delete();
}

/* Not in the child of a fork: it is the parent's file. */
__attribute__((destructor)) static void leave(void)
{
	if (table && table_name.pid == (int32_t)getpid())
		file_delete();
}

ww_CUresult fake_ipc_event_share(struct fake_event *event)
{
	ww_CUresult error = table_open();
	if (error)
		return error;
	if (used_count == SLOT_COUNT)
		return WW_CUDA_ERROR_OUT_OF_MEMORY;
	int slot = 0;
	while (atomic_load(&table[slot].used))
		slot++;
	atomic_store(&table[slot].state.recorded, 0);
	atomic_store(&table[slot].state.completed, 0);
	atomic_store(&table[slot].used, 1);
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
	atomic_store(&table[event->slot].used, 0);
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
	struct event_handle handle = table_name;
	handle.slot = (uint32_t)event->slot;
	handle.flags = event->flags;
	memcpy(out_handle, &handle, sizeof(handle));
	return WW_CUDA_SUCCESS;
}

/* The other process's table; NULL: this process finds none. */
static struct slot *table_map(const struct event_handle *handle)
{
	char path[PATH_BYTES];
	struct stat status;
	void *address = MAP_FAILED;

	path_of(handle, path);
	int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return NULL;
	if (fstat(fd, &status) == 0 && status.st_size == (off_t)TABLE_BYTES)
		address = mmap(NULL, TABLE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return address == MAP_FAILED ? NULL : address;
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
	if (memcmp(handle.magic, event_magic, sizeof(handle.magic)) != 0 ||
		handle.slot >= SLOT_COUNT)
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
