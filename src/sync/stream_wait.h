/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream_wait.h - what streams of this process wait for
 *
 * Each pair of a stream and a cell has one record, of the highest value the stream waits for. It is
 * a watch on the stream: when the wait was ended by poison every later call on the stream says so.
 * And it keeps the page as long as the GPU may read it, also when the stream has ended.
 */
#ifndef WW_SYNC_STREAM_WAIT_H
#define WW_SYNC_STREAM_WAIT_H

#include "device/stream.h"
#include "sync/signal_page_map.h"

/*
 * Enqueues a wait.
 * @offset:      of the cell, which there is
 * @is_watched:  false: if poison ends the wait, no code takes the stream's work after it as valid
 * Return: WW_OK; as ww_timeline_prepare().
 */
ww_status ww_stream_wait_enqueue(struct ww_stream *stream, struct ww_signal_map *page,
	uint64_t offset, uint64_t value, bool is_watched);

/*
 * The same for a wait that other code enqueues between these two.
 * begin: Return: to be given to end; NULL, recorded: out of memory.
 * @value:  that the stream waits for now; 0: nothing was enqueued
 */
struct ww_stream_wait *ww_stream_wait_begin(struct ww_stream *stream, struct ww_signal_map *page,
	uint64_t offset);
void ww_stream_wait_end(struct ww_stream *stream, struct ww_stream_wait *wait, uint64_t value);

struct ww_stream_wait_for {
	struct ww_signal_map *page;
	uint64_t offset; /* of the cell, which there is */
	uint64_t value;
};

/* Enqueues a wait for all of these, none of them watched. Return: as ww_stream_wait_enqueue(). */
ww_status ww_stream_waits_enqueue(struct ww_stream *stream, const struct ww_stream_wait_for *cells,
	uint32_t count);

/*
 * Whether a GPU of this process may be waiting. Frees waits that are over and whose
 * streams have ended.
 */
bool ww_stream_waits_pending(void);

#endif
