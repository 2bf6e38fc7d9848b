/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel_turn.c - a frame goes to another process, and one comes back
 *
 * Each of two processes is the producer of one channel and the consumer of the other one. A round
 * is a frame each way, so one way is half of it. There are four kinds of rounds:
 *
 *   - By the CPU: heads are written and checked. A process answers a frame before it releases it.
 *     The floor is the same by hand: a head in shared memory, and a word that says it is there.
 *   - By the CPU, the same beside that word alone, with no head.
 *   - By streams, from publish to receive: the CPUs enqueue a batch of rounds as fast as they can,
 *     and the streams take turns by themselves. The slots are acquired before the batch and
 *     released after it.
 *   - By streams, a cycle: as above, and each frame is released and the next slot acquired within
 *     its round, so that the streams also do that work.
 *
 * Words in shared memory are looked at all the time. The floor of streams is two words, by bare
 * stores and waits.
 */
#include "bench/channel.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "bench/sync.h"

#define ROUNDS     1000 /* of a batch */
#define QUICK_PART 10
#define SLOTS      64 /* and the rounds of a batch that holds all its frames */

const enum channel_rounds_kind channel_rounds_kinds[CHANNEL_ROUNDS_KINDS] = {CHANNEL_ROUNDS_CPU,
	CHANNEL_ROUNDS_WORD, CHANNEL_ROUNDS_STREAM, CHANNEL_ROUNDS_CYCLE};

/* What one of the two stores. */
struct turn_message {
	struct mailbox_word word;
	_Alignas(128) uint64_t head[CHANNEL_HEAD];
};

struct turn_board {
	struct turn_message of[2];
};

_Static_assert(sizeof(struct turn_board) <= CHANNEL_BOARD_BYTES, "the board has room");

/* One of the two processes. */
struct turner {
	unsigned int index; /* 0: the bench's own */
	int socket;         /* of the other one */
	ww_channel *out[CHANNEL_ROUNDS_KINDS];
	ww_channel *in[CHANNEL_ROUNDS_KINDS];
	struct ww_frame acquired[SLOTS]; /* the last one is published next */
	struct ww_frame received[SLOTS]; /* not released yet */
	unsigned int acquired_count;
	unsigned int received_count;
	struct sync_side side; /* for the floor of streams */
};

static struct turner own = {.side = SYNC_SIDE_NONE};
static struct child partner = CHILD_NONE;

/* --- steps --- */

/* Takes a frame, and then sends one. @taken, @sent: their numbers, which are values; 0: none */
typedef int step(struct bench *bench, struct turner *turner, enum channel_rounds_kind kind,
	uint64_t taken, uint64_t sent);

static bool is_by_cpu(enum channel_rounds_kind kind)
{
	return kind == CHANNEL_ROUNDS_CPU || kind == CHANNEL_ROUNDS_WORD;
}

/* Whose order the frames of a kind keep; NULL: the CPU's. */
static ww_stream *stream_of(const struct bench *bench, enum channel_rounds_kind kind)
{
	return is_by_cpu(kind) ? NULL : bench->stream;
}

static int slot_acquire(struct bench *bench, struct turner *turner, enum channel_rounds_kind kind)
{
	struct ww_frame *frame = &turner->acquired[turner->acquired_count];

	*frame = WW_INIT(struct ww_frame);
	if (bench_expect(ww_channel_acquire(turner->out[kind], stream_of(bench, kind),
				 BENCH_ANSWER_NS, NULL, frame),
		    "cannot acquire a slot"))
		return -1;
	turner->acquired_count++;
	return 0;
}

static int frame_publish(struct bench *bench, struct turner *turner, enum channel_rounds_kind kind,
	uint64_t value)
{
	struct ww_frame *frame = &turner->acquired[--turner->acquired_count];

	if (is_by_cpu(kind))
		channel_head_make(frame->host_pointer, value);
	return bench_expect(ww_channel_publish(turner->out[kind], frame, stream_of(bench, kind)),
		"cannot publish a frame");
}

static int frame_receive(struct bench *bench, struct turner *turner, enum channel_rounds_kind kind,
	uint64_t value)
{
	struct ww_frame *frame = &turner->received[turner->received_count];

	*frame = WW_INIT(struct ww_frame);
	if (bench_expect(ww_channel_receive(turner->in[kind], stream_of(bench, kind),
				 BENCH_ANSWER_NS, NULL, frame),
		    "cannot receive a frame"))
		return -1;
	turner->received_count++;
	if (is_by_cpu(kind) ? !channel_head_is(frame->host_pointer, value) : frame->number != value)
		return complain("a frame is not what was sent");
	return 0;
}

