/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warpway/service.h - functions that a process runs for others, on arrays that stay where they are
 *
 * A service is a process, the server, that offers functions under one name. Clients (client.h) call
 * the functions with scalars, bytes and tokens of memories. The bytes of a memory never move. Only
 * the server needs the GPU: a client holds memories and timelines by tokens, and maps nothing.
 *
 *   server:   create ──> offer, offer, ... ──> start ──> serve ──> drain ──> unref
 *                                                          │
 *                                          runs functions, in the calling thread
 *
 * Calls:
 *   - A call is checked against the function's signature (signature.h) by the client, and again by
 *     the server, which trusts no client.
 *   - Each call of a client is in a lane. Calls of one lane run in their order: a call starts when
 *     the call before it is complete. If a function only enqueues work on its stream, it can be
 *     offered so (WW_FUNCTION_ENQUEUES). Then the lane's next such call starts when the function
 *     has returned.
 *   - Clients take turns: the server takes one call of each client, then of the next.
 *   - If a call was not started before its deadline, or before its client cancelled it, it is not
 *     run. A function that runs can check this (ww_call_is_cancelled()).
 *   - A call can start after a value of a timeline (struct ww_submit_params). Until then the call
 *     waits in its lane. No stream with work of functions waits for a client's timeline, because a
 *     few waits that never end would stop all streams.
 *
 * Batches: a function can be offered that runs several calls at once (ww_service_offer_batch()),
 * for example because many inputs take about the time of one input.
 *
 *   - The calls are of different lanes, of one client or of several. Such a call starts when the
 *     calls before it in its lane are complete, also if these only enqueue.
 *   - A call that could start waits for more calls of the same function. They are run when there
 *     are batch_calls_max calls, when the first of them has waited for batch_wait_ns, or when the
 *     service drains. If batch_wait_ns is 0, the calls that arrived while no thread was free are
 *     run together.
 *   - While a call waits it has not started. It ends without being run when its deadline has
 *     passed, and within 0.1 s after its client has cancelled it or has ended. The other calls are
 *     run.
 *   - A batch can have calls of all clients and users that may call the function. If one of the
 *     calls is wrong, the function fails only this call, by ww_call_fail().
 *
 * When a process ends:
 *   - If a client ends, its queued calls are dropped. Calls that run end as usual. The server
 *     releases all that it holds for the client.
 *   - If the server ends, each call ends with WW_ERR_PEER_LOST, and tells whether its function had
 *     been started. No call is repeated by itself, unless the function is offered with
 *     WW_FUNCTION_IDEMPOTENT and the call is made with WW_SUBMIT_REPEAT (client.h). If a kernel
 *     faults, it ends the server's context, and thereby the server; clients are not affected.
 *   - If another object is put under the name of a service with WW_PUT_REPLACE, the service ends as
 *     by ww_service_drain(): calls that have arrived are completed, and ww_service_serve() returns
 *     WW_END. (A broker of an older version does not tell the server.) If the name is only removed,
 *     server and clients go on.
 *   - If the broker and its supervisor end, calls go on, and no process can become a client. Server
 *     and clients learn of each other's end from the kernel, within 0.1 s while they wait or serve.
 *     If the server would have to import an array for a call, the call fails.
 *
 * Access: a process that may read the service's object may read its functions and its state. A
 * process that may write the object may call. A function can be limited to some users and groups
 * (struct ww_function_params).
 *
 * Built-in functions: a service can offer functions of the library, by which a client without a GPU
 * can make memory and copy bytes. Both kinds are off unless ww_service_params.builtin names them.
 * All names that begin with "warpway." belong to the library.
 *
 *   WW_SERVICE_BUILTIN_DATA:
 *     warpway.copy   any[...] source read, any[...] destination write, u64 bytes,
 *                    u64 source_offset = 0, u64 destination_offset = 0
 *     warpway.fill   any[...] destination write, u32 value, u64 count, u32 value_bytes = 1,
 *                    u64 offset = 0
 *     warpway.read   any[...] source read, u64 bytes, u64 offset = 0 -> bytes data
 *     warpway.write  any[...] destination write, bytes data, u64 offset = 0
 *   WW_SERVICE_BUILTIN_ALLOC:
 *     warpway.alloc  u64 bytes, bytes[191] name = none, u32 mode = 0, bool kept = false
 *                    -> u8[*] memory
 *     warpway.free   any[...] memory write strided
 *
 *   - Offsets are bytes from the first element of the array. The bytes that are copied, filled,
 *     read or written must lie inside the array. Fill repeats the low @value_bytes (1, 2 or 4)
 *     bytes of @value @count times, as ww_stream_fill(). Read and write are for up to
 *     WW_CALL_BYTES_MAX bytes.
 *   - Copy and fill enqueue their work (WW_FUNCTION_ENQUEUES). Read and write start when the calls
 *     before them in the lane are complete. Copy refuses source and destination that overlap.
 *   - Memory of alloc contains zeros. It ends with the client that called alloc, with the service,
 *     or by free: then no process can get it any more, and existing mappings stay. If it has a
 *     name, processes can get it by the name, with @mode as permission bits (0: 0600). A name must
 *     begin with the name of the service and '/'. If @kept is true, and there is a name, the memory
 *     stays in the broker until free or ww_broker_remove(). All these memories belong to the user
 *     of the server. The client need not keep the ticket of the call.
 *   - Any client of the user that called alloc may free the memory, with a token for writing.
 *   - The memories of all clients of one user have together at most alloc_bytes_max bytes, counted
 *     as the device rounds them up: each takes a multiple of 2 MiB. Kept memories count until they
 *     are removed, or the server ends. A new server does not know them, and only the user of the
 *     server can remove them.
 *
 * How it works: a client writes its calls into a file in memory, and the server writes its replies
 * into another file. While both are awake there is no message and no system call. A side that
 * sleeps notes this in a file that it writes, and only then the other side wakes it.
 *
 * Threads: several threads may serve one service at the same time. Then several functions run at
 *          once, but only one for each lane, unless they only enqueue. One thread at a time uses a
 *          ww_call. Offer, start and drain may be called from any thread.
 * Fork:    a child made by fork() cannot use the services of its parent (device.h).
 */
