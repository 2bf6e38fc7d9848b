/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_sync_round.c - the ways in which two processes wait for each other, by the library and without it
 *
 * A round is: one side signals a value, the other waits for it and signals the same value, the first waits for that.
 * Streams are given all rounds of a batch as fast as they take them, and do them by themselves; only at the
 * end somebody waits for the stream.
 */
#include <time.h>

#include "bench_sync.h"

/* Longer than anybody spins before falling asleep. */
#define SLEEPY_NS 100000

/* --- a stream of one process and a stream of the other --- */

static int ours_signal_stream(struct sync_side *side, uint64_t value)
{
	return sync_expect(ww_timeline_stream_signal(side->own[SYNC_STREAM], side->stream, value),
		"a stream cannot signal");
}

static int ours_wait_stream(struct sync_side *side, enum sync_line line, uint64_t value,
	uint64_t flags)
{
	return sync_expect(ww_timeline_stream_wait(side->peers[line], side->stream, value, flags,
				   SYNC_ANSWER_NS),
		"a stream cannot wait");
}

static int raw_signal_stream(struct sync_side *side, uint64_t value)
{
	return side->raw->ops->stream_write(side->raw, side->raw_stream, &side->own_page,
		RAW_WORD_STREAM, value);
}

static int raw_wait_stream(struct sync_side *side, enum raw_word word, uint64_t value)
{
	return side->raw->ops->stream_wait(side->raw, side->raw_stream, &side->peers_page, word,
		value);
}

static int ours_ask_streams(struct sync_side *side, uint64_t value)
{
	return ours_signal_stream(side, value) ? -1 : ours_wait_stream(side, SYNC_STREAM, value, 0);
}

static int ours_answer_streams(struct sync_side *side, uint64_t value)
{
	return ours_wait_stream(side, SYNC_STREAM, value, 0) ? -1 : ours_signal_stream(side, value);
}

static int raw_ask_streams(struct sync_side *side, uint64_t value)
{
	return raw_signal_stream(side, value) ? -1 : raw_wait_stream(side, RAW_WORD_STREAM, value);
}

static int raw_answer_streams(struct sync_side *side, uint64_t value)
{
	return raw_wait_stream(side, RAW_WORD_STREAM, value) ? -1 : raw_signal_stream(side, value);
}

/* --- a stream of one process and the CPU of the other --- */

static int ours_signal(struct sync_side *side, uint64_t value)
{
	return sync_expect(ww_timeline_signal(side->own[SYNC_CPU], value), "cannot signal");
}

static int ours_wait(struct sync_side *side, enum sync_line line, uint64_t value)
{
	return sync_expect(ww_timeline_wait(side->peers[line], value, 0, SYNC_ANSWER_NS),
		"cannot wait");
}

/* The answer of a CPU is submitted only when it is given, and the stream's wait is to be there before. */
static int ours_ask_cpu(struct sync_side *side, uint64_t value)
{
	if (ours_signal_stream(side, value))
		return -1;
	return ours_wait_stream(side, SYNC_CPU, value, WW_WAIT_UNSUBMITTED);
}

static int ours_answer_stream(struct sync_side *side, uint64_t value)
{
	return ours_wait(side, SYNC_STREAM, value) ? -1 : ours_signal(side, value);
}

static int raw_ask_cpu(struct sync_side *side, uint64_t value)
{
	return raw_signal_stream(side, value) ? -1 : raw_wait_stream(side, RAW_WORD_CPU, value);
}

static int raw_answer_stream(struct sync_side *side, uint64_t value)
{
	raw_word_spin(&side->peers_page, RAW_WORD_STREAM, value);
	raw_word_store(&side->own_page, RAW_WORD_CPU, value);
	if (side->raw->ops->has_sleepers)
		raw_word_wake(&side->own_page, RAW_WORD_CPU);
	return 0;
}

/* --- CPU and CPU, looking all the time --- */

static int ours_ask_spin(struct sync_side *side, uint64_t value)
{
	return ours_signal(side, value) ? -1 : ours_wait(side, SYNC_CPU, value);
}

static int ours_answer_spin(struct sync_side *side, uint64_t value)
{
	return ours_wait(side, SYNC_CPU, value) ? -1 : ours_signal(side, value);
}

static int raw_ask_spin(struct sync_side *side, uint64_t value)
{
	raw_word_store(&side->own_page, RAW_WORD_CPU, value);
	raw_word_spin(&side->peers_page, RAW_WORD_CPU, value);
	return 0;
}

static int raw_answer_spin(struct sync_side *side, uint64_t value)
{
	raw_word_spin(&side->peers_page, RAW_WORD_CPU, value);
	raw_word_store(&side->own_page, RAW_WORD_CPU, value);
	return 0;
}

/* --- CPU and CPU, asleep: whoever has the turn lets the other one fall asleep first --- */

