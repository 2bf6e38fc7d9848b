/* SPDX-License-Identifier: Apache-2.0 */
/*
 * open.c - making a work queue, opening one by name or token, and exporting one
 *
 * The queue's object has no descriptors. The roster is put right after it, as an object inside it,
 * with three: the roster to write, for processes that may write the queue; the roster to read, for
 * others; and the bell to write, for all.
 */
#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "base/cancel.h"
#include "base/error.h"
#include "base/params.h"
#include "base/process.h"
#include "base/random.h"
#include "queue/join.h"
#include "queue/leave.h"
#include "share/call_limit.h"
#include "share/choose_broker.h"
#include "share/sync_object.h"
#include "share/token_export.h"
#include "share/token_import.h"
#include "wire/name.h"

#define MEMBER_V1_BYTES   offsetof(struct ww_work_member_params, end_after_producers)
#define ROSTER_MODE       0666 /* the mode of the queue decides */
#define ROSTER_FDS        2    /* that a member gets: the roster, the bell */
#define STAYS_SINCE       4    /* version of the protocol from which on a broker knows it */
#define DEFAULT_SLOTS     16
#define DEFAULT_PRODUCERS 8
#define DEFAULT_CONSUMERS 16
#define DEFAULT_ATTEMPTS  3
#define FAILED_SHARE      4 /* a quarter of the slots */

/* --- params --- */

static void fill_defaults(struct ww_work_queue_params *params)
{
	ww_params_default(&params->role, WW_WORK_QUEUE_KEEPER);
	ww_params_default(&params->slots, DEFAULT_SLOTS);
	ww_params_default(&params->producers_max, DEFAULT_PRODUCERS);
	ww_params_default(&params->consumers_max, DEFAULT_CONSUMERS);
	ww_params_default(&params->attempts_max, DEFAULT_ATTEMPTS);
	ww_params_default(&params->failed_max, params->slots / FAILED_SHARE);
	ww_params_default(&params->held_max, 1);
	ww_params_default(&params->kind, WW_MEMORY_VMM);
	if (params->failed_max == UINT32_MAX)
		params->failed_max = 0;
}

static ww_status check_most(const char *what, uint32_t count, uint32_t most)
{
	if (count > most)
		return ww_fail(WW_ERR_INVALID,
			"%s of a work queue can be at most %" PRIu32 ", not %" PRIu32, what, most,
			count);
	return WW_OK;
}

static ww_status check_role(uint32_t role, uint32_t end_after_producers)
{
	if (role < WW_WORK_QUEUE_KEEPER || role > WW_WORK_QUEUE_FAILED)
		return ww_fail(WW_ERR_INVALID,
			"there is no role %" PRIu32 " in a work queue; use WW_WORK_QUEUE_...",
			role);
	if (end_after_producers && role <= WW_WORK_QUEUE_PRODUCER)
		return ww_fail(WW_ERR_INVALID,
			"end_after_producers (%" PRIu32
			") says when receiving ends, but this role does not receive; leave it out",
			end_after_producers);
	return WW_OK;
}

static ww_status check_params(const struct ww_work_queue_params *params)
{
	ww_try(check_role(params->role, params->end_after_producers));
	ww_try(check_most("slots", params->slots, WW_WORK_QUEUE_SLOTS_MAX));
	ww_try(check_most("producers_max", params->producers_max, WW_WORK_QUEUE_MEMBERS_MAX));
	ww_try(check_most("consumers_max", params->consumers_max, WW_WORK_QUEUE_MEMBERS_MAX));
	ww_try(check_most("attempts_max", params->attempts_max, WW_WORK_QUEUE_ATTEMPTS_MAX));
	ww_try(check_most("failed_max", params->failed_max, params->slots - 1));
	ww_try(check_most("held_max", params->held_max, WW_WORK_QUEUE_SLOTS_MAX));
	ww_try(check_most("metadata_bytes", params->metadata_bytes, WW_FRAME_METADATA_MAX));
	if (params->kind != WW_MEMORY_VMM && params->kind != WW_MEMORY_HOST)
		return ww_fail(WW_ERR_INVALID,
			"the slots of a work queue cannot be %s (%" PRIu32
			"); use WW_MEMORY_VMM or WW_MEMORY_HOST",
			ww_memory_kind_name(params->kind), params->kind);
	return ww_frame_form_check("ww_work_queue_params", params->slot_bytes,
		params->metadata_type, params->array);
}

static ww_status set_form(const struct ww_work_queue_params *params,
	struct ww_wire_work_queue_ref *form)
{
	uint64_t bytes;

