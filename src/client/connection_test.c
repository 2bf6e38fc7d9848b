/* SPDX-License-Identifier: Apache-2.0 */
/*
 * connection_test.c - connecting: to a broker, to none, to what is none, to one that refuses
 */
#include "client/fake_broker.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "client/connection.h"

#define SOON_NS UINT64_C(500000000)
#define LONG_NS STAND_IN_PATIENCE_NS

static const struct ww_caller caller = {.process_id = {1, 2, 3}};

static ww_status open_at(const char *path, uint64_t timeout_ns,
	struct ww_connection **out_connection, bool *out_is_absent)
{
	struct ww_address address = {.is_own = false};

	memcpy(address.path, path, strlen(path) + 1);
	return ww_connection_open(&address, &caller, ww_clock_deadline_ns(timeout_ns),
		out_connection, out_is_absent);
}

static void assert_opening_fails(void (*script)(struct stand_in *self), uint64_t timeout_ns,
	ww_status status)
{
	struct ww_connection *connection;
	struct stand_in broker;
	bool is_absent;

	stand_in_start(&broker, script);
	assert_fails(open_at(broker.path, timeout_ns, &connection, &is_absent), status);
	assert_null(connection);
	assert_false(is_absent);
	stand_in_finish(&broker);
}

static struct ww_connection *connect_to(const struct stand_in *broker)
{
	struct ww_connection *connection;
	bool is_absent;

	assert_ok(open_at(broker->path, LONG_NS, &connection, &is_absent));
	return connection;
}

UNIT_TEST(none)
{
	struct stand_in broker;
	struct ww_connection *connection;
	bool is_absent;

	stand_in_init(&broker);
	assert_fails(open_at(broker.path, LONG_NS, &connection, &is_absent), WW_ERR_NO_BROKER);
	assert_true(is_absent);
	stand_in_listen(&broker);
	broker.listener = ww_fd_close(broker.listener); /* the socket stays, as a dead broker's */
	assert_fails(open_at(broker.path, LONG_NS, &connection, &is_absent), WW_ERR_NO_BROKER);
	assert_true(is_absent);
	stand_in_remove(&broker);
}

UNIT_TEST(welcomed)
{
	struct stand_in broker;
	struct ww_connection *connection;

	stand_in_start(&broker, stand_in_serve_nothing);
	connection = connect_to(&broker);
	assert_int_equal(connection->uid, geteuid());
	assert_memory_equal(connection->welcome.broker_id, broker.broker_id, WW_WIRE_ID_BYTES);
	ww_connection_unref(connection);
	stand_in_finish(&broker);
	assert_memory_equal(broker.process_id, caller.process_id, sizeof(broker.process_id));
}

/* The end of a connection is one, also while a child made by fork() has the socket too. */
UNIT_TEST(ended_with_a_child)
{
	struct stand_in broker;
	struct ww_connection *connection;
	pid_t child;

	stand_in_start(&broker, stand_in_serve_nothing);
	connection = connect_to(&broker);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		pause();
		_exit(0);
	}
	ww_connection_unref(connection);
	stand_in_finish(&broker);
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
}

static void welcome_when_told(struct stand_in *self)
{
	stand_in_wait(self->told[0]);
	stand_in_serve_nothing(self);
}

/* Step by step, never waiting. */
UNIT_TEST(without_time)
{
	struct ww_address address = {.is_own = false};
	struct stand_in broker;
	struct ww_connection *connection;
	bool is_absent;

	stand_in_start(&broker, welcome_when_told);
	strcpy(address.path, broker.path);
	assert_ok(ww_connection_connect(&address, &caller, 0, &connection, &is_absent));
	assert_int_equal(ww_connection_receive_welcome(connection, &address, 0), WW_TIMED_OUT);
	stand_in_tell(&broker);
	assert_ok(ww_connection_receive_welcome(connection, &address, WW_NEVER));
	ww_connection_unref(connection);
	stand_in_finish(&broker);
}

/* --- which process listens at the user's own address --- */

#define OTHER_USER 12345

/*
 * Another user listens, in a folder of this user's. Return: the child; it ends with 0 when nothing
 * was sent to it.
 */
