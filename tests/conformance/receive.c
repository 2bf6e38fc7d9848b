/* SPDX-License-Identifier: Apache-2.0 */
/*
 * receive.c - bad messages and bad sockets, each with its own status and sentence; and good ones
 * that come in an unusual way
 */
#include <errno.h>
#include <arpa/inet.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "conformance/conformance.h"
#include "conformance/victim.h"

#define MESSAGE_BYTES WW_MEMORY_DESCRIPTION_BYTES

/* Receives for writing. A message that is refused gives no memory. */
static ww_status receive(const struct victim *victim, int socket, uint64_t timeout_ns)
{
	ww_memory *memory = victim->memory;
	ww_status status = ww_memory_receive(victim->device, socket,
		WW_PARAMS(struct ww_import_params, .access = WW_ACCESS_WRITE), timeout_ns, NULL,
		&memory);

	MUST(status == WW_OK || !memory);
	if (status == WW_OK)
		memory_must_be_same(victim->memory, memory);
	if (status == WW_OK)
		ww_memory_unref(memory);
	return status;
}

static void pair_close(const int sockets[2])
{
	close(sockets[0]);
	close(sockets[1]);
}

/* Sends a message made by hand over a socket of this type; receiving it must fail like this. */
static void must_refuse_message(struct victim *victim, int type, const void *bytes, size_t count,
	const int *fds, size_t fd_count, ww_status status)
{
	int sockets[2];
	ww_status got;

	packet_pair(type, sockets);
	packet_send(sockets[0], bytes, count, fds, fd_count);
	got = receive(victim, sockets[1], 0);
	if (got != status)
		check_note("%zu bytes with %zu descriptors over a %s socket", count, fd_count,
			packet_type_name(type));
	MUST_REFUSE(status, "", got);
	pair_close(sockets);
}

CASE(refuse_foreign_message, WW_CAP_EXPORT)
{
	uint8_t foreign[MESSAGE_BYTES];
	ENDED_BY(victim_end) struct victim victim;

	pattern_make(foreign, sizeof(foreign), 3);
	victim_make(&victim, WW_MEMORY_VMM);
	for (size_t i = 0; i < CHECK_COUNT(packet_types); i++) {
		must_refuse_message(&victim, packet_types[i], foreign, sizeof(foreign), &victim.fd,
			1, WW_ERR_PROTOCOL);
		must_refuse_message(&victim, packet_types[i], foreign, sizeof(foreign), NULL, 0,
			WW_ERR_PROTOCOL);
	}
}

VICTIM_CASE(refuse_message_too_long, WW_CAP_EXPORT)
{
	uint8_t message[MESSAGE_BYTES + 1] = {0};

	memcpy(message, &victim->description, MESSAGE_BYTES);
	must_refuse_message(victim, SOCK_SEQPACKET, message, sizeof(message), &victim->fd, 1,
		WW_ERR_PROTOCOL);
}

VICTIM_CASE(refuse_truncated_packet, WW_CAP_EXPORT)
{
	static const size_t lengths[] = {1, 8, 64, MESSAGE_BYTES - 1};

	for (size_t i = 0; i < CHECK_COUNT(lengths); i++)
		must_refuse_message(victim, SOCK_SEQPACKET, &victim->description, lengths[i],
			&victim->fd, 1, WW_ERR_TRUNCATED);
}

VICTIM_CASE(refuse_truncated_stream, WW_CAP_EXPORT)
{
	int sockets[2];

	for (int closed = 0; closed < 2; closed++) {
		packet_pair(SOCK_STREAM, sockets);
		packet_send(sockets[0], &victim->description, 100, &victim->fd, 1);
		if (closed)
			close(sockets[0]);
		MUST_REFUSE(WW_ERR_TRUNCATED, "100",
			receive(victim, sockets[1], closed ? WW_FOREVER : 1000000));
		if (!closed)
			close(sockets[0]);
		close(sockets[1]);
	}
}

/* A message that ended before it began; the other end is still there. */
VICTIM_CASE(refuse_empty_packet, WW_CAP_EXPORT)
{
	must_refuse_message(victim, SOCK_SEQPACKET, "", 0, NULL, 0, WW_ERR_TRUNCATED);
	must_refuse_message(victim, SOCK_SEQPACKET, "", 0, &victim->fd, 1, WW_ERR_TRUNCATED);
}

