/* SPDX-License-Identifier: Apache-2.0 */
/*
 * child.c - starting, hearing and ending helper processes
 *
 * The table of running helpers belongs to the thread that runs the cases; only it starts them. It
 * holds copies, since a case that failed has left the stack its own ones were on.
 */
#include "support/child.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/check.h"

#define LIMIT_MS        120000
#define CHILDREN_MAX    32
#define ARGUMENTS_MAX   16
#define ENVIRONMENT_MAX 512

extern char **environ;

static struct child children[CHILDREN_MAX]; /* pid 0: free */

int child_limit_ms(void)
{
	return LIMIT_MS * (int)check_slowness();
}

uint64_t child_limit_end_ns(void)
{
	return ww_clock_deadline_ns((uint64_t)child_limit_ms() * 1000000);
}

static void remember(const struct child *child)
{
	for (size_t i = 0; i < CHILDREN_MAX; i++) {
		if (!children[i].pid) {
			children[i] = *child;
			return;
		}
	}
	FAIL("more than %d helpers", CHILDREN_MAX);
}

static void forget(const struct child *child)
{
	for (size_t i = 0; i < CHILDREN_MAX; i++)
		if (children[i].pid == child->pid)
			children[i].pid = 0;
}

/* The same variable: up to the '='. */
static bool same_name(const char *entry, const char *change)
{
	size_t length = strcspn(change, "=");

	return strcspn(entry, "=") == length && !strncmp(entry, change, length);
}

static void build_environment(const char *const *changes, char *out[ENVIRONMENT_MAX])
{
	size_t count = 0;

	for (char **entry = environ; *entry; entry++) {
		bool changed = false;

		for (const char *const *change = changes; change && *change; change++)
			changed = changed || same_name(*entry, *change);
		if (!changed && count < ENVIRONMENT_MAX - 16)
			out[count++] = *entry;
	}
	for (const char *const *change = changes; change && *change; change++)
		if (strchr(*change, '='))
			out[count++] = (char *)*change;
	out[count] = NULL;
}

/* Moves a descriptor out of the way of those the helper expects. */
static int lift(int fd)
{
	int high = fcntl(fd, F_DUPFD_CLOEXEC, 64);

	MUST_CALL(high);
	close(fd);
	return high;
}

static int spawn_self(pid_t *out_pid, char *const *arguments, char *const *environment, int socket,
	int control)
{
	posix_spawn_file_actions_t actions;
	int error;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
	if (socket >= 0)
		posix_spawn_file_actions_adddup2(&actions, socket, CHILD_SOCKET);
	if (control >= 0)
		posix_spawn_file_actions_adddup2(&actions, control, CHILD_CONTROL);
	error = posix_spawn(out_pid, "/proc/self/exe", &actions, NULL, arguments, environment);
	posix_spawn_file_actions_destroy(&actions);
	return error;
}

void child_start(struct child *child, const char *role, const struct child_options *options)
{
	char *arguments[ARGUMENTS_MAX + 4] = {(char *)"helper", (char *)"--role", (char *)role};
	char *environment[ENVIRONMENT_MAX];
	int type = options && options->type ? options->type : SOCK_STREAM;
	int sockets[2];
	int controls[2];
	int error;

	for (size_t i = 0; options && options->arguments && options->arguments[i]; i++) {
		MUST(i < ARGUMENTS_MAX);
		arguments[3 + i] = (char *)options->arguments[i];
	}
	build_environment(options ? options->environment : NULL, environment);
	MUST_CALL(socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, sockets));
	MUST_CALL(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, controls));
	sockets[1] = lift(sockets[1]);
	controls[1] = lift(controls[1]);
	error = spawn_self(&child->pid, arguments, environment, sockets[1], controls[1]);
	close(sockets[1]);
	close(controls[1]);
	if (error)
		FAIL("cannot start a helper: %s", strerror(error));
	child->socket = sockets[0];
	child->control = controls[0];
	child->pidfd = (int)syscall(SYS_pidfd_open, child->pid, 0);
	remember(child);
	MUST_CALL(child->pidfd);
}

static __attribute__((format(printf, 2, 0))) void say(int control, const char *format,
	va_list arguments)
{
	char word[CHILD_WORD_BYTES];
	int length = vsnprintf(word, sizeof(word), format, arguments);

	MUST(length >= 0 && length < (int)sizeof(word));
	if (send(control, word, (size_t)length + 1, MSG_NOSIGNAL) < 0)
		FAIL("cannot say \"%s\": %m", word);
}

