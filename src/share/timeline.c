/* SPDX-License-Identifier: Apache-2.0 */
/*
 * timeline.c - timelines between processes: by token and by name
 */
#include "base/cancel.h"
#include "base/error.h"
#include "base/process.h"
#include "share/call_limit.h"
#include "share/choose_broker.h"
#include "share/token_import.h"
#include "share/sync_object.h"
#include "wire/name.h"

static ww_status export_timeline(ww_timeline *timeline, ww_broker *broker,
	const struct ww_escrow *escrow, struct ww_token *out_token)
{
	const struct ww_signal_map *page = timeline->page;
	struct ww_token_info info = {
		.struct_size = sizeof(info),
		.kind = WW_OBJECT_TIMELINE,
		.access = WW_ACCESS_READ,
		.offset = timeline->offset,
		.bytes = sizeof(struct ww_layout_signal_cell),
		.total_bytes = page->cpu->bytes,
	};

	ww_try(ww_sync_object_hold(timeline, broker, info.object_id));
	return ww_export_object(broker, &info, escrow, out_token);
}

ww_status ww_timeline_export(ww_timeline *timeline, ww_broker *broker,
	const struct ww_token_params *params, ww_cancel *cancel, struct ww_token *out_token)
{
	WW_AUTO_CANCEL struct ww_cancel_scope scope = ww_cancel_enter(cancel);
	WW_AUTO_BROKER struct ww_broker *opened = NULL;
	struct ww_escrow escrow;

	ww_try(ww_process_enter());
	ww_require(timeline && out_token, "ww_timeline_export: timeline or out_token is NULL");
	ww_try(ww_ref_check(&timeline->ref, "a timeline"));
	ww_try(ww_sync_object_read_token(params, &escrow));
	ww_try(ww_choose_broker(&broker, &opened, 0));
	return export_timeline(timeline, broker, &escrow, out_token);
}

ww_status ww_timeline_import(ww_broker *broker, const struct ww_token *token, ww_cancel *cancel,
	ww_timeline **out_timeline)
{
	WW_AUTO_CANCEL struct ww_cancel_scope scope = ww_cancel_enter(cancel);
	WW_AUTO_IMPORT struct ww_import import;

	ww_clear(out_timeline, NULL);
	ww_import_init(&import, WW_OBJECT_TIMELINE, WW_ACCESS_READ);
	ww_try(ww_process_enter());
	ww_require(token && out_timeline, "ww_timeline_import: token or out_timeline is NULL");
	ww_try(ww_import_ask(&import, broker, token));
	if (import.token.offset == 0)
		return ww_fail(WW_ERR_MISMATCH,
			"the token names a page of timelines, but none of them");
	return ww_sync_object_open_timeline(&import.grant, import.token.offset, out_timeline);
}

ww_status ww_timeline_put(ww_timeline *timeline, ww_broker *broker, const char *name,
	const struct ww_name_params *params, ww_cancel *cancel)
{
	WW_AUTO_CANCEL struct ww_cancel_scope scope = ww_cancel_enter(cancel);
	WW_AUTO_BROKER struct ww_broker *opened = NULL;
	struct ww_name_params ours;

	ww_try(ww_process_enter());
	ww_require(timeline && name, "ww_timeline_put: timeline or name is NULL");
	ww_try(ww_ref_check(&timeline->ref, "a timeline"));
	ww_try(ww_sync_object_read_name(params, &ours));
	ww_try(ww_name_check(name));
	ww_try(ww_choose_broker(&broker, &opened, 0));
	return ww_sync_object_timeline(timeline, broker, name, &ours);
}

ww_status ww_timeline_get(ww_broker *broker, const char *name, uint64_t timeout_ns,
	ww_cancel *cancel, ww_timeline **out_timeline)
{
	WW_AUTO_CANCEL struct ww_cancel_scope scope = ww_cancel_enter(cancel);
	WW_AUTO_KEPT_BROKER struct ww_broker *opened = NULL;
	WW_AUTO_GET_REPLY struct ww_get_reply grant;
	struct ww_wire_get message = {.access = WW_WIRE_ACCESS_READ};
	struct ww_call_limit limit;
	ww_status status;

	ww_clear(out_timeline, NULL);
	ww_get_reply_init(&grant, broker, WW_WIRE_GET, &message, WW_OBJECT_TIMELINE);
	ww_try(ww_process_enter());
	ww_require(name && out_timeline, "ww_timeline_get: name or out_timeline is NULL");
	ww_try(ww_name_check(name));
	ww_call_limit_begin(&limit, timeout_ns);
	ww_get_reply_set_name(&grant, &message, name, timeout_ns);
	status = ww_choose_broker(&grant.broker, &opened, 0);
	if (status == WW_OK)
		status = ww_sync_object_require_broker(grant.broker);
	if (status == WW_OK)
		status = ww_get_reply_ask(&grant);
	if (status == WW_OK)
		status = ww_sync_object_open_timeline(&grant, 0, out_timeline);
	return ww_call_limit_end(&limit, status);
}
