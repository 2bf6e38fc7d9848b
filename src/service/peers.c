/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peers.c - the clients of a service, as its server sees them, see peers.h
 *
 * A client whose requests are not valid harms only itself: it is refused.
 */
#include "service/peers.h"

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
#include "share/get_reply.h"
#include "share/inside.h"
#include "wire/signal_page.h"

#define PAUSE_NS    UINT64_C(1000000000) /* before a broker that did not answer is asked again */
#define LOOKS_APART 3                    /* times as long as a look took that found no client */
#define NO_NUMBER   UINT32_MAX
#define CLIENT_FDS  3 /* that come: the signal page, the requests, the replies; then the pidfd */

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
static void lanes_fini(struct ww_service_peer *peer)
{
	for (uint32_t i = 0; i < WW_SERVICE_LANES_MAX; i++) {
		lane_fini(&peer->lanes[i]);
		ww_service_after_free(ww_steal(peer->afters[i]));
	}
}

static void peer_free(struct ww_service_peer *peer)
{
	lanes_fini(peer);
	ww_attachments_fini(&peer->attachments);
	ww_service_requests_fini(&peer->requests);
	ww_service_replies_fini(&peer->replies);
	ww_signal_map_unref(peer->page);
	ww_peer_process_unref(peer->process);
	free(peer);
}

WW_DEFINE_CLEANUP(struct ww_service_peer, peer_free)

static ww_status peer_new(const struct ww_service *service, struct ww_service_peer **out_peer)
{
	uint32_t count = service->form.calls_max;
	struct ww_service_peer *peer = calloc(1, sizeof(*peer) + count * sizeof(peer->calls[0]));

	if (!peer)
		return ww_fail(WW_ERR_NO_MEMORY, "cannot note a client: out of memory");
	ww_list_init(&peer->active);
	ww_list_init(&peer->kept);
	peer->number = NO_NUMBER;
	peer->late_look_ns = WW_NEVER;
	for (uint32_t i = 0; i < WW_SERVICE_LANES_MAX; i++)
		peer->lanes[i].first = WW_SERVICE_NO_SLOT;
	*out_peer = peer;
	return WW_OK;
}

static void note_count(struct ww_service *service, uint32_t count)
{
	service->peer_count = count;
	__atomic_store_n(&service->page.header->clients, count, __ATOMIC_RELAXED);
}

static void give_number_back(struct ww_service *service, struct ww_service_peer *peer)
{
	if (peer->number == NO_NUMBER)
		return;
	service->numbers[peer->number] = NULL;
	peer->number = NO_NUMBER;
	note_count(service, service->peer_count - 1);
}

/* Of a client that is refused, if none of its calls runs: its number, and its files. Locked. */
static void peer_drop_files(struct ww_service *service, struct ww_service_peer *peer)
{
	if (!peer->is_refused || peer->running > 0)
		return;
	for (uint32_t i = 0; i < peer->requests.slot_count; i++)
		peer->calls[i].is_used = false;
	peer->ready = 0;
	peer->waiting = 0;
	give_number_back(service, peer);
	ww_service_requests_fini(&peer->requests);
	ww_service_replies_fini(&peer->replies);
}

/*
 * The same, of what its calls waited for, and of what tells of its end: that does not matter any
 * more. It is forgotten when the broker does not list its object. By the leader, not locked.
 */
static void peer_drop_rest(struct ww_service_peer *peer)
{
	if (!peer->is_refused || peer->requests.mapping)
		return;
	peer->waiting_after = 0;
	lanes_fini(peer);
	peer->page = ww_signal_map_unref(peer->page);
	peer->process = ww_peer_process_unref(peer->process);
}

/* Takes nothing of it any more, and says so. @join: of enum service_join */
static void peer_refuse(struct ww_service *service, struct ww_service_peer *peer, uint32_t join)
{
	peer->is_refused = true;
	ww_service_replies_join(&peer->replies, join, peer->number);
	pthread_mutex_lock(&service->lock);
	peer_drop_files(service, peer);
	pthread_mutex_unlock(&service->lock);
	peer_drop_rest(peer);
}

/* --- newcomers --- */

static uint64_t hash_of(const uint8_t id[WW_WIRE_ID_BYTES])
{
	uint64_t hash;

	memcpy(&hash, id, sizeof(hash));
	return hash;
}

