/* SPDX-License-Identifier: Apache-2.0 */
/*
 * foreign.c - the suite `foreign`: memory that CUDA's own calls have allocated, shared by ours and
 * by CUDA's
 *
 * The bench's own process allocates, wraps and exports; a child opens. But for the case in which
 * memory is to be mapped already, each turn finds it unknown to the child, by our calls as by the
 * driver's, and leaves it so. Only a GPU's memory is foreign: of the CPU's everything can be made
 * by us.
 */
#include "bench/bench.h"

#define BYTES  (UINT64_C(4) << 20)
#define OFFSET (UINT64_C(1) << 20) /* of what is wrapped in its allocation */

/* What names the memory, on the board. A descriptor of the wrapped one follows over the link. */
struct board {
	struct ww_token token;
	struct ww_token pooled;
	ww_CUipcMemHandle handle;
	ww_CUmemPoolPtrExportData data;
};

/* Of this process: what the child opens. */
static struct {
	ww_CUdeviceptr legacy;
	ww_memory *wrapped;
	ww_CUdeviceptr pooled;
	ww_memory *wrapped_pooled;
} lent;

static int wrap(struct bench *bench, ww_CUdeviceptr address, uint64_t bytes, ww_memory **out_memory)
{
	return bench_expect(ww_memory_wrap(bench->device, (void *)(uintptr_t)address, bytes, NULL,
				    out_memory),
		"cannot wrap memory");
}

/* --- what the owner does --- */

/* Of an allocation that no call has wrapped or exported before. */
static int name_fresh(struct bench *bench, uint64_t out_ns[])
{
	const struct cuda *cuda = &bench->cuda;
	ww_memory *memory = NULL;
	ww_CUipcMemHandle handle;
	ww_CUdeviceptr address;
	uint64_t at;
	int result;

	if (CUDA_CALL(cuda, cuMemAlloc, &address, BYTES))
		return -1;
	at = link_now_ns();
	if (bench->way == BENCH_RAW)
		result = CUDA_CALL(cuda, cuIpcGetMemHandle, &handle, address);
	else
		result = wrap(bench, address + OFFSET, 0, &memory);
	out_ns[0] = bench_lap(&at);
	ww_memory_unref(memory);
	return CUDA_CALL(cuda, cuMemFree, address) || result ? -1 : 0;
}

/* Of one that is wrapped, another part. */
static int name_again(struct bench *bench, uint64_t out_ns[])
{
	ww_memory *memory = NULL;
	ww_CUipcMemHandle handle;
	uint64_t at = link_now_ns();
	int result;

	if (bench->way == BENCH_RAW)
		result = CUDA_CALL(&bench->cuda, cuIpcGetMemHandle, &handle, lent.legacy);
	else
		result = wrap(bench, lent.legacy, OFFSET, &memory);
	out_ns[0] = bench_lap(&at);
	ww_memory_unref(memory);
	return result;
}

/* A first token, for which the broker gets the memory; the handle that it needs is there. */
static int export_fresh(struct bench *bench, uint64_t out_ns[])
{
	const struct cuda *cuda = &bench->cuda;
	ww_memory *memory = NULL;
	struct ww_token token;
	ww_CUdeviceptr address;
	uint64_t at;
	int result;

	if (CUDA_CALL(cuda, cuMemAlloc, &address, BYTES))
		return -1;
	result = wrap(bench, address, 0, &memory);
	at = link_now_ns();
	if (!result)
		result = bench_export(bench, memory, &token);
	out_ns[0] = bench_lap(&at);
	ww_memory_unref(memory);
	return CUDA_CALL(cuda, cuMemFree, address) || result ? -1 : 0;
}

static int open_foreign(struct bench *bench)
{
	struct cuda *cuda = &bench->cuda;
	struct board *board = bench->board;

	if (CUDA_CALL(cuda, cuMemAlloc, &lent.legacy, BYTES) ||
		CUDA_CALL(cuda, cuIpcGetMemHandle, &board->handle, lent.legacy) ||
		wrap(bench, lent.legacy + OFFSET, 0, &lent.wrapped) ||
		bench_export(bench, lent.wrapped, &board->token))
		return -1;
	if (!bench->has_pool)
		return 0;
	if (cuda_pool_alloc(cuda, bench->pool, BYTES, &lent.pooled) ||
		CUDA_CALL(cuda, cuMemPoolExportPointer, &board->data, lent.pooled) ||
		wrap(bench, lent.pooled, 0, &lent.wrapped_pooled))
		return -1;
	return bench_export(bench, lent.wrapped_pooled, &board->pooled);
}

static void close_foreign(struct bench *bench)
{
	ww_memory_unref(lent.wrapped_pooled);
	ww_memory_unref(lent.wrapped);
	if (lent.pooled)
		cuda_pool_free(&bench->cuda, lent.pooled);
	if (lent.legacy)
		bench->cuda.cuMemFree(lent.legacy);
}

static int lend_memory(struct bench *bench, ww_memory **out_memory)
{
	(void)bench;
	*out_memory = ww_memory_ref(lent.wrapped);
	return 0;
}

/* --- what the importer does --- */

/* What stays mapped in the case import.again. */
static ww_memory *kept;
static ww_CUdeviceptr kept_address;

