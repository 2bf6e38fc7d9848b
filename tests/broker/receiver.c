/* SPDX-License-Identifier: Apache-2.0 */
/*
 * receiver.c - descriptors of users that the broker does not trust: no other user waits until they
 * are closed
 *
 * Two kinds of descriptors hang the process that closes them: a file of a file system that does not
 * answer (fuse.h), and, at the last close() only, a TCP socket that lingers. The attacker is user
 * ALICE. The victims are user BOB, which has a receiver too, and root.
 */
#include "broker/suite.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "support/fuse.h"

static void put_get_remove(struct raw *raw, const char *name)
{
	struct ww_wire_put put = raw_object(name);
	struct ww_wire_granted granted;
	OWN(fd) int fd = raw_memory(4096);

	MUST_OK(raw_put(raw, &put, &fd, 1));
	MUST_OK(raw_get(raw, name, WW_WIRE_ACCESS_READ, &granted));
	MUST_EQUAL(1, raw->fd_count);
	MUST_OK(raw_end(raw, name));
	MUST_OK(raw_release(raw, put.id));
}

/* Others are served, over connections old and new, with their descriptors. */
static void must_serve_others(struct raw *bob)
{
	put_get_remove(bob, "bobs");
	put_get_remove(peer_of(BOB, BOB), "bobs, anew");
	put_get_remove(peer(), "roots");
}

/*
 * The broker itself has no descriptor that could hang it. Only the names of the files are read,
 * since a call on the file could hang.
 */
static void broker_must_have_no(const char *what)
{
	struct ww_wire_condition now;
	const struct dirent *entry;
	char folder[64];
	DIR *table;

	MUST_OK(raw_condition(peer(), &now));
	snprintf(folder, sizeof(folder), "/proc/%u/fd", now.pid);
	table = opendir(folder);
	MUST(table);
	while ((entry = readdir(table))) {
		char name[256];
		ssize_t length = readlinkat(dirfd(table), entry->d_name, name, sizeof(name) - 1);

		name[length < 0 ? 0 : length] = '\0';
		if (strstr(name, what))
			FAIL("the broker has %s", name);
	}
	closedir(table);
}

/* The name of a file as /proc shows it. */
static void name_of(int fd, char out_name[256])
{
	char path[64];
	ssize_t length;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	length = readlink(path, out_name, 255);
	MUST_CALL(length);
	out_name[length] = '\0';
}

/* A case with a daemon of its own, and a file that hangs the process that closes it. */
struct hanging {
	struct fuse fuse;
	int file;
	char name[256]; /* of the file, as /proc shows it */
	int memory;
	struct raw *bob;
};

/* The daemon first: to start it closes every descriptor in a child. */
static void open_hanging(struct hanging *hanging)
{
	suite_start(NULL, 0);
	fuse_start(&hanging->fuse);
	hanging->file = fuse_open(&hanging->fuse);
	name_of(hanging->file, hanging->name);
	hanging->memory = raw_memory(4096);
	hanging->bob = peer_of(BOB, BOB);
}

static void close_hanging(struct hanging *hanging)
{
	close(hanging->file);
	close(hanging->memory);
	suite_stop();
	fuse_stop(&hanging->fuse);
}

static ww_status put_fd(struct raw *raw, const char *name, int fd)
{
	struct ww_wire_put put = raw_object(name);

	return raw_put(raw, &put, &fd, 1);
}

static void must_refuse_hung(int memory)
{
	struct raw *raw = peer_of(ALICE, ALICE);

	MUST_REFUSE(WW_ERR_DESCRIPTOR, "hangs", put_fd(raw, "mine", memory));
	raw_must_be_closed(raw);
}

/*
 * Waits until a user may send descriptors again: the process that hung has been reaped. On a busy
 * machine that takes many connections, so they are not of those that the suite counts.
 */
