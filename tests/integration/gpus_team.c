/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpus_team.c - an agent on each GPU, and what cases say to all of them, see gpus.h
 *
 * Agents are started and told before any of them is heard: with several GPUs the start of a process
 * takes up to a second, and so they start side by side.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "integration/gpus.h"

void uuid_print(const uint8_t uuid[WW_DEVICE_UUID_BYTES], char out_text[UUID_BYTES])
{
	for (size_t i = 0; i < WW_DEVICE_UUID_BYTES; i++)
		snprintf(out_text + 2 * i, 3, "%02x", uuid[i]);
}

/* Everything but the agents. */
static void team_init(struct team *team, bool with_owner)
{
	OWN(device) ww_device *owner = subject_open();
	uint32_t count = gpu_count();

	memset(team, 0, sizeof(*team));
	MUST(count <= GPUS_MAX);
	uuid_print(device_info(owner).uuid, team->home);
	for (uint32_t i = 0; i < count; i++) {
		struct member *member = &team->members[team->count];
		ww_device *device = gpu_open(i);

		member->index = i;
		member->is_owner = device == owner;
		member->reaches = member->is_owner || devices_are_peers(owner, device);
		uuid_print(device_info(device).uuid, member->uuid);
		team->count += with_owner || !member->is_owner;
		ww_device_unref(device);
	}
}

static void member_start(struct member *member, const char *role, uint32_t index,
	const char *setting)
{
	char device[32];
	const char *const environment[] = {device, setting, NULL};

	snprintf(device, sizeof(device), "WW_TEST_DEVICE=cuda:%u", index);
	child_start(&member->agent, role, &(struct child_options){.environment = environment});
}

static void start(struct team *team, const char *role, bool with_owner)
{
	team_init(team, with_owner);
	for (uint32_t i = 0; i < team->count; i++)
		member_start(&team->members[i], role, team->members[i].index, NULL);
}

void team_start(struct team *team, const char *role)
{
	start(team, role, false);
}

void team_start_all(struct team *team, const char *role)
{
	start(team, role, true);
}

void team_start_in(struct team *team, const char *role,
	uint32_t (*set)(const struct team *team, const struct member *member,
		char setting[TEAM_SETTING_BYTES]))
{
	team_init(team, true);
	for (uint32_t i = 0; i < team->count; i++) {
		char setting[TEAM_SETTING_BYTES];
		uint32_t index = set(team, &team->members[i], setting);

		member_start(&team->members[i], role, index, setting);
	}
}

static void __attribute__((format(printf, 2, 0)))
tell(struct team *team, const char *format, va_list arguments)
{
	char command[CHILD_WORD_BYTES];

	vsnprintf(command, sizeof(command), format, arguments);
	for (uint32_t i = 0; i < team->count; i++)
		agent_tell(&team->members[i].agent, "%s", command);
}

void team_tell(struct team *team, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	tell(team, format, arguments);
	va_end(arguments);
}

void team_answers(struct team *team, ww_status expected, const char *word)
{
	for (uint32_t i = 0; i < team->count; i++)
		agent_answers_with(&team->members[i].agent, expected, word);
}

void team_must(struct team *team, ww_status expected, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	tell(team, format, arguments);
	va_end(arguments);
	team_answers(team, expected, "");
}

void team_must_reach(struct team *team, const char *format, ...)
{
	uint32_t count = team->count;
	va_list arguments;

	va_start(arguments, format);
	tell(team, format, arguments);
	va_end(arguments);
	team->count = 0;
	for (uint32_t i = 0; i < count; i++) {
		struct member *member = &team->members[i];

		agent_answers(&member->agent, member->reaches ? WW_OK : WW_ERR_UNSUPPORTED);
		if (member->reaches)
			team->members[team->count++] = *member;
		else
			agent_end(&member->agent);
	}
	if (team->count < count)
		check_note("%u of %u GPUs do not reach the device under test, and were refused",
			count - team->count, count);
}

void team_end(struct team *team)
{
	for (uint32_t i = 0; i < team->count; i++)
		child_tell(&team->members[i].agent, "end");
	for (uint32_t i = 0; i < team->count; i++)
		child_finish(&team->members[i].agent);
	team->count = 0;
}

ww_memory *gpus_put(uint32_t kind, uint64_t bytes, const char *name)
{
	ww_memory *memory = memory_make(scene.device, kind, bytes);

	scene_put(memory, name, 0666, WW_LIFE_HELD, WW_STATE_SHARED);
	return memory;
}
