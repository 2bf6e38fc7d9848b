/* SPDX-License-Identifier: Apache-2.0 */
/*
 * devices.c - the driver, each device and the routes between them, each probed in a child
 *
 * All devices are probed at the same time. A probe that crashes is a result, and the device's child
 * is started again behind it. A probe that does not end is a result too, and then the device's
 * other probes are not tried: they would not end either.
 */
#include "doctor/doctor.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/interrupt.h"
#include "doctor/advice.h"

#define PCI_FOLDER "/sys/bus/pci/devices"
#define NVIDIA     "0x10de"
#define DISPLAY    "0x03"

/* --- whether there is a GPU, whatever the driver says --- */

static bool file_begins(const char *folder, const char *file, const char *begin)
{
	char path[512];
	char text[32] = "";
	FILE *stream;
	bool does;

	snprintf(path, sizeof(path), PCI_FOLDER "/%s/%s", folder, file);
	stream = fopen(path, "re");
	if (!stream)
		return false;
	does = fgets(text, sizeof(text), stream) && !strncmp(text, begin, strlen(begin));
	fclose(stream);
	return does;
}

bool doctor_sees_gpu(void)
{
	DIR *folder = opendir(PCI_FOLDER);
	const struct dirent *entry;
	bool sees = !access("/dev/nvidia0", F_OK) || !access("/dev/dxg", F_OK);

	while (folder && !sees && (entry = readdir(folder)))
		sees = file_begins(entry->d_name, "vendor", NVIDIA) &&
			file_begins(entry->d_name, "class", DISPLAY);
	if (folder)
		closedir(folder);
	return sees;
}

/* --- lines of children --- */

/* What a line may say beside a result. */
static void take_device(struct doctor *doctor, const json_t *line)
{
	struct doctor_device *device = &doctor->devices[doctor->device_count];
	const char *selector, *uuid, *name;
	json_int_t bytes;

	if (doctor->device_count == DOCTOR_DEVICES_MAX ||
		json_unpack((json_t *)line, "{s:s, s:s, s:s, s:I}", "selector", &selector, "uuid",
			&uuid, "name", &name, "bytes", &bytes))
		return;
	snprintf(device->selector, sizeof(device->selector), "%s", selector);
	snprintf(device->uuid, sizeof(device->uuid), "%s", uuid);
	text_clean(name, device->name, sizeof(device->name));
	device->bytes = (uint64_t)bytes;
	doctor->device_count++;
}

static void take_route(struct doctor *doctor, const json_t *line)
{
	struct doctor_route *route = &doctor->routes[doctor->route_count];
	const char *from, *to, *how;
	double rate;

	if (doctor->route_count == sizeof(doctor->routes) / sizeof(doctor->routes[0]) ||
		json_unpack((json_t *)line, "{s:s, s:s, s:s, s:f}", "from", &from, "to", &to,
			"route", &how, "bytes_per_s", &rate))
		return;
	snprintf(route->from, sizeof(route->from), "%s", from);
	snprintf(route->to, sizeof(route->to), "%s", to);
	snprintf(route->route, sizeof(route->route), "%s", how);
	route->bytes_per_s = rate;
	doctor->route_count++;
}

static void take_version(struct doctor *doctor, const json_t *line)
{
	const char *version = json_string_value(json_object_get(line, "version"));

	if (version)
		snprintf(doctor->driver, sizeof(doctor->driver), "%s", version);
}

/*
 * Takes the results of a child that has ended. @out_begun: the probe that has no result, at which
 * the child ended; empty: none
 */
static void take_lines(struct doctor *doctor, const struct trial *trial,
	char out_begun[RESULT_WORD_BYTES])
{
	char *output = trial_output(trial);
	char *text, *rest = output;

	out_begun[0] = 0;
	while ((text = strsep(&rest, "\n"))) {
		json_t *line = json_loads(text, 0, NULL);

		if (line && result_take(&doctor->results, line, out_begun))
			out_begun[0] = 0;
		take_device(doctor, line);
		take_route(doctor, line);
		take_version(doctor, line);
		json_decref(line);
	}
	free(output);
}

void doctor_keep_errors(struct doctor *doctor, const char *who, const struct trial *trial)
{
	char *errors = trial_errors(trial);
	size_t length = strlen(errors);
	const char *last = length > 1000 ? errors + length - 1000 : errors;

	if (length > 0 && doctor->error_count < DOCTOR_ERRORS_MAX &&
		asprintf(&doctor->errors[doctor->error_count], "%s: %s", who, last) >= 0)
		doctor->error_count++;
	free(errors);
}

static const char *cause_of_end(const struct trial *trial)
{
	return trial->end == TRIAL_LATE || trial->end == TRIAL_STUCK ? "late" : "crash";
}

/* --- the driver --- */

/* A driver that is not there, in a container: the host may have one. */
static void name_container(struct doctor *doctor)
{
	struct result *driver = (struct result *)result_find(&doctor->results, "driver", NULL);

	if (driver && doctor->in_container && driver->state == STATE_FAILS &&
		(!strcmp(driver->cause, "missing") || !strcmp(driver->cause, "no-device")))
		snprintf(driver->cause, sizeof(driver->cause), "container");
}

