/* SPDX-License-Identifier: Apache-2.0 */
/*
 * work_queue.c - work queues whose members are in one process
 *
 * Each ww_work_queue is a member of its own, whatever process it is in; that processes do the same,
 * and what happens when they end, is seen in tests/integration.
 */
#include <pthread.h>
#include <stddef.h>
#include <string.h>

#include "conformance/work_queue.h"
#include "support/stream_gate.h"

/* A token that does not keep the queue. */
#define UNKEPT WW_PARAMS(struct ww_token_params, .escrow_ns = WW_ESCROW_NONE)

#define SOON_NS UINT64_C(20000000)

static void nothing_must_come(ww_work_queue *queue)
{
	struct ww_frame frame = WW_INIT(struct ww_frame);

	MUST_STATUS(WW_TIMED_OUT, ww_work_queue_receive(queue, NULL, 0, NULL, &frame));
}

/* --- making and opening --- */

SCENE_CASE(work_queue_create_refuses, 0)
{
	static const struct {
		ww_status status;
		const char *word;
		struct ww_work_queue_params params;
	} wrong[] = {
		{WW_ERR_INVALID, "slot_bytes", {.slots = 2}},
		{WW_ERR_INVALID, "role 5", {.slot_bytes = SLOT_BYTES, .role = 5}},
		{WW_ERR_INVALID, "at most 1024", {.slot_bytes = SLOT_BYTES, .slots = 1025}},
		{WW_ERR_INVALID, "producers_max", {.slot_bytes = SLOT_BYTES, .producers_max = 65}},
		{WW_ERR_INVALID, "consumers_max", {.slot_bytes = SLOT_BYTES, .consumers_max = 65}},
		{WW_ERR_INVALID, "attempts_max", {.slot_bytes = SLOT_BYTES, .attempts_max = 65}},
		{WW_ERR_INVALID, "failed_max",
			{.slot_bytes = SLOT_BYTES, .slots = 2, .failed_max = 2}},
		{WW_ERR_INVALID, "WW_MEMORY_LEGACY (3)", {.slot_bytes = SLOT_BYTES, .kind = 3}},
	};

	for (size_t i = 0; i < CHECK_COUNT(wrong); i++) {
		struct ww_work_queue_params params = wrong[i].params;
		ww_work_queue *queue = (ww_work_queue *)&params;

		params.struct_size = sizeof(params);
		MUST_REFUSE(wrong[i].status, wrong[i].word,
			ww_work_queue_create(scene.device, scene.broker, "q", &params, NULL,
				&queue));
		MUST(!queue);
	}
}

SCENE_CASE(work_queue_get_refuses, QUEUES)
{
	OWN(work_queue) ww_work_queue *queue;
	ww_work_queue *other;
	ww_memory *memory;

	MUST_STATUS(WW_ERR_NOT_FOUND,
		ww_work_queue_get(scene.device, scene.broker, "q", MEMBER(CONSUMER), 0, NULL,
			&other));
	queue = queue_make(QUEUE(.metadata_type = "job"));
	MUST_REFUSE(WW_ERR_MISMATCH, "'job'",
		ww_work_queue_get(scene.device, scene.broker, "q",
			MEMBER(CONSUMER, .metadata_type = "task"), 0, NULL, &other));
	MUST_REFUSE(WW_ERR_INVALID, "role 0",
		ww_work_queue_get(scene.device, scene.broker, "q", MEMBER(0), 0, NULL, &other));
	MUST_STATUS(WW_ERR_EXISTS,
		ww_work_queue_create(scene.device, scene.broker, "q", QUEUE(.slots = 1), NULL,
			&other));
	MUST_REFUSE(WW_ERR_UNSUPPORTED, "'q' is of kind work-queue, not memory",
		ww_memory_get(scene.device, scene.broker, "q", NULL, 0, NULL, &memory, NULL));
}