#ifndef WARPWAY_SERVICE_H
#define WARPWAY_SERVICE_H

#include <warpway/array.h>
#include <warpway/base.h>
#include <warpway/broker.h>
#include <warpway/device.h>
#include <warpway/signature.h>
#include <warpway/timeline.h>
#include <warpway/token.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ww_service ww_service;
typedef struct ww_call ww_call;

#define WW_SERVICE_CLIENTS_MAX       4096
#define WW_SERVICE_CALLS_MAX         1024 /* of one client that are not complete */
#define WW_SERVICE_FUNCTIONS_MAX     1024
#define WW_SERVICE_LANES_MAX         64   /* of one client */
#define WW_SERVICE_DEPENDS_MAX       1024 /* a call can depend on one of fewer calls ago */
#define WW_SERVICE_KEEP_MEMORIES     8    /* of one client */
#define WW_SERVICE_BATCH_MAX         256  /* calls that are run at once */
#define WW_SERVICE_AFTER_STREAMS_MAX 4    /* that wait for values of clients' timelines */
#define WW_FUNCTION_NAME_BYTES       64   /* with the ending zero */
#define WW_SERVICE_TEXT_BYTES        32

/* ww_service_params.builtin */
#define WW_SERVICE_BUILTIN_DATA  UINT64_C(0x1) /* copy, fill, read, write */
#define WW_SERVICE_BUILTIN_ALLOC UINT64_C(0x2) /* alloc, free */

