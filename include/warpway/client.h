/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warpway/client.h - calling the functions of a service
 *
 * A client opens a service (service.h) by name or token, looks up functions, and calls them: it
 * submits a call, gets a ticket, and waits for the ticket when it needs the results. A client needs
 * no device, because it passes memories as tokens.
 *
 *   open ──> find ──> submit ──> wait ──> results ──> unref the ticket
 *                        │        (or poll its eventfd)
 *                        └──> cancel
 *
 * A call is also made if the client does not wait for it. A call ends with WW_OK, or with the
 * status and the sentence of the function, or with one of these:
 *
 *   WW_TIMED_OUT               its deadline passed before the function was started
 *   WW_CANCELLED               it was cancelled before the function was started
 *   WW_ERR_UNAVAILABLE         the server takes no more calls: it drains, or its service was
 *                              replaced. Open the service again
 *   WW_ERR_PEER_LOST           the server has ended: ww_ticket_info.has_started says whether the
 *                              function may have run
 *   WW_ERR_DEPENDENCY_FAILED   a call that it depends on has failed; or the value of the timeline
 *                              that it starts after never comes
 *
 * Threads: one thread at a time uses one ww_client with its tickets. A process may open a service
 *          several times: each ww_client is a separate client.
 * Fork:    a child made by fork() cannot use the clients of its parent (device.h).
 */
#ifndef WARPWAY_CLIENT_H
#define WARPWAY_CLIENT_H

#include <warpway/service.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ww_client ww_client;
typedef struct ww_ticket ww_ticket;

/* ww_client_params.flags: the client can read functions and state, but cannot call */
#define WW_CLIENT_OBSERVE UINT32_C(0x1)

/**
 * struct ww_client_params - how a service is opened
 * @struct_size:  sizeof(struct ww_client_params)
 * @flags:        WW_CLIENT_... bits
 * @gid:          the group that counts if functions are limited to groups; 0: the caller's own;
 *                else one of the caller's groups
 * @reserved:     0
 */
struct ww_client_params {
	uint32_t struct_size;
	uint32_t flags;
	uint32_t gid;
	uint32_t reserved;
};

/**
 * ww_client_open() - become a client of the service of a name
 * @broker:      borrowed; NULL: the default broker
 * @name:        borrowed
 * @params:      borrowed; NULL: all zero
 * @timeout_ns:  how long to wait for the name to appear; 0: not at all; WW_FOREVER
 * @cancel:      borrowed; may be NULL: cancel.h
 * @out_client:  the caller's; NULL on failure
 *
 * This function does not wait for the server. A call waits for it.
 *
 * Return: WW_OK; WW_TIMED_OUT (the error record says so, too); WW_CANCELLED; WW_ERR_NOT_FOUND;
 *         WW_ERR_ACCESS (this process may not write the service, or with WW_CLIENT_OBSERVE may not
 *         read it); WW_ERR_UNSUPPORTED (it is not a service); WW_ERR_LIMIT (the server may open too
 *         few files for one more client; the record has the limit to set); WW_ERR_PROTOCOL; as
 *         ww_timeline_get(); WW_ERR_FORKED.
 */
WW_API ww_status ww_client_open(ww_broker *broker, const char *name,
	const struct ww_client_params *params, uint64_t timeout_ns, ww_cancel *cancel,
	ww_client **out_client);

/**
 * ww_client_import() - become a client of the service that a token names
 * @broker:      borrowed; NULL: the broker of WARPWAY_BROKER, else the broker at the token's
 *               address
 * @token:       borrowed; may come from anywhere
 * @params:      borrowed; NULL: all zero
 * @cancel:      borrowed; may be NULL: cancel.h
 * @out_client:  the caller's; NULL on failure
 *
 * Return: as ww_client_open() and ww_timeline_import().
 */
WW_API ww_status ww_client_import(ww_broker *broker, const struct ww_token *token,
	const struct ww_client_params *params, ww_cancel *cancel, ww_client **out_client);

