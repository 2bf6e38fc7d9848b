/* SPDX-License-Identifier: Apache-2.0 */
/*
 * broker_holder.c - processes that die while they hold something, and the broker with them
 *
 * "Down" is a broker that was killed and whose supervisor is stopped: nothing happens until the
 * supervisor goes on.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "crash/broker.h"

#define LIMIT_NS ((uint64_t)child_limit_ms() * 1000000)
#define MAKE     "make vmm 2097152 1"

static struct ww_broker_info down;

static void go_down(void)
{
	down = scene_info();
	MUST_CALL(kill((pid_t)down.supervisor_pid, SIGSTOP));
	MUST_CALL(kill((pid_t)down.pid, SIGKILL));
}

static void come_up(void)
{
	MUST_CALL(kill((pid_t)down.supervisor_pid, SIGCONT));
	MUST_EQUAL(down.restarts + 1, scene_info().restarts);
}

static void hear(ww_watch *watch, uint32_t what, const char *name)
{
	struct ww_watch_event event = WW_INIT(struct ww_watch_event);

	MUST_OK(ww_watch_next(watch, LIMIT_NS, NULL, &event));
	if (event.what != what || strcmp(event.object.name, name))
		FAIL("the watch tells %u of '%s', not %u of '%s'", event.what, event.object.name,
			what, name);
}

/*
 * From the kill, so with the kernel's own work until the socket's end, to the watcher's knowing of
 * it.
 */
CASE(holder_killed_is_released_soon, 0)
{
	uint32_t count = kills_wanted();
	uint64_t *times_ns = calloc(count, sizeof(*times_ns));
	ww_watch *watch;

	MUST(times_ns);
	scene_begin();
	MUST_OK(ww_watch_create(scene.broker, "x", 0, &watch));
	for (uint32_t i = 0; i < count; i++) {
		struct child holder;
		uint64_t start_ns;

		agent_begin(&holder, "agent", MAKE);
		agent_must(&holder, WW_OK, "put x life=held");
		hear(watch, WW_WATCH_PUT, "x");
		hear(watch, WW_WATCH_READY, "x");
		start_ns = now_ns();
		MUST_CALL(kill(holder.pid, SIGKILL));
		hear(watch, WW_WATCH_GONE, "x");
		times_ns[i] = now_ns() - start_ns;
		child_kill(&holder);
	}
	ww_watch_free(watch);
	scene_end();
	note_times("from the kill of a holder to the release of what it held", times_ns, count);
	free(times_ns);
}

CASE(holder_killed_while_broker_is_down, 0)
{
	struct child agents[3];
	ww_memory *memory;

	scene_begin();
	for (int i = 0; i < 3; i++) {
		agent_begin(&agents[i], "agent", MAKE);
	}
	agent_must(&agents[0], WW_OK, "put kept life=kept");
	agent_must(&agents[1], WW_OK, "put owned life=owner");
	agent_must(&agents[2], WW_OK, "put held life=held");
	go_down();
	for (int i = 0; i < 3; i++)
		child_kill(&agents[i]);
	come_up();
	scene_has_objects(1);
	scene_has_holders(1);
	memory = scene_get("kept", WW_ACCESS_READ);
	pattern_verify(memory, 1);
	ww_memory_unref(memory);
	MUST_OK(ww_broker_remove(scene.broker, "kept"));
	scene_end();
}

/*
 * A waiter that came back before the writer's death was noticed is told of it; one that came later
 * has missed it, and waits for the next of that name.
 */
static void must_be_told_or_get_next(struct child *waiter)
{
	char answer[CHILD_WORD_BYTES];

	child_hear_any(waiter, answer);
	if (!strncmp(answer, "WW_OK ", 6))
		agent_must(waiter, WW_OK, "verify 2");
	else if (strncmp(answer, "WW_ERR_PEER_LOST ", 17))
		FAIL("the waiter was answered: %s", answer);
}

/* What a dead process was writing is not there for anybody. */
CASE(writer_killed_while_broker_is_down, 0)
{
	struct child writer;
	struct child waiter;

	scene_begin();
	agent_begin(&writer, "agent", MAKE);
	agent_must(&writer, WW_OK, "put x life=kept state=writing");
	agent_begin(&waiter, "agent", "open");
	agent_tell(&waiter, "get x wait_ms=forever");
	scene_has_waits(1);
	go_down();
	child_kill(&writer);
	come_up();
	scene_has_objects(0);
	agent_begin(&writer, "agent", "make vmm 2097152 2");
	agent_must(&writer, WW_OK, "put x life=kept");
	must_be_told_or_get_next(&waiter);
	agent_end(&writer);
	agent_end(&waiter);
	MUST_OK(ww_broker_remove(scene.broker, "x"));
	scene_end();
}

/* Who lives has all that it had, without a call in between. */
CASE(holder_stays_while_broker_is_down, 0)
{
	struct child maker;
	struct child holder;
	struct child idle;

	scene_begin();
	agent_begin(&maker, "agent", MAKE);
	agent_must(&maker, WW_OK, "put x life=held state=shared");
	agent_begin(&holder, "agent", "get x write");
	agent_begin(&idle, "agent", MAKE);
	agent_must(&idle, WW_OK, "put y life=owner");
	go_down();
	child_kill(&maker);
	agent_tell(&holder, "stat x"); /* asked while nobody is there */
	come_up();
	agent_answers(&holder, WW_OK);
	scene_has_holders(3); /* idle is one, though it has not come back yet */
	MUST_EQUAL(2, scene_info().objects);
	agent_does(&holder, "verify 1", "drop");
	scene_has_objects(1);
	agent_must(&idle, WW_OK, "stat y");
	agent_end(&idle);
	agent_end(&holder);
	scene_end();
}

CASE(waiter_is_answered_after_restart, 0)
{
	struct child waiter;
	struct child maker;

	scene_begin();
	agent_begin(&waiter, "agent", "open");
	agent_tell(&waiter, "get x wait_ms=forever");
	scene_has_waits(1);
	for (int i = 0; i < 5; i++) {
		go_down();
		come_up();
		scene_has_waits(1); /* it came back and waits again */
	}
	agent_begin(&maker, "agent", MAKE);
	agent_must(&maker, WW_OK, "put x life=owner");
	agent_answers(&waiter, WW_OK);
	agent_must(&waiter, WW_OK, "verify 1");
	agent_end(&waiter);
	agent_end(&maker);
	scene_end();
}

/* Events may be lost with a broker; then the watch says so. */
CASE(watch_goes_on_after_restart, 0)
{
	struct ww_watch_event event = WW_INIT(struct ww_watch_event);
	struct child maker;
	ww_watch *watch;

	scene_begin();
	MUST_OK(ww_watch_create(scene.broker, NULL, 0, &watch));
	agent_begin(&maker, "agent", MAKE);
	go_down();
	come_up();
	MUST_OK(ww_watch_next(watch, LIMIT_NS, NULL, &event));
	MUST_EQUAL(WW_WATCH_OVERFLOW, event.what);
	agent_must(&maker, WW_OK, "put x life=owner");
	hear(watch, WW_WATCH_PUT, "x");
	hear(watch, WW_WATCH_READY, "x");
	child_kill(&maker);
	hear(watch, WW_WATCH_GONE, "x");
	ww_watch_free(watch);
	scene_end();
}