static void refuse_descriptors(size_t count)
{
	int fds[PACKET_DESCRIPTORS_MAX];
	ENDED_BY(victim_end) struct victim victim;

	victim_make(&victim, WW_MEMORY_VMM);
	for (size_t i = 0; i < count; i++)
		fds[i] = victim.fd;
	for (size_t i = 0; i < CHECK_COUNT(packet_types); i++)
		must_refuse_message(&victim, packet_types[i], &victim.description, MESSAGE_BYTES,
			fds, count, WW_ERR_PROTOCOL);
}

CASE_CALL(refuse_no_descriptor, WW_CAP_EXPORT, refuse_descriptors(0))
CASE_CALL(refuse_two_descriptors, WW_CAP_EXPORT, refuse_descriptors(2))

CASE(refuse_many_descriptors, WW_CAP_EXPORT)
{
	for (size_t count = 3; count < 10; count++)
		refuse_descriptors(count);
	refuse_descriptors(PACKET_DESCRIPTORS_MAX);
}

VICTIM_CASE(refuse_received_pipe, WW_CAP_EXPORT)
{
	int pipes[2];

	MUST_CALL(pipe2(pipes, O_CLOEXEC));
	for (size_t i = 0; i < CHECK_COUNT(packet_types); i++)
		must_refuse_message(victim, packet_types[i], &victim->description, MESSAGE_BYTES,
			pipes, 1, WW_ERR_DESCRIPTOR);
	close(pipes[0]);
	close(pipes[1]);
}

/* A stream may deliver one message in as many pieces as it likes. */
VICTIM_CASE(receive_stream_in_pieces, WW_CAP_EXPORT)
{
	int sockets[2];

	packet_pair(SOCK_STREAM, sockets);
	for (size_t at = 0; at < MESSAGE_BYTES; at++)
		packet_send(sockets[0], victim->description.bytes + at, 1, &victim->fd, at == 0);
	MUST_OK(receive(victim, sockets[1], 0));
	pair_close(sockets);
}

/* A program may have asked the kernel to send who is at the other end along with every message. */
VICTIM_CASE(receive_beside_credentials, WW_CAP_EXPORT)
{
	int sockets[2];
	int yes = 1;

	for (size_t i = 0; i < CHECK_COUNT(packet_types); i++) {
		packet_pair(packet_types[i], sockets);
		MUST_CALL(setsockopt(sockets[1], SOL_SOCKET, SO_PASSCRED, &yes, sizeof(yes)));
		MUST_OK(ww_memory_send(victim->memory, WW_ACCESS_WRITE, sockets[0], 0, NULL));
		MUST_OK(receive(victim, sockets[1], 0));
		pair_close(sockets);
	}
}

/*
 * A sender that closes while bytes of ours wait for it: the kernel tells us of a reset connection
 * before it hands over what was sent.
 */
VICTIM_CASE(receive_from_one_who_left_bytes_unread, WW_CAP_EXPORT)
{
	int sockets[2];

	for (size_t i = 0; i < CHECK_COUNT(packet_types); i++) {
		packet_pair(packet_types[i], sockets);
		MUST_EQUAL(7, send(sockets[1], "unread", 7, 0));
		MUST_OK(ww_memory_send(victim->memory, WW_ACCESS_WRITE, sockets[0], 0, NULL));
		close(sockets[0]);
		MUST_OK(receive(victim, sockets[1], 0));
		MUST_REFUSE(WW_ERR_PEER_LOST, "", receive(victim, sockets[1], WW_FOREVER));
		close(sockets[1]);
	}
}

static void must_refuse_socket(struct victim *victim, int socket, ww_status status)
{
	MUST_REFUSE(status, "",
		ww_memory_send(victim->memory, WW_ACCESS_WRITE, socket, WW_FOREVER, NULL));
	MUST_REFUSE(status, "", receive(victim, socket, WW_FOREVER));
}

/* The other end is closed: no signal, but a status, however long we would have waited. */
VICTIM_CASE(refuse_closed_socket, WW_CAP_EXPORT)
{
	int sockets[2];

	for (size_t i = 0; i < CHECK_COUNT(packet_types); i++) {
		packet_pair(packet_types[i], sockets);
		close(sockets[0]);
		must_refuse_socket(victim, sockets[1], WW_ERR_PEER_LOST);
		must_refuse_socket(victim, sockets[1], WW_ERR_PEER_LOST);
		close(sockets[1]);
		must_refuse_socket(victim, sockets[1], WW_ERR_DESCRIPTOR);
	}
}

