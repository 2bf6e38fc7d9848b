/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cleanup.h - locals that let go of what they own
 *
 * OWN(memory) ww_memory *memory = NULL; drops the memory at the end of the scope, whichever way
 * the scope is left.
 */
#ifndef TOOLS_COMMON_CLEANUP_H
#define TOOLS_COMMON_CLEANUP_H

#include <warpway/warpway.h>

#include <stdlib.h>
#include <unistd.h>

#define OWN(what) __attribute__((cleanup(own_##what)))

static inline void own_memory(ww_memory **memory)
{
	ww_memory_unref(*memory);
}

static inline void own_device(ww_device **device)
{
	ww_device_unref(*device);
}

static inline void own_stream(ww_stream **stream)
{
	ww_stream_unref(*stream);
}

static inline void own_timeline(ww_timeline **timeline)
{
	ww_timeline_unref(*timeline);
}

static inline void own_work_queue(ww_work_queue **queue)
{
	ww_work_queue_unref(*queue);
}

static inline void own_channel(ww_channel **channel)
{
	ww_channel_unref(*channel);
}

static inline void own_broker(ww_broker **broker)
{
	ww_broker_unref(*broker);
}

static inline void own_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void own_heap(void *pointer)
{
	free(*(void **)pointer);
}

#endif
