/* SPDX-License-Identifier: Apache-2.0 */
/*
 * result.c - what the checks of `warpway doctor` have found, see result.h
 */
#include "doctor/result.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static const char *const state_names[] = {"works", "limited", "fails", "skipped"};

#define STATE_COUNT (sizeof(state_names) / sizeof(state_names[0]))

const char *state_name(enum state state)
{
	return state_names[state];
}

void text_clean(const char *text, char *out_text, size_t room)
{
	size_t length = 0;

	for (; *text && length + 1 < room; text++)
		out_text[length++] = (unsigned char)*text < ' ' || *text == 0x7f ? ' ' : *text;
	while (length > 0 && out_text[length - 1] == ' ')
		length--;
	out_text[length] = 0;
}

void results_fini(struct results *results)
{
	free(results->list);
	*results = (struct results){0};
}

static struct result *result_new(struct results *results)
{
	if (results->count == results->capacity) {
		results->capacity = results->capacity ? 2 * results->capacity : 64;
		results->list = reallocarray(results->list, results->capacity,
			sizeof(*results->list));
		if (!results->list) {
			fputs("warpway doctor: out of memory\n", stderr);
			abort();
		}
	}
	results->list[results->count] = (struct result){0};
	return &results->list[results->count++];
}

static void print_line(FILE *stream, json_t *line)
{
	if (line) {
		json_dumpf(line, stream, JSON_COMPACT);
		fputc('\n', stream);
		fflush(stream);
	}
	json_decref(line);
}

static void print(FILE *stream, const struct result *result)
{
	print_line(stream,
		json_pack("{s:s, s:s, s:s, s:s, s:s}", "check", result->check, "state",
			state_name(result->state), "cause", result->cause, "device", result->device,
			"found", result->found));
}

void result_add(struct results *results, const char *check, enum state state, const char *cause,
	const char *format, ...)
{
	struct result *result = result_new(results);
	char found[RESULT_FOUND_BYTES];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(found, sizeof(found), format, arguments);
	va_end(arguments);
	result->state = state;
	snprintf(result->check, sizeof(result->check), "%s", check);
	snprintf(result->cause, sizeof(result->cause), "%s", cause ? cause : "");
	snprintf(result->device, sizeof(result->device), "%s",
		results->device ? results->device : "");
	text_clean(found, result->found, sizeof(result->found));
	if (results->stream)
		print(results->stream, result);
}

void result_begin(const struct results *results, const char *check)
{
	if (results->stream)
		print_line(results->stream, json_pack("{s:s}", "begin", check));
}

const struct result *result_find(const struct results *results, const char *check,
	const char *device)
{
	for (size_t i = 0; i < results->count; i++) {
		if (!strcmp(results->list[i].check, check) &&
			!strcmp(results->list[i].device, device ? device : ""))
			return &results->list[i];
	}
	return NULL;
}

bool result_take(struct results *results, const json_t *line, char out_begun[RESULT_WORD_BYTES])
{
	const char *begun = json_string_value(json_object_get(line, "begin"));
	const char *check, *state, *cause, *device, *found;

	if (begun)
		snprintf(out_begun, RESULT_WORD_BYTES, "%s", begun);
	if (json_unpack((json_t *)line, "{s:s, s:s, s:s, s:s, s:s}", "check", &check, "state",
		    &state, "cause", &cause, "device", &device, "found", &found))
		return false;
	for (size_t i = 0; i < STATE_COUNT; i++) {
		if (!strcmp(state, state_names[i])) {
			results->device = device[0] ? device : NULL;
			result_add(results, check, (enum state)i, cause, "%s", found);
			results->device = NULL;
			return true;
		}
	}
	return false;
}
