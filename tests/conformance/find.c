/* SPDX-License-Identifier: Apache-2.0 */
/*
 * find.c - ww_memory_find(): the memory that an address lies in
 *
 * Slices that another process's pool gave are looked for by the integration suite.
 */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "conformance/conformance.h"
#include "conformance/foreign.h"

/* The address of a byte of a memory leads to that memory, and to no other. */
static void must_find_byte(ww_memory *memory, uint8_t *start, uint64_t offset)
{
	uint64_t found_at = UINT64_MAX;
	OWN(memory) ww_memory *found = NULL;

	MUST_OK(ww_memory_find(start + offset, &found, &found_at));
	MUST(found == memory);
	MUST_EQUAL(offset, found_at);
}

static void must_find_at(ww_memory *memory, uint8_t *start)
{
	uint64_t bytes = memory_info(memory).bytes;

	must_find_byte(memory, start, 0);
	must_find_byte(memory, start, 1);
	must_find_byte(memory, start, bytes / 2);
	must_find_byte(memory, start, bytes - 1);
}

static void must_find(ww_memory *memory)
{
	must_find_at(memory, ww_memory_pointer(memory));
	if (ww_memory_host_pointer(memory))
		must_find_at(memory, ww_memory_host_pointer(memory));
}

static void must_not_find(const void *pointer)
{
	ww_memory *found = (ww_memory *)&pointer;
	uint64_t offset = 1;

	MUST_REFUSE(WW_ERR_NOT_FOUND, "lies in no memory",
		ww_memory_find(pointer, &found, &offset));
	MUST(!found);
	MUST_EQUAL(0, offset);
}

static uint8_t *end_of(ww_memory *memory)
{
	return (uint8_t *)ww_memory_pointer(memory) + memory_info(memory).bytes;
}

static void find_created(uint32_t kind)
{
	OWN(device) ww_device *device = subject_open();
	ww_memory *memories[3];

	for (size_t i = 0; i < CHECK_COUNT(memories); i++)
		memories[i] = memory_make(device, kind, (i + 1) * 2 * MIB);
	for (size_t i = 0; i < CHECK_COUNT(memories); i++)
		must_find(memories[i]);
	for (size_t i = 0; i < CHECK_COUNT(memories); i++) {
		uint8_t *pointer = ww_memory_pointer(memories[i]);

		ww_memory_unref(memories[i]);
		must_not_find(pointer);
	}
}

CASE_CALL(find_created_memory, 0, find_created(WW_MEMORY_VMM))
CASE_CALL(find_created_memory_host_kind, WW_CAP_HOST_MEMORY, find_created(WW_MEMORY_HOST))

/* Two mappings of the same bytes are two memories. */
DEVICE_CASE(find_imported_memory, WW_CAP_EXPORT)
{
	ww_memory *memory = memory_make(device, WW_MEMORY_VMM, 2 * MIB);
	OWN(memory) ww_memory *reader = memory_reimport(memory, device, WW_ACCESS_READ);

	must_find(memory);
	must_find(reader);
	ww_memory_unref(memory);
	must_find(reader);
}

DEVICE_CASE(find_holds_what_it_found, 0)
{
	ww_memory *memory = memory_make(device, WW_MEMORY_VMM, 2 * MIB);
	uint8_t *pointer = ww_memory_pointer(memory);
	ww_memory *found;

	pattern_write(memory, 5);
	MUST_OK(ww_memory_find(pointer, &found, NULL));
	ww_memory_unref(memory);
	pattern_verify(found, 5);
	must_find(found);
	ww_memory_unref(found);
	must_not_find(pointer);
}

DEVICE_CASE(find_no_other_addresses, 0)
{
	OWN(memory) ww_memory *memory = memory_make(device, WW_MEMORY_VMM, 2 * MIB);
	OWN(heap) void *block = malloc(4 * MIB);

	must_not_find(block);
	must_not_find(&block);
	must_not_find((void *)(uintptr_t)1);
	must_not_find((void *)UINTPTR_MAX);
	must_not_find(end_of(memory));
	must_find(memory);
}

CASE(find_misuse, NEEDS_MISUSE_STATUS)
{
	ww_memory *found;
	uint64_t offset;

	MUST_REFUSE(WW_ERR_INVALID, "NULL", ww_memory_find(NULL, &found, &offset));
	MUST_REFUSE(WW_ERR_INVALID, "NULL", ww_memory_find(&found, NULL, &offset));
}

/* --- parts --- */

/* The smallest part that has the byte; where there is none, the whole. */
DEVICE_CASE(find_parts_of_memory, 0)
{
	ww_memory *memory = memory_make(device, WW_MEMORY_VMM, 2 * MIB);
	uint8_t *pointer = ww_memory_pointer(memory);
	ww_memory *large;
	ww_memory *small;

	MUST_OK(ww_memory_wrap(device, pointer + 1000, 5000, NULL, &large));
	MUST_OK(ww_memory_wrap(device, pointer + 2000, 1000, NULL, &small));
	must_find_byte(memory, pointer, 999);
	must_find_byte(large, pointer + 1000, 0);
	must_find_byte(large, pointer + 1000, 999);
	must_find(small);
	must_find_byte(large, pointer + 1000, 2000);
	must_find_byte(large, pointer + 1000, 4999);
	must_find_byte(memory, pointer, 6000);
	ww_memory_unref(small);
	must_find_byte(large, pointer + 1000, 1500);
	ww_memory_unref(large);
	must_find(memory);
	ww_memory_unref(memory);
	must_not_find(pointer);
}

