/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_broker_kill.c - somebody is killed, and how long it takes until that is as if nothing had been
 *
 * A holder: its objects are gone for everybody. Time runs from the end of one of its sockets, as another process
 * sees it, since what the kernel takes to end a process is not the broker's doing.
 *
 * The broker: the next request is answered. Time runs from before the signal. Others put and get all the while, and at
 * the end everything is there that was there before.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "bench_broker.h"

#define HELD_PREFIX  "bench/held/"
#define HELD_OBJECTS 64

#define KEPT_NAME    "bench/kept"
#define KEPT_PREFIX  "bench/kept/"
#define KEPT_OBJECTS 400
#define LOADS        4

/* Kills of the broker that are not measured, at first. */
#define WARM_UP_KILLS 3

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

/* Takes what comes until all objects are gone and the holder's socket has ended; how long the former took longer. */
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

static int release_once(struct arena *arena, uint64_t *out_ns)
{
	OWN(child) struct child holder = CHILD_NONE;
	OWN(client) struct client watcher = CLIENT_NONE;
	struct link_message message;

	if (client_open(&watcher, arena->nest.address, true) ||
		client_watch(&watcher, HELD_PREFIX) ||
		broker_spawn(arena, "holder", NULL, &holder) ||
		child_receive(&holder, LINK_READY, &message, NULL) ||
		await_events(&watcher, CLIENT_PUT, HELD_OBJECTS))
		return -1;
	kill(holder.pid, SIGKILL);
	return time_release(&watcher, &holder, out_ns);
}

int broker_release(struct arena *arena)
{
	OWN(samples) struct samples samples = {0};

	for (uint64_t i = 0; i < arena->bench->kills; i++) {
		uint64_t ns = 0;

		if (release_once(arena, &ns) || samples_add(&samples, ns))
			return -1;
	}
	if (broker_add(arena, "release", "us", &samples, BENCH_NONE, BENCH_NONE))
		return -1;
	return broker_add_number(arena, "release.slowest", "us",
		samples_percentile_us(&samples, 100), BENCH_NONE, BENCH_RELEASE_US);
}

/* The process that is killed. */
int broker_role_holder(const char *address, const char *word)
{
	struct link_message message = {.kind = LINK_READY};
	OWN(client) struct client client = CLIENT_NONE;
	char name[ARENA_NAME_BYTES];
	uint8_t id[RAW_ID_BYTES];

	(void)word;
	if (client_open(&client, address, false))
		return -1;
	for (int i = 0; i < HELD_OBJECTS; i++) {
		snprintf(name, sizeof(name), HELD_PREFIX "%d", i);
		if (client_put(&client, name, ARENA_OBJECT_BYTES, -1, id))
			return -1;
	}
	link_send(LINK_FD, &message, -1, WW_FOREVER);
	link_receive(LINK_FD, LINK_GO, &message, NULL, WW_FOREVER); /* never comes */
	return 0;
}

/* --- the broker --- */

static int stat_now(struct arena *arena, const char *name)
{
	struct ww_object_info info = {.size = sizeof(info)};

	if (ww_broker_stat(arena->broker, name, &info) != WW_OK)
		return complain_record("%s is lost, or the broker is", name);
	return 0;
}

static int kill_once(struct arena *arena, const char *name, uint64_t *out_ns)
{
	struct ww_broker_info info = {.size = sizeof(info)};
	uint64_t start;

	if (ww_broker_info_get(arena->broker, &info) != WW_OK)
		return complain_record("cannot ask the broker how it is");
	start = link_now_ns();
	if (kill((pid_t)info.pid, SIGKILL))
		return complain("cannot kill the broker, pid %u: %s", info.pid, strerror(errno));
	if (stat_now(arena, name))
		return -1;
	*out_ns = link_now_ns() - start;
	return 0;
}

int broker_kill(struct arena *arena, const char *name, uint64_t kills, struct samples *samples)
{
	for (uint64_t i = 0; i < kills; i++) {
		uint64_t ns = 0;

		if (kill_once(arena, name, &ns) || samples_add(samples, ns))
			return -1;
	}
	return 0;
}

/* Objects that a process holds whose connection breaks with the broker, and comes back. */
static int put_kept(struct client *client, int fd)
{
	char name[ARENA_NAME_BYTES];
	uint8_t id[RAW_ID_BYTES];

	for (int i = 0; i < KEPT_OBJECTS; i++) {
		snprintf(name, sizeof(name), KEPT_PREFIX "%d", i);
		if (client_put(client, name, ARENA_OBJECT_BYTES, fd, id))
			return -1;
	}
	return 0;
}

static int check_kept(struct arena *arena)
{
	OWN(client) struct client client = CLIENT_NONE;
	uint64_t count = 0;

	if (client_open(&client, arena->nest.address, false) ||
		client_list(&client, KEPT_PREFIX, &count))
		return -1;
	if (count != KEPT_OBJECTS)
		return complain("of %d objects %llu are left", KEPT_OBJECTS,
			(unsigned long long)count);
	return stat_now(arena, KEPT_NAME);
}

