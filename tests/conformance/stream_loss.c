/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream_loss.c - whose a stream's loss is, how long it lasts, and that a program can go on with
 * the stream
 *
 * Signallers are made by hand (support/timeline.h). What they are named is what the waiters are
 * told.
 */
#include <pthread.h>
#include <string.h>

#include "conformance/conformance.h"
#include "device/cuda/cuda_abi.h"
#include "support/broker_case.h"
#include "support/driver.h"
#include "support/timeline.h"

/* A signaller with one timeline, which streams wait for until it is poisoned. */
struct peer {
	struct signaller signaller;
	ww_timeline *timeline;
};

static void peer_begin(struct peer *peer, const char *name)
{
	signaller_begin(&peer->signaller);
	signaller_name(&peer->signaller, name, 0);
	MUST_OK(ww_timeline_get(scene.broker, name, 0, NULL, &peer->timeline));
}

static void peer_end(struct peer *peer)
{
	ww_timeline_unref(peer->timeline);
	signaller_end(&peer->signaller);
}

static void wait_for(struct peer *peer, ww_stream *stream, uint64_t value)
{
	MUST_OK(ww_timeline_stream_wait(peer->timeline, stream, value, WW_WAIT_UNSUBMITTED, 0,
		NULL));
}

/* Has the stream wait for a peer that dies. */
static void lose(ww_stream *stream, const char *name)
{
	ENDED_BY(peer_end) struct peer peer;

	peer_begin(&peer, name);
	wait_for(&peer, stream, 1);
	signaller_poison(&peer.signaller);
}

static void must_be_lost(ww_stream *stream)
{
	MUST_REFUSE(WW_ERR_PEER_LOST, "(raw)", ww_stream_synchronize(stream, WW_FOREVER, NULL));
	MUST_REFUSE(WW_ERR_PEER_LOST, "(raw)", ww_stream_query(stream));
}

/* Fills, signals, waits and copies. */
static void must_work(ww_stream *stream)
{
	OWN(timeline) ww_timeline *timeline = timeline_make(0, 0);
	OWN(memory) ww_memory *memory = memory_make(scene.device, WW_MEMORY_VMM, 64);
	uint8_t got[64] = {0};

	MUST_OK(ww_stream_fill(stream, ww_memory_pointer(memory), 0x42, 1, sizeof(got)));
	MUST_OK(ww_timeline_stream_signal(timeline, stream, 1));
	MUST_OK(ww_timeline_stream_wait(timeline, stream, 1, 0, 0, NULL));
	MUST_OK(ww_stream_copy(stream, got, ww_memory_pointer(memory), sizeof(got)));
	MUST_OK(ww_stream_synchronize(stream, WW_FOREVER, NULL));
	MUST_STATUS(WW_OK, ww_stream_query(stream));
	for (size_t i = 0; i < sizeof(got); i++)
		MUST_EQUAL(0x42, got[i]);
}

SCENE_CASE(stream_recovers, WW_CAP_STREAM_VALUE | WW_CAP_HOST_READ_ONLY)
{
	OWN(stream) ww_stream *stream = stream_make(scene.device);

	MUST_OK(ww_stream_recover(stream)); /* there was nothing */
	for (int round = 0; round < 3; round++) {
		lose(stream, "x");
		must_be_lost(stream);
		stream_must_be_lost(stream, "(raw)");
		MUST_OK(ww_stream_recover(stream));
		MUST_OK(ww_stream_recover(stream));
		must_work(stream);
	}
	/* A loss that no call has told yet is cleared as well. */
	lose(stream, "x");
	MUST_OK(ww_stream_recover(stream));
	must_work(stream);
}

/* What the stream still waits for is not forgiven in advance, and recovery does not wait for it. */
SCENE_CASE(stream_recovers_while_it_waits, WW_CAP_STREAM_VALUE | WW_CAP_HOST_READ_ONLY)
{
	OWN(stream) ww_stream *stream;
	ENDED_BY(peer_end) struct peer second;
	ENDED_BY(peer_end) struct peer first;

	peer_begin(&first, "first");
	peer_begin(&second, "second");
	stream = stream_make(scene.device);
	wait_for(&first, stream, 1);
	wait_for(&second, stream, 1);
	signaller_poison(&first.signaller);
	MUST_REFUSE(WW_ERR_PEER_LOST, "(raw)", ww_stream_query(stream));
	MUST_OK(ww_stream_recover(stream));
	MUST_STATUS(WW_NOT_READY, ww_stream_query(stream));
	signaller_poison(&second.signaller);
	must_be_lost(stream);
	MUST_OK(ww_stream_recover(stream));
	must_work(stream);
}

