/* SPDX-License-Identifier: Apache-2.0 */
/*
 * protocol_client.c - a client that does nothing but speak the protocol, see protocol_client.h
 *
 * The only file of the tool that includes the codec.
 */
#include "bench/protocol_client.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include "common/packet.h"
#include "common/cleanup.h"
#include "common/say.h"
#include "wire/protocol.h"

/* For one answer: a broker that is silent for so long has failed. */
#define PATIENCE_S 60

/* All but pages are far shorter. */
#define REQUEST_BYTES 1024
#define ANSWER_BYTES  2048

static struct ww_wire_header next_header(struct client *client, uint16_t fd_count)
{
	if (++client->serial == 0)
		client->serial = 1;
	return (struct ww_wire_header){.serial = client->serial, .fd_count = fd_count};
}

static int make_id(uint8_t out_id[RAW_ID_BYTES])
{
	if (getrandom(out_id, RAW_ID_BYTES, 0) != RAW_ID_BYTES)
		return complain("the kernel gives no random bytes: %s", strerror(errno));
	return 0;
}

static int set_name(const char *name, char out[WW_WIRE_NAME_BYTES])
{
	if (snprintf(out, WW_WIRE_NAME_BYTES, "%s", name) >= WW_WIRE_NAME_BYTES)
		return complain("the name %s is too long", name);
	return 0;
}

static int send_request(struct client *client, const void *packet, size_t bytes, int fd)
{
	if (packet_send(client->socket, packet, bytes, fd, 0))
		return complain("cannot ask the broker: %s", strerror(errno));
	return 0;
}

static int refuse_answer(const void *packet, size_t bytes, uint16_t code, uint16_t version)
{
	struct ww_wire_error error;

	if (ww_wire_decode_error(packet, bytes, version, &error) == WW_OK)
		return complain("the broker refuses: %s", error.message);
	return complain("the broker answers something else than %s", ww_wire_name(code));
}

/* Takes the answer to the last request. @out_fd: the caller's; NULL: none may come. */
static int receive_answer(struct client *client, uint16_t code, void *packet, size_t room,
	size_t *out_bytes, int *out_fd)
{
	struct ww_wire_header header;
	OWN(fd) int fd = -1;
	ssize_t count = packet_receive(client->socket, packet, room, &fd, 0);

	*out_bytes = count > 0 ? (size_t)count : 0;
	if (count <= 0)
		return complain("the broker does not answer: %s",
			count ? strerror(errno) : "the connection has ended");
	if (ww_wire_read_header(packet, (size_t)count, fd >= 0, &header) != WW_OK)
		return complain_record("the broker's answer is not one");
	if (header.code != code || header.serial != client->serial)
		return refuse_answer(packet, (size_t)count, code, client->version);
	if (out_fd) {
		*out_fd = fd;
		fd = -1;
	}
	return 0;
}

static int receive_done(struct client *client)
{
	uint8_t packet[ANSWER_BYTES];
	size_t bytes;

	return receive_answer(client, WW_WIRE_DONE, packet, sizeof(packet), &bytes, NULL);
}

static int connect_to(struct client *client, const char *address)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	const struct timeval patience = {.tv_sec = PATIENCE_S};

	if (snprintf(name.sun_path, sizeof(name.sun_path), "%s", address) >=
		(int)sizeof(name.sun_path))
		return complain("the address %s is too long", address);
	client->socket = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (client->socket < 0)
		return complain("cannot make a socket: %s", strerror(errno));
	setsockopt(client->socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	if (connect(client->socket, (const struct sockaddr *)&name, sizeof(name)))
		return complain("cannot connect to %s: %s", address, strerror(errno));
	return 0;
}

static int greet(struct client *client, bool is_watcher)
{
	struct ww_wire_hello hello = {
		.least = WW_WIRE_LEAST,
		.most = WW_WIRE_VERSION,
		.watcher = is_watcher,
		.program = "warpway bench",
	};
	struct ww_wire_header header = next_header(client, 0);
	struct ww_wire_welcome welcome;
	uint8_t packet[ANSWER_BYTES];
	size_t bytes;

	if (make_id(hello.process_id))
		return -1;
	bytes = ww_wire_encode_hello(&hello, WW_WIRE_LEAST, &header, packet, sizeof(packet));
	if (send_request(client, packet, bytes, -1) ||
		receive_answer(client, WW_WIRE_WELCOME, packet, sizeof(packet), &bytes, NULL))
		return -1;
	if (ww_wire_decode_welcome(packet, bytes, WW_WIRE_LEAST, &welcome) != WW_OK)
		return complain_record("the broker's welcome cannot be read");
	client->version = welcome.version;
	return 0;
}

int client_open(struct client *client, const char *address, bool is_watcher)
{
	*client = (struct client)CLIENT_NONE;
	client->version = WW_WIRE_LEAST;
	if (connect_to(client, address) == 0 && greet(client, is_watcher) == 0)
		return 0;
	client_close(client);
	return -1;
}

void client_close(struct client *client)
{
	if (client->socket >= 0)
		close(client->socket);
	client->socket = -1;
}

int client_put_also(struct client *client, const char *name, uint64_t bytes, int fd,
	const uint8_t id[RAW_ID_BYTES])
{
	struct ww_wire_put put = {
		.kind = WW_WIRE_KIND_MEMORY,
		.state = WW_WIRE_STATE_SEALED,
		.life = WW_WIRE_LIFE_HELD,
		.mode = 0444,
		.gid = UINT32_MAX,
		.bytes = bytes,
		.fd_access = {fd >= 0},
	};
	struct ww_wire_header header = next_header(client, fd >= 0);
	uint8_t packet[REQUEST_BYTES];
	size_t length;

	if (set_name(name, put.name))
		return -1;
	memcpy(put.id, id, RAW_ID_BYTES);
	length = ww_wire_encode_put(&put, client->version, &header, packet, sizeof(packet));
	return send_request(client, packet, length, fd) || receive_done(client) ? -1 : 0;
}

