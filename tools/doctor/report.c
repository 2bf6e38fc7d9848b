/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report.c - what the doctor has found, as text, as JSON, and as a file to attach to a question
 *
 * All are made from the same results. The file has the text and the JSON, and what may explain
 * them. It names no objects, and of the environment only variables of CUDA and Warpway.
 */
#include "doctor/doctor.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/number.h"
#include "doctor/advice.h"
#include "warpway/output_file.h"

#define SCHEMA     1
#define TEXT_BYTES 512
#define GB         1e9

extern char **environ;

static const char *uuid_of(const struct doctor *doctor, const char *selector)
{
	for (size_t i = 0; i < doctor->device_count; i++) {
		if (!strcmp(doctor->devices[i].selector, selector))
			return doctor->devices[i].uuid;
	}
	return "";
}

/* Puts names in the place of "{gpu}" and "{broker}". */
static const char *fill(const struct doctor *doctor, const struct result *result, const char *text,
	char out_text[TEXT_BYTES])
{
	const char *named = getenv("WARPWAY_BROKER");
	const char *broker = doctor->request.address ? doctor->request.address : named;
	size_t used = 0;

	if (!text)
		return NULL;
	while (*text && used + 1 < TEXT_BYTES) {
		const char *name = NULL;
		size_t length = 1;

		if (!strncmp(text, "{gpu}", 5)) {
			name = uuid_of(doctor, result->device);
			length = 5;
		} else if (!strncmp(text, "{broker}", 8)) {
			name = broker ? broker : "PATH";
			length = 8;
		}
		used += (size_t)snprintf(out_text + used, TEXT_BYTES - used, "%.*s",
			name ? (int)strlen(name) : 1, name ? name : text);
		text += length;
	}
	return out_text;
}

/* --- text --- */

/* How many later ones of the device were skipped for the same reason; -1: an earlier one was. */
static int count_alike(const struct doctor *doctor, const struct result *result)
{
	int count = 0;

	if (result->state != STATE_SKIPPED || !result->device[0])
		return 0;
	for (size_t i = 0; i < doctor->results.count; i++) {
		const struct result *other = &doctor->results.list[i];

		if (other == result || other->state != STATE_SKIPPED ||
			strcmp(other->device, result->device) != 0 ||
			strcmp(other->found, result->found) != 0)
			continue;
		if (other < result)
			return -1;
		count++;
	}
	return count;
}

static void print_result(const struct doctor *doctor, const struct result *result, FILE *file)
{
	char text[TEXT_BYTES];
	int alike = count_alike(doctor, result);
	const char *lost = advice_lost(result);
	const char *remedy = fill(doctor, result, advice_remedy(result), text);

	if (alike < 0)
		return;
	fprintf(file, "  %-8s %-15s %s", state_name(result->state), result->check, result->found);
	if (alike > 0)
		fprintf(file, " (and %d more)", alike);
	fputc('\n', file);
	if (lost)
		fprintf(file, "  %8s lost: %s\n", "", lost);
	if (remedy)
		fprintf(file, "  %8s do:   %s\n", "", remedy);
}

/* All results of a group, in the order of the table of checks. */
static void print_group(const struct doctor *doctor, const char *group, const char *device,
	FILE *file)
{
	for (const struct check *check = checks; check->id; check++) {
		if (strcmp(check->group, group) != 0)
			continue;
		for (size_t i = 0; i < doctor->results.count; i++) {
			const struct result *result = &doctor->results.list[i];

			if (!strcmp(result->check, check->id) && !strcmp(result->device, device))
				print_result(doctor, result, file);
		}
	}
}

static void print_devices(const struct doctor *doctor, FILE *file)
{
	for (size_t i = 0; i < doctor->device_count; i++) {
		const struct doctor_device *device = &doctor->devices[i];
		char size[NUMBER_BYTES];

		number_size_text(device->bytes, size);
		if (device->bytes)
			fprintf(file, "\n%s: %s, %s, %s\n", device->selector, device->name, size,
				device->uuid);
		else
			fprintf(file, "\n%s: %s\n", device->selector, device->name);
		print_group(doctor, "device", device->selector, file);
	}
}

static const char *route_text(const char *route)
{
	if (!strcmp(route, "peer"))
		return "peer access: in place";
	if (!strcmp(route, "copy"))
		return "copied by the driver, by way of the CPU";
	if (!strcmp(route, "host"))
		return "copies between the GPU and registered host memory";
	return "none: the program has to copy by way of the CPU";
}