static ww_CUcontext retain_primary(ww_CUdevice *out_ordinal)
{
	const struct driver *driver = driver_get();
	ww_CUcontext context;

	MUST(driver);
	MUST_EQUAL(0, driver->cuDeviceGet(out_ordinal, (int)device_info(scene.device).index));
	MUST_EQUAL(0, driver->cuDevicePrimaryCtxRetain(&context, *out_ordinal));
	MUST_EQUAL(0, driver->cuCtxSetCurrent(context));
	return context;
}

static void release_primary(ww_CUdevice ordinal)
{
	MUST_EQUAL(0, driver_get()->cuCtxSetCurrent(NULL));
	MUST_EQUAL(0, driver_get()->cuDevicePrimaryCtxRelease(ordinal));
}

static ww_CUstream native_make(void)
{
	ww_CUstream native;

	MUST_EQUAL(0, driver_get()->cuStreamCreate(&native, WW_CU_STREAM_NON_BLOCKING));
	return native;
}

static ww_stream *wrap(void *native)
{
	ww_stream *stream;

	MUST_OK(ww_stream_wrap(scene.device, native, &stream));
	return stream;
}

SCENE_CASE(stream_loss_is_of_the_native_stream, WRAPPED_LOSS)
{
	ww_CUdevice ordinal;
	ww_CUstream native;
	ww_stream *a;
	ww_stream *b;
	ww_stream *other;

	retain_primary(&ordinal);
	native = native_make();
	other = stream_make(scene.device);
	a = wrap(native);
	b = wrap(native);
	lose(a, "x");
	must_be_lost(b);
	must_be_lost(a);
	must_work(other);
	ww_stream_unref(a);
	a = wrap(native);
	must_be_lost(a);
	ww_stream_unref(a);
	ww_stream_unref(b);
	a = wrap(native); /* there was none in between */
	b = wrap(native);
	must_be_lost(a);
	MUST_OK(ww_stream_recover(b));
	must_work(a);
	must_work(b);
	lose(b, "x");
	must_be_lost(a);
	MUST_OK(ww_stream_recover(a));
	must_work(b);
	ww_stream_unref(a);
	ww_stream_unref(b);
	MUST_EQUAL(0, driver_get()->cuStreamDestroy(native));
	/* A stream that the library made is no exception. */
	a = wrap(ww_stream_native(other));
	lose(a, "x");
	must_be_lost(other);
	MUST_OK(ww_stream_recover(other));
	must_work(a);
	ww_stream_unref(a);
	ww_stream_unref(other);
	release_primary(ordinal);
}

/* The peer dies when no ww_stream of the stream is left, while the stream itself still waits. */
SCENE_CASE(stream_loss_finds_no_wrapper, WRAPPED_LOSS)
{
	struct peer peer;
	ww_CUdevice ordinal;
	ww_CUstream native;
	ww_stream *stream;

	retain_primary(&ordinal);
	native = native_make();
	peer_begin(&peer, "x");
	stream = wrap(native);
	wait_for(&peer, stream, 1);
	ww_stream_unref(stream);
	signaller_poison(&peer.signaller);
	MUST_EQUAL(0, driver_get()->cuStreamSynchronize(native));
	stream = wrap(native);
	must_be_lost(stream);
	MUST_OK(ww_stream_recover(stream));
	/* And where the value comes after all, nothing is lost. */
	peer_end(&peer);
	peer_begin(&peer, "x");
	wait_for(&peer, stream, 1);
	ww_stream_unref(stream);
	signaller_signal(&peer.signaller, 0, 1);
	MUST_EQUAL(0, driver_get()->cuStreamSynchronize(native));
	stream = wrap(native);
	must_work(stream);
	ww_stream_unref(stream);
	peer_end(&peer);
	MUST_EQUAL(0, driver_get()->cuStreamDestroy(native));
	release_primary(ordinal);
}

#define TRIES 64

