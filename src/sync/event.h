/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event.h - an event as the library sees it: one of the driver's, or on host a timeline
 *
 * An event that was made here can be found by its id, so that an import in its own process gives
 * the event itself.
 */
#ifndef WW_SYNC_EVENT_H
#define WW_SYNC_EVENT_H

#include <warpway/event.h>

#include "base/attachment.h"
#include "device/backend.h"
#include "sync/timeline.h"

struct ww_event {
	struct ww_ref ref;
	struct ww_list link;      /* among the own ones, under the lock of the list */
	struct ww_device *device; /* a reference; constant, as is all that follows up to lock */
	struct ww_device_event *native; /* owned; NULL on host */
	struct ww_timeline *timeline;   /* a reference; on host only */
	bool is_own;                    /* this process made it */
	uint8_t id[WW_WIRE_ID_BYTES];   /* of an own one: random, that of its object in brokers */

	pthread_mutex_t
		lock; /* on host: held while it is recorded, so that values are taken in turn */

	struct ww_attachments attachments; /* of one of the driver's, see ww_event_attachments() */
};

WW_DEFINE_CLEANUP(ww_event, ww_event_unref)
#define WW_AUTO_EVENT WW_CLEANUP(ww_event_unref_p)

/*
 * The event of another process, by a handle of the driver's.
 * Return: WW_OK; as ww_event_handle_open().
 */
ww_status ww_event_open(struct ww_device *device, const uint8_t handle[WW_EVENT_HANDLE_BYTES],
	struct ww_event **out_event);

/*
 * The event of another process on the host device.
 * @timeline:  a reference, taken over on success
 * Return: WW_OK; WW_ERR_NO_MEMORY.
 */
ww_status ww_event_of_timeline(struct ww_device *device, struct ww_timeline *timeline,
	struct ww_event **out_event);

/* Return: the own event of this id, a reference; NULL when there is none (any more). */
struct ww_event *ww_event_find_own(const uint8_t id[WW_WIRE_ID_BYTES]);

/*
 * What lasts as long as others may wait for the event: on host, its timeline, which stays after the
 * last unref until all recordings are reached.
 */
struct ww_attachments *ww_event_attachments(struct ww_event *event);

/* Return: WW_OK; WW_ERR_ACCESS (another process made it), recorded. @action: "export" */
ww_status ww_event_require_own(const struct ww_event *event, const char *action);

#endif
