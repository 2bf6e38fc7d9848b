/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_pool_crowd.c - a million slices pass from one process to seven others, every byte of them checked
 *
 * The owner cuts slices of several sizes, fills each with the number of its turn, and drops tokens of them into the rings
 * of the readers, one after the other; it lets go at once, so that a slice lives as long as its token is under way
 * and its reader looks at it. A reader takes what is there, imports it, looks at every byte and lets go. The pool is
 * small, so each place is used again many times: bytes that somebody else has overwritten would show. The floor is the same
 * tokens through the same rings, with nobody looking at what they name.
 *
 * Where the CPU does not reach the memory, streams fill slices and fetch them, a batch at a time.
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench_pool.h"

#define READERS      7
#define RING_LETTERS 512
#define BATCH        128
#define ROOM_BYTES   (UINT64_C(2) << 20) /* less than what the rings can hold */
#define SLICE_UNIT   UINT64_C(256)
#define SLICE_UNITS  4 /* at most, in a slice */
#define SLICE_MOST   (SLICE_UNIT * SLICE_UNITS)
#define RINGS_FD     (LINK_FD + 1)
#define LOOKS        1000 /* before sockets are looked at */

struct letter {
	struct ww_token token;
	uint64_t number;
};

/* From the owner to one reader. */
struct ring {
	struct mail_word pushed;
	struct mail_word taken; /* and let go of */
	struct letter letters[RING_LETTERS];
};

/* What goes through a ring in all. */
struct task {
	uint64_t bare;   /* letters without a slice, first */
	uint64_t slices; /* then */
};

struct crowd {
	struct pool_bench *pools;
	ww_pool *pool;
	struct ring *rings;
	int fd;
	struct child readers[READERS];
	struct task task; /* of each reader */
	uint64_t number;
	uint64_t waits; /* for room */
};

static const uint64_t rings_bytes = READERS * sizeof(struct ring);

static void own_crowd(struct crowd *crowd)
{
	for (int i = 0; i < READERS; i++)
		child_fini(&crowd->readers[i]);
	ww_pool_unref(crowd->pool);
	mail_close(crowd->rings, rings_bytes);
	own_fd(&crowd->fd);
}

/* --- the owner --- */

/* Slices that are filled and not yet handed over, and who gets them. */
struct batch {
	size_t count;
	ww_memory *slices[BATCH];
	uint64_t numbers[BATCH];
};

static void own_batch(struct batch *batch)
{
	while (batch->count > 0)
		ww_memory_unref(batch->slices[--batch->count]);
}

/* Whether a reader is gone before it has taken what is in its ring. */
static bool is_lost(struct crowd *crowd, int reader, uint64_t under_way)
{
	struct ring *ring = &crowd->rings[reader];

	return under_way && mail_is_over(crowd->readers[reader].socket) &&
		mail_load(&ring->taken) < mail_load(&ring->pushed);
}

/* Looks until somebody has taken something out of a ring, or all are empty. */
static int wait_for_progress(struct crowd *crowd)
{
	uint64_t before[READERS];

	for (int i = 0; i < READERS; i++)
		before[i] = mail_load(&crowd->rings[i].taken);
	for (uint64_t looks = 1;; looks++) {
		bool are_empty = true;

		for (int i = 0; i < READERS; i++) {
			uint64_t taken = mail_load(&crowd->rings[i].taken);
			uint64_t under_way = mail_load(&crowd->rings[i].pushed) - taken;

			if (taken != before[i])
				return 0;
			if (looks % LOOKS == 0 && is_lost(crowd, i, under_way))
				return complain("%s is gone", crowd->readers[i].name);
			are_empty = are_empty && !under_way;
		}
		if (are_empty)
			return 0;
		sched_yield();
	}
}

static int fill_slice(const struct crowd *crowd, ww_memory *slice, uint64_t number, uint64_t bytes)
{
	uint32_t *words = ww_memory_host_pointer(slice);

	if (!words) {
		if (ww_stream_fill(crowd->pools->stream, ww_memory_pointer(slice), (uint32_t)number,
			    sizeof(uint32_t), bytes / sizeof(uint32_t)) != WW_OK)
			return complain_record("cannot fill a slice");
		return 0;
	}
	for (uint64_t i = 0; i < bytes / sizeof(uint32_t); i++)
		words[i] = (uint32_t)number;
	return 0;
}

