/* SPDX-License-Identifier: Apache-2.0 */
/*
 * broker_cancel.c - calls at a broker that end by their ww_cancel: set by a signal handler, and by
 * a thread at any instant
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "integration/broker.h"

#define THREADS 4
#define ROUNDS  150
#define BYTES   4096
#define SPINS   4000 /* at most, between two flags: some milliseconds */
#define HANG_US 50000

/* --- a signal handler --- */

static ww_cancel *interrupted;

static void on_interrupt(int number)
{
	(void)number;
	ww_cancel_set(interrupted);
}

/*
 * Waits for a name until it is interrupted, says so, and gets another one over the same broker
 * then.
 */
ROLE(role_interrupted)
{
	const struct sigaction action = {.sa_handler = on_interrupt};
	ww_device *device = subject_open();
	ww_memory *memory;
	ww_broker *broker;

	MUST_OK(ww_cancel_create(&interrupted));
	MUST_CALL(sigaction(SIGINT, &action, NULL));
	MUST_OK(broker_open_patient(NULL, &broker));
	for (int i = 0; i < 10; i++) {
		MUST_STATUS(WW_CANCELLED,
			ww_memory_get(device, broker, "never", NULL, WW_FOREVER, interrupted,
				&memory, NULL));
		MUST(!memory);
		ww_cancel_clear(interrupted);
		MUST_OK(ww_memory_get(device, broker, "there", NULL, WW_FOREVER, interrupted,
			&memory, NULL));
		pattern_verify(memory, 1);
		ww_memory_unref(memory);
		role_tell("interrupted");
		role_hear("again");
	}
	ww_broker_unref(broker);
	ww_device_unref(device);
	ww_cancel_unref(interrupted);
}

SCENE_CASE(cancel_by_signal_handler, WW_CAP_EXPORT)
{
	struct child child;
	ww_memory *memory = scene_make(2 * MIB, 1);

	scene_put(memory, "there", 0, 0, WW_STATE_SEALED);
	child_start(&child, "role_interrupted", NULL);
	for (int i = 0; i < 10; i++) {
		scene_has_waits(1);
		MUST_CALL(kill(child.pid, SIGINT));
		child_hear(&child, "interrupted");
		scene_has_waits(0);
		child_tell(&child, "again");
	}
	child_finish(&child);
	ww_memory_unref(memory);
	scene_has_holders(1);
}

/* --- no waiting --- */

/* What this process knows it does while the broker is stopped; nothing else is sent to that. */
SCENE_CASE(cancel_nowait, WW_CAP_EXPORT)
{
	ww_cancel *nowait = ww_cancel_nowait();
	ww_memory *memory, *reader, *again;
	struct ww_token token;

	memory = scene_make(2 * MIB, 1);
	MUST_STATUS(WW_CANCELLED, ww_memory_export(memory, scene.broker, NULL, nowait, &token));
	MUST_STATUS(WW_CANCELLED,
		ww_memory_put(memory, scene.broker, "name", NULL, WW_FOREVER, nowait));
	MUST_STATUS(WW_ERR_NOT_FOUND,
		ww_memory_get(scene.device, scene.broker, "name", NULL, 0, NULL, &again, NULL));
	MUST_OK(ww_memory_export(memory, scene.broker,
		WW_PARAMS(struct ww_export_params, .escrow_ns = WW_ESCROW_NONE), NULL, &token));
	MUST_OK(ww_memory_import(scene.device, scene.broker, &token, NULL, NULL, &reader, NULL));
	MUST_CALL(kill(-scene.daemon.group, SIGSTOP));
	MUST_OK(ww_memory_import(scene.device, scene.broker, &token, NULL, nowait, &again, NULL));
	ww_memory_unref(again);
	ww_memory_unref(reader);
	MUST_STATUS(WW_CANCELLED,
		ww_memory_get(scene.device, scene.broker, "name", NULL, WW_FOREVER, nowait, &again,
			NULL));
	MUST_CALL(kill(-scene.daemon.group, SIGCONT));
	ww_memory_unref(memory);
}

/* --- a delivery --- */

static ww_status deliver(ww_memory *memory, uint32_t uses, ww_cancel *cancel,
	struct ww_token *out_token)
{
	return ww_memory_export(memory, scene.broker,
		WW_PARAMS(struct ww_export_params, .uses = uses, .flags = WW_EXPORT_DELIVERY),
		cancel, out_token);
}

static void must_be_in_flight(size_t count)
{
	struct ww_in_flight_info info = WW_INIT(struct ww_in_flight_info);
	ww_in_flight *list;

	MUST_OK(ww_in_flight_create(scene.broker, NULL, &list));
	if (count > 0)
		MUST_OK(ww_in_flight_get(list, count - 1, &info));
	MUST_STATUS(WW_END, ww_in_flight_get(list, count, &info));
	ww_in_flight_free(list);
}

