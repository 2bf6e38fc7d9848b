/* SPDX-License-Identifier: Apache-2.0 */
/*
 * module.c - modules, their kernels, and launches in the order of a stream
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conformance/conformance.h"
#include "support/kernels.h"

#define COUNT 1000

struct bench {
	ww_device *device;
	ww_stream *stream;
	ww_module *module;
	ww_memory *memory;
	void *pointer;
};

static struct bench bench_make(void)
{
	struct bench bench = {.device = subject_open()};

	bench.stream = stream_make(bench.device);
	bench.module = kernels_load(bench.device);
	bench.memory = memory_make(bench.device, WW_MEMORY_VMM, 2 * MIB);
	bench.pointer = ww_memory_pointer(bench.memory);
	return bench;
}

static void bench_end(struct bench *bench)
{
	ww_module_unref(bench->module);
	ww_memory_unref(bench->memory);
	ww_stream_unref(bench->stream);
	ww_device_unref(bench->device);
}

/* Enqueues first, first + 1, ... into the memory. */
static ww_status fill_numbers(struct bench *bench, ww_kernel *kernel, uint32_t first,
	uint32_t count)
{
	const struct ww_kernel_argument arguments[] = {ARGUMENT(bench->pointer), ARGUMENT(first),
		ARGUMENT(count)};

	return launch(kernel, bench->stream, (COUNT + 255) / 256, 256, arguments, 3);
}

static void must_be_numbers(struct bench *bench, uint32_t first)
{
	static uint32_t numbers[COUNT];

	memory_get(bench->memory, 0, numbers, sizeof(numbers));
	for (uint32_t i = 0; i < COUNT; i++)
		MUST_EQUAL(first + i, numbers[i]);
}

CASE(module_runs_a_kernel, WW_CAP_MODULE)
{
	ENDED_BY(bench_end) struct bench bench = bench_make();
	ww_kernel *kernel = kernel_find(bench.module, "fill_numbers");

	MUST_OK(fill_numbers(&bench, kernel, 7, COUNT));
	MUST_OK(ww_stream_synchronize(bench.stream, WW_FOREVER, NULL));
	must_be_numbers(&bench, 7);
	MUST(!ww_kernel_unref(kernel));
	MUST(!ww_kernel_unref(NULL));
	MUST(!ww_module_unref(NULL));
}

CASE(module_computes_between_copies, WW_CAP_MODULE)
{
	static float x[COUNT];
	static float y[COUNT];
	const float a = 2.5F;
	const uint64_t count = COUNT;
	ENDED_BY(bench_end) struct bench bench = bench_make();
	OWN(kernel) ww_kernel *kernel = kernel_find(bench.module, "saxpy");
	void *there = (char *)bench.pointer + MIB;
	const struct ww_kernel_argument arguments[] = {ARGUMENT(a), ARGUMENT(bench.pointer),
		ARGUMENT(there), ARGUMENT(count)};

	for (int i = 0; i < COUNT; i++) {
		x[i] = (float)i;
		y[i] = 1;
	}
	MUST_OK(ww_stream_copy(bench.stream, bench.pointer, x, sizeof(x)));
	MUST_OK(ww_stream_copy(bench.stream, there, y, sizeof(y)));
	MUST_OK(launch(kernel, bench.stream, 8, 128, arguments, 4));
	MUST_OK(launch(kernel, bench.stream, 8, 128, arguments, 4));
	MUST_OK(ww_stream_copy(bench.stream, y, there, sizeof(y)));
	MUST_OK(ww_stream_synchronize(bench.stream, WW_FOREVER, NULL));
	for (int i = 0; i < COUNT; i++)
		MUST(y[i] == 1 + 5 * (float)i);
}

/* The kernel does not run before its turn, and then with what its arguments were at the launch. */
CASE(module_launch_waits_for_its_turn, WW_CAP_MODULE)
{
	static struct gate gate;
	ENDED_BY(bench_end) struct bench bench = bench_make();
	OWN(kernel) ww_kernel *kernel = kernel_find(bench.module, "fill_numbers");
	uint32_t first = 40;
	uint32_t count = COUNT;
	const struct ww_kernel_argument arguments[] = {ARGUMENT(bench.pointer), ARGUMENT(first),
		ARGUMENT(count)};

	gate_close(&gate, bench.stream);
	MUST_OK(launch(kernel, bench.stream, 4, 256, arguments, 3));
	first = 0;
	count = 0;
	gate_reached(&gate);
	MUST_STATUS(WW_NOT_READY, ww_stream_query(bench.stream));
	if (device_info(bench.device).capabilities & WW_CAP_CPU_ACCESS)
		MUST_EQUAL(0, *(uint32_t *)bench.pointer);
	gate_open(&gate);
	MUST_OK(ww_stream_synchronize(bench.stream, WW_FOREVER, NULL));
	must_be_numbers(&bench, 40);
}

