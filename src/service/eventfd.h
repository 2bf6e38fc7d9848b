/* SPDX-License-Identifier: Apache-2.0 */
/*
 * eventfd.h - the descriptor of a service for event loops
 *
 *   serve begins ──> the thread rests ──serve ends──> not readable; the thread looks and sleeps
 *                        ^                                          │
 *                        └───────── readable <──there is a call─────┘
 *
 * While no thread serves, the thread has the part of the leader that changes nothing for calls: it
 * sleeps on the bell, and forgets clients that have ended. A thread that serves waits until it
 * rests, so the two never look at clients at the same time.
 */
#ifndef WW_SERVICE_EVENTFD_H
#define WW_SERVICE_EVENTFD_H

#include "service/service.h"

/* Around a thread's serving. */
void ww_service_eventfd_pause(struct ww_service *service);
void ww_service_eventfd_resume(struct ww_service *service);

/* Ends the thread, if there is one. Leaves duplicates readable. */
void ww_service_eventfd_fini(struct ww_service *service);

#endif
