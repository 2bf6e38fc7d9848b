/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool_main.c - pools are tortured: by their owner, by a process that imports, and while an owner
 * gets to know another process
 *
 * A private broker runs. The partner owns a pool for the second, and imports from ours for the
 * third; each for one run, since a process that has joined a pool once need not do it again.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support/broker.h"
#include "support/fail_call.h"
#include "support/check.h"
#include "support/child.h"
#include "support/driver.h"
#include "support/forge.h"
#include "support/subject.h"
#include "torture/pool_scenario.h"
#include "torture/torture_broker.h"

static const struct expectation expectations[] = {
	/* Whether others have come may stay unknown: then what they may use is not handed out. */
	{"malloc", ENOMEM, WW_ERR_NO_MEMORY, true, ALWAYS},
	{"calloc", ENOMEM, WW_ERR_NO_MEMORY, true, ALWAYS},
	{"realloc", ENOMEM, WW_ERR_NO_MEMORY, true, RARELY},
	SHARING_EXPECTATIONS,
	/*
	 * What has no seals is no memory; and whoever shows such marks is no member. Last: see the
	 * meeting.
	 */
	{"fcntl(F_GET_SEALS)", EINVAL, WW_ERR_DESCRIPTOR, false, RARELY},
};

/* --- the partner --- */

struct possessions {
	ww_device *device;
	ww_broker *broker;
	ww_pool *pool;
	ww_memory *slices[2];
};

static ww_pool *make_pool(ww_device *device, uint64_t bytes_max)
{
	ww_pool *pool;

	MUST_OK(ww_pool_create(device,
		WW_PARAMS(struct ww_pool_params, .bytes_max = bytes_max,
			.chunk_bytes = SCENARIO_CHUNK, .slices_max = 64),
		&pool));
	return pool;
}

/* A slice with a token that is good as long as the slice. */
static ww_memory *make_slice(ww_pool *pool, ww_broker *broker, uint64_t escrow_ns,
	struct ww_token *out_token)
{
	ww_memory *slice;

	MUST_OK(ww_pool_alloc(pool, SCENARIO_SLICE, 0, 0, NULL, &slice));
	MUST_OK(ww_memory_export(slice, broker,
		WW_PARAMS(struct ww_export_params, .access = WW_ACCESS_WRITE,
			.escrow_ns = escrow_ns),
		NULL, out_token));
	return slice;
}

static void partner_makes(struct possessions *mine)
{
	struct ww_token tokens[2];

	mine->pool = make_pool(mine->device, SCENARIO_CHUNK);
	for (int i = 0; i < 2; i++)
		mine->slices[i] = make_slice(mine->pool, mine->broker, WW_ESCROW_NONE, &tokens[i]);
	MUST_OK(ww_memory_put(mine->slices[0], mine->broker, SCENARIO_NAME, NULL, 0, NULL));
	MUST_EQUAL(sizeof(tokens), write(CHILD_SOCKET, tokens, sizeof(tokens)));
}

static void partner_takes(struct possessions *mine)
{
	struct ww_token token;

	MUST_EQUAL(sizeof(token), read(CHILD_SOCKET, &token, sizeof(token)));
	MUST_OK(ww_memory_import(mine->device, mine->broker, &token, NULL, NULL, &mine->slices[0],
		NULL));
}

/* The pool must then have everything: whoever imported has let go. */
static void partner_drops(struct possessions *mine)
{
	struct ww_pool_info info = WW_INIT(struct ww_pool_info);

	for (int i = 0; i < 2; i++)
		mine->slices[i] = ww_memory_unref(mine->slices[i]);
	if (mine->pool) {
		MUST_OK(ww_broker_remove(mine->broker, SCENARIO_NAME));
		MUST_OK(ww_pool_info_get(mine->pool, &info));
		MUST_EQUAL(0, info.bytes_used + info.bytes_waiting);
	}
	mine->pool = ww_pool_unref(mine->pool);
}

