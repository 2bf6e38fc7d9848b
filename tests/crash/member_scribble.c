/* SPDX-License-Identifier: Apache-2.0 */
/*
 * member_scribble.c - a hostile member writes into every shared page that it may write, while the
 * others work: no call of theirs crashes or waits past its limit, nothing that they get is out of
 * range, and the broker keeps nothing
 *
 * In each role of each kind it lives many times (a tenth of WW_TEST_KILLS), every other time as
 * another user where the tests run as root. What the calls return is not claimed: frames, calls and
 * memory of the object that it is a member of may be lost, repeated or late.
 */
#include "crash/member.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "crash/figures.h"
#include "support/driver.h"
#include "support/scribble.h"
#include "support/service.h"

#define SHORT_NS   UINT64_C(2000000)
#define ROUNDS     20
#define SLOTS      4
#define SLOT_BYTES 4096
#define ROOM       64 /* for metadata */
#define MODE       0666
#define USER       61001

/* --- the hostile member --- */

static uint64_t state;

static uint64_t draw(void)
{
	return draw_from(&state, UINT64_MAX);
}

static ww_channel *make_channel(ww_device *device, ww_broker *broker)
{
	ww_channel *channel;

	MUST_OK(ww_channel_create(device, broker, "c",
		WW_PARAMS(struct ww_channel_params, .slot_bytes = SLOT_BYTES, .slots = SLOTS,
			.kind = WW_MEMORY_HOST, .metadata_bytes = ROOM, .mode = MODE),
		NULL, &channel));
	return channel;
}

static void be_producer(ww_device *device, ww_broker *broker)
{
	frame_send(make_channel(device, broker), 1);
}

static void be_consumer(ww_device *device, ww_broker *broker)
{
	ww_channel *channel;

	MUST_OK(ww_channel_get(device, broker, "c", NULL, LIMIT_NS, NULL, &channel));
}

static void be_producer_of_work(ww_device *device, ww_broker *broker)
{
	work_send(join_queue(device, broker, WW_WORK_QUEUE_PRODUCER), 1);
}

static void be_consumer_of_work(ww_device *device, ww_broker *broker)
{
	struct ww_frame frame = WW_INIT(struct ww_frame);

	MUST_OK(ww_work_queue_receive(join_queue(device, broker, WW_WORK_QUEUE_CONSUMER), NULL,
		LIMIT_NS, NULL, &frame));
}

static ww_pool *make_named_slice(ww_device *device, ww_broker *broker, ww_memory **out_slice)
{
	ww_pool *pool = make_pool(device);

	MUST_OK(ww_pool_alloc(pool, SLOT_BYTES, 0, 0, NULL, out_slice));
	MUST_OK(ww_memory_put(*out_slice, broker, "m",
		WW_PARAMS(struct ww_put_params, .mode = MODE), LIMIT_NS, NULL));
	return pool;
}

static void be_owner(ww_device *device, ww_broker *broker)
{
	ww_memory *slice;

	(void)make_named_slice(device, broker, &slice);
}

static void be_importer(ww_device *device, ww_broker *broker)
{
	ww_memory *slice;

	MUST_OK(ww_memory_get(device, broker, "m", NULL, LIMIT_NS, NULL, &slice, NULL));
}

static ww_service *make_service(ww_device *device, ww_broker *broker)
{
	ww_service *service;

	MUST_OK(ww_service_create(device, broker, "s",
		WW_PARAMS(struct ww_service_params, .mode = MODE), NULL, &service));
	service_offer_all(service, device);
	return service;
}

/* It serves a few calls, so that clients have met it. */
static void be_server(ww_device *device, ww_broker *broker)
{
	ww_service *service = make_service(device, broker);

	role_tell("serves");
	MUST_STATUS(WW_TIMED_OUT, ww_service_serve(service, 50 * SHORT_NS, NULL));
}

static ww_ticket *submit(ww_client *client)
{
	const struct ww_value data = value_bytes("0123456789", 10);
	ww_ticket *ticket = NULL;
	uint32_t function;

	if (ww_client_find(client, "echo", NULL, SHORT_NS, NULL, &function) == WW_OK)
		(void)ww_client_submit(client, function, &data, 1, NULL, SHORT_NS, NULL, &ticket);
	return ticket;
}

static void be_client(ww_device *device, ww_broker *broker)
{
	ww_client *client;

	(void)device;
	MUST_OK(ww_client_open(broker, "s", NULL, LIMIT_NS, NULL, &client));
	MUST(submit(client));
}

