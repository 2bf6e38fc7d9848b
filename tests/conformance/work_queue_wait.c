/* SPDX-License-Identifier: Apache-2.0 */
/*
 * work_queue_wait.c - work queues in event loops: descriptors that are readable while a member can
 * go on
 *
 * A descriptor that is not readable may become so a little after the call of another member, so the
 * cases say "not yet" only of what nobody changes.
 */
#include <pthread.h>
#include <unistd.h>

#include "conformance/work_queue.h"
#include "support/readable.h"
#include "support/stream_gate.h"
#include "support/subject.h"

static int queue_fd(ww_work_queue *queue)
{
	int fd;

	MUST_OK(ww_work_queue_eventfd(queue, &fd));
	return fd;
}

static ww_status try_receive(ww_work_queue *queue, struct ww_frame *frame)
{
	*frame = WW_INIT(struct ww_frame);
	return ww_work_queue_receive(queue, NULL, 0, NULL, frame);
}

static ww_status try_acquire(ww_work_queue *queue, struct ww_frame *frame)
{
	*frame = WW_INIT(struct ww_frame);
	return ww_work_queue_acquire(queue, NULL, 0, NULL, frame);
}

/* As an event loop: the descriptor may be readable for nothing. */
static void poll_and_receive(ww_work_queue *queue, int fd, struct ww_frame *frame)
{
	ww_status status = WW_TIMED_OUT;

	while (status == WW_TIMED_OUT) {
		MUST(becomes_readable(fd));
		status = try_receive(queue, frame);
	}
	MUST_OK(status);
}

static void poll_and_acquire(ww_work_queue *queue, int fd, struct ww_frame *frame)
{
	ww_status status = WW_TIMED_OUT;

	while (status == WW_TIMED_OUT) {
		MUST(becomes_readable(fd));
		status = try_acquire(queue, frame);
	}
	MUST_OK(status);
}

SCENE_CASE(work_queue_eventfd_of_consumer, QUEUES)
{
	struct ww_frame frame;
	OWN(work_queue)
	ww_work_queue *producer = queue_make(QUEUE(.role = PRODUCER, .slots = 4));
	ww_work_queue *consumer = queue_get(CONSUMER);
	OWN(fd) int fd = queue_fd(consumer);

	MUST(!is_readable(fd));
	work_send(producer, 1);
	MUST(becomes_readable(fd));
	work_send(producer, 2);
	MUST_OK(try_receive(consumer, &frame));
	MUST(!is_readable(fd)); /* it holds as many as it may */
	MUST_OK(ww_work_queue_reject(consumer, &frame));
	MUST(is_readable(fd));
	for (int i = 0; i < 2; i++) {
		MUST_OK(try_receive(consumer, &frame));
		MUST_OK(ww_work_queue_acknowledge(consumer, &frame, NULL));
		MUST_EQUAL(i == 0, is_readable(fd));
	}
	MUST_STATUS(WW_TIMED_OUT, try_receive(consumer, &frame));
	MUST(!is_readable(fd));
	frame = work_acquire(producer);
	MUST_OK(ww_work_queue_close(producer));
	MUST(!is_readable(fd)); /* the producer may publish what it holds */
	MUST_OK(ww_work_queue_discard(producer, &frame, NULL));
	MUST(becomes_readable(fd));
	MUST_STATUS(WW_END, try_receive(consumer, &frame));
	MUST(is_readable(fd));
	consumer = ww_work_queue_unref(consumer);
	MUST(is_readable(fd));
}

SCENE_CASE(work_queue_eventfd_of_producer, QUEUES)
{
	struct ww_frame frames[2];
	struct ww_frame frame;
	OWN(work_queue)
	ww_work_queue *producer = queue_make(
		QUEUE(.role = PRODUCER, .slots = 2, .attempts_max = 1, .failed_max = 1));
	OWN(work_queue) ww_work_queue *consumer = queue_get(CONSUMER);
	OWN(fd) int fd = queue_fd(producer);

	MUST(is_readable(fd));
	MUST_OK(try_acquire(producer, &frames[0]));
	MUST(is_readable(fd));
	MUST_OK(try_acquire(producer, &frames[1]));
	MUST(!is_readable(fd)); /* it holds all of them */
	MUST_OK(ww_work_queue_discard(producer, &frames[1], NULL));
	MUST(is_readable(fd));
	MUST_OK(try_acquire(producer, &frames[1]));
	for (int i = 0; i < 2; i++)
		MUST_OK(ww_work_queue_publish(producer, &frames[i], NULL));
	MUST(!is_readable(fd));
	MUST_OK(try_receive(consumer, &frame));
	MUST_OK(ww_work_queue_acknowledge(consumer, &frame, NULL));
	poll_and_acquire(producer, fd, &frames[0]);
	MUST_OK(ww_work_queue_publish(producer, &frames[0], NULL));
	for (int i = 0; i < 2; i++) { /* of two that fail, one is kept */
		MUST_OK(try_receive(consumer, &frame));
		MUST_OK(ww_work_queue_reject(consumer, &frame));
	}
	poll_and_acquire(producer, fd, &frames[0]);
	MUST_OK(ww_work_queue_publish(producer, &frames[0], NULL));
	MUST(!is_readable(fd));
	MUST_OK(ww_work_queue_close(producer));
	MUST(is_readable(fd));
	MUST_STATUS(WW_END, try_acquire(producer, &frame));
}

