/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cancel.c - every kind of call that waits ends when its ww_cancel is set, and what it was called
 * on works afterwards
 *
 * A broker that hangs is one that is stopped: all its processes, by SIGSTOP.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "conformance/conformance.h"
#include "support/broker_case.h"
#include "support/cancel.h"
#include "support/timeline.h"

#define BYTES (2 * MIB)

#define PUT(...)     WW_PARAMS(struct ww_put_params, __VA_ARGS__)
#define EXPORT(...)  WW_PARAMS(struct ww_export_params, __VA_ARGS__)
#define TOKEN(...)   WW_PARAMS(struct ww_token_params, __VA_ARGS__)
#define BARRIER(...) WW_PARAMS(struct ww_barrier_params, __VA_ARGS__)
#define NAME(...)    WW_PARAMS(struct ww_name_params, __VA_ARGS__)
#define WRITE        WW_PARAMS(struct ww_import_params, .access = WW_ACCESS_WRITE)

/* What the calls below are about. */
struct things {
	ww_device *device;
	ww_stream *stream;
	ww_timeline *timeline;
	ww_event *event;
	ww_barrier *barrier;
	ww_memory *memory;
	ww_object *object;
	ww_pool *pool;
	ww_watch *watch;
	struct ww_token token;
	uint64_t timeout_ns;
	int socket;
};

/* --- without a broker --- */

static ww_status wait_for_timeline(void *context, ww_cancel *cancel)
{
	const struct things *things = context;

	return ww_timeline_wait(things->timeline, 1, WW_FOREVER, cancel);
}

static ww_status wait_for_submission(void *context, ww_cancel *cancel)
{
	const struct things *things = context;

	return ww_timeline_stream_wait(things->timeline, things->stream, 1, 0, WW_FOREVER, cancel);
}

CASE(cancel_timeline_wait, NO_DEVICE)
{
	struct things things = {.device = subject_open(), .timeline = timeline_make(0, 0)};

	cancel_must_end(wait_for_timeline, &things);
	MUST_OK(ww_timeline_signal(things.timeline, 1));
	MUST_OK(ww_timeline_wait(things.timeline, 1, WW_FOREVER, NULL));
	ww_timeline_unref(things.timeline);
	ww_device_unref(things.device);
}

CASE(cancel_timeline_stream_wait, WW_CAP_STREAM_VALUE)
{
	struct things things = {.device = subject_open(), .timeline = timeline_make(0, 0)};

	things.stream = stream_make(things.device);
	cancel_must_end(wait_for_submission, &things);
	/* Nothing was enqueued. */
	MUST_OK(ww_stream_synchronize(things.stream, WW_FOREVER, NULL));
	MUST_OK(ww_timeline_signal(things.timeline, 1));
	MUST_OK(wait_for_submission(&things, NULL));
	ww_stream_unref(things.stream);
	ww_timeline_unref(things.timeline);
	ww_device_unref(things.device);
}

static ww_status synchronize_stream(void *context, ww_cancel *cancel)
{
	const struct things *things = context;

	return ww_stream_synchronize(things->stream, WW_FOREVER, cancel);
}

static ww_status synchronize_event(void *context, ww_cancel *cancel)
{
	const struct things *things = context;

	return ww_event_synchronize(things->event, WW_FOREVER, cancel);
}

CASE(cancel_synchronize, WW_CAP_EVENT | WW_CAP_STREAM_VALUE)
{
	struct things things = {.device = subject_open(), .timeline = timeline_make(0, 0)};

	things.stream = stream_make(things.device);
	MUST_OK(ww_event_create(things.device, NULL, &things.event));
	stream_hold(things.stream, things.timeline, 1);
	MUST_OK(ww_event_record(things.event, things.stream));
	cancel_must_end(synchronize_stream, &things);
	cancel_must_end(synchronize_event, &things);
	MUST_OK(ww_timeline_signal(things.timeline, 1));
	MUST_OK(synchronize_event(&things, NULL));
	MUST_OK(synchronize_stream(&things, NULL));
	ww_event_unref(things.event);
	ww_stream_unref(things.stream);
	ww_timeline_unref(things.timeline);
	ww_device_unref(things.device);
}