SCENE_CASE(work_queue_roles_are_kept, QUEUES)
{
	struct ww_frame frame = WW_INIT(struct ww_frame);
	OWN(work_queue) ww_work_queue *keeper = queue_make(QUEUE(.slots = 2));
	OWN(work_queue) ww_work_queue *producer = queue_get(PRODUCER);
	OWN(work_queue) ww_work_queue *consumer = queue_get(CONSUMER);

	MUST_REFUSE(WW_ERR_ACCESS, "acquire",
		ww_work_queue_acquire(consumer, NULL, 0, NULL, &frame));
	MUST_REFUSE(WW_ERR_ACCESS, "publish", ww_work_queue_publish(keeper, &frame, NULL));
	MUST_REFUSE(WW_ERR_ACCESS, "discard", ww_work_queue_discard(consumer, &frame, NULL));
	MUST_REFUSE(WW_ERR_ACCESS, "receive",
		ww_work_queue_receive(producer, NULL, 0, NULL, &frame));
	MUST_REFUSE(WW_ERR_ACCESS, "acknowledge", ww_work_queue_acknowledge(keeper, &frame, NULL));
	MUST_REFUSE(WW_ERR_ACCESS, "reject", ww_work_queue_reject(producer, &frame));
	MUST_REFUSE(WW_ERR_ACCESS, "shut the work queue down", ww_work_queue_close(consumer));
	MUST_REFUSE(WW_ERR_INVALID, "not held", ww_work_queue_reject(consumer, &frame));
	MUST_REFUSE(WW_ERR_INVALID, "not held", ww_work_queue_discard(producer, &frame, NULL));
	frame.struct_size = offsetof(struct ww_frame, producer); /* a channel's may be so short */
	MUST_REFUSE(WW_ERR_INVALID, "struct_size", ww_work_queue_reject(consumer, &frame));
}

/* By a token for consumers nobody becomes a producer. */
SCENE_CASE(work_queue_token_opens, QUEUES)
{
	OWN(work_queue) ww_work_queue *producer;
	OWN(work_queue) ww_work_queue *consumer;
	OWN(work_queue) ww_work_queue *other;
	struct ww_token token;

	MUST_OK(ww_work_queue_create(scene.device, scene.broker, NULL, QUEUE(.role = PRODUCER),
		NULL, &producer));
	MUST_OK(ww_work_queue_export(producer, WW_ACCESS_READ, UNKEPT, NULL, &token));
	MUST_OK(ww_work_queue_import(scene.device, scene.broker, &token, MEMBER(CONSUMER), NULL,
		&consumer));
	MUST_STATUS(WW_ERR_ACCESS,
		ww_work_queue_import(scene.device, scene.broker, &token, MEMBER(PRODUCER), NULL,
			&other));
	MUST_OK(ww_work_queue_export(producer, WW_ACCESS_WRITE, UNKEPT, NULL, &token));
	MUST_OK(ww_work_queue_import(scene.device, scene.broker, &token, MEMBER(PRODUCER), NULL,
		&other));
	work_send(producer, 9);
	work_must_come(consumer, 1, 9);
	work_send(other, 8);
	work_must_come(consumer, 1, 8);
}

/* --- frames --- */

SCENE_CASE(work_queue_passes_each_frame_once, QUEUES)
{
	struct ww_work_queue_info info;
	OWN(work_queue) ww_work_queue *producer = queue_make(QUEUE(.role = PRODUCER, .slots = 3));
	OWN(work_queue) ww_work_queue *one = queue_get(CONSUMER);
	OWN(work_queue) ww_work_queue *other = queue_get(CONSUMER);

	nothing_must_come(one);
	for (uint64_t round = 0; round < 5; round++) {
		for (uint64_t i = 1; i <= 3; i++)
			work_send(producer, 3 * round + i);
		work_must_come(one, 3 * round + 1, 3 * round + 1);
		work_must_come(other, 3 * round + 2, 3 * round + 2);
		work_must_come(one, 3 * round + 3, 3 * round + 3);
	}
	nothing_must_come(other);
	info = queue_info(one);
	MUST_EQUAL(10, info.received);
	MUST_EQUAL(1, info.producers);
	MUST_EQUAL(2, info.consumers);
	MUST_EQUAL(15, queue_info(producer).published);
}

