/* SPDX-License-Identifier: Apache-2.0 */
/*
 * broker_life.c - how long objects stay, who waits for them, and who is told
 *
 * Nothing here sleeps: what ends by time is waited for with a watch, whose limit is long.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "integration/broker.h"

static struct child maker;
static struct child waiter;
static struct child other;

/* Long enough for whatever must come, on a busy machine too. */
#define LIMIT_NS ((uint64_t)child_limit_ms() * 1000000)

#define LONG 2097152

static ww_watch *watch_start(const char *prefix)
{
	ww_watch *watch;

	MUST_OK(ww_watch_create(scene.broker, prefix, 0, &watch));
	return watch;
}

static void must_hear(ww_watch *watch, uint32_t what, const char *name)
{
	struct ww_watch_event event = WW_INIT(struct ww_watch_event);

	MUST_OK(ww_watch_next(watch, LIMIT_NS, NULL, &event));
	if (event.what != what || strcmp(event.object.name, name))
		FAIL("the watch tells %u of '%s', not %u of '%s'", event.what, event.object.name,
			what, name);
}

static void must_be_gone(const char *name)
{
	struct ww_object_info info = WW_INIT(struct ww_object_info);

	MUST_REFUSE(WW_ERR_NOT_FOUND, name, ww_broker_stat(scene.broker, name, &info));
}

static void start_maker(struct child *agent, uint32_t seed, const char *put)
{
	agent_begin(agent, "agent", "make vmm %d %u", LONG, seed);
	agent_must(agent, WW_OK, "%s", put);
}

SCENE_CASE(life_kept, WW_CAP_EXPORT)
{
	ww_memory *memory;

	for (int by_kill = 0; by_kill < 2; by_kill++) {
		start_maker(&maker, 7, "put k life=kept state=shared");
		if (by_kill)
			child_kill(&maker);
		else
			agent_end(&maker);
		memory = scene_get("k", WW_ACCESS_WRITE);
		pattern_verify(memory, 7);
		pattern_write(memory, 8);
		ww_memory_unref(memory);
		memory = scene_get("k", WW_ACCESS_READ);
		pattern_verify(memory, 8);
		ww_memory_unref(memory);
		MUST_OK(ww_broker_remove(scene.broker, "k"));
		must_be_gone("k");
	}
}

/* What is sealed is mapped for reading only: so can be what gets a further name. */
SCENE_CASE(life_goes_on_under_a_name_of_a_reader, WW_CAP_EXPORT)
{
	struct ww_object_info info = WW_INIT(struct ww_object_info);
	ww_memory *memory;

	start_maker(&maker, 1, "put first");
	agent_start(&other, NULL);
	MUST_OK(ww_memory_get(scene.device, scene.broker, "first", NULL, 0, NULL, &memory, NULL));
	scene_put(memory, "second", 0600, WW_LIFE_HELD, WW_STATE_SEALED);
	MUST_OK(ww_broker_stat(scene.broker, "second", &info));
	MUST_EQUAL(0, info.is_own);
	agent_end(&maker);
	agent_does(&other, "get second", "verify 1");
	MUST_OK(ww_broker_end(scene.broker, "second", NULL));
	MUST_REFUSE(WW_ERR_NOT_FOUND, "another process made it",
		ww_memory_put(memory, scene.broker, "third", NULL, 0, NULL));
	ww_memory_unref(memory);
}

SCENE_CASE(life_kept_expires, WW_CAP_EXPORT)
{
	struct ww_object_info info = WW_INIT(struct ww_object_info);
	OWN(watch) ww_watch *watch = watch_start("brief");

	start_maker(&maker, 1, "put brief life=kept ttl_ms=300000");
	MUST_OK(ww_broker_stat(scene.broker, "brief", &info));
	MUST(info.left_ns <= UINT64_C(300000000000) && info.left_ns > UINT64_C(200000000000));
	agent_must(&maker, WW_OK, "drop");
	agent_must(&maker, WW_OK, "make vmm %d 2", LONG);
	agent_must(&maker, WW_OK, "put brief replace life=kept ttl_ms=50");
	must_hear(watch, WW_WATCH_PUT, "brief");
	must_hear(watch, WW_WATCH_READY, "brief");
	must_hear(watch, WW_WATCH_REPLACED, "brief");
	must_hear(watch, WW_WATCH_READY, "brief");
	must_hear(watch, WW_WATCH_EXPIRED, "brief");
	must_be_gone("brief");
	agent_must(&maker, WW_OK, "verify 2");
}

