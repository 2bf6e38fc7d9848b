/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server.c - the loop of the broker process, from start to end, see server.h
 *
 * One thread and one loop. The loop waits for connections, packets, the ends of processes (pidfds),
 * timers, a signal, and the end of the supervisor. No code here waits for a client.
 */
#include "daemon/broker/server.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "daemon/broker/exit_poll.h"
#include "daemon/broker/fair_queue.h"
#include "daemon/broker/pending_request.h"
#include "daemon/broker/receiver.h"
#include "daemon/broker/request.h"
#include "daemon/broker/server_state.h"
#include "daemon/broker/watch.h"
#include "daemon/registry/holder.h"
#include "daemon/registry/object.h"

#ifndef SO_PASSPIDFD /* Linux 6.5 */
#define SO_PASSPIDFD 76
#endif

/*
 * Descriptors of the loop, the fixed ones, those that come with a packet, and refused connections.
 */
#define OTHER_FDS 64

/* A part of all numbers for sockets, and what one packet needs at least, see server.waiting_fds. */
#define WAITING_PART  32
#define WAITING_LEAST WW_PACKET_FDS
#define WAITING_USERS 4 /* so many users may use up theirs before others have less */

/*
 * The part of all descriptors that may be sent to one user and not be read: the kernel allows a
 * process that is not root as many in flight as it may open.
 */
#define UNREAD_PART 8

/* How long a process without a pidfd has to connect again after a restart. */
#define GRACE_MS 30000

static void on_terminate(uv_signal_t *handle, int number)
{
	(void)number;
	server_stop(handle->loop->data, SERVER_AGAIN);
}

static void on_supervisor(uv_poll_t *poll, int error, int events)
{
	(void)error;
	(void)events; /* the supervisor sends nothing: this is its end */
	server_stop(poll->loop->data, SERVER_SUPERVISOR_LOST);
}

/* --- holders --- */

/* Ends the holders from before a restart that have no pidfd and did not connect again. */
static void on_grace_end(uv_timer_t *timer)
{
	struct server *server = timer->loop->data;
	struct registry *registry = &server->registry;
	struct holder *holder;

	for (uint32_t at = 0; (holder = table_next(&registry->holder_table, &at));) {
		if (!holder_awaits_exit(registry, holder) && !holder->exit_poll &&
			ww_list_is_empty(&holder->peers))
			holder_end(registry, holder);
	}
}

/* --- changes --- */

static void on_change(void *context, struct name name, uint8_t what)
{
	struct server *server = context;
	const struct ww_layout_object_record *record = object_record(&server->registry,
		name.object);
	const char *text = name_text(&server->registry, name);
	bool goes_on = what & REGISTRY_NAME_ONLY;

	what &= (uint8_t)~REGISTRY_NAME_ONLY;
	if (what == REGISTRY_LEFT) {
		wait_outer_left(server, name.object);
		return;
	}
	watch_tell(server, name, what);
	if (what >= WW_WIRE_WHAT_REMOVED && !goes_on)
		wait_outer_ended(server, record, what);
	if (!text[0])
		return;
	if (what == WW_WIRE_WHAT_READY)
		wait_name_ready(server, name);
	else if (what == WW_WIRE_WHAT_LOST)
		wait_name_lost(server, text, record->maker_pid);
}

/* --- connections --- */

static void on_retry(uv_timer_t *timer)
{
	struct server *server = timer->loop->data;

	server->is_starved = false;
	server_listen(server);
	fair_queue_resume(server);
	peer_resume_all(server);
}

