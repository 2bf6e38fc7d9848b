/* SPDX-License-Identifier: Apache-2.0 */
/*
 * signal_page_test.c - every step by itself, pages that lie, and all steps at once from many
 * threads
 *
 * What the steps do to each other in every order is proven on the model, protocol/signal_page.pml.
 * Here the code that was modelled is run: first by itself, at last against the clock and the memory
 * of a real machine.
 */
#include "base/unit_test.h"

#include <pthread.h>
#include <string.h>

#include "base/await.h"
#include "base/clock.h"
#include "wire/signal_page.h"

#define BYTES   WW_SIGNAL_PAGE_BYTES
#define CELLS   126
#define CELL(n) (256 + (uint64_t)(n)*128)

#define LIVE   WW_WIRE_CELL_STATE_LIVE
#define CLOSED WW_WIRE_CELL_STATE_CLOSED
#define LOST   WW_WIRE_CELL_STATE_LOST

static const uint8_t page_id[WW_WIRE_ID_BYTES] = "0123456789abcde";

static union {
	struct ww_layout_signal_page page;
	uint8_t bytes[BYTES];
} memory __attribute__((aligned(4096)));

static struct ww_layout_signal_page *const page = &memory.page;

static struct ww_layout_signal_cell *cell_at(uint32_t number)
{
	struct ww_layout_signal_cell *cell = ww_signal_page_cell(page, BYTES, CELL(number));

	assert_non_null(cell);
	return cell;
}

static struct ww_layout_signal_cell *fresh(uint64_t value)
{
	memset(&memory, 0, sizeof(memory));
	ww_signal_page_init(page, BYTES, page_id, 4711, 1000, "painter");
	ww_signal_cell_open(cell_at(0), value);
	return cell_at(0);
}

/* What a stream does, also one whose process has died. */
static void stream_stores(struct ww_layout_signal_cell *cell, uint64_t value)
{
	__atomic_store_n(&cell->completed, value, __ATOMIC_RELEASE);
}

static struct ww_signal_look look(const struct ww_layout_signal_cell *cell)
{
	struct ww_signal_look out;

	memset(&out, 0xff, sizeof(out));
	ww_signal_cell_look(cell, &out);
	return out;
}

static void assert_look(const struct ww_layout_signal_cell *cell, uint32_t state,
	uint64_t submitted, uint64_t reached)
{
	struct ww_signal_look seen = look(cell);

	assert_int_equal(seen.state, state);
	assert_int_equal(seen.submitted, submitted);
	assert_int_equal(seen.reached, reached);
}

static void poison(bool wakes_all)
{
	ww_signal_page_poison(page, BYTES, 4712, "painter by the broker", wakes_all);
}

/* --- pages --- */

UNIT_TEST(a_new_page)
{
	fresh(0);
	assert_ok(ww_signal_page_check(page, BYTES));
	assert_memory_equal(page->page_id, page_id, sizeof(page_id));
	assert_int_equal(page->pid, 4711);
	assert_int_equal(page->uid, 1000);
	assert_string_equal((const char *)page->program, "painter");
	assert_int_equal(page->lost, 0);
	assert_int_equal(ww_signal_page_cells(BYTES), CELLS);
	assert_int_equal(ww_signal_page_cells(4096), 30);
	assert_int_equal(ww_signal_page_cells(255), 0);
	memset(&memory, 0, sizeof(memory));
	ww_signal_page_init(page, BYTES, page_id, 1, 0, "a name that is longer than there is room");
	assert_string_equal((const char *)page->program, "a name that is longer than ther");
}

