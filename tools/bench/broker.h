/* SPDX-License-Identifier: Apache-2.0 */
/*
 * broker.h - what the parts of the suite `broker` share
 *
 * A broker of our own, in which nobody else has anything. Objects that are put by the bare protocol
 * stand for memory: they share one descriptor, so that a hundred thousand cost no more than their
 * places in the broker.
 */
#ifndef TOOLS_BENCH_BROKER_H
#define TOOLS_BENCH_BROKER_H

#include "bench/bench.h"
#include "bench/protocol_client.h"

#define OBJECT_NAME_BYTES 64
#define OBJECT_BYTES      4096

/* Kills of the broker that are not measured, at first. */
#define BROKER_WARM_UP_KILLS 3

/*
 * Of the objects put by the bare protocol; made when it is first asked for. -1 after saying what
 * went wrong.
 */
int broker_object_fd(void);

/* All of these return 0, or -1 after saying what went wrong. */

/*
 * Where this process, what it starts from now on, and the broker may run. How long it takes to wake
 * a process on another CPU depends on how deep that one slept, and who shares one with whom is
 * chance; either would hide what is measured. Together: on one CPU. Apart: the broker has one for
 * itself, where there are two. Free: as it was at first.
 */
int broker_cpus_together(struct bench *bench);
int broker_cpus_apart(struct bench *bench);
int broker_cpus_free(struct bench *bench);

int broker_info(struct bench *bench, struct ww_broker_info *out_info);

/* A process is killed (broker_kill.c): a holder, the broker. Turns, and before and after them. */
int broker_release(struct bench *bench, uint64_t out_ns[]);
int broker_restart(struct bench *bench, uint64_t out_ns[]);
int broker_restart_open(struct bench *bench);
int broker_restart_close(struct bench *bench);

/* Kills the broker; how long it takes until it has described the object. */
int broker_kill(struct bench *bench, const char *name, uint64_t *out_ns);

/* Many objects, many clients (broker_scale.c). It ends with kills of the loaded broker. */
int broker_scale(struct bench *bench);

/* What children do. */
int broker_role_holder(struct bench *bench, const char *word);
int broker_role_load(struct bench *bench, const char *word);

#endif
