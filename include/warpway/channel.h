/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warpway/channel.h - frames from one process to many, written and read in place
 *
 * A channel is a ring of slots in device or host memory. One process, the producer, writes frames
 * into slots and publishes them; up to consumers_max consumers (4 unless set, at most 32) receive
 * them. Nothing is copied: a frame is used in place. A frame has a number, a count of bytes, a
 * shape, metadata of the user and the time at which it was published.
 *
 *   producer:   acquire ──> write ──> publish          (or discard)
 *                  ^                     │ frame 1, 2, 3, ...
 *                  │                     v
 *   consumers:     └──── release <── use <── receive
 *
 * Each of acquire, publish, receive and release takes a stream or NULL. With a stream the call
 * orders the work of that stream. The CPU does not wait until work of GPUs is complete: this wait
 * is enqueued on the stream. Use NULL in code that uses the CPU, or that has waited for its stream:
 * then the caller may use the bytes when acquire or receive has returned, and must have finished
 * using them when it calls publish or release.
 *
 * Policies say what happens when the producer needs a slot and all have frames:
 *
 *   WW_CHANNEL_BLOCK        it waits until every consumer has received and released a frame
 *   WW_CHANNEL_DROP_OLDEST  it drops the oldest frame that no consumer holds. A consumer that has
 *                           not received this frame counts it as dropped, and goes on with the next
 *   WW_CHANNEL_LATEST       the same, and a consumer always receives the newest complete frame
 *
 * With the two policies that drop, the producer never waits for a consumer, and the newest complete
 * frame keeps its slot until a newer one is complete. A frame counts as held until its release is
 * complete. If a consumer holds as many frames as it may, its receive waits while the release of
 * one of them is not complete; if it has released none of them, receive returns WW_ERR_STATE.
 *
 * When a process ends:
 *   - When a consumer ends, its frames count as released. The producer writes to their slots again
 *     after the kernel has reported the end, because work of the consumer's GPU may read until
 *     then. Exception: a stream of the producer may already wait, on the GPU, for a release of this
 *     consumer. This wait ends when the broker learns of the end, tens of milliseconds earlier. The
 *     stream may then write while work of the ended process still reads, but no process gets the
 *     results of that work.
 *   - If the producer ends, consumers receive every complete frame, and then WW_ERR_PEER_LOST; the
 *     record names the process. A stream that waited for it is lost then (device.h): a consumer
 *     receives without this stream, or after ww_stream_recover(). With WW_CONSUMER_REATTACH they
 *     go on with the next producer of the name. If the producer closes the channel, they receive
 *     all published frames, and then WW_END. The same is true if another process puts a channel, or
 *     any other object, under the name with WW_PUT_REPLACE. The calls of the producer that acquire
 *     and publish then return WW_ERR_NOT_FOUND, and the record names that process. (A broker of an
 *     older version does not tell its members of the replacement.) If the name is only removed, the
 *     members go on.
 *   - A stream of the producer waits on the GPU only for consumers of its own user, because a wait
 *     that never ends would block it. For other consumers the CPU waits. The same is true for the
 *     streams of a consumer. If the producer has WW_CHANNEL_TRUST_USERS and a consumer
 *     WW_CONSUMER_TRUST_USERS, this rule does not apply between the two.
 *   - If the broker and its supervisor end, members go on, and no process can join. Each side then
 *     learns of the other's end from the kernel, within 50 ms while it waits. If a stream waits on
 *     the GPU for work of a process that ended then, the wait does not end: only a broker ends such
 *     a wait (timeline.h).
 *
 * A consumer that does not release its frames keeps a producer with policy block waiting. The
 * producer can evict it, by ww_channel_evict() or after ww_channel_params.evict_after_ns. It also
 * does so if an observer (WW_CONSUMER_OBSERVE) of the producer's user, or of root, calls
 * ww_channel_evict(). Then:
 *   - The consumer's next receive returns WW_ERR_EVICTED. It can release the frames that it holds.
 *   - Slots that it holds are not written until it has released them, or its process has ended. All
 *     other slots are free at once, whatever the consumer does.
 *   - It counts as one of consumers_max, and of consumers_per_uid_max, until it has left.
 *
 * How it works: the producer writes a ring (a file in memory), and each consumer writes its marks.
 * All other processes map these for reading only. A frame costs a few stores and loads: no broker,
 * no message, and no system call while both sides are awake. A side that sleeps notes this in its
 * own file, and only then the other side wakes it.
 *
 * Threads: one thread at a time uses one ww_channel. A process may open a channel several times:
 *          each ww_channel is a separate consumer. ww_channel_eventfd() starts one thread for the
 *          whole process.
 * Fork:    a child made by fork() cannot use the channels of its parent (device.h).
 */
#ifndef WARPWAY_CHANNEL_H
#define WARPWAY_CHANNEL_H

#include <warpway/array.h>
#include <warpway/base.h>
#include <warpway/broker.h>
#include <warpway/device.h>
#include <warpway/frame.h>
#include <warpway/token.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ww_channel ww_channel;

