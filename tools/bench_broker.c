/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_broker.c - the group `broker`: what a broker takes for an answer, and how it fares with many objects
 *
 * Its parts run one after the other over one broker: single requests while it is empty, kills, and at last the
 * crowd, which is not cleared away but ends with the broker.
 */
#include "bench_broker.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "bench_packet.h"

#define NS_PER_SECOND UINT64_C(1000000000)
#define ANSWER_NS     (60 * NS_PER_SECOND)

/* Of this process, beside its clients. */
#define FILES_TO_SPARE 64

/* Descriptors of objects that are not the crowd's. */
#define FDS_OF_OTHERS 1000

/* No quota is in the way; a broker that was left behind by a kill goes soon. */
static const char settings[] = "[broker]\n"
			       "idle_s = 10\n"
			       "[limits]\n"
			       "host_bytes = 1024T\n"
			       "objects = 64M\n"
			       "fds = 64M\n"
			       "holds = 64M\n"
			       "connections = 1M\n"
			       "waits = 1M\n";

int broker_add_number(struct arena *arena, const char *name, const char *unit, double number,
	double floor, double goal)
{
	struct bench_result result = {
		.unit = unit,
		.p50 = number,
		.p99 = BENCH_NONE,
		.floor_p50 = floor,
		.goal = goal,
	};

	snprintf(result.name, sizeof(result.name), "broker.%s", name);
	return bench_add_result(arena->bench, &result);
}

int broker_add(struct arena *arena, const char *name, const char *unit, struct samples *samples,
	double floor, double goal)
{
	double scale = !strcmp(unit, "ms") ? 1e-3 : 1;
	struct bench_result result = {
		.unit = unit,
		.p50 = samples_percentile_us(samples, 50) * scale,
		.p99 = samples_percentile_us(samples, 99) * scale,
		.floor_p50 = floor,
		.goal = goal,
	};

	snprintf(result.name, sizeof(result.name), "broker.%s", name);
	return bench_add_result(arena->bench, &result);
}

int broker_spawn(struct arena *arena, const char *role, const char *word, struct child *out_child)
{
	char name[CHILD_NAME_BYTES];
	const struct child_plan plan = {
		.name = name,
		.arguments = {"bench-child", "broker", role, arena->nest.address, word},
		.timeout_ns = ANSWER_NS,
	};

	snprintf(name, sizeof(name), "the %s", role);
	return child_spawn(out_child, &plan);
}

static int role_echo(const char *address, const char *word)
{
	(void)address;
	(void)word;
	return packet_echo(LINK_FD);
}

int bench_broker_child(int argc, char *argv[])
{
	static const struct {
		const char *name;
		int (*run)(const char *address, const char *word);
	} roles[] = {
		{"echo", role_echo},
		{"holder", broker_role_holder},
		{"maker", broker_role_maker},
		{"load", broker_role_load},
	};

	for (size_t i = 0; argc >= 3 && i < sizeof(roles) / sizeof(roles[0]); i++) {
		if (!strcmp(argv[1], roles[i].name))
			return roles[i].run(argv[2], argc > 3 ? argv[3] : "") ? EXIT_FAILED
									      : EXIT_DONE;
	}
	return refuse("this verb is for processes that `warpway bench` starts itself");
}

static int confine(struct arena *arena, const cpu_set_t *ours, const cpu_set_t *theirs)
{
	struct ww_broker_info info = {.size = sizeof(info)};

	if (ww_broker_info_get(arena->broker, &info) != WW_OK)
		return complain_record("cannot ask the broker how it is");
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

int broker_gather(struct arena *arena)
{
	cpu_set_t one;

	choose_cpu(&one);
	return confine(arena, &one, &one);
}

int broker_part(struct arena *arena)
{
	cpu_set_t one;
	cpu_set_t others;

	choose_cpu(&one);
	CPU_XOR(&others, &arena->cpus, &one);
	return confine(arena, CPU_COUNT(&others) ? &others : &one, &one);
}

int broker_scatter(struct arena *arena)
{
	return confine(arena, &arena->cpus, &arena->cpus);
}

/* Of a running process, or of this one (0): as many as it may have in the end. */
static uint64_t files_allowed(uint32_t pid)
{
	struct rlimit limit;

	return prlimit((pid_t)pid, RLIMIT_NOFILE, NULL, &limit) ? 0 : limit.rlim_max;
}

static void raise_files(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

/* Fewer clients where this process may not open so many, no descriptors where the broker may not. */
static int fit(struct arena *arena)
{
	struct ww_broker_info info = {.size = sizeof(info)};
	uint64_t ours = files_allowed(0);
	uint64_t theirs;

	if (ww_broker_info_get(arena->broker, &info) != WW_OK)
		return complain_record("cannot ask the broker how it is");
	theirs = files_allowed(info.pid);
	if (ours < arena->clients + FILES_TO_SPARE) {
		arena->clients = ours > UINT64_C(2) * FILES_TO_SPARE ? ours - FILES_TO_SPARE : 1;
		say("%llu clients instead of %llu: this process may open %llu files (ulimit -n)",
			(unsigned long long)arena->clients,
			(unsigned long long)arena->bench->clients, (unsigned long long)ours);
	}
	/* Half is the broker's own reserve, and other parts put objects too. */
	arena->many_fds = arena->objects + FDS_OF_OTHERS <= theirs / 2;
	if (!arena->many_fds)
		say("%llu objects have no descriptor here: the broker may open %llu files only (ulimit "
		    "-Hn)",
			(unsigned long long)arena->objects, (unsigned long long)theirs);
	return 0;
}

static int open_arena(struct arena *arena)
{
	struct ww_broker_params params = {.size = sizeof(params), .flags = WW_BROKER_NO_START};

	raise_files();
	if (sched_getaffinity(0, sizeof(arena->cpus), &arena->cpus))
		return complain("cannot tell the CPUs of this process: %s", strerror(errno));
	arena->fd = memfd_create("warpway-bench", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (arena->fd < 0 || ftruncate(arena->fd, ARENA_OBJECT_BYTES) ||
		fcntl(arena->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		return complain("cannot make memory to put: %s", strerror(errno));
	if (nest_open(&arena->nest, settings))
		return -1;
	params.address = arena->nest.address;
	if (ww_broker_open(&params, &arena->broker) != WW_OK)
		return complain_record("cannot connect to the broker");
	return fit(arena);
}

static void own_arena(struct arena *arena)
{
	ww_broker_unref(arena->broker);
	nest_close(&arena->nest);
	own_fd(&arena->fd);
}

int bench_broker(struct bench *bench)
{
	static int (*const parts[])(struct arena * arena) = {
		broker_exchange,
		broker_library,
		broker_release,
		broker_restart,
		broker_scale,
	};
	OWN(arena)
	struct arena arena = {
		.bench = bench,
		.objects = bench->objects,
		.clients = bench->clients,
		.fd = -1,
	};

	if (open_arena(&arena))
		return -1;
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (parts[i](&arena))
			return complain("measuring a broker failed");
	}
	return 0;
}
