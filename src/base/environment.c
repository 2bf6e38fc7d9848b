/* SPDX-License-Identifier: Apache-2.0 */
/*
 * environment.c - the one place that reads the environment, see environment.h
 */
#include "base/environment.h"

#include <stdlib.h>
#include <string.h>

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

bool ww_environment_is_on(enum ww_variable variable)
{
	const char *value = ww_environment_find(variable);

	return value && strcmp(value, "1") == 0;
}
