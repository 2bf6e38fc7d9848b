/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream.c - order, asynchrony, independence and life of streams
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "conformance/conformance.h"
#include "support/driver.h"

#define KEPT_BYTES 4096

DEVICE_CASE(stream_new_is_idle, 0)
{
	ww_stream *stream = stream_make(device);

	MUST_STATUS(WW_OK, ww_stream_query(stream));
	MUST_OK(ww_stream_synchronize(stream, WW_FOREVER, NULL));
	MUST(!ww_stream_unref(stream));
	MUST(!ww_stream_unref(NULL));
}

DEVICE_CASE(stream_native, 0)
{
	OWN(stream) ww_stream *stream = stream_make(device);

	MUST_EQUAL(subject_is_cuda(), ww_stream_native(stream) != NULL);
}

CASE(stream_keeps_device, 0)
{
	ww_device *device = subject_open();
	OWN(stream) ww_stream *stream = stream_make(device);
	static sem_t ran;

	MUST_CALL(sem_init(&ran, 0, 0));
	ww_device_unref(device);
	MUST_OK(ww_stream_call(stream, gate_post, &ran));
	MUST_OK(ww_stream_synchronize(stream, WW_FOREVER, NULL));
	MUST_CALL(sem_trywait(&ran));
}

struct step {
	int *next;
	int number;
	bool in_order;
};

static void take_step(void *context)
{
	struct step *step = context;

	step->in_order = *step->next == step->number;
	*step->next += 1;
}

DEVICE_CASE(stream_calls_in_order, 0)
{
	static struct step steps[1000];
	static int next;
	OWN(stream) ww_stream *stream = stream_make(device);

	next = 0;
	for (int i = 0; i < (int)CHECK_COUNT(steps); i++) {
		steps[i] = (struct step){.next = &next, .number = i};
		MUST_OK(ww_stream_call(stream, take_step, &steps[i]));
	}
	MUST_OK(ww_stream_synchronize(stream, WW_FOREVER, NULL));
	MUST_EQUAL(CHECK_COUNT(steps), next);
	for (size_t i = 0; i < CHECK_COUNT(steps); i++)
		MUST(steps[i].in_order);
}

/* What a function saw in the CPU's memory at its turn. */
struct sighting {
	const uint8_t *where;
	uint8_t seen;
};

static void look(void *context)
{
	struct sighting *sighting = context;

	sighting->seen = *sighting->where;
}

CASE(stream_orders_copies_and_calls, 0)
{
	enum {
		ROUNDS = 50
	};
	static struct sighting sightings[ROUNDS];
	ww_device *device = subject_open();
	ww_stream *stream = stream_make(device);
	ww_memory *a = memory_make(device, WW_MEMORY_VMM, KEPT_BYTES);
	ww_memory *b = memory_make(device, WW_MEMORY_VMM, KEPT_BYTES);
	static uint8_t out[KEPT_BYTES];

	memset(out, 0, sizeof(out));
	for (int i = 0; i < ROUNDS; i++) {
		sightings[i] = (struct sighting){.where = &out[KEPT_BYTES - 1]};
		MUST_OK(ww_stream_fill(stream, ww_memory_pointer(a), (uint32_t)i + 1, 1,
			KEPT_BYTES));
		MUST_OK(ww_stream_copy(stream, ww_memory_pointer(b), ww_memory_pointer(a),
			KEPT_BYTES));
		MUST_OK(ww_stream_copy(stream, out, ww_memory_pointer(b), KEPT_BYTES));
		MUST_OK(ww_stream_call(stream, look, &sightings[i]));
	}
	MUST_OK(ww_stream_synchronize(stream, WW_FOREVER, NULL));
	for (int i = 0; i < ROUNDS; i++)
		MUST_EQUAL(i + 1, sightings[i].seen);
	ww_memory_unref(a);
	ww_memory_unref(b);
	ww_stream_unref(stream);
	ww_device_unref(device);
}

DEVICE_CASE(stream_is_asynchronous, 0)
{
	static struct gate gate;
	OWN(stream) ww_stream *stream = stream_make(device);
	OWN(stream) ww_stream *other = stream_make(device);
	OWN(memory) ww_memory *from = memory_make(device, WW_MEMORY_VMM, 2 * MIB);
	OWN(memory) ww_memory *to = memory_make(device, WW_MEMORY_VMM, 2 * MIB);
	uint8_t byte = 0xff;

	pattern_write(from, 1);
	gate_close(&gate, stream);
	MUST_OK(ww_stream_copy(stream, ww_memory_pointer(to), ww_memory_pointer(from), 2 * MIB));
	gate_reached(&gate);
	MUST_STATUS(WW_NOT_READY, ww_stream_query(stream));
	MUST_OK(ww_stream_copy(other, &byte, (uint8_t *)ww_memory_pointer(to) + 12345, 1));
	MUST_OK(ww_stream_synchronize(other, WW_FOREVER, NULL));
	MUST_EQUAL(0, byte);
	MUST_STATUS(WW_NOT_READY, ww_stream_query(stream));
	gate_open(&gate);
	MUST_OK(ww_stream_synchronize(stream, WW_FOREVER, NULL));
	MUST_STATUS(WW_OK, ww_stream_query(stream));
	pattern_verify(to, 1);
}