static ww_status receive(void *context, ww_cancel *cancel)
{
	struct things *things = context;
	OWN(memory) ww_memory *received;

	return ww_memory_receive(things->device, things->socket, WRITE, WW_FOREVER, cancel,
		&received);
}

static ww_status send_it(void *context, ww_cancel *cancel)
{
	struct things *things = context;

	return ww_memory_send(things->memory, WW_ACCESS_WRITE, things->socket, WW_FOREVER, cancel);
}

/* Receives all that was sent. */
static void must_be_there(struct things *things, int socket, int count)
{
	things->socket = socket;
	for (int i = 0; i < count; i++)
		MUST_OK(receive(things, NULL));
}

static void cancel_over(struct things *things, int type)
{
	int sockets[2];
	int sent = 0;

	packet_pair(type, sockets);
	things->socket = sockets[1];
	cancel_must_end(receive, things);
	while (ww_memory_send(things->memory, WW_ACCESS_WRITE, sockets[0], 0, NULL) == WW_OK)
		sent++;
	things->socket = sockets[0];
	cancel_must_end(send_it, things);
	/* No message more, and none that is cut. */
	must_be_there(things, sockets[1], sent);
	cancel_must_end(receive, things);
	things->socket = sockets[0];
	MUST_OK(send_it(things, NULL));
	must_be_there(things, sockets[1], 1);
	close(sockets[0]);
	close(sockets[1]);
}

CASE(cancel_send_and_receive, WW_CAP_EXPORT)
{
	struct things things = {.device = subject_open()};

	things.memory = memory_make(things.device, WW_MEMORY_VMM, BYTES);
	cancel_over(&things, SOCK_SEQPACKET);
	cancel_over(&things, SOCK_STREAM);
	ww_memory_unref(things.memory);
	ww_device_unref(things.device);
}

static ww_status allocate(void *context, ww_cancel *cancel)
{
	struct things *things = context;
	OWN(memory) ww_memory *slice;

	return ww_pool_alloc(things->pool, BYTES, 0, WW_FOREVER, cancel, &slice);
}

CASE(cancel_pool_alloc, WW_CAP_EXPORT)
{
	struct things things = {.device = subject_open()};
	struct ww_pool_info info = WW_INIT(struct ww_pool_info);
	ww_memory *slice;

	MUST_OK(ww_pool_create(things.device,
		WW_PARAMS(struct ww_pool_params, .bytes_max = BYTES, .chunk_bytes = BYTES),
		&things.pool));
	MUST_OK(ww_pool_alloc(things.pool, BYTES, 0, 0, NULL, &slice));
	cancel_must_end(allocate, &things);
	ww_memory_unref(slice);
	MUST_OK(ww_pool_info_get(things.pool, &info));
	MUST_EQUAL(0, info.bytes_used);
	MUST_OK(allocate(&things, NULL));
	ww_pool_unref(things.pool);
	ww_device_unref(things.device);
}

/*
 * Whether a call did its work although its flag was set. It may be cancelled only if the broker did
 * not answer within the moment that it is given.
 */
static bool is_spared(ww_status status, uint64_t began_ns)
{
	if (status == WW_CANCELLED)
		MUST(ww_clock_now_ns() - began_ns >= WW_CANCEL_GRACE_NS);
	else
		MUST_OK(status);
	return status == WW_OK;
}

/* What need not wait does not look at the flag. */
SCENE_CASE(cancel_spares_what_need_not_wait, WW_CAP_EXPORT)
{
	OWN(timeline) ww_timeline *timeline = timeline_make(0, 7);
	OWN(memory) ww_memory *memory;
	ww_memory *got;
	OWN(cancel) ww_cancel *cancel;

	MUST_OK(ww_cancel_create(&cancel));
	ww_cancel_set(cancel);
	memory = scene_make(BYTES, 1);
	MUST_OK(ww_timeline_wait(timeline, 7, WW_FOREVER, cancel));
	for (int i = 0; i < 10; i++) {
		uint64_t began_ns = ww_clock_now_ns();

		if (is_spared(ww_memory_put(memory, scene.broker, "x", NULL, WW_FOREVER, cancel),
			    began_ns)) {
			began_ns = ww_clock_now_ns();
			is_spared(ww_memory_get(scene.device, scene.broker, "x", NULL, WW_FOREVER,
					  cancel, &got, NULL),
				began_ns);
			ww_memory_unref(got);
		}
		ww_memory_unref(memory);
		scene_has_objects(0);
		memory = scene_make(BYTES, 1);
	}
}

