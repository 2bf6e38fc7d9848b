/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cancel.h - which flag ends the waits of the calling thread
 *
 * A public call that was given a ww_cancel notes it for its thread, for as long as the call lasts:
 *
 *   WW_AUTO_CANCEL struct ww_cancel_scope scope = ww_cancel_enter(cancel);
 *
 * Whatever waits inside, at whatever depth, finds it there. A wait sleeps at most WW_CANCEL_LOOK_NS
 * while there is a flag, then looks at it. So nothing has to wake a sleeper, and it does not matter
 * whether the flag was set before the sleep, in it, or between the look and the sleep. What was
 * noticed stays so until the call ends, also if the flag is cleared meanwhile: so each part of the
 * call ends as the part before it did.
 *
 *   while (!ready) {
 *           status = ww_cancel_check(deadline_ns);
 *           if (status != WW_OK)
 *                   return status;
 *           sleep until ww_cancel_sleep_end_ns(deadline_ns)
 *   }
 */
#ifndef WW_BASE_CANCEL_H
#define WW_BASE_CANCEL_H

#include <stdbool.h>
#include <stdint.h>

#include <warpway/cancel.h>

#include "base/cleanup.h"

/* The longest sleep with a flag; the header promises 50 ms for this and the next together. */
#define WW_CANCEL_LOOK_NS UINT64_C(20000000)

/*
 * How long after a call has noticed its flag it may wait for the answer to something that it has
 * asked.
 */
#define WW_CANCEL_GRACE_NS UINT64_C(20000000)

/* What was noted before. */
struct ww_cancel_scope {
	bool is_changed; /* false: the thread's flag is the outer one, and the rest is not set */
	ww_cancel *outer;
	uint64_t outer_noticed_ns;
};

/* What the two below do if there is a flag. */
struct ww_cancel_scope ww_cancel_change(ww_cancel *cancel);
void ww_cancel_restore(const struct ww_cancel_scope *scope);

/*
 * @cancel: borrowed until the scope ends; NULL: that of the call which calls this one, if there is
 * one
 */
static inline struct ww_cancel_scope ww_cancel_enter(ww_cancel *cancel)
{
	/* Most calls have none: then the thread's own variables are not even looked for. */
	return cancel ? ww_cancel_change(cancel) : (struct ww_cancel_scope){.is_changed = false};
}

static inline void ww_cancel_leave(const struct ww_cancel_scope *scope)
{
	if (scope->is_changed)
		ww_cancel_restore(scope);
}

#define WW_AUTO_CANCEL WW_CLEANUP(ww_cancel_leave) __attribute__((unused))

/*
 * As ww_cancel_enter(), with no flag until the scope ends: for a wait whose own deadline is
 * ww_cancel_grace_end_ns().
 */
struct ww_cancel_scope ww_cancel_mask(void);

/* Whether the thread has a flag. */
bool ww_cancel_is_given(void);

/* Whether it has that of ww_cancel_nowait(): then nothing is sent that has an answer. */
bool ww_cancel_is_nowait(void);

/*
 * Whether it has one that is set, or was when the call looked before: a wait that finds that ends
 * as if its time had passed.
 */
bool ww_cancel_is_pending(void);

/* Of a call that has noticed its flag. Return: WW_CANCEL_GRACE_NS after that. */
uint64_t ww_cancel_grace_end_ns(void);

/*
 * Whether a wait goes on.
 * @deadline_ns:  of the wait, on CLOCK_MONOTONIC
 * Return: WW_OK; WW_TIMED_OUT (@deadline_ns has passed); WW_CANCELLED (ww_cancel_is_pending()).
 */
ww_status ww_cancel_check(uint64_t deadline_ns);

/*
 * Until when a sleep may last that has a deadline.
 * Return: 0, if ww_cancel_is_pending(); else @deadline_ns, or what is sooner: WW_CANCEL_LOOK_NS
 * from now, if the thread has a flag.
 */
uint64_t ww_cancel_sleep_end_ns(uint64_t deadline_ns);

#endif
