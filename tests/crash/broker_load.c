/* SPDX-License-Identifier: Apache-2.0 */
/*
 * broker_load.c - processes that use a broker as fast as they can, and believe nothing
 *
 * Each thread of a loader owns some names. What it believes to be under them stands in a board that
 * all processes share, with a number that changes before and after each change; whoever reads a
 * name looks at the board before and after, and where nothing changed meanwhile the broker must say
 * the same as the board. Memory says of itself which name and which version it is, in every word.
 *
 * A call may end with WW_OK, with the refusal that is due, or with WW_ERR_NO_BROKER, when the
 * broker was away for too long: then its owner asks what became of it. Anything else is a failure.
 * At the end all that the board says is there must be there.
 */
#include <fcntl.h>
#include <stdatomic.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "crash/broker.h"

#define LOADERS 3
#define THREADS 2 /* of each */
#define OWNERS  (LOADERS * THREADS)
#define SLOTS   8
#define BYTES   4096
#define WORDS   (BYTES / sizeof(uint64_t))

/* A token that is used later may be refused. */
#define ESCROW_NS UINT64_C(2000000000)

/* What its owner knows of a name. */
enum {
	ABSENT = 0,
	PRESENT = 1,
	CHANGING = 2
};

struct board {
	atomic_bool is_over;
	struct {
		atomic_uint_fast64_t calls;
		atomic_uint_fast64_t away;         /* calls that ended with WW_ERR_NO_BROKER */
		atomic_uint_fast64_t slots[SLOTS]; /* version << 2 | state */
	} owners[OWNERS];
};

/* --- one owner: a thread of a loader --- */

struct owner {
	struct board *board;
	ww_device *device;
	ww_broker *broker;
	uint32_t number;
	uint64_t random;
	uint64_t version;
};

static uint64_t draw(struct owner *owner, uint64_t below)
{
	owner->random = owner->random * UINT64_C(6364136223846793005) +
		UINT64_C(1442695040888963407);
	return (owner->random >> 33) % below;
}

static void write_name(char name[32], uint32_t owner, uint32_t slot)
{
	snprintf(name, 32, "load/%u/%u", owner, slot);
}

static uint64_t tag_of(uint32_t owner, uint32_t slot, uint64_t version)
{
	return version << 16 | owner << 8 | slot;
}

static ww_memory *make(ww_device *device, uint64_t tag)
{
	ww_memory *memory = memory_make(device, WW_MEMORY_HOST, BYTES);
	uint64_t *words = ww_memory_host_pointer(memory);

	for (size_t i = 0; i < WORDS; i++)
		words[i] = tag;
	return memory;
}

/* All of one tag, and of the right one. Return: its version. */
static uint64_t verify(ww_memory *memory, uint32_t owner, uint32_t slot)
{
	const uint64_t *words = ww_memory_host_pointer(memory);

	MUST(memory_info(memory).bytes == BYTES);
	for (size_t i = 0; i < WORDS; i++)
		if (words[i] != words[0])
			FAIL("word %zu of load/%u/%u is %#llx, not %#llx", i, owner, slot,
				(unsigned long long)words[i], (unsigned long long)words[0]);
	MUST_EQUAL(tag_of(owner, slot, 0), words[0] & 0xffff);
	return words[0] >> 16;
}

/*
 * Whether a call succeeded; it may also have been refused in this one way, or the broker was away.
 */
static bool ended_well(struct owner *owner, const char *what, ww_status got, ww_status also)
{
	atomic_fetch_add(&owner->board->owners[owner->number].calls, 1);
	if (got == WW_OK || got == also)
		return got == WW_OK;
	if (got != WW_ERR_NO_BROKER)
		FAIL("%s: %s: %s", what, ww_status_name(got), ww_error_last()->message);
	atomic_fetch_add(&owner->board->owners[owner->number].away, 1);
	return false;
}

static atomic_uint_fast64_t *slot_of(struct owner *owner, uint32_t slot)
{
	return &owner->board->owners[owner->number].slots[slot];
}

static void note(struct owner *owner, uint32_t slot, uint64_t state)
{
	atomic_store(slot_of(owner, slot), owner->version << 2 | state);
}

/* After a change of which it is not known whether it was made. */
static void find_out(struct owner *owner, uint32_t slot)
{
	struct ww_object_info info = WW_INIT(struct ww_object_info);
	ww_memory *memory = NULL;
	ww_status status;
	char name[32];

	write_name(name, owner->number, slot);
	do {
		status = ww_memory_get(owner->device, owner->broker, name, NULL, 0, NULL, &memory,
			&info);
	} while (status == WW_ERR_NO_BROKER && !atomic_load(&owner->board->is_over));
	if (status == WW_OK)
		owner->version = verify(memory, owner->number, slot);
	else if (status != WW_ERR_NOT_FOUND)
		FAIL("%s: %s", name, ww_error_last()->message);
	ww_memory_unref(memory);
	note(owner, slot, status == WW_OK ? PRESENT : ABSENT);
}