SCENE_CASE(work_queue_says_what_is_in_a_frame, QUEUES)
{
	OWN(work_queue)
	ww_work_queue *producer = queue_make(QUEUE(.role = PRODUCER, .metadata_bytes = 8));
	OWN(work_queue) ww_work_queue *consumer = queue_get(CONSUMER);
	struct ww_frame frame = work_acquire(producer);

	MUST_EQUAL(SLOT_BYTES, frame.capacity);
	MUST_EQUAL(8, frame.metadata_bytes);
	memcpy(frame.metadata, "abcdefg", 8);
	frame.bytes = 24;
	frame.ndim = 2;
	frame.shape[0] = 2;
	frame.shape[1] = 3;
	frame.bytes = SLOT_BYTES + 1;
	MUST_REFUSE(WW_ERR_INVALID, "4097", ww_work_queue_publish(producer, &frame, NULL));
	frame.bytes = 24;
	MUST_OK(ww_work_queue_publish(producer, &frame, NULL));
	MUST_REFUSE(WW_ERR_INVALID, "not held", ww_work_queue_publish(producer, &frame, NULL));
	frame = work_receive(consumer);
	MUST_EQUAL(24, frame.bytes);
	MUST_EQUAL(2, frame.ndim);
	MUST_EQUAL(3, frame.shape[1]);
	MUST_EQUAL(8, frame.metadata_bytes);
	MUST(frame.submitted_ns > 0);
	MUST(!memcmp(frame.metadata, "abcdefg", 8));
	MUST_OK(ww_work_queue_acknowledge(consumer, &frame, NULL));
	MUST_REFUSE(WW_ERR_INVALID, "not held", ww_work_queue_acknowledge(consumer, &frame, NULL));
}

/* A slot is free when its frame is done, and not when it was received. */
SCENE_CASE(work_queue_producer_waits_for_done, QUEUES)
{
	struct ww_frame frame = WW_INIT(struct ww_frame);
	struct ww_frame got;
	OWN(work_queue) ww_work_queue *producer = queue_make(QUEUE(.role = PRODUCER, .slots = 1));
	OWN(work_queue) ww_work_queue *consumer = queue_get(CONSUMER);

	work_send(producer, 1);
	MUST_REFUSE(WW_TIMED_OUT, "1 have frames that wait",
		ww_work_queue_acquire(producer, NULL, SOON_NS, NULL, &frame));
	got = work_must_be(consumer, 1, 1, 1);
	MUST_REFUSE(WW_TIMED_OUT, "1 have frames that consumers work on",
		ww_work_queue_acquire(producer, NULL, SOON_NS, NULL, &frame));
	MUST_OK(ww_work_queue_acknowledge(consumer, &got, NULL));
	MUST_OK(ww_work_queue_acquire(producer, NULL, 0, NULL, &frame));
	MUST_REFUSE(WW_ERR_STATE, "holds all 1",
		ww_work_queue_acquire(producer, NULL, 0, NULL, &got));
	MUST_OK(ww_work_queue_discard(producer, &frame, NULL));
	work_send(producer, 2);
	work_must_come(consumer, 2, 2);
}

SCENE_CASE(work_queue_held_max_is_kept, QUEUES)
{
	struct ww_frame got[2];
	struct ww_frame more = WW_INIT(struct ww_frame);
	OWN(work_queue)
	ww_work_queue *producer = queue_make(QUEUE(.role = PRODUCER, .held_max = 2));
	OWN(work_queue) ww_work_queue *consumer = queue_get(CONSUMER);

	for (uint64_t i = 1; i <= 3; i++)
		work_send(producer, i);
	got[0] = work_must_be(consumer, 1, 1, 1);
	got[1] = work_must_be(consumer, 2, 2, 1);
	MUST_REFUSE(WW_ERR_STATE, "2 of at most 2",
		ww_work_queue_receive(consumer, NULL, 0, NULL, &more));
	MUST_EQUAL(2, queue_info(consumer).held);
	MUST_OK(ww_work_queue_acknowledge(consumer, &got[1], NULL));
	work_must_come(consumer, 3, 3);
	MUST_OK(ww_work_queue_acknowledge(consumer, &got[0], NULL));
}

