/* SPDX-License-Identifier: Apache-2.0 */
/*
 * work_queue_agent.c - what agents do with work queues, see work_queue.h
 */
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "integration/work_queue.h"
#include "support/stream_gate.h"

static struct {
	ww_work_queue *queue;
	ww_stream *stream;
	struct gate gate;
	bool is_closed; /* the gate */
	uint64_t last;  /* frame sent or received */
	struct ww_frame held;
} own;

static uint32_t option(const char *name)
{
	return (uint32_t)agent_number_option(name, 10);
}

static ww_stream *stream(void)
{
	if (!own.stream)
		own.stream = stream_make(agent_device());
	return own.stream;
}

static ww_status obey_create(void)
{
	const struct ww_work_queue_params *params = WW_PARAMS(struct ww_work_queue_params,
		.role = option("role"), .slot_bytes = SLOT_BYTES, .slots = option("slots"),
		.attempts_max = option("attempts"), .failed_max = option("failed"),
		.consumers_max = option("consumers"), .producers_max = option("producers"),
		.mode = (uint32_t)agent_number_option("mode", 8));
	ww_broker *broker;
	ww_status status = agent_broker(&broker);

	return status ? status
		      : ww_work_queue_create(agent_device(), broker, agent_word(1), params, NULL,
				&own.queue);
}

static ww_status join(ww_broker *broker)
{
	return ww_work_queue_get(agent_device(), broker, agent_word(1),
		MEMBER((uint32_t)agent_number(2)), 0, NULL, &own.queue);
}

/* until_free: as long as all entries are taken. */
static ww_status obey_join(void)
{
	ww_broker *broker;
	ww_status status = agent_broker(&broker);

	MUST(!own.queue);
	if (status != WW_OK)
		return status;
	status = join(broker);
	while (status == WW_ERR_LIMIT && agent_has_option("until_free"))
		status = join(broker);
	return status;
}

static ww_status obey_send(void)
{
	uint64_t last = own.last + agent_number(1);

	while (own.last < last)
		work_send(own.queue, ++own.last);
	return WW_OK;
}

static void close_gate(void)
{
	gate_close(&own.gate, stream());
	own.is_closed = true;
}

static ww_status obey_stream_send(void)
{
	struct ww_frame frame = WW_INIT(struct ww_frame);

	MUST_OK(ww_work_queue_acquire(own.queue, stream(), WW_FOREVER, NULL, &frame));
	close_gate();
	frame_write(&frame, ++own.last);
	return ww_work_queue_publish(own.queue, &frame, stream());
}

static ww_status obey_acquire(void)
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

static ww_status obey_hold_any(void)
{
	uint64_t value;
	ww_status status = receive(NULL);

	if (status != WW_OK)
		return status;
	MUST(frame_read(&own.held, &value));
	MUST_EQUAL(own.held.number, value);
	return WW_OK;
}

static ww_status obey_hold(void)
{
	ww_status status = obey_hold_any();

	if (status != WW_OK)
		return status;
	MUST_EQUAL(agent_number(1), own.held.number);
	MUST_EQUAL(agent_number(2), own.held.attempts);
	return WW_OK;
}

static ww_status obey_stream_hold(void)
{
	return receive(stream());
}

static ww_status obey_done(void)
{
	return ww_work_queue_acknowledge(own.queue, &own.held, NULL);
}

static ww_status obey_stream_done(void)
{
	close_gate();
	return ww_work_queue_acknowledge(own.queue, &own.held, stream());
}

static ww_status obey_reject(void)
{
	return ww_work_queue_reject(own.queue, &own.held);
}

static ww_status take_one(void)
{
	ww_status status = obey_hold_any();

	if (status != WW_OK)
		return status;
	MUST(own.last == 0 || own.held.number == own.last + 1);
	own.last = own.held.number;
	return obey_done();
}

static ww_status obey_take(void)
{
	ww_status status = WW_OK;

	for (uint64_t i = agent_number(1); i > 0 && status == WW_OK; i--)
		status = take_one();
	return status;
}

static ww_status obey_no_more(void)
{
	struct ww_frame frame = WW_INIT(struct ww_frame);

	return ww_work_queue_receive(own.queue, NULL, agent_time_option("wait_ms"), NULL, &frame);
}

static ww_status obey_poll(void)
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

static ww_status obey_numbers(void)
{
	struct ww_work_queue_info info = WW_INIT(struct ww_work_queue_info);

	MUST_OK(ww_work_queue_info_get(own.queue, &info));
	MUST_EQUAL(agent_number(1), info.received);
	MUST_EQUAL(agent_number(2), info.lost);
	return WW_OK;
}

static ww_status obey_shut(void)
{
	return ww_work_queue_close(own.queue);
}

static ww_status obey_go(void)
{
	gate_open(&own.gate);
	own.is_closed = false;
	return WW_OK;
}

static ww_status obey_leave(void)
{
	own.queue = ww_work_queue_unref(own.queue);
	own.last = 0;
	return WW_OK;
}

static void let_go(void)
{
	if (own.is_closed)
		gate_open(&own.gate);
	own.queue = ww_work_queue_unref(own.queue);
	own.stream = ww_stream_unref(own.stream);
}

static const struct agent_command commands[] = {
	{"create", obey_create},
	{"join", obey_join},
	{"send", obey_send},
	{"stream_send", obey_stream_send},
	{"acquire", obey_acquire},
	{"hold", obey_hold},
	{"hold_any", obey_hold_any},
	{"stream_hold", obey_stream_hold},
	{"done", obey_done},
	{"stream_done", obey_stream_done},
	{"reject", obey_reject},
	{"take", obey_take},
	{"no_more", obey_no_more},
	{"poll", obey_poll},
	{"numbers", obey_numbers},
	{"shut", obey_shut},
	{"go", obey_go},
	{"leave", obey_leave},
};

ROLE(role_work_queue)
{
	(void)count;
	(void)arguments;
	agent_extend(commands, CHECK_COUNT(commands), let_go);
	agent_serve();
}

void queue_start(struct child *agent)
{
	child_start(agent, "role_work_queue", NULL);
}
