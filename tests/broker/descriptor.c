/* SPDX-License-Identifier: Apache-2.0 */
/*
 * descriptor.c - descriptors that come with messages: too many, unasked for, of the wrong type
 */
#include "broker/suite.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

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

CASE(descriptor_count, 0)
{
	static const struct {
		uint16_t said;
		size_t sent;
	} counts[] = {{9, 9}, {8, 9}, {0, 9}, {RAW_FDS_MOST, RAW_FDS_MOST}, {8, RAW_FDS_MOST},
		{0, RAW_FDS_MOST}, {0, 1}, {1, 2}, {8, 7}, {2, 1}};
	OWN(fd) int fd = raw_memory(4096);
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
		raw_send_same(raw, packet, bytes, fd, counts[i].sent);
		must_break(raw, "");
	}
	/* None at all where the header says one. */
	raw = peer();
	MUST_OK(raw_send(raw, packet, encode(packet, 1), NULL, 0));
	must_break(raw, "");
}

/* With messages that take none, and over and over again. */
CASE(descriptor_flood, 0)
{
	OWN(fd) int fd = raw_memory(4096);
	int files[WW_WIRE_FDS];
	struct raw *raw = peer();
	struct ww_wire_hello hello = raw_greeting(raw);
	const struct ww_wire_status status = {0};
	struct ww_wire_put put = raw_object("flood");
	uint8_t packet[1024];
	const struct ww_wire_header header = {.serial = 9};
	size_t bytes = ww_wire_encode_status(&status, WW_WIRE_VERSION, &header, packet,
		sizeof(packet));

	for (size_t count = 1; count <= RAW_FDS_MOST; count += 36) {
		raw = peer();
		raw_send_same(raw, packet, bytes, fd, count);
		must_break(raw, "");
		raw = attacker();
		bytes = ww_wire_encode_hello(&hello, WW_WIRE_VERSION, &header, packet,
			sizeof(packet));
		raw_send_same(raw, packet, bytes, fd, count);
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
	MUST_OK(raw_end(raw, "accepted"));
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

static void refuse_types(struct raw *raw)
{
	int pair[2];

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
	/*
	 * Its own connection, and the supervisor's idea of memory: what can grow unseen is charged
	 * to nobody.
	 */
	refuse(raw, fcntl(raw->socket, F_DUPFD_CLOEXEC, 0));
	refuse(raw, unsealed(MFD_CLOEXEC, 0));
	refuse(raw, unsealed(MFD_CLOEXEC | MFD_ALLOW_SEALING, 0));
	refuse(raw, unsealed(MFD_CLOEXEC | MFD_ALLOW_SEALING, F_SEAL_SHRINK));
	accept_one(raw, unsealed(MFD_CLOEXEC | MFD_ALLOW_SEALING, F_SEAL_GROW | F_SEAL_WRITE));
	refuse(raw, open("/dev/shm", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
	accept_one(raw, raw_memory(4096));
	refuse(raw, eventfd(0, EFD_CLOEXEC));
	refuse(raw, inotify_init1(IN_CLOEXEC));
	refuse(raw, epoll_create1(EPOLL_CLOEXEC));
	refuse(raw, open("/dev/null", O_RDWR | O_CLOEXEC));
	refuse(raw, open("/dev/zero", O_RDWR | O_CLOEXEC));
}

CASE_CALL(descriptor_types, 0, refuse_types(peer()))

/* By another process, and with the same answers. */
CASE_CALL(descriptor_types_of_another_user, AS_ROOT, refuse_types(peer_of(ALICE, ALICE)))

/* Readers are given what is for readers. */
CASE(descriptor_access, 0)
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
CASE(descriptor_bytes_are_the_kernels, 0)
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

/* An object of one memory file, of which so much lies beyond the end. */
static ww_status put_beyond(struct raw *raw, const char *name, off_t size, off_t allocated)
{
	struct ww_wire_put put = raw_object(name);
	OWN(fd) int fd = unsealed(MFD_CLOEXEC | MFD_ALLOW_SEALING, 0);
	ww_status status;

	MUST_CALL(ftruncate(fd, size));
	MUST_CALL(fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, allocated));
	MUST_CALL(fcntl(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_WRITE));
	status = raw_put(raw, &put, &fd, 1);
	/* From now on nothing can be had there any more. */
	MUST_EQUAL(-1, fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, allocated + (1 << 20)));
	MUST_EQUAL(EPERM, errno);
	return status;
}

CASE(descriptor_bytes_beyond_the_end, ONCE)
{
	struct raw *raw;
	struct ww_wire_entry entry;

	suite_start("[limits]\nhost_bytes = 1M\n", 0);
	raw = peer();
	MUST_REFUSE(WW_ERR_DESCRIPTOR, "beyond its end", put_beyond(raw, "much", 4096, 64 << 20));
	MUST_REFUSE(WW_ERR_QUOTA, "host memory", put_beyond(raw, "more", 4096, (1 << 20) + 4096));
	MUST_OK(put_beyond(raw, "some", 4096, 1 << 19));
	MUST_OK(raw_stat(raw, "some", &entry));
	MUST(entry.bytes >= 1 << 19);
}

/*
 * Put as sealed, or sealed later, with a name or without: no reader is given what it could write
 * by.
 */
CASE(descriptor_of_sealed_is_for_reading, 0)
{
	struct raw *raw = peer();
	struct ww_wire_put put = raw_object("sealed");
	int fds[2] = {raw_memory_writable(4096), raw_memory(4096)};
	int write_sealed = unsealed(MFD_CLOEXEC | MFD_ALLOW_SEALING, F_SEAL_GROW | F_SEAL_WRITE);

	put.fd_access[0] = 2;
	put.fd_access[1] = 1;
	MUST_OK(raw_put(raw, &put, fds, 2)); /* that for writers is given to nobody */
	MUST_OK(raw_end(raw, "sealed"));
	put = raw_object("sealed");
	for (uint8_t access = 1; access <= 3; access += 2) {
		put.fd_access[0] = access;
		MUST_REFUSE(WW_ERR_DESCRIPTOR, "lets them write", raw_put(raw, &put, fds, 1));
	}
	put.state = WW_WIRE_STATE_WRITING;
	MUST_OK(raw_put(raw, &put, fds, 1));
	MUST_REFUSE(WW_ERR_DESCRIPTOR, "lets them write",
		raw_seal(raw, put.id, WW_WIRE_STATE_SEALED));
	MUST_OK(raw_seal(raw, put.id, WW_WIRE_STATE_SHARED));
	MUST_OK(raw_end(raw, "sealed"));
	put = raw_object("");
	put.state = WW_WIRE_STATE_SHARED;
	MUST_OK(raw_put(raw, &put, fds, 1));
	strcpy(put.name, "sealed");
	put.state = WW_WIRE_STATE_SEALED;
	MUST_REFUSE(WW_ERR_DESCRIPTOR, "lets them write", raw_put(raw, &put, fds, 1));
	put = raw_object("sealed");
	MUST_OK(raw_put(raw, &put, &write_sealed, 1));
	close(write_sealed);
	close(fds[0]);
	close(fds[1]);
}
