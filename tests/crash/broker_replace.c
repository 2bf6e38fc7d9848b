/* SPDX-License-Identifier: Apache-2.0 */
/*
 * broker_replace.c - kept names whose objects are replaced all the time, while the broker and the
 * writers are killed
 *
 * Each name has one writer, which puts version after version under it: at once, or written and then
 * sealed, or by token first, or as a further name of what has one that goes with the writer. A
 * board that all processes share says which version the writer has begun, and which the broker has
 * acknowledged. Whoever reads the name must find an object, whole, of a version between the two.
 *
 * A writer that was killed is followed by another one, once the broker has noticed its end: what it
 * had sent is done by then, or never will be.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "crash/broker.h"

#define WRITERS 2
#define READERS 2
#define SLOTS   2 /* names of each writer */
#define NAMES   (WRITERS * SLOTS)
#define BYTES   4096
#define WORDS   (BYTES / sizeof(uint64_t))

#define QUESTIONS_MAX 60

static struct board {
	atomic_bool is_over;
	atomic_uint_fast64_t reads;
	atomic_uint_fast64_t away; /* calls that ended with WW_ERR_NO_BROKER */
	struct {
		atomic_uint_fast64_t begun;
		atomic_uint_fast64_t acknowledged;
	} names[NAMES];
} * board;

static void map_board(int flags)
{
	char path[BROKER_PATH_BYTES + 8];
	const char *address = getenv("WARPWAY_BROKER");
	int fd;

	snprintf(path, sizeof(path), "%.*s/replaced", (int)(strrchr(address, '/') - address),
		address);
	fd = open(path, O_RDWR | O_CLOEXEC | flags, 0600);
	MUST_CALL(fd);
	MUST_CALL(ftruncate(fd, sizeof(*board)));
	board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	MUST(board != MAP_FAILED);
	close(fd);
}

static void write_name(char name[32], uint32_t number)
{
	snprintf(name, 32, "kept/%u", number);
}

/* Whether a call was answered; it must have succeeded then. */
static bool was_answered(const char *what, const char *name, ww_status status)
{
	if (status == WW_OK)
		return true;
	if (status != WW_ERR_NO_BROKER)
		FAIL("%s %s: %s: %s", what, name, ww_status_name(status), ww_error_last()->message);
	atomic_fetch_add(&board->away, 1);
	return false;
}

/* --- a writer --- */

static bool is_listed(ww_snapshot *snapshot, uint32_t pid)
{
	struct ww_holder_info info = WW_INIT(struct ww_holder_info);

	for (size_t i = 0; ww_snapshot_holder(snapshot, i, &info) == WW_OK; i++) {
		if (info.pid == pid)
			return true;
	}
	return false;
}

/* Each question is a round trip, so this waits for the broker and not for a clock. */
static void wait_for_end(ww_broker *broker, uint32_t pid)
{
	ww_snapshot *snapshot;
	bool is_there = pid != 0;

	while (is_there) {
		if (!was_answered("holders of", "the broker",
			    ww_snapshot_create(broker, NULL, WW_SNAPSHOT_HOLDERS, &snapshot)))
			continue;
		is_there = is_listed(snapshot, pid);
		ww_snapshot_free(snapshot);
	}
}

static ww_status put_version(ww_memory *memory, ww_broker *broker, const char *name, uint64_t way)
{
	struct ww_token token;
	ww_status status = WW_OK;
	char first[40];

	snprintf(first, sizeof(first), "first/%s", name);
	if (way == 2)
		status = ww_memory_export(memory, broker,
			WW_PARAMS(struct ww_export_params, .escrow_ns = WW_ESCROW_NONE), NULL,
			&token);
	if (way == 3)
		status = ww_memory_put(memory, broker, first,
			WW_PARAMS(struct ww_put_params, .state = WW_STATE_SHARED,
				.flags = WW_PUT_REPLACE),
			0, NULL);
	if (status == WW_OK)
		status = ww_memory_put(memory, broker, name,
			WW_PARAMS(struct ww_put_params, .life = WW_LIFE_KEPT,
				.state = way == 1 ? WW_STATE_WRITING : WW_STATE_SHARED,
				.flags = WW_PUT_REPLACE),
			0, NULL);
	if (status == WW_OK && way == 1)
		status = ww_memory_publish(memory, broker, WW_STATE_SEALED, NULL);
	return status;
}

static void replace(ww_device *device, ww_broker *broker, uint32_t number, uint64_t way)
{
	uint64_t version = atomic_fetch_add(&board->names[number].begun, 1) + 1;
	OWN(memory) ww_memory *memory = memory_make(device, WW_MEMORY_HOST, BYTES);
	uint64_t *words = ww_memory_host_pointer(memory);
	char name[32];

	for (size_t i = 0; i < WORDS; i++)
		words[i] = version << 8 | number;
	write_name(name, number);
	if (was_answered("put", name, put_version(memory, broker, name, way)))
		atomic_store(&board->names[number].acknowledged, version);
}

/*
 * role_replacer NUMBER PID: writes its names anew until it is killed; PID is that of the writer
 * before it, or 0
 */
