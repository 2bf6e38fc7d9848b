/* SPDX-License-Identifier: Apache-2.0 */
/*
 * doctor.c - `warpway doctor`: finds out by trying what works here
 *
 * The broker for trials is one of its own, in a temporary folder, which goes away with it. However
 * this ends, by Ctrl-C too, nothing is left behind: children have no name anywhere, files have
 * none, and the broker is ended here.
 */
#include "doctor/doctor.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/interrupt.h"
#include "common/say.h"
#include "common/temp_broker.h"
#include "doctor/advice.h"
#include "doctor/probe.h"
#include "warpway/verbs.h"

#define BROKER_VARIABLE "WARPWAY_BROKER"
#define NS_PER_S        UINT64_C(1000000000)

static struct doctor doctor = {.time_limit_ns = 8 * NS_PER_S};
static char *variable_before; /* WARPWAY_BROKER, as it was; NULL: not set */

static const struct option_row options[] = {
	OPTION("bandwidth", FLAG, struct doctor, bandwidth),
	OPTION("report", TEXT, struct doctor, report),
	OPTION("time-limit", SECONDS, struct doctor, time_limit_ns, .value = 1),
	OPTION_JSON,
	OPTION_BROKER,
	OPTION_END,
};

static const char help[] =
	"Usage: warpway doctor [OPTION...]\n\n"
	"Finds out by trying what works here: machine, broker, Python, MPI, driver, and each device.\n"
	"Each line says works, limited, fails or skipped; where something is lost, what that is, and\n"
	"what to do. It disturbs no other process, and leaves nothing behind.\n\n"
	"  --bandwidth         also measure copies between the devices, and between each and the host\n"
	"  --report FILE       also write one file to attach to a question: versions, results, limits\n"
	"  --time-limit SECONDS  how long the probes of one device may take (default 8)\n"
	"  --json              the results as an object; its keys are in warpway(1)\n"
	"  --broker ADDRESS    the running broker to look at (default: the one that programs use here)\n"
	"  --help              this text\n\n"
	"  warpway doctor\n\n"
	"Exit codes: 0 two processes share memory of the host and of each GPU, 1 they do not, or do not\n"
	"reach the broker that they would use, 2 wrong use, or interrupted.\n";

bool doctor_shares(const struct doctor *found)
{
	const struct result *driver = result_find(&found->results, "driver", NULL);

	if (!driver || driver->state == STATE_FAILS)
		return false;
	for (size_t i = 0; i < found->device_count; i++) {
		const char *device = found->devices[i].selector;
		const struct result *share = result_find(&found->results, "share", device);
		const struct result *mode = result_find(&found->results, "compute-mode", device);

		if (!share || share->state != STATE_WORKS || (mode && mode->state == STATE_FAILS))
			return false;
	}
	return found->device_count > 0;
}

bool doctor_reaches_broker(const struct doctor *found)
{
	const struct result *broker = result_find(&found->results, "broker", NULL);

	return broker && broker->state != STATE_FAILS;
}

/*
 * Children find it by the variable. A failure to start it is a result: what it complains of.
 */
static void start_broker(struct temp_broker *broker)
{
	const char *before = getenv(BROKER_VARIABLE);
	char said[RESULT_FOUND_BYTES] = "";
	int failed;

	if (before)
		variable_before = strdup(before);
	report_capture(said, sizeof(said));
	failed = temp_broker_open(broker, NULL) || setenv(BROKER_VARIABLE, broker->address, 1);
	report_capture(NULL, 0);
	doctor.has_broker = !failed;
	if (failed)
		result_add(&doctor.results, "broker-trial", STATE_FAILS, NULL, "%s", said);
	else
		result_add(&doctor.results, "broker-trial", STATE_WORKS, NULL,
			"started in a folder of its own");
}

