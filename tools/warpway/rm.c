/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rm.c - `warpway rm`: take objects out of a broker
 */
#include <limits.h>

#include "warpway/open_broker.h"
#include "warpway/verbs.h"

static struct request rm;

static const struct option_row options[] = {
	OPTION_BROKER,
	OPTION_END,
};

static const char
	help[] = "Usage: warpway rm [OPTION...] NAME...\n\n"
		 "Takes objects out of a broker. Their names are free at once; processes that\n"
		 "hold one keep what they have mapped.\n\n" BROKER_HELP
		 "\n  warpway ls --names model/ | xargs -d '\\n' warpway rm\n\n" BROKER_EXIT_HELP;

/* Goes through all names, and ends with the exit code of the first that failed. */
static int run(struct request *request)
{
	int code = EXIT_DONE;

	for (char **name = request->words; *name; name++) {
		ww_status status = ww_broker_remove(request->broker, *name);
		int failed = status ? broker_fail(status, "cannot remove %s", *name) : EXIT_DONE;

		code = code ? code : failed;
	}
	return code;
}

const struct verb verb_rm = {.name = "rm",
	.summary = "take objects out of a broker",
	.options = options,
	.help = help,
	.context = &rm,
	.words = "NAME...",
	.least_words = 1,
	.most_words = INT_MAX,
	.broker = VERB_BROKER_OBJECT,
	.run = run};