#define WW_CHANNEL_SLOTS_MAX     4096
#define WW_CHANNEL_CONSUMERS_MAX 32
#define WW_CHANNEL_EVENTS_MAX    64         /* that a ww_channel keeps until they are asked for */
#define WW_CHANNEL_WAIT_TOLD_NS  10000000   /* a wait of the producer for so long is an event */
#define WW_CHANNEL_NOBODY        UINT32_MAX /* in place of the number of a consumer */

/* ww_channel_params.policy */
enum {
	WW_CHANNEL_BLOCK = 1,
	WW_CHANNEL_DROP_OLDEST = 2,
	WW_CHANNEL_LATEST = 3
};

/*
 * ww_channel_params.flags, besides WW_PUT_REPLACE of broker.h
 *
 * WW_CHANNEL_TRUST_USERS: this producer's streams wait on the GPU for consumers of other users that
 * have WW_CONSUMER_TRUST_USERS, and their streams wait for this producer. If one side never
 * completes its work, or never reports it, the streams of the other side may wait until its process
 * ends.
 */
#define WW_CHANNEL_TRUST_USERS (UINT64_C(1) << 32)

/**
 * struct ww_channel_params - what channel to make
 * @struct_size:    sizeof(struct ww_channel_params)
 * @policy:         WW_CHANNEL_...; 0: WW_CHANNEL_BLOCK
 * @slot_bytes:     room for the bytes of a frame, > 0; rounded up to WW_FRAME_ALIGNMENT
 * @slots:          how many, 1 to WW_CHANNEL_SLOTS_MAX. With a policy that drops at least
 *                  consumers_max * held_max + ahead_max + 1; 0: that number, or 4 with policy block
 * @consumers_max:  at one time, 1 to WW_CHANNEL_CONSUMERS_MAX; 0: 4
 * @held_max:       frames that one consumer may hold, at least 1; 0: 1
 * @ahead_max:      with a policy that drops: frames that the producer may hold, or have published
 *                  before its stream has written them; 0: 2
 * @metadata_bytes: room for metadata of each frame, at most WW_FRAME_METADATA_MAX
 * @kind:           WW_MEMORY_VMM or WW_MEMORY_HOST; 0: vmm
 * @mode:           permission bits of its name, such as 0640; a process that may read the object
 *                  may be a consumer. 0: 0600
 * @gid:            group; 0: the caller's own; else one of the caller's groups
 * @flags:          WW_PUT_REPLACE of broker.h, WW_CHANNEL_TRUST_USERS, or 0
 * @metadata_type:  what the user calls the type of the metadata, such as "pose/1"; ended by a zero
 * @array:          borrowed; dtype and largest shape of every frame, in C order without gaps; it
 *                  fits into slot_bytes. NULL: frames are bytes
 * @evict_after_ns: an acquire evicts a consumer if no slot was free for this time because of this
 *                  consumer. The time begins with the first acquire that found no slot, and ends
 *                  when an acquire gets one. 0: no eviction
 * @deadline_ns:    the longest time between two frames: the producer promises to publish a frame
 *                  within this time after the last frame, and after the creation of the channel.
 *                  If no frame came, the producer, observers, and consumers that have set a
 *                  deadline get an event: see ww_channel_next_event(). 0: no promise
 * @consumers_per_uid_max: of one user at one time; 0: as many as consumers_max. If a process would
 *                  be one more, it fails to join. If it still acts as a consumer, the producer
 *                  evicts it, and has kept no frame for it
 * @reserved:       0
 */
struct ww_channel_params {
	uint32_t struct_size;
	uint32_t policy;
	uint64_t slot_bytes;
	uint32_t slots;
	uint32_t consumers_max;
	uint32_t held_max;
	uint32_t ahead_max;
	uint32_t metadata_bytes;
	uint32_t kind;
	uint32_t mode;
	uint32_t gid;
	uint64_t flags;
	char metadata_type[WW_FRAME_METADATA_TYPE_BYTES];
	const struct ww_array *array;
	uint64_t evict_after_ns;
	uint64_t deadline_ns;
	uint32_t consumers_per_uid_max;
	uint32_t reserved;
};

/**
 * ww_channel_create() - make a channel in a broker; this process is its producer
 * @device:       borrowed; the device of the slots' memory
 * @broker:       borrowed; NULL: the default broker
 * @name:         borrowed; NULL: it is found by its token only
 * @params:       borrowed; its slot_bytes is set
 * @cancel:       borrowed; may be NULL: cancel.h
 * @out_channel:  the caller's; NULL on failure
 *
 * The name ends when the producer has closed the channel, or its process has ended. Consumers keep
 * the channel even then, and another channel can take the name. With WW_PUT_REPLACE the new channel
 * replaces a channel of this name as a whole: use it for a producer that may be started again.
 *
 * Return: WW_OK; WW_CANCELLED; WW_ERR_INVALID (params); WW_ERR_OVERFLOW; WW_ERR_MISMATCH (the array
 *         does not fit into slot_bytes); WW_ERR_EXISTS (the name is taken); WW_ERR_NOT_FOUND
 *         (another process has removed or replaced it meanwhile); as ww_memory_create() and
 *         ww_timeline_put(); WW_ERR_FORKED.
 */
