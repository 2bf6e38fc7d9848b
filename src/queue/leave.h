/* SPDX-License-Identifier: Apache-2.0 */
/*
 * leave.h - leaving a work queue: what the caller holds is given back, and the own object is
 * removed if no frame needs it
 */
#ifndef WW_QUEUE_LEAVE_H
#define WW_QUEUE_LEAVE_H

#include "queue/queue.h"

/* Leaves the queue; takes one that is not whole yet, too. */
void ww_queue_free(struct ww_work_queue *queue);

WW_DEFINE_CLEANUP(struct ww_work_queue, ww_queue_free)

#endif
