/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel.c - `warpway channel`: the table of its verbs
 */
#include "warpway/channel_verbs.h"

static const struct verb *const verbs[] = {&verb_channel_pub, &verb_channel_sub, &verb_channel_stat,
	&verb_channel_evict, &verb_channel_record, &verb_channel_replay, NULL};

const struct verb verb_channel = {.name = "channel",
	.summary = "frames from one process to many: publish, receive, record",
	.help = "Usage: warpway channel VERB [OPTION...] NAME\n\n"
		"Channels: frames from one process to many, written and read in place.\n",
	.verbs = verbs};