/**
 * struct ww_service_params - what service to make
 * @struct_size:         sizeof(struct ww_service_params)
 * @mode:                permission bits, such as 0660: read is for reading functions and state,
 *                       write for calling. 0: 0600
 * @gid:                 group; 0: the caller's own; else one of the caller's groups
 * @functions_max:       the largest number of functions, at most WW_SERVICE_FUNCTIONS_MAX; 0: 64
 * @clients_max:         clients at one time, at most WW_SERVICE_CLIENTS_MAX; 0: 1024. The server
 *                       has two descriptors of each client. If RLIMIT_NOFILE is too low for one
 *                       more client, that client cannot open the service, or its first call fails
 * @clients_per_uid_max: of one user; 0: as many as clients_max
 * @calls_max:           calls of one client that are not complete, a power of two, at most
 *                       WW_SERVICE_CALLS_MAX; 0: 64
 * @arguments_bytes:     room for the arguments of one client's calls that are not complete, at most
 *                       1 MiB; rounded up to 256; 0: 64 KiB
 * @results_bytes:       the same, for results
 * @streams:             the largest number of streams on which functions work at the same time; 0:
 *                       4
 * @flags:               WW_PUT_REPLACE of broker.h, or 0
 * @memory_bytes_max:    the most bytes of memories that the server keeps as results for one client
 *                       until the client has taken them; 0: 1 GiB
 * @version:             the program's own version, such as "2.1"; ended by a zero
 * @builtin:             WW_SERVICE_BUILTIN_... bits: built-in functions that the service offers;
 *                       they count for functions_max. 0: none
 * @alloc_bytes_max:     the most bytes that alloc makes for the clients of one user; 0: 1 GiB. Each
 *                       of these memories also counts as a result, for memory_bytes_max
 * @keep_ns:             how long the server keeps a memory mapped after a call that had it as an
 *                       argument. The next call with this memory asks no broker and maps nothing.
 *                       But if the memory's owner frees the memory, its bytes are free only after
 *                       this time. The server keeps the last WW_SERVICE_KEEP_MEMORIES memories of a
 *                       client, but no slices of pools, and no memory of alloc. It releases them
 *                       while a thread serves, up to 0.1 s later, or when the client ends. 0: not
 *                       at all; WW_FOREVER
 * @after_streams:       how many streams of the GPU may wait for values that calls start after, at
 *                       most WW_SERVICE_AFTER_STREAMS_MAX, see below; 0: none
 * @reserved:            0
 *
 * A call that starts after a value of a timeline (struct ww_submit_params) is found by polling, and
 * so starts up to an eighth of the time waited, and at most 2 ms, after the value was reached. With
 * @after_streams, a stream waits for the value on the GPU, and wakes the server as soon as it is
 * reached. The function is enqueued only then, so nothing else changes for the call. A stream waits
 * in these cases only; otherwise the server polls:
 *   - the client and the signaller belong to the server's own user;
 *   - a stream of the signaller has submitted the value (timeline.h);
 *   - one of the streams is free, and fewer than WW_SERVICE_AFTER_STREAMS_MAX wait in this process,
 *     for all its services;
 *   - the service is on a GPU, and its process is no client of MPS, where streams have 2 hardware
 *     queues, so that one that waits would stop others.
 * If the work before the signal never ends, the stream waits until the signaller ends. Meanwhile
 * other streams go on, but the driver blocks some calls of the whole process, such as cuMemFree()
 * and cuModuleLoadData(), until no stream waits. So use it with clients whose kernels end.
 */
struct ww_service_params {
	uint32_t struct_size;
	uint32_t mode;
	uint32_t gid;
	uint32_t functions_max;
	uint32_t clients_max;
	uint32_t clients_per_uid_max;
	uint32_t calls_max;
	uint32_t arguments_bytes;
	uint32_t results_bytes;
	uint32_t streams;
	uint64_t flags;
	uint64_t memory_bytes_max;
	char version[WW_SERVICE_TEXT_BYTES];
	uint64_t builtin;
	uint64_t alloc_bytes_max;
	uint64_t keep_ns;
	uint32_t after_streams;
	uint32_t reserved;
};

