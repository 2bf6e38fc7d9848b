/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench.c - `warpway bench`: becomes the program `warpway-bench`
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "common/find_program.h"
#include "common/say.h"
#include "warpway/verbs.h"

#define BENCH "warpway-bench"

int verb_bench(int argc, char *argv[])
{
	char path[PROGRAM_PATH_BYTES];

	(void)argc;
	program_find(BENCH, path, sizeof(path));
	execvp(path, argv);
	return refuse("cannot start %s: %s; it is installed beside warpway", path, strerror(errno));
}