	ww_try(ww_frame_form_round(params->slot_bytes, WW_WORK_QUEUE_SLOTS_MAX, &bytes));
	*form = (struct ww_wire_work_queue_ref){
		.slot_bytes = bytes,
		.slot_count = params->slots,
		.metadata_bytes = params->metadata_bytes,
		.producers_max = params->producers_max,
		.consumers_max = params->consumers_max,
		.attempts_max = params->attempts_max,
		.failed_max = params->failed_max,
		.held_max = params->held_max,
		.kind = params->kind,
	};
	memcpy(form->metadata_type, params->metadata_type, strlen(params->metadata_type));
	return ww_random_bytes(form->queue_id, sizeof(form->queue_id));
}

/* --- create --- */

static ww_status put_queue(struct ww_work_queue *queue, const char *name,
	const struct ww_name_params *params)
{
	WW_AUTO_PUT_REQUEST struct ww_put_request request = {.fd_count = 0};

	ww_sync_object_request_init(&request, WW_OBJECT_WORK_QUEUE, queue->form.queue_id, params);
	request.put.state = WW_STATE_SHARED;
	if (name)
		memcpy(request.put.name, name, strlen(name));
	ww_work_queue_ref_write(&queue->form, request.put.description);
	ww_frame_form_encode(&queue->frame_form, request.put.description + WW_WORK_QUEUE_REF_BYTES);
	request.put.description_bytes = WW_WORK_QUEUE_REF_BYTES + WW_ARRAY_RECORD_BYTES;
	return ww_put_request_put(&request, &queue->object, queue->broker, 0);
}

static ww_status put_roster(struct ww_work_queue *queue)
{
	WW_AUTO_PUT_REQUEST struct ww_put_request request = {.fd_count = 0};
	struct ww_mapping *roster = queue->roster.mapping;
	struct ww_mapping *bell = queue->bell.mapping;
	uint8_t id[WW_WIRE_ID_BYTES];

	ww_try(ww_random_bytes(id, sizeof(id)));
	ww_sync_object_request_init(&request, WW_OBJECT_WORK_QUEUE, id, NULL);
	request.put.state = WW_STATE_SHARED;
	request.put.mode = ROSTER_MODE;
	ww_queue_name(queue, "roster", (char *)request.put.name);
	ww_try(ww_put_request_add(&request, roster, WW_ACCESS_WRITE, WW_PUT_TO_WRITERS));
	ww_try(ww_put_request_add(&request, roster, WW_ACCESS_READ, WW_PUT_TO_READERS));
	ww_try(ww_put_request_add(&request, bell, WW_ACCESS_WRITE,
		WW_PUT_TO_READERS | WW_PUT_TO_WRITERS));
	request.put.bytes = roster->bytes + bell->bytes;
	request.host_bytes = request.put.bytes;
	return ww_put_request_put(&request, &queue->shared, queue->broker, 0);
}

static ww_status create(ww_device *device, struct ww_broker *broker, const char *name,
	const struct ww_work_queue_params *params, struct ww_work_queue **out_queue)
{
	WW_CLEANUP(ww_queue_free_p) struct ww_work_queue *queue = NULL;
	struct ww_wire_work_queue_ref form;
	struct ww_name_params named;

	ww_try(ww_sync_object_read_name(WW_PARAMS(struct ww_name_params, .mode = params->mode,
						.gid = params->gid, .flags = params->flags),
		&named));
	ww_try(set_form(params, &form));
	ww_try(ww_sync_object_require_version(broker, STAYS_SINCE,
		"keep the frames of producers that have ended"));
	ww_try(ww_queue_new(&form, params->role, device, broker, &queue));
	ww_frame_form_init(&queue->frame_form, "work queue", form.slot_bytes, form.metadata_bytes,
		params->array);
	ww_try(ww_queue_roster_create(&queue->roster, form.queue_id, form.producers_max));
	ww_try(ww_queue_bell_create(&queue->bell, form.queue_id, form.consumers_max));
	queue->may_produce = true;
	queue->end_after_producers = params->end_after_producers;
	ww_try(put_queue(queue, name, &named));
	ww_try(put_roster(queue));
	ww_try(ww_queue_join(queue));
	*out_queue = ww_steal(queue);
	return WW_OK;
}

