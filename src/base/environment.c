/* SPDX-License-Identifier: Apache-2.0 */
/*
 * environment.c - the one place that reads the environment, see environment.h
 */
#include "base/environment.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const names[] = {
	[WW_VARIABLE_DEBUG] = "WARPWAY_DEBUG",
	[WW_VARIABLE_BROKER] = "WARPWAY_BROKER",
	[WW_VARIABLE_NO_START] = "WARPWAY_NO_START",
	[WW_VARIABLE_WARPWAYD] = "WARPWAYD",
	[WW_VARIABLE_RUNTIME_DIR] = "XDG_RUNTIME_DIR",
	[WW_VARIABLE_NOTIFY_SOCKET] = "NOTIFY_SOCKET",
	[WW_VARIABLE_LISTEN_PID] = "LISTEN_PID",
	[WW_VARIABLE_LISTEN_FDS] = "LISTEN_FDS",
};

const char *ww_environment_find(enum ww_variable variable)
{
	const char *value = secure_getenv(names[variable]);

	return value && value[0] ? value : NULL;
}

static bool is_variable(const char *entry, enum ww_variable variable)
{
	size_t length = strlen(names[variable]);

	return strncmp(entry, names[variable], length) == 0 && entry[length] == '=';
}

char **ww_environment_to_hand_on(void)
{
	size_t count = 0;
	char **copy;

	while (environ[count])
		count++;
	copy = calloc(count + 1, sizeof(*copy));
	if (!copy)
		return NULL;
	count = 0;
	for (char **entry = environ; *entry; entry++) {
		if (!is_variable(*entry, WW_VARIABLE_NOTIFY_SOCKET) &&
			!is_variable(*entry, WW_VARIABLE_LISTEN_PID) &&
			!is_variable(*entry, WW_VARIABLE_LISTEN_FDS))
			copy[count++] = *entry;
	}
	return copy;
}

bool ww_environment_is_on(enum ww_variable variable)
{
	const char *value = ww_environment_find(variable);

	return value && strcmp(value, "1") == 0;
}
