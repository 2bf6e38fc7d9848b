/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peer.h - a connection: who is at its other end, what it is owed, what it waits for
 *
 * A peer is a stranger. Who it is, the kernel says (SO_PEERCRED, SO_PEERGROUPS), once, at accept.
 *
 * It can make nobody else wait: its socket is never waited for. An answer that has no room is queued, and until the queue
 * is empty nothing more is read from it; so what it can make the broker queue is one answer, and one for
 * each of its waiting requests, which are counted; so are the descriptors in them. Events for a watcher that does not read are
 * dropped beyond EVENTS_MAX, and it is told so.
 */
#ifndef WW_BROKER_PEER_H
#define WW_BROKER_PEER_H

#include <sys/types.h>
#include <uv.h>

#include "base/list.h"
#include "broker/registry.h"
#include "wire/packet.h"

struct server;

struct peer {
	uv_poll_t poll;
	struct server *server;
	struct ww_list of_server;
	struct ww_list of_holder;
	struct ww_list of_watchers;
	struct ww_list waits; /* struct wait.of_peer */
	struct ww_list out;   /* struct parcel */
	uint32_t out_count;
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
	bool is_closed;
	bool is_last;    /* close as soon as nothing is queued */
	bool is_paused;  /* it does not read: neither do we */
	bool is_stalled; /* its user's descriptors must be closed first */
	bool is_vigil;   /* see vigil.h */
	bool is_starved; /* its answer could not be sent for want of memory or the like: later */

	/* of the request that is being handled */
	int fds[WW_PACKET_FDS];
	size_t fd_count;

	/* of a watcher */
	bool is_watcher;
	bool is_watching;
	bool is_replaying;
	bool has_overflowed;
	uint32_t replay; /* index of the next object to tell of */
	char prefix[WW_WIRE_NAME_BYTES];
};

/* Takes over @socket, in any case. Return: WW_OK; any error: it is closed. */
ww_status peer_accept(struct server *server, int socket);

/*
 * Ends the connection; the memory goes at the loop's next turn. Where descriptors that were sent are not read, the
 * socket stays open and charged until they are, or until the other end is closed too: else these would be in
 * flight for nobody.
 */
void peer_close(struct peer *peer);

/* The other end is closed: does what it had sent before, as far as that is there. May close the peer. */
void peer_hear_last(struct peer *peer);

/* Before all else that its end takes: executes what its process has left, if this is its last connection. */
void peer_mourn(struct peer *peer);

/*
 * Sends an answer, now or when there is room.
 * @fds:  borrowed
 * Return: WW_OK, also when the other end is gone; WW_ERR_QUOTA, WW_ERR_LIMIT, WW_ERR_NO_MEMORY (nothing was sent).
 */
ww_status peer_send(struct peer *peer, const void *packet, size_t bytes, const int *fds,
	size_t fd_count);

/* Has the loop watch for what there is to do now: to read, or to send what is owed. */
void peer_listen(struct peer *peer);

/* Answers with the thread's error record; serial 0: refuses the connection. */
void peer_send_error(struct peer *peer, uint32_t serial, ww_status status);
void peer_send_done(struct peer *peer, uint32_t serial);

/* A descriptor of its process, the caller's; -1 where the kernel has none to give. */
int peer_open_pidfd(const struct peer *peer);

/* Tries again with those that are stalled or starved. */
void peer_resume_all(struct server *server);

/* Whether its user is in a group. */
bool peer_has_group(const struct peer *peer, gid_t gid);

/* WW_WIRE_ENTRY_FLAG_MAY_... bits: what the mode, and the state, let it do. */
uint32_t peer_may(const struct peer *peer, const struct ww_layout_object_record *record);

#endif
