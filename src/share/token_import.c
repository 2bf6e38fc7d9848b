/* SPDX-License-Identifier: Apache-2.0 */
/*
 * token_import.c - the object that a token names, see token_import.h
 *
 * The token says at which address its broker listened. Where that path means another broker, or
 * nothing, as in a container, WARPWAY_BROKER says better; the broker's id tells whether it is the
 * one. No broker is started: a new one would know nothing of the token.
 */
#include <inttypes.h>
#include <string.h>

#include "base/environment.h"
#include "base/error.h"
#include "base/params.h"
#include "base/close_async.h"
#include "share/token_import.h"
#include "share/object_info.h"
#include "wire/token.h"

/* An address that only the token says may lead to any process, and to another one later. */
static ww_status open_for_token(const struct ww_token_info *token, struct ww_broker **out_broker)
{
	const char *variable = ww_environment_find(WW_VARIABLE_BROKER);
	const struct ww_broker_params params = {
		.struct_size = sizeof(params),
		.flags = WW_BROKER_NO_START,
	};
	struct ww_address address;

	if (!variable)
		ww_try(ww_close_async_check_room());
	ww_try(ww_address_find(variable ? variable : token->address, &address));
	return ww_broker_client_open(&address, &params, !variable, out_broker);
}

/* @was_given: the caller's own, not one that was chosen for the token */
static ww_status fail_astray(const struct ww_token_info *token, const struct ww_broker *broker,
	bool was_given)
{
	if (strcmp(token->address, broker->address.path) == 0 || !token->address[0])
		return ww_fail(WW_ERR_NOT_FOUND,
			"the token is of another broker than the one at %s now: that one has ended with all its "
			"objects; ask for a new token",
			broker->address.path);
	return ww_fail(WW_ERR_NOT_FOUND,
		"the token is of the broker at %.107s, and not of that at %.60s; %s",
		token->address, broker->address.path,
		was_given ? "import by that one, or by NULL" : "WARPWAY_BROKER should name it");
}

ww_status ww_import_check_access(const struct ww_token_info *token, uint32_t access)
{
	if (access > token->access)
		return ww_fail(WW_ERR_ACCESS,
			"cannot import for writing: the token is for reading");
	return WW_OK;
}

ww_status ww_import_check(const struct ww_token_info *token, uint16_t kind, uint32_t access)
{
	uint32_t named = token->flags & WW_TOKEN_SLICE ? WW_OBJECT_POOL : token->kind;

	if (named != kind)
		return ww_fail(WW_ERR_UNSUPPORTED, "the token names an object of kind %s, no %s",
			ww_object_kind_name((uint16_t)token->kind), ww_object_kind_name(kind));
	return ww_import_check_access(token, access);
}

static ww_status check_grant(const struct ww_get_reply *grant, const struct ww_token_info *token)
{
	if (memcmp(grant->granted.id, token->object_id, sizeof(token->object_id)) != 0)
		return ww_fail(WW_ERR_PROTOCOL,
			"the broker granted another object than the token names");
	if (grant->granted.generation != token->generation)
		return ww_fail(WW_ERR_NOT_FOUND,
			"the token's object is gone; another one has its id (generation %" PRIu64
			", not %" PRIu64 ")",
			grant->granted.generation, token->generation);
	return WW_OK;
}

void ww_import_init(struct ww_import *import, uint16_t kind, uint32_t access)
{
	import->message = (struct ww_wire_import){.access = (uint8_t)access};
	import->opened = NULL;
	import->is_astray = false;
	import->is_granted = false;
	ww_get_reply_init(&import->grant, NULL, WW_WIRE_IMPORT, &import->message, kind);
}

void ww_import_fini(struct ww_import *import)
{
	ww_get_reply_fini(&import->grant);
	if (import->is_granted)
		ww_broker_client_keep(ww_steal(import->opened));
	ww_broker_unref(import->opened);
}

ww_status ww_import_ask_read(struct ww_import *import, struct ww_broker *broker,
	const struct ww_token_content *token)
{
	struct ww_get_reply *grant = &import->grant;
	uint8_t id[WW_WIRE_ID_BYTES];
	ww_status status;

	import->token = token->info;
	ww_try(ww_import_check(&import->token, grant->kind, import->message.access));
	if (broker) {
		ww_try(ww_ref_check(&broker->ref, "a connection to a broker"));
	} else {
		ww_try(open_for_token(&import->token, &import->opened));
		broker = import->opened;
	}
	grant->broker = broker;
	memcpy(import->message.id, import->token.object_id, sizeof(import->message.id));
	memcpy(import->message.secret, token->secret, sizeof(import->message.secret));
	grant->request.id = import->message.id;
	grant->request.broker_id = import->token.broker_id;
	grant->request.starts_none = true;
	status = ww_get_reply_ask(grant);
	ww_broker_client_peer(broker, id, NULL);
	import->is_astray = status == WW_ERR_NOT_FOUND &&
		memcmp(id, token->info.broker_id, sizeof(id)) != 0;
	if (import->is_astray)
		return fail_astray(&import->token, broker, !import->opened);
	ww_try(status);
	status = check_grant(grant, &import->token);
	import->is_granted = status == WW_OK && import->opened;
	return status;
}

ww_status ww_import_ask(struct ww_import *import, struct ww_broker *broker,
	const struct ww_token *token)
{
	struct ww_token_content content;

	ww_try(ww_token_read(token, &content));
	return ww_import_ask_read(import, broker, &content);
}

const uint8_t *ww_import_secret(const struct ww_import *import)
{
	const uint8_t *own = import->grant.granted.secret;

	if (!(import->token.flags & WW_TOKEN_COUNTED) || ww_is_zero(own, WW_SECRET_BYTES))
		return import->message.secret;
	return own;
}

ww_status ww_import_check_bytes(const struct ww_token_info *token, uint64_t bytes)
{
	if (bytes != token->total_bytes)
		return ww_fail(WW_ERR_MISMATCH,
			"the token is for a memory of %" PRIu64 " bytes, this one has %" PRIu64,
			token->total_bytes, bytes);
	return WW_OK;
}

ww_status ww_import_write_info(const struct ww_token_info *token, struct ww_object_info *ours,
	struct ww_object_info *info)
{
	ours->offset = token->offset;
	ours->span_bytes = token->bytes;
	ours->has_array = token->has_array;
	ours->array = token->array;
	return ww_object_info_write(info, ours);
}
