/* SPDX-License-Identifier: Apache-2.0 */
/*
 * timeline_eventfd.c - timelines in event loops: descriptors that tell of a value
 */
#include <unistd.h>

#include "conformance/conformance.h"
#include "support/timeline.h"

static void tell_by_eventfd(ww_device *device)
{
	OWN(timeline) ww_timeline *timeline = timeline_make(0, 0);
	OWN(stream) ww_stream *stream = stream_make(device);
	uint64_t count = 0;
	int fds[20];

	for (uint64_t i = 0; i < CHECK_COUNT(fds); i++)
		fds[i] = timeline_eventfd_make(timeline, i, stream);
	MUST(fd_is_readable(fds[0], child_limit_ms()));
	MUST(!fd_is_readable(fds[1], 0));
	MUST_EQUAL(-1, read(fds[1], &count, sizeof(count)));
	MUST_STATUS(WW_NOT_READY, ww_stream_query(stream));
	close(fds[2]); /* before and after its value */
	MUST_OK(ww_timeline_signal(timeline, 10));
	close(fds[10]);
	for (uint64_t i = 1; i < CHECK_COUNT(fds); i++) {
		if (i == 2 || i == 10)
			continue;
		MUST_EQUAL(i < 10, fd_is_readable(fds[i], i < 10 ? child_limit_ms() : 0));
		if (i < 10)
			MUST_EQUAL(sizeof(count), read(fds[i], &count, sizeof(count)));
	}
	MUST_EQUAL(1, count);
	MUST_OK(ww_timeline_signal(timeline, CHECK_COUNT(fds)));
	for (uint64_t i = 0; i < CHECK_COUNT(fds); i++) {
		if (i == 2 || i == 10)
			continue;
		MUST(i == 0 || i < 10 || fd_is_readable(fds[i], child_limit_ms()));
		close(fds[i]);
	}
	MUST_OK(ww_stream_synchronize(stream, WW_FOREVER, NULL));
	fds[0] = timeline_eventfd_make(timeline, CHECK_COUNT(fds), stream);
	MUST(fd_is_readable(fds[0], child_limit_ms()));
	close(fds[0]);
	MUST_OK(ww_stream_synchronize(stream, WW_FOREVER, NULL));
}

DEVICE_CASE(timeline_eventfd_tells, WW_CAP_STREAM_VALUE)
{
	tell_by_eventfd(device);
}

CASE(timeline_eventfd_tells_by_host_stream, 0)
{
	OWN(device) ww_device *host;

	MUST_OK(ww_device_open("host", &host));
	tell_by_eventfd(host);
}

/* A GPU signals, the host's stream tells. */
DEVICE_CASE(timeline_eventfd_of_what_streams_signal, WW_CAP_STREAM_VALUE)
{
	OWN(stream) ww_stream *stream = stream_make(device);
	OWN(timeline) ww_timeline *hold = timeline_make(0, 0);
	OWN(timeline) ww_timeline *timeline = timeline_make(0, 0);
	OWN(device) ww_device *host;
	OWN(stream) ww_stream *host_stream;
	int fd;

	MUST_OK(ww_device_open("host", &host));
	host_stream = stream_make(host);
	fd = timeline_eventfd_make(timeline, 2, host_stream);
	stream_hold(stream, hold, 1);
	MUST_OK(ww_timeline_stream_signal(timeline, stream, 2));
	MUST(!fd_is_readable(fd, 0));
	MUST_OK(ww_timeline_signal(hold, 1));
	MUST(fd_is_readable(fd, child_limit_ms()));
	MUST_OK(ww_timeline_query(timeline, 2));
	close(fd);
	MUST_OK(ww_stream_synchronize(host_stream, WW_FOREVER, NULL));
}

DEVICE_CASE(timeline_eventfd_refuses, WW_CAP_STREAM_VALUE)
{
	OWN(stream) ww_stream *stream = stream_make(device);
	OWN(timeline) ww_timeline *timeline = timeline_make(0, 0);
	int fd = 0;

	MUST_REFUSE(WW_ERR_INVALID, "2^62",
		ww_timeline_eventfd(timeline, stream, WW_TIMELINE_MAX + 1, &fd));
	MUST_EQUAL(-1, fd);
	MUST_OK(ww_stream_synchronize(stream, WW_FOREVER, NULL));
}
