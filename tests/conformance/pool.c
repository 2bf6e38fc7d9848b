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

#include "conformance/pool.h"
#include "support/driver.h"
#include "support/broker_case.h"
#include "support/timeline.h"

#define CHUNK (2 * MIB)

ww_pool *pool_make(ww_device *device, uint32_t kind, uint64_t bytes_max, uint32_t slices_max)
{
	ww_pool *pool;

	MUST_OK(ww_pool_create(device,
		WW_PARAMS(struct ww_pool_params, .kind = kind, .bytes_max = bytes_max,
			.chunk_bytes = CHUNK, .slices_max = slices_max),
		&pool));
	return pool;
}

struct ww_pool_info pool_info(ww_pool *pool)
{
	struct ww_pool_info info = WW_INIT(struct ww_pool_info);

	MUST_OK(ww_pool_info_get(pool, &info));
	return info;
}

ww_memory *slice_make(ww_pool *pool, uint64_t bytes)
{
	ww_memory *slice;

	MUST_OK(ww_pool_alloc(pool, bytes, 0, 0, NULL, &slice));
	return slice;
}

struct ww_token slice_token(ww_memory *slice, const struct ww_export_params *params)
{
	struct ww_token token;

	MUST_OK(ww_memory_export(slice, NULL, params, NULL, &token));
	return token;
}

static void slices_are_apart(uint32_t kind)
{
	OWN(device) ww_device *device = subject_open();
	OWN(pool) ww_pool *pool = pool_make(device, kind, 0, 0);
	ww_memory *slices[40];

	for (uint32_t i = 0; i < CHECK_COUNT(slices); i++) {
		slices[i] = slice_make(pool, 1000 + i * 4096);
		MUST_EQUAL(0, (uintptr_t)ww_memory_pointer(slices[i]) % WW_POOL_ALIGNMENT);
		pattern_write(slices[i], i);
	}
	for (uint32_t i = 0; i < CHECK_COUNT(slices); i++) {
		pattern_verify(slices[i], i);
		ww_memory_unref(slices[i]);
	}
	MUST_EQUAL(0, pool_info(pool).bytes_used);
}

CASE_CALL(pool_slices_are_apart, WW_CAP_EXPORT, slices_are_apart(WW_MEMORY_VMM))
CASE_CALL(pool_slices_are_apart_host_kind, WW_CAP_HOST_MEMORY, slices_are_apart(WW_MEMORY_HOST))

DEVICE_CASE(pool_slice_is_a_memory, WW_CAP_EXPORT)
{
	OWN(pool) ww_pool *pool = pool_make(device, 0, 0, 0);
	OWN(memory) ww_memory *first = slice_make(pool, 4096);
	OWN(memory) ww_memory *second = slice_make(pool, 100);
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
}

DEVICE_CASE(pool_aligns, WW_CAP_EXPORT)
{
	OWN(pool) ww_pool *pool = pool_make(device, 0, 0, 0);
	ww_memory *slices[14];
	size_t count = 0;

	for (uint64_t alignment = 1; alignment <= CHUNK / 256; alignment *= 2) {
		ww_memory *odd = slice_make(pool, 256);

		MUST_OK(ww_pool_alloc(pool, 300, alignment, 0, NULL, &slices[count]));
		MUST_EQUAL(0, memory_info(slices[count++]).offset % alignment);
		ww_memory_unref(odd);
	}
	while (count > 0)
		ww_memory_unref(slices[--count]);
}

DEVICE_CASE(pool_bytes_come_back, WW_CAP_EXPORT)
{
	OWN(pool) ww_pool *pool = pool_make(device, 0, 2 * CHUNK, 16);
	struct ww_pool_info info;
	uint64_t bytes;

	for (int i = 0; i < 1000; i++) {
		ww_memory *a = slice_make(pool, CHUNK / 2);
		ww_memory *b = slice_make(pool, CHUNK / 4 + (uint64_t)i * 256);

		ww_memory_unref(i % 2 ? a : b);
		ww_memory_unref(i % 2 ? b : a);
	}
	info = pool_info(pool);
	MUST_EQUAL(2000, info.allocations);
	MUST_EQUAL(info.bytes_reserved, info.bytes_free);
	MUST_EQUAL(CHUNK, info.bytes_largest);
	MUST_OK(ww_pool_trim(pool, 0, &bytes));
	MUST_EQUAL(info.bytes_reserved, bytes);
	MUST_EQUAL(0, pool_info(pool).chunk_count);
	MUST_OK(ww_pool_trim(pool, 0, NULL));
	ww_memory_unref(slice_make(pool, 1));
	MUST_EQUAL(1, pool_info(pool).chunk_count);
}

