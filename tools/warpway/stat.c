/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stat.c - `warpway stat`: all that a broker says of one object
 *
 * How far a timeline is says its page, not the broker, so it is imported for a moment. Members of a
 * barrier are the objects inside it. What frames a work queue has says work_queue_report.c.
 */
#include <stdio.h>

#include "warpway/open_broker.h"
#include "common/table.h"
#include "warpway/verbs.h"
#include "warpway/object_view.h"
#include "warpway/work_queue_report.h"

static struct request stat_request;

static const struct option_row options[] = {
	OPTION_NUMERIC,
	OPTION_JSON,
	OPTION_BROKER,
	OPTION_END,
};

static const char
	help[] = "Usage: warpway stat [OPTION...] NAME\n\n"
		 "Says all that a broker knows of an object.\n\n"
		 "  -n, --numeric     users and groups by number\n"
		 "  --json            the object; its keys are in warpway(1)\n" BROKER_HELP
		 "\n  warpway stat model/layer0/w\n\n" BROKER_EXIT_HELP;

static void print_what(const struct view *view, const struct ww_object_info *object)
{
	struct view_text text;

	view_text(view, object, &text);
	printf("name        %s\n", text.name);
	printf("id          %s\n", text.id);
	printf("generation  %llu\n", (unsigned long long)object->generation);
	printf("kind        %s%s%s\n", format_kind(object->kind), object->memory_kind ? ", " : "",
		object->memory_kind ? format_memory_kind(object->memory_kind) : "");
	printf("bytes       %llu (%s)\n", (unsigned long long)object->bytes, text.size);
	printf("device      %s\n", text.device);
}

static void print_numbers(const char *head, const int64_t numbers[], uint32_t count)
{
	fputs(head, stdout);
	for (uint32_t i = 0; i < count && i < WW_ARRAY_DIMS; i++)
		printf("%s%lld", i ? ", " : "", (long long)numbers[i]);
	putchar('\n');
}

static void print_array(const struct ww_object_info *object)
{
	char dtype[FORMAT_DTYPE_BYTES];

	if (!object->has_array) {
		printf("array       %s\n",
			object->access ? "none: just bytes" : "not shown to this user");
		return;
	}
	format_dtype(&object->array, dtype);
	printf("dtype       %s\n", dtype);
	print_numbers("shape       ", object->array.shape, object->array.ndim);
	print_numbers("strides     ", object->array.strides, object->array.ndim);
	printf("offset      %llu\n", (unsigned long long)object->array.offset);
}

/* Return: whether the user may see it. */
static bool find_timeline(const struct request *request, struct ww_timeline_info *out_info)
{
	OWN(timeline) ww_timeline *timeline = NULL;

	*out_info = (struct ww_timeline_info){.struct_size = sizeof(*out_info)};
	return ww_timeline_get(request->broker, request->words[0], 0, NULL, &timeline) == WW_OK &&
		ww_timeline_info_get(timeline, out_info) == WW_OK;
}

static void print_timeline(const struct request *request)
{
	struct ww_timeline_info info;
	char process[FORMAT_PROCESS_BYTES];

	if (!find_timeline(request, &info)) {
		printf("value       not shown to this user\n");
		return;
	}
	printf("value       %llu, submitted are %llu\n", (unsigned long long)info.completed,
		(unsigned long long)info.submitted);
	printf("signaller   %s, %s\n", format_process(info.pid, info.program, process),
		format_timeline_state(info.state));
}

static json_t *json_of_timeline(const struct request *request)
{
	struct ww_timeline_info info;

	if (!find_timeline(request, &info))
		return json_null();
	return json_pack("{s:I, s:I, s:s, s:I, s:s}", "completed", (json_int_t)info.completed,
		"submitted", (json_int_t)info.submitted, "state", format_timeline_state(info.state),
		"pid", (json_int_t)info.pid, "program", info.program);
}

static void print_barrier(const struct request *request, const struct ww_object_info *object)
{
	OWN(snapshot) ww_snapshot *snapshot = NULL;
	struct ww_object_info member = WW_INIT(struct ww_object_info);
	char id[FORMAT_ID_BYTES];
	char prefix[FORMAT_ID_BYTES + 2];
	size_t count = 0;

	format_id(object->object_id, id);
	snprintf(prefix, sizeof(prefix), "@%s/", id);
	if (ww_snapshot_create(request->broker, prefix, WW_SNAPSHOT_OBJECTS, &snapshot) != WW_OK)
		return;
	while (ww_snapshot_object(snapshot, count, &member) == WW_OK)
		count++;
	printf("members     %zu have joined, see warpway ls %s\n", count, prefix);
}

/* What is particular to the object's kind. */
static void print_kind(const struct request *request, const struct ww_object_info *object)
{
	if (object->kind == WW_OBJECT_MEMORY)
		print_array(object);
	else if (object->kind == WW_OBJECT_TIMELINE)
		print_timeline(request);
	else if (object->kind == WW_OBJECT_BARRIER)
		print_barrier(request, object);
	else if (object->kind == WW_OBJECT_WORK_QUEUE)
		work_queue_report_print(request->broker, object);
}

static int print_json(struct request *request, const struct ww_object_info *object)
{
	json_t *root = view_json_object(&request->view, object);

	if (object->kind == WW_OBJECT_TIMELINE)
		json_object_set_new(root, "timeline", json_of_timeline(request));
	if (object->kind == WW_OBJECT_WORK_QUEUE)
		json_object_set_new(root, "work_queue",
			work_queue_report_json(request->broker, object));
	return report_json(root, JSON_INDENT(2));
}

static void print_who(struct view *view, const struct ww_object_info *object)
{
	printf("state       %s\n", format_state(object->state));
	printf("mode        %04o\n", object->mode & 07777);
	printf("owner       %s (%u)\n", view_user(view, object->uid), object->uid);
	printf("group       %s (%u)\n", view_group(view, object->gid), object->gid);
	printf("access      %s, for this user\n", format_access(object->access));
	if (object->pid)
		printf("put by      pid %u\n", object->pid);
	else
		printf("put by      a process that is not seen from the broker, or has ended\n");
}

static void print_life(const struct ww_object_info *object)
{
	char age[FORMAT_DURATION_BYTES];
	char left[FORMAT_DURATION_BYTES] = "no end";

	format_duration(object->age_ns, age);
	if (object->left_ns != WW_FOREVER)
		format_duration(object->left_ns, left);
	printf("life        %s\n", format_life(object->life));
	printf("age         %s\n", age);
	printf("left        %s\n", left);
	printf("holders     %u\n", object->holders);
	printf("escrows     %u\n", object->escrows);
	printf("fds         %u\n", object->fd_count);
}

static int run(struct request *request)
{
	struct ww_object_info object = WW_INIT(struct ww_object_info);
	ww_status status = ww_broker_stat(request->broker, request->words[0], &object);

	if (status != WW_OK)
		return broker_fail(status, "cannot look at %s", request->words[0]);
	view_init(&request->view);
	if (request->json)
		return print_json(request, &object);
	print_what(&request->view, &object);
	print_kind(request, &object);
	print_who(&request->view, &object);
	print_life(&object);
	return EXIT_DONE;
}

const struct verb verb_stat = {.name = "stat",
	.summary = "all that a broker says of an object",
	.options = options,
	.help = help,
	.context = &stat_request,
	.words = "NAME",
	.least_words = 1,
	.most_words = 1,
	.broker = VERB_BROKER_OBJECT,
	.run = run};
