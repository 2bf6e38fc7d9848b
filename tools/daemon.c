/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon.c - where the program `warpwayd` is, see daemon.h
 */
#include "daemon.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* From the folder of this program, as installed or as built. */
static bool is_beside(const char *where, char *out_path, size_t room)
{
	char own[4096];
	ssize_t length = readlink("/proc/self/exe", own, sizeof(own) - 1);
	char *slash;

	if (length <= 0)
		return false;
	own[length] = 0;
	slash = strrchr(own, '/');
	if (!slash)
		return false;
	*slash = 0;
	return snprintf(out_path, room, "%s/%s", own, where) < (int)room && !access(out_path, X_OK);
}

void daemon_find(char *out_path, size_t room)
{
	const char *named = getenv("WARPWAYD");

	if (named && named[0])
		snprintf(out_path, room, "%s", named);
	else if (!is_beside("../bin/" DAEMON, out_path, room) && !is_beside(DAEMON, out_path, room))
		snprintf(out_path, room, DAEMON);
}
