/* SPDX-License-Identifier: Apache-2.0 */
/*
 * restart.c - the daemon's own life: killed, upgraded, idle, and after many rounds of all that the
 * suite does
 */
#include "broker/suite.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

void suite_kill_broker(struct raw *raw)
{
	struct ww_wire_condition condition;

	MUST_OK(raw_condition(raw, &condition));
	MUST_CALL(kill((pid_t)condition.pid, SIGKILL));
	broker_hear_ready(daemon_now);
}

void suite_come_back(struct raw *raw, bool is_known)
{
	suite_come_back_as(raw, geteuid(), getegid(), is_known);
}

void suite_come_back_as(struct raw *raw, uid_t uid, gid_t gid, bool is_known)
{
	uint8_t process_id[WW_WIRE_ID_BYTES];
	struct ww_wire_hello hello;
	struct ww_wire_welcome welcome;

	memcpy(process_id, raw->process_id, sizeof(process_id));
	raw_close(raw);
	if (uid == geteuid())
		raw_connect(raw, daemon_now->address);
	else
		raw_connect_as(raw, daemon_now->address, uid, gid);
	memcpy(raw->process_id, process_id, sizeof(process_id));
	hello = raw_greeting(raw);
	MUST_OK(raw_call(raw, hello, &hello, welcome, &welcome));
	MUST_EQUAL(is_known, welcome.known);
}

static void confirm(struct raw *raw, const struct ww_wire_held *held, uint32_t count, bool is_last,
	struct ww_wire_confirmed *out)
{
	const struct ww_wire_confirm message = {.last = is_last,
		.held = {.count = count, .items = held}};

	MUST_OK(raw_call(raw, confirm, &message, confirmed, out));
}

/* Where nothing is to be confirmed. */
static void refuse_confirm(struct raw *raw)
{
	const struct ww_wire_confirm message = {.last = 1};
	struct ww_wire_confirmed confirmed;

	MUST_REFUSE(WW_ERR_STATE, "nothing is to be confirmed",
		raw_call(raw, confirm, &message, confirmed, &confirmed));
}

CASE(confirm_after_restart, ONCE)
{
	struct raw *raw;
	struct ww_wire_held held[3];
	struct ww_wire_held item;
	struct ww_wire_confirmed confirmed;
	struct ww_wire_put first;
	struct ww_wire_put second;

	suite_start(NULL, 0);
	raw = peer();
	first = put_named(raw, "first");
	second = put_named(raw, "second");
	put_named(raw, "third");
	memcpy(held[0].id, first.id, sizeof(first.id));
	memset(held[1].id, 0x77, sizeof(held[1].id));
	refuse_confirm(raw);
	suite_kill_broker(raw);
	MUST_STATUS(WW_END, raw_receive(raw));
	suite_come_back(raw, true);
	wait_for(raw, &(struct want){3, 1, 3, 0, 0});
	confirm(raw, held, 2, false, &confirmed);
	MUST_EQUAL(0, confirmed.released);
	MUST_EQUAL(1, confirmed.unknown.count);
	MUST(ww_wire_held_next(&confirmed.unknown, &item));
	MUST_MATCH(held[1].id, item.id, sizeof(item.id));
	/* What was never said it holds is let go of, and lived by being held. */
	memcpy(held[0].id, second.id, sizeof(second.id));
	confirm(raw, held, 1, true, &confirmed);
	MUST_EQUAL(1, confirmed.released);
	MUST_EQUAL(0, confirmed.unknown.count);
	wait_for(raw, &(struct want){2, 1, 2, 0, 0});
	refuse_confirm(raw);
}

