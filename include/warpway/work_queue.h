/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warpway/work_queue.h - frames from several producers, each for exactly one of several consumers
 *
 * A work queue distributes work. A producer writes a frame into one of its slots, in device or host
 * memory, and publishes it. One consumer receives the frame, uses it in place, and acknowledges it.
 * Then the frame is done, and its slot is free. Nothing is copied.
 *
 *   producer:   acquire ──> write ──> publish                     (or discard)
 *                  ^                     │ available
 *                  │ done                v
 *   a consumer:    └─ acknowledge <── receive ──> reject ──> available again, or failed
 *
 * At least once: if a consumer ends before it has acknowledged a frame, or rejects it, the frame is
 * given out again, marked as a repeat (struct ww_frame.attempts). If it was given out attempts_max
 * times already, it has failed: consumers do not get it any more. The queue keeps it. To read it,
 * open the queue with role WW_WORK_QUEUE_FAILED.
 *
 * Order: the frames of one producer are given out in the order in which they were published. A
 * frame that is given out again comes before newer ones of its producer that no consumer has yet.
 * Between producers there is no order; consumers take from all of them in turn.
 *
 * When a process ends:
 *   - A consumer: its frames are given out again after the kernel has reported the end, because
 *     work of its GPU may read them until then. Other members notice the end within 50 ms while
 *     they wait or receive.
 *   - A producer, also one that leaves the queue: its frames stay, with the memory of its slots,
 *     and are given out as long as the queue exists. A frame that its GPU had not completed is
 *     lost: it is never given out.
 *   - The queue exists while a process has it open, in any role. If its name is removed or given to
 *     another queue, its members are not told: they go on with this one.
 *   - If the broker was killed, the members go on. New members cannot join until the broker runs
 *     again, and some ends of consumers are noticed only then.
 *
 * Streams: acquire, publish, receive and acknowledge take a stream or NULL. With a stream the CPU
 * does not wait until work of GPUs is complete: the frame is complete, or done, after the work that
 * the stream has at that time, and a consumer's stream waits for a frame that is not complete. If
 * the consumer ends before that work is complete, the frame is given out again. A stream of a
 * consumer waits on the GPU only for producers of its own user, because a wait that never ends
 * would block it. For other producers the CPU waits. A producer's stream never waits for a
 * consumer: a slot is free when its frame is done.
 *
 * Rights: the mode of the queue decides. A process that may read the object may consume. A consumer
 * writes claims, which all consumers share, so consumers must trust each other. A hostile consumer
 * can:
 *   - take, repeat or drop any frame of the queue;
 *   - prevent that other members are woken (they poll every 50 ms);
 *   - take the places of all consumers, so that no other one can join;
 *   - declare a frame done while another consumer reads it, so that its bytes change meanwhile.
 * It cannot write frames, become a producer, make a process read or write outside the queue's
 * memory, or block a GPU. A process that may write the object may also produce.
 *
 * If a member is killed, the next one can take its place. If the two are of different users, the
 * object of the killed one can stay in the broker until the queue ends, charged to its user.
 *
 * How it works: each producer writes a ring and shares claims, one word for each slot, which
 * consumers change by compare and swap. A frame costs a few of these: no broker, no message, and no
 * system call while both sides are awake.
 *
 * Threads: one thread at a time uses one ww_work_queue. A process may open a queue several times:
 *          each ww_work_queue is a separate member. ww_work_queue_eventfd() starts one thread for
 *          all channels and work queues of the process.
 * Fork:    a child made by fork() cannot use the queues of its parent (device.h).
 */
#ifndef WARPWAY_WORK_QUEUE_H
#define WARPWAY_WORK_QUEUE_H

#include <warpway/array.h>
#include <warpway/base.h>
#include <warpway/broker.h>
#include <warpway/device.h>
#include <warpway/frame.h>
#include <warpway/token.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ww_work_queue ww_work_queue;