/**
 * ww_service_create() - make a service; this process is its server
 * @device:       borrowed; where the arrays of calls are mapped, and streams are made
 * @broker:       borrowed; NULL: the default broker
 * @name:         borrowed; NULL: it is found by its token only
 * @params:       borrowed; NULL: all zero
 * @cancel:       borrowed; may be NULL: cancel.h
 * @out_service:  the caller's; NULL on failure
 *
 * Clients can find it at once; their calls wait until ww_service_start().
 *
 * Return: WW_OK; WW_CANCELLED; WW_ERR_INVALID (params); WW_ERR_EXISTS (the name is taken);
 *         WW_ERR_LIMIT (functions_max is less than the functions of @builtin); as
 *         ww_timeline_put(); WW_ERR_FORKED.
 */
WW_API ww_status ww_service_create(ww_device *device, ww_broker *broker, const char *name,
	const struct ww_service_params *params, ww_cancel *cancel, ww_service **out_service);

/**
 * ww_service_ref() - take one more reference of a service
 * Return: @service.
 */
WW_API ww_service *ww_service_ref(ww_service *service);

/**
 * ww_service_unref() - release a reference of a service; the last one ends it
 * @service:  may be NULL; no thread serves it any more
 *
 * Calls that were not started end with WW_ERR_UNAVAILABLE. The call waits for the work of functions
 * on streams.
 *
 * Return: NULL.
 */
WW_API ww_service *ww_service_unref(ww_service *service);

/**
 * ww_service_export() - a token by which any process can open the service
 * @service:    borrowed; of this process
 * @access:     WW_ACCESS_READ: to list its functions; WW_ACCESS_WRITE: to call them
 * @params:     borrowed; NULL: WW_ESCROW_DEFAULT
 * @cancel:     borrowed; may be NULL: cancel.h
 * @out_token:  filled on success
 *
 * Return: WW_OK; WW_CANCELLED; as ww_memory_export(); WW_ERR_FORKED.
 */
WW_API ww_status ww_service_export(ww_service *service, uint32_t access,
	const struct ww_token_params *params, ww_cancel *cancel, struct ww_token *out_token);

/* --- functions --- */

/**
 * ww_service_fn - a function of a service
 * @context:  as given to ww_service_offer()
 * @call:     borrowed until the function returns
 *
 * It runs in a thread that serves, with no lock held. Work that it enqueues on ww_call_stream()
 * belongs to the call: the call is complete when this work is complete. Work on other streams must
 * be complete when the function returns.
 *
 * Return: WW_OK; an error, which the client gets together with the sentence of ww_call_fail(), or
 * of the thread's error record if that has this status. Other values count as WW_ERR_STATE, also
 * positive statuses such as WW_CANCELLED and WW_TIMED_OUT.
 */
typedef ww_status (*ww_service_fn)(void *context, ww_call *call);

/**
 * ww_service_batch_fn - a function of a service that runs several calls at once
 * @context:  as given to ww_service_offer_batch()
 * @calls:    borrowed until the function returns; in the order in which they came
 * @count:    of @calls: 1 to batch_calls_max
 *
 * It is like ww_service_fn. Each call has its own arguments and results. All calls have the same
 * stream: each call is complete when the work on the stream is complete. One thread at a time uses
 * all calls of a batch.
 *
 * Return: WW_OK: each call succeeds, except those for which ww_call_fail() was called; an error,
 * which all other calls get.
 */
typedef ww_status (*ww_service_batch_fn)(void *context, ww_call *const *calls, uint32_t count);

/* ww_function_params.flags */
/* repeating a call does no harm: a client may repeat calls after the server has ended */
#define WW_FUNCTION_IDEMPOTENT UINT32_C(0x1)
/*
 * the function uses its arguments and results only by work on its stream, so the lane's next call
 * of such a function starts when this one has returned
 */
#define WW_FUNCTION_ENQUEUES UINT32_C(0x2)

