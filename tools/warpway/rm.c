/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rm.c - `warpway rm`: remove names from a broker, or end objects
 *
 * A memory goes on without its name while somebody holds it. So that nobody wonders why its bytes
 * are not free, the command says at the end who does. The bytes of a slice are not the broker's.
 */
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "warpway/holder_report.h"
#include "warpway/object_view.h"
#include "warpway/open_broker.h"
#include "warpway/verbs.h"

static struct rm {
	struct request request;
	bool ends;
	struct ww_object_info *removed; /* memories whose names were removed */
	size_t removed_count;
} rm;

static const struct option_row options[] = {
	OPTION("end", FLAG, struct rm, ends),
	OPTION_BROKER,
	OPTION_END,
};

static const char help[] =
	"Usage: warpway rm [OPTION...] NAME...\n"
	"       warpway rm --end [OPTION...] NAME|ID...\n\n"
	"Removes names from a broker. They are free at once. A memory goes on without a name while a\n"
	"process or a token in flight holds it; the command says which. Any other object ends.\n\n"
	"  --end             end memories, too: their tokens in flight end, nobody can get them any\n"
	"                    more, and processes that hold one keep what they have mapped. ID is the\n"
	"                    32 digits that `warpway ls --all --json` shows\n" BROKER_HELP
	"\n  warpway ls --names model/ | xargs -d '\\n' warpway rm\n\n" BROKER_EXIT_HELP;

/* Return: whether the text is an id. */
static bool read_id(const char *text, uint8_t out_id[WW_OBJECT_ID_BYTES])
{
	return format_find_id(text, out_id) && !text[2 * (size_t)WW_OBJECT_ID_BYTES];
}

static ww_status end_object(ww_broker *broker, const char *word)
{
	ww_status status = WW_ERR_NOT_FOUND;
	uint8_t id[WW_OBJECT_ID_BYTES];

	/* First, or another user could name an object like the id. */
	if (read_id(word, id))
		status = ww_broker_end(broker, NULL, id);
	return status == WW_ERR_NOT_FOUND ? ww_broker_end(broker, word, NULL) : status;
}

static ww_status remove_name(struct rm *work, const char *name)
{
	struct ww_object_info info = WW_INIT(struct ww_object_info);
	bool is_memory = ww_broker_stat(work->request.broker, name, &info) == WW_OK &&
		info.kind == WW_OBJECT_MEMORY;
	ww_status status = ww_broker_remove(work->request.broker, name);

	if (status == WW_OK && is_memory)
		work->removed[work->removed_count++] = info;
	return status;
}

/* Return: the exit code. */
static int fail_remove(const struct rm *work, ww_status status, const char *word)
{
	uint8_t id[WW_OBJECT_ID_BYTES];

	if (status != WW_ERR_NOT_FOUND || work->ends || !read_id(word, id))
		return broker_fail(status, "cannot remove %s", word);
	complain("no object has the name %s; an id needs --end: warpway rm --end %s", word, word);
	return EXIT_FAILED;
}

/* Return: whether it is what the name was one of: the memory, or the pool of a slice. */
static bool is_same(const struct ww_object_info *object, const struct ww_object_info *removed)
{
	return object->generation == removed->generation &&
		!memcmp(object->object_id, removed->object_id, sizeof(object->object_id));
}

/* Return: NULL: nothing is left. */
static const struct ww_object_info *find_rest(const struct holder_report *report,
	const struct ww_object_info *removed)
{
	const struct ww_object_info *rest = NULL;

	for (size_t i = 0; i < report->object_count; i++) {
		const struct ww_object_info *object = &report->objects[i];

		if (is_same(object, removed) && (!rest || object->kind == WW_OBJECT_POOL))
			rest = object;
	}
	return rest;
}

/* The rest of a memory may have other names. */
static void print_if_held(const struct holder_report *report, const struct ww_object_info *removed)
{
	const struct ww_object_info *rest = find_rest(report, removed);
	char why[HOLDER_REPORT_REASON_BYTES];
	char size[NUMBER_BYTES];
	char name[WW_NAME_BYTES];
	char other[WW_NAME_BYTES];

	if (!rest)
		return;
	number_size_text(removed->bytes, size);
	format_safe(removed->name, name, sizeof(name));
	format_safe(rest->name, other, sizeof(other));
	holder_report_reason(report, rest, why);
	if (rest->kind == WW_OBJECT_POOL)
		printf("%s: the name is free; its %s are free in their pool when they have no other "
		       "name and no process uses them\n",
			name, size);
	else
		printf("%s: the name is free; its %s stay%s%s, %s\n", name, size,
			*other ? " as " : "", other, why);
}

/* Nothing was lost if this fails, so it says nothing then. */
static void print_who_holds(const struct rm *work)
{
	struct holder_report report = {.objects = NULL};

	if (work->removed_count > 0 && holder_report_take(&report, work->request.broker) == WW_OK) {
		for (size_t i = 0; i < work->removed_count; i++)
			print_if_held(&report, &work->removed[i]);
	}
	holder_report_fini(&report);
}

/* Goes through all names, and ends with the exit code of the first that failed. */
static int run(struct request *request)
{
	int code = EXIT_DONE;
	size_t count = 1; /* there is one at least */

	while (request->words[count])
		count++;
	rm.removed = calloc(count, sizeof(*rm.removed));
	if (!rm.removed)
		return complain("out of memory");
	for (char **name = request->words; *name; name++) {
		ww_status status = rm.ends ? end_object(request->broker, *name)
					   : remove_name(&rm, *name);
		int failed = status ? fail_remove(&rm, status, *name) : EXIT_DONE;

		code = code ? code : failed;
	}
	print_who_holds(&rm);
	free(rm.removed);
	return code;
}

const struct verb verb_rm = {.name = "rm",
	.summary = "remove names, or end objects",
	.options = options,
	.help = help,
	.context = &rm,
	.words = "NAME...",
	.least_words = 1,
	.most_words = INT_MAX,
	.broker = VERB_BROKER_OBJECT,
	.run = run};
