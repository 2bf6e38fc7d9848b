/* SPDX-License-Identifier: Apache-2.0 */
/*
 * timeline.c - short ways to use timelines, and a signaller by hand, see timeline.h
 */
#include "support/timeline.h"

#include <fcntl.h>
#include <poll.h>
#include <string.h>

#include "base/await.h"
#include "support/check.h"
#include "support/stream_gate.h"
#include "support/broker_case.h"
#include "support/subject.h"
#include "wire/sync_description.h"
#include "wire/token.h"

#define CELLS 8

ww_timeline *timeline_make(uint64_t flags, uint64_t value)
{
	ww_timeline *timeline;

	MUST_OK(ww_timeline_create(WW_PARAMS(struct ww_timeline_params, .flags = flags,
					   .value = value),
		&timeline));
	return timeline;
}

struct ww_timeline_info timeline_info(ww_timeline *timeline)
{
	struct ww_timeline_info info = WW_INIT(struct ww_timeline_info);

	MUST_OK(ww_timeline_info_get(timeline, &info));
	return info;
}

void timeline_must_be(ww_timeline *timeline, uint32_t state, uint64_t submitted, uint64_t completed)
{
	struct ww_timeline_info info = timeline_info(timeline);

	MUST_EQUAL(state, info.state);
	MUST_EQUAL(submitted, info.submitted);
	MUST_EQUAL(completed, info.completed);
}

/* Streams of the library's own may have to end first, and nobody says when they have. */
void timeline_settle(const struct census *before)
{
	struct census now;

	(void)COMES_TRUE((ww_timeline_unref(timeline_make(0, 0)), census_take(&now),
		now.descriptors <= before->descriptors && now.mappings <= before->mappings));
}

void stream_hold(ww_stream *stream, ww_timeline *until, uint64_t value)
{
	MUST_OK(ww_timeline_stream_wait(until, stream, value, WW_WAIT_UNSUBMITTED, 0, NULL));
}

void stream_must_be_lost(ww_stream *stream, const char *word)
{
	OWN(timeline) ww_timeline *other = timeline_make(0, 0);
	uint32_t from = 1;
	uint32_t to = 2;
	static sem_t ran;
	int fd = 0;

	MUST_CALL(sem_init(&ran, 0, 0));
	MUST_REFUSE(WW_ERR_PEER_LOST, word, ww_stream_synchronize(stream, WW_FOREVER, NULL));
	MUST_REFUSE(WW_ERR_PEER_LOST, word, ww_stream_query(stream));
	MUST_REFUSE(WW_ERR_PEER_LOST, word, ww_stream_copy(stream, &to, &from, sizeof(to)));
	MUST_REFUSE(WW_ERR_PEER_LOST, word, ww_stream_fill(stream, &to, 3, 4, 1));
	MUST_REFUSE(WW_ERR_PEER_LOST, word, ww_stream_call(stream, gate_post, &ran));
	MUST_REFUSE(WW_ERR_PEER_LOST, word, ww_timeline_stream_signal(other, stream, 1));
	MUST_REFUSE(WW_ERR_PEER_LOST, word, ww_timeline_stream_wait(other, stream, 0, 0, 0, NULL));
	MUST_REFUSE(WW_ERR_PEER_LOST, word, ww_timeline_eventfd(other, stream, 0, &fd));
	MUST_REFUSE(WW_ERR_PEER_LOST, word, ww_stream_synchronize(stream, WW_FOREVER, NULL));
	MUST_EQUAL(-1, fd);
	MUST_EQUAL(2, to);
	MUST(sem_trywait(&ran) == -1);
	timeline_must_be(other, WW_TIMELINE_LIVE, 0, 0);
}