SCENE_CASE(life_owner, WW_CAP_EXPORT)
{
	OWN(memory) ww_memory *memory;
	OWN(watch) ww_watch *watch = watch_start("o");

	start_maker(&maker, 3, "put o life=owner");
	must_hear(watch, WW_WATCH_PUT, "o");
	must_hear(watch, WW_WATCH_READY, "o");
	agent_must(&maker, WW_OK, "drop"); /* its process has not ended */
	memory = scene_get("o", WW_ACCESS_READ);
	pattern_verify(memory, 3);
	agent_must(&maker, WW_OK, "close"); /* but lets go of the broker */
	must_hear(watch, WW_WATCH_GONE, "o");
	must_be_gone("o");
	pattern_verify(memory, 3); /* who has it has it */
}

SCENE_CASE(life_owner_ends_with_process, WW_CAP_EXPORT)
{
	OWN(watch) ww_watch *watch = watch_start("o");
	ENDED_BY(agent_end) struct child holder;

	start_maker(&maker, 3, "put o life=owner");
	must_hear(watch, WW_WATCH_PUT, "o");
	must_hear(watch, WW_WATCH_READY, "o");
	agent_begin(&holder, "agent", "get o");
	child_kill(&maker);
	must_hear(watch, WW_WATCH_GONE, "o");
	must_be_gone("o");
	agent_must(&holder, WW_OK, "verify 3");
}

SCENE_CASE(life_held_by_last_holder, WW_CAP_EXPORT)
{
	struct child holders[2];
	OWN(watch) ww_watch *watch = watch_start("h");

	start_maker(&maker, 4, "put h life=held");
	must_hear(watch, WW_WATCH_PUT, "h");
	must_hear(watch, WW_WATCH_READY, "h");
	for (int i = 0; i < 2; i++) {
		agent_begin(&holders[i], "agent", "get h");
	}
	child_kill(&maker);
	agent_does(&holders[0], "verify 4", "drop");
	agent_must(&holders[0], WW_OK, "get h"); /* the other holds it still */
	agent_must(&holders[0], WW_OK, "verify 4");
	agent_end(&holders[0]);
	ww_memory_unref(scene_get("h", WW_ACCESS_READ));
	child_kill(&holders[1]);
	must_hear(watch, WW_WATCH_GONE, "h");
	must_be_gone("h");
}

static struct ww_token export_and_die(const char *export)
{
	struct ww_token token;

	agent_begin(&maker, "agent", "make vmm %d 5", LONG);
	agent_must(&maker, WW_OK, "%s", export);
	token = agent_hear_token(&maker);
	child_kill(&maker);
	return token;
}

static ww_status import(const struct ww_token *token, ww_memory **out_memory)
{
	struct ww_object_info info = WW_INIT(struct ww_object_info);

	return ww_memory_import(scene.device, scene.broker, token, NULL, NULL, out_memory, &info);
}

/* Nobody holds it but the token on its way. */
SCENE_CASE(life_escrow_keeps, WW_CAP_EXPORT)
{
	OWN(memory) ww_memory *memory;
	struct ww_token token = export_and_die("export uses=1");

	scene_has_holders(1);
	scene_has_objects(1);
	scene_has_holds(1);
	MUST_OK(import(&token, &memory));
	pattern_verify(memory, 5);
}

SCENE_CASE(life_escrow_ends_by_time, WW_CAP_EXPORT)
{
	ww_memory *memory;
	struct ww_token token = export_and_die("export escrow_ms=100");

	scene_has_objects(0);
	MUST_REFUSE(WW_ERR_NOT_FOUND, "", import(&token, &memory));
	MUST(!memory);
}

SCENE_CASE(life_escrow_ends_by_uses, WW_CAP_EXPORT)
{
	ww_memory *memory;
	struct ww_token token = export_and_die("export uses=3 escrow_ms=none");

	scene_has_objects(0); /* no escrow at all */
	token = export_and_die("export uses=3 escrow_ms=300000");
	for (int i = 0; i < 3; i++) {
		MUST_OK(import(&token, &memory));
		pattern_verify(memory, 5);
		ww_memory_unref(memory);
	}
	scene_has_objects(0);
	MUST_REFUSE(WW_ERR_NOT_FOUND, "", import(&token, &memory));
}