static void must_recover(uid_t uid, int memory)
{
	uint64_t deadline_ns = ww_clock_deadline_ns((uint64_t)child_limit_ms() * MS);
	static struct raw raw;

	for (;;) {
		ww_status status;

		raw_connect_as(&raw, daemon_now->address, uid, uid);
		status = raw_hello(
			&raw); /* a quota: the broker has not seen the end of those before */
		if (status == WW_OK)
			status = put_fd(&raw, "recovered", memory);
		if (status == WW_OK)
			MUST_OK(raw_end(&raw, "recovered"));
		raw_close(&raw);
		if (status == WW_OK || ww_clock_now_ns() >= deadline_ns) {
			MUST_OK(status);
			return;
		}
	}
}

CASE(receiver_hangs_in_close, AS_ROOT | ONCE)
{
	struct ww_wire_condition now;
	struct hanging hanging;
	struct raw *alice;
	struct raw *other;

	open_hanging(&hanging);
	alice = peer_of(ALICE, ALICE);
	other = peer_of(ALICE, ALICE);
	MUST_REFUSE(WW_ERR_DESCRIPTOR, "descriptor 1 of 1", put_fd(alice, "mine", hanging.file));
	fuse_await_flush(&hanging.fuse);
	must_serve_others(hanging.bob);
	/* The user's next request waits for that process, and is refused after the time limit. */
	MUST_REFUSE(WW_ERR_DESCRIPTOR, "hangs", put_fd(alice, "mine", hanging.memory));
	raw_must_be_closed(alice);
	must_refuse_hung(hanging.memory);
	/* Requests without descriptors are served. */
	MUST_OK(raw_condition(other, &now));
	put_named(other, "hers");
	must_serve_others(hanging.bob);
	broker_must_have_no(hanging.name);
	/* A broker that ends, or is killed, does not wait for the file. */
	suite_kill_broker(other);
	must_serve_others(peer_of(BOB, BOB));
	must_recover(ALICE, hanging.memory);
	fuse_release(&hanging.fuse);
	close_hanging(&hanging);
}

/*
 * The message that carried the file is refused, with this word in the reason, and its connection is
 * closed. Only the receiver of its user hangs, until the file system answers.
 */
static void must_refuse_sender(struct hanging *hanging, struct raw *raw, const char *word)
{
	MUST_OK(raw_receive(raw));
	MUST_REFUSE(WW_ERR_PROTOCOL, word, raw_refusal(raw));
	raw_must_be_closed(raw);
	fuse_await_flush(&hanging->fuse);
	must_serve_others(hanging->bob);
	broker_must_have_no(hanging->name);
	fuse_release(&hanging->fuse);
	must_recover(ALICE, hanging->memory);
}

/* The last connection of a user ends while its receiver hangs: killed then, it still hangs. */
CASE(receiver_hangs_at_end, AS_ROOT | ONCE)
{
	struct hanging hanging;
	struct raw *alice;

	open_hanging(&hanging);
	alice = peer_of(ALICE, ALICE);
	MUST_REFUSE(WW_ERR_DESCRIPTOR, "descriptor 1 of 1", put_fd(alice, "mine", hanging.file));
	fuse_await_flush(&hanging.fuse);
	raw_close(alice);
	/* Root's and Bob's stay. */
	wait_for(peer(), &(struct want){0, 2, 0, UINT64_MAX, 0});
	must_refuse_hung(hanging.memory);
	must_serve_others(hanging.bob);
	fuse_release(&hanging.fuse);
	must_recover(ALICE, hanging.memory);
	close_hanging(&hanging);
}

/* More descriptors than a packet may have, with a message that takes none. */
CASE(receiver_takes_many, AS_ROOT | ONCE)
{
	const struct ww_wire_status status = {0};
	const struct ww_wire_header header = {.serial = 9};
	uint8_t packet[256];
	size_t bytes = ww_wire_encode_status(&status, WW_WIRE_VERSION, &header, packet,
		sizeof(packet));
	struct hanging hanging;
	struct raw *raw;

	open_hanging(&hanging);
	raw = peer_of(ALICE, ALICE);
	raw_send_same(raw, packet, bytes, hanging.file, RAW_FDS_MOST);
	must_refuse_sender(&hanging, raw, "more than 8");
	close_hanging(&hanging);
}

