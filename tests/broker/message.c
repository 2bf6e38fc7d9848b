/* SPDX-License-Identifier: Apache-2.0 */
/*
 * message.c - messages that are none: too early, too short, too long, unknown, out of range
 *
 * Whoever breaks the protocol is told so and cut off; whoever asks for what cannot be is told so
 * and goes on.
 */
#include "broker/suite.h"

#include <sys/socket.h>
#include <unistd.h>

#include "wire/packet.h"

/* The connection is refused with this status and word, and ends. */
static void must_break(struct raw *raw, ww_status status, const char *word)
{
	MUST_OK(raw_receive(raw));
	MUST_REFUSE(status, word, raw_refusal(raw));
	raw_must_be_closed(raw);
}

static void send_bytes(struct raw *raw, const void *packet, size_t bytes)
{
	MUST_OK(raw_send(raw, packet, bytes, NULL, 0));
}

static void put_u16(uint8_t *at, uint16_t value)
{
	at[0] = (uint8_t)value;
	at[1] = (uint8_t)(value >> 8);
}

static void put_u32(uint8_t *at, uint32_t value)
{
	put_u16(at, (uint16_t)value);
	put_u16(at + 2, (uint16_t)(value >> 16));
}

/* A header alone, with this code. */
static size_t bare(uint8_t packet[WW_WIRE_HEADER_BYTES], uint16_t code)
{
	memset(packet, 0, WW_WIRE_HEADER_BYTES);
	put_u16(packet, code);
	put_u32(packet + 4, 1);
	put_u32(packet + 8, WW_WIRE_HEADER_BYTES);
	return WW_WIRE_HEADER_BYTES;
}

CASE(message_order, 0)
{
	const struct ww_wire_status status = {0};
	struct raw *early = attacker();
	struct raw *twice = peer();
	struct ww_wire_hello hello = raw_greeting(twice);
	uint8_t packet[WW_WIRE_HEADER_BYTES];

	raw_ask(early, status, &status);
	must_break(early, WW_ERR_PROTOCOL, "begins with one hello");
	MUST_EQUAL(1, early->header.serial);

	raw_ask(twice, hello, &hello);
	must_break(twice, WW_ERR_PROTOCOL, "begins with one hello");

	/* In one go, behind each other: the first that is wrong ends it. */
	early = attacker();
	hello = raw_greeting(early);
	send_bytes(early, packet, bare(packet, WW_WIRE_STATUS));
	(void)raw_ask(early, hello, &hello);
	must_break(early, WW_ERR_PROTOCOL, "begins with one hello");
}

static void refuse_versions(uint16_t least, uint16_t most, const char *word)
{
	struct raw *raw = attacker();
	struct ww_wire_hello hello = raw_greeting(raw);

	hello.least = least;
	hello.most = most;
	raw_ask(raw, hello, &hello);
	must_break(raw, WW_ERR_VERSION, word);
}

CASE(message_versions, 0)
{
	struct raw *raw = attacker();
	struct ww_wire_hello hello = raw_greeting(raw);
	struct ww_wire_welcome welcome;

	hello.least = 1;
	hello.most = 9;
	MUST_OK(raw_call(raw, hello, &hello, welcome, &welcome));
	MUST_EQUAL(WW_WIRE_VERSION, welcome.version);
	MUST_EQUAL(WW_WIRE_LEAST, welcome.least);
	MUST_EQUAL(WW_WIRE_VERSION, welcome.most);
	MUST_EQUAL(0, welcome.known);
	refuse_versions(9, 10, "versions 9 to 10");
	refuse_versions(9, 10, "1 to 8");
	refuse_versions(0, 0, "versions 0 to 0");
	refuse_versions(9, 1, "versions 9 to 1");
	refuse_versions(UINT16_MAX, UINT16_MAX, "65535");
}

/* A put with something in every field. */
static size_t whole_put(uint8_t packet[2048])
{
	const struct ww_wire_header header = {.serial = 7};
	struct ww_wire_put put = raw_object("truncated/name");

	put.description_bytes = 40;
	memset(put.description, 'd', 40);
	return ww_wire_encode_put(&put, WW_WIRE_VERSION, &header, packet, 2048);
}

