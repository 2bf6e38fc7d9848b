/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel_calls.c - what the calls of a channel cost, both sides in one process
 *
 *   size     publishing and receiving large frames, beside small ones: CPU time
 *   slow     one consumer holds a frame all the time, beside one that does not
 *   enqueue  the calls with streams that run behind: all streams wait for a gate, so no frame is
 *            complete when consumers receive it, and the producer comes to slots that they have yet
 *            to release. The floor is as many bare waits and stores.
 */
#include "bench/channel.h"

#include <stdio.h>
#include <time.h>

#define CALLS       64
#define SMALL_BYTES UINT64_C(64)
#define LARGE_BYTES (UINT64_C(64) << 20)
#define LARGE_SLOTS 4

uint32_t channel_cpu_kind(const struct bench *bench)
{
	return bench->info.capabilities & WW_CAP_CPU_ACCESS ? 0 : WW_MEMORY_HOST;
}

int channel_create(struct bench *bench, const char *name, const struct ww_channel_params *params,
	ww_channel **out_channel)
{
	return bench_expect(ww_channel_create(bench->device, bench->broker, name, params, NULL,
				    out_channel),
		"cannot make a channel");
}

int channel_get(struct bench *bench, const char *name, ww_channel **out_channel)
{
	return bench_expect(ww_channel_get(bench->device, bench->broker, name, NULL,
				    BENCH_ANSWER_NS, NULL, out_channel),
		"cannot join a channel");
}

/* --- both sides --- */

/* A channel of this process, and its consumers. */
struct both {
	ww_channel *producer;
	ww_channel *consumers[CHANNEL_CONSUMERS];
	unsigned int count;
};

static void both_close(struct both *both)
{
	for (unsigned int i = 0; i < both->count; i++)
		ww_channel_unref(both->consumers[i]);
	ww_channel_unref(both->producer);
	*both = (struct both){NULL};
}

/* Under a name of its own: a channel that is replaced ends. */
static int both_open(struct bench *bench, struct both *both, const struct ww_channel_params *params,
	unsigned int count)
{
	static unsigned int number;
	char name[32];

	snprintf(name, sizeof(name), "calls/%u", number++);
	if (channel_create(bench, name, params, &both->producer))
		return -1;
	for (; both->count < count; both->count++) {
		if (channel_get(bench, name, &both->consumers[both->count]))
			return -1;
	}
	return 0;
}

static int send_one(struct both *both, ww_stream *stream)
{
	struct ww_frame frame = WW_INIT(struct ww_frame);

	if (bench_expect(ww_channel_acquire(both->producer, stream, BENCH_ANSWER_NS, NULL, &frame),
		    "cannot acquire a slot"))
		return -1;
	return bench_expect(ww_channel_publish(both->producer, &frame, stream),
		"cannot publish a frame");
}

static int receive_one(ww_channel *consumer, ww_stream *stream, struct ww_frame *out_frame)
{
	*out_frame = WW_INIT(struct ww_frame);
	return bench_expect(ww_channel_receive(consumer, stream, BENCH_ANSWER_NS, NULL, out_frame),
		"cannot receive a frame");
}

static int release_one(ww_channel *consumer, ww_stream *stream, const struct ww_frame *frame)
{
	return bench_expect(ww_channel_release(consumer, frame, stream), "cannot release a frame");
}

static int take_one(ww_channel *consumer, ww_stream *stream)
{
	struct ww_frame frame;

	if (receive_one(consumer, stream, &frame))
		return -1;
	return release_one(consumer, stream, &frame);
}

/* --- large frames, and small ones --- */

static struct both sized[2]; /* by way: large, small */

static uint64_t cpu_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

int channel_size_turn(struct bench *bench, uint64_t out_ns[])
{
	struct both *both = &sized[bench->way];
	uint64_t start = cpu_now_ns();

	for (int i = 0; i < CALLS; i++) {
		if (send_one(both, NULL) || take_one(both->consumers[0], NULL))
			return -1;
	}
	out_ns[0] = (cpu_now_ns() - start) / CALLS;
	return 0;
}

