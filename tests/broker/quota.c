/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quota.c - each kind of thing a user can make the broker hold, up to its limit, and waiting for
 * room
 */
#include "broker/suite.h"

#include <unistd.h>

static struct ww_wire_put sized(const char *name, uint64_t bytes)
{
	struct ww_wire_put put = raw_object(name);

	put.bytes = bytes;
	return put;
}

/* Puts an object of a size. */
static ww_status put_sized(struct raw *raw, const char *name, uint64_t bytes)
{
	const struct ww_wire_put put = sized(name, bytes);

	return raw_put(raw, &put, NULL, 0);
}

static ww_status put_with_memory(struct raw *raw, const char *name, uint64_t bytes, size_t count)
{
	struct ww_wire_put put = raw_object(name);
	int fds[WW_WIRE_FDS];
	ww_status status;

	for (size_t i = 0; i < count; i++)
		fds[i] = raw_memory(bytes);
	status = raw_put(raw, &put, fds, count);
	for (size_t i = 0; i < count; i++)
		close(fds[i]);
	return status;
}

CASE(quota_bytes, 0)
{
	struct raw *raw;

	suite_start("[limits]\nbytes = 64K\n", 0);
	raw = peer();
	MUST_OK(put_sized(raw, "a", 40 << 10));
	MUST_OK(put_sized(raw, "b", 24 << 10));
	MUST_REFUSE(WW_ERR_QUOTA, "bytes of objects", put_sized(raw, "c", 1));
	MUST_REFUSE(WW_ERR_QUOTA, "limit of 65536", put_sized(raw, "c", INT64_MAX));
	MUST_OK(put_sized(raw, "d", 0));
	MUST_OK(raw_end(raw, "b"));
	MUST_REFUSE(WW_ERR_QUOTA, "holds 40960", put_sized(raw, "c", (24 << 10) + 1));
	MUST_OK(put_sized(raw, "c", 24 << 10));
}

CASE(quota_host_bytes, 0)
{
	struct raw *raw;
	struct ww_wire_put put = raw_object("d");
	OWN(fd) int fd = raw_memory(8 << 10);

	suite_start("[limits]\nhost_bytes = 16K\n", 0);
	raw = peer();
	MUST_OK(put_with_memory(raw, "a", 8 << 10, 1));
	MUST_REFUSE(WW_ERR_QUOTA, "bytes of host memory", put_with_memory(raw, "b", 16 << 10, 1));
	/* What is said counts for nothing. */
	put.bytes = 0;
	MUST_OK(raw_put(raw, &put, &fd, 1));
	MUST_REFUSE(WW_ERR_QUOTA, "bytes of host memory", put_with_memory(raw, "b", 4 << 10, 1));
	MUST_OK(put_sized(raw, "elsewhere", 1 << 30));
	MUST_OK(raw_end(raw, "a"));
	MUST_OK(put_with_memory(raw, "b", 4 << 10, 2));
}

CASE(quota_objects, 0)
{
	struct raw *raw;
	struct ww_wire_put put = raw_object("a");
	struct ww_wire_put old;

	suite_start("[limits]\nobjects = 3\n", 0);
	raw = peer();
	old = put_named(raw, "a");
	put_named(raw, "b");
	put_named(raw, "");
	MUST_REFUSE(WW_ERR_QUOTA, "3 objects", put_sized(raw, "d", 1));
	/* A name is never without its object, so the new one must fit beside the old one. */
	put.flags = WW_WIRE_PUT_FLAG_REPLACE;
	MUST_REFUSE(WW_ERR_QUOTA, "objects", raw_put(raw, &put, NULL, 0));
	MUST_OK(raw_end(raw, "b"));
	MUST_OK(raw_put(raw, &put, NULL, 0));
	/* The old one goes on without its name while a process holds it. */
	MUST_REFUSE(WW_ERR_QUOTA, "objects", put_sized(raw, "d", 1));
	MUST_OK(raw_release(raw, old.id));
	put_named(raw, "d");
	MUST_REFUSE(WW_ERR_QUOTA, "objects", put_sized(raw, "e", 1));
	raw_close(raw);
	raw = peer();
	wait_for(raw, &(struct want){0, 1, 0, 0, 0});
	put_named(raw, "e");
}

