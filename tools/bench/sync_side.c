/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sync_side.c - what each of the two processes has, see sync.h
 *
 * A side's page carries the tokens of its timelines and event to the other side, so all that has to
 * cross is that page's descriptor.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bench/sync.h"

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

static int open_own(struct bench *bench, struct sync_side *side)
{
	for (int line = 0; line < SYNC_LINES; line++) {
		if (bench_expect(ww_timeline_create(NULL, &side->own[line]),
			    "cannot make a timeline") ||
			bench_expect(ww_timeline_prepare(side->own[line], bench->device),
				"cannot make a timeline known to the device"))
			return -1;
	}
	if (bench->raw->ops->stream_create(bench->raw, &side->raw_stream) ||
		raw_page_create(bench->raw, &side->own_page))
		return -1;
	if (bench->raw->ops->kernel_load)
		bench->raw->ops->kernel_load(bench->raw);
	return bench->raw->ops->event_create(bench->raw, &side->own_page, &side->own_raw_event);
}

/* For the other side. */
static int export_lines(struct bench *bench, struct sync_side *side)
{
	struct notes *notes = notes_of(&side->own_page);

	for (int line = 0; line < SYNC_LINES; line++) {
		if (bench_expect(ww_timeline_export(side->own[line], bench->broker, NULL, NULL,
					 &notes->lines[line]),
			    "cannot export a timeline"))
			return -1;
	}
	return 0;
}

static int open_events(struct bench *bench, struct sync_side *side)
{
	struct notes *notes = notes_of(&side->own_page);

	if (bench_expect(ww_event_create(bench->device, NULL, &side->own_event),
		    "cannot make an event"))
		return -1;
	return bench_expect(ww_event_export(side->own_event, bench->broker, NULL, NULL,
				    &notes->event),
		"cannot export an event");
}

int sync_side_open(struct bench *bench, struct sync_side *side)
{
	if (open_own(bench, side) || export_lines(bench, side))
		return -1;
	return side->has_events ? open_events(bench, side) : 0;
}

static int meet_events(struct bench *bench, struct sync_side *side)
{
	const struct notes *notes = notes_of(&side->peers_page);

	return bench_expect(ww_event_import(bench->device, bench->broker, &notes->event, NULL,
				    &side->peers_event),
		"cannot import an event");
}

int sync_side_meet(struct bench *bench, struct sync_side *side, int fd)
{
	const struct notes *notes;

	if (raw_page_open(bench->raw, fd, &side->peers_page) ||
		bench->raw->ops->event_open(bench->raw, &side->peers_page, &side->peers_raw_event))
		return -1;
	notes = notes_of(&side->peers_page);
	for (int line = 0; line < SYNC_LINES; line++) {
		if (bench_expect(ww_timeline_import(bench->broker, &notes->lines[line], NULL,
					 &side->peers[line]),
			    "cannot import a timeline") ||
			bench_expect(ww_timeline_prepare(side->peers[line], bench->device),
				"cannot make a timeline known to the device"))
			return -1;
	}
	return side->has_events ? meet_events(bench, side) : 0;
}

void sync_side_close(struct bench *bench, struct sync_side *side)
{
	struct raw *raw = bench->raw;

	if (!raw)
		return;
	ww_event_unref(side->peers_event);
	ww_event_unref(side->own_event);
	for (int line = 0; line < SYNC_LINES; line++) {
		ww_timeline_unref(side->peers[line]);
		ww_timeline_unref(side->own[line]);
	}
	/* When a side has failed, streams wait for words that nobody would store. */
	raw_page_release(&side->own_page);
	raw_page_release(&side->peers_page);
	if (side->raw_stream)
		raw->ops->stream_free(raw, side->raw_stream);
	raw->ops->event_free(raw, &side->peers_raw_event);
	raw->ops->event_free(raw, &side->own_raw_event);
	raw_page_close(raw, &side->peers_page);
	raw_page_close(raw, &side->own_page);
	*side = (struct sync_side)SYNC_SIDE_NONE;
}

/* --- partners that die --- */

static void give_up(int number)
{
	static const char
		text[] = "warpway bench: the partner died, and the raw calls would wait for "
			 "it for ever\n";

	(void)number;
	_exit(write(STDERR_FILENO, text, sizeof(text) - 1) < 0 ? EXIT_CANNOT : EXIT_FAILED);
}

void sync_guard_begin(void)
{
	signal(SIGCHLD, give_up);
}

void sync_guard_end(void)
{
	signal(SIGCHLD, SIG_DFL);
}
