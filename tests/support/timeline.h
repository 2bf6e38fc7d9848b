/* SPDX-License-Identifier: Apache-2.0 */
/*
 * timeline.h - short ways to use timelines, and a signaller by hand
 *
 * A signaller is what another process would be that has a page of timelines: a connection of its
 * own to the broker of the scene, and the page, of which every word can be stored. So a case can be
 * waiter and signaller at once, and the signaller can do what the library never does.
 */
#ifndef WW_TESTS_SUPPORT_TIMELINE_H
#define WW_TESTS_SUPPORT_TIMELINE_H

#include <warpway/warpway.h>

#include "support/leak_count.h"
#include "support/child.h"
#include "support/page.h"

#define MS UINT64_C(1000000)

ww_timeline *timeline_make(uint64_t flags, uint64_t value);
struct ww_timeline_info timeline_info(ww_timeline *timeline);

/* It is in this state, at these values. */
void timeline_must_be(ww_timeline *timeline, uint32_t state, uint64_t submitted,
	uint64_t completed);

/* Uses timelines until what those that are gone have left behind is given back. */
void timeline_settle(const struct census *before);

/* Has all later work of a stream wait until the timeline, of this process, is signalled. */
void stream_hold(ww_stream *stream, ww_timeline *until, uint64_t value);

/* The stream was released by poison: every call on it says so, with this word. */
void stream_must_be_lost(ww_stream *stream, const char *word);

/* A descriptor that tells of a value. */
int timeline_eventfd_make(ww_timeline *timeline, uint64_t value, ww_stream *stream);

/* Whether a descriptor is readable; waits so long. */
bool fd_is_readable(int fd, int timeout_ms);

struct signaller {
	struct raw raw;
	struct page page;
	uint8_t id[WW_WIRE_ID_BYTES]; /* of the object of the whole page */
	uint8_t named[8][WW_WIRE_ID_BYTES];
	size_t named_count;
};

/* Where a cell begins in a page. */
uint64_t cell_offset(uint32_t number);

/* Connects to the broker of the scene, makes a page and puts it there. All cells begin at 0. */
void signaller_begin(struct signaller *signaller);

/* Puts one cell under a name, mode 0644. */
void signaller_name(struct signaller *signaller, const char *name, uint32_t cell);

/* The same with a description that was tampered with. */
void signaller_name_as(struct signaller *signaller, const char *name,
	const uint8_t description[64]);

/* A token for one cell. */
struct ww_token signaller_token(struct signaller *signaller, uint32_t cell);

/* What the broker does when a signaller has ended. */
void signaller_poison(struct signaller *signaller);

/* Raises a value as the CPU does. */
void signaller_signal(struct signaller *signaller, uint32_t cell, uint64_t value);

/* Takes everything out of the broker again, in order. */
void signaller_end(struct signaller *signaller);

#endif
