/* SPDX-License-Identifier: Apache-2.0 */
/*
 * member_stopped.c - a member is stopped (SIGSTOP) with all that it holds: no other process waits
 * longer than its own time limit, and others join
 *
 * The broker cannot know whether the member will go on, so nothing of it is given to others.
 */
#include "crash/member.h"

#include <signal.h>

#include "support/service.h"

#define A_WHILE_NS UINT64_C(20000000)

/* --- the members that are stopped; each has told "ready" before --- */

static void be_ready(void)
{
	role_tell("ready");
	role_hear("nothing, since it is killed");
}

static ww_work_queue *be_member(uint32_t role)
{
	return join_queue(subject_open(), open_broker(), role);
}

ROLE(role_stopped_producer_of_work)
{
	(void)count;
	(void)arguments;
	work_send(be_member(WW_WORK_QUEUE_PRODUCER), 1);
	be_ready();
}

ROLE(role_stopped_consumer_of_work)
{
	struct ww_frame frame = WW_INIT(struct ww_frame);

	(void)count;
	(void)arguments;
	MUST_OK(ww_work_queue_receive(be_member(WW_WORK_QUEUE_CONSUMER), NULL, LIMIT_NS, NULL,
		&frame));
	be_ready();
}

static ww_channel *make_channel(ww_device *device, ww_broker *broker)
{
	ww_channel *channel;

	MUST_OK(ww_channel_create(device, broker, "c",
		WW_PARAMS(struct ww_channel_params, .slot_bytes = 4096, .slots = 1,
			.kind = WW_MEMORY_HOST),
		NULL, &channel));
	return channel;
}

static ww_channel *join_channel(ww_device *device, ww_broker *broker)
{
	ww_channel *channel;

	MUST_OK(ww_channel_get(device, broker, "c",
		WW_PARAMS(struct ww_consumer_params, .history = WW_CHANNEL_OLDEST), LIMIT_NS, NULL,
		&channel));
	return channel;
}

ROLE(role_stopped_producer)
{
	(void)count;
	(void)arguments;
	frame_send(make_channel(subject_open(), open_broker()), 1);
	be_ready();
}

ROLE(role_stopped_consumer)
{
	struct ww_frame frame = WW_INIT(struct ww_frame);

	(void)count;
	(void)arguments;
	MUST_OK(ww_channel_receive(join_channel(subject_open(), open_broker()), NULL, LIMIT_NS,
		NULL, &frame));
	be_ready();
}

/* All of the pool, under a name. */
static ww_memory *cut_slice(ww_pool *pool, ww_broker *broker)
{
	ww_memory *slice;

	MUST_OK(ww_pool_alloc(pool, POOL_BYTES, 0, 0, NULL, &slice));
	MUST_OK(ww_memory_put(slice, broker, "slice", NULL, LIMIT_NS, NULL));
	return slice;
}

static ww_memory *get_slice(ww_device *device, ww_broker *broker)
{
	ww_memory *slice;

	MUST_OK(ww_memory_get(device, broker, "slice", NULL, LIMIT_NS, NULL, &slice, NULL));
	return slice;
}

ROLE(role_stopped_owner)
{
	(void)count;
	(void)arguments;
	(void)cut_slice(make_pool(subject_open()), open_broker());
	be_ready();
}

ROLE(role_stopped_importer)
{
	(void)count;
	(void)arguments;
	(void)get_slice(subject_open(), open_broker());
	be_ready();
}

ROLE(role_getter_of_slice)
{
	OWN(device) ww_device *device = subject_open();
	OWN(broker) ww_broker *broker = open_broker();

	(void)count;
	(void)arguments;
	ww_memory_unref(get_slice(device, broker));
}

/* Serves until it is stopped or killed. */
ROLE(role_stopped_server)
{
	ww_device *device = subject_open();
	ww_service *service;

	(void)count;
	(void)arguments;
	MUST_OK(ww_service_create(device, open_broker(), "s", NULL, NULL, &service));
	service_offer_all(service, device);
	role_tell("ready");
	(void)ww_service_serve(service, WW_FOREVER, NULL);
}

