/* SPDX-License-Identifier: Apache-2.0 */
/*
 * connection.c - one connection to a broker, see connection.h
 *
 * connect(2) to a socket with a path waits while the listener's queue is full; SO_SNDTIMEO limits
 * that time. All other calls are non-blocking with ppoll() between them.
 *
 * To close a socket does not end the connection while a child made by fork() has the socket open,
 * so it is shut down first.
 *
 * A child made by fork() closes its copies of all sockets, so that it can neither send by them nor
 * keep the parent's connections open.
 *
 * If a broker is killed while it reads a hello, its supervisor starts it again. So a connection
 * that ends without an answer is tried again. The attempts are limited, because the process that
 * listens may be no broker.
 */
#include "client/connection.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/process.h"
#include "base/close_async.h"

#define HELLO_SERIAL 1
#define PACKET_BYTES 1024 /* hello, welcome and error are shorter */

static pthread_mutex_t sockets_lock WW_PER_PROCESS = PTHREAD_MUTEX_INITIALIZER;
static struct ww_list connections = WW_LIST_INIT(connections); /* under sockets_lock */

static void sockets_stop(void)
{
	pthread_mutex_lock(&sockets_lock);
}

static void sockets_go_on(void)
{
	pthread_mutex_unlock(&sockets_lock);
}

/* In the child: no thread is in the midst of changing the list. */
static void sockets_close(void)
{
	ww_list_for_each (link, &connections) {
		struct ww_connection *connection = ww_container(link, struct ww_connection, link);

		connection->socket = ww_fd_close(connection->socket);
	}
	ww_list_init(&connections);
}

__attribute__((constructor)) static void sockets_watch_fork(void)
{
	ww_assert(pthread_atfork(sockets_stop, sockets_go_on, sockets_close) == 0);
}

struct ww_connection *ww_connection_ref(struct ww_connection *connection)
{
	ww_ref_get(&connection->ref);
	return connection;
}

struct ww_connection *ww_connection_unref(struct ww_connection *connection)
{
	if (!connection || !ww_ref_put(&connection->ref))
		return NULL;
	pthread_mutex_lock(&sockets_lock);
	ww_list_remove(&connection->link);
	pthread_mutex_unlock(&sockets_lock);
	ww_connection_shut(connection);
	ww_fd_close(connection->socket);
	free(connection);
	return NULL;
}

void ww_connection_shut(struct ww_connection *connection)
{
	shutdown(connection->socket, SHUT_RDWR);
}

void ww_arrival_drop(struct ww_arrival *arrival)
{
	while (arrival->fd_count > 0)
		ww_close_async(arrival->fds[--arrival->fd_count]);
}

ww_status ww_connection_wait(struct ww_connection *connection, short events, uint64_t deadline_ns)
{
	return ww_fd_wait(connection->socket, events, deadline_ns, "a broker");
}

ww_status ww_connection_send(struct ww_connection *connection, const void *packet, size_t bytes,
	uint64_t deadline_ns)
{
	for (;;) {
		ww_status status = ww_packet_send(connection->socket, packet, bytes, NULL, 0);

		if (status != WW_NOT_READY)
			return status;
		status = ww_connection_wait(connection, POLLOUT, deadline_ns);
		if (status != WW_OK)
			return status;
	}
}

/* So that every descriptor that is accepted can be closed without hanging. */
static ww_status check_descriptors(const struct ww_arrival *arrival)
{
	for (size_t i = 0; i < arrival->fd_count; i++) {
		if (!ww_close_async_is_local(arrival->fds[i]))
			return ww_fail(WW_ERR_DESCRIPTOR,
				"the broker sent a descriptor that is neither memory nor a device, but a file of a "
				"kind that may hang the process that closes it");
	}
	return WW_OK;
}

ww_status ww_connection_take(struct ww_connection *connection, void *packet, size_t room,
	struct ww_arrival *out_arrival)
{
	ww_status status;

