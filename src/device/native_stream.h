/* SPDX-License-Identifier: Apache-2.0 */
/*
 * native_stream.h - what belongs to a stream of the driver, however many ww_streams stand for it
 *
 * A program may wrap one CUstream several times. All its ww_streams share one struct
 * ww_native_stream: what the stream waits for (watches, stream.h), and whether it is lost, because
 * such a wait was ended by poison. On host each ww_stream has one of its own.
 *
 *   open ──> used ──last close──> nothing awaited, not lost: freed
 *              ^                  else kept, so that the next ww_stream of the same stream finds it
 *              └───────open────────────┘
 *
 * What is kept is freed when it is known to be over:
 *   - nothing is awaited any more, and the stream is not lost: by the next open, or
 *     ww_native_streams_settle();
 *   - another stream has the same handle, so this one was destroyed;
 *   - more than WW_NATIVE_STREAMS_KEPT are kept: the one that was closed first is forgotten.
 *
 * Locks: natives_lock guards the table, users and is_findable. lock guards the rest, and is taken
 * inside natives_lock.
 */
#ifndef WW_DEVICE_NATIVE_STREAM_H
#define WW_DEVICE_NATIVE_STREAM_H

#include "device/backend.h"

#define WW_NATIVE_STREAMS_KEPT 1024

/* Which stream it is. Default streams have no number, and are one for each device and handle. */
struct ww_native_stream_key {
	uint8_t uuid[WW_DEVICE_UUID_BYTES]; /* of the device */
	const void *handle;
	uint64_t
		/*
		 * the driver's number, which no other stream of this process ever gets; 0: a
		 * default stream
		 */
		id;
};

struct ww_native_stream {
	struct ww_list link; /* in the table */
	struct ww_native_stream_key key;
	uint32_t users;   /* ww_streams */
	bool is_findable; /* in the table */

	pthread_mutex_t lock;
	struct ww_list watches; /* struct ww_stream_watch */
	_Atomic uint32_t watch_count;
	_Atomic bool is_lost;
	struct ww_error loss; /* the record of each call once is_lost */
};

/*
 * @key:         NULL: a stream that no other ww_stream can stand for
 * @out_native:  to be given to close
 * Return: WW_OK; WW_ERR_NO_MEMORY.
 */
ww_status ww_native_stream_open(const struct ww_native_stream_key *key,
	struct ww_native_stream **out_native);
void ww_native_stream_close(struct ww_native_stream *native); /* takes NULL */

/*
 * Whether @is says so of a stream of the device that some ww_stream stands for. Under natives_lock.
 */
bool ww_native_streams_any(const uint8_t uuid[WW_DEVICE_UUID_BYTES],
	bool (*is)(const void *handle, void *context), void *context);

/* The stream is about to be destroyed: no later open finds it. */
void ww_native_stream_retire(struct ww_native_stream *native);

/* Clears every loss that is known by now. What is still awaited stays on watch. */
void ww_native_stream_recover(struct ww_native_stream *native);

/* Forgets what is kept and over. Not under a lock that freeing a watch takes. */
void ww_native_streams_settle(void);

#endif
