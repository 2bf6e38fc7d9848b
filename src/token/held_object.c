/* SPDX-License-Identifier: Apache-2.0 */
/*
 * held_object.c - the hold that a token promises, without a mapping; and its memory, mapped later
 *
 * Of an object of a broker it is one count of the hold, as a memory would have. Of a slice of
 * another process's pool it is a use of the slice, which is marked as an imported one is, and a
 * hold of the chunk, so that it can be mapped later though the owner has ended. Of a slice of this
 * process's own pool it is the slice itself.
 *
 * To map it is no import: a broker counts an import only of a process that does not hold the object
 * yet, and slices are counted here and not there. A process that holds an object may ask for its
 * present secret, so a revocation does not prevent it either; and so a memory that was had by its
 * name is like one that was imported.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cancel.h"
#include "base/error.h"
#include "base/process.h"
#include "pool/owner/slice.h"
#include "pool/slice_import.h"
#include "share/sync_object.h"
#include "token/held_object.h"
#include "token/memory_import.h"

#define REVOCATIONS 4 /* that a map meets at most: each takes its maker a round trip */

struct ww_object {
	struct ww_ref ref;
	struct ww_token_content token; /* that it came by */
	struct ww_broker *broker;      /* of an object of a broker: a reference */
	struct ww_attachments holds;
	struct ww_member *
		/* of a slice of another's pool: counted in its users, and the slice in its marks */
		member;
	struct ww_memory *slice; /* of a slice of an own pool: a reference */
};

static void object_free(struct ww_object *object)
{
	if (!object)
		return;
	if (object->member)
		ww_member_let_go(object->member, object->token.info.slice);
	ww_attachments_fini(&object->holds);
	ww_memory_unref(object->slice);
	ww_broker_unref(object->broker);
	free(object);
}

WW_DEFINE_CLEANUP(struct ww_object, object_free)

static ww_status object_new(struct ww_object **out_object)
{
	*out_object = calloc(1, sizeof(**out_object));
	if (!*out_object)
		return ww_fail(WW_ERR_NO_MEMORY, "cannot hold an object: out of memory");
	ww_ref_init(&(*out_object)->ref);
	return WW_OK;
}

/* --- import --- */

/* With the access of the token; if the memory was sealed meanwhile, for reading. */
static ww_status object_ask(struct ww_token_content *token, struct ww_import *import,
	struct ww_broker *broker)
{
	struct ww_token_info *named = &token->info;
	ww_status status = ww_import_ask_read(import, broker, token);

	if (status != WW_ERR_ACCESS || named->kind != WW_OBJECT_MEMORY ||
		named->access == WW_ACCESS_READ)
		return status;
	named->access = WW_ACCESS_READ;
	ww_import_fini(import);
	ww_import_init(import, WW_OBJECT_MEMORY, named->access);
	return ww_import_ask_read(import, broker, token);
}

static ww_status object_take(struct ww_object *object, struct ww_broker *broker,
	struct ww_object_info *info)
{
	struct ww_token_info *named = &object->token.info;
	WW_AUTO_IMPORT struct ww_import import;
	struct ww_get_reply *grant = &import.grant;
	struct ww_object_info ours;

	ww_import_init(&import, (uint16_t)named->kind, named->access);
	if (named->kind == WW_OBJECT_POOL)
		return ww_fail(WW_ERR_UNSUPPORTED,
			"the token names a pool, which only ww_pool_import() takes");
	ww_try(object_ask(&object->token, &import, broker));
	if (named->kind == WW_OBJECT_MEMORY)
		ww_try(ww_import_check_bytes(named, grant->description.memory.bytes));
	else
		memset(&grant->description, 0, sizeof(grant->description));
	ww_object_info_of_grant(&grant->granted, &grant->description, grant->request.is_own, &ours);
	if (info)
		ww_try(ww_import_write_info(named, &ours, info));
	memcpy(object->token.secret, ww_import_secret(&import), sizeof(object->token.secret));
	object->broker = ww_broker_ref(grant->broker);
	ww_get_reply_keep(grant, &object->holds);
	return WW_OK;
}

