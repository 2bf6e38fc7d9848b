/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory.h - memory between real processes
 *
 * Every case starts helpers of this same program and looks at what is left afterwards. Helpers open
 * the same device as the case, by WW_TEST_DEVICE, unless they are told another one.
 */
#ifndef WW_TESTS_INTEGRATION_MEMORY_H
#define WW_TESTS_INTEGRATION_MEMORY_H

#include "support/leak_count.h"
#include "support/check.h"
#include "support/child.h"
#include "support/packet.h"
#include "support/needs.h"
#include "support/subject.h"

/*
 * What helpers do, and say when it is done:
 *   role_take KIND-ROUTE ACCESS SEED   receives, verifies SEED, writes SEED + 1 if it may: "done"
 *   role_make KIND BYTES SEED          makes memory with SEED in it and sends it: "sent"
 * Both then wait for a word and end.
 */
void start_taker(struct child *child, int type, uint32_t route, uint32_t access, uint32_t seed);
void start_maker(struct child *child, int type, uint32_t kind, uint64_t bytes, uint32_t seed);

/* The bodies of the two roles, for a role that does something else first. */
void take_serve(int count, char **arguments);
void make_serve(int count, char **arguments);

/* Receives from a helper, whatever there is to wait for. */
ww_memory *take_from(struct child *child, ww_device *device, uint32_t access);

#endif
