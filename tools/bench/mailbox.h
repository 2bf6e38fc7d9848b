/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mailbox.h - bare shared memory by which processes of a verb tell each other something fast
 *
 * A memfd that all of them map for reading and writing. Each word has one writer and only grows;
 * whoever waits for it looks all the time, lets others have the CPU now and then, and finds out
 * when the other end of a socket is gone, so that no wait outlives who it is for.
 */
#ifndef TOOLS_BENCH_MAILBOX_H
#define TOOLS_BENCH_MAILBOX_H

#include <stdint.h>

/* Alone in its cache line, and in that beside it, which processors fetch as well. */
struct mailbox_word {
	_Alignas(128) uint64_t value;
};

/* @fd: of a memfd of @bytes bytes, borrowed. Return: 0, or -1 after saying what went wrong. */
int mailbox_open(int fd, uint64_t bytes, void **out_start);

void mailbox_close(void *start, uint64_t bytes);

static inline void mailbox_store(struct mailbox_word *word, uint64_t value)
{
	__atomic_store_n(&word->value, value, __ATOMIC_RELEASE);
}

static inline uint64_t mailbox_load(const struct mailbox_word *word)
{
	return __atomic_load_n(&word->value, __ATOMIC_ACQUIRE);
}

/* Between two looks: tells the processor that this thread waits. */
static inline void mailbox_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#else
	__asm__ volatile("" ::: "memory");
#endif
}

/**
 * mailbox_await() - look until a word is at least @value
 * @socket:  of who is to store it
 *
 * Return: 0, or -1 after saying that the other end of the socket is gone.
 */
int mailbox_await(const struct mailbox_word *word, uint64_t value, int socket);

/* Whether the other end of a socket is gone. */
int mailbox_is_over(int socket);

#endif