CASE(receiver_before_hello, AS_ROOT | ONCE)
{
	struct ww_wire_hello hello;
	struct hanging hanging;
	uint8_t packet[256];
	struct raw *raw;
	size_t bytes;

	open_hanging(&hanging);
	raw = attacker();
	raw_close(raw);
	raw_connect_as(raw, daemon_now->address, ALICE, ALICE);
	hello = raw_greeting(raw);
	bytes = ww_wire_encode_hello(&hello, WW_WIRE_VERSION, raw_next(raw, 0), packet,
		sizeof(packet));
	raw_send_same(raw, packet, bytes, hanging.file, 8);
	must_refuse_sender(&hanging, raw, "");
	close_hanging(&hanging);
}

/*
 * A connection whose last close() waits for the other end, which does not read. It waits longer
 * than any test.
 */
struct lingering {
	int listener;
	int client;
	int server;
};

static void linger_open(struct lingering *lingering)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	const struct linger linger = {1, 10000};
	socklen_t length = sizeof(address);
	static const char bytes[65536];

	lingering->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	lingering->client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	MUST_CALL(bind(lingering->listener, (const struct sockaddr *)&address, sizeof(address)));
	MUST_CALL(listen(lingering->listener, 1));
	MUST_CALL(getsockname(lingering->listener, (struct sockaddr *)&address, &length));
	MUST_CALL(connect(lingering->client, (const struct sockaddr *)&address, sizeof(address)));
	lingering->server = accept4(lingering->listener, NULL, NULL, SOCK_CLOEXEC);
	MUST_CALL(lingering->server);
	MUST_CALL(setsockopt(lingering->client, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)));
	while (send(lingering->client, bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
		;
}

/* From here on the only descriptor of it is in flight. */
static void linger_send(struct lingering *lingering, struct raw *raw)
{
	MUST_OK(raw_send(raw, "x", 1, &lingering->client, 1));
	close(lingering->client);
}

static void linger_close(struct lingering *lingering)
{
	close(lingering->server);
	close(lingering->listener);
}

/* If a connection ends, another process closes the descriptors that are left in its queue. */
CASE(receiver_closes_queue, AS_ROOT | ONCE)
{
	struct lingering lingering[2];
	struct hanging hanging;
	struct raw *alice;

	open_hanging(&hanging);
	alice = peer_of(ALICE, ALICE);
	MUST_REFUSE(WW_ERR_DESCRIPTOR, "descriptor 1 of 1", put_fd(alice, "mine", hanging.file));
	fuse_await_flush(&hanging.fuse);
	/* The broker receives no more: these stay in the queue until the connection is closed. */
	for (int i = 0; i < 2; i++) {
		linger_open(&lingering[i]);
		linger_send(&lingering[i], alice);
	}
	MUST_OK(raw_receive(alice));
	MUST_REFUSE(WW_ERR_DESCRIPTOR, "hangs", raw_refusal(alice));
	raw_must_be_closed(alice);
	must_serve_others(hanging.bob);
	fuse_release(&hanging.fuse);
	for (int i = 0; i < 2; i++)
		linger_close(&lingering[i]);
	close_hanging(&hanging);
}

/* The same for a connection that is refused. */
CASE(receiver_closes_refused, AS_ROOT | ONCE)
{
	struct ww_wire_condition now;
	struct lingering lingering;
	struct raw *alice;
	struct raw *bob;

	suite_start("[limits]\nconnections = 4\n", 0);
	bob = peer_of(BOB, BOB);
	for (int i = 0; i < 4; i++)
		(void)peer_of(ALICE, ALICE);
	alice = attacker();
	raw_close(alice);
	linger_open(&lingering);
	/* The packet is in the queue before the broker accepts the connection. */
	MUST_OK(raw_condition(bob, &now));
	MUST_CALL(kill((pid_t)now.pid, SIGSTOP));
	raw_connect_as(alice, daemon_now->address, ALICE, ALICE);
	linger_send(&lingering, alice);
	MUST_CALL(kill((pid_t)now.pid, SIGCONT));
	MUST_OK(raw_receive(alice));
	MUST_REFUSE(WW_ERR_QUOTA, "connections", raw_refusal(alice));
	raw_must_be_closed(alice);
	must_serve_others(bob);
	linger_close(&lingering);
}

/* Requests with and without descriptors are answered in the order in which they came. */
CASE(receiver_keeps_order, AS_ROOT)
{
	struct raw *alice = peer_of(ALICE, ALICE);
	int memory[8];
	uint32_t serials[8];

	for (size_t i = 0; i < CHECK_COUNT(serials); i++) {
		struct ww_wire_put put;
		char name[16];

		snprintf(name, sizeof(name), "o%zu", i);
		put = raw_object(name);
		memory[i] = raw_memory(4096);
		serials[i] = raw_ask_put(alice, &put, &memory[i], i % 2);
	}
	for (size_t i = 0; i < CHECK_COUNT(serials); i++) {
		MUST_OK(raw_receive(alice));
		MUST_OK(raw_refusal(alice));
		MUST_EQUAL(serials[i], alice->header.serial);
		close(memory[i]);
	}
}

/* Requests sent before the end are executed, also those behind a packet with descriptors. */
CASE(receiver_hears_last, AS_ROOT)
{
	struct raw *other = peer_of(ALICE, ALICE);
	OWN(fd) int memory = raw_memory(4096);

	for (int round = 0; round < 20; round++) {
		const struct ww_wire_remove remove = {.name = "mark"};
		struct raw *alice = peer_of(ALICE, ALICE);
		struct ww_wire_put put = raw_object("kept");
		struct ww_wire_granted granted;
		struct ww_wire_put mark;

		put.life = WW_WIRE_LIFE_KEPT;
		mark = put_named(other, "mark");
		raw_ask_put(alice, &put, &memory, 1);
		raw_ask(alice, remove, &remove);
		raw_close(alice);
		raw_ask_get(other, "kept", WW_WIRE_ACCESS_READ);
		MUST_OK(raw_receive(other));
		MUST_OK(raw_take(other, granted, &granted));
		MUST_OK(raw_release(other, put.id));
		MUST_OK(raw_end(other, "kept"));
		MUST_OK(raw_release(other, mark.id));
		wait_for(other, &(struct want){0, UINT64_MAX, UINT64_MAX, UINT64_MAX, 0});
		raw_close(alice);
	}
}

/* The pid of the broker's receiver; -1: it has none. */
static pid_t find_receiver(pid_t broker)
{
	char path[64];
	char text[256] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)broker, (int)broker);
	file = fopen(path, "re");
	if (!file)
		check_skip("%s cannot be read: %m", path);
	if (!fgets(text, sizeof(text), file))
		text[0] = '\0';
	fclose(file);
	return text[0] ? (pid_t)strtol(text, NULL, 10) : -1;
}

