/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sync_description.h - descriptions of objects that are not memory: timelines, barriers, events,
 * pools, channels, work queues, services
 *
 * The broker keeps them for the process that put the object, and does not read them. They come from
 * untrusted processes: reading checks everything that can be checked without the object.
 */
#ifndef WW_WIRE_SYNC_DESCRIPTION_H
#define WW_WIRE_SYNC_DESCRIPTION_H

#include "wire/protocol.h"

#define WW_TIMELINE_REF_BYTES       64
#define WW_BARRIER_REF_BYTES        64
#define WW_EVENT_REF_BYTES          192
#define WW_POOL_REF_BYTES           128
#define WW_POOL_HOLDER_REF_BYTES    64
#define WW_CHANNEL_REF_BYTES        128
#define WW_CONSUMER_REF_BYTES       64
#define WW_WORK_QUEUE_REF_BYTES     128
#define WW_SERVICE_REF_BYTES        192
#define WW_SERVICE_CLIENT_REF_BYTES 64

#define WW_CHANNEL_PAGE_MOST (UINT64_C(64) << 20) /* bytes of a ring, or of marks */

/* Magic, version, length and checksum are filled in; the rest is @ref's. */
void ww_timeline_ref_write(const struct ww_wire_timeline_ref *ref,
	uint8_t out[WW_TIMELINE_REF_BYTES]);
void ww_barrier_ref_write(const struct ww_wire_barrier_ref *ref, uint8_t out[WW_BARRIER_REF_BYTES]);
void ww_event_ref_write(const struct ww_wire_event_ref *ref, uint8_t out[WW_EVENT_REF_BYTES]);
void ww_pool_ref_write(const struct ww_wire_pool_ref *ref, uint8_t out[WW_POOL_REF_BYTES]);
void ww_pool_holder_ref_write(const struct ww_wire_pool_holder_ref *ref,
	uint8_t out[WW_POOL_HOLDER_REF_BYTES]);
void ww_channel_ref_write(const struct ww_wire_channel_ref *ref, uint8_t out[WW_CHANNEL_REF_BYTES]);
void ww_consumer_ref_write(const struct ww_wire_channel_consumer_ref *ref,
	uint8_t out[WW_CONSUMER_REF_BYTES]);
void ww_work_queue_ref_write(const struct ww_wire_work_queue_ref *ref,
	uint8_t out[WW_WORK_QUEUE_REF_BYTES]);
void ww_service_ref_write(const struct ww_wire_service_ref *ref, uint8_t out[WW_SERVICE_REF_BYTES]);
void ww_service_client_ref_write(const struct ww_wire_service_client_ref *ref,
	uint8_t out[WW_SERVICE_CLIENT_REF_BYTES]);

/*
 * Return: WW_OK; WW_ERR_PROTOCOL (not one, damaged, or it says what cannot be); WW_ERR_VERSION (of
 * another version).
 */
ww_status ww_timeline_ref_read(const uint8_t *bytes, size_t count,
	struct ww_wire_timeline_ref *out_ref);
ww_status ww_barrier_ref_read(const uint8_t *bytes, size_t count,
	struct ww_wire_barrier_ref *out_ref);
ww_status ww_event_ref_read(const uint8_t *bytes, size_t count, struct ww_wire_event_ref *out_ref);
ww_status ww_pool_ref_read(const uint8_t *bytes, size_t count, struct ww_wire_pool_ref *out_ref);
ww_status ww_pool_holder_ref_read(const uint8_t *bytes, size_t count,
	struct ww_wire_pool_holder_ref *out_ref);
ww_status ww_channel_ref_read(const uint8_t *bytes, size_t count,
	struct ww_wire_channel_ref *out_ref);
ww_status ww_consumer_ref_read(const uint8_t *bytes, size_t count,
	struct ww_wire_channel_consumer_ref *out_ref);
ww_status ww_work_queue_ref_read(const uint8_t *bytes, size_t count,
	struct ww_wire_work_queue_ref *out_ref);
ww_status ww_service_ref_read(const uint8_t *bytes, size_t count,
	struct ww_wire_service_ref *out_ref);
ww_status ww_service_client_ref_read(const uint8_t *bytes, size_t count,
	struct ww_wire_service_client_ref *out_ref);

#endif