/* One more slice in the batch, filled. Return: 1: there is no room for it just now. */
static int cut(struct crowd *crowd, struct batch *batch)
{
	uint64_t bytes = SLICE_UNIT * (1 + crowd->number % SLICE_UNITS);
	ww_memory *slice;
	ww_status status = ww_pool_alloc(crowd->pool, bytes, 0, &slice);

	if (status == WW_ERR_LIMIT)
		return 1;
	if (status != WW_OK)
		return complain_record("cannot cut a slice");
	batch->slices[batch->count] = slice;
	batch->numbers[batch->count++] = ++crowd->number;
	return fill_slice(crowd, slice, crowd->number, bytes);
}

/* Waits for a place in the ring; the caller writes the letter and pushes it. */
static int find_place(struct crowd *crowd, int reader, struct letter **out_letter)
{
	struct ring *ring = &crowd->rings[reader];
	uint64_t pushed = mail_load(&ring->pushed);

	if (pushed >= RING_LETTERS &&
		mail_await(&ring->taken, pushed - RING_LETTERS + 1, crowd->readers[reader].socket))
		return -1;
	*out_letter = &ring->letters[pushed % RING_LETTERS];
	return 0;
}

static void push(struct crowd *crowd, int reader)
{
	struct ring *ring = &crowd->rings[reader];

	mail_store(&ring->pushed, ring->pushed.value + 1);
}

static int hand_over(struct crowd *crowd, struct batch *batch, int reader)
{
	const struct pool_bench *pools = crowd->pools;
	const struct ww_export_params params = {.size = sizeof(params), .access = WW_ACCESS_READ};

	if (!(pools->bench->info.capabilities & WW_CAP_CPU_ACCESS) &&
		ww_stream_synchronize(pools->stream) != WW_OK)
		return complain_record("cannot wait for a stream");
	for (size_t i = 0; i < batch->count; i++) {
		struct letter *letter;

		if (find_place(crowd, reader, &letter))
			return -1;
		letter->number = batch->numbers[i];
		if (ww_memory_export(batch->slices[i], pools->broker, &params, &letter->token) !=
			WW_OK)
			return complain_record("cannot export a slice");
		push(crowd, reader);
	}
	own_batch(batch);
	return 0;
}

/* Up to a batch for one reader. Return: how many, or -1. */
static int serve(struct crowd *crowd, int reader, uint64_t wanted)
{
	OWN(batch) struct batch batch = {0};
	int count;

	while (batch.count < wanted && batch.count < BATCH) {
		int refused = cut(crowd, &batch);

		if (refused < 0)
			return -1;
		if (refused && batch.count > 0)
			break;
		if (refused && wait_for_progress(crowd))
			return -1;
		crowd->waits += (uint64_t)refused;
	}
	count = (int)batch.count;
	return hand_over(crowd, &batch, reader) ? -1 : count;
}

static int serve_bare(struct crowd *crowd, int reader, uint64_t wanted)
{
	static const struct ww_token token = {.bytes = {1}};
	int count = (int)(wanted < BATCH ? wanted : BATCH);

	for (int i = 0; i < count; i++) {
		struct letter *letter;

		if (find_place(crowd, reader, &letter))
			return -1;
		letter->token = token;
		letter->number = ++crowd->number;
		push(crowd, reader);
	}
	return count;
}

/* Until each reader has got, and taken, @each more. */
static int pass(struct crowd *crowd, uint64_t each,
	int (*serve_one)(struct crowd *crowd, int reader, uint64_t wanted), double *out_us)
{
	uint64_t left[READERS];
	uint64_t start = link_now_ns();
	bool more = true;

	for (int i = 0; i < READERS; i++)
		left[i] = each;
	while (more) {
		more = false;
		for (int i = 0; i < READERS; i++) {
			int count = left[i] ? serve_one(crowd, i, left[i]) : 0;

			if (count < 0)
				return -1;
			left[i] -= (uint64_t)count;
			more = more || left[i];
		}
	}
	for (int i = 0; i < READERS; i++) {
		if (mail_await(&crowd->rings[i].taken, crowd->rings[i].pushed.value,
			    crowd->readers[i].socket))
			return -1;
	}
	*out_us = (double)(link_now_ns() - start) / 1e3 / (double)(each * READERS);
	return 0;
}

/* Processes that hold nothing are no holders, and nothing waits any more. */
static int check_end(struct crowd *crowd)
{
	struct ww_pool_info info = {.size = sizeof(info)};

	if (ww_pool_info_get(crowd->pool, &info) != WW_OK)
		return complain_record("cannot ask how the pool is");
	if (info.slice_count || info.waiting_count)
		return complain("%u slices are left, %u wait", info.slice_count,
			info.waiting_count);
	return 0;
}