/* --- waiting at a broker --- */

static ww_status get_memory(void *context, ww_cancel *cancel)
{
	const struct things *things = context;
	OWN(memory) ww_memory *got;

	return ww_memory_get(scene.device, scene.broker, "x", NULL, things->timeout_ns, cancel,
		&got, NULL);
}

static ww_status get_timeline(void *context, ww_cancel *cancel)
{
	const struct things *things = context;
	OWN(timeline) ww_timeline *got;

	return ww_timeline_get(scene.broker, "t", things->timeout_ns, cancel, &got);
}

SCENE_CASE(cancel_get, WW_CAP_EXPORT)
{
	struct things things = {.timeout_ns = WW_FOREVER};

	cancel_must_end(get_memory, &things);
	cancel_must_end(get_timeline, &things);
	scene_has_waits(0);
	things.memory = scene_make(BYTES, 1);
	things.timeline = timeline_make(0, 0);
	scene_put(things.memory, "x", 0, 0, 0);
	MUST_OK(ww_timeline_put(things.timeline, scene.broker, "t", NULL, NULL));
	MUST_OK(get_memory(&things, NULL));
	MUST_OK(get_timeline(&things, NULL));
	ww_memory_unref(things.memory);
	ww_timeline_unref(things.timeline);
}

static ww_status put_memory(void *context, ww_cancel *cancel)
{
	const struct things *things = context;

	return ww_memory_put(things->memory, scene.broker, "x", NULL, things->timeout_ns, cancel);
}

/* The quota has room for one object. */
CASE(cancel_put, WW_CAP_EXPORT)
{
	struct things things = {.timeout_ns = WW_FOREVER};
	ww_memory *first;

	scene_begin_with(&(struct broker_options){.config = "[limits]\nobjects = 1\n"});
	first = scene_make(BYTES, 1);
	things.memory = scene_make(BYTES, 2);
	scene_put(first, "first", 0, 0, 0);
	cancel_must_end(put_memory, &things);
	scene_has_waits(0);
	scene_has_objects(1);
	ww_memory_unref(first);
	MUST_OK(put_memory(&things, NULL));
	MUST_OK(get_memory(&things, NULL));
	ww_memory_unref(things.memory);
	scene_end();
}

static ww_status get_barrier(void *context, ww_cancel *cancel)
{
	OWN(barrier) ww_barrier *barrier;
	ww_status status = ww_barrier_get(scene.broker, "b", 1, WW_FOREVER, cancel, &barrier);

	(void)context;
	return status;
}

static ww_status wait_at_barrier(void *context, ww_cancel *cancel)
{
	const struct things *things = context;

	return ww_barrier_wait(things->barrier, WW_FOREVER, cancel);
}

static void *join_as_second(void *context)
{
	MUST_OK(ww_barrier_get(scene.broker, "b", 1, WW_FOREVER, NULL, context));
	return NULL;
}

static void *meet(void *context)
{
	MUST_OK(ww_barrier_wait(context, WW_FOREVER, NULL));
	return NULL;
}

SCENE_CASE(cancel_barrier, NO_DEVICE)
{
	struct things things = {.timeout_ns = WW_FOREVER};
	OWN(barrier) ww_barrier *second;
	pthread_t thread;

	cancel_must_end(get_barrier, &things);
	MUST_OK(ww_barrier_create(scene.broker, "b", BARRIER(.count = 2), NULL, NULL));
	cancel_must_end(get_barrier, &things);
	/* The rank is free, and the barrier is not broken. */
	MUST(!pthread_create(&thread, NULL, join_as_second, &second));
	MUST_OK(ww_barrier_get(scene.broker, "b", 0, WW_FOREVER, NULL, &things.barrier));
	pthread_join(thread, NULL);
	/* It has arrived, and waits on in the next call. */
	cancel_must_end(wait_at_barrier, &things);
	MUST(!pthread_create(&thread, NULL, meet, second));
	MUST_OK(wait_at_barrier(&things, NULL));
	pthread_join(thread, NULL);
	ww_barrier_unref(things.barrier);
}