#define WW_WORK_QUEUE_SLOTS_MAX    1024 /* of each producer */
#define WW_WORK_QUEUE_MEMBERS_MAX  64   /* producers; consumers */
#define WW_WORK_QUEUE_ATTEMPTS_MAX 64

/* What a process does with a queue. */
enum {
	WW_WORK_QUEUE_KEEPER = 1, /* nothing: it keeps the queue, and may close it if it made it */
	WW_WORK_QUEUE_PRODUCER = 2, /* acquires, publishes */
	WW_WORK_QUEUE_CONSUMER = 3, /* receives, acknowledges */
	WW_WORK_QUEUE_FAILED = 4    /* receives and acknowledges failed frames */
};

/**
 * struct ww_work_queue_params - what queue to make
 * @struct_size:    sizeof(struct ww_work_queue_params)
 * @role:           of this process, WW_WORK_QUEUE_...; 0: WW_WORK_QUEUE_KEEPER
 * @slot_bytes:     room for the bytes of a frame, > 0; rounded up to WW_FRAME_ALIGNMENT
 * @slots:          of each producer, 1 to WW_WORK_QUEUE_SLOTS_MAX; 0: 16
 * @producers_max:  at one time, 1 to WW_WORK_QUEUE_MEMBERS_MAX; 0: 8. A producer that has ended
 *                  counts until its frames are done
 * @consumers_max:  at one time, including those of failed frames, 1 to WW_WORK_QUEUE_MEMBERS_MAX;
 *                  0: 16
 * @attempts_max:   how often a frame is given out before it has failed, 1 to
 *                  WW_WORK_QUEUE_ATTEMPTS_MAX; 0: 3
 * @failed_max:     how many failed frames of each producer are kept when it needs a slot; then the
 *                  oldest ones are dropped. Less than @slots; UINT32_MAX: none. 0: a quarter of
 *                  @slots
 * @held_max:       frames that one consumer may hold, 1 to WW_WORK_QUEUE_SLOTS_MAX; 0: 1
 * @metadata_bytes: room for metadata of each frame, at most WW_FRAME_METADATA_MAX
 * @kind:           of each producer's memory, WW_MEMORY_VMM or WW_MEMORY_HOST; 0: vmm
 * @mode:           permission bits of its name, such as 0640: a process that may read may consume,
 *                  and a process that may write may also produce. 0: 0600
 * @gid:            group; 0: the caller's own; else one of the caller's groups
 * @end_after_producers: of this process, as in struct ww_work_member_params
 * @flags:          WW_PUT_REPLACE of broker.h, or 0
 * @metadata_type:  what the user calls the type of the metadata, such as "job/1"; ended by a zero
 * @array:          borrowed; dtype and largest shape of every frame, in C order without gaps; it
 *                  fits into slot_bytes. NULL: frames are bytes
 */
struct ww_work_queue_params {
	uint32_t struct_size;
	uint32_t role;
	uint64_t slot_bytes;
	uint32_t slots;
	uint32_t producers_max;
	uint32_t consumers_max;
	uint32_t attempts_max;
	uint32_t failed_max;
	uint32_t held_max;
	uint32_t metadata_bytes;
	uint32_t kind;
	uint32_t mode;
	uint32_t gid;
	uint32_t end_after_producers;
	uint64_t flags;
	char metadata_type[WW_FRAME_METADATA_TYPE_BYTES];
	const struct ww_array *array;
};