CASE(restart_keeps_all, ONCE)
{
	struct raw *raw;
	struct raw *other;
	struct ww_wire_put writing = raw_object("writing");
	struct ww_wire_put kept = raw_object("kept");
	struct ww_wire_put removed = raw_object("removed");
	struct ww_wire_granted granted;
	struct ww_wire_entry entry;
	struct ww_wire_confirmed confirmed;
	struct ww_wire_held held;
	uint8_t secret[16];
	OWN(fd) int fd = raw_memory(1 << 16);

	suite_start("[limits]\nbytes = 1M\n", 0);
	raw = peer();
	other = peer();
	writing.state = WW_WIRE_STATE_WRITING;
	kept.life = WW_WIRE_LIFE_KEPT;
	kept.ttl_ns = 60000 * MS;
	MUST_OK(raw_put(raw, &writing, &fd, 1));
	MUST_OK(raw_put(raw, &kept, &fd, 1));
	MUST_OK(raw_put(raw, &removed, &fd, 1));
	MUST_OK(raw_end(raw, "removed"));
	MUST_OK(raw_export(raw, kept.id, WW_WIRE_ACCESS_READ, 1, 60000 * MS, secret));
	MUST_OK(raw_get(other, "kept", WW_WIRE_ACCESS_READ, &granted));
	for (int round = 0; round < 3; round++) {
		suite_kill_broker(raw);
		suite_come_back(raw, true);
		suite_come_back(other, true);
		wait_for(raw, &(struct want){3, 2, 5, 2, 0});
	}
	/* Everything is as it was: states, times, holders, descriptors, charges. */
	MUST_OK(raw_stat(raw, "kept", &entry));
	MUST_EQUAL(WW_WIRE_ENTRY_FLAG_MAY_READ | WW_WIRE_ENTRY_FLAG_OWN, entry.flags);
	MUST(entry.left_ns < 60000 * MS && entry.left_ns > 0);
	MUST_EQUAL(1, entry.escrows);
	MUST_EQUAL(2, entry.holders);
	MUST_REFUSE(WW_ERR_STATE, "being written",
		raw_get(other, "writing", WW_WIRE_ACCESS_READ, &granted));
	MUST_OK(raw_seal(raw, writing.id, WW_WIRE_STATE_SEALED));
	MUST_OK(raw_get(other, "writing", WW_WIRE_ACCESS_READ, &granted));
	MUST_EQUAL(1, other->fd_count);
	writing = raw_object("too-much");
	writing.bytes = (1 << 20) - 2 * (1 << 16) + 1;
	MUST_REFUSE(WW_ERR_QUOTA, "holds 131072", raw_put(raw, &writing, NULL, 0));
	writing.bytes--;
	MUST_OK(raw_put(raw, &writing, NULL, 0));
	/* A removed one is confirmed like any other. */
	memcpy(held.id, removed.id, sizeof(held.id));
	confirm(raw, &held, 1, true, &confirmed);
	MUST_EQUAL(0, confirmed.unknown.count);
	MUST_OK(raw_import(peer(), kept.id, secret, WW_WIRE_ACCESS_READ, &granted));
	MUST_OK(raw_end(raw, "kept"));
	raw_close(raw);
	raw_close(other);
	wait_for(peer(), &(struct want){1, 2, 1, 0, 0}); /* the importer holds it */
}

static void must_be_granted_by(struct raw *raw, const char *program)
{
	struct ww_wire_granted granted;

	MUST_OK(raw_get(raw, "kept", WW_WIRE_ACCESS_READ, &granted));
	MUST_EQUAL(getpid(), granted.pid);
	MUST(!strcmp(granted.program, program));
}

/* Nor who put an object; of a process that has ended it knows the pid. */
CASE(restart_keeps_who_put, ONCE)
{
	struct ww_wire_put kept = raw_object("kept");
	struct raw *raw;
	struct raw *other;

	suite_start(NULL, 0);
	raw = peer();
	other = peer();
	kept.life = WW_WIRE_LIFE_KEPT;
	MUST_OK(raw_put(raw, &kept, NULL, 0));
	must_be_granted_by(other, "raw");
	suite_kill_broker(raw);
	suite_come_back(raw, true);
	suite_come_back(other, true);
	must_be_granted_by(other, "raw");
	raw_close(raw);
	wait_for(other, &(struct want){1, 1, 1, 0, 0});
	must_be_granted_by(other, "");
	MUST_OK(raw_end(other, "kept"));
}

/* A broker that is killed forgets no delivery, nor whether its exporter lives. */
CASE(restart_keeps_deliveries, ONCE)
{
	struct raw_delivery delivery = {.uses = 2, .after_ns = 60000 * MS};
	struct raw_delivery brief = {.uses = 1, .after_ns = 1 * MS};
	struct raw *maker;
	struct raw *other;
	struct ww_wire_put put = raw_object("delivered");
	struct ww_wire_granted granted;
	struct ww_wire_recalled done;

	suite_start(NULL, 0);
	maker = peer();
	other = peer();
	MUST_OK(raw_put(maker, &put, NULL, 0));
	MUST_OK(raw_deliver(maker, put.id, WW_WIRE_ACCESS_READ, &delivery));
	MUST_OK(raw_deliver(maker, put.id, WW_WIRE_ACCESS_READ, &brief));
	MUST_OK(raw_release(maker, put.id));
	suite_kill_broker(maker);
	/* The exporter, which holds nothing else, counts as alive before it has connected again. */
	suite_come_back(other, false);
	wait_for(other, &(struct want){1, 2, 2, 0, 0});
	MUST_OK(raw_import(other, put.id, delivery.secret, WW_WIRE_ACCESS_READ, &granted));
	suite_kill_broker(other);
	suite_come_back(maker, true);
	suite_come_back(other, true);
	MUST_REFUSE(WW_ERR_NOT_FOUND, "does not hold",
		raw_deliver(maker, put.id, WW_WIRE_ACCESS_READ, &delivery));
	MUST_OK(raw_import(other, put.id, delivery.secret, WW_WIRE_ACCESS_READ, &granted));
	MUST_REFUSE(WW_ERR_ACCESS, "as often",
		raw_import(other, put.id, delivery.secret, WW_WIRE_ACCESS_READ, &granted));
	MUST_OK(raw_recall(maker, &(struct ww_wire_recall){.number = brief.number}, &done));
	MUST_EQUAL(1, done.count);
	raw_close(maker);
	raw_close(other);
	wait_for(peer(), &(struct want){0, 1, 0, 0, 0});
}

