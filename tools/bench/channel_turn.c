/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel_turn.c - a frame goes to another process, and one comes back
 *
 * Each of two processes is the producer of one channel and the consumer of the other one. A round
 * is a frame each way, so one way is half of it. By the CPU, heads are written and checked; by
 * streams, the CPUs enqueue a batch of rounds as fast as they can, and the streams take turns by
 * themselves. The floor is two words: in shared memory that both look at all the time, and by bare
 * stores and waits of streams.
 */
#include "bench/channel.h"

#include <stdio.h>
#include <string.h>

#include "bench/sync.h"

#define ROUNDS     1000 /* of a batch */
#define QUICK_PART 10
#define SLOTS      64

const enum channel_rounds_kind channel_rounds_kinds[2] = {CHANNEL_ROUNDS_CPU,
	CHANNEL_ROUNDS_STREAM};

/* Words of the board, one for each of the two. */
struct turn_board {
	struct mailbox_word words[2];
};

/* One of the two processes. */
struct turner {
	unsigned int index; /* 0: the bench's own */
	int socket;         /* of the other one */
	ww_channel *out[2]; /* by kind; of the second there is one */
	ww_channel *in[2];
	struct sync_side side; /* for the floor of streams */
	uint64_t value;        /* of the last round */
};

static struct turner own = {.side = SYNC_SIDE_NONE};
static struct child partner = CHILD_NONE;

/* --- steps --- */

typedef int step(struct bench *bench, struct turner *turner, uint64_t value);

static int cpu_send(struct bench *bench, struct turner *turner, uint64_t value)
{
	struct ww_frame frame = WW_INIT(struct ww_frame);
	ww_channel *out = turner->out[CHANNEL_ROUNDS_CPU];

	(void)bench;
	if (bench_expect(ww_channel_acquire(out, NULL, BENCH_ANSWER_NS, NULL, &frame),
		    "cannot acquire a slot"))
		return -1;
	channel_head_make(frame.host_pointer, value);
	return bench_expect(ww_channel_publish(out, &frame, NULL), "cannot publish a frame");
}

static int cpu_take(struct bench *bench, struct turner *turner, uint64_t value)
{
	struct ww_frame frame = WW_INIT(struct ww_frame);
	ww_channel *in = turner->in[CHANNEL_ROUNDS_CPU];

	(void)bench;
	if (bench_expect(ww_channel_receive(in, NULL, BENCH_ANSWER_NS, NULL, &frame),
		    "cannot receive a frame"))
		return -1;
	if (!channel_head_is(frame.host_pointer, value))
		return complain("a frame is not what was sent");
	return bench_expect(ww_channel_release(in, &frame, NULL), "cannot release a frame");
}

static int word_send(struct bench *bench, struct turner *turner, uint64_t value)
{
	mailbox_store(&((struct turn_board *)bench->board)->words[turner->index], value);
	return 0;
}

static int word_take(struct bench *bench, struct turner *turner, uint64_t value)
{
	const struct turn_board *board = bench->board;

	return mailbox_await(&board->words[!turner->index], value, turner->socket);
}

static int stream_send(struct bench *bench, struct turner *turner, uint64_t value)
{
	struct ww_frame frame = WW_INIT(struct ww_frame);
	ww_channel *out = turner->out[CHANNEL_ROUNDS_STREAM];

	(void)value;
	if (bench_expect(ww_channel_acquire(out, bench->stream, BENCH_ANSWER_NS, NULL, &frame),
		    "cannot acquire a slot"))
		return -1;
	return bench_expect(ww_channel_publish(out, &frame, bench->stream),
		"cannot publish a frame");
}

