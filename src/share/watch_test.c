/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch_test.c - events as they come, over connections that end; and pages put together to a
 * snapshot
 */
#include "client/fake_broker.h"

#include <poll.h>

#include <warpway/broker.h>
#include <warpway/memory.h>

static void say_event(int peer, uint8_t what, const char *name)
{
	struct ww_wire_event event = {.what = what};

	event.entry.kind = WW_WIRE_KIND_MEMORY;
	event.entry.state = WW_WIRE_STATE_SHARED;
	event.entry.life = WW_WIRE_LIFE_HELD;
	event.entry.flags = WW_WIRE_ENTRY_FLAG_MAY_READ;
	strcpy(event.entry.name, name);
	stand_in_send(peer, event, &event, 0, NULL, 0);
}

static int accept_watch(struct stand_in *self, uint32_t flags)
{
	static struct stand_in_packet packet;
	struct ww_wire_watch watch;
	int peer = stand_in_accept(self);

	stand_in_take(peer, WW_WIRE_WATCH, &packet);
	stand_in_decode(watch, &packet, &watch);
	ww_assert(watch.flags == flags && strcmp(watch.prefix, "model/") == 0);
	stand_in_done(peer, packet.header.serial);
	return peer;
}

static void be_watched(struct stand_in *self)
{
	int main = stand_in_accept(self);
	int peer = accept_watch(self, WW_WIRE_WATCH_FLAG_EXISTING);

	say_event(peer, WW_WIRE_WHAT_PUT, "model/a");
	say_event(peer, WW_WIRE_WHAT_OVERFLOW, "");
	close(peer);
	peer = accept_watch(self, 0);
	say_event(peer, WW_WIRE_WHAT_REMOVED, "model/a");
	stand_in_done(peer, 7); /* no event */
	stand_in_finish_peer(peer);
	peer = accept_watch(self, 0);
	stand_in_finish_peer(peer);
	stand_in_finish_peer(main);
}

static void assert_event(ww_watch *watch, uint32_t what, const char *name)
{
	struct ww_watch_event event = WW_INIT(struct ww_watch_event);

	assert_ok(ww_watch_next(watch, WW_FOREVER, NULL, &event));
	assert_int_equal(event.what, what);
	assert_int_equal(event.object.struct_size, sizeof(event.object));
	assert_string_equal(event.object.name, name);
}

CLIENT_TEST(watched, be_watched)
{
	struct ww_watch_event event = WW_INIT(struct ww_watch_event);
	ww_watch *watch;

	assert_fails(ww_watch_create(broker, "a//", 0, &watch), WW_ERR_INVALID);
	assert_fails(ww_watch_create(broker, "a", 2, &watch), WW_ERR_INVALID);
	assert_ok(ww_watch_create(broker, "model/", WW_WATCH_EXISTING, &watch));
	assert_true(ww_watch_fd(watch) > 2);
	assert_event(watch, WW_WATCH_PUT, "model/a");
	assert_event(watch, WW_WATCH_OVERFLOW, "");
	assert_event(watch, WW_WATCH_OVERFLOW, ""); /* the connection ended, and there is another */
	assert_event(watch, WW_WATCH_REMOVED, "model/a");
	assert_fails(ww_watch_next(watch, WW_FOREVER, NULL, &event), WW_ERR_PROTOCOL);
	assert_event(watch, WW_WATCH_OVERFLOW, "");
	assert_int_equal(ww_watch_next(watch, 0, NULL, &event), WW_TIMED_OUT);
	assert_null(ww_watch_free(watch));
}

static void restart_slowly(struct stand_in *self)
{
	int main = stand_in_accept(self);
	int peer = accept_watch(self, 0);

	close(peer);
	sem_post(&self->reached);
	stand_in_wait(self->told[0]);
	peer = accept_watch(self, 0);
	say_event(peer, WW_WIRE_WHAT_PUT, "model/b");
	stand_in_finish_peer(peer);
	stand_in_finish_peer(main);
}

static ww_status poll_watch(ww_watch *watch, int timeout_ms, struct ww_watch_event *event)
{
	struct pollfd entry = {.fd = ww_watch_fd(watch), .events = POLLIN};

	assert_true(poll(&entry, 1, timeout_ms) >= 0);
	return ww_watch_next(watch, 0, NULL, event);
}

/* An event loop, which has no time to wait, comes back to a broker that was restarted. */
CLIENT_TEST(polled, restart_slowly)
{
	struct ww_watch_event event = WW_INIT(struct ww_watch_event);
	struct ww_error before;
	ww_watch *watch;
	ww_status status;

	assert_ok(ww_watch_create(broker, "model/", 0, &watch));
	ww_error_save(&before);
	stand_in_await(self);
	for (int i = 0; i < 3; i++) /* the hello is read by nobody yet */
		assert_int_equal(poll_watch(watch, 0, &event), WW_TIMED_OUT);
	stand_in_tell(self);
	do {
		status = poll_watch(watch, STAND_IN_PATIENCE_MS, &event);
	} while (status == WW_TIMED_OUT);
	assert_ok(status);
	assert_int_equal(event.what, WW_WATCH_OVERFLOW);
	assert_memory_equal(&before, ww_error_last(), sizeof(before));
	assert_event(watch, WW_WATCH_PUT, "model/b");
	ww_watch_free(watch);
}

static void stay_silent(struct stand_in *self)
{
	int main = stand_in_accept(self);
	int peer = accept_watch(self, 0);

	close(peer);
	peer = stand_in_accept_raw(self);
	stand_in_wait(self->told[0]);
	close(peer);
	close(main);
}

