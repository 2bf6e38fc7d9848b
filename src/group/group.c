/* SPDX-License-Identifier: Apache-2.0 */
/*
 * group.c - the members of a shared object, see group.h
 */
#include "group/group.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "client/request.h"

#define ANSWER_NS UINT64_C(1000000000) /* how long a broker has to answer a removal */
#define EXPEL_NS  UINT64_C(20000000)   /* of one look; several hundred objects */

/* --- one member --- */

/* What it means that the broker did not hand over an object. */
static ww_status judge_answer(ww_status status)
{
	switch (status) {
	case WW_ERR_PEER_LOST:
		return WW_ERR_NOT_FOUND;
	case WW_ERR_ACCESS: /* it was put so that its group cannot read it, or is another thing */
	case WW_ERR_STATE:
	case WW_ERR_UNSUPPORTED:
	case WW_ERR_DESCRIPTOR:
		return WW_ERR_PROTOCOL;
	case WW_ERR_PROTOCOL: /* that is about the broker */
	case WW_ERR_VERSION:
		return WW_ERR_NO_BROKER;
	default:
		return status;
	}
}

/* The same, without an answer: it says nothing about the object. */
static ww_status judge_silence(ww_status status)
{
	return status > 0 || status == WW_ERR_LIMIT || status == WW_ERR_NO_MEMORY
		? status
		: WW_ERR_NO_BROKER;
}

/* What it means that an object that came could not be opened. */
static ww_status judge_content(ww_status status)
{
	switch (status) {
	case WW_ERR_MISMATCH:
	case WW_ERR_DESCRIPTOR:
	case WW_ERR_ACCESS:
	case WW_ERR_UNSUPPORTED:
		return WW_ERR_PROTOCOL;
	default:
		return status;
	}
}

static ww_status open_member(const struct ww_group_kind *kind, const struct ww_get_reply *grant,
	void *context, struct ww_group_member *member)
{
	if (grant->request.fds_come_count < kind->fd_count)
		return ww_fail(WW_ERR_PROTOCOL,
			"it comes with %zu descriptors, and a member's with %" PRIu32,
			grant->request.fds_come_count, kind->fd_count);
	ww_try(kind->open(context, member, grant));
	return kind->has_pidfd ? ww_peer_process_get(grant, kind->fd_count, &member->process)
			       : WW_OK;
}

ww_status ww_group_get(const struct ww_group_kind *kind, struct ww_broker *broker, const char *name,
	void *context, struct ww_group_member *member)
{
	struct ww_wire_get message = {.access = kind->access};
	WW_AUTO_GET_REPLY struct ww_get_reply grant;
	ww_status status;

	ww_get_reply_init(&grant, broker, WW_WIRE_GET, &message, kind->kind);
	ww_get_reply_set_name(&grant, &message, name, 0);
	status = ww_get_reply_ask(&grant);
	if (status != WW_OK)
		return grant.request.answer_code ? judge_answer(status) : judge_silence(status);
	memcpy(member->id, grant.granted.id, sizeof(member->id));
	member->uid = grant.granted.uid;
	if (grant.granted.pid == 0) /* an older broker says it in its listings only */
		grant.granted.pid = member->pid;
	status = open_member(kind, &grant, context, member);
	if (status != WW_OK)
		return judge_content(status);
	ww_get_reply_keep(&grant, &member->attachments);
	return WW_OK;
}

ww_status ww_group_get_listed(const struct ww_group_kind *kind, struct ww_broker *broker,
	const struct ww_object_info *info, void *context, struct ww_group_member *member)
{
	if (!ww_group_can_be(kind, info))
		return ww_fail(WW_ERR_PROTOCOL, "it is of kind %s, with %" PRIu32 " descriptors",
			ww_object_kind_name(info->kind), info->fd_count);
	member->gid = info->gid;
	member->pid = info->pid;
	ww_try(ww_group_get(kind, broker, info->name, context, member));
	/* Another one has taken the name since, and was counted. */
	return memcmp(member->id, info->object_id, sizeof(member->id)) == 0 ? WW_OK
									    : WW_ERR_NOT_FOUND;
}

ww_status ww_group_member_map(struct ww_group_member *member, const struct ww_get_reply *grant,
	uint64_t page_bytes, const uint8_t page_id[WW_WIRE_ID_BYTES])
{
	ww_try(ww_get_reply_map_page(grant, page_bytes, page_id, &member->page));
	member->cell = ww_signal_map_cell(member->page, sizeof(struct ww_layout_signal_page));
	if (!member->cell)
		return ww_fail(WW_ERR_PROTOCOL, "it shows an empty page");
	return WW_OK;
}

void ww_group_member_fini(struct ww_group_member *member)
{
	ww_attachments_fini(&member->attachments);
	member->page = ww_signal_map_unref(member->page);
	member->process = ww_peer_process_unref(member->process);
}

/* --- those of one object --- */

