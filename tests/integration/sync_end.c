/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sync_end.c - how a signaller ends, and what its waiters are told; also with the broker restarted
 * in between
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "integration/sync.h"

/* A signaller of "x", at 3, and two waiters that have it as their 0. */
static struct {
	struct child signaller;
	struct child waiters[2];
	char pid[32]; /* as it is said of the signaller */
} cast;

static void begin(void)
{
	scene_begin();
	agent_begin(&cast.signaller, "sync", "create 0");
	agent_does(&cast.signaller, "put 0 x", "signal 0 3", "export 0");
	snprintf(cast.pid, sizeof(cast.pid), "process %d ", (int)cast.signaller.pid);
	for (int i = 0; i < 2; i++)
		sync_start(&cast.waiters[i], NULL);
	agent_must(&cast.waiters[0], WW_OK, "get 0 x");
	sync_pass_token(&cast.signaller, &cast.waiters[1]);
	agent_must(&cast.waiters[1], WW_OK, "import 0");
}

#define END_CASE(case_name, case_needs) CASE_BETWEEN(case_name, case_needs, begin(), scene_end())

static void both_wait(int value)
{
	for (int i = 0; i < 2; i++)
		agent_tell(&cast.waiters[i], "wait 0 %d wait_ms=forever", value);
}

static void both_answer(void)
{
	for (int i = 0; i < 2; i++)
		agent_answers(&cast.waiters[i], WW_OK);
}

static void both_learn_of_loss(void)
{
	for (int i = 0; i < 2; i++)
		agent_answers_with(&cast.waiters[i], WW_ERR_PEER_LOST, cast.pid);
}

/* Both are told now, and whenever they ask again; what was reached stays so. */
static void both_are_told(void)
{
	both_learn_of_loss();
	for (int i = 0; i < 2; i++) {
		agent_must(&cast.waiters[i], WW_ERR_PEER_LOST, "wait 0 9 wait_ms=forever");
		agent_must(&cast.waiters[i], WW_ERR_PEER_LOST, "query 0 9");
		agent_does(&cast.waiters[i], "wait 0 3 wait_ms=forever", "query 0 1");
		agent_must(&cast.waiters[i], WW_ERR_PEER_LOST, "query 0 4");
		agent_must(&cast.waiters[i], WW_ERR_PEER_LOST, "export 0");
	}
}

END_CASE(end_by_kill, 0)
{
	int pid;

	both_wait(4);
	pid = (int)cast.signaller.pid;
	child_kill(&cast.signaller);
	both_are_told();
	for (int i = 0; i < 2; i++)
		agent_must(&cast.waiters[i], WW_OK, "lost_is 0 %d helper", pid);
}

/* Streams wait, some of them beside a value that a stream of the dead was about to signal. */
END_CASE(end_by_kill_with_streams, NEEDS_VALUES)
{
	agent_does(&cast.signaller, "hold", "stream_signal 0 5");
	agent_must(&cast.waiters[0], WW_OK, "stream_wait 0 5 wait_ms=forever");
	agent_must(&cast.waiters[1], WW_OK, "stream_wait 0 9 unsubmitted");
	both_wait(5);
	child_kill(&cast.signaller);
	both_are_told();
	for (int i = 0; i < 2; i++) {
		agent_refuses(&cast.waiters[i], WW_ERR_PEER_LOST, cast.pid, "sync");
		agent_must(&cast.waiters[i], WW_ERR_PEER_LOST, "stream_wait 0 1");
		agent_must(&cast.waiters[i], WW_OK, "create 1");
		agent_must(&cast.waiters[i], WW_ERR_PEER_LOST, "stream_signal 1 1");
		agent_must(&cast.waiters[i], WW_OK, "is 1 live 0 0");
	}
}

/* It ends of itself and never lets go. */
END_CASE(end_by_exit, 0)
{
	both_wait(4);
	child_tell(&cast.signaller, "exit");
	child_finish(&cast.signaller);
	both_are_told();
}

END_CASE(end_in_order, 0)
{
	both_wait(4);
	agent_must(&cast.signaller, WW_OK, "unref 0");
	for (int i = 0; i < 2; i++) {
		agent_answers_with(&cast.waiters[i], WW_ERR_PEER_LOST, "closed");
		agent_does(&cast.waiters[i], "wait 0 3", "is 0 closed 3 3");
	}
	agent_end(&cast.signaller);
	for (int i = 0; i < 2; i++) {
		agent_must(&cast.waiters[i], WW_OK, "wait 0 3");
		agent_must(&cast.waiters[i], WW_ERR_PEER_LOST, "wait 0 4");
	}
}

