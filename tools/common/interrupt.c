/* SPDX-License-Identifier: Apache-2.0 */
/*
 * interrupt.c - Ctrl-C ends what a verb does, and the verb then says what it has done
 *
 * The handler sets the flag for calls of the library, and makes an eventfd readable for the waits
 * here: so a signal between a look and a wait is not missed.
 */
#include "common/interrupt.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "common/child_link.h"
#include "common/say.h"

#define NS_PER_S UINT64_C(1000000000)

static ww_cancel *interrupt_flag;
static int interrupt_fd = -1;

static void interrupt_note(int number)
{
	const uint64_t one = 1;
	int before = errno;

	(void)number;
	ww_cancel_set(interrupt_flag);
	(void)!write(interrupt_fd, &one, sizeof(one));
	errno = before;
}

static int open_with(int flags)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction action = {.sa_handler = interrupt_note, .sa_flags = flags};

	if (ww_cancel_create(&interrupt_flag) != WW_OK)
		return complain_record("cannot prepare for Ctrl-C");
	interrupt_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (interrupt_fd < 0)
		return complain("cannot prepare for Ctrl-C: %s", strerror(errno));
	sigemptyset(&action.sa_mask);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigaction(signals[i], &action, NULL);
	return 0;
}

int interrupt_open(void)
{
	return open_with((int)SA_RESETHAND);
}

int interrupt_open_once(void)
{
	return open_with(0);
}

ww_cancel *interrupt_cancel(void)
{
	return interrupt_flag;
}

bool interrupt_came(void)
{
	return interrupt_flag && ww_cancel_is_set(interrupt_flag);
}

/* As ppoll(), with a time of link_now_ns(); a signal without a handler here does not end it. */
static int await_until(struct pollfd entries[], size_t count, uint64_t until_ns)
{
	int ready;

	do {
		uint64_t now_ns = link_now_ns();
		uint64_t left_ns = until_ns > now_ns ? until_ns - now_ns : 0;
		const struct timespec left = {
			.tv_sec = (time_t)(left_ns / NS_PER_S),
			.tv_nsec = (long)(left_ns % NS_PER_S),
		};

		ready = ppoll(entries, count, until_ns == WW_FOREVER ? NULL : &left, NULL);
	} while (ready < 0 && errno == EINTR);
	return ready;
}

int interrupt_poll(struct pollfd entries[], size_t count, uint64_t until_ns)
{
	entries[0] = (struct pollfd){.fd = interrupt_fd, .events = POLLIN};
	return await_until(entries, count, until_ns);
}

bool interrupt_sleep(uint64_t until_ns)
{
	struct pollfd entry = {.fd = interrupt_fd, .events = POLLIN};

	return await_until(&entry, 1, until_ns) == 0;
}

bool interrupt_await_input(int fd)
{
	struct pollfd entries[] = {{.fd = interrupt_fd, .events = POLLIN},
		{.fd = fd, .events = POLLIN}};

	return await_until(entries, 2, WW_FOREVER) > 0 && !interrupt_came();
}