static int start_loads(struct arena *arena, struct child loads[])
{
	struct link_message ready[LOADS];

	for (int i = 0; i < LOADS; i++) {
		char number[NUMBER_BYTES];

		snprintf(number, sizeof(number), "%d", i);
		if (broker_spawn(arena, "load", number, &loads[i]))
			return -1;
	}
	return child_group_receive(loads, LOADS, LINK_READY, ready);
}

static int end_loads(struct child loads[], uint64_t *out_count)
{
	struct link_message message = {.kind = LINK_GO};
	struct link_message done[LOADS];

	if (child_group_send(loads, LOADS, &message) ||
		child_group_receive(loads, LOADS, LINK_DONE, done))
		return -1;
	*out_count = 0;
	for (int i = 0; i < LOADS; i++) {
		*out_count += done[i].numbers[0];
		if (child_finish(&loads[i], 0))
			return -1;
	}
	return 0;
}

static int kill_under_load(struct arena *arena, struct child loads[], struct samples *samples)
{
	OWN(samples) struct samples first = {0};
	uint64_t kills = arena->bench->kills;
	uint64_t count;

	if (start_loads(arena, loads) || broker_kill(arena, KEPT_NAME, WARM_UP_KILLS, &first) ||
		broker_kill(arena, KEPT_NAME, kills, samples) || end_loads(loads, &count) ||
		check_kept(arena))
		return -1;
	say("the broker was killed %llu times while %d processes had %llu requests answered; all "
	    "%d objects are there",
		(unsigned long long)(kills + WARM_UP_KILLS), LOADS, (unsigned long long)count,
		KEPT_OBJECTS + 1);
	return 0;
}

int broker_restart(struct arena *arena)
{
	const struct ww_memory_params params = {.size = sizeof(params),
		.bytes = ARENA_OBJECT_BYTES};
	struct child loads[LOADS] = {CHILD_NONE, CHILD_NONE, CHILD_NONE, CHILD_NONE};
	OWN(samples) struct samples samples = {0};
	OWN(client) struct client client = CLIENT_NONE;
	OWN(device) ww_device *device = NULL;
	OWN(memory) ww_memory *memory = NULL;
	int result;

	if (ww_device_open("host", &device) != WW_OK ||
		ww_memory_create(device, &params, &memory) != WW_OK ||
		ww_memory_put(memory, arena->broker, KEPT_NAME, NULL) != WW_OK)
		return complain_record("cannot put memory");
	if (client_open(&client, arena->nest.address, false) || put_kept(&client, arena->fd))
		return -1;
	result = kill_under_load(arena, loads, &samples);
	for (int i = 0; i < LOADS; i++)
		child_fini(&loads[i]);
	if (result || broker_add(arena, "restart", "ms", &samples, BENCH_NONE, BENCH_NONE))
		return -1;
	return broker_add_number(arena, "restart.slowest", "ms",
		samples_percentile_us(&samples, 100) / 1e3, BENCH_NONE, BENCH_RESTART_MS);
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
	const struct ww_memory_params params = {.size = sizeof(params),
		.bytes = ARENA_OBJECT_BYTES};
	OWN(memory) ww_memory *got = NULL;
	OWN(memory) ww_memory *put = NULL;

	if (ww_memory_get(device, broker, KEPT_NAME, NULL, &got, NULL) != WW_OK)
		return complain_record("get");
	if (ww_memory_create(device, &params, &put) != WW_OK)
		return complain_record("cannot make memory");
	if (ww_memory_put(put, broker, name, NULL) != WW_OK)
		return complain_record("put");
	return 0;
}

int broker_role_load(const char *address, const char *word)
{
	const struct ww_broker_params params = {
		.size = sizeof(params),
		.flags = WW_BROKER_NO_START,
		.address = address,
	};
	struct link_message message = {.kind = LINK_READY};
	OWN(device) ww_device *device = NULL;
	OWN(broker) ww_broker *broker = NULL;
	char name[ARENA_NAME_BYTES];

	snprintf(name, sizeof(name), "bench/load/%s", word);
	if (ww_device_open("host", &device) != WW_OK || ww_broker_open(&params, &broker) != WW_OK)
		return complain_record("cannot begin");
	link_send(LINK_FD, &message, -1, WW_FOREVER);
	message.numbers[0] = 0;
	while (!is_to_end()) {
		if (work(device, broker, name))
			return -1;
		message.numbers[0] += 2;
	}
	/* What is not read when a socket is closed would undo what was sent. */
	link_receive(LINK_FD, LINK_GO, &(struct link_message){.kind = 0}, NULL, WW_FOREVER);
	message.kind = LINK_DONE;
	link_send(LINK_FD, &message, -1, WW_FOREVER);
	return 0;
}
