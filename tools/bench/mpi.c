/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mpi.c - the suite `mpi`: MPI calls with device memory, by libwarpway_mpi and by hand
 *
 * For each MPI that is installed, its launcher starts ranks of a program of its own (mpi/job.h),
 * with the library in front, by `warpway run`. The program measures; this suite takes its rows
 * (mpi_line.h).
 */
#include "bench/bench.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "bench/mpi_line.h"
#include "common/child_link.h"
#include "common/find_program.h"

#define PROGRAM         "warpway-bench-mpi-"
#define ARGUMENTS_MAX   (24 + BENCH_SIZES_MAX)
#define LINE_BYTES      1024
#define SILENCE_NS      (UINT64_C(600) * 1000000000) /* the longest time without a line */
#define LAUNCHERS_MAX   4
#define MPI_OPTIONS_MAX 4

extern char **environ;

static const struct mpi {
	const char *name;
	const char *title;
	const char *launchers[LAUNCHERS_MAX]; /* the first that is there */
	const char *options[MPI_OPTIONS_MAX];
} mpis[] = {
	/* Ranks on few processors, and in a container. */
	{"openmpi", "Open MPI", {"mpirun.openmpi", "mpirun"},
		{"--allow-run-as-root", "--oversubscribe", "--bind-to", "none"}},
	{"mpich", "MPICH", {"mpiexec.hydra", "mpiexec.mpich"}, {NULL}},
};

#define MPI_COUNT (sizeof(mpis) / sizeof(mpis[0]))

/* The sizes of this suite, where the user has named none. */
static const uint64_t usual_sizes[] = {8, 64, 1 << 10, 8 << 10, 64 << 10, 1 << 20, 4 << 20,
	16 << 20, 64 << 20};

#define QUICK_SIZES 7

/* The launcher, and the end of the pipe that is its standard output. */
struct launch {
	pid_t pid;
	int fd;
	size_t used;
	char line[LINE_BYTES];
};

static void own_launch(struct launch *launch)
{
	own_fd(&launch->fd);
}

/* --- the command --- */

struct command {
	const char *words[ARGUMENTS_MAX + 1];
	size_t count;
	char numbers[5 + BENCH_SIZES_MAX][NUMBER_BYTES];
	size_t number_count;
	char warpway[PROGRAM_PATH_BYTES];
	char program[PROGRAM_PATH_BYTES];
	char option[NUMBER_BYTES];
};

static int leave_out(const struct mpi *mpi, const char *why)
{
	say("mpi.%s.* is skipped: %s", mpi->name, why);
	return BENCH_LEFT_OUT;
}

static void add_word(struct command *command, const char *word)
{
	command->words[command->count++] = word;
}

static void add_number(struct command *command, uint64_t number)
{
	char *text = command->numbers[command->number_count++];

	snprintf(text, NUMBER_BYTES, "%llu", (unsigned long long)number);
	add_word(command, text);
}

static void add_sizes(const struct bench *bench, struct command *command)
{
	size_t count = bench->has_sizes ? bench->size_count
		: bench->quick          ? QUICK_SIZES
					: sizeof(usual_sizes) / sizeof(usual_sizes[0]);

	for (size_t i = 0; i < count; i++) {
		uint64_t bytes = bench->has_sizes ? bench->sizes[i] : usual_sizes[i];

		if (bytes % MPI_BYTES_UNIT == 0 && bytes <= MPI_BYTES_LARGE)
			add_number(command, bytes);
		else
			say("mpi.*: messages of %llu bytes are left out: sizes are multiples of "
			    "%d, up to 1GiB",
				(unsigned long long)bytes, MPI_BYTES_UNIT);
	}
}

static int make_command(const struct bench *bench, const struct mpi *mpi, uint32_t gpus,
	struct command *command)
{
	size_t before;

	program_find("warpway", command->warpway, sizeof(command->warpway));
	snprintf(command->option, sizeof(command->option), "--mpi=%s", mpi->name);
	add_word(command, mpi->launchers[0]);
	for (size_t i = 0; i < MPI_OPTIONS_MAX && mpi->options[i]; i++)
		add_word(command, mpi->options[i]);
	add_word(command, "-n");
	add_number(command, bench->ranks);
	add_word(command, command->warpway);
	add_word(command, "run");
	add_word(command, command->option);
	add_word(command, "--");
	add_word(command, command->program);
	add_number(command, bench->ranks);
	add_number(command, bench->iterations);
	add_number(command, bench->budget_ns);
	add_number(command, bench->info.index);
	add_number(command, gpus);
	before = command->count;
	/* For the ranks; staged if the user says so. */
	setenv("WARPWAY_MPI_ROUTE", "direct", 0);
	setenv("WARPWAY_MPI_COLLECTIVES", "direct", 0);
	add_sizes(bench, command);
	return command->count > before ? 0 : leave_out(mpi, "no size is left");
}

/* --- its rows --- */

static const char *unit_of(const char *text)
{
	static const char *const units[] = {"us", "ns", "MB/s"};

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (!strcmp(text, units[i]))
			return units[i];
	}
	return NULL;
}

static bool take_number(char **row, double *out_number)
{
	const char *field = strsep(row, "\t");
	char *end = NULL;

	*out_number = field ? strtod(field, &end) : 0;
	return end && end != field && !*end;
}