static pid_t start_other(struct stand_in *self)
{
	int ready[2];
	pid_t child;
	char byte;

	assert_int_equal(pipe(ready), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		int peer;

		if (setgid(OTHER_USER) || setuid(OTHER_USER) || listen(self->listener, 1) ||
			write(ready[1], "", 1) != 1)
			_exit(1);
		peer = accept(self->listener, NULL, NULL);
		stand_in_wait(peer);
		_exit(recv(peer, &byte, 1, 0) == 0 ? 0 : 2);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	close(ready[1]);
	return child;
}

UNIT_TEST(answered_by_another_user)
{
	struct ww_address address = {.is_own = true};
	struct stand_in self;
	struct ww_connection *connection;
	bool is_absent;
	pid_t child;
	int status;

	if (geteuid() != 0)
		UNIT_SKIP("there is no other user to be");
	stand_in_init(&self);
	stand_in_listen(&self);
	child = start_other(&self);
	strcpy(address.path, self.path);
	assert_fails(ww_connection_connect(&address, &caller, ww_clock_deadline_ns(LONG_NS),
			     &connection, &is_absent),
		WW_ERR_ACCESS);
	assert_false(is_absent);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	/* The caller named the address. */
	child = start_other(&self);
	address.is_own = false;
	assert_ok(ww_connection_connect(&address, &caller, ww_clock_deadline_ns(LONG_NS),
		&connection, &is_absent));
	assert_int_equal(connection->uid, OTHER_USER);
	ww_connection_unref(connection);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(WEXITSTATUS(status), 2);
	stand_in_remove(&self);
}

#define VICTIM   12346
#define ATTEMPTS 20000

/*
 * Listens in a folder of its own, and moves that to the victim's place and away again until @stop
 * is closed.
 */
static void attack(const char *folder, int stop)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	struct pollfd told = {.fd = stop, .events = POLLIN};
	int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0);
	char place[96];
	char aside[96];

	snprintf(place, sizeof(place), "%s/warpway", folder);
	snprintf(aside, sizeof(aside), "%s/aside", folder);
	snprintf(name.sun_path, sizeof(name.sun_path), "%s/s", aside);
	if (setgid(OTHER_USER) || setuid(OTHER_USER) || mkdir(aside, 0755) ||
		bind(listener, (struct sockaddr *)&name, sizeof(name)) ||
		chmod(name.sun_path, 0777) || listen(listener, 4096))
		_exit(1);
	while (poll(&told, 1, 0) == 0) {
		int peer;

		if (rename(aside, place) || rename(place, aside))
			_exit(2);
		while ((peer = accept(listener, NULL, NULL)) >= 0)
			close(peer);
	}
	unlink(name.sun_path);
	_exit(rmdir(aside) ? 3 : 0);
}

/* Ends with 0 if nothing was sent. */
static void be_attacked(const char *folder)
{
	struct ww_address address = {.is_own = true};

	snprintf(address.path, sizeof(address.path), "%s/warpway/s", folder);
	if (setgid(VICTIM) || setuid(VICTIM))
		_exit(1);
	for (int i = 0; i < ATTEMPTS; i++) {
		struct ww_connection *connection;
		bool is_absent;

		if (ww_connection_connect(&address, &caller, 0, &connection, &is_absent) == WW_OK)
			_exit(2);
	}
	_exit(0);
}

/* In a folder where all may make files, another user may have made the own folder first. */
UNIT_TEST(raced_by_another_user)
{
	char folder[] = "/tmp/warpway-test-XXXXXX";
	pid_t children[2];
	int statuses[2];
	int stop[2];

	if (geteuid() != 0)
		UNIT_SKIP("there is no other user to be");
	assert_non_null(mkdtemp(folder));
	assert_int_equal(chmod(folder, 01777), 0);
	assert_int_equal(pipe(stop), 0);
	for (int i = 0; i < 2; i++) {
		children[i] = fork();
		assert_true(children[i] >= 0);
		if (children[i] == 0) {
			close(stop[1]);
			if (i == 0)
				attack(folder, stop[0]);
			be_attacked(folder);
		}
	}
	assert_int_equal(waitpid(children[1], &statuses[1], 0), children[1]);
	close(stop[1]);
	close(stop[0]);
	assert_int_equal(waitpid(children[0], &statuses[0], 0), children[0]);
	rmdir(folder);
	assert_int_equal(statuses[1], 0);
	assert_int_equal(statuses[0], 0);
}

