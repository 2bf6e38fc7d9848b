/* SPDX-License-Identifier: Apache-2.0 */
/*
 * token_export.c - a token for an object; for a memory, or for a span of one
 *
 * A view whose class has an operation for it, as a slice of a pool has, exports or revokes by that
 * operation. Of every other memory the whole is exported, and the token names the span.
 *
 * A token names an object of a broker, so a memory that is in none is put there first, without a
 * name. Two threads may do so at once: the broker takes one of the two puts, and the other thread
 * finds it done.
 */
#include <inttypes.h>
#include <string.h>

#include "base/cancel.h"
#include "base/error.h"
#include "base/params.h"
#include "base/process.h"
#include "base/random.h"
#include "share/choose_broker.h"
#include "share/sync_object.h"
#include "wire/token.h"

#define PARAMS_V1_BYTES sizeof(struct ww_export_params)
#define UNNAMED_MODE    0600
#define REVOKES         5 /* version of the protocol from which on a broker does */
#define MOST_COUNT      65536
#define MOST_BYTES      (UINT64_C(1) << 44) /* 16 TiB */

static _Atomic uint32_t most_count = MOST_COUNT;
static _Atomic uint64_t most_bytes = MOST_BYTES;

struct ww_in_flight_most ww_in_flight_most(void)
{
	return (struct ww_in_flight_most){.count = most_count, .bytes = most_bytes};
}

void ww_in_flight_set_most(struct ww_in_flight_most most)
{
	most_count = most.count ? most.count : MOST_COUNT;
	most_bytes = most.bytes ? most.bytes : MOST_BYTES;
}

ww_status ww_escrow_check(const struct ww_escrow *escrow)
{
	if (escrow->flags & ~WW_EXPORT_DELIVERY)
		return ww_fail(WW_ERR_INVALID, "unknown flags 0x%" PRIx32 " for an export",
			escrow->flags);
	if (escrow->flags & WW_EXPORT_DELIVERY &&
		(escrow->uses == 0 || escrow->ns == WW_ESCROW_NONE))
		return ww_fail(WW_ERR_INVALID,
			"a delivery (WW_EXPORT_DELIVERY) needs uses > 0, and an escrow");
	return WW_OK;
}

/* Reads what the caller wants, and fills in what it did not say. */
static ww_status read_params(const struct ww_export_params *params, const struct ww_memory *memory,
	struct ww_export_params *ours)
{
	uint64_t total = memory->bytes;
	uint64_t end;

	memset(ours, 0, sizeof(*ours));
	if (params)
		ww_try(ww_params_read(ours, sizeof(*ours), params, PARAMS_V1_BYTES,
			"ww_export_params"));
	if (ours->access == 0)
		ours->access = WW_ACCESS_READ;
	ww_try(ww_memory_check_access(ours->access));
	ww_try(ww_escrow_check(&(struct ww_escrow){ours->escrow_ns, ours->uses, ours->flags}));
	if (__builtin_add_overflow(ours->offset, ours->bytes, &end))
		return ww_fail(WW_ERR_OVERFLOW,
			"%" PRIu64 " bytes from %" PRIu64 " on end beyond what 64 bits count",
			ours->bytes, ours->offset);
	if (ours->offset >= total || end > total)
		return ww_fail(WW_ERR_MISMATCH,
			"the span from byte %" PRIu64 " to %" PRIu64
			" is not inside a memory of %" PRIu64 " bytes",
			ours->offset, ours->bytes ? end : total, total);
	if (ours->bytes == 0)
		ours->bytes = total - ours->offset;
	if (ours->array)
		ww_try(ww_array_check(ours->array, ours->bytes));
	if (ours->access > ww_memory_access(memory))
		return ww_fail(WW_ERR_ACCESS,
			"cannot export for writing what is mapped read-only here; export it for reading");
	return WW_OK;
}

static ww_status put_unnamed(struct ww_memory *memory, struct ww_broker *broker)
{
	WW_AUTO_PUT_REQUEST struct ww_put_request request = {.fd_count = 0};

	ww_try(ww_hold_ref_check(&memory->attachments));
	ww_try(ww_put_request_init(&request, memory, WW_STATE_SHARED, NULL));
	request.put.life = ww_memory_is_borrowed(memory) ? WW_LIFE_OWNER : WW_LIFE_HELD;
	request.put.mode = UNNAMED_MODE;
	request.put.gid = WW_GID_OWN;
	return ww_put_request_put_unnamed(&request, &memory->attachments, broker);
}

static ww_status ask_export(struct ww_broker *broker, const struct ww_token_info *info,
	const struct ww_escrow *escrow, struct ww_wire_exported *out_exported)
{
	bool is_delivery = escrow->flags & WW_EXPORT_DELIVERY;
	struct ww_in_flight_most most = ww_in_flight_most();
	struct ww_wire_export message = {
		.access = (uint8_t)info->access,
		.uses = escrow->uses,
		.flags = is_delivery ? WW_WIRE_EXPORT_FLAG_DELIVERY : 0,
		.most_count = is_delivery ? most.count : 0,
		.most_bytes = is_delivery ? most.bytes : 0,
		.escrow_ns = escrow->ns == WW_ESCROW_DEFAULT ? WW_ESCROW_NS
			: escrow->ns == WW_ESCROW_NONE       ? 0
							     : escrow->ns,
	};
	WW_AUTO_REQUEST struct ww_request request;
	bool may_exist;
	ww_status status;

	ww_request_init(&request, WW_WIRE_EXPORT, WW_WIRE_EXPORTED, &message);
	memcpy(message.id, info->object_id, sizeof(message.id));
	may_exist = is_delivery && ww_broker_client_take_export(broker, &message);
	if (is_delivery && !may_exist)
		ww_try(ww_random_bytes(message.secret, sizeof(message.secret)));
	status = ww_broker_client_ask(broker, &request);
	may_exist |= is_delivery && request.serial != 0; /* it was sent */
	if (may_exist && status != WW_OK && request.answer_code != WW_WIRE_ERROR)
		ww_broker_client_keep_export(broker, &message);
	ww_try(status);
	if (ww_wire_decode_exported(request.answer, request.answer_bytes, request.version,
		    out_exported) < 0)
		return ww_request_fail_answer(&request);
	return WW_OK;
}

