/* SPDX-License-Identifier: Apache-2.0 */
/*
 * protocol_test.c - the generated codec at its edges: headers, dispatch, fields that are full,
 * lists
 *
 * What each message looks like on the wire is compared with golden bytes in tests/wire.
 */
#include "base/unit_test.h"

#include <string.h>

#include "wire/packet.h"
#include "wire/protocol.h"

_Static_assert(WW_WIRE_FDS == WW_PACKET_FDS, "a message has as many descriptors as a packet");

static uint8_t packet[WW_WIRE_PACKET_BYTES];

static const struct ww_wire_header header = {.serial = 9};

static size_t encode_stat(const char *name)
{
	struct ww_wire_stat stat = {.name = ""};

	strcpy(stat.name, name);
	return ww_wire_encode_stat(&stat, 1, &header, packet, sizeof(packet));
}

UNIT_TEST(reads_a_header)
{
	struct ww_wire_header read;
	size_t bytes = encode_stat("a/b");

	assert_ok(ww_wire_read_header(packet, bytes, 0, &read));
	assert_int_equal(read.code, WW_WIRE_STAT);
	assert_int_equal(read.serial, 9);
	assert_int_equal(read.bytes, bytes);
	assert_int_equal(read.flags, 0);
}

/* The serial is there for the answer, also when the packet is refused. */
UNIT_TEST(refuses_headers)
{
	struct ww_wire_header read;
	size_t bytes = encode_stat("a/b");

	assert_fails(ww_wire_read_header(packet, 15, 0, &read), WW_ERR_TRUNCATED);
	assert_int_equal(read.serial, 0);
	assert_fails(ww_wire_read_header(packet, bytes - 1, 0, &read), WW_ERR_TRUNCATED);
	assert_int_equal(read.serial, 9);
	assert_fails(ww_wire_read_header(packet, bytes + 1, 0, &read), WW_ERR_PROTOCOL);
	assert_fails(ww_wire_read_header(packet, bytes, 1, &read), WW_ERR_PROTOCOL);
	packet[2] = 1; /* says that it has a descriptor, and has it: but stat never has one */
	assert_fails(ww_wire_read_header(packet, bytes, 1, &read), WW_ERR_PROTOCOL);
	assert_fails(ww_wire_read_header(packet, bytes, 0, &read), WW_ERR_PROTOCOL);
	packet[2] = 0;
	packet[12] = WW_WIRE_HEADER_FLAG_AGAIN;
	assert_ok(ww_wire_read_header(packet, bytes, 0, &read));
	assert_int_equal(read.flags, WW_WIRE_HEADER_FLAG_AGAIN);
	packet[12] = 2;
	assert_fails(ww_wire_read_header(packet, bytes, 0, &read), WW_ERR_PROTOCOL);
	packet[12] = 0;
	packet[0] = 250;
	assert_fails(ww_wire_read_header(packet, bytes, 0, &read), WW_ERR_PROTOCOL);
	assert_int_equal(read.serial, 9);
}

UNIT_TEST(allows_as_many_descriptors_as_a_message_may_have)
{
	const struct ww_wire_put put = {.life = WW_WIRE_LIFE_HELD};
	struct ww_wire_header with_fds = header;
	struct ww_wire_header read;

	for (uint16_t fd_count = 0; fd_count <= 9; fd_count++) {
		size_t bytes;

		with_fds.fd_count = fd_count;
		bytes = ww_wire_encode_put(&put, 1, &with_fds, packet, sizeof(packet));
		assert_int_equal(ww_wire_read_header(packet, bytes, fd_count, &read),
			fd_count <= WW_WIRE_FDS ? WW_OK : WW_ERR_PROTOCOL);
	}
}

UNIT_TEST(names_messages)
{
	assert_string_equal(ww_wire_name(WW_WIRE_HELLO), "hello");
	assert_string_equal(ww_wire_name(WW_WIRE_EVENT), "event");
	assert_null(ww_wire_name(0));
	assert_null(ww_wire_name(UINT16_MAX));
}

/* What the handlers saw. */
struct seen {
	uint32_t serial;
	char name[WW_WIRE_NAME_BYTES];
	int calls;
};

static ww_status take_stat(void *context, const struct ww_wire_header *of,
	const struct ww_wire_stat *stat)
{
	struct seen *seen = context;

	seen->calls++;
	seen->serial = of->serial;
	strcpy(seen->name, stat->name);
	return WW_NOT_READY;
}