ww_status ww_work_queue_create(ww_device *device, ww_broker *broker, const char *name,
	const struct ww_work_queue_params *params, ww_cancel *cancel, ww_work_queue **out_queue)
{
	WW_AUTO_CANCEL struct ww_cancel_scope scope = ww_cancel_enter(cancel);
	WW_AUTO_KEPT_BROKER struct ww_broker *opened = NULL;
	struct ww_work_queue_params ours;

	ww_clear(out_queue, NULL);
	ww_try(ww_process_enter());
	ww_require(device && params && out_queue,
		"ww_work_queue_create: device, params or out_queue is NULL");
	ww_try(ww_params_read(&ours, sizeof(ours), params, sizeof(ours), "ww_work_queue_params"));
	fill_defaults(&ours);
	ww_try(check_params(&ours));
	if (name)
		ww_try(ww_name_check(name));
	ww_try(ww_choose_broker(&broker, &opened, 0));
	return create(device, broker, name, &ours, out_queue);
}

/* --- open --- */

struct opening {
	ww_device *device;
	struct ww_work_member_params params;
	uint64_t timeout_ns; /* 0: only the broker's limit */
};

static uint8_t access_of(uint32_t role)
{
	return role == WW_WORK_QUEUE_PRODUCER ? WW_WIRE_ACCESS_WRITE : WW_WIRE_ACCESS_READ;
}

/* What the queue's description says. */
struct described {
	struct ww_wire_work_queue_ref form;
	struct ww_frame_form frame_form;
};

static ww_status read_description(const struct ww_get_reply *grant, struct described *out)
{
	const struct ww_wire_granted *granted = &grant->granted;

	if (granted->description_bytes != WW_WORK_QUEUE_REF_BYTES + WW_ARRAY_RECORD_BYTES)
		return ww_fail(WW_ERR_PROTOCOL, "the work queue's description is not valid");
	ww_try(ww_work_queue_ref_read(granted->description, WW_WORK_QUEUE_REF_BYTES, &out->form));
	if (memcmp(out->form.queue_id, granted->id, sizeof(granted->id)) != 0)
		return ww_fail(WW_ERR_PROTOCOL,
			"the work queue's description is that of another one");
	return ww_frame_form_decode(&out->frame_form, "work queue", out->form.slot_bytes,
		out->form.metadata_bytes, granted->description + WW_WORK_QUEUE_REF_BYTES);
}

/* It is put right after the queue. */
static ww_status get_roster(struct ww_work_queue *queue, const struct opening *opening,
	uint32_t queue_uid)
{
	struct ww_wire_get message = {.access = access_of(queue->role)};
	WW_AUTO_GET_REPLY struct ww_get_reply grant;
	const struct ww_wire_work_queue_ref *form = &queue->form;
	char name[WW_QUEUE_NAME_BYTES];
	ww_status status;

	ww_get_reply_init(&grant, queue->broker, WW_WIRE_GET, &message, WW_OBJECT_WORK_QUEUE);
	ww_queue_name(queue, "roster", name);
	ww_get_reply_set_name(&grant, &message, name,
		opening->timeout_ns ? opening->timeout_ns
				    : ww_broker_client_timeout_ns(queue->broker));
	status = ww_get_reply_ask(&grant);
	if (status != WW_OK)
		return status;
	if (grant.granted.uid != queue_uid || grant.request.fds_come_count != ROSTER_FDS)
		return ww_fail(WW_ERR_PROTOCOL,
			"the work queue's roster lacks a descriptor, or another process has put it");
	ww_try(ww_queue_roster_import(&queue->roster, grant.request.fds_come[0], message.access,
		form->queue_id, form->producers_max));
	ww_try(ww_queue_bell_import(&queue->bell, grant.request.fds_come[1], form->queue_id,
		form->consumers_max));
	queue->may_produce = message.access == WW_WIRE_ACCESS_WRITE;
	ww_get_reply_keep(&grant, &queue->shared);
	return WW_OK;
}

static ww_status open_queue(struct ww_get_reply *grant, const struct opening *opening,
	struct ww_work_queue **out_queue)
{
	WW_CLEANUP(ww_queue_free_p) struct ww_work_queue *queue = NULL;
	struct described found;
	ww_status status;

	ww_try(read_description(grant, &found));
	ww_try(ww_frame_form_agree(&found.frame_form, (const char *)found.form.metadata_type,
		opening->params.metadata_type, opening->params.array));
	ww_try(ww_queue_new(&found.form, opening->params.role, opening->device, grant->broker,
		&queue));
	queue->frame_form = found.frame_form;
	queue->end_after_producers = opening->params.end_after_producers;
	ww_get_reply_keep(grant, &queue->object);
	status = get_roster(queue, opening, grant->granted.uid);
	if (status == WW_OK)
		status = ww_queue_join(queue);
	if (status == WW_OK)
		*out_queue = ww_steal(queue);
	return status;
}

