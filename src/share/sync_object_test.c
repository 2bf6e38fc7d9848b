/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sync_object_test.c - a broker that is too old to speak for the dead: nothing is put there, or
 * asked of it; and one that answers too late
 */
#include "client/fake_broker.h"

#include <warpway/barrier.h>
#include <warpway/broker.h>
#include <warpway/event.h>
#include <warpway/timeline.h>

#include "base/cancel.h"
#include "client/request_exchange.h"
#include "share/sync_object.h"

/* It says whose version is too low. */
static void assert_too_old(ww_status status, const struct stand_in *self)
{
	const struct ww_error *error = ww_error_last();

	assert_int_equal(status, WW_ERR_VERSION);
	assert_int_equal(error->status, WW_ERR_VERSION);
	assert_non_null(strstr(error->message, self->path));
	assert_non_null(strstr(error->message, "version 1 "));
}

/* A token that nobody wrote into. */
static void assert_untouched(const struct ww_token *token)
{
	static const struct ww_token untouched;

	assert_memory_equal(token, &untouched, sizeof(untouched));
}

/* It can still be used by those who share its process. */
static void assert_in_use(ww_timeline *timeline)
{
	assert_ok(ww_timeline_signal(timeline, 7));
	assert_ok(ww_timeline_wait(timeline, 7, 0, NULL));
}

CLIENT_TEST(timeline_is_not_shared, stand_in_serve_nothing)
{
	struct ww_token token = {{0}};
	ww_timeline *timeline;
	ww_timeline *got;

	assert_ok(ww_timeline_create(NULL, &timeline));
	assert_too_old(ww_timeline_export(timeline, broker, NULL, NULL, &token), self);
	assert_untouched(&token);
	assert_too_old(ww_timeline_put(timeline, broker, "a", NULL, NULL), self);
	assert_too_old(ww_timeline_get(broker, "a", WW_FOREVER, NULL, &got), self);
	assert_null(got);
	assert_in_use(timeline);
	ww_timeline_unref(timeline);
}

CLIENT_TEST(barrier_is_not_made, stand_in_serve_nothing)
{
	struct ww_token token = {{0}};
	ww_barrier *barrier;

	assert_too_old(ww_barrier_create(broker, "a",
			       WW_PARAMS(struct ww_barrier_params, .count = 2), NULL, &token),
		self);
	assert_untouched(&token);
	assert_too_old(ww_barrier_get(broker, "a", 0, WW_FOREVER, NULL, &barrier), self);
	assert_null(barrier);
}

CLIENT_TEST(event_is_not_shared, stand_in_serve_nothing)
{
	struct ww_token token = {{0}};
	ww_device *device;
	ww_event *event;

	assert_ok(ww_device_open("host", &device));
	assert_ok(ww_event_create(device, NULL, &event));
	assert_too_old(ww_event_export(event, broker, NULL, NULL, &token), self);
	assert_untouched(&token);
	ww_event_unref(event);
	ww_device_unref(device);
}

/* --- a put without an answer, of an object that stays --- */

#define RELEASES (WW_HOLDS_RELEASES + 1) /* more than a client stores */

/* A connection to a broker that removes by id. */
static int accept_newer(struct stand_in *self)
{
	self->version = WW_REMOVES_BY_ID;
	return stand_in_accept(self);
}

static uint32_t take_put(int peer, struct ww_wire_put *out_put)
{
	static struct stand_in_packet packet;

	stand_in_take(peer, WW_WIRE_PUT, &packet);
	ww_assert(
		ww_wire_decode_put(packet.bytes, packet.count, WW_REMOVES_BY_ID, out_put) == WW_OK);
	while (packet.fd_count > 0)
		close(packet.fds[--packet.fd_count]);
	return packet.header.serial;
}

/* First it is removed: an object that is released while it has its name has left. */
static void take_undo(int peer, const struct ww_wire_put *put)
{
	static struct stand_in_packet packet;
	struct ww_wire_remove removed;

	stand_in_take(peer, WW_WIRE_REMOVE, &packet);
	ww_assert(ww_wire_decode_remove(packet.bytes, packet.count, WW_REMOVES_BY_ID, &removed) ==
		WW_OK);
	ww_assert(strcmp(removed.name, put->name) == 0);
	ww_assert(memcmp(removed.id, put->id, sizeof(put->id)) == 0);
	stand_in_take(peer, WW_WIRE_RELEASE, &packet);
	stand_in_finish_peer(peer);
}

static ww_timeline *put_staying(ww_broker *broker, ww_status expected)
{
	ww_timeline *timeline;

	ww_assert(ww_timeline_create(NULL, &timeline) == WW_OK);
	ww_assert(ww_sync_object_timeline(timeline, broker, "a",
			  WW_PARAMS(struct ww_name_params, .mode = 0444, .gid = WW_GID_OWN,
				  .flags = WW_SHARE_STAYS)) == expected);
	return timeline;
}

