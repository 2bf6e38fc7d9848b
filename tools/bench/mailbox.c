/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mailbox.c - bare shared memory by which processes of a verb tell each other something fast, see
 * mailbox.h
 */
#include "bench/mailbox.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>

#include "common/say.h"

/*
 * Looks before the CPU is left to others, and how often it is left before the socket is looked at.
 */
#define LOOKS  300
#define YIELDS 2000

int mailbox_open(int fd, uint64_t bytes, void **out_start)
{
	void *start = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);

	if (start == MAP_FAILED)
		return complain("cannot map shared memory: %s", strerror(errno));
	*out_start = start;
	return 0;
}

void mailbox_close(void *start, uint64_t bytes)
{
	if (start)
		munmap(start, bytes);
}

int mailbox_is_over(int socket)
{
	struct pollfd entry = {.fd = socket, .events = POLLRDHUP};

	return poll(&entry, 1, 0) > 0;
}

int mailbox_await(const struct mailbox_word *word, uint64_t value, int socket)
{
	for (unsigned int looks = 1; mailbox_load(word) < value; looks++) {
		if (looks % LOOKS) {
			mailbox_relax();
			continue;
		}
		sched_yield();
		if (looks / LOOKS % YIELDS == 0 && mailbox_is_over(socket) &&
			mailbox_load(word) < value)
			return complain("the other process is gone");
	}
	return 0;
}
