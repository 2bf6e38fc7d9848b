/* SPDX-License-Identifier: Apache-2.0 */
/*
 * active.c - the clients that the server looks at in each round, see active.h
 */
#include "service/active.h"

#define QUIET_NS  UINT64_C(10000000) /* a client without calls in so long, or twice that, is idle */
#define WORD_BITS 64

_Static_assert(WW_SERVICE_CLIENTS_MAX <= WW_SERVICE_BELL_WORDS * WORD_BITS,
	"a bit for each client");

void ww_service_active_add(struct ww_service *service, struct ww_client_view *view)
{
	if (!ww_list_is_empty(&view->active))
		return;
	ww_service_replies_set_idle(&view->replies, false);
	view->taken_seen = view->taken;
	ww_list_append(&service->active, &view->active);
}

void ww_service_active_remove(struct ww_service *service, struct ww_client_view *view)
{
	if (service->turn == &view->active)
		service->turn = view->active.previous;
	ww_list_remove(&view->active);
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
	struct ww_client_view *view = number < service->form.clients_max ? service->numbers[number]
									 : NULL;

	if (view && !view->is_refused && !view->is_gone)
		ww_service_active_add(service, view);
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
static bool is_quiet(struct ww_service *service, const struct ww_client_view *view)
{
	bool has_calls;

	if (view->is_refused || view->is_gone)
		return true;
	pthread_mutex_lock(&service->lock);
	has_calls = view->running > 0 || view->ready || view->waiting || view->waiting_after;
	pthread_mutex_unlock(&service->lock);
	return !has_calls && view->taken == view->taken_seen;
}

static void retire(struct ww_service *service, struct ww_client_view *view)
{
	if (!view->is_refused && !view->is_gone) {
		ww_service_replies_set_idle(&view->replies, true);
		if (ww_service_requests_published(&view->requests) != view->taken) {
			ww_service_replies_set_idle(&view->replies, false);
			return;
		}
	}
	ww_service_active_remove(service, view);
}

void ww_service_active_retire(struct ww_service *service, uint64_t now_ns)
{
	struct ww_list *next;

	if (now_ns < service->retire_ns)
		return;
	service->retire_ns = now_ns + QUIET_NS;
	for (struct ww_list *link = service->active.next; link != &service->active; link = next) {
		struct ww_client_view *view = ww_service_active_of(link);

		next = link->next;
		if (is_quiet(service, view))
			retire(service, view);
		view->taken_seen = view->taken;
	}
}
