/* SPDX-License-Identifier: Apache-2.0 */
/*
 * broker_daemon.c - the broker, or its supervisor, is killed at every message and call, while it is
 * used
 *
 * A daemon of the tests' own (kill_at_call.c) dies at its Nth call, once; each time it is a new
 * daemon, and two processes, this one and an agent, go through the same story. All of it must end
 * as if nothing had happened.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <warpway/channel.h>
#include <warpway/in_flight.h>

#include "crash/broker.h"
#include "support/raw_client.h"

#define STEPS_MAX 4000
/* What may be left of it is revoked at the end. */
#define ESCROW_NS UINT64_C(60000000000)

/*
 * struct death - which process dies, and when; see kill_at_call.c
 * @restarts:  of the daemon's processes, how many were before the one that dies
 * @at_start:  its calls are counted from its start, else from when the story begins
 */
struct death {
	const char *role;
	const char *function;
	const char *when;
	unsigned int restarts;
	bool at_start;
};

static void plan_death(const struct death *death, uint64_t nth)
{
	char text[128];

	snprintf(text, sizeof(text), "%s:%u:%s:%llu:%s:%s", death->role, death->restarts,
		death->function, (unsigned long long)nth, death->when,
		death->at_start ? "start" : "signal");
	MUST_CALL(setenv("WW_TEST_DIE", text, 1));
}

/* The scene, with the daemon that can die; its name is beside the usual one's. */
static void begin(void)
{
	const char *usual = getenv("WARPWAYD");
	const char *mortal = getenv("WW_TEST_WARPWAYD");
	char *before;

	MUST(usual && mortal);
	before = strdup(usual);
	setenv("WARPWAYD", mortal, 1);
	scene_begin();
	setenv("WARPWAYD", before, 1);
	free(before);
	unsetenv("WW_TEST_DIE");
}

static void put(ww_memory *memory, const char *name, uint32_t state, uint64_t flags)
{
	MUST_OK(ww_memory_put(memory, scene.broker, name,
		WW_PARAMS(struct ww_put_params, .life = WW_LIFE_KEPT, .state = state,
			.flags = flags),
		0, NULL));
}

static ww_memory *make(uint32_t seed)
{
	ww_memory *memory = memory_make(scene.device, WW_MEMORY_HOST, 4096);

	pattern_write(memory, seed);
	return memory;
}

static void take_token(ww_memory *memory, struct child *agent)
{
	struct ww_token token;

	/* An import that was answered just before the kill may not be counted: see the end. */
	MUST_OK(ww_memory_export(memory, scene.broker,
		WW_PARAMS(struct ww_export_params, .uses = 1, .escrow_ns = ESCROW_NS,
			.flags = WW_EXPORT_DELIVERY),
		NULL, &token));
	ww_memory_unref(memory);
	MUST_EQUAL(sizeof(token), write(agent->socket, &token, sizeof(token)));
	agent_must(agent, WW_OK, "import");
}

/* --- slices under names --- */

static ww_pool *pool;
static ww_memory *slice;

static ww_memory *put_slice(uint32_t seed)
{
	ww_memory *made;

	MUST_OK(ww_pool_alloc(pool, 4096, 0, WW_FOREVER, NULL, &made));
	pattern_write(made, seed);
	MUST_OK(ww_memory_put(made, scene.broker, "slice",
		WW_PARAMS(struct ww_put_params, .flags = WW_PUT_REPLACE), 0, NULL));
	return made;
}

static void name_slice(struct child *agent)
{
	MUST_OK(ww_pool_create(scene.device,
		WW_PARAMS(struct ww_pool_params, .kind = WW_MEMORY_HOST, .bytes_max = 2 * MIB),
		&pool));
	slice = put_slice(7);
	agent_does(agent, "get slice", "verify 7", "drop");
}

static uint64_t bytes_in_use(void)
{
	struct ww_pool_info info = WW_INIT(struct ww_pool_info);

	MUST_OK(ww_pool_info_get(pool, &info));
	return info.bytes_used + info.bytes_waiting;
}

/* The name stays when tokens are revoked, and keeps the slice until it is replaced. */
static void rename_slice(struct child *agent)
{
	MUST_OK(ww_memory_revoke(slice, scene.broker, NULL));
	ww_memory_unref(slice);
	agent_does(agent, "get slice", "verify 7");
	ww_memory_unref(put_slice(8));
	agent_does(agent, "verify 7", "drop", "get slice", "verify 8", "drop");
	MUST_OK(ww_broker_remove(scene.broker, "slice"));
	MUST(COMES_TRUE(bytes_in_use() == 0));
	ww_pool_unref(pool);
}

