/* SPDX-License-Identifier: Apache-2.0 */
/*
 * join.h - becoming a member of a work queue whose roster is there
 */
#ifndef WW_QUEUE_JOIN_H
#define WW_QUEUE_JOIN_H

#include "queue/queue.h"

/*
 * Joins in the role of the queue.
 * Return: WW_OK; WW_ERR_LIMIT; WW_ERR_STATE (a producer: the queue is closed); as
 *         ww_memory_create() and ww_timeline_put().
 */
ww_status ww_queue_join(struct ww_work_queue *queue);

#endif
