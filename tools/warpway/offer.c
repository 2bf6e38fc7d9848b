/* SPDX-License-Identifier: Apache-2.0 */
/*
 * offer.c - `warpway offer`: kernels as a service, in a process that is started again
 *
 * A kernel that faults takes the context of its process with it, and a host kernel may end its
 * process. So a child is the server, and this process starts another one when it ends otherwise
 * than it was told to: at once, then after waits that double, and not for ever. What a child
 * refuses before it is ready would be refused again, and ends the command.
 *
 * The child reads all arguments; this process passes them on. The child says by one byte that it is
 * ready. Their link ends with the child.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/child_link.h"
#include "common/interrupt.h"
#include "common/say.h"
#include "warpway/offer.h"

#define NS_PER_S      UINT64_C(1000000000)
#define MINUTE_NS     (60 * NS_PER_S)
#define RESTARTS_MAX  5 /* in a minute */
#define WAIT_FIRST_NS (NS_PER_S / 10)
#define WAIT_MOST_NS  (5 * NS_PER_S)

/* One server after another. */
struct supervisor {
	char **arguments; /* of the child; borrowed */
	pid_t pid;
	int link;
	bool is_ready;
	uint64_t restarts_ns[RESTARTS_MAX]; /* when; a ring */
	uint32_t restarts;
	uint64_t wait_ns;
};

/* In the child, after the fork: nothing but what a signal handler may do. */
static void become_server(const struct supervisor *supervisor, int link)
{
	if (link == LINK_FD || dup2(link, LINK_FD) >= 0)
		execv("/proc/self/exe", supervisor->arguments);
	_exit(127);
}

static int start_server(struct supervisor *supervisor)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return complain("cannot start the server: %s", strerror(errno));
	supervisor->is_ready = false;
	supervisor->pid = fork();
	if (supervisor->pid == 0)
		become_server(supervisor, pair[1]);
	close(pair[1]);
	supervisor->link = pair[0];
	if (supervisor->pid > 0)
		return 0;
	close(pair[0]);
	return complain("cannot start the server: %s", strerror(errno));
}

/* Reads what the server says until it ends, or until it is told to. */
static void watch_server(struct supervisor *supervisor)
{
	char byte;

	while (interrupt_await_input(supervisor->link) && read(supervisor->link, &byte, 1) > 0)
		supervisor->is_ready = true;
	if (interrupt_came())
		kill(supervisor->pid, OFFER_DRAIN_SIGNAL);
	close(supervisor->link);
}

static int await_end(const struct supervisor *supervisor)
{
	int status = 0;

	while (waitpid(supervisor->pid, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

/* Whether there may be another one: not too many in the last minute. */
static bool note_restart(struct supervisor *supervisor)
{
	uint64_t *oldest_ns = &supervisor->restarts_ns[supervisor->restarts % RESTARTS_MAX];
	uint64_t now_ns = link_now_ns();

	if (supervisor->restarts >= RESTARTS_MAX && now_ns - *oldest_ns < MINUTE_NS)
		return false;
	*oldest_ns = now_ns;
	supervisor->restarts++;
	return true;
}

static const char *end_text(int status, char *out_text, size_t room)
{
	if (WIFSIGNALED(status))
		snprintf(out_text, room, "was killed by signal %d (%s)", WTERMSIG(status),
			strsignal(WTERMSIG(status)));
	else if (WEXITSTATUS(status) == OFFER_EXIT_LOST)
		snprintf(out_text, room, "has lost its GPU's context: a kernel has faulted");
	else
		snprintf(out_text, room, "ended with status %d", WEXITSTATUS(status));
	return out_text;
}

/* Whether a signal is that of this process, or one that came to both. */
static bool is_told_to_end(int number)
{
	return number == OFFER_DRAIN_SIGNAL || number == SIGTERM || number == SIGINT ||
		number == SIGHUP;
}

/* Return: 0: start another one; else the exit code of the command, plus 1. */
static int decide(struct supervisor *supervisor, int status)
{
	char text[128];

	if (interrupt_came() && WIFEXITED(status))
		return WEXITSTATUS(status) + 1;
	if (interrupt_came() && !supervisor->is_ready && is_told_to_end(WTERMSIG(status)))
		return EXIT_DONE + 1; /* it had nothing to let end */
	if (!supervisor->is_ready && WIFEXITED(status) && WEXITSTATUS(status) != OFFER_EXIT_LOST)
		return WEXITSTATUS(status) + 1;
	if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_DONE)
		return EXIT_DONE + 1;
	end_text(status, text, sizeof(text));
	if (interrupt_came() || !note_restart(supervisor)) {
		complain("the server %s%s", text,
			interrupt_came() ? "" : ", once more in a minute; it is not started again");
		return EXIT_FAILED + 1;
	}
	complain("the server %s; it is started again", text);
	return 0;
}

/* The first time at once. */
static void wait_a_little(struct supervisor *supervisor)
{
	if (supervisor->wait_ns)
		(void)interrupt_sleep(link_now_ns() + supervisor->wait_ns);
	supervisor->wait_ns = supervisor->wait_ns ? 2 * supervisor->wait_ns : WAIT_FIRST_NS;
	if (supervisor->wait_ns > WAIT_MOST_NS)
		supervisor->wait_ns = WAIT_MOST_NS;
}

static int supervise(struct supervisor *supervisor)
{
	int code = 0;

	while (code == 0) {
		uint64_t start_ns = link_now_ns();

		if (start_server(supervisor))
			return EXIT_FAILED;
		watch_server(supervisor);
		code = decide(supervisor, await_end(supervisor));
		if (link_now_ns() - start_ns > MINUTE_NS)
			supervisor->wait_ns = 0;
		if (code == 0)
			wait_a_little(supervisor);
		if (code == 0 && interrupt_came())
			return EXIT_DONE;
		setenv(OFFER_AGAIN, "1", 1);
	}
	return code - 1;
}

static int offer_main(int argc, char *argv[])
{
	static char command[] = "warpway";
	static char verb[] = "offer-server";
	struct supervisor supervisor = {.pid = 0};
	char **arguments = calloc((size_t)argc + 2, sizeof(*arguments));
	int code;

	if (!arguments)
		return -complain("cannot start the server: out of memory");
	unsetenv(OFFER_AGAIN);
	arguments[0] = command;
	arguments[1] = verb;
	memcpy(arguments + 2, argv + 1, (size_t)(argc - 1) * sizeof(*arguments));
	supervisor.arguments = arguments;
	code = interrupt_open() ? EXIT_FAILED : supervise(&supervisor);
	free(arguments);
	return code;
}

const struct verb verb_offer = {.name = "offer",
	.summary = "offer the kernels of modules as functions of a service",
	.main = offer_main};
