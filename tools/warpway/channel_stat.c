/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel_stat.c - `warpway channel stat`: how a channel is, and each of its consumers
 *
 * The command looks as an observer: it is no consumer, and the producer does not notice it. What it
 * prints of consumers is what these show in their own pages. Of a channel that the user may not
 * read it prints what the broker knows.
 */
#include <inttypes.h>
#include <stdio.h>

#include "common/child_link.h"
#include "common/number.h"
#include "common/table.h"
#include "warpway/channel_verbs.h"
#include "warpway/format.h"
#include "warpway/histogram.h"
#include "warpway/object_view.h"
#include "warpway/open_broker.h"

static struct request stat_request;

static const char help[] =
	"Usage: warpway channel stat [OPTION...] NAME\n\n"
	"Says how the channel NAME is: its policy, its slots, how many frames were published, for whom\n"
	"the producer waits; and of each consumer how many frames it holds, how many it has not received\n"
	"yet, and how many were dropped, not counting those that newer ones replaced with policy latest.\n"
	"The command is no consumer itself.\n\n"
	"  -n, --numeric     users by number\n"
	"  --json            one object; the keys are in warpway(1)\n" BROKER_HELP
	"\n  warpway channel stat camera/front\n\n" BROKER_EXIT_HELP;

static const struct option_row options[] = {
	OPTION_NUMERIC,
	OPTION_JSON,
	OPTION_BROKER,
	OPTION_END,
};

/* One look at it all. */
struct look {
	struct ww_channel_info info;
	struct ww_channel_consumer_info consumers[WW_CHANNEL_CONSUMERS_MAX];
	uint32_t count;
	uint64_t now_ns;
	bool is_barred; /* the user may not read it: only @object is set */
	struct ww_object_info object;
};

/* Frames that were published and that the consumer has not received yet; it is joining: 0. */
static uint64_t behind(const struct look *look, const struct ww_channel_consumer_info *consumer)
{
	uint64_t next = look->info.published + 1;

	return consumer->next && consumer->next < next ? next - consumer->next : 0;
}

static const char *consumer_state(const struct ww_channel_consumer_info *consumer)
{
	if (consumer->is_evicted)
		return "evicted";
	if (consumer->next == 0)
		return "joining";
	if (consumer->is_waited_for)
		return "waited-for";
	return consumer->is_asleep ? "asleep" : "awake";
}

static const char *producer_state(const struct look *look)
{
	static const char *const states[] = {"live", "closed", "lost"};

	return look->info.has_ended < 3 ? states[look->info.has_ended] : "unknown";
}

/* --- looking --- */

static ww_status look_at_consumers(ww_channel *channel, struct look *look)
{
	ww_status status = WW_OK;

	while (look->count < WW_CHANNEL_CONSUMERS_MAX) {
		struct ww_channel_consumer_info *consumer = &look->consumers[look->count];

		*consumer = (struct ww_channel_consumer_info){.struct_size = sizeof(*consumer)};
		status = ww_channel_consumer_info_get(channel, look->count, consumer);
		if (status != WW_OK)
			break;
		look->count++;
	}
	return status == WW_END ? WW_OK : status;
}

/* Return: whether it is a channel, and the broker says that the user may not read it. */
static bool look_from_outside(const struct request *request, struct look *look)
{
	look->object = WW_INIT(struct ww_object_info);
	look->is_barred = ww_broker_stat(request->broker, request->words[0], &look->object) ==
			WW_OK &&
		look->object.kind == WW_OBJECT_CHANNEL && !look->object.access;
	return look->is_barred;
}

static int look_at(const struct request *request, struct look *look)
{
	const struct ww_consumer_params params = {
		.struct_size = sizeof(params),
		.flags = WW_CONSUMER_OBSERVE,
	};
	const char *name = request->words[0];
	OWN(device) ww_device *host = NULL;
	OWN(channel) ww_channel *channel = NULL;
	ww_status status;

	*look = (struct look){.info = {.struct_size = sizeof(look->info)}};
	status = ww_device_open("host", &host);
	if (status == WW_OK)
		status = ww_channel_get(host, request->broker, name, &params, 0, NULL, &channel);
	if (status == WW_ERR_ACCESS && look_from_outside(request, look))
		return 0;
	if (status == WW_OK)
		status = look_at_consumers(channel, look);
	look->now_ns = link_now_ns();
	if (status == WW_OK)
		status = ww_channel_info_get(channel, &look->info);
	if (status == WW_ERR_UNSUPPORTED)
		return complain("cannot look at %s: it is no channel; see `warpway stat %s`", name,
			name);
	return status == WW_OK ? 0 : broker_fail(status, "cannot look at %s", name);
}

