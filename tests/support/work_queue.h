/* SPDX-License-Identifier: Apache-2.0 */
/*
 * work_queue.h - frames of work queues whose content tells which frame it is, as channel.h has it
 */
#ifndef WW_TESTS_SUPPORT_WORK_QUEUE_H
#define WW_TESTS_SUPPORT_WORK_QUEUE_H

#include <stdbool.h>

#include <warpway/work_queue.h>

/* As frame_write(), frame_read(), frame_send(). */
void work_write(struct ww_work_frame *frame, uint64_t value);
bool work_read(const struct ww_work_frame *frame, uint64_t *out_value);
void work_send(ww_work_queue *queue, uint64_t value);

#endif
