/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fakecuda_test_stream.c - the rules of the fake driver that need streams, events and pools
 *
 * Nothing sleeps: a stream is held back by a value that it waits for, and let go by writing it.
 */
#include "fakecuda_test.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct gate gate_new(void)
{
	struct gate gate;
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	OK(cu.cuMemHostRegister(page, 4096, WW_CU_MEMHOSTREGISTER_DEVICEMAP));
	OK(cu.cuMemHostGetDevicePointer(&gate.address, page, 0));
	gate.value = page;
	return gate;
}

void gate_close_on(const struct gate *gate, ww_CUstream stream)
{
	OK(cu.cuStreamWaitValue64(stream, gate->address, 1, WW_CU_STREAM_WAIT_VALUE_EQ));
}

void gate_open(const struct gate *gate)
{
	__atomic_store_n(gate->value, 1, __ATOMIC_RELEASE);
}

void gate_delete(const struct gate *gate)
{
	OK(cu.cuMemHostUnregister(gate->value));
	munmap(gate->value, 4096);
}

ww_CUstream stream_new(unsigned int flags)
{
	ww_CUstream stream;
	OK(cu.cuStreamCreate(&stream, flags));
	return stream;
}

static void do_nothing(void *user_data)
{
	(void)user_data;
}

void let_others_run(void)
{
	ww_CUstream stream = stream_new(WW_CU_STREAM_NON_BLOCKING);
	for (int i = 0; i < 50; i++) {
		OK(cu.cuLaunchHostFunc(stream, do_nothing, NULL));
		OK(cu.cuStreamSynchronize(stream));
	}
	OK(cu.cuStreamDestroy(stream));
}

/* ---- order ---- */

static void add_digit(void *user_data)
{
	unsigned int *number = user_data;
	*number = *number * 10 + 1;
}

static void add_two(void *user_data)
{
	unsigned int *number = user_data;
	*number = *number * 10 + 2;
}

TEST(test_a_stream_keeps_its_order)
{
	unsigned int number = 0;

	ww_CUstream stream = stream_new(WW_CU_STREAM_NON_BLOCKING);
	OK(cu.cuLaunchHostFunc(stream, add_digit, &number));
	OK(cu.cuLaunchHostFunc(stream, add_two, &number));
	OK(cu.cuLaunchHostFunc(stream, add_digit, &number));
	OK(cu.cuStreamSynchronize(stream));
	assert_int_equal(number, 121);
	OK(cu.cuStreamQuery(stream));
	FAILS(cu.cuLaunchHostFunc(stream, NULL, NULL), INVALID_VALUE);
	OK(cu.cuStreamDestroy(stream));
	FAILS(cu.cuStreamDestroy(NULL), INVALID_HANDLE);
	FAILS(cu.cuStreamDestroy(WW_CU_STREAM_PER_THREAD), INVALID_HANDLE);
	FAILS(cu.cuStreamCreate(&stream, 2), INVALID_VALUE);
	FAILS(cu.cuStreamCreate(NULL, 0), INVALID_VALUE);
	OK(cu.cuStreamCreateWithPriority(&stream, 0, -99));
	OK(cu.cuStreamDestroy(stream));
}

static void call_driver(void *user_data)
{
	int *results = user_data;
	size_t bytes;
	results[0] = cu.cuMemGetInfo(&bytes, &bytes);
	results[1] = cu.cuDeviceGetCount(&results[2]);
}

TEST(test_host_functions_must_not_call)
{
	int results[3] = {0};

	OK(cu.cuLaunchHostFunc(NULL, call_driver, results));
	OK(cu.cuStreamSynchronize(NULL));
	assert_int_equal(results[0], WW_CUDA_ERROR_NOT_PERMITTED);
	assert_int_equal(results[1], WW_CUDA_ERROR_NOT_PERMITTED);
}

TEST(test_legacy_stream_orders_blocking_ones)
{
	struct gate gate = gate_new();
	ww_CUstream held = stream_new(WW_CU_STREAM_DEFAULT);
	ww_CUstream other = stream_new(WW_CU_STREAM_DEFAULT);
	unsigned int number = 0;

	gate_close_on(&gate, held);
	OK(cu.cuLaunchHostFunc(WW_CU_STREAM_LEGACY, add_digit, &number));
	OK(cu.cuLaunchHostFunc(other, add_two, &number));
	let_others_run();
	FAILS(cu.cuStreamQuery(NULL), NOT_READY);
	FAILS(cu.cuStreamQuery(other), NOT_READY);
	gate_open(&gate);
	OK(cu.cuStreamSynchronize(other));
	assert_int_equal(number, 12);
	OK(cu.cuStreamDestroy(held));
	OK(cu.cuStreamDestroy(other));
	gate_delete(&gate);
}

