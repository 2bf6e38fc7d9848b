/* SPDX-License-Identifier: Apache-2.0 */
/*
 * broker_start.c - the user's own broker: who starts it, that there is one, and when it goes
 *
 * Each case has a user's address of its own (XDG_RUNTIME_DIR) and a program to start (WARPWAYD): a
 * script that runs the real one with a configuration that says how soon it leaves. The daemons
 * belong to nobody; as the subreaper this program can wait for their ends all the same. They are
 * told from others by the address in their command lines.
 */
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "integration/broker.h"

#define PATH_BYTES 96

static struct child agent;

extern char **environ;

static struct {
	char folder[PATH_BYTES];
	char address[PATH_BYTES + 32];
	char *program; /* the real one */
} own;

static void write_file(const char *path, mode_t mode, const char *text)
{
	FILE *file = fopen(path, "we");

	MUST(file && fputs(text, file) >= 0 && !fclose(file));
	MUST_CALL(chmod(path, mode));
}

/* What WARPWAYD names: the daemon, with a configuration. */
static void write_program(const char *daemon)
{
	char path[PATH_BYTES + 16];
	char script[4096];

	snprintf(path, sizeof(path), "%s/program", own.folder);
	snprintf(script, sizeof(script), "#!/bin/sh\nexec %s --config %s/conf \"$@\"\n", daemon,
		own.folder);
	write_file(path, 0755, script);
	setenv("WARPWAYD", path, 1);
}

/* The address of a user who has no broker yet. */
static void own_begin(const char *config)
{
	char path[PATH_BYTES + 16];

	if (access("/run/warpway/broker.sock", F_OK) == 0)
		check_skip("this machine has a broker, which comes before the user's own");
	MUST(getenv("WARPWAYD"));
	if (!own.program)
		own.program = strdup(getenv("WARPWAYD"));
	strcpy(own.folder, "/tmp/warpway-own-XXXXXX");
	MUST(mkdtemp(own.folder));
	snprintf(own.address, sizeof(own.address), "%s/warpway/broker.sock", own.folder);
	MUST_CALL(prctl(PR_SET_CHILD_SUBREAPER, 1));
	snprintf(path, sizeof(path), "%s/conf", own.folder);
	write_file(path, 0644, config);
	write_program(own.program);
	setenv("XDG_RUNTIME_DIR", own.folder, 1);
	unsetenv("WARPWAY_BROKER");
}

/* When a broker that nobody uses goes: before the case ends, or only when the case ends it. */
#define SOON  "[broker]\nidle_s = 1\n"
#define LATER "[broker]\nidle_s = 60\n"

/* Whether a process's command line has these two among its words. */
static bool runs(const char *pid, const char *first, const char *second)
{
	char path[PATH_BYTES];
	char line[4096];
	bool has_first = false;
	bool has_second = false;
	size_t length;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%.20s/cmdline", pid);
	file = fopen(path, "re");
	if (!file)
		return false;
	length = fread(line, 1, sizeof(line) - 1, file);
	fclose(file);
	line[length] = '\0';
	for (size_t at = 0; at < length; at += strlen(line + at) + 1) {
		has_first = has_first || !strcmp(line + at, first);
		has_second = has_second || !strcmp(line + at, second);
	}
	return has_first && has_second;
}

/* Processes of this role at this address; the last one's pid. */
static int count_daemons(const char *role, pid_t *out_pid)
{
	DIR *folder = opendir("/proc");
	const struct dirent *entry;
	int count = 0;

	MUST(folder);
	while ((entry = readdir(folder))) {
		if (!isdigit((unsigned char)entry->d_name[0]) ||
			!runs(entry->d_name, role, own.address))
			continue;
		*out_pid = atoi(entry->d_name);
		count++;
	}
	closedir(folder);
	return count;
}

static struct ww_broker_info must_have_one(void)
{
	struct ww_broker_info info = WW_INIT(struct ww_broker_info);
	OWN(broker) ww_broker *broker;
	pid_t supervisor = 0;
	pid_t process = 0;

	MUST_OK(broker_open_patient(NULL, &broker));
	MUST(!strcmp(own.address, ww_broker_address(broker)));
	MUST_OK(ww_broker_info_get(broker, &info));
	MUST_EQUAL(1, count_daemons("supervisor", &supervisor));
	MUST_EQUAL(1, count_daemons("broker", &process));
	MUST_EQUAL(info.supervisor_pid, supervisor);
	MUST_EQUAL(info.pid, process);
	return info;
}

