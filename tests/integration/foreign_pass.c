/* SPDX-License-Identifier: Apache-2.0 */
/*
 * foreign_pass.c - memory of the driver's own, handed to another process: what arrives, and that it
 * is mapped once
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "integration/foreign.h"

static const char *const kinds[] = {"legacy", "pool", "vmm"};

static struct child owner;
static struct ww_token token; /* that the owner made, for writing */

static void start_owner(const char *kind)
{
	foreign_owner(&owner, kind, 0, 0);
	token = foreign_token(&owner, "write");
}

static ww_memory *import(const struct ww_token *from, uint32_t access, struct ww_object_info *info)
{
	ww_memory *memory;

	MUST_OK(ww_memory_import(scene.device, scene.broker, from,
		WW_PARAMS(struct ww_import_params, .access = access), NULL, &memory, info));
	return memory;
}

/* Both see what the other writes, at the right place. */
static void must_share(ww_memory *span)
{
	struct ww_memory_info info = memory_info(span);

	MUST_EQUAL(FOREIGN_SPAN, info.bytes);
	MUST_EQUAL(FOREIGN_OFFSET, info.offset);
	MUST_EQUAL(FOREIGN_BYTES, info.total_bytes);
	pattern_verify(span, 1 + FOREIGN_OFFSET);
	agent_must(&owner, WW_OK, "fill 2");
	pattern_verify(span, 2 + FOREIGN_OFFSET);
	pattern_write(span, 3);
	agent_must(&owner, WW_OK, "verify 3");
}

KIND_CASE(foreign_by_token, WW_CAP_FOREIGN)
{
	struct ww_object_info info = WW_INIT(struct ww_object_info);
	ww_memory *memory;

	foreign_owner(&owner, kind, FOREIGN_OFFSET, FOREIGN_SPAN);
	token = foreign_token(&owner, "write");
	memory = import(&token, WW_ACCESS_WRITE, &info);
	MUST_EQUAL(FOREIGN_OFFSET, info.offset);
	MUST_EQUAL(FOREIGN_SPAN, info.span_bytes);
	MUST_EQUAL(FOREIGN_BYTES, info.bytes);
	MUST_EQUAL(info.memory_kind, memory_info(memory).kind);
	must_share(memory);
	ww_memory_unref(memory);
}

KIND_CASE(foreign_by_name, WW_CAP_FOREIGN)
{
	struct ww_object_info info = WW_INIT(struct ww_object_info);
	ww_memory *memory;

	foreign_owner(&owner, kind, FOREIGN_OFFSET, FOREIGN_SPAN);
	agent_must(&owner, WW_OK, "put x state=shared");
	MUST_OK(ww_memory_get(scene.device, scene.broker, "x",
		WW_PARAMS(struct ww_get_params, .access = WW_ACCESS_WRITE,
			.flags = WW_IMPORT_NO_SLOW_ROUTE),
		0, NULL, &memory, &info));
	MUST_EQUAL(FOREIGN_OFFSET, info.offset);
	MUST_EQUAL(FOREIGN_SPAN, info.span_bytes);
	must_share(memory);
	ww_memory_unref(memory);
}

/* Over a socket exactly the part comes; of a pool nothing, for it needs two descriptors. */
CASE(foreign_by_descriptor, WW_CAP_FOREIGN)
{
	for (size_t i = 0; i < CHECK_COUNT(kinds); i++) {
		ww_device *device = subject_open();
		ww_memory *memory;

		foreign_owner(&owner, kinds[i], FOREIGN_OFFSET, FOREIGN_SPAN);
		if (!strcmp(kinds[i], "pool")) {
			agent_must(&owner, WW_ERR_UNSUPPORTED, "send");
		} else {
			agent_must(&owner, WW_OK, "send");
			MUST_OK(ww_memory_receive(device, owner.socket,
				WW_PARAMS(struct ww_import_params, .access = WW_ACCESS_WRITE),
				WW_FOREVER, NULL, &memory));
			MUST_EQUAL(FOREIGN_SPAN, memory_info(memory).bytes);
			MUST_EQUAL(FOREIGN_OFFSET, memory_info(memory).offset);
			foreign_verify_part(memory, 0, FOREIGN_BYTES, FOREIGN_OFFSET, FOREIGN_SPAN,
				1);
			pattern_write(memory, 5);
			agent_must(&owner, WW_OK, "verify 5");
			ww_memory_unref(memory);
		}
		agent_end(&owner);
		ww_device_unref(device);
	}
}

