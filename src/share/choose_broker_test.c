/* SPDX-License-Identifier: Apache-2.0 */
/*
 * choose_broker_test.c - calls that name no broker: the default one, by one connection
 */
#include "client/fake_broker.h"

#include <warpway/broker.h>
#include <warpway/timeline.h>

#include "base/clock.h"
#include "share/choose_broker.h"

#define NS_PER_MS UINT64_C(1000000)
#define TRIES     5

static void begin(struct stand_in *self, void (*script)(struct stand_in *self))
{
	stand_in_start(self, script);
	assert_int_equal(setenv("WARPWAY_BROKER", self->path, 1), 0);
}

static void end(struct stand_in *self)
{
	ww_broker_client_drop_kept(true);
	stand_in_finish(self);
	unsetenv("WARPWAY_BROKER");
}

/* --- one connection for all of them --- */

static void refuse_each(struct stand_in *self)
{
	static const uint16_t codes[] = {WW_WIRE_STATUS, WW_WIRE_STAT, WW_WIRE_REMOVE, WW_WIRE_LIST,
		WW_WIRE_GET};
	int peer = stand_in_accept(self);

	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		stand_in_refuse(peer, stand_in_take_serial(peer, codes[i]), WW_ERR_NOT_FOUND,
			"not here");
	stand_in_finish_peer(peer);
}

UNIT_TEST(one_connection)
{
	struct ww_broker_info info = WW_INIT(struct ww_broker_info);
	struct ww_object_info object = WW_INIT(struct ww_object_info);
	struct stand_in self;
	ww_snapshot *snapshot;
	ww_device *device;
	ww_memory *memory;

	begin(&self, refuse_each);
	assert_ok(ww_device_open("host", &device));
	assert_fails(ww_broker_info_get(NULL, &info), WW_ERR_NOT_FOUND);
	assert_fails(ww_broker_stat(NULL, "x", &object), WW_ERR_NOT_FOUND);
	assert_fails(ww_broker_remove(NULL, "x"), WW_ERR_NOT_FOUND);
	assert_fails(ww_snapshot_create(NULL, NULL, WW_SNAPSHOT_OBJECTS, &snapshot),
		WW_ERR_NOT_FOUND);
	assert_fails(ww_memory_get(device, NULL, "x", NULL, 0, NULL, &memory, NULL),
		WW_ERR_NOT_FOUND);
	ww_device_unref(device);
	end(&self);
}

/* --- what is opened for a memory ends with it --- */

static void take_a_put(struct stand_in *self)
{
	int peer = stand_in_accept(self);

	stand_in_done(peer, stand_in_take_serial(peer, WW_WIRE_PUT));
	stand_in_done(peer, stand_in_take_serial(peer, WW_WIRE_SEAL));
	stand_in_take_serial(peer, WW_WIRE_RELEASE);
	stand_in_finish_peer(peer);
}

UNIT_TEST(put_and_publish)
{
	struct stand_in self;
	ww_device *device;
	ww_memory *memory;

	begin(&self, take_a_put);
	assert_ok(ww_device_open("host", &device));
	assert_ok(ww_memory_create(device,
		WW_PARAMS(struct ww_memory_params, .kind = WW_MEMORY_HOST, .bytes = 4096),
		&memory));
	assert_null(ww_memory_broker(memory));
	assert_null(ww_memory_broker(NULL));
	assert_ok(ww_memory_put(memory, NULL, "x",
		WW_PARAMS(struct ww_put_params, .state = WW_STATE_WRITING), 0, NULL));
	assert_string_equal(ww_broker_address(ww_memory_broker(memory)), self.path);
	unsetenv("WARPWAY_BROKER"); /* now another one is the default: the memory's own counts */
	assert_ok(ww_memory_publish(memory, NULL, WW_STATE_SEALED, NULL));
	assert_fails(ww_memory_revoke(memory, NULL, NULL),
		WW_ERR_VERSION); /* it speaks version 1 */
	assert_non_null(strstr(ww_error_last()->message, "revoke tokens"));
	ww_broker_client_drop_kept(true);
	ww_memory_unref(memory);
	ww_device_unref(device);
	end(&self);
}

/* --- to reach it counts --- */

static void accept_and_say_nothing(struct stand_in *self)
{
	int peer = stand_in_accept_raw(self);

	stand_in_take_serial(peer, WW_WIRE_HELLO);
	stand_in_finish_peer(peer);
}

/* Return: whether a call with a limit of 10 ms took less than the 5 s that a broker has. */
static bool is_in_time(bool gets_memory)
{
	uint64_t begun_ns = ww_clock_now_ns();
	ww_timeline *timeline = NULL;
	ww_memory *memory = NULL;
	struct stand_in self;
	ww_device *device;
	uint64_t took_ns;

	begin(&self, accept_and_say_nothing);
	assert_ok(ww_device_open("host", &device));
	if (gets_memory)
		assert_int_equal(ww_memory_get(device, NULL, "x", NULL, 10 * NS_PER_MS, NULL,
					 &memory, NULL),
			WW_TIMED_OUT);
	else
		assert_int_equal(ww_timeline_get(NULL, "x", 10 * NS_PER_MS, NULL, &timeline),
			WW_TIMED_OUT);
	took_ns = ww_clock_now_ns() - begun_ns;
	ww_device_unref(device);
	end(&self);
	return took_ns < 4000 * NS_PER_MS;
}

/* Others use this machine too, so one of several tries has to be in time. */
UNIT_TEST(in_time)
{
	for (int i = 0; i < 2; i++) {
		int tries = 1;

		while (!is_in_time(i == 1))
			assert_true(++tries <= TRIES);
	}
}

UNIT_MAIN("choose_broker")