static int stream_take(struct bench *bench, struct turner *turner, uint64_t value)
{
	struct ww_frame frame = WW_INIT(struct ww_frame);
	ww_channel *in = turner->in[CHANNEL_ROUNDS_STREAM];

	if (bench_expect(ww_channel_receive(in, bench->stream, BENCH_ANSWER_NS, NULL, &frame),
		    "cannot receive a frame"))
		return -1;
	if (frame.number != value)
		return complain("a frame is not the next one");
	return bench_expect(ww_channel_release(in, &frame, bench->stream),
		"cannot release a frame");
}

static int raw_stream_send(struct bench *bench, struct turner *turner, uint64_t value)
{
	struct sync_side *side = &turner->side;

	return bench->raw->ops->stream_write(bench->raw, side->raw_stream, &side->own_page,
		RAW_WORD_STREAM, value);
}

static int raw_stream_take(struct bench *bench, struct turner *turner, uint64_t value)
{
	struct sync_side *side = &turner->side;

	return bench->raw->ops->stream_wait(bench->raw, side->raw_stream, &side->peers_page,
		RAW_WORD_STREAM, value);
}

/* By kind and way: to send, and to take. */
static step *const steps[2][2][2] = {
	[CHANNEL_ROUNDS_CPU] = {{cpu_send, cpu_take}, {word_send, word_take}},
	[CHANNEL_ROUNDS_STREAM] = {{stream_send, stream_take}, {raw_stream_send, raw_stream_take}},
};

/* --- rounds --- */

static int settle(struct bench *bench, struct turner *turner)
{
	if (bench->way == BENCH_RAW)
		return bench->raw->ops->stream_synchronize(bench->raw, turner->side.raw_stream);
	return bench_stream_finish(bench->stream);
}

/* One process's part of a batch. Values go on from way to way, but a channel counts its own. */
static int batch_run(struct bench *bench, struct turner *turner, enum channel_rounds_kind kind,
	uint64_t first, uint64_t count)
{
	step *const *both = steps[kind][bench->way];

	for (uint64_t value = first; value < first + count; value++) {
		if (both[turner->index](bench, turner, value) ||
			both[!turner->index](bench, turner, value))
			return -1;
	}
	return kind == CHANNEL_ROUNDS_STREAM ? settle(bench, turner) : 0;
}

static uint64_t values[2][2]; /* by kind and way: of the last round */

int channel_rounds(struct bench *bench, uint64_t out_ns[])
{
	const enum channel_rounds_kind kind = *(const enum channel_rounds_kind *)bench->context;
	uint64_t count = bench->quick ? ROUNDS / QUICK_PART : ROUNDS;
	uint64_t *value = &values[kind][bench->way];
	struct link_message message = {
		.kind = LINK_GO,
		.numbers = {kind, bench->way, *value + 1, count},
	};
	uint64_t at;
	int result;

	if (child_send(&partner, &message, -1) ||
		child_receive(&partner, LINK_READY, &message, NULL))
		return -1;
	if (bench->way == BENCH_RAW && kind == CHANNEL_ROUNDS_STREAM)
		sync_guard_begin();
	at = link_now_ns();
	result = batch_run(bench, &own, kind, *value + 1, count);
	out_ns[0] = bench_lap(&at) / count / 2;
	sync_guard_end();
	*value += count;
	return result || child_receive(&partner, LINK_DONE, &message, NULL) ? -1 : 0;
}

/* --- the two processes --- */

static const char *const names[2][2] = {{"turn/cpu/0", "turn/cpu/1"},
	{"turn/stream/0", "turn/stream/1"}};

static int make_channels(struct bench *bench, struct turner *turner)
{
	struct ww_channel_params params = {
		.struct_size = sizeof(params),
		.slot_bytes = CHANNEL_HEAD * sizeof(uint64_t),
		.slots = SLOTS,
		.consumers_max = 1,
		.kind = channel_cpu_kind(bench),
	};

	if (channel_create(bench, names[CHANNEL_ROUNDS_CPU][turner->index], &params,
		    &turner->out[CHANNEL_ROUNDS_CPU]))
		return -1;
	params.kind = 0;
	return channel_create(bench, names[CHANNEL_ROUNDS_STREAM][turner->index], &params,
		&turner->out[CHANNEL_ROUNDS_STREAM]);
}

