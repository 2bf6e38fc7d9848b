/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_memory.h - device memory of every kind that a program can have, by the driver
 */
#ifndef TESTS_MPI_DEVICE_MEMORY_H
#define TESTS_MPI_DEVICE_MEMORY_H

#include <stddef.h>

#define DEVICE_MEMORY_KINDS   4 /* allocated, managed, of the device's pool, mapped from a handle */
#define DEVICE_MEMORY_MANAGED 1 /* of the fake driver, too, the CPU reaches it */

/* Makes the primary context of a GPU current: the first one, or @turn modulo all of them. */
void device_open(int turn);

/*
 * @kind: any number; taken modulo DEVICE_MEMORY_KINDS. Freed with the same kind and size. With
 * MPI_TEST_ALL_GPUS set, memory is of all GPUs in turns, and the current context must be that of
 * device_open() at each call.
 */
void *device_memory_new(size_t bytes, unsigned int kind);
void device_memory_free(void *memory, size_t bytes, unsigned int kind);

void device_memory_put(void *memory, const void *from, size_t bytes);
void device_memory_get(void *to, const void *memory, size_t bytes);

/*
 * Captures a stream, in the mode in which CUDA forbids most. Until the end the calls above are
 * forbidden. Return: for the end, which fails if a call has ended the capture.
 */
void *device_capture_begin(void);
void device_capture_end(void *capture);

#endif
