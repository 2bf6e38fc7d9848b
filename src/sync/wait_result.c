/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wait_result.c - what a look at a cell means to a thread that waits for a value, see wait_result.h
 */
#include "sync/wait_result.h"

#include <inttypes.h>
#include <string.h>
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

void ww_wait_result_program(const uint8_t program[32], char out[32])
{
	memcpy(out, program, 32);
	out[31] = '\0';
	for (char *at = out; *at; at++) {
		if (*at < ' ' || *at > '~')
			*at = '?';
	}
}

static double ms_since(uint64_t then_ns)
{
	struct timespec now = {0};
	double then_ms = (double)then_ns / 1e6;

	clock_gettime(CLOCK_REALTIME, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6 - then_ms;
}

uint32_t ww_wait_result_process(const struct ww_layout_signal_page *page, char out_program[32])
{
	bool is_lost = ww_signal_page_is_lost(page);

	ww_wait_result_program(is_lost ? page->lost_program : page->program, out_program);
	return is_lost ? page->lost_pid : page->pid;
}

ww_status ww_wait_result_fail(const struct ww_layout_signal_page *page,
	const struct ww_signal_look *look, uint64_t value)
{
	char program[32];

	if (ww_signal_page_is_lost(page)) {
		char lost_program[32];

		ww_wait_result_program(page->lost_program, lost_program);
		return ww_fail(WW_ERR_PEER_LOST,
			"value %" PRIu64 " will not come: process %" PRIu32
			" (%s), which signalled this timeline, "
			"ended %.1f ms ago, at value %" PRIu64
			"; go on without it, or start it anew",
			value, page->lost_pid, lost_program, ms_since(page->lost_ns),
			look->reached);
	}
	ww_wait_result_program(page->program, program);
	return ww_fail(WW_ERR_PEER_LOST,
		"value %" PRIu64 " will not come: process %" PRIu32
		" (%s) closed the timeline at value %" PRIu64,
		value, page->pid, program, look->submitted);
}
