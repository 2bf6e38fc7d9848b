/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_file.c - what a run of `warpway bench` has measured, see run_file.h
 *
 * A table says which keys an object has, and of which type; the rest of the checks are of names and
 * numbers. Keys that are not in the table are let be: files of later versions have more.
 */
#include "bench/run_file.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

#include "bench/bench.h"
#include "common/file_io.h"
#include "warpway/output_file.h"

#define DATE_BYTES     32
#define FILE_BYTES_MAX (UINT64_C(32) << 20)
#define ROWS_MAX       20000
#define SUITES_MAX     1000
#define NUMBER_MAX     1e18
#define WHY_BYTES      256
#define NO_DEVICE      "-"

const char *const run_heading[] = {"device", "driver", "mps", "date", "version"};

/* --- what is checked --- */

enum kind {
	KIND_TEXT,
	KIND_NAME,
	KIND_UNIT,
	KIND_NUMBER,
	KIND_NUMBERS,
	KIND_TRUTH,
	KIND_TEXTS,
	KIND_OBJECT,
	KIND_ARRAY
};

static const char *const kind_titles[] = {
	[KIND_TEXT] = "text of up to 1000 bytes without control characters",
	[KIND_NAME] = "a name: up to 63 letters, digits, '.', '_', '+' and '-'",
	[KIND_UNIT] = "a unit: us, ns, ms, MB/s, MiB, bytes or %",
	[KIND_NUMBER] = "a number from -1e18 to 1e18",
	[KIND_NUMBERS] = "a list of up to 1000 such numbers",
	[KIND_TRUTH] = "true or false",
	[KIND_TEXTS] = "a list of up to 1000 texts",
	[KIND_OBJECT] = "an object",
	[KIND_ARRAY] = "a list",
};

struct key {
	const char *name;
	enum kind kind;
	bool is_needed;
	bool may_be_null;
};

static const struct key run_keys[] = {
	{"device", KIND_TEXT, true, false},
	{"driver", KIND_TEXT, true, false},
	{"mps", KIND_TEXT, true, false},
	{"date", KIND_TEXT, true, false},
	{"version", KIND_TEXT, true, false},
	{"host", KIND_OBJECT, false, false},
	{"complete", KIND_TRUTH, false, false},
	{"quick", KIND_TRUTH, false, false},
	{"suites", KIND_ARRAY, false, false},
	{"results", KIND_ARRAY, true, false},
	{NULL, KIND_TEXT, false, false},
};

static const struct key host_keys[] = {
	{"cpu", KIND_TEXT, true, false},
	{"cpus", KIND_NUMBER, true, false},
	{"kernel", KIND_TEXT, true, false},
	{NULL, KIND_TEXT, false, false},
};

static const struct key suite_keys[] = {
	{"name", KIND_NAME, true, false},
	{"device", KIND_TEXT, false, true},
	{"state", KIND_TEXT, true, false},
	{"reason", KIND_TEXT, false, true},
	{"seconds", KIND_NUMBER, false, true},
	{"notes", KIND_TEXTS, false, false},
	{NULL, KIND_TEXT, false, false},
};

static const struct key row_keys[] = {
	{"name", KIND_NAME, true, false},
	{"unit", KIND_UNIT, true, false},
	{"p50", KIND_NUMBER, true, false},
	{"p99", KIND_NUMBER, true, true},
	{"floor_p50", KIND_NUMBER, true, true},
	{"ratio", KIND_NUMBER, true, true},
	{"goal", KIND_NUMBER, true, true},
	{"met", KIND_TRUTH, true, true},
	{"samples", KIND_NUMBERS, false, false},
	{NULL, KIND_TEXT, false, false},
};

static bool is_text(const json_t *value)
{
	const char *text = json_string_value(value);

	if (!text || strlen(text) > RUN_TEXT_BYTES_MAX)
		return false;
	for (; *text; text++) {
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			return false;
	}
	return true;
}

static bool is_name(const json_t *value)
{
	const char *text = json_string_value(value);
	size_t length = text ? strlen(text) : 0;

	return length > 0 && length < BENCH_NAME_BYTES &&
		strspn(text,
			"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-") ==
		length;
}

static bool is_number(const json_t *value)
{
	double number = json_number_value(value);

	return json_is_number(value) && fabs(number) <= NUMBER_MAX;
}

