/* SPDX-License-Identifier: Apache-2.0 */
/*
 * span.c - what an import gives: exactly the span that was named, once for each span and access, or
 * a mapping of its own
 *
 * One process exports and imports; tests/integration does the same between real ones.
 */
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "conformance/conformance.h"
#include "conformance/foreign.h"
#include "support/broker_case.h"
#include "support/leak_count.h"

#define OFFSET 4321
#define SPAN   1000
#define SEED   7

#define EXPORT(...) WW_PARAMS(struct ww_export_params, __VA_ARGS__)
#define IMPORT(...) WW_PARAMS(struct ww_import_params, __VA_ARGS__)

/* Without the kernel's word memory of a GPU is mapped once more by each descriptor. */
static void need_comparison(void)
{
	if (subject_is_cuda() && !kernel_compares_descriptors())
		check_skip("this kernel does not tell whether two descriptors are one");
}

static struct ww_token span_token(ww_memory *memory, uint64_t offset, uint64_t bytes)
{
	struct ww_token token;

	MUST_OK(ww_memory_export(memory, scene.broker,
		EXPORT(.access = WW_ACCESS_WRITE, .offset = offset, .bytes = bytes,
			.escrow_ns = WW_ESCROW_NONE),
		NULL, &token));
	return token;
}

static ww_memory *span_import(const struct ww_token *token, uint32_t access, uint64_t flags)
{
	ww_memory *memory;

	MUST_OK(ww_memory_import(scene.device, scene.broker, token,
		IMPORT(.access = access, .flags = flags), NULL, &memory, NULL));
	return memory;
}

/* The bytes of @whole, pattern SEED, from OFFSET on. */
static void span_must_be(ww_memory *span, ww_memory *whole, uint32_t access)
{
	struct ww_memory_info info = memory_info(span);
	struct ww_memory_info all = memory_info(whole);

	MUST_EQUAL(SPAN, info.bytes);
	MUST_EQUAL(OFFSET, info.offset);
	MUST_EQUAL(all.total_bytes, info.total_bytes);
	MUST_EQUAL(access, info.access);
	MUST(info.pointer == ww_memory_pointer(span));
	MUST(info.host_pointer == ww_memory_host_pointer(span));
	MUST_MATCH(all.object_id, info.object_id, sizeof(info.object_id));
	pattern_verify(span, SEED + OFFSET);
}

SCENE_CASE(span_import_is_exact, WW_CAP_EXPORT)
{
	struct ww_object_info info = WW_INIT(struct ww_object_info);
	OWN(memory) ww_memory *span;
	OWN(memory) ww_memory *memory = scene_make(2 * MIB, SEED);
	struct ww_memory_info all = memory_info(memory);
	struct ww_token token = span_token(memory, OFFSET, SPAN);

	for (int asks_for_info = 0; asks_for_info < 2; asks_for_info++) {
		MUST_OK(ww_memory_import(scene.device, scene.broker, &token,
			IMPORT(.access = WW_ACCESS_WRITE), NULL, &span,
			asks_for_info ? &info : NULL));
		span_must_be(span, memory, WW_ACCESS_WRITE);
		MUST(ww_memory_pointer(span) == (char *)all.pointer + OFFSET);
		ww_memory_unref(span);
	}
	MUST_EQUAL(OFFSET, info.offset);
	MUST_EQUAL(SPAN, info.span_bytes);
	MUST_EQUAL(all.bytes, info.bytes);
	/* It keeps the memory, and its tokens name what they say of it. */
	span = span_import(&token, WW_ACCESS_WRITE, 0);
	ww_memory_unref(memory);
	span_must_be(span, span, WW_ACCESS_WRITE);
	token = span_token(span, 0, 0);
	memory = span_import(&token, WW_ACCESS_WRITE, 0);
	MUST(memory == span);
}

