/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool.c - pools and their slices, in the process that owns them
 *
 * What several processes do with slices is tested by the integration suite; here tokens come home.
 */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "conformance/conformance.h"
#include "support/scene.h"
#include "support/timeline.h"

#define CHUNK (2 * MIB)

static ww_pool *make_pool(ww_device *device, uint32_t kind, uint64_t bytes_max, uint32_t slices_max)
{
	const struct ww_pool_params params = {
		.size = sizeof(params),
		.kind = kind,
		.bytes_max = bytes_max,
		.chunk_bytes = CHUNK,
		.slices_max = slices_max,
	};
	ww_pool *pool;

	MUST_OK(ww_pool_create(device, &params, &pool));
	return pool;
}

static struct ww_pool_info info_of(ww_pool *pool)
{
	struct ww_pool_info info = {.size = sizeof(info)};

	MUST_OK(ww_pool_info_get(pool, &info));
	return info;
}

static ww_memory *cut(ww_pool *pool, uint64_t bytes)
{
	ww_memory *slice;

	MUST_OK(ww_pool_alloc(pool, bytes, 0, &slice));
	return slice;
}

static void slices_are_apart(uint32_t kind)
{
	ww_device *device = subject_open();
	ww_pool *pool = make_pool(device, kind, 0, 0);
	ww_memory *slices[40];

	for (uint32_t i = 0; i < CHECK_COUNT(slices); i++) {
		slices[i] = cut(pool, 1000 + i * 4096);
		MUST_EQUAL(0, (uintptr_t)ww_memory_pointer(slices[i]) % WW_POOL_ALIGNMENT);
		pattern_write(slices[i], i);
	}
	for (uint32_t i = 0; i < CHECK_COUNT(slices); i++) {
		pattern_verify(slices[i], i);
		ww_memory_unref(slices[i]);
	}
	MUST_EQUAL(0, info_of(pool).bytes_used);
	ww_pool_unref(pool);
	ww_device_unref(device);
}

void pool_slices_are_apart(void)
{
	slices_are_apart(WW_MEMORY_VMM);
}

void pool_slices_are_apart_host_kind(void)
{
	slices_are_apart(WW_MEMORY_HOST);
}

void pool_slice_is_a_memory(void)
{
	ww_device *device = subject_open();
	ww_pool *pool = make_pool(device, 0, 0, 0);
	ww_memory *first = cut(pool, 4096);
	ww_memory *second = cut(pool, 100);
	struct ww_memory_info a = memory_info(first);
	struct ww_memory_info b = memory_info(second);

	MUST_EQUAL(WW_MEMORY_VMM, b.kind);
	MUST_EQUAL(WW_ACCESS_WRITE, b.access);
	MUST_EQUAL(WW_MEMORY_IS_SLICE, b.flags);
	MUST_EQUAL(WW_POOL_ALIGNMENT, b.bytes);
	MUST_EQUAL(CHUNK, b.total_bytes);
	MUST(b.device == device);
	MUST(b.pointer == ww_memory_pointer(second));
	MUST_EQUAL((char *)a.pointer - (char *)b.pointer, (int64_t)(a.offset - b.offset));
	MUST_MATCH(a.object_id, b.object_id, sizeof(a.object_id)); /* of the chunk */
	ww_memory_unref(first);
	ww_memory_unref(second);
	ww_pool_unref(pool);
	ww_device_unref(device);
}

void pool_aligns(void)
{
	ww_device *device = subject_open();
	ww_pool *pool = make_pool(device, 0, 0, 0);
	ww_memory *slices[14];
	size_t count = 0;

	for (uint64_t alignment = 1; alignment <= CHUNK / 256; alignment *= 2) {
		ww_memory *odd = cut(pool, 256);

		MUST_OK(ww_pool_alloc(pool, 300, alignment, &slices[count]));
		MUST_EQUAL(0, memory_info(slices[count++]).offset % alignment);
		ww_memory_unref(odd);
	}
	while (count > 0)
		ww_memory_unref(slices[--count]);
	ww_pool_unref(pool);
	ww_device_unref(device);
}

