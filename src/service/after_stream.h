/* SPDX-License-Identifier: Apache-2.0 */
/*
 * after_stream.h - streams of a GPU that wait for the values that calls start after
 *
 * The leader polls the timelines for which lanes wait (after.h), so it notices a value some time
 * after it is reached. If the service has the option (after_streams), a stream waits for the value
 * on the GPU as well, and tells the leader:
 *
 *   a lane waits, the value is submitted ──> stream: wait, then notify ──> the leader looks
 *
 * The work of the call is not enqueued behind the wait. So the call can be cancelled or be too late
 * as any other one, it is not run if its value never comes, and the service can end at any time.
 * When it does, the release of a stream that waits is deferred (device/deferred_release.h). All
 * that the stream uses is a page of the timeline, which stays mapped.
 *
 * A stream that waits cannot be called back, and keeps the driver from releasing some memory of the
 * process. So streams wait only for clients and timelines of the server's own user, and for values
 * that are submitted, so that a stream of the signaller is about to reach them.
 * All services of a process have WW_SERVICE_AFTER_STREAMS_MAX such waits together. If none is free,
 * the leader polls, as without the option.
 */
#ifndef WW_SERVICE_AFTER_STREAM_H
#define WW_SERVICE_AFTER_STREAM_H

#include "service/after.h"

/*
 * Makes the streams, if the service is to have some. On the host device there are none: its streams
 * are threads.
 * Return: WW_OK; WW_ERR_NO_MEMORY; as ww_stream_create().
 */
ww_status ww_after_streams_create(struct ww_service *service);

/* Also of a service that is not whole yet. Waits for no stream. */
void ww_after_streams_fini(struct ww_service *service);

/* Whether the service may have streams wait for this timeline of the client's. */
bool ww_after_stream_may_wait(const struct ww_service *service, const struct ww_client_view *view,
	const struct ww_timeline *timeline);

/*
 * Has a stream wait for what the lane's first call waits for, if that is submitted, a stream is
 * free, and none does so yet. By the leader, locked. Leaves the error record alone.
 */
void ww_after_stream_wait(struct ww_service *service, const struct ww_client_view *view,
	struct ww_service_lane *lane);

/* Whether a stream has told of a value since this was asked last. */
bool ww_after_stream_has_told(struct ww_service *service);

/* How many streams wait now. */
uint32_t ww_after_stream_count(const struct ww_service *service);

#endif
