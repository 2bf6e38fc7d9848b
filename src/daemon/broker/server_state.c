/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server_state.c - the state of the broker process, see server_state.h
 */
#include "daemon/broker/server_state.h"

/* How long to wait after something failed for want of descriptors or memory. */
#define RETRY_MS 100

void server_stop(struct server *server, int outcome)
{
	if (server->outcome < 0)
		server->outcome = outcome;
	uv_stop(&server->loop);
}

void server_listen(struct server *server)
{
	bool has_room = server->peer_count < server->peer_limit && !server->is_starved;

	if (has_room == server->is_listening)
		return;
	server->is_listening = has_room;
	if (has_room)
		uv_poll_start(&server->listener, UV_READABLE, server->calls->on_connection);
	else
		uv_poll_stop(&server->listener);
}

void server_retry(struct server *server)
{
	if (!uv_is_active((const uv_handle_t *)&server->retry))
		uv_timer_start(&server->retry, server->calls->on_retry, RETRY_MS, 0);
}
