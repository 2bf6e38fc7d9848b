/* SPDX-License-Identifier: Apache-2.0 */
/*
 * packet_test.c - packets with descriptors: honest, hostile, and when something runs out
 */
#include "base/unit_test.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "wire/packet.h"

#ifndef SO_PASSPIDFD
#define SO_PASSPIDFD 76
#endif

#define ROOM     256
#define SURPLUS  4
#define FDS_MOST (WW_PACKET_FDS + SURPLUS)

/* A connected pair, a pipe to pass on, and what was received last. */
struct fixture {
	int a;
	int b;
	int pipe[2];
	char bytes[ROOM];
	size_t count;
	int fds[WW_PACKET_FDS];
	size_t fd_count;
};

static int set_up(void **state)
{
	static struct fixture fixture;
	int pair[2];

	memset(&fixture, 0, sizeof(fixture));
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	assert_int_equal(pipe2(fixture.pipe, O_CLOEXEC), 0);
	fixture.a = pair[0];
	fixture.b = pair[1];
	*state = &fixture;
	return 0;
}

static void close_received(struct fixture *f)
{
	for (size_t i = 0; i < f->fd_count; i++)
		close(f->fds[i]);
	f->fd_count = 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	close_received(f);
	close(f->a);
	close(f->b);
	close(f->pipe[0]);
	close(f->pipe[1]);
	return 0;
}

static ww_status receive(struct fixture *f)
{
	return ww_packet_receive(f->b, f->bytes, sizeof(f->bytes), &f->count, f->fds, &f->fd_count);
}

/* Bytes with @fd_count duplicates of the pipe, as many as the kernel takes. */
static void send_raw(const struct fixture *f, const void *bytes, size_t count, size_t fd_count)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(FDS_MOST * sizeof(int))];
	} control = {.bytes = {0}};
	struct iovec part = {(void *)bytes, count};
	struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};
	int copies[FDS_MOST];

	if (fd_count > 0) {
		struct cmsghdr *item = &control.header;

		header.msg_control = control.bytes;
		header.msg_controllen = CMSG_SPACE(fd_count * sizeof(int));
		item->cmsg_level = SOL_SOCKET;
		item->cmsg_type = SCM_RIGHTS;
		item->cmsg_len = CMSG_LEN(fd_count * sizeof(int));
		for (size_t i = 0; i < FDS_MOST; i++)
			copies[i] = f->pipe[0];
		memcpy(CMSG_DATA(item), copies, fd_count * sizeof(int));
	}
	assert_int_equal(sendmsg(f->a, &header, MSG_NOSIGNAL), count);
}

static int lowest_free(const struct fixture *f)
{
	int fd = fcntl(f->pipe[0], F_DUPFD_CLOEXEC, 0);

	assert_true(fd >= 0);
	close(fd);
	return fd;
}

static bool is_pipe(const struct fixture *f, int fd)
{
	struct stat sent;
	struct stat got;

	assert_int_equal(fstat(f->pipe[0], &sent), 0);
	assert_int_equal(fstat(fd, &got), 0);
	return sent.st_ino == got.st_ino && sent.st_dev == got.st_dev;
}

static void switch_on(int socket, int option)
{
	int on = 1;

	assert_int_equal(setsockopt(socket, SOL_SOCKET, option, &on, sizeof(on)), 0);
}

#define PACKET_TEST(name) UNIT_TEST_ON(name, set_up, tear_down, struct fixture *f)

PACKET_TEST(carries_bytes_and_descriptors)
{
	const int fds[WW_PACKET_FDS] = {f->pipe[0], f->pipe[0], f->pipe[0], f->pipe[0], f->pipe[0],
		f->pipe[0], f->pipe[0], f->pipe[0]};

	for (size_t fd_count = 0; fd_count <= WW_PACKET_FDS; fd_count++) {
		assert_ok(ww_packet_send(f->a, "hello", 5, fds, fd_count));
		assert_ok(receive(f));
		assert_int_equal(f->count, 5);
		assert_memory_equal(f->bytes, "hello", 5);
		assert_int_equal(f->fd_count, fd_count);
		for (size_t i = 0; i < fd_count; i++) {
			assert_true(is_pipe(f, f->fds[i]));
			assert_true(fcntl(f->fds[i], F_GETFD) & FD_CLOEXEC);
		}
		close_received(f);
	}
}

