/* SPDX-License-Identifier: Apache-2.0 */
/*
 * work_queue_agent.c - what agents do with work queues, see work_queue.h
 */
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "integration/work_queue.h"

static struct {
	ww_work_queue *queue;
	uint64_t last; /* frame sent or received */
	struct ww_frame held;
} own;

COMMAND_BROKER(work_queue, create)
{
	const struct ww_work_queue_params *params = WW_PARAMS(struct ww_work_queue_params,
		.role = agent_option("role"), .slot_bytes = SLOT_BYTES,
		.slots = agent_option("slots"), .attempts_max = agent_option("attempts"),
		.failed_max = agent_option("failed"), .consumers_max = agent_option("consumers"),
		.producers_max = agent_option("producers"),
		.mode = (uint32_t)agent_number_option("mode", 8));

	return ww_work_queue_create(agent_device(), broker, agent_word(1), params, NULL,
		&own.queue);
}

/* until_free: as long as all entries are taken. */
COMMAND_BROKER(work_queue, join)
{
	ww_status status;

	MUST(!own.queue);
	do
		status = ww_work_queue_get(agent_device(), broker, agent_word(1),
			MEMBER((uint32_t)agent_number(2),
				.end_after_producers = agent_option("end_after")),
			0, NULL, &own.queue);
	while (status == WW_ERR_LIMIT && agent_has_option("until_free"));
	return status;
}

COMMAND(work_queue, send)
{
	uint64_t last = own.last + agent_number(1);

	while (own.last < last)
		work_send(own.queue, ++own.last);
	return WW_OK;
}

COMMAND(work_queue, stream_send)
{
	struct ww_frame frame = WW_INIT(struct ww_frame);

	MUST_OK(ww_work_queue_acquire(own.queue, agent_stream(), WW_FOREVER, NULL, &frame));
	agent_hold_stream();
	frame_write(&frame, ++own.last);
	return ww_work_queue_publish(own.queue, &frame, agent_stream());
}

COMMAND(work_queue, acquire)
{
	own.held = WW_INIT(struct ww_frame);
	return ww_work_queue_acquire(own.queue, NULL, agent_time_option("wait_ms"), NULL,
		&own.held);
}

static ww_status receive(ww_stream *by)
{
	own.held = WW_INIT(struct ww_frame);
	return ww_work_queue_receive(own.queue, by, WW_FOREVER, NULL, &own.held);
}

COMMAND(work_queue, hold_any)
{
	uint64_t value;
	ww_status status = receive(NULL);

	if (status != WW_OK)
		return status;
	MUST(frame_read(&own.held, &value));
	MUST_EQUAL(own.held.number, value);
	return WW_OK;
}

COMMAND(work_queue, hold)
{
	ww_status status = obey_hold_any();

	if (status != WW_OK)
		return status;
	MUST_EQUAL(agent_number(1), own.held.number);
	MUST_EQUAL(agent_number(2), own.held.attempts);
	return WW_OK;
}

COMMAND_CALL(work_queue, stream_hold, receive(agent_stream()))

COMMAND_CALL(work_queue, done, ww_work_queue_acknowledge(own.queue, &own.held, NULL))

COMMAND(work_queue, stream_done)
{
	agent_hold_stream();
	return ww_work_queue_acknowledge(own.queue, &own.held, agent_stream());
}

COMMAND_CALL(work_queue, reject, ww_work_queue_reject(own.queue, &own.held))

static ww_status take_one(void)
{
	ww_status status = obey_hold_any();

	if (status != WW_OK)
		return status;
	MUST(own.last == 0 || own.held.number == own.last + 1);
	own.last = own.held.number;
	return obey_done();
}

COMMAND(work_queue, take)
{
	ww_status status = WW_OK;

	for (uint64_t i = agent_number(1); i > 0 && status == WW_OK; i--)
		status = take_one();
	return status;
}

COMMAND(work_queue, no_more)
{
	struct ww_frame frame = WW_INIT(struct ww_frame);

	return ww_work_queue_receive(own.queue, NULL, agent_time_option("wait_ms"), NULL, &frame);
}

COMMAND(work_queue, poll)
{
	struct pollfd look = {.events = POLLIN};
	ww_status status = WW_TIMED_OUT;

	MUST_OK(ww_work_queue_eventfd(own.queue, &look.fd));
	while (status == WW_TIMED_OUT) {
		MUST_EQUAL(1, poll(&look, 1, -1));
		own.held = WW_INIT(struct ww_frame);
		status = ww_work_queue_receive(own.queue, NULL, 0, NULL, &own.held);
	}
	close(look.fd);
	return status == WW_OK ? obey_done() : status;
}

COMMAND(work_queue, numbers)
{
	struct ww_work_queue_info info = WW_INIT(struct ww_work_queue_info);

	MUST_OK(ww_work_queue_info_get(own.queue, &info));
	MUST_EQUAL(agent_number(1), info.received);
	MUST_EQUAL(agent_number(2), info.lost);
	return WW_OK;
}

COMMAND_CALL(work_queue, shut, ww_work_queue_close(own.queue))

COMMAND(work_queue, leave)
{
	own.queue = ww_work_queue_unref(own.queue);
	own.last = 0;
	return WW_OK;
}

static void let_go(void)
{
	own.queue = ww_work_queue_unref(own.queue);
}

AGENTS(work_queue, let_go)

void queue_start(struct child *agent)
{
	child_start(agent, "work_queue", NULL);
}