static ww_status watch_next(void *context, ww_cancel *cancel)
{
	struct ww_watch_event event = WW_INIT(struct ww_watch_event);
	const struct things *things = context;

	return ww_watch_next(things->watch, WW_FOREVER, cancel, &event);
}

SCENE_CASE(cancel_watch_next, WW_CAP_EXPORT)
{
	struct things things = {.timeout_ns = WW_FOREVER};

	MUST_OK(ww_watch_create(scene.broker, NULL, 0, &things.watch));
	cancel_must_end(watch_next, &things);
	things.memory = scene_make(BYTES, 1);
	scene_put(things.memory, "x", 0, 0, 0);
	MUST_OK(watch_next(&things, NULL));
	ww_watch_free(things.watch);
	ww_memory_unref(things.memory);
}

/* --- a broker that hangs --- */

static void hang(void)
{
	MUST_CALL(kill(-scene.daemon.group, SIGSTOP));
}

static void go_on(void)
{
	MUST_CALL(kill(-scene.daemon.group, SIGCONT));
}

static void must_end_while_it_hangs(cancel_call call, void *context)
{
	hang();
	cancel_must_end(call, context);
	go_on();
}

static ww_status publish(void *context, ww_cancel *cancel)
{
	const struct things *things = context;

	return ww_memory_publish(things->memory, scene.broker, WW_STATE_SEALED, cancel);
}

static ww_status export(void *context, ww_cancel *cancel)
{
	struct things *things = context;

	return ww_memory_export(things->memory, scene.broker, EXPORT(.escrow_ns = WW_ESCROW_NONE),
		cancel, &things->token);
}

static ww_status import(void *context, ww_cancel *cancel)
{
	const struct things *things = context;
	OWN(memory) ww_memory *got;

	return ww_memory_import(scene.device, scene.broker, &things->token, NULL, cancel, &got,
		NULL);
}

static ww_status map_object(void *context, ww_cancel *cancel)
{
	const struct things *things = context;
	OWN(memory) ww_memory *got;

	return ww_object_map(things->object, scene.device, NULL, cancel, &got);
}

SCENE_CASE(cancel_put_while_broker_hangs, WW_CAP_EXPORT)
{
	struct things things = {.timeout_ns = 0};

	things.memory = scene_make(BYTES, 1);
	must_end_while_it_hangs(put_memory, &things);
	scene_has_objects(0);
	MUST_STATUS(WW_ERR_NOT_FOUND, get_memory(&things, NULL));
	things.timeout_ns = WW_FOREVER;
	must_end_while_it_hangs(put_memory, &things);
	must_end_while_it_hangs(get_memory, &things);
	scene_has_objects(0);
	scene_has_waits(0);
	MUST_OK(put_memory(&things, NULL));
	MUST_OK(get_memory(&things, NULL));
	ww_memory_unref(things.memory);
}

SCENE_CASE(cancel_publish_while_broker_hangs, WW_CAP_EXPORT)
{
	struct ww_object_info info = WW_INIT(struct ww_object_info);
	struct things things = {.timeout_ns = 0};

	things.memory = scene_make(BYTES, 1);
	scene_put(things.memory, "x", 0, 0, WW_STATE_WRITING);
	must_end_while_it_hangs(publish, &things);
	/* The broker had it. */
	MUST_OK(ww_broker_stat(scene.broker, "x", &info));
	MUST_EQUAL(WW_STATE_SEALED, info.state);
	ww_memory_unref(things.memory);
}

