/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mpi_test.c - see mpi_test.h
 */
#include "mpi_test.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "device_memory.h"

#define MEMORIES_MOST 4096

int rank, ranks;

static FILE *transcript;
static enum {
	HOST,
	DEVICE,
	MIXED
} mode;
static unsigned int turn;
static unsigned int kind; /* of the next device memory */
static unsigned int kind_step = 1;
static struct {
	char *at;
	size_t bytes;
	bool is_device;
	unsigned int kind; /* of device memory */
} memories[MEMORIES_MOST];

void test_must(bool is_so, const char *what, const char *file, int line)
{
	if (is_so)
		return;
	fprintf(stderr, "%s:%d: rank %d: %s is not so\n", file, line, rank, what);
	MPI_Abort(MPI_COMM_WORLD, 3);
}

void test_ok(int code, const char *what, const char *file, int line)
{
	char text[MPI_MAX_ERROR_STRING] = "";
	int length;

	if (code == MPI_SUCCESS)
		return;
	MPI_Error_string(code, text, &length);
	fprintf(stderr, "%s:%d: rank %d: %s: %s\n", file, line, rank, what, text);
	MPI_Abort(MPI_COMM_WORLD, 3);
}

void test_init(int *argc, char ***argv, int level)
{
	const char *name = *argc > 1 ? (*argv)[1] : "";
	char path[512];
	int provided;

	MPI_Init_thread(argc, argv, level, &provided);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	mode = !strcmp(name, "device") ? DEVICE : !strcmp(name, "mixed") ? MIXED : HOST;
	MUST(mode != HOST || !strcmp(name, "host"));
	MUST(provided >= level);
	turn = (unsigned int)rank;
	if (getenv("MPI_TEST_TRANSCRIPT")) {
		snprintf(path, sizeof(path), "%s.%d", getenv("MPI_TEST_TRANSCRIPT"), rank);
		transcript = fopen(path, "w");
	}
	if (!transcript)
		transcript = stdout;
	if (mode != HOST)
		device_open(rank);
}

int test_finish(void)
{
	MPI_Finalize();
	return fclose(transcript) ? 1 : 0;
}

void say(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vfprintf(transcript, format, arguments);
	va_end(arguments);
	fputc('\n', transcript);
	fflush(transcript);
}

void test_device_of(int own_rank)
{
	mode = DEVICE;
	rank = own_rank;
	device_open(rank);
}

/* For programs in Fortran, which start the MPI themselves. */
void test_device(void)
{
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	test_device_of(rank);
}

bool is_staging(void)
{
	return mode != HOST;
}

/* --- bounds --- */

static struct rlimit addresses; /* as it was */

void bound_addresses(size_t more_bytes)
{
	FILE *stream = fopen("/proc/self/statm", "re");
	unsigned long pages = 0;
	struct rlimit bound;

	MUST(stream && fscanf(stream, "%lu", &pages) == 1);
	fclose(stream);
	MUST(getrlimit(RLIMIT_AS, &addresses) == 0);
	bound = addresses;
	bound.rlim_cur = pages * (size_t)sysconf(_SC_PAGESIZE) + more_bytes;
	MUST(setrlimit(RLIMIT_AS, &bound) == 0);
}

void unbound_addresses(void)
{
	MUST(setrlimit(RLIMIT_AS, &addresses) == 0);
}

/* --- memory --- */

static int find(const void *memory)
{
	for (int i = 0; i < MEMORIES_MOST; i++) {
		const char *at = memories[i].at;

		if (at && (const char *)memory >= at &&
			(const char *)memory < at + memories[i].bytes)
			return i;
	}
	return -1;
}

bool memory_is_device(const void *memory)
{
	int i = find(memory);

	return i >= 0 && memories[i].is_device;
}

void *memory_new(size_t bytes, unsigned int seed)
{
	int i = 0;

	bytes = bytes ? bytes : 1;
	while (i < MEMORIES_MOST && memories[i].at)
		i++;
	MUST(i < MEMORIES_MOST);
	memories[i].is_device = mode == DEVICE || (mode == MIXED && turn++ % 2 == 0);
	if (memories[i].is_device) {
		memories[i].kind = kind;
		kind += kind_step;
		memories[i].at = device_memory_new(bytes, memories[i].kind);
	} else {
		/* Not of the heap: a type that spans it and a device may span
		 * more addresses than are free. */
		memories[i].at = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	}
	MUST(memories[i].at && memories[i].at != MAP_FAILED);
	memories[i].bytes = bytes;
	memory_fill(memories[i].at, bytes, seed);
	return memories[i].at;
}