CASE(message_truncated, 0)
{
	uint8_t packet[2048];
	size_t whole = whole_put(packet);

	MUST(whole > 100);
	for (size_t bytes = 1; bytes < whole; bytes++) {
		struct raw *raw = peer();

		send_bytes(raw, packet, bytes);
		MUST_OK(raw_receive(raw));
		MUST_EQUAL(bytes < 8 ? 0 : 7, raw->header.serial);
		MUST_REFUSE(WW_ERR_TRUNCATED, "", raw_refusal(raw));
		raw_must_be_closed(raw);
		/* The same with a header that knows of its shortness. */
		if (bytes < WW_WIRE_HEADER_BYTES)
			continue;
		raw_open(raw, daemon_now->address);
		put_u32(packet + 8, (uint32_t)bytes);
		send_bytes(raw, packet, bytes);
		put_u32(packet + 8, (uint32_t)whole);
		must_break(raw, WW_ERR_TRUNCATED, "");
		suite_settle();
	}
}

CASE(message_oversized, 0)
{
	static uint8_t packet[WW_WIRE_PACKET_BYTES + 1];
	size_t whole = whole_put(packet);
	struct raw *raw = peer();

	/* More than it says; more than its fields; longer than any may be; empty. */
	send_bytes(raw, packet, whole + 1);
	must_break(raw, WW_ERR_PROTOCOL, "");
	raw = peer();
	put_u32(packet + 8, (uint32_t)whole + 1);
	send_bytes(raw, packet, whole + 1);
	must_break(raw, WW_ERR_PROTOCOL, "");
	raw = peer();
	put_u32(packet + 8, UINT32_MAX);
	send_bytes(raw, packet, whole);
	must_break(raw, WW_ERR_TRUNCATED, "");
	raw = peer();
	put_u32(packet + 8, WW_WIRE_PACKET_BYTES);
	send_bytes(raw, packet, WW_WIRE_PACKET_BYTES);
	must_break(raw, WW_ERR_PROTOCOL, "");
	raw = peer();
	put_u32(packet + 8, WW_WIRE_PACKET_BYTES + 1);
	send_bytes(raw, packet, WW_WIRE_PACKET_BYTES + 1);
	must_break(raw, WW_ERR_PROTOCOL, "more than 65536");
	raw = peer();
	MUST_EQUAL(0, send(raw->socket, packet, 0, MSG_NOSIGNAL));
	must_break(raw, WW_ERR_PROTOCOL, "empty");
}

CASE(message_codes, 0)
{
	static const uint16_t codes[] = {0, 27, 28, 50, 99, 100, 119, 200, 202, 255, 256, 257,
		0x0900, UINT16_MAX};
	static const uint16_t replies[] = {WW_WIRE_WELCOME, WW_WIRE_DONE, WW_WIRE_ERROR,
		WW_WIRE_GRANTED, WW_WIRE_CONDITION, WW_WIRE_EVENT};
	uint8_t packet[WW_WIRE_HEADER_BYTES];
	struct raw *raw;

	for (size_t i = 0; i < CHECK_COUNT(codes); i++) {
		raw = peer();
		send_bytes(raw, packet, bare(packet, codes[i]));
		must_break(raw, WW_ERR_PROTOCOL, "");
	}
	/* What the broker says is nothing to say to the broker. */
	for (size_t i = 0; i < CHECK_COUNT(replies); i++) {
		raw = peer();
		send_bytes(raw, packet, bare(packet, replies[i]));
		MUST_OK(raw_receive(raw));
		MUST(raw_refusal(raw) == WW_ERR_PROTOCOL || raw_refusal(raw) == WW_ERR_TRUNCATED);
		raw_must_be_closed(raw);
	}
	/* Flags of the header that nobody knows. */
	for (unsigned int bit = 1; bit < 32; bit++) {
		raw = peer();
		bare(packet, WW_WIRE_STATUS);
		put_u32(packet + 12, UINT32_C(1) << bit);
		send_bytes(raw, packet, sizeof(packet));
		must_break(raw, WW_ERR_PROTOCOL, "");
		if (bit % 8 == 0)
			suite_settle();
	}
}

