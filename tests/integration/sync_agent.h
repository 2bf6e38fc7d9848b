/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sync_agent.h - what an agent of these suites has
 */
#ifndef WW_TESTS_INTEGRATION_SYNC_AGENT_H
#define WW_TESTS_INTEGRATION_SYNC_AGENT_H

#include "integration/sync.h"

struct sync_agent {
	ww_timeline *timelines[4];
	ww_timeline *held; /* what its stream waits for, and how often it was made to */
	uint64_t holds;
	ww_memory *memory;
	ww_barrier *barrier;
};

extern struct sync_agent sync_agent;

/* The timeline whose number is a word of the command; its place. */
ww_timeline *agent_timeline(size_t word);
ww_timeline **agent_slot(size_t word);

#endif
