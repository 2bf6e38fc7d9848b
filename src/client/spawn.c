/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spawn.c - starting the user's own broker, see spawn.h
 *
 * The program is the one that WARPWAYD names, else the one that was installed with this library,
 * else the first in PATH. When it serves, it writes one line to a pipe: "ready", or "failed: " and
 * the reason. The environment variables of this process's service manager are not passed on, since
 * the program would notify that instead.
 */
#include "client/spawn.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/environment.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/log.h"
#include "client/start_lock.h"

#define PROGRAM    "warpwayd"
#define PATH_ROOM  4096
#define LINE_BYTES 256
#define READY      3 /* the pipe, in the program */
#define READY_TEXT "3"

/*
 * The path of the file that contains this code: the library, or the program that it is linked into.
 * The dynamic linker may know a program only by the name it was called by; then /proc has the path.
 * Return: false: neither has it.
 */
static bool find_own_file(char path[PATH_ROOM])
{
	Dl_info info;
	ssize_t length;

	if (dladdr((void *)(uintptr_t)ww_start, &info) != 0 && info.dli_fname &&
		strchr(info.dli_fname, '/')) {
		snprintf(path, PATH_ROOM, "%s", info.dli_fname);
		return true;
	}
	length = readlink("/proc/self/exe", path, PATH_ROOM - 1);
	if (length <= 0)
		return false;
	path[length] = '\0';
	return true;
}

/* Whether the program lies at @where from the folder of the file @own. */
static bool is_beside(const char *own, const char *where, char path[PATH_ROOM])
{
	int folder = (int)(strrchr(own, '/') - own);

	return snprintf(path, PATH_ROOM, "%.*s/%s", folder, own, where) < PATH_ROOM &&
		access(path, X_OK) == 0;
}

static void free_p(char ***pointer)
{
	free(*pointer);
}

/*
 * @ready: borrowed; not READY, so that the duplicate in the child is not close-on-exec. Return: an
 * errno.
 */
static int spawn_program(const char *program, const char *socket, int ready, pid_t *out_pid)
{
	WW_CLEANUP(free_p) char **environment = ww_environment_to_hand_on();
	char *argv[] = {(char *)PROGRAM, (char *)"--socket", (char *)socket,
		(char *)"--leave-when-idle", (char *)"--ready-fd", (char *)READY_TEXT, NULL};
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	int error = environment ? posix_spawn_file_actions_init(&actions) : ENOMEM;
	sigset_t none;
	sigset_t all;

	if (error)
		return error;
	/*
	 * The program gets default signal handlers and no blocked signal, whatever this process
	 * ignores or blocks. With valid arguments these calls cannot fail.
	 */
	sigemptyset(&none);
	sigfillset(&all);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setsigdefault(&attributes, &all);
	posix_spawnattr_setflags(&attributes,
		POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
	error = posix_spawn_file_actions_adddup2(&actions, ready, READY);
	if (!error)
		error = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDWR, 0);
	if (!error)
		error = posix_spawn_file_actions_adddup2(&actions, 0, 1);
	if (!error)
		error = posix_spawn_file_actions_adddup2(&actions, 0, 2);
	if (!error)
		error = posix_spawn_file_actions_addclosefrom_np(&actions, READY + 1);
	if (!error)
		error = posix_spawnp(out_pid, program, &actions, &attributes, argv, environment);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	return error;
}

static ww_status wait_readable(int fd, uint64_t deadline_ns)
{
	return ww_fd_wait(fd, POLLIN, deadline_ns, "a broker to start");
}

/*
 * Whether @pid is a child of this process that was not waited for yet. Only then no other process
 * can have the number.
 */
