/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exit_poll.c - the ends of processes, by their pidfds, see exit_poll.h
 */
#include "daemon/broker/exit_poll.h"

#include <stdlib.h>

#include "base/error.h"
#include "daemon/broker/peer.h"
#include "daemon/broker/server_state.h"
#include "daemon/registry/holder.h"

static void on_process_end(uv_poll_t *poll, int error, int events)
{
	struct server *server = poll->loop->data;
	struct holder *holder = poll->data;
	bool is_last = ww_list_is_empty(&holder->peers);

	(void)error;
	(void)events;
	if (is_last)
		holder_end(&server->registry, holder);
	while (!is_last) { /* closing the last connection ends the holder */
		is_last = holder->peers.next == holder->peers.previous;
		peer_close(ww_container(holder->peers.next, struct peer, of_holder));
	}
}

ww_status exit_poll_start(struct server *server, struct holder *holder)
{
	const struct ww_layout_holder_record *record = holder_record(&server->registry, holder);
	uv_poll_t *poll;

	if (record->pidfd == HOLDER_NO_PIDFD)
		return WW_OK;
	poll = calloc(1, sizeof(*poll));
	if (!poll || uv_poll_init(&server->loop, poll, (int)record->pidfd) < 0) {
		free(poll);
		return ww_fail(WW_ERR_NO_MEMORY, "the broker cannot watch process %u", record->pid);
	}
	poll->data = holder;
	holder->exit_poll = poll;
	uv_poll_start(poll, UV_READABLE, on_process_end);
	return WW_OK;
}

void exit_poll_start_all(struct server *server)
{
	struct holder *holder;

	for (uint32_t at = 0; (holder = table_next(&server->registry.holder_table, &at));)
		(void)exit_poll_start(server, holder);
}