/**
 * ww_work_queue_create() - make a queue in a broker, and open it
 * @device:     borrowed; for a producer: the device of its slots' memory; for a consumer: the
 *              device for which slots are mapped, for reading: host memory, and memory that the
 *              device reaches
 * @broker:     borrowed; NULL: the default broker
 * @name:       borrowed; NULL: it is found by its tokens only
 * @params:     borrowed; its slot_bytes is set
 * @cancel:     borrowed; may be NULL: cancel.h
 * @out_queue:  the caller's; NULL on failure
 *
 * The name ends when the last process that has the queue open closes it or ends.
 *
 * Return: WW_OK; WW_CANCELLED; WW_ERR_INVALID (params); WW_ERR_OVERFLOW; WW_ERR_MISMATCH (the array
 *         does not fit into slot_bytes); WW_ERR_EXISTS (the name is taken); WW_ERR_NOT_FOUND
 *         (another process has removed or replaced it meanwhile); WW_ERR_VERSION (the broker is too
 *         old); as ww_memory_create() and ww_timeline_put(); WW_ERR_FORKED.
 */
WW_API ww_status ww_work_queue_create(ww_device *device, ww_broker *broker, const char *name,
	const struct ww_work_queue_params *params, ww_cancel *cancel, ww_work_queue **out_queue);

/**
 * struct ww_work_member_params - what a process that opens a queue does with it, and expects of it
 * @struct_size:    sizeof(struct ww_work_member_params)
 * @role:           WW_WORK_QUEUE_...; a producer needs the right to write the object, other roles
 *                  the right to read it
 * @metadata_type:  borrowed; the type that the metadata must have; NULL: any
 * @array:          borrowed; dtype and shape that the queue must have; NULL: any
 * @end_after_producers: of a consumer: ww_work_queue_receive() returns WW_END, though the queue was
 *                  not closed, when so many producers have joined since the queue was made (also
 *                  those that have left, or were killed), none of them is left, and no frame is
 *                  available or may be given out again. 1: when the first ones have left. If
 *                  another producer joins later, the next call receives its frames. 0: it waits for
 *                  producers that may come
 * @reserved:       0
 */
struct ww_work_member_params {
	uint32_t struct_size;
	uint32_t role;
	const char *metadata_type;
	const struct ww_array *array;
	uint32_t end_after_producers;
	uint32_t reserved;
};

/**
 * ww_work_queue_get() - open the queue of a name
 * @device:         as for ww_work_queue_create()
 * @broker:         borrowed; NULL: the default broker
 * @name:           borrowed
 * @params:         borrowed; its role is set
 * @timeout_ns:     how long to wait for the name to appear; 0: not at all; WW_FOREVER
 * @cancel:         borrowed; may be NULL: cancel.h
 * @out_queue:      the caller's; NULL on failure
 *
 * Return: WW_OK; WW_TIMED_OUT; WW_CANCELLED; WW_ERR_INVALID (@params); WW_ERR_NOT_FOUND;
 *         WW_ERR_ACCESS; WW_ERR_UNSUPPORTED (it is not a work queue); WW_ERR_MISMATCH (frames or
 *         metadata have another type; the record names both); WW_ERR_LIMIT (it has as many
 *         producers or consumers as allowed); WW_ERR_STATE (a producer: the queue is closed);
 *         WW_ERR_PROTOCOL; as ww_memory_get(); WW_ERR_FORKED.
 */
WW_API ww_status ww_work_queue_get(ww_device *device, ww_broker *broker, const char *name,
	const struct ww_work_member_params *params, uint64_t timeout_ns, ww_cancel *cancel,
	ww_work_queue **out_queue);

/**
 * ww_work_queue_export() - a token by which any process can open the queue
 * @queue:      borrowed
 * @access:     WW_ACCESS_READ: for consumers; WW_ACCESS_WRITE: also for producers, if this process
 *              may produce itself
 * @params:     borrowed; NULL: WW_ESCROW_DEFAULT
 * @cancel:     borrowed; may be NULL: cancel.h
 * @out_token:  filled on success
 *
 * Return: WW_OK; WW_CANCELLED; as ww_memory_export(); WW_ERR_FORKED.
 */
WW_API ww_status ww_work_queue_export(ww_work_queue *queue, uint32_t access,
	const struct ww_token_params *params, ww_cancel *cancel, struct ww_token *out_token);

