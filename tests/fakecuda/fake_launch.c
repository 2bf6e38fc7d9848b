/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_launch.c - what a kernel is like, and launches of it
 *
 * A launch is an operation of its stream, in its order, with a copy of the arguments. It calls the
 * kernel's function in C once. Where an argument of 8 bytes is an address of the device, the
 * function gets the address of the bytes behind it, up to the end of their range; it must not be
 * told apart from a number, so a number that looks like such an address is taken for one. An
 * address of the device that has no memory is CUDA_ERROR_ILLEGAL_ADDRESS: the context is lost.
 */
#include "fake.h"

#include <stdlib.h>
#include <string.h>

#define THREADS_MAX 1024
#define REGISTERS   16
#define GRID_MAX    65535

#define SHARED_MAX_AT_FIRST (48 << 10)
#define SHARED_MAX          (227 << 10)

/* A copy of what a launch was given; the operation's staging. */
struct launch {
	struct ww_host_launch shape;
	struct fake_kernel *kernel;
	void *arguments[FAKE_PARAMETERS_MAX];
	_Alignas(16) char values[];
};

static size_t aligned(size_t bytes)
{
	return (bytes + 15) / 16 * 16;
}

FAKE_API cuFuncLoad(ww_CUfunction function)
{
	FAKE_ENTER(cuFuncLoad);
	return fake_kernel_find(function) ? WW_CUDA_SUCCESS : WW_CUDA_ERROR_INVALID_HANDLE;
}

FAKE_API cuFuncGetParamInfo(ww_CUfunction function, size_t index, size_t *out_offset,
	size_t *out_bytes)
{
	FAKE_ENTER(cuFuncGetParamInfo);
	const struct fake_kernel *kernel = fake_kernel_find(function);
	size_t offset = 0;
	if (!kernel)
		return WW_CUDA_ERROR_INVALID_HANDLE;
	if (!out_offset || index >= kernel->parameter_count)
		return WW_CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < index; i++)
		offset += aligned(kernel->parameter_bytes[i]);
	*out_offset = offset;
	if (out_bytes)
		*out_bytes = kernel->parameter_bytes[index];
	return WW_CUDA_SUCCESS;
}

FAKE_API cuFuncGetAttribute(int *out_value, ww_CUfunction_attribute attribute,
	ww_CUfunction function)
{
	FAKE_ENTER(cuFuncGetAttribute);
	const struct fake_kernel *kernel = fake_kernel_find(function);
	if (!kernel)
		return WW_CUDA_ERROR_INVALID_HANDLE;
	if (!out_value)
		return WW_CUDA_ERROR_INVALID_VALUE;
	switch (attribute) {
	case WW_CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
		*out_value = THREADS_MAX;
		return WW_CUDA_SUCCESS;
	case WW_CU_FUNC_ATTRIBUTE_NUM_REGS:
		*out_value = REGISTERS;
		return WW_CUDA_SUCCESS;
	case WW_CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
	case WW_CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
		*out_value = 0;
		return WW_CUDA_SUCCESS;
	case WW_CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
		*out_value = kernel->shared_max ? kernel->shared_max : SHARED_MAX_AT_FIRST;
		return WW_CUDA_SUCCESS;
	default:
		return WW_CUDA_ERROR_INVALID_VALUE;
	}
}

FAKE_API cuFuncSetAttribute(ww_CUfunction function, ww_CUfunction_attribute attribute, int value)
{
	FAKE_ENTER(cuFuncSetAttribute);
	struct fake_kernel *kernel = fake_kernel_find(function);
	if (!kernel)
		return WW_CUDA_ERROR_INVALID_HANDLE;
	if (attribute != WW_CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES || value < 0 ||
		value > SHARED_MAX)
		return WW_CUDA_ERROR_INVALID_VALUE;
	kernel->shared_max = value;
	return WW_CUDA_SUCCESS;
}

/* Puts the bytes' own address in the place of the device's. Return: false: there are none. */
static bool translate(void *argument, int device, struct fake_loan *out_loan)
{
	uint64_t address;

	memcpy(&address, argument, sizeof(address));
	out_loan->range = NULL;
	if (!fake_arena_contains(address))
		return true;
	if (!fake_range_find(address) ||
		!fake_range_lend(address, UINT64_MAX, device, FAKE_NEED_READ, out_loan))
		return false;
	memcpy(argument, &out_loan->cpu, sizeof(out_loan->cpu));
	return true;
}

