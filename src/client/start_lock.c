/* SPDX-License-Identifier: Apache-2.0 */
/*
 * start_lock.c - a lock between processes, see start_lock.h
 *
 * The kernel closes the descriptors of a dying process one after the other, so the writer may be
 * closed a moment before the lock is free. Until the lock is free, poll() returns at once, so no
 * process misses it. Two ends wake no process: the holder dies before it has opened the FIFO for
 * writing, or its forked child keeps the FIFO open. So each process also tries the lock every
 * RETRY_NS.
 */
#include "client/start_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"

#define RETRY_NS UINT64_C(50000000)

static ww_status open_fifo(const char *path, int *out_fd)
{
	WW_AUTO_FD int fd = -1;
	struct stat file;

	if (mkfifo(path, S_IRUSR | S_IWUSR) < 0 && errno != EEXIST)
		return ww_fail_errno(errno, NULL, "cannot make %s", path);
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return ww_fail_errno(errno, NULL, "cannot open %s", path);
	if (fstat(fd, &file) < 0)
		return ww_fail_errno(errno, NULL, "cannot look at %s", path);
	if (!S_ISFIFO(file.st_mode) || file.st_uid != geteuid())
		return ww_fail(WW_ERR_ACCESS,
			"%s is not the lock this user made to start a broker; remove it", path);
	*out_fd = ww_fd_steal(&fd);
	return ww_fd_adopt(out_fd);
}

static ww_status start_lock_try(struct ww_start_lock *turn, const char *path, uint64_t deadline_ns)
{
	ww_status status;

	ww_try(open_fifo(path, &turn->lock));
	while (flock(turn->lock, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return ww_fail_errno(errno, NULL, "cannot lock %s", path);
		status = ww_cancel_check(deadline_ns);
		if (status == WW_OK) {
			status = ww_fd_wait(turn->lock, 0,
				ww_clock_sooner_ns(RETRY_NS, deadline_ns), path);
			status = status == WW_TIMED_OUT ? WW_OK : status;
		}
		if (status != WW_OK)
			return status;
	}
	/* This does not wait for a reader: this process has the FIFO open for reading. */
	turn->writer = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);
	if (turn->writer < 0)
		return ww_fail_errno(errno, NULL, "cannot open %s for writing", path);
	return ww_fd_adopt(&turn->writer);
}

ww_status ww_start_lock_take(struct ww_start_lock *turn, const char *path, uint64_t deadline_ns)
{
	ww_status status = start_lock_try(turn, path, deadline_ns);

	if (status != WW_OK)
		ww_start_lock_end(turn);
	return status;
}

void ww_start_lock_end(struct ww_start_lock *turn)
{
	/* The lock first: the end of the writer wakes the others, and they must find it free. */
	if (turn->lock >= 0)
		flock(turn->lock, LOCK_UN);
	turn->writer = ww_fd_close(turn->writer);
	turn->lock = ww_fd_close(turn->lock);
}
