/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warpway/cancel.h - ending a call that waits, from another thread or from a signal handler
 *
 * A ww_cancel is a flag. Every call that waits for another process, a stream or room takes one, or
 * NULL. While the flag is set, such a call returns WW_CANCELLED instead of waiting, at most 50 ms
 * after the flag was set. The call has then had the same effect as with WW_TIMED_OUT, which its
 * description says. Calls that only ask the broker (list, stat, remove, open) take no ww_cancel:
 * they end within the broker's time limit, 5 s by default (ww_broker_params.timeout_ns).
 *
 *   main thread:     ww_cancel_create(&stop)   ww_timeline_wait(..., stop) ──> WW_CANCELLED
 *   signal handler:                            ww_cancel_set(stop) ─────────┘
 *
 * If a call need not wait, it succeeds even if the flag is set. Any number of calls and threads may
 * use one ww_cancel at once. If a call has found the flag set, it ends with WW_CANCELLED, even if
 * the flag is cleared meanwhile. The flag does not affect calls of other threads without it, or the
 * connection that they share.
 *
 * Calls that ask a broker:
 *   - Connecting counts as waiting. If there is no connection, a call whose flag is set returns
 *     WW_CANCELLED. The next call continues to connect. If the call was starting a broker, this
 *     broker may serve in spite of that.
 *   - If the socket has room for a request, the request is sent even if the flag is set. The call
 *     waits 20 ms for the answer, and returns what the answer says. If the request waits in the
 *     broker, it is withdrawn.
 *   - If no answer comes, because the broker hangs or is very busy, the call returns WW_CANCELLED.
 *     When the broker continues, it executes the request. It releases all that it has granted
 *     before it executes another request of this process. So an object that was put ends again,
 *     unless another process got it in between.
 *   - Some effects of such a request stay:
 *     - An object of WW_LIFE_KEPT that was put stays, and one of WW_LIFE_OWNER until this process
 *       ends.
 *     - An object that was published is published; ww_broker_stat() shows both.
 *     - An object that a put replaced has ended.
 *     - The escrow of a token that was exported lasts for its full time, and with it the name of a
 *       barrier that was created. A delivery (WW_EXPORT_DELIVERY) stays in flight, but the next
 *       equal export by this ww_broker gets it, unless another export ended so in between.
 *     - A use of a counted token that was imported is used up.
 *     - Tokens that were revoked are invalid.
 *     - If a rank of a barrier was taken, and another process got this member before it was taken
 *       back, this member counts for that process as one that has left.
 *
 * ww_cancel_nowait() is a different flag: a call with this flag asks no broker, so the call has
 * none of these effects when it returns WW_CANCELLED. Use it if a call seldom waits, and your
 * program has to do costly work before a wait: first try the call with this flag.
 *
 *   status = ww_memory_import(device, NULL, &token, &params, ww_cancel_nowait(), &memory, NULL);
 *   if (status == WW_CANCELLED) {
 *           prepare for waiting: install signal handlers, tell a scheduler
 *           status = ww_memory_import(device, NULL, &token, &params, stop, &memory, NULL);
 *   }
 *
 * Threads: every function may be called from any thread; ww_cancel_set() and ww_cancel_is_set()
 * from a signal handler, too.
 * Fork:    a child made by fork() has a copy of the flag, for its own calls.
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
 * ww_cancel_nowait() - the flag of calls that must not wait
 *
 * The flag is set, and stays set. A call with this flag neither sleeps nor asks a broker: it
 * returns WW_CANCELLED instead, and the caller may repeat it with another flag or NULL. The call
 * may poll for a few microseconds first.
 *
 * Return: borrowed, always the same flag. It needs no ww_cancel_unref().
 */
WW_API ww_cancel *ww_cancel_nowait(void);

/**
 * ww_cancel_ref() - take one more reference of a flag
 * Return: @cancel.
 */
WW_API ww_cancel *ww_cancel_ref(ww_cancel *cancel);

/**
 * ww_cancel_unref() - release a reference of a flag
 * @cancel:  may be NULL. Each call that was given the flag must have returned, or the thread of the
 *           call must hold a reference. A signal handler that uses the flag is removed before
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
 * @cancel:  borrowed; may be NULL. The flag of ww_cancel_nowait() stays set
 */
WW_API void ww_cancel_clear(ww_cancel *cancel);

/**
 * ww_cancel_is_set() - whether the flag is set
 * @cancel:  borrowed; may be NULL, which is never set
 *
 * Return: 1 or 0.
 */
WW_API int32_t ww_cancel_is_set(const ww_cancel *cancel);

#ifdef __cplusplus
}
#endif

#endif
