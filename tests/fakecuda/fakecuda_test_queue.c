/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fakecuda_test_queue.c - streams that wait: what they hold up, and what they cannot spoil
 *
 * Each test has a context of its own, whose hardware queues nobody else's streams use.
 */
#include "fakecuda_test.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

static void add_one(void *user_data)
{
	unsigned int *number = user_data;
	*number = *number * 10 + 1;
}

static void add_two(void *user_data)
{
	unsigned int *number = user_data;
	*number = *number * 10 + 2;
}

#define QUEUES 8

/*
 * Eight streams that wait leave no hardware queue: a ninth cannot release them. A stream of another
 * context can, and so can the CPU.
 */
TEST(test_waits_fill_the_hardware_queues)
{
	ww_CUstream streams[QUEUES + 1];
	ww_CUcontext context;

	struct gate gate = gate_new();
	OK(cu.cuCtxCreate(&context, 0, 0));
	for (int i = 0; i <= QUEUES; i++)
		streams[i] = stream_new(WW_CU_STREAM_NON_BLOCKING);
	for (int i = 0; i < QUEUES - 1; i++)
		gate_close_on(&gate, streams[i]);
	OK(cu.cuStreamWriteValue64(streams[QUEUES - 1], gate.address + 8, 1, 0));
	OK(cu.cuStreamSynchronize(streams[QUEUES - 1]));
	gate_close_on(&gate, streams[QUEUES - 1]);
	OK(cu.cuStreamWriteValue64(streams[QUEUES], gate.address, 1, 0));
	OK(cu.cuCtxPopCurrent(&context));
	let_others_run();
	for (int i = 0; i <= QUEUES; i++)
		FAILS(cu.cuStreamQuery(streams[i]), NOT_READY);
	assert_int_equal(*gate.value, 0);
	OK(cu.cuStreamWriteValue64(NULL, gate.address, 1, 0));
	for (int i = 0; i <= QUEUES; i++)
		OK(cu.cuStreamSynchronize(streams[i]));
	OK(cu.cuCtxDestroy(context));
	gate_delete(&gate);
}

/*
 * A stream that waits for the event of one that waits holds its queue too; what came before is not
 * held up.
 */
TEST(test_event_waits_hold_their_queue)
{
	ww_CUstream streams[QUEUES + 1];
	unsigned int number = 0;
	ww_CUcontext context;
	ww_CUevent event;

	struct gate gate = gate_new();
	OK(cu.cuCtxCreate(&context, 0, 0));
	for (int i = 0; i <= QUEUES; i++)
		streams[i] = stream_new(WW_CU_STREAM_NON_BLOCKING);
	OK(cu.cuEventCreate(&event, WW_CU_EVENT_DISABLE_TIMING));
	gate_close_on(&gate, streams[1]);
	OK(cu.cuEventRecord(event, streams[1]));
	OK(cu.cuLaunchHostFunc(streams[QUEUES], add_one, &number));
	OK(cu.cuStreamWaitEvent(streams[0], event, 0));
	OK(cu.cuStreamSynchronize(streams[QUEUES]));
	OK(cu.cuLaunchHostFunc(streams[QUEUES], add_two, &number));
	OK(cu.cuCtxPopCurrent(&context));
	let_others_run();
	FAILS(cu.cuStreamQuery(streams[QUEUES]), NOT_READY);
	assert_int_equal(number, 1);
	gate_open(&gate);
	OK(cu.cuStreamSynchronize(streams[QUEUES]));
	assert_int_equal(number, 12);
	OK(cu.cuCtxDestroy(context));
	gate_delete(&gate);
}

/* A waiter sees the page that another process signals, and cannot spoil it. */
TEST(test_a_write_to_a_read_only_page_faults)
{
	uint64_t *page = mmap(NULL, 4096, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ww_CUdeviceptr address;
	size_t bytes;

	ww_CUcontext context = breakable_context();
	OK(cu.cuMemHostRegister(page, 4096,
		WW_CU_MEMHOSTREGISTER_DEVICEMAP | WW_CU_MEMHOSTREGISTER_READ_ONLY));
	OK(cu.cuMemHostGetDevicePointer(&address, page, 0));
	ww_CUstream stream = stream_new(WW_CU_STREAM_NON_BLOCKING);
	OK(cu.cuStreamWaitValue64(stream, address, 0, WW_CU_STREAM_WAIT_VALUE_GEQ));
	OK(cu.cuStreamSynchronize(stream));
	OK(cu.cuStreamWriteValue64(stream, address, 9, 0));
	FAILS(cu.cuStreamSynchronize(stream), LAUNCH_FAILED);
	FAILS(cu.cuMemGetInfo(&bytes, &bytes), LAUNCH_FAILED);
	assert_int_equal(*page, 0);
	OK(cu.cuCtxDestroy(context));
	munmap(page, 4096);
}

static const char empty_kernel[] = ".version 6.0\n"
				   ".target sm_50\n"
				   ".address_size 64\n"
				   ".visible .entry nothing()\n{\n\tret;\n}\n";

/* A launch has its place in the order of its stream. */
TEST(test_a_kernel_that_does_nothing_is_launched)
{
	ww_CUmodule module;
	ww_CUfunction kernel;

	FAILS(cu.cuModuleLoadData(&module, "\177ELF"), INVALID_IMAGE);
	FAILS(cu.cuModuleLoadData(&module, ".version 6.0\n.entry add(.param a) { ret; }"),
		INVALID_PTX);
	FAILS(cu.cuModuleLoadData(&module, ".version 6.0\n.entry spin() { bra spin; }"),
		INVALID_PTX);
	OK(cu.cuModuleLoadData(&module, empty_kernel));
	FAILS(cu.cuModuleGetFunction(&kernel, module, "other"), NOT_FOUND);
	OK(cu.cuModuleGetFunction(&kernel, module, "nothing"));

	struct gate gate = gate_new();
	ww_CUstream stream = stream_new(WW_CU_STREAM_NON_BLOCKING);
	FAILS(cu.cuLaunchKernel(kernel, 0, 1, 1, 1, 1, 1, 0, stream, NULL, NULL), INVALID_VALUE);
	gate_close_on(&gate, stream);
	OK(cu.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL));
	let_others_run();
	FAILS(cu.cuStreamQuery(stream), NOT_READY);
	gate_open(&gate);
	OK(cu.cuStreamSynchronize(stream));
	OK(cu.cuModuleUnload(module));
	FAILS(cu.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL), INVALID_HANDLE);
	OK(cu.cuStreamDestroy(stream));
	gate_delete(&gate);
}

