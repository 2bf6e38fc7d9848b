/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sync_user.c - timelines and barriers across users, and across containers
 *
 * The users and groups need not exist: the kernel knows them by number. Alice is 61001, Bob 61002;
 * 61100 is a group.
 */
#include <sys/stat.h>
#include <unistd.h>

#include "integration/sync.h"

#define NO  WW_ERR_ACCESS
#define YES WW_OK

static void try_mode(const char *owner, const char *mode, const char *other, ww_status gets)
{
	struct child alice;
	struct child waiter;

	sync_start_user(&alice, owner);
	sync_start_user(&waiter, other);
	agent_must(&alice, WW_OK, "create 0");
	agent_must(&alice, WW_OK, "put 0 x mode=%s", mode);
	agent_must(&waiter, gets, "get 0 x");
	if (gets == WW_OK) {
		agent_tell(&waiter, "wait 0 1 wait_ms=forever");
		agent_must(&alice, WW_OK, "signal 0 1");
		agent_answers(&waiter, WW_OK);
		agent_must(&waiter, WW_ERR_ACCESS, "signal 0 2");
	}
	agent_end(&waiter);
	agent_end(&alice);
	scene_has_objects(0);
}

SCENE_CASE(user_mode, NEEDS_ROOT)
{
	try_mode("61001 61100", "0640", "61002 61100", YES);
	try_mode("61001 61100", "0640", "61002 61002 61100", YES);
	try_mode("61001 61100", "0640", "61002 61002", NO);
	try_mode("61001 61100", "0600", "61002 61100", NO);
	try_mode("61001 61100", "0600", "61001 61001", YES);
	try_mode("61001 61100", "0600", "0 0", YES);
	try_mode("61001 61100", "0644", "61002 61002", YES);
	try_mode("61001 61100", "0", "61002 61100", NO); /* which is 0600 */
}

/* A token opens what the mode closes, and only that timeline's page. */
SCENE_CASE(user_token, NEEDS_ROOT)
{
	struct child alice;
	struct child bob;

	sync_start_user(&alice, "61001 61001");
	sync_start_user(&bob, "61002 61002");
	agent_does(&alice, "create 0", "put 0 x mode=0600");
	agent_must(&bob, WW_ERR_ACCESS, "get 0 x");
	agent_must(&alice, WW_OK, "export 0");
	sync_pass_token(&alice, &bob);
	agent_must(&bob, WW_OK, "import 0");
	agent_must(&alice, WW_OK, "signal 0 4");
	agent_must(&bob, WW_OK, "wait 0 4 wait_ms=forever");
	agent_must(&bob, WW_ERR_ACCESS, "get 1 x");
}

SCENE_CASE(user_is_told_of_the_dead, NEEDS_ROOT)
{
	struct child alice;
	struct child bob;
	const char *name;

	sync_start_user(&alice, "61001 61001");
	sync_start_user(&bob, "61002 61002");
	agent_does(&alice, "create 0", "put 0 x mode=0644");
	agent_must(&bob, WW_OK, "get 0 x");
	agent_tell(&bob, "wait 0 1 wait_ms=forever");
	name = agent_kill(&alice);
	agent_answers_with(&bob, WW_ERR_PEER_LOST, name);
	agent_must(&bob, WW_ERR_PEER_LOST, "query 0 1");
	agent_must(&bob, WW_OK, "query 0 0");
}