void pool_bytes_come_back(void)
{
	ww_device *device = subject_open();
	ww_pool *pool = make_pool(device, 0, 2 * CHUNK, 16);
	struct ww_pool_info info;
	uint64_t bytes;

	for (int i = 0; i < 1000; i++) {
		ww_memory *a = cut(pool, CHUNK / 2);
		ww_memory *b = cut(pool, CHUNK / 4 + (uint64_t)i * 256);

		ww_memory_unref(i % 2 ? a : b);
		ww_memory_unref(i % 2 ? b : a);
	}
	info = info_of(pool);
	MUST_EQUAL(2000, info.allocations);
	MUST_EQUAL(info.bytes_reserved, info.bytes_free);
	MUST_EQUAL(CHUNK, info.bytes_largest);
	MUST_OK(ww_pool_trim(pool, 0, &bytes));
	MUST_EQUAL(info.bytes_reserved, bytes);
	MUST_EQUAL(0, info_of(pool).chunk_count);
	MUST_OK(ww_pool_trim(pool, 0, NULL));
	ww_memory_unref(cut(pool, 1));
	MUST_EQUAL(1, info_of(pool).chunk_count);
	ww_pool_unref(pool);
	ww_device_unref(device);
}

void pool_trim_keeps_what_is_used(void)
{
	ww_device *device = subject_open();
	ww_pool *pool = make_pool(device, 0, 0, 0);
	ww_memory *slices[3];
	uint64_t bytes;

	for (int i = 0; i < 3; i++)
		slices[i] = cut(pool, CHUNK);
	pattern_write(slices[1], 1);
	ww_memory_unref(slices[0]);
	ww_memory_unref(slices[2]);
	MUST_OK(ww_pool_trim(pool, 2 * CHUNK, &bytes));
	MUST_EQUAL(CHUNK, bytes);
	MUST_OK(ww_pool_trim(pool, 0, &bytes));
	MUST_EQUAL(CHUNK, bytes);
	pattern_verify(slices[1], 1);
	ww_memory_unref(slices[1]);
	ww_pool_unref(pool);
	ww_device_unref(device);
}

void pool_large_slice_has_its_chunk(void)
{
	ww_device *device = subject_open();
	ww_pool *pool = make_pool(device, 0, 8 * CHUNK, 0);
	ww_memory *large = cut(pool, 3 * CHUNK - 100);

	MUST_EQUAL(3 * CHUNK, memory_info(large).total_bytes);
	MUST_EQUAL(3 * CHUNK, info_of(pool).bytes_reserved);
	ww_memory_unref(large);
	ww_pool_unref(pool);
	ww_device_unref(device);
}

/* A chunk without slices gives way to one that is needed. */
void pool_empty_chunks_give_way(void)
{
	ww_device *device = subject_open();
	ww_pool *pool = make_pool(device, 0, 4 * CHUNK, 0);
	ww_memory *slices[4];
	ww_memory *large;

	for (int i = 0; i < 4; i++)
		slices[i] = cut(pool, CHUNK);
	for (int i = 0; i < 3; i++)
		ww_memory_unref(slices[i]);
	large = cut(pool, 3 * CHUNK);
	MUST_EQUAL(4 * CHUNK, info_of(pool).bytes_reserved);
	ww_memory_unref(large);
	ww_memory_unref(slices[3]);
	ww_pool_unref(pool);
	ww_device_unref(device);
}

void pool_full(void)
{
	ww_device *device = subject_open();
	ww_pool *pool = make_pool(device, 0, CHUNK, 0);
	ww_memory *slices[8];
	ww_memory *none;

	for (int i = 0; i < 8; i++)
		slices[i] = cut(pool, CHUNK / 8);
	MUST_REFUSE(WW_ERR_LIMIT, "used here", ww_pool_alloc(pool, 1, 0, &none));
	MUST(!none);
	for (int i = 0; i < 8; i += 2)
		ww_memory_unref(slices[i]);
	MUST_REFUSE(WW_ERR_LIMIT, "largest free piece", ww_pool_alloc(pool, CHUNK / 4, 0, &none));
	MUST_EQUAL(CHUNK / 8, info_of(pool).bytes_largest);
	MUST_REFUSE(WW_ERR_LIMIT, "at most", ww_pool_alloc(pool, 2 * CHUNK, 0, &none));
	slices[0] = cut(pool, CHUNK / 8);
	ww_memory_unref(slices[0]);
	for (int i = 1; i < 8; i += 2)
		ww_memory_unref(slices[i]);
	ww_pool_unref(pool);
	ww_device_unref(device);
}

