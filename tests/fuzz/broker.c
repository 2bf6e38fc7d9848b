/* SPDX-License-Identifier: Apache-2.0 */
/*
 * broker.c - random sequences of messages, right and slightly wrong, from several connections to a
 * real warpwayd
 *
 * Some connections never read, some end in the middle of things. After each round the daemon must
 * be the same process as before, answer, and hold nothing.
 *
 *   TARGET             WW_FUZZ_ROUNDS rounds (default 200), each from its own number
 *   WW_FUZZ_SECONDS=N  goes on for so long instead
 *   WW_FUZZ_SEED=N     begins with round N, to run one again
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <warpway/broker.h>

#include "base/clock.h"
#include "fuzz/messages.h"
#include "support/broker.h"
#include "support/check.h"
#include "support/child.h"
#include "support/raw_client.h"
#include "support/splitmix.h"

#define ROUNDS   200
#define STEPS    1500
#define PEERS    8
#define FDS_MOST 10

#define ROUND_SECONDS 60

/* Longer than any wait of this program, and a damaged packet can ask for it. */
#define LONG_NS UINT64_C(660000000000)

/* An escrow ends with its time and nothing else: none may outlast the look for what is left. */
static const char config[] = "[broker]\n"
			     "escrow_max_s = 1\n"
			     "[limits]\n"
			     "objects = 12\n"
			     "bytes = 64K\n"
			     "fds = 24\n"
			     "holds = 30\n"
			     "waits = 10\n"
			     "watches = 3\n"
			     "connections = 12\n";

struct peer {
	struct raw raw;
	bool is_open;
	bool is_deaf;
	uint16_t code; /* of the last request */
	struct message_side side;
};

static struct broker daemon_;
static struct peer peers[PEERS];
static int fds[4]; /* memory, memory, an event, a plain file */
static uint64_t state;

uint64_t draw_number(void)
{
	return splitmix_next(&state);
}

uint32_t draw_below(uint32_t limit)
{
	return (uint32_t)(draw_number() % limit);
}

/* --- one connection --- */

static void close_peer(struct peer *peer)
{
	if (peer->is_open)
		raw_close(&peer->raw);
	peer->is_open = false;
}

static void open_peer(struct peer *peer)
{
	uint8_t *process_id = peer->side.process_id;
	uint64_t number[2] = {draw_number(), draw_number()};

	raw_connect(&peer->raw, daemon_.address);
	memcpy(process_id, number, sizeof(peer->side.process_id));
	if (draw_one_in(6)) /* another connection of the same process */
		memcpy(process_id, peers[draw_below(PEERS)].side.process_id,
			sizeof(peer->side.process_id));
	peer->side.version = WW_WIRE_VERSION;
	peer->is_open = true;
	peer->is_deaf = draw_one_in(6);
	peer->raw.serial = draw_one_in(10) ? UINT32_MAX - draw_below(4) : 0;
	peer->code = 0;
}

/* Reads what there is. */
static void listen_to(struct peer *peer)
{
	struct raw *raw = &peer->raw;

	while (peer->is_open && !raw_is_silent(raw)) {
		if (raw_receive(raw) != WW_OK) {
			close_peer(peer);
			return;
		}
		message_listen(&peer->side, raw->in, raw->bytes);
	}
}

static size_t pick_fds(uint16_t code, int out[FDS_MOST])
{
	size_t count = code == WW_WIRE_PUT ? draw_below(4) : 0;

	if (draw_one_in(60))
		count = draw_below(WW_WIRE_FDS + 1);
	for (size_t i = 0; i < count; i++)
		out[i] = fds[draw_one_in(15) ? 3 : draw_below(3)];
	return count;
}

static void step(struct peer *peer)
{
	static uint8_t packet[MESSAGE_BYTES + 16];
	struct ww_wire_header header = {.flags = draw_one_in(10)};
	int sent[FDS_MOST];
	size_t bytes;

	if (!peer->is_open)
		open_peer(peer);
	if (peer->code == 0 && !draw_one_in(30))
		peer->code = WW_WIRE_HELLO;
	else
		peer->code = message_code();
	peer->raw.serial += draw_one_in(30) ? 0 : 1;
	header.serial = peer->raw.serial;
	header.fd_count = (uint16_t)pick_fds(peer->code, sent);
	memset(packet, 0, sizeof(packet));
	bytes = message_make(&peer->side, peer->code, &header, packet);
	if (bytes == 0)
		return;
	if (draw_one_in(60))
		message_damage(packet, &bytes);
	/* Full is full: a deaf one is not read from for ever. */
	if (ww_packet_send(peer->raw.socket, packet, bytes, sent, header.fd_count) ==
		WW_ERR_PEER_LOST)
		close_peer(peer);
	if (!peer->is_deaf)
		listen_to(peer);
	if (draw_one_in(200))
		close_peer(peer);
}

/* --- one round --- */

static void clear_names(struct raw *raw)
{
	for (size_t i = 0; i < MESSAGE_NAMES; i++) {
		ww_status status = raw_end(raw, message_names[i]);

		MUST(status == WW_OK || status == WW_ERR_NOT_FOUND);
	}
}

