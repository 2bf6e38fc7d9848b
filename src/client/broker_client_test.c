/* SPDX-License-Identifier: Apache-2.0 */
/*
 * broker_client_test.c - many threads, one connection: answers that cross, come late, or never;
 * connections that break
 */
#include "client/fake_broker.h"

#include <sys/resource.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "client/broker_client.h"

/* A limit that passes. */
#define SOON_NS UINT64_C(300000000)
/* A limit that must not pass. */
#define LONG_NS STAND_IN_PATIENCE_NS
/* The library waits a short time for the answer to a cancel; a busy fake broker may be late. */
#define TRIES 50

static const uint8_t object[WW_WIRE_ID_BYTES] = {0x0b, 0x1e, 0xc7};

/* --- the client's side --- */

static struct ww_wire_get message_of(const char *name)
{
	struct ww_wire_get message = {.access = 1};

	strcpy(message.name, name);
	return message;
}

/* One get. Its hold is released at once if @keep is not set. */
static ww_status get(struct ww_broker *broker, const char *name, uint64_t wait_ns, bool keep)
{
	struct ww_wire_get message = message_of(name);
	WW_AUTO_REQUEST struct ww_request request;
	ww_status status;

	ww_request_init(&request, WW_WIRE_GET, WW_WIRE_GRANTED, &message);
	ww_assert(ww_request_expect_hold(&request) == WW_OK);
	request.waits = wait_ns > 0;
	request.limit_ns = wait_ns > 0 ? ww_clock_deadline_ns(wait_ns) : WW_NEVER;
	status = ww_broker_client_ask(broker, &request);
	ww_assert((status == WW_OK) == request.has_hold);
	if (request.has_hold && !keep)
		ww_broker_client_release(broker, request.held_id);
	return status;
}

struct getter {
	struct ww_broker *broker;
	const char *name;
	ww_cancel *cancel; /* NULL: none */
	pthread_t thread;
	ww_status status;
};

static void *run_getter(void *context)
{
	struct getter *getter = context;
	WW_AUTO_CANCEL struct ww_cancel_scope scope = ww_cancel_enter(getter->cancel);

	getter->status = get(getter->broker, getter->name, 0, true);
	return NULL;
}

static void start_getter(struct getter *getter, struct ww_broker *broker, const char *name)
{
	ww_cancel *cancel = getter->cancel;

	*getter = (struct getter){.broker = broker, .name = name, .cancel = cancel, .status = 1};
	assert_int_equal(pthread_create(&getter->thread, NULL, run_getter, getter), 0);
}

static ww_status finish_getter(struct getter *getter)
{
	pthread_join(getter->thread, NULL);
	return getter->status;
}

/* --- the broker's side --- */

static void grant_with(int peer, uint32_t serial, const uint8_t *id, const int *fds,
	size_t fd_count)
{
	struct ww_wire_granted granted = {.kind = 1, .access = 1, .state = 2};

	memcpy(granted.id, id, sizeof(granted.id));
	stand_in_send(peer, granted, &granted, serial, fds, fd_count);
}

static void grant(int peer, uint32_t serial, const uint8_t *id)
{
	grant_with(peer, serial, id, NULL, 0);
}

static uint32_t take_get(int peer, const char *name)
{
	static struct stand_in_packet packet;
	struct ww_wire_get message;

	stand_in_take(peer, WW_WIRE_GET, &packet);
	stand_in_decode(get, &packet, &message);
	ww_assert(!name || strcmp(message.name, name) == 0);
	return packet.header.serial;
}

static bool take_get_again(int peer, uint32_t *out_serial)
{
	static struct stand_in_packet packet;

	stand_in_take(peer, WW_WIRE_GET, &packet);
	*out_serial = packet.header.serial;
	return packet.header.flags == WW_WIRE_HEADER_FLAG_AGAIN;
}

