/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_value.c - streams that write a value to memory, or wait for one
 *
 * The memory may be anybody's: a wait looks again and again, because another process, or a CPU, may
 * store the value without telling us. A wait blocks its own stream, and what is behind it in the
 * hardware's queue (fake_stream.c). When the memory is unmapped under it, or a value is written to
 * memory that may only be read, the stream faults with LAUNCH_FAILED: what cannot be seen at the
 * call is seen when the operation runs.
 */
#include "fake.h"

#define BATCH_MAX 256

static uint64_t value_load(const void *cpu, unsigned int width)
{
	if (width == sizeof(uint32_t))
		return __atomic_load_n((const uint32_t *)cpu, __ATOMIC_ACQUIRE);
	return __atomic_load_n((const uint64_t *)cpu, __ATOMIC_ACQUIRE);
}

static void value_store(void *cpu, unsigned int width, uint64_t value)
{
	if (width == sizeof(uint32_t))
		__atomic_store_n((uint32_t *)cpu, (uint32_t)value, __ATOMIC_RELEASE);
	else
		__atomic_store_n((uint64_t *)cpu, value, __ATOMIC_RELEASE);
}

static bool is_met(uint64_t seen, const struct fake_op *op)
{
	bool narrow = op->width == sizeof(uint32_t);

	switch (op->flags) {
	case WW_CU_STREAM_WAIT_VALUE_GEQ:
		return narrow ? (int32_t)((uint32_t)seen - (uint32_t)op->value) >= 0
			      : (int64_t)(seen - op->value) >= 0;
	case WW_CU_STREAM_WAIT_VALUE_EQ:
		return seen == op->value;
	case WW_CU_STREAM_WAIT_VALUE_AND:
		return (seen & op->value) != 0;
	default: /* NOR */
		return narrow ? ~(uint32_t)(seen | op->value) != 0 : ~(seen | op->value) != 0;
	}
}

static bool wait_ready(struct fake_stream *stream, const struct fake_op *op)
{
	struct fake_loan loan;
	if (!fake_range_lend(op->from, op->width, stream->context->device, FAKE_NEED_READ, &loan))
		return true; /* gone: let it run and fault */
	bool met = is_met(value_load(loan.cpu, op->width), op);
	fake_range_give_back(&loan);
	return met;
}

static void wait_run(struct fake_stream *stream, struct fake_op *op)
{
	struct fake_loan loan;
	if (!fake_range_lend(op->from, op->width, stream->context->device, FAKE_NEED_READ, &loan))
		fake_stream_break(stream, WW_CUDA_ERROR_LAUNCH_FAILED);
	else
		fake_range_give_back(&loan);
}

static void write_run(struct fake_stream *stream, struct fake_op *op)
{
	struct fake_loan loan;
	if (!fake_range_lend(op->to, op->width, stream->context->device, FAKE_NEED_WRITE, &loan)) {
		fake_stream_break(stream, WW_CUDA_ERROR_LAUNCH_FAILED);
		return;
	}
	value_store(loan.cpu, op->width, op->value);
	fake_range_give_back(&loan);
}

/* The GPU must be able to read the place at least, and plain memory it cannot. */
static ww_CUresult place_check(int device, uint64_t address, unsigned int width)
{
	enum fake_memory memory;
	if (!address || address % width)
		return WW_CUDA_ERROR_INVALID_VALUE;
	ww_CUresult error = fake_range_check(address, width, device, FAKE_NEED_READ, &memory);
	if (!error && memory == FAKE_MEMORY_PLAIN)
		error = WW_CUDA_ERROR_INVALID_VALUE;
	return error;
}

static ww_CUresult write_check(int device, uint64_t address, unsigned int width, unsigned int flags)
{
	return flags ? WW_CUDA_ERROR_INVALID_VALUE : place_check(device, address, width);
}

static ww_CUresult wait_check(int device, uint64_t address, unsigned int width, unsigned int flags)
{
	if (flags & WW_CU_STREAM_WAIT_VALUE_FLUSH)
		return WW_CUDA_ERROR_NOT_SUPPORTED;
	if (flags > WW_CU_STREAM_WAIT_VALUE_NOR)
		return WW_CUDA_ERROR_INVALID_VALUE;
	return place_check(device, address, width);
}

static struct fake_op *write_op(uint64_t address, unsigned int width, uint64_t value)
{
	struct fake_op *op = fake_op_new();

	if (!op)
		return NULL;
	op->run = write_run;
	op->to = address;
	op->width = width;
	op->value = value;
	return op;
}

static struct fake_op *wait_op(uint64_t address, unsigned int width, uint64_t value,
	unsigned int flags)
{
	struct fake_op *op = fake_op_new();

	if (!op)
		return NULL;
	op->ready = wait_ready;
	op->run = wait_run;
	op->foreign = true;
	op->from = address;
	op->width = width;
	op->value = value;
	op->flags = flags;
	return op;
}