WW_API ww_status ww_channel_create(ww_device *device, ww_broker *broker, const char *name,
	const struct ww_channel_params *params, ww_cancel *cancel, ww_channel **out_channel);

/* struct ww_consumer_params.history: all frames that are still in slots */
#define WW_CHANNEL_OLDEST UINT64_MAX

/*
 * struct ww_consumer_params.flags
 *
 * WW_CONSUMER_OBSERVE: an observer reads the state of a channel without being a consumer: it is not
 * counted, and the producer neither waits for it nor knows it. It can describe the channel and its
 * consumers, get events and export a token. It maps no slots, and cannot receive.
 * WW_CONSUMER_REATTACH: when its producer ends, this consumer goes on with the next producer that
 * makes a channel of the name. The flag is only for ww_channel_get(), because a consumer that
 * joined by token has no name.
 *   - It receives every complete frame of the old producer. Then, in the same call, it waits until
 *     another channel has the name, and joins this channel. So ww_channel_receive() does not return
 *     WW_ERR_PEER_LOST for the end of a producer. ww_frame.generation tells which producer a frame
 *     is from. Frame numbers begin again at 1, and the consumer begins with the oldest frame that
 *     is still in a slot.
 *   - If a producer closes its channel, receive returns WW_END once. The call after that goes on.
 *   - If another producer takes the name with WW_PUT_REPLACE while the old producer lives, the
 *     consumer goes on after it has received all frames: within 50 ms, or with a broker of an older
 *     version within a second.
 *   - The new channel must match what this consumer expects, as at joining. It may have another
 *     policy, and slots of another size. If it does not match, or cannot be joined, receive returns
 *     the reason, as ww_channel_get(), and the next call tries again.
 *   - Held frames of the old producer stay readable, and are released as usual. Until then they
 *     count for held_max of the new channel.
 *   - A producer that is started again should take its name with WW_PUT_REPLACE, because the broker
 *     may not have noticed the end of the old one yet.
 *   - If the producer evicts it, receive returns WW_ERR_EVICTED until that producer has ended, or
 *     another producer has the name. The call after that goes on.
 *   - An observer goes on in the calls that read the channel's state: ww_channel_next_event(),
 *     ww_channel_wait_consumers(), ww_channel_consumer_info_get() with index 0.
 *   - WW_CHANNEL_REATTACHED is the event that it went on. Events of all producers are in one order.
 *   - Only two steps ask the broker: the join, which takes some round trips, also with timeout 0,
 *     and the search for another channel of the name.
 * WW_CONSUMER_TRUST_USERS: see WW_CHANNEL_TRUST_USERS
 */
#define WW_CONSUMER_OBSERVE     (UINT32_C(1) << 0)
#define WW_CONSUMER_REATTACH    (UINT32_C(1) << 1)
#define WW_CONSUMER_TRUST_USERS (UINT32_C(1) << 2)

/**
 * struct ww_consumer_params - how a consumer begins, and what it expects
 * @struct_size:    sizeof(struct ww_consumer_params)
 * @flags:          WW_CONSUMER_... bits
 * @history:        how many earlier frames are received first, as far as they are still in slots:
 *                  0: only new frames; 1: the newest; WW_CHANNEL_OLDEST. Not used with policy
 *                  WW_CHANNEL_LATEST, which begins with the newest frame. With policy block the
 *                  producer may take back up to an eighth of the slots at once, so as many of the
 *                  oldest frames may be gone. While there is no consumer, the producer does not
 *                  wait, whatever the policy is, and uses slots again. If a first consumer must
 *                  not miss a frame, the producer calls ww_channel_wait_consumers() first
 * @metadata_type:  the type that the metadata must have; NULL: any
 * @array:          borrowed; dtype and shape that the channel must have; NULL: any
 * @deadline_ns:    the longest time between frames that this consumer accepts; the producer must
 *                  have promised this time or a shorter one. 0: any, and no event tells of a late
 *                  frame (an observer then has the promised deadline)
 */
struct ww_consumer_params {
	uint32_t struct_size;
	uint32_t flags;
	uint64_t history;
	const char *metadata_type;
	const struct ww_array *array;
	uint64_t deadline_ns;
};

