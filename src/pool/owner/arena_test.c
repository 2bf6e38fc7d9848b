/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arena_test.c - an arena against a naive map of its chunks, a word for each unit of them
 */
#include "base/unit_test.h"

#include <stdbool.h>

#include "pool/owner/arena.h"

#define UNIT        WW_POOL_ALIGNMENT
#define CHUNK_UNITS 4096
#define CHUNKS      4
#define BLOCKS      600
#define STEPS       100000

/* What the map says of each chunk. */
struct chunk {
	bool is_there;
	uint16_t users[CHUNK_UNITS]; /* 0: free; else a block's place in `taken` and 1 */
};

static struct chunk chunks[CHUNKS];
static struct ww_arena_block *taken[BLOCKS];
static struct ww_arena arena;
static uint64_t random_state;

static uint64_t draw(uint64_t below)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state % below;
}

static struct ww_arena_block *add(void *chunk, uint64_t units)
{
	struct ww_arena_block *block;

	assert_ok(ww_arena_add(&arena, chunk, units * UNIT, &block));
	return block;
}

static struct ww_arena_block *take(uint64_t units)
{
	struct ww_arena_block *block;

	assert_ok(ww_arena_take(&arena, units * UNIT, UNIT, &block));
	assert_int_equal(block->bytes, units * UNIT);
	return block;
}

/* Gives back all blocks of the chunk that this one begins, which is the arena's last. */
static void end_with(struct ww_arena_block *first)
{
	struct ww_arena_block *block = first;

	while (block) {
		if (!block->is_free)
			block = ww_arena_give(&arena, block);
		first = block;
		block = block->after;
	}
	assert_true(ww_arena_is_chunk(first));
	assert_int_equal(ww_arena_free_bytes(&arena), first->bytes);
	ww_arena_remove(&arena, first);
	ww_arena_fini(&arena);
}

/* --- one thing at a time --- */

UNIT_TEST(all_of_a_chunk_fits)
{
	struct ww_arena_block *block;
	struct ww_arena_block *more;

	ww_arena_init(&arena);
	assert_int_equal(ww_arena_largest(&arena), 0);
	assert_int_equal(ww_arena_take(&arena, UNIT, UNIT, &block), WW_NOT_READY);
	assert_null(block);
	add(NULL, 1000003);
	assert_int_equal(ww_arena_largest(&arena), UINT64_C(1000003) * UNIT);
	block = take(1000003);
	assert_int_equal(block->offset, 0);
	assert_int_equal(ww_arena_free_bytes(&arena), 0);
	assert_int_equal(ww_arena_take(&arena, UNIT, UNIT, &more), WW_NOT_READY);
	block = ww_arena_give(&arena, block);
	assert_true(ww_arena_is_chunk(block));
	end_with(block);
}

/* Also if only the last of a hundred free blocks of its class is as large. */
UNIT_TEST(the_largest_is_to_be_had)
{
	struct ww_arena_block *blocks[100];
	struct ww_arena_block *first;
	struct ww_arena_block *block;

	ww_arena_init(&arena);
	add(NULL, UINT64_C(100) * 8101 + 4950);
	for (uint64_t i = 0; i < 100; i++) {
		blocks[i] = take(8100 + i);
		take(1);
	}
	assert_int_equal(ww_arena_free_bytes(&arena), 0);
	for (int i = 99; i >= 0; i--)
		ww_arena_give(&arena, blocks[i]);
	for (uint64_t i = 100; i > 0; i--) {
		assert_int_equal(ww_arena_largest(&arena), (8099 + i) * UNIT);
		assert_int_equal(ww_arena_take(&arena, (8100 + i) * UNIT, UNIT, &block),
			WW_NOT_READY);
		first = take(8099 + i);
	}
	end_with(first);
}

UNIT_TEST(an_aligned_block_leaves_its_front)
{
	struct ww_arena_block *first;
	struct ww_arena_block *block;

	ww_arena_init(&arena);
	add(NULL, 64);
	first = take(1);
	assert_ok(ww_arena_take(&arena, 16 * UNIT, 16 * UNIT, &block));
	assert_int_equal(block->offset, 16 * UNIT);
	assert_int_equal(ww_arena_free_bytes(&arena), 47 * UNIT);
	assert_int_equal(take(15)->offset, 1 * UNIT);
	assert_int_equal(ww_arena_largest(&arena), 32 * UNIT);
	assert_ptr_equal(block->before->before, first);
	assert_int_equal(ww_arena_take(&arena, 32 * UNIT, 64 * UNIT, &block), WW_NOT_READY);
	assert_int_equal(ww_arena_take(&arena, 32 * UNIT, UINT64_C(1) << 63, &block), WW_NOT_READY);
	end_with(first);
}

/* A place at the start of the chunk is aligned as much as anybody wants. */
UNIT_TEST(an_aligned_block_fits_exactly)
{
	struct ww_arena_block *block;

	ww_arena_init(&arena);
	add(NULL, 64);
	assert_ok(ww_arena_take(&arena, 64 * UNIT, UINT64_C(1) << 63, &block));
	end_with(block);
}

