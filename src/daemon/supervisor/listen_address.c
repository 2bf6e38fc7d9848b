/* SPDX-License-Identifier: Apache-2.0 */
/*
 * listen_address.c - the address, see listen_address.h
 *
 * If many processes start at once, one gets the lock. The others wait until they can connect, which
 * takes a few system calls of the first one, or until they get the lock since the first one was
 * ending. The kernel has no event for "locked and listening, or not locked any more", so they poll
 * for a short time.
 *
 * The folder is opened and then checked. Lock and old socket are reached through the open folder,
 * so a change of the path has no effect. Only bind() uses the path, which ss(8) then shows; before
 * any process can connect, the new socket must be found in the folder.
 */
#include "daemon/supervisor/listen_address.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
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

static struct sockaddr_un path_to_sockaddr(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	return address;
}

/* The address, and its folder as it was opened. */
struct place {
	const char *address;
	int folder;
};

/* @end: behind the socket's name */
static void place_path(const struct place *place, const char *end, char out_path[PATH_MAX])
{
	snprintf(out_path, PATH_MAX, "/proc/self/fd/%d/%s%s", place->folder,
		strrchr(place->address, '/') + 1, end);
}

static ww_status folder_open(const char *folder, int *out_fd)
{
	*out_fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (*out_fd >= 0) {
		struct stat entry;

		if (fstat(*out_fd, &entry) < 0)
			return ww_fail_errno(errno, NULL, "cannot look at the folder %s", folder);
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
	if (errno == ENOTDIR || errno == ELOOP)
		return ww_fail(WW_ERR_ACCESS, "%s is no folder; give another --socket", folder);
	return ww_fail_errno(errno, NULL, "cannot open the folder %s", folder);
}

/* Makes the folder of the address if it is missing; the folders above must exist. */
static ww_status folder_make(const char *address, mode_t mode, int *out_fd)
{
	char folder[PATH_MAX];
	size_t length = (size_t)(strrchr(address, '/') - address);
	bool is_new;

	snprintf(folder, sizeof(folder), "%.*s", (int)length, address);
	if (length == 0)
		return folder_open("/", out_fd);
	is_new = mkdir(folder, 0700) == 0;
	if (!is_new && errno != EEXIST)
		return ww_fail_errno(errno, NULL, "cannot make the folder %s", folder);
	ww_try(folder_open(folder, out_fd));
	if (is_new && mode & OTHERS_MAY_USE && fchmod(*out_fd, 0755) < 0)
		return ww_fail_errno(errno, NULL, "cannot open the folder %s to others", folder);
	return WW_OK;
}

/* Return: WW_OK (a process accepts connections there); WW_NOT_READY (none does); an error. */
static ww_status address_probe(const char *path)
{
	const struct sockaddr_un address = path_to_sockaddr(path);
	WW_AUTO_FD int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return ww_fail_errno(errno, NULL, "cannot make a socket");
	if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0 || errno == EAGAIN)
		return WW_OK;
	if (errno == ENOENT || errno == ECONNREFUSED)
		return WW_NOT_READY;
	if (errno == EPROTOTYPE)
		return ww_fail(WW_ERR_EXISTS,
			"a process that is not a broker listens at %s; give another --socket",
			path);
	return ww_fail_errno(errno, NULL, "cannot connect to %s", path);
}

/*
 * Return: WW_OK (this process has the lock and none listens); WW_END (another one listens); an
 * error.
 */
static ww_status address_take_lock(const char *address, int lock)
{
	uint64_t deadline_ns = ww_clock_deadline_ns(PATIENCE_NS);

	for (;;) {
		bool is_ours = flock(lock, LOCK_EX | LOCK_NB) == 0;
		ww_status status;
		const struct timespec pause = {.tv_nsec = PAUSE_NS};

		if (!is_ours && errno != EWOULDBLOCK && errno != EINTR)
			return ww_fail_errno(errno, NULL, "cannot lock %s.lock", address);
		status = address_probe(address);
		ww_try(status);
		if (status == WW_OK)
			return WW_END;
		if (is_ours)
			return WW_OK;
		if (ww_clock_now_ns() >= deadline_ns)
			return ww_fail(WW_ERR_EXISTS,
				"another warpwayd has locked %s.lock and does not serve; end it first",
				address);
		nanosleep(&pause, NULL);
	}
}

