/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page.c - fuzzes what reads signal pages: the check of the header, the finding of a cell, the
 * look, the poison
 *
 * Input: one byte of flags (below), eight of an offset, then the page, filled up with zeros. The
 * page lies before memory that cannot be touched. Whatever it says, a look says only what can be,
 * and the broker's poison releases all that wait.
 */
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>

#include "base/error.h"
#include "fuzz/fuzz.h"
#include "wire/signal_page.h"

#define BYTES       4096
#define CELLS       30
#define CELL_BYTES  128
#define CHANGES     64
#define INPUT_START (1 + sizeof(uint64_t))

/* The bits of the first byte. */
enum {
	HAS_HEADER = 1,     /* a right one, whatever the input says */
	IS_SHORT = 2,       /* the mapping is said to have so much less */
	TURNS_AFTER = 4,    /* the header is another one after the check */
	IS_POISONED = 8,    /* as the broker does */
	CHANGES_UNDER = 16, /* an untrusted process writes while we read */
};

static struct ww_layout_signal_page *page;

/* The attacker: writes a cell over and over, when it is told to. */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool is_busy;
} attacker = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static struct ww_layout_signal_cell *cell_at(uint32_t number)
{
	return (struct ww_layout_signal_cell *)((uint8_t *)page + sizeof(*page) +
		(size_t)number * CELL_BYTES);
}

static void change(uint64_t round)
{
	static const uint64_t values[] = {0, 5, WW_SIGNAL_VALUE_MAX, WW_SIGNAL_POISON,
		UINT64_C(1) << 63, UINT64_MAX, 6};
	struct ww_layout_signal_cell *cell = cell_at(0);

	__atomic_store_n(&cell->state, (uint32_t)(round % 5), __ATOMIC_RELEASE);
	__atomic_store_n(&cell->completed, values[round % 7], __ATOMIC_RELEASE);
	__atomic_store_n(&cell->submitted, values[round % 6], __ATOMIC_RELEASE);
	__atomic_store_n(&cell->reached, values[round % 3], __ATOMIC_RELEASE);
	__atomic_store_n(&cell->by_gpu, (uint32_t)round, __ATOMIC_RELEASE);
}

static void *run_attacker(void *unused)
{
	for (;;) {
		pthread_mutex_lock(&attacker.lock);
		while (!attacker.is_busy)
			pthread_cond_wait(&attacker.changed, &attacker.lock);
		pthread_mutex_unlock(&attacker.lock);
		for (uint64_t round = 0; round < CHANGES; round++)
			change(round);
		pthread_mutex_lock(&attacker.lock);
		attacker.is_busy = false;
		pthread_cond_broadcast(&attacker.changed);
		pthread_mutex_unlock(&attacker.lock);
	}
	return unused;
}