	memset(packet, 0, WW_WIRE_HEADER_BYTES);
	memset(&out_arrival->header, 0, sizeof(out_arrival->header));
	status = ww_packet_receive(connection->socket, packet, room, &out_arrival->bytes,
		out_arrival->fds, &out_arrival->fd_count);
	if (status == WW_END)
		status = ww_fail(WW_ERR_PEER_LOST, "the broker has closed the connection");
	if (status == WW_ERR_LIMIT) {
		struct ww_error record;

		/*
		 * If this process can open no more descriptors, the kernel still delivers the bytes
		 * of the packet. Its header says which request it answers.
		 */
		ww_error_save(&record);
		(void)ww_wire_read_header(packet, room, 0, &out_arrival->header);
		out_arrival->bytes = out_arrival->header.bytes <= room ? out_arrival->header.bytes
								       : 0;
		ww_error_restore(&record);
	}
	if (status == WW_OK)
		status = ww_wire_read_header(packet, out_arrival->bytes, out_arrival->fd_count,
			&out_arrival->header);
	if (status == WW_ERR_DESCRIPTOR) /* the kernel could not deliver the descriptors */
		status = ww_fail(WW_ERR_PROTOCOL, "the broker's descriptors cannot be received");
	if (status == WW_ERR_TRUNCATED)
		status = ww_fail(WW_ERR_PROTOCOL, "the broker sent a packet that is cut short");
	if (status == WW_OK)
		status = check_descriptors(out_arrival);
	if (status != WW_OK)
		ww_arrival_drop(out_arrival);
	return status;
}

ww_status ww_connection_receive(struct ww_connection *connection, void *packet, size_t room,
	uint64_t deadline_ns, struct ww_arrival *out_arrival)
{
	for (;;) {
		ww_status status = ww_connection_wait(connection, POLLIN, deadline_ns);

		if (status == WW_OK)
			status = ww_connection_take(connection, packet, room, out_arrival);
		if (status != WW_NOT_READY)
			return status;
	}
}

/* As ww_fail(), of another domain. */
WW_PRINTF(4, 5)
static ww_status fail_native(ww_status status, int32_t domain, int64_t native, const char *format,
	...)
{
	va_list arguments;

	va_start(arguments, format);
	ww_fail_native(status, domain, native, NULL, NULL, format, arguments);
	va_end(arguments);
	return status;
}

ww_status ww_connection_fail(const void *packet, size_t bytes, uint16_t version)
{
	struct ww_wire_error answer;
	char *text;

	if (ww_wire_decode_error(packet, bytes, version, &answer) < 0)
		return ww_fail(WW_ERR_PROTOCOL,
			"the broker refused a request, but how cannot be read");
	if (answer.status >= 0 || strcmp(ww_status_name(answer.status), "WW_UNKNOWN") == 0)
		return ww_fail(WW_ERR_PROTOCOL,
			"the broker refused a request with status %" PRId32
			", which this library (%s) does not know",
			answer.status, WW_VERSION);
	/* Another process wrote the text, and it may be printed to a terminal. */
	text = answer.message;
	for (; *text; text++) {
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			*text = '?';
	}
	if (answer.domain != WW_DOMAIN_ERRNO)
		answer.domain = WW_DOMAIN_WARPWAY;
	return fail_native(answer.status, answer.domain, answer.native, "%s",
		answer.message[0] ? answer.message : ww_status_text(answer.status));
}

static ww_status fail_absent(int error, const struct ww_address *address, bool *out_is_absent)
{
	char remedy[WW_ADVICE_BYTES];

	*out_is_absent = true;
	ww_address_advise(address, remedy);
	return ww_fail_errno_as(WW_ERR_NO_BROKER, error, remedy, "no broker listens at %s",
		address->path);
}

/* Whether connect(2) failed because /proc, by which it goes through the folder, is missing. */
static bool lacks_proc(int error, int folder)
{
	return error == ENOENT && folder >= 0 && access("/proc/thread-self/fd", F_OK) < 0 &&
		errno == ENOENT;
}

static ww_status fail_connect(int error, const struct ww_address *address, bool *out_is_absent)
{
	const char *path = address->path;

	switch (error) {
	case ENOENT:
	case ENOTDIR:
	case ECONNREFUSED:
		return fail_absent(error, address, out_is_absent);
	case EAGAIN: /* the listener's queue is full */
		return ww_cancel_is_pending() ? WW_CANCELLED : WW_TIMED_OUT;
	case EACCES:
	case EPERM:
		return ww_fail_errno_as(WW_ERR_ACCESS, error,
			"ask who runs it to let this user into the folder and the socket",
			"cannot connect to the broker at %s", path);
	case EPROTOTYPE:
		return ww_fail_errno_as(WW_ERR_PROTOCOL, error, NULL,
			"the process that listens at %s is not a broker", path);
	default:
		return ww_fail_errno(error, NULL, "cannot connect to the broker at %s", path);
	}
}

