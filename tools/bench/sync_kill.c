/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sync_kill.c - a signaller is killed, and how long its waiters wait
 *
 * One wait on the CPU and one of a stream, both for a value that never comes. Time runs from the
 * kill. The floor is the kernel's report, before which nobody can know. The raw calls have nothing
 * to compare: they wait for ever.
 */
#include <stdio.h>

#include "bench/sync.h"
#include "common/release_time.h"

int sync_release(struct bench *bench, uint64_t out_ns[])
{
	static uint64_t number;
	OWN(child) struct child victim = CHILD_NONE;
	OWN(timeline) ww_timeline *timeline = NULL;
	OWN(stream) ww_stream *stream = NULL;
	struct release release;
	struct link_message message;
	char name[WW_NAME_BYTES];

	snprintf(name, sizeof(name), "bench/signaller/%llu", (unsigned long long)number++);
	if (bench_spawn(bench, "signaller", NULL, name, &victim) ||
		child_receive(&victim, LINK_READY, &message, NULL) ||
		bench_expect(ww_timeline_get(bench->broker, name, 0, NULL, &timeline),
			"cannot get the timeline") ||
		bench_expect(ww_stream_create(bench->device, &stream), "cannot make a stream") ||
		release_run(timeline, 1, stream, &victim, SYNC_ANSWER_NS, &release))
		return -1;
	out_ns[SYNC_RELEASE_CPU] = release.cpu_ns;
	out_ns[SYNC_RELEASE_STREAM] = release.stream_ns;
	out_ns[SYNC_RELEASE_LATE] = release_delay_ns(&release);
	out_ns[SYNC_RELEASE_REPORT] = release.report_ns;
	return 0;
}

/* The process that is killed. It connects late, see release_expose(). */
int sync_role_signaller(struct bench *bench, const char *name)
{
	OWN(stream) ww_stream *stream = NULL;
	OWN(timeline) ww_timeline *timeline = NULL;

	if (bench_expect(ww_stream_create(bench->device, &stream), "cannot make a stream") ||
		bench_expect(ww_timeline_create(NULL, &timeline), "cannot make a timeline") ||
		bench_expect(ww_timeline_prepare(timeline, bench->device),
			"cannot make a timeline known to the device") ||
		bench_connect(bench) ||
		bench_expect(ww_timeline_put(timeline, bench->broker, name, NULL, NULL),
			"cannot name the timeline") ||
		release_expose())
		return -1;
	return bench_child_wait();
}