VICTIM_CASE(refuse_no_socket, WW_CAP_EXPORT)
{
	int pipes[2];
	OWN(fd) int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	MUST_CALL(file);
	MUST_CALL(pipe2(pipes, O_CLOEXEC));
	must_refuse_socket(victim, pipes[0], WW_ERR_DESCRIPTOR);
	must_refuse_socket(victim, file, WW_ERR_DESCRIPTOR);
	must_refuse_socket(victim, -1, WW_ERR_DESCRIPTOR);
	must_refuse_socket(victim, INT32_MAX, WW_ERR_DESCRIPTOR);
	close(pipes[0]);
	close(pipes[1]);
}

/* A pair of TCP sockets that are connected to each other. */
static void connect_tcp(int out_sockets[2])
{
	struct sockaddr_in address = {.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof(address);
	OWN(fd) int listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int connected;

	out_sockets[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	MUST_CALL(bind(listening, (struct sockaddr *)&address, length));
	MUST_CALL(listen(listening, 1));
	MUST_CALL(getsockname(listening, (struct sockaddr *)&address, &length));
	connected = connect(out_sockets[0], (struct sockaddr *)&address, length);
	if (connected < 0 && errno == ENETUNREACH)
		check_skip("there is no loopback network, as where packages are built");
	MUST_CALL(connected);
	out_sockets[1] = accept4(listening, NULL, NULL, SOCK_CLOEXEC);
	MUST_CALL(out_sockets[1]);
}

CASE(refuse_other_sockets, WW_CAP_EXPORT)
{
	int sockets[2];
	int udp;
	ENDED_BY(victim_end) struct victim victim;

	connect_tcp(sockets);
	udp = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	victim_make(&victim, WW_MEMORY_VMM);
	must_refuse_socket(&victim, sockets[0], WW_ERR_DESCRIPTOR);
	MUST_CALL(udp);
	must_refuse_socket(&victim, udp, WW_ERR_DESCRIPTOR);
	close(udp);
	pair_close(sockets);
}

/* It does not tell whoever waits that its peer is gone. */
VICTIM_CASE(refuse_datagram_socket, WW_CAP_EXPORT)
{
	int sockets[2];

	packet_pair(SOCK_DGRAM, sockets);
	must_refuse_socket(victim, sockets[0], WW_ERR_DESCRIPTOR);
	pair_close(sockets);
}

/* A socket that listens, too, is connected to nobody. */
VICTIM_CASE(refuse_unconnected_socket, WW_CAP_EXPORT)
{
	for (size_t i = 0; i < CHECK_COUNT(packet_types); i++) {
		int alone = socket(AF_UNIX, packet_types[i] | SOCK_CLOEXEC, 0);

		MUST_CALL(alone);
		must_refuse_socket(victim, alone, WW_ERR_DESCRIPTOR);
		MUST_CALL(bind(alone, &(struct sockaddr){.sa_family = AF_UNIX},
			sizeof(sa_family_t))); /* a name of the kernel's choice */
		MUST_CALL(listen(alone, 1));
		must_refuse_socket(victim, alone, WW_ERR_DESCRIPTOR);
		close(alone);
	}
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

VICTIM_CASE(receive_times_out, WW_CAP_EXPORT)
{
	struct ww_error before;
	int sockets[2];

	before = *ww_error_last();
	for (size_t i = 0; i < CHECK_COUNT(packet_types); i++) {
		uint64_t start;

		packet_pair(packet_types[i], sockets);
		MUST_STATUS(WW_TIMED_OUT, receive(victim, sockets[1], 0));
		start = now_ns();
		MUST_STATUS(WW_TIMED_OUT, receive(victim, sockets[1], 20000000));
		MUST(now_ns() - start >= 20000000);
		MUST_MATCH(&before, ww_error_last(), sizeof(before)); /* an outcome, no failure */
		MUST_OK(ww_memory_send(victim->memory, WW_ACCESS_WRITE, sockets[0], 0, NULL));
		MUST_OK(receive(victim, sockets[1], 0));
		pair_close(sockets);
	}
}

/* A message that is refused is gone. */
VICTIM_CASE(receive_refuses_access_not_granted, WW_CAP_EXPORT)
{
	int sockets[2];

	packet_pair(SOCK_SEQPACKET, sockets);
	MUST_OK(ww_memory_send(victim->memory, WW_ACCESS_READ, sockets[0], 0, NULL));
	MUST_REFUSE(WW_ERR_ACCESS, "read", receive(victim, sockets[1], 0));
	MUST_STATUS(WW_TIMED_OUT, receive(victim, sockets[1], 0));
	pair_close(sockets);
}