static void set_up(void)
{
	pthread_t thread;
	uint8_t *memory = mmap(NULL, (size_t)2 * BYTES, PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	FUZZ_MUST(memory != MAP_FAILED);
	FUZZ_MUST(mprotect(memory + BYTES, BYTES, PROT_NONE) == 0);
	page = (struct ww_layout_signal_page *)memory;
	FUZZ_MUST(pthread_create(&thread, NULL, run_attacker, NULL) == 0);
	FUZZ_MUST(pthread_detach(thread) == 0);
}

static void put_header(void)
{
	memset(page, 0, sizeof(*page));
	ww_signal_page_init(page, BYTES, (const uint8_t *)"0123456789abcdef", 1, 2, "fuzz");
}

size_t fuzz_seed(unsigned int number, uint8_t out[FUZZ_INPUT_BYTES])
{
	uint64_t offset = sizeof(*page) + (uint64_t)(number % 4) * CELL_BYTES;

	if (number >= 32)
		return 0;
	if (!page)
		set_up();
	memset(page, 0, BYTES);
	put_header();
	ww_signal_cell_open(cell_at(0), number);
	ww_signal_cell_open(cell_at(1), 5);
	ww_signal_cell_submit(cell_at(1), 9, true);
	(void)ww_signal_cell_close(cell_at(number % 2));
	out[0] = (uint8_t)number;
	memcpy(out + 1, &offset, sizeof(offset));
	memcpy(out + INPUT_START, page, FUZZ_INPUT_BYTES - INPUT_START);
	return FUZZ_INPUT_BYTES;
}

static struct ww_signal_look look(const struct ww_layout_signal_cell *cell)
{
	struct ww_signal_look seen;

	ww_signal_cell_look(cell, &seen);
	FUZZ_MUST(seen.state <= WW_WIRE_CELL_STATE_LOST);
	FUZZ_MUST(seen.reached <= WW_SIGNAL_VALUE_MAX);
	return seen;
}

static void check_header(uint64_t bytes, bool is_right)
{
	struct ww_layout_signal_page before = *page;
	ww_status status = ww_signal_page_check(page, bytes);

	FUZZ_MUST(!is_right || status == (bytes == BYTES ? WW_OK : WW_ERR_MISMATCH));
	FUZZ_MUST(!memcmp(&before, page, sizeof(before)));
	if (status == WW_OK) {
		FUZZ_MUST(bytes == BYTES && page->bytes == BYTES && page->cell_count == CELLS);
		return;
	}
	FUZZ_MUST(
		status == WW_ERR_PROTOCOL || status == WW_ERR_VERSION || status == WW_ERR_MISMATCH);
	FUZZ_MUST(ww_error_last()->status == status && ww_error_last()->message[0]);
}

/* A cell lies inside the mapping, whatever the page says. */
static void find_cell(uint64_t bytes, uint64_t offset)
{
	struct ww_layout_signal_cell *cell = ww_signal_page_cell(page, bytes, offset);

	if (!cell)
		return;
	FUZZ_MUST((uint8_t *)cell == (uint8_t *)page + offset);
	FUZZ_MUST(offset >= sizeof(*page) && offset + CELL_BYTES <= bytes);
	(void)look(cell);
}

static void read_while_it_changes(void)
{
	bool is_busy = true;

	pthread_mutex_lock(&attacker.lock);
	attacker.is_busy = true;
	pthread_cond_broadcast(&attacker.changed);
	pthread_mutex_unlock(&attacker.lock);
	for (uint32_t i = 0; is_busy; i++) {
		(void)look(cell_at(0));
		pthread_mutex_lock(&attacker.lock);
		while (i > CHANGES && attacker.is_busy)
			pthread_cond_wait(&attacker.changed, &attacker.lock);
		is_busy = attacker.is_busy;
		pthread_mutex_unlock(&attacker.lock);
	}
}

/* Every wait is released, also after a late store, and nothing more is reached than before. */
static void poison(void)
{
	struct ww_signal_look first[CELLS];

	ww_signal_page_poison(page, BYTES, 7, "fuzz", false);
	for (uint32_t i = 0; i < CELLS; i++) {
		FUZZ_MUST(cell_at(i)->completed == WW_SIGNAL_POISON);
		first[i] = look(cell_at(i));
		FUZZ_MUST(first[i].state >= WW_WIRE_CELL_STATE_CLOSED);
		if (cell_at(i)->state == WW_WIRE_CELL_STATE_LOST)
			cell_at(i)->completed = first[i].reached + 1;
	}
	ww_signal_page_poison(page, BYTES, 8, "other", true);
	for (uint32_t i = 0; i < CELLS; i++) {
		FUZZ_MUST(cell_at(i)->completed == WW_SIGNAL_POISON);
		FUZZ_MUST(look(cell_at(i)).state == first[i].state);
		FUZZ_MUST(look(cell_at(i)).reached == first[i].reached);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t bytes)
{
	uint64_t offset;
	uint64_t mapped = BYTES;

	if (!page)
		set_up();
	if (bytes < INPUT_START || bytes > FUZZ_INPUT_BYTES)
		return 0;
	memcpy(&offset, input + 1, sizeof(offset));
	memset(page, 0, BYTES);
	memcpy(page, input + INPUT_START, bytes - INPUT_START);
	if (input[0] & HAS_HEADER)
		put_header();
	if (input[0] & IS_SHORT)
		mapped -= 1 + offset % BYTES;
	check_header(mapped, input[0] & HAS_HEADER);
	if (input[0] & TURNS_AFTER)
		memset(page, 0xff, sizeof(*page));
	find_cell(mapped, offset);
	for (uint32_t i = 0; i < CELLS; i++)
		find_cell(BYTES, sizeof(*page) + (uint64_t)i * CELL_BYTES);
	if (input[0] & CHANGES_UNDER)
		read_while_it_changes();
	if (input[0] & IS_POISONED)
		poison();
	return 0;
}
