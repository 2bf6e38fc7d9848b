/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel_evict.c - `warpway channel evict`: ends the subscription of a stuck consumer
 *
 * Only the producer's process can evict. So the command, as an observer, asks that process, and
 * waits until it has done so.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/child_link.h"
#include "common/interrupt.h"
#include "common/number.h"
#include "warpway/channel_verbs.h"
#include "warpway/format.h"
#include "warpway/histogram.h"
#include "warpway/open_broker.h"

#define DEFAULT_WAIT_NS UINT64_C(10000000000)

static struct evict {
	struct request request;
	uint64_t timeout_ns; /* 0: DEFAULT_WAIT_NS */
} evict;

static const char help[] =
	"Usage: warpway channel evict [OPTION...] NAME CONSUMER\n\n"
	"Ends the subscription of a consumer of the channel NAME, such as one for which the producer\n"
	"waits. CONSUMER is its number, pid or program, as `warpway channel stat NAME` shows them; a\n"
	"number below 32 is that of a consumer. The consumer's next call says that it was evicted. The\n"
	"channel's owner and root may do this. The producer's program does it, in its next call that\n"
	"acquires or publishes a frame, and at once if it waits for a slot.\n\n"
	"  --wait SECONDS    how long the producer has, or `forever` (default 10)\n"
	"  --json            one object; the keys are in warpway(1)\n" BROKER_HELP
	"\n  warpway channel evict camera/front 0\n\n" BROKER_EXIT_HELP;

static const struct option_row options[] = {
	OPTION("wait", PATIENCE, struct evict, timeout_ns),
	OPTION_JSON,
	OPTION_BROKER,
	OPTION_END,
};

/* --- which consumer --- */

static bool is_meant(const struct ww_channel_consumer_info *consumer, const char *word)
{
	char program[WW_PROGRAM_BYTES];
	uint64_t number;

	if (number_parse(word, 0, WW_CHANNEL_CONSUMERS_MAX - 1, &number))
		return consumer->number == number;
	if (number_parse(word, 0, UINT32_MAX, &number))
		return consumer->pid == number;
	format_safe(consumer->program, program, sizeof(program));
	return !strcmp(program, word);
}

static int fail_to_find(const struct request *request, uint32_t count)
{
	const char *name = request->words[0];

	if (count == 0)
		return complain("%s has no consumer '%s'; see `warpway channel stat %s`", name,
			request->words[1], name);
	return complain("%u consumers of %s are '%s'; name one by its number, see `warpway channel "
			"stat %s`",
		count, name, request->words[1], name);
}

static int fail_evicted(const struct request *request,
	const struct ww_channel_consumer_info *consumer)
{
	char program[WW_PROGRAM_BYTES];

	format_safe(consumer->program, program, sizeof(program));
	return complain("consumer %u of %s, process %u (%s), was evicted already%s",
		consumer->number, request->words[0], consumer->pid, program,
		consumer->held ? "; it holds frames until it releases them or ends" : "");
}

static int find_consumer(const struct request *request, ww_channel *channel,
	struct ww_channel_consumer_info *out_consumer)
{
	struct ww_channel_consumer_info consumer = WW_INIT(struct ww_channel_consumer_info);
	ww_status status = WW_OK;
	uint32_t count = 0;

	for (uint32_t i = 0; status == WW_OK; i++) {
		status = ww_channel_consumer_info_get(channel, i, &consumer);
		if (status != WW_OK || !is_meant(&consumer, request->words[1]))
			continue;
		*out_consumer = consumer;
		count++;
	}
	if (status != WW_END)
		return broker_fail(status, "cannot look at %s", request->words[0]);
	if (count != 1)
		return fail_to_find(request, count);
	return out_consumer->is_evicted ? fail_evicted(request, out_consumer) : 0;
}

/* --- asking, and waiting --- */

static int open_channel(const struct request *request, ww_channel **out_channel)
{
	const struct ww_consumer_params params = {
		.struct_size = sizeof(params),
		.flags = WW_CONSUMER_OBSERVE,
	};
	const char *name = request->words[0];
	OWN(device) ww_device *host = NULL;
	ww_status status = ww_device_open("host", &host);

	if (status == WW_OK)
		status = ww_channel_get(host, request->broker, name, &params, 0, NULL, out_channel);
	if (status == WW_ERR_UNSUPPORTED)
		return complain("cannot evict a consumer of %s: it is no channel; see `warpway stat "
				"%s`",
			name, name);
	return status == WW_OK ? 0 : broker_fail(status, "cannot look at %s", name);
}

static int fail_in_time(ww_channel *channel, uint32_t consumer)
{
	struct ww_channel_info info = WW_INIT(struct ww_channel_info);
	char program[WW_PROGRAM_BYTES];

	if (ww_channel_info_get(channel, &info) != WW_OK)
		return complain_record("cannot ask how the channel is");
	format_safe(info.program, program, sizeof(program));
	return complain("the producer, process %u (%s), has not evicted consumer %u in time, and is "
			"not asked any more: it has acquired and published no frame, or is of an "
			"earlier release; end process %u or the consumer",
		info.pid, program, consumer, info.pid);
}

