/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sync.c - the suite `sync`: how long processes wait for each other
 *
 * A round is: one side signals a value, the other waits for it and signals the same value, the
 * first waits for that. Rounds are measured in batches, since a stream does its own as fast as it
 * can only when it has many: one by the library, one without it, in turns. A sample is a batch's
 * mean. Streams are given all rounds of a batch as fast as they take them, and do them by
 * themselves; only at the end a thread waits for the stream. Between two GPUs each process has one.
 */
#include "bench/sync.h"

#include <stdio.h>
#include <string.h>

#include "common/release_time.h"

#define WITH_EVENTS "events"
#define QUICK_PART  10     /* of a batch's rounds, with --quick */
#define CALLS       64     /* of a batch that measures what calls cost */
#define IDLE_NS     100000 /* longer than any wait spins before it sleeps */

/* The bench's own side, and its child. */
static struct pair {
	struct sync_side side;
	struct child child;

	/* For what calls cost: a second stream, which waits for the first. */
	ww_stream *waiter;
	struct raw_stream *raw_waiter;
} pair = {.side = SYNC_SIDE_NONE, .child = CHILD_NONE};

/* --- to signal, and to wait --- */

/* One side's part of a round, by the way of the turn. */
typedef int step(struct bench *bench, struct sync_side *side, uint64_t value);

static int settle(struct bench *bench, struct sync_side *side)
{
	if (bench->way == BENCH_RAW)
		return bench->raw->ops->stream_synchronize(bench->raw, side->raw_stream);
	return bench_stream_finish(bench->stream);
}

static int stream_signal(struct bench *bench, struct sync_side *side, uint64_t value)
{
	if (bench->way == BENCH_RAW)
		return bench->raw->ops->stream_write(bench->raw, side->raw_stream, &side->own_page,
			RAW_WORD_STREAM, value);
	return bench_expect(ww_timeline_stream_signal(side->own[SYNC_STREAM], bench->stream, value),
		"a stream cannot signal");
}

static int stream_wait(struct bench *bench, struct sync_side *side, uint64_t value)
{
	if (bench->way == BENCH_RAW)
		return bench->raw->ops->stream_wait(bench->raw, side->raw_stream, &side->peers_page,
			RAW_WORD_STREAM, value);
	return bench_expect(ww_timeline_stream_wait(side->peers[SYNC_STREAM], bench->stream, value,
				    0, SYNC_ANSWER_NS, NULL),
		"a stream cannot wait");
}

/*
 * The answer of a CPU is submitted only when it is given, and the stream's wait is to be there
 * before.
 */
static int stream_wait_cpu(struct bench *bench, struct sync_side *side, uint64_t value)
{
	if (bench->way == BENCH_RAW)
		return bench->raw->ops->stream_wait(bench->raw, side->raw_stream, &side->peers_page,
			RAW_WORD_CPU, value);
	return bench_expect(ww_timeline_stream_wait(side->peers[SYNC_CPU], bench->stream, value,
				    WW_WAIT_UNSUBMITTED, SYNC_ANSWER_NS, NULL),
		"a stream cannot wait");
}

static int cpu_signal(struct bench *bench, struct sync_side *side, uint64_t value)
{
	if (bench->way == BENCH_OURS)
		return bench_expect(ww_timeline_signal(side->own[SYNC_CPU], value),
			"cannot signal");
	raw_word_store(&side->own_page, RAW_WORD_CPU, value);
	return 0;
}

static int cpu_signal_wake(struct bench *bench, struct sync_side *side, uint64_t value)
{
	if (cpu_signal(bench, side, value))
		return -1;
	if (bench->way == BENCH_RAW)
		raw_word_wake(&side->own_page, RAW_WORD_CPU);
	return 0;
}

/* To a stream, which sleeps where it is a thread. */
static int cpu_signal_stream(struct bench *bench, struct sync_side *side, uint64_t value)
{
	return bench->raw->ops->has_sleepers ? cpu_signal_wake(bench, side, value)
					     : cpu_signal(bench, side, value);
}

