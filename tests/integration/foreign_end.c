/* SPDX-License-Identifier: Apache-2.0 */
/*
 * foreign_end.c - who owns the memory lets go of it, dies, or frees it too early
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "integration/foreign.h"
#include "support/driver.h"
#include "support/timeline.h"

static const char *const kinds[] = {"legacy", "pool"};

static struct child owner;
static struct ww_token token; /* that the owner made, for writing */

static void start_owner(const char *kind)
{
	foreign_owner(&owner, kind, 0, 0);
	token = foreign_token(&owner, "write");
}

static ww_memory *import(void)
{
	ww_memory *memory;

	MUST_OK(scene_import(&token, WW_ACCESS_WRITE, &memory));
	return memory;
}

static void refuse(ww_status status, const char *word)
{
	ww_memory *memory = (ww_memory *)&status;

	MUST_REFUSE(status, word, scene_import(&token, WW_ACCESS_WRITE, &memory));
}

/* Nobody gets it any more, also who has it; who has it keeps it. */
KIND_CASE(foreign_owner_lets_go, WW_CAP_FOREIGN)
{
	ww_memory *memory;

	start_owner(kind);
	memory = import();
	agent_must(&owner, WW_OK, "drop");
	refuse(WW_ERR_NOT_FOUND, "release");
	pattern_verify(memory, 1);
	ww_memory_unref(memory);
	refuse(WW_ERR_NOT_FOUND, "release");
	/* Wrapped again it is another object. */
	agent_must(&owner, WW_OK, "wrap 0 0");
	refuse(WW_ERR_NOT_FOUND, "release");
	token = foreign_token(&owner, "write");
	memory = import();
	pattern_verify(memory, 1);
	ww_memory_unref(memory);
}

/*
 * The next tensor of a caching allocator's segment, while one before it is still held here: the
 * bytes are the same.
 */
KIND_CASE(foreign_wrapped_anew_while_held, WW_CAP_FOREIGN)
{
	ww_memory *memories[4];

	foreign_owner(&owner, kind, 0, 1000);
	for (int round = 0; round < 4; round++) {
		token = foreign_token(&owner, "write");
		memories[round] = import();
		pattern_verify(memories[round], 1 + (uint32_t)round * 500);
		agent_must(&owner, WW_OK, "drop");
		refuse(WW_ERR_NOT_FOUND, "release");
		agent_must(&owner, WW_OK, "wrap %d 1000", (round + 1) * 500);
	}
	ww_memory_unref(memories[0]);
	ww_memory_unref(memories[2]);
	agent_must(&owner, WW_OK, "fill 2");
	pattern_verify(memories[1], 2 + 500);
	pattern_write(memories[1], 3);
	ww_memory_unref(memories[1]);
	agent_does(&owner, "drop", "wrap 500 1000", "verify 3");
	pattern_verify(memories[3], 2 + 1500);
	ww_memory_unref(memories[3]);
}

KIND_CASE(foreign_owner_killed, WW_CAP_FOREIGN)
{
	ww_memory *memory;

	start_owner(kind);
	memory = import();
	child_kill(&owner);
	refuse(WW_ERR_PEER_LOST, "ended");
	pattern_verify(memory, 1);
	pattern_write(memory, 2);
	pattern_verify(memory, 2);
	ww_memory_unref(memory);
	scene_has_objects(0);
	refuse(WW_ERR_NOT_FOUND, "ended");
}

/* Where no broker tells, the page does: its lock is gone. */
DEVICE_CASE(foreign_owner_killed_with_descriptor, WW_CAP_FOREIGN)
{
	struct ww_memory_description description;
	ww_memory *memory;
	ww_memory *again;
	OWN(fd) int fd;

	foreign_owner(&owner, "legacy", 0, 0);
	agent_must(&owner, WW_OK, "send");
	MUST_OK(ww_memory_receive(device, owner.socket,
		WW_PARAMS(struct ww_import_params, .access = WW_ACCESS_WRITE), WW_FOREVER, NULL,
		&memory));
	MUST_OK(ww_memory_export_fd(memory, WW_ACCESS_WRITE, &fd, &description));
	MUST_OK(ww_memory_import_fd(device, fd, &description,
		WW_PARAMS(struct ww_import_params, .access = WW_ACCESS_WRITE), &again));
	MUST(again == memory);
	ww_memory_unref(again);
	child_kill(&owner);
	MUST_REFUSE(WW_ERR_PEER_LOST, "ended",
		ww_memory_import_fd(device, fd, &description,
			WW_PARAMS(struct ww_import_params, .access = WW_ACCESS_WRITE), &again));
	pattern_verify(memory, 1);
	ww_memory_unref(memory);
	MUST_REFUSE(WW_ERR_PEER_LOST, "ended",
		ww_memory_import_fd(device, fd, &description,
			WW_PARAMS(struct ww_import_params, .access = WW_ACCESS_WRITE), &again));
}

