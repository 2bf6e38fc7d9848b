/* SPDX-License-Identifier: Apache-2.0 */
/*
 * broker_kill.c - somebody is killed, and how long it takes until that is as if nothing had been
 *
 * A holder: its objects are gone for everybody. Time runs from the end of one of its sockets, as
 * another process sees it, since what the kernel takes to end a process is not the broker's doing.
 *
 * The broker: the next request is answered. Time runs from before the signal. Others put and get
 * all the while, and at the end everything is there that was there before.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "bench/broker.h"

#define HELD_PREFIX  "bench/held/"
#define HELD_OBJECTS 64

#define KEPT_NAME    "bench/kept"
#define KEPT_PREFIX  "bench/kept/"
#define KEPT_OBJECTS 400
#define LOADS        4

#define PATIENCE_MS 60000

/* --- a holder --- */

/* Counts events until so many of one kind have come. */
static int await_events(struct client *watcher, enum client_event wanted, size_t count)
{
	for (size_t seen = 0; seen < count;) {
		enum client_event event;

		if (client_next(watcher, &event))
			return -1;
		seen += event == wanted;
	}
	return 0;
}

/*
 * Takes what comes until all objects are gone and the holder's socket has ended; how long the
 * former took longer.
 */
static int time_release(struct client *watcher, struct child *holder, uint64_t *out_ns)
{
	struct pollfd entries[] = {
		{.fd = watcher->socket, .events = POLLIN},
		{.fd = holder->socket, .events = POLLRDHUP},
	};
	uint64_t ended_ns = 0;
	uint64_t gone_ns = 0;
	size_t gone = 0;

	while (!ended_ns || !gone_ns) {
		enum client_event event;

		if (poll(entries, 2, PATIENCE_MS) <= 0)
			return complain("a killed process's objects are still there");
		if (entries[1].revents) {
			ended_ns = link_now_ns();
			entries[1].fd = -1;
		}
		if (!entries[0].revents)
			continue;
		if (client_next(watcher, &event))
			return -1;
		gone += event == CLIENT_GONE;
		if (gone == HELD_OBJECTS) {
			gone_ns = link_now_ns();
			entries[0].fd = -1;
		}
	}
	*out_ns = gone_ns > ended_ns ? gone_ns - ended_ns : 0;
	return 0;
}

int broker_release(struct bench *bench, uint64_t out_ns[])
{
	OWN(child) struct child holder = CHILD_NONE;
	OWN(client) struct client watcher = CLIENT_NONE;
	struct link_message message;

	if (client_open(&watcher, bench->address, true) || client_watch(&watcher, HELD_PREFIX) ||
		bench_spawn(bench, "holder", NULL, NULL, &holder) ||
		child_receive(&holder, LINK_READY, &message, NULL) ||
		await_events(&watcher, CLIENT_PUT, HELD_OBJECTS))
		return -1;
	kill(holder.pid, SIGKILL);
	return time_release(&watcher, &holder, out_ns);
}

/* Puts @count objects, named by their number behind @prefix. */
static int put_objects(struct client *client, const char *prefix, int count, int fd)
{
	char name[OBJECT_NAME_BYTES];
	uint8_t id[RAW_ID_BYTES];

	for (int i = 0; i < count; i++) {
		snprintf(name, sizeof(name), "%s%d", prefix, i);
		if (client_put(client, name, OBJECT_BYTES, fd, id))
			return -1;
	}
	return 0;
}

/* The process that is killed. */
int broker_role_holder(struct bench *bench, const char *word)
{
	OWN(client) struct client client = CLIENT_NONE;

	(void)word;
	if (client_open(&client, bench->address, false) ||
		put_objects(&client, HELD_PREFIX, HELD_OBJECTS, -1))
		return -1;
	return bench_child_wait();
}

/* --- the broker --- */

static int stat_now(struct bench *bench, const char *name)
{
	struct ww_object_info info = WW_INIT(struct ww_object_info);

	if (ww_broker_stat(bench->broker, name, &info) != WW_OK)
		return complain_record("%s is lost, or the broker is", name);
	return 0;
}

int broker_kill(struct bench *bench, const char *name, uint64_t *out_ns)
{
	struct ww_broker_info info;
	uint64_t at;

	if (broker_info(bench, &info))
		return -1;
	at = link_now_ns();
	if (kill((pid_t)info.pid, SIGKILL))
		return complain("cannot kill the broker, pid %u: %s", info.pid, strerror(errno));
	if (stat_now(bench, name))
		return -1;
	*out_ns = bench_lap(&at);
	return 0;
}

int broker_restart(struct bench *bench, uint64_t out_ns[])
{
	return broker_kill(bench, KEPT_NAME, out_ns);
}