/**
 * ww_work_queue_import() - open the queue that a token names
 * @device:         as for ww_work_queue_create()
 * @broker:         borrowed; NULL: the broker of WARPWAY_BROKER, else the broker at the token's
 *                  address
 * @token:          borrowed; may come from anywhere
 * @params:         as for ww_work_queue_get()
 * @cancel:         borrowed; may be NULL: cancel.h
 * @out_queue:      the caller's; NULL on failure
 *
 * Return: as ww_work_queue_get() and ww_memory_import().
 */
WW_API ww_status ww_work_queue_import(ww_device *device, ww_broker *broker,
	const struct ww_token *token, const struct ww_work_member_params *params, ww_cancel *cancel,
	ww_work_queue **out_queue);

/**
 * ww_work_queue_ref() - take one more reference of a queue
 * Return: @queue.
 */
WW_API ww_work_queue *ww_work_queue_ref(ww_work_queue *queue);

/**
 * ww_work_queue_unref() - release a reference of a queue; the last one leaves it
 * @queue:  may be NULL
 *
 * If a producer leaves, slots that it holds are discarded, and its published frames stay. If a
 * consumer leaves, frames that it holds are given out again, as by ww_work_queue_reject().
 *
 * The slots are unmapped: work of streams that uses them must be done before.
 *
 * May block: for one round trip to the broker, at most 1 s.
 * Return: NULL.
 */
WW_API ww_work_queue *ww_work_queue_unref(ww_work_queue *queue);

/**
 * ww_work_queue_close() - announce that no more work comes
 * @queue:  borrowed; of the process that made it, or of a producer
 *
 * It is for the whole queue: from then on no producer joins or gets a slot. Producers can still
 * publish the frames in slots that they hold. If there are other producers, a producer that has
 * finished only releases its queue (ww_work_queue_unref()), and the process that made the queue
 * calls this function when the last producer has finished; or consumers are opened with
 * end_after_producers. When no producer holds a slot, and all frames are done or have failed,
 * consumers get WW_END; the producers need not leave. A producer of a library before 0.2.0 must,
 * and a consumer of one waits for all of them.
 *
 * Return: WW_OK; WW_ERR_ACCESS (this process may not produce); WW_ERR_FORKED.
 */
WW_API ww_status ww_work_queue_close(ww_work_queue *queue);

/**
 * ww_work_queue_acquire() - get a slot to write a frame into
 * @queue:       borrowed; of a producer
 * @stream:      borrowed; of the device that will write; NULL: the CPU may write when this returns
 * @timeout_ns:  how long to wait for a slot; 0: do not wait; WW_FOREVER
 * @cancel:      borrowed; may be NULL: cancel.h
 * @out_frame:   the caller's, with struct_size set; filled on success
 *
 * If all slots of this producer have frames, the call waits until one of these frames is done.
 * Several slots may be held. The frame is passed to ww_work_queue_publish() or
 * ww_work_queue_discard().
 *
 * Return: WW_OK; WW_TIMED_OUT (the record says what the frames wait for); WW_CANCELLED; WW_END (the
 *         queue was closed); WW_ERR_ACCESS (this is not a producer); WW_ERR_STATE (all slots are
 *         held by the caller); as ww_timeline_stream_wait(); WW_ERR_FORKED.
 */
WW_API ww_status ww_work_queue_acquire(ww_work_queue *queue, ww_stream *stream, uint64_t timeout_ns,
	ww_cancel *cancel, struct ww_frame *out_frame);

/**
 * ww_work_queue_publish() - give a frame to the consumers
 * @queue:   borrowed
 * @frame:   borrowed; as ww_work_queue_acquire() filled it, with bytes, metadata_bytes, ndim and
 *           shape set by the caller. Its number and submitted_ns are set on success
 * @stream:  borrowed; the frame is complete after the work before; NULL: it is complete
 *
 * Return: WW_OK; WW_ERR_INVALID (the frame is not held, or too large: nothing was published, and
 *         the frame is still held); WW_ERR_PEER_LOST (the connection to the broker broke, and the
 *         broker has told other members that this producer ended); as ww_timeline_stream_signal();
 *         WW_ERR_FORKED.
 */
