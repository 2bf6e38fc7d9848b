/* SPDX-License-Identifier: Apache-2.0 */
/*
 * allocation.h - memory of the subject's GPU that is allocated with the driver itself, as other
 * programs do
 *
 * Its bytes are written and read by the driver's own copies. The primary context of the GPU is
 * current in the thread from the first allocation on, until allocation_leave().
 */
#ifndef WW_TESTS_SUPPORT_ALLOCATION_H
#define WW_TESTS_SUPPORT_ALLOCATION_H

#include <stdbool.h>
#include <stdint.h>

#include "device/cuda/cuda_abi.h"

enum allocation_kind {
	ALLOCATION_LEGACY,       /* cuMemAlloc() */
	ALLOCATION_POOL,         /* from a pool with a descriptor */
	ALLOCATION_POOL_CLOSED,  /* from one without */
	ALLOCATION_DEFAULT_POOL, /* cuMemAllocAsync() */
	ALLOCATION_VMM,          /* cuMemCreate() with a descriptor */
	ALLOCATION_VMM_CLOSED,   /* ... without */
	/* two side by side, each of half the bytes, as PyTorch's expandable segments */
	ALLOCATION_VMM_PARTS,
	ALLOCATION_MANAGED,
	ALLOCATION_PINNED /* cuMemHostAlloc() */
};

struct allocation {
	enum allocation_kind kind;
	ww_CUdeviceptr address;
	uint64_t bytes;
	ww_CUmemoryPool pool;
	ww_CUstream stream;
	size_t part_bytes; /* of cuMemCreate(): what each handle has */
};

/* Return: false: there is no such memory here. */
bool allocation_make(struct allocation *allocation, enum allocation_kind kind, uint64_t bytes);
void allocation_free(struct allocation *allocation);

void *allocation_at(const struct allocation *allocation, uint64_t offset);

/* The pattern of subject.h, in all of it. */
void allocation_write(const struct allocation *allocation, uint32_t seed);
void allocation_verify(const struct allocation *allocation, uint32_t seed);

/* Any device memory, by the driver's copies. */
void address_write(ww_CUdeviceptr address, uint64_t bytes, uint32_t seed);
void address_verify(ww_CUdeviceptr address, uint64_t bytes, uint32_t seed);

/* The subject's primary context becomes current, and is kept; the second gives it back. */
void allocation_enter(void);
void allocation_leave(void);

/* In place of that: a context of its own, that nobody else uses; nothing is current then. */
void allocation_enter_apart(void);
void allocation_step_out(void);

/* What the driver makes once and keeps, so that leaks show. */
void allocation_warm_up(void);

#endif
