/* SPDX-License-Identifier: Apache-2.0 */
/*
 * requests.c - fuzzes what the broker does when it is asked: sequences of requests to a broker
 * inside this process
 *
 * Input: steps of STEP_BYTES each. A step is drawn (messages.h) from its own bytes, so that a
 * change in one does not change the next: a connection sends a request, right or damaged, with
 * descriptors or without, or ends, or its process does. The broker's loop turns after each step,
 * until its receivers have answered, which are processes of this program. There is no supervisor:
 * what is said to it is thrown away.
 *
 * The processes are not real. __wrap_getsockopt() has the kernel say who they are: several users,
 * and for a pidfd an eventfd, which can be read once the process has ended.
 *
 * What the broker answers must be a right packet. When all processes have ended, nothing may be
 * left in it.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "daemon/broker/server_state.h"
#include "daemon/receiver_process.h"
#include "daemon/registry/holder.h"
#include "daemon/registry/object.h"
#include "fuzz/fuzz.h"
#include "fuzz/messages.h"
#include "wire/signal_page.h"

#define STEP_BYTES 24
#define PEERS      6
#define PROCESSES  4
#define PAGE_BYTES 4096

/* The numbers that the broker keeps descriptors under. */
#define FDSTORE_FIRST 256
#define FDSTORE_LIMIT 768

/* A connection that does not read has little room. */
#define LITTLE_ROOM 2304

#define LIMIT_NS UINT64_C(60000000000)

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

static const char config[] = "[broker]\n"
			     "escrow_max_s = 1\n"
			     "[limits]\n"
			     "objects = 8\n"
			     "bytes = 64K\n"
			     "fds = 16\n"
			     "holds = 12\n"
			     "waits = 4\n"
			     "watches = 2\n"
			     "connections = 4\n";

static struct process {
	int end; /* eventfd(2) */
	uint32_t generation;
} processes[PROCESSES];

static struct peer_end {
	int socket; /* -1: closed */
	int broker; /* the other end, as long as the broker has it */
	uint32_t process;
	bool is_deaf;
	bool is_greeted;
	uint32_t serial;
	struct message_side side;
} ends[PEERS];

static struct {
	struct server server;
	struct server_setup setup;
	int supervisor;
	int memory[2];
	int event;
	int file;
	int page;
	int page_reader;
} world;

/* --- what is drawn --- */

static struct {
	const uint8_t *at;
	size_t left;
} source;

static uint8_t take(void)
{
	if (source.left == 0)
		return 0;
	source.left--;
	return *source.at++;
}

uint64_t draw_number(void)
{
	uint64_t number = 0;

	for (size_t i = 0; i < sizeof(number); i++)
		number = number << 8 | take();
	return number;
}

uint32_t draw_below(uint32_t limit)
{
	uint32_t number = take();

	for (uint32_t reach = 256; reach < limit && reach <= 1U << 24; reach <<= 8)
		number = number << 8 | take();
	return number % limit;
}

/* --- processes that are not --- */

int __real_getsockopt(int socket, int level, int name, void *value, socklen_t *length);
int __wrap_getsockopt(int socket, int level, int name, void *value, socklen_t *length);

static const struct peer_end *find_end(int socket)
{
	for (size_t i = 0; i < PEERS; i++) {
		if (ends[i].broker == socket)
			return &ends[i];
	}
	return NULL;
}

int __wrap_getsockopt(int socket, int level, int name, void *value, socklen_t *length)
{
	const struct peer_end *end = level == SOL_SOCKET ? find_end(socket) : NULL;
	struct ucred credentials;

	if (!end || (name != SO_PEERCRED && name != SO_PEERPIDFD && name != SO_PEERGROUPS))
		return __real_getsockopt(socket, level, name, value, length);
	if (name == SO_PEERGROUPS) {
		*length = 0;
		return 0;
	}
	if (name == SO_PEERPIDFD) {
		int pidfd = fcntl(processes[end->process].end, F_DUPFD_CLOEXEC, 0);

		memcpy(value, &pidfd, sizeof(pidfd));
		return pidfd < 0 ? -1 : 0;
	}
	credentials = (struct ucred){
		.pid = (pid_t)(1000 + end->process),
		.uid = 1000 + end->process / 3 * 7, /* the first three have the same user */
		.gid = 1000 + end->process,
	};
	memcpy(value, &credentials, sizeof(credentials));
	return 0;
}

