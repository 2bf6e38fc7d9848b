/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hostile.c - processes that do to the broker, and to pages that they may write, what they like
 *
 *   soak --role hostile BOARD NUMBER SEED KIND
 *
 *   messages     requests that are right and slightly wrong (fuzz/messages.c), some never read
 *   bytes        packets of random bytes, and ends in the middle
 *   descriptors  many descriptors at once, of all kinds
 *   deaf         asks for long answers and reads none
 *
 * A forger (main.c) does operations, and between them scribble_pages.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "fuzz/messages.h"
#include "soak/board.h"
#include "support/raw_client.h"
#include "support/scribble.h"

#define PEERS     6
#define FDS       5
#define FDS_MOST  8
#define BYTES_MAX 2048

struct peer {
	struct raw raw;
	struct message_side side;
	bool is_open;
	bool is_deaf;
	bool is_greeted;
};

static struct peer peers[PEERS];
/* else descriptors in flight, which the kernel counts for each user, would harm the others */
static bool is_other_user;
static int fds[FDS]; /* memory, memory, an event, an inotify, a plain file */

/* An operation of forgers; for all others it is nothing. */
OP(scribble_pages, 20)
{
	if (soak.is_forger)
		scribble_pages(64, draw_number);
}

/* Declared here, counted by soak.py: an operation that is never drawn. */
OP(hostile_message, 0)
{
}

/* --- connections --- */

static void close_peer(struct peer *peer)
{
	if (peer->is_open)
		raw_close(&peer->raw);
	peer->is_open = false;
}

/* While a broker is started anew there is none for a moment, and full is full. */
static bool open_peer(struct peer *peer)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	uint64_t number[2] = {draw_number(), draw_number()};
	const char *path = getenv("WARPWAY_BROKER");

	MUST(path && strlen(path) < sizeof(address.sun_path));
	strcpy(address.sun_path, path);
	*peer = (struct peer){.is_deaf = draw_one_in(6)};
	peer->raw.socket = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	MUST_CALL(peer->raw.socket);
	if (connect(peer->raw.socket, (const struct sockaddr *)&address, sizeof(address))) {
		close(peer->raw.socket);
		sched_yield();
		return false;
	}
	memcpy(peer->side.process_id, number, sizeof(peer->side.process_id));
	peer->side.version = WW_WIRE_VERSION;
	peer->is_open = true;
	return true;
}

static void listen_to(struct peer *peer)
{
	static uint8_t in[WW_WIRE_PACKET_BYTES];
	int got[WW_PACKET_FDS];
	size_t count;
	size_t bytes;
	ww_status status;

	do {
		status = ww_packet_receive(peer->raw.socket, in, sizeof(in), &bytes, got, &count);
		while (count > 0)
			close(got[--count]);
		if (status == WW_OK)
			message_listen(&peer->side, in, bytes);
	} while (status == WW_OK);
	if (status != WW_NOT_READY)
		close_peer(peer);
}

static void send_to(struct peer *peer, const void *packet, size_t bytes, const int *sent,
	size_t count)
{
	ww_status status = ww_packet_send(peer->raw.socket, packet, bytes, sent, count);

	board_count_one();
	if (status == WW_ERR_PEER_LOST)
		close_peer(peer);
	else if (!peer->is_deaf)
		listen_to(peer);
	if (draw_one_in(200))
		close_peer(peer);
}

static bool greet(struct peer *peer)
{
	static uint8_t packet[MESSAGE_BYTES + 16];
	const struct ww_wire_header header = {.serial = 1};
	size_t bytes;

	if (peer->is_greeted)
		return true;
	peer->is_greeted = true;
	peer->raw.serial = 1;
	bytes = message_make(&peer->side, WW_WIRE_HELLO, &header, packet);
	send_to(peer, packet, bytes, NULL, 0);
	return peer->is_open;
}

/* --- what they send --- */

static void send_message(struct peer *peer)
{
	static uint8_t packet[MESSAGE_BYTES + 16];
	struct ww_wire_header header = {.flags = draw_one_in(20)};
	uint16_t code = message_code();
	int sent[FDS_MOST];
	size_t bytes;

	if (!greet(peer))
		return;
	header.serial = ++peer->raw.serial;
	header.fd_count = (uint16_t)(code == WW_WIRE_PUT && is_other_user ? draw_below(4) : 0);
	for (uint16_t i = 0; i < header.fd_count; i++)
		sent[i] = fds[draw_below(draw_one_in(10) ? FDS : 2)];
	memset(packet, 0, sizeof(packet));
	bytes = message_make(&peer->side, code, &header, packet);
	if (bytes == 0)
		return;
	if (draw_one_in(60))
		message_damage(packet, &bytes);
	send_to(peer, packet, bytes, sent, header.fd_count);
}