/* After the other side has fallen asleep. */
static int cpu_signal_late(struct bench *bench, struct sync_side *side, uint64_t value)
{
	uint64_t start = link_now_ns();
	uint64_t now;

	do {
		now = link_now_ns();
	} while (now < start + IDLE_NS);
	side->idle_ns += now - start;
	return cpu_signal_wake(bench, side, value);
}

static int ours_cpu_wait(struct sync_side *side, enum sync_line line, uint64_t value)
{
	return bench_expect(ww_timeline_wait(side->peers[line], value, SYNC_ANSWER_NS, NULL),
		"cannot wait");
}

static int cpu_wait(struct bench *bench, struct sync_side *side, uint64_t value)
{
	if (bench->way == BENCH_OURS)
		return ours_cpu_wait(side, SYNC_CPU, value);
	raw_word_spin(&side->peers_page, RAW_WORD_CPU, value);
	return 0;
}

static int cpu_wait_stream(struct bench *bench, struct sync_side *side, uint64_t value)
{
	if (bench->way == BENCH_OURS)
		return ours_cpu_wait(side, SYNC_STREAM, value);
	raw_word_spin(&side->peers_page, RAW_WORD_STREAM, value);
	return 0;
}

static int cpu_wait_asleep(struct bench *bench, struct sync_side *side, uint64_t value)
{
	if (bench->way == BENCH_OURS)
		return ours_cpu_wait(side, SYNC_CPU, value);
	raw_word_await(&side->peers_page, RAW_WORD_CPU, value, 0);
	return 0;
}

/* A word in shared memory says that an event was recorded. */
static int record(struct bench *bench, struct sync_side *side, uint64_t value)
{
	int result = bench->way == BENCH_RAW
		? bench->raw->ops->event_record(bench->raw, &side->own_raw_event, side->raw_stream,
			  value)
		: bench_expect(ww_event_record(side->own_event, bench->stream),
			  "cannot record an event");

	if (!result)
		raw_word_store(&side->own_page, RAW_WORD_CPU, value);
	return result;
}

static int await_record(struct bench *bench, struct sync_side *side, uint64_t value)
{
	int result;

	raw_word_spin(&side->peers_page, RAW_WORD_CPU, value);
	result = bench->way == BENCH_RAW
		? bench->raw->ops->event_wait(bench->raw, &side->peers_raw_event, side->raw_stream,
			  value)
		: bench_expect(ww_event_stream_wait(side->peers_event, bench->stream),
			  "a stream cannot wait for an event");
	return result ? result : settle(bench, side);
}

/*
 * A turn with a kernel ends with a signal of the timeline, or with an event's recording, of which a
 * word tells the other side. The other side's stream waits for it; no CPU waits for a stream before
 * the batch ends.
 */
static int turn_end(struct bench *bench, struct sync_side *side, uint64_t value)
{
	const struct raw_ops *ops = bench->raw->ops;

	if (ops->kernel_launch(bench->raw,
		    bench->way == BENCH_RAW ? ops->stream_native(side->raw_stream)
					    : ww_stream_native(bench->stream)))
		return -1;
	return bench->way == BENCH_RAW ? record(bench, side, value)
				       : stream_signal(bench, side, value);
}

static int turn_begin(struct bench *bench, struct sync_side *side, uint64_t value)
{
	if (bench->way == BENCH_OURS)
		return stream_wait(bench, side, value);
	raw_word_spin(&side->peers_page, RAW_WORD_CPU, value);
	return bench->raw->ops->event_wait(bench->raw, &side->peers_raw_event, side->raw_stream,
		value);
}

/* --- rounds --- */

