/* SPDX-License-Identifier: Apache-2.0 */
/*
 * choose_broker.c - the broker of a call that was given NULL, and that of a memory
 */
#include "share/choose_broker.h"

#include "base/ref.h"
#include "share/call_limit.h"

ww_status ww_choose_broker(struct ww_broker **broker, struct ww_broker **out_opened,
	uint64_t timeout_ns)
{
	struct ww_call_limit limit;
	ww_status status;

	*out_opened = NULL;
	if (*broker)
		return ww_ref_check(&(*broker)->ref, "a connection to a broker");
	ww_call_limit_begin(&limit, timeout_ns);
	status = ww_call_limit_end(&limit, ww_broker_open(NULL, out_opened));
	*broker = *out_opened;
	return status;
}

ww_broker *ww_memory_broker(ww_memory *memory)
{
	if (!memory || !ww_memory_is_usable(memory))
		return NULL;
	if (memory->class && memory->class->broker)
		return memory->class->broker(memory);
	return ww_hold_ref_only_broker(&ww_memory_whole(memory)->attachments);
}

ww_status ww_choose_broker_of(struct ww_memory *memory, struct ww_broker **broker,
	struct ww_broker **out_opened, uint64_t timeout_ns)
{
	if (!*broker)
		*broker = ww_memory_broker(memory);
	return ww_choose_broker(broker, out_opened, timeout_ns);
}