static int spawn_readers(struct crowd *crowd)
{
	const struct pool_bench *pools = crowd->pools;

	for (int i = 0; i < READERS; i++) {
		char name[CHILD_NAME_BYTES];
		char index[NUMBER_BYTES];
		const struct child_plan plan = {
			.name = name,
			.arguments = {"bench-child", "pool", "reader", pools->bench->info.selector,
				pools->nest.address, index},
			.fds = {crowd->fd},
			.fd_count = 1,
			.timeout_ns = POOL_ANSWER_NS,
		};
		const struct link_message go = {
			.kind = LINK_GO,
			.numbers = {crowd->task.bare, crowd->task.slices},
		};

		snprintf(name, sizeof(name), "reader %d", i);
		snprintf(index, sizeof(index), "%d", i);
		if (child_spawn(&crowd->readers[i], &plan) ||
			child_send(&crowd->readers[i], &go, -1))
			return -1;
	}
	return 0;
}

static int run_crowd(struct crowd *crowd, double *out_us, double *out_floor_us)
{
	struct link_message ready[READERS];

	if (spawn_readers(crowd) ||
		child_group_receive(crowd->readers, READERS, LINK_READY, ready) ||
		pass(crowd, crowd->task.bare, serve_bare, out_floor_us) ||
		pass(crowd, crowd->task.slices, serve, out_us))
		return -1;
	for (int i = 0; i < READERS; i++) {
		if (child_finish(&crowd->readers[i], 0))
			return -1;
	}
	return check_end(crowd);
}

int pool_crowd(struct pool_bench *pools)
{
	uint64_t each = (pools->bench->slices + READERS - 1) / READERS;
	OWN(crowd)
	struct crowd crowd = {
		.pools = pools,
		.fd = -1,
		.task = {.bare = each, .slices = each},
	};
	double floor_us = 0;
	double us = 0;
	void *start = NULL;

	for (int i = 0; i < READERS; i++)
		crowd.readers[i] = (struct child)CHILD_NONE;
	if (pool_create(pools, ROOM_BYTES, &crowd.pool) ||
		mail_create(rings_bytes, &crowd.fd, &start))
		return -1;
	crowd.rings = start;
	if (run_crowd(&crowd, &us, &floor_us))
		return complain("passing slices on failed");
	say("%llu slices over %d processes in %.2f s, %.0f in a second, every byte as expected; "
	    "%llu waits for room",
		(unsigned long long)(each * READERS), READERS + 1,
		us * (double)(each * READERS) / 1e6, 1e6 / us, (unsigned long long)crowd.waits);
	return pool_add_number(pools, "pass", "us", us, floor_us);
}

/* --- a reader --- */

struct reader {
	ww_device *device;
	ww_broker *broker;
	ww_stream *stream;
	ww_memory *landing; /* where slices are fetched to; NULL: the CPU reaches them */
	struct ring *rings;
	struct ring *ring;
	uint64_t taken;
};

static void own_reader(struct reader *reader)
{
	ww_memory_unref(reader->landing);
	ww_stream_unref(reader->stream);
	mail_close(reader->rings, rings_bytes);
	ww_broker_unref(reader->broker);
	ww_device_unref(reader->device);
}

/* What a reader looks at together. */
struct catch
{
	size_t count;
	ww_memory *slices[BATCH];
	uint64_t bytes[BATCH];
	uint64_t numbers[BATCH];
};

static void own_catch(struct catch *catch)
{
	while (catch->count > 0)
		ww_memory_unref(catch->slices[--catch->count]);
}

static int import(const struct reader *reader, const struct letter *letter, struct catch *catch)
{
	struct ww_token token = letter->token;
	struct ww_memory_info info = {.size = sizeof(info)};
	ww_memory *memory;

	if (ww_memory_import(reader->device, reader->broker, &token, WW_ACCESS_READ, &memory,
		    NULL) != WW_OK)
		return complain_record("cannot import a slice");
	catch->numbers[catch->count] = letter->number;
	catch->slices[catch->count++] = memory;
	if (ww_memory_info_get(memory, &info) != WW_OK)
		return complain_record("cannot describe a slice");
	if (info.bytes > SLICE_MOST)
		return complain("a slice has %llu bytes", (unsigned long long)info.bytes);
	catch->bytes[catch->count - 1] = info.bytes;
	return 0;
}

static char *landing_place(const struct reader *reader, size_t index)
{
	return (char *)ww_memory_host_pointer(reader->landing) + index * SLICE_MOST;
}