int timeline_eventfd_make(ww_timeline *timeline, uint64_t value, ww_stream *stream)
{
	int fd;

	MUST_OK(ww_timeline_eventfd(timeline, stream, value, &fd));
	MUST(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	MUST(fcntl(fd, F_GETFL) & O_NONBLOCK);
	return fd;
}

bool fd_is_readable(int fd, int timeout_ms)
{
	struct pollfd waiting = {.fd = fd, .events = POLLIN};
	int count = poll(&waiting, 1, timeout_ms);

	MUST_CALL(count);
	return count == 1;
}

/* --- the signaller --- */

uint64_t cell_offset(uint32_t number)
{
	return sizeof(struct ww_layout_signal_page) + number * sizeof(struct ww_layout_signal_cell);
}

static void describe(const struct signaller *signaller, uint64_t offset, struct ww_wire_put *put)
{
	struct ww_wire_timeline_ref ref = {
		.page_bytes = signaller->page.bytes,
		.cell_offset = offset,
	};

	memcpy(ref.page_id, signaller->page.page->page_id, sizeof(ref.page_id));
	ww_timeline_ref_write(&ref, put->description);
	put->description_bytes = WW_TIMELINE_REF_BYTES;
}

void signaller_begin(struct signaller *signaller)
{
	struct ww_wire_put put;

	memset(signaller, 0, sizeof(*signaller));
	raw_open(&signaller->raw, scene.daemon.address);
	page_make(&signaller->page);
	for (uint32_t i = 0; i < CELLS; i++)
		ww_signal_cell_open(page_cell(&signaller->page, i), 0);
	put = page_object("");
	memcpy(put.id, signaller->page.page->page_id, sizeof(put.id));
	memcpy(signaller->id, put.id, sizeof(put.id));
	describe(signaller, 0, &put);
	MUST_OK(page_put(&signaller->raw, &put, &signaller->page));
}

static void put_named(struct signaller *signaller, const struct ww_wire_put *put)
{
	MUST(signaller->named_count < CHECK_COUNT(signaller->named));
	MUST_OK(page_put(&signaller->raw, put, &signaller->page));
	memcpy(signaller->named[signaller->named_count++], put->id, sizeof(put->id));
}

void signaller_name(struct signaller *signaller, const char *name, uint32_t cell)
{
	struct ww_wire_put put = page_object(name);

	put.mode = 0644;
	describe(signaller, cell_offset(cell), &put);
	put_named(signaller, &put);
}

void signaller_name_as(struct signaller *signaller, const char *name, const uint8_t description[64])
{
	struct ww_wire_put put = page_object(name);

	memcpy(put.description, description, WW_TIMELINE_REF_BYTES);
	put.description_bytes = WW_TIMELINE_REF_BYTES;
	put_named(signaller, &put);
}

struct ww_token signaller_token(struct signaller *signaller, uint32_t cell)
{
	struct ww_token_info info = {
		.struct_size = sizeof(info),
		.kind = WW_OBJECT_TIMELINE,
		.access = WW_ACCESS_READ,
		.offset = cell_offset(cell),
		.bytes = sizeof(struct ww_layout_signal_cell),
		.total_bytes = signaller->page.bytes,
	};
	struct ww_broker_info broker = scene_info();
	struct ww_wire_export message = {.access = WW_WIRE_ACCESS_READ};
	struct ww_wire_exported exported;
	struct ww_token token;

	memcpy(info.broker_id, broker.broker_id, sizeof(info.broker_id));
	memcpy(info.object_id, signaller->id, sizeof(info.object_id));
	strcpy(info.address, scene.daemon.address);
	memcpy(message.id, signaller->id, sizeof(message.id));
	MUST_OK(raw_call(&signaller->raw, export, &message, exported, &exported));
	info.generation = exported.generation;
	MUST_OK(ww_token_make(&info, exported.secret, &token));
	return token;
}

void signaller_poison(struct signaller *signaller)
{
	ww_signal_page_poison(signaller->page.page, signaller->page.bytes, 4711, "the-deceased",
		true);
}

void signaller_signal(struct signaller *signaller, uint32_t cell, uint64_t value)
{
	ww_signal_cell_complete(page_cell(&signaller->page, cell), value);
}

void signaller_end(struct signaller *signaller)
{
	for (size_t i = 0; i < signaller->named_count; i++)
		MUST_OK(raw_release(&signaller->raw, signaller->named[i]));
	MUST_OK(raw_release(&signaller->raw, signaller->id));
	raw_close(&signaller->raw);
	page_close(&signaller->page);
}
