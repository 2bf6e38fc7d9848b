/* SPDX-License-Identifier: Apache-2.0 */
/*
 * copy.c - copies in all directions, fills, and what both refuse
 *
 * A refused copy or fill must leave every byte alone, so these cases read the memory back.
 */
#include <stdlib.h>
#include <string.h>

#include "conformance/conformance.h"

static const uint64_t sizes[] = {1, 3, 4095, 4096, 65537, 2 * MIB, 2 * MIB + 1};

/* A device, a stream of it, and two memories of a kind, large enough for every size. */
struct bench {
	ww_device *device;
	ww_stream *stream;
	ww_memory *a;
	ww_memory *b;
	uint8_t *to; /* the memories' device pointers */
	uint8_t *from;
	uint64_t bytes;
};

static void set_up(struct bench *bench, uint32_t kind)
{
	bench->device = subject_open();
	bench->stream = stream_make(bench->device);
	bench->a = memory_make(bench->device, kind, 2 * MIB + 64);
	bench->b = memory_make(bench->device, kind, 2 * MIB + 64);
	bench->to = ww_memory_pointer(bench->a);
	bench->from = ww_memory_pointer(bench->b);
	bench->bytes = memory_info(bench->a).bytes;
}

static void tear_down(struct bench *bench)
{
	ww_memory_unref(bench->a);
	ww_memory_unref(bench->b);
	ww_stream_unref(bench->stream);
	ww_device_unref(bench->device);
}

/* CPU -> device -> device -> CPU -> CPU, `bytes` long, at these offsets. */
static void go_round(struct bench *bench, uint64_t bytes, uint64_t offset_a, uint64_t offset_b)
{
	OWN(heap) uint8_t *sent = malloc(bytes + 2);
	OWN(heap) uint8_t *got = malloc(bytes + 2);
	OWN(heap) uint8_t *moved = malloc(bytes + 2);

	MUST(sent && got && moved);
	pattern_make(sent, bytes, (uint32_t)bytes);
	memset(got, 0xcc, bytes + 2);
	memset(moved, 0xcc, bytes + 2);
	MUST_OK(ww_stream_fill(bench->stream, bench->to, 0xdd, 1, bench->bytes));
	MUST_OK(ww_stream_copy(bench->stream, bench->from + offset_b, sent, bytes));
	MUST_OK(ww_stream_copy(bench->stream, bench->to + offset_a, bench->from + offset_b, bytes));
	MUST_OK(ww_stream_copy(bench->stream, got + 1, bench->to + offset_a, bytes));
	MUST_OK(ww_stream_synchronize(bench->stream, WW_FOREVER, NULL));
	MUST_OK(ww_stream_copy(bench->stream, moved + 1, got + 1, bytes));
	MUST_OK(ww_stream_synchronize(bench->stream, WW_FOREVER, NULL));
	MUST_MATCH(sent, got + 1, bytes);
	MUST_MATCH(sent, moved + 1, bytes);
	MUST(got[0] == 0xcc && got[bytes + 1] == 0xcc);
	MUST(moved[0] == 0xcc && moved[bytes + 1] == 0xcc);
	memory_get(bench->a, offset_a + bytes, got, 1);
	MUST_EQUAL(0xdd, got[0]);
}

static void go_round_all(uint32_t kind)
{
	ENDED_BY(tear_down) struct bench bench;

	set_up(&bench, kind);
	for (size_t i = 0; i < CHECK_COUNT(sizes); i++)
		go_round(&bench, sizes[i], 0, 0);
}

CASE_CALL(copy_all_directions, 0, go_round_all(WW_MEMORY_VMM))
CASE_CALL(copy_host_kind, WW_CAP_HOST_MEMORY, go_round_all(WW_MEMORY_HOST))

CASE(copy_odd_offsets, 0)
{
	ENDED_BY(tear_down) struct bench bench;

	set_up(&bench, WW_MEMORY_VMM);
	go_round(&bench, 4097, 1, 3);
	go_round(&bench, 65535, 7, 2);
}

