/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_packet.h - packets of a SOCK_SEQPACKET socket as bare as can be, and the floor made of them
 *
 * The floor of whatever is asked of a broker: another process that reads a packet, closes the descriptor that came
 * with it, and answers with a packet.
 */
#ifndef TOOLS_BENCH_PACKET_H
#define TOOLS_BENCH_PACKET_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PACKET_FDS_MAX 8

/* These wait. */

/* @fd: sent along; -1: none. Return: 0, or -1 with errno set. */
int packet_send(int socket, const void *bytes, size_t count, int fd);

/* @out_fd: one that came, the caller's; -1: none did. Return: bytes; 0: the other end is closed; -1 with errno set. */
ssize_t packet_receive(int socket, void *buffer, size_t room, int *out_fd);

/* Answers packets until the other end is closed. Return: 0, or -1 after saying what went wrong. */
int packet_echo(int socket);

/* One round trip to a process that echoes, with or without a descriptor. Return: likewise. */
int packet_round_trip(int socket, int fd, uint64_t *out_ns);

#endif
