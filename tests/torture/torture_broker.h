/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torture_broker.h - a private broker for the runs of a case, which is idle again after each run,
 * and a partner that uses it
 */
#ifndef WW_TESTS_TORTURE_TORTURE_BROKER_H
#define WW_TESTS_TORTURE_TORTURE_BROKER_H

#include <errno.h>

#include "support/child.h"
#include "torture/torture.h"

/* Where it listens. */
extern const char *scenario_address;

/*
 * Of calls by which objects are shared, and the broker is asked. fstat() also tells whether two
 * descriptors are the same: unknown means no.
 */
/* clang-format off */
#define SHARING_EXPECTATIONS \
	{"memfd_create", EMFILE, WW_ERR_LIMIT, false, RARELY}, \
	{"ftruncate", ENOMEM, WW_ERR_NO_MEMORY, false, RARELY}, \
	{"fallocate", ENOSPC, WW_ERR_NO_MEMORY, false, RARELY}, \
	{"fchmod", EIO, WW_ERR_SYSTEM, false, RARELY}, \
	{"fcntl(F_DUPFD_CLOEXEC)", EMFILE, WW_ERR_LIMIT, false, RARELY}, \
	{"fcntl(F_ADD_SEALS)", EINVAL, WW_ERR_SYSTEM, false, RARELY}, \
	{"fcntl(F_GETFL)", EINVAL, WW_OK, true, RARELY}, \
	{"fcntl", EINVAL, WW_OK, true, RARELY}, \
	{"fstatfs", EIO, WW_ERR_SYSTEM, false, RARELY}, \
	{"fstat", EIO, WW_ERR_SYSTEM, true, RARELY}, \
	{"mmap", ENOMEM, WW_ERR_LIMIT, false, RARELY}, \
	{"open", EMFILE, WW_ERR_LIMIT, false, RARELY}, \
	{"getrandom", EIO, WW_ERR_SYSTEM, false, RARELY}, \
	{"eventfd", EMFILE, WW_ERR_LIMIT, false, RARELY}, \
	{"pthread_create", EAGAIN, WW_ERR_LIMIT, false, RARELY}, \
	{"ppoll", EINTR, WW_OK, true, ALWAYS}, \
	{"recvmsg", EINTR, WW_OK, true, ALWAYS}, \
	{"recvmsg", EAGAIN, WW_OK, true, ALWAYS}, \
	{"sendmsg", EINTR, WW_OK, true, ALWAYS}, \
	{"sendmsg", EAGAIN, WW_OK, true, ALWAYS}
/* clang-format on */

/* Starts it. If a case has failed, its broker is still there, and is killed. */
void torture_broker_start(void);
/* From now on it is idle if it is as it is now: what a partner has put there stays. */
void torture_broker_watch(void);
void torture_broker_must_be_idle(void);
void torture_broker_stop(void);

/* Both of the first: struct torture.open of a suite without a partner. */
void torture_broker_open(void);

/* The process with the role "partner". It uses the broker, and says "ready" when it can be used. */
extern struct child torture_partner;

void torture_partner_start(void);
void torture_partner_stop(void);

/* For a suite with a partner: struct torture.open and close. */
void torture_partner_open(void);
void torture_partner_close(void);

#endif
