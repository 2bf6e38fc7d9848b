/* SPDX-License-Identifier: Apache-2.0 */
/*
 * needs.h - what a case needs of the device and of the machine, and why it is skipped without that
 *
 * The needs of a case are WW_CAP_ bits, which the subject must have, and the bits below.
 */
#ifndef WW_TESTS_SUPPORT_NEEDS_H
#define WW_TESTS_SUPPORT_NEEDS_H

#include <stdint.h>

#include <warpway/device.h>

#include "support/check.h"

#define NEEDS_CUDA            (UINT64_C(1) << 32)
#define NEEDS_HOST_BACKEND    (UINT64_C(1) << 33)
#define NEEDS_OTHER_GPU       (UINT64_C(1) << 34)
#define NEEDS_MISUSE_STATUS   (UINT64_C(1) << 35) /* a build in which misuse does not abort */
#define NEEDS_PEER            (UINT64_C(1) << 36) /* another GPU that reaches this one, and back */
#define NEEDS_NO_PEER         (UINT64_C(1) << 37) /* another GPU that does not */
#define NEEDS_NO_STREAM_VALUE (UINT64_C(1) << 38)
#define NEEDS_ROOT            (UINT64_C(1) << 39) /* to become other users, or make namespaces */
#define NEEDS_NO_MPS          (UINT64_C(1) << 40) /* so that a fault ends no other process's work */
#define NEEDS_FAKE            (UINT64_C(1) << 41) /* a driver that fails when it is told to */

/* Streams that wait for values on pages of other processes. */
#define NEEDS_VALUES (WW_CAP_STREAM_VALUE | WW_CAP_HOST_READ_ONLY)

/* This case calls no device, so that one run of the suite is enough; see check.h. */
#define NO_DEVICE (UINT64_C(1) << 63)

/* Why a case cannot run here; NULL: it can. */
const char *needs_missing(const struct check_case *item);

/*
 * check_main() for a suite that has these needs, or whose cases have them. Leaks of descriptors and
 * mappings are looked for, if at all, only where they can be counted. What the suite has of its own
 * is used: its skip() instead of needs_missing(), which it may call, and its warm_up() when the
 * subject is known.
 */
int needs_main(const struct check_suite *suite, int argc, char **argv);

/* The same for cases that leak neither of these, and leave nothing in the fake driver. */
int needs_main_live(const struct check_suite *suite, int argc, char **argv);

#endif
