/* SPDX-License-Identifier: Apache-2.0 */
/*
 * broker.c - the suite `broker`: what a broker takes for an answer, and how it fares with many
 * objects
 *
 * Its cases run one after the other over one broker: single requests while it is empty, kills, and
 * at last many objects, which are not cleared away but end with the broker.
 *
 * A single request takes turns with a packet of like size to a process that does nothing but answer
 * it. Both cross with one descriptor, in one direction; all on one CPU. What a request leaves
 * behind is taken away outside the measured time.
 */
#include "bench/broker.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "common/packet.h"

#define MEMORY_BYTES (UINT64_C(2) << 20)
#define NAME         "bench/exchange"
#define LIBRARY_NAME "bench/library"

int broker_object_fd(void)
{
	static int fd = -1;

	if (fd >= 0)
		return fd;
	fd = memfd_create("warpway-bench", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0 || ftruncate(fd, OBJECT_BYTES) ||
		fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL))
		return complain("cannot make memory to put: %s", strerror(errno));
	return fd;
}

int broker_info(struct bench *bench, struct ww_broker_info *out_info)
{
	*out_info = WW_INIT(struct ww_broker_info);
	return bench_expect(ww_broker_info_get(bench->broker, out_info),
		"cannot ask the broker how it is");
}

/* --- where processes run --- */

static cpu_set_t all_cpus; /* that this process began with */

static int confine(struct bench *bench, const cpu_set_t *ours, const cpu_set_t *theirs)
{
	struct ww_broker_info info;

	if (broker_info(bench, &info))
		return -1;
	if (sched_setaffinity(0, sizeof(*ours), ours) ||
		sched_setaffinity((pid_t)info.pid, sizeof(*theirs), theirs))
		return complain("cannot choose CPUs: %s", strerror(errno));
	return 0;
}

static void choose_cpu(cpu_set_t *out_one)
{
	int here = sched_getcpu();

	CPU_ZERO(out_one);
	CPU_SET(here < 0 ? 0 : (size_t)here, out_one);
}

int broker_cpus_together(struct bench *bench)
{
	cpu_set_t one;

	choose_cpu(&one);
	return confine(bench, &one, &one);
}

int broker_cpus_apart(struct bench *bench)
{
	cpu_set_t one;
	cpu_set_t others;

	choose_cpu(&one);
	CPU_XOR(&others, &all_cpus, &one);
	return confine(bench, CPU_COUNT(&others) ? &others : &one, &one);
}

int broker_cpus_free(struct bench *bench)
{
	return confine(bench, &all_cpus, &all_cpus);
}

static int open_broker(struct bench *bench)
{
	(void)bench;
	if (sched_getaffinity(0, sizeof(all_cpus), &all_cpus))
		return complain("cannot tell the CPUs of this process: %s", strerror(errno));
	return 0;
}

/* --- single requests --- */

static struct exchange {
	struct client maker;
	struct client getter;
	struct child echo;
} exchange;

static int bare(struct bench *bench, uint64_t out_ns[])
{
	(void)bench;
	return packet_round_trip(exchange.echo.socket, -1, out_ns);
}

static int bare_with_fd(struct bench *bench, uint64_t out_ns[])
{
	(void)bench;
	return packet_round_trip(exchange.echo.socket, broker_object_fd(), out_ns);
}

static int put(struct bench *bench, uint64_t out_ns[])
{
	uint8_t id[RAW_ID_BYTES];
	uint64_t at = link_now_ns();

	(void)bench;
	if (client_put(&exchange.maker, NAME "/put", OBJECT_BYTES, broker_object_fd(), id))
		return -1;
	out_ns[0] = bench_lap(&at);
	return client_release(&exchange.maker, id);
}

/* The same for a memory that has a name already. */
static int put_further(struct bench *bench, uint64_t out_ns[])
{
	uint8_t id[RAW_ID_BYTES];
	uint64_t at;

	(void)bench;
	if (client_put(&exchange.maker, NAME "/put", OBJECT_BYTES, broker_object_fd(), id))
		return -1;
	at = link_now_ns();
	if (client_put_also(&exchange.maker, NAME "/further", OBJECT_BYTES, broker_object_fd(), id))
		return -1;
	out_ns[0] = bench_lap(&at);
	return client_release(&exchange.maker, id);
}

