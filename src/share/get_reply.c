/* SPDX-License-Identifier: Apache-2.0 */
/*
 * get_reply.c - what a broker grants, and the memory it becomes, see get_reply.h
 *
 * The broker passes on what another process put there: description and descriptors are checked as
 * coming from an attacker, also when the broker is trusted.
 */
#include "share/get_reply.h"

#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "wire/name.h"

#define NS_PER_MS UINT64_C(1000000)

void ww_get_reply_init(struct ww_get_reply *grant, struct ww_broker *broker, uint16_t code,
	const void *message, uint16_t kind)
{
	ww_request_init(&grant->request, code, WW_WIRE_GRANTED, message);
	grant->broker = broker;
	grant->kind = kind;
	grant->hold_ref = NULL;
	grant->name = NULL;
	grant->takes_slices = false;
}

void ww_get_reply_fini(struct ww_get_reply *grant)
{
	if (grant->request.has_hold)
		ww_broker_client_release(grant->broker, grant->request.held_id);
	ww_hold_ref_free(grant->hold_ref);
	ww_request_fini(&grant->request);
}

static ww_status check_kind(const struct ww_get_reply *grant)
{
	bool is_slice = grant->granted.kind == WW_OBJECT_POOL && grant->granted.part != 0;
	const char *name = grant->granted.name;

	if (is_slice && grant->takes_slices)
		return WW_OK;
	if (grant->granted.kind != grant->kind || grant->granted.part != 0)
		return ww_fail(WW_ERR_UNSUPPORTED,
			"%s%.100s%s is of kind %s, not %s; use the call for that kind",
			*name ? "'" : "the object", name, *name ? "'" : "",
			ww_object_kind_name(grant->granted.kind), ww_object_kind_name(grant->kind));
	return WW_OK;
}

static ww_status check_memory(struct ww_get_reply *grant)
{
	const struct ww_wire_granted *granted = &grant->granted;

	ww_try(ww_object_description_decode(granted->description, granted->description_bytes,
		&grant->description));
	if (memcmp(granted->id, grant->description.memory.object_id, sizeof(granted->id)) != 0)
		return ww_fail(WW_ERR_PROTOCOL,
			"the object's description is that of another object: the process that put it is "
			"faulty or hostile");
	if (grant->request.fds_come_count == 0)
		return ww_fail(WW_ERR_PROTOCOL, "the broker granted a memory without a descriptor");
	return WW_OK;
}

/* Return: @status; WW_TIMED_OUT has a record, which names what did not come. */
static ww_status record_timeout(const struct ww_get_reply *grant, ww_status status)
{
	if (status != WW_TIMED_OUT || !grant->name)
		return status;
	return ww_fail(WW_TIMED_OUT,
		"'%.100s' was not there, or not ready, within %" PRIu64
		" ms; `warpway ls%s` shows what the broker at %.80s has",
		grant->name, grant->timeout_ns / NS_PER_MS,
		ww_name_is_inside(grant->name) ? " --all" : "", ww_broker_address(grant->broker));
}

ww_status ww_get_reply_ask(struct ww_get_reply *grant)
{
	struct ww_request *request = &grant->request;
	ww_status status;

	ww_try(ww_hold_ref_new(grant->broker, &grant->hold_ref));
	ww_try(ww_request_expect_hold(request));
	status = ww_broker_client_ask(grant->broker, request);
	if (status != WW_OK)
		return record_timeout(grant, status);
	if (ww_wire_decode_granted(request->answer, request->answer_bytes, request->version,
		    &grant->granted) < 0)
		return ww_request_fail_answer(request);
	ww_try(check_kind(grant));
	return grant->kind == WW_OBJECT_MEMORY ? check_memory(grant) : WW_OK;
}

void ww_get_reply_set_name(struct ww_get_reply *grant, struct ww_wire_get *message,
	const char *name, uint64_t timeout_ns)
{
	memcpy(message->name, name, strlen(name));
	grant->name = message->name;
	grant->timeout_ns = timeout_ns;
	grant->request.waits = timeout_ns > 0;
	if (timeout_ns > 0)
		message->flags |= WW_WIRE_GET_FLAG_WAIT;
	/* Not to wait for the name is not to hurry the broker. */
	grant->request.limit_ns = timeout_ns > 0 ? ww_clock_deadline_ns(timeout_ns) : WW_NEVER;
}

void ww_get_reply_keep(struct ww_get_reply *grant, struct ww_attachments *thing)
{
	grant->request.has_hold = false;
	ww_hold_ref_attach(ww_steal(grant->hold_ref), thing, grant->granted.id);
}

ww_status ww_get_reply_map_page(const struct ww_get_reply *grant, uint64_t page_bytes,
	const uint8_t page_id[WW_WIRE_ID_BYTES], struct ww_signal_map **out_page)
{
	const struct ww_wire_granted *granted = &grant->granted;
	struct ww_page_creator creator = {.uid = granted->uid, .pid = granted->pid};

	if (grant->request.fds_come_count == 0)
		return ww_fail(WW_ERR_PROTOCOL,
			"the broker granted a page of timelines without a descriptor");
	memcpy(creator.program, granted->program, sizeof(creator.program));
	return ww_signal_map_import(grant->request.fds_come[0], page_bytes, page_id, &creator,
		out_page);
}

/*
 * The description says what the maker's descriptors allow; what this process may do is what it was
 * granted. The broker sends the descriptors of that access only, the one for the memory first.
 */
ww_status ww_get_reply_map(struct ww_get_reply *grant, struct ww_device *device,
	const struct ww_import_options *options, struct ww_memory **out_memory)
{
	struct ww_description description = grant->description.memory;

	if (options->access > grant->granted.access)
		return ww_fail(WW_ERR_ACCESS, "the broker granted reading only");
	if (description.access > grant->granted.access)
		description.access = grant->granted.access;
	ww_try(ww_memory_import_whole(device, grant->request.fds_come,
		grant->request.fds_come_count, &description, options, out_memory));
	ww_get_reply_keep(grant, &(*out_memory)->attachments);
	return WW_OK;
}