ww_status ww_export_content(struct ww_broker *broker, struct ww_token_content *content,
	const struct ww_escrow *escrow)
{
	struct ww_token_info *info = &content->info;
	struct ww_wire_exported exported;

	ww_try(ask_export(broker, info, escrow, &exported));
	if (exported.delivery)
		ww_broker_client_note_delivery(broker);
	info->generation = exported.generation;
	ww_broker_client_peer(broker, info->broker_id, &info->broker_uid);
	memcpy(info->address, broker->address.path, sizeof(info->address));
	memcpy(content->secret, exported.secret, sizeof(content->secret));
	return WW_OK;
}

ww_status ww_export_object(struct ww_broker *broker, const struct ww_token_info *info,
	const struct ww_escrow *escrow, struct ww_token *out_token)
{
	struct ww_token_content content = {.info = *info};

	ww_try(ww_export_content(broker, &content, escrow));
	return ww_token_make(&content.info, content.secret, out_token);
}

/* A token for the whole, that names the span that the memory is. */
static ww_status export_whole(struct ww_memory *memory, struct ww_broker *broker,
	const struct ww_export_params *ours, struct ww_token *out_token)
{
	const struct ww_escrow escrow = {ours->escrow_ns, ours->uses, ours->flags};
	struct ww_memory *whole = ww_memory_whole(memory);
	struct ww_token_content token = {
		.info.kind = WW_OBJECT_MEMORY,
		.info.access = ours->access,
		.info.offset = memory->offset + ours->offset,
		.info.bytes = ours->bytes,
		.info.total_bytes = whole->description.bytes,
		.info.has_array = ours->array != NULL,
		.info.flags = (ww_memory_is_borrowed(whole) ? WW_TOKEN_FOREIGN : 0) |
			(ours->uses ? WW_TOKEN_COUNTED : 0),
	};
	struct ww_token_info *info = &token.info;

	ww_try(ww_mapping_check(whole->mapping));
	if (!ww_hold_ref_is_held(&whole->attachments, broker))
		ww_try(put_unnamed(whole, broker));
	memcpy(info->object_id, whole->description.object_id, sizeof(info->object_id));
	memcpy(info->home_uuid, whole->description.home_uuid, sizeof(info->home_uuid));
	if (ours->array)
		info->array = *ours->array;
	ww_try(ww_hold_ref_prepare_of(&whole->attachments, broker));
	ww_try(ww_export_content(broker, &token, &escrow));
	ww_try(ww_token_make(info, token.secret, out_token));
	if (escrow.flags & WW_EXPORT_DELIVERY) /* its secret is not the object's */
		return WW_OK;
	ww_hold_ref_learn(&whole->attachments, broker, info, token.secret, info->access, NULL);
	return WW_OK;
}

ww_status ww_memory_export(ww_memory *memory, ww_broker *broker,
	const struct ww_export_params *params, ww_cancel *cancel, struct ww_token *out_token)
{
	WW_AUTO_CANCEL struct ww_cancel_scope scope = ww_cancel_enter(cancel);
	WW_AUTO_BROKER struct ww_broker *opened = NULL;
	struct ww_export_params ours;

	ww_try(ww_process_enter());
	ww_require(memory && out_token, "ww_memory_export: memory or out_token is NULL");
	ww_try(ww_memory_check(memory));
	ww_try(read_params(params, memory, &ours));
	if (memory->class && memory->class->export)
		return memory->class->export(memory, broker, &ours, out_token);
	ww_try(ww_choose_broker_of(memory, &broker, &opened, 0));
	return export_whole(memory, broker, &ours, out_token);
}

static ww_status revoke_whole(struct ww_memory *whole, struct ww_broker *broker)
{
	struct ww_attachments *attachments = &whole->attachments;
	struct ww_wire_revoke message = {.id = {0}};
	WW_AUTO_REQUEST struct ww_request request;

	ww_request_init(&request, WW_WIRE_REVOKE, WW_WIRE_DONE, &message);
	if (!ww_hold_ref_find(attachments, broker, message.id))
		return ww_fail(WW_ERR_NOT_FOUND,
			"cannot revoke tokens: the memory is not in the broker at %s; name the broker "
			"that it was put into or exported to",
			broker->address.path);
	ww_try(ww_sync_object_require_version(broker, REVOKES, "revoke tokens"));
	ww_broker_client_note_revoked(broker, message.id);
	return ww_broker_client_ask(broker, &request);
}

ww_status ww_memory_revoke(ww_memory *memory, ww_broker *broker, ww_cancel *cancel)
{
	WW_AUTO_CANCEL struct ww_cancel_scope scope = ww_cancel_enter(cancel);
	WW_AUTO_KEPT_BROKER struct ww_broker *opened = NULL;

	ww_try(ww_process_enter());
	ww_require(memory, "ww_memory_revoke: memory is NULL");
	ww_try(ww_memory_check(memory));
	if (memory->class && memory->class->revoke)
		return memory->class->revoke(memory, broker);
	ww_try(ww_choose_broker_of(memory, &broker, &opened, 0));
	return revoke_whole(ww_memory_whole(memory), broker);
}