/* --- telling --- */

static void print_waits(const struct look *look)
{
	char waited[HISTOGRAM_TIME_BYTES];

	if (look->info.waits_for == WW_CHANNEL_NOBODY)
		return;
	histogram_time_text(look->info.waited_ns, waited);
	printf(", waits for consumer %u since %s", look->info.waits_for, waited);
}

static void print_producer(const struct look *look)
{
	const struct ww_channel_info *info = &look->info;
	char process[FORMAT_PROCESS_BYTES];
	char since[HISTOGRAM_TIME_BYTES];

	histogram_time_text(look->now_ns > info->published_ns ? look->now_ns - info->published_ns
							      : 0,
		since);
	printf("producer    %s, %s", format_process(info->pid, info->program, process),
		producer_state(look));
	print_waits(look);
	printf("\npublished   %" PRIu64 " frame%s", info->published,
		info->published == 1 ? "" : "s");
	if (info->published)
		printf(", the last %s ago", since);
	putchar('\n');
}

static void print_channel(const struct request *request, const struct look *look)
{
	const struct ww_channel_info *info = &look->info;
	char array[FORMAT_ARRAY_BYTES] = "bytes";
	char name[WW_NAME_BYTES];
	char type[WW_FRAME_METADATA_TYPE_BYTES];
	char size[NUMBER_BYTES];

	if (info->has_array)
		format_array(&info->array, array);
	format_safe(request->words[0], name, sizeof(name));
	format_safe(info->metadata_type, type, sizeof(type));
	number_size_text(info->slot_bytes, size);
	printf("name        %s\n", name);
	printf("policy      %s\n", format_policy(info->policy));
	printf("slots       %u of %" PRIu64 " bytes (%s)\n", info->slots, info->slot_bytes, size);
	printf("frames      %s\n", array);
	printf("metadata    up to %u bytes%s%s\n", info->metadata_bytes, type[0] ? " of type " : "",
		type);
}

static void print_consumers(struct request *request, const struct look *look)
{
	struct table table;

	printf("consumers   %u of %u, each holds up to %u frame%s\n", look->count,
		look->info.consumers_max, look->info.held_max, look->info.held_max == 1 ? "" : "s");
	if (look->count == 0)
		return;
	table_init(&table, "rrllrrrl");
	table_add(&table, "CONSUMER\tPID\tUSER\tPROGRAM\tHELD\tBEHIND\tDROPPED\tSTATE");
	for (uint32_t i = 0; i < look->count; i++) {
		const struct ww_channel_consumer_info *consumer = &look->consumers[i];
		char program[WW_PROGRAM_BYTES];

		format_safe(consumer->program, program, sizeof(program));
		table_add(&table, "%u\t%u\t%s\t%s\t%u\t%" PRIu64 "\t%" PRIu64 "\t%s",
			consumer->number, consumer->pid, view_user(&request->view, consumer->uid),
			program, consumer->held, behind(look, consumer), consumer->dropped,
			consumer_state(consumer));
	}
	table_print(&table, stdout);
	table_fini(&table);
}

static json_t *json_of_consumer(struct request *request, const struct look *look, uint32_t index)
{
	const struct ww_channel_consumer_info *consumer = &look->consumers[index];
	char program[WW_PROGRAM_BYTES];

	format_safe(consumer->program, program, sizeof(program));
	return json_pack("{s:I, s:I, s:I, s:s, s:s, s:I, s:I, s:I, s:I, s:s, s:b, s:I}", "number",
		(json_int_t)consumer->number, "pid", (json_int_t)consumer->pid, "uid",
		(json_int_t)consumer->uid, "user", view_user(&request->view, consumer->uid),
		"program", program, "held", (json_int_t)consumer->held, "next",
		(json_int_t)consumer->next, "behind", (json_int_t)behind(look, consumer), "dropped",
		(json_int_t)consumer->dropped, "state", consumer_state(consumer), "waited_for",
		(int)(consumer->is_waited_for != 0), "waited_ns", (json_int_t)consumer->waited_ns);
}