/* Whether a route before this one came out in the same way. */
static bool said_already(const struct doctor *doctor, size_t index)
{
	const struct result *result = &doctor->results.list[index];

	for (size_t i = 0; i < index; i++) {
		const struct result *other = &doctor->results.list[i];

		if (!strcmp(other->check, result->check) && other->state == result->state &&
			!strcmp(other->cause, result->cause))
			return true;
	}
	return false;
}

static void print_routes(const struct doctor *doctor, FILE *file)
{
	bool any = false;

	for (size_t i = 0; i < doctor->route_count; i++) {
		const struct doctor_route *route = &doctor->routes[i];

		if (i == 0)
			fprintf(file, "\nroutes (which device reads whose memory)\n");
		fprintf(file, "  %-8s <- %-8s %s", route->from, route->to,
			route_text(route->route));
		if (route->bytes_per_s > 0)
			fprintf(file, ", %.1f GB/s", route->bytes_per_s / GB);
		fputc('\n', file);
	}
	for (size_t i = 0; i < doctor->results.count; i++) {
		const struct result *result = &doctor->results.list[i];
		struct result named = *result;

		if (strcmp(result->check, "route") != 0 || result->state == STATE_WORKS)
			continue;
		if (!any && doctor->route_count == 0)
			fprintf(file, "\nroutes\n");
		any = true;
		snprintf(named.found, sizeof(named.found), "%s%s%.*s", result->device,
			result->device[0] ? ": " : "", RESULT_FOUND_BYTES - RESULT_DEVICE_BYTES - 3,
			result->found);
		/* What is lost, and the remedy, once: between many devices it is the same. */
		named.device[0] = 0;
		if (said_already(doctor, i))
			fprintf(file, "  %-8s %-15s %s\n", state_name(named.state), named.check,
				named.found);
		else
			print_result(doctor, &named, file);
	}
}

/* Who says which broker programs use. */
static const char *broker_source(const struct doctor *doctor)
{
	const char *named = getenv("WARPWAY_BROKER");

	if (doctor->request.address)
		return "--broker names";
	return named && named[0] ? "WARPWAY_BROKER names" : "they would use";
}

static void print_verdict(const struct doctor *doctor, FILE *file)
{
	size_t counts[STATE_SKIPPED + 1] = {0};
	bool has_gpu = doctor->device_count > 1;

	for (size_t i = 0; i < doctor->results.count; i++)
		counts[doctor->results.list[i].state]++;
	fprintf(file, "\n%zu work, %zu are limited, %zu fail, %zu were skipped\n",
		counts[STATE_WORKS], counts[STATE_LIMITED], counts[STATE_FAILS],
		counts[STATE_SKIPPED]);
	if (!doctor_shares(doctor)) {
		fprintf(file, "Sharing does not work here: the lines that fail say why.\n");
		return;
	}
	fprintf(file, "Processes share memory %s",
		has_gpu ? "here, of the host and of each GPU" : "of the host here");
	if (!doctor_reaches_broker(doctor))
		fprintf(file, ",\nbut not through the broker that %s: see the line of broker",
			broker_source(doctor));
	fprintf(file, "%s.\n", has_gpu ? "" : "; there is no GPU to use");
}

int doctor_print_text(const struct doctor *doctor, FILE *file)
{
	static const char *const groups[] = {"machine", "broker", "programs", "driver"};

	fprintf(file, "Warpway %s\n", ww_version());
	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
		fprintf(file, "\n%s\n", groups[i]);
		print_group(doctor, groups[i], "", file);
	}
	print_devices(doctor, file);
	print_routes(doctor, file);
	print_verdict(doctor, file);
	return 0;
}

/* --- JSON --- */

static json_t *json_of_result(const struct doctor *doctor, const struct result *result)
{
	const struct check *check = check_find(result->check);
	char text[TEXT_BYTES];

	return json_pack("{s:s, s:s, s:s?, s:s, s:s, s:s?, s:s, s:s?, s:s?}", "check",
		result->check, "group", check ? check->group : "", "device",
		result->device[0] ? result->device : NULL, "finds", check ? check->finds : "",
		"state", state_name(result->state), "cause",
		result->cause[0] ? result->cause : NULL, "found", result->found, "lost",
		advice_lost(result), "remedy", fill(doctor, result, advice_remedy(result), text));
}

static json_t *json_of_results(const struct doctor *doctor)
{
	json_t *list = json_array();

	for (size_t i = 0; i < doctor->results.count; i++)
		json_array_append_new(list, json_of_result(doctor, &doctor->results.list[i]));
	return list;
}

static json_t *json_of_devices(const struct doctor *doctor)
{
	json_t *list = json_array();

	for (size_t i = 0; i < doctor->device_count; i++) {
		const struct doctor_device *device = &doctor->devices[i];

		json_array_append_new(list,
			json_pack("{s:s, s:s, s:s?, s:I}", "selector", device->selector, "name",
				device->name, "uuid", device->uuid[0] ? device->uuid : NULL,
				"bytes", (json_int_t)device->bytes));
	}
	return list;
}

