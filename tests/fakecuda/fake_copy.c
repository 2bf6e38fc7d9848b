/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_copy.c - copies and fills
 *
 * What can be known at the call is refused at the call: addresses of the GPU that are in no range,
 * beyond its end, or not accessible to the stream's device. When the operation runs it looks again,
 * piece by piece, and faults with LAUNCH_FAILED if memory is gone by then.
 *
 * Plain memory of the CPU is what the driver calls pageable, and copies with it are less than
 * asynchronous: small ones from it are taken at once, all others wait until they are done. A caller
 * who counts on more, or on less, meets it here as on a GPU.
 */
#include "fake.h"

#include <stdlib.h>
#include <string.h>

#define STAGING_MAX ((uint64_t)64 << 10)
#define PIECE_MAX   ((uint64_t)32 << 20)

/* Which sides must be memory that the GPU knows, and whether to wait to the end. */
enum {
	TO_DEVICE = 1,
	FROM_DEVICE = 2,
	TO_END = 4,
};

/* Copies what lies in one range on either side; 0 if there is nothing to copy to or from. */
static uint64_t copy_piece(const struct fake_op *op, uint64_t done, int device)
{
	struct fake_loan to;
	struct fake_loan from;
	uint64_t bytes = op->bytes - done < PIECE_MAX ? op->bytes - done : PIECE_MAX;

	if (!fake_range_lend(op->to + done, bytes, device, FAKE_NEED_WRITE, &to))
		return 0;
	if (op->staging) {
		from.cpu = (char *)op->staging + done;
		from.bytes = bytes;
		from.range = NULL;
	} else if (!fake_range_lend(op->from + done, bytes, device, FAKE_NEED_READ, &from)) {
		fake_range_give_back(&to);
		return 0;
	}
	if (bytes > to.bytes)
		bytes = to.bytes;
	if (bytes > from.bytes)
		bytes = from.bytes;

	fake_unlock();
	memmove(to.cpu, from.cpu, bytes);
	fake_lock();
	fake_range_give_back(&to);
	fake_range_give_back(&from);
	return bytes;
}

static void copy_run(struct fake_stream *stream, struct fake_op *op)
{
	for (uint64_t done = 0; done < op->bytes;) {
		uint64_t bytes = copy_piece(op, done, stream->context->device);
		if (!bytes) {
			fake_stream_break(stream, WW_CUDA_ERROR_LAUNCH_FAILED);
			return;
		}
		done += bytes;
	}
}

static ww_CUresult copy_check(const struct fake_stream *stream, uint64_t to, uint64_t from,
	uint64_t bytes, unsigned int mode, enum fake_memory *out_to, enum fake_memory *out_from)
{
	int device = stream->context->device;
	ww_CUresult error = fake_range_check(to, bytes, device, FAKE_NEED_WRITE, out_to);
	if (!error)
		error = fake_range_check(from, bytes, device, FAKE_NEED_READ, out_from);
	if (error)
		return error;
	if ((mode & TO_DEVICE && *out_to == FAKE_MEMORY_PLAIN) ||
		(mode & FROM_DEVICE && *out_from == FAKE_MEMORY_PLAIN))
		return WW_CUDA_ERROR_INVALID_VALUE;
	return WW_CUDA_SUCCESS;
}

static void *staging_take(uint64_t from, uint64_t bytes)
{
	void *staging = malloc(bytes);
	if (staging)
		memcpy(staging, (const void *)(uintptr_t)from, bytes);
	return staging;
}

static ww_CUresult copy(uint64_t to, uint64_t from, uint64_t bytes, ww_CUstream handle,
	unsigned int mode)
{
	struct fake_stream *stream;
	enum fake_memory to_memory;
	enum fake_memory from_memory;

	ww_CUresult error = fake_stream_find(handle, &stream);
	if (error || !bytes)
		return error;
	error = copy_check(stream, to, from, bytes, mode, &to_memory, &from_memory);
	if (error)
		return error;
	struct fake_op *op = fake_op_new();
	if (!op)
		return WW_CUDA_ERROR_OUT_OF_MEMORY;
	op->run = copy_run;
	op->to = to;
	op->from = from;
	op->bytes = bytes;

	bool wait = mode & TO_END || to_memory == FAKE_MEMORY_PLAIN;
	if (!wait && from_memory == FAKE_MEMORY_PLAIN && bytes <= STAGING_MAX)
		op->staging = staging_take(from, bytes);
	wait = wait || (from_memory == FAKE_MEMORY_PLAIN && !op->staging);
	error = fake_stream_push(stream, op);
	return error || !wait ? error : fake_stream_finish(stream);
}

/* Fills one run of memory with a pattern whose beginning falls on 'done' bytes into the whole. */
static void fill(char *cpu, uint64_t bytes, const struct fake_op *op, uint64_t done)
{
	if (op->width == 1) {
		memset(cpu, (int)op->value, bytes);
		return;
	}
	unsigned char pattern[4];
	memcpy(pattern, &op->value, op->width);
	for (uint64_t i = 0; i < bytes; i++)
		cpu[i] = (char)pattern[(done + i) % op->width];
}

