/* SPDX-License-Identifier: Apache-2.0 */
/*
 * raw_host.c - the floor on the CPU: a sealed memfd, made, mapped and passed by hand; a bare thread
 * as a stream
 *
 * The thread takes its work from a ring that the caller fills. A word in shared memory is looked at
 * for a while, then slept on; who stores one wakes whoever sleeps. There are no events between
 * processes, so a word that is counted up stands for one.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "bench/raw.h"
#include "common/cleanup.h"
#include "common/say.h"

static int map(int fd, uint64_t bytes, struct raw_memory *out_memory)
{
	void *address = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (address == MAP_FAILED)
		return complain("mmap: %s", strerror(errno));
	out_memory->address = (uintptr_t)address;
	out_memory->bytes = bytes;
	out_memory->fd = fd;
	return 0;
}

/* Takes the descriptor, also on failure. */
static int map_or_close(int fd, uint64_t bytes, struct raw_memory *out_memory)
{
	if (fd < 0)
		return -1;
	if (map(fd, bytes, out_memory) == 0)
		return 0;
	close(fd);
	return -1;
}

static int create(struct raw *raw, uint64_t bytes, struct raw_memory *out_memory)
{
	(void)raw;
	return map_or_close(raw_memfd(bytes), bytes, out_memory);
}

static int unmap(struct raw *raw, struct raw_memory *memory)
{
	(void)raw;
	if (munmap((void *)(uintptr_t)memory->address, memory->bytes) || close(memory->fd))
		return complain("cannot unmap a memfd: %s", strerror(errno));
	return 0;
}

static int export_fd(struct raw *raw, const struct raw_memory *memory, int *out_fd)
{
	(void)raw;
	*out_fd = fcntl(memory->fd, F_DUPFD_CLOEXEC, 0);
	return *out_fd < 0 ? complain("fcntl: %s", strerror(errno)) : 0;
}

/* The importer keeps a descriptor of its own beside the mapping, to hand the memory on. */
static int import_map(struct raw *raw, int fd, uint64_t bytes, struct raw_memory *out_memory)
{
	int kept = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	(void)raw;
	return kept < 0 ? complain("fcntl: %s", strerror(errno))
			: map_or_close(kept, bytes, out_memory);
}

/* --- streams, pages and events --- */

#define RING  4096
#define LOOKS 500 /* at a word, before sleeping on it */

struct work {
	const struct raw_page *page; /* borrowed; NULL: the end */
	enum raw_word word;
	bool is_wait;
	uint64_t value;
};

struct raw_stream {
	pthread_t thread;
	pthread_mutex_t lock; /* of the following */
	pthread_cond_t has_work;
	pthread_cond_t has_run;
	struct work ring[RING];
	uint64_t enqueued;
	uint64_t completed;
};

static struct work take(struct raw_stream *stream)
{
	struct work work;

	pthread_mutex_lock(&stream->lock);
	while (stream->completed == stream->enqueued)
		pthread_cond_wait(&stream->has_work, &stream->lock);
	work = stream->ring[stream->completed % RING];
	pthread_mutex_unlock(&stream->lock);
	return work;
}

static void complete(struct raw_stream *stream)
{
	pthread_mutex_lock(&stream->lock);
	stream->completed++;
	pthread_cond_broadcast(&stream->has_run);
	pthread_mutex_unlock(&stream->lock);
}

static void *stream_thread(void *context)
{
	struct raw_stream *stream = context;

	for (;;) {
		struct work work = take(stream);

		if (!work.page)
			return NULL;
		if (work.is_wait) {
			raw_word_await(work.page, work.word, work.value, LOOKS);
		} else {
			raw_word_store(work.page, work.word, work.value);
			raw_word_wake(work.page, work.word);
		}
		complete(stream);
	}
}

