/* SPDX-License-Identifier: Apache-2.0 */
/*
 * join_test.c - what a broker is told of a member that joins, and when
 */
#include "client/fake_broker.h"

#include "queue/join.h"

#define STAYS_LATER 8 /* version of the protocol from which on an object can be made to stay */

static struct {
	uint32_t version;
	ww_work_queue *queue;
} scene;

static bool has_entry(void)
{
	const struct ww_work_queue *queue = scene.queue;

	return ww_queue_entry_look(queue->role == WW_WORK_QUEUE_PRODUCER
			       ? &queue->roster.producers[0]
			       : &queue->bell.consumers[0]) != 0;
}

static void take(int peer, uint16_t code, struct stand_in_packet *packet)
{
	stand_in_take(peer, code, packet);
	while (packet->fd_count > 0)
		close(packet->fds[--packet->fd_count]);
}

static void serve(struct stand_in *self)
{
	static struct stand_in_packet packet;
	struct ww_wire_put put;
	struct ww_wire_seal seal;
	int peer;

	self->version = scene.version;
	peer = stand_in_accept(self);
	take(peer, WW_WIRE_PUT, &packet);
	ww_assert(ww_wire_decode_put(packet.bytes, packet.count, scene.version, &put) == WW_OK);
	ww_assert(put.state == WW_WIRE_STATE_SHARED);
	ww_assert(put.flags == (scene.version < STAYS_LATER ? WW_WIRE_PUT_FLAG_STAYS : 0));
	ww_assert(!has_entry());
	stand_in_done(peer, packet.header.serial);
	if (scene.version >= STAYS_LATER) {
		take(peer, WW_WIRE_SEAL, &packet);
		ww_assert(ww_wire_decode_seal(packet.bytes, packet.count, scene.version, &seal) ==
			WW_OK);
		ww_assert(memcmp(seal.id, put.id, sizeof(put.id)) == 0);
		ww_assert(seal.state == WW_WIRE_STATE_SHARED);
		ww_assert(seal.flags == WW_WIRE_SEAL_FLAG_STAYS);
		ww_assert(has_entry());
		stand_in_done(peer, packet.header.serial);
	}
	take(peer, WW_WIRE_REMOVE, &packet); /* it leaves */
	stand_in_done(peer, packet.header.serial);
	take(peer, WW_WIRE_RELEASE, &packet);
	stand_in_finish_peer(peer);
}

static void join(uint32_t role, uint32_t version)
{
	const struct ww_wire_work_queue_ref form = {
		.queue_id = "queue",
		.slot_bytes = 4096,
		.slot_count = 1,
		.producers_max = 1,
		.consumers_max = 1,
		.attempts_max = 1,
		.held_max = 1,
		.kind = WW_MEMORY_HOST,
	};
	struct stand_in self;
	ww_broker *broker;
	ww_device *device;

	scene.version = version;
	assert_ok(ww_device_open("host", &device));
	stand_in_start(&self, serve);
	broker = stand_in_open(&self, 0);
	assert_ok(ww_queue_new(&form, role, device, broker, &scene.queue));
	assert_ok(ww_queue_roster_create(&scene.queue->roster, form.queue_id, 1));
	assert_ok(ww_queue_bell_create(&scene.queue->bell, form.queue_id, 1));
	assert_ok(ww_queue_join(scene.queue));
	assert_true(has_entry());
	ww_work_queue_unref(scene.queue);
	ww_broker_unref(broker);
	ww_device_unref(device);
	stand_in_finish(&self);
}

/* A member that ends before it has its entry leaves nothing. */
UNIT_TEST(stays_after_its_entry)
{
	join(WW_WORK_QUEUE_PRODUCER, STAYS_LATER);
	join(WW_WORK_QUEUE_CONSUMER, STAYS_LATER);
}

/* An older broker can have an object stay from the beginning only. */
UNIT_TEST(stays_at_once)
{
	join(WW_WORK_QUEUE_PRODUCER, STAYS_LATER - 1);
	join(WW_WORK_QUEUE_CONSUMER, STAYS_LATER - 1);
}

UNIT_MAIN("join")
