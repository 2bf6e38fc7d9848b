/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trial.c - a program that is run with a time limit, see trial.h
 *
 * The end shows at the socket, whose other end the program has: the kernel closes it. The program
 * may not notice it at all; one of ours takes its parent's end by it (child_begin()).
 */
#include "doctor/trial.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/child_link.h"
#include "common/cleanup.h"
#include "common/interrupt.h"

#define NS_PER_MS     UINT64_C(1000000)
#define OUTPUT_MAX    ((size_t)1 << 20)
#define FDS           4 /* standard input, output and error, and the socket at LINK_FD */
#define TRIALS_MAX    64
#define KILL_LIMIT_NS (1000 * NS_PER_MS)

extern char **environ;

/* A file without a name. memfd_create() is itself a thing that may not work. */
static int open_scratch(void)
{
	int fd = memfd_create("warpway-doctor", MFD_CLOEXEC);
	FILE *file;

	if (fd >= 0)
		return fd;
	file = tmpfile();
	if (!file)
		return -1;
	fd = fcntl(fileno(file), F_DUPFD_CLOEXEC, 0);
	fclose(file);
	return fd;
}

/* Above the numbers that the program gets, so that one in its place overwrites no other. */
static int lift(int fd)
{
	int lifted = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 2 * FDS);

	if (fd >= 0)
		close(fd);
	return lifted;
}

static int spawn(struct trial *trial, const char *const argv[], const int fds[FDS])
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	int error = posix_spawn_file_actions_init(&actions);

	if (error)
		return error;
	error = posix_spawnattr_init(&attributes);
	if (error) {
		posix_spawn_file_actions_destroy(&actions);
		return error;
	}
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
	posix_spawnattr_setpgroup(&attributes, 0);
	for (int i = 0; i < FDS && !error; i++)
		error = posix_spawn_file_actions_adddup2(&actions, fds[i], i);
	if (!error)
		error = posix_spawnp(&trial->pid, argv[0], &actions, &attributes,
			(char *const *)argv, environ);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	return error;
}

static int start(struct trial *trial, const char *const argv[])
{
	OWN(fd) int null = lift(open("/dev/null", O_RDWR | O_CLOEXEC));
	OWN(fd) int far = -1;
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return errno;
	trial->socket = lift(pair[0]);
	far = lift(pair[1]);
	trial->output = lift(open_scratch());
	trial->errors = lift(open_scratch());
	if (null < 0 || far < 0 || trial->socket < 0 || trial->output < 0 || trial->errors < 0)
		return errno;
	return spawn(trial, argv, (const int[FDS]){null, trial->output, trial->errors, far});
}

void trial_start(struct trial *trial, const char *const argv[], uint64_t limit_ns)
{
	int error;

	*trial = (struct trial)TRIAL_EMPTY;
	trial->deadline_ns = link_now_ns() + limit_ns;
	error = start(trial, argv);
	if (error) {
		trial->pid = 0;
		trial->end = TRIAL_NOT_STARTED;
		trial->number = error;
	}
}

static bool has_ended(pid_t pid)
{
	siginfo_t info = {.si_pid = 0};

	return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) || info.si_pid == pid;
}

/* Return: whether it is gone. */
static bool reap(struct trial *trial, uint64_t limit_ns)
{
	const struct timespec pause = {.tv_nsec = (long)NS_PER_MS};
	uint64_t until_ns = link_now_ns() + limit_ns;
	int status = 0;

	while (!has_ended(trial->pid)) {
		if (link_now_ns() > until_ns)
			return false;
		nanosleep(&pause, NULL);
	}
	/* What it has started; the number is its own until it is reaped. */
	kill(-trial->pid, SIGKILL);
	waitpid(trial->pid, &status, 0);
	trial->pid = 0;
	if (trial->end != TRIAL_NONE)
		return true;
	trial->number = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
	trial->end = WIFSIGNALED(status) ? TRIAL_CRASHED
		: trial->number          ? TRIAL_FAILED
					 : TRIAL_DONE;
	return true;
}

