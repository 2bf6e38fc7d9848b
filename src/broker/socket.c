/* SPDX-License-Identifier: Apache-2.0 */
/*
 * socket.c - the address, see socket.h
 *
 * Of many processes that start at once one gets the lock. The others wait until they can connect, which is a matter
 * of a few system calls of the first one's, or until they get the lock since it was just ending. No event tells
 * "locked and listening, or not locked any more", so they look again and again, for a short time: the one
 * place where that is so.
 */
#include "broker/socket.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/log.h"

#define PATIENCE_NS UINT64_C(5000000000)
#define PAUSE_NS    5000000
#define BACKLOG     4096

#define OTHERS_MAY_WRITE (S_IWGRP | S_IWOTH)
#define OTHERS_MAY_USE   (S_IRWXG | S_IRWXO)

static struct sockaddr_un to_sockaddr(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	return address;
}

static ww_status check_folder(const char *folder)
{
	struct stat entry;

	if (lstat(folder, &entry) < 0)
		return ww_fail_errno(errno, NULL, "cannot look at the folder %s", folder);
	if (!S_ISDIR(entry.st_mode))
		return ww_fail(WW_ERR_ACCESS, "%s is no folder; give another --socket", folder);
	if (entry.st_uid != geteuid() && entry.st_uid != 0)
		return ww_fail(WW_ERR_ACCESS,
			"the folder %s belongs to user %u, who could put another socket there; give "
			"another --socket",
			folder, (unsigned)entry.st_uid);
	if (entry.st_mode & OTHERS_MAY_WRITE)
		return ww_fail(WW_ERR_ACCESS,
			"others may write to the folder %s and could put another socket there; "
			"chmod go-w it, or give another --socket",
			folder);
	return WW_OK;
}

/* One level only: what is above belongs to the session or to the administrator. */
static ww_status make_folder(const char *address, mode_t mode)
{
	char folder[PATH_MAX];
	size_t length = (size_t)(strrchr(address, '/') - address);

	snprintf(folder, sizeof(folder), "%.*s", (int)length, address);
	if (length == 0)
		return check_folder("/");
	if (mkdir(folder, 0700) < 0) {
		if (errno != EEXIST)
			return ww_fail_errno(errno, NULL, "cannot make the folder %s", folder);
	} else if (mode & OTHERS_MAY_USE && chmod(folder, 0755) < 0) {
		return ww_fail_errno(errno, NULL, "cannot open the folder %s to others", folder);
	}
	return check_folder(folder);
}

/* Return: WW_OK (somebody accepts connections there); WW_NOT_READY (nobody does); an error. */
static ww_status probe(const char *path)
{
	const struct sockaddr_un address = to_sockaddr(path);
	WW_AUTO_FD int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return ww_fail_errno(errno, NULL, "cannot make a socket");
	if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0 || errno == EAGAIN)
		return WW_OK;
	if (errno == ENOENT || errno == ECONNREFUSED)
		return WW_NOT_READY;
	if (errno == EPROTOTYPE)
		return ww_fail(WW_ERR_EXISTS,
			"something that is no broker listens at %s; give another --socket", path);
	return ww_fail_errno(errno, NULL, "cannot connect to %s", path);
}

static ww_status open_lock(const char *address, int *out_lock)
{
	char path[PATH_MAX];
	struct stat entry;

	snprintf(path, sizeof(path), "%s.lock", address);
	*out_lock = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	if (*out_lock < 0)
		return ww_fail_errno(errno, NULL, "cannot open the lock %s", path);
	if (fstat(*out_lock, &entry) == 0 && S_ISREG(entry.st_mode))
		return WW_OK;
	*out_lock = ww_fd_close(*out_lock);
	return ww_fail(WW_ERR_EXISTS, "the lock %s is no plain file; remove it", path);
}

static ww_status wait_for_owner(const char *address, uint64_t deadline_ns)
{
	const struct timespec pause = {.tv_nsec = PAUSE_NS};

	if (ww_clock_now_ns() >= deadline_ns)
		return ww_fail(WW_ERR_EXISTS,
			"another warpwayd has locked %s.lock and does not serve; end it first",
			address);
	nanosleep(&pause, NULL);
	return WW_OK;
}

/* Return: WW_OK (the lock is ours and nobody listens); WW_END (somebody does); an error. */
static ww_status own(const char *address, int lock)
{
	uint64_t deadline_ns = ww_clock_deadline_ns(PATIENCE_NS);

	for (;;) {
		bool is_ours = flock(lock, LOCK_EX | LOCK_NB) == 0;
		ww_status status;

		if (!is_ours && errno != EWOULDBLOCK && errno != EINTR)
			return ww_fail_errno(errno, NULL, "cannot lock %s.lock", address);
		status = probe(address);
		ww_try(status);
		if (status == WW_OK)
			return WW_END;
		if (is_ours)
			return WW_OK;
		ww_try(wait_for_owner(address, deadline_ns));
	}
}

static ww_status remove_stale(const char *address)
{
	struct stat entry;

	if (lstat(address, &entry) < 0)
		return errno == ENOENT ? WW_OK
				       : ww_fail_errno(errno, NULL, "cannot look at %s", address);
	if (!S_ISSOCK(entry.st_mode))
		return ww_fail(WW_ERR_EXISTS, "%s is there and is no socket; remove it", address);
	if (unlink(address) < 0)
		return ww_fail_errno(errno, NULL, "cannot remove the old socket %s", address);
	return WW_OK;
}

static ww_status listen_at(const char *path, mode_t mode, int *out_listener)
{
	const struct sockaddr_un address = to_sockaddr(path);
	WW_AUTO_FD int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	mode_t former;
	int error;

	if (fd < 0)
		return ww_fail_errno(errno, NULL, "cannot make a socket");
	/* The mode from its first moment. */
	former = umask(~mode & 0777);
	error = bind(fd, (const struct sockaddr *)&address, sizeof(address)) ? errno : 0;
	umask(former);
	if (error)
		return ww_fail_errno(error, NULL, "cannot bind a socket to %s", path);
	if (listen(fd, BACKLOG) < 0)
		return ww_fail_errno(errno, NULL, "cannot listen at %s", path);
	*out_listener = ww_fd_steal(&fd);
	return WW_OK;
}

ww_status socket_claim(const char *address, mode_t mode, int *out_listener, int *out_lock)
{
	WW_AUTO_FD int lock = -1;
	ww_status status;

	*out_listener = -1;
	*out_lock = -1;
	ww_try(make_folder(address, mode));
	ww_try(open_lock(address, &lock));
	status = own(address, lock);
	if (status != WW_OK)
		return status;
	ww_try(remove_stale(address));
	ww_try(listen_at(address, mode, out_listener));
	*out_lock = ww_fd_steal(&lock);
	return WW_OK;
}

/* Whether the lock at this address is still the file we hold: else another one may serve there by now. */
static bool is_ours(const char *address, int lock)
{
	char path[PATH_MAX];
	struct stat there;
	struct stat held;

	snprintf(path, sizeof(path), "%s.lock", address);
	return stat(path, &there) == 0 && fstat(lock, &held) == 0 && there.st_dev == held.st_dev &&
		there.st_ino == held.st_ino;
}

void socket_remove(const char *address, int lock)
{
	if (is_ours(address, lock) && unlink(address) < 0)
		ww_log_debug("cannot remove %s: %m", address);
}
