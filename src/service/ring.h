/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring.h - what the processes of a service share: files in memory, and the steps of a call
 *
 *   page      functions, state and counts; the server writes it, all others read
 *   bell      wakes the server; all that may call write it
 *   key       128 random bits, which only those get that may call; constant
 *   requests  of one client; it writes, the server reads
 *   replies   of the same client, which has made the file; the server writes, the client reads
 *
 * The page, the bell and the key are descriptors of the service's object; readers of the object get
 * the page only. A client's object is inside the service's and can be had by the server only
 * (mode 0600), since arguments contain tokens. The requests name the key, so that the server knows
 * that the client may call.
 *
 * A call:
 *   client, publishes:  take a free slot; write it, and the arguments; store its number in the
 *                       order; store published; if the server does not look at this client, set
 *                       its bit in the bell (active.h); look whether it sleeps, and wake it
 *   server, takes:      load published; copy the slot's number, the slot and the arguments, once
 *                       each; check the copies
 *   server, starts:     store started in the slot of the replies; run the function
 *   server, ends:       write results and status; store done; look whether the client sleeps, and
 *                       wake it
 *   client, looks:      load done; if it is the call's number, copy the reply; the slot is free
 *
 * The stores of published and done, and the loads of is_asleep after them, are in one order with
 * the stores of is_asleep and the looks after those (seq_cst), so that one side sees the other.
 *
 * A slot belongs to one call from the time it is published until it is done, and the same slot of
 * the replies with it. The client chooses the room for the results, in an area of the replies,
 * which also belongs to the call for so long. So there is always room for a reply, and the server
 * keeps no bytes for a client. As slots the client takes the one that was freed last: a client with
 * few calls at a time touches few pages.
 *
 * What the requests say comes from an untrusted process: each field is loaded once, and checked
 * before it is used. If a value is not valid, the calls of this client end, and no others. The
 * server never reads the replies. The client checks what it reads there.
 *
 * protocol/call_rings.pml models these steps.
 *
 * The bell has no single writer, so no process trusts its header. A hostile client can wake the
 * server for nothing; by storing into the futex word all the time it can make the server miss a
 * wake that comes in the instant before the server sleeps. So the server's sleeps are short at
 * first (sleep_ns() in serve.c), which bounds what others notice. It can also clear the bit of an
 * idle client, whose call is then found when the server next looks at all clients, within
 * WW_PEER_LOOK_NS.
 */
#ifndef WW_SERVICE_RING_H
#define WW_SERVICE_RING_H

#include <stdbool.h>

#include "base/await.h"
#include "device/mapping.h"
#include "wire/protocol.h"

#define WW_SERVICE_AREA_UNIT  256 /* bytes; what an area is given out by */
#define WW_SERVICE_BELL_WORDS 64
#define WW_SERVICE_NAME_BYTES 64

/* How large the files of a service are. */
struct ww_service_size {
	uint32_t functions_max;
	uint32_t calls_max;
	uint32_t arguments_bytes;
	uint32_t results_bytes;
};

/* The files, mapped. */
struct ww_service_page {
	struct ww_mapping *mapping; /* a reference */
	struct ww_layout_service_page *header;
	struct ww_layout_service_function *functions;
	uint32_t function_max;
};

struct ww_service_bell {
	struct ww_mapping *mapping; /* a reference */
	struct ww_layout_service_bell *header;
	struct ww_layout_service_bell_word *words;
};

struct ww_service_requests {
	struct ww_mapping *mapping; /* a reference */
	struct ww_layout_service_requests *header;
	uint64_t *order;
	struct ww_layout_service_request *slots;
	uint8_t *area;
	uint32_t slot_count;
	uint32_t area_bytes;
};

struct ww_service_replies {
	struct ww_mapping *mapping; /* a reference */
	struct ww_layout_service_replies *header;
	struct ww_layout_service_reply *slots;
	uint8_t *area;
	uint32_t slot_count;
	uint32_t area_bytes;
};

/* Names inside the service's object: "@ID/client-". */
void ww_service_name(const struct ww_wire_service_ref *form, const char *what,
	char out[WW_SERVICE_NAME_BYTES]);

/*
 * create: new ones. Return: WW_OK; as ww_shared_file_create().
 * import: of an untrusted process; @fd is borrowed. The files of a client keep no descriptor, since
 *         a server has many clients. Return: WW_OK; as ww_shared_file_import().
 * fini: of a zeroed one too.
 */
ww_status ww_service_page_create(struct ww_service_page *page,
	const uint8_t service_id[WW_WIRE_ID_BYTES], const struct ww_service_size *size);
ww_status ww_service_page_import(struct ww_service_page *page, int fd,
	const uint8_t service_id[WW_WIRE_ID_BYTES], const struct ww_service_size *size);
void ww_service_page_fini(struct ww_service_page *page);

ww_status ww_service_bell_create(struct ww_service_bell *bell,
	const uint8_t service_id[WW_WIRE_ID_BYTES]);
ww_status ww_service_bell_import(struct ww_service_bell *bell, int fd,
	const uint8_t service_id[WW_WIRE_ID_BYTES]);
void ww_service_bell_fini(struct ww_service_bell *bell);

/* @key: put into the file; import reads it, and keeps no mapping */
ww_status ww_service_key_create(const uint8_t service_id[WW_WIRE_ID_BYTES],
	const uint8_t key[WW_WIRE_ID_BYTES], struct ww_mapping **out_mapping);
