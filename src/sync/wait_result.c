/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wait_result.c - what a look at a cell means to a thread that waits for a value, see wait_result.h
 */
#include "sync/wait_result.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include <warpway/timeline.h>

#include "base/error.h"

ww_status ww_wait_result_of(const struct ww_signal_look *look, uint64_t value)
{
	if (value <= look->reached)
		return WW_OK;
	if (look->state == WW_WIRE_CELL_STATE_LOST)
		return WW_ERR_PEER_LOST;
	if (look->state == WW_WIRE_CELL_STATE_CLOSED && value > look->submitted)
		return WW_ERR_PEER_LOST;
	return WW_NOT_READY;
}

static double ms_since(uint64_t then_ns)
{
	struct timespec now = {0};
	double then_ms = (double)then_ns / 1e6;

	clock_gettime(CLOCK_REALTIME, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6 - then_ms;
}

const char *ww_wait_result_process(const struct ww_signal_map *page,
	char out[WW_WAIT_RESULT_PROCESS_BYTES])
{
	const struct ww_page_creator *creator = &page->creator;

	if (creator->pid == 0)
		snprintf(out, WW_WAIT_RESULT_PROCESS_BYTES, "a process of user %" PRIu32,
			creator->uid);
	else if (creator->program[0] == '\0')
		snprintf(out, WW_WAIT_RESULT_PROCESS_BYTES, "process %" PRIu32, creator->pid);
	else
		snprintf(out, WW_WAIT_RESULT_PROCESS_BYTES, "process %" PRIu32 " (%s)",
			creator->pid, creator->program);
	return out;
}

ww_status ww_wait_result_fail(const struct ww_signal_map *page, const struct ww_signal_look *look,
	uint64_t value)
{
	char process[WW_WAIT_RESULT_PROCESS_BYTES];

	ww_wait_result_process(page, process);
	if (look->failure[0])
		return ww_fail(WW_ERR_PEER_LOST,
			"value %" PRIu64 " will not come: %s failed its timeline at value %" PRIu64
			": %s",
			value, process, look->reached, look->failure);
	if (ww_signal_page_is_lost(page->header))
		return ww_fail(WW_ERR_PEER_LOST,
			"value %" PRIu64
			" will not come: %s, which signalled this timeline, ended %.1f ms ago, at value "
			"%" PRIu64 "; go on without it, or start it anew",
			value, process, ms_since(page->header->lost_ns), look->reached);
	return ww_fail(WW_ERR_PEER_LOST,
		"value %" PRIu64 " will not come: %s closed the timeline at value %" PRIu64, value,
		process, look->submitted);
}
