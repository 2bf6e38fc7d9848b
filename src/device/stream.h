/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream.h - what the layers above need of a stream beyond the public calls: its watches
 *
 * The code that makes a stream wait for another process puts a watch on the stream, and every call
 * on the stream asks this watch (struct ww_stream_watch). To put one, or to change the one that is
 * there:
 *
 *	ww_stream_watch_lock(stream);
 *	found = ww_stream_watch_find(stream, owner);
 *	if (found)
 *		... change it ...
 *	else
 *		ww_stream_watch_add(stream, &made_before->base);
 *	ww_stream_watch_unlock(stream);
 *
 * Watches belong to the native stream (native_stream.h): every ww_stream of it asks them. A watch
 * is the stream's from then on: it is freed by the call that hears that it awaits nothing any more
 * or has objected, or with the stream; never under the lock, since freeing may let memory go. So a
 * pointer to it is good until the lock is given back, unless the thread is counted among its users.
 *
 * Locks: between lock and unlock nothing may block, allocate or take another lock.
 */
#ifndef WW_DEVICE_STREAM_H
#define WW_DEVICE_STREAM_H

#include "device/backend.h"

void ww_stream_watch_lock(struct ww_stream *stream);
void ww_stream_watch_unlock(struct ww_stream *stream);

/*
 * Both under the lock. find: the watch of @owner, or NULL. add: owner, check and free are set, and
 * no other watch is the owner's.
 */
struct ww_stream_watch *ww_stream_watch_find(struct ww_stream *stream, const void *owner);
void ww_stream_watch_add(struct ww_stream *stream, struct ww_stream_watch *watch);

/*
 * Asks all watches; quick where there is none. Every call on a stream does so: copy, fill, call and
 * whatever else enqueues before it enqueues, synchronize and query after the work has been looked
 * at.
 *
 * Return: WW_OK (some may still await something); the error, recorded, of the watch that objected
 *         first: the stream is lost, and this call says so until ww_stream_recover().
 */
ww_status ww_stream_check(struct ww_stream *stream);

/*
 * The same for work that orders the stream with other processes. It has the values of one call, so
 * a graph cannot contain it.
 *
 * Return: as ww_stream_check(); WW_ERR_STATE: the stream is captured into a graph.
 */
ww_status ww_stream_check_order(struct ww_stream *stream);

#endif
