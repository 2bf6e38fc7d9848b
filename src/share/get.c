/* SPDX-License-Identifier: Apache-2.0 */
/*
 * get.c - getting a memory from a broker, by its name
 */
#include <inttypes.h>
#include <string.h>

#include "base/cancel.h"
#include "base/error.h"
#include "base/params.h"
#include "base/process.h"
#include "share/choose_broker.h"
#include "share/get_reply.h"
#include "memory/view.h"
#include "wire/name.h"

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

ww_status ww_memory_get(ww_device *device, ww_broker *broker, const char *name,
	const struct ww_get_params *params, uint64_t timeout_ns, ww_cancel *cancel,
	ww_memory **out_memory, struct ww_object_info *info)
{
	WW_AUTO_CANCEL struct ww_cancel_scope scope = ww_cancel_enter(cancel);
	WW_AUTO_KEPT_BROKER struct ww_broker *opened = NULL;
	struct ww_wire_get message = {.flags = 0};
	WW_AUTO_GET_REPLY struct ww_get_reply grant;
	const struct ww_description *memory = &grant.description.memory;
	struct ww_import_options options;
	struct ww_object_info described;
	struct ww_get_params ours;
	ww_status status;

	ww_clear(out_memory, NULL);
	ww_get_reply_init(&grant, broker, WW_WIRE_GET, &message, WW_OBJECT_MEMORY);
	ww_try(ww_process_enter());
	ww_require(device && name && out_memory,
		"ww_memory_get: device, name or out_memory is NULL");
	ww_try(ww_get_params_read(params, &ours, &options));
	ww_try(ww_name_check(name));
	if (info)
		ww_try(ww_object_info_check(info));
	status = ww_get_reply_ask_name(&grant, &message, name, &ours, timeout_ns, &opened);
	if (status != WW_OK)
		return status;
	ww_try(ww_get_reply_map(&grant, device, &options, out_memory));
	ww_try(ww_memory_span(out_memory, memory->span_offset, memory->span_bytes, options.access));
	ww_object_info_of_grant(&grant.granted, &grant.description, grant.request.is_own,
		&described);
	return info ? ww_object_info_write(info, &described) : WW_OK;
}