/* SO_SNDTIMEO of 0 means no limit. So if no time is left, the socket is made non-blocking. */
static void limit_connect(int fd, uint64_t deadline_ns)
{
	struct timeval limit = {0, 0};
	struct timespec left;

	if (ww_clock_left(deadline_ns, &left)) {
		limit.tv_sec = left.tv_sec;
		limit.tv_usec = left.tv_nsec / 1000;
		if (limit.tv_sec == 0 && limit.tv_usec == 0)
			(void)fcntl(fd, F_SETFL, O_NONBLOCK);
	}
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
}

/* Whether to connect again: a signal came, or the time until the ww_cancel is checked is over. */
static bool is_interrupted(int error, uint64_t deadline_ns)
{
	return error == EINTR ||
		(error == EAGAIN && ww_cancel_is_given() && ww_cancel_check(deadline_ns) == WW_OK);
}

/* @folder: as opened for this address. Return: WW_OK; WW_TIMED_OUT; WW_CANCELLED; an error. */
static ww_status connect_through(const struct ww_connection *connection,
	const struct ww_address *address, int folder, uint64_t deadline_ns, bool *out_is_absent)
{
	const struct sockaddr_un name = ww_address_socket(address, folder);
	int result;
	int error;

	do {
		limit_connect(connection->socket, ww_cancel_sleep_end_ns(deadline_ns));
		result = connect(connection->socket, (const struct sockaddr *)&name, sizeof(name));
		error = errno;
	} while (result < 0 && is_interrupted(error, deadline_ns));
	if (result < 0 && lacks_proc(error, folder))
		return ww_fail(WW_ERR_NO_BROKER,
			"cannot tell without /proc who listens at %s; mount it, or set WARPWAY_BROKER to the "
			"broker you mean",
			address->path);
	return result < 0 ? fail_connect(error, address, out_is_absent) : WW_OK;
}