void pool_slots_full(void)
{
	ww_device *device = subject_open();
	ww_pool *pool = make_pool(device, 0, 0, 4);
	ww_memory *slices[4];
	ww_memory *none;

	for (int i = 0; i < 4; i++)
		slices[i] = cut(pool, 256);
	MUST_REFUSE(WW_ERR_LIMIT, "slices_max", ww_pool_alloc(pool, 256, 0, &none));
	MUST_EQUAL(4 * WW_POOL_ALIGNMENT, info_of(pool).bytes_used);
	ww_memory_unref(slices[2]);
	slices[2] = cut(pool, 256);
	for (int i = 0; i < 4; i++)
		ww_memory_unref(slices[i]);
	ww_pool_unref(pool);
	ww_device_unref(device);
}

void pool_create_refuses(void)
{
	ww_device *device = subject_open();
	struct ww_pool_params params = {.size = sizeof(params), .kind = 9};
	ww_pool *pool;

	MUST_REFUSE(WW_ERR_INVALID, "kind 9", ww_pool_create(device, &params, &pool));
	MUST(!pool);
	params = (struct ww_pool_params){.size = sizeof(params), .flags = 4};
	MUST_REFUSE(WW_ERR_INVALID, "flags", ww_pool_create(device, &params, &pool));
	params = (struct ww_pool_params){
		.size = sizeof(params),
		.slices_max = WW_POOL_SLICES_MAX + 1,
	};
	MUST_REFUSE(WW_ERR_INVALID, "at most", ww_pool_create(device, &params, &pool));
	params = (struct ww_pool_params){.size = sizeof(params), .bytes_max = 100};
	MUST_REFUSE(WW_ERR_INVALID, "no room for a chunk", ww_pool_create(device, &params, &pool));
	params = (struct ww_pool_params){.size = sizeof(params), .chunk_bytes = UINT64_MAX - 5};
	MUST_STATUS(WW_ERR_OVERFLOW, ww_pool_create(device, &params, &pool));
	params = (struct ww_pool_params){.size = 3};
	MUST_STATUS(WW_ERR_INVALID, ww_pool_create(device, &params, &pool));
	ww_device_unref(device);
}

void pool_alloc_refuses(void)
{
	ww_device *device = subject_open();
	ww_pool *pool = make_pool(device, 0, 0, 0);
	ww_memory *slice;

	MUST_REFUSE(WW_ERR_INVALID, "0 bytes", ww_pool_alloc(pool, 0, 0, &slice));
	MUST(!slice);
	MUST_REFUSE(WW_ERR_INVALID, "power of two", ww_pool_alloc(pool, 1, 3, &slice));
	MUST_REFUSE(WW_ERR_INVALID, "chunks have", ww_pool_alloc(pool, 1, 2 * CHUNK, &slice));
	MUST_STATUS(WW_ERR_OVERFLOW, ww_pool_alloc(pool, UINT64_MAX, 0, &slice));
	MUST_EQUAL(0, info_of(pool).bytes_reserved);
	ww_pool_unref(pool);
	ww_device_unref(device);
}

void pool_ends_with_its_slices(void)
{
	ww_device *device = subject_open();
	ww_pool *pool = make_pool(device, 0, 0, 0);
	ww_memory *slice = cut(pool, 5000);

	MUST(ww_pool_ref(pool) == pool);
	MUST(!ww_pool_unref(pool));
	MUST(!ww_pool_unref(pool));
	MUST(!ww_pool_unref(NULL));
	pattern_write(slice, 7);
	pattern_verify(slice, 7);
	MUST(ww_memory_ref(slice) == slice);
	ww_memory_unref(slice);
	ww_memory_unref(slice);
	ww_device_unref(device);
}

