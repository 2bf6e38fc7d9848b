/* SPDX-License-Identifier: Apache-2.0 */
/*
 * import.c - the memory that a token names
 *
 * The token says at which address its broker listened. Where that path means another broker, or nothing, as in a
 * container, WARPWAY_BROKER says better; the broker's id tells whether it is the one. No broker is started: a new
 * one would know nothing of the token.
 */
#include <inttypes.h>
#include <string.h>

#include "base/environment.h"
#include "base/error.h"
#include "base/process.h"
#include "client/grant.h"
#include "wire/token.h"

/* An address that only the token says may lead to anybody, and elsewhere tomorrow. */
static ww_status open_for_token(const struct ww_token_info *token, struct ww_broker **out_broker)
{
	const char *variable = ww_environment_find(WW_VARIABLE_BROKER);
	const struct ww_broker_params params = {
		.size = sizeof(params),
		.flags = WW_BROKER_NO_START,
	};
	WW_AUTO_BROKER struct ww_broker *broker = NULL;
	struct ww_address address;

	ww_try(ww_address_find(variable ? variable : token->address, &address));
	ww_try(ww_connection_open(&address, &params, !variable, &broker));
	ww_try(ww_connection_ensure(broker, false));
	*out_broker = ww_steal(broker);
	return WW_OK;
}

static bool is_broker(const struct ww_token_info *token, struct ww_broker *broker)
{
	uint8_t id[WW_WIRE_ID_BYTES];

	ww_connection_peer(broker, id, NULL);
	return memcmp(id, token->broker_id, sizeof(id)) == 0;
}

/* One that was replaced while nobody asked it anything is noticed by asking. */
static ww_status check_broker(const struct ww_token_info *token, struct ww_broker *broker)
{
	struct ww_broker_info info = {.size = sizeof(info)};

	if (is_broker(token, broker))
		return WW_OK;
	ww_try(ww_broker_info_get(broker, &info));
	if (is_broker(token, broker))
		return WW_OK;
	return ww_fail(WW_ERR_NOT_FOUND,
		"the token is of another broker than the one at %s now: that one has ended with all its "
		"objects, or WARPWAY_BROKER should name it",
		broker->address.path);
}

static ww_status check_token(const struct ww_token *token, uint32_t access,
	struct ww_token_info *out_info)
{
	out_info->size = sizeof(*out_info);
	ww_try(ww_token_info_get(token, out_info));
	if (out_info->kind != WW_OBJECT_MEMORY)
		return ww_fail(WW_ERR_UNSUPPORTED,
			"the token names no memory but an object of kind %" PRIu32, out_info->kind);
	if (access > out_info->access)
		return ww_fail(WW_ERR_ACCESS,
			"cannot import for writing: the token is for reading");
	return WW_OK;
}

static ww_status check_grant(const struct ww_grant *grant, const struct ww_token_info *token)
{
	uint64_t bytes = grant->description.memory.bytes;

	if (memcmp(grant->granted.id, token->object_id, sizeof(token->object_id)) != 0)
		return ww_fail(WW_ERR_PROTOCOL,
			"the broker granted another object than the token names");
	if (grant->granted.generation != token->generation)
		return ww_fail(WW_ERR_NOT_FOUND,
			"the token's object is gone; another one has its id (generation %" PRIu64
			", not %" PRIu64 ")",
			grant->granted.generation, token->generation);
	if (bytes != token->total_bytes)
		return ww_fail(WW_ERR_MISMATCH,
			"the token is for a memory of %" PRIu64 " bytes, this one has %" PRIu64,
			token->total_bytes, bytes);
	return WW_OK;
}

/* The array is that of the span, not of the whole. */
static ww_status fill_info(const struct ww_grant *grant, const struct ww_token_info *token,
	struct ww_object_info *info)
{
	struct ww_object_info ours;

	if (!info)
		return WW_OK;
	ww_object_info_of_grant(&grant->granted, &grant->description, grant->request.is_own, &ours);
	ours.offset = token->offset;
	ours.span_bytes = token->bytes;
	ours.has_array = token->has_array;
	ours.array = token->array;
	return ww_object_info_write(info, &ours);
}

static ww_status import_from(struct ww_device *device, struct ww_broker *broker,
	const struct ww_token *token, const struct ww_token_info *token_info, uint32_t access,
	struct ww_memory **out_memory, struct ww_object_info *info)
{
	struct ww_wire_import message = {.access = (uint8_t)access};
	WW_AUTO_GRANT struct ww_grant grant;

	ww_grant_init(&grant, broker, WW_WIRE_IMPORT, &message);
	ww_try(check_broker(token_info, broker));
	memcpy(message.id, token_info->object_id, sizeof(message.id));
	ww_token_secret(token, message.secret);
	grant.request.id = message.id;
	grant.request.starts_none = true;
	ww_try(ww_grant_ask(&grant));
	ww_try(check_grant(&grant, token_info));
	ww_try(ww_grant_map(&grant, device, access, out_memory));
	return fill_info(&grant, token_info, info);
}

ww_status ww_memory_import(ww_device *device, ww_broker *broker, const struct ww_token *token,
	uint32_t access, ww_memory **out_memory, struct ww_object_info *info)
{
	WW_AUTO_BROKER struct ww_broker *opened = NULL;
	struct ww_token_info token_info;

	ww_clear(out_memory, NULL);
	ww_try(ww_process_enter());
	ww_require(device && token && out_memory,
		"ww_memory_import: device, token or out_memory is NULL");
	ww_try(ww_memory_check_access(access));
	if (info)
		ww_try(ww_object_info_check(info));
	ww_try(check_token(token, access, &token_info));
	if (!broker) {
		ww_try(open_for_token(&token_info, &opened));
		broker = opened;
	}
	return import_from(device, broker, token, &token_info, access, out_memory, info);
}
