/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch.c - `warpway watch`: changes to the objects of a broker, as they happen
 *
 * A line is written out at once, so that a pipe gets it at once.
 */
#include <stdio.h>
#include <sys/time.h>
#include <time.h>

#include "warpway/open_broker.h"
#include "warpway/verbs.h"
#include "warpway/object_view.h"

#define TIME_BYTES 40

static struct watch {
	struct request request;
	uint64_t flags;
	uint64_t count; /* 0: without end */
} watch;

static const struct option_row options[] = {
	OPTION("existing", BITS, struct watch, flags, .value = WW_WATCH_EXISTING),
	OPTION("count", NUMBER, struct watch, count, .value = 1, .maximum = UINT64_MAX),
	OPTION_JSON,
	OPTION_BROKER,
	OPTION_END,
};

static const char help[] =
	"Usage: warpway watch [OPTION...] [PREFIX]\n\n"
	"Prints each change to an object whose name begins with PREFIX, or to any that has a name,\n"
	"until interrupted.\n\n"
	"  --existing        begin with a put for each object that is there\n"
	"  --count N         end after N lines\n"
	"  --json            one object a line; the keys are in warpway(1)\n" BROKER_HELP
	"\nChanges: put (a name was taken), ready (sealed or shared now), removed, expired, gone (with\n"
	"its last holder or its owner), lost (its writer ended before it was ready), replaced (its name\n"
	"passed to this object from another one), overflow (some were missed: look again).\n\n"
	"  warpway watch --existing model/\n\n" BROKER_EXIT_HELP;

/* Local time for people, universal time for programs. */
static void time_text(bool universal, char out_text[TIME_BYTES])
{
	struct timeval now;
	struct tm parts;
	char date[TIME_BYTES / 2 + 1];

	gettimeofday(&now, NULL);
	if (universal)
		gmtime_r(&now.tv_sec, &parts);
	else
		localtime_r(&now.tv_sec, &parts);
	strftime(date, sizeof(date), universal ? "%Y-%m-%dT%H:%M:%S" : "%H:%M:%S", &parts);
	snprintf(out_text, TIME_BYTES, "%s.%03d%s", date, (int)(now.tv_usec / 1000),
		universal ? "Z" : "");
}

static int print_json(struct view *view, const struct ww_watch_event *event)
{
	bool missed = event->what == WW_WATCH_OVERFLOW;
	char former[FORMAT_ID_BYTES];
	char time[TIME_BYTES];

	time_text(true, time);
	format_id(event->former_id, former);
	return report_json(json_pack("{s:s, s:s, s:o, s:o}", "time", time, "event",
				   format_what(event->what), "object",
				   missed ? json_null() : view_json_object(view, &event->object),
				   "former",
				   event->what == WW_WATCH_REPLACED ? json_string(former)
								    : json_null()),
		JSON_COMPACT);
}

static void print_line(struct view *view, const struct ww_watch_event *event)
{
	const struct ww_object_info *object = &event->object;
	char time[TIME_BYTES];
	struct view_text text;

	time_text(false, time);
	if (event->what == WW_WATCH_OVERFLOW) {
		printf("%s  overflow  some changes were missed; look again with ls\n", time);
		return;
	}
	view_text(view, object, &text);
	printf("%s  %-8s  %s  %s  %10s  %s%s\n", time, format_what(event->what), text.mode,
		view_user(view, object->uid), text.size, text.name, text.array);
}

/* A failure to write is told by main(). */
static int print(struct request *request, const struct ww_watch_event *event)
{
	if (request->json && print_json(&request->view, event))
		return -1;
	if (!request->json)
		print_line(&request->view, event);
	return fflush(stdout);
}

static int run(struct request *request)
{
	OWN(watch) ww_watch *changes = NULL;
	struct ww_watch_event event = WW_INIT(struct ww_watch_event);
	ww_status status = ww_watch_create(request->broker, request->words[0], watch.flags,
		&changes);

	if (status != WW_OK)
		return broker_fail(status, "cannot watch");
	view_init(&request->view);
	for (uint64_t done = 0; watch.count == 0 || done < watch.count; done++) {
		status = ww_watch_next(changes, WW_FOREVER, NULL, &event);
		if (status != WW_OK)
			return broker_fail(status, "cannot watch any longer");
		if (print(request, &event))
			return -1;
	}
	return EXIT_DONE;
}

const struct verb verb_watch = {.name = "watch",
	.summary = "print changes to the objects of a broker",
	.options = options,
	.help = help,
	.context = &watch,
	.words = "[PREFIX]",
	.most_words = 1,
	.broker = VERB_BROKER_START,
	.run = run};
