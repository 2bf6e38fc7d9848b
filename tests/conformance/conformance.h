/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conformance.h - what every device must do, case by case
 *
 * One suite for every backend: the case is the same source on host, on the fake driver and on a
 * GPU; what a device cannot do is said by its capabilities, never by an #ifdef. A case is named
 * area_claim and belongs to the file of its area.
 */
#ifndef WW_TESTS_CONFORMANCE_CONFORMANCE_H
#define WW_TESTS_CONFORMANCE_CONFORMANCE_H

#include <stdint.h>

#include "support/leak_count.h"
#include "support/check.h"
#include "support/stream_gate.h"
#include "support/packet.h"
#include "support/subject.h"

/* What a case needs besides WW_CAP_... bits. */
#define NEEDS_CUDA         (UINT64_C(1) << 32)
#define NEEDS_HOST_BACKEND (UINT64_C(1) << 33)
#define NEEDS_OTHER_GPU    (UINT64_C(1) << 34)
/* ... that reaches the subject's memory, and back */
#define NEEDS_PEER            (UINT64_C(1) << 36)
#define NEEDS_NO_PEER         (UINT64_C(1) << 37) /* ... that does not */
#define NEEDS_NO_STREAM_VALUE (UINT64_C(1) << 38)
#define NEEDS_MISUSE_STATUS   (UINT64_C(1) << 35) /* a build in which misuse does not abort */

#define WRAPPED_LOSS (NEEDS_CUDA | WW_CAP_STREAM_WRAP | WW_CAP_STREAM_VALUE | WW_CAP_HOST_READ_ONLY)

#endif
