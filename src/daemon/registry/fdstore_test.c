/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fdstore_test.c - what the fdstore says to a supervisor, and what it finds after a restart
 *
 * The test is the supervisor: it holds the other end of the socket and reads what was said.
 */
#include "base/unit_test.h"

#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "daemon/supervisor/supervisor.h"
#include "daemon/registry/fdstore.h"
#include "wire/packet.h"

#define FIRST 200
#define LIMIT 264

struct fixture {
	struct fdstore fdstore;
	int supervisor; /* our end */
	int broker;     /* the fdstore's */
	int file;       /* something to keep */
};

static int fixture_start(void **state)
{
	static struct fixture fixture;
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -1;
	fixture.supervisor = pair[0];
	fixture.broker = pair[1];
	fixture.file = open("/dev/null", O_RDWR | O_CLOEXEC);
	*state = &fixture;
	return fdstore_open(&fixture.fdstore, fixture.broker, FIRST, LIMIT);
}

static int fixture_stop(void **state)
{
	struct fixture *fixture = *state;

	fdstore_close(&fixture->fdstore);
	ww_fd_close(fixture->supervisor);
	ww_fd_close(fixture->broker);
	ww_fd_close(fixture->file);
	return close_range(FIRST, LIMIT, 0);
}

static bool is_open(uint32_t number)
{
	return fcntl((int)number, F_GETFD) >= 0;
}

/* The next message, which must be this; its descriptors are closed again. */
static void supervisor_must_receive(struct fixture *fixture, uint32_t what, uint32_t count,
	uint32_t first, size_t fd_count)
{
	struct supervisor_message message;
	size_t bytes;
	int fds[WW_PACKET_FDS];
	size_t got;

	assert_ok(ww_packet_receive(fixture->supervisor, &message, sizeof(message), &bytes, fds,
		&got));
	assert_int_equal(bytes, sizeof(message));
	assert_int_equal(message.what, what);
	assert_int_equal(message.count, count);
	assert_int_equal(message.numbers[0], first);
	assert_int_equal(got, fd_count);
	while (got > 0)
		ww_fd_close(fds[--got]);
}

static void hear_nothing(struct fixture *fixture)
{
	char byte;

	assert_int_equal(recv(fixture->supervisor, &byte, 1, MSG_DONTWAIT), -1);
}

/* A fdstore with nothing in it. */
static void fdstore_begin(struct fixture *fixture)
{
	assert_ok(fdstore_adopted(&fixture->fdstore));
	supervisor_must_receive(fixture, SUPERVISOR_DROP_RANGE, 2, FIRST, 0);
}

static void fdstore_must_keep(struct fixture *fixture, size_t count, uint32_t *out_numbers)
{
	int fds[8];

	for (size_t i = 0; i < 8; i++)
		fds[i] = fixture->file;
	assert_ok(fdstore_keep(&fixture->fdstore, fds, count, out_numbers));
}

#define FDSTORE_TEST(name) UNIT_TEST_ON(name, fixture_start, fixture_stop, struct fixture *fixture)

FDSTORE_TEST(kept_here_and_there)
{
	uint32_t numbers[8];

	fdstore_begin(fixture);
	fdstore_must_keep(fixture, 3, numbers);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(numbers[i], FIRST + i);
		assert_int_equal(fcntl((int)numbers[i], F_GETFD), 0); /* survives exec */
	}
	assert_int_equal(fixture->fdstore.used, 3);
	supervisor_must_receive(fixture, SUPERVISOR_KEEP, 3, FIRST, 3);
	fdstore_must_keep(fixture, 8, numbers);
	assert_int_equal(numbers[7], FIRST + 10);
	supervisor_must_receive(fixture, SUPERVISOR_KEEP, 8, FIRST + 3, 8);
	assert_true(is_open((uint32_t)fixture->file));
}

