/* SPDX-License-Identifier: Apache-2.0 */
/*
 * events.h - what a side of a channel has learnt of the other one, until its program asks
 *
 * Every call on the channel may add events; ww_channel_next_event() takes them out. A new kind is a
 * constant in the public header, and a call of ww_channel_tell() where it is noticed.
 */
#ifndef WW_CHANNEL_EVENTS_H
#define WW_CHANNEL_EVENTS_H

#include <stdbool.h>

#include <warpway/channel.h>

struct ww_consumer_view;

/* The oldest is dropped when there is no room. */
struct ww_channel_events {
	struct ww_channel_event at[WW_CHANNEL_EVENTS_MAX];
	uint32_t first;
	uint32_t count;
	uint64_t dropped; /* before the first */
	bool is_end_told; /* of the producer */
};

/* Frames that are to come in time. */
struct ww_frame_deadline {
	uint64_t period_ns; /* 0: there is no deadline */
	uint64_t since_ns;  /* when the last frame was published, or this side began */
	uint64_t counted;   /* periods since then that were missed */
	uint64_t missed;    /* in all */
};

/*
 * Adds an event, with the last frame published, and the producer's process.
 * Return: it, for the caller to complete.
 */
struct ww_channel_event *ww_channel_tell(struct ww_channel *channel, uint32_t kind);

/* The same, with the process of a consumer. */
struct ww_channel_event *ww_channel_tell_of(struct ww_channel *channel, uint32_t kind,
	const struct ww_consumer_view *view);

/* Takes the oldest event out. Return: WW_OK; WW_NOT_READY (there is none). */
ww_status ww_channel_events_take(struct ww_channel_events *events,
	struct ww_channel_event *out_event);

/* Begins to count. @period_ns: 0: not at all */
void ww_channel_begin_deadline(struct ww_channel *channel, uint64_t period_ns);

/* Whether a frame is late; tells so once for each period. Without a deadline it costs nothing. */
void ww_channel_check_deadline(struct ww_channel *channel);

/* When the next frame will be late, or @deadline_ns if that is sooner. */
uint64_t ww_channel_next_late_ns(const struct ww_channel *channel, uint64_t deadline_ns);

/* Of a consumer, or an observer: tells, once, that the producer has closed the channel or ended. */
void ww_channel_check_end(struct ww_channel *channel);

#endif
