/* SPDX-License-Identifier: Apache-2.0 */
/*
 * demo.c - `warpway demo`: memory shared between processes that wait for each other, shown step by
 * step
 *
 * The parent opens a device, makes sure that what was asked for fits into it, and runs the steps
 * one after the other; the first that fails ends the demo. Parent and children print what they see.
 * With --json standard output carries nothing but the results: what is seen goes to standard error.
 */
#include "demo/demo.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/device.h"
#include "common/standard_streams.h"
#include "common/temp_broker.h"
#include "common/option.h"
#include "warpway/verbs.h"

#define BROKER_VARIABLE "WARPWAY_BROKER"

#define NS_PER_SECOND UINT64_C(1000000000)
#define NS_PER_MS     1e6

/* Without --timeout: so long for one answer, and longer for data at a slow machine's pace. */
#define TIMEOUT_SECONDS       UINT64_C(60)
#define SLOW_BYTES_PER_SECOND (UINT64_C(32) << 20)
#define TIMEOUT_SECONDS_MAX   UINT64_C(86400)

/* What a step needs. */
enum {
	NEED_BROKER = 1,    /* WARPWAY_BROKER names a broker that is the step's alone */
	NEED_TIMELINES = 2, /* the device's streams wait for timelines; else nothing is shown */
	NEED_FOREIGN = 4    /* CUDA's own calls make memory of the device; likewise */
};

struct step_plan {
	const char *name;
	int (*run)(const struct demo *demo, struct demo_step *step);
	unsigned int needs;
};

static const struct step_plan plans[] = {
	{"round trip", demo_roundtrip, 0},
	{"ring", demo_ring, 0},
	{"survival", demo_survival, 0},
	{"protection", demo_protection, 0},
	{"broker", demo_broker, NEED_BROKER},
	{"pool slice", demo_slice, NEED_BROKER},
	{"array view", demo_view, NEED_BROKER},
	{"CUDA pointer", demo_foreign, NEED_BROKER | NEED_FOREIGN},
	{"plain CUDA", demo_plain, NEED_FOREIGN},
	{"ping-pong", demo_pingpong, NEED_BROKER | NEED_TIMELINES},
	{"channel", demo_channel, NEED_BROKER | NEED_TIMELINES},
	{"lost peer", demo_poison, NEED_BROKER | NEED_TIMELINES},
};

#define STEP_COUNT (sizeof(plans) / sizeof(plans[0]))

static const struct option_row options[] = {
	OPTION("device", TEXT, struct demo, device_name),
	OPTION("elements", NUMBER, struct demo, elements, .value = 1,
		.maximum = INT64_MAX / sizeof(float)),
	OPTION("processes", NUMBER, struct demo, processes, .value = 1, .maximum = CHILD_GROUP_MAX),
	OPTION("timeout", NUMBER, struct demo, timeout_s, .value = 1,
		.maximum = TIMEOUT_SECONDS_MAX),
	OPTION("json", FLAG, struct demo, json),
	OPTION_END,
};

static const char help[] =
	"Usage: warpway demo [OPTION...]\n\n"
	"Shows memory shared between processes, every element verified, and processes that wait\n"
	"for each other:\n"
	"  round trip    a child maps memory, verifies it and writes to it\n"
	"  ring          processes over all devices verify each other's memory, in rounds\n"
	"  survival      memory stays whole when its maker is killed\n"
	"  protection    memory handed out for reading cannot be written\n"
	"  broker        memory with a name is read after its maker was killed\n"
	"  pool slice    a slice of a pool goes to a child by token, its neighbour does not\n"
	"  array view    a child reads every second element, from the last to the first\n"
	"  CUDA pointer  the middle of a cuMemAlloc allocation is handed to a child\n"
	"  plain CUDA    a program without this library opens memory of ours, and we of its\n"
	"  ping-pong     streams of two processes answer each other, by timeline and by event\n"
	"  channel       frames to a fast, a slow and a killed consumer: nobody waits for them\n"
	"  lost peer     who waits for a process that is killed is told at once\n\n"
	"  --device NAME    host, cuda:N or cuda:UUID (default: a usable GPU, else host)\n"
	"  --elements N     float32 elements in each memory (default 1048576)\n"
	"  --processes N    processes in the ring, 1 to 256 (default 4)\n"
	"  --timeout SECONDS  how long a process may take for one answer (default: 60 and\n"
	"                   more for many elements)\n"
	"  --json           results as JSON on standard output, what is seen on standard error\n"
	"  --help           this text\n\n"
	"Exit codes: 0 done, 1 failed, 2 cannot run here or wrong use.\n";

