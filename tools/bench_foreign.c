/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_foreign.c - the group `foreign`: memory that CUDA's own calls have allocated, shared by ours and by CUDA's
 *
 * This process allocates, wraps and exports; its child, the importer (bench_foreign_import.c), opens. Only a GPU's memory
 * is foreign: of the CPU's everything can be made by us.
 */
#include "bench_foreign.h"

#include <stdio.h>
#include <string.h>

#include "broker.h"
#include "nest.h"

struct foreign {
	struct bench *bench;
	struct nest nest;
	ww_broker *broker;
	struct cuda cuda;
	bool has_pools;

	/* What the importer opens. */
	struct foreign_folder *folder;
	int folder_fd;
	ww_CUdeviceptr legacy;
	ww_memory *wrapped;
	ww_CUmemoryPool pool;
	int pool_fd;
	ww_CUdeviceptr pooled;
	ww_memory *wrapped_pooled;
	struct child importer;
};

/* A broker that was left behind by a kill goes soon; what a driver's descriptors seem to hold is not in the way. */
static const char settings[] = "[broker]\n"
			       "idle_s = 1\n"
			       "[limits]\n"
			       "host_bytes = 1024T\n";

static void own_foreign(struct foreign *foreign)
{
	struct cuda *cuda = &foreign->cuda;

	child_fini(&foreign->importer);
	ww_memory_unref(foreign->wrapped_pooled);
	ww_memory_unref(foreign->wrapped);
	ww_broker_unref(foreign->broker);
	if (foreign->pooled)
		cuda_pool_free(cuda, foreign->pooled);
	if (foreign->pool)
		cuda->cuMemPoolDestroy(foreign->pool);
	if (foreign->legacy)
		cuda->cuMemFree(foreign->legacy);
	cuda_close(cuda);
	own_fd(&foreign->pool_fd);
	mail_close(foreign->folder, sizeof(*foreign->folder));
	own_fd(&foreign->folder_fd);
	nest_close(&foreign->nest);
}

static int add(struct foreign *foreign, const char *name, struct samples *ours,
	struct samples *floor, bench_goal *goal)
{
	char full[BENCH_NAME_BYTES];

	snprintf(full, sizeof(full), "foreign.%s", name);
	return bench_add(foreign->bench, full, ours, floor, goal);
}

/* --- what the owner does --- */

static int wrap(const struct foreign *foreign, ww_CUdeviceptr address, uint64_t bytes,
	ww_memory **out_memory)
{
	if (ww_memory_wrap(foreign->bench->device, (void *)(uintptr_t)address, bytes, NULL,
		    out_memory) != WW_OK)
		return complain_record("cannot wrap memory");
	return 0;
}

/* Of an allocation that nobody has wrapped or exported before. */
static int name_fresh(void *context, enum bench_way way, uint64_t *out_ns)
{
	const struct foreign *foreign = context;
	const struct cuda *cuda = &foreign->cuda;
	OWN(memory) ww_memory *memory = NULL;
	ww_CUipcMemHandle handle;
	ww_CUdeviceptr address;
	uint64_t start;
	int result;

	if (CUDA_CALL(cuda, cuMemAlloc, &address, FOREIGN_BYTES))
		return -1;
	start = link_now_ns();
	if (way == BENCH_RAW)
		result = CUDA_CALL(cuda, cuIpcGetMemHandle, &handle, address);
	else
		result = wrap(foreign, address + FOREIGN_OFFSET, 0, &memory);
	*out_ns = link_now_ns() - start;
	memory = ww_memory_unref(memory);
	return CUDA_CALL(cuda, cuMemFree, address) || result ? -1 : 0;
}

/* Of one that is wrapped, another part. */
static int name_again(void *context, enum bench_way way, uint64_t *out_ns)
{
	const struct foreign *foreign = context;
	ww_memory *memory = NULL;
	ww_CUipcMemHandle handle;
	uint64_t start = link_now_ns();
	int result;

	if (way == BENCH_RAW)
		result = CUDA_CALL(&foreign->cuda, cuIpcGetMemHandle, &handle, foreign->legacy);
	else
		result = wrap(foreign, foreign->legacy, FOREIGN_OFFSET, &memory);
	*out_ns = link_now_ns() - start;
	ww_memory_unref(memory);
	return result;
}