static ww_status take_release(void *context, const struct ww_wire_header *of,
	const struct ww_wire_release *release)
{
	(void)of;
	(void)release;
	((struct seen *)context)->calls++;
	return WW_OK;
}

static const struct ww_wire_handlers handlers = {.stat = take_stat, .release = take_release};

UNIT_TEST(dispatches_to_the_handler)
{
	struct seen seen = {0};
	size_t bytes = encode_stat("model/w");

	assert_int_equal(ww_wire_dispatch(&handlers, &seen, 1, packet, bytes, 0), WW_NOT_READY);
	assert_int_equal(seen.calls, 1);
	assert_int_equal(seen.serial, 9);
	assert_string_equal(seen.name, "model/w");
}

UNIT_TEST(dispatches_nothing_that_is_wrong)
{
	const struct ww_wire_done done = {0};
	const struct ww_wire_seal seal = {.state = WW_WIRE_STATE_SEALED};
	struct seen seen = {0};
	size_t bytes = encode_stat("model/w");

	assert_fails(ww_wire_dispatch(&handlers, &seen, 1, packet, bytes, 1), WW_ERR_PROTOCOL);
	assert_fails(ww_wire_dispatch(&handlers, &seen, 1, packet, bytes - 1, 0), WW_ERR_TRUNCATED);
	packet[bytes - 1] = 0;
	assert_fails(ww_wire_dispatch(&handlers, &seen, 1, packet, bytes, 0), WW_ERR_PROTOCOL);
	bytes = ww_wire_encode_done(&done, 1, &header, packet, sizeof(packet));
	assert_fails(ww_wire_dispatch(&handlers, &seen, 1, packet, bytes, 0), WW_ERR_PROTOCOL);
	bytes = ww_wire_encode_seal(&seal, 1, &header, packet, sizeof(packet));
	assert_fails(ww_wire_dispatch(&handlers, &seen, 1, packet, bytes, 0), WW_ERR_PROTOCOL);
	assert_int_equal(seen.calls, 0);
}

UNIT_TEST(only_some_requests_need_no_answer)
{
	const struct ww_wire_header silent = {.serial = 0};
	const struct ww_wire_release release = {.id = {1}};
	const struct ww_wire_stat stat = {.name = "a"};
	struct seen seen = {0};
	size_t bytes = ww_wire_encode_release(&release, 1, &silent, packet, sizeof(packet));

	assert_ok(ww_wire_dispatch(&handlers, &seen, 1, packet, bytes, 0));
	assert_int_equal(seen.calls, 1);
	bytes = ww_wire_encode_stat(&stat, 1, &silent, packet, sizeof(packet));
	assert_fails(ww_wire_dispatch(&handlers, &seen, 1, packet, bytes, 0), WW_ERR_PROTOCOL);
	assert_int_equal(seen.calls, 1);
}

UNIT_TEST(carries_what_is_full)
{
	struct ww_wire_put put;
	struct ww_wire_put got;
	size_t bytes;

	memset(&put, 0, sizeof(put));
	put.life = WW_WIRE_LIFE_KEPT;
	memset(put.name, 'n', sizeof(put.name) - 1);
	put.description_bytes = sizeof(put.description);
	put.description[sizeof(put.description) - 1] = 7;
	bytes = ww_wire_encode_put(&put, 1, &header, packet, sizeof(packet));
	assert_ok(ww_wire_decode_put(packet, bytes, 1, &got));
	assert_memory_equal(&got, &put, sizeof(put));
	put.description_bytes++;
	assert_int_equal(ww_wire_encode_put(&put, 1, &header, packet, sizeof(packet)), 0);
}

/* A name that its owner forgot to end is cut, and nothing behind it is read. */
UNIT_TEST(ends_strings)
{
	struct ww_wire_stat stat;
	struct ww_wire_stat got;
	size_t bytes;

	memset(stat.name, 'x', sizeof(stat.name));
	bytes = ww_wire_encode_stat(&stat, 1, &header, packet, sizeof(packet));
	assert_ok(ww_wire_decode_stat(packet, bytes, 1, &got));
	assert_int_equal(strlen(got.name), WW_WIRE_NAME_BYTES - 1);
}

