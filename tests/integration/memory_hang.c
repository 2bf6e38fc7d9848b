/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory_hang.c - descriptors of files that hang whoever closes them, or asks what they are: the
 * caller does not wait
 *
 * A helper's end waits for what hangs: it is released before.
 */
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <warpway/broker.h>

#include "base/close_async.h"
#include "integration/memory.h"
#include "support/fuse.h"
#include "wire/packet.h"
#include "wire/protocol.h"

#define LIMIT_NS ((uint64_t)child_limit_ms() * 1000000)

/*
 * Starts the helper, which must not inherit the file: its exec would hang. Then the server answers
 * nothing any more.
 * Return: a descriptor of its file.
 */
static int begin(struct fuse *fuse, struct child *child, const char *role,
	const struct child_options *options)
{
	int fd;

	fuse_start(fuse);
	child_start(child, role, options);
	fd = fuse_open(fuse);
	fuse_mute(fuse);
	return fd;
}

static void end(struct fuse *fuse, int fd, struct child *child)
{
	fuse_release(fuse);
	child_tell(child, "end");
	child_finish(child);
	close(fd);
	fuse_stop(fuse);
}

/* --- from another process --- */

static void must_refuse(ww_device *device, ww_status expected, const char *word)
{
	ww_memory *memory;

	MUST_REFUSE(expected, word,
		ww_memory_receive(device, CHILD_SOCKET, NULL, LIMIT_NS, NULL, &memory));
	MUST(!memory);
}

ROLE(role_receive_files)
{
	char *const words[] = {(char *)"true", NULL};
	OWN(device) ww_device *device = subject_open();
	int status;
	pid_t pid;

	must_refuse(device, WW_ERR_DESCRIPTOR, "hang");
	must_refuse(device, WW_ERR_PROTOCOL, "2 descriptors");
	for (int i = 3; i < WW_CLOSE_ASYNC_MAX; i++)
		must_refuse(device, WW_ERR_DESCRIPTOR, "hang");
	must_refuse(device, WW_ERR_LIMIT, "takes no more"); /* of which there is one */
	role_tell("refused");
	role_hear("start");
	MUST_CALL(posix_spawnp(&pid, "true", NULL, NULL, words, environ));
	MUST_EQUAL(pid, waitpid(pid, &status, 0));
	MUST_EQUAL(0, status);
	role_tell("started");
	role_hear("end");
}

CASE(hang_in_received_file, NEEDS_ROOT)
{
	const char bytes[WW_MEMORY_DESCRIPTION_BYTES] = {0};
	struct child child;
	struct fuse fuse;
	int fds[2];

	fds[0] = fds[1] = begin(&fuse, &child, "role_receive_files",
		&(struct child_options){.type = SOCK_SEQPACKET});
	for (int i = 0; i < WW_CLOSE_ASYNC_MAX; i++)
		MUST_OK(ww_packet_send(child.socket, bytes, sizeof(bytes), fds, i == 1 ? 2 : 1));
	child_hear(&child, "refused");
	for (int i = 0; i < WW_CLOSE_ASYNC_MAX; i++)
		fuse_await_flush(&fuse);
	child_tell(&child, "start"); /* a program, which must not hang in it */
	child_hear(&child, "started");
	end(&fuse, fds[0], &child);
}

/* --- from what a token or a user may take for a broker --- */

ROLE(role_open_broker)
{
	ww_broker *broker;

	MUST(count == 1);
	MUST_REFUSE(WW_ERR_PROTOCOL, "descriptors",
		ww_broker_open(WW_PARAMS(struct ww_broker_params, .address = arguments[0]),
			&broker));
	role_tell("refused");
	role_hear("end");
}

static void answer_hello(int listener, int fd)
{
	const struct ww_wire_welcome welcome = {.version = 1, .least = 1, .most = 1};
	struct ww_wire_header header = {.fd_count = 1};
	uint8_t packet[WW_WIRE_PACKET_BYTES];
	OWN(fd) int peer;

	MUST_CALL(peer = accept(listener, NULL, NULL));
	MUST(recv(peer, packet, sizeof(packet), 0) > 0);
	header.serial = 1;
	MUST_OK(ww_packet_send(peer, packet,
		ww_wire_encode_welcome(&welcome, 1, &header, packet, sizeof(packet)), &fd, 1));
}

CASE(hang_in_file_of_broker, NEEDS_ROOT)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	char folder[] = "/tmp/warpway-test-XXXXXX";
	const char *const arguments[] = {name.sun_path, NULL};
	struct child child;
	struct fuse fuse;
	int listener;
	int fd;

	MUST(mkdtemp(folder));
	snprintf(name.sun_path, sizeof(name.sun_path), "%s/s", folder);
	MUST_CALL(listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
	MUST_CALL(bind(listener, (struct sockaddr *)&name, sizeof(name)));
	MUST_CALL(listen(listener, 1));
	fd = begin(&fuse, &child, "role_open_broker",
		&(struct child_options){.arguments = arguments});
	answer_hello(listener, fd);
	child_hear(&child, "refused");
	end(&fuse, fd, &child);
	close(listener);
	unlink(name.sun_path);
	rmdir(folder);
}
