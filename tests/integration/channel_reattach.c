/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel_reattach.c - consumers that go on with the next producer of a name
 */
#include "integration/channel.h"

static struct child producer;
static struct child consumer;

static void start_all(const char *options)
{
	agent_begin(&producer, "channel", "create c %s", options);
	agent_begin(&consumer, "channel", "join c reattach");
}

/* The next producer takes the place of one that has ended. */
static void start_next(const char *options)
{
	agent_begin(&producer, "channel", "create c replace %s", options);
}

/* It sleeps in a receive while one producer ends, and the next one comes. */
SCENE_CASE(channel_reattach_goes_on, NEEDS_VALUES)
{
	start_all("");
	agent_must(&producer, WW_OK, "send 3");
	agent_does(&consumer, "generation 1", "take 1");
	agent_tell(&consumer, "take 4"); /* two of the first, two of the next */
	child_kill(&producer);
	start_next("policy=2 slots=9");
	agent_must(&producer, WW_OK, "send 2");
	agent_answers(&consumer, WW_OK);
	agent_does(&consumer, "generation 2", "numbers 5 0");
	agent_must(&consumer, WW_TIMED_OUT, "no_more");
}

/* Its time is over before a producer comes; the next call goes on. */
SCENE_CASE(channel_reattach_times_out, NEEDS_VALUES)
{
	start_all("");
	child_kill(&producer);
	agent_must(&consumer, WW_TIMED_OUT, "no_more wait_ms=100");
	agent_must(&consumer, WW_TIMED_OUT, "no_more");
	agent_must(&consumer, WW_TIMED_OUT, "wait wait_ms=60");
	start_next("");
	agent_must(&producer, WW_OK, "send 1");
	agent_does(&consumer, "wait wait_ms=forever", "take 1", "generation 2");
}

/* A frame of the former producer stays readable, and counts as held. */
SCENE_CASE(channel_reattach_keeps_held_frame, NEEDS_VALUES)
{
	start_all("held=2");
	agent_must(&producer, WW_OK, "send 1");
	agent_must(&consumer, WW_OK, "hold");
	child_kill(&producer);
	start_next("held=2");
	agent_must(&producer, WW_OK, "send 2");
	agent_does(&consumer, "take 1", "generation 2", "check 1", "release");
	agent_must(&consumer, WW_ERR_INVALID, "release");
	agent_must(&consumer, WW_OK, "take 1");
}

/* A stream has waited for a frame that never was complete, and is of use afterwards. */
SCENE_CASE(channel_reattach_tells_of_lost_frame, NEEDS_VALUES)
{
	start_all("");
	agent_must(&producer, WW_OK, "stream_send");
	agent_does(&consumer, "stream_hold", "release");
	child_kill(&producer);
	start_next("");
	agent_must(&producer, WW_OK, "send 2");
	agent_refuses(&consumer, WW_ERR_PEER_LOST, "never complete", "take 1");
	agent_does(&consumer, "stream_hold", "release", "generation 2");
}

/* A producer that closes says so, once. */
SCENE_CASE(channel_reattach_after_close, NEEDS_VALUES)
{
	start_all("");
	agent_does(&producer, "send 1", "leave", "create c replace", "send 1");
	agent_must(&consumer, WW_OK, "take 1");
	agent_must(&consumer, WW_END, "no_more wait_ms=forever");
	agent_does(&consumer, "take 1", "generation 2");
}

/* The former producer lives, and has lost its name. */
SCENE_CASE(channel_reattach_to_replacement, NEEDS_VALUES)
{
	struct child next;

	start_all("");
	agent_must(&producer, WW_OK, "send 1");
	agent_begin(&next, "channel", "create c replace");
	agent_must(&next, WW_OK, "send 1");
	agent_does(&consumer, "take 2", "generation 2");
}

/* What it expects must hold of each producer; then it can be tried again. */
SCENE_CASE(channel_reattach_refuses, NEEDS_VALUES)
{
	start_all("type=one");
	agent_does(&consumer, "leave", "join c reattach type=one");
	child_kill(&producer);
	start_next("type=two");
	agent_refuses(&consumer, WW_ERR_MISMATCH, "two", "no_more wait_ms=forever");
	agent_does(&producer, "leave", "create c replace type=one", "send 1");
	agent_must(&consumer, WW_OK, "take 1");
}

/* An event loop goes on with the same descriptor. */
SCENE_CASE(channel_reattach_keeps_eventfd, NEEDS_VALUES)
{
	start_all("");
	for (int i = 2; i <= 4; i++) {
		agent_tell(&consumer, "watch_to 2 %d", i);
		child_kill(&producer);
		start_next("");
		agent_must(&producer, WW_OK, "send 2");
		agent_answers(&consumer, WW_OK);
	}
	agent_must(&consumer, WW_OK, "leave");
}

/* The descriptor shows the end of a producer without being asked. */
SCENE_CASE(channel_eventfd_shows_end, NEEDS_VALUES)
{
	start_all("");
	agent_does(&consumer, "leave", "join c");
	agent_tell(&consumer, "watch_to 1 1");
	child_kill(&producer);
	agent_answers(&consumer, WW_ERR_PEER_LOST);
}
