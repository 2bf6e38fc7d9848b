/* SPDX-License-Identifier: Apache-2.0 */
/*
 * object_memory.c - an object's memory, by its name or by a token
 */
#include "warpway/object_memory.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "warpway/open_broker.h"
#include "warpway/format.h"
#include "warpway/object_view.h"

static ww_status reach_on(const struct reach *reach, ww_broker *broker, const char *device_name,
	ww_memory **out_memory, struct ww_object_info *out_object)
{
	OWN(device) ww_device *device = NULL;
	ww_status status = ww_device_open(device_name, &device);

	if (status != WW_OK)
		return status;
	if (reach->token)
		return ww_memory_import(device, broker, reach->token,
			WW_PARAMS(struct ww_import_params, .access = reach->params.access), NULL,
			out_memory, out_object);
	return ww_memory_get(device, broker, reach->name, &reach->params, reach->timeout_ns, NULL,
		out_memory, out_object);
}

/* What is it, and which device holds it? */
static ww_status find_home(const struct reach *reach, ww_broker *broker, uint32_t *out_kind,
	uint8_t out_uuid[WW_DEVICE_UUID_BYTES])
{
	struct ww_object_info object = WW_INIT(struct ww_object_info);
	struct ww_token_info token = WW_INIT(struct ww_token_info);
	ww_status status;

	if (reach->token)
		status = ww_token_info_get(reach->token, &token);
	else
		status = ww_broker_stat(broker, reach->name, &object);
	*out_kind = reach->token ? token.kind : object.kind;
	memcpy(out_uuid, reach->token ? token.home_uuid : object.home_uuid, WW_DEVICE_UUID_BYTES);
	return status;
}

/* By the device that holds it, which is not the CPU. */
static ww_status reach_at_home(const struct reach *reach, ww_broker *broker, ww_memory **out_memory,
	struct ww_object_info *out_object)
{
	uint8_t home[WW_DEVICE_UUID_BYTES];
	char uuid[FORMAT_UUID_BYTES];
	char device_name[FORMAT_UUID_BYTES + 8];
	uint32_t kind;
	ww_status status = find_home(reach, broker, &kind, home);

	if (status != WW_OK)
		return status;
	if (kind != WW_OBJECT_MEMORY) /* the record says so already */
		return WW_ERR_UNSUPPORTED;
	format_uuid(home, uuid);
	snprintf(device_name, sizeof(device_name), "cuda:%s", uuid);
	return reach_on(reach, broker, device_name, out_memory, out_object);
}

/*
 * An attempt that fails counts as a use of the token as well, so there is one only, by the device
 * that it says.
 */
static bool must_go_home(const struct reach *reach)
{
	struct ww_token_info token = WW_INIT(struct ww_token_info);
	struct view view = {.name_count = 0};

	if (!reach->token || ww_token_info_get(reach->token, &token) != WW_OK ||
		!(token.flags & WW_TOKEN_COUNTED))
		return false;
	view_init(&view);
	return memcmp(token.home_uuid, view.host_uuid, sizeof(view.host_uuid)) != 0;
}

int reach_memory(const struct reach *reach, ww_broker *broker, ww_memory **out_memory,
	struct ww_object_info *out_object)
{
	const char *first = reach->device_name ? reach->device_name : "host";
	ww_status status = WW_ERR_UNSUPPORTED;

	if (reach->device_name || !must_go_home(reach))
		status = reach_on(reach, broker, first, out_memory, out_object);
	if (status == WW_ERR_UNSUPPORTED && !reach->device_name)
		status = reach_at_home(reach, broker, out_memory, out_object);
	if (status == WW_OK)
		return 0;
	if (status == WW_TIMED_OUT)
		return complain("cannot get %s: it was not there and ready in time", reach->name);
	return broker_fail(status, "cannot get %s", reach->name);
}
