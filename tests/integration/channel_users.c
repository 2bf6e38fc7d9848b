/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel_users.c - channels across users: for whom streams wait on the GPU
 *
 * The users need not exist: the kernel knows them by number.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "channel/ring.h"
#include "integration/channel.h"
#include "share/put_request.h"
#include "support/page.h"
#include "wire/name.h"
#include "wire/sync_description.h"

static struct child producer;
static struct child consumer;

static void start_users(const char *ours, const char *theirs)
{
	scene_begin();
	channel_start(&producer, NULL);
	channel_start(&consumer, NULL);
	agent_must(&producer, WW_OK, "user 61001 61001");
	agent_must(&consumer, WW_OK, "user 61002 61002");
	agent_must(&producer, WW_OK, "create c slots=1 mode=0644 %s", ours);
	agent_must(&consumer, WW_OK, "join c %s", theirs);
}

/* The stream gets the slot or the frame at once if it may wait, else when the other's work ends. */
static void streams_wait(const char *ours, const char *theirs, bool are_trusted)
{
	start_users(ours, theirs);
	agent_must(&producer, WW_OK, "send 1");
	agent_does(&consumer, "hold", "stream_release");
	agent_must(&producer, are_trusted ? WW_OK : WW_TIMED_OUT, "acquire stream");
	agent_must(&producer, are_trusted ? WW_NOT_READY : WW_OK, "stream_query");
	agent_must(&consumer, WW_OK, "go");
	if (!are_trusted)
		agent_must(&producer, WW_OK, "acquire stream wait_ms=forever");
	scene_end();
}

static void frames_wait(const char *ours, const char *theirs, bool are_trusted)
{
	start_users(ours, theirs);
	agent_must(&producer, WW_OK, "stream_send");
	agent_tell(&consumer, "stream_hold");
	if (are_trusted)
		agent_answers(&consumer, WW_OK);
	agent_must(&producer, WW_OK, "go");
	if (!are_trusted)
		agent_answers(&consumer, WW_OK);
	agent_must(&consumer, WW_OK, "release");
	scene_end();
}

CASE(channel_users_streams_do_not_wait, NEEDS_VALUES | NEEDS_ROOT)
{
	streams_wait("", "", false);
	streams_wait("trust", "", false);
	streams_wait("", "trust", false);
	frames_wait("", "trust", false);
}

/* A consumer of the own user releases the slot, too, and came first. */
SCENE_CASE(channel_users_are_waited_for_beside_own, NEEDS_VALUES | NEEDS_ROOT)
{
	struct child consumers[2];

	channel_start(&producer, NULL);
	agent_does(&producer, "user 61001 61001", "create c slots=1 mode=0644");
	for (int i = 0; i < 2; i++) {
		channel_start(&consumers[i], NULL);
		agent_must(&consumers[i], WW_OK, i ? "user 61002 61002" : "user 61001 61001");
		agent_must(&consumers[i], WW_OK, "join c");
	}
	agent_must(&producer, WW_OK, "send 1");
	for (int i = 0; i < 2; i++) {
		agent_does(&consumers[i], "hold", "stream_release");
	}
	agent_must(&producer, WW_TIMED_OUT, "acquire stream");
	agent_must(&consumers[1], WW_OK, "go");
	agent_must(&producer, WW_OK, "acquire stream wait_ms=forever");
	agent_must(&producer, WW_NOT_READY, "stream_query");
	agent_must(&consumers[0], WW_OK, "go");
}

CASE(channel_users_trust_each_other, NEEDS_VALUES | NEEDS_ROOT)
{
	streams_wait("trust", "trust", true);
	frames_wait("trust", "trust", true);
}

/* --- a connection that ends, of a process that lives --- */

/*
 * It is told when it calls next, and no frame is kept for it; what it holds is its own until it
 * releases that.
 */
