/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server.h - the broker process: how it is started, runs and ends
 */
#ifndef WW_DAEMON_BROKER_SERVER_H
#define WW_DAEMON_BROKER_SERVER_H

#include <stdbool.h>
#include <stdint.h>

#include <warpway/base.h>

#include "daemon/config.h"

struct server; /* server_state.h */

/* What a broker process is started with. */
struct server_setup {
	int supervisor;         /* socket to the supervisor */
	int listener;           /* listening socket */
	uint32_t fdstore_first; /* see fdstore.h */
	uint32_t fdstore_limit;
	uint32_t restarts;     /* brokers before this one */
	uint64_t started_ns;   /* of the supervisor, CLOCK_MONOTONIC */
	bool leaves_when_idle; /* it was started by a client */
	const char *address;   /* path of the listening socket */
	const struct config *config;
};

/*
 * How a broker process ends, as its exit status; any other end is a fault, and the supervisor
 * starts a new one.
 */
enum {
	SERVER_DONE = 0,   /* it is idle and keeps nothing: the supervisor ends too */
	SERVER_CANNOT = 2, /* it could not start, and a new one could not either */
	SERVER_AGAIN = 75, /* SIGTERM: another broker follows; nothing was cleaned up */
	/* Never an exit status: server_run() returns it, and the process becomes a supervisor. */
	SERVER_SUPERVISOR_LOST = 76
};

/* Serves until the process is to end. Return: one of the above. */
int server_run(const struct server_setup *setup);

/*
 * All of server_run() but the turns of the loop.
 * @server:  zeros, but for the setup
 */
ww_status server_start(struct server *server);

#endif
