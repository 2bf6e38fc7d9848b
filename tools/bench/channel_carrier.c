/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel_carrier.c - frames by bare memory, by a channel, by sockets and by pipes, see
 * channel_carrier.h
 *
 * The bare memory is a ring of heads that a careful programmer would write for one producer: a word
 * says how many were sent, one of each consumer how many it has taken, and everybody looks all the
 * time. Frames of any size are heads there. A socket or pipe copies the frame for each consumer.
 */
#include "bench/channel_carrier.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define SMALL_BYTES  (UINT64_C(64) << 10)
#define MEDIUM_BYTES (UINT64_C(4) << 20)
#define HEAD_BYTES   (CHANNEL_HEAD * sizeof(uint64_t))

static int nothing(struct carry *carry)
{
	(void)carry;
	return 0;
}

/* --- bare memory --- */

static void bare_close(struct carry *carry)
{
	(void)carry;
}

static int bare_send(struct carry *carry, const uint64_t head[CHANNEL_HEAD])
{
	struct carry_board *board = carry->board;
	uint64_t sent = mailbox_load(&board->sent);

	for (unsigned int i = 0; sent >= CARRY_SLOTS && i < carry->count; i++) {
		if (mailbox_await(&board->taken[i], sent - CARRY_SLOTS + 1,
			    carry->children[i].socket))
			return -1;
	}
	memcpy(board->heads[sent % CARRY_SLOTS], head, HEAD_BYTES);
	mailbox_store(&board->sent, sent + 1);
	return 0;
}

static int bare_receive(struct carry *carry, uint64_t out_head[CHANNEL_HEAD])
{
	struct carry_board *board = carry->board;
	struct mailbox_word *taken = &board->taken[carry->index];
	uint64_t number = mailbox_load(taken);

	if (mailbox_await(&board->sent, number + 1, LINK_FD))
		return -1;
	memcpy(out_head, board->heads[number % CARRY_SLOTS], HEAD_BYTES);
	mailbox_store(taken, number + 1);
	return 0;
}

static const struct carrier bare = {
	.name = "bare",
	.open_sender = nothing,
	.open_consumer = nothing,
	.send = bare_send,
	.receive = bare_receive,
	.close = bare_close,
};

/* --- a channel --- */

uint32_t carry_slots(uint64_t bytes, uint32_t most)
{
	return bytes <= SMALL_BYTES ? most : bytes <= MEDIUM_BYTES ? 8 : 4;
}

static int make(struct carry *carry, uint32_t policy)
{
	const struct ww_channel_params params = {
		.struct_size = sizeof(params),
		.policy = policy,
		.slot_bytes = carry->bytes,
		.slots = policy == WW_CHANNEL_BLOCK ? carry_slots(carry->bytes, CARRY_SLOTS) : 0,
		.consumers_max = carry->count,
		.kind = channel_cpu_kind(carry->bench),
	};

	return channel_create(carry->bench, "carry", &params, &carry->channel);
}

static int ours_open_sender(struct carry *carry)
{
	return make(carry, WW_CHANNEL_BLOCK);
}

static int latest_open_sender(struct carry *carry)
{
	return make(carry, WW_CHANNEL_LATEST);
}

static int ours_open_consumer(struct carry *carry)
{
	return channel_get(carry->bench, "carry", &carry->channel);
}

static int ours_send(struct carry *carry, const uint64_t head[CHANNEL_HEAD])
{
	struct ww_frame frame = WW_INIT(struct ww_frame);

	if (bench_expect(ww_channel_acquire(carry->channel, NULL, BENCH_ANSWER_NS, NULL, &frame),
		    "cannot acquire a slot"))
		return -1;
	memcpy(frame.host_pointer, head, HEAD_BYTES);
	frame.bytes = carry->bytes;
	return bench_expect(ww_channel_publish(carry->channel, &frame, NULL),
		"cannot publish a frame");
}

static int ours_receive(struct carry *carry, uint64_t out_head[CHANNEL_HEAD])
{
	struct ww_frame frame = WW_INIT(struct ww_frame);

	if (bench_expect(ww_channel_receive(carry->channel, NULL, BENCH_ANSWER_NS, NULL, &frame),
		    "cannot receive a frame"))
		return -1;
	memcpy(out_head, frame.host_pointer, HEAD_BYTES);
	return bench_expect(ww_channel_release(carry->channel, &frame, NULL),
		"cannot release a frame");
}

