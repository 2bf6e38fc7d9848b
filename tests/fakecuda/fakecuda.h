/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fakecuda.h - what a test can ask of the fake driver beyond the driver's own functions
 *
 * The fake is a libcuda.so.1, opened at run time like the real one. A test finds these functions
 * with dlsym on the same handle; on a real driver they are absent, and that is how a test knows
 * which of the two it has.
 *
 * Threads: all of them from any thread.
 */
#ifndef FAKECUDA_H
#define FAKECUDA_H

#include <stdint.h>

#define FAKECUDA_DEVICES_MAX 16

/* What this process holds at one moment. Nothing leaked: two of these are equal. */
struct fakecuda_live {
	uint64_t handles;         /* VMM handles that somebody has not released */
	uint64_t physical;        /* pieces of memory: VMM, cuMemAlloc, imported ones, pools */
	uint64_t reservations;    /* address ranges reserved */
	uint64_t mappings;        /* VMM mappings */
	uint64_t contexts;        /* created and not destroyed */
	uint64_t primary_retains; /* primary contexts retained and not released, summed */
	uint64_t streams;         /* created and not destroyed; the implicit ones do not count */
	uint64_t events;          /* created or opened, and not destroyed */
	uint64_t allocations;     /* cuMemAlloc, managed, host and pool allocations */
	uint64_t registrations;   /* host memory registered */
	uint64_t ipc_mappings;    /* legacy handles open */
	uint64_t pools;           /* created or imported, and not destroyed */
	uint64_t modules;         /* loaded and not unloaded */
	uint64_t bytes[FAKECUDA_DEVICES_MAX]; /* made by this process and still there, per device */
};

/**
 * fakecuda_fail() - make one call fail, having done nothing
 * @name:	a driver function ("cuMemCreate"), or "*" for any that is no cleanup
 * @nth:	which of the calls from now on, 1 for the next one
 * @code:	the CUresult it returns
 *
 * Replaces the failure asked for before, FAKECUDA_FAIL included. Cleanup (release, unmap, free,
 * destroy, pop, unregister, close) fails only by its own name. A name that is no function aborts.
 */
typedef void fakecuda_fail_fn(const char *name, uint64_t nth, int code);

/**
 * fakecuda_at() - have a function of the test called in the middle of a run
 * @name:	a driver function, or "*", as above
 * @nth:	in which of the calls from now on, 1 for the next one
 * @function:	called before the call does anything; must not call the driver
 *
 * The call then does what it always does. Replaces the failure asked for before.
 */
typedef void fakecuda_at_fn(const char *name, uint64_t nth, void (*function)(void));

/** fakecuda_fail_off() - no call fails any more */
typedef void fakecuda_fail_off_fn(void);

/**
 * fakecuda_call_count() - how often a function has been called in this process
 * @name:	a driver function, "*" for all that are no cleanup, "cleanup" for those that are
 */
typedef uint64_t fakecuda_call_count_fn(const char *name);

/** fakecuda_live() - count what this process holds */
typedef void fakecuda_live_fn(struct fakecuda_live *out);

#endif
