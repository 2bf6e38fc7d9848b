/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory_threads.c - many threads at once on the same objects
 */
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "integration/memory.h"

#define THREADS 6
#define ROUNDS  60

static struct {
	ww_device *device;
	int fd;
	struct ww_memory_description description;
	pthread_barrier_t barrier;
	ww_memory *imported[THREADS];
} shared;

static ww_memory *import(void)
{
	ww_memory *memory;

	MUST_OK(ww_memory_import_fd(shared.device, shared.fd, &shared.description,
		WW_PARAMS(struct ww_import_params, .access = WW_ACCESS_WRITE), &memory));
	return memory;
}

static void run_threads(void *(*run)(void *))
{
	pthread_t threads[THREADS];

	MUST(!pthread_barrier_init(&shared.barrier, NULL, THREADS));
	for (size_t i = 0; i < THREADS; i++)
		MUST(!pthread_create(&threads[i], NULL, run, &shared.imported[i]));
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&shared.barrier);
}

/* Memory of another process, so that nothing of it is mapped here to begin with. */
static void share_with_threads(void *(*run)(void *))
{
	struct child child;
	ww_memory *memory;

	shared.device = subject_open();
	start_maker(&child, SOCK_SEQPACKET, WW_MEMORY_VMM, 2 * MIB, 1);
	packet_receive(child.socket, &shared.description, sizeof(shared.description), &shared.fd);
	child_hear(&child, "sent");
	run_threads(run);
	memory = import();
	pattern_verify(memory, 1);
	ww_memory_unref(memory);
	close(shared.fd);
	child_tell(&child, "end");
	child_finish(&child);
	ww_device_unref(shared.device);
}

static void *import_together(void *slot)
{
	ww_memory **mine = slot;

	for (int round = 0; round < ROUNDS; round++) {
		pthread_barrier_wait(&shared.barrier);
		*mine = import();
		pthread_barrier_wait(&shared.barrier);
		for (size_t i = 0; i < THREADS; i++)
			MUST(shared.imported[i] == *mine);
		pthread_barrier_wait(&shared.barrier);
		ww_memory_unref(*mine);
	}
	return NULL;
}

CASE(threads_import_one_object, WW_CAP_EXPORT)
{
	if (subject_is_cuda() && !kernel_compares_descriptors())
		check_skip("this kernel does not tell whether two descriptors are one");
	share_with_threads(import_together);
}

/* No step kept: the last unref of one thread meets the import of another. */
static void *import_and_drop(void *slot)
{
	(void)slot;
	for (int round = 0; round < 4 * ROUNDS; round++) {
		ww_memory *memory = import();

		MUST(ww_memory_pointer(memory) != NULL);
		MUST_EQUAL(2 * MIB, memory_info(memory).bytes);
		ww_memory_unref(memory);
	}
	return NULL;
}

CASE_CALL(threads_import_and_drop, WW_CAP_EXPORT, share_with_threads(import_and_drop))

static void *do_everything(void *slot)
{
	uint8_t buffer[4096] = {1};

	(void)slot;
	for (int round = 0; round < ROUNDS / 4; round++) {
		ww_device *device = subject_open();
		ww_stream *stream = stream_make(device);
		ww_memory *memory = memory_make(device, WW_MEMORY_VMM, 2 * MIB);
		ww_memory *reader = memory_reimport(memory, device, WW_ACCESS_READ);

		MUST_OK(ww_stream_copy(stream, ww_memory_pointer(memory), buffer, sizeof(buffer)));
		MUST_OK(ww_stream_fill(stream, ww_memory_pointer(memory), 7, 4, 1024));
		MUST_OK(ww_stream_copy(stream, buffer, ww_memory_pointer(reader), sizeof(buffer)));
		MUST(ww_stream_fill(stream, ww_memory_pointer(reader), 7, 4, 1) == WW_ERR_ACCESS);
		MUST_OK(ww_stream_synchronize(stream, WW_FOREVER, NULL));
		MUST_EQUAL(7, buffer[4092]);
		ww_memory_unref(memory);
		ww_memory_unref(reader);
		ww_stream_unref(stream);
		ww_device_unref(device);
	}
	return NULL;
}

CASE_CALL(threads_do_everything, WW_CAP_EXPORT, run_threads(do_everything))
