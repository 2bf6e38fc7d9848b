/* SPDX-License-Identifier: Apache-2.0 */
/*
 * timeline.h - a timeline as the library sees it: a cell of a page
 *
 * The signaller has one ww_timeline for a cell, which an import in its own process finds again.
 * Waiters have as many as they imported.
 *
 * The signaller's last unref closes the cell. When streams have yet to signal, the release of the
 * timeline is deferred until they have (device/deferred_release.h): a stream of the library's own
 * (the closer) waits for them and stores the poison, which releases streams that wait for more.
 */
#ifndef WW_SYNC_TIMELINE_H
#define WW_SYNC_TIMELINE_H

#include <warpway/timeline.h>

#include "sync/signal_page_map.h"

struct ww_timeline {
	struct ww_ref ref;
	struct ww_list link;         /* in page->timelines, under page->lock */
	struct ww_deferred deferred; /* of a closed one */
	struct ww_signal_map *page;  /* a reference; constant, as are the next three */
	struct ww_layout_signal_cell *cell;
	uint64_t offset; /* of the cell */
	bool is_own;     /* this process is the signaller */
	bool is_guarded; /* a stream waits for it with WW_WAIT_OTHER_USER only */

	/*
	 * For signals; held while one is enqueued. Of several timelines that with the lower address
	 * first.
	 */
	pthread_mutex_t lock;
	uint64_t last_stream; /* serial of the one that signalled last, or 0 */
	struct ww_mapping
		*last_word; /* the page as that stream's device sees it; borrowed from the page */
	ww_stream *closer;  /* of a closing one, owned */

	struct ww_attachments attachments; /* its own holds in brokers, by name */
};

/*
 * As ww_timeline_create() with WW_TIMELINE_ALONE, and as ww_timeline_unref(). But these two reclaim
 * nothing (device/deferred_release.h), so they may be called under locks.
 */
ww_status ww_timeline_create_alone(ww_timeline **out_timeline);
ww_timeline *ww_timeline_drop(ww_timeline *timeline);

WW_DEFINE_CLEANUP(ww_timeline, ww_timeline_drop)
#define WW_AUTO_TIMELINE WW_CLEANUP(ww_timeline_drop_p)

/*
 * The timeline of a cell of a page that was imported. Not under locks: reclaims, without waiting.
 * @page:  a reference, taken over on success
 * Return: WW_OK; WW_ERR_MISMATCH (there is no cell at @offset); WW_ERR_NO_MEMORY.
 */
ww_status ww_timeline_open(struct ww_signal_map *page, uint64_t offset, ww_timeline **out_timeline);

/* Closes an own timeline that no stream signals, even if other code in this process has a
 * reference. */
void ww_timeline_close(ww_timeline *timeline);

/*
 * A signal by work of a stream, under timeline->lock: begin, then the work that stores the word,
 * and if it was enqueued, end. begin: the stream waits for the signals before it.
 * Return: as ww_timeline_stream_signal().
 */
ww_status ww_timeline_signal_begin(struct ww_timeline *timeline, struct ww_stream *stream,
	uint64_t value, struct ww_stream_value *out_word);
void ww_timeline_signal_end(struct ww_timeline *timeline, struct ww_stream *stream,
	const struct ww_stream_value *word);

/*
 * Before a stream is made to wait: waits on the CPU, in the scope of the caller's ww_cancel.
 * @out_is_reached:  it need not wait any more, or must not: only the CPU may wait for the timeline
 * Return: as ww_timeline_stream_wait().
 */
ww_status ww_timeline_await_submission(struct ww_timeline *timeline, uint64_t value, uint64_t flags,
	uint64_t timeout_ns, bool *out_is_reached);

/* The value that it has reached. */
static inline uint64_t ww_timeline_reached(const ww_timeline *timeline)
{
	struct ww_signal_look look;

	ww_signal_cell_look(timeline->cell, &look);
	return look.reached;
}

/* Return: WW_OK; WW_ERR_ACCESS (not the signaller), recorded. @action: "signal", "name" */
ww_status ww_timeline_require_own(const ww_timeline *timeline, const char *action);

#endif