SCENE_CASE(user_barrier, NEEDS_ROOT)
{
	static const char *const who[] = {"61001 61001", "61002 61002", "0 0"};
	struct child members[3];

	MUST_OK(ww_barrier_create(scene.broker, "x",
		WW_PARAMS(struct ww_barrier_params, .count = 3, .mode = 0644), NULL, NULL));
	MUST_OK(ww_barrier_create(scene.broker, "y",
		WW_PARAMS(struct ww_barrier_params, .count = 3), NULL, NULL));
	for (int i = 0; i < 3; i++) {
		sync_start_user(&members[i], who[i]);
		if (i < 2)
			agent_must(&members[i], WW_ERR_ACCESS, "join y any wait_ms=forever");
		agent_tell(&members[i], "join x any wait_ms=forever");
	}
	for (int i = 0; i < 3; i++)
		agent_answers(&members[i], WW_OK);
	for (int i = 0; i < 3; i++)
		agent_tell(&members[i], "rounds 100");
	for (int i = 0; i < 3; i++)
		agent_answers(&members[i], WW_OK);
	child_kill(&members[1]);
	agent_must(&members[0], WW_ERR_PEER_LOST, "arrive wait_ms=forever");
	agent_must(&members[2], WW_ERR_PEER_LOST, "arrive wait_ms=forever");
	MUST_OK(ww_broker_remove(scene.broker, "y"));
}

/* --- containers --- */

static void begin(void)
{
	container_require(NULL);
	scene_begin();
	MUST_CALL(chmod(scene.daemon.folder, 0755));
}

CASE(container_waits, NEEDS_ROOT)
{
	ww_timeline *timeline;
	struct ww_token token;
	struct child waiter;

	begin();
	timeline = timeline_make(0, 0);
	MUST_OK(ww_timeline_put(timeline, scene.broker, "x", NULL, NULL));
	MUST_OK(ww_timeline_export(timeline, scene.broker, NULL, NULL, &token));
	container_start("sync_container", &waiter, NULL);
	agent_must(&waiter, WW_OK, "get 0 x");
	agent_send_token(&waiter, &token);
	agent_must(&waiter, WW_OK, "import 1");
	for (int slot = 0; slot < 2; slot++) {
		agent_tell(&waiter, "wait %d %d wait_ms=forever", slot, slot + 1);
		MUST_OK(ww_timeline_signal(timeline, (uint64_t)slot + 1));
		agent_answers(&waiter, WW_OK);
	}
	agent_tell(&waiter, "wait 1 9 wait_ms=forever");
	ww_timeline_unref(timeline);
	agent_answers_with(&waiter, WW_ERR_PEER_LOST, "closed");
	scene_end();
}

/*
 * From one container to another; the dead is process 1 as it sees itself, and another for the
 * broker.
 */
CASE(container_signals, NEEDS_ROOT)
{
	struct child signaller;
	struct child waiter;

	begin();
	container_start("sync_container", &signaller, NULL);
	container_start("sync_container", &waiter, NULL);
	agent_does(&signaller, "create 0", "put 0 x");
	agent_must(&waiter, WW_OK, "get 0 x");
	agent_tell(&waiter, "wait 0 7 wait_ms=forever");
	agent_must(&signaller, WW_OK, "signal 0 7");
	agent_answers(&waiter, WW_OK);
	agent_tell(&waiter, "wait 0 8 wait_ms=forever");
	child_kill(&signaller);
	agent_answers_with(&waiter, WW_ERR_PEER_LOST, "ended");
	agent_must(&waiter, WW_OK, "query 0 7");
	scene_end();
}

CASE(container_barrier, NEEDS_ROOT)
{
	struct child members[3];

	begin();
	MUST_OK(ww_barrier_create(scene.broker, "x",
		WW_PARAMS(struct ww_barrier_params, .count = 3), NULL, NULL));
	for (int i = 0; i < 3; i++) {
		if (i)
			container_start("sync_container", &members[i], NULL);
		else
			sync_start(&members[i], NULL);
		agent_tell(&members[i], "join x %d wait_ms=forever", i);
	}
	for (int i = 0; i < 3; i++)
		agent_answers(&members[i], WW_OK);
	for (int i = 0; i < 3; i++)
		agent_tell(&members[i], "rounds 50");
	for (int i = 0; i < 3; i++)
		agent_answers(&members[i], WW_OK);
	agent_tell(&members[0], "arrive wait_ms=forever");
	child_kill(&members[2]);
	agent_answers_with(&members[0], WW_ERR_PEER_LOST, "member 2");
	agent_must(&members[1], WW_ERR_PEER_LOST, "arrive wait_ms=forever");
	scene_end();
}