/* Let go of while a stream has yet to signal: that value still comes. */
END_CASE(end_with_stream_pending, NEEDS_VALUES)
{
	agent_does(&cast.signaller, "hold", "stream_signal 0 5");
	agent_must(&cast.waiters[0], WW_OK, "stream_wait 0 5");
	agent_must(&cast.waiters[1], WW_OK, "stream_wait 0 6 unsubmitted");
	agent_must(&cast.signaller, WW_OK, "unref 0");
	for (int i = 0; i < 2; i++) {
		agent_must(&cast.waiters[i], WW_OK, "is 0 closed 5 3");
		agent_must(&cast.waiters[i], WW_ERR_PEER_LOST, "wait 0 6 wait_ms=forever");
		agent_must(&cast.waiters[i], WW_TIMED_OUT, "wait 0 5");
	}
	both_wait(5);
	agent_must(&cast.signaller, WW_OK, "go");
	both_answer();
	agent_must(&cast.waiters[0], WW_OK, "sync");
	agent_refuses(&cast.waiters[1], WW_ERR_PEER_LOST, "closed", "sync");
}

/* A waiter is nobody's business, also when its stream waits. */
END_CASE(end_of_waiter, NEEDS_VALUES)
{
	agent_must(&cast.waiters[0], WW_OK, "stream_wait 0 9 unsubmitted");
	agent_tell(&cast.waiters[0], "wait 0 9 wait_ms=forever");
	child_kill(&cast.waiters[0]);
	agent_must(&cast.signaller, WW_OK, "signal 0 9");
	agent_must(&cast.waiters[1], WW_OK, "wait 0 9 wait_ms=forever");
	agent_begin(&cast.waiters[0], "sync", "get 0 x");
	agent_must(&cast.waiters[0], WW_OK, "is 0 live 9 9");
}

/* The name is free again however it ended, also while waiters hold what is left. */
END_CASE(end_frees_name, 0)
{
	both_wait(4);
	child_kill(&cast.signaller);
	both_are_told();
	sync_start(&cast.signaller, NULL);
	agent_must(&cast.waiters[0], WW_ERR_NOT_FOUND, "get 1 x");
	for (int i = 0; i < 3; i++) {
		agent_must(&cast.signaller, WW_OK, "create 0 value=%d", i);
		agent_must(&cast.signaller, WW_OK, "put 0 x");
		agent_must(&cast.waiters[0], WW_OK, "get 1 x");
		agent_must(&cast.waiters[0], WW_OK, "is 1 live %d %d", i, i);
		agent_must(&cast.signaller, WW_OK, "unref 0");
		agent_must(&cast.waiters[0], WW_OK, "is 1 closed %d %d", i, i);
		agent_must(&cast.waiters[0], WW_OK, "unref 1");
	}
	agent_must(&cast.waiters[0], WW_OK, "is 0 lost 3 3");
}

/* Taken out of the broker, by whomever: those who have it go on, and are told all the same. */
END_CASE(end_after_removal, 0)
{
	agent_must(&cast.signaller, WW_OK, "remove x");
	agent_must(&cast.waiters[1], WW_ERR_NOT_FOUND, "get 1 x");
	both_wait(4);
	agent_must(&cast.signaller, WW_OK, "signal 0 4");
	both_answer();
	both_wait(5);
	child_kill(&cast.signaller);
	both_learn_of_loss();
}

END_CASE(end_after_broker_restart, NEEDS_VALUES)
{
	struct child third;

	agent_must(&cast.waiters[0], WW_OK, "stream_wait 0 4 unsubmitted");
	both_wait(4);
	scene_restart_broker();
	agent_must(&cast.signaller, WW_OK, "signal 0 4");
	both_answer();
	agent_must(&cast.waiters[0], WW_OK, "sync");
	agent_begin(&third, "sync", "get 0 x wait_ms=forever");
	agent_must(&cast.signaller, WW_OK, "export 0");
	sync_pass_token(&cast.signaller, &third);
	agent_does(&third, "import 1", "is 1 live 4 4");
	agent_must(&cast.waiters[0], WW_OK, "stream_wait 0 5 unsubmitted");
	both_wait(5);
	agent_tell(&third, "wait 1 5 wait_ms=forever");
	scene_restart_broker();
	child_kill(&cast.signaller);
	both_learn_of_loss();
	agent_answers_with(&third, WW_ERR_PEER_LOST, cast.pid);
	agent_must(&third, WW_ERR_PEER_LOST, "query 0 5");
	agent_must(&cast.waiters[0], WW_ERR_PEER_LOST, "sync");
}

/* The signaller ends while there is no broker process at all. */
END_CASE(end_while_broker_restarts, 0)
{
	struct ww_broker_info info;

	both_wait(4);
	info = scene_info();
	MUST_CALL(kill((pid_t)info.pid, SIGKILL));
	child_kill(&cast.signaller);
	broker_hear_ready(&scene.daemon);
	both_are_told();
}