static int get(struct bench *bench, uint64_t out_ns[])
{
	uint8_t id[RAW_ID_BYTES];
	OWN(fd) int fd = -1;
	uint64_t at = link_now_ns();

	(void)bench;
	if (client_get(&exchange.getter, NAME, id, &fd))
		return -1;
	out_ns[0] = bench_lap(&at);
	return client_release(&exchange.getter, id);
}

static int stat(struct bench *bench, uint64_t out_ns[])
{
	uint64_t at = link_now_ns();

	(void)bench;
	if (client_stat(&exchange.getter, NAME))
		return -1;
	out_ns[0] = bench_lap(&at);
	return 0;
}

static int open_exchange(struct bench *bench)
{
	uint8_t id[RAW_ID_BYTES];

	exchange = (struct exchange){CLIENT_NONE, CLIENT_NONE, CHILD_NONE};
	if (broker_object_fd() < 0 || broker_cpus_together(bench) ||
		bench_spawn(bench, "echo", NULL, NULL, &exchange.echo) ||
		client_open(&exchange.maker, bench->address, false) ||
		client_open(&exchange.getter, bench->address, false))
		return -1;
	return client_put(&exchange.maker, NAME, OBJECT_BYTES, broker_object_fd(), id);
}

static int close_exchange(struct bench *bench)
{
	client_close(&exchange.maker);
	client_close(&exchange.getter);
	child_fini(&exchange.echo);
	return broker_cpus_free(bench);
}

static int role_echo(struct bench *bench, const char *word)
{
	(void)bench;
	(void)word;
	return packet_echo(LINK_FD);
}

/*
 * --- the same through the library: what a program sees ---
 *
 * A put is of memory that was made before. Beside it are the calls by which a program without the
 * library does the same: it asks the device for a descriptor, and puts that. A get maps the memory,
 * unless this process has it mapped already: then it is the round trip and a look into the cache.
 * The memory to get is another process's.
 */

static struct {
	struct child maker;
	ww_memory *mapped;
	struct client client;
} library;

static int open_put(struct bench *bench)
{
	return client_open(&library.client, bench->address, false);
}

static int close_put(struct bench *bench)
{
	(void)bench;
	client_close(&library.client);
	return 0;
}

static int library_put(struct bench *bench, uint64_t out_ns[])
{
	OWN(memory) ww_memory *memory = NULL;
	uint64_t at;

	if (bench_memory_create(bench, MEMORY_BYTES, &memory))
		return -1;
	at = link_now_ns();
	if (ww_memory_put(memory, bench->broker, LIBRARY_NAME "/put", NULL, 0, NULL) != WW_OK)
		return complain_record("put");
	out_ns[0] = bench_lap(&at);
	return 0;
}

/* On the CPU, for reading only. */
static int export_by_hand(struct bench *bench, const struct raw_memory *memory, int *out_fd)
{
	char path[32];

	if (bench->info.backend != WW_BACKEND_HOST)
		return bench->raw->ops->export_fd(bench->raw, memory, out_fd);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", memory->fd);
	*out_fd = open(path, O_RDONLY | O_CLOEXEC);
	return *out_fd < 0 ? complain("cannot open memory for reading: %s", strerror(errno)) : 0;
}

static int put_by_hand(struct bench *bench, uint64_t out_ns[])
{
	struct raw *raw = bench->raw;
	uint8_t id[RAW_ID_BYTES];
	struct raw_memory memory;
	OWN(fd) int fd = -1;
	uint64_t at;
	int result;

	if (raw->ops->create(raw, MEMORY_BYTES, &memory))
		return -1;
	at = link_now_ns();
	result = export_by_hand(bench, &memory, &fd);
	out_ns[1] = bench_lap(&at);
	if (!result)
		result = client_put(&library.client, LIBRARY_NAME "/by_hand", MEMORY_BYTES, fd, id);
	out_ns[0] = out_ns[1] + bench_lap(&at);
	if (!result)
		result = client_release(&library.client, id);
	return raw->ops->unmap(raw, &memory) ? -1 : result;
}

static int get_memory(struct bench *bench, ww_memory **out_memory)
{
	return bench_expect(ww_memory_get(bench->device, bench->broker, LIBRARY_NAME, NULL, 0, NULL,
				    out_memory, NULL),
		"get");
}

