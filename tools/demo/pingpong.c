/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pingpong.c - streams of two processes answer each other, by timeline and by event, side by side
 *
 *   parent                                  player
 *   timeline, event: made, shared <-------> likewise
 *   stream: signal 1, wait for the answer   stream: wait for 1, signal 1
 *   stream: signal 2, ...                   stream: wait for 2, ...
 *
 * By timeline both give their streams all rounds at once, and the streams play alone. An event
 * stands for its last recording, so each round has to be begun by the CPUs: that is what makes it
 * slow. They tell each other of a recording by a timeline that the CPU signals.
 *
 * Timelines have names in a broker. Events have none: their tokens lie in a memory that both have.
 */
#include "demo/demo.h"

#include <stdio.h>

enum side {
	PARENT,
	PLAYER,
	SIDES
};

/* By stream, and by CPU. */
static const char *const names[SIDES][2] = {
	{"demo/ping", "demo/ping/cpu"},
	{"demo/pong", "demo/pong/cpu"},
};

/* In the memory that both have. */
struct board {
	struct ww_token events[SIDES];
};

struct player {
	enum side side;
	uint64_t timeout_ns;
	ww_device *device; /* borrowed, as is the stream */
	ww_stream *stream;
	ww_broker *broker;
	ww_memory *memory;
	struct board *board;
	ww_timeline *own[2];
	ww_timeline *peers[2];
	ww_event *own_event;
	ww_event *peers_event;
};

static void own_player(struct player *player)
{
	for (int i = 0; i < 2; i++) {
		ww_timeline_unref(player->own[i]);
		ww_timeline_unref(player->peers[i]);
	}
	ww_event_unref(player->own_event);
	ww_event_unref(player->peers_event);
	ww_memory_unref(player->memory);
	ww_broker_unref(player->broker);
}

static int open_own(struct player *player)
{
	if (ww_broker_open(NULL, &player->broker) != WW_OK)
		return complain_record("cannot connect to a broker");
	for (int i = 0; i < 2; i++) {
		if (ww_timeline_create(NULL, &player->own[i]) != WW_OK ||
			ww_timeline_put(player->own[i], player->broker, names[player->side][i],
				NULL, NULL) != WW_OK)
			return complain_record("cannot share a timeline");
	}
	if (ww_event_create(player->device, NULL, &player->own_event) != WW_OK ||
		ww_event_export(player->own_event, player->broker, NULL, NULL,
			&player->board->events[player->side]) != WW_OK)
		return complain_record("cannot share an event");
	return 0;
}

static int open_peers(struct player *player)
{
	enum side peer = player->side == PARENT ? PLAYER : PARENT;

	for (int i = 0; i < 2; i++) {
		if (ww_timeline_get(player->broker, names[peer][i], 0, NULL, &player->peers[i]) !=
			WW_OK)
			return complain_record("cannot get the timeline %s", names[peer][i]);
	}
	if (ww_event_import(player->device, player->broker, &player->board->events[peer], NULL,
		    &player->peers_event) != WW_OK)
		return complain_record("cannot import an event");
	return 0;
}

/* What a call says that waits: all is well, or not. */
static int check(ww_status status)
{
	if (status == WW_TIMED_OUT)
		return complain("the other side does not answer");
	return status == WW_OK ? 0 : complain_record("cannot play");
}

static int stream_signal(struct player *player, uint64_t value)
{
	return check(ww_timeline_stream_signal(player->own[0], player->stream, value));
}

static int stream_wait(struct player *player, uint64_t value)
{
	return check(ww_timeline_stream_wait(player->peers[0], player->stream, value, 0,
		player->timeout_ns, NULL));
}

static int record(struct player *player, uint64_t value)
{
	return check(ww_event_record(player->own_event, player->stream)) ||
			check(ww_timeline_signal(player->own[1], value))
		? -1
		: 0;
}

static int wait_for_record(struct player *player, uint64_t value)
{
	return check(ww_timeline_wait(player->peers[1], value, player->timeout_ns, NULL)) ||
			check(ww_event_stream_wait(player->peers_event, player->stream)) ||
			check(ww_stream_synchronize(player->stream, WW_FOREVER, NULL))
		? -1
		: 0;
}

