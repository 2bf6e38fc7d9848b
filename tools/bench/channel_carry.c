/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel_carry.c - frames from one process to others: how many in a second, and how long each is
 * under way
 *
 * Each way to carry frames (channel_carrier.h) is measured with consumers of its own, each of which
 * checks the head and the number of every frame. For the rate, frames are sent as fast as the way
 * takes them, a batch at a time; a batch ends when all consumers say that they have its last frame.
 * For the latency the next frame is sent when all have the one before, and each consumer says how
 * long after the sender had begun it had it: both read the one monotonic clock.
 *
 *   rate.SIZE.xN[.WAY]     ns for one frame to N consumers
 *   latency.SIZE.xN[.WAY]  us from before it is sent until a consumer has it
 */
#include <stdio.h>
#include <string.h>

#include "bench/channel_carrier.h"

#define BATCH_FRAMES 20000
#define BATCH_BYTES  (UINT64_C(256) << 20) /* of larger frames fewer are a batch */
#define BATCH_LEAST  4
#define BUDGET_PART  8 /* of the time that a case has, for each way */
#define PACED_FACTOR 1000

static const struct size {
	const char *name;
	uint64_t bytes;
	bool is_quick;
} sizes[] = {
	{"64B", 64, true},
	{"4KiB", UINT64_C(4) << 10, false},
	{"1MiB", UINT64_C(1) << 20, true},
	{"64MiB", UINT64_C(64) << 20, false},
};

static const unsigned int counts[] = {1, 2, 4, CHANNEL_CONSUMERS};

#define QUICK_COUNTS  2
#define OTHERS_COUNTS 1 /* the other ways are measured with so many of `counts`, and the last */

_Static_assert(sizeof(struct carry_board) <= CHANNEL_BOARD_BYTES, "the board has room");

#define CARRY_NONE                                       \
	{                                                \
		.fds = {-1, -1, -1, -1, -1, -1, -1, -1}, \
		.theirs =                                \
		{ -1,                                    \
			-1,                              \
			-1,                              \
			-1,                              \
			-1,                              \
			-1,                              \
			-1,                              \
			-1 }                             \
	}

/* --- the sender --- */

struct sender {
	struct carry carry;
	const struct carrier *carrier;
	struct child children[CHANNEL_CONSUMERS];
	uint64_t number; /* of the last frame */
};

static void own_sender(struct sender *sender)
{
	for (unsigned int i = 0; i < CHANNEL_CONSUMERS; i++)
		child_fini(&sender->children[i]);
	sender->carrier->close(&sender->carry);
	for (unsigned int i = 0; i < CHANNEL_CONSUMERS; i++)
		own_fd(&sender->carry.theirs[i]);
}

/* Says who it is, and passes on its end, if it has one. */
static int start_consumer(struct sender *sender, unsigned int index, unsigned int which)
{
	const struct link_message hello = {
		.kind = LINK_GO,
		.numbers = {which, sender->carry.bytes, sender->carry.count,
			sender->carry.theirs[index] >= 0},
	};
	const struct link_message end = {.kind = LINK_MEMORY};
	struct child *child = &sender->children[index];
	int *fd = &sender->carry.theirs[index];
	char word[NUMBER_BYTES];

	snprintf(word, sizeof(word), "%u", index);
	if (bench_spawn(sender->carry.bench, "consumer", NULL, word, child) ||
		child_send(child, &hello, -1) || (*fd >= 0 && child_send(child, &end, *fd)))
		return -1;
	own_fd(fd);
	*fd = -1;
	return 0;
}

static int sender_open(struct sender *sender, unsigned int which)
{
	struct link_message ready[CHANNEL_CONSUMERS];
	struct carry *carry = &sender->carry;

	memset(carry->board, 0, sizeof(*carry->board));
	if (sender->carrier->open_sender(carry))
		return -1;
	for (unsigned int i = 0; i < carry->count; i++) {
		if (start_consumer(sender, i, which))
			return -1;
	}
	if (child_group_receive(sender->children, carry->count, LINK_READY, ready))
		return -1;
	return sender->carrier->await_consumers ? sender->carrier->await_consumers(carry) : 0;
}

static int send_frame(struct sender *sender, bool is_timed, bool asks, bool ends)
{
	uint64_t head[CHANNEL_HEAD];

	channel_head_make(head, ++sender->number);
	head[CHANNEL_HEAD_ASKS] = asks;
	head[CHANNEL_HEAD_ENDS] = ends;
	head[CHANNEL_HEAD_SENT_NS] = is_timed ? link_now_ns() : 0;
	return sender->carrier->send(&sender->carry, head);
}

