/* SPDX-License-Identifier: Apache-2.0 */
/*
 * start_lock.h - one process at a time, for work that must not be done twice at once
 *
 * A lock between processes with a limit on time: flock(2) on a file, which the kernel undoes when
 * its holder dies. flock() itself cannot be given a deadline, so the file is a FIFO: who has the
 * turn has it open for writing too, and those who wait see in poll(2) that the writer is gone.
 */
#ifndef WW_CLIENT_START_LOCK_H
#define WW_CLIENT_START_LOCK_H

#include <stdint.h>

#include <warpway/base.h>

#include "base/cleanup.h"

struct ww_start_lock {
	int lock;   /* the FIFO, locked while we have the turn */
	int writer; /* the same, open for writing while we have the turn */
};

#define WW_START_LOCK_INIT \
	{                  \
		-1, -1     \
	}
#define WW_AUTO_START_LOCK WW_CLEANUP(ww_start_lock_end)

/*
 * Waits for the turn. The file is made where there is none, and stays.
 * @turn:  WW_START_LOCK_INIT
 * Return: WW_OK; WW_TIMED_OUT; WW_ERR_ACCESS (the file is somebody else's, or no FIFO);
 *         WW_ERR_LIMIT; WW_ERR_SYSTEM.
 */
ww_status ww_start_lock_take(struct ww_start_lock *turn, const char *path, uint64_t deadline_ns);

/* The next one has it. */
void ww_start_lock_end(struct ww_start_lock *turn);

#endif
