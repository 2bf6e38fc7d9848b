/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_sync_side.c - what each of the two processes has, see bench_sync.h
 *
 * A side's page carries the tokens of its timelines and event to the other side, so all that has to cross is that page's
 * descriptor.
 */
#include <stdio.h>
#include <string.h>

#include "bench_sync.h"

/* In the page of their owner. */
struct notes {
	struct ww_token lines[SYNC_LINES];
	struct ww_token event;
};

_Static_assert(RAW_NOTES_OFFSET + sizeof(struct notes) <= RAW_PAGE_BYTES, "tokens fit into a page");

static struct notes *notes_of(const struct raw_page *page)
{
	return (struct notes *)(void *)(page->start + RAW_NOTES_OFFSET);
}

int sync_expect(ww_status status, const char *what)
{
	if (status == WW_OK)
		return 0;
	if (status > 0)
		return complain("%s: no answer within %llu s", what,
			(unsigned long long)(SYNC_ANSWER_NS / 1000000000));
	return complain_record("%s", what);
}

static int open_library(struct sync_side *side, const char *selector, const char *address)
{
	const struct ww_broker_params params = {
		.size = sizeof(params),
		.flags = WW_BROKER_NO_START,
		.address = address,
	};

	if (sync_expect(ww_device_open(selector, &side->device), "cannot open the device") ||
		sync_expect(ww_broker_open(&params, &side->broker),
			"cannot connect to the broker") ||
		sync_expect(ww_stream_create(side->device, &side->stream), "cannot make a stream"))
		return -1;
	for (int line = 0; line < SYNC_LINES; line++) {
		if (sync_expect(ww_timeline_create(NULL, &side->own[line]),
			    "cannot make a timeline") ||
			sync_expect(ww_timeline_prepare(side->own[line], side->device),
				"cannot make a timeline known to the device"))
			return -1;
	}
	return 0;
}

static int open_raw(struct sync_side *side)
{
	if (side->raw->ops->stream_create(side->raw, &side->raw_stream))
		return -1;
	return raw_page_create(side->raw, &side->own_page);
}

/* For the other side. */
static int export_lines(struct sync_side *side)
{
	struct notes *notes = notes_of(&side->own_page);

	for (int line = 0; line < SYNC_LINES; line++) {
		if (sync_expect(ww_timeline_export(side->own[line], side->broker, NULL,
					&notes->lines[line]),
			    "cannot export a timeline"))
			return -1;
	}
	return 0;
}

static int open_events(struct sync_side *side)
{
	struct notes *notes = notes_of(&side->own_page);

	if (side->raw->ops->event_create(side->raw, &side->own_page, &side->own_raw_event))
		return -1;
	if (sync_expect(ww_event_create(side->device, NULL, &side->own_event),
		    "cannot make an event"))
		return -1;
	return sync_expect(ww_event_export(side->own_event, side->broker, NULL, &notes->event),
		"cannot export an event");
}

int sync_side_open(struct sync_side *side, const char *selector, const char *address)
{
	struct ww_device_info info = {.size = sizeof(info)};
	OWN(device) ww_device *device = NULL;

	if (sync_expect(ww_device_open(selector, &device), "cannot open the device") ||
		sync_expect(ww_device_info_get(device, &info), "cannot describe the device"))
		return -1;
	/* Its context is current from here on, for the library's calls too. */
	if (raw_open(&info, &side->raw) || open_raw(side))
		return -1;
	if (open_library(side, selector, address) || export_lines(side))
		return -1;
	return side->has_events ? open_events(side) : 0;
}

static int meet_events(struct sync_side *side)
{
	const struct notes *notes = notes_of(&side->peers_page);

	if (side->raw->ops->event_open(side->raw, &side->peers_page, &side->peers_raw_event))
		return -1;
	return sync_expect(ww_event_import(side->device, side->broker, &notes->event,
				   &side->peers_event),
		"cannot import an event");
}

int sync_side_meet(struct sync_side *side, int fd)
{
	const struct notes *notes;

	if (raw_page_open(side->raw, fd, &side->peers_page))
		return -1;
	notes = notes_of(&side->peers_page);
	for (int line = 0; line < SYNC_LINES; line++) {
		if (sync_expect(ww_timeline_import(side->broker, &notes->lines[line],
					&side->peers[line]),
			    "cannot import a timeline") ||
			sync_expect(ww_timeline_prepare(side->peers[line], side->device),
				"cannot make a timeline known to the device"))
			return -1;
	}
	return side->has_events ? meet_events(side) : 0;
}

static void close_raw(struct sync_side *side)
{
	struct raw *raw = side->raw;

	if (!raw)
		return;
	/* When a side has failed, streams wait for words that nobody would store. */
	raw_page_release(&side->own_page);
	raw_page_release(&side->peers_page);
	if (side->raw_stream)
		raw->ops->stream_free(raw, side->raw_stream);
	raw->ops->event_free(raw, &side->peers_raw_event);
	raw->ops->event_free(raw, &side->own_raw_event);
	raw_page_close(raw, &side->peers_page);
	raw_page_close(raw, &side->own_page);
	raw_close(raw);
}

void sync_side_close(struct sync_side *side)
{
	ww_event_unref(side->peers_event);
	ww_event_unref(side->own_event);
	for (int line = 0; line < SYNC_LINES; line++) {
		ww_timeline_unref(side->peers[line]);
		ww_timeline_unref(side->own[line]);
	}
	ww_stream_unref(side->stream);
	ww_broker_unref(side->broker);
	close_raw(side);
	ww_device_unref(side->device);
	*side = (struct sync_side)SYNC_SIDE_NONE;
}
