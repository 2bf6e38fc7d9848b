/* SPDX-License-Identifier: Apache-2.0 */
/*
 * broker_fork.c - children made by fork() of a process that uses a broker
 *
 * After use of the host device alone the child is a process of its own to the broker: it connects
 * by itself, and nothing that it does with its parent's objects reaches the broker. After use of a
 * GPU it is refused every call.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "integration/broker.h"

#define BYTES (2 << 20)
#define FORKS 200

#define FORKED(call) MUST_REFUSE(WW_ERR_FORKED, "fork", call)

static struct {
	ww_memory *memory;
	ww_memory *slice;
	ww_pool *pool;
	ww_timeline *timeline;
	ww_watch *watch;
	ww_snapshot *snapshot;
	ww_object *object;
	struct ww_token token;
	struct ww_token slice_token;
	struct ww_token timeline_token;
	struct ww_token pool_token;
} ours;

/* Which keeps nothing alive. */
static struct ww_token timeline_token(ww_timeline *timeline, ww_broker *broker)
{
	struct ww_token token;

	MUST_OK(ww_timeline_export(timeline, broker,
		WW_PARAMS(struct ww_token_params, .escrow_ns = WW_ESCROW_NONE), NULL, &token));
	return token;
}

static void set_up(void)
{
	struct ww_export_params export = WW_INIT(struct ww_export_params);

	export.escrow_ns = WW_ESCROW_NONE;
	scene_begin();
	ours.memory = scene_make(BYTES, 1);
	scene_put(ours.memory, "x", 0, WW_LIFE_HELD, WW_STATE_SHARED);
	MUST_OK(ww_memory_export(ours.memory, scene.broker, &export, NULL, &ours.token));
	MUST_OK(ww_object_import(scene.broker, &ours.token, NULL, &ours.object, NULL));
	MUST_OK(ww_watch_create(scene.broker, NULL, WW_WATCH_EXISTING, &ours.watch));
	MUST_OK(ww_snapshot_create(scene.broker, NULL, WW_SNAPSHOT_OBJECTS, &ours.snapshot));
	MUST_OK(ww_pool_create(scene.device, WW_PARAMS(struct ww_pool_params, .bytes_max = BYTES),
		&ours.pool));
	MUST_OK(ww_pool_alloc(ours.pool, 4096, 0, 0, NULL, &ours.slice));
	pattern_write(ours.slice, 3);
	export.access = WW_ACCESS_WRITE;
	MUST_OK(ww_memory_export(ours.slice, scene.broker, &export, NULL, &ours.slice_token));
	MUST_OK(ww_pool_export(ours.pool, scene.broker, &export, NULL, &ours.pool_token));
	MUST_OK(ww_timeline_create(NULL, &ours.timeline));
	ours.timeline_token = timeline_token(ours.timeline, scene.broker);
}

/* All of it still works, and is where it was. */
static void must_work_and_end(void)
{
	struct ww_watch_event event = WW_INIT(struct ww_watch_event);

	MUST_OK(ww_watch_next(ours.watch, WW_FOREVER, NULL, &event));
	MUST_EQUAL(WW_WATCH_PUT, event.what);
	ww_memory_unref(scene_get("x", WW_ACCESS_READ));
	pattern_verify(ours.memory, 1);
	pattern_verify(ours.slice, 3);
	MUST_OK(ww_timeline_signal(ours.timeline, 1));
	MUST_OK(ww_timeline_query(ours.timeline, 1));
	ww_timeline_unref(ours.timeline);
	ww_watch_free(ours.watch);
	ww_snapshot_free(ours.snapshot);
	ww_object_unref(ours.object);
	ww_memory_unref(ours.slice);
	ww_pool_unref(ours.pool);
	ww_memory_unref(ours.memory);
	scene_end();
}

/* --- what belongs to the parent --- */

