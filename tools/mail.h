/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mail.h - bare shared memory by which processes of a verb tell each other something fast
 *
 * A memfd that all of them map for reading and writing. Each word has one writer and only grows; whoever waits for it looks
 * all the time, lets others have the CPU now and then, and finds out when the other end of a socket is gone, so that no
 * wait outlives who it is for.
 */
#ifndef TOOLS_MAIL_H
#define TOOLS_MAIL_H

#include <stdint.h>

/* Alone in its cache line, and in that beside it, which processors fetch as well. */
struct mail_word {
	_Alignas(128) uint64_t value;
};

/* All zero, of @bytes bytes. Return: 0, or -1 after saying what went wrong. */
int mail_create(uint64_t bytes, int *out_fd, void **out_start);

/* @fd: borrowed. Return: likewise. */
int mail_open(int fd, uint64_t bytes, void **out_start);

void mail_close(void *start, uint64_t bytes);

static inline void mail_store(struct mail_word *word, uint64_t value)
{
	__atomic_store_n(&word->value, value, __ATOMIC_RELEASE);
}

static inline uint64_t mail_load(const struct mail_word *word)
{
	return __atomic_load_n(&word->value, __ATOMIC_ACQUIRE);
}

/**
 * mail_await() - look until a word is at least @value
 * @socket:  of who is to store it
 *
 * Return: 0, or -1 after saying that the other end of the socket is gone.
 */
int mail_await(const struct mail_word *word, uint64_t value, int socket);

/* Whether the other end of a socket is gone. */
int mail_is_over(int socket);

#endif
