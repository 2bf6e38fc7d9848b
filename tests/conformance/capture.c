/* SPDX-License-Identifier: Apache-2.0 */
/*
 * capture.c - calls beside a stream that is captured into a CUDA graph
 *
 * The capture is made with the driver itself, in the mode in which it forbids most, and fills the
 * two halves of a memory: the second one when the calls have been made. It must succeed, and its
 * graph must do the same whenever it is launched.
 */
#include <pthread.h>
#include <sched.h>

#include "conformance/channel.h"
#include "support/agent.h"
#include "support/allocation.h"
#include "support/driver.h"
#include "support/kernels.h"
#include "support/timeline.h"

#define MUST_CUDA(call) MUST_EQUAL(WW_CUDA_SUCCESS, call)

#define HALF     512
#define LAUNCHES 3
#define THREADS  4
#define ROUNDS   1250 /* of each thread */
#define FRAMES   1000

#define CAPTURES (NEEDS_CUDA | WW_CAP_EXPORT | WW_CAP_STREAM_WRAP)

struct capture {
	ww_device *device;
	ww_CUstream native;
	ww_stream *stream; /* NULL: not wrapped */
	ww_memory *memory; /* that the graph fills */
	uint32_t *words;
};

static void fill_half(const struct capture *capture, uint32_t half)
{
	MUST_CUDA(driver_get()->cuMemsetD32Async((ww_CUdeviceptr)(uintptr_t)(capture->words +
							 (size_t)half * HALF),
		half + 1, HALF, capture->native));
}

static void stream_begin(struct capture *capture, ww_device *device, unsigned int flags)
{
	allocation_enter();
	*capture = (struct capture){.device = device};
	capture->memory = memory_make(device, WW_MEMORY_VMM, 2 * HALF * sizeof(uint32_t));
	capture->words = ww_memory_pointer(capture->memory);
	MUST_CUDA(driver_get()->cuStreamCreate(&capture->native, flags));
}

static void first_half(struct capture *capture)
{
	MUST_CUDA(driver_get()->cuStreamBeginCapture(capture->native,
		WW_CU_STREAM_CAPTURE_MODE_GLOBAL));
	fill_half(capture, 0);
}

/* A blocking stream is not wrapped: the library sees the captures of such a stream all the same. */
static void capture_begin(struct capture *capture, ww_device *device, unsigned int flags)
{
	stream_begin(capture, device, flags);
	if (flags & WW_CU_STREAM_NON_BLOCKING)
		MUST_OK(ww_stream_wrap(device, capture->native, &capture->stream));
	first_half(capture);
}

static void words_must_be(const struct capture *capture, uint32_t first, uint32_t second)
{
	uint32_t words[2 * HALF];

	memory_get(capture->memory, 0, words, sizeof(words));
	for (size_t i = 0; i < 2 * HALF; i++)
		MUST_EQUAL(i < HALF ? first : second, words[i]);
}

static void must_replay(const struct capture *capture, ww_CUgraphExec graph)
{
	static const uint32_t zeros[2 * HALF];

	for (int i = 0; i < LAUNCHES; i++) {
		memory_put(capture->memory, 0, zeros, sizeof(zeros));
		words_must_be(capture, 0, 0);
		MUST_CUDA(driver_get()->cuGraphLaunch(graph, capture->native));
		MUST_CUDA(driver_get()->cuStreamSynchronize(capture->native));
		words_must_be(capture, 1, 2);
	}
}

static void capture_must_succeed(struct capture *capture)
{
	const struct driver *driver = driver_get();
	ww_CUgraphExec executable;
	ww_CUgraph graph = NULL;

	fill_half(capture, 1);
	MUST_CUDA(driver->cuStreamEndCapture(capture->native, &graph));
	MUST_CUDA(driver->cuGraphInstantiateWithFlags(&executable, graph, 0));
	must_replay(capture, executable);
	MUST_CUDA(driver->cuGraphExecDestroy(executable));
	MUST_CUDA(driver->cuGraphDestroy(graph));
}

/* What was put off is done when the capture has ended. */
static void capture_end(struct capture *capture)
{
	while (ww_memory_retired() > 0)
		ww_memory_retire(NULL);
	ww_stream_unref(capture->stream);
	MUST_CUDA(driver_get()->cuStreamDestroy(capture->native));
	ww_memory_unref(capture->memory);
	allocation_leave();
}

/* --- calls of all threads --- */

struct calls {
	void (*call)(ww_device *device, ww_memory *memory);
	ww_device *device;
	int rounds;
};