UNIT_TEST(pages_that_are_none)
{
	fresh(0);
	page->magic[7]++;
	assert_fails(ww_signal_page_check(page, BYTES), WW_ERR_PROTOCOL);
	fresh(0);
	page->version = 2;
	page->bytes = 0; /* of a version that is not ours nothing else is said */
	assert_fails(ww_signal_page_check(page, BYTES), WW_ERR_VERSION);
	assert_non_null(strstr(ww_error_last()->message, "version 2"));
	fresh(0);
	page->bytes = BYTES - 4096;
	assert_fails(ww_signal_page_check(page, BYTES), WW_ERR_MISMATCH);
	fresh(0);
	page->header_bytes = 128;
	assert_fails(ww_signal_page_check(page, BYTES), WW_ERR_PROTOCOL);
	fresh(0);
	page->cell_bytes = 64;
	assert_fails(ww_signal_page_check(page, BYTES), WW_ERR_PROTOCOL);
	fresh(0);
	page->cell_count = CELLS + 1;
	assert_fails(ww_signal_page_check(page, BYTES), WW_ERR_PROTOCOL);
	page->cell_count = CELLS - 1;
	assert_fails(ww_signal_page_check(page, BYTES), WW_ERR_PROTOCOL);
	fresh(0);
	assert_fails(ww_signal_page_check(page, 0), WW_ERR_MISMATCH);
	assert_fails(ww_signal_page_check(page, 4095), WW_ERR_MISMATCH);
	assert_fails(ww_signal_page_check(page, BYTES - 8), WW_ERR_MISMATCH);
	assert_fails(ww_signal_page_check(page, BYTES - 4096), WW_ERR_MISMATCH);
}

UNIT_TEST(offsets_that_are_no_cell)
{
	static const uint64_t wrong[] = {0, 1, 128, 255, 257, CELL(0) + 8, CELL(0) + 127,
		CELL(CELLS), CELL(CELLS) - 1, BYTES, BYTES + 256, UINT64_MAX, UINT64_MAX - 127,
		(UINT64_C(1) << 32) + 256, UINT64_C(1) << 63};

	fresh(0);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_null(ww_signal_page_cell(page, BYTES, wrong[i]));
	for (uint32_t i = 0; i < CELLS; i++)
		assert_ptr_equal(ww_signal_page_cell(page, BYTES, CELL(i)), memory.bytes + CELL(i));
	page->cell_count = UINT32_MAX; /* what it says later does not matter */
	page->bytes = UINT64_MAX;
	assert_null(ww_signal_page_cell(page, BYTES, CELL(CELLS)));
	assert_null(ww_signal_page_cell(page, 255, CELL(0)));
	assert_null(ww_signal_page_cell(page, 256 + 127, CELL(0)));
}

/* --- the owner --- */

UNIT_TEST(signals_of_a_cpu)
{
	struct ww_layout_signal_cell *cell = fresh(5);

	assert_look(cell, LIVE, 5, 5);
	assert_int_equal(cell->wakes, 0);
	ww_signal_cell_complete(cell, 7);
	assert_look(cell, LIVE, 7, 7);
	assert_int_equal(cell->wakes, 1);
	ww_signal_cell_complete(cell, WW_SIGNAL_VALUE_MAX);
	assert_look(cell, LIVE, WW_SIGNAL_VALUE_MAX, WW_SIGNAL_VALUE_MAX);
	assert_false(look(cell).by_gpu);
}

UNIT_TEST(signals_of_a_stream)
{
	struct ww_layout_signal_cell *cell = fresh(0);

	ww_signal_cell_submit(cell, 3, true);
	assert_look(cell, LIVE, 3, 0);
	assert_int_equal(cell->wakes, 1);
	ww_signal_cell_mark_gpu(cell);
	assert_true(look(cell).by_gpu);
	assert_int_equal(cell->wakes, 2);
	ww_signal_cell_submit(cell, 4, false);
	assert_int_equal(cell->wakes, 2);
	stream_stores(cell, 3);
	assert_look(cell, LIVE, 4, 3);
}

UNIT_TEST(closed_with_nothing_pending)
{
	struct ww_layout_signal_cell *cell = fresh(0);

	ww_signal_cell_complete(cell, 9);
	assert_true(ww_signal_cell_close(cell));
	assert_look(cell, CLOSED, 9, 9);
	assert_true(cell->completed == WW_SIGNAL_POISON);
	assert_int_equal(cell->reached, 0); /* the broker's */
	assert_int_equal(cell->wakes, 3);
	assert_true(ww_signal_cell_finish(cell));
	assert_true(ww_signal_cell_close(cell));
	assert_int_equal(cell->wakes, 3);
}

