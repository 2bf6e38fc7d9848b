/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event.c - events: what they stand for, who waits for them, and what every call refuses
 *
 * One process. Streams are held back by a timeline, so that "not yet" can be claimed. What others
 * put into a broker is made by hand here, right and wrong.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conformance/conformance.h"
#include "support/forge.h"
#include "support/page.h"
#include "support/raw_client.h"
#include "support/broker_case.h"
#include "support/timeline.h"
#include "wire/sync_description.h"
#include "wire/token.h"

#define NS_PER_MS   UINT64_C(1000000)
#define EVENTS_MOST 4096
#define FIRST_CELL  sizeof(struct ww_layout_signal_page)
#define CREATE(...) WW_PARAMS(struct ww_event_params, __VA_ARGS__)

/* A device, an event of it, two streams, and a timeline for the first to wait for. */
struct stage {
	ww_device *device;
	ww_event *event;
	ww_stream *streams[2];
	ww_timeline *timeline;
	uint64_t value; /* that the timeline has */
};

static ww_event *event_make(ww_device *device)
{
	ww_event *event;

	MUST_OK(ww_event_create(device, NULL, &event));
	return event;
}

static struct stage stage_make(void)
{
	struct stage stage = {.device = subject_open()};

	stage.event = event_make(stage.device);
	stage.streams[0] = stream_make(stage.device);
	stage.streams[1] = stream_make(stage.device);
	MUST_OK(ww_timeline_create(NULL, &stage.timeline));
	return stage;
}

static void stage_drop(struct stage *stage)
{
	ww_stream_unref(stage->streams[0]);
	ww_stream_unref(stage->streams[1]);
	ww_timeline_unref(stage->timeline);
	ww_event_unref(stage->event);
	ww_device_unref(stage->device);
}

/* The first stream stands still until stage_go(). */
static void stage_block(struct stage *stage)
{
	MUST_OK(ww_timeline_stream_wait(stage->timeline, stage->streams[0], stage->value + 1,
		WW_WAIT_UNSUBMITTED, 0, NULL));
}

static void stage_go(struct stage *stage)
{
	MUST_OK(ww_timeline_signal(stage->timeline, ++stage->value));
}

static void must_be_ready(ww_event *event)
{
	MUST_STATUS(WW_OK, ww_event_query(event));
	MUST_STATUS(WW_OK, ww_event_synchronize(event, 0, NULL));
	MUST_STATUS(WW_OK, ww_event_synchronize(event, NS_PER_MS, NULL));
	MUST_STATUS(WW_OK, ww_event_synchronize(event, WW_FOREVER, NULL));
}

static void must_be_pending(ww_event *event)
{
	MUST_STATUS(WW_NOT_READY, ww_event_query(event));
	MUST_STATUS(WW_TIMED_OUT, ww_event_synchronize(event, 0, NULL));
	MUST_STATUS(WW_TIMED_OUT, ww_event_synchronize(event, NS_PER_MS, NULL));
}

/* --- what an event stands for --- */

CASE(event_never_recorded_is_ready, WW_CAP_EVENT | WW_CAP_STREAM_VALUE)
{
	ENDED_BY(stage_drop) struct stage stage = stage_make();

	must_be_ready(stage.event);
	MUST_OK(ww_event_stream_wait(stage.event, stage.streams[1]));
	MUST_OK(ww_stream_synchronize(stage.streams[1], WW_FOREVER, NULL));
}

CASE(event_stands_for_work_before, WW_CAP_EVENT | WW_CAP_STREAM_VALUE)
{
	ENDED_BY(stage_drop) struct stage stage = stage_make();

	stage_block(&stage);
	must_be_ready(stage.event);
	MUST_OK(ww_event_record(stage.event, stage.streams[0]));
	must_be_pending(stage.event);
	stage_go(&stage);
	MUST_OK(ww_event_synchronize(stage.event, WW_FOREVER, NULL));
	must_be_ready(stage.event);
	stage_block(&stage); /* what comes after the recording is nothing to it */
	must_be_ready(stage.event);
	stage_go(&stage);
}