/**
 * ww_channel_get() - become a consumer of the channel of a name
 * @device:       borrowed; the device for which the slots are mapped, for reading. The slots must
 *                be in host memory, or in memory that the device reaches
 * @broker:       borrowed; NULL: the default broker
 * @name:         borrowed
 * @params:       borrowed; NULL: all zero
 * @timeout_ns:   how long to wait for the name to appear, also for another channel of the name if
 *                this one ends while it is joined; 0: not at all; WW_FOREVER
 * @cancel:       borrowed; may be NULL: cancel.h
 * @out_channel:  the caller's; NULL on failure
 *
 * Return: WW_OK; WW_TIMED_OUT; WW_CANCELLED; WW_ERR_NOT_FOUND; WW_ERR_ACCESS; WW_ERR_UNSUPPORTED
 *         (it is not a channel); WW_ERR_MISMATCH (frames or metadata have another type, or the
 *         deadline is longer; the record names the values of both sides); WW_ERR_LIMIT (it has
 *         consumers_max consumers, or consumers_per_uid_max of this user); WW_ERR_PROTOCOL; as
 *         ww_memory_get(); WW_ERR_FORKED.
 */
WW_API ww_status ww_channel_get(ww_device *device, ww_broker *broker, const char *name,
	const struct ww_consumer_params *params, uint64_t timeout_ns, ww_cancel *cancel,
	ww_channel **out_channel);

/**
 * ww_channel_export() - a token by which any process can become a consumer
 * @channel:    borrowed; of this process
 * @params:     borrowed; NULL: WW_ESCROW_DEFAULT
 * @cancel:     borrowed; may be NULL: cancel.h
 * @out_token:  filled on success
 *
 * Return: WW_OK; WW_CANCELLED; as ww_memory_export(); WW_ERR_FORKED.
 */
WW_API ww_status ww_channel_export(ww_channel *channel, const struct ww_token_params *params,
	ww_cancel *cancel, struct ww_token *out_token);

/**
 * ww_channel_import() - become a consumer of the channel that a token names
 * @device:       as for ww_channel_get()
 * @broker:       borrowed; NULL: the broker of WARPWAY_BROKER, else the broker at the token's
 *                address
 * @token:        borrowed; may come from anywhere
 * @params:       borrowed; NULL: all zero
 * @cancel:       borrowed; may be NULL: cancel.h
 * @out_channel:  the caller's; NULL on failure
 *
 * Return: as ww_channel_get() and ww_memory_import().
 */
WW_API ww_status ww_channel_import(ww_device *device, ww_broker *broker,
	const struct ww_token *token, const struct ww_consumer_params *params, ww_cancel *cancel,
	ww_channel **out_channel);

/**
 * ww_channel_ref() - take one more reference of a channel
 * Return: @channel.
 */
WW_API ww_channel *ww_channel_ref(ww_channel *channel);

/**
 * ww_channel_unref() - release a reference of a channel; the last one leaves it
 * @channel:  may be NULL
 *
 * For the producer, the call closes the channel. Frames that it holds are discarded; consumers
 * receive the published frames. For a consumer, the call releases the frames that it holds, as
 * without a stream.
 *
 * The call does not wait for a stream. The slots stay mapped until the streams have done the work
 * before each publish or release with a stream; then a later call unmaps them. Work of streams on
 * frames that are still held must be done before this call.
 *
 * Return: NULL.
 */
WW_API ww_channel *ww_channel_unref(ww_channel *channel);

/**
 * ww_channel_acquire() - get a slot to write a frame into
 * @channel:     borrowed; of its producer
 * @stream:      borrowed; of the device that will write; NULL: the CPU may write when this returns
 * @timeout_ns:  how long to wait for a slot; 0: do not wait; WW_FOREVER
 * @cancel:      borrowed; may be NULL: cancel.h
 * @out_frame:   the caller's, with struct_size set; filled on success
 *
 * Several slots may be held. The frame is passed to ww_channel_publish() or ww_channel_discard().
 *
 * Return: WW_OK; WW_TIMED_OUT (the record names the consumer that the producer waited for);
 *         WW_CANCELLED; WW_ERR_ACCESS (this is a consumer); WW_ERR_STATE (all slots are held by the
 *         caller, or, with a policy that drops, ahead_max of them); WW_ERR_EVICTED (evicted
 *         consumers have not released the slots that are left; the record names one of them);
 *         WW_ERR_NOT_FOUND (the channel was replaced; the record says by which process); as
 *         ww_timeline_stream_wait(); WW_ERR_FORKED.
 */
WW_API ww_status ww_channel_acquire(ww_channel *channel, ww_stream *stream, uint64_t timeout_ns,
	ww_cancel *cancel, struct ww_frame *out_frame);

/**
 * ww_channel_publish() - give a frame to the consumers
 * @channel:  borrowed
 * @frame:    borrowed; as ww_channel_acquire() filled it, with bytes, metadata_bytes, ndim and
 *            shape set by the caller. Its number and submitted_ns are set on success
 * @stream:   borrowed; the frame is complete after the work before; NULL: it is complete
 *
 * Return: WW_OK; WW_ERR_INVALID (the frame is not held, or too large: nothing was published, and
 *         the frame is still held); WW_ERR_NOT_FOUND (the channel was replaced; the frame is still
 *         held); as ww_timeline_stream_signal(); WW_ERR_FORKED.
 */
