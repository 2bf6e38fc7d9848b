/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server.h - the broker process, from what its keeper hands it to its end
 */
#ifndef WW_BROKER_SERVER_H
#define WW_BROKER_SERVER_H

#include <stdbool.h>
#include <stdint.h>

#include "broker/config.h"

/* What a broker process is started with. */
struct server_setup {
	int keeper;           /* socket to the keeper */
	int listener;         /* listening socket */
	uint32_t vault_first; /* see vault.h */
	uint32_t vault_limit;
	uint32_t restarts;     /* brokers before this one */
	uint64_t started_ns;   /* of the keeper, CLOCK_MONOTONIC */
	bool leaves_when_idle; /* it was started by a client */
	const char *address;   /* path of the listening socket */
	const struct config *config;
};

/* How a broker process ends, as its exit status; any other end is a fault, and the keeper starts a new one. */
enum {
	SERVER_DONE = 0,   /* idle, nothing kept: the keeper ends too */
	SERVER_CANNOT = 2, /* it could not start, and a new one could not either */
	SERVER_AGAIN = 75, /* asked to make room for another (SIGTERM): nothing was cleaned up */
	SERVER_KEEPER_LOST =
		76 /* never an exit status: run() returns it, and the process becomes a keeper */
};

/* Serves until one of these. */
int server_run(const struct server_setup *setup);

#endif