/* Without the wait the second stream would copy before the first one fills. */
CASE(event_orders_streams, WW_CAP_EVENT | WW_CAP_STREAM_VALUE)
{
	ENDED_BY(stage_drop) struct stage stage = stage_make();
	OWN(memory) ww_memory *memory = memory_make(stage.device, WW_MEMORY_VMM, 2 * MIB);
	uint8_t *bytes = memory_info(memory).pointer;
	uint8_t seen[64];

	stage_block(&stage);
	MUST_OK(ww_stream_fill(stage.streams[0], bytes, 7, 1, sizeof(seen)));
	MUST_OK(ww_event_record(stage.event, stage.streams[0]));
	MUST_OK(ww_event_stream_wait(stage.event, stage.streams[1]));
	MUST_OK(ww_stream_copy(stage.streams[1], bytes + MIB, bytes, sizeof(seen)));
	MUST_STATUS(WW_NOT_READY, ww_stream_query(stage.streams[1]));
	stage_go(&stage);
	MUST_OK(ww_stream_synchronize(stage.streams[1], WW_FOREVER, NULL));
	memory_get(memory, MIB, seen, sizeof(seen));
	for (size_t i = 0; i < sizeof(seen); i++)
		MUST_EQUAL(7, seen[i]);
}

/* A wait means the last recording before it, not one that comes later. */
CASE(event_wait_means_last_recording, WW_CAP_EVENT | WW_CAP_STREAM_VALUE)
{
	ENDED_BY(stage_drop) struct stage stage = stage_make();

	MUST_OK(ww_event_record(stage.event, stage.streams[0]));
	MUST_OK(ww_event_stream_wait(stage.event, stage.streams[1]));
	stage_block(&stage);
	MUST_OK(ww_event_record(stage.event, stage.streams[0]));
	MUST_OK(ww_stream_synchronize(stage.streams[1], WW_FOREVER, NULL));
	must_be_pending(stage.event);
	stage_go(&stage);
	MUST_OK(ww_event_synchronize(stage.event, WW_FOREVER, NULL));
}

CASE(event_recorded_by_streams_in_turn, WW_CAP_EVENT | WW_CAP_STREAM_VALUE)
{
	ENDED_BY(stage_drop) struct stage stage = stage_make();

	for (int i = 0; i < 100; i++) {
		MUST_OK(ww_event_record(stage.event, stage.streams[i % 2]));
		MUST_OK(ww_event_stream_wait(stage.event, stage.streams[(i + 1) % 2]));
	}
	MUST_OK(ww_event_synchronize(stage.event, WW_FOREVER, NULL));
	must_be_ready(stage.event);
}

static void *record_and_wait(void *context)
{
	struct stage *stage = context;
	OWN(stream) ww_stream *stream = stream_make(stage->device);

	for (int i = 0; i < 50; i++) {
		MUST_OK(ww_event_record(stage->event, stream));
		MUST_OK(ww_event_stream_wait(stage->event, stream));
		MUST_STATUS(WW_OK, ww_event_synchronize(stage->event, WW_FOREVER, NULL));
	}
	MUST_OK(ww_stream_synchronize(stream, WW_FOREVER, NULL));
	return NULL;
}

CASE(event_recorded_by_threads, WW_CAP_EVENT | WW_CAP_STREAM_VALUE)
{
	ENDED_BY(stage_drop) struct stage stage = stage_make();
	pthread_t threads[4];

	for (size_t i = 0; i < CHECK_COUNT(threads); i++)
		MUST_EQUAL(0, pthread_create(&threads[i], NULL, record_and_wait, &stage));
	for (size_t i = 0; i < CHECK_COUNT(threads); i++)
		pthread_join(threads[i], NULL);
	must_be_ready(stage.event);
}

