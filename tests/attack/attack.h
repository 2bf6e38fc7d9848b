/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack.h - attackers of a broker, and the lawful user that each is compared with
 *
 * An attacker is a process of its own, with all the connections that its user is allowed. It
 * prepares, says that it is ready, and goes on until it is killed. The lawful user has as many
 * connections and asks as much as it can.
 */
#ifndef WW_TESTS_ATTACK_H
#define WW_TESTS_ATTACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "support/broker.h"
#include "support/raw_client.h"

#define DAEMON   ((uid_t)54300)
#define ATTACKER ((uid_t)54321)
#define VICTIM   ((uid_t)54322)

struct attack {
	const char *name;
	const char *what;
	size_t connections; /* how many at most */
	void (*run)(const char *address, size_t connections, void (*ready)(void));
	const char *config;    /* of the broker; NULL: none */
	bool victim_publishes; /* else it asks for what it has put */
	bool leaves_escrows;   /* else nothing is left in the broker when all have ended */
};

extern const struct attack attacks[];
extern const size_t attack_count;

/* Asks for something cheap over all its connections. */
void attack_lawful(const char *address, size_t connections, void (*ready)(void));

/*
 * Puts the next version of what all users may read, and releases the former one. @former: its id;
 * zeros: there is none
 */
void attack_publish(struct raw *raw, uint8_t former[WW_WIRE_ID_BYTES]);

#endif
