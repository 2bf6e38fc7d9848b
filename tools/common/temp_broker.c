/* SPDX-License-Identifier: Apache-2.0 */
/*
 * temp_broker.c - a broker of one's own, see temp_broker.h
 *
 * It is started as the library starts one: it goes into the background by itself and says over a
 * pipe when it serves. Its end is asked of its supervisor, which would otherwise start it again;
 * who that is says the broker, for it may have changed.
 */
#include "common/temp_broker.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/child_link.h"
#include "common/find_program.h"
#include "common/cleanup.h"
#include "common/say.h"

#define READY       3 /* the pipe, in the daemon */
#define READY_TEXT  "3"
#define LINE_BYTES  256
#define WAIT_MS     10000
#define CONFIG_NAME "warpwayd.conf"

extern char **environ;

static int wait_readable(int fd)
{
	struct pollfd entry = {.fd = fd, .events = POLLIN};

	return link_poll(&entry, 1, link_now_ns() + WAIT_MS * UINT64_C(1000000));
}

/* The daemon's one line. */
static int hear(int fd)
{
	char line[LINE_BYTES] = "";
	size_t length = 0;

	while (length < sizeof(line) - 1 && !strchr(line, '\n')) {
		ssize_t count;

		if (wait_readable(fd) <= 0)
			return complain("a broker was started, but does not serve after %d s",
				WAIT_MS / 1000);
		count = read(fd, line + length, sizeof(line) - 1 - length);
		if (count <= 0)
			break;
		length += (size_t)count;
		line[length] = 0;
	}
	line[strcspn(line, "\n")] = 0;
	if (!strcmp(line, "ready"))
		return 0;
	return complain("a broker does not start: %s", line[0] ? line : "it said nothing");
}

/*
 * Its own standard streams lead nowhere: it goes on after this process has ended. Return: an errno.
 */
static int spawn(char *const argv[], const char *program, int ready, pid_t *out_pid)
{
	posix_spawn_file_actions_t actions;
	int error = posix_spawn_file_actions_init(&actions);

	if (error)
		return error;
	error = posix_spawn_file_actions_adddup2(&actions, ready, READY);
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO && !error; fd++)
		error = posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
	if (!error)
		error = posix_spawnp(out_pid, program, &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	return error;
}

/* Starts it with a pipe to speak to us, and waits until it is in the background. */
static int start_with(struct temp_broker *temp_broker, const char *config, int pipe_end)
{
	char program[PROGRAM_PATH_BYTES];
	char *argv[] = {(char *)DAEMON, (char *)"--socket", temp_broker->address,
		(char *)"--leave-when-idle", (char *)"--ready-fd", (char *)READY_TEXT,
		config ? (char *)"--config" : NULL, (char *)config, NULL};
	OWN(fd) int theirs = fcntl(pipe_end, F_DUPFD_CLOEXEC, READY + 1);
	pid_t pid;
	int error;

	if (theirs < 0)
		return complain("cannot start a broker: %s", strerror(errno));
	daemon_find(program, sizeof(program));
	error = spawn(argv, program, theirs, &pid);
	if (error)
		return complain("cannot start %s: %s; install it, or name it with WARPWAYD",
			program, strerror(error));
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return 0;
}

static int start(struct temp_broker *temp_broker, const char *config)
{
	OWN(fd) int ours = -1;
	int ends[2];
	int result;

	if (pipe2(ends, O_CLOEXEC))
		return complain("cannot make a pipe: %s", strerror(errno));
	ours = ends[0];
	result = start_with(temp_broker, config, ends[1]);
	close(ends[1]);
	return result ? result : hear(ours);
}

static int write_settings(const char *path, const char *settings)
{
	FILE *file = fopen(path, "we");
	int result;

	if (!file)
		return complain("cannot make %s: %s", path, strerror(errno));
	result = fputs(settings, file) < 0 ? -1 : 0;
	if (fclose(file) || result)
		return complain("cannot write %s: %s", path, strerror(errno));
	return 0;
}

static int make_folder(struct temp_broker *temp_broker)
{
	const char *place = getenv("TMPDIR");

	/* A socket's path is short. */
	if (!place || place[0] != '/' || strlen(place) > TEMP_BROKER_FOLDER_BYTES - 20)
		place = "/tmp";
	snprintf(temp_broker->folder, sizeof(temp_broker->folder), "%s/warpway-XXXXXX", place);
	if (!mkdtemp(temp_broker->folder)) {
		temp_broker->folder[0] = 0;
		return complain("cannot make a folder in %s: %s", place, strerror(errno));
	}
	snprintf(temp_broker->address, sizeof(temp_broker->address), "%s/broker.sock",
		temp_broker->folder);
	return 0;
}

int temp_broker_open(struct temp_broker *temp_broker, const char *settings)
{
	char config[TEMP_BROKER_FOLDER_BYTES + sizeof(CONFIG_NAME)];

	*temp_broker = (struct temp_broker)TEMP_BROKER_NONE;
	if (make_folder(temp_broker))
		return -1;
	snprintf(config, sizeof(config), "%s/" CONFIG_NAME, temp_broker->folder);
	if (settings && write_settings(config, settings))
		return -1;
	if (start(temp_broker, settings ? config : NULL))
		return -1;
	temp_broker->serves = true;
	return 0;
}

static uint32_t find_supervisor(const struct temp_broker *temp_broker)
{
	const struct ww_broker_params params = {
		.struct_size = sizeof(params),
		.flags = WW_BROKER_NO_START,
		.address = temp_broker->address,
	};
	struct ww_broker_info info = WW_INIT(struct ww_broker_info);
	ww_broker *broker;

	if (ww_broker_open(&params, &broker) != WW_OK)
		return 0;
	if (ww_broker_info_get(broker, &info) != WW_OK)
		info.supervisor_pid = 0;
	ww_broker_unref(broker);
	return info.supervisor_pid;
}

static void end_broker(const struct temp_broker *temp_broker)
{
	uint32_t pid = find_supervisor(temp_broker);
	OWN(fd) int process = pid ? (int)syscall(SYS_pidfd_open, (pid_t)pid, 0) : -1;

	if (process < 0 || syscall(SYS_pidfd_send_signal, process, SIGTERM, NULL, 0) ||
		wait_readable(process) <= 0)
		complain("the broker at %s could not be ended", temp_broker->address);
}

void temp_broker_close(struct temp_broker *temp_broker)
{
	char path[TEMP_BROKER_FOLDER_BYTES + 32];
	static const char *const names[] = {CONFIG_NAME, "broker.sock", "broker.sock.lock"};

	if (temp_broker->serves)
		end_broker(temp_broker);
	for (size_t i = 0; temp_broker->folder[0] && i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", temp_broker->folder, names[i]);
		unlink(path);
	}
	if (temp_broker->folder[0] && rmdir(temp_broker->folder))
		complain("cannot remove %s: %s", temp_broker->folder, strerror(errno));
	*temp_broker = (struct temp_broker)TEMP_BROKER_NONE;
}