/* Return: as connect_through(). */
static ww_status connect_socket(struct ww_connection *connection, const struct ww_address *address,
	uint64_t deadline_ns, bool *out_is_absent)
{
	socklen_t length = sizeof(struct ucred);
	WW_AUTO_FD int folder = -1;
	struct ucred peer;
	ww_status status = ww_address_open_folder(address, &folder);

	ww_try(status);
	if (status == WW_END)
		return fail_absent(ENOENT, address, out_is_absent);
	status = connect_through(connection, address, folder, deadline_ns, out_is_absent);
	if (status == WW_OK &&
		getsockopt(connection->socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0)
		connection->uid = peer.uid;
	return status;
}

static ww_status open_socket(int *out_fd)
{
	WW_AUTO_FD int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return ww_fail_errno(errno, NULL, "cannot make a socket to a broker");
	ww_try(ww_fd_adopt(&fd));
	*out_fd = ww_fd_steal(&fd);
	return WW_OK;
}

/*
 * Not connected yet. The socket is made and listed in one step, so that there is none which a child
 * made by fork() does not close.
 * Return: NULL: the record is filled.
 */
static struct ww_connection *connection_new(void)
{
	struct ww_connection *connection = calloc(1, sizeof(*connection));
	ww_status status;

	if (!connection) {
		ww_fail(WW_ERR_NO_MEMORY, "cannot keep a connection: out of memory");
		return NULL;
	}
	ww_ref_init(&connection->ref);
	connection->uid = UINT32_MAX;
	pthread_mutex_lock(&sockets_lock);
	status = open_socket(&connection->socket);
	if (status == WW_OK)
		ww_list_append(&connections, &connection->link);
	pthread_mutex_unlock(&sockets_lock);
	if (status == WW_OK)
		return connection;
	free(connection);
	return NULL;
}

static ww_status send_hello(struct ww_connection *connection, const struct ww_caller *caller,
	uint64_t deadline_ns)
{
	const struct ww_wire_header header = {.serial = HELLO_SERIAL};
	struct ww_wire_hello hello = {
		.least = WW_WIRE_LEAST,
		.most = WW_WIRE_VERSION,
		.watcher = caller->is_watcher,
	};
	uint8_t packet[PACKET_BYTES];
	size_t bytes;

	memcpy(hello.process_id, caller->process_id, sizeof(hello.process_id));
	snprintf(hello.program, sizeof(hello.program), "%s", program_invocation_short_name);
	bytes = ww_wire_encode_hello(&hello, WW_WIRE_VERSION, &header, packet, sizeof(packet));
	ww_assert(bytes > 0);
	return ww_connection_send(connection, packet, bytes, deadline_ns);
}

ww_status ww_connection_connect(const struct ww_address *address, const struct ww_caller *caller,
	uint64_t deadline_ns, struct ww_connection **out_connection, bool *out_is_absent)
{
	WW_AUTO_CONNECTION struct ww_connection *connection = NULL;
	ww_status status;

	*out_connection = NULL;
	*out_is_absent = false;
	if (ww_cancel_is_nowait())
		return WW_CANCELLED;
	connection = connection_new();
	if (!connection) {
		status = ww_error_last()->status;
		ww_assert(status < 0); /* it was filled just now */
		return status;
	}
	status = connect_socket(connection, address, deadline_ns, out_is_absent);
	if (status != WW_OK)
		return status;
	ww_try(ww_address_check_peer(address, connection->uid));
	status = send_hello(connection, caller, deadline_ns);
	/*
	 * A broker may refuse a connection and close it before it has read the hello. Then its
	 * answer can still be received.
	 */
	if (status == WW_ERR_PEER_LOST && ww_connection_wait(connection, POLLIN, 0) == WW_OK)
		status = WW_OK;
	if (status != WW_OK)
		return status;
	*out_connection = ww_steal(connection);
	return WW_OK;
}

ww_status ww_connection_receive_welcome(struct ww_connection *connection,
	const struct ww_address *address, uint64_t deadline_ns)
{
	const struct ww_wire_welcome *welcome = &connection->welcome;
	struct ww_arrival arrival;
	uint8_t packet[PACKET_BYTES];
	ww_status status = ww_connection_receive(connection, packet, sizeof(packet), deadline_ns,
		&arrival);

	if (status != WW_OK)
		return status;
	ww_arrival_drop(&arrival);
	if (arrival.header.code == WW_WIRE_ERROR)
		return ww_connection_fail(packet, arrival.bytes, WW_WIRE_VERSION);
	if (arrival.header.code != WW_WIRE_WELCOME || arrival.header.serial != HELLO_SERIAL ||
		ww_wire_decode_welcome(packet, arrival.bytes, WW_WIRE_VERSION,
			&connection->welcome) < 0)
		return ww_fail(WW_ERR_PROTOCOL,
			"the process that listens at %s is not a broker: it does not answer like one",
			address->path);
	if (welcome->version < WW_WIRE_LEAST || welcome->version > WW_WIRE_VERSION)
		return ww_fail(WW_ERR_VERSION,
			"the broker at %s chose version %u of the protocol, this library (%s) speaks %d to %d; "
			"use one version of Warpway for both",
			address->path, welcome->version, WW_VERSION, WW_WIRE_LEAST,
			WW_WIRE_VERSION);
	ww_log_debug("connected to the broker at %s, protocol %u, restarts %" PRIu32, address->path,
		welcome->version, welcome->restarts);
	return WW_OK;
}

ww_status ww_connection_fail_open(const struct ww_address *address, ww_status status)
{
	if (status == WW_ERR_PEER_LOST)
		return ww_fail(WW_ERR_NO_BROKER,
			"the process that listens at %s closed each of %d connections without an answer",
			address->path, WW_CONNECTION_ATTEMPTS);
	if (status == WW_TIMED_OUT)
		return ww_fail(WW_ERR_NO_BROKER,
			"the broker at %s did not answer in time; is it stopped, or very busy?",
			address->path);
	return status;
}

ww_status ww_connection_open(const struct ww_address *address, const struct ww_caller *caller,
	uint64_t deadline_ns, struct ww_connection **out_connection, bool *out_is_absent)
{
	ww_status status = WW_ERR_PEER_LOST;

	for (int i = 0; i < WW_CONNECTION_ATTEMPTS && status == WW_ERR_PEER_LOST; i++) {
		status = ww_connection_connect(address, caller, deadline_ns, out_connection,
			out_is_absent);
		if (status == WW_OK)
			status = ww_connection_receive_welcome(*out_connection, address,
				deadline_ns);
		if (status != WW_OK)
			*out_connection = ww_connection_unref(*out_connection);
	}
	return ww_connection_fail_open(address, status);
}