/* Work that waits for an event still waits when it is let go of. */
CASE(event_unref_leaves_waits, WW_CAP_EVENT | WW_CAP_STREAM_VALUE)
{
	ENDED_BY(stage_drop) struct stage stage = stage_make();

	stage_block(&stage);
	MUST_OK(ww_event_record(stage.event, stage.streams[0]));
	MUST_OK(ww_event_stream_wait(stage.event, stage.streams[1]));
	stage.event = ww_event_unref(stage.event);
	MUST_STATUS(WW_NOT_READY, ww_stream_query(stage.streams[1]));
	stage_go(&stage);
	MUST_OK(ww_stream_synchronize(stage.streams[1], WW_FOREVER, NULL));
}

/* --- coming and going --- */

CASE(event_keeps_device, WW_CAP_EVENT)
{
	ww_device *device = subject_open();
	ww_stream *stream = stream_make(device);
	ww_event *event = event_make(device);

	ww_device_unref(device);
	MUST_OK(ww_event_record(event, stream));
	ww_stream_unref(stream);
	MUST_OK(ww_event_synchronize(event, WW_FOREVER, NULL));
	MUST(ww_event_ref(event) == event);
	MUST(!ww_event_unref(event));
	must_be_ready(event);
	MUST(!ww_event_unref(event));
	MUST(!ww_event_unref(NULL));
}

CASE(event_blocking_sync, WW_CAP_EVENT)
{
	ENDED_BY(stage_drop) struct stage stage = stage_make();
	OWN(event) ww_event *event;

	MUST_OK(ww_event_create(stage.device, CREATE(.flags = WW_EVENT_BLOCKING_SYNC), &event));
	MUST_OK(ww_event_record(event, stage.streams[0]));
	MUST_OK(ww_event_synchronize(event, WW_FOREVER, NULL));
}

DEVICE_CASE(event_create_refuses, WW_CAP_EVENT)
{
	ww_event *event = (ww_event *)&device;

	MUST_REFUSE(WW_ERR_INVALID, "cuEventElapsedTime",
		ww_event_create(device, CREATE(.flags = WW_EVENT_TIMING), &event));
	MUST(!event);
	MUST_REFUSE(WW_ERR_INVALID, "0x4", ww_event_create(device, CREATE(.flags = 4), &event));
	MUST_REFUSE(WW_ERR_INVALID, "0x9", ww_event_create(device, CREATE(.reserved = 9), &event));
	MUST_REFUSE(WW_ERR_INVALID, "size",
		ww_event_create(device, &(struct ww_event_params){0}, &event));
}

DEVICE_CASE(event_create_unsupported, NEEDS_CUDA)
{
	struct ww_event_handle handle = {{0}};
	ww_event *event = (ww_event *)&device;

	if (device_info(device).capabilities & WW_CAP_EVENT)
		check_skip("the device has events");
	MUST_REFUSE(WW_ERR_UNSUPPORTED, "timeline", ww_event_create(device, NULL, &event));
	MUST(!event);
	MUST_REFUSE(WW_ERR_UNSUPPORTED, "timeline", ww_event_handle_open(device, &handle, &event));
}

DEVICE_CASE(event_limit, WW_CAP_EVENT | NEEDS_CUDA)
{
	static ww_event *events[EVENTS_MOST];
	ww_event *another = (ww_event *)&device;

	for (size_t i = 0; i < EVENTS_MOST; i++)
		events[i] = event_make(device);
	MUST_REFUSE(WW_ERR_LIMIT, "timeline", ww_event_create(device, NULL, &another));
	MUST(!another);
	ww_event_unref(events[0]);
	events[0] = event_make(device);
	for (size_t i = 0; i < EVENTS_MOST; i++)
		ww_event_unref(events[i]);
}

/* --- streams of others --- */

static void refuse_stream(ww_event *event, ww_stream *stream)
{
	MUST_REFUSE(WW_ERR_INVALID, "stream", ww_event_record(event, stream));
	MUST_REFUSE(WW_ERR_INVALID, "stream", ww_event_stream_wait(event, stream));
	must_be_ready(event);
}