/*
 * Another process holds the memory by its token: it keeps that, and nobody else gets it by the
 * token.
 */
SCENE_CASE(life_revoked, WW_CAP_EXPORT)
{
	struct ww_token token;
	ww_memory *late;
	OWN(memory) ww_memory *memory = scene_make(LONG, 5);

	scene_put(memory, "x", 0, WW_LIFE_HELD, WW_STATE_SHARED);
	MUST_OK(ww_memory_export(memory, NULL, NULL, NULL, &token));
	agent_start(&maker, NULL);
	agent_send_token(&maker, &token);
	agent_must(&maker, WW_OK, "import");
	MUST_OK(ww_memory_revoke(memory, NULL, NULL));
	agent_must(&maker, WW_OK, "verify 5");
	for (int i = 0; i < 2; i++) { /* the holder hands it on by a token that is new */
		MUST_REFUSE(WW_ERR_ACCESS, "revoked", import(&token, &late));
		agent_must(&maker, WW_OK, "export");
		token = agent_hear_token(&maker);
		MUST_OK(import(&token, &late));
		ww_memory_unref(late);
		MUST_OK(ww_memory_revoke(memory, NULL, NULL));
	}
	ww_memory_unref(memory);
	agent_must(&maker, WW_OK, "verify 5");
	scene_has_objects(1);
	agent_end(&maker);
	/* Any process of the user that holds it may revoke, also when its maker has ended. */
	agent_begin(&maker, "agent", "make vmm %d 5", 2 << 20);
	agent_must(&maker, WW_OK, "put y state=shared");
	memory = scene_get("y", WW_ACCESS_WRITE);
	agent_must(&maker, WW_OK, "export");
	token = agent_hear_token(&maker);
	agent_end(&maker);
	MUST_OK(ww_memory_revoke(memory, NULL, NULL));
	agent_start(&maker, NULL);
	agent_send_token(&maker, &token);
	agent_must(&maker, WW_ERR_ACCESS, "import");
	agent_end(&maker);
}

/* The maker has ended, and what holds the memory is an object that maps nothing. */
SCENE_CASE(life_object_keeps, WW_CAP_EXPORT)
{
	struct ww_object_info info = WW_INIT(struct ww_object_info);
	struct ww_token passed;
	ww_object *object;
	ww_memory *memory;
	struct ww_token token = export_and_die("export uses=1 escrow_ms=300000");

	MUST_OK(ww_object_import(scene.broker, &token, NULL, &object, &info));
	MUST(info.bytes >= LONG && info.span_bytes >= LONG && info.access == WW_ACCESS_READ);
	scene_has_objects(1);
	scene_has_holds(1); /* the escrow has ended by the import */
	for (int i = 0; i < 2; i++) {
		MUST_OK(import(&token, &memory));
		pattern_verify(memory, 5);
		ww_memory_unref(memory);
	}
	MUST_OK(ww_object_export(object, WW_PARAMS(struct ww_token_params, .uses = 1), NULL,
		&passed));
	ww_object_unref(object);
	MUST_OK(import(&passed, &memory)); /* by the escrow of the token that was passed on */
	pattern_verify(memory, 5);
	ww_memory_unref(memory);
	scene_has_objects(0);
	MUST_REFUSE(WW_ERR_NOT_FOUND, "",
		ww_object_import(scene.broker, &passed, NULL, &object, NULL));
}

static ww_status map_object(ww_object *object, uint32_t access, ww_memory **out_memory)
{
	return ww_object_map(object, scene.device,
		WW_PARAMS(struct ww_import_params, .access = access), NULL, out_memory);
}

/*
 * The maker has ended before the object is mapped, which is no import: another process has the
 * other of two.
 */
