/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel_queue.c - frames by a work queue, see channel_carrier.h
 *
 * Each frame is for one consumer, which acknowledges it; so it is measured with one.
 */
#include "bench/channel_carrier.h"

#include <string.h>

#define QUEUE_SLOTS 64
#define HEAD_BYTES  (CHANNEL_HEAD * sizeof(uint64_t))

static int queue_open_sender(struct carry *carry)
{
	const struct ww_work_queue_params params = {
		.struct_size = sizeof(params),
		.role = WW_WORK_QUEUE_PRODUCER,
		.slot_bytes = carry->bytes,
		.slots = carry_slots(carry->bytes, QUEUE_SLOTS),
		.kind = channel_cpu_kind(carry->bench),
	};

	return bench_expect(ww_work_queue_create(carry->bench->device, carry->bench->broker,
				    "carry", &params, NULL, &carry->queue),
		"cannot make a work queue");
}

static int queue_open_consumer(struct carry *carry)
{
	const struct ww_work_member_params params = {
		.struct_size = sizeof(params),
		.role = WW_WORK_QUEUE_CONSUMER,
	};

	return bench_expect(ww_work_queue_get(carry->bench->device, carry->bench->broker, "carry",
				    &params, BENCH_ANSWER_NS, NULL, &carry->queue),
		"cannot join a work queue");
}

static int queue_send(struct carry *carry, const uint64_t head[CHANNEL_HEAD])
{
	struct ww_frame frame = WW_INIT(struct ww_frame);

	if (bench_expect(ww_work_queue_acquire(carry->queue, NULL, BENCH_ANSWER_NS, NULL, &frame),
		    "cannot acquire a slot"))
		return -1;
	memcpy(frame.host_pointer, head, HEAD_BYTES);
	frame.bytes = carry->bytes;
	return bench_expect(ww_work_queue_publish(carry->queue, &frame, NULL),
		"cannot publish a frame");
}

static int queue_receive(struct carry *carry, uint64_t out_head[CHANNEL_HEAD])
{
	struct ww_frame frame = WW_INIT(struct ww_frame);

	if (bench_expect(ww_work_queue_receive(carry->queue, NULL, BENCH_ANSWER_NS, NULL, &frame),
		    "cannot receive a frame"))
		return -1;
	memcpy(out_head, frame.host_pointer, HEAD_BYTES);
	return bench_expect(ww_work_queue_acknowledge(carry->queue, &frame, NULL),
		"cannot acknowledge a frame");
}

static void queue_close(struct carry *carry)
{
	carry->queue = ww_work_queue_unref(carry->queue);
}

const struct carrier carrier_queue = {
	.name = "work_queue",
	.is_for_one = true,
	.open_sender = queue_open_sender,
	.open_consumer = queue_open_consumer,
	.send = queue_send,
	.receive = queue_receive,
	.close = queue_close,
};
