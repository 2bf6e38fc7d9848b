/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slice.c - a slice of a pool is handed on by its token
 *
 *   parent                                  taker
 *   pool: one chunk, two slices cut of it
 *   writes a pattern to each
 *   token of the second ------------------> imports it, verifies it, writes -i
 *   sees who holds it; go ----------------> lets go, ends
 *   verifies -i there, and the first slice
 *   as it was; lets go: there is room for
 *   the next one
 *
 * The token travels in an environment variable, as it could in anything.
 */
#include "demo/demo.h"

#include <stdio.h>

static const struct pattern others = {PATTERN_KEYED, 17};
static const struct pattern ours = {PATTERN_COUNT_100, 0};
static const struct pattern theirs = {PATTERN_NEGATIVE, 0};

static void own_pool(ww_pool **pool)
{
	ww_pool_unref(*pool);
}

/* The neighbour is small: the demo needs no more memory for it than for the other steps. */
static uint64_t neighbour_elements(const struct demo *demo)
{
	uint64_t most = WW_POOL_ALIGNMENT / sizeof(float);

	return demo->elements < most ? demo->elements : most;
}

/* What so many elements occupy. */
static uint64_t slice_bytes(uint64_t elements)
{
	uint64_t bytes = elements * sizeof(float);

	return (bytes + WW_POOL_ALIGNMENT - 1) / WW_POOL_ALIGNMENT * WW_POOL_ALIGNMENT;
}

static int make_pool(const struct demo *demo, ww_pool **out_pool)
{
	const struct ww_pool_params params = {
		.struct_size = sizeof(params),
		.chunk_bytes = slice_bytes(neighbour_elements(demo)) + slice_bytes(demo->elements),
	};

	if (ww_pool_create(demo->device, &params, out_pool) != WW_OK)
		return complain_record("cannot make a pool");
	return 0;
}

static int cut(ww_pool *pool, uint64_t elements, ww_memory **out_slice)
{
	if (ww_pool_alloc(pool, elements * sizeof(float), 0, 0, NULL, out_slice) != WW_OK)
		return complain_record("cannot cut a slice");
	return 0;
}

/* The taker has what it was given, and keeps it until it is told to go on. */
static int say_who_holds(ww_pool *pool, const struct child *taker)
{
	struct ww_pool_holder_info holder = WW_INIT(struct ww_pool_holder_info);
	ww_status status = ww_pool_holder_get(pool, 0, &holder);

	if (status < 0)
		return complain_record("cannot ask who holds slices");
	if (status == WW_END || holder.pid != (uint32_t)taker->pid || holder.slice_count != 1)
		return complain("the pool does not know that the taker, pid %d, holds a slice",
			(int)taker->pid);
	say("sees that pid %u (%s) holds %u slice of %llu bytes", holder.pid, holder.program,
		holder.slice_count, (unsigned long long)holder.slice_bytes);
	return 0;
}

int demo_give(const struct demo *demo, ww_memory *memory, ww_pool *pool, struct demo_step *step)
{
	OWN(child) struct child taker = CHILD_NONE;
	struct link_message message;

	if (demo_spawn_with_memory(demo, "taker", memory, WW_ACCESS_WRITE, NULL, &taker) ||
		child_receive(&taker, LINK_READY, &message, NULL) ||
		(pool && say_who_holds(pool, &taker)))
		return -1;
	message = (struct link_message){.kind = LINK_GO};
	if (child_send(&taker, &message, -1) || child_receive(&taker, LINK_DONE, &message, NULL))
		return -1;
	return demo_end(&taker, &message, step);
}

/*
 * Once all have let go of a slice its bytes are there again: where two have room, no second chunk
 * is made.
 */
static int reuse(const struct demo *demo, ww_pool *pool, ww_memory **slice)
{
	struct ww_pool_info info = WW_INIT(struct ww_pool_info);

	*slice = ww_memory_unref(*slice);
	if (cut(pool, demo->elements, slice))
		return -1;
	if (ww_pool_info_get(pool, &info) != WW_OK)
		return complain_record("cannot ask how the pool is");
	if (info.chunk_count != 1 || info.slice_count != 2 || info.waiting_count != 0)
		return complain("the pool has %u chunks, %u slices, %u that wait, after all let go",
			info.chunk_count, info.slice_count, info.waiting_count);
	say("let go of it and cut another one: the pool has one chunk, as before");
	return 0;
}

int demo_slice(const struct demo *demo, struct demo_step *step)
{
	OWN(pool) ww_pool *pool = NULL;
	OWN(memory) ww_memory *neighbour = NULL;
	OWN(memory) ww_memory *slice = NULL;
	struct span span = {.elements = demo->elements};
	struct span beside = span;

	if (make_pool(demo, &pool) || cut(pool, neighbour_elements(demo), &neighbour) ||
		cut(pool, demo->elements, &slice))
		return -1;
	beside.memory = neighbour;
	beside.elements = neighbour_elements(demo);
	span.memory = slice;
	if (span_write(&beside, others) || span_write(&span, ours))
		return -1;
	say("cut a small slice and one of %s out of one chunk, hands the second to a child",
		demo->size_text);
	if (demo_give(demo, slice, pool, step) || demo_see_answer(&span, theirs) ||
		span_verify(&beside, others) || reuse(demo, pool, &slice))
		return -1;
	snprintf(step->shown, sizeof(step->shown),
		"%s of a pool by token, verified and rewritten by a child, reused",
		demo->size_text);
	return 0;
}

/* --- the taker --- */

static const char *kind_name(const struct ww_memory_info *info)
{
	if (info->flags & WW_MEMORY_IS_SLICE)
		return "a slice of a pool";
	if (info->kind == WW_MEMORY_LEGACY)
		return "memory of cuMemAlloc";
	return "memory";
}

/*
 * What the slice and the pointer of CUDA (foreign.c) are handed to: it asks no further what the
 * token names.
 */
int demo_taker(const struct demo_child *child)
{
	struct ww_memory_info info = WW_INIT(struct ww_memory_info);
	OWN(span) struct span span = {.elements = child->elements};
	struct link_message message = {.kind = LINK_READY};
	struct ww_token token;

	if (demo_token(&token))
		return -1;
	if (ww_memory_import(child->device, NULL, &token,
		    WW_PARAMS(struct ww_import_params, .access = WW_ACCESS_WRITE), NULL,
		    &span.memory, NULL) != WW_OK ||
		ww_memory_info_get(span.memory, &info) != WW_OK)
		return complain_record("cannot import what a token names");
	if (span_verify(&span, ours) || span_write(&span, theirs))
		return -1;
	say("got %s by token, %s, from byte %llu of %llu on, route %s; first %.9g, last %.9g: as "
	    "expected; wrote -i",
		child->size_text, kind_name(&info), (unsigned long long)info.offset,
		(unsigned long long)info.total_bytes, demo_route_name(info.route),
		(double)span.first, (double)span.last);
	if (parent_send(&message, -1) || parent_receive(LINK_GO, &message, NULL))
		return -1;
	return demo_child_done(span.memory);
}
