/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel_hostile.c - consumers that keep what they have, are too many, or write what they like
 */
#include "integration/channel.h"

static struct child producer;
static struct child consumer;

static void start_pair(const char *options)
{
	channel_start(&producer, NULL);
	channel_start(&consumer, NULL);
	agent_must(&producer, WW_OK, "create c %s", options);
	agent_must(&consumer, WW_OK, "join c");
}

/* The consumer keeps the one slot, though it was evicted. */
static void start_evicted(void)
{
	start_pair("slots=1");
	agent_must(&producer, WW_OK, "send 1");
	agent_must(&consumer, WW_OK, "hold");
	agent_must(&producer, WW_OK, "evict 0");
}

/* An evicted process keeps the slot that it holds, until the kernel has reported its end. */
SCENE_CASE(channel_evicted_consumer_is_killed, NEEDS_VALUES)
{
	start_evicted();
	agent_must(&producer, WW_ERR_EVICTED, "acquire wait_ms=forever");
	agent_must(&consumer, WW_OK, "check 1"); /* nobody has written there */
	agent_tell(&producer, "acquire wait_ms=forever until_free");
	child_kill(&consumer);
	agent_answers(&producer, WW_OK);
}

/* It lives on, and lets go. */
SCENE_CASE(channel_evicted_consumer_releases, NEEDS_VALUES)
{
	start_evicted();
	agent_tell(&producer, "acquire wait_ms=forever until_free");
	agent_does(&consumer, "check 1", "release");
	agent_answers(&producer, WW_OK);
	agent_must(&consumer, WW_ERR_EVICTED, "no_more");
}

/* The producer's program waits for a stuck consumer, and a third process asks for the eviction. */
SCENE_CASE(channel_request_ends_a_wait, NEEDS_VALUES)
{
	struct child observer;

	start_pair("slots=2");
	channel_start(&observer, NULL);
	agent_must(&producer, WW_OK, "send 1");
	agent_must(&consumer, WW_OK, "hold");
	agent_must(&producer, WW_OK, "send 1");
	agent_must(&observer, WW_OK, "join c observe");
	agent_tell(&producer, "acquire wait_ms=forever");
	agent_must(&observer, WW_OK, "evict 0");
	agent_answers(&producer, WW_OK);
	agent_does(&consumer, "check 1", "release");
	agent_must(&consumer, WW_ERR_EVICTED, "no_more");
}

static void start_user(struct child *agent, const char *user)
{
	channel_start(agent, NULL);
	agent_must(agent, WW_OK, "user %s %s", user, user);
}

/* A user has as many as the producer allows, whatever others have. */
SCENE_CASE(channel_users_have_limits, NEEDS_VALUES | NEEDS_ROOT)
{
	struct child other;
	struct child second;
	struct child first;

	start_user(&producer, "61001");
	start_user(&first, "61002");
	start_user(&second, "61002");
	start_user(&other, "61003");
	agent_must(&producer, WW_OK, "create c mode=0644 per_user=1");
	agent_must(&first, WW_OK, "join c");
	agent_must(&second, WW_ERR_LIMIT, "join c");
	agent_must(&other, WW_OK, "join c");
	agent_must(&producer, WW_OK, "send 2");
	agent_must(&first, WW_OK, "take 2");
	agent_must(&other, WW_OK, "take 2");
	agent_must(&first, WW_OK, "leave");
	agent_must(&second, WW_OK, "join c");
	agent_must(&producer, WW_OK, "send 1");
	agent_does(&second, "hold", "check 3");
}

static size_t count_names(void)
{
	struct ww_object_info info = WW_INIT(struct ww_object_info);
	OWN(snapshot) ww_snapshot *snapshot;
	size_t count = 0;

	MUST_OK(ww_snapshot_create(scene.broker, NULL, WW_SNAPSHOT_OBJECTS, &snapshot));
	while (ww_snapshot_object(snapshot, count, &info) == WW_OK)
		count++;
	return count;
}

/* The producer obeys its own user and root, and removes what other users ask for. */
SCENE_CASE(channel_request_is_of_owner_or_root, NEEDS_VALUES | NEEDS_ROOT)
{
	struct child second;
	struct child root;

	start_user(&producer, "61001");
	start_user(&consumer, "61002");
	start_user(&second, "61002");
	channel_start(&root, NULL);
	agent_must(&producer, WW_OK, "create c mode=0644 slots=2");
	agent_must(&consumer, WW_OK, "join c");
	agent_must(&second, WW_OK, "join c observe");
	agent_must(&second, WW_ERR_ACCESS, "evict 0");
	agent_must(&second, WW_OK, "forge_request");
	MUST_EQUAL(4, count_names()); /* channel, slots, consumer, request */
	agent_must(&producer, WW_OK, "send 1");
	MUST_EQUAL(3, count_names());
	agent_must(&consumer, WW_OK, "take 1");
	agent_does(&root, "join c observe", "evict 0");
	agent_must(&producer, WW_OK, "send 1");
	agent_must(&consumer, WW_ERR_EVICTED, "no_more");
}

#define FRAMES 500
#define WORDS  200000

/*
 * The producer reads what the hostile one writes for each slot that it takes back. With a policy
 * that drops it waits for nobody; and an honest consumer gets every frame.
 */
static void forge_during(const char *policy)
{
	struct child hostile;

	start_pair(policy);
	channel_start(&hostile, NULL);
	agent_must(&hostile, WW_OK, "join c");
	for (int round = 0; round < 3; round++) {
		agent_tell(&hostile, "forge %d", WORDS);
		for (int i = 0; i < FRAMES; i++) {
			agent_must(&producer, WW_OK, "send 1");
			agent_must(&consumer, WW_OK, "take 1");
		}
		agent_answers(&hostile, WW_OK);
	}
	child_kill(&hostile);
	agent_must(&producer, WW_OK, "send 1");
	agent_must(&consumer, WW_OK, "take 1");
}

SCENE_CASE_CALL(channel_forged_marks_drop_oldest, NEEDS_VALUES, forge_during("policy=2"))
SCENE_CASE_CALL(channel_forged_marks_latest, NEEDS_VALUES, forge_during("policy=3"))
