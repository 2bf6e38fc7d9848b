/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_broker.h - a broker of a few lines, for unit tests
 *
 * It listens at a path of its own and does what a test's script says, packet by packet, in a
 * thread. What it expects and does not get ends the test program: an assertion of cmocka must not
 * leave its thread.
 */
#ifndef WW_CLIENT_FAKE_BROKER_H
#define WW_CLIENT_FAKE_BROKER_H

#include "base/unit_test.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <warpway/broker.h>

#include "base/error.h"
#include "base/fd.h"
#include "wire/packet.h"
#include "wire/protocol.h"

/* How long the script or the test waits for the other one, before the program aborts. */
#define STAND_IN_PATIENCE_MS 60000

/* The broker's time limit for what must be answered. */
#define STAND_IN_PATIENCE_NS (STAND_IN_PATIENCE_MS * UINT64_C(1000000))

struct stand_in {
	char folder[64];
	char path[108];
	int listener;
	pthread_t thread;
	void (*script)(struct stand_in *self);
	uint8_t broker_id[WW_WIRE_ID_BYTES];
	bool is_known;                        /* said in the next welcome */
	uint32_t version;                     /* as well; 0: 1 */
	uint8_t process_id[WW_WIRE_ID_BYTES]; /* of the last hello */
	sem_t reached;                        /* the script is where the test waits for it */
	int told[2]; /* a pipe: the test is where the script waits for it */
};

/* A request as it came. */
struct stand_in_packet {
	struct ww_wire_header header;
	uint8_t bytes[WW_WIRE_PACKET_BYTES];
	size_t count;
	int fds[WW_PACKET_FDS];
	size_t fd_count;
};

static inline void stand_in_wait(int fd)
{
	struct pollfd entry = {.fd = fd, .events = POLLIN};
	int ready;

	do {
		ready = poll(&entry, 1, STAND_IN_PATIENCE_MS);
	} while (ready < 0 && errno == EINTR);
	ww_assert(ready == 1);
}

/* The next packet, of the code that is expected. */
static inline void stand_in_take(int peer, uint16_t code, struct stand_in_packet *packet)
{
	stand_in_wait(peer);
	ww_assert(ww_packet_receive(peer, packet->bytes, sizeof(packet->bytes), &packet->count,
			  packet->fds, &packet->fd_count) == WW_OK);
	ww_assert(ww_wire_read_header(packet->bytes, packet->count, packet->fd_count,
			  &packet->header) == WW_OK);
	ww_assert(packet->header.code == code);
}

/* Nothing but the end comes. */
static inline void stand_in_take_end(int peer)
{
	int fds[WW_PACKET_FDS];
	uint8_t byte;
	size_t bytes;
	size_t fd_count;

	stand_in_wait(peer);
	ww_assert(ww_packet_receive(peer, &byte, 1, &bytes, fds, &fd_count) == WW_END);
}

static inline void stand_in_finish_peer(int peer)
{
	stand_in_take_end(peer);
	close(peer);
}

/* The serial number of the next packet, of which the rest does not matter. */
static inline uint32_t stand_in_take_serial(int peer, uint16_t code)
{
	static struct stand_in_packet packet;

	stand_in_take(peer, code, &packet);
	while (packet.fd_count > 0)
		close(packet.fds[--packet.fd_count]);
	return packet.header.serial;
}

#define stand_in_decode(name, packet, out) \
	ww_assert(ww_wire_decode_##name((packet)->bytes, (packet)->count, 1, (out)) == WW_OK)

/* Answers request @to with a message. */
#define stand_in_send(peer, name, message, to, descriptors, descriptor_count) \
	stand_in_send_as(peer, 1, name, message, to, descriptors, descriptor_count)

/* The same, as a version of the protocol has it. */
#define stand_in_send_as(peer, version, name, message, to, descriptors, descriptor_count)      \
	do {                                                                                   \
		const struct ww_wire_header header_ = {.serial = (to),                         \
			.fd_count = (uint16_t)(descriptor_count)};                             \
		uint8_t packet_[4096];                                                         \
		size_t bytes_ = ww_wire_encode_##name((message), (version), &header_, packet_, \
			sizeof(packet_));                                                      \
		ww_assert(bytes_ > 0);                                                         \
		ww_assert(ww_packet_send((peer), packet_, bytes_, (descriptors),               \
				  (descriptor_count)) == WW_OK);                               \
	} while (0)

static inline void stand_in_done(int peer, uint32_t serial)
{
	static const struct ww_wire_done done;

	stand_in_send(peer, done, &done, serial, NULL, 0);
}

static inline void stand_in_refuse(int peer, uint32_t serial, ww_status status, const char *why)
{
	struct ww_wire_error error = {.status = status};

	snprintf(error.message, sizeof(error.message), "%s", why);
	stand_in_send(peer, error, &error, serial, NULL, 0);
}

/* A connection, its hello answered. */
static inline int stand_in_accept_raw(struct stand_in *self)
{
	int peer;

	stand_in_wait(self->listener);
	peer = accept4(self->listener, NULL, NULL, SOCK_CLOEXEC);
	ww_assert(peer >= 0);
	return peer;
}

