/* SPDX-License-Identifier: Apache-2.0 */
/*
 * get.c - how a memory is asked for by its name: what a caller wants, and the request
 */
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/params.h"
#include "share/choose_broker.h"
#include "share/get_reply.h"

#define PARAMS_V1_BYTES sizeof(struct ww_get_params)

ww_status ww_get_params_read(const struct ww_get_params *params, struct ww_get_params *ours,
	struct ww_import_options *out_options)
{
	memset(ours, 0, sizeof(*ours));
	if (params)
		ww_try(ww_params_read(ours, sizeof(*ours), params, PARAMS_V1_BYTES,
			"ww_get_params"));
	if (ours->flags & ~(WW_GET_FROM_OWNER | WW_IMPORT_FLAGS) || ours->reserved)
		return ww_fail(WW_ERR_INVALID, "unknown flags 0x%" PRIx64 " for a get",
			ours->reserved ? (uint64_t)ours->reserved : ours->flags);
	ww_try(ww_import_options_init(out_options, ours->access, ours->flags));
	if (ours->owner && !(ours->flags & WW_GET_FROM_OWNER))
		return ww_fail(WW_ERR_INVALID,
			"an owner was named without WW_GET_FROM_OWNER; set the flag, or owner to 0");
	ours->access = out_options->access;
	return WW_OK;
}

ww_status ww_get_reply_ask_name(struct ww_get_reply *grant, struct ww_wire_get *message,
	const char *name, const struct ww_get_params *params, uint64_t timeout_ns,
	struct ww_broker **out_opened)
{
	ww_status status;

	message->access = (uint8_t)params->access;
	message->owner = params->owner;
	if (params->flags & WW_GET_FROM_OWNER)
		message->flags = WW_WIRE_GET_FLAG_FROM_OWNER;
	ww_get_reply_set_name(grant, message, name, timeout_ns);
	status = ww_choose_broker(&grant->broker, out_opened, timeout_ns);
	return status == WW_OK ? ww_get_reply_ask(grant) : status;
}
