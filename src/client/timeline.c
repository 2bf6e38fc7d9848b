/* SPDX-License-Identifier: Apache-2.0 */
/*
 * timeline.c - timelines between processes: by token and by name
 */
#include "base/error.h"
#include "base/process.h"
#include "client/import.h"
#include "client/share.h"
#include "wire/name.h"

static ww_status export_timeline(ww_timeline *timeline, ww_broker *broker,
	const struct ww_share_params *params, struct ww_token *out_token)
{
	const struct ww_page *page = timeline->page;
	const struct ww_escrow escrow = ww_share_escrow(params);
	struct ww_token_info info = {
		.size = sizeof(info),
		.kind = WW_OBJECT_TIMELINE,
		.access = WW_ACCESS_READ,
		.offset = timeline->offset,
		.bytes = sizeof(struct ww_layout_signal_cell),
		.total_bytes = page->cpu->bytes,
	};

	ww_try(ww_share_hold(timeline, broker, info.object_id));
	return ww_export_object(broker, &info, &escrow, out_token);
}

ww_status ww_timeline_export(ww_timeline *timeline, ww_broker *broker,
	const struct ww_share_params *params, struct ww_token *out_token)
{
	WW_AUTO_BROKER struct ww_broker *opened = NULL;
	struct ww_share_params ours;

	ww_try(ww_process_enter());
	ww_require(timeline && out_token, "ww_timeline_export: timeline or out_token is NULL");
	ww_try(ww_share_read(params, false, &ours));
	ww_try(ww_share_choose_broker(&broker, &opened));
	return export_timeline(timeline, broker, &ours, out_token);
}

ww_status ww_timeline_import(ww_broker *broker, const struct ww_token *token,
	ww_timeline **out_timeline)
{
	WW_AUTO_IMPORT struct ww_import import;

	ww_clear(out_timeline, NULL);
	ww_import_init(&import, WW_OBJECT_TIMELINE, WW_ACCESS_READ);
	ww_try(ww_process_enter());
	ww_require(token && out_timeline, "ww_timeline_import: token or out_timeline is NULL");
	ww_try(ww_import_ask(&import, broker, token));
	if (import.token.offset == 0)
		return ww_fail(WW_ERR_MISMATCH,
			"the token names a page of timelines, but none of them");
	return ww_share_open_timeline(&import.grant, import.token.offset, out_timeline);
}

ww_status ww_timeline_put(ww_timeline *timeline, ww_broker *broker, const char *name,
	const struct ww_share_params *params)
{
	struct ww_share_params ours;

	ww_try(ww_process_enter());
	ww_require(timeline && broker && name, "ww_timeline_put: timeline, broker or name is NULL");
	ww_try(ww_share_read(params, true, &ours));
	ww_try(ww_name_check(name));
	return ww_share_timeline(timeline, broker, name, &ours);
}

ww_status ww_timeline_get(ww_broker *broker, const char *name, uint64_t timeout_ns,
	ww_timeline **out_timeline)
{
	WW_AUTO_GRANT struct ww_grant grant;
	struct ww_wire_get message = {.flags = 0};
	ww_status status;

	ww_clear(out_timeline, NULL);
	ww_grant_init(&grant, broker, WW_WIRE_GET, &message, WW_OBJECT_TIMELINE);
	ww_try(ww_process_enter());
	ww_require(broker && name && out_timeline,
		"ww_timeline_get: broker, name or out_timeline is NULL");
	ww_try(ww_name_check(name));
	ww_try(ww_share_require_broker(broker));
	status = ww_grant_ask_name(&grant, &message, name, timeout_ns);
	if (status != WW_OK)
		return status;
	return ww_share_open_timeline(&grant, 0, out_timeline);
}
