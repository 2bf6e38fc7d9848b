/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel_sub.c - `warpway channel sub`: receives frames, and says how they come
 *
 * The latency of a frame is the time from its publication, which stands in the frame, to the return
 * of the call that received it.
 */
#include <inttypes.h>
#include <stdio.h>

#include "common/child_link.h"
#include "common/interrupt.h"
#include "warpway/channel_text.h"
#include "warpway/channel_option.h"
#include "warpway/channel_verbs.h"
#include "warpway/frame_pattern.h"
#include "warpway/histogram.h"
#include "warpway/open_broker.h"
#include "warpway/subscription.h"

#define REPORT_NS UINT64_C(1000000000)

static struct sub {
	struct request request;
	struct subscription_plan plan;
	uint64_t period_ns; /* how long each frame is kept; 0: not at all */
	bool check;
} sub;

static const char help[] =
	"Usage: warpway channel sub [OPTION...] NAME\n\n"
	"Receives the frames of the channel NAME until it ends, or until interrupted: each second how\n"
	"many came, and in the end their rate, their latency, and how many were dropped. With policy\n"
	"latest these are frames that newer ones replaced, which `channel stat` does not count.\n\n" SUBSCRIPTION_HELP
	"  --rate N          be slow: keep each frame so long that at most N a second are received\n"
	"  --check           verify the pattern of `channel pub`; the first wrong byte is a failure\n"
	"  --json            the numbers at the end; the keys are in warpway(1)\n" BROKER_HELP
	"\n  warpway channel sub --wait forever --rate 10 camera/front\n\n" BROKER_EXIT_HELP;

static const struct option_row options[] = {
	SUBSCRIPTION_OPTIONS(struct sub, plan),
	OPTION("rate", TAKEN, struct sub, period_ns, .take = channel_take_rate),
	OPTION("check", FLAG, struct sub, check),
	OPTION_JSON,
	OPTION_BROKER,
	OPTION_END,
};

/* What has come, as it is told. */
struct tally {
	struct histogram latency;
	uint64_t first_ns; /* when the first frame came, and the last */
	uint64_t last_ns;
	uint64_t told_ns; /* when a line was printed, and of how many frames */
	uint64_t told_frames;
};

static int check_frame(struct subscription *subscription, const struct ww_frame *frame)
{
	const uint8_t *bytes = frame_stage_read(&subscription->stage, frame);
	uint64_t offset;

	if (!bytes)
		return -1;
	if (frame_pattern_check(bytes, frame->bytes, frame->number, &offset))
		return 0;
	return complain("frame %" PRIu64 " is wrong: byte %" PRIu64 " of %" PRIu64
			" is 0x%02x, and 0x%02x was expected; did `warpway channel pub` make it?",
		frame->number, offset, frame->bytes, bytes[offset],
		frame_pattern_at(frame->number, offset));
}

static void tell_progress(struct subscription *subscription, struct tally *tally, uint64_t number)
{
	const struct channel_rate rate = {
		.frames = subscription->frames - tally->told_frames,
		.ns = tally->last_ns - tally->told_ns,
	};

	say("frame %" PRIu64 "  %.1f/s  %" PRIu64 " received, %" PRIu64 " dropped", number,
		channel_rate_frames_per_s(&rate), subscription->frames,
		subscription_dropped(subscription));
	tally->told_ns = tally->last_ns;
	tally->told_frames = subscription->frames;
}

static void count(struct subscription *subscription, struct tally *tally,
	const struct ww_frame *frame)
{
	uint64_t now_ns = link_now_ns();

	histogram_add(&tally->latency,
		now_ns > frame->submitted_ns ? now_ns - frame->submitted_ns : 0);
	tally->last_ns = now_ns;
	if (subscription->frames == 1) {
		tally->first_ns = now_ns;
		tally->told_ns = now_ns;
		tally->told_frames = 1;
	}
	if (!sub.request.json && now_ns - tally->told_ns >= REPORT_NS)
		tell_progress(subscription, tally, frame->number);
}

/* Return: whether to go on; else subscription->end says why not. */
static bool take(struct subscription *subscription, struct tally *tally)
{
	struct ww_frame frame;
	int failed;

	if (!subscription_receive(subscription, &frame))
		return false;
	count(subscription, tally, &frame);
	failed = sub.check && check_frame(subscription, &frame);
	if (!failed && sub.period_ns)
		interrupt_sleep(tally->last_ns + sub.period_ns);
	if (subscription_release(subscription, &frame) || failed) {
		subscription->end = SUBSCRIPTION_FAILED;
		return false;
	}
	return true;
}

/* From the first frame on, so there is one interval less than there are frames. */
static struct channel_rate rate_of(const struct subscription *subscription,
	const struct tally *tally)
{
	struct channel_rate rate = {
		.frames = subscription->frames,
		.bytes = subscription->bytes,
		.ns = tally->last_ns - tally->first_ns,
	};

	return rate;
}

static void print_latency(const struct histogram *latency)
{
	static const struct {
		const char *name;
		unsigned int permille;
	} shown[] = {{"p50", 500}, {"p99", 990}, {"p99.9", 999}, {"most", 1000}};
	char text[HISTOGRAM_TIME_BYTES];

	printf("latency   ");
	for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++) {
		histogram_time_text(histogram_percentile_ns(latency, shown[i].permille), text);
		printf("%s%s %s", i ? ", " : "", shown[i].name, text);
	}
	putchar('\n');
	histogram_print(latency, stdout);
}

static void print(struct subscription *subscription, const struct tally *tally)
{
	const struct channel_rate rate = rate_of(subscription, tally);
	char text[CHANNEL_TEXT_BYTES];

	channel_rate_text(&rate, text);
	printf("received  %s\n", text);
	printf("dropped   %" PRIu64 "\n", subscription_dropped(subscription));
	if (subscription->frames > 0)
		print_latency(&tally->latency);
	printf("end       %s\n", subscription_end_name(subscription->end));
}

static int print_json(struct subscription *subscription, const struct tally *tally)
{
	const struct channel_rate rate = rate_of(subscription, tally);
	json_t *root = channel_rate_json(subscription->name, &rate);

	json_object_set_new(root, "dropped",
		json_integer((json_int_t)subscription_dropped(subscription)));
	json_object_set_new(root, "checked", json_boolean(sub.check));
	json_object_set_new(root, "end", json_string(subscription_end_name(subscription->end)));
	json_object_set_new(root, "latency_ns", histogram_json(&tally->latency));
	return report_json(root, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
}

static int run(struct request *request)
{
	OWN(subscription) struct subscription subscription = {.name = NULL};
	struct tally tally = {.first_ns = 0};
	char text[CHANNEL_TEXT_BYTES];
	int code = subscription_open(&subscription, &sub.plan, request);

	if (code)
		return code;
	channel_text(&subscription.info, text);
	if (!request->json)
		say("%s: %s", subscription.name, text);
	while (take(&subscription, &tally)) {
	}
	if (!request->json)
		print(&subscription, &tally);
	else if (print_json(&subscription, &tally))
		return -1;
	return subscription_exit(subscription.end);
}

const struct verb verb_channel_sub = {.name = "sub",
	.summary = "receive frames, and say how fast and how late they come",
	.options = options,
	.help = help,
	.context = &sub,
	.words = "NAME",
	.least_words = 1,
	.most_words = 1,
	.run = run};