/**
 * struct ww_function_params - how a function is offered
 * @struct_size:      sizeof(struct ww_function_params)
 * @flags:            WW_FUNCTION_... bits
 * @uids:             borrowed; users that may call it; NULL: see @gids
 * @gids:             borrowed; groups that may call it: the group with which the client has opened
 *                    the service counts. If both are NULL, every client that may call the service
 *                    may call it
 * @uid_count:        of @uids
 * @gid_count:        of @gids
 * @batch_wait_ns:    how long a call waits for other calls, at most 60 s. This field and the next
 *                    one are only for ww_service_offer_batch()
 * @batch_calls_max:  the most calls that are run at once, at most WW_SERVICE_BATCH_MAX; 0: 64
 * @reserved:         0
 */
struct ww_function_params {
	uint32_t struct_size;
	uint32_t flags;
	const uint32_t *uids;
	const uint32_t *gids;
	uint32_t uid_count;
	uint32_t gid_count;
	uint64_t batch_wait_ns;
	uint32_t batch_calls_max;
	uint32_t reserved;
};

/**
 * ww_service_offer() - offer a function
 * @service:    borrowed
 * @name:       borrowed; letters, digits, '_', '.', '-' and '/', at most 63; it must not begin with
 *              "warpway.", as names of built-in functions do
 * @signature:  borrowed; its arguments and results, as signature.h says
 * @fn:         called for each call
 * @context:    the argument of @fn; must stay valid until the service has ended
 * @params:     borrowed; NULL: all zero
 *
 * Return: WW_OK; WW_ERR_INVALID (name, or params); WW_ERR_EXISTS (there is a function of this
 *         name); WW_ERR_LIMIT (functions_max); WW_ERR_NO_MEMORY; as ww_signature_info_get();
 *         WW_ERR_FORKED.
 */
WW_API ww_status ww_service_offer(ww_service *service, const char *name, const char *signature,
	ww_service_fn fn, void *context, const struct ww_function_params *params);

/**
 * ww_service_offer_batch() - offer a function that runs several calls at once
 * @service:    borrowed
 * @name:       borrowed; as of ww_service_offer()
 * @signature:  borrowed; of each call
 * @fn:         called for several calls, of different lanes
 * @context:    the argument of @fn; must stay valid until the service has ended
 * @params:     borrowed; NULL: all zero
 *
 * Return: as ww_service_offer().
 */
WW_API ww_status ww_service_offer_batch(ww_service *service, const char *name,
	const char *signature, ww_service_batch_fn fn, void *context,
	const struct ww_function_params *params);

/* --- serving --- */

/**
 * ww_service_start() - tell clients that all functions are offered
 * @service:  borrowed
 *
 * The state changes from starting to ready. In any other state the call does nothing.
 *
 * Return: WW_OK; WW_ERR_FORKED.
 */
WW_API ww_status ww_service_start(ww_service *service);

/**
 * ww_service_serve() - run functions for clients, in the calling thread
 * @service:     borrowed; started
 * @timeout_ns:  how long; 0: only the calls that have arrived; WW_FOREVER
 * @cancel:      borrowed; may be NULL: cancel.h
 *
 * A function that runs when the time is over is not interrupted.
 *
 * If a kernel faults (an illegal address, for example), the device is unusable for the whole
 * process. This is noticed within about 70 ms: the calls whose work goes on end with WW_ERR_DEVICE,
 * and from then on each ww_service_serve() returns WW_ERR_DEVICE. The process should end then,
 * which also ends the calls that wait and the timelines of lanes. `warpway offer` starts another
 * process.
 *
 * Return: WW_TIMED_OUT (with 0: there is nothing to do now); WW_CANCELLED; WW_END (the service was
 *         drained or replaced, and no call is left); WW_ERR_DEVICE (a kernel has faulted);
 *         WW_ERR_STATE (it was not started); WW_ERR_FORKED.
 */
WW_API ww_status ww_service_serve(ww_service *service, uint64_t timeout_ns, ww_cancel *cancel);