static void ours_close(struct carry *carry)
{
	carry->channel = ww_channel_unref(carry->channel);
}

static const struct carrier ours = {
	.name = "channel",
	.open_sender = ours_open_sender,
	.open_consumer = ours_open_consumer,
	.send = ours_send,
	.receive = ours_receive,
	.close = ours_close,
};

static const struct carrier latest = {
	.name = "latest",
	.is_paced = true,
	.open_sender = latest_open_sender,
	.open_consumer = ours_open_consumer,
	.send = ours_send,
	.receive = ours_receive,
	.close = ours_close,
};

/* --- sockets and pipes --- */

static int open_buffer(struct carry *carry)
{
	carry->buffer = calloc(1, carry->bytes);
	return carry->buffer ? 0 : complain("out of memory");
}

/* @pair: makes two ends, the reader's first. */
static int open_ends(struct carry *carry, int (*pair)(int fds[2]))
{
	signal(SIGPIPE, SIG_IGN); /* a consumer that died is an error of write() */
	for (unsigned int i = 0; i < carry->count; i++) {
		int fds[2];

		if (pair(fds))
			return complain("cannot make a socket or pipe: %s", strerror(errno));
		carry->theirs[i] = fds[0];
		carry->fds[i] = fds[1];
	}
	return open_buffer(carry);
}

static int socket_pair(int fds[2])
{
	return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds);
}

static int pipe_pair(int fds[2])
{
	return pipe2(fds, O_CLOEXEC);
}

static int socket_open_sender(struct carry *carry)
{
	return open_ends(carry, socket_pair);
}

static int pipe_open_sender(struct carry *carry)
{
	return open_ends(carry, pipe_pair);
}

static int write_all(int fd, const char *from, uint64_t bytes)
{
	while (bytes > 0) {
		ssize_t written = write(fd, from, bytes);

		if (written < 0)
			return complain("cannot send a frame: %s", strerror(errno));
		from += written;
		bytes -= (uint64_t)written;
	}
	return 0;
}

static int read_all(int fd, char *to, uint64_t bytes)
{
	while (bytes > 0) {
		ssize_t got = read(fd, to, bytes);

		if (got <= 0)
			return complain("cannot receive a frame: %s",
				got ? strerror(errno) : "the sender is gone");
		to += got;
		bytes -= (uint64_t)got;
	}
	return 0;
}

static int copy_send(struct carry *carry, const uint64_t head[CHANNEL_HEAD])
{
	memcpy(carry->buffer, head, HEAD_BYTES);
	for (unsigned int i = 0; i < carry->count; i++) {
		if (write_all(carry->fds[i], carry->buffer, carry->bytes))
			return -1;
	}
	return 0;
}

static int copy_receive(struct carry *carry, uint64_t out_head[CHANNEL_HEAD])
{
	if (read_all(carry->fds[0], carry->buffer, carry->bytes))
		return -1;
	memcpy(out_head, carry->buffer, HEAD_BYTES);
	return 0;
}

static void copy_close(struct carry *carry)
{
	for (unsigned int i = 0; i < CHANNEL_CONSUMERS; i++) {
		own_fd(&carry->fds[i]);
		carry->fds[i] = -1;
	}
	free(carry->buffer);
	carry->buffer = NULL;
	signal(SIGPIPE, SIG_DFL);
}

static const struct carrier by_socket = {
	.name = "socket",
	.open_sender = socket_open_sender,
	.open_consumer = open_buffer,
	.send = copy_send,
	.receive = copy_receive,
	.close = copy_close,
};

static const struct carrier by_pipe = {
	.name = "pipe",
	.open_sender = pipe_open_sender,
	.open_consumer = open_buffer,
	.send = copy_send,
	.receive = copy_receive,
	.close = copy_close,
};

const struct carrier *const carriers[] = {
	[CARRIER_BARE] = &bare,
	[CARRIER_OURS] = &ours,
	&latest,
	&carrier_queue,
	&by_socket,
	&by_pipe,
#ifdef WW_BENCH_HAS_ZMQ
	&carrier_zmq,
	&carrier_zmq_conflate,
#endif
};

const unsigned int carrier_count = sizeof(carriers) / sizeof(carriers[0]);