/* Return: NULL: it is not known. */
static struct ww_service_peer *find_peer(const struct ww_service *service,
	const uint8_t id[WW_WIRE_ID_BYTES])
{
	ww_map_for_each (node, &service->known, hash_of(id)) {
		struct ww_service_peer *peer = ww_container(node, struct ww_service_peer, node);

		if (!memcmp(peer->object_id, id, WW_WIRE_ID_BYTES))
			return peer;
	}
	return NULL;
}

static ww_status peer_open(struct ww_service_peer *peer, const struct ww_service *service,
	const struct ww_get_reply *grant)
{
	const struct ww_service_size size = ww_service_size_of(&service->form);
	const struct ww_wire_granted *granted = &grant->granted;
	const int *fds = grant->request.fds_come;
	struct ww_wire_service_client_ref ref;

	ww_try(ww_service_client_ref_read(granted->description, granted->description_bytes, &ref));
	if (grant->request.fds_come_count < CLIENT_FDS)
		return ww_fail(WW_ERR_PROTOCOL, "a client of the service shows no requests");
	ww_try(ww_signal_map_import(fds[0], ref.page_bytes, ref.page_id, &peer->page));
	ww_try(ww_service_requests_import(&peer->requests, fds[1], service->form.service_id,
		&size));
	ww_try(ww_service_replies_import(&peer->replies, fds[2], service->form.service_id, &size));
	return ww_peer_process_get(grant, CLIENT_FDS, &peer->process);
}

static bool is_forged(ww_status status)
{
	return status == WW_ERR_PROTOCOL || status == WW_ERR_VERSION || status == WW_ERR_MISMATCH ||
		status == WW_ERR_DESCRIPTOR || status == WW_ERR_ACCESS;
}

static uint32_t count_of_user(const struct ww_service *service, uint32_t uid)
{
	uint32_t count = 0;

	ww_list_for_each (link, &service->peers) {
		const struct ww_service_peer *peer = ww_service_peer_of(link);

		count += peer->uid == uid && peer->number != NO_NUMBER;
	}
	return count;
}

static uint32_t take_number(struct ww_service *service, struct ww_service_peer *peer)
{
	for (uint32_t i = 0; i < service->form.clients_max; i++) {
		if (service->numbers[i])
			continue;
		service->numbers[i] = peer;
		return i;
	}
	return NO_NUMBER;
}

/* Whether the client may call; it is told. */
static void peer_join(struct ww_service *service, struct ww_service_peer *peer)
{
	const uint8_t *key = peer->requests.header->key;
	uint8_t copy[WW_WIRE_ID_BYTES];

	memcpy(copy, key, sizeof(copy));
	if (memcmp(copy, service->key, sizeof(copy)) != 0)
		peer_refuse(service, peer, WW_WIRE_SERVICE_JOIN_REFUSED_KEY);
	else if (count_of_user(service, peer->uid) >= service->params.clients_per_uid_max ||
		(peer->number = take_number(service, peer)) == NO_NUMBER)
		peer_refuse(service, peer, WW_WIRE_SERVICE_JOIN_REFUSED_LIMIT);
	else
		ww_service_replies_join(&peer->replies, WW_WIRE_SERVICE_JOIN_JOINED, peer->number);
	__atomic_thread_fence(__ATOMIC_SEQ_CST); /* either side sees what the other has stored */
	if (!peer->is_refused && ww_service_requests_has_left(&peer->requests))
		peer->is_gone = true; /* it waits no longer: its calls are not run */
	ww_list_append(&service->peers, &peer->link);
	if (!peer->is_refused)
		ww_service_active_add(service, peer);
	if (peer->number != NO_NUMBER)
		note_count(service, service->peer_count + 1);
}

struct meeting {
	struct ww_service *service;
	const struct ww_object_info *info;
	uint32_t newcomers;
};

/*
 * Whether this server has had it as a client before, and has forgotten it, since it has ended: the
 * broker can learn of that later. Its calls must not be run again.
 */
static bool was_met(const struct ww_service_peer *peer)
{
	return __atomic_load_n(&peer->replies.header->join, __ATOMIC_ACQUIRE) != 0;
}