static int add_row(struct bench *bench, const struct mpi *mpi, char *row)
{
	struct bench_result result = {0};
	const char *row_name = strsep(&row, "\t");
	const char *unit = strsep(&row, "\t");
	uint64_t goal;
	char name[2 * BENCH_NAME_BYTES];

	result.unit = unit ? unit_of(unit) : NULL;
	if (!result.unit || !take_number(&row, &result.p50) || !take_number(&row, &result.p99) ||
		!take_number(&row, &result.floor_p50) || !row ||
		!number_parse(row, 0, BENCH_GOAL_LAST, &goal))
		return complain("the row '%s' of %s makes no sense", row_name, mpi->title);
	result.goal = bench_goal_value((enum bench_goal)goal, bench->info.backend,
		result.floor_p50);
	snprintf(name, sizeof(name), "%s.%s", mpi->name, row_name);
	return bench_add_result(bench, name, &result);
}

static int take_line(struct bench *bench, const struct mpi *mpi, char *line)
{
	size_t length = strlen(MPI_LINE);

	if (!strncmp(line, MPI_LINE, length))
		return add_row(bench, mpi, line + length);
	say("mpi.%s: %s", mpi->name, line);
	return 0;
}

/* What has come, up to its last complete line. */
static int take_lines(struct bench *bench, const struct mpi *mpi, struct launch *launch)
{
	char *start = launch->line;
	char *end;

	while ((end = memchr(start, '\n', launch->used - (size_t)(start - launch->line)))) {
		*end = 0;
		if (take_line(bench, mpi, start))
			return -1;
		start = end + 1;
	}
	launch->used -= (size_t)(start - launch->line);
	memmove(launch->line, start, launch->used);
	if (launch->used == sizeof(launch->line))
		launch->used = 0;
	return 0;
}

static int take_output(struct bench *bench, const struct mpi *mpi, struct launch *launch)
{
	for (;;) {
		struct pollfd entry = {.fd = launch->fd, .events = POLLIN};
		ssize_t count;

		if (link_poll(&entry, 1, link_now_ns() + SILENCE_NS) <= 0)
			return complain("the ranks of %s have said nothing for %llu s", mpi->title,
				(unsigned long long)(SILENCE_NS / 1000000000));
		count = read(launch->fd, launch->line + launch->used,
			sizeof(launch->line) - launch->used);
		if (count == 0)
			return 0;
		if (count < 0 && errno != EINTR)
			return complain("read: %s", strerror(errno));
		launch->used += count > 0 ? (size_t)count : 0;
		if (take_lines(bench, mpi, launch))
			return -1;
	}
}

/* --- the launcher --- */

/* Return: 0, or an errno; ENOENT: no launcher is there. */
static int spawn(const struct mpi *mpi, struct command *command, int output, pid_t *out_pid)
{
	posix_spawn_file_actions_t actions;
	int error = posix_spawn_file_actions_init(&actions);

	if (error)
		return error;
	error = posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
	if (!error)
		error = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null",
			O_RDONLY, 0);
	if (!error)
		error = ENOENT;
	for (size_t i = 0; error == ENOENT && i < LAUNCHERS_MAX && mpi->launchers[i]; i++) {
		command->words[0] = mpi->launchers[i];
		error = posix_spawnp(out_pid, command->words[0], &actions, NULL,
			(char **)command->words, environ);
	}
	posix_spawn_file_actions_destroy(&actions);
	return error;
}

static int finish(const struct mpi *mpi, struct launch *launch, int result)
{
	int status = 0;

	if (result)
		kill(launch->pid, SIGTERM);
	while (waitpid(launch->pid, &status, 0) < 0 && errno == EINTR)
		;
	if (!result && status)
		return complain("the ranks of %s have failed", mpi->title);
	return result;
}

static int run_mpi(struct bench *bench, const struct mpi *mpi, uint32_t gpus)
{
	struct command command = {0};
	OWN(launch) struct launch launch = {.fd = -1};
	int pair[2];
	int error;
	char name[NUMBER_BYTES];

	snprintf(name, sizeof(name), PROGRAM "%s", mpi->name);
	program_find(name, command.program, sizeof(command.program));
	if (!strchr(command.program, '/'))
		return leave_out(mpi,
			"its program is not beside this one; it is built where pkg-config finds "
			"that MPI");
	if (make_command(bench, mpi, gpus, &command))
		return BENCH_LEFT_OUT;
	if (pipe2(pair, O_CLOEXEC))
		return complain("pipe2: %s", strerror(errno));
	launch.fd = pair[0];
	error = spawn(mpi, &command, pair[1], &launch.pid);
	close(pair[1]);
	if (error == ENOENT)
		return leave_out(mpi, "its launcher is not in PATH");
	if (error)
		return complain("cannot start %s: %s", command.words[0], strerror(error));
	return finish(mpi, &launch, take_output(bench, mpi, &launch));
}

static int run(struct bench *bench)
{
	uint32_t gpus = 1;
	bool is_measured = false;

	if (bench_expect(ww_device_count(WW_BACKEND_CUDA, &gpus), "cannot count the GPUs"))
		return -1;
	for (size_t i = 0; i < MPI_COUNT; i++) {
		int result;

		if (bench->mpi && strcmp(bench->mpi, mpis[i].name) != 0)
			continue;
		result = run_mpi(bench, &mpis[i], gpus);
		if (result < 0)
			return -1;
		is_measured = is_measured || result == 0;
	}
	bench->suites_skipped += !is_measured;
	return 0;
}

bool bench_mpi_is_known(const char *name)
{
	for (size_t i = 0; i < MPI_COUNT; i++) {
		if (!strcmp(name, mpis[i].name))
			return true;
	}
	return false;
}

const struct bench_suite bench_mpi = {
	.name = "mpi",
	.summary = "MPI calls with device memory, beside copies by hand and NCCL",
	.is_for_gpus = true,
	.lack = "there is no device memory",
	.run = run,
};