/* Puts a timeline, of which it is told nothing until it is cancelled. */
struct putter {
	struct stand_in self;
	ww_broker *broker;
	ww_cancel *cancel;
	pthread_t thread;
};

static void *put_until_cancelled(void *context)
{
	struct putter *putter = context;
	WW_AUTO_CANCEL struct ww_cancel_scope scope = ww_cancel_enter(putter->cancel);

	return put_staying(putter->broker, WW_CANCELLED);
}

static void putter_start(struct putter *putter, void (*script)(struct stand_in *self))
{
	stand_in_start(&putter->self, script);
	putter->broker = stand_in_open(&putter->self, 0);
	assert_ok(ww_cancel_create(&putter->cancel));
	assert_int_equal(pthread_create(&putter->thread, NULL, put_until_cancelled, putter), 0);
}

/* Cancels it when the script says so, and makes another connection if there is none. */
static void putter_finish(struct putter *putter)
{
	void *timeline;

	stand_in_await(&putter->self);
	ww_cancel_set(putter->cancel);
	pthread_join(putter->thread, &timeline);
	stand_in_tell(&putter->self);
	assert_ok(ww_broker_client_ensure(putter->broker, false));
	ww_timeline_unref(timeline);
	ww_cancel_unref(putter->cancel);
	ww_broker_unref(putter->broker);
	stand_in_finish(&putter->self);
}

static void put_without_an_answer(struct stand_in *self)
{
	int peer = accept_newer(self);
	struct ww_wire_put put;

	take_put(peer, &put);
	sem_post(&self->reached);
	take_undo(peer, &put);
}

/* Else a process that joins a barrier too late would break it: its rank would stay taken. */
UNIT_TEST(timeline_that_stays_is_taken_back)
{
	struct putter putter;

	putter_start(&putter, put_without_an_answer);
	putter_finish(&putter);
}

static void end_in_a_put(struct stand_in *self)
{
	static struct stand_in_packet packet;
	struct ww_wire_confirmed none = {.released = 0};
	struct ww_wire_confirm confirm;
	struct ww_wire_held held;
	int peer = accept_newer(self);
	struct ww_wire_put put;

	take_put(peer, &put);
	close(peer);
	self->is_known = true;
	sem_post(&self->reached);
	stand_in_wait(self->told[0]);
	peer = stand_in_accept(self);
	stand_in_take(peer, WW_WIRE_CONFIRM, &packet);
	ww_assert(ww_wire_decode_confirm(packet.bytes, packet.count, WW_REMOVES_BY_ID, &confirm) ==
		WW_OK);
	ww_assert(confirm.held.count == 1 && ww_wire_held_next(&confirm.held, &held));
	ww_assert(memcmp(held.id, put.id, sizeof(put.id)) == 0);
	stand_in_send(peer, confirmed, &none, packet.header.serial, NULL, 0);
	take_undo(peer, &put);
}

/* The broker may have executed it before it ended, and the next one knows the object. */
UNIT_TEST(timeline_that_stays_is_taken_back_from_the_next_broker)
{
	struct putter putter;

	putter_start(&putter, end_in_a_put);
	putter_finish(&putter);
}

static void answer_after_many_releases(struct stand_in *self)
{
	static struct stand_in_packet packet;
	struct ww_wire_put put;
	uint32_t serial;
	int peer = accept_newer(self);

	serial = take_put(peer, &put);
	sem_post(&self->reached);
	for (int i = 0; i < RELEASES; i++)
		stand_in_take(peer, WW_WIRE_RELEASE, &packet);
	stand_in_done(peer, serial);
	take_put(peer, &put);
	sem_post(&self->reached);
	take_undo(peer, &put);
}

/*
 * So many releases were sent after the put that its hold may be one of them, and it is sent again.
 * That time it has no answer.
 */
UNIT_TEST(timeline_that_stays_is_taken_back_after_releases)
{
	struct putter putter;

	putter_start(&putter, answer_after_many_releases);
	stand_in_await(&putter.self);
	pthread_mutex_lock(&putter.broker->lock);
	for (int i = 0; i < RELEASES; i++)
		ww_broker_client_release_unknown(putter.broker,
			(uint8_t[WW_WIRE_ID_BYTES]){1, (uint8_t)i});
	pthread_mutex_unlock(&putter.broker->lock);
	putter_finish(&putter);
}

static void answer_a_put(struct stand_in *self)
{
	int peer = accept_newer(self);
	struct ww_wire_put put;

	stand_in_done(peer, take_put(peer, &put));
	take_undo(peer, &put);
}

/* As of a member whose rank the broker did not free in time, because it was started anew. */
CLIENT_TEST(timeline_is_removed_when_it_is_released, answer_a_put)
{
	uint8_t id[WW_WIRE_ID_BYTES];
	ww_timeline *timeline;

	timeline = put_staying(broker, WW_OK);
	assert_true(ww_hold_ref_find(&timeline->attachments, broker, id));
	ww_broker_client_remove_at_release(broker, id, "a");
	ww_timeline_unref(timeline);
}

UNIT_MAIN("share")
