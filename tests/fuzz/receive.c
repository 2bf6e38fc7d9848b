/* SPDX-License-Identifier: Apache-2.0 */
/*
 * receive.c - fuzzes what ww_memory_receive() takes from a socket, descriptors included
 *
 * Input: one byte that says how to send (below), then the message. The sender closes its end
 * afterwards, so nothing can block. Whatever comes, no descriptor may stay open: the lowest free
 * one must be the same before and after.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <warpway/warpway.h>

#include "fuzz/fuzz.h"
#include "support/forge.h"
#include "support/packet.h"

#define DESCRIPTORS_MAX 7

/* The bits of the first byte. */
enum {
	BY_STREAM = 0x01,
	DESCRIPTORS = 0x0e, /* how many, shifted by one */
	PIPE_FIRST = 0x10,  /* the first descriptor is no memory */
	SEALED = 0x20,
	FOR_READING = 0x40,
	IN_PIECES = 0x80, /* cut in the middle; the second part without descriptors */
};

static struct {
	ww_device *device;
	ww_memory *memory;
	int fd;
	struct ww_memory_description description;
	int pipes[2];
} world;

static void set_up(void)
{
	FUZZ_MUST(ww_device_open("host", &world.device) == WW_OK);
	FUZZ_MUST(ww_memory_create(world.device,
			  WW_PARAMS(struct ww_memory_params, .kind = WW_MEMORY_HOST, .bytes = 4096),
			  &world.memory) == WW_OK);
	FUZZ_MUST(ww_memory_export_fd(world.memory, WW_ACCESS_WRITE, &world.fd,
			  &world.description) == WW_OK);
	FUZZ_MUST(pipe2(world.pipes, O_CLOEXEC) == 0);
}

size_t fuzz_seed(unsigned int number, uint8_t out[FUZZ_INPUT_BYTES])
{
	static const uint8_t ways[] = {0x02, 0x03, 0x22, 0x83, 0x42, 0x12, 0x04, 0x00, 0x23, 0x0e};

	if (!world.device)
		set_up();
	if (number >= sizeof(ways))
		return 0;
	out[0] = ways[number];
	memcpy(out + 1, &world.description, sizeof(world.description));
	return 1 + sizeof(world.description);
}

static int lowest_free(void)
{
	int fd = fcntl(world.pipes[0], F_DUPFD_CLOEXEC, 0);

	close(fd);
	return fd;
}

static void send_all(int socket, uint8_t way, const uint8_t *message, size_t bytes)
{
	size_t fd_count = (way & DESCRIPTORS) >> 1;
	size_t first = way & IN_PIECES ? bytes / 2 : bytes;
	int fds[DESCRIPTORS_MAX];

	for (size_t i = 0; i < fd_count; i++)
		fds[i] = i == 0 && way & PIPE_FIRST ? world.pipes[0] : world.fd;
	packet_send(socket, message, first, fds, fd_count);
	if (first < bytes)
		packet_send(socket, message + first, bytes - first, NULL, 0);
}

static void check_received(ww_memory *memory)
{
	struct ww_memory_info info = WW_INIT(struct ww_memory_info);

	FUZZ_MUST(ww_memory_info_get(memory, &info) == WW_OK);
	/* A description may name a part of it. */
	FUZZ_MUST(info.bytes > 0 && info.bytes <= 4096);
	FUZZ_MUST(((volatile uint8_t *)info.host_pointer)[0] == 0);
	FUZZ_MUST(((volatile uint8_t *)info.host_pointer)[info.bytes - 1] == 0);
	ww_memory_unref(memory);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t bytes)
{
	struct ww_memory_description description;
	uint8_t message[FUZZ_INPUT_BYTES];
	ww_memory *memory = NULL;
	ww_status status;
	int sockets[2];
	int lowest;

	if (!world.device)
		set_up();
	if (bytes == 0 || bytes > sizeof(message))
		return 0;
	memcpy(message, input + 1, bytes - 1);
	if (input[0] & SEALED && bytes > sizeof(description)) {
		memcpy(&description, message, sizeof(description));
		description_seal(&description);
		memcpy(message, &description, sizeof(description));
	}
	lowest = lowest_free();
	packet_pair(input[0] & BY_STREAM ? SOCK_STREAM : SOCK_SEQPACKET, sockets);
	send_all(sockets[0], input[0], message, bytes - 1);
	close(sockets[0]);
	status = ww_memory_receive(world.device, sockets[1],
		WW_PARAMS(struct ww_import_params,
			.access = input[0] & FOR_READING ? WW_ACCESS_READ : WW_ACCESS_WRITE),
		WW_FOREVER, NULL, &memory);
	if (status == WW_OK) {
		check_received(memory);
	} else {
		FUZZ_MUST(status < 0 && !memory);
		FUZZ_MUST(ww_error_last()->status == status && ww_error_last()->message[0]);
	}
	close(sockets[1]);
	FUZZ_MUST(lowest_free() == lowest);
	return 0;
}
