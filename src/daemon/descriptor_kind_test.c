/* SPDX-License-Identifier: Apache-2.0 */
/*
 * descriptor_kind_test.c - what descriptor_kind.c takes a descriptor for
 */
#include "daemon/descriptor_kind.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/unit_test.h"

static const char devices[] = "Character devices:\n"
			      "  1 mem\n"
			      "195 nvidia\n"
			      "234 nvidia-caps\n"
			      "235 not-nvidia\n"
			      "508 nvidia-uvm\n"
			      "509 nvidiactl\n"
			      "\n"
			      "Block devices:\n"
			      "  7 loop\n"
			      "259 nvidia-no-device\n";

UNIT_TEST(finds_majors)
{
	static const uint32_t expected[] = {195, 234, 508, 509};
	uint32_t majors[8];

	assert_int_equal(kind_find_majors(devices, majors, 8), 4);
	assert_memory_equal(majors, expected, sizeof(expected));
	assert_int_equal(kind_find_majors(devices, majors, 2), 2);
	assert_int_equal(kind_find_majors("", majors, 8), 0);
	assert_int_equal(kind_find_majors("195 nvidia\n", majors, 8), 0);
	assert_int_equal(kind_find_majors("Character devices:\n195", majors, 8), 0);
	assert_int_equal(kind_find_majors("Character devices:\n195 ", majors, 8), 0);
}

static int memory_create(off_t bytes, int seals)
{
	int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, bytes), 0);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, seals), 0);
	return fd;
}

static void must_be(int fd, bool is_kept)
{
	assert_true(fd >= 0);
	assert_int_equal(kind_is_kept(fd), is_kept);
	close(fd);
}

UNIT_TEST(keeps_sealed_memory_only)
{
	must_be(memory_create(4096, F_SEAL_GROW), true);
	must_be(memory_create(4096, F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL), true);
	must_be(memory_create(4096, F_SEAL_SHRINK), false);
	must_be(open("/dev/null", O_RDWR | O_CLOEXEC), false);
	must_be(open("/dev/zero", O_RDWR | O_CLOEXEC), false);
	must_be(open("/dev/null", O_PATH | O_CLOEXEC), false);
	must_be(open("/proc/self/exe", O_RDONLY | O_CLOEXEC), false);
	must_be(eventfd(0, EFD_CLOEXEC), false);
	assert_false(kind_is_kept(-1));
}

UNIT_TEST(keeps_pidfds)
{
	int fd = (int)syscall(SYS_pidfd_open, getpid(), 0);

	assert_true(kind_is_process(fd));
	assert_false(kind_is_large(fd));
	must_be(fd, true);
	fd = memory_create(4096, F_SEAL_GROW);
	assert_false(kind_is_process(fd));
	close(fd);
	fd = open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_false(kind_is_process(fd));
	must_be(fd, false);
}

UNIT_TEST(tells_large_memory)
{
	int fd = memory_create(4 << 20, F_SEAL_GROW);

	assert_false(kind_is_large(fd)); /* nothing is allocated */
	assert_int_equal(fallocate(fd, 0, 0, 4 << 20), 0);
	assert_true(kind_is_large(fd));
	close(fd);
}

UNIT_MAIN("descriptor_kind")
