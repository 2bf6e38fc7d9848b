/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warpway/cancel.h - ending a call that waits, from another thread or from a signal handler
 *
 * A ww_cancel is a flag. Every call that waits for another process, a stream or room takes one, or
 * NULL. While the flag is set, such a call returns WW_CANCELLED instead of waiting, at most 50 ms
 * after it was set. Its effect is that of WW_TIMED_OUT, which the call's description says. Calls
 * that only ask the broker about something (list, stat, remove, open) take none: they end within
 * the broker's limit, 5 s by default (ww_broker_params.timeout_ns).
 *
 *   main thread:     ww_cancel_create(&stop)   ww_timeline_wait(..., stop) ──> WW_CANCELLED
 *   signal handler:                            ww_cancel_set(stop) ─────────┘
 *
 * A call that need not wait succeeds, also when the flag is set. One ww_cancel may serve any number
 * of calls and threads at once. A call that has found the flag set ends with WW_CANCELLED, also if
 * the flag is cleared meanwhile. The calls of other threads, and the connection that they share,
 * are not disturbed.
 *
 * Calls that ask a broker:
 *   - To connect is to wait. If there is no connection, a call whose flag is set returns
 *     WW_CANCELLED. The next call goes on with the connecting. A broker that was being started may
 *     serve all the same.
 *   - A request is sent although the flag is set, if there is room for it. Its answer has 20 ms to
 *     come. If it comes, it counts, whichever it is. A request that waits in the broker is called
 *     off.
 *   - If no answer comes, the broker hangs, or is very busy. The call returns WW_CANCELLED, and
 *     what was asked is undone as soon as the broker goes on: what it grants is released, before it
 *     does anything else for this process. So an object that was put is gone again, unless somebody
 *     else got it in between.
 *   - Some effects cannot be undone, then:
 *       an object of WW_LIFE_KEPT stays, and an object that was published is published:
 *       ww_broker_stat() tells; an object that a put was to replace is gone; the escrow of a token
 *       that was being made lasts as long as it was to last; a use of a counted token that was
 *       being imported is used up; a rank of a barrier that was being taken is that of a member
 *       that has left.
 *
 * Threads: every function may be called from any thread; ww_cancel_set() and ww_cancel_is_set()
 * from a signal handler, too.
 * Fork:    a child made by fork() has a flag of its own, which nobody reads.
 */
#ifndef WARPWAY_CANCEL_H
#define WARPWAY_CANCEL_H

#include <warpway/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ww_cancel ww_cancel;

/**
 * ww_cancel_create() - make a flag, which is not set
 * @out_cancel:  the caller's; NULL on failure
 *
 * Return: WW_OK; WW_ERR_NO_MEMORY; WW_ERR_INVALID.
 */
WW_API ww_status ww_cancel_create(ww_cancel **out_cancel);

/**
 * ww_cancel_ref() - hold a flag once more
 * Return: @cancel.
 */
WW_API ww_cancel *ww_cancel_ref(ww_cancel *cancel);

/**
 * ww_cancel_unref() - let go of a flag
 * @cancel:  may be NULL. A call that was given the flag must have returned, or hold a reference of
 *           its own
 *
 * Return: NULL.
 */
WW_API ww_cancel *ww_cancel_unref(ww_cancel *cancel);

/**
 * ww_cancel_set() - end the calls that wait with this flag, now and until it is cleared
 * @cancel:  borrowed; may be NULL, which does nothing
 *
 * Safe in a signal handler: it stores one word.
 */
WW_API void ww_cancel_set(ww_cancel *cancel);

/**
 * ww_cancel_clear() - let calls with this flag wait again
 * @cancel:  borrowed; may be NULL
 */
WW_API void ww_cancel_clear(ww_cancel *cancel);

/**
 * ww_cancel_is_set() - whether the flag is set
 * @cancel:  borrowed; may be NULL, which is never set
 *
 * Return: 1 or 0.
 */
WW_API int ww_cancel_is_set(const ww_cancel *cancel);

#ifdef __cplusplus
}
#endif

#endif
