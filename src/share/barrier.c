/* SPDX-License-Identifier: Apache-2.0 */
/*
 * barrier.c - how the members of a barrier find each other
 *
 * The barrier is an object without descriptors: an id and a count. Only processes that hold it may
 * put and get objects with names inside it; so each member puts its timeline there, named by its
 * rank, and gets those of all others. From then on the broker is only needed to poison the
 * timelines of members that end.
 *
 * A member's timeline stays there when the member has ended or left, however early, until the
 * barrier ends: so a process that looks for it later learns what became of it. As soon as there is
 * such a timeline, the broker answers all requests that wait for ranks that are not taken. A
 * process that fails to join takes its own out, and the rank is free for the next one.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/params.h"
#include "base/process.h"
#include "base/random.h"
#include "share/call_limit.h"
#include "share/choose_broker.h"
#include "share/token_import.h"
#include "share/sync_object.h"
#include "sync/barrier.h"
#include "wire/name.h"

#define MEMBER_MODE   0444 /* the mode of the barrier decides */
#define LOOK_FIRST_NS UINT64_C(50000000)
#define LOOK_MOST_NS  UINT64_C(800000000)

/* The escrow keeps the barrier until members come; this process lets go of it. */
static ww_status put_barrier(struct ww_broker *broker, struct ww_put_request *request,
	const struct ww_barrier_params *params, struct ww_token *out_token)
{
	const struct ww_escrow escrow = {.ns = params->escrow_ns, .uses = params->uses};
	struct ww_attachments hold = {NULL};
	struct ww_token_info info = {
		.struct_size = sizeof(info),
		.kind = WW_OBJECT_BARRIER,
		.access = WW_ACCESS_READ,
	};
	ww_status status;

	ww_try(ww_put_request_put(request, &hold, broker, 0));
	memcpy(info.object_id, request->put.id, sizeof(info.object_id));
	status = ww_export_object(broker, &info, &escrow, out_token);
	ww_attachments_fini(&hold);
	return status;
}

static ww_status read_params(const struct ww_barrier_params *params, struct ww_barrier_params *ours,
	struct ww_name_params *name)
{
	memset(ours, 0, sizeof(*ours));
	ww_try(ww_params_read(ours, sizeof(*ours), params, sizeof(*ours), "ww_barrier_params"));
	if (ours->count == 0 || ours->count > WW_BARRIER_MEMBERS_MAX)
		return ww_fail(WW_ERR_INVALID,
			"a barrier cannot have %" PRIu32 " members; set count to 1 to %d",
			ours->count, WW_BARRIER_MEMBERS_MAX);
	if (ours->reserved)
		return ww_fail(WW_ERR_INVALID, "ww_barrier_params.reserved is not 0");
	if (ours->escrow_ns == WW_ESCROW_NONE)
		return ww_fail(WW_ERR_INVALID,
			"a barrier without an escrow would end before a process joins; leave escrow_ns 0, or "
			"say how long it stays for members to come");
	return ww_sync_object_read_name(WW_PARAMS(struct ww_name_params, .mode = ours->mode,
						.gid = ours->gid, .flags = ours->flags),
		name);
}