static void begin_process(uint32_t number)
{
	processes[number].end = eventfd(0, EFD_CLOEXEC);
	FUZZ_MUST(processes[number].end >= 0);
	processes[number].generation++;
}

static void close_end(struct peer_end *end)
{
	if (end->socket >= 0)
		close(end->socket);
	end->socket = -1;
}

static void end_process(uint32_t number)
{
	const uint64_t one = 1;

	for (size_t i = 0; i < PEERS; i++) {
		if (ends[i].process == number)
			close_end(&ends[i]);
	}
	FUZZ_MUST(write(processes[number].end, &one, sizeof(one)) == sizeof(one));
	close(processes[number].end);
	begin_process(number);
}

/* The broker starts a receiver by the program that it is itself: here it is this one. */
__attribute__((constructor)) static void be_receiver(int count, char **arguments)
{
	if (count == 3 && !strcmp(arguments[1], "--role") && !strcmp(arguments[2], "receiver"))
		_exit(receiver_process_run());
	/* Whatever the parent has left open: the numbers of the fdstore must be free. */
	close_range(STDERR_FILENO + 1, ~0U, 0);
}

/* --- a broker --- */

static int make_memory(uint64_t bytes, int seals)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	FUZZ_MUST(fd >= 0 && ftruncate(fd, (off_t)bytes) == 0);
	FUZZ_MUST(fchmod(fd, 0600) == 0 && fcntl(fd, F_ADD_SEALS, seals) == 0);
	return fd;
}

static void make_page(void)
{
	struct ww_layout_signal_page *page;
	char path[64];

	world.page = make_memory(PAGE_BYTES, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
	page = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, world.page, 0);
	FUZZ_MUST(page != MAP_FAILED);
	ww_signal_page_init(page, PAGE_BYTES, (const uint8_t *)"0123456789abcdef", 1, 2, "fuzz");
	munmap(page, PAGE_BYTES);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", world.page);
	world.page_reader = open(path, O_RDONLY | O_CLOEXEC);
	FUZZ_MUST(world.page_reader >= 0);
}

static struct config *read_config(void)
{
	struct config *read;
	char path[64];
	int fd = make_memory(0, F_SEAL_SHRINK);

	FUZZ_MUST(write(fd, config, sizeof(config) - 1) == (ssize_t)sizeof(config) - 1);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	FUZZ_MUST(config_read(path, &read) == WW_OK);
	close(fd);
	return read;
}

static void set_up(void)
{
	int pair[2];

	world.memory[0] = make_memory(4096, F_SEAL_SHRINK | F_SEAL_GROW);
	world.memory[1] = make_memory(8192, F_SEAL_SHRINK | F_SEAL_GROW);
	world.event = eventfd(0, EFD_CLOEXEC);
	world.file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	FUZZ_MUST(world.event >= 0 && world.file >= 0);
	make_page();
	for (uint32_t i = 0; i < PROCESSES; i++)
		begin_process(i);
	for (size_t i = 0; i < PEERS; i++)
		ends[i].socket = ends[i].broker = -1;
	FUZZ_MUST(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
	world.supervisor = pair[0];
	world.setup = (struct server_setup){
		.supervisor = pair[1],
		.listener = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), /* to which nothing comes */
		.fdstore_first = FDSTORE_FIRST,
		.fdstore_limit = FDSTORE_LIMIT,
		.address = "/nowhere",
		.config = read_config(),
	};
	world.server.setup = &world.setup;
	FUZZ_MUST(server_start(&world.server) == WW_OK);
	uv_signal_stop(&world.server.terminate); /* that ends this process, as any other */
}