/**
 * ww_service_eventfd() - a descriptor for event loops: readable while there are calls
 * @service:  borrowed
 * @out_fd:   the caller's, to be closed at any time; an eventfd(2), non-blocking, close-on-exec;
 *            -1 on failure. Only poll it: the library reads and writes it
 *
 * The descriptor becomes readable when ww_service_serve() with timeout 0 has something to do: a
 * call has arrived, the work of a call on a stream is complete, clients have joined, or the service
 * was drained and no call is left. The exact rules:
 *
 *   - When the last thread has ended serving, the descriptor is not readable. If something is left
 *     to do, or comes later, it becomes readable soon after. No call is missed.
 *   - Once readable, it stays readable until a thread serves, even if that thread finds nothing.
 *   - While a thread serves, it does not change.
 *
 * Each call gives a duplicate of the same eventfd. It is readable for ever after the last
 * ww_service_unref().
 *
 * The first call starts a thread, "ww-service", in which all signals are blocked. While no thread
 * serves, this thread sleeps, removes clients that have ended, and polls for calls. It ends with
 * the service.
 *
 * Return: WW_OK; WW_ERR_NO_MEMORY; WW_ERR_LIMIT (of descriptors or threads); WW_ERR_SYSTEM;
 *         WW_ERR_FORKED.
 */
WW_API ww_status ww_service_eventfd(ww_service *service, int *out_fd);

/**
 * ww_service_drain() - take no new calls
 * @service:  borrowed
 *
 * Calls that arrive from now on end with WW_ERR_UNAVAILABLE. So do calls that start after a value
 * of a timeline that is not completed, so that no client can delay the server. All other calls that
 * have arrived are run, and then ww_service_serve() returns WW_END. A signal handler may call this
 * function.
 *
 * Return: WW_OK; WW_ERR_FORKED.
 */
WW_API ww_status ww_service_drain(ww_service *service);

/* ww_service_info.state */
enum {
	WW_SERVICE_STARTING = 1,
	WW_SERVICE_READY = 2,
	WW_SERVICE_DRAINING = 3,
	WW_SERVICE_STOPPED = 4, /* the server has closed it */
	WW_SERVICE_LOST = 5     /* the server's process has ended */
};

/**
 * struct ww_service_info - the state of a service
 * @struct_size:      set by the caller to sizeof(struct ww_service_info)
 * @state:            WW_SERVICE_...
 * @functions:        number of functions that are offered
 * @clients:          number of clients that the server knows
 * @clients_max:      at one time
 * @calls_max:        of one client
 * @arguments_bytes:  as the service was made
 * @results_bytes:    as the service was made
 * @pid:              of the server, as the broker says: see struct ww_timeline_info
 * @uid:              of the server: as the broker says; in the server itself: its own
 * @calls:            number of calls that the server has taken
 * @age_ns:           time since the service was made
 * @version:          as the server's program sets it
 * @program:          the server's name: see struct ww_timeline_info
 */
struct ww_service_info {
	uint32_t struct_size;
	uint32_t state;
	uint32_t functions;
	uint32_t clients;
	uint32_t clients_max;
	uint32_t calls_max;
	uint32_t arguments_bytes;
	uint32_t results_bytes;
	uint32_t pid;
	uint32_t uid;
	uint64_t calls;
	uint64_t age_ns;
	char version[WW_SERVICE_TEXT_BYTES];
	char program[WW_PROGRAM_BYTES];
};

/**
 * ww_service_info_get() - describe a service
 * @service:  borrowed
 * @info:     the caller's, with struct_size set; filled on success
 *
 * Return: WW_OK; WW_ERR_INVALID (struct_size is not set); WW_ERR_FORKED.
 */
WW_API ww_status ww_service_info_get(ww_service *service, struct ww_service_info *info);

#define WW_SERVICE_LATENCIES 64

