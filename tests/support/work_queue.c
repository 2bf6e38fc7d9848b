/* SPDX-License-Identifier: Apache-2.0 */
/*
 * work_queue.c - work queues of a scene, and frames whose content tells which frame it is, see
 * work_queue.h
 */
#include "support/work_queue.h"

#include "support/broker_case.h"
#include "support/check.h"

void work_send(ww_work_queue *queue, uint64_t value)
{
	struct ww_frame frame = WW_INIT(struct ww_frame);

	MUST_OK(ww_work_queue_acquire(queue, NULL, WW_FOREVER, NULL, &frame));
	frame_write(&frame, value);
	MUST_OK(ww_work_queue_publish(queue, &frame, NULL));
}

ww_work_queue *queue_make(const struct ww_work_queue_params *params)
{
	ww_work_queue *queue;

	MUST_OK(ww_work_queue_create(scene.device, scene.broker, "q", params, NULL, &queue));
	return queue;
}

ww_work_queue *queue_get(uint32_t role)
{
	ww_work_queue *queue;

	MUST_OK(ww_work_queue_get(scene.device, scene.broker, "q",
		WW_PARAMS(struct ww_work_member_params, .role = role), 0, NULL, &queue));
	return queue;
}

struct ww_work_queue_info queue_info(ww_work_queue *queue)
{
	struct ww_work_queue_info info = WW_INIT(struct ww_work_queue_info);

	MUST_OK(ww_work_queue_info_get(queue, &info));
	return info;
}
