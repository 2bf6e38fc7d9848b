/* SPDX-License-Identifier: Apache-2.0 */
/*
 * who.c - `warpway who`: processes and what they hold, objects and why they are still there
 */
#include <stdio.h>
#include <string.h>

#include "warpway/open_broker.h"
#include "warpway/holder_report.h"
#include "common/table.h"
#include "warpway/verbs.h"
#include "warpway/object_view.h"

static struct who {
	struct request request;
	struct holder_report holder_report;
} who_request;

static const struct option_row options[] = {
	OPTION_NUMERIC,
	OPTION_JSON,
	OPTION_BROKER,
	OPTION_END,
};

static const char help[] =
	"Usage: warpway who [OPTION...]\n\n"
	"Shows each process that holds something or has put something: what it holds, and what it\n"
	"makes the broker and others hold. Then each object, and why it is not freed.\n\n"
	"  -n, --numeric     users by number\n"
	"  --json            an object with processes and objects; its keys are in warpway(1)\n" BROKER_HELP
	"\n  warpway who\n\n" BROKER_EXIT_HELP;

/* One that is only connected, as this command is. */
static bool is_idle(const struct ww_holder_info *holder)
{
	return holder->held == 0 && holder->put == 0;
}

static void print_objects(const char *verb, uint32_t count, uint64_t bytes)
{
	char size[NUMBER_BYTES];

	number_size_text(bytes, size);
	printf("%s %u object%s (%s)", verb, count, count == 1 ? "" : "s", size);
}

static void print_holder(struct who *who, const struct ww_holder_info *holder)
{
	char name[FORMAT_PROCESS_BYTES];
	char age[FORMAT_DURATION_BYTES];

	format_process(holder->pid, holder->program, name);
	format_duration(holder->age_ns, age);
	printf("%s of %s, for %s%s: ", name, view_user(&who->request.view, holder->uid), age,
		holder->is_attached ? "" : ", not yet back since the broker was restarted");
	print_objects("holds", holder->held, holder->held_bytes);
	print_objects(", put", holder->put, holder->put_bytes);
	putchar('\n');
}

static void print_holds(const struct who *who, const struct ww_holder_info *holder)
{
	size_t count;
	const struct holder_report_hold *const *held = holder_report_held(&who->holder_report,
		holder, &count);
	struct table table;

	table_init(&table, "llrl");
	for (size_t i = 0; i < count; i++) {
		const struct holder_report_hold *hold = held[i];
		struct view_text text;

		view_text(&who->request.view, hold->object, &text);
		table_add(&table, "  \t%s\t%s\t%s%s%s", format_access(hold->info.access), text.size,
			text.name, hold->info.is_creator ? "  (put by it)" : "",
			hold->object->state == WW_STATE_REMOVED ? "  (ended)" : "");
	}
	table_print(&table, stdout);
	table_fini(&table);
}

static void print_reasons(const struct who *who)
{
	const struct holder_report *report = &who->holder_report;
	struct table table;

	table_init(&table, "rll");
	for (size_t i = 0; i < report->object_count; i++) {
		const struct ww_object_info *object = &report->objects[i];
		struct view_text text;
		char why[HOLDER_REPORT_REASON_BYTES];

		view_text(&who->request.view, object, &text);
		holder_report_reason(report, object, why);
		table_add(&table, "%s\t%s\t%s", text.size, text.name, why);
	}
	table_print(&table, stdout);
	table_fini(&table);
}

static int print_text(struct who *who)
{
	const struct holder_report *report = &who->holder_report;
	size_t shown = 0;

	for (size_t i = 0; i < report->holder_count; i++) {
		if (is_idle(&report->holders[i]))
			continue;
		print_holder(who, &report->holders[i]);
		print_holds(who, &report->holders[i]);
		shown++;
	}
	if (shown == 0)
		puts("No process holds anything.");
	if (report->object_count > 0) {
		puts("\nWhy objects are there:");
		print_reasons(who);
	}
	return 0;
}

static json_t *json_of_holds(const struct holder_report *report,
	const struct ww_holder_info *holder)
{
	json_t *list = json_array();
	size_t count;
	const struct holder_report_hold *const *held = holder_report_held(report, holder, &count);

	for (size_t i = 0; i < count; i++) {
		const struct holder_report_hold *hold = held[i];
		char name[WW_NAME_BYTES];
		char id[FORMAT_ID_BYTES];

		format_safe(hold->object->name, name, sizeof(name));
		format_id(hold->object->object_id, id);
		json_array_append_new(list,
			json_pack("{s:s, s:s, s:s, s:b, s:I, s:o}", "name", name, "id", id,
				"access", format_access(hold->info.access), "maker",
				(int)hold->info.is_creator, "bytes",
				(json_int_t)hold->object->bytes, "age_ns",
				view_json_ns(hold->info.age_ns)));
	}
	return list;
}

static json_t *json_of_holder(struct who *who, const struct ww_holder_info *holder)
{
	char program[WW_PROGRAM_BYTES];

	format_safe(holder->program, program, sizeof(program));
	return json_pack("{s:I, s:s, s:I, s:I, s:s, s:b, s:I, s:I, s:I, s:I, s:o, s:o}", "pid",
		(json_int_t)holder->pid, "program", program, "uid", (json_int_t)holder->uid, "gid",
		(json_int_t)holder->gid, "user", view_user(&who->request.view, holder->uid),
		"attached", (int)holder->is_attached, "held", (json_int_t)holder->held,
		"held_bytes", (json_int_t)holder->held_bytes, "put", (json_int_t)holder->put,
		"put_bytes", (json_int_t)holder->put_bytes, "age_ns", view_json_ns(holder->age_ns),
		"holds", json_of_holds(&who->holder_report, holder));
}

static json_t *json_of_object(struct who *who, const struct ww_object_info *object)
{
	json_t *root = view_json_object(&who->request.view, object);
	char why[HOLDER_REPORT_REASON_BYTES];

	holder_report_reason(&who->holder_report, object, why);
	json_object_set_new(root, "why", json_string(why));
	return root;
}

static int print_json(struct who *who)
{
	const struct holder_report *report = &who->holder_report;
	json_t *processes = json_array();
	json_t *objects = json_array();

	for (size_t i = 0; i < report->holder_count; i++) {
		if (!is_idle(&report->holders[i]))
			json_array_append_new(processes, json_of_holder(who, &report->holders[i]));
	}
	for (size_t i = 0; i < report->object_count; i++)
		json_array_append_new(objects, json_of_object(who, &report->objects[i]));
	return report_json(json_pack("{s:o, s:o}", "processes", processes, "objects", objects),
		JSON_INDENT(2));
}

/* Without a broker the report is empty. */
static int run(struct request *request)
{
	struct who *who = &who_request;
	ww_status status = WW_OK;
	int code;

	view_init(&request->view);
	if (request->broker)
		status = holder_report_take(&who->holder_report, request->broker);
	if (status == WW_ERR_NO_MEMORY)
		code = complain("out of memory");
	else if (status != WW_OK)
		code = broker_fail(status, "cannot look at the broker");
	else
		code = request->json ? print_json(who) : print_text(who);
	holder_report_fini(&who->holder_report);
	return code;
}

const struct verb verb_who = {.name = "who",
	.summary = "which process holds what, and why objects are still there",
	.options = options,
	.help = help,
	.context = &who_request,
	.broker = VERB_BROKER_FIND,
	.run = run};
