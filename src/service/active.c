/* SPDX-License-Identifier: Apache-2.0 */
/*
 * active.c - the clients that the server looks at in each round, see active.h
 */
#include "service/active.h"

#define QUIET_NS  UINT64_C(10000000) /* a client without calls in so long, or twice that, is idle */
#define WORD_BITS 64

_Static_assert(WW_SERVICE_CLIENTS_MAX <= WW_SERVICE_BELL_WORDS * WORD_BITS,
	"a bit for each client");

void ww_service_active_add(struct ww_service *service, struct ww_service_peer *peer)
{
	if (!ww_list_is_empty(&peer->active))
		return;
	ww_service_replies_set_idle(&peer->replies, false);
	peer->taken_seen = peer->taken;
	ww_list_append(&service->active, &peer->active);
}

void ww_service_active_remove(struct ww_service *service, struct ww_service_peer *peer)
{
	if (service->turn == &peer->active)
		service->turn = peer->active.previous;
	ww_list_remove(&peer->active);
}

/* --- those that come back --- */

static uint32_t word_count(const struct ww_service *service)
{
	return (service->form.clients_max + WORD_BITS - 1) / WORD_BITS;
}

bool ww_service_active_is_due(const struct ww_service *service)
{
	for (uint32_t i = 0; i < word_count(service); i++) {
		if (__atomic_load_n(&service->bell.words[i].bits, __ATOMIC_SEQ_CST))
			return true;
	}
	return false;
}

/* Any client can set any bit. */
static void take_bit(struct ww_service *service, uint32_t number)
{
	struct ww_service_peer *peer = number < service->form.clients_max ? service->numbers[number]
									  : NULL;

	if (peer && !peer->is_refused && !peer->is_gone)
		ww_service_active_add(service, peer);
}

void ww_service_active_take(struct ww_service *service)
{
	if (!ww_service_active_is_due(service))
		return;
	for (uint32_t i = 0; i < word_count(service); i++) {
		uint64_t bits = __atomic_exchange_n(&service->bell.words[i].bits, 0,
			__ATOMIC_SEQ_CST);

		for (; bits; bits &= bits - 1)
			take_bit(service, i * WORD_BITS + (uint32_t)__builtin_ctzll(bits));
	}
}

/* --- those that are idle --- */

/* Whether nothing of it can be started, now or when a call of it ends. */
static bool is_quiet(struct ww_service *service, const struct ww_service_peer *peer)
{
	bool has_calls;

	if (peer->is_refused || peer->is_gone)
		return true;
	pthread_mutex_lock(&service->lock);
	has_calls = peer->running > 0 || peer->ready || peer->waiting || peer->waiting_after;
	pthread_mutex_unlock(&service->lock);
	return !has_calls && peer->taken == peer->taken_seen;
}

static void retire(struct ww_service *service, struct ww_service_peer *peer)
{
	if (!peer->is_refused && !peer->is_gone) {
		ww_service_replies_set_idle(&peer->replies, true);
		if (ww_service_requests_published(&peer->requests) != peer->taken) {
			ww_service_replies_set_idle(&peer->replies, false);
			return;
		}
	}
	ww_service_active_remove(service, peer);
}

void ww_service_active_retire(struct ww_service *service, uint64_t now_ns)
{
	struct ww_list *next;

	if (now_ns < service->retire_ns)
		return;
	service->retire_ns = now_ns + QUIET_NS;
	for (struct ww_list *link = service->active.next; link != &service->active; link = next) {
		struct ww_service_peer *peer = ww_service_active_of(link);

		next = link->next;
		if (is_quiet(service, peer))
			retire(service, peer);
		peer->taken_seen = peer->taken;
	}
}