/* Waits for a place in the ring. */
static void enqueue(struct raw_stream *stream, const struct work *work)
{
	pthread_mutex_lock(&stream->lock);
	while (stream->enqueued - stream->completed == RING)
		pthread_cond_wait(&stream->has_run, &stream->lock);
	stream->ring[stream->enqueued++ % RING] = *work;
	pthread_cond_signal(&stream->has_work);
	pthread_mutex_unlock(&stream->lock);
}

static int stream_create(struct raw *raw, struct raw_stream **out_stream)
{
	OWN(heap) struct raw_stream *stream = calloc(1, sizeof(*stream));
	int error;

	(void)raw;
	if (!stream)
		return complain("out of memory");
	pthread_mutex_init(&stream->lock, NULL);
	pthread_cond_init(&stream->has_work, NULL);
	pthread_cond_init(&stream->has_run, NULL);
	error = pthread_create(&stream->thread, NULL, stream_thread, stream);
	if (error)
		return complain("cannot start a thread: %s", strerror(error));
	*out_stream = stream;
	stream = NULL;
	return 0;
}

static void stream_free(struct raw *raw, struct raw_stream *stream)
{
	const struct work end = {.page = NULL};

	(void)raw;
	enqueue(stream, &end);
	pthread_join(stream->thread, NULL);
	pthread_cond_destroy(&stream->has_run);
	pthread_cond_destroy(&stream->has_work);
	pthread_mutex_destroy(&stream->lock);
	free(stream);
}

static int stream_synchronize(struct raw *raw, struct raw_stream *stream)
{
	(void)raw;
	pthread_mutex_lock(&stream->lock);
	while (stream->completed < stream->enqueued)
		pthread_cond_wait(&stream->has_run, &stream->lock);
	pthread_mutex_unlock(&stream->lock);
	return 0;
}

static int stream_write(struct raw *raw, struct raw_stream *stream, const struct raw_page *page,
	enum raw_word word, uint64_t value)
{
	const struct work work = {.page = page, .word = word, .value = value};

	(void)raw;
	enqueue(stream, &work);
	return 0;
}

static int stream_wait(struct raw *raw, struct raw_stream *stream, const struct raw_page *page,
	enum raw_word word, uint64_t value)
{
	const struct work work = {.page = page, .word = word, .is_wait = true, .value = value};

	(void)raw;
	enqueue(stream, &work);
	return 0;
}

/* The CPU needs no telling. */
static int page_register(struct raw *raw, struct raw_page *page)
{
	(void)raw;
	page->address = (uintptr_t)page->start;
	return 0;
}

static void page_unregister(struct raw *raw, struct raw_page *page)
{
	(void)raw;
	(void)page;
}

static int event_of(struct raw *raw, struct raw_page *page, struct raw_event *out_event)
{
	(void)raw;
	out_event->page = page;
	return 0;
}

static void event_free(struct raw *raw, struct raw_event *event)
{
	(void)raw;
	event->page = NULL;
}

static int event_record(struct raw *raw, struct raw_event *event, struct raw_stream *stream,
	uint64_t value)
{
	return stream_write(raw, stream, event->page, RAW_WORD_EVENT, value);
}

static int event_wait(struct raw *raw, struct raw_event *event, struct raw_stream *stream,
	uint64_t value)
{
	return stream_wait(raw, stream, event->page, RAW_WORD_EVENT, value);
}

static void close_nothing(struct raw *raw)
{
	(void)raw;
}

static const struct raw_ops host_ops = {
	.has_sleepers = true,
	.create = create,
	.export_fd = export_fd,
	.import_map = import_map,
	.unmap = unmap,
	.page_register = page_register,
	.page_unregister = page_unregister,
	.stream_create = stream_create,
	.stream_free = stream_free,
	.stream_synchronize = stream_synchronize,
	.stream_write = stream_write,
	.stream_wait = stream_wait,
	.event_create = event_of,
	.event_open = event_of,
	.event_free = event_free,
	.event_record = event_record,
	.event_wait = event_wait,
	.close = close_nothing,
};

int raw_open_host(struct raw **out_raw)
{
	static struct raw host = {.ops = &host_ops};

	*out_raw = &host;
	return 0;
}
