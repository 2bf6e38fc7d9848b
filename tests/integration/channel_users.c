/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel_users.c - channels across users: for whom streams wait on the GPU
 *
 * The users need not exist: the kernel knows them by number.
 */
#include "integration/channel.h"

static void start_users(struct child *producer, struct child *consumer, const char *ours,
	const char *theirs)
{
	scene_begin();
	channel_start(producer, NULL);
	channel_start(consumer, NULL);
	agent_must(producer, WW_OK, "user 61001 61001");
	agent_must(consumer, WW_OK, "user 61002 61002");
	agent_must(producer, WW_OK, "create c slots=1 mode=0644 %s", ours);
	agent_must(consumer, WW_OK, "join c %s", theirs);
}

static void end_users(struct child *producer, struct child *consumer)
{
	agent_end(consumer);
	agent_end(producer);
	scene_has_objects(0);
	scene_end();
}

/* The stream gets the slot or the frame at once if it may wait, else when the other's work ends. */
static void streams_wait(const char *ours, const char *theirs, bool are_trusted)
{
	struct child producer;
	struct child consumer;

	start_users(&producer, &consumer, ours, theirs);
	agent_must(&producer, WW_OK, "send 1");
	agent_must(&consumer, WW_OK, "hold");
	agent_must(&consumer, WW_OK, "stream_release");
	agent_must(&producer, are_trusted ? WW_OK : WW_TIMED_OUT, "acquire stream");
	agent_must(&consumer, WW_OK, "go");
	if (!are_trusted)
		agent_must(&producer, WW_OK, "acquire stream wait_ms=forever");
	end_users(&producer, &consumer);
}

static void frames_wait(const char *ours, const char *theirs, bool are_trusted)
{
	struct child producer;
	struct child consumer;

	start_users(&producer, &consumer, ours, theirs);
	agent_must(&producer, WW_OK, "stream_send");
	agent_tell(&consumer, "stream_hold");
	if (are_trusted)
		agent_answers(&consumer, WW_OK);
	agent_must(&producer, WW_OK, "go");
	if (!are_trusted)
		agent_answers(&consumer, WW_OK);
	agent_must(&consumer, WW_OK, "release");
	end_users(&producer, &consumer);
}

CASE(channel_users_streams_do_not_wait, NEEDS_VALUES | NEEDS_ROOT)
{
	streams_wait("", "", false);
	streams_wait("trust", "", false);
	streams_wait("", "trust", false);
	frames_wait("", "trust", false);
}

CASE(channel_users_trust_each_other, NEEDS_VALUES | NEEDS_ROOT)
{
	streams_wait("trust", "trust", true);
	frames_wait("trust", "trust", true);
}

/* --- a connection that ends, of a process that lives --- */

/*
 * It is told when it calls next, and no frame is kept for it; what it holds is its own until it
 * releases that.
 */
CASE(channel_cut_consumer_blocks_nobody, NEEDS_VALUES)
{
	struct child producer;
	struct child consumer;
	struct child other;

	scene_begin();
	channel_start(&producer, NULL);
	channel_start(&consumer, NULL);
	channel_start(&other, NULL);
	agent_must(&producer, WW_OK, "create c slots=2");
	agent_must(&consumer, WW_OK, "join c");
	agent_must(&other, WW_OK, "join c");
	agent_must(&producer, WW_OK, "send 1");
	agent_must(&consumer, WW_OK, "hold");
	agent_must(&other, WW_OK, "take 1");
	agent_must(&producer, WW_OK, "send 1");
	agent_must(&other, WW_OK, "take 1");
	agent_tell(&producer, "send 1"); /* frame 1 is held, and 2 has not been received */
	agent_must(&consumer, WW_OK, "release");
	agent_answers(&producer, WW_OK);
	agent_must(&other, WW_OK, "take 1");
	agent_tell(&producer, "send 4"); /* the consumer needs 2 and 3 */
	agent_must(&consumer, WW_OK, "cut");
	agent_must(&other, WW_OK, "take 4");
	agent_answers(&producer, WW_OK);
	agent_must(&consumer, WW_ERR_PEER_LOST, "no_more wait_ms=forever");
	agent_end(&consumer);
	agent_end(&other);
	agent_end(&producer);
	scene_has_objects(0);
	scene_end();
}