/* A way to wait for each other. */
static const struct kind {
	uint64_t rounds; /* of a batch, which is timed as a whole */
	bool has_streams;
	step *ask[2]; /* first signals, then waits */
	step *answer[2];
} kinds[] = {
	{1000, true, {stream_signal, stream_wait}, {stream_wait, stream_signal}},
	{200, true, {stream_signal, stream_wait_cpu}, {cpu_wait_stream, cpu_signal_stream}},
	{1000, false, {cpu_signal, cpu_wait}, {cpu_wait, cpu_signal}},
	{20, false, {cpu_signal_late, cpu_wait_asleep}, {cpu_wait_asleep, cpu_signal_late}},
	{20, true, {record, await_record}, {await_record, record}},
	{200, true, {turn_end, turn_begin}, {turn_begin, turn_end}},
};

#define KIND_COUNT (sizeof(kinds) / sizeof(kinds[0]))

/* One side's part of a batch. */
static int batch_run(struct bench *bench, struct sync_side *side, const struct kind *kind,
	step *const steps[2], uint64_t rounds)
{
	side->idle_ns = 0;
	for (uint64_t i = 0; i < rounds; i++) {
		side->value++;
		if (steps[0](bench, side, side->value) || steps[1](bench, side, side->value))
			return -1;
	}
	return kind->has_streams ? settle(bench, side) : 0;
}

/* A batch by both sides. */
static int rounds(struct bench *bench, uint64_t out_ns[])
{
	const struct kind *kind = bench->context;
	uint64_t count = bench->quick ? kind->rounds / QUICK_PART : kind->rounds;
	struct link_message message = {
		.kind = LINK_GO,
		.numbers = {(uint64_t)(kind - kinds), bench->way, pair.side.value, count},
	};
	uint64_t at;
	uint64_t ns;
	int result;

	if (child_send(&pair.child, &message, -1) ||
		child_receive(&pair.child, LINK_READY, &message, NULL))
		return -1;
	if (bench->way == BENCH_RAW)
		sync_guard_begin();
	at = link_now_ns();
	result = batch_run(bench, &pair.side, kind, kind->ask, count);
	ns = bench_lap(&at);
	sync_guard_end();
	if (result || child_receive(&pair.child, LINK_DONE, &message, NULL))
		return -1;
	ns -= pair.side.idle_ns + message.numbers[0];
	out_ns[0] = ns / count;
	return 0;
}

/* --- what calls cost, without the other side --- */

/*
 * Signals go to a stream that has nothing else to do. Streams are empty again before the next
 * batch, so none is ever full.
 */
static int signals(struct bench *bench, uint64_t out_ns[])
{
	struct sync_side *side = &pair.side;
	uint64_t at = link_now_ns();

	for (int i = 0; i < CALLS; i++) {
		if (stream_signal(bench, side, ++side->value))
			return -1;
	}
	out_ns[0] = bench_lap(&at) / CALLS;
	return settle(bench, side);
}

/* The stream waits until the CPU opens the gate. */
static int gate_wait(struct bench *bench, uint64_t value)
{
	struct sync_side *side = &pair.side;

	if (bench->way == BENCH_RAW)
		return bench->raw->ops->stream_wait(bench->raw, side->raw_stream, &side->own_page,
			RAW_WORD_GATE, value);
	return bench_expect(ww_timeline_stream_wait(side->own[SYNC_CPU], bench->stream, value,
				    WW_WAIT_UNSUBMITTED, 0, NULL),
		"a stream cannot wait");
}

static int gate_open(struct bench *bench, uint64_t value)
{
	if (bench->way == BENCH_OURS)
		return cpu_signal(bench, &pair.side, value);
	raw_word_store(&pair.side.own_page, RAW_WORD_GATE, value);
	raw_word_wake(&pair.side.own_page, RAW_WORD_GATE);
	return 0;
}

