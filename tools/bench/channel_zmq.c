/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel_zmq.c - frames by ZeroMQ, PUB to SUB over a socket of the file system; where libzmq was
 * found when the build was configured
 *
 * The publisher waits for every subscription, and queues have no limit: so no frame is dropped. A
 * conflating subscriber keeps the newest only, which is what policy latest does.
 */
#include "bench/channel_carrier.h"

#ifdef WW_BENCH_HAS_ZMQ

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zmq.h>

#define SCHEME        "ipc://"
#define ADDRESS_BYTES 160

static int fail(const char *what)
{
	return complain("%s: %s", what, zmq_strerror(zmq_errno()));
}

/* Beside the broker's socket, so it goes with that folder. */
static void address_of(const struct carry *carry, char out[ADDRESS_BYTES])
{
	const char *broker = carry->bench->address;

	snprintf(out, ADDRESS_BYTES, SCHEME "%s.zmq", broker);
}

static int set(void *socket, int option, int value)
{
	return zmq_setsockopt(socket, option, &value, sizeof(value)) ? fail("zmq_setsockopt") : 0;
}

static int open_socket(struct carry *carry, int type)
{
	carry->context = zmq_ctx_new();
	carry->socket = carry->context ? zmq_socket(carry->context, type) : NULL;
	if (!carry->socket)
		return fail("zmq_socket");
	return set(carry->socket, ZMQ_SNDHWM, 0) || set(carry->socket, ZMQ_RCVHWM, 0) ||
			set(carry->socket, ZMQ_LINGER, 0)
		? -1
		: 0;
}

/* XPUB is a PUB that tells of subscriptions. */
static int open_sender(struct carry *carry)
{
	char address[ADDRESS_BYTES];

	carry->buffer = calloc(1, carry->bytes);
	if (!carry->buffer)
		return complain("out of memory");
	if (open_socket(carry, ZMQ_XPUB) || set(carry->socket, ZMQ_XPUB_VERBOSE, 1))
		return -1;
	address_of(carry, address);
	return zmq_bind(carry->socket, address) ? fail("zmq_bind") : 0;
}

static int await_consumers(struct carry *carry)
{
	char subscription[8];

	for (unsigned int i = 0; i < carry->count; i++) {
		if (zmq_recv(carry->socket, subscription, sizeof(subscription), 0) < 0)
			return fail("zmq_recv");
	}
	return 0;
}

static int open_any_consumer(struct carry *carry, int conflates)
{
	char address[ADDRESS_BYTES];

	carry->buffer = calloc(1, carry->bytes);
	if (!carry->buffer)
		return complain("out of memory");
	if (open_socket(carry, ZMQ_SUB) ||
		(conflates && set(carry->socket, ZMQ_CONFLATE, conflates)))
		return -1;
	address_of(carry, address);
	if (zmq_connect(carry->socket, address))
		return fail("zmq_connect");
	return zmq_setsockopt(carry->socket, ZMQ_SUBSCRIBE, "", 0) ? fail("zmq_setsockopt") : 0;
}

static int open_consumer(struct carry *carry)
{
	return open_any_consumer(carry, 0);
}

static int open_conflating_consumer(struct carry *carry)
{
	return open_any_consumer(carry, 1);
}

static int send_frame(struct carry *carry, const uint64_t head[CHANNEL_HEAD])
{
	memcpy(carry->buffer, head, CHANNEL_HEAD * sizeof(*head));
	return zmq_send(carry->socket, carry->buffer, carry->bytes, 0) < 0 ? fail("zmq_send") : 0;
}

static int receive_frame(struct carry *carry, uint64_t out_head[CHANNEL_HEAD])
{
	int got = zmq_recv(carry->socket, carry->buffer, carry->bytes, 0);

	if (got < 0)
		return fail("zmq_recv");
	if ((uint64_t)got != carry->bytes)
		return complain("a frame by ZeroMQ has %d bytes", got);
	memcpy(out_head, carry->buffer, CHANNEL_HEAD * sizeof(*out_head));
	return 0;
}

/* The file of a socket is its maker's to remove. */
static void close_all(struct carry *carry)
{
	char address[ADDRESS_BYTES];

	if (carry->socket)
		zmq_close(carry->socket);
	if (carry->context)
		zmq_ctx_term(carry->context);
	address_of(carry, address);
	if (carry->children)
		unlink(address + sizeof(SCHEME) - 1);
	free(carry->buffer);
	carry->socket = carry->context = NULL;
	carry->buffer = NULL;
}

const struct carrier carrier_zmq = {
	.name = "zmq",
	.open_sender = open_sender,
	.await_consumers = await_consumers,
	.open_consumer = open_consumer,
	.send = send_frame,
	.receive = receive_frame,
	.close = close_all,
};

const struct carrier carrier_zmq_conflate = {
	.name = "zmq_conflate",
	.is_paced = true,
	.open_sender = open_sender,
	.await_consumers = await_consumers,
	.open_consumer = open_conflating_consumer,
	.send = send_frame,
	.receive = receive_frame,
	.close = close_all,
};

#endif