KIND_CASE(foreign_imported_twice_is_one, WW_CAP_FOREIGN)
{
	struct ww_token tokens[2];
	ww_memory *first;
	ww_memory *second;
	ww_memory *span;

	foreign_owner(&owner, kind, 0, 0);
	tokens[0] = foreign_token(&owner, "write");
	tokens[1] = foreign_token(&owner, "write offset=64 bytes=64");
	first = import(&tokens[0], WW_ACCESS_WRITE, NULL);
	span = import(&tokens[1], WW_ACCESS_WRITE, NULL);
	MUST(ww_memory_pointer(span) == (char *)ww_memory_pointer(first) + 64);
	for (int round = 0; round < 4; round++) {
		second = import(&tokens[round % 2], WW_ACCESS_WRITE, NULL);
		memory_must_be_same(round % 2 ? span : first, second);
		ww_memory_unref(second);
	}
	pattern_verify(first, 1);
	ww_memory_unref(first);
	pattern_verify(span, 1 + 64);
	ww_memory_unref(span);
	/* And after all of it was let go of. */
	first = import(&tokens[1], WW_ACCESS_READ, NULL);
	pattern_verify(first, 1 + 64);
	ww_memory_unref(first);
}

#define THREADS 8
#define ROUNDS  20

static void *import_often(void *unused)
{
	(void)unused;
	for (int i = 0; i < ROUNDS; i++) {
		ww_memory *memory = import(&token, WW_ACCESS_WRITE, NULL);

		pattern_verify(memory, 1);
		ww_memory_unref(memory);
	}
	return NULL;
}

KIND_CASE(foreign_imported_by_threads_is_one, WW_CAP_FOREIGN)
{
	pthread_t threads[THREADS];

	start_owner(kind);
	for (int t = 0; t < THREADS; t++)
		MUST_EQUAL(0, pthread_create(&threads[t], NULL, import_often, NULL));
	for (int t = 0; t < THREADS; t++)
		MUST_EQUAL(0, pthread_join(threads[t], NULL));
}

static void *import_only(void *unused)
{
	(void)unused;
	for (int i = 0; i < 10 * ROUNDS; i++)
		ww_memory_unref(import(&token, WW_ACCESS_WRITE, NULL));
	return NULL;
}

/* One thread often opens what the other one is just closing, which the driver does not bear. */
KIND_CASE(foreign_opened_while_closed, WW_CAP_FOREIGN)
{
	pthread_t thread;

	start_owner(kind);
	MUST_EQUAL(0, pthread_create(&thread, NULL, import_only, NULL));
	import_only(NULL);
	MUST_EQUAL(0, pthread_join(thread, NULL));
}

/* The driver cuts small allocations from one block: each is found at its own place. */
SCENE_CASE(foreign_small_allocations, WW_CAP_FOREIGN)
{
	struct child owners[3];

	for (size_t i = 0; i < CHECK_COUNT(owners); i++) {
		ww_memory *memory;

		foreign_start(&owners[i]);
		agent_does(&owners[i], "alloc legacy 1000 9", "free");
		agent_must(&owners[i], WW_OK, "alloc legacy 3000 %zu", 10 + i);
		agent_must(&owners[i], WW_OK, "wrap 100 1000");
		token = foreign_token(&owners[i], "write");
		memory = import(&token, WW_ACCESS_WRITE, NULL);
		MUST_EQUAL(3000, memory_info(memory).total_bytes);
		MUST_EQUAL(1000, memory_info(memory).bytes);
		pattern_verify(memory, (uint32_t)(100 + 10 + i));
		ww_memory_unref(memory);
	}
}