static int frame_release(struct bench *bench, struct turner *turner, enum channel_rounds_kind kind)
{
	return bench_expect(ww_channel_release(turner->in[kind],
				    &turner->received[--turner->received_count],
				    stream_of(bench, kind)),
		"cannot release a frame");
}

static int channel_step(struct bench *bench, struct turner *turner, enum channel_rounds_kind kind,
	uint64_t taken, uint64_t sent)
{
	if ((taken && frame_receive(bench, turner, kind, taken)) ||
		(sent && frame_publish(bench, turner, kind, sent)))
		return -1;
	if (kind == CHANNEL_ROUNDS_STREAM)
		return 0;
	if (taken && frame_release(bench, turner, kind))
		return -1;
	return sent ? slot_acquire(bench, turner, kind) : 0;
}

static int word_step(struct bench *bench, struct turner *turner, enum channel_rounds_kind kind,
	uint64_t taken, uint64_t sent)
{
	struct turn_board *board = bench->board;
	struct turn_message *out = &board->of[turner->index];
	const struct turn_message *in = &board->of[!turner->index];
	bool has_head = kind == CHANNEL_ROUNDS_CPU;

	if (taken && mailbox_await(&in->word, taken, turner->socket))
		return -1;
	if (taken && has_head && !channel_head_is(in->head, taken))
		return complain("a head is not what was sent");
	if (sent && has_head)
		channel_head_make(out->head, sent);
	if (sent)
		mailbox_store(&out->word, sent);
	return 0;
}

static int raw_stream_step(struct bench *bench, struct turner *turner,
	enum channel_rounds_kind kind, uint64_t taken, uint64_t sent)
{
	struct sync_side *side = &turner->side;
	const struct raw_ops *ops = bench->raw->ops;

	(void)kind;
	if (taken &&
		ops->stream_wait(bench->raw, side->raw_stream, &side->peers_page, RAW_WORD_STREAM,
			taken))
		return -1;
	return sent ? ops->stream_write(bench->raw, side->raw_stream, &side->own_page,
			      RAW_WORD_STREAM, sent)
		    : 0;
}

/* --- rounds --- */

/*
 * Moves a process to a CPU that the other one does not use, and lets it go on wherever it may run.
 * The message that starts a batch has often woken one on the CPU of the other: then each round
 * would take two changes of processes, whatever the way is. With one CPU it does nothing.
 */
static void move_apart(const struct turner *turner)
{
	unsigned int skip = turner->index;
	cpu_set_t all;
	cpu_set_t one;

	if (sched_getaffinity(0, sizeof(all), &all) || CPU_COUNT(&all) < 2)
		return;
	CPU_ZERO(&one);
	for (size_t cpu = 0; CPU_COUNT(&one) == 0; cpu++) {
		if (CPU_ISSET(cpu, &all) && skip-- == 0)
			CPU_SET(cpu, &one);
	}
	if (sched_setaffinity(0, sizeof(one), &one) == 0)
		sched_setaffinity(0, sizeof(all), &all);
}

static int settle(struct bench *bench, struct turner *turner)
{
	if (bench->way == BENCH_RAW)
		return bench->raw->ops->stream_synchronize(bench->raw, turner->side.raw_stream);
	return bench_stream_finish(bench->stream);
}

/* Before the time counts: the slots of the batch, or of its first round. */
static int batch_begin(struct bench *bench, struct turner *turner, enum channel_rounds_kind kind,
	uint64_t count)
{
	if (bench->way == BENCH_RAW)
		return 0;
	for (uint64_t i = 0; i < (kind == CHANNEL_ROUNDS_STREAM ? count : 1); i++) {
		if (slot_acquire(bench, turner, kind))
			return -1;
	}
	return is_by_cpu(kind) ? 0 : bench_stream_finish(bench->stream);
}

/* Afterwards: what the process still has. */
static int batch_end(struct bench *bench, struct turner *turner, enum channel_rounds_kind kind)
{
	while (turner->received_count > 0) {
		if (frame_release(bench, turner, kind))
			return -1;
	}
	while (turner->acquired_count > 0) {
		struct ww_frame *frame = &turner->acquired[--turner->acquired_count];

		if (bench_expect(ww_channel_discard(turner->out[kind], frame,
					 stream_of(bench, kind)),
			    "cannot discard a slot"))
			return -1;
	}
	return is_by_cpu(kind) ? 0 : bench_stream_finish(bench->stream);
}