static int open_handle(struct bench *bench, ww_CUdeviceptr *out_address)
{
	const struct board *board = bench->board;

	return CUDA_CALL(&bench->cuda, cuIpcOpenMemHandle, out_address, board->handle,
		WW_CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
}

/* Takes @at, the time before the import. */
static int time_release(ww_memory *memory, uint64_t at, uint64_t out_ns[])
{
	out_ns[0] = bench_lap(&at);
	ww_memory_unref(memory);
	out_ns[1] = bench_lap(&at);
	return 0;
}

static int by_descriptor(struct bench *bench, uint64_t out_ns[])
{
	uint64_t at = link_now_ns();
	ww_memory *memory = NULL;

	if (bench_expect(ww_memory_import_fd(bench->device, bench->lent_fd, &bench->lent,
				 WW_PARAMS(struct ww_import_params, .access = WW_ACCESS_WRITE),
				 &memory),
		    "cannot import memory of others"))
		return -1;
	return time_release(memory, at, out_ns);
}

static int by_token(struct bench *bench, uint64_t out_ns[])
{
	const struct board *board = bench->board;
	uint64_t at = link_now_ns();
	ww_memory *memory = NULL;

	return bench_import(bench, &board->token, &memory) ? -1 : time_release(memory, at, out_ns);
}

static int by_pool_token(struct bench *bench, uint64_t out_ns[])
{
	const struct board *board = bench->board;
	uint64_t at = link_now_ns();
	ww_memory *memory = NULL;

	return bench_import(bench, &board->pooled, &memory) ? -1 : time_release(memory, at, out_ns);
}

static int raw_by_handle(struct bench *bench, uint64_t out_ns[])
{
	uint64_t at = link_now_ns();
	ww_CUdeviceptr address;

	if (open_handle(bench, &address))
		return -1;
	out_ns[0] = bench_lap(&at);
	if (CUDA_CALL(&bench->cuda, cuIpcCloseMemHandle, address))
		return -1;
	out_ns[1] = bench_lap(&at);
	return 0;
}

static int raw_by_pool(struct bench *bench, uint64_t out_ns[])
{
	const struct cuda *cuda = &bench->cuda;
	struct board *board = bench->board;
	uint64_t at = link_now_ns();
	ww_CUmemoryPool pool;
	ww_CUdeviceptr address;

	if (cuda_pool_import(cuda, BENCH_POOL_FD, &pool) ||
		CUDA_CALL(cuda, cuMemPoolImportPointer, &address, pool, &board->data))
		return -1;
	out_ns[0] = bench_lap(&at);
	if (cuda_pool_free(cuda, address) || CUDA_CALL(cuda, cuMemPoolDestroy, pool))
		return -1;
	out_ns[1] = bench_lap(&at);
	return 0;
}

static int open_again(struct bench *bench)
{
	const struct board *board = bench->board;

	if (bench_import(bench, &board->token, &kept))
		return -1;
	return open_handle(bench, &kept_address);
}

static int close_again(struct bench *bench)
{
	ww_memory_unref(kept);
	if (kept_address)
		bench->cuda.cuIpcCloseMemHandle(kept_address);
	return 0;
}

#define RELEASE .series = BENCH_SERIES(BENCH_OURS, 1), .floor = BENCH_SERIES(BENCH_RAW, 1)
#define FLOOR   .floor = BENCH_SERIES(BENCH_RAW, 0)

static const struct bench_case cases[] = {
	{.rows = {{"wrap", "us", FLOOR}}, .turns = {name_fresh, name_fresh}},
	{.rows = {{"wrap.again", "us", FLOOR}}, .turns = {name_again, name_again}},
	{.rows = {{"export", "us"}}, .turns = {export_fresh}},
	{.rows = {{"import", "us", BENCH_GOAL_FOREIGN, FLOOR}, {"release", "us", RELEASE}},
		.turns = {by_descriptor, raw_by_handle},
		.parts = 2,
		.lend = lend_memory},
	{.rows = {{"import.token", "us", FLOOR}, {"release.token", "us", RELEASE}},
		.turns = {by_token, raw_by_handle},
		.parts = 2,
		.lend = lend_memory},
	{.rows = {{"import.again", "us", BENCH_GOAL_MAPPED, FLOOR},
		 {"release.again", "us", RELEASE}},
		.turns = {by_token, raw_by_handle},
		.parts = 2,
		.open = open_again,
		.close = close_again,
		.lend = lend_memory},
	{.rows = {{"pool.import", "us", FLOOR}, {"pool.release", "us", RELEASE}},
		.needs_pool = true,
		.turns = {by_pool_token, raw_by_pool},
		.parts = 2,
		.lend = lend_memory},
};

const struct bench_suite bench_foreign = {
	.name = "foreign",
	.summary = "memory of CUDA's own calls: wrap, export, import",
	.needs = BENCH_NEED_CUDA | BENCH_NEED_POOL | BENCH_NEED_BROKER,
	.is_for_gpus = true,
	.capabilities = WW_CAP_FOREIGN,
	.lack = "only the library makes memory there that processes can share",
	.board_bytes = sizeof(struct board),
	BENCH_LIST(cases, cases, case_count),
	.open = open_foreign,
	.close = close_foreign,
};
