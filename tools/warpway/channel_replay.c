/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel_replay.c - `warpway channel replay`: recorded frames go into a channel again, in the time
 * in which they came
 */
#include <string.h>

#include "common/child_link.h"
#include "common/interrupt.h"
#include "warpway/channel_verbs.h"
#include "warpway/open_broker.h"
#include "warpway/publisher.h"
#include "warpway/recording.h"

static struct replay {
	struct request request;
	struct publisher_plan plan;
	double speed;
	bool fast;
	bool loop;
} replay = {.speed = 1};

static const char help[] =
	"Usage: warpway channel replay [OPTION...] NAME FOLDER\n\n"
	"Makes the channel NAME and publishes the frames that `channel record` has written into FOLDER,\n"
	"with the same time between them. The channel is as it was, unless options say otherwise.\n\n"
	"  --speed N         N times as fast, such as 2 or 0.5\n"
	"  --fast            without waiting between frames\n"
	"  --loop            again and again, until interrupted\n" PUBLISHER_HELP
	"  --json            the numbers at the end; the keys are in warpway(1)\n" BROKER_HELP
	"\n  warpway channel replay --loop camera/front drive1\n\n" BROKER_EXIT_HELP;

static const struct option_row options[] = {
	PUBLISHER_OPTIONS(struct replay, plan),
	OPTION("speed", TAKEN, struct replay, speed, .take = channel_take_speed),
	OPTION("fast", FLAG, struct replay, fast),
	OPTION("loop", FLAG, struct replay, loop),
	OPTION_JSON,
	OPTION_BROKER,
	OPTION_END,
};

/* The options of the command line come later, see publisher_open(). */
static void describe(const struct recording *recording, struct ww_channel_params *params)
{
	const struct ww_channel_info *info = &recording->info;

	params->policy = info->policy;
	params->slot_bytes = info->slot_bytes;
	params->slots = info->slots;
	params->consumers_max = info->consumers_max;
	params->held_max = info->held_max;
	params->metadata_bytes = info->metadata_bytes;
	memcpy(params->metadata_type, info->metadata_type, sizeof(params->metadata_type));
	params->array = info->has_array ? &info->array : NULL;
}

/*
 * When a frame is due: as long after the first one of this round as it was then. A recording may
 * say that time goes backwards; such a frame is due at once.
 */
struct clock {
	bool has_begun;
	uint64_t recorded_ns; /* of the first frame */
	uint64_t started_ns;
};

static bool await_turn(struct clock *clock, uint64_t recorded_ns)
{
	double after_ns;

	if (replay.fast)
		return !interrupt_came();
	if (!clock->has_begun)
		*clock = (struct clock){true, recorded_ns, link_now_ns()};
	if (recorded_ns < clock->recorded_ns)
		return !interrupt_came();
	after_ns = (double)(recorded_ns - clock->recorded_ns) / replay.speed;
	return after_ns < (double)(INT64_MAX - clock->started_ns)
		? interrupt_sleep(clock->started_ns + (uint64_t)after_ns)
		: interrupt_sleep(WW_FOREVER);
}

static enum publisher_next publish_one(struct publisher *publisher,
	const struct recording *recording, const struct recorded_frame *recorded)
{
	struct ww_frame frame;
	void *bytes;
	enum publisher_next next = publisher_begin(publisher, &frame, &bytes);

	if (next != PUBLISHER_GO)
		return next;
	if (recording_read(recording, recorded, bytes))
		return PUBLISHER_FAILED;
	frame.bytes = recorded->frame.bytes;
	frame.ndim = recorded->frame.ndim;
	memcpy(frame.shape, recorded->frame.shape, sizeof(frame.shape));
	frame.metadata_bytes = recorded->frame.metadata_bytes;
	if (frame.metadata_bytes)
		memcpy(frame.metadata, recorded->metadata, frame.metadata_bytes);
	return publisher_publish(publisher, &frame) ? PUBLISHER_FAILED : PUBLISHER_GO;
}

/* All frames, once. PUBLISHER_GO: none is left. */
static enum publisher_next publish_round(struct publisher *publisher, struct recording *recording)
{
	struct recorded_frame recorded;
	struct clock clock = {.has_begun = false};
	int found;

	recording_rewind(recording);
	while ((found = recording_next(recording, &recorded)) > 0) {
		enum publisher_next next;

		if (!await_turn(&clock, recorded.frame.submitted_ns))
			return PUBLISHER_END;
		next = publish_one(publisher, recording, &recorded);
		if (next != PUBLISHER_GO)
			return next;
	}
	return found < 0 ? PUBLISHER_FAILED : PUBLISHER_GO;
}

static enum publisher_next publish(struct publisher *publisher, struct recording *recording)
{
	enum publisher_next next;

	do {
		next = publish_round(publisher, recording);
		if (next == PUBLISHER_GO && publisher->frames == 0) {
			(void)complain("the recording %s has no frames", recording->folder);
			return PUBLISHER_FAILED;
		}
	} while (next == PUBLISHER_GO && replay.loop);
	return next;
}

static int run(struct request *request)
{
	OWN(publisher) struct publisher publisher = {.name = NULL};
	OWN(recording) struct recording recording = RECORDING_NONE;
	struct ww_channel_params params = {.struct_size = sizeof(params)};
	int code = recording_open(&recording, request->words[1]);

	if (code == 0) {
		describe(&recording, &params);
		code = publisher_open(&publisher, &replay.plan, &params, request);
	}
	if (code)
		return code;
	if (publish(&publisher, &recording) == PUBLISHER_FAILED)
		return EXIT_FAILED;
	return publisher_tell(&publisher, request->json);
}

const struct verb verb_channel_replay = {.name = "replay",
	.summary = "publish recorded frames again, in the same time",
	.options = options,
	.help = help,
	.context = &replay,
	.words = "NAME FOLDER",
	.least_words = 2,
	.most_words = 2,
	.run = run};
