/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main.c - the command `warpway`: finds the verb and hands over
 *
 * One table names the verbs. Those without a summary are not for people: a verb starts its own
 * processes by running this binary again, because nothing of CUDA survives fork().
 */
#include <stdio.h>
#include <string.h>

#include <warpway/warpway.h>

#include "common/report.h"
#include "common/standard_streams.h"
#include "warpway/verbs.h"

struct verb {
	const char *name;
	const char *summary;
	int (*run)(int argc, char *argv[]);
};

static const struct verb verbs[] = {
	{"demo", "show memory shared between processes, on this machine's GPUs or its CPU",
		verb_demo},
	{"bench", "measure beside the raw driver, in the same run", verb_bench},
	{"serve", "have a broker for named memory, see how it is, end it", verb_serve},
	{"ls", "list the objects of a broker", verb_ls},
	{"stat", "all that a broker says of an object", verb_stat},
	{"who", "which process holds what, and why objects are still there", verb_who},
	{"put", "put a file into a broker, as memory under a name", verb_put},
	{"get", "write an object to a file", verb_get},
	{"export", "a token for an object, to be handed to another process", verb_export},
	{"rm", "take objects out of a broker", verb_rm},
	{"watch", "print changes to the objects of a broker", verb_watch},
	{"demo-child", NULL, verb_demo_child},
};

#define VERB_COUNT (sizeof(verbs) / sizeof(verbs[0]))

static void print_help(FILE *file)
{
	fputs("Usage: warpway VERB [OPTION...]\n\n"
	      "Memory that processes share, on GPUs and on the CPU.\n\n"
	      "Verbs:\n",
		file);
	for (size_t i = 0; i < VERB_COUNT; i++) {
		if (verbs[i].summary)
			fprintf(file, "  %-8s %s\n", verbs[i].name, verbs[i].summary);
	}
	fputs("\n`warpway VERB --help` explains a verb; `warpway --version` names the version.\n"
	      "Exit codes: 0 done, 1 failed, 2 cannot run here or wrong use.\n",
		file);
}

static int unknown_verb(const char *name)
{
	char list[256] = "";
	size_t used = 0;

	for (size_t i = 0; i < VERB_COUNT && used < sizeof(list); i++) {
		if (verbs[i].summary)
			used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s",
				used ? ", " : "", verbs[i].name);
	}
	return refuse("unknown %s '%s'; verbs are %s; see `warpway --help`",
		name[0] == '-' ? "option" : "verb", name, list);
}

static int dispatch(int argc, char *argv[])
{
	if (argc < 2) {
		print_help(stderr);
		return EXIT_CANNOT;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
		print_help(stdout);
		return EXIT_DONE;
	}
	if (!strcmp(argv[1], "--version")) {
		printf("warpway %s\n", ww_version());
		return EXIT_DONE;
	}
	for (size_t i = 0; i < VERB_COUNT; i++) {
		if (!strcmp(argv[1], verbs[i].name)) {
			report_set(verbs[i].name, NULL);
			return verbs[i].run(argc - 1, argv + 1);
		}
	}
	return unknown_verb(argv[1]);
}

int main(int argc, char *argv[])
{
	standard_streams_open();
	return standard_streams_flush(dispatch(argc, argv));
}