static ww_status call(ww_client *client, uint64_t timeout_ns)
{
	uint32_t nop;

	MUST_OK(ww_client_find(client, "nop", NULL, LIMIT_NS, NULL, &nop));
	return ww_client_call(client, nop, NULL, 0, NULL, timeout_ns, NULL, NULL);
}

static ww_client *open_client(ww_broker *broker)
{
	ww_client *client;

	MUST_OK(ww_client_open(broker, "s", NULL, LIMIT_NS, NULL, &client));
	MUST_OK(call(client, LIMIT_NS));
	return client;
}

/* Its calls run until they are cancelled, and it does not cancel them. */
ROLE(role_stopped_client)
{
	ww_client *client = open_client(open_broker());
	ww_ticket *ticket;
	uint32_t hold;

	(void)count;
	(void)arguments;
	MUST_OK(ww_client_find(client, "hold", NULL, LIMIT_NS, NULL, &hold));
	MUST_OK(ww_client_submit(client, hold, NULL, 0, NULL, LIMIT_NS, NULL, &ticket));
	be_ready();
}

/* --- the others --- */

static void start_and_stop(struct child *member, const char *role)
{
	child_start(member, role, NULL);
	child_hear(member, "ready");
	MUST_CALL(kill(member->pid, SIGSTOP));
}

static ww_work_queue *make_queue(void)
{
	return queue_make(WW_PARAMS(struct ww_work_queue_params, .role = WW_WORK_QUEUE_PRODUCER,
		.slot_bytes = 4096, .slots = 1, .kind = WW_MEMORY_HOST));
}

CASE(stopped_producer_of_work, 0)
{
	struct ww_frame frame = WW_INIT(struct ww_frame);
	struct child member;
	ww_work_queue *producer;
	ww_work_queue *consumer;

	scene_begin();
	producer = make_queue();
	start_and_stop(&member, "role_stopped_producer_of_work");
	consumer = queue_get(WW_WORK_QUEUE_CONSUMER);
	MUST_OK(ww_work_queue_receive(consumer, NULL, LIMIT_NS, NULL, &frame));
	MUST_OK(ww_work_queue_acknowledge(consumer, &frame, NULL));
	MUST_STATUS(WW_TIMED_OUT, ww_work_queue_receive(consumer, NULL, A_WHILE_NS, NULL, &frame));
	work_send(producer, 1);
	MUST_OK(ww_work_queue_receive(consumer, NULL, LIMIT_NS, NULL, &frame));
	ww_work_queue_unref(consumer);
	ww_work_queue_unref(producer);
	child_kill(&member);
	scene_end();
}

CASE(stopped_consumer_of_work, 0)
{
	struct ww_frame frame = WW_INIT(struct ww_frame);
	struct child member;
	ww_work_queue *producer;
	ww_work_queue *consumer;

	scene_begin();
	producer = make_queue();
	work_send(producer, 1);
	start_and_stop(&member, "role_stopped_consumer_of_work");
	MUST_STATUS(WW_TIMED_OUT, ww_work_queue_acquire(producer, NULL, A_WHILE_NS, NULL, &frame));
	consumer = queue_get(WW_WORK_QUEUE_CONSUMER);
	MUST_STATUS(WW_TIMED_OUT, ww_work_queue_receive(consumer, NULL, A_WHILE_NS, NULL, &frame));
	child_kill(&member);
	MUST_OK(ww_work_queue_receive(consumer, NULL, LIMIT_NS, NULL, &frame));
	MUST_EQUAL(2, frame.attempts);
	ww_work_queue_unref(consumer);
	ww_work_queue_unref(producer);
	scene_end();
}