static void must_have_none(void)
{
	pid_t pid;

	MUST_EQUAL(0, count_daemons("supervisor", &pid));
	MUST_EQUAL(0, count_daemons("broker", &pid));
	MUST(access(own.address, F_OK) != 0);
}

static void own_end(void)
{
	char command[2 * PATH_BYTES];
	pid_t pid;

	child_end_all();
	while (count_daemons("supervisor", &pid) > 0) {
		kill(pid, SIGTERM);
		process_wait_end(pid);
		waitpid(pid, NULL, 0);
	}
	must_have_none();
	setenv("WARPWAYD", own.program, 1);
	unsetenv("XDG_RUNTIME_DIR");
	unsetenv("WARPWAY_BROKER");
	snprintf(command, sizeof(command), "rm -r %s", own.folder);
	MUST_EQUAL(0, system(command));
}

#define OWN_CASE(case_name, case_needs, config) \
	CASE_BETWEEN(case_name, case_needs, own_begin(config), own_end())

/* --- who starts it --- */

OWN_CASE(start_by_first_use, WW_CAP_EXPORT, LATER)
{
	struct child maker;
	struct child taker;

	must_have_none();
	agent_begin(&maker, "agent", "make vmm 2097152 1");
	agent_must(&maker, WW_OK, "put x life=held");
	agent_begin(&taker, "agent", "get x");
	child_kill(&maker); /* it started the broker, which is a process of its own */
	agent_does(&taker, "verify 1", "drop");
	agent_must(&taker, WW_ERR_NOT_FOUND, "get x");
	must_have_one();
}

#define CROWDS 10
#define CROWD  10

/* One of many: opens when the pipe closes, says which broker it found. */
static void be_one(int gun, int results)
{
	struct ww_broker_info info = WW_INIT(struct ww_broker_info);
	ww_broker *broker;
	char byte;

	MUST_EQUAL(0, read(gun, &byte, 1));
	MUST_OK(ww_broker_open(WW_PARAMS(struct ww_broker_params,
				       .timeout_ns = (uint64_t)child_limit_ms() * 1000000),
		&broker));
	MUST_OK(ww_broker_info_get(broker, &info));
	MUST_EQUAL(sizeof(info.supervisor_pid),
		write(results, &info.supervisor_pid, sizeof(info.supervisor_pid)));
	ww_broker_unref(broker);
	_exit(0);
}

ROLE(role_crowd)
{
	uint32_t supervisor = 0;
	int gun[2];
	int results[2];

	MUST_CALL(pipe(gun));
	MUST_CALL(pipe(results));
	for (int i = 0; i < CROWD; i++) {
		pid_t pid = fork(); /* the library was not used yet */

		MUST_CALL(pid);
		if (pid == 0) {
			close(gun[1]);
			be_one(gun[0], results[1]);
		}
	}
	close(results[1]);
	role_tell("there");
	role_hear("go");
	close(gun[1]);
	for (int i = 0; i < CROWD; i++) {
		uint32_t found = 0;

		MUST_EQUAL(sizeof(found), read(results[0], &found, sizeof(found)));
		MUST(i == 0 || found == supervisor);
		supervisor = found;
	}
	role_tell("%u", supervisor);
	while (wait(NULL) > 0)
		;
}

OWN_CASE(start_hundred_at_once, 0, LATER)
{
	struct child crowds[CROWDS];
	char first[CHILD_WORD_BYTES] = "";

	for (int i = 0; i < CROWDS; i++)
		child_start(&crowds[i], "role_crowd", NULL);
	for (int i = 0; i < CROWDS; i++)
		child_hear(&crowds[i], "there");
	for (int i = 0; i < CROWDS; i++)
		child_tell(&crowds[i], "go");
	for (int i = 0; i < CROWDS; i++) {
		char word[CHILD_WORD_BYTES];

		child_hear_any(&crowds[i], word);
		MUST(i == 0 || !strcmp(first, word));
		strcpy(first, word);
	}
	MUST_EQUAL(atoi(first), must_have_one().supervisor_pid);
	for (int i = 0; i < CROWDS; i++)
		child_finish(&crowds[i]);
}

/* role_open STATUS WORD [no_start]: opening ends so, with a sentence that has the word in it */
ROLE(role_open)
{
	OWN(broker) ww_broker *broker;
	ww_status status = ww_broker_open(WW_PARAMS(struct ww_broker_params,
						  .flags = count > 2 ? WW_BROKER_NO_START : 0),
		&broker);

	MUST(count >= 2);
	if (strcmp(arguments[0], ww_status_name(status)))
		FAIL("opening ended with %s: %s", ww_status_name(status), ww_error_last()->message);
	MUST(status == WW_OK || strstr(ww_error_last()->message, arguments[1]));
	MUST((status == WW_OK) == (broker != NULL));
}

