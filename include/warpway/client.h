/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warpway/client.h - calling the functions of a service
 *
 * A client opens a service (service.h) by name or token, looks functions up, and calls them: it
 * submits a call, gets a ticket, and waits for the ticket when it needs the results. It needs no
 * device: memories go as tokens.
 *
 *   open ──> find ──> submit ──> wait ──> results ──> unref the ticket
 *                        │
 *                        └──> cancel
 *
 * A call that the client does not wait for is made all the same. A call ends with WW_OK, or with
 * the status and the sentence of the function, or with one of these:
 *
 *   WW_TIMED_OUT               its deadline passed before the function was started
 *   WW_CANCELLED               it was cancelled before the function was started
 *   WW_ERR_UNAVAILABLE         the server takes no more calls
 *   WW_ERR_PEER_LOST           the server has ended: ww_ticket_info.has_started says whether the
 *                              function may have run
 *   WW_ERR_DEPENDENCY_FAILED   a call that it depends on has failed; or the value of the timeline
 *                              that it starts after never comes
 *
 * Threads: one ww_client, with its tickets, is used by one thread at a time. A process may open a
 *          service several times: each ww_client is a client of its own.
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

/* ww_client_params.flags: functions and state are seen, nothing can be called */
#define WW_CLIENT_OBSERVE UINT32_C(0x1)

/**
 * struct ww_client_params - how a service is opened
 * @struct_size:  sizeof(struct ww_client_params)
 * @flags:        WW_CLIENT_... bits
 * @gid:          group by which functions may be limited; 0: the caller's own; else one of the
 *                caller's groups
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
 * Does not wait for the server: a call does.
 *
 * Return: WW_OK; WW_TIMED_OUT (the error record says so, too); WW_CANCELLED; WW_ERR_NOT_FOUND;
 *         WW_ERR_ACCESS (the service may not be written, or with WW_CLIENT_OBSERVE not be read);
 *         WW_ERR_UNSUPPORTED (it is no service); WW_ERR_PROTOCOL; as ww_timeline_get();
 *         WW_ERR_FORKED.
 */
WW_API ww_status ww_client_open(ww_broker *broker, const char *name,
	const struct ww_client_params *params, uint64_t timeout_ns, ww_cancel *cancel,
	ww_client **out_client);

/**
 * ww_client_import() - become a client of the service that a token names
 * @broker:      borrowed; NULL: that of WARPWAY_BROKER, else the one at the token's address
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
 * dropped, and those that run go on.
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
 * ww_client_find() - look a function up
 * @client:        borrowed
 * @name:          borrowed
 * @signature:     borrowed; what the caller takes it for; NULL: anything
 * @timeout_ns:    how long to wait until it is offered, while the service starts; 0: not at all
 * @cancel:        borrowed; may be NULL: cancel.h
 * @out_function:  its index, for ww_client_submit()
 *
 * Return: WW_OK; WW_TIMED_OUT; WW_CANCELLED; WW_ERR_NOT_FOUND; WW_ERR_MISMATCH (its signature is
 *         another one: the record has both); as ww_signature_info_get(); WW_ERR_PEER_LOST;
 *         WW_ERR_NO_MEMORY; WW_ERR_FORKED.
 */
WW_API ww_status ww_client_find(ww_client *client, const char *name, const char *signature,
	uint64_t timeout_ns, ww_cancel *cancel, uint32_t *out_function);

/*
 * ww_submit_params.flags of ww_client_call(): if the server ends before it has answered, the call
 * is made again, by the next server of the service's name
 */
#define WW_SUBMIT_REPEAT UINT64_C(0x1)

