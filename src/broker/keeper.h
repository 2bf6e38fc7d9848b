/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keeper.h - the process that keeps the broker's descriptors and starts it again
 *
 * warpwayd is two processes. The keeper, the parent, has a duplicate of every descriptor that must outlive a broker:
 * the listening socket, the lock, the tables of the registry, the objects' descriptors, the pidfds of holders. It
 * reads nothing that a client wrote: only fixed messages of its own broker (struct keeper_message). When the broker
 * ends unasked, it starts another, which inherits everything under the same numbers.
 *
 * When the keeper is killed, the broker turns itself into a keeper (exec of the same program, its descriptors kept)
 * and starts a broker: so either may die at any time.
 *
 * Fixed numbers in both: 3 the socket between them, 4 the listening socket, 5 the lock, 6 a copy of the configuration.
 * The copy is why a fault in the file, made meanwhile, cannot keep a broker from being started again.
 *
 * SIGHUP at the keeper: another broker, of the program as it is installed now, with the configuration as it is now. If
 * that one does not get ready, it is again the former program with the former configuration; no object is
 * lost either way. SIGTERM and SIGINT end both processes and every object.
 */
#ifndef WW_BROKER_KEEPER_H
#define WW_BROKER_KEEPER_H

#include <stdint.h>

struct start;

enum {
	KEEPER_SOCKET = 3,
	KEEPER_LISTENER = 4,
	KEEPER_LOCK = 5,   /* closed if systemd listens for us */
	KEEPER_CONFIG = 6, /* closed if there is no configuration */
	KEEPER_STARTER = 7 /* who started us and waits, see starter.h; in the keeper only */
};

/* What a broker says to its keeper; descriptors come with KEEP only. */
enum {
	KEEPER_KEEP = 1,       /* the descriptors that come along, under numbers[0 .. count-1] */
	KEEPER_DROP = 2,       /* close numbers[0 .. count-1] */
	KEEPER_DROP_RANGE = 3, /* close everything from numbers[0] to numbers[1] */
	KEEPER_READY = 4       /* serving */
};

struct keeper_message {
	uint32_t what;
	uint32_t count;
	uint32_t numbers[8];
};

/*
 * Keeps, with the fixed descriptors in place, until the broker has nothing left to do or a signal says so.
 * Return: the process's exit status.
 */
int keeper_run(struct start *start);

#endif
