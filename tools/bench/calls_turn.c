/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calls_turn.c - calls beside bare sockets that carry as many bytes to and fro
 *
 * A call that is measured awake follows others at once, so both sides still look for the next one.
 * One that is measured asleep follows a pause in which both sides have gone to sleep.
 */
#include "bench/calls.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MANY_ROUNDS 20
#define RATE_CALLS  2000
#define CHAIN       100
#define PAUSE_NS    5000000 /* far longer than a side looks before it sleeps */
#define FILLED      1

const uint64_t calls_array_bytes[2] = {64, UINT64_C(16) << 20};
const unsigned int calls_many_counts[4] = {1, 4, 16, 64};

/* What a case has open. */
static struct {
	struct child server;
	struct child idle_server;
	struct child crowd;
	struct calls_client clients[CALLS_CLIENTS];
	unsigned int count;
	int sockets[CALLS_CLIENTS]; /* small messages; of the second case: the token, and all */
	unsigned int socket_count;
	struct calls_client idle; /* a client of the service that idle clients have */
	ww_memory *memory;
	struct ww_token token;
	char *buffer; /* as large as the largest message */
} own = {.server = CHILD_NONE, .idle_server = CHILD_NONE, .crowd = CHILD_NONE};

/* --- opening --- */

int calls_start(struct bench *bench, const char *role, const char *word, struct child *out_child)
{
	struct link_message message;

	if (bench_spawn(bench, role, NULL, word, out_child) ||
		child_receive(out_child, LINK_READY, &message, NULL))
		return -1;
	return 0;
}

/* The server echoes messages of so many bytes. */
static int open_socket(uint64_t bytes)
{
	struct link_message message = {.kind = LINK_MEMORY, .numbers = {bytes}};
	int fds[2];
	int result;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds))
		return complain("cannot make a socket: %s", strerror(errno));
	own.sockets[own.socket_count++] = fds[0];
	result = child_send(&own.server, &message, fds[1]);
	close(fds[1]);
	return result || child_receive(&own.server, LINK_READY, &message, NULL) ? -1 : 0;
}

static int open_clients(struct bench *bench, unsigned int count)
{
	if (calls_start(bench, "server", CALLS_SERVICE, &own.server))
		return -1;
	while (own.count < count) {
		if (calls_client_open(bench, CALLS_SERVICE, &own.clients[own.count++]) ||
			open_socket(CALLS_MESSAGE_BYTES))
			return -1;
	}
	return 0;
}

static int open_memory(struct bench *bench, uint64_t bytes)
{
	own.buffer = calloc(1, bytes < WW_TOKEN_BYTES ? WW_TOKEN_BYTES : bytes);
	if (!own.buffer)
		return complain("out of memory");
	if (bench_memory_create(bench, bytes, &own.memory))
		return -1;
	return bench_export(bench, own.memory, &own.token);
}

int calls_open_with(struct bench *bench, uint64_t bytes)
{
	return open_clients(bench, 1) || open_memory(bench, bytes) ? -1 : 0;
}

int calls_open(struct bench *bench)
{
	return calls_open_with(bench, CALLS_MESSAGE_BYTES);
}

/* Also what was opened in part. */
int calls_close(struct bench *bench)
{
	(void)bench;
	calls_client_close(&own.idle);
	while (own.count > 0)
		calls_client_close(&own.clients[--own.count]);
	while (own.socket_count > 0)
		close(own.sockets[--own.socket_count]);
	child_fini(&own.crowd);
	child_fini(&own.idle_server);
	child_fini(&own.server);
	own.crowd = own.idle_server = own.server = (struct child)CHILD_NONE;
	own.memory = ww_memory_unref(own.memory);
	free(own.buffer);
	own.buffer = NULL;
	return 0;
}

/* --- one call, one message --- */

static struct ww_value array_value(void)
{
	return (struct ww_value){.kind = WW_ARGUMENT_ARRAY, .token = &own.token};
}