static void take_release(int peer, const uint8_t *id)
{
	static struct stand_in_packet packet;
	struct ww_wire_release release;

	stand_in_take(peer, WW_WIRE_RELEASE, &packet);
	ww_assert(packet.header.serial == 0);
	stand_in_decode(release, &packet, &release);
	ww_assert(memcmp(release.id, id, sizeof(release.id)) == 0);
}

/*
 * @id: the one object that must be confirmed; NULL: none may be. @is_unknown: what is said of it.
 */
static void take_confirm(int peer, const uint8_t *id, bool is_unknown)
{
	static struct stand_in_packet packet;
	struct ww_wire_confirmed answer = {.released = 0};
	struct ww_wire_confirm confirm;
	struct ww_wire_held held;

	stand_in_take(peer, WW_WIRE_CONFIRM, &packet);
	stand_in_decode(confirm, &packet, &confirm);
	ww_assert(confirm.last && confirm.held.count == (id ? 1 : 0));
	if (id) {
		ww_assert(ww_wire_held_next(&confirm.held, &held));
		ww_assert(memcmp(held.id, id, sizeof(held.id)) == 0);
	}
	if (is_unknown) {
		answer.unknown.items = &held;
		answer.unknown.count = 1;
	}
	stand_in_send(peer, confirmed, &answer, packet.header.serial, NULL, 0);
}

/* --- one object for both --- */

static void restart_with_a_hold(struct stand_in *self)
{
	int peer = stand_in_accept(self);

	grant(peer, take_get(peer, "a"), object);
	close(peer);
	sem_post(&self->reached);
	self->is_known = true;
	peer = stand_in_accept(self);
	take_confirm(peer, object, false);
	take_release(peer, object);
	stand_in_finish_peer(peer);
}

/*
 * By another path, after a restart that this process has not noticed yet: what it holds is said all
 * the same.
 */
UNIT_TEST(known_by_two_paths)
{
	struct ww_broker *broker;
	struct ww_broker *again;
	struct stand_in self;
	struct stand_in alias;

	stand_in_start(&self, restart_with_a_hold);
	broker = stand_in_open(&self, 0);
	assert_ok(get(broker, "a", 0, true));
	stand_in_await(&self);
	alias = stand_in_alias(&self);
	again = stand_in_open(&alias, 0);
	assert_ptr_equal(broker, again);
	assert_true(ww_broker_client_is_held(broker, object));
	ww_broker_client_release(broker, object);
	ww_broker_unref(again);
	ww_broker_unref(broker);
	unlink(alias.path);
	stand_in_finish(&self);
}

/* One more than a packet tells. */
#define MANY_HOLDS 2049

static const uint8_t *numbered(uint32_t number)
{
	static uint8_t id[WW_WIRE_ID_BYTES];

	memcpy(id, &number, sizeof(number));
	return id;
}

static void restart_with_many_holds(struct stand_in *self)
{
	static const struct ww_wire_confirmed answer;
	static struct stand_in_packet packet;
	static bool is_told[MANY_HOLDS];
	struct ww_wire_confirm confirm;
	struct ww_wire_held held;
	uint32_t number, told = 0;
	int peer = stand_in_accept(self);

	for (uint32_t i = 0; i < MANY_HOLDS; i++)
		grant(peer, take_get(peer, "a"), numbered(i));
	close(peer);
	self->is_known = true;
	peer = stand_in_accept(self);
	do {
		stand_in_take(peer, WW_WIRE_CONFIRM, &packet);
		stand_in_decode(confirm, &packet, &confirm);
		while (ww_wire_held_next(&confirm.held, &held)) {
			memcpy(&number, held.id, sizeof(number));
			ww_assert(number < MANY_HOLDS && !is_told[number]);
			is_told[number] = true;
			told++;
		}
		stand_in_send(peer, confirmed, &answer, packet.header.serial, NULL, 0);
	} while (!confirm.last);
	ww_assert(told == MANY_HOLDS);
	grant(peer, take_get(peer, "b"), object);
	close(peer);
}