static int waiter_wait(struct bench *bench, uint64_t value)
{
	struct sync_side *side = &pair.side;

	if (bench->way == BENCH_RAW)
		return bench->raw->ops->stream_wait(bench->raw, pair.raw_waiter, &side->own_page,
			RAW_WORD_STREAM, value);
	return bench_expect(ww_timeline_stream_wait(side->own[SYNC_STREAM], pair.waiter, value, 0,
				    0, NULL),
		"a stream cannot wait");
}

static int waiter_settle(struct bench *bench)
{
	if (bench->way == BENCH_RAW)
		return bench->raw->ops->stream_synchronize(bench->raw, pair.raw_waiter);
	return bench_stream_finish(pair.waiter);
}

/*
 * Waits are for values that are submitted and not yet reached, as the waits of a program mostly
 * are: another stream is to signal them, and waits for the gate.
 */
static int waits(struct bench *bench, uint64_t out_ns[])
{
	struct sync_side *side = &pair.side;
	uint64_t gate = ++side->value;
	uint64_t at;
	int result = gate_wait(bench, gate);

	for (uint64_t i = 1; i <= CALLS && !result; i++)
		result = stream_signal(bench, side, gate + i);
	at = link_now_ns();
	for (int i = 0; i < CALLS && !result; i++)
		result = waiter_wait(bench, ++side->value);
	out_ns[0] = bench_lap(&at) / CALLS;
	if (gate_open(bench, gate) || result || waiter_settle(bench))
		return -1;
	return settle(bench, side);
}

static int open_waiter(struct bench *bench)
{
	if (bench_expect(ww_stream_create(bench->device, &pair.waiter), "cannot make a stream"))
		return -1;
	return bench->raw->ops->stream_create(bench->raw, &pair.raw_waiter);
}

static int close_waiter(struct bench *bench)
{
	if (pair.raw_waiter)
		bench->raw->ops->stream_free(bench->raw, pair.raw_waiter);
	pair.waiter = ww_stream_unref(pair.waiter);
	pair.raw_waiter = NULL;
	return 0;
}

/* A page becomes known to the device. */
static int ours_register(struct bench *bench, uint64_t out_ns[])
{
	const struct ww_timeline_params params = {.struct_size = sizeof(params),
		.flags = WW_TIMELINE_ALONE};
	uint64_t at = link_now_ns();
	OWN(timeline) ww_timeline *timeline = NULL;

	if (bench_expect(ww_timeline_create(&params, &timeline), "cannot make a timeline") ||
		bench_expect(ww_timeline_prepare(timeline, bench->device),
			"cannot make a timeline known to the device"))
		return -1;
	out_ns[0] = bench_lap(&at);
	return 0;
}

static int raw_register(struct bench *bench, uint64_t out_ns[])
{
	struct raw_page page = RAW_PAGE_NONE;
	uint64_t at = link_now_ns();
	int result = raw_page_create(bench->raw, &page);

	out_ns[0] = bench_lap(&at);
	raw_page_close(bench->raw, &page);
	return result;
}

/*
 * --- a signaller is killed, and how long its waiters wait ---
 *
 * One wait on the CPU and one of a stream, both for a value that never comes. Time runs from the
 * kill. The floor is the kernel's report, before which nobody can know. The raw calls have nothing
 * to compare: they wait for ever.
 */

/* The parts of that turn. */
enum {
	RELEASE_CPU,
	RELEASE_STREAM,
	RELEASE_LATE,   /* the later of both, from the kernel's report on */
	RELEASE_REPORT, /* before which nobody can know */
	RELEASE_PARTS
};

