/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stat.c - `warpway stat`: all that a broker says of one object
 */
#include <stdio.h>

#include "broker.h"
#include "table.h"
#include "verbs.h"
#include "view.h"

struct stat_verb {
	const char *address;
	bool json;
	struct view view;
};

static const struct option options[] = {
	{"numeric", no_argument, NULL, 'n'},
	{"json", no_argument, NULL, 'j'},
	BROKER_OPTIONS,
};

static const char help[] =
	"Usage: warpway stat [OPTION...] NAME\n\n"
	"Says all that a broker knows of an object.\n\n"
	"  -n, --numeric     users and groups by number\n"
	"  --json            the object; its keys are in warpway(1)\n" BROKER_HELP
	"\n  warpway stat model/layer0/w\n\n" BROKER_EXIT_HELP;

static int take(void *context, int letter, const char *argument)
{
	struct stat_verb *verb = context;

	switch (letter) {
	case 'n':
		verb->view.numeric = true;
		break;
	case 'j':
		verb->json = true;
		break;
	default:
		verb->address = argument;
	}
	return 0;
}

static void print_what(const struct view *view, const struct ww_object_info *object)
{
	char name[VIEW_OBJECT_BYTES];
	char id[FORMAT_ID_BYTES];
	char bytes[NUMBER_BYTES];
	char device[FORMAT_UUID_BYTES];

	view_object(object, name);
	format_id(object->object_id, id);
	number_size_text(object->bytes, bytes);
	view_device(view, object, device);
	printf("name        %s\n", name);
	printf("id          %s\n", id);
	printf("generation  %llu\n", (unsigned long long)object->generation);
	printf("kind        %s%s%s\n", format_kind(object->kind), object->memory_kind ? ", " : "",
		object->memory_kind ? format_memory_kind(object->memory_kind) : "");
	printf("bytes       %llu (%s)\n", (unsigned long long)object->bytes, bytes);
	printf("device      %s\n", device);
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

static int print(struct stat_verb *verb, const struct ww_object_info *object)
{
	if (verb->json)
		return view_print_json(view_json_object(&verb->view, object), JSON_INDENT(2));
	print_what(&verb->view, object);
	print_array(object);
	print_who(&verb->view, object);
	print_life(object);
	return 0;
}

int verb_stat(int argc, char *argv[])
{
	static const struct option_set set = {OPTION_SHORT "n", options, help, take};
	OWN(broker) ww_broker *broker = NULL;
	struct ww_object_info object = {.size = sizeof(object)};
	struct stat_verb verb = {0};
	ww_status status;
	int code;

	view_init(&verb.view);
	code = option_read(argc, argv, &set, &verb);
	if (code >= 0)
		return code;
	code = option_words(argc, 1, 1, "NAME");
	if (code == 0)
		code = broker_reach(verb.address, WW_BROKER_NO_START, &broker);
	if (code)
		return code;
	status = ww_broker_stat(broker, argv[optind], &object);
	if (status != WW_OK) {
		complain_record("cannot look at %s", argv[optind]);
		return broker_exit(status);
	}
	return print(&verb, &object) ? EXIT_FAILED : EXIT_DONE;
}
