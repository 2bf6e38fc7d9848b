/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mourning.h - between a connection's end and its process's end: the testaments that must stay executed
 *
 *   put ──> a testament ──connection ends──> executed, MOURNED ──process ends──> executed once more, forgotten
 *
 * The end of a connection comes first, and the process's later (a process that uses a GPU takes tens of
 * milliseconds). A last store of its GPU may undo the poison in between. So a holder that has left a testament
 * stays, as mourned: it has no connections, holds nothing and is found by no process id; it has its pidfd, its number
 * and its name. Its pages are looked at again and again until the pidfd says that nothing can come any more.
 *
 * What is left is in the tables, so a new broker goes on: a mourned holder's record has the state HOLDER_MOURNED,
 * and an object of its that is removed keeps one descriptor, the page's. Both stay charged, the holder as a connection.
 *
 * A process that only lost its connection is mourned too, for its pages were given up before the eyes of others. What
 * others ever had stays until that process ends, for they are told of that end as well (`ended`); after MOURNING_NS it
 * is looked at less often. What nobody else had is forgotten then. So is everything where the kernel has given no pidfd;
 * that the process has ended is not said then, for nobody knows.
 *
 * The object of a mourned testament has ended, for all but those who hold it; only members of other objects stay,
 * see object_mourn().
 */
#ifndef WW_BROKER_MOURNING_H
#define WW_BROKER_MOURNING_H

#include "broker/registry.h"
#include "broker/testament.h"

/* The state of a holder's record; 1: as usual. */
#define HOLDER_MOURNED 2

#define MOURNING_NS UINT64_C(5000000000)

void mourning_open(struct registry *registry);

/* Closes the timer, so the loop must run once more. */
void mourning_close(struct registry *registry);

/* Mourns over one testament; again: looks at it soon. */
void mourning_join(struct registry *registry, struct testament *testament);
void mourning_leave(struct registry *registry, struct testament *testament);

#endif