static void probe_driver(struct doctor *doctor)
{
	const char *const argv[] = {"/proc/self/exe", "doctor-child", "driver", NULL};
	OWN(trial) struct trial trial = TRIAL_EMPTY;
	char begun[RESULT_WORD_BYTES];
	char ended[128];

	trial_start(&trial, argv, doctor->time_limit_ns);
	trial_wait_all(&trial, 1);
	if (trial.end == TRIAL_INTERRUPTED)
		return;
	take_lines(doctor, &trial, begun);
	doctor_keep_errors(doctor, "the driver", &trial);
	trial_end_text(&trial, ended, sizeof(ended));
	if (!result_find(&doctor->results, "driver", NULL))
		result_add(&doctor->results, "driver", STATE_FAILS, cause_of_end(&trial),
			"a process that starts the driver %s", ended);
	name_container(doctor);
}

/* --- the devices --- */

/* The probes that were not tried. */
static void skip_rest(struct doctor *doctor, const char *device, const char *why)
{
	bool is_host = !strcmp(device, "host");

	doctor->results.device = device;
	for (const struct check *check = checks; check->id; check++) {
		bool is_shared = !strcmp(check->id, "share") || !strcmp(check->id, "timeline") ||
			!strcmp(check->id, "slice");

		if (!strcmp(check->group, "device") && (!is_host || is_shared) &&
			!result_find(&doctor->results, check->id, device))
			result_add(&doctor->results, check->id, STATE_SKIPPED, NULL, "%s", why);
	}
	doctor->results.device = NULL;
}

static void start_device(const struct doctor *doctor, size_t index, const char *after,
	struct trial *trial)
{
	const char *const argv[] = {"/proc/self/exe", "doctor-child", "device",
		doctor->devices[index].selector, after, doctor->has_broker ? "1" : "0", NULL};

	trial_start(trial, argv, doctor->time_limit_ns);
}

/*
 * A child has ended: takes its results, and starts it again behind a probe that has crashed. Only a
 * probe that was tried anew is started again behind, so this ends.
 */
static void end_device(struct doctor *doctor, size_t index, struct trial *trial)
{
	const char *device = doctor->devices[index].selector;
	char begun[RESULT_WORD_BYTES];
	char ended[128];
	bool is_crash = trial->end == TRIAL_CRASHED || trial->end == TRIAL_FAILED;

	if (trial->end == TRIAL_INTERRUPTED)
		return;
	take_lines(doctor, trial, begun);
	doctor_keep_errors(doctor, device, trial);
	trial_end_text(trial, ended, sizeof(ended));
	if (trial->end == TRIAL_DONE) {
		skip_rest(doctor, device, "the device could not be opened");
		return;
	}
	if (begun[0] && check_find(begun)) {
		doctor->results.device = device;
		result_add(&doctor->results, begun, STATE_FAILS, cause_of_end(trial),
			"the process that tried it %s", ended);
		doctor->results.device = NULL;
	}
	trial_fini(trial);
	if (is_crash && begun[0] && strcmp(begun, "context") != 0)
		start_device(doctor, index, begun, trial);
	else
		skip_rest(doctor, device,
			is_crash ? "the device could not be opened"
				 : "the probe before it did not end");
}

static void probe_devices(struct doctor *doctor)
{
	struct trial trials[DOCTOR_DEVICES_MAX];
	size_t ended;

	for (size_t i = 0; i < doctor->device_count; i++)
		start_device(doctor, i, "-", &trials[i]);
	for (size_t i = 0; i < doctor->device_count; i++) {
		if (trials[i].end == TRIAL_NOT_STARTED)
			end_device(doctor, i, &trials[i]);
	}
	while ((ended = trial_wait_any(trials, doctor->device_count)) < doctor->device_count)
		end_device(doctor, ended, &trials[ended]);
	for (size_t i = 0; i < doctor->device_count; i++)
		trial_fini(&trials[i]);
}

/* --- the routes --- */

static void probe_routes(struct doctor *doctor)
{
	char count[24];
	const char *const argv[] = {"/proc/self/exe", "doctor-child", "route", count,
		doctor->bandwidth ? "1" : "0", NULL};
	OWN(trial) struct trial trial = TRIAL_EMPTY;
	char begun[RESULT_WORD_BYTES];
	char ended[128];

	snprintf(count, sizeof(count), "%zu", doctor->device_count - 1);
	trial_start(&trial, argv, doctor->time_limit_ns);
	trial_wait_all(&trial, 1);
	if (trial.end == TRIAL_INTERRUPTED)
		return;
	take_lines(doctor, &trial, begun);
	doctor_keep_errors(doctor, "routes", &trial);
	if (trial.end == TRIAL_DONE)
		return;
	trial_end_text(&trial, ended, sizeof(ended));
	doctor->results.device = begun[0] ? begun : NULL;
	result_add(&doctor->results, "route", STATE_FAILS, cause_of_end(&trial),
		"the process that tried it %s", ended);
	doctor->results.device = NULL;
}

/* A GPU that hangs would hang there again. */
static bool hangs(const struct doctor *doctor)
{
	for (size_t i = 0; i < doctor->results.count; i++) {
		if (!strcmp(doctor->results.list[i].cause, "late"))
			return true;
	}
	return false;
}

void doctor_devices(struct doctor *doctor)
{
	doctor->devices[0] = (struct doctor_device){.selector = "host", .name = "the CPU"};
	doctor->device_count = 1;
	probe_driver(doctor);
	if (!interrupt_came())
		probe_devices(doctor);
	if (interrupt_came() || doctor->device_count < 2)
		return;
	if (hangs(doctor))
		result_add(&doctor->results, "route", STATE_SKIPPED, NULL,
			"a probe of a GPU did not end");
	else if (doctor->device_count > 2 || doctor->bandwidth)
		probe_routes(doctor);
}
