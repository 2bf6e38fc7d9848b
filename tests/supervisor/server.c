/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server.c - a broker process that does as it is told, to test its supervisor
 *
 * Linked with everything of the daemon but the server. It keeps memory files in the fdstore and
 * obeys commands, one packet of text each, over connections to the daemon's own address:
 *
 *   info         answers: pid, parent's pid, restarts, idle seconds of the configuration, then the
 *                numbers kept
 *   keep N       keeps N new files; answers as info
 *   large N      the same, of 4 MiB each
 *   drop N M     drops the numbers from N to M
 *   nonsense W   says to the supervisor what no broker says; W is which
 *   exit STATUS  returns it
 *   abort        dies
 *   deafen       closes the socket to the supervisor, and stays
 *
 * How it starts stands in the file PROGRAM.mode, if there is one, where PROGRAM is what
 * /proc/self/exe says: "cannot", "abort", or "hang".
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "base/proc_file.h"
#include "daemon/supervisor/supervisor.h"
#include "daemon/broker/server.h"
#include "daemon/registry/fdstore.h"
#include "wire/packet.h"

#define ANSWER_BYTES 200000

enum {
	SERVES_ON = -1
};

struct fake {
	const struct server_setup *setup;
	struct fdstore fdstore;
	int client;
	int outcome;
};

static void must(bool condition, const char *what)
{
	if (condition)
		return;
	fprintf(stderr, "fake broker: %s: %m\n", what);
	abort();
}

static bool is_open(uint32_t number)
{
	return fcntl((int)number, F_GETFD) >= 0;
}

static void obey_mode(void)
{
	char path[PATH_MAX + 8] = "";
	char mode[16] = "";

	must(readlink("/proc/self/exe", path, PATH_MAX) > 0, "reading /proc/self/exe");
	strcat(path, ".mode");
	ww_proc_file_read_line(path, mode, sizeof(mode));
	if (!strcmp(mode, "cannot"))
		exit(SERVER_CANNOT);
	if (!strcmp(mode, "abort"))
		abort();
	if (!strcmp(mode, "hang"))
		pause();
}

static void say_ready(const struct fake *fake)
{
	const struct supervisor_message message = {.what = SUPERVISOR_READY};

	must(ww_packet_send(fake->setup->supervisor, &message, sizeof(message), NULL, 0) == WW_OK,
		"telling the supervisor");
}

static void adopt(struct fake *fake)
{
	const struct server_setup *setup = fake->setup;

	must(fdstore_open(&fake->fdstore, setup->supervisor, setup->fdstore_first,
		     setup->fdstore_limit) == WW_OK,
		"opening the fdstore");
	for (uint32_t number = setup->fdstore_first; number < setup->fdstore_limit; number++) {
		if (is_open(number))
			must(fdstore_adopt(&fake->fdstore, number) == WW_OK, "adopting");
	}
	must(fdstore_adopted(&fake->fdstore) == WW_OK, "ending adoption");
}

static void answer(const struct fake *fake)
{
	static char text[ANSWER_BYTES];
	int used = snprintf(text, sizeof(text), "%d %d %" PRIu32 " %" PRIu64, (int)getpid(),
		(int)getppid(), fake->setup->restarts,
		config_idle_ns(fake->setup->config) / UINT64_C(1000000000));

	for (uint32_t number = fake->setup->fdstore_first; number < fake->fdstore.next; number++) {
		if (is_open(number))
			used += snprintf(text + used, sizeof(text) - (size_t)used, " %" PRIu32,
				number);
	}
	send(fake->client, text, (size_t)used, MSG_NOSIGNAL);
}

static void keep(struct fake *fake, uint32_t count, off_t bytes)
{
	while (count-- > 0) {
		int fd = memfd_create("kept", MFD_CLOEXEC);
		uint32_t number = 0;

		must(fd >= 0, "making a file");
		must(bytes == 0 || fallocate(fd, 0, 0, bytes) == 0, "allocating it");
		must(fdstore_keep(&fake->fdstore, &fd, 1, &number) == WW_OK, "keeping");
		must(dprintf(fd, "%" PRIu32, number) > 0, "writing");
		close(fd);
	}
	answer(fake);
}

