/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch.c - being told of changes, also when there are more of them than one reads
 */
#include "broker/suite.h"

#include <stdio.h>
#include <stdlib.h>

CASE(watch_events, 0)
{
	struct raw *maker = peer();
	struct raw *all = watcher();
	struct raw *some = watcher();
	struct ww_wire_put put = raw_object("a/one");
	struct ww_wire_event event;

	MUST_OK(raw_watch(all, "", WW_WIRE_WATCH_FLAG_EXISTING));
	MUST_OK(raw_watch(some, "a/o", 0));
	put.state = WW_WIRE_STATE_WRITING;
	MUST_OK(raw_put(maker, &put, NULL, 0));
	put_named(maker, "a/two");
	put_named(maker, ""); /* nobody's business */
	MUST_OK(raw_seal(maker, put.id, WW_WIRE_STATE_SEALED));
	MUST_OK(raw_end(maker, "a/one"));
	MUST_OK(raw_receive(all));
	MUST_OK(raw_take(all, event, &event));
	MUST_EQUAL(0, all->header.serial);
	MUST_EQUAL(WW_WIRE_WHAT_PUT, event.what);
	MUST_EQUAL(WW_WIRE_STATE_WRITING, event.entry.state);
	MUST_MATCH(put.id, event.entry.id, sizeof(put.id));
	raw_hear_event(all, WW_WIRE_WHAT_PUT, "a/two");
	raw_hear_event(all, WW_WIRE_WHAT_READY, "a/two");
	raw_hear_event(all, WW_WIRE_WHAT_READY, "a/one");
	raw_hear_event(all, WW_WIRE_WHAT_REMOVED, "a/one");
	raw_hear_event(some, WW_WIRE_WHAT_PUT, "a/one");
	raw_hear_event(some, WW_WIRE_WHAT_READY, "a/one");
	raw_hear_event(some, WW_WIRE_WHAT_REMOVED, "a/one");
	/* The maker ends: one object is gone, another is lost. */
	put = raw_object("a/other");
	put.state = WW_WIRE_STATE_WRITING;
	MUST_OK(raw_put(maker, &put, NULL, 0));
	raw_hear_event(all, WW_WIRE_WHAT_PUT, "a/other");
	raw_close(maker);
	raw_hear_event(all, WW_WIRE_WHAT_LOST, "a/other");
	raw_hear_event(all, WW_WIRE_WHAT_GONE, "a/two");
	raw_hear_event(some, WW_WIRE_WHAT_PUT, "a/other");
	raw_hear_event(some, WW_WIRE_WHAT_LOST, "a/other");
	MUST(raw_is_silent(all) && raw_is_silent(some));
}

/* A watcher of the version before. */
static struct raw *old_watcher(void)
{
	struct raw *raw = attacker();
	struct ww_wire_hello hello = raw_greeting(raw);
	struct ww_wire_welcome welcome;

	hello.most = 7;
	hello.watcher = 1;
	MUST_OK(raw_call(raw, hello, &hello, welcome, &welcome));
	raw->version = 7;
	return raw;
}

static void hear_replaced(struct raw *eyes, const struct ww_wire_entry *former,
	const struct ww_wire_put *put)
{
	struct ww_wire_event event;

	MUST_OK(raw_receive(eyes));
	MUST_OK(raw_take(eyes, event, &event));
	MUST_EQUAL(WW_WIRE_WHAT_REPLACED, event.what);
	MUST_MATCH(put->id, event.entry.id, sizeof(put->id));
	MUST_MATCH(former->id, event.former_id, sizeof(former->id));
	MUST_EQUAL(former->generation, event.former_generation);
	raw_hear_event(eyes, WW_WIRE_WHAT_READY, "x");
}

static void hear_both(struct raw *eyes)
{
	raw_hear_event(eyes, WW_WIRE_WHAT_REMOVED, "x");
	raw_hear_event(eyes, WW_WIRE_WHAT_PUT, "x");
	raw_hear_event(eyes, WW_WIRE_WHAT_READY, "x");
}

/* At once, or when the new object is published. */
CASE(watch_replaced, 0)
{
	struct raw *maker = peer();
	struct raw *eyes = watcher();
	struct raw *old = old_watcher();
	struct ww_wire_entry former;
	struct ww_wire_put put;

	put_named(maker, "x");
	MUST_OK(raw_watch(eyes, "x", 0));
	MUST_OK(raw_watch(old, "x", 0));
	for (uint8_t state = WW_WIRE_STATE_WRITING; state <= WW_WIRE_STATE_SEALED; state++) {
		MUST_OK(raw_stat(maker, "x", &former));
		put = raw_object("x");
		put.flags = WW_WIRE_PUT_FLAG_REPLACE;
		put.state = state;
		MUST_OK(raw_put(maker, &put, NULL, 0));
		if (state == WW_WIRE_STATE_WRITING) {
			MUST(raw_is_silent(eyes) && raw_is_silent(old));
			MUST_OK(raw_seal(maker, put.id, WW_WIRE_STATE_SEALED));
		}
		hear_replaced(eyes, &former, &put);
		hear_both(old);
	}
	/* An object that has the name because the former one went has not replaced it. */
	put = raw_object("x");
	put.flags = WW_WIRE_PUT_FLAG_REPLACE;
	put.state = WW_WIRE_STATE_WRITING;
	MUST_OK(raw_stat(maker, "x", &former));
	MUST_OK(raw_put(maker, &put, NULL, 0));
	MUST_OK(raw_release(maker, former.id));
	raw_hear_event(eyes, WW_WIRE_WHAT_GONE, "x");
	raw_hear_event(eyes, WW_WIRE_WHAT_PUT, "x");
	MUST(raw_is_silent(eyes));
}

