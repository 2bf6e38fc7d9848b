/* SPDX-License-Identifier: Apache-2.0 */
/*
 * notice.c - the descriptor of a work queue for event loops, see notice.h
 */
#include "queue/notice.h"

#include <stdlib.h>

#include "base/clock.h"

void ww_queue_notice_end(struct ww_work_queue *queue)
{
	if (!queue->notice)
		return;
	ww_notice_fini(&queue->notice->notice);
	free(queue->notice);
	queue->notice = NULL;
}

void ww_queue_notice_pause(struct ww_work_queue *queue)
{
	if (queue->notice)
		ww_notice_pause(&queue->notice->notice);
}

/* A call would fail with WW_ERR_STATE until the caller gives one back. */
static bool is_full(const struct ww_work_queue *queue)
{
	if (ww_queue_is_consumer(queue))
		return queue->held >= queue->form.held_max;
	return queue->held >= queue->form.slot_count && !ww_queue_roster_is_closed(&queue->roster);
}

void ww_queue_notice_set(struct ww_work_queue *queue)
{
	if (!queue->notice)
		return;
	ww_notice_pause(&queue->notice->notice);
	queue->notice->since_ns = ww_clock_now_ns();
	if (is_full(queue))
		ww_notice_say(&queue->notice->notice, false);
	else
		ww_notice_arm(&queue->notice->notice);
}
