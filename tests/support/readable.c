/* SPDX-License-Identifier: Apache-2.0 */
/*
 * readable.c - descriptors that are readable when there is something to do
 */
#include "support/readable.h"

#include <poll.h>

#include "support/child.h"

static bool look(int fd, int timeout_ms)
{
	struct pollfd entry = {.fd = fd, .events = POLLIN};

	return poll(&entry, 1, timeout_ms) == 1;
}

bool is_readable(int fd)
{
	return look(fd, 0);
}

bool becomes_readable(int fd)
{
	return look(fd, child_limit_ms());
}