CASE(quota_fds, 0)
{
	struct raw *raw;

	suite_start("[limits]\nfds = 10\n", 0);
	raw = peer();
	MUST_OK(put_with_memory(raw, "a", 4096, 8));
	MUST_REFUSE(WW_ERR_QUOTA, "descriptors", put_with_memory(raw, "b", 4096, 3));
	wait_for(raw, &(struct want){1, 1, 1, 8, 0});
	MUST_OK(put_with_memory(raw, "b", 4096, 2));
	MUST_OK(raw_end(raw, "a"));
	MUST_OK(put_with_memory(raw, "c", 4096, 8));
}

CASE(quota_holds, 0)
{
	struct ww_wire_granted granted;
	struct ww_wire_put put;
	struct raw *raw;
	struct raw *other;
	uint8_t secret[16];

	suite_start("[limits]\nholds = 4\n", 0);
	raw = peer();
	other = peer();
	put = put_named(raw, "a");
	put_named(raw, "b");
	put_named(raw, "c");
	MUST_OK(raw_get(other, "a", WW_WIRE_ACCESS_READ, &granted));
	MUST_OK(raw_get(other, "a", WW_WIRE_ACCESS_READ, &granted)); /* it holds it already */
	MUST_REFUSE(WW_ERR_QUOTA, "4 holds", raw_get(other, "b", WW_WIRE_ACCESS_READ, &granted));
	MUST_EQUAL(0, other->fd_count);
	MUST_REFUSE(WW_ERR_QUOTA, "holds", put_sized(raw, "d", 1));
	MUST_REFUSE(WW_ERR_QUOTA, "holds",
		raw_export(raw, put.id, WW_WIRE_ACCESS_READ, 0, 1000 * MS, secret));
	MUST_OK(raw_export(raw, put.id, WW_WIRE_ACCESS_READ, 0, 0, secret));
	MUST_REFUSE(WW_ERR_NOT_FOUND, "'d'", raw_get(raw, "d", WW_WIRE_ACCESS_READ, &granted));
	wait_for(raw, &(struct want){3, 2, 4, 0, 0});
	MUST_OK(raw_release(other, put.id));
	MUST_OK(raw_export(raw, put.id, WW_WIRE_ACCESS_READ, 0, 60000 * MS, secret));
	MUST_REFUSE(WW_ERR_QUOTA, "holds", put_sized(raw, "d", 1));
	MUST_OK(raw_end(raw, "a")); /* its escrow goes with it, its holder stays */
	MUST_OK(put_sized(raw, "d", 1));
}

CASE(quota_connections, 0)
{
	struct raw *raw[4];
	struct raw *late;

	suite_start("[limits]\nconnections = 4\n", 0);
	for (size_t i = 0; i < 4; i++)
		raw[i] = i == 1 ? attacker() : peer();
	late = attacker();
	MUST_OK(raw_receive(late));
	MUST_EQUAL(0, late->header.serial);
	MUST_REFUSE(WW_ERR_QUOTA, "4 connections", raw_refusal(late));
	raw_must_be_closed(late);
	raw_close(raw[1]);
	/* The end of one and the start of another reach the daemon in one moment, in any order. */
	raw_connect(late, daemon_now->address);
	while (raw_hello(late) != WW_OK) {
		raw_close(late);
		raw_connect(late, daemon_now->address);
	}
}

CASE(quota_waits, 0)
{
	struct raw *raw;
	struct ww_wire_cancel cancel = {0};
	struct ww_wire_done done;
	uint32_t first;
	uint32_t serial;

	suite_start("[limits]\nwaits = 2\nobjects = 1\n", 0);
	raw = peer();
	first = raw_ask_get(raw, "later", WW_WIRE_ACCESS_READ);
	put_named(raw, "full");
	raw_ask_reserve(raw, 1, 0);
	serial = raw_ask_get(raw, "later", WW_WIRE_ACCESS_READ);
	must_be_refused(raw, serial, WW_ERR_QUOTA, "2 waiting requests");
	serial = raw_ask_reserve(raw, 1, 0);
	must_be_refused(raw, serial, WW_ERR_QUOTA, "waiting requests");
	cancel.waiting = first;
	serial = raw_ask(raw, cancel, &cancel);
	must_be_refused(raw, first, WW_ERR_GIVEN_UP, "given up");
	MUST_OK(raw_answered(raw, serial));
	MUST_OK(raw_take(raw, done, &done));
	raw_ask_get(raw, "later", WW_WIRE_ACCESS_READ);
	wait_for(peer(), &(struct want){1, 2, 1, 0, 2});
}