/* A broker that was restarted is told all that is held, in as many packets as it takes. */
UNIT_TEST(holds_of_several_packets)
{
	struct ww_broker *broker;
	struct stand_in self;

	stand_in_start(&self, restart_with_many_holds);
	broker = stand_in_open(&self, 0);
	for (uint32_t i = 0; i < MANY_HOLDS; i++)
		assert_int_equal(get(broker, "a", 0, true), WW_OK);
	assert_int_equal(get(broker, "b", 0, true), WW_OK);
	ww_broker_unref(broker);
	stand_in_finish(&self);
}

/* --- answers --- */

static void answer_crosswise(struct stand_in *self)
{
	int peer = stand_in_accept(self);
	static const uint8_t other[WW_WIRE_ID_BYTES] = {2};
	uint32_t serials[2];

	serials[0] = take_get(peer, NULL);
	serials[1] = take_get(peer, NULL);
	ww_assert(serials[0] != serials[1]);
	grant(peer, serials[1], object);
	grant(peer, serials[0], other);
	stand_in_finish_peer(peer);
}

/* The leader gives the other thread its answer, and wakes it to lead when it ends. */
CLIENT_TEST(crossing, answer_crosswise)
{
	struct getter getters[2] = {{.cancel = NULL}};

	start_getter(&getters[0], broker, "a");
	start_getter(&getters[1], broker, "b");
	assert_ok(finish_getter(&getters[0]));
	assert_ok(finish_getter(&getters[1]));
	assert_true(ww_broker_client_is_held(broker, object));
}

static void answer_late(struct stand_in *self)
{
	static struct stand_in_packet packet;
	int peer = stand_in_accept(self);
	uint32_t late = take_get(peer, "a");
	int pipes[2];
	char byte;

	stand_in_take(peer, WW_WIRE_STAT, &packet); /* so the get has ended */
	ww_assert(pipe(pipes) == 0);
	grant_with(peer, late, object, &pipes[1], 1);
	close(pipes[1]);
	take_release(peer, object);
	ww_assert(read(pipes[0], &byte, 1) == 0); /* the descriptor that came late is closed */
	close(pipes[0]);
	stand_in_refuse(peer, packet.header.serial, WW_ERR_NOT_FOUND, "no such thing");
	stand_in_finish_peer(peer);
}

CLIENT_TEST(late, answer_late)
{
	struct ww_object_info info = WW_INIT(struct ww_object_info);

	ww_broker_unref(stand_in_open(self, SOON_NS)); /* of all calls from now on */
	assert_fails(get(broker, "a", 0, true), WW_ERR_NO_BROKER);
	ww_broker_unref(stand_in_open(self, LONG_NS));
	assert_fails(ww_broker_stat(broker, "a", &info), WW_ERR_NOT_FOUND);
	assert_string_equal(ww_error_last()->message, "no such thing");
	assert_false(ww_broker_client_is_held(broker, object));
}

static uint32_t take_cancel(int peer, uint32_t serial)
{
	static struct stand_in_packet packet;
	struct ww_wire_cancel cancel;

	stand_in_take(peer, WW_WIRE_CANCEL, &packet);
	stand_in_decode(cancel, &packet, &cancel);
	ww_assert(cancel.waiting == serial);
	return packet.header.serial;
}

static void be_called_off(struct stand_in *self)
{
	int peer = stand_in_accept(self);
	char release;
	uint32_t serial = take_get(peer, "a");
	uint32_t cancel = take_cancel(peer, serial);

	stand_in_refuse(peer, serial, WW_ERR_GIVEN_UP, "as you wish");
	stand_in_done(peer, cancel);
	serial = take_get(peer, "b");
	cancel = take_cancel(peer, serial);
	stand_in_done(peer, cancel);
	grant(peer, serial, object); /* it was answered before */
	sem_post(&self->reached);
	while (read(peer, &release, 1) > 0) /* if this is late */
		;
	close(peer);
}