static int kill_signaller(struct bench *bench, uint64_t out_ns[])
{
	static uint64_t number;
	OWN(child) struct child victim = CHILD_NONE;
	OWN(timeline) ww_timeline *timeline = NULL;
	OWN(stream) ww_stream *stream = NULL;
	struct release release;
	struct link_message message;
	char name[WW_NAME_BYTES];

	snprintf(name, sizeof(name), "bench/signaller/%llu", (unsigned long long)number++);
	if (bench_spawn(bench, "signaller", NULL, name, &victim) ||
		child_receive(&victim, LINK_READY, &message, NULL) ||
		bench_expect(ww_timeline_get(bench->broker, name, 0, NULL, &timeline),
			"cannot get the timeline") ||
		bench_expect(ww_stream_create(bench->device, &stream), "cannot make a stream") ||
		release_run(timeline, 1, stream, &victim, SYNC_ANSWER_NS, &release))
		return -1;
	out_ns[RELEASE_CPU] = release.cpu_ns;
	out_ns[RELEASE_STREAM] = release.stream_ns;
	out_ns[RELEASE_LATE] = release_delay_ns(&release);
	out_ns[RELEASE_REPORT] = release.report_ns;
	return 0;
}

/* The process that is killed. It connects late, see release_expose(). */
static int role_signaller(struct bench *bench, const char *name)
{
	OWN(stream) ww_stream *stream = NULL;
	OWN(timeline) ww_timeline *timeline = NULL;

	if (bench_expect(ww_stream_create(bench->device, &stream), "cannot make a stream") ||
		bench_expect(ww_timeline_create(NULL, &timeline), "cannot make a timeline") ||
		bench_expect(ww_timeline_prepare(timeline, bench->device),
			"cannot make a timeline known to the device") ||
		bench_connect(bench) ||
		bench_expect(ww_timeline_put(timeline, bench->broker, name, NULL, NULL),
			"cannot name the timeline") ||
		release_expose())
		return -1;
	return bench_child_wait();
}

/* --- the two sides --- */

/* Spawns the partner, with its device; both hand over the descriptor of their page. */
static int open_pair(struct bench *bench, const char *selector)
{
	struct link_message message = {.kind = LINK_MEMORY};
	OWN(fd) int fd = -1;

	pair.side.has_events = !strcmp(selector, bench->info.selector);
	if (bench_spawn(bench, "partner", selector, pair.side.has_events ? WITH_EVENTS : "",
		    &pair.child) ||
		sync_side_open(bench, &pair.side) ||
		child_send(&pair.child, &message, pair.side.own_page.fd) ||
		child_receive(&pair.child, LINK_MEMORY, &message, &fd) ||
		sync_side_meet(bench, &pair.side, fd))
		return -1;
	return child_receive(&pair.child, LINK_READY, &message, NULL);
}

static int open_one(struct bench *bench)
{
	return open_pair(bench, bench->info.selector);
}

/* The partner is idle then, or broken. */
static void close_pair(struct bench *bench)
{
	child_fini(&pair.child);
	sync_side_close(bench, &pair.side);
	pair.child = (struct child)CHILD_NONE;
}

int sync_open_second(struct bench *bench)
{
	close_pair(bench);
	return open_pair(bench, bench->second.selector);
}

int sync_close_second(struct bench *bench)
{
	close_pair(bench);
	return 0;
}

int sync_stream_rounds(struct bench *bench, uint64_t out_ns[])
{
	bench->context = &kinds[0];
	return rounds(bench, out_ns);
}

/* --- the child --- */

static int answer_batch(struct bench *bench, struct sync_side *side)
{
	struct link_message message;
	const struct kind *kind;

	if (parent_receive(LINK_GO, &message, NULL))
		return -1;
	kind = kinds + message.numbers[0];
	if (message.numbers[0] >= KIND_COUNT || message.numbers[1] > BENCH_RAW)
		return complain("there is no such kind of rounds");
	bench->way = (unsigned int)message.numbers[1];
	side->value = message.numbers[2];
	if (bench_child_ready() || batch_run(bench, side, kind, kind->answer, message.numbers[3]))
		return -1;
	message = (struct link_message){.kind = LINK_DONE, .numbers = {side->idle_ns}};
	return parent_send(&message, -1);
}

