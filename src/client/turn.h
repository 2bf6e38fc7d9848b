/* SPDX-License-Identifier: Apache-2.0 */
/*
 * turn.h - one process at a time, for work that must not be done twice at once
 *
 * A lock between processes with a limit on time: flock(2) on a file, which the kernel undoes when its holder
 * dies. flock() itself cannot be given a deadline, so the file is a FIFO: who has the turn has it open for
 * writing too, and those who wait see in poll(2) that the writer is gone.
 */
#ifndef WW_CLIENT_TURN_H
#define WW_CLIENT_TURN_H

#include <stdint.h>

#include <warpway/base.h>

#include "base/cleanup.h"

struct ww_turn {
	int lock;   /* the FIFO, locked while we have the turn */
	int writer; /* the same, open for writing while we have the turn */
};

#define WW_TURN_INIT   \
	{              \
		-1, -1 \
	}
#define WW_AUTO_TURN WW_CLEANUP(ww_turn_end)

/*
 * Waits for the turn. The file is made where there is none, and stays.
 * @turn:  WW_TURN_INIT
 * Return: WW_OK; WW_TIMED_OUT; WW_ERR_ACCESS (the file is somebody else's, or no FIFO); WW_ERR_LIMIT;
 *         WW_ERR_SYSTEM.
 */
ww_status ww_turn_take(struct ww_turn *turn, const char *path, uint64_t deadline_ns);

/* The next one has it. */
void ww_turn_end(struct ww_turn *turn);

#endif
