/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warpway/channel.h - frames from one process to many, written and read in place
 *
 * A channel is a ring of slots in device or host memory. One process, the producer, writes frames
 * into slots and publishes them; up to 32 consumers receive them. Nothing is copied: a frame is
 * used in place. A frame has a number, a count of bytes, a shape, metadata of the user and the
 * time at which it was published.
 *
 *   producer:   acquire ──> write ──> publish          (or discard)
 *                  ^                     │ frame 1, 2, 3, ...
 *                  │                     v
 *   consumers:     └──── release <── use <── receive
 *
 * Each of acquire, publish, receive and release takes a stream or NULL. With a stream the call
 * orders the work of that stream: the CPU does not wait, a wait is enqueued on the stream. With
 * NULL the call is for code that uses the CPU, or that has waited for its stream: when it returns,
 * the bytes may be used, or are there.
 *
 * Policies say what happens when the producer needs a slot and all have frames:
 *
 *   WW_CHANNEL_BLOCK        it waits until a slot has been received and released by every consumer
 *   WW_CHANNEL_DROP_OLDEST  it takes back the oldest frame that no consumer holds; who had not
 *                           received that one counts it as dropped, and goes on with the next
 *   WW_CHANNEL_LATEST       the same, and a consumer always receives the newest complete frame
 *
 * With the two that drop, the producer never waits for a consumer, and the newest complete frame
 * keeps its slot until a newer one is complete. A frame counts as held until its release is
 * complete: if a consumer still has as many frames as it may hold, its receive waits.
 *
 * When a process ends:
 *   - A consumer that ends has released its frames. The producer writes to their slots again after
 *     the kernel has reported the end, since work of its GPU may read until then.
 *   - If the producer ends, consumers receive every frame that was complete, and then
 *     WW_ERR_PEER_LOST; the record names the process. If it closes the channel, they receive all
 *     frames that were published, and then WW_END.
 *   - A stream of the producer waits on the GPU only for consumers of its own user, since a wait
 *     that never ends would block it; for others the CPU waits. The same holds for the streams of a
 *     consumer.
 *
 * How it works: the producer writes a ring (a file in memory), each consumer its marks; all others
 * map these for reading only. A frame costs a few stores and loads: no broker, no message, and no
 * system call while both sides are awake. A side that sleeps says so in its own file, and only then
 * the other one wakes it.
 *
 * Threads: one ww_channel is used by one thread at a time. A process may open a channel several
 *          times: each ww_channel is a consumer of its own.
 * Fork:    a child made by fork() cannot use the channels of its parent (device.h).
 */
#ifndef WARPWAY_CHANNEL_H
#define WARPWAY_CHANNEL_H

#include <warpway/array.h>
#include <warpway/base.h>
#include <warpway/broker.h>
#include <warpway/device.h>
#include <warpway/token.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ww_channel ww_channel;

#define WW_CHANNEL_SLOTS_MAX           4096
#define WW_CHANNEL_CONSUMERS_MAX       32
#define WW_CHANNEL_METADATA_MAX        4096 /* bytes of each frame */
#define WW_CHANNEL_METADATA_TYPE_BYTES 16
#define WW_CHANNEL_DIMS                8   /* of a frame's shape */
#define WW_CHANNEL_ALIGNMENT           512 /* bytes; of each slot's memory */

/* ww_channel_params.policy */
enum {
	WW_CHANNEL_BLOCK = 1,
	WW_CHANNEL_DROP_OLDEST = 2,
	WW_CHANNEL_LATEST = 3
};

