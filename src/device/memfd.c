/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memfd.c - memory that is a sealed file without a name, see memfd.h
 */
#include "device/memfd.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <warpway/device.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/system_memory.h"

#ifndef MFD_NOEXEC_SEAL /* Linux 6.3 */
#define MFD_NOEXEC_SEAL 0x0008U
#endif

#define SEALS_WE_NEED   (F_SEAL_SHRINK | F_SEAL_GROW)
#define ALLOCATION_STEP (UINT64_C(64) << 20)
#define SMALLEST_STEP   (UINT64_C(256) << 10)
#define NAME            "warpway" /* as shown in /proc/PID/maps: "/memfd:warpway" */

/*
 * In steps, smaller ones after each interruption: some kernels undo a step when a signal is
 * pending, and a program may have a timer that fires more often than a large step takes.
 */
static ww_status allocate_pages(int fd, uint64_t bytes)
{
	uint64_t step = ALLOCATION_STEP;
	uint64_t done = 0;

	if (ftruncate(fd, (off_t)bytes) < 0)
		return ww_fail_errno(errno, NULL, "cannot make a memory file of %" PRIu64 " bytes",
			bytes);
	while (done < bytes) {
		uint64_t next = bytes - done < step ? bytes - done : step;

		if (fallocate(fd, 0, (off_t)done, (off_t)next) == 0)
			done += next;
		else if (errno != EINTR)
			return ww_fail_errno(errno, NULL,
				"cannot allocate %" PRIu64 " bytes of memory", bytes);
		else if (step > SMALLEST_STEP)
			step /= 2;
	}
	return WW_OK;
}

