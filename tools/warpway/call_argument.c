/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call_argument.c - arguments of a call from words
 */
#include "warpway/call_argument.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "common/interrupt.h"
#include "warpway/open_broker.h"

static const char token_begin[] = "ww1_";

/* One word, and the parameter that it is for. */
struct word {
	const char *value;
	uint32_t index;
	struct ww_parameter_info parameter;
};

static int fail_value(const struct word *word, const char *needed)
{
	return refuse("'%s=%s': %s is of type %s; %s is needed", word->parameter.name, word->value,
		word->parameter.name, word->parameter.type, needed);
}

/* A token's text; also behind '@', where a name would stand. NULL: it is none. */
static const char *token_text(const struct word *word)
{
	const char *text = word->value + (word->value[0] == '@');

	return !strncmp(text, token_begin, strlen(token_begin)) ? text : NULL;
}

static int read_token(const struct word *word, struct ww_token *out_token)
{
	if (ww_token_from_text(token_text(word), out_token) == WW_OK)
		return 0;
	return refuse("%s: %s", word->parameter.name, ww_error_last()->message);
}

/* The object that a value names; NULL: it does not begin as a name. */
static const char *object_name(const struct word *word)
{
	return word->value[0] == '@' ? word->value + 1 : NULL;
}

/* --- one kind of argument each --- */

static int read_scalar(struct call_arguments *arguments, const struct word *word)
{
	struct ww_value *value = &arguments->values[word->index];

	value->dtype = word->parameter.dtype;
	if (ww_scalar_parse(&value->dtype, word->value, &value->scalar) == WW_OK)
		return 0;
	return refuse("%s: %s", word->parameter.name, ww_error_last()->message);
}

static int read_bytes(struct call_arguments *arguments, const struct word *word)
{
	struct ww_value *value = &arguments->values[word->index];

	value->data = word->value;
	value->bytes = strlen(word->value);
	if (value->bytes <= word->parameter.bytes_max)
		return 0;
	return refuse("%s: %zu bytes are more than %u", word->parameter.name, strlen(word->value),
		word->parameter.bytes_max);
}

/* Holds what the name means, without a mapping, and makes a token with the access of the call. */
static ww_status name_memory(struct call_arguments *arguments, const struct word *word)
{
	const struct ww_get_params params = {
		.struct_size = sizeof(params),
		.access = word->parameter.access,
	};
	ww_object **object = &arguments->objects[word->index];
	ww_status status = ww_object_get(arguments->broker, object_name(word), &params, 0,
		interrupt_cancel(), object, NULL);

	return status == WW_OK ? ww_object_export(*object, NULL, interrupt_cancel(),
					 &arguments->tokens[word->index])
			       : status;
}

static int read_array(struct call_arguments *arguments, const struct word *word)
{
	struct ww_token *token = &arguments->tokens[word->index];
	ww_status status;

	arguments->values[word->index].token = token;
	if (token_text(word))
		return read_token(word, token);
	if (!object_name(word))
		return fail_value(word, "@NAME, or a token,");
	status = name_memory(arguments, word);
	return status == WW_OK ? 0 : broker_fail(status, "cannot pass %s", object_name(word));
}

static int read_timeline(struct call_arguments *arguments, const struct word *word)
{
	struct ww_value *value = &arguments->values[word->index];
	ww_status status;

	if (token_text(word)) {
		value->token = &arguments->tokens[word->index];
		return read_token(word, &arguments->tokens[word->index]);
	}
	if (!object_name(word))
		return fail_value(word, "@NAME, or a token,");
	status = ww_timeline_get(arguments->broker, object_name(word), 0, interrupt_cancel(),
		&arguments->timelines[word->index]);
	value->timeline = arguments->timelines[word->index];
	return status == WW_OK ? 0 : broker_fail(status, "cannot pass %s", object_name(word));
}

/* --- all of them --- */

/* Return: whether a parameter has the name that is the first @length letters of a text. */
static bool find_parameter(const struct call_arguments *arguments, const char *text, size_t length,
	struct word *word)
{
	for (word->index = 0; word->index < arguments->count; word->index++) {
		word->parameter.struct_size = sizeof(word->parameter);
		if (ww_signature_parameter_get(arguments->signature, word->index,
			    &word->parameter) == WW_OK &&
			strlen(word->parameter.name) == length &&
			!strncmp(word->parameter.name, text, length))
			return true;
	}
	return false;
}

static int read_word(struct call_arguments *arguments, const char *text)
{
	const char *equals = strchr(text, '=');
	struct word word;
	struct ww_value *value;

	if (!equals)
		return refuse("'%s': arguments are NAME=VALUE; the function's signature is %s",
			text, arguments->signature[0] ? arguments->signature : "empty");
	if (!find_parameter(arguments, text, (size_t)(equals - text), &word))
		return refuse("'%s': the function has no such parameter; its signature is %s", text,
			arguments->signature[0] ? arguments->signature : "empty");
	word.value = equals + 1;
	value = &arguments->values[word.index];
	if (value->kind != WW_ARGUMENT_NONE)
		return refuse("'%s': %s is given twice", text, word.parameter.name);
	value->kind = word.parameter.kind;
	switch (word.parameter.kind) {
	case WW_ARGUMENT_SCALAR:
		return read_scalar(arguments, &word);
	case WW_ARGUMENT_BYTES:
		return read_bytes(arguments, &word);
	case WW_ARGUMENT_ARRAY:
		return read_array(arguments, &word);
	default:
		return read_timeline(arguments, &word);
	}
}

int call_arguments_read(struct call_arguments *arguments, char *const words[])
{
	struct ww_signature_info info = WW_INIT(struct ww_signature_info);
	int code = 0;

	if (ww_signature_info_get(arguments->signature, &info) != WW_OK)
		return complain_record("cannot read the function's signature");
	arguments->count = info.parameter_count;
	for (; *words && code == 0; words++)
		code = read_word(arguments, *words);
	return code;
}

void call_arguments_fini(struct call_arguments *arguments)
{
	for (uint32_t i = 0; i < arguments->count; i++) {
		ww_object_unref(arguments->objects[i]);
		ww_timeline_unref(arguments->timelines[i]);
	}
}