/* By another member, which rings nobody's bell. */
SCENE_CASE(work_queue_eventfd_shows_close, QUEUES)
{
	struct ww_frame frame;
	OWN(fd) int fd;
	OWN(work_queue)
	ww_work_queue *keeper = queue_make(QUEUE(.slots = 1, .failed_max = UINT32_MAX));
	OWN(work_queue) ww_work_queue *producer = queue_get(PRODUCER);

	work_send(producer, 1);
	fd = queue_fd(producer);
	MUST(!is_readable(fd));
	MUST_OK(ww_work_queue_close(keeper));
	MUST(becomes_readable(fd));
	MUST_STATUS(WW_END, try_acquire(producer, &frame));
}

/* A frame of a producer that came later than the descriptor. */
SCENE_CASE(work_queue_eventfd_shows_newcomers, QUEUES)
{
	struct ww_frame frame;
	OWN(work_queue) ww_work_queue *producer;
	OWN(work_queue) ww_work_queue *consumer = queue_make(QUEUE(.role = CONSUMER));
	OWN(fd) int fd = queue_fd(consumer);

	MUST(!is_readable(fd));
	producer = queue_get(PRODUCER);
	work_send(producer, 1);
	poll_and_receive(consumer, fd, &frame);
	MUST_OK(ww_work_queue_acknowledge(consumer, &frame, NULL));
	MUST(!is_readable(fd));
}

SCENE_CASE(work_queue_eventfd_is_for_members, QUEUES)
{
	int fd = 0;
	OWN(work_queue)
	ww_work_queue *keeper = queue_make(QUEUE(.slots = 1, .failed_max = UINT32_MAX));

	MUST_REFUSE(WW_ERR_ACCESS, "as a producer or consumer", ww_work_queue_eventfd(keeper, &fd));
	MUST_EQUAL(-1, fd);
}

/* What a stream does: readable when it is complete. */
SCENE_CASE(work_queue_eventfd_waits_for_streams, QUEUE_STREAMS)
{
	struct ww_frame frame = WW_INIT(struct ww_frame);
	static struct gate gate;
	OWN(stream) ww_stream *stream = stream_make(scene.device);
	OWN(work_queue)
	ww_work_queue *producer = queue_make(
		QUEUE(.role = PRODUCER, .slots = 1, .failed_max = UINT32_MAX));
	OWN(work_queue) ww_work_queue *consumer = queue_get(CONSUMER);
	OWN(fd) int reads = queue_fd(consumer);
	OWN(fd) int writes = queue_fd(producer);

	MUST_OK(ww_work_queue_acquire(producer, stream, 0, NULL, &frame));
	gate_close(&gate, stream);
	MUST_OK(ww_work_queue_publish(producer, &frame, stream));
	MUST_STATUS(WW_TIMED_OUT, try_receive(consumer, &frame));
	MUST(!is_readable(reads));
	gate_open(&gate);
	poll_and_receive(consumer, reads, &frame);
	gate_close(&gate, stream);
	MUST_OK(ww_work_queue_acknowledge(consumer, &frame, stream));
	MUST_STATUS(WW_TIMED_OUT, try_acquire(producer, &frame));
	MUST(!is_readable(writes));
	gate_open(&gate);
	poll_and_acquire(producer, writes, &frame);
	MUST_OK(ww_work_queue_publish(producer, &frame, NULL));
	poll_and_receive(consumer, reads, &frame);
	gate_close(&gate, stream);
	MUST_OK(ww_work_queue_acknowledge(consumer, &frame, stream));
	MUST_OK(ww_work_queue_close(producer));
	MUST_STATUS(WW_TIMED_OUT, try_receive(consumer, &frame)); /* it may come again */
	MUST(!is_readable(reads));
	gate_open(&gate);
	MUST(becomes_readable(reads));
	MUST_STATUS(WW_END, try_receive(consumer, &frame));
}

#define FRAMES 2000

struct consuming {
	ww_work_queue *queue;
	_Atomic uint32_t *received;
};

/* Until the end. Reports nothing: the thread that runs the case counts. */
static void *consume(void *context)
{
	const struct consuming *consuming = context;
	struct ww_frame frame;
	ww_status status = WW_OK;
	int fd;

	if (ww_work_queue_eventfd(consuming->queue, &fd) != WW_OK)
		return NULL;
	while (status == WW_OK || status == WW_TIMED_OUT) {
		if (!becomes_readable(fd))
			break;
		status = try_receive(consuming->queue, &frame);
		if (status == WW_OK)
			status = ww_work_queue_acknowledge(consuming->queue, &frame, NULL);
		else
			continue;
		*consuming->received += 1;
	}
	close(fd);
	return status == WW_END ? context : NULL;
}

/* Two that only poll get all frames of a producer that only polls. */
SCENE_CASE(work_queue_eventfd_misses_nothing, QUEUES)
{
	_Atomic uint32_t received = 0;
	struct consuming consuming[2];
	struct ww_frame frame;
	pthread_t threads[2];
	void *result;
	ww_work_queue *producer = queue_make(QUEUE(.role = PRODUCER, .slots = 2));
	OWN(fd) int fd = queue_fd(producer);

	for (int i = 0; i < 2; i++) {
		consuming[i] = (struct consuming){queue_get(CONSUMER), &received};
		MUST_EQUAL(0, pthread_create(&threads[i], NULL, consume, &consuming[i]));
	}
	for (int i = 0; i < FRAMES; i++) {
		poll_and_acquire(producer, fd, &frame);
		MUST_OK(ww_work_queue_publish(producer, &frame, NULL));
	}
	MUST_OK(ww_work_queue_close(producer));
	ww_work_queue_unref(producer);
	for (int i = 0; i < 2; i++) {
		MUST_EQUAL(0, pthread_join(threads[i], &result));
		MUST(result);
		ww_work_queue_unref(consuming[i].queue);
	}
	MUST_EQUAL(FRAMES, received);
}