static void drop(struct fake *fake, uint32_t first, uint32_t last)
{
	for (uint32_t number = first; number <= last; number++)
		fdstore_drop(&fake->fdstore, &number, 1);
	answer(fake);
}

/* Each of these gets its sender killed, and nothing else. */
static void talk_nonsense(const struct fake *fake, uint32_t which)
{
	const uint32_t first = fake->setup->fdstore_first;
	const uint32_t limit = fake->setup->fdstore_limit;
	const struct supervisor_message messages[] = {
		{.what = 0}, {.what = 99, .count = 1, .numbers = {first}},
		{.what = SUPERVISOR_DROP, .count = 1, .numbers = {SUPERVISOR_LISTENER}},
		{.what = SUPERVISOR_DROP, .count = 1, .numbers = {limit}},
		{.what = SUPERVISOR_DROP, .count = 9, .numbers = {first}},
		{.what = SUPERVISOR_DROP_RANGE, .count = 2, .numbers = {0, limit - 1}},
		{.what = SUPERVISOR_DROP_RANGE, .count = 2, .numbers = {first + 1, first}},
		{.what = SUPERVISOR_KEEP, .count = 1, .numbers = {first}},
		{.what = SUPERVISOR_READY, .count = 1, .numbers = {first}},
		{.what = SUPERVISOR_DROP, .count = 1, .numbers = {first}}, /* cut short below */
	};
	const size_t last = sizeof(messages) / sizeof(messages[0]) - 1;

	must(which <= last, "choosing nonsense");
	ww_packet_send(fake->setup->supervisor, &messages[which],
		sizeof(messages[0]) - (which == last ? 4 : 0), NULL, 0);
}

static void obey(struct fake *fake, char *text)
{
	unsigned a = 0;
	unsigned b = 0;

	if (!strcmp(text, "info"))
		answer(fake);
	else if (sscanf(text, "keep %u", &a) == 1)
		keep(fake, a, 0);
	else if (sscanf(text, "large %u", &a) == 1)
		keep(fake, a, 4 << 20);
	else if (sscanf(text, "drop %u %u", &a, &b) == 2)
		drop(fake, a, b);
	else if (sscanf(text, "nonsense %u", &a) == 1)
		talk_nonsense(fake, a);
	else if (sscanf(text, "exit %u", &a) == 1)
		fake->outcome = (int)a;
	else if (!strcmp(text, "abort"))
		abort();
	else if (!strcmp(text, "deafen"))
		close(fake->setup->supervisor);
	else
		must(false, text);
}

static void hear(struct fake *fake)
{
	char text[256];
	ssize_t bytes = recv(fake->client, text, sizeof(text) - 1, 0);

	if (bytes <= 0) {
		close(fake->client);
		fake->client = -1;
		return;
	}
	text[bytes] = '\0';
	obey(fake, text);
}

static void step(struct fake *fake)
{
	struct pollfd entries[2] = {
		{.fd = fake->setup->supervisor, .events = POLLIN},
		{.fd = fake->client < 0 ? fake->setup->listener : fake->client, .events = POLLIN},
	};
	char byte;

	if (poll(entries, 2, -1) < 0)
		return;
	if (entries[0].revents & (POLLIN | POLLHUP) && recv(entries[0].fd, &byte, 1, 0) <= 0)
		fake->outcome = SERVER_SUPERVISOR_LOST;
	else if (entries[1].revents && fake->client < 0)
		fake->client = accept4(entries[1].fd, NULL, NULL, SOCK_CLOEXEC);
	else if (entries[1].revents)
		hear(fake);
	else if (entries[0].revents & POLLNVAL)
		poll(NULL, 0, -1); /* deaf */
}

int server_run(const struct server_setup *setup)
{
	struct fake fake = {.setup = setup, .client = -1, .outcome = SERVES_ON};

	obey_mode();
	adopt(&fake);
	say_ready(&fake);
	while (fake.outcome == SERVES_ON)
		step(&fake);
	fdstore_close(&fake.fdstore);
	return fake.outcome;
}