static int export_once(const struct foreign *foreign, ww_memory *memory, struct ww_token *out_token)
{
	const struct ww_export_params params = {
		.size = sizeof(params),
		.access = WW_ACCESS_WRITE,
	};

	if (ww_memory_export(memory, foreign->broker, &params, out_token) != WW_OK)
		return complain_record("cannot export wrapped memory");
	return 0;
}

/* A first token, for which the broker gets the memory; the handle that it needs is there. */
static int export_fresh(void *context, enum bench_way way, uint64_t *out_ns)
{
	const struct foreign *foreign = context;
	const struct cuda *cuda = &foreign->cuda;
	ww_memory *memory = NULL;
	struct ww_token token;
	ww_CUdeviceptr address;
	uint64_t start;
	int result;

	*out_ns = 0;
	if (way == BENCH_RAW)
		return 0;
	if (CUDA_CALL(cuda, cuMemAlloc, &address, FOREIGN_BYTES))
		return -1;
	result = wrap(foreign, address, 0, &memory);
	start = link_now_ns();
	if (!result)
		result = export_once(foreign, memory, &token);
	*out_ns = link_now_ns() - start;
	ww_memory_unref(memory);
	return CUDA_CALL(cuda, cuMemFree, address) || result ? -1 : 0;
}

static int measure_owner(struct foreign *foreign)
{
	static const struct {
		const char *name;
		bench_turn turn;
		bool has_floor;
	} parts[] = {
		{"wrap", name_fresh, true},
		{"wrap.again", name_again, true},
		{"export", export_fresh, false},
	};
	int result = 0;

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]) && !result; i++) {
		struct samples samples[BENCH_WAYS] = {{0}, {0}};

		result = bench_measure(foreign->bench, parts[i].turn, foreign, samples);
		if (!result)
			result = add(foreign, parts[i].name, &samples[BENCH_OURS],
				parts[i].has_floor ? &samples[BENCH_RAW] : NULL, NULL);
		samples_fini(&samples[BENCH_OURS]);
		samples_fini(&samples[BENCH_RAW]);
	}
	return result;
}

/* --- what the importer does --- */

static int allocate_pooled(struct foreign *foreign)
{
	struct cuda *cuda = &foreign->cuda;

	foreign->has_pools = cuda_has_pools(cuda);
	if (!foreign->has_pools) {
		say("foreign.pool.* is skipped: pools of %s cannot be shared",
			foreign->bench->info.selector);
		return 0;
	}
	if (cuda_pool_create(cuda, &foreign->pool, &foreign->pool_fd) ||
		cuda_pool_alloc(cuda, foreign->pool, FOREIGN_BYTES, &foreign->pooled) ||
		CUDA_CALL(cuda, cuMemPoolExportPointer, &foreign->folder->data, foreign->pooled))
		return -1;
	if (wrap(foreign, foreign->pooled, 0, &foreign->wrapped_pooled))
		return -1;
	return export_once(foreign, foreign->wrapped_pooled, &foreign->folder->pooled);
}

static int allocate(struct foreign *foreign)
{
	struct cuda *cuda = &foreign->cuda;

	if (CUDA_CALL(cuda, cuMemAlloc, &foreign->legacy, FOREIGN_BYTES) ||
		CUDA_CALL(cuda, cuIpcGetMemHandle, &foreign->folder->handle, foreign->legacy) ||
		wrap(foreign, foreign->legacy + FOREIGN_OFFSET, 0, &foreign->wrapped) ||
		export_once(foreign, foreign->wrapped, &foreign->folder->token))
		return -1;
	return allocate_pooled(foreign);
}

static int open_foreign(struct foreign *foreign)
{
	struct ww_broker_params params = {.size = sizeof(params), .flags = WW_BROKER_NO_START};
	void *start = NULL;

	if (nest_open(&foreign->nest, settings))
		return -1;
	params.address = foreign->nest.address;
	if (ww_broker_open(&params, &foreign->broker) != WW_OK)
		return complain_record("cannot connect to the broker");
	if (mail_create(sizeof(*foreign->folder), &foreign->folder_fd, &start))
		return -1;
	foreign->folder = start;
	return cuda_open(&foreign->cuda, foreign->bench->info.index) || allocate(foreign) ? -1 : 0;
}

