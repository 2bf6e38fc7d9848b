/* SPDX-License-Identifier: Apache-2.0 */
/*
 * protocol_client.h - a client of a broker that does nothing but speak the protocol
 *
 * For figures of the broker alone, and for a thousand clients in one process: each connection says
 * it is a process of its own. It waits in the kernel, one request at a time, and keeps nothing.
 */
#ifndef TOOLS_BENCH_PROTOCOL_CLIENT_H
#define TOOLS_BENCH_PROTOCOL_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RAW_ID_BYTES 16

struct client {
	int socket; /* -1: none */
	uint32_t serial;
	uint16_t version;
};

#define CLIENT_NONE           \
	{                     \
		.socket = -1, \
	}

/* All of these return 0, or -1 after saying what went wrong. */

/* @is_watcher: for client_watch() alone. */
int client_open(struct client *client, const char *address, bool is_watcher);
void client_close(struct client *client);

static inline void own_client(struct client *client)
{
	client_close(client);
}

/* An object with so many bytes, held, sealed, for everybody to read. @fd: borrowed; -1: none. */
int client_put(struct client *client, const char *name, uint64_t bytes, int fd,
	uint8_t out_id[RAW_ID_BYTES]);

/* A further name of the object that has this id. */
int client_put_also(struct client *client, const char *name, uint64_t bytes, int fd,
	const uint8_t id[RAW_ID_BYTES]);

/* @out_id: to release it by. @out_fd: the caller's; -1: the object has none. */
int client_get(struct client *client, const char *name, uint8_t out_id[RAW_ID_BYTES], int *out_fd);
int client_release(struct client *client, const uint8_t id[RAW_ID_BYTES]);
int client_stat(struct client *client, const char *name);

/* The two halves of client_stat(). */
int client_ask(struct client *client, const char *name);
int client_hear(struct client *client);

/* All pages. */
int client_list(struct client *client, const char *prefix, uint64_t *out_count);

int client_watch(struct client *client, const char *prefix);

enum client_event {
	CLIENT_PUT,
	CLIENT_GONE,
	CLIENT_OTHER
};

/* Waits for the next event of a watch. */
int client_next(struct client *client, enum client_event *out_event);

#endif
