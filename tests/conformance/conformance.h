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
#include "support/needs.h"
#include "support/stream_gate.h"
#include "support/packet.h"
#include "support/subject.h"

#define WRAPPED_LOSS (NEEDS_CUDA | WW_CAP_STREAM_WRAP | WW_CAP_STREAM_VALUE | WW_CAP_HOST_READ_ONLY)

#endif
