/* SPDX-License-Identifier: Apache-2.0 */
/*
 * broker.h - what every verb that talks to a broker does in the same way
 */
#ifndef TOOLS_BROKER_H
#define TOOLS_BROKER_H

#include <warpway/warpway.h>

#include "option.h"
#include "own.h"
#include "voice.h"

/* Of their option tables: the ends of all of them. */
#define BROKER_OPTIONS                                                              \
	{"broker", required_argument, NULL, 'B'}, {"help", no_argument, NULL, 'h'}, \
	{                                                                           \
		NULL, 0, NULL, 0                                                    \
	}

/* Of their help. */
#define BROKER_HELP                                                                 \
	"  --broker ADDRESS  socket of the broker (default: WARPWAY_BROKER, else\n" \
	"                    /run/warpway/broker.sock, else the user's own)\n"      \
	"  --help            this text\n"

#define BROKER_EXIT_HELP \
	"Exit codes: 0 done, 1 failed, 2 cannot run here (no broker) or wrong use.\n"

/**
 * broker_reach() - connect to a broker
 * @address:  as given with --broker; NULL: the default
 * @flags:    WW_BROKER_...: verbs that only look around start none
 * Return: 0; EXIT_CANNOT after saying why not.
 */
int broker_reach(const char *address, uint64_t flags, ww_broker **out_broker);

/* The exit code for a call that failed with this status, which was not WW_OK. */
int broker_exit(ww_status status);

static inline void own_broker(ww_broker **broker)
{
	ww_broker_unref(*broker);
}

static inline void own_watch(ww_watch **watch)
{
	ww_watch_free(*watch);
}

static inline void own_snapshot(ww_snapshot **snapshot)
{
	ww_snapshot_free(*snapshot);
}

#endif
