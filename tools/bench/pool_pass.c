/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool_pass.c - a million slices pass from one process to seven others, every byte of them checked
 *
 * The owner allocates slices of several sizes, fills each with the number of its turn, and writes
 * tokens of them into the rings of the readers, one after the other; it lets go at once, so that a
 * slice lives as long as its token is under way and its reader looks at it. A reader takes what is
 * there, imports it, looks at every byte and lets go. The pool is small, so each place is used
 * again many times: bytes that somebody else has overwritten would show. The floor is the same
 * tokens through the same rings, and no process looks at what they name.
 *
 * Where the CPU does not reach the memory, streams fill slices and fetch them, a batch at a time.
 */
#include <sched.h>
#include <stdio.h>

#include "bench/pool.h"

#define READERS      7
#define RING_LETTERS 512
#define BATCH        128
#define ROOM_BYTES   (UINT64_C(2) << 20) /* less than what the rings can hold */
#define SLICE_UNIT   UINT64_C(256)
#define SLICE_UNITS  4 /* at most, in a slice */
#define SLICE_MOST   (SLICE_UNIT * SLICE_UNITS)
#define LOOKS        1000 /* before sockets are looked at */

struct letter {
	struct ww_token token; /* all zero but for BARE: there is no slice */
	uint64_t number;
};

#define BARE 1

/* From the owner to one reader. */
struct ring {
	struct mailbox_word pushed;
	struct mailbox_word taken; /* and let go of */
	struct letter letters[RING_LETTERS];
};

_Static_assert(READERS * sizeof(struct ring) <= POOL_BOARD_BYTES, "the board has room");

/* Slices that are dealt with together, and the numbers in them. */
struct batch {
	size_t count;
	ww_memory *slices[BATCH];
	uint64_t bytes[BATCH];
	uint64_t numbers[BATCH];
};

static void own_batch(struct batch *batch)
{
	while (batch->count > 0)
		ww_memory_unref(batch->slices[--batch->count]);
}

struct passing {
	struct bench *bench;
	ww_pool *pool;
	struct ring *rings;
	struct child readers[READERS];
	uint64_t number;
	uint64_t waits; /* for room */
};

static void own_passing(struct passing *passing)
{
	for (int i = 0; i < READERS; i++)
		child_fini(&passing->readers[i]);
	ww_pool_unref(passing->pool);
}

/* --- the owner --- */

/* Looks until a reader has taken something out of its ring, or all are empty. */
static int wait_for_progress(struct passing *passing)
{
	uint64_t before[READERS];

	for (int i = 0; i < READERS; i++)
		before[i] = mailbox_load(&passing->rings[i].taken);
	for (uint64_t looks = 1;; looks++) {
		bool are_empty = true;

		for (int i = 0; i < READERS; i++) {
			struct ring *ring = &passing->rings[i];
			bool is_over = looks % LOOKS == 0 &&
				mailbox_is_over(passing->readers[i].socket);

			if (mailbox_load(&ring->taken) != before[i])
				return 0;
			if (mailbox_load(&ring->pushed) == before[i])
				continue;
			if (is_over)
				return complain("%s is gone", passing->readers[i].name);
			are_empty = false;
		}
		if (are_empty)
			return 0;
		sched_yield();
	}
}

static int fill_slice(struct bench *bench, ww_memory *slice, uint64_t number, uint64_t bytes)
{
	uint32_t *words = ww_memory_host_pointer(slice);

	if (!words)
		return bench_expect(ww_stream_fill(bench->stream, ww_memory_pointer(slice),
					    (uint32_t)number, sizeof(*words),
					    bytes / sizeof(*words)),
			"cannot fill a slice");
	for (uint64_t i = 0; i < bytes / sizeof(*words); i++)
		words[i] = (uint32_t)number;
	return 0;
}

/* One more slice in the batch, filled. Return: as pool_cut(). */
static int batch_add(struct passing *passing, struct batch *batch)
{
	uint64_t bytes = SLICE_UNIT * (1 + passing->number % SLICE_UNITS);
	ww_memory *slice;
	int refused = pool_cut(passing->pool, bytes, &slice);

	if (refused)
		return refused;
	batch->slices[batch->count] = slice;
	batch->numbers[batch->count++] = ++passing->number;
	return fill_slice(passing->bench, slice, passing->number, bytes);
}

/* Writes a letter into the ring, once there is a place for it. */
static int send_letter(struct passing *passing, int reader, uint64_t number, ww_memory *slice)
{
	static const struct ww_token bare = {.bytes = {BARE}};
	const struct ww_export_params params = {.struct_size = sizeof(params),
		.access = WW_ACCESS_READ};
	struct ring *ring = &passing->rings[reader];
	uint64_t pushed = mailbox_load(&ring->pushed);
	struct letter *letter = &ring->letters[pushed % RING_LETTERS];

	if (pushed >= RING_LETTERS &&
		mailbox_await(&ring->taken, pushed - RING_LETTERS + 1,
			passing->readers[reader].socket))
		return -1;
	letter->number = number;
	if (!slice)
		letter->token = bare;
	if (slice &&
		bench_expect(ww_memory_export(slice, passing->bench->broker, &params, NULL,
				     &letter->token),
			"cannot export a slice"))
		return -1;
	mailbox_store(&ring->pushed, pushed + 1);
	return 0;
}

