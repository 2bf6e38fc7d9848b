/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deferred_release.h - objects that are released later, when no stream needs them any more
 *
 * Some releases would block behind streams. The driver unregisters host memory and closes a legacy
 * handle only when all streams of the process are done, and waits for that. A stream may wait for a
 * timeline that the calling thread is about to signal, so such a release could block for ever. And
 * a timeline or a pool that a stream still uses must not be freed. Such an object is deferred: its
 * owner adds it here, and a later call of the program releases it. The library has no thread that
 * could do so.
 *
 *   added ──> asked by each reclaim ──done──> released
 *                  ^─────not yet────┘
 *
 * The kinds of objects, and when they are done:
 *   - mappings (mapping.c), those of signal pages and of pools' marks included: when no stream of
 *     the process is known to be busy;
 *   - closed timelines (sync/timeline.c): when their streams have signalled;
 *   - pools without references (pool/owner/pool.c): when no stream uses a slice;
 *   - one entry for all pools of other processes (pool/member/member.c): never. When it is asked,
 *     it releases what this process has of those that were closed.
 *
 * Two lists of objects that streams still use are not here. A slice that waits in its pool
 * (pool/owner/slice.c) can be imported and so used again, and an imported slice that lags
 * (pool/member/imported_slice.c) counts as a use of its slot. So both change under the lock of that
 * pool, and are looked at when it is used.
 *
 * Locks: the list has one lock. No other lock is taken inside it, and it is not held while an
 * object is asked or released. So ww_deferred_add() may be called under any lock. The two calls
 * that reclaim run code of other layers, so they may be called under no lock.
 *
 * Threads: a reclaim takes an object out of the list while it asks it, and a second thread that
 * reclaims in that moment does not see this object. So a thread that began a reclaim before another
 * one did asks all objects once more.
 */
#ifndef WW_DEVICE_DEFERRED_RELEASE_H
#define WW_DEVICE_DEFERRED_RELEASE_H

#include <stdbool.h>

#include "base/list.h"

struct ww_deferred;

/* The kind of an object. Both functions are called under no lock, and reclaim nothing. */
struct ww_deferred_class {
	/*
	 * Whether the object can be released. Never blocks. NULL: it can be when no stream of the
	 * process is known to be busy.
	 */
	bool (*is_done)(struct ww_deferred *entry);
	void (*release)(struct ww_deferred *entry); /* frees the object */
	bool may_block; /* the driver may block the release, for work that is not known here */
};

/* A member of the object. */
struct ww_deferred {
	struct ww_list link;
	const struct ww_deferred_class *class;
};

/* Defers the release of an object to which nothing else refers. */
void ww_deferred_add(struct ww_deferred *entry, const struct ww_deferred_class *class);

/*
 * Releases all that is done. The driver may block the call, for work that the library does not know
 * of. So this is for calls that let something go, and for those that say so in a public header.
 * Leaves the error record alone.
 */
void ww_deferred_reclaim(void);

/* The same without objects whose release may block: for calls that make something. */
void ww_deferred_reclaim_no_wait(void);

/*
 * How to find out whether a stream of this process is known to be busy: it waits, or has yet to
 * signal.
 * @are_streams_busy:  always the same function. It may take locks of the layers above and free
 *                     what they hold, so nothing is deferred by asking under these locks
 */
void ww_deferred_ask_streams(bool (*are_streams_busy)(void));

/* Asks it. False if no backend can answer. */
bool ww_deferred_streams_busy(void);

#endif