FDSTORE_TEST(dropped_here_and_there)
{
	uint32_t numbers[16];

	fdstore_begin(fixture);
	fdstore_must_keep(fixture, 8, numbers);
	fdstore_must_keep(fixture, 8, numbers + 8);
	supervisor_must_receive(fixture, SUPERVISOR_KEEP, 8, FIRST, 8);
	supervisor_must_receive(fixture, SUPERVISOR_KEEP, 8, FIRST + 8, 8);
	fdstore_drop(&fixture->fdstore, numbers + 2, 10);
	supervisor_must_receive(fixture, SUPERVISOR_DROP, 8, FIRST + 2, 0);
	supervisor_must_receive(fixture, SUPERVISOR_DROP, 2, FIRST + 10, 0);
	for (uint32_t i = 0; i < 16; i++)
		assert_int_equal(is_open(FIRST + i), i < 2 || i >= 12);
	assert_int_equal(fixture->fdstore.used, 6);
	/* They are given out again before new ones. */
	fdstore_must_keep(fixture, 8, numbers);
	assert_in_range(numbers[0], FIRST + 2, FIRST + 11);
	fdstore_must_keep(fixture, 3, numbers);
	assert_in_range(numbers[1], FIRST + 2, FIRST + 11);
	assert_int_equal(numbers[2], FIRST + 16);
}

FDSTORE_TEST(no_number_left)
{
	uint32_t numbers[LIMIT - FIRST];
	int fd = fixture->file;
	uint32_t one;

	fdstore_begin(fixture);
	for (uint32_t i = 0; i < LIMIT - FIRST; i += 8) {
		fdstore_must_keep(fixture, 8, numbers + i);
		supervisor_must_receive(fixture, SUPERVISOR_KEEP, 8, FIRST + i, 8);
	}
	assert_fails(fdstore_keep(&fixture->fdstore, &fd, 1, &one), WW_ERR_LIMIT);
	assert_true(is_open(LIMIT - 1));
	fdstore_drop(&fixture->fdstore, numbers + 9, 1);
	fdstore_must_keep(fixture, 1, &one);
	assert_int_equal(one, FIRST + 9);
}

FDSTORE_TEST(nothing_is_kept_of_what_fails)
{
	int fds[3] = {fixture->file, fixture->file, -1};
	uint32_t numbers[3];

	fdstore_begin(fixture);
	assert_fails(fdstore_keep(&fixture->fdstore, fds, 3, numbers), WW_ERR_DESCRIPTOR);
	assert_false(is_open(FIRST));
	hear_nothing(fixture);
	fixture->supervisor = ww_fd_close(fixture->supervisor);
	assert_fails(fdstore_keep(&fixture->fdstore, fds, 2, numbers), WW_ERR_PEER_LOST);
	assert_false(is_open(FIRST));
	assert_false(is_open(FIRST + 1));
	assert_int_equal(fixture->fdstore.used, 0);
}

FDSTORE_TEST(a_lost_supervisor_stops_no_drop)
{
	uint32_t numbers[2];

	fdstore_begin(fixture);
	fdstore_must_keep(fixture, 2, numbers);
	fixture->supervisor = ww_fd_close(fixture->supervisor);
	fdstore_drop(&fixture->fdstore, numbers, 2);
	assert_false(is_open(FIRST));
	assert_int_equal(fixture->fdstore.used, 0);
}

/* As a former broker left it: descriptors under these numbers. */
static void broker_leave(struct fixture *fixture, const uint32_t *numbers, size_t count)
{
	for (size_t i = 0; i < count; i++)
		assert_int_equal(dup2(fixture->file, (int)numbers[i]), numbers[i]);
}

