/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main.c - the command `warpway`: finds the verb, reads its options and calls it
 *
 * Verbs without a summary are not for people: a verb starts its own processes by running this
 * binary again, because nothing of CUDA survives fork().
 */
#include <stdio.h>
#include <string.h>

#include "common/say.h"
#include "common/standard_streams.h"
#include "warpway/open_broker.h"
#include "warpway/verbs.h"

static const struct verb demo = {.name = "demo",
	.summary = "show memory shared between processes, on this machine's GPUs or its CPU",
	.main = verb_demo};
static const struct verb bench = {.name = "bench",
	.summary = "measure beside the raw driver, in the same run",
	.main = verb_bench};
static const struct verb demo_child = {.name = "demo-child", .main = verb_demo_child};

static const struct verb *const verbs[] = {&demo, &bench, &verb_serve, &verb_ls, &verb_stat,
	&verb_who, &verb_put, &verb_get, &verb_export, &verb_rm, &verb_watch, &demo_child};

#define VERB_COUNT (sizeof(verbs) / sizeof(verbs[0]))

static void print_help(FILE *file)
{
	fputs("Usage: warpway VERB [OPTION...]\n\n"
	      "Memory that processes share, on GPUs and on the CPU.\n\n"
	      "Verbs:\n",
		file);
	for (size_t i = 0; i < VERB_COUNT; i++) {
		if (verbs[i]->summary)
			fprintf(file, "  %-8s %s\n", verbs[i]->name, verbs[i]->summary);
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
		if (verbs[i]->summary)
			used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s",
				used ? ", " : "", verbs[i]->name);
	}
	return refuse("unknown %s '%s'; verbs are %s; see `warpway --help`",
		name[0] == '-' ? "option" : "verb", name, list);
}

static int find_broker(const struct verb *verb, struct request *request)
{
	switch (verb->broker) {
	case VERB_BROKER_NONE:
		break;
	case VERB_BROKER_START:
		return broker_reach(request->address, 0, &request->broker);
	case VERB_BROKER_FIND:
		return broker_find(request->address, &request->broker);
	case VERB_BROKER_OBJECT:
		return broker_find_object(request->address, request->words[0], &request->broker);
	}
	return 0;
}

static int run(const struct verb *verb, int argc, char *argv[])
{
	struct request *request = verb->context;
	int code;

	if (verb->main)
		return verb->main(argc, argv);
	code = option_read(argc, argv, verb->options, verb->help, verb->context);
	if (code >= 0)
		return code;
	request->words = argv + optind;
	request->word_count = argc - optind;
	code = verb->words ? option_words(request->word_count, verb->least_words, verb->most_words,
				     verb->words)
			   : option_no_more(argc, argv);
	if (code == 0)
		code = find_broker(verb, request);
	if (code == 0)
		code = verb->run(request);
	request->broker = ww_broker_unref(request->broker);
	return code < 0 ? EXIT_FAILED : code;
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
		if (!strcmp(argv[1], verbs[i]->name)) {
			report_set(verbs[i]->name, NULL);
			return run(verbs[i], argc - 1, argv + 1);
		}
	}
	return unknown_verb(argv[1]);
}

int main(int argc, char *argv[])
{
	standard_streams_open();
	return standard_streams_flush(dispatch(argc, argv));
}
