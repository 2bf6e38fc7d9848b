/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel_agent.c - what agents do with channels, see channel.h
 */
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "channel/consumer.h"
#include "integration/channel.h"

static struct {
	ww_channel *channel;
	uint64_t last; /* frame sent or received */
	uint32_t generation;
	struct ww_frame held;
} own;

COMMAND_BROKER(channel, create)
{
	struct ww_channel_params params = {
		.struct_size = sizeof(params),
		.policy = agent_option("policy"),
		.slot_bytes = SLOT_BYTES,
		.slots = agent_option("slots"),
		.consumers_max = agent_option("consumers"),
		.held_max = agent_option("held"),
		.consumers_per_uid_max = agent_option("per_user"),
		.mode = (uint32_t)agent_number_option("mode", 8),
		.flags = (agent_has_option("replace") ? WW_PUT_REPLACE : 0) |
			(agent_has_option("trust") ? WW_CHANNEL_TRUST_USERS : 0),
	};
	const char *type = agent_find_option("type");

	if (type)
		strncpy(params.metadata_type, type, sizeof(params.metadata_type) - 1);
	return ww_channel_create(agent_device(), broker, agent_word(1), &params, NULL,
		&own.channel);
}

COMMAND_BROKER(channel, join)
{
	const struct ww_consumer_params *params = WW_PARAMS(struct ww_consumer_params,
		.flags = (agent_has_option("trust") ? WW_CONSUMER_TRUST_USERS : 0) |
			(agent_has_option("reattach") ? WW_CONSUMER_REATTACH : 0) |
			(agent_has_option("observe") ? WW_CONSUMER_OBSERVE : 0),
		.history = agent_number_option("history", 10),
		.metadata_type = agent_find_option("type"));

	MUST(!own.channel);
	return ww_channel_get(agent_device(), broker, agent_word(1), params,
		agent_time_option("wait_ms"), NULL, &own.channel);
}

COMMAND(channel, send)
{
	uint64_t last = own.last + agent_number(1);

	while (own.last < last)
		frame_send(own.channel, ++own.last);
	return WW_OK;
}

COMMAND(channel, stream_send)
{
	struct ww_frame frame = WW_INIT(struct ww_frame);

	MUST_OK(ww_channel_acquire(own.channel, agent_stream(), WW_FOREVER, NULL, &frame));
	agent_hold_stream();
	frame_write(&frame, ++own.last);
	return ww_channel_publish(own.channel, &frame, agent_stream());
}

COMMAND(channel, acquire)
{
	ww_stream *by = agent_has_option("stream") ? agent_stream() : NULL;
	ww_status status;

	do {
		own.held = WW_INIT(struct ww_frame);
		status = ww_channel_acquire(own.channel, by, agent_time_option("wait_ms"), NULL,
			&own.held);
	} while (status == WW_ERR_EVICTED && agent_has_option("until_free"));
	return status;
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
	if (frame.generation > own.generation)
		own.last = 0;
	MUST(frame.generation >= own.generation && frame.number > own.last);
	own.generation = frame.generation;
	own.last = frame.number;
	return ww_channel_release(own.channel, &frame, NULL);
}

COMMAND(channel, take)
{
	ww_status status = WW_OK;

	for (uint64_t i = agent_number(1); i > 0 && status == WW_OK; i--) {
		uint64_t before = own.last;

		status = take_one();
		MUST(status != WW_OK || before == 0 || own.last == 1 || own.last == before + 1);
	}
	return status;
}

COMMAND(channel, take_to)
{
	ww_status status = WW_OK;

	while (own.last < agent_number(1) && status == WW_OK)
		status = take_one();
	return status;
}

COMMAND_CALL(channel, hold, receive(&own.held, NULL))

COMMAND(channel, check)
{
	uint64_t value;

	MUST(frame_read(&own.held, &value));
	MUST_EQUAL(agent_number(1), value);
	return WW_OK;
}

COMMAND_CALL(channel, stream_hold, receive(&own.held, agent_stream()))

COMMAND_CALL(channel, release, ww_channel_release(own.channel, &own.held, NULL))

COMMAND(channel, stream_release)
{
	agent_hold_stream();
	return ww_channel_release(own.channel, &own.held, agent_stream());
}