/* What has become of the consumer. */
enum outcome {
	WAITS,
	EVICTED,
	LEFT,
	PRODUCER_ENDED, /* but it may have evicted the consumer before */
};

static enum outcome outcome_of(const struct ww_channel_event *event, uint32_t consumer)
{
	if (event->kind == WW_CHANNEL_PRODUCER_CLOSED || event->kind == WW_CHANNEL_PRODUCER_ENDED)
		return PRODUCER_ENDED;
	if (event->consumer != consumer)
		return WAITS;
	if (event->kind == WW_CHANNEL_CONSUMER_EVICTED)
		return EVICTED;
	return event->kind == WW_CHANNEL_CONSUMER_LEFT || event->kind == WW_CHANNEL_CONSUMER_ENDED
		? LEFT
		: WAITS;
}

/* Return: 0; the exit code after saying what happened instead. */
static int say_outcome(ww_channel *channel, uint32_t consumer, ww_status status,
	enum outcome outcome)
{
	if (outcome == LEFT)
		return complain("consumer %u has left by itself, before it was evicted", consumer);
	if (outcome == PRODUCER_ENDED)
		return complain("the producer has ended, and all subscriptions with it");
	if (status == WW_TIMED_OUT)
		return fail_in_time(channel, consumer);
	if (status == WW_CANCELLED)
		return complain("interrupted; the producer is not asked any more");
	return status == WW_OK ? 0 : broker_fail(status, "cannot watch the channel");
}

/* @out_event: of the eviction */
static int await_eviction(ww_channel *channel, uint32_t consumer,
	struct ww_channel_event *out_event)
{
	uint64_t timeout_ns = evict.timeout_ns ? evict.timeout_ns : DEFAULT_WAIT_NS;
	uint64_t end_ns = link_now_ns() + timeout_ns;
	enum outcome outcome = WAITS;
	ww_status status = WW_OK;

	while (status == WW_OK && outcome != EVICTED && outcome != LEFT) {
		uint64_t now_ns = link_now_ns();
		uint64_t left_ns = now_ns < end_ns ? end_ns - now_ns : 0;
		enum outcome next;

		if (timeout_ns == WW_FOREVER)
			left_ns = WW_FOREVER;
		status = ww_channel_next_event(channel, outcome == PRODUCER_ENDED ? 0 : left_ns,
			interrupt_cancel(), out_event);
		next = status == WW_OK ? outcome_of(out_event, consumer) : WAITS;
		outcome = next == WAITS ? outcome : next;
	}
	return say_outcome(channel, consumer, status, outcome);
}

/* --- telling --- */

static int tell(const struct request *request, const struct ww_channel_consumer_info *consumer,
	const struct ww_channel_event *event)
{
	char waited[HISTOGRAM_TIME_BYTES];
	char process[FORMAT_PROCESS_BYTES];
	char program[WW_PROGRAM_BYTES];

	format_safe(consumer->program, program, sizeof(program));
	if (request->json)
		return report_json(json_pack("{s:s, s:I, s:I, s:I, s:s, s:I, s:I}", "name",
					   request->words[0], "number",
					   (json_int_t)consumer->number, "pid",
					   (json_int_t)consumer->pid, "uid",
					   (json_int_t)consumer->uid, "program", program, "frame",
					   (json_int_t)event->frame, "waited_ns",
					   (json_int_t)event->waited_ns),
			JSON_INDENT(2));
	histogram_time_text(event->waited_ns, waited);
	printf("evicted consumer %u, %s, after the producer had waited %s for it\n",
		consumer->number, format_process(consumer->pid, consumer->program, process),
		waited);
	return EXIT_DONE;
}

static int run(struct request *request)
{
	struct ww_channel_consumer_info consumer = WW_INIT(struct ww_channel_consumer_info);
	struct ww_channel_event event = WW_INIT(struct ww_channel_event);
	OWN(channel) ww_channel *channel = NULL;
	ww_status status;
	int code = interrupt_open();

	if (code == 0)
		code = open_channel(request, &channel);
	if (code == 0)
		code = find_consumer(request, channel, &consumer);
	if (code)
		return code;
	status = ww_channel_evict(channel, consumer.number);
	if (status != WW_OK)
		return broker_fail(status, "cannot evict consumer %u of %s", consumer.number,
			request->words[0]);
	code = await_eviction(channel, consumer.number, &event);
	return code ? code : tell(request, &consumer, &event);
}

const struct verb verb_channel_evict = {.name = "evict",
	.summary = "end the subscription of a stuck consumer",
	.options = options,
	.help = help,
	.context = &evict,
	.words = "NAME CONSUMER",
	.least_words = 2,
	.most_words = 2,
	.broker = VERB_BROKER_OBJECT,
	.run = run};
