/* SPDX-License-Identifier: Apache-2.0 */
/*
 * work_queue_totals.c - what a work queue says of all its frames, also after members have left
 */
#include <stddef.h>

#include "conformance/work_queue.h"
#include "queue/queue.h"

/* All members, also a keeper, see the same totals; they stay when a member has left. */
static void totals_must_be(ww_work_queue *queue, uint64_t published, uint64_t acknowledged,
	uint64_t repeated, uint64_t failed)
{
	struct ww_work_queue_info info = queue_info(queue);

	MUST_EQUAL(published, info.published_total);
	MUST_EQUAL(acknowledged, info.acknowledged_total);
	MUST_EQUAL(repeated, info.repeated_total);
	MUST_EQUAL(failed, info.failed_total);
	MUST_EQUAL(0, info.lost_total);
	MUST_EQUAL(0, info.uncounted);
}

SCENE_CASE(work_queue_totals_outlive_members, QUEUES)
{
	struct ww_work_queue_info info;
	struct ww_frame frame;
	OWN(work_queue) ww_work_queue *keeper = queue_make(QUEUE(.attempts_max = 2));
	OWN(work_queue) ww_work_queue *producer = queue_get(PRODUCER);
	ww_work_queue *consumer = queue_get(CONSUMER);

	for (uint64_t i = 1; i <= 4; i++)
		work_send(producer, i);
	frame = work_must_be(consumer, 1, 1, 1);
	MUST_OK(ww_work_queue_acknowledge(consumer, &frame, NULL));
	for (uint32_t attempt = 1; attempt <= 2; attempt++) {
		frame = work_must_be(consumer, 2, 2, attempt);
		MUST_OK(ww_work_queue_reject(consumer, &frame));
	}
	frame = work_must_be(consumer, 3, 3, 1);
	totals_must_be(keeper, 4, 1, 1, 1);
	totals_must_be(producer, 4, 1, 1, 1);
	totals_must_be(consumer, 4, 1, 1, 1);
	info = queue_info(keeper);
	MUST_EQUAL(1, info.producers);
	MUST_EQUAL(1, info.available);
	MUST_EQUAL(1, info.claimed);
	MUST_EQUAL(1, info.failed);
	MUST_EQUAL(0, info.dropped_total);
	ww_work_queue_unref(consumer);
	consumer = queue_get(CONSUMER); /* it has the entry of the one before */
	frame = work_must_be(consumer, 3, 3, 2);
	MUST_OK(ww_work_queue_acknowledge(consumer, &frame, NULL));
	frame = work_must_be(consumer, 4, 4, 1);
	MUST_OK(ww_work_queue_acknowledge(consumer, &frame, NULL));
	ww_work_queue_unref(consumer);
	ww_work_queue_unref(producer);
	producer = queue_get(PRODUCER);
	work_send(producer, 1);
	totals_must_be(keeper, 5, 3, 2, 1);
}

/* While no consumer has a frame. */
static void sums_must_be_equal(ww_work_queue *queue)
{
	struct ww_work_queue_info info = queue_info(queue);

	MUST_EQUAL(0, info.claimed);
	MUST_EQUAL(info.published_total,
		info.acknowledged_total + info.dropped_total + info.lost_total + info.available +
			info.failed);
}

/* A frame that its producer describes wrongly is dropped, and counted once. */
SCENE_CASE(work_queue_wrong_frame_is_counted, QUEUES)
{
	struct ww_frame frame = WW_INIT(struct ww_frame);
	const struct ww_ring *ring;
	OWN(work_queue) ww_work_queue *keeper = queue_make(QUEUE(.attempts_max = 1));
	OWN(work_queue) ww_work_queue *producer = queue_get(PRODUCER);
	OWN(work_queue) ww_work_queue *consumer = queue_get(CONSUMER);

	for (uint64_t i = 1; i <= 4; i++)
		work_send(producer, i);
	sums_must_be_equal(keeper);
	ring = &ww_queue_own_ring(producer)->ring;
	for (uint32_t slot = 0; slot < queue_info(keeper).slots; slot++) {
		if (ww_ring_has(ring, slot, 2))
			ww_ring_slot(ring, slot)->bytes = UINT64_MAX;
	}
	frame = work_must_be(consumer, 1, 1, 1);
	MUST_OK(ww_work_queue_acknowledge(consumer, &frame, NULL));
	MUST_REFUSE(WW_ERR_PROTOCOL, "the producer of frame 2",
		ww_work_queue_receive(consumer, NULL, 0, NULL, &frame));
	MUST_EQUAL(1, queue_info(keeper).dropped_total);
	frame = work_must_be(consumer, 3, 3, 1);
	MUST_OK(ww_work_queue_reject(consumer, &frame));
	totals_must_be(keeper, 4, 1, 0, 1);
	MUST_EQUAL(1, queue_info(keeper).dropped_total);
	MUST_EQUAL(1, queue_info(keeper).available);
	sums_must_be_equal(keeper);
	sums_must_be_equal(consumer);
}

