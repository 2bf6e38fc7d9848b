/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sync_signaller.c - the process that signals, and is killed
 *
 * One thread for each style of timeline that is signalled, one for the barrier. All go on until the
 * end, or until the library says that the broker has given this process up.
 *
 * The end of CHILD_SOCKET is what the case takes for the kernel's report. The kernel closes a dead
 * process's descriptors one by one, and those of a GPU take it milliseconds; so that end is made a
 * neighbour of the broker's connection.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "crash/sync.h"
#include "support/driver.h"
#include "support/packet.h"
#include "sync/timeline.h"

#define GATED_STREAMS 3
#define FREE_STREAMS  2
#define AHEAD         4 /* values that streams are given before they have signalled */
#define BREATH_NS     60000
#define STREAMS       (GATED_STREAMS + FREE_STREAMS)
#define FILL_BYTES    (2 * MIB) /* of memory, for each stream */
#define FILL_GPU      (64 * MIB)

static struct {
	struct board *board;
	uint64_t round;
	uint64_t random;
	bool works;
	bool is_member;
	ww_broker *broker;
	ww_device *device;
	ww_memory *memory;
	ww_stream *streams[STREAMS]; /* the gated ones first */
	ww_timeline *timelines[STYLES];
	ww_timeline *gate;
	ww_barrier *barrier;
} self;

struct said {
	enum style style;
	uint64_t value;
};

static void raise_to(atomic_uint_fast64_t *word, uint64_t value)
{
	uint64_t before = atomic_load(word);

	while (before < value && !atomic_compare_exchange_weak(word, &before, value))
		;
}

/* Called by a stream. */
static void say(void *context)
{
	struct said *said = context;

	raise_to(&self.board->said_by_streams[said->style], said->value);
	free(said);
}

/* Return: whether this process may still signal. */
static bool is_heard(ww_status status)
{
	if (status != WW_OK && status != WW_ERR_PEER_LOST)
		FAIL("the signaller: %s", ww_error_last()->message);
	return status == WW_OK;
}

/* Long work of one of the streams, in its own part of the memory, and then the signal. */
static bool signal_by(uint64_t number, enum style style, uint64_t value)
{
	ww_stream *stream = self.streams[number];
	struct said *said = malloc(sizeof(*said));
	uint64_t bytes = memory_info(self.memory).bytes / STREAMS;
	uint8_t *part = (uint8_t *)ww_memory_pointer(self.memory) + number * bytes;

	MUST(said);
	*said = (struct said){style, value};
	MUST_OK(ww_stream_fill(stream, part, (uint32_t)value, 1, bytes));
	MUST_OK(ww_stream_call(stream, say, said));
	return is_heard(ww_timeline_stream_signal(self.timelines[style], stream, value));
}

static void *signal_by_cpu(void *context)
{
	enum style style = *(const enum style *)context;
	uint64_t random = self.random + style;

	for (uint64_t value = 1;; value++) {
		raise_to(&self.board->said_by_cpu[style], value);
		if (!is_heard(ww_timeline_signal(self.timelines[style], value)))
			return NULL;
		if (draw_from(&random, 4) == 0)
			pause_up_to(&random, BREATH_NS);
	}
}

static void *signal_by_streams(void *unused)
{
	ww_timeline *timeline = self.timelines[STYLE_STREAM];

	(void)unused;
	for (uint64_t value = 1;; value++) {
		if (!signal_by(GATED_STREAMS + value % FREE_STREAMS, STYLE_STREAM, value))
			return NULL;
		if (value > AHEAD &&
			!is_heard(ww_timeline_wait(timeline, value - AHEAD, WW_FOREVER, NULL)))
			return NULL;
	}
}

/* All is enqueued; nothing of it runs before the gate is open. */
static void enqueue_gated(void)
{
	for (int i = 0; i < GATED_STREAMS; i++)
		MUST_OK(ww_timeline_stream_wait(self.gate, self.streams[i], 1, WW_WAIT_UNSUBMITTED,
			0, NULL));
	for (uint64_t value = 1; value <= SYNC_GATED; value++)
		MUST(signal_by(value % GATED_STREAMS, STYLE_GATED, value));
}

static void *pass_barrier(void *unused)
{
	ww_status status = WW_OK;

	(void)unused;
	for (uint64_t round = 1; status == WW_OK; round++) {
		atomic_store(&self.board->rounds, round);
		status = ww_barrier_wait(self.barrier, WW_FOREVER, NULL);
	}
	is_heard(status);
	return NULL;
}

