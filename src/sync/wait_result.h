/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wait_result.h - what a look at a cell means to a thread that waits for a value, and the sentence
 * that says why it never comes
 */
#ifndef WW_SYNC_WAIT_RESULT_H
#define WW_SYNC_WAIT_RESULT_H

#include "wire/signal_page.h"

/*
 * Return: WW_OK (reached, whatever became of the signaller since); WW_NOT_READY; WW_ERR_PEER_LOST
 *         (never will be; not recorded).
 */
ww_status ww_wait_result_of(const struct ww_signal_look *look, uint64_t value);

/* Records which process ended or closed the timeline, and when. Return: WW_ERR_PEER_LOST. */
ww_status ww_wait_result_fail(const struct ww_layout_signal_page *page,
	const struct ww_signal_look *look, uint64_t value);

/* The process of a page, as the broker says, or, if no broker does, as its own. */
uint32_t ww_wait_result_process(const struct ww_layout_signal_page *page, char out_program[32]);

/* A name from a shared page, fit to be printed. @out: of 32 bytes */
void ww_wait_result_program(const uint8_t program[32], char out[32]);

#endif
