/* SPDX-License-Identifier: Apache-2.0 */
/*
 * messages.c - requests to a broker, right and slightly wrong, see messages.h
 */
#include "fuzz/messages.h"

#include <string.h>

#include "wire/name.h"

#define IDS 4

#define NAMES (sizeof(names) / sizeof(names[0]))

static const char *const names[] = {"a", "a/b", "a/b/c", "ab", "~0/x", "b", "", "../x", "\xff"};

const char *const message_names[MESSAGE_NAMES] = {"a", "a/b", "a/b/c", "ab", "~0/x", "b"};

static uint8_t secrets[IDS][WW_WIRE_ID_BYTES];

bool draw_one_in(uint32_t many)
{
	return draw_below(many) == many - 1;
}

/* A value in its range, nearly always. */
static uint32_t pick(uint32_t first, uint32_t last)
{
	return draw_one_in(50) ? draw_below(256) : first + draw_below(last - first + 1);
}

static void pick_id(uint8_t id[WW_WIRE_ID_BYTES])
{
	memset(id, 0, WW_WIRE_ID_BYTES);
	id[0] = (uint8_t)(1 + draw_below(IDS));
}

/* Names inside the objects that pick_id() names. */
static void pick_inside(char *name)
{
	uint8_t id[WW_WIRE_ID_BYTES];

	pick_id(id);
	ww_name_begin_inside(id, name);
	strcpy(name + WW_NAME_INSIDE_CHARS, draw_one_in(2) ? "a" : "b/c");
}

static void pick_name(const struct message_side *side, char *name)
{
	if (side->has_pages && draw_one_in(4))
		pick_inside(name);
	else
		strcpy(name,
			names[draw_one_in(20) ? draw_below(NAMES) : draw_below(MESSAGE_NAMES + 1)]);
}

static size_t make_hello(struct message_side *side, const struct ww_wire_header *header,
	uint8_t *packet)
{
	struct ww_wire_hello hello = {
		.watcher = draw_one_in(8),
		.least = WW_WIRE_LEAST,
		.most = draw_one_in(8) ? WW_WIRE_LEAST : WW_WIRE_VERSION,
		.program = "fuzz",
	};

	side->version = hello.most;
	memcpy(hello.process_id, side->process_id, sizeof(hello.process_id));
	return ww_wire_encode_hello(&hello, WW_WIRE_LEAST, header, packet, MESSAGE_BYTES);
}

/* With a signal page the put is of a pool; else it names a part of one. */
static void make_pool(const struct message_side *side, struct ww_wire_put *put)
{
	put->state = WW_WIRE_STATE_SHARED;
	if (side->is_page) {
		put->fd_access[1] = 3;
		return;
	}
	put->life = WW_WIRE_LIFE_OWNER;
	put->ttl_ns = 0;
	put->part = 1 + put->bytes % 3;
}

static size_t make_put(const struct message_side *side, const struct ww_wire_header *header,
	uint8_t *packet)
{
	struct ww_wire_put put = {
		.kind = (uint16_t)pick(1, 7),
		.state = (uint8_t)pick(1, 3),
		.life = (uint8_t)(1 + draw_below(3)),
		.flags = draw_one_in(3) ? WW_WIRE_PUT_FLAG_REPLACE : 0,
		.mode = draw_one_in(50) ? 07777 : 0600,
		.gid = UINT32_MAX,
		.bytes = draw_one_in(20) ? draw_number() : draw_below(16384),
		.description_bytes = (uint16_t)draw_below(401),
	};

	pick_id(put.id);
	pick_name(side, put.name);
	for (uint16_t i = 0; i < header->fd_count && i < WW_WIRE_FDS; i++)
		put.fd_access[i] = (uint8_t)pick(1, 3);
	if (side->is_page)
		memcpy(put.fd_access, (const uint8_t[]){4, 1}, 2);
	if (put.life == WW_WIRE_LIFE_KEPT && draw_one_in(2))
		put.ttl_ns = 1 + draw_below(MESSAGE_BRIEF_NS);
	if (put.kind == WW_WIRE_KIND_POOL)
		make_pool(side, &put);
	return ww_wire_encode_put(&put, side->version, header, packet, MESSAGE_BYTES);
}

static size_t make_get(const struct message_side *side, const struct ww_wire_header *header,
	uint8_t *packet)
{
	struct ww_wire_get get = {.access = (uint8_t)(1 + draw_below(2)),
		.flags = pick(0, 3),
		.owner = draw_below(2)};

	pick_name(side, get.name);
	return ww_wire_encode_get(&get, side->version, header, packet, MESSAGE_BYTES);
}

static size_t make_import(const struct message_side *side, const struct ww_wire_header *header,
	uint8_t *packet)
{
	struct ww_wire_import import = {.access = (uint8_t)(1 + draw_below(2))};

	pick_id(import.id);
	memcpy(import.secret, secrets[import.id[0] - 1], sizeof(import.secret));
	if (draw_one_in(10))
		import.secret[draw_below(16)] ^= 1;
	return ww_wire_encode_import(&import, side->version, header, packet, MESSAGE_BYTES);
}

