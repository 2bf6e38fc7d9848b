/* SPDX-License-Identifier: Apache-2.0 */
/*
 * error_text.c - messages of the library, as its users in Python know its calls
 *
 * A message says what to do, by the names of C. Those that can come from a call of this package are
 * below. A test compares the table with the messages in the library's source.
 */
#include "core.h"

static const struct {
	const char *c;
	const char *python;
} names[] = {
	/* clang-format off */
	{"WW_ACCESS_READ",            "access='read'"},
	{"WW_ACCESS_WRITE",           "access='write'"},
	{"WW_CLIENT_OBSERVE",         "observe=True"},
	{"WW_CONSUMER_REATTACH",      "reattach=True"},
	{"WW_GET_FROM_OWNER",         "owner="},
	{"WW_IMPORT_NO_SLOW_ROUTE",   "no_slow_route=True"},
	{"WW_IMPORT_OWN_MAPPING",     "own_mapping=True"},
	{"WW_LIFE_KEPT",              "life='kept'"},
	{"WW_LIFE_OWNER",             "life='owner'"},
	{"WW_MEMORY_CUDA_POOL",       "kind='cuda_pool'"},
	{"WW_MEMORY_HOST",            "kind='host'"},
	{"WW_MEMORY_LEGACY",          "kind='legacy'"},
	{"WW_MEMORY_VMM",             "kind='device'"},
	{"WW_PUT_REPLACE",            "replace=True"},
	{"WW_STATE_SEALED",           "state='sealed'"},
	{"WW_STATE_SHARED",           "state='shared'"},
	{"WW_STATE_WRITING",          "state='writing'"},
	{"ww_array_index",            "an int"},
	{"ww_channel_consumer_info_get()", "Channel.who()"},
	{"ww_channel_next_event()",   "Channel.next_event()"},
	{"ww_client_lane_timeline()", "Client.lane_timeline()"},
	{"ww_dlpack_export",          "max_version=(1, 0)"},
	{"ww_event_synchronize()",    "Event.synchronize()"},
	{"ww_export_params.escrow_ns", "token(escrow=seconds)"},
	{"ww_function_params.batch_calls_max", "batch"},
	{"ww_function_params.batch_wait_ns", "batch_wait"},
	{"ww_in_flight_limit()",      "warpway.limit_in_flight()"},
	{"ww_in_flight_revoke()",     "warpway.revoke_in_flight()"},
	{"ww_memory_copy_in()",       "warpway.share(x, copy=True)"},
	{"ww_memory_create()",        "warpway.Memory()"},
	{"ww_memory_export()",        "token()"},
	{"ww_memory_import()",        "Token.open()"},
	{"ww_memory_put()",           "Broker.put()"},
	{"ww_memory_unref()",         "close()"},
	{"ww_memory_wrap()",          "warpway.share()"},
	{"ww_pool_import()",          "Token.open()"},
	{"ww_service_params.calls_max", "calls_max"},
	{"ww_service_start()",        "Service.start()"},
	{"ww_stream_create()",        "warpway.Stream()"},
	/* clang-format on */
};

#define NAMES (sizeof(names) / sizeof(names[0]))

static bool is_of_name(char character)
{
	return (character >= 'a' && character <= 'z') || (character >= 'A' && character <= 'Z') ||
		(character >= '0' && character <= '9') || character == '_';
}

/* Of the name of C that @text begins with; "." and "()" belong to one. 0: it begins with none. */
static size_t name_length(const char *text)
{
	size_t length = 3;

	if (strncmp(text, "ww_", 3) != 0 && strncmp(text, "WW_", 3) != 0)
		return 0;
	while (is_of_name(text[length]) || (text[length] == '.' && is_of_name(text[length + 1])))
		length++;
	return strncmp(text + length, "()", 2) == 0 ? length + 2 : length;
}

/* Return: NULL: it has none. */
static const char *python_name(const char *text, size_t length)
{
	for (size_t i = 0; length > 0 && i < NAMES; i++) {
		if (strlen(names[i].c) == length && strncmp(names[i].c, text, length) == 0)
			return names[i].python;
	}
	return NULL;
}

void error_text(const char *message, char out[ERROR_TEXT_BYTES])
{
	size_t at = 0;

	for (bool is_inside = false; *message && at < ERROR_TEXT_BYTES - 1;) {
		size_t length = is_inside ? 0 : name_length(message);
		const char *python = python_name(message, length);

		if (python) {
			at += (size_t)snprintf(out + at, ERROR_TEXT_BYTES - at, "%s", python);
			message += length;
			continue;
		}
		is_inside = is_of_name(*message);
		out[at++] = *message++;
	}
	out[at < ERROR_TEXT_BYTES ? at : ERROR_TEXT_BYTES - 1] = '\0';
}