static ww_status peer_add(struct meeting *meeting, struct ww_get_reply *grant)
{
	WW_CLEANUP(peer_free_p) struct ww_service_peer *peer = NULL;
	ww_status status;

	if (find_peer(meeting->service, grant->granted.id))
		return WW_OK;
	ww_try(peer_new(meeting->service, &peer));
	memcpy(peer->object_id, grant->granted.id, sizeof(peer->object_id));
	peer->uid = grant->granted.uid;
	peer->gid = meeting->info->gid;
	peer->pid = meeting->info->pid;
	status = peer_open(peer, meeting->service, grant);
	if (status < 0)
		return is_forged(status) ? WW_ERR_UNSUPPORTED : status;
	if (was_met(peer))
		return WW_ERR_UNSUPPORTED;
	ww_try(ww_map_insert(&meeting->service->known, &peer->node, hash_of(peer->object_id)));
	peer->listing = meeting->service->listings;
	ww_get_reply_keep(grant, &peer->attachments);
	meeting->newcomers++;
	peer_join(meeting->service, peer);
	if (ww_steal(peer)->is_refused)
		ww_inside_expel(meeting->service->broker, meeting->info);
	return WW_OK;
}

static ww_status peer_get(struct meeting *meeting)
{
	struct ww_wire_get message = {.access = WW_WIRE_ACCESS_WRITE};
	WW_AUTO_GET_REPLY struct ww_get_reply grant;

	ww_get_reply_init(&grant, meeting->service->broker, WW_WIRE_GET, &message,
		WW_OBJECT_SERVICE);
	ww_get_reply_set_name(&grant, &message, meeting->info->name, 0);
	ww_try(ww_get_reply_ask(&grant));
	return peer_add(meeting, &grant);
}

static ww_status meet_one(void *context, const struct ww_object_info *info)
{
	struct meeting *meeting = context;

	meeting->info = info;
	if (find_peer(meeting->service, info->object_id))
		return WW_OK;
	if (info->kind != WW_OBJECT_SERVICE || info->fd_count <= CLIENT_FDS)
		return WW_ERR_UNSUPPORTED; /* what cannot be a client is not asked for */
	if (!ww_service_file_limit_look(meeting->service))
		return ww_fail_errno(EMFILE, NULL, "cannot serve one more client");
	return peer_get(meeting);
}

/*
 * Whether the client of an object has not ended, or its end will be told. While it lives it is a
 * holder of the object beside this process. When its connection ends the broker poisons its page,
 * and keeps the object until the process has ended. A client that has put no last will, or shows
 * another page than the one that has it, has no such page. Of one that was refused no page is kept.
 */
static bool is_present(const struct ww_service_peer *peer, const struct ww_object_info *info)
{
	return !peer->page || info->is_own || info->holders > 1 ||
		__atomic_load_n(&peer->page->header->lost, __ATOMIC_ACQUIRE);
}

static void note_listed(struct ww_service *service, ww_snapshot *snapshot)
{
	struct ww_object_info info = WW_INIT(struct ww_object_info);

	service->listings++;
	for (size_t i = 0; ww_snapshot_object(snapshot, i, &info) == WW_OK; i++) {
		struct ww_service_peer *peer = find_peer(service, info.object_id);

		if (peer && is_present(peer, &info))
			peer->listing = service->listings;
	}
}

/* A broker that was started anew lists no clients, and does not have the service either. */
static void forget_absent(struct ww_service *service, ww_snapshot *snapshot)
{
	note_listed(service, snapshot);
	if (!ww_hold_ref_is_held(&service->timeline->attachments, service->broker))
		return;
	ww_list_for_each (link, &service->peers) {
		struct ww_service_peer *peer = ww_service_peer_of(link);

		if (peer->listing == service->listings)
			continue;
		peer->is_gone = true;
		if (peer->replies.mapping) /* if it lives, it learns that nothing more comes */
			ww_service_replies_join(&peer->replies, WW_WIRE_SERVICE_JOIN_FORGOTTEN,
				peer->number);
	}
	ww_service_peers_forget(service);
}