static void *call_often(void *context)
{
	const struct calls *calls = context;
	OWN(memory) ww_memory *memory = memory_make(calls->device, WW_MEMORY_VMM, 1);

	for (int i = 0; i < calls->rounds; i++)
		calls->call(calls->device, memory);
	return NULL;
}

/* Other threads make many calls, and that which captures a few. */
static void must_outlast(unsigned int flags, const struct calls *calls)
{
	struct capture capture;
	pthread_t threads[THREADS];

	capture_begin(&capture, calls->device, flags);
	for (int i = 0; i < THREADS; i++)
		MUST_EQUAL(0, pthread_create(&threads[i], NULL, call_often, (void *)calls));
	for (int i = 0; i < 3; i++)
		calls->call(calls->device, capture.memory);
	for (int i = 0; i < THREADS; i++)
		MUST_EQUAL(0, pthread_join(threads[i], NULL));
	capture_must_succeed(&capture);
	capture_end(&capture);
}

/* Makes and maps one memory, and drops another one. */
static void drop(ww_device *device, ww_memory *memory)
{
	OWN(memory) ww_memory *made = memory_make(device, WW_MEMORY_VMM, 1);

	ww_memory_retire(ww_memory_ref(memory));
}

DEVICE_CASE(capture_outlasts_drops, CAPTURES)
{
	const struct calls calls = {drop, device, ROUNDS};

	must_outlast(WW_CU_STREAM_NON_BLOCKING, &calls);
	must_outlast(WW_CU_STREAM_DEFAULT, &calls);
}

/* However many there are, the first call after the capture does not take long. */
DEVICE_CASE(capture_drops_share_a_fence, CAPTURES | NEEDS_FAKE)
{
	const struct fake *fake = fake_get();
	struct capture capture;
	uint64_t count;

	capture_begin(&capture, device, WW_CU_STREAM_NON_BLOCKING);
	count = fake->call_count("cuCtxRecordEvent");
	for (int i = 0; i < 100; i++)
		drop(device, capture.memory);
	MUST_EQUAL(100, ww_memory_retired());
	MUST_EQUAL(count, fake->call_count("cuCtxRecordEvent"));
	capture_must_succeed(&capture);
	capture_end(&capture);
	MUST_EQUAL(count + 1, fake->call_count("cuCtxRecordEvent"));
}

/* Of a stream that the library does not know, and while other threads drop at any moment. */
DEVICE_CASE(capture_that_is_announced_outlasts_drops, CAPTURES)
{
	struct calls calls = {drop, device, ROUNDS};
	struct capture capture;
	pthread_t thread;

	MUST_OK(ww_capture_begin());
	stream_begin(&capture, device, WW_CU_STREAM_NON_BLOCKING);
	MUST_EQUAL(0, pthread_create(&thread, NULL, call_often, &calls));
	for (int i = 0; i < 20; i++) {
		first_half(&capture);
		sched_yield();
		capture_must_succeed(&capture);
	}
	MUST_EQUAL(0, pthread_join(thread, NULL));
	MUST_OK(ww_capture_end());
	capture_end(&capture);
	MUST_REFUSE(WW_ERR_STATE, "none was begun", ww_capture_end());
}

static void import(ww_device *device, ww_memory *memory)
{
	OWN(memory) ww_memory *made = memory_make(device, WW_MEMORY_VMM, 1);
	uint64_t value = 0;

	(void)memory;
	ww_memory_unref(memory_reimport(made, device, WW_ACCESS_WRITE));
	memory_put(made, 0, &value, sizeof(value));
	memory_get(made, 0, &value, sizeof(value));
}

DEVICE_CASE(capture_outlasts_imports, CAPTURES)
{
	must_outlast(WW_CU_STREAM_NON_BLOCKING, &(struct calls){import, device, 100});
}

/* Maps the memory of another process, reads it, and unmaps it. */
static void map(ww_device *device, ww_memory *memory)
{
	ww_memory *got;

	(void)memory;
	MUST_OK(ww_memory_get(device, scene.broker, "m", NULL, 0, NULL, &got, NULL));
	pattern_verify(got, 7);
	ww_memory_unref(got);
}

SCENE_CASE(capture_outlasts_mappings, CAPTURES)
{
	struct child agent;

	agent_begin(&agent, "agent", "make vmm 4096 7");
	agent_must(&agent, WW_OK, "put m");
	must_outlast(WW_CU_STREAM_NON_BLOCKING, &(struct calls){map, scene.device, 50});
}

static void use_host_memory(ww_device *device, ww_memory *memory)
{
	(void)memory;
	ww_memory_unref(memory_make(device, WW_MEMORY_HOST, 1));
}