static void start(void *(*run)(void *), void *context)
{
	pthread_t thread;

	MUST(!pthread_create(&thread, NULL, run, context));
	pthread_detach(thread);
}

/* --- beginning --- */

static void make_timeline(enum style style)
{
	const struct ww_timeline_params alone = {.struct_size = sizeof(alone),
		.flags = WW_TIMELINE_ALONE};
	char name[32];

	MUST_OK(ww_timeline_create(style == STYLE_ALONE ? &alone : NULL, &self.timelines[style]));
	if (style == STYLE_ALONE) {
		MUST_OK(ww_timeline_export(self.timelines[style], self.broker, NULL, NULL,
			&self.board->alone));
		return;
	}
	name_timeline(name, self.round, style);
	MUST_OK(ww_timeline_put(self.timelines[style], self.broker, name, NULL, NULL));
}

static void make_all(void)
{
	bool is_gpu = subject_is_cuda() && !fake_get();
	char name[32];

	for (int i = 0; i < STYLES; i++)
		make_timeline((enum style)i);
	name_gate(name, self.round);
	MUST_OK(ww_timeline_get(self.broker, name, 0, NULL, &self.gate));
	if (!self.works)
		return;
	self.memory = memory_make(self.device, WW_MEMORY_VMM,
		STREAMS * (is_gpu ? FILL_GPU : FILL_BYTES));
	for (int i = 0; i < STREAMS; i++)
		self.streams[i] = stream_make(self.device);
}

/* The lowest free number is the next to the connection's. */
static void move_report(void)
{
	MUST_CALL(fcntl(CHILD_SOCKET, F_DUPFD_CLOEXEC, CHILD_CONTROL + 1));
	close(CHILD_SOCKET);
}

static void join_barrier(void)
{
	char name[32];

	if (!self.is_member)
		return;
	name_barrier(name, self.round);
	MUST_OK(ww_barrier_get(self.broker, name, 0, WW_FOREVER, NULL, &self.barrier));
	start(pass_barrier, NULL);
}

static void begin(void)
{
	static const enum style by_cpu[] = {STYLE_CPU, STYLE_ALONE};

	for (size_t i = 0; i < CHECK_COUNT(by_cpu); i++)
		start(signal_by_cpu, (void *)&by_cpu[i]);
	if (self.works)
		start(signal_by_streams, NULL);
}

/* --- what the case may ask for --- */

static bool is_of_broker(int fd)
{
	struct sockaddr_un peer = {0};
	socklen_t length = sizeof(peer);

	return getpeername(fd, (struct sockaddr *)&peer, &length) == 0 &&
		!strcmp(peer.sun_path, getenv("WARPWAY_BROKER"));
}

/* The broker sees this process end, and it does not. */
static void cut(void)
{
	int count = 0;

	for (int fd = 0; fd < 1024; fd++)
		if (is_of_broker(fd))
			count += shutdown(fd, SHUT_RDWR) == 0;
	MUST(count > 0);
	role_tell("cut");
}

/* To whoever is to store where only this process may: to all cells but those of ALONE. */
static void give_page_away(void)
{
	int fd = self.timelines[STYLE_QUIET]->page->cpu->fd;

	packet_send(CHILD_CONTROL, "page", sizeof("page"), &fd, 1);
}

/* role_signaller ROUND SEED works|idles member|alone: signals until it is killed */
ROLE(role_signaller)
{
	char word[CHILD_WORD_BYTES];

	MUST(count == 4);
	program_invocation_short_name = (char *)SYNC_PROGRAM;
	self.board = board_map(false);
	self.round = strtoull(arguments[0], NULL, 10);
	self.random = strtoull(arguments[1], NULL, 10);
	self.works = !strcmp(arguments[2], "works");
	self.is_member = !strcmp(arguments[3], "member");
	self.device = subject_open();
	MUST_OK(broker_open_patient(NULL, &self.broker));
	move_report();
	make_all();
	if (self.works)
		enqueue_gated();
	role_tell("made");
	join_barrier();
	begin();
	role_tell("signalling");
	while (role_hear_any(word)) {
		if (!strcmp(word, "cut"))
			cut();
		else if (!strcmp(word, "page"))
			give_page_away();
	}
}
