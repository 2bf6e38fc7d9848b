/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel_end.c - what becomes of a channel when its processes are killed, or the broker is
 */
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

#include "integration/channel.h"

static struct child producer;
static struct child consumer;

static void start_pair(const char *options)
{
	agent_begin(&producer, "channel", "create c %s", options);
	agent_begin(&consumer, "channel", "join c");
}

SCENE_CASE(channel_killed_producer_is_named, NEEDS_VALUES)
{
	const char *name;

	start_pair("");
	agent_does(&producer, "send 2", "acquire");
	agent_must(&consumer, WW_OK, "hold");
	name = agent_kill(&producer);
	agent_does(&consumer, "release", "take 1");
	agent_refuses(&consumer, WW_ERR_PEER_LOST, name, "no_more wait_ms=forever");
}

/* It sleeps when the producer ends. */
SCENE_CASE(channel_killed_producer_ends_wait, NEEDS_VALUES)
{
	start_pair("");
	agent_tell(&consumer, "no_more wait_ms=forever");
	child_kill(&producer);
	agent_answers(&consumer, WW_ERR_PEER_LOST);
}

/* What it held is free when the kernel has reported its end, and the producer goes on. */
SCENE_CASE(channel_killed_consumer_releases, NEEDS_VALUES)
{
	start_pair("slots=1");
	agent_must(&producer, WW_OK, "send 1");
	agent_must(&consumer, WW_OK, "hold");
	agent_tell(&producer, "send 3");
	child_kill(&consumer);
	agent_answers(&producer, WW_OK);
}

/*
 * Consumers that joined and were killed before the producer looked take up places until it has
 * learned of them by its next frames, and no longer.
 */
SCENE_CASE(channel_killed_unknown_consumers_free_places, NEEDS_VALUES)
{
	struct child second;
	struct child late;

	start_pair("consumers=2");
	channel_start(&late, NULL);
	for (int i = 0; i < 3; i++) {
		agent_begin(&second, "channel", "join c");
		child_kill(&consumer);
		child_kill(&second);
		agent_must(&late, WW_ERR_LIMIT, "join c");
		agent_must(&producer, WW_OK, "send 2");
		agent_begin(&consumer, "channel", "join c");
	}
	agent_must(&late, WW_OK, "join c");
	agent_must(&producer, WW_OK, "send 1");
	agent_must(&late, WW_OK, "take 1");
}

/* A frame whose work never ran is lost, and the consumer's stream goes on. */
SCENE_CASE(channel_unfinished_frame_is_lost, NEEDS_VALUES)
{
	start_pair("");
	agent_must(&producer, WW_OK, "stream_send");
	agent_must(&consumer, WW_OK, "stream_hold");
	child_kill(&producer);
	scene_has_holders(2);
	agent_refuses(&consumer, WW_ERR_PEER_LOST, "never complete", "release");
	agent_must(&consumer, WW_ERR_PEER_LOST, "no_more wait_ms=forever");
}

/* The same, of a frame that was released before. */
SCENE_CASE(channel_released_frame_is_lost, NEEDS_VALUES)
{
	start_pair("");
	agent_must(&producer, WW_OK, "stream_send");
	agent_does(&consumer, "stream_hold", "release");
	child_kill(&producer);
	scene_has_holders(2);
	agent_refuses(&consumer, WW_ERR_PEER_LOST, "never complete", "no_more wait_ms=forever");
	agent_refuses(&consumer, WW_ERR_PEER_LOST, "after frame 1", "no_more wait_ms=forever");
}

/* Another process takes the name while both sides sleep, and both go on as if it were not there. */
SCENE_CASE(channel_replaced_ends_waits, NEEDS_VALUES)
{
	struct child next;
	char name[64];

	start_pair("slots=1");
	agent_must(&producer, WW_OK, "send 1");
	agent_must(&consumer, WW_OK, "hold");
	agent_tell(&producer, "acquire wait_ms=forever");
	agent_begin(&next, "channel", "create c replace");
	snprintf(name, sizeof(name), "channel 'c' was replaced by process %d ", (int)next.pid);
	agent_answers_with(&producer, WW_ERR_NOT_FOUND, name);
	agent_must(&consumer, WW_OK, "release");
	agent_must(&consumer, WW_END, "no_more wait_ms=forever");
	agent_does(&consumer, "leave", "join c");
	agent_tell(&consumer, "no_more wait_ms=forever");
	agent_begin(&producer, "channel", "create c replace");
	agent_answers(&consumer, WW_END);
}

