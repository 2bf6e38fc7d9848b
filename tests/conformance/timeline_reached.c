/* SPDX-License-Identifier: Apache-2.0 */
/*
 * timeline_reached.c - what a signaller had reached when it ended counts as reached, for every kind
 * of wait
 *
 * The signaller is made by hand (support/timeline.h), which the library takes for another process.
 */
#include <unistd.h>

#include "conformance/conformance.h"
#include "support/broker_case.h"
#include "support/timeline.h"

#define FOREVER WW_FOREVER

static sem_t ran;

/*
 * Reached before its end, and waited for or looked at after it: by CPUs and streams, however far
 * these are.
 */
static void must_count(ww_timeline *timeline, ww_stream *stream, uint64_t reached)
{
	OWN(stream) ww_stream *fresh = stream_make(scene.device);

	for (uint64_t value = 0; value <= reached; value++) {
		MUST_OK(ww_timeline_wait(timeline, value, FOREVER, NULL));
		MUST_OK(ww_timeline_query(timeline, value));
		MUST_OK(ww_timeline_stream_wait(timeline, fresh, value, 0, 0, NULL));
		MUST_OK(ww_timeline_stream_wait(timeline, fresh, value, WW_WAIT_UNSUBMITTED, 0,
			NULL));
	}
	MUST_OK(ww_stream_synchronize(fresh, WW_FOREVER, NULL));
	MUST_OK(ww_stream_synchronize(stream, WW_FOREVER, NULL));
	MUST_OK(ww_stream_query(stream));
	MUST_OK(ww_stream_call(stream, gate_post, &ran));
	MUST_OK(ww_stream_synchronize(stream, WW_FOREVER, NULL));
}

SCENE_CASE(timeline_reached_before_the_end_counts, WW_CAP_STREAM_VALUE | WW_CAP_HOST_READ_ONLY)
{
	ENDED_BY(signaller_end) struct signaller signaller;
	OWN(timeline) ww_timeline *own = timeline_make(0, 0);
	OWN(timeline) ww_timeline *timeline;
	OWN(stream) ww_stream *behind;
	OWN(stream) ww_stream *host_stream;
	OWN(device) ww_device *host;
	int fd;

	MUST_OK(ww_device_open("host", &host));
	host_stream = stream_make(host);
	behind = stream_make(scene.device);
	signaller_begin(&signaller);
	signaller_name(&signaller, "x", 0);
	MUST_OK(ww_timeline_get(scene.broker, "x", 0, NULL, &timeline));
	/*
	 * These streams come to their waits when all is over: poison lets them go, not the value.
	 */
	stream_hold(behind, own, 1);
	stream_hold(host_stream, own, 1);
	MUST_OK(ww_timeline_stream_wait(timeline, behind, 100, WW_WAIT_UNSUBMITTED, 0, NULL));
	MUST_OK(ww_timeline_eventfd(timeline, host_stream, 100, &fd));
	signaller_signal(&signaller, 0, 100);
	signaller_poison(&signaller);
	MUST_STATUS(WW_NOT_READY, ww_stream_query(behind));
	MUST_OK(ww_timeline_signal(own, 1));
	must_count(timeline, behind, 100);
	MUST(fd_is_readable(fd, child_limit_ms()));
	MUST_OK(ww_timeline_query(timeline, 100));
	close(fd);
	/* Nor does what its GPU does later, or the broker once more, change it. */
	__atomic_store_n(&page_cell(&signaller.page, 0)->completed, 7, __ATOMIC_RELEASE);
	must_count(timeline, behind, 100);
	__atomic_store_n(&page_cell(&signaller.page, 0)->completed, 101, __ATOMIC_RELEASE);
	MUST_REFUSE(WW_ERR_PEER_LOST, "value 101", ww_timeline_wait(timeline, 101, FOREVER, NULL));
	signaller_poison(&signaller);
	must_count(timeline, behind, 100);
	MUST_REFUSE(WW_ERR_PEER_LOST, "value 101", ww_timeline_wait(timeline, 101, FOREVER, NULL));
}
