/* SPDX-License-Identifier: Apache-2.0 */
/*
 * broker.c - random sequences of messages, right and slightly wrong, from several connections to a real warpwayd
 *
 * Names, ids and serials come from small sets, so that the connections get in each other's way. Some connections never
 * read, some end in the middle of things. After each round the daemon must be the same process as before, answer,
 * and hold nothing.
 *
 *   TARGET             WW_FUZZ_ROUNDS rounds (default 200), each from its own number
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
#include "support/broker.h"
#include "support/check.h"
#include "support/child.h"
#include "support/raw.h"

#define ROUNDS   200
#define STEPS    1500
#define PEERS    8
#define IDS      4
#define FDS_MOST 10
#define ROOM     4096

/* Objects that would stay for a while do so for this long at most. */
#define BRIEF_NS UINT64_C(3000000)

static const char config[] = "[limits]\n"
			     "objects = 12\n"
			     "bytes = 64K\n"
			     "fds = 24\n"
			     "holds = 30\n"
			     "waits = 10\n"
			     "watches = 3\n"
			     "connections = 12\n";

static const char *const names[] = {"a", "a/b", "a/b/c", "ab", "~0/x", "b", "", "../x", "\xff"};

/* Those that an object can have. */
#define NAMES_GOOD 6

struct peer {
	struct raw raw;
	bool is_open;
	bool is_deaf;
	uint16_t code;    /* of the last request */
	uint8_t exported; /* the id of the last export */
};

static struct broker daemon_;
static struct peer peers[PEERS];
static uint8_t secrets[IDS][WW_WIRE_ID_BYTES];
static int fds[4]; /* memory, memory, an event, a plain file */
static uint64_t state;

