/* SPDX-License-Identifier: Apache-2.0 */
/*
 * broker_gpu.c - on a device's own memory: it outlives its maker in the broker, which uses none of
 * it
 *
 * The large memory is one that no cache hides and no page that was left over could pass for.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "integration/broker.h"
#include "support/driver.h"

#define LARGE (UINT64_C(64) << 20)

static void reader_must_verify(uint32_t seed)
{
	ENDED_BY(agent_end) struct child reader;

	agent_begin(&reader, "agent", "get weights");
	agent_must(&reader, WW_OK, "verify %u", seed);
}

static bool has_other_supervisor(const struct ww_broker_info *info, uint64_t former)
{
	return info->supervisor_pid != former;
}

/* In turn the maker, the broker and its supervisor are killed; each time somebody else reads it. */
SCENE_CASE(gpu_memory_outlives_its_maker, WW_CAP_EXPORT)
{
	struct child maker;
	struct ww_broker_info info;

	agent_begin(&maker, "agent", "make vmm %llu 4711", (unsigned long long)LARGE);
	agent_must(&maker, WW_OK, "put weights life=kept");
	child_kill(&maker);
	info = scene_info();
	MUST_EQUAL(1, info.objects);
	reader_must_verify(4711);

	MUST_CALL(kill((pid_t)info.pid, SIGKILL));
	scene_has_other_broker(info.pid);
	reader_must_verify(4711);

	MUST_CALL(kill((pid_t)info.supervisor_pid, SIGKILL));
	MUST(scene_comes_true(has_other_supervisor, info.supervisor_pid));
	scene.daemon.supervisor = (pid_t)scene_info().supervisor_pid;
	reader_must_verify(4711);

	MUST_OK(ww_broker_remove(scene.broker, "weights"));
}

/*
 * Whether the driver's own list of processes that use a GPU has this one; -1: there is no such
 * list.
 */
static int is_listed(pid_t pid)
{
	FILE *list = popen("nvidia-smi --query-compute-apps=pid --format=csv,noheader 2>&1", "r");
	char line[256];
	int found = 0;

	if (!list)
		return -1;
	while (fgets(line, sizeof(line), list)) {
		char *end;
		long number = strtol(line, &end, 10);

		found |= end != line && number == pid;
	}
	return pclose(list) == 0 ? found : -1;
}

/* How many mappings of a process have this word in their names. */
static int count_mapped(pid_t pid, const char *word)
{
	char path[64];
	char line[512];
	FILE *maps;
	int count = 0;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	maps = fopen(path, "re");
	MUST(maps);
	while (fgets(line, sizeof(line), maps))
		count += strstr(line, word) != NULL;
	fclose(maps);
	return count;
}

SCENE_CASE(gpu_is_not_used_by_broker, WW_CAP_EXPORT)
{
	struct ww_broker_info info;
	ww_memory *memory;
	int ours;
	ENDED_BY(agent_end) struct child maker;

	if (!subject_is_cuda() || fake_get())
		check_skip("needs a real GPU");
	agent_begin(&maker, "agent", "make vmm %llu 1", (unsigned long long)LARGE);
	agent_must(&maker, WW_OK, "put weights life=kept");
	memory = scene_get("weights", WW_ACCESS_READ); /* so this process uses the GPU */
	info = scene_info();
	ours = is_listed(getpid());
	if (ours == 1) {
		MUST_EQUAL(0, is_listed((pid_t)info.pid));
		MUST_EQUAL(0, is_listed((pid_t)info.supervisor_pid));
	} else {
		check_note("nvidia-smi does not list the processes of this machine: only what the "
			   "broker maps was looked at");
	}
	MUST_EQUAL(0, count_mapped((pid_t)info.pid, "cuda"));
	MUST_EQUAL(0, count_mapped((pid_t)info.pid, "nvidia"));
	MUST_EQUAL(0, count_mapped((pid_t)info.supervisor_pid, "cuda"));
	MUST_EQUAL(0, count_mapped((pid_t)info.supervisor_pid, "nvidia"));
	MUST(count_mapped(getpid(), "libcuda") > 0);
	ww_memory_unref(memory);
	MUST_OK(ww_broker_remove(scene.broker, "weights"));
}