/* What a second thread did; the test's own thread looks at it after the join. */
struct errand {
	ww_CUcontext context;
	ww_CUdeviceptr address;
	unsigned int number;
	ww_CUresult result;
};

static void *use_thread_stream(void *argument)
{
	struct errand *errand = argument;
	errand->result = cu.cuCtxPushCurrent(errand->context);
	if (!errand->result)
		errand->result = cu.cuLaunchHostFunc(WW_CU_STREAM_PER_THREAD, add_two,
			&errand->number);
	if (!errand->result)
		errand->result = cu.cuStreamSynchronize(WW_CU_STREAM_PER_THREAD);
	return NULL;
}

TEST(test_each_thread_has_a_stream)
{
	struct errand errand = {.result = WW_CUDA_ERROR_UNKNOWN};
	pthread_t thread;

	struct gate gate = gate_new();
	OK(cu.cuCtxGetCurrent(&errand.context));
	gate_close_on(&gate, WW_CU_STREAM_PER_THREAD);
	assert_int_equal(pthread_create(&thread, NULL, use_thread_stream, &errand), 0);
	pthread_join(thread, NULL);
	OK(errand.result);
	assert_int_equal(errand.number, 2);
	FAILS(cu.cuStreamQuery(WW_CU_STREAM_PER_THREAD), NOT_READY);
	gate_open(&gate);
	OK(cu.cuStreamSynchronize(WW_CU_STREAM_PER_THREAD));
	gate_delete(&gate);
}

TEST(test_stream_knows_its_context)
{
	ww_CUcontext own;
	ww_CUcontext context;

	ww_CUstream stream = stream_new(0);
	OK(cu.cuCtxGetCurrent(&own));
	OK(cu.cuStreamGetCtx(NULL, &context));
	assert_ptr_equal(context, own);
	OK(cu.cuCtxPopCurrent(NULL));
	OK(cu.cuStreamGetCtx(stream, &context));
	assert_ptr_equal(context, own);
	FAILS(cu.cuStreamGetCtx(NULL, &context), INVALID_CONTEXT);
	OK(cu.cuCtxPushCurrent(own));
	OK(cu.cuStreamDestroy(stream));
}

/* ---- values ---- */

TEST(test_values_are_written)
{
	ww_CUdeviceptr at;
	uint64_t seen;
	static uint64_t plain;

	OK(cu.cuMemAlloc(&at, 64));
	OK(cu.cuStreamWriteValue64(NULL, at, 0x1122334455667788, 0));
	OK(cu.cuStreamWriteValue32(NULL, at + 4, 9, 0));
	OK(cu.cuMemcpyDtoH(&seen, at, sizeof(seen)));
	assert_int_equal(seen, 0x0000000955667788);
	FAILS(cu.cuStreamWriteValue64(NULL, at + 4, 1, 0), INVALID_VALUE);
	FAILS(cu.cuStreamWriteValue32(NULL, at + 2, 1, 0), INVALID_VALUE);
	FAILS(cu.cuStreamWriteValue64(NULL, at, 1, 1), INVALID_VALUE);
	FAILS(cu.cuStreamWriteValue64(NULL, (uintptr_t)&plain, 1, 0), INVALID_VALUE);
	FAILS(cu.cuStreamWaitValue64(NULL, (uintptr_t)&plain, 0, 0), INVALID_VALUE);
	FAILS(cu.cuStreamWaitValue64(NULL, at, 0, 4), INVALID_VALUE);
	FAILS(cu.cuStreamWaitValue64(NULL, at, 0, WW_CU_STREAM_WAIT_VALUE_FLUSH), NOT_SUPPORTED);
	OK(cu.cuMemFree(at));
}