/* Until all consumers have the last frame. */
static int await_all(struct sender *sender)
{
	for (unsigned int i = 0; i < sender->carry.count; i++) {
		if (mailbox_await(&sender->carry.board->had[i], sender->number,
			    sender->children[i].socket))
			return -1;
	}
	return 0;
}

static int send_batch(struct sender *sender, uint64_t count, struct samples *rate)
{
	uint64_t at = link_now_ns();

	for (uint64_t i = 1; i <= count; i++) {
		if (send_frame(sender, false, i == count, false))
			return -1;
	}
	return await_all(sender) || (rate && samples_add(rate, bench_lap(&at) / count)) ? -1 : 0;
}

static int send_paced(struct sender *sender, struct samples *latency)
{
	const uint64_t *latency_ns = sender->carry.board->latency_ns;

	if (send_frame(sender, true, true, false) || await_all(sender))
		return -1;
	for (unsigned int i = 0; i < sender->carry.count; i++) {
		if (samples_add(latency, latency_ns[i]))
			return -1;
	}
	return 0;
}

static uint64_t batch_frames(const struct sender *sender)
{
	uint64_t count = BATCH_BYTES / sender->carry.bytes;

	if (count > BATCH_FRAMES)
		count = BATCH_FRAMES;
	if (sender->carry.bench->quick)
		count /= 10;
	return count > BATCH_LEAST ? count : BATCH_LEAST;
}

/* What one way was measured to take. */
struct measured {
	struct samples rate;
	struct samples latency;
};

static void own_measured(struct measured *measured)
{
	samples_fini(&measured->rate);
	samples_fini(&measured->latency);
}

static int measure(struct sender *sender, struct measured *measured)
{
	const struct bench *bench = sender->carry.bench;
	uint64_t count = batch_frames(sender);
	struct pace pace;

	if (!sender->carrier->is_paced && send_batch(sender, count, NULL))
		return -1;
	pace_start(&pace, bench->iterations, bench->budget_ns / BUDGET_PART);
	for (uint64_t i = 0; !sender->carrier->is_paced && pace_goes_on(&pace, i); i++) {
		if (send_batch(sender, count, &measured->rate))
			return -1;
	}
	pace_start(&pace, PACED_FACTOR * bench->iterations, bench->budget_ns / BUDGET_PART);
	for (uint64_t i = 0; pace_goes_on(&pace, i); i++) {
		if (send_paced(sender, &measured->latency))
			return -1;
	}
	return send_frame(sender, false, true, true);
}

static int measure_carrier(struct bench *bench, unsigned int which, uint64_t bytes,
	unsigned int count, struct measured *measured)
{
	OWN(sender)
	struct sender sender = {
		.carrier = carriers[which],
		.carry = CARRY_NONE,
	};

	for (unsigned int i = 0; i < CHANNEL_CONSUMERS; i++)
		sender.children[i] = (struct child)CHILD_NONE;
	sender.carry.bench = bench;
	sender.carry.board = bench->board;
	sender.carry.bytes = bytes;
	sender.carry.count = count;
	sender.carry.children = sender.children;
	if (sender_open(&sender, which) || measure(&sender, measured))
		return complain("frames by way of %s failed", carriers[which]->name);
	for (unsigned int i = 0; i < count; i++) {
		if (child_finish(&sender.children[i], 0))
			return -1;
	}
	return 0;
}

/* --- rows --- */

/* "rate.64B.x1", and ".socket" behind it */
static void row_name(char out[BENCH_NAME_BYTES], const char *what, const struct size *size,
	unsigned int count, unsigned int which)
{
	bool is_ours = which == CARRIER_OURS;

	snprintf(out, BENCH_NAME_BYTES, "%s.%s.x%u%s%s", what, size->name, count,
		is_ours ? "" : ".", is_ours ? "" : carriers[which]->name);
}

static enum bench_goal rate_goal(const struct bench *bench, const struct size *size,
	unsigned int count, unsigned int which)
{
	bool is_it = bench->info.backend == WW_BACKEND_HOST && which == CARRIER_OURS &&
		count == 1 && size == &sizes[0];

	return is_it ? BENCH_GOAL_RATE : BENCH_GOAL_NONE;
}

static int add_tail(struct bench *bench, const char *name, struct samples *samples)
{
	char text[BENCH_NAME_BYTES + sizeof(".p99_9")];

	snprintf(text, sizeof(text), "%s.p99_9", name);
	return bench_add_number(bench, text, "us", samples_permille_us(samples, 999), BENCH_NONE,
		BENCH_NONE);
}