/* Three numbers behind an address, and a context that a wrong address loses. */
TEST(test_a_kernel_runs_its_function_in_c)
{
	char text[4096];
	char log[200] = "";
	ww_CUjit_option options[] = {WW_CU_JIT_ERROR_LOG_BUFFER,
		WW_CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
	void *values[] = {log, (void *)(uintptr_t)sizeof(log)};
	ww_CUmodule module;
	ww_CUfunction kernel;
	size_t offset;
	size_t bytes;

	ww_CUcontext context = breakable_context();
	snprintf(text, sizeof(text),
		"%s// fakecuda: %s\n.visible .entry fill_numbers(.param .u64 .ptr .align 4 x,\n"
		"	.param .b32 first, .param .align 2 .b8 count[4]) { bra anywhere; }\n",
		".version 6.0\n", getenv("WW_TEST_KERNELS"));
	OK(cu.cuModuleLoadDataEx(&module, text, 2, options, values));
	assert_string_equal(log, "");
	OK(cu.cuModuleGetFunction(&kernel, module, "fill_numbers"));
	OK(cu.cuFuncGetParamInfo(kernel, 0, &offset, &bytes));
	assert_int_equal(bytes, 8);
	OK(cu.cuFuncGetParamInfo(kernel, 2, &offset, &bytes));
	assert_int_equal(bytes, 4);
	FAILS(cu.cuFuncGetParamInfo(kernel, 3, &offset, &bytes), INVALID_VALUE);

	ww_CUdeviceptr address;
	uint32_t first = 8;
	uint32_t count = 3;
	void *arguments[] = {&address, &first, &count};
	OK(cu.cuMemAlloc(&address, GRANULARITY));
	address += 4;
	FAILS(cu.cuLaunchKernel(kernel, 1, 1, 1, 2048, 1, 1, 0, NULL, arguments, NULL),
		INVALID_VALUE);
	FAILS(cu.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 64 << 10, NULL, arguments, NULL),
		INVALID_VALUE);
	OK(cu.cuFuncSetAttribute(kernel, WW_CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
		64 << 10));
	OK(cu.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 64 << 10, NULL, arguments, NULL));
	OK(cu.cuCtxSynchronize());
	assert_int_equal(read_word(address + 8), 10);
	assert_int_equal(read_word(address + 12), 0);
	OK(cu.cuMemFree(address - 4));
	OK(cu.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL));
	FAILS(cu.cuCtxSynchronize(), ILLEGAL_ADDRESS);
	FAILS(cu.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL),
		ILLEGAL_ADDRESS);
	OK(cu.cuCtxDestroy(context));
}

/* The log says what is missing. */
TEST(test_ptx_without_a_kernel_that_runs_is_refused)
{
	static const struct {
		const char *text;
		const char *word;
	} wrong[] = {
		{".version 6.0\n.entry spin() { bra spin; }", "spin"},
		{".version 6.0\n.entry add(.param a) { ret; }", "parameters of add"},
		{".version 6.0\n.entry add(.param .u32 a { ret; }", "parameters of add"},
		{".version 6.0\n.entry add() { ret;", "does not end"},
		{".version 6.0\n// .entry add() { ret; }", "no kernel"},
		{".version 6.0\n// fakecuda: /no/such/file\n.entry add() { ret; }", "/no/such"},
	};
	char log[200];
	ww_CUjit_option options[] = {WW_CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
		WW_CU_JIT_ERROR_LOG_BUFFER};
	void *values[] = {(void *)(uintptr_t)sizeof(log), log};
	ww_CUmodule module;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		FAILS(cu.cuModuleLoadDataEx(&module, wrong[i].text, 2, options, values),
			INVALID_PTX);
		assert_non_null(strstr(log, wrong[i].word));
	}
}
