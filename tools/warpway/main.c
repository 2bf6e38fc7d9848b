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
static const struct verb run_program = {.name = "run",
	.summary = "start a program whose MPI calls take device pointers",
	.main = verb_run};
static const struct verb top = {.name = "top",
	.summary = "watch a broker: objects, processes, users, devices, requests",
	.main = verb_top};
static const struct verb metrics = {.name = "metrics",
	.summary = "tell Prometheus of a broker",
	.main = verb_metrics};
static const struct verb demo_child = {.name = "demo-child", .main = verb_demo_child};
static const struct verb doctor_child = {.name = "doctor-child", .main = verb_doctor_child};

static const struct verb *const verbs[] = {&verb_doctor, &demo, &bench, &verb_serve, &verb_ls,
	&verb_stat, &verb_who, &verb_put, &verb_get, &verb_export, &verb_rm, &verb_watch,
	&verb_channel, &verb_functions, &verb_call, &verb_offer, &verb_offer_server, &verb_ping,
	&top, &metrics, &run_program, &demo_child, &doctor_child, NULL};

static const struct verb warpway = {.name = "",
	.verbs = verbs,
	.help = "Usage: warpway VERB [OPTION...]\n\n"
		"Memory that processes share, on GPUs and on the CPU.\n"};

static void print_help(const struct verb *verb, FILE *file)
{
	const char *gap = verb == &warpway ? "" : " ";

	fprintf(file, "%s\nVerbs:\n", verb->help);
	for (const struct verb *const *entry = verb->verbs; *entry; entry++) {
		if ((*entry)->summary)
			fprintf(file, "  %-9s %s\n", (*entry)->name, (*entry)->summary);
	}
	fprintf(file, "\n`warpway%s%s VERB --help` explains a verb%s.\n", gap, verb->name,
		verb == &warpway ? ", and so does `warpway help VERB`.\n"
				   "`warpway --version` names the version"
				 : "");
	fputs("Exit codes: 0 done, 1 failed, 2 cannot run here or wrong use.\n", file);
}

static int unknown_verb(const struct verb *verb, const char *name)
{
	const char *gap = verb == &warpway ? "" : " ";
	char list[256] = "";
	size_t used = 0;

	for (const struct verb *const *entry = verb->verbs; *entry && used < sizeof(list);
		entry++) {
		if ((*entry)->summary)
			used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s",
				used ? ", " : "", (*entry)->name);
	}
	return refuse("unknown %s '%s'; verbs are %s; see `warpway%s%s --help`",
		name[0] == '-' ? "option" : "verb", name, list, gap, verb->name);
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

static int run_plain(const struct verb *verb, int argc, char *argv[])
{
	struct request *request = verb->context;
	int code = option_read(argc, argv, verb->options, verb->help, verb->context);

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

/* Of a verb that has verbs: "channel pub" speaks. */
static void name_speaker(const struct verb *verb, const struct verb *inner)
{
	static char name[32];

	snprintf(name, sizeof(name), "%s%s%s", verb->name, verb == &warpway ? "" : " ",
		inner->speaker ? inner->speaker : inner->name);
	report_set(name, NULL);
}

static int run(const struct verb *verb, int argc, char *argv[]);
static int dispatch(const struct verb *verb, int argc, char *argv[]);

/* `warpway help VERB` is `warpway VERB --help`. */
static int explain(int argc, char *argv[])
{
	static char help[] = "--help";

	memmove(argv + 1, argv + 2, (size_t)(argc - 2) * sizeof(*argv));
	argv[argc - 1] = help;
	return dispatch(&warpway, argc, argv);
}

/* argv[1] says which of its verbs. */
static int dispatch(const struct verb *verb, int argc, char *argv[])
{
	if (argc < 2) {
		print_help(verb, stderr);
		return EXIT_CANNOT;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
		print_help(verb, stdout);
		return EXIT_DONE;
	}
	if (verb == &warpway && !strcmp(argv[1], "--version")) {
		printf("warpway %s\n", ww_version());
		return EXIT_DONE;
	}
	if (verb == &warpway && !strcmp(argv[1], "help"))
		return explain(argc, argv);
	for (const struct verb *const *entry = verb->verbs; *entry; entry++) {
		if (!strcmp(argv[1], (*entry)->name)) {
			name_speaker(verb, *entry);
			return run(*entry, argc - 1, argv + 1);
		}
	}
	return unknown_verb(verb, argv[1]);
}

static int run(const struct verb *verb, int argc, char *argv[])
{
	if (verb->verbs)
		return dispatch(verb, argc, argv);
	return verb->main ? verb->main(argc, argv) : run_plain(verb, argc, argv);
}

int main(int argc, char *argv[])
{
	standard_streams_open();
	return standard_streams_flush(dispatch(&warpway, argc, argv));
}