static void be_signaller(ww_device *device, ww_broker *broker)
{
	ww_timeline *timeline;

	(void)device;
	MUST_OK(ww_timeline_create(NULL, &timeline));
	MUST_OK(ww_timeline_put(timeline, broker, "t",
		WW_PARAMS(struct ww_name_params, .mode = MODE), NULL));
}

static void be_rank(ww_device *device, ww_broker *broker)
{
	ww_barrier *barrier;

	(void)device;
	MUST_OK(ww_barrier_get(broker, "b", 1, LIMIT_NS, NULL, &barrier));
}

/* --- the others --- */

static struct child hostile;

/* It is a member from now on, and writes. */
static void meet_hostile(void)
{
	child_hear(&hostile, "ready");
}

static void read_bytes(const void *bytes, uint64_t count)
{
	const volatile uint8_t *at = bytes;

	for (uint64_t i = 0; i < count; i++)
		(void)at[i];
}

static void check_frame(const struct ww_frame *frame)
{
	MUST(frame->number > 0);
	MUST(frame->slot < SLOTS);
	MUST(frame->bytes <= frame->capacity && frame->capacity == SLOT_BYTES);
	MUST(frame->metadata_bytes <= ROOM);
	MUST(frame->ndim <= WW_FRAME_DIMS);
	MUST(frame->attempts <= 127);
	read_bytes(frame->host_pointer, frame->bytes);
	read_bytes(frame->metadata, frame->metadata_bytes);
}

static void check_text(const char *text, size_t room)
{
	MUST(memchr(text, '\0', room));
}

/* The thread of descriptors looks at the same pages. */
static void poll_shortly(ww_status status, const int *fd)
{
	struct pollfd look = {.fd = *fd, .events = POLLIN};

	if (status == WW_OK) {
		(void)poll(&look, 1, 1);
		close(look.fd);
	}
}

static void take_frame(ww_channel *channel)
{
	struct ww_channel_info info = WW_INIT(struct ww_channel_info);
	struct ww_frame frame = WW_INIT(struct ww_frame);
	int fd = -1;

	if (!channel)
		return;
	poll_shortly(ww_channel_eventfd(channel, &fd), &fd);
	if (ww_channel_receive(channel, NULL, SHORT_NS, NULL, &frame) == WW_OK) {
		check_frame(&frame);
		(void)ww_channel_release(channel, &frame, NULL);
	}
	if (ww_channel_info_get(channel, &info) == WW_OK) {
		check_text(info.program, sizeof(info.program));
		check_text(info.metadata_type, sizeof(info.metadata_type));
	}
}

static ww_channel *try_channel(void)
{
	ww_channel *channel;

	(void)ww_channel_get(scene.device, scene.broker, "c", NULL, SHORT_NS, NULL, &channel);
	return channel;
}

static void beside_producer(void)
{
	ww_channel *channels[2];

	meet_hostile();
	for (int i = 0; i < 2; i++)
		channels[i] = try_channel();
	for (int i = 0; i < ROUNDS; i++)
		take_frame(channels[i % 2]);
	child_kill(&hostile);
	for (int i = 0; i < 2; i++) {
		take_frame(channels[i]);
		ww_channel_unref(channels[i]);
	}
}

static void send_frame(ww_channel *channel)
{
	struct ww_channel_consumer_info info = WW_INIT(struct ww_channel_consumer_info);
	struct ww_frame frame = WW_INIT(struct ww_frame);

	if (ww_channel_acquire(channel, NULL, SHORT_NS, NULL, &frame) == WW_OK)
		MUST_OK(ww_channel_publish(channel, &frame, NULL));
	for (uint32_t i = 0; i < 2; i++) {
		if (ww_channel_consumer_info_get(channel, i, &info) == WW_OK)
			check_text(info.program, sizeof(info.program));
	}
}

static void beside_consumer(void)
{
	OWN(channel) ww_channel *producer = make_channel(scene.device, scene.broker);
	OWN(channel) ww_channel *other = try_channel();

	meet_hostile();
	for (int i = 0; i < ROUNDS; i++) {
		send_frame(producer);
		take_frame(other);
	}
	child_kill(&hostile);
	send_frame(producer);
	take_frame(other);
}