static ww_status place_remove_stale(const struct place *place)
{
	const char *address = place->address;
	char path[PATH_MAX];
	struct stat entry;

	place_path(place, "", path);
	if (lstat(path, &entry) < 0)
		return errno == ENOENT ? WW_OK
				       : ww_fail_errno(errno, NULL, "cannot look at %s", address);
	if (!S_ISSOCK(entry.st_mode))
		return ww_fail(WW_ERR_EXISTS, "%s is there and is no socket; remove it", address);
	if (unlink(path) < 0)
		return ww_fail_errno(errno, NULL, "cannot remove the old socket %s", address);
	return WW_OK;
}

/*
 * Checks that the new socket is in the folder that was opened: nothing was there before, and only
 * this user and root can write there.
 */
static ww_status place_check_bound(const struct place *place)
{
	char path[PATH_MAX];
	struct stat entry;

	place_path(place, "", path);
	if (lstat(path, &entry) == 0 && S_ISSOCK(entry.st_mode))
		return WW_OK;
	return ww_fail(WW_ERR_ACCESS,
		"the folder of %s was exchanged while a socket was made there; give another --socket",
		place->address);
}

static ww_status place_listen(const struct place *place, mode_t mode, int *out_listener)
{
	const char *path = place->address;
	const struct sockaddr_un address = path_to_sockaddr(path);
	WW_AUTO_FD int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	mode_t former;
	int error;

	if (fd < 0)
		return ww_fail_errno(errno, NULL, "cannot make a socket");
	/* So the socket has its mode from the start. */
	former = umask(~mode & 0777);
	error = bind(fd, (const struct sockaddr *)&address, sizeof(address)) ? errno : 0;
	umask(former);
	if (error)
		return ww_fail_errno(error, NULL, "cannot bind a socket to %s", path);
	ww_try(place_check_bound(place));
	if (listen(fd, BACKLOG) < 0)
		return ww_fail_errno(errno, NULL, "cannot listen at %s", path);
	*out_listener = ww_fd_steal(&fd);
	return WW_OK;
}

ww_status listen_address_claim(const char *address, mode_t mode, int *out_listener, int *out_lock)
{
	WW_AUTO_FD int folder = -1;
	WW_AUTO_FD int lock = -1;
	struct place place = {.address = address};
	ww_status status;
	char path[PATH_MAX];
	struct stat entry;

	*out_listener = -1;
	*out_lock = -1;
	ww_try(folder_make(address, mode, &folder));
	place.folder = folder;
	place_path(&place, ".lock", path);
	lock = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	if (lock < 0)
		return ww_fail_errno(errno, NULL, "cannot open the lock %s.lock", place.address);
	if (fstat(lock, &entry) != 0 || !S_ISREG(entry.st_mode)) {
		lock = ww_fd_close(lock);
		return ww_fail(WW_ERR_EXISTS, "the lock %s.lock is no plain file; remove it",
			place.address);
	}
	status = address_take_lock(address, lock);
	if (status != WW_OK)
		return status;
	ww_try(place_remove_stale(&place));
	ww_try(place_listen(&place, mode, out_listener));
	*out_lock = ww_fd_steal(&lock);
	return WW_OK;
}

/*
 * Whether the lock's file at this address is still the one that is held: else another process may
 * serve there now.
 */
static bool lock_is_ours(const char *address, int lock)
{
	char path[PATH_MAX];
	struct stat there;
	struct stat held;

	snprintf(path, sizeof(path), "%s.lock", address);
	return stat(path, &there) == 0 && fstat(lock, &held) == 0 && there.st_dev == held.st_dev &&
		there.st_ino == held.st_ino;
}

void listen_address_remove(const char *address, int lock)
{
	if (lock_is_ours(address, lock) && unlink(address) < 0)
		ww_log_debug("cannot remove %s: %m", address);
}