static void idle(struct sync_side *side)
{
	uint64_t start = link_now_ns();
	uint64_t now;

	do {
		now = link_now_ns();
	} while (now < start + SLEEPY_NS);
	side->idle_ns += now - start;
}

static void raw_signal_wake(struct sync_side *side, uint64_t value)
{
	raw_word_store(&side->own_page, RAW_WORD_CPU, value);
	raw_word_wake(&side->own_page, RAW_WORD_CPU);
}

static int ours_ask_sleep(struct sync_side *side, uint64_t value)
{
	idle(side);
	return ours_ask_spin(side, value);
}

static int ours_answer_sleep(struct sync_side *side, uint64_t value)
{
	if (ours_wait(side, SYNC_CPU, value))
		return -1;
	idle(side);
	return ours_signal(side, value);
}

static int raw_ask_sleep(struct sync_side *side, uint64_t value)
{
	idle(side);
	raw_signal_wake(side, value);
	raw_word_await(&side->peers_page, RAW_WORD_CPU, value, 0);
	return 0;
}

static int raw_answer_sleep(struct sync_side *side, uint64_t value)
{
	raw_word_await(&side->peers_page, RAW_WORD_CPU, value, 0);
	idle(side);
	raw_signal_wake(side, value);
	return 0;
}

/* --- events: a word in shared memory says that one was recorded --- */

static int ours_record(struct sync_side *side, uint64_t value)
{
	if (sync_expect(ww_event_record(side->own_event, side->stream), "cannot record an event"))
		return -1;
	raw_word_store(&side->own_page, RAW_WORD_CPU, value);
	return 0;
}

static int ours_await_record(struct sync_side *side, uint64_t value)
{
	raw_word_spin(&side->peers_page, RAW_WORD_CPU, value);
	if (sync_expect(ww_event_stream_wait(side->peers_event, side->stream),
		    "a stream cannot wait for an event"))
		return -1;
	return sync_expect(ww_stream_synchronize(side->stream), "cannot wait for a stream");
}

static int raw_record(struct sync_side *side, uint64_t value)
{
	if (side->raw->ops->event_record(side->raw, &side->own_raw_event, side->raw_stream, value))
		return -1;
	raw_word_store(&side->own_page, RAW_WORD_CPU, value);
	return 0;
}

static int raw_await_record(struct sync_side *side, uint64_t value)
{
	raw_word_spin(&side->peers_page, RAW_WORD_CPU, value);
	if (side->raw->ops->event_wait(side->raw, &side->peers_raw_event, side->raw_stream, value))
		return -1;
	return side->raw->ops->stream_synchronize(side->raw, side->raw_stream);
}

static int ours_ask_event(struct sync_side *side, uint64_t value)
{
	return ours_record(side, value) ? -1 : ours_await_record(side, value);
}

static int ours_answer_event(struct sync_side *side, uint64_t value)
{
	return ours_await_record(side, value) ? -1 : ours_record(side, value);
}

static int raw_ask_event(struct sync_side *side, uint64_t value)
{
	return raw_record(side, value) ? -1 : raw_await_record(side, value);
}

static int raw_answer_event(struct sync_side *side, uint64_t value)
{
	return raw_await_record(side, value) ? -1 : raw_record(side, value);
}

const struct sync_kind sync_kinds[] = {
	{"gpu_gpu", 1000, true, true, {ours_ask_streams, raw_ask_streams},
		{ours_answer_streams, raw_answer_streams}},
	{"gpu_cpu", 200, true, false, {ours_ask_cpu, raw_ask_cpu},
		{ours_answer_stream, raw_answer_stream}},
	{"cpu_cpu.spin", 1000, false, false, {ours_ask_spin, raw_ask_spin},
		{ours_answer_spin, raw_answer_spin}},
	{"cpu_cpu.sleep", 20, false, false, {ours_ask_sleep, raw_ask_sleep},
		{ours_answer_sleep, raw_answer_sleep}},
	{"event", 20, true, false, {ours_ask_event, raw_ask_event},
		{ours_answer_event, raw_answer_event}},
};

const size_t sync_kind_count = sizeof(sync_kinds) / sizeof(sync_kinds[0]);

int sync_batch_run(struct sync_side *side, const struct sync_kind *kind, enum bench_way way,
	bool asks, uint64_t value, uint64_t rounds)
{
	int (*run)(struct sync_side * side, uint64_t value) = asks ? kind->ask[way]
								   : kind->answer[way];

	side->idle_ns = 0;
	for (uint64_t i = 0; i < rounds; i++) {
		if (run(side, ++value))
			return -1;
	}
	if (!kind->has_streams)
		return 0;
	if (way == BENCH_RAW)
		return side->raw->ops->stream_synchronize(side->raw, side->raw_stream);
	return sync_expect(ww_stream_synchronize(side->stream), "cannot wait for a stream");
}