/* Sends a packet with one byte of it changed, which must break the protocol. */
static void break_byte(const uint8_t *packet, size_t bytes, size_t at, uint8_t value)
{
	static uint8_t changed[2048];
	struct raw *raw = peer();

	memcpy(changed, packet, bytes);
	MUST(at < bytes);
	changed[at] = value;
	send_bytes(raw, changed, bytes);
	must_break(raw, WW_ERR_PROTOCOL, "");
}

/* Values that the codec knows to be impossible. */
CASE(message_values, 0)
{
	const struct ww_wire_header header = {.serial = 3};
	struct ww_wire_put put = raw_object("a-name");
	const struct ww_wire_get get = {.access = WW_WIRE_ACCESS_READ, .name = "a-name"};
	const struct ww_wire_held held = {{0}};
	struct ww_wire_confirm confirm = {.last = 1, .held = {.count = 1, .items = &held}};
	uint8_t packet[2048];
	uint8_t again[2048];
	size_t bytes = ww_wire_encode_put(&put, 1, &header, packet, sizeof(packet));
	size_t at;

	/* Where the life is follows from how the bytes differ. */
	put.life = WW_WIRE_LIFE_KEPT;
	MUST_EQUAL(bytes, ww_wire_encode_put(&put, 1, &header, again, sizeof(again)));
	for (at = 0; packet[at] == again[at];)
		at++;
	break_byte(packet, bytes, at, 0);
	break_byte(packet, bytes, at, 4);
	break_byte(packet, bytes, at, 255);
	/* A zero inside the name; a name and a description longer than they may be. */
	at = bytes - 2 - strlen("a-name");
	MUST_MATCH("a-name", packet + at, 6);
	break_byte(packet, bytes, at + 2, 0);
	break_byte(packet, bytes, at - 1, 0xff);
	break_byte(packet, bytes, bytes - 1, 0xff);
	bytes = ww_wire_encode_get(&get, 1, &header, packet, sizeof(packet));
	break_byte(packet, bytes, WW_WIRE_HEADER_BYTES, 0);
	break_byte(packet, bytes, WW_WIRE_HEADER_BYTES, 3);
	/* A list that says it is longer than it is, and than it may be. */
	bytes = ww_wire_encode_confirm(&confirm, 1, &header, packet, sizeof(packet));
	at = bytes - sizeof(held) - 1;
	MUST(packet[at] == 0);
	break_byte(packet, bytes, at, 0x7f);
	confirm.held.count = 0;
	bytes = ww_wire_encode_confirm(&confirm, 1, &header, packet, sizeof(packet));
	break_byte(packet, bytes, bytes - 1, 1);
}

static void refuse_put(struct raw *raw, const struct ww_wire_put *put, const char *word)
{
	MUST_REFUSE(WW_ERR_INVALID, word, raw_put(raw, put, NULL, 0));
}

/* Values that are well formed and cannot be. */
CASE(message_refused_values, 0)
{
	static const uint8_t states[] = {0, WW_WIRE_STATE_REMOVED, 5, 255};
	struct raw *raw = peer();
	const struct ww_wire_put good = raw_object("good");
	struct ww_wire_put put = good;
	struct ww_wire_get get = {.access = WW_WIRE_ACCESS_READ, .flags = 4, .name = "good"};
	struct ww_wire_remove message = {.flags = 2, .name = "good"};
	struct ww_wire_granted granted;
	struct ww_wire_done done;

	for (size_t i = 0; i < CHECK_COUNT(states); i++) {
		put = good;
		put.state = states[i];
		refuse_put(raw, &put, "put as writing");
		MUST_REFUSE(WW_ERR_INVALID, "writing ends as", raw_seal(raw, put.id, states[i]));
	}
	MUST_REFUSE(WW_ERR_INVALID, "writing ends as",
		raw_seal(raw, put.id, WW_WIRE_STATE_WRITING));
	put = good;
	put.kind = 0;
	refuse_put(raw, &put, "kind");
	put = good;
	put.mode = 01000;
	refuse_put(raw, &put, "mode");
	put.mode = UINT32_MAX;
	refuse_put(raw, &put, "mode");
	put = good;
	put.flags = 8;
	refuse_put(raw, &put, "flags");
	put.flags = WW_WIRE_PUT_FLAG_STAYS;
	refuse_put(raw, &put, "an outer object");
	put = good;
	put.ttl_ns = 1;
	refuse_put(raw, &put, "time to live");
	put.life = WW_WIRE_LIFE_OWNER;
	refuse_put(raw, &put, "time to live");
	put = raw_object("");
	put.life = WW_WIRE_LIFE_KEPT;
	refuse_put(raw, &put, "without a name");
	put = good;
	put.fd_access[0] = 1; /* of a descriptor that did not come */
	refuse_put(raw, &put, "fd_access");
	MUST_OK(raw_put(raw, &good, NULL, 0));
	MUST_REFUSE(WW_ERR_INVALID, "flags", raw_call(raw, get, &get, granted, &granted));
	MUST_REFUSE(WW_ERR_INVALID, "flags", raw_call(raw, remove, &message, done, &done));
	MUST_OK(raw_end(raw, "good"));
}