FDSTORE_TEST(adopted_after_a_restart)
{
	const uint32_t left[] = {FIRST, FIRST + 1, FIRST + 4, FIRST + 6, FIRST + 9, FIRST + 40};
	const uint32_t free_ones[] = {1, 2, 3, 5, 6, 7, 8, 10};
	uint32_t numbers[8];

	broker_leave(fixture, left, 6);
	assert_ok(fdstore_adopt(&fixture->fdstore, FIRST + 9));
	assert_ok(fdstore_adopt(&fixture->fdstore, FIRST));
	assert_ok(fdstore_adopt(&fixture->fdstore, FIRST + 4));
	assert_ok(fdstore_adopted(&fixture->fdstore));
	assert_int_equal(fixture->fdstore.used, 3);
	supervisor_must_receive(fixture, SUPERVISOR_DROP_RANGE, 2, FIRST + 5, 0);
	supervisor_must_receive(fixture, SUPERVISOR_DROP_RANGE, 2, FIRST + 1, 0);
	supervisor_must_receive(fixture, SUPERVISOR_DROP_RANGE, 2, FIRST + 10, 0);
	hear_nothing(fixture);
	for (uint32_t i = 0; i < LIMIT - FIRST; i++)
		assert_int_equal(is_open(FIRST + i), i == 0 || i == 4 || i == 9);
	/* The free numbers, the lowest first. */
	fdstore_must_keep(fixture, 8, numbers);
	for (uint32_t i = 0; i < 8; i++)
		assert_int_equal(numbers[i], FIRST + free_ones[i]);
}

FDSTORE_TEST(clean_gaps_need_no_message)
{
	const uint32_t left[] = {FIRST, FIRST + 3, FIRST + 40};

	broker_leave(fixture, left, 3);
	for (size_t i = 0; i < 3; i++)
		assert_ok(fdstore_adopt(&fixture->fdstore, left[i]));
	assert_ok(fdstore_adopted(&fixture->fdstore));
	/* A wide gap is not looked through. */
	supervisor_must_receive(fixture, SUPERVISOR_DROP_RANGE, 2, FIRST + 4, 0);
	supervisor_must_receive(fixture, SUPERVISOR_DROP_RANGE, 2, FIRST + 41, 0);
	hear_nothing(fixture);
}

FDSTORE_TEST(what_cannot_be_adopted)
{
	const uint32_t left[] = {FIRST};

	broker_leave(fixture, left, 1);
	assert_ok(fdstore_adopt(&fixture->fdstore, FIRST));
	assert_fails(fdstore_adopt(&fixture->fdstore, FIRST), WW_ERR_DESCRIPTOR);
	assert_fails(fdstore_adopt(&fixture->fdstore, FIRST + 1), WW_ERR_DESCRIPTOR);
	assert_fails(fdstore_adopt(&fixture->fdstore, FIRST - 1), WW_ERR_DESCRIPTOR);
	assert_fails(fdstore_adopt(&fixture->fdstore, 0), WW_ERR_DESCRIPTOR);
	assert_fails(fdstore_adopt(&fixture->fdstore, LIMIT), WW_ERR_DESCRIPTOR);
	assert_fails(fdstore_adopt(&fixture->fdstore, UINT32_MAX), WW_ERR_DESCRIPTOR);
	assert_int_equal(fixture->fdstore.used, 1);
}

#define MANY 2000

/* A supervisor that begins to read only when its socket is full. */
static void *read_late(void *argument)
{
	struct fixture *fixture = argument;
	struct supervisor_message message;
	uintptr_t count = 0;

	while (recv(fixture->supervisor, &message, sizeof(message), 0) ==
			(ssize_t)sizeof(message) &&
		message.what != SUPERVISOR_READY)
		count += message.what == SUPERVISOR_KEEP;
	return (void *)count;
}

FDSTORE_TEST(keeping_waits_for_a_slow_supervisor)
{
	const struct supervisor_message end = {.what = SUPERVISOR_READY};
	pthread_t reader;
	void *count = NULL;
	char byte[sizeof(struct supervisor_message)] = {0};
	size_t filled = 0;

	fdstore_begin(fixture);
	while (send(fixture->broker, byte, sizeof(byte), MSG_DONTWAIT) > 0)
		filled++;
	assert_true(filled > 0);
	assert_int_equal(pthread_create(&reader, NULL, read_late, fixture), 0);
	for (int i = 0; i < MANY; i++) {
		uint32_t number;

		fdstore_must_keep(fixture, 1, &number);
		fdstore_drop(&fixture->fdstore, &number, 1);
	}
	assert_int_equal(send(fixture->broker, &end, sizeof(end), 0), sizeof(end));
	pthread_join(reader, &count);
	assert_int_equal((uintptr_t)count, MANY);
}

UNIT_MAIN("fdstore")
