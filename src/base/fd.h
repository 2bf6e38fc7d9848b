/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fd.h - file descriptors with an owner
 *
 * -1 is no descriptor. Every descriptor the library makes is close-on-exec from its first moment
 * and above 2, so that a child's standard streams are never ours.
 */
#ifndef WW_BASE_FD_H
#define WW_BASE_FD_H

#include <stdbool.h>
#include <stdint.h>

#include <warpway/base.h>

#include "base/cleanup.h"

/* Closes a descriptor unless it is -1; errno stays as it was. Return: -1. */
int ww_fd_close(int fd);

static inline void ww_fd_close_p(int *fd)
{
	ww_fd_close(*fd);
}

#define WW_AUTO_FD WW_CLEANUP(ww_fd_close_p)

/* Takes the descriptor out of a variable and leaves -1 behind. */
static inline int ww_fd_steal(int *fd)
{
	int stolen = *fd;

	*fd = -1;
	return stolen;
}

/*
 * Gives a descriptor that other code made the two properties above; its number may change.
 * Return: WW_OK; WW_ERR_LIMIT. On failure @fd is closed and -1.
 */
ww_status ww_fd_adopt(int *fd);

/* Return: WW_OK; WW_ERR_DESCRIPTOR (@fd is not open); WW_ERR_LIMIT. */
ww_status ww_fd_duplicate(int fd, int *out_fd);

/*
 * Waits until a descriptor is ready; looks at it at least once.
 * @events:       of poll(2)
 * @deadline_ns:  see clock.h; 0: only looks
 * @what:         for the record: "socket 5"
 * Return: WW_OK; WW_TIMED_OUT; WW_CANCELLED; WW_ERR_SYSTEM.
 */
ww_status ww_fd_wait(int fd, short events, uint64_t deadline_ns, const char *what);

/*
 * Whether two descriptors of this process certainly stand for one open file: duplicates, also by
 * way of another process. False when the kernel does not say (before Linux 6.10 where kcmp(2) is
 * forbidden).
 */
bool ww_fd_is_duplicate(int a, int b);

#endif