static uint64_t hash_of(const uint8_t id[WW_WIRE_ID_BYTES])
{
	uint64_t hash;

	memcpy(&hash, id, sizeof(hash));
	return hash;
}

void ww_group_init(struct ww_group *group)
{
	*group = (struct ww_group){.listings = 0};
	ww_list_init(&group->members);
}

struct ww_group_member *ww_group_find(const struct ww_group *group,
	const uint8_t id[WW_WIRE_ID_BYTES])
{
	ww_map_for_each (node, &group->known, hash_of(id)) {
		struct ww_group_member *member = ww_container(node, struct ww_group_member, node);

		if (!memcmp(member->id, id, sizeof(member->id)))
			return member;
	}
	return NULL;
}

ww_status ww_group_add(struct ww_group *group, struct ww_group_member *member)
{
	ww_try(ww_map_insert(&group->known, &member->node, hash_of(member->id)));
	ww_list_append(&group->members, &member->link);
	member->listing = group->listings;
	return WW_OK;
}

void ww_group_remove(struct ww_group *group, struct ww_group_member *member)
{
	ww_list_remove(&member->link);
	ww_map_remove(&group->known, &member->node);
	if (group->known.count == 0)
		ww_map_fini(&group->known);
}

void ww_group_note_listed(struct ww_group *group, ww_snapshot *snapshot)
{
	struct ww_object_info info = WW_INIT(struct ww_object_info);

	group->listings++;
	for (size_t i = 0; ww_snapshot_object(snapshot, i, &info) == WW_OK; i++) {
		struct ww_group_member *member = ww_group_find(group, info.object_id);

		if (!member)
			continue;
		member->listing = group->listings;
		member->is_held = info.is_own || info.holders > 1;
	}
}

ww_status ww_group_look(struct ww_group *group, ww_snapshot *snapshot, struct ww_broker *owner,
	ww_group_meet_fn meet, void *context)
{
	struct ww_object_info info = WW_INIT(struct ww_object_info);
	uint64_t until_ns = ww_clock_deadline_ns(EXPEL_NS);

	for (size_t i = 0; ww_snapshot_object(snapshot, i, &info) == WW_OK; i++) {
		ww_status status = ww_group_find(group, info.object_id) ? WW_OK
									: meet(context, &info);

		if (status == WW_OK)
			continue;
		if (!ww_group_is_no_member(status))
			return status;
		if (status == WW_ERR_NOT_FOUND)
			continue;
		ww_log_debug("what process %" PRIu32 " of user %" PRIu32
			     " has put at '%s' is no member: %s",
			info.pid, info.uid, info.name, ww_error_last()->message);
		if (owner && ww_clock_now_ns() < until_ns)
			(void)ww_group_expel(owner, &info);
	}
	return WW_OK;
}

bool ww_group_may_meet(const struct ww_group_newcomers *newcomers, uint32_t count)
{
	return count != newcomers->seen && ww_clock_now_ns() >= newcomers->ask_again_ns;
}

ww_status ww_group_meet(struct ww_group_newcomers *newcomers, uint32_t count,
	ww_status (*look)(void *context), void *context)
{
	struct ww_error record;
	ww_status status;

	if (count == newcomers->seen)
		return WW_OK;
	if (ww_clock_now_ns() < newcomers->ask_again_ns)
		return WW_NOT_READY;
	ww_error_save(&record);
	status = look(context);
	newcomers->ask_again_ns = status == WW_ERR_NO_BROKER
		? ww_clock_deadline_ns(WW_GROUP_PAUSE_NS)
		: 0;
	if (status == WW_OK)
		newcomers->seen = count;
	else if (status == WW_ERR_NO_BROKER)
		ww_log_debug("new members wait: %s", ww_error_last()->message);
	else
		return status;
	ww_error_restore(&record);
	return status == WW_OK ? WW_OK : WW_NOT_READY;
}

/* --- taking out of the broker --- */

bool ww_group_take_out(struct ww_broker *broker, const char *name, const uint8_t *id)
{
	WW_AUTO_REQUEST_LIMIT uint64_t former_ns = ww_request_limit();
	struct ww_wire_remove message = {.flags = 0};
	WW_AUTO_REQUEST struct ww_request request;
	ww_status status = WW_ERR_VERSION;
	struct ww_error record;

	ww_request_init(&request, WW_WIRE_REMOVE, WW_WIRE_DONE, &message);
	request.starts_none = true;
	memcpy(message.name, name, strlen(name));
	if (id)
		memcpy(message.id, id, sizeof(message.id));
	ww_error_save(&record);
	ww_request_limit_all(ww_clock_deadline_ns(ANSWER_NS));
	if (!id || ww_broker_client_version(broker) >= WW_REMOVES_BY_ID)
		status = ww_broker_client_ask(broker, &request);
	ww_error_restore(&record);
	return status == WW_OK;
}

bool ww_group_expel(struct ww_broker *broker, const struct ww_object_info *info)
{
	return info->uid != geteuid() && ww_group_take_out(broker, info->name, info->object_id);
}