/* Ends by being killed. */
int sync_role_partner(struct bench *bench, const char *word)
{
	struct sync_side side = SYNC_SIDE_NONE;
	struct link_message message;
	OWN(fd) int fd = -1;

	side.has_events = !strcmp(word, WITH_EVENTS);
	if (parent_receive(LINK_MEMORY, &message, &fd))
		return -1;
	if (sync_side_open(bench, &side) == 0) {
		message.kind = LINK_MEMORY;
		if (parent_send(&message, side.own_page.fd) == 0 &&
			sync_side_meet(bench, &side, fd) == 0 && bench_child_ready() == 0)
			while (answer_batch(bench, &side) == 0)
				;
	}
	sync_side_close(bench, &side);
	return -1;
}

#define FLOOR         .floor = BENCH_SERIES(BENCH_RAW, 0)
#define KIND(kind)    .context = &kinds[kind], .turns = {rounds, rounds}
#define RELEASE(part) BENCH_SERIES(BENCH_OURS, RELEASE_##part)

static const struct bench_case cases[] = {
	{.rows = {{"gpu_gpu", "us", BENCH_GOAL_ROUND_TRIP, FLOOR}}, KIND(0)},
	{.rows = {{"gpu_cpu", "us", FLOOR}}, KIND(1)},
	{.rows = {{"cpu_cpu.spin", "us", FLOOR}}, KIND(2)},
	{.rows = {{"cpu_cpu.sleep", "us", FLOOR}}, KIND(3)},
	{.rows = {{"event", "us", FLOOR}}, KIND(4)},
	{.rows = {{"turn.kernel.one_gpu", "us", FLOOR}}, KIND(5), .needs_kernel = true},
	{.rows = {{"enqueue.signal", "ns", BENCH_GOAL_ENQUEUE, FLOOR}},
		.turns = {signals, signals}},
	{.rows = {{"enqueue.wait", "ns", BENCH_GOAL_ENQUEUE, FLOOR}},
		.turns = {waits, waits},
		.open = open_waiter,
		.close = close_waiter},
	{.rows = {{"register", "us", FLOOR}}, .turns = {ours_register, raw_register}},
	{.rows = {{"release.cpu", "us", .floor = RELEASE(REPORT), .has_samples = true},
		 {"release.stream", "us", .series = RELEASE(STREAM), .floor = RELEASE(REPORT),
			 .has_samples = true},
		 {"release.after_report", "us", .series = RELEASE(LATE), .has_samples = true},
		 {"release.slowest", "us", BENCH_GOAL_RELEASE, .series = RELEASE(LATE),
			 .is_slowest = true}},
		.turns = {kill_signaller},
		.parts = RELEASE_PARTS,
		.is_kill = true},
	{.rows = {{"gpu_gpu.two_gpus", "us", BENCH_GOAL_ROUND_TRIP, FLOOR}},
		KIND(0),
		.is_for_two_gpus = true,
		.open = sync_open_second},
	{.rows = {{"turn.kernel.two_gpus", "us", FLOOR}},
		KIND(5),
		.needs_kernel = true,
		.is_for_two_gpus = true},
};

static const struct bench_role roles[] = {
	{"partner", BENCH_NEED_DEVICE | BENCH_NEED_RAW | BENCH_NEED_BROKER | BENCH_NEED_STREAM,
		sync_role_partner},
	{"signaller", BENCH_NEED_DEVICE, role_signaller},
};

const struct bench_suite bench_sync = {
	.name = "sync",
	.summary = "round trips between processes, cost of calls, ends of signallers",
	.needs = BENCH_NEED_RAW | BENCH_NEED_BROKER | BENCH_NEED_STREAM,
	.capabilities = WW_CAP_STREAM_VALUE,
	.lack = "its streams cannot wait for values in memory",
	BENCH_LIST(roles, roles, role_count),
	BENCH_LIST(cases, cases, case_count),
	.open = open_one,
	.close = close_pair,
};