/* So many wait to be accepted that one more must wait, or not come in. */
UNIT_TEST(no_room_in_the_queue)
{
	struct ww_address address = {.is_own = false};
	struct ww_connection *connections[2];
	struct stand_in broker;
	bool is_absent;

	stand_in_init(&broker);
	stand_in_listen(&broker);
	assert_int_equal(listen(broker.listener, 0), 0);
	strcpy(address.path, broker.path);
	assert_ok(ww_connection_connect(&address, &caller, 0, &connections[0], &is_absent));
	assert_int_equal(ww_connection_connect(&address, &caller, 0, &connections[1], &is_absent),
		WW_TIMED_OUT);
	assert_null(connections[1]);
	assert_fails(open_at(broker.path, SOON_NS, &connections[1], &is_absent), WW_ERR_NO_BROKER);
	assert_false(is_absent);
	ww_connection_unref(connections[0]);
	stand_in_remove(&broker);
}

/* The broker is killed twice while it reads a hello, and started again by its supervisor. */
static void close_twice(struct stand_in *self)
{
	for (int i = 0; i < 2; i++)
		close(stand_in_accept_raw(self));
	stand_in_serve_nothing(self);
}

UNIT_TEST(once_more)
{
	struct stand_in broker;
	struct ww_connection *connection;

	stand_in_start(&broker, close_twice);
	connection = connect_to(&broker);
	ww_connection_unref(connection);
	stand_in_finish(&broker);
}

static void close_always(struct stand_in *self)
{
	for (int i = 0; i < 16; i++)
		close(stand_in_accept_raw(self));
}

UNIT_TEST(never)
{
	assert_opening_fails(close_always, LONG_NS, WW_ERR_NO_BROKER);
}

static void say_other_version(struct stand_in *self)
{
	struct ww_wire_welcome answer = {.version = 97, .least = 97, .most = 99};
	int peer = stand_in_accept_raw(self);

	stand_in_send(peer, welcome, &answer, stand_in_take_serial(peer, WW_WIRE_HELLO), NULL, 0);
	close(peer);
}

static void refuse_version(struct stand_in *self)
{
	int peer = stand_in_accept_raw(self);

	stand_in_refuse(peer, stand_in_take_serial(peer, WW_WIRE_HELLO), WW_ERR_VERSION,
		"I speak 97 to 99");
	close(peer);
}

UNIT_TEST(versions)
{
	assert_opening_fails(say_other_version, LONG_NS, WW_ERR_VERSION);
	assert_opening_fails(refuse_version, LONG_NS, WW_ERR_VERSION);
	assert_string_equal(ww_error_last()->message, "I speak 97 to 99");
}

/* Before it has read anything: too many connections. */
static void refuse_at_once(struct stand_in *self)
{
	int peer = stand_in_accept_raw(self);

	stand_in_refuse(peer, 0, WW_ERR_QUOTA, "too many\nconnections\x1b[31m");
	close(peer);
}

UNIT_TEST(refused)
{
	assert_opening_fails(refuse_at_once, LONG_NS, WW_ERR_QUOTA);
	assert_string_equal(ww_error_last()->message, "too many?connections?[31m");
}

static void say_garbage(struct stand_in *self)
{
	static const char garbage[] = "220 mailbox.example.org ESMTP";
	int peer = stand_in_accept_raw(self);

	assert_ok(ww_packet_send(peer, garbage, sizeof(garbage), NULL, 0));
	close(peer);
}

static void say_nonsense(struct stand_in *self)
{
	int peer = stand_in_accept_raw(self);

	stand_in_done(peer, stand_in_take_serial(peer, WW_WIRE_HELLO));
	close(peer);
}

static void refuse_by_no_status(struct stand_in *self)
{
	int peer = stand_in_accept_raw(self);

	stand_in_refuse(peer, stand_in_take_serial(peer, WW_WIRE_HELLO), -4711, "no");
	close(peer);
}

UNIT_TEST(no_broker)
{
	assert_opening_fails(say_garbage, LONG_NS, WW_ERR_PROTOCOL);
	assert_opening_fails(say_nonsense, LONG_NS, WW_ERR_PROTOCOL);
	assert_opening_fails(refuse_by_no_status, LONG_NS, WW_ERR_PROTOCOL);
}

static void stay_silent(struct stand_in *self)
{
	int peer = stand_in_accept_raw(self);

	stand_in_take_serial(peer, WW_WIRE_HELLO);
	stand_in_finish_peer(peer);
}

UNIT_TEST(silence)
{
	assert_opening_fails(stay_silent, SOON_NS, WW_ERR_NO_BROKER);
}

UNIT_MAIN("connection")