static size_t make_export(struct message_side *side, const struct ww_wire_header *header,
	uint8_t *packet)
{
	struct ww_wire_export message = {.access = (uint8_t)(1 + draw_below(2)),
		.uses = draw_below(3),
		.escrow_ns = draw_one_in(20) ? draw_number() | UINT64_C(1) << 63
					     : draw_below(MESSAGE_BRIEF_NS),
		.flags = draw_below(20) / 9,
		.most_count = draw_below(9),
		.most_bytes = draw_one_in(9) ? draw_number() : 0};

	pick_id(message.id);
	memset(message.secret, (int)draw_below(256), sizeof(message.secret));
	side->exported = (uint8_t)(message.id[0] - 1);
	return ww_wire_encode_export(&message, side->version, header, packet, MESSAGE_BYTES);
}

/* The requests that name an object by its id alone. */
static size_t make_by_id(const struct message_side *side, uint16_t code,
	const struct ww_wire_header *header, uint8_t *packet)
{
	struct ww_wire_seal seal = {.state = (uint8_t)pick(2, 3)};
	struct ww_wire_release release;
	struct ww_wire_revoke revoke;
	struct ww_wire_held held[3];
	struct ww_wire_confirm confirm = {.last = (uint8_t)draw_below(2),
		.held = {.count = draw_below(4), .items = held}};

	pick_id(seal.id);
	memcpy(release.id, seal.id, sizeof(release.id));
	memcpy(revoke.id, seal.id, sizeof(revoke.id));
	for (size_t i = 0; i < 3; i++)
		pick_id(held[i].id);
	if (code == WW_WIRE_SEAL)
		return ww_wire_encode_seal(&seal, side->version, header, packet, MESSAGE_BYTES);
	if (code == WW_WIRE_RELEASE)
		return ww_wire_encode_release(&release, side->version, header, packet,
			MESSAGE_BYTES);
	if (code == WW_WIRE_REVOKE)
		return ww_wire_encode_revoke(&revoke, side->version, header, packet, MESSAGE_BYTES);
	return ww_wire_encode_confirm(&confirm, side->version, header, packet, MESSAGE_BYTES);
}

static size_t make_of_parts(const struct message_side *side, uint16_t code,
	const struct ww_wire_header *header, uint8_t *packet)
{
	struct ww_wire_renumber renumber = {.from = draw_below(4), .to = draw_below(4)};
	struct ww_wire_parts parts;

	pick_id(renumber.id);
	memcpy(parts.id, renumber.id, sizeof(parts.id));
	if (code == WW_WIRE_RENUMBER)
		return ww_wire_encode_renumber(&renumber, side->version, header, packet,
			MESSAGE_BYTES);
	return ww_wire_encode_parts(&parts, side->version, header, packet, MESSAGE_BYTES);
}

static size_t make_by_name(const struct message_side *side, uint16_t code,
	const struct ww_wire_header *header, uint8_t *packet)
{
	struct ww_wire_remove message = {.flags = draw_one_in(30)};
	struct ww_wire_stat stat = {{0}};
	struct ww_wire_list list = {.cursor = draw_one_in(10) ? draw_number() : 0,
		.unnamed = (uint8_t)draw_below(3)};
	struct ww_wire_watch watch = {.flags = pick(0, 1)};

	pick_name(side, message.name);
	strcpy(stat.name, message.name);
	strcpy(list.prefix, message.name);
	strcpy(watch.prefix, message.name);
	if (code == WW_WIRE_REMOVE)
		return ww_wire_encode_remove(&message, side->version, header, packet,
			MESSAGE_BYTES);
	if (code == WW_WIRE_STAT)
		return ww_wire_encode_stat(&stat, side->version, header, packet, MESSAGE_BYTES);
	if (code == WW_WIRE_LIST)
		return ww_wire_encode_list(&list, side->version, header, packet, MESSAGE_BYTES);
	return ww_wire_encode_watch(&watch, side->version, header, packet, MESSAGE_BYTES);
}

/* What monitors ask for, since version 7. */
static size_t make_for_monitor(const struct message_side *side, uint16_t code,
	const struct ww_wire_header *header, uint8_t *packet)
{
	const struct ww_wire_totals totals = {.cursor = draw_one_in(4) ? draw_number() : 0};
	const struct ww_wire_largest largest = {
		.after_bytes = draw_one_in(2) ? UINT64_MAX : draw_below(100000),
		.after_generation = draw_below(100),
		.most = (uint16_t)pick(0, 66),
		.uid = draw_one_in(2) ? UINT32_MAX : 0,
		.kind = (uint16_t)draw_below(4),
	};
	const struct ww_wire_largest_holders holders = {
		.after_bytes = largest.after_bytes,
		.after_number = largest.after_generation,
		.most = largest.most,
		.uid = largest.uid,
	};
	struct ww_wire_object_holds holds = {.generation = draw_below(100),
		.cursor = draw_one_in(10) ? draw_number() : 0};

	struct ww_wire_loss loss;

	pick_id(holds.id);
	pick_id(loss.id);
	if (code == WW_WIRE_LOSS)
		return ww_wire_encode_loss(&loss, side->version, header, packet, MESSAGE_BYTES);
	if (code == WW_WIRE_TOTALS)
		return ww_wire_encode_totals(&totals, side->version, header, packet, MESSAGE_BYTES);
	if (code == WW_WIRE_LARGEST)
		return ww_wire_encode_largest(&largest, side->version, header, packet,
			MESSAGE_BYTES);
	if (code == WW_WIRE_LARGEST_HOLDERS)
		return ww_wire_encode_largest_holders(&holders, side->version, header, packet,
			MESSAGE_BYTES);
	return ww_wire_encode_object_holds(&holds, side->version, header, packet, MESSAGE_BYTES);
}