PACKET_TEST(keeps_packets_apart)
{
	assert_ok(ww_packet_send(f->a, "one", 3, &f->pipe[0], 1));
	assert_ok(ww_packet_send(f->a, "three", 5, NULL, 0));
	assert_ok(receive(f));
	assert_int_equal(f->count, 3);
	assert_int_equal(f->fd_count, 1);
	close_received(f);
	assert_ok(receive(f));
	assert_int_equal(f->count, 5);
	assert_int_equal(f->fd_count, 0);
}

PACKET_TEST(never_waits)
{
	static const char bytes[1024];
	ww_status status;

	assert_int_equal(receive(f), WW_NOT_READY);
	assert_int_equal(f->fd_count, 0);
	do {
		status = ww_packet_send(f->a, bytes, sizeof(bytes), NULL, 0);
	} while (status == WW_OK);
	assert_int_equal(status, WW_NOT_READY);
}

PACKET_TEST(sees_the_end)
{
	assert_ok(ww_packet_send(f->a, "last", 4, NULL, 0));
	close(f->a);
	f->a = -1;
	assert_ok(receive(f));
	assert_int_equal(f->count, 4);
	assert_int_equal(receive(f), WW_END);
	assert_int_equal(receive(f), WW_END);
	assert_fails(ww_packet_send(f->b, "x", 1, NULL, 0), WW_ERR_PEER_LOST);
}

PACKET_TEST(reads_what_came_before_a_reset)
{
	assert_ok(ww_packet_send(f->b, "never read", 10, NULL, 0));
	assert_ok(ww_packet_send(f->a, "last", 4, NULL, 0));
	close(f->a);
	f->a = -1;
	assert_ok(receive(f));
	assert_memory_equal(f->bytes, "last", 4);
	assert_int_equal(receive(f), WW_END);
}

PACKET_TEST(a_reset_is_the_end)
{
	assert_ok(ww_packet_send(f->b, "never read", 10, NULL, 0));
	close(f->a);
	f->a = -1;
	assert_int_equal(receive(f), WW_END);
}

PACKET_TEST(refuses_what_is_too_long)
{
	static const char bytes[ROOM + 1];

	send_raw(f, bytes, ROOM, 0);
	assert_ok(receive(f));
	assert_int_equal(f->count, ROOM);
	send_raw(f, bytes, ROOM + 1, 2);
	assert_fails(receive(f), WW_ERR_PROTOCOL);
	assert_int_equal(f->count, 0);
	assert_int_equal(f->fd_count, 2);
}

PACKET_TEST(refuses_what_is_empty)
{
	send_raw(f, "", 0, 0);
	assert_fails(receive(f), WW_ERR_PROTOCOL);
	send_raw(f, "", 0, 1);
	assert_fails(receive(f), WW_ERR_PROTOCOL);
	assert_int_equal(f->fd_count, 1);
	assert_true(is_pipe(f, f->fds[0]));
}

PACKET_TEST(refuses_surplus_descriptors)
{
	int lowest = lowest_free(f);

	for (size_t fd_count = WW_PACKET_FDS + 1; fd_count <= FDS_MOST; fd_count++) {
		send_raw(f, "many", 4, fd_count);
		assert_fails(receive(f), WW_ERR_PROTOCOL);
		assert_int_equal(f->count, 0);
		assert_int_equal(f->fd_count, WW_PACKET_FDS);
		close_received(f);
		assert_int_equal(lowest_free(f), lowest);
	}
	assert_ok(ww_packet_send(f->a, "next", 4, NULL, 0));
	assert_ok(receive(f));
}