WW_API ww_status ww_work_queue_publish(ww_work_queue *queue, struct ww_frame *frame,
	ww_stream *stream);

/**
 * ww_work_queue_discard() - give a slot back without publishing a frame
 * @queue:   borrowed
 * @frame:   borrowed
 * @stream:  borrowed; the slot is free after its work before; NULL: it is free
 *
 * Return: as ww_work_queue_publish().
 */
WW_API ww_status ww_work_queue_discard(ww_work_queue *queue, const struct ww_frame *frame,
	ww_stream *stream);

/**
 * ww_work_queue_receive() - get a frame that no other consumer has
 * @queue:       borrowed; of a consumer, also of failed frames
 * @stream:      borrowed; of the device that will read: its further work waits until the frame is
 *               complete; NULL: the frame is complete when this returns
 * @timeout_ns:  how long to wait for a frame; 0: do not wait; WW_FOREVER
 * @cancel:      borrowed; may be NULL: cancel.h
 * @out_frame:   the caller's, with struct_size set; filled on success
 *
 * The frame is passed to ww_work_queue_acknowledge() or ww_work_queue_reject().
 *
 * Return: WW_OK; WW_TIMED_OUT; WW_CANCELLED; WW_END (no frame is available or may be given out
 *         again, and the queue was closed and no producer holds a slot, or all producers have left
 *         as end_after_producers says); WW_ERR_PEER_LOST (once: a frame that was acknowledged
 *         before it was complete never became complete, because its producer ended; results that
 *         were computed from it are not valid. Or always: the connection to the broker broke, and
 *         the broker has told other members that this consumer ended); WW_ERR_ACCESS (this is not a
 *         consumer); WW_ERR_STATE (held_max frames are held); WW_ERR_PROTOCOL (a producer describes
 *         a frame wrongly; the frame is dropped); as ww_timeline_stream_wait(); WW_ERR_FORKED.
 */
WW_API ww_status ww_work_queue_receive(ww_work_queue *queue, ww_stream *stream, uint64_t timeout_ns,
	ww_cancel *cancel, struct ww_frame *out_frame);

/**
 * ww_work_queue_acknowledge() - mark the work of a frame as done
 * @queue:   borrowed
 * @frame:   borrowed; as ww_work_queue_receive() filled it
 * @stream:  borrowed; the frame is done after the work before; NULL: it is done
 *
 * Return: WW_OK; WW_ERR_PEER_LOST (the producer ended before the frame was complete: results that
 *         were computed from it are not valid; the frame is not held any more, and the stream can
 *         be used further. If this is known only later, the next receive returns it); WW_ERR_STATE
 *         (the frame was given out again meanwhile, because other members were told that this
 *         consumer ended, or because a hostile consumer changed it; it is not held any more);
 *         WW_ERR_INVALID (the frame is not held); as ww_timeline_stream_signal(), and then the
 *         frame is still held: acknowledge it without the stream, when the stream has done its
 *         work; WW_ERR_FORKED.
 */
WW_API ww_status ww_work_queue_acknowledge(ww_work_queue *queue, const struct ww_frame *frame,
	ww_stream *stream);

/**
 * ww_work_queue_finish() - mark the work of a frame as done, and go on reading its bytes
 * @queue:   borrowed
 * @frame:   borrowed; as ww_work_queue_receive() filled it
 * @stream:  as for ww_work_queue_acknowledge()
 *
 * When the queue has been closed, its consumers get WW_END only after the last frame is done. So a
 * consumer that still reads a frame after its work must not wait for WW_END itself without this
 * call.
 *
 * It is possible when the producer of the frame has left, or the queue was closed and the producer
 * holds no slot, since then no slot is written again. The frame is done as by
 * ww_work_queue_acknowledge(), but its bytes stay mapped, and it counts as held until it is
 * acknowledged or rejected, which changes nothing else then. May be called again.
 *
 * Return: WW_OK; WW_NOT_READY (the slot may be written again: nothing was changed); as
 *         ww_work_queue_acknowledge(), but the frame is still held.
 */
