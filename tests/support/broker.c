/* SPDX-License-Identifier: Apache-2.0 */
/*
 * broker.c - starting and ending a warpwayd, see broker.h
 */
#include "support/broker.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/check.h"
#include "support/child.h"

#define ARGUMENTS_MAX   16
#define ENVIRONMENT_MAX 512

extern char **environ;

static void join(char out[BROKER_PATH_BYTES], const char *folder, const char *name)
{
	MUST(snprintf(out, BROKER_PATH_BYTES, "%s/%s", folder, name) < BROKER_PATH_BYTES);
}

/* --- its folder --- */

static void make_folder(struct broker *broker)
{
	strcpy(broker->folder, "/tmp/warpway-test-XXXXXX");
	if (!mkdtemp(broker->folder))
		FAIL("cannot make %s: %m", broker->folder);
	MUST_CALL(chmod(broker->folder, 0755));
	join(broker->address, broker->folder, "broker.sock");
}

static void remove_folder(const struct broker *broker)
{
	DIR *folder = opendir(broker->folder);
	const struct dirent *entry;

	while (folder && (entry = readdir(folder)))
		if (entry->d_name[0] != '.')
			unlinkat(dirfd(folder), entry->d_name, 0);
	if (folder)
		closedir(folder);
	rmdir(broker->folder);
}

void broker_write_config(struct broker *broker, const char *config)
{
	FILE *file;

	join(broker->config, broker->folder, "warpwayd.conf");
	file = fopen(broker->config, "we");
	if (!file || fputs(config, file) < 0 || fclose(file))
		FAIL("cannot write %s: %m", broker->config);
}

/* --- what it says --- */

static void listen_to(struct broker *broker, char path[BROKER_PATH_BYTES])
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	join(path, broker->folder, "notify.sock");
	strcpy(address.sun_path, path);
	broker->notify = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	MUST_CALL(broker->notify);
	MUST_CALL(bind(broker->notify, (const struct sockaddr *)&address, sizeof(address)));
}

/* Also notices that it has ended instead. */
static void hear(struct broker *broker, char *text, size_t room)
{
	struct pollfd entries[2] = {{.fd = broker->notify, .events = POLLIN}, {.events = POLLIN}};
	int ready;
	ssize_t length;

	entries[1].fd = (int)syscall(SYS_pidfd_open, broker->supervisor, 0);
	ready = poll(entries, entries[1].fd < 0 ? 1 : 2, child_limit_ms());
	if (entries[1].fd >= 0)
		close(entries[1].fd);
	if (ready == 0)
		FAIL("warpwayd is not ready after %d ms", child_limit_ms());
	MUST_CALL(ready);
	if (!entries[0].revents)
		FAIL("warpwayd ended before it was ready");
	length = recv(broker->notify, text, room - 1, 0);
	MUST_CALL(length);
	text[length] = '\0';
}

void broker_hear_ready(struct broker *broker)
{
	char text[512];
	const char *pid;

	do {
		hear(broker, text, sizeof(text));
	} while (!strstr(text, "READY=1"));
	pid = strstr(text, "MAINPID=");
	MUST(pid);
	broker->supervisor = atoi(pid + strlen("MAINPID="));
}

/* --- its processes --- */

/* Kills the group when this program has ended, however it did, or asks for it. */
static void start_guard(struct broker *broker)
{
	int ends[2];
	char byte;

	MUST_CALL(pipe2(ends, O_CLOEXEC));
	broker->guard_pid = fork();
	MUST_CALL(broker->guard_pid);
	if (broker->guard_pid == 0) {
		setpgid(0, 0); /* a signal for the test program's group is none for us */
		dup2(ends[0], STDIN_FILENO);
		close_range(3, UINT32_MAX, 0);
		while (read(STDIN_FILENO, &byte, 1) < 0 && errno == EINTR)
			;
		kill(-broker->group, SIGKILL);
		remove_folder(broker);
		_exit(0);
	}
	close(ends[0]);
	broker->guard = ends[1];
}

static void end_guard(struct broker *broker)
{
	close(broker->guard);
	waitpid(broker->guard_pid, NULL, 0);
	close(broker->notify);
	*broker = (struct broker){.notify = -1, .guard = -1};
}

static size_t write_arguments(struct broker *broker, const struct broker_options *options,
	char *out[ARGUMENTS_MAX])
{
	size_t count = 0;

	out[count++] = (char *)"warpwayd";
	out[count++] = (char *)"--socket";
	out[count++] = broker->address;
	out[count++] = (char *)"--socket-mode";
	out[count++] = (char *)(options && options->mode ? options->mode : "0666");
	if (broker->config[0]) {
		out[count++] = (char *)"--config";
		out[count++] = broker->config;
	}
	for (size_t i = 0; options && options->arguments && options->arguments[i]; i++) {
		MUST(count < ARGUMENTS_MAX - 1);
		out[count++] = (char *)options->arguments[i];
	}
	out[count] = NULL;
	return count;
}

static void write_environment(char *notify, char *out[ENVIRONMENT_MAX])
{
	size_t count = 0;

	for (char **entry = environ; *entry && count < ENVIRONMENT_MAX - 2; entry++)
		if (strncmp(*entry, "NOTIFY_SOCKET=", 14) && strncmp(*entry, "LISTEN_", 7))
			out[count++] = *entry;
	out[count++] = notify;
	out[count] = NULL;
}