/**
 * struct ww_channel_params - what channel to make
 * @struct_size:    sizeof(struct ww_channel_params)
 * @policy:         WW_CHANNEL_...; 0: WW_CHANNEL_BLOCK
 * @slot_bytes:     room for the bytes of a frame, > 0; rounded up to WW_CHANNEL_ALIGNMENT
 * @slots:          how many, 1 to WW_CHANNEL_SLOTS_MAX. With a policy that drops at least
 *                  consumers_max * held_max + ahead_max + 1; 0: that number, or 4 with policy block
 * @consumers_max:  at one time, 1 to WW_CHANNEL_CONSUMERS_MAX; 0: 4
 * @held_max:       frames that one consumer may hold, at least 1; 0: 1
 * @ahead_max:      with a policy that drops: frames that the producer may hold, or have published
 *                  before its stream has written them; 0: 2
 * @metadata_bytes: room for metadata of each frame, at most WW_CHANNEL_METADATA_MAX
 * @kind:           WW_MEMORY_VMM or WW_MEMORY_HOST; 0: vmm
 * @mode:           permission bits of its name, such as 0640; a process that may read the object
 *                  may be a consumer. 0: 0600
 * @gid:            group; 0: the caller's own; else one of the caller's groups
 * @flags:          WW_PUT_REPLACE of broker.h, or 0
 * @metadata_type:  what the user calls the type of the metadata, such as "pose/1"; ended by a zero
 * @array:          borrowed; dtype and largest shape of every frame, in C order without gaps; it
 *                  fits into slot_bytes. NULL: frames are bytes
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
	char metadata_type[WW_CHANNEL_METADATA_TYPE_BYTES];
	const struct ww_array *array;
};

/**
 * ww_channel_create() - make a channel in a broker; this process is its producer
 * @device:       borrowed; where the slots' memory is to be
 * @broker:       borrowed; NULL: the default broker
 * @name:         borrowed; NULL: it is found by its token only
 * @params:       borrowed; its slot_bytes is set
 * @cancel:       borrowed; may be NULL: cancel.h
 * @out_channel:  the caller's; NULL on failure
 *
 * The name ends when the producer's process ends, or when the producer has closed the channel and
 * its last consumer has left. With WW_PUT_REPLACE the new channel takes the place of one that has
 * this name, as a whole: use it for a producer that may be started anew.
 *
 * Return: WW_OK; WW_CANCELLED; WW_ERR_INVALID (params); WW_ERR_OVERFLOW; WW_ERR_MISMATCH (the array
 *         does not fit into slot_bytes); WW_ERR_EXISTS (the name is taken); as ww_memory_create()
 *         and ww_timeline_put(); WW_ERR_FORKED.
 */
WW_API ww_status ww_channel_create(ww_device *device, ww_broker *broker, const char *name,
	const struct ww_channel_params *params, ww_cancel *cancel, ww_channel **out_channel);

/* struct ww_consumer_params.history: all frames that are still there */
#define WW_CHANNEL_OLDEST UINT64_MAX

/**
 * struct ww_consumer_params - how a consumer begins, and what it expects
 * @struct_size:    sizeof(struct ww_consumer_params)
 * @reserved:       0
 * @history:        how many frames that were published before it comes are received first, as far
 *                  as they are still there: 0: only new ones; 1: the newest; WW_CHANNEL_OLDEST. Not
 *                  used with policy WW_CHANNEL_LATEST, which begins with the newest frame
 * @metadata_type:  what the metadata must be called; NULL: anything
 * @array:          borrowed; dtype and shape that the channel must have; NULL: any
 */
struct ww_consumer_params {
	uint32_t struct_size;
	uint32_t reserved;
	uint64_t history;
	const char *metadata_type;
	const struct ww_array *array;
};

/**
 * ww_channel_get() - become a consumer of the channel of a name
 * @device:       borrowed; where the slots are to be mapped, for reading; host memory, and what the
 *                device reaches
 * @broker:       borrowed; NULL: the default broker
 * @name:         borrowed
 * @params:       borrowed; NULL: all zero
 * @timeout_ns:   how long to wait for the name to appear; 0: not at all; WW_FOREVER
 * @cancel:       borrowed; may be NULL: cancel.h
 * @out_channel:  the caller's; NULL on failure
 *
 * Return: WW_OK; WW_TIMED_OUT; WW_CANCELLED; WW_ERR_NOT_FOUND; WW_ERR_ACCESS; WW_ERR_UNSUPPORTED
 *         (it is no channel); WW_ERR_MISMATCH (frames or metadata are of another type; the record
 *         names both); WW_ERR_LIMIT (it has consumers_max consumers); WW_ERR_PROTOCOL; as
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
 * @broker:       borrowed; NULL: that of WARPWAY_BROKER, else the one at the token's address
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
 * Of the producer: closes the channel. Frames that it holds are discarded; consumers receive those
 * that were published. Of a consumer: releases the frames that it holds, as without a stream.
 *
 * Return: NULL.
 */
WW_API ww_channel *ww_channel_unref(ww_channel *channel);

/**
 * struct ww_frame - a frame that is being written, or was received
 * @struct_size:     set by the caller to sizeof(struct ww_frame)
 * @slot:            its slot
 * @number:          1, 2, 3, ... in the order of publication; 0: not published yet
 * @pointer:         of its bytes, for the channel's device
 * @host_pointer:    of its bytes, for the CPU; NULL: the CPU cannot reach them
 * @metadata:        of its metadata; a consumer must not write there
 * @capacity:        bytes that the slot has room for
 * @bytes:           bytes of the frame; set by the producer before it publishes. acquire: @capacity
 * @submitted_ns:    CLOCK_MONOTONIC, when it was published
 * @metadata_bytes:  bytes of its metadata; set by the producer. acquire: the room for it
 * @ndim:            of @shape; set by the producer, 0: the shape of the channel's array, if any
 * @shape:           elements in each dimension
 */