/* Each producer's frames are in order, and none has to wait for another producer's to be done. */
SCENE_CASE(work_queue_takes_from_producers_in_turn, QUEUES)
{
	uint64_t next[3] = {0, 1, 1};
	OWN(work_queue) ww_work_queue *one = queue_make(QUEUE(.role = PRODUCER));
	OWN(work_queue) ww_work_queue *other = queue_get(PRODUCER);
	OWN(work_queue) ww_work_queue *consumer = queue_get(CONSUMER);

	for (uint64_t i = 1; i <= 4; i++) {
		work_send(one, i);
		work_send(other, i);
	}
	for (uint32_t i = 0; i < 8; i++) {
		struct ww_frame frame = work_receive(consumer);

		MUST_EQUAL(i % 2 + 1, frame.producer);
		MUST_EQUAL(next[frame.producer], frame.number);
		next[frame.producer]++;
		MUST_OK(ww_work_queue_acknowledge(consumer, &frame, NULL));
	}
}

/* --- frames that are given out again --- */

SCENE_CASE(work_queue_rejected_frame_comes_again_first, QUEUES)
{
	struct ww_frame frame;
	OWN(work_queue) ww_work_queue *producer = queue_make(QUEUE(.role = PRODUCER));
	OWN(work_queue) ww_work_queue *consumer = queue_get(CONSUMER);

	for (uint64_t i = 1; i <= 3; i++)
		work_send(producer, i);
	frame = work_must_be(consumer, 1, 1, 1);
	MUST_OK(ww_work_queue_reject(consumer, &frame));
	MUST_REFUSE(WW_ERR_INVALID, "not held", ww_work_queue_reject(consumer, &frame));
	frame = work_must_be(consumer, 1, 1, 2);
	MUST_OK(ww_work_queue_acknowledge(consumer, &frame, NULL));
	work_must_come(consumer, 2, 2);
	work_must_come(consumer, 3, 3);
}

SCENE_CASE(work_queue_frames_of_who_leaves_come_again, QUEUES)
{
	struct ww_frame frame;
	OWN(work_queue)
	ww_work_queue *producer = queue_make(QUEUE(.role = PRODUCER, .consumers_max = 2));
	OWN(work_queue) ww_work_queue *one = queue_get(CONSUMER);
	OWN(work_queue) ww_work_queue *other = queue_get(CONSUMER);

	work_send(producer, 7);
	work_must_be(one, 1, 7, 1);
	nothing_must_come(other);
	ww_work_queue_unref(one);
	frame = work_must_be(other, 1, 7, 2);
	MUST_OK(ww_work_queue_acknowledge(other, &frame, NULL));
	one = queue_get(CONSUMER); /* its entry is free */
}

SCENE_CASE(work_queue_failed_frame_is_read, QUEUES)
{
	struct ww_frame frame;
	OWN(work_queue)
	ww_work_queue *producer = queue_make(QUEUE(.role = PRODUCER, .attempts_max = 2));
	OWN(work_queue) ww_work_queue *consumer = queue_get(CONSUMER);
	OWN(work_queue) ww_work_queue *failed = queue_get(FAILED);

	work_send(producer, 5);
	work_send(producer, 6);
	for (uint32_t attempt = 1; attempt <= 2; attempt++) {
		nothing_must_come(failed);
		frame = work_must_be(consumer, 1, 5, attempt);
		MUST_OK(ww_work_queue_reject(consumer, &frame));
	}
	MUST_EQUAL(1, queue_info(producer).failed);
	work_must_come(consumer, 2, 6);
	nothing_must_come(consumer);
	frame = work_must_be(failed, 1, 5, 3);
	MUST_OK(ww_work_queue_reject(failed, &frame)); /* it stays failed */
	nothing_must_come(consumer);
	frame = work_must_be(failed, 1, 5, 4);
	MUST_OK(ww_work_queue_acknowledge(failed, &frame, NULL));
	nothing_must_come(failed);
	MUST_EQUAL(0, queue_info(producer).failed);
}

