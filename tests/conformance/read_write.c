/* SPDX-License-Identifier: Apache-2.0 */
/*
 * read_write.c - ww_memory_write() and ww_memory_read(): bytes without a stream of the caller
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "conformance/conformance.h"
#include "conformance/foreign.h"
#include "support/timeline.h"

#define KEPT_BYTES 64 /* on both sides of what is written */
#define MANY_WAITS 32 /* more than a GPU has hardware queues, unless it was told otherwise */
#define SHORT_NS   UINT64_C(1000000)
#define NO_LIMIT   WW_FOREVER, NULL

static const uint64_t sizes[] = {1, 7, 4096, 65537, 2 * MIB + 1};

/* Writes a span, looks at what is around it too, and reads it again by itself. */
static void write_and_read(ww_memory *memory, uint64_t offset, uint64_t bytes)
{
	uint64_t total = bytes + 2 * KEPT_BYTES;
	OWN(heap) uint8_t *expected = malloc(total);
	OWN(heap) uint8_t *got = malloc(total);

	MUST(expected && got);
	memset(expected, 0x77, total);
	MUST_OK(ww_memory_write(memory, offset - KEPT_BYTES, expected, total, NO_LIMIT));
	pattern_make(expected + KEPT_BYTES, bytes, (uint32_t)bytes);
	MUST_OK(ww_memory_write(memory, offset, expected + KEPT_BYTES, bytes, NO_LIMIT));
	MUST_OK(ww_memory_read(memory, offset - KEPT_BYTES, got, total, NO_LIMIT));
	MUST_MATCH(expected, got, total);
	memset(got, 0xcc, total);
	MUST_OK(ww_memory_read(memory, offset, got + 1, bytes, 0, NULL));
	MUST_MATCH(expected + KEPT_BYTES, got + 1, bytes);
	MUST(got[0] == 0xcc && got[bytes + 1] == 0xcc);
}

static void write_and_read_kind(uint32_t kind)
{
	OWN(device) ww_device *device = subject_open();
	OWN(memory) ww_memory *memory = memory_make(device, kind, 4 * MIB);

	for (size_t i = 0; i < CHECK_COUNT(sizes); i++) {
		write_and_read(memory, KEPT_BYTES, sizes[i]);
		write_and_read(memory, 4 * MIB - KEPT_BYTES - sizes[i], sizes[i]);
	}
}

CASE_CALL(write_and_read_spans, 0, write_and_read_kind(WW_MEMORY_VMM))
CASE_CALL(write_and_read_spans_host_kind, WW_CAP_HOST_MEMORY, write_and_read_kind(WW_MEMORY_HOST))

/* What one mapping is written the others have, and streams. */
DEVICE_CASE(write_is_seen_by_all, WW_CAP_EXPORT)
{
	OWN(memory) ww_memory *memory = memory_make(device, WW_MEMORY_VMM, 2 * MIB);
	OWN(memory) ww_memory *reader = memory_reimport(memory, device, WW_ACCESS_READ);
	OWN(stream) ww_stream *stream = stream_make(device);
	uint32_t number = 0;

	for (uint32_t i = 1; i < 100; i++) {
		MUST_OK(ww_memory_write(memory, MIB, &i, sizeof(i), NO_LIMIT));
		MUST_OK(ww_memory_read(reader, MIB, &number, sizeof(number), NO_LIMIT));
		MUST_EQUAL(i, number);
		MUST_OK(ww_stream_copy(stream, ww_memory_pointer(memory),
			(uint8_t *)ww_memory_pointer(reader) + MIB, sizeof(i)));
		MUST_OK(ww_stream_synchronize(stream, NO_LIMIT));
		MUST_OK(ww_memory_read(reader, 0, &number, sizeof(number), NO_LIMIT));
		MUST_EQUAL(i, number);
	}
}

/* A slice is a memory: offsets count from its start, and it ends where the slice ends. */
DEVICE_CASE(write_to_slice, WW_CAP_EXPORT)
{
	ww_memory *slices[2];
	OWN(pool) ww_pool *pool;
	uint8_t byte = 1;

	MUST_OK(ww_pool_create(device, NULL, &pool));
	for (size_t i = 0; i < CHECK_COUNT(slices); i++)
		MUST_OK(ww_pool_alloc(pool, 4096, 0, 0, NULL, &slices[i]));
	pattern_write(slices[0], 1);
	pattern_write(slices[1], 2);
	MUST_REFUSE(WW_ERR_INVALID, "leave", ww_memory_write(slices[0], 4096, &byte, 1, NO_LIMIT));
	MUST_REFUSE(WW_ERR_INVALID, "leave", ww_memory_read(slices[0], 4095, &byte, 2, NO_LIMIT));
	pattern_verify(slices[0], 1);
	pattern_verify(slices[1], 2);
	for (size_t i = 0; i < CHECK_COUNT(slices); i++)
		ww_memory_unref(slices[i]);
}

