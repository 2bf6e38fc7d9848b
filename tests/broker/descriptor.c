/* SPDX-License-Identifier: Apache-2.0 */
/*
 * descriptor.c - descriptors that come with messages: too many, unasked for, of the wrong type
 */
#include "broker/suite.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define MANY 253 /* the most that one message carries (SCM_MAX_FD) */

/* Sends a packet with more descriptors than our own code would. */
static void send_with(struct raw *raw, const void *packet, size_t bytes, int fd, size_t count)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(MANY * sizeof(int))];
	} control = {.bytes = {0}};
	struct iovec part = {(void *)packet, bytes};
	struct msghdr message = {.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = CMSG_SPACE(count * sizeof(int))};

	control.header.cmsg_level = SOL_SOCKET;
	control.header.cmsg_type = SCM_RIGHTS;
	control.header.cmsg_len = CMSG_LEN(count * sizeof(int));
	for (size_t i = 0; i < count; i++)
		memcpy(CMSG_DATA(&control.header) + i * sizeof(int), &fd, sizeof(fd));
	MUST_EQUAL(bytes, sendmsg(raw->socket, &message, MSG_NOSIGNAL));
}

/* A put whose header says this many. */
static size_t encode(uint8_t packet[1024], uint16_t fd_count)
{
	const struct ww_wire_header header = {.serial = 5, .fd_count = fd_count};
	struct ww_wire_put put = raw_object("described");

	memset(put.fd_access, 3, fd_count < WW_WIRE_FDS ? fd_count : WW_WIRE_FDS);
	return ww_wire_encode_put(&put, WW_WIRE_VERSION, &header, packet, 1024);
}

static void must_break(struct raw *raw, const char *word)
{
	MUST_OK(raw_receive(raw));
	MUST_REFUSE(WW_ERR_PROTOCOL, word, raw_refusal(raw));
	raw_must_be_closed(raw);
}

void descriptor_count(void)
{
	static const struct {
		uint16_t said;
		size_t sent;
	} counts[] = {{9, 9}, {8, 9}, {0, 9}, {MANY, MANY}, {8, MANY}, {0, MANY}, {0, 1}, {1, 2},
		{8, 7}, {2, 1}};
	int fd = raw_memory(4096);
	uint8_t packet[1024];
	struct raw *raw;
	size_t bytes;

	for (size_t i = 0; i < CHECK_COUNT(counts); i++) {
		raw = peer();
		bytes = encode(packet, counts[i].said);
		if (bytes == 0) { /* the encoder would not write such a number */
			bytes = encode(packet, 8);
			memcpy(packet + 2, &counts[i].said, sizeof(counts[i].said));
		}
		send_with(raw, packet, bytes, fd, counts[i].sent);
		must_break(raw, "");
	}
	/* None at all where the header says one. */
	raw = peer();
	MUST_OK(raw_send(raw, packet, encode(packet, 1), NULL, 0));
	must_break(raw, "");
	close(fd);
}