static void fill_run(struct fake_stream *stream, struct fake_op *op)
{
	for (uint64_t done = 0; done < op->bytes;) {
		struct fake_loan to;
		uint64_t bytes = op->bytes - done < PIECE_MAX ? op->bytes - done : PIECE_MAX;
		if (!fake_range_lend(op->to + done, bytes, stream->context->device, FAKE_NEED_WRITE,
			    &to)) {
			fake_stream_break(stream, WW_CUDA_ERROR_LAUNCH_FAILED);
			return;
		}
		fake_unlock();
		fill(to.cpu, to.bytes, op, done);
		fake_lock();
		done += to.bytes;
		fake_range_give_back(&to);
	}
}

static ww_CUresult fill_push(uint64_t to, unsigned int value, unsigned int width, uint64_t count,
	ww_CUstream handle, unsigned int mode)
{
	struct fake_stream *stream;
	enum fake_memory memory;

	ww_CUresult error = fake_stream_find(handle, &stream);
	if (error || !count)
		return error;
	if (to % width || count > UINT64_MAX / width)
		return WW_CUDA_ERROR_INVALID_VALUE;
	error = fake_range_check(to, count * width, stream->context->device, FAKE_NEED_WRITE,
		&memory);
	if (!error && memory == FAKE_MEMORY_PLAIN)
		error = WW_CUDA_ERROR_INVALID_VALUE;
	if (error)
		return error;
	struct fake_op *op = fake_op_new();
	if (!op)
		return WW_CUDA_ERROR_OUT_OF_MEMORY;
	op->run = fill_run;
	op->to = to;
	op->bytes = count * width;
	op->width = width;
	op->value = value;
	error = fake_stream_push(stream, op);
	return error || !(mode & TO_END) ? error : fake_stream_finish(stream);
}

FAKE_API cuMemcpy(ww_CUdeviceptr to, ww_CUdeviceptr from, size_t bytes)
{
	FAKE_ENTER(cuMemcpy);
	return copy(to, from, bytes, NULL, TO_END);
}

FAKE_API cuMemcpyHtoD_v2(ww_CUdeviceptr to, const void *from, size_t bytes)
{
	FAKE_ENTER(cuMemcpyHtoD);
	return copy(to, (uint64_t)(uintptr_t)from, bytes, NULL, TO_DEVICE | TO_END);
}

FAKE_API cuMemcpyDtoH_v2(void *to, ww_CUdeviceptr from, size_t bytes)
{
	FAKE_ENTER(cuMemcpyDtoH);
	return copy((uint64_t)(uintptr_t)to, from, bytes, NULL, FROM_DEVICE | TO_END);
}

FAKE_API cuMemcpyDtoD_v2(ww_CUdeviceptr to, ww_CUdeviceptr from, size_t bytes)
{
	FAKE_ENTER(cuMemcpyDtoD);
	return copy(to, from, bytes, NULL, TO_DEVICE | FROM_DEVICE | TO_END);
}

FAKE_API cuMemcpyAsync(ww_CUdeviceptr to, ww_CUdeviceptr from, size_t bytes, ww_CUstream stream)
{
	FAKE_ENTER(cuMemcpyAsync);
	return copy(to, from, bytes, stream, 0);
}

FAKE_API cuMemcpyHtoDAsync_v2(ww_CUdeviceptr to, const void *from, size_t bytes, ww_CUstream stream)
{
	FAKE_ENTER(cuMemcpyHtoDAsync);
	return copy(to, (uint64_t)(uintptr_t)from, bytes, stream, TO_DEVICE);
}

FAKE_API cuMemcpyDtoHAsync_v2(void *to, ww_CUdeviceptr from, size_t bytes, ww_CUstream stream)
{
	FAKE_ENTER(cuMemcpyDtoHAsync);
	return copy((uint64_t)(uintptr_t)to, from, bytes, stream, FROM_DEVICE);
}

FAKE_API cuMemcpyDtoDAsync_v2(ww_CUdeviceptr to, ww_CUdeviceptr from, size_t bytes,
	ww_CUstream stream)
{
	FAKE_ENTER(cuMemcpyDtoDAsync);
	return copy(to, from, bytes, stream, TO_DEVICE | FROM_DEVICE);
}

FAKE_API cuMemsetD8_v2(ww_CUdeviceptr to, unsigned char value, size_t count)
{
	FAKE_ENTER(cuMemsetD8);
	return fill_push(to, value, sizeof(value), count, NULL, TO_END);
}

FAKE_API cuMemsetD16_v2(ww_CUdeviceptr to, unsigned short value, size_t count)
{
	FAKE_ENTER(cuMemsetD16);
	return fill_push(to, value, sizeof(value), count, NULL, TO_END);
}

FAKE_API cuMemsetD32_v2(ww_CUdeviceptr to, unsigned int value, size_t count)
{
	FAKE_ENTER(cuMemsetD32);
	return fill_push(to, value, sizeof(value), count, NULL, TO_END);
}

FAKE_API cuMemsetD8Async(ww_CUdeviceptr to, unsigned char value, size_t count, ww_CUstream stream)
{
	FAKE_ENTER(cuMemsetD8Async);
	return fill_push(to, value, sizeof(value), count, stream, 0);
}

FAKE_API cuMemsetD16Async(ww_CUdeviceptr to, unsigned short value, size_t count, ww_CUstream stream)
{
	FAKE_ENTER(cuMemsetD16Async);
	return fill_push(to, value, sizeof(value), count, stream, 0);
}

FAKE_API cuMemsetD32Async(ww_CUdeviceptr to, unsigned int value, size_t count, ww_CUstream stream)
{
	FAKE_ENTER(cuMemsetD32Async);
	return fill_push(to, value, sizeof(value), count, stream, 0);
}
