/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server_state.h - the state of the broker process, and what any part of it may do with it
 *
 * One struct holds everything. Each file works on its own fields. A file calls only files below it
 * in this list, or beside it without a circle:
 *
 *   server                the loop, from start to end
 *   request*              one function for each request
 *   exit_poll             the ends of processes
 *   peer                  connections: accepted, served in turn, closed
 *   receiver watch pending_request grant largest totals listing request_check
 *   peer_send             answers
 *   refusal fair_queue unread_replies descriptor_check peer_identity server_state
 *
 * Where a file must call a higher one, it does so by a function of struct server_calls.
 */
#ifndef WW_DAEMON_BROKER_SERVER_STATE_H
#define WW_DAEMON_BROKER_SERVER_STATE_H

#include "daemon/broker/peer.h"
#include "daemon/broker/server.h"
#include "daemon/registry/registry.h"

#define REFUSALS_LOGGED 10 /* of all users, in the time that refusal.c says */

/* Functions of higher files for lower ones. */
struct server_calls {
	uv_poll_cb on_connection;         /* server_listen(): a process connects */
	uv_timer_cb on_retry;             /* server_retry(): the time has come */
	uv_poll_cb on_event;              /* peer_listen(): something came on a connection */
	void (*serve)(struct peer *peer); /* fair_queue.h: it is the turn of a connection */
	void (*close_hung_up)(struct server *server); /* fair_queue.h: the loop has polled */
	void (*resume)(struct server *server); /* descriptor_check.h: descriptors were closed */
	/*
	 * receiver.h: a packet was received, with what is in peer->fds; no receiver has a packet of
	 * it any more
	 */
	void (*receive)(struct peer *peer, ww_status status, const uint8_t *packet, size_t bytes);
	void (*go_on)(struct peer *peer);
	/* peer.h: a packet of a client is to be handled */
	void (*handle)(struct peer *peer, const uint8_t *packet, size_t bytes);
};

/* An object that has just lost its name to another one, see watch.c. */
struct replaced_object {
	uint8_t id[WW_WIRE_ID_BYTES];
	uint64_t generation; /* 0: none */
};

/* A line of the log. They outlive the account of their user, which may connect again at once. */
struct logged_refusal {
	uint64_t at_ns; /* 0: none */
	uid_t uid;
};

struct server {
	uv_loop_t loop;
	uv_poll_t listener;
	uv_poll_t supervisor;
	uv_signal_t terminate;
	uv_timer_t idle;
	uv_timer_t grace; /* for holders without a pidfd */
	uv_timer_t retry; /* of accepting and sending, when descriptors or memory had run out */
	uv_prepare_t turn;
	uv_check_t polled; /* see fair_queue.c */
	uv_idle_t busy;    /* keeps the loop from waiting */
	const struct server_setup *setup;
	const struct server_calls *calls;
	struct fdstore fdstore;
	struct registry registry;
	uv_timer_t linger;
	struct ww_list peers;
	struct ww_list lingering; /* peers, see peer_close() */
	struct ww_list hung_up;   /* peers, see peer_close_hung_up() */
	struct ww_list receivers; /* see receiver.c, as what follows */
	uv_timer_t receiver_look;
	uv_signal_t child;
	int receiver_slot; /* a low number, for the socket of a new one */
	int closer;        /* socket to the process that closes sockets; -1: none */
	pid_t closer_pid;
	uint32_t closer_count;  /* such processes, with those that were ended */
	uint64_t closer_ms;     /* when it was last used */
	struct ww_list refused; /* peers that are sent the reason, REFUSED_MOST at most */
	uint32_t refused_count;
	struct ww_list watchers;
	struct replaced_object replaced; /* whose name the object has that is put next */
	struct ww_list turns; /* struct account.of_turns: of users with reservations that wait */
	struct ww_list ready; /* struct account.of_ready: in the order in which they are served */
	struct ww_list deaf;  /* the same, of users that must read answers first */
	struct ww_map waits_by_name;
	struct ww_map waits_by_serial;
	struct ww_map waits_by_outer;
	struct ww_map waits_by_holder;
	uint32_t peer_count;
	uint32_t peer_limit;
	uint32_t unread_fds;    /* how many descriptors sent to a user may be unread */
	uint32_t closing_count; /* descriptors that other threads close */
	uint32_t waiting_fds; /* how many of a user may wait to be sent, and as many to be closed */
	uint32_t wait_count;
	uint64_t began_ns; /* this process */
	struct request_counts requests;
	uint64_t refused_connections;
	uint64_t unlogged; /* refusals, see refusal.h, as what follows */
	struct logged_refusal logged[REFUSALS_LOGGED];
	uint32_t logged_next; /* the oldest one, which the next one replaces */
	int outcome;
	bool is_listening;
	bool is_starved;  /* the last accept failed */
	bool has_stalled; /* a peer whose user has too many descriptors to be closed */
	bool is_idle;
	uint8_t in[WW_WIRE_PACKET_BYTES];
	uint8_t out[WW_WIRE_PACKET_BYTES];
};

/*
 * Answers the request of a serial number with a message that has no descriptors. It is a macro
 * since each message has an encoder of its own. @name: of the message; @message: a pointer to it.
 * Return: as peer_send().
 */
#define peer_answer(peer, number, name, message)                                                 \
	peer_send_out(peer,                                                                      \
		ww_wire_encode_##name(message, (peer)->version,                                  \
			&(const struct ww_wire_header){.serial = (number)}, (peer)->server->out, \
			sizeof((peer)->server->out)))

/* Ends the loop; the first reason counts. */
void server_stop(struct server *server, int outcome);

/* Listens for connections if there is room for another one, and only then. */
void server_listen(struct server *server);

/* Tries again soon what failed for want of descriptors or memory. */
void server_retry(struct server *server);

#endif
