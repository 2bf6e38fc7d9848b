/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_sync_cost.c - what the calls cost that give streams something to do, and what it costs to make a page known
 *
 * Signals go to a stream that has nothing else to do. Waits are for values that are submitted and not yet reached, as the
 * waits of a program mostly are: another stream is to signal them, and waits for a gate to be opened. Streams are empty
 * again before the next batch, so none of them is ever full.
 */
#include "bench_sync.h"

#define CALLS 64 /* of a batch */

static double enqueue_goal(double floor_p50)
{
	return floor_p50 * 1.5;
}

static uint64_t per_call(uint64_t start)
{
	return (link_now_ns() - start) / CALLS;
}

/* Streams that wait, beside those of the side that signal. */
struct waiters {
	struct sync_pair *pair;
	ww_stream *stream;
	struct raw_stream *raw_stream;
};

/* --- signals --- */

static int ours_signals(struct sync_pair *pair, uint64_t *out_ns)
{
	struct sync_side *side = &pair->side;
	uint64_t start = link_now_ns();

	for (int i = 0; i < CALLS; i++) {
		if (ww_timeline_stream_signal(side->own[SYNC_STREAM], side->stream,
			    ++pair->value) != WW_OK)
			return complain_record("a stream cannot signal");
	}
	*out_ns = per_call(start);
	return sync_expect(ww_stream_synchronize(side->stream), "cannot wait for a stream");
}

static int raw_signals(struct sync_pair *pair, uint64_t *out_ns)
{
	struct sync_side *side = &pair->side;
	uint64_t start = link_now_ns();

	for (int i = 0; i < CALLS; i++) {
		if (side->raw->ops->stream_write(side->raw, side->raw_stream, &side->own_page,
			    RAW_WORD_STREAM, ++pair->value))
			return -1;
	}
	*out_ns = per_call(start);
	return side->raw->ops->stream_synchronize(side->raw, side->raw_stream);
}

static int signals(void *context, enum bench_way way, uint64_t *out_ns)
{
	const struct waiters *waiters = context;

	return way == BENCH_RAW ? raw_signals(waiters->pair, out_ns)
				: ours_signals(waiters->pair, out_ns);
}

/* --- waits --- */

/* Has the side's stream signal so many values, but not before the gate is open. */
static int ours_prepare(struct sync_pair *pair, uint64_t gate, uint64_t value)
{
	struct sync_side *side = &pair->side;

	if (sync_expect(ww_timeline_stream_wait(side->own[SYNC_CPU], side->stream, gate,
				WW_WAIT_UNSUBMITTED, 0),
		    "a stream cannot wait"))
		return -1;
	for (int i = 0; i < CALLS; i++) {
		if (ww_timeline_stream_signal(side->own[SYNC_STREAM], side->stream, ++value) !=
			WW_OK)
			return complain_record("a stream cannot signal");
	}
	return 0;
}

static int ours_waits(const struct waiters *waiters, uint64_t *out_ns)
{
	struct sync_pair *pair = waiters->pair;
	struct sync_side *side = &pair->side;
	uint64_t gate = ++pair->value;
	int result = ours_prepare(pair, gate, gate);
	uint64_t start = link_now_ns();

	for (int i = 0; i < CALLS && !result; i++)
		result = sync_expect(ww_timeline_stream_wait(side->own[SYNC_STREAM],
					     waiters->stream, ++pair->value, 0, 0),
			"a stream cannot wait");
	*out_ns = per_call(start);
	if (sync_expect(ww_timeline_signal(side->own[SYNC_CPU], gate), "cannot signal") || result)
		return -1;
	if (sync_expect(ww_stream_synchronize(waiters->stream), "cannot wait for a stream"))
		return -1;
	return sync_expect(ww_stream_synchronize(side->stream), "cannot wait for a stream");
}

static int raw_prepare(struct sync_pair *pair, uint64_t gate, uint64_t value)
{
	struct sync_side *side = &pair->side;
	const struct raw_ops *ops = side->raw->ops;

	if (ops->stream_wait(side->raw, side->raw_stream, &side->own_page, RAW_WORD_GATE, gate))
		return -1;
	for (int i = 0; i < CALLS; i++) {
		if (ops->stream_write(side->raw, side->raw_stream, &side->own_page, RAW_WORD_STREAM,
			    ++value))
			return -1;
	}
	return 0;
}

