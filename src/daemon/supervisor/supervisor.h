/* SPDX-License-Identifier: Apache-2.0 */
/*
 * supervisor.h - the process that keeps the broker's descriptors and starts it again
 *
 * warpwayd is two processes. The supervisor, the parent, has a duplicate of every descriptor that
 * must outlive a broker: the listening socket, the lock, the tables of the registry, the objects'
 * descriptors, the pidfds of holders. It reads nothing that a client wrote, only fixed messages of
 * its own broker (struct supervisor_message). If the broker ends unexpectedly, the supervisor
 * starts another one, which inherits everything under the same numbers.
 *
 * If the supervisor is killed, the broker becomes a supervisor (exec of the same program, with its
 * descriptors) and starts a broker. So either may be killed at any time.
 *
 * Fixed numbers in both: 3 the socket between them, 4 the listening socket, 5 the lock, 6 a copy of
 * the configuration. Since there is a copy, a fault that is made in the file later cannot prevent a
 * restart of the broker.
 *
 * SIGHUP at the supervisor starts another broker, of the program as it is installed now, with the
 * configuration as it is now. If that broker does not get ready, the former program with the former
 * configuration is started again. No object is lost either way. SIGTERM and SIGINT end both
 * processes and every object.
 */
#ifndef WW_DAEMON_SUPERVISOR_SUPERVISOR_H
#define WW_DAEMON_SUPERVISOR_SUPERVISOR_H

#include <stdint.h>

struct start;

enum {
	SUPERVISOR_SOCKET = 3,
	SUPERVISOR_LISTENER = 4,
	SUPERVISOR_LOCK = 5,   /* closed if systemd made the socket */
	SUPERVISOR_CONFIG = 6, /* closed if there is no configuration */
	/*
	 * A pipe to the client that started the daemon and waits, see start_notice.h; in the
	 * supervisor only.
	 */
	SUPERVISOR_STARTER = 7
};

/* The messages of a broker to its supervisor; descriptors come with KEEP only. */
enum {
	SUPERVISOR_KEEP = 1, /* keep the descriptors of this message under numbers[0 .. count-1] */
	SUPERVISOR_DROP = 2, /* close numbers[0 .. count-1] */
	SUPERVISOR_DROP_RANGE = 3, /* close all from numbers[0] to numbers[1] */
	SUPERVISOR_READY = 4       /* the broker serves */
};

struct supervisor_message {
	uint32_t what;
	uint32_t count;
	uint32_t numbers[8];
};

/*
 * Runs until the broker is idle and ends, or a signal ends it. The fixed descriptors are in place.
 * Return: the process's exit status.
 */
int supervisor_run(struct start *start);

#endif
