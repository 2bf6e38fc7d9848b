/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client_view.c - the clients of a service, as its server sees them, see client_view.h
 *
 * A client whose requests are not valid harms only itself: it is refused.
 */
#include "service/client_view.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "service/active.h"
#include "service/after.h"
#include "service/allocation.h"
#include "service/depends.h"
#include "service/file_limit.h"
#include "service/kept_results.h"
#include "service/late.h"
#include "wire/signal_page.h"

#define LOOKS_APART 3 /* times as long as a look took that found no client */
#define NO_NUMBER   UINT32_MAX

WW_DEFINE_CLEANUP(ww_snapshot, ww_snapshot_free)

/* --- life --- */

/* A call of another client may wait for the lane's timeline, and has it by the same ww_timeline. */
static void lane_fini(struct ww_service_lane *lane)
{
	if (lane->timeline)
		ww_timeline_close(lane->timeline);
	lane->timeline = ww_timeline_drop(lane->timeline);
	lane->after = NULL;
}

/* Of a client none of whose calls runs, or will. */
static void lanes_fini(struct ww_client_view *view)
{
	for (uint32_t i = 0; i < WW_SERVICE_LANES_MAX; i++) {
		lane_fini(&view->lanes[i]);
		ww_service_after_free(ww_steal(view->afters[i]));
	}
}

static void view_free(struct ww_client_view *view)
{
	lanes_fini(view);
	ww_group_member_fini(&view->member);
	ww_service_requests_fini(&view->requests);
	ww_service_replies_fini(&view->replies);
	free(view);
}

WW_DEFINE_CLEANUP(struct ww_client_view, view_free)

static ww_status view_new(const struct ww_service *service, struct ww_client_view **out_view)
{
	uint32_t count = service->form.calls_max;
	struct ww_client_view *view = calloc(1, sizeof(*view) + count * sizeof(view->calls[0]));

	if (!view)
		return ww_fail(WW_ERR_NO_MEMORY, "cannot note a client: out of memory");
	ww_list_init(&view->active);
	ww_list_init(&view->kept);
	view->number = NO_NUMBER;
	view->late_look_ns = WW_NEVER;
	for (uint32_t i = 0; i < WW_SERVICE_LANES_MAX; i++)
		view->lanes[i].first = WW_SERVICE_NO_SLOT;
	*out_view = view;
	return WW_OK;
}

static void note_count(struct ww_service *service, uint32_t count)
{
	service->client_count = count;
	__atomic_store_n(&service->page.header->clients, count, __ATOMIC_RELAXED);
}

static void give_number_back(struct ww_service *service, struct ww_client_view *view)
{
	if (view->number == NO_NUMBER)
		return;
	service->numbers[view->number] = NULL;
	view->number = NO_NUMBER;
	note_count(service, service->client_count - 1);
}

/* Of a client that is refused, if none of its calls runs: its number, and its files. Locked. */
static void view_drop_files(struct ww_service *service, struct ww_client_view *view)
{
	if (!view->is_refused || view->running > 0)
		return;
	for (uint32_t i = 0; i < view->requests.slot_count; i++)
		view->calls[i].is_used = false;
	view->ready = 0;
	view->waiting = 0;
	give_number_back(service, view);
	ww_service_requests_fini(&view->requests);
	ww_service_replies_fini(&view->replies);
}

/*
 * The same, of what its calls waited for, and of what tells of its end: that does not matter any
 * more. It is forgotten when the broker does not list its object. By the leader, not locked.
 */
static void view_drop_rest(struct ww_client_view *view)
{
	if (!view->is_refused || view->requests.mapping)
		return;
	view->waiting_after = 0;
	lanes_fini(view);
	view->member.page = ww_signal_map_unref(view->member.page);
	view->member.process = ww_peer_process_unref(view->member.process);
}

/* Takes nothing of it any more, and says so. @join: of enum service_join */
static void view_refuse(struct ww_service *service, struct ww_client_view *view, uint32_t join)
{
	view->is_refused = true;
	ww_service_replies_join(&view->replies, join, view->number);
	pthread_mutex_lock(&service->lock);
	view_drop_files(service, view);
	pthread_mutex_unlock(&service->lock);
	view_drop_rest(view);
}

