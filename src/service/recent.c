/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recent.c - the memories that a client's last calls had as arguments, see recent.h
 */
#include "service/recent.h"

#include "base/cleanup.h"

ww_memory *ww_recent_keep(struct ww_recent *recent, ww_memory *memory, uint64_t now_ns)
{
	uint32_t oldest = 0;
	ww_memory *former;

	for (uint32_t i = 0; i < WW_SERVICE_KEEP_MEMORIES; i++) {
		if (recent->places[i].memory == memory) {
			recent->places[i].used_ns = now_ns;
			return memory;
		}
		if (recent->places[i].used_ns < recent->places[oldest].used_ns)
			oldest = i;
	}
	former = recent->places[oldest].memory;
	recent->places[oldest].memory = memory;
	recent->places[oldest].used_ns = now_ns;
	return former;
}

ww_memory *ww_recent_take(struct ww_recent *recent, uint64_t before_ns)
{
	for (uint32_t i = 0; i < WW_SERVICE_KEEP_MEMORIES; i++) {
		if (!recent->places[i].memory || recent->places[i].used_ns >= before_ns)
			continue;
		recent->places[i].used_ns = 0;
		return ww_steal(recent->places[i].memory);
	}
	return NULL;
}
