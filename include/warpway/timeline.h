/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warpway/timeline.h - a number that only grows, by which processes and their GPUs wait for each
 * other
 *
 * A timeline belongs to the process that created it: its signaller. The signaller raises the value,
 * from the CPU or by work of a stream. Every process that imports the timeline, and the signaller
 * itself, can wait until a value is reached: on the CPU, on a stream, or in an event loop. A
 * process can wait for a value before or after it is reached, any number of times.
 *
 *   signaller:  signal(5)                              the CPU raises it, now
 *               stream_signal(stream, 6)               the stream raises it, after the work before
 *                     │ submitted 6      ┌──────────── the GPU stores it: completed 6
 *                     v                  v
 *   waiters:    wait(6)   stream_wait(stream, 6)   query(6)   eventfd(6)
 *
 * When a signaller ends, no wait hangs, as long as the broker or its supervisor lives:
 *   - When a process ends or is killed, the broker poisons its timelines. It records which value
 *     each of them had reached, and every wait in every process ends, also on GPUs.
 *   - If a value had been reached when the broker learnt of the end, a wait for it succeeds, also
 *     later.
 *   - A wait for any other value returns WW_ERR_PEER_LOST; the record names the process and when it
 *     ended.
 *   - A stream whose wait ended by poison goes on with its work, but its results after the wait are
 *     not valid. Every later call on it, by any of its ww_streams, returns WW_ERR_PEER_LOST until
 *     ww_stream_recover() (device.h).
 *   - The GPU of a dying signaller may store a value after the broker has recorded the reached
 *     value. Such a value does not count.
 *   - The signaller's last unref of a timeline closes it: values that were signalled are still
 *     reached, waits for higher ones end with WW_ERR_PEER_LOST.
 *
 * If the work before a signal fails, the signaller calls ww_timeline_fail(). Then the values that
 * were not reached do not count, though the streams still store them: every wait for them ends as
 * if the signaller had ended, and the message says what failed.
 *
 * A stream whose wait ended by poison still does the work that is enqueued on it, also its signals.
 * Therefore a program that chains timelines should call ww_stream_query() before it enqueues the
 * next signal. If the stream is lost, it should unref its own timeline.
 *
 * Submission: a value is submitted when its signal has been enqueued, or done by the CPU. It is
 * completed when the timeline has reached it. By default ww_timeline_stream_wait() first waits, on
 * the CPU, until the value is submitted, and then enqueues the stream's wait. Therefore the waits
 * of GPUs cannot block each other for ever in the hardware queues that streams share. Raw stream
 * waits can, with 8 streams, and with 2 under MPS. WW_WAIT_UNSUBMITTED switches this rule off.
 *
 * How it works: a timeline is a cell of 128 bytes in a signal page. One process writes the page,
 * and all other processes map it read-only, also on the GPU. The timelines of a process share pages
 * (126 on each), because mapping a page on a GPU costs about 0.3 ms. This has two consequences. A
 * process that may read one timeline can read the values of all timelines on its page. If a process
 * ends, and one timeline on a page was exported, the broker poisons all timelines on this page.
 * WW_TIMELINE_ALONE gives a timeline a separate page.
 *
 * Use timelines between programs that use this library. event.h is for programs that do not: a
 * process can have at most 4,096 of CUDA's own events, and a wait for a process that died never
 * ends. A round trip by events takes 1.3 times as long as by timelines between two GPUs, 2.5 to 3
 * times on one GPU under MPS, and 20 times on one GPU without MPS. In the last case the GPU
 * switches from one process to the other, which takes about 145 us each time. A timeline needs no
 * switch, but the next kernel or small copy does.
 *
 * Between processes a timeline needs a broker (broker.h), which poisons it when its signaller ends.
 * Threads and streams of one process use the same calls without a broker.
 *
 * Threads: every function may be called from any thread. Signals of one timeline take effect in the
 *          order of their values, also from different streams.
 * Fork:    a child cannot use its parent's timelines, but it can import a token of a timeline: see
 *          device.h.
 */
#ifndef WARPWAY_TIMELINE_H
#define WARPWAY_TIMELINE_H

#include <warpway/base.h>
#include <warpway/device.h>
#include <warpway/token.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ww_timeline ww_timeline;

/*
 * The highest value that a timeline can have. (Higher values mean poison, and GPUs compare signed
 * differences.)
 */
#define WW_TIMELINE_MAX (UINT64_C(1) << 62)

#define WW_TIMELINE_ALONE UINT64_C(0x1) /* shares its page with no other timeline */

