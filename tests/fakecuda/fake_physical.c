/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_physical.c - memory: a memfd, a note at its end, and our mapping of it
 *
 * The note travels with every descriptor of the memory and tells an importer what it has: which GPU
 * made it (by UUID, so that it can be found, or not, among the importer's own), how large it is,
 * and which of its maker's pieces it is. The memfd is not sealed against shrinking: a GPU's
 * descriptor is no file of memory either, and a program that takes sealed memfds from others must
 * not take this one for such. Against growing it is: so a broker knows how large it is.
 *
 * References are counted: handles, mappings and pools hold one each. The memory itself lives until
 * the last descriptor and mapping, of any process, is gone.
 */
#include "fake.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const char note_magic[8] = "fakecuda";

struct note {
	char magic[8];
	uint32_t layout;
	uint32_t kind;
	ww_CUuuid uuid;
	uint64_t bytes;
	uint64_t serial;
	int32_t maker_pid;
	uint32_t is_named; /* a legacy handle of it was made */
};

#define NOTE_LAYOUT 1

static uint64_t physical_count;
static uint64_t last_serial;
static uint64_t last_block_id;

static ww_CUresult shadow_map(struct fake_physical *physical)
{
	void *shadow = mmap(NULL, physical->bytes, PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_NORESERVE, physical->fd, 0);
	if (shadow == MAP_FAILED)
		return fake_error_from_errno(errno);
	physical->shadow = shadow;
	return WW_CUDA_SUCCESS;
}

static struct fake_physical *physical_new(void)
{
	struct fake_physical *physical = calloc(1, sizeof(*physical));
	if (!physical)
		return NULL;
	physical->refs = 1;
	physical->fd = -1;
	physical->block_id = ++last_block_id;
	physical_count++;
	return physical;
}

static ww_CUresult memfd_fill(struct fake_physical *physical)
{
	struct note note = {
		.layout = NOTE_LAYOUT,
		.kind = (uint32_t)physical->kind,
		.uuid = physical->uuid,
		.bytes = physical->bytes,
		.serial = physical->serial,
		.maker_pid = physical->maker_pid,
	};
	memcpy(note.magic, note_magic, sizeof(note.magic));

	physical->fd = memfd_create("fakecuda", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (physical->fd < 0 ||
		ftruncate(physical->fd, (off_t)(physical->bytes + FAKE_PAGE)) != 0 ||
		fcntl(physical->fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SEAL) != 0)
		return fake_error_from_errno(errno);
	ssize_t written = pwrite(physical->fd, &note, sizeof(note), (off_t)physical->bytes);
	if (written != (ssize_t)sizeof(note))
		return fake_error_from_errno(errno);
	return shadow_map(physical);
}

ww_CUresult fake_physical_create(enum fake_kind kind, int device, uint64_t bytes, int handle_types,
	struct fake_physical **out)
{
	*out = NULL;
	struct fake_physical *physical = physical_new();
	if (!physical)
		return WW_CUDA_ERROR_OUT_OF_MEMORY;
	physical->kind = kind;
	physical->device = device;
	physical->uuid = fake_device_get(device)->uuid;
	physical->bytes = bytes;
	physical->handle_types = handle_types;
	physical->maker_pid = (int)getpid();
	physical->serial = ++last_serial;

	/* A pool is as large as its device and pays for what is allocated from it. */
	ww_CUresult error = WW_CUDA_SUCCESS;
	if (kind != FAKE_KIND_POOL)
		physical->charged = fake_device_charge(device, bytes);
	if (kind != FAKE_KIND_POOL && !physical->charged)
		error = WW_CUDA_ERROR_OUT_OF_MEMORY;
	if (!error)
		error = memfd_fill(physical);
	if (error) {
		fake_physical_unref(physical);
		return error;
	}
	*out = physical;
	return WW_CUDA_SUCCESS;
}

/* Whether a descriptor is memory of ours, and what its note says. */
static bool note_read(int fd, struct note *out_note)
{
	struct stat status;
	if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) ||
		status.st_size <= (off_t)FAKE_PAGE)
		return false;
	off_t at = status.st_size - (off_t)FAKE_PAGE;
	if (pread(fd, out_note, sizeof(*out_note), at) != (ssize_t)sizeof(*out_note))
		return false;
	return !memcmp(out_note->magic, note_magic, sizeof(note_magic)) &&
		out_note->layout == NOTE_LAYOUT && out_note->bytes == (uint64_t)at;
}

/*
 * What is handed out is open for reading, since nobody can write by a GPU's descriptor itself: a
 * broker looks at that. Who imports it can write all the same, as with the driver.
 */
static int reopen(int fd, int mode)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, mode | O_CLOEXEC);
}

/* @fd is borrowed. What is no memory of a GPU is UNKNOWN, as the driver says. */
ww_CUresult fake_physical_import(enum fake_kind kind, int fd, struct fake_physical **out)
{
	struct note note;

	*out = NULL;
	if (!note_read(fd, &note))
		return WW_CUDA_ERROR_UNKNOWN;
	if (note.kind != (uint32_t)kind)
		return WW_CUDA_ERROR_NOT_SUPPORTED;

	struct fake_physical *physical = physical_new();
	if (!physical)
		return WW_CUDA_ERROR_OUT_OF_MEMORY;
	physical->kind = kind;
	physical->imported = true;
	physical->uuid = note.uuid;
	physical->device = fake_device_find(&note.uuid);
	physical->bytes = note.bytes;
	physical->serial = note.serial;
	physical->maker_pid = note.maker_pid;
	physical->is_named = note.is_named;
	physical->fd = reopen(fd, O_RDWR);
	ww_CUresult error = physical->fd < 0 ? fake_error_from_errno(errno) : shadow_map(physical);
	if (error) {
		fake_physical_unref(physical);
		return error;
	}
	*out = physical;
	return WW_CUDA_SUCCESS;
}

struct fake_physical *fake_physical_ref(struct fake_physical *physical)
{
	physical->refs++;
	return physical;
}

void fake_physical_unref(struct fake_physical *physical)
{
	if (!physical || --physical->refs > 0)
		return;
	if (physical->shadow)
		munmap(physical->shadow, physical->bytes);
	if (physical->fd >= 0)
		close(physical->fd);
	if (physical->charged)
		fake_device_discharge(physical->device, physical->bytes);
	physical_count--;
	free(physical);
}

ww_CUresult fake_physical_export(const struct fake_physical *physical, int *out_fd)
{
	int fd = reopen(physical->fd, O_RDONLY);
	if (fd < 0)
		return fake_error_from_errno(errno);
	*out_fd = fd;
	return WW_CUDA_SUCCESS;
}

ww_CUresult fake_physical_name(const struct fake_physical *physical)
{
	uint32_t is_named = 1;
	off_t at = (off_t)(physical->bytes + offsetof(struct note, is_named));
	if (pwrite(physical->fd, &is_named, sizeof(is_named), at) != (ssize_t)sizeof(is_named))
		return fake_error_from_errno(errno);
	return WW_CUDA_SUCCESS;
}

uint64_t fake_physical_count(void)
{
	return physical_count;
}
