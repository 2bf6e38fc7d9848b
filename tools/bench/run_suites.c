/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_suites.c - runs suites one after the other and keeps what they measure
 *
 * The document is written to the file of --output after each row, so whatever ends the run, that
 * file has the rows until then, and says which suites were not run. The time that is left is
 * foretold from how long each suite usually takes, corrected by how long those before took here.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/run_file.h"
#include "bench/suite_process.h"
#include "common/interrupt.h"

#define WHY_BYTES  256
#define SECOND_NS  UINT64_C(1000000000)
#define SHOW_NS    (SECOND_NS / 2)
#define PLACES_MAX 64

/* What is run: a suite, on a device. */
struct place {
	const struct bench_step *step;
	bool is_for_each_gpu; /* becomes several, when it is known how many there are */
	char device[32];      /* empty: the one of the run */
	json_t *entry;        /* of the document; borrowed */
};

struct runner {
	struct bench *bench;
	json_t *run;
	json_t *names; /* of the rows */
	struct place places[PLACES_MAX];
	size_t count;
	size_t at;
	char selector[32]; /* of the device that the first suite has taken */
	bool is_terminal;
	bool is_shown; /* a line that stands for how far it is */
	uint64_t started_ns;
	uint64_t suite_ns; /* when the suite that runs was started */
	double expected;   /* of the suites that are done */
	double spent;      /* on them */
	size_t rows;       /* of the suite that runs */
	char reason[WHY_BYTES];
	bool is_own;      /* the reason is a complaint of ours, not of a library or a system */
	bool is_rejected; /* what the suite has sent makes no sense */
	bool is_unkept;   /* the file cannot be written: the run ends */
	size_t skips;     /* as the suite that runs has counted them */
};

/* --- how far it is --- */

static double seconds_since(uint64_t ns)
{
	return (double)(link_now_ns() - ns) / 1e9;
}

static double usual_seconds(const struct runner *runner, size_t place)
{
	const struct bench_step *step = runner->places[place].step;

	return runner->bench->quick ? step->quick_seconds : step->seconds;
}

static double seconds_left(const struct runner *runner)
{
	double factor = runner->expected > 0 ? runner->spent / runner->expected : 1;
	double own = usual_seconds(runner, runner->at) * factor;
	double in_it = seconds_since(runner->suite_ns);
	double left = in_it < own ? own - in_it : 0;

	for (size_t i = runner->at + 1; i < runner->count; i++)
		left += usual_seconds(runner, i) * factor;
	return left;
}

static void clear_line(struct runner *runner)
{
	if (runner->is_shown)
		fputs("\r\x1b[K", stderr);
	runner->is_shown = false;
}

static void time_text(double seconds, char out_text[NUMBER_BYTES])
{
	unsigned long whole = (unsigned long)seconds;

	snprintf(out_text, NUMBER_BYTES, "%lu:%02lu", whole / 60, whole % 60);
}

static void show(struct runner *runner)
{
	const struct place *place = &runner->places[runner->at];
	char spent[NUMBER_BYTES];
	char left[NUMBER_BYTES];

	if (!runner->is_terminal)
		return;
	time_text(seconds_since(runner->started_ns), spent);
	time_text(seconds_left(runner), left);
	fprintf(stderr, "\r[%zu/%zu] %s%s%s: %zu rows; %s spent, about %s left\x1b[K",
		runner->at + 1, runner->count, place->step->suite->name,
		place->device[0] ? " " : "", place->device, runner->rows, spent, left);
	fflush(stderr);
	runner->is_shown = true;
}

/* Where there is no terminal, each suite's end is a line, but of a single one. */
static void tell_end(const struct runner *runner, double seconds)
{
	const struct place *place = &runner->places[runner->at];
	double left = 0;
	char text[NUMBER_BYTES];

	if (runner->is_terminal || runner->count < 2)
		return;
	for (size_t i = runner->at + 1; i < runner->count; i++)
		left += usual_seconds(runner, i);
	time_text(left * (runner->expected > 0 ? runner->spent / runner->expected : 1), text);
	say("[%zu/%zu] %s%s%s: %s, %zu rows in %.0f s; about %s left", runner->at + 1,
		runner->count, place->step->suite->name, place->device[0] ? " " : "", place->device,
		run_text(place->entry, "state"), runner->rows, seconds, text);
}

/* --- the document --- */

static void set(json_t *entry, const char *key, json_t *value)
{
	json_object_set_new(entry, key, value);
}

static int save(struct runner *runner)
{
	if (!runner->bench->output || !run_has_heading(runner->run))
		return 0;
	if (!runner->is_unkept && run_save(runner->run, runner->bench->output))
		runner->is_unkept = true;
	return runner->is_unkept ? -1 : 0;
}

static int reject(struct runner *runner, const char *why)
{
	runner->is_rejected = true;
	snprintf(runner->reason, sizeof(runner->reason), "%s", why);
	return complain("the suite %s: %s", runner->places[runner->at].step->suite->name, why);
}