static size_t make_other(const struct message_side *side, uint16_t code,
	const struct ww_wire_header *header, uint8_t *packet)
{
	const struct ww_wire_holders holders = {.cursor = draw_one_in(10) ? draw_number() : 0};
	const struct ww_wire_holds holds = {.cursor = holders.cursor};
	const struct ww_wire_reserve reserve = {.bytes = draw_below(80000), .fd_count = pick(0, 8)};
	const struct ww_wire_cancel cancel = {.waiting = header->serial - draw_below(8)};
	const struct ww_wire_status status = {0};
	const struct ww_wire_recall recall = {.number = draw_below(30),
		.older_ns = draw_below(MESSAGE_BRIEF_NS)};

	if (code >= WW_WIRE_TOTALS && side->version >= 7)
		return make_for_monitor(side, code, header, packet);
	if (code == WW_WIRE_RECALL && side->version >= 6)
		return ww_wire_encode_recall(&recall, side->version, header, packet, MESSAGE_BYTES);
	if (code == WW_WIRE_HOLDERS)
		return ww_wire_encode_holders(&holders, side->version, header, packet,
			MESSAGE_BYTES);
	if (code == WW_WIRE_HOLDS)
		return ww_wire_encode_holds(&holds, side->version, header, packet, MESSAGE_BYTES);
	if (code == WW_WIRE_RESERVE)
		return ww_wire_encode_reserve(&reserve, side->version, header, packet,
			MESSAGE_BYTES);
	if (code == WW_WIRE_CANCEL)
		return ww_wire_encode_cancel(&cancel, side->version, header, packet, MESSAGE_BYTES);
	return ww_wire_encode_status(&status, side->version, header, packet, MESSAGE_BYTES);
}

size_t message_make(struct message_side *side, uint16_t code, const struct ww_wire_header *header,
	uint8_t packet[MESSAGE_BYTES])
{
	switch (code) {
	case WW_WIRE_HELLO:
		return make_hello(side, header, packet);
	case WW_WIRE_PUT:
		return make_put(side, header, packet);
	case WW_WIRE_GET:
		return make_get(side, header, packet);
	case WW_WIRE_IMPORT:
		return make_import(side, header, packet);
	case WW_WIRE_EXPORT:
		return make_export(side, header, packet);
	case WW_WIRE_SEAL:
	case WW_WIRE_RELEASE:
	case WW_WIRE_REVOKE:
	case WW_WIRE_CONFIRM:
		return make_by_id(side, code, header, packet);
	case WW_WIRE_PARTS:
	case WW_WIRE_RENUMBER:
		return make_of_parts(side, code, header, packet);
	case WW_WIRE_REMOVE:
	case WW_WIRE_STAT:
	case WW_WIRE_LIST:
	case WW_WIRE_WATCH:
		return make_by_name(side, code, header, packet);
	default:
		return make_other(side, code, header, packet);
	}
}

void message_damage(uint8_t *packet, size_t *bytes)
{
	switch (draw_below(4)) {
	case 0:
		packet[draw_below((uint32_t)*bytes)] ^= (uint8_t)(1U << draw_below(8));
		break;
	case 1:
		packet[draw_below((uint32_t)*bytes)] = (uint8_t)draw_number();
		break;
	case 2:
		*bytes = 1 + draw_below((uint32_t)*bytes);
		break;
	default:
		*bytes += 1 + draw_below(16);
		break;
	}
}

uint16_t message_code(void)
{
	static const uint16_t often[] = {WW_WIRE_PUT, WW_WIRE_PUT, WW_WIRE_PUT, WW_WIRE_GET,
		WW_WIRE_GET, WW_WIRE_SEAL, WW_WIRE_RELEASE, WW_WIRE_EXPORT, WW_WIRE_IMPORT,
		WW_WIRE_REMOVE};

	if (draw_one_in(2))
		return often[draw_below(sizeof(often) / sizeof(often[0]))];
	return (uint16_t)(2 + draw_below(WW_WIRE_RENUMBER - 1));
}

void message_listen(const struct message_side *side, const uint8_t *packet, size_t bytes)
{
	struct ww_wire_header header;
	struct ww_wire_exported exported;

	if (ww_wire_read_header(packet, bytes, 0, &header) == WW_OK &&
		header.code == WW_WIRE_EXPORTED &&
		ww_wire_decode_exported(packet, bytes, side->version, &exported) == WW_OK)
		memcpy(secrets[side->exported], exported.secret, sizeof(exported.secret));
}
