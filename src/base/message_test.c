/* SPDX-License-Identifier: Apache-2.0 */
/*
 * message_test.c - messages over Unix sockets, whole, cut and foreign
 */
#include "base/unit_test.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/message.h"

#define BYTES 64

static const int types[] = {SOCK_STREAM, SOCK_SEQPACKET};
#define TYPES 2

struct ends {
	int a;
	int b;
};

static struct ends connect_ends(int type)
{
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, pair), 0);
	return (struct ends){pair[0], pair[1]};
}

static void close_ends(struct ends ends)
{
	ww_fd_close(ends.a);
	ww_fd_close(ends.b);
}

/* Raw bytes with @fd_count copies of descriptor 0. */
static void send_raw(int socket, const void *bytes, size_t count, int fd_count)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(8 * sizeof(int))];
	} control = {.bytes = {0}};
	struct iovec part = {(void *)bytes, count};
	struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};

	if (fd_count > 0) {
		struct cmsghdr *item;

		header.msg_control = control.bytes;
		header.msg_controllen = CMSG_SPACE((size_t)fd_count * sizeof(int));
		item = CMSG_FIRSTHDR(&header);
		item->cmsg_level = SOL_SOCKET;
		item->cmsg_type = SCM_RIGHTS;
		item->cmsg_len = CMSG_LEN((size_t)fd_count * sizeof(int));
		memset(CMSG_DATA(item), 0, (size_t)fd_count * sizeof(int));
	}
	assert_int_equal(sendmsg(socket, &header, MSG_NOSIGNAL), count);
}