/* A text of the document holds no control characters. */
static void note(struct runner *runner, const char *line)
{
	json_t *notes = json_object_get(runner->places[runner->at].entry, "notes");
	char text[RUN_TEXT_BYTES_MAX + 1];

	snprintf(text, sizeof(text), "%s", line);
	for (char *at = text; *at; at++) {
		if ((unsigned char)*at < ' ' || *at == 0x7f)
			*at = '?';
	}
	if (json_array_size(notes) < RUN_NOTES_MAX)
		json_array_append_new(notes, json_string(text)); /* nothing, if it is no UTF-8 */
}

/* What is measured on each GPU has the GPU in the names of all rows but the first of a name. */
static void rename_row(struct runner *runner, json_t *row)
{
	const char *device = runner->places[runner->at].device;
	char name[BENCH_NAME_BYTES];

	if (!device[0] || !json_object_get(runner->names, run_text(row, "name")))
		return;
	snprintf(name, sizeof(name), "%s.%.4s%s", run_text(row, "name"), device, device + 5);
	set(row, "name", json_string(name));
}

static int take_row(struct runner *runner, json_t *row)
{
	char why[WHY_BYTES];

	if (!run_row_check(row, why, sizeof(why)))
		return reject(runner, why);
	rename_row(runner, row);
	if (json_object_get(runner->names, run_text(row, "name")))
		return reject(runner, "two of its rows have the same name");
	if (json_object_set_new(runner->names, run_text(row, "name"), json_true()) ||
		json_array_append(json_object_get(runner->run, "results"), row) ||
		bench_take_row(runner->bench, row))
		return reject(runner, "out of memory");
	runner->rows++;
	return save(runner);
}

/* The heading says on which device it runs, and how many GPUs there are. */
static int take_heading(struct runner *runner, const json_t *heading)
{
	bool is_first = !run_has_heading(runner->run);
	json_int_t gpus = json_integer_value(json_object_get(heading, "gpus"));

	if (run_heading_take(runner->run, heading))
		return reject(runner, "its heading makes no sense");
	if (!is_first)
		return 0;
	snprintf(runner->selector, sizeof(runner->selector), "%s", run_text(heading, "selector"));
	for (size_t i = 0; i < runner->count && gpus > 1; i++) {
		struct place *place = &runner->places[i];
		bool is_last = place->is_for_each_gpu && i + 1 == runner->count;

		for (json_int_t gpu = 0; is_last && gpu < gpus && i + (size_t)gpu < PLACES_MAX;
			gpu++) {
			runner->count = i + (size_t)gpu + 1;
			if (gpu > 0)
				place[gpu] = (struct place){.step = place->step,
					.entry = run_suite_add(runner->run,
						place->step->suite->name, NULL)};
			snprintf(place[gpu].device, sizeof(place->device), "cuda:%d", (int)gpu);
			set(place[gpu].entry, "device", json_string(place[gpu].device));
		}
		if (is_last)
			break;
	}
	return save(runner);
}

/* A row, the heading, or the end. */
static int take_message(struct runner *runner, const char *line)
{
	json_error_t error;
	OWN(json) json_t *message = json_loads(line, JSON_REJECT_DUPLICATES, &error);

	if (!message)
		return reject(runner, error.text);
	if (json_object_get(message, "gpus"))
		return take_heading(runner, message);
	if (!json_object_get(message, "goals_skipped"))
		return take_row(runner, message);
	runner->skips = (size_t)json_integer_value(json_object_get(message, "suites_skipped"));
	runner->bench->suites_skipped += runner->skips;
	runner->bench->goals_skipped += (size_t)json_integer_value(
		json_object_get(message, "goals_skipped"));
	return 0;
}

/* --- a suite --- */

/* Passes a line on, and keeps it. The first complaint is why the suite fails, if it does. */
static void take_text(struct runner *runner, const char *line, bool is_complaint)
{
	static const char prefix[] = "warpway bench: ";
	bool is_own = !strncmp(line, prefix, strlen(prefix));
	const char *text = is_own ? line + strlen(prefix) : line;

	clear_line(runner);
	fprintf(is_complaint ? stderr : stdout, "%s\n", line);
	fflush(is_complaint ? stderr : stdout);
	note(runner, text);
	if (!is_complaint || (runner->reason[0] && (runner->is_own || !is_own)))
		return;
	runner->is_own = is_own;
	snprintf(runner->reason, sizeof(runner->reason), "%s", text);
}

/* Takes all that comes. Return: whether the run was interrupted. */
static bool follow(struct runner *runner, struct suite_process *process)
{
	while (!runner->is_rejected && !runner->is_unkept) {
		const char *line = NULL;

		show(runner);
		switch (suite_process_next(process, link_now_ns() + SHOW_NS, &line)) {
		case SUITE_ROW:
			take_message(runner, line);
			break;
		case SUITE_SAID:
			take_text(runner, line, false);
			break;
		case SUITE_COMPLAINED:
			take_text(runner, line, true);
			break;
		case SUITE_TIME:
			break;
		case SUITE_INTERRUPTED:
			return true;
		case SUITE_ENDED:
			return false;
		}
	}
	return false;
}