/* Up to a batch for one reader. Return: how many, or -1. */
static int send_slices(struct passing *passing, int reader, uint64_t wanted)
{
	struct bench *bench = passing->bench;
	OWN(batch) struct batch batch = {0};

	while (batch.count < wanted && batch.count < BATCH) {
		int refused = batch_add(passing, &batch);

		if (refused < 0)
			return -1;
		if (refused && batch.count > 0)
			break;
		if (refused && wait_for_progress(passing))
			return -1;
		passing->waits += (uint64_t)refused;
	}
	if (!(bench->info.capabilities & WW_CAP_CPU_ACCESS) && bench_stream_finish(bench->stream))
		return -1;
	for (size_t i = 0; i < batch.count; i++) {
		if (send_letter(passing, reader, batch.numbers[i], batch.slices[i]))
			return -1;
	}
	return (int)batch.count;
}

static int send_bare(struct passing *passing, int reader, uint64_t wanted)
{
	int count = (int)(wanted < BATCH ? wanted : BATCH);

	for (int i = 0; i < count; i++) {
		if (send_letter(passing, reader, ++passing->number, NULL))
			return -1;
	}
	return count;
}

/* Until each reader has got, and taken, @each more. */
static int pass(struct passing *passing, uint64_t each,
	int (*send)(struct passing *passing, int reader, uint64_t wanted), double *out_us)
{
	uint64_t start = link_now_ns();
	uint64_t left[READERS];
	bool more = true;

	for (int i = 0; i < READERS; i++)
		left[i] = each;
	while (more) {
		more = false;
		for (int i = 0; i < READERS; i++) {
			int count = left[i] ? send(passing, i, left[i]) : 0;

			if (count < 0)
				return -1;
			left[i] -= (uint64_t)count;
			more = more || left[i];
		}
	}
	for (int i = 0; i < READERS; i++) {
		struct ring *ring = &passing->rings[i];

		if (mailbox_await(&ring->taken, ring->pushed.value, passing->readers[i].socket))
			return -1;
	}
	*out_us = (double)bench_lap(&start) / 1e3 / (double)(each * READERS);
	return 0;
}

static int spawn_readers(struct passing *passing, uint64_t each)
{
	const struct link_message go = {.kind = LINK_GO, .numbers = {each}};
	struct link_message ready[READERS];

	for (int i = 0; i < READERS; i++) {
		char index[NUMBER_BYTES];

		snprintf(index, sizeof(index), "%d", i);
		if (bench_spawn(passing->bench, "reader", NULL, index, &passing->readers[i]) ||
			child_send(&passing->readers[i], &go, -1))
			return -1;
	}
	return child_group_receive(passing->readers, READERS, LINK_READY, ready);
}

/* Processes that hold nothing are no holders, and nothing waits any more. */
static int check_end(struct passing *passing)
{
	struct ww_pool_info info = WW_INIT(struct ww_pool_info);

	for (int i = 0; i < READERS; i++) {
		if (child_finish(&passing->readers[i], 0))
			return -1;
	}
	if (bench_expect(ww_pool_info_get(passing->pool, &info), "cannot ask how the pool is"))
		return -1;
	if (info.slice_count || info.waiting_count)
		return complain("%u slices are left, %u wait", info.slice_count,
			info.waiting_count);
	return 0;
}

int pool_pass(struct bench *bench)
{
	uint64_t each = (bench->slices + READERS - 1) / READERS;
	OWN(passing) struct passing passing = {.bench = bench, .rings = bench->board};
	double floor_us = 0;
	double us = 0;

	for (int i = 0; i < READERS; i++) {
		passing.readers[i] = (struct child)CHILD_NONE;
		mailbox_store(&passing.rings[i].pushed, 0);
		mailbox_store(&passing.rings[i].taken, 0);
	}
	if (pool_create(bench, ROOM_BYTES, &passing.pool) || spawn_readers(&passing, each) ||
		pass(&passing, each, send_bare, &floor_us) ||
		pass(&passing, each, send_slices, &us) || check_end(&passing))
		return -1;
	say("%llu slices over %d processes in %.2f s, %.0f in a second, every byte as expected; "
	    "%llu waits for room",
		(unsigned long long)(each * READERS), READERS + 1,
		us * (double)(each * READERS) / 1e6, 1e6 / us, (unsigned long long)passing.waits);
	return bench_add_number(bench, "pass", "us", us, floor_us, BENCH_NONE);
}

/* --- a reader --- */

struct reader {
	struct bench *bench;
	ww_stream *stream;
	ww_memory *landing; /* where slices are fetched to; NULL: the CPU reaches them */
	struct ring *ring;
	uint64_t taken;
};

