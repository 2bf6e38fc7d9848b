/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server.c - the broker process: its loop, who connects, what ends it, see server.h
 *
 * One thread and one loop. The loop waits for: connections, packets, the ends of processes (pidfds), ends in time, a
 * signal, the end of the keeper. Nothing here waits for a client.
 */
#include "broker/server.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/error.h"
#include "base/log.h"
#include "broker/server_parts.h"
#include "broker/vigil.h"

#ifndef SO_PASSPIDFD /* Linux 6.5 */
#define SO_PASSPIDFD 76
#endif

/* Descriptors that are neither connections nor in the vault: the loop's, the fixed ones, those that come with a packet. */
#define OTHER_FDS 48

/* A part of all numbers for sockets, and what one packet needs at least: see struct server.waiting_fds. */
#define WAITING_PART  32
#define WAITING_LEAST WW_PACKET_FDS
#define WAITING_USERS 4 /* that many may use theirs up before others feel it */

/*
 * How many of those that are sent and not read one user may have: the kernel allows us, unless we are root, as many as we
 * may open.
 */
#define UNREAD_PART 8

/* After something failed for want of something. */
#define RETRY_MS 100

/* After a restart, how long a process that the kernel gives no pidfd for has to come back. */
#define GRACE_MS 30000

void server_stop(struct server *server, int outcome)
{
	if (server->outcome < 0)
		server->outcome = outcome;
	uv_stop(&server->loop);
}

static void on_terminate(uv_signal_t *handle, int number)
{
	(void)number;
	server_stop(handle->data, SERVER_AGAIN);
}

static void on_keeper(uv_poll_t *poll, int error, int events)
{
	(void)error;
	(void)events; /* the keeper says nothing: this is its end */
	server_stop(poll->data, SERVER_KEEPER_LOST);
}

/* --- holders --- */

static void on_process_end(uv_poll_t *poll, int error, int events)
{
	struct server *server = poll->loop->data;
	struct holder *holder = poll->data;
	struct ww_list *link;

	(void)error;
	(void)events;
	if (ww_list_is_empty(&holder->peers)) {
		holder_end(&server->registry, holder);
		return;
	}
	/* The last one takes the holder with it. */
	link = holder->peers.next;
	for (;;) {
		struct peer *peer = ww_container(link, struct peer, of_holder);
		bool is_last = link->next == &holder->peers;

		link = link->next;
		peer_close(peer);
		if (is_last)
			return;
	}
}

ww_status server_watch_holder(struct server *server, struct holder *holder)
{
	const struct ww_layout_holder_record *record = holder_record(&server->registry, holder);
	uv_poll_t *watch;

	if (record->pidfd == UINT32_MAX)
		return WW_OK;
	watch = calloc(1, sizeof(*watch));
	if (!watch || uv_poll_init(&server->loop, watch, (int)record->pidfd) < 0) {
		free(watch);
		return ww_fail(WW_ERR_NO_MEMORY, "the broker cannot watch process %u", record->pid);
	}
	watch->data = holder;
	holder->watch = watch;
	uv_poll_start(watch, UV_READABLE, on_process_end);
	return WW_OK;
}

static void watch_holders(struct server *server)
{
	const struct table *table = &server->registry.holder_table;

	for (uint32_t i = 0; i < table->capacity; i++) {
		const struct ww_layout_holder_record *record = table_record(table, i);

		if (record->state)
			(void)server_watch_holder(server, slab_item(&server->registry.holders, i));
	}
}

/* Holders from before a restart that no kernel speaks for, and that did not come back. */
static void on_grace_end(uv_timer_t *timer)
{
	struct server *server = timer->data;
	const struct table *table = &server->registry.holder_table;

	for (uint32_t i = 0; i < table->capacity; i++) {
		const struct ww_layout_holder_record *record = table_record(table, i);
		struct holder *holder;

		if (record->state != 1)
			continue;
		holder = slab_item(&server->registry.holders, i);
		if (!holder->watch && ww_list_is_empty(&holder->peers))
			holder_end(&server->registry, holder);
	}
}

/* --- what changes --- */

static void on_change(void *context, struct object *object, uint8_t what)
{
	struct server *server = context;
	const struct ww_layout_object_record *record = object_record(&server->registry, object);

	watch_tell(server, object, what);
	if (what >= WW_WIRE_WHAT_REMOVED)
		wait_outer_ended(server, record, what);
	if (!record->name[0])
		return;
	if (what == WW_WIRE_WHAT_READY)
		wait_name_ready(server, object);
	else if (what == WW_WIRE_WHAT_LOST)
		wait_name_lost(server, (const char *)record->name, record->maker_pid);
}

/* --- connections --- */

static void on_retry(uv_timer_t *timer)
{
	struct server *server = timer->data;

	server->is_starved = false;
	server_listen(server);
	peer_resume_all(server);
}

void server_retry(struct server *server)
{
	if (!uv_is_active((const uv_handle_t *)&server->retry))
		uv_timer_start(&server->retry, on_retry, RETRY_MS, 0);
}

static void on_connection(uv_poll_t *poll, int error, int events)
{
	struct server *server = poll->data;
	int socket;

	(void)error;
	(void)events;
	socket = accept4(server->setup->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (socket >= 0) {
		if (peer_accept(server, socket) != WW_OK)
			ww_log_debug("server: refused a connection: %s", ww_error_last()->message);
	} else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
		ww_log_debug("server: cannot accept: %m");
		server->is_starved = true;
		server_retry(server);
	}
	server_listen(server);
}

void server_listen(struct server *server)
{
	bool has_room = server->peer_count < server->peer_limit && !server->is_starved;

	if (has_room == server->is_listening)
		return;
	server->is_listening = has_room;
	if (has_room)
		uv_poll_start(&server->listener, UV_READABLE, on_connection);
	else
		uv_poll_stop(&server->listener);
}