DEVICE_CASE(stream_fill_is_asynchronous, 0)
{
	static struct gate gate;
	OWN(stream) ww_stream *stream = stream_make(device);
	OWN(stream) ww_stream *other = stream_make(device);
	OWN(memory) ww_memory *memory = memory_make(device, WW_MEMORY_VMM, 2 * MIB);
	uint8_t byte = 0xff;

	gate_close(&gate, stream);
	MUST_OK(ww_stream_fill(stream, ww_memory_pointer(memory), 0x5a, 1, 2 * MIB));
	gate_reached(&gate);
	MUST_OK(ww_stream_copy(other, &byte, ww_memory_pointer(memory), 1));
	MUST_OK(ww_stream_synchronize(other, WW_FOREVER, NULL));
	MUST_EQUAL(0, byte);
	MUST_STATUS(WW_NOT_READY, ww_stream_query(stream));
	gate_open(&gate);
	MUST_OK(ww_stream_synchronize(stream, WW_FOREVER, NULL));
	memory_must_be(memory, 0x5a);
}

DEVICE_CASE(stream_two_are_independent, 0)
{
	static struct gate gates[2];
	OWN(stream) ww_stream *a = stream_make(device);
	OWN(stream) ww_stream *b = stream_make(device);

	gate_close(&gates[0], a);
	gate_reached(&gates[0]);
	MUST_STATUS(WW_OK, ww_stream_query(b));
	MUST_OK(ww_stream_synchronize(b, WW_FOREVER, NULL));
	gate_open(&gates[0]);
	gate_close(&gates[1], b);
	gate_reached(&gates[1]);
	MUST_OK(ww_stream_synchronize(a, WW_FOREVER, NULL));
	MUST_STATUS(WW_NOT_READY, ww_stream_query(b));
	gate_open(&gates[1]);
	MUST_OK(ww_stream_synchronize(b, WW_FOREVER, NULL));
}

DEVICE_CASE(stream_many, 0)
{
	ww_stream *streams[32];
	static sem_t ran;

	MUST_CALL(sem_init(&ran, 0, 0));
	for (size_t i = 0; i < CHECK_COUNT(streams); i++)
		streams[i] = stream_make(device);
	for (size_t i = 0; i < CHECK_COUNT(streams); i++)
		MUST_OK(ww_stream_call(streams[i], gate_post, &ran));
	for (size_t i = 0; i < CHECK_COUNT(streams); i++) {
		MUST(gate_wait(&ran));
		MUST_OK(ww_stream_synchronize(streams[i], WW_FOREVER, NULL));
	}
	for (size_t i = 0; i < CHECK_COUNT(streams); i++)
		ww_stream_unref(streams[i]);
}

struct caller {
	pthread_t thread;
	ww_stream *stream;
	int next;
	struct step steps[200];
};

static void *call_many(void *context)
{
	struct caller *caller = context;

	for (size_t i = 0; i < CHECK_COUNT(caller->steps); i++) {
		caller->steps[i] = (struct step){.next = &caller->next, .number = (int)i};
		MUST_OK(ww_stream_call(caller->stream, take_step, &caller->steps[i]));
	}
	return NULL;
}

DEVICE_CASE(stream_calls_from_threads, 0)
{
	static struct caller callers[4];
	OWN(stream) ww_stream *stream = stream_make(device);

	for (size_t i = 0; i < CHECK_COUNT(callers); i++) {
		callers[i].stream = stream;
		callers[i].next = 0;
		MUST(!pthread_create(&callers[i].thread, NULL, call_many, &callers[i]));
	}
	for (size_t i = 0; i < CHECK_COUNT(callers); i++)
		pthread_join(callers[i].thread, NULL);
	MUST_OK(ww_stream_synchronize(stream, WW_FOREVER, NULL));
	for (size_t i = 0; i < CHECK_COUNT(callers); i++)
		for (size_t n = 0; n < CHECK_COUNT(callers[i].steps); n++)
			MUST(callers[i].steps[n].in_order);
}

static void *open_gate(void *gate)
{
	gate_reached(gate);
	gate_open(gate);
	return NULL;
}