DEVICE_CASE(copy_between_kinds, WW_CAP_HOST_MEMORY)
{
	OWN(stream) ww_stream *stream = stream_make(device);
	OWN(memory) ww_memory *vmm = memory_make(device, WW_MEMORY_VMM, 2 * MIB);
	OWN(memory) ww_memory *host = memory_make(device, WW_MEMORY_HOST, 2 * MIB);
	OWN(memory) ww_memory *back = memory_make(device, WW_MEMORY_VMM, 2 * MIB);

	pattern_make(ww_memory_host_pointer(host), 2 * MIB, 5);
	MUST_OK(ww_stream_copy(stream, ww_memory_pointer(vmm), ww_memory_pointer(host), 2 * MIB));
	MUST_OK(ww_stream_fill(stream, ww_memory_pointer(host), 0, 1, 2 * MIB));
	MUST_OK(ww_stream_copy(stream, ww_memory_pointer(back), ww_memory_pointer(vmm), 2 * MIB));
	MUST_OK(ww_stream_copy(stream, ww_memory_pointer(host), ww_memory_pointer(back), 2 * MIB));
	MUST_OK(ww_stream_synchronize(stream, WW_FOREVER, NULL));
	pattern_verify(vmm, 5);
	pattern_verify(host, 5);
}

/* Memory of another device, made reachable by importing it for this one. */
DEVICE_CASE(copy_between_devices, WW_CAP_EXPORT | NEEDS_PEER)
{
	OWN(device) ww_device *other = subject_open_other();
	OWN(stream) ww_stream *stream = stream_make(device);
	OWN(memory) ww_memory *here = memory_make(device, WW_MEMORY_VMM, 2 * MIB);
	OWN(memory) ww_memory *there = memory_make(other, WW_MEMORY_VMM, 2 * MIB);
	OWN(memory) ww_memory *reached = memory_reimport(there, device, WW_ACCESS_WRITE);

	pattern_write(here, 9);
	MUST_OK(ww_stream_copy(stream, ww_memory_pointer(reached), ww_memory_pointer(here),
		2 * MIB));
	MUST_OK(ww_stream_synchronize(stream, WW_FOREVER, NULL));
	pattern_verify(there, 9);
	pattern_write(there, 10);
	MUST_OK(ww_stream_copy(stream, ww_memory_pointer(here), ww_memory_pointer(reached),
		2 * MIB));
	MUST_OK(ww_stream_synchronize(stream, WW_FOREVER, NULL));
	pattern_verify(here, 10);
}

CASE(copy_nothing, 0)
{
	uint8_t byte = 0x11;
	ENDED_BY(tear_down) struct bench bench;

	set_up(&bench, WW_MEMORY_VMM);
	pattern_write(bench.a, 2);
	MUST_OK(ww_stream_copy(bench.stream, bench.to, bench.from, 0));
	MUST_OK(ww_stream_copy(bench.stream, bench.to, &byte, 0));
	MUST_OK(ww_stream_copy(bench.stream, &byte, bench.from, 0));
	MUST_OK(ww_stream_copy(bench.stream, bench.to + bench.bytes, bench.from, 0));
	MUST_OK(ww_stream_fill(bench.stream, bench.to, 0xff, 4, 0));
	MUST_OK(ww_stream_synchronize(bench.stream, WW_FOREVER, NULL));
	MUST_EQUAL(0x11, byte);
	pattern_verify(bench.a, 2);
}

static void refuse_copy(const struct bench *bench, ww_status status, const char *word, void *to,
	const void *from, uint64_t bytes)
{
	MUST_REFUSE(status, word, ww_stream_copy(bench->stream, to, from, bytes));
}

static void refuse_fill(const struct bench *bench, ww_status status, const char *word, void *to,
	uint32_t value_bytes, uint64_t count)
{
	MUST_REFUSE(status, word, ww_stream_fill(bench->stream, to, 9, value_bytes, count));
}

/* The end of a span lies behind the end of its memory. */
CASE(copy_refuses_leaving, 0)
{
	OWN(heap) uint8_t *buffer = malloc(4 * MIB);
	ENDED_BY(tear_down) struct bench bench;

	MUST(buffer);
	set_up(&bench, WW_MEMORY_VMM);
	pattern_write(bench.a, 3);
	refuse_copy(&bench, WW_ERR_INVALID, "", bench.to + bench.bytes - 1, buffer, 2);
	refuse_copy(&bench, WW_ERR_INVALID, "", bench.to, bench.from, bench.bytes + 1);
	refuse_copy(&bench, WW_ERR_INVALID, "", buffer, bench.from + bench.bytes - 1, 2);
	refuse_copy(&bench, WW_ERR_INVALID, "", bench.to + 1, buffer, bench.bytes);
	MUST_OK(ww_stream_synchronize(bench.stream, WW_FOREVER, NULL));
	pattern_verify(bench.a, 3);
	memory_must_be(bench.b, 0);
}