TEST(test_conditions_of_waits)
{
	static const struct {
		uint64_t wanted;
		unsigned int flags;
		uint64_t not_yet;
		uint64_t met;
	} cases[] = {
		{5, WW_CU_STREAM_WAIT_VALUE_GEQ, 4, 6},
		{5, WW_CU_STREAM_WAIT_VALUE_GEQ, UINT64_MAX, 5}, /* cyclic */
		{5, WW_CU_STREAM_WAIT_VALUE_EQ, 6, 5},
		{6, WW_CU_STREAM_WAIT_VALUE_AND, 9, 2},
		{0, WW_CU_STREAM_WAIT_VALUE_NOR, UINT64_MAX, 7},
	};

	struct gate gate = gate_new();
	ww_CUstream stream = stream_new(WW_CU_STREAM_NON_BLOCKING);
	for (size_t i = 0; i < 2 * sizeof(cases) / sizeof(cases[0]); i++) {
		size_t at = i / 2;
		__atomic_store_n(gate.value, cases[at].not_yet, __ATOMIC_RELEASE);
		if (i % 2)
			OK(cu.cuStreamWaitValue64(stream, gate.address, cases[at].wanted,
				cases[at].flags));
		else
			OK(cu.cuStreamWaitValue32(stream, gate.address, (uint32_t)cases[at].wanted,
				cases[at].flags));
		let_others_run();
		FAILS(cu.cuStreamQuery(stream), NOT_READY);
		__atomic_store_n(gate.value, cases[at].met, __ATOMIC_RELEASE);
		OK(cu.cuStreamSynchronize(stream));
	}
	OK(cu.cuStreamDestroy(stream));
	gate_delete(&gate);
}

TEST(test_a_wait_blocks_its_stream_only)
{
	ww_CUdeviceptr flag;
	ww_CUdeviceptr data;

	ww_CUstream held = stream_new(WW_CU_STREAM_NON_BLOCKING);
	ww_CUstream other = stream_new(WW_CU_STREAM_NON_BLOCKING);
	OK(cu.cuMemAlloc(&flag, 8));
	OK(cu.cuMemAlloc(&data, 4));
	OK(cu.cuMemsetD8(flag, 0, 8));
	write_word(data, 1);
	OK(cu.cuStreamWaitValue64(held, flag, 1, WW_CU_STREAM_WAIT_VALUE_GEQ));
	OK(cu.cuMemsetD32Async(data, 2, 1, held));
	OK(cu.cuMemsetD32Async(data, 3, 1, other));
	OK(cu.cuStreamSynchronize(other));
	assert_int_equal(read_word(data), 3);
	FAILS(cu.cuStreamQuery(held), NOT_READY);
	OK(cu.cuStreamWriteValue64(other, flag, 1, 0));
	OK(cu.cuStreamSynchronize(held));
	assert_int_equal(read_word(data), 2);
	OK(cu.cuStreamDestroy(held));
	OK(cu.cuStreamDestroy(other));
	OK(cu.cuMemFree(flag));
	OK(cu.cuMemFree(data));
}

static void *free_memory(void *argument)
{
	struct errand *errand = argument;
	errand->result = cu.cuMemFree(errand->address);
	return NULL;
}

TEST(test_free_blocks_behind_a_wait)
{
	struct errand errand = {.result = WW_CUDA_ERROR_UNKNOWN};
	struct fakecuda_live live;
	pthread_t thread;

	struct gate gate = gate_new();
	ww_CUstream held = stream_new(WW_CU_STREAM_NON_BLOCKING);
	OK(cu.cuMemAlloc(&errand.address, 100));
	gate_close_on(&gate, held);
	uint64_t before = cu.call_count("cuMemFree");
	assert_int_equal(pthread_create(&thread, NULL, free_memory, &errand), 0);
	while (cu.call_count("cuMemFree") == before)
		sched_yield();
	cu.live(&live);
	assert_int_equal(live.allocations, 1);

	/* Everything else goes on. */
	struct mapped mapped = map_new(GRANULARITY, 0);
	unmap(&mapped);
	gate_open(&gate);
	pthread_join(thread, NULL);
	OK(errand.result);
	OK(cu.cuStreamDestroy(held));
	gate_delete(&gate);
}