CASE(module_kernel_sees_its_shape, WW_CAP_MODULE)
{
	static const uint32_t expected[6] = {5, 4, 3, 8, 2, 64};
	uint32_t shape[6];
	ENDED_BY(bench_end) struct bench bench = bench_make();
	OWN(kernel) ww_kernel *kernel = kernel_find(bench.module, "store_shape");
	const struct ww_kernel_argument arguments[] = {ARGUMENT(bench.pointer)};

	MUST_OK(ww_kernel_launch(kernel, bench.stream,
		WW_PARAMS(struct ww_launch_params, .grid = {5, 4, 3}, .block = {8, 2, 64},
			.shared_bytes = 1024),
		arguments, 1));
	MUST_OK(ww_stream_synchronize(bench.stream, WW_FOREVER, NULL));
	memory_get(bench.memory, 0, shape, sizeof(shape));
	MUST_MATCH(expected, shape, sizeof(expected));
}

CASE(module_function_info, WW_CAP_MODULE)
{
	ENDED_BY(bench_end) struct bench bench = bench_make();
	OWN(kernel) ww_kernel *kernel = kernel_find(bench.module, "saxpy");
	struct ww_kernel_info info = kernel_info(kernel);
	struct ww_kernel_info unset = {.struct_size = 0};

	MUST_EQUAL(sizeof(info), info.struct_size);
	MUST(info.threads_max >= 32 && info.threads_max <= 1024);
	MUST(info.argument_count == 4 || info.argument_count == WW_KERNEL_ARGUMENTS_UNKNOWN);
	MUST(info.shared_bytes_max >= 48 << 10);
	MUST_EQUAL(0, info.shared_bytes);
	MUST_EQUAL(0, info.reserved);
	if (subject_is_cuda())
		MUST(info.registers > 0);
	else
		MUST_EQUAL(0, info.registers);
	MUST_REFUSE(WW_ERR_INVALID, "size", ww_kernel_info_get(kernel, &unset));
}

CASE(module_argument_bytes, WW_CAP_MODULE)
{
	const uint64_t expected[] = {4, 8, 8, 8};
	ENDED_BY(bench_end) struct bench bench = bench_make();
	OWN(kernel) ww_kernel *kernel = kernel_find(bench.module, "saxpy");
	uint32_t known = kernel_info(kernel).argument_count;
	uint64_t bytes = 77;

	if (known == WW_KERNEL_ARGUMENTS_UNKNOWN)
		known = 0;
	for (uint32_t i = 0; i < known; i++) {
		MUST_OK(ww_kernel_argument_bytes(kernel, i, &bytes));
		MUST_EQUAL(expected[i], bytes);
	}
	bytes = 77;
	MUST_STATUS(WW_END, ww_kernel_argument_bytes(kernel, known, &bytes));
	MUST_STATUS(WW_END, ww_kernel_argument_bytes(kernel, UINT32_MAX, &bytes));
	MUST_EQUAL(77, bytes);
}

/* A kernel keeps its module, and launches keep both, whoever lets go of them first. */
CASE(module_stays_until_its_work_is_done, WW_CAP_MODULE | NEEDS_HOST_BACKEND)
{
	static struct gate gate;
	ENDED_BY(bench_end) struct bench bench = bench_make();
	ww_kernel *kernel = kernel_find(bench.module, "fill_numbers");

	gate_close(&gate, bench.stream);
	MUST_OK(fill_numbers(&bench, kernel, 3, COUNT));
	bench.module = ww_module_unref(bench.module);
	ww_kernel_unref(kernel);
	gate_open(&gate);
	MUST_OK(ww_stream_synchronize(bench.stream, WW_FOREVER, NULL));
	must_be_numbers(&bench, 3);
}

