/* SPDX-License-Identifier: Apache-2.0 */
/*
 * find_program.c - where the project's other programs are, see find_program.h
 */
#include "common/find_program.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* @where: the folder, as seen from the one that this program is in */
static bool is_in(const char *where, const char *name, char *out_path, size_t room)
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
	return snprintf(out_path, room, "%s/%s%s", own, where, name) < (int)room &&
		!access(out_path, X_OK);
}

void program_find(const char *name, char *out_path, size_t room)
{
	if (!is_in("../bin/", name, out_path, room) && !is_in("", name, out_path, room))
		snprintf(out_path, room, "%s", name);
}

void daemon_find(char *out_path, size_t room)
{
	const char *named = getenv("WARPWAYD");

	if (named && named[0])
		snprintf(out_path, room, "%s", named);
	else
		program_find(DAEMON, out_path, room);
}
