/* SPDX-License-Identifier: Apache-2.0 */
/*
 * member_stopped.c - a member is stopped (SIGSTOP) with all that it holds: no other process waits
 * longer than its own time limit, and others join
 *
 * The broker cannot know whether the member will go on, so nothing of it is given to others.
 */
#include "crash/member.h"

#include <signal.h>
#include <sys/wait.h>

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
	MUST_OK(ww_memory_put(slice, broker, "m", NULL, LIMIT_NS, NULL));
	return slice;
}

static ww_memory *get_memory(ww_device *device, ww_broker *broker)
{
	ww_memory *memory;

	MUST_OK(ww_memory_get(device, broker, "m", NULL, LIMIT_NS, NULL, &memory, NULL));
	return memory;
}

ROLE(role_stopped_owner)
{
	(void)count;
	(void)arguments;
	(void)cut_slice(make_pool(subject_open()), open_broker());
	be_ready();
}

ROLE(role_stopped_holder)
{
	(void)count;
	(void)arguments;
	(void)get_memory(subject_open(), open_broker());
	be_ready();
}

ROLE(role_getter)
{
	OWN(device) ww_device *device = subject_open();
	OWN(broker) ww_broker *broker = open_broker();

	(void)count;
	(void)arguments;
	ww_memory_unref(get_memory(device, broker));
}

static ww_status drain(void *service, ww_call *call)
{
	(void)call;
	return ww_service_drain(service);
}

/* Serves until it is stopped or killed, or is called to drain. */
ROLE(role_server)
{
	OWN(device) ww_device *device = subject_open();
	OWN(broker) ww_broker *broker = open_broker();
	ww_service *service;

	(void)count;
	(void)arguments;
	MUST_OK(ww_service_create(device, broker, "s", NULL, NULL, &service));
	MUST_OK(ww_service_offer(service, "drain", "", drain, service, NULL));
	service_offer_all(service, device);
	role_tell("ready");
	MUST_STATUS(WW_END, ww_service_serve(service, WW_FOREVER, NULL));
	ww_service_unref(service);
}

static ww_status call(ww_client *client, const char *name, uint64_t timeout_ns)
{
	uint32_t function;

	MUST_OK(ww_client_find(client, name, NULL, LIMIT_NS, NULL, &function));
	return ww_client_call(client, function, NULL, 0, NULL, timeout_ns, NULL, NULL);
}

static ww_client *open_client(ww_broker *broker)
{
	ww_client *client;

	MUST_OK(ww_client_open(broker, "s", NULL, LIMIT_NS, NULL, &client));
	MUST_OK(call(client, "nop", LIMIT_NS));
	return client;
}

static ww_ticket *submit(const char *name, const struct ww_value *arguments, uint32_t count)
{
	ww_client *client = open_client(open_broker());
	ww_ticket *ticket;
	uint32_t function;

	MUST_OK(ww_client_find(client, name, NULL, LIMIT_NS, NULL, &function));
	MUST_OK(ww_client_submit(client, function, arguments, count, NULL, LIMIT_NS, NULL,
		&ticket));
	return ticket;
}

/* Its call runs until it is cancelled, and it does not cancel it. */
ROLE(role_stopped_client)
{
	(void)count;
	(void)arguments;
	(void)submit("hold", NULL, 0);
	be_ready();
}

/* The server keeps a memory for it, which it never takes. */
ROLE(role_stopped_client_with_result)
{
	const struct ww_value values[] = {value_u64(4096), value_u8(1)};

	(void)count;
	(void)arguments;
	MUST_OK(ww_ticket_wait(submit("make", values, 2), LIMIT_NS, NULL));
	be_ready();
}

/* Arrives when it is told to, in the first round only. */
ROLE(role_stopped_rank)
{
	ww_barrier *barrier;

	(void)count;
	(void)arguments;
	MUST_OK(ww_barrier_get(open_broker(), "b", 1, LIMIT_NS, NULL, &barrier));
	role_tell("ready");
	role_hear("arrive");
	MUST_OK(ww_barrier_wait(barrier, LIMIT_NS, NULL));
	be_ready();
}

ROLE(role_stopped_signaller)
{
	ww_timeline *timeline;

	(void)count;
	(void)arguments;
	MUST_OK(ww_timeline_create(NULL, &timeline));
	MUST_OK(ww_timeline_put(timeline, open_broker(), "t", NULL, NULL));
	MUST_OK(ww_timeline_signal(timeline, 1));
	be_ready();
}

/* --- the others --- */

/* It may run for a moment after kill(), and do what it was asked to. */
static void stop(const struct child *member)
{
	siginfo_t info;

	MUST_CALL(kill(member->pid, SIGSTOP));
	MUST_CALL(waitid(P_PID, (id_t)member->pid, &info, WSTOPPED));
}