ww_status ww_barrier_create(ww_broker *broker, const char *name,
	const struct ww_barrier_params *params, ww_cancel *cancel, struct ww_token *out_token)
{
	WW_AUTO_CANCEL struct ww_cancel_scope scope = ww_cancel_enter(cancel);
	WW_AUTO_KEPT_BROKER struct ww_broker *opened = NULL;
	WW_AUTO_PUT_REQUEST struct ww_put_request request = {.fd_count = 0};
	struct ww_wire_barrier_ref ref;
	uint8_t id[WW_WIRE_ID_BYTES];
	struct ww_barrier_params ours;
	struct ww_name_params named;
	struct ww_token token;

	ww_try(ww_process_enter());
	ww_require(params, "ww_barrier_create: params is NULL, which says how many members");
	if (!name && !out_token)
		return ww_fail(WW_ERR_INVALID,
			"no process can join a barrier that has no name and no token; set name, "
			"out_token, or both");
	ww_try(read_params(params, &ours, &named));
	ww_try(ww_random_bytes(id, sizeof(id)));
	ww_sync_object_request_init(&request, WW_OBJECT_BARRIER, id, &named);
	if (name) {
		ww_try(ww_name_check(name));
		memcpy(request.put.name, name, strlen(name));
	}
	ref = (struct ww_wire_barrier_ref){.count = ours.count};
	memcpy(ref.barrier_id, id, sizeof(ref.barrier_id));
	ww_barrier_ref_write(&ref, request.put.description);
	request.put.description_bytes = WW_BARRIER_REF_BYTES;
	ww_try(ww_choose_broker(&broker, &opened, 0));
	ww_try(ww_sync_object_require_broker(broker));
	return put_barrier(broker, &request, &ours, out_token ? out_token : &token);
}

/* --- joining --- */

struct joining {
	struct ww_broker *broker;
	struct ww_barrier *barrier;
	uint64_t deadline_ns;
	uint32_t rank;            /* as asked for */
	const char *barrier_name; /* NULL: got by a token */
	char name[WW_NAME_BYTES]; /* inside the barrier's object */
};

static const char *name_of(struct joining *joining, uint32_t rank)
{
	snprintf(joining->name + WW_NAME_INSIDE_CHARS, sizeof(joining->name) - WW_NAME_INSIDE_CHARS,
		"%" PRIu32, rank);
	return joining->name;
}

/*
 * Gets all that are there, for one of them has ended or left. Return: WW_ERR_PEER_LOST; WW_OK: none
 * that matters.
 */
static ww_status look_at_all(struct joining *joining)
{
	struct ww_barrier *barrier = joining->barrier;
	struct ww_error record;

	ww_error_save(&record);
	for (uint32_t rank = 0; rank < barrier->count; rank++) {
		if (!barrier->members[rank])
			(void)ww_timeline_get(joining->broker, name_of(joining, rank), 0, NULL,
				&barrier->members[rank]);
	}
	ww_error_restore(&record);
	return ww_barrier_check(barrier);
}

/* Puts this member's timeline under its rank, or under the first that is free. */
static ww_status take_rank(struct joining *joining, ww_timeline *own, uint32_t *out_rank)
{
	const struct ww_name_params params = {
		.struct_size = sizeof(params),
		.mode = MEMBER_MODE,
		.gid = WW_GID_OWN,
		.flags = WW_SHARE_STAYS,
	};
	uint32_t first = joining->rank == WW_BARRIER_ANY_RANK ? 0 : joining->rank;
	uint32_t end = joining->rank == WW_BARRIER_ANY_RANK ? joining->barrier->count : first + 1;
	ww_status status = WW_ERR_EXISTS;
	struct ww_error record;

	ww_error_save(&record);
	for (uint32_t rank = first; rank < end && status == WW_ERR_EXISTS; rank++) {
		*out_rank = rank;
		status = ww_sync_object_timeline(own, joining->broker, name_of(joining, rank),
			&params);
	}
	if (status == WW_ERR_EXISTS) {
		ww_try(look_at_all(joining));
		return ww_fail(WW_ERR_EXISTS, "cannot join the barrier: %s taken",
			first + 1 == end ? "that rank is" : "all ranks are");
	}
	if (status == WW_OK)
		ww_error_restore(&record);
	return status;
}

/*
 * The broker reports when a name comes. It does not report members that end meanwhile, so this
 * process checks them.
 */
