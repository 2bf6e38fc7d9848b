/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fair.c - users who ask more than others, do not read, or leave processes behind: what they can
 * take from others
 */
#include "broker/suite.h"

#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"

#define CROWD 20
#define EACH  20

static pid_t broker_pid(struct raw *raw)
{
	struct ww_wire_condition condition;

	MUST_OK(raw_condition(raw, &condition));
	return (pid_t)condition.pid;
}

static void ask_puts(struct raw *raw, const char *prefix)
{
	char name[32];

	for (int i = 0; i < EACH; i++) {
		struct ww_wire_put put;

		snprintf(name, sizeof(name), "%s%d", prefix, i);
		put = raw_object(name);
		raw_ask_put(raw, &put, NULL, 0);
	}
}

static uint64_t generation_of(struct raw *raw, const char *name)
{
	struct ww_wire_entry entry;

	MUST_OK(raw_stat(raw, name, &entry));
	return entry.generation;
}

/*
 * One user asks over many connections, then another over one: they are served in turn. The numbers
 * that the objects get say in which order that was.
 */
CASE(fair_users_take_turns, ROOT_ONCE)
{
	static struct raw crowd[CROWD];
	struct raw *root;
	struct raw *bob;
	uint64_t last;
	char name[32];
	pid_t pid;

	suite_start(NULL, 0);
	root = peer();
	bob = peer_of(BOB, BOB);
	pid = broker_pid(root);
	for (size_t i = 0; i < CROWD; i++)
		raw_open_as(&crowd[i], daemon_now->address, ALICE, ALICE);
	MUST_CALL(kill(pid, SIGSTOP));
	for (size_t i = 0; i < CROWD; i++) {
		snprintf(name, sizeof(name), "a%zu/", i);
		ask_puts(&crowd[i], name);
	}
	ask_puts(bob, "b");
	MUST_CALL(kill(pid, SIGCONT));
	for (int i = 0; i < EACH; i++)
		MUST_OK(raw_receive(bob));
	snprintf(name, sizeof(name), "b%d", EACH - 1);
	last = generation_of(root, name);
	if (last > 4 * EACH)
		FAIL("the last of %d is number %" PRIu64, EACH, last);
	for (size_t i = 0; i < CROWD; i++) {
		for (int k = 0; k < EACH; k++)
			MUST_OK(raw_receive(&crowd[i]));
		raw_close(&crowd[i]);
	}
}

/* A page that finds nothing looks at no more than one that finds something. */
CASE(fair_list_that_finds_nothing, ONCE)
{
	struct raw *raw = peer();
	const struct ww_wire_list list = {.prefix = "no such"};
	struct ww_wire_listing listing;
	char name[32];

	for (int i = 0; i < 2000; i++) {
		snprintf(name, sizeof(name), "n%d", i);
		put_named(raw, name);
	}
	MUST_OK(raw_call(raw, list, &list, listing, &listing));
	MUST_EQUAL(0, listing.entries.count);
	MUST(listing.next > 0 && listing.next <= 1000);
}

/* Reads what is there; the number of its bytes, and of the answers. */
static uint64_t drain(struct raw *raw, int *count)
{
	uint64_t bytes = 0;
	ssize_t length;

	while ((length = recv(raw->socket, raw->in, sizeof(raw->in), MSG_DONTWAIT)) > 0) {
		bytes += (uint64_t)length;
		++*count;
	}
	return bytes;
}

#define UNREAD_LIMIT (256 << 10)

/*
 * Many connections that do not read: their user's requests are not read any more, and new
 * connections say why.
 */
CASE(fair_unread_bytes, ROOT_ONCE)
{
	static struct raw silent[20];
	const struct ww_wire_list list = {0};
	int answers = 0;
	struct raw *bob;
	struct raw late;
	uint64_t bytes = 0;
	pid_t pid;

	suite_start("[limits]\nunread_bytes = 256K\n", 0);
	bob = peer_of(BOB, BOB);
	pid = broker_pid(bob);
	for (int i = 0; i < 64; i++) {
		char name[32];

		snprintf(name, sizeof(name), "x%d", i);
		put_named(bob, name);
	}
	for (size_t i = 0; i < CHECK_COUNT(silent); i++) {
		raw_open_as(&silent[i], daemon_now->address, ALICE, ALICE);
	}
	for (size_t i = 0; i < CHECK_COUNT(silent); i++) {
		for (int k = 0; k < 10; k++)
			raw_ask(&silent[i], list, &list);
	}
	for (int i = 0; i < 500; i++)
		(void)broker_pid(bob);
	raw_connect_as(&late, daemon_now->address, ALICE, ALICE);
	MUST_OK(raw_receive(&late));
	MUST_REFUSE(WW_ERR_QUOTA, "are not read", raw_refusal(&late));
	raw_close(&late);
	MUST_CALL(kill(pid, SIGSTOP));
	for (size_t i = 0; i < CHECK_COUNT(silent); i++)
		bytes += drain(&silent[i], &answers);
	MUST_CALL(kill(pid, SIGCONT));
	MUST(bytes < 2 * UNREAD_LIMIT);
	/* When they read, they are answered. */
	while (answers < 10 * (int)CHECK_COUNT(silent)) {
		for (size_t i = 0; i < CHECK_COUNT(silent); i++)
			drain(&silent[i], &answers);
		(void)broker_pid(bob);
	}
	for (size_t i = 0; i < CHECK_COUNT(silent); i++)
		raw_close(&silent[i]);
}