static bool are_all(const json_t *list, size_t most, bool (*is_one)(const json_t *value))
{
	if (!json_is_array(list) || json_array_size(list) > most)
		return false;
	for (size_t i = 0; i < json_array_size(list); i++) {
		if (!is_one(json_array_get(list, i)))
			return false;
	}
	return true;
}

static bool is_of_kind(const json_t *value, enum kind kind)
{
	switch (kind) {
	case KIND_TEXT:
		return is_text(value);
	case KIND_NAME:
		return is_name(value);
	case KIND_UNIT:
		return bench_unit(json_string_value(value)) != NULL;
	case KIND_NUMBER:
		return is_number(value);
	case KIND_NUMBERS:
		return are_all(value, RUN_SAMPLES_MAX, is_number);
	case KIND_TRUTH:
		return json_is_boolean(value);
	case KIND_TEXTS:
		return are_all(value, RUN_NOTES_MAX, is_text);
	case KIND_OBJECT:
		return json_is_object(value);
	case KIND_ARRAY:
		return json_is_array(value);
	}
	return false;
}

static bool check_keys(const json_t *object, const struct key *keys, char *out_why, size_t room)
{
	if (!json_is_object(object)) {
		snprintf(out_why, room, "it is no object");
		return false;
	}
	for (; keys->name; keys++) {
		const json_t *value = json_object_get(object, keys->name);

		if (value ? is_of_kind(value, keys->kind) ||
					(keys->may_be_null && json_is_null(value))
			  : !keys->is_needed)
			continue;
		snprintf(out_why, room, "its key \"%s\" %s %s%s", keys->name,
			value ? "is not" : "is missing, which is", kind_titles[keys->kind],
			keys->may_be_null ? ", or null" : "");
		return false;
	}
	return true;
}

bool run_row_check(const json_t *row, char *out_why, size_t room)
{
	return check_keys(row, row_keys, out_why, room);
}

/* All entries of a list; their names differ, if they are rows. */
static bool check_list(const json_t *list, const char *what, size_t most, const struct key *keys,
	char *out_why, size_t room)
{
	OWN(json) json_t *names = json_object();
	char why[WHY_BYTES];

	if (json_array_size(list) > most) {
		snprintf(out_why, room, "it has more than %zu %ss", most, what);
		return false;
	}
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *entry = json_array_get(list, i);

		if (!check_keys(entry, keys, why, sizeof(why))) {
			snprintf(out_why, room, "its %s %zu is wrong: %s", what, i + 1, why);
			return false;
		}
		if (keys != row_keys)
			continue;
		if (json_object_get(names, run_text(entry, "name"))) {
			snprintf(out_why, room, "it has two rows %s", run_text(entry, "name"));
			return false;
		}
		json_object_set_new(names, run_text(entry, "name"), json_true());
	}
	return true;
}

static bool check_run(const json_t *run, char *out_why, size_t room)
{
	const json_t *host;

	if (!check_keys(run, run_keys, out_why, room))
		return false;
	host = json_object_get(run, "host");
	return (!host || check_keys(host, host_keys, out_why, room)) &&
		check_list(json_object_get(run, "suites"), "suite", SUITES_MAX, suite_keys, out_why,
			room) &&
		check_list(run_results(run), "row", ROWS_MAX, row_keys, out_why, room);
}

/* --- what is asked --- */

const char *run_text(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "-";
}

const json_t *run_results(const json_t *run)
{
	return json_object_get(run, "results");
}

bool run_is_complete(const json_t *run)
{
	return !json_is_false(json_object_get(run, "complete"));
}

double run_number(const json_t *row, const char *key)
{
	const json_t *value = json_object_get(row, key);

	return json_is_number(value) ? json_number_value(value) : BENCH_NONE;
}

int run_met(const json_t *row)
{
	const json_t *met = json_object_get(row, "met");

	return json_is_boolean(met) ? json_is_true(met) : -1;
}

/* --- a new one --- */

static void take_cpu_name(char *out_name, size_t room)
{
	FILE *file = fopen("/proc/cpuinfo", "re");
	char line[256];

	snprintf(out_name, room, "unknown");
	while (file && fgets(line, sizeof(line), file)) {
		char *value = strchr(line, ':');

		line[strcspn(line, "\n")] = 0;
		if (!value || strncmp(line, "model name", strlen("model name")) != 0)
			continue;
		snprintf(out_name, room, "%s", value + 1 + strspn(value + 1, " \t"));
		break;
	}
	if (file)
		fclose(file);
}

