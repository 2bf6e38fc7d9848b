/* SPDX-License-Identifier: Apache-2.0 */
/*
 * raw_client.h - a connection to a broker that speaks the codec and nothing else
 *
 * No library in between: what is sent is what the test says, right or wrong. Every connection says
 * hello under a process id of its own, so one test program can be many holders.
 *
 *   struct raw raw;
 *   raw_open(&raw, broker.address);
 *   MUST_OK(raw_call(&raw, stat, &stat, described, &described));
 *
 * An answer `error` becomes its status, with its message in the thread's error record:
 * MUST_REFUSE() fits. Every wait has a limit (child.h).
 */
#ifndef WW_TESTS_SUPPORT_RAW_CLIENT_H
#define WW_TESTS_SUPPORT_RAW_CLIENT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <warpway/base.h>

#include "wire/packet.h"
#include "wire/protocol.h"

struct raw {
	int socket;
	uint32_t serial;  /* of the last request */
	uint16_t version; /* that the connection speaks; 0: the newest */
	uint8_t process_id[WW_WIRE_ID_BYTES];
	uint8_t out[WW_WIRE_PACKET_BYTES];

	/* what arrived last */
	uint8_t in[WW_WIRE_PACKET_BYTES];
	size_t bytes;
	struct ww_wire_header header;
	int fds[WW_PACKET_FDS]; /* closed when the next packet arrives, and by raw_close() */
	size_t fd_count;
};

/* --- a connection --- */

/* Connects and says nothing. */
void raw_connect(struct raw *raw, const char *address);

/* As another user, which only root can: the kernel tells the broker these. */
void raw_connect_as(struct raw *raw, const char *address, uid_t uid, gid_t gid);

/* A greeting as raw_hello() sends it. */
struct ww_wire_hello raw_greeting(const struct raw *raw);
ww_status raw_hello(struct raw *raw);

/* Connects, and is welcome. */
void raw_open(struct raw *raw, const char *address);
void raw_open_as(struct raw *raw, const char *address, uid_t uid, gid_t gid);
void raw_open_watcher(struct raw *raw, const char *address);

/* Closes it; nothing happens to one that is closed. */
void raw_close(struct raw *raw);

/* --- packets --- */

/* Sends these very bytes. Return: as ww_packet_send(). */
ww_status raw_send(struct raw *raw, const void *packet, size_t bytes, const int *fds,
	size_t fd_count);

/* The next serial, in a header for an encoder; valid until the next call. */
const struct ww_wire_header *raw_next(struct raw *raw, size_t fd_count);

/* Waits for the next packet. Return: WW_OK; WW_END (the broker closed the connection). */
ww_status raw_receive(struct raw *raw);

/* Whether there is nothing to receive just now. */
bool raw_is_silent(const struct raw *raw);

/* Nothing more comes, and the broker has closed. */
void raw_must_be_closed(struct raw *raw);

/* The status of an `error` that arrived, with its message recorded; WW_OK: it is something else. */
ww_status raw_refusal(const struct raw *raw);

/* Sends a request without descriptors, and goes on; returns its serial. */
#define raw_ask(raw, request, message)                                                            \
	raw_posted(raw,                                                                           \
		ww_wire_encode_##request(message, raw_version(raw), raw_next(raw, 0), (raw)->out, \
			sizeof((raw)->out)))

/* What arrived last, as an answer of this kind. */
#define raw_take(raw, reply, out)                 \
	(raw_refusal(raw) < 0                     \
			? ww_error_last()->status \
			: ww_wire_decode_##reply((raw)->in, (raw)->bytes, raw_version(raw), out))

/* Asks and waits for the answer to that. Return: WW_OK; WW_END (the connection ended); why not. */
#define raw_call(raw, request, message, reply, out)                          \
	(raw_answered(raw, raw_ask(raw, request, message)) != WW_OK ? WW_END \
								    : raw_take(raw, reply, out))

/* For the macros. */
static inline uint16_t raw_version(const struct raw *raw)
{
	return raw->version ? raw->version : WW_WIRE_VERSION;
}

uint32_t raw_posted(struct raw *raw, size_t bytes);
ww_status raw_answered(struct raw *raw, uint32_t serial);

/* --- requests --- */

/* A put that nothing is wrong with, under an id of its own: sealed, held, mode 0600, 4096 bytes. */
struct ww_wire_put raw_object(const char *name);

ww_status raw_put(struct raw *raw, const struct ww_wire_put *put, const int *fds, size_t fd_count);
uint32_t raw_ask_put(struct raw *raw, const struct ww_wire_put *put, const int *fds,
	size_t fd_count);
ww_status raw_get(struct raw *raw, const char *name, uint8_t access,
	struct ww_wire_granted *out_granted);
uint32_t raw_ask_get(struct raw *raw, const char *name, uint8_t access); /* that waits */
ww_status raw_seal(struct raw *raw, const uint8_t id[16], uint8_t state);
ww_status raw_seal_to_stay(struct raw *raw, const struct ww_wire_put *put, uint32_t flags);
ww_status raw_revoke(struct raw *raw, const uint8_t id[16]);
ww_status raw_release(struct raw *raw, const uint8_t id[16]);
/* Removes the name of an object, of this id unless that is zero; raw_end() ends it, memory too. */
ww_status raw_remove(struct raw *raw, const char *name, const uint8_t id[16]);
ww_status raw_end(struct raw *raw, const char *name);
ww_status raw_end_id(struct raw *raw, const uint8_t id[16]);
ww_status raw_stat(struct raw *raw, const char *name, struct ww_wire_entry *out_entry);
ww_status raw_export(struct raw *raw, const uint8_t id[16], uint8_t access, uint32_t uses,
	uint64_t escrow_ns, uint8_t out_secret[16]);

/* A delivery. count, bytes: the most that this process is to have in flight; 0: any number. */
struct raw_delivery {
	uint32_t uses;
	uint64_t after_ns;
	uint32_t count;
	uint64_t bytes;
	uint8_t secret[16]; /* filled by raw_deliver(), unless it is set */
	uint64_t number;    /* filled */
};
ww_status raw_deliver(struct raw *raw, const uint8_t id[16], uint8_t access,
	struct raw_delivery *delivery);
ww_status raw_recall(struct raw *raw, const struct ww_wire_recall *recall,
	struct ww_wire_recalled *out_recalled);

ww_status raw_import(struct raw *raw, const uint8_t id[16], const uint8_t secret[16],
	uint8_t access, struct ww_wire_granted *out_granted);
ww_status raw_reserve(struct raw *raw, uint64_t bytes, uint32_t fd_count);
uint32_t raw_ask_reserve(struct raw *raw, uint64_t bytes, uint32_t fd_count);
ww_status raw_watch(struct raw *raw, const char *prefix, uint32_t flags);
ww_status raw_condition(struct raw *raw, struct ww_wire_condition *out_condition);

/* Waits until the broker has again what it had @before, and no more. */
void raw_must_settle(struct raw *raw, const struct ww_wire_condition *before);

/* Waits for the next event, which must be one of this kind of this object ("": of none). */
void raw_hear_event(struct raw *raw, uint8_t what, const char *name);

/* A memfd of this size, sealed as the broker wants it; open for reading, and also for writing. */
int raw_memory(uint64_t bytes);
int raw_memory_writable(uint64_t bytes);

#define RAW_FDS_MOST 253 /* that one message carries (SCM_MAX_FD) */

/* Sends a packet with @count descriptors, all of them @fd: also more than the library would. */
void raw_send_same(struct raw *raw, const void *packet, size_t bytes, int fd, size_t count);

#endif