/* Of an allocation of others only what was wrapped is a memory. */
CASE(find_wrapped_memory, WW_CAP_FOREIGN)
{
	for (size_t i = 0; i < FOREIGN_KINDS; i++) {
		struct allocation allocation;
		ww_device *device = foreign_begin(&allocation, foreign_shareable[i]);
		ww_memory *large = foreign_wrap(device, &allocation, FOREIGN_OFFSET, FOREIGN_SPAN);
		ww_memory *small = foreign_wrap(device, &allocation, FOREIGN_OFFSET + 100, 100);

		must_find(small);
		must_find_byte(large, ww_memory_pointer(large), 0);
		must_find_byte(large, ww_memory_pointer(large), 200);
		must_find_byte(large, ww_memory_pointer(large), FOREIGN_SPAN - 1);
		must_not_find(allocation_at(&allocation, 0));
		must_not_find(allocation_at(&allocation, FOREIGN_OFFSET + FOREIGN_SPAN));
		ww_memory_unref(small);
		must_find(large);
		ww_memory_unref(large);
		must_not_find(allocation_at(&allocation, FOREIGN_OFFSET));
		foreign_end(device, &allocation);
	}
}

/* The owner has freed it too early: what may be there now is none of ours. */
CASE(find_no_freed_memory, WW_CAP_FOREIGN)
{
	struct allocation allocation;
	OWN(device) ww_device *device = foreign_begin(&allocation, ALLOCATION_LEGACY);
	ww_memory *memory = foreign_wrap(device, &allocation, 0, 0);
	void *pointer = ww_memory_pointer(memory);

	must_find(memory);
	allocation_free(&allocation);
	must_not_find(pointer);
	ww_memory_unref(memory);
	allocation_leave();
}

/* --- pools --- */

static void find_slices_of(uint32_t kind)
{
	OWN(device) ww_device *device = subject_open();
	ww_memory *slices[40];
	ww_pool *pools[2];
	uint8_t *freed;

	for (size_t i = 0; i < CHECK_COUNT(pools); i++)
		MUST_OK(ww_pool_create(device,
			WW_PARAMS(struct ww_pool_params, .kind = kind, .chunk_bytes = 2 * MIB),
			&pools[i]));
	for (size_t i = 0; i < CHECK_COUNT(slices); i++)
		MUST_OK(ww_pool_alloc(pools[i % 2], 100 * (i + 1) * (i + 1), 0, 0, NULL,
			&slices[i]));
	for (size_t i = 0; i < CHECK_COUNT(slices); i++)
		must_find(slices[i]);
	freed = ww_memory_pointer(slices[1]);
	slices[1] = ww_memory_unref(slices[1]);
	must_not_find(freed);
	for (size_t i = 0; i < CHECK_COUNT(slices); i++) {
		if (slices[i])
			must_find(slices[i]);
		ww_memory_unref(slices[i]);
	}
	must_not_find(freed); /* the chunk is still there */
	for (size_t i = 0; i < CHECK_COUNT(pools); i++)
		ww_pool_unref(pools[i]);
	must_not_find(freed);
}

CASE_CALL(find_slices, WW_CAP_EXPORT, find_slices_of(WW_MEMORY_VMM))
CASE_CALL(find_slices_host_kind, WW_CAP_HOST_MEMORY, find_slices_of(WW_MEMORY_HOST))

/* --- while memory ends --- */

struct search {
	void *_Atomic pointer;
	_Atomic bool is_over;
	_Atomic uint32_t found_count;
	pthread_t thread;
};

/* What is found is whole, and contains the address. */
static void *look_for(void *context)
{
	struct search *search = context;

	while (!search->is_over) {
		uint8_t *pointer = search->pointer;
		ww_memory *found = NULL;
		uint64_t offset = 0;
		ww_status status = ww_memory_find(pointer, &found, &offset);

		if (status == WW_OK) {
			MUST((uint8_t *)ww_memory_pointer(found) + offset == pointer);
			MUST(offset < memory_info(found).bytes);
			search->found_count++;
		} else {
			MUST_EQUAL(WW_ERR_NOT_FOUND, status);
		}
		ww_memory_unref(found);
	}
	return NULL;
}

static ww_memory *make_slice(ww_pool *pool)
{
	ww_memory *slice;

	MUST_OK(ww_pool_alloc(pool, 4096, 0, 0, NULL, &slice));
	return slice;
}

static ww_memory *make_part(ww_memory *memory)
{
	ww_memory *part;

	MUST_OK(ww_memory_wrap(memory_info(memory).device, ww_memory_pointer(memory), 4096, NULL,
		&part));
	return part;
}

DEVICE_CASE(find_while_memory_ends, WW_CAP_EXPORT)
{
	static struct search search;
	OWN(pool) ww_pool *pool;

	MUST_OK(ww_pool_create(device, NULL, &pool));
	search.pointer = &search;
	search.is_over = false;
	search.found_count = 0;
	MUST(!pthread_create(&search.thread, NULL, look_for, &search));
	for (uint32_t i = 0; i < 300 || search.found_count < 50; i++) {
		ww_memory *made[3];

		made[0] = memory_make(device, WW_MEMORY_VMM, 4096);
		made[1] = make_part(made[0]);
		made[2] = make_slice(pool);
		search.pointer = ww_memory_pointer(made[i % 3]);
		for (size_t j = 0; j < CHECK_COUNT(made); j++)
			ww_memory_unref(made[j]);
	}
	search.is_over = true;
	pthread_join(search.thread, NULL);
}