UNIT_TEST(closed_with_signals_pending)
{
	struct ww_layout_signal_cell *cell = fresh(1);

	ww_signal_cell_submit(cell, 3, true);
	assert_false(ww_signal_cell_close(cell));
	assert_look(cell, CLOSED, 3, 1);
	assert_false(ww_signal_cell_finish(cell));
	stream_stores(cell, 2);
	assert_false(ww_signal_cell_finish(cell));
	assert_look(cell, CLOSED, 3, 2);
	stream_stores(cell, 3);
	assert_look(cell, CLOSED, 3, 3);
	assert_true(ww_signal_cell_finish(cell));
	assert_look(cell, CLOSED, 3, 3);
	assert_true(cell->completed == WW_SIGNAL_POISON);
}

UNIT_TEST(a_stream_stores_the_poison)
{
	struct ww_layout_signal_cell *cell = fresh(1);

	ww_signal_cell_submit(cell, 2, true);
	assert_false(ww_signal_cell_close(cell));
	stream_stores(cell, 2);
	stream_stores(cell, WW_SIGNAL_POISON);
	assert_look(cell, CLOSED, 2, 2);
	assert_true(ww_signal_cell_finish(cell));
}

UNIT_TEST(failed)
{
	struct ww_layout_signal_cell *cell = fresh(1);

	ww_signal_cell_submit(cell, 3, true);
	stream_stores(cell, 2);
	ww_signal_cell_fail(cell,
		"disk full\n, or so, in a text that is longer than there is room");
	assert_look(cell, LOST, 3, 2);
	assert_string_equal(look(cell).failure, "disk full?, or so, in a text that is longer tha");
	assert_int_equal(cell->wakes, 2);
	stream_stores(cell, 3); /* and lets other streams go on */
	assert_look(cell, LOST, 3, 2);
	ww_signal_cell_fail(cell, "once more");
	poison(false);
	assert_look(cell, LOST, 3, 2);
	assert_true(cell->completed == WW_SIGNAL_POISON);
	cell = fresh(1);
	ww_signal_cell_submit(cell, 2, true);
	poison(false);
	ww_signal_cell_fail(cell, "later");
	assert_look(cell, LOST, 2, 1);
	assert_string_equal(look(cell).failure, "");
}

/* --- the broker --- */

UNIT_TEST(poisoned)
{
	struct ww_layout_signal_cell *cell = fresh(0);

	ww_signal_cell_complete(cell, 4);
	ww_signal_cell_submit(cell, 6, true);
	poison(false);
	assert_look(cell, LOST, 6, 4);
	assert_true(cell->completed == WW_SIGNAL_POISON);
	assert_int_equal(cell->wakes, 3);
	assert_int_equal(page->lost, 1);
	assert_int_equal(page->lost_pid, 4712);
	assert_true(page->lost_ns > 0);
	assert_string_equal((const char *)page->lost_program, "painter by the broker");
	assert_ok(ww_signal_page_check(page, BYTES));
}

UNIT_TEST(late_stores_change_nothing)
{
	struct ww_layout_signal_cell *cell = fresh(0);
	uint64_t lost_ns;

	ww_signal_cell_submit(cell, 6, true);
	stream_stores(cell, 4);
	poison(false);
	lost_ns = page->lost_ns;
	stream_stores(cell, 5); /* a GPU wait could hang on this */
	assert_look(cell, LOST, 6, 4);
	ww_signal_page_poison(page, BYTES, 1, "somebody else", false);
	assert_true(cell->completed == WW_SIGNAL_POISON);
	assert_look(cell, LOST, 6, 4);
	assert_int_equal(cell->wakes, 3); /* a host stream may have missed the first poison */
	assert_int_equal(page->lost_pid, 4712);
	assert_int_equal(page->lost_ns, lost_ns);
	stream_stores(cell, WW_SIGNAL_POISON); /* that a closed one's stream was to store */
	assert_look(cell, LOST, 6, 4);
}

