/* SPDX-License-Identifier: Apache-2.0 */
/*
 * broker_case.c - begins and ends a broker, and asks it how it is
 */
#include "support/broker_case.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/child.h"
#include "support/subject.h"

struct scene scene;

/* A case that failed or was skipped has left its scene. */
static void scene_leave(void)
{
	if (scene.daemon.group)
		scene_kill();
}

void scene_begin_with(const struct broker_options *options)
{
	check_after_failure(scene_leave);
	broker_start(&scene.daemon, options);
	MUST_CALL(setenv("WARPWAY_BROKER", scene.daemon.address, 1));
	scene.device = subject_open();
	MUST_OK(broker_open_patient(NULL, &scene.broker));
	scene.open_fds = scene_info().open_fds;
}

void scene_begin(void)
{
	scene_begin_with(NULL);
}

struct ww_broker_info scene_info(void)
{
	struct ww_broker_info info = WW_INIT(struct ww_broker_info);

	MUST_OK(ww_broker_info_get(scene.broker, &info));
	return info;
}

static void note(const struct ww_broker_info *info)
{
	check_note(
		"objects %llu, holders %llu, holds %llu, bytes %llu, fds %llu, open %llu, waits %llu",
		(unsigned long long)info->objects, (unsigned long long)info->holders,
		(unsigned long long)info->holds, (unsigned long long)info->bytes,
		(unsigned long long)info->fds, (unsigned long long)info->open_fds,
		(unsigned long long)info->waits);
}

/* Each question is a round trip, so this waits for the broker and not for a clock. */
bool scene_comes_true(bool (*is_so)(const struct ww_broker_info *info, uint64_t value),
	uint64_t value)
{
	struct ww_broker_info info;
	bool came = COMES_TRUE((info = scene_info(), is_so(&info, value)));

	if (!came)
		note(&info);
	return came;
}

void scene_must_have(const char *file, int line, const char *what, size_t offset, uint64_t count)
{
	struct ww_broker_info info;
	const char *field = (const char *)&info + offset;
	uint64_t got;

	if (COMES_TRUE((info = scene_info(), memcpy(&got, field, sizeof(got)), got == count)))
		return;
	note(&info);
	check_fail(file, line, "the broker has %llu %s, not %llu", (unsigned long long)got, what,
		(unsigned long long)count);
}

static bool is_as_before(const struct ww_broker_info *info, uint64_t open_fds)
{
	return info->objects == 0 && info->holds == 0 && info->bytes == 0 && info->fds == 0 &&
		info->waits == 0 && info->holders == 1 && info->open_fds == open_fds;
}

void scene_end(void)
{
	child_end_all();
	MUST(scene_comes_true(is_as_before, scene.open_fds));
	scene.broker = ww_broker_unref(scene.broker);
	scene.device = ww_device_unref(scene.device);
	broker_stop(&scene.daemon);
	unsetenv("WARPWAY_BROKER");
	scene = (struct scene){0};
}

void scene_kill(void)
{
	broker_kill(&scene.daemon);
	scene.broker = ww_broker_unref(scene.broker);
	scene.device = ww_device_unref(scene.device);
	unsetenv("WARPWAY_BROKER");
	scene = (struct scene){0};
}

void scene_restart_broker(void)
{
	MUST_CALL(kill((pid_t)scene_info().pid, SIGKILL));
	broker_hear_ready(&scene.daemon);
}

static bool is_other_broker(const struct ww_broker_info *info, uint64_t pid)
{
	return info->pid != pid;
}

void scene_has_other_broker(uint64_t pid)
{
	MUST(scene_comes_true(is_other_broker, pid));
}

ww_memory *scene_make(uint64_t bytes, uint32_t seed)
{
	ww_memory *memory = memory_make(scene.device, WW_MEMORY_VMM, bytes);

	pattern_write(memory, seed);
	return memory;
}

void scene_put(ww_memory *memory, const char *name, uint32_t mode, uint32_t life, uint32_t state)
{
	MUST_OK(ww_memory_put(memory, scene.broker, name,
		WW_PARAMS(struct ww_put_params, .mode = mode, .life = life, .state = state), 0,
		NULL));
}

ww_memory *scene_get(const char *name, uint32_t access)
{
	ww_memory *memory;

	MUST_OK(ww_memory_get(scene.device, scene.broker, name,
		WW_PARAMS(struct ww_get_params, .access = access), 0, NULL, &memory, NULL));
	return memory;
}

ww_status scene_import(const struct ww_token *token, uint32_t access, ww_memory **out_memory)
{
	ww_status status = ww_memory_import(scene.device, scene.broker, token,
		WW_PARAMS(struct ww_import_params, .access = access), NULL, out_memory, NULL);

	MUST((status == WW_OK) == (*out_memory != NULL));
	return status;
}
