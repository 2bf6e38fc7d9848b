/* SPDX-License-Identifier: Apache-2.0 */
/*
 * closer.c - a thread that closes large memory, see closer.h
 *
 * Descriptor numbers go to the thread through a pipe. If the pipe is full, the caller closes: then
 * the thread has thousands to close already.
 */
#include "daemon/supervisor/closer.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include "base/fd.h"
#include "daemon/inherited.h"

#define STACK_BYTES 65536

static int numbers[2] = {-1, -1};

static void *closer_run(void *unused)
{
	ssize_t count;
	int fd;

	(void)unused;
	do {
		count = read(numbers[0], &fd, sizeof(fd));
		if (count == (ssize_t)sizeof(fd))
			close(fd);
	} while (count > 0 || (count < 0 && errno == EINTR));
	return NULL;
}

static int closer_start_thread(void)
{
	pthread_attr_t attributes;
	pthread_t thread;
	int error = pthread_attr_init(&attributes);

	if (error)
		return error;
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	error = pthread_create(&thread, &attributes, closer_run, NULL);
	pthread_attr_destroy(&attributes);
	return error;
}

void closer_open(void)
{
	if (pipe2(numbers, O_CLOEXEC) < 0)
		return;
	if (inherit_aside(&numbers[0]) == 0 && inherit_aside(&numbers[1]) == 0 &&
		fcntl(numbers[1], F_SETFL, O_NONBLOCK) == 0 && closer_start_thread() == 0)
		return;
	numbers[0] = ww_fd_close(numbers[0]);
	numbers[1] = ww_fd_close(numbers[1]);
}

void closer_close(int fd)
{
	if (numbers[1] < 0 || write(numbers[1], &fd, sizeof(fd)) != (ssize_t)sizeof(fd))
		close(fd);
}