static uint64_t default_timeout_s(const struct demo *demo)
{
	uint64_t seconds = demo->elements * sizeof(float) / SLOW_BYTES_PER_SECOND;

	if (__builtin_mul_overflow(seconds, demo->processes, &seconds) ||
		seconds > TIMEOUT_SECONDS_MAX - TIMEOUT_SECONDS)
		return TIMEOUT_SECONDS_MAX;
	return TIMEOUT_SECONDS + seconds;
}

static int prepare(struct demo *demo)
{
	int code = device_choose(demo->device_name, &demo->device, &demo->info);

	if (code)
		return code;
	number_size_text(demo->elements * sizeof(float), demo->size_text);
	say("Warpway %s on %s: %s, %s, MPS %s", ww_version(), demo->info.selector, demo->info.name,
		demo->info.driver, device_mps_name(&demo->info));
	demo_devices_find(demo);
	code = demo_room_check(demo);
	if (code)
		return code;
	if (ww_stream_create(demo->device, &demo->stream) != WW_OK) {
		complain_record("cannot make a stream on %s", demo->info.selector);
		return EXIT_FAILED;
	}
	return 0;
}

/* Whether the device can show the step; else the step says why it shows nothing. */
static bool can_show(const struct demo *demo, unsigned int needs, struct demo_step *step)
{
	const uint64_t for_timelines = WW_CAP_STREAM_VALUE | WW_CAP_HOST_READ_ONLY;
	uint64_t capabilities = demo->info.capabilities;

	if (needs & NEED_TIMELINES && (capabilities & for_timelines) != for_timelines)
		snprintf(step->shown, sizeof(step->shown),
			"nothing: streams of %s cannot wait for others", demo->info.selector);
	else if (needs & NEED_FOREIGN &&
		(demo->info.backend != WW_BACKEND_CUDA || !(capabilities & WW_CAP_FOREIGN)))
		snprintf(step->shown, sizeof(step->shown),
			"nothing: memory of %s is not made by CUDA", demo->info.selector);
	else
		return true;
	return false;
}

static int run_with_broker(const struct demo *demo, const struct step_plan *plan,
	struct demo_step *step)
{
	OWN(temp_broker) struct temp_broker temp_broker = TEMP_BROKER_NONE;
	const char *before = getenv(BROKER_VARIABLE);
	int result;

	if (temp_broker_open(&temp_broker, NULL))
		return -1;
	if (setenv(BROKER_VARIABLE, temp_broker.address, 1))
		return complain("out of memory");
	result = plan->run(demo, step);
	if (before)
		setenv(BROKER_VARIABLE, before, 1);
	else
		unsetenv(BROKER_VARIABLE);
	return result;
}

static int run_step(const struct demo *demo, const struct step_plan *plan, struct demo_step *step)
{
	if (!can_show(demo, plan->needs, step))
		return 0;
	return plan->needs & NEED_BROKER ? run_with_broker(demo, plan, step)
					 : plan->run(demo, step);
}

/* Returns how many steps were run; the last of them may have failed. */
static size_t run_steps(const struct demo *demo, struct demo_step steps[])
{
	for (size_t i = 0; i < STEP_COUNT; i++) {
		uint64_t start = link_now_ns();

		steps[i].name = plans[i].name;
		snprintf(steps[i].devices, sizeof(steps[i].devices), "%s", demo->info.selector);
		steps[i].passed = run_step(demo, &plans[i], &steps[i]) == 0;
		steps[i].ms = (double)(link_now_ns() - start) / NS_PER_MS;
		if (!steps[i].passed) {
			complain("the step '%s' failed", steps[i].name);
			return i + 1;
		}
	}
	return STEP_COUNT;
}

static int run(struct demo *demo, struct demo_step steps[], size_t *out_count)
{
	int code = prepare(demo);

	if (code)
		return code;
	report_set("demo", "parent");
	*out_count = run_steps(demo, steps);
	report_set("demo", NULL);
	return steps[*out_count - 1].passed ? EXIT_DONE : EXIT_FAILED;
}

int verb_demo(int argc, char *argv[])
{
	struct demo demo = {.elements = UINT64_C(1) << 20, .processes = 4};
	struct demo_step steps[STEP_COUNT] = {0};
	OWN(redirect) struct reserved_stdout redirect = REDIRECT_NONE;
	size_t count = 0;
	int code = option_read(argc, argv, options, help, &demo);

	if (code < 0 && option_no_more(argc, argv))
		code = EXIT_CANNOT;
	if (code >= 0)
		return code;
	demo.timeout_ns = (demo.timeout_s ? demo.timeout_s : default_timeout_s(&demo)) *
		NS_PER_SECOND;
	if (demo.json && reserved_stdout_start(&redirect))
		return EXIT_FAILED;
	code = run(&demo, steps, &count);
	ww_stream_unref(demo.stream);
	ww_device_unref(demo.device);
	reserved_stdout_end(&redirect);
	if (count > 0 && demo_report(&demo, steps, count))
		return EXIT_FAILED;
	return code;
}