static int call(struct calls_client *client, enum calls_function function)
{
	const struct ww_value value = array_value();

	return bench_expect(ww_client_call(client->client, client->functions[function], &value,
				    function == CALLS_NOP ? 0 : 1, NULL, BENCH_ANSWER_NS, NULL,
				    NULL),
		"cannot call");
}

static int put(int fd, const char *from, uint64_t bytes)
{
	for (ssize_t put; bytes > 0; bytes -= (uint64_t)put, from += put) {
		put = send(fd, from, bytes, MSG_NOSIGNAL);
		if (put <= 0)
			return complain("cannot send a message: %s", strerror(errno));
	}
	return 0;
}

static int get(int fd, char *to, uint64_t bytes)
{
	for (ssize_t got; bytes > 0; bytes -= (uint64_t)got, to += got) {
		got = recv(fd, to, bytes, 0);
		if (got <= 0)
			return complain("cannot receive a message: %s",
				got ? strerror(errno) : "the server is gone");
	}
	return 0;
}

static int echo(int fd, uint64_t bytes)
{
	return put(fd, own.buffer, bytes) || get(fd, own.buffer, bytes) ? -1 : 0;
}

/* Until everybody sleeps. */
static void pause_long(void)
{
	const struct timespec pause = {.tv_nsec = PAUSE_NS};

	clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
}

/* --- empty calls --- */

static int spin(struct calls_client *client, uint64_t *out_ns)
{
	uint64_t at;

	if (call(client, CALLS_NOP))
		return -1;
	at = link_now_ns();
	for (int i = 0; i < CALLS_BATCH; i++) {
		if (call(client, CALLS_NOP))
			return -1;
	}
	*out_ns = bench_lap(&at) / CALLS_BATCH;
	return 0;
}

static int wake(struct calls_client *client, uint64_t *out_ns)
{
	uint64_t at;

	pause_long();
	at = link_now_ns();
	if (call(client, CALLS_NOP))
		return -1;
	*out_ns = bench_lap(&at);
	return 0;
}

int calls_empty_spin(struct bench *bench, uint64_t out_ns[])
{
	(void)bench;
	return spin(&own.clients[0], &out_ns[0]);
}

int calls_empty_asleep(struct bench *bench, uint64_t out_ns[])
{
	(void)bench;
	return wake(&own.clients[0], &out_ns[0]);
}

static int echo_batch(int fd, uint64_t bytes, int count, uint64_t *out_ns)
{
	uint64_t at;

	if (echo(fd, bytes))
		return -1;
	at = link_now_ns();
	for (int i = 0; i < count; i++) {
		if (echo(fd, bytes))
			return -1;
	}
	*out_ns = bench_lap(&at) / (uint64_t)count;
	return 0;
}

int calls_empty_bare_spin(struct bench *bench, uint64_t out_ns[])
{
	(void)bench;
	return echo_batch(own.sockets[0], CALLS_MESSAGE_BYTES, CALLS_BATCH, &out_ns[0]);
}

int calls_empty_bare_asleep(struct bench *bench, uint64_t out_ns[])
{
	uint64_t at;

	(void)bench;
	pause_long();
	at = link_now_ns();
	if (echo(own.sockets[0], CALLS_MESSAGE_BYTES))
		return -1;
	out_ns[0] = bench_lap(&at);
	return 0;
}

/* --- many calls in flight --- */

static int submit(const struct calls_client *client, enum calls_function function,
	const struct ww_submit_params *params, ww_ticket **out_ticket)
{
	const struct ww_value values[] = {array_value(),
		{.kind = WW_ARGUMENT_SCALAR, .dtype = {WW_DTYPE_UINT, 8, 1}, .scalar = FILLED}};

	return bench_expect(ww_client_submit(client->client, client->functions[function], values,
				    function, params, BENCH_ANSWER_NS, NULL, out_ticket),
		"cannot submit a call");
}

static int finish(ww_ticket **ticket)
{
	int result = bench_expect(ww_ticket_wait(*ticket, BENCH_ANSWER_NS, NULL), "a call failed");

	*ticket = ww_ticket_unref(*ticket);
	return result;
}