/* Somebody may have been killed between the store of poison and its wake. */
UNIT_TEST(told_again)
{
	struct ww_layout_signal_cell *cell = fresh(0);
	uint32_t wakes;

	poison(false);
	wakes = cell->wakes;
	poison(false);
	assert_int_equal(cell->wakes, wakes + 1);
	cell = fresh(3);
	assert_true(ww_signal_cell_close(cell));
	wakes = cell->wakes;
	poison(false);
	assert_int_equal(cell->wakes, wakes + 1);
	assert_look(cell, CLOSED, 3, 3);
}

UNIT_TEST(every_cell_is_poisoned)
{
	fresh(0);
	for (uint32_t i = 0; i < CELLS; i += 2)
		ww_signal_cell_open(cell_at(i), i);
	cell_at(1)->completed = 8; /* by an owner that says it never used it */
	poison(false);
	for (uint32_t i = 0; i < CELLS; i++) {
		assert_true(cell_at(i)->completed == WW_SIGNAL_POISON);
		assert_int_equal(look(cell_at(i)).state, LOST);
		assert_int_equal(cell_at(i)->wakes, i % 2 ? 0 : 1);
	}
	assert_int_equal(look(cell_at(1)).reached, 8);
	assert_int_equal(look(cell_at(124)).reached, 124);
	poison(true);
	for (uint32_t i = 0; i < CELLS; i++)
		assert_int_equal(cell_at(i)->wakes, i % 2 ? 1 : 2);
}

/* The broker gave its owner up, which does not know it yet. */
UNIT_TEST(a_lost_cell_stays_lost)
{
	struct ww_layout_signal_cell *cell = fresh(2);

	poison(false);
	ww_signal_cell_complete(cell, 3);
	assert_true(cell->completed == WW_SIGNAL_POISON);
	assert_look(cell, LOST, 3, 2);
	assert_true(ww_signal_cell_close(cell));
	assert_look(cell, LOST, 3, 2);
	cell = fresh(2);
	ww_signal_cell_submit(cell, 4, true);
	assert_false(ww_signal_cell_close(cell));
	poison(false);
	assert_look(cell, LOST, 4, 2);
	stream_stores(cell, 4);
	assert_true(ww_signal_cell_finish(cell));
	assert_look(cell, LOST, 4, 2);
}

/*
 * Of an untrusted process's page nothing is believed that could be more than a wrong end of a wait
 * for that attacker.
 */
UNIT_TEST(cells_that_lie)
{
	struct ww_layout_signal_cell *cell = fresh(2);

	cell->state = 77;
	assert_int_equal(look(cell).state, LOST);
	cell->state = 0;
	assert_look(cell, 0, 2, 2);
	cell->completed = WW_SIGNAL_POISON; /* without an end */
	assert_look(cell, LOST, 2, 0);
	cell->state = LIVE;
	assert_look(cell, LOST, 2, 0);
	cell->completed = UINT64_MAX;
	assert_look(cell, LIVE, 2, WW_SIGNAL_VALUE_MAX);
	cell->state = LOST;
	cell->reached = WW_SIGNAL_POISON;
	assert_look(cell, LOST, 2, WW_SIGNAL_VALUE_MAX);
	cell->state = CLOSED;
	cell->submitted = UINT64_MAX;
	cell->completed = WW_SIGNAL_POISON;
	assert_look(cell, CLOSED, UINT64_MAX, WW_SIGNAL_VALUE_MAX);
	cell->state = 77;
	cell->completed = UINT64_C(1) << 63;
	poison(false);
	assert_true(cell->completed == WW_SIGNAL_POISON && cell->state == LOST);
}

UNIT_TEST(ended_and_counted)
{
	fresh(2);
	poison(true);
	assert_int_equal(page->ended, 0);
	ww_signal_page_end(page);
	assert_int_equal(page->ended, 1);
	ww_signal_page_count_member(page);
	ww_signal_page_count_member(page);
	assert_int_equal(page->members, 2);
	assert_ok(ww_signal_page_check(page, BYTES));
}

/* --- all at once --- */

#define ROUNDS 300
#define VALUES 200

