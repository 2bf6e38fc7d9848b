/* SPDX-License-Identifier: Apache-2.0 */
/*
 * release_time.h - a signaller is killed while a CPU and a stream wait for it, and when each of
 * them goes on
 */
#ifndef TOOLS_COMMON_RELEASE_TIME_H
#define TOOLS_COMMON_RELEASE_TIME_H

#include <stdint.h>

#include <warpway/warpway.h>

#include "common/child.h"

/* Nanoseconds from the kill on. */
struct release {
	uint64_t
		/* the kernel has ended the victim's socket: before that nobody can know */
		report_ns;
	uint64_t cpu_ns;
	uint64_t stream_ns;
};

/**
 * release_run() - kill a signaller and time its waiters
 * @timeline:    the victim's
 * @value:       that it will never signal; both wait for it
 * @stream:      left released: of no more use
 * @victim:      has called release_expose(); not reaped
 * @timeout_ns:  for the CPU's wait
 *
 * The record says what the CPU was told.
 *
 * Return: 0; -1 after saying what went wrong, for instance that a wait did not end with
 * WW_ERR_PEER_LOST.
 */
int release_run(ww_timeline *timeline, uint64_t value, ww_stream *stream,
	const struct child *victim, uint64_t timeout_ns, struct release *out_release);

/**
 * release_expose() - in the victim, once it is connected to the broker
 *
 * The kernel closes a dying process's files one after the other, those of a GPU's context among
 * them. A copy of the link, which ends only with that, comes right behind the connection, so parent
 * and broker learn of the end together.
 *
 * Return: 0, or -1 after saying what went wrong.
 */
int release_expose(void);

/* The later of both, from the kernel's report on. */
uint64_t release_delay_ns(const struct release *release);

#endif