WW_API ww_status ww_work_queue_finish(ww_work_queue *queue, const struct ww_frame *frame,
	ww_stream *stream);

/**
 * ww_work_queue_reject() - give back a frame that this consumer cannot work on
 * @queue:  borrowed
 * @frame:  borrowed; as ww_work_queue_receive() filled it. The caller has waited for its streams
 *          that use it
 *
 * The frame is given out again. If this was its last attempt, it has failed. A failed frame stays
 * failed; if it was received 127 times, it is dropped.
 *
 * Return: WW_OK; WW_ERR_STATE (as ww_work_queue_acknowledge()); WW_ERR_INVALID (the frame is not
 *         held); WW_ERR_FORKED.
 */
WW_API ww_status ww_work_queue_reject(ww_work_queue *queue, const struct ww_frame *frame);

/**
 * ww_work_queue_eventfd() - a descriptor for event loops: readable while the member can go on
 * @queue:   borrowed; of a producer or consumer
 * @out_fd:  the caller's, to be closed at any time; an eventfd(2), non-blocking, close-on-exec;
 *           -1 on failure. Only poll it: the library reads and writes it
 *
 * The descriptor is readable while a call without a stream and with timeout 0 has a result other
 * than WW_TIMED_OUT: for a consumer ww_work_queue_receive() (there is a complete frame, or the
 * queue has ended), for a producer ww_work_queue_acquire() (the CPU may write a slot, or the queue
 * was closed). The exact rules:
 *
 *   - After each call with this queue in this process the descriptor is correct for that time.
 *   - If it is not readable, and another member changes that, it becomes readable soon after: at
 *     once for a frame that is published, acknowledged or given back; within 2 ms for work that a
 *     GPU completes; within 50 ms for the end of a process, for a frame that fails, and for a
 *     producer when the queue is closed. No change is missed.
 *   - Calls give back the frames of a consumer that ended. So the descriptor also becomes readable
 *     for that, and when a consumer that this member has not met yet has taken a frame: the call
 *     asks the broker about this consumer, and may find nothing.
 *   - Once readable, it stays readable until the next call with this queue, even if that call finds
 *     nothing.
 *   - While this member holds as many frames or slots as it may, so that the call would return
 *     WW_ERR_STATE, it is not readable.
 *   - A call with a stream may succeed earlier, because it need not wait until work is complete.
 *   - If several consumers wait for one frame, the descriptors of all of them become readable, and
 *     one of them gets the frame.
 *
 * Each call gives a duplicate of the same eventfd. It is readable for ever after the last
 * ww_work_queue_unref().
 *
 * The first call starts the thread "ww-channels" of ww_channel_eventfd(), which this process has
 * once.
 *
 * Return: WW_OK; WW_ERR_ACCESS (this is not a producer or consumer); WW_ERR_NO_MEMORY; WW_ERR_LIMIT
 *         (of descriptors or threads); WW_ERR_SYSTEM; WW_ERR_FORKED.
 */
WW_API ww_status ww_work_queue_eventfd(ww_work_queue *queue, int *out_fd);