/* Its beginning lies before the memory. */
CASE(copy_refuses_entering, 0)
{
	uint8_t buffer[16] = {0};
	ENDED_BY(tear_down) struct bench bench;

	set_up(&bench, WW_MEMORY_VMM);
	pattern_write(bench.a, 3);
	pattern_write(bench.b, 3);
	refuse_copy(&bench, WW_ERR_INVALID, "", bench.to - 1, buffer, 2);
	refuse_copy(&bench, WW_ERR_INVALID, "", buffer, bench.from - 8, 16);
	MUST_REFUSE(WW_ERR_INVALID, "",
		ww_stream_copy(bench.stream, bench.to - 1, buffer,
			bench.bytes + 2)); /* all of it, and more on both sides */
	MUST_OK(ww_stream_synchronize(bench.stream, WW_FOREVER, NULL));
	pattern_verify(bench.a, 3);
	pattern_verify(bench.b, 3);
}

CASE(copy_refuses_overflow, 0)
{
	uint8_t byte = 0;
	ENDED_BY(tear_down) struct bench bench;

	set_up(&bench, WW_MEMORY_VMM);
	refuse_copy(&bench, WW_ERR_OVERFLOW, "", bench.to, &byte, UINT64_MAX);
	refuse_copy(&bench, WW_ERR_OVERFLOW, "", &byte, bench.from, UINT64_MAX);
	memory_must_be(bench.a, 0);
}

/* Every way of writing into `reader`, which is the same bytes as `bench.a`. */
static void must_refuse_writes(struct bench *bench, ww_memory *reader)
{
	uint8_t *to = ww_memory_pointer(reader);
	uint8_t buffer[64] = {0};

	refuse_fill(bench, WW_ERR_ACCESS, "read", to, 1, 1);
	refuse_fill(bench, WW_ERR_ACCESS, "read", to + 64, 4, 16);
	refuse_copy(bench, WW_ERR_ACCESS, "read", to, buffer, 64);
	refuse_copy(bench, WW_ERR_ACCESS, "read", to, bench->from, 64);
	refuse_copy(bench, WW_ERR_ACCESS, "read", to + bench->bytes - 1, buffer, 1);
	MUST_OK(ww_stream_synchronize(bench->stream, WW_FOREVER, NULL));
	pattern_verify(bench->a, 4);
	pattern_verify(reader, 4);
}

static void refuse_read_only(uint32_t kind)
{
	ENDED_BY(tear_down) struct bench bench;
	OWN(memory) ww_memory *reader;

	set_up(&bench, kind);
	pattern_write(bench.a, 4);
	reader = memory_reimport(bench.a, bench.device, WW_ACCESS_READ);
	MUST_EQUAL(WW_ACCESS_READ, memory_info(reader).access);
	must_refuse_writes(&bench, reader);
}

CASE_CALL(copy_refuses_read_only, WW_CAP_EXPORT, refuse_read_only(WW_MEMORY_VMM))
CASE_CALL(copy_read_only_host_kind, WW_CAP_HOST_READ_ONLY, refuse_read_only(WW_MEMORY_HOST))

CASE(copy_from_read_only, WW_CAP_EXPORT)
{
	ENDED_BY(tear_down) struct bench bench;
	OWN(memory) ww_memory *reader;

	set_up(&bench, WW_MEMORY_VMM);
	pattern_write(bench.a, 6);
	reader = memory_reimport(bench.a, bench.device, WW_ACCESS_READ);
	MUST_OK(ww_stream_copy(bench.stream, bench.from, ww_memory_pointer(reader), bench.bytes));
	MUST_OK(ww_stream_synchronize(bench.stream, WW_FOREVER, NULL));
	pattern_verify(bench.b, 6);
}