SCENE_CASE(cancel_tokens_while_broker_hangs, WW_CAP_EXPORT)
{
	struct things things = {.timeout_ns = 0};

	things.memory = scene_make(BYTES, 1);
	must_end_while_it_hangs(export, &things); /* while it is put */
	scene_has_objects(0);
	MUST_OK(export(&things, NULL));
	must_end_while_it_hangs(export, &things); /* while its token is made */
	things.memory = ww_memory_unref(things.memory);
	scene_has_objects(0);
	things.memory = scene_make(BYTES, 1);
	scene_put(things.memory, "x", 0, WW_LIFE_KEPT, WW_STATE_SHARED);
	MUST_OK(export(&things, NULL));
	ww_memory_unref(things.memory); /* so that it must be asked for */
	must_end_while_it_hangs(import, &things);
	MUST_OK(import(&things, NULL));
	MUST_OK(ww_object_import(NULL, &things.token, NULL, &things.object, NULL));
	must_end_while_it_hangs(map_object, &things);
	MUST_OK(map_object(&things, NULL));
	ww_object_unref(things.object);
	MUST_OK(ww_broker_remove(scene.broker, "x"));
}

static ww_status put_timeline(void *context, ww_cancel *cancel)
{
	const struct things *things = context;

	return ww_timeline_put(things->timeline, scene.broker, "t", NULL, cancel);
}

static ww_status export_timeline(void *context, ww_cancel *cancel)
{
	struct things *things = context;

	return ww_timeline_export(things->timeline, scene.broker,
		TOKEN(.escrow_ns = WW_ESCROW_NONE), cancel, &things->token);
}

static ww_status import_timeline(void *context, ww_cancel *cancel)
{
	const struct things *things = context;
	OWN(timeline) ww_timeline *got;

	return ww_timeline_import(scene.broker, &things->token, cancel, &got);
}

SCENE_CASE(cancel_timeline_while_broker_hangs, NO_DEVICE)
{
	struct things things = {.timeout_ns = WW_FOREVER, .timeline = timeline_make(0, 0)};

	must_end_while_it_hangs(put_timeline, &things);
	must_end_while_it_hangs(export_timeline, &things);
	must_end_while_it_hangs(get_timeline, &things);
	scene_has_objects(0);
	MUST_OK(put_timeline(&things, NULL));
	MUST_OK(get_timeline(&things, NULL));
	MUST_OK(export_timeline(&things, NULL));
	must_end_while_it_hangs(import_timeline, &things);
	MUST_OK(import_timeline(&things, NULL));
	ww_timeline_unref(things.timeline);
}

static ww_status create_barrier(void *context, ww_cancel *cancel)
{
	(void)context;
	return ww_barrier_create(scene.broker, "b", BARRIER(.count = 2), cancel, NULL);
}

SCENE_CASE(cancel_barrier_while_broker_hangs, NO_DEVICE)
{
	struct things things = {.timeout_ns = WW_FOREVER};
	OWN(barrier) ww_barrier *second;
	pthread_t thread;

	must_end_while_it_hangs(create_barrier, &things);
	scene_has_objects(0);
	MUST_OK(create_barrier(&things, NULL));
	must_end_while_it_hangs(get_barrier, &things);
	MUST(!pthread_create(&thread, NULL, join_as_second, &second));
	MUST_OK(ww_barrier_get(scene.broker, "b", 0, WW_FOREVER, NULL, &things.barrier));
	pthread_join(thread, NULL);
	ww_barrier_unref(things.barrier);
}

static ww_status export_event(void *context, ww_cancel *cancel)
{
	struct things *things = context;

	return ww_event_export(things->event, scene.broker, TOKEN(.escrow_ns = WW_ESCROW_NONE),
		cancel, &things->token);
}

static ww_status import_event(void *context, ww_cancel *cancel)
{
	const struct things *things = context;
	OWN(event) ww_event *got;

	return ww_event_import(scene.device, scene.broker, &things->token, cancel, &got);
}

SCENE_CASE(cancel_event_while_broker_hangs, WW_CAP_EVENT)
{
	struct things things = {.timeout_ns = 0};

	MUST_OK(ww_event_create(scene.device, NULL, &things.event));
	must_end_while_it_hangs(export_event, &things);
	MUST_OK(export_event(&things, NULL));
	must_end_while_it_hangs(import_event, &things);
	MUST_OK(import_event(&things, NULL));
	ww_event_unref(things.event);
}

struct hasty {
	struct things things;
	ww_cancel *cancel;
	_Atomic pid_t id;
};