/**
 * ww_client_ref() - take one more reference of a client
 * Return: @client.
 */
WW_API ww_client *ww_client_ref(ww_client *client);

/**
 * ww_client_unref() - release a reference of a client; the last one leaves the service
 * @client:  may be NULL
 *
 * Each ticket has a reference, too. When the client leaves, calls that were not started are
 * dropped, and running calls go on.
 *
 * Return: NULL.
 */
WW_API ww_client *ww_client_unref(ww_client *client);

/**
 * ww_client_service_info_get() - describe the service
 * @client:  borrowed
 * @info:    the caller's, with struct_size set; filled on success
 *
 * Return: WW_OK; WW_ERR_INVALID (struct_size is not set); WW_ERR_FORKED.
 */
WW_API ww_status ww_client_service_info_get(ww_client *client, struct ww_service_info *info);

/**
 * ww_client_function_info_get() - describe a function of the service
 * @client:  borrowed
 * @index:   0, 1, 2, ...
 * @info:    the caller's, with struct_size set; filled on success
 *
 * Return: WW_OK; WW_END (there is no such index); WW_ERR_INVALID (struct_size is not set);
 *         WW_ERR_PROTOCOL; WW_ERR_FORKED.
 */
WW_API ww_status ww_client_function_info_get(ww_client *client, uint32_t index,
	struct ww_function_info *info);

/**
 * ww_client_wait_ready() - wait until the server has started the service
 * @client:      borrowed
 * @timeout_ns:  how long; 0: do not wait; WW_FOREVER
 * @cancel:      borrowed; may be NULL: cancel.h
 *
 * Return: WW_OK (it is ready); WW_TIMED_OUT; WW_CANCELLED; WW_ERR_UNAVAILABLE (it is draining, or
 *         was stopped); WW_ERR_PEER_LOST (the server has ended); WW_ERR_FORKED.
 */
WW_API ww_status ww_client_wait_ready(ww_client *client, uint64_t timeout_ns, ww_cancel *cancel);

/**
 * ww_client_find() - look up a function
 * @client:        borrowed
 * @name:          borrowed
 * @signature:     borrowed; the signature that the caller expects; NULL: any
 * @timeout_ns:    how long to wait until it is offered, while the service starts; 0: not at all
 * @cancel:        borrowed; may be NULL: cancel.h
 * @out_function:  its index, for ww_client_submit()
 *
 * Return: WW_OK; WW_TIMED_OUT; WW_CANCELLED; WW_ERR_NOT_FOUND; WW_ERR_MISMATCH (its signature
 *         differs: the record has both); as ww_signature_info_get(); WW_ERR_PEER_LOST;
 *         WW_ERR_NO_MEMORY; WW_ERR_FORKED.
 */
WW_API ww_status ww_client_find(ww_client *client, const char *name, const char *signature,
	uint64_t timeout_ns, ww_cancel *cancel, uint32_t *out_function);

/*
 * ww_submit_params.flags of ww_client_call(): if the server ends before it has answered, the call
 * is made again, by the next server of the service's name. Not if it returns WW_ERR_UNAVAILABLE
 */
#define WW_SUBMIT_REPEAT UINT64_C(0x1)
/*
 * ww_submit_params.flags: the call continues a chain: it depends on the call before it in its lane,
 * if there is one, however many calls of other lanes were made since. Calls without it begin a
 * chain
 */
#define WW_SUBMIT_CHAIN UINT64_C(0x2)

/* That one call can depend on, with the call before it in a chain. */
#define WW_SUBMIT_DEPENDS_MAX 6