#define EXISTING 1500

/* What a watcher knows of the objects "w/NUMBER" from events alone. */
static void follow(struct raw *eyes, uint8_t known[2 * EXISTING])
{
	struct ww_wire_event event;
	int number;

	MUST_OK(raw_receive(eyes));
	MUST_OK(raw_take(eyes, event, &event));
	MUST(event.what != WW_WIRE_WHAT_OVERFLOW && event.what != WW_WIRE_WHAT_LOST);
	MUST(!strncmp("w/", event.entry.name, 2));
	number = atoi(event.entry.name + 2);
	MUST(number >= 0 && number < 2 * EXISTING);
	if (event.what == WW_WIRE_WHAT_PUT) {
		MUST_EQUAL(0, known[number]);
		known[number] = 1;
	} else if (event.what != WW_WIRE_WHAT_READY) {
		MUST_EQUAL(1, known[number]);
		known[number] = 0;
	}
}

/* More than a socket holds, so the watcher is told while others go on changing things. */
CASE(watch_existing, 0)
{
	static uint8_t known[2 * EXISTING];
	struct raw *maker = peer();
	struct raw *eyes = watcher();
	struct ww_wire_put replaced;
	char name[32];

	memset(known, 0, sizeof(known));
	for (int i = 0; i < EXISTING; i++) {
		snprintf(name, sizeof(name), i % 3 ? "w/%d" : "not/%d", i);
		put_named(maker, name);
	}
	MUST_OK(raw_watch(eyes, "w/", WW_WIRE_WATCH_FLAG_EXISTING));
	for (int i = 0; i < 20; i++)
		follow(eyes, known);
	/* Some at the end, which it was not told of yet, and some that it was. */
	for (int i = 1; i < EXISTING; i += 300) {
		snprintf(name, sizeof(name), "w/%d", i);
		MUST_OK(raw_end(maker, name));
		snprintf(name, sizeof(name), "w/%d", EXISTING + i);
		put_named(maker, name);
		replaced = raw_object(name);
		replaced.flags = WW_WIRE_PUT_FLAG_REPLACE;
		MUST_OK(raw_put(maker, &replaced, NULL, 0));
	}
	replaced = raw_object("w/2"); /* it was told of that one */
	replaced.flags = WW_WIRE_PUT_FLAG_REPLACE;
	MUST_OK(raw_put(maker, &replaced, NULL, 0));
	put_named(maker, "w/0"); /* the last it hears of */
	while (!known[0])
		follow(eyes, known);
	while (!raw_is_silent(eyes))
		follow(eyes, known);
	for (int i = 0; i < EXISTING; i++) {
		MUST_EQUAL(i == 0 || (i % 3 && i % 300 != 1), known[i]);
		MUST_EQUAL(i % 300 == 1, known[EXISTING + i]);
	}
}

/*
 * Events that nobody reads cost a bounded amount of memory, and the watcher learns that it missed
 * some.
 */
CASE(watch_overflow, 0)
{
	struct raw *maker = peer();
	struct raw *eyes = watcher();
	struct ww_wire_event event;
	uint32_t told = 0;
	char name[32];

	MUST_OK(raw_watch(eyes, "", 0));
	for (int i = 0; i < 3000; i++) {
		snprintf(name, sizeof(name), "flood/%d", i);
		put_named(maker, name);
	}
	do {
		MUST_OK(raw_receive(eyes));
		MUST_OK(raw_take(eyes, event, &event));
		told++;
	} while (event.what != WW_WIRE_WHAT_OVERFLOW);
	MUST_EQUAL(0, event.entry.name[0]);
	MUST(told < 3000);
	/* From there on it hears of everything again. */
	put_named(maker, "after");
	raw_hear_event(eyes, WW_WIRE_WHAT_PUT, "after");
	raw_hear_event(eyes, WW_WIRE_WHAT_READY, "after");
}

CASE(watch_by_a_hundred, 0)
{
	struct raw *maker = peer();
	struct raw *eyes[100];
	char name[32];

	for (size_t i = 0; i < CHECK_COUNT(eyes); i++) {
		eyes[i] = watcher();
		snprintf(name, sizeof(name), "h/%zu", i % 10);
		MUST_OK(raw_watch(eyes[i], i < 50 ? "h/" : name, 0));
	}
	for (size_t i = 0; i < 30; i++) {
		snprintf(name, sizeof(name), "h/%zu", i % 10);
		put_named(maker, name);
		MUST_OK(raw_end(maker, name));
	}
	for (size_t i = 0; i < CHECK_COUNT(eyes); i++) {
		for (size_t k = 0; k < (i < 50 ? 30 : 3); k++) {
			snprintf(name, sizeof(name), "h/%zu", (i < 50 ? k : i) % 10);
			raw_hear_event(eyes[i], WW_WIRE_WHAT_PUT, name);
			raw_hear_event(eyes[i], WW_WIRE_WHAT_READY, name);
			raw_hear_event(eyes[i], WW_WIRE_WHAT_REMOVED, name);
		}
		MUST(raw_is_silent(eyes[i]));
	}
}
