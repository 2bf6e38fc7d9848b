/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ls.c - `warpway ls`: the objects of a broker
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "warpway/open_broker.h"
#include "common/table.h"
#include "warpway/verbs.h"
#include "warpway/object_view.h"

static struct ls {
	struct request request;
	bool names;
	bool all;
} ls;

static const struct option_row options[] = {
	OPTION("all", FLAG, struct ls, all, .letter = 'a'),
	OPTION("human", FLAG, struct ls, request.view.human, .letter = 'H'),
	OPTION_NUMERIC,
	OPTION("names", FLAG, struct ls, names),
	OPTION_JSON,
	OPTION_BROKER,
	OPTION_END,
};

static const char help[] =
	"Usage: warpway ls [OPTION...] [PREFIX]\n\n"
	"Lists the objects of a broker whose names begin with PREFIX, or all that have names.\n\n"
	"  -a, --all         also objects without a name, those inside others (@ID/...), and ended\n"
	"                    ones that are still held\n"
	"  -H, --human       sizes such as 2.0 MiB\n"
	"  -n, --numeric     users by number\n"
	"  --names           only the names, one a line\n"
	"  --json            an array of objects; its keys are in warpway(1)\n" BROKER_HELP
	"\nThe first letter of the mode is the state: w being written, s sealed (read-only),\n"
	"- shared, x ended but still held by a process.\n\n"
	"  warpway ls -H model/\n\n" BROKER_EXIT_HELP;

/* What is inside another object, such as a member of a barrier, only if it is asked for. */
static bool is_listed(const struct ww_object_info *object)
{
	return object->name[0] != '@' || ls.all || ls.request.words[0];
}

/* The next object that is to be listed. Without a broker there is no snapshot, and no object. */
static bool next(ww_snapshot *snapshot, size_t *index, struct ww_object_info *out_object)
{
	while (snapshot && ww_snapshot_object(snapshot, (*index)++, out_object) == WW_OK) {
		if (is_listed(out_object))
			return true;
	}
	return false;
}

static void add_row(struct view *view, struct table *table, const struct ww_object_info *object)
{
	struct view_text text;

	view_text(view, object, &text);
	/* 12 letters of a UUID are enough to tell GPUs apart. */
	table_add(table, "%s\t%s\t%s\t%s\t%.12s\t%u\t%s\t%s%s", text.mode,
		view_user(view, object->uid), text.bytes, format_kind(object->kind), text.device,
		object->holders, text.age, text.name, text.array);
}

/*
 * The bytes of objects. A memory that has several names is listed once for each, and one that was
 * ended and put again is listed as two objects of one id, but its bytes are there once.
 *
 * Slices with names have the id of their pool. With --all they do not count: the memory of the pool
 * is in the list, too.
 */
struct sizes {
	struct size {
		uint8_t id[WW_OBJECT_ID_BYTES];
		uint64_t bytes;
	} * items;
	size_t count;
	size_t room;
	uint64_t slices;
};

/* What there is no memory for is not counted. */
static void sizes_add(struct sizes *sizes, const struct ww_object_info *object)
{
	struct size *size;

	if (object->is_slice) {
		sizes->slices += ls.all ? 0 : object->bytes;
		return;
	}
	if (sizes->count == sizes->room) {
		size_t room = 2 * sizes->room + 64;
		struct size *grown = reallocarray(sizes->items, room, sizeof(*grown));

		if (!grown)
			return;
		sizes->items = grown;
		sizes->room = room;
	}
	size = &sizes->items[sizes->count++];
	memcpy(size->id, object->object_id, sizeof(size->id));
	size->bytes = object->bytes;
}

static int compare_sizes(const void *a, const void *b)
{
	const struct size *first = a;
	const struct size *second = b;

	return memcmp(first->id, second->id, sizeof(first->id));
}

/* Frees the list. */
static uint64_t sizes_sum(struct sizes *sizes)
{
	struct size *items = sizes->items;
	uint64_t sum = sizes->slices;

	if (items)
		qsort(items, sizes->count, sizeof(*items), compare_sizes);
	for (size_t i = 0; i < sizes->count; i++) {
		if (i == 0 || compare_sizes(&items[i - 1], &items[i]) != 0)
			sum += items[i].bytes;
	}
	free(items);
	return sum;
}