TEST(test_batches)
{
	ww_CUstreamBatchMemOpParams ops[4];
	uint64_t seen;
	ww_CUdeviceptr at;

	OK(cu.cuMemAlloc(&at, 8));
	memset(ops, 0, sizeof(ops));
	ops[0].writeValue.operation = WW_CU_STREAM_MEM_OP_WRITE_VALUE_64;
	ops[0].writeValue.address = at;
	ops[0].writeValue.value64 = 5;
	ops[1].operation = WW_CU_STREAM_MEM_OP_BARRIER;
	ops[2].waitValue.operation = WW_CU_STREAM_MEM_OP_WAIT_VALUE_64;
	ops[2].waitValue.address = at;
	ops[2].waitValue.value64 = 5;
	ops[3].writeValue.operation = WW_CU_STREAM_MEM_OP_WRITE_VALUE_32;
	ops[3].writeValue.address = at;
	ops[3].writeValue.value = 6;
	OK(cu.cuStreamBatchMemOp(NULL, 4, ops, 0));
	OK(cu.cuMemcpyDtoH(&seen, at, sizeof(seen)));
	assert_int_equal(seen, 6);

	OK(cu.cuStreamBatchMemOp(NULL, 0, ops, 0));
	FAILS(cu.cuStreamBatchMemOp(NULL, 1, ops, 1), INVALID_VALUE);
	FAILS(cu.cuStreamBatchMemOp(NULL, 257, ops, 0), INVALID_VALUE);
	ops[3].operation = 99;
	FAILS(cu.cuStreamBatchMemOp(NULL, 4, ops, 0), INVALID_VALUE);
	ops[3].operation = WW_CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES;
	FAILS(cu.cuStreamBatchMemOp(NULL, 4, ops, 0), NOT_SUPPORTED);
	OK(cu.cuMemFree(at));
}

/* ---- how asynchronous a copy is ---- */

TEST(test_copies_with_plain_memory)
{
	ww_CUdeviceptr at;
	uint32_t word = 1;
	void *pinned;

	struct gate gate = gate_new();
	ww_CUstream stream = stream_new(WW_CU_STREAM_NON_BLOCKING);
	OK(cu.cuMemAlloc(&at, 8));
	OK(cu.cuMemHostAlloc(&pinned, 4, 0));
	*(uint32_t *)pinned = 1;
	gate_close_on(&gate, stream);
	OK(cu.cuMemcpyHtoDAsync(at, &word, 4, stream));      /* taken at the call */
	OK(cu.cuMemcpyHtoDAsync(at + 4, pinned, 4, stream)); /* taken when it runs */
	word = 2;
	*(uint32_t *)pinned = 2;
	FAILS(cu.cuStreamQuery(stream), NOT_READY);
	gate_open(&gate);
	OK(cu.cuMemcpyDtoHAsync(&word, at, 4, stream)); /* waits */
	assert_int_equal(word, 1);
	assert_int_equal(read_word(at + 4), 2);
	OK(cu.cuStreamDestroy(stream));
	OK(cu.cuMemFreeHost(pinned));
	OK(cu.cuMemFree(at));
	gate_delete(&gate);
}

/* ---- faults ---- */

ww_CUcontext breakable_context(void)
{
	ww_CUcontext context;
	OK(cu.cuCtxCreate(&context, 0, 0));
	return context;
}

TEST(test_a_write_to_read_only_memory_faults)
{
	size_t bytes;

	ww_CUcontext context = breakable_context();
	struct mapped mapped = map_new(GRANULARITY, 0);
	write_word(mapped.address, 3);
	set_access(mapped.address, GRANULARITY, 0, WW_CU_MEM_ACCESS_FLAGS_PROT_READ);
	ww_CUstream stream = stream_new(WW_CU_STREAM_NON_BLOCKING);
	OK(cu.cuStreamWriteValue64(stream, mapped.address, 9, 0));
	FAILS(cu.cuStreamSynchronize(stream), LAUNCH_FAILED);
	FAILS(cu.cuMemGetInfo(&bytes, &bytes), LAUNCH_FAILED);
	FAILS(cu.cuCtxSynchronize(), LAUNCH_FAILED);
	FAILS(cu.cuStreamDestroy(stream), LAUNCH_FAILED);
	OK(cu.cuCtxDestroy(context));
	assert_int_equal(read_word(mapped.address), 3);
	unmap(&mapped);
}

TEST(test_memory_unmapped_under_a_wait_faults)
{
	ww_CUcontext context = breakable_context();
	struct mapped mapped = map_new(GRANULARITY, 0);
	ww_CUstream stream = stream_new(WW_CU_STREAM_NON_BLOCKING);
	OK(cu.cuStreamWaitValue64(stream, mapped.address, 1, 0));
	OK(cu.cuMemsetD8Async(mapped.address, 1, 8, stream));
	FAILS(cu.cuStreamQuery(stream), NOT_READY);
	unmap(&mapped);
	FAILS(cu.cuStreamSynchronize(stream), LAUNCH_FAILED);
	OK(cu.cuCtxDestroy(context));
}