static ww_status look_at_all(struct meeting *meeting)
{
	WW_CLEANUP(ww_snapshot_free_p) ww_snapshot *snapshot = NULL;
	struct ww_service *service = meeting->service;
	char prefix[WW_SERVICE_NAME_BYTES];

	ww_service_name(&service->form, "client-", prefix);
	ww_try(ww_snapshot_create(service->broker, prefix, WW_SNAPSHOT_OBJECTS, &snapshot));
	forget_absent(service, snapshot);
	return ww_inside_look(snapshot, service->broker, meet_one, meeting);
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

static bool has_counted(const struct ww_service *service)
{
	return ww_inside_count(service->timeline->page) != service->members_seen;
}

bool ww_service_peers_have_come(const struct ww_service *service)
{
	return has_counted(service) &&
		(service->ask_again_ns == 0 || ww_clock_now_ns() >= service->ask_again_ns);
}

uint64_t ww_service_peers_look_ns(const struct ww_service *service)
{
	return has_counted(service) ? service->ask_again_ns : WW_NEVER;
}

ww_status ww_service_peers_meet(struct ww_service *service)
{
	uint32_t members = ww_inside_count(service->timeline->page);
	uint64_t begun_ns = ww_clock_now_ns();
	struct meeting meeting = {.service = service};
	struct ww_error record;
	ww_status status;

	if (!ww_service_peers_have_come(service))
		return WW_OK;
	ww_error_save(&record);
	status = look_at_all(&meeting);
	service->ask_again_ns = status < 0 ? ww_clock_deadline_ns(PAUSE_NS)
					   : choose_pause_ns(&meeting, begun_ns);
	if (status < 0) { /* newcomers wait; the calls of known clients go on */
		ww_log_debug("a service cannot meet its new clients: %s", ww_error_last()->message);
		ww_error_restore(&record);
		return WW_OK;
	}
	ww_try(status);
	service->members_seen = members;
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

void ww_service_peer_end(struct ww_service *service, struct ww_service_peer *peer, uint32_t slot,
	ww_status status, const char *message, uint64_t failed_call)
{
	struct ww_taken_call *taken = &peer->calls[slot];
	uint64_t call = taken->request.call;

	write_reply(&peer->replies.slots[slot], status, message, failed_call);
	raise_lane(&peer->lanes[taken->request.lane], taken);
	if (status != WW_OK && failed_call == 0)
		failed_call = call;
	ww_depends_end(peer, taken, status == WW_OK ? 0 : failed_call);
	taken->is_used = false;
	peer->ready |= peer->waiting;
	peer->waiting = 0;
	count_end(ww_service_offer_of(service, taken->request.function), status);
	ww_service_replies_end(&peer->replies, slot, call, &peer->requests);
}

/* Whether a copy of what the client says can be a call. */
static bool is_possible(const struct ww_service_peer *peer, uint64_t call, uint64_t slot,
	const struct ww_layout_service_request *request)
{
	return request->call == call && request->lane < WW_SERVICE_LANES_MAX &&
		!peer->calls[slot].is_used;
}

static void lane_append(struct ww_service_peer *peer, uint32_t number, uint32_t slot)
{
	struct ww_service_lane *lane = &peer->lanes[number];

	peer->calls[slot].next = WW_SERVICE_NO_SLOT;
	peer->calls[slot].value = ++lane->calls;
	if (lane->first == WW_SERVICE_NO_SLOT)
		lane->first = slot;
	else
		peer->calls[lane->last].next = slot;
	lane->last = slot;
	peer->ready |= UINT64_C(1) << number;
}

void ww_service_peer_requeue(struct ww_service_peer *peer, uint32_t number, uint32_t slot)
{
	struct ww_service_lane *lane = &peer->lanes[number];

	peer->calls[slot].next = lane->first;
	if (lane->first == WW_SERVICE_NO_SLOT)
		lane->last = slot;
	lane->first = slot;
	peer->ready |= UINT64_C(1) << number;
}

/* Return: false: it cannot be a call. */
static bool peer_take(struct ww_service *service, struct ww_service_peer *peer, uint64_t call)
{
	uint64_t slot = ww_service_requests_slot(&peer->requests, call);
	struct ww_layout_service_request request;

	if (slot >= peer->requests.slot_count)
		return false;
	memcpy(&request, &peer->requests.slots[slot], sizeof(request));
	__asm__ volatile("" ::: "memory"); /* the copy is what is looked at from now on */
	if (!is_possible(peer, call, slot, &request))
		return false;
	peer->calls[slot].request = request;
	peer->calls[slot].is_used = true;
	peer->calls[slot].is_late = service->is_refusing;
	peer->calls[slot].is_signalled = false;
	peer->calls[slot].taken_ns = request.deadline_ns == WW_NEVER ? 0 : ww_clock_now_ns();
	ww_depends_take(peer, &peer->calls[slot]);
	lane_append(peer, request.lane, (uint32_t)slot);
	ww_late_note(service, peer, request.deadline_ns);
	return true;
}

void ww_service_peer_absorb(struct ww_service *service, struct ww_service_peer *peer)
{
	uint64_t published;
	uint64_t count;

	if (peer->is_refused)
		return;
	published = ww_service_requests_published(&peer->requests);
	count = published - peer->taken;
	if (count == 0)
		return;
	if (count > peer->requests.slot_count) {
		peer_refuse(service, peer, WW_WIRE_SERVICE_JOIN_REFUSED_PAGES);
		return;
	}
	pthread_mutex_lock(&service->lock);
	while (peer->taken < published && peer_take(service, peer, peer->taken + 1))
		peer->taken++;
	pthread_mutex_unlock(&service->lock);
	if (peer->taken < published)
		peer_refuse(service, peer, WW_WIRE_SERVICE_JOIN_REFUSED_PAGES);
	__atomic_store_n(&service->page.header->calls, service->page.header->calls + count,
		__ATOMIC_RELAXED);
}

/* --- those that end --- */

static bool has_ended(const struct ww_service_peer *peer)
{
	return (peer->page && __atomic_load_n(&peer->page->header->ended, __ATOMIC_ACQUIRE)) ||
		(peer->requests.mapping && ww_service_requests_has_left(&peer->requests)) ||
		ww_peer_process_look(peer->process);
}

static void peer_forget(struct ww_service *service, struct ww_service_peer *peer)
{
	ww_service_active_remove(service, peer);
	ww_list_remove(&peer->link);
	ww_allocations_end_of(service, peer);
	ww_map_remove(&service->known, &peer->node);
	give_number_back(service, peer);
	peer_free(peer);
}

/* Locked; not meanwhile. */
static void release_recent(struct ww_service *service, struct ww_service_peer *peer,
	uint64_t before_ns)
{
	ww_memory *memory;

	while ((memory = ww_recent_take(&peer->recent, before_ns))) {
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
static bool peer_look(struct ww_service *service, struct ww_service_peer *peer)
{
	bool is_over;
	bool is_last;

	if (!peer->is_gone && has_ended(peer))
		peer->is_gone = true;
	if (!peer->is_refused && ww_service_requests_published(&peer->requests) != peer->taken)
		ww_service_active_add(service,
			peer); /* its bit may have been cleared by another one */
	pthread_mutex_lock(&service->lock);
	is_over = peer->is_gone && peer->running == 0;
	peer_drop_files(service, peer);
	is_last = is_over || !peer->requests.mapping;
	ww_service_peer_release(service, peer, is_last);
	release_recent(service, peer, is_last ? WW_NEVER : keep_since_ns(service));
	pthread_mutex_unlock(&service->lock);
	peer_drop_rest(peer);
	return is_over;
}

void ww_service_peers_forget(struct ww_service *service)
{
	struct ww_list *next;

	for (struct ww_list *link = service->peers.next; link != &service->peers; link = next) {
		struct ww_service_peer *peer = ww_service_peer_of(link);

		next = link->next;
		if (peer_look(service, peer))
			peer_forget(service, peer);
	}
	ww_service_file_limit_look_again(service);
}

/* Ends what was queued or not even taken. Locked. */
static void peer_end_all(struct ww_service *service, struct ww_service_peer *peer)
{
	for (uint32_t i = 0; i < peer->requests.slot_count; i++) {
		if (peer->calls[i].is_used)
			ww_service_peer_end(service, peer, i, WW_ERR_UNAVAILABLE,
				"the server has closed the service", 0);
	}
}

void ww_service_peers_fini(struct ww_service *service)
{
	struct ww_list *link;

	while ((link = service->peers.next) != &service->peers) {
		struct ww_service_peer *peer = ww_service_peer_of(link);

		pthread_mutex_lock(&service->lock);
		peer_end_all(service, peer);
		ww_service_peer_release(service, peer, true);
		release_recent(service, peer, WW_NEVER);
		pthread_mutex_unlock(&service->lock);
		if (peer->replies.mapping)
			ww_await_wake(&peer->replies.header->wakes);
		peer_forget(service, peer);
	}
}