void pool_info_is_versioned(void)
{
	ww_device *device = subject_open();
	ww_pool *pool = make_pool(device, 0, 0, 100);
	struct ww_pool_info info = {.size = 8};
	struct ww_pool_holder_info holder = {.size = sizeof(holder)};

	MUST_STATUS(WW_ERR_INVALID, ww_pool_info_get(pool, &info));
	info = info_of(pool);
	MUST_EQUAL(128, info.slices_max);
	MUST(info.bytes_max == UINT64_MAX);
	MUST_EQUAL(CHUNK, info.chunk_bytes);
	MUST_EQUAL(WW_MEMORY_VMM, info.kind);
	MUST_STATUS(WW_END, ww_pool_holder_get(pool, 0, &holder));
	holder.size = 1;
	MUST_STATUS(WW_ERR_INVALID, ww_pool_holder_get(pool, 0, &holder));
	ww_pool_unref(pool);
	ww_device_unref(device);
}

/* --- tokens that come home --- */

static struct ww_token name_slice(ww_memory *slice, const struct ww_export_params *params)
{
	struct ww_token token;

	MUST_OK(ww_memory_export(slice, NULL, params, &token));
	return token;
}

void pool_token_comes_home(void)
{
	const struct ww_export_params params = {.size = sizeof(params), .access = WW_ACCESS_WRITE};
	ww_device *device = subject_open();
	struct ww_object_info object = {.size = sizeof(object)};
	ww_pool *pool = NULL;
	struct ww_token token;
	ww_memory *slice;
	ww_memory *again;

	scene_begin();
	pool = make_pool(device, 0, 0, 0);
	slice = cut(pool, 4096);
	token = name_slice(slice, &params);
	MUST_OK(ww_memory_import(device, NULL, &token, WW_ACCESS_WRITE, &again, &object));
	MUST(again == slice);
	MUST_EQUAL(0, object.offset);
	MUST_EQUAL(4096, object.span_bytes);
	MUST_EQUAL(1, object.own);
	ww_memory_unref(again);
	ww_memory_unref(slice);
	MUST_EQUAL(0, info_of(pool).waiting_count);
	ww_pool_unref(pool);
	ww_device_unref(device);
	scene_end();
}

void pool_part_comes_home(void)
{
	const struct ww_export_params params = {
		.size = sizeof(params),
		.offset = 1024,
		.bytes = 512,
	};
	ww_device *device = subject_open();
	struct ww_token token;
	ww_memory *slice;
	ww_memory *part;
	ww_pool *pool;

	scene_begin();
	pool = make_pool(device, 0, 0, 0);
	slice = cut(pool, 4096);
	token = name_slice(slice, &params);
	MUST_REFUSE(WW_ERR_ACCESS, "for reading",
		ww_memory_import(device, NULL, &token, WW_ACCESS_WRITE, &part, NULL));
	MUST_OK(ww_memory_import(device, NULL, &token, WW_ACCESS_READ, &part, NULL));
	MUST(ww_memory_pointer(part) == (char *)ww_memory_pointer(slice) + 1024);
	MUST_EQUAL(512, memory_info(part).bytes);
	MUST_EQUAL(WW_ACCESS_READ, memory_info(part).access);
	ww_memory_unref(slice);
	MUST_EQUAL(1, info_of(pool).slice_count); /* by its part */
	ww_memory_unref(part);
	MUST_EQUAL(0, info_of(pool).slice_count);
	ww_pool_unref(pool);
	ww_device_unref(device);
	scene_end();
}

/* What was let go of while its token travels is there when that comes home. */
void pool_slice_in_flight_stays(void)
{
	ww_device *device = subject_open();
	struct ww_token token;
	ww_memory *slice;
	ww_pool *pool;

	scene_begin();
	pool = make_pool(device, 0, 0, 0);
	slice = cut(pool, 4096);
	pattern_write(slice, 3);
	token = name_slice(slice, NULL);
	ww_memory_unref(slice);
	MUST_EQUAL(1, info_of(pool).waiting_count);
	MUST_OK(ww_memory_import(device, NULL, &token, WW_ACCESS_READ, &slice, NULL));
	pattern_verify(slice, 3);
	MUST_EQUAL(0, info_of(pool).waiting_count);
	ww_memory_unref(slice);
	MUST_EQUAL(0, info_of(pool).waiting_count);
	MUST_REFUSE(WW_ERR_NOT_FOUND, "let go",
		ww_memory_import(device, NULL, &token, WW_ACCESS_READ, &slice, NULL));
	MUST(!slice);
	ww_pool_unref(pool);
	MUST_STATUS(WW_ERR_NOT_FOUND,
		ww_memory_import(device, NULL, &token, WW_ACCESS_READ, &slice, NULL));
	ww_device_unref(device);
	scene_end();
}

