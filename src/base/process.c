/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process.c - whether this process may use the library at all, see process.h
 *
 * The mark is set by a handler of pthread_atfork() in the child, so that asking costs two loads and
 * no system call. No lock: two threads that come first together may set the handler up twice, which
 * does no harm, and a fork() in between finds nothing of ours held. Children of _Fork() or a bare
 * clone() go unseen.
 */
#include "base/process.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/error.h"

static _Atomic bool is_watched; /* set once the handler is in place */
static _Atomic bool is_forked;  /* set by the handler in a child, never cleared */

static void mark_child(void)
{
	atomic_store_explicit(&is_forked, true, memory_order_relaxed);
}

bool ww_process_is_forked(void)
{
	return atomic_load_explicit(&is_forked, memory_order_relaxed);
}

ww_status ww_process_enter(void)
{
	if (ww_process_is_forked())
		return ww_fail(WW_ERR_FORKED,
			"this process was made by fork() after its parent had used Warpway; GPU contexts "
			"and stream threads do not survive that: start it with posix_spawn() or fork() + "
			"exec() (Python: multiprocessing's spawn)");
	if (!atomic_load_explicit(&is_watched, memory_order_relaxed)) {
		int error = pthread_atfork(NULL, NULL, mark_child);

		if (error)
			return ww_fail_errno(error, NULL, "cannot watch for fork()");
		atomic_store_explicit(&is_watched, true, memory_order_relaxed);
	}
	return WW_OK;
}