SCENE_CASE(life_object_is_mapped, WW_CAP_EXPORT)
{
	ww_object *object;
	ww_memory *memory;
	ww_memory *again;
	struct ww_token token = export_and_die("export uses=2 escrow_ms=300000");

	MUST_OK(ww_object_import(scene.broker, &token, NULL, &object, NULL));
	MUST_OK(map_object(object, 0, &memory));
	MUST_OK(map_object(object, 0, &again));
	MUST(again == memory);
	ww_memory_unref(again);
	MUST_REFUSE(WW_ERR_ACCESS, "for reading", map_object(object, WW_ACCESS_WRITE, &again));
	ww_object_unref(object);
	pattern_verify(memory, 5);
	ww_memory_unref(memory);
	scene_has_holds(1); /* the escrow, for one import more */
	agent_start(&other, NULL);
	agent_send_token(&other, &token);
	agent_does(&other, "import", "verify 5");
	scene_has_holds(1);
}

/* Only the object holds the memory; the second time its tokens were revoked, too. */
SCENE_CASE(life_object_is_mapped_when_others_let_go, WW_CAP_EXPORT)
{
	struct ww_token token;
	ww_object *object;
	ww_memory *memory;

	agent_start(&other, NULL);
	for (int is_revoked = 0; is_revoked < 2; is_revoked++) {
		agent_must(&other, WW_OK, "make vmm %d 5", LONG);
		token = agent_export(&other, "write uses=1");
		MUST_OK(ww_object_import(scene.broker, &token, NULL, &object, NULL));
		if (is_revoked) {
			agent_must(&other, WW_OK, "revoke");
			MUST_REFUSE(WW_ERR_ACCESS, "revoked", import(&token, &memory));
		}
		agent_must(&other, WW_OK, "drop");
		for (uint32_t access = WW_ACCESS_READ; access <= WW_ACCESS_WRITE; access++) {
			MUST_OK(map_object(object, access, &memory));
			pattern_verify(memory, 5);
			ww_memory_unref(memory);
		}
		MUST_OK(map_object(object, 0, &memory));
		ww_object_unref(object);
		pattern_verify(memory, 5);
		ww_memory_unref(memory);
		scene_has_objects(0);
	}
}

/* The broker is killed, and has the hold of the object afterwards. */
SCENE_CASE(life_object_through_restart, WW_CAP_EXPORT)
{
	struct ww_broker_info info;
	OWN(object) ww_object *object;
	ww_memory *memory;
	struct ww_token token = export_and_die("export uses=1 escrow_ms=300000");

	MUST_OK(ww_object_import(scene.broker, &token, NULL, &object, NULL));
	info = scene_info();
	MUST_CALL(kill((pid_t)info.pid, SIGKILL));
	broker_hear_ready(&scene.daemon);
	MUST_OK(import(&token, &memory));
	ww_memory_unref(memory);
	MUST_OK(map_object(object, 0, &memory));
	pattern_verify(memory, 5);
	ww_memory_unref(memory);
	scene_has_holds(1);
}

SCENE_CASE(life_removed_is_still_mapped, WW_CAP_EXPORT)
{
	OWN(memory) ww_memory *memory;
	ww_memory *next;

	start_maker(&maker, 1, "put r life=kept state=shared");
	memory = scene_get("r", WW_ACCESS_WRITE);
	MUST_OK(ww_broker_remove(scene.broker, "r"));
	MUST_REFUSE(WW_ERR_NOT_FOUND, "r", ww_broker_remove(scene.broker, "r"));
	must_be_gone("r");
	pattern_write(memory, 2);
	agent_must(&maker, WW_OK, "verify 2");
	next = scene_make(LONG, 9);
	scene_put(next, "r", 0, WW_LIFE_HELD, WW_STATE_SEALED); /* the name is free */
	ww_memory_unref(next);
	pattern_verify(memory, 2);
}

SCENE_CASE(life_replaced, WW_CAP_EXPORT)
{
	struct child makers[2];
	ww_memory *old;
	ww_memory *new;

	start_maker(&makers[0], 1, "put weights life=kept");
	old = scene_get("weights", WW_ACCESS_READ);
	agent_begin(&makers[1], "agent", "make vmm %d 2", LONG);
	agent_must(&makers[1], WW_ERR_EXISTS, "put weights life=kept");
	agent_must(&makers[1], WW_OK, "put weights replace life=kept");
	new = scene_get("weights", WW_ACCESS_READ);
	pattern_verify(old, 1);
	pattern_verify(new, 2);
	ww_memory_unref(old);
	ww_memory_unref(new);
	MUST_OK(ww_broker_remove(scene.broker, "weights"));
}