SCENE_CASE(span_of_name_is_exact, WW_CAP_EXPORT)
{
	struct ww_object_info info = WW_INIT(struct ww_object_info);
	OWN(memory) ww_memory *part;
	ww_memory *got[2];
	OWN(memory) ww_memory *memory = scene_make(2 * MIB, SEED);

	MUST_OK(ww_memory_wrap(scene.device, (char *)ww_memory_pointer(memory) + OFFSET, SPAN, NULL,
		&part));
	scene_put(part, "x", 0, WW_LIFE_HELD, WW_STATE_SHARED);
	for (int i = 0; i < 2; i++)
		MUST_OK(ww_memory_get(scene.device, scene.broker, "x", NULL, 0, NULL, &got[i],
			i ? &info : NULL));
	span_must_be(got[0], memory, WW_ACCESS_READ);
	MUST_EQUAL(OFFSET, info.offset);
	MUST_EQUAL(SPAN, info.span_bytes);
	memory_must_be_same(got[0], got[1]);
	for (int i = 0; i < 2; i++)
		ww_memory_unref(got[i]);
	got[0] = scene_get("x", WW_ACCESS_WRITE);
	memory_must_be_same(part, got[0]);
	ww_memory_unref(got[0]);
	MUST_OK(ww_broker_remove(scene.broker, "x"));
}

/* By token, by descriptor and over a socket. */
SCENE_CASE(span_imported_twice_is_one, WW_CAP_EXPORT)
{
	struct ww_memory_description description;
	struct ww_token token;
	OWN(memory) ww_memory *memory;
	ww_memory *spans[3];
	int sockets[2];
	int fd;

	need_comparison();
	memory = scene_make(2 * MIB, SEED);
	token = span_token(memory, OFFSET, SPAN);
	spans[0] = span_import(&token, WW_ACCESS_READ, 0);
	MUST_OK(ww_memory_export_fd(spans[0], WW_ACCESS_READ, &fd, &description));
	MUST_OK(ww_memory_import_fd(scene.device, fd, &description, NULL, &spans[1]));
	close(fd);
	MUST_CALL(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets));
	MUST_OK(ww_memory_send(spans[0], WW_ACCESS_READ, sockets[0], 0, NULL));
	MUST_OK(ww_memory_receive(scene.device, sockets[1], NULL, 0, NULL, &spans[2]));
	close(sockets[0]);
	close(sockets[1]);
	for (int i = 1; i < 3; i++)
		MUST(spans[i] == spans[0]);
	for (int i = 0; i < 3; i++) {
		span_must_be(spans[0], memory, WW_ACCESS_READ);
		ww_memory_unref(spans[0]);
	}
}

SCENE_CASE(span_of_other_place_or_access_is_another, WW_CAP_EXPORT)
{
	static const struct {
		uint64_t offset;
		uint64_t bytes;
		uint32_t access;
	} others[] = {
		{OFFSET, SPAN, WW_ACCESS_READ},
		{OFFSET, SPAN + 1, WW_ACCESS_WRITE},
		{OFFSET + 1, SPAN, WW_ACCESS_WRITE},
		{0, OFFSET + SPAN, WW_ACCESS_WRITE},
	};
	struct ww_token token;
	ww_memory *memory;
	ww_memory *span;

	memory = scene_make(2 * MIB, SEED);
	token = span_token(memory, OFFSET, SPAN);
	span = span_import(&token, WW_ACCESS_WRITE, 0);
	MUST(span != memory);
	for (size_t i = 0; i < CHECK_COUNT(others); i++) {
		ww_memory *other;

		token = span_token(memory, others[i].offset, others[i].bytes);
		other = span_import(&token, others[i].access, 0);
		MUST(other != span && other != memory);
		MUST_EQUAL(others[i].bytes, memory_info(other).bytes);
		pattern_verify(other, SEED + (uint32_t)others[i].offset);
		ww_memory_unref(other);
	}
	token = span_token(memory, 0, 0);
	memory_must_be_same(memory, span_import(&token, WW_ACCESS_WRITE, 0));
	ww_memory_unref(memory);
	span_must_be(span, memory, WW_ACCESS_WRITE);
	ww_memory_unref(span);
	ww_memory_unref(memory);
}

static void count_call(void *context)
{
	(*(int *)context)++;
}

/* What is wrapped counts its imports; its owner hears of the last one. */
static void wrapped_is_counted(ww_device *device, void *pointer)
{
	int calls = 0;
	struct ww_token token;
	ww_memory *wrapped;
	ww_memory *span;

	MUST_OK(ww_memory_wrap(device, pointer, SPAN,
		WW_PARAMS(struct ww_wrap_params, .release = count_call, .context = &calls),
		&wrapped));
	token = span_token(wrapped, 0, 0);
	span = span_import(&token, WW_ACCESS_WRITE, 0);
	MUST(span == wrapped);
	MUST(span_import(&token, WW_ACCESS_WRITE, 0) == wrapped);
	ww_memory_unref(wrapped);
	ww_memory_unref(wrapped);
	MUST_EQUAL(0, calls);
	MUST(ww_memory_pointer(span) == pointer);
	ww_memory_unref(span);
	MUST_EQUAL(1, calls);
}