static ww_status get_member(struct joining *joining, uint32_t rank)
{
	struct ww_barrier *barrier = joining->barrier;
	uint64_t pause_ns = LOOK_FIRST_NS;
	uint64_t left_ns;
	ww_status status;

	for (;;) {
		left_ns = ww_clock_left_ns(joining->deadline_ns);
		status = ww_timeline_get(joining->broker, name_of(joining, rank),
			left_ns < pause_ns ? left_ns : pause_ns, NULL, &barrier->members[rank]);
		/*
		 * Without time to wait a name that is not there is one that did not come in time.
		 */
		if (status == WW_ERR_NOT_FOUND && left_ns == 0)
			status = WW_TIMED_OUT;
		if (status == WW_ERR_PEER_LOST)
			ww_try(look_at_all(joining)); /* which one it is */
		if (status != WW_TIMED_OUT || left_ns <= pause_ns)
			return status;
		ww_try(ww_barrier_check(barrier));
		if (pause_ns < LOOK_MOST_NS)
			pause_ns *= 2;
	}
}

static ww_status fail_absent(const struct joining *joining, uint32_t rank)
{
	if (joining->barrier_name)
		return ww_fail(WW_TIMED_OUT,
			"rank %" PRIu32 " did not join barrier '%.100s' in time", rank,
			joining->barrier_name);
	return ww_fail(WW_TIMED_OUT, "rank %" PRIu32 " did not join barrier %.*s in time", rank,
		WW_NAME_INSIDE_CHARS - 1, joining->name);
}

static ww_status get_others(struct joining *joining)
{
	struct ww_barrier *barrier = joining->barrier;

	for (uint32_t rank = 0; rank < barrier->count; rank++) {
		ww_status status = WW_OK;

		if (!barrier->members[rank])
			status = get_member(joining, rank);
		if (status == WW_TIMED_OUT)
			return fail_absent(joining, rank);
		if (status != WW_OK)
			return status;
	}
	return ww_barrier_check(barrier);
}

/* Sends a request; if it fails, the broker knows less of the barrier. Return: whether it did it. */
static bool tell(const struct joining *joining, uint16_t code, const void *message)
{
	WW_AUTO_REQUEST struct ww_request request;
	struct ww_error record;
	ww_status status;

	ww_error_save(&record);
	ww_request_init(&request, code, WW_WIRE_DONE, message);
	request.limit_ns = joining->deadline_ns;
	request.starts_none = true;
	status = ww_broker_client_ask(joining->broker, &request);
	ww_error_restore(&record);
	return status == WW_OK;
}

/* This process is not a member, so the objects that it has put there must not stay. */
static void free_rank(struct joining *joining)
{
	const struct ww_barrier *barrier = joining->barrier;
	struct ww_wire_remove message = {.flags = 0};

	if (!ww_hold_ref_find(&barrier->members[barrier->rank]->attachments, joining->broker,
		    message.id))
		return;
	snprintf(message.name, sizeof(message.name), "%s", name_of(joining, barrier->rank));
	if (!tell(joining, WW_WIRE_REMOVE, &message))
		ww_broker_client_remove_at_release(joining->broker, message.id, message.name);
}

/* All are there, so the barrier is for its members alone: it ends with the last of them. */
static void say_complete(struct joining *joining)
{
	struct ww_barrier *barrier = joining->barrier;
	struct ww_wire_seal message = {.state = WW_WIRE_STATE_SEALED};

	if (ww_hold_ref_find(&barrier->members[barrier->rank]->attachments, joining->broker,
		    message.id))
		(void)tell(joining, WW_WIRE_SEAL, &message);
}

static ww_status become_member(struct joining *joining)
{
	WW_AUTO_TIMELINE struct ww_timeline *own = NULL;
	uint32_t rank = 0;
	ww_status status;

	ww_try(ww_timeline_create_alone(&own)); /* what its page says is of this barrier only */
	ww_try(take_rank(joining, own, &rank));
	joining->barrier->rank = rank;
	joining->barrier->members[rank] = ww_steal(own);
	status = get_others(joining);
	if (status == WW_OK)
		say_complete(joining);
	else
		free_rank(joining);
	return status;
}

