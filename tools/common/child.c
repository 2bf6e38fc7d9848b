/* SPDX-License-Identifier: Apache-2.0 */
/*
 * child.c - the processes a verb starts, and how each of them ends
 *
 * A process's end shows at its socket: the kernel closes the other end when it exits, and nobody
 * else has it. So poll() on the socket sees an answer, a death and a silence alike; waitpid() only
 * follows once the end is certain.
 */
#include "common/child.h"

#include "common/cleanup.h"
#include "common/say.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define NS_PER_SECOND UINT64_C(1000000000)

/* How long a child whose socket is closed may take to be gone. */
#define EXIT_TIMEOUT_NS (10 * NS_PER_SECOND)

extern char **environ;

void child_begin(void)
{
	const struct rlimit none = {0, 0};
	struct ucred parent;
	socklen_t length = sizeof(parent);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* The parent made the link. Had it died before the line above, no signal would come. */
	if (!getsockopt(LINK_FD, SOL_SOCKET, SO_PEERCRED, &parent, &length) &&
		getppid() != parent.pid)
		raise(SIGKILL);
	setrlimit(RLIMIT_CORE, &none);
}

static int parent_result(enum link_result result)
{
	return result == LINK_OK
		? 0
		: complain("cannot reach the parent: %s", link_result_text(result));
}

int parent_send(const struct link_message *message, int fd)
{
	return parent_result(link_send(LINK_FD, message, fd, WW_FOREVER));
}

int parent_receive(enum link_kind kind, struct link_message *out_message, int *out_fd)
{
	return parent_result(link_receive(LINK_FD, kind, out_message, out_fd, WW_FOREVER));
}

/*
 * Copies @fds to numbers that no child uses for itself, so that putting one in its place cannot
 * overwrite the next. Returns how many copies there are; fewer than @count on failure.
 */
static size_t lift_fds(const int fds[], size_t count, int out_lifted[])
{
	for (size_t i = 0; i < count; i++) {
		out_lifted[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, LINK_FD + 1 + CHILD_FDS_MAX);
		if (out_lifted[i] < 0)
			return i;
	}
	return count;
}

static const char *program_of(const struct child_plan *plan)
{
	return plan->program ? plan->program : "/proc/self/exe";
}

static int spawn_with(pid_t *out_pid, const struct child_plan *plan, const int lifted[],
	size_t count)
{
	posix_spawn_file_actions_t actions;
	const char *const *arguments = plan->arguments;
	const char *argv[CHILD_ARGUMENTS_MAX + 2] = {plan->program ? plan->program : "warpway"};
	int error = posix_spawn_file_actions_init(&actions);

	if (error)
		return error;
	for (size_t i = 0; i < count && !error; i++)
		error = posix_spawn_file_actions_adddup2(&actions, lifted[i], LINK_FD + (int)i);
	for (size_t i = 0; i < CHILD_ARGUMENTS_MAX && arguments[i]; i++)
		argv[1 + i] = arguments[i];
	if (!error)
		error = posix_spawnp(out_pid, program_of(plan), &actions, NULL, (char **)argv,
			environ);
	posix_spawn_file_actions_destroy(&actions);
	return error;
}

int child_spawn(struct child *child, const struct child_plan *plan)
{
	OWN(fd) int far = -1;
	int fds[1 + CHILD_FDS_MAX];
	int lifted[1 + CHILD_FDS_MAX];
	int pair[2];
	size_t count;
	int error;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return complain("cannot make a socket for %s: %s", plan->name, strerror(errno));
	child->socket = pair[0];
	far = pair[1];
	child->timeout_ns = plan->timeout_ns;
	snprintf(child->name, sizeof(child->name), "%s", plan->name);

	fds[0] = far;
	memcpy(fds + 1, plan->fds, plan->fd_count * sizeof(int));
	count = lift_fds(fds, 1 + plan->fd_count, lifted);
	error = errno;
	if (count == 1 + plan->fd_count)
		error = spawn_with(&child->pid, plan, lifted, count);
	while (count > 0)
		close(lifted[--count]);
	if (!error)
		return 0;
	child->pid = 0;
	return complain("cannot start %s from %s: %s", plan->name, program_of(plan),
		strerror(error));
}

/* Waits until the process is gone for good; it must be about to be. */
static int reap(struct child *child)
{
	int status = 0;

	while (waitpid(child->pid, &status, 0) < 0 && errno == EINTR)
		;
	child->pid = 0;
	return status;
}

/* Waits for the child's end of the socket to close. Returns false when it did not in time. */
static bool wait_for_end(struct child *child, uint64_t timeout_ns)
{
	struct pollfd entry = {.fd = child->socket, .events = POLLRDHUP};

	return link_poll(&entry, 1, link_now_ns() + timeout_ns) > 0;
}