static uint64_t last_stored;  /* the highest value whose store may have begun */
static uint64_t lost_above;   /* the lowest `reached` of a look that said lost */
static uint32_t stream_ended; /* no store of the owner's can come */
static uint32_t owner_ended;  /* its connection */

struct round {
	struct ww_layout_signal_cell *cell;
	uint32_t seed;
};

static uint32_t random_below(uint32_t *seed, uint32_t limit)
{
	*seed = *seed * 1664525 + 1013904223;
	return (*seed >> 8) % limit;
}

static void dawdle(uint32_t *seed)
{
	for (uint32_t i = random_below(seed, 40); i > 0; i--)
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

static void store_as_stream(struct ww_layout_signal_cell *cell, uint64_t value)
{
	__atomic_store_n(&last_stored, value, __ATOMIC_SEQ_CST);
	stream_stores(cell, value);
}

/*
 * Signals by CPU and stream in turn; ends at a random moment, its stream perhaps later. Closes, or
 * does not.
 */
static void *run_owner(void *context)
{
	struct round round = *(struct round *)context;
	uint64_t end = 1 + random_below(&round.seed, VALUES);
	uint64_t late = random_below(&round.seed, 8);
	uint64_t value = 0;

	while (value < end) {
		__atomic_store_n(&last_stored, ++value, __ATOMIC_SEQ_CST);
		ww_signal_cell_complete(round.cell, value);
		dawdle(&round.seed);
	}
	if (random_below(&round.seed, 4) == 0) {
		assert_true(ww_signal_cell_close(round.cell) || look(round.cell).state == LOST);
		late = 0;
	} else if (late > 0) {
		ww_signal_cell_mark_gpu(round.cell);
		ww_signal_cell_submit(round.cell, value + late, false);
	}
	__atomic_store_n(&owner_ended, 1, __ATOMIC_RELEASE);
	while (late-- > 0) {
		dawdle(&round.seed);
		store_as_stream(round.cell, ++value);
	}
	__atomic_store_n(&stream_ended, 1, __ATOMIC_RELEASE);
	return NULL;
}

/* Not only when the owner has ended: it may have been given up. */
static void *run_broker(void *context)
{
	struct round round = *(struct round *)context;
	bool is_early = random_below(&round.seed, 2) == 0;
	uint32_t passes = 0;

	while (!is_early && !__atomic_load_n(&owner_ended, __ATOMIC_ACQUIRE))
		dawdle(&round.seed);
	while (!__atomic_load_n(&stream_ended, __ATOMIC_ACQUIRE)) {
		poison(passes++ == 1);
		dawdle(&round.seed);
	}
	poison(true);
	return NULL;
}

struct waiter {
	struct ww_layout_signal_cell *cell;
	uint64_t value;
	struct ww_signal_look last;
};

/* One look, and all that must be true of it. */
static enum ww_await_look look_hard(void *context)
{
	struct waiter *waiter = context;
	uint64_t above = __atomic_load_n(&lost_above, __ATOMIC_SEQ_CST);
	struct ww_signal_look seen = look(waiter->cell);
	uint64_t former = __atomic_load_n(&lost_above, __ATOMIC_SEQ_CST);

	waiter->last = seen;
	assert_true(seen.reached <= __atomic_load_n(&last_stored, __ATOMIC_SEQ_CST));
	assert_true(seen.reached <= above);
	assert_true(seen.state == LIVE || seen.state == CLOSED || seen.state == LOST);
	if (seen.state == LOST) {
		assert_int_equal(__atomic_load_n(&page->lost, __ATOMIC_ACQUIRE), 1);
		assert_int_equal(page->lost_pid, 4712);
	}
	while (seen.state == LOST && seen.reached < former &&
		!__atomic_compare_exchange_n(&lost_above, &former, seen.reached, false,
			__ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		;
	if (seen.reached >= waiter->value || seen.state == LOST ||
		(seen.state == CLOSED && waiter->value > seen.submitted))
		return WW_AWAIT_DONE;
	return seen.by_gpu ? WW_AWAIT_POLL : WW_AWAIT_SLEEP;
}

static void *run_waiter(void *context)
{
	struct round round = *(struct round *)context;
	struct waiter waiter = {.cell = round.cell,
		.value = 1 + random_below(&round.seed, VALUES + VALUES / 2)};

	assert_ok(ww_await(&round.cell->wakes, look_hard, &waiter, WW_NEVER));
	while (waiter.last.state == LIVE)
		look_hard(&waiter);
	look_hard(&waiter);
	return NULL;
}

/* A stream of the host device: it knows of completed alone. */
static enum ww_await_look look_as_stream(void *context)
{
	const struct waiter *waiter = context;
	uint64_t now = __atomic_load_n(&waiter->cell->completed, __ATOMIC_ACQUIRE);

	if ((int64_t)(now - waiter->value) >= 0)
		return WW_AWAIT_DONE;
	return __atomic_load_n(&waiter->cell->by_gpu, __ATOMIC_ACQUIRE) ? WW_AWAIT_POLL
									: WW_AWAIT_SLEEP;
}

static void *run_stream_waiter(void *context)
{
	struct round round = *(struct round *)context;
	struct waiter waiter = {.cell = round.cell,
		.value = 1 + random_below(&round.seed, VALUES + VALUES / 2)};

	assert_ok(ww_await(&round.cell->wakes, look_as_stream, &waiter, WW_NEVER));
	assert_int_equal(look_hard(&waiter), WW_AWAIT_DONE);
	return NULL;
}

static void run_round(uint32_t seed)
{
	static void *(*const runs[])(void *) = {run_owner, run_broker, run_stream_waiter,
		run_waiter, run_waiter, run_waiter};
	enum {
		COUNT = sizeof(runs) / sizeof(runs[0])
	};
	struct round rounds[COUNT];
	pthread_t threads[COUNT];

	rounds[0].cell = fresh(0);
	last_stored = 0;
	lost_above = UINT64_MAX;
	stream_ended = 0;
	owner_ended = 0;
	for (size_t i = COUNT; i-- > 0;) {
		rounds[i].cell = rounds[0].cell;
		rounds[i].seed = seed * COUNT + (uint32_t)i;
		assert_int_equal(pthread_create(&threads[i], NULL, runs[i], &rounds[i]), 0);
	}
	for (size_t i = 0; i < COUNT; i++)
		pthread_join(threads[i], NULL);
	assert_true(rounds[0].cell->completed == WW_SIGNAL_POISON);
	assert_true(look(rounds[0].cell).state >= CLOSED);
}

UNIT_TEST(torture)
{
	for (uint32_t seed = 0; seed < ROUNDS; seed++)
		run_round(seed);
}

/*
 * Two threads, one value each way: what was written before a signal can be read by who saw the
 * value.
 */
static uint64_t cargo[2];

static enum ww_await_look look_for(void *context)
{
	const struct waiter *waiter = context;

	return look(waiter->cell).reached >= waiter->value ? WW_AWAIT_DONE : WW_AWAIT_SLEEP;
}

static void *answer(void *context)
{
	struct waiter waiter = {.cell = cell_at(0)};

	(void)context;
	for (uint64_t value = 1; value <= 2000; value++) {
		waiter.value = value;
		(void)ww_await(&waiter.cell->wakes, look_for, &waiter, WW_NEVER);
		cargo[1] = cargo[0] + 1;
		ww_signal_cell_complete(cell_at(1), value);
	}
	return NULL;
}

UNIT_TEST(ping_pong)
{
	struct waiter waiter;
	pthread_t thread;

	fresh(0);
	ww_signal_cell_open(cell_at(1), 0);
	waiter.cell = cell_at(1);
	assert_int_equal(pthread_create(&thread, NULL, answer, NULL), 0);
	for (waiter.value = 1; waiter.value <= 2000; waiter.value++) {
		cargo[0] = 2 * waiter.value;
		ww_signal_cell_complete(cell_at(0), waiter.value);
		(void)ww_await(&waiter.cell->wakes, look_for, &waiter, WW_NEVER);
		assert_int_equal(cargo[1], 2 * waiter.value + 1);
	}
	pthread_join(thread, NULL);
}

UNIT_MAIN("signal_page")
