/* SPDX-License-Identifier: Apache-2.0 */
/*
 * suite_process.c - a suite of `warpway bench` in a process of its own, see suite_process.h
 *
 * Three pipes come from it: rows, standard output and standard error. A process that the suite has
 * left behind, such as a broker that waits for clients, may hold the last two, so the end of the
 * first one is the end of the suite; what the others hold by then is taken, and no more.
 */
#include "bench/suite_process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "common/interrupt.h"

#define WORDS_MAX    (12 + 2 * BENCH_NUMBER_COUNT)
#define STOP_NS      (UINT64_C(5) * 1000000000)
#define STOP_LOOK_US 10000

extern char **environ;

/* --- the start --- */

struct command {
	const char *words[WORDS_MAX];
	size_t count;
	char options[BENCH_NUMBER_COUNT][NUMBER_BYTES];
	char numbers[BENCH_NUMBER_COUNT][NUMBER_BYTES];
};

static void add(struct command *command, const char *word)
{
	command->words[command->count++] = word;
}

static void add_option(struct command *command, const char *name, const char *value)
{
	if (!value)
		return;
	add(command, name);
	add(command, value);
}

/* All that was chosen for the run. */
static void make_command(struct command *command, struct bench *bench,
	const struct bench_suite *suite, const char *device)
{
	add(command, "warpway-bench");
	add(command, "bench-suite");
	add(command, suite->name);
	add_option(command, "--device", device);
	add_option(command, "--sizes", bench->sizes_text);
	add_option(command, "--mpi", bench->mpi);
	for (size_t i = 0; i < BENCH_NUMBER_COUNT; i++) {
		snprintf(command->options[i], NUMBER_BYTES, "--%s", bench_numbers[i].name);
		snprintf(command->numbers[i], NUMBER_BYTES, "%llu",
			(unsigned long long)*bench_number_of(bench, &bench_numbers[i]));
		add_option(command, command->options[i], command->numbers[i]);
	}
	if (bench->quick)
		add(command, "--quick");
}

/* A pipe of which we read without waiting. @out_far: for the other process */
static int open_stream(struct suite_stream *stream, int *out_far)
{
	int pair[2];

	stream->buffer = malloc(SUITE_LINE_BYTES);
	if (!stream->buffer)
		return complain("out of memory");
	if (pipe2(pair, O_CLOEXEC))
		return complain("cannot make a pipe: %s", strerror(errno));
	stream->fd = pair[0];
	/* Above all numbers that it gets there, so that none is overwritten by another. */
	*out_far = fcntl(pair[1], F_DUPFD_CLOEXEC, BENCH_ROWS_FD + 1);
	close(pair[1]);
	if (*out_far < 0 || fcntl(stream->fd, F_SETFL, O_NONBLOCK))
		return complain("cannot prepare a pipe: %s", strerror(errno));
	return 0;
}

static int spawn(struct suite_process *process, const struct command *command, const int far[])
{
	static const int numbers[SUITE_STREAMS] = {BENCH_ROWS_FD, STDOUT_FILENO, STDERR_FILENO};
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
	error = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	for (size_t i = 0; i < SUITE_STREAMS && !error; i++)
		error = posix_spawn_file_actions_adddup2(&actions, far[i], numbers[i]);
	if (!error)
		error = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
	if (!error)
		error = posix_spawn(&process->pid, "/proc/self/exe", &actions, &attributes,
			(char **)command->words, environ);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	return error;
}

int suite_process_start(struct suite_process *process, struct bench *bench,
	const struct bench_suite *suite, const char *device)
{
	struct command command = {0};
	int far[SUITE_STREAMS] = {-1, -1, -1};
	int result = 0;
	int error;

	prctl(PR_SET_CHILD_SUBREAPER, 1); /* see reap_group() */
	for (size_t i = 0; i < SUITE_STREAMS && !result; i++)
		result = open_stream(&process->streams[i], &far[i]);
	if (!result) {
		make_command(&command, bench, suite, device);
		error = spawn(process, &command, far);
		if (error)
			result = complain("cannot start a process for the suite %s: %s",
				suite->name, strerror(error));
	}
	for (size_t i = 0; i < SUITE_STREAMS; i++)
		own_fd(&far[i]);
	return result;
}

/* --- what it says --- */

