/* SPDX-License-Identifier: Apache-2.0 */
/*
 * work_queue_array.c - what the frames of a work queue are, which its members agree on
 */
#include "conformance/conformance.h"
#include "support/broker_case.h"

#include <warpway/work_queue.h>

#define SLOT_BYTES 4096
#define QUEUES     (WW_CAP_EXPORT | WW_CAP_HOST_READ_ONLY)

static struct ww_array floats(int64_t count)
{
	struct ww_array array;

	MUST_OK(ww_array_set(&array, WW_DTYPE(WW_DTYPE_FLOAT, 32), 1, &count, NULL, 0));
	return array;
}

static ww_status queue_create(const struct ww_array *array, ww_work_queue **out_queue)
{
	return ww_work_queue_create(scene.device, scene.broker, "q",
		WW_PARAMS(struct ww_work_queue_params, .role = WW_WORK_QUEUE_PRODUCER,
			.slot_bytes = SLOT_BYTES, .array = array),
		NULL, out_queue);
}

static ww_status queue_get(uint32_t role, const struct ww_array *array, ww_work_queue **out_queue)
{
	return ww_work_queue_get(scene.device, scene.broker, "q",
		WW_PARAMS(struct ww_work_member_params, .role = role, .array = array), 0, NULL,
		out_queue);
}

static struct ww_work_queue_info queue_info(ww_work_queue *queue)
{
	struct ww_work_queue_info info = WW_INIT(struct ww_work_queue_info);

	MUST_OK(ww_work_queue_info_get(queue, &info));
	return info;
}

/* An error names the arrays of both sides. */
SCENE_CASE(work_queue_agrees_on_frames, QUEUES)
{
	const struct ww_array ours = floats(16);
	const struct ww_array others = floats(17);
	const struct ww_array large = floats(SLOT_BYTES);
	struct ww_work_queue_info info;
	struct ww_array reversed = ours;
	OWN(work_queue) ww_work_queue *queue;
	OWN(work_queue) ww_work_queue *member;

	reversed.strides[0] = -reversed.strides[0];
	reversed.offset = 60;
	MUST_STATUS(WW_ERR_MISMATCH, queue_create(&large, &queue));
	MUST_REFUSE(WW_ERR_INVALID, "C order", queue_create(&reversed, &queue));
	MUST_OK(queue_create(&ours, &queue));
	MUST_REFUSE(WW_ERR_MISMATCH, "are float32 [16], and float32 [17]",
		queue_get(WW_WORK_QUEUE_CONSUMER, &others, &member));
	MUST_OK(queue_get(WW_WORK_QUEUE_CONSUMER, &ours, &member));
	info = queue_info(member);
	MUST_EQUAL(1, info.has_array);
	MUST_MATCH(&ours, &info.array, sizeof(ours));
}

SCENE_CASE(work_queue_of_bytes_has_no_array, QUEUES)
{
	const struct ww_array wanted = floats(4);
	OWN(work_queue) ww_work_queue *queue;
	OWN(work_queue) ww_work_queue *member;

	MUST_OK(queue_create(NULL, &queue));
	MUST_REFUSE(WW_ERR_MISMATCH, "are bytes, and float32 [4]",
		queue_get(WW_WORK_QUEUE_PRODUCER, &wanted, &member));
	MUST_OK(queue_get(WW_WORK_QUEUE_FAILED, NULL, &member));
	MUST_EQUAL(0, queue_info(member).has_array);
}
