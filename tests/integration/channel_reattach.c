/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel_reattach.c - consumers that go on with the next producer of a name
 */
#include <signal.h>
#include <sys/wait.h>

#include "integration/channel.h"

static void start_all(struct child *producer, struct child *consumer, const char *options)
{
	scene_begin();
	channel_start(producer, NULL);
	agent_must(producer, WW_OK, "create c %s", options);
	channel_start(consumer, NULL);
	agent_must(consumer, WW_OK, "join c reattach");
}

static void start_next(struct child *producer, const char *options)
{
	channel_start(producer, NULL);
	agent_must(producer, WW_OK, "create c replace %s", options);
}

static void end_case(struct child *producer, struct child *consumer)
{
	agent_end(consumer);
	agent_end(producer);
	scene_end();
}

/* It sleeps in a receive while one producer ends, and the next one comes. */
CASE(channel_reattach_goes_on, NEEDS_VALUES)
{
	struct child producer;
	struct child consumer;

	start_all(&producer, &consumer, "");
	agent_must(&producer, WW_OK, "send 3");
	agent_must(&consumer, WW_OK, "generation 1");
	agent_must(&consumer, WW_OK, "take 1");
	agent_tell(&consumer, "take 4"); /* two of the first, two of the next */
	child_kill(&producer);
	start_next(&producer, "policy=2 slots=9");
	agent_must(&producer, WW_OK, "send 2");
	agent_answers(&consumer, WW_OK);
	agent_must(&consumer, WW_OK, "generation 2");
	agent_must(&consumer, WW_OK, "numbers 5 0");
	agent_must(&consumer, WW_TIMED_OUT, "no_more");
	end_case(&producer, &consumer);
}

/* Its time is over before a producer comes; the next call goes on. */
CASE(channel_reattach_times_out, NEEDS_VALUES)
{
	struct child producer;
	struct child consumer;

	start_all(&producer, &consumer, "");
	child_kill(&producer);
	agent_must(&consumer, WW_TIMED_OUT, "no_more wait_ms=100");
	agent_must(&consumer, WW_TIMED_OUT, "no_more");
	agent_must(&consumer, WW_TIMED_OUT, "wait wait_ms=60");
	start_next(&producer, "");
	agent_must(&producer, WW_OK, "send 1");
	agent_must(&consumer, WW_OK, "wait wait_ms=forever");
	agent_must(&consumer, WW_OK, "take 1");
	agent_must(&consumer, WW_OK, "generation 2");
	end_case(&producer, &consumer);
}

/* A frame of the former producer stays readable, and counts as held. */
CASE(channel_reattach_keeps_held_frame, NEEDS_VALUES)
{
	struct child producer;
	struct child consumer;

	start_all(&producer, &consumer, "held=2");
	agent_must(&producer, WW_OK, "send 1");
	agent_must(&consumer, WW_OK, "hold");
	child_kill(&producer);
	start_next(&producer, "held=2");
	agent_must(&producer, WW_OK, "send 2");
	agent_must(&consumer, WW_OK, "take 1");
	agent_must(&consumer, WW_OK, "generation 2");
	agent_must(&consumer, WW_OK, "check 1");
	agent_must(&consumer, WW_OK, "release");
	agent_must(&consumer, WW_ERR_INVALID, "release");
	agent_must(&consumer, WW_OK, "take 1");
	end_case(&producer, &consumer);
}

/* A stream has waited for a frame that never was complete, and is of use afterwards. */
CASE(channel_reattach_tells_of_lost_frame, NEEDS_VALUES)
{
	struct child producer;
	struct child consumer;

	start_all(&producer, &consumer, "");
	agent_must(&producer, WW_OK, "stream_send");
	agent_must(&consumer, WW_OK, "stream_hold");
	agent_must(&consumer, WW_OK, "release");
	child_kill(&producer);
	start_next(&producer, "");
	agent_must(&producer, WW_OK, "send 2");
	agent_tell(&consumer, "take 1");
	agent_answers_with(&consumer, WW_ERR_PEER_LOST, "never complete");
	agent_must(&consumer, WW_OK, "stream_hold");
	agent_must(&consumer, WW_OK, "release");
	agent_must(&consumer, WW_OK, "generation 2");
	end_case(&producer, &consumer);
}

/* A producer that closes says so, once. */
CASE(channel_reattach_after_close, NEEDS_VALUES)
{
	struct child producer;
	struct child consumer;

	start_all(&producer, &consumer, "");
	agent_must(&producer, WW_OK, "send 1");
	agent_must(&producer, WW_OK, "leave");
	agent_must(&producer, WW_OK, "create c replace");
	agent_must(&producer, WW_OK, "send 1");
	agent_must(&consumer, WW_OK, "take 1");
	agent_must(&consumer, WW_END, "no_more wait_ms=forever");
	agent_must(&consumer, WW_OK, "take 1");
	agent_must(&consumer, WW_OK, "generation 2");
	end_case(&producer, &consumer);
}

/* The former producer lives, and has lost its name. */
CASE(channel_reattach_to_replacement, NEEDS_VALUES)
{
	struct child producer;
	struct child consumer;
	struct child next;

	start_all(&producer, &consumer, "");
	agent_must(&producer, WW_OK, "send 1");
	start_next(&next, "");
	agent_must(&next, WW_OK, "send 1");
	agent_must(&consumer, WW_OK, "take 2");
	agent_must(&consumer, WW_OK, "generation 2");
	agent_end(&producer);
	end_case(&next, &consumer);
}

/* What it expects must hold of each producer; then it can be tried again. */
CASE(channel_reattach_refuses, NEEDS_VALUES)
{
	struct child producer;
	struct child consumer;

	start_all(&producer, &consumer, "type=one");
	agent_must(&consumer, WW_OK, "leave");
	agent_must(&consumer, WW_OK, "join c reattach type=one");
	child_kill(&producer);
	start_next(&producer, "type=two");
	agent_tell(&consumer, "no_more wait_ms=forever");
	agent_answers_with(&consumer, WW_ERR_MISMATCH, "two");
	agent_must(&producer, WW_OK, "leave");
	agent_must(&producer, WW_OK, "create c replace type=one");
	agent_must(&producer, WW_OK, "send 1");
	agent_must(&consumer, WW_OK, "take 1");
	end_case(&producer, &consumer);
}

/* An event loop goes on with the same descriptor. */
CASE(channel_reattach_keeps_eventfd, NEEDS_VALUES)
{
	struct child producer;
	struct child consumer;

	start_all(&producer, &consumer, "");
	for (int i = 2; i <= 4; i++) {
		agent_tell(&consumer, "watch_to 2 %d", i);
		child_kill(&producer);
		start_next(&producer, "");
		agent_must(&producer, WW_OK, "send 2");
		agent_answers(&consumer, WW_OK);
	}
	agent_must(&consumer, WW_OK, "leave");
	end_case(&producer, &consumer);
}

/* The descriptor shows the end of a producer without being asked. */
CASE(channel_eventfd_shows_end, NEEDS_VALUES)
{
	struct child producer;
	struct child consumer;

	start_all(&producer, &consumer, "");
	agent_must(&consumer, WW_OK, "leave");
	agent_must(&consumer, WW_OK, "join c");
	agent_tell(&consumer, "watch_to 1 1");
	child_kill(&producer);
	agent_answers(&consumer, WW_ERR_PEER_LOST);
	agent_end(&consumer);
	scene_end();
}