static void send_bytes(struct peer *peer)
{
	uint64_t packet[BYTES_MAX / 8];
	size_t bytes = 1 + draw_below(sizeof(packet));

	if (draw_one_in(2) && !greet(peer))
		return;
	for (size_t i = 0; i < BYTES_MAX / 8; i++)
		packet[i] = draw_number();
	send_to(peer, packet, bytes, NULL, 0);
}

static void send_descriptors(struct peer *peer)
{
	static uint8_t packet[MESSAGE_BYTES];
	struct ww_wire_header header = {.fd_count = WW_WIRE_FDS};
	int sent[WW_WIRE_FDS];
	size_t bytes;

	if (!greet(peer))
		return;
	header.serial = ++peer->raw.serial;
	memset(packet, 0, sizeof(packet));
	bytes = message_make(&peer->side, WW_WIRE_PUT, &header, packet);
	for (size_t i = 0; i < WW_WIRE_FDS; i++)
		sent[i] = draw_one_in(3) ? eventfd(0, EFD_CLOEXEC) : dup(fds[draw_below(FDS)]);
	if (bytes > 0)
		send_to(peer, packet, bytes, sent, WW_WIRE_FDS);
	for (size_t i = 0; i < WW_WIRE_FDS; i++)
		close(sent[i]);
}

static void ask_and_be_deaf(struct peer *peer)
{
	static uint8_t packet[MESSAGE_BYTES];
	static const uint16_t codes[] = {WW_WIRE_LIST, WW_WIRE_HOLDERS, WW_WIRE_HOLDS,
		WW_WIRE_TOTALS, WW_WIRE_WATCH};
	struct ww_wire_header header = {.flags = 0};
	size_t bytes;

	peer->is_deaf = true;
	if (!greet(peer))
		return;
	header.serial = ++peer->raw.serial;
	bytes = message_make(&peer->side, codes[draw_below(CHECK_COUNT(codes))], &header, packet);
	if (bytes > 0)
		send_to(peer, packet, bytes, NULL, 0);
}

static const struct {
	const char *name;
	void (*send)(struct peer *peer);
} kinds[] = {
	{"messages", send_message},
	{"bytes", send_bytes},
	{"descriptors", send_descriptors},
	{"deaf", ask_and_be_deaf},
};

ROLE(hostile)
{
	uint64_t seed;
	size_t kind = 0;
	uint32_t op = board_find_op("hostile_message");

	MUST_EQUAL(4, count);
	alarm(0);
	board_map(arguments[0]);
	soak.number = (uint32_t)strtoul(arguments[1], NULL, 10);
	seed = strtoull(arguments[2], NULL, 10);
	while (kind < CHECK_COUNT(kinds) && strcmp(kinds[kind].name, arguments[3]) != 0)
		kind++;
	MUST(kind < CHECK_COUNT(kinds));
	is_other_user = geteuid() == 0;
	board_become_hostile();
	fds[0] = raw_memory(4096);
	fds[1] = raw_memory(8192);
	fds[2] = eventfd(0, EFD_CLOEXEC);
	fds[3] = inotify_init1(IN_CLOEXEC);
	fds[4] = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	for (uint64_t index = 1; !soak_is_over(); index++) {
		struct peer *peer;

		board_seed(seed, index);
		board_note(soak.number, index, op);
		peer = &peers[draw_below(PEERS)];
		if (peer->is_open || open_peer(peer))
			kinds[kind].send(peer);
	}
}

/* Takes out what hostile processes named: a damaged packet may have chosen any name. */
ROLE(clear)
{
	struct ww_object_info info = WW_INIT(struct ww_object_info);
	ww_snapshot *snapshot;
	ww_broker *broker;

	board_become_hostile();
	MUST_OK(ww_broker_open(NULL, &broker));
	MUST_OK(ww_snapshot_create(broker, "", WW_SNAPSHOT_OBJECTS, &snapshot));
	for (size_t i = 0; ww_snapshot_object(snapshot, i, &info) == WW_OK; i++)
		if (strncmp(info.name, "kept/", 5) != 0)
			(void)ww_broker_remove(broker, info.name);
	ww_snapshot_free(snapshot);
	ww_broker_unref(broker);
}
