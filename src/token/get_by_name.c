/* SPDX-License-Identifier: Apache-2.0 */
/*
 * get_by_name.c - what a name leads to in a broker: an object or a slice of a pool, which becomes a
 * memory, or is held without a mapping
 *
 * A name of a slice grants the pool's object and a secret of it. So the slice is imported as by a
 * token, but not counted as an import of one. Between the grant and the import the name may pass to
 * another slice, and this one be free: then the name is asked for again.
 */
#include <inttypes.h>
#include <string.h>

#include "base/cancel.h"
#include "base/error.h"
#include "base/params.h"
#include "base/process.h"
#include "memory/view.h"
#include "pool/slice_import.h"
#include "share/choose_broker.h"
#include "token/held_object.h"
#include "wire/name.h"

#define PARAMS_V1_BYTES sizeof(struct ww_get_params)

/* What one get asks for, and gets. */
struct get {
	struct ww_device *device; /* NULL: it is held, and not mapped */
	struct ww_broker *broker; /* NULL: the default one */
	const char *name;
	struct ww_get_params params;
	struct ww_import_options options;
	struct ww_memory *memory; /* got, with a device */
	struct ww_object *object; /* got, without one */
	struct ww_object_info info;
	uint64_t part; /* number of the slice that was granted; 0: none */
};

static ww_status read_params(const struct ww_get_params *params, struct get *get)
{
	struct ww_get_params *ours = &get->params;

	if (params)
		ww_try(ww_params_read(ours, sizeof(*ours), params, PARAMS_V1_BYTES,
			"ww_get_params"));
	if (ours->flags & ~(WW_GET_FROM_OWNER | WW_IMPORT_FLAGS) || ours->reserved)
		return ww_fail(WW_ERR_INVALID, "unknown flags 0x%" PRIx64 " for a get",
			ours->reserved ? (uint64_t)ours->reserved : ours->flags);
	ww_try(ww_import_options_init(&get->options, ours->access, ours->flags));
	if (ours->owner && !(ours->flags & WW_GET_FROM_OWNER))
		return ww_fail(WW_ERR_INVALID,
			"an owner was named without WW_GET_FROM_OWNER; set the flag, or owner to 0");
	return WW_OK;
}

/*
 * What a token would say of what was granted. A slice counts as passed on: the token opens it as
 * long as it has its number.
 */
static ww_status granted_token(const struct ww_get_reply *grant, struct ww_token_content *out_token)
{
	const struct ww_wire_granted *granted = &grant->granted;
	const struct ww_description *memory = &grant->description.memory;
	struct ww_token_info *info = &out_token->info;
	struct ww_token unused; /* made, since that checks what it says */

	*info = (struct ww_token_info){
		.kind = WW_OBJECT_MEMORY,
		.flags = granted->part ? WW_TOKEN_SLICE | WW_TOKEN_PASSED : 0,
		.access = granted->access,
		.slice = granted->part,
		.offset = memory->span_offset,
		.bytes = memory->span_bytes ? memory->span_bytes : memory->bytes,
		.total_bytes = memory->bytes,
		.generation = granted->generation,
		.has_array = grant->description.has_array,
		.array = grant->description.array,
	};
	memcpy(info->object_id, granted->id, sizeof(info->object_id));
	memcpy(info->home_uuid, memory->home_uuid, sizeof(info->home_uuid));
	ww_broker_client_peer(grant->broker, info->broker_id, &info->broker_uid);
	memcpy(info->address, grant->broker->address.path, sizeof(info->address));
	memcpy(out_token->secret, granted->secret, sizeof(out_token->secret));
	return ww_token_make(info, out_token->secret, &unused);
}

static ww_status take_grant(struct get *get, struct ww_get_reply *grant)
{
	const struct ww_description *memory = &grant->description.memory;
	struct ww_token_content token;

	if (get->device && !get->part) {
		ww_try(ww_get_reply_map(grant, get->device, &get->options, &get->memory));
		return ww_memory_span(&get->memory, memory->span_offset, memory->span_bytes,
			get->options.access);
	}
	ww_try(granted_token(grant, &token));
	if (get->device)
		return ww_slice_import(get->device, grant->broker, &token, &get->options, false,
			&get->memory, NULL);
	token.info.access = get->options.access;
	return ww_object_take_grant(grant, &token, &get->object);
}