/**
 * struct ww_submit_params - how a call is made
 * @struct_size:  sizeof(struct ww_submit_params)
 * @lane:         0 to WW_SERVICE_LANES_MAX - 1: calls of one lane run in their order
 * @deadline_ns:  the latest start, as time from now: the call is not started later, and a running
 *                function can check whether the time has passed; 0: none. See below
 * @depends_on:   number of one of this client's last 1,023 calls (ww_ticket_info.number): if that
 *                call fails, is cancelled or is too late, this call ends with
 *                WW_ERR_DEPENDENCY_FAILED. 0: no dependency
 * @after:        borrowed; a timeline: the call is started when this timeline has completed
 *                @after_value. The client keeps the timeline until the call has ended, so releasing
 *                it does not end the wait. NULL: see @after_token
 * @after_token:  borrowed; a token of the timeline
 * @after_value:  at most WW_TIMELINE_MAX; 0: the call starts at once, whatever @after says
 * @flags:        WW_SUBMIT_... bits
 * @depends_more: borrowed; numbers of further calls that this call depends on; a number of 0 is
 *                ignored. NULL: there are none
 * @depends_more_count: of @depends_more
 * @reserved:     0
 *
 * A call that depends on other calls starts when all of them have ended. A call that is named
 * several times counts once. If one of them fails, ww_ticket_info.failed_call is the number of the
 * first call that failed. While it waits for them, the call ends at its deadline, and within 0.1 s
 * after it was cancelled.
 *
 * A call whose deadline has passed ends as soon as a thread of the server looks, also while a call
 * before it in its lane runs, or waits. Its status is WW_CANCELLED if it was cancelled before that,
 * else WW_ERR_DEPENDENCY_FAILED if a call that it depends on has failed, else WW_TIMED_OUT. So the
 * reply of a late call can come before those of earlier calls. The values of the lane's timeline
 * are reached in their order all the same: the late call's value is reached when the calls before
 * it have ended. In one case the late call, too, ends only then, or up to 0.1 s later: if the
 * client has the lane's timeline, and the function of the call before has returned while its work
 * on a stream goes on. The deadline does not limit how long the caller waits: all threads of the
 * server may be busy.
 *
 * If a call starts after a value of a timeline, it waits in its lane, and the lane's later calls
 * wait for it. Other lanes go on. No stream and no thread of the server waits, because the server
 * polls the timeline. It notices the value within an eighth of the time waited and 20 us, at most
 * 2 ms later, unless thousands of lanes wait. The function can read all that was written before the
 * value was signalled.
 *
 * The call ends without being started, with the timeline's sentence, in these cases:
 *   - WW_ERR_DEPENDENCY_FAILED: the timeline's signaller has ended, or closed the timeline, before
 *     the value;
 *   - as ww_timeline_import(): the server cannot import the timeline (such as WW_ERR_NOT_FOUND,
 *     WW_ERR_ACCESS);
 *   - WW_ERR_UNAVAILABLE: the service drains, and the value is not reached yet.
 * The call also ends by its deadline, or when it is cancelled. If the signaller may hang, the call
 * should have a deadline.
 */
struct ww_submit_params {
	uint32_t struct_size;
	uint32_t lane;
	uint64_t deadline_ns;
	uint64_t depends_on;
	ww_timeline *after;
	const struct ww_token *after_token;
	uint64_t after_value;
	uint64_t flags;
	const uint64_t *depends_more;
	uint32_t depends_more_count;
	uint32_t reserved;
};