SCENE_CASE(channel_cut_consumer_blocks_nobody, NEEDS_VALUES)
{
	struct child other;

	channel_start(&producer, NULL);
	channel_start(&consumer, NULL);
	channel_start(&other, NULL);
	agent_must(&producer, WW_OK, "create c slots=2");
	agent_must(&consumer, WW_OK, "join c");
	agent_must(&other, WW_OK, "join c");
	agent_must(&producer, WW_OK, "send 1");
	agent_must(&consumer, WW_OK, "hold");
	agent_must(&other, WW_OK, "take 1");
	agent_must(&producer, WW_OK, "send 1");
	agent_must(&other, WW_OK, "take 1");
	agent_tell(&producer, "send 1"); /* frame 1 is held, and 2 has not been received */
	agent_must(&consumer, WW_OK, "release");
	agent_answers(&producer, WW_OK);
	agent_must(&other, WW_OK, "take 1");
	agent_tell(&producer, "send 4"); /* the consumer needs 2 and 3 */
	agent_must(&consumer, WW_OK, "cut");
	agent_must(&other, WW_OK, "take 4");
	agent_answers(&producer, WW_OK);
	agent_must(&consumer, WW_ERR_PEER_LOST, "no_more wait_ms=forever");
}

/* --- a user that takes more names than consumers it may have --- */

#define NAMES 4

static void describe(struct ww_wire_put *put, const struct page *page,
	const struct ww_channel_marks *marks)
{
	const struct ww_wire_channel_consumer_ref ref = {
		.page_bytes = page->bytes,
		.marks_bytes = marks->mapping->bytes,
		.slot_count = marks->slot_count,
	};

	put->kind = WW_WIRE_KIND_CHANNEL;
	put->mode = 0444;
	put->fd_access[2] = WW_PUT_TO_READERS;
	ww_consumer_ref_write(&ref, put->description);
	put->description_bytes = WW_CONSUMER_REF_BYTES;
}

/* Under the names of all consumers. */
static void take_names(struct raw *hostile, const uint8_t channel_id[16], const struct page *page,
	const struct ww_channel_marks *marks, uint8_t out_ids[NAMES][16])
{
	OWN(fd) int fd;

	MUST_OK(ww_mapping_export(marks->mapping, WW_ACCESS_READ, &fd));
	for (int i = 0; i < NAMES; i++) {
		struct ww_wire_put put = page_object("");

		ww_name_begin_inside(channel_id, put.name);
		snprintf(put.name + WW_NAME_INSIDE_CHARS, sizeof(put.name) - WW_NAME_INSIDE_CHARS,
			"consumer-%d", i);
		describe(&put, page, marks);
		MUST_OK(raw_put(hostile, &put, (int[]){page->reader, page->writer, fd}, 3));
		memcpy(out_ids[i], put.id, sizeof(put.id));
	}
}

static void make_marks(const struct ww_wire_granted *granted, struct ww_channel_marks *marks)
{
	struct ww_wire_channel_ref form;

	MUST_OK(ww_channel_ref_read(granted->description, WW_CHANNEL_REF_BYTES, &form));
	MUST_OK(ww_channel_marks_create(marks, granted->id,
		&(struct ww_ring_size){.slot_count = form.slot_count,
			.metadata_bytes = form.metadata_bytes,
			.held_max = form.held_max},
		false));
}

/* The producer takes out consumers that are too many, so others can have the names. */
CASE(channel_users_keep_no_names_from_others, NEEDS_VALUES | NEEDS_ROOT)
{
	ENDED_BY(page_close) struct page page;
	struct ww_channel_marks marks;
	struct ww_wire_granted granted;
	uint8_t ids[NAMES][16];
	struct raw hostile;

	page_make(&page);
	start_users("consumers=4 per_user=1", "");
	agent_must(&consumer, WW_OK, "leave");
	raw_open_as(&hostile, ww_broker_address(scene.broker), 61003, 61003);
	MUST_OK(raw_get(&hostile, "c", WW_WIRE_ACCESS_READ, &granted));
	make_marks(&granted, &marks);
	take_names(&hostile, granted.id, &page, &marks, ids);
	agent_must(&consumer, WW_ERR_LIMIT, "join c");
	agent_must(&producer, WW_OK, "send 1");
	agent_must(&consumer, WW_OK, "join c");
	agent_must(&producer, WW_OK, "send 1");
	agent_must(&consumer, WW_OK, "take_to 2");
	for (int i = 0; i < NAMES; i++)
		MUST_OK(raw_release(&hostile, ids[i]));
	ww_channel_marks_fini(&marks);
	raw_close(&hostile);
	scene_end();
}
