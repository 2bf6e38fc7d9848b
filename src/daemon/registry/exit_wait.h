/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exit_wait.h - repeats last wills between the end of a process's connection and its exit
 *
 *   put ──> a last will ──connection ends──> executed ──process ends──> executed again, freed
 *
 * The connection of a process ends first, and the process exits later: if it uses a GPU, tens of
 * milliseconds later. In between, a last store of its GPU may undo the poison. So a holder that has
 * left a last will awaits its exit: it keeps its pidfd, its number and its name, and its pages are
 * poisoned again and again until the pidfd fires.
 *
 * The state is in the tables, so a new broker continues: the holder's record has the state
 * HOLDER_AWAITS_EXIT, and its removed objects keep one descriptor, the page's. Both stay charged,
 * the holder as a connection.
 *
 * A process that only lost its connection awaits its exit too, since other processes saw its pages
 * poisoned. A page that other processes ever had, or may still find inside another object, stays
 * until the process ends, for then the page says so (`ended`). After EXIT_WAIT_NS it is executed
 * less often. A page that no other process had is freed after that time. So are all pages of a
 * process without a pidfd, whose end is unknown; such a page does not say `ended`.
 *
 * The object of such a last will has ended, except for the processes that hold it. Only members of
 * other objects stay, see object_await_exit().
 */
#ifndef WW_DAEMON_REGISTRY_EXIT_WAIT_H
#define WW_DAEMON_REGISTRY_EXIT_WAIT_H

#include "daemon/registry/registry.h"
#include "daemon/registry/last_will.h"

#define EXIT_WAIT_NS UINT64_C(5000000000)

/* @look: is called with each last will in its turn */
void exit_wait_open(struct registry *registry, registry_look look);

/* Closes the timer, so the loop must run once more. */
void exit_wait_close(struct registry *registry);

/* Adds a last will. If it is added already, it is looked at soon. */
void exit_wait_add(struct registry *registry, struct last_will *last_will);
void exit_wait_remove(struct registry *registry, struct last_will *last_will);

#endif
