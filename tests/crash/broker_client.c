/* SPDX-License-Identifier: Apache-2.0 */
/*
 * broker_client.c - a client is killed before and after every message it sends or takes
 *
 * Beside the victim lives a bystander, this process, with an object of its own. After each death
 * the object is there and whole, what the victim put is there whole or not at all, and the broker
 * has nothing of the victim but what was kept.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "crash/broker.h"
#include "support/fail_call.h"

#define STEPS_MAX 4000
#define ARM       "!"

static void arm(char **arguments)
{
	uint64_t nth = strtoull(arguments[1], NULL, 10);

	if (strcmp(arguments[0], "*"))
		calls_die_at(arguments[0], nth, !strcmp(arguments[2], "after"));
	else
		calls_die(nth);
}

/*
 * role_mortal FUNCTION NTH before|after COMMAND...: obeys, as an agent; from the command "!" on it
 * is mortal
 */
ROLE(role_mortal)
{
	MUST(count > 3);
	for (int i = 3; i < count; i++) {
		if (!strcmp(arguments[i], ARM)) {
			arm(arguments);
			continue;
		}
		if (agent_obey(arguments[i]) != WW_OK)
			FAIL("%s: %s", arguments[i], ww_error_last()->message);
	}
	agent_let_go();
	calls_off(NULL);
}

/* What a victim does, in commands of an agent; NULL at the end. */
static const char *const *script;

/* Returns whether it came through. */
static bool meet_victim(const char *function, uint64_t nth, const char *when)
{
	const char *arguments[14];
	char text[24];
	struct child victim;
	size_t count = 0;
	int status;

	snprintf(text, sizeof(text), "%llu", (unsigned long long)nth);
	arguments[count++] = function;
	arguments[count++] = text;
	arguments[count++] = when;
	for (size_t i = 0; script[i]; i++) {
		MUST(count < CHECK_COUNT(arguments) - 1);
		arguments[count++] = script[i];
	}
	arguments[count] = NULL;
	child_start(&victim, "role_mortal", &(struct child_options){.arguments = arguments});
	status = child_wait(&victim);
	if (WIFSIGNALED(status)) {
		MUST_EQUAL(SIGKILL, WTERMSIG(status));
		return false;
	}
	MUST_EQUAL(0, WEXITSTATUS(status));
	return true;
}

static bool is_alone(const struct ww_broker_info *info, uint64_t holds)
{
	return info->holders == 1 && info->holds == holds && info->waits == 0;
}

/* A kept object of the victim's: whole, and now gone. */
static void remove_lingering(void)
{
	ww_memory *memory;

	if (ww_memory_get(scene.device, scene.broker, "x", NULL, 0, NULL, &memory, NULL) == WW_OK) {
		pattern_verify(memory, 1);
		ww_memory_unref(memory);
		MUST_OK(ww_broker_remove(scene.broker, "x"));
		return;
	}
	MUST_EQUAL(WW_ERR_NOT_FOUND, ww_error_last()->status);
}

/* The bystander's object, which a victim may have been told to remove or replace. */
static ww_memory *put_theirs(void)
{
	ww_memory *memory = scene_make(2 * MIB, 7);

	MUST_OK(ww_memory_put(memory, scene.broker, "theirs",
		WW_PARAMS(struct ww_put_params, .life = WW_LIFE_KEPT, .flags = WW_PUT_REPLACE), 0,
		NULL));
	return memory;
}

static void must_be_unharmed(ww_memory *theirs)
{
	MUST(scene_comes_true(is_alone, 1));
	pattern_verify(theirs, 7);
	ww_memory_unref(theirs);
	remove_lingering();
	if (ww_broker_remove(scene.broker, "theirs") != WW_OK) /* the victim was faster */
		MUST_EQUAL(WW_ERR_NOT_FOUND, ww_error_last()->status);
	scene_has_objects(0);
}

static uint64_t kill_at_each(const char *function, const char *when)
{
	bool came_through = false;
	uint64_t nth = 0;

	while (!came_through) {
		ww_memory *theirs = put_theirs();

		nth++;
		MUST(nth < STEPS_MAX);
		came_through = meet_victim(function, nth, when);
		must_be_unharmed(theirs);
	}
	return nth - 1;
}