/* A limit is set by a shell: this process might not be allowed to raise its own again. */
static void spawn(struct broker *broker, char **arguments, char **environment, uint64_t files)
{
	const char *program = getenv("WARPWAYD");
	char limited[64];
	char *words[ARGUMENTS_MAX + 4] = {(char *)"sh", (char *)"-c", limited, (char *)program};
	posix_spawnattr_t attributes;
	int error;

	if (!program)
		FAIL("WARPWAYD in the environment must say where warpwayd is");
	if (files)
		snprintf(limited, sizeof(limited), "ulimit -n %llu && exec \"$0\" \"$@\"",
			(unsigned long long)files);
	for (size_t i = 1; i < ARGUMENTS_MAX && arguments[i]; i++)
		words[3 + i] = arguments[i];
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
	error = posix_spawn(&broker->group, files ? "/bin/sh" : program, NULL, &attributes,
		files ? words : arguments, environment);
	posix_spawnattr_destroy(&attributes);
	if (error)
		FAIL("cannot start %s: %s", program, strerror(error));
	broker->supervisor = broker->group;
}

void broker_start(struct broker *broker, const struct broker_options *options)
{
	char notify[BROKER_PATH_BYTES];
	char variable[BROKER_PATH_BYTES + 16];
	char *arguments[ARGUMENTS_MAX];
	char *environment[ENVIRONMENT_MAX];

	*broker = (struct broker){.notify = -1, .guard = -1};
	MUST_CALL(prctl(PR_SET_CHILD_SUBREAPER, 1));
	make_folder(broker);
	if (options && options->config)
		broker_write_config(broker, options->config);
	listen_to(broker, notify);
	snprintf(variable, sizeof(variable), "NOTIFY_SOCKET=%s", notify);
	write_arguments(broker, options, arguments);
	write_environment(variable, environment);
	spawn(broker, arguments, environment, options ? options->files : 0);
	start_guard(broker);
	broker_hear_ready(broker);
}

void process_wait_end(pid_t pid)
{
	struct pollfd waiting = {.events = POLLIN};
	int ready;

	waiting.fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (waiting.fd < 0)
		return; /* it is gone altogether */
	ready = poll(&waiting, 1, child_limit_ms());
	close(waiting.fd);
	if (ready != 1)
		FAIL("process %d does not end", (int)pid);
}

static pid_t parent_of(pid_t pid)
{
	char path[64];
	char text[512];
	const char *end;
	FILE *file;
	int parent = -1;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	file = fopen(path, "r");
	if (!file)
		return -1;
	/* The name before it may have any character but ends at the last parenthesis. */
	if (fgets(text, sizeof(text), file) && (end = strrchr(text, ')')))
		sscanf(end + 1, " %*c %d", &parent);
	fclose(file);
	return parent;
}

/*
 * A supervisor may be the child of a broker that is about to end: it is ours to wait for when that
 * has ended.
 */
static void wait_for_orphan(pid_t supervisor)
{
	pid_t parent;

	while ((parent = parent_of(supervisor)) > 0 && parent != getpid())
		process_wait_end(parent);
}

void broker_wait(struct broker *broker)
{
	int status = 0;

	wait_for_orphan(broker->supervisor);
	process_wait_end(broker->supervisor);
	MUST_EQUAL(broker->supervisor, waitpid(broker->supervisor, &status, 0));
	if (WIFSIGNALED(status))
		FAIL("warpwayd died of signal %d", WTERMSIG(status));
	if (WEXITSTATUS(status))
		FAIL("warpwayd ended with status %d", WEXITSTATUS(status));
	/*
	 * Orphans are ours now and are reaped here too: of a supervisor that was killed before, and
	 * receivers, which end a moment after the broker.
	 */
	while (waitpid(-broker->group, NULL, 0) > 0)
		;
	if (kill(-broker->group, 0) == 0)
		FAIL("warpwayd left a process behind");
	if (access(broker->address, F_OK) == 0)
		FAIL("warpwayd left its socket behind");
	end_guard(broker);
}

void broker_stop(struct broker *broker)
{
	MUST_CALL(kill(broker->supervisor, SIGTERM));
	broker_wait(broker);
}

void broker_kill(struct broker *broker)
{
	kill(-broker->group, SIGKILL);
	while (waitpid(-broker->group, NULL, 0) > 0)
		;
	end_guard(broker);
}

ww_status broker_open_patient(const char *address, ww_broker **out_broker)
{
	const struct ww_broker_params *params = WW_PARAMS(struct ww_broker_params,
		.address = address, .timeout_ns = (uint64_t)child_limit_ms() * 1000000 / 2);

	return ww_broker_open(params, out_broker);
}

/* --- what /proc says --- */

int process_descriptors(pid_t pid)
{
	char path[64];
	DIR *folder;
	const struct dirent *entry;
	int count = 0;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	folder = opendir(path);
	if (!folder)
		FAIL("cannot read %s: %m", path);
	while ((entry = readdir(folder)))
		count += entry->d_name[0] != '.';
	closedir(folder);
	return count;
}

uint64_t process_memory_bytes(pid_t pid)
{
	unsigned long pages = 0;
	char path[64];
	FILE *file;
	int found;

	snprintf(path, sizeof(path), "/proc/%d/statm", (int)pid);
	file = fopen(path, "re");
	if (!file)
		FAIL("cannot read %s: %m", path);
	found = fscanf(file, "%*u %lu", &pages);
	fclose(file);
	MUST_EQUAL(1, found);
	return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}
