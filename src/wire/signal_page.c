/* SPDX-License-Identifier: Apache-2.0 */
/*
 * signal_page.c - the steps of the signal page's protocol, see signal_page.h
 *
 * The orders that everything rests on, each kept by stores that release and loads that acquire:
 *   - a cell's state is stored before the poison in `completed`, and before `lost` what was
 *     reached. So a process that reads poison also reads the state, and a process that reads that a
 *     cell is lost also reads the value that it had reached;
 *   - a closed cell is poisoned when all that was submitted is completed, so that is what it
 *     reached then;
 *   - a reader loads `completed` before `state`. If it then sees a live cell what it loaded was no
 *     poison;
 *   - of a lost cell only `reached` counts: a last store of a dead owner's GPU may stand in
 *     `completed`;
 *   - `submitted` is final before `state` says closed;
 *   - a cell that its owner failed is lost without poison: the streams of the owner live on, and
 *     what they store in `completed` lets streams that wait go on.
 * A process that sleeps loads `wakes` before it reads the values, and every store that it may wait
 * for is followed by an addition to `wakes`.
 */
#include "wire/signal_page.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/await.h"
#include "base/error.h"

#define MAGIC        "WWSIGNAL"
#define HEADER_BYTES sizeof(struct ww_layout_signal_page)
#define CELL_BYTES   sizeof(struct ww_layout_signal_cell)
#define PAGE_UNIT    4096