/* --- newcomers --- */

static ww_status view_open(void *context, struct ww_group_member *member,
	const struct ww_get_reply *grant)
{
	struct ww_client_view *view = ww_client_view_of(&member->link);
	const struct ww_service *service = context;
	const struct ww_service_size size = ww_service_size_of(&service->form);
	const struct ww_wire_granted *granted = &grant->granted;
	const int *fds = grant->request.fds_come;
	struct ww_wire_service_client_ref ref;

	ww_try(ww_service_client_ref_read(granted->description, granted->description_bytes, &ref));
	ww_try(ww_group_member_map(member, grant, ref.page_bytes, ref.page_id));
	ww_try(ww_service_requests_import(&view->requests, fds[1], service->form.service_id,
		&size));
	return ww_service_replies_import(&view->replies, fds[2], service->form.service_id, &size);
}

static const struct ww_group_kind client_kind = {
	.kind = WW_OBJECT_SERVICE,
	.access = WW_WIRE_ACCESS_WRITE,
	.fd_count = 3, /* the signal page, the requests, the replies */
	.has_pidfd = true,
	.open = view_open,
};

static uint32_t count_of_user(const struct ww_service *service, uint32_t uid)
{
	uint32_t count = 0;

	ww_list_for_each (link, &service->clients.members) {
		const struct ww_client_view *view = ww_client_view_of(link);

		count += view->member.uid == uid && view->number != NO_NUMBER;
	}
	return count;
}

static uint32_t take_number(struct ww_service *service, struct ww_client_view *view)
{
	for (uint32_t i = 0; i < service->form.clients_max; i++) {
		if (service->numbers[i])
			continue;
		service->numbers[i] = view;
		return i;
	}
	return NO_NUMBER;
}

/* Whether the client may call; it is told. */
static void view_join(struct ww_service *service, struct ww_client_view *view)
{
	const uint8_t *key = view->requests.header->key;
	uint8_t copy[WW_WIRE_ID_BYTES];

	memcpy(copy, key, sizeof(copy));
	if (memcmp(copy, service->key, sizeof(copy)) != 0)
		view_refuse(service, view, WW_WIRE_SERVICE_JOIN_REFUSED_KEY);
	else if (count_of_user(service, view->member.uid) >= service->params.clients_per_uid_max ||
		(view->number = take_number(service, view)) == NO_NUMBER)
		view_refuse(service, view, WW_WIRE_SERVICE_JOIN_REFUSED_LIMIT);
	else
		ww_service_replies_join(&view->replies, WW_WIRE_SERVICE_JOIN_JOINED, view->number);
	__atomic_thread_fence(__ATOMIC_SEQ_CST); /* either side sees what the other has stored */
	if (!view->is_refused && ww_service_requests_has_left(&view->requests))
		view->is_gone = true; /* it waits no longer: its calls are not run */
	if (!view->is_refused)
		ww_service_active_add(service, view);
	if (view->number != NO_NUMBER)
		note_count(service, service->client_count + 1);
}

struct meeting {
	struct ww_service *service;
	uint32_t newcomers;
};

static ww_status meet_one(void *context, const struct ww_object_info *info)
{
	WW_CLEANUP(view_free_p) struct ww_client_view *view = NULL;
	struct meeting *meeting = context;
	struct ww_service *service = meeting->service;

	if (ww_group_can_be(&client_kind, info) && !ww_service_file_limit_look(service))
		return ww_fail_errno(EMFILE, NULL, "cannot serve one more client");
	ww_try(view_new(service, &view));
	ww_try(ww_group_get_listed(&client_kind, service->broker, info, service, &view->member));
	/*
	 * This server has had it as a client before, and has forgotten it, since it has ended: the
	 * broker can learn of that later. Its calls must not be run again.
	 */
	if (__atomic_load_n(&view->replies.header->join, __ATOMIC_ACQUIRE) != 0)
		return ww_fail(WW_ERR_PROTOCOL, "it was a client before");
	ww_try(ww_group_add(&service->clients, &view->member));
	meeting->newcomers++;
	view_join(service, view);
	if (ww_steal(view)->is_refused)
		(void)ww_group_expel(service->broker, info);
	return WW_OK;
}