static void hear_supervisor(void)
{
	uint8_t packet[256];
	int fds[WW_PACKET_FDS];
	size_t fd_count;
	size_t bytes;

	while (ww_packet_receive(world.supervisor, packet, sizeof(packet), &bytes, fds,
		       &fd_count) == WW_OK) {
		while (fd_count > 0)
			ww_fd_close(fds[--fd_count]);
	}
}

static void hear_answers(struct peer_end *end)
{
	static uint8_t packet[WW_WIRE_PACKET_BYTES];
	struct ww_wire_header header;
	int fds[WW_PACKET_FDS];
	size_t fd_count = 0;
	size_t bytes;
	ww_status status;

	while ((status = ww_packet_receive(end->socket, packet, sizeof(packet), &bytes, fds,
			&fd_count)) == WW_OK) {
		FUZZ_MUST(ww_wire_read_header(packet, bytes, fd_count, &header) == WW_OK);
		message_listen(&end->side, packet, bytes);
		while (fd_count > 0)
			ww_fd_close(fds[--fd_count]);
	}
	if (status != WW_NOT_READY)
		close_end(end);
}

static bool awaits_receiver(void)
{
	ww_list_for_each (link, &world.server.peers) {
		if (ww_container(link, struct peer, of_server)->is_away)
			return true;
	}
	return false;
}

static void turn(void)
{
	uv_run(&world.server.loop, UV_RUN_NOWAIT);
	while (awaits_receiver())
		uv_run(&world.server.loop, UV_RUN_ONCE);
	FUZZ_MUST(world.server.outcome < 0);
	hear_supervisor();
	for (size_t i = 0; i < PEERS; i++) {
		if (ends[i].socket >= 0 && !ends[i].is_deaf)
			hear_answers(&ends[i]);
	}
}

/* --- one step --- */

static void open_end(struct peer_end *end)
{
	struct process *process;
	int little = LITTLE_ROOM;
	int pair[2];

	FUZZ_MUST(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) == 0);
	for (size_t i = 0; i < PEERS; i++) /* whose number this was before */
		ends[i].broker = ends[i].broker == pair[1] ? -1 : ends[i].broker;
	*end = (struct peer_end){
		.socket = pair[0],
		.broker = pair[1],
		.process = draw_below(PROCESSES),
		.is_deaf = draw_one_in(6),
		.side = {.version = WW_WIRE_VERSION, .has_pages = true},
	};
	process = &processes[end->process];
	end->side.process_id[0] = (uint8_t)(draw_one_in(20) ? 0 : 1 + end->process);
	memcpy(end->side.process_id + 1, &process->generation, sizeof(process->generation));
	if (end->is_deaf)
		FUZZ_MUST(setsockopt(pair[1], SOL_SOCKET, SO_SNDBUF, &little, sizeof(little)) == 0);
	if (draw_one_in(20))
		end->serial = UINT32_MAX - 1;
	if (peer_accept(&world.server, pair[1]) < 0)
		hear_answers(end);
}

static size_t pick_fds(struct peer_end *end, uint16_t code, int out[WW_WIRE_FDS])
{
	const int fds[] = {world.memory[0], world.memory[1], world.event, world.file, world.page,
		world.page_reader};
	size_t count = code == WW_WIRE_PUT ? draw_below(4) : 0;

	end->side.is_page = code == WW_WIRE_PUT && draw_one_in(4);
	if (end->side.is_page) {
		out[0] = world.page;
		out[1] = world.page_reader;
		return 2;
	}
	if (draw_one_in(60))
		count = draw_below(WW_WIRE_FDS + 1);
	for (size_t i = 0; i < count; i++)
		out[i] = fds[draw_one_in(15) ? draw_below(6) : draw_below(3)];
	return count;
}