CASE(write_to_wrapped, WW_CAP_FOREIGN)
{
	for (size_t i = 0; i < FOREIGN_KINDS; i++) {
		struct allocation allocation;
		ww_device *device = foreign_begin(&allocation, foreign_shareable[i]);
		ww_memory *memory = foreign_wrap(device, &allocation, FOREIGN_OFFSET, FOREIGN_SPAN);
		uint8_t byte = 0;

		write_and_read(memory, 1000, 5000);
		MUST_REFUSE(WW_ERR_INVALID, "leave",
			ww_memory_write(memory, FOREIGN_SPAN, &byte, 1, NO_LIMIT));
		ww_memory_unref(memory);
		foreign_end(device, &allocation);
	}
}

static void refuse_spans(uint32_t kind)
{
	OWN(device) ww_device *device = subject_open();
	OWN(memory) ww_memory *memory = memory_make(device, kind, 2 * MIB);
	uint8_t buffer[16];

	memset(buffer, 0xcc, sizeof(buffer));
	MUST_REFUSE(WW_ERR_INVALID, "leave",
		ww_memory_write(memory, 2 * MIB - 1, buffer, 2, NO_LIMIT));
	MUST_REFUSE(WW_ERR_INVALID, "leave", ww_memory_write(memory, 2 * MIB, buffer, 1, NO_LIMIT));
	MUST_REFUSE(WW_ERR_INVALID, "leave",
		ww_memory_read(memory, 2 * MIB - 15, buffer, 16, NO_LIMIT));
	MUST_REFUSE(WW_ERR_OVERFLOW, "64 bits",
		ww_memory_write(memory, 1, buffer, UINT64_MAX, NO_LIMIT));
	MUST_REFUSE(WW_ERR_OVERFLOW, "64 bits",
		ww_memory_read(memory, UINT64_MAX, buffer, 1, NO_LIMIT));
	for (size_t i = 0; i < sizeof(buffer); i++)
		MUST_EQUAL(0xcc, buffer[i]);
	memory_must_be(memory, 0);
}

CASE_CALL(write_and_read_refuse_spans, 0, refuse_spans(WW_MEMORY_VMM))
CASE_CALL(write_and_read_refuse_spans_host_kind, WW_CAP_HOST_MEMORY, refuse_spans(WW_MEMORY_HOST))

static void refuse_read_only(uint32_t kind)
{
	OWN(device) ww_device *device = subject_open();
	OWN(memory) ww_memory *memory = memory_make(device, kind, 2 * MIB);
	OWN(memory) ww_memory *reader = memory_reimport(memory, device, WW_ACCESS_READ);
	uint8_t byte = 0;

	pattern_write(memory, 3);
	MUST_REFUSE(WW_ERR_ACCESS, "read-only", ww_memory_write(reader, 0, &byte, 1, NO_LIMIT));
	MUST_REFUSE(WW_ERR_ACCESS, "read-only",
		ww_memory_write(reader, 2 * MIB - 1, &byte, 1, 0, NULL));
	pattern_verify(reader, 3);
	pattern_verify(memory, 3);
}

CASE_CALL(write_refuses_read_only, WW_CAP_EXPORT, refuse_read_only(WW_MEMORY_VMM))
CASE_CALL(write_refuses_read_only_host_kind, WW_CAP_HOST_READ_ONLY,
	refuse_read_only(WW_MEMORY_HOST))

DEVICE_CASE(write_and_read_nothing, 0)
{
	OWN(memory) ww_memory *memory = memory_make(device, WW_MEMORY_VMM, 2 * MIB);
	uint8_t byte = 0x11;

	MUST_OK(ww_memory_write(memory, 0, &byte, 0, 0, NULL));
	MUST_OK(ww_memory_write(memory, 2 * MIB + 1, NULL, 0, NO_LIMIT));
	MUST_OK(ww_memory_read(memory, UINT64_MAX, NULL, 0, NO_LIMIT));
	MUST_OK(ww_memory_read(memory, 0, &byte, 0, NO_LIMIT));
	MUST_EQUAL(0x11, byte);
	memory_must_be(memory, 0);
}

DEVICE_CASE(write_and_read_misuse, NEEDS_MISUSE_STATUS)
{
	OWN(memory) ww_memory *memory = memory_make(device, WW_MEMORY_VMM, 2 * MIB);
	uint8_t byte = 0;

	MUST_REFUSE(WW_ERR_INVALID, "NULL", ww_memory_write(NULL, 0, &byte, 1, NO_LIMIT));
	MUST_REFUSE(WW_ERR_INVALID, "NULL", ww_memory_write(memory, 0, NULL, 1, NO_LIMIT));
	MUST_REFUSE(WW_ERR_INVALID, "NULL", ww_memory_read(NULL, 0, &byte, 1, NO_LIMIT));
	MUST_REFUSE(WW_ERR_INVALID, "NULL", ww_memory_read(memory, 0, NULL, 1, NO_LIMIT));
}