static void refuse_broker(void)
{
	struct ww_broker_info broker_info = WW_INIT(struct ww_broker_info);
	struct ww_object_info info = WW_INIT(struct ww_object_info);
	struct ww_watch_event event = WW_INIT(struct ww_watch_event);
	ww_in_flight *in_flight;
	ww_snapshot *snapshot;
	ww_object *object;
	ww_memory *memory;
	ww_watch *watch;
	ww_pool *pool;

	FORKED(ww_broker_info_get(scene.broker, &broker_info));
	FORKED(ww_memory_get(scene.device, scene.broker, "x", NULL, 0, NULL, &memory, NULL));
	FORKED(ww_memory_import(scene.device, scene.broker, &ours.token, NULL, NULL, &memory,
		&info));
	FORKED(ww_object_import(scene.broker, &ours.token, NULL, &object, &info));
	FORKED(ww_pool_import(NULL, scene.broker, &ours.pool_token, NULL, &pool));
	FORKED(ww_in_flight_create(scene.broker, NULL, &in_flight));
	FORKED(ww_in_flight_revoke(scene.broker, NULL, NULL, NULL, NULL));
	FORKED(ww_broker_remove(scene.broker, "x"));
	FORKED(ww_broker_stat(scene.broker, "x", &info));
	FORKED(ww_snapshot_create(scene.broker, NULL, WW_SNAPSHOT_OBJECTS, &snapshot));
	FORKED(ww_watch_create(scene.broker, NULL, 0, &watch));
	FORKED(ww_watch_next(ours.watch, 0, NULL, &event));
	MUST(ww_watch_fd(ours.watch) == -1);
	MUST(!ww_broker_address(scene.broker));
}

static void refuse_objects(void)
{
	struct ww_memory_info info = WW_INIT(struct ww_memory_info);
	struct ww_pool_info pool_info = WW_INIT(struct ww_pool_info);
	struct ww_token token;
	ww_memory *memory;

	FORKED(ww_memory_put(ours.memory, scene.broker, "y", NULL, 0, NULL));
	FORKED(ww_memory_put(ours.memory, NULL, "y", NULL, 0, NULL));
	FORKED(ww_memory_publish(ours.memory, NULL, WW_STATE_SEALED, NULL));
	FORKED(ww_memory_export(ours.memory, scene.broker, NULL, NULL, &token));
	FORKED(ww_memory_export(ours.memory, NULL, NULL, NULL, &token));
	FORKED(ww_object_map(ours.object, scene.device, NULL, NULL, &memory));
	FORKED(ww_object_export(ours.object, NULL, NULL, &token));
	FORKED(ww_pool_alloc(ours.pool, 4096, 0, 0, NULL, &memory));
	FORKED(ww_pool_export(ours.pool, NULL, NULL, NULL, &token));
	FORKED(ww_pool_trim(ours.pool, 0, NULL));
	FORKED(ww_pool_info_get(ours.pool, &pool_info));
	FORKED(ww_memory_info_get(ours.slice, &info));
	FORKED(ww_memory_read(ours.slice, 0, &info, 1, 0, NULL));
	FORKED(ww_memory_export(ours.slice, NULL, NULL, NULL, &token));
	FORKED(ww_memory_revoke(ours.slice, NULL, NULL));
	MUST(!ww_memory_pointer(ours.slice) && !ww_memory_host_pointer(ours.slice));
	MUST(!ww_memory_broker(ours.memory) && !ww_memory_broker(ours.slice));
}

static void refuse_timeline(void)
{
	struct ww_timeline_info info = WW_INIT(struct ww_timeline_info);
	struct ww_token token;

	FORKED(ww_timeline_signal(ours.timeline, 1));
	FORKED(ww_timeline_wait(ours.timeline, 1, 0, NULL));
	FORKED(ww_timeline_query(ours.timeline, 1));
	FORKED(ww_timeline_prepare(ours.timeline, scene.device));
	FORKED(ww_timeline_info_get(ours.timeline, &info));
	FORKED(ww_timeline_export(ours.timeline, NULL, NULL, NULL, &token));
	FORKED(ww_timeline_put(ours.timeline, NULL, "t", NULL, NULL));
}

/* More often than the parent has references. */
static void release_often(void)
{
	for (int i = 0; i < 3; i++) {
		MUST(!ww_broker_unref(scene.broker));
		MUST(!ww_memory_unref(ours.memory));
		MUST(!ww_memory_unref(ours.slice));
		MUST(!ww_pool_unref(ours.pool));
		MUST(!ww_object_unref(ours.object));
		MUST(!ww_timeline_unref(ours.timeline));
		MUST(!ww_watch_free(ours.watch));
	}
	MUST(ww_broker_ref(scene.broker) == scene.broker);
}

/* --- a child begins anew --- */

static void use_tokens(ww_broker *broker)
{
	struct ww_object_info info = WW_INIT(struct ww_object_info);
	OWN(timeline) ww_timeline *timeline;
	ww_memory *memory;

	MUST_OK(ww_memory_import(scene.device, broker, &ours.token, NULL, NULL, &memory, &info));
	MUST(memory != ours.memory);
	pattern_verify(memory, 1);
	ww_memory_unref(memory);
	MUST_OK(ww_memory_import(scene.device, broker, &ours.slice_token,
		WW_PARAMS(struct ww_import_params, .access = WW_ACCESS_WRITE), NULL, &memory,
		NULL));
	MUST(memory != ours.slice);
	pattern_verify(memory, 3);
	ww_memory_unref(memory);
	MUST_OK(ww_timeline_import(broker, &ours.timeline_token, NULL, &timeline));
	MUST_STATUS(WW_NOT_READY, ww_timeline_query(timeline, 1));
}