/* Return: what came of the get that is granted after its limit, when it is called off. */
static ww_status call_off(void)
{
	struct ww_broker *broker;
	struct stand_in self;
	ww_status status;

	stand_in_start(&self, be_called_off);
	broker = stand_in_open(&self, 0);
	assert_int_equal(get(broker, "a", SOON_NS, true), WW_TIMED_OUT);
	status = get(broker, "b", SOON_NS, true);
	assert_int_equal(ww_broker_client_is_held(broker, object), status == WW_OK);
	stand_in_await(&self);
	ww_broker_unref(broker);
	stand_in_finish(&self);
	return status;
}

/* What waits is called off at its time, and the outcome counts, whichever it is. */
UNIT_TEST(called_off)
{
	ww_status status = WW_TIMED_OUT;

	for (int i = 0; i < TRIES && status == WW_TIMED_OUT; i++)
		status = call_off();
	assert_ok(status);
}

/* --- cancelled --- */

static void answer_the_follower(struct stand_in *self)
{
	static const uint8_t other[WW_WIRE_ID_BYTES] = {2};
	int peer = stand_in_accept(self);
	uint32_t leader = take_get(peer, "leader");
	uint32_t follower;

	sem_post(&self->reached);
	follower = take_get(peer, "follower");
	sem_post(&self->reached);
	stand_in_wait(self->told[0]);
	grant(peer, follower, object);
	grant(peer, leader, other); /* that request has ended */
	leader = take_get(peer, "again");
	take_release(peer, other);
	grant(peer, leader, object);
	take_release(peer, object);
	stand_in_finish_peer(peer);
}

/* The thread that reads is cancelled: another one reads on, over the same connection. */
CLIENT_TEST(cancelled_leader, answer_the_follower)
{
	struct getter getters[2] = {{.cancel = NULL}};

	assert_ok(ww_cancel_create(&getters[0].cancel));
	start_getter(&getters[0], broker, "leader");
	stand_in_await(self);
	start_getter(&getters[1], broker, "follower");
	stand_in_await(self);
	ww_cancel_set(getters[0].cancel);
	assert_int_equal(finish_getter(&getters[0]), WW_CANCELLED);
	stand_in_tell(self);
	assert_ok(finish_getter(&getters[1]));
	assert_true(ww_broker_client_is_held(broker, object));
	/* So that what came for the first one is read. */
	assert_ok(get(broker, "again", 0, false));
	ww_broker_client_release(broker, object);
	ww_cancel_unref(getters[0].cancel);
}

static void call_off_what_waits(struct stand_in *self)
{
	int peer = stand_in_accept(self);
	uint32_t serial = take_get(peer, "a");

	take_cancel(peer, serial);
	stand_in_refuse(peer, serial, WW_ERR_GIVEN_UP, "as you wish");
	stand_in_finish_peer(peer);
}

/* What waits is sent, and called off at once, if the flag is set before: it gets what is there. */
CLIENT_TEST(cancelled_wait, call_off_what_waits)
{
	ww_cancel *cancel;

	assert_ok(ww_cancel_create(&cancel));
	ww_cancel_set(cancel);
	{
		WW_AUTO_CANCEL struct ww_cancel_scope scope = ww_cancel_enter(cancel);

		assert_int_equal(get(broker, "a", WW_NEVER, true), WW_CANCELLED);
	}
	ww_cancel_unref(cancel);
}

static void answer_what_is_asked(struct stand_in *self)
{
	int peer = stand_in_accept(self);

	grant(peer, take_get(peer, "asked"), object);
	take_release(peer, object);
	stand_in_finish_peer(peer);
}

