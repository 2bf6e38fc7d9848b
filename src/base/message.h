/* SPDX-License-Identifier: Apache-2.0 */
/*
 * message.h - a message of fixed size with descriptors, over a Unix socket
 *
 * For two processes that share a connected SOCK_STREAM or SOCK_SEQPACKET socket. The bytes of one
 * message are few and the descriptors come with the first of them. Nothing here trusts the other
 * end: whatever comes is counted, and every descriptor that is not handed to the caller is closed,
 * if that waits for no other process: see close_async.h.
 */
#ifndef WW_BASE_MESSAGE_H
#define WW_BASE_MESSAGE_H

#include <stddef.h>
#include <stdint.h>

#include <warpway/base.h>

/*
 * Sends @bytes with one descriptor.
 * @fd:           borrowed
 * @deadline_ns:  see clock.h
 *
 * Return: WW_OK; WW_TIMED_OUT or WW_CANCELLED (nothing was sent); WW_ERR_TRUNCATED (stream sockets
 *         only: part was sent, the socket is of no more use); WW_ERR_PEER_LOST; WW_ERR_DESCRIPTOR
 *         (not a connected Unix socket); WW_ERR_LIMIT; WW_ERR_NO_MEMORY; WW_ERR_SYSTEM.
 */
ww_status ww_message_send(int socket, const void *message, size_t bytes, int fd,
	uint64_t deadline_ns);

/*
 * Receives exactly @bytes with exactly one descriptor.
 * @out_fd:  the caller's, and closing it waits for no other process; -1 on failure
 *
 * Return: WW_OK; WW_TIMED_OUT or WW_CANCELLED (nothing was taken); WW_ERR_TRUNCATED (the message
 *         ended, or the time passed or the call was cancelled, inside it); WW_ERR_PROTOCOL (longer,
 *         or not exactly one descriptor); WW_ERR_PEER_LOST; WW_ERR_DESCRIPTOR (of the socket; or to
 *         close what came may wait); WW_ERR_LIMIT (no descriptor left for the one that came, or too
 *         many of the latter kind: then nothing is taken); WW_ERR_SYSTEM.
 */
ww_status ww_message_receive(int socket, void *message, size_t bytes, uint64_t deadline_ns,
	int *out_fd);

#endif