static void work(ww_work_queue *producer, ww_work_queue *consumer, bool acknowledges)
{
	struct ww_work_queue_info info = WW_INIT(struct ww_work_queue_info);
	struct ww_frame frame = WW_INIT(struct ww_frame);
	int fd = -1;

	poll_shortly(ww_work_queue_eventfd(consumer, &fd), &fd);
	if (ww_work_queue_acquire(producer, NULL, SHORT_NS, NULL, &frame) == WW_OK)
		MUST_OK(ww_work_queue_publish(producer, &frame, NULL));
	frame = WW_INIT(struct ww_frame);
	if (ww_work_queue_receive(consumer, NULL, SHORT_NS, NULL, &frame) == WW_OK) {
		check_frame(&frame);
		if (acknowledges)
			(void)ww_work_queue_acknowledge(consumer, &frame, NULL);
		else
			(void)ww_work_queue_reject(consumer, &frame);
	}
	MUST_OK(ww_work_queue_info_get(consumer, &info));
}

static void beside_member_of_queue(void)
{
	OWN(work_queue)
	ww_work_queue *producer = queue_make(WW_PARAMS(struct ww_work_queue_params,
		.role = WW_WORK_QUEUE_PRODUCER, .slot_bytes = SLOT_BYTES, .slots = SLOTS,
		.kind = WW_MEMORY_HOST, .metadata_bytes = ROOM, .mode = MODE));
	OWN(work_queue) ww_work_queue *consumer = NULL;

	work_send(producer, 1);
	meet_hostile();
	(void)ww_work_queue_get(scene.device, scene.broker, "q",
		WW_PARAMS(struct ww_work_member_params, .role = WW_WORK_QUEUE_CONSUMER), SHORT_NS,
		NULL, &consumer);
	for (int i = 0; i < ROUNDS && consumer; i++)
		work(producer, consumer, i % 2);
	child_kill(&hostile);
	if (consumer)
		work(producer, consumer, true);
}

static void read_slice(void)
{
	uint8_t bytes[SLOT_BYTES];
	ww_memory *slice;

	if (ww_memory_get(scene.device, scene.broker, "m", NULL, SHORT_NS, NULL, &slice, NULL) !=
		WW_OK)
		return;
	MUST_OK(ww_memory_read(slice, 0, bytes, sizeof(bytes), LIMIT_NS, NULL));
	ww_memory_unref(slice);
}

static void beside_owner(void)
{
	meet_hostile();
	for (int i = 0; i < ROUNDS; i++)
		read_slice();
	child_kill(&hostile);
	read_slice();
}

static void use_pool(ww_pool *pool)
{
	struct ww_pool_holder_info holder = WW_INIT(struct ww_pool_holder_info);
	ww_memory *slice;

	if (ww_pool_alloc(pool, SLOT_BYTES, 0, SHORT_NS, NULL, &slice) == WW_OK)
		ww_memory_unref(slice);
	for (uint32_t i = 0; ww_pool_holder_get(pool, i, &holder) == WW_OK; i++)
		check_text(holder.program, sizeof(holder.program));
}

static void beside_importer(void)
{
	ww_memory *slice;
	OWN(pool) ww_pool *pool = make_named_slice(scene.device, scene.broker, &slice);

	meet_hostile();
	for (int i = 0; i < ROUNDS; i++)
		use_pool(pool);
	child_kill(&hostile);
	use_pool(pool);
	ww_memory_unref(slice);
}

/* @service: served meanwhile; NULL: another process serves it */
static void use_service(ww_client *client, ww_service *service)
{
	struct ww_service_info info = WW_INIT(struct ww_service_info);
	struct ww_value value;
	ww_ticket *ticket = submit(client);
	int fd = -1;

	if (ticket)
		poll_shortly(ww_ticket_eventfd(ticket, &fd), &fd);
	if (service)
		(void)ww_service_serve(service, SHORT_NS, NULL);
	if (ticket && ww_ticket_wait(ticket, SHORT_NS, NULL) == WW_OK &&
		ww_ticket_result(ticket, 0, &value) == WW_OK)
		read_bytes(value.data, value.bytes);
	ww_ticket_unref(ticket);
	if (ww_client_service_info_get(client, &info) == WW_OK)
		check_text(info.program, sizeof(info.program));
}

static void use_service_of(ww_service *service)
{
	OWN(client) ww_client *client = NULL;

	(void)ww_client_open(scene.broker, "s", NULL, SHORT_NS, NULL, &client);
	for (int i = 0; i < ROUNDS && client; i++)
		use_service(client, service);
	child_kill(&hostile);
	if (client)
		use_service(client, service);
}

static void beside_server(void)
{
	OWN(client) ww_client *client = NULL;

	child_hear(&hostile, "serves");
	MUST_OK(ww_client_open(scene.broker, "s", NULL, LIMIT_NS, NULL, &client));
	use_service(client, NULL);
	meet_hostile();
	for (int i = 0; i < ROUNDS; i++)
		use_service(client, NULL);
	use_service_of(NULL);
}

