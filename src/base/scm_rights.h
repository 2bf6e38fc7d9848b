/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scm_rights.h - descriptors that travel beside bytes over a Unix socket (SCM_RIGHTS)
 *
 * One call of the kernel each: neither function waits (MSG_DONTWAIT), whatever the socket's own
 * mode is, and both repeat interrupted calls. message.h and wire/packet.h say what a message is.
 */
#ifndef WW_BASE_SCM_RIGHTS_H
#define WW_BASE_SCM_RIGHTS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define WW_SCM_FDS_MAX 8

/*
 * @fds:       borrowed; the receiver gets duplicates
 * @fd_count:  at most WW_SCM_FDS_MAX
 * Return: how many bytes were sent; -1: errno says why none.
 */
ssize_t ww_scm_send(int socket, const void *bytes, size_t count, const int *fds, size_t fd_count);

/* What has come, by one call or by several for the parts of one message. */
struct ww_scm_arrival {
	int *fds;             /* close-on-exec; the caller's to close */
	size_t fd_room;       /* of fds; at most WW_SCM_FDS_MAX */
	size_t fd_count;      /* in fds */
	size_t surplus_count; /* came besides, and were closed: close_async.h */
	int flags; /* MSG_TRUNC: there were more bytes than room; MSG_CTRUNC: see below */
};

/*
 * One part of a stream, or one packet.
 * @takes_others:  true: the socket may have been told to deliver credentials, security labels or
 *                 pidfds too (SO_PASSCRED and its like), and there is room for these. Then more
 *                 than fd_room descriptors may come. false: the kernel drops what is beyond
 *                 fd_room by itself, so that nothing is closed here but pidfds, for which nobody
 *                 asked and which close at once
 * @arrival:       what comes is added to it, also when no byte comes. With MSG_CTRUNC the kernel
 *                 dropped descriptors: there was no room, here or in the table of open files
 *
 * A socket that was closed with something of ours unread says so once (ECONNRESET), before it hands
 * over what its owner had sent: so an error of that kind is worth a second attempt, and is told
 * only if nothing is there. So is the end of a socket of packets: the kernel looks for a packet
 * first and for the end then, and both may have come between.
 *
 * Return: how many bytes came; 0: the end, or an empty packet; -1: errno says why none.
 */
ssize_t ww_scm_receive(int socket, void *buffer, size_t room, bool takes_others,
	struct ww_scm_arrival *arrival);

/*
 * A closed packet socket and an empty packet both read as nothing. Whether the socket is closed,
 * where ww_scm_receive() returned 0.
 */
bool ww_scm_is_end(int socket, const struct ww_scm_arrival *arrival);

#endif
