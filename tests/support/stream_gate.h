/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream_gate.h - hold a stream at a point of the test's choosing
 *
 * gate_close() enqueues a function that waits until gate_open(): what is enqueued behind it cannot
 * run meanwhile, so that "not yet" can be claimed without sleeping. Every wait has a limit.
 *
 * A gate must outlive its stream's work, in a failed case too: declare it static.
 */
#ifndef WW_TESTS_SUPPORT_STREAM_GATE_H
#define WW_TESTS_SUPPORT_STREAM_GATE_H

#include <semaphore.h>
#include <stdbool.h>

#include <warpway/device.h>

struct gate {
	sem_t reached; /* posted by the stream when it comes to the gate */
	sem_t opened;
};

void gate_close(struct gate *gate, ww_stream *stream);
void gate_reached(struct gate *gate); /* waits until the stream stands at the gate */
void gate_open(struct gate *gate);

/* The stream function itself, for those who enqueue it in their own way; after gate_init(). */
void gate_init(struct gate *gate);
void gate_pass(void *gate);

/* Waits for a semaphore; false after a minute. */
bool gate_wait(sem_t *semaphore);

/* A stream function that posts the semaphore given as its context. */
void gate_post(void *semaphore);

#endif