static json_t *json_of_consumers(struct request *request, const struct look *look)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < look->count; i++)
		json_array_append_new(list, json_of_consumer(request, look, i));
	return list;
}

static json_t *json_of_array(const struct ww_channel_info *info)
{
	char array[FORMAT_ARRAY_BYTES];

	if (!info->has_array)
		return json_null();
	format_array(&info->array, array);
	return json_string(array);
}

static json_t *json_of_waits(const struct ww_channel_info *info)
{
	return info->waits_for == WW_CHANNEL_NOBODY ? json_null() : json_integer(info->waits_for);
}

/* The same keys; null: not shown to this user. */
static json_t *json_from_outside(const struct request *request, const struct look *look)
{
	static const char *const hidden[] = {"policy", "slots", "slot_bytes", "array",
		"metadata_bytes", "metadata_type", "program", "state", "published", "published_ns",
		"consumers_max", "held_max", "waits_for", "waited_ns", "consumers"};
	json_t *root = json_pack("{s:s, s:I}", "name", request->words[0], "pid",
		(json_int_t)look->object.pid);

	for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++)
		json_object_set_new(root, hidden[i], json_null());
	return root;
}

static void print_from_outside(struct request *request, const struct look *look)
{
	const struct ww_object_info *object = &look->object;
	char name[WW_NAME_BYTES];

	format_safe(request->words[0], name, sizeof(name));
	printf("name        %s\n", name);
	printf("owner       %s, mode %04o\n", view_user(&request->view, object->uid), object->mode);
	printf("producer    pid %u\n", object->pid);
	printf("holders     %u\n", object->holders);
	printf("frames      not shown to this user, nor the consumers\n");
}

static int print_json(struct request *request, const struct look *look)
{
	const struct ww_channel_info *info = &look->info;
	char program[WW_PROGRAM_BYTES];
	char type[WW_FRAME_METADATA_TYPE_BYTES];
	json_t *root;

	format_safe(info->program, program, sizeof(program));
	format_safe(info->metadata_type, type, sizeof(type));
	root = json_pack(
		"{s:s, s:s, s:I, s:I, s:o, s:I, s:s, s:I, s:s, s:s, s:I, s:I, s:I, s:I, s:o, s:I, s:o}",
		"name", request->words[0], "policy", format_policy(info->policy), "slots",
		(json_int_t)info->slots, "slot_bytes", (json_int_t)info->slot_bytes, "array",
		json_of_array(info), "metadata_bytes", (json_int_t)info->metadata_bytes,
		"metadata_type", type, "pid", (json_int_t)info->pid, "program", program, "state",
		producer_state(look), "published", (json_int_t)info->published, "published_ns",
		(json_int_t)info->published_ns, "consumers_max", (json_int_t)info->consumers_max,
		"held_max", (json_int_t)info->held_max, "waits_for", json_of_waits(info),
		"waited_ns", (json_int_t)info->waited_ns, "consumers",
		json_of_consumers(request, look));
	return report_json(root, JSON_INDENT(2));
}

static int run(struct request *request)
{
	struct look look;
	int code = look_at(request, &look);

	if (code)
		return code;
	view_init(&request->view);
	if (look.is_barred && request->json)
		return report_json(json_from_outside(request, &look), JSON_INDENT(2));
	if (look.is_barred) {
		print_from_outside(request, &look);
		return EXIT_DONE;
	}
	if (request->json)
		return print_json(request, &look);
	print_channel(request, &look);
	print_producer(&look);
	print_consumers(request, &look);
	return EXIT_DONE;
}

const struct verb verb_channel_stat = {.name = "stat",
	.summary = "how a channel is, and what each consumer holds and has dropped",
	.options = options,
	.help = help,
	.context = &stat_request,
	.words = "NAME",
	.least_words = 1,
	.most_words = 1,
	.broker = VERB_BROKER_OBJECT,
	.run = run};
