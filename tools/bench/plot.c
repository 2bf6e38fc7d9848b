/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plot.c - has gnuplot draw charts
 *
 * The commands and the drawing go through files in memory, so neither side waits for the other; a
 * gnuplot that takes too long is killed. All that is said to it are numbers, and names of which
 * run_file.h says what they consist of.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "bench/bench.h"
#include "bench/chart.h"

#define PLOT_NS       (UINT64_C(5) * 1000000000)
#define PLOT_LOOK_US  5000
#define SVG_BYTES_MAX (4 << 20)

extern char **environ;

/* --- what is said to gnuplot --- */

static const char *const colours[CHART_SERIES_MAX] = {"#3b82f6", "#ea580c", "#16a34a", "#c026d3",
	"#ca8a04", "#0891b2", "#e11d48", "#7c7c8a"};

static void write_data(FILE *file, const struct chart *chart)
{
	for (size_t s = 0; s < chart->count; s++) {
		const struct chart_series *series = &chart->series[s];

		fprintf(file, "$data%zu << END\n", s);
		for (size_t i = 0; i < series->count; i++) {
			const struct chart_point *point = &series->points[i];

			fprintf(file, "%.9g %.9g ", point->x, point->y);
			if (isnan(point->floor))
				fputs("NaN\n", file);
			else
				fprintf(file, "%.9g\n", point->floor);
		}
		fputs("END\n", file);
	}
}

static bool has_floor(const struct chart_series *series)
{
	for (size_t i = 0; i < series->count; i++) {
		if (!isnan(series->points[i].floor))
			return true;
	}
	return false;
}

/* Whether no point before this one has its size. */
static bool is_first(const struct chart *chart, size_t series, size_t point)
{
	double x = chart->series[series].points[point].x;

	for (size_t s = 0; s <= series; s++) {
		for (size_t i = 0; i < chart->series[s].count; i++) {
			if (s == series && i == point)
				return true;
			if (chart->series[s].points[i].x == x)
				return false;
		}
	}
	return true;
}

/* The sizes that were measured are named at the axis, and no others. */
static void write_sizes(FILE *file, const struct chart *chart)
{
	const char *separator = "";

	fputs("set xtics rotate by -30 (", file);
	for (size_t s = 0; s < chart->count; s++) {
		for (size_t i = 0; i < chart->series[s].count; i++) {
			uint64_t bytes = (uint64_t)chart->series[s].points[i].x;
			char name[NUMBER_BYTES];

			if (!is_first(chart, s, i))
				continue;
			number_size_name(bytes, name);
			fprintf(file, "%s'%s' %llu", separator, name, (unsigned long long)bytes);
			separator = ", ";
		}
	}
	fputs(")\n", file);
}

static void write_curves(FILE *file, const struct chart *chart)
{
	const char *separator = "plot ";

	write_sizes(file, chart);

	fputs("set logscale xy\n"
	      "set key outside below\n",
		file);
	fprintf(file, "set ylabel '%s'\n", chart->unit);
	for (size_t s = 0; s < chart->count; s++) {
		const struct chart_series *series = &chart->series[s];

		fprintf(file,
			"%s$data%zu using 1:2 with linespoints lw 2 pt 7 ps 0.5 lc rgb '%s' title '%s'",
			separator, s, colours[s], series->name[0] ? series->name : chart->title);
		separator = ", ";
		if (has_floor(series))
			fprintf(file, ", $data%zu using 1:3 with lines dt 2 lc rgb '%s' notitle", s,
				colours[s]);
	}
	fputc('\n', file);
}

static void write_bars(FILE *file, const struct chart *chart)
{
	fprintf(file,
		"set logscale x\n"
		"set xlabel '%s'\n"
		"set ylabel 'kills'\n"
		"set yrange [0:*]\n"
		"set style fill solid 0.7\n"
		"plot $data0 using 1:2 with boxes lc rgb '%s' notitle\n",
		chart->unit, colours[0]);
}

