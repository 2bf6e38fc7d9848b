/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sync_pass.c - timelines from process to process: by token and by name, for the CPU and for
 * streams
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "integration/sync.h"

/* One agent signals its timeline 0, the other has it as its 0 and follows. */
static void must_follow(struct child *signaller, struct child *waiter, uint64_t first)
{
	agent_must(waiter, WW_TIMED_OUT, "wait 0 %llu", (unsigned long long)first);
	for (unsigned long long value = first; value < first + 5; value++) {
		agent_tell(waiter, "wait 0 %llu wait_ms=forever", value);
		agent_must(signaller, WW_OK, "signal 0 %llu", value);
		agent_answers(waiter, WW_OK);
		agent_must(waiter, WW_OK, "is 0 live %llu %llu", value, value);
	}
	agent_must(waiter, WW_ERR_ACCESS, "signal 0 99");
}

static void start_two(struct child agents[2])
{
	for (int i = 0; i < 2; i++)
		sync_start(&agents[i], NULL);
	agent_must(&agents[0], WW_OK, "create 0");
}

SCENE_CASE(pass_by_token, 0)
{
	struct child agents[2];

	start_two(agents);
	agent_must(&agents[0], WW_OK, "export 0");
	sync_pass_token(&agents[0], &agents[1]);
	agent_must(&agents[1], WW_OK, "import 0");
	must_follow(&agents[0], &agents[1], 1);
	/* Let go and taken again, it is where it was. */
	agent_must(&agents[1], WW_OK, "unref 0");
	agent_must(&agents[0], WW_OK, "export 0 uses=1");
	sync_pass_token(&agents[0], &agents[1]);
	agent_does(&agents[1], "import 0", "is 0 live 5 5");
	must_follow(&agents[0], &agents[1], 6);
}

SCENE_CASE(pass_by_name, 0)
{
	struct child agents[2];

	start_two(agents);
	agent_must(&agents[1], WW_ERR_NOT_FOUND, "get 0 x");
	agent_must(&agents[0], WW_OK, "put 0 x");
	agent_must(&agents[1], WW_OK, "get 0 x");
	must_follow(&agents[0], &agents[1], 1);
	agent_does(&agents[1], "get 1 x", "wait 1 5", "unref 0");
	agent_must(&agents[0], WW_OK, "signal 0 6");
	agent_does(&agents[1], "wait 1 6", "create 2");
	agent_must(&agents[1], WW_ERR_EXISTS, "put 2 x");
	agent_must(&agents[1], WW_ERR_ACCESS, "put 1 y");
}

/* Who only waits passes the right to wait on, by whatever way it came. */
SCENE_CASE(pass_on_by_waiter, 0)
{
	struct child agents[2];
	struct child third;

	start_two(agents);
	sync_start(&third, NULL);
	agent_must(&agents[0], WW_OK, "put 0 x");
	agent_does(&agents[1], "get 0 x", "export 0 escrow_ms=60000 uses=1", "unref 0");
	sync_pass_token(&agents[1], &third);
	agent_must(&third, WW_OK, "import 0");
	must_follow(&agents[0], &third, 1);
	agent_must(&third, WW_OK, "export 0");
	sync_pass_token(&third, &agents[1]);
	agent_must(&agents[1], WW_OK, "import 0");
	must_follow(&agents[0], &agents[1], 6);
	agent_must(&agents[0], WW_OK, "export 0");
	sync_pass_token(&agents[0], &third);
	agent_does(&third, "import 1", "is 1 live 10 10");
}

/* More than a page of them, each under a name. */
SCENE_CASE(pass_many, 0)
{
	enum {
		COUNT = 130
	};
	ww_timeline *timelines[COUNT];
	struct child waiter;
	char name[16];

	for (int i = 0; i < COUNT; i++) {
		timelines[i] = timeline_make(0, (uint64_t)i);
		snprintf(name, sizeof(name), "many/%d", i);
		MUST_OK(ww_timeline_put(timelines[i], scene.broker, name, NULL, NULL));
	}
	sync_start(&waiter, NULL);
	for (int i = 0; i < COUNT; i++) {
		agent_must(&waiter, WW_OK, "get 0 many/%d", i);
		agent_must(&waiter, WW_OK, "is 0 live %d %d", i, i);
		agent_must(&waiter, WW_OK, "unref 0");
	}
	agent_end(&waiter);
	for (int i = 0; i < COUNT; i++)
		ww_timeline_unref(timelines[i]);
}

SCENE_CASE(pass_wait_for_name, 0)
{
	struct child agents[2];

	start_two(agents);
	agent_must(&agents[1], WW_TIMED_OUT, "get 0 x wait_ms=5");
	agent_tell(&agents[1], "get 0 x wait_ms=forever");
	scene_has_waits(1);
	agent_must(&agents[0], WW_OK, "put 0 x");
	agent_answers(&agents[1], WW_OK);
	must_follow(&agents[0], &agents[1], 1);
}

/* --- streams --- */

#define RELAY_ROUNDS 300

static void relay(const char *first_device, const char *second_device)
{
	const char *const devices[2] = {first_device, second_device};
	struct child agents[2];

	scene_begin();
	for (int i = 0; i < 2; i++) {
		const char *const environment[] = {devices[i], NULL};

		sync_start(&agents[i], &(struct child_options){.environment = environment});
		agent_must(&agents[i], WW_OK, "create 0");
		agent_must(&agents[i], WW_OK, "put 0 %d", i);
	}
	agent_must(&agents[0], WW_OK, "share words");
	agent_must(&agents[1], WW_OK, "take words");
	for (int i = 0; i < 2; i++)
		agent_must(&agents[i], WW_OK, "get 1 %d", !i);
	agent_tell(&agents[0], "relay 0 1 %d first", RELAY_ROUNDS);
	agent_tell(&agents[1], "relay 0 1 %d second", RELAY_ROUNDS);
	for (int i = 0; i < 2; i++)
		agent_answers(&agents[i], WW_OK);
	for (int i = 0; i < 2; i++)
		agent_must(&agents[i], WW_OK, "is 1 live %d %d", RELAY_ROUNDS, RELAY_ROUNDS);
	scene_end();
}

CASE_CALL(pass_between_streams, NEEDS_VALUES | WW_CAP_HOST_MEMORY, relay(NULL, NULL))

CASE(pass_between_host_and_device, NEEDS_VALUES | WW_CAP_HOST_MEMORY)
{
	relay("WW_TEST_DEVICE=host", NULL);
	relay(NULL, "WW_TEST_DEVICE=host");
}