static void send_request(struct peer_end *end)
{
	static uint8_t packet[MESSAGE_BYTES + 16];
	struct ww_wire_header header = {.flags = draw_one_in(10)};
	uint16_t code = end->is_greeted || draw_one_in(30) ? message_code() : WW_WIRE_HELLO;
	int fds[WW_WIRE_FDS];
	size_t bytes;

	end->serial += draw_one_in(30) ? 0 : 1;
	header.serial = end->serial;
	header.fd_count = (uint16_t)pick_fds(end, code, fds);
	memset(packet, 0, sizeof(packet));
	bytes = message_make(&end->side, code, &header, packet);
	if (bytes == 0)
		return;
	end->is_greeted = true;
	if (draw_one_in(30))
		message_damage(packet, &bytes);
	(void)ww_packet_send(end->socket, packet, bytes, fds, header.fd_count);
}

static void step(void)
{
	uint32_t what = draw_below(32);
	struct peer_end *end = &ends[draw_below(PEERS)];

	if (what == 31) {
		end_process(end->process);
	} else if (what == 30) {
		close_end(end);
	} else if (what == 29) {
		end->is_deaf = !end->is_deaf;
	} else {
		if (end->socket < 0)
			open_end(end);
		if (end->socket >= 0)
			send_request(end);
	}
	turn();
}

/* --- the end --- */

static bool is_empty(void)
{
	const struct server *server = &world.server;
	const struct registry *registry = &server->registry;

	return registry->object_table.used == 0 && registry->holder_table.used == 0 &&
		registry->name_table.used == 0 && registry->hold_table.used == 0 &&
		registry->bytes == 0 && registry->mapped_bytes == 0 &&
		registry->accounts.fds == 0 && registry->accounts.by_uid.count == 0 &&
		server->fdstore.used == REGISTRY_TABLES && server->peer_count == 0 &&
		server->wait_count == 0 && ww_list_is_empty(&server->hung_up);
}

/* What nothing but its time, or a remove, would end. */
static void end_kept(void)
{
	struct registry *registry = &world.server.registry;
	const struct table *table = &registry->object_table;

	for (uint32_t i = 0; i < table->capacity; i++) {
		const struct ww_layout_object_record *record = table_record(table, i);
		struct object *object;

		if (record->state == 0 || record->state == WW_WIRE_STATE_REMOVED)
			continue;
		object = table_item(&registry->object_table, i);
		if (!object->creator && object->holders == 0) {
			FUZZ_MUST(object_escrows(object) > 0 || object->extra->further > 0 ||
				record->life != WW_WIRE_LIFE_HELD);
			object_end(registry, object, WW_WIRE_WHAT_REMOVED);
		}
	}
}

static void must_end(void)
{
	uint64_t deadline_ns = ww_clock_deadline_ns(LIMIT_NS);
	uv_timer_t *linger = &world.server.linger;

	for (uint32_t i = 0; i < PROCESSES; i++)
		end_process(i);
	for (size_t i = 0; i < PEERS; i++)
		close_end(&ends[i]);
	while (!is_empty()) {
		FUZZ_MUST(ww_clock_now_ns() < deadline_ns);
		if (uv_is_active((uv_handle_t *)linger)) { /* it looks every 50 ms */
			uv_timer_set_repeat(linger, 1);
			uv_timer_again(linger);
		}
		turn();
		if (world.server.peer_count == 0)
			end_kept();
	}
}

size_t fuzz_seed(unsigned int number, uint8_t out[FUZZ_INPUT_BYTES])
{
	uint64_t state = number;

	if (number >= 64)
		return 0;
	for (size_t i = 0; i < FUZZ_INPUT_BYTES; i++) {
		state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		out[i] = (uint8_t)(state >> 56);
	}
	return FUZZ_INPUT_BYTES;
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t bytes)
{
	if (!world.setup.config)
		set_up();
	if (bytes > FUZZ_INPUT_BYTES)
		return 0;
	for (size_t at = 0; at < bytes; at += STEP_BYTES) {
		source.at = input + at;
		source.left = bytes - at < STEP_BYTES ? bytes - at : STEP_BYTES;
		step();
	}
	must_end();
	return 0;
}
