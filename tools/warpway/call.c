/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call.c - `warpway call`: one call of a function of a service
 *
 * The function's signature says how the words of the command line are read and how the results are
 * printed. An interrupt cancels the call.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/interrupt.h"
#include "warpway/call_argument.h"
#include "warpway/format.h"
#include "warpway/open_broker.h"
#include "warpway/service_open.h"

#define WORDS_MAX (2 + WW_CALL_ARGS_MAX) /* the service, the function, one for each argument */

static struct call {
	struct request request;
	uint64_t timeout_ns;
} call_request = {.timeout_ns = WW_FOREVER};

static const char help[] =
	"Usage: warpway call [OPTION...] NAME FUNCTION [ARGUMENT=VALUE...]\n\n"
	"Calls a function of the service NAME and prints its results, one a line. Its signature says\n"
	"what a value means: a number, true or false; text, for bytes; @OBJECT, the name of an array\n"
	"or a timeline, or a token of one. Arrays are not copied: the function works on them where they\n"
	"lie. `warpway functions NAME` lists functions and signatures.\n\n"
	"  --timeout SECONDS how long to wait for the call, or `forever` (default). The service must be\n"
	"                    there: `warpway functions --wait-ready NAME` waits for it\n"
	"  --json            one object; the keys are in warpway(1)\n" BROKER_HELP
	"\n  warpway call lab/blas saxpy a=2.0 x=@lab/x y=@lab/y\n\n" BROKER_EXIT_HELP;

static const struct option_row options[] = {
	OPTION("timeout", PATIENCE, struct call, timeout_ns),
	OPTION_JSON,
	OPTION_BROKER,
	OPTION_END,
};

static inline void own_ticket(ww_ticket **ticket)
{
	ww_ticket_unref(*ticket);
}

/* --- the call --- */

static int fail_call(const struct call *call, ww_status status)
{
	const char *name = call->request.words[0];
	const char *function = call->request.words[1];

	if (status == WW_TIMED_OUT)
		return complain("%s of %s did not end in time", function, name);
	if (status == WW_CANCELLED)
		return complain("interrupted: %s of %s was cancelled", function, name);
	complain_record("cannot call %s of %s", function, name);
	return EXIT_FAILED;
}

static int find_function(const struct call *call, ww_client *client, uint32_t *out_index,
	struct ww_function_info *out_info)
{
	ww_status status = ww_client_find(client, call->request.words[1], NULL, call->timeout_ns,
		interrupt_cancel(), out_index);

	if (status == WW_ERR_NOT_FOUND)
		return complain("%s has no function '%s'; `warpway functions %s` lists them",
			call->request.words[0], call->request.words[1], call->request.words[0]);
	if (status == WW_OK)
		status = ww_client_function_info_get(client, *out_index, out_info);
	return status == WW_OK ? 0 : fail_call(call, status);
}

/* --- results --- */

/* Whether bytes can be shown as they are. */
static bool is_text(const struct ww_value *value)
{
	const char *data = value->data;
	char copy[WW_CALL_BYTES_MAX + 1];
	char safe[WW_CALL_BYTES_MAX + 1];

	if (value->bytes > WW_CALL_BYTES_MAX || memchr(data, 0, value->bytes))
		return false;
	memcpy(copy, data, value->bytes);
	copy[value->bytes] = '\0';
	format_safe(copy, safe, sizeof(safe));
	return !strcmp(copy, safe);
}

/* @out_text: of 2 * WW_CALL_BYTES_MAX + 1 */
static void bytes_text(const struct ww_value *value, char *out_text)
{
	const uint8_t *data = value->data;

	if (is_text(value)) {
		memcpy(out_text, data, value->bytes);
		out_text[value->bytes] = '\0';
		return;
	}
	out_text[0] = '\0';
	for (uint64_t i = 0; i < value->bytes && i < WW_CALL_BYTES_MAX; i++)
		snprintf(out_text + 2 * i, 3, "%02x", data[i]);
}

static void value_text(const struct ww_value *value, char out_text[2 * WW_CALL_BYTES_MAX + 1])
{
	if (value->kind == WW_ARGUMENT_SCALAR)
		(void)ww_scalar_text(&value->dtype, value->scalar, out_text);
	else if (value->kind == WW_ARGUMENT_BYTES)
		bytes_text(value, out_text);
	else
		format_array(value->array, out_text);
}