TEST(test_a_destroyed_context_drops_its_work)
{
	unsigned int number = 0;
	ww_CUdeviceptr address;
	ww_CUevent event;

	struct gate gate = gate_new();
	ww_CUcontext context = breakable_context();
	ww_CUstream stream = stream_new(WW_CU_STREAM_NON_BLOCKING);
	OK(cu.cuMemAlloc(&address, 100));
	OK(cu.cuEventCreate(&event, 0));
	gate_close_on(&gate, stream);
	OK(cu.cuLaunchHostFunc(stream, add_digit, &number));
	OK(cu.cuCtxDestroy(context));
	assert_int_equal(number, 0);
	FAILS(cu.cuStreamQuery(stream), INVALID_HANDLE);
	FAILS(cu.cuEventQuery(event), INVALID_HANDLE);
	FAILS(cu.cuMemFree(address), INVALID_VALUE);
	gate_delete(&gate);
}

TEST(test_a_destroyed_stream_finishes)
{
	unsigned int number = 0;

	struct gate gate = gate_new();
	ww_CUstream stream = stream_new(WW_CU_STREAM_NON_BLOCKING);
	gate_close_on(&gate, stream);
	OK(cu.cuLaunchHostFunc(stream, add_digit, &number));
	OK(cu.cuStreamDestroy(stream));
	FAILS(cu.cuStreamQuery(stream), INVALID_HANDLE);
	gate_open(&gate);
	OK(cu.cuCtxSynchronize());
	assert_int_equal(number, 1);
	gate_delete(&gate);
}

/* ---- events ---- */

TEST(test_events)
{
	ww_CUevent event;
	ww_CUevent untimed;
	float ms = -1;

	struct gate gate = gate_new();
	ww_CUstream first = stream_new(WW_CU_STREAM_NON_BLOCKING);
	ww_CUstream second = stream_new(WW_CU_STREAM_NON_BLOCKING);
	unsigned int number = 0;
	OK(cu.cuEventCreate(&event, WW_CU_EVENT_DEFAULT));
	OK(cu.cuEventCreate(&untimed, WW_CU_EVENT_DISABLE_TIMING));
	OK(cu.cuEventQuery(event));
	OK(cu.cuEventSynchronize(event));
	FAILS(cu.cuEventElapsedTime(&ms, event, event), INVALID_HANDLE);

	gate_close_on(&gate, first);
	OK(cu.cuLaunchHostFunc(first, add_digit, &number));
	OK(cu.cuEventRecord(event, first));
	OK(cu.cuStreamWaitEvent(second, event, 0));
	OK(cu.cuLaunchHostFunc(second, add_two, &number));
	let_others_run();
	FAILS(cu.cuStreamQuery(second), NOT_READY);
	FAILS(cu.cuEventQuery(event), NOT_READY);
	FAILS(cu.cuEventElapsedTime(&ms, event, event), NOT_READY);
	gate_open(&gate);
	OK(cu.cuStreamSynchronize(second));
	assert_int_equal(number, 12);
	OK(cu.cuEventSynchronize(event));
	OK(cu.cuEventElapsedTime(&ms, event, event));
	assert_true(ms >= 0);

	OK(cu.cuEventRecord(untimed, first));
	OK(cu.cuEventSynchronize(untimed));
	FAILS(cu.cuEventElapsedTime(&ms, event, untimed), INVALID_HANDLE);
	FAILS(cu.cuStreamWaitEvent(first, event, 4), INVALID_VALUE);
	OK(cu.cuEventDestroy(event));
	OK(cu.cuEventDestroy(untimed));
	FAILS(cu.cuEventQuery(event), INVALID_HANDLE);
	FAILS(cu.cuEventCreate(&event, 0x60), INVALID_VALUE);
	FAILS(cu.cuEventCreate(&event, WW_CU_EVENT_INTERPROCESS), INVALID_VALUE);
	OK(cu.cuStreamDestroy(first));
	OK(cu.cuStreamDestroy(second));
	gate_delete(&gate);
}