/* Of one whose answer did not come nobody has a token. The next equal export gets it, once. */
SCENE_CASE(cancel_of_delivery, WW_CAP_EXPORT)
{
	struct ww_token tokens[3];
	ww_memory *memory, *reader;
	ww_cancel *set;

	memory = scene_make(2 * MIB, 1);
	MUST_OK(ww_cancel_create(&set));
	ww_cancel_set(set);
	MUST_OK(deliver(memory, 2, NULL, &tokens[0]));
	MUST_CALL(kill(-scene.daemon.group, SIGSTOP));
	MUST_STATUS(WW_CANCELLED, deliver(memory, 1, set, &tokens[1]));
	MUST_STATUS(WW_CANCELLED, deliver(memory, 2, ww_cancel_nowait(), &tokens[0]));
	MUST_CALL(kill(-scene.daemon.group, SIGCONT));
	must_be_in_flight(2);
	MUST_OK(deliver(memory, 2, NULL, &tokens[0]));
	must_be_in_flight(3);
	MUST_OK(deliver(memory, 1, NULL, &tokens[1]));
	must_be_in_flight(3);
	MUST_OK(deliver(memory, 1, NULL, &tokens[2]));
	must_be_in_flight(4);
	for (int i = 1; i < 3; i++) {
		MUST_OK(ww_memory_import(scene.device, scene.broker, &tokens[i], NULL, NULL,
			&reader, NULL));
		ww_memory_unref(reader);
	}
	must_be_in_flight(2);
	MUST_OK(ww_in_flight_revoke(scene.broker, NULL, NULL, NULL, NULL));
	ww_cancel_unref(set);
	ww_memory_unref(memory);
}

/* --- at any instant --- */

struct player {
	pthread_t thread;
	uint32_t number;
	ww_cancel *cancel;
	uint32_t cancelled; /* calls that were */
};

static struct player players[THREADS];
static atomic_int playing;

/* Return: whether it succeeded. */
static bool is_done(struct player *player, ww_status status)
{
	if (status == WW_CANCELLED)
		player->cancelled++;
	else
		MUST_OK(status);
	return status == WW_OK;
}

static void get_what_never_comes(struct player *player)
{
	ww_memory *memory;

	MUST_STATUS(WW_CANCELLED,
		ww_memory_get(scene.device, scene.broker, "never", NULL, WW_FOREVER, player->cancel,
			&memory, NULL));
	MUST(!memory);
	player->cancelled++;
}

/* Puts something, gets what a neighbour has put, if it has, and makes a token and imports that. */
static void put_and_get(struct player *player)
{
	/* A neighbour may have what was there before. */
	OWN(memory) ww_memory *memory = memory_make(scene.device, WW_MEMORY_HOST, BYTES);
	ww_memory *got = NULL;
	struct ww_token token;
	char name[16];

	snprintf(name, sizeof(name), "p%u", player->number);
	is_done(player,
		ww_memory_put(memory, scene.broker, name,
			WW_PARAMS(struct ww_put_params, .flags = WW_PUT_REPLACE), WW_FOREVER,
			player->cancel));
	snprintf(name, sizeof(name), "p%u", (player->number + 1) % THREADS);
	is_done(player,
		ww_memory_get(scene.device, scene.broker, name, NULL, WW_FOREVER, player->cancel,
			&got, NULL));
	ww_memory_unref(got);
	if (is_done(player,
		    ww_memory_export(memory, scene.broker,
			    WW_PARAMS(struct ww_export_params, .escrow_ns = WW_ESCROW_NONE),
			    player->cancel, &token)) &&
		is_done(player,
			ww_memory_import(scene.device, scene.broker, &token, NULL, player->cancel,
				&got, NULL)))
		ww_memory_unref(got);
}

static void *play(void *context)
{
	struct player *player = context;

	for (uint32_t i = 0; i < ROUNDS; i++) {
		ww_cancel_clear(player->cancel);
		if (i % 8 == 0)
			get_what_never_comes(player);
		else
			put_and_get(player);
	}
	atomic_fetch_sub(&playing, 1);
	return NULL;
}

static void spin(unsigned int *seed)
{
	for (int spins = rand_r(seed) % SPINS; spins > 0; spins--)
		sched_yield();
}

/* The broker hangs for longer than it has to answer to a call that is cancelled, and all are. */
static void hang_and_set(void)
{
	MUST_CALL(kill(-scene.daemon.group, SIGSTOP));
	for (uint32_t i = 0; i < THREADS; i++)
		ww_cancel_set(players[i].cancel);
	usleep(HANG_US);
	MUST_CALL(kill(-scene.daemon.group, SIGCONT));
}

/* Sets one flag after another until nobody plays. */
static void set_at_random(void)
{
	unsigned int seed = 1;

	while (atomic_load(&playing) > 0) {
		spin(&seed);
		if (rand_r(&seed) % 8 == 0)
			hang_and_set();
		ww_cancel_set(players[rand_r(&seed) % THREADS].cancel);
	}
}

SCENE_CASE(cancel_at_any_instant, WW_CAP_HOST_MEMORY)
{
	uint32_t cancelled = 0;

	atomic_store(&playing, THREADS);
	for (uint32_t i = 0; i < THREADS; i++) {
		players[i] = (struct player){.number = i};
		MUST_OK(ww_cancel_create(&players[i].cancel));
		MUST(!pthread_create(&players[i].thread, NULL, play, &players[i]));
	}
	set_at_random();
	for (uint32_t i = 0; i < THREADS; i++) {
		pthread_join(players[i].thread, NULL);
		ww_cancel_unref(players[i].cancel);
		cancelled += players[i].cancelled;
	}
	check_note("%u calls were cancelled", cancelled);
	MUST(cancelled >= THREADS * ROUNDS / 8);
}