/**
 * ww_client_submit() - make a call, without waiting for its results
 * @client:      borrowed
 * @function:    as ww_client_find() found it
 * @arguments:   borrowed; @count of them, in the order of the signature; service.h says how each
 *               is filled in. Arguments at the end that have a default may be left out
 * @count:       of @arguments
 * @params:      borrowed; NULL: all zero
 * @timeout_ns:  how long to wait for room, while calls_max calls are not complete or their
 *               arguments fill the room for them; 0: not at all; WW_FOREVER
 * @cancel:      borrowed; may be NULL: cancel.h
 * @out_ticket:  the caller's; NULL on failure. May be NULL if the caller does not wait for the call
 *
 * A memory or timeline is exported for each call, and kept until the call is done. This takes a
 * round trip to the broker. If you call often with the same memory or timeline, export it once and
 * pass the token. For each client, the server keeps up to 64 timelines imported, those that calls
 * used last.
 *
 * Return: WW_OK; WW_TIMED_OUT (the error record says why, too); WW_CANCELLED; WW_ERR_INVALID (no
 *         such function, lane or call; more than WW_SUBMIT_DEPENDS_MAX dependencies; an after_value
 *         without a timeline, or above WW_TIMELINE_MAX; flags that are unknown or only for
 *         ww_client_call()); WW_ERR_MISMATCH (an argument does not match the signature);
 *         WW_ERR_LIMIT (the arguments are larger than the room for them; or the service has as many
 *         clients as allowed, or its server may open too few files for one more, which
 *         ww_ticket_wait() may also return); WW_ERR_ACCESS (this client observes, or the server has
 *         refused it); WW_ERR_UNAVAILABLE; WW_ERR_PEER_LOST; as ww_memory_export(); WW_ERR_FORKED.
 */
WW_API ww_status ww_client_submit(ww_client *client, uint32_t function,
	const struct ww_value *arguments, uint32_t count, const struct ww_submit_params *params,
	uint64_t timeout_ns, ww_cancel *cancel, ww_ticket **out_ticket);

/**
 * ww_client_call() - make a call and wait for its results
 * @client:      borrowed
 * @function:    as for ww_client_submit(), like the next three
 * @arguments:   borrowed
 * @count:       of @arguments
 * @params:      borrowed; NULL: all zero
 * @timeout_ns:  how long to wait, for room and for the results; 0: not at all; WW_FOREVER
 * @cancel:      borrowed; may be NULL: cancel.h
 * @out_ticket:  the caller's, of a call that ended; NULL on failure. May be NULL if the caller
 *               needs no results. If you need to know for a failed call whether its function had
 *               been started, use ww_client_submit(), ww_ticket_wait() and ww_ticket_info_get()
 *
 * If the time is over, or the flag is set, the call is cancelled.
 *
 * With WW_SUBMIT_REPEAT in the flags of its params, a call is made again if the server ends before
 * it has answered. The function may have run already, in part or completely. The call waits, within
 * @timeout_ns and its deadline, until another process has made and started a service of the name by
 * which @client was opened. The call is repeated only if
 *   - the function is offered with WW_FUNCTION_IDEMPOTENT, before and after that;
 *   - @client was opened by name, and the next server belongs to the same user as the one before;
 *   - the call depends on no other call, and does not have the flag WW_SUBMIT_CHAIN.
 * @client still belongs to the server that has ended. Its later calls with WW_SUBMIT_REPEAT go to
 * the next server. To submit other calls there, open the service again.
 *
 * Return: as ww_client_submit() and ww_ticket_wait(); after WW_TIMED_OUT the error record says
 *         whether the function was started, but not with WW_SUBMIT_REPEAT. With this flag also:
 *         WW_ERR_PEER_LOST (the server has ended, and the call cannot be repeated); WW_ERR_ACCESS
 *         (the next server belongs to another user); WW_ERR_NOT_FOUND or WW_ERR_MISMATCH (the next
 *         server does not offer this function); as ww_client_open().
 */
WW_API ww_status ww_client_call(ww_client *client, uint32_t function,
	const struct ww_value *arguments, uint32_t count, const struct ww_submit_params *params,
	uint64_t timeout_ns, ww_cancel *cancel, ww_ticket **out_ticket);

