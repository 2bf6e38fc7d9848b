/* SPDX-License-Identifier: Apache-2.0 */
/*
 * broker_container.c - containers: processes that share nothing but the directory of the socket
 *
 * A container here is an agent in PID, IPC, network and mount namespaces of its own; the broker's
 * directory is at /broker there, wherever it is outside. And the daemon itself: that it can serve a
 * GPU's memory and has nothing of a driver.
 */
#include <dlfcn.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "integration/broker.h"
#include "support/container.h"
#include "support/namespace.h"

#define BYTES 2097152

static struct child container;
static struct child maker;
static struct child taker;

/*
 * role_container OUTSIDE [user]: an agent in a container; its first word says whether there is one.
 */
ROLE(role_container)
{
	if (container_enter(count, arguments))
		agent_serve(NULL, NULL);
}

static void begin(void)
{
	container_require(NULL);
	scene_begin();
	MUST_CALL(chmod(scene.daemon.folder, 0755));
}

#define CONTAINER_CASE(case_name) \
	CASE_BETWEEN(case_name, WW_CAP_EXPORT | NEEDS_ROOT, begin(), scene_end())

CONTAINER_CASE(container_gets_by_name)
{
	ww_memory *memory;

	memory = scene_make(BYTES, 1);
	scene_put(memory, "x", 0, WW_LIFE_HELD, WW_STATE_SHARED);
	container_start("role_container", &container, NULL);
	agent_does(&container, "get x write", "verify 1", "write 2");
	pattern_verify(memory, 2);
	scene_has_holds(2);
	ww_memory_unref(memory);
}

CONTAINER_CASE(container_puts)
{
	static const char *const kinds[] = {"vmm", "host"};

	for (size_t i = 0; i < CHECK_COUNT(kinds); i++) {
		ww_memory *memory;

		container_start("role_container", &container, NULL);
		agent_must(&container, WW_OK, "make %s %d 3", kinds[i], BYTES);
		agent_must(&container, WW_OK, "put x life=kept");
		agent_end(&container);
		memory = scene_get("x", WW_ACCESS_READ);
		pattern_verify(memory, 3);
		ww_memory_unref(memory);
		MUST_OK(ww_broker_remove(scene.broker, "x"));
	}
}

/* The address in the token is that of outside; WARPWAY_BROKER says where it is found inside. */
CONTAINER_CASE(container_takes_token)
{
	struct ww_token token;
	ww_memory *memory;

	memory = scene_make(BYTES, 4);
	MUST_OK(ww_memory_export(memory, scene.broker,
		WW_PARAMS(struct ww_export_params, .uses = 1), NULL, &token));
	ww_memory_unref(memory);
	container_start("role_container", &container, NULL);
	agent_send_token(&container, &token);
	agent_does(&container, "import", "verify 4");
}

CONTAINER_CASE(container_to_container)
{
	struct ww_token token;

	container_start("role_container", &maker, NULL);
	container_start("role_container", &taker, NULL);
	agent_must(&maker, WW_OK, "make vmm %d 5", BYTES);
	agent_must(&maker, WW_OK, "put x life=held state=shared");
	agent_does(&taker, "get x", "verify 5", "drop");
	token = agent_export(&maker, "write uses=1");
	agent_send_token(&taker, &token);
	agent_does(&taker, "import write", "write 6");
	agent_must(&maker, WW_OK, "verify 6");
}

CONTAINER_CASE(container_killed)
{
	struct child waiter;
	ww_memory *memory;

	container_start("role_container", &container, NULL);
	agent_must(&container, WW_OK, "make vmm %d 1", BYTES);
	agent_must(&container, WW_OK, "put x life=kept state=writing");
	agent_begin(&waiter, "agent", "open");
	agent_tell(&waiter, "get x wait_ms=forever");
	scene_has_waits(1);
	child_kill(&container);
	agent_answers(&waiter, WW_ERR_PEER_LOST);
	scene_has_objects(0);
	memory = scene_make(BYTES, 2);
	scene_put(memory, "x", 0, WW_LIFE_HELD, WW_STATE_SEALED);
	container_start("role_container", &container, NULL);
	agent_must(&container, WW_OK, "get x");
	scene_has_holds(2);
	child_kill(&container);
	scene_has_holders(2);
	scene_has_holds(1);
	ww_memory_unref(memory);
}

/* Root in its own user namespace, which is nobody special to the broker. */
CASE(container_of_other_user, WW_CAP_EXPORT | NEEDS_ROOT)
{
	ww_memory *memory;

	container_require("user");
	begin();
	container_start("role_container", &container, "user");
	agent_must(&container, WW_OK, "make vmm %d 1", BYTES);
	agent_must(&container, WW_OK, "put x life=held");
	memory = scene_get("x", WW_ACCESS_READ);
	pattern_verify(memory, 1);
	ww_memory_unref(memory);
	memory = scene_make(BYTES, 2);
	scene_put(memory, "y", 0644, WW_LIFE_HELD, WW_STATE_SEALED);
	agent_does(&container, "drop", "get y", "verify 2");
	ww_memory_unref(memory);
	scene_end();
}