/* The same, where event loops sleep for both sides. */
SCENE_CASE(channel_replaced_makes_eventfds_readable, NEEDS_VALUES)
{
	struct child next;
	struct child holder;

	start_pair("slots=1");
	agent_begin(&holder, "channel", "join c");
	agent_must(&producer, WW_OK, "send 1");
	agent_must(&holder, WW_OK, "hold");
	agent_must(&consumer, WW_OK, "take 1");
	agent_tell(&producer, "watch_send 1");
	agent_tell(&consumer, "watch_to 2 1");
	agent_begin(&next, "channel", "create c replace");
	agent_answers(&producer, WW_ERR_NOT_FOUND);
	agent_answers(&consumer, WW_END);
}

/* Members go on while the broker is killed and comes again; a process can join then. */
SCENE_CASE(channel_broker_restart_is_not_seen, NEEDS_VALUES)
{
	struct child late;

	start_pair("");
	agent_must(&producer, WW_OK, "send 2");
	agent_must(&consumer, WW_OK, "take 2");
	scene_restart_broker();
	agent_must(&producer, WW_OK, "send 2");
	agent_must(&consumer, WW_OK, "take 2");
	agent_begin(&late, "channel", "join c");
	agent_must(&producer, WW_OK, "send 2");
	agent_must(&consumer, WW_OK, "take 2");
	agent_must(&late, WW_OK, "take 2");
}

/* --- consumers that are killed at random, while frames go on --- */

#define PLAYERS 3
#define KILLS   30

/* Receives for ever; ends with status 1 if a frame is torn or comes twice. */
ROLE(role_channel_player)
{
	ww_channel *channel;
	uint64_t last = 0;

	MUST_OK(ww_channel_get(subject_open(), NULL, "c",
		WW_PARAMS(struct ww_consumer_params, .history = 1), WW_FOREVER, NULL, &channel));
	role_tell("joined");
	for (;;) {
		struct ww_frame frame = WW_INIT(struct ww_frame);
		uint64_t value;

		MUST_OK(ww_channel_receive(channel, NULL, WW_FOREVER, NULL, &frame));
		MUST(frame_read(&frame, &value));
		MUST_EQUAL(frame.number, value);
		MUST(value > last);
		last = value;
		MUST_OK(ww_channel_release(channel, &frame, NULL));
	}
}

static void player_replace(struct child *player)
{
	int status;

	kill(player->pid, SIGKILL);
	status = child_wait(player);
	MUST(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	child_start(player, "role_channel_player", NULL);
	child_hear(player, "joined");
}

static void send_some(ww_channel *channel, uint64_t *value)
{
	for (int i = 0; i < 100; i++)
		frame_send(channel, ++*value);
}

static void play(uint32_t policy)
{
	struct child players[PLAYERS];
	OWN(channel) ww_channel *channel;
	uint64_t value = 0;

	MUST_OK(ww_channel_create(scene.device, scene.broker, "c",
		WW_PARAMS(struct ww_channel_params, .slot_bytes = SLOT_BYTES, .policy = policy,
			.consumers_max = 2 * PLAYERS),
		NULL, &channel));
	for (int i = 0; i < PLAYERS; i++) {
		child_start(&players[i], "role_channel_player", NULL);
		child_hear(&players[i], "joined");
	}
	for (int i = 0; i < KILLS; i++) {
		send_some(channel, &value);
		player_replace(&players[i % PLAYERS]);
	}
	for (int i = 0; i < PLAYERS; i++)
		child_kill(&players[i]);
}

SCENE_CASE_CALL(channel_consumers_killed_block, NEEDS_VALUES, play(WW_CHANNEL_BLOCK))
SCENE_CASE_CALL(channel_consumers_killed_drop, NEEDS_VALUES, play(WW_CHANNEL_DROP_OLDEST))
SCENE_CASE_CALL(channel_consumers_killed_latest, NEEDS_VALUES, play(WW_CHANNEL_LATEST))