/* Nothing is sent, with and without a connection; to ask for one that is there is not to wait. */
UNIT_TEST(nowait_asks_nothing)
{
	struct ww_broker *broker;
	struct stand_in self;

	stand_in_start(&self, answer_what_is_asked);
	{
		WW_AUTO_CANCEL struct ww_cancel_scope scope = ww_cancel_enter(ww_cancel_nowait());
		const struct ww_broker_params params = {
			.struct_size = sizeof(params),
			.address = self.path,
		};

		assert_int_equal(ww_broker_open(&params, &broker), WW_CANCELLED);
	}
	broker = stand_in_open(&self, 0);
	{
		WW_AUTO_CANCEL struct ww_cancel_scope scope = ww_cancel_enter(ww_cancel_nowait());

		assert_int_equal(get(broker, "not asked", 0, true), WW_CANCELLED);
		assert_int_equal(get(broker, "not asked", WW_NEVER, true), WW_CANCELLED);
		assert_ok(ww_broker_client_ensure(broker, true));
	}
	assert_ok(get(broker, "asked", 0, false));
	ww_broker_unref(broker);
	stand_in_finish(&self);
}

static void say_nothing_more(struct stand_in *self)
{
	int peer = stand_in_accept(self);

	take_get(peer, "a");
	close(peer);
	peer = stand_in_accept_raw(self);
	stand_in_wait(self->told[0]);
	close(peer);
}

/*
 * The call's own limit counts, also while the connection is made anew; the broker's would be
 * LONG_NS.
 */
CLIENT_TEST(own_limit, say_nothing_more)
{
	uint64_t before_ns = ww_clock_now_ns();

	assert_int_equal(get(broker, "a", SOON_NS, true), WW_TIMED_OUT);
	assert_true(ww_clock_now_ns() - before_ns < LONG_NS / 2);
	stand_in_tell(self);
}

static void stop_answering(struct stand_in *self)
{
	int peer = stand_in_accept(self);

	grant(peer, take_get(peer, "now"), object);
	take_cancel(peer, take_get(peer, "a"));
	stand_in_wait(self->told[0]);
	close(peer);
}

/*
 * A call without time gets an answer that is there; without an answer it ends soon after its limit.
 */
CLIENT_TEST(stopped, stop_answering)
{
	uint64_t before_ns = ww_clock_now_ns();

	assert_ok(get(broker, "now", LONG_NS, true));
	assert_int_equal(get(broker, "a", 1, true), WW_TIMED_OUT);
	assert_true(ww_clock_now_ns() - before_ns < LONG_NS / 2);
	stand_in_tell(self);
}

/* --- a release and a grant that meet on their way --- */

static void cross_a_release(struct stand_in *self)
{
	int peer = stand_in_accept(self);
	uint32_t serial;

	grant(peer, take_get(peer, "a"), object);
	serial = take_get(peer, "b");
	sem_post(&self->reached);
	take_release(peer, object);
	grant(peer, serial, object); /* granted before, undone by the release */
	grant(peer, take_get(peer, "b"), object);
	take_release(peer, object);
	stand_in_finish_peer(peer);
}

CLIENT_TEST(undone_grant, cross_a_release)
{
	struct getter getter = {0};

	assert_ok(get(broker, "a", 0, true));
	start_getter(&getter, broker, "b");
	stand_in_await(self);
	ww_broker_client_release(broker, object);
	assert_ok(finish_getter(&getter));
	assert_true(ww_broker_client_is_held(broker, object));
	ww_broker_client_release(broker, object);
	assert_false(ww_broker_client_is_held(broker, object));
}

static void cross_a_release_and_refuse(struct stand_in *self)
{
	int peer = stand_in_accept(self);
	uint32_t serial;

	grant(peer, take_get(peer, "a"), object);
	serial = take_get(peer, "b");
	sem_post(&self->reached);
	take_release(peer, object);
	grant(peer, serial, object);
	stand_in_refuse(peer, take_get(peer, "b"), WW_ERR_NOT_FOUND, "gone with its last holder");
	take_release(peer, object); /* for the first grant, should it stand */
	stand_in_finish_peer(peer);
}