SCENE_CASE(span_equal_to_wrapped_is_it, WW_CAP_EXPORT)
{
	OWN(memory) ww_memory *memory = scene_make(2 * MIB, SEED);

	wrapped_is_counted(scene.device, (char *)ww_memory_pointer(memory) + OFFSET);
}

/* Of all of a memory, which an import of the same bytes would find otherwise. */
SCENE_CASE(span_equal_to_private_is_another, WW_CAP_EXPORT)
{
	struct ww_wrap_params params = {.struct_size = sizeof(params), .release = count_call};
	ww_memory *memory, *wrapped, *span;
	struct ww_token token;
	int calls = 0;

	memory = scene_make(2 * MIB, SEED);
	params.flags = WW_WRAP_READ | WW_WRAP_PRIVATE;
	params.context = &calls;
	MUST_OK(ww_memory_wrap(scene.device, ww_memory_pointer(memory), 0, &params, &wrapped));
	MUST_EQUAL(WW_ACCESS_READ, memory_info(wrapped).access);
	MUST_EQUAL(WW_ACCESS_WRITE, memory_info(memory).access);
	MUST_REFUSE(WW_ERR_UNSUPPORTED, "this process alone",
		ww_memory_export(wrapped, scene.broker, NULL, NULL, &token));
	token = span_token(memory, 0, 0);
	span = span_import(&token, WW_ACCESS_READ, 0);
	MUST(span != wrapped);
	ww_memory_unref(wrapped);
	MUST_EQUAL(1, calls);
	ww_memory_unref(span);
	ww_memory_unref(memory);
}

CASE(span_equal_to_wrapped_allocation_is_it, WW_CAP_FOREIGN)
{
	for (size_t i = 0; i < FOREIGN_KINDS; i++) {
		struct allocation allocation;
		ww_device *device = foreign_begin(&allocation, foreign_shareable[i]);

		if (foreign_shareable[i] == ALLOCATION_VMM)
			need_comparison();
		scene_begin();
		wrapped_is_counted(device, allocation_at(&allocation, OFFSET));
		scene_end();
		foreign_end(device, &allocation);
	}
}

/*
 * Whoever wraps all of it and whoever imports all of it have one memory, too, and no other gets the
 * allocation itself.
 */
CASE(span_of_all_of_wrapped_is_it, WW_CAP_FOREIGN)
{
	struct allocation allocation;
	ww_device *device = foreign_begin(&allocation, ALLOCATION_LEGACY);
	struct ww_token token;
	ww_memory *memories[3];

	scene_begin();
	memories[0] = foreign_wrap(device, &allocation, 0, 0);
	token = span_token(memories[0], 0, 0);
	memories[1] = span_import(&token, WW_ACCESS_WRITE, 0);
	MUST(memories[1] == memories[0]);
	/* The first one is found as long as it lives, though its maker let go of it. */
	ww_memory_unref(memories[0]);
	memories[0] = foreign_wrap(device, &allocation, 0, 0);
	MUST(memories[0] != memories[1]);
	memories[2] = span_import(&token, WW_ACCESS_WRITE, 0);
	MUST(memories[2] == memories[1]);
	for (int i = 0; i < 3; i++)
		ww_memory_unref(memories[i]);
	scene_end();
	foreign_end(device, &allocation);
}

/* --- mappings of their own --- */

static void must_be_apart(ww_memory *a, ww_memory *b)
{
	struct ww_memory_info info = memory_info(a);
	struct ww_memory_info other = memory_info(b);

	MUST(a != b);
	MUST(info.pointer != other.pointer);
	MUST_EQUAL(info.bytes, other.bytes);
	MUST_EQUAL(info.offset, other.offset);
	MUST_EQUAL(info.total_bytes, other.total_bytes);
	MUST_MATCH(info.object_id, other.object_id, sizeof(info.object_id));
}

