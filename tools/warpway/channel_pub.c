/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel_pub.c - `warpway channel pub`: frames from a file, standard input or nowhere go into a
 * channel
 */
#include <limits.h>
#include <string.h>

#include "common/child_link.h"
#include "common/interrupt.h"
#include "warpway/channel_verbs.h"
#include "warpway/frame_input.h"
#include "warpway/open_broker.h"

static struct pub {
	struct request request;
	struct publisher_plan plan;
	struct frame_form form;
	uint64_t period_ns; /* 0: as fast as it goes */
	uint64_t count;     /* 0: all, or without end */
	const char *metadata;
	const char *metadata_type;
} pub;

static const char help[] =
	"Usage: warpway channel pub [OPTION...] NAME [FILE...]\n\n"
	"Makes the channel NAME and publishes frames: the contents of each FILE (.npy or raw), pieces\n"
	"of standard input (-), or, without FILE, frames with a pattern that `sub --check` knows, until\n"
	"interrupted. The channel ends with the command; consumers still get what was published.\n\n"
	"  --bytes SIZE      of a frame, such as 64K or 8MiB (default 1MiB)\n"
	"  --shape N,N,...   frames are arrays of this shape, such as 480,640,3\n"
	"  --dtype DTYPE     of this type (default uint8)\n"
	"  --rate N          frames a second (default: as fast as it goes)\n"
	"  --count N         end after N frames; files begin again\n"
	"  --metadata TEXT   of each frame; --metadata-type NAME is what the channel calls its type\n" PUBLISHER_HELP
	"  --json            the numbers at the end; the keys are in warpway(1)\n" BROKER_HELP
	"\n  warpway channel pub --shape 1080,1920,3 --rate 60 --policy latest camera/front\n\n" BROKER_EXIT_HELP;

static const struct option_row options[] = {
	PUBLISHER_OPTIONS(struct pub, plan),
	OPTION("bytes", TAKEN, struct pub, form.bytes, .take = channel_take_bytes),
	OPTION("shape", TAKEN, struct pub, form.shape, .take = channel_take_shape),
	OPTION("dtype", TAKEN, struct pub, form.dtype, .take = channel_take_dtype),
	OPTION("rate", TAKEN, struct pub, period_ns, .take = channel_take_rate),
	OPTION("count", NUMBER, struct pub, count, .value = 1, .maximum = UINT64_MAX),
	OPTION("metadata", TEXT, struct pub, metadata),
	OPTION("metadata-type", TEXT, struct pub, metadata_type),
	OPTION_JSON,
	OPTION_BROKER,
	OPTION_END,
};

static int describe(const struct frame_input *input, struct ww_channel_params *params)
{
	size_t metadata_bytes = pub.metadata ? strlen(pub.metadata) : 0;

	if (metadata_bytes > WW_FRAME_METADATA_MAX)
		return refuse("--metadata: %zu bytes are too many; a frame has at most %d",
			metadata_bytes, WW_FRAME_METADATA_MAX);
	if (pub.metadata_type && strlen(pub.metadata_type) >= sizeof(params->metadata_type))
		return refuse("'--metadata-type %s': at most %zu bytes are possible",
			pub.metadata_type, sizeof(params->metadata_type) - 1);
	if (pub.metadata_type)
		memcpy(params->metadata_type, pub.metadata_type, strlen(pub.metadata_type));
	params->metadata_bytes = (uint32_t)metadata_bytes;
	params->slot_bytes = input->bytes;
	params->array = input->has_array ? &input->array : NULL;
	return 0;
}

/* A producer that is late does not hurry afterwards. */
static bool await_turn(uint64_t *due_ns)
{
	uint64_t now_ns = link_now_ns();

	if (pub.period_ns == 0)
		return !interrupt_came();
	if (*due_ns > now_ns && !interrupt_sleep(*due_ns))
		return false;
	*due_ns = (*due_ns > now_ns ? *due_ns : now_ns) + pub.period_ns;
	return !interrupt_came();
}

static enum publisher_next publish_one(struct publisher *publisher, const struct frame_input *input)
{
	struct ww_frame frame;
	void *bytes;
	enum publisher_next next = publisher_begin(publisher, &frame, &bytes);

	if (next == PUBLISHER_GO)
		next = frame_input_read(input, publisher->frames + 1, bytes, &frame.bytes);
	if (next != PUBLISHER_GO)
		return next;
	frame.metadata_bytes = pub.metadata ? (uint32_t)strlen(pub.metadata) : 0;
	if (pub.metadata)
		memcpy(frame.metadata, pub.metadata, frame.metadata_bytes);
	return publisher_publish(publisher, &frame) ? PUBLISHER_FAILED : PUBLISHER_GO;
}

static enum publisher_next publish(struct publisher *publisher, const struct frame_input *input)
{
	uint64_t count = pub.count ? pub.count : frame_input_count(input);
	enum publisher_next next = PUBLISHER_GO;
	uint64_t due_ns = 0;

	while (next == PUBLISHER_GO && (count == 0 || publisher->frames < count)) {
		if (!await_turn(&due_ns))
			return PUBLISHER_END;
		next = publish_one(publisher, input);
	}
	return next;
}

static int run(struct request *request)
{
	OWN(publisher) struct publisher publisher = {.name = NULL};
	struct ww_channel_params params = {.struct_size = sizeof(params)};
	struct frame_input input;
	int code = frame_input_open(&input, &pub.form, request->words + 1,
		(size_t)request->word_count - 1);

	if (code == 0)
		code = describe(&input, &params);
	if (code == 0)
		code = publisher_open(&publisher, &pub.plan, &params, request);
	if (code)
		return code;
	if (publish(&publisher, &input) == PUBLISHER_FAILED)
		return EXIT_FAILED;
	return publisher_tell(&publisher, request->json);
}

const struct verb verb_channel_pub = {.name = "pub",
	.summary = "publish frames of a file, of standard input, or with a pattern",
	.options = options,
	.help = help,
	.context = &pub,
	.words = "NAME [FILE...]",
	.least_words = 1,
	.most_words = INT_MAX,
	.run = run};
