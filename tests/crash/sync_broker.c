/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sync_broker.c - the broker, who speaks for the dead, dies too
 *
 * As long as the supervisor lives there is a next broker, and that releases the waiters: of those
 * who died meanwhile, and of those whom the former one had given up. When broker and supervisor die
 * together, nobody speaks for the dead any more: CPU waits with a limit end by that, waits without
 * one last until their process ends, and a later broker knows nothing.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

#include "crash/sync.h"
#include "sync/timeline.h"

static uint32_t some(void)
{
	return kills_wanted() > 20 ? kills_wanted() / 20 : 1;
}

static void kill_broker(void)
{
	struct ww_broker_info before = scene_info();

	MUST_CALL(kill((pid_t)before.pid, SIGKILL));
	scene_has_other_broker(before.pid);
}

/*
 * The broker takes its place and starts another. Who was killed, and is ours since its parent was,
 * is reaped.
 */
static void kill_supervisor(void)
{
	struct ww_broker_info before = scene_info();

	MUST_CALL(kill((pid_t)before.supervisor_pid, SIGKILL));
	scene_has_other_broker(before.pid);
	scene.daemon.supervisor = (pid_t)scene_info().supervisor_pid;
	waitpid((pid_t)before.supervisor_pid, NULL, WNOHANG);
	waitpid((pid_t)before.pid, NULL, WNOHANG);
}

static void after(void (*harm)(void), const char *what)
{
	uint32_t count = some();

	cast_begin();
	cast.is_counted = false;
	for (uint32_t i = 0; i < count; i++) {
		round_begin(i % 2);
		harm();
		pause_at_random();
		round_kill();
		round_end();
	}
	/*
	 * Only the pidfd tells the next broker, and that may come later than the end of a socket.
	 */
	cast.is_timed = false;
	cast_end(what);
}

CASE_CALL(broker_killed_before, 0, after(kill_broker, "after a restart of the broker"))
CASE_CALL(supervisor_killed_before, 0, after(kill_supervisor, "after the supervisor's death"))

/* In either order, with nothing or little in between. */
CASE(broker_killed_at_once, 0)
{
	uint32_t count = some() * 2;

	cast_begin();
	cast.is_counted = false;
	for (uint32_t i = 0; i < count; i++) {
		struct ww_broker_info before = scene_info();
		bool broker_first = draw_from(&cast.random, 2);

		round_begin(i % 2);
		if (broker_first)
			MUST_CALL(kill((pid_t)before.pid, SIGKILL));
		pause_up_to(&cast.random, i % 3 * 1000000);
		round_kill();
		if (!broker_first)
			MUST_CALL(kill((pid_t)before.pid, SIGKILL));
		scene_has_other_broker(before.pid);
		round_end();
	}
	cast.is_timed = false; /* the time is the broker's start */
	cast_end("with the broker");
}

/* Nobody is there to notice the death, until the next broker is. */
CASE(broker_down_meanwhile, 0)
{
	uint32_t count = some();

	cast_begin();
	cast.is_timed = false;
	for (uint32_t i = 0; i < count; i++) {
		struct ww_broker_info down;

		round_begin(i % 2);
		down = scene_info();
		MUST_CALL(kill((pid_t)down.supervisor_pid, SIGSTOP));
		MUST_CALL(kill((pid_t)down.pid, SIGKILL));
		pause_at_random();
		round_kill();
		pause_at_random();
		MUST_CALL(kill((pid_t)down.supervisor_pid, SIGCONT));
		MUST_EQUAL(down.restarts + 1, scene_info().restarts);
		round_end();
	}
	cast_end("with the broker down");
}

static void ask_for(const char *word)
{
	child_tell(&cast.signaller, "%s", word);
	child_hear(&cast.signaller, word);
}

/* This process's own view of a timeline of the signaller's. */
static ww_timeline *get(enum style style)
{
	ww_timeline *timeline;
	char name[32];

	name_timeline(name, cast.round, style);
	MUST_OK(ww_timeline_get(scene.broker, name, 0, NULL, &timeline));
	return timeline;
}

static bool is_poisoned(const ww_timeline *timeline)
{
	return __atomic_load_n(&timeline->cell->completed, __ATOMIC_ACQUIRE) == WW_SIGNAL_POISON;
}

/* However often the streams of a process that is still there store their values. */
static void must_be_poisoned(const ww_timeline *timeline)
{
	uint64_t end_ns = now_ns() + (uint64_t)child_limit_ms() * 1000000;

	while (!is_poisoned(timeline) && now_ns() < end_ns)
		scene_info();
	MUST(is_poisoned(timeline));
}

/*
 * The connection ends and the process does not. Its streams store on, which the broker undoes: also
 * a new broker, which finds nothing but the record of it.
 */
static void cut_connections(void (*harm)(void))
{
	uint32_t count = some();

	cast_begin();
	cast.is_timed = false;
	for (uint32_t i = 0; i < count; i++) {
		ww_timeline *timeline;

		round_begin(true);
		timeline = get(STYLE_GATED);
		ask_for("cut");
		must_be_poisoned(timeline);
		if (harm)
			harm();
		round_open_gate();
		round_released();
		while (board_said(cast.board, STYLE_GATED) < SYNC_GATED)
			scene_info();
		must_be_poisoned(timeline);
		round_kill();
		must_be_poisoned(timeline);
		ww_timeline_unref(timeline);
		round_end();
	}
	cast_end("cut off");
}

CASE_CALL(connection_cut, 0, cut_connections(NULL))
CASE_CALL(connection_cut_and_broker_killed, 0, cut_connections(kill_broker))

/* It is as it was, and only a kill ends it. */
static void must_still_wait(struct child *waiter)
{
	int status;

	MUST_CALL(kill(waiter->pid, SIGKILL));
	status = child_wait(waiter);
	MUST(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

/* Broker and supervisor are killed, and the signaller. */
CASE(nobody_speaks_for_the_dead, 0)
{
	struct ww_stream *stream;
	ww_timeline *timeline;
	ww_timeline *own;

	cast_begin();
	cast.is_timed = false;
	round_begin(false);
	stream = stream_make(scene.device);
	timeline = get(STYLE_QUIET);
	broker_kill(&scene.daemon);
	round_kill();
	MUST_STATUS(WW_TIMED_OUT, ww_timeline_wait(timeline, 1, 20000000, NULL));
	MUST_STATUS(WW_TIMED_OUT, ww_timeline_stream_wait(timeline, stream, 1, 0, 20000000, NULL));
	MUST_STATUS(WW_NOT_READY, ww_timeline_query(timeline, 1));
	MUST_OK(ww_timeline_create(NULL, &own));
	MUST_REFUSE(WW_ERR_NO_BROKER, "broker",
		ww_timeline_put(own, scene.broker, "x", NULL, NULL));
	MUST_OK(ww_timeline_signal(own, 1));
	MUST_OK(ww_timeline_stream_wait(own, stream, 1, 0, 0, NULL));
	MUST_OK(ww_stream_synchronize(stream, WW_FOREVER, NULL));
	for (uint32_t i = 0; i < SYNC_WAITERS; i++)
		must_still_wait(&cast.waiters[i]);
	child_kill(&cast.signaller);
	ww_timeline_unref(own);
	ww_timeline_unref(timeline);
	ww_timeline_unref(cast.gate);
	ww_stream_unref(stream);
	board_unmap(cast.board);
	ww_broker_unref(scene.broker);
	ww_device_unref(scene.device);
	scene = (struct scene){0};
}