static void use_own_pool(ww_broker *broker)
{
	struct ww_token token;
	OWN(memory) ww_memory *slice;
	OWN(pool) ww_pool *pool;

	MUST_OK(ww_pool_create(scene.device, WW_PARAMS(struct ww_pool_params, .bytes_max = BYTES),
		&pool));
	MUST_OK(ww_pool_alloc(pool, 4096, 0, 0, NULL, &slice));
	pattern_write(slice, 4);
	MUST_OK(ww_memory_export(slice, broker, NULL, NULL, &token));
	ww_memory_unref(slice);
	MUST_OK(ww_memory_import(scene.device, broker, &token, NULL, NULL, &slice, NULL));
	pattern_verify(slice, 4);
}

static void use_broker(void)
{
	OWN(timeline) ww_timeline *timeline;
	struct ww_token token;
	OWN(memory) ww_memory *memory;
	OWN(broker) ww_broker *broker;

	MUST_OK(broker_open_patient(NULL, &broker));
	MUST(broker != scene.broker);
	use_tokens(broker);
	use_own_pool(broker);
	memory = memory_make(scene.device, WW_MEMORY_VMM, BYTES);
	MUST_OK(ww_memory_export(memory, broker,
		WW_PARAMS(struct ww_export_params, .escrow_ns = WW_ESCROW_NONE), NULL, &token));
	MUST_OK(ww_timeline_create(NULL, &timeline));
	(void)timeline_token(timeline, broker);
	MUST_OK(ww_timeline_signal(timeline, 1));
}

static int watch_fd; /* the parent's, by its number */

static void begin_anew(void)
{
	struct ww_object_info info = WW_INIT(struct ww_object_info);

	MUST(fcntl(watch_fd, F_GETFD) < 0 && errno == EBADF);
	refuse_broker();
	refuse_objects();
	refuse_timeline();
	MUST_OK(ww_snapshot_object(ours.snapshot, 0, &info));
	ww_snapshot_free(ours.snapshot);
	use_broker();
	release_often();
	use_broker();
}

static void refuse_every_call(void)
{
	struct ww_token token;
	ww_memory *memory;
	ww_broker *broker;

	FORKED(ww_broker_open(NULL, &broker));
	refuse_broker();
	refuse_objects();
	refuse_timeline();
	FORKED(ww_memory_import(scene.device, NULL, &ours.token, NULL, NULL, &memory, NULL));
	FORKED(ww_memory_export(ours.memory, NULL, NULL, NULL, &token));
	release_often();
}

static void must_end_well(void (*run)(void))
{
	pid_t pid = fork();
	int status = 0;

	MUST_CALL(pid);
	if (pid == 0) {
		alarm((unsigned int)child_limit_ms() / 1000);
		run();
		_exit(0);
	}
	MUST_EQUAL(pid, waitpid(pid, &status, 0));
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		FAIL("the forked child ended with status %#x", status);
}

CASE(fork_after_use, WW_CAP_EXPORT)
{
	set_up();
	watch_fd = ww_watch_fd(ours.watch);
	must_end_well(subject_is_cuda() ? refuse_every_call : begin_anew);
	must_work_and_end();
}

/* --- while other threads are busy --- */

static atomic_bool stop;

static void put_and_get(uint32_t self)
{
	OWN(memory) ww_memory *memory = memory_make(scene.device, WW_MEMORY_VMM, 4096);
	char name[16];

	snprintf(name, sizeof(name), "busy/%u", self);
	scene_put(memory, name, 0, WW_LIFE_HELD, WW_STATE_SHARED);
	ww_memory_unref(scene_get(name, WW_ACCESS_READ));
}

static void use_slice(void)
{
	struct ww_token token;
	OWN(memory) ww_memory *slice;

	MUST_OK(ww_pool_alloc(ours.pool, 4096, 0, WW_FOREVER, NULL, &slice));
	MUST_OK(ww_memory_export(slice, scene.broker, NULL, NULL, &token));
	ww_memory_unref(slice);
	MUST_OK(ww_memory_import(scene.device, scene.broker, &token, NULL, NULL, &slice, NULL));
}