/* A frame that nobody can work on does not stay for ever. */
SCENE_CASE(work_queue_failed_frame_ends, QUEUES)
{
	OWN(work_queue)
	ww_work_queue *producer = queue_make(QUEUE(.role = PRODUCER, .attempts_max = 1));
	OWN(work_queue) ww_work_queue *failed = queue_get(FAILED);
	OWN(work_queue) ww_work_queue *consumer = queue_get(CONSUMER);

	work_send(producer, 5);
	for (uint32_t attempt = 1; attempt <= 127; attempt++) {
		ww_work_queue *by = attempt == 1 ? consumer : failed;
		struct ww_frame frame = work_must_be(by, 1, 5, attempt);

		MUST_OK(ww_work_queue_reject(by, &frame));
	}
	nothing_must_come(failed);
}

SCENE_CASE(work_queue_failed_frames_make_room, QUEUES)
{
	struct ww_frame frame;
	OWN(work_queue)
	ww_work_queue *producer = queue_make(
		QUEUE(.role = PRODUCER, .slots = 3, .attempts_max = 1, .failed_max = 2));
	OWN(work_queue) ww_work_queue *consumer = queue_get(CONSUMER);
	OWN(work_queue) ww_work_queue *failed = queue_get(FAILED);

	for (uint64_t i = 1; i <= 5; i++) {
		work_send(producer, i);
		frame = work_must_be(consumer, i, i, 1);
		MUST_OK(ww_work_queue_reject(consumer, &frame));
	}
	MUST_EQUAL(2, queue_info(producer).dropped);
	MUST_EQUAL(2, queue_info(producer).dropped_total);
	MUST_EQUAL(5, queue_info(failed).failed_total);
	frame = work_must_be(failed, 3, 3, 2);
	MUST_OK(ww_work_queue_acknowledge(failed, &frame, NULL));
	frame = work_must_be(failed, 4, 4, 2);
	MUST_OK(ww_work_queue_acknowledge(failed, &frame, NULL));
}

/* --- producers that leave, and the end --- */

/* Also when no consumer was there at that time. */
SCENE_CASE(work_queue_frames_outlive_their_producer, QUEUES)
{
	OWN(work_queue) ww_work_queue *consumer;
	OWN(work_queue) ww_work_queue *keeper = queue_make(QUEUE(.producers_max = 1));
	OWN(work_queue) ww_work_queue *producer = queue_get(PRODUCER);

	work_send(producer, 1);
	work_send(producer, 2);
	ww_work_queue_unref(producer);
	MUST_REFUSE(WW_ERR_LIMIT, "producers_max",
		ww_work_queue_get(scene.device, scene.broker, "q", MEMBER(PRODUCER), 0, NULL,
			&producer));
	consumer = queue_get(CONSUMER);
	work_must_come(consumer, 1, 1);
	work_must_come(consumer, 2, 2);
	producer = queue_get(PRODUCER); /* its entry is free */
	work_send(producer, 3);
	work_must_come(consumer, 1, 3);
}

/* Both consumers go on reading the frame that each has, and neither waits for the other one. */
SCENE_CASE(work_queue_finished_frames_end, QUEUES)
{
	struct ww_frame frame = WW_INIT(struct ww_frame);
	struct ww_frame got[2];
	ww_work_queue *consumers[2];
	uint64_t value;
	OWN(work_queue) ww_work_queue *keeper = queue_make(QUEUE(.slots = 4, .held_max = 2));
	ww_work_queue *producer = queue_get(PRODUCER);

	for (int i = 0; i < 2; i++) {
		consumers[i] = queue_get(CONSUMER);
		work_send(producer, 1 + i);
		got[i] = work_must_be(consumers[i], 1 + i, 1 + i, 1);
		MUST_STATUS(WW_NOT_READY, ww_work_queue_finish(consumers[i], &got[i], NULL));
	}
	MUST_OK(ww_work_queue_close(keeper));
	ww_work_queue_unref(producer);
	for (int i = 0; i < 2; i++) {
		nothing_must_come(consumers[i]);
		MUST_OK(ww_work_queue_finish(consumers[i], &got[i], NULL));
		MUST_OK(ww_work_queue_finish(consumers[i], &got[i], NULL));
	}
	for (int i = 0; i < 2; i++) {
		MUST_STATUS(WW_END,
			ww_work_queue_receive(consumers[i], NULL, WW_FOREVER, NULL, &frame));
		MUST(frame_read(&got[i], &value) && value == (uint64_t)i + 1);
		MUST_EQUAL(1, queue_info(consumers[i]).held);
	}
	MUST_OK(ww_work_queue_acknowledge(consumers[0], &got[0], NULL));
	MUST_EQUAL(0, queue_info(consumers[0]).held);
	MUST_OK(ww_work_queue_reject(consumers[1], &got[1])); /* it is done */
	MUST_STATUS(WW_END, ww_work_queue_receive(consumers[1], NULL, WW_FOREVER, NULL, &frame));
	MUST_EQUAL(2, queue_info(keeper).acknowledged_total);
	ww_work_queue_unref(consumers[0]);
	ww_work_queue_unref(consumers[1]);
}

