/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel_verbs.h - the verbs of `warpway channel`
 */
#ifndef TOOLS_WARPWAY_CHANNEL_VERBS_H
#define TOOLS_WARPWAY_CHANNEL_VERBS_H

#include "warpway/verbs.h"

extern const struct verb verb_channel_pub, verb_channel_sub, verb_channel_stat, verb_channel_evict,
	verb_channel_record, verb_channel_replay;

#endif