static void kill_at_messages(const char *const *commands)
{
	uint64_t sent;
	uint64_t taken;

	script = commands;
	scene_begin();
	sent = kill_at_each("sendmsg", "before");
	MUST_EQUAL(sent, kill_at_each("sendmsg", "after"));
	taken = kill_at_each("recvmsg", "before");
	MUST(taken > 0 && kill_at_each("recvmsg", "after") > 0);
	check_note("killed at %llu messages sent, %llu times taking one", (unsigned long long)sent,
		(unsigned long long)taken);
	scene_end();
}

#define KILL_AT_MESSAGES(name, ...)                                        \
	CASE(name, 0)                                                      \
	{                                                                  \
		static const char *const commands[] = {__VA_ARGS__, NULL}; \
                                                                           \
		kill_at_messages(commands);                                \
	}

#define MAKE "make vmm 2097152 1"

KILL_AT_MESSAGES(client_killed_opening, ARM, "open")
KILL_AT_MESSAGES(client_killed_putting_kept, MAKE, "open", ARM, "put x life=kept")
KILL_AT_MESSAGES(client_killed_putting_held, MAKE, "open", ARM, "put x life=held state=shared")
KILL_AT_MESSAGES(client_killed_putting_owned, MAKE, "open", ARM, "put x life=owner")
KILL_AT_MESSAGES(client_killed_replacing, MAKE, "open", ARM, "put theirs replace life=held")
KILL_AT_MESSAGES(client_killed_sealing, MAKE, "open", ARM, "put x life=kept state=writing",
	"seal shared")
KILL_AT_MESSAGES(client_killed_getting, "open", ARM, "get theirs", "verify 7")
KILL_AT_MESSAGES(client_killed_exporting, MAKE, "open", ARM, "export escrow_ms=5")
KILL_AT_MESSAGES(client_killed_releasing, "get theirs", ARM, "drop", "stat theirs")
KILL_AT_MESSAGES(client_killed_removing, "open", ARM, "remove theirs")
KILL_AT_MESSAGES(client_killed_listing, "open", ARM, "list")
KILL_AT_MESSAGES(client_killed_watching, "open", ARM, "watch")

/* A token of a shared object without a name, whose maker has gone. */
CASE(client_killed_importing, 0)
{
	char path[] = "/tmp/warpway-token-XXXXXX";
	char import[64];
	const char *const commands[] = {"open", ARM, import, "verify 9", NULL};
	struct ww_token token;
	ww_memory *memory;
	int fd = mkstemp(path);

	MUST_CALL(fd);
	script = commands;
	scene_begin();
	memory = scene_make(2 * MIB, 9);
	MUST_OK(ww_memory_export(memory, scene.broker,
		WW_PARAMS(struct ww_export_params, .access = WW_ACCESS_WRITE,
			.escrow_ns = WW_ESCROW_NONE),
		NULL, &token));
	MUST_EQUAL(sizeof(token), write(fd, &token, sizeof(token)));
	close(fd);
	snprintf(import, sizeof(import), "import write file=%s", path);
	for (int after = 0; after < 2; after++) {
		static const char *const functions[] = {"sendmsg", "recvmsg"};

		for (size_t i = 0; i < CHECK_COUNT(functions); i++) {
			uint64_t nth = 0;

			while (!meet_victim(functions[i], ++nth, after ? "after" : "before"))
				MUST(scene_comes_true(is_alone, 1) && nth < STEPS_MAX);
			MUST(scene_comes_true(is_alone, 1) && nth > 1);
		}
	}
	pattern_verify(memory, 9);
	ww_memory_unref(memory);
	unlink(path);
	scene_end();
}

/* Not only around messages: at each call of libc or the kernel, from the first one on. */
CASE(client_killed_at_every_call, 0)
{
	static const char *const commands[] = {ARM, MAKE, "put x life=kept state=writing",
		"seal shared", "export escrow_ms=5 file=/dev/null", "drop", "get theirs", "list",
		"watch", "drop", NULL};

	script = commands;
	scene_begin();
	check_note("killed at %llu calls", (unsigned long long)kill_at_each("*", "before"));
	scene_end();
}