WW_API ww_status ww_channel_publish(ww_channel *channel, struct ww_frame *frame, ww_stream *stream);

/**
 * ww_channel_discard() - give a slot back without publishing a frame
 * @channel:  borrowed
 * @frame:    borrowed
 * @stream:   borrowed; the slot is free after its work before; NULL: it is free
 *
 * Return: as ww_channel_publish().
 */
WW_API ww_status ww_channel_discard(ww_channel *channel, const struct ww_frame *frame,
	ww_stream *stream);

/**
 * ww_channel_receive() - get the next frame
 * @channel:     borrowed; of a consumer
 * @stream:      borrowed; of the device that will read: its further work waits until the frame is
 *               complete; NULL: the frame is complete when this returns
 * @timeout_ns:  how long to wait for a frame; 0: do not wait; WW_FOREVER
 * @cancel:      borrowed; may be NULL: cancel.h
 * @out_frame:   the caller's, with struct_size set; filled on success
 *
 * Return: WW_OK; WW_TIMED_OUT; WW_CANCELLED; WW_END (the producer has closed the channel, or the
 *         channel was replaced, and all of its frames were received); WW_ERR_PEER_LOST (the
 *         producer has ended, and all complete frames were received, but not with
 *         WW_CONSUMER_REATTACH; or, once, a frame that was released before it was complete never
 *         became complete: see ww_channel_release()); WW_ERR_ACCESS (this is not a consumer);
 *         WW_ERR_STATE (held_max frames are held); WW_ERR_EVICTED (the producer has evicted this
 *         consumer; the record names the producer and the reason); WW_ERR_PROTOCOL (the ring is not
 *         valid); as ww_timeline_stream_wait(); with WW_CONSUMER_REATTACH as ww_channel_get();
 *         WW_ERR_FORKED.
 */
WW_API ww_status ww_channel_receive(ww_channel *channel, ww_stream *stream, uint64_t timeout_ns,
	ww_cancel *cancel, struct ww_frame *out_frame);

/**
 * ww_channel_release() - let the producer use a frame's slot again
 * @channel:  borrowed
 * @frame:    borrowed; as ww_channel_receive() filled it
 * @stream:   borrowed; the release is complete after the work before; NULL: it is complete
 *
 * Return: WW_OK; WW_ERR_PEER_LOST (the producer ended before the frame was complete: results that
 *         were computed from the frame are not valid; the frame is released, and the stream can be
 *         used further. If this is known only later, the next receive returns it); WW_ERR_INVALID
 *         (the frame is not held); as ww_timeline_stream_signal(), and then the frame is still
 *         held: release it without the stream, when the stream has done its work; WW_ERR_FORKED.
 */
WW_API ww_status ww_channel_release(ww_channel *channel, const struct ww_frame *frame,
	ww_stream *stream);

/**
 * ww_channel_eventfd() - a descriptor for event loops: readable while the channel can go on
 * @channel:  borrowed
 * @out_fd:   the caller's, to be closed at any time; an eventfd(2), non-blocking, close-on-exec;
 *            -1 on failure. Only poll it: the library reads and writes it
 *
 * The descriptor is readable while a call without a stream and with timeout 0 has a result other
 * than WW_TIMED_OUT: for a consumer ww_channel_receive() (there is a complete frame, or the channel
 * has ended), for the producer ww_channel_acquire() (the CPU may write a slot). The exact rules:
 *
 *   - After each call with this channel in this process the descriptor is correct for that time.
 *   - If it is not readable, and the other side changes that, it becomes readable soon after: at
 *     once for actions of a CPU or a stream of the host device, within 2 ms for work that a GPU
 *     completes, within 50 ms for the end of a process. No change is missed.
 *   - A consumer with WW_CONSUMER_REATTACH keeps its descriptor. It is readable once a second while
 *     no frame comes, and every 50 ms while the consumer waits for the next producer, so that the
 *     consumer searches for this producer.
 *   - Once readable, it stays readable until the next call with this channel, even if that call
 *     finds nothing.
 *   - While this side holds as many frames as it may, so that the call would return WW_ERR_STATE,
 *     it is not readable.
 *   - While the producer's descriptor is not readable, the producer counts as waiting for a slot.
 *     If it waits for a consumer, the time of evict_after_ns runs. When the time is over, the
 *     descriptor becomes readable, so that an acquire evicts the consumer. It also becomes
 *     readable when a process joins the channel, or asks for an eviction.
 *   - A call with a stream may succeed earlier, because it need not wait until work is complete.
 *
 * Each call gives a duplicate of the same eventfd. It is readable for ever after the last
 * ww_channel_unref().
 *
 * The first call starts a thread, "ww-channels", in which all signals are blocked. There is one
 * such thread for all channels, work queues, barriers and clients of the process that have
 * descriptors. It sleeps while nothing happens, checks every 50 ms whether processes have ended,
 * and ends with the last of these objects. If the kernel has no futex_waitv(2) (before Linux 5.16),
 * or the thread waits for more than 60 channels, it polls every millisecond.
 *
 * Return: WW_OK; WW_ERR_ACCESS (this is an observer); WW_ERR_NO_MEMORY; WW_ERR_LIMIT (of
 *         descriptors or threads); WW_ERR_SYSTEM; WW_ERR_FORKED.
 */