CLIENT_TEST(undone_for_good, cross_a_release_and_refuse)
{
	struct getter getter = {0};

	assert_ok(get(broker, "a", 0, true));
	start_getter(&getter, broker, "b");
	stand_in_await(self);
	ww_broker_client_release(broker, object);
	assert_int_equal(finish_getter(&getter), WW_ERR_NOT_FOUND);
}

/* One put of `object`, which ends at its limit. */
static ww_status put(struct ww_broker *broker, uint64_t limit_ns)
{
	struct ww_wire_put message = {.kind = WW_WIRE_KIND_MEMORY,
		.state = WW_WIRE_STATE_SHARED,
		.life = WW_WIRE_LIFE_HELD};
	WW_AUTO_REQUEST struct ww_request request;

	memcpy(message.id, object, sizeof(message.id));
	ww_request_init(&request, WW_WIRE_PUT, WW_WIRE_DONE, &message);
	ww_assert(ww_request_expect_hold(&request) == WW_OK);
	request.id = message.id;
	request.limit_ns = limit_ns;
	return ww_broker_client_ask(broker, &request);
}

static void *run_putter(void *context)
{
	struct getter *getter = context;

	getter->status = put(getter->broker, WW_NEVER);
	return NULL;
}

static uint32_t take_put(int peer, uint32_t flags)
{
	static struct stand_in_packet packet;

	stand_in_take(peer, WW_WIRE_PUT, &packet);
	ww_assert(packet.header.flags == flags);
	return packet.header.serial;
}

static void take_a_cancelled_put(struct stand_in *self)
{
	int peer = stand_in_accept(self);

	take_put(peer, 0);
	take_release(peer, object); /* for it may have been taken */
	stand_in_finish_peer(peer);
}

CLIENT_TEST(cancelled_put, take_a_cancelled_put)
{
	ww_cancel *cancel;

	assert_ok(ww_cancel_create(&cancel));
	ww_cancel_set(cancel);
	{
		WW_AUTO_CANCEL struct ww_cancel_scope scope = ww_cancel_enter(cancel);

		assert_int_equal(put(broker, WW_NEVER), WW_CANCELLED);
	}
	assert_false(ww_broker_client_is_held(broker, object));
	ww_cancel_unref(cancel);
}

static void cross_a_given_up_put(struct stand_in *self)
{
	int peer = stand_in_accept(self);
	uint32_t serial = take_put(peer, 0);

	sem_post(&self->reached);
	take_put(peer, 0); /* its time ends: */
	take_release(peer, object);
	stand_in_done(peer, serial); /* undone by that */
	stand_in_done(peer, take_put(peer, WW_WIRE_HEADER_FLAG_AGAIN));
	take_release(peer, object);
	stand_in_finish_peer(peer);
}

/*
 * A put of one thread ends at its limit, after another thread has put the same object. Its release
 * must not end the other thread's hold.
 */
UNIT_TEST(undone_put)
{
	struct getter putter = {.status = 1};
	struct stand_in self;

	stand_in_start(&self, cross_a_given_up_put);
	putter.broker = stand_in_open(&self, 0);
	assert_int_equal(pthread_create(&putter.thread, NULL, run_putter, &putter), 0);
	stand_in_await(&self);
	assert_fails(put(putter.broker, ww_clock_deadline_ns(SOON_NS)), WW_ERR_NO_BROKER);
	assert_ok(finish_getter(&putter));
	assert_true(ww_broker_client_is_held(putter.broker, object));
	ww_broker_client_release(putter.broker, object);
	ww_broker_unref(putter.broker);
	stand_in_finish(&self);
}

/* --- connections that break --- */