static void call(const struct launch *launch)
{
	fake_unlock();
	fake_callback_begin();
	launch->kernel->function(&launch->shape, launch->arguments);
	fake_callback_end();
	fake_lock();
}

static void launch_run(struct fake_stream *stream, struct fake_op *op)
{
	struct launch *launch = op->staging;
	const struct fake_kernel *kernel = launch->kernel;
	struct fake_loan loans[FAKE_PARAMETERS_MAX];
	uint64_t given[FAKE_PARAMETERS_MAX];
	unsigned int lent = 0;
	bool valid = true;

	if (!kernel->function)
		return;
	while (valid && lent < kernel->parameter_count) {
		loans[lent].range = NULL;
		if (kernel->parameter_bytes[lent] == sizeof(uint64_t)) {
			memcpy(&given[lent], launch->arguments[lent], sizeof(given[lent]));
			valid = translate(launch->arguments[lent], stream->context->device,
				&loans[lent]);
		}
		lent++;
	}
	if (valid)
		call(launch);
	else
		fake_stream_break(stream, WW_CUDA_ERROR_ILLEGAL_ADDRESS);
	/* A graph launches it again. */
	while (lent > 0) {
		fake_range_give_back(&loans[--lent]);
		if (kernel->parameter_bytes[lent] == sizeof(uint64_t))
			memcpy(launch->arguments[lent], &given[lent], sizeof(given[lent]));
	}
}

static struct launch *launch_new(struct fake_kernel *kernel, void **parameters)
{
	size_t bytes = 0;

	for (unsigned int i = 0; i < kernel->parameter_count; i++)
		bytes += aligned(kernel->parameter_bytes[i]);
	struct launch *launch = calloc(1, sizeof(*launch) + bytes);
	if (!launch)
		return NULL;
	launch->kernel = kernel;
	launch->shape.struct_size = sizeof(launch->shape);
	launch->shape.argument_count = kernel->parameter_count;
	bytes = 0;
	for (unsigned int i = 0; i < kernel->parameter_count; i++) {
		launch->arguments[i] = launch->values + bytes;
		memcpy(launch->arguments[i], parameters[i], kernel->parameter_bytes[i]);
		bytes += aligned(kernel->parameter_bytes[i]);
	}
	return launch;
}

static bool fits(const struct fake_kernel *kernel, const unsigned int grid[3],
	const unsigned int block[3], unsigned int shared_bytes)
{
	unsigned int shared_max = kernel->shared_max ? (unsigned int)kernel->shared_max
						     : SHARED_MAX_AT_FIRST;

	for (int i = 0; i < 3; i++)
		if (!grid[i] || !block[i])
			return false;
	return grid[0] <= INT32_MAX && grid[1] <= GRID_MAX && grid[2] <= GRID_MAX &&
		block[2] <= 64 && (uint64_t)block[0] * block[1] * block[2] <= THREADS_MAX &&
		shared_bytes <= shared_max;
}

FAKE_API cuLaunchKernel(ww_CUfunction function, unsigned int grid_x, unsigned int grid_y,
	unsigned int grid_z, unsigned int block_x, unsigned int block_y, unsigned int block_z,
	unsigned int shared_bytes, ww_CUstream handle, void **parameters, void **extra)
{
	FAKE_ENTER(cuLaunchKernel);
	const unsigned int grid[3] = {grid_x, grid_y, grid_z};
	const unsigned int block[3] = {block_x, block_y, block_z};
	struct fake_stream *stream;
	struct fake_kernel *kernel = fake_kernel_find(function);
	if (!kernel)
		return WW_CUDA_ERROR_INVALID_HANDLE;
	ww_CUresult error = fake_stream_find(handle, &stream);
	if (error)
		return error;
	if (stream->context != kernel->context)
		return WW_CUDA_ERROR_INVALID_HANDLE;
	if (!fits(kernel, grid, block, shared_bytes) || extra ||
		(!parameters && kernel->parameter_count))
		return WW_CUDA_ERROR_INVALID_VALUE;
	struct launch *launch = launch_new(kernel, parameters);
	if (!launch)
		return WW_CUDA_ERROR_OUT_OF_MEMORY;
	memcpy(launch->shape.grid, grid, sizeof(grid));
	memcpy(launch->shape.block, block, sizeof(block));
	launch->shape.shared_bytes = shared_bytes;
	struct fake_op *op = fake_op_new();
	if (!op) {
		free(launch);
		return WW_CUDA_ERROR_OUT_OF_MEMORY;
	}
	op->run = launch_run;
	op->staging = launch;
	return fake_stream_push(stream, op);
}
