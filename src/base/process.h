/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process.h - what a child made by fork() may do, and what of its parent's state it has
 *
 * fork() copies memory and descriptors, but neither threads nor GPU contexts, and it leaves locks
 * as they were at that instant. A handler of pthread_atfork() puts the child in order:
 *
 *   - The variables of WW_PER_PROCESS (locks, lists of open objects, caches) are as they were when
 *     the library was loaded. So the child begins as a process of its own: it opens its own broker
 *     connections, and its own streams start their own threads.
 *   - The sockets of the parent's connections to brokers are closed in the child (connection.c).
 *   - Objects that the parent made are INHERITED: ww_process_epoch has grown since. They are never
 *     destroyed in the child, so nothing is sent, written or unlinked in the parent's name (ref.h).
 *     Calls that get one fail with WW_ERR_FORKED; devices, plain memory and ww_cancel stay usable
 *     (warpway/device.h says which and why).
 *
 * If the parent had started a driver of GPUs, none of this helps: every call in the child fails.
 */
#ifndef WW_BASE_PROCESS_H
#define WW_BASE_PROCESS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <warpway/base.h>

/*
 * For a static variable that belongs to one process. A child made by fork() finds its initial
 * value. What it referred to stays allocated.
 */
#define WW_PER_PROCESS __attribute__((section("ww_per_process")))

/* 0; one more in a child made by fork() than in its parent. */
extern _Atomic uint32_t ww_process_epoch;

/*
 * The first thing in every public call that can fail.
 *
 * Return: WW_OK; WW_ERR_FORKED (the parent had used a GPU); WW_ERR_NO_MEMORY (when the library was
 *         loaded).
 */
ww_status ww_process_enter(void);

/* Whether a driver of GPUs is in use, or is being started, so that children by fork() fail. */
void ww_process_set_uses_gpu(bool uses_gpu);

#endif
