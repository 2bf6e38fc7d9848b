/* SPDX-License-Identifier: Apache-2.0 */
/*
 * get.c - getting a memory from a broker, by its name
 */
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/params.h"
#include "base/process.h"
#include "client/grant.h"
#include "wire/name.h"

#define PARAMS_V1_BYTES sizeof(struct ww_get_params)

static ww_status read_params(const struct ww_get_params *params, struct ww_get_params *ours)
{
	memset(ours, 0, sizeof(*ours));
	if (params)
		ww_try(ww_params_read(ours, sizeof(*ours), params, PARAMS_V1_BYTES,
			"ww_get_params"));
	if ((ours->access & ~WW_STRICT) == 0)
		ours->access |= WW_ACCESS_READ;
	ww_try(ww_memory_read_access(ours->access, NULL));
	if (ours->flags & ~WW_GET_FROM_OWNER || ours->reserved)
		return ww_fail(WW_ERR_INVALID, "unknown flags 0x%" PRIx64 " for a get",
			ours->reserved ? (uint64_t)ours->reserved : ours->flags);
	if (ours->owner && !(ours->flags & WW_GET_FROM_OWNER))
		return ww_fail(WW_ERR_INVALID,
			"an owner was named without WW_GET_FROM_OWNER; set the flag, or owner to 0");
	return WW_OK;
}

static void fill_message(struct ww_wire_get *message, const char *name,
	const struct ww_get_params *params)
{
	message->access = (uint8_t)(params->access & ~WW_STRICT);
	message->owner = params->owner;
	if (params->flags & WW_GET_FROM_OWNER)
		message->flags |= WW_WIRE_GET_FLAG_FROM_OWNER;
	if (params->timeout_ns > 0)
		message->flags |= WW_WIRE_GET_FLAG_WAIT;
	memcpy(message->name, name, strlen(name));
}

ww_status ww_memory_get(ww_device *device, ww_broker *broker, const char *name,
	const struct ww_get_params *params, ww_memory **out_memory, struct ww_object_info *info)
{
	struct ww_wire_get message = {.flags = 0};
	WW_AUTO_GRANT struct ww_grant grant;
	struct ww_object_info described;
	struct ww_get_params ours;
	ww_status status;

	ww_clear(out_memory, NULL);
	ww_grant_init(&grant, broker, WW_WIRE_GET, &message, WW_OBJECT_MEMORY);
	ww_try(ww_process_enter());
	ww_require(device && broker && name && out_memory,
		"ww_memory_get: device, broker, name or out_memory is NULL");
	ww_try(read_params(params, &ours));
	ww_try(ww_name_check(name));
	if (info)
		ww_try(ww_object_info_check(info));
	fill_message(&message, name, &ours);
	grant.request.waits = ours.timeout_ns > 0;
	/* Not to wait for the name is not to hurry the broker. */
	grant.request.limit_ns = ours.timeout_ns > 0 ? ww_clock_deadline_ns(ours.timeout_ns)
						     : WW_NEVER;
	status = ww_grant_ask(&grant);
	if (status != WW_OK)
		return status;
	ww_try(ww_grant_map(&grant, device, ours.access, out_memory));
	ww_try(ww_memory_narrow(out_memory, ours.access));
	ww_object_info_of_grant(&grant.granted, &grant.description, grant.request.is_own,
		&described);
	return info ? ww_object_info_write(info, &described) : WW_OK;
}