static int count_open(void)
{
	int count = 0;

	for (int fd = 0; fd < 256; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

UNIT_TEST(there_and_back)
{
	int before = count_open();

	for (size_t i = 0; i < TYPES; i++) {
		struct ends ends = connect_ends(types[i]);
		char sent[BYTES];
		char got[BYTES];
		int fd;

		memset(sent, 'a' + (int)i, sizeof(sent));
		assert_ok(ww_message_send(ends.a, sent, BYTES, ends.b, 0));
		assert_ok(ww_message_receive(ends.b, got, BYTES, 0, &fd));
		assert_memory_equal(sent, got, BYTES);
		assert_true(ww_fd_is_duplicate(fd, ends.b));
		assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
		ww_fd_close(fd);
		close_ends(ends);
	}
	assert_int_equal(count_open(), before);
}

UNIT_TEST(a_stream_delivers_in_pieces)
{
	struct ends ends = connect_ends(SOCK_STREAM);
	char sent[BYTES];
	char got[BYTES];
	int fd;

	memset(sent, 'p', sizeof(sent));
	send_raw(ends.a, sent, 10, 1);
	send_raw(ends.a, sent + 10, 20, 0);
	send_raw(ends.a, sent + 30, BYTES - 30, 0);
	assert_ok(ww_message_receive(ends.b, got, BYTES, 0, &fd));
	assert_memory_equal(sent, got, BYTES);
	ww_fd_close(fd);
	close_ends(ends);
}

UNIT_TEST(nothing_there)
{
	for (size_t i = 0; i < TYPES; i++) {
		struct ends ends = connect_ends(types[i]);
		char got[BYTES];
		int fd;

		assert_int_equal(ww_message_receive(ends.b, got, BYTES, 0, &fd), WW_TIMED_OUT);
		assert_int_equal(ww_message_receive(ends.b, got, BYTES,
					 ww_clock_deadline_ns(1000000), &fd),
			WW_TIMED_OUT);
		assert_int_equal(fd, -1);
		close_ends(ends);
	}
}

UNIT_TEST(cut_short)
{
	int before = count_open();

	for (size_t i = 0; i < TYPES; i++) {
		struct ends ends = connect_ends(types[i]);
		char bytes[BYTES] = {0};
		int fd;

		send_raw(ends.a, bytes, BYTES - 1, 1);
		/* On a stream the rest might come: the time ends that. */
		assert_fails(ww_message_receive(ends.b, bytes, BYTES, 0, &fd), WW_ERR_TRUNCATED);
		assert_int_equal(fd, -1);
		close_ends(ends);
	}
	assert_int_equal(count_open(), before);
}

UNIT_TEST(closed)
{
	for (size_t i = 0; i < TYPES; i++) {
		struct ends ends = connect_ends(types[i]);
		char bytes[BYTES] = {0};
		int fd;

		ww_fd_close(ends.a);
		assert_fails(ww_message_receive(ends.b, bytes, BYTES, WW_NEVER, &fd),
			WW_ERR_PEER_LOST);
		assert_fails(ww_message_send(ends.b, bytes, BYTES, 0, WW_NEVER), WW_ERR_PEER_LOST);
		ww_fd_close(ends.b);
	}
}

UNIT_TEST(too_long)
{
	int before = count_open();

	for (size_t i = 1; i < TYPES; i++) { /* a stream has no messages */
		struct ends ends = connect_ends(types[i]);
		char bytes[BYTES + 1] = {0};
		int fd;

		send_raw(ends.a, bytes, sizeof(bytes), 1);
		assert_fails(ww_message_receive(ends.b, bytes, BYTES, 0, &fd), WW_ERR_PROTOCOL);
		close_ends(ends);
	}
	assert_int_equal(count_open(), before);
}

UNIT_TEST(wrong_count_of_descriptors)
{
	static const int counts[] = {0, 2, 3, 8};
	int before = count_open();

	for (size_t i = 0; i < 4 * TYPES; i++) {
		struct ends ends = connect_ends(types[i % TYPES]);
		char bytes[BYTES] = {0};
		int fd;

		send_raw(ends.a, bytes, BYTES, counts[i / TYPES]);
		assert_fails(ww_message_receive(ends.b, bytes, BYTES, 0, &fd), WW_ERR_PROTOCOL);
		assert_int_equal(fd, -1);
		close_ends(ends);
	}
	assert_int_equal(count_open(), before);
}

UNIT_TEST(full)
{
	struct ends ends = connect_ends(SOCK_SEQPACKET);
	char bytes[BYTES] = {0};
	ww_status status;
	int sent = 0;
	int fd;

	while ((status = ww_message_send(ends.a, bytes, BYTES, 0, 0)) == WW_OK)
		sent++;
	/*
	 * Either the queue has no room or the kernel's limit on descriptors in flight is reached.
	 */
	assert_true(status == WW_TIMED_OUT || status == WW_ERR_LIMIT);
	for (int i = 0; i < sent; i++) {
		assert_ok(ww_message_receive(ends.b, bytes, BYTES, 0, &fd));
		ww_fd_close(fd);
	}
	assert_ok(ww_message_send(ends.a, bytes, BYTES, 0, 0));
	close_ends(ends);
}

/* The kernel puts the sender's identity before the descriptor. */
UNIT_TEST(credentials_come_first)
{
	int on = 1;

	for (size_t i = 0; i < TYPES; i++) {
		struct ends ends = connect_ends(types[i]);
		char bytes[BYTES] = {0};
		int fd;

		assert_int_equal(setsockopt(ends.b, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)), 0);
		assert_ok(ww_message_send(ends.a, bytes, BYTES, ends.a, 0));
		assert_ok(ww_message_receive(ends.b, bytes, BYTES, 0, &fd));
		ww_fd_close(fd);
		close_ends(ends);
	}
}

/* The sender goes without having read what we sent it: its message is there all the same. */
UNIT_TEST(the_last_word_is_heard)
{
	for (size_t i = 0; i < TYPES; i++) {
		struct ends ends = connect_ends(types[i]);
		char bytes[BYTES] = {0};
		int fd;

		send_raw(ends.b, "unread", 6, 0);
		assert_ok(ww_message_send(ends.a, bytes, BYTES, ends.a, 0));
		ww_fd_close(ends.a);
		assert_ok(ww_message_receive(ends.b, bytes, BYTES, 0, &fd));
		ww_fd_close(fd);
		assert_fails(ww_message_receive(ends.b, bytes, BYTES, 0, &fd), WW_ERR_PEER_LOST);
		ww_fd_close(ends.b);
	}
}

UNIT_TEST(an_empty_packet_is_no_end)
{
	struct ends ends = connect_ends(SOCK_SEQPACKET);
	char bytes[BYTES] = {0};
	int fd;

	send_raw(ends.a, bytes, 0, 0);
	assert_fails(ww_message_receive(ends.b, bytes, BYTES, 0, &fd), WW_ERR_TRUNCATED);
	assert_ok(ww_message_send(ends.a, bytes, BYTES, ends.a, 0));
	assert_ok(ww_message_receive(ends.b, bytes, BYTES, 0, &fd));
	ww_fd_close(fd);
	close_ends(ends);
}

UNIT_TEST(no_unix_socket)
{
	int tcp = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int unconnected = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct ends datagrams = connect_ends(SOCK_DGRAM);
	char bytes[BYTES] = {0};
	int fd;

	assert_fails(ww_message_send(-1, bytes, BYTES, 0, 0), WW_ERR_DESCRIPTOR);
	assert_fails(ww_message_send(null, bytes, BYTES, 0, 0), WW_ERR_DESCRIPTOR);
	assert_fails(ww_message_send(tcp, bytes, BYTES, 0, 0), WW_ERR_DESCRIPTOR);
	assert_fails(ww_message_send(unconnected, bytes, BYTES, 0, 0), WW_ERR_DESCRIPTOR);
	assert_fails(ww_message_receive(null, bytes, BYTES, 0, &fd), WW_ERR_DESCRIPTOR);
	assert_fails(ww_message_receive(tcp, bytes, BYTES, 0, &fd), WW_ERR_DESCRIPTOR);
	assert_fails(ww_message_receive(unconnected, bytes, BYTES, 0, &fd), WW_ERR_DESCRIPTOR);
	assert_fails(ww_message_send(datagrams.a, bytes, BYTES, 0, 0), WW_ERR_DESCRIPTOR);
	assert_fails(ww_message_receive(datagrams.b, bytes, BYTES, 0, &fd), WW_ERR_DESCRIPTOR);
	close_ends(datagrams);
	ww_fd_close(null);
	ww_fd_close(unconnected);
	ww_fd_close(tcp);
}

UNIT_MAIN("message")