TEST(test_an_event_belongs_to_its_context)
{
	ww_CUevent event;

	OK(cu.cuEventCreate(&event, 0));
	ww_CUcontext context = breakable_context();
	FAILS(cu.cuEventRecord(event, NULL), INVALID_HANDLE);
	OK(cu.cuStreamWaitEvent(NULL, event, 0));
	OK(cu.cuCtxDestroy(context));
	OK(cu.cuEventDestroy(event));
}

#define IPC_EVENTS 4096

TEST(test_shared_events_are_limited)
{
	const unsigned int flags = WW_CU_EVENT_INTERPROCESS | WW_CU_EVENT_DISABLE_TIMING;
	ww_CUevent *events = calloc(IPC_EVENTS, sizeof(*events));
	ww_CUipcEventHandle handle;
	ww_CUevent another;

	for (int i = 0; i < IPC_EVENTS; i++)
		OK(cu.cuEventCreate(&events[i], flags));
	FAILS(cu.cuEventCreate(&another, flags), OUT_OF_MEMORY);
	OK(cu.cuEventCreate(&another, 0));
	FAILS(cu.cuIpcGetEventHandle(&handle, another), INVALID_HANDLE);
	OK(cu.cuIpcGetEventHandle(&handle, events[0]));
	FAILS(cu.cuIpcOpenEventHandle(&another, handle), INVALID_CONTEXT);
	OK(cu.cuEventDestroy(another));
	for (int i = 0; i < IPC_EVENTS; i++)
		OK(cu.cuEventDestroy(events[i]));
	free(events);
}

/* ---- pools ---- */

static ww_CUmemPoolProps pool_props(int handle_types)
{
	ww_CUmemPoolProps props;
	memset(&props, 0, sizeof(props));
	props.allocType = WW_CU_MEM_ALLOCATION_TYPE_PINNED;
	props.handleTypes = handle_types;
	props.location.type = WW_CU_MEM_LOCATION_TYPE_DEVICE;
	return props;
}

TEST(test_stream_ordered_memory)
{
	ww_CUmemoryPool pool;
	ww_CUmemoryPool current;
	ww_CUmemPoolPtrExportData data = {{0}};
	ww_CUmemGenericAllocationHandle handle;
	ww_CUipcMemHandle legacy;
	ww_CUdeviceptr at;
	int fd;

	ww_CUstream stream = stream_new(WW_CU_STREAM_NON_BLOCKING);
	OK(cu.cuMemAllocAsync(&at, 100, stream));
	OK(cu.cuMemsetD8Async(at, 1, 100, stream));
	FAILS(cu.cuMemsetD8Async(at, 1, 101, stream), INVALID_VALUE);
	OK(cu.cuDeviceGetDefaultMemPool(&pool, 0));
	OK(cu.cuDeviceGetMemPool(&current, 0));
	assert_ptr_equal(pool, current);
	FAILS(cu.cuDeviceGetMemPool(&current, 9), INVALID_DEVICE);
	FAILS(cu.cuMemPoolDestroy(pool), INVALID_VALUE);
	FAILS(cu.cuMemPoolExportPointer(&data, at), INVALID_VALUE);
	FAILS(cu.cuMemPoolExportToShareableHandle(&fd, pool, 1, 0), INVALID_VALUE);
	FAILS(cu.cuMemRetainAllocationHandle(&handle, (void *)(uintptr_t)at), INVALID_VALUE);
	FAILS(cu.cuIpcGetMemHandle(&legacy, at), INVALID_VALUE);
	OK(cu.cuMemFreeAsync(at, stream));
	FAILS(cu.cuMemFreeAsync(at, stream), INVALID_VALUE);
	OK(cu.cuMemAllocAsync(&at, 0, stream));
	assert_int_equal(at, 0);
	OK(cu.cuMemFreeAsync(0, stream));
	OK(cu.cuMemAllocAsync(&at, 100, stream));
	OK(cu.cuMemFree(at));

	/* Freed when its turn comes, not before; ordinary memory may be freed so, too. */
	struct gate gate = gate_new();
	struct fakecuda_live live;
	OK(cu.cuMemAlloc(&at, 100));
	gate_close_on(&gate, stream);
	OK(cu.cuMemFreeAsync(at, stream));
	FAILS(cu.cuMemFree(at), INVALID_VALUE);
	let_others_run();
	cu.live(&live);
	assert_int_equal(live.allocations, 1);
	gate_open(&gate);
	OK(cu.cuStreamSynchronize(stream));
	cu.live(&live);
	assert_int_equal(live.allocations, 0);
	OK(cu.cuStreamDestroy(stream));
	gate_delete(&gate);
}

