/* SPDX-License-Identifier: Apache-2.0 */
/*
 * own.h - locals that are let go of when their scope ends
 *
 *   OWN(memory) ww_memory *memory = scene_make(BYTES, 1);
 *   ENDED_BY(agent_end) struct child agent;
 *
 * They are let go of in the reverse order of their declarations. A local without a first value must
 * have one when the scope ends. A claim that does not hold leaves the case without this.
 */
#ifndef WW_TESTS_SUPPORT_OWN_H
#define WW_TESTS_SUPPORT_OWN_H

#include <stdlib.h>

#include <warpway/warpway.h>

#define ENDED_BY(function) __attribute__((cleanup(function), unused))
#define OWN(what)          ENDED_BY(own_##what)

/* Defines a case as CASE() does, with a struct of that name, which a call makes before it. */
#define CASE_WITH(case_name, case_needs, name, begin_call, end_function) \
	static void case_name##_with(struct name *name);                 \
	CASE(case_name, case_needs)                                      \
	{                                                                \
		ENDED_BY(end_function) struct name name;                 \
                                                                         \
		begin_call;                                              \
		case_name##_with(&name);                                 \
	}                                                                \
	static void case_name##_with(struct name *name)

#define OWN_DEFINE(what, let_go)                         \
	static inline void own_##what(ww_##what **owned) \
	{                                                \
		let_go(*owned);                          \
	}

OWN_DEFINE(barrier, ww_barrier_unref)
OWN_DEFINE(broker, ww_broker_unref)
OWN_DEFINE(cancel, ww_cancel_unref)
OWN_DEFINE(channel, ww_channel_unref)
OWN_DEFINE(client, ww_client_unref)
OWN_DEFINE(device, ww_device_unref)
OWN_DEFINE(event, ww_event_unref)
OWN_DEFINE(kernel, ww_kernel_unref)
OWN_DEFINE(memory, ww_memory_unref)
OWN_DEFINE(module, ww_module_unref)
OWN_DEFINE(object, ww_object_unref)
OWN_DEFINE(pool, ww_pool_unref)
OWN_DEFINE(service, ww_service_unref)
OWN_DEFINE(snapshot, ww_snapshot_free)
OWN_DEFINE(stream, ww_stream_unref)
OWN_DEFINE(ticket, ww_ticket_unref)
OWN_DEFINE(timeline, ww_timeline_unref)
OWN_DEFINE(watch, ww_watch_free)
OWN_DEFINE(work_queue, ww_work_queue_unref)

/* A descriptor, by close(). */
void own_fd(int *fd);

static inline void own_heap(void *pointer)
{
	free(*(void **)pointer);
}

#endif
