/* SPDX-License-Identifier: Apache-2.0 */
/*
 * start_lock.h - a lock between processes, with a deadline
 *
 * It is flock(2) on a file: the kernel unlocks it when its holder dies. flock() has no deadline, so
 * the file is a FIFO. The process that holds the lock has the FIFO open for writing, too. The
 * processes that wait have it open for reading, and poll(2) wakes them when the writer closes it.
 */
#ifndef WW_CLIENT_START_LOCK_H
#define WW_CLIENT_START_LOCK_H

#include <stdint.h>

#include <warpway/base.h>

#include "base/cleanup.h"

struct ww_start_lock {
	int lock;   /* the FIFO, locked while this process holds the lock */
	int writer; /* the same, open for writing while this process holds the lock */
};

#define WW_START_LOCK_INIT \
	{                  \
		-1, -1     \
	}
#define WW_AUTO_START_LOCK WW_CLEANUP(ww_start_lock_end)

/*
 * Waits for the lock. Makes the file if there is none; it is not removed.
 * @turn:  WW_START_LOCK_INIT
 * Return: WW_OK; WW_TIMED_OUT; WW_ERR_ACCESS (the file is another user's, or no FIFO);
 *         WW_ERR_LIMIT; WW_ERR_SYSTEM.
 */
ww_status ww_start_lock_take(struct ww_start_lock *turn, const char *path, uint64_t deadline_ns);

/* Unlocks; takes WW_START_LOCK_INIT, too. */
void ww_start_lock_end(struct ww_start_lock *turn);

#endif
