/* SPDX-License-Identifier: Apache-2.0 */
/*
 * child_link.h - small messages between a verb and the processes it starts
 *
 * Each child has one end of a SOCK_SEQPACKET pair at LINK_FD. What crosses beside memory is one
 * struct of fixed size, with a descriptor where its kind says so. The two ends are the same binary,
 * but what arrives is checked all the same: length, magic, kind, number of descriptors.
 *
 * Memory itself goes over the same socket by ww_memory_send(); both ends know whose turn it is.
 */
#ifndef TOOLS_COMMON_CHILD_LINK_H
#define TOOLS_COMMON_CHILD_LINK_H

#include <warpway/warpway.h>

#include <poll.h>
#include <stddef.h>

/* Where a child finds its socket; further sockets it is given follow. */
#define LINK_FD 3

#define LINK_NUMBERS 4

enum link_kind {
	LINK_READY = 1,  /* child: I am at this point; numbers are the verb's */
	LINK_GO = 2,     /* parent: go on */
	LINK_DONE = 3,   /* child: all has been shown; numbers are the verb's */
	LINK_MEMORY = 4, /* either: a memory's descriptor, with its description */
	LINK_SAMPLE = 5  /* child: one measurement */
};

struct link_message {
	uint32_t magic; /* set by link_send() */
	uint32_t kind;
	uint64_t numbers[LINK_NUMBERS];
	struct ww_memory_description description;
};

enum link_result {
	LINK_OK = 0,
	LINK_CLOSED,    /* the other end is gone */
	LINK_TIMED_OUT, /* nothing came, or there was no room */
	LINK_BROKEN     /* what came is not the message expected, or the socket failed */
};

/* @fd: sent along; -1: none. @timeout_ns: WW_FOREVER where the other end keeps the time. */
enum link_result link_send(int socket, const struct link_message *message, int fd,
	uint64_t timeout_ns);

/**
 * link_receive() - take the next message
 * @kind:         the only kind accepted
 * @out_message:  filled on LINK_OK
 * @out_fd:       the caller's descriptor, which must have come; NULL: none may have
 */
enum link_result link_receive(int socket, enum link_kind kind, struct link_message *out_message,
	int *out_fd, uint64_t timeout_ns);

/* What a result means, in a few words. */
const char *link_result_text(enum link_result result);

/* Nanoseconds of the monotonic clock. */
uint64_t link_now_ns(void);

/* As poll(), until a time of link_now_ns() or WW_FOREVER; a signal does not end it. */
int link_poll(struct pollfd entries[], size_t count, uint64_t deadline_ns);

#endif