int client_put(struct client *client, const char *name, uint64_t bytes, int fd,
	uint8_t out_id[RAW_ID_BYTES])
{
	return make_id(out_id) || client_put_also(client, name, bytes, fd, out_id) ? -1 : 0;
}

int client_get(struct client *client, const char *name, uint8_t out_id[RAW_ID_BYTES], int *out_fd)
{
	struct ww_wire_get get = {.access = WW_WIRE_ACCESS_READ};
	struct ww_wire_header header = next_header(client, 0);
	struct ww_wire_granted granted;
	uint8_t packet[ANSWER_BYTES];
	size_t bytes;

	*out_fd = -1;
	if (set_name(name, get.name))
		return -1;
	bytes = ww_wire_encode_get(&get, client->version, &header, packet, sizeof(packet));
	if (send_request(client, packet, bytes, -1) ||
		receive_answer(client, WW_WIRE_GRANTED, packet, sizeof(packet), &bytes, out_fd))
		return -1;
	if (ww_wire_decode_granted(packet, bytes, client->version, &granted) != WW_OK)
		return complain_record("what the broker grants cannot be read");
	memcpy(out_id, granted.id, RAW_ID_BYTES);
	return 0;
}

int client_release(struct client *client, const uint8_t id[RAW_ID_BYTES])
{
	struct ww_wire_header header = next_header(client, 0);
	struct ww_wire_release release;
	uint8_t packet[REQUEST_BYTES];
	size_t bytes;

	memcpy(release.id, id, RAW_ID_BYTES);
	bytes = ww_wire_encode_release(&release, client->version, &header, packet, sizeof(packet));
	return send_request(client, packet, bytes, -1) || receive_done(client) ? -1 : 0;
}

int client_ask(struct client *client, const char *name)
{
	struct ww_wire_header header = next_header(client, 0);
	uint8_t packet[REQUEST_BYTES];
	struct ww_wire_stat stat;
	size_t bytes;

	if (set_name(name, stat.name))
		return -1;
	bytes = ww_wire_encode_stat(&stat, client->version, &header, packet, sizeof(packet));
	return send_request(client, packet, bytes, -1);
}

int client_hear(struct client *client)
{
	uint8_t packet[ANSWER_BYTES];
	struct ww_wire_described described;
	size_t bytes;

	if (receive_answer(client, WW_WIRE_DESCRIBED, packet, sizeof(packet), &bytes, NULL))
		return -1;
	if (ww_wire_decode_described(packet, bytes, client->version, &described) != WW_OK)
		return complain_record("what the broker describes cannot be read");
	return 0;
}

int client_stat(struct client *client, const char *name)
{
	return client_ask(client, name) || client_hear(client) ? -1 : 0;
}

/* One page. @cursor: that of the next one on return. */
static int list_page(struct client *client, const char *prefix, uint64_t *cursor, uint64_t *count)
{
	static uint8_t packet[WW_WIRE_PACKET_BYTES];
	struct ww_wire_header header = next_header(client, 0);
	struct ww_wire_list list = {.cursor = *cursor};
	struct ww_wire_listing listing;
	struct ww_wire_entry entry;
	size_t bytes;

	if (set_name(prefix, list.prefix))
		return -1;
	bytes = ww_wire_encode_list(&list, client->version, &header, packet, sizeof(packet));
	if (send_request(client, packet, bytes, -1) ||
		receive_answer(client, WW_WIRE_LISTING, packet, sizeof(packet), &bytes, NULL))
		return -1;
	if (ww_wire_decode_listing(packet, bytes, client->version, &listing) != WW_OK)
		return complain_record("the broker's list cannot be read");
	while (ww_wire_entry_next(&listing.entries, &entry))
		(*count)++;
	*cursor = listing.next;
	return 0;
}

int client_list(struct client *client, const char *prefix, uint64_t *out_count)
{
	uint64_t cursor = 0;

	*out_count = 0;
	do {
		if (list_page(client, prefix, &cursor, out_count))
			return -1;
	} while (cursor);
	return 0;
}

int client_watch(struct client *client, const char *prefix)
{
	struct ww_wire_header header = next_header(client, 0);
	struct ww_wire_watch watch = {0};
	uint8_t packet[REQUEST_BYTES];
	size_t bytes;

	if (set_name(prefix, watch.prefix))
		return -1;
	bytes = ww_wire_encode_watch(&watch, client->version, &header, packet, sizeof(packet));
	return send_request(client, packet, bytes, -1) || receive_done(client) ? -1 : 0;
}

int client_next(struct client *client, enum client_event *out_event)
{
	uint8_t packet[ANSWER_BYTES];
	struct ww_wire_event event;
	OWN(fd) int fd = -1;
	ssize_t count = packet_receive(client->socket, packet, sizeof(packet), &fd, 0);

	if (count <= 0)
		return complain("the broker tells nothing: %s",
			count ? strerror(errno) : "the connection has ended");
	if (ww_wire_decode_event(packet, (size_t)count, client->version, &event) != WW_OK)
		return complain_record("the broker's event cannot be read");
	*out_event = event.what == WW_WIRE_WHAT_PUT ? CLIENT_PUT
		: event.what == WW_WIRE_WHAT_GONE   ? CLIENT_GONE
						    : CLIENT_OTHER;
	return 0;
}