/*
 * One that takes connections and does not answer is not waited for without end, however the calls
 * are cut.
 */
CLIENT_TEST(patience, stay_silent)
{
	struct ww_watch_event event = WW_INIT(struct ww_watch_event);
	ww_watch *watch;
	ww_status status;

	assert_ok(ww_watch_create(broker, "model/", 0, &watch));
	ww_broker_unref(stand_in_open(self, 300000000)); /* for what follows */
	do {
		status = ww_watch_next(watch, 50000000, NULL, &event);
	} while (status == WW_TIMED_OUT);
	assert_int_equal(status, WW_ERR_NO_BROKER);
	stand_in_tell(self);
	ww_watch_free(watch);
}

static void refuse_watch(struct stand_in *self)
{
	int main = stand_in_accept(self);
	int peer = stand_in_accept(self);

	stand_in_refuse(peer, stand_in_take_serial(peer, WW_WIRE_WATCH), WW_ERR_QUOTA,
		"too many watches");
	stand_in_finish_peer(peer);
	stand_in_finish_peer(main);
}

CLIENT_TEST(not_watched, refuse_watch)
{
	ww_watch *watch;

	assert_fails(ww_watch_create(broker, "model/", 0, &watch), WW_ERR_QUOTA);
	assert_null(watch);
}

/* --- snapshots --- */

static struct ww_wire_entry entry_of(const char *name, uint64_t generation)
{
	struct ww_wire_entry entry = {
		.kind = WW_WIRE_KIND_MEMORY,
		.state = WW_WIRE_STATE_SHARED,
		.life = WW_WIRE_LIFE_KEPT,
		.flags = WW_WIRE_ENTRY_FLAG_MAY_WRITE | WW_WIRE_ENTRY_FLAG_MAY_READ,
		.generation = generation,
		.description_bytes = 3, /* no memory's: left out */
	};

	strcpy(entry.name, name);
	return entry;
}

/* @cursor: that must be asked for */
static uint32_t take_list(int peer, uint64_t cursor)
{
	static struct stand_in_packet packet;
	struct ww_wire_list list;

	stand_in_take(peer, WW_WIRE_LIST, &packet);
	stand_in_decode(list, &packet, &list);
	ww_assert(list.cursor == cursor);
	return packet.header.serial;
}

static void list_two_pages(struct stand_in *self)
{
	const struct ww_wire_entry entries[] = {entry_of("c", 1), entry_of("", 9), entry_of("", 8)};
	const struct ww_wire_entry last = entry_of("b", 2);
	struct ww_wire_listing page = {.next = 4, .entries = {.count = 3, .items = entries}};
	int peer = stand_in_accept(self);

	stand_in_send(peer, listing, &page, take_list(peer, 0), NULL, 0);
	page = (struct ww_wire_listing){.next = 0, .entries = {.count = 1, .items = &last}};
	stand_in_send(peer, listing, &page, take_list(peer, 4), NULL, 0);
	page.next = 7;
	stand_in_send(peer, listing, &page, take_list(peer, 0), NULL, 0);
	stand_in_send(peer, listing, &page, take_list(peer, 7), NULL, 0);
	page.entries.count = 0;
	stand_in_send(peer, listing, &page, take_list(peer, 0), NULL, 0);
	page.next = 6;
	stand_in_send(peer, listing, &page, take_list(peer, 7), NULL, 0);
	stand_in_finish_peer(peer);
}

static void assert_object(ww_snapshot *snapshot, size_t index, const char *name,
	uint64_t generation)
{
	struct ww_object_info info = WW_INIT(struct ww_object_info);

	assert_ok(ww_snapshot_object(snapshot, index, &info));
	assert_string_equal(info.name, name);
	assert_int_equal(info.generation, generation);
	assert_int_equal(info.access, 2);
	assert_false(info.has_array);
}

CLIENT_TEST(snapshots, list_two_pages)
{
	struct ww_holder_info holder = WW_INIT(struct ww_holder_info);
	struct ww_object_info info = WW_INIT(struct ww_object_info);
	struct ww_hold_info hold = WW_INIT(struct ww_hold_info);
	ww_snapshot *snapshot;

	assert_ok(ww_snapshot_create(broker, NULL, WW_SNAPSHOT_OBJECTS | WW_SNAPSHOT_UNNAMED,
		&snapshot));
	assert_object(snapshot, 0, "", 8);
	assert_object(snapshot, 1, "", 9);
	assert_object(snapshot, 2, "b", 2);
	assert_object(snapshot, 3, "c", 1);
	assert_int_equal(ww_snapshot_object(snapshot, 4, &info), WW_END);
	assert_int_equal(ww_snapshot_holder(snapshot, 0, &holder), WW_END);
	assert_int_equal(ww_snapshot_hold(snapshot, 0, &hold), WW_END);
	info.struct_size = 3;
	assert_fails(ww_snapshot_object(snapshot, 0, &info), WW_ERR_INVALID);
	assert_null(ww_snapshot_free(snapshot));
	assert_fails(ww_snapshot_create(broker, "", 16, &snapshot), WW_ERR_INVALID);
	/* A list that does not end. */
	assert_fails(ww_snapshot_create(broker, "", WW_SNAPSHOT_OBJECTS, &snapshot),
		WW_ERR_PROTOCOL);
	assert_null(snapshot);
	assert_fails(ww_snapshot_create(broker, "", WW_SNAPSHOT_OBJECTS, &snapshot),
		WW_ERR_PROTOCOL); /* nor one that goes round */
}

UNIT_MAIN("watch")
