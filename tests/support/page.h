/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page.h - a signal page by hand: what a process would put that has timelines
 *
 *   struct page page;
 *   page_make(&page);
 *   MUST_OK(page_put(&raw, &put, &page));
 */
#ifndef WW_TESTS_SUPPORT_PAGE_H
#define WW_TESTS_SUPPORT_PAGE_H

#include "support/raw_client.h"
#include "wire/signal_page.h"

struct page {
	struct ww_layout_signal_page *page;
	uint64_t bytes;
	int reader; /* descriptor, read-only */
	int writer; /* descriptor */
};

/* Makes one of WW_SIGNAL_PAGE_BYTES, mapped for writing; its first cell is open, at 0. */
void page_make(struct page *page);

/* A page that came as a descriptor for readers; it has no writer. */
void page_take(struct page *page, int reader);

/* Unmaps it and closes its descriptors. */
void page_close(struct page *page);

struct ww_layout_signal_cell *page_cell(const struct page *page, uint32_t number);

/* A put of it that nothing is wrong with: a sealed timeline, held, mode 0600. */
struct ww_wire_put page_object(const char *name);
ww_status page_put(struct raw *raw, const struct ww_wire_put *put, const struct page *page);

/*
 * Sleeps, as a waiter does that trusts to be woken, until a cell is lost; not for longer than a
 * word may take.
 */
void page_wait_lost(const struct page *page, uint32_t number);

/* Looks again and again until a cell is poisoned, woken or not. */
void page_wait_poison(const struct page *page, uint32_t number);

#endif