/* --- the story --- */

/*
 * What has been so far: one kept, with two names, one removed and held, one in escrow and then held
 * by a token; a slice with a name.
 */
static void first_half(struct child *agent)
{
	ww_memory *memory = make(1);

	put(memory, "a", WW_STATE_SEALED, 0);
	put(memory, "further", WW_STATE_SEALED, 0);
	ww_memory_unref(memory);
	agent_does(agent, "get a wait_ms=forever", "verify 1", "drop");
	name_slice(agent);
	take_token(make(2), agent);
	agent_must(agent, WW_OK, "verify 2");
	memory = make(3);
	put(memory, "b", WW_STATE_WRITING, 0);
	pattern_write(memory, 4);
	MUST_OK(ww_memory_publish(memory, scene.broker, WW_STATE_SHARED, NULL));
	ww_memory_unref(memory);
}

static void second_half(struct child *agent)
{
	struct ww_object_info info = WW_INIT(struct ww_object_info);
	ww_snapshot *snapshot;
	ww_memory *former;
	ww_memory *memory;

	agent_does(agent, "verify 2", "drop");
	rename_slice(agent);
	agent_does(agent, "get b write", "write 5");
	memory = scene_get("b", WW_ACCESS_READ);
	pattern_verify(memory, 5);
	ww_memory_unref(memory);
	memory = make(6);
	put(memory, "a", WW_STATE_SEALED, WW_PUT_REPLACE);
	former = scene_get("further", WW_ACCESS_READ);
	pattern_verify(former, 1);
	ww_memory_unref(former);
	put(memory, "further", WW_STATE_SEALED, WW_PUT_REPLACE);
	ww_memory_unref(memory);
	MUST_OK(ww_snapshot_create(scene.broker, NULL, WW_SNAPSHOT_OBJECTS | WW_SNAPSHOT_HOLDS,
		&snapshot));
	MUST_OK(ww_snapshot_object(snapshot, 2, &info));
	MUST_STATUS(WW_END, ww_snapshot_object(snapshot, 3, &info));
	ww_snapshot_free(snapshot);
	MUST_OK(ww_broker_remove(scene.broker, "b"));
	agent_does(agent, "verify 5", "drop");
	MUST_OK(ww_in_flight_revoke(scene.broker, NULL, NULL, NULL, NULL));
	agent_does(agent, "get a", "verify 6");
	MUST_OK(ww_broker_stat(scene.broker, "a", &info));
	MUST_EQUAL(1, info.holders);
	agent_must(agent, WW_OK, "drop");
	MUST_OK(ww_broker_remove(scene.broker, "a"));
	agent_does(agent, "get further", "verify 6", "drop");
	MUST_OK(ww_broker_remove(scene.broker, "further"));
}

static uint32_t mortal_of(const struct death *death, const struct ww_broker_info *info)
{
	return strcmp(death->role, "supervisor") ? info->pid : info->supervisor_pid;
}

