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
#include "support/needs.h"
#include "support/subject.h"

#define NEEDS_EVENT (WW_CAP_EVENT | WW_CAP_STREAM_VALUE)

#endif
