/* SPDX-License-Identifier: Apache-2.0 */
/*
 * work_queue.h - what the cases of work queues have in common
 */
#ifndef WW_CONFORMANCE_WORK_QUEUE_H
#define WW_CONFORMANCE_WORK_QUEUE_H

#include "conformance/conformance.h"
#include "support/broker_case.h"
#include "support/work_queue.h"

#define QUEUES        (WW_CAP_EXPORT | WW_CAP_HOST_READ_ONLY)
#define QUEUE_STREAMS (QUEUES | WW_CAP_STREAM_VALUE)

#define QUEUE(...)  WW_PARAMS(struct ww_work_queue_params, .slot_bytes = SLOT_BYTES, __VA_ARGS__)
#define MEMBER(...) WW_PARAMS(struct ww_work_member_params, .role = __VA_ARGS__)

#define PRODUCER WW_WORK_QUEUE_PRODUCER
#define CONSUMER WW_WORK_QUEUE_CONSUMER
#define FAILED   WW_WORK_QUEUE_FAILED

#define SLOT_BYTES 4096

static inline struct ww_frame work_acquire(ww_work_queue *queue)
{
	struct ww_frame frame = WW_INIT(struct ww_frame);

	MUST_OK(ww_work_queue_acquire(queue, NULL, WW_FOREVER, NULL, &frame));
	return frame;
}

static inline struct ww_frame work_receive(ww_work_queue *queue)
{
	struct ww_frame frame = WW_INIT(struct ww_frame);

	MUST_OK(ww_work_queue_receive(queue, NULL, WW_FOREVER, NULL, &frame));
	return frame;
}

/* The next frame, which the caller then has. */
static inline struct ww_frame work_must_be(ww_work_queue *queue, uint64_t number, uint64_t value,
	uint32_t attempts)
{
	struct ww_frame frame = work_receive(queue);
	uint64_t found;

	MUST_EQUAL(number, frame.number);
	MUST_EQUAL(attempts, frame.attempts);
	MUST(frame_read(&frame, &found));
	MUST_EQUAL(value, found);
	return frame;
}

static inline void work_must_come(ww_work_queue *queue, uint64_t number, uint64_t value)
{
	struct ww_frame frame = work_must_be(queue, number, value, 1);

	MUST_OK(ww_work_queue_acknowledge(queue, &frame, NULL));
}

#endif