/**
 * struct ww_function_info - a function, with counts of its calls
 * @struct_size:      set by the caller to sizeof(struct ww_function_info)
 * @flags:            WW_FUNCTION_... bits
 * @hash:             of the signature
 * @calls:            number of calls that ended, in any way
 * @failed:           how many of these ended by an error
 * @not_started:      how many of these ended before the function ran: cancelled, late, refused
 * @run_ns:           time of all runs together, until the work on streams was complete; each call
 *                    of a batch counts
 * @latency:          number of runs by their length: entry 2i from 2^i to 1.5 * 2^i ns, entry 2i +
 *                    1 up to 2^(i+1) ns; the last entry has all longer runs
 * @name:             its name
 * @signature:        its signature, canonical
 * @batches:          number of batches that were started; 0 if it runs each call alone
 * @batch_calls_max:  the most calls that it runs at once; 0: it runs each call alone
 * @reserved:         0
 */
struct ww_function_info {
	uint32_t struct_size;
	uint32_t flags;
	uint64_t hash;
	uint64_t calls;
	uint64_t failed;
	uint64_t not_started;
	uint64_t run_ns;
	uint64_t latency[WW_SERVICE_LATENCIES];
	char name[WW_FUNCTION_NAME_BYTES];
	char signature[WW_SIGNATURE_TEXT_BYTES];
	uint64_t batches;
	uint32_t batch_calls_max;
	uint32_t reserved;
};

/**
 * ww_service_function_info_get() - describe a function of this process's service
 * @service:  borrowed
 * @index:    0, 1, 2, ...
 * @info:     the caller's, with struct_size set; filled on success
 *
 * Return: WW_OK; WW_END (there is no such index); WW_ERR_INVALID (struct_size is not set);
 *         WW_ERR_FORKED.
 */
WW_API ww_status ww_service_function_info_get(ww_service *service, uint32_t index,
	struct ww_function_info *info);

/* --- in a function --- */

/**
 * struct ww_value - an argument or a result
 * @kind:          WW_ARGUMENT_... of signature.h
 * @dtype:         of a scalar
 * @scalar:        its bits, zeros above them: for an i32 (uint32_t)x, for an f32 its four bytes by
 *                 memcpy(); a bool is 0 or 1
 * @data:          of bytes
 * @bytes:         how many bytes @data has
 * @memory:        of an array: a memory of this process; NULL: @token names it
 * @token:         of an array or a timeline, if @memory and @timeline are NULL
 * @array:         of an array: how it lies in the memory, or in the token's span; NULL: as the
 *                 token says, else u8[all of its bytes]
 * @timeline:      of a timeline
 * @pointer:       set in an argument that a function gets: address of element [0, 0, ...], for the
 *                 service's device; else ignored
 * @host_pointer:  the same, for the CPU; NULL: the CPU cannot reach it
 *
 * @kind decides which fields are used; all others are 0. All pointers are borrowed. A ww_value has
 * no struct_size: it always has 80 bytes. An example with three arguments, for "i32 a, bytes b,
 * f32[n] x write":
 *
 *   const struct ww_value values[] = {
 *           {.kind = WW_ARGUMENT_SCALAR, .dtype = {WW_DTYPE_INT, 32, 1}, .scalar = (uint32_t)a},
 *           {.kind = WW_ARGUMENT_BYTES, .data = text, .bytes = strlen(text)},
 *           {.kind = WW_ARGUMENT_ARRAY, .memory = x, .array = &shape},
 *   };
 */
struct ww_value {
	uint32_t kind;
	struct ww_dtype dtype;
	uint64_t scalar;
	const void *data;
	uint64_t bytes;
	ww_memory *memory;
	const struct ww_token *token;
	const struct ww_array *array;
	ww_timeline *timeline;
	void *pointer;
	void *host_pointer;
};

/**
 * ww_call_argument() - an argument of the call
 * @call:       borrowed
 * @index:      of the parameter in the signature
 * @out_value:  filled on success; its pointers are valid until the function returns. For an array,
 *              @memory, @array, @pointer and @host_pointer are set. Its memory stays mapped until
 *              the call is complete, so work that the function has enqueued on the call's stream
 *              may use the addresses
 *
 * The first call for an array imports it: that may block for a round trip to the broker.
 *
 * Return: WW_OK; WW_END (there is no such parameter); as ww_memory_import() and
 *         ww_timeline_import(): if the function returns this status, the client gets it.
 */