static int add_rows(struct bench *bench, const struct size *size, unsigned int count,
	unsigned int which, struct measured *measured, struct measured *floor)
{
	char rate[BENCH_NAME_BYTES];
	char latency[BENCH_NAME_BYTES];
	const struct bench_row rows[] = {
		{rate, "ns", rate_goal(bench, size, count, which)},
		{latency, "us"},
	};

	row_name(rate, "rate", size, count, which);
	row_name(latency, "latency", size, count, which);
	if (measured->rate.count > 0 &&
		bench_add_series(bench, &rows[0], &measured->rate, &floor->rate))
		return -1;
	return bench_add_series(bench, &rows[1], &measured->latency, &floor->latency) ||
			add_tail(bench, latency, &measured->latency)
		? -1
		: 0;
}

static int carry_to(struct bench *bench, const struct size *size, unsigned int count,
	unsigned int ways)
{
	OWN(measured) struct measured floor = {{0}, {0}};

	if (measure_carrier(bench, CARRIER_BARE, size->bytes, count, &floor))
		return -1;
	for (unsigned int which = CARRIER_OURS; which < ways; which++) {
		OWN(measured) struct measured measured = {{0}, {0}};

		if (carriers[which]->is_for_one && count > 1)
			continue;
		if (measure_carrier(bench, which, size->bytes, count, &measured) ||
			add_rows(bench, size, count, which, &measured, &floor))
			return -1;
	}
	return 0;
}

/* With few consumers all ways, and with most; else the channel alone. */
static unsigned int ways_of(const struct bench *bench, size_t place, size_t places)
{
	bool has_all = place < OTHERS_COUNTS || (!bench->quick && place + 1 == places);

	return has_all ? carrier_count : CARRIER_OURS + 1;
}

int channel_carry(struct bench *bench)
{
	size_t places = bench->quick ? QUICK_COUNTS : sizeof(counts) / sizeof(counts[0]);

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		if (bench->quick && !sizes[i].is_quick)
			continue;
		for (size_t place = 0; place < places; place++) {
			if (carry_to(bench, &sizes[i], counts[place],
				    ways_of(bench, place, places)))
				return -1;
		}
	}
	return 0;
}

/* --- a consumer --- */

static void answer(struct carry *carry, const uint64_t head[CHANNEL_HEAD])
{
	uint64_t sent_ns = head[CHANNEL_HEAD_SENT_NS];

	carry->board->latency_ns[carry->index] = sent_ns ? link_now_ns() - sent_ns : 0;
	mailbox_store(&carry->board->had[carry->index], head[CHANNEL_HEAD_NUMBER]);
}

static int receive_all(struct carry *carry, const struct carrier *carrier)
{
	uint64_t head[CHANNEL_HEAD];

	for (uint64_t number = 1;; number++) {
		if (carrier->receive(carry, head))
			return -1;
		if (head[CHANNEL_HEAD_ASKS])
			answer(carry, head);
		if (!channel_head_is(head, number))
			return complain("frame %llu came, %llu was expected, or it is torn",
				(unsigned long long)head[CHANNEL_HEAD_NUMBER],
				(unsigned long long)number);
		if (head[CHANNEL_HEAD_ENDS])
			return 0;
	}
}

static int take_end(struct carry *carry)
{
	struct link_message message;

	return parent_receive(LINK_MEMORY, &message, &carry->fds[0]);
}

static int consume(struct carry *carry, const struct carrier *carrier)
{
	int result = carrier->open_consumer(carry);

	if (!result)
		result = bench_child_ready() || receive_all(carry, carrier) ? -1 : 0;
	carrier->close(carry);
	return result;
}

int channel_role_carried(struct bench *bench, const char *word)
{
	struct carry carry = CARRY_NONE;
	struct link_message message;
	uint64_t index;

	if (!number_parse(word, 0, CHANNEL_CONSUMERS - 1, &index))
		return complain("there is no consumer '%s'", word);
	if (parent_receive(LINK_GO, &message, NULL))
		return -1;
	if (message.numbers[0] >= carrier_count || message.numbers[2] > CHANNEL_CONSUMERS)
		return complain("there is no such way to carry frames");
	carry.bench = bench;
	carry.board = bench->board;
	carry.index = (unsigned int)index;
	carry.bytes = message.numbers[1];
	carry.count = (unsigned int)message.numbers[2];
	return (message.numbers[3] && take_end(&carry)) ||
			consume(&carry, carriers[message.numbers[0]])
		? -1
		: 0;
}