/* One process's part of a batch. Values go on from way to way, but a channel counts its own. */
static int batch_run(struct bench *bench, struct turner *turner, enum channel_rounds_kind kind,
	uint64_t first, uint64_t count)
{
	step *const run = bench->way != BENCH_RAW ? channel_step
		: is_by_cpu(kind)                 ? word_step
						  : raw_stream_step;
	bool is_first = turner->index == 0; /* sends the first frame, and takes the last one */

	for (uint64_t value = first; value < first + count; value++) {
		uint64_t taken = !is_first ? value : value == first ? 0 : value - 1;

		if (run(bench, turner, kind, taken, value))
			return -1;
	}
	if (is_first && run(bench, turner, kind, first + count - 1, 0))
		return -1;
	return is_by_cpu(kind) ? 0 : settle(bench, turner);
}

static uint64_t values[CHANNEL_ROUNDS_KINDS][2]; /* by kind and way: of the last round */

int channel_rounds(struct bench *bench, uint64_t out_ns[])
{
	const enum channel_rounds_kind kind = *(const enum channel_rounds_kind *)bench->context;
	uint64_t most = bench->quick ? ROUNDS / QUICK_PART : ROUNDS;
	uint64_t count = kind == CHANNEL_ROUNDS_STREAM ? SLOTS : most;
	uint64_t *value = &values[kind][bench->way];
	struct link_message message = {
		.kind = LINK_GO,
		.numbers = {kind, bench->way, *value + 1, count},
	};
	uint64_t at;
	int result;

	if (child_send(&partner, &message, -1) || batch_begin(bench, &own, kind, count) ||
		child_receive(&partner, LINK_READY, &message, NULL))
		return -1;
	move_apart(&own);
	if (bench->way == BENCH_RAW && !is_by_cpu(kind))
		sync_guard_begin();
	at = link_now_ns();
	result = batch_run(bench, &own, kind, *value + 1, count);
	out_ns[0] = bench_lap(&at) / count / 2;
	sync_guard_end();
	*value += count;
	if (result || child_receive(&partner, LINK_DONE, &message, NULL))
		return -1;
	return batch_end(bench, &own, kind);
}

/* --- the two processes --- */

static const char *const names[CHANNEL_ROUNDS_KINDS][2] = {
	{"turn/cpu/0", "turn/cpu/1"},
	{"turn/word/0", "turn/word/1"},
	{"turn/stream/0", "turn/stream/1"},
	{"turn/cycle/0", "turn/cycle/1"},
};

static int make_channels(struct bench *bench, struct turner *turner)
{
	struct ww_channel_params params = {
		.struct_size = sizeof(params),
		.slot_bytes = CHANNEL_HEAD * sizeof(uint64_t),
		.slots = SLOTS,
		.consumers_max = 1,
	};

	for (int kind = 0; kind < CHANNEL_ROUNDS_KINDS; kind++) {
		params.kind = is_by_cpu(kind) ? channel_cpu_kind(bench) : 0;
		params.held_max = kind == CHANNEL_ROUNDS_STREAM ? SLOTS : 1;
		if (channel_create(bench, names[kind][turner->index], &params, &turner->out[kind]))
			return -1;
	}
	return 0;
}

static int join_channels(struct bench *bench, struct turner *turner)
{
	for (int kind = 0; kind < CHANNEL_ROUNDS_KINDS; kind++) {
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
	for (int kind = 0; kind < CHANNEL_ROUNDS_KINDS; kind++) {
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
	enum channel_rounds_kind kind;

	if (parent_receive(LINK_GO, &message, NULL))
		return -1;
	if (message.numbers[0] >= CHANNEL_ROUNDS_KINDS || message.numbers[1] > BENCH_RAW)
		return complain("there is no such kind of rounds");
	kind = (enum channel_rounds_kind)message.numbers[0];
	bench->way = (unsigned int)message.numbers[1];
	if (batch_begin(bench, turner, kind, message.numbers[3]))
		return -1;
	move_apart(turner);
	if (bench_child_ready() ||
		batch_run(bench, turner, kind, message.numbers[2], message.numbers[3]))
		return -1;
	message = (struct link_message){.kind = LINK_DONE};
	return parent_send(&message, -1) || batch_end(bench, turner, kind) ? -1 : 0;
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