static void start_and_stop(struct child *member, const char *role)
{
	child_start(member, role, NULL);
	child_hear(member, "ready");
	stop(member);
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
	child_start(&other, "role_getter", NULL);
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
	start_and_stop(&member, "role_stopped_holder");
	MUST_OK(ww_broker_remove(scene.broker, "m"));
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
	child_start(&member, "role_server", NULL);
	child_hear(&member, "ready");
	client = open_client(scene.broker);
	stop(&member);
	MUST_STATUS(WW_TIMED_OUT, call(client, "nop", A_WHILE_NS));
	child_kill(&member);
	MUST_STATUS(WW_ERR_PEER_LOST, call(client, "nop", LIMIT_NS));
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
	child_start(&server, "role_server", NULL);
	child_hear(&server, "ready");
	start_and_stop(&member, "role_stopped_client");
	MUST_OK(ww_client_open(scene.broker, "s", NULL, LIMIT_NS, NULL, &client));
	/* The server takes this call before or after the one that runs until it is cancelled. */
	status = call(client, "nop", A_WHILE_NS);
	MUST(status == WW_TIMED_OUT || status == WW_OK);
	child_kill(&member);
	MUST_OK(call(client, "nop", LIMIT_NS));
	ww_client_unref(client);
	child_kill(&server);
	scene_end();
}

CASE(stopped_client_with_result, 0)
{
	struct child member;
	struct child server;
	ww_client *client;

	scene_begin();
	child_start(&server, "role_server", NULL);
	child_hear(&server, "ready");
	start_and_stop(&member, "role_stopped_client_with_result");
	client = open_client(scene.broker);
	MUST_OK(call(client, "drain", LIMIT_NS));
	child_finish(&server);
	ww_client_unref(client);
	child_kill(&member);
	scene_end();
}

CASE(stopped_holder, 0)
{
	struct child member;
	struct child other;
	ww_memory *former;
	ww_memory *next;
	ww_memory *got;

	scene_begin();
	former = scene_make(1, 1);
	next = scene_make(1, 2);
	scene_put(former, "m", 0, WW_LIFE_HELD, WW_STATE_SEALED);
	start_and_stop(&member, "role_stopped_holder");
	child_start(&other, "role_getter", NULL);
	child_finish(&other);
	MUST_OK(ww_broker_remove(scene.broker, "m"));
	ww_memory_unref(former);
	scene_put(next, "m", 0, WW_LIFE_HELD, WW_STATE_SEALED);
	got = get_memory(scene.device, scene.broker);
	pattern_verify(got, 2);
	ww_memory_unref(got);
	ww_memory_unref(next);
	child_kill(&member);
	scene_end();
}

CASE(stopped_rank, 0)
{
	struct child member;
	ww_barrier *barrier;

	scene_begin();
	MUST_OK(ww_barrier_create(scene.broker, "b",
		WW_PARAMS(struct ww_barrier_params, .count = 2), NULL, NULL));
	child_start(&member, "role_stopped_rank", NULL);
	MUST_OK(ww_barrier_get(scene.broker, "b", 0, LIMIT_NS, NULL, &barrier));
	child_hear(&member, "ready");
	stop(&member);
	MUST_STATUS(WW_TIMED_OUT, ww_barrier_wait(barrier, A_WHILE_NS, NULL));
	child_tell(&member, "arrive");
	MUST_CALL(kill(member.pid, SIGCONT));
	MUST_OK(ww_barrier_wait(barrier, LIMIT_NS, NULL));
	child_hear(&member, "ready");
	stop(&member);
	MUST_STATUS(WW_TIMED_OUT, ww_barrier_wait(barrier, A_WHILE_NS, NULL));
	child_kill(&member);
	MUST_STATUS(WW_ERR_PEER_LOST, ww_barrier_wait(barrier, LIMIT_NS, NULL));
	ww_barrier_unref(barrier);
	scene_end();
}

CASE(stopped_signaller, NEEDS_VALUES)
{
	ww_timeline *timeline;
	struct child member;
	ww_stream *stream;

	scene_begin();
	MUST_OK(ww_stream_create(scene.device, &stream));
	start_and_stop(&member, "role_stopped_signaller");
	MUST_OK(ww_timeline_get(scene.broker, "t", LIMIT_NS, NULL, &timeline));
	MUST_OK(ww_timeline_wait(timeline, 1, LIMIT_NS, NULL));
	MUST_STATUS(WW_TIMED_OUT, ww_timeline_wait(timeline, 2, A_WHILE_NS, NULL));
	MUST_STATUS(WW_TIMED_OUT,
		ww_timeline_stream_wait(timeline, stream, 2, 0, A_WHILE_NS, NULL));
	MUST_OK(ww_timeline_stream_wait(timeline, stream, 2, WW_WAIT_UNSUBMITTED, 0, NULL));
	MUST_STATUS(WW_TIMED_OUT, ww_stream_synchronize(stream, A_WHILE_NS, NULL));
	child_kill(&member);
	MUST_STATUS(WW_ERR_PEER_LOST, ww_timeline_wait(timeline, 2, LIMIT_NS, NULL));
	MUST_STATUS(WW_ERR_PEER_LOST, ww_stream_synchronize(stream, LIMIT_NS, NULL));
	ww_timeline_unref(timeline);
	ww_stream_unref(stream);
	scene_end();
}