static void on_connection(uv_poll_t *poll, int error, int events)
{
	struct server *server = poll->loop->data;
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

/* --- idleness --- */

static bool server_has_nothing(const struct server *server)
{
	return server->peer_count == 0 && server->registry.object_table.used == 0 &&
		server->registry.holder_table.used == 0;
}

/* A process may have connected in this turn of the loop. */
static void on_idle(uv_timer_t *timer)
{
	struct server *server = timer->loop->data;

	if (server_has_nothing(server))
		server_stop(server, SERVER_DONE);
}

/*
 * Before the loop waits again: reservations are met from what was returned, empty tables are freed,
 * and if the broker has nothing to do, the idle timer is started.
 */
static void on_turn(uv_prepare_t *prepare)
{
	struct server *server = prepare->loop->data;
	bool is_idle = server->setup->leaves_when_idle && server_has_nothing(server);

	if (!ww_list_is_empty(&server->turns))
		wait_serve_room(server);
	registry_reclaim(&server->registry);
	if (is_idle == server->is_idle)
		return;
	server->is_idle = is_idle;
	if (is_idle)
		uv_timer_start(&server->idle, on_idle,
			config_idle_ns(server->setup->config) / 1000000, 0);
	else
		uv_timer_stop(&server->idle);
}

/* --- start and end --- */

static ww_status loop_fail(int error)
{
	return ww_fail(WW_ERR_SYSTEM, "the broker's loop cannot start: %s", uv_strerror(error));
}

static ww_status server_start_handles(struct server *server)
{
	uv_loop_t *loop = &server->loop;
	int error;

	error = uv_poll_init(loop, &server->listener, server->setup->listener);
	if (error == 0)
		error = uv_poll_init(loop, &server->supervisor, server->setup->supervisor);
	if (error == 0)
		error = uv_signal_init(loop, &server->terminate);
	if (error < 0)
		return loop_fail(error);
	uv_timer_init(loop, &server->idle);
	uv_timer_init(loop, &server->grace);
	uv_timer_init(loop, &server->retry);
	uv_timer_init(loop, &server->linger);
	uv_prepare_init(loop, &server->turn);
	uv_poll_start(&server->supervisor, UV_READABLE | UV_DISCONNECT, on_supervisor);
	uv_signal_start(&server->terminate, on_terminate, SIGTERM);
	uv_prepare_start(&server->turn, on_turn);
	if (server->setup->restarts > 0)
		uv_timer_start(&server->grace, on_grace_end, GRACE_MS, 0);
	return WW_OK;
}

/*
 * An inherited listener may have options that add data to each packet, which takes the room of
 * descriptors.
 */
static void listener_pass_no_extras(int listener)
{
	static const int options[] = {SO_PASSCRED, SO_PASSSEC, SO_PASSPIDFD};
	const int off = 0;

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		(void)setsockopt(listener, SOL_SOCKET, options[i], &off, sizeof(off));
}

/*
 * The fdstore's numbers less those of its tables, and of the pidfds of as many holders as there can
 * be.
 */
static uint64_t server_count_object_fds(const struct server *server)
{
	uint32_t numbers = server->setup->fdstore_limit - server->setup->fdstore_first;
	uint32_t others = REGISTRY_TABLES + server->peer_limit;

	return numbers > others ? numbers - others : 1;
}

static const struct server_calls calls = {
	.on_connection = on_connection,
	.on_retry = on_retry,
	.on_event = peer_on_event,
	.serve = peer_serve,
	.close_hung_up = peer_close_hung_up,
	.resume = peer_resume_all,
	.receive = peer_receive,
	.go_on = peer_go_on,
	.handle = request_handle,
};

ww_status server_start(struct server *server)
{
	const struct server_setup *setup = server->setup;
	struct registry *registry = &server->registry;
	int error = uv_loop_init(&server->loop);
	uint32_t numbers;
	uint32_t others;

	if (error < 0)
		return loop_fail(error);
	server->calls = &calls;
	ww_try(receiver_open(server));
	listener_pass_no_extras(setup->listener);
	server->loop.data = server;
	server->outcome = -1;
	server->began_ns = ww_clock_now_ns();
	ww_list_init(&server->peers);
	ww_list_init(&server->lingering);
	ww_list_init(&server->hung_up);
	ww_list_init(&server->refused);
	ww_list_init(&server->watchers);
	ww_list_init(&server->turns);
	/* Divide the descriptor numbers below the fdstore's. */
	numbers = server->setup->fdstore_first;
	server->unread_fds = server->setup->fdstore_limit / UNREAD_PART;
	server->waiting_fds = numbers / WAITING_PART;
	if (server->waiting_fds < WAITING_LEAST)
		server->waiting_fds = WAITING_LEAST;
	others = OTHER_FDS + WAITING_USERS * server->waiting_fds;
	server->peer_limit = numbers > 2 * others ? numbers - others : numbers / 2;
	ww_try(fair_queue_open(server));
	ww_try(fdstore_open(&server->fdstore, setup->supervisor, setup->fdstore_first,
		setup->fdstore_limit));
	registry->fdstore = &server->fdstore;
	registry->loop = &server->loop;
	registry->changed = on_change;
	registry->context = server;
	registry->accounts.config = setup->config;
	registry->accounts.fd_limit = server_count_object_fds(server);
	registry->accounts.place_limit = server->peer_limit;
	ww_try(registry_open(registry));
	ww_try(server_start_handles(server));
	exit_poll_start_all(server);
	server_listen(server);
	return WW_OK;
}

static void peers_shut_down(const struct ww_list *peers)
{
	ww_list_for_each (link, peers) {
		shutdown(ww_container(link, struct peer, of_server)->socket, SHUT_RDWR);
	}
}

int server_run(const struct server_setup *setup)
{
	struct server *server = calloc(1, sizeof(*server));

	if (!server)
		return SERVER_CANNOT;
	server->setup = setup;
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	if (server_start(server) != WW_OK) {
		fprintf(stderr, "warpwayd: %s\n", ww_error_last()->message);
		return ww_error_last()->status == WW_ERR_PEER_LOST ? SERVER_SUPERVISOR_LOST
								   : SERVER_CANNOT;
	}
	if (fdstore_ready(&server->fdstore) < 0)
		return SERVER_SUPERVISOR_LOST;
	uv_run(&server->loop, UV_RUN_DEFAULT);
	if (server->outcome == SERVER_SUPERVISOR_LOST)
		receiver_close_sockets(server);
	fdstore_close(&server->fdstore);
	if (server->closing_count > 0) {
		/*
		 * A thread that closes a descriptor may hang. exit() and exec would wait for it. So
		 * this process ends by _exit(); if that hangs too, the supervisor goes on without
		 * it. Its sockets may stay open, so they are shut down first. If the process is to
		 * become a supervisor, a child without threads does so instead.
		 */
		peers_shut_down(&server->peers);
		peers_shut_down(&server->lingering);
		if (server->outcome != SERVER_SUPERVISOR_LOST || fork() > 0)
			_exit(server->outcome);
	}
	return server->outcome;
}