/* What was not waited for is dropped with the client. */
static void drop(ww_ticket *tickets[], unsigned int count)
{
	for (unsigned int i = 0; i < count; i++)
		tickets[i] = ww_ticket_unref(tickets[i]);
}

/* The oldest is waited for when as many are in flight as may be. */
static int call_many(ww_ticket *tickets[CALLS_IN_FLIGHT])
{
	for (unsigned int i = 0; i < RATE_CALLS + CALLS_IN_FLIGHT; i++) {
		ww_ticket **ticket = &tickets[i % CALLS_IN_FLIGHT];

		if ((*ticket && finish(ticket)) ||
			(i < RATE_CALLS && submit(&own.clients[0], CALLS_NOP, NULL, ticket)))
			return -1;
	}
	return 0;
}

int calls_rate(struct bench *bench, uint64_t out_ns[])
{
	ww_ticket *tickets[CALLS_IN_FLIGHT] = {NULL};
	uint64_t at = link_now_ns();
	int result = call_many(tickets);

	(void)bench;
	out_ns[0] = bench_lap(&at) / RATE_CALLS;
	drop(tickets, CALLS_IN_FLIGHT);
	return result;
}

int calls_rate_bare(struct bench *bench, uint64_t out_ns[])
{
	uint64_t at = link_now_ns();
	int fd = own.sockets[0];

	(void)bench;
	for (int i = 0; i < RATE_CALLS + CALLS_IN_FLIGHT; i++) {
		if ((i >= CALLS_IN_FLIGHT && get(fd, own.buffer, CALLS_MESSAGE_BYTES)) ||
			(i < RATE_CALLS && put(fd, own.buffer, CALLS_MESSAGE_BYTES)))
			return -1;
	}
	out_ns[0] = bench_lap(&at) / RATE_CALLS;
	return 0;
}

/* The last one's end is that of all. */
int calls_chain(struct bench *bench, uint64_t out_ns[])
{
	uint64_t at = link_now_ns();
	ww_ticket *last = NULL;

	(void)bench;
	for (int i = 1; i <= CHAIN; i++) {
		if (submit(&own.clients[0], CALLS_FILL, NULL, i == CHAIN ? &last : NULL))
			return -1;
	}
	if (finish(&last))
		return -1;
	out_ns[0] = bench_lap(&at);
	return 0;
}

/* The same work on a stream of this process. */
int calls_chain_bare(struct bench *bench, uint64_t out_ns[])
{
	uint64_t at = link_now_ns();

	for (int i = 0; i < CHAIN; i++) {
		if (bench_expect(ww_stream_fill(bench->stream, ww_memory_pointer(own.memory),
					 FILLED, 1, CALLS_MESSAGE_BYTES),
			    "cannot fill"))
			return -1;
	}
	if (bench_stream_finish(bench->stream))
		return -1;
	out_ns[0] = bench_lap(&at);
	return 0;
}

/* --- a call that a stream waits for --- */

int calls_stream_open(struct bench *bench)
{
	ww_timeline *timeline;

	if (calls_open(bench) ||
		bench_expect(ww_client_lane_timeline(own.clients[0].client, 0, BENCH_ANSWER_NS,
				     NULL, &timeline),
			"cannot get the timeline of a lane"))
		return -1;
	ww_timeline_unref(timeline);
	return 0;
}

/* The CPU waits for neither the server nor the reply, only for its own stream. */
static int stream_call(struct bench *bench, uint64_t out_ns[])
{
	uint64_t start = link_now_ns();
	ww_ticket *ticket = NULL;
	uint64_t at;

	if (submit(&own.clients[0], CALLS_FILL, NULL, &ticket))
		return -1;
	at = link_now_ns();
	if (bench_expect(ww_ticket_stream_wait(ticket, bench->stream, WW_WAIT_UNSUBMITTED,
				 BENCH_ANSWER_NS, NULL),
		    "a stream cannot wait for a call")) {
		drop(&ticket, 1);
		return -1;
	}
	out_ns[1] = bench_lap(&at);
	if (bench_stream_finish(bench->stream)) {
		drop(&ticket, 1);
		return -1;
	}
	out_ns[0] = bench_lap(&start);
	return finish(&ticket);
}

