/* SPDX-License-Identifier: Apache-2.0 */
/*
 * token_import_test.c - which broker sees a token, how long it may take, and what stays of the
 * connection to it
 */
#include "client/fake_broker.h"

#include <warpway/barrier.h>
#include <warpway/broker.h>
#include <warpway/timeline.h>

#include "base/clock.h"
#include "share/token_import.h"
#include "wire/token.h"

#define NS_PER_MS UINT64_C(1000000)
#define PATIENT   STAND_IN_PATIENCE_NS

/* Of a barrier, since that is nothing but an id; and of the broker @self, for now. */
static struct ww_token make_token(const struct stand_in *self)
{
	static const uint8_t secret[WW_SECRET_BYTES] = {9, 8, 7};
	struct ww_token_info info = {
		.struct_size = sizeof(info),
		.kind = WW_OBJECT_BARRIER,
		.access = WW_ACCESS_READ,
		.generation = 5,
		.object_id = {1, 2, 3},
	};
	struct ww_token token;

	strcpy(info.address, self->path);
	memcpy(info.broker_id, self->broker_id, sizeof(info.broker_id));
	ww_assert(ww_token_make(&info, secret, &token) == WW_OK);
	return token;
}

static ww_status import_once(struct ww_broker *broker, const struct ww_token *token)
{
	WW_AUTO_IMPORT struct ww_import import;

	ww_import_init(&import, WW_OBJECT_BARRIER, WW_ACCESS_READ);
	return ww_import_ask(&import, broker, token);
}

/* --- another broker than the token's gets nothing --- */

UNIT_TEST(named_another)
{
	struct ww_token token;
	struct stand_in self;

	stand_in_init(&self);
	token = make_token(&self);
	memset(self.broker_id, 0xb2, sizeof(self.broker_id));
	stand_in_listen(&self);
	self.script = stand_in_serve_nothing;
	assert_int_equal(pthread_create(&self.thread, NULL, stand_in_run, &self), 0);
	assert_fails(import_once(NULL, &token), WW_ERR_NOT_FOUND);
	assert_non_null(strstr(ww_error_last()->message, "another broker"));
	stand_in_finish(&self);
}

/* Of a broker that lives elsewhere: the caller is told where, and what to do. */
CLIENT_TEST(given_another, stand_in_serve_nothing)
{
	struct stand_in elsewhere;
	struct ww_token token;

	stand_in_init(&elsewhere);
	memset(elsewhere.broker_id, 0xb2, sizeof(elsewhere.broker_id));
	token = make_token(&elsewhere);
	assert_fails(import_once(broker, &token), WW_ERR_NOT_FOUND);
	assert_non_null(strstr(ww_error_last()->message, elsewhere.path));
	assert_non_null(strstr(ww_error_last()->message, "NULL"));
	stand_in_remove(&elsewhere);
}

static void end_and_be_another(struct stand_in *self)
{
	int peer = stand_in_accept(self);

	stand_in_wait(self->told[0]);
	close(peer);
	sem_post(&self->reached);
	memset(self->broker_id, 0xb2, sizeof(self->broker_id));
	stand_in_finish_peer(stand_in_accept(self));
}

/* It was the token's when it was asked last. */
CLIENT_TEST(replaced_by_another, end_and_be_another)
{
	struct ww_token token;

	token = make_token(self);
	stand_in_tell(self);
	stand_in_await(self);
	assert_fails(import_once(broker, &token), WW_ERR_NOT_FOUND);
}

/* --- the connection that was made for a token --- */

static void grant_twice(struct stand_in *self)
{
	const struct ww_wire_granted granted = {
		.kind = WW_WIRE_KIND_BARRIER,
		.access = WW_WIRE_ACCESS_READ,
		.state = WW_WIRE_STATE_SEALED,
		.generation = 5,
		.id = {1, 2, 3},
	};
	int peer = stand_in_accept(self);

	for (int i = 0; i < 2; i++) {
		stand_in_send(peer, granted, &granted, stand_in_take_serial(peer, WW_WIRE_IMPORT),
			NULL, 0);
		stand_in_take_serial(peer, WW_WIRE_RELEASE);
	}
	stand_in_finish_peer(peer);
}

UNIT_TEST(kept_for_the_next)
{
	struct ww_token token;
	struct stand_in self;

	stand_in_start(&self, grant_twice);
	token = make_token(&self);
	assert_ok(import_once(NULL, &token));
	assert_ok(import_once(NULL, &token));
	ww_broker_client_drop_kept(true);
	ww_broker_client_drop_kept(true);
	stand_in_finish(&self);
}

/* --- limits on time --- */

static void end_and_be_silent(struct stand_in *self)
{
	int peer = stand_in_accept(self);

	stand_in_wait(self->told[0]);
	close(peer);
	sem_post(&self->reached);
	peer = stand_in_accept_raw(self);
	stand_in_take_serial(peer, WW_WIRE_HELLO);
	stand_in_finish_peer(peer);
}

/* All of a call's requests are within its limit, however patient the broker's user is. */
CLIENT_TEST(limited_at_once, end_and_be_silent)
{
	struct ww_broker_info info = WW_INIT(struct ww_broker_info);
	uint64_t begun_ns = ww_clock_now_ns();
	uint64_t former_ns = ww_request_limit();

	stand_in_tell(self);
	stand_in_await(self);
	ww_request_limit_all(ww_clock_deadline_ns(10 * NS_PER_MS));
	ww_request_limit_all(WW_NEVER); /* is no longer one */
	assert_fails(ww_broker_info_get(broker, &info), WW_ERR_NO_BROKER);
	ww_request_restore_limit(&former_ns);
	assert_true(ww_request_limit() == WW_NEVER);
	assert_true(ww_clock_now_ns() - begun_ns < PATIENT);
}

/* Connecting again counts too. */
UNIT_TEST(late_after_reconnecting)
{
	for (int i = 0; i < 2; i++) {
		uint64_t begun_ns = ww_clock_now_ns();
		struct stand_in self;
		ww_timeline *timeline;
		ww_barrier *barrier;
		ww_broker *broker;

		stand_in_start(&self, end_and_be_silent);
		broker = stand_in_open(&self, 0);
		stand_in_tell(&self);
		stand_in_await(&self);
		if (i == 0)
			assert_int_equal(ww_timeline_get(broker, "a", 10 * NS_PER_MS, NULL,
						 &timeline),
				WW_TIMED_OUT);
		else
			assert_int_equal(ww_barrier_get(broker, "a", 0, 10 * NS_PER_MS, NULL,
						 &barrier),
				WW_TIMED_OUT);
		assert_true(ww_clock_now_ns() - begun_ns < PATIENT);
		ww_broker_unref(broker);
		stand_in_finish(&self);
	}
}

UNIT_MAIN("import")