static bool is_child(pid_t pid)
{
	siginfo_t info;

	return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

/*
 * Waits for the process that was spawned. It forks, and ends as soon as it has reported, so a
 * process that does not end before the deadline is no broker, and is killed. Without a pidfd there
 * is no way to wait with a deadline, so it is killed at once. If the caller's program waits for all
 * its children, the process may have been waited for already.
 */
static void reap_program(pid_t pid, uint64_t deadline_ns)
{
	WW_AUTO_FD int process = (int)syscall(SYS_pidfd_open, pid, 0);
	struct ww_error record;

	if (!is_child(pid))
		return;
	ww_error_save(&record);
	if (process < 0)
		kill(pid, SIGKILL);
	else if (wait_readable(process, deadline_ns) != WW_OK)
		syscall(SYS_pidfd_send_signal, process, SIGKILL, NULL, 0);
	ww_error_restore(&record);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

/* Reads up to a newline or the end. @line: ended by a zero, without the newline. */
static ww_status read_line(int fd, char line[LINE_BYTES], uint64_t deadline_ns)
{
	size_t length = 0;

	line[0] = '\0';
	while (length < LINE_BYTES - 1) {
		ww_status status = wait_readable(fd, deadline_ns);
		ssize_t count;
		char *end;

		if (status != WW_OK)
			return status;
		count = read(fd, line + length, LINE_BYTES - 1 - length);
		if (count < 0 && errno == EINTR)
			continue;
		if (count < 0)
			return ww_fail_errno(errno, NULL, "cannot hear from a broker that starts");
		length += (size_t)count;
		line[length] = '\0';
		end = strchr(line, '\n');
		if (end)
			*end = '\0';
		if (end || count == 0)
			return WW_OK;
	}
	return WW_OK;
}

static ww_status read_report(int fd, const char *program, uint64_t deadline_ns)
{
	static const char failed[] = "failed: ";
	char line[LINE_BYTES];
	ww_status status = read_line(fd, line, deadline_ns);

	ww_try(status);
	if (status == WW_TIMED_OUT)
		return ww_fail(WW_ERR_NO_BROKER,
			"a broker was started, %.100s, but did not serve in time", program);
	if (strncmp(line, failed, sizeof(failed) - 1) == 0)
		return ww_fail(WW_ERR_NO_BROKER, "the broker does not start: %s",
			line + sizeof(failed) - 1);
	/* Without a line the program was killed. Another broker may serve: the caller connects. */
	ww_log_debug("started %s: %s", program, line[0] ? line : "it said nothing");
	return WW_OK;
}

static ww_status start_program(const char *socket, uint64_t deadline_ns)
{
	WW_AUTO_FD int ours = -1;
	WW_AUTO_FD int theirs = -1;
	char program[PATH_ROOM];
	ww_status status;
	pid_t pid;
	int error;
	const char *variable = ww_environment_find(WW_VARIABLE_WARPWAYD);
	char own[PATH_ROOM];
	int ends[2];

	if (variable)
		snprintf(program, PATH_ROOM, "%s", variable);
	else if (!find_own_file(own) ||
		(!is_beside(own, "../bin/" PROGRAM, program) && !is_beside(own, PROGRAM, program)))
		snprintf(program, PATH_ROOM, "%s", PROGRAM);
	/*
	 * Both ends get numbers above 2; the writing end one above READY, where the program has it.
	 */
	if (pipe2(ends, O_CLOEXEC) < 0)
		return ww_fail_errno(errno, NULL, "cannot start a broker");
	ours = ends[0];
	theirs = fcntl(ends[1], F_DUPFD_CLOEXEC, READY + 1);
	ww_fd_close(ends[1]);
	if (theirs < 0)
		return ww_fail_errno(errno, NULL, "cannot start a broker");
	ww_try(ww_fd_adopt(&ours));
	error = spawn_program(program, socket, theirs, &pid);
	if (error)
		return ww_fail_errno_as(error == ENOMEM ? WW_ERR_NO_MEMORY : WW_ERR_NO_BROKER,
			error,
			"install it, or name it with WARPWAYD, or start a broker with warpway serve",
			"no broker runs and %.100s cannot be started", program);
	ww_fd_close(ww_fd_steal(&theirs)); /* so that the pipe ends when the program ends */
	status = read_report(ours, program, deadline_ns);
	reap_program(pid, deadline_ns);
	return status;
}

/* Makes the folder of the socket and of the lock. A process that connects checks it again. */
static ww_status prepare_folder(const struct ww_address *address)
{
	WW_AUTO_FD int folder = -1;
	ww_status status;

	ww_try(ww_address_make_folder(address));
	status = ww_address_open_folder(address, &folder);
	if (status == WW_END)
		return ww_fail(WW_ERR_NO_BROKER,
			"the folder for this user's broker, at %s, was removed while it started",
			address->path);
	return status;
}

ww_status ww_start(const struct ww_address *address, const struct ww_caller *caller,
	uint64_t deadline_ns, struct ww_connection **out_connection)
{
	char lock[WW_ADDRESS_BYTES + sizeof(".start")];
	WW_AUTO_START_LOCK struct ww_start_lock turn = WW_START_LOCK_INIT;
	bool is_absent;
	ww_status status;

	*out_connection = NULL;
	/* The caller of a set-user-id program chose PATH and the address. */
	if (getauxval(AT_SECURE))
		return ww_fail(WW_ERR_NO_BROKER,
			"no broker runs at %s, and a program with more rights than its user starts none",
			address->path);
	ww_try(prepare_folder(address));
	snprintf(lock, sizeof(lock), "%s.start", address->path);
	status = ww_start_lock_take(&turn, lock, deadline_ns);
	ww_try(status);
	if (status == WW_TIMED_OUT)
		return ww_fail(WW_ERR_NO_BROKER,
			"another process was to start a broker at %s, but did not in time",
			address->path);
	status = ww_connection_open(address, caller, deadline_ns, out_connection, &is_absent);
	if (status == WW_OK || !is_absent)
		return status;
	if (ww_cancel_is_pending())
		return WW_CANCELLED;
	ww_try(start_program(address->path, deadline_ns));
	return ww_connection_open(address, caller, deadline_ns, out_connection, &is_absent);
}