WW_API ww_status ww_channel_eventfd(ww_channel *channel, int *out_fd);

#define WW_CHANNEL_WAIT_MAX 64

/**
 * ww_channel_wait_any() - wait until one of several channels can go on
 * @channels:    borrowed; producers and consumers, of any brokers and devices, each once. The
 *               calling thread uses them during the call
 * @count:       1 to WW_CHANNEL_WAIT_MAX
 * @timeout_ns:  how long to wait; 0: do not wait; WW_FOREVER
 * @cancel:      borrowed; may be NULL: cancel.h
 * @out_index:   index of a channel that can go on
 *
 * A channel can go on when the descriptor of ww_channel_eventfd() would be readable: then a
 * receive, or for the producer an acquire, without a stream has a result. If this process holds as
 * many frames of a channel as it may, that channel cannot go on. If several channels can go on, the
 * call takes the one that it has not named for the longest time.
 *
 * Return: WW_OK; WW_TIMED_OUT; WW_CANCELLED; WW_ERR_INVALID; WW_ERR_ACCESS (one of them is an
 *         observer); WW_ERR_STATE (this process holds as many frames as it may, of each channel);
 *         WW_ERR_NO_MEMORY; WW_ERR_FORKED.
 */
WW_API ww_status ww_channel_wait_any(ww_channel *const *channels, uint32_t count,
	uint64_t timeout_ns, ww_cancel *cancel, uint32_t *out_index);

/**
 * struct ww_channel_info - the state of a channel
 * @struct_size:    set by the caller to sizeof(struct ww_channel_info)
 * @is_producer:    1: this is the producer; 0: a consumer, or an observer
 * @policy:         WW_CHANNEL_...
 * @slots:          how many
 * @consumers:      for the producer and an observer: number of consumers, without evicted ones; for
 *                  a consumer: 0
 * @consumers_max:  at one time
 * @held_max:       frames that one consumer may hold
 * @held:           slots that this side holds
 * @slot_bytes:     room for the bytes of a frame
 * @metadata_bytes: room for metadata
 * @pid:            of the producer, as the broker says: see struct ww_timeline_info
 * @published:      number of the last published frame; 0: none
 * @received:       for a consumer: number of frames received
 * @dropped:        for a consumer: number of frames that were dropped before it received them. With
 *                  policy WW_CHANNEL_LATEST it counts only frames that were never complete: frames
 *                  that a newer one replaced are skipped on purpose, and the frame numbers tell how
 *                  many
 * @metadata_type:  as the producer named it
 * @program:        the producer's name: see struct ww_timeline_info
 * @has_array:      1: @array is filled in
 * @is_observer:    1: this is an observer
 * @array:          of every frame
 * @published_ns:   CLOCK_MONOTONIC, when the last frame was published; before the first frame: when
 *                  the channel was made
 * @deadline_ns:    the deadline that the producer has promised; 0: none
 * @deadlines_missed: how often a deadline passed without a frame: for the producer the promised
 *                  deadline, for a consumer its own, for an observer its own or the promised one.
 *                  It is counted when a call looks: see ww_channel_next_event()
 * @evict_after_ns: as the channel was made
 * @consumers_per_uid_max: as the channel was made
 * @number:         for a consumer: its number; else WW_CHANNEL_NOBODY
 * @waits_for:      number of the consumer because of which no slot is free; WW_CHANNEL_NOBODY: none
 * @has_ended:      for a consumer or an observer: 1: the producer has closed the channel, or the
 *                  channel was replaced; 2: its process has ended; else 0
 * @waited_ns:      how long the producer has waited for @waits_for until now
 * @generation:     as for a frame; @received, @dropped and @deadlines_missed count for all
 *                  producers together
 * @reserved:       0
 */
struct ww_channel_info {
	uint32_t struct_size;
	uint32_t is_producer;
	uint32_t policy;
	uint32_t slots;
	uint32_t consumers;
	uint32_t consumers_max;
	uint32_t held_max;
	uint32_t held;
	uint64_t slot_bytes;
	uint32_t metadata_bytes;
	uint32_t pid;
	uint64_t published;
	uint64_t received;
	uint64_t dropped;
	char metadata_type[WW_FRAME_METADATA_TYPE_BYTES];
	char program[WW_PROGRAM_BYTES];
	uint32_t has_array;
	uint32_t is_observer;
	struct ww_array array;
	uint64_t published_ns;
	uint64_t deadline_ns;
	uint64_t deadlines_missed;
	uint64_t evict_after_ns;
	uint32_t consumers_per_uid_max;
	uint32_t number;
	uint32_t waits_for;
	uint32_t has_ended;
	uint64_t waited_ns;
	uint32_t generation;
	uint32_t reserved;
};