static ww_status get_once(struct get *get, uint64_t timeout_ns)
{
	WW_AUTO_KEPT_BROKER struct ww_broker *opened = NULL;
	struct ww_wire_get message = {
		.access = (uint8_t)get->options.access,
		.owner = get->params.owner,
		.flags = get->params.flags & WW_GET_FROM_OWNER ? WW_WIRE_GET_FLAG_FROM_OWNER : 0,
	};
	WW_AUTO_GET_REPLY struct ww_get_reply grant;
	ww_status status;

	get->part = 0;
	ww_get_reply_init(&grant, get->broker, WW_WIRE_GET, &message, WW_OBJECT_MEMORY);
	grant.takes_slices = true;
	ww_get_reply_set_name(&grant, &message, get->name, timeout_ns);
	status = ww_choose_broker(&grant.broker, &opened, timeout_ns);
	if (status == WW_OK)
		status = ww_get_reply_ask(&grant);
	if (status != WW_OK)
		return status;
	get->part = grant.granted.part;
	if (get->options.access > grant.granted.access)
		return ww_fail(WW_ERR_ACCESS, "the broker granted reading only");
	ww_object_info_of_grant(&grant.granted, &grant.description, grant.request.is_own,
		&get->info);
	return take_grant(get, &grant);
}

static ww_status get_by_name(struct get *get, uint64_t timeout_ns,
	const struct ww_object_info *info)
{
	struct ww_slice_tries tries;
	ww_status status;

	ww_try(ww_name_check(get->name));
	if (info)
		ww_try(ww_object_info_check(info));
	ww_members_reclaim();
	ww_slice_tries_begin(&tries, timeout_ns);
	do {
		status = get_once(get, ww_slice_tries_left_ns(&tries));
	} while (ww_slice_tries_go_on(&tries, status, get->part));
	if (status == WW_ERR_NOT_FOUND && get->part)
		return ww_fail(WW_ERR_NOT_FOUND,
			"'%.100s' leads to no slice: its pool is ending or was ended, or its owner revoked "
			"tokens while the broker was away; if it stays so, have its owner put it anew, from a "
			"new pool",
			get->name);
	return status;
}

ww_status ww_memory_get(ww_device *device, ww_broker *broker, const char *name,
	const struct ww_get_params *params, uint64_t timeout_ns, ww_cancel *cancel,
	ww_memory **out_memory, struct ww_object_info *info)
{
	WW_AUTO_CANCEL struct ww_cancel_scope scope = ww_cancel_enter(cancel);
	struct get get = {.device = device, .broker = broker, .name = name};
	ww_status status;

	ww_clear(out_memory, NULL);
	ww_try(ww_process_enter());
	ww_require(device && name && out_memory,
		"ww_memory_get: device, name or out_memory is NULL");
	ww_try(read_params(params, &get));
	status = get_by_name(&get, timeout_ns, info);
	if (status != WW_OK)
		return status;
	*out_memory = get.memory;
	return info ? ww_object_info_write(info, &get.info) : WW_OK;
}

ww_status ww_object_get(ww_broker *broker, const char *name, const struct ww_get_params *params,
	uint64_t timeout_ns, ww_cancel *cancel, ww_object **out_object, struct ww_object_info *info)
{
	WW_AUTO_CANCEL struct ww_cancel_scope scope = ww_cancel_enter(cancel);
	struct get get = {.broker = broker, .name = name};
	ww_status status;

	ww_clear(out_object, NULL);
	ww_try(ww_process_enter());
	ww_require(name && out_object, "ww_object_get: name or out_object is NULL");
	ww_try(read_params(params, &get));
	if (get.params.flags & ~WW_GET_FROM_OWNER)
		return ww_fail(WW_ERR_INVALID,
			"ww_object_get() maps nothing, so it takes no flags WW_IMPORT_...");
	status = get_by_name(&get, timeout_ns, info);
	if (status != WW_OK)
		return status;
	*out_object = get.object;
	return info ? ww_object_info_write(info, &get.info) : WW_OK;
}
