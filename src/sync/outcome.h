/* SPDX-License-Identifier: Apache-2.0 */
/*
 * outcome.h - what a look at a cell means to who waits for a value, and the sentence that says why it never comes
 */
#ifndef WW_SYNC_OUTCOME_H
#define WW_SYNC_OUTCOME_H

#include "wire/signal_page.h"

/*
 * @flags:  WW_WAIT_REACHED counts
 * Return: WW_OK (reached); WW_NOT_READY; WW_ERR_PEER_LOST (never will be; not recorded).
 */
ww_status ww_outcome_of(const struct ww_signal_look *look, uint64_t value, uint64_t flags);

/* Records who ended, or closed the timeline, and when. Return: WW_ERR_PEER_LOST. */
ww_status ww_outcome_fail(const struct ww_layout_signal_page *page,
	const struct ww_signal_look *look, uint64_t value);

/* A name from a shared page, fit to be printed. @out: of 32 bytes */
void ww_outcome_program(const uint8_t program[32], char out[32]);

#endif
