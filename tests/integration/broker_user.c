/* SPDX-License-Identifier: Apache-2.0 */
/*
 * broker_user.c - several users at one broker: who is let in by owner, group and mode
 *
 * The users and groups here need not exist: the kernel knows them by number.
 */
#include <stdio.h>
#include <string.h>

#include "integration/broker.h"

static struct child alice;
static struct child bob;

/*
 * Alice is user 61001, Bob 61002; 61100 and 61101 are groups. Of each agent it is said who it is:
 * UID GID [GID...]
 */

static void start_user(struct child *agent, const char *who)
{
	agent_begin(agent, "agent", "user %s", who);
}

/*
 * Alice's object under this mode, and what others make of it: WW_OK or WW_ERR_ACCESS for reading
 * and for writing.
 */
static void try_mode(const char *owner, const char *put, const char *other, ww_status reads,
	ww_status writes)
{
	struct child taker;

	start_user(&alice, owner);
	agent_must(&alice, WW_OK, "make vmm 2097152 1");
	agent_must(&alice, WW_OK, "put shared/x life=owner state=shared %s", put);
	start_user(&taker, other);
	agent_must(&taker, reads, "get shared/x");
	if (reads == WW_OK) {
		agent_does(&taker, "verify 1", "drop");
	}
	agent_must(&taker, writes, "get shared/x write");
	if (writes == WW_OK) {
		agent_must(&taker, WW_OK, "write 2");
		agent_must(&alice, WW_OK, "verify 2");
	}
	agent_end(&taker);
	agent_end(&alice);
	scene_has_objects(0);
}

#define NO  WW_ERR_ACCESS
#define YES WW_OK

SCENE_CASE(user_owner_mode, WW_CAP_EXPORT | NEEDS_ROOT)
{
	try_mode("61001 61001", "mode=0600", "61001 61001", YES, YES);
	try_mode("61001 61001", "mode=0400", "61001 61001", YES, NO);
	try_mode("61001 61001", "mode=0600", "61002 61002", NO, NO);
	try_mode("61001 61001", "mode=0600", "61002 61001", NO, NO); /* the group is not asked */
	try_mode("61001 61001", "mode=0600", "0 0", YES, YES);
	try_mode("61001 61001", "mode=0066", "61001 61001", NO, NO); /* nor are others */
}

SCENE_CASE(user_group_mode, WW_CAP_EXPORT | NEEDS_ROOT)
{
	try_mode("61001 61100", "mode=0640", "61002 61100", YES, NO);
	try_mode("61001 61100", "mode=0660", "61002 61100", YES, YES);
	try_mode("61001 61100", "mode=0640", "61002 61101", NO, NO);
	try_mode("61001 61100", "mode=0606", "61002 61100", NO, NO);
}

SCENE_CASE(user_supplementary_group, WW_CAP_EXPORT | NEEDS_ROOT)
{
	try_mode("61001 61100", "mode=0640", "61002 61002 61100", YES, NO);
	try_mode("61001 61100", "mode=0660", "61002 61002 61101 61100", YES, YES);
	try_mode("61001 61100", "mode=0660", "61002 61002 61101", NO, NO);
}

SCENE_CASE(user_everybody_mode, WW_CAP_EXPORT | NEEDS_ROOT)
{
	try_mode("61001 61001", "mode=0644", "61002 61002", YES, NO);
	try_mode("61001 61001", "mode=0666", "61002 61002", YES, YES);
	try_mode("61001 61001", "mode=0662", "61002 61002", NO,
		NO); /* nobody writes what he may not read */
}

/* A group other than one's own first one: only one that one has. */
SCENE_CASE(user_gives_to_group, WW_CAP_EXPORT | NEEDS_ROOT)
{
	try_mode("61001 61001 61100", "mode=0660 gid=61100", "61002 61100", YES, YES);
	try_mode("61001 61001 61100", "mode=0660 gid=61100", "61002 61101", NO, NO);
	start_user(&alice, "61001 61001 61100");
	agent_must(&alice, WW_OK, "make vmm 2097152 1");
	agent_must(&alice, WW_ERR_ACCESS, "put x life=owner mode=0660 gid=61101");
}