static void break_in_a_get(struct stand_in *self)
{
	int peer = stand_in_accept(self);
	uint32_t serial;

	grant(peer, take_get(peer, "a"), object);
	take_get(peer, "b");
	close(peer);
	self->is_known = true;
	peer = stand_in_accept(self);
	take_confirm(peer, object, false);
	ww_assert(take_get_again(peer, &serial));
	grant(peer, serial, object);
	take_release(peer, object);
	stand_in_finish_peer(peer);
}

/* The holds are confirmed, the requests are sent again, and no call fails. */
CLIENT_TEST(repeated, break_in_a_get)
{
	struct ww_error before;

	ww_error_save(&before);
	assert_ok(get(broker, "a", 0, true));
	assert_ok(get(broker, "b", 0, true));
	assert_memory_equal(&before, ww_error_last(), sizeof(before));
	ww_broker_client_release(broker, object);
	assert_true(ww_broker_client_is_held(broker, object));
	ww_broker_client_release(broker, object);
}

static void confirm_slowly(struct stand_in *self)
{
	static struct stand_in_packet packet;
	static const struct ww_wire_confirmed answer;
	struct ww_wire_welcome welcome = {.version = 1, .least = 1, .most = 1, .known = 1};
	int peer = stand_in_accept(self);

	grant(peer, take_get(peer, "a"), object);
	close(peer);
	sem_post(&self->reached);
	peer = stand_in_accept_raw(self);
	stand_in_take(peer, WW_WIRE_HELLO, &packet);
	sem_post(&self->reached); /* welcome comes when two calls have had no time for it */
	stand_in_wait(self->told[0]);
	memcpy(welcome.broker_id, self->broker_id, sizeof(welcome.broker_id));
	stand_in_send(peer, welcome, &welcome, packet.header.serial, NULL, 0);
	stand_in_take(peer, WW_WIRE_CONFIRM, &packet);
	ww_assert(read(self->told[0], &welcome, 1) == 1);
	sem_post(&self->reached); /* and so does what is confirmed */
	stand_in_wait(self->told[0]);
	stand_in_send(peer, confirmed, &answer, packet.header.serial, NULL, 0);
	grant(peer, take_get(peer, "b"), object);
	take_release(peer, object);
	stand_in_finish_peer(peer);
}

/* Calls that have little time, until the script has what it waits for. */
static void must_time_out(struct stand_in *self, struct ww_broker *broker)
{
	do
		assert_int_equal(get(broker, "b", SOON_NS, true), WW_TIMED_OUT);
	while (sem_trywait(&self->reached) < 0);
}

/*
 * If calls with little time cannot finish a connection, it is kept for the next call. If it were
 * closed, the broker would take this process for ended.
 */
CLIENT_TEST(made_in_parts, confirm_slowly)
{
	assert_ok(get(broker, "a", 0, true));
	stand_in_await(self);
	must_time_out(self, broker);
	assert_int_equal(get(broker, "b", SOON_NS, true), WW_TIMED_OUT);
	stand_in_tell(self);
	must_time_out(self, broker);
	stand_in_tell(self);
	assert_ok(get(broker, "b", 0, false));
	assert_true(ww_broker_client_is_held(broker, object));
	ww_broker_client_release(broker, object);
}

static void forget_what_is_held(struct stand_in *self)
{
	int peer = stand_in_accept(self);
	uint32_t serial;

	grant(peer, take_get(peer, "a"), object);
	close(peer);
	peer = stand_in_accept(self);
	take_confirm(peer, object, true);
	grant(peer, take_get(peer, "b"), (const uint8_t[WW_WIRE_ID_BYTES]){2});
	take_get(peer, "c");
	close(peer);
	memset(self->broker_id, 0xb2, sizeof(self->broker_id));
	peer = stand_in_accept(self); /* another broker: nothing to confirm */
	ww_assert(take_get_again(peer, &serial));
	grant(peer, serial, object);
	take_release(peer, object);
	stand_in_finish_peer(peer);
}

