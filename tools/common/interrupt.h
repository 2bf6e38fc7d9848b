/* SPDX-License-Identifier: Apache-2.0 */
/*
 * interrupt.h - Ctrl-C ends what a verb does, and the verb then says what it has done
 *
 * For verbs that run until they are interrupted. SIGINT, SIGTERM and SIGHUP set a flag, which ends
 * the calls that wait, and the waits below. A second signal ends the process.
 */
#ifndef TOOLS_COMMON_INTERRUPT_H
#define TOOLS_COMMON_INTERRUPT_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <warpway/warpway.h>

/* Called once, before the rest. Return: 0, or -1 after saying what went wrong. */
int interrupt_open(void);

/*
 * The same, and later signals change nothing: for a verb that has to clean up, and does so in
 * bounded time.
 */
int interrupt_open_once(void);

/* For calls that wait; borrowed. */
ww_cancel *interrupt_cancel(void);

bool interrupt_came(void);

/* Sleeps until a time of link_now_ns(). Return: whether it did, without an interrupt. */
bool interrupt_sleep(uint64_t until_ns);

/*
 * As poll(), until a time of link_now_ns(); an interrupt ends it, too.
 * @entries: the first is filled here; the caller's follow. Return: likewise.
 */
int interrupt_poll(struct pollfd entries[], size_t count, uint64_t until_ns);

/* Waits until a file can be read, or has ended. Return: whether it did, without an interrupt. */
bool interrupt_await_input(int fd);

#endif