/*
 * Whether the client of an object has not ended, or its end will be told. While it lives it is a
 * holder of the object beside this process. When its connection ends the broker poisons its page,
 * and keeps the object until the process has ended. A client that has put no last will, or shows
 * another page than the one that has it, has no such page. Of one that was refused no page is kept.
 */
static bool is_present(const struct ww_service *service, const struct ww_group_member *member)
{
	return member->listing == service->clients.listings &&
		(!member->page || member->is_held || ww_group_member_is_lost(member));
}

/* A broker that was started anew lists no clients, and does not have the service either. */
static void forget_absent(struct ww_service *service, ww_snapshot *snapshot)
{
	ww_group_note_listed(&service->clients, snapshot);
	if (!ww_hold_ref_is_held(&service->timeline->attachments, service->broker))
		return;
	ww_list_for_each (link, &service->clients.members) {
		struct ww_client_view *view = ww_client_view_of(link);

		if (is_present(service, &view->member))
			continue;
		view->is_gone = true;
		if (view->replies.mapping) /* if it lives, it learns that nothing more comes */
			ww_service_replies_join(&view->replies, WW_WIRE_SERVICE_JOIN_FORGOTTEN,
				view->number);
	}
	ww_client_views_forget(service);
}

static ww_status look_at_all(void *context)
{
	WW_CLEANUP(ww_snapshot_free_p) ww_snapshot *snapshot = NULL;
	struct meeting *meeting = context;
	struct ww_service *service = meeting->service;
	char prefix[WW_SERVICE_NAME_BYTES];

	ww_service_name(&service->form, "client-", prefix);
	ww_try(ww_snapshot_create(service->broker, prefix, WW_SNAPSHOT_OBJECTS, &snapshot));
	forget_absent(service, snapshot);
	return ww_group_look(&service->clients, snapshot, service->broker, meet_one, meeting);
}

/*
 * Each object that any process puts inside the service's is counted. So that such a process does
 * not keep the server from its calls, looks that find no client take a part of its time at most.
 */
static uint64_t choose_pause_ns(const struct meeting *meeting, uint64_t begun_ns)
{
	uint64_t now_ns = ww_clock_now_ns();

	return meeting->newcomers > 0 ? 0 : now_ns + LOOKS_APART * (now_ns - begun_ns);
}

bool ww_client_views_have_come(const struct ww_service *service)
{
	return ww_group_may_meet(&service->clients.newcomers,
		ww_group_count(service->timeline->page));
}

uint64_t ww_client_views_look_ns(const struct ww_service *service)
{
	const struct ww_group_newcomers *newcomers = &service->clients.newcomers;

	return ww_group_count(service->timeline->page) != newcomers->seen ? newcomers->ask_again_ns
									  : WW_NEVER;
}

ww_status ww_client_views_meet(struct ww_service *service)
{
	uint64_t begun_ns = ww_clock_now_ns();
	struct meeting meeting = {.service = service};
	struct ww_error record;
	ww_status status;

	if (!ww_client_views_have_come(service))
		return WW_OK;
	ww_error_save(&record);
	status = ww_group_meet(&service->clients.newcomers, ww_group_count(service->timeline->page),
		look_at_all, &meeting);
	if (status == WW_OK)
		service->clients.newcomers.ask_again_ns = choose_pause_ns(&meeting, begun_ns);
	if (status >= 0)
		return status == WW_NOT_READY ? WW_OK : status;
	/* Newcomers wait; the calls of known clients go on. */
	service->clients.newcomers.ask_again_ns = ww_clock_deadline_ns(WW_GROUP_PAUSE_NS);
	ww_log_debug("a service cannot meet its new clients: %s", ww_error_last()->message);
	ww_error_restore(&record);
	return WW_OK;
}

/* --- calls --- */

