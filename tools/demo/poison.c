/* SPDX-License-Identifier: Apache-2.0 */
/*
 * poison.c - who waits for a process that is killed is told at once
 *
 *   parent                                 signaller
 *                                          makes a timeline, names it, its stream signals 1
 *   gets it, its stream waits for 1
 *   CPU and stream wait for 2              never signals 2: is killed with SIGKILL
 *   both are released by the broker
 *
 * With CUDA's own means both would wait for ever.
 */
#include "demo/demo.h"

#include <signal.h>
#include <stdio.h>

#include "common/release_time.h"

#define NAME      "demo/line"
#define NS_PER_MS 1e6

static int get_timeline(ww_broker **out_broker, ww_timeline **out_timeline)
{
	if (ww_broker_open(NULL, out_broker) != WW_OK)
		return complain_record("cannot connect to a broker");
	if (ww_timeline_get(*out_broker, NAME, 0, NULL, out_timeline) != WW_OK)
		return complain_record("cannot get the timeline %s", NAME);
	return 0;
}

/* As long as the signaller lives all is well. */
static int wait_for_first(const struct demo *demo, ww_timeline *timeline, ww_stream *stream)
{
	if (ww_timeline_stream_wait(timeline, stream, 1, 0, demo->timeout_ns, NULL) != WW_OK ||
		ww_stream_synchronize(stream, WW_FOREVER, NULL) != WW_OK)
		return complain_record("cannot wait for value 1");
	say("got the timeline %s, its value 1 is reached; waits for 2, on the CPU and on a stream",
		NAME);
	return 0;
}

static int tell(ww_timeline *timeline, const struct release *release, struct demo_step *step)
{
	struct ww_timeline_info info = WW_INIT(struct ww_timeline_info);
	double report_ms = (double)release->report_ns / NS_PER_MS;
	double cpu_ms = (double)release->cpu_ns / NS_PER_MS;
	double stream_ms = (double)release->stream_ns / NS_PER_MS;

	if (ww_timeline_info_get(timeline, &info) != WW_OK)
		return complain_record("cannot ask how the timeline is");
	say("killed pid %u (%s) with SIGKILL; the kernel said so after %.2f ms, the CPU's wait ended "
	    "after %.2f ms, the stream's after %.2f ms",
		info.pid, info.program, report_ms, cpu_ms, stream_ms);
	snprintf(step->shown, sizeof(step->shown),
		"told that pid %u (%s) died: %.2f ms after the kill, %.2f ms after the kernel said so",
		info.pid, info.program, stream_ms > cpu_ms ? stream_ms : cpu_ms,
		(double)release_delay_ns(release) / NS_PER_MS);
	return 0;
}

int demo_poison(const struct demo *demo, struct demo_step *step)
{
	OWN(child) struct child signaller = CHILD_NONE;
	OWN(broker) ww_broker *broker = NULL;
	OWN(timeline) ww_timeline *timeline = NULL;
	OWN(stream) ww_stream *stream = NULL;
	struct link_message message;
	struct release release;

	if (demo_spawn(demo, "signaller", &signaller) ||
		child_receive(&signaller, LINK_READY, &message, NULL) ||
		get_timeline(&broker, &timeline))
		return -1;
	if (ww_stream_create(demo->device, &stream) != WW_OK)
		return complain_record("cannot make a stream");
	if (wait_for_first(demo, timeline, stream) ||
		release_run(timeline, 2, stream, &signaller, demo->timeout_ns, &release))
		return -1;
	if (ww_timeline_query(timeline, 2) != WW_ERR_PEER_LOST)
		return complain(
			"a later look at the timeline does not say that its signaller died");
	say("whoever asks later is told, too: %s", ww_error_last()->message);
	return tell(timeline, &release, step) ? -1 : child_finish(&signaller, SIGKILL);
}

int demo_signaller(const struct demo_child *child)
{
	OWN(broker) ww_broker *broker = NULL;
	OWN(timeline) ww_timeline *timeline = NULL;
	struct link_message message = {.kind = LINK_READY};

	if (ww_broker_open(NULL, &broker) != WW_OK)
		return complain_record("cannot connect to a broker");
	if (ww_timeline_create(NULL, &timeline) != WW_OK ||
		ww_timeline_put(timeline, broker, NAME, NULL, NULL) != WW_OK ||
		ww_timeline_stream_signal(timeline, child->stream, 1) != WW_OK)
		return complain_record("cannot share a timeline");
	if (release_expose())
		return -1;
	say("made the timeline %s, has its stream signal 1, and will never signal 2", NAME);
	return demo_child_await_kill(&message, -1);
}