static void own_mapping(uint32_t kind, uint64_t offset, uint64_t bytes)
{
	ww_memory *memory = memory_make(scene.device, kind, 2 * MIB);
	ww_memory *memories[4];
	struct ww_token token;

	pattern_write(memory, SEED);
	token = span_token(memory, offset, bytes);
	memories[0] = span_import(&token, WW_ACCESS_WRITE, 0);
	memories[1] = span_import(&token, WW_ACCESS_WRITE, WW_IMPORT_OWN_MAPPING);
	memories[2] = span_import(&token, WW_ACCESS_WRITE, WW_IMPORT_OWN_MAPPING);
	memories[3] = span_import(&token, WW_ACCESS_WRITE, 0);
	MUST(memories[3] == memories[0]);
	must_be_apart(memories[0], memories[1]);
	must_be_apart(memories[0], memories[2]);
	must_be_apart(memories[1], memories[2]);
	pattern_verify(memories[1], SEED + (uint32_t)offset);
	pattern_write(memories[1], 3);
	for (int i = 0; i < 3; i++)
		pattern_verify(memories[i], 3);
	/*
	 * Each ends for itself, and the last one keeps the bytes. Then, too, no other import finds
	 * it.
	 */
	ww_memory_unref(memory);
	for (int i = 0; i < 4; i += i == 1 ? 2 : 1)
		ww_memory_unref(memories[i]);
	pattern_verify(memories[2], 3);
	memory = span_import(&token, WW_ACCESS_WRITE, 0);
	must_be_apart(memory, memories[2]);
	pattern_verify(memory, 3);
	ww_memory_unref(memory);
	ww_memory_unref(memories[2]);
}

SCENE_CASE(span_with_own_mapping, WW_CAP_EXPORT)
{
	own_mapping(WW_MEMORY_VMM, 0, 0);
	own_mapping(WW_MEMORY_VMM, OFFSET, SPAN);
}

SCENE_CASE(span_with_own_mapping_host_kind, WW_CAP_HOST_MEMORY)
{
	own_mapping(WW_MEMORY_HOST, 0, 0);
	own_mapping(WW_MEMORY_HOST, OFFSET, SPAN);
}

SCENE_CASE(span_with_own_mapping_by_name_and_descriptor, WW_CAP_EXPORT)
{
	struct ww_memory_description description;
	ww_memory *spans[3];
	OWN(memory) ww_memory *part;
	int fd;
	OWN(memory) ww_memory *memory = scene_make(2 * MIB, SEED);

	MUST_OK(ww_memory_wrap(scene.device, (char *)ww_memory_pointer(memory) + OFFSET, SPAN, NULL,
		&part));
	scene_put(part, "x", 0, WW_LIFE_HELD, WW_STATE_SHARED);
	MUST_OK(ww_memory_get(scene.device, scene.broker, "x", NULL, 0, NULL, &spans[0], NULL));
	MUST_OK(ww_memory_get(scene.device, scene.broker, "x",
		WW_PARAMS(struct ww_get_params, .flags = WW_IMPORT_OWN_MAPPING), 0, NULL, &spans[1],
		NULL));
	MUST_OK(ww_memory_export_fd(part, WW_ACCESS_READ, &fd, &description));
	MUST_OK(ww_memory_import_fd(scene.device, fd, &description,
		IMPORT(.flags = WW_IMPORT_OWN_MAPPING), &spans[2]));
	close(fd);
	must_be_apart(spans[0], spans[1]);
	must_be_apart(spans[0], spans[2]);
	must_be_apart(spans[1], spans[2]);
	for (int i = 0; i < 3; i++) {
		span_must_be(spans[i], memory, WW_ACCESS_READ);
		ww_memory_unref(spans[i]);
	}
	MUST_OK(ww_broker_remove(scene.broker, "x"));
}

static void refuse_own_mapping(ww_device *device, ww_memory *memory)
{
	struct ww_token token = span_token(memory, 0, 0);
	ww_memory *again = (ww_memory *)&token;

	MUST_REFUSE(WW_ERR_UNSUPPORTED, "mapped once",
		ww_memory_import(device, scene.broker, &token,
			IMPORT(.access = WW_ACCESS_WRITE, .flags = WW_IMPORT_OWN_MAPPING), NULL,
			&again, NULL));
	MUST(!again);
}

SCENE_CASE(span_with_own_mapping_of_slice_refused, WW_CAP_EXPORT)
{
	OWN(memory) ww_memory *slice;
	OWN(pool) ww_pool *pool;

	MUST_OK(ww_pool_create(scene.device, NULL, &pool));
	MUST_OK(ww_pool_alloc(pool, SPAN, 0, 0, NULL, &slice));
	refuse_own_mapping(scene.device, slice);
}

/*
 * The driver maps memory of others once. What cuMemCreate() made it maps as often as it is asked.
 */