static uint64_t load(const uint64_t *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static void store(uint64_t *word, uint64_t value)
{
	__atomic_store_n(word, value, __ATOMIC_RELEASE);
}

static uint32_t load_state(const struct ww_layout_signal_cell *cell)
{
	return __atomic_load_n(&cell->state, __ATOMIC_ACQUIRE);
}

static void store_state(struct ww_layout_signal_cell *cell, uint32_t state)
{
	__atomic_store_n(&cell->state, state, __ATOMIC_RELEASE);
}

uint32_t ww_signal_page_cells(uint64_t bytes)
{
	return bytes < HEADER_BYTES ? 0 : (uint32_t)((bytes - HEADER_BYTES) / CELL_BYTES);
}

ww_status ww_signal_page_check(const struct ww_layout_signal_page *page, uint64_t bytes)
{
	struct ww_layout_signal_page ours;

	if (bytes < PAGE_UNIT || bytes % PAGE_UNIT != 0)
		return ww_fail(WW_ERR_MISMATCH,
			"%" PRIu64 " bytes are no signal page: it has a multiple of %d", bytes,
			PAGE_UNIT);
	memcpy(&ours, page, sizeof(ours));
	if (memcmp(ours.magic, MAGIC, sizeof(ours.magic)) != 0)
		return ww_fail(WW_ERR_PROTOCOL, "the memory is no signal page");
	if (ours.version != WW_LAYOUT_SIGNAL_PAGE_VERSION)
		return ww_fail(WW_ERR_VERSION,
			"the signal page has layout version %" PRIu32
			", this is version %d; use the same version of the library in all processes",
			ours.version, WW_LAYOUT_SIGNAL_PAGE_VERSION);
	if (ours.bytes != bytes)
		return ww_fail(WW_ERR_MISMATCH,
			"the signal page says it has %" PRIu64 " bytes, but it has %" PRIu64,
			ours.bytes, bytes);
	if (ours.header_bytes != HEADER_BYTES || ours.cell_bytes != CELL_BYTES ||
		ours.cell_count != ww_signal_page_cells(bytes))
		return ww_fail(WW_ERR_PROTOCOL,
			"the signal page says that it has %" PRIu32 " cells of %" PRIu32
			" bytes from %" PRIu32 " on, which cannot be",
			ours.cell_count, ours.cell_bytes, ours.header_bytes);
	return WW_OK;
}

void ww_signal_page_init(struct ww_layout_signal_page *page, uint64_t bytes,
	const uint8_t page_id[WW_WIRE_ID_BYTES], uint32_t pid, uint32_t uid, const char *program)
{
	memcpy(page->magic, MAGIC, sizeof(page->magic));
	page->version = WW_LAYOUT_SIGNAL_PAGE_VERSION;
	page->header_bytes = HEADER_BYTES;
	page->cell_bytes = CELL_BYTES;
	page->cell_count = ww_signal_page_cells(bytes);
	page->bytes = bytes;
	memcpy(page->page_id, page_id, sizeof(page->page_id));
	page->pid = pid;
	page->uid = uid;
	memcpy(page->program, program, strnlen(program, sizeof(page->program) - 1));
}

static struct ww_layout_signal_cell *page_cell(struct ww_layout_signal_page *page, uint32_t number)
{
	return (struct ww_layout_signal_cell *)((uint8_t *)page + HEADER_BYTES +
		number * CELL_BYTES);
}

struct ww_layout_signal_cell *ww_signal_page_cell(struct ww_layout_signal_page *page,
	uint64_t bytes, uint64_t offset)
{
	if (offset < HEADER_BYTES || (offset - HEADER_BYTES) % CELL_BYTES != 0 ||
		(offset - HEADER_BYTES) / CELL_BYTES >= ww_signal_page_cells(bytes))
		return NULL;
	return (struct ww_layout_signal_cell *)((uint8_t *)page + offset);
}

/* --- owner --- */

void ww_signal_cell_open(struct ww_layout_signal_cell *cell, uint64_t value)
{
	store(&cell->submitted, value);
	store(&cell->completed, value);
	store_state(cell, WW_WIRE_CELL_STATE_LIVE);
}

void ww_signal_cell_complete(struct ww_layout_signal_cell *cell, uint64_t value)
{
	uint64_t former = load(&cell->completed);

	store(&cell->submitted, value);
	while (former != WW_SIGNAL_POISON &&
		!__atomic_compare_exchange_n(&cell->completed, &former, value, false,
			__ATOMIC_RELEASE, __ATOMIC_ACQUIRE))
		;
	ww_await_wake(&cell->wakes);
}

void ww_signal_cell_submit(struct ww_layout_signal_cell *cell, uint64_t value, bool wakes)
{
	store(&cell->submitted, value);
	if (wakes)
		ww_await_wake(&cell->wakes);
}

void ww_signal_cell_mark_gpu(struct ww_layout_signal_cell *cell)
{
	__atomic_store_n(&cell->by_gpu, 1, __ATOMIC_RELEASE);
	ww_await_wake(&cell->wakes);
}

bool ww_signal_cell_finish(struct ww_layout_signal_cell *cell)
{
	uint64_t completed = load(&cell->completed);

	if (completed == WW_SIGNAL_POISON)
		return true;
	if (completed < load(&cell->submitted))
		return false;
	store(&cell->completed, WW_SIGNAL_POISON);
	ww_await_wake(&cell->wakes);
	return true;
}

bool ww_signal_cell_close(struct ww_layout_signal_cell *cell)
{
	uint32_t live = WW_WIRE_CELL_STATE_LIVE;

	/* A lost one stays lost. */
	if (__atomic_compare_exchange_n(&cell->state, &live, WW_WIRE_CELL_STATE_CLOSED, false,
		    __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		ww_await_wake(&cell->wakes);
	return ww_signal_cell_finish(cell);
}

void ww_signal_cell_fail(struct ww_layout_signal_cell *cell, const char *why)
{
	uint32_t live = WW_WIRE_CELL_STATE_LIVE;
	uint64_t completed = load(&cell->completed);

	/* What the broker stored stays; if it is about to, one of the two values counts. */
	if (load_state(cell) != live || completed == WW_SIGNAL_POISON)
		return;
	store(&cell->reached, completed);
	memcpy(cell->failure, why, strnlen(why, sizeof(cell->failure) - 1));
	if (__atomic_compare_exchange_n(&cell->state, &live, WW_WIRE_CELL_STATE_LOST, false,
		    __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		ww_await_wake(&cell->wakes);
}

/* --- waiters --- */

/* Fit to be printed, whatever the owner stored. */
static void copy_failure(const struct ww_layout_signal_cell *cell,
	char out_text[WW_SIGNAL_FAILURE_BYTES])
{
	memcpy(out_text, cell->failure, WW_SIGNAL_FAILURE_BYTES);
	out_text[WW_SIGNAL_FAILURE_BYTES - 1] = '\0';
	for (char *at = out_text; *at; at++) {
		if (*at < ' ' || *at > '~')
			*at = '?';
	}
}

void ww_signal_cell_look(const struct ww_layout_signal_cell *cell, struct ww_signal_look *out_look)
{
	uint64_t completed = load(&cell->completed);

	out_look->state = load_state(cell);
	out_look->submitted = load(&cell->submitted);
	out_look->by_gpu = __atomic_load_n(&cell->by_gpu, __ATOMIC_ACQUIRE) != 0;
	/* Only an owner that breaks the rules poisons a live cell, or has a state that is none. */
	if ((completed == WW_SIGNAL_POISON && out_look->state < WW_WIRE_CELL_STATE_CLOSED) ||
		out_look->state > WW_WIRE_CELL_STATE_LOST)
		out_look->state = WW_WIRE_CELL_STATE_LOST;
	out_look->failure[0] = '\0';
	if (out_look->state == WW_WIRE_CELL_STATE_LOST) {
		out_look->reached = load(&cell->reached);
		copy_failure(cell, out_look->failure);
	} else {
		out_look->reached = completed == WW_SIGNAL_POISON ? out_look->submitted : completed;
	}
	if (out_look->reached > WW_SIGNAL_VALUE_MAX)
		out_look->reached = WW_SIGNAL_VALUE_MAX;
}

/* --- the broker --- */

/*
 * Those that sleep are told even where nothing is left to store: an owner or a broker may have been
 * killed between its store and its wake; and a host stream, which waits for `completed` alone, may
 * have missed the poison before. Cells that say they were never used are poisoned too, since an
 * untrusted process says it, and told with @wakes.
 */
static void poison_cell(struct ww_layout_signal_cell *cell, bool wakes)
{
	uint64_t completed = load(&cell->completed);
	uint32_t state = load_state(cell);

	if (completed != WW_SIGNAL_POISON) {
		if (state != WW_WIRE_CELL_STATE_LOST) {
			store(&cell->reached, completed);
			store_state(cell, WW_WIRE_CELL_STATE_LOST);
		}
		store(&cell->completed, WW_SIGNAL_POISON);
	}
	if (wakes || state != 0)
		ww_await_wake(&cell->wakes);
}

static void store_owner(struct ww_layout_signal_page *page, uint32_t pid, const char *program)
{
	struct timespec now = {0};

	clock_gettime(CLOCK_REALTIME, &now);
	page->lost_pid = pid;
	page->lost_ns = (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
	memcpy(page->lost_program, program, strnlen(program, sizeof(page->lost_program) - 1));
	__atomic_store_n(&page->lost, 1, __ATOMIC_RELEASE);
}

void ww_signal_page_poison(struct ww_layout_signal_page *page, uint64_t bytes, uint32_t pid,
	const char *program, bool wakes_all)
{
	uint32_t count = ww_signal_page_cells(bytes);

	if (!__atomic_load_n(&page->lost, __ATOMIC_ACQUIRE))
		store_owner(page, pid, program);
	for (uint32_t i = 0; i < count; i++)
		poison_cell(page_cell(page, i), wakes_all);
}

void ww_signal_page_end(struct ww_layout_signal_page *page)
{
	__atomic_store_n(&page->ended, 1, __ATOMIC_RELEASE);
}

void ww_signal_page_lose_name(struct ww_layout_signal_page *page, uint64_t bytes, uint32_t what)
{
	uint32_t count = ww_signal_page_cells(bytes);

	if (!ww_signal_page_is_replaced(page)) /* what is inside of a replaced one may be removed */
		__atomic_store_n(&page->name_lost, what, __ATOMIC_RELEASE);
	for (uint32_t i = 0; i < count; i++) {
		struct ww_layout_signal_cell *cell = page_cell(page, i);

		if (load_state(cell) != 0)
			ww_await_wake(&cell->wakes);
	}
}

/*
 * The owner may be looking for new members at this moment: either it sees the count, or the member
 * what it did.
 */
void ww_signal_page_count_member(struct ww_layout_signal_page *page)
{
	ww_await_wake_in_order(&page->members);
}