/**
 * struct ww_work_queue_info - the state of a queue, as known to one of its members
 * @struct_size:    set by the caller to sizeof(struct ww_work_queue_info)
 * @role:           WW_WORK_QUEUE_..., of this member
 * @is_closed:      1: ww_work_queue_close() was called
 * @slots:          of each producer
 * @producers:      for a consumer or keeper: number of producers whose frames it knows, including
 *                  ended ones
 * @consumers:      number of entries for consumers that are taken
 * @producers_max:  at one time
 * @consumers_max:  at one time
 * @attempts_max:   how often a frame is given out before it has failed
 * @failed_max:     failed frames of each producer that are kept when it needs a slot
 * @held_max:       frames that one consumer may hold
 * @held:           number of slots or frames that this member holds
 * @slot_bytes:     room for the bytes of a frame
 * @metadata_bytes: room for metadata
 * @available:      number of frames that wait for a consumer. For a producer, this and the next two
 *                  fields count only its own frames
 * @claimed:        frames that consumers have, or have acknowledged by a stream whose work is not
 *                  done yet
 * @failed:         frames that have failed, and are kept
 * @published:      for a producer: frames that it has published
 * @dropped:        for a producer: failed frames that it has dropped
 * @received:       for a consumer: frames that it has received
 * @lost:           for a consumer: frames that never became complete, because their producer ended
 * @metadata_type:  as the queue was made
 * @has_array:      1: @array is filled in
 * @reserved:       0
 * @array:          of every frame
 * @published_total: frames that all producers have published. This and the next five fields count
 *                  for the whole queue, since it was made, and include members that have ended. If
 *                  a member is killed during a call, its last frame may be counted once too much or
 *                  be missing
 * @acknowledged_total: frames that were acknowledged, including failed ones. A frame that was
 *                  acknowledged by a stream, and is given out again because the consumer ended
 *                  before the stream's work was complete, counts each time
 * @repeated_total: how often consumers received a frame that had been given out before; not counted
 *                  for WW_WORK_QUEUE_FAILED
 * @failed_total:   frames that have failed
 * @dropped_total:  frames that were dropped: failed ones, and those that a producer described
 *                  wrongly, so that ww_work_queue_receive() returned WW_ERR_PROTOCOL
 * @lost_total:     frames that never became complete, because their producer ended
 * @uncounted:      for a keeper: number of producers about which the broker did not answer. Their
 *                  frames are missing in @available, @claimed and @failed
 * @reserved_1:     0
 *
 * The totals add up: if a keeper sees that @claimed and @uncounted are 0, and no member is in a
 * call, @published_total is @acknowledged_total + @dropped_total + @lost_total + @available +
 * @failed. If a frame was acknowledged more than once, the sum is larger. @repeated_total and
 * @failed_total count frames that are in the sum already.
 */
struct ww_work_queue_info {
	uint32_t struct_size;
	uint32_t role;
	uint32_t is_closed;
	uint32_t slots;
	uint32_t producers;
	uint32_t consumers;
	uint32_t producers_max;
	uint32_t consumers_max;
	uint32_t attempts_max;
	uint32_t failed_max;
	uint32_t held_max;
	uint32_t held;
	uint64_t slot_bytes;
	uint32_t metadata_bytes;
	uint32_t available;
	uint32_t claimed;
	uint32_t failed;
	uint64_t published;
	uint64_t dropped;
	uint64_t received;
	uint64_t lost;
	char metadata_type[WW_FRAME_METADATA_TYPE_BYTES];
	uint32_t has_array;
	uint32_t reserved;
	struct ww_array array;
	uint64_t published_total;
	uint64_t acknowledged_total;
	uint64_t repeated_total;
	uint64_t failed_total;
	uint64_t dropped_total;
	uint64_t lost_total;
	uint32_t uncounted;
	uint32_t reserved_1;
};

/**
 * ww_work_queue_info_get() - describe a queue
 * @queue:  borrowed
 * @info:   the caller's, with struct_size set; filled on success
 *
 * May block: for a keeper, while the broker answers about each producer.
 *
 * Return: WW_OK; WW_ERR_INVALID (struct_size is not set); WW_ERR_FORKED.
 */
WW_API ww_status ww_work_queue_info_get(ww_work_queue *queue, struct ww_work_queue_info *info);

#ifdef __cplusplus
}
#endif

#endif
