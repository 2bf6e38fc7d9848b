/* SPDX-License-Identifier: Apache-2.0 */
/*
 * signal_page.h - the page by which a process signals, as shared memory
 *
 * A header (struct ww_layout_signal_page) and cells (struct ww_layout_signal_cell), of
 * protocol/broker.xml. One process writes a page, its OWNER; its own streams write `completed` too.
 * All other processes map it for reading only. The broker has a writable descriptor and uses it
 * when the owner has ended, or to count in the header what came inside the page's objects.
 *
 * Every function here is one step of the protocol that protocol/signal_page.pml models:
 *
 *   owner, CPU     submit + complete(v)        waiter, CPU   look(v) until it is not NOT_READY
 *   owner, stream  write completed := v        waiter, GPU   wait completed >= v, later look(v)
 *                  then submit(v)
 *   owner          close, fail                 broker        poison; again, until no store of the
 *                                                            ended process can come: end
 *
 * What a page says comes from an untrusted process: each field is loaded once, and no value can do
 * more than end a wait wrongly for processes that wait for this attacker.
 */
#ifndef WW_WIRE_SIGNAL_PAGE_H
#define WW_WIRE_SIGNAL_PAGE_H

#include <stdbool.h>

#include "wire/protocol.h"

#define WW_SIGNAL_POISON     UINT64_C(0x7fffffffffffffff)
#define WW_SIGNAL_VALUE_MAX  (UINT64_C(1) << 62)
#define WW_SIGNAL_PAGE_BYTES 16384 /* of the pages that we make: 126 cells */
#define WW_SIGNAL_PAGE_MOST  65536 /* of any: what one page may keep others waiting for */

/*
 * Checks the header of a page from an untrusted process, mapped with @bytes.
 * Return: WW_OK; WW_ERR_PROTOCOL (it is none, or says what cannot be); WW_ERR_VERSION (another
 *         layout version); WW_ERR_MISMATCH (it says another size).
 */
ww_status ww_signal_page_check(const struct ww_layout_signal_page *page, uint64_t bytes);

/* Writes the header of a new page, all zero before. @program: as ww_process calls itself. */
void ww_signal_page_init(struct ww_layout_signal_page *page, uint64_t bytes,
	const uint8_t page_id[WW_WIRE_ID_BYTES], uint32_t pid, uint32_t uid, const char *program);

/* How many cells a page of @bytes has. */
uint32_t ww_signal_page_cells(uint64_t bytes);

/*
 * The cell at an offset in a page that was checked.
 * @bytes:  of the mapping: what the page says of itself may have changed
 * Return: NULL: there is none at that offset.
 */
struct ww_layout_signal_cell *ww_signal_page_cell(struct ww_layout_signal_page *page,
	uint64_t bytes, uint64_t offset);

/* --- owner --- */

void ww_signal_cell_open(struct ww_layout_signal_cell *cell, uint64_t value);

/* The CPU's signal: submitted and completed at once. Nothing is pending. Poison stays. */
void ww_signal_cell_complete(struct ww_layout_signal_cell *cell, uint64_t value);

/*
 * A stream's signal has been enqueued. @wakes: the sleepers are told; not needed once by_gpu is
 * set.
 */
void ww_signal_cell_submit(struct ww_layout_signal_cell *cell, uint64_t value, bool wakes);

/* Before the first signal by a GPU. */
void ww_signal_cell_mark_gpu(struct ww_layout_signal_cell *cell);

/*
 * Nothing beyond submitted will come. Return: true when all is completed, and poisoned with it;
 * false when streams have yet to signal: then poison must be stored after them
 * (ww_signal_cell_finish() or by a stream).
 */
bool ww_signal_cell_close(struct ww_layout_signal_cell *cell);

/*
 * The values that are not reached by now do not count, whatever streams store later: the cell is
 * lost. A stream that waits goes on when its value is stored, and its look tells. Takes no lock: a
 * stream may be waiting for this call.
 * @why:  for messages; cut off if need be
 */
void ww_signal_cell_fail(struct ww_layout_signal_cell *cell, const char *why);

/* Poisons a closed cell once all of it is completed. Return: false: not yet. */
bool ww_signal_cell_finish(struct ww_layout_signal_cell *cell);

/* --- waiters --- */

#define WW_SIGNAL_FAILURE_BYTES 48

struct ww_signal_look {
	uint32_t state; /* WW_WIRE_CELL_STATE_... */
	bool by_gpu;
	char failure[WW_SIGNAL_FAILURE_BYTES]; /* why a lost one was failed; empty: it was not */
	uint64_t submitted;
	uint64_t reached; /* the highest value that may be taken for reached; never poison */
};

/* One look at a cell. Once it said lost, `reached` never grows again. */
void ww_signal_cell_look(const struct ww_layout_signal_cell *cell, struct ww_signal_look *out_look);

/* Whether the broker has told that its process ended. */
static inline bool ww_signal_page_is_lost(const struct ww_layout_signal_page *page)
{
	return __atomic_load_n(&page->lost, __ATOMIC_ACQUIRE) != 0;
}

/* Whether the name of the object was given to another one, as the page says. */
static inline bool ww_signal_page_is_replaced(const struct ww_layout_signal_page *page)
{
	return __atomic_load_n(&page->name_lost, __ATOMIC_ACQUIRE) == WW_WIRE_WHAT_REPLACED;
}

/* --- the broker --- */

/*
 * Poisons all cells of a page whose owner has ended, and stores which process it was; called again:
 * cells that a last store of the dead made seem alive.
 * @bytes:          of the mapping; the page was checked when it came
 * @pid, @program:  of the owner, as the broker knows it
 * @wakes_all:      false: only sleepers of cells that are in use, or were lost before, are woken,
 *                  which for a page with few is 30 us less. Call it with true once soon after: an
 *                  untrusted process says which are in use
 */
void ww_signal_page_poison(struct ww_layout_signal_page *page, uint64_t bytes, uint32_t pid,
	const char *program, bool wakes_all);

/* Says that nothing of the owner can come any more. It was poisoned before, for the last time. */
void ww_signal_page_end(struct ww_layout_signal_page *page);

/*
 * Stores how the object of a page lost its name, and wakes all that sleep on its cells.
 * @what:  of WW_WIRE_WHAT_...: replaced or removed
 */
void ww_signal_page_lose_name(struct ww_layout_signal_page *page, uint64_t bytes, uint32_t what);

/* Counts one more object inside an object of this page; that one can be found by now. */
void ww_signal_page_count_member(struct ww_layout_signal_page *page);

#endif
