/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transfer.h - bytes between a file and a memory, wherever it lives
 *
 * Memory that the CPU reaches is read into and written from in place. That of a GPU goes by two
 * pieces of CPU memory in turn: while the GPU copies one, the file fills or takes the other.
 */
#ifndef TOOLS_WARPWAY_TRANSFER_H
#define TOOLS_WARPWAY_TRANSFER_H

#include <warpway/warpway.h>

#include <stddef.h>
#include <stdint.h>

#include "warpway/progress.h"

struct pump {
	ww_memory *memory;         /* borrowed */
	uint8_t *device;           /* where the device finds it */
	uint8_t *direct;           /* where the CPU finds it; NULL: by pieces */
	ww_stream *stream;         /* NULL where not needed, as the rest */
	ww_memory *pinned;         /* the pieces, if the device can reach CPU memory */
	uint8_t *pieces;           /* two of PUMP_PIECE_BYTES */
	struct progress *progress; /* borrowed */
};

#define PUMP_PIECE_BYTES (UINT64_C(8) << 20)

/* Returns 0, or -1 after saying what went wrong; end it with pump_close() in either case. */
int pump_open(struct pump *pump, ww_memory *memory, struct progress *progress);
void pump_close(struct pump *pump);

/**
 * pump_fill() - read a file into the memory
 * @fd:      borrowed; anything that can be read
 * @name:    of the file, for messages
 * @offset:  from the start of the memory
 * @bytes:   all of them must be there
 *
 * Return: 0; -1 after saying what went wrong (an interrupt that is pending says nothing).
 */
int pump_fill(struct pump *pump, int fd, const char *name, uint64_t offset, uint64_t bytes);

/* Writes a span of the memory to a file; the same otherwise. */
int pump_drain(struct pump *pump, int fd, const char *name, uint64_t offset, uint64_t bytes);

static inline void own_pump(struct pump *pump)
{
	pump_close(pump);
}

#endif
