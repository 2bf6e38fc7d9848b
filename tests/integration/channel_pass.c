/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel_pass.c - frames that pass from one process to others
 */
#include "integration/channel.h"

#define CONSUMERS 3
#define FRAMES    2000

static struct child producer; /* of channel "c" */
static struct child consumers[CONSUMERS];

/* The first consumers have joined. */
static void start_all(int count, const char *options)
{
	agent_begin(&producer, "channel", "create c %s", options);
	for (int i = 0; i < count; i++) {
		agent_begin(&consumers[i], "channel", "join c");
	}
}

SCENE_CASE(channel_block_passes_all, NEEDS_VALUES)
{
	start_all(CONSUMERS, "slots=3");
	agent_tell(&producer, "send %d", FRAMES);
	for (int i = 0; i < CONSUMERS; i++)
		agent_tell(&consumers[i], "take %d", FRAMES);
	agent_answers(&producer, WW_OK);
	for (int i = 0; i < CONSUMERS; i++) {
		agent_answers(&consumers[i], WW_OK);
		agent_must(&consumers[i], WW_OK, "numbers %d 0", FRAMES);
	}
}

SCENE_CASE(channel_slow_consumer_slows_nobody, NEEDS_VALUES)
{
	start_all(2, "policy=2");
	agent_must(&producer, WW_OK, "send 1");
	agent_must(&consumers[1], WW_OK, "hold");
	agent_tell(&producer, "send %d", FRAMES - 1);
	agent_must(&consumers[0], WW_OK, "take_to %d", FRAMES);
	agent_answers(&producer, WW_OK);
	agent_must(&consumers[1], WW_OK, "release");
	agent_must(&consumers[1], WW_OK, "take_to %d", FRAMES);
}

SCENE_CASE(channel_latest_comes_at_any_time, NEEDS_VALUES)
{
	start_all(1, "policy=3");
	channel_start(&consumers[1], NULL);
	agent_must(&producer, WW_OK, "send %d", FRAMES);
	agent_must(&consumers[1], WW_OK, "join c");
	for (int i = 0; i < 2; i++) {
		agent_must(&consumers[i], WW_OK, "take_to %d", FRAMES);
		agent_must(&consumers[i], WW_OK, "numbers 1 0");
	}
}

/* A new producer takes the name; who has the former channel is told of its end. */
SCENE_CASE(channel_is_replaced_whole, NEEDS_VALUES)
{
	struct child second;

	start_all(1, "");
	channel_start(&second, NULL);
	agent_must(&producer, WW_OK, "send 1");
	agent_must(&second, WW_ERR_EXISTS, "create c");
	agent_does(&second, "create c replace", "send 2");
	agent_begin(&consumers[1], "channel", "join c history=2");
	agent_must(&consumers[1], WW_OK, "take 2");
	agent_must(&consumers[0], WW_OK, "take 1");
	agent_must(&producer, WW_OK, "leave");
	agent_must(&consumers[0], WW_END, "no_more wait_ms=forever");
}

/* A channel whose name is removed goes on; its producer also meets consumers that joined before. */
static void remove_after_join(const char *options)
{
	start_all(1, options);
	MUST_OK(ww_broker_remove(scene.broker, "c"));
	agent_must(&producer, WW_OK, "send 1");
	agent_must(&consumers[0], WW_OK, "hold");
	agent_must(&producer, WW_OK, "send 20");
	agent_must(&consumers[0], WW_OK, "check 1"); /* nobody has written there */
	agent_must(&consumers[0], WW_OK, "release");
}

SCENE_CASE_CALL(channel_removed_name_keeps_consumers_that_drop, NEEDS_VALUES,
	remove_after_join("policy=2"))
SCENE_CASE_CALL(channel_removed_name_keeps_consumers_of_latest, NEEDS_VALUES,
	remove_after_join("policy=3"))
