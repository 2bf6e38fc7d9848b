/* SPDX-License-Identifier: Apache-2.0 */
/*
 * timeline_share.c - timelines by name and by token, as one process sees them: what is refused,
 * what a waiter is told
 *
 * The signaller is this process itself, or one made by hand (support/timeline.h), which the library
 * takes for another.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "conformance/conformance.h"
#include "support/forge.h"
#include "support/broker_case.h"
#include "support/timeline.h"
#include "wire/sync_description.h"

#define FOREVER WW_FOREVER

#define NAMED(...) WW_PARAMS(struct ww_name_params, __VA_ARGS__)
#define TOKEN(...) WW_PARAMS(struct ww_token_params, __VA_ARGS__)

static sem_t ran;

static ww_timeline *get(const char *name)
{
	ww_timeline *timeline;

	MUST_OK(ww_timeline_get(scene.broker, name, 0, NULL, &timeline));
	return timeline;
}

static ww_timeline *import(const struct ww_token *token)
{
	ww_timeline *timeline;

	MUST_OK(ww_timeline_import(scene.broker, token, NULL, &timeline));
	return timeline;
}

static struct ww_token export(ww_timeline *timeline)
{
	struct ww_token token;

	MUST_OK(ww_timeline_export(timeline, scene.broker, NULL, NULL, &token));
	return token;
}

static void refuse_import(ww_status status, const char *word, const struct ww_token *token)
{
	ww_timeline *timeline = (ww_timeline *)&status;

	MUST_REFUSE(status, word, ww_timeline_import(scene.broker, token, NULL, &timeline));
	MUST(!timeline);
}

static void refuse_get(ww_status status, const char *word, const char *name)
{
	ww_timeline *timeline = (ww_timeline *)&status;

	MUST_REFUSE(status, word, ww_timeline_get(scene.broker, name, 0, NULL, &timeline));
	MUST(!timeline);
}

/* --- in the signaller's own process --- */

SCENE_CASE(timeline_comes_home, NO_DEVICE)
{
	ww_timeline *timeline = timeline_make(0, 3);
	ww_timeline *neighbour = timeline_make(0, 4);
	struct ww_token token = export(timeline);
	struct ww_token other = export(timeline);

	MUST(import(&token) == timeline);
	MUST(import(&other) == timeline);
	MUST(import(&token) == timeline);
	other = export(neighbour);
	MUST(import(&other) == neighbour);
	MUST_OK(ww_timeline_put(timeline, scene.broker, "home", NULL, NULL));
	MUST(get("home") == timeline);
	MUST_OK(ww_timeline_put(neighbour, scene.broker, "next/door", NAMED(.mode = 0640), NULL));
	MUST(get("next/door") == neighbour);
	for (int i = 0; i < 4; i++) {
		ww_timeline_unref(timeline);
		MUST_OK(ww_timeline_signal(timeline, 4 + (uint64_t)i));
	}
	for (int i = 0; i < 3; i++)
		ww_timeline_unref(neighbour);
	ww_timeline_unref(timeline); /* the last one */
}

/* Also without a broker given: the one of the environment. */
SCENE_CASE(timeline_uses_default_broker, NO_DEVICE)
{
	ww_timeline *timeline = timeline_make(0, 0);
	ww_timeline *again;
	struct ww_token token;

	MUST_OK(ww_timeline_export(timeline, NULL, TOKEN(.uses = 1), NULL, &token));
	MUST_OK(ww_timeline_import(NULL, &token, NULL, &again));
	MUST(again == timeline);
	ww_timeline_unref(timeline);
	ww_timeline_unref(timeline);
}

SCENE_CASE(timeline_name_ends_with_it, NO_DEVICE)
{
	ww_timeline *timeline;

	for (int i = 0; i < 3; i++) {
		timeline = timeline_make(0, 0);
		MUST_OK(ww_timeline_put(timeline, scene.broker, "x", NULL, NULL));
		scene_has_objects(1);
		ww_timeline_unref(timeline);
		scene_has_objects(0);
		refuse_get(WW_ERR_NOT_FOUND, "x", "x");
	}
}