CASE(quota_watches, 0)
{
	struct raw *eyes[2];
	struct raw *raw;

	suite_start("[limits]\nwatches = 2\n", 0);
	raw = watcher();
	for (size_t i = 0; i < 2; i++) {
		eyes[i] = watcher();
		MUST_OK(raw_watch(eyes[i], "", 0));
	}
	MUST_REFUSE(WW_ERR_QUOTA, "2 watches", raw_watch(raw, "", 0));
	raw_close(eyes[1]);
	wait_for(raw, &(struct want){0, 0, 0, 0, 1});
	MUST_OK(raw_watch(raw, "", 0));
}

/* What one user has used up another still has. */
CASE(quota_of_each_user, AS_ROOT)
{
	struct raw *alice;
	struct raw *bob;

	suite_start("[limits]\nobjects = 2\n[limits.54321]\nobjects = 1\n", 0);
	alice = peer_of(ALICE, ALICE);
	bob = peer_of(BOB, BOB);
	MUST_OK(put_sized(alice, "a", 1));
	MUST_REFUSE(WW_ERR_QUOTA, "user 54321", put_sized(alice, "b", 1));
	MUST_REFUSE(WW_ERR_QUOTA, "user 54321", put_sized(peer_of(ALICE, ALICE), "b", 1));
	MUST_OK(put_sized(bob, "b", 1));
	MUST_OK(put_sized(bob, "c", 1));
	MUST_REFUSE(WW_ERR_QUOTA, "user 54322", put_sized(bob, "d", 1));
	raw_close(alice);
	wait_for(bob, &(struct want){2, UINT64_MAX, 2, 0, 0});
	MUST_OK(put_sized(peer_of(ALICE, ALICE), "d", 1));
}

/* The descriptors of a small process: one user cannot have all of them for connections. */
CASE(quota_connections_of_one_user, AS_ROOT)
{
	static struct raw greedy[100];
	size_t count = 0;
	ww_status status;

	suite_start(NULL, 256);
	suite_want_small();
	do {
		raw_connect_as(&greedy[count], daemon_now->address, ALICE, ALICE);
		status = raw_hello(&greedy[count++]);
	} while (status == WW_OK && count < CHECK_COUNT(greedy));
	MUST_REFUSE(WW_ERR_QUOTA, "connections", raw_refusal(&greedy[count - 1]));
	put_named(peer_of(BOB, BOB), "bobs");
	put_named(peer(), "roots");
	while (count > 0)
		raw_close(&greedy[--count]);
}

CASE(quota_survives_huge_numbers, 0)
{
	struct raw *raw = peer();

	MUST_REFUSE(WW_ERR_INVALID, "no object has", put_sized(raw, "a", UINT64_MAX));
	MUST_REFUSE(WW_ERR_INVALID, "no object has", put_sized(raw, "a", (uint64_t)INT64_MAX + 1));
	MUST_OK(put_sized(raw, "a", INT64_MAX));
	MUST_OK(put_sized(raw, "b", INT64_MAX));
	MUST_OK(put_sized(raw, "c", INT64_MAX)); /* there is no limit, whatever they add up to */
	MUST_OK(raw_end(raw, "a"));
	MUST_OK(put_sized(raw, "d", 1));
	MUST_REFUSE(WW_ERR_INVALID, "at most 8", raw_reserve(raw, 1, 9));
	MUST_REFUSE(WW_ERR_INVALID, "at most 8", raw_reserve(raw, 1, UINT32_MAX));
}

/* --- waiting for room --- */