DEVICE_CASE(pool_trim_keeps_what_is_used, WW_CAP_EXPORT)
{
	OWN(pool) ww_pool *pool = pool_make(device, 0, 0, 0);
	ww_memory *slices[3];
	uint64_t bytes;

	for (int i = 0; i < 3; i++)
		slices[i] = slice_make(pool, CHUNK);
	pattern_write(slices[1], 1);
	ww_memory_unref(slices[0]);
	ww_memory_unref(slices[2]);
	MUST_OK(ww_pool_trim(pool, 2 * CHUNK, &bytes));
	MUST_EQUAL(CHUNK, bytes);
	MUST_OK(ww_pool_trim(pool, 0, &bytes));
	MUST_EQUAL(CHUNK, bytes);
	pattern_verify(slices[1], 1);
	ww_memory_unref(slices[1]);
}

DEVICE_CASE(pool_large_slice_has_its_chunk, WW_CAP_EXPORT)
{
	OWN(pool) ww_pool *pool = pool_make(device, 0, 8 * CHUNK, 0);
	OWN(memory) ww_memory *large = slice_make(pool, 3 * CHUNK - 100);

	MUST_EQUAL(3 * CHUNK, memory_info(large).total_bytes);
	MUST_EQUAL(3 * CHUNK, pool_info(pool).bytes_reserved);
}

/* A chunk without slices gives way to one that is needed. */
DEVICE_CASE(pool_empty_chunks_give_way, WW_CAP_EXPORT)
{
	OWN(pool) ww_pool *pool = pool_make(device, 0, 4 * CHUNK, 0);
	ww_memory *slices[4];
	ww_memory *large;

	for (int i = 0; i < 4; i++)
		slices[i] = slice_make(pool, CHUNK);
	for (int i = 0; i < 3; i++)
		ww_memory_unref(slices[i]);
	large = slice_make(pool, 3 * CHUNK);
	MUST_EQUAL(4 * CHUNK, pool_info(pool).bytes_reserved);
	ww_memory_unref(large);
	ww_memory_unref(slices[3]);
}

DEVICE_CASE(pool_full, WW_CAP_EXPORT)
{
	OWN(pool) ww_pool *pool = pool_make(device, 0, CHUNK, 0);
	ww_memory *slices[8];
	ww_memory *none;

	for (int i = 0; i < 8; i++)
		slices[i] = slice_make(pool, CHUNK / 8);
	MUST_REFUSE(WW_ERR_LIMIT, "used here", ww_pool_alloc(pool, 1, 0, 0, NULL, &none));
	MUST(!none);
	for (int i = 0; i < 8; i += 2)
		ww_memory_unref(slices[i]);
	MUST_REFUSE(WW_ERR_LIMIT, "largest free piece",
		ww_pool_alloc(pool, CHUNK / 4, 0, 0, NULL, &none));
	MUST_EQUAL(CHUNK / 8, pool_info(pool).bytes_largest);
	MUST_REFUSE(WW_ERR_LIMIT, "at most", ww_pool_alloc(pool, 2 * CHUNK, 0, 0, NULL, &none));
	slices[0] = slice_make(pool, CHUNK / 8);
	ww_memory_unref(slices[0]);
	for (int i = 1; i < 8; i += 2)
		ww_memory_unref(slices[i]);
}

