/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpus_memory.c - memory of one GPU in processes on each other one: by name, by token, for reading,
 * by several at once, and where CUDA_VISIBLE_DEVICES hides or reorders GPUs
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "integration/gpus.h"

#define BYTES (4 * MIB)

static struct team team;
static ww_memory *memory; /* of the device under test */

/* It has the pattern, and a process on each other GPU is there. */
static void begin(uint32_t kind, uint32_t seed)
{
	scene_begin();
	memory = gpus_put(kind, BYTES, "m");
	pattern_write(memory, seed);
	team_start(&team, "gpus");
}

static void end(void)
{
	team_end(&team);
	ww_memory_unref(memory);
	scene_end();
}

#define MEMORY_CASE(case_name, case_needs, kind, seed) \
	CASE_BETWEEN(case_name, case_needs, begin(kind, seed), end())

/* In turn each writes the whole of the memory, and the owner sees it. */
static void each_writes(void)
{
	for (uint32_t i = 0; i < team.count; i++) {
		agent_must(&team.members[i].agent, WW_OK, "write %u", 20 + i);
		pattern_verify(memory, 20 + i);
	}
}

MEMORY_CASE(memory_by_name, 0, WW_MEMORY_VMM, 10)
{
	team_must_reach(&team, "get m write");
	team_must(&team, WW_OK, "route_is %d %s", WW_ROUTE_PEER, team.home);
	team_must(&team, WW_OK, "verify 10");
	each_writes();
}

/* Each gets a token of its own. */
static void pass_tokens(void)
{
	for (uint32_t i = 0; i < team.count; i++) {
		struct ww_token token;

		MUST_OK(ww_memory_export(memory, scene.broker,
			WW_PARAMS(struct ww_export_params, .access = WW_ACCESS_WRITE,
				.escrow_ns = WW_ESCROW_NONE),
			NULL, &token));
		agent_send_token(&team.members[i].agent, &token);
	}
}

CASE(memory_by_token, 0)
{
	scene_begin();
	memory = scene_make(BYTES, 11);
	team_start(&team, "gpus");
	pass_tokens();
	team_must_reach(&team, "import write");
	team_must(&team, WW_OK, "route_is %d %s", WW_ROUTE_PEER, team.home);
	team_must(&team, WW_OK, "verify 11");
	each_writes();
	end();
}

MEMORY_CASE(memory_for_reading, 0, WW_MEMORY_VMM, 12)
{
	team_must_reach(&team, "get m");
	team_must(&team, WW_OK, "verify 12");
	team_must(&team, WW_OK, "refuses_write");
	pattern_verify(memory, 12);
	pattern_write(memory, 13);
	team_must(&team, WW_OK, "verify 13");
}

/*
 * The way that is left where a GPU does not reach another one's memory. It is a slow one, so a
 * process that wants none is refused.
 */
MEMORY_CASE(memory_of_host_kind, WW_CAP_HOST_MEMORY, WW_MEMORY_HOST, 14)
{
	team_tell(&team, "get_strict m");
	team_answers(&team, WW_ERR_UNSUPPORTED, "slow route");
	team_must(&team, WW_OK, "get m write");
	team_must(&team, WW_OK, "route_is %d %s", WW_ROUTE_HOST_REGISTERED, team.home);
	team_must(&team, WW_OK, "verify 14");
	each_writes();
}

/* A process on another GPU that reaches the memory finds that route fast enough. */
MEMORY_CASE(memory_by_no_slow_route, 0, WW_MEMORY_VMM, 15)
{
	team_must_reach(&team, "get_strict m");
	team_must(&team, WW_OK, "verify 15");
}

/* --- all at once --- */