/* The last unref waits on a GPU: there is nothing to hold the work back with. */
CASE(module_function_outlives_module, WW_CAP_MODULE)
{
	ENDED_BY(bench_end) struct bench bench = bench_make();
	ww_kernel *kernel = kernel_find(bench.module, "fill_numbers");

	MUST(ww_kernel_ref(kernel) == kernel);
	MUST(ww_module_ref(bench.module) == bench.module);
	ww_module_unref(bench.module);
	bench.module = ww_module_unref(bench.module);
	ww_kernel_unref(kernel);
	MUST_OK(fill_numbers(&bench, kernel, 9, COUNT));
	ww_kernel_unref(kernel);
	MUST_OK(ww_stream_synchronize(bench.stream, WW_FOREVER, NULL));
	must_be_numbers(&bench, 9);
}

CASE(module_without_arguments, WW_CAP_MODULE)
{
	ENDED_BY(bench_end) struct bench bench = bench_make();
	OWN(kernel) ww_kernel *kernel = kernel_find(bench.module, "nothing");
	uint32_t known = kernel_info(kernel).argument_count;

	MUST(known == 0 || known == WW_KERNEL_ARGUMENTS_UNKNOWN);
	MUST_OK(launch(kernel, bench.stream, 1, 1, NULL, 0));
	MUST_OK(ww_stream_synchronize(bench.stream, WW_FOREVER, NULL));
}

/* A shared object that does not say what a kernel takes is believed. */
CASE(module_arguments_may_be_unknown, WW_CAP_MODULE | NEEDS_HOST_BACKEND)
{
	ENDED_BY(bench_end) struct bench bench = bench_make();
	OWN(kernel) ww_kernel *kernel = kernel_find(bench.module, "count_arguments");
	const struct ww_kernel_argument arguments[] = {ARGUMENT(bench.pointer),
		ARGUMENT(bench.pointer), ARGUMENT(bench.pointer)};
	uint64_t bytes;

	MUST_EQUAL(WW_KERNEL_ARGUMENTS_UNKNOWN, kernel_info(kernel).argument_count);
	MUST_STATUS(WW_END, ww_kernel_argument_bytes(kernel, 0, &bytes));
	for (uint32_t count = 1; count <= 3; count++) {
		MUST_OK(launch(kernel, bench.stream, 1, 1, arguments, count));
		MUST_OK(ww_stream_synchronize(bench.stream, WW_FOREVER, NULL));
		MUST_EQUAL(count, *(uint32_t *)bench.pointer);
	}
}

/* From memory, and the bytes may go as soon as it is loaded. */
CASE(module_from_memory, WW_CAP_MODULE | NEEDS_HOST_BACKEND)
{
	ENDED_BY(bench_end) struct bench bench = bench_make();
	FILE *file = fopen(kernels_path(), "re");
	static char image[1 << 20];
	ww_module *modules[2];
	size_t bytes;

	MUST(file);
	bytes = fread(image, 1, sizeof(image), file);
	fclose(file);
	MUST(bytes > 0 && bytes < sizeof(image));
	for (int i = 0; i < 2; i++)
		MUST_OK(ww_module_load_image(bench.device, image, bytes, NULL, &modules[i]));
	memset(image, 0, bytes);
	for (uint32_t i = 0; i < 2; i++) {
		ww_kernel *kernel = kernel_find(modules[i], "fill_numbers");

		MUST_OK(fill_numbers(&bench, kernel, i, COUNT));
		MUST_OK(ww_stream_synchronize(bench.stream, WW_FOREVER, NULL));
		must_be_numbers(&bench, i);
		ww_kernel_unref(kernel);
		ww_module_unref(modules[i]);
	}
}

/* Into a file whose name says nothing, and back. */
CASE(module_ptx_from_a_file, WW_CAP_MODULE | NEEDS_CUDA)
{
	char path[] = "/tmp/warpway-module-XXXXXX";
	const char *text = kernels_ptx();
	ENDED_BY(bench_end) struct bench bench = bench_make();
	int fd = mkstemp(path);
	OWN(kernel) ww_kernel *kernel;
	OWN(module) ww_module *module;

	MUST_CALL(fd);
	MUST_EQUAL(strlen(text), write(fd, text, strlen(text)));
	close(fd);
	MUST_OK(ww_module_load(bench.device, path, NULL, &module));
	unlink(path);
	kernel = kernel_find(module, "fill_numbers");
	MUST_OK(fill_numbers(&bench, kernel, 5, COUNT));
	MUST_OK(ww_stream_synchronize(bench.stream, WW_FOREVER, NULL));
	must_be_numbers(&bench, 5);
}
