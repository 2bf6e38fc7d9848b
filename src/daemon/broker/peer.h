/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peer.h - a connection: the process at its other end, its queued answers, its waiting requests
 *
 * A peer is an untrusted process. The kernel says which one it is (SO_PEERCRED, SO_PEERGROUPS),
 * once, at accept.
 *
 * The broker never waits for a socket, so no peer can delay another one. An answer that has no room
 * is queued, and nothing more is read from that peer until its queue is empty. So a queue holds at
 * most one answer, and one for each waiting request of the peer, which are counted. The bytes and
 * descriptors in the queue are counted too (unread_replies.h). Events for a watcher that does not
 * read are dropped beyond EVENTS_MAX, and the watcher is told that they were.
 */
#ifndef WW_DAEMON_BROKER_PEER_H
#define WW_DAEMON_BROKER_PEER_H

#include <sys/types.h>
#include <uv.h>

#include "base/list.h"
#include "daemon/registry/registry.h"
#include "wire/packet.h"

struct server;

struct peer {
	uv_poll_t poll;
	struct server *server;
	struct ww_list of_server;
	struct ww_list of_holder;
	struct ww_list of_watchers;
	struct ww_list of_hung_up; /* see peer_close_hung_up() */
	struct ww_list waits;      /* struct wait.of_peer */
	struct ww_list out;        /* struct queued_packet */
	struct ww_list of_ready;   /* in account.ready, while it is to be served */
	struct ww_list of_unread;  /* in account.unread_peers */
	uint32_t out_count;
	uint64_t out_bytes;    /* of the queued packets */
	uint64_t unread_bytes; /* in the queue and in the socket, when that was measured last */
	int socket;
	uint32_t pid;
	uid_t uid;
	gid_t gid;
	gid_t *gids;
	size_t gid_count;
	struct account *account;
	struct holder *holder; /* NULL until hello, and for watchers */
	uint16_t version;      /* 0 until hello */
	uint32_t unread;       /* descriptors that were sent or queued, and may not be read yet */
	int events;            /* that the loop polls for; 0: none */
	uint8_t last_packets;  /* how many more are read after the other end was closed */
	bool is_closed;
	bool is_charged;  /* for a connection */
	bool is_muted;    /* not polled until it is served */
	bool is_writable; /* there is room for queued answers */
	bool has_hung_up;
	bool is_last;    /* close as soon as nothing is queued */
	bool is_paused;  /* it does not read its answers, so nothing is read from it */
	bool is_stalled; /* not read until descriptors of its user are closed */
	/* an answer could not be sent for want of memory or descriptors: tried again later */
	bool is_starved;

	/* see receiver.h */
	bool is_trusted;
	bool is_away;   /* a receiver has a packet of it */
	bool is_ending; /* when that is done, the rest is read and the connection closes */
	struct ww_list of_receiver;
	uint32_t next_serial; /* of that packet */

	/* of the request that is being handled */
	int fds[WW_PACKET_FDS]; /* -1: one that the broker does not keep */
	size_t fd_count;

	/* of a watcher */
	bool is_watcher;
	bool is_watching;
	bool is_replaying;
	bool has_overflowed;
	uint64_t replay; /* place of the next name to report */
	char prefix[WW_WIRE_NAME_BYTES];
};

/* --- peer.c --- */

/* Takes over @socket, in any case. Return: WW_OK; any error: it is closed. */
ww_status peer_accept(struct server *server, int socket);

/*
 * Ends the connection; the memory is freed at the loop's next turn. If the other end has not read
 * all that was sent, the socket stays open and charged until it has, or until the other end is
 * closed too: else the packets, and the descriptors in them, would stay in the kernel without being
 * counted.
 */
void peer_close(struct peer *peer);

/* Does what a packet says that came, with what is in peer->fds. @status: of receiving it. */
void peer_receive(struct peer *peer, ww_status status, const uint8_t *packet, size_t bytes);

/* No receiver has a packet of it any more. */
void peer_go_on(struct peer *peer);

/* Something came on the connection: it is served in its turn. */
void peer_on_event(uv_poll_t *poll, int error, int events);

/* Does one step for it: a request, a queued answer, or its end. May close the peer. */
void peer_serve(struct peer *peer);

/*
 * Closes the connections of processes with last wills whose ends the loop has reported. They do not
 * wait for their turn: if a thousand connections send requests at once, the last one waits for ten
 * milliseconds, and the poison for a process that died must not wait that long. First the last
 * wills of all these processes are executed, then the rest is done.
 */
void peer_close_hung_up(struct server *server);

/* Tries again with those that are stalled or starved. */
void peer_resume_all(struct server *server);

/* --- peer_send.c --- */

/*
 * Sends an answer, now or when there is room.
 * @fds:  borrowed
 * Return: WW_OK, also when the other end is closed; WW_ERR_QUOTA, WW_ERR_LIMIT, WW_ERR_NO_MEMORY
 * (nothing was sent).
 */
ww_status peer_send(struct peer *peer, const void *packet, size_t bytes, const int *fds,
	size_t fd_count);

/* Sends an answer that is in server.out, for peer_answer() (server_state.h). */
ww_status peer_send_out(struct peer *peer, size_t bytes);

/* Answers with the thread's error record; serial 0: refuses the connection. */
void peer_send_error(struct peer *peer, uint32_t serial, ww_status status);
void peer_send_done(struct peer *peer, uint32_t serial);

/* Sends what is queued, as far as there is room; or drops it. */
void peer_flush(struct peer *peer);
void peer_drop_queue(struct peer *peer);

/*
 * Which events of the connection the loop has to poll for now: to read, or to send what is queued.
 */
int peer_wanted_events(const struct peer *peer);

/* Has the loop poll for them. */
void peer_listen(struct peer *peer);

/* Whether the end of the connection may be the end of a process that has left last wills. */
bool peer_has_last_wills(const struct peer *peer);

/*
 * Has the loop leave the connection alone until it is served. Only the end of a connection with
 * last wills is still reported.
 */
void peer_mute(struct peer *peer);

/*
 * The serial in a packet whose header may be wrong: an error is answered with it if possible.
 * Return: 0: there is none.
 */
uint32_t peer_read_serial(const uint8_t *packet, size_t bytes);

/* --- peer_identity.c --- */

/*
 * Asks the kernel which process and user is at the other end. Return: WW_OK; WW_ERR_NO_MEMORY;
 * WW_ERR_SYSTEM.
 */
ww_status peer_identify(struct peer *peer);

/* A descriptor of its process, the caller's; -1 where the kernel has none to give. */
int peer_open_pidfd(const struct peer *peer);

/* Whether its user is in a group. */
bool peer_has_group(const struct peer *peer, gid_t gid);

/* WW_WIRE_ENTRY_FLAG_MAY_... bits: what the mode, and the state, let it do. */
uint32_t peer_may(const struct peer *peer, const struct ww_layout_object_record *record);

#endif
