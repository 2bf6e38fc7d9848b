/* SPDX-License-Identifier: Apache-2.0 */
/*
 * interrupt.h - Ctrl-C ends what a verb does, and the verb then says what it has done
 *
 * For verbs that run until they are interrupted. SIGINT, SIGTERM and SIGHUP set a flag, which ends
 * the calls that wait, and the waits below. A second signal ends the process.
 */
#ifndef TOOLS_COMMON_INTERRUPT_H
#define TOOLS_COMMON_INTERRUPT_H

#include <stdbool.h>
#include <stdint.h>

#include <warpway/warpway.h>

/* Called once, before the rest. Return: 0, or -1 after saying what went wrong. */
int interrupt_open(void);

/* For calls that wait; borrowed. */
ww_cancel *interrupt_cancel(void);

bool interrupt_came(void);

/* Sleeps until a time of link_now_ns(). Return: whether it did, without an interrupt. */
bool interrupt_sleep(uint64_t until_ns);

/* Waits until a file can be read, or has ended. Return: whether it did, without an interrupt. */
bool interrupt_await_input(int fd);

#endif