/* Each fills its part, all of them at the same time; then everybody sees all parts. */
static void fill_parts(int first_value)
{
	uint64_t part = memory_info(memory).bytes / GPUS_MAX;

	for (uint32_t i = 0; i < team.count; i++)
		agent_tell(&team.members[i].agent, "fill %llu %llu %d",
			(unsigned long long)(i * part), (unsigned long long)part,
			first_value + (int)i);
	team_answers(&team, WW_OK, "");
	for (uint32_t i = 0; i < team.count; i++)
		team_must(&team, WW_OK, "holds %llu %llu %d", (unsigned long long)(i * part),
			(unsigned long long)part, first_value + (int)i);
}

static void share_with_all(uint32_t kind)
{
	scene_begin();
	memory = gpus_put(kind, GPUS_MAX * MIB, "m");
	team_start_all(&team, "gpus");
	if (kind == WW_MEMORY_HOST)
		team_must(&team, WW_OK, "get m write");
	else
		team_must_reach(&team, "get m write");
	for (int round = 0; round < 3; round++)
		fill_parts(1 + 16 * round);
	end();
}

CASE_CALL(memory_on_all_gpus_at_once, 0, share_with_all(WW_MEMORY_VMM))
CASE_CALL(memory_of_host_kind_on_all_gpus_at_once, WW_CAP_HOST_MEMORY,
	share_with_all(WW_MEMORY_HOST))

/* --- other visible GPUs, and in another order --- */

/* UUIDs as nvidia-smi prints them, from the last GPU to the first. */
static uint32_t set_reversed(const struct team *all, const struct member *member,
	char setting[TEAM_SETTING_BYTES])
{
	char *at = setting + sprintf(setting, "CUDA_VISIBLE_DEVICES=");

	for (uint32_t i = all->count; i-- > 0;) {
		const char *uuid = all->members[i].uuid;

		at += sprintf(at, "GPU-%.8s-%.4s-%.4s-%.4s-%.12s%s", uuid, uuid + 8, uuid + 12,
			uuid + 16, uuid + 20, i ? "," : "");
	}
	return all->count - 1 - member->index;
}

static uint32_t set_alone(const struct team *all, const struct member *member,
	char setting[TEAM_SETTING_BYTES])
{
	OWN(device) ww_device *device = gpu_open(member->index);

	(void)all;
	subject_see_only(device, setting);
	return 0;
}

/* Who reaches the memory knows its way to it, and both see what the other one writes. */
static void routes_must_be(int route)
{
	for (uint32_t i = 0; i < team.count; i++) {
		struct member *member = &team.members[i];

		agent_must(&member->agent, WW_OK, "route_is %d %s",
			member->is_owner ? WW_ROUTE_LOCAL : route, team.home);
	}
	team_must(&team, WW_OK, "verify 16");
	each_writes();
}

CASE(memory_where_gpus_have_another_order, 0)
{
	scene_begin();
	memory = gpus_put(WW_MEMORY_VMM, BYTES, "m");
	pattern_write(memory, 16);
	team_start_in(&team, "gpus", set_reversed);
	for (uint32_t i = 0; i < team.count; i++)
		agent_must(&team.members[i].agent, WW_OK, "device_is %u %s", team.count - 1 - i,
			team.members[i].uuid);
	team_must_reach(&team, "get m write");
	routes_must_be(WW_ROUTE_PEER);
	end();
}

/* The way to a GPU that is hidden is one that a process may refuse. */
CASE(memory_where_other_gpus_are_hidden, 0)
{
	scene_begin();
	memory = gpus_put(WW_MEMORY_VMM, BYTES, "m");
	pattern_write(memory, 16);
	team_start_in(&team, "gpus", set_alone);
	for (uint32_t i = 0; i < team.count; i++) {
		struct member *member = &team.members[i];

		agent_must(&member->agent, WW_OK, "device_is 0 %s", member->uuid);
		if (!member->is_owner)
			agent_must(&member->agent, WW_ERR_UNSUPPORTED, "get_strict m");
	}
	team_must_reach(&team, "get m write");
	routes_must_be(WW_ROUTE_PEER_HIDDEN);
	end();
}