/* The last one that this process may use: most machines have the most to do on the first ones. */
static void run_on_last_cpu(pid_t pid)
{
	cpu_set_t set;
	int last = CPU_SETSIZE - 1;

	MUST_CALL(sched_getaffinity(0, sizeof(set), &set));
	while (!CPU_ISSET(last, &set))
		last--;
	CPU_ZERO(&set);
	CPU_SET(last, &set);
	MUST_CALL(sched_setaffinity(pid, sizeof(set), &set));
}

/* Uses all the time of a CPU, with a higher priority than nearly all other processes. */
ROLE(role_busy)
{
	/* In this order: with the usual priority it would hardly run beside another one. */
	MUST_CALL(setpriority(PRIO_PROCESS, 0, -20));
	run_on_last_cpu(0);
	role_tell("busy");
	for (;;)
		atomic_signal_fence(memory_order_seq_cst);
}

static void must_have_policy(pid_t receiver, int policy)
{
	int now = sched_getscheduler(receiver);

	MUST_CALL(now);
	MUST_EQUAL(policy, now);
}

/*
 * If all CPUs are busy, a receiver waits for its turn. It has the usual scheduling policy until it
 * has to close a descriptor that the broker does not keep. From then on it may hardly run, but it
 * does not count as one that hangs.
 */