CASE(message_serials, 0)
{
	uint8_t packet[WW_WIRE_HEADER_BYTES];
	struct raw *raw = peer();
	struct ww_wire_release release = {{0}};
	struct ww_wire_condition condition;
	uint32_t serial;

	/* A serial that is still unanswered cannot be used again; one that was answered can. */
	serial = raw_ask_get(raw, "later", WW_WIRE_ACCESS_READ);
	raw->serial--;
	MUST_OK(raw_condition(raw, &condition)); /* it does not wait, so nobody mixes them up */
	raw->serial--;
	raw_ask_get(raw, "later", WW_WIRE_ACCESS_READ);
	MUST_EQUAL(serial, raw->serial);
	must_break(raw, WW_ERR_PROTOCOL, "another one that waits");
	raw = peer();
	for (int i = 0; i < 3; i++) {
		MUST_OK(raw_condition(raw, &condition));
		raw->serial--;
	}
	/* A release wants no answer under serial 0, even if there is nothing to release. */
	raw->serial = UINT32_MAX;
	raw_ask(raw, release, &release);
	MUST_EQUAL(0, raw->serial);
	MUST_OK(raw_condition(raw, &condition));
	MUST_EQUAL(1, raw->header.serial);
	/* Everything else wants one. */
	bare(packet, WW_WIRE_STATUS);
	put_u32(packet + 4, 0);
	send_bytes(raw, packet, sizeof(packet));
	must_break(raw, WW_ERR_PROTOCOL, "serial");
}

CASE(message_watcher_only_watches, 0)
{
	static const uint16_t codes[] = {WW_WIRE_CONFIRM, WW_WIRE_PUT, WW_WIRE_SEAL, WW_WIRE_GET,
		WW_WIRE_IMPORT, WW_WIRE_EXPORT, WW_WIRE_RELEASE, WW_WIRE_REMOVE, WW_WIRE_STAT,
		WW_WIRE_LIST, WW_WIRE_HOLDERS, WW_WIRE_HOLDS, WW_WIRE_RESERVE, WW_WIRE_CANCEL,
		WW_WIRE_REVOKE, WW_WIRE_PARTS, WW_WIRE_RENUMBER};
	struct raw *raw = watcher();
	struct ww_wire_condition condition;
	uint8_t packet[WW_WIRE_HEADER_BYTES];

	MUST_OK(raw_condition(raw, &condition));
	MUST_EQUAL(0, condition.holders);
	MUST_REFUSE(WW_ERR_INVALID, "flags", raw_watch(raw, "", 2));
	MUST_OK(raw_watch(raw, "", 0));
	MUST_REFUSE(WW_ERR_INVALID, "already", raw_watch(raw, "", 0));
	MUST_REFUSE(WW_ERR_INVALID, "watcher", raw_watch(peer(), "", 0));
	for (size_t i = 0; i < CHECK_COUNT(codes); i++) {
		raw = watcher();
		send_bytes(raw, packet, bare(packet, codes[i]));
		must_break(raw, WW_ERR_PROTOCOL, "watcher");
	}
}