/* A damaged packet may have given an object a name of its own. */
static void clear_other_names(void)
{
	struct ww_object_info info = WW_INIT(struct ww_object_info);
	ww_snapshot *snapshot;
	ww_broker *broker;

	/* While there is no room for a connection the former ones have not ended yet. */
	if (ww_broker_open(WW_PARAMS(struct ww_broker_params, .flags = WW_BROKER_NO_START,
				   .address = daemon_.address),
		    &broker) < 0)
		return;
	MUST_OK(ww_snapshot_create(broker, "", WW_SNAPSHOT_OBJECTS | WW_SNAPSHOT_UNNAMED,
		&snapshot));
	for (size_t i = 0; ww_snapshot_object(snapshot, i, &info) == WW_OK; i++) {
		check_note("left: '%s', state %u, life %u, %u holders", info.name, info.state,
			info.life, info.holders);
		if (info.name[0])
			(void)ww_broker_remove(broker, info.name);
	}
	ww_snapshot_free(snapshot);
	ww_broker_unref(broker);
}

/* Nothing is left, but for what ends in a moment. */
static void must_be_empty(struct raw *raw, uint64_t open_fds)
{
	uint64_t deadline_ns = ww_clock_deadline_ns((uint64_t)child_limit_ms() * 1000000);
	struct ww_wire_condition now;

	for (uint32_t looks = 0;; looks++) {
		clear_names(raw);
		if (looks % 1000 == 999)
			clear_other_names();
		MUST_OK(raw_condition(raw, &now));
		MUST_EQUAL(0, now.restarts);
		if (now.objects == 0 && now.holders == 1 && now.holds == 0 && now.waits == 0 &&
			now.fds == 0 && now.bytes == 0 && now.open_fds == open_fds)
			return;
		if (ww_clock_now_ns() >= deadline_ns)
			break;
	}
	FAIL("left are %llu objects, %llu holders, %llu holds, %llu waits, %llu descriptors, %llu open",
		(unsigned long long)now.objects, (unsigned long long)now.holders,
		(unsigned long long)now.holds, (unsigned long long)now.waits,
		(unsigned long long)now.fds, (unsigned long long)now.open_fds);
}

/*
 * A round trip of @raw now and then lets the daemon keep up, which serves each connection in its
 * turn.
 */
static void run_round(struct raw *raw, uint64_t seed, uint64_t open_fds)
{
	struct ww_wire_condition condition;

	for (uint64_t i = 0; i < STEPS; i++) {
		/*
		 * What a step draws depends on no answer of the daemon, which comes sooner or
		 * later.
		 */
		state = seed << 32 | i << 16;
		step(&peers[draw_below(PEERS)]);
		if (i % 2)
			MUST_OK(raw_condition(raw, &condition));
	}
	for (size_t i = 0; i < PEERS; i++)
		close_peer(&peers[i]);
	must_be_empty(raw, open_fds);
}

static uint64_t number_from(const char *variable, uint64_t otherwise)
{
	const char *value = getenv(variable);

	return value ? strtoull(value, NULL, 10) : otherwise;
}

/* What would make must_be_empty() wait for longer than it does. */
static void no_long_escrow(void)
{
	struct ww_wire_put put = raw_object("");
	static struct raw raw;
	uint8_t secret[16];

	raw_open(&raw, daemon_.address);
	MUST_OK(raw_put(&raw, &put, NULL, 0));
	MUST_REFUSE(WW_ERR_INVALID, "escrow_max_s",
		raw_export(&raw, put.id, 1, 0, LONG_NS, secret));
	raw_close(&raw);
}

CASE(sequences, 0)
{
	static struct raw raw;
	struct ww_wire_condition condition;
	uint64_t first = number_from("WW_FUZZ_SEED", 1);
	uint64_t seconds = number_from("WW_FUZZ_SECONDS", 0);
	uint64_t rounds = number_from("WW_FUZZ_ROUNDS", seconds ? UINT64_MAX : ROUNDS);
	uint64_t deadline_ns = ww_clock_deadline_ns(seconds ? seconds * 1000000000 : WW_NEVER);
	uint64_t done = 0;

	fds[0] = raw_memory(4096);
	fds[1] = raw_memory(8192);
	fds[2] = eventfd(0, EFD_CLOEXEC);
	fds[3] = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	broker_start(&daemon_, &(struct broker_options){.config = config});
	no_long_escrow();
	raw_open(&raw, daemon_.address);
	MUST_OK(raw_condition(&raw, &condition));
	for (; done < rounds && ww_clock_now_ns() < deadline_ns; done++) {
		check_note("round %llu", (unsigned long long)(first + done));
		alarm(ROUND_SECONDS * check_slowness()); /* a hang of one, not of all */
		run_round(&raw, first + done, condition.open_fds);
	}
	check_note("%llu rounds", (unsigned long long)done);
	raw_close(&raw);
	broker_stop(&daemon_);
	for (size_t i = 0; i < CHECK_COUNT(fds); i++)
		close(fds[i]);
}

CHECK_MAIN(check_main, .name = "fuzz-broker", .leaks = true)