/**
 * ww_client_lane_timeline() - the timeline of a lane
 * @client:        borrowed
 * @lane:          0 to WW_SERVICE_LANES_MAX - 1
 * @timeout_ns:    how long to wait for the server; WW_FOREVER
 * @cancel:        borrowed; may be NULL: cancel.h
 * @out_timeline:  the caller's; NULL on failure
 *
 * A call of the lane is complete when its value (ww_ticket_info.value) is reached, whether it was
 * run, failed or was cancelled; the ticket tells which. So a stream of the client can wait for
 * calls, and no thread waits for the reply. ww_timeline_stream_wait() returns when the server has
 * submitted the call. If the function works on its stream, this is when the function has returned.
 * With WW_WAIT_UNSUBMITTED it returns at once. Do not use this flag if the server may itself wait
 * for this stream: a wait for a call that is never started ends only with the server.
 *
 * If the server belongs to another user, ww_timeline_stream_wait() needs WW_WAIT_OTHER_USER.
 * Without this flag the CPU waits until the call is complete, and nothing is enqueued. So if a
 * server never completes a call, the client's stream does not stop. ww_ticket_stream_wait() waits
 * with the call's deadline as a limit.
 *
 * To get the timeline, a call to the server is made in that lane. Each use of this function makes
 * such a call, so keep the timeline.
 *
 * Return: WW_OK; WW_TIMED_OUT; WW_CANCELLED; as ww_client_submit() and ww_timeline_import().
 */
WW_API ww_status ww_client_lane_timeline(ww_client *client, uint32_t lane, uint64_t timeout_ns,
	ww_cancel *cancel, ww_timeline **out_timeline);

/**
 * ww_ticket_wait() - wait until a call has ended
 * @ticket:      borrowed
 * @timeout_ns:  how long; 0: do not wait; WW_FOREVER
 * @cancel:      borrowed; may be NULL: cancel.h. The call goes on
 *
 * Return: WW_NOT_READY (the time is over, or the flag is set, and the call goes on); else how the
 *         call has ended: WW_OK; WW_CANCELLED; WW_TIMED_OUT or an error, with its sentence in
 *         the error record, which says for WW_TIMED_OUT what the call waited for; WW_ERR_FORKED.
 */
WW_API ww_status ww_ticket_wait(ww_ticket *ticket, uint64_t timeout_ns, ww_cancel *cancel);

/**
 * ww_ticket_eventfd() - a descriptor for event loops: readable when a call has ended
 * @ticket:  borrowed
 * @out_fd:  the caller's, to be closed at any time; an eventfd(2), non-blocking, close-on-exec;
 *           -1 on failure. Only poll it: the library reads and writes it
 *
 * The descriptor is readable while ww_ticket_wait() with timeout 0 has a result other than
 * WW_NOT_READY. The exact rules:
 *
 *   - It becomes readable soon after the server has answered; if the server has ended or closed the
 *     service, up to 50 ms later.
 *   - A call that has ended does not change, so the descriptor stays readable for ever, also after
 *     ww_ticket_unref(). It becomes readable if the ticket is released before that, too.
 *   - The server can make it readable for nothing. Then ww_ticket_wait() with timeout 0 returns
 *     WW_NOT_READY, and the descriptor is not readable until there is something new.
 *
 * Each ticket has a descriptor of its own; each call gives a duplicate of the same eventfd, or of
 * another one that is readable. While a ticket has a descriptor and its call goes on, the server
 * makes a system call for each reply to this client. The first call starts the thread "ww-channels"
 * of ww_channel_eventfd(), which is kept until the client is released.
 *
 * Return: WW_OK; WW_ERR_NO_MEMORY; WW_ERR_LIMIT (of descriptors or threads); WW_ERR_SYSTEM;
 *         WW_ERR_FORKED.
 */
WW_API ww_status ww_ticket_eventfd(ww_ticket *ticket, int *out_fd);