static int send_memory(struct foreign *foreign)
{
	struct link_message message = {.kind = LINK_MEMORY};
	OWN(fd) int fd = -1;

	if (ww_memory_export_fd(foreign->wrapped, WW_ACCESS_WRITE, &fd, &message.description) !=
		WW_OK)
		return complain_record("cannot export wrapped memory");
	return child_send(&foreign->importer, &message, fd);
}

static int spawn_importer(struct foreign *foreign)
{
	const struct bench *bench = foreign->bench;
	char iterations[NUMBER_BYTES];
	char budget[NUMBER_BYTES];
	struct child_plan plan = {
		.name = "the importer",
		.arguments = {"bench-child", "foreign", bench->info.selector, foreign->nest.address,
			iterations, budget, foreign->has_pools ? "pools" : "alone"},
		.fds = {foreign->folder_fd},
		.fd_count = 1,
		.timeout_ns = FOREIGN_ANSWER_NS + bench->budget_ns,
	};

	snprintf(iterations, sizeof(iterations), "%llu", (unsigned long long)bench->iterations);
	snprintf(budget, sizeof(budget), "%llu", (unsigned long long)bench->budget_ns);
	if (foreign->has_pools)
		plan.fds[plan.fd_count++] = foreign->pool_fd;
	return child_spawn(&foreign->importer, &plan) || send_memory(foreign) ? -1 : 0;
}

struct pair {
	struct samples ours[2];
	struct samples floor[2];
};

static void own_pair(struct pair *pair)
{
	for (int i = 0; i < 2; i++) {
		samples_fini(&pair->ours[i]);
		samples_fini(&pair->floor[i]);
	}
}

static int take_series(struct foreign *foreign, enum foreign_series series, struct pair *pair)
{
	struct link_message message = {.kind = LINK_GO, .numbers = {series}};
	uint64_t count;

	if (child_send(&foreign->importer, &message, -1) ||
		child_receive(&foreign->importer, LINK_READY, &message, NULL))
		return -1;
	count = message.numbers[0];
	for (uint64_t i = 0; i < count; i++) {
		if (child_receive(&foreign->importer, LINK_SAMPLE, &message, NULL) ||
			samples_add(&pair->ours[0], message.numbers[0]) ||
			samples_add(&pair->ours[1], message.numbers[1]) ||
			samples_add(&pair->floor[0], message.numbers[2]) ||
			samples_add(&pair->floor[1], message.numbers[3]))
			return -1;
	}
	return 0;
}

static int measure_importer(struct foreign *foreign)
{
	static const struct {
		const char *import;
		const char *release;
		bench_goal *goal;
	} names[] = {
		[FOREIGN_FIRST] = {"import", "release", bench_foreign_goal},
		[FOREIGN_TOKEN] = {"import.token", "release.token", NULL},
		[FOREIGN_AGAIN] = {"import.again", "release.again", bench_mapped_goal},
		[FOREIGN_POOL] = {"pool.import", "pool.release", NULL},
	};
	const struct link_message end = {.kind = LINK_GO, .numbers = {FOREIGN_END}};

	if (spawn_importer(foreign))
		return -1;
	for (int series = 0; series < FOREIGN_END; series++) {
		OWN(pair) struct pair pair = {0};

		if (series == FOREIGN_POOL && !foreign->has_pools)
			continue;
		if (take_series(foreign, series, &pair) ||
			add(foreign, names[series].import, &pair.ours[0], &pair.floor[0],
				names[series].goal) ||
			add(foreign, names[series].release, &pair.ours[1], &pair.floor[1], NULL))
			return complain("measuring foreign.%s failed", names[series].import);
	}
	if (child_send(&foreign->importer, &end, -1))
		return -1;
	return child_finish(&foreign->importer, 0);
}

int bench_foreign(struct bench *bench)
{
	OWN(foreign)
	struct foreign foreign = {
		.bench = bench,
		.nest = NEST_NONE,
		.folder_fd = -1,
		.pool_fd = -1,
		.importer = CHILD_NONE,
	};

	if (bench->info.backend != WW_BACKEND_CUDA ||
		!(bench->info.capabilities & WW_CAP_FOREIGN)) {
		say("foreign.* is skipped: nobody but the library makes memory of %s that processes "
		    "can share",
			bench->info.selector);
		bench->groups_skipped++;
		return 0;
	}
	if (open_foreign(&foreign) || measure_owner(&foreign) || measure_importer(&foreign))
		return complain("measuring memory of others failed");
	return 0;
}