static void use_timeline(void)
{
	OWN(timeline) ww_timeline *timeline;
	OWN(stream) ww_stream *stream = stream_make(scene.device);

	MUST_OK(ww_timeline_create(NULL, &timeline));
	(void)timeline_token(timeline, scene.broker);
	MUST_OK(ww_timeline_stream_signal(timeline, stream, 1));
	MUST_OK(ww_timeline_wait(timeline, 1, WW_FOREVER, NULL));
}

/* Holds every lock of the library as often as it can. */
static void *keep_busy(void *context)
{
	while (!atomic_load(&stop)) {
		put_and_get((uint32_t)(uintptr_t)context);
		use_slice();
		use_timeline();
	}
	return NULL;
}

static void use_broker_or_not(void)
{
	ww_broker *broker;

	if (subject_is_cuda())
		FORKED(ww_broker_open(NULL, &broker));
	else
		use_broker();
}

CASE(fork_while_others_are_busy, WW_CAP_EXPORT)
{
	pthread_t threads[3];

	if (CHECK_SANITIZES_ADDRESS || CHECK_SANITIZES_THREAD)
		check_skip("the sanitizer's own locks do not survive fork() beside busy threads");
	set_up();
	atomic_store(&stop, false);
	for (size_t i = 0; i < CHECK_COUNT(threads); i++)
		MUST(!pthread_create(&threads[i], NULL, keep_busy, (void *)(uintptr_t)i));
	for (int i = 0; i < FORKS; i++)
		must_end_well(use_broker_or_not);
	atomic_store(&stop, true);
	for (size_t i = 0; i < CHECK_COUNT(threads); i++)
		pthread_join(threads[i], NULL);
	must_work_and_end();
}

/* A socket that a forked child has too is not a sign of life of its parent. */
SCENE_CASE(fork_keeps_nothing, WW_CAP_EXPORT)
{
	struct child parent;
	OWN(fd) int socket;

	agent_begin(&parent, "agent", "make vmm %d 1", BYTES);
	agent_does(&parent, "put x life=held", "fork");
	socket = dup(parent.socket); /* while this is open the forked child lives */
	child_kill(&parent);
	scene_has_objects(0);
	scene_has_holders(1);
	MUST_EQUAL(1, write(socket, "", 1)); /* somebody can read it: the child */
}

/* --- while a thread connects --- */

/* A listener whose queue is full: whoever connects to it waits. */
static struct {
	struct sockaddr_un name;
	int listener;
	int first; /* it fills the queue */
} full;

static void fill_up(void)
{
	full.name.sun_family = AF_UNIX;
	snprintf(full.name.sun_path, sizeof(full.name.sun_path), "%s.full",
		ww_broker_address(scene.broker));
	full.listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	full.first = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	MUST_CALL(bind(full.listener, (struct sockaddr *)&full.name, sizeof(full.name)));
	MUST_CALL(listen(full.listener, 0));
	MUST_CALL(connect(full.first, (struct sockaddr *)&full.name, sizeof(full.name)));
}

static void *connect_and_wait(void *context)
{
	const struct ww_broker_params *params = WW_PARAMS(struct ww_broker_params,
		.flags = WW_BROKER_NO_START, .timeout_ns = UINT64_C(3600) * 1000000000,
		.address = full.name.sun_path);
	ww_broker *broker;

	(void)context;
	MUST_STATUS(WW_ERR_NO_BROKER, ww_broker_open(params, &broker));
	return NULL;
}

/* Of the program that started this one many may be open, too. */
#define DESCRIPTORS_MOST 8192

static int count_sockets(void)
{
	struct stat file;
	int count = 0;

	for (int fd = 0; fd < DESCRIPTORS_MOST; fd++)
		count += fstat(fd, &file) == 0 && S_ISSOCK(file.st_mode);
	return count;
}

static int sockets_before;

/* Of the library's sockets the child has none. */
static void has_no_socket(void)
{
	MUST_EQUAL(sockets_before, count_sockets());
}

SCENE_CASE(fork_while_a_thread_connects, 0)
{
	pthread_t thread;

	fill_up();
	sockets_before = count_sockets() - 1; /* that of scene.broker is the library's */
	MUST(!pthread_create(&thread, NULL, connect_and_wait, NULL));
	while (count_sockets() < sockets_before + 2)
		sched_yield(); /* until the thread has its socket, which nobody accepts */
	must_end_well(has_no_socket);
	close(full.listener);
	pthread_join(thread, NULL);
	close(full.first);
	MUST_CALL(unlink(full.name.sun_path));
}