static int kill_and_reap(struct child *child)
{
	kill(child->pid, SIGKILL);
	return reap(child);
}

static void explain_status(const struct child *child, pid_t pid, int status)
{
	if (WIFSIGNALED(status))
		complain("%s (pid %d) was killed by signal %d (%s)", child->name, (int)pid,
			WTERMSIG(status), strsignal(WTERMSIG(status)));
	else
		complain("%s (pid %d) exited with status %d", child->name, (int)pid,
			WEXITSTATUS(status));
}

/* Ends a child that did not do as expected, and says what became of it. */
static int explain(struct child *child, enum link_result result)
{
	pid_t pid = child->pid;

	if (pid == 0)
		return complain("%s is gone already", child->name);
	if (result == LINK_CLOSED && wait_for_end(child, EXIT_TIMEOUT_NS)) {
		explain_status(child, pid, reap(child));
		return -1;
	}
	kill_and_reap(child);
	if (result == LINK_TIMED_OUT)
		return complain("%s (pid %d) did not answer within %llu s and was killed",
			child->name, (int)pid,
			(unsigned long long)(child->timeout_ns / NS_PER_SECOND));
	return complain("%s (pid %d) was killed: %s", child->name, (int)pid,
		link_result_text(result));
}

int child_send(struct child *child, const struct link_message *message, int fd)
{
	enum link_result result = link_send(child->socket, message, fd, child->timeout_ns);

	return result == LINK_OK ? 0 : explain(child, result);
}

int child_receive(struct child *child, enum link_kind kind, struct link_message *out_message,
	int *out_fd)
{
	enum link_result result = link_receive(child->socket, kind, out_message, out_fd,
		child->timeout_ns);

	return result == LINK_OK ? 0 : explain(child, result);
}

int child_send_memory(struct child *child, ww_memory *memory, uint32_t access)
{
	ww_status status = ww_memory_send(memory, access, child->socket, child->timeout_ns, NULL);

	if (status == WW_OK)
		return 0;
	if (status == WW_ERR_PEER_LOST)
		return explain(child, LINK_CLOSED);
	if (status == WW_TIMED_OUT)
		return explain(child, LINK_TIMED_OUT);
	return complain_record("cannot send memory to %s", child->name);
}

int child_finish(struct child *child, int signal)
{
	pid_t pid = child->pid;
	int status;

	if (!wait_for_end(child, child->timeout_ns))
		return explain(child, LINK_TIMED_OUT);
	status = reap(child);
	if (signal ? WIFSIGNALED(status) && WTERMSIG(status) == signal : status == 0)
		return 0;
	explain_status(child, pid, status);
	return -1;
}

int child_kill(struct child *child)
{
	pid_t pid = child->pid;
	int status = kill_and_reap(child);

	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
		return 0;
	explain_status(child, pid, status);
	return -1;
}

/* Takes what is there. Returns how many messages came, or -1 when somebody is lost. */
static int take_ready(struct child children[], size_t count, struct pollfd entries[],
	enum link_kind kind, struct link_message out_messages[])
{
	int taken = 0;
	int lost = 0;

	for (size_t i = 0; i < count; i++) {
		if (!entries[i].revents)
			continue;
		entries[i].fd = -1;
		if (child_receive(&children[i], kind, &out_messages[i], NULL))
			lost = -1;
		else
			taken++;
	}
	return lost ? lost : taken;
}

int child_group_receive(struct child children[], size_t count, enum link_kind kind,
	struct link_message out_messages[])
{
	struct pollfd entries[CHILD_GROUP_MAX];
	uint64_t deadline = link_now_ns() + children[0].timeout_ns;
	size_t missing = count;

	for (size_t i = 0; i < count; i++)
		entries[i] = (struct pollfd){.fd = children[i].socket, .events = POLLIN};
	while (missing > 0) {
		int taken;

		if (link_poll(entries, count, deadline) <= 0)
			break;
		taken = take_ready(children, count, entries, kind, out_messages);
		if (taken < 0)
			return -1;
		missing -= (size_t)taken;
	}
	for (size_t i = 0; i < count; i++) {
		if (entries[i].fd >= 0)
			explain(&children[i], LINK_TIMED_OUT);
	}
	return missing ? -1 : 0;
}

int child_group_send(struct child children[], size_t count, const struct link_message *message)
{
	for (size_t i = 0; i < count; i++) {
		if (child_send(&children[i], message, -1))
			return -1;
	}
	return 0;
}

void child_fini(struct child *child)
{
	if (child->pid > 0)
		kill_and_reap(child);
	if (child->socket >= 0)
		close(child->socket);
	child->socket = -1;
}