UNIT_TEST(carries_full_lists)
{
	static struct ww_wire_entry entries[65];
	struct ww_wire_listing listing = {.next = 3, .entries = {.count = 64, .items = entries}};
	struct ww_wire_listing got;
	struct ww_wire_entry entry;
	size_t bytes;

	for (size_t i = 0; i < 65; i++) {
		entries[i].state = WW_WIRE_STATE_SHARED;
		entries[i].life = WW_WIRE_LIFE_KEPT;
		entries[i].generation = i;
		memset(entries[i].name, 'e', sizeof(entries[i].name) - 1);
		entries[i].description_bytes = sizeof(entries[i].description);
	}
	bytes = ww_wire_encode_listing(&listing, 1, &header, packet, sizeof(packet));
	assert_true(bytes > 40000);
	assert_ok(ww_wire_decode_listing(packet, bytes, 1, &got));
	assert_int_equal(got.next, 3);
	for (size_t i = 0; i < 64; i++) {
		assert_true(ww_wire_entry_next(&got.entries, &entry));
		assert_memory_equal(&entry, &entries[i], sizeof(entry));
	}
	assert_false(ww_wire_entry_next(&got.entries, &entry));
	assert_false(ww_wire_entry_next(&got.entries, &entry));
	listing.entries.count = 65;
	assert_int_equal(ww_wire_encode_listing(&listing, 1, &header, packet, sizeof(packet)), 0);
	listing.entries = (struct ww_wire_entry_list){.count = 1};
	assert_int_equal(ww_wire_encode_listing(&listing, 1, &header, packet, sizeof(packet)), 0);
}

UNIT_TEST(an_empty_list_has_no_item)
{
	const struct ww_wire_confirm confirm = {.last = 1};
	struct ww_wire_confirm got;
	struct ww_wire_held held;
	size_t bytes = ww_wire_encode_confirm(&confirm, 1, &header, packet, sizeof(packet));

	assert_ok(ww_wire_decode_confirm(packet, bytes, 1, &got));
	assert_int_equal(got.held.count, 0);
	assert_false(ww_wire_held_next(&got.held, &held));
}

/* An item that is refused refuses the whole list; nothing of the message is handed out. */
UNIT_TEST(refuses_a_list_with_a_wrong_item)
{
	const struct ww_wire_hold holds[2] = {{.access = WW_WIRE_ACCESS_READ}, {.access = 9}};
	const struct ww_wire_hold_listing listing = {.next = 4,
		.holds = {.count = 2, .items = holds}};
	static const struct ww_wire_hold_listing nothing;
	struct ww_wire_hold_listing got;
	size_t bytes = ww_wire_encode_hold_listing(&listing, 1, &header, packet, sizeof(packet));

	memset(&got, 0xee, sizeof(got));
	assert_fails(ww_wire_decode_hold_listing(packet, bytes, 1, &got), WW_ERR_PROTOCOL);
	assert_non_null(strstr(ww_error_last()->message, "access is 9"));
	assert_memory_equal(&got, &nothing, sizeof(got));
}

/* The event that says that events were lost has no object. */
UNIT_TEST(an_event_may_have_no_object)
{
	const struct ww_wire_event event = {.what = WW_WIRE_WHAT_OVERFLOW};
	struct ww_wire_event got;
	size_t bytes = ww_wire_encode_event(&event, 1, &header, packet, sizeof(packet));

	assert_ok(ww_wire_decode_event(packet, bytes, 1, &got));
	assert_int_equal(got.what, WW_WIRE_WHAT_OVERFLOW);
	assert_int_equal(got.entry.state, 0);
}

UNIT_TEST(a_record_is_ended_and_clean)
{
	struct ww_wire_token token;
	uint8_t bytes[WW_WIRE_TOKEN_BYTES];

	memset(bytes, 'a', sizeof(bytes));
	ww_wire_decode_token(bytes, &token);
	assert_int_equal(strlen(token.address), sizeof(token.address) - 1);
	assert_int_equal(token.version, 0x6161);
	assert_int_equal(token.array.dims[15].stride, 0x6161616161616161);
	bytes[128 + 3] = 0;
	ww_wire_decode_token(bytes, &token);
	assert_string_equal(token.address, "aaa");
	assert_int_equal(token.address[4], 0);
}

UNIT_MAIN("protocol")
