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

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "support/broker.h"

#define DAEMON   ((uid_t)54300)
#define ATTACKER ((uid_t)54321)
#define VICTIM   ((uid_t)54322)

struct attack {
	const char *name;
	const char *what;
	size_t connections; /* how many at most */
	void (*run)(const char *address, size_t connections, void (*ready)(void));
};

extern const struct attack attacks[];
extern const size_t attack_count;

/* Asks for something cheap over all its connections. */
void attack_lawful(const char *address, size_t connections, void (*ready)(void));

#endif