/**
 * struct ww_submit_params - how a call is made
 * @struct_size:  sizeof(struct ww_submit_params)
 * @lane:         0 to WW_SERVICE_LANES_MAX - 1: calls of one lane run in their order
 * @deadline_ns:  from now on: the call is not started later, and one that runs can see that it has
 *                passed; 0: none
 * @depends_on:   number of one of this client's last 1,023 calls (ww_ticket_info.number): if that
 *                fails, is cancelled or is too late, this call ends with WW_ERR_DEPENDENCY_FAILED.
 *                0: on none
 * @after:        borrowed; a timeline: the call is started when this has completed @after_value.
 *                The client keeps it until the call has ended, so to release it does not end the
 *                wait. NULL: see @after_token
 * @after_token:  borrowed; the same, by its token
 * @after_value:  at most WW_TIMELINE_MAX; 0: the call starts at once, whatever @after says
 * @flags:        WW_SUBMIT_... bits
 *
 * A call that starts after a timeline waits in its lane, and the lane's later calls wait for it;
 * other lanes go on. No stream of the server waits, and no thread: the server looks at the timeline
 * from time to time. It notices the value within an eighth of the time waited and 20 us, at most
 * 2 ms later, unless thousands of lanes wait. What was written before the value was signalled, the
 * function sees.
 *
 * The call ends without being started, with the timeline's sentence: WW_ERR_DEPENDENCY_FAILED (the
 * timeline's signaller has ended, or closed it, before the value); as ww_timeline_import() (the
 * server could not have the timeline, such as WW_ERR_NOT_FOUND, WW_ERR_ACCESS);
 * WW_ERR_UNAVAILABLE (the service drains, and the value is not there yet). It also ends by its
 * deadline, or when it is cancelled. So a call that starts after a timeline should have a deadline
 * if its signaller may hang.
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
};

/**
 * ww_client_submit() - make a call, without waiting for its results
 * @client:      borrowed
 * @function:    as ww_client_find() found it
 * @arguments:   borrowed; @count of them, in the order of the signature; service.h says how each
 *               is filled in. Those at the end that have a default may be left out
 * @count:       of @arguments
 * @params:      borrowed; NULL: all zero
 * @timeout_ns:  how long to wait for room, while calls_max calls are not complete or their
 *               arguments fill the room for them; 0: not at all; WW_FOREVER
 * @cancel:      borrowed; may be NULL: cancel.h
 * @out_ticket:  the caller's; NULL on failure. NULL here: nobody waits for the call
 *
 * A memory or timeline is exported for each call, and kept until the call is done: that is a round
 * trip to the broker. To call often with the same one, export it once and pass the token. The
 * server keeps up to 64 timelines imported for a client, those that calls started after last.
 *
 * Return: WW_OK; WW_TIMED_OUT; WW_CANCELLED; WW_ERR_INVALID (no such function, lane or call; an
 *         after_value without a timeline, or above WW_TIMELINE_MAX; flags that are unknown, or are
 *         those of ww_client_call()); WW_ERR_MISMATCH (an argument is not what the signature says);
 *         WW_ERR_LIMIT (the arguments are larger than the room for them; or the service has as many
 *         clients as it may have, which ww_ticket_wait() may say, too); WW_ERR_ACCESS (this client
 *         observes; or the server has refused it); WW_ERR_UNAVAILABLE; WW_ERR_PEER_LOST; as
 *         ww_memory_export(); WW_ERR_FORKED.
 */
WW_API ww_status ww_client_submit(ww_client *client, uint32_t function,
	const struct ww_value *arguments, uint32_t count, const struct ww_submit_params *params,
	uint64_t timeout_ns, ww_cancel *cancel, ww_ticket **out_ticket);

/**
 * ww_client_call() - make a call and wait for its results
 * @client:      borrowed
 * @function:    as for ww_client_submit(), as are the next three
 * @arguments:   borrowed
 * @count:       of @arguments
 * @params:      borrowed; NULL: all zero
 * @timeout_ns:  how long to wait, for room and for the results; 0: not at all; WW_FOREVER
 * @cancel:      borrowed; may be NULL: cancel.h
 * @out_ticket:  the caller's, of a call that ended; NULL on failure. NULL here: results are not
 *               wanted. To learn of a call that failed whether its function had been started, use
 *               ww_client_submit(), ww_ticket_wait() and ww_ticket_info_get()
 *
 * If the time is over, or the flag is set, the call is cancelled.
 *
 * With WW_SUBMIT_REPEAT in its params' flags a call is made again if the server ends before it has
 * answered: the function may have run already, in part or wholly. The call waits within @timeout_ns
 * and its deadline until another process has made a service of the name that @client was opened by,
 * and started it. It is repeated only if
 *   - the function is offered with WW_FUNCTION_IDEMPOTENT, before and after that;
 *   - @client was opened by name, and the next server is of the same user as the one before;
 *   - the call depends on no other one (depends_on is 0).
 * @client stays a client of the server that has ended. Its later calls with WW_SUBMIT_REPEAT go to
 * the next server; to submit other calls there, open the service anew.
 *
 * Return: as ww_client_submit() and ww_ticket_wait(). With WW_SUBMIT_REPEAT also: WW_ERR_PEER_LOST
 *         (the server has ended, and the call is not one that can be repeated); WW_ERR_ACCESS (the
 *         next server is of another user); WW_ERR_NOT_FOUND or WW_ERR_MISMATCH (it does not offer
 *         this function); as ww_client_open().
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
 * run, failed or was cancelled: the ticket says which. So a stream of the client can wait for calls
 * without anybody waiting for the reply. ww_timeline_stream_wait() returns when the server has
 * submitted the call: when its function has returned, if it works on its stream. With
 * WW_WAIT_UNSUBMITTED it returns at once. Do not use that if the server may wait for this stream
 * itself: only the end of the server ends a wait for a call that is never started.
 *
 * If the server is another user's, ww_timeline_stream_wait() needs WW_WAIT_OTHER_USER. Without it
 * the wait is one of the CPU, until the call is complete, and nothing is enqueued: so a server
 * that never completes a call does not stop the client's stream. ww_ticket_stream_wait() waits with
 * the call's deadline as a limit.
 *
 * A call of the server is made for this, in that lane. Each use asks again: keep the timeline.
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
 *         call has ended: WW_OK; WW_TIMED_OUT; WW_CANCELLED; an error, with its sentence in the
 *         record; WW_ERR_FORKED.
 */