/* What was granted is a barrier, as far as its description says. */
static ww_status join(struct ww_get_reply *grant, struct joining *joining, ww_barrier **out_barrier)
{
	const struct ww_wire_granted *granted = &grant->granted;
	WW_AUTO_BARRIER struct ww_barrier *barrier = NULL;
	struct ww_wire_barrier_ref ref;
	ww_status status;

	ww_try(ww_barrier_ref_read(granted->description, granted->description_bytes, &ref));
	if (memcmp(ref.barrier_id, granted->id, sizeof(ref.barrier_id)) != 0)
		return ww_fail(WW_ERR_PROTOCOL, "the barrier's description is that of another one");
	if (joining->rank != WW_BARRIER_ANY_RANK && joining->rank >= ref.count)
		return ww_fail(WW_ERR_INVALID,
			"there is no rank %" PRIu32 " in a barrier of %" PRIu32 " members",
			joining->rank, ref.count);
	barrier = ww_barrier_new(ref.count);
	if (!barrier)
		return WW_ERR_NO_MEMORY;
	joining->broker = grant->broker;
	joining->barrier = barrier;
	ww_name_begin_inside(granted->id, joining->name);
	ww_get_reply_keep(grant, &barrier->object);
	status = become_member(joining);
	if (status == WW_OK)
		*out_barrier = ww_steal(barrier);
	return status;
}

ww_status ww_barrier_get(ww_broker *broker, const char *name, uint32_t rank, uint64_t timeout_ns,
	ww_cancel *cancel, ww_barrier **out_barrier)
{
	WW_AUTO_CANCEL struct ww_cancel_scope scope = ww_cancel_enter(cancel);
	WW_AUTO_KEPT_BROKER struct ww_broker *opened = NULL;
	struct joining joining = {
		.rank = rank,
		.barrier_name = name,
		.deadline_ns = ww_clock_deadline_ns(timeout_ns),
	};
	struct ww_wire_get message = {.access = WW_WIRE_ACCESS_READ};
	WW_AUTO_GET_REPLY struct ww_get_reply grant;
	struct ww_call_limit limit;
	ww_status status;

	ww_clear(out_barrier, NULL);
	ww_get_reply_init(&grant, broker, WW_WIRE_GET, &message, WW_OBJECT_BARRIER);
	ww_try(ww_process_enter());
	ww_require(name && out_barrier, "ww_barrier_get: name or out_barrier is NULL");
	ww_try(ww_name_check(name));
	ww_call_limit_begin(&limit, timeout_ns);
	ww_get_reply_set_name(&grant, &message, name, timeout_ns);
	status = ww_choose_broker(&grant.broker, &opened, 0);
	if (status == WW_OK)
		status = ww_sync_object_require_broker(grant.broker);
	if (status == WW_OK)
		status = ww_get_reply_ask(&grant);
	if (status == WW_OK)
		status = join(&grant, &joining, out_barrier);
	return ww_call_limit_end(&limit, status);
}

ww_status ww_barrier_import(ww_broker *broker, const struct ww_token *token, uint32_t rank,
	uint64_t timeout_ns, ww_cancel *cancel, ww_barrier **out_barrier)
{
	WW_AUTO_CANCEL struct ww_cancel_scope scope = ww_cancel_enter(cancel);
	struct joining joining = {
		.rank = rank,
		.deadline_ns = ww_clock_deadline_ns(timeout_ns),
	};
	WW_AUTO_IMPORT struct ww_import import;
	struct ww_call_limit limit;
	ww_status status;

	ww_clear(out_barrier, NULL);
	ww_import_init(&import, WW_OBJECT_BARRIER, WW_ACCESS_READ);
	ww_try(ww_process_enter());
	ww_require(token && out_barrier, "ww_barrier_import: token or out_barrier is NULL");
	ww_call_limit_begin(&limit, timeout_ns);
	status = ww_import_ask(&import, broker, token);
	if (status == WW_OK)
		status = join(&import.grant, &joining, out_barrier);
	return ww_call_limit_end(&limit, status);
}