/* Waits until a process that got a signal has nothing to do. Return: whether it lives. */
static bool settles(uint32_t pid)
{
	char state = 'R';
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	while (state != 'S' && state != 'Z' && state != 'X') {
		FILE *file = fopen(path, "re");

		if (!file)
			return false;
		if (fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
			state = 'X';
		fclose(file);
	}
	return state == 'S';
}

static bool has_other_processes(const struct ww_broker_info *info, uint64_t pid)
{
	return info->supervisor_pid != pid && info->pid != pid;
}

/* It may still die after its last answer to the story, whose end it has not heard. */
static bool call_off(uint32_t mortal)
{
	if (kill((pid_t)mortal, SIGUSR2) == 0 && settles(mortal))
		return false;
	MUST(scene_comes_true(has_other_processes, mortal));
	return true;
}

/* Whoever is the supervisor now: where the scene's end finds it. */
static void end(struct ww_broker_info *before)
{
	struct ww_broker_info after = scene_info();

	scene.daemon.supervisor = (pid_t)after.supervisor_pid;
	scene_end();
	/* A supervisor that was killed is ours to reap. */
	if (before->supervisor_pid != after.supervisor_pid)
		waitpid((pid_t)before->supervisor_pid, NULL, 0);
}

/* One daemon that dies at the Nth call; returns whether it did. */
static bool meet_daemon(const struct death *death, uint64_t nth)
{
	struct ww_broker_info before;
	struct ww_broker_info after;
	struct child agent;
	bool died;

	plan_death(death, nth);
	begin();
	before = scene_info();
	agent_begin(&agent, "agent", "open");
	if (!death->at_start)
		MUST_CALL(kill((pid_t)mortal_of(death, &before), SIGUSR2));
	first_half(&agent);
	if (death->at_start)
		kill((pid_t)before.pid, SIGKILL);
	second_half(&agent);
	agent_end(&agent);
	after = scene_info();
	died = after.restarts > before.restarts + death->at_start ||
		after.supervisor_pid != before.supervisor_pid;
	if (!died && !death->at_start)
		died = call_off(mortal_of(death, &before));
	end(&before);
	return died;
}

static uint64_t kill_at_each(const struct death *death, uint64_t step)
{
	uint64_t nth = 1;
	uint64_t deaths = 0;

	while (meet_daemon(death, nth)) {
		deaths++;
		nth += step;
		MUST(nth < STEPS_MAX);
	}
	MUST(deaths > 0);
	return deaths;
}

static void kill_at_messages(struct death death)
{
	static const char *const functions[] = {"sendmsg", "recvmsg"};
	static const char *const times[] = {"before", "after"};

	for (size_t i = 0; i < CHECK_COUNT(functions); i++) {
		for (size_t j = 0; j < CHECK_COUNT(times); j++) {
			death.function = functions[i];
			death.when = times[j];
			if (!strcmp(death.role, "supervisor") && i == 0)
				continue; /* it only listens */
			check_note("%s killed %s %s %llu times", death.role, times[j], functions[i],
				(unsigned long long)kill_at_each(&death, 1));
		}
	}
}

/* Every call takes long; so of all calls some by default. */
static uint64_t step_of_calls(uint64_t step)
{
	return kills_wanted() >= 1000 ? 1 : step;
}

static void kill_at_calls(struct death death, uint64_t step)
{
	death.function = "*";
	death.when = "before";
	check_note("%s killed at %llu calls", death.role,
		(unsigned long long)kill_at_each(&death, step_of_calls(step)));
}

CASE_CALL(broker_killed_at_every_message, 0, kill_at_messages((struct death){.role = "broker"}))

CASE_CALL(broker_killed_at_every_call, 0, kill_at_calls((struct death){.role = "broker"}, 5))

/*
 * The next broker, which finds everything as the one before left it, dies too, at each call of its
 * start.
 */
CASE_CALL(broker_killed_while_it_adopts, 0,
	kill_at_calls((struct death){.role = "broker", .restarts = 1, .at_start = true}, 5))

CASE_CALL(supervisor_killed_at_every_message, 0,
	kill_at_messages((struct death){.role = "supervisor"}))

CASE_CALL(supervisor_killed_at_every_call, 0,
	kill_at_calls((struct death){.role = "supervisor"}, 1))

/* --- one object replaces another, and nobody is there to repeat it --- */

/* How the new object comes: at once; written, then sealed; or without a name, then with it. */
static const char *const ways[] = {"at once", "sealed", "named"};

static struct ww_wire_put put_kept(struct raw *raw, const char *name, uint8_t state, uint8_t life)
{
	struct ww_wire_put put = raw_object(name);
	OWN(fd) int fd = raw_memory(4096);

	put.state = state;
	put.life = life;
	put.flags = WW_WIRE_PUT_FLAG_REPLACE;
	MUST_OK(raw_put(raw, &put, &fd, 1));
	return put;
}

/* Asks for the last step. Return: its serial. */
static uint32_t ask_once(struct raw *raw, const char *way, struct ww_wire_put *put)
{
	const struct ww_wire_put ready = raw_object("x");
	OWN(fd) int fd = raw_memory(4096);
	struct ww_wire_seal seal = {.state = WW_WIRE_STATE_SEALED};
	uint32_t serial;

	memcpy(seal.id, put->id, sizeof(seal.id));
	memcpy(put->name, ready.name, sizeof(put->name));
	put->life = WW_WIRE_LIFE_KEPT;
	if (!strcmp(way, "sealed"))
		serial = raw_ask(raw, seal, &seal);
	else
		serial = raw_ask_put(raw, put, &fd, 1);
	return serial;
}

/* role_once WAY: replaces "x" by a connection of its own, and ends when that does */
ROLE(role_once)
{
	static struct raw raw;
	struct ww_wire_put put = raw_object("x");

	MUST(count == 1);
	raw_open(&raw, getenv("WARPWAY_BROKER"));
	put_kept(&raw, "x", WW_WIRE_STATE_SEALED, WW_WIRE_LIFE_KEPT);
	put.flags = WW_WIRE_PUT_FLAG_REPLACE;
	if (!strcmp(arguments[0], "sealed"))
		put = put_kept(&raw, "x", WW_WIRE_STATE_WRITING, WW_WIRE_LIFE_KEPT);
	else if (!strcmp(arguments[0], "named"))
		put = put_kept(&raw, "", WW_WIRE_STATE_SEALED, WW_WIRE_LIFE_HELD);
	role_tell("ready");
	role_hear("go");
	(void)raw_answered(&raw, ask_once(&raw, arguments[0], &put));
	raw_close(&raw);
}

/* One daemon that dies at its Nth call from the last step on; returns whether it did. */
static bool meet_replacer(const char *way, uint64_t nth)
{
	const struct death death = {.role = "broker", .function = "*", .when = "before"};
	const char *const arguments[] = {way, NULL};
	struct ww_object_info info = WW_INIT(struct ww_object_info);
	struct ww_broker_info before;
	struct child writer;
	bool died;

	plan_death(&death, nth);
	begin();
	before = scene_info();
	child_start(&writer, "role_once", &(struct child_options){.arguments = arguments});
	child_hear(&writer, "ready");
	MUST_CALL(kill((pid_t)before.pid, SIGUSR2));
	child_tell(&writer, "go");
	child_finish(&writer);
	MUST_OK(ww_broker_stat(scene.broker, "x", &info));
	MUST_EQUAL(WW_STATE_SEALED, info.state);
	MUST_EQUAL(1, info.fd_count);
	scene_has_objects(1);
	MUST_OK(ww_broker_remove(scene.broker, "x"));
	died = scene_info().restarts > before.restarts || call_off(before.pid);
	end(&before);
	return died;
}

CASE(broker_killed_while_one_replaces, 0)
{
	for (size_t i = 0; i < CHECK_COUNT(ways); i++) {
		uint64_t nth = 1;

		while (meet_replacer(ways[i], nth))
			MUST(++nth < STEPS_MAX);
		check_note("%s: killed at %llu calls", ways[i], (unsigned long long)nth - 1);
		MUST(nth > 1);
	}
}

/* --- a channel, whose producer lives, is replaced --- */

/* role_taker: puts a kept memory as "c", once */
ROLE(role_taker)
{
	static struct raw raw;
	struct ww_wire_put put = raw_object("c");
	OWN(fd) int fd = raw_memory(4096);

	raw_open(&raw, getenv("WARPWAY_BROKER"));
	put.life = WW_WIRE_LIFE_KEPT;
	put.flags = WW_WIRE_PUT_FLAG_REPLACE;
	role_tell("ready");
	role_hear("go");
	(void)raw_answered(&raw, raw_ask_put(&raw, &put, &fd, 1));
	raw_close(&raw);
}

/* Either the channel has its name, or its producer is told. */
static void must_know(ww_channel *channel)
{
	struct ww_object_info info = WW_INIT(struct ww_object_info);
	struct ww_frame frame = WW_INIT(struct ww_frame);

	MUST_OK(ww_broker_stat(scene.broker, "c", &info));
	if (info.kind == WW_OBJECT_CHANNEL) {
		MUST_OK(ww_channel_acquire(channel, NULL, 0, NULL, &frame));
		return;
	}
	MUST_REFUSE(WW_ERR_NOT_FOUND, "'c' was replaced by",
		ww_channel_acquire(channel, NULL, 0, NULL, &frame));
	MUST_OK(ww_broker_remove(scene.broker, "c"));
}

/* As meet_replacer(). */
static bool meet_taker(uint64_t nth)
{
	const struct death death = {.role = "broker", .function = "*", .when = "before"};
	struct ww_broker_info before;
	struct child taker;
	ww_channel *channel;
	bool died;

	plan_death(&death, nth);
	begin();
	before = scene_info();
	MUST_OK(ww_channel_create(scene.device, scene.broker, "c",
		WW_PARAMS(struct ww_channel_params, .slot_bytes = 4096, .kind = WW_MEMORY_HOST),
		NULL, &channel));
	child_start(&taker, "role_taker", NULL);
	child_hear(&taker, "ready");
	MUST_CALL(kill((pid_t)before.pid, SIGUSR2));
	child_tell(&taker, "go");
	child_finish(&taker);
	must_know(channel);
	ww_channel_unref(channel);
	died = scene_info().restarts > before.restarts || call_off(before.pid);
	end(&before);
	return died;
}

CASE(broker_killed_while_a_channel_is_replaced, 0)
{
	uint64_t nth = 1;

	while (meet_taker(nth))
		MUST(++nth < STEPS_MAX);
	check_note("killed at %llu calls", (unsigned long long)nth - 1);
	MUST(nth > 1);
}
