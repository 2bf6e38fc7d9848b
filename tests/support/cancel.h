/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cancel.h - calls that another thread ends
 *
 * Nobody waits for a moment: the flag is set when the thread that called sleeps, by the kernel's
 * word. Should it sleep elsewhere, the flag is set earlier, and the call must end all the same.
 */
#ifndef WW_TESTS_SUPPORT_CANCEL_H
#define WW_TESTS_SUPPORT_CANCEL_H

#include <sys/types.h>

#include <warpway/warpway.h>

/* One call that would wait. */
typedef ww_status (*cancel_call)(void *context, ww_cancel *cancel);

/*
 * The call ends with WW_CANCELLED: with a flag that is set before, which must not keep it, and with
 * one that is set while it sleeps. It ends in time, as the header promises. Other processes use
 * this machine too, so a thread that plainly waits for a descriptor shows how late this one may be,
 * and the call is repeated until one of its runs was in time, up to 100 times.
 */
void cancel_must_end(cancel_call call, void *context);

/* Waits until a thread of this process sleeps in the kernel, or has ended. */
void thread_wait_asleep(pid_t thread);

#endif