static int join_channels(struct bench *bench, struct turner *turner)
{
	for (int kind = 0; kind < 2; kind++) {
		if (channel_get(bench, names[kind][!turner->index], &turner->in[kind]))
			return -1;
	}
	return 0;
}

/* @fd: of the other one's page, borrowed */
static int turner_meet(struct bench *bench, struct turner *turner, int fd)
{
	return sync_side_meet(bench, &turner->side, fd) || join_channels(bench, turner) ? -1 : 0;
}

static int turner_open(struct bench *bench, struct turner *turner)
{
	return sync_side_open(bench, &turner->side) || make_channels(bench, turner) ? -1 : 0;
}

static void turner_close(struct bench *bench, struct turner *turner)
{
	for (int kind = 0; kind < 2; kind++) {
		ww_channel_unref(turner->in[kind]);
		ww_channel_unref(turner->out[kind]);
	}
	sync_side_close(bench, &turner->side);
	*turner = (struct turner){.side = SYNC_SIDE_NONE};
}

/* Both hand over the descriptor of their page. */
static int open_pair(struct bench *bench, const char *selector)
{
	struct link_message message = {.kind = LINK_MEMORY};
	OWN(fd) int fd = -1;

	memset(values, 0, sizeof(values));
	memset(bench->board, 0, sizeof(struct turn_board));
	if (bench_spawn(bench, "partner", selector, "", &partner))
		return -1;
	own.socket = partner.socket;
	if (turner_open(bench, &own) || child_send(&partner, &message, own.side.own_page.fd) ||
		child_receive(&partner, LINK_MEMORY, &message, &fd) || turner_meet(bench, &own, fd))
		return -1;
	return child_receive(&partner, LINK_READY, &message, NULL);
}

int channel_turn_open_one(struct bench *bench)
{
	return open_pair(bench, bench->info.selector);
}

int channel_turn_open_two(struct bench *bench)
{
	return open_pair(bench, bench->second.selector);
}

/* The partner is idle then, or broken. */
int channel_turn_close(struct bench *bench)
{
	child_fini(&partner);
	turner_close(bench, &own);
	partner = (struct child)CHILD_NONE;
	return 0;
}

static int answer_batch(struct bench *bench, struct turner *turner)
{
	struct link_message message;

	if (parent_receive(LINK_GO, &message, NULL))
		return -1;
	if (message.numbers[0] > CHANNEL_ROUNDS_STREAM || message.numbers[1] > BENCH_RAW)
		return complain("there is no such kind of rounds");
	bench->way = (unsigned int)message.numbers[1];
	if (bench_child_ready() ||
		batch_run(bench, turner, (enum channel_rounds_kind)message.numbers[0],
			message.numbers[2], message.numbers[3]))
		return -1;
	message = (struct link_message){.kind = LINK_DONE};
	return parent_send(&message, -1);
}

static int answer_all(struct bench *bench, struct turner *turner)
{
	struct link_message message;
	OWN(fd) int fd = -1;

	if (parent_receive(LINK_MEMORY, &message, &fd) || turner_open(bench, turner))
		return -1;
	message.kind = LINK_MEMORY;
	if (parent_send(&message, turner->side.own_page.fd) || turner_meet(bench, turner, fd) ||
		bench_child_ready())
		return -1;
	while (answer_batch(bench, turner) == 0)
		;
	return -1;
}

/* Ends by being killed. */
int channel_role_turner(struct bench *bench, const char *word)
{
	struct turner turner = {.index = 1, .socket = LINK_FD, .side = SYNC_SIDE_NONE};
	int result = answer_all(bench, &turner);

	(void)word;
	turner_close(bench, &turner);
	return result;
}
