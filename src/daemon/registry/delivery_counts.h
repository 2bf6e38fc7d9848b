/* SPDX-License-Identifier: Apache-2.0 */
/*
 * delivery_counts.h - deliveries that processes count themselves, in files that the broker reads
 *
 * A process that hands out many small parts of an object asks the broker for none of them. So the
 * broker does not know what is in flight when that process ends. Its object therefore has a file
 * that says how many imports of each part are expected, and each process that imports has put an
 * object inside of it, with a file that says how many it has made (layout delivery_counts in
 * protocol/broker.xml).
 *
 *   expected - imports by inner objects that have ended - those of the others = in flight
 *
 * The second of these is written by the broker, when such an object ends. A broker that is killed
 * meanwhile leaves an import that is not counted, rather than one counted twice: so the object may
 * stay for longer, but not for too short a time.
 *
 * The files belong to their makers, which may write anything into them. Only so much is read and
 * written in one turn of the loop as takes a few milliseconds. What could not be read counts as in
 * flight.
 */
#ifndef WW_DAEMON_REGISTRY_DELIVERY_COUNTS_H
#define WW_DAEMON_REGISTRY_DELIVERY_COUNTS_H

#include "daemon/registry/registry.h"

struct object;

#define DELIVERY_COUNTS    32 /* in fd_access, beside who is given the descriptor */
#define DELIVERY_NEEDS_MAX 64

/* What is in flight. */
struct unreceived {
	uint64_t count;   /* imports that are expected yet */
	uint64_t keep_ns; /* how long the object stays for these */
	bool needs_all;   /* inner objects; else the following */
	uint32_t needs_count;
	uint32_t needs[DELIVERY_NEEDS_MAX]; /* the first bytes of their ids */
};

/* Which of an object's descriptors is such a file. Return: -1 when none is. */
int delivery_counts_find(const uint8_t *fd_access, size_t fd_count);

/*
 * Checks a put that has one; any other put is accepted.
 * @fds:  looked at by descriptor_check()
 * Return: WW_OK; WW_ERR_INVALID; WW_ERR_DESCRIPTOR.
 */
ww_status delivery_counts_check(const struct ww_wire_put *put, const int *fds, size_t fd_count);

/* An object that has such a file is there: if it is inside of another one, that counts it. */
void delivery_counts_enter(struct registry *registry, struct object *object);

/* An object has ended, and still has its descriptors: what it imported is added to what is gone. */
void delivery_counts_leave(struct registry *registry, struct object *object);

/* What is in flight of an object that is in no other one. An object without a file: nothing. */
void delivery_counts_sum(struct registry *registry, const struct object *object,
	struct unreceived *out_unreceived);

/* Whether what is in flight needs an inner object. */
bool unreceived_needs(const struct unreceived *unreceived, const uint8_t id[WW_WIRE_ID_BYTES]);

#endif