static int fetch(const struct reader *reader, const struct catch *catch)
{
	for (size_t i = 0; i < catch->count; i++) {
		if (ww_stream_copy(reader->stream, landing_place(reader, i),
			    ww_memory_pointer(catch->slices[i]), catch->bytes[i]) != WW_OK)
			return complain_record("cannot fetch a slice");
	}
	if (ww_stream_synchronize(reader->stream) != WW_OK)
		return complain_record("cannot wait for a stream");
	return 0;
}

static int check(const struct reader *reader, const struct catch *catch, size_t index)
{
	uint32_t number = (uint32_t) catch->numbers[index];
	const uint32_t *words = reader->landing ? (const void *)landing_place(reader, index)
						: ww_memory_host_pointer(catch->slices[index]);

	for (uint64_t i = 0; i < catch->bytes[index] / sizeof(*words); i++) {
		if (words[i] != number)
			return complain("slice %u has %u in word %llu", number, words[i],
				(unsigned long long)i);
	}
	return 0;
}

/* Letters up to @pushed, at most a batch. */
static int take_slices(struct reader *reader, uint64_t pushed)
{
	OWN(catch) struct catch catch = {0};
	uint64_t taken = reader->taken;

	while (taken < pushed && catch.count < BATCH) {
		if (import(reader, &reader->ring->letters[taken++ % RING_LETTERS], &catch))
			return -1;
	}
	if (reader->landing && fetch(reader, &catch))
		return -1;
	for (size_t i = 0; i < catch.count; i++) {
		if (check(reader, &catch, i))
			return -1;
	}
	own_catch(&catch);
	reader->taken = taken;
	return 0;
}

/* All that a bare letter can show is that it has arrived whole. */
static int take_bare(struct reader *reader, uint64_t pushed)
{
	while (reader->taken < pushed) {
		const struct letter *letter =
			&reader->ring->letters[reader->taken++ % RING_LETTERS];
		struct ww_token token = letter->token;

		__asm__ volatile("" : : "r"(&token) : "memory");
		if (token.bytes[0] != 1 || letter->number == 0)
			return complain("a letter is not what was sent");
	}
	return 0;
}

static int read_all(struct reader *reader, uint64_t count,
	int (*take)(struct reader *reader, uint64_t pushed))
{
	uint64_t end = reader->taken + count;

	while (reader->taken < end) {
		uint64_t pushed;

		if (mail_await(&reader->ring->pushed, reader->taken + 1, LINK_FD))
			return -1;
		pushed = mail_load(&reader->ring->pushed);
		if (take(reader, pushed < end ? pushed : end))
			return -1;
		mail_store(&reader->ring->taken, reader->taken);
	}
	return 0;
}

static int open_reader(struct reader *reader, const char *selector, const char *address,
	const char *index)
{
	const struct ww_memory_params params = {
		.size = sizeof(params),
		.kind = WW_MEMORY_HOST,
		.bytes = BATCH * SLICE_MOST,
	};
	struct ww_device_info info = {.size = sizeof(info)};
	uint64_t number = 0;
	void *start = NULL;

	if (!number_parse(index, 0, READERS - 1, &number)) {
		complain("there is no reader '%s'", index);
		return -1;
	}
	if (pool_child_open(selector, address, &reader->device, &reader->broker) ||
		mail_open(RINGS_FD, rings_bytes, &start))
		return -1;
	reader->rings = start;
	reader->ring = &reader->rings[number];
	if (ww_device_info_get(reader->device, &info) != WW_OK)
		return complain_record("cannot describe the device");
	if (info.capabilities & WW_CAP_CPU_ACCESS)
		return 0;
	if (ww_stream_create(reader->device, &reader->stream) != WW_OK ||
		ww_memory_create(reader->device, &params, &reader->landing) != WW_OK)
		return complain_record("cannot make memory to fetch slices to");
	return 0;
}

int pool_role_reader(const char *selector, const char *address, const char *word)
{
	OWN(reader) struct reader reader = {NULL};
	struct link_message message;
	enum link_result result = link_receive(LINK_FD, LINK_GO, &message, NULL, WW_FOREVER);
	uint64_t bare = message.numbers[0];
	uint64_t slices = message.numbers[1];

	if (result != LINK_OK)
		return complain("cannot receive what to do: %s", link_result_text(result));
	if (open_reader(&reader, selector, address, word))
		return -1;
	message.kind = LINK_READY;
	link_send(LINK_FD, &message, -1, WW_FOREVER);
	return read_all(&reader, bare, take_bare) || read_all(&reader, slices, take_slices) ? -1
											    : 0;
}