DEVICE_CASE(event_refuses_streams_of_other_backend, WW_CAP_EVENT | NEEDS_CUDA)
{
	OWN(device) ww_device *host;
	ww_event *events[2];
	ww_stream *streams[2];

	MUST_OK(ww_device_open("host", &host));
	events[0] = event_make(device);
	events[1] = event_make(host);
	streams[0] = stream_make(device);
	streams[1] = stream_make(host);
	for (int i = 0; i < 2; i++)
		refuse_stream(events[i], streams[1 - i]);
	for (int i = 0; i < 2; i++) {
		ww_event_unref(events[i]);
		ww_stream_unref(streams[i]);
	}
}

DEVICE_CASE(event_refuses_streams_of_other_gpu, WW_CAP_EVENT | NEEDS_OTHER_GPU)
{
	OWN(device) ww_device *other = subject_open_other();
	OWN(event) ww_event *event = event_make(device);
	OWN(stream) ww_stream *stream = stream_make(other);

	refuse_stream(event, stream);
}

/* What a stream did after poison let it go is announced to nobody. */
SCENE_CASE(event_refuses_lost_stream, WW_CAP_EVENT | WW_CAP_STREAM_VALUE | WW_CAP_HOST_READ_ONLY)
{
	struct ww_token token;
	ENDED_BY(signaller_end) struct signaller signaller;
	OWN(timeline) ww_timeline *timeline;
	OWN(stream) ww_stream *stream;
	OWN(event) ww_event *event;

	signaller_begin(&signaller);
	token = signaller_token(&signaller, 0);
	MUST_OK(ww_timeline_import(scene.broker, &token, NULL, &timeline));
	event = event_make(scene.device);
	stream = stream_make(scene.device);
	MUST_OK(ww_timeline_stream_wait(timeline, stream, 1, WW_WAIT_UNSUBMITTED, 0, NULL));
	MUST_OK(ww_event_record(event, stream));
	signaller_poison(&signaller);
	MUST_REFUSE(WW_ERR_PEER_LOST, "ended", ww_stream_synchronize(stream, WW_FOREVER, NULL));
	MUST_REFUSE(WW_ERR_PEER_LOST, "ended", ww_event_record(event, stream));
	MUST_REFUSE(WW_ERR_PEER_LOST, "ended", ww_event_stream_wait(event, stream));
}

/* --- handles --- */

DEVICE_CASE(event_has_no_handle_on_host, NEEDS_HOST_BACKEND)
{
	OWN(event) ww_event *event = event_make(device);
	ww_event *opened = event;
	struct ww_event_handle handle = {{0}};

	MUST_REFUSE(WW_ERR_UNSUPPORTED, "token", ww_event_handle_get(event, &handle));
	MUST_REFUSE(WW_ERR_UNSUPPORTED, "token", ww_event_handle_open(device, &handle, &opened));
	MUST(!opened);
}

DEVICE_CASE(event_handle_of_this_process, WW_CAP_EVENT | NEEDS_CUDA)
{
	OWN(event) ww_event *event = event_make(device);
	ww_event *opened = event;
	struct ww_event_handle handle;

	MUST_OK(ww_event_handle_get(event, &handle));
	MUST_REFUSE(WW_ERR_UNSUPPORTED, "pid", ww_event_handle_open(device, &handle, &opened));
	MUST(!opened);
	memset(&handle, 5, sizeof(handle));
	MUST_REFUSE(WW_ERR_SYSTEM, "/dev/shm", ww_event_handle_open(device, &handle, &opened));
}

/* --- by token --- */