/*
 * The broker is killed with all it had, and another one listens there: what is put anew is there.
 */
CASE(timeline_put_again_after_loss, NO_DEVICE)
{
	char folder[] = "/tmp/warpway-test-XXXXXX";
	char path[64];
	ww_timeline *timeline = timeline_make(0, 0);
	struct broker first;
	struct broker second;
	ww_timeline *again;
	ww_broker *broker;

	MUST(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/broker.sock", folder);
	broker_start(&first, NULL);
	broker_start(&second, NULL);
	MUST_CALL(symlink(first.address, path));
	MUST_OK(ww_broker_open(WW_PARAMS(struct ww_broker_params, .address = path), &broker));
	MUST_OK(ww_timeline_put(timeline, broker, "x", NULL, NULL));
	MUST_CALL(unlink(path));
	MUST_CALL(symlink(second.address, path));
	broker_kill(&first);
	MUST_OK(ww_timeline_put(timeline, broker, "x", NULL, NULL));
	MUST_OK(ww_timeline_get(broker, "x", 0, NULL, &again));
	MUST(again == timeline);
	MUST_REFUSE(WW_ERR_EXISTS, "name", ww_timeline_put(timeline, broker, "y", NULL, NULL));
	ww_timeline_unref(again);
	ww_timeline_unref(timeline);
	ww_broker_unref(broker);
	broker_stop(&second);
	MUST_CALL(unlink(path));
	MUST_CALL(rmdir(folder));
}

static void refuse_put(ww_timeline *timeline, ww_status status, const char *word, const char *name,
	const struct ww_name_params *params)
{
	MUST_REFUSE(status, word, ww_timeline_put(timeline, scene.broker, name, params, NULL));
}

SCENE_CASE(timeline_put_refuses, NO_DEVICE)
{
	OWN(timeline) ww_timeline *timeline = timeline_make(0, 0);
	ww_timeline *other = timeline_make(0, 0);

	refuse_put(timeline, WW_ERR_INVALID, "size", "x", &(struct ww_name_params){0});
	refuse_put(timeline, WW_ERR_INVALID, "mode", "x", NAMED(.mode = 01000));
	refuse_put(timeline, WW_ERR_INVALID, "flags", "x", NAMED(.flags = 0x80));
	refuse_put(timeline, WW_ERR_INVALID, "name", "", NULL);
	refuse_put(timeline, WW_ERR_INVALID, "", "/absolute", NULL);
	refuse_put(timeline, WW_ERR_INVALID, "", "@x", NULL);
	MUST_OK(ww_timeline_put(timeline, scene.broker, "x", NULL, NULL));
	refuse_put(timeline, WW_ERR_EXISTS, "name", "y", NULL);
	refuse_put(other, WW_ERR_EXISTS, "'x'", "x", NULL);
	MUST_OK(ww_timeline_put(other, scene.broker, "x", NAMED(.flags = WW_PUT_REPLACE), NULL));
	MUST(get("x") == other);
	ww_timeline_unref(other);
	ww_timeline_unref(other);
}

SCENE_CASE(timeline_export_refuses, NO_DEVICE)
{
	OWN(timeline) ww_timeline *timeline = timeline_make(0, 0);
	struct ww_token token;

	MUST_REFUSE(WW_ERR_INVALID, "size",
		ww_timeline_export(timeline, scene.broker, &(struct ww_token_params){0}, NULL,
			&token));
}

SCENE_CASE(timeline_get_refuses, WW_CAP_EXPORT)
{
	ww_timeline *timeline = (ww_timeline *)&timeline;
	ww_memory *memory;

	refuse_get(WW_ERR_NOT_FOUND, "nobody", "nobody");
	refuse_get(WW_ERR_INVALID, "", "a//b");
	MUST_REFUSE(WW_TIMED_OUT, "'nobody' was not there, or not ready, within 2 ms",
		ww_timeline_get(scene.broker, "nobody", 2 * MS, NULL, &timeline));
	MUST(!timeline);
	memory = scene_make(MIB, 1);
	scene_put(memory, "memory", 0, WW_LIFE_HELD, WW_STATE_SEALED);
	refuse_get(WW_ERR_UNSUPPORTED, "memory", "memory");
	ww_memory_unref(memory);
	MUST_OK(ww_barrier_create(scene.broker, "barrier",
		WW_PARAMS(struct ww_barrier_params, .count = 2), NULL, NULL));
	refuse_get(WW_ERR_UNSUPPORTED, "barrier", "barrier");
	MUST_OK(ww_broker_remove(scene.broker, "barrier"));
}

/* --- tokens --- */

SCENE_CASE(timeline_token_of_other_kinds, WW_CAP_EXPORT)
{
	OWN(timeline) ww_timeline *timeline = timeline_make(0, 0);
	ww_barrier *barrier = (ww_barrier *)&timeline;
	ww_memory *got;
	struct ww_token token;
	ww_memory *memory = scene_make(MIB, 1);

	MUST_OK(ww_memory_export(memory, scene.broker,
		WW_PARAMS(struct ww_export_params, .escrow_ns = WW_ESCROW_NONE), NULL, &token));
	refuse_import(WW_ERR_UNSUPPORTED, "memory", &token);
	ww_memory_unref(memory);
	MUST_OK(ww_barrier_create(scene.broker, "barrier",
		WW_PARAMS(struct ww_barrier_params, .count = 2), NULL, &token));
	refuse_import(WW_ERR_UNSUPPORTED, "barrier", &token);
	MUST_OK(ww_broker_remove(scene.broker, "barrier"));
	token = export(timeline);
	MUST_REFUSE(WW_ERR_UNSUPPORTED, "timeline",
		ww_memory_import(scene.device, scene.broker, &token, NULL, NULL, &got, NULL));
	MUST_REFUSE(WW_ERR_UNSUPPORTED, "timeline",
		ww_barrier_import(scene.broker, &token, 0, 0, NULL, &barrier));
	MUST(!barrier);
}

SCENE_CASE(timeline_import_refuses_every_flipped_bit, NO_DEVICE)
{
	OWN(timeline) ww_timeline *timeline = timeline_make(0, 0);
	struct ww_token token = export(timeline);

	for (size_t bit = 0; bit < 8 * sizeof(token); bit++) {
		token.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
		refuse_import(WW_ERR_PROTOCOL, "token", &token);
		token.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
}

/* A token with some fields changed, and a right checksum. */
static struct ww_token forged(const struct ww_token *token,
	void (*change)(struct ww_wire_token *fields, uint64_t value), uint64_t value)
{
	struct ww_wire_token fields;
	struct ww_token out;

	ww_wire_decode_token(token->bytes, &fields);
	change(&fields, value);
	ww_wire_encode_token(&fields, out.bytes);
	token_seal(&out);
	return out;
}

static void change_offset(struct ww_wire_token *fields, uint64_t value)
{
	fields->offset = value;
}

static void change_version(struct ww_wire_token *fields, uint64_t value)
{
	fields->version = (uint16_t)value;
}

static void change_secret(struct ww_wire_token *fields, uint64_t value)
{
	fields->secret[value] ^= 1;
}

static void change_object(struct ww_wire_token *fields, uint64_t value)
{
	fields->object_id[value] ^= 1;
}

static void change_total(struct ww_wire_token *fields, uint64_t value)
{
	fields->total_bytes = value;
}

SCENE_CASE(timeline_import_refuses_forged, NO_DEVICE)
{
	static const uint64_t nowhere[] = {1, 8, 128, 255, 257, 256 + 64, 256 + 126 * 128, 16384,
		UINT64_C(1) << 40, UINT64_MAX - 127};
	ww_timeline *timeline = timeline_make(0, 0);
	struct ww_token other;
	struct ww_token token = export(timeline);

	for (size_t i = 0; i < CHECK_COUNT(nowhere); i++) {
		ww_timeline *got = (ww_timeline *)&token;
		ww_status status;

		other = forged(&token, change_offset, nowhere[i]);
		status = ww_timeline_import(scene.broker, &other, NULL, &got);
		/* A span that does not lie in the whole is no token at all. */
		if (nowhere[i] > 16384 - 128)
			MUST_REFUSE(WW_ERR_PROTOCOL, "", status);
		else
			MUST_REFUSE(WW_ERR_MISMATCH, "byte", status);
		MUST(!got);
	}
	other = forged(&token, change_offset, 0);
	refuse_import(WW_ERR_MISMATCH, "none of them", &other);
	other = forged(&token, change_version, 2);
	refuse_import(WW_ERR_VERSION, "version", &other);
	other = forged(&token, change_secret, 3);
	refuse_import(WW_ERR_ACCESS, "", &other);
	other = forged(&token, change_object, 3);
	refuse_import(WW_ERR_NOT_FOUND, "", &other);
	/* The page itself says how large it is. */
	other = forged(&token, change_total, UINT64_C(1) << 30);
	MUST(import(&other) == timeline);
	ww_timeline_unref(timeline);
	ww_timeline_unref(timeline);
	refuse_import(WW_ERR_NOT_FOUND, "", &token);
}

/*
 * A timeline that was dropped while its page goes on is one that is closed, if it is found at all.
 */
SCENE_CASE(timeline_import_of_dropped, NO_DEVICE)
{
	ww_timeline *alone = timeline_make(WW_TIMELINE_ALONE, 0);
	ww_timeline *neighbour = timeline_make(0, 0);
	ww_timeline *timeline = timeline_make(0, 6);
	ww_timeline *got;
	ww_status status;
	struct ww_token token = export(alone);

	ww_timeline_unref(alone);
	refuse_import(WW_ERR_NOT_FOUND, "", &token);
	token = export(timeline);
	ww_timeline_unref(timeline);
	status = ww_timeline_import(scene.broker, &token, NULL, &got);
	if (status != WW_OK) {
		MUST_REFUSE(WW_ERR_NOT_FOUND, "", status);
	} else {
		timeline_must_be(got, WW_TIMELINE_CLOSED, 6, 6);
		MUST_OK(ww_timeline_wait(got, 6, FOREVER, NULL));
		MUST_REFUSE(WW_ERR_PEER_LOST, "closed", ww_timeline_wait(got, 7, FOREVER, NULL));
		MUST(ww_timeline_signal(got, 7) < 0);
		ww_timeline_unref(got);
	}
	ww_timeline_unref(neighbour);
	refuse_import(WW_ERR_NOT_FOUND, "", &token);
}

/* --- pages that are not what they should be --- */

/* Put as it should be, and changed by its owner before anybody gets it. */
static void refuse_page(ww_status status, const char *word, const struct number_change *damage)
{
	struct ww_token token;
	ENDED_BY(signaller_end) struct signaller signaller;

	signaller_begin(&signaller);
	signaller_name(&signaller, "page", 0);
	token = signaller_token(&signaller, 0);
	if (damage)
		number_change(signaller.page.page, damage);
	else
		memset(signaller.page.page, 0, WW_SIGNAL_PAGE_BYTES);
	refuse_get(status, word, "page");
	refuse_import(status, word, &token);
}

#define PAGE ww_layout_signal_page

SCENE_CASE(timeline_page_refused, NO_DEVICE)
{
	static const struct {
		const char *name;
		struct number_change damage;
		ww_status status;
		const char *word;
	} pages[] = {
		{"version", BECOMES(PAGE, version, 2), WW_ERR_VERSION, "version 2"},
		{"magic", ADDED(PAGE, magic[0], 1), WW_ERR_PROTOCOL, "no signal page"},
		{"size", BECOMES(PAGE, bytes, 4096), WW_ERR_MISMATCH, "4096"},
		{"count", BECOMES(PAGE, cell_count, 1000000), WW_ERR_PROTOCOL, "cells"},
		{"cell size", BECOMES(PAGE, cell_bytes, 8), WW_ERR_PROTOCOL, "cells"},
		{"header", BECOMES(PAGE, header_bytes, 0), WW_ERR_PROTOCOL, "cells"},
	};

	for (size_t i = 0; i < CHECK_COUNT(pages); i++) {
		check_row(pages[i].name);
		refuse_page(pages[i].status, pages[i].word, &pages[i].damage);
	}
	check_row("a page of zeros");
	refuse_page(WW_ERR_PROTOCOL, "no signal page", NULL);
}

static void refuse_description(ww_status status, const char *word,
	const struct ww_wire_timeline_ref *ref, int flip, int seal_again)
{
	uint8_t description[WW_TIMELINE_REF_BYTES];
	struct ww_wire_timeline_ref full = *ref;
	ENDED_BY(signaller_end) struct signaller signaller;

	signaller_begin(&signaller);
	memcpy(full.page_id, signaller.id, sizeof(full.page_id));
	ww_timeline_ref_write(&full, description);
	if (flip >= 0)
		description[flip] ^= 3;
	if (seal_again)
		bytes_seal(description, sizeof(description));
	signaller_name_as(&signaller, "page", description);
	refuse_get(status, word, "page");
}

SCENE_CASE(timeline_description_refused, NO_DEVICE)
{
	const struct ww_wire_timeline_ref good = {.page_bytes = WW_SIGNAL_PAGE_BYTES,
		.cell_offset = 256};
	struct ww_wire_timeline_ref ref;

	refuse_description(WW_ERR_PROTOCOL, "no timeline", &good, 0, 1);
	refuse_description(WW_ERR_VERSION, "version", &good, 8, 1);
	for (int at = 10; at < WW_TIMELINE_REF_BYTES; at += 3)
		refuse_description(WW_ERR_PROTOCOL, "damaged", &good, at, 0);
	refuse_description(WW_ERR_PROTOCOL, "field", &good, 10, 1);
	refuse_description(WW_ERR_PROTOCOL, "field", &good, 48, 1);
	refuse_description(WW_ERR_PROTOCOL, "field", &good, 63, 1);
	ref = good;
	ref.page_bytes = 0;
	refuse_description(WW_ERR_PROTOCOL, "bytes", &ref, -1, 0);
	ref.page_bytes = 16385;
	refuse_description(WW_ERR_PROTOCOL, "bytes", &ref, -1, 0);
	ref.page_bytes = UINT64_C(1) << 40;
	refuse_description(WW_ERR_PROTOCOL, "bytes", &ref, -1, 0);
	ref.page_bytes = 4096;
	refuse_description(WW_ERR_MISMATCH, "", &ref, -1, 0);
	ref.page_bytes = 32768;
	refuse_description(WW_ERR_MISMATCH, "", &ref, -1, 0);
	ref = good;
	ref.cell_offset = 0; /* a page of timelines, but the object has not its id */
	refuse_description(WW_ERR_PROTOCOL, "another one", &ref, -1, 0);
	ref.cell_offset = 300;
	refuse_description(WW_ERR_MISMATCH, "300", &ref, -1, 0);
	ref.cell_offset = 16384;
	refuse_description(WW_ERR_MISMATCH, "16384", &ref, -1, 0);
}

/* --- a waiter --- */

SCENE_CASE(timeline_of_another_is_only_read, 0)
{
	ENDED_BY(signaller_end) struct signaller signaller;
	OWN(timeline) ww_timeline *timeline;
	OWN(stream) ww_stream *stream;
	struct ww_token token;

	signaller_begin(&signaller);
	signaller_name(&signaller, "x", 3);
	timeline = get("x");
	MUST_REFUSE(WW_ERR_ACCESS, "signaller", ww_timeline_signal(timeline, 1));
	MUST_REFUSE(WW_ERR_ACCESS, "signaller",
		ww_timeline_put(timeline, scene.broker, "y", NULL, NULL));
	stream = stream_make(scene.device);
	MUST_REFUSE(WW_ERR_ACCESS, "signaller", ww_timeline_stream_signal(timeline, stream, 1));
	MUST_EQUAL(0, timeline_info(timeline).is_own);
	timeline_must_be(timeline, WW_TIMELINE_LIVE, 0, 0);
	signaller_signal(&signaller, 3, 5);
	timeline_must_be(timeline, WW_TIMELINE_LIVE, 5, 5);
	MUST_OK(ww_timeline_wait(timeline, 5, FOREVER, NULL));
	MUST_STATUS(WW_TIMED_OUT, ww_timeline_wait(timeline, 6, MS, NULL));
	MUST_OK(ww_timeline_query(timeline, 4));
	ww_timeline_unref(timeline);
	/* By token: several of one page. */
	token = signaller_token(&signaller, 1);
	timeline = import(&token);
	timeline_must_be(timeline, WW_TIMELINE_LIVE, 0, 0);
	signaller_signal(&signaller, 1, 2);
	MUST_OK(ww_timeline_wait(timeline, 2, FOREVER, NULL));
}

/* Whoever waits may pass the right on, however it came by it; and only where it came by it. */
SCENE_CASE(timeline_of_another_is_exported, NO_DEVICE)
{
	ENDED_BY(signaller_end) struct signaller signaller;
	ENDED_BY(broker_stop) struct broker other_daemon;
	OWN(broker) ww_broker *other;
	OWN(timeline) ww_timeline *timeline;
	ww_timeline *again;
	struct ww_token token;

	signaller_begin(&signaller);
	signaller_name(&signaller, "x", 2);
	token = signaller_token(&signaller, 2);
	for (int by_name = 0; by_name < 2; by_name++) {
		timeline = by_name ? get("x") : import(&token);
		token = export(timeline);
		again = import(&token);
		signaller_signal(&signaller, 2, 1 + (uint64_t)by_name);
		MUST_OK(ww_timeline_wait(again, 1 + (uint64_t)by_name, 0, NULL));
		ww_timeline_unref(timeline);
		MUST_EQUAL(0, timeline_info(again).is_own);
		ww_timeline_unref(again);
	}
	broker_start(&other_daemon, NULL);
	MUST_OK(ww_broker_open(WW_PARAMS(struct ww_broker_params, .address = other_daemon.address),
		&other));
	timeline = get("x");
	MUST_REFUSE(WW_ERR_NOT_FOUND, "broker",
		ww_timeline_export(timeline, other, NULL, NULL, &token));
}

static uint64_t real_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void must_be_lost(ww_timeline *timeline, uint64_t reached)
{
	struct ww_token token;

	MUST_REFUSE(WW_ERR_PEER_LOST, "(raw)", ww_timeline_wait(timeline, 9, FOREVER, NULL));
	MUST_REFUSE(WW_ERR_PEER_LOST, "signalled", ww_timeline_wait(timeline, 9, 0, NULL));
	for (uint64_t value = 0; value <= reached; value++) {
		MUST_OK(ww_timeline_wait(timeline, value, FOREVER, NULL));
		MUST_OK(ww_timeline_query(timeline, value));
	}
	MUST_REFUSE(WW_ERR_PEER_LOST, "ago", ww_timeline_query(timeline, reached + 1));
	MUST_REFUSE(WW_ERR_PEER_LOST, "ended",
		ww_timeline_wait(timeline, WW_TIMELINE_MAX, FOREVER, NULL));
	MUST_REFUSE(WW_ERR_PEER_LOST, "ended",
		ww_timeline_export(timeline, scene.broker, NULL, NULL, &token));
}

/* The process is the one that the broker names, whatever the page says of pid and program. */
SCENE_CASE(timeline_poison_is_told, NO_DEVICE)
{
	uint64_t before = real_ns();
	ENDED_BY(signaller_end) struct signaller signaller;
	OWN(timeline) ww_timeline *timeline;
	struct ww_timeline_info info;

	signaller_begin(&signaller);
	signaller.page.page->pid = 0;
	signaller.page.page->uid = 61002;
	signaller_name(&signaller, "x", 0);
	timeline = get("x");
	MUST_EQUAL(0, timeline_info(timeline).lost_ns);
	MUST_EQUAL(getpid(), timeline_info(timeline).pid);
	signaller_signal(&signaller, 0, 2);
	signaller_poison(&signaller);
	must_be_lost(timeline, 2);
	/* A last store of the dead changes nothing, and it is said again. */
	__atomic_store_n(&page_cell(&signaller.page, 0)->completed, 3, __ATOMIC_RELEASE);
	must_be_lost(timeline, 2);
	signaller_poison(&signaller);
	must_be_lost(timeline, 2);
	info = timeline_info(timeline);
	MUST_EQUAL(WW_TIMELINE_LOST, info.state);
	MUST_EQUAL(2, info.completed);
	MUST_EQUAL(getpid(), info.pid);
	MUST_EQUAL(getuid(), info.uid);
	MUST(!strcmp(info.program, "raw"));
	MUST(info.lost_ns >= before && info.lost_ns <= real_ns());
	ww_timeline_unref(timeline);
	timeline = get("x"); /* found, and lost from the start */
	must_be_lost(timeline, 2);
}

/* Closed in order: what was signalled is success for ever. */
SCENE_CASE(timeline_close_is_told, NO_DEVICE)
{
	ENDED_BY(signaller_end) struct signaller signaller;
	OWN(timeline) ww_timeline *timeline;
	struct ww_layout_signal_cell *cell;

	signaller_begin(&signaller);
	signaller_name(&signaller, "x", 0);
	cell = page_cell(&signaller.page, 0);
	timeline = get("x");
	signaller_signal(&signaller, 0, 2);
	ww_signal_cell_submit(cell, 4, true);
	MUST(!ww_signal_cell_close(cell));
	timeline_must_be(timeline, WW_TIMELINE_CLOSED, 4, 2);
	MUST_REFUSE(WW_ERR_PEER_LOST, "closed", ww_timeline_wait(timeline, 5, FOREVER, NULL));
	MUST_STATUS(WW_TIMED_OUT, ww_timeline_wait(timeline, 4, MS, NULL));
	MUST_STATUS(WW_NOT_READY, ww_timeline_query(timeline, 3));
	MUST_OK(ww_timeline_wait(timeline, 2, 0, NULL));
	ww_signal_cell_complete(cell, 4);
	MUST_OK(ww_timeline_wait(timeline, 4, FOREVER, NULL));
	MUST(ww_signal_cell_finish(cell));
	timeline_must_be(timeline, WW_TIMELINE_CLOSED, 4, 4);
	for (uint64_t value = 0; value <= 4; value++)
		MUST_OK(ww_timeline_wait(timeline, value, FOREVER, NULL));
	MUST_REFUSE(WW_ERR_PEER_LOST, "4", ww_timeline_query(timeline, 5));
}

SCENE_CASE(timeline_poison_releases_streams, WW_CAP_STREAM_VALUE | WW_CAP_HOST_READ_ONLY)
{
	ENDED_BY(signaller_end) struct signaller signaller;
	OWN(timeline) ww_timeline *timeline;
	OWN(stream) ww_stream *lucky;
	ww_stream *lost[2];
	OWN(stream) ww_stream *host_stream;
	OWN(device) ww_device *host;
	int fd;

	MUST_OK(ww_device_open("host", &host));
	signaller_begin(&signaller);
	signaller_name(&signaller, "x", 0);
	timeline = get("x");
	lucky = stream_make(scene.device);
	lost[0] = stream_make(scene.device);
	lost[1] = stream_make(scene.device);
	host_stream = stream_make(host);
	MUST_OK(ww_timeline_eventfd(timeline, host_stream, 7, &fd));
	MUST_STATUS(WW_TIMED_OUT, ww_timeline_stream_wait(timeline, lucky, 1, 0, MS, NULL));
	MUST_OK(ww_timeline_stream_wait(timeline, lucky, 1, WW_WAIT_UNSUBMITTED, 0, NULL));
	ww_signal_cell_submit(page_cell(&signaller.page, 0), 4, true);
	MUST_OK(ww_timeline_stream_wait(timeline, lost[0], 4, 0, 0, NULL));
	MUST_OK(ww_timeline_stream_wait(timeline, lost[1], 9, WW_WAIT_UNSUBMITTED, 0, NULL));
	signaller_signal(&signaller, 0, 3);
	MUST_OK(ww_stream_synchronize(lucky, WW_FOREVER, NULL));
	MUST_STATUS(WW_NOT_READY, ww_stream_query(lost[0]));
	MUST(!fd_is_readable(fd, 0));
	signaller_poison(&signaller);
	for (size_t i = 0; i < 2; i++) {
		MUST_REFUSE(WW_ERR_PEER_LOST, "(raw)",
			ww_stream_synchronize(lost[i], WW_FOREVER, NULL));
		stream_must_be_lost(lost[i], "(raw)");
		ww_stream_unref(lost[i]);
	}
	MUST(fd_is_readable(fd, child_limit_ms()));
	close(fd);
	MUST_OK(ww_stream_synchronize(host_stream, WW_FOREVER, NULL)); /* it only told */
	MUST_OK(ww_timeline_stream_wait(timeline, lucky, 3, 0, 0, NULL));
	MUST_REFUSE(WW_ERR_PEER_LOST, "ended",
		ww_timeline_stream_wait(timeline, lucky, 4, 0, 0, NULL));
	MUST_REFUSE(WW_ERR_PEER_LOST, "ended",
		ww_timeline_stream_wait(timeline, lucky, 9, WW_WAIT_UNSUBMITTED, 0, NULL));
	/* What it waited for had come, and nothing else was enqueued. */
	MUST_OK(ww_stream_call(lucky, gate_post, &ran));
	MUST_OK(ww_stream_synchronize(lucky, WW_FOREVER, NULL));
}

/* Pages of others, too, are given back only when no stream of this process waits. */
SCENE_CASE(timeline_of_another_is_dropped_without_waiting,
	WW_CAP_STREAM_VALUE | WW_CAP_HOST_READ_ONLY)
{
	struct signaller signallers[2];
	ww_timeline *timelines[2];
	struct census before;
	struct census after;
	ww_stream *stream;

	for (int i = 0; i < 2; i++)
		signaller_begin(&signallers[i]);
	census_take(&before);
	for (int i = 0; i < 2; i++) {
		struct ww_token token = signaller_token(&signallers[i], 0);

		timelines[i] = import(&token);
		MUST_OK(ww_timeline_prepare(timelines[i], scene.device));
	}
	stream = stream_make(scene.device);
	MUST_OK(ww_timeline_stream_wait(timelines[0], stream, 1, WW_WAIT_UNSUBMITTED, 0, NULL));
	ww_timeline_unref(timelines[1]);
	ww_timeline_unref(timelines[0]);
	MUST_STATUS(WW_NOT_READY, ww_stream_query(stream));
	signaller_signal(&signallers[0], 0, 1);
	MUST_OK(ww_stream_synchronize(stream, WW_FOREVER, NULL));
	ww_stream_unref(stream);
	ww_timeline_unref(timeline_make(0, 0)); /* gives back what is over */
	census_take(&after);
	MUST_EQUAL(before.mappings, after.mappings);
	for (int i = 0; i < 2; i++)
		signaller_end(&signallers[i]);
}

/* --- misuse --- */

#define MISUSED(call) MUST_REFUSE(WW_ERR_INVALID, "NULL", call)

SCENE_CASE(timeline_share_misuse, NEEDS_MISUSE_STATUS | NO_DEVICE)
{
	OWN(timeline) ww_timeline *timeline = timeline_make(0, 0);
	ww_timeline *got;
	struct ww_token token = {{0}};

	MISUSED(ww_timeline_export(NULL, scene.broker, NULL, NULL, &token));
	MISUSED(ww_timeline_export(timeline, scene.broker, NULL, NULL, NULL));
	MISUSED(ww_timeline_import(scene.broker, NULL, NULL, &got));
	MISUSED(ww_timeline_import(scene.broker, &token, NULL, NULL));
	MISUSED(ww_timeline_put(NULL, scene.broker, "x", NULL, NULL));
	MISUSED(ww_timeline_put(timeline, scene.broker, NULL, NULL, NULL));
	MISUSED(ww_timeline_get(scene.broker, NULL, 0, NULL, &got));
	MISUSED(ww_timeline_get(scene.broker, "x", 0, NULL, NULL));
}