/* One side's part of a round. */
typedef int play_step(struct player *player, uint64_t value);

static const struct game {
	play_step *signal;
	play_step *wait;
	uint64_t warm_up; /* rounds that are not timed */
	uint64_t rounds;
} by_timeline = {stream_signal, stream_wait, 20, 500}, by_event = {record, wait_for_record, 3, 30};

static int play(struct player *player, const struct game *game, uint64_t from, uint64_t rounds)
{
	bool is_first = player->side == PARENT;
	play_step *const steps[2] = {
		is_first ? game->signal : game->wait,
		is_first ? game->wait : game->signal,
	};

	for (uint64_t value = from; value < from + rounds; value++) {
		if (steps[0](player, value) || steps[1](player, value))
			return -1;
	}
	return check(ww_stream_synchronize(player->stream, WW_FOREVER, NULL));
}

/* Plays, and says how long a round took. */
static int time_rounds(struct player *player, const struct game *game, double *out_us)
{
	uint64_t start;

	if (play(player, game, 1, game->warm_up))
		return -1;
	start = link_now_ns();
	if (play(player, game, 1 + game->warm_up, game->rounds))
		return -1;
	*out_us = (double)(link_now_ns() - start) / 1e3 / (double)game->rounds;
	return 0;
}

static int make_board(struct player *player, struct child *child)
{
	const struct ww_memory_params params = {
		.struct_size = sizeof(params),
		.kind = WW_MEMORY_HOST,
		.bytes = sizeof(struct board),
	};
	OWN(device) ww_device *host = NULL;

	if (ww_device_open("host", &host) != WW_OK ||
		ww_memory_create(host, &params, &player->memory) != WW_OK)
		return complain_record("cannot make memory");
	player->board = ww_memory_host_pointer(player->memory);
	if (open_own(player))
		return -1;
	return child_send_memory(child, player->memory, WW_ACCESS_WRITE);
}

int demo_pingpong(const struct demo *demo, struct demo_step *step)
{
	OWN(child) struct child child = CHILD_NONE;
	OWN(player)
	struct player player = {
		.side = PARENT,
		.timeout_ns = demo->timeout_ns,
		.device = demo->device,
		.stream = demo->stream,
	};
	struct link_message message;
	double timeline_us = 0;
	double event_us = 0;

	if (demo_spawn(demo, "player", &child) || make_board(&player, &child) ||
		child_receive(&child, LINK_READY, &message, NULL) || open_peers(&player))
		return -1;
	if (time_rounds(&player, &by_timeline, &timeline_us))
		return -1;
	say("%llu round trips by timeline, from a stream here to one there: %.1f us each",
		(unsigned long long)by_timeline.rounds, timeline_us);
	if (time_rounds(&player, &by_event, &event_us))
		return -1;
	say("%llu round trips by event, begun by the CPUs one by one: %.1f us each",
		(unsigned long long)by_event.rounds, event_us);
	snprintf(step->shown, sizeof(step->shown),
		"a round trip between streams of two processes: timeline %.1f us, event %.1f us",
		timeline_us, event_us);
	return child_finish(&child, 0);
}

static int take_board(struct player *player)
{
	OWN(device) ww_device *host = NULL;

	if (ww_device_open("host", &host) != WW_OK ||
		ww_memory_receive(host, LINK_FD,
			WW_PARAMS(struct ww_import_params, .access = WW_ACCESS_WRITE), WW_FOREVER,
			NULL, &player->memory) != WW_OK)
		return complain_record("cannot receive memory");
	player->board = ww_memory_host_pointer(player->memory);
	return 0;
}

int demo_player(const struct demo_child *child)
{
	OWN(player)
	struct player player = {
		.side = PLAYER,
		.timeout_ns = WW_FOREVER,
		.device = child->device,
		.stream = child->stream,
	};
	const struct link_message ready = {.kind = LINK_READY};

	if (take_board(&player) || open_own(&player) || open_peers(&player))
		return -1;
	if (parent_send(&ready, -1))
		return -1;
	if (play(&player, &by_timeline, 1, by_timeline.warm_up + by_timeline.rounds))
		return -1;
	return play(&player, &by_event, 1, by_event.warm_up + by_event.rounds);
}