DEVICE_CASE(capture_outlasts_host_memory, CAPTURES | WW_CAP_HOST_MEMORY)
{
	must_outlast(WW_CU_STREAM_NON_BLOCKING, &(struct calls){use_host_memory, device, 20});
}

static void use_event(ww_device *device, ww_memory *memory)
{
	OWN(stream) ww_stream *stream = stream_make(device);
	ww_event *event;

	(void)memory;
	MUST_OK(ww_event_create(device, NULL, &event));
	MUST_OK(ww_event_record(event, stream));
	MUST_OK(ww_event_synchronize(event, WW_FOREVER, NULL));
	MUST_OK(ww_event_query(event));
	ww_event_unref(event);
}

DEVICE_CASE(capture_outlasts_events, CAPTURES | WW_CAP_EVENT)
{
	must_outlast(WW_CU_STREAM_NON_BLOCKING, &(struct calls){use_event, device, 20});
}

static void use_module(ww_device *device, ww_memory *memory)
{
	OWN(module) ww_module *module = kernels_load(device);

	(void)memory;
	ww_kernel_unref(kernel_find(module, "fill_numbers"));
}

DEVICE_CASE(capture_outlasts_modules, CAPTURES | WW_CAP_MODULE)
{
	(void)kernels_path();
	must_outlast(WW_CU_STREAM_NON_BLOCKING, &(struct calls){use_module, device, 3});
}

/* A frame through a channel, by the CPU and by streams. */
static void pass_frame(ww_channel *producer, ww_channel *consumer, ww_stream *stream)
{
	struct ww_frame frame = WW_INIT(struct ww_frame);

	MUST_OK(ww_channel_acquire(producer, stream, FOREVER, NULL, &frame));
	MUST_OK(ww_channel_publish(producer, &frame, stream));
	frame = (struct ww_frame)WW_INIT(struct ww_frame);
	MUST_OK(ww_channel_receive(consumer, stream, FOREVER, NULL, &frame));
	MUST_OK(ww_channel_release(consumer, &frame, stream));
}

static void *pass_frames(void *context)
{
	ww_stream *stream = stream_make(context);
	OWN(channel) ww_channel *producer = channel_make(CHANNEL(.slots = 2));
	OWN(channel) ww_channel *consumer = channel_get(0);

	for (uint64_t i = 0; i < FRAMES; i++) {
		pass_frame(producer, consumer, stream);
		frame_send(producer, i);
		frame_must_come(consumer, 2 * i + 2, i);
	}
	MUST_OK(ww_stream_synchronize(stream, FOREVER, NULL));
	ww_stream_unref(stream);
	return NULL;
}

SCENE_CASE(capture_outlasts_frames, CAPTURES | CHANNEL_STREAMS)
{
	struct capture capture;
	pthread_t thread;

	capture_begin(&capture, scene.device, WW_CU_STREAM_NON_BLOCKING);
	MUST_EQUAL(0, pthread_create(&thread, NULL, pass_frames, scene.device));
	MUST_EQUAL(0, pthread_join(thread, NULL));
	capture_must_succeed(&capture);
	capture_end(&capture);
}

/* --- calls on the stream --- */

static void timeline_must_refuse(ww_timeline *timeline, ww_stream *stream)
{
	int fd;

	MUST_REFUSE(WW_ERR_STATE, "captured", ww_timeline_stream_signal(timeline, stream, 1));
	MUST_REFUSE(WW_ERR_STATE, "captured",
		ww_timeline_stream_wait(timeline, stream, 1, WW_WAIT_UNSUBMITTED, 0, NULL));
	MUST_REFUSE(WW_ERR_STATE, "captured", ww_timeline_eventfd(timeline, stream, 1, &fd));
	MUST_EQUAL(0, timeline_info(timeline).submitted);
}

static void channel_must_refuse(ww_channel *producer, ww_channel *consumer, ww_stream *stream)
{
	struct ww_frame frame = WW_INIT(struct ww_frame);
	struct ww_frame got = WW_INIT(struct ww_frame);

	MUST_REFUSE(WW_ERR_STATE, "before or after the launch",
		ww_channel_acquire(producer, stream, 0, NULL, &frame));
	frame = frame_acquire(producer);
	MUST_REFUSE(WW_ERR_STATE, "captured", ww_channel_publish(producer, &frame, stream));
	MUST_OK(ww_channel_publish(producer, &frame, NULL));
	MUST_REFUSE(WW_ERR_STATE, "captured", ww_channel_receive(consumer, stream, 0, NULL, &got));
	got = frame_receive(consumer);
	MUST_REFUSE(WW_ERR_STATE, "captured", ww_channel_release(consumer, &got, stream));
	MUST_OK(ww_channel_release(consumer, &got, NULL));
}