/* A line that is too long is cut: what follows is the next one. */
static bool take_line(struct suite_stream *stream, const char **out_line)
{
	char *end;

	stream->used -= stream->line;
	memmove(stream->buffer, stream->buffer + stream->line, stream->used);
	stream->line = 0;
	end = memchr(stream->buffer, '\n', stream->used);
	if (!end && stream->fd < 0 && stream->used > 0)
		end = stream->buffer + stream->used++;
	else if (!end && stream->used == SUITE_LINE_BYTES - 1)
		end = stream->buffer + stream->used - 1;
	if (!end)
		return false;
	*end = 0;
	stream->line = (size_t)(end - stream->buffer) + 1;
	*out_line = stream->buffer;
	return true;
}

static void end_stream(struct suite_stream *stream)
{
	own_fd(&stream->fd);
	stream->fd = -1;
}

static void read_stream(struct suite_stream *stream)
{
	/* One byte is left for the end of a last line that has none. */
	ssize_t count = read(stream->fd, stream->buffer + stream->used,
		SUITE_LINE_BYTES - 1 - stream->used);

	if (count > 0)
		stream->used += (size_t)count;
	else if (count == 0 || (errno != EINTR && errno != EAGAIN))
		end_stream(stream);
}

/* The suite has ended: what the other pipes hold is all that comes. */
static void read_rest(struct suite_process *process)
{
	for (size_t i = 1; i < SUITE_STREAMS; i++) {
		struct suite_stream *stream = &process->streams[i];
		size_t before = stream->used;

		if (stream->fd < 0)
			continue;
		read_stream(stream);
		if (stream->used == before)
			end_stream(stream);
	}
}

enum suite_event suite_process_next(struct suite_process *process, uint64_t until_ns,
	const char **out_line)
{
	struct suite_stream *streams = process->streams;

	for (;;) {
		struct pollfd entries[1 + SUITE_STREAMS] = {0};
		bool is_over = true;

		for (size_t i = 0; i < SUITE_STREAMS; i++) {
			if (take_line(&streams[i], out_line))
				return (enum suite_event)i;
			is_over = is_over && streams[i].fd < 0;
			entries[1 + i] = (struct pollfd){.fd = streams[i].fd, .events = POLLIN};
		}
		if (is_over)
			return SUITE_ENDED;
		if (interrupt_came())
			return SUITE_INTERRUPTED;
		if (streams[SUITE_ROW].fd < 0) {
			read_rest(process);
			continue;
		}
		if (interrupt_poll(entries, 1 + SUITE_STREAMS, until_ns) == 0)
			return SUITE_TIME;
		for (size_t i = 0; i < SUITE_STREAMS; i++) {
			if (entries[1 + i].revents)
				read_stream(&streams[i]);
		}
	}
}

/* --- the end --- */

/*
 * Takes the ends of all processes of the group, which are children of this one once their parents
 * are gone, until none is left or the time is over. Return: whether none is left.
 */
static bool reap_group(pid_t group, uint64_t until_ns, int *out_status)
{
	for (;;) {
		int status;
		pid_t ended = waitpid(-group, &status, WNOHANG);

		if (ended == group)
			*out_status = status;
		if (ended < 0 && errno != EINTR)
			return true;
		if (ended == 0 && link_now_ns() >= until_ns)
			return false;
		if (ended == 0)
			usleep(STOP_LOOK_US);
	}
}

/* The launcher of an MPI, for instance, ends its ranks when it is told to end. */
static void stop(pid_t pid, int *out_status)
{
	kill(-pid, SIGTERM);
	if (reap_group(pid, link_now_ns() + STOP_NS, out_status))
		return;
	kill(-pid, SIGKILL);
	reap_group(pid, link_now_ns() + STOP_NS, out_status);
}

/* Waits for its end. What a suite that has failed has left behind goes with it. */
static void await(pid_t pid, int *out_status)
{
	siginfo_t info = {0};

	while (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) && errno == EINTR)
		;
	if (info.si_code != CLD_EXITED || info.si_status != 0)
		stop(pid, out_status);
	else
		waitpid(pid, out_status, 0);
}

int suite_process_end(struct suite_process *process, bool is_to_stop, int *out_signal)
{
	int status = 0;

	*out_signal = 0;
	for (size_t i = 0; i < SUITE_STREAMS; i++) {
		end_stream(&process->streams[i]);
		free(process->streams[i].buffer);
		process->streams[i].buffer = NULL;
	}
	if (process->pid <= 0)
		return -1;
	if (is_to_stop)
		stop(process->pid, &status);
	else
		await(process->pid, &status);
	process->pid = 0;
	if (WIFSIGNALED(status))
		*out_signal = WTERMSIG(status);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
