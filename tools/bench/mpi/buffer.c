/* SPDX-License-Identifier: Apache-2.0 */
/*
 * buffer.c - memory of a rank, what is in it, and the copies by hand
 *
 * The elements are floats that are whole numbers, so sums are exact. Each depends on its rank, its
 * block and its place.
 */
#include "bench/mpi/job.h"

#include <string.h>
#include <sys/mman.h>

#define PERIOD      97
#define RANK_STEP   128
#define BLOCK_STEP  4096
#define PIECE_BYTES (UINT64_C(1) << 20)

static ww_CUdeviceptr device_address(const void *pointer)
{
	return (ww_CUdeviceptr)(uintptr_t)pointer;
}

static uint64_t bytes_of(const struct job *job, const struct buffer *buffer)
{
	return (uint64_t)buffer->blocks * job->bytes;
}

int buffer_open(struct job *job, struct buffer *buffer, bool is_device)
{
	uint64_t bytes = bytes_of(job, buffer);
	ww_CUdeviceptr address;
	void *host;

	buffer->is_device = is_device;
	if (bytes == 0)
		return 0;
	host = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (host == MAP_FAILED)
		return -1;
	buffer->host = host;
	if (!is_device) {
		buffer->user = host;
		return 0;
	}
	if (job->cuda.cuMemHostRegister(host, bytes, 0) != WW_CUDA_SUCCESS)
		return -1;
	if (job->cuda.cuMemAlloc(&address, bytes) != WW_CUDA_SUCCESS)
		return -1;
	buffer->user = (char *)(uintptr_t)address;
	return 0;
}

void buffer_close(struct job *job, struct buffer *buffer)
{
	if (buffer->is_device && buffer->host)
		job->cuda.cuMemHostUnregister(buffer->host);
	if (buffer->is_device && buffer->user)
		job->cuda.cuMemFree(device_address(buffer->user));
	if (buffer->host)
		munmap(buffer->host, bytes_of(job, buffer));
	*buffer = (struct buffer){0};
}

void copy(const struct job *job, void *to, const void *from, uint64_t bytes)
{
	const struct cuda *cuda = &job->cuda;

	must(CUDA_CALL(cuda, cuMemcpyAsync, device_address(to), device_address(from), bytes,
		cuda->stream));
	must(CUDA_CALL(cuda, cuStreamSynchronize, cuda->stream));
}

static void stage(const struct job *job, const struct buffer *buffer, int first, int count,
	bool is_back)
{
	uint64_t offset = (uint64_t)first * job->bytes;
	uint64_t bytes = (uint64_t)count * job->bytes;

	if (is_back)
		copy(job, buffer->user + offset, buffer->host + offset, bytes);
	else
		copy(job, buffer->host + offset, buffer->user + offset, bytes);
}

void stage_out(const struct job *job, const struct buffer *buffer, enum way way, int first,
	int count)
{
	if (way == WAY_HAND && buffer->is_device && count > 0)
		stage(job, buffer, first, count, false);
}

void stage_back(const struct job *job, const struct buffer *buffer, enum way way, int first,
	int count)
{
	if (way == WAY_HAND && buffer->is_device && count > 0)
		stage(job, buffer, first, count, true);
}

char *buffer_at(const struct job *job, const struct buffer *buffer, enum way way, int block)
{
	char *start = way == WAY_HAND ? buffer->host : buffer->user;

	return start ? start + (uint64_t)block * job->bytes : NULL;
}

/* --- what is in it --- */

/* Element i is factor * (i % PERIOD) + plus. */
struct content {
	int factor;
	int plus;
};

static struct content content_of(int rank, int block)
{
	return (struct content){1, RANK_STEP * rank + BLOCK_STEP * block};
}

static struct content expected(const struct job *job, int block)
{
	switch (job->job_case->expect) {
	case EXPECT_PEER:
		return content_of(job->peer, block);
	case EXPECT_ROOT:
		return content_of(0, 0);
	case EXPECT_ROOT_OWN:
		return content_of(0, job->rank);
	case EXPECT_EACH:
		return content_of(block, 0);
	case EXPECT_EACH_OWN:
		return content_of(block, job->rank);
	case EXPECT_SUM:
		break;
	}
	return (struct content){job->ranks, RANK_STEP * job->ranks * (job->ranks - 1) / 2};
}

static float element(struct content content, uint64_t index)
{
	return (float)(content.factor * (int)(index % PERIOD) + content.plus);
}

static void move(const struct job *job, const struct buffer *buffer, void *to, const void *from,
	uint64_t bytes)
{
	if (buffer->is_device)
		copy(job, to, from, bytes);
	else
		memcpy(to, from, bytes);
}

/* Writes a block, or looks at all of it. Return: whether the content is there. */
static bool write_or_check(struct job *job, const struct buffer *buffer, int block,
	struct content content, bool is_check)
{
	static float piece[PIECE_BYTES / sizeof(float)];
	char *start = buffer->user + (uint64_t)block * job->bytes;

	for (uint64_t done = 0; done < job->bytes; done += PIECE_BYTES) {
		uint64_t left = job->bytes - done;
		uint64_t bytes = left < PIECE_BYTES ? left : PIECE_BYTES;

		if (is_check)
			move(job, buffer, piece, start + done, bytes);
		for (uint64_t i = 0; i < bytes / sizeof(float); i++) {
			float value = element(content, done / sizeof(float) + i);

			if (is_check && piece[i] != value)
				return false;
			piece[i] = value;
		}
		if (!is_check)
			move(job, buffer, start + done, piece, bytes);
	}
	return true;
}

void buffer_fill(struct job *job, const struct buffer *buffer)
{
	for (int block = 0; block < buffer->blocks; block++)
		write_or_check(job, buffer, block, content_of(job->rank, block), false);
}

/* No element is below 0. */
void buffer_spoil(struct job *job, const struct buffer *buffer)
{
	for (int block = 0; block < buffer->blocks; block++)
		write_or_check(job, buffer, block, (struct content){0, -1}, false);
}

bool buffer_verify(struct job *job, const struct buffer *buffer)
{
	for (int block = 0; block < buffer->blocks; block++) {
		if (!write_or_check(job, buffer, block, expected(job, block), true))
			return false;
	}
	return true;
}