/* False: the other side is gone. */
static bool hear(int control, char word[CHILD_WORD_BYTES])
{
	struct pollfd waiting = {.fd = control, .events = POLLIN};
	int ready = poll(&waiting, 1, child_limit_ms());
	ssize_t length;

	if (ready == 0)
		FAIL("time limit: no word within %d ms", child_limit_ms());
	MUST_CALL(ready);
	length = recv(control, word, CHILD_WORD_BYTES - 1, 0);
	if (length <= 0)
		return false;
	word[length] = '\0';
	return true;
}

void child_tell(struct child *child, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	say(child->control, format, arguments);
	va_end(arguments);
}

void child_hear_any(struct child *child, char word[CHILD_WORD_BYTES])
{
	if (!hear(child->control, word))
		FAIL("the helper ended without a word");
}

void child_hear(struct child *child, const char *word)
{
	char heard[CHILD_WORD_BYTES];

	child_hear_any(child, heard);
	if (strcmp(heard, word))
		FAIL("the helper said \"%s\", not \"%s\"", heard, word);
}

/* Waits for the end of a helper and takes it off the table. */
static int reap(struct child *child, int limit_ms)
{
	struct pollfd waiting = {.fd = child->pidfd, .events = POLLIN};
	bool late = child->pidfd >= 0 && poll(&waiting, 1, limit_ms) == 0;
	int status = 0;

	if (late)
		kill(child->pid, SIGKILL);
	waitpid(child->pid, &status, 0);
	forget(child);
	if (child->pidfd >= 0)
		close(child->pidfd);
	if (child->socket >= 0)
		close(child->socket);
	if (child->control >= 0)
		close(child->control);
	*child = (struct child){.pidfd = -1, .socket = -1, .control = -1};
	return late ? -1 : status;
}

int child_wait(struct child *child)
{
	int status = reap(child, child_limit_ms());

	if (status == -1)
		FAIL("time limit: the helper did not end within %d ms", child_limit_ms());
	return status;
}

void child_finish(struct child *child)
{
	int status = child_wait(child);

	if (WIFSIGNALED(status))
		FAIL("the helper died of signal %d", WTERMSIG(status));
	if (WEXITSTATUS(status))
		FAIL("the helper ended with status %d", WEXITSTATUS(status));
}

void child_kill(struct child *child)
{
	kill(child->pid, SIGKILL);
	reap(child, child_limit_ms());
}

void child_end_all(void)
{
	for (size_t i = CHILDREN_MAX; i-- > 0;) {
		struct child child = children[i];

		if (child.pid) {
			child_tell(&child, "end");
			child_finish(&child);
		}
	}
}

void child_reap_all(void)
{
	for (size_t i = 0; i < CHILDREN_MAX; i++) {
		struct child child = children[i];

		if (child.pid) {
			kill(child.pid, SIGKILL);
			reap(&child, child_limit_ms());
		}
	}
}

int child_run_self(char *const *arguments, int *out_status)
{
	pid_t pid;

	if (spawn_self(&pid, arguments, environ, -1, -1))
		return -1;
	return waitpid(pid, out_status, 0) == pid ? 0 : -1;
}

void child_become(void)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() == 1)
		_exit(1);
	fcntl(CHILD_SOCKET, F_SETFD, FD_CLOEXEC);
	fcntl(CHILD_CONTROL, F_SETFD, FD_CLOEXEC);
}

void child_become_user(uid_t uid, gid_t gid, const gid_t *groups, size_t count)
{
	/* While it can still be read: a build folder may lie where the other user must not look. */
	(void)dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	MUST_CALL(setgroups(count, groups));
	MUST_CALL(setresgid(gid, gid, gid));
	MUST_CALL(setresuid(uid, uid, uid));
	MUST_CALL(prctl(PR_SET_DUMPABLE, 1));
	MUST_CALL(prctl(PR_SET_PDEATHSIG, SIGKILL));
}

void role_tell(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	say(CHILD_CONTROL, format, arguments);
	va_end(arguments);
}

bool role_hear_any(char word[CHILD_WORD_BYTES])
{
	return hear(CHILD_CONTROL, word);
}

void role_hear(const char *word)
{
	char heard[CHILD_WORD_BYTES];

	if (!hear(CHILD_CONTROL, heard))
		FAIL("the case ended before it said \"%s\"", word);
	if (strcmp(heard, word))
		FAIL("the case said \"%s\", not \"%s\"", heard, word);
}