/* With messages that take none, and over and over again. */
void descriptor_flood(void)
{
	int fd = raw_memory(4096);
	int files[WW_WIRE_FDS];
	struct raw *raw = peer();
	struct ww_wire_hello hello = raw_greeting(raw);
	const struct ww_wire_status status = {0};
	struct ww_wire_put put = raw_object("flood");
	uint8_t packet[1024];
	const struct ww_wire_header header = {.serial = 9};
	size_t bytes = ww_wire_encode_status(&status, WW_WIRE_VERSION, &header, packet,
		sizeof(packet));

	for (size_t count = 1; count <= MANY; count += 36) {
		raw = peer();
		send_with(raw, packet, bytes, fd, count);
		must_break(raw, "");
		raw = stranger();
		bytes = ww_wire_encode_hello(&hello, WW_WIRE_VERSION, &header, packet,
			sizeof(packet));
		send_with(raw, packet, bytes, fd, count);
		must_break(raw, "");
	}
	for (size_t i = 0; i < WW_WIRE_FDS; i++)
		MUST_CALL(files[i] = open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
	raw = peer();
	for (int round = 0; round < 500; round++)
		MUST_REFUSE(WW_ERR_DESCRIPTOR, "descriptor 1 of 8",
			raw_put(raw, &put, files, WW_WIRE_FDS));
	for (size_t i = 0; i < WW_WIRE_FDS; i++)
		close(files[i]);
	close(fd);
}

static void refuse(struct raw *raw, int fd)
{
	struct ww_wire_put put = raw_object("refused");
	int fds[2];

	MUST_CALL(fd);
	fds[0] = raw_memory(4096);
	fds[1] = fd;
	MUST_REFUSE(WW_ERR_DESCRIPTOR, "descriptor 1 of 1", raw_put(raw, &put, &fd, 1));
	MUST_REFUSE(WW_ERR_DESCRIPTOR, "descriptor 2 of 2", raw_put(raw, &put, fds, 2));
	close(fds[0]);
	close(fd);
}

static void accept_one(struct raw *raw, int fd)
{
	struct ww_wire_put put = raw_object("accepted");
	struct ww_wire_granted granted;
	struct stat sent;
	struct stat got;

	MUST_CALL(fd);
	MUST_OK(raw_put(raw, &put, &fd, 1));
	MUST_OK(raw_get(raw, "accepted", WW_WIRE_ACCESS_READ, &granted));
	MUST_EQUAL(1, raw->fd_count);
	MUST_CALL(fstat(fd, &sent));
	MUST_CALL(fstat(raw->fds[0], &got));
	MUST_EQUAL(sent.st_ino, got.st_ino);
	MUST_OK(raw_remove(raw, "accepted"));
	close(fd);
}

static int unsealed(unsigned int flags, int seals)
{
	int fd = memfd_create("unsealed", flags);

	MUST_CALL(fd);
	if (seals)
		MUST_CALL(fcntl(fd, F_ADD_SEALS, seals));
	return fd;
}

void descriptor_types(void)
{
	struct raw *raw = peer();
	int pair[2];
	int fd;

	refuse(raw, open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
	refuse(raw, open("/proc/self/stat", O_RDONLY | O_CLOEXEC));
	refuse(raw, open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	refuse(raw, open("/", O_PATH | O_CLOEXEC));
	refuse(raw, open("/proc/self/exe", O_PATH | O_CLOEXEC));
	refuse(raw, open("/dev/null", O_PATH | O_CLOEXEC));
	refuse(raw, socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
	MUST_CALL(pipe2(pair, O_CLOEXEC));
	refuse(raw, pair[0]);
	refuse(raw, pair[1]);
	/* Its own connection, and the keeper's idea of memory: what can grow unseen is charged to nobody. */
	refuse(raw, fcntl(raw->socket, F_DUPFD_CLOEXEC, 0));
	refuse(raw, unsealed(MFD_CLOEXEC, 0));
	refuse(raw, unsealed(MFD_CLOEXEC | MFD_ALLOW_SEALING, 0));
	refuse(raw, unsealed(MFD_CLOEXEC | MFD_ALLOW_SEALING, F_SEAL_SHRINK));
	accept_one(raw, unsealed(MFD_CLOEXEC | MFD_ALLOW_SEALING, F_SEAL_GROW));
	fd = raw_memory(4096);
	refuse(raw, open("/dev/shm", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
	accept_one(raw, fd);
	accept_one(raw, eventfd(0, EFD_CLOEXEC));
	accept_one(raw, open("/dev/null", O_RDWR | O_CLOEXEC));
}

/* Readers are given what is for readers. */
void descriptor_access(void)
{
	struct raw *maker = peer();
	struct raw *other = peer();
	struct ww_wire_put put = raw_object("parts");
	struct ww_wire_granted granted;
	int fds[WW_WIRE_FDS];
	struct stat file;

	put.state = WW_WIRE_STATE_SHARED;
	for (size_t i = 0; i < WW_WIRE_FDS; i++) {
		fds[i] = raw_memory(4096 * (i + 1));
		put.fd_access[i] = (uint8_t)(1 + i % 3);
	}
	MUST_OK(raw_put(maker, &put, fds, WW_WIRE_FDS));
	MUST_OK(raw_get(other, "parts", WW_WIRE_ACCESS_READ, &granted));
	MUST_EQUAL(5, other->fd_count); /* 1, 3, 1, 3, 1 */
	MUST_CALL(fstat(other->fds[1], &file));
	MUST_EQUAL(4096 * 3, file.st_size);
	MUST_OK(raw_get(other, "parts", WW_WIRE_ACCESS_WRITE, &granted));
	MUST_EQUAL(5, other->fd_count); /* 2, 3, 2, 3, 2 */
	MUST_CALL(fstat(other->fds[0], &file));
	MUST_EQUAL(4096 * 2, file.st_size);
	for (size_t i = 0; i < WW_WIRE_FDS; i++)
		close(fds[i]);
	put = raw_object("parts/none");
	put.fd_access[0] = 5;
	fds[0] = raw_memory(4096);
	MUST_REFUSE(WW_ERR_INVALID, "fd_access", raw_put(maker, &put, fds, 1));
	put.fd_access[0] = 1;
	put.fd_access[1] = 1;
	MUST_REFUSE(WW_ERR_INVALID, "fd_access", raw_put(maker, &put, fds, 1));
	close(fds[0]);
}

/* Whatever a client says of its size; and two descriptors of one memory count once. */
void descriptor_bytes_are_the_kernels(void)
{
	struct raw *raw = peer();
	struct ww_wire_put put = raw_object("sized");
	struct ww_wire_entry entry;
	int fds[3];

	fds[0] = raw_memory(1 << 20);
	fds[1] = fcntl(fds[0], F_DUPFD_CLOEXEC, 0);
	fds[2] = raw_memory(1 << 16);
	MUST_CALL(fds[1]);
	put.bytes = 1;
	MUST_OK(raw_put(raw, &put, fds, 3));
	MUST_OK(raw_stat(raw, "sized", &entry));
	MUST_EQUAL((1 << 20) + (1 << 16), entry.bytes);
	MUST_EQUAL(3, entry.fd_count);
	for (size_t i = 0; i < 3; i++)
		close(fds[i]);
}