SCENE_CASE(work_queue_closed_ends, QUEUES)
{
	struct ww_frame frame = WW_INIT(struct ww_frame);
	struct ww_frame got;
	struct ww_frame held;
	OWN(work_queue) ww_work_queue *keeper = queue_make(QUEUE(.slots = 4));
	OWN(work_queue) ww_work_queue *producer = queue_get(PRODUCER);
	OWN(work_queue) ww_work_queue *one = queue_get(CONSUMER);
	OWN(work_queue) ww_work_queue *other = queue_get(CONSUMER);

	work_send(producer, 1);
	held = work_acquire(producer);
	MUST_OK(ww_work_queue_close(keeper));
	MUST_STATUS(WW_END, ww_work_queue_acquire(producer, NULL, 0, NULL, &frame));
	MUST_REFUSE(WW_ERR_STATE, "was shut down",
		ww_work_queue_get(scene.device, scene.broker, "q", MEMBER(PRODUCER), 0, NULL,
			&(ww_work_queue *){NULL}));
	got = work_must_be(one, 1, 1, 1);
	nothing_must_come(other); /* the producer holds a slot */
	frame_write(&held, 2);
	MUST_OK(ww_work_queue_publish(producer, &held, NULL));
	work_must_come(other, 2, 2);
	nothing_must_come(other); /* what the other one has may come again */
	MUST_EQUAL(1, queue_info(other).is_closed);
	MUST_OK(ww_work_queue_acknowledge(one, &got, NULL));
	MUST_STATUS(WW_END, ww_work_queue_receive(other, NULL, WW_FOREVER, NULL, &frame));
	MUST_STATUS(WW_END, ww_work_queue_receive(one, NULL, WW_FOREVER, NULL, &frame));
}

/* One producer that leaves is not enough; a further one can still come after the end. */
SCENE_CASE(work_queue_ends_after_producers, QUEUES)
{
	struct ww_frame frame = WW_INIT(struct ww_frame);
	OWN(work_queue)
	ww_work_queue *one = queue_make(QUEUE(.role = CONSUMER, .end_after_producers = 2));
	OWN(work_queue) ww_work_queue *other = queue_get(CONSUMER);
	ww_work_queue *producer = queue_get(PRODUCER);

	MUST_REFUSE(WW_ERR_INVALID, "does not receive",
		ww_work_queue_get(scene.device, scene.broker, "q",
			MEMBER(PRODUCER, .end_after_producers = 2), 0, NULL,
			&(ww_work_queue *){NULL}));
	work_send(producer, 1);
	ww_work_queue_unref(producer);
	work_must_come(one, 1, 1);
	nothing_must_come(one);
	for (uint32_t i = 2; i <= 3; i++) {
		producer = queue_get(PRODUCER);
		nothing_must_come(one); /* it is there */
		work_send(producer, i);
		ww_work_queue_unref(producer);
		frame = work_must_be(other, 1, i, 1);
		nothing_must_come(one); /* this may come again */
		MUST_OK(ww_work_queue_acknowledge(other, &frame, NULL));
		MUST_STATUS(WW_END, ww_work_queue_receive(one, NULL, WW_FOREVER, NULL, &frame));
	}
	nothing_must_come(other);
}

