/* SPDX-License-Identifier: Apache-2.0 */
/*
 * broker.h - memory with names, between real processes, through the public interface
 *
 * Each case begins a scene (support/broker_case.h) and ends it, when the broker must be back where
 * it was. Most helpers are agents (support/agent.h).
 */
#ifndef WW_TESTS_INTEGRATION_BROKER_H
#define WW_TESTS_INTEGRATION_BROKER_H

#include "support/agent.h"
#include "support/check.h"
#include "support/child.h"
#include "support/container.h"
#include "support/broker_case.h"
#include "support/subject.h"

#define NEEDS_EXPORT         (UINT64_C(1) << 0)
#define NEEDS_HOST_MEMORY    (UINT64_C(1) << 1)
#define NEEDS_HOST_READ_ONLY (UINT64_C(1) << 2)
#define NEEDS_ROOT           (UINT64_C(1) << 3)
#define NEEDS_EVENT          (UINT64_C(1) << 4)
#define NEEDS_EVENT_HANDLE   (UINT64_C(1) << 5)

#endif