static void *export_hastily(void *context)
{
	struct hasty *hasty = context;

	atomic_store(&hasty->id, gettid());
	MUST_STATUS(WW_CANCELLED, export(&hasty->things, hasty->cancel));
	go_on();
	return NULL;
}

/*
 * Two threads put the same memory, and the first one is cancelled: what it takes back is not what
 * the other one has.
 */
SCENE_CASE(cancel_beside_another_thread, WW_CAP_EXPORT)
{
	struct things things = {.timeout_ns = 0};
	struct hasty hasty = {.id = 0};
	pthread_t thread;

	MUST_OK(ww_cancel_create(&hasty.cancel));
	ww_cancel_set(hasty.cancel);
	for (int i = 0; i < 10; i++) {
		things.memory = scene_make(BYTES, 1);
		hasty.things = things;
		atomic_store(&hasty.id, 0);
		hang();
		MUST(!pthread_create(&thread, NULL, export_hastily, &hasty));
		while (atomic_load(&hasty.id) == 0)
			sched_yield();
		thread_wait_asleep(atomic_load(&hasty.id));
		MUST_OK(export(&things, NULL));
		pthread_join(thread, NULL);
		MUST_OK(import(&things, NULL));
		scene_has_objects(1);
		ww_memory_unref(things.memory);
		scene_has_objects(0);
	}
	ww_cancel_unref(hasty.cancel);
}

/* As scene_end(), but for the count of descriptors: a broker that was restarted has others open. */
static void end_after_restart(void)
{
	scene_has_objects(0);
	scene_has_holders(1);
	ww_broker_unref(scene.broker);
	ww_device_unref(scene.device);
	broker_stop(&scene.daemon);
	unsetenv("WARPWAY_BROKER");
	scene = (struct scene){0};
}

/*
 * The link breaks while the broker hangs, and the next one is not ready in time: the call after
 * that goes on with it.
 */
CASE(cancel_connecting_while_broker_hangs, WW_CAP_EXPORT)
{
	struct things things = {.timeout_ns = 0};

	scene_begin();
	things.memory = scene_make(BYTES, 1);
	scene_put(things.memory, "x", 0, 0, 0);
	scene_restart_broker();
	must_end_while_it_hangs(get_memory, &things);
	MUST_OK(get_memory(&things, NULL));
	ww_memory_unref(things.memory);
	end_after_restart();
}

/* The same of a watch. */
CASE(cancel_watch_while_broker_hangs, WW_CAP_EXPORT)
{
	struct ww_watch_event event = WW_INIT(struct ww_watch_event);
	struct things things = {.timeout_ns = 0};

	scene_begin();
	MUST_OK(ww_watch_create(scene.broker, NULL, 0, &things.watch));
	scene_restart_broker();
	must_end_while_it_hangs(watch_next, &things);
	MUST_OK(ww_watch_next(things.watch, WW_FOREVER, NULL, &event));
	MUST_EQUAL(WW_WATCH_OVERFLOW, event.what);
	things.memory = scene_make(BYTES, 1);
	scene_put(things.memory, "x", 0, 0, 0);
	MUST_OK(watch_next(&things, NULL));
	ww_watch_free(things.watch);
	ww_memory_unref(things.memory);
	end_after_restart();
}

/* --- slices --- */

static ww_status export_slice(void *context, ww_cancel *cancel)
{
	return export(context, cancel);
}

SCENE_CASE(cancel_slices_while_broker_hangs, WW_CAP_EXPORT)
{
	struct things things = {.timeout_ns = 0};

	MUST_OK(ww_pool_create(scene.device,
		WW_PARAMS(struct ww_pool_params, .bytes_max = BYTES, .chunk_bytes = BYTES),
		&things.pool));
	MUST_OK(ww_pool_alloc(things.pool, 4096, 0, 0, NULL, &things.memory));
	must_end_while_it_hangs(export_slice, &things);
	scene_has_objects(0);
	MUST_OK(export_slice(&things, NULL));
	MUST_OK(import(&things, NULL));
	ww_memory_unref(things.memory);
	ww_pool_unref(things.pool);
}