static void change(struct owner *owner, uint32_t slot)
{
	owner->version++;
	note(owner, slot, CHANGING);
}

/* In one step, or written and then sealed; where there is one already, in its place. */
static void put(struct owner *owner, uint32_t slot)
{
	bool is_there = atomic_load(slot_of(owner, slot)) & PRESENT;
	bool in_steps = draw(owner, 2);
	ww_memory *memory;
	bool is_done;
	char name[32];

	change(owner, slot);
	write_name(name, owner->number, slot);
	memory = make(owner->device, tag_of(owner->number, slot, owner->version));
	is_done = ended_well(owner, "put",
		ww_memory_put(memory, owner->broker, name,
			WW_PARAMS(struct ww_put_params, .life = WW_LIFE_KEPT,
				.state = in_steps ? WW_STATE_WRITING : 0,
				.flags = is_there ? WW_PUT_REPLACE : 0),
			0, NULL),
		WW_OK);
	if (is_done && in_steps)
		is_done = ended_well(owner, "seal",
			ww_memory_publish(memory, owner->broker, WW_STATE_SEALED, NULL), WW_OK);
	ww_memory_unref(memory);
	if (is_done)
		note(owner, slot, PRESENT);
	else
		find_out(owner, slot);
}

static void remove_one(struct owner *owner, uint32_t slot)
{
	bool is_there = atomic_load(slot_of(owner, slot)) & PRESENT;
	ww_status status;
	char name[32];

	change(owner, slot);
	write_name(name, owner->number, slot);
	status = ww_broker_remove(owner->broker, name);
	if (ended_well(owner, "remove", status, is_there ? WW_OK : WW_ERR_NOT_FOUND) ||
		(!is_there && status == WW_ERR_NOT_FOUND))
		note(owner, slot, ABSENT);
	else
		find_out(owner, slot);
}

/* Anybody's. */
static void read_one(struct owner *owner)
{
	uint32_t other = (uint32_t)draw(owner, OWNERS);
	uint32_t slot = (uint32_t)draw(owner, SLOTS);
	atomic_uint_fast64_t *board = &owner->board->owners[other].slots[slot];
	OWN(memory) ww_memory *memory = NULL;
	uint64_t before;
	uint64_t after;
	ww_status status;
	char name[32];

	write_name(name, other, slot);
	before = atomic_load(board);
	status = ww_memory_get(owner->device, owner->broker, name, NULL, 0, NULL, &memory, NULL);
	after = atomic_load(board);
	if (before != after || before & CHANGING) {
		/* While it changes it may be there, not be there or be written. */
		if (ended_well(owner, "get while it changes", status,
			    status == WW_ERR_STATE ? WW_ERR_STATE : WW_ERR_NOT_FOUND))
			verify(memory, other, slot);
	} else if (ended_well(owner, "get", status, before & PRESENT ? WW_OK : WW_ERR_NOT_FOUND)) {
		if (!(before & PRESENT))
			FAIL("%s is there, which was removed", name);
		MUST_EQUAL(before >> 2, verify(memory, other, slot));
	}
}

/*
 * Without a name, held by nobody but its token. An escrow whose broker died before it said so is
 * there a second time when the export is repeated: that one ends by its time.
 */
static void pass_by_token(struct owner *owner)
{
	struct ww_object_info info = WW_INIT(struct ww_object_info);
	struct ww_token token;
	uint64_t began_ns = now_ns();
	ww_memory *memory = make(owner->device, tag_of(owner->number, 0, 77));
	bool is_done = ended_well(owner, "export",
		ww_memory_export(memory, owner->broker,
			WW_PARAMS(struct ww_export_params, .uses = 1, .escrow_ns = ESCROW_NS), NULL,
			&token),
		WW_OK);
	ww_status status = WW_ERR_NO_BROKER;

	ww_memory_unref(memory);
	while (is_done && status == WW_ERR_NO_BROKER) {
		status = ww_memory_import(owner->device, owner->broker, &token, NULL, NULL, &memory,
			&info);
		if (ended_well(owner, "import", status,
			    now_ns() - began_ns < ESCROW_NS ? WW_OK : WW_ERR_NOT_FOUND)) {
			MUST_EQUAL(77, verify(memory, owner->number, 0));
			ww_memory_unref(memory);
		}
	}
}

static void hold_shortly(struct owner *owner)
{
	OWN(memory) ww_memory *memory = make(owner->device, 1);

	ended_well(owner, "put without a name",
		ww_memory_put(memory, owner->broker, NULL, NULL, 0, NULL), WW_OK);
}

static void wait_shortly(struct owner *owner)
{
	ww_memory *memory;

	if (ended_well(owner, "wait",
		    ww_memory_get(owner->device, owner->broker, "load/never", NULL, 1000000, NULL,
			    &memory, NULL),
		    WW_TIMED_OUT))
		FAIL("there is something that nobody put");
}

