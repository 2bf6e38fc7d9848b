/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fd_test.c - descriptors with an owner
 */
#include "base/unit_test.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/fd.h"

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

UNIT_TEST(duplicates)
{
	int pipes[2];
	int copy;
	int other;

	assert_int_equal(pipe(pipes), 0);
	assert_ok(ww_fd_duplicate(pipes[0], &copy));
	assert_true(copy > 2 && copy != pipes[0]);
	assert_int_equal(fcntl(copy, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	assert_true(ww_fd_is_duplicate(pipes[0], copy));
	assert_false(ww_fd_is_duplicate(pipes[0], pipes[1]));
	other = open("/dev/null", O_RDONLY);
	assert_false(ww_fd_is_duplicate(other, copy));
	ww_fd_close(other);
	ww_fd_close(pipes[0]);
	ww_fd_close(pipes[1]);
	ww_fd_close(copy);
	assert_fails(ww_fd_duplicate(copy, &other), WW_ERR_DESCRIPTOR);
	assert_int_equal(other, -1);
}

UNIT_TEST(owners_close)
{
	int kept;
	int gone;

	{
		WW_AUTO_FD int first = open("/dev/null", O_RDONLY);
		WW_AUTO_FD int second = open("/dev/null", O_RDONLY);
		WW_AUTO_FD int none = -1;

		(void)none;
		gone = first;
		kept = ww_fd_steal(&second);
		assert_int_equal(second, -1);
	}
	assert_false(is_open(gone));
	assert_true(is_open(kept));
	errno = ERANGE;
	assert_int_equal(ww_fd_close(kept), -1);
	assert_int_equal(errno, ERANGE);
	assert_false(is_open(kept));
}

UNIT_TEST(adopted)
{
	int saved = fcntl(0, F_DUPFD_CLOEXEC, 3);
	int fd;

	assert_true(saved > 2);
	close(0);
	fd = open("/dev/null", O_RDONLY);
	assert_int_equal(fd, 0);
	assert_ok(ww_fd_adopt(&fd));
	assert_true(fd > 2);
	assert_false(is_open(0));
	assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	ww_fd_close(fd);
	assert_int_equal(dup2(saved, 0), 0);
	fd = fcntl(saved, F_DUPFD, 10);
	assert_ok(ww_fd_adopt(&fd));
	assert_true(fd >= 10);
	assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	ww_fd_close(fd);
	ww_fd_close(saved);
}

UNIT_MAIN("fd")