static void write_reply(struct ww_layout_service_reply *reply, ww_status status,
	const char *message, uint64_t failed_call)
{
	reply->status = (uint32_t)status;
	reply->failed_call = failed_call;
	if (status != WW_OK)
		strncpy((char *)reply->message, message, sizeof(reply->message) - 1);
}

static void count_end(const struct ww_offer *offer, ww_status status)
{
	if (!offer)
		return;
	__atomic_store_n(&offer->shared->calls, offer->shared->calls + 1, __ATOMIC_RELAXED);
	if (status < 0)
		__atomic_store_n(&offer->shared->failed, offer->shared->failed + 1,
			__ATOMIC_RELAXED);
}

/* The call is complete, however it ended. Poison is all that can be in the way. */
static void raise_lane(struct ww_service_lane *lane, const struct ww_taken_call *taken)
{
	struct ww_error record;

	if (!lane->timeline || taken->is_signalled)
		return;
	ww_error_save(&record);
	(void)ww_timeline_signal(lane->timeline, taken->value);
	ww_error_restore(&record);
}

void ww_client_view_end(struct ww_service *service, struct ww_client_view *view, uint32_t slot,
	ww_status status, const char *message, uint64_t failed_call)
{
	struct ww_taken_call *taken = &view->calls[slot];
	uint64_t call = taken->request.call;

	write_reply(&view->replies.slots[slot], status, message, failed_call);
	raise_lane(&view->lanes[taken->request.lane], taken);
	if (status != WW_OK && failed_call == 0)
		failed_call = call;
	ww_depends_end(view, taken, status == WW_OK ? 0 : failed_call);
	taken->is_used = false;
	view->ready |= view->waiting;
	view->waiting = 0;
	count_end(ww_service_offer_of(service, taken->request.function), status);
	ww_service_replies_end(&view->replies, slot, call, &view->requests);
}

/* Whether a copy of what the client says can be a call. */
static bool is_possible(const struct ww_client_view *view, uint64_t call, uint64_t slot,
	const struct ww_layout_service_request *request)
{
	return request->call == call && request->lane < WW_SERVICE_LANES_MAX &&
		!view->calls[slot].is_used;
}

static void lane_append(struct ww_client_view *view, uint32_t number, uint32_t slot)
{
	struct ww_service_lane *lane = &view->lanes[number];

	view->calls[slot].next = WW_SERVICE_NO_SLOT;
	view->calls[slot].value = ++lane->calls;
	if (lane->first == WW_SERVICE_NO_SLOT)
		lane->first = slot;
	else
		view->calls[lane->last].next = slot;
	lane->last = slot;
	view->ready |= UINT64_C(1) << number;
}

void ww_client_view_requeue(struct ww_client_view *view, uint32_t number, uint32_t slot)
{
	struct ww_service_lane *lane = &view->lanes[number];

	view->calls[slot].next = lane->first;
	if (lane->first == WW_SERVICE_NO_SLOT)
		lane->last = slot;
	lane->first = slot;
	view->ready |= UINT64_C(1) << number;
}

/* Return: false: it cannot be a call. */
static bool view_take(struct ww_service *service, struct ww_client_view *view, uint64_t call)
{
	uint64_t slot = ww_service_requests_slot(&view->requests, call);
	struct ww_layout_service_request request;

	if (slot >= view->requests.slot_count)
		return false;
	memcpy(&request, &view->requests.slots[slot], sizeof(request));
	__asm__ volatile("" ::: "memory"); /* the copy is what is looked at from now on */
	if (!is_possible(view, call, slot, &request))
		return false;
	view->calls[slot].request = request;
	view->calls[slot].is_used = true;
	view->calls[slot].is_late = service->is_refusing;
	view->calls[slot].is_signalled = false;
	view->calls[slot].taken_ns = request.deadline_ns == WW_NEVER ? 0 : ww_clock_now_ns();
	ww_depends_take(view, &view->calls[slot]);
	lane_append(view, request.lane, (uint32_t)slot);
	ww_late_note(service, view, request.deadline_ns);
	return true;
}