static void limit_is_rounded_up(ww_device *device, uint64_t asked)
{
	uint64_t unit = device_info(device).granularity;
	struct ww_pool_info info;
	OWN(memory) ww_memory *slice;
	ww_memory *none;
	OWN(pool) ww_pool *pool;

	MUST_OK(ww_pool_create(device, WW_PARAMS(struct ww_pool_params, .bytes_max = asked),
		&pool));
	info = pool_info(pool);
	MUST_EQUAL(0, info.bytes_max % unit);
	MUST(info.bytes_max >= asked && info.bytes_max - asked < unit);
	MUST_EQUAL(info.bytes_max, info.chunk_bytes);
	slice = slice_make(pool, asked);
	MUST_EQUAL(info.bytes_max, pool_info(pool).bytes_reserved);
	MUST_REFUSE(WW_ERR_LIMIT, "at most",
		ww_pool_alloc(pool, info.bytes_max + 1, 0, 0, NULL, &none));
}

DEVICE_CASE(pool_limit_is_rounded_up, WW_CAP_EXPORT)
{
	static const uint64_t limits[] = {1, 100, MIB, 3 * MIB, 16000000};
	struct ww_pool_params params = WW_INIT(struct ww_pool_params);
	ww_pool *pool;

	for (size_t i = 0; i < CHECK_COUNT(limits); i++)
		limit_is_rounded_up(device, limits[i]);
	/* What is as good as none is none. */
	for (uint64_t less = 0; less < 2; less++) {
		params.bytes_max = UINT64_MAX - less;
		MUST_OK(ww_pool_create(device, &params, &pool));
		MUST(pool_info(pool).bytes_max == UINT64_MAX);
		ww_pool_unref(pool);
	}
}

/* Of what the limit leaves, and without touching what has room. */
DEVICE_CASE(pool_ends_in_a_smaller_chunk, WW_CAP_EXPORT)
{
	ww_memory *slices[4];
	ww_memory *none;
	OWN(pool) ww_pool *pool;

	MUST_OK(ww_pool_create(device,
		WW_PARAMS(struct ww_pool_params, .bytes_max = 5 * CHUNK, .chunk_bytes = 2 * CHUNK),
		&pool));
	for (int i = 0; i < 2; i++)
		slices[i] = slice_make(pool, CHUNK + 256);
	MUST_EQUAL(4 * CHUNK, pool_info(pool).bytes_reserved);
	slices[2] = slice_make(pool, CHUNK);
	MUST_EQUAL(5 * CHUNK, pool_info(pool).bytes_reserved);
	MUST_EQUAL(CHUNK, memory_info(slices[2]).total_bytes);
	slices[3] = slice_make(pool, CHUNK - 256);
	MUST_REFUSE(WW_ERR_LIMIT, "largest free piece",
		ww_pool_alloc(pool, CHUNK, 0, 0, NULL, &none));
	/* An empty chunk that is too small for what is wanted gives way. */
	for (int i = 0; i < 3; i++)
		ww_memory_unref(slices[i]);
	slices[0] = slice_make(pool, 3 * CHUNK);
	MUST_EQUAL(5 * CHUNK, pool_info(pool).bytes_reserved);
	ww_memory_unref(slices[0]);
	ww_memory_unref(slices[3]);
}

static void must_reserve(ww_pool *pool, uint64_t bytes, uint64_t reserved)
{
	ww_memory_unref(slice_make(pool, bytes));
	MUST_EQUAL(reserved, pool_info(pool).bytes_reserved);
	MUST_OK(ww_pool_trim(pool, 0, NULL));
}

/* The fake driver refuses the first of the chunks, or the first two. */
DEVICE_CASE(pool_takes_what_the_device_has, WW_CAP_EXPORT)
{
	struct ww_error before;
	ww_memory *none;
	OWN(pool) ww_pool *pool;

	if (!fake_get())
		check_skip("only the fake driver refuses memory when it is told to");
	MUST_OK(ww_pool_create(device, WW_PARAMS(struct ww_pool_params, .chunk_bytes = 5 * CHUNK),
		&pool));
	before = *ww_error_last();
	fake_get()->fail("cuMemCreate", 1, WW_CUDA_ERROR_OUT_OF_MEMORY);
	must_reserve(pool, CHUNK, 3 * CHUNK);
	MUST_MATCH(&before, ww_error_last(), sizeof(before));
	fake_get()->fail("cuMemCreate", 1, WW_CUDA_ERROR_OUT_OF_MEMORY);
	must_reserve(pool, 4 * CHUNK, 4 * CHUNK);
	fake_get()->fail("cuMemCreate", 1, WW_CUDA_ERROR_OUT_OF_MEMORY);
	MUST_STATUS(WW_ERR_DEVICE_MEMORY, ww_pool_alloc(pool, 5 * CHUNK, 0, 0, NULL, &none));
	/* Nothing can come back, so nothing is waited for. */
	fake_get()->fail("cuMemCreate", 1, WW_CUDA_ERROR_OUT_OF_MEMORY);
	MUST_STATUS(WW_ERR_DEVICE_MEMORY,
		ww_pool_alloc(pool, 5 * CHUNK, 0, WW_FOREVER, NULL, &none));
	MUST(!none);
	fake_get()->fail_off();
}