/* ... also where one process has two side by side, opened at once and one after the other. */
SCENE_CASE(foreign_two_small_allocations, WW_CAP_FOREIGN)
{
	struct ww_token tokens[2];
	ww_memory *memories[2];

	foreign_start(&owner);
	for (int i = 0; i < 2; i++) {
		agent_must(&owner, WW_OK, "alloc legacy %d %d", FOREIGN_SMALL, i);
		agent_must(&owner, WW_OK, "wrap 0 0");
		tokens[i] = foreign_token(&owner, "write");
		agent_must(&owner, WW_OK, "swap");
	}
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 2; i++) {
			memories[i] = import(&tokens[i], WW_ACCESS_WRITE, NULL);
			MUST_EQUAL(FOREIGN_SMALL, memory_info(memories[i]).bytes);
			pattern_verify(memories[i], (uint32_t)(10 * round + i));
		}
		for (int i = 0; i < 2; i++)
			pattern_write(memories[i], (uint32_t)(10 * round + 10 + i));
		for (int i = 0; i < 2; i++) {
			agent_must(&owner, WW_OK, "check %d", 10 * round + 10 + i);
			agent_must(&owner, WW_OK, "swap");
			pattern_verify(memories[i], (uint32_t)(10 * round + 10 + i));
		}
		ww_memory_unref(memories[round % 2]);
		pattern_verify(memories[!(round % 2)], (uint32_t)(10 * round + 10 + !(round % 2)));
		ww_memory_unref(memories[!(round % 2)]);
	}
}

/* Two parts of one pool, one after the other and side by side. */
SCENE_CASE(foreign_many_of_one_pool, WW_CAP_FOREIGN)
{
	ww_memory *memory;
	struct child reader;

	foreign_owner(&owner, "pool", 0, 0);
	foreign_start(&reader);
	for (int i = 0; i < 5; i++) {
		token = foreign_token(&owner, "write");
		memory = import(&token, WW_ACCESS_WRITE, NULL);
		foreign_give(&reader, &token);
		agent_must(&reader, WW_OK, "verify 1");
		pattern_verify(memory, 1);
		agent_must(&reader, WW_OK, "drop");
		ww_memory_unref(memory);
	}
}

/* Also where it is mapped for writing: no token for reading becomes one for writing here. */
static void must_be_for_reading(ww_memory *memory)
{
	struct ww_token more;

	MUST_EQUAL(WW_ACCESS_READ, memory_info(memory).access);
	MUST_REFUSE(WW_ERR_ACCESS, "read-only",
		ww_memory_export(memory, scene.broker,
			WW_PARAMS(struct ww_export_params, .access = WW_ACCESS_WRITE), NULL,
			&more));
	MUST_REFUSE(WW_ERR_EXISTS, "alone may name it",
		ww_memory_put(memory, scene.broker, NULL,
			WW_PARAMS(struct ww_put_params, .life = WW_LIFE_OWNER,
				.state = WW_STATE_SHARED, ),
			0, NULL));
}

/* Mapped once, so with one access; but never with less than was asked for. */
SCENE_CASE(foreign_access, WW_CAP_FOREIGN)
{
	struct ww_token reading;
	struct ww_token writing;
	OWN(memory) ww_memory *memory;
	ww_memory *again;

	foreign_owner(&owner, "legacy", 0, 0);
	reading = foreign_token(&owner, "");
	writing = foreign_token(&owner, "write");
	MUST_REFUSE(WW_ERR_ACCESS, "reading", scene_import(&reading, WW_ACCESS_WRITE, &memory));
	memory = import(&writing, WW_ACCESS_WRITE, NULL);
	again = import(&reading, WW_ACCESS_READ, NULL);
	must_be_for_reading(again);
	MUST(ww_memory_pointer(memory) == ww_memory_pointer(again));
	ww_memory_unref(memory);
	pattern_verify(again, 1);
	ww_memory_unref(again);

	memory = import(&reading, WW_ACCESS_READ, NULL);
	MUST_EQUAL(WW_ACCESS_READ, memory_info(memory).access);
	MUST_REFUSE(WW_ERR_STATE, "release", scene_import(&writing, WW_ACCESS_WRITE, &again));
	pattern_verify(memory, 1);
}

