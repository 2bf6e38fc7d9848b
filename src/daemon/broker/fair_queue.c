/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fair_queue.c - the order in which requests are served, see fair_queue.h
 *
 * If a connection is reported again before its turn came, it is not polled until then. Otherwise
 * each poll of the loop would report all connections that wait. The ends of connections with last
 * wills are still polled for, and are served before all turns (peer_close_hung_up()).
 */
#include "daemon/broker/fair_queue.h"

#include "base/clock.h"
#include "base/error.h"
#include "daemon/broker/server_state.h"
#include "daemon/broker/unread_replies.h"

/* How long requests are served before the loop polls for new ones. */
#define FAIR_QUEUE_SLICE_NS 50000

static void account_queue(struct server *server, struct account *account)
{
	if (ww_list_is_empty(&account->of_ready) && !ww_list_is_empty(&account->ready))
		ww_list_append(&server->ready, &account->of_ready);
}

bool fair_queue_join(struct peer *peer)
{
	if (!ww_list_is_empty(&peer->of_ready))
		return false;
	ww_list_append(&peer->account->ready, &peer->of_ready);
	account_queue(peer->server, peer->account);
	return true;
}

void fair_queue_leave(struct peer *peer)
{
	ww_list_remove(&peer->of_ready);
	if (ww_list_is_empty(&peer->account->ready))
		ww_list_remove(&peer->account->of_ready);
}

static void on_nothing(uv_idle_t *idle)
{
	(void)idle;
}

/* While a user is to be served, or a connection to be closed, the loop does not wait. */
static void loop_stay_awake(struct server *server)
{
	if (ww_list_is_empty(&server->ready) && ww_list_is_empty(&server->hung_up))
		uv_idle_stop(&server->busy);
	else
		uv_idle_start(&server->busy, on_nothing);
}

void fair_queue_resume(struct server *server)
{
	struct ww_list *link;

	while ((link = ww_list_take_first(&server->deaf)))
		ww_list_append(&server->ready, link);
	loop_stay_awake(server);
}

/*
 * A single user is served for a while. After one round of several users the loop polls: a served
 * one may have asked again.
 */
static void on_polled(uv_check_t *check)
{
	struct server *server = check->loop->data;
	uint64_t began_ns = ww_clock_now_ns();
	size_t served = 0;
	size_t users = 0;

	server->calls->close_hung_up(server);
	ww_list_for_each (link, &server->ready)
		users++;
	while (!ww_list_is_empty(&server->ready)) {
		struct ww_list *link = ww_list_take_first(&server->ready);
		struct account *account = ww_container(link, struct account, of_ready);

		/* The user whose turn it is gets one request served. */
		if (unread_is_too_much(account)) {
			ww_list_append(&server->deaf, &account->of_ready);
			server_retry(server);
		} else {
			struct peer *peer = ww_container(ww_list_take_first(&account->ready),
				struct peer, of_ready);

			account_queue(server, account);
			server->calls->serve(peer); /* may free the account */
		}
		served++;
		if ((users > 1 && served >= users) ||
			ww_clock_now_ns() - began_ns > FAIR_QUEUE_SLICE_NS)
			break;
	}
	loop_stay_awake(server);
}

ww_status fair_queue_open(struct server *server)
{
	ww_list_init(&server->ready);
	ww_list_init(&server->deaf);
	if (uv_check_init(&server->loop, &server->polled) < 0 ||
		uv_idle_init(&server->loop, &server->busy) < 0)
		return ww_fail(WW_ERR_SYSTEM, "the broker's loop cannot start");
	uv_check_start(&server->polled, on_polled);
	return WW_OK;
}