void pool_token_without_escrow(void)
{
	const struct ww_export_params params = {.size = sizeof(params), .escrow_ns = UINT64_MAX};
	ww_device *device = subject_open();
	struct ww_token token;
	ww_memory *slice;
	ww_pool *pool;

	scene_begin();
	pool = make_pool(device, 0, 0, 0);
	slice = cut(pool, 4096);
	token = name_slice(slice, &params);
	ww_memory_unref(slice);
	MUST_EQUAL(0, info_of(pool).waiting_count);
	MUST_STATUS(WW_ERR_NOT_FOUND,
		ww_memory_import(device, NULL, &token, WW_ACCESS_READ, &slice, NULL));
	ww_pool_unref(pool);
	ww_device_unref(device);
	scene_end();
}

void pool_token_refuses_every_flipped_bit(void)
{
	ww_device *device = subject_open();
	struct ww_token token;
	ww_memory *slice;
	ww_memory *none;
	ww_pool *pool;

	scene_begin();
	pool = make_pool(device, 0, 0, 0);
	slice = cut(pool, 4096);
	token = name_slice(slice, NULL);
	for (size_t i = 0; i < sizeof(token.bytes) * 8; i += 3) {
		token.bytes[i / 8] ^= (uint8_t)(1U << i % 8);
		MUST(ww_memory_import(device, NULL, &token, WW_ACCESS_READ, &none, NULL) < 0);
		MUST(!none);
		token.bytes[i / 8] ^= (uint8_t)(1U << i % 8);
	}
	ww_memory_unref(slice);
	ww_pool_unref(pool);
	ww_device_unref(device);
	scene_end();
}

void pool_slice_is_handed_over_by_token_only(void)
{
	struct ww_memory_description description;
	ww_device *device = subject_open();
	ww_memory *slice;
	int sockets[2];
	ww_pool *pool;
	int fd;

	scene_begin();
	MUST_EQUAL(0, socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets));
	pool = make_pool(device, 0, 0, 0);
	slice = cut(pool, 4096);
	MUST_REFUSE(WW_ERR_UNSUPPORTED, "slice", ww_memory_put(slice, scene.broker, "slice", NULL));
	MUST_REFUSE(WW_ERR_UNSUPPORTED, "slice",
		ww_memory_export_fd(slice, WW_ACCESS_READ, &fd, &description));
	MUST_REFUSE(WW_ERR_UNSUPPORTED, "slice",
		ww_memory_send(slice, WW_ACCESS_READ, sockets[0], 0));
	close(sockets[0]);
	close(sockets[1]);
	ww_memory_unref(slice);
	ww_pool_unref(pool);
	ww_device_unref(device);
	scene_end();
}

/* --- by streams --- */

void pool_release_waits_for_the_stream(void)
{
	static struct gate gate;
	ww_device *device = subject_open();
	ww_stream *stream = stream_make(device);
	ww_pool *pool = make_pool(device, 0, CHUNK, 0);
	ww_memory *slice = cut(pool, CHUNK);
	void *place = ww_memory_pointer(slice);

	gate_close(&gate, stream);
	gate_reached(&gate);
	MUST_OK(ww_stream_fill(stream, place, 0x55, 1, CHUNK));
	MUST_OK(ww_pool_release(slice, stream));
	MUST_EQUAL(1, info_of(pool).waiting_count);
	MUST_REFUSE(WW_ERR_LIMIT, "in use", ww_pool_alloc(pool, 1, 0, &slice));
	gate_open(&gate);
	MUST_OK(ww_stream_synchronize(stream));
	slice = cut(pool, CHUNK);
	MUST(ww_memory_pointer(slice) == place);
	memory_must_be(slice, 0x55);
	ww_memory_unref(slice);
	ww_pool_unref(pool);
	ww_stream_unref(stream);
	ww_device_unref(device);
}