/* --- beside streams --- */

/* Work on the memory stands behind a wait: what is written and read meanwhile comes before it. */
static void pass_by(ww_stream *stream, ww_memory *memory)
{
	static struct gate gate;
	uint8_t *pointer = ww_memory_pointer(memory);
	uint32_t number = 0x12345678;
	uint32_t got = 0;

	gate_close(&gate, stream);
	MUST_OK(ww_stream_fill(stream, pointer, 0, 4, 1));
	gate_reached(&gate);
	MUST_OK(ww_memory_write(memory, 0, &number, sizeof(number), NO_LIMIT));
	MUST_OK(ww_memory_read(memory, 0, &got, sizeof(got), NO_LIMIT));
	MUST_EQUAL(number, got);
	MUST_STATUS(WW_NOT_READY, ww_stream_query(stream));
	gate_open(&gate);
	MUST_OK(ww_stream_synchronize(stream, NO_LIMIT));
	MUST_OK(ww_memory_read(memory, 0, &got, sizeof(got), NO_LIMIT));
	MUST_EQUAL(0, got);
}

static void pass_by_kind(uint32_t kind)
{
	OWN(device) ww_device *device = subject_open();
	OWN(memory) ww_memory *memory = memory_make(device, kind, 2 * MIB);
	OWN(stream) ww_stream *stream = stream_make(device);

	pass_by(stream, memory);
}

CASE_CALL(write_waits_for_no_stream, 0, pass_by_kind(WW_MEMORY_VMM))
CASE_CALL(write_waits_for_no_stream_host_kind, WW_CAP_HOST_MEMORY, pass_by_kind(WW_MEMORY_HOST))

/* CUDA's default stream, which streams that are not like ours wait for. */
DEVICE_CASE(write_waits_for_no_default_stream, NEEDS_CUDA)
{
	OWN(memory) ww_memory *memory = memory_make(device, WW_MEMORY_VMM, 2 * MIB);
	ww_stream *stream;

	allocation_enter();
	MUST_OK(ww_stream_wrap(device, NULL, &stream));
	pass_by(stream, memory);
	ww_stream_unref(stream);
	allocation_leave();
}

/*
 * For a signal that is not even submitted, as far as it depends on what was written meanwhile. A
 * client of MPS has fewer hardware queues, and a write goes on as long as one is left.
 */
DEVICE_CASE(write_waits_for_no_signal, WW_CAP_STREAM_VALUE)
{
	OWN(memory) ww_memory *memory = memory_make(device, WW_MEMORY_VMM, 2 * MIB);
	OWN(timeline) ww_timeline *timeline = timeline_make(0, 0);
	size_t count = device_info(device).mps == WW_MPS_ON ? 1 : 3;
	ww_stream *streams[3];
	uint64_t number = 41;
	uint64_t got = 0;

	for (size_t i = 0; i < count; i++) {
		streams[i] = stream_make(device);
		MUST_OK(ww_timeline_stream_wait(timeline, streams[i], 1, WW_WAIT_UNSUBMITTED, 0,
			NULL));
		MUST_OK(ww_stream_copy(streams[i],
			(uint8_t *)ww_memory_pointer(memory) + 8 * (i + 1),
			ww_memory_pointer(memory), sizeof(number)));
	}
	MUST_OK(ww_memory_write(memory, 0, &number, sizeof(number), NO_LIMIT));
	MUST_OK(ww_memory_read(memory, 8, &got, sizeof(got), NO_LIMIT));
	MUST_EQUAL(0, got);
	MUST_OK(ww_timeline_signal(timeline, 1));
	for (size_t i = 0; i < count; i++) {
		MUST_OK(ww_stream_synchronize(streams[i], NO_LIMIT));
		MUST_OK(ww_memory_read(memory, 8 * (i + 1), &got, sizeof(got), NO_LIMIT));
		MUST_EQUAL(number, got);
		ww_stream_unref(streams[i]);
	}
}

/* --- several threads --- */

struct writer {
	pthread_t thread;
	ww_memory *memory;
	uint64_t offset;
	uint32_t seed;
};