static void stream_must_refuse(const struct capture *capture)
{
	ww_stream *other;

	MUST_REFUSE(WW_ERR_STATE, "captured", ww_stream_query(capture->stream));
	MUST_REFUSE(WW_ERR_STATE, "captured",
		ww_stream_synchronize(capture->stream, WW_FOREVER, NULL));
	MUST_REFUSE(WW_ERR_STATE, "captured", ww_stream_synchronize(capture->stream, 1, NULL));
	MUST_REFUSE(WW_ERR_STATE, "captured",
		ww_stream_wrap(capture->device, capture->native, &other));
	MUST(!other);
}

/* What is refused changes nothing, neither in the capture nor in what it was refused for. */
SCENE_CASE(capture_refuses_order, CAPTURES | CHANNEL_STREAMS)
{
	OWN(channel) ww_channel *producer = channel_make(CHANNEL(.slots = 2));
	OWN(channel) ww_channel *consumer = channel_get(0);
	OWN(timeline) ww_timeline *timeline = NULL;
	struct capture capture;

	MUST_OK(ww_timeline_create(NULL, &timeline));
	capture_begin(&capture, scene.device, WW_CU_STREAM_NON_BLOCKING);
	stream_must_refuse(&capture);
	timeline_must_refuse(timeline, capture.stream);
	channel_must_refuse(producer, consumer, capture.stream);
	capture_must_succeed(&capture);
	MUST_OK(ww_timeline_stream_signal(timeline, capture.stream, 1));
	MUST_OK(ww_timeline_stream_wait(timeline, capture.stream, 1, 0, 0, NULL));
	pass_frame(producer, consumer, capture.stream);
	MUST_OK(ww_stream_synchronize(capture.stream, WW_FOREVER, NULL));
	capture_end(&capture);
}

DEVICE_CASE(capture_refuses_events, CAPTURES | WW_CAP_EVENT)
{
	struct capture capture;
	ww_event *event;

	allocation_enter();
	MUST_OK(ww_event_create(device, NULL, &event));
	capture_begin(&capture, device, WW_CU_STREAM_NON_BLOCKING);
	MUST_REFUSE(WW_ERR_STATE, "captured", ww_event_record(event, capture.stream));
	MUST_REFUSE(WW_ERR_STATE, "captured", ww_event_stream_wait(event, capture.stream));
	capture_must_succeed(&capture);
	MUST_OK(ww_event_record(event, capture.stream));
	MUST_OK(ww_stream_synchronize(capture.stream, WW_FOREVER, NULL));
	MUST_OK(ww_event_query(event));
	ww_event_unref(event);
	capture_end(&capture);
}

/* The default stream would wait for the capture. */
DEVICE_CASE(capture_refuses_default_stream, CAPTURES)
{
	struct capture capture;
	ww_stream *stream;

	capture_begin(&capture, device, WW_CU_STREAM_DEFAULT);
	MUST_OK(ww_stream_wrap(device, NULL, &stream));
	MUST_REFUSE(WW_ERR_STATE, "default stream", ww_stream_fill(stream, capture.words, 9, 4, 1));
	MUST_REFUSE(WW_ERR_STATE, "default stream", ww_stream_query(stream));
	capture_must_succeed(&capture);
	MUST_OK(ww_stream_fill(stream, capture.words, 9, 4, 1));
	MUST_OK(ww_stream_synchronize(stream, WW_FOREVER, NULL));
	ww_stream_unref(stream);
	capture_end(&capture);
}

/* Work that a graph can contain is done by each launch, and only there. */
DEVICE_CASE(capture_contains_copies, CAPTURES)
{
	OWN(memory) ww_memory *from = memory_make(device, WW_MEMORY_VMM, HALF * sizeof(uint32_t));
	struct capture capture;
	void *source = ww_memory_pointer(from);

	capture_begin(&capture, device, WW_CU_STREAM_NON_BLOCKING);
	MUST_OK(ww_stream_fill(capture.stream, source, 1, 4, HALF));
	MUST_OK(ww_stream_fill(capture.stream, capture.words, 7, 4, HALF));
	MUST_OK(ww_stream_copy(capture.stream, capture.words, source, HALF * sizeof(uint32_t)));
	words_must_be(&capture, 0, 0);
	capture_must_succeed(&capture);
	capture_end(&capture);
}
