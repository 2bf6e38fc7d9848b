/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export.c - `warpway export`: a token for an object of a broker
 *
 * The token is made by a process that holds the object, which this one does for a moment. After it
 * has ended the object lives as before, and while the token is under way the escrow keeps it there.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "warpway/open_broker.h"
#include "warpway/format.h"
#include "warpway/object_memory.h"
#include "warpway/verbs.h"
#include "warpway/object_view.h"

#define ESCROW_DEFAULT_NS UINT64_C(60000000000)

struct export
{
	const char *address;
	const char *name;
	bool json;
	uint64_t uses;
	struct ww_export_params params; /* escrow_ns as it was said: 0 means none */
};

static const char help[] =
	"Usage: warpway export [OPTION...] NAME\n\n"
	"Prints a token: a line of text that names the object and opens it, for whoever has it,\n"
	"whatever the object's mode is. Hand it on as you would a key; `warpway get --token` takes it.\n\n"
	"  --access ACCESS   the most that it opens: read (default) or write\n"
	"  --escrow SECONDS  how long the object stays for the token's sake (default 60); 0: not at\n"
	"                    all, so that it must live by other means, as a kept one does\n"
	"  --uses N          imports after which that ends early (default: its time alone ends it)\n"
	"  --json            an object; its keys are in warpway(1)\n" BROKER_HELP
	"\n  warpway export lab/weights | warpway get --token - copy.npy\n\n" BROKER_EXIT_HELP;

static int take_access(void *place, const char *text)
{
	uint32_t *access = place;

	if (!strcmp(text, "read"))
		*access = WW_ACCESS_READ;
	else if (!strcmp(text, "write"))
		*access = WW_ACCESS_WRITE;
	else
		return refuse("'--access %s': read or write is needed", text);
	return 0;
}

static const struct option_row options[] = {
	OPTION("access", TAKEN, struct export, params.access, .take = take_access),
	OPTION("escrow", SECONDS, struct export, params.escrow_ns),
	OPTION("uses", NUMBER, struct export, uses, .value = 1, .maximum = UINT32_MAX),
	OPTION("json", FLAG, struct export, json),
	OPTION("broker", TEXT, struct export, address),
	OPTION_END,
};

static int print(const struct export *export, const char *text)
{
	const struct ww_export_params *params = &export->params;
	char name[WW_NAME_BYTES];

	if (!export->json) {
		puts(text);
		return EXIT_DONE;
	}
	format_safe(export->name, name, sizeof(name));
	return view_print_json(json_pack("{s:s, s:s, s:s, s:I, s:I}", "token", text, "name", name,
				       "access", format_access(params->access), "escrow_ns",
				       (json_int_t)params->escrow_ns, "uses",
				       (json_int_t)params->uses),
		       JSON_INDENT(2))
		? EXIT_FAILED
		: EXIT_DONE;
}

/* The span and the array are those that the name has. */
static ww_status make_token(const struct export *export, ww_memory *memory,
	const struct ww_object_info *object, ww_broker *broker, char *out_text)
{
	struct ww_export_params params = export->params;
	struct ww_token token;
	ww_status status;

	params.escrow_ns = params.escrow_ns ? params.escrow_ns : WW_ESCROW_NONE;
	params.array = object->has_array ? &object->array : NULL;
	status = ww_memory_export(memory, broker, &params, NULL, &token);
	return status == WW_OK ? ww_token_to_text(&token, out_text) : status;
}

static int run(const struct export *export)
{
	OWN(broker) ww_broker *broker = NULL;
	OWN(memory) ww_memory *memory = NULL;
	const struct reach reach = {
		.name = export->name,
		.params = {.struct_size = sizeof(reach.params), .access = export->params.access},
	};
	struct ww_object_info object = WW_INIT(struct ww_object_info);
	char text[WW_TOKEN_TEXT_BYTES];
	int code = broker_find_object(export->address, export->name, &broker);
	ww_status status;

	if (code == 0)
		code = reach_memory(&reach, broker, &memory, &object);
	if (code)
		return code;
	status = make_token(export, memory, &object, broker, text);
	if (status == WW_OK)
		return print(export, text);
	complain_record("cannot export %s", export->name);
	return broker_exit(status);
}

int verb_export(int argc, char *argv[])
{
	struct export export = {
		.params =
			{
				.struct_size = sizeof(export.params),
				.access = WW_ACCESS_READ,
				.escrow_ns = ESCROW_DEFAULT_NS,
			},
	};
	int code = option_read(argc, argv, options, help, &export);

	if (code >= 0)
		return code;
	code = option_words(argc, 1, 1, "NAME");
	if (code)
		return code;
	export.params.uses = (uint32_t) export.uses;
	export.name = argv[optind];
	return run(&export);
}