/* --- waiting --- */

/* An agent that waits for the name already, by the broker's word. */
static void start_waiter(struct child *agent, const char *get, uint64_t waits)
{
	agent_begin(agent, "agent", "open");
	agent_tell(agent, "%s", get);
	scene_has_waits(waits);
}

SCENE_CASE(wait_for_name, WW_CAP_EXPORT)
{
	start_waiter(&waiter, "get later wait_ms=forever", 1);
	start_maker(&maker, 6, "put later life=owner");
	agent_answers(&waiter, WW_OK);
	agent_must(&waiter, WW_OK, "verify 6");
	scene_has_waits(0);
}

SCENE_CASE(wait_for_seal, WW_CAP_EXPORT)
{
	start_waiter(&waiter, "get later wait_ms=forever", 1);
	start_maker(&maker, 6, "put later life=owner state=writing");
	MUST_REFUSE(WW_ERR_STATE, "later",
		ww_memory_get(scene.device, scene.broker, "later", NULL, 0, NULL, &(ww_memory *){0},
			NULL));
	scene_has_waits(1);
	agent_does(&maker, "write 7", "seal sealed");
	agent_answers(&waiter, WW_OK);
	agent_must(&waiter, WW_OK, "verify 7");
	agent_must(&maker, WW_OK, "seal sealed"); /* it is so */
	agent_must(&maker, WW_ERR_STATE, "seal shared");
}

SCENE_CASE(wait_for_share, WW_CAP_EXPORT)
{
	start_maker(&maker, 6, "put later life=owner state=writing");
	start_waiter(&waiter, "get later write wait_ms=forever", 1);
	agent_must(&maker, WW_OK, "seal shared");
	agent_answers(&waiter, WW_OK);
	agent_must(&waiter, WW_OK, "write 7");
	agent_must(&maker, WW_OK, "verify 7");
}

SCENE_CASE(wait_in_vain, WW_CAP_EXPORT)
{
	start_maker(&maker, 6, "put later life=owner state=writing");
	agent_start(&waiter, NULL);
	agent_must(&waiter, WW_ERR_NOT_FOUND, "get never");
	agent_must(&waiter, WW_TIMED_OUT, "get never wait_ms=30");
	agent_must(&waiter, WW_TIMED_OUT, "get later wait_ms=30");
	scene_has_waits(0);
	scene_has_holds(1); /* nothing was taken */
	agent_must(&maker, WW_OK, "seal sealed");
	agent_does(&waiter, "get later wait_ms=forever", "verify 6");
}

SCENE_CASE(wait_many, WW_CAP_EXPORT)
{
	struct child waiters[8];

	for (size_t i = 0; i < CHECK_COUNT(waiters); i++)
		start_waiter(&waiters[i], "get later wait_ms=forever", i + 1);
	start_maker(&maker, 6, "put later life=held");
	for (size_t i = 0; i < CHECK_COUNT(waiters); i++) {
		agent_answers(&waiters[i], WW_OK);
		agent_must(&waiters[i], WW_OK, "verify 6");
	}
	child_kill(&maker);
}

/* Those who wait for what a dead process was writing are told. */
SCENE_CASE(wait_writer_killed, WW_CAP_EXPORT)
{
	struct child waiters[3];
	OWN(watch) ww_watch *watch = watch_start("later");

	start_maker(&maker, 6, "put later life=kept state=writing");
	for (size_t i = 0; i < CHECK_COUNT(waiters); i++)
		start_waiter(&waiters[i], "get later wait_ms=forever", i + 2); /* and the watch */
	child_kill(&maker);
	for (size_t i = 0; i < CHECK_COUNT(waiters); i++)
		agent_answers(&waiters[i], WW_ERR_PEER_LOST);
	must_hear(watch, WW_WATCH_PUT, "later");
	must_hear(watch, WW_WATCH_LOST, "later");
	must_be_gone("later");
}

SCENE_CASE(wait_writer_lets_go, WW_CAP_EXPORT)
{
	start_maker(&maker, 6, "put later life=kept state=writing");
	start_waiter(&waiter, "get later wait_ms=forever", 1);
	agent_must(&maker, WW_OK, "drop");
	agent_answers(&waiter, WW_ERR_PEER_LOST);
	must_be_gone("later");
}

