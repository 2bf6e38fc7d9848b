/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel_alone.c - members of a channel whose broker and supervisor were killed: they go on, and
 * learn of each other's end from the kernel
 */
#include "integration/channel.h"

static struct child producer;
static struct child consumer;

static void start_pair(const char *options, const char *wants)
{
	scene_begin();
	agent_begin(&producer, "channel", "create c %s", options);
	agent_begin(&consumer, "channel", "join c %s", wants);
	agent_must(&producer, WW_OK, "send 1"); /* it has met the consumer */
	agent_must(&consumer, WW_OK, "take 1");
}

CASE(channel_alone_goes_on, NEEDS_VALUES)
{
	start_pair("slots=2", "");
	scene_kill();
	agent_tell(&producer, "send 100");
	agent_must(&consumer, WW_OK, "take 100");
	agent_answers(&producer, WW_OK);
	agent_end(&consumer);
	agent_end(&producer);
}

CASE(channel_alone_producer_is_missed, NEEDS_VALUES)
{
	const char *name;

	start_pair("", "");
	agent_must(&producer, WW_OK, "send 2");
	scene_kill();
	agent_must(&consumer, WW_OK, "take 1");
	name = agent_kill(&producer);
	agent_must(&consumer, WW_OK, "take 1");
	agent_refuses(&consumer, WW_ERR_PEER_LOST, name, "no_more wait_ms=forever");
	agent_end(&consumer);
}

/* It sleeps when the producer ends: in a receive, in a wait, and in its event loop. */
CASE(channel_alone_sleep_ends, NEEDS_VALUES)
{
	static const char *const sleeps[] = {"no_more wait_ms=forever", "wait wait_ms=forever",
		"watch_to 9 9"};

	for (size_t i = 0; i < CHECK_COUNT(sleeps); i++) {
		start_pair("", "");
		scene_kill();
		agent_tell(&consumer, "%s", sleeps[i]);
		child_kill(&producer);
		agent_answers(&consumer, i == 1 ? WW_OK : WW_ERR_PEER_LOST);
		agent_must(&consumer, WW_ERR_PEER_LOST, "no_more");
		agent_end(&consumer);
	}
}

/* A frame whose work never ran. */
CASE(channel_alone_frame_is_lost, NEEDS_VALUES)
{
	start_pair("", "");
	agent_must(&producer, WW_OK, "stream_send");
	scene_kill();
	agent_tell(&consumer, "no_more wait_ms=forever");
	child_kill(&producer);
	agent_answers_with(&consumer, WW_ERR_PEER_LOST, "after frame 2");
	agent_end(&consumer);
}

/* What a killed consumer held, or needed, is the producer's. */
CASE(channel_alone_consumer_is_missed, NEEDS_VALUES)
{
	static const char *const waits[] = {"send 3", "watch_send 3"};

	for (size_t i = 0; i < CHECK_COUNT(waits); i++) {
		start_pair("slots=1", "");
		agent_must(&producer, WW_OK, "send 1");
		agent_must(&consumer, WW_OK, "hold");
		scene_kill();
		agent_tell(&producer, "%s", waits[i]);
		child_kill(&consumer);
		agent_answers(&producer, WW_OK);
		agent_end(&producer);
	}
}

/* Who would go on with another producer cannot join that one, and is told so. */
CASE(channel_alone_cannot_reattach, NEEDS_VALUES)
{
	start_pair("", "reattach");
	scene_kill();
	child_kill(&producer);
	agent_must(&consumer, WW_ERR_NO_BROKER, "no_more wait_ms=forever");
	agent_end(&consumer);
}