KIND_CASE(foreign_on_two_gpus, WW_CAP_FOREIGN | NEEDS_PEER)
{
	ww_device *other = subject_open_other();
	ww_memory *here;
	ww_memory *there;

	start_owner(kind);
	here = import(&token, WW_ACCESS_WRITE, NULL);
	MUST_OK(ww_memory_import(other, scene.broker, &token,
		WW_PARAMS(struct ww_import_params, .access = WW_ACCESS_WRITE), NULL, &there, NULL));
	MUST(here != there);
	MUST_EQUAL(WW_ROUTE_LOCAL, memory_info(here).route);
	MUST_EQUAL(WW_ROUTE_PEER, memory_info(there).route);
	MUST_MATCH(memory_info(here).home_uuid, memory_info(there).home_uuid, WW_DEVICE_UUID_BYTES);
	pattern_write(there, 6);
	pattern_verify(here, 6);
	ww_memory_unref(here);
	pattern_verify(there, 6);
	ww_memory_unref(there);
	ww_device_unref(other);
}

/* Who imports sees one GPU only, and it is not the one that holds the bytes. */
KIND_CASE(foreign_of_hidden_gpu, WW_CAP_FOREIGN | NEEDS_PEER)
{
	char setting[SUBJECT_SETTING_BYTES];
	const char *const environment[] = {"WW_TEST_DEVICE=cuda:0", setting, NULL};
	const struct child_options options = {.environment = environment, .type = SOCK_SEQPACKET};
	ww_device *other = subject_open_other();
	struct child reader;

	subject_see_only(other, setting);
	ww_device_unref(other);
	start_owner(kind);
	child_start(&reader, "foreign", &options);
	foreign_give(&reader, &token);
	agent_must(&reader, WW_OK, "route %d", WW_ROUTE_PEER_HIDDEN);
	agent_does(&reader, "verify 1", "write 2");
	agent_must(&owner, WW_OK, "check 2");
}

/* --- containers --- */

static void begin_container(void)
{
	container_require(NULL);
	scene_begin();
	MUST_CALL(chmod(scene.daemon.folder, 0755));
}

/*
 * A process that has another number there opens it; fakecuda looks the owner up in /proc, where it
 * is not.
 */
CASE(foreign_into_container, WW_CAP_FOREIGN | NEEDS_ROOT)
{
	struct child inside;

	begin_container();
	foreign_owner(&owner, "pool", 0, 0);
	token = foreign_token(&owner, "write");
	container_start("foreign_container", &inside, NULL);
	foreign_give(&inside, &token);
	agent_does(&inside, "verify 1", "write 2");
	agent_must(&owner, WW_OK, "check 2");
	scene_end();
}

/* Both are process 1, and CUDA takes them for one: the error says so. A pool does not mind. */
CASE(foreign_between_equal_pids, WW_CAP_FOREIGN | NEEDS_ROOT)
{
	static const char *const several[] = {"legacy", "pool"};

	begin_container();
	for (size_t i = 0; i < CHECK_COUNT(several); i++) {
		struct child inside;

		container_start("foreign_container", &owner, NULL);
		agent_must(&owner, WW_OK, "alloc %s %d 1", several[i], FOREIGN_BYTES);
		agent_must(&owner, WW_OK, "wrap 0 0");
		token = foreign_token(&owner, "write");
		container_start("foreign_container", &inside, NULL);
		agent_send_token(&inside, &token);
		if (i == 0) {
			agent_refuses(&inside, WW_ERR_UNSUPPORTED, "same pid", "import write");
		} else {
			agent_does(&inside, "import write", "verify 1");
		}
		agent_end(&inside);
		agent_end(&owner);
	}
	scene_end();
}
