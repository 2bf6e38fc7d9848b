/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel_record.c - `warpway channel record`: frames of a channel become files
 *
 * A frame is held while it is written. So if the disk is slower than the producer, the policy of
 * the channel decides: the producer waits, or frames are dropped, and counted.
 */
#include <inttypes.h>

#include "common/child_link.h"
#include "warpway/channel_option.h"
#include "warpway/channel_text.h"
#include "warpway/channel_verbs.h"
#include "warpway/open_broker.h"
#include "warpway/recording.h"
#include "warpway/subscription.h"

static struct record {
	struct request request;
	struct subscription_plan plan;
	const char *folder;
} record;

static const char help[] =
	"Usage: warpway channel record [OPTION...] -o FOLDER NAME\n\n"
	"Writes the frames of the channel NAME into FOLDER until it ends, or until interrupted: each\n"
	"into a file, .npy for arrays, else .raw, with times and metadata in frames.jsonl. However the\n"
	"command ends, the files that frames.jsonl names are complete.\n\n"
	"  -o, --output FOLDER  is made, or is empty\n" SUBSCRIPTION_HELP
	"  --json            the numbers at the end; the keys are in warpway(1)\n" BROKER_HELP
	"\n  warpway channel record --history oldest -o drive1 camera/front\n\n" BROKER_EXIT_HELP;

static const struct option_row options[] = {
	OPTION("output", TEXT, struct record, folder, .letter = 'o'),
	SUBSCRIPTION_OPTIONS(struct record, plan),
	OPTION_JSON,
	OPTION_BROKER,
	OPTION_END,
};

static int record_one(struct subscription *subscription, struct recording *recording,
	const struct ww_frame *frame)
{
	const void *bytes = frame_stage_read(&subscription->stage, frame);

	return bytes ? recording_add(recording, frame, bytes) : -1;
}

static int record_all(struct subscription *subscription, struct recording *recording)
{
	struct ww_frame frame;

	while (subscription_receive(subscription, &frame)) {
		int failed = record_one(subscription, recording, &frame);

		if (subscription_release(subscription, &frame) || failed)
			return -1;
	}
	return 0;
}

static int tell(struct subscription *subscription, uint64_t started_ns, bool json)
{
	const struct channel_rate rate = {
		.frames = subscription->frames,
		.bytes = subscription->bytes,
		.ns = link_now_ns() - started_ns,
	};
	uint64_t dropped = subscription_dropped(subscription);
	const char *end = subscription_end_name(subscription->end);
	char text[CHANNEL_TEXT_BYTES];
	json_t *root;

	if (!json) {
		channel_rate_text(&rate, text);
		say("recorded %s, %" PRIu64 " dropped; end: %s", text, dropped, end);
		return 0;
	}
	root = channel_rate_json(subscription->name, &rate);
	json_object_set_new(root, "dropped", json_integer((json_int_t)dropped));
	json_object_set_new(root, "end", json_string(end));
	json_object_set_new(root, "folder", json_string(record.folder));
	return report_json(root, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
}

static int run(struct request *request)
{
	OWN(subscription) struct subscription subscription = {.name = NULL};
	OWN(recording) struct recording recording = RECORDING_NONE;
	uint64_t started_ns;
	int code;

	if (!record.folder)
		return refuse("where to? Say -o FOLDER");
	code = subscription_open(&subscription, &record.plan, request);
	if (code == 0)
		code = recording_create(&recording, record.folder, subscription.name,
			&subscription.info);
	if (code)
		return code;
	started_ns = link_now_ns();
	if (!request->json)
		say("recording %s to %s until it ends, or Ctrl-C", subscription.name,
			record.folder);
	if (record_all(&subscription, &recording) || tell(&subscription, started_ns, request->json))
		return -1;
	return subscription_exit(subscription.end);
}

const struct verb verb_channel_record = {.name = "record",
	.summary = "write frames to files, with their times and metadata",
	.options = options,
	.help = help,
	.context = &record,
	.words = "NAME",
	.least_words = 1,
	.most_words = 1,
	.run = run};