static inline int stand_in_accept(struct stand_in *self)
{
	uint32_t version = self->version ? self->version : 1;
	struct ww_wire_welcome welcome = {.version = version, .least = version, .most = version};
	static struct stand_in_packet packet;
	struct ww_wire_hello hello;
	int peer = stand_in_accept_raw(self);

	stand_in_take(peer, WW_WIRE_HELLO, &packet);
	stand_in_decode(hello, &packet, &hello);
	memcpy(self->process_id, hello.process_id, sizeof(self->process_id));
	welcome.known = self->is_known;
	memcpy(welcome.broker_id, self->broker_id, sizeof(welcome.broker_id));
	stand_in_send(peer, welcome, &welcome, packet.header.serial, NULL, 0);
	return peer;
}

static inline void *stand_in_run(void *context)
{
	struct stand_in *self = context;

	self->script(self);
	return NULL;
}

static inline void stand_in_init(struct stand_in *self)
{
	memset(self, 0, sizeof(*self));
	strcpy(self->folder, "/tmp/warpway-test-XXXXXX");
	ww_assert(mkdtemp(self->folder));
	snprintf(self->path, sizeof(self->path), "%s/s", self->folder);
	memset(self->broker_id, 0xb1, sizeof(self->broker_id));
	self->listener = -1;
	ww_assert(sem_init(&self->reached, 0, 0) == 0);
	ww_assert(pipe(self->told) == 0);
}

/* Lets the script continue, which waits until told[0] can be read. */
static inline void stand_in_tell(struct stand_in *self)
{
	ww_assert(write(self->told[1], "1", 1) == 1);
}

/* The test waits for the script to say so. */
static inline void stand_in_await(struct stand_in *self)
{
	while (sem_wait(&self->reached) < 0)
		ww_assert(errno == EINTR);
}

static inline void stand_in_listen(struct stand_in *self)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};

	memcpy(name.sun_path, self->path, strlen(self->path));
	self->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	ww_assert(self->listener >= 0);
	ww_assert(bind(self->listener, (struct sockaddr *)&name, sizeof(name)) == 0);
	ww_assert(listen(self->listener, 16) == 0);
}

/* The same broker by another path. */
static inline struct stand_in stand_in_alias(const struct stand_in *self)
{
	struct stand_in alias;

	strcpy(alias.folder, self->folder);
	snprintf(alias.path, sizeof(alias.path), "%s/t", self->folder);
	ww_assert(symlink(self->path, alias.path) == 0);
	return alias;
}

static inline void stand_in_start(struct stand_in *self, void (*script)(struct stand_in *self))
{
	stand_in_init(self);
	stand_in_listen(self);
	self->script = script;
	ww_assert(pthread_create(&self->thread, NULL, stand_in_run, self) == 0);
}

static inline void stand_in_remove(struct stand_in *self)
{
	ww_fd_close(self->listener);
	close(self->told[0]);
	close(self->told[1]);
	unlink(self->path);
	ww_assert(rmdir(self->folder) == 0);
}

/* The broker, as a client has it. @timeout_ns: of its requests; 0: one that must not pass */
static inline struct ww_broker *stand_in_open(const struct stand_in *self, uint64_t timeout_ns)
{
	const struct ww_broker_params params = {
		.struct_size = sizeof(params),
		.timeout_ns = timeout_ns ? timeout_ns : STAND_IN_PATIENCE_NS,
		.address = self->path,
	};
	struct ww_broker *broker;

	ww_assert(ww_broker_open(&params, &broker) == WW_OK);
	return broker;
}

/* Waits for the end of the script. */
static inline void stand_in_finish(struct stand_in *self)
{
	ww_assert(pthread_join(self->thread, NULL) == 0);
	stand_in_remove(self);
}

/* A script: a connection that brings no request. */
static inline void stand_in_serve_nothing(struct stand_in *self)
{
	stand_in_finish_peer(stand_in_accept(self));
}

static inline void stand_in_serve(void (*script)(struct stand_in *self),
	void (*test)(struct stand_in *self, struct ww_broker *broker))
{
	struct ww_broker *broker;
	struct stand_in self;

	stand_in_start(&self, script);
	broker = stand_in_open(&self, 0);
	test(&self, broker);
	assert_null(ww_broker_unref(broker));
	stand_in_finish(&self);
}

/*
 * A test of a client: its body sees the `broker`, which is open, and `self`, what does as @script
 * says. At its end it has given back all that keeps the broker.
 */
#define CLIENT_TEST(test_name, script)                                                 \
	static void test_name##_body(struct stand_in *self, struct ww_broker *broker); \
	UNIT_TEST(test_name)                                                           \
	{                                                                              \
		stand_in_serve(script, test_name##_body);                              \
	}                                                                              \
	static void test_name##_body(__attribute__((unused)) struct stand_in *self,    \
		__attribute__((unused)) struct ww_broker *broker)

#endif