SCENE_CASE(event_import_here_is_the_event, WW_CAP_EVENT)
{
	ww_event *imported;
	struct ww_token token;
	ww_event *event = event_make(scene.device);

	for (int i = 0; i < 2; i++)
		MUST_OK(ww_event_export(event, scene.broker,
			WW_PARAMS(struct ww_token_params, .escrow_ns = 600 * 1000 * NS_PER_MS),
			NULL, &token));
	scene_has_objects(1);
	MUST_OK(ww_event_import(scene.device, scene.broker, &token, NULL, &imported));
	MUST(imported == event);
	ww_event_unref(event);
	must_be_ready(imported);
	MUST_OK(ww_event_import(scene.device, scene.broker, &token, NULL, &event));
	MUST(imported == event);
	ww_event_unref(event);
	scene_has_objects(1);
	/* Gone with the last one, although it is in escrow for another ten minutes. */
	ww_event_unref(imported);
	scene_has_objects(0);
	MUST_REFUSE(WW_ERR_NOT_FOUND, "",
		ww_event_import(scene.device, scene.broker, &token, NULL, &imported));
	MUST(!imported);
}

/* What has yet to be reached is spoken for by the broker until then. */
SCENE_CASE(event_unref_while_pending, WW_CAP_EVENT | WW_CAP_STREAM_VALUE)
{
	ENDED_BY(stage_drop) struct stage stage = stage_make();
	struct ww_token token;

	stage_block(&stage);
	MUST_OK(ww_event_record(stage.event, stage.streams[0]));
	MUST_OK(ww_event_export(stage.event, scene.broker, NULL, NULL, &token));
	stage.event = ww_event_unref(stage.event);
	stage_go(&stage);
	MUST_OK(ww_stream_synchronize(stage.streams[0], WW_FOREVER, NULL));
}

SCENE_CASE(event_export_refuses, WW_CAP_EVENT)
{
	struct ww_token token;
	OWN(event) ww_event *event = event_make(scene.device);

	MUST_REFUSE(WW_ERR_INVALID, "size",
		ww_event_export(event, scene.broker, &(struct ww_token_params){0}, NULL, &token));
}

SCENE_CASE(event_import_refuses_other_kinds, WW_CAP_EVENT)
{
	OWN(event) ww_event *event = NULL;
	ww_timeline *timeline;
	ww_memory *memory = NULL;
	struct ww_token token = {.bytes = "this is no token"};

	MUST_REFUSE(WW_ERR_PROTOCOL, "no token",
		ww_event_import(scene.device, scene.broker, &token, NULL, &event));
	MUST_OK(ww_timeline_create(NULL, &timeline));
	MUST_OK(ww_timeline_export(timeline, scene.broker, NULL, NULL, &token));
	MUST_REFUSE(WW_ERR_UNSUPPORTED, "no event",
		ww_event_import(scene.device, scene.broker, &token, NULL, &event));
	ww_timeline_unref(timeline);
	event = event_make(scene.device);
	MUST_OK(ww_event_export(event, scene.broker, NULL, NULL, &token));
	MUST_REFUSE(WW_ERR_UNSUPPORTED, "no timeline",
		ww_timeline_import(scene.broker, &token, NULL, &timeline));
	MUST_REFUSE(WW_ERR_UNSUPPORTED, "no memory",
		ww_memory_import(scene.device, scene.broker, &token, NULL, NULL, &memory, NULL));
}

SCENE_CASE(event_import_refuses_other_backend, WW_CAP_EVENT | NEEDS_CUDA)
{
	ww_device *devices[2];
	ww_event *imported = NULL;
	struct ww_token token;

	devices[0] = scene.device;
	MUST_OK(ww_device_open("host", &devices[1]));
	for (int i = 0; i < 2; i++) {
		ww_event *event = event_make(devices[i]);

		MUST_OK(ww_event_export(event, scene.broker, NULL, NULL, &token));
		MUST_REFUSE(WW_ERR_UNSUPPORTED, "cannot open it",
			ww_event_import(devices[1 - i], scene.broker, &token, NULL, &imported));
		MUST(!imported);
		ww_event_unref(event);
	}
	ww_device_unref(devices[1]);
}

/* --- what others put --- */