static void beside_client(void)
{
	OWN(service) ww_service *service = make_service(scene.device, scene.broker);

	meet_hostile();
	use_service_of(service);
}

static void look_at_timeline(ww_timeline *timeline)
{
	struct ww_timeline_info info = WW_INIT(struct ww_timeline_info);

	if (!timeline)
		return;
	(void)ww_timeline_wait(timeline, 5, SHORT_NS, NULL);
	MUST_OK(ww_timeline_info_get(timeline, &info));
	check_text(info.program, sizeof(info.program));
}

static void beside_signaller(void)
{
	OWN(timeline) ww_timeline *timeline = NULL;

	meet_hostile();
	(void)ww_timeline_get(scene.broker, "t", SHORT_NS, NULL, &timeline);
	for (int i = 0; i < ROUNDS; i++)
		look_at_timeline(timeline);
	child_kill(&hostile);
	look_at_timeline(timeline);
}

static void look_at_barrier(ww_barrier *barrier)
{
	struct ww_barrier_info info = WW_INIT(struct ww_barrier_info);
	int fd = -1;

	if (!barrier)
		return;
	poll_shortly(ww_barrier_eventfd(barrier, &fd), &fd);
	(void)ww_barrier_wait(barrier, SHORT_NS, NULL);
	MUST_OK(ww_barrier_info_get(barrier, &info));
}

static void beside_rank(void)
{
	OWN(barrier) ww_barrier *barrier = NULL;

	MUST_OK(ww_barrier_create(scene.broker, "b",
		WW_PARAMS(struct ww_barrier_params, .count = 2, .mode = MODE), NULL, NULL));
	(void)ww_barrier_get(scene.broker, "b", 0, LIMIT_NS, NULL, &barrier);
	meet_hostile();
	for (int i = 0; i < ROUNDS; i++)
		look_at_barrier(barrier);
	child_kill(&hostile);
	look_at_barrier(barrier);
}

/* --- lives --- */

static const struct {
	const char *role;
	void (*be)(ww_device *device, ww_broker *broker);
	void (*beside)(void);
} roles[] = {
	{"producer", be_producer, beside_producer},
	{"consumer", be_consumer, beside_consumer},
	{"producer of work", be_producer_of_work, beside_member_of_queue},
	{"consumer of work", be_consumer_of_work, beside_member_of_queue},
	{"owner", be_owner, beside_owner},
	{"importer", be_importer, beside_importer},
	{"server", be_server, beside_server},
	{"client", be_client, beside_client},
	{"signaller", be_signaller, beside_signaller},
	{"rank", be_rank, beside_rank},
};

/* role_scribbler ROLE SEED */
ROLE(role_scribbler)
{
	const unsigned long role = strtoul(arguments[0], NULL, 10);

	MUST(count == 2);
	state = strtoull(arguments[1], NULL, 10);
	if (geteuid() == 0 && state % 2)
		child_become_user(USER, USER, NULL, 0);
	roles[role].be(subject_open(), open_broker());
	role_tell("ready");
	for (;;)
		scribble_pages(64, draw);
}

/* This process lets go of the pool of an owner that ended when it next releases a memory. */
static bool is_nothing_left(void)
{
	ww_memory_unref(scene_make(SLOT_BYTES, 0));
	return scene_info().objects == 0;
}

static void live(size_t role, uint64_t seed)
{
	char number[8];
	char text[24];
	const char *const arguments[] = {number, text, NULL};

	snprintf(number, sizeof(number), "%zu", role);
	snprintf(text, sizeof(text), "%" PRIu64, seed);
	child_start(&hostile, "role_scribbler", &(struct child_options){.arguments = arguments});
	roles[role].beside();
	if (!COMES_TRUE(is_nothing_left()))
		check_note("a member that was %s, seed %s", roles[role].role, text);
	step_nothing_is_left();
}

CASE(members_that_scribble, 0)
{
	uint64_t seed = seed_choose();
	uint32_t lives = (kills_wanted() + 9) / 10;

	if (subject_is_cuda() && !fake_get())
		check_skip("it starts hundreds of processes; the driver for tests shows the same");
	scene_begin();
	for (size_t i = 0; i < CHECK_COUNT(roles); i++) {
		for (uint32_t life = 0; life < lives; life++)
			live(i, ++seed);
	}
	check_note("%" PRIu32 " lives in each of %zu roles", lives, CHECK_COUNT(roles));
	scene_end();
}
