/* SPDX-License-Identifier: Apache-2.0 */
/*
 * work_queue.h - work queues of a scene (broker_case.h), and frames whose content tells which frame
 * it is, as channel.h has it
 */
#ifndef WW_TESTS_SUPPORT_WORK_QUEUE_H
#define WW_TESTS_SUPPORT_WORK_QUEUE_H

#include <warpway/work_queue.h>

#include "support/channel.h"

/* As frame_send(). */
void work_send(ww_work_queue *queue, uint64_t value);

/* Queue "q" of the scene's broker, on its device. */
ww_work_queue *queue_make(const struct ww_work_queue_params *params);
ww_work_queue *queue_get(uint32_t role);
struct ww_work_queue_info queue_info(ww_work_queue *queue);

#endif
