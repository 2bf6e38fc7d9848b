/* SPDX-License-Identifier: Apache-2.0 */
/*
 * open_broker.h - what every verb that talks to a broker does in the same way
 */
#ifndef TOOLS_WARPWAY_OPEN_BROKER_H
#define TOOLS_WARPWAY_OPEN_BROKER_H

#include <warpway/warpway.h>

#include "common/cleanup.h"
#include "common/say.h"

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

/**
 * broker_find() - connect to a broker to look around, and start none
 * @out_broker:  NULL with 0: the user's own is meant, which starts when it is needed, and it does
 *               not run; so there are no objects
 * Return: 0; EXIT_CANNOT after saying why not, also where an address that was named leads to no
 * broker.
 */
int broker_find(const char *address, ww_broker **out_broker);

/*
 * The same for a verb that needs an object. Return: 0; EXIT_FAILED, EXIT_CANNOT after saying why
 * not.
 */
int broker_find_object(const char *address, const char *name, ww_broker **out_broker);

/* The exit code for a call that failed with this status, which was not WW_OK. */
int broker_exit(ww_status status);

/* The same, after saying what went wrong, with the error record. */
#define broker_fail(status, ...) (complain_record(__VA_ARGS__), broker_exit(status))

static inline void own_watch(ww_watch **watch)
{
	ww_watch_free(*watch);
}

static inline void own_snapshot(ww_snapshot **snapshot)
{
	ww_snapshot_free(*snapshot);
}

#endif