WW_API ww_status ww_call_argument(ww_call *call, uint32_t index, struct ww_value *out_value);

/**
 * ww_call_result() - set a result of the call
 * @call:   borrowed
 * @index:  of the result in the signature
 * @value:  borrowed; scalars and bytes are copied. A memory is kept until the client has taken it,
 *          and counts for memory_bytes_max of the service until then
 *
 * For a memory, the call may block for a round trip to the broker. A function that returns WW_OK
 * must have set all results. If the call fails, it has waited for the work on the call's stream, so
 * that the function can release the memory.
 *
 * Return: WW_OK; WW_ERR_MISMATCH (the signature says otherwise; the record names both);
 *         WW_ERR_QUOTA (memory_bytes_max); WW_ERR_LIMIT (no room); as ww_memory_export().
 */
WW_API ww_status ww_call_result(ww_call *call, uint32_t index, const struct ww_value *value);

/**
 * ww_call_stream() - the stream for the call's work
 * @call:        borrowed; the calls of a batch have the same stream
 * @out_stream:  borrowed from the service; valid until the function returns
 *
 * Return: WW_OK; as ww_stream_create().
 */
WW_API ww_status ww_call_stream(ww_call *call, ww_stream **out_stream);

/**
 * ww_call_fail() - set the status and the message of a call that fails
 * @call:     borrowed
 * @status:   the error, below 0; a positive status becomes WW_ERR_STATE
 * @message:  borrowed; a sentence for the client, UTF-8, cut at 239 bytes; NULL: none
 *
 * In a batch, only this call fails. The function goes on, and returns WW_OK if the other calls
 * succeed.
 *
 * Return: @status, so that a function can return it.
 */
WW_API ww_status ww_call_fail(ww_call *call, ww_status status, const char *message);

/**
 * ww_call_is_cancelled() - whether the result of the call is not needed any more
 * @call:  borrowed
 *
 * If it returns 1, the function may end early, with any error, such as WW_ERR_GIVEN_UP. If the
 * client still waits for the call, it gets what the function returns, also WW_OK and the results.
 *
 * Return: 1: the client has cancelled it or has ended, or the call's deadline has passed; else 0.
 */
WW_API int32_t ww_call_is_cancelled(ww_call *call);

/**
 * struct ww_call_info - a call, and the client that makes it
 * @struct_size:  set by the caller to sizeof(struct ww_call_info)
 * @uid:          of the client: as the broker says
 * @gid:          group with which the client has opened the service; the broker has checked that
 *                the client is in this group
 * @pid:          of the client, in the broker's pid namespace; 0: not known there
 * @client:       number of the client, 0 to clients_max - 1; a later client may have it again
 * @lane:         of the client
 * @number:       of the call: 1, 2, 3, ... of this client
 * @deadline_ns:  CLOCK_MONOTONIC; WW_FOREVER: none
 * @function:     its name
 * @program:      name of the client's program: see struct ww_timeline_info
 */
struct ww_call_info {
	uint32_t struct_size;
	uint32_t uid;
	uint32_t gid;
	uint32_t pid;
	uint32_t client;
	uint32_t lane;
	uint64_t number;
	uint64_t deadline_ns;
	char function[WW_FUNCTION_NAME_BYTES];
	char program[WW_PROGRAM_BYTES];
};

/**
 * ww_call_info_get() - describe a call
 * @call:  borrowed
 * @info:  the caller's, with struct_size set; filled on success
 *
 * Return: WW_OK; WW_ERR_INVALID (struct_size is not set).
 */
WW_API ww_status ww_call_info_get(ww_call *call, struct ww_call_info *info);

#ifdef __cplusplus
}
#endif

#endif