/* On host, a copy keeps the library's memory it still needs. */
CASE(copy_keeps_memory_on_host, NEEDS_HOST_BACKEND)
{
	static struct gate gate;
	OWN(heap) uint8_t *expected = malloc(2 * MIB);
	OWN(heap) uint8_t *got = malloc(2 * MIB);
	ENDED_BY(tear_down) struct bench bench;

	MUST(expected && got);
	set_up(&bench, WW_MEMORY_VMM);
	pattern_write(bench.b, 8);
	pattern_make(expected, 2 * MIB, 8);
	gate_close(&gate, bench.stream);
	MUST_OK(ww_stream_copy(bench.stream, bench.to, bench.from, 2 * MIB));
	MUST_OK(ww_stream_copy(bench.stream, got, bench.to, 2 * MIB));
	bench.a = ww_memory_unref(bench.a);
	bench.b = ww_memory_unref(bench.b);
	gate_open(&gate);
	MUST_OK(ww_stream_synchronize(bench.stream, WW_FOREVER, NULL));
	MUST_MATCH(expected, got, 2 * MIB);
}

/* A stream of the CPU cannot reach the memory of a GPU. */
CASE(copy_host_stream_refuses_gpu_memory, NEEDS_CUDA)
{
	ENDED_BY(tear_down) struct bench bench;
	OWN(device) ww_device *host;
	OWN(stream) ww_stream *stream;
	uint8_t buffer[64] = {0};

	set_up(&bench, WW_MEMORY_VMM);
	MUST_OK(ww_device_open("host", &host));
	stream = stream_make(host);
	MUST_REFUSE(WW_ERR_INVALID, "", ww_stream_copy(stream, buffer, bench.from, 64));
	MUST_REFUSE(WW_ERR_INVALID, "", ww_stream_copy(stream, bench.to, buffer, 64));
	MUST_REFUSE(WW_ERR_INVALID, "", ww_stream_fill(stream, bench.to, 1, 1, 64));
	MUST_OK(ww_stream_synchronize(stream, WW_FOREVER, NULL));
	memory_must_be(bench.a, 0);
}

CASE(copy_misuse, NEEDS_MISUSE_STATUS)
{
	uint8_t byte = 0;
	ENDED_BY(tear_down) struct bench bench;

	set_up(&bench, WW_MEMORY_VMM);
	MUST_REFUSE(WW_ERR_INVALID, "", ww_stream_copy(NULL, bench.to, &byte, 1));
	refuse_copy(&bench, WW_ERR_INVALID, "", NULL, &byte, 1);
	refuse_copy(&bench, WW_ERR_INVALID, "", bench.to, NULL, 1);
	MUST_REFUSE(WW_ERR_INVALID, "", ww_stream_fill(NULL, bench.to, 0, 1, 1));
	refuse_fill(&bench, WW_ERR_INVALID, "", NULL, 1, 1);
}

/* Fills `count` values behind `offset` and checks every byte around. */
static void fill_and_check(struct bench *bench, uint64_t offset, uint32_t value,
	uint32_t value_bytes, uint64_t count)
{
	uint64_t bytes = count * value_bytes;
	OWN(heap) uint8_t *expected = malloc(bench->bytes);
	OWN(heap) uint8_t *got = malloc(bench->bytes);

	MUST(expected && got);
	memset(expected, 0xa5, bench->bytes);
	for (uint64_t i = 0; i < bytes; i++)
		expected[offset + i] = ((const uint8_t *)&value)[i % value_bytes];
	MUST_OK(ww_stream_fill(bench->stream, bench->to, 0xa5, 1, bench->bytes));
	MUST_OK(ww_stream_fill(bench->stream, bench->to + offset, value, value_bytes, count));
	MUST_OK(ww_stream_synchronize(bench->stream, WW_FOREVER, NULL));
	memory_get(bench->a, 0, got, bench->bytes);
	MUST_MATCH(expected, got, bench->bytes);
}

CASE(fill_values, 0)
{
	ENDED_BY(tear_down) struct bench bench;

	set_up(&bench, WW_MEMORY_VMM);
	/* The value's low bytes count, whatever stands above them. */
	fill_and_check(&bench, 0, 0x12345678, 1, 100);
	fill_and_check(&bench, 2, 0x12345678, 2, 100);
	fill_and_check(&bench, 4, 0x12345678, 4, 100);
	fill_and_check(&bench, 8, UINT32_MAX, 4, 1);
	fill_and_check(&bench, 8, 0, 4, 1);
}

CASE(fill_counts, 0)
{
	ENDED_BY(tear_down) struct bench bench;

	set_up(&bench, WW_MEMORY_VMM);
	fill_and_check(&bench, 1, 0x81, 1, 1);
	fill_and_check(&bench, 3, 0x82, 1, 2 * MIB + 1);
	fill_and_check(&bench, 6, 0x8384, 2, 12345);
	fill_and_check(&bench, 0, 0x85868788, 4, bench.bytes / 4);
}