void ww_client_view_absorb(struct ww_service *service, struct ww_client_view *view)
{
	uint64_t published;
	uint64_t count;

	if (view->is_refused)
		return;
	published = ww_service_requests_published(&view->requests);
	count = published - view->taken;
	if (count == 0)
		return;
	if (count > view->requests.slot_count) {
		view_refuse(service, view, WW_WIRE_SERVICE_JOIN_REFUSED_PAGES);
		return;
	}
	pthread_mutex_lock(&service->lock);
	while (view->taken < published && view_take(service, view, view->taken + 1))
		view->taken++;
	pthread_mutex_unlock(&service->lock);
	if (view->taken < published)
		view_refuse(service, view, WW_WIRE_SERVICE_JOIN_REFUSED_PAGES);
	__atomic_store_n(&service->page.header->calls, service->page.header->calls + count,
		__ATOMIC_RELAXED);
}

/* --- those that end --- */

static bool has_ended(const struct ww_client_view *view)
{
	(void)ww_peer_process_look(view->member.process);
	return (view->member.page && ww_group_member_has_ended(&view->member)) ||
		(view->requests.mapping && ww_service_requests_has_left(&view->requests));
}

static void view_forget(struct ww_service *service, struct ww_client_view *view)
{
	ww_service_active_remove(service, view);
	ww_group_remove(&service->clients, &view->member);
	ww_allocations_end_of(service, view);
	give_number_back(service, view);
	view_free(view);
}

/* Locked; not meanwhile. */
static void release_recent(struct ww_service *service, struct ww_client_view *view,
	uint64_t before_ns)
{
	ww_memory *memory;

	while ((memory = ww_recent_take(&view->recent, before_ns))) {
		pthread_mutex_unlock(&service->lock);
		ww_memory_unref(memory);
		pthread_mutex_lock(&service->lock);
	}
}

/* Memories that were used before this are not kept any more. */
static uint64_t keep_since_ns(const struct ww_service *service)
{
	uint64_t now_ns = ww_clock_now_ns();

	return now_ns > service->params.keep_ns ? now_ns - service->params.keep_ns : 0;
}

/* Return: whether nothing of it is used any more. */
static bool view_look(struct ww_service *service, struct ww_client_view *view)
{
	bool is_over;
	bool is_last;

	if (!view->is_gone && has_ended(view))
		view->is_gone = true;
	if (!view->is_refused && ww_service_requests_published(&view->requests) != view->taken)
		ww_service_active_add(service,
			view); /* its bit may have been cleared by another one */
	pthread_mutex_lock(&service->lock);
	is_over = view->is_gone && view->running == 0;
	view_drop_files(service, view);
	is_last = is_over || !view->requests.mapping;
	ww_client_view_release(service, view, is_last);
	release_recent(service, view, is_last ? WW_NEVER : keep_since_ns(service));
	pthread_mutex_unlock(&service->lock);
	view_drop_rest(view);
	return is_over;
}

void ww_client_views_forget(struct ww_service *service)
{
	struct ww_list *next;

	for (struct ww_list *link = service->clients.members.next;
		link != &service->clients.members; link = next) {
		struct ww_client_view *view = ww_client_view_of(link);

		next = link->next;
		if (view_look(service, view))
			view_forget(service, view);
	}
	ww_service_file_limit_look_again(service);
}

/* Ends what was queued or not even taken. Locked. */
static void view_end_all(struct ww_service *service, struct ww_client_view *view)
{
	for (uint32_t i = 0; i < view->requests.slot_count; i++) {
		if (view->calls[i].is_used)
			ww_client_view_end(service, view, i, WW_ERR_UNAVAILABLE,
				"the server has closed the service", 0);
	}
}

void ww_client_views_fini(struct ww_service *service)
{
	struct ww_list *link;

	while ((link = service->clients.members.next) != &service->clients.members) {
		struct ww_client_view *view = ww_client_view_of(link);

		pthread_mutex_lock(&service->lock);
		view_end_all(service, view);
		ww_client_view_release(service, view, true);
		release_recent(service, view, WW_NEVER);
		pthread_mutex_unlock(&service->lock);
		if (view->replies.mapping)
			ww_await_wake(&view->replies.header->wakes);
		view_forget(service, view);
	}
}