/* The last reference decides; the pool may end before the stream has come so far. */
void pool_may_end_before_the_stream(void)
{
	static struct gate gate;
	ww_device *device = subject_open();
	ww_stream *stream = stream_make(device);
	ww_pool *pool = make_pool(device, 0, 0, 0);
	ww_memory *slice = cut(pool, MIB);

	gate_close(&gate, stream);
	gate_reached(&gate);
	MUST_OK(ww_stream_fill(stream, ww_memory_pointer(slice), 1, 1, MIB));
	ww_memory_ref(slice);
	MUST_OK(ww_pool_release(slice, stream));
	MUST_EQUAL(1, info_of(pool).slice_count);
	MUST_OK(ww_pool_release(slice, stream));
	MUST_EQUAL(0, info_of(pool).slice_count);
	ww_pool_unref(pool);
	gate_open(&gate);
	MUST_OK(ww_stream_synchronize(stream));
	ww_pool_unref(make_pool(device, 0, 0, 0)); /* gives back what was left */
	ww_stream_unref(stream);
	ww_device_unref(device);
}

void pool_release_refuses(void)
{
	ww_device *device = subject_open();
	ww_stream *stream = stream_make(device);
	ww_memory *memory = memory_make(device, WW_MEMORY_VMM, MIB);

	MUST_REFUSE(WW_ERR_INVALID, "no slice", ww_pool_release(memory, stream));
	pattern_write(memory, 1);
	ww_memory_unref(memory);
	ww_stream_unref(stream);
	ww_device_unref(device);
}

/* What a stream stores into when it is done is the library's own, and given back when no stream waits: however many. */
void pool_goes_while_stream_waits(void)
{
	ww_device *device = subject_open();
	ww_stream *waiter = stream_make(device);
	ww_stream *stream = stream_make(device);
	ww_timeline *timeline;

	timeline = timeline_make(0, 0);
	stream_hold(waiter, timeline, 1);
	for (int i = 0; i < 66; i++) {
		ww_pool *pool = make_pool(device, 0, CHUNK, 16);

		MUST_OK(ww_pool_release(cut(pool, 4096), stream));
		MUST_OK(ww_stream_synchronize(stream));
		ww_pool_unref(pool);
	}
	MUST_STATUS(WW_NOT_READY, ww_stream_query(waiter));
	MUST_OK(ww_timeline_signal(timeline, 1));
	MUST_OK(ww_stream_synchronize(waiter));
	ww_timeline_unref(timeline);
	ww_stream_unref(waiter);
	ww_stream_unref(stream);
	ww_device_unref(device);
}

void pool_release_without_stream_values(void)
{
	ww_device *device = subject_open();
	ww_stream *stream = stream_make(device);
	ww_pool *pool = make_pool(device, 0, 0, 0);
	ww_memory *slice = cut(pool, 4096);

	MUST_REFUSE(WW_ERR_UNSUPPORTED, "synchronize", ww_pool_release(slice, stream));
	pattern_write(slice, 1);
	ww_memory_unref(slice);
	ww_pool_unref(pool);
	ww_stream_unref(stream);
	ww_device_unref(device);
}

void pool_misuse(void)
{
	ww_device *device = subject_open();
	ww_memory *slice;
	ww_pool *pool;

	MUST_STATUS(WW_ERR_INVALID, ww_pool_create(NULL, NULL, &pool));
	MUST_STATUS(WW_ERR_INVALID, ww_pool_create(device, NULL, NULL));
	MUST_STATUS(WW_ERR_INVALID, ww_pool_alloc(NULL, 1, 0, &slice));
	MUST_STATUS(WW_ERR_INVALID, ww_pool_release(NULL, NULL));
	MUST_STATUS(WW_ERR_INVALID, ww_pool_trim(NULL, 0, NULL));
	MUST_STATUS(WW_ERR_INVALID, ww_pool_info_get(NULL, NULL));
	MUST_STATUS(WW_ERR_INVALID, ww_pool_holder_get(NULL, 0, NULL));
	ww_device_unref(device);
}