static void kill_late(struct trial *trial, enum trial_end end)
{
	trial->end = end;
	kill(-trial->pid, SIGKILL);
	if (!reap(trial, KILL_LIMIT_NS)) {
		trial->end = TRIAL_STUCK;
		trial->number = trial->pid;
		trial->pid = 0;
	}
}

/* Return: whether it has ended now. */
static bool look(struct trial *trial, short events)
{
	if (events) {
		/* Its end of the socket is closed: it ends, or had better. */
		if (!reap(trial, KILL_LIMIT_NS))
			kill_late(trial, TRIAL_LATE);
		return true;
	}
	if (link_now_ns() < trial->deadline_ns)
		return false;
	kill_late(trial, TRIAL_LATE);
	return true;
}

size_t trial_wait_any(struct trial trials[], size_t count)
{
	struct pollfd entries[1 + TRIALS_MAX];
	size_t running = 0;

	if (count > TRIALS_MAX)
		abort();
	do {
		uint64_t until_ns = WW_FOREVER;

		running = 0;
		for (size_t i = 0; i < count; i++) {
			bool runs = trials[i].pid > 0;

			entries[1 + i] = (struct pollfd){.fd = runs ? trials[i].socket : -1};
			running += runs;
			if (runs && trials[i].deadline_ns < until_ns)
				until_ns = trials[i].deadline_ns;
		}
		if (running == 0)
			return count;
		interrupt_poll(entries, 1 + count, until_ns);
		for (size_t i = 0; i < count; i++) {
			if (trials[i].pid <= 0)
				continue;
			if (interrupt_came())
				kill_late(&trials[i], TRIAL_INTERRUPTED);
			if (trials[i].pid <= 0 || look(&trials[i], entries[1 + i].revents))
				return i;
		}
	} while (running > 0);
	return count;
}

void trial_wait_all(struct trial trials[], size_t count)
{
	while (trial_wait_any(trials, count) < count)
		;
}

static char *read_all(int fd)
{
	off_t size = fd < 0 ? 0 : lseek(fd, 0, SEEK_END);
	size_t room = size <= 0 ? 0 : (size_t)size;
	ssize_t count = 0;
	char *text;

	if (room > OUTPUT_MAX)
		room = OUTPUT_MAX;
	text = malloc(room + 1);
	if (!text)
		abort();
	if (room > 0)
		count = pread(fd, text, room, 0);
	text[count > 0 ? count : 0] = 0;
	return text;
}

char *trial_output(const struct trial *trial)
{
	return read_all(trial->output);
}

char *trial_errors(const struct trial *trial)
{
	return read_all(trial->errors);
}

void trial_end_text(const struct trial *trial, char *out_text, size_t room)
{
	switch (trial->end) {
	case TRIAL_FAILED:
		snprintf(out_text, room, "ended with exit status %d", trial->number);
		break;
	case TRIAL_CRASHED:
		snprintf(out_text, room, "was killed by signal %d (%s)", trial->number,
			strsignal(trial->number));
		break;
	case TRIAL_LATE:
		snprintf(out_text, room, "did not end in time");
		break;
	case TRIAL_STUCK:
		snprintf(out_text, room,
			"did not end in time, and pid %d does not end even by SIGKILL: it hangs in "
			"the kernel",
			trial->number);
		break;
	case TRIAL_INTERRUPTED:
		snprintf(out_text, room, "was interrupted");
		break;
	case TRIAL_NOT_STARTED:
		snprintf(out_text, room, "cannot be started: %s", strerror(trial->number));
		break;
	case TRIAL_NONE:
	case TRIAL_DONE:
		snprintf(out_text, room, "ended");
		break;
	}
}

void trial_fini(struct trial *trial)
{
	if (trial->pid > 0)
		kill_late(trial, TRIAL_INTERRUPTED);
	own_fd(&trial->socket);
	own_fd(&trial->output);
	own_fd(&trial->errors);
	*trial = (struct trial)TRIAL_EMPTY;
}
