/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mail.c - bare shared memory by which processes of a verb tell each other something fast, see mail.h
 */
#include "mail.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "voice.h"

/* Looks before the CPU is left to others, and how often it is left before the socket is looked at. */
#define LOOKS  300
#define YIELDS 2000

int mail_open(int fd, uint64_t bytes, void **out_start)
{
	void *start = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);

	if (start == MAP_FAILED)
		return complain("cannot map shared memory: %s", strerror(errno));
	*out_start = start;
	return 0;
}

int mail_create(uint64_t bytes, int *out_fd, void **out_start)
{
	int fd = memfd_create("warpway-mail", MFD_CLOEXEC);

	if (fd < 0)
		return complain("memfd_create: %s", strerror(errno));
	if (ftruncate(fd, (off_t)bytes)) {
		complain("cannot size a memfd: %s", strerror(errno));
		close(fd);
		return -1;
	}
	if (mail_open(fd, bytes, out_start)) {
		close(fd);
		return -1;
	}
	*out_fd = fd;
	return 0;
}

void mail_close(void *start, uint64_t bytes)
{
	if (start)
		munmap(start, bytes);
}

static void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#else
	__asm__ volatile("" ::: "memory");
#endif
}

int mail_is_over(int socket)
{
	struct pollfd entry = {.fd = socket, .events = POLLRDHUP};

	return poll(&entry, 1, 0) > 0;
}

int mail_await(const struct mail_word *word, uint64_t value, int socket)
{
	for (unsigned int looks = 1; mail_load(word) < value; looks++) {
		if (looks % LOOKS) {
			relax();
			continue;
		}
		sched_yield();
		if (looks / LOOKS % YIELDS == 0 && mail_is_over(socket) && mail_load(word) < value)
			return complain("the other process is gone");
	}
	return 0;
}
