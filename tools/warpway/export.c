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

static struct export
{
	struct request request;
	uint64_t uses;
	struct ww_export_params params; /* escrow_ns as it was said: 0 means none */
}
export = {
	.params =
		{
			.struct_size = sizeof(struct ww_export_params),
			.access = WW_ACCESS_READ,
			.escrow_ns = ESCROW_DEFAULT_NS,
		},
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
	uint32_t access;

	if (!format_find(FORMAT_ACCESS, text, &access) || access == 0)
		return refuse("'--access %s': read or write is needed", text);
	*(uint32_t *)place = access;
	return 0;
}

static const struct option_row options[] = {
	OPTION("access", TAKEN, struct export, params.access, .take = take_access),
	OPTION("escrow", SECONDS, struct export, params.escrow_ns),
	OPTION("uses", NUMBER, struct export, uses, .value = 1, .maximum = UINT32_MAX),
	OPTION_JSON,
	OPTION_BROKER,
	OPTION_END,
};

static int print(const struct request *request, const struct ww_export_params *params,
	const char *text)
{
	char name[WW_NAME_BYTES];

	if (!request->json)
		return puts(text) < 0 ? -1 : 0;
	format_safe(request->words[0], name, sizeof(name));
	return report_json(json_pack("{s:s, s:s, s:s, s:I, s:I}", "token", text, "name", name,
				   "access", format_access(params->access), "escrow_ns",
				   (json_int_t)params->escrow_ns, "uses", (json_int_t)params->uses),
		JSON_INDENT(2));
}

/* The span and the array are those that the name has. */
static ww_status make_token(struct ww_export_params params, ww_memory *memory,
	const struct ww_object_info *object, ww_broker *broker, char *out_text)
{
	struct ww_token token;
	ww_status status;

	params.escrow_ns = params.escrow_ns ? params.escrow_ns : WW_ESCROW_NONE;
	params.array = object->has_array ? &object->array : NULL;
	status = ww_memory_export(memory, broker, &params, NULL, &token);
	return status == WW_OK ? ww_token_to_text(&token, out_text) : status;
}

static int run(struct request *request)
{
	OWN(memory) ww_memory *memory = NULL;
	const struct reach reach = {
		.name = request->words[0],
		.params = {.struct_size = sizeof(reach.params), .access = export.params.access},
	};
	struct ww_object_info object = WW_INIT(struct ww_object_info);
	char text[WW_TOKEN_TEXT_BYTES];
	int code = reach_memory(&reach, request->broker, &memory, &object);
	ww_status status;

	if (code)
		return code;
	export.params.uses = (uint32_t) export.uses;
	status = make_token(export.params, memory, &object, request->broker, text);
	if (status != WW_OK)
		return broker_fail(status, "cannot export %s", reach.name);
	return print(request, &export.params, text);
}

const struct verb verb_export = {.name = "export",
	.summary = "a token for an object, to be handed to another process",
	.options = options,
	.help = help,
	.context = &export,
	.words = "NAME",
	.least_words = 1,
	.most_words = 1,
	.broker = VERB_BROKER_OBJECT,
	.run = run};
