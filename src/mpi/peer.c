/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peer.c - see peer.h
 *
 * The name of a page is made of what all ranks of a job on a node have in common, and of nothing
 * else: the launcher's name for the job, or its process. Ranks in several pid namespaces do not
 * find each other.
 */
#include "mpi/peer.h"

#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <warpway/broker.h>
#include <warpway/memory.h>

#include "base/loader.h"
#include "mpi/comm.h"
#include "mpi/error.h"
#include "mpi/group.h"
#include "mpi/next.h"
#include "mpi/settings.h"

#define JOB_BYTES  512
#define PAGE_MAGIC UINT64_C(0x6570617069706d77) /* "wmpipape" */

/* A rank that is not announced is looked for after this time, then after twice as long, ... */
#define LOOK_FIRST_NS UINT64_C(1000000)
#define LOOK_MOST_NS  UINT64_C(500000000)

/* What a rank announces; others map it read-only. Only the words change. */
struct page {
	uint64_t magic;
	uint32_t bytes;
	int32_t rank; /* in MPI_COMM_WORLD */
	struct ww_mpi_peer peer;
	char job[JOB_BYTES];
	int32_t pid; /* in the pid namespace that the job's name has */
	uint64_t start_time;
	struct ww_mpi_words words;
};

_Atomic int ww_mpi_direct_state;

static _Atomic long open_count;
static __thread int own_count; /* of this thread's calls under way */

static _Atomic bool is_stopped; /* problem is constant then */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of what follows; held while asking */
static char problem[300];
static char job[JOB_BYTES];
static int world_rank;
static int world_size;
static bool is_threaded;
static ww_memory *own_page;
static struct ww_mpi_peer own;
static int own_ordinal;
static struct known {
	struct ww_mpi_peer peer;
	bool is_found;
	ww_memory *memory; /* is mapped until MPI_Finalize() */
	const struct page *page;
	uint64_t look_ns; /* not before then */
	uint64_t wait_ns;
} * known; /* by rank */

/* --- what is open --- */

static bool is_counting(void)
{
	int state = atomic_load_explicit(&ww_mpi_direct_state, memory_order_relaxed);

	return ww_mpi_depth == 0 && state <= WW_MPI_ANNOUNCING;
}

/* As the state, in one order for all threads: a call sees WATCHING, or announce() sees the call. */
void ww_mpi_open_begin(void)
{
	if (!is_counting())
		return;
	atomic_fetch_add(&open_count, 1);
	own_count++;
}

void ww_mpi_open_end(bool stays_open)
{
	if (ww_mpi_depth != 0 || own_count == 0)
		return;
	own_count--;
	if (!stays_open)
		atomic_fetch_sub(&open_count, 1);
}

int ww_mpi_open_before(int count, const MPI_Request requests[])
{
	int open = 0;

	if (!is_counting())
		return 0;
	for (int i = 0; i < count; i++)
		open += requests[i] != MPI_REQUEST_NULL;
	return open;
}

void ww_mpi_open_after(int before, int count, const MPI_Request requests[])
{
	if (before == 0)
		return;
	for (int i = 0; i < count; i++)
		before -= requests[i] != MPI_REQUEST_NULL;
	atomic_fetch_sub(&open_count, before);
}

void ww_mpi_open_keep(MPI_Request request)
{
	int is_complete = 0;

	if (!is_counting() || request == MPI_REQUEST_NULL)
		return;
	WW_MPI_REAL(Request_get_status)(request, &is_complete, MPI_STATUS_IGNORE);
	if (!is_complete)
		atomic_fetch_add(&open_count, 1);
}

/* --- the job --- */