CASE(receiver_waits_for_cpu, AS_ROOT | ONCE)
{
	const int enough_ms = 6000; /* more than the broker's limit for what hangs */
	struct raw *alice = peer_of(ALICE, ALICE);
	int sockets[2];
	struct ww_wire_condition now;
	OWN(fd) int memory = raw_memory(4096);
	struct child busy[4];
	struct ww_wire_put put = raw_object("hers");
	struct pollfd answer = {.events = POLLIN};
	pid_t receiver;

	MUST_OK(raw_condition(peer(), &now));
	MUST_OK(put_fd(alice, "usual", memory));
	receiver = find_receiver((pid_t)now.pid);
	must_have_policy(receiver, SCHED_OTHER);
	MUST_CALL(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets));
	MUST_REFUSE(WW_ERR_DESCRIPTOR, "descriptor 1 of 1", put_fd(alice, "mine", sockets[0]));
	for (size_t i = 0; i < CHECK_COUNT(busy); i++) {
		child_start(&busy[i], "role_busy", NULL);
		child_hear(&busy[i], "busy");
	}
	run_on_last_cpu(receiver);
	raw_ask_put(alice, &put, &memory, 1);
	must_serve_others(peer_of(BOB, BOB));
	answer.fd = alice->socket;
	MUST_CALL(poll(&answer, 1, enough_ms));
	must_have_policy(receiver, SCHED_IDLE);
	for (size_t i = 0; i < CHECK_COUNT(busy); i++)
		child_kill(&busy[i]);
	MUST_OK(raw_receive(alice));
	MUST_OK(raw_refusal(alice));
	MUST_OK(raw_end(alice, "hers"));
	MUST_OK(raw_end(alice, "usual"));
	close(sockets[0]);
	close(sockets[1]);
}

CASE(receiver_is_killed, AS_ROOT | ONCE)
{
	struct raw *alice = peer_of(ALICE, ALICE);
	struct raw *root = peer();
	struct ww_wire_condition now;
	OWN(fd) int memory = raw_memory(4096);
	pid_t receiver;

	MUST_OK(raw_condition(root, &now));
	for (int round = 0; round < 10; round++) {
		MUST_OK(put_fd(alice, "mine", memory));
		MUST_OK(raw_end(alice, "mine"));
		receiver = find_receiver((pid_t)now.pid);
		MUST(receiver > 0);
		MUST_CALL(kill(receiver, SIGKILL));
		process_wait_end(receiver);
	}
}

/* If the broker takes the supervisor's place, its former children are not left as zombies. */
CASE(receiver_is_reaped, AS_ROOT | ONCE)
{
	uint64_t deadline_ns = ww_clock_deadline_ns((uint64_t)child_limit_ms() * MS);
	struct ww_wire_condition now;
	OWN(fd) int memory = raw_memory(4096);
	struct raw *alice;
	struct raw *root;
	pid_t receiver;

	suite_start(NULL, 0);
	alice = peer_of(ALICE, ALICE);
	MUST_OK(raw_condition(alice, &now));
	MUST_OK(put_fd(alice, "mine", memory));
	receiver = find_receiver((pid_t)now.pid);
	MUST(receiver > 0);
	MUST_CALL(kill(daemon_now->supervisor, SIGKILL));
	MUST_EQUAL(daemon_now->supervisor, waitpid(daemon_now->supervisor, NULL, 0));
	broker_hear_ready(daemon_now);
	root = peer();
	while (kill(receiver, 0) == 0 && ww_clock_now_ns() < deadline_ns)
		put_get_remove(root, "roots");
	MUST_EQUAL(-1, kill(receiver, 0));
	put_get_remove(peer_of(ALICE, ALICE), "again");
}

CASE(receiver_goes_with_its_user, AS_ROOT)
{
	uint64_t deadline_ns = ww_clock_deadline_ns((uint64_t)child_limit_ms() * MS);
	struct raw *alice = peer_of(ALICE, ALICE);
	struct raw *root = peer();
	struct ww_wire_condition now;
	OWN(fd) int memory = raw_memory(4096);

	MUST_OK(raw_condition(root, &now));
	MUST_OK(put_fd(alice, "mine", memory));
	MUST(find_receiver((pid_t)now.pid) > 0);
	raw_close(alice);
	while (find_receiver((pid_t)now.pid) > 0 && ww_clock_now_ns() < deadline_ns)
		MUST_OK(raw_condition(root, &now));
	MUST_EQUAL(-1, find_receiver((pid_t)now.pid));
}
