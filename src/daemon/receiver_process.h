/* SPDX-License-Identifier: Apache-2.0 */
/*
 * receiver_process.h - the process that receives descriptors for the broker, and their messages
 *
 * Each request is one packet with a connection's socket. A receiver keeps nothing between two
 * requests. It ends when the broker's end of its socket is closed. receiver.h says why it exists.
 */
#ifndef WW_DAEMON_RECEIVER_PROCESS_H
#define WW_DAEMON_RECEIVER_PROCESS_H

#include <stdint.h>

#include <warpway/base.h>

#include "wire/protocol.h"

enum {
	RECEIVER_SOCKET = 3 /* to the broker; in the receiver */
};

enum {
	RECEIVER_TAKE = 1, /* receive one packet from the socket, and answer */
	RECEIVER_CLOSE = 2 /* close the socket, as the last process that has it; no answer */
};

struct receiver_request {
	uint32_t what;
};

/* What was received, with those descriptors that are of a kind that the broker keeps. */
struct receiver_answer {
	ww_status status;                     /* of ww_packet_receive() */
	uint32_t bytes;                       /* of the packet */
	uint32_t fd_count;                    /* that the packet had, of either kind */
	uint32_t kept;                        /* bits: the descriptors that come with this answer */
	char message[WW_ERROR_MESSAGE_BYTES]; /* if the status is an error */
	uint8_t packet[WW_WIRE_PACKET_BYTES];
};

/* Serves requests until the broker closes the socket. Return: the process's exit status. */
int receiver_process_run(void);

#endif