ROLE(role_replacer)
{
	OWN(device) ww_device *device = subject_open();
	uint64_t random = (uint64_t)getpid();
	OWN(broker) ww_broker *broker;
	uint32_t first;

	MUST(count == 2);
	first = (uint32_t)atoi(arguments[0]) * SLOTS;
	map_board(0);
	MUST_OK(broker_open_patient(NULL, &broker));
	wait_for_end(broker, (uint32_t)atoi(arguments[1]));
	for (uint32_t i = 0; i < SLOTS; i++)
		do
			replace(device, broker, first + i, 0);
		while (!atomic_load(&board->names[first + i].acknowledged));
	role_tell("working");
	while (!atomic_load(&board->is_over))
		replace(device, broker, first + (uint32_t)draw_from(&random, SLOTS),
			draw_from(&random, 4));
}

/* --- a reader --- */

static void verify(ww_memory *memory, uint32_t number, uint64_t least)
{
	const uint64_t *words = ww_memory_host_pointer(memory);
	uint64_t version = words[0] >> 8;

	MUST(memory_info(memory).bytes == BYTES);
	MUST_EQUAL(number, words[0] & 0xff);
	for (size_t i = 0; i < WORDS; i++)
		MUST_EQUAL(words[0], words[i]);
	if (version < least || version > atomic_load(&board->names[number].begun))
		FAIL("kept/%u has version %llu after version %llu was acknowledged", number,
			(unsigned long long)version, (unsigned long long)least);
}

static void read_one(ww_device *device, ww_broker *broker, uint32_t number)
{
	uint64_t least = atomic_load(&board->names[number].acknowledged);
	ww_memory *memory;
	char name[32];

	write_name(name, number);
	atomic_fetch_add(&board->reads, 1);
	if (!was_answered("get", name,
		    ww_memory_get(device, broker, name, NULL, 0, NULL, &memory, NULL)))
		return;
	verify(memory, number, least);
	ww_memory_unref(memory);
}

ROLE(role_reader)
{
	OWN(device) ww_device *device = subject_open();
	uint64_t random = (uint64_t)getpid();
	OWN(broker) ww_broker *broker;

	MUST(count == 0);
	map_board(0);
	MUST_OK(broker_open_patient(NULL, &broker));
	while (!atomic_load(&board->is_over))
		read_one(device, broker, (uint32_t)draw_from(&random, NAMES));
}

/* --- the case's side --- */

static struct child writers[WRITERS];
static struct child readers[READERS];

static void start_writer(uint32_t number, pid_t former)
{
	char texts[2][16];
	const char *const arguments[] = {texts[0], texts[1], NULL};

	snprintf(texts[0], sizeof(texts[0]), "%u", number);
	snprintf(texts[1], sizeof(texts[1]), "%d", (int)former);
	child_start(&writers[number], "role_replacer",
		&(struct child_options){.arguments = arguments});
}

/*
 * The broker, and often a writer before it or after it. Return: of which writer; WRITERS: of none.
 */
static uint32_t harm(uint64_t *random)
{
	uint32_t number = (uint32_t)draw_from(random, WRITERS + 1);
	bool is_writer_first = draw_from(random, 2);
	struct ww_broker_info before;

	for (uint64_t i = draw_from(random, QUESTIONS_MAX); i > 0; i--)
		scene_info();
	before = scene_info();
	if (number < WRITERS && is_writer_first)
		MUST_CALL(kill(writers[number].pid, SIGKILL));
	MUST_CALL(kill((pid_t)before.pid, SIGKILL));
	if (number < WRITERS && !is_writer_first)
		MUST_CALL(kill(writers[number].pid, SIGKILL));
	scene_has_other_broker(before.pid);
	return number;
}

static void begin(void)
{
	scene_begin();
	map_board(O_CREAT);
	for (uint32_t i = 0; i < WRITERS; i++)
		start_writer(i, 0);
	for (uint32_t i = 0; i < WRITERS; i++)
		child_hear(&writers[i], "working");
	for (uint32_t i = 0; i < READERS; i++)
		child_start(&readers[i], "role_reader", NULL);
}

static void end(void)
{
	uint64_t versions = 0;

	atomic_store(&board->is_over, true);
	for (uint32_t i = 0; i < WRITERS; i++)
		child_finish(&writers[i]);
	for (uint32_t i = 0; i < READERS; i++)
		child_finish(&readers[i]);
	for (uint32_t i = 0; i < NAMES; i++) {
		char name[32];

		read_one(scene.device, scene.broker, i);
		write_name(name, i);
		MUST_OK(ww_broker_remove(scene.broker, name));
		versions += atomic_load(&board->names[i].begun);
	}
	check_note("%llu objects put, %llu read, %llu calls ended with WW_ERR_NO_BROKER",
		(unsigned long long)versions, (unsigned long long)atomic_load(&board->reads),
		(unsigned long long)atomic_load(&board->away));
	munmap(board, sizeof(*board));
	scene_end();
}

CASE(replaced_names_are_always_there, 0)
{
	uint32_t kills = kills_wanted();
	uint32_t writer_kills = 0;
	uint64_t random = 1;

	begin();
	for (uint32_t i = 0; i < kills; i++) {
		uint32_t number = harm(&random);
		pid_t former;

		if (number == WRITERS)
			continue;
		former = writers[number].pid;
		child_kill(&writers[number]);
		start_writer(number, former);
		child_hear(&writers[number], "working");
		writer_kills++;
	}
	end();
	check_note("the broker killed %u times, a writer with it %u times", kills, writer_kills);
}