/* What became of it, from how its process has ended. */
static const char *judge(struct runner *runner, int code, int signal)
{
	const json_t *notes = json_object_get(runner->places[runner->at].entry, "notes");
	size_t count = json_array_size(notes);

	if (code == 0 && runner->skips > 0 && runner->rows == 0) {
		/* The reasons of all of its parts. */
		for (size_t i = 0; i < count; i++) {
			const char *text = json_string_value(json_array_get(notes, i));
			size_t used = strlen(runner->reason);

			if (strstr(text, "is skipped"))
				snprintf(runner->reason + used, sizeof(runner->reason) - used,
					"%s%s", used ? "; " : "", text);
		}
		return RUN_SKIPPED;
	}
	if (code == 0 && !runner->is_rejected)
		return RUN_DONE;
	if (signal && !runner->is_rejected)
		reject(runner,
			signal == SIGKILL ? "its process was killed" : "its process has crashed");
	return RUN_FAILED;
}

/* Return: 0; 1: the run ends here; else the exit code of the suite. */
static int run_place(struct runner *runner)
{
	struct place *place = &runner->places[runner->at];
	OWN(suite_process) struct suite_process process = SUITE_PROCESS_NONE;
	const char *device = place->device[0] ? place->device
		: runner->selector[0]         ? runner->selector
					      : runner->bench->device_name;
	bool is_interrupted;
	int signal = 0;
	int code;
	double seconds;

	runner->suite_ns = link_now_ns();
	runner->rows = runner->skips = 0;
	runner->reason[0] = 0;
	runner->is_own = runner->is_rejected = false;
	set(place->entry, "state", json_string(RUN_RUNNING));
	if (save(runner) ||
		suite_process_start(&process, runner->bench, place->step->suite, device))
		return EXIT_FAILED;
	is_interrupted = follow(runner, &process);
	code = suite_process_end(&process,
		is_interrupted || runner->is_rejected || runner->is_unkept, &signal);
	clear_line(runner);
	seconds = seconds_since(runner->suite_ns);
	set(place->entry, "seconds", json_real(seconds));
	set(place->entry, "state",
		json_string(is_interrupted ? RUN_INTERRUPTED : judge(runner, code, signal)));
	if (runner->reason[0] && strcmp(run_text(place->entry, "state"), RUN_DONE) != 0)
		set(place->entry, "reason", json_string(runner->reason));
	if (!strcmp(run_text(place->entry, "state"), RUN_DONE)) {
		runner->spent += seconds;
		runner->expected += usual_seconds(runner, runner->at);
	}
	tell_end(runner, seconds);
	return is_interrupted ? 0 : code;
}

/* --- all of them --- */

static int plan(struct runner *runner, char *names[], int count)
{
	for (size_t i = 0; i < BENCH_SUITE_COUNT; i++) {
		const struct bench_suite *suite = bench_steps[i].suite;
		struct place *place = &runner->places[runner->count];
		bool wanted = count == 0;

		for (int n = 0; n < count; n++)
			wanted = wanted || bench_find_suite(names[n]) == suite;
		if (!wanted)
			continue;
		*place = (struct place){
			.step = &bench_steps[i],
			.is_for_each_gpu = count == 0 && suite == &bench_pairs,
			.entry = run_suite_add(runner->run, suite->name, NULL),
		};
		if (!place->entry)
			return complain("out of memory");
		runner->count++;
	}
	return 0;
}

static int end_early(struct runner *runner)
{
	complain("interrupted: %zu of %zu suites have not run to their end",
		runner->count - runner->at, runner->count);
	save(runner);
	return EXIT_FAILED;
}

int bench_run_suites(struct bench *bench, char *names[], int count, json_t *run)
{
	OWN(json) json_t *row_names = json_object();
	struct runner runner = {
		.bench = bench,
		.run = run,
		.names = row_names,
		.is_terminal = isatty(STDERR_FILENO) == 1,
		.started_ns = link_now_ns(),
	};
	int result = 0;

	if (plan(&runner, names, count) || interrupt_open_once())
		return EXIT_FAILED;
	for (; runner.at < runner.count; runner.at++) {
		int code = run_place(&runner);

		if (interrupt_came())
			return end_early(&runner);
		if (code == EXIT_CANNOT && !run_has_heading(run))
			return EXIT_CANNOT; /* the device cannot be used */
		if (save(&runner))
			return EXIT_FAILED;
		if (code)
			result = EXIT_FAILED;
	}
	set(run, "complete", json_boolean(result == 0));
	return save(&runner) ? EXIT_FAILED : result;
}