/* role_daemon_inside SOCKET: the daemon as process 1, to which nobody outside has a pid */
ROLE(role_daemon_inside)
{
	const char *failure = namespace_enter(&(struct namespace_plan){0});

	MUST(count == 1);
	role_tell("%s", failure ? failure : "inside");
	if (!failure)
		execl(getenv("WARPWAYD"), "warpwayd", "--socket", arguments[0], (char *)NULL);
}

/* Holders whose pid the broker cannot see are told apart, and their ends noticed, all the same. */
CASE(container_around_broker, WW_CAP_EXPORT | NEEDS_ROOT)
{
	struct ww_object_info info = WW_INIT(struct ww_object_info);
	struct ww_broker_params params = WW_INIT(struct ww_broker_params);
	char folder[] = "/tmp/warpway-inside-XXXXXX";
	char address[64];
	const char *const arguments[] = {address, NULL};
	struct child daemon;
	char word[CHILD_WORD_BYTES];
	ww_status status;

	MUST(mkdtemp(folder));
	snprintf(address, sizeof(address), "%s/broker.sock", folder);
	child_start(&daemon, "role_daemon_inside", &(struct child_options){.arguments = arguments});
	child_hear_any(&daemon, word);
	if (strcmp(word, "inside")) {
		child_kill(&daemon);
		rmdir(folder);
		check_skip("no container can be made here: %s", word);
	}
	setenv("WARPWAY_BROKER", address, 1);
	params.address = address;
	scene.device = subject_open();
	while ((status = ww_broker_open(&params, &scene.broker)) == WW_ERR_NO_BROKER)
		sched_yield(); /* it listens some time after it said that it is inside */
	MUST_OK(status);
	agent_begin(&maker, "agent", "make vmm %d 1", BYTES);
	agent_must(&maker, WW_OK, "put x life=held");
	MUST_OK(ww_broker_stat(scene.broker, "x", &info));
	MUST_EQUAL(0, info.pid);
	scene_has_holders(2);
	ww_memory_unref(scene_get("x", WW_ACCESS_READ));
	agent_must(&maker, WW_OK, "fork"); /* its connection stays open in the child */
	agent_must(&maker, WW_OK, "verify 1");
	child_kill(&maker);
	scene_has_objects(0);
	ww_broker_unref(scene.broker);
	ww_device_unref(scene.device);
	unsetenv("WARPWAY_BROKER");
	child_kill(&daemon);
	unlink(address);
	strcat(address, ".lock");
	unlink(address);
	rmdir(folder);
}

/* --- the daemon and drivers --- */

static int count_lines_with(FILE *file, const char *word)
{
	char line[1024];
	int count = 0;

	while (fgets(line, sizeof(line), file))
		count += strcasestr(line, word) != NULL;
	return count;
}

static void must_not_map(uint32_t pid, const char *word)
{
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%u/maps", pid);
	file = fopen(path, "re");
	MUST(file);
	MUST_EQUAL(0, count_lines_with(file, word));
	fclose(file);
}

/* In what a command says of the daemon's program. */
static int lines_of(const char *before, const char *word)
{
	char command[512];
	FILE *output;
	int count;

	snprintf(command, sizeof(command), "%s %s 2>&1", before, getenv("WARPWAYD"));
	output = popen(command, "re");
	MUST(output);
	count = count_lines_with(output, word);
	pclose(output);
	return count;
}

/* Not linked to it, and not opened either, with memory of a GPU in its hands. */
SCENE_CASE(daemon_is_free_of_libcuda, WW_CAP_EXPORT)
{
	struct ww_broker_info info;

	if (lines_of("readelf -d", "NEEDED") > 0) {
		MUST_EQUAL(0, lines_of("readelf -d", "cuda"));
		MUST_EQUAL(0, lines_of("readelf -W --dyn-syms", "dlopen"));
	}
	MUST(lines_of("LD_TRACE_LOADED_OBJECTS=1", "libc.so") > 0);
	MUST_EQUAL(0, lines_of("LD_TRACE_LOADED_OBJECTS=1", "cuda"));
	MUST_EQUAL(0, lines_of("LD_TRACE_LOADED_OBJECTS=1", "nvidia"));
	agent_begin(&maker, "agent", "make vmm %d 1", BYTES);
	agent_must(&maker, WW_OK, "put x life=kept");
	ww_memory_unref(scene_get("x", WW_ACCESS_READ));
	MUST_OK(ww_broker_remove(scene.broker, "x"));
	info = scene_info();
	must_not_map(info.pid, "cuda");
	must_not_map(info.supervisor_pid, "cuda");
	must_not_map(info.pid, "nvidia");
}