/*
 * What is kept meanwhile, and the processes that work. The client's connection breaks with the
 * broker, and comes back.
 */
static struct {
	ww_memory *memory;
	struct client client;
	struct child loads[LOADS];
} kept = {.client = CLIENT_NONE};

static int check_kept(struct bench *bench)
{
	OWN(client) struct client client = CLIENT_NONE;
	uint64_t count = 0;

	if (client_open(&client, bench->address, false) ||
		client_list(&client, KEPT_PREFIX, &count))
		return -1;
	if (count != KEPT_OBJECTS)
		return complain("of %d objects %llu are left", KEPT_OBJECTS,
			(unsigned long long)count);
	return stat_now(bench, KEPT_NAME);
}

static int start_loads(struct bench *bench)
{
	struct link_message ready[LOADS];

	for (int i = 0; i < LOADS; i++)
		kept.loads[i] = (struct child)CHILD_NONE;
	for (int i = 0; i < LOADS; i++) {
		char number[NUMBER_BYTES];

		snprintf(number, sizeof(number), "%d", i);
		if (bench_spawn(bench, "load", "host", number, &kept.loads[i]))
			return -1;
	}
	return child_group_receive(kept.loads, LOADS, LINK_READY, ready);
}

static int end_loads(uint64_t *out_count)
{
	struct link_message message = {.kind = LINK_GO};
	struct link_message done[LOADS];

	if (child_group_send(kept.loads, LOADS, &message) ||
		child_group_receive(kept.loads, LOADS, LINK_DONE, done))
		return -1;
	*out_count = 0;
	for (int i = 0; i < LOADS; i++) {
		*out_count += done[i].numbers[0];
		if (child_finish(&kept.loads[i], 0))
			return -1;
	}
	return 0;
}

int broker_restart_open(struct bench *bench)
{
	const struct ww_memory_params params = {.struct_size = sizeof(params),
		.bytes = OBJECT_BYTES};
	OWN(device) ww_device *device = NULL;

	if (ww_device_open("host", &device) != WW_OK ||
		ww_memory_create(device, &params, &kept.memory) != WW_OK ||
		ww_memory_put(kept.memory, bench->broker, KEPT_NAME, NULL, 0, NULL) != WW_OK)
		return complain_record("cannot put memory");
	if (client_open(&kept.client, bench->address, false) ||
		put_objects(&kept.client, KEPT_PREFIX, KEPT_OBJECTS, broker_object_fd()) ||
		start_loads(bench))
		return -1;
	return 0;
}

int broker_restart_close(struct bench *bench)
{
	uint64_t count = 0;
	int result = end_loads(&count) || check_kept(bench) ? -1 : 0;

	if (!result)
		say("the broker was killed %llu times while %d processes had %llu requests "
		    "answered; all %d objects are there",
			(unsigned long long)(bench->kills + BROKER_WARM_UP_KILLS), LOADS,
			(unsigned long long)count, KEPT_OBJECTS + 1);
	for (int i = 0; i < LOADS; i++)
		child_fini(&kept.loads[i]);
	client_close(&kept.client);
	kept.memory = ww_memory_unref(kept.memory);
	return result;
}

/* --- the load --- */

static bool is_to_end(void)
{
	struct pollfd entry = {.fd = LINK_FD, .events = POLLIN};

	return poll(&entry, 1, 0) > 0;
}

/* A get, a put, and at its end two releases. */
static int work(ww_device *device, ww_broker *broker, const char *name)
{
	const struct ww_memory_params params = {.struct_size = sizeof(params),
		.bytes = OBJECT_BYTES};
	OWN(memory) ww_memory *got = NULL;
	OWN(memory) ww_memory *put = NULL;

	if (ww_memory_get(device, broker, KEPT_NAME, NULL, 0, NULL, &got, NULL) != WW_OK)
		return complain_record("get");
	if (ww_memory_create(device, &params, &put) != WW_OK)
		return complain_record("cannot make memory");
	if (ww_memory_put(put, broker, name, NULL, 0, NULL) != WW_OK)
		return complain_record("put");
	return 0;
}

int broker_role_load(struct bench *bench, const char *word)
{
	struct link_message message = {.kind = LINK_DONE};
	struct link_message go;
	char name[OBJECT_NAME_BYTES];

	snprintf(name, sizeof(name), "bench/load/%s", word);
	if (bench_child_ready())
		return -1;
	while (!is_to_end()) {
		if (work(bench->device, bench->broker, name))
			return -1;
		message.numbers[0] += 2;
	}
	/* What is not read when a socket is closed would undo what was sent. */
	link_receive(LINK_FD, LINK_GO, &go, NULL, WW_FOREVER);
	link_send(LINK_FD, &message, -1, WW_FOREVER);
	return 0;
}