struct ww_frame {
	uint32_t struct_size;
	uint32_t slot;
	uint64_t number;
	void *pointer;
	void *host_pointer;
	void *metadata;
	uint64_t capacity;
	uint64_t bytes;
	uint64_t submitted_ns;
	uint32_t metadata_bytes;
	uint32_t ndim;
	uint64_t shape[WW_CHANNEL_DIMS];
};

/**
 * ww_channel_acquire() - get a slot to write a frame into
 * @channel:     borrowed; of its producer
 * @stream:      borrowed; of the device that will write; NULL: the CPU may write when this returns
 * @timeout_ns:  how long to wait for a slot; 0: only look; WW_FOREVER
 * @cancel:      borrowed; may be NULL: cancel.h
 * @out_frame:   the caller's, with struct_size set; filled on success
 *
 * Several slots may be held. The frame is passed to ww_channel_publish() or ww_channel_discard().
 *
 * Return: WW_OK; WW_TIMED_OUT (the record names the consumer that the producer waited for);
 *         WW_CANCELLED; WW_ERR_ACCESS (this is a consumer); WW_ERR_STATE (all slots are held by the
 *         caller, or, with a policy that drops, ahead_max of them); as ww_timeline_stream_wait();
 *         WW_ERR_FORKED.
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
 * Return: WW_OK; WW_ERR_INVALID (no frame that is held, or one that is too large: nothing was
 *         published, and the frame is still held); as ww_timeline_stream_signal(); WW_ERR_FORKED.
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
 * @timeout_ns:  how long to wait for a frame; 0: only look; WW_FOREVER
 * @cancel:      borrowed; may be NULL: cancel.h
 * @out_frame:   the caller's, with struct_size set; filled on success
 *
 * Return: WW_OK; WW_TIMED_OUT; WW_CANCELLED; WW_END (the producer has closed the channel, and all
 *         of its frames were received); WW_ERR_PEER_LOST (the producer has ended, and all frames
 *         that were complete were received; or, once, a frame that was released before it was
 *         complete never was: see ww_channel_release()); WW_ERR_ACCESS (this is the producer);
 *         WW_ERR_STATE (held_max frames are held); WW_ERR_PROTOCOL (the ring says what cannot be);
 *         as ww_timeline_stream_wait(); WW_ERR_FORKED.
 */
WW_API ww_status ww_channel_receive(ww_channel *channel, ww_stream *stream, uint64_t timeout_ns,
	ww_cancel *cancel, struct ww_frame *out_frame);

/**
 * ww_channel_release() - let the producer use a frame's slot again
 * @channel:  borrowed
 * @frame:    borrowed; as ww_channel_receive() filled it
 * @stream:   borrowed; the release is complete after the work before; NULL: it is complete
 *
 * Return: WW_OK; WW_ERR_PEER_LOST (the producer ended before the frame was complete: what was
 *         computed from it is not valid; the frame is released, and the stream can be used further.
 *         If that is known only later, the next receive returns it); WW_ERR_INVALID (no frame that
 *         is held); as ww_timeline_stream_signal(), and then the frame is still held: release it
 *         without the stream, when the stream has done its work; WW_ERR_FORKED.
 */
WW_API ww_status ww_channel_release(ww_channel *channel, const struct ww_frame *frame,
	ww_stream *stream);

/**
 * struct ww_channel_info - the state of a channel
 * @struct_size:    set by the caller to sizeof(struct ww_channel_info)
 * @is_producer:    1: this is the producer; 0: a consumer
 * @policy:         WW_CHANNEL_...
 * @slots:          how many
 * @consumers:      of the producer: how many it knows; of a consumer: 0
 * @consumers_max:  at one time
 * @held_max:       frames that one consumer may hold
 * @held:           slots that this side holds
 * @slot_bytes:     room for the bytes of a frame
 * @metadata_bytes: room for metadata
 * @pid:            of the producer, as it sees itself
 * @published:      number of the last frame published; 0: none
 * @received:       of a consumer: frames received
 * @dropped:        of a consumer: frames that were gone before it received them
 * @metadata_type:  as the producer named it
 * @program:        the producer's name
 * @has_array:      1: @array is filled in
 * @reserved:       0
 * @array:          of every frame
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
	char metadata_type[WW_CHANNEL_METADATA_TYPE_BYTES];
	char program[WW_PROGRAM_BYTES];
	uint32_t has_array;
	uint32_t reserved;
	struct ww_array array;
};

/**
 * ww_channel_info_get() - describe a channel
 * @channel:  borrowed
 * @info:     the caller's, with struct_size set; filled on success
 *
 * Return: WW_OK; WW_ERR_INVALID (struct_size is not set); WW_ERR_FORKED.
 */
WW_API ww_status ww_channel_info_get(ww_channel *channel, struct ww_channel_info *info);

#ifdef __cplusplus
}
#endif

#endif
