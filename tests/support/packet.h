/* SPDX-License-Identifier: Apache-2.0 */
/*
 * packet.h - messages over Unix sockets, made by hand: the honest and the hostile kind
 */
#ifndef WW_TESTS_SUPPORT_PACKET_H
#define WW_TESTS_SUPPORT_PACKET_H

#include <stddef.h>

#define PACKET_DESCRIPTORS_MAX 64

/* The types of socket that memory can be sent over, and what to call them. */
extern const int packet_types[2];
const char *packet_type_name(int type);

/* A connected pair of this type. */
void packet_pair(int type, int out_sockets[2]);

/* Sends these bytes in one call, with these descriptors. */
void packet_send(int socket, const void *bytes, size_t count, const int *descriptors,
	size_t descriptor_count);

/* Takes a message of exactly this many bytes with one descriptor, as a plain holder would. */
void packet_receive(int socket, void *bytes, size_t count, int *out_descriptor);

#endif
