/* SPDX-License-Identifier: Apache-2.0 */
/*
 * member.h - how a member of a work queue or of a pool begins, which then dies or is stopped
 */
#ifndef WW_TESTS_CRASH_MEMBER_H
#define WW_TESTS_CRASH_MEMBER_H

#include <string.h>

#include "crash/step.h"
#include "support/broker_case.h"
#include "support/check.h"
#include "support/needs.h"
#include "support/subject.h"
#include "support/work_queue.h"

#define LIMIT_NS   ((uint64_t)child_limit_ms() * 1000000)
#define POOL_BYTES (2 * MIB)

static inline ww_broker *open_broker(void)
{
	ww_broker *broker;

	MUST_OK(broker_open_patient(NULL, &broker));
	return broker;
}

static inline ww_work_queue *join_queue(ww_device *device, ww_broker *broker, uint32_t role)
{
	ww_work_queue *queue;

	MUST_OK(ww_work_queue_get(device, broker, "q",
		WW_PARAMS(struct ww_work_member_params, .role = role), LIMIT_NS, NULL, &queue));
	return queue;
}

static inline ww_pool *make_pool(ww_device *device)
{
	ww_pool *pool;

	MUST_OK(ww_pool_create(device,
		WW_PARAMS(struct ww_pool_params, .bytes_max = POOL_BYTES,
			.chunk_bytes = POOL_BYTES),
		&pool));
	return pool;
}

#endif