static void must_open_so(const char *status, const char *word, const char *flag,
	const char *const *environment)
{
	const char *const arguments[] = {status, word, flag, NULL};
	ENDED_BY(child_finish) struct child child;

	child_start(&child, "role_open",
		&(struct child_options){.arguments = arguments, .environment = environment});
}

OWN_CASE(start_refused, 0, LATER)
{
	const char *const no_start[] = {"WARPWAY_NO_START=1", NULL};
	const char *const no[] = {"WARPWAY_NO_START=0", NULL};

	must_open_so("WW_ERR_NO_BROKER", own.address, NULL, no_start);
	must_open_so("WW_ERR_NO_BROKER", own.address, "no_start", NULL);
	must_have_none();
	must_open_so("WW_OK", "", NULL, no);
	must_have_one();
	must_open_so("WW_OK", "", NULL, no_start); /* one runs: that is fine */
}

/* The daemon where everybody may run it, and the folder as a user's own. */
static void give_away(uid_t uid)
{
	char command[4096];
	char path[PATH_BYTES + 16];

	snprintf(path, sizeof(path), "%s/warpwayd", own.folder);
	snprintf(command, sizeof(command), "cp %s %s", own.program, path);
	MUST_EQUAL(0, system(command));
	MUST_CALL(chmod(path, 0755));
	write_program(path);
	MUST_CALL(chown(own.folder, uid, uid));
	MUST_CALL(chmod(own.folder, 0755));
}

/* Each user has a broker of its own, which runs as that user. */
OWN_CASE(start_for_other_user, WW_CAP_EXPORT | NEEDS_ROOT, LATER)
{
	struct ww_broker_info info;
	struct child other;

	give_away(61001);
	agent_begin(&agent, "agent", "user 61001 61001");
	agent_does(&agent, "make vmm 2097152 1", "put x life=owner mode=0644");
	unsetenv("XDG_RUNTIME_DIR");
	setenv("WARPWAY_BROKER", own.address,
		1); /* for us it is another's, and we may look at it */
	info = must_have_one();
	MUST_EQUAL(61001, info.uid);
	agent_begin(&other, "agent", "user 61002 61002");
	agent_must(&other, WW_ERR_ACCESS, "open");
}

static void make_folder(mode_t mode)
{
	char path[PATH_BYTES + 16];

	snprintf(path, sizeof(path), "%s/warpway", own.folder);
	MUST_CALL(mkdir(path, 0700));
	MUST_CALL(chmod(path, mode));
	MUST_CALL(chmod(own.folder, 0755));
}

/* Whoever made the folder would decide which broker serves there. */
OWN_CASE(start_refused_in_foreign_folder, NEEDS_ROOT, LATER)
{
	make_folder(0755);
	agent_begin(&agent, "agent", "user 61001 61001");
	agent_must(&agent, WW_ERR_ACCESS, "open");
	agent_end(&agent);
	must_have_none();
}

OWN_CASE(start_refused_in_open_folder, 0, LATER)
{
	make_folder(0777);
	must_open_so("WW_ERR_ACCESS", "others may write", NULL, NULL);
	must_have_none();
}

OWN_CASE(start_program_missing, 0, LATER)
{
	const char *const environment[] = {"WARPWAYD=/nonexistent/warpwayd", NULL};

	must_open_so("WW_ERR_NO_BROKER", "/nonexistent/warpwayd", NULL, environment);
	must_have_none();
}

OWN_CASE(start_program_fails, 0, "[broker]\nidle = 1\n")
{
	const char *const environment[] = {"WARPWAYD=/bin/false", NULL};

	must_open_so("WW_ERR_NO_BROKER", "", NULL, environment);
	must_open_so("WW_ERR_NO_BROKER", "conf:2", NULL, NULL); /* the daemon's own reason */
	must_have_none();
}

/* --- when it goes --- */

static void wait_for_end(const struct ww_broker_info *info)
{
	process_wait_end((pid_t)info->pid);
	process_wait_end((pid_t)info->supervisor_pid);
	waitpid((pid_t)info->supervisor_pid, NULL, 0);
	must_have_none();
}

OWN_CASE(start_ends_when_idle, WW_CAP_EXPORT, SOON)
{
	struct ww_broker_info first;
	struct ww_broker_info second;

	agent_begin(&agent, "agent", "make vmm 2097152 1");
	agent_must(&agent, WW_OK, "put x life=owner");
	first = must_have_one();
	agent_end(&agent);
	wait_for_end(&first);
	agent_start(&agent, NULL);
	agent_must(&agent, WW_ERR_NOT_FOUND, "get x");
	second = must_have_one();
	MUST(memcmp(first.broker_id, second.broker_id, sizeof(first.broker_id)) != 0);
	agent_end(&agent);
	wait_for_end(&second);
}

