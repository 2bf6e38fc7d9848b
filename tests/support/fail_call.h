/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fail_call.h - what the library asks of libc and the kernel, call by call
 *
 * A program linked with this file and with `-Wl,--wrap=NAME` for every NAME in fail_call.c has a
 * hand in between: the Nth call can be made to fail, or the process to die of SIGKILL at that
 * point. That turns "every failure path" and "killed at every step" into loops.
 *
 * A call is known by its function's plain name, "mmap" for mmap64(); fcntl() by its command too, as
 * in "fcntl(F_ADD_SEALS)".
 *
 * Only calls made while it is armed count, by any thread. Allocations are counted always: what the
 * program's own objects, the library among them, have allocated and not freed.
 */
#ifndef WW_TESTS_SUPPORT_FAIL_CALL_H
#define WW_TESTS_SUPPORT_FAIL_CALL_H

#include <stdbool.h>
#include <stdint.h>

enum calls_kind {
	CALLS_ALLOCATIONS = 1,
	CALLS_SYSTEM = 2,
	CALLS_HARMLESS = 4, /* those that do not fail: close(), munmap(); one can only die there */
	CALLS_ALL = 7
};

/* From now on: the Nth call of these kinds fails, with the error that befits it. */
void calls_fail(int kinds, uint64_t nth);

/* From now on: so many calls of this function fail with this error, from the Nth on. */
void calls_fail_named(const char *function, int error, uint64_t nth, uint64_t times);

/* From now on: every fallocate() of more bytes than these is interrupted. */
void calls_interrupt_above(uint64_t bytes);

/* From now on: the process dies at the Nth call. */
void calls_die(uint64_t nth);

/*
 * From now on: the process dies at the Nth call of this function; sendmsg() and recvmsg() also
 * right after it.
 */
void calls_die_at(const char *function, uint64_t nth, bool afterwards);

/*
 * Disarms. Returns the name of the function that failed, and its error, or NULL if there were fewer
 * calls. out_error may be NULL.
 */
const char *calls_off(int *out_error);

int64_t calls_live_allocations(void);

#endif