DEVICE_CASE(pool_slots_full, WW_CAP_EXPORT)
{
	OWN(pool) ww_pool *pool = pool_make(device, 0, 0, 4);
	ww_memory *slices[4];
	ww_memory *none;

	for (int i = 0; i < 4; i++)
		slices[i] = slice_make(pool, 256);
	MUST_REFUSE(WW_ERR_LIMIT, "slices_max", ww_pool_alloc(pool, 256, 0, 0, NULL, &none));
	MUST_EQUAL(4 * WW_POOL_ALIGNMENT, pool_info(pool).bytes_used);
	ww_memory_unref(slices[2]);
	slices[2] = slice_make(pool, 256);
	for (int i = 0; i < 4; i++)
		ww_memory_unref(slices[i]);
}

DEVICE_CASE(pool_create_refuses, WW_CAP_EXPORT)
{
	struct ww_pool_params params = {.struct_size = sizeof(params), .kind = 9};
	ww_pool *pool;

	MUST_REFUSE(WW_ERR_INVALID, "unknown (9)", ww_pool_create(device, &params, &pool));
	MUST(!pool);
	params = (struct ww_pool_params){.struct_size = sizeof(params), .flags = 4};
	MUST_REFUSE(WW_ERR_INVALID, "flags", ww_pool_create(device, &params, &pool));
	params = (struct ww_pool_params){
		.struct_size = sizeof(params),
		.slices_max = WW_POOL_SLICES_MAX + 1,
	};
	MUST_REFUSE(WW_ERR_INVALID, "at most", ww_pool_create(device, &params, &pool));
	params = (struct ww_pool_params){
		.struct_size = sizeof(params),
		.bytes_max = 100,
		.chunk_bytes = 64 * MIB,
	};
	MUST_REFUSE(WW_ERR_INVALID, "no room for a chunk", ww_pool_create(device, &params, &pool));
	params = (struct ww_pool_params){.struct_size = sizeof(params),
		.chunk_bytes = UINT64_MAX - 5};
	MUST_STATUS(WW_ERR_OVERFLOW, ww_pool_create(device, &params, &pool));
	params = (struct ww_pool_params){.struct_size = 3};
	MUST_STATUS(WW_ERR_INVALID, ww_pool_create(device, &params, &pool));
}

DEVICE_CASE(pool_alloc_refuses, WW_CAP_EXPORT)
{
	OWN(pool) ww_pool *pool = pool_make(device, 0, 0, 0);
	ww_memory *slice;

	MUST_REFUSE(WW_ERR_INVALID, "0 bytes", ww_pool_alloc(pool, 0, 0, 0, NULL, &slice));
	MUST(!slice);
	MUST_REFUSE(WW_ERR_INVALID, "power of two", ww_pool_alloc(pool, 1, 3, 0, NULL, &slice));
	MUST_REFUSE(WW_ERR_INVALID, "chunks have",
		ww_pool_alloc(pool, 1, 2 * CHUNK, 0, NULL, &slice));
	MUST_STATUS(WW_ERR_OVERFLOW, ww_pool_alloc(pool, UINT64_MAX, 0, 0, NULL, &slice));
	MUST_EQUAL(0, pool_info(pool).bytes_reserved);
}

DEVICE_CASE(pool_ends_with_its_slices, WW_CAP_EXPORT)
{
	ww_pool *pool = pool_make(device, 0, 0, 0);
	ww_memory *slice = slice_make(pool, 5000);

	MUST(ww_pool_ref(pool) == pool);
	MUST(!ww_pool_unref(pool));
	MUST(!ww_pool_unref(pool));
	MUST(!ww_pool_unref(NULL));
	pattern_write(slice, 7);
	pattern_verify(slice, 7);
	MUST(ww_memory_ref(slice) == slice);
	ww_memory_unref(slice);
	ww_memory_unref(slice);
}