ww_status ww_memfd_create(uint64_t bytes, int *out_fd)
{
	WW_AUTO_FD int fd = -1;
	uint64_t free_bytes = 0;
	uint64_t total = 0;

	*out_fd = -1;
	if (bytes > INT64_MAX)
		return ww_fail(WW_ERR_OVERFLOW,
			"cannot make memory of %" PRIu64 " bytes: a file has at most %" PRId64,
			bytes, INT64_MAX);
	/*
	 * The kernel may kill a process instead of refusing: so ask before taking. What is a step
	 * of allocation at most is too little to matter, and asking costs more than allocating it.
	 */
	if (bytes > ALLOCATION_STEP) {
		ww_try(ww_system_memory(&free_bytes, &total));
		if (bytes > free_bytes)
			return ww_fail(WW_ERR_NO_MEMORY,
				"cannot make memory of %" PRIu64 " bytes: this machine has %" PRIu64
				" bytes free of %" PRIu64,
				bytes, free_bytes, total);
	}
	fd = memfd_create(NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
	if (fd < 0 && errno == EINVAL) /* a kernel before 6.3 */
		fd = memfd_create(NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return ww_fail_errno(errno, NULL, "cannot make a memory file");
	ww_try(ww_fd_adopt(&fd));
	ww_try(allocate_pages(fd, bytes));
	/* Another user that finds it under /proc cannot open it. */
	if (fchmod(fd, S_IRUSR | S_IWUSR) < 0)
		return ww_fail_errno(errno, NULL, "cannot set the mode of a memory file");
	if (fcntl(fd, F_ADD_SEALS, SEALS_WE_NEED | F_SEAL_SEAL) < 0)
		return ww_fail_errno(errno, NULL, "cannot seal a memory file");
	*out_fd = ww_fd_steal(&fd);
	return WW_OK;
}

/*
 * The seals first: they are for ever, so the size that is read after them is the memory's. And only
 * of the kernel's own file system for memory: huge pages (hugetlbfs) can be taken away in spite of
 * seals.
 */
ww_status ww_memfd_check(int fd, uint64_t bytes)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct statfs system;
	struct stat file;

	if (seals < 0 && errno == EBADF)
		return ww_fail_errno(errno, NULL, "cannot import descriptor %d", fd);
	if (seals < 0)
		return ww_fail_errno_as(WW_ERR_DESCRIPTOR, errno,
			"it must be one that was exported", "descriptor %d is no memory", fd);
	if ((seals & SEALS_WE_NEED) != SEALS_WE_NEED)
		return ww_fail(WW_ERR_DESCRIPTOR,
			"refused descriptor %d: this memory is not sealed against shrinking and growing "
			"(seals 0x%x), so its holder could kill us by truncating it",
			fd, seals);
	if (fstatfs(fd, &system) < 0 || fstat(fd, &file) < 0)
		return ww_fail_errno(errno, NULL, "cannot import descriptor %d", fd);
	if (system.f_type != TMPFS_MAGIC)
		return ww_fail(WW_ERR_DESCRIPTOR,
			"refused descriptor %d: this memory is of file system 0x%lx, not a memfd of ordinary "
			"pages",
			fd, (unsigned long)system.f_type);
	if ((uint64_t)file.st_size != bytes)
		return ww_fail(WW_ERR_MISMATCH,
			"refused descriptor %d: its memory has %" PRIu64
			" bytes, the description says "
			"%" PRIu64,
			fd, (uint64_t)file.st_size, bytes);
	return WW_OK;
}

static int protection(uint32_t access)
{
	return access == WW_ACCESS_WRITE ? PROT_READ | PROT_WRITE : PROT_READ;
}

ww_status ww_memfd_map(int fd, uint64_t bytes, uint32_t access, void **out_pointer)
{
	void *pointer = mmap(NULL, bytes, protection(access), MAP_SHARED, fd, 0);

	*out_pointer = NULL;
	if (pointer == MAP_FAILED && errno == ENOMEM)
		return ww_fail_errno_as(WW_ERR_LIMIT, errno,
			"raise vm.max_map_count or the limit of address space (ulimit -v)",
			"cannot map %" PRIu64 " bytes of memory", bytes);
	if (pointer == MAP_FAILED)
		return ww_fail_errno(errno,
			errno == EACCES ? "the descriptor is for reading only" : NULL,
			"cannot map %" PRIu64 " bytes of memory for %s", bytes,
			access == WW_ACCESS_WRITE ? "writing" : "reading");
	*out_pointer = pointer;
	return WW_OK;
}

ww_status ww_memfd_protect(void *pointer, uint64_t bytes, uint32_t access)
{
	if (mprotect(pointer, bytes, protection(access)) < 0)
		return ww_fail_errno(errno, NULL, "cannot change the access to %" PRIu64 " bytes",
			bytes);
	return WW_OK;
}

void ww_memfd_unmap(void *pointer, uint64_t bytes)
{
	if (pointer)
		ww_assert(munmap(pointer, bytes) == 0);
}

ww_status ww_memfd_reopen_read_only(int fd, int *out_fd)
{
	char path[48];

	/* Also where the file is another user's, which could not be opened anew. */
	if ((fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY)
		return ww_fd_duplicate(fd, out_fd);
	/* Of this thread: that of the process is gone once its first thread has ended. */
	snprintf(path, sizeof(path), "/proc/thread-self/fd/%d", fd);
	*out_fd = open(path, O_RDONLY | O_CLOEXEC);
	if (*out_fd < 0 && errno == ENOENT)
		return ww_fail_errno_as(WW_ERR_UNSUPPORTED, errno,
			"mount /proc, or export for writing",
			"cannot make a read-only descriptor: %s", path);
	if (*out_fd < 0 && errno == EACCES)
		return ww_fail_errno_as(WW_ERR_UNSUPPORTED, errno,
			"let its maker export it for reading",
			"cannot make a read-only descriptor of another user's memory");
	if (*out_fd < 0)
		return ww_fail_errno(errno, NULL, "cannot make a read-only descriptor: %s", path);
	return ww_fd_adopt(out_fd);
}