static int stream_fill(struct bench *bench, uint64_t out_ns[])
{
	uint64_t start = link_now_ns();
	uint64_t at = start;

	if (bench_expect(ww_stream_fill(bench->stream, ww_memory_pointer(own.memory), FILLED, 1,
				 CALLS_MESSAGE_BYTES),
		    "cannot fill"))
		return -1;
	out_ns[1] = bench_lap(&at);
	if (bench_stream_finish(bench->stream))
		return -1;
	out_ns[0] = bench_lap(&start);
	return 0;
}

typedef int stream_turn(struct bench *bench, uint64_t out_ns[]);

/*
 * Those that are measured follow others at once, as in spin(): after work of the other process the
 * GPU changes contexts first, and after a pause the server sleeps.
 */
static int stream_batch(stream_turn *turn, struct bench *bench, uint64_t out_ns[])
{
	uint64_t sums[2] = {0, 0};

	if (turn(bench, out_ns))
		return -1;
	for (int i = 0; i < CALLS_BATCH; i++) {
		if (turn(bench, out_ns))
			return -1;
		sums[0] += out_ns[0];
		sums[1] += out_ns[1];
	}
	out_ns[0] = sums[0] / CALLS_BATCH;
	out_ns[1] = sums[1] / CALLS_BATCH;
	return 0;
}

int calls_stream(struct bench *bench, uint64_t out_ns[])
{
	return stream_batch(stream_call, bench, out_ns);
}

int calls_stream_bare(struct bench *bench, uint64_t out_ns[])
{
	return stream_batch(stream_fill, bench, out_ns);
}

/* --- arrays --- */

enum {
	SOCKET_TOKEN = 1, /* behind that of small messages */
	SOCKET_COPIED
};

int calls_array_open(struct bench *bench)
{
	uint64_t bytes = *(const uint64_t *)bench->context;

	if (calls_open_with(bench, bytes) || open_socket(WW_TOKEN_BYTES))
		return -1;
	return open_socket(bytes);
}

int calls_array(struct bench *bench, uint64_t out_ns[])
{
	uint64_t at;

	(void)bench;
	if (call(&own.clients[0], CALLS_TOUCH))
		return -1;
	at = link_now_ns();
	for (int i = 0; i < CALLS_BATCH; i++) {
		if (call(&own.clients[0], CALLS_TOUCH))
			return -1;
	}
	out_ns[0] = bench_lap(&at) / CALLS_BATCH;
	return 0;
}

int calls_array_token(struct bench *bench, uint64_t out_ns[])
{
	(void)bench;
	return echo_batch(own.sockets[SOCKET_TOKEN], WW_TOKEN_BYTES, CALLS_BATCH, &out_ns[0]);
}

/* The bytes of the array themselves, to and fro. */
int calls_array_copied(struct bench *bench, uint64_t out_ns[])
{
	uint64_t bytes = *(const uint64_t *)bench->context;

	return echo_batch(own.sockets[SOCKET_COPIED], bytes,
		bytes > WW_TOKEN_BYTES ? 1 : CALLS_BATCH, &out_ns[0]);
}

/* --- several clients --- */

int calls_many_open(struct bench *bench)
{
	if (open_clients(bench, *(const unsigned int *)bench->context))
		return -1;
	return open_memory(bench, CALLS_MESSAGE_BYTES);
}

/* Each has one call in flight. */
static int call_each(ww_ticket *tickets[CALLS_CLIENTS])
{
	for (unsigned int i = 0; i < own.count; i++) {
		if (submit(&own.clients[i], CALLS_NOP, NULL, &tickets[i]))
			return -1;
	}
	for (unsigned int i = 0; i < own.count; i++) {
		if (finish(&tickets[i]))
			return -1;
	}
	return 0;
}