static void print_value(const char *name, const struct ww_value *value)
{
	char text[2 * WW_CALL_BYTES_MAX + 1];

	value_text(value, text);
	if (value->kind == WW_ARGUMENT_ARRAY)
		printf("%s = an array %s\n", name, text);
	else if (value->kind == WW_ARGUMENT_BYTES && !is_text(value))
		printf("%s = %s in hexadecimal\n", name, text);
	else
		printf("%s = %s\n", name, text);
}

/* A number as JSON has it; text for what JSON has no number for. */
static json_t *json_of_scalar(const struct ww_value *value)
{
	char text[WW_SCALAR_TEXT_BYTES];
	json_error_t error;
	json_t *number;

	(void)ww_scalar_text(&value->dtype, value->scalar, text);
	number = json_loads(text, JSON_DECODE_ANY, &error);
	return number ? number : json_string(text);
}

static json_t *json_of_value(const struct ww_value *value)
{
	char text[2 * WW_CALL_BYTES_MAX + 1];

	if (value->kind == WW_ARGUMENT_SCALAR)
		return json_of_scalar(value);
	value_text(value, text);
	if (value->kind == WW_ARGUMENT_ARRAY)
		return json_pack("{s:s}", "array", text);
	return is_text(value) ? json_string(text) : json_pack("{s:s}", "hex", text);
}

/* Return: WW_END: there are no more. */
static ww_status result_of(ww_ticket *ticket, const char *signature, uint32_t index,
	struct ww_parameter_info *out_result, struct ww_value *out_value)
{
	ww_status status;

	out_result->struct_size = sizeof(*out_result);
	status = ww_signature_result_get(signature, index, out_result);
	return status == WW_OK ? ww_ticket_result(ticket, index, out_value) : status;
}

/* @results: NULL: as lines */
static int tell_results(ww_ticket *ticket, const char *signature, json_t *results)
{
	struct ww_parameter_info result;
	struct ww_value value;
	ww_status status;

	for (uint32_t i = 0;; i++) {
		status = result_of(ticket, signature, i, &result, &value);
		if (status != WW_OK)
			break;
		if (results)
			json_object_set_new(results, result.name, json_of_value(&value));
		else
			print_value(result.name, &value);
	}
	return status == WW_END ? 0 : complain_record("cannot read a result");
}

static int tell(const struct call *call, ww_ticket *ticket, const char *signature)
{
	json_t *results;
	int code;

	if (!call->request.json)
		return tell_results(ticket, signature, NULL);
	results = json_object();
	code = tell_results(ticket, signature, results);
	if (code) {
		json_decref(results);
		return code;
	}
	return report_json(json_pack("{s:s, s:s, s:o}", "service", call->request.words[0],
				   "function", call->request.words[1], "results", results),
		JSON_INDENT(2));
}

static int run(struct request *request)
{
	const struct call *call = &call_request;
	OWN(client) ww_client *client = NULL;
	OWN(ticket) ww_ticket *ticket = NULL;
	OWN(call_arguments) struct call_arguments arguments = {.count = 0};
	struct ww_function_info function = WW_INIT(struct ww_function_info);
	uint32_t index;
	ww_status status;
	int code = service_open(request, 0, 0, &client);

	if (code == 0)
		code = find_function(call, client, &index, &function);
	if (code)
		return code;
	arguments.signature = function.signature;
	arguments.broker = request->broker;
	code = call_arguments_read(&arguments, request->words + 2);
	if (code)
		return code;
	status = ww_client_call(client, index, arguments.values, arguments.count, NULL,
		call->timeout_ns, interrupt_cancel(), &ticket);
	return status == WW_OK ? tell(call, ticket, function.signature) : fail_call(call, status);
}

const struct verb verb_call = {.name = "call",
	.summary = "call a function of a service",
	.options = options,
	.help = help,
	.context = &call_request,
	.words = "NAME FUNCTION [ARGUMENT=VALUE...]",
	.least_words = 2,
	.most_words = WORDS_MAX,
	.broker = VERB_BROKER_NONE,
	.run = run};