int channel_size_open(struct bench *bench)
{
	struct ww_channel_params params = {
		.struct_size = sizeof(params),
		.slot_bytes = LARGE_BYTES,
		.slots = LARGE_SLOTS,
		.consumers_max = 1,
		.flags = WW_PUT_REPLACE,
	};

	if (both_open(bench, &sized[0], &params, 1))
		return -1;
	params.slot_bytes = SMALL_BYTES;
	return both_open(bench, &sized[1], &params, 1);
}

int channel_size_close(struct bench *bench)
{
	(void)bench;
	both_close(&sized[0]);
	both_close(&sized[1]);
	return 0;
}

/* --- a consumer that holds a frame --- */

#define SLOW 1 /* which consumer */

const uint32_t channel_slow_policies[2] = {WW_CHANNEL_DROP_OLDEST, WW_CHANNEL_LATEST};

static struct both dropping;

/* @is_slow: the second one receives nothing meanwhile */
static int pass_frames(bool is_slow, uint64_t *out_ns)
{
	uint64_t at = link_now_ns();

	for (int i = 0; i < CALLS; i++) {
		if (send_one(&dropping, NULL))
			return -1;
	}
	*out_ns = bench_lap(&at) / CALLS;
	return take_one(dropping.consumers[0], NULL) ||
			(!is_slow && take_one(dropping.consumers[SLOW], NULL))
		? -1
		: 0;
}

/* Nobody receives while the producer is measured, so that its own calls alone are. */
int channel_slow_turn(struct bench *bench, uint64_t out_ns[])
{
	ww_channel *slow = dropping.consumers[SLOW];
	struct ww_frame frame;

	if (bench->way == BENCH_RAW)
		return pass_frames(false, &out_ns[0]);
	if (send_one(&dropping, NULL) || receive_one(slow, NULL, &frame) ||
		pass_frames(true, &out_ns[0]))
		return -1;
	return release_one(slow, NULL, &frame);
}

int channel_slow_open(struct bench *bench)
{
	const struct ww_channel_params params = {
		.struct_size = sizeof(params),
		.policy = *(const uint32_t *)bench->context,
		.slot_bytes = SMALL_BYTES,
		.consumers_max = 2,
		.flags = WW_PUT_REPLACE,
	};

	return both_open(bench, &dropping, &params, 2);
}

int channel_slow_close(struct bench *bench)
{
	(void)bench;
	both_close(&dropping);
	return 0;
}

/* --- calls with streams --- */

const unsigned int channel_enqueue_counts[4] = {1, 2, 4, 8};

static struct {
	struct both both;
	ww_stream *streams[CHANNEL_CONSUMERS];
	ww_timeline *gate;
	uint64_t value;
	struct raw_stream *raw_stream;
	struct raw_page raw_page;
	uint64_t raw_value;
} gated = {.raw_page = RAW_PAGE_NONE};

static int stream_gate(ww_stream *stream)
{
	return bench_expect(ww_timeline_stream_wait(gated.gate, stream, gated.value,
				    WW_WAIT_UNSUBMITTED, 0, NULL),
		"a stream cannot wait");
}

static int gate_close(struct bench *bench)
{
	gated.value++;
	for (unsigned int i = 0; i < gated.both.count; i++) {
		if (stream_gate(gated.streams[i]))
			return -1;
	}
	return stream_gate(bench->stream);
}

static int finish_all(struct bench *bench)
{
	if (bench_stream_finish(bench->stream))
		return -1;
	for (unsigned int i = 0; i < gated.both.count; i++) {
		if (bench_stream_finish(gated.streams[i]))
			return -1;
	}
	return 0;
}

static int gate_open(struct bench *bench)
{
	if (bench_expect(ww_timeline_signal(gated.gate, gated.value), "cannot signal"))
		return -1;
	return finish_all(bench);
}

static int send_all(struct bench *bench, uint64_t *out_ns)
{
	uint64_t at = link_now_ns();

	for (int i = 0; i < CALLS; i++) {
		if (send_one(&gated.both, bench->stream))
			return -1;
	}
	*out_ns = bench_lap(&at) / CALLS;
	return 0;
}