static json_t *json_of_routes(const struct doctor *doctor)
{
	json_t *list = json_array();

	for (size_t i = 0; i < doctor->route_count; i++) {
		const struct doctor_route *route = &doctor->routes[i];
		json_t *rate = route->bytes_per_s > 0 ? json_real(route->bytes_per_s) : json_null();

		json_array_append_new(list,
			json_pack("{s:s, s:s, s:s, s:o}", "from", route->from, "to", route->to,
				"route", route->route, "bytes_per_s", rate));
	}
	return list;
}

static void now_text(char out_text[32])
{
	time_t now = time(NULL);
	struct tm parts;

	gmtime_r(&now, &parts);
	strftime(out_text, 32, "%Y-%m-%dT%H:%M:%SZ", &parts);
}

static json_t *json_of_all(const struct doctor *doctor)
{
	char date[32];

	now_text(date);
	return json_pack("{s:i, s:s, s:s, s:b, s:s?, s:o, s:o, s:o}", "schema", SCHEMA, "version",
		ww_version(), "date", date, "sharing",
		doctor_shares(doctor) && doctor_reaches_broker(doctor), "driver",
		doctor->driver[0] ? doctor->driver : NULL, "devices", json_of_devices(doctor),
		"results", json_of_results(doctor), "routes", json_of_routes(doctor));
}

int doctor_print_json(const struct doctor *doctor)
{
	return report_json(json_of_all(doctor), JSON_INDENT(2) | JSON_REAL_PRECISION(6));
}

/* --- the file --- */

static void print_file(const char *path, FILE *file)
{
	FILE *from = fopen(path, "re");
	char line[TEXT_BYTES];

	if (!from)
		return;
	fprintf(file, "\n%s\n", path);
	while (fgets(line, sizeof(line), from))
		fprintf(file, "  %s", line);
	fclose(from);
}

static void print_environment(FILE *file)
{
	static const char *const begins[] = {"CUDA_", "WARPWAY", "NVIDIA_VISIBLE",
		"XDG_RUNTIME_DIR"};

	fprintf(file, "\nenvironment\n");
	for (char **entry = environ; *entry; entry++) {
		for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++) {
			char line[TEXT_BYTES];

			if (strncmp(*entry, begins[i], strlen(begins[i])) != 0)
				continue;
			text_clean(*entry, line, sizeof(line));
			fprintf(file, "  %s\n", line);
			break;
		}
	}
}

static void print_errors(const struct doctor *doctor, FILE *file)
{
	fprintf(file, "\nlast errors\n");
	if (doctor->error_count == 0)
		fprintf(file, "  none\n");
	for (size_t i = 0; i < doctor->error_count; i++)
		fprintf(file, "  %s\n", doctor->errors[i]);
}

static int print_report(const struct doctor *doctor, FILE *file)
{
	json_t *all = json_of_all(doctor);
	char date[32];
	int failed;

	now_text(date);
	fprintf(file, "Report of warpway doctor, %s\n\n", date);
	doctor_print_text(doctor, file);
	print_file("/proc/version", file);
	print_file("/proc/driver/nvidia/version", file);
	print_file("/etc/os-release", file);
	print_file("/proc/self/limits", file);
	print_environment(file);
	print_errors(doctor, file);
	fprintf(file, "\nresults as JSON\n");
	failed = all ? json_dumpf(all, file, JSON_INDENT(2) | JSON_REAL_PRECISION(6)) : -1;
	fputc('\n', file);
	json_decref(all);
	return failed;
}

int doctor_try_report(const struct doctor *doctor)
{
	OWN(sink) struct sink sink = SINK_NONE;
	struct stat status;

	/* The reader of a pipe would take the end of a try for the end of the report. */
	if (stat(doctor->report, &status) == 0 && !S_ISREG(status.st_mode) &&
		!S_ISDIR(status.st_mode))
		return 0;
	return sink_open(&sink, doctor->report) ? -1 : 0;
}

int doctor_write_report(const struct doctor *doctor)
{
	OWN(sink) struct sink sink = SINK_NONE;
	FILE *file;
	int failed;

	if (sink_open(&sink, doctor->report))
		return -1;
	file = fdopen(dup(sink.fd), "w");
	if (!file)
		return complain("cannot write %s: %s", doctor->report, strerror(errno));
	failed = print_report(doctor, file);
	if (fclose(file) || failed)
		return complain("cannot write %s: %s", doctor->report, strerror(errno));
	return sink_finish(&sink);
}