PACKET_TEST(says_when_descriptors_run_out)
{
	struct rlimit before;
	struct rlimit few;

	send_raw(f, "three", 5, 3);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	few = before;
	few.rlim_cur = (rlim_t)lowest_free(f) + 1;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	assert_fails(receive(f), WW_ERR_LIMIT);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(f->count, 0);
	assert_int_equal(f->fd_count, 1);
	assert_true(is_pipe(f, f->fds[0]));
}

/*
 * The limit counts what all processes of a user have in flight, and binds those without privileges.
 */
PACKET_TEST(says_when_too_many_are_in_flight)
{
	bool is_root = geteuid() == 0;
	struct rlimit before;
	struct rlimit few;
	ww_status status;
	size_t sent = 0;

	if (is_root && seteuid(65534) < 0)
		UNIT_SKIP("there is no other user to be");
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	few = before;
	few.rlim_cur = 16;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	do {
		status = ww_packet_send(f->a, "x", 1, f->pipe, 2);
	} while (status == WW_OK && ++sent < 16);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	if (is_root)
		assert_int_equal(seteuid(0), 0);
	assert_fails(status, WW_ERR_LIMIT);
	assert_in_range(sent, 0, 9);
}

PACKET_TEST(keeps_off_the_standard_streams)
{
	int saved = fcntl(0, F_DUPFD_CLOEXEC, 3);

	assert_ok(ww_packet_send(f->a, "x", 1, f->pipe, 1));
	close(0);
	assert_ok(receive(f));
	assert_int_equal(f->fd_count, 1);
	assert_in_range(f->fds[0], 3, 1 << 20);
	assert_true(is_pipe(f, f->fds[0]));
	assert_int_equal(fcntl(0, F_GETFD), -1);
	if (saved >= 0) {
		assert_int_equal(dup2(saved, 0), 0);
		close(saved);
	}
}

PACKET_TEST(skips_credentials)
{
	switch_on(f->b, SO_PASSCRED);
	assert_ok(ww_packet_send(f->a, "hello", 5, NULL, 0));
	assert_ok(receive(f));
	assert_int_equal(f->count, 5);
	assert_int_equal(f->fd_count, 0);
}

PACKET_TEST(says_when_credentials_took_the_room)
{
	switch_on(f->b, SO_PASSCRED);
	assert_ok(ww_packet_send(f->a, "hello", 5, f->pipe, 2));
	assert_fails(receive(f), WW_ERR_DESCRIPTOR);
	assert_non_null(strstr(ww_error_last()->message, "SO_PASSCRED"));
}

PACKET_TEST(keeps_no_pidfd)
{
	int lowest = lowest_free(f);
	int on = 1;

	if (setsockopt(f->b, SOL_SOCKET, SO_PASSPIDFD, &on, sizeof(on)) < 0)
		UNIT_SKIP("the kernel is older than Linux 6.5");
	assert_ok(ww_packet_send(f->a, "hello", 5, f->pipe, 1));
	assert_ok(receive(f));
	assert_int_equal(f->fd_count, 1);
	assert_true(is_pipe(f, f->fds[0]));
	close_received(f);
	assert_int_equal(lowest_free(f), lowest);
}

PACKET_TEST(names_a_bad_descriptor)
{
	const int closed = 1 << 20;

	assert_fails(ww_packet_send(f->a, "x", 1, &closed, 1), WW_ERR_DESCRIPTOR);
	assert_fails(ww_packet_send(f->pipe[1], "x", 1, NULL, 0), WW_ERR_DESCRIPTOR);
	assert_fails(ww_packet_receive(f->pipe[0], f->bytes, ROOM, &f->count, f->fds, &f->fd_count),
		WW_ERR_DESCRIPTOR);
	assert_int_equal(f->fd_count, 0);
}

UNIT_MAIN("packet")