/**
 * struct ww_timeline_params - what timeline to make
 * @struct_size:  sizeof(struct ww_timeline_params)
 * @reserved:  0
 * @flags:     WW_TIMELINE_... bits
 * @value:     the value that it has reached at the start
 */
struct ww_timeline_params {
	uint32_t struct_size;
	uint32_t reserved;
	uint64_t flags;
	uint64_t value;
};

/**
 * ww_timeline_create() - make a timeline whose signaller is this process
 * @params:        borrowed; NULL: value 0
 * @out_timeline:  the caller's; NULL on failure
 *
 * Return: WW_OK; WW_ERR_INVALID (flags, struct_size, a value above WW_TIMELINE_MAX);
 *         WW_ERR_NO_MEMORY; WW_ERR_LIMIT; WW_ERR_SYSTEM; WW_ERR_FORKED.
 */
WW_API ww_status ww_timeline_create(const struct ww_timeline_params *params,
	ww_timeline **out_timeline);

/**
 * ww_timeline_ref() - take one more reference of a timeline
 * Return: @timeline.
 */
WW_API ww_timeline *ww_timeline_ref(ww_timeline *timeline);

/**
 * ww_timeline_unref() - release a reference of a timeline
 * @timeline:  may be NULL
 *
 * The signaller's last unref closes the timeline: values that were submitted will still be reached,
 * and waits for higher ones end with WW_ERR_PEER_LOST. The call does not wait for streams that wait
 * for timelines: a later call frees the pages that they use. (When that call frees a page, or a
 * memory that was released while a stream waited, the driver may wait for other work of a GPU, such
 * as a long kernel: see ww_memory_unref().)
 *
 * Return: NULL.
 */
WW_API ww_timeline *ww_timeline_unref(ww_timeline *timeline);

/**
 * ww_timeline_prepare() - map a timeline on a device before its streams use it
 * @timeline:  borrowed
 * @device:    borrowed
 *
 * The call costs about 0.3 ms on a GPU, unless the GPU has mapped the page already for another
 * timeline.
 *
 * Return: WW_OK; WW_ERR_UNSUPPORTED (@device lacks WW_CAP_STREAM_VALUE, or, for a timeline of
 *         another process, WW_CAP_HOST_READ_ONLY); WW_ERR_NO_MEMORY; WW_ERR_DEVICE...;
 *         WW_ERR_LIMIT; WW_ERR_FORKED.
 */
WW_API ww_status ww_timeline_prepare(ww_timeline *timeline, ww_device *device);

/**
 * ww_timeline_signal() - raise the value, now
 * @timeline:  borrowed; of this process
 * @value:     above every value submitted before, at most WW_TIMELINE_MAX
 *
 * A thread or stream that waited for the value can read all that this thread wrote before the
 * signal. If a thread reads something that this thread wrote after the signal, it also finds the
 * value reached (ww_timeline_query()).
 *
 * Return: WW_OK; WW_ERR_INVALID (@value does not grow, or is too high); WW_ERR_ACCESS (another
 *         process is the signaller); WW_ERR_STATE (a stream has yet to signal a lower value: let
 *         the stream signal this value, too, or wait for the stream); WW_ERR_PEER_LOST (the broker
 *         took this process for ended and has poisoned its timelines; or ww_timeline_fail());
 *         WW_ERR_FORKED.
 */
WW_API ww_status ww_timeline_signal(ww_timeline *timeline, uint64_t value);

/**
 * ww_timeline_stream_signal() - let a stream raise the value, after the work before it
 * @timeline:  borrowed; of this process
 * @stream:    borrowed; of any device with WW_CAP_STREAM_VALUE
 * @value:     as for ww_timeline_signal()
 *
 * When the value is reached, all work that was enqueued before has run, and its stores are visible.
 * If another stream has yet to signal a lower value, @stream waits for that stream first.
 *
 * Return: as ww_timeline_signal(), except WW_ERR_STATE; as ww_timeline_prepare(); WW_ERR_PEER_LOST
 *         also if @stream was released from a wait by poison: its results since then must not be
 *         signalled.
 */
WW_API ww_status ww_timeline_stream_signal(ww_timeline *timeline, ww_stream *stream,
	uint64_t value);

#define WW_TIMELINE_WHY_BYTES 48