static int raw_waits(const struct waiters *waiters, uint64_t *out_ns)
{
	struct sync_pair *pair = waiters->pair;
	struct sync_side *side = &pair->side;
	const struct raw_ops *ops = side->raw->ops;
	uint64_t gate = ++pair->value;
	int result = raw_prepare(pair, gate, gate);
	uint64_t start = link_now_ns();

	for (int i = 0; i < CALLS && !result; i++)
		result = ops->stream_wait(side->raw, waiters->raw_stream, &side->own_page,
			RAW_WORD_STREAM, ++pair->value);
	*out_ns = per_call(start);
	raw_word_store(&side->own_page, RAW_WORD_GATE, gate);
	raw_word_wake(&side->own_page, RAW_WORD_GATE);
	if (result || ops->stream_synchronize(side->raw, waiters->raw_stream))
		return -1;
	return ops->stream_synchronize(side->raw, side->raw_stream);
}

static int waits(void *context, enum bench_way way, uint64_t *out_ns)
{
	return way == BENCH_RAW ? raw_waits(context, out_ns) : ours_waits(context, out_ns);
}

/* --- a page --- */

static int ours_page(struct sync_side *side, uint64_t *out_ns)
{
	const struct ww_timeline_params params = {.size = sizeof(params),
		.flags = WW_TIMELINE_ALONE};
	uint64_t start = link_now_ns();
	ww_timeline *timeline = NULL;
	int result;

	if (sync_expect(ww_timeline_create(&params, &timeline), "cannot make a timeline"))
		return -1;
	result = sync_expect(ww_timeline_prepare(timeline, side->device),
		"cannot make a timeline known to the device");
	*out_ns = link_now_ns() - start;
	ww_timeline_unref(timeline);
	return result;
}

static int raw_page(struct sync_side *side, uint64_t *out_ns)
{
	struct raw_page page = RAW_PAGE_NONE;
	uint64_t start = link_now_ns();
	int result = raw_page_create(side->raw, &page);

	*out_ns = link_now_ns() - start;
	raw_page_close(side->raw, &page);
	return result;
}

static int page(void *context, enum bench_way way, uint64_t *out_ns)
{
	struct sync_pair *pair = context;

	return way == BENCH_RAW ? raw_page(&pair->side, out_ns) : ours_page(&pair->side, out_ns);
}

static int measure(struct bench *bench, const char *name, const char *unit, bench_turn turn,
	void *context, bench_goal *goal)
{
	struct samples samples[BENCH_WAYS] = {{0}, {0}};
	int result = bench_measure(bench, turn, context, samples);

	if (!result)
		result = sync_add(bench, name, unit, &samples[BENCH_OURS], &samples[BENCH_RAW],
			goal);
	samples_fini(&samples[BENCH_OURS]);
	samples_fini(&samples[BENCH_RAW]);
	return result;
}

int sync_enqueue(struct sync_pair *pair)
{
	struct bench *bench = pair->bench;
	struct sync_side *side = &pair->side;
	struct waiters waiters = {.pair = pair};
	bench_goal *goal = bench->info.backend == WW_BACKEND_CUDA ? enqueue_goal : NULL;
	int result;

	if (sync_expect(ww_stream_create(side->device, &waiters.stream), "cannot make a stream"))
		return -1;
	if (side->raw->ops->stream_create(side->raw, &waiters.raw_stream)) {
		ww_stream_unref(waiters.stream);
		return -1;
	}
	result = measure(bench, "enqueue.signal", "ns", signals, &waiters, goal);
	if (!result)
		result = measure(bench, "enqueue.wait", "ns", waits, &waiters, goal);
	side->raw->ops->stream_free(side->raw, waiters.raw_stream);
	ww_stream_unref(waiters.stream);
	return result;
}

int sync_register(struct sync_pair *pair)
{
	return measure(pair->bench, "register", "us", page, pair, NULL);
}
