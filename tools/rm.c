/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rm.c - `warpway rm`: take objects out of a broker
 */
#include <string.h>

#include "broker.h"
#include "verbs.h"

static const struct option options[] = {BROKER_OPTIONS};

static const char help[] =
	"Usage: warpway rm [OPTION...] NAME...\n\n"
	"Takes objects out of a broker. Their names are free at once; processes that\n"
	"hold one keep what they have mapped.\n\n" BROKER_HELP
	"\n  warpway ls --names model/ | xargs -d '\\n' warpway rm\n\n" BROKER_EXIT_HELP;

static int take(void *context, int letter, const char *argument)
{
	(void)letter;
	*(const char **)context = argument;
	return 0;
}

/* Goes through all names, and ends with the exit code of the first that failed. */
int verb_rm(int argc, char *argv[])
{
	static const struct option_set set = {OPTION_SHORT, options, help, take};
	OWN(broker) ww_broker *broker = NULL;
	const char *address = NULL;
	int code = option_read(argc, argv, &set, &address);

	if (code >= 0)
		return code;
	code = option_words(argc, 1, argc, "NAME...");
	if (code == 0)
		code = broker_reach(address, WW_BROKER_NO_START, &broker);
	if (code)
		return code;
	for (int i = optind; i < argc; i++) {
		ww_status status = ww_broker_remove(broker, argv[i]);

		if (status == WW_OK)
			continue;
		complain_record("cannot remove %s", argv[i]);
		code = code ? code : broker_exit(status);
	}
	return code;
}