DEVICE_CASE(stream_unref_runs_what_was_enqueued, 0)
{
	static struct gate gate;
	static sem_t ran;
	ww_stream *stream = stream_make(device);
	OWN(memory) ww_memory *memory = memory_make(device, WW_MEMORY_VMM, 2 * MIB);
	pthread_t opener;

	MUST_CALL(sem_init(&ran, 0, 0));
	gate_close(&gate, stream);
	MUST_OK(ww_stream_fill(stream, ww_memory_pointer(memory), 0x77, 1, 2 * MIB));
	MUST_OK(ww_stream_call(stream, gate_post, &ran));
	MUST(!pthread_create(&opener, NULL, open_gate, &gate));
	MUST(!ww_stream_unref(stream));
	MUST_CALL(sem_trywait(&ran)); /* the last unref waits */
	pthread_join(opener, NULL);
	memory_must_be(memory, 0x77);
}

DEVICE_CASE(stream_ref_counts, 0)
{
	ww_stream *stream = stream_make(device);

	MUST(ww_stream_ref(stream) == stream);
	MUST(!ww_stream_unref(stream));
	MUST_OK(ww_stream_synchronize(stream, WW_FOREVER, NULL));
	MUST(!ww_stream_unref(stream));
}

static void look_at_signals(void *context)
{
	pthread_sigmask(SIG_SETMASK, NULL, context);
}

DEVICE_CASE(stream_host_blocks_signals, NEEDS_HOST_BACKEND)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGCHLD, SIGALRM};
	static sigset_t blocked;
	OWN(stream) ww_stream *stream = stream_make(device);
	sigset_t mine;

	sigemptyset(&blocked);
	MUST_OK(ww_stream_call(stream, look_at_signals, &blocked));
	MUST_OK(ww_stream_synchronize(stream, WW_FOREVER, NULL));
	pthread_sigmask(SIG_SETMASK, NULL, &mine);
	for (size_t i = 0; i < CHECK_COUNT(numbers); i++) {
		MUST_EQUAL(1, sigismember(&blocked, numbers[i]));
		MUST_EQUAL(0, sigismember(&mine, numbers[i]));
	}
}

struct waiter {
	ww_stream *stream;
	ww_status status;
	struct ww_error error;
};

static void wait_for_itself(void *context)
{
	struct waiter *waiter = context;

	waiter->status = ww_stream_synchronize(waiter->stream, WW_FOREVER, NULL);
	waiter->error = *ww_error_last();
}

DEVICE_CASE(stream_host_refuses_to_wait_for_itself, NEEDS_HOST_BACKEND)
{
	static struct waiter waiter;

	waiter.stream = stream_make(device);
	MUST_OK(ww_stream_call(waiter.stream, wait_for_itself, &waiter));
	MUST_OK(ww_stream_synchronize(waiter.stream, WW_FOREVER, NULL));
	MUST_STATUS(WW_ERR_INVALID, waiter.status);
	MUST_EQUAL(WW_ERR_INVALID, waiter.error.status);
	MUST(strstr(waiter.error.message, "stream"));
	ww_stream_unref(waiter.stream);
}

struct leaver {
	ww_stream *stream;
	struct gate gate;
	sem_t left;
};

static void leave(void *context)
{
	struct leaver *leaver = context;

	gate_pass(&leaver->gate);
	ww_stream_unref(leaver->stream);
	sem_post(&leaver->left);
}

DEVICE_CASE(stream_host_unref_by_itself, NEEDS_HOST_BACKEND)
{
	static struct leaver leaver;
	static sem_t ran;

	gate_init(&leaver.gate);
	MUST_CALL(sem_init(&leaver.left, 0, 0));
	MUST_CALL(sem_init(&ran, 0, 0));
	leaver.stream = ww_stream_ref(stream_make(device));
	MUST_OK(ww_stream_call(leaver.stream, leave, &leaver));
	MUST_OK(ww_stream_call(leaver.stream, gate_post, &ran));
	ww_stream_unref(leaver.stream);
	gate_open(&leaver.gate);
	MUST(gate_wait(&leaver.left));
	MUST(gate_wait(&ran)); /* what was enqueued behind it still ran */
}

DEVICE_CASE(stream_wrap_unsupported, NEEDS_HOST_BACKEND)
{
	ww_stream *stream = (ww_stream *)&device;

	MUST_REFUSE(WW_ERR_UNSUPPORTED, "host", ww_stream_wrap(device, NULL, &stream));
	MUST(!stream);
}