/* Return: 0: there is no such process, or it has ended. */
static unsigned long long start_time_of(int pid)
{
	char path[64], text[1024];
	unsigned long long time = 0;
	const char *at;
	size_t bytes;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	file = fopen(path, "re");
	if (!file)
		return 0;
	bytes = fread(text, 1, sizeof(text) - 1, file);
	text[bytes] = '\0';
	fclose(file);
	at = strrchr(text, ')'); /* the name before it may contain anything */
	if (at && (at[2] == 'Z' || at[2] == 'X'))
		return 0;
	for (int field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	if (at)
		time = strtoull(at, NULL, 10);
	return time;
}

/* MPICH's launcher gives no name; its process is at the other end of a socket. */
static bool name_by_socket(const char *fd, char *out_name, size_t bytes)
{
	struct ucred launcher;
	socklen_t length = sizeof(launcher);

	if (!fd ||
		getsockopt((int)strtol(fd, NULL, 10), SOL_SOCKET, SO_PEERCRED, &launcher, &length) <
			0)
		return false;
	snprintf(out_name, bytes, "pid %d %llu", (int)launcher.pid, start_time_of(launcher.pid));
	return true;
}

/*
 * Return: whether the launcher is known, and all fits. A launcher that is started by another one
 * leaves the other's variables where they are, so the one that is asked for first is that of a
 * process.
 */
static bool name_job(void)
{
	const char *space = getenv("PMIX_NAMESPACE");
	const char *server = getenv("PMIX_SERVER_URI2"); /* with the launcher's port */
	const char *slurm = getenv("SLURM_JOB_ID");
	const char *step = getenv("SLURM_STEP_ID");
	const char *node = ww_mpi_settings()->node;
	char name[JOB_BYTES / 2];
	struct stat pids;

	if (stat("/proc/self/ns/pid", &pids) < 0)
		return false;
	if (name_by_socket(getenv("PMI_FD"), name, sizeof(name)))
		;
	else if (space && server)
		snprintf(name, sizeof(name), "pmix %s %s", space, server);
	else if (!space && slurm && step)
		snprintf(name, sizeof(name), "slurm %s.%s", slurm, step);
	else
		return false;
	return snprintf(job, sizeof(job), "%s in %llu on %s", name, (unsigned long long)pids.st_ino,
		       node) < (int)sizeof(job);
}

/* The user's own names begin with "~"; of the job a hash, as its name may contain anything. */
static void name_page(int rank, char *out_name, size_t bytes)
{
	uint64_t hash = UINT64_C(14695981039346656037);

	for (const char *at = job; *at; at++)
		hash = (hash ^ (unsigned char)*at) * UINT64_C(1099511628211);
	snprintf(out_name, bytes, "~%u/mpi/%016" PRIx64 "/%d", (unsigned int)geteuid(), hash, rank);
}

/* --- the state --- */

/* Lock held. */
static void stop(const char *why)
{
	if (!problem[0])
		snprintf(problem, sizeof(problem), "%s", why);
	atomic_store(&is_stopped, true);
}

/* Lock held. */
static void set_off(const char *why)
{
	stop(why);
	atomic_store(&ww_mpi_direct_state, WW_MPI_OFF);
}

void ww_mpi_direct_stop(const char *why)
{
	pthread_mutex_lock(&lock);
	stop(why);
	pthread_mutex_unlock(&lock);
}

const char *ww_mpi_direct_problem(void)
{
	if (atomic_load(&is_stopped))
		return problem;
	switch (atomic_load(&ww_mpi_direct_state)) {
	case WW_MPI_QUIET:
		return "no message or receive of this rank had a large device buffer";
	case WW_MPI_WATCHING:
		return "a request from before the first large device buffer is still there";
	default:
		return NULL;
	}
}

/* Whether calls of a function come to this library, whichever code makes them. */
static bool is_ours(const char *function)
{
	void *address = ww_loader_symbol(RTLD_DEFAULT, function);
	Dl_info theirs, mine;

	return address && dladdr(address, &theirs) && dladdr((void *)&ww_mpi_direct_state, &mine) &&
		theirs.dli_fbase == mine.dli_fbase;
}

/* Lock held. Return: NULL, or why this rank has no direct route. */
static const char *look_at_job(void)
{
	MPI_Comm parent = MPI_COMM_NULL;
	int level = MPI_THREAD_SINGLE;

	if (ww_mpi_settings()->route == WW_MPI_ROUTE_STAGED)
		return "WARPWAY_MPI_ROUTE=staged is set";
	if (!ww_mpi_has_world())
		return "the program uses sessions";
	PMPI_Comm_get_parent(&parent);
	if (parent != MPI_COMM_NULL)
		return "the program was started by MPI_Comm_spawn()";
	PMPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
	PMPI_Comm_size(MPI_COMM_WORLD, &world_size);
	if (world_size < 2)
		return "there is one rank only";
	if (!name_job())
		return "the launcher gives no name for the job";
	if (!is_ours("MPI_Recv") || !is_ours("PMPI_Recv"))
		return "another library is in front of MPI_Recv()";
	PMPI_Query_thread(&level);
	is_threaded = level == MPI_THREAD_MULTIPLE;
	known = calloc((size_t)world_size, sizeof(*known));
	return known ? NULL : "there is no memory";
}

/* Lock held. Return: false; the record of the library says why. */
static bool put_page(int ordinal)
{
	const struct ww_memory_params kind = {.struct_size = sizeof(kind),
		.kind = WW_MEMORY_HOST,
		.bytes = sizeof(struct page)};
	const struct ww_put_params how = {.struct_size = sizeof(how), .life = WW_LIFE_OWNER};
	struct ww_device_info info = WW_INIT(struct ww_device_info);
	ww_device *gpu = NULL;
	ww_device *host = NULL;
	struct page *page;
	char name[WW_NAME_BYTES];
	bool is_done = false;

	own_ordinal = ordinal;
	snprintf(name, sizeof(name), "cuda:%d", ordinal);
	if (ww_device_open(name, &gpu) < 0 || ww_device_info_get(gpu, &info) < 0 ||
		ww_device_open("host", &host) < 0 || ww_memory_create(host, &kind, &own_page) < 0)
		goto out;
	memcpy(own.uuid, info.uuid, sizeof(own.uuid));
	page = ww_memory_pointer(own_page);
	page->magic = PAGE_MAGIC;
	page->bytes = sizeof(*page);
	page->rank = world_rank;
	page->peer = own;
	memcpy(page->job, job, sizeof(job));
	page->pid = getpid();
	page->start_time = start_time_of(page->pid);
	if (!page->start_time)
		goto out;
	ww_mpi_groups_announce(&page->words);
	name_page(world_rank, name, sizeof(name));
	is_done = ww_memory_put(own_page, NULL, name, &how, 0, NULL) == WW_OK;
	if (!is_done) {
		ww_mpi_groups_announce(NULL);
		own_page = ww_memory_unref(own_page);
	}
out:
	ww_device_unref(host);
	ww_device_unref(gpu);
	return is_done;
}

/*
 * Lock held. Before any other rank can see the page, all calls of this one look for control
 * messages: those that do not were counted.
 */
static void announce(int ordinal)
{
	if (getrandom(own.nonce, sizeof(own.nonce), 0) != sizeof(own.nonce)) {
		set_off("there are no random numbers");
		return;
	}
	atomic_store(&ww_mpi_direct_state, WW_MPI_ANNOUNCING);
	if (atomic_load(&open_count) != own_count)
		atomic_store(&ww_mpi_direct_state, WW_MPI_WATCHING);
	else if (put_page(ordinal))
		atomic_store(&ww_mpi_direct_state, WW_MPI_ANNOUNCED);
	else
		set_off(ww_error_last()->message);
}

void ww_mpi_peer_prepare(int ordinal)
{
	int state = atomic_load_explicit(&ww_mpi_direct_state, memory_order_relaxed);
	const char *why;

	if (state == WW_MPI_ANNOUNCED || state == WW_MPI_OFF)
		return;
	pthread_mutex_lock(&lock);
	if (atomic_load(&ww_mpi_direct_state) == WW_MPI_QUIET) {
		why = look_at_job();
		if (why)
			set_off(why);
		else
			atomic_store(&ww_mpi_direct_state, WW_MPI_WATCHING);
	}
	/* What this thread's own call posts is watched. */
	if (atomic_load(&ww_mpi_direct_state) == WW_MPI_WATCHING &&
		atomic_load(&open_count) == own_count)
		announce(ordinal);
	pthread_mutex_unlock(&lock);
}

/* announce() has the lock, and calls no MPI function. */
bool ww_mpi_peer_has_announced(void)
{
	while (atomic_load(&ww_mpi_direct_state) == WW_MPI_ANNOUNCING) {
		pthread_mutex_lock(&lock);
		pthread_mutex_unlock(&lock);
	}
	return atomic_load(&ww_mpi_direct_state) == WW_MPI_ANNOUNCED;
}

const uint8_t *ww_mpi_peer_nonce(void)
{
	return own.nonce;
}

int ww_mpi_peer_ordinal(void)
{
	return own_ordinal;
}

bool ww_mpi_is_threaded(void)
{
	return is_threaded;
}

/* --- other ranks --- */

uint64_t ww_mpi_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Return: the rank in MPI_COMM_WORLD of a rank that one sends to; -1: it is not in there. */
static int find_in_world(MPI_Comm comm, int rank)
{
	MPI_Group group = MPI_GROUP_NULL;
	MPI_Group world = MPI_GROUP_NULL;
	int is_inter = 0;
	int found = MPI_UNDEFINED;

	if (comm == MPI_COMM_NULL || rank < 0 || rank >= ww_mpi_ranks(comm))
		return -1;
	if (comm == MPI_COMM_WORLD)
		return rank;
	PMPI_Comm_test_inter(comm, &is_inter);
	if (is_inter)
		PMPI_Comm_remote_group(comm, &group);
	else
		PMPI_Comm_group(comm, &group);
	PMPI_Comm_group(MPI_COMM_WORLD, &world);
	PMPI_Group_translate_ranks(group, 1, &rank, world, &found);
	PMPI_Group_free(&group);
	PMPI_Group_free(&world);
	return found == MPI_UNDEFINED ? -1 : found;
}

/* Lock held. */
static bool get_page(int rank, struct known *peer)
{
	const struct ww_get_params how = {.struct_size = sizeof(how),
		.flags = WW_GET_FROM_OWNER,
		.owner = geteuid()};
	struct ww_object_info info = WW_INIT(struct ww_object_info);
	char name[WW_NAME_BYTES];
	ww_device *host = NULL;
	ww_memory *memory = NULL;
	const struct page *page;
	bool is_found = false;

	name_page(rank, name, sizeof(name));
	if (ww_device_open("host", &host) == WW_OK &&
		ww_memory_get(host, NULL, name, &how, 0, NULL, &memory, &info) == WW_OK &&
		info.span_bytes >= sizeof(*page)) {
		page = ww_memory_pointer(memory);
		is_found = page->magic == PAGE_MAGIC && page->bytes >= sizeof(*page) &&
			page->rank == rank && !memcmp(page->job, job, sizeof(job));
		peer->peer = page->peer;
		peer->page = page;
	}
	if (is_found)
		peer->memory = memory;
	else
		ww_memory_unref(memory);
	ww_device_unref(host);
	return is_found;
}

bool ww_mpi_peer_find_rank(int rank, struct ww_mpi_peer *out_peer)
{
	bool is_found = false;
	struct known *peer;
	uint64_t now;

	if (!ww_mpi_is_announced() || atomic_load(&is_stopped))
		return false;
	pthread_mutex_lock(&lock);
	peer = &known[rank];
	now = ww_mpi_now_ns();
	if (!peer->is_found && now >= peer->look_ns) {
		peer->is_found = get_page(rank, peer);
		peer->wait_ns = peer->wait_ns ? peer->wait_ns * 2 : LOOK_FIRST_NS;
		peer->wait_ns = peer->wait_ns < LOOK_MOST_NS ? peer->wait_ns : LOOK_MOST_NS;
		peer->look_ns = now + peer->wait_ns;
	}
	is_found = known[rank].is_found;
	*out_peer = known[rank].peer;
	pthread_mutex_unlock(&lock);
	return is_found;
}

bool ww_mpi_peer_find(MPI_Comm comm, int rank, struct ww_mpi_peer *out_peer)
{
	if (!ww_mpi_is_announced())
		return false;
	rank = find_in_world(comm, rank);
	return rank >= 0 && rank != world_rank && ww_mpi_peer_find_rank(rank, out_peer);
}

const struct ww_mpi_words *ww_mpi_peer_words(int rank)
{
	return &known[rank].page->words;
}

bool ww_mpi_peer_is_running(int rank)
{
	const struct page *page = known[rank].page;
	unsigned long long time;

	errno = 0;
	time = start_time_of(page->pid);
	/* Where it cannot be read, the process counts as running. */
	return time ? time == page->start_time : errno && errno != ENOENT && errno != ESRCH;
}

void ww_mpi_peer_finish(void)
{
	pthread_mutex_lock(&lock);
	ww_mpi_groups_announce(NULL);
	own_page = ww_memory_unref(own_page);
	for (int i = 0; known && i < world_size; i++) {
		known[i].memory = ww_memory_unref(known[i].memory);
		known[i].is_found = false;
	}
	pthread_mutex_unlock(&lock);
}