SCENE_CASE(work_queue_consumers_max_is_kept, QUEUES)
{
	ww_work_queue *more;
	OWN(work_queue) ww_work_queue *keeper = queue_make(QUEUE(.consumers_max = 1));
	OWN(work_queue) ww_work_queue *consumer = queue_get(CONSUMER);

	MUST_REFUSE(WW_ERR_LIMIT, "consumers_max",
		ww_work_queue_get(scene.device, scene.broker, "q", MEMBER(FAILED), 0, NULL, &more));
	ww_work_queue_unref(consumer);
	consumer = queue_get(FAILED);
}

/* --- waiting --- */

static void *send_one(void *producer)
{
	work_send(producer, 3);
	return NULL;
}

SCENE_CASE(work_queue_waits_end, QUEUES)
{
	struct ww_frame frame;
	pthread_t thread;
	OWN(work_queue) ww_work_queue *producer = queue_make(QUEUE(.role = PRODUCER, .slots = 1));
	OWN(work_queue) ww_work_queue *consumer = queue_get(CONSUMER);

	MUST_EQUAL(0, pthread_create(&thread, NULL, send_one, producer));
	frame = work_must_be(consumer, 1, 3, 1);
	MUST_EQUAL(0, pthread_join(thread, NULL));
	MUST_EQUAL(0, pthread_create(&thread, NULL, send_one, producer));
	MUST_OK(ww_work_queue_acknowledge(consumer, &frame, NULL));
	MUST_EQUAL(0, pthread_join(thread, NULL));
	work_must_come(consumer, 2, 3);
}

SCENE_CASE(work_queue_cancel_ends_waits, QUEUES)
{
	struct ww_frame frame = WW_INIT(struct ww_frame);
	OWN(work_queue) ww_work_queue *producer;
	OWN(work_queue) ww_work_queue *consumer;
	OWN(cancel) ww_cancel *cancel;

	MUST_OK(ww_cancel_create(&cancel));
	ww_cancel_set(cancel);
	producer = queue_make(QUEUE(.role = PRODUCER, .slots = 1));
	consumer = queue_get(CONSUMER);
	MUST_STATUS(WW_CANCELLED,
		ww_work_queue_receive(consumer, NULL, WW_FOREVER, cancel, &frame));
	work_send(producer, 1);
	MUST_STATUS(WW_CANCELLED,
		ww_work_queue_acquire(producer, NULL, WW_FOREVER, cancel, &frame));
}

/* --- streams --- */

SCENE_CASE(work_queue_stream_orders, QUEUE_STREAMS)
{
	static struct gate gate;
	struct ww_frame frame = WW_INIT(struct ww_frame);
	struct ww_frame got = WW_INIT(struct ww_frame);
	uint32_t copy = 0;
	OWN(memory) ww_memory *to = memory_make(scene.device, WW_MEMORY_VMM, SLOT_BYTES);
	OWN(stream) ww_stream *writes = stream_make(scene.device);
	OWN(stream) ww_stream *reads = stream_make(scene.device);
	OWN(work_queue) ww_work_queue *producer = queue_make(QUEUE(.role = PRODUCER, .slots = 1));
	OWN(work_queue) ww_work_queue *consumer = queue_get(CONSUMER);

	MUST_OK(ww_work_queue_acquire(producer, writes, WW_FOREVER, NULL, &frame));
	gate_close(&gate, writes);
	MUST_OK(ww_stream_fill(writes, frame.pointer, 0xabcd1234, 4, 16));
	frame.metadata_bytes = 0;
	MUST_OK(ww_work_queue_publish(producer, &frame, writes));
	/* The frame is there, and not complete. */
	MUST_STATUS(WW_TIMED_OUT, ww_work_queue_receive(consumer, NULL, SOON_NS, NULL, &got));
	MUST_OK(ww_work_queue_receive(consumer, reads, WW_FOREVER, NULL, &got));
	MUST_OK(ww_stream_copy(reads, ww_memory_pointer(to), got.pointer, sizeof(copy)));
	MUST_OK(ww_work_queue_acknowledge(consumer, &got, reads));
	/* It is acknowledged, and not done. */
	MUST_STATUS(WW_TIMED_OUT, ww_work_queue_acquire(producer, NULL, SOON_NS, NULL, &frame));
	MUST_EQUAL(1, queue_info(producer).claimed);
	gate_open(&gate);
	MUST_OK(ww_work_queue_acquire(producer, NULL, WW_FOREVER, NULL, &frame));
	MUST_OK(ww_stream_synchronize(reads, WW_FOREVER, NULL));
	memory_get(to, 0, &copy, sizeof(copy));
	MUST_EQUAL(0xabcd1234, copy);
}