/* Fills and reads back through the stream. */
static void must_work(ww_device *device, ww_stream *stream)
{
	OWN(memory) ww_memory *memory = memory_make(device, WW_MEMORY_VMM, KEPT_BYTES);
	uint8_t got[KEPT_BYTES];
	static sem_t ran;

	MUST_CALL(sem_init(&ran, 0, 0));
	memset(got, 0, sizeof(got));
	MUST_OK(ww_stream_fill(stream, ww_memory_pointer(memory), 0x42, 1, KEPT_BYTES));
	MUST_OK(ww_stream_copy(stream, got, ww_memory_pointer(memory), KEPT_BYTES));
	MUST_OK(ww_stream_call(stream, gate_post, &ran));
	MUST_OK(ww_stream_synchronize(stream, WW_FOREVER, NULL));
	MUST_STATUS(WW_OK, ww_stream_query(stream));
	MUST_CALL(sem_trywait(&ran));
	for (size_t i = 0; i < sizeof(got); i++)
		MUST_EQUAL(0x42, got[i]);
}

/* A stream made by hand, in the primary context of the device. */
static ww_CUstream make_native(ww_device *device, ww_CUdevice *out_ordinal)
{
	const struct driver *driver = driver_get();
	ww_CUcontext context;
	ww_CUcontext before;
	ww_CUstream native;

	MUST(driver);
	MUST_EQUAL(0, driver->cuDeviceGet(out_ordinal, (int)device_info(device).index));
	MUST_EQUAL(0, driver->cuDevicePrimaryCtxRetain(&context, *out_ordinal));
	MUST_EQUAL(0, driver->cuCtxGetCurrent(&before));
	MUST_EQUAL(0, driver->cuCtxSetCurrent(context));
	MUST_EQUAL(0, driver->cuStreamCreate(&native, WW_CU_STREAM_NON_BLOCKING));
	MUST_EQUAL(0, driver->cuCtxSetCurrent(before));
	return native;
}

static void end_native(ww_CUstream native, ww_CUdevice ordinal)
{
	const struct driver *driver = driver_get();

	MUST_EQUAL(0, driver->cuStreamQuery(native));
	MUST_EQUAL(0, driver->cuStreamDestroy(native));
	MUST_EQUAL(0, driver->cuDevicePrimaryCtxRelease(ordinal));
}

DEVICE_CASE(stream_wrap_works, WW_CAP_STREAM_WRAP | NEEDS_CUDA)
{
	ww_CUdevice ordinal;
	ww_CUstream native = make_native(device, &ordinal);
	ww_stream *stream;

	MUST_OK(ww_stream_wrap(device, native, &stream));
	MUST(ww_stream_native(stream) == native);
	must_work(device, stream);
	ww_stream_unref(stream);
	end_native(native, ordinal); /* it was left alone */
}

DEVICE_CASE(stream_wrap_default_streams, WW_CAP_STREAM_WRAP | NEEDS_CUDA)
{
	void *const natives[] = {NULL, WW_CU_STREAM_LEGACY, WW_CU_STREAM_PER_THREAD};

	for (size_t i = 0; i < CHECK_COUNT(natives); i++) {
		ww_stream *stream;

		MUST_OK(ww_stream_wrap(device, natives[i], &stream));
		MUST(ww_stream_native(stream) == natives[i]);
		must_work(device, stream);
		ww_stream_unref(stream);
	}
}

DEVICE_CASE(stream_wrap_refuses_other_device, WW_CAP_STREAM_WRAP | NEEDS_OTHER_GPU)
{
	OWN(device) ww_device *other = subject_open_other();
	ww_CUdevice ordinal;
	ww_CUstream native = make_native(other, &ordinal);
	ww_stream *stream = (ww_stream *)&device;

	MUST_REFUSE(WW_ERR_INVALID, "stream", ww_stream_wrap(device, native, &stream));
	MUST(!stream);
	end_native(native, ordinal);
}

DEVICE_CASE(stream_misuse, NEEDS_MISUSE_STATUS)
{
	OWN(stream) ww_stream *stream = stream_make(device);

	MUST_REFUSE(WW_ERR_INVALID, "", ww_stream_create(device, NULL));
	MUST_REFUSE(WW_ERR_INVALID, "", ww_stream_create(NULL, &(ww_stream *){NULL}));
	MUST_REFUSE(WW_ERR_INVALID, "", ww_stream_call(stream, NULL, NULL));
	MUST_REFUSE(WW_ERR_INVALID, "", ww_stream_call(NULL, gate_post, NULL));
	MUST_REFUSE(WW_ERR_INVALID, "", ww_stream_synchronize(NULL, WW_FOREVER, NULL));
	MUST_REFUSE(WW_ERR_INVALID, "", ww_stream_query(NULL));
	MUST(!ww_stream_native(NULL));
}