/* --- fork --- */

#define FORKED(call) MUST_REFUSE(WW_ERR_FORKED, "fork", call)

static struct {
	ww_device *device;
	ww_stream *stream;
	ww_timeline *timeline;
	ww_barrier *barrier;
	struct ww_token token;
} ours;

static void refuse_timeline_calls(void)
{
	struct ww_timeline_info info = WW_INIT(struct ww_timeline_info);
	ww_timeline *got;
	struct ww_token token;
	int fd;

	MUST_STATUS(subject_is_cuda() ? WW_ERR_FORKED : WW_OK, ww_timeline_create(NULL, &got));
	ww_timeline_unref(got);
	FORKED(ww_timeline_prepare(ours.timeline, ours.device));
	FORKED(ww_timeline_signal(ours.timeline, 9));
	FORKED(ww_timeline_stream_signal(ours.timeline, ours.stream, 9));
	FORKED(ww_timeline_wait(ours.timeline, 9, WW_FOREVER, NULL));
	FORKED(ww_timeline_stream_wait(ours.timeline, ours.stream, 9, 0, WW_FOREVER, NULL));
	FORKED(ww_timeline_query(ours.timeline, 1));
	FORKED(ww_timeline_eventfd(ours.timeline, ours.stream, 1, &fd));
	FORKED(ww_timeline_info_get(ours.timeline, &info));
	FORKED(ww_timeline_export(ours.timeline, scene.broker, NULL, NULL, &token));
	FORKED(ww_timeline_import(scene.broker, &ours.token, NULL, &got));
	FORKED(ww_timeline_put(ours.timeline, scene.broker, "y", NULL, NULL));
	FORKED(ww_timeline_get(scene.broker, "x", WW_FOREVER, NULL, &got));
	for (int i = 0; i < 3; i++)
		MUST(!ww_timeline_unref(ours.timeline));
	MUST(ww_timeline_ref(ours.timeline) == ours.timeline);
}

static void refuse_barrier_calls(void)
{
	struct ww_barrier_info info = WW_INIT(struct ww_barrier_info);
	struct ww_token token;
	ww_barrier *got;
	int fd;

	FORKED(ww_barrier_create(scene.broker, "y", WW_PARAMS(struct ww_barrier_params, .count = 2),
		NULL, &token));
	FORKED(ww_barrier_get(scene.broker, "x", 0, WW_FOREVER, NULL, &got));
	/* The token is a timeline's, which is seen first. */
	MUST_STATUS(subject_is_cuda() ? WW_ERR_FORKED : WW_ERR_UNSUPPORTED,
		ww_barrier_import(scene.broker, &ours.token, 0, WW_FOREVER, NULL, &got));
	FORKED(ww_barrier_wait(ours.barrier, WW_FOREVER, NULL));
	FORKED(ww_barrier_info_get(ours.barrier, &info));
	FORKED(ww_barrier_eventfd(ours.barrier, &fd));
	for (int i = 0; i < 3; i++)
		MUST(!ww_barrier_unref(ours.barrier));
	MUST(ww_barrier_ref(ours.barrier) == ours.barrier);
}

SCENE_CASE(fork_refuses_timelines, NEEDS_VALUES)
{
	int status = -1;
	pid_t pid;

	ours.device = scene.device;
	ours.stream = stream_make(scene.device);
	ours.timeline = timeline_make(0, 1);
	MUST_OK(ww_timeline_put(ours.timeline, scene.broker, "x", NULL, NULL));
	MUST_OK(ww_timeline_export(ours.timeline, scene.broker, NULL, NULL, &ours.token));
	MUST_OK(ww_barrier_create(scene.broker, "barrier",
		WW_PARAMS(struct ww_barrier_params, .count = 1), NULL, NULL));
	MUST_OK(ww_barrier_get(scene.broker, "barrier", 0, 0, NULL, &ours.barrier));
	pid = fork();
	MUST_CALL(pid);
	if (pid == 0) {
		alarm((unsigned int)child_limit_ms() / 1000);
		refuse_timeline_calls();
		refuse_barrier_calls();
		_exit(0);
	}
	MUST_EQUAL(pid, waitpid(pid, &status, 0));
	MUST_EQUAL(0, status);
	/* Nothing has happened to it. */
	MUST_OK(ww_timeline_stream_signal(ours.timeline, ours.stream, 2));
	MUST_OK(ww_timeline_wait(ours.timeline, 2, WW_FOREVER, NULL));
	MUST_OK(ww_barrier_wait(ours.barrier, 0, NULL));
	ww_barrier_unref(ours.barrier);
	ww_timeline_unref(ours.timeline);
	ww_stream_unref(ours.stream);
}
