/* SPDX-License-Identifier: Apache-2.0 */
/*
 * versions.c - old and new meet: the codec of a protocol and that of the same protocol grown
 *
 * old.xml and new.xml become two codecs with names of their own. What one encodes for version 1 the
 * other decodes, in both directions; fields and messages of version 2 exist between two new ones
 * only.
 */
#include "base/unit_test.h"

#include <string.h>

#include "wire/new.h"
#include "wire/old.h"

#define ROOM 1024

static const struct sample_new_item new_items[] = {
	{.weight = 11, .label = "eleven", .price = -11},
	{.weight = 12, .label = "twelve", .price = 1200},
};

static const struct sample_new_ship new_ship = {
	.number = 7,
	.colour = SAMPLE_NEW_COLOUR_GREEN,
	.first = {.weight = 10, .label = "ten", .price = -10},
	.items = {.count = 2, .items = new_items},
	.wrapping = SAMPLE_NEW_COLOUR_RED,
	.note_bytes = 3,
	.note = {1, 2, 3},
};

static const struct sample_new_header new_header = {.serial = 5, .flags = 1};

static size_t encode_new(uint16_t version, uint8_t *packet)
{
	size_t bytes = sample_new_encode_ship(&new_ship, version, &new_header, packet, ROOM);

	assert_true(bytes > 0);
	return bytes;
}

UNIT_TEST(old_reads_what_new_writes)
{
	struct sample_old_header header;
	struct sample_old_ship ship;
	struct sample_old_item item;
	uint8_t packet[ROOM];
	size_t bytes = encode_new(1, packet);

	assert_int_equal(sample_old_read_header(packet, bytes, 0, &header), WW_OK);
	assert_int_equal(header.serial, 5);
	assert_int_equal(sample_old_decode_ship(packet, bytes, 1, &ship), WW_OK);
	assert_int_equal(ship.number, 7);
	assert_int_equal(ship.colour, SAMPLE_OLD_COLOUR_GREEN);
	assert_int_equal(ship.first.weight, 10);
	assert_string_equal(ship.first.label, "ten");
	assert_int_equal(ship.items.count, 2);
	for (size_t i = 0; i < 2; i++) {
		assert_true(sample_old_item_next(&ship.items, &item));
		assert_int_equal(item.weight, new_items[i].weight);
		assert_string_equal(item.label, new_items[i].label);
	}
	assert_false(sample_old_item_next(&ship.items, &item));
}

static size_t encode_old(uint8_t *packet)
{
	static const struct sample_old_item items[] = {{.weight = 21, .label = "a"},
		{.weight = 22, .label = ""}};
	const struct sample_old_ship ship = {
		.number = 9,
		.colour = SAMPLE_OLD_COLOUR_RED,
		.first = {.weight = 20, .label = "fifteen letters"},
		.items = {.count = 2, .items = items},
	};
	const struct sample_old_header header = {.serial = 6};
	size_t bytes = sample_old_encode_ship(&ship, 1, &header, packet, ROOM);

	assert_true(bytes > 0);
	return bytes;
}

UNIT_TEST(new_reads_what_old_writes)
{
	static const uint8_t zeros[31];
	struct sample_new_ship ship;
	struct sample_new_item item;
	uint8_t packet[ROOM];
	size_t bytes = encode_old(packet);

	memset(&ship, 0xee, sizeof(ship));
	memset(&item, 0xee, sizeof(item));
	assert_int_equal(sample_new_decode_ship(packet, bytes, 1, &ship), WW_OK);
	assert_int_equal(ship.number, 9);
	assert_int_equal(ship.first.weight, 20);
	assert_string_equal(ship.first.label, "fifteen letters");
	assert_int_equal(ship.first.price, 0);
	assert_int_equal(ship.wrapping, 0);
	assert_int_equal(ship.note_bytes, 0);
	assert_memory_equal(ship.note, zeros, sizeof(zeros));
	assert_true(sample_new_item_next(&ship.items, &item));
	assert_int_equal(item.weight, 21);
	assert_int_equal(item.price, 0);
	assert_true(sample_new_item_next(&ship.items, &item));
	assert_false(sample_new_item_next(&ship.items, &item));
}

UNIT_TEST(new_reads_all_that_new_writes)
{
	struct sample_new_ship ship;
	struct sample_new_item item;
	uint8_t packet[ROOM];
	size_t bytes = encode_new(2, packet);

	assert_int_equal(sample_new_decode_ship(packet, bytes, 2, &ship), WW_OK);
	assert_int_equal(ship.first.price, -10);
	assert_int_equal(ship.wrapping, SAMPLE_NEW_COLOUR_RED);
	assert_int_equal(ship.note_bytes, 3);
	assert_int_equal(ship.note[2], 3);
	assert_true(sample_new_item_next(&ship.items, &item));
	assert_int_equal(item.price, -11);
	assert_true(sample_new_item_next(&ship.items, &item));
	assert_int_equal(item.price, 1200);
}

UNIT_TEST(a_packet_of_another_version_is_refused)
{
	struct sample_new_ship new_one;
	struct sample_old_ship old_one;
	uint8_t packet[ROOM];
	size_t bytes = encode_new(2, packet);

	assert_true(sample_old_decode_ship(packet, bytes, 1, &old_one) < 0);
	assert_true(sample_new_decode_ship(packet, bytes, 1, &new_one) < 0);
	bytes = encode_new(1, packet);
	assert_true(sample_new_decode_ship(packet, bytes, 2, &new_one) < 0);
}

static ww_status take_weigh(void *context, const struct sample_new_header *header,
	const struct sample_new_weigh *weigh)
{
	(void)header;
	*(uint32_t *)context = weigh->number;
	return WW_OK;
}

UNIT_TEST(a_new_request_needs_a_new_connection)
{
	const struct sample_new_handlers handlers = {.weigh = take_weigh};
	const struct sample_new_weigh weigh = {.number = 77};
	struct sample_old_header header;
	uint8_t packet[ROOM];
	uint32_t seen = 0;
	size_t bytes;

	assert_int_equal(sample_new_encode_weigh(&weigh, 1, &new_header, packet, ROOM), 0);
	bytes = sample_new_encode_weigh(&weigh, 2, &new_header, packet, ROOM);
	assert_true(bytes > 0);
	assert_int_equal(sample_new_dispatch(&handlers, &seen, 2, packet, bytes, 0), WW_OK);
	assert_int_equal(seen, 77);
	assert_fails(sample_new_dispatch(&handlers, &seen, 1, packet, bytes, 0), WW_ERR_PROTOCOL);
	assert_fails(sample_old_read_header(packet, bytes, 0, &header), WW_ERR_PROTOCOL);
}

UNIT_TEST(old_and_new_share_the_handshake)
{
	const struct sample_new_hello hello = {.most = 2};
	const struct sample_old_welcome welcome = {.version = 1};
	const struct sample_old_header header = {.serial = 5};
	struct sample_new_welcome answer;
	struct sample_old_hello greeting;
	uint8_t packet[ROOM];
	size_t bytes;

	bytes = sample_new_encode_hello(&hello, SAMPLE_NEW_VERSION, &new_header, packet, ROOM);
	assert_int_equal(sample_old_decode_hello(packet, bytes, 1, &greeting), WW_OK);
	assert_int_equal(greeting.most, 2);
	bytes = sample_old_encode_welcome(&welcome, 1, &header, packet, ROOM);
	assert_int_equal(sample_new_decode_welcome(packet, bytes, 2, &answer), WW_OK);
	assert_int_equal(answer.version, 1);
}

UNIT_MAIN("ver")