/* An event as another process would describe it, of the subject's backend. */
static struct ww_wire_event_ref a_ref(const struct page *page)
{
	struct ww_wire_event_ref ref = {.pid = (uint32_t)getpid() + 1, .process_id = "attacker"};
	struct ww_wire_timeline_ref inside = {
		.page_bytes = page->bytes,
		.cell_offset = FIRST_CELL,
	};

	memcpy(inside.page_id, page->page->page_id, sizeof(inside.page_id));
	if (subject_is_cuda())
		memset(ref.handle, 5, sizeof(ref.handle));
	else
		ww_timeline_ref_write(&inside, ref.timeline);
	return ref;
}

/* Puts it there, imports it. @page: NULL: without descriptors */
static ww_status import_put(const struct ww_wire_put *put, const struct page *page)
{
	struct ww_token_info info = {.kind = WW_OBJECT_EVENT, .access = WW_ACCESS_READ};
	struct ww_wire_put bare = *put;
	struct ww_wire_granted granted;
	struct ww_token token;
	uint8_t secret[16];
	ww_event *event = NULL;
	struct raw raw;
	ww_status status;

	raw_open(&raw, scene.daemon.address);
	if (page) {
		MUST_OK(page_put(&raw, put, page));
	} else {
		memset(bare.fd_access, 0, sizeof(bare.fd_access));
		bare.life = WW_WIRE_LIFE_OWNER;
		MUST_OK(raw_put(&raw, &bare, NULL, 0));
	}
	MUST_OK(raw_export(&raw, put->id, WW_ACCESS_READ, 0, 60 * 1000 * NS_PER_MS, secret));
	MUST_OK(raw_import(&raw, put->id, secret, WW_ACCESS_READ, &granted));
	memcpy(info.object_id, put->id, sizeof(info.object_id));
	memcpy(info.broker_id, scene_info().broker_id, sizeof(info.broker_id));
	info.broker_uid = (uint32_t)getuid();
	info.generation = granted.generation;
	strcpy(info.address, scene.daemon.address);
	MUST_OK(ww_token_make(&info, secret, &token));
	status = ww_event_import(scene.device, scene.broker, &token, NULL, &event);
	MUST(!event == (status != WW_OK));
	if (event)
		must_be_ready(event);
	ww_event_unref(event);
	MUST_OK(raw_release(&raw, put->id));
	raw_close(&raw);
	scene_has_objects(0);
	return status;
}

static struct ww_wire_put a_put(const struct ww_wire_event_ref *ref)
{
	struct ww_wire_put put = page_object("");

	put.kind = WW_OBJECT_EVENT;
	ww_event_ref_write(ref, put.description);
	put.description_bytes = WW_EVENT_REF_BYTES;
	if (subject_is_cuda())
		put.bytes = 0;
	return put;
}

static ww_status import_ref(const struct ww_wire_event_ref *ref, const struct page *page)
{
	const struct ww_wire_put put = a_put(ref);

	return import_put(&put, page);
}

SCENE_CASE(event_import_refuses_descriptions, WW_CAP_EVENT)
{
	struct ww_wire_event_ref ref;
	struct ww_wire_put put;
	ENDED_BY(page_close) struct page page;

	page_make(&page);
	ref = a_ref(&page);
	put = a_put(&ref);
	put.description[20] ^= 1;
	MUST_REFUSE(WW_ERR_PROTOCOL, "checksum", import_put(&put, NULL));
	put.description[8] = 9;
	MUST_REFUSE(WW_ERR_VERSION, "version 9", import_put(&put, NULL));
	put.description_bytes = 64;
	MUST_REFUSE(WW_ERR_PROTOCOL, "no event", import_put(&put, NULL));
}

