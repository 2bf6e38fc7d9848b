/* SPDX-License-Identifier: Apache-2.0 */
/*
 * choose_broker.c - the broker of a call that was given NULL
 */
#include "share/choose_broker.h"

#include "share/sync_object.h"

ww_status ww_choose_broker(struct ww_broker **broker, struct ww_broker **out_opened,
	uint64_t timeout_ns)
{
	struct ww_sync_object_limit limit;
	ww_status status;

	*out_opened = NULL;
	if (*broker)
		return WW_OK;
	ww_sync_object_limit_begin(&limit, timeout_ns);
	status = ww_sync_object_limit_end(&limit, ww_broker_open(NULL, out_opened));
	*broker = *out_opened;
	return status;
}

ww_status ww_choose_broker_of(struct ww_memory *whole, struct ww_broker **broker,
	struct ww_broker **out_opened, uint64_t timeout_ns)
{
	if (!*broker)
		*broker = ww_hold_ref_only_broker(&whole->attachments);
	return ww_choose_broker(broker, out_opened, timeout_ns);
}
