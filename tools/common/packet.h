/* SPDX-License-Identifier: Apache-2.0 */
/*
 * packet.h - packets of a SOCK_SEQPACKET socket as bare as can be, with one descriptor
 */
#ifndef TOOLS_COMMON_PACKET_H
#define TOOLS_COMMON_PACKET_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* @fd: sent along; -1: none. @flags: of sendmsg(). Return: 0, or -1 with errno set. */
int packet_send(int socket, const void *bytes, size_t count, int fd, int flags);

/*
 * @out_fd: the first that came, the caller's; -1: none did. Others are closed.
 * Return: bytes; 0: the other end is closed; -1 with errno set, EBADMSG where the packet did not
 * fit.
 */
ssize_t packet_receive(int socket, void *buffer, size_t room, int *out_fd, int flags);

/* Answers packets until the other end is closed. Return: 0, or -1 after saying what went wrong. */
int packet_echo(int socket);

/* One round trip to a process that echoes, with or without a descriptor. Return: likewise. */
int packet_round_trip(int socket, int fd, uint64_t *out_ns);

#endif