/* What figures depend on beside the GPU; nothing that names the machine. */
static json_t *describe_host(void)
{
	struct utsname system = {0};
	char cpu[256];

	uname(&system);
	take_cpu_name(cpu, sizeof(cpu));
	return json_pack("{s:s, s:i, s:s}", "cpu", cpu, "cpus", (int)sysconf(_SC_NPROCESSORS_ONLN),
		"kernel", system.release);
}

json_t *run_create(bool is_quick)
{
	time_t now = time(NULL);
	struct tm parts;
	char date[DATE_BYTES];

	gmtime_r(&now, &parts);
	strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ", &parts);
	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:o, s:b, s:b, s:[], s:[]}", "device",
		NO_DEVICE, "driver", "-", "mps", "unknown", "date", date, "version", ww_version(),
		"host", describe_host(), "complete", false, "quick", is_quick, "suites", "results");
}

int run_heading_take(json_t *run, const json_t *heading)
{
	static const char *const keys[] = {"device", "driver", "mps"};

	if (run_has_heading(run))
		return 0;
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		json_t *value = json_object_get(heading, keys[i]);

		if (!is_text(value) || json_object_set(run, keys[i], value))
			return -1;
	}
	return 0;
}

bool run_has_heading(const json_t *run)
{
	return strcmp(run_text(run, "device"), NO_DEVICE) != 0;
}

json_t *run_suite_add(json_t *run, const char *name, const char *device)
{
	json_t *suites = json_object_get(run, "suites");
	json_t *suite = json_pack("{s:s, s:s?, s:s, s:n, s:n, s:[]}", "name", name, "device",
		device, "state", RUN_NOT_RUN, "reason", "seconds", "notes");

	return json_array_append_new(suites, suite) ? NULL : suite;
}

/* --- files --- */

int run_save(const json_t *run, const char *path)
{
	OWN(heap) char *text = json_dumps(run, RUN_JSON_FLAGS);
	OWN(sink) struct sink sink = SINK_NONE;
	int result;

	if (!text)
		return complain("cannot write %s: out of memory", path);
	result = sink_open(&sink, path);
	if (result)
		return result;
	if (flow_write(sink.fd, text, strlen(text)) || flow_write(sink.fd, "\n", 1))
		return complain("cannot write %s: %s", path, strerror(errno));
	return sink_finish(&sink);
}

/* Return: the bytes, with a NUL behind them; NULL after saying why. */
static char *read_all(const char *path, size_t *out_count)
{
	OWN(fd) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	OWN(heap) char *text = NULL;
	size_t room = 64 << 10;
	ssize_t count = 0;
	char *whole;

	*out_count = 0;
	if (fd < 0) {
		complain("cannot read %s: %s", path, strerror(errno));
		return NULL;
	}
	do {
		char *grown = realloc(text, room *= 2);

		if (!grown) {
			complain("cannot read %s: out of memory", path);
			return NULL;
		}
		text = grown;
		count = flow_read(fd, text + *out_count, room - *out_count - 1);
		*out_count += count > 0 ? (size_t)count : 0;
	} while (count > 0 && *out_count == room - 1 && room < 2 * FILE_BYTES_MAX);
	if (count < 0) {
		complain("cannot read %s: %s", path, strerror(errno));
		return NULL;
	}
	if (*out_count > FILE_BYTES_MAX) {
		complain("cannot read %s: it has more than 32 MiB, and no run has", path);
		return NULL;
	}
	text[*out_count] = 0;
	whole = text;
	text = NULL;
	return whole;
}

json_t *run_parse(const char *text, size_t count, const char *path)
{
	json_error_t error;
	OWN(json) json_t *run = json_loadb(text, count, JSON_REJECT_DUPLICATES, &error);
	char why[2 * WHY_BYTES];
	json_t *whole;

	if (!run) {
		complain("%s is no file of `warpway bench`: line %d, column %d: %s", path,
			error.line, error.column, error.text);
		return NULL;
	}
	if (!check_run(run, why, sizeof(why))) {
		complain("%s is no file of `warpway bench --json`: %s", path, why);
		return NULL;
	}
	whole = run;
	run = NULL;
	return whole;
}

json_t *run_load(const char *path)
{
	size_t count = 0;
	OWN(heap) char *text = read_all(path, &count);

	return text ? run_parse(text, count, path) : NULL;
}
