/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wait_result.h - what a look at a cell means to a thread that waits for a value, and the sentence
 * that says why it never comes
 */
#ifndef WW_SYNC_WAIT_RESULT_H
#define WW_SYNC_WAIT_RESULT_H

#include "sync/signal_page_map.h"

/*
 * Return: WW_OK (reached, whatever became of the signaller since); WW_NOT_READY; WW_ERR_PEER_LOST
 *         (never will be; not recorded).
 */
ww_status ww_wait_result_of(const struct ww_signal_look *look, uint64_t value);

/* Records which process ended or closed the timeline, and when. Return: WW_ERR_PEER_LOST. */
ww_status ww_wait_result_fail(const struct ww_signal_map *page, const struct ww_signal_look *look,
	uint64_t value);

#define WW_WAIT_RESULT_PROCESS_BYTES 64

/*
 * How a message names the creator of a page: "process 12 (program)", or "a process of user 1000" if
 * its pid is not known. Return: @out.
 */
const char *ww_wait_result_process(const struct ww_signal_map *page,
	char out[WW_WAIT_RESULT_PROCESS_BYTES]);

#endif