/* @is_import: whether that counts as an import by the token; else it was had by its name */
static ww_status object_take_slice(struct ww_object *object, struct ww_broker *broker,
	bool is_import, struct ww_object_info *info)
{
	const struct ww_token_info *named = &object->token.info;
	WW_AUTO_POOL struct ww_pool *pool = ww_pool_find(named->object_id);
	const struct ww_import_options options = {.access = named->access};
	uint32_t memory_kind;

	if (pool)
		return ww_slice_import(pool->device, broker, &object->token, &options, is_import,
			&object->slice, info);
	ww_try(ww_member_hold(broker, &object->token, is_import, &object->holds, &object->member,
		&memory_kind));
	if (!info)
		return WW_OK;
	return ww_slice_token_describe(named, named->access, memory_kind, false, info);
}

ww_status ww_object_import(ww_broker *broker, const struct ww_token *token, ww_cancel *cancel,
	ww_object **out_object, struct ww_object_info *info)
{
	WW_AUTO_CANCEL struct ww_cancel_scope scope = ww_cancel_enter(cancel);
	WW_CLEANUP(object_free_p) struct ww_object *object = NULL;

	ww_clear(out_object, NULL);
	ww_try(ww_process_enter());
	ww_require(token && out_object, "ww_object_import: token or out_object is NULL");
	if (info)
		ww_try(ww_object_info_check(info));
	ww_try(object_new(&object));
	ww_try(ww_token_read(token, &object->token));
	ww_members_reclaim();
	if (object->token.info.flags & WW_TOKEN_SLICE)
		ww_try(object_take_slice(object, broker, true, info));
	else
		ww_try(object_take(object, broker, info));
	*out_object = ww_steal(object);
	return WW_OK;
}

ww_object *ww_object_ref(ww_object *object)
{
	if (object)
		ww_ref_get(&object->ref);
	return object;
}

ww_object *ww_object_unref(ww_object *object)
{
	if (object && ww_ref_put(&object->ref))
		object_free(object);
	return NULL;
}

/* --- map --- */

/*
 * The present secret of the object that is held: the broker tells it to a holder. By then another
 * object may have the id.
 */
static ww_status object_token(const struct ww_object *object, const struct ww_escrow *escrow,
	struct ww_token_content *token)
{
	const struct ww_token_info *named = &token->info;
	const struct ww_token_info *held = &object->token.info;

	ww_try(ww_export_content(object->broker, token, escrow));
	if (named->generation != held->generation ||
		memcmp(named->broker_id, held->broker_id, sizeof(held->broker_id)) != 0)
		return ww_fail(WW_ERR_NOT_FOUND,
			"the object that is held has left its broker; another one has its id");
	return WW_OK;
}

/*
 * The broker refuses the secret if tokens were revoked, which may happen again meanwhile. An object
 * that was sealed meanwhile is refused for writing by either call.
 */
static ww_status map_held(struct ww_object *object, struct ww_device *device,
	const struct ww_import_options *options, struct ww_memory **out_memory)
{
	const struct ww_escrow none = {.ns = WW_ESCROW_NONE};
	struct ww_token_content token = object->token;
	struct ww_broker *broker = object->broker;
	struct ww_error record;
	ww_status status;

	ww_error_save(&record);
	/* A hold that the broker lost is not taken anew, since that would count as an import. */
	if (ww_broker_client_ensure(broker, false) == WW_OK &&
		!ww_hold_ref_is_held(&object->holds, broker))
		return ww_fail(WW_ERR_NOT_FOUND,
			"the broker at %s has lost the object that is held", broker->address.path);
	token.info.flags &= ~WW_TOKEN_COUNTED;
	status = ww_import_memory(device, broker, &token, options, out_memory, NULL);
	for (int tries = 0; status == WW_ERR_ACCESS && tries < REVOCATIONS; tries++) {
		token.info.access = options->access;
		ww_try(object_token(object, &none, &token));
		status = ww_import_memory(device, broker, &token, options, out_memory, NULL);
	}
	if (status == WW_OK)
		ww_error_restore(&record);
	return status;
}