int calls_many(struct bench *bench, uint64_t out_ns[])
{
	ww_ticket *tickets[CALLS_CLIENTS] = {NULL};
	uint64_t at = link_now_ns();
	int result = 0;

	(void)bench;
	for (int i = 0; i < MANY_ROUNDS && !result; i++)
		result = call_each(tickets);
	out_ns[0] = bench_lap(&at) / MANY_ROUNDS / own.count;
	drop(tickets, CALLS_CLIENTS);
	return result;
}

static int echo_each(void)
{
	for (unsigned int i = 0; i < own.count; i++) {
		if (put(own.sockets[i], own.buffer, CALLS_MESSAGE_BYTES))
			return -1;
	}
	for (unsigned int i = 0; i < own.count; i++) {
		if (get(own.sockets[i], own.buffer, CALLS_MESSAGE_BYTES))
			return -1;
	}
	return 0;
}

int calls_many_bare(struct bench *bench, uint64_t out_ns[])
{
	uint64_t at = link_now_ns();

	(void)bench;
	for (int i = 0; i < MANY_ROUNDS; i++) {
		if (echo_each())
			return -1;
	}
	out_ns[0] = bench_lap(&at) / MANY_ROUNDS / own.count;
	return 0;
}

/* --- beside idle clients --- */

int calls_crowd_open(struct bench *bench)
{
	struct link_message message;
	char number[NUMBER_BYTES];

	snprintf(number, sizeof(number), "%llu", (unsigned long long)bench->clients);
	if (open_clients(bench, 1) ||
		calls_start(bench, "server", CALLS_IDLE_SERVICE, &own.idle_server) ||
		calls_client_open(bench, CALLS_IDLE_SERVICE, &own.idle))
		return -1;
	if (bench_spawn(bench, "crowd", NULL, number, &own.crowd) ||
		child_receive(&own.crowd, LINK_READY, &message, NULL))
		return -1;
	if (message.numbers[0] < bench->clients)
		say("%llu idle clients instead of %llu: more descriptors than a process may open, or "
		    "than the broker has for a user (ulimit -Hn)",
			(unsigned long long)message.numbers[0], (unsigned long long)bench->clients);
	return 0;
}

/* Awake, and asleep. */
int calls_crowd(struct bench *bench, uint64_t out_ns[])
{
	struct calls_client *client = bench->way == BENCH_OURS ? &own.idle : &own.clients[0];

	return spin(client, &out_ns[0]) || wake(client, &out_ns[1]) ? -1 : 0;
}

/* --- turns --- */

/* Of two lanes, each call after the one before it, which is of the other lane. */
int calls_lanes(struct bench *bench, uint64_t out_ns[])
{
	struct ww_submit_params params = {.struct_size = sizeof(params)};
	uint64_t at = link_now_ns();
	ww_ticket *last = NULL;

	(void)bench;
	for (uint32_t i = 0; i < CHAIN; i++) {
		struct ww_ticket_info info = WW_INIT(struct ww_ticket_info);

		ww_ticket_unref(last);
		params.lane = i % 2;
		if (submit(&own.clients[0], CALLS_FILL, &params, &last) ||
			bench_expect(ww_ticket_info_get(last, &info), "cannot look at a call"))
			return -1;
		params.depends_on = info.number;
	}
	if (finish(&last))
		return -1;
	out_ns[0] = bench_lap(&at) / CHAIN;
	return 0;
}

/* Of two clients, each call after the other one's reply. */
int calls_replies(struct bench *bench, uint64_t out_ns[])
{
	uint64_t at = link_now_ns();

	(void)bench;
	for (uint32_t i = 0; i < CHAIN; i++) {
		ww_ticket *ticket;

		if (submit(&own.clients[i % 2], CALLS_FILL, NULL, &ticket) || finish(&ticket))
			return -1;
	}
	out_ns[0] = bench_lap(&at) / CHAIN;
	return 0;
}

int calls_take_turns_open(struct bench *bench)
{
	if (channel_turn_open_one(bench) || open_clients(bench, 2))
		return -1;
	return open_memory(bench, CALLS_MESSAGE_BYTES);
}

int calls_take_turns_close(struct bench *bench)
{
	calls_close(bench);
	return channel_turn_close(bench);
}