/* What an untrusted process's event of the host device says, and what its page is. */
SCENE_CASE(event_import_refuses_pages, NEEDS_HOST_BACKEND)
{
	struct ww_wire_event_ref ref;
	struct ww_wire_event_ref bad;
	struct ww_wire_timeline_ref inside;
	ENDED_BY(page_close) struct page page;

	page_make(&page);
	ref = a_ref(&page);
	MUST_OK(import_ref(&ref, &page));
	MUST_REFUSE(WW_ERR_PROTOCOL, "descriptor", import_ref(&ref, NULL));
	bad = ref;
	bad.timeline[20] ^= 1;
	MUST_REFUSE(WW_ERR_PROTOCOL, "checksum", import_ref(&bad, &page));
	MUST_OK(ww_timeline_ref_read(ref.timeline, sizeof(ref.timeline), &inside));
	inside.cell_offset = 8;
	ww_timeline_ref_write(&inside, bad.timeline);
	MUST_REFUSE(WW_ERR_MISMATCH, "byte 8", import_ref(&bad, &page));
	/* Values beyond all values are waited for in vain, and no longer than one wants. */
	page_cell(&page, 0)->submitted = UINT64_MAX;
	page_cell(&page, 0)->completed = WW_TIMELINE_MAX;
	MUST_OK(import_ref(&ref, &page));
}

/* CUDA takes an event of a process with the same pid for one of this process. */
SCENE_CASE(event_import_refuses_equal_pid, WW_CAP_EVENT | NEEDS_CUDA)
{
	struct ww_wire_event_ref ref;
	ENDED_BY(page_close) struct page page;

	page_make(&page);
	ref = a_ref(&page);
	MUST_REFUSE(WW_ERR_SYSTEM, "/dev/shm", import_ref(&ref, NULL));
	ref.pid = (uint32_t)getpid();
	MUST_REFUSE(WW_ERR_UNSUPPORTED, "same pid", import_ref(&ref, NULL));
}

/* --- misuse --- */

CASE(event_misuse, WW_CAP_EVENT | NEEDS_MISUSE_STATUS)
{
	ENDED_BY(stage_drop) struct stage stage = stage_make();
	struct ww_event_handle handle;
	struct ww_token token = {.bytes = {0}};
	ww_event *event;

	MUST_REFUSE(WW_ERR_INVALID, "NULL", ww_event_create(NULL, NULL, &event));
	MUST_REFUSE(WW_ERR_INVALID, "NULL", ww_event_create(stage.device, NULL, NULL));
	MUST_REFUSE(WW_ERR_INVALID, "NULL", ww_event_record(NULL, stage.streams[0]));
	MUST_REFUSE(WW_ERR_INVALID, "NULL", ww_event_record(stage.event, NULL));
	MUST_REFUSE(WW_ERR_INVALID, "NULL", ww_event_stream_wait(NULL, stage.streams[0]));
	MUST_REFUSE(WW_ERR_INVALID, "NULL", ww_event_stream_wait(stage.event, NULL));
	MUST_REFUSE(WW_ERR_INVALID, "NULL", ww_event_synchronize(NULL, 0, NULL));
	MUST_REFUSE(WW_ERR_INVALID, "NULL", ww_event_query(NULL));
	MUST_REFUSE(WW_ERR_INVALID, "NULL", ww_event_handle_get(NULL, &handle));
	MUST_REFUSE(WW_ERR_INVALID, "NULL", ww_event_handle_get(stage.event, NULL));
	MUST_REFUSE(WW_ERR_INVALID, "NULL", ww_event_handle_open(NULL, &handle, &event));
	MUST_REFUSE(WW_ERR_INVALID, "NULL", ww_event_handle_open(stage.device, NULL, &event));
	MUST_REFUSE(WW_ERR_INVALID, "NULL", ww_event_export(NULL, NULL, NULL, NULL, &token));
	MUST_REFUSE(WW_ERR_INVALID, "NULL", ww_event_export(stage.event, NULL, NULL, NULL, NULL));
	MUST_REFUSE(WW_ERR_INVALID, "NULL", ww_event_import(NULL, NULL, &token, NULL, &event));
	MUST_REFUSE(WW_ERR_INVALID, "NULL",
		ww_event_import(stage.device, NULL, NULL, NULL, &event));
	MUST_REFUSE(WW_ERR_INVALID, "NULL",
		ww_event_import(stage.device, NULL, &token, NULL, NULL));
}