ROLE(partner)
{
	struct possessions mine = {.device = subject_open()};
	char word[CHILD_WORD_BYTES];

	MUST(count == 0 && !arguments[0]);
	MUST_OK(broker_open_patient(NULL, &mine.broker));
	role_tell("ready");
	while (role_hear_any(word) && strcmp(word, "stop") != 0) {
		if (!strcmp(word, "make"))
			partner_makes(&mine);
		else if (!strcmp(word, "take"))
			partner_takes(&mine);
		else
			partner_drops(&mine);
		role_tell("done");
	}
	ww_broker_unref(mine.broker);
	ww_device_unref(mine.device);
}

static void partner_must(const char *word)
{
	child_tell(&torture_partner, "%s", word);
	child_hear(&torture_partner, "done");
}

static ww_broker *open_broker(void)
{
	ww_broker *broker;

	MUST_OK(broker_open_patient(scenario_address, &broker));
	return broker;
}

/* --- the runs --- */

static void begin_member(void)
{
	child_tell(&torture_partner, "make");
	MUST_EQUAL(sizeof(scenario_tokens),
		recv(torture_partner.socket, scenario_tokens, sizeof(scenario_tokens),
			MSG_WAITALL));
	child_hear(&torture_partner, "done");
}

/* A pool whose owner is gone is left when something is imported from another one. */
static void leave_pool(const struct ww_token *token)
{
	OWN(device) ww_device *device = subject_open();
	OWN(broker) ww_broker *broker = open_broker();
	struct ww_token other = *token;
	ww_memory *slice;

	other.bytes[16] ^= 1; /* of the pool's id */
	token_seal(&other);
	MUST_REFUSE(WW_ERR_NOT_FOUND, "",
		ww_memory_import(device, broker, &other, NULL, NULL, &slice, NULL));
}

static void end_member(void)
{
	partner_must("drop");
	leave_pool(&scenario_tokens[0]);
	torture_broker_must_be_idle();
}

static ww_device *device;
static ww_broker *broker;

/* Another partner each time: the same one would be known already. */
static void begin_meeting(void)
{
	struct ww_token token;
	ww_memory *slice;

	device = subject_open();
	broker = open_broker();
	scenario_pool = make_pool(device, SCENARIO_CHUNK);
	slice = make_slice(scenario_pool, broker, 0, &token);
	child_tell(&torture_partner, "take");
	MUST_EQUAL(sizeof(token), write(torture_partner.socket, &token, sizeof(token)));
	child_hear(&torture_partner, "done");
	ww_memory_unref(slice);
}

static void end_meeting(void)
{
	ww_memory *slice;

	partner_must("drop");
	MUST_OK(ww_pool_alloc(scenario_pool, SCENARIO_CHUNK, 0, 0, NULL, &slice));
	ww_memory_unref(slice);
	scenario_pool = ww_pool_unref(scenario_pool);
	broker = ww_broker_unref(broker);
	device = ww_device_unref(device);
	/* The partner leaves our pool, too. */
	torture_partner_stop();
	torture_partner_start();
	torture_broker_must_be_idle();
}

static const struct torture torture_own = TORTURE(expectations, .run = pool_scenario_own,
	.end = torture_broker_must_be_idle, .open = torture_partner_open,
	.close = torture_partner_close);

static const struct torture torture_member = TORTURE(expectations, .run = pool_scenario_member,
	.begin = begin_member, .end = end_member, .open = torture_partner_open,
	.close = torture_partner_close);

static const struct torture torture_meeting = TORTURE_SOME(expectations,
	CHECK_COUNT(expectations) - 1, .run = pool_scenario_meet, .begin = begin_meeting,
	.end = end_meeting, .forgives = true, .open = torture_partner_open,
	.close = torture_partner_close);

TORTURE_CASES(own)
TORTURE_CASES(member)
TORTURE_SYSTEM_CASES(meeting)

CHECK_MAIN(check_main, .name = "torture-pool")