CASE(fill_host_kind, WW_CAP_HOST_MEMORY)
{
	ENDED_BY(tear_down) struct bench bench;

	set_up(&bench, WW_MEMORY_HOST);
	fill_and_check(&bench, 4, 0x01020304, 4, 1000);
	fill_and_check(&bench, bench.bytes - 1, 0x99, 1, 1);
}

CASE(fill_refuses_misaligned, 0)
{
	ENDED_BY(tear_down) struct bench bench;

	set_up(&bench, WW_MEMORY_VMM);
	refuse_fill(&bench, WW_ERR_INVALID, "align", bench.to + 1, 2, 1);
	for (uint64_t offset = 1; offset < 4; offset++)
		refuse_fill(&bench, WW_ERR_INVALID, "align", bench.to + offset, 4, 1);
	MUST_OK(ww_stream_synchronize(bench.stream, WW_FOREVER, NULL));
	memory_must_be(bench.a, 0);
}

CASE(fill_refuses_value_bytes, 0)
{
	static const uint32_t wrong[] = {0, 3, 5, 8, 16, UINT32_MAX};
	ENDED_BY(tear_down) struct bench bench;

	set_up(&bench, WW_MEMORY_VMM);
	for (size_t i = 0; i < CHECK_COUNT(wrong); i++)
		refuse_fill(&bench, WW_ERR_INVALID, "1, 2 or 4", bench.to, wrong[i], 1);
	MUST_OK(ww_stream_synchronize(bench.stream, WW_FOREVER, NULL));
	memory_must_be(bench.a, 0);
}

CASE(fill_refuses_leaving, 0)
{
	ENDED_BY(tear_down) struct bench bench;

	set_up(&bench, WW_MEMORY_VMM);
	refuse_fill(&bench, WW_ERR_INVALID, "", bench.to, 1, bench.bytes + 1);
	refuse_fill(&bench, WW_ERR_INVALID, "", bench.to + 4, 4, bench.bytes / 4);
	refuse_fill(&bench, WW_ERR_INVALID, "", bench.to - 4, 4, 2);
	MUST_OK(ww_stream_synchronize(bench.stream, WW_FOREVER, NULL));
	memory_must_be(bench.a, 0);
}

CASE(fill_refuses_overflow, 0)
{
	ENDED_BY(tear_down) struct bench bench;

	set_up(&bench, WW_MEMORY_VMM);
	refuse_fill(&bench, WW_ERR_OVERFLOW, "", bench.to, 4, UINT64_MAX / 4 + 1);
	refuse_fill(&bench, WW_ERR_OVERFLOW, "", bench.to, 2, UINT64_MAX);
	refuse_fill(&bench, WW_ERR_OVERFLOW, "", bench.to, 1, UINT64_MAX);
	memory_must_be(bench.a, 0);
}

static void refuse_fill_read_only(uint32_t kind)
{
	ENDED_BY(tear_down) struct bench bench;
	OWN(memory) ww_memory *reader;

	set_up(&bench, kind);
	pattern_write(bench.a, 7);
	reader = memory_reimport(bench.a, bench.device, WW_ACCESS_READ);
	for (uint32_t value_bytes = 1; value_bytes <= 4; value_bytes *= 2)
		refuse_fill(&bench, WW_ERR_ACCESS, "read", ww_memory_pointer(reader), value_bytes,
			bench.bytes / value_bytes);
	MUST_OK(ww_stream_synchronize(bench.stream, WW_FOREVER, NULL));
	pattern_verify(bench.a, 7);
	/* The mapping beside it is still writable. */
	MUST_OK(ww_stream_fill(bench.stream, bench.to, 0x31, 1, bench.bytes));
	MUST_OK(ww_stream_synchronize(bench.stream, WW_FOREVER, NULL));
	memory_must_be(reader, 0x31);
}

CASE_CALL(fill_refuses_read_only, WW_CAP_EXPORT, refuse_fill_read_only(WW_MEMORY_VMM))
CASE_CALL(fill_refuses_read_only_host_kind, WW_CAP_HOST_READ_ONLY,
	refuse_fill_read_only(WW_MEMORY_HOST))
