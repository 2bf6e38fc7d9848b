/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sync_agent.c - what agents do with timelines, see sync.h; those that try to write pages are in
 * sync_write.c
 */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "integration/sync_agent.h"

struct sync_agent sync_agent;

ww_timeline **agent_slot(size_t word)
{
	size_t number = (size_t)atoi(agent_word(word));

	MUST(number < CHECK_COUNT(sync_agent.timelines));
	return &sync_agent.timelines[number];
}

ww_timeline *agent_timeline(size_t word)
{
	ww_timeline *timeline = *agent_slot(word);

	MUST(timeline);
	return timeline;
}

/* --- coming and going --- */

COMMAND(sync, create)
{
	ww_timeline **slot = agent_slot(1);

	MUST(!*slot);
	*slot = timeline_make(agent_has_option("alone") ? WW_TIMELINE_ALONE : 0,
		agent_number_option("value", 10));
	return WW_OK;
}

COMMAND_BROKER(sync, put)
{
	const struct ww_name_params *params = WW_PARAMS(struct ww_name_params,
		.mode = (uint32_t)agent_number_option("mode", 8),
		.flags = agent_has_option("replace") ? WW_PUT_REPLACE : 0);

	return ww_timeline_put(agent_timeline(1), broker, agent_word(2), params, NULL);
}

COMMAND_BROKER(sync, get)
{
	ww_timeline **slot = agent_slot(1);

	MUST(!*slot);
	return ww_timeline_get(broker, agent_word(2), agent_time_option("wait_ms"), NULL, slot);
}

COMMAND_BROKER(sync, export)
{
	const struct ww_token_params *params = WW_PARAMS(struct ww_token_params,
		.uses = agent_option("uses"),
		.escrow_ns = agent_find_option("escrow_ms") ? agent_time_option("escrow_ms")
							    : WW_ESCROW_NONE);
	struct ww_token token;
	ww_status status = ww_timeline_export(agent_timeline(1), broker, params, NULL, &token);

	if (!status)
		agent_say(&token);
	return status;
}

COMMAND_BROKER(sync, import)
{
	ww_timeline **slot = agent_slot(1);
	struct ww_token token = agent_heard();

	MUST(!*slot);
	return ww_timeline_import(broker, &token, NULL, slot);
}

COMMAND(sync, unref)
{
	ww_timeline **slot = agent_slot(1);

	*slot = ww_timeline_unref(*slot);
	return WW_OK;
}

COMMAND(sync, exit)
{
	exit(EXIT_SUCCESS);
}

/* --- signals and waits --- */

COMMAND_CALL(sync, signal, ww_timeline_signal(agent_timeline(1), agent_number(2)))

COMMAND_CALL(sync, stream_signal,
	ww_timeline_stream_signal(agent_timeline(1), agent_stream(), agent_number(2)))

COMMAND_CALL(sync, wait,
	ww_timeline_wait(agent_timeline(1), agent_number(2), agent_time_option("wait_ms"), NULL))

COMMAND_CALL(sync, query, ww_timeline_query(agent_timeline(1), agent_number(2)))

COMMAND_CALL(sync, stream_wait,
	ww_timeline_stream_wait(agent_timeline(1), agent_stream(), agent_number(2),
		agent_has_option("unsubmitted") ? WW_WAIT_UNSUBMITTED : 0,
		agent_time_option("wait_ms"), NULL))

COMMAND(sync, hold)
{
	if (!sync_agent.held)
		sync_agent.held = timeline_make(0, 0);
	stream_hold(agent_stream(), sync_agent.held, ++sync_agent.holds);
	return WW_OK;
}

COMMAND_CALL(sync, go, ww_timeline_signal(sync_agent.held, sync_agent.holds))

COMMAND_CALL(sync, sync, ww_stream_synchronize(agent_stream(), WW_FOREVER, NULL))

static uint32_t state_of(const char *name)
{
	if (!strcmp(name, "live"))
		return WW_TIMELINE_LIVE;
	return strcmp(name, "closed") ? WW_TIMELINE_LOST : WW_TIMELINE_CLOSED;
}

COMMAND_DO(sync, is,
	timeline_must_be(agent_timeline(1), state_of(agent_word(2)), agent_number(3),
		agent_number(4)))