/* --- idleness --- */

static bool has_nothing(const struct server *server)
{
	return server->peer_count == 0 && server->registry.object_table.used == 0 &&
		server->registry.holder_table.used == 0;
}

/* Somebody may have come in this very turn. */
static void on_idle(uv_timer_t *timer)
{
	struct server *server = timer->data;

	if (has_nothing(server))
		server_stop(server, SERVER_DONE);
}

/*
 * Before the loop waits again: what was given back is given out, what is empty is freed, and who has nothing to do
 * thinks of leaving.
 */
static void on_turn(uv_prepare_t *prepare)
{
	struct server *server = prepare->data;
	bool is_idle = server->setup->leaves_when_idle && has_nothing(server);

	if (!ww_list_is_empty(&server->turns))
		wait_serve_room(server);
	registry_tidy(&server->registry);
	if (is_idle == server->is_idle)
		return;
	server->is_idle = is_idle;
	if (is_idle)
		uv_timer_start(&server->idle, on_idle,
			config_idle_ns(server->setup->config) / 1000000, 0);
	else
		uv_timer_stop(&server->idle);
}

/* --- beginning and end --- */

static ww_status fail_loop(int error)
{
	return ww_fail(WW_ERR_SYSTEM, "the broker's loop cannot start: %s", uv_strerror(error));
}

static ww_status start_handles(struct server *server)
{
	uv_loop_t *loop = &server->loop;
	int error;

	error = uv_poll_init(loop, &server->listener, server->setup->listener);
	if (error == 0)
		error = uv_poll_init(loop, &server->keeper, server->setup->keeper);
	if (error == 0)
		error = uv_signal_init(loop, &server->terminate);
	if (error < 0)
		return fail_loop(error);
	uv_timer_init(loop, &server->idle);
	uv_timer_init(loop, &server->grace);
	uv_timer_init(loop, &server->retry);
	uv_timer_init(loop, &server->linger);
	uv_prepare_init(loop, &server->turn);
	server->listener.data = server;
	server->keeper.data = server;
	server->terminate.data = server;
	server->idle.data = server;
	server->grace.data = server;
	server->retry.data = server;
	server->linger.data = server;
	server->turn.data = server;
	uv_poll_start(&server->keeper, UV_READABLE | UV_DISCONNECT, on_keeper);
	uv_signal_start(&server->terminate, on_terminate, SIGTERM);
	uv_prepare_start(&server->turn, on_turn);
	if (server->setup->restarts > 0)
		uv_timer_start(&server->grace, on_grace_end, GRACE_MS, 0);
	return WW_OK;
}

/* An inherited listener may ask the kernel for more beside each packet; that takes the room of descriptors. */
static void pass_no_extras(int listener)
{
	static const int options[] = {SO_PASSCRED, SO_PASSSEC, SO_PASSPIDFD};
	const int off = 0;

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		(void)setsockopt(listener, SOL_SOCKET, options[i], &off, sizeof(off));
}

/* What the numbers below the vault's are for. */
static void divide_numbers(struct server *server)
{
	uint32_t numbers = server->setup->vault_first;
	uint32_t others;

	server->unread_fds = server->setup->vault_limit / UNREAD_PART;
	server->waiting_fds = numbers / WAITING_PART;
	if (server->waiting_fds < WAITING_LEAST)
		server->waiting_fds = WAITING_LEAST;
	others = OTHER_FDS + WAITING_USERS * server->waiting_fds;
	server->peer_limit = numbers > 2 * others ? numbers - others : numbers / 2;
}

/* The vault's numbers are also for its tables, and for the pidfds of as many holders as there can be. */
static uint64_t count_object_fds(const struct server *server)
{
	uint32_t numbers = server->setup->vault_limit - server->setup->vault_first;
	uint32_t others = REGISTRY_TABLES + server->peer_limit;

	return numbers > others ? numbers - others : 1;
}

static ww_status start(struct server *server)
{
	const struct server_setup *setup = server->setup;
	struct registry *registry = &server->registry;
	int error = uv_loop_init(&server->loop);

	if (error < 0)
		return fail_loop(error);
	pass_no_extras(setup->listener);
	server->loop.data = server;
	server->outcome = -1;
	ww_list_init(&server->peers);
	ww_list_init(&server->lingering);
	ww_list_init(&server->watchers);
	ww_list_init(&server->turns);
	divide_numbers(server);
	ww_try(vigil_open(server));
	ww_try(vault_open(&server->vault, setup->keeper, setup->vault_first, setup->vault_limit));
	registry->vault = &server->vault;
	registry->loop = &server->loop;
	registry->changed = on_change;
	registry->context = server;
	registry->accounts.config = setup->config;
	registry->accounts.fd_limit = count_object_fds(server);
	ww_try(registry_open(registry));
	ww_try(start_handles(server));
	watch_holders(server);
	server_listen(server);
	return WW_OK;
}

int server_run(const struct server_setup *setup)
{
	struct server *server = calloc(1, sizeof(*server));

	if (!server)
		return SERVER_CANNOT;
	server->setup = setup;
	signal(SIGPIPE, SIG_IGN);
	if (start(server) != WW_OK) {
		fprintf(stderr, "warpwayd: %s\n", ww_error_last()->message);
		return ww_error_last()->status == WW_ERR_PEER_LOST ? SERVER_KEEPER_LOST
								   : SERVER_CANNOT;
	}
	if (vault_ready(&server->vault) < 0)
		return SERVER_KEEPER_LOST;
	uv_run(&server->loop, UV_RUN_DEFAULT);
	vault_close(&server->vault);
	return server->outcome;
}