/**
 * ww_channel_info_get() - describe a channel
 * @channel:  borrowed
 * @info:     the caller's, with struct_size set; filled on success
 *
 * May block: for the producer and an observer, for one round trip to the broker if consumers have
 * joined.
 *
 * Return: WW_OK; WW_ERR_INVALID (struct_size is not set); WW_ERR_FORKED.
 */
WW_API ww_status ww_channel_info_get(ww_channel *channel, struct ww_channel_info *info);

/**
 * struct ww_channel_consumer_info - a consumer of a channel
 * @struct_size:  set by the caller to sizeof(struct ww_channel_consumer_info)
 * @number:       0 to consumers_max - 1; a later consumer may have it again
 * @pid:          of its process, as the broker says: see struct ww_timeline_info
 * @uid:          of its user, as the broker says
 * @is_asleep:    1: it sleeps until a frame comes
 * @is_evicted:   1: it was evicted, and has not left yet
 * @is_waited_for: 1: no slot is free, because of this consumer
 * @held:         number of frames that it uses, or whose release is not complete
 * @next:         number of the frame that it receives next; 0: it is joining
 * @dropped:      number of frames that were dropped before it received them; with policy
 *                WW_CHANNEL_LATEST without frames that a newer one replaced: see @dropped of struct
 *                ww_channel_info
 * @waited_ns:    how long the producer has waited for it until now
 * @program:      its name: see struct ww_timeline_info
 *
 * The fields about frames come from the consumer, and are wrong if that process is hostile.
 */
struct ww_channel_consumer_info {
	uint32_t struct_size;
	uint32_t number;
	uint32_t pid;
	uint32_t uid;
	uint32_t is_asleep;
	uint32_t is_evicted;
	uint32_t is_waited_for;
	uint32_t held;
	uint64_t next;
	uint64_t dropped;
	uint64_t waited_ns;
	char program[WW_PROGRAM_BYTES];
};

/**
 * ww_channel_consumer_info_get() - describe one of the consumers
 * @channel:   borrowed; of any side
 * @index:     0, 1, 2, ...: among the known consumers, in the order in which they became known.
 *             Index 0 first updates the list of consumers, so count from 0 to WW_END without a
 *             break
 * @out_info:  the caller's, with struct_size set; filled on success
 *
 * May block: with index 0, for a round trip to the broker for each consumer that has joined.
 *
 * Return: WW_OK; WW_END (there is no such index); WW_ERR_INVALID (struct_size is not set); as
 *         ww_snapshot_create(); WW_ERR_FORKED.
 */
WW_API ww_status ww_channel_consumer_info_get(ww_channel *channel, uint32_t index,
	struct ww_channel_consumer_info *out_info);

/**
 * ww_channel_wait_consumers() - wait until a channel has a number of consumers
 * @channel:     borrowed; of its producer, or of an observer
 * @count:       how many at least, without evicted ones
 * @timeout_ns:  how long; 0: do not wait; WW_FOREVER
 * @cancel:      borrowed; may be NULL: cancel.h
 *
 * Each of these consumers has begun: it receives every frame that is published from then on, or
 * counts it as dropped. The broker wakes the caller when a consumer joins. If the broker is of an
 * older release, or does not answer, the caller polls about 20 times a second.
 *
 * Return: WW_OK; WW_TIMED_OUT; WW_CANCELLED; WW_ERR_INVALID (@count is more than consumers_max);
 *         WW_ERR_ACCESS (this is a consumer); WW_END, WW_ERR_PEER_LOST (for an observer: the
 *         producer has closed the channel, or its process has ended); WW_ERR_NOT_FOUND (for the
 *         producer: the channel was replaced); as ww_snapshot_create(); WW_ERR_FORKED.
 */
WW_API ww_status ww_channel_wait_consumers(ww_channel *channel, uint32_t count, uint64_t timeout_ns,
	ww_cancel *cancel);

/**
 * ww_channel_evict() - end a consumer's subscription
 * @channel:   borrowed; of its producer, or of an observer
 * @consumer:  its number, as ww_channel_consumer_info_get() or an event tells
 *
 * The top of channel.h says what an eviction means. If the consumer was evicted already, nothing
 * changes. May block: for a round trip to the broker for each consumer that has joined.
 *
 * If an observer calls it, the call asks the producer's process, and does not wait for it:
 *
 *   - The observer's process must be of the producer's user or of root.
 *   - The producer evicts the consumer in its next call with the channel that acquires or publishes
 *     a frame, or that looks at consumers or events. An acquire that waits does so within 50 ms.
 *   - Then the observer gets the event WW_CHANNEL_CONSUMER_EVICTED.
 *   - Until then the request is an object in the broker. It ends with the observer.
 *   - A producer of a release before 0.2.0 ignores the request.
 *
 * Return: WW_OK; WW_ERR_NOT_FOUND (there is no such consumer, or it has left); WW_ERR_ACCESS (this
 *         is a consumer, or an observer of another user); WW_END, WW_ERR_PEER_LOST (for an
 *         observer: the producer has closed the channel, or its process has ended); as
 *         ww_snapshot_create(), for an observer also as ww_memory_put(); WW_ERR_FORKED.
 */