static void own_reader(struct reader *reader)
{
	ww_memory_unref(reader->landing);
	ww_stream_unref(reader->stream);
}

static int import(const struct reader *reader, const struct letter *letter, struct batch *batch)
{
	struct bench *bench = reader->bench;
	struct ww_token token = letter->token;
	struct ww_memory_info info = WW_INIT(struct ww_memory_info);
	ww_memory *memory;

	if (bench_expect(ww_memory_import(bench->device, bench->broker, &token, NULL, NULL, &memory,
				 NULL),
		    "cannot import a slice"))
		return -1;
	batch->numbers[batch->count] = letter->number;
	batch->slices[batch->count++] = memory;
	if (bench_expect(ww_memory_info_get(memory, &info), "cannot describe a slice"))
		return -1;
	if (info.bytes > SLICE_MOST)
		return complain("a slice has %llu bytes", (unsigned long long)info.bytes);
	batch->bytes[batch->count - 1] = info.bytes;
	return 0;
}

static char *landing_place(const struct reader *reader, size_t index)
{
	return (char *)ww_memory_host_pointer(reader->landing) + index * SLICE_MOST;
}

static int fetch(const struct reader *reader, const struct batch *batch)
{
	for (size_t i = 0; i < batch->count; i++) {
		if (bench_expect(ww_stream_copy(reader->stream, landing_place(reader, i),
					 ww_memory_pointer(batch->slices[i]), batch->bytes[i]),
			    "cannot fetch a slice"))
			return -1;
	}
	return bench_stream_finish(reader->stream);
}

static int check(const struct reader *reader, const struct batch *batch, size_t index)
{
	uint32_t number = (uint32_t)batch->numbers[index];
	const uint32_t *words = reader->landing ? (const void *)landing_place(reader, index)
						: ww_memory_host_pointer(batch->slices[index]);

	for (uint64_t i = 0; i < batch->bytes[index] / sizeof(*words); i++) {
		if (words[i] != number)
			return complain("slice %u has %u in word %llu", number, words[i],
				(unsigned long long)i);
	}
	return 0;
}

/* Letters up to @pushed, at most a batch. */
static int take_slices(struct reader *reader, uint64_t pushed)
{
	OWN(batch) struct batch batch = {0};
	uint64_t taken = reader->taken;

	while (taken < pushed && batch.count < BATCH) {
		if (import(reader, &reader->ring->letters[taken++ % RING_LETTERS], &batch))
			return -1;
	}
	if (reader->landing && fetch(reader, &batch))
		return -1;
	for (size_t i = 0; i < batch.count; i++) {
		if (check(reader, &batch, i))
			return -1;
	}
	reader->taken = taken;
	return 0;
}

/* All that a bare letter can show is that it has arrived whole. */
static int take_bare(struct reader *reader, uint64_t pushed)
{
	while (reader->taken < pushed) {
		const struct letter *letter = &reader->ring
						       ->letters[reader->taken++ % RING_LETTERS];
		struct ww_token token = letter->token;

		__asm__ volatile("" : : "r"(&token) : "memory");
		if (token.bytes[0] != BARE || letter->number == 0)
			return complain("a letter is not what was sent");
	}
	return 0;
}

/* What was taken is let go of before the owner hears of it. */
static int read_all(struct reader *reader, uint64_t count,
	int (*take)(struct reader *reader, uint64_t pushed))
{
	uint64_t end = reader->taken + count;

	while (reader->taken < end) {
		uint64_t pushed;

		if (mailbox_await(&reader->ring->pushed, reader->taken + 1, LINK_FD))
			return -1;
		pushed = mailbox_load(&reader->ring->pushed);
		if (take(reader, pushed < end ? pushed : end))
			return -1;
		mailbox_store(&reader->ring->taken, reader->taken);
	}
	return 0;
}

static int open_landing(struct reader *reader)
{
	const struct ww_memory_params params = {
		.struct_size = sizeof(params),
		.kind = WW_MEMORY_HOST,
		.bytes = BATCH * SLICE_MOST,
	};
	ww_device *device = reader->bench->device;

	if (reader->bench->info.capabilities & WW_CAP_CPU_ACCESS)
		return 0;
	if (bench_expect(ww_stream_create(device, &reader->stream), "cannot make a stream"))
		return -1;
	return bench_expect(ww_memory_create(device, &params, &reader->landing),
		"cannot make memory to fetch slices to");
}

int pool_role_reader(struct bench *bench, const char *word)
{
	OWN(reader) struct reader reader = {.bench = bench};
	struct link_message message;
	uint64_t index;

	if (parent_receive(LINK_GO, &message, NULL))
		return -1;
	if (!number_parse(word, 0, READERS - 1, &index))
		return complain("there is no reader '%s'", word);
	reader.ring = (struct ring *)bench->board + index;
	if (open_landing(&reader) || bench_child_ready())
		return -1;
	return read_all(&reader, message.numbers[0], take_bare) ||
			read_all(&reader, message.numbers[0], take_slices)
		? -1
		: 0;
}
