/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel_agent.c - what agents do with channels, see channel.h
 */
#include <stdlib.h>

#include "integration/channel.h"
#include "support/stream_gate.h"

static struct {
	ww_channel *channel;
	ww_stream *stream;
	struct gate gate;
	bool is_closed; /* the gate */
	uint64_t last;  /* frame sent or received */
	struct ww_frame held;
} own;

static uint64_t number(size_t word)
{
	return strtoull(agent_word(word), NULL, 10);
}

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
	const struct ww_channel_params params = {
		.struct_size = sizeof(params),
		.policy = option("policy"),
		.slot_bytes = SLOT_BYTES,
		.slots = option("slots"),
		.consumers_max = option("consumers"),
		.held_max = option("held"),
		.mode = (uint32_t)agent_number_option("mode", 8),
		.flags = agent_has_option("replace") ? WW_PUT_REPLACE : 0,
	};
	ww_broker *broker;
	ww_status status = agent_broker(&broker);

	return status ? status
		      : ww_channel_create(agent_device(), broker, agent_word(1), &params, NULL,
				&own.channel);
}

static ww_status obey_join(void)
{
	const struct ww_consumer_params params = {
		.struct_size = sizeof(params),
		.history = agent_number_option("history", 10),
	};
	ww_broker *broker;
	ww_status status = agent_broker(&broker);

	MUST(!own.channel);
	return status ? status
		      : ww_channel_get(agent_device(), broker, agent_word(1), &params,
				agent_time_option("wait_ms"), NULL, &own.channel);
}

static ww_status obey_send(void)
{
	uint64_t last = own.last + number(1);

	while (own.last < last)
		frame_send(own.channel, ++own.last);
	return WW_OK;
}

static ww_status obey_stream_send(void)
{
	struct ww_frame frame = WW_INIT(struct ww_frame);

	MUST_OK(ww_channel_acquire(own.channel, stream(), WW_FOREVER, NULL, &frame));
	gate_close(&own.gate, stream());
	own.is_closed = true;
	frame_write(&frame, ++own.last);
	return ww_channel_publish(own.channel, &frame, stream());
}

static ww_status obey_acquire(void)
{
	own.held = WW_INIT(struct ww_frame);
	return ww_channel_acquire(own.channel, NULL, agent_time_option("wait_ms"), NULL, &own.held);
}

static ww_status receive(struct ww_frame *frame, ww_stream *by)
{
	*frame = WW_INIT(struct ww_frame);
	return ww_channel_receive(own.channel, by, WW_FOREVER, NULL, frame);
}

static ww_status take_one(void)
{
	struct ww_frame frame;
	uint64_t value;
	ww_status status = receive(&frame, NULL);

	if (status != WW_OK)
		return status;
	MUST(frame_read(&frame, &value));
	MUST_EQUAL(frame.number, value);
	MUST(frame.number > own.last);
	own.last = frame.number;
	return ww_channel_release(own.channel, &frame, NULL);
}

static ww_status obey_take(void)
{
	ww_status status = WW_OK;

	for (uint64_t i = number(1); i > 0 && status == WW_OK; i--) {
		uint64_t before = own.last;

		status = take_one();
		MUST(status != WW_OK || before == 0 || own.last == before + 1);
	}
	return status;
}

static ww_status obey_take_to(void)
{
	ww_status status = WW_OK;

	while (own.last < number(1) && status == WW_OK)
		status = take_one();
	return status;
}

static ww_status obey_hold(void)
{
	return receive(&own.held, NULL);
}

static ww_status obey_stream_hold(void)
{
	return receive(&own.held, stream());
}

static ww_status obey_release(void)
{
	return ww_channel_release(own.channel, &own.held, NULL);
}

static ww_status obey_no_more(void)
{
	struct ww_frame frame = WW_INIT(struct ww_frame);

	return ww_channel_receive(own.channel, NULL, agent_time_option("wait_ms"), NULL, &frame);
}

static ww_status obey_numbers(void)
{
	struct ww_channel_info info = WW_INIT(struct ww_channel_info);

	MUST_OK(ww_channel_info_get(own.channel, &info));
	MUST_EQUAL(number(1), info.received);
	MUST_EQUAL(number(2), info.dropped);
	return WW_OK;
}

static ww_status obey_go(void)
{
	gate_open(&own.gate);
	own.is_closed = false;
	return WW_OK;
}

static ww_status obey_leave(void)
{
	own.channel = ww_channel_unref(own.channel);
	own.last = 0;
	return WW_OK;
}

static void let_go(void)
{
	if (own.is_closed)
		gate_open(&own.gate);
	own.stream = ww_stream_unref(own.stream);
	own.channel = ww_channel_unref(own.channel);
}

static const struct agent_command commands[] = {
	{"create", obey_create},
	{"join", obey_join},
	{"send", obey_send},
	{"stream_send", obey_stream_send},
	{"acquire", obey_acquire},
	{"take", obey_take},
	{"take_to", obey_take_to},
	{"hold", obey_hold},
	{"stream_hold", obey_stream_hold},
	{"release", obey_release},
	{"no_more", obey_no_more},
	{"numbers", obey_numbers},
	{"go", obey_go},
	{"leave", obey_leave},
};

ROLE(role_channel)
{
	(void)count;
	(void)arguments;
	agent_extend(commands, CHECK_COUNT(commands), let_go);
	agent_serve();
}

void channel_start(struct child *agent, const struct child_options *options)
{
	child_start(agent, "role_channel", options);
}