COMMAND_CALL(channel, evict, ww_channel_evict(own.channel, (uint32_t)agent_number(1)))

/* As a hostile process may, which asks without the check of its user. */
COMMAND(channel, forge_request)
{
	struct ww_channel_consumer_info info = WW_INIT(struct ww_channel_consumer_info);

	MUST_OK(ww_channel_consumer_info_get(own.channel, 0, &info));
	ww_consumer_of(own.channel)->is_own_user = true;
	return ww_channel_evict(own.channel, info.number);
}

/* As a hostile consumer may, whose file of marks is its own to write. */
COMMAND(channel, forge)
{
	const struct ww_mapping *marks = ww_consumer_of(own.channel)->marks.mapping;
	uint64_t *words = marks->host_pointer;
	uint64_t state = 1;

	for (uint64_t i = 0; i < agent_number(1); i++) {
		uint64_t value;

		state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
		value = state >> 20 & 1 ? state : state >> 56; /* numbers of frames are small */
		__atomic_store_n(&words[(state >> 33) % (marks->bytes / sizeof(*words))], value,
			__ATOMIC_RELAXED);
	}
	return WW_OK;
}

COMMAND(channel, no_more)
{
	struct ww_frame frame = WW_INIT(struct ww_frame);

	return ww_channel_receive(own.channel, NULL, agent_time_option("wait_ms"), NULL, &frame);
}

COMMAND(channel, numbers)
{
	struct ww_channel_info info = WW_INIT(struct ww_channel_info);

	MUST_OK(ww_channel_info_get(own.channel, &info));
	MUST_EQUAL(agent_number(1), info.received);
	MUST_EQUAL(agent_number(2), info.dropped);
	return WW_OK;
}

COMMAND(channel, generation)
{
	struct ww_channel_info info = WW_INIT(struct ww_channel_info);

	MUST_OK(ww_channel_info_get(own.channel, &info));
	MUST_EQUAL(agent_number(1), info.generation);
	return WW_OK;
}

/* Takes frames as the descriptor and a wait say, until frame N of a generation. */
COMMAND(channel, watch_to)
{
	struct pollfd look = {.events = POLLIN};
	ww_status status = WW_OK;

	MUST_OK(ww_channel_eventfd(own.channel, &look.fd));
	while (status == WW_OK &&
		(own.generation < agent_number(2) || own.last < agent_number(1))) {
		struct ww_frame frame = WW_INIT(struct ww_frame);

		MUST_EQUAL(1, poll(&look, 1, -1));
		status = ww_channel_receive(own.channel, NULL, 0, NULL, &frame);
		if (status == WW_TIMED_OUT) {
			status = WW_OK;
			continue;
		}
		own.generation = frame.generation;
		own.last = frame.number;
		if (status == WW_OK)
			status = ww_channel_release(own.channel, &frame, NULL);
	}
	close(look.fd);
	return status;
}

/* As send, when the descriptor says so. */
COMMAND(channel, watch_send)
{
	struct pollfd look = {.events = POLLIN};
	uint64_t last = own.last + agent_number(1);
	ww_status status = WW_OK;

	MUST_OK(ww_channel_eventfd(own.channel, &look.fd));
	while (own.last < last) {
		struct ww_frame frame = WW_INIT(struct ww_frame);

		MUST_EQUAL(1, poll(&look, 1, -1));
		status = ww_channel_acquire(own.channel, NULL, 0, NULL, &frame);
		if (status == WW_TIMED_OUT)
			continue;
		if (status != WW_OK)
			break;
		frame_write(&frame, ++own.last);
		MUST_OK(ww_channel_publish(own.channel, &frame, NULL));
	}
	close(look.fd);
	return status;
}

COMMAND(channel, wait)
{
	uint32_t index;

	return ww_channel_wait_any(&own.channel, 1, agent_time_option("wait_ms"), NULL, &index);
}

COMMAND_CALL(channel, stream_query, ww_stream_query(agent_stream()))

COMMAND(channel, leave)
{
	own.channel = ww_channel_unref(own.channel);
	own.last = 0;
	own.generation = 0;
	return WW_OK;
}

static void let_go(void)
{
	own.channel = ww_channel_unref(own.channel);
}

AGENTS(channel, let_go)

void channel_start(struct child *agent, const struct child_options *options)
{
	child_start(agent, "channel", options);
}