OWN_CASE(start_stays_while_kept, WW_CAP_EXPORT, SOON)
{
	struct pollfd waiting = {.events = POLLIN};
	struct ww_broker_info info;

	agent_begin(&agent, "agent", "make vmm 2097152 1");
	agent_must(&agent, WW_OK, "put x life=kept");
	info = must_have_one();
	agent_end(&agent);
	/* Longer than it stays with nothing to do. */
	waiting.fd = (int)syscall(SYS_pidfd_open, info.pid, 0);
	MUST_EQUAL(0, poll(&waiting, 1, 1500));
	close(waiting.fd);
	agent_begin(&agent, "agent", "get x");
	agent_must(&agent, WW_OK, "verify 1");
	MUST_EQUAL(info.pid, must_have_one().pid);
	agent_must(&agent, WW_OK, "remove x");
	agent_end(&agent);
	wait_for_end(&info);
}

/* Whoever waits for the end of a pipe that the starter had is not kept waiting by the daemon. */
OWN_CASE(start_keeps_no_descriptor, 0, LATER)
{
	struct pollfd waiting = {.events = POLLIN};
	int ends[2];
	char byte;

	MUST_CALL(pipe(ends));
	MUST_CALL(fcntl(ends[0], F_SETFD, FD_CLOEXEC));
	must_open_so("WW_OK", "", NULL, NULL);
	close(ends[1]);
	waiting.fd = ends[0];
	MUST_EQUAL(1, poll(&waiting, 1, child_limit_ms()));
	MUST_EQUAL(0, read(ends[0], &byte, 1));
	must_have_one(); /* it runs all the same */
	close(ends[0]);
}

/* Starts a daemon here, its readiness to be read from the pipe. */
static pid_t spawn_daemon(int out_pipe[2])
{
	char number[16];
	char *arguments[] = {(char *)"warpwayd", (char *)"--socket", own.address,
		(char *)"--leave-when-idle", (char *)"--ready-fd", number, NULL};
	pid_t pid;

	MUST_CALL(pipe(out_pipe));
	MUST_CALL(fcntl(out_pipe[0], F_SETFD, FD_CLOEXEC));
	snprintf(number, sizeof(number), "%d", out_pipe[1]);
	MUST_EQUAL(0, posix_spawn(&pid, getenv("WARPWAYD"), NULL, NULL, arguments, environ));
	close(out_pipe[1]);
	return pid;
}

OWN_CASE(start_two_never_serve_one_address, 0, LATER)
{
	pid_t pids[8];
	int pipes[8][2];

	for (int round = 0; round < 2; round++) { /* none serves yet; one does */
		for (size_t i = 0; i < CHECK_COUNT(pids); i++)
			pids[i] = spawn_daemon(pipes[i]);
		for (size_t i = 0; i < CHECK_COUNT(pids); i++) {
			struct pollfd waiting = {.fd = pipes[i][0], .events = POLLIN};
			char line[64] = "";

			MUST_EQUAL(1, poll(&waiting, 1, child_limit_ms()));
			MUST(read(pipes[i][0], line, sizeof(line) - 1) > 0);
			if (strcmp(line, "ready\n"))
				FAIL("a daemon says: %s", line);
			close(pipes[i][0]);
			waitpid(pids[i], NULL, 0);
		}
		must_have_one();
	}
}

/* Both killed at once: nothing is left but a socket that nobody listens at. */
OWN_CASE(start_after_kill_of_both, WW_CAP_EXPORT, LATER)
{
	struct ww_broker_info info;

	agent_begin(&agent, "agent", "make vmm 2097152 1");
	agent_must(&agent, WW_OK, "put x life=held");
	info = must_have_one();
	MUST_CALL(kill((pid_t)info.pid, SIGSTOP));
	MUST_CALL(kill((pid_t)info.supervisor_pid, SIGKILL));
	MUST_CALL(kill((pid_t)info.pid, SIGKILL));
	process_wait_end((pid_t)info.pid);
	waitpid((pid_t)info.supervisor_pid, NULL, 0);
	waitpid((pid_t)info.pid, NULL, 0);
	agent_must(&agent, WW_ERR_NO_BROKER, "remove x"); /* what it held is nowhere: said once */
	agent_must(&agent, WW_ERR_NOT_FOUND, "remove x");
	agent_must(&agent, WW_OK, "verify 1");
	must_have_one();
}
