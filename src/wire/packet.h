/* SPDX-License-Identifier: Apache-2.0 */
/*
 * packet.h - one packet of a SOCK_SEQPACKET socket, with its descriptors
 *
 * Never waits: a socket that is full or empty is an outcome. Nothing that comes is trusted: what is
 * too long, or has more descriptors than a message may have, is refused whole. The kernel drops
 * surplus descriptors by itself; descriptors that did come are never closed here, because closing
 * some files waits for the process that serves them.
 *
 * The socket must not be told to deliver credentials, labels or pidfds (SO_PASSCRED and its like,
 * which an accepted socket inherits from the one that listens): they would take the room of
 * descriptors.
 */
#ifndef WW_WIRE_PACKET_H
#define WW_WIRE_PACKET_H

#include <stddef.h>

#include <warpway/base.h>

#define WW_PACKET_FDS 8

/*
 * @count:     > 0: an empty packet could not be told from the end
 * @fds:       borrowed; the receiver gets duplicates
 * @fd_count:  at most WW_PACKET_FDS
 * Return: WW_OK; WW_NOT_READY (no room now, nothing was sent); WW_ERR_PEER_LOST; WW_ERR_LIMIT (too
 *         many descriptors in flight); WW_ERR_NO_MEMORY; WW_ERR_DESCRIPTOR (@socket or one of @fds
 *         is not open); WW_ERR_SYSTEM.
 */
ww_status ww_packet_send(int socket, const void *bytes, size_t count, const int *fds,
	size_t fd_count);

/*
 * @out_bytes:     0 on failure
 * @out_fds:       close-on-exec, above 2 (unless to close it may wait, see close_async.h), and
 *                 the caller's to close: also when the packet is refused, here or later
 * @out_fd_count:  how many there are, whatever the status is
 * Return: WW_OK; WW_NOT_READY (nothing there); WW_END (the other end is closed); WW_ERR_PROTOCOL
 *         (longer than @room, empty, or more than WW_PACKET_FDS descriptors); WW_ERR_LIMIT (no
 *         descriptor left for one that came); WW_ERR_DESCRIPTOR (@socket is none, or is told to
 *         deliver more than descriptors); WW_ERR_NO_MEMORY; WW_ERR_SYSTEM.
 */
ww_status ww_packet_receive(int socket, void *buffer, size_t room, size_t *out_bytes,
	int out_fds[WW_PACKET_FDS], size_t *out_fd_count);

#endif
