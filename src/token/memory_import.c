/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory_import.c - a memory by its token, which names an object of a broker or a slice of a pool
 */
#include "base/cancel.h"
#include "base/error.h"
#include "base/process.h"
#include "memory/import_cache.h"
#include "memory/view.h"
#include "pool/slice_import.h"
#include "share/object_info.h"
#include "token/memory_import.h"

/*
 * @out_memory: a reference to the whole that the token is known to open; else NULL
 * Return: WW_OK; as ww_memory_import().
 */
static ww_status recall(struct ww_device *device, struct ww_broker *broker,
	const struct ww_token_content *token, const struct ww_import_options *options,
	struct ww_memory **out_memory, struct ww_object_info *out_info)
{
	const struct ww_token_info *named = &token->info;
	struct ww_memory *memory;
	ww_status status;

	*out_memory = NULL;
	if (named->flags & WW_TOKEN_COUNTED || options->flags & WW_IMPORT_OWN_MAPPING)
		return WW_OK;
	for (size_t skip = 0;; skip++) {
		memory = ww_cache_find_id(device, named->object_id, options->access, skip);
		if (!memory)
			return WW_OK;
		/*
		 * Whether its owner has withdrawn it the broker alone can tell, where there is no
		 * page that says so.
		 */
		if (!(named->flags & WW_TOKEN_FOREIGN &&
			    memory->mapping->backing == WW_BACKING_CUDA_VMM) &&
			ww_hold_ref_knows(&memory->attachments, broker, named, token->secret,
				options->access, out_info))
			break;
		ww_memory_unref(memory);
	}
	status = ww_memory_check_found(memory, options);
	if (status == WW_OK)
		status = ww_import_check_bytes(named, memory->description.bytes);
	if (status < 0)
		ww_memory_unref(memory);
	else
		*out_memory = memory;
	return status;
}

static ww_status ask(struct ww_device *device, struct ww_broker *broker,
	const struct ww_token_content *token, const struct ww_import_options *options,
	struct ww_memory **out_memory, struct ww_object_info *out_info)
{
	const struct ww_token_info *named = &token->info;
	WW_AUTO_IMPORT struct ww_import import;
	const struct ww_get_reply *grant = &import.grant;
	ww_status status;

	ww_import_init(&import, WW_OBJECT_MEMORY, options->access);
	status = ww_import_ask_read(&import, broker, token);
	if (status == WW_ERR_NOT_FOUND && !import.is_astray && named->flags & WW_TOKEN_FOREIGN)
		return ww_fail(WW_ERR_NOT_FOUND,
			"the token is of memory that was wrapped, and its owner has released it or has "
			"ended; ask for a new token");
	ww_try(status);
	ww_try(ww_import_check_bytes(named, grant->description.memory.bytes));
	ww_try(ww_hold_ref_prepare(grant->hold_ref));
	ww_try(ww_get_reply_map(&import.grant, device, options, out_memory));
	ww_object_info_of_grant(&grant->granted, &grant->description, grant->request.is_own,
		out_info);
	ww_hold_ref_learn(&(*out_memory)->attachments, grant->broker, named,
		ww_import_secret(&import), options->access, out_info);
	return WW_OK;
}

ww_status ww_import_memory(struct ww_device *device, struct ww_broker *broker,
	const struct ww_token_content *token, const struct ww_import_options *options,
	struct ww_memory **out_memory, struct ww_object_info *info)
{
	const struct ww_token_info *named = &token->info;
	struct ww_object_info ours;
	struct ww_memory *memory;

	ww_try(ww_import_check(named, WW_OBJECT_MEMORY, options->access));
	ww_try(recall(device, broker, token, options, &memory, info ? &ours : NULL));
	if (memory)
		ours.access = options->access;
	else
		ww_try(ask(device, broker, token, options, &memory, &ours));
	ww_try(ww_memory_span(&memory, named->offset, named->bytes, options->access));
	*out_memory = memory;
	return info ? ww_import_write_info(named, &ours, info) : WW_OK;
}

ww_status ww_memory_import(ww_device *device, ww_broker *broker, const struct ww_token *token,
	const struct ww_import_params *params, ww_cancel *cancel, ww_memory **out_memory,
	struct ww_object_info *info)
{
	WW_AUTO_CANCEL struct ww_cancel_scope scope = ww_cancel_enter(cancel);
	struct ww_token_content content;
	struct ww_import_options options;

	ww_clear(out_memory, NULL);
	ww_try(ww_process_enter());
	ww_require(device && token && out_memory,
		"ww_memory_import: device, token or out_memory is NULL");
	ww_try(ww_import_options_read(params, &options));
	if (info)
		ww_try(ww_object_info_check(info));
	ww_try(ww_token_read(token, &content));
	ww_members_reclaim();
	if (content.info.flags & WW_TOKEN_SLICE)
		return ww_slice_import(device, broker, &content, &options, true, out_memory, info);
	return ww_import_memory(device, broker, &content, &options, out_memory, info);
}