ww_status ww_service_key_import(int fd, const uint8_t service_id[WW_WIRE_ID_BYTES],
	uint8_t out_key[WW_WIRE_ID_BYTES]);

ww_status ww_service_requests_create(struct ww_service_requests *requests,
	const uint8_t service_id[WW_WIRE_ID_BYTES], const struct ww_service_size *size);
ww_status ww_service_requests_import(struct ww_service_requests *requests, int fd,
	const uint8_t service_id[WW_WIRE_ID_BYTES], const struct ww_service_size *size);
void ww_service_requests_fini(struct ww_service_requests *requests);

ww_status ww_service_replies_create(struct ww_service_replies *replies,
	const uint8_t service_id[WW_WIRE_ID_BYTES], const struct ww_service_size *size);
ww_status ww_service_replies_import(struct ww_service_replies *replies, int fd,
	const uint8_t service_id[WW_WIRE_ID_BYTES], const struct ww_service_size *size);
void ww_service_replies_fini(struct ww_service_replies *replies);

/* --- the client's steps --- */

/* A slot is written. @call: its number. It does not wake. */
static inline void ww_service_requests_publish(struct ww_service_requests *requests, uint32_t slot,
	uint64_t call)
{
	__atomic_store_n(&requests->order[(call - 1) & (requests->slot_count - 1)], slot,
		__ATOMIC_RELAXED);
	__atomic_store_n(&requests->header->published, call, __ATOMIC_SEQ_CST);
}

/* A call is published: tells the server if it does not look at the client, or sleeps. */
void ww_service_bell_ring(struct ww_service_bell *bell, const struct ww_service_page *page,
	const struct ww_service_replies *replies);

static inline bool ww_service_replies_is_done(const struct ww_service_replies *replies,
	uint32_t slot, uint64_t call)
{
	return __atomic_load_n(&replies->slots[slot].done, __ATOMIC_SEQ_CST) == call;
}

static inline bool ww_service_replies_is_started(const struct ww_service_replies *replies,
	uint32_t slot, uint64_t call)
{
	return __atomic_load_n(&replies->slots[slot].started, __ATOMIC_ACQUIRE) == call;
}

/* --- the server's steps --- */

/* A call, copied from the requests and not yet checked. */
static inline uint64_t ww_service_requests_published(const struct ww_service_requests *requests)
{
	return __atomic_load_n(&requests->header->published, __ATOMIC_SEQ_CST);
}

/* The slot of a call that was published; any number. */
static inline uint64_t ww_service_requests_slot(const struct ww_service_requests *requests,
	uint64_t call)
{
	return __atomic_load_n(&requests->order[(call - 1) & (requests->slot_count - 1)],
		__ATOMIC_RELAXED);
}

static inline bool ww_service_requests_is_cancelled(const struct ww_service_requests *requests,
	uint32_t slot, uint64_t call)
{
	return __atomic_load_n(&requests->slots[slot].cancelled, __ATOMIC_ACQUIRE) == call;
}

static inline bool ww_service_requests_is_released(const struct ww_service_requests *requests,
	uint32_t slot, uint64_t call)
{
	return __atomic_load_n(&requests->slots[slot].released, __ATOMIC_ACQUIRE) >= call;
}

static inline bool ww_service_requests_has_left(const struct ww_service_requests *requests)
{
	return __atomic_load_n(&requests->header->has_left, __ATOMIC_ACQUIRE) != 0;
}

/* The call is done. Wakes the client if it sleeps. */
void ww_service_replies_end(struct ww_service_replies *replies, uint32_t slot, uint64_t call,
	const struct ww_service_requests *requests);

/* Whether the client has to set its bit in the bell with its next call (active.h). */
static inline void ww_service_replies_set_idle(struct ww_service_replies *replies, bool is_idle)
{
	__atomic_store_n(&replies->header->is_idle, is_idle, __ATOMIC_SEQ_CST);
}

/* What the server makes of the client. @join: of enum service_join. Wakes the client. */
void ww_service_replies_join(struct ww_service_replies *replies, uint32_t join, uint32_t number);

static inline uint32_t ww_service_page_state(const struct ww_service_page *page)
{
	return __atomic_load_n(&page->header->state, __ATOMIC_ACQUIRE);
}

/* Functions that may be read, whatever an untrusted server says. */
static inline uint32_t ww_service_page_count(const struct ww_service_page *page)
{
	uint32_t count = __atomic_load_n(&page->header->function_count, __ATOMIC_ACQUIRE);

	return count < page->function_max ? count : page->function_max;
}

/* 0; else what RLIMIT_NOFILE of the server would have to be (file_limit.h). */
static inline uint32_t ww_service_page_files_wanted(const struct ww_service_page *page)
{
	return __atomic_load_n(&page->header->files_wanted, __ATOMIC_ACQUIRE);
}

/* Stores the state and wakes those that wait for it. Safe in a signal handler. */
void ww_service_page_set_state(struct ww_service_page *page, uint32_t state);

/* --- sleeping --- */

/*
 * Waits as ww_await(). The server says in its page that it sleeps, a client in its requests. The
 * server polls again after @deadline_ns, even if no client wakes it.
 */
ww_status ww_service_await_call(const struct ww_service_bell *bell, struct ww_service_page *own,
	ww_await_fn look, void *context, uint64_t deadline_ns);
ww_status ww_service_await_reply(const struct ww_service_replies *replies,
	struct ww_service_requests *own, ww_await_fn look, void *context, uint64_t deadline_ns);

#endif
