/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warpway/frame.h - a frame of a channel, or of a work queue
 *
 * The producer acquires a slot, writes a frame into it and publishes it; a consumer receives it.
 * See channel.h and work_queue.h.
 */
#ifndef WARPWAY_FRAME_H
#define WARPWAY_FRAME_H

#include <warpway/base.h>

#define WW_FRAME_DIMS                8    /* of a frame's shape */
#define WW_FRAME_METADATA_MAX        4096 /* bytes of metadata of a frame, at most */
#define WW_FRAME_METADATA_TYPE_BYTES 16
#define WW_FRAME_ALIGNMENT           512 /* bytes; of each slot's memory */

/**
 * struct ww_frame - a frame that is being written, or was received
 * @struct_size:     set by the caller to sizeof(struct ww_frame)
 * @slot:            index of its slot, from 0
 * @number:          1, 2, 3, ... in the order in which its producer published; 0: not published yet
 * @pointer:         of its bytes, for the device of the channel or queue
 * @host_pointer:    of its bytes, for the CPU; NULL: the CPU cannot reach them
 * @metadata:        of its metadata; a consumer must not write there
 * @capacity:        bytes that the slot has room for: slot_bytes, rounded up
 * @bytes:           bytes of the frame; set by the producer before it publishes. After an acquire:
 *                   the bytes of the channel's or queue's array; without an array all of @capacity
 * @submitted_ns:    CLOCK_MONOTONIC, when it was published
 * @metadata_bytes:  bytes of its metadata; the producer sets it for each frame, 0 if the frame has
 *                   none. After an acquire: the room for it, in which are bytes of an earlier frame
 * @ndim:            of @shape; set by the producer, 0: the shape of the channel's or queue's array,
 *                   if any
 * @shape:           elements in each dimension
 * @generation:      for a consumer of a channel: which producer it is from: 1 for the first
 *                   producer, and 1 more each time the consumer went on with another producer
 *                   (WW_CONSUMER_REATTACH). For the channel's producer: 1. Of a work queue: 0
 * @reserved:        0
 * @producer:        for a consumer of a work queue: the number of its producer: 1, 2, 3, ... in the
 *                   order in which this consumer met producers. Of a channel: 0
 * @attempts:        for a consumer of a work queue: how often it has been given out, including this
 *                   time. If it is above 1, the frame is a repeat, and an earlier consumer may have
 *                   done part of the work. Of a channel: 0
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
	uint64_t shape[WW_FRAME_DIMS];
	uint32_t generation;
	uint32_t reserved;
	uint32_t producer;
	uint32_t attempts;
};

#endif