/* What goes wrong there is a result, too; Ctrl-C may have ended it before. */
static void end_broker(struct temp_broker *broker)
{
	char said[RESULT_FOUND_BYTES] = "";

	report_capture(said, sizeof(said));
	temp_broker_close(broker);
	report_capture(NULL, 0);
	if (variable_before)
		setenv(BROKER_VARIABLE, variable_before, 1);
	else
		unsetenv(BROKER_VARIABLE);
	free(variable_before);
	variable_before = NULL;
	if (said[0] && !interrupt_came())
		result_add(&doctor.results, "broker-trial", STATE_FAILS, NULL, "%s", said);
}

static void check_all(void)
{
	struct temp_broker broker = TEMP_BROKER_NONE;
	struct trial programs[DOCTOR_PROGRAMS] = {TRIAL_EMPTY, TRIAL_EMPTY, TRIAL_EMPTY};

	doctor_place(&doctor);
	doctor_machine(&doctor);
	doctor_programs_start(&doctor, programs);
	doctor_broker_running(&doctor);
	doctor_mpi(&doctor);
	if (!interrupt_came())
		start_broker(&broker);
	if (!interrupt_came())
		doctor_devices(&doctor);
	doctor_programs_read(&doctor, programs);
	end_broker(&broker);
	for (size_t i = 0; i < DOCTOR_PROGRAMS; i++)
		trial_fini(&programs[i]);
}

/* Where a result is shown: those of the machine, of each device, of the routes. */
static size_t place_of(const struct result *result)
{
	size_t device = 0;

	if (!strcmp(result->check, "route"))
		return doctor.device_count + 1;
	if (!result->device[0])
		return 0;
	while (device < doctor.device_count &&
		strcmp(doctor.devices[device].selector, result->device) != 0)
		device++;
	return device + 1;
}

static bool is_before(const struct result *left, const struct result *right)
{
	size_t one = place_of(left);
	size_t two = place_of(right);

	/* Routes, which name two devices, stay in the order in which they were tried. */
	if (one != two || one > doctor.device_count)
		return one < two;
	return check_find(left->check) < check_find(right->check);
}

/* In the order in which the text shows them; the JSON has the same. */
static void sort_results(void)
{
	struct result *list = doctor.results.list;

	for (size_t i = 1; i < doctor.results.count; i++) {
		struct result moved = list[i];
		size_t to = i;

		for (; to > 0 && is_before(&moved, &list[to - 1]); to--)
			list[to] = list[to - 1];
		list[to] = moved;
	}
}

static int show(void)
{
	int failed = doctor.request.json ? doctor_print_json(&doctor)
					 : doctor_print_text(&doctor, stdout);

	if (doctor.report && doctor_write_report(&doctor))
		failed = -1;
	if (failed)
		return EXIT_CANNOT;
	return doctor_shares(&doctor) && doctor_reaches_broker(&doctor) ? EXIT_DONE : EXIT_FAILED;
}

static int run(struct request *request)
{
	int code;

	(void)request;
	if (interrupt_open_once() || (doctor.report && doctor_try_report(&doctor)))
		return EXIT_CANNOT;
	check_all();
	sort_results();
	code = interrupt_came() ? refuse("interrupted") : show();
	for (size_t i = 0; i < doctor.error_count; i++)
		free(doctor.errors[i]);
	results_fini(&doctor.results);
	return code;
}

const struct verb verb_doctor = {.name = "doctor",
	.summary = "find out by trying what works here, and what to do where it does not",
	.options = options,
	.help = help,
	.context = &doctor,
	.run = run};

/* --- children --- */

int verb_doctor_child(int argc, char *argv[])
{
	static const struct {
		const char *role;
		int (*run)(int argc, char *argv[]);
	} roles[] = {
		{"driver", child_driver},
		{"library", child_library},
		{"device", child_device},
		{"peer", child_peer},
		{"route", child_route},
	};

	for (size_t i = 0; argc > 1 && i < sizeof(roles) / sizeof(roles[0]); i++) {
		if (!strcmp(argv[1], roles[i].role)) {
			child_begin();
			return roles[i].run(argc - 1, argv + 1);
		}
	}
	return refuse("this verb is for processes that `warpway doctor` starts itself");
}