/* A hold that the broker does not know is lost, and no release is sent for it. */
CLIENT_TEST(forgotten, forget_what_is_held)
{
	static const uint8_t other[WW_WIRE_ID_BYTES] = {2};

	assert_ok(get(broker, "a", 0, true));
	assert_true(ww_broker_client_is_held(broker, object));
	assert_ok(get(broker, "b", 0, true));
	assert_false(ww_broker_client_is_held(broker, object));
	assert_true(ww_broker_client_is_held(broker, other));
	ww_broker_client_release(broker, object);
	assert_ok(get(broker, "c", 0, true));
	assert_false(ww_broker_client_is_held(broker, other));
	assert_true(ww_broker_client_is_held(broker, object));
	ww_broker_client_release(broker, other);
	ww_broker_client_release(broker, object);
}

#define TIMES 101

static void die_of_it(struct stand_in *self)
{
	for (int i = 0; i < TIMES; i++) {
		int peer = stand_in_accept(self);

		take_get(peer, "poison");
		close(peer);
	}
}

/* A request that the broker dies of each time is not repeated for ever. */
UNIT_TEST(poison)
{
	struct ww_broker *broker;
	struct stand_in self;

	stand_in_start(&self, die_of_it);
	broker = stand_in_open(&self, 0);
	assert_fails(get(broker, "poison", 0, true), WW_ERR_NO_BROKER);
	assert_non_null(strstr(ww_error_last()->message, "101 times"));
	stand_in_finish(&self);
	assert_fails(get(broker, "poison", 0, true), WW_ERR_NO_BROKER); /* none listens */
	ww_broker_unref(broker);
}

/* --- what is no broker's --- */

static void answer_wrongly(struct stand_in *self)
{
	static const char garbage[] = "garbage";
	static const struct ww_wire_exported wrong = {.generation = 1};
	int peer = stand_in_accept(self);
	uint32_t serial;

	stand_in_send(peer, exported, &wrong, take_get(peer, "a"), NULL, 0);
	serial = take_get(peer, "b");
	ww_assert(serial != 0);
	ww_assert(ww_packet_send(peer, garbage, sizeof(garbage), NULL, 0) == WW_OK);
	stand_in_finish_peer(peer);
	peer = stand_in_accept(self);
	grant(peer, take_get(peer, "c"), object);
	take_get(peer, "d");
	stand_in_refuse(peer, 0, WW_ERR_PROTOCOL, "this connection is over");
	stand_in_finish_peer(peer);
}

CLIENT_TEST(wrong, answer_wrongly)
{
	assert_fails(get(broker, "a", 0, true), WW_ERR_PROTOCOL); /* the connection stays */
	assert_fails(get(broker, "b", 0, true), WW_ERR_PROTOCOL); /* it does not */
	assert_ok(get(broker, "c", 0, true));
	assert_fails(get(broker, "d", 0, true), WW_ERR_PROTOCOL);
}

static void grant_too_much(struct stand_in *self)
{
	int peer = stand_in_accept(self);
	uint32_t serial = take_get(peer, "a");
	int fds[WW_PACKET_FDS] = {0, 1, 2, 0, 1, 2, 0, 1};

	grant_with(peer, serial, object, fds, WW_PACKET_FDS);
	take_release(peer, object);
	stand_in_finish_peer(peer);
}

/*
 * There is no room for the descriptors of an answer: its request fails, and what was granted is
 * released.
 */
CLIENT_TEST(no_descriptor_left, grant_too_much)
{
	struct rlimit before;
	struct rlimit none;
	int next;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	next = dup(0);
	none = (struct rlimit){(rlim_t)next, before.rlim_max};
	close(next);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	assert_fails(get(broker, "a", 0, true), WW_ERR_LIMIT);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_false(ww_broker_client_is_held(broker, object));
}

UNIT_MAIN("connection")