void memory_kinds(bool is_one)
{
	kind_step = is_one ? DEVICE_MEMORY_KINDS : 1;
	kind = (kind + DEVICE_MEMORY_KINDS) / DEVICE_MEMORY_KINDS * DEVICE_MEMORY_KINDS;
}

void memory_free(void *memory)
{
	int i = find(memory);

	MUST(i >= 0 && memories[i].at == memory);
	if (memories[i].is_device)
		device_memory_free(memory, memories[i].bytes, memories[i].kind);
	else
		munmap(memory, memories[i].bytes);
	memories[i].at = NULL;
}

void memory_free_at(void *pointer)
{
	memory_free(*(void **)pointer);
}

void memory_put(void *memory, const void *from, size_t bytes)
{
	if (!memory_is_device(memory))
		memcpy(memory, from, bytes);
	else
		device_memory_put(memory, from, bytes);
}

void memory_get(void *to, const void *memory, size_t bytes)
{
	if (!memory_is_device(memory))
		memcpy(to, memory, bytes);
	else
		device_memory_get(to, memory, bytes);
}

static unsigned char *new_bytes(size_t bytes)
{
	unsigned char *at = malloc(bytes ? bytes : 1);

	MUST(at);
	return at;
}

void memory_fill(void *memory, size_t bytes, unsigned int seed)
{
	unsigned char *at = new_bytes(bytes);
	uint32_t state = seed * 2654435761u + (unsigned int)rank * 40503u + 1;

	for (size_t i = 0; i < bytes; i++) {
		state = state * 1664525u + 1013904223u;
		at[i] = (unsigned char)(state >> 24);
	}
	memory_put(memory, at, bytes);
	free(at);
}

void memory_fill_ints(void *memory, size_t count, unsigned int seed)
{
	int *at = (int *)new_bytes(count * sizeof(int));

	for (size_t i = 0; i < count; i++)
		at[i] = (int)((i * 7 + seed * 13u % 101 + (unsigned int)rank * 5u % 101) % 101);
	memory_put(memory, at, count * sizeof(int));
	free(at);
}

MPI_Datatype halves_type(void)
{
	int lengths[2] = {1, 1};
	MPI_Aint displs[2] = {(MPI_Aint)HALF_BYTES, 0};
	MPI_Datatype half, type;

	OK(MPI_Type_contiguous((int)HALF_BYTES, MPI_BYTE, &half));
	OK(MPI_Type_create_hindexed(2, lengths, displs, half, &type));
	OK(MPI_Type_commit(&type));
	OK(MPI_Type_free(&half));
	return type;
}

void must_have_kinds(MPI_Info info)
{
	char kinds[1000] = "";
	int is_there = 0;

	OK(MPI_Info_get(info, "mpi_memory_alloc_kinds", sizeof(kinds) - 1, kinds, &is_there));
	MUST(is_there && strstr(kinds, "system") && strstr(kinds, "mpi"));
	MUST(strstr(kinds, ",cuda,cuda:device,cuda:managed,cuda:host"));
	OK(MPI_Info_free(&info));
}

void say_memory(const char *what, const void *memory, size_t bytes)
{
	unsigned char *at = new_bytes(bytes);
	uint64_t hash = 14695981039346656037u;

	memory_get(at, memory, bytes);
	for (size_t i = 0; i < bytes; i++)
		hash = (hash ^ at[i]) * 1099511628211u;
	say("%s: %zu bytes %016llx", what, bytes, (unsigned long long)hash);
	free(at);
}

void say_status(const char *what, const MPI_Status *status)
{
	int bytes = 0;

	MPI_Get_elements(status, MPI_BYTE, &bytes);
	say("%s: from %d, tag %d, %d bytes", what, status->MPI_SOURCE, status->MPI_TAG, bytes);
}