SCENE_CASE(user_cannot_remove, WW_CAP_EXPORT | NEEDS_ROOT)
{
	start_user(&alice, "61001 61100");
	start_user(&bob, "61002 61100");
	agent_does(&alice, "make vmm 2097152 1", "put x life=kept mode=0666 state=shared");
	agent_must(&bob, WW_ERR_ACCESS, "remove x");
	agent_must(&bob, WW_OK, "get x write");
	agent_must(&bob, WW_ERR_ACCESS, "remove x");
	agent_does(&alice, "remove x", "drop", "make vmm 2097152 1", "put x life=kept");
	MUST_OK(ww_broker_remove(scene.broker, "x")); /* root may */
}

SCENE_CASE(user_cannot_replace, WW_CAP_EXPORT | NEEDS_ROOT)
{
	start_user(&alice, "61001 61001");
	start_user(&bob, "61002 61002");
	agent_does(&alice, "make vmm 2097152 1", "put x life=owner mode=0666 state=shared");
	agent_must(&bob, WW_OK, "make vmm 2097152 2");
	agent_must(&bob, WW_ERR_EXISTS, "put x life=owner");
	agent_must(&bob, WW_ERR_ACCESS, "put x life=owner replace");
	agent_does(&bob, "drop", "get x", "verify 1");
}

SCENE_CASE(user_own_names, WW_CAP_EXPORT | NEEDS_ROOT)
{
	start_user(&alice, "61001 61001");
	start_user(&bob, "61002 61002");
	agent_must(&bob, WW_OK, "make vmm 2097152 2");
	agent_must(&bob, WW_ERR_ACCESS, "put ~61001/x life=owner");
	agent_does(&alice, "make vmm 2097152 1", "put ~61001/x life=owner mode=0644");
	agent_does(&bob, "drop", "get ~61001/x", "verify 1");
}

/* Whoever takes a name first, a reader who says whose it must be is not deceived. */
SCENE_CASE(user_from_owner, WW_CAP_EXPORT | NEEDS_ROOT)
{
	ENDED_BY(agent_end) struct child squatter;
	ENDED_BY(agent_end) struct child reader;

	start_user(&squatter, "61002 61002");
	start_user(&reader, "61003 61003");
	agent_does(&squatter, "make vmm 2097152 2", "put model life=owner mode=0644");
	agent_must(&reader, WW_ERR_ACCESS, "get model owner=61001");
	agent_does(&reader, "get model owner=61002", "verify 2");
}

/* What another user was given for reading, the kernel lets it neither map nor open for writing. */
SCENE_CASE(user_reader_cannot_write, WW_CAP_HOST_READ_ONLY | NEEDS_ROOT)
{
	static const char *const states[] = {"sealed", "shared"};

	for (size_t i = 0; i < CHECK_COUNT(states); i++) {
		start_user(&alice, "61001 61001");
		start_user(&bob, "61002 61002");
		agent_must(&alice, WW_OK, "make host 8192 1");
		agent_must(&alice, WW_OK, "put x life=owner mode=0644 state=%s", states[i]);
		agent_does(&bob, "get x", "verify 1");
		agent_must(&bob, WW_ERR_ACCESS, "map_write");
		agent_must(&bob, WW_ERR_ACCESS, "reopen");
		agent_end(&bob);
		agent_end(&alice);
	}
}

/* A socket of mode 0600 is its owner's alone. */
CASE(user_not_let_in, NEEDS_ROOT)
{
	struct child attacker;

	scene_begin_with(&(struct broker_options){.mode = "0600"});
	start_user(&attacker, "61001 61001");
	agent_must(&attacker, WW_ERR_ACCESS, "open");
	agent_end(&attacker);
	scene_end();
}