/**
 * ww_timeline_fail() - say that the values which are not reached yet will never be valid
 * @timeline:  borrowed; of this process
 * @why:       borrowed; not empty. The first WW_TIMELINE_WHY_BYTES - 1 bytes are in the messages of
 *             the waiters, with '?' for what is not printable ASCII
 *
 * Waits for these values return WW_ERR_PEER_LOST, also if their signals were enqueued before and
 * are done later. A stream that waits goes on when the value is stored or the timeline is closed,
 * and is lost then. The timeline cannot be signalled any more: make a new one. If it is lost
 * already, nothing changes.
 *
 * A function that a stream calls (ww_stream_call()) may call this, for its own work: no signal that
 * was enqueued after the function counts. Values that others signal during the call may count.
 *
 * Return: WW_OK; WW_ERR_INVALID; WW_ERR_ACCESS (another process is the signaller); WW_ERR_FORKED.
 */
WW_API ww_status ww_timeline_fail(ww_timeline *timeline, const char *why);

/**
 * ww_timeline_wait() - wait on the CPU until a value is reached
 * @timeline:    borrowed
 * @value:       at most WW_TIMELINE_MAX
 * @timeout_ns:  0: do not wait; WW_FOREVER
 * @cancel:      borrowed; may be NULL: cancel.h
 *
 * The call spins for some microseconds, then sleeps. A signal by a CPU wakes it at once. For a
 * signal by a GPU, the call polls again after an eighth of the time that it has waited, at most 2
 * ms.
 *
 * Return: WW_OK (what was written before the signal can be read); WW_TIMED_OUT; WW_CANCELLED;
 *         WW_ERR_PEER_LOST (the signaller ended before it had reached @value, or closed or failed
 *         the timeline below it); WW_ERR_INVALID; WW_ERR_FORKED.
 */
WW_API ww_status ww_timeline_wait(ww_timeline *timeline, uint64_t value, uint64_t timeout_ns,
	ww_cancel *cancel);

/* ww_timeline_stream_wait(): enqueue the wait even if its signal is not submitted yet */
#define WW_WAIT_UNSUBMITTED UINT64_C(0x1)
/* ... and for a timeline of ww_client_lane_timeline() even if the server is another user's */
#define WW_WAIT_OTHER_USER UINT64_C(0x2)

/**
 * ww_timeline_stream_wait() - let a stream's further work wait until a value is reached
 * @timeline:    borrowed; kept until the stream has gone on
 * @stream:      borrowed; of any device with WW_CAP_STREAM_VALUE
 * @value:       at most WW_TIMELINE_MAX
 * @flags:       WW_WAIT_... bits
 * @timeout_ns:  how long to wait, on the CPU, until @value is submitted; 0: not at all; WW_FOREVER.
 *               With WW_WAIT_UNSUBMITTED it is used only in the case of another user's server, see
 *               below
 * @cancel:      borrowed; may be NULL: cancel.h; ends the wait on the CPU, not the stream's
 *
 * May block: until @value is submitted (see Submission at the top of timeline.h). The stream's own
 * waiting never blocks the caller.
 *
 * If @timeline is of a lane of a service (ww_client_lane_timeline()), and the server belongs to
 * another user, the call enqueues nothing without WW_WAIT_OTHER_USER, whatever the other flags are.
 * It waits on the CPU, for @timeout_ns at most, until @value is reached. Otherwise that user could
 * stop the stream as long as the server lives.
 *
 * Return: WW_OK (enqueued, or reached already); WW_TIMED_OUT or WW_CANCELLED (@value was not
 *         submitted in time, or without WW_WAIT_OTHER_USER not reached; nothing was enqueued);
 *         WW_ERR_PEER_LOST (as ww_timeline_wait(), or
 *         @stream was released by poison before); WW_ERR_INVALID; as ww_timeline_prepare();
 *         WW_ERR_FORKED.
 */
WW_API ww_status ww_timeline_stream_wait(ww_timeline *timeline, ww_stream *stream, uint64_t value,
	uint64_t flags, uint64_t timeout_ns, ww_cancel *cancel);

/**
 * ww_timeline_query() - ask whether a value is reached
 * @timeline:  borrowed
 * @value:     at most WW_TIMELINE_MAX
 *
 * After WW_OK the caller can read all that was written before the signal, as after
 * ww_timeline_wait(). The same is true for ww_timeline_info.completed. All reads of this thread
 * before the call happen before the value is read.
 *
 * Therefore a reader can get the newest state of a writer, and the writer never waits for the
 * reader. The memory has N slots (at least 2, better 4 or more). The writer writes state n into
 * slot n modulo N, then signals n.
 *
 *   reader:  ww_timeline_info_get()   n = completed
 *            ww_memory_read()         slot n modulo N, into memory of its own
 *            ww_timeline_query()      of value n + N - 1. WW_NOT_READY: the copy is state n, whole.
 *                                     WW_OK: begin again
 *
 * The query is for n + N - 1, not for n + N: when the writer has signalled n + N - 1, it begins to
 * write state n + N into the same slot. If the writer has ended, the query returns
 * WW_ERR_PEER_LOST; the last state that a CPU has signalled is whole then.
 *
 * Return: WW_OK; WW_NOT_READY; WW_ERR_PEER_LOST (as ww_timeline_wait()); WW_ERR_INVALID;
 * WW_ERR_FORKED.
 */
