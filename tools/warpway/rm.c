/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rm.c - `warpway rm`: take objects out of a broker
 */
#include <string.h>

#include "warpway/open_broker.h"
#include "warpway/verbs.h"

static const struct option_row options[] = {
	{"broker", OPTION_TEXT},
	OPTION_END,
};

static const char
	help[] = "Usage: warpway rm [OPTION...] NAME...\n\n"
		 "Takes objects out of a broker. Their names are free at once; processes that\n"
		 "hold one keep what they have mapped.\n\n" BROKER_HELP
		 "\n  warpway ls --names model/ | xargs -d '\\n' warpway rm\n\n" BROKER_EXIT_HELP;

/* Goes through all names, and ends with the exit code of the first that failed. */
int verb_rm(int argc, char *argv[])
{
	OWN(broker) ww_broker *broker = NULL;
	const char *address = NULL;
	int code = option_read(argc, argv, options, help, &address);

	if (code >= 0)
		return code;
	code = option_words(argc, 1, argc, "NAME...");
	if (code == 0)
		code = broker_find_object(address, argv[optind], &broker);
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