static uint64_t pool_word(ww_CUmemoryPool pool, ww_CUmemPool_attribute attribute)
{
	uint64_t value = 0;
	OK(cu.cuMemPoolGetAttribute(pool, attribute, &value));
	return value;
}

TEST(test_pools)
{
	ww_CUmemPoolProps props = pool_props(0);
	ww_CUmemAccessDesc access = {{WW_CU_MEM_LOCATION_TYPE_DEVICE, 1}, 3};
	ww_CUmemoryPool pool;
	ww_CUdeviceptr at;
	uint64_t value = 5;

	OK(cu.cuMemPoolCreate(&pool, &props));
	OK(cu.cuMemAllocFromPoolAsync(&at, 100, pool, NULL));
	assert_int_equal(pool_word(pool, WW_CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC), 1);
	assert_int_equal(pool_word(pool, WW_CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 100);
	FAILS(cu.cuMemPoolGetAttribute(pool, 9, &value), INVALID_VALUE);
	OK(cu.cuMemPoolSetAttribute(pool, WW_CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &value));
	assert_int_equal(pool_word(pool, WW_CU_MEMPOOL_ATTR_RELEASE_THRESHOLD), 5);
	FAILS(cu.cuMemPoolSetAttribute(pool, WW_CU_MEMPOOL_ATTR_USED_MEM_HIGH, &value),
		INVALID_VALUE);
	FAILS(cu.cuMemPoolSetAttribute(pool, WW_CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &value),
		INVALID_VALUE);
	OK(cu.cuMemPoolSetAccess(pool, &access, 1));
	access.location.id = 0;
	access.flags = 0;
	FAILS(cu.cuMemPoolSetAccess(pool, &access, 1), INVALID_DEVICE);
	OK(cu.cuMemPoolTrimTo(pool, 0));

	/* Destroyed, but alive until its last allocation is freed; the pages come back as zeros. */
	OK(cu.cuMemsetD8(at, 1, 100));
	OK(cu.cuMemPoolDestroy(pool));
	FAILS(cu.cuMemPoolDestroy(pool), INVALID_VALUE);
	OK(cu.cuMemsetD8(at, 2, 100));
	OK(cu.cuMemFreeAsync(at, NULL));
	OK(cu.cuStreamSynchronize(NULL));
	props.allocType = 0;
	FAILS(cu.cuMemPoolCreate(&pool, &props), INVALID_VALUE);
	props = pool_props(0);
	props.location.id = 9;
	FAILS(cu.cuMemPoolCreate(&pool, &props), INVALID_DEVICE);
}

TEST(test_pools_are_imported)
{
	ww_CUmemPoolProps props = pool_props(WW_CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
	ww_CUmemGenericAllocationHandle handle;
	ww_CUmemPoolPtrExportData data = {{0}};
	ww_CUmemoryPool pool;
	ww_CUmemoryPool imported;
	ww_CUdeviceptr at;
	ww_CUdeviceptr alias;
	int fd;

	OK(cu.cuMemPoolCreate(&pool, &props));
	OK(cu.cuMemAllocFromPoolAsync(&at, 4, pool, NULL));
	write_word(at, 31);
	OK(cu.cuMemPoolExportToShareableHandle(&fd, pool, 1, 0));
	OK(cu.cuMemPoolExportPointer(&data, at));
	OK(cu.cuMemPoolImportFromShareableHandle(&imported, (void *)(intptr_t)fd, 1, 0));
	FAILS(cu.cuMemPoolImportPointer(&alias, pool, &data), INVALID_VALUE);
	OK(cu.cuMemPoolImportPointer(&alias, imported, &data));
	assert_int_not_equal(alias, at);
	assert_int_equal(read_word(alias), 31);
	FAILS(cu.cuMemAllocFromPoolAsync(&at, 4, imported, NULL), INVALID_VALUE);
	FAILS(cu.cuMemImportFromShareableHandle(&handle, (void *)(intptr_t)fd, 1), NOT_SUPPORTED);
	memset(&data, 3, sizeof(data));
	FAILS(cu.cuMemPoolImportPointer(&alias, imported, &data), INVALID_VALUE);
	OK(cu.cuMemFree(alias));
	OK(cu.cuMemFree(at));
	OK(cu.cuMemPoolDestroy(imported));
	OK(cu.cuMemPoolDestroy(pool));
	close(fd);
}