/* Chunks of every order of magnitude, wholly and nearly taken. */
UNIT_TEST(sizes_of_all_orders)
{
	random_state = 2;
	for (int bit = 1; bit < 56; bit++) {
		uint64_t units = (UINT64_C(1) << bit) + draw(UINT64_C(1) << (bit - 1));
		struct ww_arena_block *block;

		ww_arena_init(&arena);
		add(NULL, units);
		assert_int_equal(ww_arena_take(&arena, (units + 1) * UNIT, UNIT, &block),
			WW_NOT_READY);
		ww_arena_give(&arena, take(units));
		block = take(units - 1);
		assert_int_equal(ww_arena_largest(&arena), UNIT);
		take(1);
		end_with(block);
	}
}

/* --- a hundred thousand things --- */

static uint16_t *users_of(const struct ww_arena_block *block)
{
	return ((struct chunk *)block->chunk)->users + block->offset / UNIT;
}

/* The block's units are all of this user's; from now on of that one's. */
static void hand_over(const struct ww_arena_block *block, uint16_t from, uint16_t to)
{
	uint16_t *users = users_of(block);

	assert_true(block->offset / UNIT + block->bytes / UNIT <= CHUNK_UNITS);
	for (uint64_t i = 0; i < block->bytes / UNIT; i++) {
		assert_int_equal(users[i], from);
		users[i] = to;
	}
}

/* Units from this place on that nobody uses. */
static uint64_t free_run(const struct chunk *chunk, uint64_t from)
{
	uint64_t end = from;

	while (end < CHUNK_UNITS && !chunk->users[end])
		end++;
	return end - from;
}

/* Whether there is room for that anywhere, by the map. */
static bool has_room(uint64_t units, uint64_t alignment)
{
	for (int c = 0; c < CHUNKS; c++) {
		uint64_t at = 0;

		while (chunks[c].is_there && at < CHUNK_UNITS) {
			uint64_t run = free_run(&chunks[c], at);

			if (run >= units)
				return true;
			at = (at + run + alignment) & -alignment;
		}
	}
	return false;
}

static void compare_numbers(void)
{
	uint64_t largest = 0;
	uint64_t sum = 0;

	for (int c = 0; c < CHUNKS; c++) {
		uint64_t at = 0;

		while (chunks[c].is_there && at < CHUNK_UNITS) {
			uint64_t run = free_run(&chunks[c], at);

			sum += run;
			largest = run > largest ? run : largest;
			at += run ? run : 1;
		}
	}
	assert_int_equal(ww_arena_free_bytes(&arena), sum * UNIT);
	assert_int_equal(ww_arena_largest(&arena), largest * UNIT);
}

static void take_at_random(size_t place)
{
	uint64_t units = 1 + draw(UINT64_C(1) << draw(11));
	uint64_t alignment = draw(4) ? 1 : UINT64_C(1) << draw(13);
	struct ww_arena_block *block;
	ww_status status = ww_arena_take(&arena, units * UNIT, alignment * UNIT, &block);

	assert_int_equal(status, has_room(units, alignment) ? WW_OK : WW_NOT_READY);
	taken[place] = block;
	if (status)
		return;
	assert_int_equal(block->bytes, units * UNIT);
	assert_int_equal(block->offset % (alignment * UNIT), 0);
	hand_over(block, 0, (uint16_t)(place + 1));
}

/* What it becomes a part of is free from one used block to the next. */
static void give(size_t place)
{
	struct ww_arena_block *block = taken[place];
	struct chunk *chunk = block->chunk;

	hand_over(block, (uint16_t)(place + 1), 0);
	taken[place] = NULL;
	block = ww_arena_give(&arena, block);
	assert_ptr_equal(block->chunk, chunk);
	assert_true(block->is_free);
	assert_int_equal(free_run(chunk, block->offset / UNIT) * UNIT, block->bytes);
	assert_true(!block->before || !block->before->is_free);
	assert_true(!block->after || !block->after->is_free);
	assert_int_equal(ww_arena_is_chunk(block), block->bytes == CHUNK_UNITS * UNIT);
	if (ww_arena_is_chunk(block) && draw(2)) {
		ww_arena_remove(&arena, block);
		chunk->is_there = false;
	}
}

static void step(void)
{
	struct chunk *chunk = &chunks[draw(CHUNKS)];
	size_t place = draw(BLOCKS);

	if (!chunk->is_there) {
		add(chunk, CHUNK_UNITS);
		chunk->is_there = true;
	}
	if (taken[place])
		give(place);
	else
		take_at_random(place);
}

UNIT_TEST(random_steps)
{
	random_state = 1;
	ww_arena_init(&arena);
	for (int i = 0; i < STEPS; i++) {
		step();
		if (i % 100 == 0)
			compare_numbers();
		for (size_t place = 0; i % 20000 == 19999 && place < BLOCKS; place++) {
			if (taken[place])
				give(place);
		}
	}
	for (int c = 0; c < CHUNKS; c++) {
		if (chunks[c].is_there)
			ww_arena_remove(&arena, ww_arena_give(&arena, take(CHUNK_UNITS)));
	}
	ww_arena_fini(&arena);
}

UNIT_MAIN("arena")