CASE(span_with_own_mapping_of_allocation, WW_CAP_FOREIGN)
{
	for (size_t i = 0; i < FOREIGN_KINDS; i++) {
		struct allocation allocation;
		ww_device *device = foreign_begin(&allocation, foreign_shareable[i]);
		ww_memory *memory = foreign_wrap(device, &allocation, OFFSET, SPAN);

		scene_begin();
		if (foreign_kinds[i] == WW_MEMORY_VMM) {
			struct ww_token token = span_token(memory, 0, 0);
			ww_memory *again = span_import(&token, WW_ACCESS_WRITE,
				WW_IMPORT_OWN_MAPPING);

			must_be_apart(memory, again);
			pattern_verify(again, SEED + OFFSET);
			ww_memory_unref(again);
		} else {
			refuse_own_mapping(device, memory);
		}
		ww_memory_unref(memory);
		scene_end();
		foreign_end(device, &allocation);
	}
}

DEVICE_CASE(span_with_own_mapping_of_handle_refused, 0)
{
	const struct ww_memory_handle handle = {{1, 2, 3}};
	ww_memory *memory;

	MUST_REFUSE(WW_ERR_UNSUPPORTED, "mapped once",
		ww_memory_handle_open(device, &handle, IMPORT(.flags = WW_IMPORT_OWN_MAPPING),
			&memory));
	MUST(!memory);
}

/* --- threads --- */

/* Rounds are of each thread. */
#define THREADS        4
#define VIEW_ROUNDS    50000 /* the last unref of one seldom meets the lookup of another */
#define MAPPING_ROUNDS 2500
#define SPANS          2

static struct {
	ww_device *device;
	int fd;
	struct ww_memory_description descriptions[SPANS];
	uint64_t flags;
	uintptr_t rounds;
} shared;

/*
 * The last unref of one thread meets the lookup of another. Neighbours read the same span at first.
 */
static void *import_spans(void *context)
{
	uintptr_t self = (uintptr_t)context;

	for (uintptr_t i = 0; i < shared.rounds; i++) {
		ww_memory *memory;

		MUST_OK(ww_memory_import_fd(shared.device, shared.fd,
			&shared.descriptions[(self / 2 + i) % SPANS], IMPORT(.flags = shared.flags),
			&memory));
		MUST_EQUAL(SPAN, memory_info(memory).bytes);
		MUST_EQUAL(OFFSET + (self / 2 + i) % SPANS, memory_info(memory).offset);
		ww_memory_unref(memory);
	}
	return NULL;
}

static void import_by_threads(uint64_t flags, uintptr_t rounds)
{
	struct census before;
	pthread_t threads[THREADS];

	shared.flags = flags;
	shared.rounds = rounds;
	if (subject_is_countable())
		census_take(&before);
	for (uintptr_t i = 0; i < THREADS; i++)
		MUST(!pthread_create(&threads[i], NULL, import_spans, (void *)i));
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	if (subject_is_countable())
		census_must_match(&before);
}

/*
 * While another import keeps the memory mapped only views come and go; then mappings do, of one
 * span and of their own.
 */
CASE(span_imported_by_threads, WW_CAP_EXPORT)
{
	struct ww_memory_description description;
	ww_memory *memory;
	ww_memory *reader;

	need_comparison();
	shared.device = subject_open();
	memory = memory_make(shared.device, WW_MEMORY_VMM, 2 * MIB);
	pattern_write(memory, SEED);
	MUST_OK(ww_memory_export_fd(memory, WW_ACCESS_READ, &shared.fd, &description));
	for (uint64_t i = 0; i < SPANS; i++) {
		ww_memory *part;
		int fd;

		MUST_OK(ww_memory_wrap(shared.device,
			(char *)ww_memory_pointer(memory) + OFFSET + i, SPAN, NULL, &part));
		MUST_OK(ww_memory_export_fd(part, WW_ACCESS_READ, &fd, &shared.descriptions[i]));
		close(fd);
		ww_memory_unref(part);
	}
	MUST_OK(ww_memory_import_fd(shared.device, shared.fd, &description, NULL, &reader));
	import_by_threads(0, VIEW_ROUNDS);
	ww_memory_unref(reader);
	import_by_threads(0, MAPPING_ROUNDS);
	import_by_threads(WW_IMPORT_OWN_MAPPING, MAPPING_ROUNDS);
	close(shared.fd);
	pattern_verify(memory, SEED);
	ww_memory_unref(memory);
	ww_device_unref(shared.device);
}