/* A mistake of the owner's: it is told, and nobody gets wrong memory. */
SCENE_CASE(foreign_owner_frees_too_early, WW_CAP_FOREIGN)
{
	struct ww_token other;
	ww_memory *memory;

	start_owner("legacy");
	agent_must(&owner, WW_OK, "free");
	refuse(WW_ERR_PEER_LOST, "freed");
	agent_refuses(&owner, WW_ERR_STATE, "freed", "export write");
	agent_must(&owner, WW_OK, "alloc legacy %d 2", FOREIGN_BYTES);
	refuse(WW_ERR_PEER_LOST, "freed");
	agent_refuses(&owner, WW_ERR_STATE, "freed", "export write");
	agent_must(&owner, WW_OK, "free");
	/*
	 * Other memory in its place that is shared too: now the driver would open that by the
	 * former handle.
	 */
	agent_must(&owner, WW_OK, "swap");
	agent_must(&owner, WW_OK, "alloc legacy %d 3", FOREIGN_BYTES);
	agent_must(&owner, WW_OK, "wrap 0 0");
	other = foreign_token(&owner, "write");
	MUST_OK(scene_import(&other, WW_ACCESS_WRITE, &memory));
	pattern_verify(memory, 3);
	refuse(WW_ERR_NOT_FOUND, "release");
	ww_memory_unref(memory);
	refuse(WW_ERR_NOT_FOUND, "release");
}

/*
 * The same address again and again, while the former memory is still mapped here: always the right
 * bytes.
 */
SCENE_CASE(foreign_address_reused_100_times, WW_CAP_FOREIGN)
{
	OWN(memory) ww_memory *former = NULL;

	foreign_start(&owner);
	for (int i = 0; i < 100; i++) {
		ww_memory *memory;

		agent_must(&owner, WW_OK, "alloc legacy %d %d", 1 << 16, i);
		agent_must(&owner, WW_OK, "wrap 0 0");
		token = foreign_token(&owner, "write");
		memory = import();
		pattern_verify(memory, (uint32_t)i);
		ww_memory_unref(former);
		former = i % 2 ? memory : NULL;
		if (!former)
			ww_memory_unref(memory);
		agent_does(&owner, "drop", "free");
	}
}

SCENE_CASE(foreign_pool_address_reused, WW_CAP_FOREIGN)
{
	foreign_start(&owner);
	for (int i = 0; i < 20; i++) {
		ww_memory *memory;

		agent_must(&owner, WW_OK, "alloc pool %d %d", 1 << 20, i);
		agent_must(&owner, WW_OK, "wrap 0 0");
		token = foreign_token(&owner, "write");
		memory = import();
		pattern_verify(memory, (uint32_t)i);
		ww_memory_unref(memory);
		agent_does(&owner, "drop", "free");
	}
}

/* Who was given it dies: nothing of that is the owner's concern. */
KIND_CASE(foreign_importer_killed, WW_CAP_FOREIGN)
{
	struct child reader;

	start_owner(kind);
	foreign_start(&reader);
	foreign_give(&reader, &token);
	agent_must(&reader, WW_OK, "write 2");
	child_kill(&reader);
	agent_does(&owner, "check 2", "drop", "free");
}

/*
 * As many streams as a GPU has queues wait for this very thread: letting go waits for none of them.
 */
KIND_CASE(foreign_let_go_while_streams_wait, WW_CAP_FOREIGN)
{
	ww_stream *streams[8];
	ww_timeline *timeline;
	ww_memory *memory;

	start_owner(kind);
	memory = import();
	timeline = timeline_make(0, 0);
	for (size_t j = 0; j < CHECK_COUNT(streams); j++) {
		streams[j] = stream_make(scene.device);
		stream_hold(streams[j], timeline, 1);
	}
	ww_memory_unref(memory);
	MUST_OK(ww_timeline_signal(timeline, 1));
	for (size_t j = 0; j < CHECK_COUNT(streams); j++) {
		MUST_OK(ww_stream_synchronize(streams[j], WW_FOREVER, NULL));
		ww_stream_unref(streams[j]);
	}
	ww_timeline_unref(timeline);
	memory = import();
	pattern_verify(memory, 1);
	ww_memory_unref(memory);
}

/* What was opened before it is refused is not closed behind a stream that waits either. */
SCENE_CASE(foreign_refused_while_stream_waits, WW_CAP_FOREIGN | NEEDS_FAKE)
{
	OWN(timeline) ww_timeline *timeline;
	OWN(memory) ww_memory *memory;
	OWN(stream) ww_stream *stream;

	start_owner("legacy");
	timeline = timeline_make(0, 0);
	stream = stream_make(scene.device);
	stream_hold(stream, timeline, 1);
	fake_get()->fail("cuMemGetAddressRange", 1, WW_CUDA_ERROR_UNKNOWN);
	refuse(WW_ERR_DEVICE, "how large");
	fake_get()->fail_off();
	MUST_STATUS(WW_NOT_READY, ww_stream_query(stream));
	memory = import();
	pattern_verify(memory, 1);
	MUST_OK(ww_timeline_signal(timeline, 1));
	MUST_OK(ww_stream_synchronize(stream, WW_FOREVER, NULL));
}