DEVICE_CASE(pool_info_is_versioned, WW_CAP_EXPORT)
{
	OWN(pool) ww_pool *pool = pool_make(device, 0, 0, 100);
	struct ww_pool_info info = {.struct_size = 8};
	struct ww_pool_holder_info holder = WW_INIT(struct ww_pool_holder_info);

	MUST_STATUS(WW_ERR_INVALID, ww_pool_info_get(pool, &info));
	info = pool_info(pool);
	MUST_EQUAL(128, info.slices_max);
	MUST(info.bytes_max == UINT64_MAX);
	MUST_EQUAL(CHUNK, info.chunk_bytes);
	MUST_EQUAL(WW_MEMORY_VMM, info.kind);
	MUST_STATUS(WW_END, ww_pool_holder_get(pool, 0, &holder));
	holder.struct_size = 1;
	MUST_STATUS(WW_ERR_INVALID, ww_pool_holder_get(pool, 0, &holder));
}

/* --- tokens that come home --- */

SCENE_CASE(pool_token_comes_home, WW_CAP_EXPORT)
{
	struct ww_object_info object = WW_INIT(struct ww_object_info);
	OWN(pool) ww_pool *pool = NULL;
	struct ww_token token;
	ww_memory *slice;
	ww_memory *again;

	pool = pool_make(scene.device, 0, 0, 0);
	slice = slice_make(pool, 4096);
	token = slice_token(slice, WW_PARAMS(struct ww_export_params, .access = WW_ACCESS_WRITE));
	MUST_OK(ww_memory_import(scene.device, NULL, &token,
		WW_PARAMS(struct ww_import_params, .access = WW_ACCESS_WRITE), NULL, &again,
		&object));
	MUST(again == slice);
	MUST_EQUAL(0, object.offset);
	MUST_EQUAL(4096, object.span_bytes);
	MUST_EQUAL(1, object.is_own);
	ww_memory_unref(again);
	ww_memory_unref(slice);
	MUST_EQUAL(0, pool_info(pool).waiting_count);
}

SCENE_CASE(pool_part_comes_home, WW_CAP_EXPORT)
{
	ww_memory *again;
	ww_memory *part;
	OWN(pool) ww_pool *pool = pool_make(scene.device, 0, 0, 0);
	ww_memory *slice = slice_make(pool, 4096);
	struct ww_token token = slice_token(slice,
		WW_PARAMS(struct ww_export_params, .offset = 1024, .bytes = 512));

	MUST_REFUSE(WW_ERR_ACCESS, "for reading",
		ww_memory_import(scene.device, NULL, &token,
			WW_PARAMS(struct ww_import_params, .access = WW_ACCESS_WRITE), NULL, &part,
			NULL));
	MUST_OK(ww_memory_import(scene.device, NULL, &token, NULL, NULL, &part, NULL));
	MUST(ww_memory_pointer(part) == (char *)ww_memory_pointer(slice) + 1024);
	MUST_EQUAL(512, memory_info(part).bytes);
	MUST_EQUAL(WW_ACCESS_READ, memory_info(part).access);
	MUST_OK(ww_memory_import(scene.device, NULL, &token, NULL, NULL, &again, NULL));
	MUST(again == part);
	ww_memory_unref(slice);
	ww_memory_unref(again);
	MUST_EQUAL(1, pool_info(pool).slice_count); /* by its part */
	ww_memory_unref(part);
	MUST_EQUAL(0, pool_info(pool).slice_count);
}

