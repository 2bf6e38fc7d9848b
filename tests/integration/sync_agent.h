/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sync_agent.h - what an agent of these suites has, and the commands that stand beside the cases
 * that use them
 */
#ifndef WW_TESTS_INTEGRATION_SYNC_AGENT_H
#define WW_TESTS_INTEGRATION_SYNC_AGENT_H

#include "integration/sync.h"

struct sync_agent {
	ww_timeline *timelines[4];
	ww_timeline *held; /* what its stream waits for, and how often it was made to */
	uint64_t holds;
	ww_stream *stream;
	ww_memory *memory;
	ww_barrier *barrier;
};

extern struct sync_agent sync_agent;

/* The timeline whose number is a word of the command; its place. */
ww_timeline *agent_timeline(size_t word);
ww_timeline **agent_slot(size_t word);

ww_stream *agent_stream(void);

ww_status obey_unlike(void);
ww_status obey_unlike_end(void);

ww_status obey_map_page(void);
ww_status obey_protect_page(void);
ww_status obey_reopen_page(void);
ww_status obey_private_page(void);
ww_status obey_fill_page(void);
ww_status obey_store_page(void);
ww_status obey_stream_store_page(void);

ww_status obey_create_barrier(void);
ww_status obey_join(void);
ww_status obey_arrive(void);
ww_status obey_meet(void);
ww_status obey_rounds(void);
ww_status obey_leave(void);
ww_status obey_member_is(void);
ww_status obey_forge_replaced(void);

#endif