SCENE_CASE(wait_waiter_killed, WW_CAP_EXPORT)
{
	start_waiter(&waiter, "get never wait_ms=forever", 1);
	child_kill(&waiter);
	scene_has_waits(0);
}

/* --- looking on --- */

SCENE_CASE(watch_tells_of_others, WW_CAP_EXPORT)
{
	struct ww_watch_event event = WW_INIT(struct ww_watch_event);
	OWN(watch) ww_watch *late;
	OWN(watch) ww_watch *watch = watch_start("a/");

	start_maker(&maker, 1, "put a/one life=kept state=writing");
	agent_does(&maker, "seal shared", "drop");
	agent_must(&maker, WW_OK, "make vmm %d 2", LONG);
	agent_must(&maker, WW_OK, "put b/two life=owner");
	MUST_OK(ww_watch_create(scene.broker, NULL, WW_WATCH_EXISTING, &late));
	agent_must(&maker, WW_OK, "remove a/one");
	must_hear(watch, WW_WATCH_PUT, "a/one");
	must_hear(watch, WW_WATCH_READY, "a/one");
	must_hear(watch, WW_WATCH_REMOVED, "a/one");
	MUST_STATUS(WW_TIMED_OUT, ww_watch_next(watch, 0, NULL, &event));
	for (int i = 0; i < 2; i++) {
		MUST_OK(ww_watch_next(late, LIMIT_NS, NULL, &event));
		MUST_EQUAL(WW_WATCH_PUT, event.what);
	}
	must_hear(late, WW_WATCH_REMOVED, "a/one");
	child_kill(&maker);
	must_hear(late, WW_WATCH_GONE, "b/two");
}

SCENE_CASE(snapshot_shows_who_holds, WW_CAP_EXPORT)
{
	const uint64_t all = WW_SNAPSHOT_OBJECTS | WW_SNAPSHOT_UNNAMED | WW_SNAPSHOT_HOLDERS |
		WW_SNAPSHOT_HOLDS;
	struct ww_object_info object = WW_INIT(struct ww_object_info);
	struct ww_holder_info holder = WW_INIT(struct ww_holder_info);
	struct ww_hold_info hold = WW_INIT(struct ww_hold_info);
	ENDED_BY(agent_end) struct child taker;
	OWN(snapshot) ww_snapshot *snapshot;
	size_t makers = 0;
	size_t takers = 0;

	start_maker(&maker, 1, "put x life=held");
	agent_begin(&taker, "agent", "get x");
	MUST_OK(ww_snapshot_create(scene.broker, NULL, all, &snapshot));
	MUST_OK(ww_snapshot_object(snapshot, 0, &object));
	MUST_EQUAL(0, strcmp("x", object.name));
	MUST_EQUAL(2, object.holders);
	MUST_EQUAL(maker.pid, object.pid);
	MUST_STATUS(WW_END, ww_snapshot_object(snapshot, 1, &object));
	for (size_t i = 0; i < 3; i++) {
		MUST_OK(ww_snapshot_holder(snapshot, i, &holder));
		MUST_EQUAL(1, holder.is_attached);
		if (holder.pid == (uint32_t)maker.pid) {
			MUST_EQUAL(1, holder.held);
			MUST_EQUAL(1, holder.put);
		} else if (holder.pid == (uint32_t)taker.pid) {
			MUST_EQUAL(1, holder.held);
			MUST_EQUAL(0, holder.put);
		} else {
			MUST_EQUAL(getpid(), holder.pid);
			MUST_EQUAL(0, holder.held);
		}
	}
	MUST_STATUS(WW_END, ww_snapshot_holder(snapshot, 3, &holder));
	for (size_t i = 0; i < 2; i++) {
		MUST_OK(ww_snapshot_hold(snapshot, i, &hold));
		MUST_MATCH(object.object_id, hold.object_id, sizeof(hold.object_id));
		MUST(hold.holder != 0 && !hold.is_escrow);
		makers += hold.is_creator;
		takers += !hold.is_creator;
	}
	MUST_EQUAL(1, makers);
	MUST_EQUAL(1, takers);
	MUST_STATUS(WW_END, ww_snapshot_hold(snapshot, 2, &hold));
}
