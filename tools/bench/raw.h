/* SPDX-License-Identifier: Apache-2.0 */
/*
 * raw.h - the floor: what the system itself takes for the same work
 *
 * The calls a careful programmer would write without this library, on a GPU to the CUDA driver, on
 * the CPU to the kernel; nothing is checked beyond success, nothing is kept. One implementation for
 * each kind of device, chosen by raw_open().
 *
 * Processes wait for each other by words in a page: a memfd that one of them writes and the other
 * maps for reading only, on the GPU too. On the CPU a stream is a thread that takes its work from a
 * ring.
 */
#ifndef TOOLS_BENCH_RAW_H
#define TOOLS_BENCH_RAW_H

#include <stdbool.h>

#include <warpway/warpway.h>

#define RAW_PAGE_BYTES 4096
#define RAW_WORD_BYTES UINT64_C(128) /* a word has a cache line, and that beside it, for itself */

/* Behind the words: the handle of the owner's event, and what the owner likes. */
#define RAW_HANDLE_OFFSET 1024
#define RAW_HANDLE_BYTES  64
#define RAW_NOTES_OFFSET  2048

/* What the words of a page are for. */
enum raw_word {
	RAW_WORD_STREAM, /* stored by a stream */
	RAW_WORD_CPU,
	RAW_WORD_EVENT, /* on the CPU: the event itself */
	RAW_WORD_GATE,  /* for streams of its owner, opened by the CPU */
	RAW_WORDS
};

struct raw;
struct raw_stream;

/* A span of memory, mapped for reading and writing. */
struct raw_memory {
	uint64_t bytes;
	uint64_t address;
	uint64_t handle; /* the driver's; on the CPU unused */
	int fd;          /* on the CPU; on a GPU unused */
};

struct raw_page {
	char *start;      /* NULL: there is none */
	int fd;           /* kept, to set free who waits when a process has failed */
	uint64_t address; /* as the device sees it */
	bool is_own;
};

#define RAW_PAGE_NONE    \
	{                \
		.fd = -1 \
	}

struct raw_event {
	void *native;          /* on the CPU unused */
	struct raw_page *page; /* of its maker; on a GPU unused */
};

/* All return 0, or -1 after saying what went wrong; unmap takes what it is given. */
struct raw_ops {
	bool has_sleepers; /* a stream that waits for a word may be asleep */

	int (*create)(struct raw *raw, uint64_t bytes, struct raw_memory *out_memory);
	int (*export_fd)(struct raw *raw, const struct raw_memory *memory, int *out_fd);
	int (*import_map)(struct raw *raw, int fd, uint64_t bytes, struct raw_memory *out_memory);
	/* What was created, and what was imported. */
	int (*unmap)(struct raw *raw, struct raw_memory *memory);

	/* What the CPU has mapped becomes known to the device. */
	int (*page_register)(struct raw *raw, struct raw_page *page);
	void (*page_unregister)(struct raw *raw, struct raw_page *page);

	int (*stream_create)(struct raw *raw, struct raw_stream **out_stream);
	void (*stream_free)(struct raw *raw, struct raw_stream *stream);
	int (*stream_synchronize)(struct raw *raw, struct raw_stream *stream);
	int (*stream_write)(struct raw *raw, struct raw_stream *stream, const struct raw_page *page,
		enum raw_word word, uint64_t value);
	int (*stream_wait)(struct raw *raw, struct raw_stream *stream, const struct raw_page *page,
		enum raw_word word, uint64_t value);

	/*
	 * An event of this process, its handle left in @own; and that of another one, from its
	 * page.
	 */
	int (*event_create)(struct raw *raw, struct raw_page *own, struct raw_event *out_event);
	int (*event_open)(struct raw *raw, struct raw_page *peers, struct raw_event *out_event);
	/* Also one that is all zero. */
	void (*event_free)(struct raw *raw, struct raw_event *event);
	/* @value: how often it was recorded; a GPU does not need to be told. */
	int (*event_record)(struct raw *raw, struct raw_event *event, struct raw_stream *stream,
		uint64_t value);
	int (*event_wait)(struct raw *raw, struct raw_event *event, struct raw_stream *stream,
		uint64_t value);

	/*
	 * Makes a kernel of one thread that does nothing ready; says why that cannot be done. NULL:
	 * the device runs no kernels. It may wait for all work of the process.
	 */
	void (*kernel_load)(struct raw *raw);
	/* @native: a stream of ours or of the library's, as the driver knows it */
	int (*kernel_launch)(struct raw *raw, void *native);
	void *(*stream_native)(struct raw_stream *stream);

	void (*close)(struct raw *raw);
};

struct raw {
	const struct raw_ops *ops;
	bool has_kernel; /* kernel_load() was called, and kernel_launch() can be */
};

/* Opens the raw calls for the device that @info describes. */
int raw_open(const struct ww_device_info *info, struct raw **out_raw);
void raw_close(struct raw *raw);

int raw_open_host(struct raw **out_raw);
int raw_open_cuda(const struct ww_device_info *info, struct raw **out_raw);

/*
 * A sealed memfd of so many bytes, which are really there. Return: the descriptor, or -1 as above.
 */
int raw_memfd(uint64_t bytes);

/*
 * A page of one's own; that of another process, by its descriptor, which is borrowed. Return: 0 or
 * -1 as above.
 */
int raw_page_create(struct raw *raw, struct raw_page *page);
int raw_page_open(struct raw *raw, int fd, struct raw_page *page);

/* Ends all waits for words of a page, of whichever process. */
void raw_page_release(struct raw_page *page);

/* Nobody of this process may be waiting. */
void raw_page_close(struct raw *raw, struct raw_page *page);

/* By the CPU, on an own page. wake: tells who sleeps. */
void raw_word_store(const struct raw_page *page, enum raw_word word, uint64_t value);
void raw_word_wake(const struct raw_page *page, enum raw_word word);

/* Until the word is at least @value, looking all the time. */
void raw_word_spin(const struct raw_page *page, enum raw_word word, uint64_t value);

/*
 * The same, asleep after so many looks. Nothing but a wake ends the sleep; values are below 2^32 or
 * all of INT64_MAX.
 */
void raw_word_await(const struct raw_page *page, enum raw_word word, uint64_t value,
	unsigned int looks);

static inline void own_raw(struct raw **raw)
{
	raw_close(*raw);
}

#endif
