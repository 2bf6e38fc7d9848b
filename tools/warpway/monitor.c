/* SPDX-License-Identifier: Apache-2.0 */
/*
 * monitor.c - `warpway metrics` and `warpway top`: they become programs of their own
 *
 * So that this program needs neither libmicrohttpd nor ncurses.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "common/find_program.h"
#include "common/say.h"
#include "warpway/verbs.h"

static int become(char *program, const char *needs, char *argv[])
{
	char path[PROGRAM_PATH_BYTES];

	program_find(program, path, sizeof(path));
	argv[0] = program; /* by this name the broker knows it */
	execvp(path, argv);
	return refuse(
		"cannot start %s: %s; in Warpway's source folder, run 'make build', or 'make install' "
		"if Warpway is installed; they say what to do if %s is missing",
		path, strerror(errno), needs);
}

int verb_metrics(int argc, char *argv[])
{
	static char program[] = "warpway-metrics";

	(void)argc;
	return become(program, "libmicrohttpd", argv);
}

int verb_top(int argc, char *argv[])
{
	static char program[] = "warpway-top";

	(void)argc;
	return become(program, "ncurses", argv);
}