static void write_commands(FILE *file, const struct chart *chart)
{
	fputs("set terminal svg noenhanced dynamic size 640,400 font 'sans-serif,13'\n"
	      "set grid\n",
		file);
	write_data(file, chart);
	if (chart->kind == CHART_HISTOGRAM)
		write_bars(file, chart);
	else
		write_curves(file, chart);
}

/* --- its process --- */

static int spawn(int input, int output, pid_t *out_pid)
{
	static const char *const words[] = {"gnuplot", "--default-settings", "-", NULL};
	posix_spawn_file_actions_t actions;
	int error = posix_spawn_file_actions_init(&actions);

	if (error)
		return error;
	error = posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
	if (!error)
		error = posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
	if (!error)
		error = posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null",
			O_WRONLY, 0);
	if (!error)
		error = posix_spawnp(out_pid, words[0], &actions, NULL, (char **)words, environ);
	posix_spawn_file_actions_destroy(&actions);
	return error;
}

/* Whether it has ended well, and in time. */
static bool await(pid_t pid)
{
	uint64_t until_ns = link_now_ns() + PLOT_NS;
	int status = 0;
	pid_t ended;

	while ((ended = waitpid(pid, &status, WNOHANG)) == 0 && link_now_ns() < until_ns)
		usleep(PLOT_LOOK_US);
	if (ended == pid)
		return WIFEXITED(status) && WEXITSTATUS(status) == 0;
	kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return false;
}

/* Return: what it has drawn, the caller's; NULL: nothing. */
static char *draw(const struct chart *chart)
{
	OWN(fd) int input = memfd_create("gnuplot-commands", MFD_CLOEXEC);
	OWN(fd) int output = memfd_create("gnuplot-drawing", MFD_CLOEXEC);
	FILE *file = input >= 0 ? fdopen(dup(input), "w") : NULL;
	struct stat status;
	char *text;
	pid_t pid;

	if (!file)
		return NULL;
	write_commands(file, chart);
	if (fclose(file) || output < 0 || lseek(input, 0, SEEK_SET) || spawn(input, output, &pid) ||
		!await(pid) || fstat(output, &status) || status.st_size <= 0 ||
		status.st_size > SVG_BYTES_MAX)
		return NULL;
	text = malloc((size_t)status.st_size + 1);
	if (!text || pread(output, text, (size_t)status.st_size, 0) != status.st_size) {
		free(text);
		return NULL;
	}
	text[status.st_size] = 0;
	return text;
}

/* --- the element --- */

/* Several drawings are in one page, so the names in each get a prefix of their own. */
static void write_renamed(FILE *file, const char *svg, size_t number)
{
	static const char *const starts[] = {"id='", "id=\"", "href='#", "href=\"#", "url(#"};

	while (*svg) {
		size_t length = 1;
		bool is_name = false;

		for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]) && !is_name; i++) {
			is_name = !strncmp(svg, starts[i], strlen(starts[i]));
			length = is_name ? strlen(starts[i]) : 1;
		}
		fwrite(svg, 1, length, file);
		if (is_name)
			fprintf(file, "c%zu-", number);
		svg += length;
	}
}

/* Only the element, without its title, and only if nothing in it does or loads anything. */
static char *element_of(char *text, size_t number)
{
	static const char *const refused[] = {"<script", "<image", "<foreignObject", "<!ENTITY"};
	char *start = strstr(text, "<svg");
	char *end = start ? strstr(start, "</svg>") : NULL;
	char *title = start ? strstr(start, "<title>") : NULL;
	char *behind = title ? strstr(title, "</title>") : NULL;
	char *element = NULL;
	size_t bytes = 0;
	FILE *file;

	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		if (strstr(text, refused[i]))
			return NULL;
	}
	if (!end)
		return NULL;
	end[strlen("</svg>")] = 0;
	if (behind)
		memset(title, ' ', (size_t)(behind - title) + strlen("</title>"));
	file = open_memstream(&element, &bytes);
	if (!file)
		return NULL;
	write_renamed(file, start, number);
	if (fclose(file)) {
		free(element);
		return NULL;
	}
	return element;
}

char *plot_chart(const struct chart *chart, size_t number)
{
	OWN(heap) char *text = draw(chart);

	return text ? element_of(text, number) : NULL;
}