/**
 * ww_ticket_stream_wait() - let a stream's further work wait until a call is complete
 * @ticket:      borrowed
 * @stream:      borrowed; of this process
 * @flags:       WW_WAIT_... bits of timeline.h
 * @timeout_ns:  how long to wait on the CPU; 0: not at all; WW_FOREVER
 * @cancel:      borrowed; may be NULL: cancel.h. The call goes on
 *
 * This is ww_timeline_stream_wait() for the value of the call: no thread needs to wait for the
 * reply. The client must have got the timeline of the call's lane (ww_client_lane_timeline())
 * before.
 *
 * If the server belongs to another user, and @flags has no WW_WAIT_OTHER_USER, this call waits for
 * the reply on the CPU, until the call's deadline at most, and the stream does not wait. The
 * timeline of the lane is not needed then.
 *
 * A call that was late can end before the calls before it in its lane. Then this function still
 * waits, or has the stream wait, for these calls as for the value of the ticket's call.
 *
 * Return: WW_OK (the stream waits, or the call has ended: the ticket says how); WW_NOT_READY (the
 *         time is over, or the flag is set: the call goes on); WW_TIMED_OUT (the call's deadline
 *         has passed, and the server, of another user, has not answered or calls before it in the
 *         lane go on; the error record says so, too).
 *         With each of these two statuses nothing was enqueued. WW_ERR_STATE (the client has not
 *         got the lane's timeline); WW_ERR_INVALID (flags); as ww_timeline_stream_wait();
 *         WW_ERR_FORKED.
 */
WW_API ww_status ww_ticket_stream_wait(ww_ticket *ticket, ww_stream *stream, uint64_t flags,
	uint64_t timeout_ns, ww_cancel *cancel);

/**
 * ww_ticket_result() - a result of a call that ended with WW_OK
 * @ticket:     borrowed
 * @index:      of the result in the signature
 * @out_value:  filled on success; its pointers are valid as long as the ticket. For an array,
 *              @token must be imported before the ticket is released (except for warpway.alloc),
 *              and @array says how the array lies in that memory: the token alone does not. So pass
 *              both to another call, or pass the value as it is
 *
 * Return: WW_OK; WW_END (there is no such result); WW_ERR_STATE (the call has not ended, or not
 *         with WW_OK); WW_ERR_PROTOCOL.
 */
WW_API ww_status ww_ticket_result(ww_ticket *ticket, uint32_t index, struct ww_value *out_value);

/**
 * ww_ticket_cancel() - cancel a call
 * @ticket:  borrowed
 *
 * If the function has not been started, it will not start, and the call ends when the calls before
 * it in its lane have ended. A running function can check whether it was cancelled. A call that has
 * ended does not change.
 */
WW_API void ww_ticket_cancel(ww_ticket *ticket);

/**
 * struct ww_ticket_info - a call, as known to its client
 * @struct_size:  set by the caller to sizeof(struct ww_ticket_info)
 * @has_ended:    1: @status says how
 * @has_started:  1: the function was started, and may have run
 * @status:       as ww_ticket_wait() returns it; WW_NOT_READY: it has not ended
 * @number:       of the call
 * @failed_call:  with WW_ERR_DEPENDENCY_FAILED: number of the first call that failed; 0: the
 *                timeline of the call failed
 * @function:     its index
 * @lane:         its lane
 * @value:        a value of the lane's timeline (ww_client_lane_timeline()): the call is complete
 *                when it is reached
 */
struct ww_ticket_info {
	uint32_t struct_size;
	uint32_t has_ended;
	uint32_t has_started;
	ww_status status;
	uint64_t number;
	uint64_t failed_call;
	uint32_t function;
	uint32_t lane;
	uint64_t value;
};

/**
 * ww_ticket_info_get() - describe a call
 * @ticket:  borrowed
 * @info:    the caller's, with struct_size set; filled on success
 *
 * Return: WW_OK; WW_ERR_INVALID (struct_size is not set); WW_ERR_FORKED.
 */
WW_API ww_status ww_ticket_info_get(ww_ticket *ticket, struct ww_ticket_info *info);

/**
 * ww_ticket_unref() - release a ticket
 * @ticket:  may be NULL
 *
 * If the call has not ended, it goes on. The server releases arrays in its results that no process
 * has imported.
 *
 * Return: NULL.
 */
WW_API ww_ticket *ww_ticket_unref(ww_ticket *ticket);

#ifdef __cplusplus
}
#endif

#endif