WW_API ww_status ww_timeline_query(ww_timeline *timeline, uint64_t value);

/**
 * ww_timeline_eventfd() - a descriptor that becomes readable when a wait for a value is over
 * @timeline:  borrowed
 * @stream:    borrowed; it waits, and is busy until then. Use a stream of the host device, also for
 *             values that a GPU signals: then a thread waits, and no GPU. If a stream of a GPU
 *             waits, it may delay work that other threads submit later
 * @value:     at most WW_TIMELINE_MAX
 * @out_fd:    the caller's, to be closed at any time; an eventfd(2), non-blocking, close-on-exec;
 *             -1 on failure
 *
 * When the descriptor is readable, ww_timeline_query() says how the wait ended: the value was
 * reached, or the timeline was poisoned or closed. Only the thread of the stream waits. The call
 * itself never waits; @value need not be submitted yet.
 *
 * Return: WW_OK; WW_ERR_INVALID (@value is above WW_TIMELINE_MAX); WW_ERR_PEER_LOST (@stream is
 *         lost: an earlier wait of it ended by poison); WW_ERR_ACCESS (@timeline is of a lane of
 *         another user's server, and @stream a GPU's); WW_ERR_LIMIT (no more descriptors);
 *         WW_ERR_NO_MEMORY; WW_ERR_SYSTEM (eventfd(2) failed); as ww_timeline_prepare() for the
 *         device of @stream; as ww_stream_call(); WW_ERR_FORKED.
 */
WW_API ww_status ww_timeline_eventfd(ww_timeline *timeline, ww_stream *stream, uint64_t value,
	int *out_fd);

/* The state of a timeline. */
enum {
	WW_TIMELINE_LIVE = 1,   /* the signaller can signal */
	WW_TIMELINE_CLOSED = 2, /* after its last unref: no value above `submitted` will come */
	WW_TIMELINE_LOST = 3 /* the signaller ended, the broker took it for ended, or it failed */
};

/**
 * struct ww_timeline_info - the state of a timeline
 * @struct_size:  set by the caller to sizeof(struct ww_timeline_info)
 * @state:      WW_TIMELINE_...
 * @is_own:     1: this process is the signaller
 * @pid:        of the signaller, see below; 0: not known
 * @uid:        of the signaller, as the broker says
 * @reserved:   0
 * @submitted:  the highest value whose signal is enqueued or done
 * @completed:  the highest value reached; if the timeline is lost, the value when the broker learnt
 *              of it, or when it failed
 * @lost_ns:    when the broker learnt of the loss, CLOCK_REALTIME; 0: it is not lost, or failed
 *              (ww_timeline_fail())
 * @program:    the signaller's name; empty: not known
 *
 * For another process, pid and program come from the broker, so the pid is that of the broker's
 * pid namespace. If the broker does not know them, or is of an older version, they come from the
 * process itself if it is of the same user; else they are not known. Messages name a process in the
 * same way. The values and @lost_ns come from the signaller, and are wrong if it is hostile.
 */
struct ww_timeline_info {
	uint32_t struct_size;
	uint32_t state;
	uint32_t is_own;
	uint32_t pid;
	uint32_t uid;
	uint32_t reserved;
	uint64_t submitted;
	uint64_t completed;
	uint64_t lost_ns;
	char program[WW_PROGRAM_BYTES];
};

/**
 * ww_timeline_info_get() - describe a timeline
 * @timeline:  borrowed
 * @info:      the caller's, with struct_size set; filled on success, also when the timeline is lost
 *
 * Return: WW_OK; WW_ERR_INVALID (struct_size is not set); WW_ERR_FORKED.
 */
WW_API ww_status ww_timeline_info_get(ww_timeline *timeline, struct ww_timeline_info *info);

/* --- between processes --- */