/* A hostile consumer writes that frame 1 is in the slot of frame 2: no producer is blamed. */
SCENE_CASE(work_queue_wrong_claim_blames_no_producer, QUEUES)
{
	struct ww_frame frame = WW_INIT(struct ww_frame);
	OWN(work_queue) ww_work_queue *producer = queue_make(QUEUE(.role = PRODUCER, .slots = 2));
	OWN(work_queue) ww_work_queue *consumer = queue_get(CONSUMER);
	struct ww_queue_claims *claims = &ww_queue_own_ring(producer)->claims;

	work_send(producer, 1);
	work_send(producer, 2);
	for (uint32_t slot = 0; slot < 2; slot++) {
		if (ww_queue_claim_look(claims, slot).frame == 2)
			claims->at[slot].claim ^= UINT64_C(3) << 16;
	}
	for (int i = 0; i < 2; i++) {
		ww_status status = ww_work_queue_receive(consumer, NULL, 0, NULL, &frame);

		if (status != WW_OK)
			MUST_REFUSE(WW_ERR_PROTOCOL, "a claim of the work queue names frame 1",
				status);
		else
			MUST_OK(ww_work_queue_acknowledge(consumer, &frame, NULL));
	}
	MUST_EQUAL(1, queue_info(producer).dropped_total);
}

/* A hostile member writes that a frame was given out so often that nobody can claim it. */
SCENE_CASE(work_queue_drops_a_frame_that_cannot_be_claimed, QUEUES)
{
	struct ww_queue_claims *claims;
	struct ww_frame frame = WW_INIT(struct ww_frame);
	OWN(work_queue) ww_work_queue *producer = queue_make(QUEUE(.role = PRODUCER, .slots = 2));
	OWN(work_queue) ww_work_queue *consumer = queue_get(CONSUMER);

	work_send(producer, 1);
	claims = &ww_queue_own_ring(producer)->claims;
	for (uint32_t slot = 0; slot < 2; slot++) {
		if (ww_queue_claim_look(claims, slot).frame == 1)
			claims->at[slot].claim |= WW_QUEUE_ATTEMPTS_END;
	}
	work_send(producer, 2);
	frame = work_must_be(consumer, 2, 2, 1);
	MUST_OK(ww_work_queue_acknowledge(consumer, &frame, NULL));
	MUST_STATUS(WW_TIMED_OUT, ww_work_queue_receive(consumer, NULL, 1000000, NULL, &frame));
	MUST_EQUAL(1, queue_info(producer).dropped_total);
}

/* A program that was built with the struct as it was before gets that part, and no more. */
SCENE_CASE(work_queue_info_as_before, QUEUES)
{
	struct ww_work_queue_info info = WW_INIT(struct ww_work_queue_info);
	OWN(work_queue) ww_work_queue *producer = queue_make(QUEUE(.role = PRODUCER));

	work_send(producer, 1);
	info.struct_size = offsetof(struct ww_work_queue_info, published_total);
	info.published_total = 77;
	MUST_OK(ww_work_queue_info_get(producer, &info));
	MUST_EQUAL(1, info.published);
	MUST_EQUAL(77, info.published_total);
	info.struct_size--;
	MUST_STATUS(WW_ERR_INVALID, ww_work_queue_info_get(producer, &info));
}