WW_API ww_status ww_channel_evict(ww_channel *channel, uint32_t consumer);

/* ww_channel_event.kind: the first four are events of a consumer, for the producer and observers */
enum {
	WW_CHANNEL_CONSUMER_JOINED = 1,
	WW_CHANNEL_CONSUMER_LEFT = 2,  /* it has closed the channel */
	WW_CHANNEL_CONSUMER_ENDED = 3, /* its process has ended, or its connection to the broker */
	WW_CHANNEL_CONSUMER_EVICTED = 4, /* waited_ns: how long the producer had waited for it */
	/* The producer only: for 10 ms (_WAIT_TOLD_NS) it found no slot because of the consumer. */
	WW_CHANNEL_PRODUCER_WAITED = 5,
	/* Either side: no frame has come in time. waited_ns: how long none has */
	WW_CHANNEL_DEADLINE_MISSED = 6,
	/* For a consumer or an observer: the producer has ended. */
	WW_CHANNEL_PRODUCER_CLOSED = 7, /* also if the channel was replaced */
	WW_CHANNEL_PRODUCER_ENDED = 8,  /* its process has ended */
	/* With WW_CONSUMER_REATTACH: it goes on with another producer, which the event names. */
	WW_CHANNEL_REATTACHED = 9
};

/**
 * struct ww_channel_event - what has happened to a channel
 * @struct_size:  set by the caller to sizeof(struct ww_channel_event)
 * @kind:         WW_CHANNEL_CONSUMER_... and so on; later releases may have more
 * @consumer:     number of the consumer; WW_CHANNEL_NOBODY: the event is of the producer
 * @pid:          of its process: as in struct ww_channel_consumer_info
 * @uid:          of its user, as the broker says
 * @generation:   which producer it concerns, as for a frame
 * @frame:        number of the last frame published at that time; 0: none
 * @time_ns:      CLOCK_MONOTONIC, when this side noticed it
 * @waited_ns:    see the kinds; else 0
 * @dropped:      number of events that were dropped before this one, because more than
 *                WW_CHANNEL_EVENTS_MAX had not been read; 0: none since the event before
 * @program:      the name of the process
 */
struct ww_channel_event {
	uint32_t struct_size;
	uint32_t kind;
	uint32_t consumer;
	uint32_t pid;
	uint32_t uid;
	uint32_t generation;
	uint64_t frame;
	uint64_t time_ns;
	uint64_t waited_ns;
	uint64_t dropped;
	char program[WW_PROGRAM_BYTES];
};

/**
 * ww_channel_next_event() - the next event of a channel
 * @channel:     borrowed
 * @timeout_ns:  how long to wait for an event; 0: do not wait; WW_FOREVER
 * @cancel:      borrowed; may be NULL: cancel.h
 * @out_event:   the caller's, with struct_size set; filled on success
 *
 * The calls on this ww_channel notice events, and so does this call while it waits. There is no
 * thread that polls. So if something begins and ends between two calls, there may be no event for
 * it: a late frame that has come, or a consumer that joined and left. While it waits, the call
 * checks about 20 times a second whether a process has ended.
 *
 * A late frame does not end a receive. Call ww_channel_receive() with a time limit, and then this
 * function with timeout 0. The rules for WW_CHANNEL_DEADLINE_MISSED:
 *   - The time runs from the publication of the last frame. Before the first one, it runs from the
 *     creation of the channel; for a consumer or an observer from when it joined, or went on
 *     (WW_CONSUMER_REATTACH).
 *   - Acquire, publish, receive, wait_consumers, wait_any and this function look whether a frame is
 *     late. There is one event for each period that passes while such a call of this ww_channel
 *     waits. If several periods have passed before a call looks, there is one event for all of
 *     them, and deadlines_missed (struct ww_channel_info) counts each of them.
 *   - If a frame has come before a call looks, there is no event, and nothing is counted. Publish
 *     looks before it publishes, so the producer counts every missed period.
 *
 * May block: for a round trip to the broker for each consumer that has joined.
 *
 * Return: WW_OK; WW_TIMED_OUT; WW_CANCELLED; WW_ERR_INVALID (struct_size is not set); as
 *         ww_snapshot_create(); WW_ERR_FORKED.
 */
WW_API ww_status ww_channel_next_event(ww_channel *channel, uint64_t timeout_ns, ww_cancel *cancel,
	struct ww_channel_event *out_event);

#ifdef __cplusplus
}
#endif

#endif