CASE(reserve_in_turn, 0)
{
	struct raw *holder;
	struct raw *large;
	struct raw *small;
	struct ww_wire_done done;
	uint32_t first;
	uint32_t second;

	suite_start("[limits]\nbytes = 100\n", 0);
	holder = peer();
	large = peer();
	small = peer();
	MUST_REFUSE(WW_ERR_QUOTA, "limit of 100", raw_reserve(holder, 101, 0));
	MUST_OK(put_sized(holder, "a", 30));
	MUST_OK(put_sized(holder, "b", 30));
	first = raw_ask_reserve(large, 80, 0);
	wait_for(holder, &(struct want){2, 3, 2, 0, 1});
	/* It would fit, but somebody waits. */
	second = raw_ask_reserve(small, 10, 0);
	wait_for(holder, &(struct want){2, 3, 2, 0, 2});
	MUST_REFUSE(WW_ERR_QUOTA, "wait in turn", put_sized(holder, "c", 10));
	MUST_OK(raw_end(holder, "a"));
	wait_for(holder, &(struct want){2, 3, 2, 0, 2}); /* one is removed and held */
	MUST(raw_is_silent(large) && raw_is_silent(small));
	MUST_OK(raw_end(holder, "b"));
	MUST_OK(raw_answered(large, first));
	MUST_OK(raw_take(large, done, &done));
	MUST_OK(raw_answered(small, second));
	MUST_OK(raw_take(small, done, &done));
	/* What is reserved is nobody else's. */
	MUST_REFUSE(WW_ERR_QUOTA, "90 bytes", put_sized(holder, "c", 11));
	MUST_OK(put_sized(large, "c", 80));
	MUST_OK(put_sized(small, "d", 10));
	MUST_OK(put_sized(holder, "e", 10));
}

CASE(reserve_twice, 0)
{
	struct raw *holder;
	struct raw *raw;
	struct ww_wire_done done;
	uint32_t first;
	uint32_t second;

	suite_start("[limits]\nbytes = 100\n", 0);
	holder = peer();
	raw = peer();
	MUST_OK(raw_reserve(raw, 10, 0));
	MUST_REFUSE(WW_ERR_STATE, "reserved already", raw_reserve(raw, 10, 0));
	MUST_OK(put_sized(raw, "x", 10));
	MUST_OK(put_sized(holder, "a", 90));
	/* Both wait; the second would overwrite what the first was given. */
	first = raw_ask_reserve(raw, 20, 0);
	second = raw_ask_reserve(raw, 30, 0);
	wait_for(holder, &(struct want){2, 2, 2, 0, 2});
	MUST_OK(raw_end(holder, "a"));
	MUST_OK(raw_answered(raw, first));
	MUST_OK(raw_take(raw, done, &done));
	must_be_refused(raw, second, WW_ERR_STATE, "reserved already");
	MUST_OK(put_sized(raw, "y", 20));
	MUST_OK(put_sized(raw, "z", 70));
	MUST_REFUSE(WW_ERR_QUOTA, "holds 100 bytes", put_sized(raw, "more", 1));
	/* The next put uses it, also one that is refused. */
	MUST_OK(raw_end(raw, "z"));
	MUST_OK(raw_reserve(raw, 70, 0));
	MUST_REFUSE(WW_ERR_EXISTS, "taken", put_sized(raw, "y", 1));
	MUST_OK(put_sized(holder, "z", 70));
}

CASE(reserve_ends_with_connection, 0)
{
	struct raw *raw;
	struct raw *waiting;
	struct raw *gone;
	struct ww_wire_done done;
	uint32_t serial;

	suite_start("[limits]\nbytes = 100K\nfds = 8\n", 0);
	raw = peer();
	waiting = peer();
	gone = peer();
	MUST_OK(raw_reserve(raw, 100 << 10, 8));
	raw_ask_reserve(gone, 50, 0);
	wait_for(raw, &(struct want){0, 3, 0, 8, 1});
	serial = raw_ask_reserve(waiting, 100 << 10, 8);
	wait_for(raw, &(struct want){0, 3, 0, 8, 2});
	raw_close(gone); /* who waits and leaves keeps nobody waiting */
	wait_for(raw, &(struct want){0, 2, 0, 8, 1});
	raw_close(raw);
	MUST_OK(raw_answered(waiting, serial));
	MUST_OK(raw_take(waiting, done, &done));
	MUST_OK(put_with_memory(waiting, "all", 10, 8));
	wait_for(waiting, &(struct want){1, 1, 1, 8, 0});
}
