/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verbs.h - the verbs of `warpway`
 *
 * One struct describes each verb. main.c reads the options, counts the words behind them, finds the
 * broker, and then calls the verb. A verb may have verbs of its own, as `channel` has `pub` and
 * `sub`: then the next word says which is meant.
 */
#ifndef TOOLS_WARPWAY_VERBS_H
#define TOOLS_WARPWAY_VERBS_H

#include <warpway/warpway.h>

#include <stdbool.h>

#include "common/option.h"
#include "warpway/object_view.h"

/* Which broker main.c finds before it calls the verb. */
enum verb_broker {
	VERB_BROKER_NONE,   /* none: the verb does */
	VERB_BROKER_START,  /* one that is started if none runs */
	VERB_BROKER_FIND,   /* as broker_find(): NULL where there are no objects */
	VERB_BROKER_OBJECT, /* one that can have the object that the first word names */
};

/* What verbs have in common; the first member of the struct that a verb's options go into. */
struct request {
	const char *address; /* of the broker, as given; NULL: the default */
	bool json;
	struct view view;
	ww_broker *broker;
	char **words; /* behind the options; NULL behind the last */
	int word_count;
};

#define OPTION_BROKER  OPTION("broker", TEXT, struct request, address)
#define OPTION_JSON    OPTION("json", FLAG, struct request, json)
#define OPTION_NUMERIC OPTION("numeric", FLAG, struct request, view.numeric, .letter = 'n')

struct verb {
	const char *name;
	const char *summary; /* NULL: it is not for people */
	const char *speaker; /* whose name stands before what it says; NULL: its own */

	/* In place of the rest: argv[0] is the verb. Return: the exit code. */
	int (*main)(int argc, char *argv[]);

	/* Likewise: NULL behind the last. Then @help is what stands above their list. */
	const struct verb *const *verbs;

	const struct option_row *options;
	const char *help;
	void *context;     /* begins with a struct request */
	const char *words; /* as the help names them; NULL: none are possible */
	int least_words;
	int most_words;
	enum verb_broker broker;
	/* Return: the exit code; -1, after saying what went wrong, is EXIT_FAILED. */
	int (*run)(struct request *request);
};

extern const struct verb verb_serve, verb_ls, verb_stat, verb_who, verb_put, verb_get, verb_export,
	verb_rm, verb_watch, verb_doctor, verb_channel, verb_functions, verb_call, verb_offer,
	verb_offer_server, verb_ping;

int verb_demo(int argc, char *argv[]);
int verb_bench(int argc, char *argv[]);
int verb_run(int argc, char *argv[]);
int verb_metrics(int argc, char *argv[]);
int verb_top(int argc, char *argv[]);

/* Processes of the demo and of the doctor; each finds its socket at LINK_FD. */
int verb_demo_child(int argc, char *argv[]);
int verb_doctor_child(int argc, char *argv[]);

#endif