/* What a connection that ended did not read is still there: so it still counts. */
CASE(fair_unread_after_the_end, ROOT_ONCE)
{
	const struct ww_wire_status status = {0};
	struct raw *left;
	struct raw late;

	suite_start("[limits]\nconnections = 1\n", 0);
	left = peer_of(ALICE, ALICE);
	raw_ask(left, status, &status);
	MUST_CALL(shutdown(left->socket, SHUT_WR));
	wait_for(peer_of(BOB, BOB), &(struct want){0, 1, 0, 0, 0});
	raw_connect_as(&late, daemon_now->address, ALICE, ALICE);
	MUST_OK(raw_receive(&late));
	MUST_REFUSE(WW_ERR_QUOTA, "1 connections", raw_refusal(&late));
	raw_close(&late);
	MUST_OK(raw_receive(left));
	do {
		raw_close(&late);
		raw_connect_as(&late, daemon_now->address, ALICE, ALICE);
	} while (raw_hello(&late) != WW_OK);
	raw_close(&late);
}

/*
 * Processes that are left over from before a restart count as connections, so there cannot be ever
 * more of them.
 */
CASE(fair_who_does_not_come_back, ROOT_ONCE)
{
	struct raw *left[2];
	struct raw *late;
	struct raw *raw;

	suite_start("[limits]\nconnections = 3\n", 0);
	for (size_t i = 0; i < 2; i++) {
		left[i] = peer_of(ALICE, ALICE);
		put_named(left[i], "");
	}
	raw = peer();
	suite_kill_broker(raw);
	for (size_t i = 0; i < 2; i++)
		shutdown(left[i]->socket, SHUT_RDWR);
	raw = peer_of(ALICE, ALICE);
	late = attacker();
	raw_close(late);
	raw_connect_as(late, daemon_now->address, ALICE, ALICE);
	MUST_REFUSE(WW_ERR_QUOTA, "did not connect again", raw_hello(late));
	wait_for(raw, &(struct want){2, 3, 2, 0, 0});
}

/* Two users take all they can get: root still connects, and puts something. */
CASE(fair_root_has_a_place, ROOT_ONCE)
{
	static struct raw greedy[2][100];
	static const uid_t uids[2] = {ALICE, BOB};
	struct ww_wire_put put;
	size_t counts[2] = {0, 0};
	int fds[WW_WIRE_FDS];
	struct raw *raw;

	suite_start(NULL, 256);
	suite_want_small();
	for (size_t i = 0; i < WW_WIRE_FDS; i++)
		fds[i] = raw_memory(4096);
	for (size_t i = 0; i < 2; i++) {
		do {
			raw = &greedy[i][counts[i]++];
			raw_connect_as(raw, daemon_now->address, uids[i], uids[i]);
		} while (raw_hello(raw) == WW_OK && counts[i] < CHECK_COUNT(greedy[i]));
		MUST_REFUSE(WW_ERR_QUOTA, "connections", raw_refusal(raw));
		do {
			put = raw_object("");
		} while (raw_put(&greedy[i][0], &put, fds, 4) == WW_OK);
		MUST_REFUSE(WW_ERR_QUOTA, "descriptors", raw_refusal(&greedy[i][0]));
		MUST(counts[i] > 10);
	}
	raw = peer();
	put = raw_object("roots");
	MUST_OK(raw_put(raw, &put, fds, 4));
	for (size_t i = 0; i < 2; i++) {
		while (counts[i] > 0)
			raw_close(&greedy[i][--counts[i]]);
	}
	for (size_t i = 0; i < WW_WIRE_FDS; i++)
		close(fds[i]);
}

/* Starts a daemon by a script, which sets a limit first. */
static void start_with_limit(const char *limit)
{
	char path[] = "/tmp/warpway-limit-XXXXXX";
	const char *program = getenv("WARPWAYD");
	char former[PATH_MAX];
	FILE *file;
	int fd;

	MUST(program && realpath(program, former));
	fd = mkstemp(path);
	MUST_CALL(fd);
	MUST_CALL(fchmod(fd, 0700));
	file = fdopen(fd, "w");
	MUST(file && fprintf(file, "#!/bin/sh\n%s\nexec '%s' \"$@\"\n", limit, former) > 0);
	MUST_CALL(fclose(file));
	setenv("WARPWAYD", path, 1);
	suite_start(NULL, 0);
	setenv("WARPWAYD", former, 1);
	unlink(path);
}

/* A broker whose files may not grow refuses objects, and goes on. */
CASE(fair_file_size, ONCE)
{
	struct ww_wire_put put;
	struct raw *raw;
	ww_status status;
	int count = 0;
	pid_t pid;

	start_with_limit("ulimit -f 4096"); /* 2 MiB */
	raw = peer();
	pid = broker_pid(raw);
	do {
		put = raw_object("");
		status = raw_put(raw, &put, NULL, 0);
	} while (status == WW_OK && ++count < 10000);
	MUST_REFUSE(WW_ERR_LIMIT, "ulimit -f", status);
	MUST(count > 100);
	MUST_EQUAL(pid, broker_pid(raw));
}