WW_API ww_status ww_ticket_wait(ww_ticket *ticket, uint64_t timeout_ns, ww_cancel *cancel);

/**
 * ww_ticket_stream_wait() - have a stream's further work wait until a call is complete
 * @ticket:      borrowed
 * @stream:      borrowed; of this process
 * @flags:       WW_WAIT_... bits of timeline.h
 * @timeout_ns:  how long to wait on the CPU; 0: not at all; WW_FOREVER
 * @cancel:      borrowed; may be NULL: cancel.h. The call goes on
 *
 * As ww_timeline_stream_wait() for the value of the call: nobody needs to wait for the reply. The
 * client must have had the timeline of the call's lane (ww_client_lane_timeline()) before.
 *
 * If the server is another user's, and @flags has no WW_WAIT_OTHER_USER, this waits for the reply
 * on the CPU, until the call's deadline at most, and the stream waits for nothing. The timeline of
 * the lane is not needed then.
 *
 * Return: WW_OK (the stream waits, or the call has ended: the ticket says how); WW_NOT_READY (the
 *         time is over, or the flag is set: the call goes on); WW_TIMED_OUT (the call's deadline
 *         has passed, and the server has not answered; the error record says so, too).
 *         With any of these two nothing was enqueued. WW_ERR_STATE (the client has not had the
 *         lane's timeline); WW_ERR_INVALID (flags); as ww_timeline_stream_wait(); WW_ERR_FORKED.
 */
WW_API ww_status ww_ticket_stream_wait(ww_ticket *ticket, ww_stream *stream, uint64_t flags,
	uint64_t timeout_ns, ww_cancel *cancel);

/**
 * ww_ticket_result() - a result of a call that ended with WW_OK
 * @ticket:     borrowed
 * @index:      of the result in the signature
 * @out_value:  filled on success; what it points to is valid as long as the ticket. Of an array,
 *              @token is to be imported before the ticket is released (but for warpway.alloc), and
 *              @array says what is where in that memory: the token alone does not. So pass both to
 *              another call, or the value as it is
 *
 * Return: WW_OK; WW_END (there is no such result); WW_ERR_STATE (the call has not ended, or not
 *         with WW_OK); WW_ERR_PROTOCOL.
 */
WW_API ww_status ww_ticket_result(ww_ticket *ticket, uint32_t index, struct ww_value *out_value);

/**
 * ww_ticket_cancel() - cancel a call
 * @ticket:  borrowed
 *
 * If the function has not been started, it is not; the call ends when those before it in its lane
 * have. One that runs can ask whether it was cancelled. One that has ended stays as it is.
 */
WW_API void ww_ticket_cancel(ww_ticket *ticket);

/**
 * struct ww_ticket_info - a call, as its client sees it
 * @struct_size:  set by the caller to sizeof(struct ww_ticket_info)
 * @has_ended:    1: @status says how
 * @has_started:  1: the function was started, and may have run
 * @status:       as ww_ticket_wait() returns it; WW_NOT_READY: it has not ended
 * @number:       of the call
 * @failed_call:  with WW_ERR_DEPENDENCY_FAILED: number of the first call that failed; 0: it is the
 *                timeline that the call starts after
 * @function:     its index
 * @lane:         its lane
 * @value:        of the lane's timeline (ww_client_lane_timeline()): the call is complete when it
 *                is reached
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
 * The call goes on if it has not ended. Arrays that it has as results, and that nobody has
 * imported, are released by the server.
 *
 * Return: NULL.
 */
WW_API ww_ticket *ww_ticket_unref(ww_ticket *ticket);

#ifdef __cplusplus
}
#endif

#endif
