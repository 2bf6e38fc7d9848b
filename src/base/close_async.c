/* SPDX-License-Identifier: Apache-2.0 */
/*
 * close_async.c - what is known to close at once, see close_async.h
 *
 * Only questions that no file system is asked: fstat() and fstatfs() wait for a FUSE server, as
 * close() does.
 */
#include "base/close_async.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/process.h"

#define STACK_BYTES ((size_t)64 * 1024)

/* Threads, and files that none could be had for: those stay open. */
static _Atomic unsigned closing WW_PER_PROCESS;

/* eventfd, pidfd and their like: the kernel's own name for them, which no path can be. */
static bool is_anonymous(int fd)
{
	static const char prefix[] = "anon_inode:";
	char link[64];
	char name[sizeof(prefix)];

	snprintf(link, sizeof(link), "/proc/thread-self/fd/%d", fd);
	return readlink(link, name, sizeof(name)) >= (ssize_t)sizeof(prefix) - 1 &&
		memcmp(name, prefix, sizeof(prefix) - 1) == 0;
}

static bool is_local_file(int fd)
{
	struct statx file;
	socklen_t length;
	int domain;

	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, &file) < 0)
		return false;
	switch (file.stx_mode & S_IFMT) {
	case S_IFCHR:
	case S_IFIFO:
		return true;
	case S_IFSOCK:
		/* A socket of the Internet may linger when it is closed. */
		length = sizeof(int);
		return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &length) == 0 &&
			domain == AF_UNIX;
	case S_IFREG:
	case S_IFDIR:
		return file.stx_dev_major != 0; /* without a disk: any process may serve it */
	default:
		return false;
	}
}

bool ww_close_async_is_local(int fd)
{
	int saved = errno;
	bool is_local = fcntl(fd, F_GET_SEALS) >= 0 || is_local_file(fd) || is_anonymous(fd);

	errno = saved;
	return is_local;
}

static void *close_aside(void *context)
{
	close((int)(intptr_t)context);
	atomic_fetch_sub_explicit(&closing, 1, memory_order_relaxed);
	return NULL;
}

int ww_close_async(int fd)
{
	int saved = errno;
	pthread_attr_t attributes;
	sigset_t former;
	pthread_t thread;
	sigset_t all;

	if (fd < 0)
		return -1;
	if (ww_close_async_is_local(fd))
		return ww_fd_close(fd);
	/* The thread handles no signal of the program's. */
	atomic_fetch_add_explicit(&closing, 1, memory_order_relaxed);
	if (!pthread_attr_init(&attributes)) {
		pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
		pthread_attr_setstacksize(&attributes, STACK_BYTES);
		sigfillset(&all);
		pthread_sigmask(SIG_SETMASK, &all, &former);
		(void)pthread_create(&thread, &attributes, close_aside, (void *)(intptr_t)fd);
		pthread_sigmask(SIG_SETMASK, &former, NULL);
		pthread_attr_destroy(&attributes);
	}
	errno = saved;
	return -1;
}

ww_status ww_close_async_check_room(void)
{
	if (atomic_load_explicit(&closing, memory_order_relaxed) < WW_CLOSE_ASYNC_MAX)
		return WW_OK;
	return ww_fail(WW_ERR_LIMIT,
		"%d files that were sent to this process hang each thread that closes them, so it takes no "
		"more of them; check the process that serves their file system",
		WW_CLOSE_ASYNC_MAX);
}
