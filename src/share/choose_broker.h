/* SPDX-License-Identifier: Apache-2.0 */
/*
 * choose_broker.h - the broker of a call that was given NULL
 */
#ifndef WW_SHARE_CHOOSE_BROKER_H
#define WW_SHARE_CHOOSE_BROKER_H

#include "share/hold_ref.h"

/*
 * The default broker, where the caller named none.
 * @broker:      as the caller gave it; never NULL afterwards
 * @out_opened:  the caller's to release: the default broker if that was opened here, else NULL. A
 *               call after which nothing holds something through the broker declares it
 *               WW_AUTO_KEPT_BROKER, so that the next call need not connect
 * @timeout_ns:  within which the broker is to be reached; 0: only its own limit counts
 * Return: WW_OK; WW_TIMED_OUT; as ww_broker_open().
 */
ww_status ww_choose_broker(struct ww_broker **broker, struct ww_broker **out_opened,
	uint64_t timeout_ns);

/*
 * The same, of a memory: before the default one comes the memory's own broker, as
 * ww_memory_broker() says.
 */
ww_status ww_choose_broker_of(struct ww_memory *memory, struct ww_broker **broker,
	struct ww_broker **out_opened, uint64_t timeout_ns);

static inline void ww_choose_broker_keep(struct ww_broker **opened)
{
	if (*opened)
		ww_broker_client_keep(*opened);
}
#define WW_AUTO_KEPT_BROKER WW_CLEANUP(ww_choose_broker_keep)

#endif