/*
 * A broker that takes over finds deliveries in any order: those that were made later stand where
 * earlier ones have ended. It names the oldest one all the same, and ends them by age.
 */
CASE(restart_keeps_deliveries_in_order, ONCE)
{
	struct raw_delivery sent[8];
	struct raw *maker;
	struct ww_wire_put put = raw_object("delivered");
	struct ww_wire_recalled done;
	char word[64];

	suite_start(NULL, 0);
	maker = peer();
	put.state = WW_WIRE_STATE_SHARED;
	MUST_OK(raw_put(maker, &put, NULL, 0));
	for (size_t i = 0; i < 8; i++) {
		sent[i] = (struct raw_delivery){.uses = 1, .after_ns = 1000 * MS};
		MUST_OK(raw_deliver(maker, put.id, WW_WIRE_ACCESS_READ, &sent[i]));
		if (i < 5)
			continue;
		MUST_OK(raw_recall(maker, &(struct ww_wire_recall){.number = sent[i - 5].number},
			&done));
		MUST_EQUAL(1, done.count);
	}
	suite_kill_broker(maker);
	suite_come_back(maker, true);
	snprintf(word, sizeof(word), "number %" PRIu64 " for", sent[3].number);
	MUST_REFUSE(WW_ERR_LIMIT, word,
		raw_deliver(maker, put.id, WW_WIRE_ACCESS_READ,
			&(struct raw_delivery){.uses = 1, .after_ns = 1, .count = 1}));
	MUST_OK(raw_recall(maker, &(struct ww_wire_recall){.number = sent[0].number}, &done));
	MUST_EQUAL(0, done.count);
	MUST_OK(raw_recall(maker, &(struct ww_wire_recall){.number = sent[3].number}, &done));
	MUST_EQUAL(1, done.count);
	MUST_OK(raw_recall(maker, &(struct ww_wire_recall){.older_ns = 0}, &done));
	MUST_EQUAL(4, done.count);
	MUST_OK(raw_end(maker, "delivered"));
	raw_close(maker);
}

CASE(daemon_leaves_when_idle, ONCE)
{
	static const char *const arguments[] = {"--leave-when-idle", NULL};
	struct ww_wire_put put = raw_object("kept");
	struct broker idle;
	struct raw raw;

	/* It must not leave before the first connection is made. */
	broker_start(&idle,
		&(struct broker_options){.config = "[broker]\nidle_s = 600\n",
			.arguments = arguments});
	raw_open(&raw, idle.address);
	put.life = WW_WIRE_LIFE_KEPT;
	MUST_OK(raw_put(&raw, &put, NULL, 0));
	raw_close(&raw);
	/* Something is kept, so it does not leave. */
	broker_write_config(&idle, "[broker]\nidle_s = 1\n");
	MUST_CALL(kill(idle.supervisor, SIGHUP));
	broker_hear_ready(&idle);
	raw_open(&raw, idle.address);
	MUST_OK(raw_end(&raw, "kept"));
	raw_close(&raw);
	broker_wait(&idle);
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define GROWTH_MOST (UINT64_C(1) << 30) /* their allocators keep what is freed */
#else
#define GROWTH_MOST (UINT64_C(32) << 10)
#endif

#define ROUNDS 8 /* between two looks */
#define LOOKS  6

/*
 * A daemon that keeps 4 KiB of each round grows between any two looks. One that keeps nothing may
 * grow between some: another thread may need memory of its own, when all are busy.
 */
CASE(daemon_does_not_grow, ONCE)
{
	struct ww_wire_condition condition;
	uint64_t before;
	uint64_t after;
	int looks = 1;

	MUST_OK(raw_condition(peer(), &condition));
	suite_repeat(1);
	before = process_memory_bytes((pid_t)condition.pid);
	for (;; looks++) {
		suite_repeat(ROUNDS);
		after = process_memory_bytes((pid_t)condition.pid);
		check_note("resident: %llu KiB, after %d rounds more %llu KiB",
			(unsigned long long)before >> 10, ROUNDS, (unsigned long long)after >> 10);
		if (after < before + GROWTH_MOST)
			return;
		if (looks == LOOKS)
			FAIL("it grew by %llu KiB or more %d times",
				(unsigned long long)GROWTH_MOST >> 10, looks);
		before = after;
	}
}
