/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel_agent.c - what agents do with channels, see channel.h
 */
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "channel/consumer.h"
#include "integration/channel.h"
#include "support/stream_gate.h"

static struct {
	ww_channel *channel;
	ww_stream *stream;
	struct gate gate;
	bool is_closed; /* the gate */
	uint64_t last;  /* frame sent or received */
	uint32_t generation;
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
	struct ww_channel_params params = {
		.struct_size = sizeof(params),
		.policy = option("policy"),
		.slot_bytes = SLOT_BYTES,
		.slots = option("slots"),
		.consumers_max = option("consumers"),
		.held_max = option("held"),
		.consumers_per_uid_max = option("per_user"),
		.mode = (uint32_t)agent_number_option("mode", 8),
		.flags = (agent_has_option("replace") ? WW_PUT_REPLACE : 0) |
			(agent_has_option("trust") ? WW_CHANNEL_TRUST_USERS : 0),
	};
	ww_broker *broker;
	ww_status status = agent_broker(&broker);
	const char *type = agent_find_option("type");

	if (type)
		strncpy(params.metadata_type, type, sizeof(params.metadata_type) - 1);
	return status ? status
		      : ww_channel_create(agent_device(), broker, agent_word(1), &params, NULL,
				&own.channel);
}

static ww_status obey_join(void)
{
	const struct ww_consumer_params *params = WW_PARAMS(struct ww_consumer_params,
		.flags = (agent_has_option("trust") ? WW_CONSUMER_TRUST_USERS : 0) |
			(agent_has_option("reattach") ? WW_CONSUMER_REATTACH : 0) |
			(agent_has_option("observe") ? WW_CONSUMER_OBSERVE : 0),
		.history = agent_number_option("history", 10),
		.metadata_type = agent_find_option("type"));
	ww_broker *broker;
	ww_status status = agent_broker(&broker);

	MUST(!own.channel);
	return status ? status
		      : ww_channel_get(agent_device(), broker, agent_word(1), params,
				agent_time_option("wait_ms"), NULL, &own.channel);
}

static ww_status obey_send(void)
{
	uint64_t last = own.last + agent_number(1);

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
	ww_stream *by = agent_has_option("stream") ? stream() : NULL;
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

static ww_status obey_take(void)
{
	ww_status status = WW_OK;

	for (uint64_t i = agent_number(1); i > 0 && status == WW_OK; i--) {
		uint64_t before = own.last;

		status = take_one();
		MUST(status != WW_OK || before == 0 || own.last == 1 || own.last == before + 1);
	}
	return status;
}

static ww_status obey_take_to(void)
{
	ww_status status = WW_OK;

	while (own.last < agent_number(1) && status == WW_OK)
		status = take_one();
	return status;
}

static ww_status obey_hold(void)
{
	return receive(&own.held, NULL);
}

static ww_status obey_check(void)
{
	uint64_t value;

	MUST(frame_read(&own.held, &value));
	MUST_EQUAL(agent_number(1), value);
	return WW_OK;
}

static ww_status obey_stream_hold(void)
{
	return receive(&own.held, stream());
}

static ww_status obey_release(void)
{
	return ww_channel_release(own.channel, &own.held, NULL);
}

static ww_status obey_stream_release(void)
{
	gate_close(&own.gate, stream());
	own.is_closed = true;
	return ww_channel_release(own.channel, &own.held, stream());
}

/* Shuts the socket down, as when the broker ends the connection. */
static ww_status obey_cut(void)
{
	int count = 0;

	for (int fd = 3; fd < 64; fd++) {
		struct sockaddr_un peer = {0}; /* of a pair it has no path */
		socklen_t length = sizeof(peer);

		if (getpeername(fd, (struct sockaddr *)&peer, &length) == 0 &&
			peer.sun_family == AF_UNIX && peer.sun_path[0] == '/') {
			MUST_CALL(shutdown(fd, SHUT_RDWR));
			count++;
		}
	}
	MUST_EQUAL(1, count);
	return WW_OK;
}

static ww_status obey_evict(void)
{
	return ww_channel_evict(own.channel, (uint32_t)agent_number(1));
}

/* As a hostile process may, which asks without the check of its user. */
static ww_status obey_forge_request(void)
{
	struct ww_channel_consumer_info info = WW_INIT(struct ww_channel_consumer_info);

	MUST_OK(ww_channel_consumer_info_get(own.channel, 0, &info));
	ww_consumer_of(own.channel)->is_own_user = true;
	return ww_channel_evict(own.channel, info.number);
}

/* As a hostile consumer may, whose file of marks is its own to write. */
static ww_status obey_forge(void)
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

static ww_status obey_no_more(void)
{
	struct ww_frame frame = WW_INIT(struct ww_frame);

	return ww_channel_receive(own.channel, NULL, agent_time_option("wait_ms"), NULL, &frame);
}

static ww_status obey_numbers(void)
{
	struct ww_channel_info info = WW_INIT(struct ww_channel_info);

	MUST_OK(ww_channel_info_get(own.channel, &info));
	MUST_EQUAL(agent_number(1), info.received);
	MUST_EQUAL(agent_number(2), info.dropped);
	return WW_OK;
}

static ww_status obey_generation(void)
{
	struct ww_channel_info info = WW_INIT(struct ww_channel_info);

	MUST_OK(ww_channel_info_get(own.channel, &info));
	MUST_EQUAL(agent_number(1), info.generation);
	return WW_OK;
}

/* Takes frames as the descriptor and a wait say, until frame N of a generation. */
static ww_status obey_watch_to(void)
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
static ww_status obey_watch_send(void)
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

static ww_status obey_wait(void)
{
	uint32_t index;

	return ww_channel_wait_any(&own.channel, 1, agent_time_option("wait_ms"), NULL, &index);
}

static ww_status obey_go(void)
{
	gate_open(&own.gate);
	own.is_closed = false;
	return WW_OK;
}

static ww_status obey_stream_query(void)
{
	return ww_stream_query(stream());
}

static ww_status obey_leave(void)
{
	own.channel = ww_channel_unref(own.channel);
	own.last = 0;
	own.generation = 0;
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
	{"evict", obey_evict},
	{"forge", obey_forge},
	{"forge_request", obey_forge_request},
	{"take", obey_take},
	{"take_to", obey_take_to},
	{"hold", obey_hold},
	{"check", obey_check},
	{"stream_hold", obey_stream_hold},
	{"release", obey_release},
	{"stream_release", obey_stream_release},
	{"cut", obey_cut},
	{"no_more", obey_no_more},
	{"numbers", obey_numbers},
	{"generation", obey_generation},
	{"watch_to", obey_watch_to},
	{"watch_send", obey_watch_send},
	{"wait", obey_wait},
	{"go", obey_go},
	{"stream_query", obey_stream_query},
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