static void *write_often(void *context)
{
	const struct writer *writer = context;
	uint8_t expected[5000];
	uint8_t got[5000];

	for (uint32_t i = 0; i < 100; i++) {
		pattern_make(expected, sizeof(expected), writer->seed + i);
		MUST_OK(ww_memory_write(writer->memory, writer->offset, expected, sizeof(expected),
			NO_LIMIT));
		MUST_OK(ww_memory_read(writer->memory, writer->offset, got, sizeof(got), NO_LIMIT));
		MUST_MATCH(expected, got, sizeof(expected));
	}
	return NULL;
}

DEVICE_CASE(write_and_read_by_threads, 0)
{
	static struct writer writers[6];
	OWN(memory) ww_memory *memory = memory_make(device, WW_MEMORY_VMM, 2 * MIB);

	for (uint32_t i = 0; i < CHECK_COUNT(writers); i++) {
		writers[i] = (struct writer){.memory = memory,
			.offset = i * 5000,
			.seed = i * 1000};
		MUST(!pthread_create(&writers[i].thread, NULL, write_often, &writers[i]));
	}
	for (size_t i = 0; i < CHECK_COUNT(writers); i++)
		pthread_join(writers[i].thread, NULL);
}

/* --- an end before it begins --- */

/*
 * Two threads write while the GPU's hardware queues are full: one copy has begun, the other waits
 * its turn.
 */
struct rivals {
	ww_memory *memory;
	uint64_t timeout_ns;
	ww_cancel *cancel;
	sem_t done;
	_Atomic uint32_t entered;
	pthread_t threads[2];
	ww_status statuses[2];
};

static void *write_as_rival(void *context)
{
	struct rivals *rivals = context;
	uint32_t number = atomic_fetch_add(&rivals->entered, 1);
	uint8_t byte = 1;

	rivals->statuses[number] = ww_memory_write(rivals->memory, number, &byte, 1,
		rivals->timeout_ns, rivals->cancel);
	sem_post(&rivals->done);
	return NULL;
}

static void hold_up_all(ww_stream **streams, ww_timeline *timeline, uint64_t value)
{
	for (size_t i = 0; i < MANY_WAITS; i++)
		MUST_OK(ww_timeline_stream_wait(timeline, streams[i], value, WW_WAIT_UNSUBMITTED, 0,
			NULL));
}

static void let_one_go(struct rivals *rivals, ww_stream **streams, ww_timeline *timeline,
	uint64_t value, ww_status expected)
{
	uint8_t zeros[2] = {0, 0};
	uint8_t got[2];

	MUST_OK(ww_memory_write(rivals->memory, 0, zeros, 2, NO_LIMIT));
	atomic_store(&rivals->entered, 0);
	MUST_CALL(sem_init(&rivals->done, 0, 0));
	hold_up_all(streams, timeline, value);
	for (size_t i = 0; i < 2; i++)
		MUST(!pthread_create(&rivals->threads[i], NULL, write_as_rival, rivals));
	MUST(gate_wait(&rivals->done));
	MUST(sem_trywait(&rivals->done) != 0); /* the other one has begun, so it is waited for */
	MUST_OK(ww_timeline_signal(timeline, value));
	for (size_t i = 0; i < 2; i++)
		pthread_join(rivals->threads[i], NULL);
	MUST_OK(ww_memory_read(rivals->memory, 0, got, 2, NO_LIMIT));
	for (size_t i = 0; i < 2; i++)
		MUST_EQUAL(rivals->statuses[i] == WW_OK, got[i]);
	MUST_EQUAL(WW_OK + expected, rivals->statuses[0] + rivals->statuses[1]);
	MUST(rivals->statuses[0] == WW_OK || rivals->statuses[1] == WW_OK);
}

DEVICE_CASE(write_in_turn_can_be_given_up, WW_CAP_STREAM_VALUE | NEEDS_CUDA)
{
	static struct rivals rivals;
	static ww_stream *streams[MANY_WAITS];
	OWN(timeline) ww_timeline *timeline = timeline_make(0, 0);

	rivals.memory = memory_make(device, WW_MEMORY_VMM, 2 * MIB);
	for (size_t i = 0; i < MANY_WAITS; i++)
		streams[i] = stream_make(device);
	rivals.timeout_ns = 0;
	rivals.cancel = NULL;
	let_one_go(&rivals, streams, timeline, 1, WW_TIMED_OUT);
	rivals.timeout_ns = SHORT_NS;
	let_one_go(&rivals, streams, timeline, 2, WW_TIMED_OUT);
	rivals.timeout_ns = WW_FOREVER;
	MUST_OK(ww_cancel_create(&rivals.cancel));
	ww_cancel_set(rivals.cancel);
	let_one_go(&rivals, streams, timeline, 3, WW_CANCELLED);
	ww_cancel_unref(rivals.cancel);
	for (size_t i = 0; i < MANY_WAITS; i++)
		ww_stream_unref(streams[i]);
	ww_memory_unref(rivals.memory);
}