static int library_get(struct bench *bench, uint64_t out_ns[])
{
	OWN(memory) ww_memory *memory = NULL;
	uint64_t at = link_now_ns();

	if (get_memory(bench, &memory))
		return -1;
	out_ns[0] = bench_lap(&at);
	return 0;
}

static int open_library(struct bench *bench)
{
	struct link_message message;

	library.maker = (struct child)CHILD_NONE;
	if (bench_spawn(bench, "maker", NULL, NULL, &library.maker))
		return -1;
	return child_receive(&library.maker, LINK_READY, &message, NULL);
}

static int open_mapped(struct bench *bench)
{
	return open_library(bench) ? -1 : get_memory(bench, &library.mapped);
}

static int close_library(struct bench *bench)
{
	(void)bench;
	library.mapped = ww_memory_unref(library.mapped);
	return library.maker.pid ? child_kill(&library.maker) : 0;
}

/* The other process: it puts memory and waits for its end. */
static int role_maker(struct bench *bench, const char *word)
{
	OWN(memory) ww_memory *memory = NULL;

	(void)word;
	if (bench_memory_create(bench, MEMORY_BYTES, &memory))
		return -1;
	if (ww_memory_put(memory, bench->broker, LIBRARY_NAME, NULL, 0, NULL) != WW_OK)
		return complain_record("put");
	return bench_child_wait();
}

/* Requests are short: so many times the iterations of longer turns. */
#define EXCHANGE .warm_up = 20, .factor = 10, .open = open_exchange, .close = close_exchange
#define LIBRARY  .factor = 2, .close = close_library
#define FLOOR    .floor = BENCH_SERIES(BENCH_RAW, 0)

static const struct bench_case cases[] = {
	{.rows = {{"put", "us", BENCH_GOAL_EXCHANGE, FLOOR}},
		.turns = {put, bare_with_fd},
		EXCHANGE},
	{.rows = {{"put.further", "us", BENCH_GOAL_FURTHER, FLOOR}},
		.turns = {put_further, put},
		EXCHANGE},
	{.rows = {{"get", "us", BENCH_GOAL_EXCHANGE, FLOOR}},
		.turns = {get, bare_with_fd},
		EXCHANGE},
	{.rows = {{"stat", "us", FLOOR}}, .turns = {stat, bare}, EXCHANGE},
	{.rows = {{"library.put", "us", BENCH_GOAL_PUT, FLOOR},
		 {"library.put.export", "us", .series = BENCH_SERIES(BENCH_RAW, 1)}},
		.turns = {library_put, put_by_hand},
		.parts = 2,
		.factor = 2,
		.open = open_put,
		.close = close_put},
	{.rows = {{"library.get", "us"}}, .turns = {library_get}, .open = open_library, LIBRARY},
	{.rows = {{"library.get_mapped", "us"}},
		.turns = {library_get},
		.open = open_mapped,
		LIBRARY},
	{.rows = {{"release", "us", .has_samples = true},
		 {"release.slowest", "us", BENCH_GOAL_RELEASE, .is_slowest = true}},
		.turns = {broker_release},
		.is_kill = true},
	{.rows = {{"restart", "ms"},
		 {"restart.slowest", "ms", BENCH_GOAL_RESTART, .is_slowest = true}},
		.turns = {broker_restart},
		.warm_up = BROKER_WARM_UP_KILLS,
		.is_kill = true,
		.open = broker_restart_open,
		.close = broker_restart_close},
	{.rows = {{"lookup"}}, .run = broker_scale},
};

static const struct bench_role roles[] = {
	{"echo", 0, role_echo},
	{"holder", 0, broker_role_holder},
	{"maker", BENCH_NEED_DEVICE | BENCH_NEED_BROKER, role_maker},
	{"load", BENCH_NEED_DEVICE | BENCH_NEED_BROKER, broker_role_load},
};

const struct bench_suite bench_broker = {
	.name = "broker",
	.summary = "put, get, look-ups among many objects, ends of processes",
	.needs = BENCH_NEED_BROKER | BENCH_NEED_RAW,
	BENCH_LIST(roles, roles, role_count),
	BENCH_LIST(cases, cases, case_count),
	.open = open_broker,
};
