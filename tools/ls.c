/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ls.c - `warpway ls`: the objects of a broker
 */
#include <stdio.h>

#include "broker.h"
#include "table.h"
#include "verbs.h"
#include "view.h"

struct ls {
	const char *address;
	const char *prefix;
	uint64_t contents;
	bool json;
	bool names;
	bool all;
	struct view view;
};

static const struct option options[] = {
	{"all", no_argument, NULL, 'a'},
	{"human", no_argument, NULL, 'H'},
	{"numeric", no_argument, NULL, 'n'},
	{"names", no_argument, NULL, 'N'},
	{"json", no_argument, NULL, 'j'},
	BROKER_OPTIONS,
};

static const char help[] =
	"Usage: warpway ls [OPTION...] [PREFIX]\n\n"
	"Lists the objects of a broker whose names begin with PREFIX, or all that have names.\n\n"
	"  -a, --all         also objects without a name, those inside others (@ID/...), and removed\n"
	"                    ones that are still held\n"
	"  -H, --human       sizes such as 2.0 MiB\n"
	"  -n, --numeric     users by number\n"
	"  --names           only the names, one a line\n"
	"  --json            an array of objects; its keys are in warpway(1)\n" BROKER_HELP
	"\nThe first letter of the mode is the state: w being written, s sealed (read-only),\n"
	"- shared, x removed but still held by a process.\n\n"
	"  warpway ls -H model/\n\n" BROKER_EXIT_HELP;

static int take(void *context, int letter, const char *argument)
{
	struct ls *ls = context;

	switch (letter) {
	case 'a':
		ls->contents |= WW_SNAPSHOT_UNNAMED;
		ls->all = true;
		break;
	case 'H':
		ls->view.human = true;
		break;
	case 'n':
		ls->view.numeric = true;
		break;
	case 'N':
		ls->names = true;
		break;
	case 'j':
		ls->json = true;
		break;
	default:
		ls->address = argument;
	}
	return 0;
}

/*
 * The next object that is to be listed. What is inside another one, such as a member of a barrier, is listed only when
 * it is asked for.
 */
static bool next(const struct ls *ls, ww_snapshot *snapshot, size_t *index,
	struct ww_object_info *out_object)
{
	while (ww_snapshot_object(snapshot, (*index)++, out_object) == WW_OK) {
		if (out_object->name[0] != '@' || ls->all || ls->prefix)
			return true;
	}
	return false;
}

static void add_row(struct ls *ls, struct table *table, const struct ww_object_info *object)
{
	char mode[FORMAT_MODE_BYTES];
	char bytes[NUMBER_BYTES];
	char device[FORMAT_UUID_BYTES];
	char age[FORMAT_DURATION_BYTES];
	char name[VIEW_OBJECT_BYTES];
	char array[FORMAT_ARRAY_BYTES] = "";

	format_mode(object->state, object->mode, mode);
	view_bytes(&ls->view, object->bytes, bytes);
	view_device(&ls->view, object, device);
	format_duration(object->age_ns, age);
	view_object(object, name);
	if (object->has_array)
		format_array(&object->array, array);
	table_add(table, "%s", mode);
	table_add(table, "%s", view_user(&ls->view, object->uid));
	table_add(table, "%s", bytes);
	table_add(table, "%s", format_kind(object->kind));
	table_add(table, "%.12s", device); /* enough to tell GPUs apart */
	table_add(table, "%u", object->holders);
	table_add(table, "%s", age);
	table_add(table, "%s%s%s", name, array[0] ? "  " : "", array);
}

static int print_table(struct ls *ls, ww_snapshot *snapshot)
{
	static const char *const heads[] = {"MODE", "OWNER", "BYTES", "KIND", "DEVICE", "HOLDERS",
		"AGE", "NAME"};
	struct ww_object_info object = {.size = sizeof(object)};
	char bytes[NUMBER_BYTES];
	struct table table;
	uint64_t total = 0;
	size_t count = 0;
	size_t index = 0;

	table_init(&table, "llrllrrl");
	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
		table_add(&table, "%s", heads[i]);
	for (; next(ls, snapshot, &index, &object); count++) {
		add_row(ls, &table, &object);
		total += object.bytes;
	}
	if (count > 0)
		table_print(&table, stdout);
	table_fini(&table);
	view_bytes(&ls->view, total, bytes);
	printf("%zu object%s, %s%s\n", count, count == 1 ? "" : "s", bytes,
		ls->view.human ? "" : " bytes");
	return 0;
}

static int print_names(const struct ls *ls, ww_snapshot *snapshot)
{
	struct ww_object_info object = {.size = sizeof(object)};
	size_t index = 0;

	while (next(ls, snapshot, &index, &object)) {
		char name[WW_NAME_BYTES];

		format_safe(object.name, name, sizeof(name));
		if (name[0] && object.state != WW_STATE_REMOVED)
			puts(name);
	}
	return 0;
}

static int print_json(struct ls *ls, ww_snapshot *snapshot)
{
	struct ww_object_info object = {.size = sizeof(object)};
	json_t *list = json_array();
	size_t index = 0;

	while (next(ls, snapshot, &index, &object))
		json_array_append_new(list, view_json_object(&ls->view, &object));
	return view_print_json(list, JSON_INDENT(2));
}

static int print(struct ls *ls, ww_snapshot *snapshot)
{
	if (ls->json)
		return print_json(ls, snapshot);
	return ls->names ? print_names(ls, snapshot) : print_table(ls, snapshot);
}

int verb_ls(int argc, char *argv[])
{
	static const struct option_set set = {OPTION_SHORT "aHn", options, help, take};
	OWN(broker) ww_broker *broker = NULL;
	OWN(snapshot) ww_snapshot *snapshot = NULL;
	struct ls ls = {.contents = WW_SNAPSHOT_OBJECTS};
	ww_status status;
	int code;

	view_init(&ls.view);
	code = option_read(argc, argv, &set, &ls);
	if (code >= 0)
		return code;
	code = option_words(argc, 0, 1, "[PREFIX]");
	if (code == 0)
		code = broker_reach(ls.address, WW_BROKER_NO_START, &broker);
	if (code)
		return code;
	ls.prefix = argv[optind];
	status = ww_snapshot_create(broker, ls.prefix, ls.contents, &snapshot);
	if (status != WW_OK) {
		complain_record("cannot list objects");
		return broker_exit(status);
	}
	return print(&ls, snapshot) ? EXIT_FAILED : EXIT_DONE;
}