/* What is there all the time is listed exactly once, and nothing else of ours. */
static void list(struct owner *owner)
{
	struct ww_object_info info = WW_INIT(struct ww_object_info);
	ww_snapshot *snapshot;
	char prefix[32];
	size_t there = 0;
	size_t listed = 0;

	snprintf(prefix, sizeof(prefix), "load/%u/", owner->number);
	if (!ended_well(owner, "list",
		    ww_snapshot_create(owner->broker, prefix, WW_SNAPSHOT_OBJECTS, &snapshot),
		    WW_OK))
		return;
	for (uint32_t i = 0; i < SLOTS; i++)
		there += atomic_load(slot_of(owner, i)) & PRESENT;
	while (ww_snapshot_object(snapshot, listed, &info) == WW_OK)
		listed++;
	ww_snapshot_free(snapshot);
	MUST_EQUAL(there, listed);
}

static void act(struct owner *owner)
{
	uint32_t slot = (uint32_t)draw(owner, SLOTS);

	switch (draw(owner, 16)) {
	case 0:
	case 1:
	case 2:
	case 3:
		put(owner, slot);
		break;
	case 4:
	case 5:
		remove_one(owner, slot);
		break;
	case 6:
	case 7:
		pass_by_token(owner);
		break;
	case 8:
		hold_shortly(owner);
		break;
	case 9:
		wait_shortly(owner);
		break;
	case 10:
		list(owner);
		break;
	default:
		read_one(owner);
	}
}

static void *work(void *context)
{
	struct owner *owner = context;

	while (!atomic_load(&owner->board->is_over))
		act(owner);
	return NULL;
}

static struct board *map_board(int flags)
{
	char path[BROKER_PATH_BYTES + 8];
	void *board;
	int fd;

	snprintf(path, sizeof(path), "%.*s/board",
		(int)(strrchr(getenv("WARPWAY_BROKER"), '/') - getenv("WARPWAY_BROKER")),
		getenv("WARPWAY_BROKER"));
	fd = open(path, O_RDWR | O_CLOEXEC | flags, 0600);
	MUST_CALL(fd);
	MUST_CALL(ftruncate(fd, sizeof(struct board)));
	board = mmap(NULL, sizeof(struct board), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	MUST(board != MAP_FAILED);
	close(fd);
	return board;
}

/* role_loader NUMBER: works until the board says that it is over */
ROLE(role_loader)
{
	struct board *board = map_board(0);
	OWN(device) ww_device *device = subject_open();
	struct owner owners[THREADS];
	pthread_t threads[THREADS];
	OWN(broker) ww_broker *broker;

	MUST(count == 1);
	MUST_OK(broker_open_patient(NULL, &broker));
	for (uint32_t i = 0; i < THREADS; i++) {
		uint32_t number = (uint32_t)atoi(arguments[0]) * THREADS + i;

		owners[i] = (struct owner){board, device, broker, number, number + 1, 0};
		MUST(!pthread_create(&threads[i], NULL, work, &owners[i]));
	}
	role_tell("working");
	for (uint32_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

/* --- the case's side --- */

static struct child loaders[LOADERS];
static struct board *board;

void load_begin(void)
{
	board = map_board(O_CREAT);
	for (int i = 0; i < LOADERS; i++) {
		char number[16];
		const char *const arguments[] = {number, NULL};

		snprintf(number, sizeof(number), "%d", i);
		child_start(&loaders[i], "role_loader",
			&(struct child_options){.arguments = arguments});
	}
	for (int i = 0; i < LOADERS; i++)
		child_hear(&loaders[i], "working");
}

static void must_be_there(uint32_t owner, uint32_t slot)
{
	uint64_t word = atomic_load(&board->owners[owner].slots[slot]);
	ww_memory *memory;
	char name[32];

	write_name(name, owner, slot);
	if (!(word & PRESENT)) {
		MUST_REFUSE(WW_ERR_NOT_FOUND, name, ww_broker_remove(scene.broker, name));
		return;
	}
	memory = scene_get(name, WW_ACCESS_READ);
	MUST_EQUAL(word >> 2, verify(memory, owner, slot));
	ww_memory_unref(memory);
	MUST_OK(ww_broker_remove(scene.broker, name));
}

void load_end(void)
{
	uint64_t calls = 0;
	uint64_t away = 0;

	atomic_store(&board->is_over, true);
	for (int i = 0; i < LOADERS; i++)
		child_finish(&loaders[i]);
	for (uint32_t i = 0; i < OWNERS; i++) {
		calls += atomic_load(&board->owners[i].calls);
		away += atomic_load(&board->owners[i].away);
		for (uint32_t slot = 0; slot < SLOTS; slot++)
			must_be_there(i, slot);
	}
	munmap(board, sizeof(*board));
	check_note("%llu calls, %llu of them ended with WW_ERR_NO_BROKER",
		(unsigned long long)calls, (unsigned long long)away);
}
