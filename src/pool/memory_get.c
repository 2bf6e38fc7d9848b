/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory_get.c - getting a memory from a broker, by its name: an object, or a slice of a pool
 *
 * A name of a slice grants the pool's object and a secret of it. So the slice is imported as by a
 * token, but not counted as an import of one. Between the grant and the import the name may pass to
 * another slice, and this one be free: then the name is asked for again.
 */
#include "base/cancel.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/process.h"
#include "memory/view.h"
#include "pool/memory_import.h"
#include "share/choose_broker.h"
#include "wire/name.h"

/* What one get asks for, and gets. */
struct get {
	struct ww_device *device;
	struct ww_broker *broker; /* NULL: the default one */
	const char *name;
	const struct ww_get_params *params;
	const struct ww_import_options *options;
	struct ww_memory *memory; /* got */
	struct ww_object_info info;
	uint64_t part; /* number of the slice that was granted; 0: none */
};

static ww_status get_slice(const struct ww_get_reply *grant, struct get *get)
{
	struct ww_token_content token;

	if (get->options->access > grant->granted.access)
		return ww_fail(WW_ERR_ACCESS, "the broker granted reading only");
	ww_try(ww_named_slice_token(grant, &token));
	return ww_slice_import(get->device, grant->broker, &token, get->options, false,
		&get->memory, NULL);
}

static ww_status get_once(struct get *get, uint64_t timeout_ns)
{
	WW_AUTO_KEPT_BROKER struct ww_broker *opened = NULL;
	struct ww_wire_get message = {.flags = 0};
	WW_AUTO_GET_REPLY struct ww_get_reply grant;
	const struct ww_description *memory = &grant.description.memory;
	ww_status status;

	get->part = 0;
	ww_get_reply_init(&grant, get->broker, WW_WIRE_GET, &message, WW_OBJECT_MEMORY);
	grant.takes_slices = true;
	status = ww_get_reply_ask_name(&grant, &message, get->name, get->params, timeout_ns,
		&opened);
	if (status != WW_OK)
		return status;
	get->part = grant.granted.part;
	if (get->part) {
		ww_try(get_slice(&grant, get));
	} else {
		ww_try(ww_get_reply_map(&grant, get->device, get->options, &get->memory));
		ww_try(ww_memory_span(&get->memory, memory->span_offset, memory->span_bytes,
			get->options->access));
	}
	ww_object_info_of_grant(&grant.granted, &grant.description, grant.request.is_own,
		&get->info);
	return WW_OK;
}

ww_status ww_memory_get(ww_device *device, ww_broker *broker, const char *name,
	const struct ww_get_params *params, uint64_t timeout_ns, ww_cancel *cancel,
	ww_memory **out_memory, struct ww_object_info *info)
{
	WW_AUTO_CANCEL struct ww_cancel_scope scope = ww_cancel_enter(cancel);
	struct ww_import_options options;
	struct ww_get_params ours;
	struct get get = {device, broker, name, &ours, &options, .part = 0};
	struct ww_slice_tries tries;
	ww_status status;

	ww_clear(out_memory, NULL);
	ww_try(ww_process_enter());
	ww_require(device && name && out_memory,
		"ww_memory_get: device, name or out_memory is NULL");
	ww_try(ww_get_params_read(params, &ours, &options));
	ww_try(ww_name_check(name));
	if (info)
		ww_try(ww_object_info_check(info));
	ww_members_reclaim();
	ww_slice_tries_begin(&tries, timeout_ns);
	do {
		status = get_once(&get, ww_slice_tries_left_ns(&tries));
	} while (ww_slice_tries_go_on(&tries, status, get.part));
	if (status == WW_ERR_NOT_FOUND && get.part)
		return ww_fail_slice_name(name);
	if (status != WW_OK)
		return status;
	*out_memory = get.memory;
	return info ? ww_object_info_write(info, &get.info) : WW_OK;
}