/* Those of the first consumer are measured. */
static int take_all(uint64_t *out_ns)
{
	for (unsigned int i = gated.both.count; i-- > 0;) {
		uint64_t at = link_now_ns();

		for (int call = 0; call < CALLS; call++) {
			if (take_one(gated.both.consumers[i], gated.streams[i]))
				return -1;
		}
		*out_ns = bench_lap(&at) / CALLS;
	}
	return 0;
}

/* Waits, and then a store. */
static int raw_calls(struct bench *bench, unsigned int waits, uint64_t *out_ns)
{
	const struct raw_ops *ops = bench->raw->ops;
	uint64_t at = link_now_ns();

	for (int call = 0; call < CALLS; call++) {
		for (unsigned int i = 0; i < waits; i++) {
			if (ops->stream_wait(bench->raw, gated.raw_stream, &gated.raw_page,
				    RAW_WORD_GATE, gated.raw_value))
				return -1;
		}
		if (ops->stream_write(bench->raw, gated.raw_stream, &gated.raw_page,
			    RAW_WORD_STREAM, gated.raw_value))
			return -1;
	}
	*out_ns = bench_lap(&at) / CALLS;
	return 0;
}

static int raw_turn(struct bench *bench, uint64_t out_ns[])
{
	int result;

	gated.raw_value++;
	result = raw_calls(bench, gated.both.count, &out_ns[0]) || raw_calls(bench, 1, &out_ns[1]);
	raw_word_store(&gated.raw_page, RAW_WORD_GATE, gated.raw_value);
	raw_word_wake(&gated.raw_page, RAW_WORD_GATE);
	return bench->raw->ops->stream_synchronize(bench->raw, gated.raw_stream) || result ? -1 : 0;
}

/* All slots are released by streams that wait; then the producer comes to each of them again. */
int channel_enqueue_turn(struct bench *bench, uint64_t out_ns[])
{
	uint64_t first_ns;

	if (bench->way == BENCH_RAW)
		return raw_turn(bench, out_ns);
	if (gate_close(bench) || send_all(bench, &first_ns) || take_all(&out_ns[1]) ||
		send_all(bench, &out_ns[0]) || gate_open(bench))
		return -1;
	return take_all(&first_ns) || finish_all(bench) ? -1 : 0;
}

int channel_enqueue_open(struct bench *bench)
{
	const unsigned int count = *(const unsigned int *)bench->context;
	const struct ww_channel_params params = {
		.struct_size = sizeof(params),
		.slot_bytes = SMALL_BYTES,
		.slots = CALLS,
		.consumers_max = CHANNEL_CONSUMERS,
		.flags = WW_PUT_REPLACE,
	};

	gated.value = 0;
	gated.raw_value = 0;
	if (bench->raw->ops->stream_create(bench->raw, &gated.raw_stream) ||
		raw_page_create(bench->raw, &gated.raw_page))
		return -1;
	if (both_open(bench, &gated.both, &params, count) ||
		bench_expect(ww_timeline_create(NULL, &gated.gate), "cannot make a timeline") ||
		bench_expect(ww_timeline_prepare(gated.gate, bench->device),
			"cannot make a timeline known to the device"))
		return -1;
	for (unsigned int i = 0; i < count; i++) {
		if (bench_expect(ww_stream_create(bench->device, &gated.streams[i]),
			    "cannot make a stream"))
			return -1;
	}
	return 0;
}

/* A turn that failed may have left streams waiting: the gate's end lets them go. */
int channel_enqueue_close(struct bench *bench)
{
	ww_timeline_unref(gated.gate);
	both_close(&gated.both);
	for (int i = 0; i < CHANNEL_CONSUMERS; i++)
		gated.streams[i] = ww_stream_unref(gated.streams[i]);
	gated.gate = NULL;
	if (gated.raw_stream)
		bench->raw->ops->stream_free(bench->raw, gated.raw_stream);
	gated.raw_stream = NULL;
	raw_page_close(bench->raw, &gated.raw_page);
	return 0;
}