static ww_status read_member(const struct ww_work_member_params *params, struct opening *opening)
{
	ww_try(ww_params_read(&opening->params, sizeof(opening->params), params, MEMBER_V1_BYTES,
		"ww_work_member_params"));
	if (opening->params.reserved)
		return ww_fail(WW_ERR_INVALID, "ww_work_member_params.reserved is not 0");
	return check_role(opening->params.role, opening->params.end_after_producers);
}

ww_status ww_work_queue_get(ww_device *device, ww_broker *broker, const char *name,
	const struct ww_work_member_params *params, uint64_t timeout_ns, ww_cancel *cancel,
	ww_work_queue **out_queue)
{
	WW_AUTO_CANCEL struct ww_cancel_scope scope = ww_cancel_enter(cancel);
	WW_AUTO_KEPT_BROKER struct ww_broker *opened = NULL;
	struct opening opening = {.device = device, .timeout_ns = timeout_ns};
	struct ww_wire_get message = {.access = WW_WIRE_ACCESS_READ};
	WW_AUTO_GET_REPLY struct ww_get_reply grant;
	struct ww_call_limit limit;
	ww_status status;

	ww_clear(out_queue, NULL);
	ww_get_reply_init(&grant, broker, WW_WIRE_GET, &message, WW_OBJECT_WORK_QUEUE);
	ww_try(ww_process_enter());
	ww_require(device && name && params && out_queue,
		"ww_work_queue_get: device, name, params or out_queue is NULL");
	ww_try(ww_name_check(name));
	ww_try(read_member(params, &opening));
	message.access = access_of(opening.params.role);
	ww_call_limit_begin(&limit, timeout_ns);
	ww_get_reply_set_name(&grant, &message, name, timeout_ns);
	status = ww_choose_broker(&grant.broker, &opened, 0);
	if (status == WW_OK)
		status = ww_get_reply_ask(&grant);
	if (status == WW_OK)
		status = open_queue(&grant, &opening, out_queue);
	return ww_call_limit_end(&limit, status);
}

ww_status ww_work_queue_import(ww_device *device, ww_broker *broker, const struct ww_token *token,
	const struct ww_work_member_params *params, ww_cancel *cancel, ww_work_queue **out_queue)
{
	WW_AUTO_CANCEL struct ww_cancel_scope scope = ww_cancel_enter(cancel);
	struct opening opening = {.device = device};
	WW_AUTO_IMPORT struct ww_import import;

	ww_clear(out_queue, NULL);
	ww_import_init(&import, WW_OBJECT_WORK_QUEUE, 0);
	ww_try(ww_process_enter());
	ww_require(device && token && params && out_queue,
		"ww_work_queue_import: device, token, params or out_queue is NULL");
	ww_try(read_member(params, &opening));
	import.message.access = access_of(opening.params.role);
	ww_try(ww_import_ask(&import, broker, token));
	return open_queue(&import.grant, &opening, out_queue);
}

/* --- export --- */

ww_status ww_work_queue_export(ww_work_queue *queue, uint32_t access,
	const struct ww_token_params *params, ww_cancel *cancel, struct ww_token *out_token)
{
	WW_AUTO_CANCEL struct ww_cancel_scope scope = ww_cancel_enter(cancel);
	struct ww_token_info info = {
		.struct_size = sizeof(info),
		.kind = WW_OBJECT_WORK_QUEUE,
		.access = access,
	};
	struct ww_escrow escrow;

	ww_try(ww_process_enter());
	ww_require(queue && out_token, "ww_work_queue_export: queue or out_token is NULL");
	ww_try(ww_ref_check(&queue->ref, "a work queue"));
	if (access != WW_ACCESS_READ && access != WW_ACCESS_WRITE)
		return ww_fail(WW_ERR_INVALID,
			"a token of a work queue is for WW_ACCESS_READ or WW_ACCESS_WRITE, not %" PRIu32,
			access);
	ww_try(ww_sync_object_read_token(params, &escrow));
	if (!ww_hold_ref_find(&queue->object, queue->broker, info.object_id))
		return ww_fail(WW_ERR_NOT_FOUND, "the broker at %s has lost the work queue",
			queue->broker->address.path);
	info.total_bytes = queue->form.slot_bytes * queue->form.slot_count;
	info.bytes = info.total_bytes;
	return ww_export_object(queue->broker, &info, &escrow, out_token);
}
