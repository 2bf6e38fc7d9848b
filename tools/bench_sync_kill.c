/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_sync_kill.c - a signaller is killed, and how long its waiters wait
 *
 * One wait on the CPU and one of a stream, both for a value that never comes. Time runs from the kill. The floor is the
 * kernel's report, before which nobody can know. The raw calls have nothing to compare: they wait for ever.
 */
#include <stdio.h>

#include "bench_sync.h"
#include "broker.h"
#include "release.h"

struct scene {
	struct bench *bench;
	const char *address;
	ww_broker *broker;
};

/* Each from the kill on. */
struct series {
	struct samples report;
	struct samples cpu;
	struct samples stream;
	struct samples late; /* the later of both, from the report on */
};

static void own_series(struct series *series)
{
	samples_fini(&series->report);
	samples_fini(&series->cpu);
	samples_fini(&series->stream);
	samples_fini(&series->late);
}

static int note(struct series *series, const struct release *release)
{
	if (samples_add(&series->report, release->report_ns) ||
		samples_add(&series->cpu, release->cpu_ns) ||
		samples_add(&series->stream, release->stream_ns))
		return -1;
	return samples_add(&series->late, release_delay_ns(release));
}

static int release_once(const struct scene *scene, uint64_t number, struct series *series)
{
	OWN(child) struct child victim = CHILD_NONE;
	OWN(timeline) ww_timeline *timeline = NULL;
	OWN(stream) ww_stream *stream = NULL;
	struct release release;
	struct link_message message;
	char name[WW_NAME_BYTES];
	const struct child_plan plan = {
		.name = "the signaller",
		.arguments = {"bench-child", "sync", "signaller", scene->bench->info.selector,
			scene->address, name},
		.timeout_ns = SYNC_ANSWER_NS,
	};

	snprintf(name, sizeof(name), "bench/signaller/%llu", (unsigned long long)number);
	if (child_spawn(&victim, &plan) || child_receive(&victim, LINK_READY, &message, NULL))
		return -1;
	if (sync_expect(ww_timeline_get(scene->broker, name, 0, &timeline),
		    "cannot get the timeline") ||
		sync_expect(ww_stream_create(scene->bench->device, &stream),
			"cannot make a stream") ||
		release_run(timeline, 1, stream, &victim, SYNC_ANSWER_NS, &release))
		return -1;
	return note(series, &release);
}

static int add_all(struct bench *bench, struct series *series)
{
	struct bench_result slowest = {
		.name = "sync.release.slowest",
		.unit = "us",
		.p50 = samples_percentile_us(&series->late, 100),
		.p99 = BENCH_NONE,
		.floor_p50 = BENCH_NONE,
		.goal = BENCH_RELEASE_US,
	};

	if (sync_add(bench, "release.cpu", "us", &series->cpu, &series->report, NULL) ||
		sync_add(bench, "release.stream", "us", &series->stream, &series->report, NULL) ||
		sync_add(bench, "release.after_report", "us", &series->late, NULL, NULL))
		return -1;
	return bench_add_result(bench, &slowest);
}

int sync_release(struct bench *bench, const char *address)
{
	const struct ww_broker_params params = {
		.size = sizeof(params),
		.flags = WW_BROKER_NO_START,
		.address = address,
	};
	OWN(broker) ww_broker *broker = NULL;
	OWN(series) struct series series = {{0}, {0}, {0}, {0}};
	struct scene scene = {.bench = bench, .address = address};

	if (sync_expect(ww_broker_open(&params, &broker), "cannot connect to the broker"))
		return -1;
	scene.broker = broker;
	for (uint64_t i = 0; i < bench->kills; i++) {
		if (release_once(&scene, i, &series))
			return complain("measuring the release of waiters failed");
	}
	return add_all(bench, &series);
}

/* The process that is killed. */
int sync_role_signaller(const char *selector, const char *address, const char *name)
{
	const struct ww_broker_params params = {
		.size = sizeof(params),
		.flags = WW_BROKER_NO_START,
		.address = address,
	};
	OWN(device) ww_device *device = NULL;
	OWN(stream) ww_stream *stream = NULL;
	OWN(broker) ww_broker *broker = NULL;
	OWN(timeline) ww_timeline *timeline = NULL;
	struct link_message message = {.kind = LINK_READY};

	if (sync_expect(ww_device_open(selector, &device), "cannot open the device") ||
		sync_expect(ww_stream_create(device, &stream), "cannot make a stream") ||
		sync_expect(ww_timeline_create(NULL, &timeline), "cannot make a timeline") ||
		sync_expect(ww_timeline_prepare(timeline, device),
			"cannot make a timeline known to the device") ||
		sync_expect(ww_broker_open(&params, &broker), "cannot connect to the broker") ||
		sync_expect(ww_timeline_put(timeline, broker, name, NULL),
			"cannot name the timeline") ||
		release_expose())
		return -1;
	link_send(LINK_FD, &message, -1, WW_FOREVER);
	link_receive(LINK_FD, LINK_GO, &message, NULL, WW_FOREVER); /* never comes */
	return 0;
}