/* A driver hands out a pointer again; the new stream has nothing of the old one. */
SCENE_CASE(stream_loss_ends_with_the_native_stream, WRAPPED_LOSS)
{
	ww_CUstream made[TRIES];
	ww_CUdevice ordinal;
	ww_CUstream native;
	ww_stream *stream;
	size_t count = 0;

	retain_primary(&ordinal);
	native = native_make();
	stream = wrap(native);
	lose(stream, "x");
	must_be_lost(stream);
	ww_stream_unref(stream);
	MUST_EQUAL(0, driver_get()->cuStreamDestroy(native));
	do {
		made[count] = native_make();
		stream = wrap(made[count]);
		must_work(stream);
		ww_stream_unref(stream);
	} while (made[count++] != native && count < TRIES);
	check_note("the pointer came again: %s", made[count - 1] == native ? "yes" : "no");
	while (count > 0)
		MUST_EQUAL(0, driver_get()->cuStreamDestroy(made[--count]));
	release_primary(ordinal);
}

/* The legacy one is the same under both of its names; those of threads are another. */
SCENE_CASE(stream_loss_of_default_streams, WRAPPED_LOSS)
{
	OWN(stream) ww_stream *legacy = wrap(NULL);
	OWN(stream) ww_stream *same = wrap(WW_CU_STREAM_LEGACY);
	OWN(stream) ww_stream *threads = wrap(WW_CU_STREAM_PER_THREAD);

	lose(legacy, "x");
	must_be_lost(same);
	must_work(threads);
	MUST_OK(ww_stream_recover(same));
	must_work(legacy);
	lose(threads, "x");
	must_be_lost(threads);
	must_work(legacy);
	ww_stream_unref(threads);
	threads = wrap(WW_CU_STREAM_PER_THREAD);
	must_be_lost(threads);
	MUST_OK(ww_stream_recover(threads));
	must_work(threads);
}

#define THREADS 4
#define ROUNDS  10

static struct {
	ww_CUstream native;
	ww_timeline *timeline;
	pthread_barrier_t barrier;
} shared;

static void must_be_idle(ww_CUstream native)
{
	OWN(stream) ww_stream *stream = wrap(native);

	MUST_OK(ww_stream_synchronize(stream, WW_FOREVER, NULL));
}

/* Each with ww_streams of its own, made while the peer lives, and while it dies. */
static void *wrap_until_lost(void *unused)
{
	ww_status status = WW_OK;
	ww_stream *late;

	(void)unused;
	for (int round = 0; round < ROUNDS; round++) {
		pthread_barrier_wait(&shared.barrier); /* waits are about to be enqueued */
		do {
			ww_stream *stream = wrap(shared.native);

			status = ww_timeline_stream_wait(shared.timeline, stream, 1,
				WW_WAIT_UNSUBMITTED, 0, NULL);
			if (status == WW_OK)
				status = ww_stream_query(stream);
			ww_stream_unref(stream);
		} while (status >= 0);
		MUST_EQUAL(WW_ERR_PEER_LOST, status);
		late = wrap(shared.native); /* it has not waited, but the stream has */
		must_be_lost(late);
		ww_stream_unref(late);
		pthread_barrier_wait(&shared.barrier); /* all have heard it */
		pthread_barrier_wait(&shared.barrier); /* it is recovered */
		must_be_idle(shared.native);
		pthread_barrier_wait(&shared.barrier);
	}
	return NULL;
}

SCENE_CASE(stream_loss_is_told_to_threads, WRAPPED_LOSS)
{
	pthread_t threads[THREADS];
	ww_CUdevice ordinal;
	ww_stream *stream;

	retain_primary(&ordinal);
	shared.native = native_make();
	stream = wrap(shared.native);
	MUST_EQUAL(0, pthread_barrier_init(&shared.barrier, NULL, THREADS + 1));
	for (size_t i = 0; i < THREADS; i++)
		MUST_EQUAL(0, pthread_create(&threads[i], NULL, wrap_until_lost, NULL));
	for (int round = 0; round < ROUNDS; round++) {
		struct peer peer;

		peer_begin(&peer, "x");
		shared.timeline = peer.timeline;
		wait_for(&peer, stream, 1);
		pthread_barrier_wait(&shared.barrier);
		signaller_poison(&peer.signaller);
		pthread_barrier_wait(&shared.barrier);
		must_be_lost(stream);
		MUST_OK(ww_stream_recover(stream));
		pthread_barrier_wait(&shared.barrier);
		must_be_idle(shared.native);
		pthread_barrier_wait(&shared.barrier);
		peer_end(&peer);
	}
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	must_work(stream);
	ww_stream_unref(stream);
	pthread_barrier_destroy(&shared.barrier);
	MUST_EQUAL(0, driver_get()->cuStreamDestroy(shared.native));
	release_primary(ordinal);
}
