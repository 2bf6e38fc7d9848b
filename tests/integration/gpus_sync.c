/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpus_sync.c - a timeline that one GPU signals, and processes on all other GPUs that wait for it
 */
#include <stdio.h>

#include "integration/gpus.h"

/* The signaller has the timeline "t", and memory "m" that its stream fills before it signals. */
static struct {
	struct child signaller;
	struct team team;
	bool is_peer; /* all others reach memory of the device under test */
} cast;

static void begin(void)
{
	scene_begin();
	child_start(&cast.signaller, "gpus", NULL);
	team_start(&cast.team, "gpus");
	cast.is_peer = true;
	for (uint32_t i = 0; i < cast.team.count; i++)
		cast.is_peer &= cast.team.members[i].reaches;
	agent_must(&cast.signaller, WW_OK, "make %s %llu 0", cast.is_peer ? "vmm" : "host",
		(unsigned long long)(2 * MIB));
	agent_does(&cast.signaller, "put m state=shared mode=0666", "timeline_put t");
	team_must(&cast.team, WW_OK, "timeline_get t");
}

static void end(void)
{
	team_end(&cast.team);
	scene_end();
}

#define FOLLOW_CASE(case_name, case_needs) CASE_BETWEEN(case_name, case_needs, begin(), end())

/* Every stream waits until the value is there, and then sees what was written before it. */
FOLLOW_CASE(sync_streams_follow_a_stream, NEEDS_VALUES | WW_CAP_HOST_MEMORY)
{
	team_must(&cast.team, WW_OK, "get m");
	for (int value = 1; value <= 10; value++) {
		team_tell(&cast.team, "stream_wait %d", value);
		agent_must(&cast.signaller, WW_OK, "hold");
		agent_must(&cast.signaller, WW_OK, "stream_fill_signal %d %d", 100 + value, value);
		team_answers(&cast.team, WW_OK, "");
		team_must(&cast.team, WW_NOT_READY, "query %d", value);
		team_tell(&cast.team, "sync");
		agent_must(&cast.signaller, WW_OK, "go");
		team_answers(&cast.team, WW_OK, "");
		team_must(&cast.team, WW_OK, "query %d", value);
		team_must(&cast.team, WW_OK, "holds 0 %llu %d", (unsigned long long)(2 * MIB),
			100 + value);
	}
}

/* The CPU signals, CPUs wait; then a stream signals, and CPUs and streams wait. */
FOLLOW_CASE(sync_processes_follow_a_process, NEEDS_VALUES)
{
	for (int value = 1; value <= 19; value += 2) {
		team_tell(&cast.team, "wait %d", value);
		agent_must(&cast.signaller, WW_OK, "signal %d", value);
		team_answers(&cast.team, WW_OK, "");
		team_must(&cast.team, WW_OK, "stream_wait %d unsubmitted", value + 1);
		team_tell(&cast.team, "wait %d", value + 1);
		agent_must(&cast.signaller, WW_OK, "stream_fill_signal 1 %d", value + 1);
		team_answers(&cast.team, WW_OK, "");
		team_must(&cast.team, WW_OK, "sync");
	}
}

/* In the other direction: each of the others signals, one after the other, and the owner waits. */
SCENE_CASE(sync_one_stream_follows_all, NEEDS_VALUES)
{
	ww_timeline *timelines[GPUS_MAX];
	ENDED_BY(team_end) struct team team;
	OWN(stream) ww_stream *stream = stream_make(scene.device);

	team_start(&team, "gpus");
	for (uint32_t i = 0; i < team.count; i++) {
		struct child *agent = &team.members[i].agent;

		agent_must(agent, WW_OK, "make vmm %llu 0", (unsigned long long)(2 * MIB));
		agent_must(agent, WW_OK, "timeline_put t%u", i);
		agent_does(agent, "hold", "stream_fill_signal 1 1");
	}
	for (uint32_t i = 0; i < team.count; i++) {
		char name[16];

		snprintf(name, sizeof(name), "t%u", i);
		MUST_OK(ww_timeline_get(scene.broker, name, 0, NULL, &timelines[i]));
		MUST_OK(ww_timeline_stream_wait(timelines[i], stream, 1, 0, WW_FOREVER, NULL));
	}
	for (uint32_t i = 0; i < team.count; i++) {
		MUST_STATUS(WW_TIMED_OUT, ww_stream_synchronize(stream, 0, NULL));
		MUST_STATUS(WW_NOT_READY, ww_timeline_query(timelines[i], 1));
		agent_must(&team.members[i].agent, WW_OK, "go");
	}
	MUST_OK(ww_stream_synchronize(stream, WW_FOREVER, NULL));
	for (uint32_t i = 0; i < team.count; i++)
		ww_timeline_unref(timelines[i]);
}

/*
 * CPUs and streams of all other GPUs wait when the signaller is killed, whose own stream stands
 * still: each learns of it, and its GPU goes on.
 */
static void kill_signaller(const char *waits)
{
	char pid[32];

	begin();
	agent_does(&cast.signaller, "signal 3", "hold", "stream_fill_signal 1 5");
	team_must(&cast.team, WW_OK, "%s", waits);
	team_tell(&cast.team, "wait 5");
	snprintf(pid, sizeof(pid), "process %d ", (int)cast.signaller.pid);
	child_kill(&cast.signaller);
	team_answers(&cast.team, WW_ERR_PEER_LOST, pid);
	team_tell(&cast.team, "sync");
	team_answers(&cast.team, WW_ERR_PEER_LOST, pid);
	team_must(&cast.team, WW_OK, "works");
	team_must(&cast.team, WW_OK, "query 3");
	team_must(&cast.team, WW_ERR_PEER_LOST, "query 4");
	end();
}

CASE_CALL(sync_signaller_is_killed, NEEDS_VALUES, kill_signaller("stream_wait 5"))
CASE_CALL(sync_signaller_is_killed_before_it_submits, NEEDS_VALUES,
	kill_signaller("stream_wait 9 unsubmitted"))

/* A waiter that is killed changes nothing for the others. */
FOLLOW_CASE(sync_waiter_is_killed, NEEDS_VALUES)
{
	for (int value = 1; cast.team.count > 0; value++) {
		team_must(&cast.team, WW_OK, "stream_wait %d unsubmitted", value);
		child_kill(&cast.team.members[--cast.team.count].agent);
		agent_must(&cast.signaller, WW_OK, "stream_fill_signal 1 %d", value);
		team_must(&cast.team, WW_OK, "wait %d", value);
		team_must(&cast.team, WW_OK, "sync");
	}
	agent_must(&cast.signaller, WW_OK, "sync");
}
