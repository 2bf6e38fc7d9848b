/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream_gate.c - a pair of semaphores between a test and a stream
 */
#include "support/stream_gate.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "support/check.h"
#include "support/child.h"

bool gate_wait(sem_t *semaphore)
{
	struct timespec limit;
	int result;

	clock_gettime(CLOCK_REALTIME, &limit);
	limit.tv_sec += child_limit_ms() / 1000;
	do
		result = sem_timedwait(semaphore, &limit);
	while (result && errno == EINTR);
	return result == 0;
}

void gate_post(void *semaphore)
{
	sem_post(semaphore);
}

void gate_pass(void *context)
{
	struct gate *gate = context;

	sem_post(&gate->reached);
	if (!gate_wait(&gate->opened)) {
		fputs("a gate was never opened\n", stderr);
		abort();
	}
}

void gate_init(struct gate *gate)
{
	MUST_CALL(sem_init(&gate->reached, 0, 0));
	MUST_CALL(sem_init(&gate->opened, 0, 0));
}

void gate_close(struct gate *gate, ww_stream *stream)
{
	gate_init(gate);
	MUST_OK(ww_stream_call(stream, gate_pass, gate));
}

void gate_reached(struct gate *gate)
{
	if (!gate_wait(&gate->reached))
		FAIL("the stream never came to the gate");
}

void gate_open(struct gate *gate)
{
	sem_post(&gate->opened);
}
