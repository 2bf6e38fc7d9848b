/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mpi_test.h - what the MPI test programs share: memory of either kind, and a transcript
 *
 * A program is run twice, by mpi_test.py: with host memory and the bare MPI, and with device memory
 * and our library loaded. What every rank says must be the same.
 */
#ifndef TESTS_MPI_MPI_TEST_H
#define TESTS_MPI_MPI_TEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mpi/abi.h"

extern int rank, ranks;

/* Reads the command line (host, device or mixed; then words of the program) and starts the MPI. */
void test_init(int *argc, char ***argv, int level);
/* In place of it, for a program that has started the MPI itself: device memory, no transcript. */
void test_device(void);
/* The same without MPI_COMM_WORLD. */
void test_device_of(int own_rank);
/* Ends it. Return: the exit code. */
int test_finish(void);

/* Says something in this rank's transcript. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Ends the job if the code is not MPI_SUCCESS, or what must be is not. */
#define OK(call)   test_ok((call), #call, __FILE__, __LINE__)
#define MUST(what) test_must((what), #what, __FILE__, __LINE__)
void test_ok(int code, const char *what, const char *file, int line);
void test_must(bool is_so, const char *what, const char *file, int line);

/*
 * Memory that the run is about; mixed: of the host and of a device in turns. Device memory is of
 * each kind in turns (device_memory.h). Filled by a seed.
 */
void *memory_new(size_t bytes, unsigned int seed);

/*
 * Device memory from now on: that of cuMemAlloc() alone (true), or of each kind in turns. The
 * driver puts mapped memory so far from the rest that no type can span both.
 */
void memory_kinds(bool is_one);

void memory_free(void *memory);

/* A local that points to such memory, which is freed when its scope ends. */
#define OWN_MEMORY __attribute__((cleanup(memory_free_at), unused))
void memory_free_at(void *pointer);

void memory_fill(void *memory, size_t bytes, unsigned int seed);
void memory_put(void *memory, const void *from, size_t bytes);
void memory_get(void *to, const void *memory, size_t bytes);
bool memory_is_device(const void *memory);
/* Whether the library stages in this run. */
bool is_staging(void);

/* From now on the process gets so many bytes of addresses more; and again as many as before. */
void bound_addresses(size_t more_bytes);
void unbound_addresses(void);

/* The info names all kinds of memory that the library takes. Frees it. */
void must_have_kinds(MPI_Info info);

/* Says what is in the memory. */
void say_memory(const char *what, const void *memory, size_t bytes);
void say_status(const char *what, const MPI_Status *status);

/*
 * One element of more than 2 GiB, whose halves are sent in the other order, and which the library
 * does not know; committed.
 */
#define HALF_BYTES (((size_t)1 << 30) + 4096)
MPI_Datatype halves_type(void);

/* Small numbers, so that reductions are exact. */
void memory_fill_ints(void *memory, size_t count, unsigned int seed);

#endif
