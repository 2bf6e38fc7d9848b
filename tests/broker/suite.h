/* SPDX-License-Identifier: Apache-2.0 */
/*
 * suite.h - what the cases of the broker suite share: daemons, users and connections
 *
 * The daemon is a real warpwayd, and connections speak the protocol by hand. One daemon serves all
 * cases; a case that needs limits or a restart starts one of its own. Connections come from a pool
 * and are closed when the case ends.
 *
 * After every case the daemon must be as before: no objects, holders, holds or waits, and as many
 * descriptors. So a case closes a connection only if it tests that.
 */
#ifndef WW_TESTS_BROKER_SUITE_H
#define WW_TESTS_BROKER_SUITE_H

#include <string.h>

#include "support/broker.h"
#include "support/check.h"
#include "support/child.h"
#include "support/own.h"
#include "support/raw_client.h"

#define MS UINT64_C(1000000)

/* Users that no real process runs as. */
#define ALICE ((uid_t)54321)
#define BOB   ((uid_t)54322)
#define GROUP ((gid_t)54400)

#define AS_ROOT (UINT64_C(1) << 0) /* needs other users */
#define ONCE    (UINT64_C(1) << 1) /* too long to be repeated */

#define ROOT_ONCE (AS_ROOT | ONCE)

/* The daemon that this case talks to: the shared one, or its own after suite_start(). */
extern struct broker *daemon_now;

/*
 * Starts a daemon of the case's own, with this configuration and limit of open files (NULL, 0: the
 * usual ones).
 */
void suite_start(const char *config, uint64_t files);
void suite_stop(void);

/* Skips the case if the daemon could raise the limit of open files that it was given. */
void suite_want_small(void);

/* A connection from the pool: after its welcome; before its hello; a watcher's; another user's. */
struct raw *peer(void);
struct raw *attacker(void);
struct raw *watcher(void);
struct raw *peer_of(uid_t uid, gid_t gid);

/* Closes and stops what a failed case has left. */
void suite_begin(void);

/* Closes the connections that are left, and waits until the daemon has forgotten them. */
void suite_settle(void);

/*
 * Waits until the daemon's condition has this many objects, holders and so on; UINT64_MAX: any
 * number.
 */
struct want {
	uint64_t objects;
	uint64_t holders;
	uint64_t holds;
	uint64_t fds;
	uint64_t waits;
};
void wait_for(struct raw *raw, const struct want *want);

/* A connection from the pool that speaks this version. */
struct raw *old_peer(uint16_t version);

/*
 * Kills the broker process and waits until another one serves; and the same process, over another
 * connection.
 */
void suite_kill_broker(struct raw *raw);
void suite_come_back(struct raw *raw, bool is_known);
void suite_come_back_as(struct raw *raw, uid_t uid, gid_t gid, bool is_known);

/* Puts an object without descriptors: sealed, held, mode 0600. */
struct ww_wire_put put_named(struct raw *raw, const char *name);

/*
 * Fails unless one of ten runs takes less than five seconds. What is measured takes milliseconds,
 * and what hangs, longer. A run may take longer since other processes use the machine too.
 * @time_ns:  runs once, and returns how long it took
 */
void suite_must_be_at_once(uint64_t (*time_ns)(void *context), void *context);

/* The answer to a request grants what it asked for, in this state; or refuses it, and says why. */
void must_be_granted(struct raw *raw, uint32_t serial, uint8_t state);
void must_be_refused(struct raw *raw, uint32_t serial, ww_status status, const char *word);

/* How many entries a listing has. */
uint32_t count_listed(struct raw *raw, const char *prefix, bool unnamed);

/* The case that runs all the others many times over; in main.c. */
void suite_repeat(int times);

#endif