COMMAND(sync, lost_is)
{
	struct ww_timeline_info info = timeline_info(agent_timeline(1));

	MUST_EQUAL(WW_TIMELINE_LOST, info.state);
	MUST_EQUAL(agent_number(2), info.pid);
	if (strcmp(agent_word(3), info.program))
		FAIL("\"%s\" was lost, not \"%s\"", info.program, agent_word(3));
	MUST(info.lost_ns > 0);
	return WW_OK;
}

/* --- memory to and fro --- */

#define RELAY_WORDS 256

COMMAND_BROKER(sync, share)
{
	sync_agent.memory = memory_make(agent_device(), WW_MEMORY_HOST, RELAY_WORDS * 4);
	memory_must_be(sync_agent.memory, 0);
	return ww_memory_put(sync_agent.memory, broker, agent_word(1),
		WW_PARAMS(struct ww_put_params, .mode = 0666, .state = WW_STATE_SHARED), 0, NULL);
}

COMMAND_BROKER(sync, take)
{
	return ww_memory_get(agent_device(), broker, agent_word(1),
		WW_PARAMS(struct ww_get_params, .access = WW_ACCESS_WRITE), 0, NULL,
		&sync_agent.memory, NULL);
}

/* Waits for the other's round, keeps what it wrote in a row of its own, and writes the next. */
static void relay_round(ww_memory *rows, uint32_t *words, uint64_t round, bool is_first)
{
	uint32_t *row = ww_memory_pointer(rows);
	uint64_t awaited = is_first ? round - 1 : round;

	MUST_OK(ww_timeline_stream_wait(agent_timeline(2), agent_stream(), awaited, 0, WW_FOREVER,
		NULL));
	MUST_OK(ww_stream_copy(agent_stream(), row + (round - 1) * RELAY_WORDS, words,
		RELAY_WORDS * 4));
	MUST_OK(ww_stream_fill(agent_stream(), words, (uint32_t)(2 * round - (is_first ? 1 : 0)), 4,
		RELAY_WORDS));
	MUST_OK(ww_timeline_stream_signal(agent_timeline(1), agent_stream(), round));
}

COMMAND(sync, relay)
{
	uint64_t rounds = agent_number(3);
	bool is_first = !strcmp(agent_word(4), "first");
	uint32_t *words = ww_memory_pointer(sync_agent.memory);
	OWN(memory)
	ww_memory *rows = memory_make(agent_device(), WW_MEMORY_HOST, rounds * RELAY_WORDS * 4);
	const uint32_t *seen = ww_memory_host_pointer(rows);

	for (uint64_t round = 1; round <= rounds; round++)
		relay_round(rows, words, round, is_first);
	MUST_OK(ww_stream_synchronize(agent_stream(), WW_FOREVER, NULL));
	for (uint64_t i = is_first ? RELAY_WORDS : 0; i < rounds * RELAY_WORDS; i++)
		MUST_EQUAL(2 * (i / RELAY_WORDS) + (is_first ? 0 : 1), seen[i]);
	return WW_OK;
}

/* --- the role --- */

static void let_go(void)
{
	ww_timeline_unref(sync_agent.held);
	ww_memory_unref(sync_agent.memory);
	for (size_t i = 0; i < CHECK_COUNT(sync_agent.timelines); i++)
		ww_timeline_unref(sync_agent.timelines[i]);
	ww_barrier_unref(sync_agent.barrier);
}

AGENTS(sync, let_go)

ROLE(sync_container)
{
	if (container_enter(count, arguments))
		agent_serve("sync", let_go);
}

/* --- the case's side --- */

void sync_start(struct child *agent, const struct child_options *options)
{
	child_start(agent, "sync", options);
}

void sync_start_user(struct child *agent, const char *who)
{
	agent_begin(agent, "sync", "user %s", who);
}

void sync_start_pair(struct child agents[2])
{
	for (int i = 0; i < 2; i++) {
		agent_begin(&agents[i], "sync", "create 0");
		agent_must(&agents[i], WW_OK, "put 0 %s", i ? "b" : "a");
	}
	for (int i = 0; i < 2; i++)
		agent_must(&agents[i], WW_OK, "get 1 %s", i ? "a" : "b");
}

void sync_pass_token(struct child *from, struct child *to)
{
	const struct ww_token token = agent_hear_token(from);

	agent_send_token(to, &token);
}