static void print_table(struct view *view, ww_snapshot *snapshot)
{
	struct ww_object_info object = WW_INIT(struct ww_object_info);
	struct sizes sizes = {.items = NULL};
	char bytes[NUMBER_BYTES];
	struct table table;
	size_t count = 0;
	size_t index = 0;

	table_init(&table, "llrllrrl");
	table_add(&table, "MODE\tOWNER\tBYTES\tKIND\tDEVICE\tHOLDERS\tAGE\tNAME");
	for (; next(snapshot, &index, &object); count++) {
		add_row(view, &table, &object);
		sizes_add(&sizes, &object);
	}
	if (count > 0)
		table_print(&table, stdout);
	table_fini(&table);
	view_bytes(view, sizes_sum(&sizes), bytes);
	printf("%zu object%s, %s%s\n", count, count == 1 ? "" : "s", bytes,
		view->human ? "" : " bytes");
}

/* The table counts holders. What has none, and does not stay without any, is there for a token. */
static void print_kept_by_tokens(const struct view *view, ww_snapshot *all)
{
	struct ww_object_info object = WW_INIT(struct ww_object_info);
	struct sizes sizes = {.items = NULL};
	char bytes[NUMBER_BYTES];
	uint64_t sum;

	for (size_t i = 0; all && ww_snapshot_object(all, i, &object) == WW_OK; i++) {
		if (object.life == WW_LIFE_HELD && object.holders == 0 && object.escrows > 0)
			sizes_add(&sizes, &object);
	}
	sum = sizes_sum(&sizes);
	view_bytes(view, sum, bytes);
	if (sum > 0)
		printf("%s%s of these are kept by tokens alone: warpway who\n", bytes,
			view->human ? "" : " bytes");
}

/*
 * What the list leaves out, which may occupy most of the memory. The slices in the list are part of
 * that. Nothing is said if it fails.
 */
static void print_rest(struct request *request)
{
	struct ww_object_info object = WW_INIT(struct ww_object_info);
	OWN(snapshot) ww_snapshot *all = NULL;
	struct sizes every = {.items = NULL};
	struct sizes shown = {.items = NULL};
	char bytes[NUMBER_BYTES];
	uint64_t every_sum, shown_sum;
	size_t count = 0;

	if (!request->broker || ls.all || request->words[0] ||
		ww_snapshot_create(request->broker, NULL, WW_SNAPSHOT_OBJECTS | WW_SNAPSHOT_UNNAMED,
			&all) != WW_OK)
		return;
	for (size_t i = 0; ww_snapshot_object(all, i, &object) == WW_OK; i++) {
		bool is_shown = is_listed(&object) && object.name[0] &&
			object.state != WW_STATE_REMOVED;

		count += !is_shown;
		if (!object.is_slice)
			sizes_add(&every, &object);
		if (is_shown)
			sizes_add(&shown, &object);
	}
	every_sum = sizes_sum(&every);
	shown_sum = sizes_sum(&shown); /* a slice counts with each of its names */
	view_bytes(&request->view, every_sum > shown_sum ? every_sum - shown_sum : 0, bytes);
	if (count > 0)
		printf("%zu more without a name, inside others or ended, %s%s: warpway ls --all\n",
			count, bytes, request->view.human ? "" : " bytes");
	print_kept_by_tokens(&request->view, all);
}

static int print_names(ww_snapshot *snapshot)
{
	struct ww_object_info object = WW_INIT(struct ww_object_info);
	size_t index = 0;

	while (next(snapshot, &index, &object)) {
		char name[WW_NAME_BYTES];

		format_safe(object.name, name, sizeof(name));
		if (name[0] && object.state != WW_STATE_REMOVED)
			puts(name);
	}
	return 0;
}

static int print_json(struct view *view, ww_snapshot *snapshot)
{
	struct ww_object_info object = WW_INIT(struct ww_object_info);
	json_t *list = json_array();
	size_t index = 0;

	while (next(snapshot, &index, &object))
		json_array_append_new(list, view_json_object(view, &object));
	return report_json(list, JSON_INDENT(2));
}

static int run(struct request *request)
{
	OWN(snapshot) ww_snapshot *snapshot = NULL;
	ww_status status = WW_OK;

	view_init(&request->view);
	if (request->broker)
		status = ww_snapshot_create(request->broker, request->words[0],
			WW_SNAPSHOT_OBJECTS | (ls.all ? WW_SNAPSHOT_UNNAMED : 0), &snapshot);
	if (status != WW_OK)
		return broker_fail(status, "cannot list objects");
	if (request->json)
		return print_json(&request->view, snapshot);
	if (ls.names)
		return print_names(snapshot);
	print_table(&request->view, snapshot);
	if (ls.all && !request->words[0])
		print_kept_by_tokens(&request->view, snapshot);
	print_rest(request);
	return 0;
}

const struct verb verb_ls = {.name = "ls",
	.summary = "list the objects of a broker",
	.options = options,
	.help = help,
	.context = &ls,
	.words = "[PREFIX]",
	.most_words = 1,
	.broker = VERB_BROKER_FIND,
	.run = run};