/* A slot whose discard is not complete is free for a stream, and for the CPU later. */
SCENE_CASE(work_queue_stream_discards, QUEUE_STREAMS)
{
	static struct gate gate;
	struct ww_frame frame = WW_INIT(struct ww_frame);
	OWN(stream) ww_stream *stream = stream_make(scene.device);
	OWN(work_queue) ww_work_queue *producer = queue_make(QUEUE(.role = PRODUCER, .slots = 1));

	MUST_OK(ww_work_queue_acquire(producer, stream, WW_FOREVER, NULL, &frame));
	gate_close(&gate, stream);
	MUST_OK(ww_work_queue_discard(producer, &frame, stream));
	MUST_STATUS(WW_TIMED_OUT, ww_work_queue_acquire(producer, NULL, SOON_NS, NULL, &frame));
	MUST_OK(ww_work_queue_acquire(producer, stream, 0, NULL, &frame));
	MUST_OK(ww_work_queue_discard(producer, &frame, NULL));
	gate_open(&gate);
	MUST_OK(ww_work_queue_acquire(producer, NULL, WW_FOREVER, NULL, &frame));
}

/* --- many at once --- */

#define MEMBERS 3
#define FRAMES  2000

static void *send_all(void *producer)
{
	for (uint64_t i = 1; i <= FRAMES; i++)
		work_send(producer, i);
	ww_work_queue_unref(producer);
	return NULL;
}

struct taking {
	ww_work_queue *queue;
	uint64_t sum;
};

static void *take_all(void *context)
{
	struct ww_frame frame = WW_INIT(struct ww_frame);
	struct taking *taking = context;
	uint64_t last[MEMBERS + 1] = {0};
	uint64_t value;

	while (ww_work_queue_receive(taking->queue, NULL, WW_FOREVER, NULL, &frame) == WW_OK) {
		MUST(frame_read(&frame, &value));
		MUST_EQUAL(frame.number, value);
		MUST(frame.producer <= MEMBERS && frame.number > last[frame.producer]);
		last[frame.producer] = frame.number;
		taking->sum += value;
		MUST_OK(ww_work_queue_acknowledge(taking->queue, &frame, NULL));
	}
	return NULL;
}

SCENE_CASE(work_queue_many_pass_all, QUEUES)
{
	pthread_t producers[MEMBERS];
	pthread_t consumers[MEMBERS];
	struct taking takings[MEMBERS];
	uint64_t sum = 0;
	OWN(work_queue) ww_work_queue *keeper = queue_make(QUEUE(.slots = 4));

	for (int i = 0; i < MEMBERS; i++) {
		takings[i] = (struct taking){queue_get(CONSUMER), 0};
		MUST_EQUAL(0, pthread_create(&consumers[i], NULL, take_all, &takings[i]));
	}
	for (int i = 0; i < MEMBERS; i++)
		MUST_EQUAL(0, pthread_create(&producers[i], NULL, send_all, queue_get(PRODUCER)));
	for (int i = 0; i < MEMBERS; i++)
		MUST_EQUAL(0, pthread_join(producers[i], NULL));
	MUST_OK(ww_work_queue_close(keeper));
	for (int i = 0; i < MEMBERS; i++) {
		MUST_EQUAL(0, pthread_join(consumers[i], NULL));
		sum += takings[i].sum;
		ww_work_queue_unref(takings[i].queue);
	}
	MUST_EQUAL((uint64_t)MEMBERS * FRAMES * (FRAMES + 1) / 2, sum);
	MUST_EQUAL((uint64_t)MEMBERS * FRAMES, queue_info(keeper).published_total);
	MUST_EQUAL((uint64_t)MEMBERS * FRAMES, queue_info(keeper).acknowledged_total);
}