static ww_CUresult write_value(ww_CUstream handle, uint64_t address, unsigned int width,
	uint64_t value, unsigned int flags)
{
	struct fake_stream *stream;
	ww_CUresult error = fake_stream_find(handle, &stream);
	if (!error)
		error = write_check(stream->context->device, address, width, flags);
	return error ? error : fake_stream_push(stream, write_op(address, width, value));
}

static ww_CUresult wait_value(ww_CUstream handle, uint64_t address, unsigned int width,
	uint64_t value, unsigned int flags)
{
	struct fake_stream *stream;
	ww_CUresult error = fake_stream_find(handle, &stream);
	if (!error)
		error = wait_check(stream->context->device, address, width, flags);
	return error ? error : fake_stream_push(stream, wait_op(address, width, value, flags));
}

FAKE_API cuStreamWriteValue32_v2(ww_CUstream stream, ww_CUdeviceptr address, uint32_t value,
	unsigned int flags)
{
	FAKE_ENTER(cuStreamWriteValue32);
	return write_value(stream, address, sizeof(value), value, flags);
}

FAKE_API cuStreamWriteValue64_v2(ww_CUstream stream, ww_CUdeviceptr address, uint64_t value,
	unsigned int flags)
{
	FAKE_ENTER(cuStreamWriteValue64);
	if (fake_config()->no_sync)
		return WW_CUDA_ERROR_NOT_SUPPORTED;
	return write_value(stream, address, sizeof(value), value, flags);
}

FAKE_API cuStreamWaitValue32_v2(ww_CUstream stream, ww_CUdeviceptr address, uint32_t value,
	unsigned int flags)
{
	FAKE_ENTER(cuStreamWaitValue32);
	return wait_value(stream, address, sizeof(value), value, flags);
}

FAKE_API cuStreamWaitValue64_v2(ww_CUstream stream, ww_CUdeviceptr address, uint64_t value,
	unsigned int flags)
{
	FAKE_ENTER(cuStreamWaitValue64);
	if (fake_config()->no_sync)
		return WW_CUDA_ERROR_NOT_SUPPORTED;
	return wait_value(stream, address, sizeof(value), value, flags);
}

static unsigned int width_of(ww_CUstreamBatchMemOpType operation)
{
	bool wide = operation == WW_CU_STREAM_MEM_OP_WAIT_VALUE_64 ||
		operation == WW_CU_STREAM_MEM_OP_WRITE_VALUE_64;
	return wide ? sizeof(uint64_t) : sizeof(uint32_t);
}

static uint64_t value_of(uint32_t value, uint64_t value64, unsigned int width)
{
	return width == sizeof(uint32_t) ? value : value64;
}

ww_CUresult fake_value_check(int device, const ww_CUstreamBatchMemOpParams *operation)
{
	unsigned int width = width_of(operation->operation);

	switch (operation->operation) {
	case WW_CU_STREAM_MEM_OP_WAIT_VALUE_32:
	case WW_CU_STREAM_MEM_OP_WAIT_VALUE_64:
		return wait_check(device, operation->waitValue.address, width,
			operation->waitValue.flags);
	case WW_CU_STREAM_MEM_OP_WRITE_VALUE_32:
	case WW_CU_STREAM_MEM_OP_WRITE_VALUE_64:
		return write_check(device, operation->writeValue.address, width,
			operation->writeValue.flags);
	case WW_CU_STREAM_MEM_OP_BARRIER:
		return WW_CUDA_SUCCESS;
	case WW_CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES:
		return WW_CUDA_ERROR_NOT_SUPPORTED;
	default:
		return WW_CUDA_ERROR_INVALID_VALUE;
	}
}

struct fake_op *fake_value_op(const ww_CUstreamBatchMemOpParams *operation)
{
	unsigned int width = width_of(operation->operation);

	switch (operation->operation) {
	case WW_CU_STREAM_MEM_OP_WAIT_VALUE_32:
	case WW_CU_STREAM_MEM_OP_WAIT_VALUE_64:
		return wait_op(operation->waitValue.address, width,
			value_of(operation->waitValue.value, operation->waitValue.value64, width),
			operation->waitValue.flags);
	default:
		return write_op(operation->writeValue.address, width,
			value_of(operation->writeValue.value, operation->writeValue.value64,
				width));
	}
}

FAKE_API cuStreamBatchMemOp_v2(ww_CUstream handle, unsigned int count,
	ww_CUstreamBatchMemOpParams *operations, unsigned int flags)
{
	FAKE_ENTER_STREAM(cuStreamBatchMemOp, handle);
	if (fake_config()->no_sync)
		return WW_CUDA_ERROR_NOT_SUPPORTED;
	if (flags || count > BATCH_MAX || (count && !operations))
		return WW_CUDA_ERROR_INVALID_VALUE;
	for (unsigned int i = 0; i < count && !error; i++)
		error = fake_value_check(stream->context->device, &operations[i]);
	/* A barrier needs no operation: each one here is ordered after those before it. */
	for (unsigned int i = 0; i < count && !error; i++)
		if (operations[i].operation != WW_CU_STREAM_MEM_OP_BARRIER)
			error = fake_stream_push(stream, fake_value_op(&operations[i]));
	return error;
}