CASE(stopped_producer, 0)
{
	struct ww_frame frame = WW_INIT(struct ww_frame);
	struct child member;
	ww_channel *channel;

	scene_begin();
	start_and_stop(&member, "role_stopped_producer");
	channel = join_channel(scene.device, scene.broker);
	MUST_OK(ww_channel_receive(channel, NULL, LIMIT_NS, NULL, &frame));
	MUST_OK(ww_channel_release(channel, &frame, NULL));
	MUST_STATUS(WW_TIMED_OUT, ww_channel_receive(channel, NULL, A_WHILE_NS, NULL, &frame));
	child_kill(&member);
	MUST_STATUS(WW_ERR_PEER_LOST, ww_channel_receive(channel, NULL, LIMIT_NS, NULL, &frame));
	ww_channel_unref(channel);
	scene_end();
}

CASE(stopped_consumer, 0)
{
	struct ww_frame frame = WW_INIT(struct ww_frame);
	struct child member;
	ww_channel *producer;
	ww_channel *other;

	scene_begin();
	producer = make_channel(scene.device, scene.broker);
	frame_send(producer, 1);
	start_and_stop(&member, "role_stopped_consumer");
	MUST_STATUS(WW_TIMED_OUT, ww_channel_acquire(producer, NULL, A_WHILE_NS, NULL, &frame));
	other = join_channel(scene.device, scene.broker);
	MUST_OK(ww_channel_receive(other, NULL, LIMIT_NS, NULL, &frame));
	MUST_OK(ww_channel_release(other, &frame, NULL));
	MUST_STATUS(WW_TIMED_OUT, ww_channel_acquire(producer, NULL, A_WHILE_NS, NULL, &frame));
	child_kill(&member);
	frame_send(producer, 2);
	MUST_OK(ww_channel_receive(other, NULL, LIMIT_NS, NULL, &frame));
	ww_channel_unref(other);
	ww_channel_unref(producer);
	scene_end();
}

CASE(stopped_owner, 0)
{
	struct child member;
	struct child other;

	scene_begin();
	start_and_stop(&member, "role_stopped_owner");
	child_start(&other, "role_getter_of_slice", NULL);
	child_finish(&other);
	child_kill(&member);
	scene_end();
}

CASE(stopped_importer, 0)
{
	struct child member;
	ww_memory *slice;
	ww_pool *pool;

	scene_begin();
	pool = make_pool(scene.device);
	slice = cut_slice(pool, scene.broker);
	start_and_stop(&member, "role_stopped_importer");
	MUST_OK(ww_broker_remove(scene.broker, "slice"));
	ww_memory_unref(slice);
	MUST(ww_pool_alloc(pool, POOL_BYTES, 0, A_WHILE_NS, NULL, &slice) != WW_OK);
	child_kill(&member);
	MUST_OK(ww_pool_alloc(pool, POOL_BYTES, 0, LIMIT_NS, NULL, &slice));
	ww_memory_unref(slice);
	ww_pool_unref(pool);
	scene_end();
}

CASE(stopped_server, 0)
{
	struct child member;
	ww_client *client;

	scene_begin();
	child_start(&member, "role_stopped_server", NULL);
	child_hear(&member, "ready");
	client = open_client(scene.broker);
	MUST_CALL(kill(member.pid, SIGSTOP));
	MUST_STATUS(WW_TIMED_OUT, call(client, A_WHILE_NS));
	child_kill(&member);
	MUST_STATUS(WW_ERR_PEER_LOST, call(client, LIMIT_NS));
	ww_client_unref(client);
	scene_end();
}

CASE(stopped_client, 0)
{
	struct child member;
	struct child server;
	ww_client *client;
	ww_status status;

	scene_begin();
	child_start(&server, "role_stopped_server", NULL);
	child_hear(&server, "ready");
	start_and_stop(&member, "role_stopped_client");
	MUST_OK(ww_client_open(scene.broker, "s", NULL, LIMIT_NS, NULL, &client));
	/* The server takes this call before or after the one that runs until it is cancelled. */
	status = call(client, A_WHILE_NS);
	MUST(status == WW_TIMED_OUT || status == WW_OK);
	child_kill(&member);
	MUST_OK(call(client, LIMIT_NS));
	ww_client_unref(client);
	child_kill(&server);
	scene_end();
}