/* What was let go of while its token travels is there when that comes home. */
SCENE_CASE(pool_slice_in_flight_stays, WW_CAP_EXPORT)
{
	struct ww_token token;
	ww_pool *pool = pool_make(scene.device, 0, 0, 0);
	ww_memory *slice = slice_make(pool, 4096);

	pattern_write(slice, 3);
	token = slice_token(slice, NULL);
	ww_memory_unref(slice);
	MUST_EQUAL(1, pool_info(pool).waiting_count);
	MUST_OK(ww_memory_import(scene.device, NULL, &token, NULL, NULL, &slice, NULL));
	pattern_verify(slice, 3);
	MUST_EQUAL(0, pool_info(pool).waiting_count);
	ww_memory_unref(slice);
	MUST_EQUAL(0, pool_info(pool).waiting_count);
	MUST_REFUSE(WW_ERR_NOT_FOUND, "release",
		ww_memory_import(scene.device, NULL, &token, NULL, NULL, &slice, NULL));
	MUST(!slice);
	ww_pool_unref(pool);
	MUST_STATUS(WW_ERR_NOT_FOUND,
		ww_memory_import(scene.device, NULL, &token, NULL, NULL, &slice, NULL));
}

SCENE_CASE(pool_token_without_escrow, WW_CAP_EXPORT)
{
	OWN(pool) ww_pool *pool = pool_make(scene.device, 0, 0, 0);
	ww_memory *slice = slice_make(pool, 4096);
	struct ww_token token = slice_token(slice,
		WW_PARAMS(struct ww_export_params, .escrow_ns = WW_ESCROW_NONE));

	ww_memory_unref(slice);
	MUST_EQUAL(0, pool_info(pool).waiting_count);
	MUST_STATUS(WW_ERR_NOT_FOUND,
		ww_memory_import(scene.device, NULL, &token, NULL, NULL, &slice, NULL));
}

SCENE_CASE(pool_token_refuses_every_flipped_bit, WW_CAP_EXPORT)
{
	ww_memory *none;
	OWN(pool) ww_pool *pool = pool_make(scene.device, 0, 0, 0);
	OWN(memory) ww_memory *slice = slice_make(pool, 4096);
	struct ww_token token = slice_token(slice, NULL);

	for (size_t i = 0; i < sizeof(token.bytes) * 8; i += 3) {
		token.bytes[i / 8] ^= (uint8_t)(1U << i % 8);
		MUST(ww_memory_import(scene.device, NULL, &token, NULL, NULL, &none, NULL) < 0);
		MUST(!none);
		token.bytes[i / 8] ^= (uint8_t)(1U << i % 8);
	}
}

SCENE_CASE(pool_slice_has_no_descriptor, WW_CAP_EXPORT)
{
	struct ww_memory_description description;
	OWN(memory) ww_memory *slice;
	int sockets[2];
	OWN(pool) ww_pool *pool;
	int fd;

	MUST_EQUAL(0, socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets));
	pool = pool_make(scene.device, 0, 0, 0);
	slice = slice_make(pool, 4096);
	MUST_REFUSE(WW_ERR_UNSUPPORTED, "slice",
		ww_memory_export_fd(slice, WW_ACCESS_READ, &fd, &description));
	MUST_REFUSE(WW_ERR_UNSUPPORTED, "slice",
		ww_memory_send(slice, WW_ACCESS_READ, sockets[0], 0, NULL));
	close(sockets[0]);
	close(sockets[1]);
}

/* --- by streams --- */

DEVICE_CASE(pool_release_waits_for_the_stream, WW_CAP_EXPORT | WW_CAP_STREAM_VALUE)
{
	static struct gate gate;
	OWN(stream) ww_stream *stream = stream_make(device);
	OWN(pool) ww_pool *pool = pool_make(device, 0, CHUNK, 0);
	OWN(memory) ww_memory *slice = slice_make(pool, CHUNK);
	void *place = ww_memory_pointer(slice);

	gate_close(&gate, stream);
	gate_reached(&gate);
	MUST_OK(ww_stream_fill(stream, place, 0x55, 1, CHUNK));
	MUST_OK(ww_pool_release(slice, stream));
	MUST_EQUAL(1, pool_info(pool).waiting_count);
	MUST_REFUSE(WW_ERR_LIMIT, "in use", ww_pool_alloc(pool, 1, 0, 0, NULL, &slice));
	gate_open(&gate);
	MUST_OK(ww_stream_synchronize(stream, WW_FOREVER, NULL));
	slice = slice_make(pool, CHUNK);
	MUST(ww_memory_pointer(slice) == place);
	memory_must_be(slice, 0x55);
}