ww_status ww_object_map(ww_object *object, ww_device *device, const struct ww_import_params *params,
	ww_cancel *cancel, ww_memory **out_memory)
{
	WW_AUTO_CANCEL struct ww_cancel_scope scope = ww_cancel_enter(cancel);
	const struct ww_token_info *named;
	struct ww_import_options options;

	ww_clear(out_memory, NULL);
	ww_try(ww_process_enter());
	ww_require(object && device && out_memory,
		"ww_object_map: object, device or out_memory is NULL");
	ww_try(ww_ref_check(&object->ref, "an object"));
	ww_try(ww_import_options_read(params, &options));
	named = &object->token.info;
	if (named->kind != WW_OBJECT_MEMORY)
		return ww_fail(WW_ERR_UNSUPPORTED,
			"cannot map an object of kind %s: only memory can be mapped",
			ww_object_kind_name((uint16_t)named->kind));
	ww_try(ww_import_check_access(named, options.access));
	ww_members_reclaim();
	if (!(named->flags & WW_TOKEN_SLICE))
		return map_held(object, device, &options, out_memory);
	ww_try(ww_import_options_refuse_own_mapping(&options, "a chunk of a pool's slices"));
	if (object->slice)
		return ww_slice_map(object->slice, device, named, &options, out_memory);
	return ww_member_map(object->member, &object->holds, device, named, &options, out_memory);
}

/* --- export --- */

static ww_status export_own_slice(const struct ww_object *object, const struct ww_escrow *escrow,
	struct ww_token *out_token)
{
	const struct ww_token_info *named = &object->token.info;
	const struct ww_export_params params = {
		.struct_size = sizeof(params),
		.access = named->access,
		.escrow_ns = escrow->ns,
		.uses = escrow->uses,
		.flags = escrow->flags,
		.array = named->has_array ? &named->array : NULL,
	};

	return ww_memory_export(object->slice, NULL, &params, NULL, out_token);
}

ww_status ww_object_export(ww_object *object, const struct ww_token_params *params,
	ww_cancel *cancel, struct ww_token *out_token)
{
	WW_AUTO_CANCEL struct ww_cancel_scope scope = ww_cancel_enter(cancel);
	struct ww_token_content token;
	struct ww_escrow escrow;

	ww_try(ww_process_enter());
	ww_require(object && out_token, "ww_object_export: object or out_token is NULL");
	ww_try(ww_ref_check(&object->ref, "an object"));
	ww_try(ww_sync_object_read_token(params, &escrow));
	if (object->slice)
		return export_own_slice(object, &escrow, out_token);
	token = object->token;
	if (object->member)
		return ww_member_token(object->member, NULL, &token.info, out_token);
	token.info.flags &= ~WW_TOKEN_COUNTED;
	if (escrow.uses)
		token.info.flags |= WW_TOKEN_COUNTED;
	ww_try(object_token(object, &escrow, &token));
	return ww_token_make(&token.info, token.secret, out_token);
}

/* --- get --- */

ww_status ww_object_take_grant(struct ww_get_reply *grant, const struct ww_token_content *token,
	struct ww_object **out_object)
{
	const struct ww_escrow none = {.ns = WW_ESCROW_NONE};
	WW_CLEANUP(object_free_p) struct ww_object *object = NULL;
	struct ww_token_content own = *token;

	ww_try(object_new(&object));
	object->token = *token;
	if (grant->granted.part) {
		ww_try(object_take_slice(object, grant->broker, false, NULL));
	} else {
		object->broker = ww_broker_ref(grant->broker);
		ww_get_reply_keep(grant, &object->holds);
		/* The secret of a memory is told to a holder only. */
		ww_try(object_token(object, &none, &own));
		object->token = own;
	}
	*out_object = ww_steal(object);
	return WW_OK;
}
