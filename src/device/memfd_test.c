/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memfd_test.c - sealed files: made, checked, mapped, reopened
 */
#include "base/unit_test.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <warpway/device.h>

#include "base/fd.h"
#include "base/system_memory.h"
#include "device/memfd.h"

#define BYTES (UINT64_C(1) << 20)

UNIT_TEST(made_whole)
{
	struct stat file;
	uint8_t *pointer;
	int fd;

	assert_ok(ww_memfd_create(BYTES, &fd));
	assert_int_equal(fstat(fd, &file), 0);
	assert_int_equal(file.st_size, BYTES);
	assert_true((uint64_t)file.st_blocks * 512 >= BYTES); /* allocated, not promised */
	assert_int_equal(file.st_mode & 07777, 0600);
	assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	assert_int_equal(ftruncate(fd, 0), -1);
	assert_int_equal(ftruncate(fd, 2 * BYTES), -1);
	assert_ok(ww_memfd_check(fd, BYTES));
	assert_ok(ww_memfd_map(fd, BYTES, WW_ACCESS_WRITE, (void **)&pointer));
	assert_int_equal(pointer[0], 0);
	assert_int_equal(pointer[BYTES - 1], 0);
	pointer[BYTES - 1] = 1;
	ww_memfd_unmap(pointer, BYTES);
	ww_fd_close(fd);
}

UNIT_TEST(more_than_there_is)
{
	uint64_t free_bytes;
	uint64_t total;
	int fd;

	assert_ok(ww_system_memory(&free_bytes, &total));
	assert_true(free_bytes > 0 && free_bytes <= total);
	assert_fails(ww_memfd_create(total * 2, &fd), WW_ERR_NO_MEMORY);
	assert_int_equal(fd, -1);
	assert_fails(ww_memfd_create(UINT64_MAX, &fd), WW_ERR_OVERFLOW);
}

static int make_file(unsigned int seals)
{
	int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, BYTES), 0);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, seals), 0);
	return fd;
}

UNIT_TEST(attackers)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int unsealed = make_file(0);
	int half = make_file(F_SEAL_GROW);
	int sealed = make_file(F_SEAL_GROW | F_SEAL_SHRINK);

	assert_fails(ww_memfd_check(-1, BYTES), WW_ERR_DESCRIPTOR);
	assert_fails(ww_memfd_check(null, BYTES), WW_ERR_DESCRIPTOR);
	assert_fails(ww_memfd_check(unsealed, BYTES), WW_ERR_DESCRIPTOR);
	assert_fails(ww_memfd_check(half, BYTES), WW_ERR_DESCRIPTOR);
	assert_ok(ww_memfd_check(sealed, BYTES));
	assert_fails(ww_memfd_check(sealed, BYTES + 4096), WW_ERR_MISMATCH);
	assert_fails(ww_memfd_check(sealed, BYTES - 4096), WW_ERR_MISMATCH);
	ww_fd_close(sealed);
	ww_fd_close(half);
	ww_fd_close(unsealed);
	ww_fd_close(null);
}

UNIT_TEST(reading_only)
{
	void *pointer;
	int again;
	int reader;
	int fd;

	assert_ok(ww_memfd_create(BYTES, &fd));
	assert_ok(ww_memfd_reopen_read_only(fd, &reader));
	assert_ok(ww_memfd_check(reader, BYTES));
	assert_fails(ww_memfd_map(reader, BYTES, WW_ACCESS_WRITE, &pointer), WW_ERR_ACCESS);
	assert_null(pointer);
	assert_ok(ww_memfd_map(reader, BYTES, WW_ACCESS_READ, &pointer));
	assert_int_equal(mprotect(pointer, BYTES, PROT_READ | PROT_WRITE), -1);
	assert_int_equal(errno, EACCES);
	ww_memfd_unmap(pointer, BYTES);
	assert_ok(ww_memfd_reopen_read_only(reader, &again));
	assert_fails(ww_memfd_map(again, BYTES, WW_ACCESS_WRITE, &pointer), WW_ERR_ACCESS);
	ww_fd_close(again);
	ww_fd_close(reader);
	ww_fd_close(fd);
}

UNIT_MAIN("memfd")