/* The last reference decides; the pool may end before the stream has come so far. */
DEVICE_CASE(pool_may_end_before_the_stream, WW_CAP_EXPORT | WW_CAP_STREAM_VALUE)
{
	static struct gate gate;
	OWN(stream) ww_stream *stream = stream_make(device);
	ww_pool *pool = pool_make(device, 0, 0, 0);
	ww_memory *slice = slice_make(pool, MIB);

	gate_close(&gate, stream);
	gate_reached(&gate);
	MUST_OK(ww_stream_fill(stream, ww_memory_pointer(slice), 1, 1, MIB));
	ww_memory_ref(slice);
	MUST_OK(ww_pool_release(slice, stream));
	MUST_EQUAL(1, pool_info(pool).slice_count);
	MUST_OK(ww_pool_release(slice, stream));
	MUST_EQUAL(0, pool_info(pool).slice_count);
	ww_pool_unref(pool);
	gate_open(&gate);
	MUST_OK(ww_stream_synchronize(stream, WW_FOREVER, NULL));
	ww_pool_unref(pool_make(device, 0, 0, 0)); /* gives back what was left */
}

DEVICE_CASE(pool_release_refuses, WW_CAP_EXPORT)
{
	OWN(stream) ww_stream *stream = stream_make(device);
	OWN(memory) ww_memory *memory = memory_make(device, WW_MEMORY_VMM, MIB);

	MUST_REFUSE(WW_ERR_INVALID, "no slice", ww_pool_release(memory, stream));
	pattern_write(memory, 1);
}

/*
 * What a stream stores into when it is done is the library's own, and given back when no stream
 * waits: however many.
 */
DEVICE_CASE(pool_goes_while_stream_waits, WW_CAP_EXPORT | WW_CAP_STREAM_VALUE)
{
	OWN(stream) ww_stream *waiter = stream_make(device);
	OWN(stream) ww_stream *stream = stream_make(device);
	OWN(timeline) ww_timeline *timeline = timeline_make(0, 0);

	stream_hold(waiter, timeline, 1);
	for (int i = 0; i < 66; i++) {
		ww_pool *pool = pool_make(device, 0, CHUNK, 16);

		MUST_OK(ww_pool_release(slice_make(pool, 4096), stream));
		MUST_OK(ww_stream_synchronize(stream, WW_FOREVER, NULL));
		ww_pool_unref(pool);
	}
	MUST_STATUS(WW_NOT_READY, ww_stream_query(waiter));
	MUST_OK(ww_timeline_signal(timeline, 1));
	MUST_OK(ww_stream_synchronize(waiter, WW_FOREVER, NULL));
}

DEVICE_CASE(pool_release_without_stream_values, WW_CAP_EXPORT | NEEDS_NO_STREAM_VALUE)
{
	OWN(stream) ww_stream *stream = stream_make(device);
	OWN(pool) ww_pool *pool = pool_make(device, 0, 0, 0);
	OWN(memory) ww_memory *slice = slice_make(pool, 4096);

	MUST_REFUSE(WW_ERR_UNSUPPORTED, "synchronize", ww_pool_release(slice, stream));
	pattern_write(slice, 1);
}

DEVICE_CASE(pool_misuse, NEEDS_MISUSE_STATUS)
{
	ww_memory *slice;
	ww_pool *pool;

	MUST_STATUS(WW_ERR_INVALID, ww_pool_create(NULL, NULL, &pool));
	MUST_STATUS(WW_ERR_INVALID, ww_pool_create(device, NULL, NULL));
	MUST_STATUS(WW_ERR_INVALID, ww_pool_alloc(NULL, 1, 0, 0, NULL, &slice));
	MUST_STATUS(WW_ERR_INVALID, ww_pool_release(NULL, NULL));
	MUST_STATUS(WW_ERR_INVALID, ww_pool_export(NULL, NULL, NULL, NULL, NULL));
	MUST_STATUS(WW_ERR_INVALID, ww_pool_import(device, NULL, NULL, NULL, &pool));
	MUST_STATUS(WW_ERR_INVALID, ww_pool_trim(NULL, 0, NULL));
	MUST_STATUS(WW_ERR_INVALID, ww_pool_info_get(NULL, NULL));
	MUST_STATUS(WW_ERR_INVALID, ww_pool_holder_get(NULL, 0, NULL));
}