/**
 * struct ww_name_params - how the name of a timeline is kept in a broker
 * @struct_size:  sizeof(struct ww_name_params)
 * @mode:         permission bits, such as 0640; a process that may read the name may wait. 0: 0600
 * @gid:          group; 0: the caller's own; else one of the caller's groups
 * @reserved:     0
 * @flags:        WW_PUT_REPLACE of broker.h, or 0
 */
struct ww_name_params {
	uint32_t struct_size;
	uint32_t mode;
	uint32_t gid;
	uint32_t reserved;
	uint64_t flags;
};

/**
 * ww_timeline_export() - a token by which any process can import a timeline, to wait on it
 * @timeline:   borrowed; of this process, or imported through the same broker
 * @broker:     borrowed; NULL: the default broker, which is opened, and kept open by the timeline
 * @params:     borrowed; NULL: WW_ESCROW_DEFAULT
 * @cancel:     borrowed; may be NULL: cancel.h
 * @out_token:  filled on success
 *
 * May block: for two round trips to the broker at most.
 *
 * Return: WW_OK; WW_CANCELLED; WW_ERR_INVALID; WW_ERR_QUOTA; WW_ERR_PEER_LOST; WW_ERR_VERSION (the
 *         broker is older, and would not poison the timeline when this process ends); as
 *         ww_memory_export();
 *         WW_ERR_NO_BROKER; WW_ERR_FORKED.
 */
WW_API ww_status ww_timeline_export(ww_timeline *timeline, ww_broker *broker,
	const struct ww_token_params *params, ww_cancel *cancel, struct ww_token *out_token);

/**
 * ww_timeline_import() - the timeline that a token names
 * @broker:        borrowed; NULL: the broker of WARPWAY_BROKER, else the broker at the token's
 *                 address. The call starts no broker
 * @token:         borrowed; may come from anywhere
 * @cancel:        borrowed; may be NULL: cancel.h
 * @out_timeline:  the caller's; NULL on failure. In the signaller's own process it is the timeline
 *                 itself, with one more reference
 *
 * Return: WW_OK; WW_CANCELLED; WW_ERR_PROTOCOL (not a token, damaged, or the object's page is not a
 *         signal page); WW_ERR_VERSION (a token or a page of another layout); WW_ERR_UNSUPPORTED (a
 *         token of another kind); WW_ERR_NOT_FOUND (the timeline has ended); WW_ERR_ACCESS (wrong
 *         secret); WW_ERR_MISMATCH (the token names no cell of the page); as ww_memory_import();
 *         WW_ERR_NO_BROKER; WW_ERR_FORKED.
 */
WW_API ww_status ww_timeline_import(ww_broker *broker, const struct ww_token *token,
	ww_cancel *cancel, ww_timeline **out_timeline);

/**
 * ww_timeline_put() - name a timeline in a broker
 * @timeline:  borrowed; of this process. The name ends when the timeline is closed, or this process
 *             ends
 * @broker:    borrowed; NULL: the default broker
 * @name:      borrowed
 * @params:    borrowed; NULL: mode 0600
 * @cancel:    borrowed; may be NULL: cancel.h
 *
 * Return: WW_OK; WW_CANCELLED; WW_ERR_EXISTS; WW_ERR_ACCESS (the name or group is another user's,
 *         or another process is the signaller); WW_ERR_QUOTA; WW_ERR_INVALID; WW_ERR_PEER_LOST;
 *         WW_ERR_VERSION; WW_ERR_NO_BROKER; WW_ERR_FORKED.
 */
WW_API ww_status ww_timeline_put(ww_timeline *timeline, ww_broker *broker, const char *name,
	const struct ww_name_params *params, ww_cancel *cancel);

/**
 * ww_timeline_get() - the timeline of a name, to wait on it
 * @broker:        borrowed; NULL: the default broker
 * @name:          borrowed
 * @timeout_ns:    how long to wait for the name to appear; 0: not at all; WW_FOREVER
 * @cancel:        borrowed; may be NULL: cancel.h
 * @out_timeline:  the caller's; NULL on failure
 *
 * Return: WW_OK; WW_TIMED_OUT; WW_CANCELLED; WW_ERR_NOT_FOUND (the name does not exist, and
 *         timeout_ns is 0); WW_ERR_ACCESS; WW_ERR_UNSUPPORTED (it is not a timeline); as
 *         ww_timeline_import().
 */
WW_API ww_status ww_timeline_get(ww_broker *broker, const char *name, uint64_t timeout_ns,
	ww_cancel *cancel, ww_timeline **out_timeline);

#ifdef __cplusplus
}
#endif

#endif