static uint64_t random_next(void)
{
	uint64_t z = state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

static uint32_t below(uint32_t limit)
{
	return (uint32_t)(random_next() % limit);
}

static bool one_in(uint32_t many)
{
	return below(many) == 0;
}

/* A value in its range, nearly always. */
static uint32_t pick(uint32_t first, uint32_t last)
{
	return one_in(50) ? below(256) : first + below(last - first + 1);
}

static void pick_id(uint8_t id[WW_WIRE_ID_BYTES])
{
	memset(id, 0, WW_WIRE_ID_BYTES);
	id[0] = (uint8_t)(1 + below(IDS));
}

static void pick_name(char *name)
{
	strcpy(name, names[one_in(20) ? below(CHECK_COUNT(names)) : below(NAMES_GOOD + 1)]);
}

/* --- one message --- */

static size_t make_put(const struct ww_wire_header *header, uint8_t *packet)
{
	struct ww_wire_put put = {
		.kind = (uint16_t)pick(1, 6),
		.state = (uint8_t)pick(1, 3),
		.life = (uint8_t)(1 + below(3)),
		.flags = one_in(3) ? WW_WIRE_PUT_FLAG_REPLACE : 0,
		.mode = one_in(50) ? 07777 : 0600,
		.gid = UINT32_MAX,
		.bytes = one_in(20) ? random_next() : below(16384),
		.description_bytes = (uint16_t)below(401),
	};

	pick_id(put.id);
	pick_name(put.name);
	for (uint16_t i = 0; i < header->fd_count && i < WW_WIRE_FDS; i++)
		put.fd_access[i] = (uint8_t)pick(1, 3);
	if (put.life == WW_WIRE_LIFE_KEPT && one_in(2))
		put.ttl_ns = 1 + below(BRIEF_NS);
	return ww_wire_encode_put(&put, 1, header, packet, ROOM);
}

static size_t make_get(const struct ww_wire_header *header, uint8_t *packet)
{
	struct ww_wire_get get = {.access = (uint8_t)(1 + below(2)),
		.flags = pick(0, 3),
		.owner = below(2)};

	pick_name(get.name);
	return ww_wire_encode_get(&get, 1, header, packet, ROOM);
}

static size_t make_import(const struct ww_wire_header *header, uint8_t *packet)
{
	struct ww_wire_import import = {.access = (uint8_t)(1 + below(2))};

	pick_id(import.id);
	memcpy(import.secret, secrets[import.id[0] - 1], sizeof(import.secret));
	if (one_in(10))
		import.secret[below(16)] ^= 1;
	return ww_wire_encode_import(&import, 1, header, packet, ROOM);
}

static size_t make_export(struct peer *peer, const struct ww_wire_header *header, uint8_t *packet)
{
	struct ww_wire_export message = {.access = (uint8_t)(1 + below(2)),
		.uses = below(3),
		.escrow_ns = one_in(20) ? random_next() | UINT64_C(1) << 63 : below(BRIEF_NS)};

	pick_id(message.id);
	peer->exported = (uint8_t)(message.id[0] - 1);
	return ww_wire_encode_export(&message, 1, header, packet, ROOM);
}

/* The requests that name an object by its id alone. */
static size_t make_by_id(uint16_t code, const struct ww_wire_header *header, uint8_t *packet)
{
	struct ww_wire_seal seal = {.state = (uint8_t)pick(2, 3)};
	struct ww_wire_release release;
	struct ww_wire_held held[3];
	struct ww_wire_confirm confirm = {.last = (uint8_t)below(2),
		.held = {.count = below(4), .items = held}};

	pick_id(seal.id);
	memcpy(release.id, seal.id, sizeof(release.id));
	for (size_t i = 0; i < 3; i++)
		pick_id(held[i].id);
	if (code == WW_WIRE_SEAL)
		return ww_wire_encode_seal(&seal, 1, header, packet, ROOM);
	if (code == WW_WIRE_RELEASE)
		return ww_wire_encode_release(&release, 1, header, packet, ROOM);
	return ww_wire_encode_confirm(&confirm, 1, header, packet, ROOM);
}

static size_t make_by_name(uint16_t code, const struct ww_wire_header *header, uint8_t *packet)
{
	struct ww_wire_remove message = {.flags = one_in(30)};
	struct ww_wire_stat stat = {{0}};
	struct ww_wire_list list = {.cursor = one_in(10) ? random_next() : 0,
		.unnamed = (uint8_t)below(3)};
	struct ww_wire_watch watch = {.flags = pick(0, 1)};

	pick_name(message.name);
	strcpy(stat.name, message.name);
	strcpy(list.prefix, message.name);
	strcpy(watch.prefix, message.name);
	if (code == WW_WIRE_REMOVE)
		return ww_wire_encode_remove(&message, 1, header, packet, ROOM);
	if (code == WW_WIRE_STAT)
		return ww_wire_encode_stat(&stat, 1, header, packet, ROOM);
	if (code == WW_WIRE_LIST)
		return ww_wire_encode_list(&list, 1, header, packet, ROOM);
	return ww_wire_encode_watch(&watch, 1, header, packet, ROOM);
}

static size_t make_other(uint16_t code, const struct ww_wire_header *header, uint8_t *packet)
{
	const struct ww_wire_holders holders = {.cursor = one_in(10) ? random_next() : 0};
	const struct ww_wire_holds holds = {.cursor = holders.cursor};
	const struct ww_wire_reserve reserve = {.bytes = below(80000), .fd_count = pick(0, 8)};
	const struct ww_wire_cancel cancel = {.waiting = header->serial - below(8)};
	const struct ww_wire_status status = {0};

	if (code == WW_WIRE_HOLDERS)
		return ww_wire_encode_holders(&holders, 1, header, packet, ROOM);
	if (code == WW_WIRE_HOLDS)
		return ww_wire_encode_holds(&holds, 1, header, packet, ROOM);
	if (code == WW_WIRE_RESERVE)
		return ww_wire_encode_reserve(&reserve, 1, header, packet, ROOM);
	if (code == WW_WIRE_CANCEL)
		return ww_wire_encode_cancel(&cancel, 1, header, packet, ROOM);
	return ww_wire_encode_status(&status, 1, header, packet, ROOM);
}

static size_t make(struct peer *peer, uint16_t code, const struct ww_wire_header *header,
	uint8_t *packet)
{
	struct ww_wire_hello hello = raw_greeting(&peer->raw);

	hello.watcher = one_in(8);
	switch (code) {
	case WW_WIRE_HELLO:
		return ww_wire_encode_hello(&hello, 1, header, packet, ROOM);
	case WW_WIRE_PUT:
		return make_put(header, packet);
	case WW_WIRE_GET:
		return make_get(header, packet);
	case WW_WIRE_IMPORT:
		return make_import(header, packet);
	case WW_WIRE_EXPORT:
		return make_export(peer, header, packet);
	case WW_WIRE_SEAL:
	case WW_WIRE_RELEASE:
	case WW_WIRE_CONFIRM:
		return make_by_id(code, header, packet);
	case WW_WIRE_REMOVE:
	case WW_WIRE_STAT:
	case WW_WIRE_LIST:
	case WW_WIRE_WATCH:
		return make_by_name(code, header, packet);
	default:
		return make_other(code, header, packet);
	}
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
	uint8_t first = peers[0].raw.process_id[0];

	raw_connect(&peer->raw, daemon_.address);
	if (one_in(6)) /* another connection of the same process */
		memcpy(peer->raw.process_id, peers[first % PEERS].raw.process_id,
			sizeof(peer->raw.process_id));
	peer->is_open = true;
	peer->is_deaf = one_in(6);
	peer->raw.serial = one_in(10) ? UINT32_MAX - below(4) : 0;
	peer->code = 0;
}

/* Reads what there is; the secrets of tokens are for others to use. */
static void listen_to(struct peer *peer)
{
	struct raw *raw = &peer->raw;
	struct ww_wire_exported exported;

	while (peer->is_open && !raw_is_silent(raw)) {
		if (raw_receive(raw) != WW_OK) {
			close_peer(peer);
			return;
		}
		if (raw->header.code == WW_WIRE_EXPORTED &&
			ww_wire_decode_exported(raw->in, raw->bytes, 1, &exported) == WW_OK)
			memcpy(secrets[peer->exported], exported.secret, sizeof(exported.secret));
	}
}

static void damage(uint8_t *packet, size_t *bytes)
{
	switch (below(4)) {
	case 0:
		packet[below((uint32_t)*bytes)] ^= (uint8_t)(1U << below(8));
		break;
	case 1:
		packet[below((uint32_t)*bytes)] = (uint8_t)random_next();
		break;
	case 2:
		*bytes = 1 + below((uint32_t)*bytes);
		break;
	default:
		*bytes += 1 + below(16);
		break;
	}
}

static size_t pick_fds(uint16_t code, int out[FDS_MOST])
{
	size_t count = code == WW_WIRE_PUT ? below(4) : 0;

	if (one_in(60))
		count = below(WW_WIRE_FDS + 1);
	for (size_t i = 0; i < count; i++)
		out[i] = fds[one_in(15) ? 3 : below(3)];
	return count;
}

static void step(struct peer *peer)
{
	static const uint16_t often[] = {WW_WIRE_PUT, WW_WIRE_PUT, WW_WIRE_PUT, WW_WIRE_GET,
		WW_WIRE_GET, WW_WIRE_SEAL, WW_WIRE_RELEASE, WW_WIRE_EXPORT, WW_WIRE_IMPORT,
		WW_WIRE_REMOVE};
	static uint8_t packet[ROOM + 16];
	struct ww_wire_header header = {.flags = one_in(10)};
	int sent[FDS_MOST];
	size_t bytes;

	if (!peer->is_open)
		open_peer(peer);
	if (peer->code == 0 && !one_in(30))
		peer->code = WW_WIRE_HELLO;
	else
		peer->code = one_in(2) ? often[below(CHECK_COUNT(often))]
				       : (uint16_t)(2 + below(WW_WIRE_STATUS - 1));
	peer->raw.serial += one_in(30) ? 0 : 1;
	header.serial = peer->raw.serial;
	header.fd_count = (uint16_t)pick_fds(peer->code, sent);
	memset(packet, 0, sizeof(packet));
	bytes = make(peer, peer->code, &header, packet);
	if (bytes == 0)
		return;
	if (one_in(60))
		damage(packet, &bytes);
	/* Full is full: a deaf one is not read from for ever. */
	if (ww_packet_send(peer->raw.socket, packet, bytes, sent, header.fd_count) ==
		WW_ERR_PEER_LOST)
		close_peer(peer);
	if (!peer->is_deaf)
		listen_to(peer);
	if (one_in(200))
		close_peer(peer);
}

/* --- one round --- */

static void clear_names(struct raw *raw)
{
	for (size_t i = 0; i < NAMES_GOOD; i++) {
		ww_status status = raw_remove(raw, names[i]);

		MUST(status == WW_OK || status == WW_ERR_NOT_FOUND);
	}
}

/* A damaged packet may have given an object a name of its own. */
static void clear_other_names(void)
{
	const struct ww_broker_params params = {
		.size = sizeof(params),
		.flags = WW_BROKER_NO_START,
		.address = daemon_.address,
	};
	struct ww_object_info info = {.size = sizeof(info)};
	ww_snapshot *snapshot;
	ww_broker *broker;

	/* While there is no room for a connection the former ones have not ended yet. */
	if (ww_broker_open(&params, &broker) < 0)
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

/* A round trip of @raw now and then lets the daemon keep up, which serves each connection in its turn. */
static void run_round(struct raw *raw, uint64_t seed, uint64_t open_fds)
{
	struct ww_wire_condition condition;

	state = seed;
	for (int i = 0; i < STEPS; i++) {
		step(&peers[below(PEERS)]);
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

static void sequences(void)
{
	static struct raw raw;
	struct ww_wire_condition condition;
	uint64_t first = number_from("WW_FUZZ_SEED", 1);
	uint64_t rounds = number_from("WW_FUZZ_ROUNDS", ROUNDS);

	fds[0] = raw_memory(4096);
	fds[1] = raw_memory(8192);
	fds[2] = eventfd(0, EFD_CLOEXEC);
	fds[3] = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	broker_start(&daemon_, &(struct broker_options){.config = config});
	raw_open(&raw, daemon_.address);
	MUST_OK(raw_condition(&raw, &condition));
	for (uint64_t seed = first; seed < first + rounds; seed++) {
		check_note("round %llu", (unsigned long long)seed);
		run_round(&raw, seed, condition.open_fds);
	}
	raw_close(&raw);
	broker_stop(&daemon_);
	for (size_t i = 0; i < CHECK_COUNT(fds); i++)
		close(fds[i]);
}

int main(int argc, char **argv)
{
	static const struct check_case cases[] = {{.name = "sequences", .run = sequences}};
	static const struct check_suite suite = {
		.name = "fuzz-broker",
		.cases = cases,
		.case_count = CHECK_COUNT(cases),
		.leaks = true,
	};

	return check_main(&suite, argc, argv);
}
